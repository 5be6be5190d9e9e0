"""The meaning of values in a filter's text, dates among them, and how values are written."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from explorer.query.fields import FieldGuide, FilterField
from explorer.query.filters import Condition
from explorer.query.tokens import is_bare, quoted

__all__ = ["MERGED", "Meaning", "NoMeaning", "read_value", "spell_values"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_DAY_MILLIS: Final = 86_400_000
_DAYS = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?", re.ASCII)
_INSTANT = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:[Zz]|[+-]\d\d:?\d\d)?", re.ASCII
)


@dataclass(frozen=True, slots=True)
class Span:
    """From the first to the last millisecond that a text stands for; an instant has one."""

    start_millis: int
    end_millis: int

    @property
    def is_instant(self) -> bool:
        """Whether it is one point in time, not a day or a month."""
        return self.start_millis == self.end_millis


def read_moment(text: str) -> Span | None:
    """Return the span of `2026`, `2026-01`, `2026-01-31` or
    `2026-01-31T10:00[:00[.000]][Z|+01:00]`; UTC where no offset is said. Nothing for what is no
    date."""
    try:
        if found := _DAYS.fullmatch(text):
            year, month, day = (int(part) if part else 0 for part in found.groups())
            last_month = month or 12
            last_day = day or _days_of(year, last_month)
            first = _millis(datetime(year, month or 1, day or 1, tzinfo=UTC))
            last = _millis(datetime(year, last_month, last_day, tzinfo=UTC))
            return Span(first, last + _DAY_MILLIS - 1)
        if _INSTANT.fullmatch(text):
            moment = datetime.fromisoformat(text)
            at = _millis(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
            return Span(at, at)
    except ValueError:
        return None
    return None


def _days_of(year: int, month: int) -> int:
    # Hardly anybody asks for a month, and what knows its days takes a while to be there.
    from calendar import monthrange

    return monthrange(year, month)[1]


def spell_moment(millis: int) -> tuple[str, ...]:
    """Return the texts that may stand for a point in time, the shortest first; none beyond the
    years 1 to 9999."""
    try:
        moment = _EPOCH + timedelta(milliseconds=millis)
    except OverflowError:
        return ()
    plain = moment.replace(tzinfo=None)
    unit = "milliseconds" if millis % 1000 else "seconds"
    return (f"{plain.date()}", f"{plain.isoformat(timespec=unit)}Z")


def _millis(moment: datetime) -> int:
    return (moment - _EPOCH) // _MILLISECOND


COMPARISONS: Final[tuple[Condition, ...]] = (
    "GREATER_THAN",
    "GREATER_THAN_OR_EQUAL_TO",
    "LESS_THAN",
    "LESS_THAN_OR_EQUAL_TO",
)
# Of these several values make one criterion.
MERGED: Final[tuple[Condition, ...]] = (
    "EQUAL",
    "IN",
    "IEQUAL",
    "CONTAIN",
    "START_WITH",
    "END_WITH",
    *COMPARISONS,
)
_EQUALITIES: Final = ("EQUAL", "IN")
# What compares with the last moment of a day, not with its first.
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
    """A value that the field cannot have; `str()` says what it can."""


class Meaning(msgspec.Struct, frozen=True):
    """The values that one typed value stands for. A day to be equal to is a range of time. `name`
    is what was typed for URNs, which may be the name of something else too."""

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
    """Return what a value, bare or in double quotes, means; `is_high` for the upper end of a range.

    Raises `NoMeaning` for a value that the field cannot have, unless others are let through.
    """
    if condition in _EQUALITIES:
        if field.nature == "urn":
            meant = _urns(field, text)
            return Meaning(meant, name="" if meant == (text,) else text)
        if field.nature == "boolean":
            return Meaning((_boolean(field, text),))
        if field.nature == "type":
            if strict and not guide.is_type(text):
                raise NoMeaning(_no_type(guide, text))
            return Meaning((text,))
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
    """Texts that together mean exactly the values of a criterion, in their order."""
    if condition == "BETWEEN":
        low, high = values
        return [
            _spelled(guide, field, condition, low),
            _spelled(guide, field, condition, high, is_high=True),
        ]
    found = []
    at = 0
    while at < len(values):
        many = len(field.targets)
        name = _bare_name(values[at])
        meant = _urns(field, name) if many and condition in _EQUALITIES and name else ()
        if meant and meant != (name,) and values[at : at + many] == meant:
            found.append(_typed(name))
            at += many
        else:
            found.append(_spelled(guide, field, condition, values[at]))
            at += 1
    return found


def _spelled(
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
        # Without a registry nobody knows what the reader's may make of it.
        if meant.values == (value,) and not meant.is_range and not guide.is_blind:
            return _typed(text, in_range=condition == "BETWEEN")
    return quoted(value, "'")


def _typed(text: str, *, in_range: bool = False) -> str:
    if in_range and (text.startswith(".") or text.endswith(".")):
        return quoted(text)
    return text if is_bare(text) else quoted(text)


def _compares(condition: Condition) -> bool:
    return condition == "BETWEEN" or condition in COMPARISONS


def _urns(field: FilterField, text: str) -> tuple[str, ...]:
    if not text or text.startswith(_URN) or not field.targets:
        return (text,)
    return tuple(f"{_URN}{target}:{text}" for target in field.targets)


def _bare_name(value: str) -> str:
    return value.removeprefix(_URN).partition(":")[2] if value.startswith(_URN) else ""


def _boolean(field: FilterField, text: str) -> str:
    found = _BOOLEANS.get(text.casefold())
    if found is None:
        raise NoMeaning(f"{field.name} is true or false, not {text!r}")
    return found


def _no_type(guide: FieldGuide, text: str) -> str:
    near = guide.near_types(text)
    hint = f"did you mean {' or '.join(near)}?" if near else "dataset and chart are some"
    return f"{text!r} is no type of entity; {hint}"


def _date(field: FilterField, condition: Condition, text: str, *, is_high: bool) -> Meaning:
    span = read_moment(text)
    if span is None:
        if _NUMBER.fullmatch(text) is None:
            raise NoMeaning(
                f"{field.name} holds dates such as 2026-01-31 or 2026-01-31T10:00:00Z, "
                f"and {text!r} is none"
            )
        return Meaning((text,))
    if condition == "EQUAL" and not span.is_instant:
        return Meaning((str(span.start_millis), str(span.end_millis)), is_range=True)
    at_the_end = is_high or condition in _AT_THE_END
    return Meaning((str(span.end_millis if at_the_end else span.start_millis),))
