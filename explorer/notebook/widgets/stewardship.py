"""The worklist and the review in a notebook.

In the worklist, undocumented descriptions are written and saved one after the other. In the review
of a staged changeset, edits are accepted, changed or refused, and then written; decisions are
stored in the file of the changeset at once.
"""

import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar
from weakref import WeakValueDictionary

import traitlets

from explorer.client.display import line
from explorer.errors import Misuse
from explorer.metadata.urn import Urn
from explorer.notebook.markup import difference_lines
from explorer.notebook.view import table_parts
from explorer.notebook.widgets.base import (
    REVIEW_MODULE,
    REVIEW_STYLE,
    WORKLIST_MODULE,
    WORKLIST_STYLE,
    EditorWidget,
    ExplorerRequests,
    running_cell,
)
from explorer.notebook.widgets.editor import UNDO, DraftEditor, WidgetDraft, Writing
from explorer.sessions.base import Session
from explorer.sessions.editing import READ_ONLY
from explorer.sessions.review import OWN_TEXT, Decision, ReviewSession, ReviewState
from explorer.sessions.worklist import WorklistSession
from explorer.stewardship.drafts import Drafts, StoredDraft
from explorer.stewardship.staging import STATES
from explorer.views import stewardship as views
from explorer.views.journal import catalog_place, saved_sentence
from explorer.views.parts import Difference, Fold, Part, Title
from explorer.views.table import Table, places_for, to_frame

if TYPE_CHECKING:
    import pandas as pd

    from explorer.client import Catalog
    from explorer.client.entity import Entity
    from explorer.notebook.widgets.base import Kind
    from explorer.stewardship.staging import ReviewItem, StagedChangeset
    from explorer.stewardship.staging import ReviewState as ItemState
    from explorer.stewardship.worklist import Item, Key, Worklist
    from explorer.views.table import TableColumn

_SessionT = TypeVar("_SessionT", bound=Session[Any])

_ROWS = 100
_CELL = 300
_PASSED = "All that is left was passed over."


class ListPages(Generic[_SessionT]):
    """The state of a list's session as its pages show it. Its methods can be called from any thread
    and do not block."""

    def __init__(
        self, catalog: "Catalog", session: _SessionT, show: Callable[[str, Any], None]
    ) -> None:
        self.lock = threading.RLock()
        self.catalog, self.session, self.show = catalog, session, show
        self.asking = ExplorerRequests(catalog, self.lock, show)

    def draw(self) -> None:
        """Show everything."""
        raise NotImplementedError

    def _do(
        self,
        step: Callable[[], Coroutine[Any, Any, Any]],
        then: Callable[[Any], None] = lambda _: None,
        kind: "Kind" = "draft",
        activity: str = "",
    ) -> None:
        """Take a step of the session, show its outcome, and then wait for its work in the
        background in a separate request."""

        def settle(catalog: "Catalog") -> None:
            catalog.wait(self.session.settle())

        def finish(outcome: Any) -> None:
            then(outcome)
            self.draw()
            self.asking.ask("sync", "", settle, lambda _: None, in_turn=True)

        self.asking.ask(kind, activity, lambda catalog: catalog.wait(step()), finish, in_turn=True)

    def _page_of(
        self, table: Table, at: int, row_state: Callable[[int], Mapping[str, Any]]
    ) -> dict[str, Any]:
        """Return the page of a table that contains the row `at`, with `row_state` of each row."""
        start = at - at % _ROWS
        visible = places_for("people", table.columns)
        page = range(start, min(start + _ROWS, len(table.rows)))
        return {
            "columns": [_column_state(table.columns[place]) for place in visible],
            "start": start,
            "listed": len(table.rows),
            "rows": [
                {
                    **row_state(row),
                    "cells": [_cell_text(table.rows[row][place]) for place in visible],
                }
                for row in page
            ],
        }


def _column_state(column: "TableColumn") -> dict[str, str]:
    """Return the title and the look of a column. Columns that may wrap hold names (bold) and texts;
    the others, except numbers, are shown as minor."""
    if column.dtype == "int64":
        kind = "number"
    elif column.folds:
        kind = "strong" if column.style == "bold" else "text"
    else:
        kind = "minor"
    return {"title": column.title, "kind": kind}


