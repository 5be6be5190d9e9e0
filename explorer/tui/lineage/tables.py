"""Lineage as tables for files: what depends on an entity, and what is around it."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

from explorer.views.table import Cell, Row, Table

if TYPE_CHECKING:
    import networkx as nx

    from explorer.graph import Impact

__all__ = ["of_graph", "of_impact"]

_AFFECTED: Final = (
    "urn",
    "name",
    "type",
    "platform",
    "hops",
    "owners",
    "domain",
    "columns",
    "certainty",
    "queries",
    "users",
    "exists",
    "removed",
    "deprecated",
)
_AROUND: Final = ("urn", "name", "type", "platform", "hops", "made_from")


def of_impact(name: str, impact: "Impact") -> Table:
    """What depends on an entity, the most used first; use is that of the last 30 days."""
    rows: list[Row] = [
        tuple(getattr(one, column) for column in _AFFECTED) for one in impact.affected
    ]
    return Table.of(f"what depends on {name}", _AFFECTED, rows)


def of_graph(name: str, graph: "nx.DiGraph") -> Table:
    """Every entity or column of a graph, as far upstream (below 0) or downstream as it is, with
    what it is made from directly."""
    rows: list[Row] = [
        _of_node(urn, said, list(graph.predecessors(urn))) for urn, said in graph.nodes(data=True)
    ]
    return Table.of(f"{name} lineage", _AROUND, rows)


def _of_node(urn: str, said: Mapping[str, Any], above: Collection[str]) -> Row:
    def held(name: str) -> Cell:
        found = said.get(name)
        return found if isinstance(found, str | int) else None

    called = held("column") or held("name")
    return (urn, called, held("kind") or held("type"), held("platform"), held("hops"), tuple(above))
