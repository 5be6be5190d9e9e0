"""Lineage as a tree and as a table, and the impact of a change, read and printed."""

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from rich.text import Text

from explorer.cli import output
from explorer.cli.output import (
    Cell,
    Column,
    Table,
    as_objects,
    note,
    print_csv,
    print_table,
    print_urns,
    results,
    said,
)
from explorer.client import Catalog
from explorer.client.display import line
from explorer.client.entity import SUMMARY_ASPECTS
from explorer.client.records import Flow
from explorer.errors import InvalidInput, NotFound, UnknownName
from explorer.graph import Affected, Graphs, Impact, contracted, matches, merged, split_column
from explorer.graph.impact import Certainty, Grouping
from explorer.graph.nodes import details, identity
from explorer.graph.selection import FIELDS
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.names import plural, singular
from explorer.metadata.registry import Registry
from explorer.metadata.urn import Urn
from explorer.query import read_filter
from explorer.query.filters import Filter

if TYPE_CHECKING:
    import networkx as nx

__all__ = [
    "LineageReport",
    "Sides",
    "check_there",
    "column_asked",
    "may_break",
    "name_of",
    "print_as_csv",
    "print_as_json",
    "print_as_table",
    "print_as_urns",
    "print_for_people",
    "print_tree",
    "read_choice",
    "read_impact",
    "read_known",
    "read_lineage",
    "say_cut",
    "say_how_many",
    "say_how_many_affected",
    "state_of",
    "type_of",
]

_ASPECTS = (*SUMMARY_ASPECTS, "glossaryTerms", "domains")
_OF_COLUMNS = ("name", "platform", "removed", "deprecated")


def read_known(catalog: Catalog, urns: Iterable[str]) -> dict[str, dict[str, Any]]:
    """What `explorer.graph.nodes` tells of each entity, and `exists`: whether it was ever written.

    A column has `column`, its path as people write it, and the name of its dataset; nothing says
    whether it exists. One request for 150 entities.
    """
    wanted = list(dict.fromkeys(urns))
    columns = {urn: parts for urn in wanted if (parts := split_column(urn))}
    asked = {columns[urn][0] if urn in columns else urn for urn in wanted}
    entities = catalog.entities(Urn.parse_all(sorted(asked)), _ASPECTS)
    told = {str(urn): details(entity) for urn, entity in entities.items() if entity.exists}
    found: dict[str, dict[str, Any]] = {}
    for urn in wanted:
        if urn not in columns:
            found[urn] = {**identity(urn), **told.get(urn, {}), "exists": urn in told}
            continue
        dataset, path = columns[urn]
        known = {**identity(dataset), **told.get(dataset, {})}
        found[urn] = {
            **{name: known[name] for name in _OF_COLUMNS if name in known},
            "type": "schemaField",
            "column": FieldPath(path).simple,
        }
    return found


def check_there(catalog: Catalog, urn: str) -> None:
    """Raises `NotFound` where nothing is stored of an entity: a mistyped name has no lineage and
    no relationships either. One request."""
    if not catalog.exists(urn):
        raise NotFound(f"there is no {urn} in this catalog")


@contextmanager
def naming_what_is_not_there(catalog: Catalog, urn: str) -> Iterator[None]:
    """Of an entity that is not there it is not said that it has no such column."""
    try:
        yield
    except UnknownName:
        check_there(catalog, urn)
        raise


# References of one entity that get lines of their own.
_MOST_REFERENCES: Final = 5
_USUAL_ORIGIN: Final = "PROD"

Further = Callable[[str], Sequence[str]]
"""What an entity leads to directly, in the order it is shown in."""

Attributes = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class LineageSide:
    """One side of the entity in the middle.

    `further` leads away from it, `node` and `edge` give what is known of an entity and of the way
    from one to the next. `shown` are the entities that get lines.
    """

    further: Further
    node: Callable[[str], Attributes]
    edge: Callable[[str, str], Attributes]
    shown: Collection[str]


@dataclass(slots=True)
class _Branch:
    urn: str
    """Empty for a line that only refers or counts."""

    text: Text
    below: list["_Branch"] = field(default_factory=list)


def spread(root: str, further: Further) -> dict[str, tuple[str, int]]:
    """What is reached from `root`, nearest first: from where, and how far away it is."""
    found: dict[str, tuple[str, int]] = {root: ("", 0)}
    waiting = deque([root])
    while waiting:
        here = waiting.popleft()
        for there in further(here):
            if there not in found:
                found[there] = here, found[here][1] + 1
                waiting.append(there)
    del found[root]
    return found


