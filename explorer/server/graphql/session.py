"""One GraphQL request: the entities it has read, its limits, its edits, and their condition.

Each edit reads and writes in one transaction, so concurrent edits never overwrite each other.

Beside its document a request may carry `extensions: {"ifCurrent": {…}}`: the value, as its sender
last read it, of the one thing that the document edits. It is compared with the stored value in the
same transaction as the edit, so no other write can come in between. An edit whose condition fails
is rolled back, unless it had nothing to change: then it was made before, most likely by the same
request, whose answer was lost. The condition covers that thing alone, such as the description of
one column: other parts of the same aspect may change meanwhile. It is part of `extensions`, which
GraphQL over HTTP leaves to servers, because a DataHub server would refuse a document with an
additional field in an input.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import orjson
from graphql.language import FieldNode, FragmentSpreadNode, InlineFragmentNode, SelectionSetNode
from msgspec import Struct, ValidationError, convert

from explorer.errors import InvalidInput, NotFound, ServerFault
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from explorer.server.authentication import Access
from explorer.server.catalog import CatalogEngine
from explorer.server.dialect import Dialect
from explorer.server.failures import RequestRefusal, with_article
from explorer.server.graphql.object_types import (
    DESCRIBED,
    EDITABLE,
    PARENT_FIELDS,
    kind_of_owner,
)
from explorer.server.store import StoredAspect, StoreUnavailable, Transaction, version_of

if TYPE_CHECKING:
    from graphql import GraphQLResolveInfo

    from explorer.server.restli import NotedChange

_COLUMNS = "editableSchemaMetadata"
_LONGEST_RUN = 500
_MOST_CHANGES = 10_000
_TEXTS: Mapping[str, tuple[str, str]] = {
    **{entity_type: (aspect, "description") for entity_type, aspect in EDITABLE.items()},
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
_OF_NAMES: Mapping[str, str] = {
    "domain": "domainProperties",
    "glossaryTerm": "glossaryTermInfo",
    "glossaryNode": "glossaryNodeInfo",
    "tag": "tagProperties",
    "dataProduct": "dataProductProperties",
}
_OF_COLUMNS = ("description", "tags", "terms")
_Value = str | list[str] | dict[str, Any] | None


class IfCurrent(Struct, frozen=True, forbid_unknown_fields=True):
    """The condition of an edit: the value of an entity, or of its `column`, as the sender of the
    edit last read it.

    `value` is a string for a description or a name; the URN of a glossary group or domain for a
    parent; a list in any order for the others: of URNs for tags, terms and the domain, of `<URN>
    <kind>` for owners, of `<address> <label>` for links. For a deprecation it is an object with
    `note`, `decommissionTime` and `replacement`. Empty or null means that there is no value.
    """

    urn: str
    what: Literal[
        "description", "tags", "terms", "owners", "domain", "links", "deprecation", "name", "parent"
    ]
    value: _Value = None
    column: str | None = None

    def compare(self, transaction: Transaction) -> "EditConflict | None":
        """Return None if the stored value is the expected one, else the conflict, for the caller to
        raise.

        Raises `InvalidUrn`, and `InvalidInput` if the entity cannot have such a value.
        """
        aspect = self._aspect()
        stored = transaction.aspect(self.urn, aspect)
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
        return EditConflict(self, current)

    def _aspect(self) -> str:
        urn = Urn.parse(self.urn)
        if self.column is not None:
            if urn.entity_type != "dataset" or self.what not in _OF_COLUMNS:
                raise InvalidInput(f"ifCurrent: a {urn.entity_type} has no column with {self.what}")
            return _COLUMNS
        if self.what in ("name", "parent"):
            fields = PARENT_FIELDS if self.what == "parent" else _OF_NAMES
            if urn.entity_type not in fields:
                raise InvalidInput(f"ifCurrent: a {urn.entity_type} has no {self.what}")
            return _OF_NAMES[urn.entity_type]
        aspect = _ASPECTS.get(self.what) or _TEXTS.get(urn.entity_type, _NO_TEXT)[0]
        if not aspect:
            raise InvalidInput(
                f"ifCurrent compares the description of a {', '.join(_TEXTS)}, "
                f"not that of a {urn.entity_type}; write its aspect with If-Version-Match"
            )
        return aspect

    def _read(self, value: Mapping[str, Any]) -> _Value:
        """Return the value to compare, read from the value of its aspect."""
        if self.column is not None:
            infos = value.get("editableSchemaFieldInfo") or ()
            info: Mapping[str, Any]
            info = next((info for info in infos if info.get("fieldPath") == self.column), {})
            if self.what != "description":
                info = info.get(_ASPECTS[self.what]) or {}
            value = info
        match self.what:
            case "description":
                urn = Urn.parse(self.urn)
                of_column = self.column is not None
                field = "description" if of_column else _TEXTS[urn.entity_type][1]
                return value.get(field) or ""
            case "name":
                return value.get("name") or ""
            case "parent":
                return value.get(PARENT_FIELDS[Urn.parse(self.urn).entity_type]) or ""
            case "tags":
                return [tag["tag"] for tag in value.get("tags") or ()]
            case "terms":
                return [term["urn"] for term in value.get("terms") or ()]
            case "owners":
                return [
                    f"{owner['owner']} {kind_of_owner(owner)}"
                    for owner in value.get("owners") or ()
                ]
            case "domain":
                return list(value.get("domains") or ())
            case "links":
                links = value.get("elements") or ()
                return [f"{link['url']} {link.get('description') or ''}" for link in links]
            case "deprecation":
                if value.get("deprecated") is not True:
                    return None
                fields = {key: value.get(key) for key in ("decommissionTime", "replacement")}
                details = {key: part for key, part in fields.items() if part is not None}
                return {"note": value.get("note") or "", **details}


class EditConflict(RequestRefusal):
    """An edit was refused because the stored value is not the expected one. `current` holds the
    stored `value` and, if the aspect is stored, `version`, `actor` and `time` of its last write."""

    def __init__(self, expected: IfCurrent, current: dict[str, Any]) -> None:
        column = "" if expected.column is None else f"{expected.column} of "
        super().__init__(
            409,
            f"the {expected.what} of {column}{expected.urn} has changed since you read it, and "
            "nothing was written: read it again",
        )
        self.current = current


def read_run(extensions: Any) -> str | None:
    """Return the name of the run in a request's `extensions`, None if there is none.

    Raises `InvalidInput` for a name that is not a line of 1 to 500 printable characters.
    """
    run = extensions.get("run") if isinstance(extensions, Mapping) else None
    if run is None:
        return None
    if not isinstance(run, str) or not run.isprintable() or not 0 < len(run) <= _LONGEST_RUN:
        raise InvalidInput(
            f"extensions.run must be a single line of 1 to {_LONGEST_RUN} characters"
        )
    return run


def read_if_current(extensions: Any) -> IfCurrent | None:
    """Return the condition of the edit in a request's `extensions`, None if there is none.

    Raises `InvalidInput` for one that cannot be parsed.
    """
    if extensions is not None and not isinstance(extensions, Mapping):
        raise InvalidInput("the parameter 'extensions' must be an object")
    if_current = (extensions or {}).get("ifCurrent")
    if if_current is None:
        return None
    try:
        return convert(if_current, IfCurrent)
    except ValidationError as error:
        raise InvalidInput(f"extensions.ifCurrent cannot be read: {error}") from None


def _comparable(value: _Value) -> Any:
    """Return a form of a value that compares equal if the meaning is the same: lists have no order,
    and every empty value is None."""
    return frozenset(value) if isinstance(value, list) and value else value or None


Info: TypeAlias = "GraphQLResolveInfo[GraphQLContext]"
Resolver: TypeAlias = Callable[..., Any]

# The fields of any entity that follow from its URN, without its aspects.
_IN_THE_URN = frozenset({"urn", "type", "__typename", "username", "jobId", "chartId", "flowId"})
# The first part of their key is not a platform.
_NAMESPACED = frozenset({"mlFeature", "mlPrimaryKey", "schemaField"})
# The limits of one request. Answering this many fields takes about two seconds.
MAX_FIELDS = 250_000
MAX_ENTITIES = 100_000
MAX_SECONDS = 30.0
# More entities than this are read on another thread instead of the event loop's.
_MANY = 50


class OverBudget(InvalidInput):
    """A request exceeded its budget of fields, entities or time."""


class RequestBudget:
    """The remaining budget of a request, counted down while it is answered.

    The methods raise `OverBudget` once the budget is exceeded, and on every call from then on;
    `exceeded` is that error. The time runs from the first call.
    """

    __slots__ = ("_deadline", "_entities", "_fields", "_seconds", "exceeded")

    def __init__(
        self,
        fields: float = MAX_FIELDS,
        entities: float = MAX_ENTITIES,
        seconds: float = MAX_SECONDS,
    ) -> None:
        self._fields = fields
        self._entities = entities
        self._seconds = seconds
        self._deadline: float | None = None
        self.exceeded: OverBudget | None = None

    def answer(self, fields: int) -> None:
        """Count fields about to be answered."""
        now = time.monotonic()
        if self._deadline is None:
            self._deadline = now + self._seconds
        self._fields -= fields
        if self.exceeded is None:
            if self._fields < 0:
                self.exceeded = _too_much(f"its answer has more than {MAX_FIELDS:,} fields")
            elif now > self._deadline:
                self.exceeded = _too_much(f"it took more than {MAX_SECONDS:g} seconds")
        if self.exceeded is not None:
            raise self.exceeded

    def read_documents(self, documents: int) -> None:
        """Count documents of timeseries aspects that were read. Ten count as one entity, because
        reading them takes as long."""
        self.read(documents / 10)

    def read(self, entities: float) -> None:
        """Count entities about to be read."""
        self._entities -= entities
        if self._entities < 0 and self.exceeded is None:
            self.exceeded = _too_much(f"it reads more than {MAX_ENTITIES:,} entities")
        self.answer(0)


def _too_much(why: str) -> OverBudget:
    return OverBudget(f"the query was stopped: {why}; ask for fewer fields or smaller pages")


class GraphQLContext:
    """The context of one request: the entities it has read, its caller and dialect, its budget, the
    condition of its edit, and the `changes` it makes, for the audit log."""

    def __init__(
        self,
        catalog: CatalogEngine,
        access: Access,
        if_current: "IfCurrent | None" = None,
        dialect: Dialect = "plain",
        budget: RequestBudget | None = None,
        run: str | None = None,
        changes: "list[NotedChange] | None" = None,
    ) -> None:
        self.changes: list[NotedChange] = [] if changes is None else changes
        self.catalog = catalog
        self.run = run
        self.dialect = dialect
        self.access = access
        self.actor = access.actor or catalog.intake.default_actor
        self.if_current = if_current
        self.budget = budget or RequestBudget()
        self._nodes: dict[str, Node] = {}
        self._wanted: list[Node] = []
        self._reading: asyncio.Task[None] | None = None

    def node(self, urn: Urn | str) -> "Node":
        """Return the entity with a URN, stored or not. Raises `InvalidUrn`."""
        text = str(urn)
        node = self._nodes.get(text)
        if node is None:
            node = self._nodes[text] = Node(Urn.parse(urn), self.catalog)
        return node

    def find_entity(
        self, text: str, entity_type: str | None = None
    ) -> "Node | Awaitable[Node | None] | None":
        """Return the entity with a URN if it is stored, else None; an awaitable of that if the
        store is not local. Raises `InvalidUrn`, and `InvalidInput` for a URN of another type."""
        urn = Urn.parse(text)
        if entity_type is not None and urn.entity_type != entity_type:
            raise InvalidInput(f"{text} is not {with_article(entity_type)}")
        self.catalog.intake.check_urn(urn)
        node = self.node(urn)
        if node.is_read or self.catalog.store.is_local:
            return node if node.exists else None
        return self._read_if_stored(node)

    async def _read_if_stored(self, node: "Node") -> "Node | None":
        await self._read(node)
        return node if node.exists else None

    def refer(self, urn: str, info: Info) -> "Node | Awaitable[Node]":
        """Return the entity with a URN, or an awaitable of it if its aspects must be read first
        because the document selects fields that do not follow from the URN.

        The entities referred to at one level of the document are read together. Raises
        `InvalidUrn`.
        """
        node = self.node(urn)
        return node if node.is_read or _shallow(info) else self._read(node)

    async def read_edited(self, urn: str, info: Info) -> "Node":
        """Return the entity of an edit that was saved, read as `refer` does.

        Raises `ServerFault` if the store cannot be reached: after `StoreUnavailable` the caller
        would repeat the edit.
        """
        reference = self.refer(urn, info)
        try:
            return reference if isinstance(reference, Node) else await reference
        except StoreUnavailable as error:
            raise ServerFault(f"the change was saved, but not read back: {error}") from error

    def refer_all(self, urns: Iterable[str], info: Info) -> "list[Node | Awaitable[Node]]":
        """Return the entities with several URNs, in order, each as `refer` returns it; anything
        that is not a URN is left out."""
        nodes = [self.node(urn) for urn in Urn.parse_all(urns)]
        if _shallow(info):
            return list(nodes)
        return [node if node.is_read else self._read(node) for node in nodes]

    async def read(self, urns: Iterable[str]) -> "list[Node]":
        """Return entities with their aspects, in the order of `urns`. Raises `InvalidUrn`."""
        nodes = [self.node(urn) for urn in urns]
        await self._read_now([node for node in nodes if not node.is_read])
        return nodes

    def forget(self) -> None:
        """Forget the entities read so far; called after a write, so that they are read again."""
        self._nodes.clear()

    async def _read(self, node: "Node") -> "Node":
        # The task starts when the event loop is free again: by then every entity of this level of
        # the document has been added, and all are read together.
        self._wanted.append(node)
        if self._reading is None:
            self._reading = asyncio.get_running_loop().create_task(self._read_wanted())
        await self._reading
        return node

    async def _read_wanted(self) -> None:
        nodes, self._wanted, self._reading = self._wanted, [], None
        await self._read_now([node for node in nodes if not node.is_read])

    async def _read_now(self, nodes: "list[Node]") -> None:
        urns = list({str(node.urn): None for node in nodes})
        self.budget.read(len(urns))
        read_aspects = self.catalog.read if len(urns) > _MANY else self.catalog.read_few
        aspects_by_urn = await read_aspects(self.catalog.store.aspects, urns)
        for node in nodes:
            node.take(aspects_by_urn.get(str(node.urn), ()))


class Node:
    """An entity. All its aspects are read together when the first of them is needed."""

    __slots__ = ("_catalog", "_decoded", "_stored", "urn")

    def __init__(self, urn: Urn, catalog: CatalogEngine) -> None:
        self.urn = urn
        self._catalog = catalog
        self._stored: dict[str, StoredAspect] | None = None
        self._decoded: dict[str, dict[str, Any]] = {}

    @property
    def is_read(self) -> bool:
        """Whether the aspects have been read."""
        return self._stored is not None

    @property
    def exists(self) -> bool:
        """Whether any aspect is stored."""
        return bool(self.stored)

    @property
    def is_removed(self) -> bool:
        """Whether the entity is soft-deleted."""
        return (self.aspect("status") or {}).get("removed") is True

    @property
    def stored(self) -> dict[str, StoredAspect]:
        """The latest aspects by name, not decoded. Reads them if they have not been read."""
        if self._stored is None:
            text = str(self.urn)
            self.take(self._catalog.store.aspects([text]).get(text, ()))
        return self._stored or {}

    def take(self, aspects: Iterable[StoredAspect]) -> None:
        """Set the latest aspects, and mark the entity as read."""
        self._stored = {aspect.name: aspect for aspect in aspects}

    def aspect(self, name: str) -> dict[str, Any] | None:
        """Return the latest value of an aspect, None if it is not stored."""
        value = self._decoded.get(name)
        if value is None:
            stored = self.stored.get(name)
            if stored is None:
                return None
            value = self._decoded[name] = orjson.loads(stored.value)
        return value

    def get(self, name: str) -> Any:
        """Return a part of the URN's key or an aspect, by its name in the registry."""
        registry, entity_type = self._catalog.registry, self.urn.entity_type
        key_fields = registry.key_fields(entity_type) if entity_type in registry.entities else ()
        return self.part(key_fields.index(name)) if name in key_fields else self.aspect(name)

    def values(self) -> dict[str, dict[str, Any]]:
        """Return the latest value of every aspect by name."""
        return {name: self.aspect(name) or {} for name in self.stored}

    def part(self, at: int) -> str:
        """Return one part of the URN's key, or the name in the URN if the key has fewer parts."""
        parts = self.urn.parts
        return parts[at] if at < len(parts) else self.urn.name

    def platform(self) -> str | None:
        """Return the URN of the platform: the one in the key, else the one in the aspect
        `dataPlatformInstance`, else None."""
        platform_name = None if self.urn.entity_type in _NAMESPACED else self.urn.platform
        if platform_name is not None:
            return str(Urn.of("dataPlatform", platform_name))
        instance = self.aspect("dataPlatformInstance")
        platform = (instance or {}).get("platform")
        return str(platform) if platform else None


