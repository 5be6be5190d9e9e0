"""Drafts: unsaved descriptions, written to disk at every pause in typing.

The terminal and the notebook store them in the same place, so that each can continue the other's.
"""

import asyncio
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from explorer import config
from explorer.client.transport import part_login
from explorer.errors import InvalidInput, NotFound, StorageFault
from explorer.files import replace_file

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog, Catalog

OPEN_ELSEWHERE: Final = "Another running program has this draft open: close it there first."
GONE: Final = (
    "The draft was saved, discarded or changed since it was listed: list the drafts again."
)


class _Session(Protocol):
    @property
    def server(self) -> str: ...

    @property
    def client(self) -> "AsyncCatalog": ...

    async def catalog(self) -> "AsyncCatalog": ...


class Draft(msgspec.Struct, frozen=True):
    """An unsaved description, its entity and column, and the edited description it started from.

    `name` and `column` are display names. `program` is the program that it was typed in, such as
    "terminal".
    """

    urn: str
    path: str | None
    base: str
    text: str
    name: str = ""
    column: str = ""
    program: str = ""


@dataclass(frozen=True, slots=True)
class StoredDraft:
    """A draft, its file, and when it was written. `open` is true if another running program is
    editing it. `process` is the process that wrote it, None for a draft that no program owns."""

    draft: Draft
    file: Path
    at: datetime
    open: bool
    process: int | None = None


