"""Drafts: what was typed and not yet saved, on disk at every pause in typing."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import msgspec

from explorer import config

__all__ = ["Draft", "Drafts"]


class Draft(msgspec.Struct, frozen=True):
    """A text on its way: of which entity and column, and what it started from."""

    urn: str
    path: str | None
    base: str
    text: str


@dataclass(frozen=True, slots=True)
class Drafts:
    """The drafts of one server, a file each. Reading and writing block: call from a thread."""

    directory: Path

    @classmethod
    def of(cls, address: str) -> "Drafts":
        """The drafts kept for the server at an address."""
        server = hashlib.sha256(address.encode()).hexdigest()[:16]
        return cls(config.state_dir() / "drafts" / server)

    def read(self, urn: str, path: str | None) -> Draft | None:
        """The draft for an entity's or a column's description; nothing where there is none."""
        try:
            draft = msgspec.json.decode(self._file(urn, path).read_bytes(), type=Draft)
        except (OSError, msgspec.DecodeError):
            return None
        return draft if (draft.urn, draft.path) == (urn, path) else None

    def keep(self, draft: Draft) -> None:
        """Write a draft, whole or not at all."""
        target = self._file(draft.urn, draft.path)
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = target.with_suffix(".new")
        fresh.write_bytes(msgspec.json.encode(draft))
        fresh.replace(target)

    def drop(self, urn: str, path: str | None) -> None:
        """Forget the draft: its text was saved, or given up."""
        self._file(urn, path).unlink(missing_ok=True)

    def _file(self, urn: str, path: str | None) -> Path:
        name = hashlib.sha256(f"{urn}\n{path or ''}".encode()).hexdigest()[:32]
        return self.directory / f"{name}.json"
