"""Writing changes, and reading single aspects and their documents over time."""

from collections.abc import Iterator
from typing import Any

import orjson

from explorer.errors import InvalidInput, NotFound, UnknownName
from explorer.metadata.filters import Filter
from explorer.metadata.proposal import read_proposal
from explorer.metadata.urn import Urn
from explorer.metadata.values import key_value, reach
from explorer.server.call import MAX_PAGE, Answer, Call, Parameters
from explorer.server.catalog import Catalog
from explorer.server.dialect import Dialect, dialect_of, record_name
from explorer.server.endpoint import Endpoint
from explorer.server.filters import read_filter

__all__ = ["AspectRoutes"]


class AspectRoutes:
    """`/aspects`"""

    def __init__(self, catalog: Catalog, dialect: Dialect | None) -> None:
        self._catalog = catalog
        self._dialect = dialect

    def endpoints(self) -> tuple[Endpoint, ...]:
        return (
            Endpoint(
                "POST",
                "/aspects",
                self._ingest,
                "write or remove one aspect of an entity",
                action="ingestProposal",
            ),
            Endpoint(
                "POST",
                "/aspects",
                self._ingest_batch,
                "write several aspects, all or none",
                action="ingestProposalBatch",
            ),
            Endpoint(
                "POST",
                "/aspects",
                self._timeseries,
                "documents of a timeseries aspect, newest first",
                action="getTimeseriesAspectValues",
            ),
            Endpoint("GET", "/aspects", self._aspect, "one version of an aspect", item=True),
        )

    async def _ingest(self, call: Call) -> Answer:
        parameters = await call.parameters()
        proposal = read_proposal(parameters.record("proposal"))
        await self._catalog.ingest(proposal, call.actor)
        return Answer.of({"value": str(proposal.urn)})

    async def _ingest_batch(self, call: Call) -> Answer:
        parameters = await call.parameters()
        await self._catalog.ingest_batch(parameters.items("proposals"), call.actor)
        return Answer.of({"value": "success"})

    async def _aspect(self, call: Call) -> Answer:
        urn = Urn.parse(call.key)
        name = call.query.required("aspect")
        version = _version(call.query.one("version"))
        stored = self._catalog.store.aspect(str(urn), name, version)
        if stored is None:
            raise NotFound(f"{urn} has no version {version} of the aspect {name}")
        aspect = self._catalog.registry.aspects.get(name)
        spelled = record_name(aspect.record, dialect_of(call, self._dialect)) if aspect else name
        return Answer.of(
            {
                "version": stored.version,
                "aspect": {spelled: orjson.Fragment(stored.value)},
                "systemMetadata": orjson.Fragment(stored.system),
            }
        )

    async def _timeseries(self, call: Call) -> Answer:
        parameters = await call.parameters()
        return Answer(await self._catalog.offload(self._read_timeseries, parameters))

    def _read_timeseries(self, parameters: Parameters) -> bytes:
        urn = Urn.parse(parameters.text("urn"))
        entity, name = parameters.text("entity"), parameters.text("aspect")
        if entity != urn.entity_type:
            raise InvalidInput(f"entity {entity!r} is not that of the URN {urn}")
        registry = self._catalog.registry
        key_value(urn, registry.key_fields(entity))
        try:
            declared = registry.aspect_of(entity, name)
        except UnknownName as error:
            raise NotFound(str(error)) from error
        if not declared.timeseries:
            raise InvalidInput(
                f"{name} is no timeseries aspect; read it with /entitiesV2 or /aspects/<urn>"
            )
        bounds = {
            field: parameters.integer(field) for field in ("startTimeMillis", "endTimeMillis")
        }
        limit = parameters.count("limit", MAX_PAGE, MAX_PAGE)
        if parameters.flag("latestValue", default=False):
            limit = 1
        narrowed_by = read_filter(parameters.given.get("filter"))
        points = self._points(str(urn), name, tuple(bounds.values()), limit, narrowed_by)
        values = [
            {
                "aspect": {"value": value.decode(), "contentType": "application/json"},
                "systemMetadata": orjson.Fragment(system),
            }
            for value, system in points
        ]
        answer: dict[str, Any] = {"entityName": entity, "aspectName": name}
        answer |= {field: bound for field, bound in bounds.items() if bound is not None}
        return orjson.dumps({"value": answer | {"limit": limit, "values": values}})

    def _points(
        self,
        urn: str,
        name: str,
        bounds: tuple[int | None, ...],
        limit: int,
        narrowed_by: Filter,
    ) -> Iterator[tuple[bytes, bytes]]:
        start, end = (None if bound is None else _clamp(bound) for bound in bounds)
        if not narrowed_by:
            yield from self._catalog.store.points(urn, name, start, end, limit)
            return
        passed = 0
        for value, system in self._catalog.store.points(urn, name, start, end):
            if passed == limit:
                return
            if _passes(orjson.loads(value), narrowed_by):
                passed += 1
                yield value, system


def _clamp(millis: int) -> int:
    return max(-(2**62), min(millis, 2**62))


def _version(text: str | None) -> int:
    if text is None:
        return 0
    try:
        version = int(text)
    except ValueError:
        raise InvalidInput(f"the query parameter 'version' is an integer, not {text!r}") from None
    return max(-(2**31), min(version, 2**31))


def _passes(value: dict[str, Any], narrowed_by: Filter) -> bool:
    """Whether a document meets a filter over its own fields (`partitionSpec.partition`)."""
    for criteria in narrowed_by.any_of:
        met = True
        for criterion in criteria:
            if criterion.condition not in ("EQUAL", "IN"):
                raise InvalidInput(
                    f"a filter over documents in time takes EQUAL and IN, not {criterion.condition}"
                )
            found = {_spelled(part) for part in reach(value, criterion.field)}
            met = met and (not found.isdisjoint(criterion.values)) != criterion.negated
        if met:
            return True
    return False


def _spelled(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
