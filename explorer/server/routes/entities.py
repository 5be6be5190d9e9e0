"""Endpoints for entities: reading, counting, listing and permanently deleting them."""

from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote

import orjson
from starlette.responses import Response

from explorer.errors import InvalidInput, NotFound
from explorer.metadata.urn import MAX_URN_BYTES, UNKNOWN_ACTOR, Urn
from explorer.server.dialect import record_name
from explorer.server.restli import (
    EXAMPLE_URN,
    Endpoint,
    JsonResponse,
    Parameter,
    Parameters,
    RestliRequest,
    Routes,
    ValueResponse,
)
from explorer.server.routes import COUNT, ENTITY, PATH_URN, START, URN, version_to_wire
from explorer.server.routes.ingestion import WITH_SNAPSHOT, snapshot_name
from explorer.server.store import StoredAspect, is_removed

_MAX_MILLIS = 2**62


class DeletionRoutes(Routes):
    """The endpoints of `/entities` that delete entities or references to them."""

    @Endpoint(
        "POST",
        "/entities",
        "remove an entity, or one of its aspects, with all versions",
        role="admin",
        action="delete",
        parameters=(
            URN,
            Parameter.optional(
                "aspectName", "string", "the name of one aspect; all aspects by default"
            ),
            Parameter.optional(
                "startTimeMillis",
                "integer",
                "of a timeseries aspect, only documents from this time on",
            ),
            Parameter.optional(
                "endTimeMillis", "integer", "of a timeseries aspect, only documents up to this time"
            ),
        ),
        gives="urn, rows (removed versions) and timeseriesRows (removed documents)",
        notes=(
            "404 for an entity that does not exist; DataHub's clients get 200 and 0 rows. "
            "Removing the key aspect removes the entity.",
            "A deleted entity reads as its key aspect alone, and can be written again. To hide "
            "an entity and keep its data, write its status with removed true.",
        ),
    )
    async def _delete(self, request: RestliRequest) -> Response:
        parameters = await request.parameters()
        urn = self._catalog.intake.read_urn(parameters.text("urn"))
        aspect = parameters.optional_text("aspectName")
        bounds = (_millis(parameters, "startTimeMillis"), _millis(parameters, "endTimeMillis"))
        rows, points = await self._catalog.delete(
            urn, aspect, bounds, request.actor, request.dialect
        )
        return ValueResponse({"urn": str(urn), "rows": rows, "timeseriesRows": points})

    @Endpoint(
        "POST",
        "/entities",
        "remove the references to an entity from all other aspects",
        role="admin",
        action="deleteReferences",
        parameters=(
            URN,
            Parameter.optional(
                "dryRun", "boolean", "only report what would be removed; false by default", True
            ),
        ),
        gives="total (removed references) and relatedAspects {entity, relationship, aspect}, 100 "
        "at most; leftTotal and leftAspects, the same for references that cannot be removed",
        notes=(
            "A reference is removed with the smallest part around it that can be removed: an "
            "optional field, otherwise the element of an array. If the aspect would not be valid "
            "without it, it stays and is listed in leftAspects.",
            "The earlier versions of the aspects are kept. The entity itself need not exist, and "
            "is not changed.",
            "Each aspect is changed in one step; other writes may happen between aspects. If the "
            "request ends early, repeat it: it continues with the remaining references, and "
            "counts only those.",
        ),
    )
    async def _delete_references(self, request: RestliRequest) -> Response:
        parameters = await request.parameters()
        urn = Urn.parse(parameters.text("urn"))
        dry_run = parameters.flag("dryRun", default=False)
        unlinked = await self._catalog.delete_references(urn, request.actor, dry_run=dry_run)
        return ValueResponse(unlinked.to_wire())


def _millis(parameters: Parameters, name: str) -> int | None:
    # No document has a time beyond these bounds, and the storage engines do not support such times.
    value = parameters.integer(name)
    return None if value is None else max(-_MAX_MILLIS, min(value, _MAX_MILLIS))


# Every further wildcard multiplies the ways in which a URN can match.
_MOST_ANYTHING = 8


