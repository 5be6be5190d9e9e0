"""Worklist and coverage out of the facts that are kept."""

from collections.abc import Callable, Collection, Iterable, Iterator
from heapq import nsmallest
from typing import Literal, TypeAlias, get_args

from msgspec import Struct, structs

from explorer.server.stewardship.facts import Facts, Lacking
from explorer.server.stewardship.ledger import Entry

__all__ = [
    "GROUPINGS",
    "Count",
    "Covered",
    "Group",
    "Grouping",
    "Item",
    "Ranked",
    "cover",
    "rank",
    "with_use",
]

Grouping = Literal["domain", "folder", "owner", "platform", "tag"]
GROUPINGS: tuple[Grouping, ...] = get_args(Grouping)

MOST_DOWNSTREAM = 10_000
"""More entities made from a dataset count as so many."""

# Equal ones by use, then by what is downstream, then by URN and as the schema has them.
_Key: TypeAlias = tuple[int, int, int, str, int]


class Item(Struct, frozen=True):
    """A column, or with an empty path a table, that nobody described."""

    urn: str
    table: str
    platform: str
    lacking: Lacking
    downstream: int
    at_least: bool

    @property
    def key(self) -> _Key:
        """Puts the heaviest first: by (use + 1) × (downstream + 1)."""
        return _key(self.lacking.use, self.downstream, self.urn, self.lacking.place)


class Ranked(Struct, frozen=True):
    """A page of the worklist of `datasets`, of `total` items."""

    datasets: int
    total: int
    items: list[Item]


class Count(Struct):
    """How many of `total` are described: by people, by ingestion, or by both."""

    total: int = 0
    documented: int = 0
    edited: int = 0
    ingested: int = 0

    def add(self, counts: tuple[int, int, int, int]) -> None:
        """Count more."""
        self.total += counts[0]
        self.documented += counts[1]
        self.edited += counts[2]
        self.ingested += counts[3]


class Group(Struct):
    """The counts of datasets that share something, whose `key` is empty where they have none."""

    key: str
    tables: Count
    columns: Count


class Covered(Struct, frozen=True):
    """The counts over all datasets, and of each group: most undescribed columns first."""

    tables: Count
    columns: Count
    groups: list[Group]


def rank(
    entries: Iterable[tuple[str, Entry]],
    start: int,
    count: int,
    used: Callable[[str, Facts], Facts] | None = None,
) -> Ranked:
    """Return a page of the worklist of some datasets. `used` gives facts with the use of other days
    than are kept; every dataset is looked at for it. Without, some 1 µs a dataset and 5 µs for each
    that is on the page or before it."""
    datasets, total = 0, 0
    open_ones: list[tuple[_Key, str, Entry]] = []
    for urn, entry in entries:
        datasets += 1
        if entry.lacking:
            total += entry.lacking
            most = entry.most_used if used is None else 0
            open_ones.append((_key(most, _reach(entry), urn, 0), urn, entry))
    wanted = start + count
    if used is not None or wanted >= total:
        found = (item for _, urn, entry in open_ones for item in _items(urn, entry, used))
        return Ranked(datasets, total, nsmallest(wanted, found, key=_key_of)[start:])
    # No item of a dataset comes before the place that its most used one would have. So the best
    # are found once the next dataset could only add worse ones.
    open_ones.sort(key=lambda one: one[0])
    found_items: list[Item] = []
    at = 0
    while at < len(open_ones) and wanted:
        while at < len(open_ones) and len(found_items) < wanted:
            found_items += _items(*open_ones[at][1:], used)
            at += 1
        found_items = nsmallest(wanted, found_items, key=_key_of)
        if len(found_items) == wanted:
            last = found_items[-1].key
            further = at
            while further < len(open_ones) and open_ones[further][0] < last:
                further += 1
            if further == at:
                break
            for _, urn, entry in open_ones[at : min(further, at + wanted)]:
                found_items += _items(urn, entry, used)
                at += 1
            found_items = nsmallest(wanted, found_items, key=_key_of)
    return Ranked(datasets, total, found_items[start:])


def cover(entries: Iterable[Entry], by: Grouping | None) -> Covered:
    """Return how much of some datasets is described; about 5 µs each."""
    tables, columns = Count(), Count()
    groups: dict[str, Group] = {}
    for entry in entries:
        facts = entry.facts
        tables.add(facts.table)
        columns.add(facts.columns)
        for key in _keys(facts, by) if by else ():
            if key not in groups:
                groups[key] = Group(key, Count(), Count())
            groups[key].tables.add(facts.table)
            groups[key].columns.add(facts.columns)

    def left(group: Group) -> tuple[int, str]:
        return group.columns.documented - group.columns.total, group.key

    return Covered(tables, columns, sorted(groups.values(), key=left))


def with_use(facts: Facts, use_of: Callable[[str], tuple[int, str]]) -> Facts:
    """Return facts with another use; `use_of` gives that of a column by its path, or of the table
    for an empty one, and what it counts."""
    lacking = tuple(
        Lacking(one.path, one.type, one.place, *use_of(one.path)) for one in facts.lacking
    )
    return structs.replace(facts, lacking=lacking)


def _items(urn: str, entry: Entry, used: Callable[[str, Facts], Facts] | None) -> Iterator[Item]:
    facts = entry.facts if used is None else used(urn, entry.facts)
    reach, at_least = _reach(entry), entry.downstream > MOST_DOWNSTREAM
    for one in facts.lacking:
        yield Item(urn, facts.name, facts.platform, one, reach, at_least)


def _reach(entry: Entry) -> int:
    return min(entry.downstream, MOST_DOWNSTREAM)


def _key(use: int, downstream: int, urn: str, place: int) -> _Key:
    return -(use + 1) * (downstream + 1), -use, -downstream, urn, place


def _key_of(item: Item) -> _Key:
    return item.key


def _keys(facts: Facts, by: Grouping) -> Collection[str]:
    match by:
        case "platform":
            return (facts.platform,)
        case "owner":
            return facts.owners or ("",)
        case "domain":
            return facts.domains or ("",)
        case "tag":
            return facts.tags or ("",)
        case "folder":
            return facts.folders or ("",)
