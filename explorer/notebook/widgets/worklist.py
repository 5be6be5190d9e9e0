"""The worklist in a notebook: write and save undocumented descriptions, one after the other."""

import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import traitlets

from explorer.client.display import line
from explorer.metadata.urn import Urn
from explorer.notebook.view import table_parts
from explorer.notebook.widgets.base import (
    WORKLIST_MODULE,
    WORKLIST_STYLE,
    EditorWidget,
    ExplorerRequests,
)
from explorer.notebook.widgets.editor import READ_ONLY, Writing
from explorer.stewardship.worklist import WorkQueue, documented_meanwhile
from explorer.views import stewardship as views
from explorer.views.parts import Part, Title

if TYPE_CHECKING:
    from explorer.notebook.catalog import NotebookCatalog
    from explorer.notebook.entity import EntityPage
    from explorer.stewardship.worklist import Item, Key, Worklist

__all__ = ["WorklistWidget"]

_ROWS = 100
_CELL = 300
_NOTHING_LEFT = "Nothing on this list is left to document."
_EMPTY = "Write a text first."


class QueueWriting(Writing):
    """The editor of a worklist."""

    def save_now(self) -> None:
        """Save the open text if there was none before; else show the difference first."""
        draft = self.draft
        if draft is None or draft.stage == "saving":
            return
        if not draft.text.strip():
            self._show("problem", _EMPTY)
        elif draft.base.strip():
            self.compare()
        else:
            self._store(draft.at("saving"))


