"""Lineage, impact and paths between entities, rendered as pictures, trees and frames."""

from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from explorer.client.display import line
from explorer.errors import InvalidInput, UnknownName
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import MAX_URN_BYTES, Urn
from explorer.notebook.chart import (
    COLOURS,
    FIGURE_CONFIG,
    FIGURE_TYPE,
    LIGHT,
    ShownFigure,
    label,
)
from explorer.notebook.progress import with_progress
from explorer.notebook.view import ShownTable, grid_parts
from explorer.sessions.lineage import (
    MOST_HOPS,
    LineageQuery,
    read_described_graph,
    read_graph,
    read_impact,
    read_paths,
)
from explorer.views.absence import NOBODY
from explorer.views.lineage import (
    CERTAINTY,
    CERTAINTY_NOTES,
    ImpactView,
    LineageEntity,
    PathsView,
    TreeLine,
    hop_count,
    incomplete_sentence,
    lineage_entities,
    lineage_tree,
    nearest,
)
from explorer.views.parts import Cell, Part, Picture, Say, Title
from explorer.views.table import Table, TableColumn, domain_columns, label_columns, to_frame

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd
    import plotly.graph_objects as go

    from explorer import graph
    from explorer.client import Catalog
    from explorer.graph import Extent
    from explorer.graph.pictures import SvgPicture
    from explorer.notebook.widgets.lineage import LineageWidget
    from explorer.views.parts import Tone

_MOST_WAYS = 20


@dataclass(frozen=True, repr=False)
class PathList(ShownTable):
    """All shortest paths between two entities: iterates over paths, each a list of URNs."""

    view: PathsView

    @classmethod
    def read(cls, catalog: "Catalog", source: Urn, target: str | Urn) -> "PathList":
        """Read the paths; see `EntityPage.paths_to`."""
        end = Urn.parse(target)
        return cls(
            with_progress(
                catalog, lambda _: read_paths(catalog.core, source, end), "searching for paths"
            )
        )

    @property
    def paths(self) -> "graph.Paths":
        """Return the paths as `explorer.graph` returns them."""
        return self.view.paths

    def __len__(self) -> int:
        return len(self.paths)

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return iter(self.paths.node_paths)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each step of each path; the source is step 0. No request.

        way, step                   int64
        urn, name, type, platform   string
        relationship                string   the kind of edge from the step before
        """
        return to_frame(self.view.table())

    def parts(self) -> Iterator[Part]:
        title = f"From {self.view.source.full_name} to {self.view.target.full_name}"
        if not len(self):
            yield Title(title, "no lineage path")
        else:
            yield Title(title, f"{self.view.counts}, {self.paths.direction}")
            # Data flows from left to right in every drawing.
            ways = [
                [Cell(f" {self.view.arrow} ".join(step.entity.full_name for step in steps))]
                for steps in self.view.steps
            ]
            yield from grid_parts(("way",), ways, tuple, most=_MOST_WAYS)
        if cut := incomplete_sentence(self.paths.truncated):
            yield Say(cut, "loud")


@dataclass(frozen=True, repr=False)
class ImpactTable(ShownTable):
    """Everything downstream of a table or of one of its columns: most used first, then nearest.

    Iterates over `explorer.graph.Affected`.
    """

    name: str
    view: ImpactView

    @classmethod
    def read(cls, catalog: "Catalog", urn: Urn, name: str, column: str | None) -> "ImpactTable":
        """Read the impact; see `EntityPage.impact`."""
        view = with_progress(
            catalog,
            lambda _: read_impact(catalog.core, urn, column, name=name),
            f"reading what depends on {line(name, 40)}",
        )
        return cls(name, view)

    @property
    def impact(self) -> "graph.Impact":
        """Return the impact as `explorer.graph` returns it."""
        return self.view.impact

    def __len__(self) -> int:
        return len(self.impact)

    def __iter__(self) -> "Iterator[graph.Affected]":
        return iter(self.impact.affected)

    @property
    def truncated(self) -> str | None:
        """Return why the list is incomplete, in words; None if it is complete."""
        return self.impact.truncated

    @property
    def owners(self) -> dict[str, int]:
        """Return the name of each owner with the number of affected entities they own, most first;
        "" for those without an owner."""
        return {name: len(group) for _, name, group in self.view.groups("owner")}

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each entity affected, most used first. No request.

        urn, name, type, platform   string
        hops                        int64
        owners, owner_urns          object   lists
        domain, domain_urn          string
        columns                     object   lists of its columns derived from the given column
        certainty                   string   said, guessed, or table if only that is known
        queries, users              Int64    of the last 30 days; missing if not counted
        exists, removed, deprecated bool
        """
        return to_frame(self.view.table())

    def parts(self) -> Iterator[Part]:
        count = f"{len(self):,} affected" if len(self) else "nothing depends on it"
        used = f"{self.impact.queries:,} queries in 30 days"
        yield Title(f"Impact of {self.view.title}", f"{count}, {used}" if len(self) else count)
        if len(self):
            yield Say(" · ".join(self.view.kinds))
            owners = [f"{name or NOBODY} {count:,}" for name, count in self.owners.items()]
            yield Say(f"owners: {' · '.join(owners[:12])}{' · …' if len(owners) > 12 else ''}")
            headers = ("name", "type", "hops", "queries", "owners", "columns", "certainty")
            row_headers = headers if self.impact.column else headers[:-2]
            yield from grid_parts(
                row_headers,
                self.impact.affected,
                lambda affected: self._cells(affected)[: len(row_headers)],
                numbers=("hops", "queries"),
            )
        yield from map(Say, self.view.notes)
        if self.impact.uncounted:
            yield Say(self.impact.uncounted)
        if cut := incomplete_sentence(self.truncated):
            yield Say(cut, "loud")

    def _cells(self, affected: "graph.Affected") -> tuple[Cell, ...]:
        entity = self.view.entities[affected.urn]
        return (
            _name_cell(entity, affected.urn),
            Cell(entity.kind if self.impact.column else entity.type),
            Cell(f"{affected.hops:,}"),
            Cell("" if affected.queries is None else f"{affected.queries:,}"),
            Cell(", ".join(entity.owners), tone="quiet"),
            Cell(", ".join(affected.columns)),
            Cell(CERTAINTY[affected.certainty], tone="quiet"),
        )


