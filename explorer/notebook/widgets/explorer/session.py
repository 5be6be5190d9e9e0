"""What an explorer knows: the search, the folders, the entity that is open, the drafts.

It says what the page is to draw through `show`, by name: `find`, `offers`, `tree`, `entity`,
`tab`, `drawing`, `editor`, `typed`, `preview`, `busy`, `problem`, `said`; `message` is sent to it.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from explorer.client.display import line
from explorer.errors import CatalogError
from explorer.metadata.urn import Urn
from explorer.notebook.widgets.explorer.asking import Asking
from explorer.notebook.widgets.explorer.finding import (
    Answer,
    Search,
    measured,
    offers_of,
    read_answer,
)
from explorer.notebook.widgets.explorer.pages import head_of, read_tab, tabs_of
from explorer.notebook.widgets.explorer.tree import Entry, Portion, Tree, types_of
from explorer.notebook.widgets.explorer.writing import Writing
from explorer.query import FilterSyntax

if TYPE_CHECKING:
    from explorer.client.entity import Entity as Summary
    from explorer.client.records import Hit, Measures
    from explorer.notebook.catalog import Catalog
    from explorer.notebook.entity import Entity
    from explorer.notebook.widgets.explorer.pages import Tab
    from explorer.notebook.widgets.lineage.widget import EmbeddedLineage

__all__ = ["Session"]

_OFFERED = 8


class Session:
    """Hears what the reader wants, asks the catalog, and shows what it says. Called from any
    thread; nothing here waits."""

    def __init__(
        self,
        catalog: "Catalog",
        show: Callable[[str, Any], None],
        opened: Callable[[str], None],
    ) -> None:
        """`opened` is told the URN of whatever the reader opens, "" when it is closed."""
        self.lock = threading.RLock()
        self.catalog, self._show, self._opened = catalog, show, opened
        self.asking = Asking(
            catalog,
            self.lock,
            busy=lambda said: show("busy", said),
            failed=lambda sentence: show("problem", sentence),
        )
        self.search = Search()
        self.answer: Answer | None = None
        self.ticked: dict[str, tuple[Hit, Summary | None]] = {}
        self.urn = ""
        self.entity: Entity | None = None
        self.tab: Tab = "overview"
        self.writing = Writing(catalog, self.asking, show, self._written)
        self.drawing: EmbeddedLineage | None = None
        self._drawn = ""
        self.measures: dict[Urn, Measures] = {}
        self._tree = Tree()
        self._details: dict[str, Mapping[str, Any]] = {}
        self._put = 0

    # Searching.

    def find(self, search: Search, *, put: bool = True, offering: bool = False) -> None:
        """Ask for something else. `put` has the page's boxes say what is asked, `offering` has it
        complete the words as well."""
        with self.lock:
            self.search = search
            self._put += put

        def failed(error: Exception) -> bool:
            if not isinstance(error, FilterSyntax):
                return False
            begun = error.position >= len(error.text.rstrip())
            fault = line(f"{'…' if begun else '✗'} {error}", 300)
            self._show("find", {**self._told(), "fault": fault})
            return True

        self.asking.forget("measures")
        self.asking.ask(
            "search",
            "searching …",
            lambda catalog: read_answer(catalog, search),
            self._found,
            failed=failed,
        )
        if offering:
            self._offer(search.words.strip())

    def tick(self, urn: str, *, on: bool) -> None:
        """Choose a result, or no longer."""
        with self.lock:
            page = self.answer.page if self.answer else None
            hit = next((one for one in page or () if str(one.urn) == urn), None)
            if on and hit is not None and page is not None:
                self.ticked[urn] = (hit, page.summaries.get(hit.urn))
            elif not on:
                self.ticked.pop(urn, None)
            self._show("find", self._told())

    def _found(self, answer: Answer) -> None:
        self.answer = answer
        self._show("find", self._told())

        def take_measures(more: Answer) -> None:
            self.measures.update(more.page.measures)
            if self.answer is answer:
                self.answer = more
                self._show("find", self._told())

        # Results are shown before it is known how large and how much used they are.
        if any(urn.entity_type == "dataset" for urn in answer.page.urns):
            self.asking.ask(
                "measures",
                "",
                lambda catalog: measured(catalog, answer),
                take_measures,
                failed=lambda error: isinstance(error, CatalogError),
            )

    def _told(self) -> dict[str, Any]:
        held = self.answer.told(self.ticked) if self.answer else {}
        search = self.search
        return {
            **held,
            "text": search.words,
            "filter": search.filter,
            "order": search.order,
            "put": self._put,
            "ticked": len(self.ticked),
            "fault": "",
        }

    def _offer(self, words: str) -> None:
        if not words:
            self.asking.forget("offers")
            self._show("offers", {"for": "", "rows": []})
            return
        self.asking.ask(
            "offers",
            "",
            lambda catalog: catalog.suggest(words, limit=_OFFERED),
            lambda found: self._show("offers", {"for": words, "rows": offers_of(found)}),
            # What is found says the same; a completion that fails is none.
            failed=lambda error: isinstance(error, CatalogError),
        )

    # Browsing.

    def plant(self) -> None:
        """Read the topmost of the folders."""

        def then(entries: tuple[Entry, ...]) -> None:
            self._tree.plant(entries)
            self._show("tree", self._tree.told())
            self.unfold(self._tree.first)

        self.asking.ask("tree", "reading what there is …", types_of, then)

    def unfold(self, key: str) -> None:
        """Show what is in a folder."""
        with self.lock:
            self._read_folder(key, self._tree.unfold(key))

    def more(self, key: str) -> None:
        """Read the next page of a folder."""
        with self.lock:
            self._read_folder(key, self._tree.reading(key))

    def fold(self, key: str) -> None:
        """Close a folder."""
        with self.lock:
            self._tree.fold(key)
            self._show("tree", self._tree.told())

    def _read_folder(self, key: str, read: "Callable[[Catalog], Portion] | None") -> None:
        self._show("tree", self._tree.told())
        if read is None:
            return

        def then(portion: Portion) -> None:
            self._tree.take(key, portion)
            self._show("tree", self._tree.told())

        def failed(error: Exception) -> bool:
            if not isinstance(error, CatalogError):
                return False
            self._tree.fail(key, str(error))
            self._show("tree", self._tree.told())
            return True

        said = f"reading the folder {self._tree.name(key)} …"
        self.asking.ask("tree", said, read, then, failed=failed, in_turn=True)

    # The entity that is open.

    def open(self, urn: str, tab: "Tab" = "overview") -> None:
        """Open an entity, at a tab unless it was open already. Raises `InvalidUrn` for a text
        that is none."""
        target = Urn.parse(urn)
        with self.lock:
            again = str(target) == self.urn
            self.urn = str(target)
            self.writing.close()
            if not again:
                self.entity, self.tab, self._details = None, tab, {}
                self._show("entity", {"urn": self.urn, "name": line(target.name), "tabs": []})
                self._show("tab", {"tab": tab, "urn": self.urn, "reading": True})
        if not again:
            self.end_drawing()
        self._opened(self.urn)
        self._read_entity(target)

    def close_entity(self) -> None:
        """Back to the results; drafts stay."""
        with self.lock:
            self.urn, self.entity = "", None
            for kind in ("entity", "tab"):
                self.asking.forget(kind)
            self.writing.close()
            self._show("entity", {})
            self._show("tab", {})
        self.end_drawing()
        self._opened("")

    def turn(self, tab: "Tab", detail: Mapping[str, Any] | None = None) -> None:
        """Look at a tab; `detail` is what is asked within it."""
        with self.lock:
            self.tab = tab
            if detail is not None:
                self._details[tab] = {**self._details.get(tab, {}), **detail}
            if self.entity is not None:
                self._read_tab(self.entity, again=detail is not None)

    def _read_entity(self, urn: Urn) -> None:
        def then(entity: "Entity") -> None:
            known = self.entity is not None
            # The one it was read with goes with its question.
            self.entity = replace(entity, catalog=self.catalog)
            if self.tab not in tabs_of(self.entity):
                self.tab = "overview"
            self._show("entity", self._head())
            self._read_tab(self.entity, again=known)
            self.writing.look(self.urn)

        def failed(error: Exception) -> bool:
            if self.entity is None and isinstance(error, CatalogError):
                said = {"is": "say", "text": line(str(error), 400), "tone": "loud"}
                self._show("tab", {"tab": "overview", "urn": self.urn, "parts": [said]})
            return False

        self.asking.ask(
            "entity",
            f"reading {line(urn.name, 60)} …",
            lambda catalog: catalog.entity(urn),
            then,
            failed=failed,
        )

    def _head(self) -> dict[str, Any]:
        if self.entity is None:
            return {}
        why_not = self.writing.hindrance(self.entity.urn)
        return {**head_of(self.entity, why_not), "drafts": self.writing.places(self.urn)}

    def _read_tab(self, entity: "Entity", *, again: bool = False) -> None:
        tab, detail = self.tab, dict(self._details.get(self.tab, {}))
        if not again:
            self._show("tab", {"tab": tab, "urn": self.urn, "reading": True})
        said = "" if tab in ("overview", "columns") else f"reading the {tab} …"
        self.asking.ask(
            "tab",
            said,
            lambda catalog: read_tab(catalog, replace(entity, catalog=catalog), tab, detail),
            self._show_tab,
            failed=lambda error: self._tab_failed(tab, error),
        )

    def _show_tab(self, told: dict[str, Any]) -> None:
        graph = told.pop("graph", None)
        if graph is not None and (self.drawing is None or self._drawn != told["urn"]):
            from explorer.notebook.widgets.lineage.widget import EmbeddedLineage

            self.end_drawing()
            self._drawn = told["urn"]
            self.drawing = EmbeddedLineage(
                self.catalog,
                told["urn"],
                graph=graph,
                changed=lambda shown: self._show("drawing", shown),
                message=lambda told: self._show("message", {"kind": "drawing", "told": told}),
            )
        self._show("tab", told)

    def hear_drawing(self, told: Any) -> None:
        """What the page says of the drawing of the lineage."""
        match told:
            case {"kind": "open", "urn": str(urn)}:
                self.open(urn)
            case _ if self.drawing is not None:
                self.drawing.hear(told)

    def end_drawing(self) -> None:
        """Hang up what the drawing reads, and forget it."""
        with self.lock:
            drawing, self.drawing = self.drawing, None
        if drawing is not None:
            drawing.close()
            self._show("drawing", {})

    def _tab_failed(self, tab: "Tab", error: Exception) -> bool:
        said = {"is": "say", "text": f"the {tab} could not be read: {line(str(error), 300)}"}
        self._show("tab", {"tab": tab, "urn": self.urn, "parts": [{**said, "tone": "loud"}]})
        return isinstance(error, CatalogError)

    # Writing.

    def write(self, path: str | None) -> None:
        """Write a description: a column's, or with no path the entity's own."""
        with self.lock:
            if self.entity is not None:
                self.writing.begin(self.entity, path)

    def _written(self, *, saved: bool) -> None:
        """A draft was saved, or left, or given up."""
        with self.lock:
            if self.entity is None:
                return
            if saved:
                self._read_entity(self.entity.urn)
            else:
                self._show("entity", self._head())
