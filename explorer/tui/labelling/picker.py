"""Choosing labels: what is there, what may be put on, and what will be written."""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static
from textual.worker import get_current_worker

from explorer.client.display import in_quotes
from explorer.client.journal import one_save
from explorer.errors import InvalidInput
from explorer.metadata.urn import Urn
from explorer.tui.actions import bindings
from explorer.tui.content import padded, said
from explorer.tui.inorder import LEADING
from explorer.tui.labelling.choice import Choice, Kind, owner_of
from explorer.tui.labelling.offers import FOUND, NOUNS, Offered, Offers
from explorer.tui.labelling.ownership import OWNERSHIPS, read_ownerships
from explorer.tui.labelling.place import Place, read_choice
from explorer.tui.labelling.question import DiscardScreen, QuestionScreen
from explorer.tui.labelling.rows import LabelLine, LabelRows, draw_label
from explorer.tui.labelling.told import ownership_word, tell_change, tell_label
from explorer.tui.labelling.writing import write_choice
from explorer.tui.rows import Rows
from explorer.tui.session import Session
from explorer.tui.shell.keyline import KeyLine

if TYPE_CHECKING:
    from explorer.client.records import Edit

__all__ = ["PickerScreen"]

_TYPING_PAUSE_SECONDS = 0.03
_NAME_AT_LEAST = 12


@dataclass(frozen=True, slots=True)
class _Row:
    """A label that may be put on, or a name for which a label can be made."""

    label: str
    makes: str = ""


