"""Read and render lineage, also that of SQL statements, the impact of a change, paths and
relationships."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from rich.text import Text

from explorer.cli import output
from explorer.cli.options import OutputFormat
from explorer.cli.output import (
    Cell,
    StyledTable,
    line_text,
    note,
    print_table,
    print_urns,
    results,
    show,
)
from explorer.client import Catalog
from explorer.client.display import line
from explorer.client.records import Direction, Flow
from explorer.errors import InvalidInput, NotFound, UnknownName
from explorer.graph import Affected, contracted, matches, split_column
from explorer.graph.analysis import Grouping
from explorer.graph.nodes import DETAIL_ASPECTS, FIELDS, attributes_of
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.registry import Registry
from explorer.metadata.urn import Urn
from explorer.query import read_filter
from explorer.query.filters import Filter
from explorer.sessions import lineage as sessions
from explorer.sessions.lineage import LineageQuery, read_graph
from explorer.views import lineage as views
from explorer.views.lineage import (
    CERTAINTY,
    ChangeImpact,
    ImpactView,
    LineageEntity,
    PathsView,
    SchemaChangesView,
    hop_count,
)
from explorer.views.table import Table, TableColumn

if TYPE_CHECKING:
    import networkx as nx

    from explorer.graph import Extent
    from explorer.sources.script_lineage import CatalogTables, StatementLineage
    from explorer.sources.sql_lineage import Path as TablePath

# By how much a search of paths that stopped is suggested to go further.
_FURTHER: Final = 4
_DATASET_ATTRIBUTES = ("name", "platform", "removed", "deprecated")


def read_attributes(catalog: Catalog, urns: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return the attributes of each entity; see `explorer.graph.nodes.attributes_of`.

    A column has `column`, its simple path, and the name of its dataset, but no `exists`. Makes one
    request per 150 entities.
    """
    unique_urns = list(dict.fromkeys(urns))
    columns = {urn: parts for urn in unique_urns if (parts := split_column(urn))}
    tables = sorted({columns[urn][0] if urn in columns else urn for urn in unique_urns})
    attributes = attributes_of(tables, catalog.entities(Urn.parse_all(tables), DETAIL_ASPECTS))
    for urn, (dataset, path) in columns.items():
        attribute = attributes[dataset]
        attributes[urn] = {
            **{name: attribute[name] for name in _DATASET_ATTRIBUTES if name in attribute},
            "type": "schemaField",
            "column": FieldPath(path).simple,
        }
    return {urn: attributes[urn] for urn in unique_urns}


def check_there(catalog: Catalog, urn: str) -> None:
    """Raise `NotFound` if the catalog does not have the entity. Makes one request.

    A mistyped URN would otherwise look like an entity without lineage or relationships.
    """
    if not catalog.exists(urn):
        raise NotFound(f"there is no {urn} in this catalog")


@contextmanager
def _checking_existence(catalog: Catalog, urn: str) -> Iterator[None]:
    """Raise `NotFound` instead of `UnknownName` if the entity, not only its column, is missing."""
    try:
        yield
    except UnknownName:
        check_there(catalog, urn)
        raise


Sides = Literal["both", "down", "up"]

_EXTENTS: "Mapping[Sides, Extent]" = {"both": "BOTH", "down": "DOWNSTREAM", "up": "UPSTREAM"}

# The names of the fields in filters, for error messages.
_FIELDS = frozenset("type" if name == "_entityType" else name for name in FIELDS)


@dataclass(frozen=True, slots=True)
class LineageReport:
    """The lineage of an entity or column, `root`, on some sides.

    `nearest` has the URNs to show, those within `hops` from the nearest on, without the root. The
    graph may reach one hop further.
    """

    root: str
    hops: int
    graph: "nx.DiGraph"
    sides: tuple[Flow, ...]
    nearest: tuple[str, ...]

    @property
    def truncated(self) -> str | None:
        """The reason why the traversal stopped early, or None."""
        cut: str | None = self.graph.graph["truncated"]
        return cut

    @property
    def total(self) -> int:
        """The number of nodes within `hops`, without the root."""
        return sum(map(self.count, self.sides))

    @property
    def has_more(self) -> bool:
        """Whether the graph has nodes beyond `hops`."""
        return self.total < len(self.graph) - 1

    def count(self, flow: Flow) -> int:
        """Return the number of nodes on one side within `hops`."""
        far = [self.graph.nodes[node]["hops"] for node in _within(self.graph, self.root, self.hops)]
        return sum((hops < 0) == (flow == "UPSTREAM") for hops in far)

    def part(self) -> "nx.DiGraph":
        """Return the graph of the root and the nodes shown."""
        if len(self.nearest) == len(self.graph) - 1:
            return self.graph
        return self.graph.subgraph({self.root, *self.nearest}).copy()


