"""How an entity came to say what it says, as tables for files: texts in full, moments in UTC."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from explorer.metadata.fieldpath import FieldPath
from explorer.tui.history.lists import BlameList, ColumnList, HistoryList, VersionsList
from explorer.tui.history.versions import MARKS, Track, news, run_of
from explorer.views.table import Row, Table

if TYPE_CHECKING:
    from explorer.client.records import ColumnChange
    from explorer.metadata.aspects import AuditStamp

__all__ = ["of_history"]


def of_history(name: str, shown: HistoryList) -> Table:
    """The versions of aspects, the columns and who described them, or the changes of one column:
    whichever is shown, as far as it was read."""
    match shown:
        case VersionsList():
            columns = ("aspect", "version", "written", "actor", "run", "changes")
            rows = [row for track in shown.tracks for row in _of_track(track)]
            return Table.of(f"{name} versions", columns, rows)
        case BlameList():
            return Table.of(
                f"{name} who described the columns",
                ("path", "name", "origin", "written", "actor", "run", "description"),
                list(_of_columns(shown)),
            )
        case ColumnList():
            return Table.of(
                f"{name} {FieldPath(shown.path).simple} descriptions",
                ("path", "origin", "written", "actor", "run", "before", "after"),
                [(one.path, *_stamped(one), one.before, one.after) for one in shown.changes],
            )


def _of_track(track: Track) -> Iterator[Row]:
    """The versions that were read; of an aspect whose versions were not, the latest writing."""
    if not track.steps:
        yield track.aspect, None, *_written(track.latest.created, track.latest.run_id), None
    for step in track.steps:
        version = step.version
        told: Sequence[str] | None = None
        if step.before is not None or step.is_first:
            told = [f"{MARKS[one.kind]} {one.place}" for one in news(step.changes)]
        yield track.aspect, version.number, *_written(version.created, version.run_id), told


def _of_columns(shown: BlameList) -> Iterator[Row]:
    for column in shown.columns:
        change = shown.blamed.get(column.path.raw)
        told = (*_stamped(change), change.after) if change else (None,) * 5
        yield column.path.raw, column.path.simple, *told


def _stamped(change: "ColumnChange") -> Sequence[str | None]:
    return (change.origin, *_written(change.created, change.run_id))


def _written(stamp: "AuditStamp | None", run_id: str | None) -> Sequence[str | None]:
    """When, by whom, and in which run of ingestion; nothing for what is not known."""
    at = stamp.at if stamp is not None and stamp.time > 0 else None
    run = run_id if run_of(run_id) else None
    return (at.isoformat() if at else None, stamp.actor if stamp else None, run)
