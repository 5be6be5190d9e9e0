"""The schema of an index, documents in its form, and the queries that depend on it.

The fields of the schema:

urn        the URN as written, to find and to replace a document by
order      the rank of the document among equally good matches, in hexadecimal, as a column
document   the document itself, stored
is         `field<US>form` for each form of each value; long texts truncated, and marked with
           `MORE` at the end; and `field<ENQ>URN` for each URN as written
pieces     `field<GS>piece` with positions, each value between two marks: for parts of texts.
           Of prose, the words, then the distinct runs of other characters: a text without a word
           is part of a value only if it is part of such a run
words      all words, with positions
marks      `kind<US>text` for everything that is looked up as a whole; see `Kind`
facet      the values of the facet fields, as columns
numbers    the values of fields compared as numbers, as columns of a JSON field, coded as in
           `sorts`
sort*      for each field that is often sorted by, a text that sorts as its value does, as a
           column
sorts      the same for the other fields, as columns of a JSON field
folders    the keys of the folders the document is in or below, as columns, one for each depth

Each indexed field takes 0.2 ms of every commit, also of one with a single document in memory, which
the next search waits for. So what needs no field of its own is in `marks`.

A part of a text is found as consecutive pieces: `the orders_daily` is indexed as
`<BEGIN>the<SEAM> `, `orders<SEAM>_`, `daily<END>`. Of a part, the first and the last piece may be
incomplete; the pieces in between match as a whole. There are few distinct pieces but many distinct
values, so this is many times faster than scanning the values.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product, repeat
from typing import Any, Literal

import msgspec
import tantivy

from explorer.query.fields import USE
from explorer.server.search.analysis import (
    CUT,
    GAP,
    NAME_CUT,
    SEAM,
    SPACE,
    AnalysedDocument,
    as_number,
    exact_urn,
    fold_value,
    forms,
    other_names,
    pieces,
    runs_and_symbols,
    stem,
    symbol_runs,
    values_of,
)
from explorer.server.search.document import Document, Scalar, folder_keys
from explorer.server.search.engine import EngineFailed, Searcher, is_too_wide
from explorer.server.search.fields import DISPLAY, URN, VIRTUAL, Trait, Vocabulary
from explorer.server.search.query import How, ValuePattern
from explorer.server.search.sort_keys import least_code, number_code, sort_code

_MUST, _SHOULD, _NOT = tantivy.Occur.Must, tantivy.Occur.Should, tantivy.Occur.MustNot


def both(queries: Sequence[tantivy.Query]) -> tantivy.Query:
    """Return the conjunction of queries; of none, the query for everything."""
    if len(queries) == 1:
        return queries[0]
    if not queries:
        return tantivy.Query.all_query()
    return tantivy.Query.boolean_query([(_MUST, query) for query in queries])


def either(queries: Sequence[tantivy.Query]) -> tantivy.Query:
    """Return the disjunction of queries; of none, the query for nothing."""
    if len(queries) == 1:
        return queries[0]
    if not queries:
        return tantivy.Query.empty_query()
    return tantivy.Query.boolean_query([(_SHOULD, query) for query in queries])


def at_least(queries: Sequence[tantivy.Query], least: int) -> tantivy.Query:
    """Return the query for documents that at least this many of the queries find."""
    if least == len(queries):
        return both(queries)
    if least == 1:
        return either(queries)
    return tantivy.Query.boolean_query(
        [(_SHOULD, query) for query in queries], minimum_number_should_match=least
    )


def all_but(query: tantivy.Query, excluded: Sequence[tantivy.Query]) -> tantivy.Query:
    """Return the query for documents that a query finds and none of the others does."""
    if not excluded:
        return query
    clauses = [(_NOT, query) for query in excluded]
    return tantivy.Query.boolean_query([(_MUST, query), *clauses])


# A regular expression has at most 1,000 states in tantivy, and a byte takes up to three.
_MAX_LITERAL_BYTES = 250

_SPECIAL = frozenset(r"\.+*?()|[]{}^$#&-~/")
_LAST = 0x10FFFF
_GROUP = 16

_Branch = tuple[int, str]


def literal(text: str) -> str:
    """Return the regular expression that matches a text literally."""
    return "".join(f"\\{char}" if char in _SPECIAL else char for char in text)


def like(pattern: str) -> str:
    """Return the regular expression for a word with the wildcards `*` and `?`."""
    wild = {"*": ".*", "?": "."}
    return "".join(wild.get(char) or literal(char) for char in pattern)


# The end of a truncated term of `is`.
MORE = "\x04"
_NOT_MORE = f"[^{MORE}]"


def like_value(node: ValuePattern) -> str:
    """Return the regular expression for the forms in `is` that match a pattern.

    It matches a truncated form only if the whole value is certain to match.
    """
    expression = literal(node.texts[0])
    for gap, text in zip(node.gaps, node.texts[1:], strict=True):
        expression += (
            _NOT_MORE * gap.count("?") + f"{_NOT_MORE}*" * gap.endswith("*") + literal(text)
        )
    return (
        f"{expression}{MORE}?" if node.gaps[-1].endswith("*") and not node.texts[-1] else expression
    )


def is_short(text: str) -> bool:
    """Return whether a text is short enough for a regular expression."""
    return len(text.encode()) <= _MAX_LITERAL_BYTES


def within(low: str | None, high: str | None, *, longest: int, strict: bool) -> list[str]:
    """Return regular expressions that together match the texts between two bounds.

    Texts are compared by code points, up to `longest` characters. The bounds are not longer than
    that; `strict` excludes them. `None` leaves a side open.
    """
    if low is None:
        return [".*"] if high is None else _gather(high, _below(high, 0, longest, strict=strict))
    if high is None:
        return _gather(low, _above(low, 0, longest, strict=strict))
    if low > high or (strict and low == high):
        return []
    fork = _fork(low, high)
    if fork == len(high):
        return [literal(high) + (".*" if len(high) == longest else "")]
    if fork == len(low):
        below = _below(high, fork, longest, strict=strict)
        return _gather(high, (branch for branch in below if not (strict and branch == (fork, ""))))
    between = _chars(ord(low[fork]) + 1, ord(high[fork]) - 1)
    expressions = [f"{literal(low[:fork])}{between}.*"] if between else []
    expressions += _gather(low, _above(low, fork + 1, longest, strict=strict))
    return expressions + _gather(high, _below(high, fork + 1, longest, strict=strict))


def _fork(low: str, high: str) -> int:
    """Return the length of the common prefix of two texts."""
    alike = 0
    while alike < min(len(low), len(high)) and low[alike] == high[alike]:
        alike += 1
    return alike


def _above(low: str, begin: int, longest: int, *, strict: bool) -> Iterator[_Branch]:
    """Yield branches for the texts above a lower bound, from its character `begin` on.

    A branch is the number of characters shared with the bound and an expression for the rest.
    """
    for at in range(begin, len(low)):
        if above := _chars(ord(low[at]) + 1, _LAST):
            yield at, f"{above}.*"
    if not strict:
        yield len(low), ".*"
    elif len(low) < longest:
        yield len(low), ".+"


def _below(high: str, begin: int, longest: int, *, strict: bool) -> Iterator[_Branch]:
    """Yield branches for the texts below an upper bound, from its character `begin` on; see
    `_above`."""
    for at in range(begin, len(high)):
        yield at, ""
        if below := _chars(0, ord(high[at]) - 1):
            yield at, f"{below}.*"
    if not strict:
        yield len(high), ".*" if len(high) == longest else ""


def _gather(stem: str, branches: Iterator[_Branch]) -> list[str]:
    """Return the branches off a stem as few regular expressions, each short enough for tantivy."""
    groups: dict[int, list[str]] = {}
    for at, rest in branches:
        begin = at - at % _GROUP
        groups.setdefault(begin, []).append(literal(stem[begin:at]) + rest)
    return [f"{literal(stem[:begin])}(?:{'|'.join(group)})" for begin, group in groups.items()]


def _chars(first: int, last: int) -> str:
    """Return the character class between two code points, without surrogates."""
    if 0xD800 <= first <= 0xDFFF:
        first = 0xE000
    if 0xD800 <= last <= 0xDFFF:
        last = 0xD7FF
    return f"[\\x{{{first:x}}}-\\x{{{last:x}}}]" if first <= last else ""


_EXACT = "\x05"
_BEGIN, _END = "\x02", "\x03"
_CODE_END = "\x1d"
# Stands for a space in a piece. Pieces are separated by spaces, because tantivy's whitespace
# tokeniser is its fastest.
_BLANK = "\x1e"
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_OTHERS = f"[^a-z0-9{_BEGIN}{_END}]"

_Like = Literal["is", "begins", "ends", "holds"]


@dataclass(frozen=True, slots=True)
class _Place:
    """A pattern for the piece at one position: a text, and how the piece may continue around it."""

    like: _Like
    text: str
    # The character classes of the next characters beyond an open end, and whether the piece ends
    # after them.
    beyond: tuple[str, ...] = ()
    closed: bool = False

    @property
    def is_open(self) -> bool:
        return self.like in ("begins", "ends") and not self.closed

    def expression(self) -> str:
        text = literal(self.text)
        beyond = [letters if letters == _OTHERS else f"[{letters}]" for letters in self.beyond]
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
        """Return narrower places that together match the same pieces."""
        if self.beyond and self.beyond[-1] != _OTHERS and len(self.beyond[-1]) > 1:
            *nearer, last = self.beyond
            half = len(last) // 2
            return [
                replace(self, beyond=(*nearer, letters)) for letters in (last[:half], last[half:])
            ]
        further = [replace(self, beyond=(*self.beyond, letters)) for letters in (_LETTERS, _OTHERS)]
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


def piece_line(code: str, bodies: Iterable[str]) -> str:
    """Return the pieces of the values of a field, prefixed by its code and separated by spaces."""
    # Folded texts have no line breaks.
    lines = "\n{}\n".format("\n".join(bodies)).replace(" ", _BLANK)
    runs = runs_and_symbols(lines)
    runs[1::2] = [_at_symbols(code, symbols) for symbols in runs[1::2]]
    before, after = _END + " ", f" {code}{_CODE_END}{_BEGIN}"
    return "".join(runs)[len(before) : -len(after)]


@lru_cache(maxsize=4096)
def _at_symbols(code: str, symbols: str) -> str:
    """Return what is between the words before and after a run of symbols in `piece_line`."""
    next_piece = f" {code}{_CODE_END}"
    *ended, last = [text and SEAM + text for text in symbols.split("\n")]
    return f"{_END}{next_piece}{_BEGIN}".join((*ended, last and last + next_piece))


def prose_line(code: str, words: str, folded: str) -> str:
    """Return the pieces of a value of prose, prefixed by the code of its field and separated by
    spaces: its words, which have one space between them, and its distinct runs of symbols."""
    prefix = code + _CODE_END
    line = f"{prefix}{_BEGIN}{words.replace(' ', f'{SEAM}{_BLANK} {prefix}')}{_END}"
    runs = symbol_runs(folded)
    if not runs:
        return line
    if not folded[0].isalnum():
        runs[0] = f"{_BEGIN}{SEAM}{runs[0]}"
    if not folded[-1].isalnum():
        runs[-1] += _END
    # Nobody searches for the space between two words.
    pieces_there = (run if run[0] == _BEGIN else SEAM + run for run in {*runs} - {SPACE})
    return " ".join((line, *(prefix + piece.replace(SPACE, _BLANK) for piece in pieces_there)))


class Parts:
    """Finds parts of texts in one snapshot of an index.

    tantivy refuses a query that has more than some thousand different pieces at one position, with
    an error when the query runs (`is_too_wide`). With `careful`, such queries are detected
    beforehand, by running them on their own, and split.
    """

    def __init__(self, schema: tantivy.Schema, searcher: Searcher, *, careful: bool) -> None:
        self._schema = schema
        self._searcher = searcher
        self._careful = careful

    def query(self, code: str, how: How, text: str) -> tantivy.Query:
        """Return the query for documents with a value of a field that matches a folded text.

        `how` is the comparison; `words` are whole consecutive words, whatever characters are
        between them.
        """
        if how == "words":
            return either([self._exactly(code, terms) for terms in _word_terms(text)])
        places = _places(how, text)
        if not all(is_short(place.text) for place in places):
            return self._scan_pieces(code, places)
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
                self._phrase(prefix, [first_place, *inner, last_place])
                for first_place, last_place in product(
                    self._split(prefix, first), self._split(prefix, last)
                )
            ]
        )

    def _phrase(self, prefix: str, places: Sequence[_Place]) -> tantivy.Query:
        expressions = (prefix + place.expression() for place in places)
        return tantivy.Query.regex_phrase_query(self._schema, "pieces", [*expressions])

    def _split(self, prefix: str, place: _Place) -> Iterator[_Place]:
        """Split a place until tantivy accepts each part at two positions of a phrase."""
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

    def _scan_pieces(self, code: str, places: list[_Place]) -> tantivy.Query:
        """Match texts too long for a regular expression by scanning all pieces of the field."""
        prefix = code + _CODE_END
        terms = self._searcher.terms_with_prefix("pieces", prefix)
        all_pieces = [term.removeprefix(prefix) for term, _ in terms]
        choices = [[piece for piece in all_pieces if place.fits(piece)] for place in places]
        return either([self._exactly(code, phrase) for phrase in product(*choices)])

    def _exactly(self, code: str, phrase: Sequence[str]) -> tantivy.Query:
        terms = [code + _CODE_END + piece for piece in phrase]
        if len(terms) == 1:
            return tantivy.Query.term_query(self._schema, "pieces", terms[0])
        return tantivy.Query.phrase_query(self._schema, "pieces", [*terms])


def _word_terms(text: str) -> list[list[str]]:
    """Return the sequences of pieces that consecutive words of prose can be.

    They differ in whether the words are at the beginning or at the end of the value.
    """
    words = text.split()
    if not words:
        return []
    inner = [f"{word}{SEAM}{_BLANK}" for word in words[:-1]]
    last = words[-1]
    sequences: list[list[str]] = []
    for begin, end in product(("", _BEGIN), (f"{SEAM}{_BLANK}", _END)):
        pieces_there = [*inner, last + end]
        pieces_there[0] = begin + pieces_there[0]
        sequences.append(pieces_there)
    return sequences


def _places(how: How, text: str) -> list[_Place]:
    text_pieces = [*pieces(text.replace(" ", _BLANK))] or [""]
    if how in ("equal", "prefix"):
        text_pieces[0] = _BEGIN + text_pieces[0]
    else:
        # A part that begins with a character other than a letter or digit may begin within a longer
        # run of them, so the `SEAM` before it is dropped.
        text_pieces[0] = text_pieces[0].removeprefix(SEAM)
    if how in ("equal", "suffix"):
        text_pieces[-1] += _END
    if len(text_pieces) == 1:
        likes: dict[str, _Like] = {"equal": "is", "prefix": "begins", "suffix": "ends"}
        return [_Place(likes.get(how, "holds"), text_pieces[0])]
    places = [_Place("is", piece) for piece in text_pieces]
    if how in ("suffix", "infix"):
        places[0] = _Place("ends", text_pieces[0])
    if how in ("prefix", "infix"):
        places[-1] = _Place("begins", text_pieces[-1])
    return places


# Increment this when the schema, the names of entities, their order, their folders or the stems of
# words change: an index of another format is rebuilt.
FORMAT = 22
MAX_START = 3
_NUMBERS = frozenset({"number", "date"})

Kind = Literal["field", "refers", "name", "written", "other", "prefix", "folder"]
"""The kinds of terms in `marks`, each of which states a fact about a document.

