"""Putting queries of the index together."""

from collections.abc import Sequence

import tantivy

__all__ = ["all_but", "at_least", "both", "either"]

_MUST, _SHOULD, _NOT = tantivy.Occur.Must, tantivy.Occur.Should, tantivy.Occur.MustNot


def both(queries: Sequence[tantivy.Query]) -> tantivy.Query:
    """What all of the queries find; of none, everything."""
    if len(queries) == 1:
        return queries[0]
    if not queries:
        return tantivy.Query.all_query()
    return tantivy.Query.boolean_query([(_MUST, query) for query in queries])


def either(queries: Sequence[tantivy.Query]) -> tantivy.Query:
    """What any of the queries finds; of none, nothing."""
    if len(queries) == 1:
        return queries[0]
    if not queries:
        return tantivy.Query.empty_query()
    return tantivy.Query.boolean_query([(_SHOULD, query) for query in queries])


def at_least(queries: Sequence[tantivy.Query], least: int) -> tantivy.Query:
    """What so many of the queries find."""
    if least == len(queries):
        return both(queries)
    if least == 1:
        return either(queries)
    return tantivy.Query.boolean_query(
        [(_SHOULD, query) for query in queries], minimum_number_should_match=least
    )


def all_but(query: tantivy.Query, others: Sequence[tantivy.Query]) -> tantivy.Query:
    """What a query finds and none of the others does."""
    if not others:
        return query
    clauses = [(_NOT, other) for other in others]
    return tantivy.Query.boolean_query([(_MUST, query), *clauses])
