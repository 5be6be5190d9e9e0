"""The values that can be edited: where each is stored, how it is read and changed, and
conflicts."""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

from explorer.client.records import Held, What
from explorer.client.transport import Json, millis
from explorer.errors import Conflict, InvalidInput
from explorer.metadata.aspects import AuditStamp
from explorer.metadata.fieldpath import earlier_paths, encode_column_urn, written_entries
from explorer.metadata.registry import Registry
from explorer.metadata.urn import UNKNOWN_ACTOR, Urn

COLUMNS = "editableSchemaMetadata"
"""The aspect that holds people's descriptions and labels of columns."""
_INFOS = "editableSchemaFieldInfo"
PROPAGATION = "urn:li:dataHubAction:catalog-propagation"
"""The `source` of the attributions of propagated descriptions."""


@dataclass(frozen=True, slots=True)
class EditableField:
    """A field of an aspect, and the mutation that sets it.

    `has_name` (the aspect requires a name) and `defaults` say which other fields a new aspect must
    have.
    """

    aspect: str
    mutation: str = "updateDescription"
    field: str = "description"
    has_name: bool = False
    defaults: Mapping[str, Any] | None = None

    def text(self, value: Json) -> str | None:
        """Return the text of the field, or `None`."""
        text = value.get(self.field)
        return text if isinstance(text, str) else None

    def with_text(self, urn: Urn, value: Json, text: str | None) -> Json:
        """Return the aspect with the field set to that text, or without the field if it is
        `None`."""
        if text is None:
            return {key: member for key, member in value.items() if key != self.field}
        start = {**(self.defaults or {}), **({"name": urn.name} if self.has_name else {})}
        return {**start, **value, self.field: text}


_PLACES: Mapping[str, EditableField] = {
    "dataset": EditableField("editableDatasetProperties", "updateDataset"),
    "chart": EditableField("editableChartProperties", "updateChart"),
    "dashboard": EditableField("editableDashboardProperties", "updateDashboard"),
    "dataFlow": EditableField("editableDataFlowProperties", "updateDataFlow"),
    "dataJob": EditableField("editableDataJobProperties", "updateDataJob"),
    "container": EditableField("editableContainerProperties"),
    "tag": EditableField("tagProperties", has_name=True),
    "domain": EditableField("domainProperties", has_name=True),
    "glossaryTerm": EditableField(
        "glossaryTermInfo", field="definition", defaults={"termSource": "INTERNAL"}
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
        "businessAttributeInfo", has_name=True, defaults={"fieldPath": ""}
    ),
}


NAMES: Mapping[str, EditableField] = {
    "tag": EditableField("tagProperties", "", "name"),
    "domain": EditableField("domainProperties", "updateName", "name"),
    "glossaryTerm": EditableField(
        "glossaryTermInfo",
        "updateName",
        "name",
        defaults={"definition": "", "termSource": "INTERNAL"},
    ),
    "glossaryNode": EditableField(
        "glossaryNodeInfo", "updateName", "name", defaults={"definition": ""}
    ),
    "dataProduct": EditableField("dataProductProperties", "updateName", "name"),
}
"""Where the names of tags, domains, glossary terms and groups, and data products are stored.

DataHub's `updateName` does not accept tags.
"""

PARENTS: Mapping[str, tuple[EditableField, str]] = {
    "domain": (
        EditableField("domainProperties", "moveDomain", "parentDomain", has_name=True),
        "domain",
    ),
    "glossaryTerm": (
        EditableField(
            "glossaryTermInfo",
            "updateParentNode",
            "parentNode",
            defaults={"definition": "", "termSource": "INTERNAL"},
        ),
        "glossaryNode",
    ),
    "glossaryNode": (
        EditableField(
            "glossaryNodeInfo", "updateParentNode", "parentNode", defaults={"definition": ""}
        ),
        "glossaryNode",
    ),
}
"""Where the parent of an entity in a tree is stored, and the entity type of that parent."""


