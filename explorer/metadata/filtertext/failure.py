"""What is wrong with a text that was typed, and where."""

import unicodedata

from explorer.errors import InvalidInput

__all__ = ["FilterSyntax"]

# Cells of text shown on either side of the place.
_AROUND = 36


class FilterSyntax(InvalidInput):
    """A filter, or a sort order, that cannot be read.

    `position` counts characters of `text` from 0, `length` is how many are wrong, at least one;
    at the end of the text the position is one beyond. `message` says what is wrong, `str()` where
    as well.
    """

    def __init__(self, text: str, position: int, length: int, message: str) -> None:
        self.text = text
        self.position = position
        self.length = max(1, length)
        self.message = message
        place = f"at character {position + 1}" if position < len(text) else "at the end"
        super().__init__(f"{message} ({place})")

    def pointer(self) -> str:
        """Two lines: the text, or what is around the place in it, and carets below the place.

        Every sign that moves or hides others is shown as a blank, so that the carets are right.
        """
        begin = max(0, self.position - _AROUND)
        stop = self.position + self.length
        end = min(len(self.text), max(stop, begin + _AROUND), self.position + _AROUND)
        before = ("…" if begin else "") + _shown(self.text[begin : self.position])
        wrong = _shown(self.text[self.position : min(stop, end)])
        after = _shown(self.text[min(stop, end) : end]) + ("…" if end < len(self.text) else "")
        carets = "^" * max(1, _cells(wrong))
        return f"{before}{wrong}{after}".rstrip() + f"\n{' ' * _cells(before)}{carets}"


def _shown(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)


def _cells(text: str) -> int:
    """How many cells of a terminal a text takes."""
    return sum(map(_width, text))


def _width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1
