"""What others wrote of a column like this one: upstream of it, and under the same name."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.query.filters import Criterion, Filter

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Entity

__all__ = ["Suggestion", "suggestions"]

_ASPECTS = (
    "schemaMetadata",
    "editableSchemaMetadata",
    "datasetProperties",
    "editableDatasetProperties",
)
_LOOKED_AT = 12
_GIVEN = 3

Origin = Literal["upstream", "same name"]


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A text of another column: exactly as it is there, in which datasets, and why it is told."""

    text: str
    origin: Origin
    places: tuple[str, ...]


async def suggestions(
    catalog: "AsyncCatalog", entity: "Entity", path: str
) -> tuple[Suggestion, ...]:
    """The texts of columns that this one is made from, then of those that are called the same, the
    most frequent first; three at most. Two requests, whatever the schema's size."""
    name = FieldPath(path).name
    sources = dict(_sources(entity, path))
    called_so = Filter(((Criterion("fieldPaths", (name,), "CONTAIN"),),))
    page = await catalog.search("*", entity="dataset", narrowed_by=called_so, count=_LOOKED_AT)
    others = [hit.urn for hit in page.hits if hit.urn != entity.urn]
    read = await catalog.entities([*sources, *others], _ASPECTS)
    found: dict[tuple[Origin, str], list[str]] = {}
    for urn, other in read.items():
        origin: Origin = "upstream" if urn in sources else "same name"
        wanted = sources.get(urn) or frozenset()
        for column in other.schema:
            fits = column.path.raw in wanted or (not wanted and column.path.name == name)
            if fits and column.documented:
                exact = column.edited if (column.edited or "").strip() else column.ingested
                found.setdefault((origin, exact or ""), []).append(other.name)
    ordered = sorted(found.items(), key=lambda one: (one[0][0] != "upstream", -len(one[1])))
    given: dict[str, Suggestion] = {}
    for (origin, text), places in ordered:
        given.setdefault(text, Suggestion(text, origin, tuple(dict.fromkeys(places))))
    return tuple(given.values())[:_GIVEN]


def _sources(entity: "Entity", path: str) -> Iterator[tuple[Urn, frozenset[str]]]:
    """The datasets upstream, each with the columns that this one is made from, where that is
    said; else with none."""
    lineage = entity.raw("upstreamLineage") or {}
    columns: dict[Urn, set[str]] = {}
    for edge in _objects(lineage.get("fineGrainedLineages")):
        if any(one == (entity.urn, path) for one in _fields(edge.get("downstreams"))):
            for dataset, column in _fields(edge.get("upstreams")):
                columns.setdefault(dataset, set()).add(column)
    if columns:
        yield from ((urn, frozenset(paths)) for urn, paths in columns.items())
        return
    upstream = Urn.parse_all(
        one["dataset"]
        for one in _objects(lineage.get("upstreams"))
        if isinstance(one.get("dataset"), str)
    )
    yield from ((urn, frozenset()) for urn in upstream[:_LOOKED_AT])


def _objects(listed: object) -> Iterator[dict[str, object]]:
    for one in listed if isinstance(listed, list) else ():
        if isinstance(one, dict):
            yield one


def _fields(listed: object) -> Iterator[tuple[Urn, str]]:
    """The datasets and field paths of a list of columns' URNs."""
    texts: Iterable[object] = listed if isinstance(listed, list) else ()
    for urn in Urn.parse_all(text for text in texts if isinstance(text, str)):
        if urn.entity_type == "schemaField":
            dataset, column = urn.parts
            yield from ((one, column) for one in Urn.parse_all([dataset]))
