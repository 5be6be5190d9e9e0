"""Searching: what is asked, what the server answers to it, and what is told of that."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.text import Text
from textual import events, work
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input, Static

from explorer.client.display import in_quotes
from explorer.metadata.urn import Urn
from explorer.query import FilterSyntax
from explorer.query.fields import guide_to
from explorer.query.filters import Filter
from explorer.tui.find.box import SearchBox
from explorer.tui.find.facets import Facets, named_in
from explorer.tui.find.matches import explained
from explorer.tui.find.offers import DropDown
from explorer.tui.find.pasted import urn_in
from explorer.tui.find.question import Question
from explorer.tui.find.results import MOST, PAGE, Results
from explorer.tui.find.told import Found, fault_line, found_line, order_label
from explorer.tui.session import Session
from explorer.tui.sizing import SizeAware

if TYPE_CHECKING:
    from explorer.client.catalog import AsyncCatalog
    from explorer.client.entity import Entity
    from explorer.client.records import Facet, SearchPage
    from explorer.metadata.registry import Registry
    from explorer.views.table import Table

__all__ = ["TYPING_PAUSE_SECONDS", "Searching"]

TYPING_PAUSE_SECONDS = 0.03
# What takes longer is said to be under way.
_PATIENCE_SECONDS = 0.2
_WHY_LINES = 8


@dataclass(frozen=True, slots=True)
class _Search:
    """One question to the server."""

    question: Question
    narrowed_by: Filter
    order: str

    @property
    def words(self) -> str:
        """What is looked for; everything, where there are no words."""
        return self.question.words or "*"


@dataclass(frozen=True, slots=True)
class _Answer:
    """What the server said to it."""

    search: _Search
    page: "SearchPage"
    known: "dict[Urn, Entity]"
    adding: "dict[str, Facet]"
    most: int | None

    @property
    def words(self) -> str:
        """The words that were found: those typed, or what they were corrected to."""
        return self.page.corrected or self.search.question.words


async def _adding(
    catalog: "AsyncCatalog", search: _Search, registry: "Registry"
) -> "dict[str, Facet]":
    """The facets some of whose values are taken on, counted over what a further value would add to
    the result. One request for each."""
    fields = tuple(search.question.chosen(registry))

    async def counted(field: str) -> "tuple[Facet, ...]":
        beyond = search.question.beyond(field, registry)
        return await catalog.facets(search.words, narrowed_by=beyond, names=(field,))

    found = await asyncio.gather(*(counted(field) for field in fields))
    return {facet.name: facet for facets in found for facet in facets}


class Searching(Vertical, SizeAware):
    """A box, facets and results, and the questions between them. The last question wins: an answer
    to an older one is never shown."""

    @dataclass
    class LedOn(Message):
        """The result that was wished for before the answer came is to be opened, if there is one;
        then comes what was typed for it meanwhile, which `take` gives."""

        urn: Urn | None
        take: Callable[[], list[events.Key]]

    def __init__(self, session: Session) -> None:
        super().__init__(id="find")
        self._session = session
        self._registry: Registry | None = None
        self._asked: str | None = None
        self._is_pending = True
        self._opens_first = False
        self._is_leading_on = False
        self._ahead: list[events.Key] = []
        self._shown: _Search | None = None
        self._held: _Answer | None = None
        self._facets: tuple[Facet, ...] = ()
        self._order = ""
        self._fault: FilterSyntax | None = None
        self._reading: int | None = None
        self._said = Text()
        self._words = ""
        self._corrected: tuple[str, str] | None = None

    @property
    def box(self) -> SearchBox:
        """The line that is typed into."""
        return self.query_one(SearchBox)

    @property
    def results(self) -> Results:
        """What was found."""
        return self.query_one(Results)

    @property
    def text(self) -> str:
        """What stands in the box."""
        return self.box.value.strip()

    @property
    def order(self) -> str:
        """How results are ordered, as the client reads it; nothing for the best first."""
        return self._order

    def start(self, text: str = "") -> None:
        """Ask for `text`; with none for everything. What somebody was quick enough to type into
        the box before stays, and is asked for."""
        with self.prevent(Input.Changed):
            self.box.value = self.box.value or text
        self._ask()

    def keeps(self, event: events.Key) -> bool:
        """Whether a key is kept for the result that is opened when the answer comes; escape gives
        that up."""
        if not self._opens_first and not self._is_leading_on:
            return False
        if event.key == "escape" and self._opens_first:
            self._give_up_opening()
        else:
            self._ahead.append(events.Key(event.key, event.character))
        return True

    def _take_ahead(self) -> list[events.Key]:
        """What was kept; from now on nothing is."""
        self._is_leading_on = False
        ahead, self._ahead = self._ahead, []
        return ahead

    def _give_up_opening(self) -> None:
        """Nothing is to be opened when the answer comes; what is on its way stays on it."""
        self._opens_first = False
        if not self._is_leading_on:
            self._ahead = []

    def choose_result(self, index: int) -> Urn | None:
        """The result that somebody chose, if there is one."""
        raise NotImplementedError

    def table(self) -> "Table | None":
        """The results, for a file."""
        from explorer.tui.shell.listings import Asked, of_results

        if self._shown is None or self._is_pending:
            return None
        asked = Asked(self._shown.words, self._shown.narrowed_by, self._shown.order)
        hits = [self.results.hits[at] for at in sorted(self.results.hits)]
        return of_results(self._session, asked, hits, self.results.known, self.results.total)

    def _put(self, text: str) -> None:
        """Put a text into the box, and ask for it."""
        with self.prevent(Input.Changed):
            self.box.value = text
            self.box.cursor_position = len(text)
        self._fold()
        self._ask()

    def _is_readable(self) -> bool:
        """Whether the filter can be read, as far as that is known; told where it cannot."""
        if self._registry is None:
            return True
        try:
            self._split(self._registry).filter(self._registry)
        except FilterSyntax as fault:
            self._refuse(fault)
            return False
        return True

    def _split(self, registry: "Registry") -> Question:
        return Question.split(self.text, guide_to(registry))

    def _fold(self) -> None:
        self.workers.cancel_group(self, "offers")
        self.query_one(DropDown).offer(())

    def _ask(self) -> None:
        """Ask for what stands in the box."""
        self._asked = self.text
        self._is_pending, self._held = True, None
        self._give_up_opening()
        self._search(self._asked, self._order)

    @work(exclusive=True, group="search")
    async def _search(self, text: str, order: str) -> None:
        await asyncio.sleep(TYPING_PAUSE_SECONDS if text else 0)
        with self._session.reporting("searching", self._show_failure, self._ask):
            catalog = await self._session.catalog()
            registry = self._registry = catalog.registry
            if urn_in(text) is not None:
                self._is_pending = False
                self._tell_words(Text("⏎ goes to it"))
                return
            question = Question.split(text, guide_to(registry))
            try:
                search = _Search(question, question.filter(registry), order)
            except FilterSyntax as fault:
                self._refuse(fault)
                return
            self._forgive()
            loop = asyncio.get_running_loop()
            waiting = loop.call_later(_PATIENCE_SECONDS, self._tell_waiting)
            try:
                page = await catalog.search(
                    search.words, narrowed_by=search.narrowed_by, sorted_by=order, count=PAGE
                )
                adding = await _adding(catalog, search, registry)
                counted = (*page.facets, *adding.values())
                urns = [*(hit.urn for hit in page), *named_in(counted)]
                known = await catalog.summaries(urns)
                # Only where it matters is the server asked what it can do.
                is_long = page.total > MOST
                most = None if is_long and (await catalog.abilities()).deep_pages else MOST
            finally:
                waiting.cancel()
            self._held = _Answer(search, page, known, adding, most)
            if page.total or not self._is_typing_condition(question):
                self._show(self._held)
            else:
                self._is_pending = False
                self._tell_words(Text("… No match yet (previous results below)"))

    def _is_typing_condition(self, question: Question) -> bool:
        """Whether a condition is being typed, which for that alone takes no results away."""
        box = self.box
        is_here = self.screen.focused is box and self._shown is not None
        return is_here and question.run_at(box.cursor_position) is not None

    def _show(self, answer: "_Answer") -> None:
        """Show an answer; whoever pressed enter before it came is led on."""
        self._held = None
        search, page, question = answer.search, answer.page, answer.search.question
        again = self._shown is not None and self._shown == search
        self._shown, self._facets, self._reading = search, page.facets, None
        self._words = answer.words
        self._corrected = (question.words, page.corrected) if page.corrected else None
        if not again:
            # What is marked is among what is seen.
            self.results.unmark()
        self.results.show_page(
            page,
            answer.known,
            answer.words,
            most=answer.most,
            cursor=self.results.cursor if again else 0,
            empty=f"No results for {in_quotes(question.text, 60)}."
            if question.text
            else "Nothing here yet.",
        )
        if self._registry is not None:
            chosen = question.chosen(self._registry)
            self.query_one(Facets).show_facets(page.facets, chosen, answer.known, answer.adding)
        self._is_pending = False
        self._tell()
        self._explain()
        opens, self._opens_first = self._opens_first, False
        if opens and self.screen.focused is self.results:
            # Until it is open, keys come here, and are kept behind those that came before.
            self._is_leading_on = True
            self.post_message(self.LedOn(self.choose_result(0), self._take_ahead))
        else:
            self._give_up_opening()

    def need_page(self, start: int) -> None:
        """Read a page of the result that has come into view."""
        if self._shown is not None and self._reading != start and not self._is_pending:
            self._reading = start
            self._read_page(self._shown, start)

    @work(exclusive=True, group="page")
    async def _read_page(self, search: _Search, start: int) -> None:
        with self._session.reporting("reading further results"):
            catalog = await self._session.catalog()
            page = await catalog.search(
                search.words,
                narrowed_by=search.narrowed_by,
                sorted_by=search.order,
                start=start,
                count=PAGE,
            )
            known = await catalog.summaries(hit.urn for hit in page)
            if search is not self._shown:
                return
            self.results.add_page(page, known)
            self._reading = None
            self._tell()
            further = self.results.missing()
            if further is not None and further != start:
                self.need_page(further)

    def refresh_results(self) -> None:
        """Read the rows that were read again, each in its place: anything may have changed."""
        self.hear({urn for results in self.query(Results) for urn in results.known})

    def hear(self, urns: Iterable[Urn]) -> None:
        """Entities were changed by somebody: those among the results say what they are now, each
        in its row."""
        # On leaving, the results may be gone before the last change is heard.
        shown = {urn for results in self.query(Results) for urn in results.known}
        changed = [urn for urn in urns if urn in shown]
        if changed:
            self._read_changed(changed)

    @work(group="heard")
    async def _read_changed(self, urns: list[Urn]) -> None:
        with self._session.reporting("reading results again"):
            catalog = await self._session.catalog()
            self.results.update_known(await catalog.summaries(urns))

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
        lines = explained(
            hit,
            self.results.known.get(hit.urn),
            self._words,
            rank=at + 1,
            order=order_label(self._shown.order, has_words=has_words),
            width=max(self.size.width - 4, 20),
        )
        for one in lines:
            one.truncate(max(self.size.width - 2, 20), overflow="ellipsis")
        panel.update(Text("\n", no_wrap=True).join(lines[: _WHY_LINES + 1]))

    def on_resize(self, event: events.Resize) -> None:
        """What is told fits the width."""
        del event
        self._tell()

    def _refuse(self, fault: FilterSyntax) -> None:
        """Tell what is wrong with the filter. What was found before stays."""
        self._fault = fault
        self._is_pending, was_wished = False, self._opens_first
        self._give_up_opening()
        self.box.mark(fault)
        self._tell()
        if was_wished:
            self.screen.set_focus(self.box)

    def _forgive(self) -> None:
        self._fault = None
        self.box.mark(None)

    def _show_failure(self, sentence: str) -> bool:
        """Tell, in the place of the results, why there are none, or over those of an earlier
        question; gives whether all of it is to be seen."""
        self._is_pending = False
        self._give_up_opening()
        if self._shown is None:
            self._tell_words(Text("✗ Nothing was read", "bold"))
            self.results.show(0, lambda _, __: (), empty=sentence)
        else:
            told = Text.assemble(("✗ ", "bold"), sentence)
            fits = told.cell_len <= self.size.width - 2
            self._tell_words(told)
            return self.display and fits
        return self.display

    def _tell_waiting(self) -> None:
        self._tell_words(Text("searching …"))

    def _tell_words(self, text: Text) -> None:
        text.truncate(max(self.size.width - 2, 1), overflow="ellipsis")
        # On leaving, nothing is there any more that could say it.
        if text != self._said and self.children:
            self._said = text
            # Its height stays, so that moving through the rows lays nothing out anew.
            self.query_one("#said", Static).update(text, layout=False)

    def _tell(self) -> None:
        width = max(self.size.width - 2, 1)
        if self._fault is not None:
            self._tell_words(fault_line(self._fault, width))
            return
        if self._shown is None or self._is_pending:
            return
        is_shown = all(one.display for one in (self.results, self.query_one("#found")))
        found = Found(
            self.results.total,
            self.results.in_view if is_shown else None,
            self._shown.order,
            bool(self._shown.question.words),
            bool(self._shown.question.runs),
            self.results.stopped_at,
            self._corrected,
            len(self.results.marked),
        )
        self._tell_words(found_line(found, width))
