"""Versions of aspects, what differs between two, who wrote which description, and entries of the
change log.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

from explorer.client.difference import ValueChange, difference
from explorer.client.display import line, moment
from explorer.client.records import (
    AspectDiff,
    ChangeEvent,
    ChangePage,
    ColumnChange,
    Run,
    Version,
    Versions,
)
from explorer.metadata.aspects import moment_of
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.notebook.search import EDITED
from explorer.notebook.view import Cell, Difference, Grid, Part, Say, Table, Title, tabulated

if TYPE_CHECKING:
    import pandas as pd

    from explorer.client.entity import Entity
    from explorer.notebook.catalog import Catalog

__all__ = [
    "Blame",
    "Changes",
    "ColumnChanges",
    "Diff",
    "History",
    "Runs",
    "actors_of",
    "names_of",
    "read_diff",
    "read_history",
]

_MOST_ROWS = 60
_Names = Mapping[Urn, str]


class Blame(Table, dict[str, ColumnChange]):
    """Who wrote the description of each column last, by the column's exact path."""

    names: _Names

    @classmethod
    def of(cls, changes: Mapping[str, ColumnChange], names: _Names) -> Self:
        """The changes, with what people call those who made them."""
        made = cls(changes)
        made.names = names
        return made

    def to_frame(self) -> "pd.DataFrame":
        """A row for each column; see `explorer.frames.column_changes_frame`. No request."""
        from explorer import frames

        return frames.column_changes_frame(self.values(), self.names)

    def parts(self) -> Iterator[Part]:
        """What it shows of itself, from top to bottom."""
        yield Title("Who described it last", f"{len(self):,} columns" if self else "nobody")
        yield from _written(tuple(self.values()), self.names, "column")


class ColumnChanges(Table, tuple[ColumnChange, ...]):
    """What was written of one column, newest first."""

    names: _Names

    def __new__(cls, changes: Iterable[ColumnChange] = (), names: _Names | None = None) -> Self:
        """The changes, with what people call those who made them."""
        made = super().__new__(cls, changes)
        made.names = names or {}
        return made

    def to_frame(self) -> "pd.DataFrame":
        """A row for each change; see `explorer.frames.column_changes_frame`. No request."""
        from explorer import frames

        return frames.column_changes_frame(self, self.names)

    def parts(self) -> Iterator[Part]:
        """What it shows of itself, from top to bottom."""
        name = FieldPath(self[0].path).simple if self else "the column"
        yield Title(f"Descriptions of {name}", f"{len(self):,} changes" if self else "none")
        yield from _written(self, self.names, "")


@dataclass(frozen=True, slots=True, repr=False)
class Changes(Table, ChangePage):
    """A page of the change log: iterable for its events, in the order of the log."""

    names: _Names = field(default_factory=dict, compare=False)

    def to_frame(self) -> "pd.DataFrame":
        """A row for each change; see `explorer.frames.events_frame`. No request."""
        from explorer import frames

        return frames.events_frame(self, self.names)

    def parts(self) -> Iterator[Part]:
        """What it shows of itself, from top to bottom."""
        yield Title("Changes", f"{len(self):,} up to {self.next:,} of {self.head:,}")
        shown = self.changes[:_MOST_ROWS]
        if shown:
            headers = ("offset", "when", "who", "what", "aspect", "kind")
            yield Grid(headers, [self._row(one) for one in shown], frozenset({"offset"}))
        if len(shown) < len(self):
            yield Say(f"{len(shown)} of {len(self):,} drawn; .to_frame() has them all")
        if self.truncated:
            yield Say(f"there are more; changes({self.next}) goes on from here")

    def _row(self, one: ChangeEvent) -> tuple[Cell, ...]:
        name = self.names.get(one.urn) or one.urn.name
        return (
            Cell(f"{one.offset:,}"),
            Cell(moment(round(one.at.timestamp() * 1000), utc=True)),
            Cell(_called(one.actor, self.names)),
            Cell(name, detail=str(one.urn), tone="loud"),
            Cell(one.aspect),
            Cell(one.kind),
        )


class Runs(Table, tuple[Run, ...]):
    """Runs of ingestion, newest first."""

    def to_frame(self) -> "pd.DataFrame":
        """A row for each run; see `explorer.frames.runs_frame`. No request."""
        from explorer import frames

        return frames.runs_frame(self)

    def parts(self) -> Iterator[Part]:
        """What it shows of itself, from top to bottom."""
        yield Title("Runs of ingestion", f"{len(self):,}" if self else "none")
        shown = self[:_MOST_ROWS]
        if shown:
            rows = [
                (
                    Cell(one.run_id, tone="loud"),
                    Cell(moment(round(one.at.timestamp() * 1000), utc=True)),
                    Cell(f"{one.rows:,}"),
                )
                for one in shown
            ]
            yield Grid(("run", "wrote last", "rows left"), rows, frozenset({"rows left"}))
        if len(shown) < len(self):
            yield Say(f"{len(shown)} of {len(self):,} drawn; .to_frame() has them all")