def column_target(urn: str, column: str | None) -> tuple[str, str | None]:
    """Return the URN of the entity and the path of the column; a column can be given by its URN.

    Raises `InvalidInput` if both the URN and `column` name a column.
    """
    parts = split_column(urn)
    if parts is None:
        return urn, column
    if column is not None:
        raise InvalidInput("the URN already names a column; leave out --column")
    return parts


def read_choice(texts: Iterable[str], registry: Registry) -> Filter:
    """Parse filters on the attributes of graph nodes, and return one that requires all of them.

    Raises `UnknownName` for a field that graph nodes do not have.
    """
    chosen = Filter()
    for text in texts:
        # Not strict, because hops, queries and users are not fields of the metadata model.
        parsed = read_filter(text, registry, strict=False)
        for criterion in (criterion for group in parsed.any_of for criterion in group):
            name = criterion.field.removesuffix(".keyword")
            if name not in FIELDS:
                raise UnknownName("field of entities in lineage", name, _FIELDS)
        chosen = chosen.and_(parsed)
    return chosen


def read_lineage(
    catalog: Catalog,
    urn: str,
    column: str | None,
    sides: Sides,
    *,
    hops: int,
    with_next_hop: bool,
    filter: Filter,
    limit: int | None,
) -> LineageReport:
    """Return lineage up to `hops` away, of the column if one is given.

    With `with_next_hop` the graphs include one more hop, which is not shown. Nodes that do not
    match the filter are contracted. At most `limit` nodes are shown, the nearest ones; details are
    fetched for those. Raises `NotFound` if there is no such entity, and `UnknownName` if there is
    no such column.
    """
    query = LineageQuery(Urn.parse(urn), _EXTENTS[sides], hops + with_next_hop, column)
    with _checking_existence(catalog, urn):
        graph = catalog.wait(read_graph(catalog.core, query))
    root = graph.graph["roots"][0]
    if filter:
        _add_details(catalog, graph, graph)
        matching = {
            node for node, attributes in graph.nodes(data=True) if matches(node, attributes, filter)
        }
        graph = contracted(graph, matching | {root})
    far = dict(graph.nodes.data("hops"))
    nearest = sorted(_within(graph, root, hops), key=lambda node: (abs(far[node]), node))
    nearest_urns = tuple(nearest[:limit])
    if not filter:
        _add_details(catalog, graph, (root, *nearest_urns))
    if len(graph) == 1:
        check_there(catalog, urn)
    return LineageReport(root, hops, graph, query.sides, nearest_urns)


def _within(graph: "nx.DiGraph", root: str, hops: int) -> Iterator[str]:
    for node, far in graph.nodes.data("hops"):
        if node != root and abs(far) <= hops:
            yield node


def _add_details(catalog: Catalog, graph: "nx.DiGraph", urns: Iterable[str]) -> None:
    """Add attributes of the entities to the nodes, except `exists` if lineage has set it."""
    for urn, attribute in read_attributes(catalog, urns).items():
        exists = graph.nodes[urn].get("exists")
        graph.nodes[urn].update(attribute)
        if exists is not None:
            graph.nodes[urn]["exists"] = exists


_SIDES: Final[Mapping[Flow, Literal["upstream", "downstream"]]] = {
    "UPSTREAM": "upstream",
    "DOWNSTREAM": "downstream",
}
_MAX_CYCLES: Final = 3


def print_tree(report: LineageReport) -> None:
    """Print the tree: upstream entities, the entity itself, downstream entities."""
    console = results()
    nodes = report.graph.nodes
    attributes_of_nodes = [(urn, nodes[urn]) for urn in (report.root, *report.nearest)]
    entities = views.lineage_entities(attributes_of_nodes)
    root = entities[report.root]
    trees = {
        flow: views.lineage_tree(
            report.graph, report.root, entities, side=_SIDES[flow], upward=flow == "UPSTREAM"
        )
        for flow in report.sides
    }
    middle = _entity_text(root, "bold underline", before="● ")
    above = [_tree_text(tree_line) for tree_line in trees.get("UPSTREAM", ())]
    for text in (
        *above,
        middle,
        *(_tree_text(tree_line) for tree_line in trees.get("DOWNSTREAM", ())),
    ):
        text.no_wrap, text.overflow = True, "ellipsis"
        console.print(text)


