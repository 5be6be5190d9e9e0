"""Filters of a search: an OR of ANDs of criteria, and their wire form."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

__all__ = ["CONDITIONS", "Condition", "Criterion", "Filter", "all_of"]

Condition = Literal[
    "CONTAIN",
    "END_WITH",
    "EQUAL",
    "GREATER_THAN",
    "GREATER_THAN_OR_EQUAL_TO",
    "LESS_THAN",
    "LESS_THAN_OR_EQUAL_TO",
    "START_WITH",
    "IN",
    "IS_NULL",
    "EXISTS",
    "IEQUAL",
    "BETWEEN",
]
CONDITIONS: tuple[Condition, ...] = get_args(Condition)


@dataclass(frozen=True, slots=True)
class Criterion:
    """One test of a searchable field. Several `values` are alternatives (BETWEEN takes two)."""

    field: str
    values: tuple[str, ...] = ()
    condition: Condition = "EQUAL"
    negated: bool = False

    def to_wire(self) -> dict[str, Any]:
        """The criterion with both the old single `value` and today's `values`."""
        wire: dict[str, Any] = {
            "field": self.field,
            "value": self.values[0] if self.values else "",
            "values": list(self.values),
            "condition": self.condition,
        }
        if self.negated:
            wire["negated"] = True
        return wire


@dataclass(frozen=True, slots=True)
class Filter:
    """`any_of` holds conjunctions; an entity passes when it meets all of any one of them."""

    any_of: tuple[tuple[Criterion, ...], ...] = ()

    def __bool__(self) -> bool:
        return any(self.any_of)

    def to_wire(self) -> dict[str, Any]:
        """`{"or": [{"and": [criterion, …]}, …]}`"""
        return {"or": [{"and": [c.to_wire() for c in group]} for group in self.any_of]}


def all_of(*criteria: Criterion) -> Filter:
    """The filter that asks for every criterion at once."""
    return Filter((criteria,)) if criteria else Filter()
