"""Lines of text whose pieces have styles."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

EDITED: Final = "✎"
"""The mark before a text that people edited, as opposed to an ingested one."""

Piece = str | tuple[str, str]
"""A piece of a line: text, or text and its style, such as "bold" or "dim"."""


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line of pieces. Where there is no room for its end, that is left out if it `is_cut`, and
    stands below if it `wraps`; else the line stays one, as what is copied does."""

    pieces: tuple[Piece, ...]
    is_cut: bool = False
    wraps: bool = False

    @property
    def text(self) -> str:
        """The text without styles."""
        return "".join(piece if isinstance(piece, str) else piece[0] for piece in self.pieces)


def text_line(*pieces: Piece, is_cut: bool = False, wraps: bool = False) -> TextLine:
    """Return a line of these pieces."""
    return TextLine(pieces, is_cut, wraps)


def join_pieces(pieces: Iterable[Piece | None], between: str = " · ") -> tuple[Piece, ...]:
    """Return the pieces that are not empty, with a separator between two of them."""
    joined: list[Piece] = []
    for piece in pieces:
        if piece and (isinstance(piece, str) or piece[0]):
            joined += [(between, "dim"), piece] if joined else [piece]
    return tuple(joined)