def actors_of(changes: Iterable[ColumnChange]) -> tuple[Urn, ...]:
    """Those who made the changes, each once."""
    return Urn.parse_all(
        dict.fromkeys(one.created.actor for one in changes if one.created is not None)
    )


def names_of(entities: Mapping[Urn, "Entity"]) -> dict[Urn, str]:
    """What people call the entities."""
    return {urn: entity.name for urn, entity in entities.items()}


def _written(changes: tuple[ColumnChange, ...], names: _Names, what: str) -> Iterator[Part]:
    shown = changes[:_MOST_ROWS]
    if not shown:
        return
    headers = (*([what] if what else ()), "when", "who", "description")
    yield Grid(headers, [_row(one, names)[0 if what else 1 :] for one in shown])
    if len(shown) < len(changes):
        yield Say(f"{len(shown)} of {len(changes):,} drawn; .to_frame() has them all")


def _row(one: ColumnChange, names: _Names) -> tuple[Cell, ...]:
    created = one.created
    mark = EDITED if one.origin == "edited" else ""
    text = Cell(one.after, mark, markdown=True) if one.after else Cell("taken away", tone="quiet")
    return (
        Cell(FieldPath(one.path).simple, tone="loud"),
        Cell(moment(created.time, utc=True) if created else "not said"),
        Cell(_called(created.actor, names) if created else ""),
        text,
    )


def _called(actor: str, names: _Names) -> str:
    return next((names.get(urn) or urn.name for urn in Urn.parse_all([actor])), actor)


_MOST_CHANGES = 30
_MOST_LINES = 40
_NAMED = 3
_SHORT = 60
_NO_RUN = "no-run-id-provided"
# Changed with every writing, and so no news while anything else is.
_NOISE = frozenset({"created", "hash", "lastModified"})
_MARKS: Mapping[str, str] = {"added": "+", "removed": "-", "changed": "~"}
_FRAME = {"version": "int64", "time": "datetime64[ms, UTC]"} | dict.fromkeys(
    ("who", "actor", "run", "changed"), "string"
)


@dataclass(frozen=True, slots=True)
class Step:
    """A version, and what it changed of the one before; `changes` is None where that one is not
    known. `is_first` says that there was none."""

    version: Version
    changes: tuple[ValueChange, ...] | None
    is_first: bool = False

    @property
    def summary(self) -> str:
        """What it changed, in a few words; not cleaned for a page."""
        if self.is_first:
            return "first version"
        if self.changes is None:
            return "the version before it is not kept"
        if not self.changes:
            return "nothing changed"
        news = [one for one in self.changes if one.path[0] not in _NOISE] or self.changes
        told = [_told(one) for one in news[:_NAMED]]
        more = f", {len(news) - _NAMED:,} more" if len(news) > _NAMED else ""
        return ", ".join(told) + more


@dataclass(frozen=True, repr=False)
class History(Table):
    """Versions of an aspect, newest first, each with what it changed: iterable for `Step`."""

    name: str
    versions: Versions
    before: Version | None = None
    names: Mapping[Urn, str] = field(default_factory=dict)
    catalog: "Catalog" = field(compare=False, kw_only=True)

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """Each version and what it changed of the one before."""
        held = self.versions.versions
        known = (*held, self.before) if self.before else held
        steps = [Step(new, difference(old.value, new.value)) for new, old in pairwise(known)]
        if known == held and held:
            # The one before the oldest may have been dropped by the server.
            steps.append(Step(held[-1], None, is_first=not self.versions.truncated))
        return tuple(steps)

    def __len__(self) -> int:
        return len(self.versions)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def diff(self, older: int = -1, newer: int = 0) -> "Diff":
        """What differs between two of the aspect's versions; see `Entity.diff`."""
        return read_diff(
            self.catalog, self.versions.urn, self.name, self.versions.aspect, older, newer
        )

    def to_frame(self) -> "pd.DataFrame":
        """A row for each version, newest first. No request.

        version   int64    as the server numbers it: 0 is the latest, 1 the oldest
        time      datetime64[ms, UTC]   when it was written, where it says so
        who       string   who wrote it, by name; `actor` is the URN
        run       string   the run of ingestion that brought it
        changed   string   what it changed of the one before, in a few words
        """
        rows = []
        for step in self.steps:
            created = step.version.created
            time = moment_of(created.time) if created else None
            actor = created.actor if created else None
            who = _who(step.version, self.names) or None
            run = step.version.run_id
            rows.append((step.version.number, time, who, actor, run, step.summary))
        return tabulated(rows, _FRAME)

    def parts(self) -> Iterator[Part]:
        """What it shows of itself, from top to bottom."""
        total = self.versions.total
        count = f"{len(self):,} {'version' if len(self) == 1 else 'versions'}"
        if self.versions.truncated:
            count = f"{len(self):,} of {total:,} versions" if total else f"the newest {count}"
        yield Title(f"{self.versions.aspect} of {self.name}", count)
        shown = self.steps[:_MOST_ROWS]
        if shown:
            yield Grid(("version", "when", "who", "what it changed"), [self._row(x) for x in shown])
        if len(shown) < len(self):
            yield Say(f"{len(shown)} of {len(self):,} rows drawn; .to_frame() has them all")
        if self.versions.truncated:
            yield Say("there are more; a greater count reads them")

    def _row(self, step: Step) -> tuple[Cell, ...]:
        run = step.version.run_id
        below = (f"run {run}",) if run and run != _NO_RUN else ()
        return (
            Cell(f"{step.version.number}" if step.version.number else "latest"),
            Cell(_when(step.version)),
            Cell(_who(step.version, self.names), below=below),
            Cell(step.summary),
        )


