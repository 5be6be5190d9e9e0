"""Endpoints for the change log, in pages or as a stream, and for the export of the whole catalog as
proposals."""

import asyncio
from collections.abc import AsyncGenerator, Collection
from operator import itemgetter
from typing import Any

import msgspec
import orjson
from starlette.responses import Response, StreamingResponse

from explorer.errors import CatalogError, InvalidInput
from explorer.metadata.registry import Registry
from explorer.metadata.urn import Urn
from explorer.server.catalog import CatalogEngine
from explorer.server.failures import RequestRefusal
from explorer.server.restli import (
    EXAMPLE_URN,
    Endpoint,
    JsonResponse,
    Parameter,
    RestliRequest,
    Routes,
)
from explorer.server.store import LogEntry, Store, StoredAspect, is_removed

_EXPORT_PATH = "/export"
_DEFAULT_LIMIT = 100
_MAX_LIMIT = 1_000
_MAX_EXPORT_BYTES = 4 * 1024 * 1024
_STATUS = "status"


class _ExportSelection(msgspec.Struct, frozen=True):
    entity_type: str | None
    platform: str | None
    removed: bool


class ExportRoutes(Routes):
    """The endpoint `/export`."""

    @Endpoint(
        "GET",
        _EXPORT_PATH,
        "every latest aspect and every timeseries document, as proposals",
        role="admin",
        standing="ours",
        parameters=(
            Parameter.query("after", "URN", "the URN after which to continue"),
            Parameter.query(
                "limit", "integer", "how many entities at most; 100 by default, 1000 at most", 2
            ),
            Parameter.query("entity", "string", "entities of this type only"),
            Parameter.query("platform", "string", "entities of this platform only"),
            Parameter.query("removed", "boolean", "false leaves out removed entities"),
        ),
        gives="proposals, as endpoint 1 accepts them, and next: the URN after which to continue, "
        "null after the last page",
        notes=(
            "Entities are sorted by URN; the key aspect of an entity comes first.",
            (
                "Each page is a snapshot of the moment it is read; it has fewer entities "
                "than its limit if they are large."
            ),
            "Older versions are not included.",
        ),
    )
    async def _export(self, request: RestliRequest) -> Response:
        after = request.query.one("after") or ""
        limit = _limit(request.query.one("limit"))
        platform = request.query.one("platform")
        entity = request.query.one("entity")
        selection = _ExportSelection(
            entity and self._catalog.registry.entity_name(entity),
            platform.removeprefix("urn:li:dataPlatform:") if platform else None,
            _flag("removed", request.query.one("removed")),
        )
        return JsonResponse(await self._catalog.read(self._page, after, limit, selection))

    def _page(self, after: str, limit: int, selection: _ExportSelection) -> bytes:
        store, registry = self._catalog.store, self._catalog.registry
        urns = store.urns(entity_type=selection.entity_type, after=after, limit=limit)
        last = urns[-1] if len(urns) == limit else None
        stored = store.aspects([urn for urn in urns if _is_of(urn, selection.platform)])
        proposals: list[dict[str, Any]] = []
        size = 0
        for urn in urns:
            aspects = stored.get(urn)
            if aspects is None or (not selection.removed and is_removed(aspects)):
                continue
            of_entity = _of_entity(store, registry, urn, aspects)
            size += sum(len(proposal["aspect"]["value"]) for proposal in of_entity)
            proposals.extend(of_entity)
            if size > _MAX_EXPORT_BYTES:
                last = urn
                break
        return orjson.dumps({"value": {"proposals": proposals, "next": last}})


def _of_entity(
    store: Store, registry: Registry, urn: str, aspects: list[StoredAspect]
) -> list[dict[str, Any]]:
    """Return an entity as proposals.

    The key aspect, which creates the entity, comes first, and `status`, which may soft-delete it,
    after the other versioned aspects. Timeseries documents follow by aspect, oldest first.
    """
    entity_type = urn.split(":", 3)[2]
    declared = registry.entities.get(entity_type)
    key = declared.key if declared else ""
    order = {key: 0, _STATUS: 2}
    documents = [
        (document.aspect, document.value, document.system) for document in store.documents(urn)
    ]
    documents.reverse()
    ordered = sorted(aspects, key=lambda aspect: (order.get(aspect.name, 1), aspect.name))
    return [
        {
            "entityType": entity_type,
            "entityUrn": urn,
            "changeType": "UPSERT",
            "aspectName": name,
            "aspect": {"value": value.decode(), "contentType": "application/json"},
            "systemMetadata": _system(system),
        }
        for name, value, system in (
            *((aspect.name, aspect.value, aspect.system) for aspect in ordered),
            *sorted(documents, key=itemgetter(0)),
        )
    ]


def _system(stored: bytes) -> dict[str, Any]:
    """Return the system metadata of an aspect without its version, which each catalog counts
    itself."""
    system: dict[str, Any] = orjson.loads(stored)
    return {key: value for key, value in system.items() if key != "version"}


def _is_of(urn: str, platform: str | None) -> bool:
    if platform is None:
        return True
    try:
        return Urn.parse(urn).platform == platform
    except CatalogError:
        return False


