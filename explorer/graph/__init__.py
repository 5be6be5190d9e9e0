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
_HOMES = {
    "Affected": "explorer.graph.impact",
    "Ancestor": "explorer.graph.paths",
    "AsyncGraphs": "explorer.graph.faces",
    "Box": "explorer.graph.layout",
    "Budget": "explorer.graph.walking",
    "Certainty": "explorer.graph.impact",
    "Extent": "explorer.graph.lineage",
    "Graphs": "explorer.graph.faces",
    "Grouping": "explorer.graph.impact",
    "Impact": "explorer.graph.impact",
    "Layout": "explorer.graph.layout",
    "Paths": "explorer.graph.paths",
    "Route": "explorer.graph.layout",
    "Side": "explorer.graph.walking",
    "Spacing": "explorer.graph.layout",
    "Usage": "explorer.graph.usage",
    "column_graph": "explorer.graph.columns",
    "column_urn": "explorer.graph.columns",
    "common_ancestors": "explorer.graph.paths",
    "contracted": "explorer.graph.selecting",
    "cycles": "explorer.graph.paths",
    "find_common_ancestors": "explorer.graph.paths",
    "find_impact": "explorer.graph.impact",
    "find_paths": "explorer.graph.paths",
    "impact_of": "explorer.graph.impact",
    "lay_out": "explorer.graph.layout",
    "lay_out_pairs": "explorer.graph.layout",
    "lineage_graph": "explorer.graph.lineage",
    "matches": "explorer.graph.selecting",
    "merged": "explorer.graph.lineage",
    "read_columns": "explorer.graph.columns",
    "read_lineage": "explorer.graph.lineage",
    "read_usage": "explorer.graph.usage",
    "select": "explorer.graph.selecting",
    "shortest_paths": "explorer.graph.paths",
    "split_column": "explorer.graph.columns",
    "walk": "explorer.graph.walking",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
