"""Reading whole entities, in today's form and the legacy one, and legacy ingestion."""

from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from explorer.errors import InvalidAspect, InvalidInput, UnknownName
from explorer.metadata.files import read_record
from explorer.metadata.registry import Registry
from explorer.metadata.urn import Urn
from explorer.server.call import Answer, Call, Parameters
from explorer.server.catalog import Catalog
from explorer.server.dialect import Dialect, dialect_of, record_name
from explorer.server.endpoint import Endpoint
from explorer.server.failures import Refusal
from explorer.server.intake import UNKNOWN_ACTOR
from explorer.server.store import StoredAspect

__all__ = ["EntityRoutes"]

_SNAPSHOTS = "com.linkedin.metadata.snapshot."
# Longer batches are read beside the event loop.
_LONG_BATCH = 8


class EntityRoutes:
    """`/entitiesV2`, and `/entities` where it names entities or takes snapshots"""

    def __init__(self, catalog: Catalog, dialect: Dialect | None) -> None:
        self._catalog = catalog
        self._dialect = dialect

    def endpoints(self) -> tuple[Endpoint, ...]:
        return (
            Endpoint("GET", "/entitiesV2", self._entity, "an entity's latest aspects", item=True),
            Endpoint("GET", "/entitiesV2", self._entities, "many entities' latest aspects"),
            Endpoint(
                "GET",
                "/entities",
                self._snapshot,
                "an entity as a snapshot record",
                item=True,
                standing="deprecated",
            ),
            Endpoint(
                "POST",
                "/entities",
                self._ingest,
                "write the aspects of a snapshot record, all or none",
                action="ingest",
                standing="deprecated",
            ),
            Endpoint(
                "POST",
                "/entities",
                self._exists,
                "whether an entity has any aspect",
                action="exists",
            ),
        )

    async def _entity(self, call: Call) -> Answer:
        urn = Urn.parse(call.key)
        names = call.query.many("aspects")
        stored = self._read([urn], names)
        return Answer(orjson.dumps(self._wire(urn, stored.get(str(urn), ()))))

    async def _entities(self, call: Call) -> Answer:
        ids = call.query.many("ids")
        if ids is None:
            raise InvalidInput("the query parameter 'ids' is required: ids=List(<urn>,<urn>)")
        urns = [Urn.parse(text) for text in dict.fromkeys(ids)]
        names = call.query.many("aspects")
        if len(urns) > _LONG_BATCH:
            return Answer(await self._catalog.offload(self._results, urns, names))
        return Answer(self._results(urns, names))

    def _results(self, urns: Sequence[Urn], names: list[str] | None) -> bytes:
        stored = self._read(urns, names)
        results = {str(urn): self._wire(urn, stored.get(str(urn), ())) for urn in urns}
        return orjson.dumps({"results": results, "statuses": {}, "errors": {}})

    def _read(self, urns: Sequence[Urn], names: list[str] | None) -> dict[str, list[StoredAspect]]:
        wanted: set[str] | None = None
        if names is not None:
            keys = {self._catalog.registry.entity(urn.entity_type).key for urn in urns}
            wanted = keys.union(names)
        return self._catalog.store.aspects([str(urn) for urn in urns], wanted)

    def _wire(self, urn: Urn, stored: Iterable[StoredAspect]) -> dict[str, Any]:
        aspects = {aspect.name: _wrapped(aspect) for aspect in stored}
        if not aspects:
            key = self._virtual_key(urn)
            aspects[key.name] = _wrapped(key)
        return {"urn": str(urn), "entityName": urn.entity_type, "aspects": aspects}

    def _virtual_key(self, urn: Urn) -> StoredAspect:
        """The key aspect of an entity that is not stored: what its URN alone tells."""
        value = self._catalog.intake.check_urn(urn)
        name = self._catalog.registry.entity(urn.entity_type).key
        return StoredAspect(name, 0, orjson.dumps(value), 0, UNKNOWN_ACTOR, b"{}")

    async def _snapshot(self, call: Call) -> Answer:
        urn = Urn.parse(call.key)
        dialect = dialect_of(call, self._dialect)
        registry = self._catalog.registry
        stored = self._read([urn], None).get(str(urn)) or [self._virtual_key(urn)]
        key = registry.entity(urn.entity_type).key
        stored.sort(key=lambda aspect: aspect.name != key)
        aspects = [
            {
                record_name(registry.aspect(aspect.name).record, dialect): orjson.Fragment(
                    aspect.value
                )
            }
            for aspect in stored
            if aspect.name in registry.aspects
        ]
        name = record_name(_snapshot_name(registry, urn.entity_type), dialect)
        return Answer.of({"value": {name: {"urn": str(urn), "aspects": aspects}}})

    async def _ingest(self, call: Call) -> Answer:
        parameters = await call.parameters()
        snapshot = Parameters(parameters.record("entity")).record("value")
        record = {"proposedSnapshot": snapshot, "systemMetadata": _system(parameters)}
        try:
            proposals = read_record(record, self._catalog.registry)
        except UnknownName as error:
            if error.kind == "aspect record":
                raise InvalidAspect(error.name, "", f"Unknown aspect; {error}") from error
            raise
        if not proposals:
            raise InvalidInput("the snapshot holds no aspects")
        await self._catalog.ingest_all(proposals, call.actor)
        return Answer()

    async def _exists(self, call: Call) -> Answer:
        parameters = await call.parameters()
        urn = Urn.parse(parameters.text("urn"))
        found = str(urn) in self._catalog.store.existing([str(urn)])
        if found and not parameters.flag("includeSoftDelete", default=True):
            status = self._catalog.store.aspect(str(urn), "status")
            found = status is None or orjson.loads(status.value).get("removed") is not True
        return Answer.of({"value": found})


def _wrapped(aspect: StoredAspect) -> dict[str, Any]:
    return {
        "name": aspect.name,
        "type": "VERSIONED",
        "version": aspect.version,
        "value": orjson.Fragment(aspect.value),
        "created": {"time": aspect.time_millis, "actor": aspect.actor},
        "systemMetadata": orjson.Fragment(aspect.system),
    }


def _snapshot_name(registry: Registry, entity_type: str) -> str:
    """`…CorpUserSnapshot` for `corpuser`: snapshots are named as keys are."""
    key = registry.aspect(registry.entity(entity_type).key).record.rpartition(".")[2]
    return f"{_SNAPSHOTS}{key.removesuffix('Key')}Snapshot"


def _system(parameters: Parameters) -> Any:
    system = parameters.given.get("systemMetadata")
    if not isinstance(system, str):
        return system
    try:
        return orjson.loads(system)
    except orjson.JSONDecodeError as error:
        raise Refusal(400, f"'systemMetadata' is not JSON: {error}") from None
