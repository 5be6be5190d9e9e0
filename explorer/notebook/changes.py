"""Who changed what: descriptions of columns, entries of the change log, runs of ingestion."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from explorer.client.display import moment
from explorer.client.records import ChangeEvent, ChangePage, ColumnChange, Run
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.notebook.results import EDITED
from explorer.notebook.view import Cell, Grid, Part, Say, Table, Title

if TYPE_CHECKING:
    import pandas as pd

    from explorer.client.entity import Entity

__all__ = ["Blame", "Changes", "ColumnChanges", "Runs", "actors_of", "names_of"]

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
