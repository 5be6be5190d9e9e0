"""How something is used: a line a day with a bar, its users and columns."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.text import Text

from explorer.cli import tables
from explorer.cli.find.period import Period
from explorer.cli.forms import Form
from explorer.cli.output import note, print_json, results, said
from explorer.cli.reading import counted
from explorer.client import Catalog
from explorer.errors import CatalogError
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.views.usage import Usage

__all__ = ["named", "print_usage"]

_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_FEWEST_BAR: Final = 10
_MOST_BAR: Final = 60


def named(catalog: Catalog, found: Usage, top: int) -> Mapping[Urn, str]:
    """What people call the users that are shown. One request."""
    urns = Urn.parse_all(user for user, _ in found.users[:top])
    try:
        return {urn: one.name for urn, one in catalog.summaries(urns).items()} if urns else {}
    except CatalogError:
        # Their URNs will do.
        return {}


def print_usage(
    urn: str,
    found: Usage,
    names: Mapping[Urn, str],
    period: Period,
    top: int,
    shown_as: Form | None,
) -> None:
    """Print the usage in one of the forms; totals go to standard error."""
    if shown_as == "json":
        print_json(_as_json(urn, found))
    elif shown_as == "csv":
        rows = [(f"{day.day}", day.count, day.users) for day in found.days]
        columns = (tables.Column("date"), tables.Column(found.measure), tables.Column("users"))
        tables.print_csv(tables.Table(columns, rows))
    elif found.days:
        _print_days(found)
        _print_top("Users", [(_user(one, names), count) for one, count in found.users], top)
        paths = [(FieldPath(path).simple, count) for path, count in found.columns]
        _print_top("Columns", paths, top)
        _print_top("Queries, by the days on which they were frequent", found.queries, top)
    _say_how_much(found, period)


def _print_days(found: Usage) -> None:
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
    shown = counted[:top]
    if not shown:
        return
    console = results()
    console.print()
    more = f"  {len(shown):,} of {len(counted):,}" if len(shown) < len(counted) else ""
    console.print(Text(title, "bold") + Text(more, "dim"))
    columns = (tables.Column("name", max_width=50), tables.Column("count"))
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


def _as_json(urn: str, found: Usage) -> dict[str, Any]:
    return {
        "urn": urn,
        "measure": found.measure,
        "total": found.total,
        "truncated": found.limit is not None,
        "days": [
            {"date": f"{day.day}", "count": day.count, "users": day.users} for day in found.days
        ],
        "users": [{"user": user, "count": count} for user, count in found.users],
        "columns": [{"path": path, "count": count} for path, count in found.columns],
        "queries": [{"query": query, "days": count} for query, count in found.queries],
    }


def _say_how_much(found: Usage, period: Period) -> None:
    if not found.days:
        note(f"no use was measured {period.said}")
        return
    days = counted(len(found.days), "measured day")
    each = found.total / len(found.days)
    note(f"\n{found.total:,} {found.measure} on {days} {period.said}, {each:,.1f} a day")
    if found.limit is not None:
        note("there are more points than the server gives at once; look at fewer days")
