"""Entities as GraphQL reads them: aspects are fetched once a request, those of one level of a
document together, and decoded when asked for."""

import asyncio
import time
from collections.abc import Awaitable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

import orjson
from graphql.language import FieldNode, FragmentSpreadNode, InlineFragmentNode, SelectionSetNode

from explorer.errors import InvalidInput
from explorer.metadata.urn import Urn
from explorer.server.authentication import Access
from explorer.server.catalog import Catalog
from explorer.server.dialect import Dialect
from explorer.server.store import StoredAspect

if TYPE_CHECKING:
    from graphql import GraphQLResolveInfo

    from explorer.server.graphql.precondition import IfCurrent

__all__ = ["Budget", "Info", "Node", "Session", "TooMuch"]

Info: TypeAlias = "GraphQLResolveInfo[Session]"

# What is known of an entity without a look at its aspects, whatever its type.
_IN_THE_URN = frozenset({"urn", "type", "__typename", "username", "jobId", "chartId", "flowId"})
# The first part of their key is a name of their own choice.
_NAMESPACED = frozenset({"mlFeature", "mlPrimaryKey", "schemaField"})
# What one request may take. So many fields are answered in about two seconds.
MAX_FIELDS = 250_000
MAX_ENTITIES = 100_000
MAX_SECONDS = 30.0
# So many are read beside the event loop.
_MANY = 50


class TooMuch(InvalidInput):
    """A request took more than one may: fields answered, entities read, or time."""


class Budget:
    """What one request may still take, counted while it is answered. Any call may raise `TooMuch`;
    from then on all of them do, and `exceeded` is that error. The time runs from the first."""

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
        self.exceeded: TooMuch | None = None

    def answer(self, fields: int) -> None:
        """Count fields that are answered now."""
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
        """Count documents of timeseries aspects that are read now: ten take as long as an entity
        with its aspects."""
        self.read(documents / 10)

    def read(self, entities: float) -> None:
        """Count entities that are read now."""
        self._entities -= entities
        if self._entities < 0 and self.exceeded is None:
            self.exceeded = _too_much(f"it reads more than {MAX_ENTITIES:,} entities")
        self.answer(0)


def _too_much(why: str) -> TooMuch:
    return TooMuch(f"the query was ended: {why}; ask for fewer fields or smaller pages")


class Session:
    """One request: what it has read so far, who asks and in which dialect, and what its edit
    depends on."""

    def __init__(
        self,
        catalog: Catalog,
        access: Access,
        if_current: "IfCurrent | None" = None,
        dialect: Dialect = "plain",
        budget: Budget | None = None,
    ) -> None:
        self.catalog = catalog
        self.dialect = dialect
        self.access = access
        self.actor = access.actor or catalog.intake.default_actor
        self.if_current = if_current
        self.budget = budget or Budget()
        self._nodes: dict[str, Node] = {}
        self._wanted: list[Node] = []
        self._reading: asyncio.Task[None] | None = None

    def node(self, urn: Urn | str) -> "Node":
        """The entity of that URN, stored or not; raises `InvalidUrn`."""
        text = str(urn)
        found = self._nodes.get(text)
        if found is None:
            found = self._nodes[text] = Node(Urn.parse(urn), self.catalog)
        return found

    def existing(self, text: str, entity_type: str | None = None) -> "Node | None":
        """The entity if it is stored; raises `InvalidInput` for a URN of another type."""
        urn = Urn.parse(text)
        if entity_type is not None and urn.entity_type != entity_type:
            raise InvalidInput(f"{text} is no {entity_type}")
        self.catalog.intake.check_urn(urn)
        node = self.node(urn)
        return node if node.exists else None

    def refer(self, urn: str, info: Info) -> "Node | Awaitable[Node]":
        """The entity that a value names, ready to answer what the document asks of it.

        All that are referred to at one level of the document are read with one query. Raises
        `InvalidUrn`.
        """
        node = self.node(urn)
        return node if node.is_read or _shallow(info) else self._read(node)

    def refer_all(self, urns: Iterable[str], info: Info) -> "list[Node | Awaitable[Node]]":
        """`refer` for a list; what is no URN is left out."""
        nodes = [self.node(urn) for urn in Urn.parse_all(urns)]
        if _shallow(info):
            return list(nodes)
        return [node if node.is_read else self._read(node) for node in nodes]

    async def read(self, urns: Iterable[str]) -> "list[Node]":
        """Entities with their aspects, in the order asked for; raises `InvalidUrn`."""
        nodes = [self.node(urn) for urn in urns]
        await self._read_now([node for node in nodes if not node.is_read])
        return nodes

    def forget(self) -> None:
        """Read every entity anew the next time: something was written."""
        self._nodes.clear()

    async def _read(self, node: "Node") -> "Node":
        # The task begins when all that can be resolved without it has been.
        self._wanted.append(node)
        if self._reading is None:
            self._reading = asyncio.get_running_loop().create_task(self._read_wanted())
        await self._reading
        return node

    async def _read_wanted(self) -> None:
        wanted, self._wanted, self._reading = self._wanted, [], None
        await self._read_now([node for node in wanted if not node.is_read])

    async def _read_now(self, nodes: "list[Node]") -> None:
        urns = list({str(node.urn): None for node in nodes})
        self.budget.read(len(urns))
        read = self.catalog.store.aspects
        found = await self.catalog.offload(read, urns) if len(urns) > _MANY else read(urns)
        for node in nodes:
            node.take(found.get(str(node.urn), ()))


class Node:
    """One entity. Its aspects are read together at the first question about any."""

    __slots__ = ("_catalog", "_decoded", "_stored", "urn")

    def __init__(self, urn: Urn, catalog: Catalog) -> None:
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
    def stored(self) -> dict[str, StoredAspect]:
        """The latest aspects by name, undecoded."""
        if self._stored is None:
            text = str(self.urn)
            self.take(self._catalog.store.aspects([text]).get(text, ()))
        return self._stored or {}

    def take(self, aspects: Iterable[StoredAspect]) -> None:
        """Know these as the latest aspects."""
        self._stored = {aspect.name: aspect for aspect in aspects}

    def aspect(self, name: str) -> dict[str, Any] | None:
        """The latest value of an aspect."""
        found = self._decoded.get(name)
        if found is None:
            stored = self.stored.get(name)
            if stored is None:
                return None
            found = self._decoded[name] = orjson.loads(stored.value)
        return found

    def values(self) -> dict[str, dict[str, Any]]:
        """The latest value of every aspect."""
        return {name: self.aspect(name) or {} for name in self.stored}

    def part(self, at: int) -> str:
        """One part of the URN's key; of a key with fewer, the name."""
        parts = self.urn.parts
        return parts[at] if at < len(parts) else self.urn.name

    def platform(self) -> str | None:
        """The URN of the platform: the one in the key, else of the instance it came from."""
        named = None if self.urn.entity_type in _NAMESPACED else self.urn.platform
        if named is not None:
            return str(Urn.of("dataPlatform", named))
        instance = self.aspect("dataPlatformInstance")
        platform = (instance or {}).get("platform")
        return str(platform) if platform else None


def _shallow(info: Info) -> bool:
    """Whether a document asks nothing of an entity that its URN does not say."""
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
