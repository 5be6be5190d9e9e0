"""A filter to a query."""

from explorer.errors import InvalidInput
from explorer.query.filters import Criterion, Filter
from explorer.server.search.comparison import compared, derived, present
from explorer.server.search.fields import Trait, Vocabulary
from explorer.server.search.forms import needle, number
from explorer.server.search.names import Names
from explorer.server.search.query import (
    EVERYTHING,
    Node,
    Not,
    NumberRange,
    TextRange,
    all_of,
    any_of,
)

__all__ = ["filter_query", "names_field"]


def filter_query(
    narrowed_by: Filter,
    vocabulary: Vocabulary,
    known: frozenset[str],
    names: Names | None = None,
) -> Node:
    """The query that a filter stands for; `known` are the fields that can be filtered by, `names`
    finds what is referred to by its name.

    Several values of a criterion are alternatives; one without values, where the condition wants
    some, asks for nothing. Raises `UnknownName` for a field that cannot be searched, naming those
    that can, and `InvalidInput` for a bound that is no number where numbers are compared.
    """
    groups = [
        all_of(tuple(_criterion(criterion, vocabulary, known, names) for criterion in group))
        for group in narrowed_by.any_of
    ]
    return any_of(tuple(groups)) if groups and EVERYTHING not in groups else EVERYTHING


def names_field(narrowed_by: Filter, field: str) -> bool:
    """Whether any criterion is about a field."""
    return any(
        criterion.field.removesuffix(".keyword") == field
        for group in narrowed_by.any_of
        for criterion in group
    )


def _criterion(
    criterion: Criterion,
    vocabulary: Vocabulary,
    known: frozenset[str],
    names: Names | None,
) -> Node:
    fields = vocabulary.resolve(criterion.field, known)
    if criterion.condition in ("EXISTS", "IS_NULL"):
        found = any_of(tuple(present(vocabulary.trait(field)) for field in fields))
        absent = criterion.condition == "IS_NULL"
        return Not(found) if absent != criterion.negated else found
    if not criterion.values:
        return EVERYTHING
    node = any_of(
        tuple(
            test for field in fields for test in _tests(criterion, vocabulary.trait(field), names)
        )
    )
    return Not(node) if criterion.negated else node


def _tests(criterion: Criterion, trait: Trait, names: Names | None) -> list[Node]:
    if criterion.condition == "BETWEEN":
        if len(criterion.values) != 2:
            raise InvalidInput(f"BETWEEN on {criterion.field} takes two values, the lower first")
        return [_range(trait, *criterion.values)]
    return [_test(criterion, trait, value, names) for value in criterion.values]


def _range(trait: Trait, low: str | None, high: str | None, *, strict: bool = False) -> Node:
    if trait.nature in ("number", "date") or (trait.mixed and _are_numbers(trait, low, high)):
        return NumberRange(trait.name, _number(trait, low), _number(trait, high), strict)
    asked = TextRange(trait.name, _text(trait, low), _text(trait, high), strict)
    return derived(trait, asked.holds) if trait.derived else asked


def _are_numbers(trait: Trait, *bounds: str | None) -> bool:
    return all(bound is None or number(trait, bound) is not None for bound in bounds)


def _number(trait: Trait, text: str | None) -> float | None:
    if text is None:
        return None
    found = number(trait, text)
    if found is None:
        meant = "a number" if trait.nature == "number" else "milliseconds since 1970, or a date"
        raise InvalidInput(f"{trait.name} is compared with {meant}, not with {text!r}")
    return found


def _text(trait: Trait, text: str | None) -> str | None:
    return None if text is None else needle(trait, text)[: trait.order_cut]


def _test(criterion: Criterion, trait: Trait, value: str, names: Names | None) -> Node:
    match criterion.condition:
        case "CONTAIN":
            return compared(trait, "infix", value, names)
        case "START_WITH":
            return compared(trait, "prefix", value, names)
        case "END_WITH":
            return compared(trait, "suffix", value, names)
        case "GREATER_THAN":
            return _range(trait, value, None, strict=True)
        case "GREATER_THAN_OR_EQUAL_TO":
            return _range(trait, value, None)
        case "LESS_THAN":
            return _range(trait, None, value, strict=True)
        case "LESS_THAN_OR_EQUAL_TO":
            return _range(trait, None, value)
        case _:
            return compared(trait, "equal", value, names)
