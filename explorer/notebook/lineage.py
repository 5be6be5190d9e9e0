"""What an entity is made from and what is made from it, showing itself as a picture and a tree."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from explorer.client.display import line
from explorer.errors import InvalidInput, UnknownName
from explorer.metadata.urn import Urn
from explorer.metadata.words import singular
from explorer.notebook.impact import Impact
from explorer.notebook.paths import Paths
from explorer.notebook.progress import during
from explorer.notebook.tabular import tabulated
from explorer.notebook.view import Cell, Grid, Part, Picture, Say, Table, Title

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

    from explorer.graph import Extent
    from explorer.notebook.catalog import Catalog
    from explorer.notebook.widgets.lineage import LineageWidget

__all__ = ["Lineage", "read_lineage", "state_of"]

_MOST_DRAWN = 60
_MOST_ROWS = 60
_FRAME = dict.fromkeys(("urn", "name", "type", "platform"), "string") | {
    "hops": "int64",
    "owners": "string",
    "domain": "string",
    "description": "string",
    "removed": "boolean",
    "deprecated": "boolean",
}
_WORDS: Mapping[str, str] = {
    "BOTH": "both ways",
    "UPSTREAM": "upstream",
    "DOWNSTREAM": "downstream",
}
_EXTENTS: "Mapping[str, Extent]" = {
    "BOTH": "BOTH",
    "UPSTREAM": "UPSTREAM",
    "DOWNSTREAM": "DOWNSTREAM",
}


@dataclass(frozen=True, repr=False)
class Lineage(Table):
    """The entities around one, as far as was walked: iterable for their URNs, nearest first.

    `graph` is a networkx `DiGraph` whose edges go the way that data flows; its nodes are URNs as
    text, with `name`, `type`, `platform`, `hops` (upstream negative) and what was read of them.
    It is the object's own: change a copy. `names` holds what people call owners and domains.
    """

    name: str
    graph: "nx.DiGraph"
    names: Mapping[Urn, str] = field(default_factory=dict, compare=False, kw_only=True)
    catalog: "Catalog" = field(compare=False, kw_only=True)

    @property
    def root(self) -> Urn:
        """Where the walk began."""
        return Urn.parse(self.graph.graph["root"])

    @property
    def truncated(self) -> str | None:
        """What was left out, in words; None when it is complete as far as was asked."""
        said: str | None = self.graph.graph["truncated"]
        return said

    @cached_property
    def urns(self) -> tuple[Urn, ...]:
        """Everything reached, nearest first, without the root."""
        return Urn.parse_all(self._reached())

    def __len__(self) -> int:
        return len(self.graph) - 1

    def __iter__(self) -> Iterator[Urn]:
        return iter(self.urns)

    def to_frame(self) -> "pd.DataFrame":
        """A row for each entity reached, nearest first. No request.

        urn, name, type, platform   string
        hops                        int64     how far it is; upstream negative
        owners, domain              string    names, joined by ", "
        description                 string    what people wrote where they wrote any
        removed, deprecated         boolean   missing where the server does not say
        """
        return tabulated([self._row(urn, self.graph.nodes[urn]) for urn in self._reached()], _FRAME)

    def edges_to_frame(self) -> "pd.DataFrame":
        """A row for each edge: `upstream`, `downstream` and `relationship`. No request."""
        rows = [
            (source, target, said.get("relationship") or None)
            for source, target, said in self.graph.edges(data=True)
        ]
        return tabulated(rows, dict.fromkeys(("upstream", "downstream", "relationship"), "string"))

    def paths_to(self, urn: str | Urn) -> Paths:
        """The shortest ways between the root and another entity, along lineage either way, however
        far apart. Two requests at most where the server walks, and one for names."""
        return Paths.read(self.catalog, self.root, urn)

    def impact(self, column: str | None = None) -> Impact:
        """What breaks downstream, at any distance, when the root or its column of that exact path
        changes. Costs what `Entity.impact` does."""
        return Impact.read(self.catalog, self.root, self.name, column)

    def widget(self, hops: int = 1) -> "LineageWidget":
        """The same to be walked: unfolded, narrowed, searched, and followed by column. It starts
        `hops` far, and reads nothing again that was read here."""
        from explorer.notebook.widgets.lineage import LineageWidget

        extent: Extent = self.graph.graph["direction"]
        return LineageWidget(self.catalog, self.root, hops=hops, direction=extent, graph=self.graph)

    def svg(self, most_nodes: int = _MOST_DRAWN) -> str:
        """The picture it shows of itself, as the text of an SVG file. No request."""
        from explorer.graph.export.svg import to_svg

        return to_svg(self.graph, most_nodes=most_nodes)

    def parts(self) -> Iterator[Part]:
        """What it shows of itself, from top to bottom."""
        said = self.graph.graph
        hops = f"{said['hops']} {'hop' if said['hops'] == 1 else 'hops'}"
        way = f"{hops} {_WORDS.get(said['direction'], said['direction'])}"
        above = sum(far < 0 for _, far in self.graph.nodes.data("hops"))
        below = len(self) - above
        counts = [f"{above:,} upstream"] * (said["direction"] != "DOWNSTREAM")
        counts += [f"{below:,} downstream"] * (said["direction"] != "UPSTREAM")
        yield Title(f"Lineage of {self.name}", f"{way} · {', '.join(counts)}")
        if not len(self):
            yield Say("no lineage")
        else:
            alt = f"lineage of {self.name}: {', '.join(counts)}, listed below"
            yield Picture(self.svg(), alt, list(self._tree()), list(self._table()))
        if self.truncated:
            yield Say(f"incomplete: {self.truncated}", "loud")

    def _reached(self) -> list[str]:
        from explorer.graph.export.svg import nearest

        root = self.graph.graph["root"]
        return [urn for urn in nearest(self.graph) if urn != root]

    def _tree(self) -> Iterator[Part]:
        drawn = 0
        for title, further in (
            ("upstream", self.graph.predecessors),
            ("downstream", self.graph.successors),
        ):
            rows = list(self._branches(further))
            if rows:
                drawn += len(rows)
                yield Say(f"{title}:")
                yield Grid(
                    ("name", "type", "platform", "owners"),
                    [self._line(*row) for row in rows[:_MOST_ROWS]],
                )
                if len(rows) > _MOST_ROWS:
                    yield Say(f"{_MOST_ROWS} of {len(rows):,} drawn; .to_frame() has them all")
        edges = self.graph.number_of_edges()
        if edges > drawn:
            yield Say(f"{drawn:,} of {edges:,} edges make the tree; .edges_to_frame() has them all")

    def _branches(
        self, further: Callable[[str], Iterator[str]]
    ) -> Iterator[tuple[int, Mapping[str, Any]]]:
        """One side in the order of a tree of the shortest ways: how deep, and what is known."""
        root = self.graph.graph["root"]
        parents = {root: ""}
        below: dict[str, list[str]] = {}
        waiting = deque([root])
        while waiting:
            here = waiting.popleft()
            for there in further(here):
                if there not in parents:
                    parents[there] = here
                    below.setdefault(here, []).append(there)
                    waiting.append(there)
        stack = [(0, urn) for urn in reversed(below.get(root, ()))]
        while stack:
            depth, urn = stack.pop()
            yield depth, self.graph.nodes[urn]
            stack += [(depth + 1, one) for one in reversed(below.get(urn, ()))]

    def _table(self) -> Iterator[Part]:
        reached = self._reached()
        rows = [
            (
                *self._line(0, self.graph.nodes[urn], urn),
                Cell(f"{self.graph.nodes[urn]['hops']:+d}"),
            )
            for urn in reached[:_MOST_ROWS]
        ]
        yield Grid(("name", "type", "platform", "owners", "hops"), rows, frozenset({"hops"}))
        if len(rows) < len(reached):
            yield Say(f"{len(rows)} of {len(reached):,} drawn; .to_frame() has them all")

    def _line(self, depth: int, said: Mapping[str, Any], urn: str = "") -> tuple[Cell, ...]:
        state = state_of(said)
        kind = str(said.get("kind") or singular(str(said.get("type") or "")))
        owners = ", ".join(map(self._called, said.get("owners", ())))
        return (
            Cell(str(said.get("name") or ""), state and f"{state}:", detail=urn, indent=depth),
            Cell(kind),
            Cell(str(said.get("platform") or "")),
            Cell(owners, tone="quiet"),
        )

    def _row(self, urn: str, said: Mapping[str, Any]) -> tuple[Any, ...]:
        owners = ", ".join(map(self._called, said.get("owners", ())))
        domain = said.get("domain")
        return (
            urn,
            said.get("name"),
            said.get("type"),
            said.get("platform"),
            said["hops"],
            owners or None,
            self._called(domain) if domain else None,
            said.get("description") or None,
            said.get("removed"),
            said.get("deprecated"),
        )

    def _called(self, urn: str) -> str:
        return next((self.names.get(one) or one.name for one in Urn.parse_all([urn])), urn)


def read_lineage(
    catalog: "Catalog",
    urn: Urn,
    name: str,
    direction: "Extent",
    hops: int,
    limit: int | None,
) -> Lineage:
    """Lineage around an entity, and the names of what it reaches; see `Entity.lineage`."""
    from explorer.graph import lineage

    wanted = direction.upper()
    if wanted not in _WORDS:
        raise UnknownName("direction", direction, _WORDS)
    if hops < 1:
        raise InvalidInput(f"hops is at least 1, not {hops}")
    graph = during(
        catalog,
        lambda _: lineage.read_lineage(
            catalog.core, urn, _EXTENTS[wanted], hops=hops, limit=limit, with_details=True
        ),
        f"walking the lineage of {line(name, 40)}",
    )
    graph.graph["hops"] = hops
    others = dict.fromkeys(
        one
        for _, said in graph.nodes(data=True)
        for one in (*said.get("owners", ()), said.get("domain"))
        if one
    )
    names = {one.urn: one.name for one in catalog.summaries(Urn.parse_all(others)).values()}
    return Lineage(name, graph, names=names, catalog=catalog)


def state_of(said: Mapping[str, Any]) -> str:
    """What is unusual about a node, in words."""
    states = []
    if said.get("removed"):
        states.append("removed")
    elif said.get("exists") is False:
        states.append("only named by others")
    if said.get("deprecated"):
        states.append("deprecated")
    return ", ".join(states)