def tree_lines(root: str, side: LineageSide, *, upward: bool) -> list[Text]:
    """The lines of one side, without the root's own; with `upward` the root stands below them."""
    top = _grow(root, side, upward=upward)
    lines = list(_draw(top.below, last="┌─ " if upward else "└─ "))
    return lines[::-1] if upward else lines


def name_of(said_of: Attributes, urn: str) -> str:
    """What people call an entity; a column with its dataset before it."""
    name = line(str(said_of.get("name") or "")) or line(urn)
    return f"{name}.{line(said_of['column'])}" if "column" in said_of else name


def type_of(said_of: Attributes) -> str:
    """Kind and platform, as far as they are known, and the environment unless it is the usual."""
    kind = line(str(said_of.get("kind") or said_of.get("type") or ""))
    if "column" in said_of:
        kind = "column"
    origin = line(said_of.get("origin"))
    parts = (kind, line(said_of.get("platform")), "" if origin == _USUAL_ORIGIN else origin)
    return " · ".join(part for part in parts if part)


def state_of(said_of: Attributes) -> str:
    """What is unusual about an entity, in words."""
    states = []
    if said_of.get("removed"):
        states.append("removed")
    elif said_of.get("exists") is False:
        is_column = "column" in said_of
        states.append("not in the schema" if is_column else "only named by others")
    if said_of.get("deprecated"):
        states.append("deprecated")
    return ", ".join(states)


def _grow(root: str, side: LineageSide, *, upward: bool) -> _Branch:
    """The tree of the shortest ways, and in it the references to what stands elsewhere."""
    parents = {
        urn: parent
        for urn, (parent, _) in spread(
            root, lambda urn: [one for one in side.further(urn) if one in side.shown]
        ).items()
    }
    places = _places(root, side, parents)
    top = _Branch(root, Text())
    waiting = [top]
    while waiting:
        branch = waiting.pop()
        references: list[_Branch] = []
        hidden = 0
        for there in side.further(branch.urn):
            if there not in places:
                hidden += 1
                continue
            text = _label(side.node(there), side.edge(branch.urn, there), there)
            if parents.get(there) == branch.urn:
                branch.below.append(_Branch(there, text))
                continue
            where = _where(branch.urn, there, parents, places, upward=upward)
            references.append(_Branch("", _reference(side.node(there), there, where)))
        waiting += branch.below
        branch.below += references[:_MOST_REFERENCES]
        if len(references) > _MOST_REFERENCES:
            more = len(references) - _MOST_REFERENCES
            branch.below.append(_Branch("", Text(f"… {more:,} that have lines elsewhere", "dim")))
        if hidden:
            branch.text.append(f"  … {hidden:,} more", "dim")
    return top


def _places(root: str, side: LineageSide, parents: Mapping[str, str]) -> dict[str, int]:
    """The order in which entities have their lines."""
    found: dict[str, int] = {}
    waiting = [root]
    while waiting:
        here = waiting.pop()
        found[here] = len(found)
        waiting += [one for one in reversed(side.further(here)) if parents.get(one) == here]
    return found


def _where(
    here: str, there: str, parents: Mapping[str, str], places: Mapping[str, int], *, upward: bool
) -> str:
    at: str | None = here
    while at is not None:
        if at == there:
            return "↺ a cycle, back to itself" if there == here else "↺ a cycle, back to this"
        at = parents.get(at)
    before = places[there] < places[here]
    return "↑ above" if before != upward else "↓ below"


def _label(said_of: Attributes, edge: Attributes, urn: str) -> Text:
    text = said(name_of(said_of, urn), "bold")
    text.append(f"  {type_of(said_of)}", "dim")
    marks = [state_of(said_of)]
    if edge.get("guess"):
        marks.append("guess: same name")
    elif edge.get("transform"):
        marks.append(line(str(edge["transform"]), 60))
    if edge.get("over"):
        others = edge["over"]
        marks.append(f"through {others:,} {'other' if others == 1 else 'others'}")
    for mark in marks:
        if mark:
            text.append(f"  {mark}", "italic")
    return text


def _reference(said_of: Attributes, urn: str, where: str) -> Text:
    return said(name_of(said_of, urn)) + Text(f"  {where}", "dim italic")


