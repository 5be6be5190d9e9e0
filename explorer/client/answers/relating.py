"""Edges between entities, with types or without."""

from collections.abc import Sequence
from typing import Any

from explorer.client.answers.shape import as_object
from explorer.client.records import Direction, Edge, Edges
from explorer.metadata.urn import Urn

__all__ = ["relationships"]


def relationships(body: Any, direction: Direction, types: Sequence[str]) -> Edges:
    """Endpoint 10: with types where the server gives them, else those asked for."""
    answer = as_object(body, "relationships")
    listed = answer.get("relationships")
    if isinstance(listed, list):
        edges = [Edge(entry["type"], Urn.parse(entry["entity"])) for entry in listed]
    else:
        name = types[0] if len(types) == 1 else ""
        edges = [Edge(name, Urn.parse(text)) for text in answer.get("entities") or ()]
    return Edges(direction, int(answer.get("total", len(edges))), tuple(edges))
