"""The history tab: the versions of aspects with their changes, the authors of column descriptions,
and the dialog that restores an old description.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from rich.cells import cell_len
from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical
from textual.message import Message
from textual.widgets import Static

from explorer.client.display import counted
from explorer.client.history import version_of
from explorer.client.records import difference
from explorer.errors import CatalogError, NotFound, ReadOnly
from explorer.metadata.fieldpath import FieldPath
from explorer.sessions.descriptions import DescriptionSession
from explorer.tui.actions import bindings
from explorer.tui.content import Times, join, line_text, padded, preview
from explorer.tui.key_queue import LEADING
from explorer.tui.session import TerminalSession
from explorer.tui.widgets.bars import KeyLine
from explorer.tui.widgets.dialogs import FramedScreen
from explorer.tui.widgets.rows import ActionRequested, ActionRows, DifferenceRows, Rows
from explorer.tui.widgets.tabs import TRIES_AGAIN, View
from explorer.views.absence import LOADING, NOBODY
from explorer.views.diff import Diff, plain_lines, text_diff, value_diff
from explorer.views.history import (
    ActorNames,
    AspectHistory,
    NotRestorable,
    OldDescription,
    VersionStep,
    actor_of,
    actors_of,
    aspects_by_time,
    blame_table,
    column_changes_table,
    history_table,
    old_column_description,
    old_description_of_step,
    run_of,
)

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Column, Entity
    from explorer.client.records import ColumnChange, Version
    from explorer.metadata.aspects import AuditStamp
    from explorer.views.table import Row, Table


class HistoryRows(ActionRows):
    """The list at the left."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("history")


_WHEN = 16
_WHO = 12
_NAME_AT_LEAST = 14
_RUN_FROM = 100


@dataclass(slots=True)
class Track:
    """An aspect in the list, with the versions that were read.

    `is_requested` says whether its versions were requested.
    """

    latest: "Version"
    history: AspectHistory
    is_requested: bool = False
    folded: bool = True

    @property
    def aspect(self) -> str:
        """Return the name of the aspect."""
        return self.history.aspect

    @property
    def newest(self) -> VersionStep | None:
        """Return the newest version that was read."""
        return next(iter(self.history.steps), None)

    @property
    def available_steps(self) -> Sequence[VersionStep]:
        """Return the versions that were read; if none were, the latest version, which came with the
        entity."""
        latest = VersionStep(self.aspect, self.latest, None, "not read")
        return self.history.steps or (latest,)


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """A row of the list: an aspect, one of its versions, or (`more`) the line that reads older
    versions."""

    track: Track
    step: VersionStep | None = None
    more: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        """Return a key that identifies the row, even after the versions are read again."""
        step = self.step
        return self.track.aspect, self.more, step and (step.millis or step.version.number)


@dataclass(frozen=True, slots=True)
class StampText:
    """Formats author and time of a change, with the names and the time zone of the session."""

    times: Times
    names: ActorNames

    def when(self, stamp: "AuditStamp | None") -> str:
        """Return the time of a stamp."""
        return self.times.when(stamp)

    def who(self, stamp: "AuditStamp | None") -> str:
        """Return the name of a stamp's author, not cleaned for the screen."""
        return actor_of(stamp, self.names)

    def both(self, stamp: "AuditStamp | None", width: int) -> Text:
        """Return time and author in columns of a fixed width, which are wider in a wide list."""
        at = self.when(stamp)
        room = _WHO if width < _RUN_FROM else _WHO * 2
        text = padded(Text(at), max(_WHEN, cell_len(at))).append("  ")
        return text.append_text(padded(line_text(self.who(stamp)), room)).append(" ")

    def facts(self, change: "ColumnChange") -> list[Text]:
        """Return the facts of a description: edited or ingested, time, author, and run."""
        return [
            Text("✎ edited" if change.origin == "edited" else "ingested"),
            Text(self.when(change.created)),
            line_text(self.who(change.created)),
            line_text(run_of(change.run_id), "dim"),
        ]


