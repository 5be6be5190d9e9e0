"""A step of a patch's path: what it finds when there is nothing, and when it cannot be taken."""

from typing import Any, Protocol

__all__ = ["MISSING", "Misplaced", "Place"]


class _Missing:
    """Nothing there; a null is something."""


MISSING = _Missing()


class Misplaced(Exception):
    """A step that leads nowhere, or to something that cannot be there."""


class Place(Protocol):
    """Something with parts, each under the next step of a path."""

    def get(self, step: str) -> Any:
        """The part, or `MISSING`."""

    def put(self, step: str, value: Any) -> None:
        """Set the part, in the place of one that is there already."""

    def drop(self, step: str) -> None:
        """Remove the part, and with it all that is below; nothing when there is none."""

    def into(self, step: str, *, make: bool) -> "Place | None":
        """The part as a place itself; with `make` it is there afterwards."""
