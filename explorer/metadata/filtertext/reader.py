"""Reading a filter's text."""

import re
from dataclasses import replace
from typing import Final, Literal

import msgspec

from explorer.metadata.filters import Condition, Criterion, Filter
from explorer.metadata.filtertext.expression import Node, criteria_in, groups_of, joined
from explorer.metadata.filtertext.failure import FilterSyntax
from explorer.metadata.filtertext.fields import (
    ENTITY_TYPE,
    STATE,
    STATES,
    FieldGuide,
    FilterField,
    guide_to,
)
from explorer.metadata.filtertext.operands import Operand, Test, tests_of
from explorer.metadata.filtertext.scanning import (
    FIELD,
    KEYWORD,
    OPERATOR,
    quoted,
    scan_atom,
    skip_space,
    starts_range,
)
from explorer.metadata.registry import Registry

__all__ = ["Place", "Reading", "read_filter", "unknown_field"]

_MOST_CRITERIA: Final = 1_000
_DEEPEST: Final = 50
_LONGEST: Final = 1_000_000
_SHOWN: Final = 40
_KEYWORDS_BEGIN: Final = frozenset("AaOoNn")

_IN = re.compile(r"\s+(NOT\s+)?IN\s*(?=\()", re.IGNORECASE)
_IS_NULL = re.compile(r"\s+IS\s+(NOT\s+)?NULL(?=[\s)]|$)", re.IGNORECASE)
_TO = re.compile(r"\s+TO\s+", re.IGNORECASE)


def read_filter(text: str, registry: Registry, *, strict: bool = True) -> Filter:
    """The filter that a text asks for; an empty text lets everything pass.

    Raises `FilterSyntax`: for what is not of the language, for a value that its field cannot have,
    for a combination that takes more than 1,000 criteria, and for a field that cannot be searched,
    naming the nearest that can. With `strict=False` fields and entity types that the registry does
    not know are let through, for a server with a model of its own; in quotes they always are.
    """
    if len(text) > _LONGEST:
        raise FilterSyntax(text, _LONGEST, 1, f"a filter has at most {_LONGEST:,} characters")
    reading = Reading(text, guide_to(registry), strict=strict)
    node = reading.whole()
    if node is None:
        return Filter()
    size = criteria_in(node)
    if size > max(_MOST_CRITERIA, reading.terms):
        many = f"{size:,}" if size < 10**9 else "far too many"
        raise FilterSyntax(
            text,
            0,
            len(text),
            f"written out as alternatives this takes {many} criteria, "
            f"more than {_MOST_CRITERIA:,}; ask for fewer combinations",
        )
    return Filter(groups_of(node))


class Place(msgspec.Struct, frozen=True):
    """Where a reading has come to: what would begin at `start`.

    A `term` with `after_term` may also be a word that joins it to the one before; an `operator`
    follows the field `field`, which began at `field_start`; a `value` is one of that field.
    """

    kind: Literal["term", "operator", "value", "end"]
    start: int
    after_term: bool = False
    field: str = ""
    field_start: int = 0
    operator: str = ""
    in_list: bool = False


