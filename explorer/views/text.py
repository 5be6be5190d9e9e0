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
    """A line of pieces. If it is too long, its end is left out if `is_cut` is set, and continues on
    the next line if `wraps` is set; else the line is kept whole, so that it can be copied."""

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
    """Return the pieces that are not empty, with a separator between each two."""
    joined: list[Piece] = []
    for piece in pieces:
        if piece and (isinstance(piece, str) or piece[0]):
            joined += [(between, "dim"), piece] if joined else [piece]
    return tuple(joined)
