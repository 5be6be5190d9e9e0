"""The order of results as text: `name`, `-lastModifiedAt`, several with commas between."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from explorer.metadata.filtertext.failure import FilterSyntax
from explorer.metadata.filtertext.fields import guide_to
from explorer.metadata.filtertext.reader import unknown_field
from explorer.metadata.registry import Registry

__all__ = ["Order", "read_sort", "write_sort"]

_WORD = re.compile(r"[^\s,]+")


@dataclass(frozen=True, slots=True)
class Order:
    """A field to sort by, from low to high or `descending`."""

    field: str
    descending: bool = False

    def to_wire(self) -> dict[str, Any]:
        """`{"field", "order": "ASCENDING" or "DESCENDING"}`"""
        return {"field": self.field, "order": "DESCENDING" if self.descending else "ASCENDING"}


def read_sort(text: str, registry: Registry, *, strict: bool = True) -> tuple[Order, ...]:
    """The orders that a text asks for, the first deciding first; none for an empty text.

    Fields stand with commas or spaces between, each with a `-` before it when it is to go from
    high to low. Aliases are those of filters. Raises `FilterSyntax` for a field that is named
    twice or, unless `strict=False`, cannot be searched.
    """
    guide = guide_to(registry)
    orders: dict[str, Order] = {}
    for found in _WORD.finditer(text):
        word = found.group()
        name = word.removeprefix("-").removeprefix("+")
        at = found.end() - len(name)
        if not name:
            raise FilterSyntax(text, found.start(), 1, "a field is missing after this sign")
        field = guide.named(name, strict=strict)
        if field is None and strict:
            raise FilterSyntax(text, at, len(name), unknown_field(guide, name))
        meant = field.name if field else name
        if meant in orders:
            raise FilterSyntax(text, at, len(name), f"{meant} is named twice in this order")
        orders[meant] = Order(meant, word.startswith("-"))
    return tuple(orders.values())


def write_sort(orders: Iterable[Order]) -> str:
    """The text that `read_sort` reads as these orders."""
    return ", ".join(f"{'-' if order.descending else ''}{order.field}" for order in orders)
