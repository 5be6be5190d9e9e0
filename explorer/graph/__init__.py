"""Graphs of what the catalog holds: walked, asked, drawn, and written for other programs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from explorer.graph.columns import column_graph, column_urn, read_columns, split_column
    from explorer.graph.faces import AsyncGraphs, Graphs
    from explorer.graph.impact import Affected, Certainty, Grouping, Impact, find_impact, impact_of
    from explorer.graph.layout import Box, Layout, Route, Spacing, lay_out, lay_out_pairs
    from explorer.graph.lineage import Extent, lineage_graph, merged, read_lineage
    from explorer.graph.paths import (
        Ancestor,
        Paths,
        common_ancestors,
        cycles,
        find_common_ancestors,
        find_paths,
        shortest_paths,
    )
    from explorer.graph.selecting import contracted, matches, select
    from explorer.graph.usage import Usage, read_usage
    from explorer.graph.walking import Budget, Side, walk

__all__ = [
    "Affected",
    "Ancestor",
    "AsyncGraphs",
    "Box",
    "Budget",
    "Certainty",
    "Extent",
    "Graphs",
    "Grouping",
    "Impact",
    "Layout",
    "Paths",
    "Route",
    "Side",
    "Spacing",
    "Usage",
    "column_graph",
    "column_urn",
    "common_ancestors",
    "contracted",
    "cycles",
    "find_common_ancestors",
    "find_impact",
    "find_paths",
    "impact_of",
    "lay_out",
    "lay_out_pairs",
    "lineage_graph",
    "matches",
    "merged",
    "read_columns",
    "read_lineage",
    "read_usage",
    "select",
    "shortest_paths",
    "split_column",
    "walk",
]

# Drawing needs no networkx, so what does is imported when it is asked for.
_NAMES = {
    "columns": ("column_graph", "column_urn", "read_columns", "split_column"),
    "faces": ("AsyncGraphs", "Graphs"),
    "impact": ("Affected", "Certainty", "Grouping", "Impact", "find_impact", "impact_of"),
    "layout": ("Box", "Layout", "Route", "Spacing", "lay_out", "lay_out_pairs"),
    "lineage": ("Extent", "lineage_graph", "merged", "read_lineage"),
    "paths": (
        "Ancestor",
        "Paths",
        "common_ancestors",
        "cycles",
        "find_common_ancestors",
        "find_paths",
        "shortest_paths",
    ),
    "selecting": ("contracted", "matches", "select"),
    "usage": ("Usage", "read_usage"),
    "walking": ("Budget", "Side", "walk"),
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"explorer.graph.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
