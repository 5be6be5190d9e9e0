"""Layered drawings of lineage, in pure Python: the same coordinates for every front end."""

from explorer.graph.layout.coordinates import Box, Direction, Layout, Point, Route, Size, Spacing
from explorer.graph.layout.drawing import lay_out, lay_out_pairs

__all__ = [
    "Box",
    "Direction",
    "Layout",
    "Point",
    "Route",
    "Size",
    "Spacing",
    "lay_out",
    "lay_out_pairs",
]
