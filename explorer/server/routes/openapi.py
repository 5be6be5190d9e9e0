"""The endpoints of DataHub's OpenAPI: they read and write entities with several aspects each, many
at once, and single aspects, and scroll through entities, relationships and lineage."""

import secrets
import time
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Literal, TypeVar, get_args

import msgspec
import orjson
from starlette.responses import Response

from explorer.errors import InvalidInput, InvalidUrn, NotFound
from explorer.metadata.proposal import ChangeType, Proposal, make_proposal
from explorer.metadata.registry import Registry
from explorer.metadata.urn import Urn
from explorer.query.filters import Filter
from explorer.server.catalog import CatalogEngine
from explorer.server.failures import RequestRefusal, with_article
from explorer.server.lineage import find_removed
from explorer.server.restli import (
    DEFAULT_PAGE,
    EXAMPLE_URN,
    MAX_PAGE,
    Endpoint,
    JsonResponse,
    NotedChange,
    Parameter,
    RestliRequest,
    Routes,
    decode,
    urns_in,
)
from explorer.server.routes import ALL_OR_NONE, BATCHED, URN, ingest_batch
from explorer.server.search.query import SearchQuery, SortBy
from explorer.server.search_request import (
    begin_scroll,
    expand_related,
    ignore_unknown_fields,
    pack_scroll_id,
    read_filter,
    read_sort,
    scroll_id,
    unpack_scroll_id,
)
from explorer.server.store import Direction, EdgeKey, EntityEdge, Store, StoredAspect

_ENTITY_PATH = "/openapi/v3/entity"
_SPECIFICATIONS = 20
_VERSION_MATCH = "If-Version-Match"
# Used in place of an entity type if the body has elements of several types, by entity type.
_GENERIC = "generic"
_FOR_SEVERAL = (("POST", ""), ("PATCH", ""), ("POST", "batchGet"))
_READ_FORM = '[{"urn": …, "<aspect>": {}}]'
_WRITE_FORM = '[{"urn": …, "<aspect>": {"value": {…}}}]'
_ENTITY = Parameter("entity", "string", "an entity type", "dataset", place="path")
_SYSTEM = Parameter.query(
    "systemMetadata", "boolean", "also return each aspect's system metadata", True
)
_ADD_TAG = [{"op": "add", "path": "/tags/urn:li:tag:PII", "value": {"tag": "urn:li:tag:PII"}}]


