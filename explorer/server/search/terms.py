"""What the index on disk keeps of a document, field by field.

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
number*    the values of the fields compared as numbers, as columns
sort*      for each field the value to sort by, in order as texts are, as columns
own        the same for structured properties, as columns within a JSON field
under      every folder the document is found below, from the top, by their ids
folders    the same as columns, the folders at each depth
"""

import zlib
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeVar

import msgspec
import tantivy

from explorer.metadata.structured_properties import PREFIX
from explorer.server.cache import cached_short
from explorer.server.search.analysed import Analysed, values_of
from explorer.server.search.document import Document, Scalar
from explorer.server.search.engine import EngineFailed, Searcher
from explorer.server.search.fields import VIRTUAL, Vocabulary
from explorer.server.search.folders import folder_keys
from explorer.server.search.forms import forms
from explorer.server.search.parts import piece_line
from explorer.server.search.sorting import sort_code
from explorer.server.search.text import CUT, GAP, fold

__all__ = [
    "FORMAT",
    "MAX_NAME_START",
    "MAX_START",
    "Terms",
    "is_term",
    "read_analysed",
    "read_document",
    "read_lines",
]

# Raise it when what is kept changes: an index of another format is made anew.
FORMAT = 9
MAX_START = 3
MAX_NAME_START = 16

_NEVER = "\x00"

_T = TypeVar("_T")

_Stored = tuple[
    str, str, str, bool, float, dict[str, tuple[Scalar, ...]], tuple[tuple[str, str], ...]
]
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_Stored)
_analysis_decoder = msgspec.msgpack.Decoder(
    tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
)


class Terms:
    """The schema for a vocabulary, and documents in its form."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._numbers = {name: f"number{at}" for at, name in enumerate(vocabulary.numbers)}
        self._codes = {name: f"{at:x}" for at, name in enumerate(sorted(vocabulary.traits))}
        self._sorts = {name: f"sort{at}" for at, name in enumerate(sorted(vocabulary.traits))}
        self.strong = tuple(f"strong{at}" for at in range(len(vocabulary.strong)))
        self.schema = self._schema()
        # An index for nothing but to read ranges of keys with.
        self._ranges = self._index(None, keys_are_terms=True)
        # Names of columns, tags, owners: the same in many documents.
        self._kept = cached_short(32 << 20)(self._made)

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

    def sort_column(self, field: str) -> str:
        """The column of a field by which documents are sorted; that of a structured property is
        within a JSON field, and tantivy sorts by none of those."""
        return self._sorts.get(field) or f"own.{_column_of(field)}"

    def sorted_as(self, field: str, code: str) -> tantivy.Query:
        """The documents whose value of a field has this code, see `sorting`."""
        return self._ranges.parse_query(f"{self.sort_column(field)}:[{code} TO {code}]")

    def sorted_beyond(self, field: str, code: str, *, descending: bool) -> tantivy.Query:
        """The documents whose coded value of a field comes after another."""
        bounds = f"* TO {code}" if descending else f"{code} TO *"
        return self._ranges.parse_query(f"{self.sort_column(field)}:{{{bounds}}}")

    def _index(self, path: str | None, *, keys_are_terms: bool) -> tantivy.Index:
        index = tantivy.Index(self.schema, path)
        raw = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.raw()).build()
        words = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
        # The gap goes, the positions around it stay apart.
        lines = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).filter(
            tantivy.Filter.custom_stopword([GAP])
        )
        cut = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.regex(f"[^{CUT}]+"))
        nothing = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.regex(_NEVER))
        index.register_tokenizer("words", words.build())
        index.register_tokenizer("lines", lines.build())
        index.register_tokenizer("pieces", cut.build())
        # The order is a column: as terms it would be as large again. To be read in a query it has
        # to be a term all the same.
        index.register_tokenizer("column", raw if keys_are_terms else nothing.build())
        index.register_fast_field_tokenizer("column", raw)
        return index

    def number_column(self, field: str) -> str:
        """The column of a field that is compared as numbers."""
        return self._numbers[field]

    def make(self, analysed: Analysed) -> tantivy.Document:
        """A document in the index's form; about 0.1 ms."""
        document = analysed.document
        names = self._kept_names(document)
        found, lines = self._forms(document, names)
        kept: dict[str, Any] = {
            "urn": document.urn,
            "order": analysed.key,
            "shuffle": zlib.crc32(document.urn.encode()),
            "document": _write(document, names),
            "analysis": _encoder.encode(
                (analysed.lines, analysed.joined_names, analysed.references)
            ),
            "is": found,
            "has": " ".join(names),
            "refers": [fold(urn) for urn in analysed.references],
            "pieces": CUT.join(lines),
            "called": list(analysed.joined_names),
            "calling": " ".join(_starts(name, MAX_NAME_START) for name in analysed.joined_names),
            "facet": _facets(analysed),
        }
        if above := folder_keys([one for one, _ in document.folders]):
            kept["under"] = above
            kept["folders"] = {f"{depth}": key for depth, key in enumerate(above)}
        self._add_words(kept, analysed.lines)
        for name in names:
            if column := self._numbers.get(name):
                values = values_of(document, name)
                kept[column] = [value for value in values if isinstance(value, float)]
        for name in ({*names, *VIRTUAL} - {"name"}) & self._sorts.keys():
            if code := sort_code(self._vocabulary.trait(name), document):
                kept[self._sorts[name]] = code
        own = {
            _column_of(name): sort_code(self._vocabulary.trait(name), document)
            for name in names
            if name.startswith(PREFIX)
        }
        if own:
            kept["own"] = own
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
        return self._codes.get(field, field)

    def _kept_names(self, document: Document) -> list[str]:
        """The fields that have a value; a derived one only if it is true."""
        derived = self._vocabulary.derived
        names = [
            name
            for name, values in document.fields.items()
            if values and (name not in derived or True in values) and name not in VIRTUAL
        ]
        return [*names, *(name for name in VIRTUAL if values_of(document, name))]

    def _forms(self, document: Document, names: list[str]) -> tuple[list[str], list[str]]:
        """The terms of `is`, and the lines of `pieces`."""
        found: list[str] = []
        lines: list[str] = []
        for name in names:
            if name == "name":
                # Asked for through all that the entity is called.
                continue
            trait = self._vocabulary.trait(name)
            for value in values_of(document, name):
                if isinstance(value, str) and not trait.prose:
                    terms, line = self._kept(value, name)
                else:
                    terms, line = self._made(value, name)
                found += terms
                if line:
                    lines.append(line)
        return found, lines

    def _made(self, value: Scalar, name: str) -> tuple[list[str], str]:
        trait = self._vocabulary.trait(name)
        found = forms(trait, value)
        line = ""
        if trait.nature == "text":
            line = piece_line(self.code(name), found[0], prose=trait.prose)
        return [f"{name}{CUT}{form[: trait.cut]}" for form in found], line

    def _schema(self) -> tantivy.Schema:
        builder = tantivy.SchemaBuilder()
        for name in ("urn", "is", "refers", "called", "under"):
            builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
        builder.add_text_field("order", fast=True, tokenizer_name="column", index_option="basic")
        builder.add_unsigned_field("shuffle", fast=True)
        builder.add_bytes_field("document", stored=True)
        builder.add_bytes_field("analysis", stored=True)
        for name in ("has", "calling"):
            builder.add_text_field(name, tokenizer_name="words", index_option="basic")
        builder.add_text_field("pieces", tokenizer_name="pieces", index_option="position")
        for name in ("name", *self.strong, "weak"):
            builder.add_text_field(f"{name}.words", tokenizer_name="words", index_option="basic")
            builder.add_text_field(f"{name}.starts", tokenizer_name="words", index_option="basic")
        builder.add_text_field("any.words", tokenizer_name="lines", index_option="position")
        builder.add_text_field("any.starts", tokenizer_name="words", index_option="basic")
        builder.add_json_field("facet", fast=True, tokenizer_name="raw", index_option="basic")
        builder.add_json_field("folders", fast=True, tokenizer_name="raw", index_option="basic")
        builder.add_json_field("own", fast=True, tokenizer_name="raw", index_option="basic")
        for column in self._sorts.values():
            builder.add_text_field(column, fast=True, tokenizer_name="column", index_option="basic")
        for column in self._numbers.values():
            builder.add_float_field(column, fast=True)
        return builder.build()

    def _add_words(self, kept: dict[str, Any], lines: tuple[str, ...]) -> None:
        kept["any.words"] = f" {GAP} ".join(lines)
        seen: set[str] = set()
        weak = len(lines) - 1
        for at, name in enumerate(("name", *self.strong, None, "weak")):
            new = set(lines[at].split()) - seen
            new.discard(GAP)
            if at == weak and new:
                kept["weak.words"] = " ".join(new)
                kept["weak.starts"] = " ".join(_starts_of(new) - _starts_of(seen))
            elif name and new:
                kept[f"{name}.words"] = " ".join(new)
                kept[f"{name}.starts"] = " ".join(_starts_of(new))
            seen |= new
        kept["any.starts"] = " ".join(_starts_of(seen))