def _name_cell(entity: LineageEntity, urn: str = "", depth: int = 0) -> Cell:
    """Return the cell of an entity's name, with its URN as a detail."""
    mark = f"{entity.state}:" if entity.states else ""
    tone: Tone = "plain" if depth else "loud"
    return Cell(entity.full_name, mark, detail=urn, indent=max(depth - 1, 0), tone=tone)


_MOST_DRAWN = 60
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


# The buttons to zoom, show everything, go back to the first view, and save the view.
_BUTTONS = ["zoomIn2d", "zoomOut2d", "autoScale2d", "resetScale2d", "toImage"]
_ZOOM = {"displayModeBar": True, "modeBarButtons": [_BUTTONS]}


@dataclass(frozen=True, repr=False)
class EntityLineage(ShownFigure):
    """The lineage of an entity as far as it was read: iterates over URNs, nearest first. Its
    picture can be zoomed and dragged in a live notebook.

    `lineage` is the graph of `explorer.graph.lineage`; never change it, only a copy. `names` has
    the display names of owners and domains, by URN.
    """

    name: str
    lineage: "nx.DiGraph"
    names: Mapping[str, str] = field(default_factory=dict, compare=False, kw_only=True)
    catalog: "Catalog" = field(compare=False, kw_only=True)

    _config: ClassVar = {**FIGURE_CONFIG, **_ZOOM}

    @cached_property
    def graph(self) -> "nx.DiGraph":
        """Return a networkx `DiGraph` whose edges point in the direction of the data flow, for any
        function of networkx: `nx.write_gexf(orders.lineage().graph, "orders.gexf")`.

        Its nodes are URNs as text, equal to `Urn` objects, with the attributes `name`, `type`,
        `platform`, `hops` (negative upstream) and others that were read; `owners`, `tags` and
        `terms` are texts with one URN per line.
        """
        return _simple_graph(self.lineage)

    @property
    def root(self) -> Urn:
        """Return the entity where the lineage starts."""
        return Urn.parse(self.lineage.graph["root"])

    @property
    def truncated(self) -> str | None:
        """Return why it is incomplete, in words; None if it is complete up to the requested
        hops."""
        attributes: str | None = self.lineage.graph["truncated"]
        return attributes

    @cached_property
    def urns(self) -> tuple[Urn, ...]:
        """Return the URNs of everything reached, nearest first, without the root."""
        return Urn.parse_all(self._urns_in_reach)

    def __len__(self) -> int:
        return len(self.lineage) - 1

    def __iter__(self) -> Iterator[Urn]:
        return iter(self.urns)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each entity reached, nearest first. No request.

        urn, name, type, platform   string
        hops                        int64     distance from the root; upstream negative
        owners, owner_urns          object    lists; missing where the server does not say
        domain, domain_urn          string
        description                 string    the edited one, if any
        removed, deprecated         boolean   missing where the server does not say
        """
        attribute = partial(_attribute_column, self.lineage)
        columns = (
            TableColumn("urn", read=str),
            *(attribute("name"), attribute("type"), attribute("platform")),
            attribute("hops", "int64"),
            *label_columns("owner", lambda urn: self.lineage.nodes[urn].get("owners"), self.names),
            *domain_columns(lambda urn: self.lineage.nodes[urn].get("domain"), self.names),
            TableColumn(
                "description", read=lambda urn: self.lineage.nodes[urn].get("description") or None
            ),
            *(attribute("removed", "boolean"), attribute("deprecated", "boolean")),
        )
        return to_frame(self._named(Table.from_records(self._urns_in_reach, columns)))

    def edges_to_frame(self) -> "pd.DataFrame":
        """Return a row for each edge: `upstream`, `downstream` and `relationship`. No request."""
        rows = [
            (source, target, attributes.get("relationship") or None)
            for source, target, attributes in self.lineage.edges(data=True)
        ]
        names = ("upstream", "downstream", "relationship")
        return to_frame(self._named(Table.of("edges", names, rows)))

    def _named(self, table: Table) -> Table:
        cut = incomplete_sentence(self.truncated)
        return replace(table, title=f"Lineage of {self.name}", incomplete=cut)

    def paths_to(self, urn: str | Urn) -> PathList:
        """Return the shortest lineage paths between the root and another entity, in either
        direction and of any length. At most two requests if the server searches paths, and one for
        names."""
        return PathList.read(self.catalog, self.root, urn)

    def impact(self, column: str | None = None) -> ImpactTable:
        """Return everything downstream of the root, or of its column at an exact path, at any
        distance. Costs what `EntityPage.impact` does."""
        return ImpactTable.read(self.catalog, self.root, self.name, column)

    def widget(self, hops: int | None = None) -> "LineageWidget":
        """Return a widget to explore the lineage: expand, filter, search, and follow columns. It
        starts with `hops`, by default as many as were read here, and reuses the graph read here."""
        from explorer.notebook.widgets.lineage import LineageWidget

        graph = self.lineage
        extent: Extent = graph.graph["direction"]
        first = _drawn_hops(graph, hops)
        return LineageWidget(self.catalog, self.root, hops=first, direction=extent, graph=graph)

    def svg(self, most_nodes: int = _MOST_DRAWN) -> str:
        """Return the picture as the text of an SVG file. No request."""
        from explorer.graph.pictures import to_svg

        return to_svg(self.lineage, most_nodes=most_nodes)

    def figure(self) -> "go.Figure":
        """Return the picture as a Plotly figure that can be zoomed and dragged; it starts at the
        root, at a readable size. No request."""
        from explorer.graph.pictures import draw_picture

        picture = draw_picture(self.lineage, most_nodes=_MOST_DRAWN)
        notes = [*self._counts(), picture.cut, incomplete_sentence(self.truncated)]
        names = {urn: entity.full_name for urn, entity in self._entities.items()}
        title, note = f"Lineage of {self.name}", " · ".join(filter(None, notes))
        return draw_lineage(title, note, picture, str(self.root), names)

    def _repr_mimebundle_(
        self, include: Iterable[str] | None = None, exclude: Iterable[str] | None = None
    ) -> dict[str, Any]:
        # If there is nothing to draw, a sentence that says so is shown instead.
        without = () if len(self) else (FIGURE_TYPE,)
        return super()._repr_mimebundle_(include, {*without, *(exclude or ())})

    def _counts(self) -> tuple[str, str]:
        """Return the extent of the lineage (hops and direction), and the number of entities on each
        side, both in words."""
        attributes = self.lineage.graph
        direction = attributes["direction"]
        extent = f"{hop_count(attributes['hops'])} {_WORDS.get(direction, direction)}"
        above = sum(far < 0 for _, far in self.lineage.nodes.data("hops"))
        below = len(self) - above
        counts = [f"{above:,} upstream"] * (direction != "DOWNSTREAM")
        counts += [f"{below:,} downstream"] * (direction != "UPSTREAM")
        return extent, ", ".join(counts)

    def parts(self) -> Iterator[Part]:
        extent, counts = self._counts()
        yield Title(f"Lineage of {self.name}", f"{extent} · {counts}")
        if not len(self):
            yield Say("no lineage")
        else:
            alt = f"lineage of {self.name}: {counts}, listed below"
            yield Picture(self.svg(), alt, list(self._tree()), list(self._table()))
        if cut := incomplete_sentence(self.truncated):
            yield Say(cut, "loud")

    @cached_property
    def _urns_in_reach(self) -> tuple[str, ...]:
        return nearest(self.lineage, (self.lineage.graph["root"],))

    @cached_property
    def _entities(self) -> dict[str, LineageEntity]:
        return lineage_entities(self.lineage.nodes(data=True), self.names)

    def _tree(self) -> Iterator[Part]:
        sides: tuple[Literal["upstream", "downstream"], ...] = ("upstream", "downstream")
        root = self.lineage.graph["root"]
        for side in sides:
            lines = lineage_tree(self.lineage, root, self._entities, side=side)
            if lines:
                yield Say(f"{side}:")
                headers = ("name", "type", "platform", "owners")
                yield from grid_parts(headers, lines, self._line)

    def _line(self, tree_line: TreeLine) -> tuple[Cell, ...]:
        if tree_line.entity is None or tree_line.reference:
            name = tree_line.entity.full_name if tree_line.entity else ""
            text = "  ".join(word for word in (name, tree_line.reference) if word)
            return (
                Cell(text, indent=tree_line.depth - 1, tone="quiet"),
                Cell(""),
                Cell(""),
                Cell(""),
            )
        return self._cells(tree_line.entity, _name_cell(tree_line.entity, depth=tree_line.depth))

    def _cells(self, entity: LineageEntity, name: Cell) -> tuple[Cell, ...]:
        owners = Cell(", ".join(entity.owners), tone="quiet")
        return (name, Cell(entity.kind), Cell(entity.platform), owners)

    def _table(self) -> Iterator[Part]:
        def cells(urn: str) -> tuple[Cell, ...]:
            entity = self._entities[urn]
            return (
                *self._cells(entity, _name_cell(entity, entity.urn, depth=1)),
                Cell(f"{entity.hops or 0:+d}"),
            )

        headers = ("name", "type", "platform", "owners", "hops")
        yield from grid_parts(headers, self._urns_in_reach, cells, numbers=("hops",))


@dataclass(frozen=True, repr=False)
class ColumnLineage(ShownTable):
    """The columns upstream and downstream of a column: iterates over the URNs of their schema
    fields, nearest first.

    `lineage` is the graph of `explorer.graph.lineage`, which documents its nodes and edges. It also
    contains charts and dashboards that declare the columns they use.
    """

    name: str
    root: Urn
    column: str
    lineage: "nx.DiGraph"
    names: Mapping[str, str] = field(default_factory=dict, compare=False, kw_only=True)
    catalog: "Catalog" = field(compare=False, kw_only=True)

    @cached_property
    def graph(self) -> "nx.DiGraph":
        """Return a networkx `DiGraph` of columns whose edges point in the direction of the data
        flow, for any function of networkx."""
        return _simple_graph(self.lineage)

    @property
    def truncated(self) -> str | None:
        """Return why it is incomplete, in words; None if it is complete up to the requested
        hops."""
        attributes: str | None = self.lineage.graph["truncated"]
        return attributes

    @cached_property
    def urns(self) -> tuple[str, ...]:
        """Return the URNs of everything reached, nearest first, then by table and column, without
        the column itself."""
        nodes = self.lineage.nodes

        def place(node: str) -> tuple[int, str, str, str]:
            column = str(nodes[node].get("column") or "")
            return abs(nodes[node].get("hops") or 0), self._name_of(node), column, node

        return tuple(sorted(nearest(self.lineage, self.lineage.graph["roots"]), key=place))

    def __len__(self) -> int:
        return len(self.urns)

    def __iter__(self) -> Iterator[str]:
        return iter(self.urns)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each column reached, nearest first. No request.

        urn                          string   of the schema field; of a chart or dashboard
        table, column, path          string   column in its short form, path exact
        type, platform               string   of the table
        dataset                      string   its URN
        hops                         int64    distance from the root; upstream negative
        certainty                    string   said, or guessed: a column of the same name is all
                                              there is for a part of the way
        """
        attribute = partial(_attribute_column, self.lineage)
        columns = (
            TableColumn("urn", read=str),
            TableColumn("table", read=self._name_of),
            *(attribute("column"), attribute("path"), attribute("type"), attribute("platform")),
            *(attribute("dataset"), attribute("hops", "int64")),
            TableColumn("certainty", read=lambda node: _certainty_note(node in self._certain)),
        )
        return to_frame(self._named(Table.from_records(self.urns, columns)))

    def edges_to_frame(self) -> "pd.DataFrame":
        """Return a row for each edge: `upstream` and `downstream` (schema fields), `transform`,
        `via` (the job or query) and `certainty`. No request."""
        rows = [
            (
                source,
                target,
                attributes.get("transform"),
                attributes.get("via"),
                _certainty_note(not attributes["guess"]),
            )
            for source, target, attributes in self.lineage.edges(data=True)
        ]
        names = ("upstream", "downstream", "transform", "via", "certainty")
        return to_frame(self._named(Table.of("edges", names, rows)))

    def _named(self, table: Table) -> Table:
        title = f"Lineage of {self.name}.{FieldPath(self.column).simple}"
        return replace(table, title=title, incomplete=incomplete_sentence(self.truncated))

    def widget(self, hops: int | None = None) -> "LineageWidget":
        """Return a widget that draws the lineage of this column among the tables around it, up to
        `hops`, by default as many as were read here."""
        from explorer.notebook.widgets.lineage import LineageWidget

        widget = LineageWidget(self.catalog, self.root, hops=_drawn_hops(self.lineage, hops))
        widget.follow_column(self.root, self.column)
        return widget

    def parts(self) -> Iterator[Part]:
        far = [self.lineage.nodes[node]["hops"] for node in self.urns]
        counts = f"{sum(n < 0 for n in far):,} upstream, {sum(n > 0 for n in far):,} downstream"
        shown_name = FieldPath(self.column).simple
        yield Title(f"Lineage of {self.name}.{shown_name}", counts if far else "no lineage")
        for title, side in (("made from", -1), ("feeds", 1)):
            nodes = [node for node in self.urns if self.lineage.nodes[node]["hops"] * side > 0]
            if not nodes:
                continue
            yield Say(f"{title}:")
            headers = ("table", "column", "platform", "hops", "")
            yield from grid_parts(headers, nodes, self._line, numbers=("hops",))
        if any(node not in self._certain for node in self.urns):
            yield Say(CERTAINTY_NOTES["guessed"])
        if cut := incomplete_sentence(self.truncated):
            yield Say(cut, "loud")

    @cached_property
    def _certain(self) -> frozenset[str]:
        from explorer.graph.lineage import certain_columns

        return frozenset(certain_columns(self.lineage))

    def _name_of(self, node: str) -> str:
        name = self.names.get(_table_of(self.lineage, node))
        return name or str(self.lineage.nodes[node].get("name") or node)

    @cached_property
    def _apart(self) -> dict[str, str]:
        from explorer.graph.nodes import distinctions

        # Tables are told apart by name, not columns: tables of one name may have no column in
        # common.
        tables = {
            _table_of(self.lineage, node): {
                "type": attributes.get("type"),
                "name": self._name_of(node),
            }
            for node, attributes in self.lineage.nodes.items()
        }
        return distinctions(tables.items())

    def _line(self, node: str) -> tuple[Cell, ...]:
        attributes = self.lineage.nodes[node]
        distinction = self._apart.get(_table_of(self.lineage, node))
        return (
            Cell(
                self._name_of(node) + (f" ({distinction})" if distinction else ""),
                detail=str(attributes.get("dataset") or node),
                tone="loud",
            ),
            Cell(str(attributes.get("column") or "")),
            Cell(str(attributes.get("platform") or "")),
            Cell(f"{attributes['hops']:+d}"),
            Cell("" if node in self._certain else "guess", tone="quiet"),
        )