def _shallow(info: Info) -> bool:
    """Return whether a document selects only fields of an entity that follow from its URN."""
    return all(_only_urn(node.selection_set, info) for node in info.field_nodes)


def _only_urn(selection_set: SelectionSetNode | None, info: Info) -> bool:
    for selection in selection_set.selections if selection_set else ():
        match selection:
            case FieldNode():
                if selection.name.value not in _IN_THE_URN:
                    return False
            case InlineFragmentNode():
                if not _only_urn(selection.selection_set, info):
                    return False
            case FragmentSpreadNode():
                fragment = info.fragments[selection.name.value]
                if not _only_urn(fragment.selection_set, info):
                    return False
            case _:
                return False
    return True


Given = Mapping[str, Any]


class EditTransaction:
    """The transaction of one edit by one actor. Any exception rolls back the whole edit."""

    def __init__(
        self,
        transaction: Transaction,
        catalog: CatalogEngine,
        actor: str,
        dialect: Dialect = "plain",
        run: str | None = None,
    ) -> None:
        self._transaction = transaction
        self._system = {"runId": run} if run else None
        self._catalog = catalog
        self.actor = actor
        self.dialect = dialect
        self.has_written = False
        self._changes = 0
        self._now_millis = time.time_ns() // 1_000_000

    @property
    def stamp(self) -> dict[str, Any]:
        """The audit stamp of the edit: its time in milliseconds since 1970, and its actor."""
        return {"time": self._now_millis, "actor": self.actor}

    def stored_entity(self, text: str) -> Urn:
        """Return the URN of an entity to edit. Raises `InvalidUrn`, and `NotFound` if the entity is
        not stored."""
        urn = Urn.parse(text)
        if not self.exists(urn):
            raise NotFound(f"{urn} does not exist.")
        return urn

    def stored_reference(self, text: str, what: str, *types: str) -> str:
        """Return the URN of an entity that an edit refers to. `what` names it in error messages.

        Raises `InvalidUrn`, `InvalidInput` if it is of none of the entity types, and `NotFound` if
        it is not stored.
        """
        urn = Urn.parse(text)
        if urn.entity_type not in types:
            raise InvalidInput(f"{urn} is not {with_article(what)}")
        if not self.exists(urn):
            raise NotFound(f"{what.capitalize()} {urn} does not exist.")
        return str(urn)

    def exists(self, urn: Urn) -> bool:
        """Return whether an entity is stored."""
        return bool(self._transaction.existing([str(urn)]))

    def sources(self, urn: str, relationship: str) -> list[Urn]:
        """Return the entities that point at an entity with a relationship, 1,000 at most."""
        _, edges = self._transaction.edges([urn], "INCOMING", [relationship], 0, 1_000)
        return [Urn.parse(edge.urn) for edge in edges]

    def read(self, urn: Urn, aspect: str) -> dict[str, Any]:
        """Return the latest value of an aspect, {} if it is not stored."""
        stored = self._transaction.aspect(str(urn), aspect)
        value: dict[str, Any] = orjson.loads(stored.value) if stored else {}
        return value

    def write(self, urn: Urn, aspect: str, part: Given) -> None:
        """Set some keys of an aspect; a key whose value is None is removed. Writes nothing if
        nothing changes. Sets `created` and `lastModified` if the aspect's record has them.

        Raises the same errors as `Intake.check` if the entity type does not have the aspect.
        """
        stored = self.read(urn, aspect)
        if stored and all(stored.get(key) == value for key, value in part.items()):
            return
        value = {key: new for key, new in (stored | dict(part)).items() if new is not None}
        fields = self._catalog.registry.records[self._catalog.registry.aspect(aspect).record].fields
        if "lastModified" in fields and fields["lastModified"].base.endswith(".AuditStamp"):
            value["lastModified"] = self.stamp
            if "created" in fields:
                value = {"created": self.stamp, **value}
        self._put(Proposal(urn, aspect, value, actor=self.actor, system=self._system))

    def append(self, urn: Urn, aspect: str, point: Given) -> None:
        """Add a document to a timeseries aspect. Its time is now unless the document has one.

        Raises the same errors as `Intake.check` if the entity type does not have the aspect.
        """
        value = {"timestampMillis": self._now_millis}
        value |= {key: content for key, content in point.items() if content is not None}
        self._put(Proposal(urn, aspect, value, actor=self.actor, system=self._system))

    def _put(self, proposal: Proposal) -> None:
        self._changes += 1
        if self._changes > _MOST_CHANGES:
            raise InvalidInput(
                f"an edit may change {_MOST_CHANGES:,} aspects at most; name fewer entities at once"
            )
        intake = self._catalog.intake
        # GraphQL mutations are DataHub's, so they are checked like DataHub's in both dialects.
        change = intake.check(proposal, self.actor, "datahub")
        intake.apply(self._transaction, change, self._now_millis)
        self.has_written = True

    def remove(self, urn: Urn) -> None:
        """Delete an entity for good."""
        intake = self._catalog.intake
        key = self._catalog.registry.entity(urn.entity_type).key
        bounds = (None, None)
        intake.remove(self._transaction, urn, key, bounds, self._now_millis, self.actor)
        self.has_written = True

    def is_own(self, urn: Urn) -> bool:
        """Return whether the actor of the edit wrote every version of every aspect of an entity."""
        text = str(urn)
        names = [aspect.name for aspect in self._transaction.aspects([text])[text]]
        versions = self._transaction.histories([text], names)[text]
        return all(version.actor == self.actor for version in versions)

    def columns(self, urn: Urn) -> list[str]:
        """Return the field paths of a dataset's columns, as ingested."""
        fields = self.read(urn, "schemaMetadata").get("fields") or ()
        return [field["fieldPath"] for field in fields if "fieldPath" in field]

    def change_column(
        self, urn: Urn, path: str, change: Callable[[dict[str, Any]], dict[str, Any]]
    ) -> None:
        """Change the edited information of a column. Raises `NotFound`, with the nearest paths, if
        the schema has no column with that path."""
        paths = self.columns(urn)
        if path not in paths:
            near = get_close_matches(path, paths, n=3)
            hint = f" Nearest: {', '.join(near)}" if near else ""
            raise NotFound(f"Field {path} does not exist in the datasets schema.{hint}")
        aspect = "editableSchemaMetadata"
        infos = self.read(urn, aspect).get("editableSchemaFieldInfo") or []
        if not any(info.get("fieldPath") == path for info in infos):
            infos = [*infos, {"fieldPath": path}]
        changed = [change(info) if info.get("fieldPath") == path else info for info in infos]
        self.write(urn, aspect, {"editableSchemaFieldInfo": changed})

    def change_list(
        self,
        urn: Urn,
        place: tuple[str, str],
        change: Callable[[Sequence[dict[str, Any]]], list[dict[str, Any]]],
        **beside: Any,
    ) -> None:
        """Change the list in one field of an aspect; `place` is the aspect and the field. The other
        keys, `beside`, are written only if the list changed."""
        aspect, field = place
        stored = self.read(urn, aspect).get(field) or []
        changed = change(stored)
        if changed != stored:
            self.write(urn, aspect, {field: changed, **beside})