def place_of(urn: Urn, column: str | None) -> EditableField:
    """Return where the description of an entity is stored.

    Raises `InvalidInput` if it cannot be edited.
    """
    place = _PLACES.get(urn.entity_type)
    if place is None:
        raise InvalidInput(
            f"the description of a {urn.entity_type} cannot be edited; "
            f"those of these can: {', '.join(sorted(_PLACES))}"
        )
    _check_has_columns(urn, column)
    return place


def has_one_description(entity_type: str) -> bool:
    """Return whether entities of this type have a single description, which people and ingestion
    both write, such as tags, terms and domains."""
    place = _PLACES.get(entity_type)
    return place is not None and "editable" not in place.aspect.lower()


def stored_description(typed: str) -> str:
    """Return the description to store for a typed text: the text unchanged, or, if it is only white
    space, the empty text, which removes the description. Raises `InvalidInput` if it is not a
    string."""
    if not isinstance(typed, str):
        raise InvalidInput(f"a description is a text, not {typed!r:.80}; '' removes it")
    return typed if typed.strip() else ""


def _check_has_columns(urn: Urn, column: str | None) -> None:
    if column is None:
        return
    if not isinstance(column, str):
        raise InvalidInput(f"give the path of a column, not {column!r:.80}")
    if urn.entity_type != "dataset":
        raise InvalidInput(f"only a dataset has columns, not a {urn.entity_type}")


def column_text(value: Json, column: str) -> str | None:
    """Return the edited description of a column from the aspect `COLUMNS`, or `None`."""
    description = column_info(value, column).get("description")
    return description if isinstance(description, str) else None


def column_info(value: Json, column: str) -> Json:
    """Return the entry of a column in the aspect `COLUMNS`; empty if there is none."""
    infos = value.get(_INFOS) or ()
    return next((info for info in infos if info.get("fieldPath") == column), {})


def with_column(value: Json, column: str, changed: Json) -> Json:
    """Return the aspect `COLUMNS` with the entry of one column replaced or added."""
    infos = list(value.get(_INFOS) or ())
    new = {**changed, "fieldPath": column}
    if any(info.get("fieldPath") == column for info in infos):
        infos = [new if info.get("fieldPath") == column else info for info in infos]
    else:
        infos.append(new)
    return {**value, _INFOS: infos}


def earlier_entries(value: Json, columns: Iterable[str]) -> dict[str, str]:
    """Return, by the present paths of columns, the earlier paths under which the aspect `COLUMNS`
    has entries, written before the type or the case of the column changed; see `earlier_paths`."""
    return earlier_paths(columns, written_entries(value))


def column_parts(value: Json, column: str) -> dict[str, Any]:
    """Return the `description`, `tags` and `terms` of a column's entry in the aspect `COLUMNS`,
    without empty ones."""
    info, text = column_info(value, column), column_text(value, column)
    parts: dict[str, Any] = {"description": text} if text and text.strip() else {}
    for kind in (TAGS, TERMS):
        if labels := kind.labels(info.get(kind.aspect) or {}, None):
            parts[kind.what] = labels
    return parts


def with_moved(value: Json, start: str, end: str, parts: Json) -> Json:
    """Return the aspect `COLUMNS` with parts (see `column_parts`) of the entry at the path `start`
    moved to the entry at `end`. Labels that both entries have stay only at `end`."""
    source, goal = dict(column_info(value, start)), dict(column_info(value, end))
    if "description" in parts:
        goal["description"] = parts["description"]
        # Our service keeps a description that an aspect does not mention.
        source["description"] = ""
    for kind in (TAGS, TERMS):
        labels_aspect = source.pop(kind.aspect, None) or {}
        labels = kind.labels(goal.get(kind.aspect) or {}, None)
        elements = [
            element for element in labels_aspect.get(kind.field) or () if isinstance(element, dict)
        ]
        elements = [element for element in elements if kind.label(element) not in labels]
        moved = [element for element in elements if kind.label(element) in parts.get(kind.what, ())]
        if moved:
            own = goal.get(kind.aspect) or {}
            goal[kind.aspect] = {
                **labels_aspect,
                **own,
                kind.field: [*(own.get(kind.field) or ()), *moved],
            }
        if rest := [element for element in elements if element not in moved]:
            source[kind.aspect] = {**labels_aspect, kind.field: rest}
    return with_column(with_column(value, start, source), end, goal)