_VIEW_WIDTH, _VIEW_HEIGHT, _HEAD = 1_000.0, 560.0, 48
_CLEAR = "rgba(0,0,0,0)"
_LONGEST_NOTE = 120


def draw_lineage(
    title: str, note: str, picture: "SvgPicture", root: str, names: Mapping[str, str]
) -> "go.Figure":
    """Return a picture of lineage as a Plotly figure that can be zoomed and dragged; hovering over
    a box shows the name and the URN of its entity.

    A unit of the axes is a pixel of the picture. The first view shows the whole picture or, if it
    is too wide or too tall to be readable, the part around the root.
    """
    import plotly.graph_objects as go

    view_height = min(max(picture.height, 120.0), _VIEW_HEIGHT)
    x, y = picture.middles.get(root, (picture.width / 2, picture.height / 2))
    view_left = _view_start(x, picture.width, _VIEW_WIDTH)
    view_top = _view_start(y, picture.height, view_height)
    urns = [urn for urn in picture.middles if urn in names]
    middles = [picture.middles[urn] for urn in urns]
    boxes = go.Scatter(
        x=[x for x, _ in middles],
        y=[y for _, y in middles],
        text=[f"{label(names[urn])}<br>{label(urn, MAX_URN_BYTES)}" for urn in urns],
        mode="markers",
        marker={"size": 32, "opacity": 0},
        hovertemplate="%{text}<extra></extra>",
    )
    # Invisible points in two corners: scaling to show everything shows the whole picture.
    corners = go.Scatter(
        x=[0, picture.width],
        y=[0, picture.height],
        mode="markers",
        marker={"size": 1, "opacity": 0},
        hoverinfo="skip",
    )
    figure = go.Figure([boxes, corners])
    # The title has its own background, as the boxes do, to be readable on a page of any colour.
    figure.add_annotation(
        text=f"<b>{label(title)}</b>  {label(note, _LONGEST_NOTE)}",
        xref="paper",
        yref="paper",
        x=0,
        y=1,
        xanchor="left",
        yanchor="bottom",
        yshift=8,
        showarrow=False,
        borderpad=5,
        bgcolor=LIGHT.ground,
        font={"color": LIGHT.text, "size": 13},
    )
    encoded = b64encode(picture.svg.encode()).decode("ascii")
    figure.add_layout_image(
        source=f"data:image/svg+xml;base64,{encoded}",
        xref="x",
        yref="y",
        x=0,
        y=0,
        xanchor="left",
        yanchor="top",
        sizex=picture.width,
        sizey=picture.height,
        sizing="stretch",
        layer="below",
    )
    figure.update_layout(
        template="none",
        height=view_height + _HEAD,
        margin={"l": 8, "r": 8, "t": _HEAD, "b": 0},
        paper_bgcolor=_CLEAR,
        plot_bgcolor=_CLEAR,
        modebar={"bgcolor": LIGHT.ground, "color": LIGHT.text, "activecolor": COLOURS[0]},
        dragmode="pan",
        hovermode="closest",
        showlegend=False,
    )
    figure.update_xaxes(visible=False, range=[view_left, view_left + _VIEW_WIDTH])
    figure.update_yaxes(visible=False, range=[view_top + view_height, view_top], scaleanchor="x")
    return figure


