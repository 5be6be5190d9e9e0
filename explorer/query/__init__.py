"""Filters and sort orders as people type them, and their completion while they do.

    platform:snowflake AND (tags:PII OR owners:jdoe) AND NOT removed:true AND rows>1000

Terms. The words between are those of the wire's conditions.

    name:orders   name=orders         EQUAL; name!=orders is NOT name:orders
    tags:(PII, GDPR)                  either value
    name:ord*   name:*ers   name:*rde*   START_WITH, END_WITH, CONTAIN
    name=~Orders   name!~Orders       IEQUAL, whatever the case, and its opposite
    rows>10   >=   <   <=             as they read; rows:>10 will do too
    rows:10..20   rows:[10 TO 20]     BETWEEN, both ends included; 10..* is open
    tags:*                            EXISTS
    tags IS NULL   tags IS NOT NULL   IS_NULL and its opposite
    tags IN (PII, GDPR)   NOT IN      IN and its opposite

    owner:nina   owner:"Nina Weber"   those of anybody with that name, where the server knows names
    is:undocumented   is:(owned, removed)   a state: also documented, unowned, deprecated

Joined by AND, which may be left out, by OR, which binds less, and by parentheses; NOT or a `-`
in front turns around what follows.

Values. What is short stands for what is meant: `tags:PII` for the URN of the tag, a day for its
milliseconds. A value with spaces or signs in it stands in "double quotes", with a backslash before
a quote or a backslash; in 'single quotes' it means exactly the text written, and nothing else. A
URN needs no quotes while it is one word, whatever parentheses and commas it has. A field in double
quotes is that field, known here or not, and no alias of another.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from explorer.query.completion import Completion, FacetLike, FacetValueLike, complete, value_at
    from explorer.query.filters import Condition, Criterion, Filter, all_of
    from explorer.query.syntax import Order, read_filter, read_sort, write_filter, write_sort
    from explorer.query.tokens import FilterSyntax

__all__ = [
    "Completion",
    "Condition",
    "Criterion",
    "FacetLike",
    "FacetValueLike",
    "Filter",
    "FilterSyntax",
    "Order",
    "all_of",
    "complete",
    "read_filter",
    "read_sort",
    "value_at",
    "write_filter",
    "write_sort",
]

# Filters are imported by everything that asks for something; their text by few.
_HOMES = {
    "Completion": "explorer.query.completion",
    "Condition": "explorer.query.filters",
    "Criterion": "explorer.query.filters",
    "FacetLike": "explorer.query.completion",
    "FacetValueLike": "explorer.query.completion",
    "Filter": "explorer.query.filters",
    "FilterSyntax": "explorer.query.tokens",
    "Order": "explorer.query.syntax",
    "all_of": "explorer.query.filters",
    "complete": "explorer.query.completion",
    "read_filter": "explorer.query.syntax",
    "read_sort": "explorer.query.syntax",
    "value_at": "explorer.query.completion",
    "write_filter": "explorer.query.syntax",
    "write_sort": "explorer.query.syntax",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