def at_present_paths(value: Json, columns: Iterable[str]) -> Json:
    """Return the aspect `COLUMNS` with all entries that were written before the type or the case of
    a column changed moved to the column's present path."""
    for column, earlier in earlier_entries(value, columns).items():
        value = with_moved(value, earlier, column, column_parts(value, earlier))
    return value


def domains_of(value: Json) -> tuple[str, ...]:
    """Return the URNs in the aspect `domains`."""
    return tuple(domain for domain in value.get("domains") or () if isinstance(domain, str))


def deprecation(
    note: str, decommission: datetime | None = None, replacement: str | Urn | None = None
) -> dict[str, Any]:
    """Return a deprecation in the form of `Edit`: `note`, `decommissionTime`, `replacement`.

    Raises `InvalidInput` for a datetime without a time zone, `InvalidUrn` for an invalid
    replacement.
    """
    fields: dict[str, Any] = {"note": note}
    if decommission is not None:
        fields["decommissionTime"] = millis(decommission)
    if replacement is not None:
        fields["replacement"] = str(Urn.parse(replacement))
    return fields


def check_replacement(urn: Urn, held: Mapping[str, Any]) -> None:
    """Raise `InvalidInput` if a deprecation, in the form of `Edit`, names the entity itself as its
    replacement."""
    if held.get("replacement") == str(urn):
        raise InvalidInput(f"{Urn.label(str(urn))} cannot be its own replacement; give another one")


def deprecation_of(value: Json) -> dict[str, Any] | None:
    """Return the deprecation in the aspect, in the form of `Edit`; `None` if the entity is not
    deprecated."""
    if value.get("deprecated") is not True:
        return None
    optional = ("decommissionTime", "replacement")
    fields = {key: value[key] for key in optional if value.get(key) is not None}
    return {"note": value.get("note") or "", **fields}


def links_of(value: Json) -> tuple[str, ...]:
    """Return the links in the aspect `institutionalMemory`, in the form of `Edit`."""
    elements = (element for element in value.get("elements") or () if isinstance(element, dict))
    return tuple(f"{url} {label}" for url, label in map(link_parts, elements))


def link_parts(element: Json) -> tuple[Any, Any]:
    """Return the address and the label of a link."""
    return element.get("url"), element.get("description") or ""


def source_of(value: Json) -> Json | None:
    """Return the source of a propagated description, from the aspect `documentation` of a column;
    `None` if the description was not propagated."""
    return next((entry for entry in _sources_in(value) if _is_propagated(entry)), None)


def with_source(value: Json, source: Json | None) -> Json:
    """Return the aspect `documentation` with the source replaced, added, or removed if it is
    `None`. Entries of other actions stay."""
    sources_in = _sources_in(value)
    place = next(
        (at for at, entry in enumerate(sources_in) if _is_propagated(entry)), len(sources_in)
    )
    sources_in[place : place + 1] = [] if source is None else [source]
    return {**value, "documentations": sources_in}


def _sources_in(value: Json) -> list[Any]:
    listed = value.get("documentations")
    return list(listed) if isinstance(listed, list) else []


def _is_propagated(entry: Any) -> bool:
    attribution = entry.get("attribution") if isinstance(entry, dict) else None
    return isinstance(attribution, dict) and attribution.get("source") == PROPAGATION


def _status_of(value: Json) -> str:
    return "hidden" if value.get("removed") is True else "shown"


