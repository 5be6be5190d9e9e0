"""The whole catalog as proposals, page by page, in the order in which another takes them."""

from typing import Any

import msgspec
import orjson

from explorer.errors import CatalogError, InvalidInput
from explorer.metadata.registry import Registry
from explorer.metadata.urn import Urn
from explorer.server.call import Answer, Call
from explorer.server.catalog import Catalog
from explorer.server.endpoint import Endpoint, Parameter
from explorer.server.store import Store, StoredAspect

__all__ = ["ExportRoutes"]

_PATH = "/export"
_DEFAULT_LIMIT = 100
_MAX_LIMIT = 1_000
_MAX_PAGE_BYTES = 4 * 1024 * 1024
_STATUS = "status"


class _Wanted(msgspec.Struct, frozen=True):
    entity_type: str | None
    platform: str | None
    removed: bool


class ExportRoutes:
    """`/export`"""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def endpoints(self) -> tuple[Endpoint, ...]:
        return (
            Endpoint(
                "GET",
                _PATH,
                self._export,
                "every latest aspect and every timeseries document, as proposals",
                role="admin",
                standing="ours",
                parameters=(
                    Parameter("after", "URN", "the URN to go on from", "query"),
                    Parameter(
                        "limit",
                        "integer",
                        "how many entities; 100, at most 1000",
                        "query",
                        example=2,
                    ),
                    Parameter("entity", "string", "entities of this type only", "query"),
                    Parameter("platform", "string", "entities of this platform only", "query"),
                    Parameter("removed", "boolean", "false leaves the removed out", "query"),
                ),
                gives="proposals, as endpoint 1 takes them, and next: the URN to go on from, null "
                "when there is no more",
                notes=(
                    "Entities come sorted by URN; of each its key aspect comes first.",
                    "A page is as of its own moment, and shorter than its limit when it is large.",
                    "Older versions are not given.",
                ),
            ),
        )

    async def _export(self, call: Call) -> Answer:
        after = call.query.one("after") or ""
        limit = _limit(call.query.one("limit"))
        platform = call.query.one("platform")
        wanted = _Wanted(
            call.query.one("entity"),
            platform.removeprefix("urn:li:dataPlatform:") if platform else None,
            _flag("removed", call.query.one("removed")),
        )
        if wanted.entity_type is not None:
            self._catalog.registry.entity(wanted.entity_type)
        return Answer(await self._catalog.offload(self._page, after, limit, wanted))

    def _page(self, after: str, limit: int, wanted: _Wanted) -> bytes:
        store, registry = self._catalog.store, self._catalog.registry
        urns = store.urns(after, limit, wanted.entity_type)
        last = urns[-1] if len(urns) == limit else None
        stored = store.aspects([urn for urn in urns if _is_of(urn, wanted.platform)])
        proposals: list[dict[str, Any]] = []
        size = 0
        for urn in urns:
            aspects = stored.get(urn)
            if aspects is None or (not wanted.removed and _is_removed(aspects)):
                continue
            of_entity = _of_entity(store, registry, urn, aspects)
            size += sum(len(one["aspect"]["value"]) for one in of_entity)
            proposals.extend(of_entity)
            if size > _MAX_PAGE_BYTES:
                last = urn
                break
        return orjson.dumps({"value": {"proposals": proposals, "next": last}})


def _of_entity(
    store: Store, registry: Registry, urn: str, aspects: list[StoredAspect]
) -> list[dict[str, Any]]:
    """The key aspect first, which makes the entity; its removal comes after all that it has."""
    entity_type = urn.split(":", 3)[2]
    declared = registry.entities.get(entity_type)
    key = declared.key if declared else ""
    order = {key: 0, _STATUS: 2}
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
            *store.history(urn),
        )
    ]


def _system(stored: bytes) -> dict[str, Any]:
    """Which run brought it and when; each catalog counts the versions it keeps itself."""
    told: dict[str, Any] = orjson.loads(stored)
    return {key: value for key, value in told.items() if key != "version"}


def _is_of(urn: str, platform: str | None) -> bool:
    if platform is None:
        return True
    try:
        return Urn.parse(urn).platform == platform
    except CatalogError:
        return False


def _is_removed(aspects: list[StoredAspect]) -> bool:
    return any(
        aspect.name == _STATUS and orjson.loads(aspect.value).get("removed") is True
        for aspect in aspects
    )


def _limit(given: str | None) -> int:
    if given is None:
        return _DEFAULT_LIMIT
    if not (given.isascii() and given.isdecimal() and len(given) < 10 and int(given) > 0):
        raise InvalidInput(f"the query parameter 'limit' must be from 1 up, not {given[:60]!r}")
    return min(int(given), _MAX_LIMIT)


def _flag(name: str, given: str | None) -> bool:
    if given not in (None, "true", "false"):
        raise InvalidInput(f"the query parameter {name!r} must be true or false, not {given!r:.60}")
    return given != "false"
