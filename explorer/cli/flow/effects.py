"""What a change breaks: read, and shown as a table, as JSON, as CSV, as URNs."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, get_args

from rich.text import Text

from explorer.cli import output
from explorer.cli.flow.known import check_there, naming_what_is_not_there, read_known
from explorer.cli.flow.trees import name_of, state_of, type_of
from explorer.cli.output import note, results, said
from explorer.cli.tables import (
    Cell,
    Column,
    Table,
    as_objects,
    print_csv,
    print_table,
    print_urns,
)
from explorer.client import Catalog
from explorer.client.display import line
from explorer.graph import Affected, Graphs, Impact, matches
from explorer.graph.impact import Certainty, Grouping
from explorer.metadata.names import plural, singular
from explorer.metadata.urn import Urn
from explorer.query.filters import Filter

__all__ = [
    "Effects",
    "may_break",
    "print_as_csv",
    "print_as_json",
    "print_as_urns",
    "print_for_people",
    "read_effects",
    "say_how_many",
]

_WIDE: Final = 110
_WIDEST: Final = 140
_WORDS: Final[dict[Certainty, str]] = {
    "said": "said",
    "guessed": "guess: same name",
    "table": "the table only",
}


@dataclass(frozen=True, slots=True)
class Effects:
    """An impact, what the nodes in it say of themselves, and the names of owners and domains."""

    impact: Impact
    about: Mapping[str, Mapping[str, Any]]
    names: Mapping[str, str]

    @property
    def root(self) -> str:
        """The entity or column in question, as people call it."""
        name = name_of(self.about[self.impact.root], self.impact.root)
        return f"{name}.{line(self.impact.column)}" if self.impact.column else name


def read_effects(
    catalog: Catalog,
    urn: str,
    column: str | None,
    *,
    narrowed_by: Filter,
    with_usage: bool,
    most: int | None,
) -> Effects:
    """What is affected and matches the filter; without one only the first `most` need be known
    beyond what the impact says. Raises `NotFound` where nothing is known of the entity, and what
    `find_impact` does."""
    with naming_what_is_not_there(catalog, urn):
        found = Graphs(catalog).impact(urn, column, with_usage=with_usage)
    if not found.affected:
        check_there(catalog, urn)
    wanted = found.affected if narrowed_by else found.affected[:most]
    about = read_known(catalog, [found.root, *(one.urn for one in wanted)])
    for one in wanted:
        about[one.urn] |= {
            "hops": one.hops,
            "queries": one.queries,
            "users": one.users,
            "exists": one.exists,
            "removed": one.removed,
        }
    affected = found.affected
    if narrowed_by:
        affected = tuple(one for one in affected if matches(one.urn, about[one.urn], narrowed_by))
    named = {owner for one in affected for owner in one.owners} | {
        one.domain for one in affected if one.domain
    }
    people = catalog.summaries(Urn.parse_all(sorted(named)))
    names = {str(other): entity.name for other, entity in people.items()}
    return Effects(replace(found, affected=affected), about, names)


def print_for_people(found: Effects, grouping: Grouping | None, most: int) -> None:
    """One table, the most used first, or one for each group; `most` lines in each."""
    impact = found.impact
    if not impact.affected:
        return
    console = results()
    width = console.width
    if grouping is None:
        print_table(_page(found, impact.affected[:most], width=width))
        return
    for at, (key, group) in enumerate(impact.by(grouping).items()):
        title = said(_called(found, key), "bold underline") if key else _without(grouping)
        queries = sum(one.queries or 0 for one in group)
        counts = f"  {len(group):,}" + (f" · {queries:,} queries" if queries else "")
        if at:
            console.print()
        console.print(title + Text(counts, "dim"))
        print_table(_page(found, group[:most], width=width))
        if len(group) > most:
            console.print(Text(f"… {len(group) - most:,} more", "dim"))


def print_as_json(found: Effects, top: int | None) -> None:
    """One object: `affected` in order, and `groups` with what is counted under each type,
    platform, owner and domain, "" for those without one."""
    impact = found.impact
    groups = {
        grouping: [
            {
                "key": key,
                "name": _called(found, key) if key else "",
                "count": len(group),
                "queries": sum(one.queries or 0 for one in group),
            }
            for key, group in impact.by(grouping).items()
        ]
        for grouping in get_args(Grouping)
    }
    output.print_json(
        {
            "urn": impact.root,
            "column": impact.column,
            "total": len(impact),
            "queries": impact.queries,
            "truncated": impact.truncated,
            "uncounted": impact.uncounted,
            "affected": as_objects(_rows(found, impact.affected[:top])),
            "groups": groups,
        }
    )


def print_as_csv(found: Effects, top: int | None) -> None:
    """A line for each that is affected."""
    print_csv(_rows(found, found.impact.affected[:top]))


def print_as_urns(found: Effects, top: int | None) -> None:
    """The URNs of what is affected, the most used first."""
    print_urns(one.urn for one in found.impact.affected[:top])


def say_how_many(found: Effects, cut_to: int | None) -> None:
    """The totals, of which `cut_to` were printed at most, and what was not looked at."""
    impact = found.impact
    if impact.affected:
        kinds = Counter(one.type for one in impact.affected)
        counted = ", ".join(
            f"{count:,} {_plural(kind, count)}" for kind, count in kinds.most_common()
        )
        queries = f"; {impact.queries:,} queries in 30 days" if impact.queries else ""
        note(Text(f"{len(impact):,} affected by "), said(found.root))
        note(Text(f"{counted}{queries}"))
    else:
        note(Text("nothing is affected by "), said(found.root))
    most = len(impact) if cut_to is None else cut_to
    if most < len(impact):
        note(Text(f"{most:,} of {len(impact):,} shown; --top shows more"))
    if impact.truncated:
        note(Text("not everything was looked at: ", "bold"), said(impact.truncated))
    if impact.uncounted:
        note(said(impact.uncounted))


def may_break(found: Effects) -> bool:
    """Whether something is affected, or might be where nobody looked."""
    return bool(found.impact.affected or found.impact.truncated)


def _page(found: Effects, affected: Sequence[Affected], *, width: int) -> Table:
    """What people see; columns that would be empty are left out, and some where there is little
    room."""
    narrowed = found.impact.column is not None
    wide = width >= (_WIDEST if narrowed else _WIDE)
    counted = not narrowed or width >= _WIDE
    columns = (
        Column("name", max_width=36, folds=True, style="bold"),
        Column("type"),
        Column("queries"),
        Column("users"),
        Column("hops"),
        Column("columns", max_width=20, folds=True),
        Column("known", folds=True),
        Column("owners", max_width=24, style="dim"),
        Column("state", style="italic"),
    )
    rows: list[tuple[Cell, ...]] = []
    for one in affected:
        about = found.about[one.urn]
        rows.append(
            (
                name_of(about, one.urn),
                type_of(about) if wide or not narrowed else str(about.get("kind") or one.type),
                one.queries,
                one.users if counted else None,
                one.hops if counted else None,
                one.columns,
                _WORDS[one.certainty] if narrowed else None,
                [_called(found, owner) for owner in one.owners] if wide else [],
                state_of(about),
            )
        )
    used = [
        at for at in range(len(columns)) if any(row[at] not in (None, "", (), []) for row in rows)
    ]
    return Table([columns[at] for at in used], [[row[at] for at in used] for row in rows])


def _rows(found: Effects, affected: Iterable[Affected]) -> Table:
    """What programs get."""
    names = (
        "urn",
        "name",
        "type",
        "kind",
        "platform",
        "hops",
        "queries",
        "users",
        "certainty",
        "columns",
        "owners",
        "domain",
        "exists",
        "removed",
        "deprecated",
    )
    rows: list[tuple[Cell, ...]] = [
        (
            one.urn,
            one.name,
            one.type,
            found.about[one.urn].get("kind", one.type),
            one.platform,
            one.hops,
            one.queries,
            one.users,
            one.certainty if found.impact.column else None,
            one.columns,
            one.owners,
            one.domain,
            one.exists,
            one.removed,
            one.deprecated,
        )
        for one in affected
    ]
    return Table([Column(name) for name in names], rows)


def _called(found: Effects, key: str) -> str:
    return found.names.get(key) or Urn.label(key)


def _without(grouping: Grouping) -> Text:
    return Text(f"no {grouping}", "italic")


def _plural(kind: str, count: int) -> str:
    return singular(kind) if count == 1 else plural(kind)