class WorklistPages(ListPages[WorklistSession]):
    """The pages of a worklist, and the editor of its texts, which goes from one to the next."""

    def __init__(
        self,
        catalog: "Catalog",
        worklist: "Worklist",
        show: Callable[[str, Any], None],
    ) -> None:
        super().__init__(catalog, WorklistSession(catalog.core, worklist=worklist), show)
        self.writing = Writing(catalog, self.asking, show, self.update_page)
        self._passed: set[Key] = set()
        self._saving: Key | None = None
        self.session.subscribe(lambda _: self.draw())

    @property
    def key(self) -> "Key | None":
        """Return the key of the item shown."""
        item = self.session.state.current
        return item.key if item is not None else None

    def draw(self) -> None:
        """Show the remaining items, and the current one."""
        with self.lock:
            self.show("worklist", self._page_state())

    def look_at(self, at: int) -> None:
        """Show the item at a place, or at the nearest; text typed for another is kept."""
        listed = self.session.state.listed
        if listed:
            with self.lock:
                self.writing.close()
            key = listed[min(max(at, 0), len(listed) - 1)].key
            self._do(lambda: _call(lambda: self.session.look_for(key)))

    def move(self, by: int) -> None:
        """Show the item some places down or up."""
        self.look_at(self.session.state.cursor + by)

    def write(self) -> None:
        """Open the editor for the shown item with its current text. Requests are those of reading
        an entity."""
        key = self.key
        if key is None:
            return
        urn = Urn.parse(key[0])

        def then(entity: "Entity") -> None:
            if self.key == key:
                self.writing.begin(entity, key[1])

        activity = f"reading {line(urn.name, 60)} …"
        self.asking.ask("entity", activity, lambda catalog: catalog.entity(urn), then)

    def save(self, step: Callable[[], None]) -> None:
        """Save the open text by a step of the editor, then open the next one."""
        self._saving = self.key
        step()

    def skip(self) -> None:
        """Go to the next item; the draft is kept."""
        key = self.key
        if key is not None:
            self._passed.add(key)
            with self.lock:
                self.writing.close()
            self._go_on(key)

    def look_again(self) -> None:
        """Remove the items that others have documented meanwhile."""

        def then(_: None) -> None:
            message = self.session.state.message
            self.show("said", message.sentence if message is not None else "")

        activity = "checking for changes by others …"
        self._do(self.session.look_again, then, activity=activity)

    def type(self, typed: Any) -> None:
        """Store the text of a draft from a page."""
        self.writing.type(typed)

    def update_page(self, *, saved: bool) -> None:
        """Update the page after the editor was closed or its text saved."""
        key = self._saving
        if not saved or key is None:
            self.draw()
            return
        self._saving = None
        self._go_on(key, text="saved")

    def _go_on(self, key: "Key", text: str = "") -> None:
        """Open the item after the one with a key; `text` is the text just saved for that one, if
        any."""

        def then(following: "Key | None") -> None:
            if following is None:
                is_left = bool(self.session.state.listed)
                self.show("said", _PASSED if is_left else self.session.state.instead)
            else:
                self.write()

        async def go_on() -> "Key | None":
            if text:
                self.session.wrote(key, text)
            following = self.session.after(key, self._passed)
            if following is not None:
                self.session.look_for(following)
            return following

        self._do(go_on, then)

    def _page_state(self) -> dict[str, Any]:
        state = self.session.state
        item = state.current

        def row_state(at: int) -> dict[str, Any]:
            urn, path = state.listed[at].key
            return {"at": at, "draft": path in self.writing.places(urn)}

        return {
            **self._page_of(views.worklist_table(state.worklist), state.cursor, row_state),
            "progress": state.progress,
            "nothing": state.instead,
            "now": state.cursor,
            "title": line(_item_title(item), _CELL) if item else "",
            "facts": [*views.item_sentences(item, state.worklist.days)] if item else [],
            "urn": line(item.urn, _CELL) if item else "",
            "why_not": READ_ONLY if self.catalog.read_only else "",
        }


