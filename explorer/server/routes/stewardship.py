"""Endpoints for stewardship: what to describe next, and how much is described."""

import asyncio
import time
from collections.abc import Collection
from typing import Any

import orjson
from starlette.responses import Response

from explorer.errors import InvalidInput
from explorer.metadata.browse_paths import split_path
from explorer.metadata.names import NAME_ASPECTS, display_name
from explorer.metadata.urn import Urn
from explorer.server.coverage import DAY_MILLIS, HISTORY_ASPECTS, CoverageSeries, Lacking, series_of
from explorer.server.restli import (
    MAX_PAGE,
    Endpoint,
    Parameter,
    Parameters,
    RestliRequest,
    Routes,
    ValueResponse,
)
from explorer.server.retention import complete_since
from explorer.server.routes import COUNT, FILTER, START
from explorer.server.search.query import SearchQuery
from explorer.server.search_request import (
    ignore_unknown_fields,
    read_filter,
    replace_related,
)
from explorer.server.stewardship import (
    GROUPINGS,
    PATIENCE_SECONDS,
    CoverageCount,
    Grouping,
    UndescribedItem,
    UseOf,
    WorklistPage,
)
from explorer.server.timeseries import USE_DAYS, read_use, use_from

_DATASET = "dataset"
_MOST_DAYS = 365
_LOOK_SECONDS = 0.02
_TREND_DAYS = 90
_MOST_TREND_DAYS = 3_660
_MOST_GROUPS = 50
_STEPS = {"day": 1, "week": 7}
_URNS = Parameter.optional("urns", "array of URNs", "the datasets, 10000 at most")
_INPUT = Parameter.optional("input", "string", "the datasets that a search for this text finds")
_FOLDER = Parameter.optional(
    "folder", "string", "the datasets in and below this browse path, such as /prod"
)
_WHICH = (_URNS, _INPUT, FILTER, _FOLDER)
_NOTE = (
    "Without urns, input, filter and folder, all datasets are included; soft-deleted ones only "
    "if urns names them. Coverage is counted on the first request, and kept up to date from then "
    "on."
)


