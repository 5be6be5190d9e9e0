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

from explorer.metadata.filtertext.completion import (
    Completion,
    FacetLike,
    FacetValueLike,
    complete,
    value_at,
)
from explorer.metadata.filtertext.failure import FilterSyntax
from explorer.metadata.filtertext.reader import read_filter
from explorer.metadata.filtertext.sorting import Order, read_sort, write_sort
from explorer.metadata.filtertext.writer import write_filter

__all__ = [
    "Completion",
    "FacetLike",
    "FacetValueLike",
    "FilterSyntax",
    "Order",
    "complete",
    "read_filter",
    "read_sort",
    "value_at",
    "write_filter",
    "write_sort",
]
