"""Sources of metadata: the list of added sources and of those found on this machine; and the form
that adds a source: its address, the plan of changes, and the run."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Input, Label, Static

from explorer.errors import CatalogError
from explorer.sessions.sources import STOPPED, AddedSource, SourceSession, SourcesState
from explorer.sources.configured import ConfiguredSource
from explorer.sources.run import RunPlan
from explorer.sources.source import LocalSource, SourceOptions, Stopped, WrongPassword
from explorer.tui.actions import bindings
from explorer.tui.content import join, line_text, padded
from explorer.tui.key_queue import LEADING
from explorer.tui.session import TerminalSession, sentence_of
from explorer.tui.widgets.bars import KeyLine
from explorer.tui.widgets.dialogs import AddressListDialog, FramedScreen, SessionScreen
from explorer.tui.widgets.inputs import HintedLine
from explorer.views.sources import (
    options_sentence,
    plan_lines,
    removal_question,
    removals_question,
    state_text,
)

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.sessions.base import Message

_NAME: Final = 20
_BAR: Final = 24
_MOST_SKIPPED: Final = 20
# The width of the labels in the form.
_LABEL: Final = 12
_ADDRESS_HINT: Final = "a file, a folder, or postgresql://user@host/database"


@dataclass(frozen=True, slots=True)
class SourceChoice:
    """A source to add, or to run again with the `name` and `options` of the first run."""

    location: str = ""
    name: str = ""
    options: SourceOptions = field(default_factory=SourceOptions)
    password: str | None = None
    is_added: bool = False


class SourcesScreen(AddressListDialog[SourceChoice | None, SourcesState]):
    """Lists the added sources, then the sources found on this machine; returns the source to add or
    to run again."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("sources")
    DOING = "reading the sources"
    TITLE_SHOWN = "Sources"
    ADDRESS_HINT = _ADDRESS_HINT
    NONE_HINT = "press a to enter an address"
    OFFERED: ClassVar[Mapping[str, str]] = {"remove": "remove"}
    _list: SourceSession | None = None

    def __init__(self, session: TerminalSession) -> None:
        super().__init__(session)
        self._shown = SourcesState(instead=SourceSession.READING)

    def begin(self, catalog: "AsyncCatalog") -> SourceSession:
        """Create the session that reads this list."""
        return SourceSession(catalog, folder=Path.cwd())

    def draw_row(self, index: int, width: int) -> tuple[Text, Text]:
        """Return the two lines of a source: its name with its last run or how it was found; its
        address."""
        row = self._shown.listed[index]
        if isinstance(row, AddedSource):
            source, run = row
            sign, name, place = "●", source.name, source.location or "run by DataHub's ingestion"
            marks = [Text(source.kind), Text(state_text(run, datetime.now(UTC)), "bold")]
            if run is not None:
                marks.append(Text(self._session.times.format(run.started_millis), "dim"))
        else:
            sign, name, place = "+", _short_name(row.location), row.location
            marks = [line_text(row.known_from)]
        first = Text.assemble(f" {sign} ", padded(line_text(name, "bold"), _NAME), " ")
        first.append_text(join(marks))
        return first, Text("   ").append_text(padded(line_text(place, "dim"), width - 4))

    def choose(self) -> None:
        """Close with the source under the cursor, to add it or to run it again."""
        row = self._shown.current
        if isinstance(row, LocalSource):
            self.dismiss(SourceChoice(row.location, password=row.password))
        elif row is not None and row.source.is_own:
            source = row.source
            self.dismiss(SourceChoice(source.location, source.name, source.options, is_added=True))
        else:
            self.say("DataHub's own ingestion runs this source.", error=True)

    @on(Input.Submitted)
    def _handle_address(self, event: Input.Submitted) -> None:
        event.stop()
        if event.value.strip():
            self.dismiss(SourceChoice(event.value.strip()))

    def action_remove(self) -> None:
        """Remove the source under the cursor and hide its datasets."""
        row = self._shown.current
        if isinstance(row, AddedSource) and self.is_possible("remove"):
            question = line_text(removal_question(row.source))
            self.confirm(question, partial(self._remove, row.source))

    @work(exclusive=True, group="remove")
    async def _remove(self, source: ConfiguredSource) -> None:
        if self._list is not None:
            removal = await self.do(self._list.plan_removal(source))
            if removal is not None:
                await self.act("remove", removal)


def _short_name(location: str) -> str:
    return location.partition("?")[0].rstrip("/").rpartition("/")[2] or location


