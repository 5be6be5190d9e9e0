"""Reading entities and aspects: requests, parsing and methods."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec
import orjson

from explorer.client.connection import (
    CatalogMethods,
    config_request,
    gather_limited,
    read_abilities,
)
from explorer.client.entity import SUMMARY_ASPECTS, AspectRead, Entity
from explorer.client.records import ServerInfo
from explorer.client.responses import REFUSALS, Json, as_object
from explorer.client.transport import UNIX, Request, graphql_request, of_aspects
from explorer.errors import InvalidUrn, NotFound, ServerFault, UnknownName, Unreadable
from explorer.metadata.aspects import aspect_of, read_aspect
from explorer.metadata.registry import Registry
from explorer.metadata.urn import UNKNOWN_ACTOR, Urn

__all__ = [
    "EntityMethods",
    "aspect_request",
    "entities_request",
    "entity_request",
    "int_or",
    "legacy_entity_request",
    "parse_aspect",
    "parse_config",
    "parse_entities",
    "parse_entity",
    "parse_legacy_entity",
    "parse_value",
    "parse_wrapper",
]


def entity_request(urn: Urn, aspects: Sequence[str] | None) -> Request:
    """Return a request for an entity with the given aspects, or with all if `None`."""
    return Request("GET", f"/entitiesV2/{urn.encoded}{of_aspects('?', aspects)}")


def legacy_entity_request(urn: Urn) -> Request:
    """Return a request for an entity in the legacy snapshot form."""
    return Request("GET", f"/entities/{urn.encoded}")


def entities_request(urns: Sequence[Urn], aspects: Sequence[str] | None) -> Request:
    """Return a request for several entities."""
    ids = ",".join(urn.encoded for urn in urns)
    return Request(
        "GET",
        f"/entitiesV2?ids=List({ids}){of_aspects('&', aspects)}",
        headers=(("X-RestLi-Method", "batch_get"),),
    )


def aspect_request(urn: Urn, name: str, version: int) -> Request:
    """Return a request for one version of an aspect."""
    return Request("GET", f"/aspects/{urn.encoded}?aspect={quote(name, safe='')}&version={version}")


def parse_config(body: Any, address: str) -> ServerInfo:
    """Parse an answer to `GET /config`. Raises `ServerFault` if it is not a metadata service's."""
    answer = as_object(body, "the server's /config")
    if answer.get("noCode") != "true":
        raise ServerFault(
            f"{address} answers, but is not a metadata service (its /config lacks noCode); check "
            "the address"
        )
    server = read_abilities(answer)
    if server.product == "datahub":
        return ServerInfo(address, "datahub", server.version)
    ours = answer["catalogExplorer"]
    count = ours.get("entities")
    return ServerInfo(
        address,
        "catalog",
        server.version,
        address.startswith(UNIX),
        bool(ours.get("sample")),
        count if isinstance(count, int) else None,
        str(ours.get("user") or ""),
    )


def parse_entity(body: Any, as_of: datetime | None = None) -> Entity:
    """Parse an entity; an aspect that is null in the answer is left out."""
    answer = as_object(body, "an entity")
    held = answer.get("aspects")
    wrappers = {} if held is None else as_object(held, "an entity's aspects")
    return Entity(
        _urn(answer.get("urn")),
        {
            name: parse_wrapper(name, wrapper)
            for name, wrapper in wrappers.items()
            if wrapper is not None
        },
        as_of,
    )


def parse_entities(body: Any, as_of: datetime | None = None) -> dict[Urn, Entity]:
    """Parse a batch of entities, by URN, without those that the server could not read."""
    results = as_object(body, "entities").get("results")
    found = [
        parse_entity(answer, as_of)
        for answer in as_object(results, "entities").values()
        if answer is not None
    ]
    return {one.urn: one for one in found}


def parse_legacy_entity(body: Any, registry: Registry, as_of: datetime | None = None) -> Entity:
    """Parse an entity in the legacy snapshot form.

    A snapshot names aspects by their records, with or without the package prefix. An aspect that is
    not in the model keeps the short name of its record.
    """
    answer = as_object(body, "an entity")
    _, snapshot = _member(answer.get("value", answer), "a snapshot")
    listed = snapshot.get("aspects") or []
    if not isinstance(listed, list):
        raise Unreadable("the server's snapshot has no list of aspects")
    found: dict[str, AspectRead] = {}
    # Some aspects are fields of the snapshot beside the list, or share one element of it.
    beside = {name: snapshot[name] for name in snapshot if name in registry.aspects}
    for held in (*listed, beside):
        for record, value in as_object(held, "a snapshot's aspect").items():
            name = _named(record, registry)
            found[name] = AspectRead(name, 0, parse_value(value, name))
    return Entity(_urn(snapshot.get("urn")), found, as_of)


