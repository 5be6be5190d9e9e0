"""Endpoints that read and write many entities with several aspects each, for OpenAPI clients."""

import secrets
import time
from collections.abc import Sequence
from typing import Any

import orjson
from starlette.responses import Response

from explorer.errors import InvalidInput
from explorer.metadata.proposal import ChangeType, Proposal, read_auditor, read_system
from explorer.metadata.registry import Registry, key_value
from explorer.metadata.urn import Urn
from explorer.server.failures import RequestRefusal, with_article
from explorer.server.restli import (
    EXAMPLE_URN,
    MAX_PAGE,
    Endpoint,
    JsonResponse,
    NotedChange,
    Parameter,
    RestliRequest,
    Routes,
    urns_in,
)
from explorer.server.routes.parameters import ALL_OR_NONE, BATCHED, URN, all_or_none
from explorer.server.store import StoredAspect

__all__ = ["OpenApiRoutes"]

_PATH = "/openapi/v3/entity"
_READ_FORM = '[{"urn": …, "<aspect>": {}}]'
_WRITE_FORM = '[{"urn": …, "<aspect>": {"value": {…}}}]'
_ADD_TAG = [{"op": "add", "path": "/tags/urn:li:tag:PII", "value": {"tag": "urn:li:tag:PII"}}]


