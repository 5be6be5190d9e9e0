"""The search view: the search box with its completions, the facets and the results, which are
searched while the user types; and saved searches."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rich.highlighter import Highlighter
from rich.style import Style
from rich.text import Text
from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input, Static

from explorer.client.display import in_quotes
from explorer.metadata.urn import Urn
from explorer.query import FilterSyntax
from explorer.sessions.saved_searches import NOTHING_TO_SAVE, SavedSearchSession
from explorer.sessions.search import (
    Query,
    Results,
    SearchCompletion,
    SearchSession,
    SearchState,
)
from explorer.tui.actions import bindings
from explorer.tui.content import line_text, padded
from explorer.tui.key_queue import start_worker
from explorer.tui.screens.search_results import (
    PAGE,
    SHORT,
    Facets,
    ResultRows,
    count_line,
    fault_line,
    match_explanation,
)
from explorer.tui.session import TerminalSession
from explorer.tui.widgets.inputs import LONGEST, TypedLine, pasted_line, pasted_urn
from explorer.tui.widgets.rows import SizeAware
from explorer.views.search import SORT_ORDERS, sort_label

if TYPE_CHECKING:
    from explorer.metadata.registry import Registry
    from explorer.views.table import Table


class DropDown(Widget):
    """The list of completions, an overlay below the box. It never has the focus: the box passes
    keys to it."""

    DEFAULT_CSS = """
    DropDown {
        layer: above; dock: top; margin: 4 0 0 0; display: none; height: auto; background: $panel;
    }
    DropDown > .dropdown--chosen { background: $primary-muted; }
    """
    COMPONENT_CLASSES = {"dropdown--chosen"}  # noqa: RUF012 - as Textual declares it

    class Clicked(Message):
        """A row was clicked."""

        def __init__(self, offer: SearchCompletion) -> None:
            super().__init__()
            self.offer = offer

    def __init__(self) -> None:
        super().__init__()
        self.offers: tuple[SearchCompletion, ...] = ()
        self.at = -1

    @property
    def chosen(self) -> SearchCompletion | None:
        """Return the completion chosen with the arrow keys; None if none was chosen."""
        return self.offers[self.at] if 0 <= self.at < len(self.offers) else None

    def offer(self, offers: Sequence[SearchCompletion]) -> None:
        """Show completions; hide the list if there are none. The chosen completion stays chosen if
        it is still listed."""
        before = self.chosen
        self.offers = tuple(offers)
        self.at = self.offers.index(before) if before in self.offers else -1
        self.display = bool(self.offers)
        self.styles.height = len(self.offers)
        self.refresh()

    def move(self, rows: int) -> None:
        """Move the choice by a number of rows; above the first row, nothing is chosen."""
        self.at = max(-1, min(self.at + rows, len(self.offers) - 1))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Render one completion."""
        width = self.size.width
        if y >= len(self.offers):
            return Strip.blank(width, self.rich_style)
        offer, is_chosen = self.offers[y], y == self.at
        style = self.rich_style
        if is_chosen:
            style += self.get_component_rich_style("dropdown--chosen", partial=True)
        mark = "› " if is_chosen else ("⇥ " if y == 0 and self.at < 0 else "  ")
        detail = line_text(offer.detail, "dim")
        detail.truncate(width // 2, overflow="ellipsis")
        room = max(width - detail.cell_len - 5, 1)
        text = Text.assemble(" ", (mark, "bold"))
        text.append_text(padded(line_text(offer.label, "bold" if is_chosen else ""), room))
        text.append(" ").append_text(detail).append(" ")
        text.truncate(width, pad=True)
        text.end = ""
        strip = Strip(text.render(self.app.console), width)
        return strip.apply_style(Style.chain(style)).adjust_cell_length(width, style)

    def on_click(self, event: "events.Click") -> None:
        """Accept the clicked row."""
        event.stop()
        if event.y < len(self.offers):
            self.post_message(self.Clicked(self.offers[event.y]))


class _Faults(Highlighter):
    """Underlines the invalid part of a filter."""

    def __init__(self) -> None:
        self.fault: FilterSyntax | None = None

    def highlight(self, text: Text) -> None:
        """Underline the invalid part, if it is a fault of this very text."""
        if self.fault is not None and text.plain.startswith(self.fault.text):
            place = self.fault.position
            text.stylize("underline reverse", place, place + self.fault.length)


class SearchBox(TypedLine):
    """The input line for words and conditions."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("find")

    def __init__(self, view: "SearchView") -> None:
        self._faults = _Faults()
        super().__init__(
            placeholder="a name, a word, platform:snowflake, tags:PII …   ? for syntax",
            highlighter=self._faults,
        )
        # Called directly, not by messages, because the next key may be queued already.
        self._view = view

    @property
    def fault(self) -> FilterSyntax | None:
        """Return the syntax error of the text; None if there is none."""
        return self._faults.fault

    def mark(self, fault: FilterSyntax | None) -> None:
        """Set the syntax error to underline; None removes it."""
        if fault is not self._faults.fault:
            self._faults.fault = fault
            self.refresh()

    def action_enter(self) -> None:
        """Search, or open the chosen completion."""
        self._view.enter()

    def action_take(self) -> None:
        """Accept the completion."""
        self._view.take()

    def action_choose(self, rows: int) -> None:
        """Move by a number of rows in the completions; without any, to the results or to the recent
        searches."""
        self._view.choose(rows)

    def action_leave(self) -> None:
        """Leave the box."""
        self._view.leave_box()

    def action_syntax(self) -> None:
        """Show the search syntax."""
        self._view.explain_syntax()

    def action_save(self) -> None:
        """Save the search under a name."""
        self._view.save_search()

    def action_searches(self) -> None:
        """Show the saved and recent searches."""
        self._view.show_searches()

    def on_key(self, event: events.Key) -> None:
        """Show the syntax on a question mark in an empty box."""
        if event.key == "question_mark" and not self.value:
            event.stop()
            event.prevent_default()
            self._view.explain_syntax()

    def _on_paste(self, event: events.Paste) -> None:
        """Insert a pasted text as one line; open a pasted URN."""
        event.stop()
        # Otherwise Textual would also insert the text itself.
        event.prevent_default()
        line, is_cut = pasted_line(event.text)
        is_replaced = not self.value or len(self.selected_text) == len(self.value)
        if line and not self._view.take_paste(line, is_cut=is_cut, into_empty=is_replaced):
            self.replace(line, *self.selection)


class SavedSearches:
    """Keeps and lists the saved and the recent searches."""

    def __init__(self, view: "SearchView", session: TerminalSession) -> None:
        self._view = view
        self._session = session

    async def read(self) -> SavedSearchSession:
        """Read the searches if needed, and return their session."""
        searches = await self._open()
        await searches.read()
        return searches

    def save(self, text: str, sort: str) -> None:
        """Ask for a name, and save a search under it."""
        from explorer.tui.widgets.dialogs import PromptScreen

        if not text:
            self._session.say(NOTHING_TO_SAVE, error=True)
            return

        async def save(name: str) -> None:
            searches = await self._open()
            await searches.save(name, text, sort)
            if searches.state.message is not None:
                self._session.say(f"{searches.state.message.sentence} S lists saved searches.")

        def ask(name: str | None) -> None:
            if name:
                self._do("saving the search", lambda: save(name))

        self._view.app.push_screen(PromptScreen("Save this search as", "a name", text), ask)

    def remember(self, text: str) -> None:
        """Add the text of a search to the recent searches."""

        async def remember() -> None:
            await (await self._open()).remember(text)

        self._do("keeping the search", remember)

    def show(self) -> None:
        """List the saved and the recent searches."""

        async def show() -> None:
            from explorer.tui.screens.search_dialogs import SearchesScreen

            searches = await self.read()
            if searches.state.listed:
                screen = SearchesScreen(self._session, searches, self._view.run)
                self._view.app.push_screen(screen)
            else:
                self._session.say(f"{searches.NONE[:-1]}; s in the results saves one.")

        self._do("reading the searches", show)

    async def _open(self) -> SavedSearchSession:
        return SavedSearchSession(await self._session.catalog(), self._session.server)

    def _do(self, doing: str, do: Callable[[], Awaitable[None]]) -> None:
        async def report() -> None:
            with self._session.reporting(doing):
                await do()

        start_worker(self._view, report, group="keeping")


# A search that takes longer is shown as running.
_PATIENCE_SECONDS = 0.2
_WHY_LINES = 8


class SearchView(Vertical, SizeAware):
    """The search box, facets and results. It searches while the user types; answers to older
    searches are not shown."""

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
        """Asks to open the first result (None if there is none) of a search that ran when enter was
        pressed, at a `column` if a column matched. `take` returns the keys pressed since then,
        which are meant for the page of the result."""

        urn: Urn | None
        column: str | None
        take: Callable[[], list[events.Key]]

    @dataclass
    class HitOpened(Message):
        """Asks to open a result, at a `column` if a column matched."""

        urn: Urn
        column: str | None = None

    def __init__(self, session: TerminalSession, *, is_narrow: bool) -> None:
        super().__init__(id="find")
        self._session = session
        self._search_session: SearchSession | None = None
        self._asked = Query()
        self._is_pending = True
        self._opens_first = False
        self._is_opening_first = False
        self._kept_keys: list[events.Key] = []
        self._sort = ""
        self._lists_columns = False
        self._reading: int | None = None
        self._shown_line = Text()
        self._is_narrow, self._is_at_facets = is_narrow, False
        self._quiet = ""
        self.saved = SavedSearches(self, session)

    def compose(self) -> ComposeResult:
        """Yield the box, the line above the results, facets and results, the explanation, and the
        completions."""
        yield SearchBox(self)
        yield Static("", id="said", markup=False)
        with Horizontal():
            facets = Facets(self)
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

    async def search_session(self) -> SearchSession:
        """Open the catalog if needed, and return the search session."""
        catalog = await self._session.catalog()
        if self._search_session is None:
            self._search_session = SearchSession(catalog, size=PAGE, values=SHORT)
            self._search_session.subscribe(self._mark_fault)
        return self._search_session

    def _mark_fault(self, state: SearchState) -> None:
        # When the app closes, the box may be gone already.
        for box in self.query(SearchBox):
            box.mark(state.fault)

    @property
    def _state(self) -> SearchState:
        return self._search_session.state if self._search_session is not None else SearchState()

    def start(self, text: str = "") -> None:
        """Search for the text of the box if something was typed already, else for `text`; an empty
        text finds everything."""
        with self.prevent(Input.Changed):
            self.box.value = self.box.value or text
        self._search_box_text()

    def keeps(self, event: events.Key) -> bool:
        """Return whether a result is about to open when the answer comes; if so, keep the key for
        its page. Escape cancels the opening instead."""
        if not self._opens_first and not self._is_opening_first:
            return False
        if event.key == "escape" and self._opens_first:
            self._give_up_opening()
        else:
            self._kept_keys.append(events.Key(event.key, event.character))
        return True

    def _take_kept_keys(self) -> list[events.Key]:
        """Return the kept keys, and stop keeping keys."""
        self._is_opening_first = False
        ahead, self._kept_keys = self._kept_keys, []
        return ahead

    def _give_up_opening(self) -> None:
        """Do not open a result when the answer comes. An opening under way continues."""
        self._opens_first = False
        if not self._is_opening_first:
            self._kept_keys = []

    def table(self) -> "Table | None":
        """Return the results as a table; None while a search runs."""
        from explorer.tui.screens.export import results_table

        results = self._state.results
        return (
            None if results is None or self._is_pending else results_table(self._session, results)
        )

    def _search_for(self, text: str) -> None:
        """Put a text into the box, and search for it."""
        with self.prevent(Input.Changed):
            self.box.value = text
            self.box.cursor_position = len(text)
        self._close_completions()
        self._search_box_text()

    def _read_box(self) -> tuple[Query, "Registry"] | None:
        """Return the search in the box and the registry of fields. Return None if the fields are
        not known yet, or if the text is invalid; the error is then shown."""
        if self._search_session is None:
            return None
        query, registry = self._query, self._search_session.catalog.registry
        try:
            query.conditions(registry)
        except FilterSyntax as fault:
            self._show_fault(fault)
            return None
        return query, registry

    def _close_completions(self) -> None:
        """Hide the completions, and cancel their requests."""
        self.workers.cancel_group(self, "offers")
        self.query_one(DropDown).offer(())

    @property
    def _query(self) -> Query:
        """Return the search in the box, with the chosen order."""
        sort = "" if self._lists_columns else self._sort
        return Query(self.text, sort=sort, columns=self._lists_columns)

    def _search_box_text(self) -> None:
        """Search for the text of the box."""
        self._asked = self._query
        self._is_pending = True
        self._give_up_opening()
        self._search(self._asked)

    @work(exclusive=True, group="search")
    async def _search(self, query: Query) -> None:
        """Search, and show the results or the error."""
        with self._session.reporting("searching", self._show_failure, self._search_box_text):
            search = await self.search_session()
            if pasted_urn(query.text) is not None:
                self._is_pending = False
                self._show_line(Text("⏎ opens it"))
                return
            loop = asyncio.get_running_loop()
            waiting = loop.call_later(_PATIENCE_SECONDS, self._show_waiting)
            cursor = self.box.cursor_position if self.screen.focused is self.box else None
            before = search.state
            try:
                await search.search(query, is_typed=bool(query.text), cursor=cursor)
            except FilterSyntax as fault:
                self._show_fault(fault)
                return
            finally:
                waiting.cancel()
            self._show_message(before)
            if search.state.results_held_back is None:
                self._show(before.results)
            else:
                self._is_pending = False
                self._show_line(Text("… No match yet (previous results below)"))

    def _show_message(self, before: SearchState) -> None:
        """Show the message of the search, unless it is the one in `before`."""
        message = self._state.message
        if message is not None and message is not before.message:
            self._session.say(message.sentence, error=message.is_error)

    def _show(self, before: Results | None) -> None:
        """Show the results, and open the first one if enter was pressed while the search ran."""
        results = self._state.results
        if results is None:
            return
        again = before is not None and before.query == results.query
        self._reading = None
        if not again:
            # Only shown results can be marked.
            self.results.unmark()
        text = results.question.text
        self.results.show_results(
            results,
            cursor=self.results.cursor if again else 0,
            empty=f"No results for {in_quotes(text, 60)}." if text else "The catalog is empty.",
        )
        self.query_one(Facets).show_facets(results.groups)
        self._is_pending = False
        self._show_count()
        self._explain_result()
        opens, self._opens_first = self._opens_first, False
        if opens and self.screen.focused is self.results:
            # Until the page is open, further keys arrive here and are kept, too.
            self._is_opening_first = True
            urn, column = self.choose_result(0)
            self.post_message(self.ResultOpened(urn, column, self._take_kept_keys))
        else:
            self._give_up_opening()

    def need_page(self, start: int) -> None:
        """Read the page of results that starts at a row, unless it is being read."""
        if self._state.results is not None and self._reading != start and not self._is_pending:
            self._reading = start
            self._read_page(start)

    @work(exclusive=True, group="page")
    async def _read_page(self, start: int) -> None:
        """Read a page of results, and the next visible page that is missing."""
        with self._session.reporting("reading more results"):
            search = await self.search_session()
            before = search.state
            await search.read_page(start)
            results = search.state.results
            if results is None or before.results is None or results.page is not before.results.page:
                return
            self._show_message(before)
            self.results.update_results(results)
            self._reading = None
            self._show_count()
            further = self.results.missing()
            if further is not None and further != start:
                self.need_page(further)

    def refresh_results(self) -> None:
        """Read the entities of all known rows again."""
        results = self._state.results
        self.apply_changes(results.entities if results is not None else ())

    def apply_changes(self, urns: Iterable[Urn]) -> None:
        """Read changed entities again if they are among the results."""
        results = self._state.results
        changed = [urn for urn in urns if results is not None and urn in results.entities]
        # When the app closes, the results may be gone before the last change arrives.
        if changed and self.query(ResultRows):
            self._read_changed(changed)

    @work(group="heard")
    async def _read_changed(self, urns: list[Urn]) -> None:
        with self._session.reporting("reading results again"):
            search = await self.search_session()
            await search.refresh(urns)
            if search.state.results is not None and not self._is_pending:
                self.results.update_results(search.state.results)

    def _explain_result(self) -> None:
        """Show why the result under the cursor matches, if the explanation is visible."""
        panel, results = self.query_one("#why", Static), self._state.results
        if not panel.display or results is None:
            return
        at = self.results.cursor
        hit = results.hits.get(at)
        if hit is None:
            panel.update(Text("No result to explain.", "dim italic"))
            return
        lines = match_explanation(
            results.row(hit),
            results.words,
            rank=at + 1,
            order=sort_label(results.query.sort, has_words=bool(results.question.words)),
            width=max(self.size.width - 4, 20),
        )
        for line in lines:
            line.truncate(max(self.size.width - 2, 20), overflow="ellipsis")
        panel.update(Text("\n", no_wrap=True).join(lines[: _WHY_LINES + 1]))

    def on_resize(self, event: events.Resize) -> None:
        """Fit the line above the results into the width."""
        del event
        self._show_count()

    def _show_fault(self, fault: FilterSyntax) -> None:
        """Show the syntax error of the search; earlier results stay. If a result was to be opened,
        focus the box instead."""
        self._is_pending, was_wished = False, self._opens_first
        self._give_up_opening()
        self.box.mark(fault)
        self._show_count()
        if was_wished:
            self.screen.set_focus(self.box)

    def _show_failure(self, sentence: str) -> bool:
        """Show why a search failed: in place of the results, or above the results of an earlier
        search. Return whether the whole sentence is visible."""
        self._is_pending = False
        self._give_up_opening()
        if self._state.results is None:
            self._show_line(Text("✗ The search failed", "bold"))
            self.results.show(0, lambda _, __: (), empty=sentence)
        else:
            text = Text.assemble(("✗ ", "bold"), sentence)
            fits = text.cell_len <= self.size.width - 2
            self._show_line(text)
            return self.display and fits
        return self.display

    def _show_waiting(self) -> None:
        self._show_line(Text("searching …"))

    def _show_line(self, text: Text) -> None:
        """Show a text in the line above the results."""
        text.truncate(max(self.size.width - 2, 1), overflow="ellipsis")
        # When the app closes, the line may be gone already.
        if text != self._shown_line and self.children:
            self._shown_line = text
            # Without a new layout, because the height does not change.
            self.query_one("#said", Static).update(text, layout=False)

    def _show_count(self) -> None:
        """Show the error of the box, or the number of results, in the line above the results."""
        width = max(self.size.width - 2, 1)
        if self.box.fault is not None:
            self._show_line(fault_line(self.box.fault, width))
            return
        results = self._state.results
        if results is None or self._is_pending:
            return
        is_shown = all(widget.display for widget in (self.results, self.query_one("#found")))
        row_range = self.results.in_view if is_shown else None
        self._show_line(count_line(results, row_range, len(self.results.marked), width))

    @property
    def found(self) -> list[Urn]:
        """Return the results that were read, in order."""
        return self._state.results.urns if self._state.results is not None else []

    def show_drafts(self) -> None:
        """Mark the results that have drafts."""
        drafts = frozenset(urn for urn, _ in self._session.drafts)
        if drafts != self.results.drafts:
            self.results.drafts = drafts
            self.results.refresh()

    def narrow(self, is_narrow: bool) -> None:
        """Set whether the view is narrow: it then shows either the facets or the results, else
        both."""
        self._is_narrow = is_narrow
        self._show_facets_or_results()

    def _show_facets_or_results(self, *, at_facets: bool | None = None) -> None:
        """Show facets, results or both, as the width allows; `at_facets` chooses the facets."""
        if at_facets is not None:
            self._is_at_facets = at_facets
        self.query_one(Facets).display = self._is_at_facets or not self._is_narrow
        self.query_one("#found").display = not (self._is_at_facets and self._is_narrow)
        self._show_count()

    def focus_box(self) -> None:
        """Focus the box with its text selected."""
        self._opens_first = False
        self._show_facets_or_results(at_facets=False)
        # Focused at once, because the next key may be queued already.
        self.screen.set_focus(self.box)
        self.box.action_select_all()

    def focus_results(self) -> None:
        """Focus the results."""
        self._close_completions()
        self._show_facets_or_results(at_facets=False)
        self.screen.set_focus(self.results)

    def run(self, text: str, sort: str = "") -> None:
        """Search for a text in a sort order, and focus the results."""
        self._sort, self._lists_columns = sort, False
        self._search_for(text)
        self.focus_results()

    # The box.

    @on(Input.Changed)
    def _handle_input(self, event: Input.Changed) -> None:
        event.stop()
        if event.value.strip() != self._asked.text:
            self._search_box_text()
        if event.value == self._quiet:
            self._close_completions()
        else:
            self._suggest(event.value, self.box.cursor_position)

    def enter(self) -> None:
        """Accept the chosen completion, else open a pasted URN, else search."""
        offer = self.query_one(DropDown).chosen
        urn = offer.urn if offer else pasted_urn(self.text)
        if urn is not None:
            self._close_completions()
            self.open(urn)
        elif offer is not None:
            self._accept(offer)
        elif self._search_session is None or self._read_box() is not None:
            if self.text != self._asked.text:
                self._search_box_text()
            elif self._search_session is not None and self._state.results_held_back is not None:
                before = self._state.results
                self._search_session.show_held_back()
                self._show(before)
            self.saved.remember(self.text)
            self.focus_results()

    def take(self) -> None:
        """Accept the chosen completion, else the first one."""
        drop = self.query_one(DropDown)
        offer = drop.chosen or next(iter(drop.offers), None)
        if offer is not None:
            self._accept(offer)

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
            self._close_completions()
        else:
            self.focus_results()

    def explain_syntax(self) -> None:
        """Show the syntax."""
        from explorer.tui.screens.search_dialogs import SyntaxScreen

        self._close_completions()
        self.app.push_screen(SyntaxScreen())

    def save_search(self) -> None:
        """Save the search under a name."""
        self._close_completions()
        self.saved.save(self.text, self._sort)

    def show_searches(self) -> None:
        """List the saved and the recent searches."""
        self._close_completions()
        self.saved.show()

    def take_paste(self, text: str, *, is_cut: bool, into_empty: bool) -> bool:
        """Open the entity of a pasted URN, or search for the text; return whether this was done. If
        the box has the focus, the box itself inserts other texts."""
        urn = pasted_urn(text) if into_empty else None
        if urn is not None:
            self._close_completions()
            self.open(urn)
            return True
        if is_cut:
            self._session.say(f"The search was cut to its first {LONGEST:,} characters.")
        if self.screen.focused is self.box:
            return False
        self.focus_box()
        self._search_for(" ".join(text.split()))
        return True

    def _accept(self, offer: SearchCompletion) -> None:
        """Put a completion into the box, or run its search."""
        if offer.asks:
            self.run(offer.text)
            return
        self._close_completions()
        self._quiet = offer.text if offer.closes else ""
        self.box.value = offer.text
        self.box.cursor_position = offer.cursor

    # The results.

    def open(self, urn: Urn, column: str | None = None) -> None:
        """Open an entity, at a column by its path."""
        self.post_message(self.HitOpened(urn, column))

    def open_result(self, index: int) -> None:
        """Open the result in a row. While a search runs, open its first result when the answer
        comes."""
        if self._is_pending:
            self._opens_first = True
            return
        urn, column = self.choose_result(index)
        if urn is not None:
            self.open(urn, column)

    def choose_result(self, index: int) -> tuple[Urn | None, str | None]:
        """Return the entity of the result in a row (None if there is none) and the column to open
        it at; remember its search as a recent one."""
        row = self.results.row_at(index)
        if row is None:
            return None, None
        self.saved.remember(self.text)
        return row.entity_urn, row.column_to_open(self.results.words)

    def results_key(self, what: str) -> None:
        """Run the action of a key of the results, or follow a move of their cursor."""
        if what == "seen":
            self._show_count()
            return
        self._opens_first = False
        match what:
            case "moved":
                self._explain_result()
                self._show_count()
            case "facets":
                self._show_facets_or_results(at_facets=True)
                self.screen.set_focus(self.query_one(Facets))
            case "plain" if self._search_session is not None:
                registry = self._search_session.catalog.registry
                self._search_for(Query(self.text).split(registry).words)
            case "condition":
                self._add_condition()
            case "jump":
                self._ask_where()
            case "order" if self._lists_columns:
                self._session.say("Columns come best first.")
            case "order":
                self._ask_order()
            case "columns":
                self._lists_columns = not self._lists_columns
                self._search_box_text()
            case "why":
                why = self.query_one("#why")
                why.display = not why.display
                self._explain_result()
            case "save":
                self.save_search()
            case "searches":
                self.show_searches()
            case "again":
                self._search_box_text()
            case number if number.isdigit():
                self.query_one(Facets).toggle_numbered(int(number))

    def toggle_facet(self, field: str, value: str) -> None:
        """Add or remove the condition for a value of a facet, and search."""
        box = self._read_box()
        if box is not None:
            query, registry = box
            self._search_for(query.toggle(field, value, registry).text)

    @on(DropDown.Clicked)
    def _handle_click(self, event: DropDown.Clicked) -> None:
        event.stop()
        self._accept(event.offer)

    def _add_condition(self) -> None:
        """Build a condition in dialogs, and add it to the search."""
        from explorer.tui.screens.search_dialogs import ConditionDialogs

        def say_refusal(sentence: str) -> None:
            self._session.say(sentence, error=True)

        box, results = self._read_box(), self._state.results
        if box is not None:
            query, registry = box
            facets = results.page.facets if results is not None else ()
            ConditionDialogs(
                self.app, registry, query.split(registry), facets, self._search_for, say_refusal
            ).ask_field()

    def _ask_order(self) -> None:
        """Ask for the order of the results, and search."""
        from explorer.tui.screens.search_dialogs import ChoiceScreen
        from explorer.tui.widgets.dialogs import ChooserEntry

        def take(sort: str) -> None:
            self._sort = sort
            self._search_box_text()

        choices = [
            ChooserEntry(label, sort, do=partial(take, sort)) for sort, label in SORT_ORDERS.items()
        ]
        orders = list(SORT_ORDERS)
        at = orders.index(self._sort) if self._sort in orders else 0
        self.app.push_screen(ChoiceScreen("Sort by", choices, at=at))

    def _ask_where(self) -> None:
        """Ask for the number of a result or a page, and go there."""
        from explorer.tui.widgets.dialogs import PromptScreen

        def jump(answer: str | None) -> None:
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
            PromptScreen("Go to", f"a result, 1 to {total}, or a page, such as p2"), jump
        )

    @work(exclusive=True, group="offers")
    async def _suggest(self, text: str, cursor: int) -> None:
        """Show the completions of the text at the cursor."""
        with self._session.reporting("completing"):
            offers = await (await self.search_session()).complete(text, cursor)
            if self.screen.focused is self.box and self.box.value == text:
                self.query_one(DropDown).offer(offers)

    @work(exclusive=True, group="offers")
    async def _suggest_recent(self) -> None:
        """Show the recent searches as completions of an empty box."""
        with self._session.reporting("reading the recent searches"):
            offers = (await self.saved.read()).recent()
            if not offers:
                self._session.say("No recent searches.")
            if self.screen.focused is self.box and not self.box.value:
                self.query_one(DropDown).offer(offers)
