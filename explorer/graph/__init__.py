"""Lineage and relationships of a catalog as networkx graphs: reading, layout, export."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from explorer.graph.analysis import (
        Affected,
        Ancestor,
        AsyncGraphs,
        Certainty,
        Graphs,
        Grouping,
        Impact,
        Paths,
        QueryUsage,
        common_ancestors,
        cycles,
        find_common_ancestors,
        find_impact,
        find_paths,
        impact_of,
        read_usage,
        shortest_paths,
    )
    from explorer.graph.layout import Box, Layout, Route, Spacing, lay_out, lay_out_pairs
    from explorer.graph.lineage import (
        Extent,
        Side,
        WalkLimits,
        column_graph,
        lineage_graph,
        merged,
        read_columns,
        read_lineage,
        walk,
    )
    from explorer.graph.nodes import contracted, matches, select, simplify_attributes
    from explorer.metadata.fieldpath import column_urn, split_column

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
    "simplify_attributes",
    "split_column",
    "walk",
]

# Imported when first used, in this order: layout and nodes need no networkx.
_MODULES = ("nodes", "layout", "lineage", "analysis")


def __getattr__(name: str) -> Any:
    if name in __all__:
        for module in map(import_module, (f"{__name__}.{module}" for module in _MODULES)):
            if name in vars(module):
                return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
