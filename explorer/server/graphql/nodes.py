"""Entities as GraphQL reads them: aspects are fetched once a request and decoded
when asked for."""

from typing import Any

import orjson

from explorer.errors import InvalidInput
from explorer.metadata.urn import Urn
from explorer.server.catalog import Catalog

__all__ = ["Node", "Session"]


class Session:
    """One request: what it has read so far, and who asks."""

    def __init__(self, catalog: Catalog, actor: str) -> None:
        self.catalog = catalog
        self.actor = actor
        self._nodes: dict[str, Node] = {}

    def node(self, urn: Urn | str) -> "Node":
        """The entity of that URN, stored or not; raises `InvalidUrn`."""
        text = str(urn)
        found = self._nodes.get(text)
        if found is None:
            found = self._nodes[text] = Node(Urn.parse(urn), self.catalog)
        return found

    def existing(self, text: str, entity_type: str) -> "Node | None":
        """The entity if it is stored; raises `InvalidInput` for a URN of another type."""
        urn = Urn.parse(text)
        if urn.entity_type != entity_type:
            raise InvalidInput(f"{text} is no {entity_type}")
        self.catalog.intake.check_urn(urn)
        node = self.node(urn)
        return node if node.exists else None

    def forget(self, urn: Urn) -> None:
        """Read an entity anew the next time: it was written to."""
        self._nodes.pop(str(urn), None)


class Node:
    """One entity. Its aspects are read together at the first question about any."""

    __slots__ = ("_catalog", "_decoded", "_stored", "urn")

    def __init__(self, urn: Urn, catalog: Catalog) -> None:
        self.urn = urn
        self._catalog = catalog
        self._stored: dict[str, bytes] | None = None
        self._decoded: dict[str, dict[str, Any]] = {}

    @property
    def exists(self) -> bool:
        """Whether any aspect is stored."""
        return bool(self._aspects())

    def aspect(self, name: str) -> dict[str, Any] | None:
        """The latest value of an aspect."""
        found = self._decoded.get(name)
        if found is None:
            value = self._aspects().get(name)
            if value is None:
                return None
            found = self._decoded[name] = orjson.loads(value)
        return found

    def _aspects(self) -> dict[str, bytes]:
        if self._stored is None:
            text = str(self.urn)
            stored = self._catalog.store.aspects([text]).get(text, ())
            self._stored = {aspect.name: aspect.value for aspect in stored}
        return self._stored
