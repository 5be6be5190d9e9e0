"""What the screens show, as tables for files: results, columns, aspects, and any other list."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from explorer.metadata.urn import Urn
from explorer.tui.rows import Rows
from explorer.views.table import Row, Table

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Entity
    from explorer.client.records import Hit
    from explorer.query.filters import Filter
    from explorer.tui.session import Session

__all__ = ["Asked", "of_aspects", "of_results", "of_rows", "of_schema"]

_PAGE: Final = 100
_DRAWN_WIDTH: Final = 240
_DRAWN_AT_ONCE: Final = 50
_RESULT: Final = (
    "urn",
    "name",
    "type",
    "platform",
    "origin",
    "description",
    "owners",
    "tags",
    "terms",
    "domains",
    "matched",
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A search as it was asked."""

    words: str
    narrowed_by: "Filter"
    order: str


def of_results(
    session: "Session",
    asked: Asked,
    hits: Iterable["Hit"],
    known: Mapping[Urn, "Entity"],
    total: int,
) -> Table:
    """The results of a search: those read so far, or all, a page of them to a request and one
    more for what they hold."""

    async def whole() -> AsyncIterator[Sequence[Row]]:
        catalog = await session.catalog()
        start = 0
        while True:
            page = await catalog.search(
                asked.words,
                narrowed_by=asked.narrowed_by,
                sorted_by=asked.order,
                start=start,
                count=_PAGE,
            )
            found = list(page)
            summed = await _summed_up(catalog, found)
            yield [_of_hit(hit, summed.get(hit.urn)) for hit in found]
            start += len(found)
            if not found or start >= page.total:
                return

    rows = [_of_hit(hit, known.get(hit.urn)) for hit in hits]
    more = whole if total > len(rows) else None
    return Table.of(
        f"results {asked.words}".rstrip(" *"), _RESULT, rows, total=total, read_all=more
    )


async def _summed_up(catalog: "AsyncCatalog", hits: Sequence["Hit"]) -> Mapping[Urn, "Entity"]:
    return await catalog.summaries(hit.urn for hit in hits)


def _of_hit(hit: "Hit", entity: "Entity | None") -> Row:
    matched = tuple(dict.fromkeys(one.field for one in hit.matched))
    urn = hit.urn
    if entity is None:
        return (str(urn), urn.name, urn.entity_type, urn.platform, urn.origin, *[None] * 5, matched)
    return (
        str(urn),
        entity.name,
        entity.kind,
        entity.platform,
        urn.origin,
        entity.description,
        tuple(owner.owner for owner in entity.owners),
        tuple(map(str, entity.tags)),
        tuple(map(str, entity.terms)),
        tuple(map(str, entity.domains)),
        matched,
    )


def of_schema(entity: "Entity", paths: Sequence[str] | None = None) -> Table:
    """The columns of an entity, in the order of `paths` where only some of them are shown."""
    columns = ("path", "name", "type", "native_type", "nullable", "key")
    texts = ("description", "ingested", "edited", "tags", "terms")
    schema = entity.schema
    found = list(schema) if paths is None else [schema.column(path) for path in paths]
    rows: list[Row] = [
        (
            one.path.raw,
            one.path.simple,
            one.type,
            one.native_type,
            one.nullable,
            one.is_key,
            one.description,
            one.ingested,
            one.edited,
            tuple(map(str, one.tags)),
            tuple(map(str, one.terms)),
        )
        for one in found
        if one is not None
    ]
    return Table.of(f"{entity.name} columns", (*columns, *texts), rows)


def of_aspects(entity: "Entity") -> Table:
    """The aspects of an entity by name; as JSON each is itself."""
    rows: list[Row] = [(name, str(read.value)) for name, read in sorted(entity.aspects.items())]
    exact = {name: read.value for name, read in sorted(entity.aspects.items())}
    return Table.of(f"{entity.name} aspects", ("aspect", "value"), rows, exact=exact)


def of_rows(shown: Rows, title: str = "list") -> Table | None:
    """Any list, as the lines it would have in a wide terminal; nothing for an empty one."""
    draw = shown.draw
    if draw is None or not shown.count:
        return None

    async def whole() -> AsyncIterator[Sequence[Row]]:
        for start in range(0, shown.count, _DRAWN_AT_ONCE):
            end = min(start + _DRAWN_AT_ONCE, shown.count)
            yield [
                ("\n".join(line.plain.rstrip() for line in draw(at, _DRAWN_WIDTH)),)
                for at in range(start, end)
            ]
            # Drawing is quick, and the reader may want to stop.
            await asyncio.sleep(0)

    return Table.of(title, ("text",), (), total=shown.count, read_all=whole)
