"""The tab that shows measurements over time: totals, a chart, and a list with the keys."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Static

from explorer.errors import CatalogError
from explorer.tui.actions import bindings
from explorer.tui.content import padded
from explorer.tui.screens.entity.tabs import View
from explorer.tui.session import TerminalSession
from explorer.tui.widgets.charts import ChartWidget, bar_text
from explorer.tui.widgets.rows import Rows

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Entity

__all__ = [
    "MeasurementRow",
    "SeriesTab",
    "heading_row",
    "ranked_row",
    "text_row",
    "whole",
]


_TIMES: tuple[int | None, ...] = (7, 30, 90, None)
_LEAST_FOR_CHART = 12
_LEAST_FOR_TOTALS = 4
_LEAST_FOR_RULE = 20
_CHART_MOST = 13
_NARROW = 84
_READING = "reading …"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class MeasurementRow:
    """A row of the list below the chart: how it is drawn, and what choosing it does."""

    draw: Callable[[int], Text]
    choose: Callable[[], None] | None = None


def text_row(text: str | Text) -> MeasurementRow:
    """Return a row of text."""
    row = Text(text) if isinstance(text, str) else text
    return MeasurementRow(lambda _: row.copy())


def heading_row(title: str, remark: str) -> MeasurementRow:
    """Return a row that heads those below."""
    return text_row(Text.assemble(" ", (title, "bold"), (f"  {remark}", "dim")))


def ranked_row(
    name: Text, count: int, most: int, choose: Callable[[], None] | None = None
) -> MeasurementRow:
    """Return a row with a name, a number, and a bar as long as its part of the greatest number."""

    def draw(width: int) -> Text:
        digits = max(len(f"{most:,}"), 4)
        long = min(36, max(12, width * 2 // 5))
        text = Text("   ").append_text(padded(name, long)).append(f" {count:>{digits},} ")
        return text.append(bar_text(count / most, max(width - long - digits - 6, 4)))

    return MeasurementRow(draw, choose)


class SeriesTab(Vertical, View, Generic[T]):
    """Measurements in the last days: a line of totals, a chart, and a list with the keys.

    Left and right move the chart's cursor while up and down move in the list. A time once asked
    for is kept until the entity is read again.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("series")
    DEFAULT_CSS = """
    SeriesTab > .totals { height: 1; padding: 0 1; }
    SeriesTab > .heading { height: 1; color: $text-muted; }
    SeriesTab > .detail { height: 3; padding: 0 1; border-top: solid $border-blurred; }
    """

    WHAT: ClassVar[str]
    """What was measured, in a sentence."""

    def __init__(self, session: TerminalSession) -> None:
        super().__init__()
        self._session = session
        self._entity: Entity | None = None
        self._held: dict[int | None, T] = {}
        self._days: int | None = 30
        self._as_table = False
        self._lines: Sequence[MeasurementRow] = ()

    def compose(self) -> ComposeResult:
        """Totals, chart, what the list's columns are called, the list, and the row looked at."""
        yield Static("", classes="totals", markup=False)
        yield ChartWidget()
        yield Static("", classes="heading", markup=False)
        yield Rows()
        yield Static("", classes="detail", markup=False)

    @abstractmethod
    async def ask(self, catalog: "AsyncCatalog", entity: "Entity", days: int | None) -> T:
        """What was measured in the last `days`, or ever."""

    @abstractmethod
    def draw(self, data: T) -> None:
        """Show what was measured."""

    def show_entity(self, entity: "Entity", *, keep: bool) -> None:
        """Forget what was measured of another entity, or before."""
        self._entity = entity
        self._held.clear()
        if not keep:
            self._say(_READING)

    def focus_content(self) -> None:
        """Give the list the keys."""
        self.screen.set_focus(self.query_one(Rows))

    async def read(self, entity: "Entity") -> None:
        """Ask for the time looked at and show it."""
        days = self._days
        try:
            data = await self.ask(await self._session.catalog(), entity, days)
        except CatalogError:
            if entity is self._entity and days == self._days:
                self._say("It could not be read; r tries again.")
            raise
        if entity is not self._entity:
            return
        self._held[days] = data
        if days == self._days:
            self.draw(data)

    def action_earlier(self) -> None:
        """The chart's cursor to the measurement before."""
        self.query_one(ChartWidget).move(-1)

    def action_later(self) -> None:
        """The chart's cursor to the measurement after."""
        self.query_one(ChartWidget).move(1)

    def action_shorter(self) -> None:
        """Look at a shorter time."""
        self._look_at(_TIMES.index(self._days) - 1)

    def action_longer(self) -> None:
        """Look at a longer time."""
        self._look_at(_TIMES.index(self._days) + 1)

    def action_table(self) -> None:
        """The same numbers as a table, or as a chart again."""
        self._as_table = not self._as_table
        self._redraw()

    def show_times(self) -> None:
        """Say times in the zone that was turned to."""
        self._redraw()

    def on_resize(self) -> None:
        """The chart takes its share of the height, and where there is little it is a line."""
        height = self.size.height
        roomy = height >= _LEAST_FOR_CHART
        chart = min(_CHART_MOST, max(6, height * 2 // 5)) if roomy else 1
        self.query_one(".totals").display = height >= _LEAST_FOR_TOTALS
        self.query_one(ChartWidget).styles.height = chart
        detail = self.query_one(".detail")
        detail.display = roomy and self.has_detail
        # A line of its own for the rule of what is marked, and the border above.
        detail.styles.height = 4 if height >= _LEAST_FOR_RULE else 3
        # What there is room for changes with the width, once that of all parts is known.
        self.call_after_refresh(self._redraw)

    has_detail: ClassVar[bool] = False

    def show_lines(self, lines: Sequence[MeasurementRow], *, heading: Text | None = None) -> None:
        """Show a list below the chart, from its top unless it is the same again."""
        rows = self.query_one(Rows)
        cursor = rows.cursor if len(lines) == len(self._lines) else 0
        self._lines = lines
        # A list without a detail line or headings has the room for itself.
        title = self.query_one(".heading", Static)
        title.display = heading is not None
        title.update(heading or "")
        rows.show(len(lines), lambda index, width: (lines[index].draw(width),), cursor=cursor)

    def show_totals(self, totals: Text) -> None:
        """Say the totals, and at the right which time is looked at."""
        width = self.query_one(".totals").content_size.width or self.room.width - 2
        times = Text()
        for days in _TIMES if width > _NARROW else (self._days,):
            name = "all" if days is None else str(days)
            chosen = days == self._days
            times.append(f"[{name}]" if chosen else f" {name} ", "bold" if chosen else "dim")
        times.append(" days", "dim")
        totals.truncate(max(width - times.cell_len - 1, 0), overflow="ellipsis", pad=True)
        self.query_one(".totals", Static).update(totals.append(" ").append_text(times))

    def say_nothing_measured(self, what: str) -> None:
        """Say that there is nothing in the time looked at."""
        if self._days is None:
            self._say(f"{what} was ever measured of this one.")
        else:
            self._say(f"{what} was measured in the last {self._days} days; > looks further back.")

    @property
    def local(self) -> tzinfo | None:
        """The zone in which times are said; nothing for that of this machine."""
        return UTC if self._session.times.utc else None

    def said_moment(self, at: datetime) -> str:
        """A moment in the zone looked at; in UTC that is said with it."""
        return self._session.times.said(round(at.timestamp() * 1000))

    def first_moment(self, of: datetime) -> datetime:
        """Where the time looked at begins; all of it begins with the first measurement, `of`."""
        if self._days is None:
            return of
        today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        return min(of, today - timedelta(days=self._days - 1))

    def last_moment(self, of: datetime) -> datetime:
        """Where the time looked at ends: today, or with all of it the last measurement, `of`."""
        return of if self._days is None else max(of, datetime.now(UTC))

    @on(Rows.Chosen)
    def _choose(self, event: Rows.Chosen) -> None:
        event.stop()
        choose = self._lines[event.index].choose
        if choose is not None:
            choose()

    def _look_at(self, at: int) -> None:
        if not 0 <= at < len(_TIMES):
            return
        self._days = _TIMES[at]
        if self._days in self._held:
            self._redraw()
        else:
            self.show_totals(Text(_READING, "dim italic"))
            self._read_again()

    @work(exclusive=True, group="series")
    async def _read_again(self) -> None:
        if self._entity is not None:
            doing = f"reading the {self.WHAT} of {self._entity.urn.name}"
            with self._session.reporting(doing):
                await self.read(self._entity)

    def _redraw(self) -> None:
        held = self._held.get(self._days)
        if held is not None:
            self.draw(held)

    def _say(self, sentence: str) -> None:
        """Show nothing but a sentence."""
        self._lines = ()
        self.show_totals(Text())
        self.query_one(ChartWidget).display = False
        self.query_one(".heading").display = False
        self.query_one(".detail", Static).update("")
        rows = self.query_one(Rows)
        rows.show(0, lambda *_: (), empty=sentence)


def whole(value: float | None) -> str:
    """A whole number, or that it is not known."""
    return "—" if value is None else f"{value:,.0f}"
