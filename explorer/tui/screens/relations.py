"""The relationships tab: both directions, by kind, with a filter."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input

from explorer.metadata.names import plural, singular
from explorer.metadata.urn import Urn
from explorer.tui.actions import bindings
from explorer.tui.content import join, line_text, padded
from explorer.tui.session import TerminalSession
from explorer.tui.widgets.inputs import FilterLine
from explorer.tui.widgets.rows import ActionRequested, ActionRows, Rows
from explorer.tui.widgets.tabs import Tab
from explorer.views.absence import LOADING
from explorer.views.table import Row, Table

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Entity
    from explorer.client.records import Direction, Edge

COLUMN = "schemaField"

# The words for a relationship, seen from this entity: (outgoing, incoming).
_WORDS = {
    "DownstreamOf": ("made from", "feeds"),
    "Consumes": ("reads", "read by"),
    "Produces": ("produces", "produced by"),
    "Contains": ("contains", "contained in"),
    "OwnedBy": ("owned by", "owns"),
    "TaggedWith": ("tagged", "tag of"),
    "TermedWith": ("means", "term of"),
    "DerivedFrom": ("derived from", "source of"),
    "ForeignKeyTo": ("foreign key to", "foreign key from"),
    "ForeignKeyToDataset": ("foreign key to", "foreign key from"),
    "IsPartOf": ("part of", "holds"),
    "IsRelatedTo": ("related to", "related to"),
    "IsA": ("is a", "subtypes"),
    "HasA": ("has", "part of"),
    "SchemaFieldWithGlossaryTerm": ("columns mean", "term of columns in"),
    "EditableSchemaFieldWithGlossaryTerm": ("columns mean, by people", "term of columns in"),
    "IsMemberOfGroup": ("member of", "members"),
    "AssociatedWith": ("in domain", "domain of"),
    "Asserts": ("checks", "checked by"),
    "IncidentOn": ("incident of", "incidents"),
    "SchemaFieldTaggedWith": ("columns tagged", "tag of columns in"),
    "EditableSchemaFieldTaggedWith": ("columns tagged by people", "tag of columns in, by people"),
}


@dataclass(frozen=True, slots=True)
class RelationshipKind:
    """A relationship in one direction: its words, its name, and the entities on the other side.
    Columns are separate kinds."""

    words: str
    name: str
    direction: "Direction"
    urns: tuple[Urn, ...]

    @property
    def id(self) -> str:
        """Return a key that is unique among the kinds of an entity."""
        return f"{self.direction} {self.name} {self.words}"


@dataclass(frozen=True, slots=True)
class RelationshipRow:
    """A row: the heading of a kind with its number of matches, an entity of the kind, or, with
    neither, the line that reads more."""

    kind: RelationshipKind | None = None
    urn: Urn | None = None
    passing: int = 0

    @property
    def key(self) -> tuple[str, Urn | None]:
        """Return a key that identifies the row, even after the relationships are read again."""
        return self.kind.id if self.kind else "", self.urn


def relationship_kinds(
    edges: "Sequence[Edge]", direction: "Direction", of: Urn
) -> Iterator[RelationshipKind]:
    """Yield the kinds of the entity `of` in one direction, sorted by name; the entities of each are
    in the server's order."""
    grouped: dict[str, list[Urn]] = {}
    for edge in edges:
        grouped.setdefault(edge.relationship, []).append(edge.urn)
    for name in sorted(grouped):
        words = _relationship_words(name, direction, of)
        columns = tuple(urn for urn in grouped[name] if urn.entity_type == COLUMN)
        read_all_rows = tuple(urn for urn in grouped[name] if urn.entity_type != COLUMN)
        for heading, urns in ((words, read_all_rows), (f"{words} columns", columns)):
            if urns:
                yield RelationshipKind(heading, name, direction, urns)


def relationship_rows(
    kinds: Sequence[RelationshipKind],
    folded: Collection[str],
    passes: Callable[[RelationshipKind, Urn], bool] | None,
) -> list[RelationshipRow]:
    """Return the rows of the kinds. With the filter `passes`, only matching entities are listed,
    also those of collapsed kinds."""
    rows: list[RelationshipRow] = []
    for kind in kinds:
        urns = kind.urns if passes is None else [urn for urn in kind.urns if passes(kind, urn)]
        if not urns:
            continue
        rows.append(RelationshipRow(kind, passing=len(urns)))
        if passes is not None or kind.id not in folded:
            rows += [RelationshipRow(kind, urn) for urn in urns]
    return rows