def _limit(text: str | None) -> int:
    if text is None:
        return _DEFAULT_LIMIT
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and int(text) > 0):
        raise InvalidInput(f"the query parameter 'limit' must be from 1 up, not {text[:60]!r}")
    return min(int(text), _MAX_LIMIT)


def _flag(name: str, text: str | None) -> bool:
    if text not in (None, "true", "false"):
        raise InvalidInput(f"the query parameter {name!r} must be true or false, not {text!r:.60}")
    return text != "false"


_PATH = "/changes"
_STREAM_PATH = "/changes/stream"
_EVENTS = "text/event-stream"
_JSON = "application/json"

_AT_ONCE = 200
# A page reads at most this many rows; it is short if few of them match the filter.
_MAX_READ_ROWS = 20_000
_MAX_PAGE_BYTES = 8 * 1024 * 1024
_MAX_OFFSET = 2**62
_KEEP_ALIVE_SECONDS = 15.0
_RETRY_MILLIS = 2_000

_FILTERS = (
    Parameter.query("urn", "URN", "only changes of this entity; may be repeated", EXAMPLE_URN),
    Parameter.query("aspect", "string", "only changes of this aspect; may be repeated"),
    Parameter.query("entity", "string", "only changes of this entity type; may be repeated"),
    Parameter.query("values", "boolean", "false leaves out the values; true by default"),
)
_SHAPE = (
    "each change has offset, entityType, entityUrn, aspectName, changeType, aspect and "
    "previousAspectValue (value as a JSON string, contentType; left out where there is none), "
    "created (time in milliseconds, actor) and systemMetadata"
)
_NOTES = (
    "Every committed change is one row, in commit order; writing the stored value again adds no "
    "row.",
    "A removed entity is one DELETE of its key aspect.",
    "Old rows are removed; see --keep-changes of catalog serve. A request that continues after a "
    "removed row is answered with 410 and, in the header x-changes-after, the offset to continue "
    "after.",
)


class _ChangeFilter(msgspec.Struct, frozen=True):
    urns: Collection[str] | None
    aspects: Collection[str] | None
    entities: Collection[str] | None
    values: bool

    def has(self, entry: LogEntry) -> bool:
        return (
            (self.urns is None or entry.urn in self.urns)
            and (self.aspects is None or entry.aspect in self.aspects)
            and (self.entities is None or _entity_type(entry) in self.entities)
        )


class ChangeRoutes(Routes):
    """The endpoints of `/changes`: pages, and a stream of events."""

    @Endpoint(
        "GET",
        _PATH,
        "read the change log, starting after an offset",
        role="reader",
        standing="ours",
        parameters=(
            Parameter.query(
                "after",
                "integer",
                "the offset after which to continue; by default the log is read from its oldest "
                "row",
                0,
            ),
            Parameter.query(
                "limit", "integer", "how many changes at most; 100 by default, 1000 at most"
            ),
            *_FILTERS,
        ),
        gives=(
            "changes, next (the offset after which to continue) and head (the newest "
            f"offset); {_SHAPE}"
        ),
        notes=(
            *_NOTES,
            "A page may be shorter than its limit, or empty, although next is less than head: "
            "continue after next.",
            "With Accept: text/event-stream the answer is the stream of changes.",
        ),
    )
    async def _read(self, request: RestliRequest) -> Response:
        if _EVENTS in request.headers.get("accept", ""):
            return await self._stream(request)
        limit = _number(request, "limit", _DEFAULT_LIMIT, _MAX_LIMIT)
        floor = (await self._catalog.read(self._catalog.store.log_bounds)).floor
        after = _number(request, "after", floor, _MAX_OFFSET)
        if limit:
            _check_retained(after, floor)
        body = await self._catalog.read(self._page, after, limit, _read_filter(request))
        return JsonResponse(body)

    def _page(self, after: int, limit: int, chosen: _ChangeFilter) -> bytes:
        store = self._catalog.store
        head = store.log_bounds().head
        changes: list[dict[str, Any]] = []
        read_rows, size = 0, 0
        at = after
        while len(changes) < limit and read_rows < _MAX_READ_ROWS and size < _MAX_PAGE_BYTES:
            rows = store.log(at, min(_AT_ONCE, max(limit, 1)))
            for row in rows:
                at = row.offset
                read_rows += 1
                if chosen.has(row):
                    changes.append(_change(row, values=chosen.values))
                    size += len(row.value or b"") + len(row.previous or b"")
                    if len(changes) == limit or size >= _MAX_PAGE_BYTES:
                        break
            if not rows:
                break
        return orjson.dumps({"value": {"changes": changes, "next": at, "head": max(head, at)}})

    @Endpoint(
        "GET",
        _STREAM_PATH,
        "stream changes as they happen, as server-sent events",
        role="reader",
        standing="ours",
        media_type=_EVENTS,
        parameters=(
            Parameter.query(
                "after",
                "integer",
                "the offset after which to continue; by default only new changes are sent",
            ),
            Parameter(
                "Last-Event-ID",
                "integer",
                "the same as after, and takes precedence over it; browsers send it when they "
                "reconnect",
                place="header",
                required=False,
            ),
            *_FILTERS,
        ),
        gives=f"events named change, with the offset as id and a change as data; {_SHAPE}",
        notes=(
            *_NOTES,
            "A comment is sent every 15 seconds when nothing happens.",
            "When its token is revoked, the stream ends.",
            "A client that reads nothing for 30 seconds is disconnected; it can continue after "
            "the last id that it received.",
        ),
    )
    async def _stream(self, request: RestliRequest) -> Response:
        resumed = request.headers.get("last-event-id")
        if resumed:
            after = _parse("Last-Event-ID", resumed, _MAX_OFFSET)
        elif "after" in request.query:
            after = _number(request, "after", 0, _MAX_OFFSET)
        else:
            after = (await self._catalog.read(self._catalog.store.log_bounds)).head
        _check_retained(after, (await self._catalog.read(self._catalog.store.log_bounds)).floor)
        # The headers tell proxies not to buffer the response, which would delay the events.
        headers = {"cache-control": "no-store", "x-accel-buffering": "no", "content-type": _EVENTS}
        return StreamingResponse(
            _events(request, self._catalog, after, _read_filter(request)), headers=headers
        )


