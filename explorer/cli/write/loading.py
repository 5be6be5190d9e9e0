"""Loading files, and telling what became of them."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import orjson
from rich.text import Text

from explorer.cli.output import note, print_json, results, said
from explorer.cli.write.sending import Outcome, Refusal, progress, send
from explorer.client import Catalog
from explorer.errors import InvalidInput
from explorer.metadata.files import Refused, read_file
from explorer.metadata.proposal import Proposal
from explorer.metadata.registry import Registry

__all__ = ["load_files", "print_as_json", "print_counts", "report_to", "tell_refusals"]

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
                outcome.refusals.append(Refusal(outcome.source, f"cannot be read: {reason}"))
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


def _told(refusal: Refusal) -> Text:
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
