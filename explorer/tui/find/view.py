"""Finding: the search box, what completes it, the facets, and the results while typing."""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Input, Static

from explorer.metadata.filters import Criterion, Filter, all_of
from explorer.metadata.urn import Urn
from explorer.tui.actions import bindings
from explorer.tui.find.facets import Facets, named_in
from explorer.tui.find.results import Results
from explorer.tui.rows import Rows
from explorer.tui.session import Session

if TYPE_CHECKING:
    from explorer.client.records import SearchPage

__all__ = ["FindView"]

_TYPING_PAUSE_SECONDS = 0.03
_PAGE = 50
_COMPLETED_TYPES = ("dataset", "dashboard", "chart")
_SUGGESTIONS = 6


class SearchBox(Input):
    """The line in which a search is typed."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("find")

    @dataclass
    class Asked(Message):
        """A key asked for something that the view around the box does."""

        what: str

    def action_complete(self) -> None:
        """Take the first completion."""
        self.post_message(self.Asked("complete"))

    def action_to_results(self) -> None:
        """On to what was found."""
        self.post_message(self.Asked("results"))

    def action_leave(self) -> None:
        """Out of the box."""
        self.post_message(self.Asked("results"))


class FindView(Vertical):
    """Search as you type. The last question wins: an answer to an older one is never shown."""

    DEFAULT_CSS = """
    FindView SearchBox {
        border: round $border-blurred; height: 3; padding: 0 1; background: $background;
    }
    FindView SearchBox:focus { border: round $primary; }
    FindView #completions { height: 1; padding: 0 2; color: $text-muted; }
    FindView #said { height: 1; padding: 0 1; color: $text-muted; }
    FindView Facets { width: 25; }
    FindView Results { width: 1fr; }
    """

    @dataclass
    class Opened(Message):
        """A result was opened."""

        urn: Urn

    def __init__(self, session: Session) -> None:
        super().__init__(id="find")
        self._session = session
        self._text = ""
        self._narrowed: dict[str, list[str]] = {}
        self._completions: tuple[str, ...] = ()

    def compose(self) -> ComposeResult:
        """The box, its completions, and below it facets beside results."""
        box = SearchBox(placeholder="a name, a word, platform:snowflake, tags:PII …")
        box.cursor_blink = False
        yield box
        yield Static("", id="completions", markup=False)
        with Horizontal():
            yield Facets()
            with Vertical(id="found"):
                yield Static("", id="said", markup=False)
                yield Results()

    def start(self, text: str = "") -> None:
        """Ask for `text`; with none for everything. What somebody was quick enough to type into
        the box before stays, and is asked for."""
        box = self.query_one(SearchBox)
        box.value = box.value or text
        self._ask()

    def focus_box(self) -> None:
        """Type into the box, what stands there selected so that typing replaces it."""
        box = self.query_one(SearchBox)
        # At once, not with the next turn: whoever types fast has typed on by then.
        self.screen.set_focus(box)
        box.action_select_all()

    def focus_results(self) -> None:
        """On to the results."""
        self.screen.set_focus(self.query_one(Results))

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        if event.value.strip() != self._text:
            self._ask()

    @on(SearchBox.Asked)
    def _asked(self, event: SearchBox.Asked) -> None:
        event.stop()
        box = self.query_one(SearchBox)
        if event.what == "complete" and self._completions:
            head, _, _ = box.value.rpartition(" ")
            box.value = f"{head} {self._completions[0]}".lstrip()
            box.cursor_position = len(box.value)
        else:
            self.focus_results()

    @on(Facets.Toggled)
    def _toggled(self, event: Facets.Toggled) -> None:
        event.stop()
        values = self._narrowed.setdefault(event.field, [])
        if event.value in values:
            values.remove(event.value)
        else:
            values.append(event.value)
        if not values:
            del self._narrowed[event.field]
        self._ask()

    @on(Results.Asked)
    def _results_asked(self, event: Results.Asked) -> None:
        event.stop()
        facets = self.query_one(Facets)
        match event.what:
            case "facets":
                self.add_class("-facets")
                facets.focus()
            case "clear":
                self._narrowed.clear()
                self._ask()
            case "more":
                self._more()
            case number:
                facets.toggle_numbered(int(number))

    @on(Facets.Left)
    def _facets_left(self, event: Facets.Left) -> None:
        event.stop()
        self.remove_class("-facets")
        self.focus_results()

    @on(Rows.Chosen, "Results")
    def _chosen(self, event: Rows.Chosen) -> None:
        event.stop()
        urn = self.query_one(Results).urn_at(event.index)
        if urn is not None:
            self.post_message(self.Opened(urn))

    def _ask(self) -> None:
        self._text = self.query_one(SearchBox).value.strip()
        self._search(self._text, self._filter())
        self._complete(self._text)

    def _filter(self) -> Filter:
        criteria = [Criterion(field, tuple(values)) for field, values in self._narrowed.items()]
        return all_of(*criteria)

    @work(exclusive=True, group="search")
    async def _search(self, text: str, narrowed_by: Filter) -> None:
        await asyncio.sleep(_TYPING_PAUSE_SECONDS if text else 0)
        with self._session.reporting("searching"):
            catalog = await self._session.catalog()
            page = await catalog.search(text or "*", narrowed_by=narrowed_by, count=_PAGE)
            urns = [*(hit.urn for hit in page), *named_in(page.facets)]
            known = await catalog.summaries(urns)
            self.query_one(Results).show_page(page, known, text)
            self.query_one(Facets).show_facets(page.facets, self._narrowed, known)
            self._say(page)

    @work(exclusive=True, group="search")
    async def _more(self) -> None:
        results = self.query_one(Results)
        with self._session.reporting("reading further results"):
            catalog = await self._session.catalog()
            page = await catalog.search(
                self._text or "*",
                narrowed_by=self._filter(),
                start=len(results.hits),
                count=_PAGE,
            )
            known = await catalog.summaries(hit.urn for hit in page)
            results.add_page(page, known)
            self._say(page)

    @work(exclusive=True, group="complete")
    async def _complete(self, text: str) -> None:
        last = text.rpartition(" ")[2]
        if len(last) < 2 or ":" in last:
            self._show_completions((), "")
            return
        await asyncio.sleep(_TYPING_PAUSE_SECONDS)
        with self._session.reporting("completing"):
            catalog = await self._session.catalog()
            types = self._narrowed.get("_entityType") or _COMPLETED_TYPES
            answers = await asyncio.gather(
                *(
                    catalog.autocomplete(last, entity=one.lower(), limit=_SUGGESTIONS)
                    for one in types
                )
            )
            names = dict.fromkeys(name for answer in answers for name in answer)
            self._show_completions(tuple(names)[:_SUGGESTIONS], last)

    def _show_completions(self, names: tuple[str, ...], typed: str) -> None:
        self._completions = tuple(name for name in names if name.lower() != typed.lower())
        text = Text(no_wrap=True, overflow="ellipsis")
        for at, name in enumerate(self._completions):
            text.append("⇥ " if at == 0 else "   ", "bold")
            text.append(name, "bold" if at == 0 else "")
        self.query_one("#completions", Static).update(text)

    def _say(self, page: "SearchPage") -> None:
        shown = len(self.query_one(Results).hits)
        text = Text()
        if page.total == 0:
            text.append("No results")
            text.append(" with these facets; x takes them off" if self._narrowed else "")
        else:
            thing = "result" if page.total == 1 else "results"
            text.append(f"{page.total:,} {thing}", "bold")
            text.append(f" · 1–{shown:,} shown" if shown < page.total else "")
            text.append(" · best first" if self._text else "")
        chosen = [Urn.label(value) for values in self._narrowed.values() for value in values]
        if chosen:
            text.append(f" · only {', '.join(chosen)}", "bold")
        self.query_one("#said", Static).update(text)
