"""Which columns are wanted: words as people type them, `type:string tag:PII is:undocumented`."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from explorer.metadata.urn import Urn

if TYPE_CHECKING:
    from explorer.client.entity import Column

__all__ = ["STATES", "ColumnFilter", "read_filter"]

_Names = Mapping[Urn, str]

STATES: "dict[str, Callable[[Column], bool]]" = {
    "documented": lambda column: column.documented,
    "undocumented": lambda column: not column.documented,
    "edited": lambda column: bool(column.edited),
    "ingested": lambda column: bool(column.ingested),
    "key": lambda column: column.is_key,
    "nullable": lambda column: column.nullable,
    "recursive": lambda column: column.recursive,
    "tagged": lambda column: bool(column.tags),
    "termed": lambda column: bool(column.terms),
}
"""What may follow `is:`."""
_BARE = ("type:", "tag:", "term:", "is:")
_PART = re.compile(
    r"(?P<no>[-!]?)(?:(?P<field>type|tag|term|is):)?"
    r'(?:"(?P<quoted>[^"]*)"?|(?P<word>\S+))'
)


@dataclass(frozen=True, slots=True)
class _Condition:
    field: str
    value: str
    unwanted: bool


@dataclass(frozen=True, slots=True)
class ColumnFilter:
    """Conditions that all have to hold. `trouble` says what could not be understood."""

    conditions: tuple[_Condition, ...] = ()
    trouble: str = ""

    def __bool__(self) -> bool:
        return bool(self.conditions)

    def chosen(self, columns: "Sequence[Column]", names: _Names) -> frozenset[int]:
        """The places of the columns for which everything holds; `names` are those of tags and
        terms."""
        return frozenset(
            at
            for at, column in enumerate(columns)
            if all(_holds(one, column, names) != one.unwanted for one in self.conditions)
        )


def read_filter(text: str) -> ColumnFilter:
    """The filter that a text says. A word stands for a part of a name or of a description, `-` or
    `!` before a condition turns it round."""
    conditions = []
    trouble = ""
    for found in _PART.finditer(text):
        value = (found["quoted"] if found["word"] is None else found["word"]).lower()
        field = found["field"] or ""
        if not value or value in _BARE:
            continue
        if field == "is" and value not in STATES:
            meant = [state for state in STATES if state.startswith(value)]
            if not meant:
                trouble = f"is: takes {', '.join(STATES)}"
            if len(meant) != 1:
                continue
            value = meant[0]
        conditions.append(_Condition(field, value, bool(found["no"])))
    return ColumnFilter(tuple(conditions), trouble)


def _holds(condition: _Condition, column: "Column", names: _Names) -> bool:
    value = condition.value
    match condition.field:
        case "type":
            return value in column.type.lower() or value in column.native_type.lower()
        case "tag":
            return _any_named(column.tags, value, names)
        case "term":
            return _any_named(column.terms, value, names)
        case "is":
            return STATES[value](column)
        case _:
            return value in column.path.simple.lower() or value in column.description.lower()


def _any_named(urns: Sequence[Urn], value: str, names: _Names) -> bool:
    return any(value in urn.name.lower() or value in names.get(urn, "").lower() for urn in urns)