class OpenApiRoutes(Routes):
    """The endpoints `/openapi/v3/entity/<entity>`, its `batchGet`, `/openapi/v1/trace/write/<id>`,
    and the endpoint that lists the entity types of the registry."""

    @Endpoint(
        "POST",
        _ENTITY_PATH,
        "read some aspects of many entities: POST /openapi/v3/entity/<entity>/batchGet; without "
        "batchGet, write them; with a URN and the name of an aspect, write that aspect",
        role="reader",
        item=True,
        parameters=(
            Parameter(
                "entity",
                "string",
                "an entity type, followed by batchGet to read",
                "dataset/batchGet",
                place="path",
            ),
            _SYSTEM,
            Parameter.query(
                "createIfNotExists",
                "boolean",
                "write only aspects that do not exist yet; true by default for a single aspect, as "
                "with DataHub",
            ),
            Parameter.query(
                "createIfEntityNotExists",
                "boolean",
                "write a single aspect only if the entity does not exist yet",
            ),
            URN,
            Parameter.optional(
                "ownership",
                "object",
                "to read: an empty object under the name of each aspect to return, or the version "
                "to return as {headers: {If-Version-Match: version}}; without any, all aspects "
                "are returned. To write: under the name of each aspect its value, "
                "systemMetadata and headers",
                {},
            ),
            ALL_OR_NONE,
        ),
        gives="a list of objects with urn and, by aspect name, value, and systemMetadata if "
        "requested; for a write, what was sent",
        notes=(
            "The body is a list of such objects, or a single one. With generic in place of the "
            "entity type, the body and the answer are objects with such a list by entity type.",
            "Entities that do not exist are left out, and so are aspects that are not stored. Of a "
            "timeseries aspect, the newest document is returned. An entity without aspects in the "
            "request is returned with all its aspects; one that is given twice is returned once, "
            "with all requested aspects.",
            "Writing needs the role editor. Values are validated as those of ingestProposal are, "
            "and the answer is sent after the commit, whatever async is.",
            "The body for a single aspect is an object with value, and with systemMetadata and "
            "headers if there are any; the answer is the entity with that aspect. 422 for an "
            "aspect that exists, unless createIfNotExists is false.",
            BATCHED,
        ),
    )
    async def _post(self, request: RestliRequest) -> Response:
        entity, rest = _split_path(request, self._catalog.registry)
        if rest == "batchGet":
            return await self._read(request, entity)
        is_new = _is_true(request, "createIfNotExists")
        if not rest:
            # Reading and writing share one endpoint, whose role is that for reading.
            request.context.changes.append(NotedChange(f"POST {_ENTITY_PATH}/<entity>", []))
            request.access.require("editor", "writing")
            return await self._write(request, entity, "CREATE" if is_new else "UPSERT")
        urn, aspect = self._aspect(request, "POST", entity, rest)
        request.access.require("editor", "writing")
        change: ChangeType = "UPSERT"
        is_default = request.query.one("createIfNotExists") is None
        if _is_true(request, "createIfEntityNotExists"):
            change = "CREATE_ENTITY"
        elif is_new or (is_default and not self._catalog.registry.aspects[aspect].timeseries):
            change = "CREATE"
        return await self._write_aspect(request, urn, aspect, await request.json(), change)

    @Endpoint(
        "PATCH",
        _ENTITY_PATH,
        "change parts of aspects of many entities: PATCH /openapi/v3/entity/<entity>; with a URN "
        "and the name of an aspect, of that aspect",
        role="editor",
        item=True,
        parameters=(
            _ENTITY,
            URN,
            Parameter.optional(
                "globalTags",
                "object",
                "by aspect name an object whose value is a patch: patch, and arrayPrimaryKeys "
                "for arrays whose keys the model does not declare",
                {"value": {"patch": _ADD_TAG}},
            ),
            ALL_OR_NONE,
        ),
        gives="what was sent; for a single aspect, the entity with the aspect as it is now",
        notes=(
            "A patch has the form that ingestProposal accepts with changeType PATCH. The body for "
            "a single aspect is the patch itself.",
            BATCHED,
        ),
    )
    async def _patch(self, request: RestliRequest) -> Response:
        entity, rest = _split_path(request, self._catalog.registry)
        if not rest:
            return await self._write(request, entity, "PATCH")
        urn, aspect = self._aspect(request, "PATCH", entity, rest)
        body = {"value": await request.json()}
        return await self._write_aspect(request, urn, aspect, body, "PATCH")

    def _aspect(
        self, request: RestliRequest, method: str, entity: str, rest: str
    ) -> tuple[Urn, str]:
        """Return the URN and the aspect in the path after the entity type, and note the change for
        the audit log. Raises `RequestRefusal` (404) if no aspect is named."""
        text, aspect = _split_aspect(rest, self._catalog.registry, entity)
        if aspect is None:
            raise RequestRefusal(
                404,
                f"{entity} has no aspect {text.rpartition('/')[2][:200]!r}; write one with "
                f"{method} {_ENTITY_PATH}/{entity}/<urn>/<aspect>, and read some with POST "
                f"{_ENTITY_PATH}/{entity}/batchGet",
            )
        urn = self._catalog.intake.read_urn(text, entity)
        noted = NotedChange(f"{method} {_ENTITY_PATH}/<urn>/<aspect>", [str(urn)])
        request.context.changes.append(noted)
        return urn, aspect

    async def _write_aspect(
        self, request: RestliRequest, urn: Urn, aspect: str, body: Any, change: ChangeType
    ) -> Response:
        """Write one aspect, and return the entity with the aspect as stored afterwards, or with the
        document that was added to a timeseries aspect."""
        if not isinstance(body, dict):
            raise InvalidInput("the body must be an object")
        element = {"urn": str(urn), aspect: body}
        (proposal,) = self._proposals(element, urn.entity_type, change)
        await self._catalog.ingest(proposal, request.actor, request.dialect)
        if self._catalog.registry.aspects[aspect].timeseries:
            aspects: dict[str, Any] = {aspect: {"value": proposal.value}}
        else:
            stored = await self._catalog.read(self._catalog.store.aspects, [str(urn)], {aspect})
            aspects = _aspects_by_name(
                stored.get(str(urn), ()), frozenset({aspect}), _is_true(request, "systemMetadata")
            )
        return JsonResponse({"urn": str(urn), **aspects}, headers={"traceparent": _trace_parent()})

    async def _read(self, request: RestliRequest, entity: str) -> Response:
        groups = await self._groups(request, entity, _READ_FORM)
        with_system = _is_true(request, "systemMetadata")
        requests = {}
        for name, items in groups.items():
            requested = _parse_request(items, self._catalog.registry.entity_name(name))
            for urn in requested:
                self._catalog.intake.check_urn(Urn.parse(urn))
            requests[name] = (requested, _parse_versions(items))

        def read() -> bytes:
            entities_by_name = {
                name: _entities(self._catalog, requested, with_system, _V3, versions)
                for name, (requested, versions) in requests.items()
            }
            return orjson.dumps(
                entities_by_name if entity == _GENERIC else entities_by_name[entity]
            )

        return JsonResponse(await self._catalog.read(read))

    async def _groups(
        self, request: RestliRequest, entity: str, form: str
    ) -> Mapping[str, list[Any]]:
        """Return the elements of the body by entity type. Raises `InvalidInput` if the body is
        malformed."""
        if entity != _GENERIC:
            return {entity: await _items(request, form)}
        groups = await request.json()
        if not isinstance(groups, dict) or not all(
            isinstance(group, list) for group in groups.values()
        ):
            raise InvalidInput(f'the body must be {{"<entity>": {form}}}')
        return groups

    async def _write(self, request: RestliRequest, entity: str, change: ChangeType) -> Response:
        registry = self._catalog.registry
        groups = await self._groups(request, entity, _WRITE_FORM)
        elements = [
            (registry.entity_name(name), item) for name, items in groups.items() for item in items
        ]
        for noted in request.context.changes:
            noted.urns = urns_in([element for _, element in elements])
        await ingest_batch(
            self._catalog,
            request,
            "entities",
            elements,
            lambda element: self._proposals(element[1], element[0], change),
        )
        answer = groups if entity == _GENERIC else groups[entity]
        return JsonResponse(answer, headers={"traceparent": _trace_parent()})

    def _proposals(self, element: Any, entity: str, change: ChangeType) -> list[Proposal]:
        """Return the proposals for one element of a write. Raises `InvalidInput` if it is malformed
        or its URN is not of the entity type."""
        text = element.get("urn") if isinstance(element, dict) else None
        if not isinstance(text, str):
            raise InvalidInput(f"an element must be {_WRITE_FORM}, with a urn")
        urn = self._catalog.intake.read_urn(text, entity)
        proposals = []
        for name, envelope in element.items():
            if name == "urn" or envelope is None:
                continue
            if not isinstance(envelope, dict) or not isinstance(envelope.get("value"), dict):
                raise InvalidInput(
                    f"{name} of {urn} must be an object with a value, which is an object"
                )
            proposals.append(make_proposal(urn, name, envelope["value"], change, envelope))
        if not proposals and change == "PATCH":
            raise InvalidInput(f"element {urn} of the body names no aspect to change")
        # An entity without aspects is created by writing its key aspect.
        key = self._catalog.registry.entity(entity).key
        return proposals or [Proposal(urn, key, self._catalog.intake.check_urn(urn), change)]

    @Endpoint(
        "DELETE",
        _ENTITY_PATH,
        "remove an entity, or some of its aspects, with all their versions: DELETE "
        "/openapi/v3/entity/<entity>/<urn>; with the name of an aspect behind it, remove that",
        role="admin",
        item=True,
        parameters=(
            Parameter(
                "entity",
                "string",
                "an entity type, and a URN",
                f"dataset/{EXAMPLE_URN}",
                place="path",
            ),
            Parameter.query(
                "aspects",
                "array of strings",
                "aspects by name; the parameter may be repeated",
                "embed",
            ),
        ),
        gives="nothing: 200 and an empty body",
        notes=("404 for an entity that does not exist; DataHub's clients get 200.",),
    )
    async def _delete(self, request: RestliRequest) -> Response:
        entity, rest = _split_path(request, self._catalog.registry)
        aspects: Sequence[str | None]
        if _split_aspect(rest, self._catalog.registry, entity)[1] is not None:
            urn, aspect = self._aspect(request, "DELETE", entity, rest)
            aspects = (aspect,)
        else:
            _check_last(decode(rest), entity)
            urn = self._catalog.intake.read_urn(decode(rest), entity)
            aspects = request.query.many("aspects") or (None,)
        for name in aspects:
            await self._catalog.delete(urn, name, (None, None), request.actor, request.dialect)
        return JsonResponse()

    @Endpoint(
        "POST",
        "/openapi/v1/trace/write",
        "check whether aspects were written: POST /openapi/v1/trace/write/<id>",
        role="reader",
        item=True,
        parameters=(
            Parameter(
                "id",
                "string",
                "the second part of the header traceparent in the answer to a write",
                "0" * 32,
                place="path",
            ),
        ),
        gives="by URN and aspect, success, and primaryStorage and searchStorage with their "
        "writeStatus",
        notes=(
            "The body is an object with a list of aspect names by URN.",
            "A write is answered after it is committed and searchable, so the state of an aspect "
            "that exists is ACTIVE_STATE, and that of one that does not is ERROR, whatever the "
            "id.",
        ),
    )
    async def _trace(self, request: RestliRequest) -> Response:
        json = await request.json()
        if not isinstance(json, dict) or not all(
            isinstance(names, list) for names in json.values()
        ):
            raise InvalidInput("the body must be an object with a list of aspect names by URN")
        count = sum(max(1, len(names)) for names in json.values())
        _check_count("the body", count, "aspects")
        stored = await self._catalog.read(self._catalog.store.aspects, list(json))
        registry = self._catalog.registry
        return JsonResponse(
            {
                urn: {
                    str(name): _with_trace(_is_there(registry, stored.get(urn, ()), name))
                    for name in names
                }
                for urn, names in json.items()
            }
        )

    @Endpoint(
        "GET",
        "/openapi/v1/registry/models/entity/specifications",
        "the entity types and their aspects, page by page",
        role="reader",
        parameters=(
            Parameter.query("start", "integer", "how many to skip; 0 by default", 0),
            Parameter.query("count", "integer", "how many at most; 20 by default", 20),
        ),
        gives="elements: for each entity type name, keyAspectName and aspectSpecs, each with its "
        "name in aspectAnnotation, also that of the key aspect; start, count (of this page), total",
        notes=("By this DataHub's clients learn what a server can store.",),
    )
    async def _specifications(self, request: RestliRequest) -> Response:
        registry = self._catalog.registry
        start = request.query.number("start", 0)
        count = min(request.query.number("count", _SPECIFICATIONS), MAX_PAGE)
        names = sorted(registry.entities)
        elements = [
            {
                "name": name,
                "keyAspectName": registry.entity(name).key,
                "aspectSpecs": [
                    {"aspectAnnotation": {"name": aspect}} for aspect in registry.aspects_of(name)
                ],
            }
            for name in names[start : start + count]
        ]
        return JsonResponse(
            {"start": start, "count": len(elements), "total": len(names), "elements": elements}
        )