def _tree_text(tree_line: views.TreeLine) -> Text:
    text = Text(tree_line.prefix, "dim")
    match tree_line:
        case views.TreeLine(entity=LineageEntity() as entity, reference=""):
            text = text + _entity_text(entity, "bold")
            if tree_line.note:
                text.append(f"  {tree_line.note}", "italic")
        case views.TreeLine(entity=LineageEntity() as entity):
            text = (
                text + line_text(entity.full_name) + Text(f"  {tree_line.reference}", "dim italic")
            )
        case _:
            text.append(tree_line.reference, "dim")
    if tree_line.hidden:
        text.append(f"  … {tree_line.hidden:,} more", "dim")
    return text


def _entity_text(entity: LineageEntity, style: str, before: str = "") -> Text:
    text = Text(before) + line_text(entity.full_name, style)
    text.append(f"  {entity.type}", "dim")
    if entity.state:
        text.append(f"  {entity.state}", "italic")
    return text


def print_as_table(report: LineageReport) -> None:
    """Print one line per entity, nearest first."""
    if not report.nearest:
        return
    columns = (
        TableColumn(
            "name", read=lambda entity: entity.full_name, max_width=48, folds=True, style="bold"
        ),
        TableColumn("type"),
        TableColumn("hops", read=lambda entity: abs(entity.hops or 0)),
        TableColumn(
            "side", read=lambda entity: "upstream" if (entity.hops or 0) < 0 else "downstream"
        ),
        TableColumn("state", style="italic"),
    )
    nodes = report.graph.nodes
    entities = views.lineage_entities((urn, nodes[urn]) for urn in report.nearest)
    _print_used(columns, Table.from_records(entities.values(), columns).rows)


def _print_used(columns: Sequence[TableColumn], rows: Sequence[Sequence[Cell]]) -> None:
    """Print a table without columns that are empty in every row."""
    used = [
        at for at in range(len(columns)) if any(row[at] not in (None, "", 0, ()) for row in rows)
    ]
    used_rows = [[row[at] for at in used] for row in rows]
    print_table(StyledTable([columns[at] for at in used], used_rows))


def print_lineage_totals(report: LineageReport) -> None:
    """Print totals, what was left out and how to see it, and cycles to standard error."""
    total = report.total
    hops = hop_count(report.hops)
    counts = [
        f"{report.count(flow):,} {side}" for flow, side in _SIDES.items() if flow in report.sides
    ]
    if not total:
        note(Text(f"nothing {' or '.join(_SIDES[flow] for flow in report.sides)} within {hops}"))
    elif len(report.nearest) < total:
        note(
            Text(
                f"{len(report.nearest):,} of {total:,} shown ({', '.join(counts)}) within {hops}; "
                "--limit shows more"
            )
        )
    else:
        note(Text(f"{', '.join(counts)} within {hops}"))
    if report.has_more:
        note(Text(f"there is more lineage; --hops {report.hops + 1} shows it"))
    guesses = report.graph.graph.get("guesses")
    if guesses:
        edges = (
            "1 column edge is a guess" if guesses == 1 else f"{guesses:,} column edges are guesses"
        )
        note(Text(f"{edges}: only their tables are known to be connected"))
    _print_cycles(report)
    if report.truncated:
        note(Text("incomplete: ", "bold"), Text(line(report.truncated)))


def warn_of_truncation(picture: str) -> None:
    """Print a warning if a diagram was truncated, which a comment at its top says."""
    _, _, cut = "\n".join(picture.split("\n", 2)[:2]).partition("cut: ")
    if cut:
        note(Text(f"the diagram is truncated: {line(cut)}; --limit draws only the nearest"))


