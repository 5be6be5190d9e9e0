"""Load metadata files in batches, and report what was written and what was rejected."""

import gc
import io
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec
import orjson
from msgspec import structs
from rich.progress import TaskProgressColumn, TextColumn, TimeRemainingColumn

from explorer import config
from explorer.cli.output import progress_bars
from explorer.client import Catalog
from explorer.client.connection import in_chunks
from explorer.client.display import counted, line
from explorer.errors import CatalogError, InvalidInput
from explorer.files import replace_file
from explorer.metadata.files import MetadataFile, Refused
from explorer.metadata.proposal import Proposal
from explorer.sessions.loading import LoadSession, Rejection
from explorer.views.parts import Report
from explorer.views.text import text_line

# The client splits a batch into concurrent requests of two to four hundred changes each.
_BATCH = 400
# A batch grows to this size to keep the changes of one entity together.
_MAX_BATCH = 1_000
_YOUNG_OBJECTS = 20_000


def send(
    loading: LoadSession,
    catalog: Catalog,
    changes: Iterable[Proposal | Refused],
    advance: Callable[[int], None],
) -> None:
    """Write changes; calls `advance` with the size of each batch. Raises the errors of
    `LoadSession.send`."""
    for batch in in_chunks(enumerate(changes, start=1), _BATCH):
        catalog.wait(loading.send(batch))
        advance(len(batch))


@contextmanager
def progress() -> Iterator[Callable[[str, int | None], Callable[[int], None]]]:
    """Show a progress bar on standard error, if that is a terminal, until the block ends.

    Yields a function that starts a task, given its name and the number of changes or None, and
    returns a function to call with the number of changes processed.
    """
    with progress_bars() as bars:

        def start_task(name: str, total: int | None) -> Callable[[int], None]:
            task = bars.add_task(line(name), total=total)
            return lambda count: bars.advance(task, count)

        yield start_task


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
        """Return the start of a file, with the file's current state."""
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
    loads: list[LoadSession],
    *,
    resume: bool = False,
) -> None:
    """Load the files in order.

    A session is appended to `loads` for each file when it is started, and `report` is called for
    each rejected change. With `resume`, an interrupted load of the same files into this catalog
    is continued. A file that cannot be read counts as rejected; the others are still loaded.
    """
    with suppress(CatalogError):
        # Which catalog is at the address now has to be known before an interrupted load goes on.
        catalog.abilities()
    places = _Places(catalog.identity or catalog.address)
    with _rare_collections(), _load_bars() as start_bar:
        for name in names:
            source = "standard input" if name == _STDIN else name
            loading = LoadSession(catalog.core, source, report)
            loads.append(loading)
            try:
                if name == _STDIN:
                    file = MetadataFile(_standard_input(), catalog.registry)
                    _load_stream(catalog, file, loading, start_bar(source, None))
                else:
                    place = places.resume_position(name) if resume else places.of(name)
                    loading.replace(resumed_at=place.record)
                    if not place.is_done:
                        _load_file(catalog, place, loading, places, start_bar)
            except (OSError, InvalidInput) as error:
                reason = getattr(error, "strerror", None) or str(error)
                loading.refuse(Rejection(source, f"cannot be read: {reason}"))
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
_Numbered = tuple[int, Proposal | Refused]


def _load_stream(
    catalog: Catalog, file: MetadataFile, loading: LoadSession, advance: _Advance
) -> None:
    """Load a stream. The next batch is read after the response to the last one, because the stream
    may be slow."""
    for batch in in_chunks(enumerate(file, start=1), _BATCH):
        catalog.wait(loading.send(batch))
        advance(batch[-1][0], 0)