def _split_path(request: RestliRequest, registry: Registry) -> tuple[str, str]:
    """Return the entity type that begins a path, or `generic`, and the rest of the path, not
    decoded yet because an encoded slash belongs to a URN. Raises `UnknownName`."""
    name, _, rest = request.path_params["key"].lstrip("/").partition("/")
    if name == _GENERIC and (request.method, rest) in _FOR_SEVERAL:
        return name, rest
    return registry.entity_name(decode(name)), rest


def _split_aspect(rest: str, registry: Registry, entity: str) -> tuple[str, str | None]:
    """Return the decoded URN in the rest of a path, and the name of the aspect after it, as spelled
    in the registry; `None` if there is none."""
    head, _, last = rest.rpartition("/")
    last = decode(last)
    spellings = (aspect for aspect in registry.aspects_of(entity) if aspect.lower() == last.lower())
    aspect = next(spellings, None) if head else None
    return decode(rest if aspect is None else head), aspect


def _check_last(text: str, entity: str) -> None:
    """Raise `NotFound` if the text is a URN, a slash and the name of an aspect that the entity type
    does not have."""
    head, _, last = text.rpartition("/")
    if head and not _is_urn(text) and _is_urn(head):
        raise NotFound(f"{entity} has no aspect {last[:200]!r}")


def _is_urn(text: str) -> bool:
    try:
        Urn.parse(text)
    except InvalidUrn:
        return False
    return True


async def _items(request: RestliRequest, form: str) -> list[Any]:
    """Return the elements of the body, which is a list or a single element.

    Raises `InvalidInput` if it is neither.
    """
    json = await request.json()
    items = [json] if isinstance(json, dict) else json
    if not isinstance(items, list):
        raise InvalidInput(f"the body must be {form}")
    return items


def _check_count(subject: str, count: int, noun: str = "entities") -> None:
    """Raise `InvalidInput` if a request names too many entities or aspects."""
    if count > MAX_PAGE:
        raise InvalidInput(f"{subject} names {count} {noun}; name at most {MAX_PAGE}")


def _is_true(request: RestliRequest, name: str) -> bool:
    """Return whether a query parameter has the value true."""
    return (request.query.one(name) or "").lower() == "true"


def _is_there(registry: Registry, stored: Sequence[StoredAspect], name: Any) -> bool:
    declared = registry.aspects.get(name) if isinstance(name, str) else None
    # Timeseries documents cannot be attributed to a write, so it is enough that the entity exists.
    if declared is not None and declared.timeseries:
        return bool(stored)
    return any(aspect.name == name for aspect in stored)


def _trace_parent() -> str:
    """Return a new `traceparent` for a write; its trace id begins with the time in microseconds."""
    micros = time.time_ns() // 1_000
    return f"00-{micros:016x}{secrets.token_hex(8)}-{secrets.token_hex(8)}-01"


def _with_trace(is_written: bool) -> dict[str, Any]:
    status = {"writeStatus": "ACTIVE_STATE" if is_written else "ERROR"}
    return {"success": is_written, "primaryStorage": status, "searchStorage": status}


def _parse_request(elements: Sequence[Any], entity: str) -> dict[str, frozenset[str]]:
    """Return the names of the aspects to read for each URN; an empty set stands for all.

    The aspects of an entity that is listed twice are merged. Raises `InvalidInput` if there are too
    many elements, or one is malformed or not of the entity type.
    """
    _check_count("the body", len(elements))
    names_by_urn: dict[str, frozenset[str]] = {}
    for at, element in enumerate(elements):
        urn = element.get("urn") if isinstance(element, dict) else None
        if not isinstance(urn, str):
            raise InvalidInput(f"the body must be {_READ_FORM}; its element {at} has no 'urn'")
        if Urn.parse(urn).entity_type != entity:
            raise InvalidInput(
                f"element {at} of the body is {urn}, which is not {with_article(entity)}"
            )
        names = frozenset(element) - {"urn"}
        earlier = names_by_urn.get(urn, names)
        names_by_urn[urn] = earlier | names if earlier and names else frozenset()
    return names_by_urn


def _parse_versions(elements: Sequence[Any]) -> dict[tuple[str, str], int]:
    """Return the versions to read, by URN and aspect. Aspects without a header, or with version 0
    in it, are left out: their latest version is to be read."""
    versions: dict[tuple[str, str], int] = {}
    for element in elements:
        for name, envelope in element.items():
            headers = envelope.get("headers") if isinstance(envelope, dict) else None
            version = headers.get(_VERSION_MATCH) if isinstance(headers, dict) else None
            if version is None:
                continue
            # No version number has ten digits or more.
            if not str(version).isdecimal() or len(str(version)) > 9:
                raise InvalidInput(
                    f"{_VERSION_MATCH} of {name} is the version to read, 0 for the latest; not "
                    f"{version!r:.100}"
                )
            if int(version):
                versions[element["urn"], name] = int(version)
    return versions


