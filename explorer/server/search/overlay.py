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

import tantivy

from explorer.server.search.analysed import Analysed

__all__ = ["Overlay", "Pending"]

Read = Callable[[str], Analysed | None]


class Unread:
    """Stands for a document that was not read yet."""


UNREAD = Unread()


class Pending:
    """A change that the index on disk lacks: the document as it is now, None for one that is gone,
    and as the index still has it, read when first asked for. `entry` is what the index is to take
    in; it is made by who applies the change, so that nobody writes faster than can be taken in."""

    __slots__ = ("_old", "entry", "new", "urn")

    def __init__(
        self,
        urn: str,
        new: Analysed | None = None,
        entry: tantivy.Document | None = None,
        *,
        old: "Analysed | Unread | None" = UNREAD,
    ) -> None:
        self.urn = urn
        self.new = new
        self.entry = entry
        self._old = old

    def old(self, read: Read) -> Analysed | None:
        """What the index has under the URN, if anything. `read` reads the state of the index that
        this change is pending for; all states until the change is in it have the same."""
        if isinstance(self._old, Unread):
            self._old = read(self.urn)
        return self._old

    def followed_by(self, later: "Pending") -> "Pending":
        """A later change in the place of this one: the index still has what it had."""
        return Pending(self.urn, later.new, later.entry, old=self._old)

    def rebased(self, old: Analysed | None) -> "Pending":
        """This change once the index has another document."""
        return Pending(self.urn, self.new, self.entry, old=old)


class Overlay:
    """The pending changes by URN. Not guarded: its owner holds a lock around every call."""

    def __init__(self) -> None:
        self._by_urn: dict[str, Pending] = {}
        self._listed: tuple[Pending, ...] | None = ()

    def __len__(self) -> int:
        return len(self._by_urn)

    def put(self, change: Pending) -> None:
        """Add a change; it stands for all before it of the same document."""
        before = self._by_urn.get(change.urn)
        self._by_urn[change.urn] = before.followed_by(change) if before else change
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
