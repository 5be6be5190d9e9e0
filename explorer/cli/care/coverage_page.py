"""Coverage as a table, as CSV, as JSON, and as a gate for a build."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from rich.text import Text

from explorer.cli.output import note, print_json
from explorer.cli.tables import Cell, Column, Table, print_csv, print_table
from explorer.stewardship import Count, Coverage, Group
from explorer.stewardship.coverage import Part

__all__ = ["Gate", "print_as_csv", "print_as_json", "print_for_people"]

_PARTS: Final[tuple[Part, ...]] = ("tables", "columns")
_FIELDS: Final = ("total", "documented", "edited", "ingested", "percent")
_NOBODY: Final = {
    "domain": "(no domain)",
    "folder": "(no folder)",
    "owner": "(no owner)",
    "platform": "(no platform)",
    "tag": "(no tag)",
}


@dataclass(frozen=True, slots=True)
class Gate:
    """A share that tables and columns, or `only` one of them, must reach."""

    coverage: Coverage
    fail_under: float
    only: Part | None = None

    @property
    def parts(self) -> tuple[Part, ...]:
        """What is looked at."""
        return (self.only,) if self.only else _PARTS

    @property
    def reached(self) -> bool:
        """Whether the build may go on; not where there is nothing to count."""
        counted = any(self.coverage.of(part).total for part in self.parts)
        return counted and self.coverage.reaches(self.fail_under, self.parts)

    def tell(self) -> bool:
        """Say what falls short; gives whether the gate is reached."""
        for part in self.parts:
            count = self.coverage.of(part)
            if not count.reaches(self.fail_under):
                note(Text(f"{part}: {_percent(count)} documented, below {self.fail_under:g}%"))
        if not any(self.coverage.of(part).total for part in self.parts):
            note(Text("there is nothing to count"))
        return self.reached


def print_for_people(coverage: Coverage) -> None:
    """A line for each group, or one for tables and one for columns."""
    if coverage.by is None:
        _print_sums(coverage)
        return
    columns = (
        Column("name", coverage.by, folds=True),
        *(
            Column(f"{part}_{field}", heading)
            for part in _PARTS
            for field, heading in (("total", part), ("documented", "done"), ("percent", "%"))
        ),
    )
    print_table(Table(columns, [_short(group, coverage) for group in coverage.groups]))
    for part in _PARTS:
        note(Text(f"{part}: {_told(coverage.of(part))}"))


def print_as_csv(coverage: Coverage) -> None:
    """A line for each group, or one without a key for everything."""
    columns = (
        Column("key"),
        Column("name"),
        *(Column(f"{part}_{field}") for part in _PARTS for field in _FIELDS),
    )
    whole = Group("", "", coverage.tables, coverage.columns)
    groups = coverage.groups if coverage.by else (whole,)
    print_csv(Table(columns, [[group.key, group.name, *_cells(group)] for group in groups]))


def print_as_json(coverage: Coverage, gate: Gate | None) -> None:
    """The counts, the groups, and whether the gate is reached."""
    judged = gate and {
        "fail_under": gate.fail_under,
        "only": gate.only,
        "reached": gate.reached,
    }
    print_json(
        {
            **{part: _as_json(coverage.of(part)) for part in _PARTS},
            "by": coverage.by,
            "groups": [
                {
                    "key": group.key,
                    "name": group.name,
                    **{part: _as_json(group.of(part)) for part in _PARTS},
                }
                for group in coverage.groups
            ],
            "gate": judged,
        }
    )


def _print_sums(coverage: Coverage) -> None:
    columns = (
        Column("part", ""),
        Column("total"),
        Column("documented"),
        Column("percent", "%"),
        Column("edited", "by people"),
        Column("ingested", "by ingestion"),
    )
    rows: list[list[Cell]] = []
    for part in _PARTS:
        count = coverage.of(part)
        rows.append(
            [part, count.total, count.documented, count.percent, count.edited, count.ingested]
        )
    print_table(Table(columns, rows))


def _short(group: Group, coverage: Coverage) -> list[Cell]:
    name = group.name or _NOBODY.get(coverage.by or "", "")
    counts = (group.of(part) for part in _PARTS)
    return [name, *(cell for one in counts for cell in (one.total, one.documented, one.percent))]


def _cells(group: Group) -> Iterator[Cell]:
    for part in _PARTS:
        yield from _as_json(group.of(part)).values()


def _as_json(count: Count) -> dict[str, Any]:
    return {field: getattr(count, field) for field in _FIELDS}


def _percent(count: Count) -> str:
    return "none" if count.percent is None else f"{count.percent:g}%"


def _told(count: Count) -> str:
    if not count.total:
        return "none"
    return (
        f"{count.documented:,} of {count.total:,} documented ({_percent(count)}), "
        f"{count.edited:,} by people, {count.ingested:,} by ingestion"
    )
