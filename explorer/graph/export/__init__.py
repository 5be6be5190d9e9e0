"""Graphs written for other programs, and read back: text in, text out, no file is touched.

GraphML and node-link JSON hold a graph whole and give an equal one back. Mermaid, DOT
and SVG are pictures of it, and CSV is a list of its edges for a spreadsheet.
"""

from explorer.graph.export.dot import to_dot
from explorer.graph.export.edgelist import to_csv
from explorer.graph.export.graphml import to_graphml
from explorer.graph.export.graphmlreading import from_graphml
from explorer.graph.export.mermaid import to_mermaid
from explorer.graph.export.nodelink import from_node_link, to_node_link
from explorer.graph.export.svg import to_svg

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
