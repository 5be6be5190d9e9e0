"""Lineage as a tree and as a table, and the impact of a change, read and printed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from rich.text import Text

from explorer.cli import output
from explorer.cli.output import (
    Cell,
    Column,
    StyledTable,
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
from explorer.client.records import Flow
from explorer.errors import InvalidInput, NotFound, UnknownName
from explorer.graph import Affected, Graphs, contracted, matches, merged, split_column
from explorer.graph.impact import Grouping
from explorer.graph.nodes import DETAIL_ASPECTS, known_attributes
from explorer.graph.selection import FIELDS
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.registry import Registry
from explorer.metadata.urn import Urn
from explorer.query import read_filter
from explorer.query.filters import Filter
from explorer.views import lineage as views
from explorer.views.lineage import CERTAINTY, ImpactView, LineageEntity, hop_count

if TYPE_CHECKING:
    import networkx as nx

__all__ = [
    "LineageReport",
    "Sides",
    "check_there",
    "column_asked",
    "may_break",
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
]

_OF_COLUMNS = ("name", "platform", "removed", "deprecated")


def read_known(catalog: Catalog, urns: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the attributes of each entity; see `explorer.graph.nodes.known_attributes`.

    A column has `column`, its path as people write it, and the name of its dataset; nothing says
    whether it exists. One request for 150 entities.
    """
    wanted = list(dict.fromkeys(urns))
    columns = {urn: parts for urn in wanted if (parts := split_column(urn))}
    tables = sorted({columns[urn][0] if urn in columns else urn for urn in wanted})
    known = known_attributes(tables, catalog.entities(Urn.parse_all(tables), DETAIL_ASPECTS))
    for urn, (dataset, path) in columns.items():
        held = known[dataset]
        known[urn] = {
            **{name: held[name] for name in _OF_COLUMNS if name in held},
            "type": "schemaField",
            "column": FieldPath(path).simple,
        }
    return {urn: known[urn] for urn in wanted}


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


_SIDES: Final[Mapping[Flow, Literal["upstream", "downstream"]]] = {
    "UPSTREAM": "upstream",
    "DOWNSTREAM": "downstream",
}
_MOST_CYCLES: Final = 3


def print_tree(found: LineageReport) -> None:
    """Print what the entity is made from, the entity itself, and what is made from it."""
    console = results()
    nodes = found.whole.nodes
    shown = [(urn, nodes[urn]) for urn in (found.root, *found.shown)]
    entities = views.lineage_entities(shown)
    root = entities[found.root]
    trees = {
        flow: views.lineage_tree(
            graph, found.root, entities, side=_SIDES[flow], upward=flow == "UPSTREAM"
        )
        for flow, graph in found.sides.items()
    }
    middle = _entity_text(root, "bold underline", before="● ")
    above = [_tree_text(one) for one in trees.get("UPSTREAM", ())]
    for text in (*above, middle, *(_tree_text(one) for one in trees.get("DOWNSTREAM", ()))):
        text.no_wrap, text.overflow = True, "ellipsis"
        console.print(text)


def _tree_text(one: views.TreeLine) -> Text:
    text = Text(one.prefix, "dim")
    match one:
        case views.TreeLine(entity=LineageEntity() as entity, reference=""):
            text = text + _entity_text(entity, "bold")
            if one.note:
                text.append(f"  {one.note}", "italic")
        case views.TreeLine(entity=LineageEntity() as entity):
            text = text + said(entity.full_name) + Text(f"  {one.reference}", "dim italic")
        case _:
            text.append(one.reference, "dim")
    if one.hidden:
        text.append(f"  … {one.hidden:,} more", "dim")
    return text


def _entity_text(entity: LineageEntity, style: str, before: str = "") -> Text:
    text = Text(before) + said(entity.full_name, style)
    text.append(f"  {entity.type}", "dim")
    if entity.state:
        text.append(f"  {entity.state}", "italic")
    return text


def print_as_table(found: LineageReport) -> None:
    """Print a line for each entity, nearest first."""
    if not found.shown:
        return
    columns = (
        Column("name", max_width=48, folds=True, style="bold"),
        Column("type"),
        Column("hops"),
        Column("side"),
        Column("state", style="italic"),
    )
    nodes = found.whole.nodes
    entities = views.lineage_entities((urn, nodes[urn]) for urn in found.shown)
    rows = []
    for one in entities.values():
        far = one.hops or 0
        side = "upstream" if far < 0 else "downstream"
        rows.append((one.full_name, one.type, abs(far), side, one.state))
    _print_used(columns, rows)


