"""The search view: box, facets and results, searching while one types, and saved searches."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from rich.text import Text
from textual import events, on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static

from explorer.client.display import in_quotes
from explorer.metadata.urn import Urn
from explorer.query import FilterSyntax
from explorer.query.fields import guide_to
from explorer.query.filters import Filter
from explorer.query.search_text import SearchText
from explorer.tui.key_queue import start_worker
from explorer.tui.screens.search.box import (
    MOST_COMPLETIONS,
    DropDown,
    SearchBox,
    SearchCompletion,
    completions_for,
)
from explorer.tui.screens.search.results import (
    PAGE,
    SHORT,
    Facets,
    ResultCount,
    ResultRows,
    count_line,
    fault_line,
    match_explanation,
)
from explorer.tui.session import TerminalSession
from explorer.tui.state import SavedSearch, SearchFile, SearchStore
from explorer.tui.widgets.inputs import LONGEST, pasted_urn
from explorer.tui.widgets.rows import SizeAware
from explorer.views.search import (
    PAGING_LIMIT,
    SORT_ORDERS,
    facet_groups,
    facet_urns,
    sort_label,
)

if TYPE_CHECKING:
    from explorer.client.catalog import AsyncCatalog
    from explorer.client.entity import Entity
    from explorer.client.records import Facet, SearchPage
    from explorer.metadata.registry import Registry
    from explorer.views.table import Table

__all__ = ["SearchView"]


class SearchMemory:
    """The saved and the recent searches of the session's server. Files are read and written in a
    thread."""

    def __init__(
        self, view: Widget, session: TerminalSession, run: Callable[[str, str], None]
    ) -> None:
        self._view = view
        self._run = run
        self._session = session

    async def read(self) -> SearchFile:
        """Return the saved and the recent searches. Raises `Unusable`."""
        searches = await self._searches()
        return await asyncio.to_thread(searches.read)

    def remember(self, text: str) -> None:
        """Add a text to the recent searches."""
        if text:
            self._do("keeping the search", lambda searches: searches.add_recent(text))

    def save(self, text: str, sort: str) -> None:
        """Ask for a name, and save a search under it."""
        from explorer.tui.widgets.dialogs import PromptScreen

        if not text:
            self._session.say("Nothing to save: type a search first.", error=True)
            return

        def keep(name: str | None) -> None:
            if name:
                search = SavedSearch(name, text, sort)
                self._do(
                    "saving the search",
                    lambda searches: searches.save(search),
                    f"Saved as {in_quotes(name, 60)}; S lists saved searches.",
                )

        self._view.app.push_screen(PromptScreen("Save this search as", "a name", text), keep)

    def show(self) -> None:
        """List the saved and the recent searches."""
        start_worker(self._view, self._show, group="keeping")

    async def _searches(self) -> SearchStore:
        catalog = await self._session.catalog()
        return SearchStore.of(self._session.server or catalog.address)

    async def _show(self) -> None:
        from explorer.tui.screens.search.dialogs import SearchesScreen

        with self._session.reporting("reading the searches"):
            kept = await self.read()
            if not (kept.saved or kept.recent):
                self._session.say("No saved searches yet; s in the results saves one.")
                return
            self._view.app.push_screen(SearchesScreen(kept, self._run, self._rename, self._forget))

    def _rename(self, name: str) -> None:
        from explorer.tui.widgets.dialogs import PromptScreen

        def rename(new: str | None) -> None:
            if new and new != name:
                self._do("renaming the search", lambda one: one.rename(name, new), then=self.show)

        self._view.app.push_screen(PromptScreen("Rename", "a name", name), rename)

    def _forget(self, name: str, recent: str) -> None:
        self._do(
            "forgetting the search",
            lambda one: one.forget(name=name, recent=recent),
            then=self.show,
        )

    def _do(
        self,
        doing: str,
        change: Callable[[SearchStore], SearchFile],
        message: str = "",
        then: Callable[[], None] | None = None,
    ) -> None:
        do = partial(self._changed, doing, change, message, then)
        start_worker(self._view, do, group="keeping")

    async def _changed(
        self,
        doing: str,
        change: Callable[[SearchStore], SearchFile],
        message: str,
        then: Callable[[], None] | None,
    ) -> None:
        with self._session.reporting(doing):
            searches = await self._searches()
            await asyncio.to_thread(change, searches)
            if message:
                self._session.say(message)
            if then is not None:
                then()


TYPING_PAUSE_SECONDS = 0.03
# A search that takes longer is shown to be running.
_PATIENCE_SECONDS = 0.2
_WHY_LINES = 8


@dataclass(frozen=True, slots=True)
class _Search:
    """A search as it is sent to the server."""

    question: SearchText
    filter: Filter
    sort: str

    @property
    def words(self) -> str:
        """Return the words, `*` for none."""
        return self.question.words or "*"


@dataclass(frozen=True, slots=True)
class _Answer:
    """The answer to a search, with the entities that it names."""

    search: _Search
    page: "SearchPage"
    entities: "dict[Urn, Entity]"
    adding: "dict[str, Facet]"
    limit: int | None

    @property
    def words(self) -> str:
        """Return the words that were found: those typed, or what they were corrected to."""
        return self.page.corrected or self.search.question.words


async def _adding(
    catalog: "AsyncCatalog", search: _Search, registry: "Registry"
) -> "dict[str, Facet]":
    """Return the facets that have taken values, by field, counted over the results that a further
    value would add. One request for each."""
    fields = tuple(search.question.chosen(registry))

    async def counted(field: str) -> "tuple[Facet, ...]":
        beyond = search.question.beyond(field, registry)
        return await catalog.facets(search.words, filter=beyond, names=(field,))

    found = await asyncio.gather(*(counted(field) for field in fields))
    return {facet.name: facet for facets in found for facet in facets}


class SearchView(Vertical, SizeAware):
    """The search box, facets and results. The search runs as one types, and the last one wins: the
    answer to an older one is not shown."""

    DEFAULT_CSS = """
    SearchView { layers: base above; }
    SearchView SearchBox {
        border: round $border-blurred; height: 3; padding: 0 1; background: $background;
    }
    SearchView SearchBox:focus { border: round $primary; }
    SearchView #said { height: 1; padding: 0 1; color: $text-muted; }
    SearchView Facets { width: 25; }
    SearchView ResultRows { width: 1fr; }
    SearchView #why {
        display: none; height: auto; max-height: 9; padding: 0 1; background: $surface;
        border-top: solid $border-blurred;
    }
    """

    @dataclass
    class ResultOpened(Message):
        """The result that was chosen before the answer came is to be opened, None where there is
        none. `take` returns the keys that were pressed since, which are for its page."""

        urn: Urn | None
        take: Callable[[], list[events.Key]]

    @dataclass
    class Opened(Message):
        """A result was opened."""

        urn: Urn

    def __init__(self, session: TerminalSession, *, is_narrow: bool) -> None:
        super().__init__(id="find")
        self._session = session
        self._registry: Registry | None = None
        self._searched_text: str | None = None
        self._is_pending = True
        self._opens_first = False
        self._is_leading_on = False
        self._ahead: list[events.Key] = []
        self._shown: _Search | None = None
        self._answer: _Answer | None = None
        self._facets: tuple[Facet, ...] = ()
        self._sort = ""
        self._fault: FilterSyntax | None = None
        self._reading: int | None = None
        self._shown_line = Text()
        self._words = ""
        self._corrected: tuple[str, str] | None = None
        self._is_narrow, self._is_at_facets = is_narrow, False
        self._quiet = ""
        self._keeper = SearchMemory(self, session, self.run)

    def compose(self) -> ComposeResult:
        """Yield the box, the line of the results, and facets beside results."""
        yield SearchBox(self)
        yield Static("", id="said", markup=False)
        with Horizontal():
            facets = Facets()
            facets.display = not self._is_narrow
            yield facets
            with Vertical(id="found"):
                yield ResultRows(self)
        yield Static("", id="why", markup=False)
        yield DropDown()

    @property
    def box(self) -> SearchBox:
        """Return the search box."""
        return self.query_one(SearchBox)

    @property
    def results(self) -> ResultRows:
        """Return the list of results."""
        return self.query_one(ResultRows)

    @property
    def text(self) -> str:
        """Return the text of the box."""
        return self.box.value.strip()

    def start(self, text: str = "") -> None:
        """Search for `text`, for everything without one; for the text of the box where something
        was typed already."""
        with self.prevent(Input.Changed):
            self.box.value = self.box.value or text
        self._ask()

    def keeps(self, event: events.Key) -> bool:
        """Return whether a key is kept for the page of the result that opens when the answer comes.
        Escape cancels the opening."""
        if not self._opens_first and not self._is_leading_on:
            return False
        if event.key == "escape" and self._opens_first:
            self._give_up_opening()
        else:
            self._ahead.append(events.Key(event.key, event.character))
        return True

    def _take_ahead(self) -> list[events.Key]:
        """Return the keys that were kept, and keep no more."""
        self._is_leading_on = False
        ahead, self._ahead = self._ahead, []
        return ahead

    def _give_up_opening(self) -> None:
        """Cancel the opening of a result when the answer comes; an opening under way continues."""
        self._opens_first = False
        if not self._is_leading_on:
            self._ahead = []

    def table(self) -> "Table | None":
        """Return the results as a table; None while there is no answer."""
        from explorer.tui.screens.export import ExportedSearch, results_table

        if self._shown is None or self._is_pending:
            return None
        exported = ExportedSearch(self._shown.words, self._shown.filter, self._shown.sort)
        hits = [self.results.hits[at] for at in sorted(self.results.hits)]
        return results_table(
            self._session, exported, hits, self.results.entities, self.results.total
        )

    def _put(self, text: str) -> None:
        """Put a text into the box, and search for it."""
        with self.prevent(Input.Changed):
            self.box.value = text
            self.box.cursor_position = len(text)
        self._fold()
        self._ask()

    def _is_readable(self) -> bool:
        """Return whether the filter can be read, and show what is wrong where it cannot. Until the
        fields of the server are known every filter counts as readable."""
        if self._registry is None:
            return True
        try:
            self._split(self._registry).filter(self._registry)
        except FilterSyntax as fault:
            self._refuse(fault)
            return False
        return True

    def _split(self, registry: "Registry") -> SearchText:
        return SearchText.split(self.text, guide_to(registry))

    def _fold(self) -> None:
        self.workers.cancel_group(self, "offers")
        self.query_one(DropDown).offer(())

    def _ask(self) -> None:
        """Search for the text of the box."""
        self._searched_text = self.text
        self._is_pending, self._answer = True, None
        self._give_up_opening()
        self._search(self._searched_text, self._sort)

    @work(exclusive=True, group="search")
    async def _search(self, text: str, sort: str) -> None:
        await asyncio.sleep(TYPING_PAUSE_SECONDS if text else 0)
        with self._session.reporting("searching", self._show_failure, self._ask):
            catalog = await self._session.catalog()
            registry = self._registry = catalog.registry
            if pasted_urn(text) is not None:
                self._is_pending = False
                self._show_line(Text("⏎ opens it"))
                return
            question = SearchText.split(text, guide_to(registry))
            try:
                search = _Search(question, question.filter(registry), sort)
            except FilterSyntax as fault:
                self._refuse(fault)
                return
            self._clear_fault()
            loop = asyncio.get_running_loop()
            waiting = loop.call_later(_PATIENCE_SECONDS, self._show_waiting)
            try:
                page = await catalog.search(
                    search.words, filter=search.filter, sort=sort, count=PAGE
                )
                adding = await _adding(catalog, search, registry)
                counted = (*page.facets, *adding.values())
                urns = [*(hit.urn for hit in page), *facet_urns(counted, SHORT)]
                known = await catalog.summaries(urns)
                # Only where it matters is the server asked what it can do.
                is_long = page.total > PAGING_LIMIT
                is_endless = is_long and (await catalog.abilities()).deep_pages
            finally:
                waiting.cancel()
            self._answer = _Answer(
                search, page, known, adding, None if is_endless else PAGING_LIMIT
            )
            if page.total or not self._is_typing_condition(question):
                self._show(self._answer)
            else:
                self._is_pending = False
                self._show_line(Text("… No match yet (previous results below)"))

    def _is_typing_condition(self, question: SearchText) -> bool:
        """Return whether a condition is being typed: then an empty answer leaves the results."""
        box = self.box
        is_here = self.screen.focused is box and self._shown is not None
        return is_here and question.run_at(box.cursor_position) is not None

    def _show(self, answer: "_Answer") -> None:
        """Show an answer, and open its first result where one was to be opened."""
        self._answer = None
        search, page, question = answer.search, answer.page, answer.search.question
        again = self._shown is not None and self._shown == search
        self._shown, self._facets, self._reading = search, page.facets, None
        self._words = answer.words
        self._corrected = (question.words, page.corrected) if page.corrected else None
        if not again:
            # Marked results are among those shown.
            self.results.unmark()
        self.results.show_page(
            page,
            answer.entities,
            answer.words,
            limit=answer.limit,
            cursor=self.results.cursor if again else 0,
            empty=f"No results for {in_quotes(question.text, 60)}."
            if question.text
            else "The catalog is empty.",
        )
        if self._registry is not None:
            chosen = question.chosen(self._registry)
            names = {str(urn): entity.name for urn, entity in answer.entities.items()}
            groups = facet_groups(page.facets, names, chosen, answer.adding)
            self.query_one(Facets).show_facets(groups)
        self._is_pending = False
        self._show_count()
        self._explain()
        opens, self._opens_first = self._opens_first, False
        if opens and self.screen.focused is self.results:
            # Until it is open, keys arrive here and are kept after the earlier ones.
            self._is_leading_on = True
            self.post_message(self.ResultOpened(self.choose_result(0), self._take_ahead))
        else:
            self._give_up_opening()

    def need_page(self, start: int) -> None:
        """Read a page of results that has come into view."""
        if self._shown is not None and self._reading != start and not self._is_pending:
            self._reading = start
            self._read_page(self._shown, start)

    @work(exclusive=True, group="page")
    async def _read_page(self, search: _Search, start: int) -> None:
        with self._session.reporting("reading more results"):
            catalog = await self._session.catalog()
            page = await catalog.search(
                search.words,
                filter=search.filter,
                sort=search.sort,
                start=start,
                count=PAGE,
            )
            known = await catalog.summaries(hit.urn for hit in page)
            if search is not self._shown:
                return
            self.results.add_page(page, known)
            self._reading = None
            self._show_count()
            further = self.results.missing()
            if further is not None and further != start:
                self.need_page(further)

    def refresh_results(self) -> None:
        """Read the entities of all known rows again."""
        self.apply_changes({urn for results in self.query(ResultRows) for urn in results.entities})

    def apply_changes(self, urns: Iterable[Urn]) -> None:
        """Read those of the changed entities again that are among the results."""
        # When the app closes, the results may be gone before the last change arrives.
        shown = {urn for results in self.query(ResultRows) for urn in results.entities}
        changed = [urn for urn in urns if urn in shown]
        if changed:
            self._read_changed(changed)

    @work(group="heard")
    async def _read_changed(self, urns: list[Urn]) -> None:
        with self._session.reporting("reading results again"):
            catalog = await self._session.catalog()
            self.results.update_entities(await catalog.summaries(urns))

    def _explain(self) -> None:
        panel = self.query_one("#why", Static)
        if not panel.display or self._shown is None:
            return
        at = self.results.cursor
        hit = self.results.hits.get(at)
        if hit is None:
            panel.update(Text("No result to explain.", "dim italic"))
            return
        has_words = bool(self._shown.question.words)
        lines = match_explanation(
            self.results.row_of(hit),
            self._words,
            rank=at + 1,
            order=sort_label(self._shown.sort, has_words=has_words),
            width=max(self.size.width - 4, 20),
        )
        for one in lines:
            one.truncate(max(self.size.width - 2, 20), overflow="ellipsis")
        panel.update(Text("\n", no_wrap=True).join(lines[: _WHY_LINES + 1]))

    def on_resize(self, event: events.Resize) -> None:
        """Fit the line of the results into the width."""
        del event
        self._show_count()

    def _refuse(self, fault: FilterSyntax) -> None:
        """Show what is wrong with the filter; earlier results stay."""
        self._fault = fault
        self._is_pending, was_wished = False, self._opens_first
        self._give_up_opening()
        self.box.mark(fault)
        self._show_count()
        if was_wished:
            self.screen.set_focus(self.box)

    def _clear_fault(self) -> None:
        self._fault = None
        self.box.mark(None)

    def _show_failure(self, sentence: str) -> bool:
        """Show why a search failed: in place of the results, or above those of an earlier search.
        Return whether the whole sentence is visible."""
        self._is_pending = False
        self._give_up_opening()
        if self._shown is None:
            self._show_line(Text("✗ The search failed", "bold"))
            self.results.show(0, lambda _, __: (), empty=sentence)
        else:
            told = Text.assemble(("✗ ", "bold"), sentence)
            fits = told.cell_len <= self.size.width - 2
            self._show_line(told)
            return self.display and fits
        return self.display

    def _show_waiting(self) -> None:
        self._show_line(Text("searching …"))

    def _show_line(self, text: Text) -> None:
        text.truncate(max(self.size.width - 2, 1), overflow="ellipsis")
        # When the app closes, the line may be gone already.
        if text != self._shown_line and self.children:
            self._shown_line = text
            # Its height stays, so that moving through the rows lays nothing out anew.
            self.query_one("#said", Static).update(text, layout=False)

    def _show_count(self) -> None:
        width = max(self.size.width - 2, 1)
        if self._fault is not None:
            self._show_line(fault_line(self._fault, width))
            return
        if self._shown is None or self._is_pending:
            return
        is_shown = all(one.display for one in (self.results, self.query_one("#found")))
        found = ResultCount(
            self.results.total,
            self.results.in_view if is_shown else None,
            self._shown.sort,
            bool(self._shown.question.words),
            bool(self._shown.question.runs),
            self.results.stopped_at,
            self._corrected,
            len(self.results.marked),
        )
        self._show_line(count_line(found, width))

    @property
    def found(self) -> list[Urn]:
        """Return the results that were read, in order."""
        hits = self.results.hits
        return [hits[at].urn for at in sorted(hits)]

    def show_drafts(self) -> None:
        """Mark the results that have drafts."""
        drafts = frozenset(urn for urn, _ in self._session.drafts)
        if drafts != self.results.drafts:
            self.results.drafts = drafts
            self.results.refresh()

    def narrow(self, is_narrow: bool) -> None:
        """Show facets and results in turns where `is_narrow`, else beside each other."""
        self._is_narrow = is_narrow
        self._take_turns()

    def _take_turns(self, *, at_facets: bool | None = None) -> None:
        if at_facets is not None:
            self._is_at_facets = at_facets
        self.query_one(Facets).display = self._is_at_facets or not self._is_narrow
        self.query_one("#found").display = not (self._is_at_facets and self._is_narrow)
        self._show_count()

    def focus_box(self) -> None:
        """Focus the box with its text selected."""
        self._opens_first = False
        self._take_turns(at_facets=False)
        # At once: the next key may be in the queue already.
        self.screen.set_focus(self.box)
        self.box.action_select_all()

    def focus_results(self) -> None:
        """Focus the results."""
        self._fold()
        self._take_turns(at_facets=False)
        self.screen.set_focus(self.results)

    def run(self, text: str, sort: str = "") -> None:
        """Search for a text in a sort order, and focus the results."""
        self._sort = sort
        self._put(text)
        self.focus_results()

    # The box.

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        if event.value.strip() != self._searched_text:
            self._ask()
        if event.value == self._quiet:
            self._fold()
        else:
            self._suggest(event.value, self.box.cursor_position)

    def enter(self) -> None:
        """Take the chosen completion, open the pasted URN, or search."""
        offer = self.query_one(DropDown).chosen
        urn = offer.urn if offer else pasted_urn(self.text)
        if urn is not None:
            self._fold()
            self.open(urn)
        elif offer is not None:
            self._take(offer)
        elif self._is_readable():
            if self.text != self._searched_text:
                self._ask()
            elif self._answer is not None:
                self._show(self._answer)
            self._keeper.remember(self.text)
            self.focus_results()

    def take(self) -> None:
        """Take the chosen completion, else the first."""
        drop = self.query_one(DropDown)
        offer = drop.chosen or next(iter(drop.offers), None)
        if offer is not None:
            self._take(offer)

    def choose(self, rows: int) -> None:
        """Move in the completions; without any, down to the results or up to recent searches."""
        drop = self.query_one(DropDown)
        if drop.offers:
            drop.move(rows)
        elif rows > 0:
            self.focus_results()
        elif not self.box.value:
            self._suggest_recent()

    def leave_box(self) -> None:
        """Close the completions; without any, focus the results."""
        if self.query_one(DropDown).offers:
            self._fold()
        else:
            self.focus_results()

    def explain_syntax(self) -> None:
        """Show the syntax."""
        from explorer.tui.screens.search.dialogs import SyntaxScreen

        self._fold()
        self.app.push_screen(SyntaxScreen())

    def save_search(self) -> None:
        """Save the search under a name."""
        self._fold()
        self._keeper.save(self.text, self._sort)

    async def searches(self) -> "SearchFile":
        """Return the saved and the recent searches. Raises `Unusable`."""
        return await self._keeper.read()

    def show_searches(self) -> None:
        """List the saved and the recent searches."""
        self._fold()
        self._keeper.show()

    def pasted(self, text: str, *, is_cut: bool, into_empty: bool) -> bool:
        """Open the entity whose URN was pasted; put any other text into the box. Return whether
        that was done here."""
        urn = pasted_urn(text) if into_empty else None
        if urn is not None:
            self._fold()
            self.open(urn)
            return True
        if is_cut:
            self._session.say(f"The search was cut to its first {LONGEST:,} characters.")
        if self.screen.focused is self.box:
            return False
        self.focus_box()
        self._put(" ".join(text.split()))
        return True

    def _take(self, offer: SearchCompletion) -> None:
        if offer.asks:
            self.run(offer.text)
            return
        self._fold()
        self._quiet = offer.text if offer.closes else ""
        self.box.value = offer.text
        self.box.cursor_position = offer.cursor

    # The results.

    def open(self, urn: Urn) -> None:
        """Open an entity."""
        self.post_message(self.Opened(urn))

    def open_result(self, index: int) -> None:
        """Open a result; while a search runs, its first result when the answer comes."""
        if self._is_pending:
            self._opens_first = True
            return
        urn = self.choose_result(index)
        if urn is not None:
            self.open(urn)

    def choose_result(self, index: int) -> Urn | None:
        """Return the result in a row, None where there is none; its search becomes a recent one."""
        urn = self.results.urn_at(index)
        if urn is not None:
            self._keeper.remember(self.text)
        return urn

    def results_key(self, what: str) -> None:
        """Run the action of a key of the results, or follow a move of their cursor."""
        if what == "seen":
            self._show_count()
            return
        self._opens_first = False
        match what:
            case "moved":
                self._explain()
                self._show_count()
            case "facets":
                self._take_turns(at_facets=True)
                self.screen.set_focus(self.query_one(Facets))
            case "plain" if self._registry is not None:
                self._put(self._split(self._registry).words)
            case "condition":
                self._add_condition()
            case "jump":
                self._ask_where()
            case "order":
                self._ask_order()
            case "why":
                why = self.query_one("#why")
                why.display = not why.display
                self._explain()
            case "save":
                self.save_search()
            case "searches":
                self.show_searches()
            case "again":
                self._ask()
            case number if number.isdigit():
                self.query_one(Facets).toggle_numbered(int(number))

    @on(Facets.Toggled)
    def _toggled(self, event: Facets.Toggled) -> None:
        event.stop()
        if self._registry is None:
            return
        try:
            question = self._split(self._registry)
            self._put(question.toggled(event.field, event.value, self._registry))
        except FilterSyntax as fault:
            self._refuse(fault)

    @on(Facets.Left)
    def _facets_left(self, event: Facets.Left) -> None:
        event.stop()
        self.focus_results()

    @on(DropDown.Clicked)
    def _clicked(self, event: DropDown.Clicked) -> None:
        event.stop()
        self._take(event.offer)

    def _add_condition(self) -> None:
        from explorer.tui.screens.search.dialogs import ConditionDialogs

        if self._registry is None:
            return

        def refused(sentence: str) -> None:
            self._session.say(sentence, error=True)

        question = self._split(self._registry)
        if self._is_readable():
            ConditionDialogs(
                self.app, self._registry, question, self._facets, self._put, refused
            ).ask_field()

    def _ask_order(self) -> None:
        from explorer.tui.screens.search.dialogs import ChoiceScreen
        from explorer.tui.widgets.dialogs import ChooserEntry

        def take(sort: str) -> None:
            self._sort = sort
            self._ask()

        choices = [
            ChooserEntry(label, one, do=partial(take, one)) for one, label in SORT_ORDERS.items()
        ]
        orders = list(SORT_ORDERS)
        at = orders.index(self._sort) if self._sort in orders else 0
        self.app.push_screen(ChoiceScreen("Sort by", choices, at=at))

    def _ask_where(self) -> None:
        from explorer.tui.widgets.dialogs import PromptScreen

        def go(answer: str | None) -> None:
            number = (answer or "").lower().replace(",", "").replace(" ", "")
            digits = number.removeprefix("p")
            if not digits.isdecimal() or not digits.isascii() or not int(digits[:9]):
                if answer:
                    self._session.say(
                        "Not a number: type 120 for a result, p3 for a page.", error=True
                    )
                return
            index = int(digits[:9]) - 1
            self.results.jump_to(index * PAGE if number.startswith("p") else index)
            self._show_count()

        total = f"{self.results.count:,}"
        self.app.push_screen(
            PromptScreen("Go to", f"a result, 1 to {total}, or a page, such as p2"), go
        )

    @work(exclusive=True, group="offers")
    async def _suggest(self, text: str, cursor: int) -> None:
        await asyncio.sleep(TYPING_PAUSE_SECONDS)
        with self._session.reporting("completing"):
            catalog = await self._session.catalog()
            question = SearchText.split(text, guide_to(catalog.registry))
            offers = [
                one
                for one in await completions_for(question, cursor, catalog)
                if one.urn or one.text != text
            ]
            if self.screen.focused is self.box and self.box.value == text:
                self.query_one(DropDown).offer(offers)

    @work(exclusive=True, group="offers")
    async def _suggest_recent(self) -> None:
        with self._session.reporting("reading the recent searches"):
            kept = await self._keeper.read()
            offers = [
                SearchCompletion(text, "recent search", text, len(text), asks=True)
                for text in kept.recent[:MOST_COMPLETIONS]
            ]
            if not offers:
                self._session.say("No recent searches.")
            if self.screen.focused is self.box and not self.box.value:
                self.query_one(DropDown).offer(offers)