field      it has a value in this field
refers     it is found when this URN is typed
name       a name, joined to one word
written    a name, or the last part of a dotted one, as it is written
other      another name of a glossary term, see `analysis.other_names`
prefix     a prefix of such a name, up to `MAX_NAME_START` characters
folder     it is in or below the folder with this key

Other terms of `marks` are words and their prefixes by rank, see `Terms.word` and `Terms.start`.
"""
# The whitespace tokeniser, which is tantivy's fastest, splits at these characters.
_SPACES = str.maketrans(" \t\n\r\f", f"{_BLANK}\x10\x11\x12\x13")
MAX_NAME_START = 16

# The fields that front ends offer to sort by, and that scrolls are sorted by. They have a column
# each, by which tantivy can sort; the columns of the others are within a JSON field.
_SORTED_OFTEN = (URN, DISPLAY, USE, "lastModifiedAt")

_Stored = tuple[
    str, str, str, bool, float, dict[str, tuple[Scalar, ...]], tuple[tuple[str, str], ...]
]
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Stored)


_Part = tuple[list[str], str, str | None]
"""What values of a field contribute to an entry: terms of `is`, pieces, and the sort code of the
least."""
# Texts that are longer hardly occur twice.
_MOST_REPEATED = 128
# Comes after every sort code.
_AFTER_CODES = "z"


class Terms:
    """The schema of the index for a vocabulary. It converts documents to entries of the index."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._codes = {name: f"{at:x}" for at, name in enumerate(sorted(vocabulary.traits))}
        self._sorts = {name: f"sort{at}" for at, name in enumerate(_SORTED_OFTEN)}
        # The ranks of words: 0 for those of names, then one for each weight above the common one,
        # the common one, and one for all weights below it.
        self.common = len(vocabulary.strong) + 1
        self.weak = self.common + 1
        self.schema = self._schema()
        self._repeated_part = lru_cache(maxsize=8192, typed=True)(self._part)
        # An index that is only used to parse range queries.
        self._ranges = self._index(None, keys_are_terms=True)

    def open(self, path: str | None) -> tantivy.Index:
        """Open the index at a path, and create it if there is none; `None` keeps it in memory."""
        index = self._index(path, keys_are_terms=False)
        index.config_reader("manual")
        return index

    def beyond(self, key: str) -> tantivy.Query:
        """Return the query for documents whose order keys come after a key."""
        # tantivy makes range queries of texts only in its query parser. Keys are hexadecimal and
        # need no quotes.
        return self._ranges.parse_query(f"order:{{{key} TO *}}")

    def has_sort_column(self, field: str) -> bool:
        """Return whether tantivy can sort by the column of a field."""
        return field in self._sorts

    def sort_column(self, field: str) -> str:
        """Return the column by which documents are sorted by a field.

        The columns of rarely sorted fields are within a JSON field, by which tantivy cannot sort.
        """
        return self._sorts.get(field) or f"sorts.{_column_of(field)}"

    def with_sort_code(self, field: str, code: str) -> tantivy.Query:
        """Return the query for documents whose value of a field has this code, see `sort_keys`."""
        return self._ranges.parse_query(f"{self.sort_column(field)}:[{code} TO {code}]")

    def beyond_sort_code(self, field: str, code: str, *, descending: bool) -> tantivy.Query:
        """Return the query for documents whose coded value of a field comes after another."""
        bounds = f"* TO {code}" if descending else f"{code} TO *"
        return self._ranges.parse_query(f"{self.sort_column(field)}:{{{bounds}}}")

    def number_between(
        self, field: str, low: float | None, high: float | None, *, strict: bool
    ) -> tantivy.Query:
        """Return the query for documents with a number in a field within bounds.

        `strict` excludes the bounds; `None` leaves a side open.
        """
        begin, end = ("*" if bound is None else number_code(bound) for bound in (low, high))
        opening, closing = "{}" if strict else "[]"
        column = f"numbers.{_column_of(field)}"
        return self._ranges.parse_query(f"{column}:{opening}{begin} TO {end}{closing}")

    def _index(self, path: str | None, *, keys_are_terms: bool) -> tantivy.Index:
        index = tantivy.Index(self.schema, path)
        raw = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.raw()).build()
        words = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
        # `GAP` is removed, but the words around it do not become neighbours.
        lines = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).filter(
            tantivy.Filter.custom_stopword([GAP])
        )
        # An analyser that produces no terms; this takes half the time of a regular expression that
        # matches nothing.
        nothing = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.raw()).filter(
            tantivy.Filter.remove_long(0)
        )
        index.register_tokenizer("words", words.build())
        index.register_tokenizer("lines", lines.build())
        # The order is a column only: as terms it would take the same space again. To parse a query
        # on it, it has to be a term nevertheless.
        index.register_tokenizer("column", raw if keys_are_terms else nothing.build())
        index.register_fast_field_tokenizer("column", raw)
        return index

    def make(self, analysed: AnalysedDocument) -> tantivy.Document:
        """Return a document as an entry of the index; about 0.5 ms for a table of 15 columns."""
        return self.entry(self.values(analysed))

    def entry(self, values: dict[str, Any]) -> tantivy.Document:
        """Return the entry with the values that `values` returned; about 0.03 ms."""
        return tantivy.Document.from_dict(values, self.schema)

    def values(self, analysed: AnalysedDocument) -> dict[str, Any]:
        """Return the values of the index entry for a document, by field of the index.

        msgpack can encode them, and they depend only on the document and the registry.
        """
        document = analysed.document
        filled = self._fields_with_value(document)
        is_terms: list[str] = []
        lines: list[str] = []
        numbers: dict[str, list[str]] = {}
        sorts: dict[str, str] = {}
        for name, values in filled.items():
            trait = self._vocabulary.trait(name)
            if trait.mixed or trait.nature in _NUMBERS:
                numbers[_column_of(name)] = _number_codes(trait, values)
            if name == "name":
                # `name` is searched and sorted by as `DISPLAY`, which has all given names.
                continue
            if trait.prose or trait.column:
                parts = [self._part(name, *values)]
            else:
                parts = [
                    (self._repeated_part if _is_repeated(value) else self._part)(name, value)
                    for value in values
                ]
            for terms, line, code in parts:
                is_terms += terms
                if line:
                    lines.append(line)
                if code and code < sorts.get(name, _AFTER_CODES):
                    sorts[name] = code
        sorts[DISPLAY] = sort_code(self._vocabulary.trait(DISPLAY), document) or ""
        entry_values: dict[str, Any] = {
            column: sorts.pop(name) for name, column in self._sorts.items() if name in sorts
        }
        entry_values |= {
            "urn": document.urn,
            "order": analysed.key,
            "document": _write(document, filled),
            "is": is_terms,
            "pieces": " ".join(lines),
            "words": f" {GAP} ".join(analysed.lines),
            "facet": analysed.facets,
        }
        above = folder_keys([folder for folder, _ in document.folders])
        if above:
            entry_values["folders"] = {f"{depth}": key for depth, key in enumerate(above)}
        joined = analysed.joined_names
        entry_values["marks"] = " ".join(
            [
                *map(_field_mark, filled),
                *(mark("refers", exact_urn(urn) or urn) for urn in analysed.references),
                _marks("name", joined),
                _marks("prefix", [name[:end] for name in joined for end in _prefixes(name)]),
                *(mark("written", name) for name in written_names(analysed.names)),
                *(mark("other", name) for name in other_names(document)),
                *(mark("folder", key) for key in above),
                *self._word_marks(analysed.lines),
            ]
        )
        entry_values["numbers"] = {name: codes for name, codes in numbers.items() if codes}
        entry_values["sorts"] = {_column_of(name): code for name, code in sorts.items()}
        return entry_values

    def as_stored(self, document: Document) -> Document:
        """Return a document in the form in which the index returns it.

        It lacks empty fields, and derived fields that are false.
        """
        return replace(
            document,
            fields={
                name: document.fields[name]
                for name in self._fields_with_value(document)
                if name in document.fields
            },
        )

    def code(self, field: str) -> str:
        """Return the code of a field in `pieces`, which is shorter than its name."""
        return self._codes.get(field) or field.replace(" ", _BLANK)

    def _fields_with_value(self, document: Document) -> dict[str, tuple[Scalar, ...]]:
        """Return the fields that have a value; derived fields only if true."""
        derived = self._vocabulary.derived
        filled = {
            name: values
            for name, values in document.fields.items()
            if values and (name not in derived or True in values) and name not in VIRTUAL
        }
        for name in VIRTUAL:
            if values := values_of(document, name):
                filled[name] = values
        return filled

    def _part(self, name: str, *values: Scalar) -> _Part:
        trait, code, head = self._vocabulary.trait(name), self.code(name), is_term(name, "")
        texts, cut = [*map(fold_value, values)], trait.cut
        own_forms: list[str] = []
        terms: list[str] = []
        for value, text in zip(values, texts, strict=True):
            value_forms = forms(trait, value, text)
            own_forms.append(value_forms[0])
            terms += [
                head + (form if len(form) <= cut else form[:cut] + MORE) for form in value_forms
            ]
            # The index has a field for the URN as written.
            if isinstance(value, str) and value.startswith("urn:li:") and not trait.prose:
                urn = exact_urn(value)
                if urn and (name != URN or urn != value):
                    terms.append(exact_term(name, urn))
        if trait.prose:
            line = " ".join(map(prose_line, repeat(code), own_forms, texts))
        else:
            line = piece_line(code, own_forms) if trait.nature == "text" else ""
        return terms, line, least_code(trait, values, texts)

    def _schema(self) -> tantivy.Schema:
        builder = tantivy.SchemaBuilder()
        for name in ("urn", "is"):
            builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
        builder.add_text_field("order", fast=True, tokenizer_name="column", index_option="basic")
        builder.add_bytes_field("document", stored=True)
        builder.add_text_field("marks", tokenizer_name="words", index_option="basic")
        builder.add_text_field("pieces", tokenizer_name="words", index_option="position")
        builder.add_text_field("words", tokenizer_name="lines", index_option="position")
        for name in ("facet", "folders", "numbers", "sorts"):
            builder.add_json_field(name, fast=True, tokenizer_name="column", index_option="basic")
        for column in self._sorts.values():
            builder.add_text_field(column, fast=True, tokenizer_name="column", index_option="basic")
        return builder.build()

    def word(self, rank: int, word: str) -> str:
        """Return the term of `marks` for a word that occurs in a rank and in no earlier one.

        There are none for the common rank: all words are in the field `words`.
        """
        return f"w{rank}{CUT}{word}"

    def start(self, rank: int, start: str) -> str:
        """Return the term of `marks` for a prefix, up to `MAX_START` characters, of a word that
        occurs in a rank and in no earlier one; for the common rank, of any word."""
        return f"s{rank}{CUT}{start}"

    def stem_mark(self, stem: str, rank: int | None = None) -> str:
        """Return the term of `marks` for the stem of a word of any rank; with `rank`, which is
        above the common one, for a stem that occurs in that rank and in no earlier one."""
        return f"m{CUT}{stem}" if rank is None else f"m{rank}{CUT}{stem}"

    def _word_marks(self, lines: tuple[str, ...]) -> Iterator[str]:
        """Yield the terms of `marks` for the words of lines, one line for each rank. Each text
        holds several terms, separated by spaces."""
        # `GAP` is not a word.
        earlier_words, begun = {GAP}, set[str]()
        for rank, line in enumerate(lines):
            new = {*line.split()}
            new -= earlier_words
            if not new:
                continue
            starts = _starts(new)
            if rank != self.common:
                yield _marks(f"w{rank}", new)
                yield _marks(f"s{rank}", starts - begun if rank == self.weak else starts)
            if rank < self.common:
                yield _marks(f"m{rank}", {*map(stem, new)} - {*map(stem, earlier_words)})
            earlier_words |= new
            begun |= starts
        yield _marks(f"s{self.common}", begun)
        yield _marks("m", {*map(stem, earlier_words - {GAP})})


