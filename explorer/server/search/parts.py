"""Parts of texts in the index: a value as neighbouring pieces.

`the orders_daily` is kept as `<BEGIN>the<SEAM> `, `orders<SEAM>_`, `daily<END>`, so that a part of
it is found as pieces side by side, the outer ones cut short, whatever is in between. The pieces
are few where whole values are not, which makes this many times faster than looking through values.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal

import tantivy

from explorer.server.search.clauses import either
from explorer.server.search.engine import Searcher, is_too_wide
from explorer.server.search.patterns import is_short, literal
from explorer.server.search.text import CUT, SEAM, pieces

__all__ = ["Parts", "piece_line"]

_BEGIN, _END = "\x02", "\x03"
_CODE_END = "\x1d"
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_OTHERS = f"[^a-z0-9{_BEGIN}{_END}]"

How = Literal["equal", "prefix", "suffix", "infix", "words"]
_Like = Literal["is", "begins", "ends", "holds"]


@dataclass(frozen=True, slots=True)
class _Place:
    """What the piece at one place is like: a text and how the piece goes on around it."""

    like: _Like
    text: str
    # Of an open end, what the next characters beyond the text are one of; and whether the piece
    # goes on after those.
    beyond: tuple[str, ...] = ()
    closed: bool = False

    @property
    def is_open(self) -> bool:
        return self.like in ("begins", "ends") and not self.closed

    def expression(self) -> str:
        text = literal(self.text)
        beyond = [one if one == _OTHERS else f"[{one}]" for one in self.beyond]
        match self.like:
            case "is":
                return text
            case "begins":
                return f"{text}{''.join(beyond)}{_END + '?' if self.closed else '.*'}"
            case "ends":
                before = "".join(reversed(beyond))
                return f"{_BEGIN + '?' if self.closed else '.*'}{before}{text}"
            case "holds":
                return f".*{text}.*"

    def narrower(self) -> "list[_Place]":
        """Places that together are this one, each like fewer pieces."""
        if self.beyond and self.beyond[-1] != _OTHERS and len(self.beyond[-1]) > 1:
            *nearer, last = self.beyond
            half = len(last) // 2
            return [replace(self, beyond=(*nearer, one)) for one in (last[:half], last[half:])]
        further = [replace(self, beyond=(*self.beyond, one)) for one in (_LETTERS, _OTHERS)]
        return [*further, replace(self, closed=True)]

    def fits(self, piece: str) -> bool:
        match self.like:
            case "is":
                return piece == self.text
            case "begins":
                return piece.startswith(self.text)
            case "ends":
                return piece.endswith(self.text)
            case "holds":
                return self.text in piece


def piece_line(code: str, body: str, *, prose: bool) -> str:
    """The terms of one value of a field, in one text: cut it at `CUT`."""
    prefix = code + _CODE_END
    if prose:
        # Words with one space between: no need to look for anything else, and far faster so.
        line = body.replace(" ", f"{SEAM} {CUT}{prefix}")
    else:
        line = f"{CUT}{prefix}".join(pieces(body))
    return f"{prefix}{_BEGIN}{line}{_END}"


class Parts:
    """Finds parts of texts in one state of the index.

    tantivy refuses to look at more than some thousand different pieces in one place, and says so
    when the query runs (`is_too_wide`). With `careful` such queries are found out beforehand, by
    running them on their own, and asked in parts.
    """

    def __init__(self, schema: tantivy.Schema, searcher: Searcher, *, careful: bool) -> None:
        self._schema = schema
        self._searcher = searcher
        self._careful = careful

    def query(self, code: str, how: How, text: str) -> tantivy.Query:
        """The documents with a value of a field that compares so with a folded text.

        `words` are whole words one after the other, whatever signs are between them.
        """
        if how == "words":
            return either([self._exactly(code, terms) for terms in _word_terms(text)])
        places = _places(how, text)
        if not all(is_short(place.text) for place in places):
            return self._looked_through(code, places)
        return self._side_by_side(code, places)

    def _side_by_side(self, code: str, places: list[_Place]) -> tantivy.Query:
        prefix = code + _CODE_END
        if len(places) == 1:
            return tantivy.Query.regex_query(
                self._schema, "pieces", prefix + places[0].expression()
            )
        if all(place.like == "is" for place in places):
            return self._exactly(code, [place.text for place in places])
        if not self._careful:
            return self._phrase(prefix, places)
        first, *inner, last = places
        return either(
            [
                self._phrase(prefix, [one, *inner, other])
                for one, other in product(self._split(prefix, first), self._split(prefix, last))
            ]
        )

    def _phrase(self, prefix: str, places: Sequence[_Place]) -> tantivy.Query:
        expressions = (prefix + place.expression() for place in places)
        return tantivy.Query.regex_phrase_query(self._schema, "pieces", [*expressions])

    def _split(self, prefix: str, place: _Place) -> Iterator[_Place]:
        """A place as several, each like so few pieces that tantivy looks at them twice."""
        if not place.is_open:
            yield place
            return
        expression = prefix + place.expression()
        if not self._searcher.search(
            tantivy.Query.regex_query(self._schema, "pieces", expression), 1, count=False
        ).hits:
            return
        try:
            self._searcher.search(self._phrase(prefix, [place, place]), 1, count=False)
        except ValueError as error:
            if not is_too_wide(error):
                raise
            for narrower in place.narrower():
                yield from self._split(prefix, narrower)
        else:
            yield place

    def _looked_through(self, code: str, places: list[_Place]) -> tantivy.Query:
        """For texts too long for an expression: through all pieces of the field, one by one."""
        prefix = code + _CODE_END
        terms = self._searcher.terms_with_prefix("pieces", prefix)
        kept = [term.removeprefix(prefix) for term, _ in terms]
        choices = [[piece for piece in kept if place.fits(piece)] for place in places]
        return either([self._exactly(code, phrase) for phrase in product(*choices)])

    def _exactly(self, code: str, found: Sequence[str]) -> tantivy.Query:
        terms = [code + _CODE_END + piece for piece in found]
        if len(terms) == 1:
            return tantivy.Query.term_query(self._schema, "pieces", terms[0])
        return tantivy.Query.phrase_query(self._schema, "pieces", [*terms])


def _word_terms(text: str) -> list[list[str]]:
    """The pieces that words of prose can be, side by side: at its ends, or inside."""
    words = text.split()
    if not words:
        return []
    inner = [f"{word}{SEAM} " for word in words[:-1]]
    last = words[-1]
    found: list[list[str]] = []
    for begin, end in product(("", _BEGIN), (f"{SEAM} ", _END)):
        pieces_there = [*inner, last + end]
        pieces_there[0] = begin + pieces_there[0]
        found.append(pieces_there)
    return found


def _places(how: How, text: str) -> list[_Place]:
    found = [*pieces(text)] or [""]
    if how in ("equal", "prefix"):
        found[0] = _BEGIN + found[0]
    else:
        # What a part begins with may be the rest of signs that a longer run of them began.
        found[0] = found[0].removeprefix(SEAM)
    if how in ("equal", "suffix"):
        found[-1] += _END
    if len(found) == 1:
        likes: dict[str, _Like] = {"equal": "is", "prefix": "begins", "suffix": "ends"}
        return [_Place(likes.get(how, "holds"), found[0])]
    places = [_Place("is", piece) for piece in found]
    if how in ("suffix", "infix"):
        places[0] = _Place("ends", found[0])
    if how in ("prefix", "infix"):
        places[-1] = _Place("begins", found[-1])
    return places