def edit(
    change: Callable[[EditTransaction, Given], Any], argument: str | None = "input"
) -> Resolver:
    """Return the resolver of a mutation that returns the result of `change`, or true if that is
    None.

    `change` gets the value of the argument `argument`, or all arguments if that is None.
    """

    async def resolve(_root: Any, info: Info, **given: Any) -> Any:
        arguments = given[argument] if argument else given
        return await _run(info, lambda tx: change(tx, arguments), default=True)

    return resolve


def edit_giving_entity(
    change: Callable[[EditTransaction, Given], str], argument: str | None = "input"
) -> Resolver:
    """Return the resolver of a mutation, see `edit`, that returns the entity whose URN is the
    result of `change`."""

    async def resolve(_root: Any, info: Info, **given: Any) -> Any:
        arguments = given[argument] if argument else given
        urn = await _run(info, lambda tx: change(tx, arguments), default=None)
        return await info.context.read_edited(urn, info)

    return resolve


def edit_of(
    change: Callable[[EditTransaction, Urn, Given], None],
    argument: str = "urn",
    gives: Callable[[Node], Any] | None = None,
) -> Resolver:
    """Return the resolver of a mutation that edits the entity whose URN is in `argument`.

    The mutation returns the result of `gives` for the entity. Without `gives` it returns the entity
    if `argument` is `urn`, else true.
    """

    async def resolve(_root: Any, info: Info, **given: Any) -> Any:
        text = given[argument]
        arguments = given.get("input", given)
        await _run(info, lambda tx: change(tx, tx.stored_entity(text), arguments), default=None)
        if gives is not None:
            return gives(info.context.node(text))
        return await info.context.read_edited(text, info) if argument == "urn" else True

    return resolve


async def _run(info: Info, job: Callable[[EditTransaction], Any], *, default: Any) -> Any:
    session = info.context
    catalog, actor, expected = session.catalog, session.actor, session.if_current

    def write(transaction: Transaction) -> Any:
        changed = expected.compare(transaction) if expected is not None else None
        tx = EditTransaction(transaction, catalog, actor, session.dialect, session.run)
        answer = job(tx)
        if changed is not None and tx.has_written:
            raise changed
        return answer

    answer = await catalog.write(write)
    session.forget()
    return default if answer is None else answer
