"""What is newer than the index on disk, in memory.

A commit of the index costs several disk flushes and so happens in the background; until then a
changed document lives here and stands in front of its older self. A plain dictionary looked through
document by document was chosen over a second engine (SQLite FTS5 in memory, or a tantivy index):
there are a few hundred documents at most times, one answers in microseconds, and since one
evaluator defines what every query means, nothing can be found here and not there. The older self is
not masked out inside the index, where every pending document costs several look-ups a query, but
weighed the same way and taken off the result.
"""

from collections.abc import Callable, Iterable

from explorer.server.search.analysed import Analysed

__all__ = ["Overlay", "Pending"]

Read = Callable[[str], Analysed | None]


class _Unread:
    """Stands for a document that was not read yet."""


_UNREAD = _Unread()


class Pending:
    """A change that the index on disk lacks: the document as it is now, None for one that is gone,
    and as the index still has it, read when first asked for."""

    __slots__ = ("_old", "new", "number", "urn")

    def __init__(
        self,
        number: int,
        urn: str,
        new: Analysed | None,
        old: "Analysed | _Unread | None" = _UNREAD,
    ) -> None:
        self.number = number
        self.urn = urn
        self.new = new
        self._old = old

    def old(self, read: Read) -> Analysed | None:
        """What the index has under the URN, if anything. `read` reads the state of the index that
        this change is pending for; all states until the change is in it have the same."""
        if isinstance(self._old, _Unread):
            self._old = read(self.urn)
        return self._old

    def followed_by(self, number: int, new: Analysed | None) -> "Pending":
        """The next change of the document: the index still has what it had."""
        return Pending(number, self.urn, new, self._old)

    def rebased(self, old: Analysed | None) -> "Pending":
        """This change once the index has another document."""
        return Pending(self.number, self.urn, self.new, old)


class Overlay:
    """The pending changes by URN. Not guarded: its owner holds a lock around every call."""

    def __init__(self) -> None:
        self._by_urn: dict[str, Pending] = {}
        self._listed: tuple[Pending, ...] | None = ()
        self._last_number = 0

    def __len__(self) -> int:
        return len(self._by_urn)

    def put(self, urn: str, new: Analysed | None) -> Pending:
        """Add a change; it stands for all before it of the same document."""
        self._last_number += 1
        before = self._by_urn.get(urn)
        if before is None:
            change = Pending(self._last_number, urn, new)
        else:
            change = before.followed_by(self._last_number, new)
        self._by_urn[urn] = change
        self._listed = None
        return change

    def listed(self) -> tuple[Pending, ...]:
        """All pending changes, as they are now."""
        if self._listed is None:
            self._listed = tuple(self._by_urn.values())
        return self._listed

    def settle(self, written: Iterable[Pending]) -> None:
        """Take out what the index has by now, in the order it was written."""
        for change in written:
            now = self._by_urn.get(change.urn)
            if now is None:
                continue
            if now.number == change.number:
                del self._by_urn[change.urn]
            else:
                self._by_urn[change.urn] = now.rebased(change.new)
        self._listed = None
