"""Drafts: what was typed and not yet saved, on disk at every pause in typing."""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from explorer import config
from explorer.errors import Unusable

__all__ = ["Draft", "Drafts"]


class Draft(msgspec.Struct, frozen=True):
    """A text on its way: of which entity and column, and what it started from."""

    urn: str
    path: str | None
    base: str
    text: str


@dataclass(frozen=True, slots=True)
class Drafts:
    """The drafts of one server, a file for each text and each program that edits it, so that two
    programs never write over each other. Reading and writing block: call from a thread."""

    directory: Path
    process: int

    @classmethod
    def of(cls, address: str) -> "Drafts":
        """The drafts kept for the server at an address."""
        server = hashlib.sha256(address.encode()).hexdigest()[:16]
        return cls(config.state_dir() / "drafts" / server, os.getpid())

    def read(self, urn: str, path: str | None) -> Draft | None:
        """The newest draft for an entity's or a column's description that no other running
        program is editing; nothing where there is none."""
        found = sorted(self._files(urn, path), key=_written, reverse=True)
        for file in found:
            try:
                draft = msgspec.json.decode(file.read_bytes(), type=Draft)
            except (OSError, msgspec.DecodeError):
                continue
            if (draft.urn, draft.path) == (urn, path):
                return draft
        return None

    def keep(self, draft: Draft) -> None:
        """Write a draft, whole or not at all; raises `Unusable` where it cannot be kept."""
        target = self.directory / f"{_name(draft.urn, draft.path)}-{self.process}.json"
        fresh = target.with_suffix(".new")
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            fresh.write_bytes(msgspec.json.encode(draft))
            fresh.replace(target)
        except OSError as error:
            raise Unusable(
                f"The draft cannot be kept ({error.strerror}): save before you leave."
            ) from error

    def drop(self, urn: str, path: str | None) -> None:
        """Forget the drafts of a text: it was saved, or given up. Another program's stays."""
        for file in list(self._files(urn, path)):
            try:
                file.unlink(missing_ok=True)
            except OSError:
                # An old draft that stays behind does no harm: it is shown as one.
                continue

    def _files(self, urn: str, path: str | None) -> Iterator[Path]:
        for file in self.directory.glob(f"{_name(urn, path)}-*.json"):
            number = file.stem.rpartition("-")[2]
            if number == str(self.process) or not (number.isdigit() and _runs(int(number))):
                yield file


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