def _print_cycles(report: LineageReport) -> None:
    from explorer.graph import cycles

    part = report.part()
    found_cycles = cycles(part, limit=_MAX_CYCLES + 1)
    for cycle in found_cycles[:_MAX_CYCLES]:
        names = [views.lineage_entity(urn, part.nodes[urn]).name for urn in (*cycle, cycle[0])]
        note(Text("cycle: "), Text(" → ".join(names)))
    if len(found_cycles) > _MAX_CYCLES:
        note(Text("there are more cycles"))


_WIDE: Final = 110
_WIDEST: Final = 140


def read_impact(
    catalog: Catalog, urn: str, column: str | None, *, filter: Filter, with_usage: bool
) -> ImpactView:
    """Return the affected entities that match the filter. Raises `NotFound` if there is no such
    entity, and whatever `find_impact` raises."""
    with _checking_existence(catalog, urn):
        reading = sessions.read_impact(
            catalog.core, urn, column, filter=filter, with_usage=with_usage
        )
        view = catalog.wait(reading)
    if not view.impact.affected:
        check_there(catalog, urn)
    return view


def print_impact(
    view: ImpactView, grouping: Grouping | None, top: int | None, shown_as: OutputFormat | None
) -> None:
    """Print the affected entities in the given format, at most `top`, the most used first.

    For people this is one table, or with `grouping` one per group with at most `top` lines each.
    """
    match shown_as:
        case "json" | "csv" | "urns":
            show(view.table(top), shown_as, "affected", **_impact_document(view))
        case _ if view.impact.affected:
            _print_impact_tables(view, grouping, top or len(view.impact.affected))
        case _:
            pass


def _print_impact_tables(view: ImpactView, grouping: Grouping | None, most: int) -> None:
    impact = view.impact
    console = results()
    if grouping is None:
        _print_affected(view, impact.affected[:most], width=console.width)
        return
    for at, (key, name, group) in enumerate(view.groups(grouping)):
        title = line_text(name, "bold underline") if key else Text(f"no {grouping}", "italic")
        queries = sum(node.queries or 0 for node in group)
        counts = f"  {len(group):,}" + (f" · {queries:,} queries" if queries else "")
        if at:
            console.print()
        console.print(title + Text(counts, "dim"))
        _print_affected(view, group[:most], width=console.width)
        if len(group) > most:
            console.print(Text(f"… {len(group) - most:,} more", "dim"))


def _impact_document(view: ImpactView) -> dict[str, Any]:
    """Return what the JSON object has beside `affected`: `groups` has the counts for each type,
    platform, owner and domain; the key "" is for entities without one."""
    impact = view.impact
    groups = {
        grouping: [
            {
                "key": key,
                "name": name,
                "count": len(group),
                "queries": sum(node.queries or 0 for node in group),
            }
            for key, name, group in view.groups(grouping)
        ]
        for grouping in get_args(Grouping)
    }
    return {
        "urn": impact.root,
        "column": impact.column,
        "total": len(impact),
        "queries": impact.queries,
        "truncated": impact.truncated,
        "uncounted": impact.uncounted,
        "affected": None,
        "groups": groups,
    }


def print_impact_totals(view: ImpactView, cut_to: int | None) -> None:
    """Print the totals, and what was left out; at most `cut_to` entities were printed."""
    impact = view.impact
    if impact.affected:
        note(Text(f"{len(impact):,} affected by "), line_text(view.title))
        queries = f"; {view.queries}" if view.queries else ""
        note(Text(f"{', '.join(view.kinds)}{queries}"))
    else:
        note(Text("nothing is affected by "), line_text(view.title))
    most = len(impact) if cut_to is None else cut_to
    if most < len(impact):
        note(Text(f"{most:,} of {len(impact):,} shown; --top shows more"))
    if impact.truncated:
        note(Text("incomplete: ", "bold"), line_text(impact.truncated))
    if impact.uncounted:
        note(line_text(impact.uncounted))


def may_break(found: ImpactView) -> bool:
    """Return whether anything is affected, or the traversal stopped before it could tell."""
    return bool(found.impact.affected or found.impact.truncated)


WORKFLOW: Final = Path(__file__).with_name("impact-workflow.yml")
"""The path of a GitHub workflow that comments on a pull request with its impact."""


