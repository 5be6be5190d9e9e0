"""Lineage and relationships of a catalog as networkx graphs: reading, layout, export."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from explorer.graph.api import AsyncGraphs, Graphs
    from explorer.graph.columns import column_graph, column_urn, read_columns, split_column
    from explorer.graph.impact import (
        Affected,
        Certainty,
        Grouping,
        Impact,
        QueryUsage,
        find_impact,
        impact_of,
        read_usage,
    )
    from explorer.graph.layout import Box, Layout, Route, Spacing, lay_out, lay_out_pairs
    from explorer.graph.lineage import (
        Extent,
        Side,
        WalkLimits,
        lineage_graph,
        merged,
        read_lineage,
        walk,
    )
    from explorer.graph.nodes import contracted, matches, select
    from explorer.graph.paths import (
        Ancestor,
        Paths,
        common_ancestors,
        cycles,
        find_common_ancestors,
        find_paths,
        shortest_paths,
    )

__all__ = [
    "Affected",
    "Ancestor",
    "AsyncGraphs",
    "Box",
    "Certainty",
    "Extent",
    "Graphs",
    "Grouping",
    "Impact",
    "Layout",
    "Paths",
    "QueryUsage",
    "Route",
    "Side",
    "Spacing",
    "WalkLimits",
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

# Imported when first used, because layout and pictures need no networkx.
_NAMES = {
    "api": ("AsyncGraphs", "Graphs"),
    "columns": ("column_graph", "column_urn", "read_columns", "split_column"),
    "impact": (
        "Affected",
        "Certainty",
        "Grouping",
        "Impact",
        "QueryUsage",
        "find_impact",
        "impact_of",
        "read_usage",
    ),
    "layout": ("Box", "Layout", "Route", "Spacing", "lay_out", "lay_out_pairs"),
    "lineage": (
        "Extent",
        "Side",
        "WalkLimits",
        "lineage_graph",
        "merged",
        "read_lineage",
        "walk",
    ),
    "nodes": ("contracted", "matches", "select"),
    "paths": (
        "Ancestor",
        "Paths",
        "common_ancestors",
        "cycles",
        "find_common_ancestors",
        "find_paths",
        "shortest_paths",
    ),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
