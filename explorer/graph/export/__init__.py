"""Graphs written for other programs, and read back: text in, text out, no file is touched.

GraphML and node-link JSON hold a graph whole and give an equal one back. Mermaid, DOT
and SVG are pictures of it, and CSV is a list of its edges for a spreadsheet.
"""

from explorer.graph.export.graphml import from_graphml, to_graphml
from explorer.graph.export.pictures import to_dot, to_mermaid, to_svg
from explorer.graph.export.tables import from_node_link, to_csv, to_node_link

__all__ = [
    "from_graphml",
    "from_node_link",
    "to_csv",
    "to_dot",
    "to_graphml",
    "to_mermaid",
    "to_node_link",
    "to_svg",
]
