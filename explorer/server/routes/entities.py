"""Reading whole entities, in today's form and the legacy one."""

from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote

import orjson

from explorer.errors import InvalidInput, NotFound
from explorer.metadata.urn import Urn
from explorer.server.call import Answer, Call
from explorer.server.catalog import Catalog
from explorer.server.dialect import record_name
from explorer.server.endpoint import Endpoint, parameter
from explorer.server.intake.change import UNKNOWN_ACTOR
from explorer.server.routes.snapshots import WITH_SNAPSHOT, snapshot_name
from explorer.server.routes.usage import DATASET, PATH_URN, URN
from explorer.server.store import StoredAspect

__all__ = ["EntityRoutes"]

# Longer batches are read beside the event loop.
_LONG_BATCH = 8

_ASPECTS = parameter(
    "aspects",
    "array of strings",
    "names of aspects, List(status,ownership) or repeated; all without it",
    "List(ownership)",
    place="query",
    required=False,
)
_GIVES_ENTITY = (
    "urn, entityName, and aspects by name: name, type, version (0), value, created {time, actor}, "
    "systemMetadata"
)
_READING = (
    "The key aspect is always there, also for a URN that was never written or was deleted.",
    "A name that is not stored is left out. Aspects over time are read by themselves.",
)


class EntityRoutes:
    """`/entitiesV2`, and `/entities` where it names entities"""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def endpoints(self) -> tuple[Endpoint, ...]:
        return (
            Endpoint(
                "GET",
                "/entitiesV2",
                self._entity,
                "an entity's latest aspects",
                role="reader",
                item=True,
                parameters=(PATH_URN, _ASPECTS),
                gives=_GIVES_ENTITY,
                notes=_READING,
            ),
            Endpoint(
                "GET",
                "/entitiesV2",
                self._entities,
                "many entities' latest aspects",
                role="reader",
                parameters=(
                    parameter(
                        "ids",
                        "array of URNs",
                        "the entities, List(<urn>,<urn>), each percent-encoded",
                        f"List({DATASET})",
                        place="query",
                    ),
                    _ASPECTS,
                ),
                gives=f"results: for each URN {_GIVES_ENTITY}; statuses and errors, both empty",
                notes=_READING,
            ),
            Endpoint(
                "GET",
                "/entities",
                self._snapshot,
                "an entity as a snapshot record",
                role="reader",
                item=True,
                standing="deprecated",
                parameters=(PATH_URN,),
                gives="a snapshot record: urn, and aspects, each under the name of its record",
                notes=(
                    "The key aspect comes first and is always there.",
                    "Entity types that never had a snapshot record, such as containers and "
                    "domains, answer 404; read them with /entitiesV2.",
                ),
            ),
            Endpoint(
                "POST",
                "/entities",
                self._exists,
                "whether an entity has any aspect",
                role="reader",
                action="exists",
                parameters=(
                    URN,
                    parameter(
                        "includeSoftDelete",
                        "boolean",
                        "whether a soft-deleted entity counts; true without it",
                        required=False,
                    ),
                ),
                gives="true or false",
            ),
        )

    async def _entity(self, call: Call) -> Answer:
        urn = self._catalog.intake.read_urn(call.key)
        names = call.query.many("aspects")
        stored = self._read([urn], names)
        return Answer(orjson.dumps(self._wire(urn, stored.get(str(urn), ()))))

    async def _entities(self, call: Call) -> Answer:
        ids = call.query.many("ids")
        if ids is None:
            raise InvalidInput("the query parameter 'ids' is required: ids=List(<urn>,<urn>)")
        urns = [self._catalog.intake.read_urn(text) for text in dict.fromkeys(ids)]
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
        urn = self._catalog.intake.read_urn(call.key)
        registry = self._catalog.registry
        registry.entity(urn.entity_type)
        if urn.entity_type not in WITH_SNAPSHOT:
            raise NotFound(
                f"the entity type {urn.entity_type} has no snapshot record; "
                f"read it with /entitiesV2/{quote(str(urn), safe='')}"
            )
        stored = self._read([urn], None).get(str(urn)) or [self._virtual_key(urn)]
        key = registry.entity(urn.entity_type).key
        stored.sort(key=lambda aspect: aspect.name != key)
        aspects = [
            {
                record_name(registry.aspect(aspect.name).record, call.dialect): orjson.Fragment(
                    aspect.value
                )
            }
            for aspect in stored
            if aspect.name in registry.aspects
        ]
        name = record_name(snapshot_name(registry, urn.entity_type), call.dialect)
        return Answer.of({"value": {name: {"urn": str(urn), "aspects": aspects}}})

    async def _exists(self, call: Call) -> Answer:
        parameters = await call.parameters()
        urn = self._catalog.intake.read_urn(parameters.text("urn"))
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
