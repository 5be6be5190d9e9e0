"""What an index keeps of a document, field by field.

urn        the URN as written, to replace and to find a document by
order      its place among documents that fit equally well, in hexadecimal, as a column
shuffle    a number that has nothing to do with the order, as a column: a sort by it is a sample
document   the document itself
is         `field<US>form` for every form of every value, long texts cut
has        the names of the fields that have a value
refers     the URNs the document is found by when a URN is typed
pieces     `field<GS>piece` with positions, each value between two marks: parts of texts
called     the names as one word each; `calling` their beginnings
name, strong*, any, weak
           `.words`, and `.starts` with their beginnings. `any` has all words with positions,
           `strong*` those of the heavier weights that no heavier one has, `weak` those that
           only fields below the common weight have
facet      the values of the facet fields, as columns
numbers    the values of the fields compared as numbers, as columns within a JSON field, coded as in
           `sorts`
used       how much the entity is used, as a column
sort*      for each field that is often sorted by the value to do so, in order as texts are, as
           columns
sorts      the same for the other fields, as columns within a JSON field
under      every folder the document is found below, from the top, by their ids
folders    the same as columns, the folders at each depth

A part of a text is found as neighbouring pieces: `the orders_daily` is kept as `<BEGIN>the<SEAM> `,
`orders<SEAM>_`, `daily<END>`, the outer ones cut short, whatever is in between. The pieces are few
where whole values are not, which makes this many times faster than looking through values.
"""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Any, Literal

import msgspec
import tantivy

from explorer.server.search.analysis import (
    CUT,
    GAP,
    SEAM,
    AnalysedDocument,
    as_number,
    fold,
    forms,
    pieces,
    values_of,
)
from explorer.server.search.document import Document, Scalar, folder_keys
from explorer.server.search.engine import EngineFailed, Searcher, is_too_wide
from explorer.server.search.fields import DISPLAY, URN, USE, VIRTUAL, Trait, Vocabulary
from explorer.server.search.query import How
from explorer.server.search.sort_keys import number_code, sort_code

__all__ = [
    "FORMAT",
    "MAX_NAME_START",
    "MAX_START",
    "Parts",
    "Terms",
    "all_but",
    "at_least",
    "both",
    "either",
    "is_short",
    "is_term",
    "like",
    "literal",
    "read_document",
    "within",
]

_MUST, _SHOULD, _NOT = tantivy.Occur.Must, tantivy.Occur.Should, tantivy.Occur.MustNot


def both(queries: Sequence[tantivy.Query]) -> tantivy.Query:
    """What all of the queries find; of none, everything."""
    if len(queries) == 1:
        return queries[0]
    if not queries:
        return tantivy.Query.all_query()
    return tantivy.Query.boolean_query([(_MUST, query) for query in queries])


def either(queries: Sequence[tantivy.Query]) -> tantivy.Query:
    """What any of the queries finds; of none, nothing."""
    if len(queries) == 1:
        return queries[0]
    if not queries:
        return tantivy.Query.empty_query()
    return tantivy.Query.boolean_query([(_SHOULD, query) for query in queries])


def at_least(queries: Sequence[tantivy.Query], least: int) -> tantivy.Query:
    """What so many of the queries find."""
    if least == len(queries):
        return both(queries)
    if least == 1:
        return either(queries)
    return tantivy.Query.boolean_query(
        [(_SHOULD, query) for query in queries], minimum_number_should_match=least
    )


def all_but(query: tantivy.Query, others: Sequence[tantivy.Query]) -> tantivy.Query:
    """What a query finds and none of the others does."""
    if not others:
        return query
    clauses = [(_NOT, other) for other in others]
    return tantivy.Query.boolean_query([(_MUST, query), *clauses])


# An expression has at most 1,000 states in tantivy, where a byte is up to three of them.
_MAX_LITERAL_BYTES = 250

_SIGNS = frozenset(r"\.+*?()|[]{}^$#&-~/")
_LAST = 0x10FFFF
_GROUP = 16

_Branch = tuple[int, str]


def literal(text: str) -> str:
    """The expression that stands for a text."""
    return "".join(f"\\{char}" if char in _SIGNS else char for char in text)


def like(pattern: str) -> str:
    """The expression that stands for a word with wildcards, `*` and `?`."""
    wild = {"*": ".*", "?": "."}
    return "".join(wild.get(char) or literal(char) for char in pattern)


def is_short(text: str) -> bool:
    """Whether an expression can stand for a text."""
    return len(text.encode()) <= _MAX_LITERAL_BYTES