def _newest_documents(
    store: Store, registry: Registry, urn: str, names: frozenset[str], with_system: bool
) -> dict[str, Any]:
    """Return the newest document of each timeseries aspect of an entity, in the same form as
    `_aspects_by_name` returns versioned aspects. Takes a query of about 20 µs per aspect."""
    return {
        name: _envelop(document.value, document.system, with_system)
        for name in registry.aspects_of(Urn.parse(urn).entity_type)
        if (not names or name in names) and registry.aspects[name].timeseries
        for document in store.documents(urn, name, limit=1)
    }


def _envelop(value: bytes, system: bytes, with_system: bool) -> dict[str, Any]:
    envelope: dict[str, Any] = {"value": orjson.Fragment(value)}
    return envelope | ({"systemMetadata": orjson.Fragment(system)} if with_system else {})


def _aspects_by_name(
    stored: Sequence[StoredAspect], names: frozenset[str], with_system: bool
) -> dict[str, Any]:
    """Return aspects by name in the form that entities of this API have; all of them if `names` is
    empty."""
    return {
        aspect.name: _envelop(aspect.value, aspect.system, with_system)
        for aspect in stored
        if not names or aspect.name in names
    }


_COUNT = Parameter.query(
    "count", "integer", f"how many at most; {DEFAULT_PAGE} by default, {MAX_PAGE} at most", 10
)
_SCROLL_ID = Parameter.query(
    "scrollId", "string", "the scrollId of the previous page; left out for the first page"
)
_SLICES = (
    Parameter.query(
        "sliceId",
        "integer",
        "with sliceMax: return only this of so many slices, from 0 up, for callers that scroll "
        "through all of them at once",
    ),
    Parameter.query("sliceMax", "integer", "the number of slices"),
)
_PIT = Parameter.query(
    "pitKeepAlive", "string", "accepted and ignored: a scroll id does not expire", "5m"
)
_REMOVED = Parameter.query(
    "includeSoftDelete", "boolean", "include what is soft-deleted; false by default", False
)
_SCROLLED = (
    _COUNT,
    _SCROLL_ID,
    Parameter.query("query", "string", "as in a search; * by default", "*"),
    Parameter.query("sort", "string", "a searchable field; urn by default", "urn"),
    Parameter.query(
        "sortCriteria", "array of strings", "several such fields; takes precedence over sort"
    ),
    Parameter.query("sortOrder", "string", "ASCENDING (by default) or DESCENDING, for all fields"),
    _SYSTEM,
    _REMOVED,
    *_SLICES,
    _PIT,
    Parameter.query("skipCache", "boolean", "accepted and ignored"),
)
_ENDS = (
    "scrollId is left out after the last page. A page may be shorter than count although others "
    "follow."
)
_ONCE = (
    "What matches from the first page to the last is returned exactly once, whatever is written "
    "meanwhile. A scroll id is valid only for the request that returned it."
)


_V2_PATH = "/openapi/v2/entity"


@dataclass(frozen=True, slots=True)
class _Form:
    """The form in which a version of the API returns a list of entities: its key, and a function
    that writes one of them."""

    name: str
    entity: Callable[[str, dict[str, Any]], dict[str, Any]]


_V2 = _Form("results", lambda urn, aspects: {"urn": urn, "aspects": aspects})
_V3 = _Form("entities", lambda urn, aspects: {"urn": urn, **aspects})


