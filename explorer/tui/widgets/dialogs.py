"""The base classes of screens over the page; dialogs that confirm a change, discard typed text, or
ask for a line of text; a list filtered by typing (help, palette and all choices); and screens with
a list above the difference of the row under the cursor."""

import asyncio
import re
import textwrap
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar

from rich.markup import escape
from rich.text import Text
from textual import events, on, work
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, Static
from textual.worker import Worker, WorkType

from explorer.metadata.names import singular
from explorer.metadata.urn import Urn
from explorer.sessions.base import READ_ONLY, Message, Session, StateT
from explorer.sessions.listing import ListSession, ListStateT, NarrowedSession
from explorer.tui.actions import bindings
from explorer.tui.content import line, marked, padded
from explorer.tui.session import TerminalSession
from explorer.tui.widgets.bars import KeyLine
from explorer.tui.widgets.inputs import FilterLine, HintedLine, TypedLine, pasted_urn
from explorer.tui.widgets.rows import DifferenceRows, Rows, TableRows
from explorer.views.search import places_of
from explorer.views.table import Table

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Entity
    from explorer.views.diff import Diff

_Result = TypeVar("_Result")
_Value = TypeVar("_Value")


def _app_bindings(*ids: str) -> list[BindingType]:
    """Return the bindings of the application with these IDs."""
    return [
        binding for binding in bindings("app") if isinstance(binding, Binding) and binding.id in ids
    ]


_HELP: Final[list[BindingType]] = _app_bindings("app.help")


class OverlayScreen(ModalScreen[_Result], Generic[_Result]):
    """A screen over the page. Of the application's keys only the help key works here, and on a
    `TableScreen` also undo and redo.

    It may be closed at any moment. Its workers are then cancelled (`CatalogApp.pop_screen`), and no
    worker starts afterwards, so that no worker uses widgets that are gone.
    """

    BINDINGS: ClassVar[list[BindingType]] = _HELP

    _outcome: tuple[_Result | None] | None = None
    """The result to close with once the screens above are closed, None before one is given."""

    @property
    def is_closed(self) -> bool:
        """Return whether the screen was closed, or the program ends. Its widgets are then about to
        be removed, so code outside its workers checks this before it uses them."""
        return not self.is_attached or self not in self.app.screen_stack

    def run_worker(self, work: WorkType[_Value], *arguments: Any, **options: Any) -> Worker[_Value]:
        """Run work in a worker; if the screen was closed, the worker is cancelled at once."""
        worker = super().run_worker(work, *arguments, **options)
        if self.is_closed:
            worker.cancel()
        return worker

    def dismiss(self, result: _Result | None = None) -> AwaitComplete:
        """Close with a result. Below another screen, close as soon as that screen is closed; once
        closed, do nothing."""
        stack = self.app.screen_stack
        if self in stack[-1:]:
            return super().dismiss(result)
        if self in stack:
            self._outcome = (result,)
        return AwaitComplete()

    def on_screen_resume(self) -> None:
        """Close with the result that `dismiss` was given while another screen was above."""
        if self._outcome is not None:
            self.dismiss(*self._outcome)

    async def action_help(self) -> None:
        """Show the help: the keys that work at the focus."""
        await self.run_action("app.help")

    def action_leave(self) -> None:
        """Close without a result."""
        self.dismiss(None)

    def action_close(self) -> object:
        """Close without a result."""
        return self.dismiss(None)

    def say(self, message: str, *, error: bool = False) -> None:
        """Show one sentence in place of the keys."""
        self.query_one(KeyLine).say(message, error=error)

    def confirm(self, question: Text, do: Callable[[], object], *, discards: bool = False) -> None:
        """Ask a question, and call `do` if it is confirmed. `discards` means that `do` discards
        typed text or choices."""

        def take_answer(is_confirmed: bool | None) -> None:
            if is_confirmed:
                do()

        screen = DiscardScreen if discards else ConfirmScreen
        self.app.push_screen(screen(question), take_answer)


