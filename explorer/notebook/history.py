"""Versions of aspects, their differences, the authors of descriptions, and entries of the change
log."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from explorer.client.difference import ValueChange
from explorer.client.display import counted, line, moment
from explorer.client.journal import JournalEntry, JournalSave, undone_in
from explorer.client.records import (
    AspectDiff,
    ChangePage,
    ColumnChange,
    Run,
    Version,
)
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.notebook.view import NamedRecords, ShownTable, table_parts
from explorer.views.diff import DiffLine, value_diff
from explorer.views.history import (
    ActorNames,
    AspectHistory,
    VersionStep,
    actor_of,
    actors_of,
    column_changes_table,
    events_table,
    history_table,
    version_label,
)
from explorer.views.journal import journal_page, journal_table, save_records
from explorer.views.parts import Difference, Part, Say, Title
from explorer.views.table import Table, TableColumn, to_frame

if TYPE_CHECKING:
    import pandas as pd

    from explorer.client.entity import Entity
    from explorer.metadata.aspects import AuditStamp
    from explorer.notebook.catalog import NotebookCatalog

__all__ = [
    "Blame",
    "ChangesTable",
    "ColumnChanges",
    "History",
    "JournalTable",
    "Runs",
    "VersionDiff",
    "names_of",
    "read_diff",
    "read_history",
]


class Blame(ShownTable, dict[str, ColumnChange]):
    """Who described each column last, by the column's exact path."""

    names: ActorNames

    @classmethod
    def of(cls, changes: Mapping[str, ColumnChange], names: ActorNames) -> Self:
        """Create the table from changes and the names of their authors."""
        made = cls(changes)
        made.names = names
        return made

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each column; see `explorer.frames.column_changes_frame`. No request."""
        from explorer import frames

        return frames.column_changes_frame(self.values(), self.names)

    def parts(self) -> Iterator[Part]:
        yield Title("Who described it last", f"{len(self):,} columns" if self else "nobody")
        yield from table_parts(column_changes_table("", self.values(), self.names))


class ColumnChanges(NamedRecords[ColumnChange]):
    """The changes of one column's description, newest first; `names` are those of their authors."""

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each change; see `explorer.frames.column_changes_frame`. No request."""
        from explorer import frames

        return frames.column_changes_frame(self, self.names)

    def parts(self) -> Iterator[Part]:
        name = FieldPath(self[0].path).simple if self else "the column"
        yield Title(f"Descriptions of {name}", f"{len(self):,} changes" if self else "none")
        yield from table_parts(column_changes_table("", self, self.names))


class JournalTable(ShownTable, tuple[JournalEntry, ...]):
    """Edits in the journal, oldest first."""

    @property
    def saves(self) -> tuple[JournalSave, ...]:
        """Return the saves of the edits, newest first, without undone edits; a save that is undone
        completely is left out. `cat.undo_save` accepts one."""
        records = save_records(self)
        return tuple(one.standing for one in records if one.standing is not None)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each edit, oldest first: `id`, `at`, `server`, `urn`, `column`, `what`,
        `before`, `after`, `undone`, `undoes`, `save`, `proposed_by`, `approved_by`. No request."""
        return to_frame(journal_table(self, undone_in(self)))

    def parts(self) -> Iterator[Part]:
        records = save_records(self)
        count = counted(len(records), "save")
        yield Title("Journal", count if records else "no such edits in it")
        yield from table_parts(journal_page(records))


@dataclass(frozen=True, slots=True, repr=False)
class ChangesTable(ShownTable, ChangePage):
    """A page of the change log: iterates over its events, in log order."""

    names: ActorNames = field(default_factory=dict, compare=False)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each change; see `explorer.frames.events_frame`. No request."""
        from explorer import frames

        return frames.events_frame(self, self.names)

    def parts(self) -> Iterator[Part]:
        yield Title("Changes", f"{len(self):,} up to {self.next:,} of {self.head:,}")
        yield from table_parts(events_table("", self.changes, self.names))
        if self.truncated:
            yield Say(f"there are more; changes({self.next}) reads on from here")


class Runs(ShownTable, tuple[Run, ...]):
    """Runs of ingestion, newest first."""

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each run; see `explorer.frames.runs_frame`. No request."""
        from explorer import frames

        return frames.runs_frame(self)

    def parts(self) -> Iterator[Part]:
        yield Title("Runs of ingestion", f"{len(self):,}" if self else "none")
        heads = (
            TableColumn("run", style="bold"),
            TableColumn("time", "wrote last"),
            TableColumn("rows left"),
        )
        rows = [(one.run_id, one.at, one.rows) for one in self]
        yield from table_parts(Table(heads, rows))


