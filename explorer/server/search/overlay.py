"""What is newer than the index on disk, in memory.

A commit of the index costs several disk flushes and so happens in the background; until then a
changed document lives here and stands in front of its older self. A plain dictionary looked through
document by document was chosen over a second engine (SQLite FTS5 in memory, or a tantivy index):
there are a few hundred documents at most times, one answers in 2 microseconds, and since one
evaluator defines what every query means, nothing can be found here and not there. The older self is
not masked out inside the index, which costs more the more documents are pending, but weighed the
same way and taken off the result.
"""

from collections.abc import Callable, Iterable

from explorer.server.search.analysed import Analysed

__all__ = ["Overlay", "Pending"]

Read = Callable[[str], Analysed | None]


class Pending:
    """A change that the index on disk lacks: the document as it is now, None for one that is gone,
    and as the index still has it, read when first asked for."""

    __slots__ = ("_is_read", "_old", "new", "urn")

    def __init__(self, urn: str, new: Analysed | None) -> None:
        self.urn = urn
        self.new = new
        self._old: Analysed | None = None
        self._is_read = False

    def old(self, read: Read) -> Analysed | None:
        """What the index has under the URN, if anything. `read` reads the state of the index that
        this change is pending for; all states until the change is in it have the same."""
        if not self._is_read:
            self._old = read(self.urn)
            self._is_read = True
        return self._old

    def followed_by(self, new: Analysed | None) -> "Pending":
        """The next change of the same document, while the index still has what it had."""
        after = Pending(self.urn, new)
        after._old, after._is_read = self._old, self._is_read
        return after

    def rebased(self, old: Analysed | None) -> "Pending":
        """The same change once the index has another document."""
        after = Pending(self.urn, self.new)
        after._old, after._is_read = old, True
        return after


class Overlay:
    """The pending changes by URN. Not guarded: its owner holds a lock around every call."""

    def __init__(self) -> None:
        self._by_urn: dict[str, Pending] = {}
        self._listed: tuple[Pending, ...] | None = ()

    def __len__(self) -> int:
        return len(self._by_urn)

    def put(self, urn: str, new: Analysed | None) -> None:
        """Add a change; it stands for all before it of the same document."""
        before = self._by_urn.get(urn)
        self._by_urn[urn] = before.followed_by(new) if before else Pending(urn, new)
        self._listed = None

    def listed(self) -> tuple[Pending, ...]:
        """All pending changes, as they are now."""
        if self._listed is None:
            self._listed = tuple(self._by_urn.values())
        return self._listed

    def settle(self, written: Iterable[Pending]) -> None:
        """Take out what the index has by now."""
        for change in written:
            now = self._by_urn[change.urn]
            if now is change:
                del self._by_urn[change.urn]
            else:
                self._by_urn[change.urn] = now.rebased(change.new)
        self._listed = None