class VersionsList:
    """The list of aspects, the most recently written first, each followed by its versions, newest
    first."""

    def __init__(self, tracks: Sequence[Track], stamps: StampText) -> None:
        self._stamps = stamps
        self.tracks = tracks
        self.empty = "No aspects are stored for this entity, so it has no history."
        self.places: list[HistoryRow] = []
        self.marked: HistoryRow | None = None
        self._name = max((len(track.aspect) for track in tracks), default=0)
        self.lay_out()

    def __len__(self) -> int:
        return len(self.places)

    def lay_out(self) -> None:
        """Build the rows again; a collapsed aspect shows no versions."""
        self.places = []
        for track in self.tracks:
            self.places.append(HistoryRow(track))
            if not track.folded:
                self.places += [HistoryRow(track, step) for step in track.history.steps]
                if track.history.oldest is not None:
                    self.places.append(HistoryRow(track, more=True))

    def title(self) -> Text:
        """Return the title: the numbers of aspects and versions."""
        totals = [track.history.total for track in self.tracks]
        text = Text(counted(len(self.tracks), "aspect"), "bold")
        number = sum(total for total in totals if total is not None)
        if all(total is not None for total in totals):
            return text.append(f" · {counted(number, 'version')}", "dim")
        return text.append(" · versions on request" if number == 0 else "", "dim")

    def is_marked(self, place: HistoryRow) -> bool:
        """Return whether a row is the marked version."""
        mark = self.marked
        return mark is not None and place.step is not None and place.step is mark.step

    def draw(self, index: int, width: int) -> tuple[Text]:
        """Return a row: an aspect with its last author, or a version with a summary of its
        changes."""
        place = self.places[index]
        if place.more:
            history = place.track.history
            total = (history.total or 0) - len(history.steps)
            older = f"{total:,} older" if total > 0 else "older ones"
            return (Text().append(f"     … {older}; ⏎ reads more", "dim italic"),)
        if place.step is None:
            return (self._draw_aspect(place.track, width),)
        version = place.step.version
        row = Text("   ").append("◆ " if self.is_marked(place) else "  ", "bold")
        row.append_text(self._stamps.both(version.created, width))
        if width >= _RUN_FROM:
            row.append_text(padded(line_text(run_of(version.run_id), "dim"), width // 5)).append(
                " "
            )
        return (row.append_text(line_text(place.step.summary)),)

    def _draw_aspect(self, track: Track, width: int) -> Text:
        """Return the row of an aspect."""
        name = max(_NAME_AT_LEAST, min(self._name, width - 34))
        row = Text().append(" ▸ " if track.folded else " ▾ ", "dim")
        row.append_text(padded(line_text(track.aspect, "bold"), name)).append(" ")
        created, total = track.latest.created, track.history.total
        facts = [
            Text("" if total is None else counted(total, "version")),
            Text(self._stamps.when(created)),
            line_text(self._stamps.who(created)),
        ]
        return row.append_text(join([Text(fact.plain, "dim") for fact in facts]))

    def head(self, index: int) -> Text:
        """Return the heading for a row's version: its aspect, number, time, author and run."""
        place = self.places[index]
        step = place.step or place.track.newest
        if place.more or step is None:
            return line_text(place.track.aspect, "bold")
        version = step.version
        facts = [
            line_text(place.track.aspect, "bold"),
            Text(step.label),
            Text(self._stamps.when(version.created)),
            line_text(self._stamps.who(version.created)),
            line_text(run_of(version.run_id), "dim"),
        ]
        return join(facts)

    def head_against(self, marked: VersionStep) -> Text:
        """Return the line that names the marked version, with which another is compared."""
        stamp = marked.version.created
        text = Text(f"\nagainst ◆ {self._stamps.when(stamp)} ", "bold")
        return text.append_text(line_text(self._stamps.who(stamp), "dim"))

    def row_of(self, track: Track) -> int:
        """Return the row of an aspect."""
        return self.index_of(HistoryRow(track))

    def index_of(self, place: HistoryRow) -> int:
        """Return the index of a row in the present list; if it is gone, the index of its aspect,
        else 0."""
        keys = [row.key for row in self.places]
        candidates = (place.key, HistoryRow(place.track).key)
        return next((keys.index(key) for key in candidates if key in keys), 0)


class BlameList:
    """The list of all columns in the order of the schema, with author and time of each
    description."""

    def __init__(
        self, entity: "Entity", blamed: Mapping[str, "ColumnChange"], stamps: StampText
    ) -> None:
        self._stamps = stamps
        self.columns: Sequence[Column] = entity.schema.columns
        self.blamed = blamed
        self.empty = "No columns are known for this entity."
        self._name = max((len(column.path.simple) for column in self.columns), default=0)

    def __len__(self) -> int:
        return len(self.columns)

    def title(self) -> Text:
        """Return the title: how many columns have a description."""
        text = Text("Who described the columns", "bold")
        return text.append(f" · {len(self.blamed):,} of {len(self.columns):,}", "dim")

    def draw(self, index: int, width: int) -> tuple[Text]:
        """Return a row: a column, and time and author of its description."""
        column = self.columns[index]
        name = max(_NAME_AT_LEAST, min(self._name, width - _WHEN - _WHO - 8))
        row = Text(" ").append_text(padded(line_text(column.path.simple), name)).append("  ")
        change = self.blamed.get(column.path.raw)
        if change is None:
            return (row.append(NOBODY, "dim italic"),)
        row.append("✎ " if change.origin == "edited" else "  ", "bold")
        row.append_text(self._stamps.both(change.created, width))
        if width >= _RUN_FROM:
            row.append_text(preview(change.after))
        return (row,)

    def head(self, index: int) -> Text:
        """Return the heading for a row: the column, and author, time and run of its description."""
        column = self.columns[index]
        change = self.blamed.get(column.path.raw)
        facts = self._stamps.facts(change) if change else ()
        return join([line_text(column.path.simple, "bold"), *facts])


class ColumnList:
    """The list of all changes of one column's description, newest first."""

    def __init__(self, path: str, changes: Sequence["ColumnChange"], stamps: StampText) -> None:
        self._stamps = stamps
        self.path = path
        self.changes = changes
        self.empty = "Nobody has described this column."
        self._name = FieldPath(path).simple

    def __len__(self) -> int:
        return len(self.changes)

    def title(self) -> Text:
        """Return the title: the column, and the number of changes."""
        text = line_text(self._name, "bold")
        return text.append(f" · {counted(len(self.changes), 'change')}", "dim")

    def draw(self, index: int, width: int) -> tuple[Text]:
        """Return a row: time and author of a change, and the new text."""
        change = self.changes[index]
        row = Text(" ").append("✎ " if change.origin == "edited" else "  ", "bold")
        row.append_text(self._stamps.both(change.created, width))
        return (row.append_text(preview(change.after, missing="removed")),)

    def head(self, index: int) -> Text:
        """Return the heading for a row: author, time and run of a change."""
        return join([line_text(self._name, "bold"), *self._stamps.facts(self.changes[index])])


HistoryList: TypeAlias = VersionsList | BlameList | ColumnList
"""Any list that the tab can show."""


def tracks_of(entity: "Entity") -> list[Track]:
    """Return the aspects that have a history, the most recently written first."""
    return [
        Track(version_of(aspect), AspectHistory(aspect.name)) for aspect in aspects_by_time(entity)
    ]


async def read_more_versions(
    catalog: "AsyncCatalog", entity: "Entity", track: Track, count: int
) -> None:
    """Read the next `count` versions of an aspect into its track. An aspect that was deleted
    meanwhile has none."""
    try:
        page = await catalog.versions(
            entity.urn, track.aspect, start=track.history.read_count, count=count
        )
        track.history = await asyncio.to_thread(track.history.with_page, page)
    except NotFound:
        pass
    track.is_requested = True


_REASONS: Mapping[NotRestorable, str] = {
    "no description": "This change contains no description.",
    "column by column": "Texts of columns are restored one by one: press b, and ⏎ on a column.",
    "no text": "This change contains no text to restore.",
    "unchanged": "This is already the current description.",
    "no column": "The schema no longer has this column, so its description cannot be restored.",
}


@dataclass(frozen=True, slots=True)
class RestoreOutcome:
    """The result of the dialog; `refused` is the error message if the connection is read-only."""

    restored: bool = False
    refused: str = ""


class RestoreScreen(FramedScreen[RestoreOutcome]):
    """Shows the change that restoring an old description would make, and restores it after
    confirmation. A text that somebody else saved meanwhile is shown first, and overwritten only
    after a second confirmation."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("restore")
    CSS = """
    RestoreScreen > Vertical { width: 100; height: 24; }
    RestoreScreen #what { height: auto; max-height: 4; }
    RestoreScreen DifferenceRows { height: 1fr; }
    """

    def __init__(self, session: TerminalSession, old: OldDescription) -> None:
        super().__init__()
        self._session = session
        self._old = old
        self._description: DescriptionSession | None = None

    def compose(self) -> ComposeResult:
        """Yield the question, the change, and the keys."""
        with Vertical():
            yield Static("", id="what", markup=False)
            yield DifferenceRows(has_list=False)
        yield KeyLine()

    def on_mount(self) -> None:
        """Show the change, and focus it."""
        rows = self.query_one(DifferenceRows)
        self.set_focus(rows)
        self._show("Restore the old description?")

    def action_cancel(self) -> None:
        """Close without a change."""
        self.dismiss(RestoreOutcome())

    @work(exclusive=True, group="restore", name=LEADING)
    async def action_confirm(self) -> None:
        """Restore the description."""
        from explorer.client import TextConflict

        self.say("restoring …")
        with self._session.reporting("restoring the old description"):
            if self._description is None:
                catalog, old = await self._session.catalog(), self._old
                self._description = DescriptionSession(
                    catalog, old.urn, old.path, base=old.current_text
                )
            try:
                await self._description.write(self._old.text)
            except ReadOnly as error:
                self.dismiss(RestoreOutcome(refused=str(error)))
            except TextConflict:
                self._show("Somebody else changed the text meanwhile. Replace it with the old one?")
                self.query_one(KeyLine).hush()
            else:
                self.dismiss(RestoreOutcome(restored=True))

    def _show(self, question: str) -> None:
        """Show the difference between the present and the old description below a question."""
        old = self._old
        stamps = StampText(self._session.times, self._session.names)
        stamp = f"as of {stamps.when(old.stamp)} {stamps.who(old.stamp)}"
        of = join([line_text(old.name), line_text(old.column), line_text(stamp, "dim")])
        text = Text.assemble((question, "bold"), "\n", of)
        if not old.text:
            text.append("\nThere was no description then: the present one is removed.", "italic")
        self.query_one("#what", Static).update(text)
        seen = self._description.state.base if self._description is not None else old.current_text
        lines = text_diff(seen or "", old.text)
        self.query_one(DifferenceRows).show_lines(lines)


def _between(older: VersionStep, newer: VersionStep) -> Diff:
    return value_diff(difference(older.version.value, newer.version.value))


_FIRST = 5
_PAGE = 20
_BESIDE_FROM = 120
_BOTH_FROM = 8


class HistoryTab(Vertical, View):
    """A list of versions, or of columns with the authors of their descriptions; beside it the
    changes of the row under the cursor."""

    # This key also works while the text of a version has the focus.
    BINDINGS: ClassVar[list[BindingType]] = bindings("history", "ask('restore')")
    DEFAULT_CSS = """
    HistoryTab #of { height: 1; padding: 0 1; }
    HistoryTab #both { height: 1fr; layout: horizontal; }
    HistoryTab HistoryRows { width: 1fr; height: 1fr; }
    HistoryTab #changed { width: 1fr; height: 1fr; border-left: solid $border-blurred; }
    HistoryTab #head { height: auto; max-height: 2; padding: 0 1; }
    HistoryTab DifferenceRows { height: 1fr; }
    HistoryTab.-stacked #both { layout: vertical; }
    HistoryTab.-stacked #changed {
        border-left: none; border-top: solid $border-blurred;
    }
    HistoryTab.-one #changed { display: none; }
    HistoryTab.-one.-looking #changed { display: block; border-top: none; }
    HistoryTab.-one.-looking HistoryRows, HistoryTab.-one.-looking #of,
    HistoryTab.-one.-looking #head { display: none; }
    """

    class DescriptionRestored(Message):
        """A description was restored, so the entity has to be read again."""

    def __init__(self, session: TerminalSession) -> None:
        super().__init__()
        self._session, self._stamps = session, StampText(session.times, session.names)
        self._entity: Entity | None = None
        self._versions = VersionsList([], self._stamps)
        self._blame: BlameList | None = None
        self._column: ColumnList | None = None
        self._lines: dict[int, tuple[VersionStep, Diff]] = {}
        self._refused = False

    def compose(self) -> ComposeResult:
        """Yield the title of the list, the list, and the changes."""
        yield Static("", id="of", markup=False)
        with Container(id="both"):
            yield HistoryRows(self._is_available)
            with Vertical(id="changed"):
                yield Static("", id="head", markup=False)
                yield DifferenceRows()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Return whether an action can be done now."""
        return self._is_available(str(parameters[0])) if action == "ask" else True

    def action_ask(self, action: str) -> None:
        """Run an action of the list while the text beside it has the focus."""
        self.post_message(ActionRequested(action))

    def show_entity(self, entity: "Entity", *, keep: bool) -> None:
        """List the aspects of an entity, each with its last author. No request."""
        same = keep and self._entity is not None
        self._entity = entity
        if not same:
            self._blame = self._column = None
            self._versions = VersionsList(tracks_of(entity), self._stamps)
            self._lines.clear()
            self._lay_out(0)

    def show_times(self) -> None:
        """Show all times in the chosen zone."""
        self._rows.refresh()
        self._show_change()

    def table(self) -> "Table | None":
        """Return the list as a table, including versions in collapsed aspects. Versions not read
        yet are read when the rows are."""
        if self._entity is None:
            return None
        name, names = self._entity.name, self._session.names
        match self._open_list:
            case VersionsList(tracks=tracks):
                steps = [step for track in tracks for step in track.available_steps]
                table = history_table(f"{name} versions", steps, names)
                if all(track.is_requested and track.history.oldest is None for track in tracks):
                    return table
                totals = [track.history.total or len(track.available_steps) for track in tracks]
                read_all = partial(self._read_all_rows, self._entity, table.title)
                return replace(table, total=sum(totals), read_all=read_all)
            case BlameList(columns=columns, blamed=blamed):
                return blame_table(f"{name} who described the columns", columns, blamed, names)
            case ColumnList(path=path, changes=changes):
                title = f"{name} {FieldPath(path).simple} descriptions"
                return column_changes_table(title, changes, names)

    async def _read_all_rows(self, entity: "Entity", title: str) -> AsyncIterator["Sequence[Row]"]:
        """Yield the rows of all versions of an entity, a page of one aspect at a time."""
        catalog = await self._session.catalog()
        for track in tracks_of(entity):
            count = 0
            while not track.is_requested or track.history.oldest is not None:
                await read_more_versions(catalog, entity, track, _PAGE)
                await self._read_names([track])
                steps = track.history.steps[count:]
                count += len(steps)
                yield history_table(title, steps, self._session.names).rows

    def focus_content(self) -> None:
        """Focus the list."""
        self._focus_text_or_list(text=False)

    async def read(self, entity: "Entity") -> None:
        """Read the newest versions of all aspects, with one request for each, all at once. If the
        server has no request for versions, those of an aspect are read when it is expanded."""
        catalog = await self._session.catalog()
        tracks = tracks_of(entity)
        folds = {
            track.aspect: track.folded for track in self._versions.tracks if track.is_requested
        }
        if (await catalog.abilities()).versions:
            await asyncio.gather(
                *(read_more_versions(catalog, entity, track, _FIRST) for track in tracks)
            )
        await self._read_names(tracks)
        if entity is not self._entity:
            return
        for track in tracks:
            track.folded = folds.get(track.aspect, track.history.read_count < 2)
        # The new versions are inserted between the rows, so the cursor is put back on its row.
        place = self._place
        self._versions = VersionsList(tracks, self._stamps)
        self._lines.clear()
        if self._open_list is self._blame or self._open_list is self._column:
            await self._read_columns(entity)
        else:
            self._lay_out(0 if place is None else self._versions.index_of(place))

    async def _read_names(self, tracks: Sequence[Track]) -> None:
        """Read the names of the authors of the versions that were read."""
        versions = (step.version for track in tracks for step in track.available_steps)
        await self._session.read_names(actors_of(version.created for version in versions))

    @property
    def _rows(self) -> HistoryRows:
        return self.query_one(HistoryRows)

    @property
    def _open_list(self) -> HistoryList:
        # An empty list is falsy, so `or` would skip it.
        if self._column is not None:
            return self._column
        return self._versions if self._blame is None else self._blame

    @property
    def _place(self) -> HistoryRow | None:
        at, places = self._rows.cursor, self._versions.places
        return places[at] if self._open_list is self._versions and at < len(places) else None

    def _is_available(self, action: str) -> bool:
        """Return whether an action can be done with the open list."""
        listing = self._open_list is self._versions
        match action:
            case "fold" | "mark":
                return listing
            case "back":
                return not listing or self.has_class("-looking")
            case "blame":
                return self._entity is not None and len(self._entity.schema) > 0
            case "restore":
                return self._open_list is not self._blame
            case _:
                return True

    @on(ActionRequested)
    def _handle_action(self, event: ActionRequested) -> None:
        """Run an action that was requested by a key of the list."""
        event.stop()
        place = self._place
        match event.action:
            case "fold" if place is not None:
                self._fold(place.track, folded=not place.track.folded)
            case "into" if place is not None and place.step is None:
                self._fold(place.track, folded=False)
            case "into":
                self._focus_text_or_list(text=True)
            case "out" if place is not None:
                self._fold(place.track, folded=True)
            case "out" | "back":
                self._back()
            case "mark" if place is not None:
                self._mark(place)
            case "blame":
                self._show_columns()
            case "restore":
                self._ask_to_restore()

    @on(Rows.Chosen, "HistoryRows")
    def _choose(self, event: Rows.Chosen) -> None:
        """Expand or collapse the chosen aspect, or open the chosen column or version."""
        event.stop()
        place = self._place
        if place is not None and place.more:
            self._read_older(place.track)
        elif place is not None and place.step is None:
            self._fold(place.track, folded=not place.track.folded)
        elif self._blame is not None and self._column is None:
            self._show_column(self._blame.columns[event.index].path.raw)
        else:
            self._focus_text_or_list(text=True)

    @on(Rows.Moved, "HistoryRows")
    def _handle_move(self, event: Rows.Moved) -> None:
        event.stop()
        self._show_change()

    @on(DifferenceRows.DifferenceClosed)
    def _close_difference(self, event: DifferenceRows.DifferenceClosed) -> None:
        event.stop()
        self._focus_text_or_list(text=False)

    def on_resize(self) -> None:
        """Show list and text side by side; in a narrow tab one above the other; in a small tab only
        one of them."""
        stacked = self.size.width < _BESIDE_FROM
        self.set_class(stacked, "-stacked")
        self.set_class(stacked and self.size.height < _BOTH_FROM, "-one")

    def _focus_text_or_list(self, *, text: bool) -> None:
        self.set_class(text, "-looking")
        self.screen.set_focus(self.query_one(DifferenceRows) if text else self._rows)

    def _fold(self, track: Track, *, folded: bool) -> None:
        """Expand or collapse an aspect; read its versions if needed."""
        track.folded = folded
        if not folded and not track.is_requested:
            self._read_older(track)
        self._versions.lay_out()
        self._lay_out(self._versions.row_of(track))

    def _mark(self, place: HistoryRow) -> None:
        versions = self._versions
        if place.step is None:
            self._session.say("Only a version can be marked; expand the aspect first.")
            return
        versions.marked = None if versions.is_marked(place) else place
        self._rows.refresh()
        self._show_change()

    def _back(self) -> None:
        """Go back from the changes of a column to the list of columns, and from there to the
        versions."""
        entity = self._entity
        if self._column is not None and self._blame is not None:
            path, self._column = self._column.path, None
            columns = [column.path.raw for column in self._blame.columns]
            self._lay_out(columns.index(path) if path in columns else 0)
        elif self._blame is not None and entity is not None:
            self._blame = None
            self._lay_out(0)

    def _show_columns(self) -> None:
        if self._blame is not None:
            self._blame = self._column = None
            self._lay_out(0)
        elif self._entity is not None:
            self._blame = BlameList(self._entity, {}, self._stamps)
            self._lay_out(0, reading=True)
            self._ask_columns(self._entity)

    def _show_column(self, path: str) -> None:
        if self._entity is not None:
            self._column = ColumnList(path, (), self._stamps)
            self._lay_out(0, reading=True)
            self._ask_columns(self._entity)

    @work(exclusive=True, group="history-columns", description="who described the columns")
    async def _ask_columns(self, entity: "Entity") -> None:
        with self._session.reporting(f"reading who described the columns of {entity.urn.name}"):
            try:
                await self._read_columns(entity)
            except CatalogError:
                self._rows.show(0, self._open_list.draw, empty=TRIES_AGAIN)
                raise

    async def _read_columns(self, entity: "Entity") -> None:
        """Read and list the authors of all column descriptions."""
        catalog = await self._session.catalog()
        if self._column is None:
            blamed = await catalog.blame(entity.urn)
            await self._session.read_names(actors_of(change.created for change in blamed.values()))
            if entity is self._entity and self._blame is not None and self._column is None:
                self._blame = BlameList(entity, blamed, self._stamps)
                self._lay_out(self._rows.cursor)
            return
        column = self._column
        changes = await catalog.column_history(entity.urn, column.path)
        await self._session.read_names(actors_of(change.created for change in changes))
        if entity is self._entity and self._column is column:
            self._column = ColumnList(column.path, changes, self._stamps)
            self._lay_out(self._rows.cursor)

    @work(group="history-versions", description="older versions")
    async def _read_older(self, track: Track) -> None:
        """Read and list older versions of an aspect."""
        entity = self._entity
        if entity is None:
            return
        with self._session.reporting(f"reading versions of {track.aspect}"):
            catalog = await self._session.catalog()
            await read_more_versions(catalog, entity, track, _PAGE)
            await self._read_names([track])
            if track in self._versions.tracks and self._open_list is self._versions:
                at, place = self._rows.cursor, self._place
                self._versions.lay_out()
                # On “… older ones” the index stays the same: the next version takes its place.
                if place is not None and not (place.more and place.track is track):
                    at = self._versions.index_of(place)
                self._lay_out(at)

    def _lay_out(self, cursor: int, *, reading: bool = False) -> None:
        """Show the open list with the cursor on a row, and its changes."""
        history = self._open_list
        count = 0 if reading else len(history)
        empty = LOADING.phrase if reading else history.empty
        self._rows.show(count, history.draw, cursor=cursor, empty=empty)
        title = history.title()
        if self._refused or self._session.read_only:
            title.append(" · read-only: nothing can be restored", "italic")
        self.query_one("#of", Static).update(title)
        self.refresh_bindings()
        self._show_change()

    def _show_change(self) -> None:
        """Show the changes of the row under the cursor."""
        self.workers.cancel_group(self, "difference")
        history, at = self._open_list, self._rows.cursor
        if not self._rows.count:
            self._show_lines(Text(), ())
            return
        head = history.head(at)
        if isinstance(history, BlameList):
            change = history.blamed.get(history.columns[at].path.raw)
            text = (change.after if change else None) or ""
            self._show_lines(
                head, plain_lines(text), "No description; ⏎ shows earlier ones, if any."
            )
        elif isinstance(history, ColumnList):
            column_change = history.changes[at]
            self._show_lines(head, text_diff(column_change.before, column_change.after))
        else:
            self._show_version(head, self._versions.places[at])

    def _show_lines(self, head: Text, lines: Diff, empty: str = "") -> None:
        self.query_one("#head", Static).update(head)
        self.query_one(DifferenceRows).show_lines(lines, empty=empty)

    def _show_version(self, head: Text, place: HistoryRow) -> None:
        """Show the changes of a version, or its difference from the marked version."""
        track = place.track
        step = place.step or track.newest
        marked = self._versions.marked
        if place.more or step is None:
            self._show_lines(head, (), "⏎ reads the versions from the server.")
        elif marked is not None and marked.step is not None and marked.track is track:
            if step is not marked.step:
                head.append_text(self._versions.head_against(marked.step))
                self._compare(head, marked.step, step, track)
            else:
                self._show_lines(head, (), "◆ marked: move to another version to compare.")
        else:
            self._show_version_changes(head, step)

    @work(exclusive=True, group="difference", description="two versions")
    async def _compare(
        self, head: Text, marked: VersionStep, step: VersionStep, track: Track
    ) -> None:
        # Versions are listed newest first, so the one with the greater index is older.
        older, newer = sorted((marked, step), key=track.history.steps.index, reverse=True)
        lines = await asyncio.to_thread(_between, older, newer)
        self._show_lines(head, lines, "The two versions are the same.")

    @work(exclusive=True, group="difference", description="a version")
    async def _show_version_changes(self, head: Text, step: VersionStep) -> None:
        cached = self._lines.get(id(step))
        lines = cached[1] if cached else await asyncio.to_thread(step.diff)
        self._lines[id(step)] = step, lines
        self._show_lines(head, lines, f"{step.summary[:1].upper()}{step.summary[1:]}.")

    def _ask_to_restore(self) -> None:
        if self._session.refuses_to_write():
            return
        old = self._old_description()
        if isinstance(old, str):
            self._session.say(_REASONS[old])
        elif old is None:
            self._session.say("Nothing is selected that can be restored.")
        else:
            self.app.push_screen(RestoreScreen(self._session, old), self._note_restore)

    def _note_restore(self, outcome: RestoreOutcome | None) -> None:
        """Show the result of the dialog that restores a description."""
        if outcome is None:
            return
        if outcome.restored:
            sentence = "Restored the old description; the replaced one is in the history."
            self._session.say_saved(sentence, undo="")
            self.post_message(self.DescriptionRestored())
        elif outcome.refused:
            self._refused = True
            self._lay_out(self._rows.cursor)
            self._session.say(outcome.refused, error=True)

    def _old_description(self) -> OldDescription | NotRestorable | None:
        """Return the old description under the cursor, or why it cannot be restored; None if the
        list is empty."""
        entity, column = self._entity, self._column
        if entity is None or not self._rows.count:
            return None
        if column is not None:
            return old_column_description(entity, column.path, column.changes[self._rows.cursor])
        place = self._place
        if place is None:
            return None
        step = place.step or place.track.available_steps[0]
        return old_description_of_step(entity, step)
