"""Searches that were saved under a name, and those asked lately, one small file for each server."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from explorer import config
from explorer.config.files import changing, read_private, write_private
from explorer.errors import Unusable

__all__ = ["Kept", "Saved", "Searches"]

_RECENT: Final = 30
_NAMED: Final = 500


class Saved(msgspec.Struct, frozen=True):
    """A search by the name that somebody gave it."""

    name: str
    text: str
    order: str = ""


class Kept(msgspec.Struct, frozen=True):
    """What is kept: saved searches by name, recent ones the latest first."""

    saved: tuple[Saved, ...] = ()
    recent: tuple[str, ...] = ()


_Change = Callable[[Kept], Kept]


@dataclass(frozen=True, slots=True)
class Searches:
    """The searches of one server. Every change reads the file again, alone with it, so that two
    programs lose nothing. Reading and writing block: call from a thread."""

    path: Path

    @classmethod
    def of(cls, address: str) -> "Searches":
        """Those kept for the server at an address."""
        # Nothing else at the start needs the cryptography, which is half a megabyte.
        from hashlib import sha256

        server = sha256(address.encode()).hexdigest()[:16]
        return cls(config.state_dir() / "searches" / f"{server}.json")

    def read(self) -> Kept:
        """What is kept. Raises `Unusable` for a file that cannot be read."""
        text = read_private(self.path, secret=False)
        if text is None:
            return Kept()
        try:
            return msgspec.json.decode(text, type=Kept)
        except msgspec.DecodeError as error:
            raise Unusable(
                f"{self.path} holds the saved searches and cannot be read; mend it or move it away"
            ) from error

    def save(self, search: Saved) -> Kept:
        """Keep a search under its name, in the place of one of that name."""

        def change(kept: Kept) -> Kept:
            others = [one for one in kept.saved if one.name != search.name]
            return Kept((*others, search)[-_NAMED:], kept.recent)

        return self._change(change)

    def rename(self, name: str, new: str) -> Kept:
        """Give a saved search another name, in the place of one of that name."""

        def change(kept: Kept) -> Kept:
            others = [one for one in kept.saved if one.name != new or one.name == name]
            return Kept(
                tuple(
                    msgspec.structs.replace(one, name=new) if one.name == name else one
                    for one in others
                ),
                kept.recent,
            )

        return self._change(change)

    def forget(self, *, name: str = "", recent: str = "") -> Kept:
        """Forget a saved search, or a recent one."""

        def change(kept: Kept) -> Kept:
            return Kept(
                tuple(one for one in kept.saved if not name or one.name != name),
                tuple(one for one in kept.recent if not recent or one != recent),
            )

        return self._change(change)

    def asked(self, text: str) -> Kept:
        """Remember a search that somebody went on from, as the latest."""

        def change(kept: Kept) -> Kept:
            others = (one for one in kept.recent if one != text)
            return Kept(kept.saved, (text, *others)[:_RECENT])

        return self._change(change)

    def _change(self, change: _Change) -> Kept:
        try:
            with changing(self.path):
                kept = change(self.read())
                write_private(self.path, msgspec.json.encode(kept).decode())
        except Unusable as error:
            if self.path.exists() and isinstance(error.__cause__, msgspec.DecodeError):
                raise
            raise Unusable(
                f"the search cannot be kept in {self.path.parent}; "
                "name another directory with CATALOG_STATE_DIR"
            ) from error
        return kept
