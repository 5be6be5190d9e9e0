"""A metadata change proposal: one aspect of one entity, to be written or removed."""

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import orjson

from explorer.errors import InvalidInput, UnknownName
from explorer.metadata.urn import Urn

__all__ = ["CHANGE_TYPES", "ChangeType", "Proposal", "read_proposal"]

ChangeType = Literal["UPSERT", "CREATE", "CREATE_ENTITY", "UPDATE", "PATCH", "RESTATE", "DELETE"]
CHANGE_TYPES: tuple[ChangeType, ...] = get_args(ChangeType)

_JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Proposal:
    """One change. `value` is the aspect as JSON objects; `system` says which run brought it
    (`runId`) and when it was seen (`lastObserved`, milliseconds since 1970 UTC)."""

    urn: Urn
    aspect: str
    value: Any = None
    change: ChangeType = "UPSERT"
    system: dict[str, Any] | None = None
    actor: str | None = None

    def from_run(self, run_id: str, observed_millis: int) -> "Proposal":
        """The same change, said to come from a run, unless it says so already."""
        if self.system and self.system.get("runId"):
            return self
        return replace(self, system={"runId": run_id, "lastObserved": observed_millis})

    def to_wire(self) -> dict[str, Any]:
        """The `proposal` object of endpoint 1."""
        wire: dict[str, Any] = {
            "entityType": self.urn.entity_type,
            "entityUrn": str(self.urn),
            "changeType": self.change,
            "aspectName": self.aspect,
        }
        if self.value is not None:
            wire["aspect"] = {"value": orjson.dumps(self.value).decode(), "contentType": _JSON}
        if self.system is not None:
            wire["systemMetadata"] = self.system
        return wire


def read_proposal(wire: Any) -> Proposal:
    """A proposal from its wire form, in any of the ways it is written.

    The aspect may be an envelope (`value` a JSON string) or `{"json": {…}}`; `systemMetadata` may
    be an object or a JSON string. Raises `InvalidInput`, or `InvalidUrn`, naming what is wrong.
    """
    if not isinstance(wire, dict):
        raise InvalidInput("a proposal is an object with entityUrn, changeType and aspectName")
    urn = Urn.parse(_text(wire, "entityUrn"))
    entity_type = wire.get("entityType", urn.entity_type)
    if entity_type != urn.entity_type:
        raise InvalidInput(f"entityType {entity_type!r} is not that of the URN {urn}")
    change = wire.get("changeType", "UPSERT")
    if change not in CHANGE_TYPES:
        raise UnknownName("changeType", str(change), CHANGE_TYPES)
    if change != "DELETE" and (not wire.get("aspectName") or wire.get("aspect") is None):
        raise InvalidInput("Aspect and aspect name is required for create and update operations")
    header = wire.get("auditHeader")
    actor = header.get("actor") if isinstance(header, dict) else None
    return Proposal(
        urn,
        _text(wire, "aspectName"),
        _aspect_value(wire.get("aspect"), change),
        change,
        _system(wire.get("systemMetadata")),
        actor if isinstance(actor, str) else None,
    )


def _text(wire: dict[str, Any], key: str) -> str:
    value = wire.get(key)
    if not isinstance(value, str) or not value:
        raise InvalidInput(f"a proposal needs {key!r} as a string")
    return value


def _aspect_value(envelope: Any, change: str) -> Any:
    if envelope is None:
        return None
    if not isinstance(envelope, dict):
        raise InvalidInput("'aspect' is an object with value and contentType")
    if "json" in envelope:
        return envelope["json"]
    content_type = envelope.get("contentType", _JSON)
    allowed = (_JSON, "application/json-patch+json") if change == "PATCH" else (_JSON,)
    if content_type not in allowed:
        raise InvalidInput(f"contentType {content_type!r} is not taken; send {allowed[-1]}")
    value = envelope.get("value")
    if not isinstance(value, str | bytes):
        raise InvalidInput("'aspect.value' is the aspect as a JSON string")
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError as error:
        raise InvalidInput(f"'aspect.value' is not JSON: {error}") from None


def _system(given: Any) -> dict[str, Any] | None:
    if isinstance(given, str):
        try:
            given = orjson.loads(given)
        except orjson.JSONDecodeError as error:
            raise InvalidInput(f"'systemMetadata' is not JSON: {error}") from None
    if given is None:
        return None
    if not isinstance(given, dict):
        raise InvalidInput("'systemMetadata' is an object")
    return {key: value for key, value in given.items() if value is not None}
