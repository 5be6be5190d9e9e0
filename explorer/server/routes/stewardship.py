"""What is worth describing next, and how much is described."""

import asyncio
import time
from collections.abc import Collection, Iterator
from typing import Any

import orjson
from starlette.responses import Response

from explorer.errors import InvalidInput
from explorer.metadata.names import NAME_ASPECTS, display_name
from explorer.metadata.urn import Urn
from explorer.server.browse import components
from explorer.server.catalog import CatalogEngine
from explorer.server.restli import (
    MAX_PAGE,
    Endpoint,
    Parameter,
    Parameters,
    RestliRequest,
    Routes,
    ValueResponse,
)
from explorer.server.routes.parameters import COUNT, FILTER, START
from explorer.server.search.query import SearchQuery
from explorer.server.search_request import forgive_query, read_filter
from explorer.server.stewardship import (
    GROUPINGS,
    PATIENCE_SECONDS,
    CoverageCount,
    DatasetFacts,
    Grouping,
    UndescribedItem,
    WorklistDataset,
    WorklistPage,
    cover,
    rank,
    with_use,
)
from explorer.server.timeseries import USE_DAYS, read_use, use_from

__all__ = ["StewardshipRoutes"]

_DATASET = "dataset"
_MOST_DAYS = 365
_LOOK_SECONDS = 0.02
_URNS = Parameter.optional("urns", "array of URNs", "the datasets meant, 10000 at most")
_INPUT = Parameter.optional("input", "string", "those that a search for this finds")
_FOLDER = Parameter.optional(
    "folder", "string", "those in and below this browse path, such as /prod"
)
_WHICH = (_URNS, _INPUT, FILTER, _FOLDER)
_NOTE = (
    "Of all datasets without urns, input, filter and folder; soft-deleted ones count only where "
    "they are named. Counted the first time somebody asks, and kept from then on."
)