class CountRoutes(Routes):
    """The endpoints of `/entities` and `/aspects` that count, and the list of all URNs."""

    @Endpoint(
        "POST",
        "/entities",
        "the URNs of all entities of a type",
        role="reader",
        action="listUrns",
        parameters=(ENTITY, START, COUNT),
        gives="entities: URNs, sorted; start, count (of this page) and total",
        notes=("Soft-deleted entities are included.",),
    )
    async def _urns(self, request: RestliRequest) -> Response:
        parameters = await request.parameters()
        entity = self._catalog.registry.entity_name(parameters.text("entity"))
        start, count = parameters.start(), parameters.page("count")
        total, urns = await self._catalog.read(self._page, entity, start, count)
        value = {"entities": urns, "start": start, "count": len(urns), "total": total}
        return ValueResponse(value)

    def _page(self, entity: str, start: int, count: int) -> tuple[int, list[str]]:
        with self._catalog.store.snapshot() as view:
            total = view.count(entity_type=entity)
            return total, view.urns(entity_type=entity, start=start, limit=count)

    @Endpoint(
        "POST",
        "/entities",
        "count the entities of a type",
        role="reader",
        action="getTotalEntityCount",
        parameters=(ENTITY,),
        gives="a number",
        notes=("Soft-deleted entities are not counted.",),
    )
    async def _total(self, request: RestliRequest) -> Response:
        parameters = await request.parameters()
        return ValueResponse(await self._count(parameters.text("entity")))

    @Endpoint(
        "POST",
        "/entities",
        "count the entities of several types",
        role="reader",
        action="batchGetTotalEntityCount",
        parameters=(
            Parameter("entities", "array of strings", "names of entity types", ["dataset", "tag"]),
        ),
        gives="an object with the number of entities of each type",
        notes=("Soft-deleted entities are not counted.",),
    )
    async def _totals(self, request: RestliRequest) -> Response:
        parameters = await request.parameters()
        parameters.items("entities")
        entities = dict.fromkeys(parameters.texts("entities") or ())
        return ValueResponse({entity: await self._count(entity) for entity in entities})

    async def _count(self, entity: str) -> int:
        name = self._catalog.registry.entity_name(entity)
        return await self._catalog.offload(self._catalog.index.total, (name,))

    @Endpoint(
        "POST",
        "/aspects",
        "count the entities that have an aspect",
        role="reader",
        action="getCount",
        parameters=(
            Parameter("aspect", "string", "the name of an aspect", "ownership"),
            Parameter.optional(
                "urnLike",
                "string",
                "a pattern for their URNs: % stands for any text, _ for any character",
                "urn:li:dataset:%",
            ),
        ),
        gives="the number of entities; for a timeseries aspect, the number of documents",
        notes=("Soft-deleted entities are counted. Upper and lower case are not distinguished.",),
    )
    async def _aspects(self, request: RestliRequest) -> Response:
        parameters = await request.parameters()
        aspect = parameters.text("aspect")
        self._catalog.registry.aspect(aspect)
        like = parameters.optional_text("urnLike")
        if like is not None and (len(like) > MAX_URN_BYTES or like.count("%") > _MOST_ANYTHING):
            raise InvalidInput(
                f"'urnLike' has at most {MAX_URN_BYTES} characters, as URNs have, and "
                f"{_MOST_ANYTHING} of them %"
            )
        count = await self._catalog.read(self._catalog.store.count, aspect=aspect, urn_like=like)
        return ValueResponse(count)


# Longer batches are read in a thread, so that the event loop is not blocked.
_LONG_BATCH = 8

_ASPECTS = Parameter.query(
    "aspects",
    "array of strings",
    "names of aspects, List(status,ownership) or repeated; all by default",
    "List(ownership)",
)
_GIVES_ENTITY = (
    "urn, entityName, and aspects by name: name, type, version (0), value, created {time, actor}, "
    "systemMetadata"
)
_READING = (
    ("The key aspect is always included, also for a URN that was never written or was deleted."),
    (
        "Names of aspects that are not stored are left out. Timeseries aspects have an "
        "endpoint of their own."
    ),
)


