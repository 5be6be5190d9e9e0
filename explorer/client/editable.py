"""Where editable texts, tags, terms and owners are stored, and the conflict of two edits of one."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from explorer.client.records import Held, What
from explorer.client.responses import Json
from explorer.errors import Conflict, InvalidInput
from explorer.metadata.aspects import AuditStamp
from explorer.metadata.urn import UNKNOWN_ACTOR, Urn

__all__ = [
    "COLUMNS",
    "OWNERS",
    "TAGS",
    "TERMS",
    "EditableField",
    "Expectation",
    "LabelKind",
    "TextConflict",
    "column_info",
    "column_text",
    "held_text",
    "place_of",
    "urns_of",
    "with_column",
]

COLUMNS = "editableSchemaMetadata"
"""The aspect with what people wrote of columns."""
_INFOS = "editableSchemaFieldInfo"


@dataclass(frozen=True, slots=True)
class EditableField:
    """A field of an aspect, and the mutation that sets it.

    `named` and `beside` say what the aspect cannot be without, where there is none yet.
    """

    aspect: str
    mutation: str = "updateDescription"
    field: str = "description"
    named: bool = False
    beside: Mapping[str, Any] | None = None

    def text(self, value: Json) -> str | None:
        """The text that the aspect holds."""
        held = value.get(self.field)
        return held if isinstance(held, str) else None

    def with_text(self, urn: Urn, value: Json, text: str) -> Json:
        """The aspect with that text."""
        start = {**(self.beside or {}), **({"name": urn.name} if self.named else {})}
        return {**start, **value, self.field: text}


_PLACES: Mapping[str, EditableField] = {
    "dataset": EditableField("editableDatasetProperties", "updateDataset"),
    "chart": EditableField("editableChartProperties", "updateChart"),
    "dashboard": EditableField("editableDashboardProperties", "updateDashboard"),
    "dataFlow": EditableField("editableDataFlowProperties", "updateDataFlow"),
    "dataJob": EditableField("editableDataJobProperties", "updateDataJob"),
    "container": EditableField("editableContainerProperties"),
    "tag": EditableField("tagProperties", named=True),
    "domain": EditableField("domainProperties", named=True),
    "glossaryTerm": EditableField(
        "glossaryTermInfo", field="definition", beside={"termSource": "INTERNAL"}
    ),
    "glossaryNode": EditableField("glossaryNodeInfo", field="definition"),
    "dataProduct": EditableField("dataProductProperties"),
    "corpGroup": EditableField("corpGroupEditableInfo"),
    "mlModel": EditableField("editableMlModelProperties"),
    "mlModelGroup": EditableField("editableMlModelGroupProperties"),
    "mlFeature": EditableField("editableMlFeatureProperties"),
    "mlFeatureTable": EditableField("editableMlFeatureTableProperties"),
    "mlPrimaryKey": EditableField("editableMlPrimaryKeyProperties"),
    "notebook": EditableField("editableNotebookProperties"),
    "application": EditableField("applicationProperties"),
    "businessAttribute": EditableField(
        "businessAttributeInfo", named=True, beside={"fieldPath": ""}
    ),
}


def place_of(urn: Urn, column: str | None) -> EditableField:
    """Where the text of an entity is kept; raises `InvalidInput` where none can be written."""
    place = _PLACES.get(urn.entity_type)
    if place is None:
        raise InvalidInput(
            f"the description of a {urn.entity_type} cannot be edited; "
            f"those of these can: {', '.join(sorted(_PLACES))}"
        )
    if column is not None and urn.entity_type != "dataset":
        raise InvalidInput(f"only a dataset has columns, not a {urn.entity_type}")
    return place


def column_text(value: Json, column: str) -> str | None:
    """What people wrote of a column, out of the aspect for columns."""
    held = column_info(value, column).get("description")
    return held if isinstance(held, str) else None


def column_info(value: Json, column: str) -> Json:
    """All that people said of a column."""
    infos = value.get(_INFOS) or ()
    return next((info for info in infos if info.get("fieldPath") == column), {})


def with_column(value: Json, column: str, changed: Json) -> Json:
    """The aspect for columns with something else said of one; the others stay as they are."""
    infos = list(value.get(_INFOS) or ())
    new = {**changed, "fieldPath": column}
    if any(info.get("fieldPath") == column for info in infos):
        infos = [new if info.get("fieldPath") == column else info for info in infos]
    else:
        infos.append(new)
    return {**value, _INFOS: infos}


class TextConflict(Conflict):
    """What the server holds is not what the change was made from; nothing was written.

    `base` is what the change started from, `theirs` what the server holds now, `mine` what was to
    be written. All three are empty where there was nothing. `author`, `at` (UTC) and `version` are
    those of the aspect that holds it now; None where the server does not say.
    """

    author: str | None = None
    at: datetime | None = None
    version: str | None = None

    def __init__(self, place: str, base: str, theirs: str, mine: str) -> None:
        self.base = base
        self.theirs = theirs
        self.mine = mine
        super().__init__(
            f"{place} was changed by somebody else meanwhile; look at both and write again"
        )


@dataclass(frozen=True, slots=True)
class Expectation:
    """What a writer saw of the one thing that an edit changes, and what the edit makes of it.

    The edit is made only while the server holds what was seen. Where it holds what the edit makes
    already, there is no conflict and nothing to do: so an edit whose answer got lost can be made
    again. `versioned` says whether the server counts the versions of the aspect.
    """

    urn: Urn
    what: What
    seen: Held
    mine: Held
    column: str | None = None
    versioned: bool = False

    def check(self, now: Held, stamp: AuditStamp | None = None) -> None:
        """Raise `TextConflict` where the server holds something else than is expected; `stamp` says
        who wrote that and when."""
        if _comparable(now) not in (_comparable(self.seen), _comparable(self.mine)):
            raise self.conflict(now, stamp)

    def conflict(self, now: Held, stamp: AuditStamp | None = None) -> TextConflict:
        """The error for what is there now."""
        where = str(self.urn) if self.column is None else f"{self.column} of {self.urn}"
        texts = (held_text(held) for held in (self.seen, now, self.mine))
        error = TextConflict(f"the {self.what} of {where}", *texts)
        if stamp is not None and stamp.time > 0:
            error.author, error.at = stamp.actor, stamp.at
        return error

    def conflict_told(self, current: Mapping[str, Any]) -> TextConflict:
        """The error for what the server said is there now."""
        value = current.get("value")
        error = self.conflict(tuple(map(str, value)) if isinstance(value, list) else value)
        author, version, at_millis = (current.get(key) for key in ("actor", "version", "time"))
        error.author = author if isinstance(author, str) else None
        error.version = version if isinstance(version, str) else None
        if isinstance(at_millis, int):
            error.at = datetime.fromtimestamp(at_millis / 1000, UTC)
        return error

    def to_wire(self) -> dict[str, Any]:
        """The condition as our service takes it in the `extensions` of a GraphQL request."""
        column = {} if self.column is None else {"column": self.column}
        return {"urn": str(self.urn), "what": self.what, "value": self.seen} | column


def _comparable(held: Held) -> object:
    """The same for values that say the same: no order among labels, one form of nothing."""
    return frozenset(held) if isinstance(held, tuple) and held else held or None


def held_text(held: Held) -> str:
    """Return what an edit holds as one text: labels with commas, a deprecation's note."""
    match held:
        case str():
            return held
        case tuple():
            return ", ".join(held)
        case dict():
            return str(held.get("note", ""))
        case _:
            return ""