def within(low: str | None, high: str | None, *, longest: int, strict: bool) -> list[str]:
    """Expressions that together stand for the texts between two bounds.

    Texts are put in order by code points, as far as `longest` characters; the bounds are no longer
    than that, and left out if `strict`. None leaves a side open.
    """
    if low is None:
        return [".*"] if high is None else _gathered(high, _below(high, 0, longest, strict=strict))
    if high is None:
        return _gathered(low, _above(low, 0, longest, strict=strict))
    if low > high or (strict and low == high):
        return []
    fork = _fork(low, high)
    if fork == len(high):
        return [literal(high) + (".*" if len(high) == longest else "")]
    if fork == len(low):
        below = _below(high, fork, longest, strict=strict)
        return _gathered(high, (one for one in below if not (strict and one == (fork, ""))))
    between = _chars(ord(low[fork]) + 1, ord(high[fork]) - 1)
    found = [f"{literal(low[:fork])}{between}.*"] if between else []
    found += _gathered(low, _above(low, fork + 1, longest, strict=strict))
    return found + _gathered(high, _below(high, fork + 1, longest, strict=strict))


def _fork(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    alike = 0
    while alike < min(len(one), len(other)) and one[alike] == other[alike]:
        alike += 1
    return alike


def _above(low: str, begin: int, longest: int, *, strict: bool) -> Iterator[_Branch]:
    """What follows so many characters of the lower bound in the texts above it."""
    for at in range(begin, len(low)):
        if above := _chars(ord(low[at]) + 1, _LAST):
            yield at, f"{above}.*"
    if not strict:
        yield len(low), ".*"
    elif len(low) < longest:
        yield len(low), ".+"


def _below(high: str, begin: int, longest: int, *, strict: bool) -> Iterator[_Branch]:
    """What follows so many characters of the upper bound in the texts below it."""
    for at in range(begin, len(high)):
        yield at, ""
        if below := _chars(0, ord(high[at]) - 1):
            yield at, f"{below}.*"
    if not strict:
        yield len(high), ".*" if len(high) == longest else ""


def _gathered(stem: str, branches: Iterator[_Branch]) -> list[str]:
    """The branches off a stem as few expressions, each small enough."""
    groups: dict[int, list[str]] = {}
    for at, rest in branches:
        begin = at - at % _GROUP
        groups.setdefault(begin, []).append(literal(stem[begin:at]) + rest)
    return [f"{literal(stem[:begin])}(?:{'|'.join(group)})" for begin, group in groups.items()]


def _chars(first: int, last: int) -> str:
    """The class of the characters between two code points; surrogates are none."""
    if 0xD800 <= first <= 0xDFFF:
        first = 0xE000
    if 0xD800 <= last <= 0xDFFF:
        last = 0xD7FF
    return f"[\\x{{{first:x}}}-\\x{{{last:x}}}]" if first <= last else ""


_BEGIN, _END = "\x02", "\x03"
_CODE_END = "\x1d"
# Stands for a space in a piece: pieces are cut at spaces, the fastest way of all that tantivy has.
_BLANK = "\x1e"
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_OTHERS = f"[^a-z0-9{_BEGIN}{_END}]"

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
    """The terms of one value of a field, in one text with spaces between them."""
    prefix = code + _CODE_END
    if prose:
        # Words with one space between: no need to look for anything else, and far faster so.
        line = body.replace(" ", f"{SEAM}{_BLANK} {prefix}")
    else:
        line = f" {prefix}".join(pieces(body.replace(" ", _BLANK)))
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
    inner = [f"{word}{SEAM}{_BLANK}" for word in words[:-1]]
    last = words[-1]
    found: list[list[str]] = []
    for begin, end in product(("", _BEGIN), (f"{SEAM}{_BLANK}", _END)):
        pieces_there = [*inner, last + end]
        pieces_there[0] = begin + pieces_there[0]
        found.append(pieces_there)
    return found


def _places(how: How, text: str) -> list[_Place]:
    found = [*pieces(text.replace(" ", _BLANK))] or [""]
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


# Raise it when what is kept changes: an index of another format is made anew.
FORMAT = 13
MAX_START = 3
_STARTS = range(1, MAX_START + 1)
_NUMBERS = frozenset({"number", "date"})
# So many values of fields are kept with what was made of them, none longer.
_MOST_KEPT = 32_768
_LONGEST_KEPT = 128
MAX_NAME_START = 16

# What front ends offer to sort by, and scrolls go on by. An empty column costs about as much time
# with every commit as a full one.
_SORTED_OFTEN = (URN, DISPLAY, USE, "lastModifiedAt")

_Stored = tuple[
    str, str, str, bool, float, dict[str, tuple[Scalar, ...]], tuple[tuple[str, str], ...]
]
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Stored)