@dataclass(frozen=True, slots=True)
class EditTarget:
    """The value that an edit changes, within an aspect of an entity.

    `read` returns the value from the JSON of the aspect, in the form that `Edit` describes.
    """

    urn: Urn
    what: What
    aspect: str
    read: Callable[[Json], Held]
    column: str | None = None

    def with_text(self, value: Json, text: str) -> Json:
        """Return the aspect with the description replaced by `text`."""
        if self.column is None:
            return place_of(self.urn, None).with_text(self.urn, value, text)
        info = column_info(value, self.column)
        return with_column(value, self.column, {**info, "description": text})

    def __str__(self) -> str:
        where = str(self.urn) if self.column is None else f"{self.column} of {self.urn}"
        return f"the {self.what} of {where}"


def edit_target(urn: Urn, what: What, column: str | None = None) -> EditTarget:
    """Return where a value is stored.

    Raises `InvalidInput` for a value that this entity type does not have, and for `path` and
    `entity`, which are not values within an aspect.
    """
    match what:
        case "description":
            place = place_of(urn, column)
            if column is None:
                return EditTarget(urn, what, place.aspect, place.text)
            return EditTarget(urn, what, COLUMNS, lambda v: column_text(v, column), column)
        case "name":
            field = NAMES.get(urn.entity_type)
            if field is None:
                raise InvalidInput(
                    f"the name of a {urn.entity_type} cannot be edited; "
                    f"those of these can: {', '.join(sorted(NAMES))}"
                )
            return EditTarget(urn, what, field.aspect, field.text)
        case "parent":
            if urn.entity_type not in PARENTS:
                raise InvalidInput(
                    f"a {urn.entity_type} has no parent; these have one: "
                    f"{', '.join(sorted(PARENTS))}"
                )
            above, _ = PARENTS[urn.entity_type]
            return EditTarget(urn, what, above.aspect, above.text)
        case "tags" | "terms" | "owners":
            _check_has_columns(urn, column)
            kind = LABEL_KINDS[what]
            return EditTarget(
                urn, what, kind.home(column), lambda v: kind.labels(v, column), column
            )
        case "domain":
            return EditTarget(urn, what, "domains", domains_of)
        case "deprecation":
            return EditTarget(urn, what, "deprecation", deprecation_of)
        case "links":
            return EditTarget(urn, what, "institutionalMemory", links_of)
        case "status":
            return EditTarget(urn, what, "status", _status_of)
        case "source":
            held_by = Urn.parse(encode_column_urn(urn, column or ""))
            return EditTarget(held_by, what, "documentation", source_of)
        case "path" | "entity":
            raise InvalidInput(f"no aspect has the {what} of {urn} as one value; edit its aspects")


class Mutation(NamedTuple):
    """A GraphQL mutation: its name, document and variables."""

    name: str
    document: str
    variables: Mapping[str, Any]

    @classmethod
    def with_input(cls, name: str, fields: Json, input_type: str | None = None) -> "Mutation":
        """Return a mutation with one variable, `input`, and a scalar result.

        The type of the input is named after the mutation unless given.
        """
        kind = input_type or f"{name[0].upper()}{name[1:]}Input"
        document = f"mutation {name}($input: {kind}!) {{ {name}(input: $input) }}"
        return cls(name, document, {"input": fields})

    @classmethod
    def of_entity(cls, name: str, urn: Urn, fields: Json) -> "Mutation":
        """Return a mutation that updates an entity (`updateDataset`), with its URN as a second
        variable."""
        kind = name.removeprefix("update")
        document = (
            f"mutation {name}($urn: String!, $input: {kind}UpdateInput!) "
            f"{{ {name}(urn: $urn, input: $input) {{ urn }} }}"
        )
        return cls(name, document, {"urn": str(urn), "input": fields})


class TextConflict(Conflict):
    """The server no longer holds the value that an edit started from; nothing was written.

    `place` describes the value. `base` is the value that the edit started from, `theirs` the
    present value on the server, `mine` the value to be written, each empty if there was none.
    `author`, `at` (UTC) and `version` are those of the present aspect; `None` if the server does
    not report them.
    """

    def __init__(
        self,
        place: str,
        base: str,
        theirs: str,
        mine: str,
        *,
        author: str | None = None,
        at: datetime | None = None,
        version: str | None = None,
    ) -> None:
        self.place = place
        self.base = base
        self.theirs = theirs
        self.mine = mine
        self.author = author
        self.at = at
        self.version = version
        super().__init__(
            f"{place} was changed by somebody else in the meantime; compare both and write again"
        )

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.place, self.base, self.theirs, self.mine), self.__dict__