class StewardshipRoutes(Routes):
    """The endpoints of `/stewardship`."""

    async def _wait(self) -> None:
        """Wait for the first count of all datasets, without blocking a reader thread. Raises `Busy`
        if it is not done within `PATIENCE_SECONDS`."""
        ledger = self._catalog.ledger
        end = time.monotonic() + PATIENCE_SECONDS
        # Polled, because the count runs in a thread that cannot set an event of this event loop.
        while not ledger.is_ready:
            if time.monotonic() >= end:
                raise ledger.busy()
            await asyncio.sleep(_LOOK_SECONDS)

    @Endpoint(
        "POST",
        "/stewardship",
        "list what is most worth describing: tables and columns without a description",
        role="reader",
        standing="ours",
        action="worklist",
        parameters=(
            *_WHICH,
            START,
            COUNT,
            Parameter.optional("days", "integer", "how many days of usage to count", USE_DAYS),
        ),
        gives="datasets, total (of all items), start, days, and items, the heaviest first, "
        "by (used + 1) × (downstream + 1): urn, table, platform, column, type, place, "
        "used, usedOf (column, table or none), downstream, atLeast",
        notes=(_NOTE, "An item without a column stands for the table itself."),
    )
    async def _worklist(self, request: RestliRequest) -> Response:
        parameters = await request.parameters()
        await self._wait()
        days = parameters.count("days", USE_DAYS)
        if not 1 <= days <= _MOST_DAYS:
            raise InvalidInput(f"'days' must be from 1 to {_MOST_DAYS}, not {days}")
        start, count = parameters.start(), parameters.page("count")
        ranked = await self._catalog.read(self._rank, parameters, request, start, count, days)
        value = {
            "datasets": ranked.datasets,
            "total": ranked.total,
            "start": start,
            "days": days,
            "items": [_item(item) for item in ranked.items],
        }
        return ValueResponse(value)

    @Endpoint(
        "POST",
        "/stewardship",
        "count the described tables and columns",
        role="reader",
        standing="ours",
        action="coverage",
        parameters=(
            *_WHICH,
            Parameter.optional("by", "string", f"group the counts by: {', '.join(GROUPINGS)}"),
        ),
        gives="datasets, tables and columns {total, documented, edited, ingested}, by, and groups "
        "{key, name, tables, columns}, those with the most undescribed items first",
        notes=(
            _NOTE,
            "A dataset with several owners, tags or folders counts in each of their groups.",
        ),
    )
    async def _coverage(self, request: RestliRequest) -> Response:
        parameters = await request.parameters()
        await self._wait()
        grouping = self._grouping(parameters)
        value = await self._catalog.read(self._cover, parameters, request, grouping)
        return ValueResponse(value)

    @Endpoint(
        "POST",
        "/stewardship",
        "count the described tables and columns on each of the last days",
        role="reader",
        standing="ours",
        action="trend",
        parameters=(
            *_WHICH,
            Parameter.optional("by", "string", f"group the counts by: {', '.join(GROUPINGS)}"),
            Parameter.optional("days", "integer", "how many days back", _TREND_DAYS),
            Parameter.optional("every", "string", "day or week", "day"),
        ),
        gives="datasets, sinceMillis (the first day for which the history is complete, null if "
        "there is none), days (the first moment of each day, oldest first), tables and "
        "columns {total, documented}, a number for each day, by, groups {key, name, tables, "
        "columns}, the 50 with the most undescribed items first, and groupTotal",
        notes=(
            "Without urns, input, filter and folder, all datasets that exist now are included, "
            "in their present groups. A day is counted as it was at its end (UTC), the last one "
            "as it is now. Soft-deleted datasets count on the days before their deletion; "
            "datasets that were deleted for good are not counted on any day.",
        ),
    )
    async def _trend(self, request: RestliRequest) -> Response:
        parameters = await request.parameters()
        await self._wait()
        grouping = self._grouping(parameters)
        days = parameters.count("days", _TREND_DAYS)
        if not 1 <= days <= _MOST_TREND_DAYS:
            raise InvalidInput(f"'days' must be from 1 to {_MOST_TREND_DAYS}, not {days}")
        every = parameters.optional_text("every") or "day"
        if every not in _STEPS:
            raise InvalidInput(f"'every' must be one of {', '.join(_STEPS)}, not {every!r}")
        step = _STEPS[every]
        value = await self._catalog.read(
            self._read_trend, parameters, request, grouping, days, step
        )
        return ValueResponse(value)

    def _read_trend(
        self,
        parameters: Parameters,
        request: RestliRequest,
        grouping: Grouping | None,
        days: int,
        step: int,
    ) -> dict[str, Any]:
        chosen = self._choose_urns(parameters, request)
        today = int(time.time() * 1000) // DAY_MILLIS
        with (
            self._catalog.coverage_histories.days() as days_by_urn,
            self._catalog.ledger.entries() as entries,
        ):
            datasets, since = 0, None
            for urn, _ in entries.groups(chosen, None):
                datasets += 1
                if history := days_by_urn.get(urn):
                    since = history[0].day if since is None else min(since, history[0].day)
            if since is not None:
                trimmed = complete_since(self._catalog.store, HISTORY_ASPECTS).values()
                since = min(today, max([since, *(at // DAY_MILLIS for at in trimmed)]))
            first = max(today - days + 1, today if since is None else since)
            shown_days = sorted(range(today, first - 1, -step))
            series, groups = series_of(
                (
                    (days_by_urn[urn], keys)
                    for urn, keys in entries.groups(chosen, grouping)
                    if urn in days_by_urn
                ),
                shown_days,
            )
        most = sorted(groups.items(), key=lambda group: (-group[1].left, group[0]))[:_MOST_GROUPS]
        names = self._names([key for key, _ in most])
        return {
            "datasets": datasets,
            "sinceMillis": None if since is None else since * DAY_MILLIS,
            "days": [day * DAY_MILLIS for day in shown_days],
            **_series(series),
            "by": grouping,
            "groups": [
                {"key": key, "name": names.get(key) or Urn.label(key), **_series(series)}
                for key, series in most
            ],
            "groupTotal": len(groups),
        }

    def _grouping(self, parameters: Parameters) -> Grouping | None:
        optional_text = parameters.optional_text("by")
        by = next((grouping for grouping in GROUPINGS if grouping == optional_text), None)
        if optional_text is not None and by is None:
            raise InvalidInput(f"'by' must be one of {', '.join(GROUPINGS)}, not {optional_text!r}")
        return by

    def _rank(
        self, parameters: Parameters, request: RestliRequest, start: int, count: int, days: int
    ) -> WorklistPage:
        chosen = self._choose_urns(parameters, request)
        use = None if days == USE_DAYS else self._use_of(days)
        return self._catalog.ledger.rank(chosen, start, count, use)

    def _use_of(self, days: int) -> UseOf:
        """Return a function that reads the usage of columns over a number of days, for periods
        other than the one that is counted in advance."""
        store, since_millis = self._catalog.store, use_from(days)

        def read(urn: str, lacking: tuple[Lacking, ...]) -> tuple[Lacking, ...]:
            use = read_use(urn, store, since_millis)
            return tuple(lacking.with_use(use) for lacking in lacking)

        return read

    def _cover(
        self, parameters: Parameters, request: RestliRequest, grouping: Grouping | None
    ) -> dict[str, Any]:
        covered = self._catalog.ledger.cover(self._choose_urns(parameters, request), grouping)
        names = self._names([group.key for group in covered.groups])
        return {
            "datasets": covered.tables.total,
            "tables": _count(covered.tables),
            "columns": _count(covered.columns),
            "by": grouping,
            "groups": [
                {
                    "key": group.key,
                    "name": names.get(group.key) or Urn.label(group.key),
                    "tables": _count(group.tables),
                    "columns": _count(group.columns),
                }
                for group in covered.groups
            ],
        }

    def _names(self, keys: list[str]) -> dict[str, str]:
        """Return the display names of the entities among the keys, by URN."""
        urns = {str(urn): urn for urn in Urn.parse_all(key for key in keys if key)}
        stored = self._catalog.store.aspects([*urns], NAME_ASPECTS)
        return {
            text: display_name(
                urns[text],
                {aspect.name: orjson.loads(aspect.value) for aspect in stored.get(text, ())},
            )
            for text in urns
        }

    def _choose_urns(
        self, parameters: Parameters, request: RestliRequest
    ) -> Collection[str] | None:
        """Return the URNs of the chosen datasets, or `None` for all that are not soft-deleted.

        Raises `InvalidInput` if more than one of URNs, a folder and a search is given, or there
        are too many URNs.
        """
        urns = parameters.texts("urns")
        text = parameters.optional_text("input") or "*"
        given_filter = read_filter(parameters.given.get("filter"))
        filters = replace_related(given_filter, self._catalog.store)
        folder = parameters.optional_text("folder")
        is_searched = text != "*" or bool(filters)
        if sum((urns is not None, is_searched, folder is not None)) > 1:
            raise InvalidInput("give only one of urns, a folder or a search")
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
            query = ignore_unknown_fields(query, index.vocabulary)
        return index.find_urns(query)

    def _below(self, folder: str) -> Collection[str]:
        """Return the URNs of the datasets in and below a folder."""
        urns: dict[str, None] = {}
        paths = [split_path(folder)]
        while paths:
            path, start = paths.pop(), 0
            while True:
                page = self._catalog.store.browse(_DATASET, path, start, MAX_PAGE)
                urns.update((urn, None) for _, urn in page.entities)
                paths += [(*path, name) for name, _ in page.groups]
                start += len(page.entities) + len(page.groups)
                if start >= page.total_entities + page.total_groups or not (
                    page.entities or page.groups
                ):
                    break
        return urns


def _count(count: CoverageCount) -> dict[str, int]:
    return {
        "total": count.total,
        "documented": count.documented,
        "edited": count.edited,
        "ingested": count.ingested,
    }


def _series(series: CoverageSeries) -> dict[str, Any]:
    return {
        "tables": {"total": series.tables, "documented": series.tables_documented},
        "columns": {"total": series.columns, "documented": series.columns_documented},
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