class Terms:
    """The schema for a vocabulary, and documents in its form."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._codes = {name: f"{at:x}" for at, name in enumerate(sorted(vocabulary.traits))}
        self._sorts = {name: f"sort{at}" for at, name in enumerate(_SORTED_OFTEN)}
        self.strong = tuple(f"strong{at}" for at in range(len(vocabulary.strong)))
        self.schema = self._schema()
        # An index for nothing but to read ranges of keys with.
        self._ranges = self._index(None, keys_are_terms=True)
        # Names of columns, tags, owners: the same in many documents.
        self._kept = lru_cache(maxsize=_MOST_KEPT)(self._made)

    def open(self, path: str | None) -> tantivy.Index:
        """The index at a path, made if there is none; in memory without a path."""
        index = self._index(path, keys_are_terms=False)
        index.config_reader("manual")
        return index

    def span(self, after: str | None, to: str | None, *, to_is_in: bool) -> tantivy.Query:
        """The documents whose keys of the order are between two, the first left out."""
        # Only the parser makes ranges of texts. Keys are hexadecimal and need no quotes.
        end = "]" if to_is_in else "}"
        return self._ranges.parse_query(f"order:{{{after or '*'} TO {to or '*'}{end}")

    def has_sort_column(self, field: str) -> bool:
        """Whether tantivy can sort by a field; the others are sorted by their values."""
        return field in self._sorts

    def sort_column(self, field: str) -> str:
        """The column of a field by which documents are sorted; that of a field that is rarely
        sorted by is within a JSON field, and tantivy sorts by none of those."""
        return self._sorts.get(field) or f"sorts.{_column_of(field)}"

    def sorted_as(self, field: str, code: str) -> tantivy.Query:
        """The documents whose value of a field has this code, see `sort_keys`."""
        return self._ranges.parse_query(f"{self.sort_column(field)}:[{code} TO {code}]")

    def sorted_beyond(self, field: str, code: str, *, descending: bool) -> tantivy.Query:
        """The documents whose coded value of a field comes after another."""
        bounds = f"* TO {code}" if descending else f"{code} TO *"
        return self._ranges.parse_query(f"{self.sort_column(field)}:{{{bounds}}}")

    def number_between(
        self, field: str, low: float | None, high: float | None, *, strict: bool
    ) -> tantivy.Query:
        """The documents with a number in a field within bounds, which are left out if `strict`."""
        begin, end = ("*" if one is None else number_code(one) for one in (low, high))
        left, right = "{}" if strict else "[]"
        column = f"numbers.{_column_of(field)}"
        return self._ranges.parse_query(f"{column}:{left}{begin} TO {end}{right}")

    def _index(self, path: str | None, *, keys_are_terms: bool) -> tantivy.Index:
        index = tantivy.Index(self.schema, path)
        raw = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.raw()).build()
        words = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
        # The gap goes, the positions around it stay apart.
        lines = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).filter(
            tantivy.Filter.custom_stopword([GAP])
        )
        # Half the time of an expression that fits nothing.
        nothing = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.raw()).filter(
            tantivy.Filter.remove_long(0)
        )
        index.register_tokenizer("words", words.build())
        index.register_tokenizer("lines", lines.build())
        # The order is a column: as terms it would be as large again. To be read in a query it has
        # to be a term all the same.
        index.register_tokenizer("column", raw if keys_are_terms else nothing.build())
        index.register_fast_field_tokenizer("column", raw)
        return index

    def make(self, analysed: AnalysedDocument) -> tantivy.Document:
        """A document in the index's form; about 0.1 ms."""
        document = analysed.document
        values = {**document.fields, **{name: values_of(document, name) for name in VIRTUAL}}
        names = self._kept_names(document)
        found: list[str] = []
        lines: list[str] = []
        numbers: dict[str, list[str]] = {}
        sorts: dict[str, str] = {}
        columns: dict[str, str] = {}
        for name in dict.fromkeys((*names, *VIRTUAL)):
            trait = self._vocabulary.trait(name)
            if trait.mixed or trait.nature in _NUMBERS:
                numbers[_column_of(name)] = _number_codes(trait, values[name])
            if name == "name":
                # Asked for and sorted by through all that the entity is called.
                continue
            if code := sort_code(trait, document):
                if column := self._sorts.get(name):
                    columns[column] = code
                else:
                    sorts[_column_of(name)] = code
            for value in values[name]:
                # Prose seldom comes twice.
                is_kept = isinstance(value, str) and not trait.prose and len(value) <= _LONGEST_KEPT
                terms, line = (self._kept if is_kept else self._made)(value, name)
                found += terms
                if line:
                    lines.append(line)
        kept: dict[str, Any] = {
            "urn": document.urn,
            "order": analysed.key,
            "shuffle": zlib.crc32(document.urn.encode()),
            "document": _write(document, names),
            "is": found,
            "has": " ".join(names),
            "refers": [fold(urn) for urn in analysed.references],
            "pieces": " ".join(lines),
            "called": list(analysed.joined_names),
            "calling": " ".join(_starts(name, MAX_NAME_START) for name in analysed.joined_names),
            "facet": _facets(analysed),
        }
        if above := folder_keys([one for one, _ in document.folders]):
            kept["under"] = above
            kept["folders"] = {f"{depth}": key for depth, key in enumerate(above)}
        self._add_words(kept, analysed.lines)
        kept |= columns
        kept["used"] = document.usage
        kept["numbers"] = {name: codes for name, codes in numbers.items() if codes}
        kept["sorts"] = sorts
        return tantivy.Document.from_dict(kept, self.schema)

    def kept(self, document: Document) -> Document:
        """A document as it comes back: without the fields that say nothing."""
        return replace(
            document,
            fields={
                name: document.fields[name]
                for name in self._kept_names(document)
                if name in document.fields
            },
        )

    def code(self, field: str) -> str:
        """What stands for a field in `pieces`; shorter than its name."""
        return self._codes.get(field) or field.replace(" ", _BLANK)

    def _kept_names(self, document: Document) -> list[str]:
        """The fields that have a value; a derived one only if it is true."""
        derived = self._vocabulary.derived
        names = [
            name
            for name, values in document.fields.items()
            if values and (name not in derived or True in values) and name not in VIRTUAL
        ]
        return [*names, *(name for name in VIRTUAL if values_of(document, name))]

    def _made(self, value: Scalar, name: str) -> tuple[list[str], str]:
        trait = self._vocabulary.trait(name)
        found, cut = forms(trait, value), trait.cut
        line = ""
        if trait.nature == "text":
            line = piece_line(self.code(name), found[0], prose=trait.prose)
        return [f"{name}{CUT}{form[:cut]}" for form in found], line

    def _schema(self) -> tantivy.Schema:
        builder = tantivy.SchemaBuilder()
        for name in ("urn", "is", "refers", "called", "under"):
            builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
        builder.add_text_field("order", fast=True, tokenizer_name="column", index_option="basic")
        builder.add_unsigned_field("shuffle", fast=True)
        builder.add_bytes_field("document", stored=True)
        for name in ("has", "calling"):
            builder.add_text_field(name, tokenizer_name="words", index_option="basic")
        builder.add_text_field("pieces", tokenizer_name="words", index_option="position")
        for name in ("name", *self.strong, "weak"):
            builder.add_text_field(f"{name}.words", tokenizer_name="words", index_option="basic")
            builder.add_text_field(f"{name}.starts", tokenizer_name="words", index_option="basic")
        builder.add_text_field("any.words", tokenizer_name="lines", index_option="position")
        builder.add_text_field("any.starts", tokenizer_name="words", index_option="basic")
        for name in ("facet", "folders", "numbers", "sorts"):
            builder.add_json_field(name, fast=True, tokenizer_name="column", index_option="basic")
        for column in self._sorts.values():
            builder.add_text_field(column, fast=True, tokenizer_name="column", index_option="basic")
        builder.add_float_field("used", fast=True)
        return builder.build()

    def _add_words(self, kept: dict[str, Any], lines: tuple[str, ...]) -> None:
        kept["any.words"] = f" {GAP} ".join(lines)
        # A gap is no word.
        seen, begun = {GAP}, set[str]()
        for name, line in zip(("name", *self.strong, None, "weak"), lines, strict=True):
            new = {*line.split()} - seen
            if not new:
                continue
            starts = {word[:end] for word in new for end in _STARTS}
            if name:
                kept[f"{name}.words"] = " ".join(new)
                kept[f"{name}.starts"] = " ".join(starts - begun if name == "weak" else starts)
            seen |= new
            begun |= starts
        kept["any.starts"] = " ".join(begun)


def _number_codes(trait: Trait, values: Iterable[Scalar]) -> list[str]:
    if trait.mixed:
        numbers = [as_number(one[: trait.cut]) for v in values for one in forms(trait, v)]
    else:
        numbers = [value if isinstance(value, float) else None for value in values]
    return [number_code(number) for number in numbers if number is not None]


@lru_cache(maxsize=1_024)
def _column_of(field: str) -> str:
    """A field as a key of a JSON field: in hexadecimal, for a dot in it would mean a step."""
    return field.encode().hex()


def is_term(field: str, form: str) -> str:
    """The term of `is` for a field and a form."""
    return f"{field}{CUT}{form}"


def read_document(searcher: Searcher, address: tantivy.DocAddress) -> Document:
    """The document kept at an address; about 0.05 ms."""
    return _document(searcher.doc(address))


def _document(entry: tantivy.Document) -> Document:
    stored = entry.get_first("document")
    if not isinstance(stored, bytes):
        raise EngineFailed("an entry has no document")
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


def _facets(analysed: AnalysedDocument) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in analysed.facets:
        found.setdefault(name, []).append(value)
    return found


def _starts(word: str, longest: int) -> str:
    return " ".join(word[:end] for end in range(1, min(len(word), longest) + 1))