class SessionScreen(OverlayScreen[_Result], Generic[_Result, StateT]):
    """The base of screens that show the states of a session (`Session`). Closing the screen closes
    the session.

    A subclass calls `follow` with its session, and draws each state (`draw_state`); the message of
    a new state is shown in place of the keys. `_shown` is the state on the screen: at first an
    empty one, made without the server.
    """

    DOING: ClassVar[str]
    _session: TerminalSession
    _shown: StateT
    _followed: Session[Any] | None = None

    def follow(self, followed: Session[StateT]) -> None:
        """Show each new state of a session from now on."""
        self._followed = followed
        followed.subscribe(self._show_state)

    def on_unmount(self) -> None:
        """Close the session; writes under way are completed."""
        if self._followed is not None:
            self._followed.close()

    def draw_state(self, before: StateT, state: StateT) -> None:
        """Show a new state; `before` is the state shown so far."""
        raise NotImplementedError

    def _show_state(self, state: StateT) -> None:
        """Show a new state and its message, unless the screen was closed."""
        before, self._shown = self._shown, state
        if self.is_closed:
            return
        self.draw_state(before, state)
        if state.message is not None and state.message is not before.message:
            self.tell(state.message)
        self.refresh_bindings()

    def tell(self, message: Message) -> None:
        """Show the message of a new state."""
        self._session.say_message(message, self.say)

    def why_not(self, name: str) -> str | None:
        """Return why an action of the session is not possible now, an empty text if it is; None
        before there is a session."""
        return self._followed.why_not(name) if self._followed is not None else None

    def is_possible(self, name: str) -> bool:
        """Return whether an action of the session is possible; if not, show why."""
        why = self.why_not(name)
        if why:
            self.say(why, error=True)
        return why == ""

    async def do(self, step: Awaitable[_Value]) -> _Value | None:
        """Await a step of the session, and return its result. Return None if it fails: the new
        state shows why."""
        with self._session.reporting(self.DOING, lambda _: True):
            return await step
        return None

    async def act(self, name: str, *arguments: object) -> None:
        """Run the method of the session with this name."""
        if self._followed is not None:
            await self.do(getattr(self._followed, name)(*arguments))

    def ask(self, question: Text, name: str, *arguments: object) -> None:
        """Ask a question, then run the method of the session with this name; if that is not
        possible now, show why instead."""

        def run_method() -> None:
            self.run_worker(self.act(name, *arguments))

        if self.is_possible(name):
            self.confirm(question, run_method)

    def say(self, message: str, *, error: bool = False) -> None:
        """Show one sentence in place of the keys, unless the screen was closed."""
        if not self.is_closed:
            super().say(message, error=error)


class FramedScreen(OverlayScreen[_Result], Generic[_Result]):
    """A dialog: its content is in a frame in the middle of the screen, a `Vertical` or a
    `VerticalScroll`, which a subclass gives its width."""

    # The type name makes these rules apply to subclasses, too.
    DEFAULT_CSS = """
    FramedScreen { align: center middle; }
    FramedScreen > Vertical, FramedScreen > VerticalScroll {
        max-width: 96%; height: auto; max-height: 92%; padding: 0 1; background: $surface;
        border: round $primary; border-title-color: $text; scrollbar-size-vertical: 1;
    }
    """


class PromptScreen(FramedScreen[str | None]):
    """Asks for a line of text; returns it, or None if it was cancelled."""

    CSS = """
    PromptScreen > Vertical { width: 64; }
    PromptScreen Input { padding: 0; background: $surface; }
    PromptScreen Static { color: $text-muted; height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("askscreen")
    AUTO_FOCUS = "Input"

    def __init__(self, title: str, hint: str, value: str = "") -> None:
        super().__init__()
        self._title = title
        self._hint = hint
        self._value = value

    def compose(self) -> ComposeResult:
        """Yield the input, and the hint below it."""
        with Vertical() as frame:
            frame.border_title = self._title
            yield TypedLine(self._value, select_on_focus=True)
            yield Static(Text(f"{self._hint}   ⏎ accept"))
        yield KeyLine()

    @on(Input.Submitted)
    def _take(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(event.value.strip() or None)


class ConfirmScreen(FramedScreen[bool]):
    """Asks to confirm a change; `ctrl+s` confirms. The question is literal, cleaned text."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("question")
    DEFAULT_CSS = """
    ConfirmScreen > VerticalScroll { width: 76; max-height: 80%; }
    """

    def __init__(self, question: Text) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        """Yield the question and the keys."""
        with VerticalScroll():
            yield Static(self._question, markup=False)
        yield KeyLine()

    def action_confirm(self) -> None:
        """Confirm."""
        self.dismiss(True)

    def action_cancel(self) -> None:
        """Cancel."""
        self.dismiss(False)