def page_of_urn(urn: Urn) -> Urn:
    """Return the entity whose page shows a URN: for a column its dataset, else the entity
    itself."""
    holders = Urn.parse_all(urn.parts[:1]) if urn.entity_type == COLUMN else ()
    return holders[0] if holders else urn


def _relationship_words(name: str, direction: "Direction", of: Urn) -> str:
    if name == "IsPartOf" and of.entity_type in ("corpuser", "corpGroup"):
        # In the model, a group is part of its members; the words turn this around.
        return "in groups" if direction == "INCOMING" else "members"
    outgoing, incoming = _WORDS.get(name, ("to", "from"))
    return outgoing if direction == "OUTGOING" else incoming


_AT_ONCE: Final = 100
_COLUMNS: Final = (
    "relationship",
    "direction",
    "words",
    "urn",
    "name",
    "type",
    "platform",
    "in_catalog",
    "soft_deleted",
)


def relationships_table(
    session: "TerminalSession", name: str, found: Sequence[tuple[RelationshipKind, "Urn"]]
) -> Table:
    """Return a table of relationships, with the names of the entities on the other side. Reading
    its rows takes one request per hundred."""

    async def read_all_rows() -> AsyncIterator[Sequence[Row]]:
        catalog = await session.catalog()
        for start in range(0, len(found), _AT_ONCE):
            some = found[start : start + _AT_ONCE]
            urns = [urn for _, urn in some if urn.entity_type != COLUMN]
            entities = await catalog.summaries(urns) if urns else {}
            yield [_row(kind, urn, entities) for kind, urn in some]

    return Table.of(f"{name} relationships", _COLUMNS, (), total=len(found), read_all=read_all_rows)


def _row(kind: RelationshipKind, urn: "Urn", entities: Mapping["Urn", "Entity"]) -> Row:
    leading = (kind.name, kind.direction.lower(), kind.words, str(urn))
    if urn.entity_type == COLUMN:
        return (*leading, urn.name, COLUMN, page_of_urn(urn).platform, None, None)
    entity = entities.get(urn)
    if entity is None:
        return (*leading, urn.name, urn.entity_type, urn.platform, False, None)
    exists = entity.exists
    return (*leading, entity.name, entity.kind, entity.platform, exists, entity.removed)


_PAGE = 10_000
_NAMED_AT_ONCE = 150
_NAMED_TO_NARROW = 1_500
_DIRECTIONS: "tuple[Direction, ...]" = ("INCOMING", "OUTGOING")


