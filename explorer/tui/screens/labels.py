"""The labels of an entity: the picker of tags, terms, owners and domains (search, choose, create,
save); and the launcher that opens the picker and the dialogs that deprecate or hide an entity."""

from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from rich.text import Text
from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static

from explorer.client.display import counted
from explorer.sessions.labels import (
    FOUND,
    NO_CHANGES,
    NOUNS,
    LabelKind,
    LabelMark,
    LabelRow,
    LabelSession,
    LabelState,
    LabelTarget,
    labels_of,
    ownership_word,
    why_not_labelled,
)
from explorer.sessions.lifecycle import DeprecationFields, LifecycleSession
from explorer.tui.actions import bindings
from explorer.tui.content import line_text, padded, preview
from explorer.tui.key_queue import LEADING, start_worker
from explorer.tui.screens.label_choice import draw_change
from explorer.tui.screens.lifecycle import DeprecationScreen, HideScreen
from explorer.tui.session import TerminalSession
from explorer.tui.widgets.bars import KeyLine
from explorer.tui.widgets.dialogs import FramedScreen, SessionScreen
from explorer.tui.widgets.inputs import HintedLine
from explorer.tui.widgets.rows import Rows
from explorer.views.absence import LOADING

if TYPE_CHECKING:
    from explorer.client.entity import Entity

_MARKS: dict[LabelMark, tuple[str, str]] = {
    "on": (" ● ", "bold"),
    "some": (" ◐ ", ""),
    "off": (" ○ ", "dim"),
    "added": (" + ", "bold"),
    "removed": (" − ", "bold"),
    "fixed": (" ◆ ", "bold"),
}
_USES_WIDTH = 10
_ROOM_FOR_TEXT = 12

_Step = Literal["down", "up", "page_down", "page_up"]


class LabelLine(HintedLine):
    """The input line above the list; up and down move in the list."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("labelline")

    class Turned(Message):
        """Asks to add or remove the label under the cursor."""

    class ToRows(Message):
        """Asks to focus the list."""

    def __init__(self, move: Callable[[_Step], None], placeholder: str) -> None:
        super().__init__(placeholder=placeholder)
        self._move = move

    def action_turn(self) -> None:
        """Add or remove the label under the cursor."""
        self.post_message(self.Turned())

    def on_key(self, event: events.Key) -> None:
        """Add or remove the label under the cursor on a space in an empty line."""
        if event.key == "space" and self.selected_text == self.value:
            event.stop()
            event.prevent_default()
            self.action_turn()

    def action_down(self) -> None:
        """Move a row down."""
        self._move("down")

    def action_up(self) -> None:
        """Move a row up."""
        self._move("up")

    def action_page_down(self) -> None:
        """Move a screen down."""
        self._move("page_down")

    def action_page_up(self) -> None:
        """Move a screen up."""
        self._move("page_up")

    def action_to_rows(self) -> None:
        """Focus the list."""
        self.post_message(self.ToRows())


class LabelRows(Rows):
    """The labels, each with a mark."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("labelrows")

    class ToLine(Message):
        """Asks to focus the input line."""

    def action_turn(self) -> None:
        """Add or remove the label under the cursor."""
        self.action_choose()

    def action_to_line(self) -> None:
        """Focus the input line."""
        self.post_message(self.ToLine())

    def move(self, step: _Step) -> None:
        """Move the cursor by a row or a screen, up or down."""
        match step:
            case "down":
                self.action_down()
            case "up":
                self.action_up()
            case "page_down":
                self.action_page_down()
            case "page_up":
                self.action_page_up()


def draw_label(
    mark: LabelMark, name: str, about: str, used: str, width: int, name_width: int
) -> Text:
    """Return a row: mark, name, number of uses, description."""
    sign, style = _MARKS[mark]
    room = min(name_width, max(width - 3 - _USES_WIDTH, 8))
    row = Text(sign, style)
    row.append_text(padded(line_text(name, "" if mark == "off" else "bold"), room))
    space = width - 3 - room
    if space >= _USES_WIDTH:
        row.append(f"{used:>{_USES_WIDTH - 1}} ", "dim")
        space -= _USES_WIDTH
    if space >= _ROOM_FOR_TEXT:
        row.append("  ").append_text(padded(preview(about, "dim"), space - 2))
    return row


_NAME_AT_LEAST = 12


