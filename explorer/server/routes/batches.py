"""Reading many entities, each with aspects of its own, as OpenAPI clients ask for them."""

from collections.abc import Sequence
from typing import Any

import orjson

from explorer.errors import InvalidInput
from explorer.metadata.urn import Urn
from explorer.server.call import MAX_PAGE, Answer, Call
from explorer.server.catalog import Catalog
from explorer.server.endpoint import Endpoint, parameter
from explorer.server.failures import Refusal
from explorer.server.routes.usage import URN
from explorer.server.store import StoredAspect

__all__ = ["BatchRoutes"]

_ASKED = '[{"urn": …, "<aspect>": {}}]'


class BatchRoutes:
    """`/openapi/v3/entity/<entity>/batchGet`"""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def endpoints(self) -> tuple[Endpoint, ...]:
        return (
            Endpoint(
                "POST",
                "/openapi/v3/entity",
                self._read,
                "some aspects of many entities: POST /openapi/v3/entity/<entity>/batchGet",
                role="reader",
                item=True,
                parameters=(
                    parameter(
                        "entity",
                        "string",
                        "an entity type, and batchGet",
                        "dataset/batchGet",
                        place="path",
                    ),
                    parameter(
                        "systemMetadata",
                        "boolean",
                        "with each aspect's system metadata",
                        "true",
                        place="query",
                        required=False,
                    ),
                    URN,
                    parameter(
                        "ownership",
                        "object",
                        "an empty object for each aspect wanted, under its name; all without any",
                        {},
                        required=False,
                    ),
                ),
                gives="a list of urn and, by aspect name, value, and systemMetadata where asked",
                notes=(
                    "The body is a list of such objects; a single one will do.",
                    "Entities that do not exist are left out, and so are aspects that are not "
                    "stored. An entity named without aspects gives all it has; one named twice "
                    "is given once, with all that was asked of it.",
                ),
            ),
        )

    async def _read(self, call: Call) -> Answer:
        entity, _, verb = call.key.partition("/")
        if verb != "batchGet":
            raise Refusal(
                404,
                f"there is nothing at {call.path}/{call.key[:200]}; "
                f"read with {call.path}/<entity>/batchGet",
            )
        self._catalog.registry.entity(entity)
        asked = _asked(_items(await call.body()), entity)
        for urn in asked:
            self._catalog.intake.check_urn(Urn.parse(urn))
        with_system = (call.query.one("systemMetadata") or "").lower() == "true"
        stored = await self._catalog.offload(self._catalog.store.aspects, list(asked))
        return Answer.of(
            [
                {"urn": urn, **_aspects(stored[urn], names, with_system)}
                for urn, names in asked.items()
                if urn in stored
            ]
        )


def _items(body: bytes) -> list[Any]:
    try:
        given = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise InvalidInput(f"the body is not JSON: {error}") from None
    items = [given] if isinstance(given, dict) else given
    if not isinstance(items, list):
        raise InvalidInput(f"the body is {_ASKED}")
    return items


def _asked(given: Sequence[Any], entity: str) -> dict[str, frozenset[str]]:
    """By URN the aspects wanted of it, none for all; an entity that is named twice is given once,
    with all that was asked of it."""
    if len(given) > MAX_PAGE:
        raise InvalidInput(f"the body names {len(given)} entities; name {MAX_PAGE} at most")
    found: dict[str, frozenset[str]] = {}
    for at, one in enumerate(given):
        urn = one.get("urn") if isinstance(one, dict) else None
        if not isinstance(urn, str):
            raise InvalidInput(f"the body is {_ASKED}; its element {at} has no 'urn'")
        if Urn.parse(urn).entity_type != entity:
            raise InvalidInput(f"element {at} of the body is {urn}, which is no {entity}")
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
