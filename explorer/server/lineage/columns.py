"""Lineage of columns: the nodes are URNs of schema fields, the edges stand inside aspects.

What flows into a column is said by the `fineGrainedLineages` of its dataset, and of the jobs that
produce it; into a field of a chart or dashboard, by its `inputFields`. What flows out of a column
is said by the datasets whose fine-grained lineage points at it, by the jobs that consume its
dataset, and by the charts whose input it is.

An edge is carried by the job that declares it, or by the query that the fine-grained lineage names;
DataHub calls that entity `via`.
"""

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise, product
from typing import NamedTuple

import orjson

from explorer.errors import InvalidUrn
from explorer.metadata.urn import Urn
from explorer.server.store import Store
from explorer.server.store.lineage import KnownUrn

__all__ = ["Columns", "is_column", "owner_of", "parent_of"]

_DATASET = "upstreamLineage"
_JOB = "dataJobInputOutput"
_CHART = "inputFields"
_CONSUMES_FIELD = "consumesField"
_DOWNSTREAM_OF = "DownstreamOf"
_COLUMN = "urn:li:schemaField:("


def is_column(urn: str) -> bool:
    """Whether a URN is that of a schema field."""
    return urn.startswith(_COLUMN)


class _Statement(NamedTuple):
    """Data flows from each of the upstream columns to each of the downstream ones."""

    upstreams: Sequence[str]
    downstreams: Sequence[str]
    via: str | None


class Columns:
    """The graph of columns. A hop reads the aspects that speak of a frontier's datasets."""

    def __init__(self, store: Store, *, upstream: bool) -> None:
        self._store = store
        self._upstream = upstream
        self._vias: dict[tuple[str, str], dict[str | None, None]] = {}

    def hop(self, frontier: Sequence[str], limit: int) -> list[tuple[str, str, str]]:
        """See `walk.Graph`; only columns are led to, not the datasets that some lineage names."""
        wanted = set(frontier)
        found: dict[tuple[str, str, str], None] = {}
        for upstreams, downstreams, via in self._statements(frontier):
            ups, downs = list(filter(is_column, upstreams)), list(filter(is_column, downstreams))
            here, there = (downs, ups) if self._upstream else (ups, downs)
            near = [one for one in here if one in wanted]
            for pair in islice(product(near, there), limit - len(found)):
                found[*pair, _DOWNSTREAM_OF] = None
                self._vias.setdefault(pair, {})[via] = None
            if len(found) >= limit:
                break
        return list(found)

    def vias(self, near: str, far: str) -> list[str | None]:
        """Return what carries an edge that a hop found; None stands for nothing in between."""
        return list(self._vias[near, far])

    def carried(self, path: Sequence[str], limit: int) -> list[tuple[str, ...]]:
        """Return a path of columns with what carries its edges in between; where an edge is
        carried by several, one path for each, at most `limit`."""
        between = [self.vias(*pair) for pair in pairwise(path)]
        return [
            (path[0], *(urn for step in zip(vias, path[1:], strict=True) for urn in step if urn))
            for vias in islice(product(*between), limit)
        ]

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

    def _statements(self, frontier: Sequence[str]) -> Iterator[_Statement]:
        """Everything that may be said of the columns' lineage."""
        parents = sorted({parent for column in frontier if (parent := parent_of(column))})
        known = self._store.handles(parents)
        nearby = self._store.lineage_edges(
            sorted(known.values()), upstream=self._upstream, limit=1_000_000
        )
        neighbours = self._store.known(sorted({far for _, far, _ in nearby}))
        jobs = [one.urn for one in neighbours if one.entity_type == "dataJob"]
        sources = parents if self._upstream else self._store.sources(frontier, _DOWNSTREAM_OF)
        for urns, aspect in ((sources, _DATASET), (jobs, _JOB)):
            for urn, stored in self._store.aspects(urns, (aspect,)).items():
                for one in stored:
                    for said in orjson.loads(one.value).get("fineGrainedLineages") or ():
                        yield _Statement(
                            said.get("upstreams") or (),
                            said.get("downstreams") or (),
                            urn if aspect == _JOB else said.get("query"),
                        )
        charts = parents if self._upstream else self._store.sources(frontier, _CONSUMES_FIELD)
        for urn, stored in self._store.aspects(charts, (_CHART,)).items():
            for one in stored:
                for field in orjson.loads(one.value).get("fields") or ():
                    path = (field.get("schemaField") or {}).get("fieldPath")
                    if path:
                        own = f"{_COLUMN}{urn},{path})"
                        yield _Statement((field["schemaFieldUrn"],), (own,), None)


def owner_of(urn: str) -> str:
    """Return what a column belongs to; of anything else, itself."""
    return parent_of(urn) or urn


def parent_of(column: str) -> str | None:
    """Return the URN of a column's dataset, or None for what is no column."""
    if not is_column(column):
        return None
    try:
        return Urn.parse(column).parts[0]
    except InvalidUrn:
        return None