def _draw(branches: Sequence[_Branch], *, last: str) -> Iterator[Text]:
    """A line for each branch, those that hang on it indented below it."""
    waiting = [(branch, "", branch is branches[-1]) for branch in reversed(branches)]
    while waiting:
        branch, indent, is_last = waiting.pop()
        yield Text(f"{indent}{last if is_last else '├─ '}", "dim") + branch.text
        deeper = f"{indent}{'   ' if is_last else '│  '}"
        waiting += [(below, deeper, below is branch.below[-1]) for below in reversed(branch.below)]


Sides = Literal["both", "down", "up"]

_FLOWS: Mapping[Sides, tuple[Flow, ...]] = {
    "both": ("UPSTREAM", "DOWNSTREAM"),
    "down": ("DOWNSTREAM",),
    "up": ("UPSTREAM",),
}

# As people write them.
_FIELDS = frozenset("type" if name == "_entityType" else name for name in FIELDS)


@dataclass(frozen=True, slots=True)
class LineageReport:
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


def read_lineage(
    catalog: Catalog,
    urn: str,
    column: str | None,
    sides: Sides,
    *,
    hops: int,
    looking_on: bool,
    narrowed_by: Filter,
    limit: int | None,
) -> LineageReport:
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
    return LineageReport(root, hops, whole, read, shown)


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


_SIDES: Final[dict[Flow, str]] = {"UPSTREAM": "upstream", "DOWNSTREAM": "downstream"}
_MOST_CYCLES: Final = 3


def print_tree(found: LineageReport) -> None:
    """What the entity is made from, the entity itself, and what is made from it."""
    console = results()
    about = found.whole.nodes[found.root]
    middle = Text("● ") + Text(name_of(about, found.root), "bold underline")
    middle.append(f"  {type_of(about)}", "dim")
    if state_of(about):
        middle.append(f"  {state_of(about)}", "italic")
    lines = [middle]
    if "UPSTREAM" in found.sides:
        lines = [*tree_lines(found.root, _around(found, "UPSTREAM"), upward=True), *lines]
    if "DOWNSTREAM" in found.sides:
        lines += tree_lines(found.root, _around(found, "DOWNSTREAM"), upward=False)
    for one in lines:
        one.no_wrap, one.overflow = True, "ellipsis"
        console.print(one)


def print_as_table(found: LineageReport) -> None:
    """A line for each entity, nearest first."""
    if not found.shown:
        return
    columns = (
        Column("name", max_width=48, folds=True, style="bold"),
        Column("type"),
        Column("hops"),
        Column("side"),
        Column("state", style="italic"),
    )
    rows = []
    for urn in found.shown:
        said = found.whole.nodes[urn]
        far = said["hops"]
        side = "upstream" if far < 0 else "downstream"
        rows.append((name_of(said, urn), type_of(said), abs(far), side, state_of(said)))
    used = [at for at in range(len(columns)) if any(row[at] for row in rows)]
    print_table(Table([columns[at] for at in used], [[row[at] for at in used] for row in rows]))


def say_how_many(found: LineageReport) -> None:
    """The totals, what was left out and how to see it, and cycles, to the person."""
    total = found.total
    hops = "1 hop" if found.hops == 1 else f"{found.hops:,} hops"
    counts = [
        f"{found.count(flow):,} {side}" for flow, side in _SIDES.items() if flow in found.sides
    ]
    if not total:
        note(Text(f"nothing {' or '.join(_SIDES[flow] for flow in found.sides)} in {hops}"))
    elif len(found.shown) < total:
        note(
            Text(
                f"{len(found.shown):,} of {total:,} shown ({', '.join(counts)}) in {hops}; "
                "--limit shows more"
            )
        )
    else:
        note(Text(f"{', '.join(counts)} in {hops}"))
    if found.goes_on:
        note(Text(f"it goes on: --hops {found.hops + 1} shows more"))
    guesses = found.whole.graph.get("guesses")
    if guesses:
        ways = "1 way between columns is a guess" if guesses == 1 else f"{guesses:,} are guesses"
        note(Text(f"{ways}: only the tables are known to be connected"))
    _say_cycles(found)
    if found.truncated:
        note(Text("not all was walked: ", "bold"), Text(line(found.truncated)))


def say_cut(picture: str) -> None:
    """Pictures hold only so much, and say in a comment at their top what they leave out."""
    _, _, cut = "\n".join(picture.split("\n", 2)[:2]).partition("cut: ")
    if cut:
        note(Text(f"the picture is cut: {line(cut)}; --limit draws the nearest"))