class _Related(ActionRows):
    """The list of relationships."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("relations")


class RelationsView(Vertical, Tab):
    """A list of relationships; choosing one opens its entity. The names of entities are read when
    they become visible."""

    NAME: ClassVar[str] = "relations"
    KEY: ClassVar[str] = "4"
    TITLE: ClassVar[str] = "Relationships"
    SHORT: ClassVar[str] = "Rel"
    # Read at once, because the head of an entity that does not exist says whether others refer to
    # it.
    eager: ClassVar[bool] = True

    @dataclass
    class RelationOpened(Message):
        """The entity on the other side was opened."""

        urn: Urn

    def __init__(self, session: TerminalSession) -> None:
        super().__init__(id=self.NAME)
        self._session = session
        self._of: Urn | None = None
        self._entity_name = ""
        self._edges: dict[Direction, list[Edge]] = {}
        self._ends: dict[Direction, int] = {}
        self._totals: dict[Direction, int] = {}
        self._kinds: Sequence[RelationshipKind] = ()
        self._rows: Sequence[RelationshipRow] = ()
        self._folded: set[str] = set()
        self._words: tuple[str, ...] = ()
        self._entities: dict[Urn, Entity] = {}
        self._requested: set[Urn] = set()
        self._answered: set[Urn] = set()
        self._wanted: list[Urn] = []

    def compose(self) -> ComposeResult:
        """Yield the filter line and the list."""
        yield FilterLine("a name, type:chart, a relationship such as OwnedBy")
        yield _Related(lambda action: action != "unfilter" or bool(self._words))

    @property
    def total(self) -> int:
        """Return the number of relationships."""
        return sum(self._totals.values())

    def tally(self) -> str:
        """Return the number of relationships; empty before they were read."""
        return f"{self.total:,}" if self._totals else ""

    def show_entity(self, entity: "Entity", *, keep: bool) -> None:
        """Clear the relationships of the previous entity."""
        self._of, self._entity_name = entity.urn, entity.name
        self._entities, self._wanted = {}, []
        self._requested, self._answered = set(), set()
        if not keep:
            self._edges, self._ends, self._totals = {}, {}, {}
            self._kinds, self._words = (), ()
            self._folded.clear()
            self.query_one(FilterLine).put_away()
            self._show_rows([], 0, LOADING.phrase)

    def table(self) -> "Table | None":
        """Return the shown relationships, including collapsed kinds, as a table for a file."""

        if self._of is None:
            return None
        rows = relationship_rows(self._kinds, (), self._passes if self._words else None)
        related = [(row.kind, row.urn) for row in rows if row.kind and row.urn]
        return relationships_table(self._session, self._entity_name, related) if related else None

    def focus_content(self) -> None:
        """Focus the list."""
        self.screen.set_focus(self.query_one(_Related))

    async def read(self, entity: "Entity") -> None:
        """Read and show the first relationships in each direction: two requests of at most 10,000
        each."""
        catalog = await self._session.catalog()
        pages = await asyncio.gather(
            *(self._page(catalog, entity.urn, direction, 0) for direction in _DIRECTIONS)
        )
        if entity.urn != self._of:
            return
        self._edges = {}
        for direction, (edges, end, total) in zip(_DIRECTIONS, pages, strict=True):
            self._edges[direction], self._ends[direction] = edges, end
            self._totals[direction] = total
        self._build_kinds()
        self._lay_out(None if self._rows else 1)

    async def _page(
        self, catalog: "AsyncCatalog", urn: Urn, direction: "Direction", start: int
    ) -> "tuple[list[Edge], int, int]":
        edges = await catalog.relationships(urn, direction, start=start, count=_PAGE)
        return list(edges.edges), edges.end, edges.total

    def _build_kinds(self) -> None:
        """Group the edges by kind."""
        if self._of is not None:
            of = self._of
            self._kinds = [
                kind
                for direction in _DIRECTIONS
                for kind in relationship_kinds(self._edges.get(direction, ()), direction, of)
            ]

    def _lay_out(self, cursor: int | None = None) -> None:
        """Build the rows again, with the cursor at an index; without one, the cursor stays on its
        row if that is still listed."""
        rows = relationship_rows(self._kinds, self._folded, self._passes if self._words else None)
        if any(
            self._ends.get(direction, 0) < self._totals.get(direction, 0)
            for direction in _DIRECTIONS
        ):
            rows.append(RelationshipRow())
        empty = "This entity has no relationships."
        if not self._totals:
            empty = LOADING.phrase
        elif self._words:
            empty = "Nothing matches the filter; esc clears it."
        if cursor is None:
            cursor = self.query_one(_Related).cursor
            key = self._rows[cursor].key if cursor < len(self._rows) else None
            cursor = next((at for at, row in enumerate(rows) if row.key == key), cursor)
        self._show_rows(rows, cursor, empty)

    def _show_rows(self, rows: Sequence[RelationshipRow], cursor: int, empty: str) -> None:
        self._rows = rows
        related = self.query_one(_Related)
        related.show(len(rows), self._draw_row, cursor=cursor, empty=empty)

    def _passes(self, kind: RelationshipKind, urn: Urn) -> bool:
        """Return whether an entity of a kind matches all words of the filter."""
        entity = self._entities.get(urn)
        types = (urn.entity_type, singular(urn.entity_type), plural(urn.entity_type))
        said_kind = (entity.kind if entity else "").lower()
        name = entity.name.lower() if entity else ""
        text = f"{name} {urn} {kind.name} {kind.words}".lower()
        for word in self._words:
            field, _, value = word.partition(":")
            if field == "type" and value:
                if not any(
                    type_name.lower().startswith(value) for type_name in (*types, said_kind)
                ):
                    return False
            elif word not in text:
                return False
        return True

    @on(ActionRequested)
    def _handle_action(self, event: ActionRequested) -> None:
        """Run an action that was requested by a key of the list."""
        event.stop()
        match event.action:
            case "fold":
                self._fold()
            case "filter":
                self.query_one(FilterLine).ask()
                self._read_all_names()
            case "unfilter":
                self.query_one(FilterLine).put_away()
                self._narrow("")

    @on(Input.Changed)
    def _handle_input(self, event: Input.Changed) -> None:
        event.stop()
        self._narrow(event.value)

    @on(FilterLine.FilterClosed)
    def _handle_filter_end(self, event: FilterLine.FilterClosed) -> None:
        event.stop()
        if not event.keep:
            self._narrow("")
        self.screen.set_focus(self.query_one(_Related))

    def _narrow(self, text: str) -> None:
        self._words = tuple(text.lower().split())
        self._lay_out(1)

    def _fold(self) -> None:
        cursor = self.query_one(_Related).cursor
        kind = self._rows[cursor].kind if cursor < len(self._rows) else None
        if kind is None or self._words:
            return
        self._folded ^= {kind.id}
        self._lay_out(0)
        place = next(at for at, row in enumerate(self._rows) if row.kind is kind)
        self.query_one(_Related).move_to(place)

    @on(Rows.Chosen)
    def _choose(self, event: Rows.Chosen) -> None:
        event.stop()
        row = self._rows[event.index]
        if row.urn is not None:
            self.post_message(self.RelationOpened(page_of_urn(row.urn)))
        elif row.kind is not None:
            self._fold()
        else:
            self._read_on()

    @work(exclusive=True, group="relations")
    async def _read_on(self) -> None:
        """Read the next relationships of the directions that have more."""
        of = self._of
        if of is None:
            return
        with self._session.reporting(f"reading more relationships of {of.name}"):
            catalog = await self._session.catalog()
            for direction in _DIRECTIONS:
                start = self._ends.get(direction, 0)
                if start >= self._totals.get(direction, 0):
                    continue
                edges, end, total = await self._page(catalog, of, direction, start)
                if of != self._of or start != self._ends.get(direction):
                    return
                self._edges[direction] += edges
                # A server that returns no further edges has returned all.
                self._ends[direction] = end if end > start else total
            cursor = self.query_one(_Related).cursor
            self._build_kinds()
            self._lay_out(cursor)

    def _draw_row(self, index: int, width: int) -> tuple[Text]:
        row = self._rows[index]
        if row.urn is not None:
            return (self._draw_related(row.urn, width),)
        if row.kind is not None:
            return (self._draw_kind(row.kind, row.passing),)
        remaining = sum(
            self._totals[direction] - self._ends[direction] for direction in _DIRECTIONS
        )
        return (Text(f" ⏎ reads more: {remaining:,} more", "bold"),)

    def _draw_kind(self, kind: RelationshipKind, passing: int) -> Text:
        """Return the heading of a kind, with the number of its entities that match."""
        fold = "▸" if kind.id in self._folded and not self._words else "▾"
        arrow = "→" if kind.direction == "OUTGOING" else "←"
        count = f"{passing:,} of {len(kind.urns):,}" if self._words else f"{passing:,}"
        end, total = self._ends[kind.direction], self._totals[kind.direction]
        if end < total:
            count += f", of the {end:,} read"
        return Text.assemble(
            (f" {fold} ", "dim"),
            line_text(kind.words, "bold"),
            " ",
            line_text(f"{arrow} {kind.name} · {count}", "dim"),
        )

    def _draw_related(self, urn: Urn, width: int) -> Text:
        """Return the row of an entity on the other side."""
        right = min(44, width // 2)
        if urn.entity_type == COLUMN:
            name, about = (
                line_text(urn.name),
                line_text(f"column of {page_of_urn(urn).name}", "dim"),
            )
        else:
            entity = self._entities.get(urn)
            if entity is None:
                self._request_name(urn)
            missing = urn in self._answered and (entity is None or not entity.exists)
            name = line_text(entity.name if entity else urn.name)
            about = join(
                [
                    line_text(singular(entity.kind if entity else urn.entity_type), "dim"),
                    line_text(urn.platform or ""),
                    Text("not in the catalog" if missing else "", "italic"),
                    Text("SOFT-DELETED" if entity is not None and entity.removed else "", "bold"),
                ]
            )
        text = Text("     ").append_text(padded(name, width - right - 7))
        return text.append("  ").append_text(padded(about, right))

    def _request_name(self, urn: Urn) -> None:
        """Add the entity of a visible row to the names to read in one request after the screen is
        drawn."""
        if urn in self._requested:
            return
        self._requested.add(urn)
        if not self._wanted:
            self.call_after_refresh(self._read_wanted_names)
        self._wanted.append(urn)

    def _read_all_names(self) -> None:
        """Read all names, which filtering by name needs."""
        urns = dict.fromkeys(urn for kind in self._kinds for urn in kind.urns)
        for urn in list(urns)[:_NAMED_TO_NARROW]:
            if urn.entity_type != COLUMN and urn not in self._entities:
                self._request_name(urn)

    @work(group="names")
    async def _read_wanted_names(self) -> None:
        """Read the requested names in one request, and draw the rows again."""
        of, urns, self._wanted = self._of, self._wanted, []
        if of is None or not urns:
            return
        with self._session.reporting("reading the relationships"):
            catalog = await self._session.catalog()
            for first in range(0, len(urns), _NAMED_AT_ONCE):
                some = urns[first : first + _NAMED_AT_ONCE]
                entities = await catalog.summaries(some)
                if of != self._of:
                    return
                self._entities |= entities
                self._answered.update(some)
            if self._words:
                self._lay_out()
            self.query_one(_Related).refresh()