def read_schema_changes(
    catalog: Catalog, revisions: str, dialect: str | None, *, filter: Filter, with_usage: bool
) -> SchemaChangesView:
    """Return the schema changes in commits of the current repository, with their impact.

    Raises whatever `explorer.sources.schema_changes.read_changes` raises.
    """
    from explorer.sources.schema_changes import NamedDatasets, read_changes

    datasets = NamedDatasets(catalog)
    schemas = read_changes(Path.cwd(), revisions, datasets, dialect)
    impacts = []
    for change in schemas.changes:
        if change.kind == "added":
            impacts.append(ChangeImpact(change))
            continue
        views, problem = [], "the catalog does not have this table"
        for entity in datasets.find(change.table, is_dbt=change.is_dbt):
            column = None
            if change.column is not None:
                lowered = change.column.casefold()
                paths = (column.path for column in entity.schema)
                column = next(
                    (path.raw for path in paths if path.simple.casefold() == lowered), None
                )
                if column is None:
                    problem = "the catalog has this table, but not this column"
                    continue
            views.append(
                read_impact(
                    catalog,
                    str(entity.urn),
                    column,
                    filter=filter,
                    with_usage=with_usage,
                )
            )
        impacts.append(ChangeImpact(change, tuple(views), None if views else problem))
    return SchemaChangesView.of(schemas, impacts)


def print_schema_changes(view: SchemaChangesView, shown_as: OutputFormat | None) -> None:
    """Print the changes in the given format; as URNs, print those of the affected entities."""
    if shown_as == "urns":
        print_urns(dict.fromkeys(node.urn for impact in view.impacts for node in impact.affected))
    else:
        skipped = [{"subject": part.subject, "reason": part.reason} for part in view.found.skipped]
        base, head = view.found.base, view.found.head
        show(view.table(), shown_as, "changes", base=base, head=head, changes=None, skipped=skipped)
    note(line_text(view.title))
    for text in view.notes:
        note(Text("not checked: ", "bold"), line_text(text))


def _print_affected(view: ImpactView, affected: Sequence[Affected], *, width: int) -> None:
    """Print a table of affected entities, with fewer columns on a narrow terminal."""
    narrowed = view.impact.column is not None
    wide = width >= (_WIDEST if narrowed else _WIDE)
    counted = not narrowed or width >= _WIDE
    columns = (
        TableColumn("name", max_width=36, folds=True, style="bold"),
        TableColumn("type"),
        TableColumn("queries"),
        TableColumn("users"),
        TableColumn("hops"),
        TableColumn("columns", max_width=20, folds=True),
        TableColumn("known", folds=True),
        TableColumn("owners", max_width=24, style="dim"),
        TableColumn("state", style="italic"),
    )
    rows: list[tuple[Cell, ...]] = []
    for node in affected:
        entity = view.entities[node.urn]
        rows.append(
            (
                entity.full_name,
                entity.type if wide or not narrowed else entity.kind,
                node.queries,
                node.users if counted else None,
                node.hops if counted else None,
                node.columns,
                CERTAINTY[node.certainty] if narrowed else None,
                entity.owners if wide else (),
                entity.state,
            )
        )
    _print_used(columns, rows)


_INDENT: Final = "  "


def _check_relationships(names: Sequence[str], registry: Registry) -> None:
    """Raise `UnknownName` for a relationship that the metadata model does not have."""
    relationships = {
        edge.name for aspect in registry.aspects.values() for edge in aspect.relationships
    }
    for name in names:
        if name not in relationships:
            raise UnknownName("relationship", name, relationships)


def read_paths(
    catalog: Catalog,
    source: str,
    target: str,
    relationships: Sequence[str],
    *,
    hops: int | None,
    limit: int,
) -> PathsView:
    """Return all shortest paths, at most `limit`. Raises `NotFound` if there is no path because
    one of the two entities does not exist."""
    _check_relationships(relationships, catalog.registry)
    reading = sessions.read_paths(
        catalog.core, source, target, relationships=relationships or None, hops=hops, limit=limit
    )
    view = catalog.wait(reading)
    if not view.paths.node_paths:
        for end in (view.paths.source, view.paths.target):
            check_there(catalog, end)
    return view


def print_paths(view: PathsView, shown_as: OutputFormat | None) -> None:
    """Print the paths in the given format; as URNs, print only the first path."""
    match shown_as:
        case "json":
            _print_paths_as_json(view)
        case "urns":
            print_urns(view.paths.node_paths[0] if view.paths.node_paths else ())
        case _:
            _print_path_lines(view)