class StewardshipRoutes(Routes):
    """`/stewardship`"""

    async def _wait(self) -> None:
        """Wait, and keep no thread from reading, while everything is counted for the first time;
        whoever reads it is told after 10 seconds."""
        end = time.monotonic() + PATIENCE_SECONDS
        # A thread counts, which knows no event of this loop.
        while not self._catalog.ledger.is_ready and time.monotonic() < end:  # noqa: ASYNC110
            await asyncio.sleep(_LOOK_SECONDS)

    @Endpoint(
        "POST",
        "/stewardship",
        "what is worth describing next: tables and columns that nobody described",
        role="reader",
        standing="ours",
        action="worklist",
        parameters=(
            *_WHICH,
            START,
            COUNT,
            Parameter.optional("days", "integer", "count the use of so many days", USE_DAYS),
        ),
        gives="datasets, total (of all items), start, days, and items, the heaviest first, "
        "by (used + 1) × (downstream + 1): urn, table, platform, column, type, place, "
        "used, usedOf (column, table or none), downstream, atLeast",
        notes=(_NOTE, "An item without a column is the table itself."),
    )
    async def _worklist(self, request: RestliRequest) -> Response:
        parameters = await request.parameters()
        await self._wait()
        days = parameters.count("days", USE_DAYS)
        if not 1 <= days <= _MOST_DAYS:
            raise InvalidInput(f"'days' is from 1 to {_MOST_DAYS}, not {days}")
        start, count = parameters.start(), parameters.page("count")
        ranked = await self._catalog.offload(self._ranked, parameters, request, start, count, days)
        value = {
            "datasets": ranked.datasets,
            "total": ranked.total,
            "start": start,
            "days": days,
            "items": [_item(one) for one in ranked.items],
        }
        return ValueResponse(value)

    @Endpoint(
        "POST",
        "/stewardship",
        "how much is described, tables and columns apart",
        role="reader",
        standing="ours",
        action="coverage",
        parameters=(
            *_WHICH,
            Parameter.optional("by", "string", f"in groups: {', '.join(GROUPINGS)}"),
        ),
        gives="datasets, tables and columns {total, documented, edited, ingested}, by, and groups "
        "{key, name, tables, columns}, those with the most left to describe first",
        notes=(_NOTE, "What has several owners, tags or folders counts under each."),
    )
    async def _coverage(self, request: RestliRequest) -> Response:
        parameters = await request.parameters()
        await self._wait()
        given = parameters.optional_text("by")
        by = next((one for one in GROUPINGS if one == given), None)
        if given is not None and by is None:
            raise InvalidInput(f"'by' is one of {', '.join(GROUPINGS)}, not {given!r}")
        value = await self._catalog.offload(self._covered, parameters, request, by)
        return ValueResponse(value)

    def _ranked(
        self, parameters: Parameters, request: RestliRequest, start: int, count: int, days: int
    ) -> WorklistPage:
        chosen = self._chosen(parameters, request)
        with self._catalog.ledger.entries() as entries:
            some = _some(entries, chosen)
            return rank(some, start, count, None if days == USE_DAYS else self._used(days))

    def _used(self, days: int) -> "_UseOf":
        return _UseOf(self._catalog, days)

    def _covered(
        self, parameters: Parameters, request: RestliRequest, by: Grouping | None
    ) -> dict[str, Any]:
        chosen = self._chosen(parameters, request)
        with self._catalog.ledger.entries() as entries:
            covered = cover((entry for _, entry in _some(entries, chosen)), by)
        names = self._names([one.key for one in covered.groups])
        return {
            "datasets": covered.tables.total,
            "tables": _count(covered.tables),
            "columns": _count(covered.columns),
            "by": by,
            "groups": [
                {
                    "key": one.key,
                    "name": names.get(one.key) or Urn.label(one.key),
                    "tables": _count(one.tables),
                    "columns": _count(one.columns),
                }
                for one in covered.groups
            ],
        }

    def _names(self, keys: list[str]) -> dict[str, str]:
        """What the entities among the keys are called."""
        urns = {str(urn): urn for urn in Urn.parse_all(one for one in keys if one)}
        stored = self._catalog.store.aspects([*urns], NAME_ASPECTS)
        return {
            text: display_name(
                urns[text], {one.name: orjson.loads(one.value) for one in stored.get(text, ())}
            )
            for text in urns
        }

    def _chosen(self, parameters: Parameters, request: RestliRequest) -> Collection[str] | None:
        """The URNs of the datasets that are meant; None for all that are not soft-deleted."""
        urns = parameters.texts("urns")
        text = parameters.optional_text("input") or "*"
        filters = read_filter(parameters.given.get("filter"))
        folder = parameters.optional_text("folder")
        is_searched = text != "*" or bool(filters)
        if sum((urns is not None, is_searched, folder is not None)) > 1:
            raise InvalidInput("give urns, a folder or a search, not several of them")
        if urns is not None:
            if len(urns) > MAX_PAGE:
                raise InvalidInput(f"'urns' names {len(urns)} datasets; name {MAX_PAGE} at most")
            return dict.fromkeys(urns)
        if folder is not None:
            return self._below(folder)
        if not is_searched:
            return None
        query = SearchQuery(text, (_DATASET,), filters, 0, 0)
        index = self._catalog.index
        if request.dialect == "datahub":
            query = forgive_query(query, index.vocabulary)
        return index.found_urns(query)

    def _below(self, folder: str) -> Collection[str]:
        """The datasets in and below a folder."""
        found: dict[str, None] = {}
        left = [components(folder)]
        while left:
            path, start = left.pop(), 0
            while True:
                page = self._catalog.store.browse(_DATASET, path, start, MAX_PAGE)
                found.update((urn, None) for _, urn in page.entities)
                left += [(*path, name) for name, _ in page.groups]
                start += len(page.entities) + len(page.groups)
                if start >= page.total_entities + page.total_groups or not (
                    page.entities or page.groups
                ):
                    break
        return found


class _UseOf:
    """Gives the facts of a dataset with its use over another number of days than is kept."""

    def __init__(self, catalog: CatalogEngine, days: int) -> None:
        self._store = catalog.store
        self._from_millis = use_from(days)

    def __call__(self, urn: str, facts: DatasetFacts) -> DatasetFacts:
        use = read_use(urn, self._store, self._from_millis)
        return with_use(facts, lambda path: use.of_column(path) if path else use.of_table())


def _some(
    entries: dict[str, WorklistDataset], chosen: Collection[str] | None
) -> Iterator[tuple[str, WorklistDataset]]:
    if chosen is None:
        return ((urn, entry) for urn, entry in entries.items() if not entry.removed)
    return ((urn, entries[urn]) for urn in chosen if urn in entries)


def _count(count: CoverageCount) -> dict[str, int]:
    return {
        "total": count.total,
        "documented": count.documented,
        "edited": count.edited,
        "ingested": count.ingested,
    }


def _item(item: UndescribedItem) -> dict[str, Any]:
    lacking = item.lacking
    return {
        "urn": item.urn,
        "table": item.table,
        "platform": item.platform or None,
        "column": lacking.path or None,
        "type": lacking.type,
        "place": lacking.place,
        "used": lacking.use,
        "usedOf": lacking.use_of,
        "downstream": item.downstream,
        "atLeast": item.at_least,
    }