@dataclass(frozen=True, slots=True)
class Drafts:
    """The drafts for one catalog, one file for each description and program.

    Two programs never overwrite or delete each other's drafts: a program owns at most one draft of
    a description; the drafts of programs that have ended stay separate until a program continues
    one. Reading and writing block: call from a thread.
    """

    directory: Path
    process: int

    @classmethod
    def of(cls, address: str, kind: str = "drafts") -> "Drafts":
        """Return the drafts for the catalog at an address, whichever user signs in there. Blocks.

        `kind` is the directory: `drafts` for descriptions, or `concepts` for descriptions of
        several columns, whose drafts have the columns' name as `path`.
        """
        name = config.state_name(part_login(address)[0])
        return cls(config.state_dir() / kind / name, os.getpid())

    @classmethod
    def of_catalog(cls, catalog: "AsyncCatalog | Catalog") -> "Drafts":
        """Return the drafts for the server of a catalog. No request."""
        return cls.of(catalog.identity or catalog.address)

    @classmethod
    def of_changeset(cls, changeset_id: str) -> "Drafts":
        """Return the unsaved texts in the review of a staged changeset.

        They are separate from drafts for the server, because an accepted text goes into the
        changeset.
        """
        name = hashlib.sha256(f"changeset {changeset_id}".encode()).hexdigest()[:16]
        return cls(config.state_dir() / "drafts" / name, os.getpid())

    @classmethod
    async def at(cls, session: _Session, kind: str = "drafts") -> "Drafts":
        """Return the drafts for the server of a session."""
        await session.catalog()
        return await asyncio.to_thread(cls.of_session, session, kind)

    @classmethod
    def of_session(cls, session: _Session, kind: str = "drafts") -> "Drafts":
        """Return the drafts for the server of a session whose catalog is open. Blocks."""
        catalog = session.client
        place = "embedded" if catalog.embedded else catalog.address
        return cls.of(session.server or place, kind)

    def read(self, urn: str, path: str | None) -> Draft | None:
        """Return this program's own draft of a description, or else the newest that no running
        program is editing, which becomes this program's own. `None` if there is none."""
        own = self._own_file(urn, path)
        files = sorted(self._files(urn, path), key=lambda file: (file == own, _write_time(file)))
        for file in reversed(files):
            draft = _draft(file)
            is_of = draft is not None and (draft.urn, draft.path) == (urn, path)
            if is_of and self._take(file, own):
                return draft
        return None

    def all(self) -> list[StoredDraft]:
        """Return all drafts, newest first; a description may have several."""
        files = sorted(self.directory.glob("*.json"), key=_write_time, reverse=True)
        return [stored for file in files if (stored := self._read_stored(file)) is not None]

    def free(self) -> list[StoredDraft]:
        """Return all drafts that no other running program is editing, newest first."""
        return [draft for draft in self.all() if not draft.open]

    def find(self, stored: StoredDraft) -> StoredDraft | None:
        """Return a draft as it is stored now; `None` if it was saved, discarded or changed since it
        was read."""
        now = self._read_stored(self._file_of(stored))
        return now if now is not None and now.draft == stored.draft else None

    def require(self, stored: StoredDraft) -> StoredDraft:
        """Return a draft as it is stored now. Raises `NotFound` if it was saved, discarded or
        changed since it was read, `InvalidInput` if another running program is editing it."""
        now = self.find(stored)
        if now is None:
            raise NotFound(GONE)
        if now.open:
            raise InvalidInput(OPEN_ELSEWHERE)
        return now

    def keep(self, draft: Draft) -> None:
        """Write this program's own draft of a description, atomically. Raises `StorageFault` if it
        cannot be written."""
        self._write(self._own_file(draft.urn, draft.path), draft)

    def drop(self, urn: str, path: str | None, text: str | None = None) -> None:
        """Delete this program's own draft of a description that was saved or discarded; with
        `text`, only if the draft has that text."""
        own = self._own_file(urn, path)
        draft = _draft(own) if text is not None else None
        if draft is None or draft.text == text:
            _delete(own)

    def take(self, stored: StoredDraft) -> bool:
        """Make a draft this program's own, so that `read` returns it; return false if it no longer
        exists or another program continues it. This program's previous draft is kept separately."""
        own, file = self._own_file(stored.draft.urn, stored.draft.path), self._file_of(stored)
        return self._may_use(file) and self._take(file, own)

    def discard(self, stored: StoredDraft) -> None:
        """Delete one draft."""
        _delete(self._file_of(stored))

    def restore(self, draft: Draft) -> None:
        """Write a discarded draft again, as a separate draft. Raises `StorageFault` if it cannot be
        written."""
        self._write(_separate(self._own_file(draft.urn, draft.path)), draft)

    def _read_stored(self, file: Path) -> StoredDraft | None:
        draft = _draft(file)
        if draft is None:
            return None
        at = datetime.fromtimestamp(_write_time(file), UTC)
        return StoredDraft(draft, file, at, not self._may_use(file), _process(file))

    def _take(self, file: Path, own: Path) -> bool:
        """Rename a draft to this program's own; return whether the draft still existed."""
        if file == own:
            return True
        try:
            if file.exists() and own.exists():
                own.rename(_separate(own))
            file.rename(own)
        except FileNotFoundError:
            # Another program was faster.
            return False
        except OSError:
            # The draft cannot be renamed, but it can be read.
            return True
        return True

    def _write(self, file: Path, draft: Draft) -> None:
        try:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # `replace_file` creates it readable by its owner only, because drafts may be private.
            replace_file(file, msgspec.json.encode(draft))
        except OSError as error:
            raise StorageFault(
                f"The draft cannot be kept ({error.strerror}): save before you leave."
            ) from error

    def _file_of(self, stored: StoredDraft) -> Path:
        """Return the file of a draft in the present directory: all drafts are moved once the
        catalog at an address is known."""
        return self.directory / stored.file.name

    def _own_file(self, urn: str, path: str | None) -> Path:
        return self.directory / f"{_name(urn, path)}-{self.process}.json"

    def _files(self, urn: str, path: str | None) -> Iterator[Path]:
        return filter(self._may_use, self.directory.glob(f"{_name(urn, path)}-*.json"))

    def _may_use(self, file: Path) -> bool:
        process = _process(file)
        return process in (None, self.process) or not _runs(process)


def _process(file: Path) -> int | None:
    """Return the process that owns the draft in a file; `None` for a draft that no program owns."""
    number = file.stem.rpartition("-")[2]
    return int(number) if number.isdigit() else None


def _draft(file: Path) -> Draft | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Draft)
    except (OSError, msgspec.DecodeError):
        return None


def _separate(own: Path) -> Path:
    """Return the path of a new file for a draft that no program owns."""
    # The end is no number, so it is not taken for a process id.
    return own.with_name(f"{own.stem.rpartition('-')[0]}-kept{os.urandom(8).hex()}.json")


def _delete(file: Path) -> None:
    try:
        file.unlink(missing_ok=True)
    except OSError:
        # A draft that cannot be deleted does no harm: it is offered again.
        return


def _name(urn: str, path: str | None) -> str:
    return hashlib.sha256(f"{urn}\n{path or ''}".encode()).hexdigest()[:32]


def _write_time(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True