_FIELDS: Final = (
    ("location", "address", _ADDRESS_HINT),
    ("name", "name", "taken from the source"),
    ("env", "environment", "PROD"),
    ("instance", "instance", "optional prefix of the table names"),
    ("schemas", "schemas", "all, or patterns such as: sales* crm"),
    ("patterns", "one table", "files that are one, such as: orders_*.csv"),
    ("encoding", "encoding", "of text files; found out"),
    ("password", "password", "not shown, not saved"),
)


class AddSourceScreen(FramedScreen[str | None], SessionScreen[str | None, SourcesState]):
    """Reads a source, shows the changes that it would make, and writes them to the catalog. Returns
    a search for the added metadata; None if it was cancelled."""

    CSS = """
    AddSourceScreen > Vertical { width: 96; max-width: 100%; max-height: 90%; }
    AddSourceScreen Horizontal { height: 1; }
    AddSourceScreen Label { width: 13; color: $text-muted; }
    AddSourceScreen Input { padding: 0; width: 1fr; background: $boost; }
    AddSourceScreen #password-row { display: none; }
    AddSourceScreen.-password #password-row { display: block; }
    AddSourceScreen VerticalScroll { height: auto; max-height: 1fr; margin: 1 0 0 0; }
    AddSourceScreen Static { height: auto; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("addsource")
    _followed: SourceSession | None = None

    def __init__(self, session: TerminalSession, choice: SourceChoice) -> None:
        super().__init__()
        self._session = session
        self._choice = choice
        self._shown = SourcesState()

    @property
    def _plan(self) -> RunPlan | None:
        return self._shown.plan

    @property
    def _is_busy(self) -> bool:
        return self._shown.work is not None

    def compose(self) -> ComposeResult:
        """Yield the fields of the form, and the message below them."""
        options = self._choice.options
        values = {
            "location": self._choice.location,
            "name": self._choice.name,
            "env": options.env if self._choice.is_added else "",
            "instance": options.instance or "",
            "schemas": " ".join(options.schemas),
            "patterns": " ".join(options.patterns),
            "encoding": options.encoding or "",
        }
        with Vertical() as frame:
            frame.border_title = "Run it again" if self._choice.is_added else "Add a source"
            for name, label, hint in _FIELDS:
                with Horizontal(id=f"{name}-row"):
                    yield Label(label, markup=False)
                    yield HintedLine(
                        values.get(name, ""),
                        placeholder=hint,
                        id=name,
                        password=name == "password",
                        select_on_focus=False,
                    )
            with VerticalScroll(can_focus=False):
                yield Static(id="told", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        """Read the source at once if its address is known."""
        self.set_focus(self.query_one("#location", Input))
        if self._choice.location:
            self._read()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow only the next step of the form."""
        del parameters
        match action:
            case "read":
                return self._plan is None and not self._is_busy
            case "join_files":
                return self.why_not("join_files") == ""
            case "add":
                is_ready = self._plan is not None and not self._is_busy
                return None if is_ready and self._session.read_only else is_ready
        return True

    @on(Input.Changed)
    def _handle_change(self) -> None:
        """Discard the plan, because the form has changed."""
        if self._plan is not None and not self._is_busy and self._followed is not None:
            self._followed.drop_plan()
            self._show_status(Text("The form changed; ⏎ reads the source again.", "dim"))

    @on(Input.Submitted)
    def _handle_submit(self, event: Input.Submitted) -> None:
        event.stop()
        if self._plan is not None and not self._is_busy:
            self.action_add()
        else:
            self.action_read()

    def action_read(self) -> None:
        """Connect to the source, read it, and show the plan; nothing is written."""
        if not self._is_busy:
            self._read()

    def action_add(self) -> None:
        """Write the plan to the catalog."""
        if self._plan is None or self._is_busy or self._session.refuses_to_write():
            return
        plan = self._plan
        question = removals_question(plan)
        if question:
            self.confirm(line_text(question), partial(self._write, plan, accept_removals=True))
        else:
            self._write(plan, accept_removals=False)

    def action_leave(self) -> None:
        """Stop the work under way. If there is none, or it was asked to stop already (its host may
        not answer), close."""
        if self._followed is None or not self._is_busy or self._shown.is_stopping:
            self.dismiss(None)
            return
        self._followed.cancel()
        self._show_problem("Stopping … press esc again to close without waiting.")

    def _value(self, name: str) -> str:
        return self.query_one(f"#{name}", Input).value.strip()

    def _options(self) -> SourceOptions:
        return replace(
            self._choice.options,
            env=self._value("env") or "PROD",
            instance=self._value("instance") or None,
            schemas=tuple(self._value("schemas").replace(",", " ").split()),
            patterns=tuple(self._value("patterns").split()),
            encoding=self._value("encoding") or None,
        )

    def _explicit_options(self) -> tuple[str, ...]:
        """Return the names of the options to take from the form even if they are empty: all if the
        form started with the options of the source, else those that are filled in."""
        keys = ("env", "instance", "schemas", "patterns", "encoding")
        return tuple(key for key in keys if self._choice.is_added or self._value(key))

    @work(exclusive=True, group="source")
    async def _read(self) -> None:
        """Read the source with the options of the form, and show the plan."""
        location = self._value("location")
        if not location:
            self._show_problem("Enter an address: a file, a folder, or a database URL.")
            return
        options, name = self._options(), self._value("name")
        explicit_options = self._explicit_options()
        # A password found with an address is used only for that address.
        source_password = self._choice.password if location == self._choice.location else None
        password = self.query_one("#password", Input).value or source_password

        async def read(sources: SourceSession) -> None:
            await sources.open(location, name, options, explicit_options, password)
            await sources.plan()

        await self._do(f"reading {location}", read)
        self._show_plan()

    @work(exclusive=True, group="source")
    async def action_join_files(self) -> None:
        """Read the source again with the patterns that the plan suggests."""

        async def join(sources: SourceSession) -> None:
            await sources.join_files()

        await self._do("reading the files again", join)
        opened = self._shown.opened
        if opened is not None:
            with self.prevent(Input.Changed):
                self.query_one("#patterns", Input).value = " ".join(opened.options.patterns)
        self._show_plan()

    def _show_plan(self) -> None:
        """Show the plan of changes below the form, with skipped parts."""
        plan, opened = self._plan, self._shown.opened
        if plan is None or opened is None:
            return
        table = Table.grid(padding=(0, 1))
        table.add_column(width=_LABEL)
        skipped = plan.inventory.skipped
        reasons = [
            ("skipped", f"{part.subject}: {part.reason}") for part in skipped[:_MOST_SKIPPED]
        ]
        for label, words in (*plan_lines(plan), *reasons):
            table.add_row(Text(label, "dim"), line_text(words))
        if len(skipped) > _MOST_SKIPPED:
            table.add_row("", Text(f"and {len(skipped) - _MOST_SKIPPED:,} more", "dim"))
        ends = [Text("⏎ adds it to the catalog; nothing is written yet.", "bold")]
        if opened.kept_options:
            ends.insert(0, Text(options_sentence(opened.kept_options)))
        if opened.loses_password:
            ends.insert(0, Text("The password is not saved: the next run asks for it again."))
        self._show_status(Group(table, *ends))

    @work(exclusive=True, group="source", name=LEADING)
    async def _write(self, plan: RunPlan, *, accept_removals: bool) -> None:
        """Write the plan to the catalog, and close with a search for the added datasets."""

        async def write(sources: SourceSession) -> None:
            await sources.write(plan, accept_removals=accept_removals)

        await self._do(f"writing {plan.source.name}", write)
        message = self._shown.message
        if self._shown.outcome is None or message is None:
            return
        self._session.say(message.sentence, error=message.is_error)
        platforms = {urn.platform for urn in plan.effects if urn.entity_type == "dataset"}
        self.dismiss(
            " OR ".join(f"platform:{platform}" for platform in sorted(filter(None, platforms)))
        )

    async def _do(
        self, doing: str, act: Callable[[SourceSession], Coroutine[Any, Any, None]]
    ) -> None:
        """Run a step of the session. Errors are shown below the form."""
        try:
            if self._followed is None:
                self.follow(SourceSession(await self._session.catalog()))
            if self._followed is not None:
                await act(self._followed)
        except Stopped:
            self._show_problem(STOPPED)
        except WrongPassword as error:
            self.add_class("-password")
            self.set_focus(self.query_one("#password", Input))
            self._show_problem(sentence_of(error))
        except CatalogError as error:
            # The error may be of the source or of the catalog; its sentence says which.
            self._show_problem(sentence_of(error))
        except Exception:
            with self._session.reporting(doing):
                raise
            self._show_status(Text())

    def tell(self, message: "Message") -> None:
        """Show nothing here: errors are shown below the form, the result when it closes."""

    def draw_state(self, before: SourcesState, state: SourcesState) -> None:
        """Show the progress of the work under way."""
        del before
        work = state.work
        if work is None or state.is_stopping:
            return
        text = Text(f"{work.sentence} …" if not work.done else f"{work.sentence}  {work.done:,}")
        if work.total:
            filled = round(_BAR * min(work.done / work.total, 1))
            text.append(f" of {work.total:,}  ")
            text.append("━" * filled, "bold").append("━" * (_BAR - filled), "dim")
        self._show_status(text)

    def _show_problem(self, sentence: str) -> None:
        self._show_status(line_text(sentence, "bold"))

    def _show_status(self, content: RenderableType) -> None:
        if not self.is_closed:
            self.query_one("#told", Static).update(content)
