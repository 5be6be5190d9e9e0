"""Drafts: unsaved descriptions, written to disk at every pause in typing.

The terminal and the notebook store them in the same place, so that each can continue the other's.
"""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from explorer import config
from explorer.client.transport import part_login
from explorer.errors import StorageFault
from explorer.files import replace_file

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog

__all__ = ["Draft", "Drafts", "StoredDraft"]


class _Session(Protocol):
    @property
    def server(self) -> str: ...

    async def catalog(self) -> "AsyncCatalog": ...


class Draft(msgspec.Struct, frozen=True):
    """An unsaved description, its entity and column, and the edited description it started from.

    `name` and `column` are display names.
    """

    urn: str
    path: str | None
    base: str
    text: str
    name: str = ""
    column: str = ""


@dataclass(frozen=True, slots=True)
class StoredDraft:
    """A draft on disk and when it was written. `open` is true if another running program is editing
    it."""

    draft: Draft
    at: datetime
    open: bool


@dataclass(frozen=True, slots=True)
class Drafts:
    """The drafts for one server, one file for each description and program.

    Two programs never overwrite each other's drafts. Reading and writing block: call from a thread.
    """

    directory: Path
    process: int

    @classmethod
    def of(cls, address: str, kind: str = "drafts") -> "Drafts":
        """Return the drafts for the server at an address, whichever user signs in there.

        `kind` is the directory: `drafts` for descriptions, or `concepts` for descriptions of
        several columns, whose drafts have the columns' name as `path`.
        """
        server = hashlib.sha256(part_login(address)[0].encode()).hexdigest()[:16]
        return cls(config.state_dir() / kind / server, os.getpid())

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
        catalog = await session.catalog()
        place = "embedded" if catalog.embedded else catalog.address
        return cls.of(session.server or place, kind)

    def read(self, urn: str, path: str | None) -> Draft | None:
        """Return the newest draft of a description that no other running program is editing, or
        `None`."""
        found = sorted(self._files(urn, path), key=_written, reverse=True)
        drafts = (_draft(file) for file in found)
        return next((one for one in drafts if one and (one.urn, one.path) == (urn, path)), None)

    def all(self) -> list[StoredDraft]:
        """Return the newest draft of each description, newest first."""
        newest: dict[tuple[str, str | None], StoredDraft] = {}
        for file in sorted(self.directory.glob("*.json"), key=_written, reverse=True):
            draft = _draft(file)
            if draft is not None:
                at = datetime.fromtimestamp(_written(file), UTC)
                kept = StoredDraft(draft, at, not self._may_use(file))
                newest.setdefault((draft.urn, draft.path), kept)
        return list(newest.values())

    def keep(self, draft: Draft) -> None:
        """Write a draft atomically. Raises `StorageFault` if it cannot be written."""
        target = self.directory / f"{_name(draft.urn, draft.path)}-{self.process}.json"
        try:
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # `replace_file` creates it readable by its owner only, because drafts may be private.
            replace_file(target, msgspec.json.encode(draft))
        except OSError as error:
            raise StorageFault(
                f"The draft cannot be kept ({error.strerror}): save before you leave."
            ) from error

    def drop(self, urn: str, path: str | None, text: str | None = None) -> None:
        """Delete the drafts of a description, which was saved or discarded.

        With `text`, only if the newest draft has that text. Drafts that another running program is
        editing are kept.
        """
        if text is not None:
            newest = self.read(urn, path)
            if newest is not None and newest.text != text:
                return
        for file in list(self._files(urn, path)):
            try:
                file.unlink(missing_ok=True)
            except OSError:
                # A draft that cannot be deleted does no harm: it is offered again.
                continue

    def _files(self, urn: str, path: str | None) -> Iterator[Path]:
        return filter(self._may_use, self.directory.glob(f"{_name(urn, path)}-*.json"))

    def _may_use(self, file: Path) -> bool:
        number = file.stem.rpartition("-")[2]
        return number == str(self.process) or not (number.isdigit() and _runs(int(number)))


def _draft(file: Path) -> Draft | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Draft)
    except (OSError, msgspec.DecodeError):
        return None


def _name(urn: str, path: str | None) -> str:
    return hashlib.sha256(f"{urn}\n{path or ''}".encode()).hexdigest()[:32]


def _written(file: Path) -> float:
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
