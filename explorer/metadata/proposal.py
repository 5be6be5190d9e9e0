"""A metadata change proposal: one aspect to write or remove, and the conditions of the write."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Literal, get_args

import orjson

from explorer.errors import InvalidInput, UnknownName
from explorer.metadata.registry import Registry, urn_of_key
from explorer.metadata.urn import Urn

NO_RUN = "no-run-id-provided"
"""The run id that DataHub stores for a write that is not part of an ingestion run."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)

CONDITION_HEADERS = (
    "If-Version-Match",
    "If-Modified-Since",
    "If-Unmodified-Since",
    "If-None-Match",
)
"""The headers for conditions, in a proposal or in its HTTP request."""


@dataclass(frozen=True, slots=True)
class Condition:
    """The conditions of a write on the stored aspect.

    `version` is the version in its system metadata, -1 if the aspect must not exist. `none`
    requires that the aspect does not exist; CREATE and CREATE_ENTITY then do nothing, instead of
    failing, if it or the entity does.
    """

    version: int | None = None
    modified_since_millis: int | None = None
    unmodified_since_millis: int | None = None
    none: bool = False


def read_condition(headers: Mapping[str, Any]) -> Condition | None:
    """Parse the conditions in headers, whose names are case-insensitive; return `None` if there are
    none.

    Raises `InvalidInput` for an invalid condition.
    """
    values_by_name = {
        str(name).lower(): value for name, value in headers.items() if value is not None
    }
    version, modified, unmodified, none = (
        values_by_name.get(name.lower()) for name in CONDITION_HEADERS
    )
    if version is None and modified is None and unmodified is None and none is None:
        return None
    if none is not None and none != "*":
        raise InvalidInput(f"If-None-Match must be *, not {none!r:.60}")
    return Condition(
        None if version is None else _version(version),
        None if modified is None else _millis("If-Modified-Since", modified),
        None if unmodified is None else _millis("If-Unmodified-Since", unmodified),
        none is not None,
    )


def _version(value: Any) -> int:
    text = value.strip() if isinstance(value, str) else value
    try:
        if isinstance(text, int | str) and not isinstance(text, bool) and len(str(text)) < 20:
            return int(text)
    except ValueError:
        pass
    raise InvalidInput(
        "If-Version-Match must be the version in the systemMetadata of an aspect, or -1; not "
        f"{value!r:.60}"
    )


def millis_of(moment: datetime) -> int:
    """Return an aware datetime as milliseconds since 1970 (UTC), rounded down.

    `timestamp()` is not used: it is a float, which is slightly too small for some milliseconds of
    1987 and 2038.
    """
    return (moment - _EPOCH) // _MILLISECOND


def _millis(name: str, value: Any) -> int:
    """Parse an ISO 8601 time or an HTTP date into milliseconds since 1970; a time without a zone is
    UTC."""
    if isinstance(value, str):
        for parse in (datetime.fromisoformat, parsedate_to_datetime):
            try:
                at = parse(value.strip())
                zoned = at if at.tzinfo else at.replace(tzinfo=UTC)
                return millis_of(zoned)
            except (ValueError, OverflowError):
                continue
    raise InvalidInput(
        f"{name} must be a time in the form of ISO 8601, such as 2024-05-01T12:00:00Z; not "
        f"{value!r:.60}"
    )


ChangeType = Literal["UPSERT", "CREATE", "CREATE_ENTITY", "UPDATE", "PATCH", "RESTATE", "DELETE"]
CHANGE_TYPES: tuple[ChangeType, ...] = get_args(ChangeType)

_JSON = "application/json"
_JSON_PATCH = "application/json-patch+json"
# The text fields of system metadata that are checked; only the server sets the version.
_SYSTEM_TEXTS = ("runId", "lastRunId", "pipelineName", "registryName", "registryVersion")
_MAX_MILLIS = 2**62


@dataclass(frozen=True, slots=True)
class Proposal:
    """One change. `value` is the aspect as JSON objects; `system` is its system metadata, such as
    the run that wrote it (`runId`) and when it was observed (`lastObserved`, milliseconds since
    1970 UTC).

    The value of a PATCH is the patch; see `explorer.metadata.patch`. `headers` hold the conditions
    of the write; see `read_condition`.
    """

    urn: Urn
    aspect: str
    value: Any = None
    change: ChangeType = "UPSERT"
    system: dict[str, Any] | None = None
    actor: str | None = None
    headers: Mapping[str, Any] | None = None
    line: bytes | None = field(default=None, init=False, compare=False, repr=False)
    """The JSON of the `proposal` object that `ingestProposal` takes, if the file contained exactly
    this; `None` in changed copies."""

    @classmethod
    def from_line(
        cls, line: bytes, urn: Urn, aspect: str, system: dict[str, Any] | None
    ) -> "Proposal":
        """Return the UPSERT that a line holds. Its value, which is valid JSON, is decoded when it
        is first read; a load sends the line and never reads it."""
        change = cls(urn, aspect, system=system)
        object.__setattr__(change, "line", line)
        object.__delattr__(change, "value")
        return change

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name != "value":
                raise AttributeError(name=name, obj=self)
            value = orjson.loads(orjson.loads(self.line)["aspect"]["value"])
            object.__setattr__(self, name, value)
            return value

    def from_run(self, run_id: str, observed_millis: int) -> "Proposal":
        """Return the change with a run and its time in the system metadata, or unchanged if it
        already has a run."""
        if self.system and self.system.get("runId"):
            return self
        system = {**(self.system or {}), "runId": run_id, "lastObserved": observed_millis}
        return replace(self, system=system)

    def to_wire(self) -> dict[str, Any]:
        """Return the `proposal` object that the action `ingestProposal` takes."""
        wire: dict[str, Any] = {
            "entityType": self.urn.entity_type,
            "entityUrn": str(self.urn),
            "changeType": self.change,
            "aspectName": self.aspect,
        }
        if self.value is not None:
            content_type = _JSON_PATCH if self.change == "PATCH" else _JSON
            value = orjson.dumps(self.value).decode()
            wire["aspect"] = {"value": value, "contentType": content_type}
        if self.system is not None:
            wire["systemMetadata"] = self.system
        if self.headers:
            wire["headers"] = dict(self.headers)
        return wire