_BUILT_IN = "urn:li:ownershipType:__system__"


@dataclass(frozen=True, slots=True)
class LabelKind:
    """One kind of label: the aspect that holds it, its list there, what an element is told by.

    A label is a text: the URN, and for owners the kind of ownership after a space.
    """

    aspect: str
    field: str
    key: str
    stamp: str | None = None

    def home(self, column: str | None) -> str:
        """The aspect that holds the labels of an entity, or of its columns."""
        return self.aspect if column is None else COLUMNS

    def labels(self, value: Json, column: str | None) -> tuple[str, ...]:
        """The labels that the home aspect holds, in its order."""
        return tuple(self._label(one) for one in self._list(self._holder(value, column)))

    def added(self, value: Json, labels: Iterable[str], column: str | None) -> Json:
        """The home aspect with these labels as well."""
        held = self._list(self._holder(value, column))
        present = {self._label(one) for one in held}
        new = [self._element(label) for label in labels if label not in present]
        return self._with(value, [*held, *new], column) if new else value

    def removed(self, value: Json, labels: Iterable[str], column: str | None) -> Json:
        """The home aspect without these labels."""
        held, gone = self._list(self._holder(value, column)), frozenset(labels)
        kept = [one for one in held if self._label(one) not in gone]
        return self._with(value, kept, column) if len(kept) < len(held) else value

    def addition(self, labels: Iterable[str], column: str | None) -> list[Json]:
        """The same as a patch."""
        return [
            {"op": "add", "path": self._path(label, column), "value": self._element(label)}
            for label in labels
        ]

    def removal(self, labels: Iterable[str], column: str | None) -> list[Json]:
        """The same as a patch."""
        return [{"op": "remove", "path": self._path(label, column)} for label in labels]

    def _holder(self, value: Json, column: str | None) -> Json:
        if column is None:
            return value
        return column_info(value, column).get(self.aspect) or {}

    def _list(self, holder: Json) -> list[Json]:
        return [one for one in holder.get(self.field) or () if isinstance(one, dict)]

    def _with(self, value: Json, elements: list[Json], column: str | None) -> Json:
        stamp = {"time": time.time_ns() // 1_000_000, "actor": UNKNOWN_ACTOR}
        beside = {self.stamp: stamp} if self.stamp else {}
        if column is None:
            return {**beside, **value, self.field: elements}
        info = column_info(value, column)
        holder = {**beside, **(info.get(self.aspect) or {}), self.field: elements}
        return with_column(value, column, {**info, self.aspect: holder})

    def _label(self, element: Json) -> str:
        urn = str(element.get(self.key, ""))
        return f"{urn} {_kind(element)}" if self.key == "owner" else urn

    def _element(self, label: str) -> Json:
        if self.key != "owner":
            return {self.key: label}
        owner, kind = label.rsplit(" ", 1)
        if kind.startswith("urn:li:"):
            return {"owner": owner, "type": "CUSTOM", "typeUrn": kind}
        return {"owner": owner, "type": kind}

    def _path(self, label: str, column: str | None) -> str:
        element = self._element(label)
        last = [element[self.key]]
        if self.key == "owner":
            last.append(element["type"])
        above = [self.field] if column is None else [_INFOS, column, self.aspect, self.field]
        return "".join(f"/{_escaped(step)}" for step in (*above, *last))


TAGS = LabelKind("globalTags", "tags", "tag")
TERMS = LabelKind("glossaryTerms", "terms", "urn", "auditStamp")
OWNERS = LabelKind("ownership", "owners", "owner", "lastModified")


def urns_of(names: str | Urn | Iterable[str | Urn], *types: str) -> tuple[Urn, ...]:
    """The entities that are meant: URNs of one of these types, bare names of the first.

    Each once, in their order. Raises `InvalidInput` for another type and for an empty name.
    """
    given = (names,) if isinstance(names, str | Urn) else names
    return tuple(dict.fromkeys(_urn(name, types) for name in given))


def _urn(name: str | Urn, types: tuple[str, ...]) -> Urn:
    if isinstance(name, str) and not name.startswith("urn:"):
        if not name.strip() or name != name.strip():
            raise InvalidInput(f"{name!r} is no name of a {types[0]}; give its id or its URN")
        return Urn.parse(f"urn:li:{types[0]}:{name}")
    urn = Urn.parse(name)
    if urn.entity_type not in types:
        raise InvalidInput(f"{urn} is no {' and no '.join(types)}")
    return urn


def _kind(owner: Json) -> str:
    named: Any = owner.get("typeUrn")
    if isinstance(named, str) and named:
        own = named.removeprefix(_BUILT_IN)
        return own.upper() if named != own else named
    return str(owner.get("type") or "NONE")


def _escaped(step: str) -> str:
    return step.replace("~", "~0").replace("/", "~1")
