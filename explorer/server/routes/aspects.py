"""Endpoints for aspects: writing changes, and reading aspects, their versions, and timeseries
documents."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import orjson
from starlette.responses import Response

from explorer.errors import InvalidInput, NotFound, UnknownName
from explorer.metadata.proposal import CONDITION_HEADERS, Proposal, read_proposal
from explorer.metadata.registry import Registry, key_value
from explorer.server.authentication import Access
from explorer.server.dialect import record_name
from explorer.server.restli import (
    DEFAULT_PAGE,
    MAX_PAGE,
    Endpoint,
    JsonResponse,
    Parameter,
    Parameters,
    RestliRequest,
    Routes,
    ValueResponse,
)
from explorer.server.routes import (
    ALL_OR_NONE,
    ASYNC,
    BATCHED,
    CONDITIONS,
    ENTITY,
    NOTES,
    PATH_URN,
    PROPOSAL,
    PROPOSALS,
    URN,
    ingest_batch,
    version_to_wire,
)
from explorer.server.search_request import read_filter, read_sort
from explorer.server.timeseries import read_documents

_FAR = 2**31


class VersionRoutes(Routes):
    """The endpoint `/versions`."""

    @Endpoint(
        "GET",
        "/versions",
        "the versions of an aspect in a range, newest first",
        role="reader",
        item=True,
        standing="ours",
        parameters=(
            PATH_URN,
            Parameter("aspect", "string", "the name of an aspect", "ownership", place="query"),
            *(
                Parameter.query(name, "integer", summary, example)
                for name, summary, example in (
                    ("from", "one end of the range; the oldest version if it is left out", 1),
                    ("to", "the other end; the latest version if it is left out", 0),
                    ("start", "how many versions of the range to skip; 0 by default", 0),
                    (
                        "count",
                        "how many versions to return at most; 10 by default, 10000 at most",
                        10,
                    ),
                )
            ),
        ),
        gives="urn, aspectName, start, count (of this page), total (in the range), and "
        "versions: version, value, created {time, actor}, systemMetadata",
        notes=(
            "Version 0 is the latest and 1 the oldest; negative numbers count back from the "
            "latest: -1 is the version before it.",
            "Both ends are part of the range, in either order. Versions that do not "
            "exist are left out.",
            "404 for an aspect that the entity does not have; 400 for a timeseries aspect, which "
            "has no versions.",
        ),
    )
    async def _versions(self, request: RestliRequest) -> Response:
        urn = self._catalog.intake.read_urn(request.key)
        name = request.query.require("aspect")
        if _is_timeseries(self._catalog.registry, urn.entity_type, name):
            raise InvalidInput(
                f"{name} is a timeseries aspect and has no versions; read its documents with "
                "POST /aspects?action=getTimeseriesAspectValues"
            )
        bounds = (
            request.query.number("from", 1, least=-_FAR),
            request.query.number("to", 0, least=-_FAR),
        )
        start = request.query.number("start", 0)
        count = min(request.query.number("count", DEFAULT_PAGE), MAX_PAGE)
        page = await self._catalog.read(
            self._catalog.store.versions, str(urn), name, bounds, start, count
        )
        if page is None:
            raise NotFound(f"{urn} has no aspect {name}")
        total, versions = page
        return JsonResponse(
            {
                "urn": str(urn),
                "aspectName": name,
                "start": start,
                "count": len(versions),
                "total": total,
                "versions": [version_to_wire(version) for version in versions],
            }
        )


def _is_timeseries(registry: Registry, entity: str, name: str) -> bool:
    """Return whether an aspect of an entity type is a timeseries aspect. Raises `NotFound` if the
    type does not have it."""
    try:
        return registry.aspect_of(entity, name).timeseries
    except UnknownName as error:
        raise NotFound(str(error)) from error


_DELETE_NOTE = (
    "A proposal with changeType DELETE removes the latest and all older versions, and needs "
    "the role admin."
)


_PROPOSER_NOTE = (
    "A token with the role proposer may write changesets of its user, in which nothing is decided, "
    "until their changesetInfo is there."
)


class AspectRoutes(Routes):
    """The endpoints of `/aspects`, except for counting."""

    @Endpoint(
        "POST",
        "/aspects",
        "write or remove one aspect of an entity",
        role="editor",
        proposes=True,
        action="ingestProposal",
        parameters=(PROPOSAL, ASYNC, *CONDITIONS),
        gives="the entity's URN as value",
        notes=(*NOTES, _DELETE_NOTE, _PROPOSER_NOTE),
    )
    async def _ingest(self, request: RestliRequest) -> Response:
        parameters = await request.parameters()
        record = parameters.record("proposal")
        await self._require_roles(request, [record])
        proposal = self._read(record, request)
        proposal = _conditional(proposal, request)
        await self._catalog.ingest(proposal, request.actor, request.dialect)
        return ValueResponse(str(proposal.urn))

    async def _require_roles(self, request: RestliRequest, items: Sequence[Any]) -> None:
        """Raise `RequestRefusal` (403) if the caller lacks the role that a proposal needs."""
        for item in items:
            _require_role(request, item)
        if not request.access.has("editor"):
            proposals = [self._read(item, request) for item in items]
            await self._catalog.read(self._require_changeset, request.access, proposals)

    def _require_changeset(self, access: Access, proposals: Sequence[Proposal]) -> None:
        """Raise `RequestRefusal` (403) unless the proposals only write changesets of the caller
        that have no decisions and that nobody else has seen."""
        for proposal in proposals:
            if not _is_undecided_change(proposal, access):
                access.require("editor", "writing anything but a changeset of your own")
            info = self._catalog.store.aspect(str(proposal.urn), CHANGESET_INFO)
            if info is not None:
                access.require("editor", "changing a changeset that others can see")

    def _read(self, wire: Any, request: RestliRequest) -> Proposal:
        return read_proposal(wire, self._catalog.registry, complete=request.dialect == "plain")

    @Endpoint(
        "POST",
        "/aspects",
        "write several aspects",
        role="editor",
        proposes=True,
        action="ingestProposalBatch",
        parameters=(PROPOSALS, ASYNC, ALL_OR_NONE),
        gives='"success" as value',
        notes=(
            "Applied in the order given. " + BATCHED,
            "Conditions are given in the headers of each proposal.",
            _DELETE_NOTE,
            _PROPOSER_NOTE,
        ),
    )
    async def _ingest_batch(self, request: RestliRequest) -> Response:
        parameters = await request.parameters()
        items = parameters.items("proposals")
        await self._require_roles(request, items)
        await ingest_batch(
            self._catalog,
            request,
            "proposals",
            items,
            lambda wire: [self._read(wire, request)],
        )
        return ValueResponse("success")

    @Endpoint(
        "GET",
        "/aspects",
        "one version of an aspect",
        role="reader",
        item=True,
        standing="to be replaced",
        parameters=(
            PATH_URN,
            Parameter("aspect", "string", "its name", "datasetKey", place="query"),
            Parameter.query(
                "version", "integer", "the number of the version; 0, the latest, by default", 0
            ),
        ),
        gives="version, aspect {<record name>: value}, systemMetadata",
        notes=(
            "0 is the latest and 1 the oldest version; negative numbers count back from "
            "the latest, -1 being the one before it.",
            "404 for a URN, an aspect or a version that does not exist. To find out whether an "
            "entity exists, read its key aspect.",
        ),
    )
    async def _aspect(self, request: RestliRequest) -> Response:
        urn = self._catalog.intake.read_urn(request.key)
        name = request.query.require("aspect")
        version = request.query.number("version", 0, least=-_FAR)
        stored = await self._catalog.read_few(self._catalog.store.aspect, str(urn), name, version)
        if stored is None:
            raise NotFound(f"{urn} has no version {version} of the aspect {name}")
        aspect = self._catalog.registry.aspects.get(name)
        spelled = record_name(aspect.record, request.dialect) if aspect else name
        return JsonResponse(
            {
                "version": stored.version,
                "aspect": {spelled: orjson.Fragment(stored.value)},
                "systemMetadata": orjson.Fragment(stored.system),
            }
        )

    @Endpoint(
        "POST",
        "/aspects",
        "documents of a timeseries aspect",
        role="reader",
        action="getTimeseriesAspectValues",
        parameters=(
            URN,
            ENTITY,
            Parameter(
                "aspect", "string", "the name of a timeseries aspect", "datasetUsageStatistics"
            ),
            *(
                Parameter.optional(name, kind, summary)
                for name, kind, summary in (
                    (
                        "startTimeMillis",
                        "integer",
                        "milliseconds since 1970; only documents from this time on",
                    ),
                    (
                        "endTimeMillis",
                        "integer",
                        "milliseconds since 1970; only documents up to this time",
                    ),
                    (
                        "limit",
                        "integer",
                        "how many documents at most; 10000 by default, which is also the most",
                    ),
                    ("latestValue", "boolean", "only the newest document; false by default"),
                    ("filter", "filter", "criteria on the fields of the documents"),
                    ("sort", "sort", "sort by one field of the documents; newest first by default"),
                )
            ),
        ),
        gives="entityName, aspectName, the bounds, limit, and values: for each document "
        "aspect {value (JSON as text), contentType} and systemMetadata",
        notes=(
            "Documents are sorted newest first unless a sort is given. Both bounds are "
            "inclusive. The limit is applied after sorting.",
            "A document must meet all criteria of the filter. Numbers are compared as numbers, "
            "texts exactly. Documents without a value are sorted last.",
            "A document with the same timestamp, partition and granularity replaces the earlier "
            "one. An aspect that is not a timeseries aspect is refused.",
        ),
    )
    async def _timeseries(self, request: RestliRequest) -> Response:
        parameters = await request.parameters()
        return JsonResponse(await self._catalog.read(self._read_timeseries, parameters))

    def _read_timeseries(self, parameters: Parameters) -> bytes:
        urn = self._catalog.intake.read_urn(parameters.text("urn"))
        registry, name = self._catalog.registry, parameters.text("aspect")
        entity = registry.entity_name(parameters.text("entity"))
        if entity != urn.entity_type:
            raise InvalidInput(f"entity {entity!r} is not that of the URN {urn}")
        key_value(urn, registry.key_fields(entity))
        if not _is_timeseries(registry, entity, name):
            raise InvalidInput(
                f"{name} is not a timeseries aspect; read it with /entitiesV2 or /aspects/<urn>"
            )
        start = parameters.integer("startTimeMillis")
        end = parameters.integer("endTimeMillis")
        limit = parameters.count("limit", MAX_PAGE, MAX_PAGE)
        if parameters.flag("latestValue", default=False):
            limit = 1
        documents = read_documents(
            self._catalog.store,
            str(urn),
            name,
            (start, end),
            limit,
            read_filter(parameters.given.get("filter")),
            next(iter(read_sort(parameters)), None),
        )
        values = [
            {
                "aspect": {"value": value.decode(), "contentType": "application/json"},
                "systemMetadata": orjson.Fragment(system),
            }
            for _, value, system in documents
        ]
        answer: dict[str, Any] = {"entityName": entity, "aspectName": name}
        bounds = {"startTimeMillis": start, "endTimeMillis": end}
        answer |= {field: bound for field, bound in bounds.items() if bound is not None}
        return orjson.dumps({"value": answer | {"limit": limit, "values": values}})


def _require_role(request: RestliRequest, proposal: Any) -> None:
    """Raise `RequestRefusal` (403) if the proposal is a deletion and the caller does not have the
    role `admin`."""
    if isinstance(proposal, dict) and proposal.get("changeType") == "DELETE":
        request.access.require("admin", "a proposal with changeType DELETE")


CHANGESET_INFO: Final = "changesetInfo"
"""The aspect of a changeset that is written last; only changesets that have it are visible to
others."""


def _is_undecided_change(proposal: Proposal, access: Access) -> bool:
    """Return whether a proposal writes a part of a changeset of the caller that contains no
    decision: its heading, an edit, or its progress while all edits are open."""
    if proposal.urn.entity_type != "changeset" or proposal.change not in ("UPSERT", "CREATE"):
        return False
    value = proposal.value or {}
    match proposal.aspect:
        case "changesetInfo":
            return value.get("proposedBy") == access.actor
        case "changesetProgress":
            return not any(count for state, count in value.items() if state != "open")
        case "changesetNote":
            try:
                note = orjson.loads(value.get("line") or "")
            except (orjson.JSONDecodeError, TypeError):
                return False
            return isinstance(note, dict) and note.get("type") == "edit"
        case _:
            return False


def _conditional(proposal: Proposal, request: RestliRequest) -> Proposal:
    """Return the proposal with the conditions in the headers of the request; the proposal's own
    headers take precedence."""
    texts_by_name = {name: request.headers.get(name) for name in CONDITION_HEADERS}
    own_names = {name.lower() for name in proposal.headers or ()}
    added = {
        name: text for name, text in texts_by_name.items() if text and name.lower() not in own_names
    }
    return replace(proposal, headers={**(proposal.headers or {}), **added}) if added else proposal