async def _events(
    request: RestliRequest, catalog: CatalogEngine, after: int, chosen: _ChangeFilter
) -> AsyncGenerator[bytes, None]:
    """Yield the events of one follower, until its token is revoked or the service stops.

    Starlette closes the generator when the client disconnects. A client that does not read is
    disconnected by the server, as for any other response.
    """
    clock = asyncio.get_running_loop().time
    with catalog.feed.follow(after) as follower:
        if (await catalog.read(catalog.store.log_bounds)).floor > after:
            # The rows have just been dropped; the client's next request is answered with 410.
            return
        yield f"retry: {_RETRY_MILLIS}\n\n".encode()
        at = sent = after
        keep_alive_at = clock() + _KEEP_ALIVE_SECONDS
        while not follower.is_over:
            rows = await catalog.read(catalog.feed.read, at, _AT_ONCE)
            if rows:
                at = follower.at = rows[-1].offset
            events = [_event(row, values=chosen.values) for row in rows if chosen.has(row)]
            if not events and not rows:
                await follower.news(max(keep_alive_at - clock(), 0))
            # The token may have been revoked since the last events.
            if (events or clock() >= keep_alive_at) and not request.context.is_admitted():
                break
            if events:
                sent, keep_alive_at = at, clock() + _KEEP_ALIVE_SECONDS
                yield b"".join(events)
            if clock() >= keep_alive_at:
                # An id without data lets the client resume after the rows that were filtered out.
                keep_alive_at = clock() + _KEEP_ALIVE_SECONDS
                yield f"id: {at}\n\n".encode() if at > sent else b": keep-alive\n\n"
                sent = at


def _check_retained(after: int, floor: int) -> None:
    """Raise `RequestRefusal` (410) if rows after an offset have been dropped."""
    if after < floor:
        raise RequestRefusal(
            410,
            f"the changes after {after} are not kept any more; read again what you follow, then "
            f"continue after {floor}, the first offset from which the log is complete, or leave "
            "out 'after' to start from now",
            {"x-changes-after": str(floor)},
        )


def _event(row: LogEntry, *, values: bool) -> bytes:
    data = orjson.dumps(_change(row, values=values))
    return b"id: %d\nevent: change\ndata: %b\n\n" % (row.offset, data)


def _change(row: LogEntry, *, values: bool) -> dict[str, Any]:
    change: dict[str, Any] = {
        "offset": row.offset,
        "entityType": _entity_type(row),
        "entityUrn": row.urn,
        "aspectName": row.aspect,
        "changeType": row.change,
    }
    if values:
        for key, value in (("aspect", row.value), ("previousAspectValue", row.previous)):
            if value is not None:
                change[key] = {"value": value.decode(), "contentType": _JSON}
    change["created"] = {"time": row.time_millis, "actor": row.actor}
    change["systemMetadata"] = orjson.loads(row.system)
    return change


def _entity_type(row: LogEntry) -> str:
    return row.urn.split(":", 3)[2]


def _read_filter(request: RestliRequest) -> _ChangeFilter:
    urns = request.query.many("urn")
    return _ChangeFilter(
        None if urns is None else frozenset(str(Urn.parse(urn)) for urn in urns),
        _names(request.query.many("aspect")),
        _names(request.query.many("entity")),
        _flag("values", request.query.one("values") or None),
    )


def _names(texts: list[str] | None) -> frozenset[str] | None:
    return None if texts is None else frozenset(texts)


def _number(request: RestliRequest, name: str, default: int, most: int) -> int:
    text = request.query.one(name)
    return default if text is None else _parse(name, text, most)


def _parse(name: str, text: str, most: int) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 30):
        raise InvalidInput(f"{name!r} must be a number from 0 up, not {text[:60]!r}")
    return min(int(text), most)