class EntityRoutes(Routes):
    """The endpoints `/entitiesV2`, and those of `/entities` that read single entities."""

    @Endpoint(
        "GET",
        "/entitiesV2",
        "an entity's latest aspects",
        role="reader",
        item=True,
        parameters=(PATH_URN, _ASPECTS),
        gives=_GIVES_ENTITY,
        notes=_READING,
    )
    async def _entity(self, request: RestliRequest) -> Response:
        urn = self._catalog.intake.read_urn(request.key)
        names = request.query.many("aspects")
        stored = await self._catalog.read_few(self._read, [urn], names)
        return JsonResponse(self._wire(urn, stored.get(str(urn), ())))

    @Endpoint(
        "GET",
        "/entitiesV2",
        "many entities' latest aspects",
        role="reader",
        parameters=(
            Parameter(
                "ids",
                "array of URNs",
                "the entities, List(<urn>,<urn>), each percent-encoded",
                f"List({EXAMPLE_URN})",
                place="query",
            ),
            _ASPECTS,
        ),
        gives=f"results: for each URN {_GIVES_ENTITY}; statuses and errors, both empty",
        notes=_READING,
    )
    async def _entities(self, request: RestliRequest) -> Response:
        ids = request.query.many("ids")
        if ids is None:
            raise InvalidInput("the query parameter 'ids' is required: ids=List(<urn>,<urn>)")
        urns = [self._catalog.intake.read_urn(text) for text in dict.fromkeys(ids)]
        names = request.query.many("aspects")
        run_read = self._catalog.read if len(urns) > _LONG_BATCH else self._catalog.read_few
        return JsonResponse(await run_read(self._results, urns, names))

    def _results(self, urns: Sequence[Urn], names: list[str] | None) -> bytes:
        stored = self._read(urns, names)
        results = {str(urn): self._wire(urn, stored.get(str(urn), ())) for urn in urns}
        return orjson.dumps({"results": results, "statuses": {}, "errors": {}})

    def _read(self, urns: Sequence[Urn], names: list[str] | None) -> dict[str, list[StoredAspect]]:
        selected: set[str] | None = None
        if names is not None:
            keys = {self._catalog.registry.entity(urn.entity_type).key for urn in urns}
            selected = keys.union(names)
        return self._catalog.store.aspects([str(urn) for urn in urns], selected)

    def _wire(self, urn: Urn, stored: Iterable[StoredAspect]) -> dict[str, Any]:
        aspects = {aspect.name: _wrap(aspect) for aspect in stored}
        if not aspects:
            key = self._virtual_key(urn)
            aspects[key.name] = _wrap(key)
        return {"urn": str(urn), "entityName": urn.entity_type, "aspects": aspects}

    def _virtual_key(self, urn: Urn) -> StoredAspect:
        """Return the key aspect of an entity that is not stored, derived from its URN."""
        value = self._catalog.intake.check_urn(urn)
        name = self._catalog.registry.entity(urn.entity_type).key
        return StoredAspect(name, 0, orjson.dumps(value), 0, UNKNOWN_ACTOR, b"{}")

    @Endpoint(
        "GET",
        "/entities",
        "an entity as a snapshot record",
        role="reader",
        item=True,
        standing="deprecated",
        parameters=(PATH_URN,),
        gives="a snapshot record: urn, and aspects, each under the name of its record",
        notes=(
            "The key aspect comes first and is always included.",
            "Entity types without a snapshot record, such as containers and domains, are "
            "answered with 404; read them with /entitiesV2.",
        ),
    )
    async def _snapshot(self, request: RestliRequest) -> Response:
        urn = self._catalog.intake.read_urn(request.key)
        registry = self._catalog.registry
        registry.entity(urn.entity_type)
        if urn.entity_type not in WITH_SNAPSHOT:
            raise NotFound(
                f"the entity type {urn.entity_type} has no snapshot record; "
                f"read it with /entitiesV2/{quote(str(urn), safe='')}"
            )
        aspects_by_urn = await self._catalog.read_few(self._read, [urn], None)
        stored = aspects_by_urn.get(str(urn)) or [self._virtual_key(urn)]
        key = registry.entity(urn.entity_type).key
        stored.sort(key=lambda aspect: aspect.name != key)
        aspects = [
            {
                record_name(registry.aspect(aspect.name).record, request.dialect): orjson.Fragment(
                    aspect.value
                )
            }
            for aspect in stored
            if aspect.name in registry.aspects
        ]
        name = record_name(snapshot_name(registry, urn.entity_type), request.dialect)
        return ValueResponse({name: {"urn": str(urn), "aspects": aspects}})

    @Endpoint(
        "POST",
        "/entities",
        "whether an entity has any aspect",
        role="reader",
        action="exists",
        parameters=(
            URN,
            Parameter.optional(
                "includeSoftDelete",
                "boolean",
                "whether a soft-deleted entity counts as existing; true by default",
            ),
        ),
        gives="true or false",
    )
    async def _exists(self, request: RestliRequest) -> Response:
        parameters = await request.parameters()
        urn = self._catalog.intake.read_urn(parameters.text("urn"))
        store, counts_removed = (
            self._catalog.store,
            parameters.flag("includeSoftDelete", default=True),
        )

        def read() -> bool:
            if not store.existing([str(urn)]):
                return False
            return counts_removed or not is_removed(
                store.aspects([str(urn)], ("status",)).get(str(urn), ())
            )

        return ValueResponse(await self._catalog.read_few(read))


def _wrap(aspect: StoredAspect) -> dict[str, Any]:
    return {"name": aspect.name, "type": "VERSIONED", **version_to_wire(aspect)}
