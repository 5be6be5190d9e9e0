"""Sources of metadata: those that were added, those found on this machine, and the form that adds
one: its address, the plan of its changes, and the run."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widgets import Input, Label, Static

from explorer.client.display import counted
from explorer.errors import CatalogError
from explorer.sessions.sources import STOPPED, SourceSession, SourcesState
from explorer.sources.configured import ConfiguredSource
from explorer.sources.run import RunPlan
from explorer.sources.source import SourceOptions, Stopped, WrongPassword
from explorer.tui.actions import bindings
from explorer.tui.content import join, line_text, padded
from explorer.tui.key_queue import LEADING
from explorer.tui.session import TerminalSession, sentence_of
from explorer.tui.widgets.bars import KeyLine
from explorer.tui.widgets.dialogs import FramedScreen
from explorer.tui.widgets.inputs import HintedLine
from explorer.tui.widgets.rows import Rows
from explorer.views.sources import options_sentence, plan_lines, removals_question, state_text

_NAME: Final = 20
_BAR: Final = 24
_MOST_SKIPPED: Final = 20
# As wide as the labels of the form.
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


class SourcesScreen(FramedScreen[SourceChoice | None]):
    """Lists the added sources, then those found on this machine; returns the one to add or to run
    again."""

    CSS = """
    SourcesScreen > Vertical { width: 96; max-width: 100%; max-height: 90%; padding: 0; }
    SourcesScreen Rows { height: auto; max-height: 1fr; background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("sources")

    def __init__(self, session: TerminalSession) -> None:
        super().__init__()
        self._session = session
        self._sources: SourceSession | None = None

    @property
    def _state(self) -> SourcesState:
        return self._sources.state if self._sources is not None else SourcesState()

    def compose(self) -> ComposeResult:
        """Yield the list and the input below it."""
        with Vertical() as frame:
            frame.border_title = "Sources"
            yield Rows(row_height=2)
            yield HintedLine(placeholder=_ADDRESS_HINT)
        yield KeyLine()

    def on_mount(self) -> None:
        """Read the lists."""
        rows = self.query_one(Rows)
        rows.styles.height = 2
        rows.show(0, self._draw, empty="looking for sources …")
        self.set_focus(rows)
        self._read()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow removing only added sources."""
        del parameters
        if action == "remove":
            is_added = self.query_one(Rows).cursor < len(self._state.added)
            return None if is_added and self._session.read_only else is_added
        return True

    def on_unmount(self) -> None:
        """End the session."""
        if self._sources is not None:
            self._sources.close()

    @work(exclusive=True)
    async def _read(self) -> None:
        with self._session.reporting("reading the sources"):
            if self._sources is None:
                self._sources = SourceSession(await self._session.catalog())
            await self._sources.read(Path.cwd())
        self._show()

    def _show(self) -> None:
        rows = self.query_one(Rows)
        count = len(self._state.added) + len(self._state.local)
        rows.styles.height = max(2, 2 * count)
        empty = "No sources yet, and none were found on this machine; press a to enter an address."
        rows.show(count, self._draw, empty=empty)
        self.refresh_bindings()

    def _draw(self, index: int, width: int) -> tuple[Text, Text]:
        added = self._state.added
        if index < len(added):
            source, run = added[index]
            state = state_text(run, datetime.now(UTC))
            marks = [Text(source.kind), Text(state, "bold")]
            if run is not None:
                marks.append(Text(self._session.times.format(run.started_millis), "dim"))
            name, place = source.name, source.location or "run by DataHub's ingestion"
            first = Text.assemble(" ● ", padded(line_text(name, "bold"), _NAME), " ").append_text(
                join(marks)
            )
        else:
            local = self._state.local[index - len(added)]
            name, place = _short_name(local.location), local.location
            first = Text.assemble(" + ", padded(line_text(name, "bold"), _NAME), " ").append_text(
                line_text(local.known_from)
            )
        return first, Text("   ").append_text(padded(line_text(place, "dim"), width - 4))

    @on(Rows.Moved)
    def _handle_move(self) -> None:
        self.refresh_bindings()

    @on(Rows.Chosen)
    def _choose_source(self, event: Rows.Chosen) -> None:
        event.stop()
        added = self._state.added
        if event.index >= len(added):
            local = self._state.local[event.index - len(added)]
            self.dismiss(SourceChoice(local.location, password=local.password))
            return
        source, _ = added[event.index]
        if source.is_own:
            self.dismiss(SourceChoice(source.location, source.name, source.options, is_added=True))
        else:
            self.say("DataHub's own ingestion runs this source.", error=True)

    @on(Input.Submitted)
    def _handle_address(self, event: Input.Submitted) -> None:
        event.stop()
        if event.value.strip():
            self.dismiss(SourceChoice(event.value.strip()))

    def action_address(self) -> None:
        """Focus the input for an address."""
        self.set_focus(self.query_one(Input))

    def action_remove(self) -> None:
        """Remove the source under the cursor and hide its datasets."""
        if self._session.refuses_to_write():
            return
        source, _ = self._state.added[self.query_one(Rows).cursor]
        what = (
            f" and hide the {counted(source.state.count('dataset'), 'dataset')} that it added? "
            "Adding it again restores them with their documentation."
        )
        if source.is_supplement:
            what = "? The lineage and usage that it added to datasets stay."
        question = Text.assemble("Remove ", line_text(source.name, "bold"), what)
        self.confirm(question, partial(self._remove, source))

    @work(exclusive=True, group="remove")
    async def _remove(self, source: ConfiguredSource) -> None:
        sources = self._sources
        if sources is None:
            return
        with self._session.reporting(f"removing {source.name}"):
            await sources.remove(await sources.plan_removal(source))
            if sources.state.message is not None:
                self.say(sources.state.message.sentence, error=sources.state.message.is_error)
        self._read()

    def action_close(self) -> None:
        """Go back from the input to the list; close from the list."""
        rows = self.query_one(Rows)
        if self.focused is rows:
            self.dismiss(None)
        else:
            self.set_focus(rows)


def _short_name(location: str) -> str:
    return location.partition("?")[0].rstrip("/").rpartition("/")[2] or location


_FIELDS: Final = (
    ("location", "address", _ADDRESS_HINT),
    ("name", "name", "taken from the source"),
    ("env", "environment", "PROD"),
    ("instance", "instance", "optional prefix of the table names"),
    ("schemas", "schemas", "all, or patterns such as: sales* crm"),
    ("password", "password", "not shown, not saved"),
)


class AddSourceScreen(FramedScreen[str | None]):
    """Reads a source, shows its changes, and writes them to the catalog. Returns a search for the
    added metadata; None if it was cancelled."""

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

    def __init__(self, session: TerminalSession, choice: SourceChoice) -> None:
        super().__init__()
        self._session = session
        self._choice = choice
        self._sources: SourceSession | None = None

    @property
    def _state(self) -> SourcesState:
        return self._sources.state if self._sources is not None else SourcesState()

    @property
    def _plan(self) -> RunPlan | None:
        return self._state.plan

    @property
    def _is_busy(self) -> bool:
        return self._state.work is not None

    def compose(self) -> ComposeResult:
        """Yield the fields of the form, and the message below them."""
        options = self._choice.options
        values = {
            "location": self._choice.location,
            "name": self._choice.name,
            "env": options.env if self._choice.is_added else "",
            "instance": options.instance or "",
            "schemas": " ".join(options.schemas),
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

    def on_unmount(self) -> None:
        """Stop the work under way."""
        if self._sources is not None:
            self._sources.close()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow the next step."""
        del parameters
        match action:
            case "read":
                return self._plan is None and not self._is_busy
            case "add":
                is_ready = self._plan is not None and not self._is_busy
                return None if is_ready and self._session.read_only else is_ready
        return True

    @on(Input.Changed)
    def _handle_change(self) -> None:
        """Discard the plan, because the form has changed."""
        if self._plan is not None and not self._is_busy and self._sources is not None:
            self._sources.drop_plan()
            self._show_status(Text("The form changed; ⏎ reads the source again.", "dim"))
            self.refresh_bindings()

    @on(Input.Submitted)
    def _handle_submit(self, event: Input.Submitted) -> None:
        event.stop()
        if self._plan is not None and not self._is_busy:
            self.action_add()
        else:
            self.action_read()

    def action_read(self) -> None:
        """Connect, and read what is there; nothing is written."""
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
        """Stop the work under way; close if there is none, or if it was told to stop already,
        without waiting for a host that does not answer."""
        if self._sources is None or not self._is_busy or self._state.is_stopping:
            self.dismiss(None)
            return
        self._sources.cancel()
        self._show_problem("Stopping … press esc again to close without waiting.")

    def _value(self, name: str) -> str:
        return self.query_one(f"#{name}", Input).value.strip()

    def _options(self) -> SourceOptions:
        return replace(
            self._choice.options,
            env=self._value("env") or "PROD",
            instance=self._value("instance") or None,
            schemas=tuple(self._value("schemas").replace(",", " ").split()),
        )

    def _explicit_options(self) -> tuple[str, ...]:
        """Return the options of the form that are meant as they stand there: all where the form
        began with those of the source, else those that are filled in."""
        keys = ("env", "instance", "schemas")
        return tuple(key for key in keys if self._choice.is_added or self._value(key))

    @work(exclusive=True, group="source")
    async def _read(self) -> None:
        location = self._value("location")
        if not location:
            self._show_problem("Enter an address: a file, a folder, or a database URL.")
            return
        options, name = self._options(), self._value("name")
        explicit_options = self._explicit_options()
        # One that was found with an address is for that address.
        source_password = self._choice.password if location == self._choice.location else None
        password = self.query_one("#password", Input).value or source_password

        async def read(sources: SourceSession) -> None:
            await sources.open(location, name, options, explicit_options, password)
            await sources.plan()

        await self._do(f"reading {location}", read)
        plan, opened = self._plan, self._state.opened
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
        self.refresh_bindings()

    @work(exclusive=True, group="source", name=LEADING)
    async def _write(self, plan: RunPlan, *, accept_removals: bool) -> None:
        async def write(sources: SourceSession) -> None:
            await sources.write(plan, accept_removals=accept_removals)

        await self._do(f"writing {plan.source.name}", write)
        message = self._state.message
        if self._state.outcome is None or message is None:
            return
        self._session.say(message.sentence, error=message.is_error)
        platforms = {urn.platform for urn in plan.effects if urn.entity_type == "dataset"}
        self.dismiss(
            " OR ".join(f"platform:{platform}" for platform in sorted(filter(None, platforms)))
        )

    async def _do(
        self, what: str, act: Callable[[SourceSession], Coroutine[Any, Any, None]]
    ) -> None:
        """Act on the session; what goes wrong is shown below the form."""
        try:
            if self._sources is None:
                self._sources = SourceSession(await self._session.catalog())
                self._sources.subscribe(self._follow)
            await act(self._sources)
        except Stopped:
            self._show_problem(STOPPED)
        except WrongPassword as error:
            self.add_class("-password")
            self.set_focus(self.query_one("#password", Input))
            self._show_problem(sentence_of(error))
        except CatalogError as error:
            # Of the source or of the catalog: the sentence says which.
            self._show_problem(sentence_of(error))
        except Exception:
            with self._session.reporting(what):
                raise
            self._show_status(Text())

    def _follow(self, state: SourcesState) -> None:
        """Show the progress of the work under way."""
        if self.is_closed:
            return
        self.refresh_bindings()
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
