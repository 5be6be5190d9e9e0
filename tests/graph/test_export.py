"""Graphs leave and come back whole, and no name of anything in them is taken for markup."""

import csv
import io
import json
import re
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.errors import InvalidInput
from explorer.graph.export import (
    from_graphml,
    from_node_link,
    to_csv,
    to_dot,
    to_graphml,
    to_mermaid,
    to_node_link,
)

HOSTILE = [
    '"];--><script>alert(1)</script>',
    "`${x}`\n\rend\t\0\x1b[2J",
    "\u202egnp.exe\u2066",
    "🦉 ﬂ°°34¶ß #quot; &lt; &#60;",
    "a\\",
    '\\"\\N\\l',
    "]]> <!-- <![CDATA[ %%{init}%%",
    "\ufffe\uffff\x85 ",
    "subgraph x; click n0 href 'javascript:0'",
    '"json"',
    "",
]
_texts = st.sampled_from(HOSTILE) | st.text(max_size=8)
_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=6,
)  # fmt: skip
_names = st.sampled_from(["name", "type", "owners", "id", "key", "source", "@id", "c"]) | _texts
_attributes = st.dictionaries(_names, _values, max_size=4)


@st.composite
def graphs(draw: Any) -> Any:
    graph = draw(st.sampled_from([nx.DiGraph, nx.MultiDiGraph]))()
    graph.graph.update(draw(_attributes))
    urns = draw(st.lists(_texts.map("urn:li:x:{}".format) | _texts, unique=True, max_size=6))
    for urn in urns:
        graph.add_node(urn)
        graph.nodes[urn].update(draw(_attributes))
    ends = st.sampled_from(urns) if urns else st.nothing()
    for source, target in draw(st.lists(st.tuples(ends, ends), max_size=8)) if urns else []:
        if graph.is_multigraph():
            key = graph.add_edge(source, target, draw(st.none() | st.integers(0, 9) | _texts))
            graph.edges[source, target, key].update(draw(_attributes))
        else:
            graph.add_edge(source, target)
            graph.edges[source, target].update(draw(_attributes))
    return graph


@settings(max_examples=40, deadline=None)
@given(graphs())
def test_graphml_gives_an_equal_graph_back(graph: Any) -> None:
    text = to_graphml(graph)
    _check_equal(from_graphml(text), graph)
    _check_equal(from_graphml(text.encode()), graph)


@settings(max_examples=40, deadline=None)
@given(graphs())
def test_node_link_gives_an_equal_graph_back(graph: Any) -> None:
    text = to_node_link(graph)
    assert text.isascii()
    _check_equal(from_node_link(text), graph)


@settings(max_examples=20, deadline=None)
@given(graphs(), st.randoms(use_true_random=False))
def test_equal_graphs_give_equal_texts(graph: Any, chance: Any) -> None:
    other = type(graph)()
    other.graph.update(graph.graph)
    nodes = list(graph.nodes(data=True))
    chance.shuffle(nodes)
    for node, attributes in nodes:
        other.add_node(node)
        other.nodes[node].update(reversed(attributes.items()))
    for edge in reversed(list(graph.edges)):
        other.add_edge(*edge)
        other.edges[edge].update(graph.edges[edge])
    assert to_node_link(other) == to_node_link(graph)
    assert to_graphml(other) == to_graphml(graph)
    assert to_csv(other) == to_csv(graph)


def test_networkx_reads_both() -> None:
    graph = nx.DiGraph()
    graph.add_node("urn:a", name="orders & co", queries=7, share=0.5, removed=False)
    graph.add_edge("urn:a", "urn:b", relationship="DownstreamOf")
    _check_equal(nx.node_link_graph(json.loads(to_node_link(graph)), edges="edges"), graph)
    read = nx.parse_graphml(to_graphml(graph))
    read.graph.clear()
    _check_equal(read, graph)


def test_what_networkx_wrote_is_read() -> None:
    graph = nx.MultiDiGraph()
    graph.add_node("a", size=1, share=0.25, seen=True, name="x\ny")
    graph.add_edge("a", "b", key="made", weight=2)
    graph.add_edge("a", "b", key="told")
    text = "\n".join(nx.generate_graphml(graph))
    _check_equal(from_graphml(text), graph)
    _check_equal(from_node_link(json.dumps(nx.node_link_data(graph, edges="links"))), graph)


