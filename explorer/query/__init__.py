"""The language of filters and sort orders, and its completion.

    platform:snowflake AND (tags:PII OR owners:jdoe) AND NOT removed:true AND rows>1000

Terms, with the wire condition that each one becomes:

    name:orders   name=orders         EQUAL; name!=orders is NOT name:orders
    tags:(PII, GDPR)                  either value
    name:ord*   name:*ers   name:*rde*   START_WITH, END_WITH, CONTAIN
    domain:Finance/*                  DESCENDANTS_INCL: it and all that is part of it; also
                                      container:…/*, and term:…/* for a group of terms
    name=~Orders   name!~Orders       IEQUAL, which ignores case, and its opposite
    rows>10   >=   <   <=             comparisons; rows:>10 is the same as rows>10
    rows:10..20   rows:[10 TO 20]     BETWEEN, both ends included; 10..* is open
    tags:*                            EXISTS
    tags IS NULL   tags IS NOT NULL   IS_NULL and its opposite
    tags IN (PII, GDPR)   NOT IN      IN and its opposite

    owner:nina   owner:"Nina Weber"   any owner with that name, if the server resolves names
    is:undocumented   is:(owned, removed)   a state: also documented, unowned, deprecated

Terms are joined by AND, which may be left out, by OR, which binds less tightly, and grouped by
parentheses. NOT or a leading `-` negates the term or group that follows.

Values may be abbreviated: `tags:PII` stands for the URN of the tag, a day for its milliseconds. A
value with spaces or special characters must be in "double quotes", with a backslash before a quote
or a backslash. In 'single quotes' a value is taken literally and not expanded. A URN needs no
quotes unless it contains spaces, quotes or stars; its parentheses and commas are allowed. A field
name in double quotes is taken literally: it may be unknown here, and it is never an alias.

In a filter, a bare `urn:li:tag:PII` is `urn:urn:li:tag:PII`, the entity itself. Among the words of
a search it also finds the entities that refer to it: see `explorer.query.search_text`.
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

# Imported on first use: most modules need `filters`, few need the parser.
_NAMES = {
    "completion": ("Completion", "FacetLike", "FacetValueLike", "complete", "value_at"),
    "filters": ("Condition", "Criterion", "Filter", "all_of"),
    "syntax": ("Order", "read_filter", "read_sort", "write_filter", "write_sort"),
    "tokens": ("FilterSyntax",),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
