"""Parse filters and sort orders, and write them as text."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any, Final, Literal, TypeAlias

import msgspec

from explorer.errors import InvalidInput
from explorer.metadata.proposal import millis_of
from explorer.metadata.registry import Registry
from explorer.query.fields import STATE, STATES, USE, FieldGuide, FilterField, guide_to
from explorer.query.filters import Condition, Criterion, Filter
from explorer.query.tokens import (
    FIELD,
    IN,
    IS_NULL,
    KEYWORD,
    OPERATOR,
    Atom,
    FilterSyntax,
    is_bare,
    quote_value,
    scan_atom,
    skip_space,
    starts_range,
)

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_MILLIS: Final = 86_400_000
_DAYS = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?", re.ASCII)
_INSTANT = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:[Zz]|[+-]\d\d:?\d\d)?", re.ASCII
)


def read_moment(text: str) -> tuple[int, int] | None:
    """Return the first and last millisecond of `2026`, `2026-01`, `2026-01-31` or
    `2026-01-31T10:00[:00[.000]][Z|+01:00]`, equal for an instant, or `None` if the text is not a
    date. Times without an offset are UTC."""
    try:
        if match := _DAYS.fullmatch(text):
            year, month, day = (int(part) if part else 0 for part in match.groups())
            last_month = month or 12
            last_day = day or _days_of(year, last_month)
            first = millis_of(datetime(year, month or 1, day or 1, tzinfo=UTC))
            last = millis_of(datetime(year, last_month, last_day, tzinfo=UTC))
            return first, last + _DAY_MILLIS - 1
        if _INSTANT.fullmatch(text):
            moment = datetime.fromisoformat(text)
            at = millis_of(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
            return at, at
    except ValueError:
        return None
    return None


def _days_of(year: int, month: int) -> int:
    # Imported here because filters by month are rare and the import is slow.
    from calendar import monthrange

    return monthrange(year, month)[1]


def spell_moment(millis: int) -> tuple[str, ...]:
    """Return the texts that can represent a point in time, shortest first: its date, then its date
    and time. Empty outside the years 1 to 9999."""
    try:
        moment = _EPOCH + timedelta(milliseconds=millis)
    except OverflowError:
        return ()
    plain = moment.replace(tzinfo=None)
    unit = "milliseconds" if millis % 1000 else "seconds"
    return (f"{plain.date()}", f"{plain.isoformat(timespec=unit)}Z")


COMPARISONS: Final[tuple[Condition, ...]] = (
    "GREATER_THAN",
    "GREATER_THAN_OR_EQUAL_TO",
    "LESS_THAN",
    "LESS_THAN_OR_EQUAL_TO",
)
# Several values with one of these conditions make a single criterion.
MERGED: Final[tuple[Condition, ...]] = (
    "EQUAL",
    "IN",
    "IEQUAL",
    "DESCENDANTS_INCL",
    "CONTAIN",
    "START_WITH",
    "END_WITH",
    *COMPARISONS,
)
_EQUALITIES: Final = ("EQUAL", "IN", "DESCENDANTS_INCL")
# These conditions compare with the last millisecond of a day, not with its first.
_AT_THE_END: Final = ("GREATER_THAN", "LESS_THAN_OR_EQUAL_TO")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_WHOLE = re.compile(r"-?\d{1,18}", re.ASCII)
_URN: Final = "urn:li:"
_BOOLEANS: Final = {
    "true": "true",
    "yes": "true",
    "1": "true",
    "false": "false",
    "no": "false",
    "0": "false",
}


class NoMeaning(ValueError):
    """A value that the field cannot have; `str()` says which values it can have."""


class Meaning(msgspec.Struct, frozen=True):
    """The values that one typed value means. `is_range` is true for a day compared for equality,
    whose values are its first and last millisecond. `name` is the typed text if it was expanded to
    URNs; entities with other URNs may have this name too."""

    values: tuple[str, ...]
    is_range: bool = False
    name: str = ""


def read_value(
    guide: FieldGuide,
    field: FilterField,
    condition: Condition,
    text: str,
    *,
    strict: bool,
    is_high: bool = False,
) -> Meaning:
    """Return the meaning of a value that is bare or in double quotes; `is_high` marks the upper end
    of a range.

    Raises `NoMeaning` for a value that the field cannot have. Without `strict`, unknown entity
    types are accepted.
    """
    if condition in _EQUALITIES:
        if field.nature == "urn":
            meant = _urns(_targets(field, condition), text)
            return Meaning(meant, name="" if meant == (text,) else text)
        if field.nature == "boolean":
            return Meaning((_boolean(field, text),))
        if field.nature == "type":
            type_name = guide.find_type(text) or text
            if strict and not guide.is_type(text):
                raise NoMeaning(_no_type(guide, text))
            # A server's own spelling of a type is left as it is.
            is_spelling = text.replace("_", "").casefold() == type_name.casefold()
            return Meaning((text if is_spelling else type_name,))
    if field.nature == "number" and (condition in _EQUALITIES or _compares(condition)):
        if _NUMBER.fullmatch(text) is None:
            raise NoMeaning(f"{field.name} holds numbers, and {text!r} is none")
        return Meaning((text,))
    if field.nature == "date" and (condition in _EQUALITIES or _compares(condition)):
        return _date(field, condition, text, is_high=is_high)
    return Meaning((text,))


def spell_values(
    guide: FieldGuide, field: FilterField, condition: Condition, values: tuple[str, ...]
) -> list[str]:
    """Return the texts to type for the values of a criterion, in order; together they mean exactly
    these values."""
    if condition == "BETWEEN":
        low, high = values
        return [
            _spell(guide, field, condition, low),
            _spell(guide, field, condition, high, is_high=True),
        ]
    texts = []
    at = 0
    targets = _targets(field, condition)
    many = len(targets)
    while at < len(values):
        name = _bare_name(values[at])
        meant = _urns(targets, name) if many and condition in _EQUALITIES and name else ()
        if meant and meant != (name,) and values[at : at + many] == meant:
            texts.append(_to_text(name))
            at += many
        else:
            texts.append(_spell(guide, field, condition, values[at]))
            at += 1
    return texts


def _spell(
    guide: FieldGuide,
    field: FilterField,
    condition: Condition,
    value: str,
    *,
    is_high: bool = False,
) -> str:
    texts = [value]
    if field.nature == "date" and _WHOLE.fullmatch(value):
        texts = [*spell_moment(int(value)), value]
    for text in texts:
        try:
            meant = read_value(guide, field, condition, text, strict=True, is_high=is_high)
        except NoMeaning:
            continue
        # The registry with which the text is parsed later could give an unquoted text another
        # meaning.
        if meant.values == (value,) and not meant.is_range and not guide.is_blind:
            return _to_text(text, in_range=condition == "BETWEEN")
    return quote_value(value, "'")


def _to_text(text: str, *, in_range: bool = False) -> str:
    if in_range and (text.startswith(".") or text.endswith(".")):
        return quote_value(text)
    return text if is_bare(text) else quote_value(text)


def _compares(condition: Condition) -> bool:
    return condition == "BETWEEN" or condition in COMPARISONS


def _targets(field: FilterField, condition: Condition) -> tuple[str, ...]:
    return field.parents if condition == "DESCENDANTS_INCL" else field.targets


def _urns(targets: tuple[str, ...], text: str) -> tuple[str, ...]:
    if not text or text.startswith(_URN) or not targets:
        return (text,)
    return tuple(f"{_URN}{target}:{text}" for target in targets)


def _bare_name(value: str) -> str:
    return value.removeprefix(_URN).partition(":")[2] if value.startswith(_URN) else ""


def _boolean(field: FilterField, text: str) -> str:
    boolean = _BOOLEANS.get(text.casefold())
    if boolean is None:
        raise NoMeaning(f"{field.name} is true or false, not {text!r}")
    return boolean


def _no_type(guide: FieldGuide, text: str) -> str:
    near = guide.near_types(text)
    hint = f"did you mean {' or '.join(near)}?" if near else "dataset and chart are some"
    return f"{text!r} is not an entity type; {hint}"


def _date(field: FilterField, condition: Condition, text: str, *, is_high: bool) -> Meaning:
    span = read_moment(text)
    if span is None:
        if _NUMBER.fullmatch(text) is None:
            raise NoMeaning(
                f"{field.name} holds dates such as 2026-01-31 or 2026-01-31T10:00:00Z, "
                f"and {text!r} is none"
            )
        return Meaning((text,))
    first, last = map(str, span)
    if condition == "EQUAL" and first != last:
        return Meaning((first, last), is_range=True)
    return Meaning((last if is_high or condition in _AT_THE_END else first,))


Group: TypeAlias = tuple[Criterion, ...]


@dataclass(frozen=True, slots=True)
class Joined:
    """Parts joined by AND or OR."""

    by: Literal["and", "or"]
    parts: "tuple[Node, ...]"


Node: TypeAlias = Criterion | Joined


def join_nodes(by: Literal["and", "or"], parts: list[Node]) -> Node:
    """Return the parts joined by AND or OR; a single part is returned unchanged."""
    return parts[0] if len(parts) == 1 else Joined(by, tuple(parts))


def criteria_in(node: Node) -> int:
    """Return the number of criteria that an expression has as an OR of ANDs, without building that
    form."""
    return _size(node)[1]


def groups_of(node: Node) -> tuple[Group, ...]:
    """Return the expression as an OR of ANDs. If it already is one, nothing is added, removed or
    reordered."""
    match node:
        case Criterion():
            return ((node,),)
        case Joined("or", parts):
            return tuple(group for part in parts for group in groups_of(part))
        case Joined(_, parts):
            return tuple(
                tuple(criterion for group in chosen for criterion in group)
                for chosen in product(*map(groups_of, parts))
            )


def _size(node: Node) -> tuple[int, int]:
    """Return the number of groups that an expression has as an OR of ANDs, and of the criteria in
    all of them."""
    if isinstance(node, Criterion):
        return 1, 1
    groups, criteria = (0, 0) if node.by == "or" else (1, 0)
    for part in node.parts:
        more, inside = _size(part)
        if node.by == "or":
            groups, criteria = groups + more, criteria + inside
        else:
            groups, criteria = groups * more, criteria * more + inside * groups
    return groups, criteria


class Operand(msgspec.Struct, frozen=True):
    """A value as typed or, with `high`, a range."""

    low: Atom
    high: Atom | None = None

    @property
    def is_plain(self) -> bool:
        """Whether this is a single value without quotes or stars."""
        return self.high is None and not self.low.quote and not self.low.has_star


def criteria_of(
    text: str,
    operands: list[Operand],
    field: FilterField,
    condition: Condition,
    guide: FieldGuide,
    *,
    negated: bool,
    strict: bool,
) -> Node:
    """Return the criteria of a term, of which any must hold. Values with the same condition are
    merged into one criterion, in order, where the condition allows several. Raises `FilterSyntax`
    for a value that the field cannot have."""
    merged: dict[Condition, list[Criterion]] = {}
    groups: list[list[Criterion]] = []
    for operand in operands:
        try:
            criterion = _criterion_of(operand, field, condition, guide, strict=strict)
        except NoMeaning as problem:
            last = operand.high or operand.low
            start = operand.low.start
            raise FilterSyntax(text, start, last.end - start, str(problem)) from None
        group = merged.get(criterion.condition)
        if group is None:
            group = []
            groups.append(group)
            if criterion.condition in MERGED:
                merged[criterion.condition] = group
        group.append(criterion)
    parts: list[Node] = [
        replace(
            group[0],
            values=tuple(value for criterion in group for value in criterion.values),
            names=tuple(name for criterion in group for name in criterion.names),
            negated=negated,
        )
        for group in groups
    ]
    return join_nodes("and" if negated else "or", parts)


def _criterion_of(
    operand: Operand,
    field: FilterField,
    condition: Condition,
    guide: FieldGuide,
    *,
    strict: bool,
) -> Criterion:
    low, high = operand.low, operand.high
    if condition != "EQUAL" and (high or low.has_star):
        sign = "a range" if high else "a star"
        raise NoMeaning(
            f"{sign} can stand only after : or =; in double quotes it is the text written"
        )

    def values(atom: Atom, how: Condition, *, is_high: bool = False) -> Meaning:
        if atom.quote == "'":
            return Meaning((atom.text,))
        return read_value(
            guide, field, how, _value_text(field, atom), strict=strict, is_high=is_high
        )

    if high is None:
        if parent := _parent(field, low):
            low, condition = parent, "DESCENDANTS_INCL"
        elif low.has_star:
            return _pattern(field, low)
        meaning = values(low, condition)
        names = (meaning.name,) if meaning.name else ()
        how: Condition = "BETWEEN" if meaning.is_range else condition
        return Criterion(field.name, meaning.values, how, names=names)
    if any(atom.has_star and not atom.is_star for atom in (low, high)):
        raise NoMeaning("a star beside a value cannot stand in a range")
    if low.is_star and high.is_star:
        return Criterion(field.name, (), "EXISTS")
    if low.is_star:
        how = "LESS_THAN_OR_EQUAL_TO"
        return Criterion(field.name, values(high, how).values, how)
    if high.is_star:
        how = "GREATER_THAN_OR_EQUAL_TO"
        return Criterion(field.name, values(low, how).values, how)
    ends = values(low, "BETWEEN").values + values(high, "BETWEEN", is_high=True).values
    return Criterion(field.name, ends, "BETWEEN")


def _value_text(field: FilterField, atom: Atom) -> str:
    """Return the text of a value, with its `urn:` restored. In a bare URN, such as
    `urn:li:tag:PII`, `urn` is parsed as the field and the rest as its value."""
    is_cut = field.name == "urn" and not atom.quote and atom.text.startswith("li:")
    return f"urn:{atom.text}" if is_cut else atom.text


def _parent(field: FilterField, atom: Atom) -> Atom | None:
    """Return the value before `/*`, which stands for itself and all below it, or `None`."""
    if atom.is_parent:
        if field.parents or atom.quote == "'":
            return atom
        raise NoMeaning(
            f"{field.name} has nothing below its values; /* stands after a domain, a container or "
            "a group of glossary terms"
        )
    is_bare_parent = atom.star_after and not (atom.star_before or atom.quote)
    if field.parents and is_bare_parent and atom.text[1:].endswith("/"):
        return msgspec.structs.replace(atom, text=atom.text[:-1])
    return None


def _pattern(field: FilterField, atom: Atom) -> Criterion:
    if atom.is_star:
        return Criterion(field.name, (), "EXISTS")
    if not atom.star_before:
        return Criterion(field.name, (_value_text(field, atom),), "START_WITH")
    return Criterion(field.name, (atom.text,), "CONTAIN" if atom.star_after else "END_WITH")


_MOST_CRITERIA: Final = 1_000
_DEEPEST: Final = 50
_LONGEST: Final = 1_000_000
_SHOWN: Final = 40
_KEYWORDS_BEGIN: Final = frozenset("AaOoNn")

_TO = re.compile(r"\s+TO\s+", re.IGNORECASE)


def read_filter(text: str, registry: Registry, *, strict: bool = True) -> Filter:
    """Parse a filter. An empty text matches everything.

    Raises `FilterSyntax` for a syntax error, a value that its field cannot have, a combination of
    more than 1,000 criteria unless the text itself has as many terms, and an unknown field; the
    message then suggests the nearest fields. With `strict=False`, fields and entity types unknown
    to the registry are accepted, for servers with a different model; a field in quotes is always
    accepted.
    """
    if len(text) > _LONGEST:
        raise FilterSyntax(text, _LONGEST, 1, f"a filter has at most {_LONGEST:,} characters")
    reading = Reading(text, guide_to(registry), strict=strict)
    node = reading.parse()
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


class ParsePosition(msgspec.Struct, frozen=True):
    """The position that a parser has reached, and the kind of text that is expected at `start`.

    At a `term` with `after_term`, AND or OR may also follow. An `operator` follows the field
    `field`, which begins at `field_start`. A `value` belongs to `field`.
    """

    kind: Literal["term", "operator", "value", "end"]
    start: int
    after_term: bool = False
    field: str = ""
    field_start: int = 0
    operator: str = ""
    in_list: bool = False


class Reading:
    """A single-pass parser of a filter. With `probing`, only the form is checked: fields and values
    are not resolved and unclosed parentheses are allowed. `place` is the position reached."""

    def __init__(
        self, text: str, guide: FieldGuide, *, strict: bool = True, probing: bool = False
    ) -> None:
        self.text = text
        self.terms = 0
        self.place = ParsePosition("term", 0)
        self._guide = guide
        self._strict = strict
        self._probing = probing
        self._at = 0
        self._depth = 0

    def parse(self) -> Node | None:
        """Parse the whole text; return `None` if it is empty. Raises `FilterSyntax`."""
        self._skip()
        if self._at == len(self.text):
            self.place = ParsePosition("term", self._at)
            return None
        node = self._disjunction(negated=False)
        if self._at < len(self.text):
            raise self._wrong("this ) closes nothing")
        return node

    def _disjunction(self, *, negated: bool) -> Node:
        parts = [self._conjunction(negated=negated)]
        while self._accept("OR"):
            parts.append(self._conjunction(negated=negated))
        return join_nodes("and" if negated else "or", parts)

    def _conjunction(self, *, negated: bool) -> Node:
        parts = [self._one(negated=negated)]
        while True:
            end = self._at
            self._skip()
            # A value at the end of the text may be incomplete.
            if self.place.kind != "value" or end < len(self.text):
                self.place = ParsePosition("term", self._at, after_term=True)
            if self._at == len(self.text) or self.text[self._at] == ")":
                break
            if self._keyword() == "OR":
                break
            self._accept("AND")
            parts.append(self._one(negated=negated))
        return join_nodes("or" if negated else "and", parts)

    def _one(self, *, negated: bool) -> Node:
        for _ in range(_DEEPEST):
            start = self._skip()
            if not self.place.after_term or self.place.start != start:
                self.place = ParsePosition("term", start)
            if self._accept("NOT"):
                negated = not negated
            elif self.text.startswith("-", start):
                self._at += 1
                negated = not negated
                if self._skip() > start + 1:
                    self._at = start
                    raise self._wrong(
                        "write '-' directly before the word, field or group that it excludes"
                    )
            else:
                break
        else:
            raise self._wrong(f"this is turned around more than {_DEEPEST} times")
        if not self.text.startswith("(", start):
            return self._term(negated=negated)
        return self._nest(start, negated=negated)

    def _nest(self, start: int, *, negated: bool) -> Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self._wrong(f"parentheses are nested deeper than {_DEEPEST}")
        self._at += 1
        if self.text.startswith(")", self._skip()):
            raise self._wrong("there is nothing in these parentheses")
        self.place = ParsePosition("term", self._at)
        node = self._disjunction(negated=negated)
        if self.text.startswith(")", self._at):
            self._at += 1
            self.place = ParsePosition("end", self._at)
        elif not self._probing:
            raise self._wrong(f"the ( at character {start + 1} is never closed")
        self._depth -= 1
        return node

    def _term(self, *, negated: bool) -> Node:
        start = self._at
        name, is_exact = self._field()
        end = self._at
        self.place = ParsePosition("operator", end, self.place.after_term, name, start)
        self.terms += 1
        if match := IS_NULL.match(self.text, end):
            self._at = match.end()
            self.place = ParsePosition("end", self._at)
            field = self._resolve_field(name, start, end, is_exact=is_exact)
            return Criterion(field.name, (), "IS_NULL", negated != bool(match.group(1)))
        condition: Condition = "EQUAL"
        if match := IN.match(self.text, end):
            operator, condition = "IN", "IN"
            negated = negated != bool(match.group(1))
            self._at = match.end()
        else:
            operator, condition, turned = self._operator(name, start)
            negated = negated != turned
        operands = self._operands(name, operator)
        if self._probing:
            return Criterion(name)
        plain = tuple(operand.low.text for operand in operands if operand.is_plain)
        if name == STATE and not is_exact and self._guide.field_for(name) is None:
            return self._states(operands, condition, negated=negated)
        if not is_exact and condition in ("EQUAL", "IN") and len(plain) == len(operands):
            name = self._guide.field_meant(name, plain)
        field = self._resolve_field(name, start, end, is_exact=is_exact)
        return criteria_of(
            self.text,
            operands,
            field,
            condition,
            self._guide,
            negated=negated,
            strict=self._strict,
        )

    def _states(self, operands: list[Operand], condition: Condition, *, negated: bool) -> Node:
        """Return the expression for states, such as `is:undocumented`."""
        criteria: list[Node] = []
        for operand in operands:
            state = STATES.get(operand.low.text.casefold())
            if condition not in ("EQUAL", "IN") or not operand.is_plain or state is None:
                at = operand.low
                state_names = ", ".join(STATES)
                raise FilterSyntax(
                    self.text, at.start, max(at.end - at.start, 1), f"the states are {state_names}"
                )
            criteria.append(replace(state, negated=negated))
        return join_nodes("and" if negated else "or", criteria)

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
        match = FIELD.match(self.text, start)
        if match is None:
            if start == len(self.text):
                raise self._wrong("something to filter by is missing, such as platform:hive")
            raise self._wrong("a field is expected here, such as platform in platform:hive")
        self._at = match.end()
        return match.group(), False

    def _operator(self, name: str, start: int) -> tuple[str, Condition, bool]:
        match = OPERATOR.match(self.text, self._skip())
        if match is None:
            short_name = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…"
            raise FilterSyntax(
                self.text,
                start,
                len(name),
                f"{short_name!r} is followed by nothing to compare with; a filter reads "
                f"FIELD:VALUE, such as name:{short_name if short_name.isalnum() else 'orders'}",
            )
        self._at = match.end()
        operator = "".join(match.group().split())
        condition, turned = _OPERATORS[operator.removeprefix(":") or ":"]
        return operator, condition, turned

    def _operands(self, name: str, operator: str) -> list[Operand]:
        """Return the values after an operator: one, or a list in parentheses."""
        after = self._at
        start = self._skip()
        place = ParsePosition("value", start, field=name, operator=operator)
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
            self.place = ParsePosition(
                "value", self._skip(), field=name, operator=operator, in_list=True
            )
            operands.append(self._operand(in_list=True))
            self._skip()
            if self.text.startswith(",", self._at):
                self._at += 1
            elif self._keyword() == "OR":
                self._at += len("OR")
            elif self.text.startswith(")", self._at):
                self._at += 1
                self.place = ParsePosition("end", self._at)
                return operands
            else:
                raise self._wrong(
                    f"a comma or the ) of the list at character {start + 1} is missing here"
                )

    def _operand(self, *, in_list: bool) -> Operand:
        start = self._at
        if starts_range(self.text, start):
            return self._bracket()
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

    def _bracket(self) -> Operand:
        start = self._at
        self._at += 1
        low = scan_atom(self.text, self._skip(), in_brackets=True)
        match = _TO.match(self.text, low.end)
        if match is None:
            self._at = start
            raise self._wrong(
                "a range reads [LOW TO HIGH] or LOW..HIGH; a value that begins with [ stands in "
                "double quotes"
            )
        high = scan_atom(self.text, match.end(), in_brackets=True)
        self._at = high.end
        self._skip()
        if not self.text.startswith("]", self._at):
            raise self._wrong(f"the [ at character {start + 1} is never closed")
        self._at += 1
        return Operand(low, high)

    def _resolve_field(self, name: str, start: int, end: int, *, is_exact: bool) -> FilterField:
        if self._probing:
            return FilterField(name)
        if is_exact:
            return self._guide.exactly(name) or FilterField(name)
        field = self._guide.field_for(name, strict=self._strict)
        if field is None and self._strict:
            message = unknown_field(self._guide, name)
            raise FilterSyntax(self.text, start, end - start, message, is_field=True)
        return field or FilterField(name)

    def _keyword(self) -> str:
        # This is called at every step, and mostly returns nothing.
        if self.text[self._at : self._at + 1] not in _KEYWORDS_BEGIN:
            return ""
        match = KEYWORD.match(self.text, self._at)
        return match.group(1).upper() if match else ""

    def _accept(self, keyword: str) -> bool:
        if self._keyword() != keyword:
            return False
        self._at += len(keyword)
        self.place = ParsePosition("term", self._skip())
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
    """Return the error message for an unknown field, which suggests the nearest fields."""
    near = guide.near(name)
    hint = f"did you mean {' or '.join(near)}?" if near else "platform, tags and owners are some"
    short_name = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…"
    return f"unknown field “{quote_value(short_name)[1:-1]}”; {hint}"


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


# A field with its sign, and the word after it for its direction.
_SORTED = re.compile(
    r"(?P<sign>[-+]?)(?P<name>[^\s,+-][^\s,]*|(?<=[-+]))"
    r"(?:\s+(?P<direction>(?:asc|desc)(?:ending)?)(?![^\s,]))?",
    re.IGNORECASE,
)
_SORTABLE: Final = (
    "results are sorted by name, usage, rows, size, updated, created or any other field of filters"
)


@dataclass(frozen=True, slots=True)
class Order:
    """A field to sort by, ascending or `descending`."""

    field: str
    descending: bool = False

    def to_wire(self) -> dict[str, Any]:
        """Return the order as `{"field", "order": "ASCENDING" or "DESCENDING"}`."""
        return {"field": self.field, "order": "DESCENDING" if self.descending else "ASCENDING"}


def read_sort(text: str, registry: Registry, *, strict: bool = True) -> tuple[Order, ...]:
    """Parse sort orders, most significant first; an empty text has none.

    Fields are separated by commas or spaces. A leading `-` or `desc` after it sorts a field in
    descending order, `+` or `asc` in ascending order; without, numbers are sorted the highest
    first, as in `usage`, and anything else in ascending order. The aliases are those of filters.
    Raises `FilterSyntax` for a field that is named twice or, with `strict`, is unknown.
    """
    guide = guide_to(registry)
    orders: dict[str, Order] = {}
    for match in _SORTED.finditer(text):
        sign, name, direction = match["sign"], match["name"], match["direction"]
        at = match.start("name")
        if not name:
            raise FilterSyntax(text, match.start(), 1, "a field is missing after this sign")
        field = guide.field_for(name, strict=strict)
        if field is None and strict:
            hint = f"{unknown_field(guide, name)}; {_SORTABLE}"
            raise FilterSyntax(text, at, len(name), hint)
        meant = field.name if field else name
        if meant in orders:
            raise FilterSyntax(text, at, len(name), f"{meant} is named twice in this order")
        if direction:
            is_descending = direction.casefold().startswith("desc")
        else:
            is_descending = sign == "-" if sign else bool(field and field.nature == "number")
        orders[meant] = Order(meant, is_descending)
    return tuple(orders.values())


def write_sort(orders: Iterable[Order]) -> str:
    """Return the text that `read_sort` parses as these orders, of any registry."""
    return ", ".join(f"{'-' if order.descending else '+'}{order.field}" for order in orders)


_USE: Final = "use"
_WRITTEN: Final[dict[Condition, str]] = {
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


def write_filter(filter: Filter, registry: Registry | None = None) -> str:
    """Return the text that `read_filter` parses as the filter; empty if the filter matches
    everything.

    With a registry, which must be the one used to parse the text later, values are short names and
    dates. Without, everything is quoted and means the same under every registry. Raises
    `InvalidInput` for a criterion with too few or too many values, and for a condition that the
    language cannot express.
    """
    if not all(filter.any_of):
        return ""
    guide = guide_to(registry)
    alone = len(filter.any_of) == 1
    groups = []
    for group in filter.any_of:
        conjunction = " AND ".join(_criterion(guide, criterion) for criterion in group)
        groups.append(conjunction if alone or len(group) == 1 else f"({conjunction})")
    return " OR ".join(groups)


def spell_field(guide: FieldGuide, name: str) -> str:
    """Return the text to type for a field: its name, in quotes if the registry does not have the
    field. The query-count field, whose name is hard to guess, is typed as `use`."""
    if name == USE and guide.aliases.get(_USE) == USE:
        return _USE
    is_word = FIELD.fullmatch(name) and not KEYWORD.fullmatch(name)
    return name if is_word and guide.exactly(name) else quote_value(name)


def _criterion(guide: FieldGuide, criterion: Criterion) -> str:
    condition = criterion.condition
    field = guide.exactly(criterion.field) or FilterField(criterion.field)
    name = spell_field(guide, criterion.field)
    if guide.field_meant(criterion.field, criterion.values) != criterion.field:
        name = quote_value(criterion.field)
    no = "NOT " if criterion.negated else ""
    if condition == "IS_NULL":
        return f"{name} IS {no}NULL"
    if condition == "EXISTS":
        return f"{no}{name}:*"
    _check(criterion)
    if condition in ("ANCESTORS_INCL", "RELATED_INCL"):
        raise InvalidInput(f"{condition} has no form in the filter language; name the values")
    if condition == "DESCENDANTS_INCL":
        texts = (
            spell_values(guide, field, condition, criterion.values)
            if field.parents
            else [quote_value(value, "'") for value in criterion.values]
        )
        return f"{no}{name}:{_join([f'{text}/*' for text in texts])}"
    if condition in _STARS:
        before, after = _STARS[condition]
        texts = [
            f"{before}{quote_value(value) if value.endswith('/') else _to_text(value)}{after}"
            for value in criterion.values
        ]
        return f"{no}{name}:{_join(texts)}"
    texts = spell_values(guide, field, condition, criterion.values)
    if condition == "BETWEEN":
        return f"{no}{name}:{'..'.join(texts)}"
    if condition == "IN":
        return f"{name} {no}IN ({', '.join(texts)})"
    return f"{no}{name}{_WRITTEN[condition]}{_join(texts)}"


def _check(criterion: Criterion) -> None:
    if not criterion.field:
        raise InvalidInput("a criterion of a filter needs its field")
    if criterion.condition == "BETWEEN":
        if len(criterion.values) != 2:
            raise InvalidInput(f"BETWEEN on {criterion.field} takes two values, the lower first")
    elif not criterion.values:
        raise InvalidInput(f"{criterion.condition} on {criterion.field} needs a value")


def _join(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else f"({', '.join(texts)})"
