"""What must still stand where an edit is made, and the answer where it does not.

A request may carry, beside its document, `extensions: {"ifCurrent": {…}}`: what its writer saw of
the one thing that the document edits. The edit's own job of the writer compares that with what is
stored, so nobody can write in between. The condition is on that thing alone, such as the text of
one column: other parts of the same aspect may change meanwhile.

It is in `extensions`, which GraphQL over HTTP leaves to servers and which those that know nothing
of it ignore, because a field of our own in an input would make a DataHub server refuse the
document.
"""

from collections.abc import Mapping
from typing import Any, Literal

import orjson
from msgspec import Struct, ValidationError, convert

from explorer.errors import InvalidInput
from explorer.metadata.urn import Urn
from explorer.server.failures import Refusal
from explorer.server.graphql.names import DESCRIBED, kind_of_owner
from explorer.server.store import Transaction
from explorer.server.store.stamping import version_of

__all__ = ["Changed", "IfCurrent", "read_if_current"]

_COLUMNS = "editableSchemaMetadata"
_TEXTS: Mapping[str, tuple[str, str]] = {
    "dataset": ("editableDatasetProperties", "description"),
    "chart": ("editableChartProperties", "description"),
    "dashboard": ("editableDashboardProperties", "description"),
    "dataFlow": ("editableDataFlowProperties", "description"),
    "dataJob": ("editableDataJobProperties", "description"),
    **DESCRIBED,
}
_NO_TEXT = ("", "description")
_ASPECTS: Mapping[str, str] = {
    "tags": "globalTags",
    "terms": "glossaryTerms",
    "owners": "ownership",
    "domain": "domains",
    "links": "institutionalMemory",
    "deprecation": "deprecation",
}
_OF_COLUMNS = ("description", "tags", "terms")
_Value = str | list[str] | dict[str, Any] | None


class IfCurrent(Struct, frozen=True, forbid_unknown_fields=True):
    """What the writer of an edit saw of an entity, or of its column.

    `value` is a text for a description; a list, in any order, of URNs for tags, terms and the
    domain, of `<URN> <kind>` for owners, of `<address> <label>` for links; an object with `note`,
    `decommissionTime` and `replacement` for a deprecation. Empty or null stands for nothing there.
    """

    urn: str
    what: Literal["description", "tags", "terms", "owners", "domain", "links", "deprecation"]
    value: _Value = None
    column: str | None = None

    def compare(self, transaction: Transaction) -> "Changed | None":
        """None where the thing is as its writer saw it, else what is there now.

        Raises `InvalidUrn`, and `InvalidInput` for an entity without such a thing.
        """
        aspect = self._aspect()
        stored = transaction.latest(self.urn, aspect)
        now = self._read(orjson.loads(stored.value) if stored else {})
        if _comparable(now) == _comparable(self.value):
            return None
        current: dict[str, Any] = {"value": now}
        if stored is not None:
            current |= {
                "version": str(version_of(stored.system)),
                "actor": stored.actor,
                "time": stored.time_millis,
            }
        return Changed(self, current)

    def _aspect(self) -> str:
        urn = Urn.parse(self.urn)
        if self.column is not None:
            if urn.entity_type != "dataset" or self.what not in _OF_COLUMNS:
                raise InvalidInput(f"ifCurrent: a {urn.entity_type} has no column with {self.what}")
            return _COLUMNS
        aspect = _ASPECTS.get(self.what) or _TEXTS.get(urn.entity_type, _NO_TEXT)[0]
        if not aspect:
            raise InvalidInput(
                f"ifCurrent compares the description of a {', '.join(_TEXTS)}, "
                f"not that of a {urn.entity_type}; write its aspect with If-Version-Match"
            )
        return aspect

    def _read(self, value: Mapping[str, Any]) -> _Value:
        """The thing out of the value of its aspect."""
        if self.column is not None:
            infos = value.get("editableSchemaFieldInfo") or ()
            info: Mapping[str, Any]
            info = next((one for one in infos if one.get("fieldPath") == self.column), {})
            if self.what != "description":
                info = info.get(_ASPECTS[self.what]) or {}
            value = info
        match self.what:
            case "description":
                urn = Urn.parse(self.urn)
                of_column = self.column is not None
                field = "description" if of_column else _TEXTS[urn.entity_type][1]
                return value.get(field) or ""
            case "tags":
                return [one["tag"] for one in value.get("tags") or ()]
            case "terms":
                return [one["urn"] for one in value.get("terms") or ()]
            case "owners":
                return [f"{one['owner']} {kind_of_owner(one)}" for one in value.get("owners") or ()]
            case "domain":
                return list(value.get("domains") or ())
            case "links":
                links = value.get("elements") or ()
                return [f"{one['url']} {one.get('description') or ''}" for one in links]
            case "deprecation":
                if value.get("deprecated") is not True:
                    return None
                said = {key: value.get(key) for key in ("decommissionTime", "replacement")}
                known = {key: part for key, part in said.items() if part is not None}
                return {"note": value.get("note") or "", **known}


class Changed(Refusal):
    """An edit that was not made, for what its writer saw is not what is there. `current` is that:
    its `value` and, where the aspect is stored, `version`, `actor` and `time` of its last write."""

    def __init__(self, expected: IfCurrent, current: dict[str, Any]) -> None:
        column = "" if expected.column is None else f"{expected.column} of "
        super().__init__(
            409,
            f"the {expected.what} of {column}{expected.urn} was changed meanwhile; nothing was "
            "written: read it again",
        )
        self.current = current


def read_if_current(extensions: Any) -> IfCurrent | None:
    """The condition that a request's `extensions` carry, None where they carry none.

    Raises `InvalidInput` for one that cannot be read.
    """
    if extensions is not None and not isinstance(extensions, Mapping):
        raise InvalidInput("the parameter 'extensions' must be an object")
    given = (extensions or {}).get("ifCurrent")
    if given is None:
        return None
    try:
        return convert(given, IfCurrent)
    except ValidationError as error:
        raise InvalidInput(f"extensions.ifCurrent cannot be read: {error}") from None


def _comparable(value: _Value) -> Any:
    """The same for values that say the same: no order among labels, one form of nothing."""
    return frozenset(value) if isinstance(value, list) and value else value or None