def parse_aspect(body: Any, name: str, as_of: datetime | None = None) -> AspectRead:
    """Parse one version of an aspect."""
    answer = as_object(body, "an aspect")
    members = as_object(answer.get("aspect"), f"the aspect {name}")
    if len(members) > 1:
        named = {
            record: value
            for record, value in members.items()
            if record.rpartition(".")[2].casefold() == name.casefold()
        }
        members = named or members
    _, value = _member(members, f"the aspect {name}")
    return AspectRead(
        name,
        int_or(answer.get("version"), 0),
        value,
        None,
        answer.get("systemMetadata"),
        as_of,
    )


def parse_wrapper(name: str, wrapper: Any) -> AspectRead:
    if not isinstance(wrapper, dict):
        raise Unreadable(f"the server's aspect {name} does not have the expected shape")
    # Positional and without helpers, for speed: a page of entities has thousands of aspects.
    field = wrapper.get
    value, version = field("value"), field("version")
    return AspectRead(
        name,
        version if type(version) is int else 0,
        value if type(value) is dict else parse_value(value, name),
        field("created"),
        field("systemMetadata"),
    )


def parse_value(value: Any, what: str) -> Json:
    """Parse a value that is a JSON object or JSON text in an envelope; null gives an empty
    object."""
    if value is None:
        return {}
    if isinstance(value, str):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError as error:
            raise Unreadable(f"the server's {what} is not JSON: {error}") from error
    return as_object(value, what)


def _member(union: Any, what: str) -> tuple[str, Json]:
    members = as_object(union, what)
    if len(members) != 1:
        raise Unreadable(f"the server's answer to {what} names {len(members)} records, not one")
    ((record, value),) = members.items()
    return record, parse_value(value, what)


def _named(record: str, registry: Registry) -> str:
    if record in registry.aspects:
        return record
    try:
        return registry.aspect_named_by(record)
    except UnknownName:
        return record.rpartition(".")[2]


def _urn(text: Any) -> Urn:
    try:
        if isinstance(text, str):
            return Urn.parse(text)
    except InvalidUrn as error:
        raise Unreadable(
            f"the server's answer has an entity without a valid URN: {error}"
        ) from error
    raise Unreadable("the server's entity has no URN")


def int_or(value: Any, default: int) -> int:
    # Not isinstance, because a boolean is an int.
    return value if type(value) is int else default


_BATCH = 150
# Servers accept a request line of 16 KB or more, which also holds the names of aspects.
_BATCH_BYTES = 12_000
_AT_ONCE = 4
_ME = "query me { me { corpUser { urn } } }"

_T = TypeVar("_T", bound=msgspec.Struct)


