"""What the index on disk has of one search that is sorted by values.

Tantivy puts documents in the order of one column. Those that are alike in it are put in the order
of the next: in Python where all of them were read, by another query where only some were. So
reading on costs a few queries for each field sorted by, wherever a page begins.
"""

from collections.abc import Sequence

import tantivy

from explorer.metadata.structured_properties import PREFIX
from explorer.server.search.clauses import all_but, both, either
from explorer.server.search.listing import Key, Listing
from explorer.server.search.sorting import SortField, sort_code, sort_codes, sort_key

__all__ = ["Sorted"]

_Query = tantivy.Query
_Hit = tuple[Key, tantivy.DocAddress]


class Sorted(Listing):
    """A listing that has one step, in the order of the fields its search is sorted by."""

    def between(self, step: int, after: Key | None, to: Key) -> int:
        def query() -> tantivy.Query:
            return all_but(self._after(step, after), [self._beyond(to)])

        return self._count(query)

    def read(self, step: int, after: Key | None, limit: int) -> list[_Hit]:
        if limit <= 0:
            return []
        fields = self._wanted.sorted_by
        return self._run(lambda: self._ordered(self._after(step, after), fields, "", limit))

    def sample(self, step: int, after: Key | None, before: Key | None, size: int) -> list[Key]:
        def search() -> tantivy.SearchResult:
            query = self._after(step, after)
            if before is not None:
                query = all_but(query, [self._beyond(before)])
            return self._searcher.search(query, size, count=False, order_by_field="shuffle")

        keys = {self._key(address) for _, address in self._run(search).hits}
        return sorted(keys - {before})

    def _key(self, address: tantivy.DocAddress) -> Key:
        return sort_key(self._wanted.sorted_by, self.document(address), self._vocabulary)

    def _after(self, step: int, after: Key | None) -> tantivy.Query:
        query = self._step(step)
        return query if after is None else both([query, self._beyond(after)])

    def _ordered(
        self, query: tantivy.Query, fields: Sequence[SortField], begun: Key, limit: int
    ) -> list[_Hit]:
        """The first documents of a query in the order of the fields; `begun` is how their keys
        begin."""
        field, *rest = fields
        if not rest:
            hits = self._by_column(query, field, limit)
            return [(begun + field.part(code), address) for code, address in hits]
        if field.is_always_there:
            return self._valued(query, field, rest, begun, limit)
        there = self._there(field)
        found: list[_Hit] = []
        for is_there in (False, True) if field.missing_first else (True, False):
            left = limit - len(found)
            if left and is_there:
                found += self._valued(both([query, there]), field, rest, begun, left)
            elif left:
                without = all_but(query, [there])
                found += self._ordered(without, rest, begun + field.part(None), left)
        return found

    def _valued(
        self,
        query: tantivy.Query,
        field: SortField,
        rest: Sequence[SortField],
        begun: Key,
        limit: int,
    ) -> list[_Hit]:
        """As `_ordered`, for documents that all have a value of the first field."""
        hits = self._by_column(query, field, limit)
        cut = hits[-1][0] if len(hits) == limit else None
        found: list[_Hit] = []
        same: list[tantivy.DocAddress] = []
        for at, (code, address) in enumerate(hits):
            if code == cut:
                break
            same.append(address)
            if at + 1 == len(hits) or hits[at + 1][0] != code:
                found += self._by_hand(same, rest, begun + field.part(code))
                same = []
        if cut is not None:
            alike = both([query, self._terms.sorted_as(field.name, cut)])
            found += self._ordered(alike, rest, begun + field.part(cut), limit - len(found))
        return found

    def _by_hand(
        self, addresses: list[tantivy.DocAddress], rest: Sequence[SortField], begun: Key
    ) -> list[_Hit]:
        found = [
            (begun + sort_key(rest, self.document(address), self._vocabulary), address)
            for address in addresses
        ]
        return sorted(found, key=_key_of)

    def _by_column(
        self, query: tantivy.Query, field: SortField, limit: int
    ) -> list[tuple[str, tantivy.DocAddress]]:
        if field.name.startswith(PREFIX):
            return self._by_values(query, field, limit)
        return self._searcher.search(
            query,
            self._at_most(limit),
            count=False,
            order_by_field=self._terms.sort_column(field.name),
            order=tantivy.Order.Desc if field.descending else tantivy.Order.Asc,
        ).hits

    def _by_values(
        self, query: tantivy.Query, field: SortField, limit: int
    ) -> list[tuple[str, tantivy.DocAddress]]:
        """As `_by_column`, for a structured property: its first values are counted in order, then
        the documents are read that have them."""
        limit = self._at_most(limit)
        terms = {
            "field": self._terms.sort_column(field.name),
            "size": limit,
            "segment_size": limit,
            "order": {"_key": "desc" if field.descending else "asc"},
        }
        buckets = self._searcher.aggregate(query, {"codes": {"terms": terms}})["codes"]["buckets"]
        found = 0
        for bucket in buckets:
            last, found = bucket["key"], found + bucket["doc_count"]
            if found >= limit:
                break
        else:
            last = None
        if last is None:
            return self._coded(query, field, limit)
        alike = self._terms.sorted_as(field.name, last)
        beyond = self._terms.sorted_beyond(field.name, last, descending=field.descending)
        hits = self._coded(all_but(query, [alike, beyond]), field, limit)
        same = self._searcher.search(both([query, alike]), limit - len(hits), count=False).hits
        return [*hits, *((last, address) for _, address in same)]

    def _coded(
        self, query: tantivy.Query, field: SortField, limit: int
    ) -> list[tuple[str, tantivy.DocAddress]]:
        """All documents of a query, at most `limit`, in the order of their values of a field."""
        trait = self._vocabulary.trait(field.name)
        hits = self._searcher.search(both([query, self._there(field)]), limit, count=False).hits
        coded = [(sort_code(trait, self.document(address)) or "", address) for _, address in hits]
        return sorted(coded, key=lambda one: one[0], reverse=field.descending)

    def _beyond(self, key: Key) -> tantivy.Query:
        """The documents that come after a key."""
        fields = self._wanted.sorted_by
        return self._past(fields, sort_codes(fields, key))

    def _past(self, fields: Sequence[SortField], codes: Sequence[str | None]) -> tantivy.Query:
        field, code = fields[0], codes[0]
        further = self._past(fields[1:], codes[1:]) if len(fields) > 1 else None
        if code is None:
            lacking = all_but(_Query.all_query(), [self._there(field)])
            alike = [] if further is None else [both([lacking, further])]
            return either([self._there(field), *alike] if field.missing_first else alike)
        found = [self._terms.sorted_beyond(field.name, code, descending=field.descending)]
        if further is not None:
            found.append(both([self._terms.sorted_as(field.name, code), further]))
        if not field.is_always_there and not field.missing_first:
            found.append(all_but(_Query.all_query(), [self._there(field)]))
        return either(found)

    def _there(self, field: SortField) -> tantivy.Query:
        return _Query.exists_query(self._terms.sort_column(field.name))


def _key_of(hit: _Hit) -> Key:
    return hit[0]
