"""Writing changes, and reading single aspects and their documents over time."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import orjson

from explorer.errors import InvalidInput, NotFound, UnknownName
from explorer.metadata.condition import CONDITION_HEADERS
from explorer.metadata.filters import Filter
from explorer.metadata.proposal import Proposal, read_proposal
from explorer.metadata.urn import Urn
from explorer.metadata.values import key_value, reach
from explorer.server.call import MAX_PAGE, Answer, Call, Parameters
from explorer.server.catalog import Catalog
from explorer.server.dialect import Dialect, dialect_of, record_name
from explorer.server.endpoint import Endpoint, parameter
from explorer.server.filters import read_filter
from explorer.server.routes.proposals import ASYNC, CONDITIONS, NOTES, PROPOSAL, PROPOSALS
from explorer.server.routes.usage import ENTITY, PATH_URN, URN

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
                parameters=(PROPOSAL, ASYNC, *CONDITIONS),
                gives="the entity's URN as value",
                notes=NOTES,
            ),
            Endpoint(
                "POST",
                "/aspects",
                self._ingest_batch,
                "write several aspects, all or none",
                action="ingestProposalBatch",
                parameters=(PROPOSALS, ASYNC),
                gives='"success" as value',
                notes=(
                    "Applied in the order given, in one transaction: when one is refused, none is "
                    "written, and the message names it as proposals[n].",
                    "Conditions are said in the headers of each proposal.",
                ),
            ),
            Endpoint(
                "POST",
                "/aspects",
                self._timeseries,
                "documents of a timeseries aspect, newest first",
                action="getTimeseriesAspectValues",
                parameters=(
                    URN,
                    ENTITY,
                    parameter("aspect", "string", "an aspect over time", "datasetUsageStatistics"),
                    *(
                        parameter(name, kind, summary, required=False)
                        for name, kind, summary in (
                            ("startTimeMillis", "integer", "from when on; open without it"),
                            ("endTimeMillis", "integer", "up to when; open without it"),
                            ("limit", "integer", "how many at most; 10000 without it, and at most"),
                            ("latestValue", "boolean", "the newest alone; false without it"),
                            ("filter", "filter", "EQUAL and IN over the documents' own fields"),
                        )
                    ),
                ),
                gives=(
                    "entityName, aspectName, the bounds, limit, and values: for each document "
                    "aspect {value (JSON as text), contentType} and systemMetadata"
                ),
                notes=(
                    "Newest first; both bounds are inclusive; the limit keeps the newest.",
                    "A document of the same moment, partition and granularity takes the place of "
                    "the one before. An aspect that is not over time is refused.",
                ),
            ),
            Endpoint(
                "GET",
                "/aspects",
                self._aspect,
                "one version of an aspect",
                item=True,
                standing="to be replaced",
                parameters=(
                    PATH_URN,
                    parameter("aspect", "string", "its name", "datasetKey", place="query"),
                    parameter(
                        "version",
                        "integer",
                        "which; 0, the latest, without it",
                        0,
                        place="query",
                        required=False,
                    ),
                ),
                gives="version, aspect {<record name>: value}, systemMetadata",
                notes=(
                    "0 is the latest and 1 the oldest version; negative numbers count back from "
                    "the latest, -1 being the one before it.",
                    "404 for a URN, an aspect or a version that is not there. Whether an entity "
                    "exists is told by its key aspect.",
                ),
            ),
        )

    async def _ingest(self, call: Call) -> Answer:
        parameters = await call.parameters()
        proposal = _conditional(read_proposal(parameters.record("proposal")), call)
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


def _conditional(proposal: Proposal, call: Call) -> Proposal:
    """The proposal with the conditions that the request's own headers say; its own win."""
    said = {name: call.header(name.lower().encode()) for name in CONDITION_HEADERS}
    own = {name.lower() for name in proposal.headers or ()}
    added = {name: text for name, text in said.items() if text and name.lower() not in own}
    return replace(proposal, headers={**(proposal.headers or {}), **added}) if added else proposal


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