class EntityScrollRoutes(Routes):
    """The endpoints that read `/openapi/v3/entity/scroll` and `/openapi/v3/entity/<entity>`, and
    the endpoints of version 2 that DataHub's clients use."""

    @Endpoint(
        "POST",
        f"{_ENTITY_PATH}/scroll",
        "go through the entities of some types, or of all, page by page",
        role="reader",
        parameters=(
            *_SCROLLED,
            Parameter.query(
                "skipAggregation", "boolean", "if false, also return facets; true by default"
            ),
            Parameter.query("scrollIdPerEntity", "boolean", "accepted and ignored"),
            Parameter.optional(
                "entities", "array of strings", "names of entity types; all by default", ["dataset"]
            ),
            Parameter.optional(
                "aspects",
                "array of strings",
                "names of the aspects to return; all for an empty list, none by default",
                ["ownership"],
            ),
            Parameter.optional(
                "filter",
                "filter",
                "alternatives, each of them criteria: in this form, or in that of a search",
                {
                    "and": [
                        {
                            "criteria": [
                                {"field": "origin", "values": ["PROD"], "condition": "EQUAL"}
                            ]
                        }
                    ]
                },
            ),
            Parameter.optional(
                "sortCriteria",
                "array of sorts",
                "{field, order} of each; takes precedence over the query parameters",
            ),
        ),
        gives="entities: objects with urn and, by aspect name, value, and systemMetadata if "
        "requested; totalCount, scrollId, and facets if requested: field, and aggregations with "
        "the number of entities of each value",
        notes=(
            _ENDS,
            _ONCE,
            "Aspects that are not stored are left out. Of a timeseries aspect, the newest document "
            "is returned. Soft-deleted entities are left out unless includeSoftDelete is true or "
            "the filter has the field removed.",
        ),
    )
    async def _scroll(self, request: RestliRequest) -> Response:
        parameters = await request.parameters()
        registry = self._catalog.registry
        types = parameters.texts("entities") or []
        aspects = parameters.texts("aspects")
        query = replace(
            _read_search(request, read_sort(parameters)),
            entity_types=tuple(registry.entity_name(type_) for type_ in types) or None,
            filter=_read_v3_filter(parameters.given.get("filter")),
            facets=(request.query.one("skipAggregation") or "").lower() == "false",
        )
        names = None if aspects is None else frozenset(aspects)
        return await self._page(request, query, names, _V3)

    @Endpoint(
        "GET",
        _ENTITY_PATH,
        "go through the entities of a type, page by page: GET /openapi/v3/entity/<entity>; with "
        "a URN behind it, read that entity, and with the name of an aspect behind that, the aspect",
        role="reader",
        item=True,
        parameters=(
            _ENTITY,
            Parameter.query(
                "aspects",
                "array of strings",
                "names of the aspects to return, repeated or separated by commas; all by default. "
                "aspectNames is another name of the parameter",
                "ownership",
            ),
            Parameter.query(
                "version", "integer", "which version of a single aspect; 0, the latest, by default"
            ),
            *_SCROLLED,
        ),
        gives="entities: objects with urn and, by aspect name, value, and systemMetadata if "
        "requested; totalCount and scrollId. For a URN, one such object; for an aspect, value, "
        "and systemMetadata if requested",
        notes=(
            _ENDS,
            _ONCE,
            "Aspects that are not stored are left out. Of a timeseries aspect, the newest document "
            "is returned. Soft-deleted entities are left out unless includeSoftDelete is true or "
            "the query has the field removed; one that is read by its URN is returned.",
            "404 for an entity or aspect that does not exist. HEAD is answered with 204 or 404.",
        ),
    )
    async def _list(self, request: RestliRequest) -> Response:
        return await self._read(request, _V3)

    # Defined before the next endpoint, whose path also matches requests to this one.
    @Endpoint(
        "POST",
        f"{_V2_PATH}/batch",
        "read some aspects of many entities: POST /openapi/v2/entity/batch/<entity>",
        role="reader",
        item=True,
        parameters=(
            _ENTITY,
            Parameter("urns", "array of URNs", "the entities", [EXAMPLE_URN]),
            Parameter.optional(
                "aspectNames", "array of strings", "all aspects by default", ["ownership"]
            ),
            Parameter.optional(
                "withSystemMetadata", "boolean", "also return each aspect's system metadata", False
            ),
        ),
        gives="entities: objects with urn and, by aspect name in aspects, value, and "
        "systemMetadata if requested",
        notes=("Entities that do not exist are left out, and so are aspects that are not stored.",),
    )
    async def _batch_v2(self, request: RestliRequest) -> Response:
        entity = self._catalog.registry.entity_name(request.key)
        parameters = await request.parameters()
        parameters.items("urns")
        texts = parameters.texts("urns") or []
        _check_count("'urns'", len(texts))
        intake = self._catalog.intake
        names = frozenset(parameters.texts("aspectNames") or ())
        requested = {str(intake.read_urn(text, entity)): names for text in texts}
        with_system = parameters.flag("withSystemMetadata", default=False)

        def read() -> bytes:
            return orjson.dumps({"entities": _entities(self._catalog, requested, with_system, _V2)})

        return JsonResponse(await self._catalog.read(read))

    @Endpoint(
        "GET",
        _V2_PATH,
        "go through the entities of a type, in version 2: GET /openapi/v2/entity/<entity>",
        role="reader",
        item=True,
        parameters=(
            _ENTITY,
            Parameter.query(
                "aspectNames", "array of strings", "names of the aspects to return", "ownership"
            ),
            *_SCROLLED,
        ),
        gives="results: objects with urn and, by aspect name in aspects, value, and systemMetadata "
        "if requested; totalCount and scrollId. For a URN, one such object",
        notes=(_ENDS, _ONCE),
    )
    async def _list_v2(self, request: RestliRequest) -> Response:
        return await self._read(request, _V2)

    async def _read(self, request: RestliRequest, form: _Form) -> Response:
        registry = self._catalog.registry
        entity, rest = _split_path(request, registry)
        names = frozenset(_names(request, "aspects", "aspectNames"))
        if rest:
            return await self._one(request, entity, rest, names, form)
        query = replace(_read_search(request), entity_types=(entity,))
        return await self._page(request, query, names, form)

    async def _page(
        self,
        request: RestliRequest,
        query: SearchQuery,
        aspects: frozenset[str] | None,
        form: _Form,
    ) -> Response:
        """Return a page; `aspects` are the names of the aspects to include, empty for all, and
        `None` for none."""
        belongs = _slice(request)
        with_system = _is_true(request, "systemMetadata")
        catalog = self._catalog
        if request.dialect == "datahub":
            query = ignore_unknown_fields(query, catalog.index.vocabulary)
        query = begin_scroll(query, request.query.one("scrollId") or None)
        expanded = replace(query, filter=await expand_related(query.filter, catalog))

        def read() -> bytes:
            page = catalog.index.search(expanded)
            urns = [hit.urn for hit in page.hits if belongs(hit.urn)]
            entities = (
                [form.entity(urn, {}) for urn in urns]
                if aspects is None
                else _entities(catalog, dict.fromkeys(urns, aspects), with_system, form)
            )
            answer: dict[str, Any] = {form.name: entities, "totalCount": page.total}
            if query.facets:
                answer["facets"] = [
                    {"field": facet.name, "aggregations": dict(facet.counts)}
                    for facet in page.facets
                ]
            if (after := scroll_id(query, page)) is not None:
                answer["scrollId"] = after
            return orjson.dumps(answer)

        run = catalog.offload if aspects is None else catalog.read
        return JsonResponse(await run(read))

    async def _one(
        self,
        request: RestliRequest,
        entity: str,
        rest: str,
        selection: frozenset[str],
        form: _Form,
    ) -> Response:
        text, aspect = _split_aspect(rest, self._catalog.registry, entity)
        if aspect is None:
            _check_last(text, entity)
        urn = str(self._catalog.intake.read_urn(text, entity))
        registry, with_system = self._catalog.registry, _is_true(request, "systemMetadata")
        store, version = self._catalog.store, request.query.number("version", 0, least=0)
        if aspect and version:
            stored_version = await self._catalog.read(store.aspect, urn, aspect, version)
            if stored_version is None:
                raise NotFound(f"{urn} has no version {version} of {aspect}")
            stored = [stored_version]
        else:
            stored = (await self._catalog.read(store.aspects, [urn])).get(urn, [])
        names = frozenset({aspect}) if aspect else selection
        aspects_by_name = _aspects_by_name(stored, names, with_system)
        if form is _V3 and not version:
            aspects_by_name |= await self._catalog.read(
                _newest_documents, store, registry, urn, names, with_system
            )
        if not stored or (aspect and not aspects_by_name):
            raise NotFound(f"{urn} has no {aspect}" if aspect and stored else f"no entity {urn}")
        if request.method == "HEAD":
            return Response(status_code=204)
        return JsonResponse(
            aspects_by_name[aspect] if aspect else form.entity(urn, aspects_by_name)
        )


def _entities(
    catalog: CatalogEngine,
    requested: Mapping[str, frozenset[str]],
    with_system: bool,
    form: _Form,
    versions: Mapping[tuple[str, str], int] = MappingProxyType({}),
) -> list[dict[str, Any]]:
    """Return the requested entities that exist, in order, each with its requested aspects, or all
    aspects if none are requested. `versions` are the versions of aspects that are requested instead
    of the latest."""
    store = catalog.store
    urns = list(requested)
    is_selective = all(requested.values())
    stored = store.aspects(urns, frozenset().union(*requested.values()) if is_selective else None)
    existing = store.existing(urns) if is_selective else stored
    entities: list[dict[str, Any]] = []
    for urn in (urn for urn in urns if urn in existing):
        names = requested[urn]
        aspects = _aspects_by_name(stored.get(urn, ()), names, with_system)
        for name in [name for name in aspects if (urn, name) in versions]:
            del aspects[name]
            if aspect := store.aspect(urn, name, versions[urn, name]):
                aspects[name] = _envelop(aspect.value, aspect.system, with_system)
        if form is _V3:
            aspects |= _newest_documents(store, catalog.registry, urn, names, with_system)
        entities.append(form.entity(urn, aspects))
    return entities