def test_graphml_shows_lists_to_other_programs_as_json() -> None:
    graph = nx.MultiDiGraph(id="lineage", truncated=None)
    graph.add_node("urn:a", owners=["urn:li:corpuser:jdoe"], share=0.5)
    graph.add_edge("urn:a", "urn:b", key="Consumes")
    read = nx.parse_graphml(to_graphml(graph))
    assert read.nodes["urn:a"] == {"owners (JSON)": '["urn:li:corpuser:jdoe"]', "share": 0.5}
    assert list(read.edges(data=True)) == [("urn:a", "urn:b", {"id": "Consumes"})]


def test_graphml_of_other_programs_has_defaults() -> None:
    text = """<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
      <key id="d0" for="node" attr.name="color" attr.type="string"><default>red</default></key>
      <graph edgedefault="directed"><node id="n"/><node id="m"><data key="d0">blue</data></node>
      <edge source="n" target="m"/></graph></graphml>"""
    graph = from_graphml(text)
    assert dict(graph.nodes(data="color")) == {"n": "red", "m": "blue"}
    assert list(graph.edges(data=True)) == [("n", "m", {})]


@pytest.mark.parametrize(
    "value", [{1, 2}, float("nan"), float("inf"), "\ud800", ["\udfff"], {1: "x"}, object()]
)
@pytest.mark.parametrize("write", [to_graphml, to_node_link])
def test_what_would_not_come_back_is_refused(write: Any, value: Any) -> None:
    graph = nx.DiGraph()
    graph.add_node("urn:a", bad=value)
    with pytest.raises(InvalidInput, match="cannot be written"):
        write(graph)


@pytest.mark.parametrize("write", [to_graphml, to_node_link, to_csv])
@pytest.mark.parametrize(
    "graph",
    [
        pytest.param(nx.Graph([("a", "b")]), id="undirected"),
        pytest.param(nx.DiGraph([(1, 2)]), id="nodes that are no text"),
        pytest.param(nx.DiGraph([("a", "b\ud800")]), id="an unpaired surrogate"),
        pytest.param(nx.MultiDiGraph([("a", "b", (1, 2))]), id="odd key"),
    ],
)
def test_a_graph_that_is_none_of_ours_is_refused(write: Any, graph: Any) -> None:
    with pytest.raises(InvalidInput):
        write(graph)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<x",
        "<graphml/>",
        '<!DOCTYPE x [<!ENTITY a "b">]><graphml/>',
        '<graphml><graph edgedefault="undirected"/></graphml>',
        "<graphml><graph><node id='a'><graph/></node></graph></graphml>",
        "<graphml><graph><node/></graph></graphml>",
        "<graphml><graph><node id='a'><data key='d'>1</data></node></graph></graphml>",
        "<graphml><graph><hyperedge/></graph></graphml>",
    ],
)
def test_graphml_that_is_none_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(InvalidInput):
        from_graphml(text)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"nodes": [{}], "edges": []}', '{"nodes": [{"id": 1}], "edges": []}',
     '{"nodes": [], "edges": [{"source": "a"}]}', '{"directed": false, "nodes": [], "edges": []}',
     "[" * 100_000],
)  # fmt: skip
def test_json_that_is_no_graph_is_refused_in_a_sentence(text: Any) -> None:
    with pytest.raises(InvalidInput):
        from_node_link(text)


_NODE = re.compile(r'  n\d+(\[|\(|\(\[|\[\[)"(?:\w|[ .,/-]|#\d+;)+"(\]|\)|\]\)|\]\])(:::\w+)?')
_EDGE = re.compile(r"  n\d+ (-->|-\.->) n\d+")
_CLASS = re.compile(r"  classDef (removed|ghost) [\w:, .#-]+")


@settings(max_examples=30, deadline=None)
@given(graphs())
def test_mermaid_has_nothing_but_nodes_edges_and_classes(graph: Any) -> None:
    first, *lines = to_mermaid(graph).removesuffix("\n").split("\n")
    assert first == "flowchart LR"
    nodes = [line for line in lines if _NODE.fullmatch(line)]
    assert len(nodes) == len(graph)
    for line in lines:
        assert _NODE.fullmatch(line) or _EDGE.fullmatch(line) or _CLASS.fullmatch(line), line


