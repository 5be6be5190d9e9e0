"""What stands after an operator, and the conditions that it makes."""

import msgspec

from explorer.metadata.filters import Condition
from explorer.metadata.filtertext.failure import FilterSyntax
from explorer.metadata.filtertext.fields import FieldGuide, FilterField
from explorer.metadata.filtertext.meaning import MERGED, Meaning, NoMeaning, read_value
from explorer.metadata.filtertext.scanning import Atom

__all__ = ["Operand", "Test", "tests_of"]


class Test(msgspec.Struct, frozen=True):
    """A condition with its values; `names` are those typed in the place of URNs."""

    condition: Condition
    values: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


class Operand(msgspec.Struct, frozen=True):
    """A value, or with `high` a range, as typed."""

    low: Atom
    high: Atom | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it is one word, without quotes or stars."""
        return self.high is None and not self.low.quote and not self.low.has_star


def tests_of(
    text: str,
    operands: list[Operand],
    field: FilterField,
    condition: Condition,
    guide: FieldGuide,
    *,
    strict: bool,
) -> list[Test]:
    """The conditions, each with its values, of which any must hold. Values of one condition stand
    together, in their order. Raises `FilterSyntax`."""
    merged: dict[Condition, tuple[list[str], list[str]]] = {}
    tests: list[Test] = []
    for operand in operands:
        try:
            test = _test(operand, field, condition, guide, strict=strict)
        except NoMeaning as problem:
            last = operand.high or operand.low
            start = operand.low.start
            raise FilterSyntax(text, start, last.end - start, str(problem)) from None
        how = test.condition
        if how not in MERGED:
            tests.append(test)
            continue
        if how not in merged:
            merged[how] = ([], [])
            # Stands for its place until all values are known.
            tests.append(Test(how))
        merged[how][0].extend(test.values)
        merged[how][1].extend(test.names)
    return [
        Test(one.condition, *map(tuple, merged[one.condition])) if one.condition in merged else one
        for one in tests
    ]


def _test(
    operand: Operand,
    field: FilterField,
    condition: Condition,
    guide: FieldGuide,
    *,
    strict: bool,
) -> Test:
    low, high = operand.low, operand.high
    if condition != "EQUAL" and (high or low.has_star):
        sign = "a range" if high else "a star"
        raise NoMeaning(
            f"{sign} can stand only after : or =; in double quotes it is the text written"
        )

    def values(atom: Atom, how: Condition, *, is_high: bool = False) -> Meaning:
        if atom.quote == "'":
            return Meaning((atom.text,))
        return read_value(guide, field, how, _whole(field, atom), strict=strict, is_high=is_high)

    if high is None:
        if low.has_star:
            return _pattern(field, low)
        meaning = values(low, condition)
        names = (meaning.name,) if meaning.name else ()
        return Test("BETWEEN" if meaning.is_range else condition, meaning.values, names)
    if any(atom.has_star and not atom.is_star for atom in (low, high)):
        raise NoMeaning("a star beside a value cannot stand in a range")
    if low.is_star and high.is_star:
        return Test("EXISTS")
    if low.is_star:
        how: Condition = "LESS_THAN_OR_EQUAL_TO"
        return Test(how, values(high, how).values)
    if high.is_star:
        how = "GREATER_THAN_OR_EQUAL_TO"
        return Test(how, values(low, how).values)
    ends = values(low, "BETWEEN").values + values(high, "BETWEEN", is_high=True).values
    return Test("BETWEEN", ends)


def _whole(field: FilterField, atom: Atom) -> str:
    """A URN written for itself, `urn:li:tag:PII`, begins with what was taken for its field."""
    is_cut = field.name == "urn" and not atom.quote and atom.text.startswith("li:")
    return f"urn:{atom.text}" if is_cut else atom.text


def _pattern(field: FilterField, atom: Atom) -> Test:
    if atom.is_star:
        return Test("EXISTS")
    if atom.star_before and atom.star_after:
        return Test("CONTAIN", (atom.text,))
    if atom.star_before:
        return Test("END_WITH", (atom.text,))
    return Test("START_WITH", (_whole(field, atom),))