def _say_cycles(found: LineageReport) -> None:
    from explorer.graph import cycles

    part = found.part()
    rounds = cycles(part, limit=_MOST_CYCLES + 1)
    for cycle in rounds[:_MOST_CYCLES]:
        names = [name_of(part.nodes[urn], urn) for urn in (*cycle, cycle[0])]
        note(Text("a cycle: "), Text(" → ".join(names)))
    if len(rounds) > _MOST_CYCLES:
        note(Text("there are more cycles"))


def _around(found: LineageReport, flow: Flow) -> LineageSide:
    graph = found.sides[flow]
    nodes = found.whole.nodes
    upward = flow == "UPSTREAM"

    @cache
    def further(urn: str) -> Sequence[str]:
        if urn not in graph:
            return ()
        near = graph.predecessors(urn) if upward else graph.successors(urn)
        # The lines of what is above are read from the bottom.
        return sorted(near, key=lambda one: (order(one), one), reverse=upward)

    @cache
    def order(urn: str) -> str:
        return name_of(nodes[urn], urn).casefold()

    return LineageSide(
        further,
        lambda urn: nodes[urn],
        lambda near, far: graph.edges[(far, near) if upward else (near, far)],
        {found.root, *found.shown},
    )


_WIDE: Final = 110
_WIDEST: Final = 140
_WORDS: Final[dict[Certainty, str]] = {
    "said": "said",
    "guessed": "guess: same name",
    "table": "the table only",
}


@dataclass(frozen=True, slots=True)
class ImpactReport:
    """An impact, what the nodes in it say of themselves, and the names of owners and domains."""

    impact: Impact
    about: Mapping[str, Mapping[str, Any]]
    names: Mapping[str, str]

    @property
    def root(self) -> str:
        """The entity or column in question, as people call it."""
        name = name_of(self.about[self.impact.root], self.impact.root)
        return f"{name}.{line(self.impact.column)}" if self.impact.column else name


def read_impact(
    catalog: Catalog,
    urn: str,
    column: str | None,
    *,
    narrowed_by: Filter,
    with_usage: bool,
    most: int | None,
) -> ImpactReport:
    """What is affected and matches the filter; without one only the first `most` need be known
    beyond what the impact says. Raises `NotFound` where nothing is known of the entity, and what
    `find_impact` does."""
    with naming_what_is_not_there(catalog, urn):
        found = Graphs(catalog).impact(urn, column, with_usage=with_usage)
    if not found.affected:
        check_there(catalog, urn)
    wanted = found.affected if narrowed_by else found.affected[:most]
    about = read_known(catalog, [found.root, *(one.urn for one in wanted)])
    for one in wanted:
        about[one.urn] |= {
            "hops": one.hops,
            "queries": one.queries,
            "users": one.users,
            "exists": one.exists,
            "removed": one.removed,
        }
    affected = found.affected
    if narrowed_by:
        affected = tuple(one for one in affected if matches(one.urn, about[one.urn], narrowed_by))
    named = {owner for one in affected for owner in one.owners} | {
        one.domain for one in affected if one.domain
    }
    people = catalog.summaries(Urn.parse_all(sorted(named)))
    names = {str(other): entity.name for other, entity in people.items()}
    return ImpactReport(replace(found, affected=affected), about, names)


def print_for_people(found: ImpactReport, grouping: Grouping | None, most: int) -> None:
    """One table, the most used first, or one for each group; `most` lines in each."""
    impact = found.impact
    if not impact.affected:
        return
    console = results()
    width = console.width
    if grouping is None:
        print_table(_page(found, impact.affected[:most], width=width))
        return
    for at, (key, group) in enumerate(impact.by(grouping).items()):
        title = said(_called(found, key), "bold underline") if key else _without(grouping)
        queries = sum(one.queries or 0 for one in group)
        counts = f"  {len(group):,}" + (f" · {queries:,} queries" if queries else "")
        if at:
            console.print()
        console.print(title + Text(counts, "dim"))
        print_table(_page(found, group[:most], width=width))
        if len(group) > most:
            console.print(Text(f"… {len(group) - most:,} more", "dim"))


