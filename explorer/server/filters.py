"""Filters as they arrive: today's OR of ANDs, or the oldest flat list of criteria."""

from dataclasses import replace
from typing import Any

from explorer.metadata.filters import Filter

__all__ = ["read_filter"]


def read_filter(given: Any) -> Filter:
    """A filter from its wire form; nothing gives the filter that lets all pass.

    Callers may name the untokenised twin of a field, `name.keyword`: the field itself is meant.
    Raises `InvalidInput`, see `Filter.from_wire`.
    """
    read = Filter.from_wire(given)
    return Filter(
        tuple(
            tuple(replace(one, field=one.field.removesuffix(".keyword")) for one in group)
            for group in read.any_of
        )
    )