@dataclass(frozen=True, slots=True)
class Expectation:
    """The condition of an edit: the value that its author saw (`base`) and the one to write
    (`after`).

    The edit is made only while the server holds `base`. If the server already holds `after`, there
    is no conflict and nothing to do, so that an edit whose answer was lost can be repeated.
    `versioned` is true if the server counts the versions of the aspect.
    """

    target: EditTarget
    base: Held
    after: Held
    versioned: bool = False

    def check(self, now: Held, stamp: AuditStamp | None = None) -> None:
        """Raise `TextConflict` if the server holds another value than expected.

        `stamp` says who wrote that value and when.
        """
        if _comparable(now) in (_comparable(self.base), _comparable(self.after)):
            return
        if stamp is None or stamp.time <= 0:
            raise self._conflict(now)
        raise self._conflict(now, author=stamp.actor, at=stamp.at)

    def conflict_from_wire(self, current: Mapping[str, Any]) -> TextConflict:
        """Return the error for the present value as sent by the server."""
        value = current.get("value")
        author, version, at_millis = (current.get(key) for key in ("actor", "version", "time"))
        return self._conflict(
            tuple(map(str, value)) if isinstance(value, list) else value,
            author=author if isinstance(author, str) else None,
            at=datetime.fromtimestamp(at_millis / 1000, UTC)
            if isinstance(at_millis, int)
            else None,
            version=version if isinstance(version, str) else None,
        )

    def _conflict(self, now: Held, **current: Any) -> TextConflict:
        return TextConflict(
            str(self.target), *map(held_text, (self.base, now, self.after)), **current
        )

    def to_wire(self) -> dict[str, Any]:
        """Return the condition for the `extensions` of a GraphQL request to our service."""
        target = self.target
        column = {} if target.column is None else {"column": target.column}
        base = None if self.base == {} else self.base
        return {"urn": str(target.urn), "what": target.what, "value": base} | column


def _comparable(held: Held) -> object:
    """Return a form that is equal for equivalent values: labels as a set, and the same form for all
    empty values."""
    return frozenset(held) if isinstance(held, tuple) and held else held or None


def held_text(held: Held) -> str:
    """Return the value of an edit as one text: labels separated by commas, the note of a
    deprecation, the text of a propagated description."""
    match held:
        case str():
            return held
        case tuple():
            return ", ".join(held)
        case dict():
            return str(held.get("note") or held.get("documentation") or "")
        case _:
            return ""


LabelWhat = Literal["tags", "terms", "owners"]