def _load_file(
    catalog: Catalog,
    place: _Place,
    loading: LoadSession,
    places: _Places,
    start_bar: "Callable[[str, int | None], _Advance]",
) -> None:
    """Load a file from a position on. The next batch is read while the last one is being sent."""
    with Path(place.path).open("rb") as stream:
        file = MetadataFile(stream, catalog.registry, skip=place.record)
        advance = start_bar(loading.source, place.size)
        # Of each batch under way the number of its last change, the place after it and its end.
        sent: deque[tuple[int, _Place, int]] = deque()

        def send_batch(batch: Sequence[_Numbered], ahead: int) -> None:
            try:
                catalog.wait(loading.send(batch, ahead=ahead))
            finally:
                while sent and sent[0][0] <= loading.state.settled:
                    number, at, offset = sent.popleft()
                    places.keep(at)
                    advance(number, offset)

        try:
            for batch, at in _batches(file, place):
                sent.append((batch[-1][0], at, stream.tell()))
                send_batch(batch, ahead=1)
        except OSError:
            # What was read before is written.
            send_batch((), ahead=0)
            raise
        send_batch((), ahead=0)
        places.keep(structs.replace(place, is_done=True))


def _batches(file: MetadataFile, start: _Place) -> Iterator[tuple[list[_Numbered], _Place]]:
    """Yield the changes of a file after a place, in batches with the place after each. Changes of
    one entity that follow one another are in one batch, unless it gets too large."""
    batch: list[_Numbered] = []
    at = start
    for number, change in enumerate(file, start.changes + 1):
        if file.record != at.record:
            at = structs.replace(start, record=file.record, changes=number - 1)
        if len(batch) >= _BATCH and (len(batch) >= _MAX_BATCH or change.urn != batch[-1][1].urn):
            yield batch, at
            batch = []
        batch.append((number, change))
    if batch:
        yield batch, at


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

        def start_bar(name: str, size: int | None) -> _Advance:
            task = bars.add_task(line(name), total=size, rate="")
            begun, first = monotonic(), -1

            def advance(changes: int, offset: int) -> None:
                nonlocal first
                first = changes if first < 0 else first
                rate = (changes - first) / max(monotonic() - begun, 0.001)
                rate_text = f"{counted(changes, 'change')} · {rate:,.0f}/s"
                bars.update(task, completed=offset, rate=rate_text)

            return advance

        yield start_bar


def load_report(loads: Sequence[LoadSession], stopped: str | None = None) -> Report:
    """Return one line per file with the numbers of aspects and entities written, and at most 20
    rejected changes; JSON has the first 10,000 of each file. `stopped` is the error that ended the
    load early."""
    refusals = [refusal for loading in loads for refusal in loading.state.refusals]
    document = {
        "aspects": sum(loading.state.aspects for loading in loads),
        "entities": len(frozenset[int]().union(*(loading.entities for loading in loads))),
        "files": [
            {
                "file": loading.source,
                "aspects": loading.state.aspects,
                "entities": len(loading.entities),
                "refused": loading.state.refused,
                "resumed_at": loading.state.resumed_at,
                "unanswered": loading.state.unanswered,
            }
            for loading in loads
        ],
        "refused": [refusal.to_json() for refusal in refusals],
        "stopped": stopped,
        "unanswered": sum(loading.state.unanswered for loading in loads),
    }
    notes = [
        text_line(("rejected: ", "bold"), _describe(refusal)) for refusal in refusals[:_MAX_SHOWN]
    ]
    if (more := sum(loading.state.refused for loading in loads) - _MAX_SHOWN) > 0:
        notes.append(text_line(f"and {more:,} more; to save all of them, give --report FILE"))
    parts = [
        text_line(
            (loading.source, "bold"),
            f": {counted(loading.state.aspects, 'aspect')} of "
            f"{counted(len(loading.entities), 'entity', 'entities')}",
            f", {loading.state.refused:,} rejected" if loading.state.refused else "",
            f", {loading.state.unanswered:,} without a response"
            if loading.state.unanswered
            else "",
            f", {loading.state.resumed_at:,} records sent before"
            if loading.state.resumed_at
            else "",
        )
        for loading in loads
    ]
    return Report(parts=parts, document=document, notes=notes)


def _describe(refusal: Rejection) -> str:
    place = refusal.source
    if refusal.unit:
        place += f", {refusal.unit} {refusal.number:,}"
    what = " ".join(part for part in (refusal.urn, refusal.aspect) if part)
    return ": ".join(filter(None, (place, what, line(refusal.reason, _REASON_LIMIT))))
