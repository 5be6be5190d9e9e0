"""Filters and sort orders as callers give them: as records, or as the text that people type."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from explorer.errors import InvalidInput
from explorer.metadata.filters import Filter
from explorer.metadata.registry import Registry

if TYPE_CHECKING:
    from explorer.metadata.filtertext import Order

__all__ = ["read_narrowing", "read_order", "read_types"]


def read_narrowing(given: Filter | str | None, registry: Registry) -> Filter:
    """A filter; a text is read as `explorer.metadata.filtertext` says. Raises `InvalidInput`."""
    if isinstance(given, str):
        from explorer.metadata.filtertext import read_filter

        return read_filter(given, registry) if given.strip() else Filter()
    return given or Filter()


def read_order(given: "str | Sequence[Order] | None", registry: Registry) -> "tuple[Order, ...]":
    """A sort order, the most important field first; `-created,name` as text. Raises
    `InvalidInput`."""
    if isinstance(given, str):
        from explorer.metadata.filtertext import read_sort

        return tuple(read_sort(given, registry)) if given.strip() else ()
    return tuple(given or ())


def read_types(given: str | Iterable[str] | None) -> tuple[str, ...]:
    """Entity types, each once; none stand for all of them. Raises `InvalidInput`."""
    names = (given,) if isinstance(given, str) else tuple(given or ())
    if not all(name.strip() for name in names):
        raise InvalidInput(
            "entity types are given by their names, such as 'dataset'; leave them out for all"
        )
    return tuple(dict.fromkeys(names))