class WorklistWidget(EditorWidget):
    """A widget to write undocumented descriptions one after the other, by mouse or keys.

        cat.stewardship.worklist(text="orders", top=200).widget()

    `e` opens the editor, ctrl+s saves its text and opens the next; Skip opens the next
    without saving. A text that somebody else wrote meanwhile is shown too, and not overwritten.
    `worklist` has the items that are left. Typed text is shared by all views and stored on disk
    with the terminal's drafts. Without a kernel, the notebook shows the list as it was.
    """

    _esm = WORKLIST_MODULE
    _css = WORKLIST_STYLE
    _session: WorklistPages

    worklist_shown = traitlets.Dict().tag(sync=True)

    def __init__(self, catalog: "Catalog", worklist: "Worklist") -> None:
        """Start with the most important item; no request is sent before something is written."""
        super().__init__()
        self._session = WorklistPages(catalog, worklist, self._show)
        self.listen()
        self._session.draw()
        # Also the drafts of programs that ended.
        self._session.writing.look(self._session.draw)

    @property
    def worklist(self) -> "Worklist":
        """Return the remaining items, in order."""
        return self._session.session.state.worklist

    def parts(self, first: str = "") -> Iterator[Part]:
        """Yield the parts shown by front ends without a kernel."""
        yield Title("Worklist", "  ".join(filter(None, (first, self._session.session.progress))))
        yield from table_parts(views.worklist_table(self.worklist), rest="drawn")

    def _show(self, name: str, value: Any) -> None:
        setattr(self, "worklist_shown" if name == "worklist" else name, value)

    def answer(self, content: Any) -> None:
        """Handle a request of a page."""
        session, writing = self._session, self._session.writing
        match content:
            case {"kind": "show", "at": int(at)}:
                session.look_at(at)
            case {"kind": "move", "by": int(by)}:
                session.move(by)
            case {"kind": "edit"}:
                session.write()
            case {"kind": "skip"}:
                session.skip()
            case {"kind": "again"}:
                session.look_again()
            case {"kind": "store" | "save" | "mine" as kind}:
                steps = {
                    "store": writing.save_now,
                    "save": writing.save,
                    "mine": writing.take_mine,
                }
                with session.lock:
                    session.save(steps[kind])
            case _:
                with session.lock:
                    writing.answer(content)


def _item_title(item: "Item") -> str:
    return f"{item.table} · {item.column.simple if item.column else views.WHOLE_TABLE}"


def _cell_text(value: object) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return line(str(value), _CELL) if value is not None else ""


_NOTE = 600
_MOST_LINES = 2_000
_TOLD_SECONDS = 0.1
_HAND_OVER_SECONDS = 2.0


class ReviewDrafts(DraftEditor):
    """The typed, undecided texts of staged edits."""

    def __init__(self, session: "ReviewPages", asking: "ExplorerRequests[Catalog]") -> None:
        super().__init__(asking, session.show, session.update_page)
        self._session = session

    def look(self) -> None:
        """Read the drafts on disk that no other running program edits, and announce them."""

        def then(drafts: list[StoredDraft]) -> None:
            self._see(drafts)
            self._left(saved=False)

        self._asking.ask("draft", "", lambda _: self._disk().all(), then, in_turn=True)

    def has_draft(self, item: "ReviewItem") -> bool:
        """Return whether there is a typed text for an undecided edit."""
        edit = item.edit
        return edit.what == "description" and edit.column in self.places(edit.urn)

    def begin(self, item: "ReviewItem") -> None:
        """Open the editor for the text of an edit."""
        edit = item.edit
        column = views.edit_column(edit) if edit.column is not None else ""
        sources = " · ".join(views.source_sentence(source, edit) for source in edit.sources)
        fresh = WidgetDraft(
            *(edit.urn, edit.column, edit.name, "", edit.text, edit.text),
            column=column,
            note=line(sources, _NOTE),
        )
        self._open_at((edit.urn, edit.column), fresh)

    def answer(self, content: Any) -> None:
        """Handle a request of a page to the editor; ignore anything else."""
        match content:
            case {"kind": "accept"}:
                self.accept()
            case _:
                super().answer(content)

    def accept(self) -> None:
        """Accept the open text."""
        if self.draft is not None:
            self._session.decide_text(self.draft, "accepted")

    def leave(self) -> None:
        """Close the editor; the typed text stays the text of the edit, undecided."""
        draft = self.draft
        if draft is not None and draft.changed:
            self._session.decide_text(draft, "open")
        else:
            super().leave()

    def give_up(self) -> None:
        """Close the editor, and discard the typed text."""
        if self._open is not None:
            self._forget(self._open)
        super().leave()

    def drop_decided(self, draft: WidgetDraft) -> None:
        """Delete a text that is now in the changeset. One that was changed on another page
        meanwhile stays open."""
        place = (draft.urn, draft.path)
        now = self.drafts.get(place)
        if now is not None and now.text != draft.text:
            self._keep(replace(now, base=draft.text))
            self._put_away(place)
            return
        self._forget(place)
        if self._open == place:
            self.close()

    def _disk(self) -> Drafts:
        return Drafts.of_changeset(self._session.changeset.id)