class Reading:
    """One pass over a text. With `probing` only the form matters: not what fields and values
    mean, nor whether the parentheses are closed yet; `place` tells how far it came."""

    def __init__(
        self, text: str, guide: FieldGuide, *, strict: bool = True, probing: bool = False
    ) -> None:
        self.text = text
        self.terms = 0
        self.place = Place("term", 0)
        self._guide = guide
        self._strict = strict
        self._probing = probing
        self._at = 0
        self._depth = 0

    def whole(self) -> Node | None:
        """What the text says as a whole; nothing for an empty one. Raises `FilterSyntax`."""
        self._skip()
        if self._at == len(self.text):
            self.place = Place("term", self._at)
            return None
        node = self._either(negated=False)
        if self._at < len(self.text):
            raise self._wrong("this ) closes nothing")
        return node

    def _either(self, *, negated: bool) -> Node:
        parts = [self._all(negated=negated)]
        while self._takes("OR"):
            parts.append(self._all(negated=negated))
        return joined("and" if negated else "or", parts)

    def _all(self, *, negated: bool) -> Node:
        parts = [self._one(negated=negated)]
        while True:
            end = self._at
            self._skip()
            # A value at the very end may still be growing.
            if self.place.kind != "value" or end < len(self.text):
                self.place = Place("term", self._at, after_term=True)
            if self._at == len(self.text) or self.text[self._at] == ")":
                break
            if self._keyword() == "OR":
                break
            self._takes("AND")
            parts.append(self._one(negated=negated))
        return joined("or" if negated else "and", parts)

    def _one(self, *, negated: bool) -> Node:
        for _ in range(_DEEPEST):
            start = self._skip()
            if not self.place.after_term or self.place.start != start:
                self.place = Place("term", start)
            if self._takes("NOT"):
                negated = not negated
            elif self.text.startswith("-", start):
                self._at += 1
                negated = not negated
                if self._skip() > start + 1:
                    self._at = start
                    raise self._wrong("a - stands right before what it leaves out")
            else:
                break
        else:
            raise self._wrong(f"this is turned around more than {_DEEPEST} times")
        if not self.text.startswith("(", start):
            return self._term(negated=negated)
        return self._nested(start, negated=negated)

    def _nested(self, start: int, *, negated: bool) -> Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._wrong(f"parentheses are nested deeper than {_DEEPEST}")
        self._at += 1
        if self.text.startswith(")", self._skip()):
            raise self._wrong("there is nothing in these parentheses")
        self.place = Place("term", self._at)
        node = self._either(negated=negated)
        if self.text.startswith(")", self._at):
            self._at += 1
            self.place = Place("end", self._at)
        elif not self._probing:
            raise self._wrong(f"the ( at character {start + 1} is never closed")
        self._depth -= 1
        return node

    def _term(self, *, negated: bool) -> Node:
        start = self._at
        name, is_exact = self._field()
        end = self._at
        self.place = Place("operator", end, self.place.after_term, name, start)
        self.terms += 1
        if found := _IS_NULL.match(self.text, end):
            self._at = found.end()
            self.place = Place("end", self._at)
            field = self._known(name, start, end, is_exact=is_exact)
            return Criterion(field.name, (), "IS_NULL", negated != bool(found.group(1)))
        condition: Condition = "EQUAL"
        if found := _IN.match(self.text, end):
            operator, condition = "IN", "IN"
            negated = negated != bool(found.group(1))
            self._at = found.end()
        else:
            operator, condition, turned = self._operator(name, start)
            negated = negated != turned
        operands = self._operands(name, operator)
        if self._probing:
            return Criterion(name)
        plain = tuple(one.low.text for one in operands if one.is_plain)
        if name == STATE and not is_exact and self._guide.named(name) is None:
            return self._states(operands, condition, negated=negated)
        if (
            not is_exact
            and condition in ("EQUAL", "IN")
            and len(plain) == len(operands)
            and self._guide.means_type(name, plain)
        ):
            name = ENTITY_TYPE
        field = self._known(name, start, end, is_exact=is_exact)
        tests = tests_of(self.text, operands, field, condition, self._guide, strict=self._strict)
        return _criteria(field.name, tests, negated=negated)

    def _states(self, operands: list[Operand], condition: Condition, *, negated: bool) -> Node:
        """What `is:undocumented` stands for."""
        found: list[Node] = []
        for one in operands:
            state = STATES.get(one.low.text.casefold())
            if condition not in ("EQUAL", "IN") or not one.is_plain or state is None:
                at = one.low
                known = ", ".join(STATES)
                raise FilterSyntax(
                    self.text, at.start, max(at.end - at.start, 1), f"the states are {known}"
                )
            found.append(replace(state, negated=negated))
        return joined("and" if negated else "or", found)

    def _field(self) -> tuple[str, bool]:
        start = self._at
        if self.text.startswith('"', start):
            atom = scan_atom(self.text, start)
            self._at = atom.end
            if not atom.text or atom.has_star:
                raise self._wrong("the name of a field is missing here", start)
            return atom.text, True
        if keyword := self._keyword():
            raise self._wrong(f"something to filter by is missing before this {keyword}")
        found = FIELD.match(self.text, start)
        if found is None:
            if start == len(self.text):
                raise self._wrong("something to filter by is missing, such as platform:hive")
            raise self._wrong("a field is expected here, such as platform in platform:hive")
        self._at = found.end()
        return found.group(), False

    def _operator(self, name: str, start: int) -> tuple[str, Condition, bool]:
        found = OPERATOR.match(self.text, self._skip())
        if found is None:
            shown = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…"
            raise FilterSyntax(
                self.text,
                start,
                len(name),
                f"{shown!r} is followed by nothing to compare with; a filter reads FIELD:VALUE, "
                f"such as name:{shown if shown.isalnum() else 'orders'}",
            )
        self._at = found.end()
        operator = "".join(found.group().split())
        condition, turned = _OPERATORS[operator.removeprefix(":") or ":"]
        return operator, condition, turned

    def _operands(self, name: str, operator: str) -> list[Operand]:
        """The values after an operator: one, or a list in parentheses."""
        after = self._at
        start = self._skip()
        place = Place("value", start, field=name, operator=operator)
        self.place = place
        if start == len(self.text):
            raise self._wrong(f"a value is missing after {name}{operator}")
        if start > after and self._keyword():
            raise self._wrong(
                f"a value is missing after {name}{operator}; a value that is the word "
                f"{self._keyword()} stands in double quotes"
            )
        if not self.text.startswith("(", start):
            operand = self._operand(in_list=False)
            return [operand]
        self._at += 1
        operands = []
        while True:
            self.place = Place("value", self._skip(), field=name, operator=operator, in_list=True)
            operands.append(self._operand(in_list=True))
            self._skip()
            if self.text.startswith(",", self._at):
                self._at += 1
            elif self._keyword() == "OR":
                self._at += len("OR")
            elif self.text.startswith(")", self._at):
                self._at += 1
                self.place = Place("end", self._at)
                return operands
            else:
                raise self._wrong(
                    f"a comma or the ) of the list at character {start + 1} is missing here"
                )

    def _operand(self, *, in_list: bool) -> Operand:
        start = self._at
        if starts_range(self.text, start):
            return self._bracketed()
        low = scan_atom(self.text, start)
        high = None
        self._at = low.end
        if self.text.startswith("..", low.end):
            high = scan_atom(self.text, low.end + 2)
            self._at = high.end
        if self._at < len(self.text) and not (
            self.text[self._at].isspace() or self.text[self._at] in "),"
        ):
            raise self._wrong(
                f"a space is missing here, or double quotes around {self.text[start : self._at]}…"
            )
        if self.text.startswith(",", self._at) and not in_list:
            raise self._wrong(
                "several values stand in parentheses, (one, two); a value with a comma in it "
                "stands in double quotes"
            )
        return Operand(low, high)

    def _bracketed(self) -> Operand:
        start = self._at
        self._at += 1
        low = scan_atom(self.text, self._skip(), in_brackets=True)
        found = _TO.match(self.text, low.end)
        if found is None:
            self._at = start
            raise self._wrong(
                "a range reads [LOW TO HIGH] or LOW..HIGH; a value that begins with [ stands in "
                "double quotes"
            )
        high = scan_atom(self.text, found.end(), in_brackets=True)
        self._at = high.end
        self._skip()
        if not self.text.startswith("]", self._at):
            raise self._wrong(f"the [ at character {start + 1} is never closed")
        self._at += 1
        return Operand(low, high)

    def _known(self, name: str, start: int, end: int, *, is_exact: bool) -> FilterField:
        if self._probing:
            return FilterField(name)
        if is_exact:
            return self._guide.exactly(name) or FilterField(name)
        field = self._guide.named(name, strict=self._strict)
        if field is None and self._strict:
            raise FilterSyntax(self.text, start, end - start, unknown_field(self._guide, name))
        return field or FilterField(name)

    def _keyword(self) -> str:
        # Asked for at every step, and mostly for nothing.
        if self.text[self._at : self._at + 1] not in _KEYWORDS_BEGIN:
            return ""
        found = KEYWORD.match(self.text, self._at)
        return found.group(1).upper() if found else ""

    def _takes(self, keyword: str) -> bool:
        if self._keyword() != keyword:
            return False
        self._at += len(keyword)
        self.place = Place("term", self._skip())
        return True

    def _skip(self) -> int:
        if self.text[self._at : self._at + 1].isspace():
            self._at = skip_space(self.text, self._at)
        return self._at

    def _wrong(self, message: str, start: int | None = None) -> FilterSyntax:
        position = self._at if start is None else start
        length = 1 if start is None else self._at - start
        return FilterSyntax(self.text, position, length, message)


def unknown_field(guide: FieldGuide, name: str) -> str:
    """The sentence about a field that cannot be searched, naming the nearest that can."""
    near = guide.near(name)
    hint = f"did you mean {' or '.join(near)}?" if near else "platform, tags and owners are some"
    shown = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…"
    return f"unknown field “{quoted(shown)[1:-1]}”; {hint}"


def _criteria(field: str, tests: list[Test], *, negated: bool) -> Node:
    parts: list[Node] = [
        Criterion(field, one.values, one.condition, negated, one.names) for one in tests
    ]
    return joined("and" if negated else "or", parts)


_OPERATORS: Final[dict[str, tuple[Condition, bool]]] = {
    ":": ("EQUAL", False),
    "=": ("EQUAL", False),
    "==": ("EQUAL", False),
    "!=": ("EQUAL", True),
    "=~": ("IEQUAL", False),
    "!~": ("IEQUAL", True),
    ">": ("GREATER_THAN", False),
    ">=": ("GREATER_THAN_OR_EQUAL_TO", False),
    "<": ("LESS_THAN", False),
    "<=": ("LESS_THAN_OR_EQUAL_TO", False),
}
