"""Files of metadata loaded in batches, with what was written and what was refused."""

import gc
import io
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Any, Literal

import msgspec
import orjson
from msgspec import structs
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from explorer import config
from explorer.cli.output import note, notes, print_json, results, said
from explorer.client import Catalog, LoadInterrupted, LoadReport
from explorer.client.display import line
from explorer.errors import InvalidInput
from explorer.files import replace_file
from explorer.metadata.files import MetadataFile, Refused
from explorer.metadata.proposal import Proposal
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
_YOUNG_OBJECTS = 20_000
_MOST_REFUSALS = 10_000


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
    may have gone in or not, for the server gave no answer. `refusals` are the first ten thousand
    of `refused`; `report` is told of every one. `resumed_at` counts the records that an earlier
    load had sent."""

    source: str
    aspects: int = 0
    unanswered: int = 0
    refused: int = 0
    resumed_at: int = 0
    refusals: list[Rejection] = field(default_factory=list)
    # A million URNs are 300 MB; their hashes tell them apart.
    _entities: set[int] = field(default_factory=set)
    report: "Callable[[Rejection], object]" = lambda _: None

    def refuse(self, rejection: Rejection) -> None:
        """Count a change that did not go in, and report it."""
        self.refused += 1
        self.report(rejection)
        if len(self.refusals) < _MOST_REFUSALS:
            self.refusals.append(rejection)

    def store(self, urn: Urn) -> None:
        """Count the entity of a change that went in."""
        self._entities.add(hash(str(urn)))

    @property
    def entities(self) -> frozenset[int]:
        """Return a number for each entity of which something went in."""
        return frozenset(self._entities)


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
        _send_batch(catalog, batch, outcome)
        advance(len(batch))


def _send_batch(
    catalog: Catalog, batch: Iterable[tuple[int, Proposal | Refused]], outcome: Outcome
) -> None:
    proposals: list[tuple[int, Proposal]] = []
    for number, change in batch:
        if isinstance(change, Refused):
            outcome.refuse(_unread(outcome.source, change))
        else:
            proposals.append((number, change))
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
            outcome.store(proposal.urn)
            continue
        urn, reason = str(proposal.urn), refused[position]
        outcome.refuse(Rejection(outcome.source, reason, "change", number, urn, proposal.aspect))


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


@contextmanager
def report_to(path: Path | None) -> Iterator[Callable[[Rejection], object]]:
    """What is given writes a refusal to the file, one JSON object a line.

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
        yield lambda refusal: file.write(orjson.dumps(refusal.to_json()) + b"\n")


class _Place(msgspec.Struct, frozen=True):
    """How far a file was sent: every record before `record`, of `changes` changes in all."""

    path: str
    size: int
    modified_nanos: int
    record: int = 0
    changes: int = 0
    is_done: bool = False


class _Places:
    """How far files were sent to a catalog by loads that did not end, in the state directory."""

    def __init__(self, identity: str) -> None:
        self._directory = config.state_dir() / "loads" / _digest(identity)

    def of(self, name: str) -> _Place:
        """Return the beginning of a file as it is now."""
        path = Path(name).resolve()
        stat = path.stat()
        return _Place(str(path), stat.st_size, stat.st_mtime_ns)

    def known(self, name: str) -> _Place:
        """Return how far a file was sent, its beginning where nothing is known. Raises
        `InvalidInput` where it is another file by now."""
        begun = self.of(name)
        try:
            place = msgspec.json.decode(self._file(begun).read_bytes(), type=_Place)
        except (OSError, msgspec.DecodeError):
            return begun
        if (place.size, place.modified_nanos) != (begun.size, begun.modified_nanos):
            raise InvalidInput(f"{name} was changed since; load it without --resume")
        return place

    def keep(self, place: _Place) -> None:
        """Keep how far a file was sent. A directory that cannot be written keeps nothing."""
        with suppress(OSError):
            self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            replace_file(self._file(place), msgspec.json.encode(place), is_synced=False)

    def forget(self, names: Iterable[str]) -> None:
        """Forget files that went in whole."""
        with suppress(OSError):
            for name in names:
                self._file(self.of(name)).unlink(missing_ok=True)

    def _file(self, place: _Place) -> Path:
        return self._directory / f"{_digest(place.path)}.json"


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:16]


