"""An entity that renders itself: its page, owners, links and relationships, edits with undo, and
history: versions of aspects, their differences, the authors of descriptions, and entries of the
change log.
"""

import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, wraps
from itertools import islice
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    Self,
    TypeVar,
    cast,
    overload,
)

from cachetools import LRUCache

from explorer import client
from explorer.client import entity as read
from explorer.client import records
from explorer.client.display import counted, line, moment
from explorer.client.editable import (
    TextConflict,
    has_one_description,
    listed,
    place_of,
    stored_description,
)
from explorer.client.entity import Entity
from explorer.client.governance import GOVERNED
from explorer.client.journal import JournalEntry, JournalSave, undone_in
from explorer.client.naming import takes_names
from explorer.client.records import (
    AspectDiff,
    ChangePage,
    ColumnChange,
    Direction,
    Edge,
    Edges,
    Health,
    Run,
    ValueChange,
    Version,
)
from explorer.client.search import MOST_COMPARED, only_named
from explorer.client.timeseries import Moment, read_range
from explorer.errors import InvalidInput, NotFound, ServerFault
from explorer.metadata.aspects import Link, Owner
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.names import ownership, singular
from explorer.metadata.proposal import millis_of
from explorer.metadata.urn import Urn
from explorer.notebook.lineage import (
    ColumnLineage,
    EntityLineage,
    ImpactTable,
    PathList,
    read_column_lineage,
    read_lineage,
)
from explorer.notebook.progress import with_progress
from explorer.notebook.schema import SchemaComparison, SchemaTable, schema_table
from explorer.notebook.timeseries import ProfileChart, UsageChart, Window, users_of
from explorer.notebook.view import (
    NamedRecords,
    Shown,
    ShownTable,
    grid_parts,
    table_parts,
    values_of,
)
from explorer.views.absence import NOBODY, NONE, REFUSED, UNKNOWN, Absence, refusal_sentence
from explorer.views.diff import DiffLine, value_diff
from explorer.views.entity import (
    detail_parts,
    edges_table,
    folder_facts,
    health_table,
    links_table,
    mention_name,
    owners_table,
    tag_colour,
)
from explorer.views.history import (
    ActorNames,
    AspectHistory,
    VersionStep,
    actor_of,
    actors_of,
    column_changes_table,
    differences_table,
    events_table,
    history_table,
    runs_table,
    version_label,
)
from explorer.views.journal import journal_page, journal_table, save_records
from explorer.views.parts import (
    Cell,
    Difference,
    Facts,
    Fold,
    Part,
    Prose,
    Say,
    Title,
    mentions_of,
    with_names,
)
from explorer.views.search import entities_table
from explorer.views.table import LIST, TIME, Table, TableColumn, attributes, to_frame
from explorer.views.text import EDITED

if TYPE_CHECKING:
    import pandas as pd

    from explorer.graph import Extent
    from explorer.metadata.aspects import AuditStamp

_P = ParamSpec("_P")
_T = TypeVar("_T")

_MOST_KEPT = 1_000
_MOST_DAYS = 36_500
_USUAL_DAYS = 30


class TextsSeen:
    """The edited descriptions of the entities read last; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._texts: LRUCache[Urn, Mapping[str | None, str]] = LRUCache(_MOST_KEPT)

    def see(self, entity: Entity) -> None:
        """Remember the texts of an entity that was read completely."""
        texts: dict[str | None, str] = {None: edited_text(entity, None)}
        texts |= {column.path.raw: column.edited or "" for column in entity.schema}
        with self._lock:
            self._texts[entity.urn] = texts

    def of(self, urn: Urn, column: str | None) -> str | None:
        """Return the edited text of an entity, or of its column at an exact path, as it was read
        last; "" if there was none, None if it was not read."""
        with self._lock:
            return self._texts.get(urn, {}).get(column)


def edited_text(entity: Entity, column: str | None) -> str:
    """Return the description that an edit of an entity, or of its column at an exact path,
    replaces, exactly as it is stored; "" for none.

    Tags, glossary terms, domains and the like have one description, whoever wrote it.
    """
    if column is not None:
        schema_column = entity.schema.column(column)
        return (schema_column.edited or "") if schema_column else ""
    try:
        place = place_of(entity.urn, None)
    except InvalidInput:
        # It cannot be edited.
        return entity.edited_description
    aspect = entity.aspects.get(place.aspect)
    return (place.text(aspect.value) or "") if aspect else ""


_LONGEST = 160


def _conflict_note(conflict: TextConflict) -> str:
    """Return what somebody else wrote, and how to go on."""
    author = next((urn.name for urn in Urn.parse_all([conflict.author or ""])), "")
    by = f", by {author}" if author else ""
    theirs = line(conflict.theirs, _LONGEST) or "nothing"
    return f"now there{by}: {theirs}\nreload() reads it again; force=True writes over what is there"


@dataclass(frozen=True, slots=True, repr=False)
class UndoableEdit(Shown, records.Edit):
    """An edit that renders itself, with the catalog in which it can be undone."""

    catalog: "EntityCatalog" = field(compare=False, kw_only=True)

    def undo(self, *, force: bool = False) -> "EntityPage":
        """Undo the edit, and return the entity afterwards, whose `edit` is the undo.

        Raises `Conflict`, and writes nothing, if somebody else has changed the same value since,
        unless `force` is set. Four requests.
        """
        if not self.changed:
            return self.catalog.entity(self.urn)
        undone = self.catalog.undo(self, force=force)
        return self.catalog.entity(self.urn).made_by(undone)

    @property
    def summary(self) -> str:
        """Return what the edit changed, in a few words: `tags: + PII`."""
        where = f" of {FieldPath(self.column).simple}" if self.column else ""
        before, after = _display_values(self.before), _display_values(self.after)
        if not self.changed:
            return f"{self.what}{where}: nothing changed"
        if isinstance(self.before, str) or isinstance(self.after, str):
            return f"{self.what}{where} {'changed' if after else 'removed'}"
        signs = [f"+ {label}" for label in after if label not in before]
        signs += [f"- {label}" for label in before if label not in after]
        return f"{self.what}{where}: {', '.join(signs)}"

    def parts(self) -> Iterator[Part]:
        at = moment(millis_of(self.at), utc=True)
        yield Title(f"Edit of {self.urn.name}", self.summary)
        yield Facts(
            [("when", Cell(at)), ("before", _cell(self.before)), ("now", _cell(self.after))]
        )
        if self.changed:
            yield Say(".undo() undoes it")


def to_undoable(edit: records.Edit, catalog: "EntityCatalog") -> UndoableEdit:
    """Return an edit that renders itself."""
    if isinstance(edit, UndoableEdit):
        return edit
    return UndoableEdit(**values_of(edit), catalog=catalog)


class EditsTable(ShownTable, tuple[UndoableEdit, ...]):
    """Edits made together, in order, such as those of `undo_save`."""

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each edit, all text but the time. No request.

        at              datetime64[ms, UTC]
        urn, column     string   the entity, and a column's exact path; missing for itself
        what            string   the kind of edit, such as description or tags
        before, after   object   lists of labels, or of one text; empty for none
        """
        columns = (
            TableColumn("at", dtype=TIME),
            TableColumn("urn", read=lambda edit: str(edit.urn)),
            *attributes("column", "what"),
            TableColumn("before", read=lambda edit: _display_values(edit.before), dtype=LIST),
            TableColumn("after", read=lambda edit: _display_values(edit.after), dtype=LIST),
        )
        return to_frame(Table.from_records(self, columns))

    def parts(self) -> Iterator[Part]:
        yield Title("Edits", f"{len(self):,}")
        yield from grid_parts(("of", "change"), self, _edit_row)