def test_mermaid_shows_names_and_states() -> None:
    graph = _three()
    assert to_mermaid(graph) == (
        "flowchart LR\n"
        '  n0["fct_orders#58; #34;all#34;"]\n'
        '  n1(["Growth"]):::removed\n'
        '  n2["urn#58;li#58;x#58;ghost"]:::ghost\n'
        "  n0 --> n1\n"
        "  n0 -.-> n2\n"
        "  classDef ghost stroke-dasharray:1 3,fill:none\n"
        "  classDef removed stroke-dasharray:4 3,opacity:0.6,color:#888888\n"
    )


def test_a_picture_says_what_was_cut() -> None:
    graph = nx.DiGraph([(f"n{at}", f"n{at + 1}") for at in range(40)])
    sentence = "cut: 10 of 41 nodes and 5 of 40 edges are shown"
    mermaid = to_mermaid(graph, most_nodes=10, most_edges=5)
    assert f"  %% {sentence}\n" in mermaid
    assert mermaid.count("-->") == 5
    assert f"  // {sentence}\n" in to_dot(graph, most_nodes=10, most_edges=5)
    assert "cut" not in to_mermaid(graph) + to_dot(graph)


def test_dot_shows_names_and_urns() -> None:
    text = to_dot(_three())
    assert '  n0 [label="fct_orders: \\"all\\"", tooltip="urn:li:x:orders"];\n' in text
    assert "  n0 -> n2 [style=dotted];\n" in text


@settings(max_examples=30, deadline=None)
@given(graphs())
def test_dot_has_nothing_but_statements(graph: Any) -> None:
    text = r'"(?:[^"\\&\n]|\\["\\]|&amp;)*"'
    node = re.compile(rf"  n\d+ \[label={text}, tooltip={text}(, \w+={text}|, style=\w+)*\];")
    edge = re.compile(r"  n\d+ -> n\d+( \[style=dotted\])?;")
    lines = to_dot(graph).removesuffix("\n").split("\n")
    assert lines[0] == "digraph lineage {"
    assert lines[-1] == "}"
    assert sum(bool(node.fullmatch(line)) for line in lines[3:-1]) == len(graph)
    for line in lines[3:-1]:
        assert node.fullmatch(line) or edge.fullmatch(line), line


def test_half_characters_are_marked_in_pictures() -> None:
    graph = nx.DiGraph()
    graph.add_node("urn:a", name="x\ud83d\ude00y")
    assert "x��y" in to_dot(graph)
    to_mermaid(graph).encode()


def test_csv_lists_edges_with_names_and_attributes() -> None:
    graph = _three()
    graph.edges["urn:li:x:orders", "urn:li:x:growth"].update(columns=["a", "b"], source="me", n=-5)
    rows = list(csv.DictReader(io.StringIO(to_csv(graph), newline="")))
    assert rows[1] == {
        "source": "urn:li:x:orders",
        "source_name": 'fct_orders:\n"all"',
        "target": "urn:li:x:growth",
        "target_name": "Growth",
        "columns": '["a", "b"]',
        "guess": "",
        "n": "-5",
        "edge_source": "me",
    }
    assert rows[0]["guess"] == "true"


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\t=1", " =1", "\r=1", "＝1", "|x"])
def test_csv_defuses_what_a_spreadsheet_would_run(text: str) -> None:
    graph = nx.DiGraph()
    graph.add_node("a", name=text)
    graph.add_edge("a", "b", **{text: text})
    for row in csv.reader(io.StringIO(to_csv(graph), newline="")):
        assert not any(cell.lstrip().startswith(text.lstrip()[:1]) for cell in row), row


def _three() -> Any:
    graph = nx.DiGraph()
    graph.add_node("urn:li:x:orders", name='fct_orders:\n"all"', type="dataset")
    graph.add_node("urn:li:x:growth", name="Growth", type="dashboard", removed=True)
    graph.add_node("urn:li:x:ghost", exists=False)
    graph.add_edge("urn:li:x:orders", "urn:li:x:growth")
    graph.add_edge("urn:li:x:orders", "urn:li:x:ghost", guess=True)
    return graph


def _check_equal(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    for each in ("graph", "nodes", "edges"):
        mine, theirs = getattr(one, each), getattr(other, each)
        left, right = (mine, theirs) if each == "graph" else (_items(mine), _items(theirs))
        # As JSON too, which tells 1 from 1.0 and from True.
        assert left == right
        assert _written(left) == _written(right)


def _items(view: Any) -> Any:
    return {repr(item): dict(view[item]) for item in view}


def _written(value: Any) -> Any:
    return json.dumps(value, sort_keys=True)