_RELATIONSHIP_PATH = "/openapi/v3/relationship"
_DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
_Flow = Literal["UPSTREAM", "DOWNSTREAM"]
_FLOWS: tuple[_Flow, ...] = get_args(_Flow)
_GIVES_EDGES = (
    "results: for each edge relationshipType, and source and destination, each with entityType "
    "and urn; scrollId"
)
_EDGE_TYPES = Parameter.query(
    "relationshipTypes", "array of strings", "names of relationships; all by default", "OwnedBy"
)
_EDGE_PAGE = (_COUNT, _SCROLL_ID, _REMOVED, *_SLICES, _PIT)
_EDGE_NOTES = (
    _ENDS,
    _ONCE,
    "An edge is left out if either end is soft-deleted, unless includeSoftDelete is true. Edges "
    "to entities that do not exist are included.",
)
_END_FIELDS = ("urn", "entityType")
_EDGE_FIELDS = (
    "relationshipType",
    *(f"{end}.{field}" for end in ("source", "destination") for field in _END_FIELDS),
)
_END_FILTER = {"and": [{"criteria": [{"field": "urn", "values": [EXAMPLE_URN]}]}]}
# The maximum number of edges that are read for one page.
_MOST_LOOKED_AT = 10_000
_MOST_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class _EdgeQuery:
    """A scroll through the edges that `urns` declare (the side OUTGOING) or that point at them
    (INCOMING), one side after the other; through the edges of all entities if `urns` is `None`.

    `parameters` are the parameters of the request; a scroll id is valid only for the same ones.
    """

    parameters: tuple[Any, ...]
    types: tuple[str, ...]
    sides: tuple[Direction, ...]
    urns: Collection[str] | None
    matches: Callable[[EntityEdge], bool]
    lineage: bool
    with_removed: bool


class EdgeScrollRoutes(Routes):
    """The endpoints `/openapi/v3/relationship` and `/openapi/v3/lineage`."""

    @Endpoint(
        "POST",
        f"{_RELATIONSHIP_PATH}/scroll",
        "go through relationships page by page, of all entities or of those that filters select",
        role="reader",
        parameters=(
            _EDGE_TYPES,
            Parameter.query("sourceTypes", "array of strings", "entity types of the sources"),
            Parameter.query(
                "destinationTypes", "array of strings", "entity types of the destinations"
            ),
            Parameter.query(
                "direction",
                "string",
                "OUTGOING by default; for INCOMING what is said of sources is applied to "
                "destinations, and the other way around",
                "OUTGOING",
            ),
            *_EDGE_PAGE,
            Parameter.optional(
                "sourceFilter",
                "filter",
                "alternatives, each of them criteria on urn and entityType",
                _END_FILTER,
            ),
            Parameter.optional("destinationFilter", "filter", "the same of the destinations"),
            Parameter.optional(
                "edgeFilter",
                "filter",
                "criteria on relationshipType, source.urn, source.entityType, destination.urn and "
                "destination.entityType",
            ),
        ),
        gives=_GIVES_EDGES,
        notes=(
            *_EDGE_NOTES,
            "The criteria of these filters are equalities (EQUAL or IN) that are not negated.",
            "Without URNs in a filter, all edges are read, and a page is made of at most 10000 of "
            "them.",
        ),
    )
    async def _scroll(self, request: RestliRequest) -> Response:
        parameters = await request.parameters()
        query = self._select(request, parameters.given, lineage=False)
        return await self._page(request, query, _edge_to_wire)

    def _select(
        self, request: RestliRequest, body: Mapping[str, Any], *, lineage: bool
    ) -> _EdgeQuery:
        """Return the scroll through the edges that the filters in the body and the query parameters
        select."""
        direction = _one_of(_DIRECTIONS, request.query.one("direction") or "OUTGOING")
        near_filter = _EdgeFilter.read(body, "sourceFilter", _END_FIELDS)
        far_filter = _EdgeFilter.read(body, "destinationFilter", _END_FIELDS)
        edge_filter = _EdgeFilter.read(body, "edgeFilter", _EDGE_FIELDS)
        registry = self._catalog.registry
        near_types, far_types = (
            sorted({registry.entity_name(name) for name in _names(request, name)})
            for name in ("sourceTypes", "destinationTypes")
        )
        if direction == "INCOMING":
            near_filter, far_filter, near_types, far_types = (
                far_filter,
                near_filter,
                far_types,
                near_types,
            )

        def matches(edge: EntityEdge) -> bool:
            fields = _fields(edge)
            return (
                near_filter.matches(fields, "source.")
                and far_filter.matches(fields, "destination.")
                and edge_filter.matches(fields)
                and (not near_types or fields["source.entityType"] in near_types)
                and (not far_types or fields["destination.entityType"] in far_types)
            )

        sources = near_filter.values("urn") or edge_filter.values("source.urn")
        targets = far_filter.values("urn") or edge_filter.values("destination.urn")
        by_target = bool(targets) and (not sources or len(targets) < len(sources))
        types = tuple(_names(request, "relationshipTypes"))
        return _EdgeQuery(
            (
                types,
                near_filter.filter,
                far_filter.filter,
                edge_filter.filter,
                near_types,
                far_types,
            ),
            types,
            ("INCOMING",) if by_target else ("OUTGOING",),
            (targets if by_target else sources) or None,
            matches,
            lineage,
            _is_true(request, "includeSoftDelete"),
        )

    @Endpoint(
        "GET",
        _RELATIONSHIP_PATH,
        "go through the relationships of one name, page by page: GET "
        "/openapi/v3/relationship/<name>; or through those of an entity: GET "
        "/openapi/v3/relationship/<entity>/<urn>",
        role="reader",
        item=True,
        parameters=(
            Parameter(
                "name",
                "string",
                "the name of a relationship, or an entity type and a URN",
                "OwnedBy",
                place="path",
            ),
            Parameter.query(
                "relationshipType[]",
                "array of strings",
                "of an entity: names of relationships; all by default",
            ),
            Parameter.query(
                "direction", "string", "of an entity: OUTGOING (by default) or INCOMING"
            ),
            *_EDGE_PAGE,
        ),
        gives=_GIVES_EDGES,
        notes=(*_EDGE_NOTES, "An unknown name has no edges."),
    )
    async def _list(self, request: RestliRequest) -> Response:
        name, _, rest = request.path_params["key"].lstrip("/").partition("/")
        sides: tuple[Direction, ...] = ("OUTGOING",)
        urns = None
        types: tuple[str, ...] = (decode(name),)
        if rest:
            entity = self._catalog.registry.entity_name(types[0])
            urn = self._catalog.intake.read_urn(decode(rest), entity)
            sides = (_one_of(_DIRECTIONS, request.query.one("direction") or "OUTGOING"),)
            urns = (str(urn),)
            names = _names(request, "relationshipType[]", "relationshipTypes")
            types = tuple(name for name in names if name != "*")
        return await self._page(
            request,
            _EdgeQuery(
                (types, sides, urns),
                types,
                sides,
                urns,
                lambda _edge: True,
                False,
                _is_true(request, "includeSoftDelete"),
            ),
            _edge_to_wire,
        )

    @Endpoint(
        "POST",
        "/openapi/v3/lineage/scroll",
        "go through the edges of lineage page by page, of all entities or of some",
        role="reader",
        parameters=(
            Parameter.query(
                "relationshipTypes", "array of strings", "names of relationships; all by default"
            ),
            Parameter.query(
                "direction",
                "string",
                "with urns: UPSTREAM for the edges that lead to them, DOWNSTREAM for those that "
                "lead away; both by default",
                "UPSTREAM",
            ),
            *_EDGE_PAGE,
            Parameter.optional(
                "urns",
                "array of URNs",
                "the entities at either end; all by default",
                [EXAMPLE_URN],
            ),
        ),
        gives=f"{_GIVES_EDGES}; each edge also has upstream and downstream, the URNs of its ends",
        notes=(
            *_EDGE_NOTES,
            "Without urns, the parameters and filters of /openapi/v3/relationship/scroll are read "
            "too.",
        ),
    )
    async def _lineage(self, request: RestliRequest) -> Response:
        parameters = await request.parameters()
        direction = (request.query.one("direction") or "").upper()
        texts = parameters.texts("urns") or []
        if not texts and direction not in _FLOWS:
            query = self._select(request, parameters.given, lineage=True)
            return await self._page(request, query, _lineage_to_wire)
        flow = _one_of(_FLOWS, direction) if direction else None
        _check_count("'urns'", len(texts))
        urns = frozenset(str(self._catalog.intake.read_urn(text)) for text in texts)

        def matches(edge: EntityEdge) -> bool:
            if not urns or flow is None:
                return True
            upstream, downstream = _ends(edge)
            return (downstream if flow == "UPSTREAM" else upstream) in urns

        types = tuple(_names(request, "relationshipTypes"))
        query = _EdgeQuery(
            (types, sorted(urns), flow),
            types,
            ("OUTGOING", "INCOMING") if urns else ("OUTGOING",),
            urns or None,
            matches,
            True,
            _is_true(request, "includeSoftDelete"),
        )
        return await self._page(request, query, _lineage_to_wire)

    async def _page(
        self,
        request: RestliRequest,
        query: _EdgeQuery,
        to_wire: Callable[[EntityEdge], dict[str, Any]],
    ) -> Response:
        count = _count(request)
        belongs = _slice(request)
        query_key = f"{request.scope['path']} {query.parameters!r} {query.with_removed}"
        token = request.query.one("scrollId") or None
        start = _read_place(unpack_scroll_id(query_key, token)) if token else None

        def read() -> bytes:
            edges, after = _read_edges(self._catalog.store, query, start, count, belongs)
            answer: dict[str, Any] = {"results": [to_wire(edge) for edge in edges]}
            if after is not None:
                answer["scrollId"] = pack_scroll_id(query_key, orjson.dumps(after).decode())
            return orjson.dumps(answer)

        return JsonResponse(await self._catalog.read(read))