class PickerScreen(ModalScreen["tuple[Edit, ...]"]):
    """Labels of one kind on one place. Nothing is written before it is said to be; what is refused
    leaves everything chosen as it is. Gives the edits that were made."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("labels")
    CSS = """
    PickerScreen { align: center middle; }
    PickerScreen > Vertical {
        width: 100; max-width: 96%; height: 28; max-height: 92%;
        background: $surface; border: round $primary; padding: 0 1;
    }
    PickerScreen #what, PickerScreen #found { height: 1; }
    PickerScreen #found { color: $text-muted; }
    PickerScreen LabelRows { height: 1fr; min-height: 2; background: $surface; }
    PickerScreen #preview { height: auto; max-height: 3; }
    """

    def __init__(self, session: Session, place: Place, kind: Kind, choice: Choice) -> None:
        super().__init__()
        self._session = session
        self._place = place
        self._kind: Kind = kind
        self._choice = choice
        self._offers = Offers(kind)
        self._offered = Offered("", (), 0)
        self._rows: list[_Row] = []
        self._name_width = _NAME_AT_LEAST
        self._ownerships = OWNERSHIPS
        self._ownership = OWNERSHIPS[0]
        # What was taken before it was found; held in turn, and before anything is written.
        self._wishing = asyncio.Lock()
        self._reading = "reading …"
        self._is_writing = False
        self._edits: list[Edit] = []
        self._save_id = ""

    def compose(self) -> ComposeResult:
        """What is changed, the line, what was found, the list, what will be written; the keys."""
        one, _ = FOUND[self._kind]
        with Vertical():
            yield Static("", id="what", markup=False)
            yield LabelLine(
                lambda step: self.query_one(LabelRows).move(step), f"type the name of a {one} …"
            )
            yield Static("", id="found", markup=False)
            yield LabelRows()
            yield Static("", id="preview", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        """Type at once; what is there comes with the first answer."""
        self.set_focus(self.query_one(LabelLine))
        self._tell()
        self._begin()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only owners are of a kind."""
        del parameters
        return action != "kind" or self._kind == "owners"

    def say(self, message: str, *, error: bool = False) -> None:
        """Show one sentence in place of the keys."""
        self.query_one(KeyLine).say(message, error=error)

    def name_of(self, urn: str) -> str:
        """The name people know a URN by, as far as it was read."""
        return self._offers.known(urn).name

    def action_write(self) -> None:
        """Save the changes."""
        if not self._choice.changed and not self._wishing.locked():
            self.say("No changes yet; esc leaves.")
        elif not self._is_writing:
            self._write()

    def action_leave(self) -> None:
        """Leave; where something was chosen, ask first."""
        if not self._choice.changed:
            self.dismiss(tuple(self._edits))
            return
        question = Text.assemble(
            ("Leave without saving these changes?\n", "bold"),
            tell_change(self._choice, self.name_of),
        )

        def answered(leaves: bool | None) -> None:
            if leaves:
                self.dismiss(tuple(self._edits))

        self.app.push_screen(DiscardScreen(question), answered)

    def action_kind(self) -> None:
        """The next kind of ownership, for the owner under the cursor that is to be put on, and for
        whom is put on from now."""
        at = self._ownerships.index(self._ownership) + 1
        following = self._ownerships[at % len(self._ownerships)]
        rows = self.query_one(LabelRows)
        row = self._rows[rows.cursor] if rows.cursor < len(self._rows) else None
        if row is not None and self._choice.state(row.label) == "added":
            urn, _ = owner_of(row.label)
            self._choice.toggle(row.label)
            if self._choice.state(f"{urn} {following}") == "off":
                self._choice.toggle(f"{urn} {following}")
        self._ownership = following
        self._lay_out(keep=True)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self._find(event.value)

    @on(LabelLine.Turned)
    def _turned(self, event: LabelLine.Turned) -> None:
        event.stop()
        line = self.query_one(LabelLine)
        if line.value.strip() != self._offered.text:
            # The list is still about what was typed before, and what is typed next is another.
            self._turn_first_of(line.value.strip())
            line.action_select_all()
            return
        self._turn(self.query_one(LabelRows).cursor)

    @on(Rows.Chosen)
    def _chosen(self, event: Rows.Chosen) -> None:
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

    @work(group="begin")
    async def _begin(self) -> None:
        with self._session.reporting(f"reading {NOUNS[self._kind][1]}"):
            catalog = await self._session.catalog()
            now, offered = await asyncio.gather(
                read_choice(catalog, self._place, self._kind), self._offers.matching(catalog, "")
            )
            self._choice.fixed = now.fixed
            self._choice.found(now.there)
            if self._kind == "owners":
                self._ownerships = await read_ownerships(catalog)
            urns = [owner_of(label) for label in self._choice.concerned]
            await self._offers.read(catalog, [urn for urn, _ in urns])
            kinds = [kind for _, kind in urns if kind.startswith("urn:")]
            await self._offers.read(catalog, [*kinds, *self._ownerships])
            if self.query_one(LabelLine).value.strip():
                self._lay_out(keep=True)
            else:
                self._show(offered)
            return
        if self._reading:
            one, _ = FOUND[self._kind]
            self._reading = f"Nothing was read; the name of a {one} asks again, esc leaves."
            self._tell()

    @work(exclusive=True, group="offers")
    async def _find(self, text: str) -> None:
        await asyncio.sleep(_TYPING_PAUSE_SECONDS)
        with self._session.reporting(f"looking for {NOUNS[self._kind][1]}"):
            catalog = await self._session.catalog()
            self._show(await self._offers.matching(catalog, text))

    def _show(self, offered: Offered) -> None:
        self._offered, self._reading = offered, ""
        self._lay_out(keep=False)

    @work(group="wishes")
    async def _turn_first_of(self, text: str) -> None:
        async with self._wishing:
            with self._session.reporting(f"looking for {NOUNS[self._kind][1]}"):
                catalog = await self._session.catalog()
                offered = await self._offers.matching(catalog, text)
                if self.query_one(LabelLine).value.strip() == text:
                    self._show(offered)
                    self._turn(0)
                elif not offered.offers:
                    self.say(
                        f"No {FOUND[self._kind][0]} matches {in_quotes(text, 60)}.", error=True
                    )
                elif self._choice.toggle(self._labels_of(offered.offers[0].urn)[0]):
                    self.query_one(LabelRows).refresh()
                    self._tell()

    def _turn(self, index: int) -> None:
        if index >= len(self._rows):
            return
        row = self._rows[index]
        if row.makes:
            self._ask_to_make(row)
            return
        if not self._choice.toggle(row.label):
            self.say("This came in with the schema; it is taken off where the schema comes from.")
            return
        self._after_turning()

    def _after_turning(self) -> None:
        self.query_one(LabelLine).action_select_all()
        self.query_one(LabelRows).refresh()
        self._tell()

    def _ask_to_make(self, row: _Row) -> None:
        question = Text.assemble(
            "There is no tag ",
            said(row.makes, "bold"),
            ". Create it?\n",
            ("Created when you save.", "dim"),
        )

        def answered(makes: bool | None) -> None:
            if makes:
                self._choice.create(row.label)
                self._lay_out(keep=True)
                self._after_turning()

        self.app.push_screen(QuestionScreen(question), answered)

    @work(exclusive=True, group="write", name=LEADING)
    async def _write(self) -> None:
        self._is_writing = True
        async with self._wishing:
            self.say("writing …")
        if not self._choice.changed:
            self._is_writing = False
            self.say("No changes yet; esc leaves.")
            return
        with self._session.reporting(f"writing {NOUNS[self._kind][1]}"):
            try:
                catalog = await self._session.catalog()
                # What failed in the middle and is written again is still the same save.
                with one_save(self._save_id) as self._save_id:
                    async for edit in write_choice(catalog, self._place, self._kind, self._choice):
                        self._edits.append(edit)
            finally:
                # Also where only a part was written, or another is there by now.
                self._is_writing = False
                # One that was left meanwhile has no rows any more.
                if not get_current_worker().is_cancelled:
                    self._lay_out(keep=True)
            self.dismiss(tuple(self._edits))

    def _lay_out(self, *, keep: bool) -> None:
        """Make the rows: without a text what is there and is chosen, then what may be."""
        offered, choice = self._offered, self._choice
        found = [offer.urn for offer in offered.offers]
        labels: list[str] = [] if offered.text else list(choice.concerned)
        for urn in found:
            labels += self._labels_of(urn)
        self._rows = [_Row(label) for label in dict.fromkeys(labels)]
        makes = self._makes()
        if makes is not None:
            self._rows.append(makes)
        names = (said(tell_label(row.label, self.name_of)).cell_len for row in self._rows)
        self._name_width = max(_NAME_AT_LEAST, *names, 0)
        rows = self.query_one(LabelRows)
        one, _ = FOUND[self._kind]
        rows.show(
            len(self._rows),
            self._draw_row,
            cursor=rows.cursor if keep else 0,
            empty=f"No {one} matches {in_quotes(offered.text, 60)}."
            if offered.text
            else f"No {one} exists yet.",
        )
        self._tell()

    def _labels_of(self, urn: str) -> list[str]:
        """The labels of one that was found: an owner's of every kind there is or may be."""
        if self._kind != "owners":
            return [urn]
        there = [label for label in self._choice.concerned if owner_of(label)[0] == urn]
        return [*there, f"{urn} {self._ownership}"]

    def _makes(self) -> _Row | None:
        """The row that makes a tag of what was typed, where there is none of that name."""
        text = self._offered.text
        if self._kind != "tags" or not text:
            return None
        called = {self.name_of(row.label).lower() for row in self._rows}
        try:
            label = str(Urn.parse(f"urn:li:tag:{text}"))
        except InvalidInput:
            return None
        if text.lower() in called or label in {row.label for row in self._rows}:
            return None
        return _Row(label) if label in self._choice.new else _Row(label, makes=text)

    def _draw_row(self, index: int, width: int) -> tuple[Text]:
        row = self._rows[index]
        if row.makes:
            return (Text.assemble((" ⊕ ", "bold"), "Create tag ", said(row.makes, "bold")),)
        state = self._choice.state(row.label)
        offer = self._offers.known(owner_of(row.label)[0])
        about = "created when you save" if row.label in self._choice.new else offer.about
        if state == "fixed":
            about = "came in with the schema"
        name_width = min(self._name_width, width * 2 // 5)
        name = tell_label(row.label, self.name_of)
        verb = "owns" if self._kind == "owners" else "on"
        used = "" if offer.uses is None else f"{verb} {offer.uses:,}"
        return (draw_label(state, name, about, used, width, name_width),)

    def _tell(self) -> None:
        if not self.is_mounted:
            return
        _, several = NOUNS[self._kind]
        title = Text.assemble((several.capitalize(), "bold"), " of ", said(self._place.called))
        if self._kind == "owners":
            word = said(ownership_word(self._ownership, self.name_of), "bold")
            title.append(" · new owners become ").append_text(word)
        width = self.query_one("#what").size.width or 76
        self.query_one("#what", Static).update(padded(title, width))
        self.query_one("#found", Static).update(self._found_words())
        change = tell_change(self._choice, self.name_of)
        if not change.plain:
            change = Text("No changes yet.", "dim italic")
        self.query_one("#preview", Static).update(change)

    def _found_words(self) -> str:
        if self._reading:
            return self._reading
        offered, (one, several) = self._offered, FOUND[self._kind]
        shown, total = len(offered.offers), offered.total
        words = f"{total:,} {one if total == 1 else several}"
        if shown < total:
            words += f" · {shown:,} shown"
        return f"{words} · best first" if offered.text else f"{words} · most used first"

    def on_resize(self) -> None:
        """The title is cut where the room ends."""
        self._tell()
