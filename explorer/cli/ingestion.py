"""Load metadata files in batches, and report what was written and what was rejected."""

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
from rich.progress import TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from explorer import config
from explorer.cli.output import line_text, note, print_json, progress_bars, results
from explorer.client import Catalog, LoadInterrupted, LoadReport
from explorer.client.connection import in_chunks
from explorer.client.display import counted, line
from explorer.errors import CatalogError, InvalidInput
from explorer.files import replace_file
from explorer.metadata.files import MetadataFile, Refused
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn

# The client splits a batch into two concurrent requests of one or two hundred changes each.
_BATCH = 400
_YOUNG_OBJECTS = 20_000
_MAX_REFUSALS = 10_000


@dataclass(frozen=True, slots=True)
class Rejection:
    """A change that was rejected, with the reason.

    `number` is its position in the file, from 1: that of the `record`, if the record cannot be
    read, or that of the `change`, since a record can have several.
    """

    source: str
    reason: str
    unit: Literal["record", "change"] | None = None
    number: int | None = None
    urn: str | None = None
    aspect: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return `file`, `record` or `change`, `urn`, `aspect` and `reason`, as far as known."""
        place = {self.unit: self.number} if self.unit else {}
        subject = {"urn": self.urn, "aspect": self.aspect}
        fields = {key: value for key, value in subject.items() if value is not None}
        return {"file": self.source, **place, **fields, "reason": self.reason}


@dataclass(slots=True)
class Outcome:
    """The outcome of loading one source, so far.

    `unanswered` counts changes that were sent without a response, and may have been written or not.
    `refusals` has the first 10,000 of the `refused` changes; `report` is called for each of them.
    `resumed_at` counts the records sent by an earlier load.
    """

    source: str
    aspects: int = 0
    unanswered: int = 0
    refused: int = 0
    resumed_at: int = 0
    refusals: list[Rejection] = field(default_factory=list)
    # Hashes instead of URNs, a million of which need 300 MB.
    _entities: set[int] = field(default_factory=set)
    report: "Callable[[Rejection], object]" = lambda _: None

    def refuse(self, rejection: Rejection) -> None:
        """Count a rejected change, and report it."""
        self.refused += 1
        self.report(rejection)
        if len(self.refusals) < _MAX_REFUSALS:
            self.refusals.append(rejection)

    def store(self, urn: Urn) -> None:
        """Count the entity of a change that was written."""
        self._entities.add(hash(str(urn)))

    @property
    def entities(self) -> frozenset[int]:
        """The hashes of the URNs of entities with written changes."""
        return frozenset(self._entities)


def send(
    catalog: Catalog,
    changes: Iterable[Proposal | Refused],
    outcome: Outcome,
    advance: Callable[[int], None],
) -> None:
    """Write changes and count them in `outcome`; `advance` is called with the size of each batch.

    Makes one request per one or two hundred changes. Rejected changes are counted; errors that
    concern all changes are raised, and `outcome` then has what is known to be written.
    """
    for batch in in_chunks(enumerate(changes, start=1), _BATCH):
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
        positions = (
            *interrupted.stored,
            *(change.position for change in interrupted.report.refused),
        )
        _count_changes(interrupted.report, ((at, proposals[at]) for at in positions), outcome)
        # The caller prints the counts of `outcome`, which include earlier batches, with the error.
        raise interrupted.cause from interrupted
    _count_changes(report, enumerate(proposals), outcome)


def _count_changes(
    report: LoadReport, tried: Iterable[tuple[int, tuple[int, Proposal]]], outcome: Outcome
) -> None:
    refused = {change.position: change.reason for change in report.refused}
    outcome.aspects += report.written_count
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
    """Show a progress bar on standard error, if that is a terminal, until the block ends.

    Yields a function that starts a task, given its name and the number of changes or None, and
    returns a function to call with the number of changes processed.
    """
    with progress_bars() as bars:

        def begin(name: str, total: int | None) -> Callable[[int], None]:
            task = bars.add_task(line(name), total=total)
            return lambda count: bars.advance(task, count)

        yield begin


_STDIN = "-"
_MAX_SHOWN = 20
_REASON_LIMIT = 400


@contextmanager
def report_to(path: Path | None) -> Iterator[Callable[[Rejection], object]]:
    """Yield a function that writes a rejected change to the file, one JSON object per line.

    The file is created immediately. Raises `InvalidInput` if that fails.
    """
    if path is None:
        yield lambda _: None
        return
    try:
        file = path.open("wb")
    except OSError as error:
        raise InvalidInput(f"cannot write the report: {error}") from None
    with file:
        yield lambda refusal: file.write(orjson.dumps(refusal.to_json()) + b"\n")


class _Place(msgspec.Struct, frozen=True):
    """The progress of loading a file: the records before `record` are sent, with `changes` changes
    in total."""

    path: str
    size: int
    modified_nanos: int
    record: int = 0
    changes: int = 0
    is_done: bool = False


class _Places:
    """The progress of unfinished loads into one catalog, stored in the state directory."""

    def __init__(self, identity: str) -> None:
        self._directory = config.state_dir() / "loads" / config.state_name(identity)

    def of(self, name: str) -> _Place:
        """Return the start position of a file in its current state."""
        path = Path(name).resolve()
        stat = path.stat()
        return _Place(str(path), stat.st_size, stat.st_mtime_ns)

    def resume_position(self, name: str) -> _Place:
        """Return the stored position of a file, or its start if there is none. Raises
        `InvalidInput` if the file has changed since."""
        start = self.of(name)
        try:
            place = msgspec.json.decode(self._file(start).read_bytes(), type=_Place)
        except (OSError, msgspec.DecodeError):
            return start
        if (place.size, place.modified_nanos) != (start.size, start.modified_nanos):
            raise InvalidInput(
                f"{name} has changed since the interrupted load; load it without --resume"
            )
        return place

    def keep(self, place: _Place) -> None:
        """Store the position of a file; does nothing if the directory cannot be written."""
        with suppress(OSError):
            self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            replace_file(self._file(place), msgspec.json.encode(place), is_synced=False)

    def forget(self, names: Iterable[str]) -> None:
        """Delete the stored positions of files that are completely loaded."""
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
    """Load the files in order.

    An outcome is appended to `outcomes` for each file when it is started, and `report` is called
    for each rejected change. With `resume`, an interrupted load of the same files into this catalog
    is continued. A file that cannot be read counts as rejected; the others are still loaded.
    """
    with suppress(CatalogError):
        # Which catalog is at the address now has to be known before an interrupted load goes on.
        catalog.abilities()
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
                    place = places.resume_position(name) if resume else places.of(name)
                    outcome.resumed_at = place.record
                    if not place.is_done:
                        _load_file(catalog, place, outcome, places, begin)
            except (OSError, InvalidInput) as error:
                reason = getattr(error, "strerror", None) or str(error)
                outcome.refuse(Rejection(outcome.source, f"cannot be read: {reason}"))
    places.forget(name for name in names if name != _STDIN)


@contextmanager
def _rare_collections() -> Iterator[None]:
    """Run the garbage collector less often: a batch has many objects, but no reference cycles."""
    thresholds = gc.get_threshold()
    gc.set_threshold(_YOUNG_OBJECTS, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


def _standard_input() -> io.BufferedReader:
    """Return standard input, or an empty stream if it is closed."""
    stream: Any = sys.stdin.buffer if sys.stdin else io.BytesIO()
    return stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(stream)


_Advance = Callable[[int, int], None]


def _load_stream(catalog: Catalog, file: MetadataFile, outcome: Outcome, advance: _Advance) -> None:
    """Load a stream. The next batch is read after the response to the last one, because the stream
    may be slow."""
    for batch in in_chunks(enumerate(file, start=1), _BATCH):
        _send_batch(catalog, batch, outcome)
        advance(batch[-1][0], 0)


def _load_file(
    catalog: Catalog,
    place: _Place,
    outcome: Outcome,
    places: _Places,
    begin: "Callable[[str, int | None], _Advance]",
) -> None:
    """Load a file from a position on. The next batch is read while the last one is being sent."""
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
            # The changes of the last record may continue in the next batch.
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
    """Show a progress bar per file on standard error, if that is a terminal, until the block ends.

    Yields a function that starts a bar, given a name and the size in bytes or None, and returns a
    function to call with the number of changes sent and of bytes read.
    """
    columns = (
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}", markup=False),
        TimeRemainingColumn(compact=True),
    )
    with progress_bars(*columns) as bars:

        def begin(name: str, size: int | None) -> _Advance:
            task = bars.add_task(line(name), total=size, rate="")
            begun, first = monotonic(), -1

            def advance(changes: int, offset: int) -> None:
                nonlocal first
                first = changes if first < 0 else first
                rate = (changes - first) / max(monotonic() - begun, 0.001)
                rate_text = f"{counted(changes, 'change')} · {rate:,.0f}/s"
                bars.update(task, completed=offset, rate=rate_text)

            return advance

        yield begin


def print_counts(outcomes: Sequence[Outcome]) -> None:
    """Print one line per file: the numbers of aspects and entities written, and of changes that
    were rejected or sent without a response."""
    console = results()
    for outcome in outcomes:
        console.print(
            line_text(outcome.source, "bold"),
            f"{counted(outcome.aspects, 'aspect')} of "
            f"{counted(len(outcome.entities), 'entity', 'entities')}"
            + (f", {outcome.refused:,} rejected" if outcome.refused else "")
            + (f", {outcome.unanswered:,} without a response" if outcome.unanswered else "")
            + (f", {outcome.resumed_at:,} records sent before" if outcome.resumed_at else ""),
            sep=": ",
            soft_wrap=True,
        )


def print_as_json(outcomes: Sequence[Outcome], stopped: str | None) -> None:
    """Print all counts and the first 10,000 rejected changes of each file as one JSON object;
    `stopped` is the error that ended the load early."""
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
            "entities": len(frozenset[int]().union(*(outcome.entities for outcome in outcomes))),
            "files": files,
            "refused": [refusal.to_json() for outcome in outcomes for refusal in outcome.refusals],
            "stopped": stopped,
            "unanswered": sum(outcome.unanswered for outcome in outcomes),
        }
    )


def print_refusals(outcomes: Sequence[Outcome]) -> None:
    """Print at most 20 rejected changes to standard error, with position, URN and reason."""
    refusals = [refusal for outcome in outcomes for refusal in outcome.refusals]
    for refusal in refusals[:_MAX_SHOWN]:
        note(Text("rejected: ", "bold"), _describe(refusal))
    if (more := sum(outcome.refused for outcome in outcomes) - _MAX_SHOWN) > 0:
        note(Text(f"and {more:,} more; to save all of them, give --report FILE"))


def _describe(refusal: Rejection) -> Text:
    place = line_text(refusal.source)
    if refusal.unit:
        place.append(f", {refusal.unit} {refusal.number:,}")
    what = line_text(" ".join(part for part in (refusal.urn, refusal.aspect) if part))
    return Text(": ").join(
        part for part in (place, what, line_text(refusal.reason, limit=_REASON_LIMIT)) if part
    )
