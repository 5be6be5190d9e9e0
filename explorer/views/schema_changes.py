"""The schema changes between two commits and their impact, as a table and as a comment on a pull
request."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from explorer.client.display import counted, line
from explorer.views.lineage import CERTAINTY, CERTAINTY_NOTES, ImpactView, label_name
from explorer.views.table import Row, Table, TableColumn, markdown_cell, markdown_table

if TYPE_CHECKING:
    from explorer.graph.impact import Affected
    from explorer.sources.schema_changes import ChangedSchemas, SchemaChange

__all__ = ["ChangeImpact", "SchemaChangesView", "change_text"]

_MARK: Final = "<!-- catalog impact -->"
_SHOWN: Final = 20
_MOST_OWNERS: Final = 5


@dataclass(frozen=True, slots=True)
class ChangeImpact:
    """A change and its impact, one for each dataset of the catalog that has the table's name.

    `problem` is the reason why nothing is known about it.
    """

    change: "SchemaChange"
    impacts: tuple[ImpactView, ...] = ()
    problem: str | None = None

    @property
    def affected(self) -> "tuple[Affected, ...]":
        """The affected entities, without duplicates, most used first."""
        own = {view.impact.root for view in self.impacts}
        found = {
            one.urn: one
            for view in self.impacts
            for one in view.impact.affected
            if one.urn not in own
        }
        return tuple(
            sorted(
                found.values(), key=lambda one: (-(one.queries or 0), -(one.users or 0), one.urn)
            )
        )

    @property
    def queries(self) -> int:
        """The number of queries of the affected entities in the last 30 days."""
        return sum(one.queries or 0 for one in self.affected)

    @property
    def owners(self) -> tuple[str, ...]:
        """The owners of the affected entities, those of the most used first."""
        names = {key: name for view in self.impacts for key, name in view.names.items()}
        return tuple(
            dict.fromkeys(label_name(urn, names) for one in self.affected for urn in one.owners)
        )

    @property
    def truncated(self) -> tuple[str, ...]:
        """What was not reached, in words."""
        cuts = (view.impact.truncated for view in self.impacts)
        return tuple(dict.fromkeys(cut for cut in cuts if cut))


def change_text(change: "SchemaChange") -> str:
    """Return a change in words: `orders.amount dropped`."""
    table = ".".join(change.table)
    subject = line(f"{table}.{change.column}" if change.column else table)
    match change.kind:
        case "renamed":
            return f"{subject} renamed to {line(change.after)}"
        case "retyped" if change.before:
            return f"{subject} changed from {line(change.before)} to {line(change.after)}"
        case "retyped":
            return f"{subject} changed to {line(change.after)}"
        case _:
            return f"{subject} {change.kind}"


@dataclass(frozen=True, slots=True)
class SchemaChangesView:
    """The changes between two commits with their impact: most used first, then in the order of the
    files."""

    found: "ChangedSchemas"
    impacts: tuple[ChangeImpact, ...]

    @classmethod
    def of(cls, found: "ChangedSchemas", impacts: Sequence[ChangeImpact]) -> "SchemaChangesView":
        """Return the view of changes and their impacts."""
        order = sorted(impacts, key=lambda one: (-one.queries, -len(one.affected)))
        return cls(found, tuple(order))

    @property
    def affecting(self) -> tuple[ChangeImpact, ...]:
        """The changes that affect at least one entity."""
        return tuple(one for one in self.impacts if one.affected)

    @property
    def may_break(self) -> bool:
        """Whether a change affects anything, or might, because something could not be examined."""
        return bool(
            self.affecting or self.found.skipped or any(one.truncated for one in self.impacts)
        )

    @property
    def title(self) -> str:
        """The number of changes and of affected entities, in words."""
        entities = {one.urn for impact in self.impacts for one in impact.affected}
        changes = len(self.affecting)
        if not changes:
            count = len(self.found.changes)
            said = "no column or table is changed" if not count else f"{counted(count, 'change')}"
            return said if not count else f"{said}, and nothing depends on what is changed"
        return (
            f"{counted(changes, 'change')} {'affects' if changes == 1 else 'affect'} "
            f"{counted(len(entities), 'entity', 'entities')}"
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """What could not be examined, one sentence each."""
        skipped = (f"{line(one.subject)}: {line(one.reason, 400)}" for one in self.found.skipped)
        said = ((one, word) for one in self.impacts for word in (one.problem, *one.truncated))
        return (*skipped, *(f"{change_text(one.change)}: {word}" for one, word in said if word))

    def table(self) -> Table:
        """Return a row for each change; queries are of the last 30 days."""
        rows: list[Row] = [
            (
                *(change_text(one.change), one.change.kind, ".".join(one.change.table)),
                *(one.change.column, one.change.before, one.change.after, one.change.file),
                *(len(one.affected), one.queries or None, _most(one.owners), one.owners),
                tuple(view.impact.root for view in one.impacts),
                tuple(affected.urn for affected in one.affected),
                one.problem,
            )
            for one in self.impacts
        ]
        return Table(_CHANGES, rows, self.title)

    def markdown(self) -> str:
        """Return a comment in Markdown.

        It has a heading, a row for each change that affects anything, the affected entities below
        each, and what could not be examined. Its first line is a marker by which the comment is
        found and updated.
        """
        return "\n".join((_MARK, *self._markdown())) + "\n"

    def _markdown(self) -> Iterator[str]:
        yield f"### {self.title[0].upper()}{self.title[1:]}"
        if self.affecting:
            columns = [TableColumn(name) for name in ("change", "affects", "queries", "owners")]
            rows: list[Row] = [
                (
                    change_text(one.change),
                    f"{len(one.affected):,}",
                    f"{one.queries:,}" if one.queries else None,
                    _most(one.owners),
                )
                for one in self.affecting
            ]
            yield from ("", *markdown_table(Table(columns, rows)))
            yield from ("", "Queries are of the last 30 days.")
        for one in self.affecting:
            yield from _affected_markdown(one)
        harmless = [one for one in self.impacts if not one.affected and not one.problem]
        if self.affecting and harmless:
            said = ", ".join(markdown_cell(change_text(one.change)) for one in harmless)
            yield from ("", f"Nothing depends on: {said}.")
        if self.notes:
            yield from ("", "**Not looked at**", "")
            yield from (f"- {markdown_cell(note)}" for note in self.notes)


def _affected_markdown(one: ChangeImpact) -> Iterator[str]:
    names = {key: name for view in one.impacts for key, name in view.names.items()}
    columns = [
        TableColumn(name)
        for name in ("name", "type", "columns", "queries", "users", "owners", "known")
    ]
    by_column = one.change.column is not None
    rows: list[Row] = [
        (
            line(affected.name),
            affected.kind or affected.type,
            affected.columns,
            affected.queries,
            affected.users,
            tuple(label_name(urn, names) for urn in affected.owners),
            CERTAINTY[affected.certainty] if by_column else None,
        )
        for affected in one.affected[:_SHOWN]
    ]
    used = [at for at in range(len(columns)) if any(row[at] not in (None, ()) for row in rows)]
    kept: list[Row] = [tuple(row[at] for at in used) for row in rows]
    yield from ("", "<details>")
    subject = markdown_cell(change_text(one.change))
    yield f"<summary>{subject}: {len(one.affected):,} affected</summary>"
    yield from ("", *markdown_table(Table([columns[at] for at in used], kept)))
    if len(one.affected) > _SHOWN:
        yield from ("", f"{len(one.affected) - _SHOWN:,} more are not listed.")
    held = {affected.certainty for affected in one.affected} if by_column else set()
    for certainty, words in CERTAINTY_NOTES.items():
        if certainty in held:
            yield from ("", markdown_cell(words))
    yield from ("", "</details>")


def _most(names: Sequence[str]) -> str:
    more = len(names) - _MOST_OWNERS
    said = ", ".join(names[:_MOST_OWNERS])
    return f"{said} and {more:,} more" if more > 0 else said


_CHANGES: Final = (
    TableColumn("change", style="bold", folds=True),
    TableColumn("kind", audience="programs"),
    TableColumn("table", audience="programs"),
    TableColumn("column", audience="programs"),
    TableColumn("before", audience="programs"),
    TableColumn("after", audience="programs"),
    TableColumn("file", folds=True, style="dim"),
    TableColumn("affects"),
    TableColumn("queries"),
    TableColumn("owned_by", folds=True, audience="people"),
    TableColumn("owners", audience="programs"),
    TableColumn("datasets", audience="programs"),
    TableColumn("affected", audience="programs"),
    TableColumn("problem", audience="programs"),
)
