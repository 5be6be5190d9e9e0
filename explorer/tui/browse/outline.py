"""The folders as rows: what is unfolded stands below its folder, and only what was looked at is
kept. A folder of a million entries costs what its pages on screen cost."""

from collections.abc import Iterator
from dataclasses import dataclass

from explorer.tui.browse.branch import Branch
from explorer.tui.browse.entries import Entry, Source

__all__ = ["Outline", "Spot"]

_PAGES_KEPT = 12


@dataclass(frozen=True, slots=True)
class Spot:
    """A row: the entry `index` of a folder, `depth` folders deep. At -1 stands what is to be said
    of a folder without entries, behind the last entry its note."""

    branch: Branch
    index: int
    depth: int

    @property
    def entry(self) -> Entry | None:
        """What stands there, where it is known."""
        return None if self.index < 0 else self.branch.entry_at(self.index)

    @property
    def unfolded(self) -> Branch | None:
        """What is unfolded below it."""
        held = self.branch.below.get(self.index)
        return held if held is not None and held.unfolded else None

    @property
    def why(self) -> str | None:
        """Why nothing is known of it, where that failed."""
        return self.branch.failed.get(self.branch.page_of(self.index))


class Outline:
    """All rows, from a folder that has no row itself."""

    def __init__(self, source: Source) -> None:
        self.root = Branch(Entry("", below=source), source)
        self._seen: dict[tuple[Branch, int], None] = {}

    @property
    def height(self) -> int:
        """How many rows there are."""
        return self.root.height

    def locate(self, row: int) -> Spot:
        """What stands in a row."""
        branch, depth = self.root, 0
        while True:
            before, into = 0, None
            for at in branch.opened:
                held = branch.below[at]
                if row <= at + before:
                    break
                if row <= at + before + held.height:
                    into = held
                    break
                before += held.height
            if into is None:
                return Spot(branch, row - before if branch.total else -1, depth)
            row -= into.index + before + 1
            branch, depth = into, depth + 1

    def row_of(self, branch: Branch, index: int) -> int:
        """The row of an entry of a folder that is unfolded."""
        row = max(0, index)
        for at in branch.opened:
            if at >= index:
                break
            row += branch.below[at].height
        if branch.above is None:
            return row
        return self.row_of(branch.above, branch.index) + 1 + row

    def pages(self, first: int, last: int) -> Iterator[tuple[Branch, int]]:
        """The pages that rows stand on, each once, from the top; rows that there are not are left
        out."""
        found: dict[tuple[Branch, int], None] = {}
        for row in range(max(0, first), min(last, self.height - 1) + 1):
            spot = self.locate(row)
            found[spot.branch, spot.branch.page_of(spot.index)] = None
        yield from found

    def narrowed(self) -> Iterator[Branch]:
        """Folders that a filter narrows."""
        yield from _narrowed(self.root)

    def forget(self, looked_at: list[tuple[Branch, int]]) -> None:
        """Let go of the pages that were looked at longest ago, when there are many."""
        for page in looked_at:
            self._seen.pop(page, None)
            self._seen[page] = None
        while len(self._seen) > max(_PAGES_KEPT, len(looked_at)):
            branch, number = next(iter(self._seen))
            del self._seen[branch, number]
            branch.pages.pop(number, None)
            branch.stale.discard(number)


def _narrowed(branch: Branch) -> Iterator[Branch]:
    if branch.text:
        yield branch
    for at in branch.opened:
        yield from _narrowed(branch.below[at])
