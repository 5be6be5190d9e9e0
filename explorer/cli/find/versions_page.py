"""What aspects said earlier: lists of versions, and what differs between two of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from rich.padding import Padding
from rich.text import Text

from explorer.cli import tables
from explorer.cli.forms import Form
from explorer.cli.output import note, print_json, results, said, told, words
from explorer.cli.reading import column_at, counted, read_existing
from explorer.client import Catalog
from explorer.client.difference import Change, difference
from explorer.client.display import block, line, moment
from explorer.client.records import AspectDiff, ColumnChange, Version
from explorer.errors import UnknownName
from explorer.metadata.aspects import AuditStamp, moment_of
from explorer.metadata.urn import Urn

__all__ = [
    "Step",
    "Steps",
    "print_column",
    "print_difference",
    "print_steps",
    "read_column",
    "read_steps",
]

_SAID: Final = 3
_NO_RUN: Final = "no-run-id-provided"
_WIDE: Final = 110
# Changed with every writing, and so no news while anything else is.
_NOISE: Final = frozenset({"created", "hash", "lastModified"})
_STEPS: Final = (
    tables.Column("time", audience="programs"),
    tables.Column("when", audience="people", folds=True),
    tables.Column("actor", audience="programs"),
    tables.Column("who", max_width=20, audience="people", folds=True),
    tables.Column("aspect", max_width=28, folds=True),
    tables.Column("version", "no"),
    tables.Column("run", audience="programs"),
    tables.Column("summary", "what it changed", folds=True),
)
_SHORT: Final = 60


@dataclass(frozen=True, slots=True)
class Step:
    """A version of an aspect, and what it changed of the one before it. `is_first` says that
    there is none, `changes` is None where it was not read."""

    aspect: str
    version: Version
    changes: tuple[Change, ...] | None
    is_first: bool = False


@dataclass(slots=True)
class Steps:
    """Versions, newest first. `total` counts all there are, where that is known."""

    urn: Urn
    steps: list[Step] = field(default_factory=list)
    total: int | None = 0


def read_steps(catalog: Catalog, urn: str, aspects: Sequence[str], count: int) -> Steps:
    """The newest versions of some aspects, or of all that the entity has, at most `count`.

    One request for each aspect, and one for the entity. Raises `UnknownName` for an aspect that it
    lacks, `NotFound` where there is no such entity.
    """
    entity = read_existing(catalog, urn)
    for name in aspects:
        if name not in entity.aspects:
            raise UnknownName("aspect of this entity", name, entity.aspects)
    found = Steps(entity.urn)
    names = aspects or [name for name in sorted(entity.aspects) if not name.endswith("Key")]
    for name in dict.fromkeys(names):
        page = catalog.versions(urn, name, count=count + 1)
        versions = list(page)
        for at, version in enumerate(versions[:count]):
            before = versions[at + 1] if at + 1 < len(versions) else None
            # The one before the oldest may have been dropped by the server.
            is_first = before is None and not page.truncated
            changes = difference(before.value, version.value) if before else None
            found.steps.append(Step(name, version, changes, is_first))
        if found.total is not None:
            found.total = None if page.total is None else found.total + page.total
    found.steps.sort(key=lambda step: -(_millis(step.version.created) or 0))
    del found.steps[count:]
    return found


def read_column(catalog: Catalog, urn: str, path: str) -> tuple[str, tuple[ColumnChange, ...]]:
    """A column's exact path and the changes of its description, newest first."""
    exact = column_at(read_existing(catalog, urn), path).path.raw
    return exact, catalog.column_history(urn, exact)


def print_steps(found: Steps, shown_as: Form | None) -> None:
    """Versions in one of the forms; totals go to standard error."""
    if shown_as == "json":
        print_json(
            {
                "urn": str(found.urn),
                "total": found.total,
                "versions": [
                    {
                        "aspect": step.aspect,
                        **_stamp_as_json(step.version),
                        "summary": _summary(step),
                        "changes": None
                        if step.changes is None
                        else [_change_as_json(change) for change in step.changes],
                    }
                    for step in found.steps
                ],
            }
        )
    elif shown_as == "csv":
        tables.print_csv(tables.Table(_STEPS, [_row(step) for step in found.steps]))
    else:
        _print_steps(found.steps)
    total = "more" if found.total is None else f"{found.total:,}"
    every = found.total == len(found.steps)
    if every:
        note(f"{counted(len(found.steps), 'version')} shown")
    else:
        note(f"{len(found.steps):,} of {total} versions shown; --count for more")


def print_column(
    urn: str, path: str, changes: Sequence[ColumnChange], count: int, shown_as: Form | None
) -> None:
    """What a column's description said, in one of the forms."""
    kept = changes[:count]
    if shown_as == "json":
        print_json(
            {
                "urn": urn,
                "path": path,
                "total": len(changes),
                "changes": [_column_change(change) for change in kept],
            }
        )
    elif shown_as == "csv":
        names = ("time", "actor", "origin", "version", "run", "before", "after")
        rows = [[_column_change(change)[name] for name in names] for change in kept]
        tables.print_csv(tables.Table([tables.Column(name) for name in names], rows))
    else:
        console = results()
        for change in kept:
            origin = "edited" if change.origin == "edited" else "from ingestion"
            console.print(
                words(
                    [
                        Text(_when(change.created), "bold"),
                        said(_who(change.created)),
                        Text(origin),
                        said(_run(change.run_id), "dim"),
                    ]
                )
            )
            _print_lines(_lines(change.before, change.after))
    if not changes:
        note("nobody ever described it")
    elif len(kept) < len(changes):
        note(f"{len(kept):,} of {len(changes):,} changes shown; --count for more")
    else:
        note(f"{counted(len(changes), 'change')} shown")


