"""Lineage, impact and paths between entities, which show themselves as pictures, trees and
frames.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from explorer.client.display import line
from explorer.errors import InvalidInput, UnknownName
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.names import plural, singular
from explorer.metadata.urn import Urn
from explorer.notebook.progress import with_progress
from explorer.notebook.view import Cell, Grid, Part, Picture, Say, Table, Title, tabulated

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

    from explorer import graph
    from explorer.client.records import Flow
    from explorer.graph import Extent
    from explorer.notebook.catalog import Catalog
    from explorer.notebook.widgets.lineage_widget import LineageWidget

__all__ = ["ColumnLineage", "Impact", "Lineage", "Paths", "read_column_lineage", "read_lineage"]

_MOST_WAYS = 20
_PATH_FRAME = {"way": "int64", "step": "int64"} | dict.fromkeys(
    ("urn", "name", "type", "platform", "relationship"), "string"
)


@dataclass(frozen=True, repr=False)
class Paths(Table):
    """All shortest ways between two entities: iterable, each the URNs along it."""

    found: "graph.Paths"
    names: Mapping[Urn, str] = field(default_factory=dict)

    @classmethod
    def read(cls, catalog: "Catalog", source: Urn, target: str | Urn) -> "Paths":
        """Ask for them; see `Entity.paths_to`."""
        from explorer.graph import find_paths

        end = Urn.parse(target)
        found = with_progress(
            catalog, lambda _: find_paths(catalog.core, source, end), "looking for ways"
        )
        met = dict.fromkeys((str(source), str(end), *(urn for way in found.ways for urn in way)))
        summaries = catalog.summaries(Urn.parse_all(met))
        return cls(found, {urn: one.name for urn, one in summaries.items()})

    def __len__(self) -> int:
        return len(self.found)

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return iter(self.found.ways)

    def to_frame(self) -> "pd.DataFrame":
        """A row for each step of each way, the source being step 0. No request.

        way, step                   int64
        urn, name, type, platform   string
        relationship                string   why the step before leads here
        """
        rows = []
        for at, way in enumerate(self.found.ways):
            reasons = ("", *(self.found.joined_by[at] if self.found.joined_by else ()))
            for step, urn in enumerate(Urn.parse_all(way)):
                reason = reasons[step] if step < len(reasons) else ""
                named = (str(urn), self._called(urn), urn.entity_type, urn.platform)
                rows.append((at, step, *named, reason or None))
        return tabulated(rows, _PATH_FRAME)

    def parts(self) -> Iterator[Part]:
        """What it shows of itself, from top to bottom."""
        source, target = Urn.parse(self.found.source), Urn.parse(self.found.target)
        title = f"From {self._called(source)} to {self._called(target)}"
        if not len(self):
            yield Title(title, "no way along lineage")
        else:
            hops = self.found.hops or 0
            ways = f"{len(self):,} {'way' if len(self) == 1 else 'ways'} {self.found.direction}"
            yield Title(title, f"{ways}, {hops} {'hop' if hops == 1 else 'hops'}")
            # Data flows from left to right in every drawing.
            upstream = self.found.direction == "upstream"
            rows = []
            for way in self.found.ways[:_MOST_WAYS]:
                steps = [self._called(urn) for urn in Urn.parse_all(way)]
                rows.append([Cell((" ← " if upstream else " → ").join(steps))])
            yield Grid(("way",), rows)
            if len(self) > _MOST_WAYS:
                yield Say(f"{_MOST_WAYS} of {len(self):,} drawn; .to_frame() has them all")
        if self.found.truncated:
            yield Say(f"incomplete: {self.found.truncated}", "loud")

    def _called(self, urn: Urn) -> str:
        return self.names.get(urn) or urn.name


_MOST_ROWS = 60
_TEXTS = ("urn", "name", "type", "platform", "owners", "domain", "columns", "certainty")
_IMPACT_FRAME = (
    dict.fromkeys(_TEXTS[:4], "string")
    | {"hops": "int64"}
    | dict.fromkeys(_TEXTS[4:], "string")
    | dict.fromkeys(("queries", "users"), "Int64")
    | dict.fromkeys(("exists", "removed", "deprecated"), "bool")
)
_CERTAINTY: Mapping[str, str] = {"said": "", "guessed": "a guess", "table": "table only"}


@dataclass(frozen=True, repr=False)
class Impact(Table):
    """What is made from a table, or from one of its columns: most used first, then nearest.

    Iterable for `explorer.graph.Affected`. `names` holds what people call owners and domains.
    """

    name: str
    found: "graph.Impact"
    names: Mapping[Urn, str] = field(default_factory=dict)

    @classmethod
    def read(cls, catalog: "Catalog", urn: Urn, name: str, column: str | None) -> "Impact":
        """Ask for it; see `Entity.impact`."""
        from explorer.graph import find_impact

        found = with_progress(
            catalog,
            lambda _: find_impact(catalog.core, urn, column),
            f"looking at what depends on {line(name, 40)}",
        )
        others = [urn for one in found.affected for urn in (*one.owners, one.domain) if urn]
        summaries = catalog.summaries(Urn.parse_all(dict.fromkeys(others)))
        return cls(name, found, {urn: one.name for urn, one in summaries.items()})

    def __len__(self) -> int:
        return len(self.found)

    def __iter__(self) -> "Iterator[graph.Affected]":
        return iter(self.found.affected)

    @property
    def truncated(self) -> str | None:
        """What was not walked to, in words; None when the list is complete."""
        return self.found.truncated

    @property
    def owners(self) -> dict[str, int]:
        """Whom to ask: the name of each owner and how much of it is theirs, most first; "" for
        what nobody owns."""
        return {self._called(urn): len(group) for urn, group in self.found.by("owner").items()}

    def to_frame(self) -> "pd.DataFrame":
        """A row for each entity affected, most used first. No request.

        urn, name, type, platform   string
        hops                        int64
        owners, domain              string   names, joined by ", "
        columns                     string   its columns made from the one in question
        certainty                   string   said, guessed, or table where only that is known
        queries, users              Int64    of the last 30 days; missing where not counted
        exists, removed, deprecated bool
        """
        return tabulated([self._row(one) for one in self], _IMPACT_FRAME)

    def parts(self) -> Iterator[Part]:
        """What it shows of itself, from top to bottom."""
        column = f".{self.found.column}" if self.found.column else ""
        count = f"{len(self):,} affected" if len(self) else "nothing depends on it"
        after = f"{count}, {self.found.queries:,} queries in 30 days" if len(self) else count
        yield Title(f"Impact of {self.name}{column}", after)
        if len(self):
            kinds = Counter(one.type for one in self)
            yield Say(" · ".join(_counted(count, kind) for kind, count in kinds.most_common()))
            owners = [f"{name or 'nobody'} {count:,}" for name, count in self.owners.items()]
            yield Say(f"owners: {' · '.join(owners[:12])}{' · …' if len(owners) > 12 else ''}")
            shown = self.found.affected[:_MOST_ROWS]
            headers = ("name", "type", "hops", "queries", "owners", "columns", "certainty")
            kept = headers if column else headers[:-2]
            rows = [self._cells(one)[: len(kept)] for one in shown]
            yield Grid(kept, rows, frozenset({"hops", "queries"}))
            if len(shown) < len(self):
                yield Say(f"{len(shown)} of {len(self):,} drawn; .to_frame() has them all")
        if column and any(one.certainty == "table" for one in self):
            yield Say("table only: it uses an affected table; which of its columns, nobody said")
        if column and any(one.certainty == "guessed" for one in self):
            yield Say("a guess: a column of the same name is all there is for a part of the way")
        if self.found.uncounted:
            yield Say(self.found.uncounted)
        if self.truncated:
            yield Say(f"incomplete: {self.truncated}", "loud")

    def _cells(self, one: "graph.Affected") -> tuple[Cell, ...]:
        kinds = (singular(one.type), None if self.found.column else one.platform)
        state = "removed" if one.removed else "" if one.exists else "only named by others"
        marks = ", ".join(word for word in (state, "deprecated" * one.deprecated) if word)
        return (
            Cell(one.name, marks and f"{marks}:", detail=one.urn, tone="loud"),
            Cell(" · ".join(word for word in kinds if word)),
            Cell(f"{one.hops:,}"),
            Cell("" if one.queries is None else f"{one.queries:,}"),
            Cell(", ".join(map(self._called, one.owners)), tone="quiet"),
            Cell(", ".join(one.columns)),
            Cell(_CERTAINTY[one.certainty], tone="quiet"),
        )

    def _row(self, one: "graph.Affected") -> tuple[Any, ...]:
        return (
            *(one.urn, one.name, one.type, one.platform, one.hops),
            ", ".join(map(self._called, one.owners)) or None,
            self._called(one.domain) if one.domain else None,
            ", ".join(one.columns) or None,
            one.certainty,
            *(one.queries, one.users, one.exists, one.removed, one.deprecated),
        )

    def _called(self, urn: str) -> str:
        return next((self.names.get(one) or one.name for one in Urn.parse_all([urn])), urn)


def _counted(count: int, entity_type: str) -> str:
    return f"{count:,} {singular(entity_type) if count == 1 else plural(entity_type)}"


_MOST_DRAWN = 60
_FRAME = dict.fromkeys(("urn", "name", "type", "platform"), "string") | {
    "hops": "int64",
    "owners": "string",
    "domain": "string",
    "description": "string",
    "removed": "boolean",
    "deprecated": "boolean",
}
_COLUMN_FRAME = dict.fromkeys(
    ("urn", "table", "column", "path", "type", "platform", "dataset"), "string"
) | {"hops": "int64", "certainty": "string"}
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
        from explorer.notebook.widgets.lineage_widget import LineageWidget

        extent: Extent = self.graph.graph["direction"]
        return LineageWidget(self.catalog, self.root, hops=hops, direction=extent, graph=self.graph)

    def svg(self, most_nodes: int = _MOST_DRAWN) -> str:
        """The picture it shows of itself, as the text of an SVG file. No request."""
        from explorer.graph.export.pictures import to_svg

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
        from explorer.graph.export.pictures import nearest

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
        kind = singular(str(said.get("kind") or said.get("type") or ""))
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


@dataclass(frozen=True, repr=False)
class ColumnLineage(Table):
    """The columns that one column is made from and those made from it: iterable for the URNs of
    their schema fields, nearest first.

    `graph` is a networkx `DiGraph` of columns whose edges go the way that data flows; see
    `explorer.graph.columns` for what its nodes and edges say. Charts and dashboards that say which
    columns they use are in it too.
    """

    name: str
    root: Urn
    column: str
    graph: "nx.DiGraph"
    names: Mapping[str, str] = field(default_factory=dict, compare=False, kw_only=True)
    catalog: "Catalog" = field(compare=False, kw_only=True)

    @property
    def truncated(self) -> str | None:
        """What was left out, in words; None when it is complete as far as was asked."""
        said: str | None = self.graph.graph["truncated"]
        return said

    @cached_property
    def urns(self) -> tuple[str, ...]:
        """Everything reached, nearest first, without the column itself."""
        roots = set(self.graph.graph["roots"])
        reached = [(abs(far), far, node) for node, far in self.graph.nodes.data("hops")]
        return tuple(node for *_, node in sorted(reached) if node not in roots)

    def __len__(self) -> int:
        return len(self.urns)

    def __iter__(self) -> Iterator[str]:
        return iter(self.urns)

    def to_frame(self) -> "pd.DataFrame":
        """A row for each column reached, nearest first. No request.

        urn                          string   of the schema field; of a chart or dashboard
        table, column, path          string   column as people write it, path exact
        type, platform               string   of the table
        dataset                      string   its URN
        hops                         int64    how far it is; upstream negative
        certainty                    string   said, or guessed: a column of the same name is all
                                              there is for a part of the way
        """
        return tabulated([self._row(node) for node in self.urns], _COLUMN_FRAME)

    def edges_to_frame(self) -> "pd.DataFrame":
        """A row for each edge: `upstream` and `downstream` (schema fields), `transform`, `via` (the
        job or query) and `certainty`. No request."""
        rows = [
            (source, target, said.get("transform"), said.get("via"), _sure(not said["guess"]))
            for source, target, said in self.graph.edges(data=True)
        ]
        names = ("upstream", "downstream", "transform", "via", "certainty")
        return tabulated(rows, dict.fromkeys(names, "string"))

    def widget(self, hops: int = 1) -> "LineageWidget":
        """The tables around it to be walked, with the ways of this column drawn."""
        from explorer.notebook.widgets.lineage_widget import LineageWidget

        made = LineageWidget(self.catalog, self.root, hops=hops)
        made.follow_column(self.root, self.column)
        return made

    def parts(self) -> Iterator[Part]:
        """What it shows of itself, from top to bottom."""
        far = [self.graph.nodes[node]["hops"] for node in self.urns]
        counts = f"{sum(n < 0 for n in far):,} upstream, {sum(n > 0 for n in far):,} downstream"
        shown_name = FieldPath(self.column).simple
        yield Title(f"Lineage of {self.name}.{shown_name}", counts if far else "no lineage")
        for title, side in (("made from", -1), ("feeds", 1)):
            nodes = [node for node in self.urns if self.graph.nodes[node]["hops"] * side > 0]
            if not nodes:
                continue
            yield Say(f"{title}:")
            headers = ("table", "column", "platform", "hops", "")
            rows = [self._line(node) for node in nodes[:_MOST_ROWS]]
            yield Grid(headers, rows, frozenset({"hops"}))
            if len(rows) < len(nodes):
                yield Say(f"{len(rows)} of {len(nodes):,} drawn; .to_frame() has them all")
        if any(node not in self._certain for node in self.urns):
            yield Say("a guess: a column of the same name is all there is for a part of the way")
        if self.truncated:
            yield Say(f"incomplete: {self.truncated}", "loud")

    @cached_property
    def _certain(self) -> frozenset[str]:
        from explorer.graph.columns import certain_columns

        return frozenset(certain_columns(self.graph))

    def _called(self, node: str) -> str:
        known = self.names.get(_table_of(self.graph, node))
        return known or str(self.graph.nodes[node].get("name") or node)

    def _line(self, node: str) -> tuple[Cell, ...]:
        said = self.graph.nodes[node]
        return (
            Cell(self._called(node), detail=str(said.get("dataset") or node), tone="loud"),
            Cell(str(said.get("column") or "")),
            Cell(str(said.get("platform") or "")),
            Cell(f"{said['hops']:+d}"),
            Cell("" if node in self._certain else "a guess", tone="quiet"),
        )

    def _row(self, node: str) -> tuple[Any, ...]:
        said = self.graph.nodes[node]
        return (
            *(node, self._called(node), said.get("column"), said.get("path")),
            *(said.get("type"), said.get("platform"), said.get("dataset"), said["hops"]),
            _sure(node in self._certain),
        )


def _table_of(graph: "nx.DiGraph", node: str) -> str:
    return str(graph.nodes[node].get("dataset") or node)


def _sure(told: bool) -> str:
    return "said" if told else "guessed"


def read_column_lineage(
    catalog: "Catalog",
    urn: Urn,
    name: str,
    column: str,
    direction: "Extent",
    hops: int,
    limit: int | None,
) -> ColumnLineage:
    """The lineage of a column; see `Entity.lineage`."""
    import networkx as nx

    from explorer.graph.columns import read_columns

    _check(direction, hops)
    asked: tuple[Flow, ...] = ("UPSTREAM", "DOWNSTREAM")
    found = [
        with_progress(
            catalog,
            lambda _, side=side: read_columns(  # type: ignore[misc]
                catalog.core, urn, column, side, hops=hops, limit=limit
            ),
            f"following {line(column, 40)} of {line(name, 40)}",
        )
        for side in asked
        if direction.upper() in ("BOTH", side)
    ]
    cut = [one.graph["truncated"] for one in found if one.graph["truncated"]]
    roots = sorted({root for one in found for root in one.graph["roots"]})
    whole = nx.compose_all(found)
    whole.graph.update(found[0].graph, roots=roots, truncated="; ".join(cut) or None)
    tables = dict.fromkeys(_table_of(whole, node) for node in whole)
    names = {str(key): one.name for key, one in catalog.summaries(Urn.parse_all(tables)).items()}
    return ColumnLineage(name, urn, column, whole, names=names, catalog=catalog)


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

    wanted = _check(direction, hops)
    graph = with_progress(
        catalog,
        lambda _: lineage.read_lineage(
            catalog.core, urn, wanted, hops=hops, limit=limit, with_details=True
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


def _check(direction: str, hops: int) -> "Extent":
    wanted = direction.upper()
    if wanted not in _EXTENTS:
        raise UnknownName("direction", direction, _EXTENTS)
    if hops < 1:
        raise InvalidInput(f"hops is at least 1, not {hops}")
    return _EXTENTS[wanted]


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