def _print_path_lines(view: PathsView) -> None:
    """Print one line per path, numbered if there are several, and wrapped between entities.

    If the paths do not follow lineage, each arrow shows the name of its relationship.
    """
    console = results()
    several = len(view.steps) > 1
    widest = len(str(len(view.steps)))
    for number, steps in enumerate(view.steps, 1):
        before = f"{number:>{widest}}  " if several else ""
        lines = [Text(before, "dim")]
        for at, step in enumerate(steps):
            text = _step(step.entity)
            if at:
                arrow = _arrow(view, step.relationship)
                if lines[-1].cell_len + arrow.cell_len + text.cell_len + 1 > console.width:
                    lines.append(Text(" " * len(before) + _INDENT) + arrow)
                else:
                    lines[-1] = lines[-1] + Text(" ") + arrow
            lines[-1] = lines[-1] + text
        for text in lines:
            text.overflow = "fold"
            console.print(text)


def _print_paths_as_json(view: PathsView) -> None:
    """Print one JSON object: `ways` has the entities of each path from `source` to `target`, and
    `joined_by` the relationships between them."""
    paths = view.paths
    output.print_json(
        {
            "source": paths.source,
            "target": paths.target,
            "direction": paths.direction if paths.node_paths else None,
            "hops": paths.hops,
            "joined_by": paths.joined_by,
            "truncated": paths.truncated,
            "ways": [
                [_entity_as_json(view.nodes[urn], urn) for urn in node_path]
                for node_path in paths.node_paths
            ],
        }
    )


def print_path_totals(view: PathsView, relationships: Sequence[str], most_hops: int) -> None:
    """Print the number of paths, their length and their direction; where the search stopped, also a
    number of hops for another one, at most `most_hops`."""
    paths = view.paths
    source, target = line_text(view.source.full_name), line_text(view.target.full_name)
    if not paths.node_paths:
        along = f"along {', '.join(relationships)}" if relationships else "along lineage"
        if paths.within:
            along += f" within {hop_count(paths.within)}"
        note(Text("there is no path from "), source, Text(" to "), target, Text(f" {along}"))
    elif paths.source == paths.target:
        note(source, Text(" is both ends"))
    elif paths.direction == "any":
        note(Text(view.counts))
    else:
        ends = (target, source) if paths.direction == "downstream" else (source, target)
        middle = Text(" is downstream of ")
        note(Text(f"{view.counts}, {paths.direction}: "), ends[0], middle, ends[1])
    if paths.truncated:
        further = min((paths.within or most_hops) * _FURTHER, most_hops)
        hint = f"; --hops {further} looks further" if (paths.within or further) < further else ""
        note(Text("incomplete: ", "bold"), line_text(paths.truncated), Text(hint))


def _step(entity: LineageEntity) -> Text:
    text = line_text(entity.full_name, "bold") + Text(f" ({entity.type})", "dim")
    if entity.state:
        text.append(f" {entity.state}", "italic")
    return text


def _arrow(found: PathsView, relationship: str) -> Text:
    arrow = Text(f"{found.arrow} ", "dim")
    if found.paths.direction != "any" or not relationship:
        return arrow
    return arrow + line_text(relationship, "dim") + Text(" ") + arrow


def _entity_as_json(about: Mapping[str, Any], urn: str) -> dict[str, Any]:
    return {
        "urn": urn,
        "name": about["name"],
        "type": about["type"],
        "kind": about.get("kind", about["type"]),
        "platform": about.get("platform"),
        "exists": about.get("exists"),
        "removed": about.get("removed", False),
    }


RelationshipSide = Literal["both", "in", "out"]

_SHOWN_PER_NAME: Final = 20
_DIRECTIONS: Final[Mapping[RelationshipSide, tuple[Direction, ...]]] = {
    "both": ("OUTGOING", "INCOMING"),
    "in": ("INCOMING",),
    "out": ("OUTGOING",),
}


@dataclass(frozen=True, slots=True)
class RelationshipGroup:
    """The entities of one relationship in one direction: their number, and those to show."""

    direction: Direction
    name: str
    count: int
    urns: tuple[Urn, ...]


@dataclass(frozen=True, slots=True)
class Related:
    """Relationships of an entity in groups, outgoing ones first, with attributes of those shown.

    `totals` are the server's counts. The counts of the groups cover only what was read.
    """

    urn: str
    groups: tuple[RelationshipGroup, ...]
    totals: Mapping[Direction, int]
    about: Mapping[str, Mapping[str, Any]]

    @property
    def read(self) -> int:
        """The number of relationships that were read."""
        return sum(group.count for group in self.groups)


