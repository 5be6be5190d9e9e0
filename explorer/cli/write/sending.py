"""Sending many changes to a catalog: in batches, counting what went in, keeping what did not."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from explorer.cli.output import notes
from explorer.client import Catalog, LoadInterrupted, LoadReport
from explorer.client.display import line
from explorer.metadata.files import Refused
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn

__all__ = ["Outcome", "Refusal", "progress", "send"]

# Two requests at once, of a hundred or two each.
_BATCH = 400


@dataclass(frozen=True, slots=True)
class Refusal:
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
    refusals: list[Refusal] = field(default_factory=list)


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
        _count(interrupted.report, ((at, proposals[at]) for at in known), outcome)
        # The counts are told beside it, and of all that was sent before this too.
        raise interrupted.cause from interrupted
    _count(report, enumerate(proposals), outcome)


def _count(
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
            Refusal(outcome.source, reason, "change", number, urn, proposal.aspect)
        )


def _unread(source: str, refused: Refused) -> Refusal:
    return Refusal(source, refused.reason, "record", refused.index + 1, refused.urn)


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