def _starts(words: Iterable[str]) -> set[str]:
    """Return the prefixes of words, up to `MAX_START` characters."""
    starts, shorter = set[str](), words
    for length in range(MAX_START, 0, -1):
        shorter = {start[:length] for start in shorter}
        starts |= shorter
    return starts


def _is_repeated(value: Scalar) -> bool:
    """Return whether a value may occur in many documents. Numbers are left out: 0.0 and -0.0 are
    equal, but not as texts."""
    return isinstance(value, bool) or (isinstance(value, str) and len(value) <= _MOST_REPEATED)


def _number_codes(trait: Trait, values: Iterable[Scalar]) -> list[str]:
    if trait.mixed:
        numbers = [
            as_number(form[: trait.cut])
            for value in values
            for form in forms(trait, value, fold_value(value))
        ]
    else:
        numbers = [value if isinstance(value, float) else None for value in values]
    return [number_code(number) for number in numbers if number is not None]


# The fields of the registry, and structured properties.
@lru_cache(maxsize=4096)
def _column_of(field: str) -> str:
    """Return a field as a key of a JSON field.

    It is in hexadecimal, because a dot would mean a nested key.
    """
    return field.encode().hex()


def mark(kind: Kind, text: str) -> str:
    """Return the term of `marks` for a text of a kind."""
    return f"{kind}{CUT}{text.translate(_SPACES)}"


