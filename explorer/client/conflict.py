"""Two who wrote in the same place."""

from explorer.errors import Conflict

__all__ = ["TextConflict"]


class TextConflict(Conflict):
    """What the server holds is not what the change was made from; nothing was written.

    `base` is what the change started from, `theirs` what the server holds now, `mine` what was to
    be written. All three are empty where there was nothing.
    """

    def __init__(self, place: str, base: str, theirs: str, mine: str) -> None:
        self.base = base
        self.theirs = theirs
        self.mine = mine
        super().__init__(
            f"{place} was changed by somebody else meanwhile; look at both and write again"
        )