@dataclass(frozen=True, repr=False)
class Diff(Table):
    """What differs between two versions of an aspect, place by place: iterable for `Change`."""

    name: str
    found: AspectDiff
    names: Mapping[Urn, str] = field(default_factory=dict)

    @property
    def changes(self) -> tuple[ValueChange, ...]:
        """Each place that differs."""
        return self.found.changes

    def __len__(self) -> int:
        return len(self.found)

    def __iter__(self) -> Iterator[ValueChange]:
        return iter(self.found)

    def to_frame(self) -> "pd.DataFrame":
        """A row for each place; see `explorer.frames.changes_frame`. No request."""
        from explorer import frames

        return frames.changes_frame(self.found)

    def parts(self) -> Iterator[Part]:
        """What it shows of itself, from top to bottom."""
        count = f"{len(self):,} {'place differs' if len(self) == 1 else 'places differ'}"
        title = f"{self.found.aspect} of {self.name}"
        yield Title(title, count if len(self) else "nothing differs between the two versions")
        if not len(self):
            return
        ends = (("-", self.found.older), ("+", self.found.newer))
        yield Difference([f"{sign}{_headed(one, self.names)}" for sign, one in ends])
        # What comes with any writing is last.
        ordered = sorted(self.changes, key=lambda change: change.path[0] in _NOISE)
        for change in ordered[:_MOST_CHANGES]:
            yield Say(f"{_MARKS[change.kind]} {_place(change)}", "loud")
            yield Difference(_shortened(change.lines()))
        if len(self) > _MOST_CHANGES:
            yield Say(f"{_MOST_CHANGES} of {len(self):,} places drawn; .to_frame() has them all")


def read_history(catalog: "Catalog", urn: Urn, name: str, aspect: str, count: int) -> History:
    """The newest versions of an aspect and who wrote them; see `Entity.history`."""
    # One more tells what the oldest of them changed.
    found = catalog.versions(urn, aspect, count=count + 1)
    kept, before = found.versions[:count], None
    if len(found) > count:
        before = found.versions[count]
        found = replace(found, versions=kept, truncated=True)
    return History(name, found, before, _names(catalog, kept), catalog=catalog)


def read_diff(catalog: "Catalog", urn: Urn, name: str, aspect: str, older: int, newer: int) -> Diff:
    """What differs between two versions; see `Entity.diff`."""
    found = catalog.diff(urn, aspect, older, newer)
    return Diff(name, found, _names(catalog, (found.older, found.newer)))


def _names(catalog: "Catalog", versions: Sequence[Version]) -> dict[Urn, str]:
    actors = dict.fromkeys(one.created.actor for one in versions if one.created)
    summaries = catalog.summaries(Urn.parse_all(actors))
    return {urn: one.name for urn, one in summaries.items()}


def _when(version: Version) -> str:
    return moment(version.created.time, utc=True) if version.created else "not said"


def _who(version: Version, names: Mapping[Urn, str]) -> str:
    if version.created is None:
        return ""
    actor = version.created.actor
    return next((names.get(urn) or urn.name for urn in Urn.parse_all([actor])), actor)


def _headed(version: Version, names: Mapping[Urn, str]) -> str:
    number = f"version {version.number}" if version.number else "latest version"
    told = (number, _who(version, names), _when(version))
    return "  ".join(line(one) for one in told if one)


def _place(change: ValueChange) -> str:
    return " / ".join(Urn.label(step) for step in change.path)


def _told(change: ValueChange) -> str:
    return f"{_MARKS[change.kind]} {line(_place(change), _SHORT)}"


def _shortened(lines: Sequence[str]) -> list[str]:
    # The first head of a part says nothing that the place above did not.
    kept: list[Any] = [text for at, text in enumerate(lines) if at or not text.startswith("@@")]
    if len(kept) > _MOST_LINES:
        return [*kept[:_MOST_LINES], f" … {len(kept) - _MOST_LINES:,} more lines"]
    return kept