def load_files(
    catalog: Catalog,
    names: Sequence[str],
    report: Callable[[Rejection], object],
    outcomes: list[Outcome],
    *,
    resume: bool = False,
) -> None:
    """Load each file in turn; `outcomes` grows with every one that is begun, and `report` is told
    of every refusal.

    With `resume` it goes on where an earlier load of the same files into this catalog ended. A file
    that cannot be read is a refusal of its own and loses no other.
    """
    places = _Places(catalog.identity or catalog.address)
    with _rare_collections(), _load_bars() as begin:
        for name in names:
            outcome = Outcome("standard input" if name == _STDIN else name, report=report)
            outcomes.append(outcome)
            try:
                if name == _STDIN:
                    file = MetadataFile(_standard_input(), catalog.registry)
                    _load_stream(catalog, file, outcome, begin(outcome.source, None))
                else:
                    place = places.known(name) if resume else places.of(name)
                    outcome.resumed_at = place.record
                    if not place.is_done:
                        _load_file(catalog, place, outcome, places, begin)
            except (OSError, InvalidInput) as error:
                reason = getattr(error, "strerror", None) or str(error)
                outcome.refuse(Rejection(outcome.source, f"cannot be read: {reason}"))
    places.forget(name for name in names if name != _STDIN)


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Look for garbage less often: a batch is many objects, none of which refers to itself."""
    thresholds = gc.get_threshold()
    gc.set_threshold(_YOUNG_OBJECTS, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


def _standard_input() -> io.BufferedReader:
    """Return standard input, empty where there is none."""
    stream: Any = sys.stdin.buffer if sys.stdin else io.BytesIO()
    return stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(stream)


_Advance = Callable[[int, int], None]


def _load_stream(catalog: Catalog, file: MetadataFile, outcome: Outcome, advance: _Advance) -> None:
    """Load what comes; the next batch is read when the last was answered, for it may be long in
    coming."""
    numbered = enumerate(file, start=1)
    while batch := list(islice(numbered, _BATCH)):
        _send_batch(catalog, batch, outcome)
        advance(batch[-1][0], 0)


def _load_file(
    catalog: Catalog,
    place: _Place,
    outcome: Outcome,
    places: _Places,
    begin: "Callable[[str, int | None], _Advance]",
) -> None:
    """Load a file from a place on. The next batch is read while one is under way."""
    with Path(place.path).open("rb") as stream, ThreadPoolExecutor(1) as reader:
        file = MetadataFile(stream, catalog.registry, skip=place.record)
        advance = begin(outcome.source, place.size)
        changes = iter(file)
        number = before = place.changes

        def read() -> tuple[list[tuple[int, Proposal | Refused]], _Place, int]:
            nonlocal number, before
            record, batch = file.record, []
            for change in islice(changes, _BATCH):
                if file.record != record:
                    record, before = file.record, number
                number += 1
                batch.append((number, change))
            # The last record may have more changes than the batch took.
            at = structs.replace(place, record=max(record, place.record), changes=before)
            return batch, at, stream.tell()

        ahead = reader.submit(read)
        while True:
            batch, at, offset = ahead.result()
            if not batch:
                break
            ahead = reader.submit(read)
            _send_batch(catalog, batch, outcome)
            places.keep(at)
            advance(batch[-1][0], offset)
        places.keep(structs.replace(place, is_done=True))


@contextmanager
def _load_bars() -> Iterator[Callable[[str, int | None], _Advance]]:
    """A bar for each file on standard error, where that is a terminal, gone when the work is done.

    What is given starts one, by its name and how many bytes it has where that is known, and gives
    the function that is told how many changes were sent and how many bytes were read for them.
    """
    console = notes()
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[told]}", markup=False),
        TimeRemainingColumn(compact=True),
    )
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bars:

        def begin(name: str, size: int | None) -> _Advance:
            task = bars.add_task(line(name), total=size, told="")
            begun, first = monotonic(), -1

            def advance(changes: int, offset: int) -> None:
                nonlocal first
                first = changes if first < 0 else first
                rate = (changes - first) / max(monotonic() - begun, 0.001)
                told = f"{_count(changes, 'change')} · {rate:,.0f}/s"
                bars.update(task, completed=offset, told=told)

            return advance

        yield begin


def print_counts(outcomes: Sequence[Outcome]) -> None:
    """A line for each file: how many aspects of how many entities went in, how many were refused,
    and how many may have gone in, for no answer came."""
    console = results()
    for outcome in outcomes:
        console.print(
            said(outcome.source, "bold"),
            f"{_count(outcome.aspects, 'aspect')} of {_count(len(outcome.entities), 'entity')}"
            + (f", {outcome.refused:,} refused" if outcome.refused else "")
            + (f", {outcome.unanswered:,} unanswered" if outcome.unanswered else "")
            + (f", {outcome.resumed_at:,} records sent before" if outcome.resumed_at else ""),
            sep=": ",
            soft_wrap=True,
        )


def print_as_json(outcomes: Sequence[Outcome], stopped: str | None) -> None:
    """All counts and the first ten thousand refusals of each file as one object; `stopped` says why
    not all was tried."""
    files = [
        {
            "file": outcome.source,
            "aspects": outcome.aspects,
            "entities": len(outcome.entities),
            "refused": outcome.refused,
            "resumed_at": outcome.resumed_at,
            "unanswered": outcome.unanswered,
        }
        for outcome in outcomes
    ]
    print_json(
        {
            "aspects": sum(outcome.aspects for outcome in outcomes),
            "entities": len(frozenset[int]().union(*(one.entities for one in outcomes))),
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
    if (more := sum(outcome.refused for outcome in outcomes) - _MOST_SHOWN) > 0:
        note(Text(f"and {more:,} more; --report FILE writes them all"))


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