def names_of(entities: Mapping[Urn, "Entity"]) -> ActorNames:
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
    catalog: "NotebookCatalog" = field(compare=False, kw_only=True)

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
        time      datetime64[ms, UTC]   when it was written, where it says so
        who       string   who wrote it, by name; `actor` is the URN
        run       string   the run of ingestion that brought it
        changed   string   what it changed of the one before, in a few words
        """
        frame = to_frame(self._table()).rename(columns={"summary": "changed"})
        return frame[["version", "time", "who", "actor", "run", "changed"]]

    def parts(self) -> Iterator[Part]:
        count = counted(len(self), "version")
        if self.truncated:
            of_all = f"{len(self):,} of {self.total:,} versions"
            count = of_all if self.total else f"the newest {count}"
        yield Title(f"{self.aspect} of {self.name}", count)
        yield from table_parts(self._table())
        if self.truncated:
            yield Say("there are more; a larger count reads them")

    def _table(self) -> Table:
        return history_table("", self.steps, self.names, of_one_aspect=True)


@dataclass(frozen=True, repr=False)
class VersionDiff(ShownTable):
    """The difference between two versions of an aspect, value by value: iterates over `Change`."""

    name: str
    found: AspectDiff
    names: ActorNames = field(default_factory=dict)

    @property
    def changes(self) -> tuple[ValueChange, ...]:
        """Return each value that differs."""
        return self.found.changes

    def __len__(self) -> int:
        return len(self.found)

    def __iter__(self) -> Iterator[ValueChange]:
        return iter(self.found)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each place; see `explorer.frames.changes_frame`. No request."""
        from explorer import frames

        return frames.changes_frame(self.found)

    def parts(self) -> Iterator[Part]:
        count = counted(len(self), "place differs", "places differ")
        title = f"{self.found.aspect} of {self.name}"
        yield Title(title, count if len(self) else "nothing differs between the two versions")
        if not len(self):
            return
        heads = (
            DiffLine(_headed(self.found.older, self.names), "removed", "-"),
            DiffLine(_headed(self.found.newer, self.names), "added", "+"),
        )
        lines = value_diff(self.changes, max_changes=_MAX_CHANGES, max_lines=_MAX_LINES)
        yield Difference((*heads, *lines))
        if len(self) > _MAX_CHANGES:
            yield Say(f"{_MAX_CHANGES} of {len(self):,} places drawn; .to_frame() has them all")


def read_history(
    catalog: "NotebookCatalog", urn: Urn, name: str, aspect: str, count: int
) -> History:
    """Return the newest versions of an aspect and who wrote them; see `EntityPage.history`."""
    # One more tells what the oldest of them changed.
    page = catalog.versions(urn, aspect, count=count + 1)
    found = AspectHistory(aspect).with_page(page)
    steps = found.steps[:count]
    truncated = len(page) > count or page.truncated
    names = read_names(catalog, (step.version.created for step in steps))
    return History(urn, name, aspect, steps, found.total, truncated, names, catalog=catalog)


def read_diff(
    catalog: "NotebookCatalog", urn: Urn, name: str, aspect: str, older: int, newer: int
) -> VersionDiff:
    """Return the difference between two versions; see `EntityPage.diff`."""
    found = catalog.diff(urn, aspect, older, newer)
    return VersionDiff(name, found, read_names(catalog, (found.older.created, found.newer.created)))


def read_names(catalog: "NotebookCatalog", stamps: Iterable["AuditStamp | None"]) -> ActorNames:
    """Return the names of the authors. One request per hundred."""
    return names_of(catalog.summaries(actors_of(stamps)))


def _when(stamp: "AuditStamp | None") -> str:
    return moment(stamp.time, utc=True) if stamp else "not known"


def _headed(version: Version, names: ActorNames) -> str:
    parts = (
        version_label(version.number),
        actor_of(version.created, names),
        _when(version.created),
    )
    return "  ".join(line(one) for one in parts if one)
