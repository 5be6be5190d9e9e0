"""Lineage of columns: the nodes are URNs of schema fields, the edges stand inside aspects.

What flows into a column is said by the `fineGrainedLineages` of its dataset, and of the jobs that
produce it. What flows out of it is said by the datasets whose fine-grained lineage points at the
column, and by the jobs that consume its dataset.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import orjson

from explorer.errors import InvalidUrn
from explorer.metadata.urn import Urn
from explorer.server.store import Store
from explorer.server.store.lineage import KnownUrn

__all__ = ["Columns", "is_column", "parent_of"]

_DATASET = "upstreamLineage"
_JOB = "dataJobInputOutput"
_DOWNSTREAM_OF = "DownstreamOf"
_COLUMN = "urn:li:schemaField:("


def is_column(urn: str) -> bool:
    """Whether a URN is that of a schema field."""
    return urn.startswith(_COLUMN)


class Columns:
    """The graph of columns. A hop reads the aspects that speak of a frontier's datasets."""

    def __init__(self, store: Store, *, upstream: bool) -> None:
        self._store = store
        self._upstream = upstream

    def hop(self, frontier: Sequence[str], limit: int) -> list[tuple[str, str, str]]:
        """See `walk.Graph`; only columns are led to, not the datasets that some lineage names."""
        wanted = set(frontier)
        found: dict[tuple[str, str, str], None] = {}
        for said in self._sayings(frontier):
            ups = [one for one in said.get("upstreams") or () if is_column(one)]
            downs = [one for one in said.get("downstreams") or () if is_column(one)]
            here, there = (downs, ups) if self._upstream else (ups, downs)
            near = [one for one in here if one in wanted]
            pairs = ((one, other, _DOWNSTREAM_OF) for one in near for other in there)
            found.update(dict.fromkeys(islice(pairs, limit - len(found))))
            if len(found) >= limit:
                break
        return list(found)

    def named(self, columns: Sequence[str]) -> dict[str, KnownUrn]:
        """The columns as nodes; one exists when its dataset's schema has it, or it is stored."""
        parents = {column: parent_of(column) for column in columns}
        schemas = self._store.aspects(
            sorted({parent for parent in parents.values() if parent}), ("schemaMetadata",)
        )
        there = self._store.existing(columns)
        for parent, aspects in schemas.items():
            for aspect in aspects:
                for field in orjson.loads(aspect.value).get("fields", ()):
                    there.add(f"{_COLUMN}{parent},{field['fieldPath']})")
        return {column: KnownUrn(0, column, "schemaField", column in there) for column in columns}

    def _sayings(self, frontier: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Every fine-grained lineage that may speak of the columns."""
        parents = sorted({parent for column in frontier if (parent := parent_of(column))})
        known = self._store.handles(parents)
        nearby = self._store.lineage_edges(
            sorted(known.values()), upstream=self._upstream, limit=1_000_000
        )
        neighbours = self._store.known(sorted({far for _, far, _ in nearby}))
        jobs = [one.urn for one in neighbours if one.entity_type == "dataJob"]
        sources = parents if self._upstream else self._store.sources(frontier, _DOWNSTREAM_OF)
        for urns, aspect in ((sources, _DATASET), (jobs, _JOB)):
            for stored in self._store.aspects(urns, (aspect,)).values():
                for one in stored:
                    yield from orjson.loads(one.value).get("fineGrainedLineages") or ()


def parent_of(column: str) -> str | None:
    """Return the URN of a column's dataset, or None for what is no column."""
    if not is_column(column):
        return None
    try:
        return Urn.parse(column).parts[0]
    except InvalidUrn:
        return None