class PickerScreen(FramedScreen[LabelSession], SessionScreen[LabelSession, LabelState]):
    """The picker for labels of one kind, of an entity, a column, or all marked items. Nothing is
    written before the save. Returns the session if something was written or staged."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("labels")
    DOING = "choosing labels"
    DEFAULT_CSS = """
    PickerScreen > Vertical { width: 100; height: 28; }
    PickerScreen #what, PickerScreen #found { height: 1; }
    PickerScreen #found { color: $text-muted; }
    PickerScreen LabelRows { height: 1fr; min-height: 2; background: $surface; }
    PickerScreen #preview { height: auto; max-height: 3; }
    """

    def __init__(self, session: TerminalSession, labels: LabelSession) -> None:
        super().__init__()
        self._session = session
        self._labels = labels
        self._shown = labels.state
        self._name_width = _NAME_AT_LEAST

    def compose(self) -> ComposeResult:
        """Yield the heading, the input line, the count, the list, the preview, and the keys."""
        with Vertical():
            yield Static("", id="what", markup=False)
            yield LabelLine(
                lambda step: self.query_one(LabelRows).move(step),
                f"type the name of a {self._noun} …",
            )
            yield Static("", id="found", markup=False)
            yield LabelRows()
            yield Static("", id="preview", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        """Focus the input line, and read the present labels."""
        self.set_focus(self.query_one(LabelLine))
        self._show_title()
        self.follow(self._labels)
        self._begin(self._labels.open())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow ownership types only for owners."""
        del parameters
        return action != "kind" or self._labels.kind == "owners"

    @property
    def _noun(self) -> str:
        return FOUND[self._labels.kind][0]

    @property
    def _several(self) -> str:
        return NOUNS[self._labels.kind][1]

    def action_write(self) -> None:
        """Save the changes."""
        self._save()

    def action_leave(self) -> None:
        """Close; if something was chosen, ask first."""
        if not self._shown.choice.is_changed:
            self._leave()
            return
        question = Text.assemble(
            ("Close without saving these changes?\n", "bold"), self._draw_change()
        )
        self.confirm(question, self._leave, discards=True)

    def _leave(self) -> None:
        self.dismiss(self._labels if self._shown.edits else None)

    def action_kind(self) -> None:
        """Choose the next ownership type for the added owner under the cursor, and for owners added
        from now on."""
        row = self.query_one(LabelRows).under_cursor(self._shown.rows)
        self._begin(self._labels.next_ownership(row.label if row else None))

    @on(Input.Changed)
    def _handle_input(self, event: Input.Changed) -> None:
        event.stop()
        self._begin(self._labels.find(event.value))

    @on(LabelLine.Turned)
    def _handle_turn(self, event: LabelLine.Turned) -> None:
        event.stop()
        line = self.query_one(LabelLine)
        text = line.value.strip()
        if text == (self._shown.offered.text or ""):
            self._turn(self.query_one(LabelRows).cursor)
            return
        # The list may still show the results for the previous text.
        line.action_select_all()
        self._turn_first_of(text)

    @on(Rows.Chosen)
    def _handle_chosen(self, event: Rows.Chosen) -> None:
        event.stop()
        self._turn(event.index)

    @on(LabelLine.ToRows)
    def _to_rows(self, event: LabelLine.ToRows) -> None:
        event.stop()
        self.set_focus(self.query_one(LabelRows))

    @on(LabelRows.ToLine)
    def _to_line(self, event: LabelRows.ToLine) -> None:
        event.stop()
        line = self.query_one(LabelLine)
        self.set_focus(line)
        line.action_select_all()

    @work(group="labels")
    async def _begin(self, step: Coroutine[Any, Any, object]) -> None:
        await self.do(step)

    @work(group="labels")
    async def _turn_first_of(self, text: str) -> None:
        creatable = await self.do(self._labels.toggle_first(text))
        if creatable is not None:
            self._ask_to_make(creatable)

    def _turn(self, index: int) -> None:
        if index >= len(self._shown.rows):
            return
        row = self._shown.rows[index]
        if row.creates:
            self._ask_to_make(row)
            return
        self.query_one(LabelLine).action_select_all()
        self._begin(self._labels.toggle(row.label))

    def _ask_to_make(self, row: LabelRow) -> None:
        """Ask whether to create the typed label; then create and choose it."""
        question = Text.assemble(
            "There is no tag ",
            line_text(row.creates, "bold"),
            ". Create it?\n",
            (f"{self._labels.creation.capitalize()}.", "dim"),
        )

        def create() -> None:
            self.query_one(LabelLine).action_select_all()
            self._begin(self._labels.create(row.label))

        self.confirm(question, create)

    @work(exclusive=True, group="write", name=LEADING)
    async def _save(self) -> None:
        with self._session.reporting(f"writing {self._several}", lambda _: True):
            await self._labels.save()
            self.dismiss(self._labels)

    def draw_state(self, before: LabelState, state: LabelState) -> None:
        """Show the labels to choose from, and the chosen changes."""
        offers = (state.rows, state.offered, state.why_unread)
        if offers != (before.rows, before.offered, before.why_unread):
            names = (line_text(row.name).cell_len for row in state.rows)
            self._name_width = max(_NAME_AT_LEAST, *names, 0)
            rows = self.query_one(LabelRows)
            rows.show(
                len(state.rows),
                self._draw_row,
                cursor=rows.cursor if before.offered == state.offered else 0,
                empty=self._labels.why_none(),
            )
        self._show_title()
        if state.work is not None and before.work is None:
            self.say(str(state.work))

    def _draw_row(self, index: int, width: int) -> tuple[Text]:
        row = self._shown.rows[index]
        if row.creates:
            return (Text.assemble((" ⊕ ", "bold"), "Create tag ", line_text(row.creates, "bold")),)
        verb = "owns" if self._labels.kind == "owners" else "on"
        used = "" if row.uses is None else f"{verb} {row.uses:,}"
        name_width = min(self._name_width, width * 2 // 5)
        return (draw_label(row.mark, row.name, row.about, used, width, name_width),)

    def _draw_change(self) -> Text:
        return draw_change(self._shown.choice, self._labels.name_of)

    def _show_title(self) -> None:
        """Show the heading, cut at the width."""
        if not self.is_mounted:
            return
        title = Text.assemble(
            (self._several.capitalize(), "bold"),
            " of ",
            line_text(self._labels.target.full_name),
        )
        if self._labels.kind == "owners":
            word = ownership_word(self._shown.ownership, self._labels.name_of)
            title.append(" · new owners become ").append_text(line_text(word, "bold"))
        width = self.query_one("#what").size.width or 76
        self.query_one("#what", Static).update(padded(title, width))
        self.query_one("#found", Static).update(self._count_words())
        change = self._draw_change()
        if not change.plain:
            change = Text(NO_CHANGES, "dim italic")
        self.query_one("#preview", Static).update(change)

    def _count_words(self) -> str:
        """Return in words how many labels match, or why none are shown."""
        offered = self._shown.offered
        if self._shown.why_unread:
            return f"{self._shown.why_unread} esc closes."
        if offered.text is None:
            return LOADING.phrase
        count, total = len(offered.offers), offered.total
        words = counted(total, *FOUND[self._labels.kind])
        if count < total:
            words += f" · {count:,} shown"
        return f"{words} · best first" if offered.text else f"{words} · most used first"

    def on_resize(self) -> None:
        """Cut the title at the width."""
        self._show_title()


class LabelLauncher:
    """Opens the dialogs for labels, deprecation and hiding on an entity's page. `refresh` reads the
    entity again and shows it."""

    def __init__(
        self,
        page: Widget,
        session: TerminalSession,
        refresh: Callable[[], Awaitable[object]],
    ) -> None:
        self._page = page
        self._session = session
        self._refresh = refresh

    def label(self, kind: LabelKind, entity: "Entity | None", path: str | None = None) -> None:
        """Choose tags, terms, owners or the domain of an entity, or of its column at `path`."""
        if entity is None or self._session.refuses_to_write():
            return
        if why := why_not_labelled(entity, kind):
            self._session.say(why, error=True)
        else:
            start_worker(self._page, partial(self._pick, kind, entity, path), group="labels")

    async def _pick(self, kind: LabelKind, entity: "Entity", path: str | None) -> None:
        def report_edits(labels: LabelSession | None) -> None:
            if labels is not None:
                self._after(labels.describe_edits())

        with self._session.reporting(f"choosing {NOUNS[kind][1]}"):
            catalog, target = await self._session.catalog(), LabelTarget.of(entity, path)
            labels = LabelSession(catalog, target, kind, labels_of(entity, kind, path))
            self._page.app.push_screen(PickerScreen(self._session, labels), report_edits)

    def deprecate(self, entity: "Entity | None") -> None:
        """Deprecate an entity, or change or remove its deprecation."""
        if entity is not None and not self._refuses(entity):
            start_worker(self._page, partial(self._deprecate, entity), LEADING, group="labels")

    async def _deprecate(self, entity: "Entity") -> None:
        with self._session.reporting("opening the deprecation"):
            stored = DeprecationFields.of(entity)
            catalog = await self._session.catalog()
            lifecycle = LifecycleSession(catalog, entity.urn, entity.name, stored)
            screen = DeprecationScreen(self._session, lifecycle)
            self._page.app.push_screen(screen, self._report_lifecycle)

    def set_aside(self, entity: "Entity | None") -> None:
        """Hide an entity, or restore a hidden one."""
        if entity is not None and not self._refuses(entity):
            start_worker(self._page, partial(self._set_aside, entity), LEADING, group="labels")

    async def _set_aside(self, entity: "Entity") -> None:
        with self._session.reporting("opening what hides it"):
            lifecycle = LifecycleSession(await self._session.catalog(), entity.urn, entity.name)
            hides = not entity.removed
            screen = HideScreen(self._session, lifecycle, hides=hides)
            report = partial(self._report_lifecycle, hint="; ^x restores it." if hides else ".")
            self._page.app.push_screen(screen, report)

    def _report_lifecycle(self, lifecycle: LifecycleSession | None, hint: str = ".") -> None:
        if lifecycle is not None and lifecycle.state.message is not None:
            self._after(f"{lifecycle.state.message.sentence.removesuffix('.')}{hint}")

    def _refuses(self, entity: "Entity") -> bool:
        if self._session.refuses_to_write():
            return True
        if not entity.exists:
            self._session.say(
                "Nothing can be written: the entity is not in the catalog, only referenced in it.",
                error=True,
            )
            return True
        return False

    def _after(self, sentence: str) -> None:
        start_worker(self._page, partial(self._show_again, sentence), group="labelled")

    async def _show_again(self, sentence: str) -> None:
        await self._refresh()
        self._session.say_saved(sentence)