def _print_used(columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> None:
    """Print a table without the columns that are empty in every row."""
    used = [
        at for at in range(len(columns)) if any(row[at] not in (None, "", 0, ()) for row in rows)
    ]
    kept = [[row[at] for at in used] for row in rows]
    print_table(StyledTable([columns[at] for at in used], kept))


def say_how_many(found: LineageReport) -> None:
    """The totals, what was left out and how to see it, and cycles, to the person."""
    total = found.total
    hops = hop_count(found.hops)
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
        names = [views.lineage_entity(urn, part.nodes[urn]).name for urn in (*cycle, cycle[0])]
        note(Text("a cycle: "), Text(" → ".join(names)))
    if len(rounds) > _MOST_CYCLES:
        note(Text("there are more cycles"))


_WIDE: Final = 110
_WIDEST: Final = 140


def read_impact(
    catalog: Catalog, urn: str, column: str | None, *, narrowed_by: Filter, with_usage: bool
) -> ImpactView:
    """Return what is affected and matches the filter. Raises `NotFound` where nothing is known of
    the entity, and what `find_impact` does."""
    with naming_what_is_not_there(catalog, urn):
        found = Graphs(catalog).impact(urn, column, with_usage=with_usage)
    if not found.affected:
        check_there(catalog, urn)
    affected = found.affected
    if narrowed_by:
        affected = tuple(
            one for one in affected if _matches(found.nodes[one.urn], one, narrowed_by)
        )
    labels = {label for one in affected for label in (*one.owners, one.domain) if label}
    known = catalog.summaries(Urn.parse_all(sorted(labels)))
    names = {str(other): entity.name for other, entity in known.items()}
    return ImpactView.of(replace(found, affected=affected), names)


def _matches(attributes: Mapping[str, Any], one: Affected, narrowed_by: Filter) -> bool:
    used = {"queries": one.queries, "users": one.users}
    return matches(one.urn, {**attributes, **used}, narrowed_by)


def print_for_people(found: ImpactView, grouping: Grouping | None, most: int) -> None:
    """Print one table, the most used first, or one for each group; `most` lines in each."""
    impact = found.impact
    if not impact.affected:
        return
    console = results()
    if grouping is None:
        _print_affected(found, impact.affected[:most], width=console.width)
        return
    for at, (key, name, group) in enumerate(found.groups(grouping)):
        title = said(name, "bold underline") if key else Text(f"no {grouping}", "italic")
        queries = sum(one.queries or 0 for one in group)
        counts = f"  {len(group):,}" + (f" · {queries:,} queries" if queries else "")
        if at:
            console.print()
        console.print(title + Text(counts, "dim"))
        _print_affected(found, group[:most], width=console.width)
        if len(group) > most:
            console.print(Text(f"… {len(group) - most:,} more", "dim"))


def print_as_json(found: ImpactView, top: int | None) -> None:
    """Print one object: `affected` in order, and `groups` with what is counted under each type,
    platform, owner and domain, "" for those without one."""
    impact = found.impact
    groups = {
        grouping: [
            {
                "key": key,
                "name": name,
                "count": len(group),
                "queries": sum(one.queries or 0 for one in group),
            }
            for key, name, group in found.groups(grouping)
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
            "affected": as_objects(found.table(top)),
            "groups": groups,
        }
    )


def print_as_csv(found: ImpactView, top: int | None) -> None:
    """Print a line for each that is affected."""
    table = found.table(top)
    print_csv(table)


def print_as_urns(found: ImpactView, top: int | None) -> None:
    """Print the URNs of what is affected, the most used first."""
    print_urns(one.urn for one in found.impact.affected[:top])


def say_how_many_affected(found: ImpactView, cut_to: int | None) -> None:
    """Print the totals, of which `cut_to` were printed at most, and what was not looked at."""
    impact = found.impact
    if impact.affected:
        note(Text(f"{len(impact):,} affected by "), said(found.title))
        queries = f"; {found.queries}" if found.queries else ""
        note(Text(f"{', '.join(found.kinds)}{queries}"))
    else:
        note(Text("nothing is affected by "), said(found.title))
    most = len(impact) if cut_to is None else cut_to
    if most < len(impact):
        note(Text(f"{most:,} of {len(impact):,} shown; --top shows more"))
    if impact.truncated:
        note(Text("not everything was looked at: ", "bold"), said(impact.truncated))
    if impact.uncounted:
        note(said(impact.uncounted))


def may_break(found: ImpactView) -> bool:
    """Return whether something is affected, or might be where nobody looked."""
    return bool(found.impact.affected or found.impact.truncated)


def _print_affected(found: ImpactView, affected: Sequence[Affected], *, width: int) -> None:
    """Print a table without the columns that would be empty, nor some where there is little
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
        entity = found.entities[one.urn]
        rows.append(
            (
                entity.full_name,
                entity.type if wide or not narrowed else entity.kind,
                one.queries,
                one.users if counted else None,
                one.hops if counted else None,
                one.columns,
                CERTAINTY[one.certainty] if narrowed else None,
                entity.owners if wide else (),
                entity.state,
            )
        )
    _print_used(columns, rows)