class WorklistSession:
    """The logic of the worklist: saves descriptions and opens the next. Its methods can be called
    from any thread and do not block."""

    def __init__(
        self,
        catalog: "NotebookCatalog",
        worklist: "Worklist",
        show: Callable[[str, Any], None],
    ) -> None:
        self.lock = threading.RLock()
        self.catalog, self.show = catalog, show
        self.asking = ExplorerRequests(catalog, self.lock, show)
        self.queue = WorkQueue(worklist)
        self.writing = QueueWriting(catalog, self.asking, show, self.left)
        self.key: Key | None = worklist.items[0].key if worklist.items else None
        self._passed: set[Key] = set()
        self._saving: Key | None = None

    def draw(self) -> None:
        """Show the remaining items, and the current one."""
        with self.lock:
            self.show("worklist", self._page_state())

    def look_at(self, key: "Key") -> None:
        """Show an item; text typed for another is kept."""
        with self.lock:
            self.writing.close()
            self.key = key
            self.draw()

    def move(self, by: int) -> None:
        """Show the item some places down or up."""
        with self.lock:
            keys = [item.key for item in self.queue.worklist.items]
            if keys:
                at = keys.index(self.key) + by if self.key in keys else 0
                self.look_at(keys[min(max(at, 0), len(keys) - 1)])

    def write(self) -> None:
        """Open the editor for the shown item with its current text: the requests of an entity."""
        with self.lock:
            key = self.key
            if key is None:
                return
            self.draw()
        urn = Urn.parse(key[0])

        def then(entity: "EntityPage") -> None:
            if self.key == key:
                self.writing.begin(entity, key[1])

        said = f"reading {line(urn.name, 60)} …"
        self.asking.ask("entity", said, lambda catalog: catalog.entity(urn), then)

    def save(self) -> None:
        """Save the open text, then open the next one."""
        self._saving = self.key
        self.writing.save_now()

    def save_compared(self) -> None:
        """Save the text that was compared."""
        self._saving = self.key
        self.writing.save()

    def save_mine(self) -> None:
        """Save the text instead of the one that somebody else saved."""
        self._saving = self.key
        self.writing.take_mine()

    def skip(self) -> None:
        """Go to the next item; the draft is kept."""
        with self.lock:
            if self.key is not None:
                self._passed.add(self.key)
                self.writing.close()
                self._go_on(self.key)

    def look_again(self) -> None:
        """Remove what others documented meanwhile: one request per hundred tables."""
        keys = [item.key for item in self.queue.worklist.items]

        def read(catalog: "NotebookCatalog") -> "list[Key]":
            return catalog.wait(documented_meanwhile(catalog.core, keys))

        def then(gone: "list[Key]") -> None:
            count = self.queue.drop(gone)
            self.show(
                "said",
                f"Documented by others, or no longer in the catalog: {count:,}."
                if count
                else "No changes.",
            )
            self.draw()

        self.asking.ask("tab", "checking for changes by others …", read, then)

    def type(self, typed: Any) -> None:
        """Store the text of a draft from a page."""
        self.writing.type(typed)

    def left(self, *, saved: bool) -> None:
        """Update the page after the editor was closed or its text saved."""
        key = self._saving
        if not saved or key is None:
            self.draw()
            return
        self._saving = None
        self.queue.wrote(key, "saved")
        self._go_on(key)

    def _go_on(self, key: "Key") -> None:
        self.key = self.queue.after(key, self._passed)
        if self.key is None:
            self.show("said", _NOTHING_LEFT)
            self.draw()
        else:
            self.write()

    def _page_state(self) -> dict[str, Any]:
        worklist = self.queue.worklist
        keys = [item.key for item in worklist.items]
        at = keys.index(self.key) if self.key in keys else 0
        start = at - at % _ROWS
        table = views.worklist_page(worklist)
        shown = [n for n, column in enumerate(table.columns) if column.audience != "programs"]
        item = worklist.items[at] if keys else None
        return {
            "progress": self.queue.progress,
            "columns": [table.columns[n].title for n in shown],
            "numbers": [table.columns[n].name in ("weight", "used", "downstream") for n in shown],
            "start": start,
            "listed": len(keys),
            "rows": [
                {
                    "at": n,
                    "draft": keys[n][1] in self.writing.places(keys[n][0]),
                    "cells": [_cell(table.rows[n][column]) for column in shown],
                }
                for n in range(start, min(start + _ROWS, len(keys)))
            ],
            "now": at,
            "title": line(_title(item), _CELL) if item else "",
            "facts": [*views.item_sentences(item, worklist.days)] if item else [],
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
    _session: WorklistSession

    worklist_shown = traitlets.Dict().tag(sync=True)

    def __init__(self, catalog: "NotebookCatalog", worklist: "Worklist") -> None:
        """Start with the most important item; no request is sent before something is written."""
        super().__init__()
        self._session = WorklistSession(catalog, worklist, self._show)
        self.listen()
        self._session.draw()

    @property
    def worklist(self) -> "Worklist":
        """Return the remaining items, in order."""
        return self._session.queue.worklist

    def parts(self, first: str = "") -> Iterator[Part]:
        """Yield what it shows, for front ends without a kernel."""
        yield Title("Worklist", "  ".join(filter(None, (first, self._session.queue.progress))))
        yield from table_parts(views.worklist_page(self.worklist), rest="drawn")

    def _show(self, name: str, value: Any) -> None:
        setattr(self, "worklist_shown" if name == "worklist" else name, value)

    def answer(self, content: Any) -> None:
        """Handle a request of a page."""
        session = self._session
        items = session.queue.worklist.items
        match content:
            case {"kind": "show", "at": int(at)} if 0 <= at < len(items):
                session.look_at(items[at].key)
            case {"kind": "move", "by": int(by)}:
                session.move(by)
            case {"kind": "edit"}:
                session.write()
            case {"kind": "skip"}:
                session.skip()
            case {"kind": "again"}:
                session.look_again()
            case _:
                with session.lock:
                    self._write(session, content)

    def _write(self, session: WorklistSession, content: Any) -> None:
        """Handle a request to the editor."""
        match content:
            case {"kind": "store"}:
                session.save()
            case {"kind": "save"}:
                session.save_compared()
            case {"kind": "mine"}:
                session.save_mine()
            case _:
                session.writing.answer(content)


def _title(item: "Item") -> str:
    return f"{item.table} · {item.column.simple if item.column else views.WHOLE_TABLE}"


def _cell(value: object) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return line(str(value), _CELL) if value is not None else ""