def print_as_json(found: ImpactReport, top: int | None) -> None:
    """One object: `affected` in order, and `groups` with what is counted under each type,
    platform, owner and domain, "" for those without one."""
    impact = found.impact
    groups = {
        grouping: [
            {
                "key": key,
                "name": _called(found, key) if key else "",
                "count": len(group),
                "queries": sum(one.queries or 0 for one in group),
            }
            for key, group in impact.by(grouping).items()
        ]
        for grouping in get_args(Grouping)
    }
    output.print_json(
        {
            "urn": impact.root,
            "column": impact.column,
            "total": len(impact),
            "queries": impact.queries,
            "truncated": impact.truncated,
            "uncounted": impact.uncounted,
            "affected": as_objects(_rows(found, impact.affected[:top])),
            "groups": groups,
        }
    )


def print_as_csv(found: ImpactReport, top: int | None) -> None:
    """A line for each that is affected."""
    print_csv(_rows(found, found.impact.affected[:top]))


def print_as_urns(found: ImpactReport, top: int | None) -> None:
    """The URNs of what is affected, the most used first."""
    print_urns(one.urn for one in found.impact.affected[:top])


def say_how_many_affected(found: ImpactReport, cut_to: int | None) -> None:
    """The totals, of which `cut_to` were printed at most, and what was not looked at."""
    impact = found.impact
    if impact.affected:
        kinds = Counter(one.type for one in impact.affected)
        counted = ", ".join(
            f"{count:,} {_plural(kind, count)}" for kind, count in kinds.most_common()
        )
        queries = f"; {impact.queries:,} queries in 30 days" if impact.queries else ""
        note(Text(f"{len(impact):,} affected by "), said(found.root))
        note(Text(f"{counted}{queries}"))
    else:
        note(Text("nothing is affected by "), said(found.root))
    most = len(impact) if cut_to is None else cut_to
    if most < len(impact):
        note(Text(f"{most:,} of {len(impact):,} shown; --top shows more"))
    if impact.truncated:
        note(Text("not everything was looked at: ", "bold"), said(impact.truncated))
    if impact.uncounted:
        note(said(impact.uncounted))


def may_break(found: ImpactReport) -> bool:
    """Whether something is affected, or might be where nobody looked."""
    return bool(found.impact.affected or found.impact.truncated)


def _page(found: ImpactReport, affected: Sequence[Affected], *, width: int) -> Table:
    """What people see; columns that would be empty are left out, and some where there is little
    room."""
    narrowed = found.impact.column is not None
    wide = width >= (_WIDEST if narrowed else _WIDE)
    counted = not narrowed or width >= _WIDE
    columns = (
        Column("name", max_width=36, folds=True, style="bold"),
        Column("type"),
        Column("queries"),
        Column("users"),
        Column("hops"),
        Column("columns", max_width=20, folds=True),
        Column("known", folds=True),
        Column("owners", max_width=24, style="dim"),
        Column("state", style="italic"),
    )
    rows: list[tuple[Cell, ...]] = []
    for one in affected:
        about = found.about[one.urn]
        rows.append(
            (
                name_of(about, one.urn),
                type_of(about) if wide or not narrowed else str(about.get("kind") or one.type),
                one.queries,
                one.users if counted else None,
                one.hops if counted else None,
                one.columns,
                _WORDS[one.certainty] if narrowed else None,
                [_called(found, owner) for owner in one.owners] if wide else [],
                state_of(about),
            )
        )
    used = [
        at for at in range(len(columns)) if any(row[at] not in (None, "", (), []) for row in rows)
    ]
    return Table([columns[at] for at in used], [[row[at] for at in used] for row in rows])


def _rows(found: ImpactReport, affected: Iterable[Affected]) -> Table:
    """What programs get."""
    names = (
        "urn",
        "name",
        "type",
        "kind",
        "platform",
        "hops",
        "queries",
        "users",
        "certainty",
        "columns",
        "owners",
        "domain",
        "exists",
        "removed",
        "deprecated",
    )
    rows: list[tuple[Cell, ...]] = [
        (
            one.urn,
            one.name,
            one.type,
            found.about[one.urn].get("kind", one.type),
            one.platform,
            one.hops,
            one.queries,
            one.users,
            one.certainty if found.impact.column else None,
            one.columns,
            one.owners,
            one.domain,
            one.exists,
            one.removed,
            one.deprecated,
        )
        for one in affected
    ]
    return Table([Column(name) for name in names], rows)


def _called(found: ImpactReport, key: str) -> str:
    return found.names.get(key) or Urn.label(key)


def _without(grouping: Grouping) -> Text:
    return Text(f"no {grouping}", "italic")


def _plural(kind: str, count: int) -> str:
    return singular(kind) if count == 1 else plural(kind)
