"""Files of metadata loaded in batches, with what was written and what was refused."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import orjson
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from explorer.cli.output import note, notes, print_json, results, said
from explorer.client import Catalog, LoadInterrupted, LoadReport
from explorer.client.display import line
from explorer.errors import InvalidInput
from explorer.metadata.files import Refused, read_file
from explorer.metadata.proposal import Proposal
from explorer.metadata.registry import Registry
from explorer.metadata.urn import Urn

__all__ = [
    "Outcome",
    "load_files",
    "print_as_json",
    "print_counts",
    "progress",
    "report_to",
    "send",
    "tell_refusals",
]

# Two requests at once, of a hundred or two each.
_BATCH = 400


@dataclass(frozen=True, slots=True)
class Rejection:
    """A change that did not go in, and why.

    Its place is told by what is known of it: the `record` of the file that could not be read, or
    the `change` among those that the file's records stand for; both count from 1.
    """

    source: str
    reason: str
    unit: Literal["record", "change"] | None = None
    number: int | None = None
    urn: str | None = None
    aspect: str | None = None

    def to_json(self) -> dict[str, Any]:
        """`file`, `record` or `change`, `urn`, `aspect` and `reason`; those known."""
        place = {self.unit: self.number} if self.unit else {}
        known = {"urn": self.urn, "aspect": self.aspect}
        said = {key: value for key, value in known.items() if value is not None}
        return {"file": self.source, **place, **said, "reason": self.reason}


@dataclass(slots=True)
class Outcome:
    """What became of one source's changes so far. `unanswered` counts those that were sent and
    may have gone in or not, for the server gave no answer."""

    source: str
    aspects: int = 0
    unanswered: int = 0
    entities: set[Urn] = field(default_factory=set)
    refusals: list[Rejection] = field(default_factory=list)


def send(
    catalog: Catalog,
    changes: Iterable[Proposal | Refused],
    outcome: Outcome,
    advance: Callable[[int], None],
) -> None:
    """Write what can be written and count it in `outcome`; `advance` is told of every change.

    One request for a hundred or two. Raises only what concerns them all; `outcome` then holds what
    is known to have gone in.
    """
    numbered = enumerate(changes, start=1)
    while batch := list(islice(numbered, _BATCH)):
        proposals: list[tuple[int, Proposal]] = []
        for number, change in batch:
            if isinstance(change, Refused):
                outcome.refusals.append(_unread(outcome.source, change))
            else:
                proposals.append((number, change))
        _send_batch(catalog, proposals, outcome)
        advance(len(batch))


def _send_batch(catalog: Catalog, proposals: list[tuple[int, Proposal]], outcome: Outcome) -> None:
    if not proposals:
        return
    changes = [proposal for _, proposal in proposals]
    try:
        report = catalog.ingest_batch(changes)
    except LoadInterrupted as interrupted:
        outcome.unanswered += len(interrupted.unanswered)
        known = (*interrupted.stored, *(one.position for one in interrupted.report.refused))
        _count_changes(interrupted.report, ((at, proposals[at]) for at in known), outcome)
        # The counts are told beside it, and of all that was sent before this too.
        raise interrupted.cause from interrupted
    _count_changes(report, enumerate(proposals), outcome)


def _count_changes(
    report: LoadReport, tried: Iterable[tuple[int, tuple[int, Proposal]]], outcome: Outcome
) -> None:
    refused = {one.position: one.reason for one in report.refused}
    outcome.aspects += report.written
    for position, (number, proposal) in tried:
        if position not in refused:
            outcome.entities.add(proposal.urn)
            continue
        urn, reason = str(proposal.urn), refused[position]
        outcome.refusals.append(
            Rejection(outcome.source, reason, "change", number, urn, proposal.aspect)
        )


def _unread(source: str, refused: Refused) -> Rejection:
    return Rejection(source, refused.reason, "record", refused.index + 1, refused.urn)


@contextmanager
def progress() -> Iterator[Callable[[str, int | None], Callable[[int], None]]]:
    """A bar on standard error, where that is a terminal, gone when the work is done.

    What is given starts a task, by its name and how many changes it has where that is known, and
    gives the function that moves it on.
    """
    console = notes()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bars:

        def begin(name: str, total: int | None) -> Callable[[int], None]:
            task = bars.add_task(line(name), total=total)
            return lambda count: bars.advance(task, count)

        yield begin


_STDIN = "-"
_MOST_SHOWN = 20
_REASON_LIMIT = 400

_Log = Callable[[Outcome], None]


@contextmanager
def report_to(path: Path | None) -> Iterator[_Log]:
    """What is given writes an outcome's refusals to the file, one JSON object a line.

    The file is made at once: raises `InvalidInput` where that cannot be.
    """
    if path is None:
        yield lambda _: None
        return
    try:
        file = path.open("wb")
    except OSError as error:
        raise InvalidInput(f"the report cannot be written: {error}") from None
    with file:
        yield lambda outcome: file.writelines(
            orjson.dumps(refusal.to_json()) + b"\n" for refusal in outcome.refusals
        )


def load_files(catalog: Catalog, names: Sequence[str], log: _Log, outcomes: list[Outcome]) -> None:
    """Load each file in turn; `outcomes` grows with every one that is begun.

    A file that cannot be read is a refusal of its own and loses no other.
    """
    with progress() as begin:
        for name in names:
            outcome = Outcome("standard input" if name == _STDIN else name)
            outcomes.append(outcome)
            try:
                changes = _changes(name, catalog.registry)
            except (OSError, InvalidInput) as error:
                reason = getattr(error, "strerror", None) or str(error)
                outcome.refusals.append(Rejection(outcome.source, f"cannot be read: {reason}"))
            else:
                send(catalog, changes, outcome, begin(outcome.source, len(changes)))
            log(outcome)


def _changes(name: str, registry: Registry) -> list[Proposal | Refused]:
    if name != _STDIN:
        data = Path(name).read_bytes()
    else:
        data = sys.stdin.buffer.read() if sys.stdin else b""
    return list(read_file(data, registry))


def print_counts(outcomes: Sequence[Outcome]) -> None:
    """A line for each file: how many aspects of how many entities went in, how many were refused,
    and how many may have gone in, for no answer came."""
    console = results()
    for outcome in outcomes:
        refused = len(outcome.refusals)
        console.print(
            said(outcome.source, "bold"),
            f"{_count(outcome.aspects, 'aspect')} of {_count(len(outcome.entities), 'entity')}"
            + (f", {refused:,} refused" if refused else "")
            + (f", {outcome.unanswered:,} unanswered" if outcome.unanswered else ""),
            sep=": ",
            soft_wrap=True,
        )


def print_as_json(outcomes: Sequence[Outcome], stopped: str | None) -> None:
    """All counts and refusals as one object; `stopped` says why not all was tried."""
    files = [
        {
            "file": outcome.source,
            "aspects": outcome.aspects,
            "entities": len(outcome.entities),
            "refused": len(outcome.refusals),
            "unanswered": outcome.unanswered,
        }
        for outcome in outcomes
    ]
    print_json(
        {
            "aspects": sum(outcome.aspects for outcome in outcomes),
            "entities": len({urn for outcome in outcomes for urn in outcome.entities}),
            "files": files,
            "refused": [one.to_json() for outcome in outcomes for one in outcome.refusals],
            "stopped": stopped,
            "unanswered": sum(outcome.unanswered for outcome in outcomes),
        }
    )


def tell_refusals(outcomes: Sequence[Outcome]) -> None:
    """Each refusal on standard error, with its place, URN and reason; at most twenty."""
    refusals = [refusal for outcome in outcomes for refusal in outcome.refusals]
    for refusal in refusals[:_MOST_SHOWN]:
        note(Text("refused: ", "bold"), _told(refusal))
    if len(refusals) > _MOST_SHOWN:
        note(Text(f"and {len(refusals) - _MOST_SHOWN:,} more; --report FILE writes them all"))


def _told(refusal: Rejection) -> Text:
    place = said(refusal.source)
    if refusal.unit:
        place.append(f", {refusal.unit} {refusal.number:,}")
    what = said(" ".join(part for part in (refusal.urn, refusal.aspect) if part))
    return Text(": ").join(
        part for part in (place, what, said(refusal.reason, limit=_REASON_LIMIT)) if part
    )


def _count(number: int, noun: str) -> str:
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"