@dataclass(frozen=True, slots=True)
class LabelKind:
    """A kind of label: tags, glossary terms or owners.

    `entity_types` are the types of the labels themselves, `aspect` and `field` the list that holds
    them, `key` the field of an element that holds the URN, `adding` and `removing` the mutations,
    `input_field` their input, `stamp` the audit stamp that the aspect requires. A label is
    represented by its URN as text.
    """

    what: LabelWhat
    entity_types: tuple[str, ...]
    aspect: str
    field: str
    key: str
    adding: str
    removing: str
    input_field: str
    stamp: str | None = None

    def urns(self, names: str | Urn | Iterable[str | Urn]) -> tuple[str, ...]:
        """Return the URNs of labels given by id or URN. Raises `InvalidInput`."""
        return tuple(map(str, urns_of(names, *self.entity_types)))

    def home(self, column: str | None) -> str:
        """Return the name of the aspect that holds the labels of an entity, or of its columns."""
        return self.aspect if column is None else COLUMNS

    def labels(self, value: Json, column: str | None) -> tuple[str, ...]:
        """Return the labels in that aspect, in order."""
        return tuple(self.label(element) for element in self._list(self._holder(value, column)))

    def with_labels(
        self, value: Json, labels: Iterable[str], column: str | None, *, adding: bool
    ) -> Json:
        """Return that aspect with labels added or removed."""
        elements, changing = self._list(self._holder(value, column)), dict.fromkeys(labels)
        present = {self.label(element) for element in elements}
        if adding:
            new = [*elements, *(self.element(label) for label in changing if label not in present)]
        else:
            new = [element for element in elements if self.label(element) not in changing]
        return self._with(value, new, column) if len(new) != len(elements) else value

    def patch(self, labels: Iterable[str], column: str | None, *, adding: bool) -> list[Json]:
        """Return the JSON Patch of that aspect that adds or removes labels."""
        paths = ((label, self._path(label, column)) for label in labels)
        if adding:
            return [
                {"op": "add", "path": path, "value": self.element(label)} for label, path in paths
            ]
        return [{"op": "remove", "path": path} for _, path in paths]

    def mutations(
        self, labels: tuple[str, ...], resource: Json, *, adding: bool
    ) -> list[tuple[tuple[str, ...], Mutation]]:
        """Return the mutations that add or remove labels, each with the labels it changes."""
        if not labels:
            return []
        fields = {self.input_field: list(labels)}
        if adding:
            return [(labels, Mutation.with_input(self.adding, fields | resource))]
        return [(labels, Mutation.with_input(self.removing, fields | {"resources": [resource]}))]

    def label(self, element: Json) -> str:
        """Return the label of an element of the list."""
        return str(element.get(self.key, ""))

    def element(self, label: str) -> Json:
        """Return the element of the list for a label."""
        return {self.key: label}

    def _steps(self, label: str) -> list[str]:
        """Return the path steps that identify an element in a patch."""
        return [label]

    def _holder(self, value: Json, column: str | None) -> Json:
        if column is None:
            return value
        return column_info(value, column).get(self.aspect) or {}

    def _list(self, holder: Json) -> list[Json]:
        return [element for element in holder.get(self.field) or () if isinstance(element, dict)]

    def _with(self, value: Json, elements: list[Json], column: str | None) -> Json:
        stamp = {"time": time.time_ns() // 1_000_000, "actor": UNKNOWN_ACTOR}
        stamp_field = {self.stamp: stamp} if self.stamp else {}
        if column is None:
            return {**stamp_field, **value, self.field: elements}
        info = column_info(value, column)
        holder = {**stamp_field, **(info.get(self.aspect) or {}), self.field: elements}
        return with_column(value, column, {**info, self.aspect: holder})

    def _path(self, label: str, column: str | None) -> str:
        first_steps = [self.field] if column is None else [_INFOS, column, self.aspect, self.field]
        return "".join(f"/{_escape(step)}" for step in (*first_steps, *self._steps(label)))


_BUILT_IN = "urn:li:ownershipType:__system__"


class OwnerKind(LabelKind):
    """Owners. A label is the URN of the owner, a space, and the ownership type: a word or a URN."""

    __slots__ = ()

    def label(self, element: Json) -> str:
        """Return the owner and the ownership type; built-in types are given as words."""
        type_urn: Any = element.get("typeUrn")
        kind = str(element.get("type") or "NONE")
        if isinstance(type_urn, str) and type_urn:
            word = type_urn.removeprefix(_BUILT_IN)
            kind = type_urn if word == type_urn else word.upper()
        return f"{element.get(self.key, '')} {kind}"

    def element(self, label: str) -> Json:
        """Return the element of the `ownership` aspect for a label."""
        owner, kind = label.rsplit(" ", 1)
        if kind.startswith("urn:li:"):
            return {"owner": owner, "type": "CUSTOM", "typeUrn": kind}
        return {"owner": owner, "type": kind}

    def mutations(
        self, labels: tuple[str, ...], resource: Json, *, adding: bool
    ) -> list[tuple[tuple[str, ...], Mutation]]:
        """Return the mutations that add or remove owners, each with the labels it changes.

        Owners are added by one mutation, and removed by one for each ownership type.
        """
        if adding:
            fields: Json = {self.input_field: [_owner_input(label) for label in labels]} | resource
            return [(labels, Mutation.with_input(self.adding, fields))] if labels else []
        by_kind: dict[str, list[str]] = {}
        for label in labels:
            by_kind.setdefault(label.rpartition(" ")[2], []).append(label)
        mutations = []
        for kind, kind_labels in by_kind.items():
            fields = {
                "ownerUrns": [label.rpartition(" ")[0] for label in kind_labels],
                "ownershipTypeUrn": kind if kind.startswith("urn:") else _BUILT_IN + kind.lower(),
                "resources": [resource],
            }
            mutations.append((tuple(kind_labels), Mutation.with_input(self.removing, fields)))
        return mutations

    def _steps(self, label: str) -> list[str]:
        element = self.element(label)
        return [element["owner"], element["type"]]


_OWNER_TYPES = {"corpuser": "CORP_USER", "corpGroup": "CORP_GROUP"}


def _owner_input(label: str) -> Json:
    owner, _, kind = label.rpartition(" ")
    ownership = {"ownershipTypeUrn": kind} if kind.startswith("urn:") else {"type": kind}
    entity_type = _OWNER_TYPES[Urn.parse(owner).entity_type]
    return {"ownerUrn": owner, "ownerEntityType": entity_type, **ownership}


TAGS = LabelKind(
    "tags", ("tag",), "globalTags", "tags", "tag", "addTags", "batchRemoveTags", "tagUrns"
)
TERMS = LabelKind(
    "terms",
    ("glossaryTerm",),
    "glossaryTerms",
    "terms",
    "urn",
    "addTerms",
    "batchRemoveTerms",
    "termUrns",
    "auditStamp",
)
OWNERS = OwnerKind(
    "owners",
    tuple(_OWNER_TYPES),
    "ownership",
    "owners",
    "owner",
    "addOwners",
    "batchRemoveOwners",
    "owners",
    "lastModified",
)
_OWNERSHIP_TYPE = "com.linkedin.common.OwnershipType"


def check_ownership(ownership: str, registry: Registry) -> None:
    """Raise `InvalidInput` if an ownership type is neither a URN nor one of the model's words."""
    symbols = registry.records[_OWNERSHIP_TYPE].symbols
    if not ownership.startswith("urn:") and ownership not in symbols:
        raise InvalidInput(
            f"there is no ownership type {ownership}; give {', '.join(sorted(symbols))} or the URN "
            "of an ownership type"
        )


LABEL_KINDS: Mapping[LabelWhat, LabelKind] = {"tags": TAGS, "terms": TERMS, "owners": OWNERS}


def listed(given: str | Urn | Iterable[str | Urn], expected: str) -> Iterable[str | Urn]:
    """Return one value or several as an iterable of values. Raises `InvalidInput` for anything
    else; the message says what is `expected`."""
    if isinstance(given, str | Urn):
        return (given,)
    if not isinstance(given, Iterable):
        raise InvalidInput(f"give {expected}, not {given!r:.80}")
    return given


def urns_of(names: str | Urn | Iterable[str | Urn], *types: str) -> tuple[Urn, ...]:
    """Return URNs given as URNs of one of these types, or as ids of the first.

    Without duplicates, in order. Raises `InvalidInput` for another type and for an empty id.
    """
    texts = listed(names, "ids or URNs")
    return tuple(dict.fromkeys(_urn(name, types) for name in texts))


def _urn(name: str | Urn, types: tuple[str, ...]) -> Urn:
    if isinstance(name, str) and not name.startswith("urn:"):
        if not name.strip() or name != name.strip():
            raise InvalidInput(f"{name!r} is not the id of a {types[0]}; give its id or its URN")
        return Urn.parse(f"urn:li:{types[0]}:{name}")
    urn = Urn.parse(name)
    if urn.entity_type not in types:
        raise InvalidInput(f"{urn} is not a {' or '.join(types)}")
    return urn


def _escape(step: str) -> str:
    return step.replace("~", "~0").replace("/", "~1")