def read_proposal(wire: Any, registry: Registry, *, complete: bool = False) -> Proposal:
    """Parse a proposal from any of its wire forms.

    With `complete`, entityType and changeType are required; otherwise they default to the URN's
    type and UPSERT. The entity may be given by entityType and `entityKeyAspect`, its key aspect,
    instead of by URN. An aspect may be an envelope (`value` a JSON string) or `{"json": {…}}`;
    `systemMetadata` may be an object or a JSON string. Raises `InvalidInput`, `InvalidUrn` or
    `UnknownName`, with the reason.
    """
    if not isinstance(wire, dict):
        raise InvalidInput("a proposal must be an object with entityUrn, changeType and aspectName")
    if wire.get("entityUrn") is None and wire.get("entityKeyAspect") is not None:
        text = registry.entity_name(_text(wire, "entityType"))
        key = _aspect_value(wire["entityKeyAspect"], "UPSERT", "entityKeyAspect")
        urn = urn_of_key(text, key, registry.key_fields(text))
    else:
        urn = Urn.parse(_text(wire, "entityUrn"))
    if complete:
        for key in ("entityType", "changeType"):
            _text(wire, key)
    entity_type = wire.get("entityType", urn.entity_type)
    if entity_type != urn.entity_type and str(entity_type).lower() != urn.entity_type.lower():
        raise InvalidInput(f"entityType {entity_type!r} is not the type in the URN {urn}")
    change = wire.get("changeType", "UPSERT")
    if change not in CHANGE_TYPES:
        raise UnknownName("changeType", str(change), CHANGE_TYPES)
    if change != "DELETE" and (not wire.get("aspectName") or wire.get("aspect") is None):
        raise InvalidInput("Aspect and aspect name is required for create and update operations")
    value = _aspect_value(wire.get("aspect"), change)
    return make_proposal(urn, _text(wire, "aspectName"), value, change, wire)


def make_proposal(
    urn: Urn, aspect: str, value: Any, change: ChangeType, wire: Mapping[str, Any]
) -> Proposal:
    """Return a change with the systemMetadata, auditHeader and headers of its wire form.

    Raises `InvalidInput` if one of them is invalid.
    """
    headers = wire.get("headers")
    if headers is not None and not isinstance(headers, dict):
        raise InvalidInput("'headers' must be an object of texts")
    system = read_system(wire.get("systemMetadata"))
    return Proposal(
        urn, aspect, value, change, system, read_auditor(wire.get("auditHeader")), headers or None
    )


def read_auditor(header: Any) -> str | None:
    """Return the actor in an audit header. Raises `InvalidInput` if it is not a URN."""
    if header is None:
        return None
    if not isinstance(header, dict):
        raise InvalidInput("'auditHeader' must be an object with an actor")
    actor = header.get("actor")
    if actor is None:
        return None
    if not isinstance(actor, str):
        raise InvalidInput("'auditHeader.actor' must be a URN as a string")
    return str(Urn.parse(actor))


def read_system(system: Any) -> dict[str, Any] | None:
    """Parse system metadata, an object or a JSON string, and drop nulls.

    Raises `InvalidInput` for anything else and for known fields of the wrong type.
    """
    if isinstance(system, str):
        try:
            system = orjson.loads(system)
        except orjson.JSONDecodeError as error:
            raise InvalidInput(f"'systemMetadata' is not JSON: {error}") from None
    if system is None:
        return None
    if not isinstance(system, dict):
        raise InvalidInput("'systemMetadata' must be an object")
    for key in _SYSTEM_TEXTS:
        text = system.get(key)
        if text is not None and not isinstance(text, str):
            raise InvalidInput(f"'systemMetadata.{key}' must be a string")
    last_observed = system.get("lastObserved")
    if last_observed is not None and (
        isinstance(last_observed, bool)
        or not isinstance(last_observed, int)
        or not -_MAX_MILLIS < last_observed < _MAX_MILLIS
    ):
        raise InvalidInput(
            "'systemMetadata.lastObserved' must be milliseconds since 1970 as an integer"
        )
    return {key: value for key, value in system.items() if value is not None}


def _text(wire: dict[str, Any], key: str) -> str:
    value = wire.get(key)
    if not isinstance(value, str) or not value:
        raise InvalidInput(f"a proposal needs {key!r} as a string")
    return value


def _aspect_value(envelope: Any, change: str, name: str = "aspect") -> Any:
    if envelope is None:
        return None
    if not isinstance(envelope, dict):
        raise InvalidInput(f"{name!r} must be an object with value and contentType")
    if "json" in envelope:
        return envelope["json"]
    content_type = envelope.get("contentType", _JSON)
    allowed = (_JSON, _JSON_PATCH) if change == "PATCH" else (_JSON,)
    if content_type not in allowed:
        raise InvalidInput(f"the contentType {content_type!r} is not accepted; send {allowed[-1]}")
    value = envelope.get("value")
    if not isinstance(value, str | bytes):
        raise InvalidInput(f"'{name}.value' must be the aspect as a JSON string")
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError as error:
        raise InvalidInput(f"'{name}.value' is not JSON: {error}") from None