def read_edges(
    catalog: Catalog,
    urn: str,
    side: RelationshipSide,
    names: Sequence[str],
    *,
    limit: int | None,
    read_all: bool,
) -> Related:
    """Return the relationships with these names, or all; at most `limit` are shown per name.

    With `read_all` all are read, and shown unless there is a limit; otherwise the first 10,000 per
    direction are read. Raises `NotFound` if there is no such entity, and `UnknownName` for a
    relationship that does not exist.
    """
    _check_relationships(names, catalog.registry)
    groups: list[RelationshipGroup] = []
    totals: dict[Direction, int] = {}
    for direction in _DIRECTIONS[side]:
        edges = catalog.relationships(urn, direction, names or None)
        totals[direction] = edges.total
        urns_by_relationship: Mapping[str, Sequence[Urn]] = edges.by_relationship()
        if read_all and edges.truncated:
            urns_by_relationship = _read_all(catalog, urn, direction, names)
        most = limit or (None if read_all else _SHOWN_PER_NAME)
        groups += [
            RelationshipGroup(
                direction,
                name,
                len(urns_by_relationship[name]),
                tuple(urns_by_relationship[name][:most]),
            )
            for name in sorted(urns_by_relationship)
        ]
    if not groups:
        check_there(catalog, urn)
    urns = [urn, *(str(urn) for group in groups for urn in group.urns)]
    return Related(urn, tuple(groups), totals, read_attributes(catalog, urns))


def print_relationships(related: Related, shown_as: OutputFormat | None) -> None:
    """Print the relationships in the given format; as URNs, print each related entity once."""
    if shown_as is None:
        _print_relationship_groups(related)
        return
    counts: dict[str, dict[str, int]] = {side.lower(): {} for side in related.totals}
    for group in related.groups:
        counts[group.direction.lower()][group.name] = group.count
    total = sum(related.totals.values())
    show(_rows(related), shown_as, "edges", urn=related.urn, total=total, counts=counts)


def _print_relationship_groups(related: Related) -> None:
    """Print a heading with the count of each relationship, and its entities below."""
    console = results()
    for at, group in enumerate(related.groups):
        if at:
            console.print()
        arrow = "→" if group.direction == "OUTGOING" else "←"
        word = "outgoing" if group.direction == "OUTGOING" else "incoming"
        heading = Text(f"{arrow} ", "dim") + line_text(
            group.name, "bold underline", missing="unnamed"
        )
        console.print(heading + Text(f"  {group.count:,} {word}", "dim"))
        entities = views.lineage_entities((str(urn), related.about[str(urn)]) for urn in group.urns)
        columns = (
            TableColumn("name", read=lambda entity: entity.full_name, max_width=60, folds=True),
            TableColumn("type", style="dim"),
            TableColumn("state", style="italic"),
        )
        group_entities = [entities[str(urn)] for urn in group.urns]
        print_table(Table.from_records(group_entities, columns), headings=False)
        if len(group.urns) < group.count:
            console.print(Text(f"… {group.count - len(group.urns):,} more", "dim"))


def print_relationship_totals(related: Related) -> None:
    """Print the totals, and what was left out, to standard error."""
    total = sum(related.totals.values())
    name = line_text(views.lineage_entity(related.urn, related.about[related.urn]).name)
    if not total:
        sides = " or ".join(direction.lower() for direction in related.totals)
        note(Text(f"no {sides} relationships of "), name)
        return
    counts = ", ".join(f"{count:,} {side.lower()}" for side, count in related.totals.items())
    shown_count = sum(len(group.urns) for group in related.groups)
    if shown_count < total:
        note(Text(f"{shown_count:,} of {total:,} shown ({counts}); --limit shows more"))
    else:
        note(Text(counts))
    if related.read < total:
        note(Text(f"the counts per relationship cover only the first {related.read:,}"))


def _read_all(
    catalog: Catalog, urn: str, direction: Direction, names: Sequence[str]
) -> Mapping[str, Sequence[Urn]]:
    urns_by_relationship: dict[str, list[Urn]] = {}
    for edge in catalog.related(urn, direction, names or None):
        urns_by_relationship.setdefault(edge.relationship, []).append(edge.urn)
    return urns_by_relationship


