"""A step of a patch's path: what it finds when there is nothing, and when it cannot be taken."""

from typing import Any, Protocol

__all__ = ["MISSING", "Allowance", "Misplaced", "Place"]

_MAX_LOOKS = 10_000_000
_MAX_BYTES = 64 * 1024 * 1024


class _Missing:
    """Nothing there; a null is something."""


MISSING = _Missing()


class Misplaced(Exception):
    """A step that leads nowhere, or to something that cannot be there."""


class Allowance:
    """What one patch may take, for it holds up every other write: how often an element of an array
    is looked at, and how much is copied and compared."""

    __slots__ = ("_bytes", "_looks")

    def __init__(self) -> None:
        self._looks = _MAX_LOOKS
        self._bytes = _MAX_BYTES

    def look(self, elements: int) -> None:
        """Count elements that are looked at; raises `Misplaced` when it is too many."""
        self._looks -= elements
        if self._looks < 0:
            raise Misplaced("the patch takes too long; send fewer operations at once")

    def copy(self, size_bytes: int) -> None:
        """Count what is copied or compared; raises `Misplaced` when it is too much."""
        self._bytes -= size_bytes
        if self._bytes < 0:
            raise Misplaced(
                f"the patch copies or compares more than {_MAX_BYTES // 1024 // 1024} MB; "
                "send fewer operations at once"
            )


class Place(Protocol):
    """Something with parts, each under the next step of a path."""

    def get(self, step: str) -> Any:
        """The part, or `MISSING`."""

    def put(self, step: str, value: Any) -> None:
        """Set the part, in the place of one that is there already."""

    def drop(self, step: str) -> None:
        """Remove the part, and with it all that is below; nothing when there is none. An array
        or map that the record requires stays, empty."""

    def into(self, step: str, *, make: bool) -> "Place | None":
        """The part as a place itself; with `make` it is there afterwards."""
