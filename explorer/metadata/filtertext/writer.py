"""Writing a filter as text that is read back as the same filter."""

from typing import Final

from explorer.errors import InvalidInput
from explorer.metadata.filters import Condition, Criterion, Filter
from explorer.metadata.filtertext.fields import USE, FieldGuide, FilterField, guide_to
from explorer.metadata.filtertext.meaning import spell_values
from explorer.metadata.filtertext.scanning import FIELD, KEYWORD, is_bare, quoted
from explorer.metadata.registry import Registry

__all__ = ["spell_field", "write_filter"]

_USE: Final = "use"
_SIGNS: Final[dict[Condition, str]] = {
    "EQUAL": ":",
    "IEQUAL": "=~",
    "GREATER_THAN": ">",
    "GREATER_THAN_OR_EQUAL_TO": ">=",
    "LESS_THAN": "<",
    "LESS_THAN_OR_EQUAL_TO": "<=",
}
_STARS: Final[dict[Condition, tuple[str, str]]] = {
    "CONTAIN": ("*", "*"),
    "START_WITH": ("", "*"),
    "END_WITH": ("*", ""),
}


def write_filter(narrowed_by: Filter, registry: Registry | None = None) -> str:
    """The text that `read_filter` reads as the filter; empty for one that lets everything pass.

    With the registry that it will be read with, in short names and dates; without, it is all in
    quotes and means the same under every registry. Raises `InvalidInput` for a criterion with too
    few or too many values.
    """
    if not all(narrowed_by.any_of):
        return ""
    guide = guide_to(registry)
    alone = len(narrowed_by.any_of) == 1
    groups = []
    for group in narrowed_by.any_of:
        written = " AND ".join(_criterion(guide, criterion) for criterion in group)
        groups.append(written if alone or len(group) == 1 else f"({written})")
    return " OR ".join(groups)


def spell_field(guide: FieldGuide, name: str) -> str:
    """The word that means a field: its name, in quotes where it is no known field's; the word that
    people use for the one field that nobody could guess."""
    if name == USE and guide.aliases.get(_USE) == USE:
        return _USE
    is_word = FIELD.fullmatch(name) and not KEYWORD.fullmatch(name)
    return name if is_word and guide.exactly(name) else quoted(name)


def _criterion(guide: FieldGuide, criterion: Criterion) -> str:
    condition = criterion.condition
    field = guide.exactly(criterion.field) or FilterField(criterion.field)
    name = spell_field(guide, criterion.field)
    if guide.means_type(criterion.field, criterion.values):
        name = quoted(criterion.field)
    no = "NOT " if criterion.negated else ""
    if condition == "IS_NULL":
        return f"{name} IS {no}NULL"
    if condition == "EXISTS":
        return f"{no}{name}:*"
    _check(criterion)
    if condition.endswith("_INCL"):
        raise InvalidInput(f"{condition} has no form in the filter language; name the values")
    if condition in _STARS:
        before, after = _STARS[condition]
        texts = [
            f"{before}{value if is_bare(value) else quoted(value)}{after}"
            for value in criterion.values
        ]
        return f"{no}{name}:{_listed(texts)}"
    texts = spell_values(guide, field, condition, criterion.values)
    if condition == "BETWEEN":
        return f"{no}{name}:{'..'.join(texts)}"
    if condition == "IN":
        return f"{name} {no}IN ({', '.join(texts)})"
    return f"{no}{name}{_SIGNS[condition]}{_listed(texts)}"


def _check(criterion: Criterion) -> None:
    if not criterion.field:
        raise InvalidInput("a criterion of a filter needs its field")
    if criterion.condition == "BETWEEN":
        if len(criterion.values) != 2:
            raise InvalidInput(f"BETWEEN on {criterion.field} takes two values, the lower first")
    elif not criterion.values:
        raise InvalidInput(f"{criterion.condition} on {criterion.field} needs a value")


def _listed(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"