class EntityMethods(CatalogMethods):
    """Methods that read entities and aspects."""

    _batches = True

    async def info(self) -> ServerInfo:
        """Return the product, version and other properties of the server. One request."""
        body = await self._connection.send(config_request())
        return parse_config(body, self._connection.address)

    async def me(self) -> Urn | None:
        """Return the URN of the user that requests are made as, or `None` if the server does not
        know it.

        Two requests.

        Example: `cat.me()`
        """
        user = (await self.info()).user
        if not user:
            try:
                body = await self._connection.send(graphql_request(_ME, {}))
            except REFUSALS:
                # A server without GraphQL, or whose `me` requires a signed-in user.
                return None
            found = body
            for key in ("data", "me", "corpUser", "urn"):
                found = found.get(key) if isinstance(found, dict) else None
            user = found if isinstance(found, str) and found != UNKNOWN_ACTOR else ""
        return next(iter(Urn.parse_all((user,))), None)

    async def entity(self, urn: str | Urn, aspects: Sequence[str] | None = None) -> Entity:
        """Return an entity with the latest version of all its aspects, or of those given. One
        request.

        An entity that was never written has only its key (`Entity.exists` is false). Timeseries
        aspects are not included.
        """
        request = entity_request(Urn.parse(urn), aspects)
        try:
            reply = await self._connection.ask(request)
        except NotFound:
            return Entity(Urn.parse(urn), {})
        return parse_entity(reply.body, reply.as_of)

    async def legacy_entity(self, urn: str | Urn) -> Entity:
        """Return an entity in the deprecated snapshot form. One request.

        For servers that support nothing newer; use `entity` with all others. It does not say when
        or by whom aspects were written. Raises `NotFound` for types without snapshots, such as
        containers.

        Example: `cat.legacy_entity(urn)`
        """
        request = legacy_entity_request(Urn.parse(urn))
        reply = await self._connection.ask(request)
        return parse_legacy_entity(reply.body, self.registry, reply.as_of)

    async def exists(self, urn: str | Urn) -> bool:
        """Return whether an entity was ever written, soft-deleted or not. One request.

        Example: `cat.exists(urn)`
        """
        target = Urn.parse(urn)
        declared = self.registry.entities.get(target.entity_type)
        key = declared.key if declared else f"{target.entity_type}Key"
        try:
            await self._connection.send(aspect_request(target, key, 0))
        except NotFound:
            return False
        return True

    async def entities(
        self, urns: Iterable[str | Urn], aspects: Sequence[str] | None = None
    ) -> dict[Urn, Entity]:
        """Return many entities by URN, in the order given.

        One request for each 150 entities (fewer if URNs are long), four at a time; one for each
        entity if the server has no batches.

        Example: `cat.entities([urn], ["ownership"])`
        """
        targets = tuple(dict.fromkeys(Urn.parse(urn) for urn in urns))
        found: dict[Urn, Entity] = {}
        for part in await gather_limited(
            (self._some(chunk, aspects) for chunk in _batched(targets)), _AT_ONCE
        ):
            found |= part
        return {urn: found[urn] for urn in targets if urn in found}

    async def summaries(self, urns: Iterable[str | Urn]) -> dict[Urn, Entity]:
        """Return entities with only the aspects that a row in a list shows. Costs as many requests
        as `entities`.

        Example: `cat.summaries([urn])[Urn.parse(urn)].name`
        """
        return await self.entities(urns, SUMMARY_ASPECTS)

    async def aspect(self, urn: str | Urn, name: str, version: int = 0) -> AspectRead:
        """Return one version of an aspect: 0 is the latest, 1 the oldest. One request.

        Raises `NotFound` if there is no such entity, aspect or version.

        Example: `cat.aspect(urn, "ownership").value`
        """
        reply = await self._connection.ask(aspect_request(Urn.parse(urn), name, version))
        return parse_aspect(reply.body, name, reply.as_of)

    async def record(self, urn: str | Urn, kind: type[_T], version: int = 0) -> _T | None:
        """Return an aspect as its typed record, such as `Ownership`; `None` if it does not exist.

        Fields that the record does not declare are available only through `aspect`. One request.
        Raises `InvalidInput` if no aspect has this record type, and `ServerFault` if the value does
        not fit it.

        Example: `cat.record(urn, Ownership)`
        """
        name = aspect_of(kind)
        try:
            read = await self.aspect(urn, name, version)
        except NotFound:
            return None
        return read_aspect(read.value, kind)

    async def _some(self, urns: Sequence[Urn], aspects: Sequence[str] | None) -> dict[Urn, Entity]:
        if self._batches:
            try:
                reply = await self._connection.ask(entities_request(urns, aspects))
                return parse_entities(reply.body, reply.as_of)
            except REFUSALS:
                # One of the entities or the batch as such was refused: read them one by one.
                pass
        found = await gather_limited((self.entity(urn, aspects) for urn in urns), _AT_ONCE)
        # All could be read one by one, so the server has no batches: none is tried again.
        self._batches = False
        return {one.urn: one for one in found}


def _batched(urns: Iterable[Urn]) -> Iterator[list[Urn]]:
    """Yield the URNs in lists that each fit into one request."""
    chunk: list[Urn] = []
    size = 0
    for urn in urns:
        length = len(urn.encoded) + 1
        if chunk and (len(chunk) == _BATCH or size + length > _BATCH_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(urn)
        size += length
    if chunk:
        yield chunk