class ReviewPages(ListPages[ReviewSession]):
    """The pages of a review, and the editor of its texts."""

    def __init__(
        self,
        catalog: "Catalog",
        changeset: "StagedChangeset",
        show: Callable[[str, Any], None],
    ) -> None:
        super().__init__(catalog, ReviewSession(catalog.core, changeset), show)
        self.drafts = ReviewDrafts(self, self.asking)
        self.only: ItemState | Literal[""] = ""
        self._shown = self.session.state
        self._told_at = 0.0
        self.session.subscribe(self._follow)

    @property
    def changeset(self) -> "StagedChangeset":
        """The changeset that is reviewed."""
        return self.session.changeset

    def begin(self) -> None:
        """Open the session, and look for texts that were typed before."""
        self._do(self.session.open, kind="user")
        self.drafts.look()

    def end(self) -> None:
        """End the session; writes under way are finished."""
        self.asking.end()
        with suppress(Misuse):
            self.catalog.begin(_call(self.session.close))

    def items(self) -> "list[ReviewItem]":
        """Return the edits that are listed."""
        return [item for item in self.session.state.items if self.only in ("", item.state)]

    def item(self, number: int) -> "ReviewItem | None":
        """Return the edit with a number."""
        return next((item for item in self.session.state.items if item.number == number), None)

    def draw(self) -> None:
        """Show everything."""
        with self.lock:
            self.show("review", self._page_state())
            self.show("item", self._item_state())

    def look_at(self, number: int) -> None:
        """Show an edit; text typed for another is kept."""
        with self.lock:
            if number != self.session.state.number and self.drafts.draft is not None:
                self.drafts.close()
        if self.item(number) is not None:
            self._do(lambda: _call(lambda: self.session.look_at(number)))

    def move(self, by: int) -> None:
        """Show the edit some places down or up the list."""

        async def move() -> None:
            numbers, now = [item.number for item in self.items()], self.session.state.number
            if numbers:
                at = numbers.index(now) + by if now in numbers else 0
                self.session.look_at(numbers[min(max(at, 0), len(numbers) - 1)])

        with self.lock:
            self.drafts.close()
        self._do(move)

    def narrow(self, only: "ItemState | Literal['']") -> None:
        """List only the edits of a state, or all."""
        with self.lock:
            self.only = only
            listed = [item.number for item in self.items()]
            if self.session.state.number not in listed and listed:
                self.look_at(listed[0])
            self.draw()

    def edit(self, number: int) -> None:
        """Open the editor for an edit's text."""
        item = self.item(number)
        if item is not None and not self.session.why_not("edit", item):
            self.look_at(number)
            with self.lock:
                self.drafts.begin(item)

    def decide(self, number: int, state: Decision) -> None:
        """Record a decision, and go to the next undecided edit."""
        item = self.item(number)
        if item is None or item.state == "applied":
            return
        if state == "accepted" and self.drafts.has_draft(item):
            self.show("said", OWN_TEXT)
            self.edit(number)
            return
        with self.lock:
            self.drafts.close()
        steps = {
            "accepted": self.session.accept,
            "refused": self.session.refuse,
            "open": self.session.reopen,
        }
        self._do(lambda: steps[state](item))

    def decide_text(self, draft: WidgetDraft, state: Literal["open", "accepted"]) -> None:
        """Record a decision on an edit with its typed text."""
        places = {item.edit.place[:2]: item for item in self.session.state.items}
        item = places.get((draft.urn, draft.path))
        if item is not None and item.state != "applied":
            step = self.session.accept if state == "accepted" else self.session.leave
            self._do(lambda: step(item, draft.text), lambda _: self.drafts.drop_decided(draft))

    def accept_all(self, count: int) -> None:
        """Accept all undecided edits if their number is still the one shown to the reader."""
        self._do(lambda: self.session.accept_all(count))

    def apply(self, count: int) -> None:
        """Write the accepted edits if their number is still the one shown to the reader."""
        self._do(lambda: self.session.write(count), kind="save")

    def import_here(self) -> None:
        """Make a changeset of this catalog with the edits of one of another, and review that."""
        with self.lock:
            self.drafts.close()
        self._do(self.session.import_here)

    def read_again(self) -> None:
        """Read the decisions of other programs from the file, and of colleagues from the server."""
        self._do(self.session.sync)

    def type(self, typed: Any) -> None:
        """Store the text of a draft from a page."""
        self.drafts.type(typed)

    def update_page(self, *, saved: bool) -> None:
        """Update the page after the editor was closed, or earlier texts were found."""
        del saved
        self.draw()

    def _follow(self, state: ReviewState) -> None:
        """Show a new state of the session, on the client's thread."""
        before, self._shown = self._shown, state
        message, work = state.message, state.work
        if work is not None and before.work is not None:
            now = monotonic()
            if now - self._told_at > _TOLD_SECONDS or work.done == work.total:
                self._told_at = now
                self.show("progress", {"done": work.done, "total": work.total})
            return
        if work is not before.work:
            self.show("progress", {"done": 0, "total": work.total} if work is not None else {})
        if message is not None and message is not before.message:
            sentence = message.sentence
            if message.is_saved:
                sentence = saved_sentence(sentence, self.catalog.save_warnings, UNDO)
            is_problem = message.is_error and not message.is_saved
            self.show("problem" if is_problem else "said", line(sentence, _CELL))
        if replace(state, message=before.message) != before:
            self.draw()

    def _page_state(self) -> dict[str, Any]:
        state, changeset = self.session.state, self.changeset
        counts = state.counts
        listed = self.items()
        at = next((at for at, item in enumerate(listed) if item.number == state.number), 0)
        cannot_write = self.catalog.read_only or state.foreign

        def row_state(at: int) -> dict[str, Any]:
            item = listed[at]
            draft = self.drafts.has_draft(item)
            return {"number": item.number, "state": item.state, "draft": draft}

        return {
            **self._page_of(views.review_table(listed), at, row_state),
            "title": line(changeset.title, _CELL),
            "shared": self._describe_sync(),
            "foreign": line(state.foreign, _CELL),
            "imports": views.IMPORTS,
            "place": line(catalog_place(self.catalog.address), _CELL),
            "counts": [[name, counts[name]] for name in STATES if counts.get(name)],
            "total": len(state.items),
            "only": self.only,
            "open": counts.get("open", 0),
            "accepted": counts.get("accepted", 0),
            "typed": sum(map(self.drafts.has_draft, state.items)),
            "why_not": state.actions["write"].why_not if cannot_write else "",
            "writing": state.work is not None,
        }

    def _describe_sync(self) -> str:
        state = self.session.state
        if state.unsent:
            return f"{state.unsent:,} not sent yet"
        return "shared" if state.sync != "local" else ""

    def _item_state(self) -> dict[str, Any]:
        state = self.session.state
        item = state.item
        if item is None:
            return {}
        diff = views.review_diff(item)
        more = len(diff) - _MOST_LINES
        lines = difference_lines(diff[:_MOST_LINES])
        edit, is_free = item.edit, item.state != "applied" and state.work is None
        return {
            "number": item.number,
            "state": item.state,
            "title": line(f"{edit.name} · {views.edit_column(edit)}", _CELL),
            "urn": line(edit.urn, _CELL),
            "people": line(views.item_people(item, self.changeset), _CELL),
            "lines": [*lines, f"@… {more:,} more lines"] if more > 0 else lines,
            "draft": self.drafts.has_draft(item),
            "decidable": is_free,
            "editable": is_free and edit.what == "description",
            "decided": is_free and item.state != "open",
        }


