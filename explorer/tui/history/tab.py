"""How an entity came to say what it says: versions, what each changed, who described what."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.containers import Container, Vertical
from textual.message import Message
from textual.widgets import Static

from explorer.errors import CatalogError
from explorer.tui.entity.tab import View
from explorer.tui.history.differences import (
    DifferenceRows,
    Line,
    lines_between,
    lines_of,
    lines_of_text,
    plain_lines,
)
from explorer.tui.history.lists import BlameList, ColumnList, HistoryList, VersionsList
from explorer.tui.history.restoring import (
    Old,
    Outcome,
    RestoreScreen,
    old_of_change,
    old_of_place,
)
from explorer.tui.history.rows import HistoryRows
from explorer.tui.history.tracks import read_on, tracks_of
from explorer.tui.history.versions import Place, Step, Track
from explorer.tui.rows import Rows
from explorer.tui.session import Session

if TYPE_CHECKING:
    from explorer.client.entity import Entity
    from explorer.views.table import Table

__all__ = ["HistoryTab"]

_FIRST = 5
_PAGE = 20
_BESIDE_FROM = 96
_BOTH_FROM = 8
_FAILED = "It could not be read; r tries again."


class HistoryTab(Vertical, View):
    """A list of versions, or of columns and who described them; beside it what was changed."""

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

    class Restored(Message):
        """A description was put back: the entity is to be read again."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session, self._times = session, session.times
        self._entity: Entity | None = None
        self._versions = VersionsList([], self._times)
        self._blame: BlameList | None = None
        self._column: ColumnList | None = None
        self._lines: dict[int, tuple[Step, list[Line]]] = {}
        self._refused = False

    def compose(self) -> ComposeResult:
        """What the list is of, the list, and what was changed."""
        yield Static("", id="of", markup=False)
        with Container(id="both"):
            yield HistoryRows(self._able)
            with Vertical(id="changed"):
                yield Static("", id="head", markup=False)
                yield DifferenceRows()

    def show_entity(self, entity: "Entity", *, keep: bool) -> None:
        """List its aspects with the latest writing of each: nobody is asked for that."""
        same = keep and self._entity is not None
        self._entity = entity
        if not same:
            self._blame = self._column = None
            self._versions = VersionsList(tracks_of(entity), self._times)
            self._lines.clear()
            self._lay_out(0)

    def show_times(self) -> None:
        """Say every moment in the zone chosen now."""
        self._rows.refresh()
        self._tell()

    def table(self) -> "Table | None":
        """The list, for a file; versions in what is folded with it."""
        from explorer.tui.history.tables import of_history

        return of_history(self._entity.name, self._shown) if self._entity is not None else None

    def focus_content(self) -> None:
        """The keys move in the list."""
        self._look_at(text=False)

    async def read(self, entity: "Entity") -> None:
        """Read the newest versions: one request for each aspect, all at once, where the server
        tells versions at once; elsewhere an aspect's when it is unfolded."""
        catalog = await self._session.catalog()
        tracks = tracks_of(entity)
        folds = {track.aspect: track.folded for track in self._versions.tracks if track.asked}
        if (await catalog.abilities()).versions:
            await asyncio.gather(*(read_on(catalog, entity, track, _FIRST) for track in tracks))
        if entity is not self._entity:
            return
        for track in tracks:
            track.folded = folds.get(track.aspect, track.known < 2)
        self._versions = VersionsList(tracks, self._times)
        self._lines.clear()
        if self._shown is self._blame or self._shown is self._column:
            await self._read_columns(entity)
        else:
            self._lay_out(self._rows.cursor)

    @property
    def _rows(self) -> HistoryRows:
        return self.query_one(HistoryRows)

    @property
    def _shown(self) -> HistoryList:
        # A list may be empty: only one that is not there gives way.
        if self._column is not None:
            return self._column
        return self._versions if self._blame is None else self._blame

    @property
    def _place(self) -> Place | None:
        at, places = self._rows.cursor, self._versions.places
        return places[at] if self._shown is self._versions and at < len(places) else None

    def _able(self, action: str) -> bool:
        listing = self._shown is self._versions
        match action:
            case "fold" | "mark":
                return listing
            case "back":
                return not listing or self.has_class("-looking")
            case "blame":
                return self._entity is not None and len(self._entity.schema) > 0
            case "restore":
                return self._shown is not self._blame
            case _:
                return True

    @on(HistoryRows.Asked)
    def _asked(self, event: HistoryRows.Asked) -> None:
        event.stop()
        place = self._place
        match event.what:
            case "fold" if place is not None:
                self._fold(place.track, folded=not place.track.folded)
            case "into" if place is not None and place.step is None:
                self._fold(place.track, folded=False)
            case "into":
                self._look_at(text=True)
            case "out" if place is not None:
                self._fold(place.track, folded=True)
            case "out" | "back":
                self._back()
            case "mark" if place is not None:
                self._mark(place)
            case "blame":
                self._turn_to_columns()
            case "restore":
                self._ask_to_restore()

    @on(Rows.Chosen, "HistoryRows")
    def _choose(self, event: Rows.Chosen) -> None:
        event.stop()
        place = self._place
        if place is not None and place.more:
            self._read_older(place.track)
        elif place is not None and place.step is None:
            self._fold(place.track, folded=not place.track.folded)
        elif self._blame is not None and self._column is None:
            self._turn_to_column(self._blame.columns[event.index].path.raw)
        else:
            self._look_at(text=True)

    @on(Rows.Moved, "HistoryRows")
    def _moved(self, event: Rows.Moved) -> None:
        event.stop()
        self._tell()

    @on(DifferenceRows.Left)
    def _left(self, event: DifferenceRows.Left) -> None:
        event.stop()
        self._look_at(text=False)

    def on_resize(self) -> None:
        """Side by side where there is room, else one above the other, else one at a time."""
        stacked = self.size.width < _BESIDE_FROM
        self.set_class(stacked, "-stacked")
        self.set_class(stacked and self.size.height < _BOTH_FROM, "-one")

    def _look_at(self, *, text: bool) -> None:
        self.set_class(text, "-looking")
        self.screen.set_focus(self.query_one(DifferenceRows) if text else self._rows)

    def _fold(self, track: Track, *, folded: bool) -> None:
        track.folded = folded
        if not folded and not track.asked:
            self._read_older(track)
        self._versions.lay_out()
        self._lay_out(self._versions.row_of(track))

    def _mark(self, place: Place) -> None:
        versions = self._versions
        if place.step is None:
            self._session.say("Only a version can be marked; expand the aspect first.")
            return
        versions.marked = None if versions.is_marked(place) else place
        self._rows.refresh()
        self._tell()

    def _back(self) -> None:
        entity = self._entity
        if self._column is not None and self._blame is not None:
            path, self._column = self._column.path, None
            columns = [column.path.raw for column in self._blame.columns]
            self._lay_out(columns.index(path) if path in columns else 0)
        elif self._blame is not None and entity is not None:
            self._blame = None
            self._lay_out(0)

    def _turn_to_columns(self) -> None:
        if self._blame is not None:
            self._blame = self._column = None
            self._lay_out(0)
        elif self._entity is not None:
            self._blame = BlameList(self._entity, {}, self._times)
            self._lay_out(0, reading=True)
            self._ask_columns(self._entity)

    def _turn_to_column(self, path: str) -> None:
        if self._entity is not None:
            self._column = ColumnList(path, (), self._times)
            self._lay_out(0, reading=True)
            self._ask_columns(self._entity)

    @work(exclusive=True, group="history-columns", description="who described the columns")
    async def _ask_columns(self, entity: "Entity") -> None:
        with self._session.reporting(f"reading who described the columns of {entity.urn.name}"):
            try:
                await self._read_columns(entity)
            except CatalogError:
                self._rows.show(0, self._shown.draw, empty=_FAILED)
                raise

    async def _read_columns(self, entity: "Entity") -> None:
        catalog = await self._session.catalog()
        at = self._rows.cursor
        if self._column is None:
            blamed = await catalog.blame(entity.urn)
            if entity is self._entity and self._blame is not None and self._column is None:
                self._blame = BlameList(entity, blamed, self._times)
                self._lay_out(at)
            return
        column = self._column
        changes = await catalog.column_history(entity.urn, column.path)
        if entity is self._entity and self._column is column:
            self._column = ColumnList(column.path, changes, self._times)
            self._lay_out(at)

    @work(group="history-versions", description="older versions")
    async def _read_older(self, track: Track) -> None:
        entity = self._entity
        if entity is None:
            return
        with self._session.reporting(f"reading versions of {track.aspect}"):
            catalog = await self._session.catalog()
            at = self._rows.cursor
            await read_on(catalog, entity, track, _PAGE)
            if track in self._versions.tracks and self._shown is self._versions:
                self._versions.lay_out()
                self._lay_out(at)

    def _lay_out(self, cursor: int, *, reading: bool = False) -> None:
        shown = self._shown
        count = 0 if reading else len(shown)
        empty = "reading …" if reading else shown.empty
        self._rows.show(count, shown.draw, cursor=cursor, empty=empty)
        title = shown.title()
        if self._refused or self._session.read_only:
            title.append(" · read-only: nothing can be put back", "italic")
        self.query_one("#of", Static).update(title)
        self.refresh_bindings()
        self._tell()

    def _tell(self) -> None:
        """Show what the row under the cursor is about."""
        self.workers.cancel_group(self, "difference")
        shown, at = self._shown, self._rows.cursor
        if not self._rows.count:
            self._tell_lines(Text(), ())
            return
        head = shown.head(at)
        if isinstance(shown, BlameList):
            change = shown.blamed.get(shown.columns[at].path.raw)
            text = (change.after if change else None) or ""
            self._tell_lines(head, plain_lines(text), "No description; ⏎ shows if it ever had one.")
        elif isinstance(shown, ColumnList):
            one = shown.changes[at]
            self._tell_lines(head, lines_of_text(one.before, one.after))
        else:
            self._tell_version(head, self._versions.places[at])

    def _tell_lines(self, head: Text, lines: Sequence[Line], empty: str = "") -> None:
        self.query_one("#head", Static).update(head)
        self.query_one(DifferenceRows).show_lines(lines, empty=empty)

    def _tell_version(self, head: Text, place: Place) -> None:
        track = place.track
        step = place.step or (track.steps[0] if track.steps else None)
        marked = self._versions.marked
        if place.more or step is None:
            self._tell_lines(head, (), "⏎ asks the server for the versions.")
        elif marked is not None and marked.step is not None and marked.track is track:
            if step is not marked.step:
                head.append_text(self._versions.head_against(marked.step))
                self._compare(head, marked.step, step, track)
            else:
                self._tell_lines(head, (), "◆ marked: move to another version to compare.")
        else:
            self._explain(head, step)

    @work(exclusive=True, group="difference", description="two versions")
    async def _compare(self, head: Text, marked: Step, step: Step, track: Track) -> None:
        # Versions run newest first: the one further down is the older.
        older, newer = sorted((marked, step), key=track.steps.index, reverse=True)
        lines = await asyncio.to_thread(lines_between, older.version.value, newer.version.value)
        self._tell_lines(head, lines, "The two say the same.")

    @work(exclusive=True, group="difference", description="a version")
    async def _explain(self, head: Text, step: Step) -> None:
        kept = self._lines.get(id(step))
        lines = kept[1] if kept else await asyncio.to_thread(lines_of, step.changes)
        self._lines[id(step)] = step, lines
        self._tell_lines(head, lines, f"{step.summary[:1].upper()}{step.summary[1:]}.")

    def _ask_to_restore(self) -> None:
        if self._session.refuses_to_write():
            return
        old = self._old()
        if isinstance(old, str):
            self._session.say(old)
        else:
            self.app.push_screen(RestoreScreen(self._session, old), self._restored)

    def _restored(self, outcome: Outcome | None) -> None:
        if outcome is None:
            return
        if outcome.restored:
            self._session.say("The old description is back; the one before it is in the history.")
            self.post_message(self.Restored())
        elif outcome.refused:
            self._refused = True
            self._lay_out(self._rows.cursor)
            self._session.say(outcome.refused, error=True)

    def _old(self) -> Old | str:
        """The old description under the cursor, or why there is none to put back."""
        entity, column = self._entity, self._column
        if entity is None or not self._rows.count:
            return "Nothing is shown that could be put back."
        if column is not None:
            return old_of_change(entity, column.path, column.changes[self._rows.cursor])
        return old_of_place(entity, self._place)