_MOST_HANDLES = 2**63
_Place = tuple[int, EdgeKey]
"""The position of a scroll: the index of its side, and the last edge returned."""


def _read_edges(
    store: Store,
    query: _EdgeQuery,
    start: _Place | None,
    count: int,
    belongs: Callable[[str], bool],
) -> tuple[list[EntityEdge], _Place | None]:
    """Return a page of edges, and the place where the next one begins; `None` after the last
    page."""
    page: list[EntityEdge] = []
    place = start
    looked_at = 0
    for side, edges in _batches(store, query, start, count):
        # An edge between two of the URNs is on both sides, and counts on the first.
        first_side_urns = query.urns if side and query.urns else ()
        matching = [
            edge
            for edge in edges
            if edge.source not in first_side_urns
            and query.matches(edge)
            and belongs(f"{edge.source} {edge.relationship} {edge.target}")
        ]
        if not query.with_removed:
            end_urns = {urn for edge in matching for urn in (edge.source, edge.target)}
            removed = find_removed(store, list(end_urns))
            matching = [edge for edge in matching if removed.isdisjoint((edge.source, edge.target))]
        room = count - len(page)
        if len(matching) > room:
            page += matching[:room]
            return page, (place if room == 0 else (side, page[-1].key))
        page += matching
        if edges:
            place = (side, edges[-1].key)
        looked_at += len(edges)
        if looked_at >= _MOST_LOOKED_AT:
            return page, place
    return page, None


def _batches(
    store: Store, query: _EdgeQuery, start: _Place | None, count: int
) -> Iterator[tuple[int, list[EntityEdge]]]:
    """Yield the edges after a place in batches, each with the index of its side."""
    first, after = start or (0, None)
    urns = None if query.urns is None else list(query.urns)
    for side in range(first, len(query.sides)):
        size = min(count + 1, _MOST_AT_ONCE)
        while True:
            edges = store.scroll_edges(
                query.sides[side],
                urns,
                query.types,
                lineage=query.lineage,
                after=after,
                limit=size,
            )
            yield side, edges
            if len(edges) < size:
                break
            after = edges[-1].key
            size = min(2 * size, _MOST_AT_ONCE)
        after = None


def _read_place(text: str) -> _Place:
    """Parse a place that `_page` has encoded.

    Raises `InvalidInput` for any other text, because anybody can compute the digest in a scroll id.
    """
    try:
        place: _Place = msgspec.json.decode(text, type=_Place)
    except msgspec.DecodeError:
        place = (0, (_MOST_HANDLES, "", 0))
    if not all(0 <= number < _MOST_HANDLES for number in (place[0], place[1][0], place[1][2])):
        raise InvalidInput("the scrollId is malformed; leave it out to start from the first page")
    return place


