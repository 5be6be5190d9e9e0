"""Finding: the search box, what completes it, the facets, and the results while typing."""

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from textual import on, work
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Input, Static

from explorer.metadata.urn import Urn
from explorer.query import FilterSyntax
from explorer.query.fields import guide_to
from explorer.tui.find.box import SearchBox
from explorer.tui.find.facets import Facets
from explorer.tui.find.keeping import Keeper
from explorer.tui.find.offers import MOST, DropDown, Offer, offers_for
from explorer.tui.find.pasted import LONGEST, urn_in
from explorer.tui.find.question import Question
from explorer.tui.find.results import PAGE, Results
from explorer.tui.find.searching import TYPING_PAUSE_SECONDS, Searching
from explorer.tui.find.told import ORDERS
from explorer.tui.session import Session

if TYPE_CHECKING:
    from explorer.tui.find.searches import Kept

__all__ = ["FindView"]


class FindView(Searching):
    """Search as you type, by keys alone."""

    DEFAULT_CSS = """
    FindView { layers: base above; }
    FindView SearchBox {
        border: round $border-blurred; height: 3; padding: 0 1; background: $background;
    }
    FindView SearchBox:focus { border: round $primary; }
    FindView #said { height: 1; padding: 0 1; color: $text-muted; }
    FindView Facets { width: 25; }
    FindView Results { width: 1fr; }
    FindView #why {
        display: none; height: auto; max-height: 9; padding: 0 1; background: $surface;
        border-top: solid $border-blurred;
    }
    """

    @dataclass
    class Opened(Message):
        """A result was opened."""

        urn: Urn

    def __init__(self, session: Session, *, is_narrow: bool) -> None:
        super().__init__(session)
        self._is_narrow, self._is_at_facets = is_narrow, False
        self._quiet = ""
        self._keeper = Keeper(self, session, self.run)

    def compose(self) -> ComposeResult:
        """The box, what is told of the results, and below it facets beside results."""
        yield SearchBox(self)
        yield Static("", id="said", markup=False)
        with Horizontal():
            facets = Facets()
            facets.display = not self._is_narrow
            yield facets
            with Vertical(id="found"):
                yield Results(self)
        yield Static("", id="why", markup=False)
        yield DropDown()

    @property
    def found(self) -> list[Urn]:
        """What was found, as far as it was read, in its order."""
        hits = self.results.hits
        return [hits[at].urn for at in sorted(hits)]

    def show_drafts(self) -> None:
        """Mark the results of which there are drafts."""
        drafts = frozenset(urn for urn, _ in self._session.drafts)
        if drafts != self.results.drafts:
            self.results.drafts = drafts
            self.results.refresh()

    def narrow(self, is_narrow: bool) -> None:
        """Where there is little room, facets and results take turns."""
        self._is_narrow = is_narrow
        self._take_turns()

    def _take_turns(self, *, at_facets: bool | None = None) -> None:
        if at_facets is not None:
            self._is_at_facets = at_facets
        self.query_one(Facets).display = self._is_at_facets or not self._is_narrow
        self.query_one("#found").display = not (self._is_at_facets and self._is_narrow)
        self._tell()

    def focus_box(self) -> None:
        """Type into the box, what stands there selected so that typing replaces it."""
        self._opens_first = False
        self._take_turns(at_facets=False)
        # At once, not with the next turn: whoever types fast has typed on by then.
        self.screen.set_focus(self.box)
        self.box.action_select_all()

    def focus_results(self) -> None:
        """On to the results."""
        self._fold()
        self._take_turns(at_facets=False)
        self.screen.set_focus(self.results)

    def run(self, text: str, order: str = "") -> None:
        """Put a text into the box, ask for it, and go on to its results."""
        self._order = order
        self._put(text)
        self.focus_results()

    # The box.

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        if event.value.strip() != self._asked:
            self._ask()
        if event.value == self._quiet:
            self._fold()
        else:
            self._suggest(event.value, self.box.cursor_position)

    def enter(self) -> None:
        """Search, or open what is chosen."""
        offer = self.query_one(DropDown).chosen
        urn = offer.urn if offer else urn_in(self.text)
        if urn is not None:
            self._fold()
            self.open(urn)
        elif offer is not None:
            self._take(offer)
        elif self._is_readable():
            if self.text != self._asked:
                self._ask()
            elif self._held is not None:
                self._show(self._held)
            self._keeper.remember(self.text)
            self.focus_results()

    def take(self) -> None:
        """Take the completion chosen, or the first."""
        drop = self.query_one(DropDown)
        offer = drop.chosen or next(iter(drop.offers), None)
        if offer is not None:
            self._take(offer)

    def choose(self, rows: int) -> None:
        """Through the completions; without any down to the results, or up to what was asked."""
        drop = self.query_one(DropDown)
        if drop.offers:
            drop.move(rows)
        elif rows > 0:
            self.focus_results()
        elif not self.box.value:
            self._suggest_recent()

    def leave_box(self) -> None:
        """Fold the completions up; once more, leave."""
        if self.query_one(DropDown).offers:
            self._fold()
        else:
            self.focus_results()

    def explain_syntax(self) -> None:
        """What can be typed."""
        from explorer.tui.find.syntax import SyntaxScreen

        self._fold()
        self.app.push_screen(SyntaxScreen())

    def save_search(self) -> None:
        """Keep the search under a name."""
        self._fold()
        self._keeper.save(self.text, self._order)

    async def searches(self) -> "Kept":
        """The searches that are kept. Raises `Unusable`."""
        return await self._keeper.read()

    def show_searches(self) -> None:
        """The searches that are kept."""
        self._fold()
        self._keeper.show()

    def pasted(self, text: str, *, is_cut: bool, into_empty: bool) -> bool:
        """Go to the entity that was pasted; anything else belongs into the box."""
        urn = urn_in(text) if into_empty else None
        if urn is not None:
            self._fold()
            self.open(urn)
            return True
        if is_cut:
            self._session.say(f"Only the first {LONGEST:,} characters of it were taken.")
        if self.screen.focused is self.box:
            return False
        self.focus_box()
        self._put(" ".join(text.split()))
        return True

    def _take(self, offer: Offer) -> None:
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
        """Open a result; before the answer is there, the first of it when it comes."""
        if self._is_pending:
            self._opens_first = True
            return
        urn = self.choose_result(index)
        if urn is not None:
            self.open(urn)

    def choose_result(self, index: int) -> Urn | None:
        """The result that somebody chose, if there is one; what led to it is remembered."""
        urn = self.results.urn_at(index)
        if urn is not None:
            self._keeper.remember(self.text)
        return urn

    def results_key(self, what: str) -> None:
        """What a key of the results stands for, or what came of moving in them."""
        if what == "seen":
            self._tell()
            return
        self._opens_first = False
        match what:
            case "moved":
                self._explain()
                self._tell()
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

    @on(DropDown.Taken)
    def _clicked(self, event: DropDown.Taken) -> None:
        event.stop()
        self._take(event.offer)

    def _add_condition(self) -> None:
        from explorer.tui.find.conditions import add_condition

        if self._registry is None:
            return

        def refused(sentence: str) -> None:
            self._session.say(sentence, error=True)

        question = self._split(self._registry)
        if self._is_readable():
            add_condition(self.app, self._registry, question, self._facets, self._put, refused)

    def _ask_order(self) -> None:
        from explorer.tui.find.lists import StepScreen
        from explorer.tui.shell.choosing import Entry

        def take(order: str) -> None:
            self._order = order
            self._ask()

        choices = [Entry(label, order, do=partial(take, order)) for label, order in ORDERS]
        at = next((n for n, (_, order) in enumerate(ORDERS) if order == self._order), 0)
        self.app.push_screen(StepScreen("In which order?", choices, at=at))

    def _ask_where(self) -> None:
        from explorer.tui.find.ask import AskScreen

        def go(answer: str | None) -> None:
            number = (answer or "").lower().replace(",", "").replace(" ", "")
            digits = number.removeprefix("p")
            if not digits.isdecimal() or not digits.isascii() or not int(digits[:9]):
                if answer:
                    self._session.say("That is no number: 120 is a result, p3 a page.", error=True)
                return
            index = int(digits[:9]) - 1
            self.results.jump_to(index * PAGE if number.startswith("p") else index)
            self._tell()

        total = f"{self.results.count:,}"
        self.app.push_screen(AskScreen("Go to", f"a result, 1 to {total}, or a page: p2"), go)

    @work(exclusive=True, group="offers")
    async def _suggest(self, text: str, cursor: int) -> None:
        await asyncio.sleep(TYPING_PAUSE_SECONDS)
        with self._session.reporting("completing"):
            catalog = await self._session.catalog()
            question = Question.split(text, guide_to(catalog.registry))
            offers = [
                one
                for one in await offers_for(question, cursor, catalog)
                if one.urn or one.text != text
            ]
            if self.screen.focused is self.box and self.box.value == text:
                self.query_one(DropDown).offer(offers)

    @work(exclusive=True, group="offers")
    async def _suggest_recent(self) -> None:
        with self._session.reporting("reading the searches asked lately"):
            kept = await self._keeper.read()
            offers = [
                Offer(text, "recent search", text, len(text), asks=True)
                for text in kept.recent[:MOST]
            ]
            if not offers:
                self._session.say("No recent searches.")
            if self.screen.focused is self.box and not self.box.value:
                self.query_one(DropDown).offer(offers)