def _edit_row(edit: UndoableEdit) -> tuple[Cell, Cell]:
    return Cell(edit.urn.name, detail=str(edit.urn), tone="loud"), Cell(edit.summary)


def _display_values(side: records.Held) -> tuple[str, ...]:
    """Return the display names of the values before or after an edit."""
    if side is None or side == "":
        return ()
    if isinstance(side, str):
        return (side,)
    if isinstance(side, dict):
        return tuple(f"{name} {value}" for name, value in side.items())
    return tuple(map(_label, side))


def _label(text: str) -> str:
    # An owner is its URN and the kind of ownership.
    urn, _, kind = text.partition(" ")
    name = next((urn.name for urn in Urn.parse_all([urn])), urn)
    return f"{name} ({kind})" if kind else name


def _cell(side: records.Held) -> Cell:
    text = ", ".join(_display_values(side))
    if not text:
        return Cell("nothing", tone="quiet")
    return Cell(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")


class Blame(ShownTable, dict[str, ColumnChange]):
    """The change that set each column's current description, by the column's exact path."""

    names: ActorNames

    @classmethod
    def of(cls, changes: Mapping[str, ColumnChange], names: ActorNames) -> Self:
        """Create the table from changes and the names of their authors."""
        table = cls(changes)
        table.names = names
        return table

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each column; see `explorer.views.history.column_changes_table`. No
        request."""
        return to_frame(column_changes_table("", self.values(), self.names))

    def parts(self) -> Iterator[Part]:
        yield Title("Who described it last", f"{len(self):,} columns" if self else NOBODY)
        yield from table_parts(column_changes_table("", self.values(), self.names))


class ColumnChanges(NamedRecords[ColumnChange]):
    """The changes of one column's description, newest first; `names` are the names of the
    authors."""

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each change; see `explorer.views.history.column_changes_table`. No
        request."""
        return to_frame(column_changes_table("", self, self.names))

    def parts(self) -> Iterator[Part]:
        name = FieldPath(self[0].path).simple if self else "the column"
        yield Title(
            f"Descriptions of {name}", counted(len(self), "change") if self else NONE.phrase
        )
        yield from table_parts(column_changes_table("", self, self.names))


class JournalTable(ShownTable, tuple[JournalEntry, ...]):
    """Edits in the journal, oldest first."""

    @property
    def saves(self) -> tuple[JournalSave, ...]:
        """Return the saves of the edits, newest first, without undone edits; a save that is undone
        completely is left out. `cat.undo_save` accepts one."""
        records = save_records(self)
        return tuple(record.standing for record in records if record.standing is not None)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each edit, oldest first: `id`, `at`, `server`, `urn`, `column`, `what`,
        `before`, `after`, `undone`, `undoes`, `save`, `proposed_by`, `approved_by`. No request."""
        return to_frame(journal_table(self, undone_in(self)))

    def parts(self) -> Iterator[Part]:
        records = save_records(self)
        count = counted(len(records), "save")
        yield Title("Journal", count if records else "no edits")
        yield from table_parts(journal_page(records))


@dataclass(frozen=True, slots=True, repr=False)
class SaveTable(ShownTable, JournalSave):
    """The edits of one save, oldest first."""

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each edit; see `JournalTable.to_frame`. No request."""
        return JournalTable(self.entries).to_frame()

    def parts(self) -> Iterator[Part]:
        yield Title("Save", counted(len(self.entries), "edit"))
        yield from table_parts(journal_page(save_records(self.entries)))


@dataclass(frozen=True, slots=True, repr=False)
class ChangesTable(ShownTable, ChangePage):
    """A page of the change log: iterates over its events, in log order."""

    names: ActorNames = field(default_factory=dict, compare=False)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each change; see `explorer.views.history.events_table`. No request."""
        table = events_table("Changes", self, self.names)
        return to_frame(replace(table, incomplete=self._cut()))

    def _cut(self) -> str:
        return f"there are more; changes({self.next}) reads on from here" if self.truncated else ""

    def parts(self) -> Iterator[Part]:
        yield Title("Changes", f"{len(self):,} up to {self.next:,} of {self.head:,}")
        yield from table_parts(events_table("", self.changes, self.names))
        if cut := self._cut():
            yield Say(cut)


_RUNS = "Runs of ingestion"
_MORE_IN_COUNT = "there are more; a larger count reads them"


class Runs(ShownTable, tuple[Run, ...]):
    """Runs of ingestion, newest first; `truncated` says whether there are older ones."""

    truncated = False

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each run; see `explorer.views.history.runs_table`. No request."""
        return to_frame(replace(runs_table(self), title=_RUNS, incomplete=self._cut()))

    def parts(self) -> Iterator[Part]:
        yield Title(_RUNS, f"{len(self):,}" if self else NONE.phrase)
        yield from table_parts(runs_table(self))
        if cut := self._cut():
            yield Say(cut)

    def _cut(self) -> str:
        return _MORE_IN_COUNT if self.truncated else ""


def names_of(entities: Mapping[Urn, Entity]) -> ActorNames:
    """Return the names of entities."""
    return {urn: entity.name for urn, entity in entities.items()}


_MAX_CHANGES = 30
_MAX_LINES = 40


@dataclass(frozen=True, repr=False)
class History(ShownTable):
    """Versions of an aspect, newest first, each with what it changed: iterates over `VersionStep`.
    `truncated` says whether there are older ones, `total` is the number of all, if known."""

    urn: Urn
    name: str
    aspect: str
    steps: tuple[VersionStep, ...]
    total: int | None = None
    truncated: bool = False
    names: ActorNames = field(default_factory=dict)
    catalog: "EntityCatalog" = field(compare=False, kw_only=True)

    @property
    def versions(self) -> tuple[Version, ...]:
        """Return the versions, newest first."""
        return tuple(step.version for step in self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def __iter__(self) -> Iterator[VersionStep]:
        return iter(self.steps)

    def diff(self, older: int = -1, newer: int = 0) -> "VersionDiff":
        """Return the difference between two of the aspect's versions; see `EntityPage.diff`."""
        return read_diff(self.catalog, self.urn, self.name, self.aspect, older, newer)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each version, newest first. No request.

        version   int64    as the server numbers it: 0 is the latest, 1 the oldest
        time      datetime64[ms, UTC]   when it was written, if known
        who       string   who wrote it, by name; `actor` is the URN
        run       string   the ingestion run that wrote it
        changed   string   the changes since the version before, in words
        """
        table = replace(self._table(), title=self._title(), total=self.total)
        if self.truncated:
            table = replace(table, incomplete=f"{self._count()}; a larger count reads more")
        frame = to_frame(table).rename(columns={"summary": "changed"})
        return frame[["version", "time", "who", "actor", "run", "changed"]]

    def parts(self) -> Iterator[Part]:
        yield Title(self._title(), self._count())
        yield from table_parts(self._table())
        if self.truncated:
            yield Say(_MORE_IN_COUNT)

    def _title(self) -> str:
        return f"{self.aspect} of {self.name}"

    def _count(self) -> str:
        count = counted(len(self), "version")
        if not self.truncated:
            return count
        return f"{len(self):,} of {self.total:,} versions" if self.total else f"the newest {count}"

    def _table(self) -> Table:
        return history_table("", self.steps, self.names, of_one_aspect=True)


@dataclass(frozen=True, repr=False)
class VersionDiff(ShownTable):
    """The difference between two versions of an aspect, value by value: iterates over `Change`."""

    name: str
    diff: AspectDiff
    names: ActorNames = field(default_factory=dict)

    @property
    def changes(self) -> tuple[ValueChange, ...]:
        """Return each value that differs."""
        return self.diff.changes

    def __len__(self) -> int:
        return len(self.diff)

    def __iter__(self) -> Iterator[ValueChange]:
        return iter(self.diff)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each value that differs; see `explorer.views.history.differences_table`.
        No request."""
        return to_frame(differences_table(self.diff))

    def parts(self) -> Iterator[Part]:
        count = counted(len(self), "place differs", "places differ")
        title = f"{self.diff.aspect} of {self.name}"
        yield Title(title, count if len(self) else "nothing differs between the two versions")
        if not len(self):
            return
        heads = (
            DiffLine(_heading(self.diff.older, self.names), "removed", "-"),
            DiffLine(_heading(self.diff.newer, self.names), "added", "+"),
        )
        lines = value_diff(self.changes, max_changes=_MAX_CHANGES, max_lines=_MAX_LINES)
        yield Difference((*heads, *lines))
        if len(self) > _MAX_CHANGES:
            yield Say(f"{_MAX_CHANGES} of {len(self):,} places drawn; .to_frame() has them all")


def read_history(catalog: "EntityCatalog", urn: Urn, name: str, aspect: str, count: int) -> History:
    """Return the newest versions of an aspect and who wrote them; see `EntityPage.history`."""
    # One version more is read, to know what the oldest one changed.
    page = catalog.versions(urn, aspect, count=count + 1)
    history = AspectHistory(aspect).with_page(page)
    steps = history.steps[:count]
    truncated = len(page) > count or page.truncated
    names = read_names(catalog, (step.version.created for step in steps))
    return History(urn, name, aspect, steps, history.total, truncated, names, catalog=catalog)


def read_diff(
    catalog: "EntityCatalog", urn: Urn, name: str, aspect: str, older: int, newer: int
) -> VersionDiff:
    """Return the difference between two versions; see `EntityPage.diff`."""
    for version in (older, newer):
        if not isinstance(version, int):
            raise InvalidInput(
                f"give a version by its number, not {version!r:.60}: diff(1, 0, aspect=…)"
            )
    diff = catalog.diff(urn, aspect, older, newer)
    return VersionDiff(name, diff, read_names(catalog, (diff.older.created, diff.newer.created)))


def read_names(catalog: "EntityCatalog", stamps: Iterable["AuditStamp | None"]) -> ActorNames:
    """Return the names of the authors. One request per hundred."""
    return names_of(catalog.summaries(actors_of(stamps)))


def _when(stamp: "AuditStamp | None") -> str:
    return moment(stamp.time, utc=True) if stamp else UNKNOWN.phrase


def _heading(version: Version, names: ActorNames) -> str:
    parts = (
        version_label(version.number),
        actor_of(version.created, names),
        _when(version.created),
    )
    return "  ".join(line(part) for part in parts if part)


class Owners(NamedRecords[Owner]):
    """The owners of an entity, in stored order."""

    @property
    def display_names(self) -> tuple[str, ...]:
        """Return each owner's name and role, in order."""
        return tuple(f"{name.text} ({role.text})" for name, _, role in map(self._row, self))

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each owner; see `explorer.views.entity.owners_table`."""
        return to_frame(owners_table(self, self.names))

    def parts(self) -> Iterator[Part]:
        yield Title("Owners", f"{len(self):,}" if self else NOBODY)
        yield from grid_parts(("owner", "kind", "role"), self, self._row)

    def _row(self, owner: Owner) -> tuple[Cell, Cell, Cell]:
        urn = next(iter(Urn.parse_all([owner.owner])), None)
        role = role_of(owner)
        if urn is None:
            return Cell(owner.owner), Cell(""), Cell(role)
        kind = {"corpuser": "person", "corpGroup": "group"}.get(urn.entity_type, urn.entity_type)
        name = self.names.get(urn) or urn.name
        return Cell(name, detail=str(urn), tone="loud"), Cell(kind), Cell(role)


class LinksTable(NamedRecords[Link]):
    """The documentation links of an entity; `names` are the names of the people who added them."""

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each link: `url`, `description`, and `actor`, who added it. No
        request."""
        return to_frame(links_table(self, self.names))

    def parts(self) -> Iterator[Part]:
        yield Title("Links", f"{len(self):,}" if self else NONE.phrase)
        yield from table_parts(links_table(self, self.names))


@dataclass(frozen=True, slots=True, repr=False)
class Relationships(ShownTable):
    """The edges of an entity, in the requested directions."""

    edges: tuple[Edges, ...]
    names: Mapping[Urn, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return sum(len(group.edges) for group in self.edges)

    def __iter__(self) -> Iterator[Edge]:
        return (edge for group in self.edges for edge in group.edges)

    @property
    def total(self) -> int:
        """Return the number of edges, which may be more than the server returned."""
        return sum(group.total for group in self.edges)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each edge; see `explorer.views.entity.edges_table`."""
        return to_frame(replace(edges_table(self.edges, self.names), total=self.total))

    def parts(self) -> Iterator[Part]:
        count = f"{len(self):,}" if len(self) == self.total else f"{len(self):,} of {self.total:,}"
        yield Title("Relationships", count if self.total else NONE.phrase)
        yield from table_parts(edges_table(self.edges, self.names))


def role_of(owner: Owner) -> str:
    """Return the role of an owner in words: `data owner`."""
    return ownership(owner.type)


_Names = str | Urn | Iterable[str | Urn]
# These aspects are in the table of columns.
_SHOWN_AS_COLUMNS = frozenset(("schemaMetadata", "editableSchemaMetadata"))
_BOTH: tuple[Direction, ...] = ("OUTGOING", "INCOMING")


@dataclass(frozen=True, repr=False)
class EntityPage(ShownTable, read.Entity):
    """An entity as it was read, with its catalog.

    A page never changes: `reload`, and `describe`, `add_tags` and the other methods that write,
    return a new page of the entity as it is afterwards; after a write, its `edit` is the edit just
    made, which `edit.undo()` undoes. `names` has the display names of its owners and domains, and
    of the tags and terms on it and its columns, `mentioned` the entities read for these names, and
    `health` its failed assertions and active incidents, or the fact that they could not be read.
    """

    catalog: "EntityCatalog" = field(compare=False, kw_only=True)
    names: Mapping[Urn, str] = field(default_factory=dict, compare=False, kw_only=True)
    is_complete: bool = field(default=True, compare=False, kw_only=True)
    health: Health | Absence | None = field(default=None, compare=False, kw_only=True)
    mentioned: Mapping[Urn, read.Entity] = field(default_factory=dict, compare=False, kw_only=True)
    edit: UndoableEdit | None = field(default=None, compare=False, kw_only=True)

    def __post_init__(self) -> None:
        # Completion only follows existing attributes: `entity.schema["…"]`.
        with suppress(ServerFault):
            self.__dict__["schema"] = self._schema()

    @cached_property
    def schema(self) -> SchemaTable:
        """Return its columns; empty if it has none."""
        return self._schema()

    @property
    def owners(self) -> Owners:
        """Return its owners."""
        return Owners(super().owners, self.names)

    @overload
    def lineage(
        self,
        hops: int = 3,
        direction: "Extent" = "BOTH",
        *,
        column: None = None,
        limit: int | None = None,
    ) -> EntityLineage: ...

    @overload
    def lineage(
        self,
        hops: int = 3,
        direction: "Extent" = "BOTH",
        *,
        column: str,
        limit: int | None = None,
    ) -> ColumnLineage: ...

    def lineage(
        self,
        hops: int = 3,
        direction: "Extent" = "BOTH",
        *,
        column: str | None = None,
        limit: int | None = None,
    ) -> EntityLineage | ColumnLineage:
        """Return its upstream and downstream lineage up to `hops`, at most `limit` entities in each
        direction, as a picture, tree, DataFrame and networkx graph. With a `column`, return the
        columns upstream and downstream of it, as a table and DataFrame.

        One request per direction if the server follows lineage itself, and one per hundred
        entities; the same for a column. Raises `UnknownName` for a column that does not exist.

        Example: `orders.lineage(hops=2, column="net_amount").df`
        """
        if column is not None:
            return read_column_lineage(
                self.catalog, self.urn, self.name, column, direction, hops, limit
            )
        return read_lineage(self.catalog, self.urn, self.name, direction, hops, limit)

    def impact(self, column: str | None = None) -> ImpactTable:
        """Return everything downstream of it, or of its column at an exact path, at any distance,
        most used first.

        One request if the server follows lineage itself, one per hundred entities, and one for each
        of the 500 nearest datasets to count their use; with a column, one more per hundred. Raises
        `UnknownName` for a column that does not exist.

        Example: `orders.impact("customer_id")`
        """
        return ImpactTable.read(self.catalog, self.urn, self.name, column)

    def paths_to(self, other: "str | Urn | EntityPage") -> PathList:
        """Return the shortest lineage paths between it and another entity, given by URN, name or
        page, in either direction and of any length. At most two requests if the server searches
        paths, and one per hundred names; for a name, also those of a search.

        Example: `orders.paths_to("mart_customer_360")`
        """
        urn = other.urn if isinstance(other, EntityPage) else self.catalog.urn_of(other)
        return PathList.read(self.catalog, self.urn, urn)

    def compare(self, other: "str | Urn | EntityPage") -> SchemaComparison:
        """Compare its columns with those of another dataset, given by URN, name or page: columns
        that only one has, and differences in types, nullability, keys or descriptions. Two
        requests, and for a name those of a search.

        Example: `orders.compare("int_orders_enriched").df`
        """
        page = other if isinstance(other, EntityPage) else self.catalog[other]
        return SchemaComparison(self.schema, page.schema, (self.name, page.name))

    def history(self, aspect: str = "schemaMetadata", count: int = 20) -> History:
        """Return the newest versions of an aspect: when and by whom each was written, and what
        changed.

        Two requests if the server returns several versions at once, else one per version. Raises
        `NotFound` if the entity lacks the aspect, `InvalidInput` for a timeseries aspect.

        Example: `orders.history("schemaMetadata")`
        """
        return read_history(self.catalog, self.urn, self.name, aspect, count)

    def diff(self, older: int = -1, newer: int = 0, aspect: str = "schemaMetadata") -> VersionDiff:
        """Return the difference between two versions of an aspect; by default, the changes of the
        latest version.

        Versions are given by number: 0 is the latest, 1 the oldest, -1 the one before the latest.
        Two or three requests. Raises `NotFound` if a version does not exist.

        Example: `orders.diff(1, 0)`
        """
        return read_diff(self.catalog, self.urn, self.name, aspect, older, newer)

    @property
    def links(self) -> LinksTable:
        """Return its documentation links."""
        return LinksTable(super().links, self.names)

    def relationships(
        self, direction: Direction | None = None, types: Sequence[str] | None = None
    ) -> Relationships:
        """Return its edges in one direction or both: those that it declares (OUTGOING) and those
        that lead to it (INCOMING), of all relationship types or of `types`. One request for each
        direction, and one per hundred names.

        Example: `orders.relationships("INCOMING")`
        """
        directions = _BOTH if direction is None else (direction,)
        edges = tuple(self.catalog.relationships(self.urn, side, types) for side in directions)
        neighbours = dict.fromkeys(edge.urn for group in edges for edge in group.edges)
        entities = self.catalog.summaries(neighbours)
        return Relationships(edges, {urn: entity.name for urn, entity in entities.items()})

    def usage(
        self,
        days: int | None = _USUAL_DAYS,
        *,
        start: Moment | None = None,
        end: Moment | None = None,
    ) -> UsageChart:
        """Return its usage and users in the last `days`, from `start` on, up to `end`, or all.

        A time is a date, a datetime, a pandas Timestamp, or text; a date is a whole day, and
        without a zone it is in UTC. One request, one per hundred names, and one more to find the
        newest usage if there is none in that time.

        Example: `orders.usage(start="2026-11-01").top_users`
        """
        if self.entity_type != "dataset":
            kind = singular(self.entity_type)
            if f"{self.entity_type}UsageStatistics" not in self.catalog.registry.aspects:
                raise InvalidInput(f"there are no usage statistics of a {kind}")
            raise InvalidInput(
                f"only datasets have this chart; cat.usage(urn) reads that of a {kind}"
            )
        window = self._window("datasetUsageStatistics", days, start, end)
        users = Urn.parse_all(users_of(window))
        names = {urn: summary.name for urn, summary in self.catalog.summaries(users).items()}
        return UsageChart(self.name, window, names, self)

    def profile(
        self,
        days: int | None = _USUAL_DAYS,
        *,
        start: Moment | None = None,
        end: Moment | None = None,
    ) -> ProfileChart:
        """Return its profiles of the last `days`, between two times, or all. Times and requests are
        as for `usage`.

        Example: `orders.profile(days=90)`
        """
        if self.entity_type != "dataset":
            kind = singular(self.entity_type)
            raise InvalidInput(f"only datasets have profiles; {self.name!r:.60} is a {kind}")
        window = self._window("datasetProfile", days, start, end)
        return ProfileChart(self.name, window)

    def describe(
        self, text: str, column: str | None = None, *, force: bool = False
    ) -> "EditedEntity":
        """Write its description, or that of the column at an exact path, and return the entity read
        again.

        The text is Markdown; the ingested description stays beside it. An empty or blank text
        removes the edited description. If somebody else has changed it since this entity was read,
        writes nothing and raises `TextConflict`, whose `theirs` is their text, unless `force` is
        set; an entity read in part has no text to compare with. Raises `NotFound` or `InvalidInput`
        if the entity or column does not exist. Four requests.

        Example: `orders = orders.describe("One row an order.")`
        """
        if column is not None:
            column_names = {
                name for column in self.schema for name in (column.path.raw, column.path.simple)
            }
            if column not in column_names and text in column_names:
                first = "the text comes first: describe(TEXT, COLUMN)"
                raise InvalidInput(f"{text!r} is a column; {first}")
        base = edited_text(self, column) if self.is_complete else None
        stored = stored_description(text)
        try:
            edit = self.catalog.describe(
                self.urn, stored, column=column, instead_of=base, force=force
            )
        except TextConflict as conflict:
            conflict.add_note(_conflict_note(conflict))
            raise
        return self._after_edit(edit)

    def carry_over(self, column: str | None = None) -> "EntityPage":
        """Move what people wrote about its columns before their types or cases changed to the
        present columns, or to the one at an exact path, and return the entity read again.

        `cat.undo_save()` undoes it. See `Catalog.carry_over`.

        Example: `orders = orders.carry_over()`
        """
        self.catalog.carry_over(self.urn, column)
        return self.reload()

    def add_tags(self, tags: _Names, column: str | None = None) -> "EditedEntity":
        """Add tags to it, or to its column at an exact path, and return the entity read again;
        present tags are kept. Tags are given by name or URN, one or several. `edit.undo()` undoes
        it.

        Four requests, and two for each name. Raises `NotFound` for a tag that does not exist.

        Example: `orders = orders.add_tags("PII", column="customer_id")`
        """
        return self._after_edit(
            self.catalog.add_tags(self.urn, self._urns(tags, "tag"), column=column)
        )

    def remove_tags(self, tags: _Names, column: str | None = None) -> "EditedEntity":
        """Remove tags, given as in `add_tags`; tags that it does not have are ignored.

        Example: `orders = orders.remove_tags(["Tier1", "Finance"])`
        """
        return self._after_edit(
            self.catalog.remove_tags(self.urn, self._urns(tags, "tag"), column=column)
        )

    def add_terms(self, terms: _Names, column: str | None = None) -> "EditedEntity":
        """Add glossary terms to it, or to its column; see `add_tags`.

        Example: `orders = orders.add_terms("Net revenue", column="net_amount")`
        """
        urns = self._urns(terms, "glossaryTerm")
        return self._after_edit(self.catalog.add_terms(self.urn, urns, column=column))

    def remove_terms(self, terms: _Names, column: str | None = None) -> "EditedEntity":
        """Remove glossary terms; see `remove_tags`.

        Example: `orders = orders.remove_terms("Net revenue")`
        """
        urns = self._urns(terms, "glossaryTerm")
        return self._after_edit(self.catalog.remove_terms(self.urn, urns, column=column))

    def add_owners(self, owners: _Names, ownership: str = "TECHNICAL_OWNER") -> "EditedEntity":
        """Add owners, people and groups by name or URN; see `add_tags`. `ownership` is the
        ownership type, a word (`BUSINESS_OWNER`, `DATA_STEWARD`) or a URN.

        Example: `orders = orders.add_owners("Nina Weber", "DATA_STEWARD")`
        """
        urns = self._urns(owners, "corpuser", "corpGroup")
        return self._after_edit(self.catalog.add_owners(self.urn, urns, ownership=ownership))

    def remove_owners(self, owners: _Names, ownership: str | None = None) -> "EditedEntity":
        """Remove owners, of one ownership type or of all.

        Example: `orders = orders.remove_owners("Jordan Doe")`
        """
        urns = self._urns(owners, "corpuser", "corpGroup")
        return self._after_edit(self.catalog.remove_owners(self.urn, urns, ownership=ownership))

    def set_domain(self, domain: str | Urn | None, *, force: bool = False) -> "EditedEntity":
        """Set its domain, by name or URN, replacing any other; None removes it.

        Raises `Conflict`, and writes nothing, if somebody else has changed its domain since it was
        read, unless `force` is set. Requests as for `add_tags`.

        Example: `orders = orders.set_domain("Finance")`
        """
        urn = None if domain is None else self._urns(domain, "domain")[0]
        urns = self.domains if self.is_complete and not force else None
        try:
            edit = self.catalog.set_domain(self.urn, urn, instead_of=urns)
        except TextConflict as conflict:
            conflict.add_note(_conflict_note(conflict))
            raise
        return self._after_edit(edit)

    def made_by(self, edit: records.Edit) -> "EditedEntity":
        """Return the entity with the edit that changed it.

        Example: `orders.made_by(cat.add_tags(orders.urn, "PII")).edit.summary`
        """
        attributes = {attribute.name: getattr(self, attribute.name) for attribute in fields(self)}
        return EditedEntity(**attributes | {"edit": to_undoable(edit, self.catalog)})

    def reload(self) -> "EntityPage":
        """Read the entity again, with all its aspects. Two requests.

        Example: `orders.reload()`
        """
        return self.catalog.entity(self.urn)

    def to_frame(self) -> "pd.DataFrame":
        """Return one row about the entity; see `explorer.views.search.entities_table`. No request.

        Example: `orders.to_frame().T`
        """
        names = {str(urn): name for urn, name in self.names.items()}
        return to_frame(entities_table([self], names))

    def _after_edit(self, edit: records.Edit) -> "EditedEntity":
        return self.reload().made_by(edit)

    def _urns(self, labels: _Names, *types: str) -> list[Urn]:
        """Return the URNs of labels given by URN or by name, of one of these types. Raises
        `NotFound`, with similar labels, for one that does not exist."""
        return [self._label_urn(label, types) for label in listed(labels, "names or URNs")]

    def _label_urn(self, label: str | Urn, types: tuple[str, ...]) -> Urn:
        try:
            return self.catalog.urn_of(label, *types)
        except NotFound:
            reader = self.catalog.reader
            raise self.catalog.wait(reader.unknown_label(str(label), types)) from None

    def _schema(self) -> SchemaTable:
        return schema_table(read.Entity(self.urn, self.aspects).schema, self.names)

    def _window(
        self, aspect: str, days: object, start: Moment | None, end: Moment | None
    ) -> Window:
        if days is not None and not isinstance(days, int):
            raise InvalidInput(f"'days' must be a number, or None for all, not {days!r:.60}")
        if days is not None and days < 1:
            raise InvalidInput(f"'days' must be at least 1, or None for all, not {days}")
        if days is not None and days > _MOST_DAYS:
            raise InvalidInput(
                f"'days' must be at most {_MOST_DAYS:,}, or None for all, not {days}"
            )
        if start is not None and days not in (None, _USUAL_DAYS):
            raise InvalidInput("give either 'start' or 'days'")
        begin, until = read_range(start, end, days if start is None else None)
        series = self.catalog.timeseries(self.urn, aspect, start=begin, end=until)
        newest = None
        if (begin or until) is not None and not series.values:
            last = self.catalog.timeseries(self.urn, aspect, limit=1).values
            newest = last[0].get("timestampMillis") if last else None
        if start is None and end is None:
            return Window(series, days, newest)
        return Window(series, None, newest, begin, until)

    def parts(self) -> Iterator[Part]:
        """Yield the parts of the page, from top to bottom.

        Example: `list(orders.parts())`
        """
        yield Title(self.name, " · ".join(self._kinds()))
        if not self.exists:
            yield Facts([("urn", Cell(str(self.urn)))])
            yield Say("not in this catalog, or only referenced in it", "loud")
            return
        if self.removed:
            yield Say("soft-deleted: hidden from search and browse", "loud")
        if self.deprecation is not None:
            yield Say(f"deprecated: {self.deprecation}", "loud")
        if isinstance(self.health, Absence):
            yield Say(refusal_sentence("Health"), "loud")
        elif self.health is not None:
            yield from (Say(sentence, "loud") for sentence in self.health.sentences())
            yield from table_parts(health_table(self.health))
        if self.edit is not None:
            yield Say(f"just edited: {self.edit.summary}; .edit.undo() undoes it")
        yield Facts(list(self._facts()))
        if self.edited_description:
            yield Prose(self.edited_description, label=f"{EDITED} description, edited")
        if self.ingested_description:
            origin = "" if has_one_description(self.entity_type) else ", from ingestion"
            yield Prose(self.ingested_description, label=f"description{origin}")
        if not self.description:
            yield Say("no description")
        if self.schema.columns:
            yield from self.schema.parts()
        if self.links:
            yield from self.links.parts()
        names = {urn: mention_name(entity) for urn, entity in self.mentioned.items()}
        details = list(with_names(detail_parts(self, _SHOWN_AS_COLUMNS), names))
        if details:
            yield Fold("properties and other aspects", details)

    def _kinds(self) -> Iterator[str]:
        yield singular(self.entity_type)
        if self.kind != self.entity_type:
            yield self.kind
        yield from (fact for fact in (self.platform, self.urn.origin) if fact)

    def _facts(self) -> Iterator[tuple[str, Cell]]:
        who = ", ".join(self.owners.display_names)
        yield "owners", Cell(who) if who else Cell(NOBODY, tone="quiet")
        for title, urns in (("tags", self.tags), ("terms", self.terms), ("domains", self.domains)):
            if urns:
                labels = tuple(map(self._label_text, urns))
                yield title, Cell(", ".join(name for name, _ in labels), labels=labels)
        yield "urn", Cell(str(self.urn), tone="quiet")

    def _label_text(self, urn: Urn) -> tuple[str, str]:
        """Return the name of a tag, term or domain, and its colour if it is a tag that has one."""
        entity = self.mentioned.get(urn)
        if entity is None:
            return self.names.get(urn) or urn.name, ""
        return mention_name(entity), tag_colour(entity)


@dataclass(frozen=True, repr=False)
class EditedEntity(EntityPage):
    """An entity after an edit: `edit` is that edit."""

    edit: UndoableEdit = field(compare=False, kw_only=True)


_MOST_MENTIONED = 200
_MOST_NAMES = 50_000
_MOST_OFFERED = 10_000


class KnownNames:
    """The URNs and names read so far; thread-safe. The oldest are dropped beyond a limit."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._names: dict[Urn, str] = {}

    def __len__(self) -> int:
        return len(self._names)

    def learn(self, names: Iterable[tuple[Urn, str]]) -> None:
        """Add names, or update them."""
        with self._lock:
            for urn, name in names:
                self._names.pop(urn, None)
                self._names[urn] = name
            for urn in list(self._names)[: len(self._names) - _MOST_NAMES]:
                del self._names[urn]

    def offered(self) -> list[str]:
        """Return the completions of `cat["…"]`: each name once, then each URN, newest first;
        without control characters."""
        with self._lock:
            newest = list(self._names.items())[::-1][:_MOST_OFFERED]
        keys = dict.fromkeys(name for _, name in newest)
        keys |= dict.fromkeys(str(urn) for urn, _ in newest)
        return [key for key in keys if key and key == line(key)]

    def urns_named(self, name: str) -> list[Urn]:
        """Return the entities known by exactly this name."""
        with self._lock:
            return [urn for urn, entity_name in self._names.items() if entity_name == name]


def names_of_existing(entities: Iterable[Entity]) -> Iterator[tuple[Urn, str]]:
    """Yield the URN and the name of each entity that exists."""
    return ((entity.urn, entity.name) for entity in entities if entity.exists)


@takes_names
class EntityReader:
    """The methods of both notebook catalogs that read entities, implemented with a client;
    remembers the names and texts read."""

    def read_with(
        self, plain: client.AsyncCatalog, blocking: "Callable[[], EntityCatalog]"
    ) -> None:
        """Set the client, and `blocking`, a function that is called for each result and returns the
        catalog for its further requests."""
        self._plain, self._blocking = plain, blocking
        self.known_names, self.seen_texts = KnownNames(), TextsSeen()

    async def urn_of(self, name: str | Urn, *types: str) -> Urn:
        """Return the URN of the entity with a name, of any entity type or of some; a URN is
        returned unchanged.

        Case is ignored if no name matches exactly. Costs the requests of a search. Raises
        `NotFound` if no entity has the name, `InvalidInput` with the candidates if several do.

        Example: `cat.urn_of("Nina Weber", "corpuser")`
        """
        if not isinstance(name, str | Urn):
            raise InvalidInput(f"give a name or a URN, not {name!r:.60}")
        if isinstance(name, Urn) or name.startswith("urn:"):
            return Urn.parse(name)
        if not name.strip():
            raise InvalidInput("give a name or a URN")
        page = await self._plain.search(name, entity=types or None, count=MOST_COMPARED)
        entities = await self.summed_up(hit.urn for hit in page)
        names = {urn: entity.name for urn, entity in entities.items()}
        matching = self.known_names.urns_named(name)
        names |= {urn: name for urn in matching if not types or urn.entity_type in types}
        return only_named(name, types, names)

    async def entity(self, urn: str | Urn, aspects: Sequence[str] | None = None) -> EntityPage:
        """Return an entity with all its aspects or those named, and the names of its owners, tags,
        terms and domains, and of entities in its properties. Two requests, and those of `health` if
        it may have assertions or incidents.

        An entity that is not stored is returned too; its page says that it does not exist.

        Example: `cat.entity("urn:li:corpuser:jdoe")`
        """
        plain_entity = await self._plain.entity(Urn.parse(urn), aspects)
        summaries = await self._plain.summaries(_urns_of_entity(plain_entity))
        health: Health | Absence | None = None
        if aspects is None and plain_entity.exists:
            health = REFUSED
            with suppress(InvalidInput, NotFound, ServerFault):
                health = await self._plain.health(plain_entity.urn)
        entity = EntityPage(
            plain_entity.urn,
            plain_entity.aspects,
            plain_entity.as_of,
            catalog=self._blocking(),
            names={urn: summary.name for urn, summary in summaries.items()},
            is_complete=aspects is None,
            health=health,
            mentioned=summaries,
        )
        self.known_names.learn(names_of_existing([entity]))
        if entity.is_complete:
            # An aspect that cannot be parsed is reported when it is accessed.
            with suppress(ServerFault):
                self.seen_texts.see(entity)
        return entity

    async def read_named(self, name: str | Urn) -> EntityPage:
        """Return the entity of a URN, or the only one with a name."""
        return await self.entity(await self.urn_of(name))

    async def dataset(self, urn: str | Urn) -> EntityPage:
        """Return a dataset, as `entity` does; raises `InvalidInput` for the URN of another entity
        type.

        Example: `cat.dataset(urn)`
        """
        target = Urn.parse(urn)
        if target.entity_type != "dataset":
            raise InvalidInput(f"{target} is a {target.entity_type}, not a dataset; use entity()")
        return await self.entity(target)

    async def summed_up(self, urns: Iterable[Urn]) -> Mapping[Urn, read.Entity]:
        """Return each entity with the aspects that a row of a table shows. One request per hundred;
        can be interrupted.

        Example: `cat.summed_up(cat.search("orders").urns)`
        """
        entities = await self._plain.summaries(urns)
        self.known_names.learn(names_of_existing(entities.values()))
        return entities

    async def unknown_label(self, name: str, types: Sequence[str]) -> NotFound:
        """Return the error for a label that does not exist: it names similar labels of these entity
        types, else the call that creates it. Requests as for `similar_labels`."""
        from explorer.stewardship.labels import similar_labels

        similar = await similar_labels(self._plain, name, types)
        names = []
        for urn, label in similar.items():
            spelling = urn.name if urn.entity_type == types[0] else str(urn)
            names.append(line(spelling if label == spelling else f"{spelling} ({label})", 100))
        short_name = line(name, 100)
        hint = f"; did you mean {' or '.join(names)}?" if names else ""
        if not names and types[0] in GOVERNED:
            hint = f"; cat.new({types[0]!r}, {short_name!r}) creates it"
        return NotFound(f"no {' or '.join(map(singular, types))} is named {short_name!r}{hint}")


_ReaderT = TypeVar("_ReaderT", bound=EntityReader)


class Waiting(Generic[_ReaderT, _P, _T]):
    """A blocking version of a reader's method; with `what`, it shows a progress bar of that
    name."""

    def __init__(
        self,
        method: Callable[Concatenate[_ReaderT, _P], Coroutine[Any, Any, _T]],
        what: str = "",
    ) -> None:
        self._method, self._what = method, what

    @property
    def call(self) -> "Callable[Concatenate[EntityCatalog, _P], _T]":
        """Return the method of the blocking catalog. It is an attribute, so that a type checker
        infers its type from the reader's method and not from the overridden one."""
        method, what = self._method, self._what

        @wraps(method)
        def call(catalog: "EntityCatalog", /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
            reader = cast("_ReaderT", catalog.reader)
            if not what:
                return catalog.wait(method(reader, *args, **kwargs))
            return with_progress(catalog, lambda _: method(reader, *args, **kwargs), what)

        return call


class EntityCatalog(client.Catalog):
    """The part of the notebook's catalog through which entities send requests; it returns entities
    as `EntityPage`."""

    reader: EntityReader

    def __getitem__(self, name: str | Urn) -> EntityPage:
        """Return the entity of a URN, or the only one with a name.

        Two requests, and for a name those of a search. Raises `NotFound` if no entity has the name,
        `InvalidInput` with the candidates if several do.
        """
        return self.wait(self.reader.read_named(name))

    # Without this, Python would iterate over it by asking for the items 0, 1, 2, …
    __iter__ = None

    urn_of = Waiting(EntityReader.urn_of).call
    entity = Waiting(EntityReader.entity).call
    dataset = Waiting(EntityReader.dataset).call
    summed_up = Waiting(EntityReader.summed_up, "reading the entries").call


def _urns_of_entity(entity: read.Entity) -> tuple[Urn, ...]:
    """Return the owners, tags, terms and domains of an entity, the tags and terms of its columns,
    who added its links, its folders, and the entities in its properties, at most 200 of these."""
    owners = Urn.parse_all(owner.owner for owner in entity.owners)
    authors = actors_of(link.create_stamp for link in entity.links)
    labels: list[Urn] = []
    # An aspect that cannot be parsed is reported when it is accessed.
    with suppress(ServerFault):
        labels = [urn for column in entity.schema for urn in (*column.tags, *column.terms)]
    with suppress(ServerFault):
        parts = (*folder_facts(entity), *detail_parts(entity))
        labels += islice(mentions_of(parts), _MOST_MENTIONED)
    urns = (*owners, *entity.tags, *entity.terms, *entity.domains, *authors, *labels)
    return tuple(dict.fromkeys(urns))
