"""Entities taken away and brought back."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import click
from rich.text import Text

from explorer.cli.output import note, print_json, said
from explorer.cli.target import Target
from explorer.cli.write.edits import (
    Round,
    finish,
    given_urns,
    go_through,
    keep_journal,
    refuse_read_only,
)
from explorer.client.display import line
from explorer.client.records import Deletion, StatusChange
from explorer.errors import CatalogError, NotFound
from explorer.metadata.urn import Urn

if TYPE_CHECKING:
    from explorer.client import Catalog

__all__ = ["bring_back", "destroy", "hide"]

_POINTS: Final = 1_000
_REFERENCES_SHOWN: Final = 5


@dataclass(frozen=True, slots=True)
class _Going:
    """What a deletion takes: how many versions and points, where that can be told; of points
    there may be more."""

    deletion: Deletion
    aspects: int
    versions: int | None
    points: int | None
    more_points: bool


def hide(target: Target, words: Sequence[str], *, dry_run: bool, as_json: bool) -> None:
    """Take entities away from search and browsing."""
    _set_status(target, words, removed=True, dry_run=dry_run, as_json=as_json)


def bring_back(target: Target, words: Sequence[str], *, dry_run: bool, as_json: bool) -> None:
    """Bring back entities that were hidden."""
    _set_status(target, words, removed=False, dry_run=dry_run, as_json=as_json)


def destroy(
    target: Target, words: Sequence[str], *, asks: bool, dry_run: bool, as_json: bool
) -> None:
    """Delete entities for good; with `asks` says first what goes, and asks."""
    refuse_read_only(target)
    urns = given_urns(words)
    gone: list[dict[str, Any]] = []
    with target.open() as catalog:
        looked = Round()
        if asks or dry_run:
            going: list[_Going] = []
            looked = go_through(urns, lambda urn: _look(catalog, urn, going))
            if dry_run:
                gone = [_going_json(one) for one in going]
            elif going and looked.stopped is None and _agrees(going):
                urns = tuple(str(one.deletion.urn) for one in going)
            else:
                note(Text("nothing was deleted"))
                finish(looked)
                click.get_current_context().exit(1)
        if not dry_run:
            done = go_through(urns, lambda urn: _delete(catalog, urn, gone))
            looked.failed += done.failed
            looked.stopped = done.stopped
    _conclude("deleted", gone, looked, dry_run=dry_run, as_json=as_json)


def _set_status(
    target: Target, words: Sequence[str], *, removed: bool, dry_run: bool, as_json: bool
) -> None:
    from explorer.client.journal import one_save

    refuse_read_only(target)
    made: list[StatusChange] = []
    with target.open() as catalog:
        if not dry_run:
            keep_journal(catalog)
        act: Callable[..., StatusChange] = catalog.soft_delete if removed else catalog.restore

        def change(urn: str) -> None:
            made.append(act(urn, dry_run=dry_run))
            _tell_status(made[-1], dry_run=dry_run)

        with one_save():
            done = go_through(given_urns(words), change)
    records = [
        {
            "urn": str(one.urn),
            "was_removed": one.was_removed,
            "removed": one.removed,
            "written": one.written,
        }
        for one in made
    ]
    name = "deleted" if removed else "restored"
    _conclude(name, records, done, dry_run=dry_run, as_json=as_json)


def _tell_status(change: StatusChange, *, dry_run: bool) -> None:
    name = said(change.urn.name, "bold")
    if change.was_removed == change.removed:
        state = "is hidden already" if change.removed else "is not hidden"
        note(name, Text(f" {state}; nothing to do"))
    elif change.removed:
        verb = "would be hidden" if dry_run else "is hidden"
        note(name, Text(f" {verb}: in search and browsing → in neither; catalog restore undoes it"))
    else:
        verb = "would be back" if dry_run else "is back"
        note(name, Text(f" {verb}: hidden → in search and browsing"))


def _look(catalog: "Catalog", urn: str, going: list[_Going]) -> None:
    found = catalog.delete(urn, dry_run=True)
    entity = catalog.entity(urn)
    versions = _versions(catalog, found.urn, tuple(entity.aspects))
    points, more = _points(catalog, found.urn)
    going.append(_Going(found, len(entity.aspects), versions, points, more))
    _tell_going(going[-1])


def _versions(catalog: "Catalog", urn: Urn, aspects: Sequence[str]) -> int | None:
    """How many versions the aspects have together; nothing where that takes a request each."""
    if not catalog.abilities().versions:
        return None
    total = 0
    for aspect in aspects:
        try:
            found = catalog.versions(urn, aspect, count=1)
        except NotFound:
            # The key of an entity need not be stored.
            continue
        if found.total is None:
            return None
        total += found.total
    return total


def _points(catalog: "Catalog", urn: Urn) -> tuple[int | None, bool]:
    known = catalog.registry
    if urn.entity_type not in known.entities:
        return None, False
    total, more = 0, False
    for name in known.aspects_of(urn.entity_type):
        if known.aspects[name].timeseries:
            try:
                series = catalog.timeseries(urn, name, limit=_POINTS)
            except CatalogError:
                return None, False
            total += len(series.values)
            more = more or series.truncated
    return total, more


def _tell_going(going: _Going) -> None:
    found = going.deletion
    note(Text("would go for good: "), said(found.urn.name, "bold"))
    note(Text(f"  {line(str(found.urn))}", "dim"))
    note(Text(f"  {', '.join(_counted(going))}"))
    for one in (found.references or ())[:_REFERENCES_SHOWN]:
        note(Text("  pointed at by "), said(one.urn.name), Text(f" ({line(one.aspect)})", "dim"))
    left = (found.reference_count or 0) - _REFERENCES_SHOWN
    if left > 0:
        note(Text(f"  and by {left:,} more", "dim"))


def _counted(going: _Going) -> Iterator[str]:
    yield _several(going.aspects, "aspect")
    if going.versions is not None:
        yield _several(going.versions, "version")
    if going.points is None:
        yield "all points in time"
    else:
        yield f"{'at least ' if going.more_points else ''}{_several(going.points, 'point')} in time"
    count = going.deletion.reference_count
    if count is None:
        yield "what points at it cannot be told"
    else:
        yield f"{_several(count, 'reference')} to it"


def _several(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _agrees(going: Sequence[_Going]) -> bool:
    what = "it" if len(going) == 1 else f"these {len(going):,}"
    return click.confirm(f"Delete {what} for good? This cannot be undone.", err=True)


def _delete(catalog: "Catalog", urn: str, gone: list[dict[str, Any]]) -> None:
    found = catalog.delete(urn)
    gone.append(_deletion_json(found, found.versions, found.points))
    counts = f"{_several(found.versions, 'version')}, {_several(found.points, 'point')} in time"
    note(Text("deleted "), said(found.urn.name, "bold"), Text(f" for good: {counts}"))
    if found.reference_count:
        left = _several(found.reference_count, "reference")
        note(Text(f"  pointed at by others as before: {left}", "dim"))


def _going_json(going: _Going) -> dict[str, Any]:
    return _deletion_json(going.deletion, going.versions, going.points)


def _deletion_json(found: Deletion, versions: int | None, points: int | None) -> dict[str, Any]:
    return {
        "urn": str(found.urn),
        "done": found.done,
        "versions": versions,
        "points": points,
        "references": found.reference_count,
        "referenced_by": [
            {"urn": str(one.urn), "aspect": one.aspect, "relationship": one.relationship}
            for one in found.references or ()
        ],
    }


def _conclude(
    name: str, records: list[dict[str, Any]], done: Round, *, dry_run: bool, as_json: bool
) -> None:
    if as_json:
        failed = [{"urn": urn, "error": reason} for urn, reason in done.failed]
        print_json({"dry_run": dry_run, name: records, "failed": failed})
    if dry_run:
        note(Text("nothing was written: this was a dry run"))
    finish(done)