def print_difference(found: AspectDiff, shown_as: Form | None) -> None:
    """What differs, place by place, in one of the forms."""
    if shown_as == "json":
        print_json(
            {
                "urn": str(found.urn),
                "aspect": found.aspect,
                "older": _stamp_as_json(found.older),
                "newer": _stamp_as_json(found.newer),
                "changes": [_change_as_json(change) for change in found],
            }
        )
    elif found.changes:
        console = results()
        console.print(Text("--- ", "red") + _headed(found.aspect, found.older))
        console.print(Text("+++ ", "green") + _headed(found.aspect, found.newer))
        for change in found:
            console.print(said(change.place, "bold"), soft_wrap=True)
            _print_lines(change.lines())
    if found.changes:
        note(f"{len(found):,} {'places differ' if len(found) != 1 else 'place differs'}")
    else:
        note("nothing differs between the two versions")


def _print_steps(steps: Sequence[Step]) -> None:
    """A line for each version; where there is no room, what it changed stands below."""
    console = results()
    if console.width >= _WIDE and steps:
        tables.print_table(tables.Table(_STEPS, [_row(step) for step in steps]))
        return
    for step in steps:
        created = step.version.created
        number = f"version {step.version.number}" if step.version.number else "latest version"
        head = [Text(_when(created), "bold"), said(_who(created))]
        console.print(
            words([*head, said(step.aspect, "bold"), Text(number)]),
            no_wrap=True,
            overflow="ellipsis",
        )
        console.print(Padding(said(_summary(step)), (0, 0, 0, 2)))


def _row(step: Step) -> tuple[tables.Cell, ...]:
    created = step.version.created
    return (
        _time(created),
        _when(created),
        created.actor if created else None,
        _who(created),
        step.aspect,
        step.version.number,
        step.version.run_id,
        _summary(step),
    )


def _print_lines(lines: Sequence[str]) -> None:
    console = results()
    for text in lines:
        style = {"+": "green", "-": "red", "@": "cyan"}.get(text[:1], "")
        console.print(Text("  ") + told(text, style), soft_wrap=True)


def _lines(before: str | None, after: str | None) -> tuple[str, ...]:
    return Change((), "changed", before or "", after or "").lines()[1:]


def _headed(aspect: str, version: Version) -> Text:
    name = f"version {version.number}" if version.number else "latest version"
    return words(
        [said(f"{aspect}, {name}"), said(_who(version.created)), Text(_when(version.created))]
    )


def _summary(step: Step) -> str:
    if step.is_first:
        return "first version"
    if step.changes is None:
        return "what it changed is not known"
    if not step.changes:
        return "nothing"
    news = [change for change in step.changes if change.path[0] not in _NOISE] or step.changes
    told_of = [_told(change) for change in news[:_SAID]]
    more = len(news) - len(told_of)
    return "; ".join(told_of) + (f"; {more:,} more" if more else "")


def _told(change: Change) -> str:
    place = "/".join(_place(change.path))
    if isinstance(change.before, str | int | float) and isinstance(change.after, str | int | float):
        before, after = str(change.before), str(change.after)
        if len(before) + len(after) <= _SHORT:
            return f"changed {place}: {line(before)} → {line(after)}"
    value = change.after if change.kind == "added" else change.before
    if change.kind != "changed" and isinstance(value, str) and len(value) <= _SHORT:
        return f"{change.kind} {place}: {line(Urn.label(value))}"
    return f"{change.kind} {place}"


def _place(path: Sequence[str]) -> Iterator[str]:
    for step in path:
        yield line(Urn.label(step))


def _stamp_as_json(version: Version) -> dict[str, Any]:
    return {
        "version": version.number,
        "time": _time(version.created),
        "actor": version.created.actor if version.created else None,
        "run": version.run_id,
    }


def _change_as_json(change: Change) -> dict[str, Any]:
    return {
        "place": change.place,
        "path": list(change.path),
        "kind": change.kind,
        "before": change.before,
        "after": change.after,
    }


def _column_change(change: ColumnChange) -> dict[str, Any]:
    return {
        "time": _time(change.created),
        "actor": change.created.actor if change.created else None,
        "origin": change.origin,
        "version": change.version,
        "run": change.run_id,
        "before": change.before,
        "after": change.after,
    }


def _millis(stamp: AuditStamp | None) -> int | None:
    return stamp.time if stamp and stamp.time > 0 else None


def _time(stamp: AuditStamp | None) -> str | None:
    at = moment_of(_millis(stamp) or 0) if _millis(stamp) else None
    return at.isoformat() if at else None


def _when(stamp: AuditStamp | None) -> str:
    millis = _millis(stamp)
    return moment(millis) if millis else "at an unknown time"


def _run(run: str | None) -> str:
    return f"run {run}" if run and run != _NO_RUN else ""


def _who(stamp: AuditStamp | None) -> str:
    if stamp is None:
        return ""
    return block(Urn.label(stamp.actor))
