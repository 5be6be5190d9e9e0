"""How something is used: a line a day with a bar, its users and columns."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import Any, Final

from rich.text import Text

from explorer.cli import tables
from explorer.cli.find.period import Period
from explorer.cli.forms import Form
from explorer.cli.output import note, print_json, results, said
from explorer.cli.reading import counted
from explorer.client import Catalog
from explorer.client.records import Timeseries
from explorer.errors import CatalogError
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn

__all__ = ["Day", "Use", "named", "print_use", "read_use"]

_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_FEWEST_BAR: Final = 10
_MOST_BAR: Final = 60


@dataclass(slots=True)
class Day:
    """A day that was measured: how often it was used, and by how many."""

    day: date
    count: int = 0
    users: int | None = None


@dataclass(slots=True)
class Use:
    """What was measured, oldest first. `measure` is what was counted: queries or views."""

    urn: str
    measure: str
    days: list[Day] = field(default_factory=list)
    users: Counter[str] = field(default_factory=Counter)
    columns: Counter[str] = field(default_factory=Counter)
    truncated: bool = False

    @property
    def total(self) -> int:
        """How often it was used in all."""
        return sum(day.count for day in self.days)


def read_use(urn: str, series: Timeseries) -> Use:
    """The points of a series, day by day. Where a day has several windows, its users are those
    that are named, or at least as many as the window with the most has."""
    found = Use(
        urn,
        "queries" if series.aspect.startswith("dataset") else "views",
        truncated=series.truncated,
    )
    days: dict[date, Day] = {}
    seen: dict[date, set[str]] = {}
    for point in series.values:
        millis = _number(point.get("timestampMillis"))
        try:
            at = datetime.fromtimestamp(millis / 1000, UTC).date()
        except (ValueError, OverflowError, OSError):
            continue
        day = days.setdefault(at, Day(at))
        day.count += _number(point.get("totalSqlQueries", point.get("viewsCount")))
        names = seen.setdefault(at, set())
        for one in _objects(point, "userCounts"):
            user = one.get("user")
            if isinstance(user, str):
                names.add(user)
                found.users[user] += _number(one.get("count", one.get("viewsCount")))
        for one in _objects(point, "fieldCounts"):
            path = one.get("fieldPath")
            if isinstance(path, str):
                found.columns[path] += _number(one.get("count"))
        told = point.get("uniqueUserCount")
        most = max(day.users or 0, len(names), _number(told))
        day.users = most if most or told is not None else None
    found.days = [days[at] for at in sorted(days)]
    return found


def named(catalog: Catalog, found: Use, top: int) -> Mapping[Urn, str]:
    """What people call the users that are shown. One request."""
    urns = Urn.parse_all(user for user, _ in found.users.most_common(top))
    try:
        return {urn: one.name for urn, one in catalog.summaries(urns).items()} if urns else {}
    except CatalogError:
        # Their URNs will do.
        return {}


def print_use(
    found: Use, names: Mapping[Urn, str], period: Period, top: int, shown_as: Form | None
) -> None:
    """The use in one of the forms; totals go to standard error."""
    if shown_as == "json":
        print_json(_as_json(found))
    elif shown_as == "csv":
        rows = [(f"{day.day}", day.count, day.users) for day in found.days]
        columns = (tables.Column("date"), tables.Column(found.measure), tables.Column("users"))
        tables.print_csv(tables.Table(columns, rows))
    elif found.days:
        _print_days(found)
        _print_top("Users", [(_user(one, names), count) for one, count in found.users.items()], top)
        paths = [(FieldPath(path).simple, count) for path, count in found.columns.items()]
        _print_top("Columns", paths, top)
    _say_how_much(found, period)


def _print_days(found: Use) -> None:
    console = results()
    most = max(day.count for day in found.days)
    digits = max(len(f"{most:,}"), len(found.measure))
    room = max(_FEWEST_BAR, min(_MOST_BAR, console.width - 10 - digits - 5 - 6))
    console.print(Text(f"{'day':<10}  {found.measure:>{digits}}  users", "bold"))
    for day in found.days:
        users = "" if day.users is None else f"{day.users:,}"
        text = Text(f"{day.day}  {day.count:>{digits},}  {users:>5}  ")
        text.append(_bar(day.count, most, room), "cyan")
        console.print(text, no_wrap=True, overflow="crop")


def _print_top(title: str, counted: Sequence[tuple[str, int]], top: int) -> None:
    shown = sorted(counted, key=lambda one: (-one[1], one[0]))[:top]
    if not shown:
        return
    console = results()
    console.print()
    more = f"  {len(shown):,} of {len(counted):,}" if len(shown) < len(counted) else ""
    console.print(Text(title, "bold") + Text(more, "dim"))
    columns = (tables.Column("name", most=50), tables.Column("count"))
    rows = [(Text("  ") + said(name), count) for name, count in shown]
    tables.print_table(tables.Table(columns, rows), headings=False)


def _user(text: str, names: Mapping[Urn, str]) -> str:
    urns = Urn.parse_all([text])
    return names.get(urns[0]) or urns[0].name if urns else text


def _bar(count: int, most: int, room: int) -> str:
    eighths = round(count / most * room * 8) if most else 0
    if count and not eighths:
        eighths = 1
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def _as_json(found: Use) -> dict[str, Any]:
    return {
        "urn": found.urn,
        "measure": found.measure,
        "total": found.total,
        "truncated": found.truncated,
        "days": [
            {"date": f"{day.day}", "count": day.count, "users": day.users} for day in found.days
        ],
        "users": [{"user": user, "count": count} for user, count in found.users.most_common()],
        "columns": [{"path": path, "count": count} for path, count in found.columns.most_common()],
    }


def _say_how_much(found: Use, period: Period) -> None:
    if not found.days:
        note(f"no use was measured {period.said}")
        return
    days = counted(len(found.days), "measured day")
    each = found.total / len(found.days)
    note(f"\n{found.total:,} {found.measure} on {days} {period.said}, {each:,.1f} a day")
    if found.truncated:
        note("there are more points than the server gives at once; look at fewer days")


def _number(value: Any) -> int:
    return int(value) if isinstance(value, int | float) else 0


def _objects(point: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    found = point.get(key)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