def _column_of(field: str) -> str:
    """A field as a key of a JSON field: in hexadecimal, for a dot in it would mean a step."""
    return field.encode().hex()


def is_term(field: str, form: str) -> str:
    """The term of `is` for a field and a form."""
    return f"{field}{CUT}{form}"


def read_document(searcher: Searcher, address: tantivy.DocAddress) -> Document:
    """The document kept at an address; about 0.05 ms."""
    return _document(searcher.doc(address))


def read_analysed(
    vocabulary: Vocabulary, searcher: Searcher, address: tantivy.DocAddress
) -> Analysed:
    """The document kept at an address with what is asked of it; about 0.06 ms."""
    entry = searcher.doc(address)
    lines, joined_names, references = _decoded(_analysis_decoder, entry, "analysis")
    return Analysed(_document(entry), lines, joined_names, references, vocabulary)


def read_lines(searcher: Searcher, address: tantivy.DocAddress) -> tuple[str, ...]:
    """The lines of words of the document kept at an address; about 0.03 ms."""
    return _decoded(_analysis_decoder, searcher.doc(address), "analysis")[0]


def _document(entry: tantivy.Document) -> Document:
    urn, entity_type, name, removed, usage, fields, folders = _decoded(_decoder, entry, "document")
    return Document(urn, entity_type, name, removed, fields, usage, folders)


def _decoded(decoder: msgspec.msgpack.Decoder[_T], entry: tantivy.Document, name: str) -> _T:
    stored = entry.get_first(name)
    if not isinstance(stored, bytes):
        raise EngineFailed(f"an entry has no {name}")
    try:
        return decoder.decode(stored)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise EngineFailed(f"the {name} of an entry cannot be read: {error}") from error


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


def _facets(analysed: Analysed) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in analysed.facets:
        found.setdefault(name, []).append(value)
    return found


def _starts_of(words: Iterable[str]) -> set[str]:
    return set().union(*map(_word_starts, words))


@cached_short(32 << 20, longest=64)
def _word_starts(word: str) -> tuple[str, ...]:
    return tuple(word[:end] for end in range(1, min(len(word), MAX_START) + 1))


def _starts(word: str, longest: int) -> str:
    return " ".join(word[:end] for end in range(1, min(len(word), longest) + 1))
