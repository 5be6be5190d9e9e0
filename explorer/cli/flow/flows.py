"""Lineage as the commands ask for it: read on the sides wanted, named, narrowed, and cut."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from explorer.cli.flow.known import check_there, naming_what_is_not_there, read_known
from explorer.client import Catalog
from explorer.client.records import Flow
from explorer.errors import InvalidInput, UnknownName
from explorer.graph import Graphs, contracted, matches, merged, split_column
from explorer.graph.selection import FIELDS
from explorer.metadata.registry import Registry
from explorer.query import read_filter
from explorer.query.filters import Filter

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["Flows", "Sides", "column_asked", "read_choice", "read_flows"]

Sides = Literal["both", "down", "up"]

_FLOWS: Mapping[Sides, tuple[Flow, ...]] = {
    "both": ("UPSTREAM", "DOWNSTREAM"),
    "down": ("DOWNSTREAM",),
    "up": ("UPSTREAM",),
}

# As people write them.
_FIELDS = frozenset("type" if name == "_entityType" else name for name in FIELDS)


@dataclass(frozen=True, slots=True)
class Flows:
    """What lies around an entity or a column, `root`: a graph for each side asked for, and all of
    it as one. `shown` are the nearest, as many as were asked for, without the root, none of them
    further than `hops`; the graphs may know of one step more."""

    root: str
    hops: int
    whole: "nx.DiGraph"
    sides: Mapping[Flow, "nx.DiGraph"]
    shown: tuple[str, ...]

    @property
    def truncated(self) -> str | None:
        """Why the walk ended early, in words."""
        cut: str | None = self.whole.graph["truncated"]
        return cut

    @property
    def total(self) -> int:
        """How many there are within the hops, without the root."""
        return sum(1 for _ in _within(self.whole, self.root, self.hops))

    @property
    def goes_on(self) -> bool:
        """Whether more is known to lie beyond the hops."""
        return self.total < len(self.whole) - 1

    def count(self, flow: Flow) -> int:
        """How many lie on one side within the hops."""
        return sum(1 for _ in _within(self.sides[flow], self.root, self.hops))

    def part(self) -> "nx.DiGraph":
        """The graph of what is shown; all of it, unless it was cut."""
        if len(self.shown) == len(self.whole) - 1:
            return self.whole
        return self.whole.subgraph({self.root, *self.shown}).copy()


def column_asked(urn: str, column: str | None) -> tuple[str, str | None]:
    """The entity and the column that are meant: a column may be named by its own URN."""
    parts = split_column(urn)
    if parts is None:
        return urn, column
    if column is not None:
        raise InvalidInput("the URN names a column already; leave --column out")
    return parts


def read_choice(text: str, registry: Registry) -> Filter:
    """The filter of a text over what a graph's nodes say; raises `UnknownName` for a field that
    they do not have."""
    # hops, queries and users are no fields of the model.
    narrowed_by = read_filter(text, registry, strict=False)
    for group in narrowed_by.any_of:
        for criterion in group:
            name = criterion.field.removesuffix(".keyword")
            if name not in FIELDS:
                raise UnknownName("field of what lineage leads to", name, _FIELDS)
    return narrowed_by


def read_flows(
    catalog: Catalog,
    urn: str,
    column: str | None,
    sides: Sides,
    *,
    hops: int,
    looking_on: bool,
    narrowed_by: Filter,
    limit: int | None,
) -> Flows:
    """Lineage up to `hops` away, of a column where one is given.

    With `looking_on` it is known what lies one step further, which is not shown. What a filter
    leaves out is stepped over. `limit` is how many are shown, the nearest of all; those are named
    by the catalog. Raises `NotFound` where nothing is known of the entity, `UnknownName` for a
    column that is not there.
    """
    graphs = Graphs(catalog)
    reach = hops + 1 if looking_on else hops
    with naming_what_is_not_there(catalog, urn):
        read = {flow: _side(graphs, urn, column, flow, reach) for flow in _FLOWS[sides]}
    first = next(iter(read.values()))
    root = first.graph["roots"][0] if column is not None else first.graph["root"]
    whole = merged(read["UPSTREAM"], read["DOWNSTREAM"]) if len(read) > 1 else first
    if column is not None:
        guesses = sum(1 for *_, guess in whole.edges.data("guess") if guess)
        whole.graph["guesses"] = guesses
    if narrowed_by:
        _add_details(catalog, whole, whole)
        kept = {node for node, said in whole.nodes(data=True) if matches(node, said, narrowed_by)}
        kept.add(root)
        whole = contracted(whole, kept)
        read = {flow: contracted(side, kept & set(side)) for flow, side in read.items()}
    far = dict(whole.nodes.data("hops"))
    nearest = sorted(_within(whole, root, hops), key=lambda node: (abs(far[node]), node))
    shown = tuple(nearest[:limit])
    if not narrowed_by:
        _add_details(catalog, whole, (root, *shown))
    if len(whole) == 1:
        check_there(catalog, urn)
    return Flows(root, hops, whole, read, shown)


def _within(graph: "nx.DiGraph", root: str, hops: int) -> Iterator[str]:
    for node, far in graph.nodes.data("hops"):
        if node != root and abs(far) <= hops:
            yield node


def _side(graphs: Graphs, urn: str, column: str | None, flow: Flow, hops: int) -> "nx.DiGraph":
    if column is None:
        return graphs.lineage(urn, flow, hops=hops)
    return graphs.columns(urn, column, flow, hops=hops)


def _add_details(catalog: Catalog, graph: "nx.DiGraph", urns: Iterable[str]) -> None:
    """Complete nodes with what is known of them; whether they are there lineage knows better."""
    for urn, known in read_known(catalog, urns).items():
        exists = graph.nodes[urn].get("exists")
        graph.nodes[urn].update(known)
        if exists is not None:
            graph.nodes[urn]["exists"] = exists
