"""Edges between entities."""

from dataclasses import dataclass
from typing import Literal

from explorer.metadata.urn import Urn

__all__ = ["Direction", "Edge", "Edges"]

Direction = Literal["INCOMING", "OUTGOING"]


@dataclass(frozen=True, slots=True)
class Edge:
    """One edge of an entity, to the entity on its other side."""

    relationship: str
    urn: Urn


@dataclass(frozen=True, slots=True)
class Edges:
    """Edges of one entity in one direction; `total` counts them all."""

    direction: Direction
    total: int
    edges: tuple[Edge, ...] = ()

    def by_relationship(self) -> dict[str, tuple[Urn, ...]]:
        """The URNs under each relationship's name, names sorted, URNs in the server's order."""
        grouped: dict[str, list[Urn]] = {}
        for edge in self.edges:
            grouped.setdefault(edge.relationship, []).append(edge.urn)
        return {name: tuple(grouped[name]) for name in sorted(grouped)}