async def _call(do: Callable[[], object]) -> None:
    do()


class ReviewWidget(EditorWidget):
    """A widget to decide proposed edits and write the accepted ones, by mouse or keys.

        review = cat.stewardship.review(changeset)
        review

    `a` accepts the edit that is shown, `x` refuses it, `e` changes its text and `u` undoes the
    decision. Decisions are stored in the changeset's file at once; those of a changeset on the
    server are also sent there in the background. ctrl+s writes the accepted edits after
    confirmation. `changeset` is the changeset under review, `df` has a row for each edit with its
    outcome. Typed text is shared by all views and stored on disk. Requests never block the kernel's
    thread; `wait()` waits for them. Without a kernel, the notebook shows the list as it was.
    """

    _esm = REVIEW_MODULE
    _css = REVIEW_STYLE
    _session: ReviewPages

    review = traitlets.Dict().tag(sync=True)
    item = traitlets.Dict().tag(sync=True)
    progress = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        catalog: "Catalog",
        changeset: "StagedChangeset",
        *,
        instead_of: "ReviewWidget | None" = None,
    ) -> None:
        """Start at the first undecided edit. `instead_of` is closed; its typed texts for the same
        changeset are taken over."""
        super().__init__()
        self._session = ReviewPages(catalog, changeset, self._show)
        self.listen()
        if instead_of is not None:
            before = instead_of.hand_over()
            # Text typed there is written to disk before it is read here.
            before.asking.wait(_HAND_OVER_SECONDS)
            with before.lock:
                if before.changeset.id == changeset.id:
                    self._session.drafts.go_on_with(before.drafts.drafts)
        self._session.draw()
        self._session.begin()

    @property
    def changeset(self) -> "StagedChangeset":
        """Return the changeset, with the states as they are in the file."""
        return self._session.changeset

    @property
    def df(self) -> "pd.DataFrame":
        """Return a row for each edit, all of them text: its change, its outcome, and its origin;
        see `explorer.views.stewardship.review_table`. No request."""
        with self._session.lock:
            table = views.review_table(self._session.changeset.items)
        return to_frame(table)

    def read_again(self) -> None:
        """Show decisions made elsewhere: in the next cell, in the terminal, by a colleague."""
        self._session.read_again()

    def import_here(self) -> None:
        """Import the changeset of another catalog, as the button does: make one of this catalog
        with the same edits, and show that; see `Stewardship.import_changeset`."""
        self._session.import_here()

    def close(self) -> None:
        """Close the widget; writes under way are finished."""
        session = getattr(self, "_session", None)
        if session is not None:
            session.end()
        super().close()

    def hand_over(self) -> ReviewPages:
        """Close it, and return its state for its replacement."""
        self.close()
        return self._session

    def parts(self, first: str = "") -> Iterator[Part]:
        """Yield the parts shown by front ends without a kernel."""
        with self._session.lock:
            changeset, state = self._session.changeset, self._session.session.state
        counts = " · ".join(views.review_counts(changeset))
        words = (first, changeset.title, state.foreign, counts)
        yield Title("Review", "  ".join(filter(None, words)))
        yield from table_parts(views.review_table(changeset.items), rest="drawn; .df has them all")
        item = state.item
        if item is not None:
            place = f"{item.edit.name} · {views.edit_column(item.edit)}"
            yield Fold(place, [Difference(views.review_diff(item))])

    def _show(self, name: str, value: Any) -> None:
        setattr(self, name, value)

    def answer(self, content: Any) -> None:
        """Handle a request of a page."""
        session = self._session
        match content:
            case {"kind": "show", "number": int(number)}:
                session.look_at(number)
            case {"kind": "move", "by": int(by)}:
                session.move(by)
            case {"kind": "only", "state": str(state)} if state in ("", *STATES):
                session.narrow(
                    next((known_state for known_state in STATES if known_state == state), "")
                )
            case {"kind": "decide", "number": int(number), "state": "open"}:
                session.decide(number, "open")
            case {"kind": "decide", "number": int(number), "state": "accepted"}:
                session.decide(number, "accepted")
            case {"kind": "decide", "number": int(number), "state": "refused"}:
                session.decide(number, "refused")
            case {"kind": "edit", "number": int(number)}:
                session.edit(number)
            case {"kind": "all", "count": int(count)}:
                session.accept_all(count)
            case {"kind": "apply", "count": int(count)}:
                session.apply(count)
            case {"kind": "again"}:
                session.read_again()
            case {"kind": "import"}:
                session.import_here()
            case _:
                with session.lock:
                    session.drafts.answer(content)


_reviews_by_cell: "WeakValueDictionary[str, ReviewWidget]" = WeakValueDictionary()


def review(catalog: "Catalog", changeset: "StagedChangeset") -> ReviewWidget:
    """Return the review of a changeset. If the front end reports the running cell, the previous
    review of that cell is closed, and its typed texts are taken over."""
    cell = running_cell()
    before = _reviews_by_cell.get(cell) if cell else None
    widget = ReviewWidget(catalog, changeset, instead_of=before)
    if cell:
        _reviews_by_cell[cell] = widget
    return widget
