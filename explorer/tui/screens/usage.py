"""The usage tab: queries by day, users, columns and the queries themselves."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.message import Message

from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.tui.content import block, counted, join, padded, said
from explorer.tui.screens.measurements import (
    MeasurementRow,
    SeriesTab,
    heading_row,
    ranked_row,
    text_row,
    whole,
)
from explorer.tui.session import TerminalSession
from explorer.tui.widgets.charts import ChartWidget, Plot, Point, bar_text
from explorer.tui.widgets.rows import Rows
from explorer.views.chart import compact
from explorer.views.history import name_of
from explorer.views.usage import (
    Usage,
    UsageDay,
    usage_by_day_table,
    usage_of,
    usage_table,
)

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Entity
    from explorer.views.table import Table

__all__ = ["UsageTab"]

_NAMED_AT_MOST = 50
_QUERY_LINES_AT_MOST = 200


class UsageTab(SeriesTab[Usage]):
    """Use a day as bars; below, the columns, users and queries, most used first."""

    WHAT: ClassVar[str] = "usage"

    @dataclass
    class ColumnChosen(Message):
        """A used column is to be looked at among the columns."""

        path: str

    def __init__(self, session: TerminalSession) -> None:
        super().__init__(session)
        self._unfolded: set[str] = set()

    def show_entity(self, entity: "Entity", *, keep: bool) -> None:
        """Forget what was measured of another, and which queries were unfolded."""
        super().show_entity(entity, keep=keep)
        if not keep:
            self._unfolded.clear()

    async def ask(self, catalog: "AsyncCatalog", entity: "Entity", days: int | None) -> Usage:
        """The use, and what its users are called: two requests."""
        series = await catalog.usage(entity.urn, days=days)
        use = await asyncio.to_thread(usage_of, series)
        users = Urn.parse_all(user for user, _ in use.users[:_NAMED_AT_MOST])
        await self._session.read_names(users)
        return use

    def draw(self, use: Usage) -> None:
        """Show it as a chart over a list, or as a table of its days."""
        if not use.days:
            self.say_nothing_measured("No use")
            return
        chart = self.query_one(ChartWidget)
        chart.display = not self._as_table
        chart.show(self._plot(use), lambda index: self._read_out(use, index))
        self.show_totals(_totals(use))
        if self._as_table:
            self._show_table(use)
        else:
            self.show_lines(list(self._list(use)))

    def table(self) -> "Table | None":
        """What is shown of the use: what was used and by whom, or the days."""
        held = self._held.get(self._days)
        if self._entity is None or held is None:
            return None
        name = self._entity.name
        return (
            usage_by_day_table(name, held)
            if self._as_table
            else usage_table(name, held, self._session.names)
        )

    def _plot(self, use: Usage) -> Plot:
        points = tuple(Point(day.at, day.count) for day in use.days)
        first, last = points[0].at, points[-1].at
        return Plot("bars", points, self.first_moment(first), self.last_moment(last), compact)

    def _read_out(self, use: Usage, index: int) -> Text:
        day = use.days[index]
        return join(
            [
                Text.assemble((f"{day.day:%a} {day.day}", "bold"), " ", self._zone(day)),
                Text(f"{day.count:,} {use.measure}", "bold"),
                Text("" if day.users is None else counted(day.users, "user")),
            ]
        )

    def _zone(self, day: UsageDay) -> Text:
        """Days are those of UTC: where they begin here, if that is another hour."""
        shift = day.at.astimezone().utcoffset()
        if self._session.times.utc or not shift:
            return Text("UTC", "dim")
        return Text(f"UTC, here from {day.at.astimezone():%a %H:%M}", "dim")

    def _show_table(self, use: Usage) -> None:
        most = max(day.count for day in use.days) or 1
        digits = max(len(f"{most:,}"), len(use.measure))

        def row(day: UsageDay) -> MeasurementRow:
            def draw(width: int) -> Text:
                start = f"  {day.day:%a} {day.day}  {day.count:>{digits},}  {whole(day.users):>6}  "
                return Text(start).append(
                    bar_text(day.count / most, max(width - len(start) - 1, 4))
                )

            return MeasurementRow(draw)

        heading = Text(f"  {'day, UTC':<14}  {use.measure:>{digits}}  {'users':>6}")
        self.show_lines([row(day) for day in reversed(use.days)], heading=heading)

    def _list(self, use: Usage) -> Iterator[MeasurementRow]:
        if use.columns:
            yield self._columns_heading(use)
            most = use.columns[0][1] or 1
            for path, count in use.columns:
                name = said(FieldPath(path).simple)
                yield ranked_row(name, count, most, partial(self._open_column, path))
        if use.users:
            yield heading_row("Users", f"{len(use.users):,}")
            most = use.users[0][1] or 1
            for user, count in use.users:
                yield ranked_row(said(name_of(user, self._session.names)), count, most)
        if use.queries:
            yield heading_row("Queries", f"{len(use.queries):,} among the most asked of a day")
            for query, days in use.queries:
                yield from self._query(query, days)

    def _columns_heading(self, use: Usage) -> MeasurementRow:
        schema = self._entity.schema if self._entity else ()
        if not schema:
            return heading_row("Columns", f"{len(use.columns):,} used")
        used = {FieldPath(path).simple for path, _ in use.columns}
        known = [column for column in schema if not column.children]
        named = sum(column.path.simple in used for column in known)
        return heading_row("Columns", f"{named:,} of {len(known):,} used; ⏎ opens the column")

    def _query(self, query: str, days: int) -> Iterator[MeasurementRow]:
        unfolded = query in self._unfolded
        lines = block(query).splitlines()[:_QUERY_LINES_AT_MOST]

        def draw(width: int) -> Text:
            seen = f"  on {counted(days, 'day')}"
            fold = "▾" if unfolded else "▸"
            text = Text().append(f"   {fold} ", "dim")
            text.append_text(padded(said(query, "dim" if unfolded else ""), width - len(seen) - 6))
            return text.append(seen, "dim")

        def toggle() -> None:
            self._unfolded ^= {query}
            rows = self.query_one(Rows)
            cursor = rows.cursor
            self._redraw()
            # Down to its end and back: what was unfolded comes into view.
            rows.move_to(cursor + len(lines) if query in self._unfolded else cursor)
            rows.move_to(cursor)

        yield MeasurementRow(draw, toggle)
        if unfolded:
            for text in lines:
                yield text_row(f"       {text}")

    def _open_column(self, path: str) -> None:
        self.post_message(self.ColumnChosen(path))


def _totals(use: Usage) -> Text:
    days = counted(len(use.days), "day")
    return join(
        [
            Text(f"{use.total:,} {use.measure}", "bold"),
            Text(f"by {counted(len(use.users), 'user')}" if use.users else ""),
            Text(f"on {days} measured", "dim"),
            Text("" if use.limit is None else f"the newest {use.limit:,} only", "bold italic"),
        ]
    )
