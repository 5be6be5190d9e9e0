"""The edges of a graph as CSV, for a spreadsheet."""

import csv
import io
from typing import TYPE_CHECKING, Any

from explorer.graph.export.parts import as_json, sorted_edges, sorted_nodes

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["to_csv"]

_FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "|", "%")


def to_csv(graph: "nx.DiGraph | nx.MultiDiGraph") -> str:
    """A row for each edge, by source and target, under a row of headings.

    source, target              URNs
    source_name, target_name    what the nodes are named
    key                         only of graphs with parallel edges
    and a column for each attribute any edge has, by name; one with a name from above is
    written as `edge_…`

    Lists and mappings are written as JSON; what an edge lacks is empty. A text that a spreadsheet
    would take for a formula has an apostrophe before it, numbers are left as they are.

    Raises InvalidInput as `to_node_link` does.
    """
    names = {node: attributes.get("name") for node, attributes in sorted_nodes(graph)}
    edges = list(sorted_edges(graph))
    columns = sorted({name for edge in edges for name in edge.attributes})
    head = ["source", "source_name", "target", "target_name"]
    if graph.is_multigraph():
        head.append("key")
    taken = {"key", *head}
    shown = [f"edge_{name}" if name in taken else name for name in columns]
    page = io.StringIO()
    # With these line ends a cell that has either character in it is quoted.
    rows = csv.writer(page, lineterminator="\r\n")
    rows.writerow([_cell(name) for name in (*head, *shown)])
    for edge in edges:
        row = [edge.source, names[edge.source], edge.target, names[edge.target]]
        if graph.is_multigraph():
            row.append(edge.key)
        row += [edge.attributes.get(name) for name in columns]
        rows.writerow([_cell(value) for value in row])
    return page.getvalue()


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        return as_json(value, "an attribute")
    as_json(value, "an attribute")
    text = value.replace("\0", "")
    if text.lstrip().startswith(_FORMULA) or text.startswith(("\t", "\r", "\n")):
        return f"'{text}"
    return text