@lru_cache(maxsize=4096)
def _field_mark(field: str) -> str:
    return mark("field", field)


def written_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return names as they are written, and the last parts of dotted names."""
    texts = (text for name in names for text in (name, name.rpartition(".")[2]))
    return tuple(dict.fromkeys(text[:NAME_CUT] for text in texts if text))


def _marks(kind: str, texts: Collection[str]) -> str:
    """Return the terms of `marks` for texts without spaces, separated by spaces."""
    # Most of the terms of a document are made here.
    head = f"{kind}{CUT}"
    return head + f" {head}".join(texts) if texts else ""


def is_term(field: str, form: str) -> str:
    """Return the term of `is` for a field and a form."""
    return f"{field}{CUT}{form}"


def exact_term(field: str, urn: str) -> str:
    """Return the term of `is` for a field and a whole URN."""
    return f"{field}{_EXACT}{urn}"


def read_document(searcher: Searcher, address: tantivy.DocAddress) -> Document:
    """Return the document stored at an address; about 0.05 ms."""
    return _document(searcher.doc(address))


def _document(entry: tantivy.Document) -> Document:
    stored = entry.get_first("document")
    if not isinstance(stored, bytes):
        raise EngineFailed("an entry contains no document")
    try:
        urn, entity_type, name, removed, usage, fields, folders = _decoder.decode(stored)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise EngineFailed(f"the document of an entry cannot be read: {error}") from error
    return Document(urn, entity_type, name, removed, fields, usage, folders)


def _write(document: Document, names: Iterable[str]) -> bytes:
    fields = {name: document.fields[name] for name in names if name in document.fields}
    return _encoder.encode(
        (
            document.urn,
            document.entity_type,
            document.name,
            document.removed,
            document.usage,
            fields,
            document.folders,
        )
    )


def _prefixes(name: str) -> range:
    """Return the lengths of the prefixes of a name that the index has."""
    return range(1, min(len(name), MAX_NAME_START) + 1)