class OpenApiRoutes(Routes):
    """The endpoints `/openapi/v3/entity/<entity>`, its `batchGet`, and
    `/openapi/v1/trace/write/<id>`."""

    @Endpoint(
        "POST",
        _PATH,
        "read some aspects of many entities: POST /openapi/v3/entity/<entity>/batchGet; without "
        "batchGet, write them",
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
            Parameter.query(
                "systemMetadata", "boolean", "also return each aspect's system metadata", "true"
            ),
            Parameter.query(
                "createIfNotExists", "boolean", "write only aspects that do not exist yet"
            ),
            URN,
            Parameter.optional(
                "ownership",
                "object",
                "to read: an empty object under the name of each aspect to return; without any, "
                "all aspects are returned. To write: under the name of each aspect its value, "
                "systemMetadata and headers",
                {},
            ),
            ALL_OR_NONE,
        ),
        gives="a list of objects with urn and, by aspect name, value, and systemMetadata if "
        "requested; for a write, what was sent",
        notes=(
            "The body is a list of such objects, or a single one.",
            "Entities that do not exist are left out, and so are aspects that are not stored. An "
            "entity without aspects in the request is returned with all its aspects; one that is "
            "given twice is returned once, with all requested aspects.",
            "Writing needs the role editor. Values are validated as those of ingestProposal are, "
            "and the answer is sent after the commit, whatever async is.",
            BATCHED,
        ),
    )
    async def _post(self, request: RestliRequest) -> Response:
        entity, _, verb = request.key.partition("/")
        if verb == "batchGet":
            return await self._read(request, entity)
        if verb:
            raise RequestRefusal(
                404,
                f"there is nothing at {_PATH}/{request.key[:200]}; "
                f"read with {_PATH}/<entity>/batchGet",
            )
        # Reading and writing share one endpoint, whose role is that for reading.
        request.context.changes.append(NotedChange(f"POST {_PATH}/<entity>", []))
        request.access.require("editor", "writing")
        is_new = _is_true(request, "createIfNotExists")
        return await self._write(request, entity, "CREATE" if is_new else "UPSERT")

    @Endpoint(
        "PATCH",
        _PATH,
        "change parts of aspects of many entities: PATCH /openapi/v3/entity/<entity>",
        role="editor",
        item=True,
        parameters=(
            Parameter("entity", "string", "an entity type", "dataset", place="path"),
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
        gives="what was sent",
        notes=("A patch has the form that ingestProposal accepts with changeType PATCH.", BATCHED),
    )
    async def _patch(self, request: RestliRequest) -> Response:
        return await self._write(request, request.key, "PATCH")

    async def _read(self, request: RestliRequest, entity: str) -> Response:
        self._catalog.registry.entity(entity)
        requested = _requested(await _items(request, _READ_FORM), entity)
        for urn in requested:
            self._catalog.intake.check_urn(Urn.parse(urn))
        with_system = _is_true(request, "systemMetadata")
        stored = await self._catalog.offload(self._catalog.store.aspects, list(requested))
        return JsonResponse(
            [
                {"urn": urn, **_aspects(stored[urn], names, with_system)}
                for urn, names in requested.items()
                if urn in stored
            ]
        )

    async def _write(self, request: RestliRequest, entity: str, change: ChangeType) -> Response:
        self._catalog.registry.entity(entity)
        given = await _items(request, _WRITE_FORM)
        for noted in request.context.changes:
            noted.urns = urns_in(given)
        await self._catalog.ingest_batch(
            "entities",
            given,
            lambda one: _proposals(self._catalog.registry, one, entity, change),
            request.actor,
            request.dialect,
            all_or_none=all_or_none(request),
        )
        return JsonResponse(given, headers={"traceparent": _trace_parent()})

    @Endpoint(
        "DELETE",
        _PATH,
        "remove an entity, or some of its aspects, with all their versions: DELETE "
        "/openapi/v3/entity/<entity>/<urn>",
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
        entity, _, text = request.key.partition("/")
        urn = self._catalog.intake.read_urn(text)
        if urn.entity_type != entity:
            raise InvalidInput(f"{urn} is not {with_article(entity)}")
        for aspect in request.query.many("aspects") or (None,):
            await self._catalog.delete(urn, aspect, (None, None), request.actor, request.dialect)
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
        given = await request.json()
        if not isinstance(given, dict) or not all(isinstance(one, list) for one in given.values()):
            raise InvalidInput("the body must be an object with a list of aspect names by URN")
        stored = await self._catalog.offload(self._catalog.store.aspects, list(given))
        registry = self._catalog.registry
        return JsonResponse(
            {
                urn: {
                    str(name): _traced(_is_there(registry, stored.get(urn, ()), name))
                    for name in names
                }
                for urn, names in given.items()
            }
        )


async def _items(request: RestliRequest, form: str) -> list[Any]:
    """Return the elements of the body, which is a list or a single element.

    Raises `InvalidInput` if it is neither.
    """
    given = await request.json()
    items = [given] if isinstance(given, dict) else given
    if not isinstance(items, list):
        raise InvalidInput(f"the body must be {form}")
    return items


def _is_true(request: RestliRequest, name: str) -> bool:
    return (request.query.one(name) or "").lower() == "true"


def _is_there(registry: Registry, stored: Sequence[StoredAspect], name: Any) -> bool:
    declared = registry.aspects.get(name) if isinstance(name, str) else None
    # Timeseries documents cannot be attributed to a write, so it is enough that the entity exists.
    if declared is not None and declared.timeseries:
        return bool(stored)
    return any(aspect.name == name for aspect in stored)


def _proposals(registry: Registry, one: Any, entity: str, change: ChangeType) -> list[Proposal]:
    """Return the proposals for one element of a write. Raises `InvalidInput` if it is malformed or
    its URN is not of the entity type."""
    text = one.get("urn") if isinstance(one, dict) else None
    if not isinstance(text, str):
        raise InvalidInput(f"an element must be {_WRITE_FORM}, with a urn")
    urn = Urn.parse(text)
    if urn.entity_type != entity:
        raise InvalidInput(f"{urn} is not {with_article(entity)}")
    found = []
    for name, given in one.items():
        if name == "urn" or given is None:
            continue
        if not isinstance(given, dict) or not isinstance(given.get("value"), dict):
            raise InvalidInput(
                f"{name} of {urn} must be an object with a value, which is an object"
            )
        headers = given.get("headers")
        if headers is not None and not isinstance(headers, dict):
            raise InvalidInput("'headers' must be an object of texts")
        found.append(
            Proposal(
                urn,
                name,
                given["value"],
                change,
                read_system(given.get("systemMetadata")),
                read_auditor(given.get("auditHeader")),
                headers or None,
            )
        )
    if not found and change == "PATCH":
        raise InvalidInput(f"element {urn} of the body names no aspect to change")
    # An entity without aspects is created by writing its key aspect.
    key = registry.entity(entity).key
    return found or [Proposal(urn, key, key_value(urn, registry.key_fields(entity)), change)]


def _trace_parent() -> str:
    """Return a new `traceparent` for a write; its trace id begins with the time in microseconds."""
    micros = time.time_ns() // 1_000
    return f"00-{micros:016x}{secrets.token_hex(8)}-{secrets.token_hex(8)}-01"


def _traced(written: bool) -> dict[str, Any]:
    status = {"writeStatus": "ACTIVE_STATE" if written else "ERROR"}
    return {"success": written, "primaryStorage": status, "searchStorage": status}


def _requested(given: Sequence[Any], entity: str) -> dict[str, frozenset[str]]:
    """Return the names of the aspects to read for each URN; an empty set stands for all.

    The aspects of an entity that is listed twice are merged. Raises `InvalidInput` if there are too
    many elements, or one is malformed or not of the entity type.
    """
    if len(given) > MAX_PAGE:
        raise InvalidInput(f"the body names {len(given)} entities; name at most {MAX_PAGE}")
    found: dict[str, frozenset[str]] = {}
    for at, one in enumerate(given):
        urn = one.get("urn") if isinstance(one, dict) else None
        if not isinstance(urn, str):
            raise InvalidInput(f"the body must be {_READ_FORM}; its element {at} has no 'urn'")
        if Urn.parse(urn).entity_type != entity:
            raise InvalidInput(
                f"element {at} of the body is {urn}, which is not {with_article(entity)}"
            )
        names = frozenset(one) - {"urn"}
        known = found.get(urn, names)
        found[urn] = known | names if known and names else frozenset()
    return found


def _aspects(
    stored: Sequence[StoredAspect], names: frozenset[str], with_system: bool
) -> dict[str, Any]:
    return {
        aspect.name: {"value": orjson.Fragment(aspect.value)}
        | ({"systemMetadata": orjson.Fragment(aspect.system)} if with_system else {})
        for aspect in stored
        if not names or aspect.name in names
    }