@dataclass(frozen=True, slots=True)
class _EdgeFilter:
    """Alternatives, each with the allowed values by field; without any, every edge matches.

    `filter` is the filter that they were read from.
    """

    filter: Filter
    any_of: tuple[Mapping[str, frozenset[str]], ...]

    @classmethod
    def read(cls, body: Mapping[str, Any], name: str, fields: Sequence[str]) -> "_EdgeFilter":
        """Parse a filter in a body. Raises `InvalidInput` for anything but equalities of these
        fields."""
        filter_ = _read_v3_filter(body.get(name))
        alternatives = []
        for group in filter_.any_of:
            allowed: dict[str, frozenset[str]] = {}
            for criterion in group:
                if criterion.field not in fields:
                    raise InvalidInput(
                        f"{name!r} has the fields {', '.join(fields)}, not {criterion.field!r:.60}"
                    )
                if criterion.condition not in ("EQUAL", "IN") or criterion.negated:
                    raise InvalidInput(
                        f"a criterion of {name!r} must have the condition EQUAL or IN and must not "
                        "be negated"
                    )
                values = frozenset(criterion.values)
                allowed[criterion.field] = allowed.get(criterion.field, values) & values
            alternatives.append(allowed)
        return cls(filter_, tuple(alternatives))

    def matches(self, fields: Mapping[str, str], prefix: str = "") -> bool:
        """Return whether an edge with these fields matches; `prefix` is put before their names."""
        return not self.any_of or any(
            all(fields[prefix + name] in values for name, values in allowed.items())
            for allowed in self.any_of
        )

    def values(self, field: str) -> frozenset[str]:
        """Return all values of a field with which an edge can match; empty if any value can
        match."""
        if not all(field in allowed for allowed in self.any_of):
            return frozenset()
        return frozenset().union(*(allowed[field] for allowed in self.any_of))


def _read_v3_filter(wire_filter: Any) -> Filter:
    """Parse a filter in the form of this API, `{"and": [{"criteria": […]}, …]}`, in which `and`
    lists alternatives, or in the form of a search.

    Raises `InvalidInput` if it is invalid, or if a criterion that needs values has none.
    """
    match wire_filter:
        case {"and": [*groups]}:
            wire: Any = {"or": [_read_v3_group(group) for group in groups]}
        case {"and": None}:
            wire = None
        case _:
            wire = wire_filter
    if isinstance(wire, dict):
        for group in wire.get("or") or ():
            for criterion in (group.get("and") if isinstance(group, dict) else None) or ():
                _require_values(criterion)
    return read_filter(wire)


def _read_v3_group(group: Any) -> dict[str, Any]:
    if not isinstance(group, dict) or not isinstance(group.get("criteria"), list):
        raise InvalidInput(
            'a filter is {"and": [{"criteria": [{"field", "values", "condition"}]}]}'
        )
    return {"and": [_rename(criterion) for criterion in group["criteria"]]}


# Conditions that have another name in this API.
_CONDITIONS = {"STARTS_WITH": "START_WITH", "ENDS_WITH": "END_WITH"}


def _rename(criterion: Any) -> Any:
    if not isinstance(criterion, dict) or not isinstance(criterion.get("condition"), str):
        return criterion
    condition = criterion["condition"]
    return criterion | {"condition": _CONDITIONS.get(condition, condition)}


def _require_values(criterion: Any) -> None:
    if not isinstance(criterion, dict) or criterion.get("condition") in ("IS_NULL", "EXISTS"):
        return
    if not criterion.get("values") and criterion.get("value") in (None, ""):
        # A search drops such a criterion, and a caller without URNs would read everything.
        raise InvalidInput(f"the criterion on {criterion.get('field')!r:.60} has no values")


def _fields(edge: EntityEdge) -> dict[str, str]:
    return {
        "relationshipType": edge.relationship,
        "source.urn": edge.source,
        "source.entityType": _entity_type(edge.source),
        "destination.urn": edge.target,
        "destination.entityType": _entity_type(edge.target),
    }


def _entity_type(urn: str) -> str:
    # Faster than to parse the URN, of which there are two for each edge.
    return urn.removeprefix("urn:li:").partition(":")[0]


def _ends(edge: EntityEdge) -> tuple[str, str]:
    """Return the upstream and the downstream end of an edge of lineage."""
    return (edge.target, edge.source) if edge.flow == 1 else (edge.source, edge.target)


def _edge_to_wire(edge: EntityEdge) -> dict[str, Any]:
    fields = _fields(edge)
    return {
        "relationshipType": edge.relationship,
        **{
            end: {name: fields[f"{end}.{name}"] for name in ("entityType", "urn")}
            for end in ("source", "destination")
        },
    }


def _lineage_to_wire(edge: EntityEdge) -> dict[str, Any]:
    upstream, downstream = _ends(edge)
    return _edge_to_wire(edge) | {"upstream": upstream, "downstream": downstream}


_T = TypeVar("_T", bound=str)


def _one_of(allowed: Sequence[_T], text: str) -> _T:
    for choice in allowed:
        if text.upper() == choice:
            return choice
    raise InvalidInput(f"'direction' must be {' or '.join(allowed)}, not {text!r:.60}")


def _names(request: RestliRequest, *parameters: str) -> list[str]:
    """Return the names in query parameters, which may be repeated or separated by commas."""
    texts = [value for parameter in parameters for value in request.query.many(parameter) or ()]
    names = (name.strip() for value in texts for name in value.split(","))
    return list(dict.fromkeys(name for name in names if name))


def _count(request: RestliRequest) -> int:
    return min(request.query.number("count", DEFAULT_PAGE, least=1), MAX_PAGE)


def _read_search(request: RestliRequest, sort: tuple[SortBy, ...] = ()) -> SearchQuery:
    """Return the search of all entities that the parameters of a scroll describe; `sort` takes
    precedence over their order."""
    return SearchQuery(
        text=request.query.one("query") or "*",
        entity_types=None,
        filter=Filter(),
        start=0,
        count=_count(request),
        facets=False,
        sort=sort or _read_sort(request),
        include_removed=_is_true(request, "includeSoftDelete"),
    )


def _read_sort(request: RestliRequest) -> tuple[SortBy, ...]:
    order = request.query.one("sortOrder") or "ASCENDING"
    if order not in ("ASCENDING", "DESCENDING"):
        raise InvalidInput(f"'sortOrder' must be ASCENDING or DESCENDING, not {order!r:.60}")
    fields = _names(request, "sortCriteria") or _names(request, "sort") or ["urn"]
    return tuple(SortBy(field.removesuffix(".keyword"), order == "DESCENDING") for field in fields)


def _slice(request: RestliRequest) -> Callable[[str], bool]:
    """Return a function that returns whether a text belongs to the slice that a request asks
    for."""
    query = request.query
    if query.one("sliceId") is None and query.one("sliceMax") is None:
        return lambda _text: True
    most = query.number("sliceMax", 0)
    number = query.number("sliceId", most)
    if number >= most:
        raise InvalidInput("'sliceId' must be a number from 0 up, below 'sliceMax'")
    return lambda text: zlib.crc32(text.encode()) % most == number