def _view_start(middle: float, size: float, room: float) -> float:
    """Return the start of a view of length `room` on an axis of length `size`: centred on all of it
    if it fits, else around `middle`."""
    if size <= room:
        return (size - room) / 2
    return min(max(middle - room / 2, 0), size - room)


def _simple_graph(graph: "nx.DiGraph") -> "nx.DiGraph":
    from explorer.graph.nodes import simplify_attributes

    return simplify_attributes(graph)


def _drawn_hops(graph: "nx.DiGraph", hops: int | None) -> int:
    """Return the number of hops a widget starts with: `hops` if given, else those of the graph, up
    to a limit."""
    return min(int(graph.graph["hops"]), MOST_HOPS) if hops is None else hops


def _attribute_column(graph: "nx.DiGraph", name: str, dtype: str = "string") -> TableColumn[str]:
    return TableColumn(name, read=lambda node: graph.nodes[node].get(name), dtype=dtype)


def _table_of(graph: "nx.DiGraph", node: str) -> str:
    return str(graph.nodes[node].get("dataset") or node)


def _certainty_note(is_ingested: bool) -> str:
    return "said" if is_ingested else "guessed"


def read_column_lineage(
    catalog: "Catalog",
    urn: Urn,
    name: str,
    column: str,
    direction: "Extent",
    hops: int,
    limit: int | None,
) -> ColumnLineage:
    """Read the lineage of a column; see `EntityPage.lineage`."""
    query = LineageQuery(urn, _check(direction, hops), hops, column)
    graph = with_progress(
        catalog,
        lambda _: read_graph(catalog.core, query, limit),
        f"following {line(column, 40)} of {line(name, 40)}",
    )
    tables = catalog.summaries(Urn.parse_all({_table_of(graph, node): None for node in graph}))
    names = {str(table): entity.name for table, entity in tables.items()}
    return ColumnLineage(name, urn, column, graph, names=names, catalog=catalog)


def read_lineage(
    catalog: "Catalog",
    urn: Urn,
    name: str,
    direction: "Extent",
    hops: int,
    limit: int | None,
) -> EntityLineage:
    """Read the lineage of an entity, with names; see `EntityPage.lineage`."""
    query = LineageQuery(urn, _check(direction, hops), hops)
    graph, names = with_progress(
        catalog,
        lambda _: read_described_graph(catalog.core, query, limit),
        f"reading the lineage of {line(name, 40)}",
    )
    return EntityLineage(name, graph, names=names, catalog=catalog)


def _check(direction: str, hops: int) -> "Extent":
    extent = direction.upper()
    if extent not in _EXTENTS:
        raise UnknownName("direction", direction, _EXTENTS)
    if not isinstance(hops, int):
        raise InvalidInput(f"'hops' must be a number, not {hops!r:.60}")
    if hops < 1:
        raise InvalidInput(f"hops must be at least 1, not {hops}")
    return _EXTENTS[extent]