class DiscardScreen(ConfirmScreen, inherit_bindings=False):
    """Asks whether to discard typed text or choices; `delete` confirms."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("discard"), *_HELP]


_GAP = 2
_KEYS_WIDTH = 16
_KEYS_MOST = 24
_LEAST_TEXT = 18


@dataclass(frozen=True, slots=True)
class ChooserEntry:
    """An entry: its text, its keys, its function, and its group.

    `part` is the heading above the entry, `aside` a remark shown if there is room, `also` other
    names. The typed text is matched against all of these and `text`. `do` is called when the entry
    is chosen; without it the entry cannot be chosen.
    """

    text: str
    keys: str = ""
    part: str = ""
    aside: str = ""
    do: Callable[[], None] | None = None
    also: str = ""


@dataclass(frozen=True, slots=True)
class _ChooserRow:
    """One line of the list: an entry, a further line of its text, or a heading."""

    text: str
    entry: ChooserEntry | None = None
    first: bool = True


class _FilterInput(HintedLine):
    """The input that filters the list."""

    def __init__(self, closers: frozenset[str]) -> None:
        super().__init__(placeholder="type to filter")
        self._closers = closers

    def on_key(self, event: events.Key) -> None:
        """Close the list on one of its letters (`closers`) while the input is empty."""
        if event.character in self._closers and not self.value:
            event.stop()
            event.prevent_default()
            self.screen.dismiss()


_SMALL = 16
_PIECES = re.compile(r"\w+")
# Longer keys are names of settings or searches.
_KEYS_SHORT = 8
_WIDEST = 88
_ROOMY = 30
_PAUSE_SECONDS = 0.1
# Entries with a lower score only contain the typed letters in order.
_CLOSE = 200


class ChooserScreen(OverlayScreen[None]):
    """A list of entries below an input that filters it. Enter runs the entry under the cursor.
    `title` replaces the title of the class."""

    DEFAULT_CSS = """
    ChooserScreen { align: center top; }
    ChooserScreen > Vertical {
        width: 88; max-width: 100%; height: auto; max-height: 100%; margin: 1 0;
        background: $surface; border: round $primary; border-title-color: $text;
        border-subtitle-color: $text-muted;
    }
    ChooserScreen.-small > Vertical { margin: 0; }
    ChooserScreen Rows { height: auto; max-height: 1fr; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("palette")
    # The input line has the focus from the start.
    AUTO_FOCUS = "_FilterInput"

    TITLE_SHOWN: ClassVar[str] = ""
    HEADINGS: ClassVar[bool] = False
    """Whether entries are grouped under the headings of their parts while nothing is typed."""
    GROUND: ClassVar[str] = "-over"
    """The CSS class for the page behind the list: shaded, or with `-clear` unchanged."""
    CLOSES_EMPTY: ClassVar[frozenset[str]] = frozenset()
    """Letters that close the list while nothing is typed."""

    def __init__(self, title: str = "") -> None:
        super().__init__(classes=self.GROUND)
        self._title = title or self.TITLE_SHOWN
        self._rows: list[_ChooserRow] = []
        self._entries: Sequence[ChooserEntry] = ()
        self._further: Sequence[ChooserEntry] = ()
        self._is_looking = False
        self._early = ""
        self._narrowed_to: str | None = None

    def entries(self) -> Iterable[ChooserEntry]:
        """Return the entries, in the order in which they are shown."""
        raise NotImplementedError

    async def further(self, typed: str) -> Sequence[ChooserEntry]:
        """Read and return more entries for the typed text; called at a pause in typing."""
        del typed
        return ()

    def nothing_found(self, typed: str) -> str:
        """Return the sentence shown when there are no entries."""
        del typed
        return "No entry matches."

    def preview_entry(self, entry: ChooserEntry) -> None:
        """React to the cursor moving to an entry."""

    def compose(self) -> ComposeResult:
        """Yield the input and the list."""
        with Vertical() as frame:
            frame.border_title = escape(self._title)
            yield _FilterInput(self.CLOSES_EMPTY)
            rows = Rows()
            rows.can_focus = False
            yield rows
        yield KeyLine()

    def on_mount(self) -> None:
        """Focus the input, insert the keys typed before it existed, and show all entries."""
        line = self.query_one(_FilterInput)
        self.set_focus(line)
        if self._early:
            line.value = self._early
            line.cursor_position = len(line.value)
        self.list_entries()

    def list_entries(self) -> None:
        """Build the list of entries anew, with the cursor at `start_at`."""
        self._entries = tuple(self.entries())
        self._lay_out(start=True)

    def take(self, event: events.Key) -> bool:
        """Insert a key typed before the input had the focus; return whether it was inserted."""
        if not event.is_printable or event.character is None:
            return False
        line = self.query(_FilterInput)
        if line:
            line.first().insert_text_at_cursor(event.character)
        else:
            self._early += event.character
        return True

    def on_resize(self) -> None:
        """Draw the lines again for the new width."""
        self.set_class(self.size.height < _SMALL, "-small")
        self.call_after_refresh(self._lay_out)

    def start_at(self) -> int:
        """Return the index of the entry where the cursor starts."""
        return 0

    @on(Input.Changed)
    def _handle_input(self, event: Input.Changed) -> None:
        event.stop()
        self._further = ()
        self._lay_out()
        if type(self).further is not ChooserScreen.further:
            self._look_further(event.value.strip())

    @work(exclusive=True, group="further")
    async def _look_further(self, typed: str) -> None:
        """Add the entries of `further` after a pause in typing."""
        if not typed:
            return
        self._is_looking = True
        await asyncio.sleep(_PAUSE_SECONDS)
        entries = await self.further(typed)
        self._is_looking = False
        if self.query_one(_FilterInput).value.strip() == typed:
            keys = {entry.also for entry in self._entries if entry.also}
            self._further = [entry for entry in entries if entry.also not in keys]
            self._lay_out()

    def place_of(self, entry: ChooserEntry) -> int:
        """Return the index of an entry among all entries."""
        return self._entries.index(entry)

    def add_entries(self, entries: Sequence[ChooserEntry]) -> None:
        """Append entries, and show them."""
        self._entries = (*self._entries, *entries)
        self._lay_out()

    @on(Input.Submitted)
    def _handle_submit(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_choose()

    @on(Rows.Chosen)
    def _choose_entry(self, event: Rows.Chosen) -> None:
        event.stop()
        self.action_choose()

    @on(Rows.Moved)
    def _handle_move(self, event: Rows.Moved) -> None:
        event.stop()
        self._preview_current()

    @property
    def current(self) -> ChooserEntry | None:
        """Return the entry under the cursor."""
        row = self.query_one(Rows).under_cursor(self._rows)
        return row.entry if row is not None else None

    def action_choose(self) -> None:
        """Run the entry under the cursor."""
        if self._narrowed_to != self.query_one(_FilterInput).value:
            self._lay_out()
        entry = self.current
        if entry is None or entry.do is None:
            return
        self.dismiss()
        self.app.call_later(entry.do)

    def action_move(self, rows: int) -> None:
        """Move the cursor by a number of rows, and on to the next entry."""
        list_ = self.query_one(Rows)
        target = max(0, min(list_.cursor + rows, len(self._rows) - 1))
        step = 1 if rows > 0 else -1
        while 0 < target < len(self._rows) - 1 and not self._can_select(target):
            target += step
        list_.move_to(target)
        if target == self._first_entry() and rows < 0:
            # Show the heading above the first entry again.
            list_.scroll_to(y=0, animate=False, immediate=True)

    def action_page(self, pages: int) -> None:
        """Move the cursor by a number of screens."""
        self.action_move(pages * max(1, self.query_one(Rows).size.height - 1))

    def _can_select(self, index: int) -> bool:
        row = self._rows[index]
        return row.entry is not None and row.first

    def _first_entry(self) -> int:
        return next((at for at in range(len(self._rows)) if self._can_select(at)), 0)

    def _lay_out(self, *, start: bool = False) -> None:
        """Show the entries that match the typed text; `start` puts the cursor at `start_at`."""
        rows = self.query_one(Rows)
        typed = self.query_one(_FilterInput).value
        # If only the width has changed, the cursor stays on its entry.
        entry = self.current if typed == self._narrowed_to else None
        if start and self._entries:
            entry = self._entries[self.start_at()]
        self._narrowed_to = typed
        entries = self._find(typed)
        width = min(self.size.width, _WIDEST) - 4
        self._rows = list(self._lines(entries, width, headings=self.HEADINGS and not typed.strip()))
        total = len(self._entries) + len(self._further)
        tally = f"{len(entries)} of {total}" if typed.strip() else f"{len(entries)}"
        frame = self.query_one(Vertical)
        frame.border_subtitle = tally if self.size.width >= _ROOMY else ""
        cursor = self._first_entry()
        if entry is not None:
            cursor = next((at for at, row in enumerate(self._rows) if row.entry is entry), cursor)
        is_looking = self._is_looking and bool(typed.strip())
        empty = "searching …" if is_looking else self.nothing_found(typed.strip())
        rows.show(len(self._rows), self._draw_row, cursor=cursor, empty=empty)
        rows.styles.height = max(len(self._rows), 3)
        if cursor == self._first_entry():
            rows.scroll_to(y=0, animate=False, immediate=True)
        if typed.strip():
            self._preview_current()

    @property
    def _keys_width(self) -> int:
        """Return the width of the keys, 1 if no entry has any."""
        longest = max((len(entry.keys) for entry in self._entries), default=0)
        return min(max(longest, _KEYS_WIDTH), _KEYS_MOST) if longest else 1

    def _find(self, typed: str) -> list[ChooserEntry]:
        """Return the entries that match a text, the best first."""
        if not typed.strip():
            return list(self._entries)
        ranked = [(match_score(typed, entry), entry) for entry in self._entries]
        good = sorted((pair for pair in ranked if pair[0]), key=lambda pair: -pair[0])
        close = [entry for rank, entry in good if rank >= _CLOSE]
        return [*close, *self._further, *(entry for rank, entry in good if rank < _CLOSE)]

    def _lines(
        self, entries: Iterable[ChooserEntry], width: int, *, headings: bool
    ) -> Iterable[_ChooserRow]:
        """Yield the rows of entries: headings, and the lines of wrapped texts."""
        part = ""
        room = max(width - self._keys_width - _GAP, _LEAST_TEXT)
        for entry in entries:
            if headings and entry.part != part:
                if part:
                    yield _ChooserRow("")
                yield _ChooserRow(entry.part)
                part = entry.part
            lines = textwrap.wrap(entry.text, room) or [""]
            for at, text in enumerate(lines):
                yield _ChooserRow(text, entry, first=at == 0)

    def _draw_row(self, index: int, width: int) -> tuple[Text]:
        """Return a row: the keys, the text, and the part or remark at the right."""
        row = self._rows[index]
        if row.entry is None:
            return (Text(f" {row.text}", "bold"),)
        entry = row.entry
        keys = entry.keys if row.first else ""
        text = Text.assemble(" ", padded(Text(keys, "bold"), self._keys_width), " " * (_GAP - 1))
        words = Text(row.text, "" if entry.do is not None else "dim")
        typed = self.query_one(_FilterInput).value
        text.append_text(marked(words, typed) if typed.strip() else words)
        # The part of an entry is shown at the right, unless a heading above shows it.
        aside = "" if self.HEADINGS and not typed.strip() else (entry.aside or entry.part)
        room = width - text.cell_len - 2
        if row.first and aside and len(aside) <= room:
            text.append(" " * (room - len(aside) + 1)).append(aside, "dim")
        return (text,)

    def _preview_current(self) -> None:
        entry = self.current
        if entry is not None:
            self.preview_entry(entry)


def match_score(typed: str, entry: ChooserEntry) -> int:
    """Return how well an entry matches the typed text, 0 for not at all. Words that start with it
    score highest, then words that contain it, then letters in order."""
    words = typed.lower().split()
    text = f"{entry.text} {entry.part} {entry.aside} {entry.also}".lower()
    if len(entry.keys) > _KEYS_SHORT:
        text = f"{text} {entry.keys}"
    beginnings = {*text.split(), *_PIECES.findall(text)}
    if typed.strip() in entry.keys.split():
        return 500
    if all(any(beginning.startswith(word) for beginning in beginnings) for word in words):
        own = entry.text.lower()
        return 400 if all(word in own for word in words) else 300
    if all(word in text for word in words):
        return 200
    span = _span("".join(words), entry.text.lower())
    return max(100 - span, 1) if span else 0


def _span(letters: str, text: str) -> int:
    """Return the number of characters that the letters span in the text, in order; 0 if the text
    does not contain them all in order."""
    at = start = -1
    for letter in letters:
        at = text.find(letter, at + 1)
        if at < 0:
            return 0
        start = at if start < 0 else start
    return at - start + 1


ENTITIES = "Entities"
_FOUND = 12


async def entities_like(
    session: TerminalSession,
    typed: str,
    do: Callable[[Urn], None],
    *,
    entity_type: str | None = None,
) -> Sequence[ChooserEntry]:
    """Return entries for the first results of a search for `typed`, or for the entity if `typed` is
    a URN. With `entity_type`, only entities of this type. Choosing an entry calls `do` with its
    URN. Two requests."""
    catalog = await session.catalog()
    urn = pasted_urn(typed)
    if urn is not None:
        urns = [urn] if entity_type in (None, urn.entity_type) else []
    else:
        page = await catalog.search(typed, entity=entity_type, count=_FOUND)
        urns = [hit.urn for hit in page.only_complete()]
    return entity_entries(urns, await catalog.summaries(urns), do, ENTITIES)


def entity_entries(
    urns: Iterable[Urn],
    entities_by_urn: "dict[Urn, Entity]",
    do: Callable[[Urn], None],
    part: str,
) -> list[ChooserEntry]:
    """Return an entry for each URN, with name, type and platform. Choosing it calls `do` with the
    URN."""
    looks: dict[Urn, tuple[str, str, str]] = {}
    for urn in urns:
        entity = entities_by_urn.get(urn)
        kind = singular(entity.kind if entity else urn.entity_type)
        platform = (entity.platform if entity else urn.platform) or ""
        looks[urn] = (entity.name if entity else urn.name, kind, platform)
    places = places_of(looks.items())
    entries = []
    for urn, (name, kind, platform) in looks.items():
        aside = " · ".join(filter(None, (part, kind, platform, places.get(urn))))
        entries.append(
            ChooserEntry(line(name), "", part, line(aside), do=partial(do, urn), also=str(urn))
        )
    return entries


class EntityScreen(ChooserScreen):
    """Asks for an entity: lists the entries in `near`, and the entities that the catalog finds for
    the typed text. A chosen entity is passed to `do`."""

    def __init__(
        self,
        session: TerminalSession,
        title: str,
        near: Sequence[ChooserEntry],
        do: Callable[[Urn], None],
    ) -> None:
        super().__init__(line(title))
        self._session = session
        self._near = near
        self._do = do

    def entries(self) -> Iterable[ChooserEntry]:
        """Return the entries in `near`."""
        return self._near

    def nothing_found(self, typed: str) -> str:
        """Return the sentence for an empty list: no entity has the typed name, or what to type."""
        return "No entity has this name." if typed else "Type a name, or paste a URN."

    async def further(self, typed: str) -> Sequence[ChooserEntry]:
        """Return entries for the entities that the catalog finds."""
        with self._session.reporting("searching for entities"):
            return await entities_like(self._session, typed, self._do)
        return ()


_LOW: Final = 30


class TableScreen(OverlayScreen[_Result], Generic[_Result]):
    """The base of screens that fill the terminal: a heading (`#heading`), a table (`TableRows`)
    with the list `rows`, and often the difference of the row under the cursor (`DifferenceRows`).
    The keys that undo and redo the last save work here, too."""

    BINDINGS: ClassVar[list[BindingType]] = _app_bindings("app.take-back", "app.do-again")

    DEFAULT_CSS = """
    TableScreen { background: $background; }
    TableScreen > Vertical { height: 1fr; }
    TableScreen #heading { height: auto; max-height: 4; padding: 0 1; }
    TableScreen TableRows { height: 1fr; }
    TableScreen DifferenceRows { height: 10; padding: 0 1; border-top: solid $border-blurred; }
    TableScreen.-low DifferenceRows { height: 6; }
    """

    def __init__(self, session: TerminalSession, rows: Rows) -> None:
        super().__init__()
        self._session = session
        self._rows = rows

    def on_resize(self) -> None:
        """Leave more room to the table on a low screen."""
        self.set_class(self.size.height < _LOW, "-low")

    def show_written(self) -> None:
        """Update the screen after an undo or a redo. This base does nothing."""

    async def action_take_back(self) -> None:
        """Undo the last save, after confirmation."""
        await self.run_action("app.take_back")

    async def action_do_again(self) -> None:
        """Redo the save that was undone last, after confirmation."""
        await self.run_action("app.do_again")

    def action_text(self) -> None:
        """Focus the difference, to scroll it."""
        self.set_focus(self.query_one(DifferenceRows))

    @on(DifferenceRows.DifferenceClosed)
    def _go_back(self, event: DifferenceRows.DifferenceClosed) -> None:
        event.stop()
        self.set_focus(self._rows)


class ListFace(SessionScreen[_Result, ListStateT], Generic[_Result, ListStateT]):
    """The common behaviour of all screens that show a list (`ListSession`), in any layout.

    A subclass makes the session (`begin`) and draws the rows (`list_rows`), the heading
    (`heading`), and the details of the row under the cursor (`show_row`).
    """

    HINT: ClassVar[str] = ""
    """The placeholder of the filter line; empty if the list has no filter."""
    NONE_HINT: ClassVar[str] = ""
    """What to do if there are no rows, as the end of a sentence."""
    HEADING: ClassVar[str] = "#heading"
    """The selector of the heading's widget."""
    FAILURE_HINT: ClassVar[str] = ""
    """A sentence on what else to do if the rows cannot be read."""
    OFFERED: ClassVar[Mapping[str, str]] = {}
    """The names of session actions by the names of the key actions that need them to be
    possible."""

    _rows: Rows
    _list: ListSession[ListStateT] | None = None
    _failure = ""

    def on_mount(self) -> None:
        """Focus the list, and read it."""
        self.set_focus(self._rows)
        self.draw_rows()
        self.read()

    def begin(self, catalog: "AsyncCatalog") -> ListSession[ListStateT]:
        """Create the session that reads this list."""
        raise NotImplementedError

    async def open_session(self) -> ListSession[ListStateT]:
        """Open the catalog, and return the session of this list."""
        return self.begin(await self._session.catalog())

    def reporting(self) -> AbstractContextManager[None]:
        """Return a context that shows an error of reading the list."""
        return self._session.reporting(self.DOING, self.tell_failure, self.action_reload)

    def heading(self, state: ListStateT) -> Text:
        """Return the heading."""
        raise NotImplementedError

    def list_rows(self, state: ListStateT) -> None:
        """Show the rows."""
        raise NotImplementedError

    def draw_rows(self) -> None:
        """Show the rows and the heading."""
        self.list_rows(self._shown)
        self.draw_heading(self._shown)

    def draw_heading(self, state: ListStateT) -> None:
        """Show the heading."""
        self.query_one(self.HEADING, Static).update(self.heading(state))

    def show_row(self) -> object:
        """Show the row under the cursor."""

    @work(exclusive=True, group="list")
    async def read(
        self, step: Callable[[Any], Coroutine[Any, Any, object]] = ListSession.read
    ) -> None:
        """Open the session if needed, then run a step of it, by default the one that reads the
        list."""
        with self.reporting():
            if self._list is None:
                self._list = await self.open_session()
                self.follow(self._list)
                self._list.replace()
            await step(self._list)

    def tell_failure(self, sentence: str) -> bool:
        """Show in place of the list why it could not be read; return whether the sentence is
        visible."""
        self._failure = f"{sentence} {self.FAILURE_HINT}".strip()
        if self._list is None:
            self._shown = replace(self._shown, is_reading=False, instead="")
        if not self.is_closed:
            self.draw_rows()
        return not self._shown.listed

    def tell(self, message: Message) -> None:
        """Show the message of a new state, unless `tell_failure` shows the same error."""
        if message.error is None or message.error is not self._shown.failure:
            super().tell(message)

    def instead(self, state: ListStateT) -> str:
        """Return the sentence shown in place of rows: that they are being read, why they could not
        be read, or that there are none and what to do then."""
        if state.is_reading:
            return state.instead
        if state.failure is not None or not state.instead:
            return self._failure
        hint = self.hint(state)
        return f"{state.instead[:-1]}; {hint}." if hint else state.instead

    def hint(self, state: ListStateT) -> str:
        """Return what to do if there are no rows, or none matches the filter."""
        return "esc shows all" if state.rows else self.NONE_HINT

    def draw_state(self, before: ListStateT, state: ListStateT) -> None:
        """Update what has changed: the rows, the cursor, the heading, and the details of the row
        under the cursor."""
        if before.listed is not state.listed or before.instead != state.instead:
            self.draw_rows()
        elif before.cursor != state.cursor:
            self._rows.move_to(state.cursor)
        else:
            self.draw_heading(state)
        if before.current is not state.current:
            self.show_row()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow actions that are possible now; return None, for a disabled key, if only the
        read-only server forbids one."""
        del parameters
        if action in self.OFFERED:
            why = self.why_not(self.OFFERED[action])
            return None if why == READ_ONLY else why == ""
        if action in ("open", "text"):
            return self._shown.current is not None
        return bool(self._shown.rows) if action == "filter" and self.HINT else True

    def action_reload(self) -> None:
        """Read the list again."""
        self.read()

    @on(Rows.Moved)
    def _move(self, event: Rows.Moved) -> None:
        event.stop()
        if self._list is not None:
            self._list.look_at(self._rows.cursor)

    @on(Rows.Chosen)
    def _choose_row(self, event: Rows.Chosen) -> None:
        event.stop()
        if self._shown.current is not None:
            self.choose()

    def choose(self) -> None:
        """Run the action of a chosen row."""
        raise NotImplementedError


class SessionListDialog(
    FramedScreen[_Result], ListFace[_Result, ListStateT], Generic[_Result, ListStateT]
):
    """The base of dialogs that show a list below a heading (`#what`); a subclass draws the heading,
    and each row on two lines."""

    DEFAULT_CSS = """
    SessionListDialog > Vertical { width: 110; height: 24; }
    SessionListDialog #what { height: 2; }
    SessionListDialog Rows { height: 1fr; }
    """
    HEADING = "#what"

    def __init__(self, session: TerminalSession) -> None:
        super().__init__()
        self._session = session
        self._rows = Rows(row_height=2)

    def compose(self) -> ComposeResult:
        """Yield the heading, the list, and the keys."""
        with Vertical():
            yield Static("", id="what", markup=False)
            yield self._rows
        yield KeyLine()

    def draw_row(self, index: int, width: int) -> Sequence[Text]:
        """Return the two lines of a row."""
        raise NotImplementedError

    def list_rows(self, state: ListStateT) -> None:
        """Show the rows."""
        empty = self.instead(state)
        self._rows.show(len(state.listed), self.draw_row, cursor=state.cursor, empty=empty)

    def choose(self) -> None:
        """Open the chosen row."""
        self.action_open()

    def action_open(self) -> None:
        """Open the row under the cursor."""
        raise NotImplementedError


_FAILURE_LINES: Final = 6


class AddressListDialog(SessionListDialog[_Result, ListStateT], Generic[_Result, ListStateT]):
    """The base of dialogs that are as high as their list, with a line below it for typing an
    address that is not listed."""

    DEFAULT_CSS = """
    AddressListDialog > Vertical {
        width: 96; height: auto; max-width: 100%; max-height: 90%; padding: 0;
    }
    AddressListDialog Rows { height: auto; max-height: 1fr; background: $surface; }
    """
    TITLE_SHOWN: ClassVar[str]
    ADDRESS_HINT: ClassVar[str]

    def compose(self) -> ComposeResult:
        """Yield the list, the lines below it, and the keys."""
        with Vertical() as frame:
            frame.border_title = self.TITLE_SHOWN
            yield self._rows
            yield from self.lines()
        yield KeyLine()

    def lines(self) -> ComposeResult:
        """Yield the line for an address."""
        yield HintedLine(id="address", placeholder=self.ADDRESS_HINT)

    def draw_heading(self, state: ListStateT) -> None:
        """Show no heading."""

    def list_rows(self, state: ListStateT) -> None:
        """Show the rows, or why there are none, and fit the height."""
        least = 2 if state.failure is None else _FAILURE_LINES
        self._rows.styles.height = 2 * len(state.listed) or least
        super().list_rows(state)

    def action_address(self) -> None:
        """Focus the line for an address."""
        self.set_focus(self.query_one("#address"))

    def action_close(self) -> object:
        """Go back from an input line to the list; from the list, close."""
        if self.focused is self._rows:
            return self.dismiss(None)
        self.set_focus(self._rows)
        return None


class SessionListScreen(
    TableScreen[_Result], ListFace[_Result, ListStateT], Generic[_Result, ListStateT]
):
    """The base of lists that fill the terminal: a heading, a filter line, the rows, the details of
    the row under the cursor, and the keys.

    A subclass returns the heading (`heading`), the rows (`rows_table`), and the difference of a row
    (`difference`), or replaces `DifferenceRows` with other details (`detail`).
    """

    def compose(self) -> ComposeResult:
        """Yield the heading, the filter line, the rows, the detail, and the keys."""
        with Vertical():
            yield Static("", id="heading", markup=False)
            yield self.filter_line()
            yield TableRows(self._rows)
            yield from self.detail()
        yield KeyLine()

    def filter_line(self) -> Input:
        """Return the line that the filter is typed into."""
        return FilterLine(self.HINT)

    def detail(self) -> ComposeResult:
        """Yield the widget for the details of the row under the cursor."""
        yield DifferenceRows()

    def rows_table(self, state: ListStateT) -> Table:
        """Return the listed rows as a table."""
        raise NotImplementedError

    def difference(self, row: Any) -> "Diff":
        """Return the difference that a row shows; called in a thread."""
        raise NotImplementedError

    def table(self) -> Table | None:
        """Return the listed rows as a table for a file; None if there are none."""
        return self.rows_table(self._shown) if self._shown.listed else None

    def list_rows(self, state: ListStateT) -> None:
        """Show the rows."""
        table = self.rows_table(state) if state.listed else Table((), ())
        self.query_one(TableRows).show(table, cursor=state.cursor, empty=self.instead(state))

    def show_row(self) -> object:
        """Show the row under the cursor."""
        return self._compare()

    @work(exclusive=True, group="difference")
    async def _compare(self) -> None:
        row = self._shown.current
        lines = () if row is None else await asyncio.to_thread(self.difference, row)
        self.query_one(DifferenceRows).show_lines(lines)

    def choose(self) -> None:
        """Focus the difference of the chosen row, to scroll it."""
        self.action_text()

    def action_filter(self) -> None:
        """Filter the list by words."""
        self.query_one(FilterLine).ask()

    def show_written(self) -> None:
        """Read the list again."""
        self.read()

    def clear(self) -> bool:
        """Clear the filter; return whether there was one."""
        line = self.query_one(FilterLine)
        narrowed = bool(line.value)
        line.put_away()
        return narrowed

    def action_leave(self) -> None:
        """Clear the filter; if there is none, close."""
        if self.clear():
            self.narrow()
        else:
            self.action_close()

    @work(exclusive=True, group="narrow")
    async def narrow(self) -> None:
        """List the matching rows after a pause in typing."""
        if isinstance(self._list, NarrowedSession):
            await self.do(self._list.narrow(self.query_one(FilterLine).value))

    @on(Input.Changed, "FilterLine")
    def _narrow(self, event: Input.Changed) -> None:
        event.stop()
        self.narrow()

    @on(FilterLine.FilterClosed)
    def _end_filter(self, event: FilterLine.FilterClosed) -> None:
        event.stop()
        self.set_focus(self._rows)
        if not event.keep:
            self.narrow()
