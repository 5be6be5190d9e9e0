"""Graphs of what the catalog holds: walked, asked, drawn, and written for other programs."""

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
    from explorer.graph.relationships import Side, WalkLimits, walk
    from explorer.graph.selection import contracted, matches, select

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

# Drawing needs no networkx, so what does is imported when it is asked for.
_HOMES = {
    "Affected": "explorer.graph.impact",
    "Ancestor": "explorer.graph.paths",
    "AsyncGraphs": "explorer.graph.api",
    "Box": "explorer.graph.layout",
    "WalkLimits": "explorer.graph.relationships",
    "Certainty": "explorer.graph.impact",
    "Extent": "explorer.graph.lineage",
    "Graphs": "explorer.graph.api",
    "Grouping": "explorer.graph.impact",
    "Impact": "explorer.graph.impact",
    "Layout": "explorer.graph.layout",
    "Paths": "explorer.graph.paths",
    "Route": "explorer.graph.layout",
    "Side": "explorer.graph.relationships",
    "Spacing": "explorer.graph.layout",
    "QueryUsage": "explorer.graph.impact",
    "column_graph": "explorer.graph.columns",
    "column_urn": "explorer.graph.columns",
    "common_ancestors": "explorer.graph.paths",
    "contracted": "explorer.graph.selection",
    "cycles": "explorer.graph.paths",
    "find_common_ancestors": "explorer.graph.paths",
    "find_impact": "explorer.graph.impact",
    "find_paths": "explorer.graph.paths",
    "impact_of": "explorer.graph.impact",
    "lay_out": "explorer.graph.layout",
    "lay_out_pairs": "explorer.graph.layout",
    "lineage_graph": "explorer.graph.lineage",
    "matches": "explorer.graph.selection",
    "merged": "explorer.graph.lineage",
    "read_columns": "explorer.graph.columns",
    "read_lineage": "explorer.graph.lineage",
    "read_usage": "explorer.graph.impact",
    "select": "explorer.graph.selection",
    "shortest_paths": "explorer.graph.paths",
    "split_column": "explorer.graph.columns",
    "walk": "explorer.graph.relationships",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