def _rows(related: Related) -> Table:
    about = related.about
    columns = (
        TableColumn("direction", read=lambda edge: edge[0].direction.lower()),
        TableColumn("relationship", read=lambda edge: edge[0].name),
        TableColumn("urn", read=lambda edge: edge[1]),
        TableColumn("name", read=lambda edge: views.lineage_entity(edge[1], about[edge[1]]).name),
        TableColumn("type", read=lambda edge: about[edge[1]]["type"]),
        TableColumn("kind", read=lambda edge: about[edge[1]].get("kind", about[edge[1]]["type"])),
        TableColumn("platform", read=lambda edge: about[edge[1]].get("platform")),
        TableColumn("exists", read=lambda edge: about[edge[1]].get("exists")),
    )
    edges = [(group, str(urn)) for group in related.groups for urn in group.urns]
    return Table.from_records(edges, columns)


def read_script_file(name: str) -> str:
    """Return the text of a file, or of standard input for `-`. Raises `InvalidInput` if it cannot
    be read or is not UTF-8."""
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        return data.decode("utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"cannot read {name}: {error.strerror}") from error
    except UnicodeDecodeError:
        raise InvalidInput(f"{name} is not UTF-8") from None


def print_statements(
    statements: Sequence["StatementLineage"], catalog_tables: "CatalogTables"
) -> None:
    """Print the target, upstream tables and column lineage of each statement that was parsed."""
    console = results()
    for lineage in statements:
        if lineage.lineage.problem is not None:
            continue
        target = ".".join(lineage.target) if lineage.target else "query"
        upstreams = (
            ", ".join(_table_name(path, catalog_tables) for path in lineage.lineage.tables)
            or "nothing"
        )
        line = Text(f"{lineage.line:>5} ", "dim")
        console.print(line, line_text(target, "bold"), Text("from"), line_text(upstreams))
        columns = zip(lineage.target_columns, lineage.lineage.columns, strict=True)
        for at, (name, sources) in enumerate(columns):
            source_columns = ", ".join(f"{path[-1]}.{column}" for path, column in sources)
            gap = lineage.lineage.gaps.get(at)
            if gap is not None:
                source_columns += f"{'; ' if sources else ''}not traced: {gap}"
            console.print(
                Text("      "),
                line_text(name),
                Text("←", "dim"),
                line_text(source_columns or "no column"),
            )


def _table_name(path: "TablePath", catalog_tables: "CatalogTables") -> str:
    return ".".join(path) + ("" if path in catalog_tables.urns else " (created by the script)")


def print_statements_as_json(
    statements: Sequence["StatementLineage"], catalog_tables: "CatalogTables"
) -> None:
    """Print a JSON list with one object per statement."""
    output.print_json([_statement_as_json(lineage, catalog_tables) for lineage in statements])


def _statement_as_json(
    statement: "StatementLineage", catalog_tables: "CatalogTables"
) -> dict[str, Any]:
    columns = zip(statement.target_columns, statement.lineage.columns, strict=False)
    return {
        "line": statement.line,
        "text": statement.text,
        "target": _table_label(statement.target, catalog_tables) if statement.target else None,
        "upstreams": [_table_label(path, catalog_tables) for path in statement.lineage.tables],
        "columns": {
            name: [
                {"urn": _table_label(path, catalog_tables), "column": column}
                for path, column in sources
            ]
            for name, sources in columns
        },
        "untraced": {
            statement.target_columns[at]: reason for at, reason in statement.lineage.gaps.items()
        },
        "problem": statement.problem,
    }


def _table_label(path: "TablePath", catalog_tables: "CatalogTables") -> str:
    return str(catalog_tables.urns.get(path) or ".".join(path))


def print_unparsed(statements: Sequence["StatementLineage"]) -> int:
    """Print the statements that could not be parsed, or not completely, and return their number."""
    problems = [lineage for lineage in statements if lineage.problem is not None]
    for problem in problems:
        reason = "" if problem.lineage.problem is None else "cannot be parsed: "
        note(line_text(f"line {problem.line}: {reason}{problem.problem} ({problem.text})"))
    count = f"{len(statements) - len(problems):,} of {len(statements):,} statements parsed"
    note(count if statements else "the script has no statement that reads or writes tables")
    return len(problems)
