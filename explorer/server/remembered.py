"""A record, in a data directory, of which catalog it has and how far its change log came.

A catalog that lost its file or its write-ahead log looks like an empty or an older one. Its
expected state is therefore recorded in a separate file, and in the state file of the search index.
"""

import shlex
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from explorer.errors import CatalogError
from explorer.files import replace_file
from explorer.server.search.layers import read_progress
from explorer.server.store import Store, log_mark

FILE = "catalog.db"
INDEX = "search"
REMEMBERED = "remembered.json"

# The interval between writes of the file. After a kill, the changes since the last write are
# recorded only in the search index.
_EVERY_SECONDS = 1.0


class Loss(Struct, frozen=True):
    """Changes that a catalog once had and now lacks; `through` is the offset of the last of them.

    They begin after the offset `after`, whose change was made at `since_millis` (milliseconds since
    1970, `None` if nothing is left). `after` is `None` if it is unknown, because other changes have
    these offsets by now.
    """

    through: int
    after: int | None = None
    since_millis: int | None = None

    def __str__(self) -> str:
        if self.after is None:
            return (
                f"changes up to offset {self.through:,} are lost: there are others in their place, "
                "as in an older copy that was written to since"
            )
        since = ""
        if self.since_millis is not None:
            at = datetime.fromtimestamp(self.since_millis / 1_000, UTC)
            since = f" after {at:%Y-%m-%d %H:%M:%S} UTC"
        return (
            f"{self.through - self.after:,} changes{since} are lost (offset {self.after + 1:,} to "
            f"{self.through:,}), as without the write-ahead log {FILE}-wal or in an older copy"
        )


class _Remembered(Struct, frozen=True):
    """The content of the file. `mark` is the digest of the row of the log at `offset`."""

    catalog: str = ""
    offset: int = 0
    mark: str = ""
    losses: tuple[Loss, ...] = ()


class CatalogMemory:
    """The record of the catalog in a store, kept up to date while the store is written to.

    `losses` are the changes that the catalog has lost, until they are accepted.
    """

    def __init__(self, data_dir: Path, store: Store) -> None:
        """Compare the store with the record in the directory, and record the losses.

        Call it before the search index is opened: an index that has lost changes is discarded then.
        """
        self._data_dir = data_dir
        self._store = store
        self._due = 0.0
        self._head = 0
        memory = _recall(data_dir) or _Remembered()
        # The offset is recorded again below, because it may be known only from the index.
        self._remembered = _Remembered(losses=memory.losses)
        try:
            self._compare(memory)
        except CatalogError:
            # A damaged store is only read, so it needs no record.
            if store.problem is None:
                raise

    def _compare(self, recall: _Remembered) -> None:
        self._head = self._store.log_bounds().head
        if recall.catalog != self._store.catalog_id():
            # This is another catalog than the recorded one, or a new one.
            self._remembered = _Remembered()
        elif (loss := _loss(recall, self._store, self._head)) is not None:
            losses = (
                former_loss for former_loss in recall.losses if former_loss.through != loss.through
            )
            self._remembered = _Remembered(losses=(*losses, loss))
        self._write()

    @property
    def losses(self) -> tuple[Loss, ...]:
        """The changes that the catalog once had and now lacks."""
        return self._remembered.losses

    def note(self, offset: int) -> None:
        """Note that the store was written to up to an offset, and save that at most once a second,
        which takes about 0.2 ms."""
        self._head = offset
        if time.monotonic() >= self._due:
            self.save()

    def save(self) -> None:
        """Write the last noted offset to the file."""
        if self._head > self._remembered.offset:
            self._write()

    def _write(self) -> None:
        """Write the file. If that fails, or the row of the log cannot be read, the file keeps an
        older record."""
        self._due = time.monotonic() + _EVERY_SECONDS
        with suppress(OSError, CatalogError):
            mark = log_mark(self._store, self._head) if self._head else ""
            if mark is not None:
                catalog, losses = self._store.catalog_id(), self._remembered.losses
                self._remembered = _Remembered(catalog, self._head, mark, losses)
                # Not synced: an older file, or none, after a power failure does no harm.
                _write(self._data_dir, self._remembered, is_synced=False)


def count_remembered_changes(data_dir: Path) -> int | None:
    """Return the number of changes that the catalog of a directory had according to the record, 0
    if there were none, and `None` if there is no record."""
    memory = _recall(data_dir)
    if memory is None:
        return None
    return max((memory.offset, *(loss.through for loss in memory.losses)))


def accept_losses(data_dir: Path) -> tuple[Loss, ...]:
    """Remove the losses from the record of a directory, and return them. Raises `OSError`."""
    remembered = _read(data_dir)
    if remembered is None or not remembered.losses:
        return ()
    _write(data_dir, replace(remembered, losses=()))
    return remembered.losses


def forget(data_dir: Path) -> None:
    """Remove the record of a directory, because another catalog takes its place. Raises
    `OSError`."""
    _write(data_dir, _Remembered())


def describe_missing_catalog(data_dir: Path, what: str, changes: int | None) -> str:
    """Return a sentence that says that nothing is left of the catalog of a directory, and what to
    do. `changes` is the number of changes it had, if known."""
    had = "a catalog" if changes is None else f"a catalog with {changes:,} changes"
    return (
        f"the catalog in {data_dir} is gone: {FILE} {what}, but the directory had {had}; go back "
        "to a backup with catalog restore, or, to begin with an empty catalog, run first: catalog "
        f"check --accept-loss --data-dir {shlex.quote(str(data_dir))}"
    )


def _recall(data_dir: Path) -> _Remembered | None:
    """Return the latest record of a directory, from its file and its search index if they are about
    the same catalog; `None` if there is none."""
    of_file = _read(data_dir)
    progress = read_progress(data_dir / INDEX)
    if progress is None:
        return of_file
    of_index = _Remembered(*progress, losses=() if of_file is None else of_file.losses)
    if of_file is None or not of_file.offset:
        return of_index
    is_later = of_index.catalog == of_file.catalog and of_index.offset > of_file.offset
    return of_index if is_later else of_file


def _loss(recall: _Remembered, store: Store, head: int) -> Loss | None:
    """Return the recorded changes that a store lacks, `None` if it has them."""
    if head < recall.offset:
        last = store.log(head - 1, 1) if head else ()
        return Loss(recall.offset, head, last[0].time_millis if last else None)
    if recall.offset <= store.log_bounds().floor:
        # There is no record, or retention dropped the row to compare with.
        return None
    mark = log_mark(store, recall.offset)
    return Loss(recall.offset) if mark not in (recall.mark, None) else None


def _read(data_dir: Path) -> _Remembered | None:
    with suppress(OSError, msgspec.DecodeError, UnicodeDecodeError):
        return msgspec.json.decode((data_dir / REMEMBERED).read_bytes(), type=_Remembered)
    return None


def _write(data_dir: Path, remembered: _Remembered, *, is_synced: bool = True) -> None:
    replace_file(data_dir / REMEMBERED, msgspec.json.encode(remembered), is_synced=is_synced)
