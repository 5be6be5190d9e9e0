"""Search for columns: finds and ranks the columns that have the words of a search, within the
tables that the search finds.

Columns are scored like entities in `loosened`, by the words of their names, texts, tags and terms,
and then by those of their table.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, Final

import orjson

from explorer.metadata.fieldpath import FieldPath, earlier_paths
from explorer.metadata.registry import SearchField, reach
from explorer.metadata.urn import Urn
from explorer.server.search.analysis import (
    analyse,
    join_names,
    names_of,
    readable,
    stem,
    values_of,
    word_line,
)
from explorer.server.search.document import Document
from explorer.server.search.evidence import leaf_nodes, meets
from explorer.server.search.fields import Vocabulary
from explorer.server.search.loosened import (
    FULL_PAGE,
    LEAST,
    MOST_LOOSENED,
    NAME_WEIGHT,
    WeighedWord,
    name_worth,
    named_by,
)
from explorer.server.search.query import (
    EVERYTHING,
    And,
    FoundPage,
    Node,
    OptionalWords,
    Or,
    Phrase,
    PointedAt,
    SearchHit,
    Value,
    ValuePattern,
    Wildcard,
    Word,
)
from explorer.server.store import StoredAspect

MOST_TABLES: Final = 200
"""The number of tables found whose columns are examined."""
SCHEMA_ASPECTS: Final = ("schemaMetadata", "editableSchemaMetadata")
"""The aspects that columns are read from."""

_PATHS: Final = "fieldPaths"
_ENTRIES: Final = ("fields.*.", "editableSchemaFieldInfo.*.")
# The part of its worth that a word has if it only begins a longer word, and if it is only in the
# name or in other texts of the table.
_BEGINNING: Final = 0.75
_TABLE_NAME: Final = 0.75
_TABLE: Final = 0.5
_MOST_VALUES: Final = 3


@dataclass(frozen=True, slots=True)
class SearchedTables:
    """The first tables that a search finds, `total` in all, and the `node` that they match.

    `words` are the words that count, and `typed` all words typed. `is_strict` says whether a column
    needs every word, which is false for a text with operators; `is_question` whether columns with
    most of the words are wanted too. `corrected` is the corrected text, if that was searched for
    instead.
    """

    documents: tuple[Document, ...]
    total: int
    node: Node
    words: tuple[WeighedWord, ...]
    typed: tuple[str, ...]
    is_strict: bool
    is_question: bool
    corrected: str | None = None


@dataclass(frozen=True, slots=True)
class FoundColumn:
    """A column that was found: the URN of its table, its field path, its type in the source, and
    its description, which may be `edited`."""

    table: str
    path: str
    native_type: str
    description: str
    edited: bool


@dataclass(frozen=True, slots=True)
class FoundColumns:
    """A page of columns, in the order of the hits of `page`. `read_tables` is the number of tables
    whose columns were examined, `tables` that of all tables that the search finds."""

    page: FoundPage
    columns: tuple[FoundColumn, ...]
    read_tables: int
    tables: int


@dataclass(frozen=True, slots=True)
class _RankedColumn:
    score: float
    place: tuple[int, int]
    column: FoundColumn
    matched: tuple[tuple[str, str], ...]
    lacks: tuple[str, ...]
    reason: str


def rank_columns(
    tables: SearchedTables,
    stored: Mapping[str, Iterable[StoredAspect]],
    vocabulary: Vocabulary,
    start: int,
    count: int,
) -> FoundColumns:
    """Return a page of the columns of tables that have the words of a search, best first.

    `stored` has the `SCHEMA_ASPECTS` of the tables by URN. Columns that, together with their table,
    have every word come first. If there are few, or for a question, columns with most of the words
    follow.
    """
    reader = _ColumnReader(tables, vocabulary)
    ranked = [
        column
        for place, document in enumerate(tables.documents)
        for column in reader.read(place, document, stored.get(document.urn, ()))
    ]
    ranked.sort(key=lambda column: (bool(column.lacks), -column.score, column.place))
    complete = sum(not column.lacks for column in ranked)
    further = ranked[complete:]
    best = max((column.score for column in ranked), default=0.0)
    if complete >= FULL_PAGE and not tables.is_question:
        further = []
    further = [column for column in further if column.score >= best * LEAST][:MOST_LOOSENED]
    ranked = ranked[:complete] + further
    page_columns = ranked[max(start, 0) : max(start, 0) + max(count, 0)]
    hits = tuple(
        SearchHit(
            str(Urn.of("schemaField", column.column.table, column.column.path)),
            (not column.lacks) + round(column.score / (best + 1), 4),
            column.matched,
            tuple(vocabulary.weight("dataset", name) or 0.0 for name, _ in column.matched),
            column.reason,
            lacks=column.lacks,
        )
        for column in page_columns
    )
    page = FoundPage(len(ranked), hits, (), corrected=tables.corrected)
    if further:
        page = replace(page, complete=complete, words=tables.typed)
    columns = tuple(column.column for column in page_columns)
    return FoundColumns(page, columns, len(tables.documents), tables.total)


def matched_columns(
    hits: Iterable[SearchHit],
    stored: Mapping[str, Iterable[StoredAspect]],
    vocabulary: Vocabulary,
) -> dict[str, tuple[str | None, ...]]:
    """Return for each dataset among hits, by URN, the column of each matching value: the field path
    of the first column that has the value, or `None` for a value of the dataset itself.

    `stored` has the `SCHEMA_ASPECTS` of the hits for which `has_column_text` is true.
    """
    searched = [
        _searched_fields(name, entries, vocabulary)
        for name, entries in zip(SCHEMA_ASPECTS, _ENTRIES, strict=True)
    ]
    columns_by_urn = {}
    for hit in hits:
        path_of = {(_PATHS, value): value for name, value in hit.matched if name == _PATHS}
        schemas = _read_schemas(stored.get(hit.urn, ()))
        texts = {match for match in hit.matched if match not in path_of}
        for entries, fields in zip(schemas, searched, strict=True):
            for name, path in fields if texts else ():
                for entry in entries:
                    for value in reach(entry, path) if path.partition(".")[0] in entry else ():
                        if (name, value) in texts:
                            path_of.setdefault((name, value), entry["fieldPath"])
        if path_of:
            columns_by_urn[hit.urn] = tuple(map(path_of.get, hit.matched))
    return columns_by_urn


def has_column_text(hit: SearchHit, vocabulary: Vocabulary) -> bool:
    """Return whether a text, tag or term of a column is among the matching values of a hit."""
    return any(name in _column_texts(vocabulary) for name, _ in hit.matched)


def weigh_words(
    text_query: Node,
    optional: OptionalWords | None,
    weigh: Callable[[OptionalWords], tuple[WeighedWord, ...]],
) -> tuple[WeighedWord, ...]:
    """Return the words, phrases and patterns of a query that count, with their weights."""
    leaves = tuple(leaf_nodes(text_query))
    phrases = tuple(leaf for leaf in leaves if isinstance(leaf, Phrase) and leaf.is_typed)
    if optional is None:
        parts = (part for leaf in leaves if isinstance(leaf, Word) for part in leaf.parts)
        words = tuple(dict.fromkeys(parts))
        optional = OptionalWords(EVERYTHING, words, words, 0)
    patterns = (leaf for leaf in leaves if isinstance(leaf, Wildcard))
    return (*weigh(replace(optional, phrases=phrases)), *map(_weigh_pattern, patterns))


def _weigh_pattern(pattern: Wildcard) -> WeighedWord:
    literal = max(re.split("[*?]", pattern.pattern), key=len)
    return WeighedWord(pattern.pattern, ((frozenset((literal,)), 1.0),), pattern)


class _Line:
    """Texts as one line of words."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.words = word_line(texts)
        self.stems = frozenset(map(stem, self.words.split()))

    def worth_of(self, word: WeighedWord) -> float:
        """Return the worth of a word in this line; 0 if the line has neither the word nor one that
        begins with it."""
        if worth := word.worth_in(self.stems, self.words):
            return worth
        return _BEGINNING * word.worth if f" {word.word}" in self.words else 0.0


class _TableWords:
    """The words of a table, without those of its columns."""

    def __init__(
        self, document: Document, columns: AbstractSet[str], vocabulary: Vocabulary
    ) -> None:
        self.document = document
        self._columns = columns
        self._vocabulary = vocabulary

    @cached_property
    def name(self) -> _Line:
        names = names_of(self._vocabulary, self.document)
        return _Line((*names, *join_names(names)))

    @cached_property
    def text(self) -> _Line:
        values = self.document.fields.items()
        fields = {name: texts for name, texts in values if name not in self._columns}
        lines = analyse(self._vocabulary, replace(self.document, fields=fields)).lines
        return _Line(lines)


class _ColumnReader:
    def __init__(self, tables: SearchedTables, vocabulary: Vocabulary) -> None:
        self._tables = tables
        self._vocabulary = vocabulary
        self._ingested, self._edited = (
            _searched_fields(name, entries, vocabulary)
            for name, entries in zip(SCHEMA_ASPECTS, _ENTRIES, strict=True)
        )
        self._names = {name for name, _ in (*self._ingested, *self._edited)}
        words = tables.words
        stems = {part for word in words for form, _ in word.forms for part in form}
        self._stems = frozenset(stems)
        self._bonus = name_worth(words)
        # The last letter of a stem may not be in the word: `categori` of `category`.
        self._letters = {part[:-1] or part for part in stems} | {word.word for word in words}

    def read(
        self, place: int, document: Document, stored: Iterable[StoredAspect]
    ) -> Iterator[_RankedColumn]:
        """Yield the columns of a table that have any of the words."""
        ingested, edited = _read_schemas(stored)
        entries = {entry["fieldPath"]: entry for entry in edited}
        # A path that is listed twice is one column.
        columns = {entry["fieldPath"]: entry for entry in reversed(ingested)}
        has_text = {path: bool(entry.get("description")) for path, entry in entries.items()}
        for path, earlier in earlier_paths(columns, has_text).items():
            entries[path] = {**entries.get(path, {}), **entries[earlier]}
        table = _TableWords(document, self._names, self._vocabulary)
        for number, path in enumerate(reversed(columns)):
            ranked = self._rank(columns[path], entries.get(path, {}), table, (place, number))
            if ranked is not None:
                yield ranked

    def _rank(
        self,
        ingested: Mapping[str, Any],
        edited: Mapping[str, Any],
        table: "_TableWords",
        place: tuple[int, int],
    ) -> _RankedColumn | None:
        fields: dict[str, list[str]] = {}
        for searched, entry in ((self._ingested, ingested), (self._edited, edited)):
            for name, path in searched:
                if path.partition(".")[0] in entry:
                    fields[name] = [text for text in reach(entry, path) if isinstance(text, str)]
        if not self._admits(self._tables.node, fields, table.document):
            return None
        words, path = self._tables.words, str(ingested["fieldPath"])
        edited_text = str(edited.get("description") or "").strip()
        column = FoundColumn(
            table.document.urn,
            path,
            str(ingested.get("nativeDataType") or ""),
            edited_text or str(ingested.get("description") or "").strip(),
            bool(edited_text),
        )
        if not words:
            return _RankedColumn(0.0, place, column, (), (), "")
        if not self._may_have(fields):
            return None
        lines = {
            name: _Line(readable(self._vocabulary.trait(name), text) for text in texts)
            for name, texts in fields.items()
        }
        simple = FieldPath(path).simple
        name_line = _Line((simple, *join_names((simple,))))
        score, has_own = 0.0, False
        places: dict[str, list[str]] = {}
        lacks: list[str] = []
        for word in words:
            in_name = name_line.worth_of(word)
            worth = max(
                in_name * NAME_WEIGHT, *(line.worth_of(word) for line in lines.values()), 0.0
            )
            if worth:
                has_own = True
                where = "its name" if in_name else "its description, tags or terms"
            elif worth := table.name.worth_of(word) * _TABLE_NAME:
                where = "the name of its table"
            elif worth := table.text.worth_of(word) * _TABLE:
                where = "its table"
            else:
                lacks.append(word.word)
                continue
            score += worth
            places.setdefault(where, []).append(word.word)
        if not has_own:
            return None
        return _RankedColumn(
            round(score + self._bonus * named_by((simple,), self._stems), 4),
            place,
            column,
            tuple(self._matched(fields, lines, name_line)),
            tuple(lacks) if self._tables.is_strict else (),
            "; ".join(f"{', '.join(names)} in {where}" for where, names in places.items()),
        )

    def _matched(
        self, fields: Mapping[str, list[str]], lines: Mapping[str, _Line], name_line: _Line
    ) -> Iterator[tuple[str, str]]:
        words = self._tables.words
        for name, texts in fields.items():
            line = name_line if name == _PATHS else lines[name]
            if any(map(line.worth_of, words)):
                trait = self._vocabulary.trait(name)
                has_word = [
                    text
                    for text in texts
                    if len(texts) == 1 or any(map(_Line((readable(trait, text),)).worth_of, words))
                ]
                yield from ((name, text) for text in has_word[:_MOST_VALUES])

    def _may_have(self, fields: Mapping[str, list[str]]) -> bool:
        """Return whether a column may have any of the words: a cheap test that excludes most
        columns."""
        text = "\n".join(text for texts in fields.values() for text in texts)
        if not text.isascii():
            return True
        text = text.lower().replace("_", "")
        return any(letters in text for letters in self._letters)

    def _admits(self, node: Node, fields: Mapping[str, Sequence[str]], table: Document) -> bool:
        """Return whether a column may meet a condition that its table meets: conditions on columns
        are tested with this column alone."""
        match node:
            case Value(name) | ValuePattern(name):
                is_own = name in self._names
                values = fields.get(name, ()) if is_own else values_of(table, name)
                trait = self._vocabulary.trait(name)
                return any(meets(node, value, trait) for value in values)
            case PointedAt(urn):
                return table.urn.startswith(urn) or any(urn in texts for texts in fields.values())
            case And(nodes):
                return all(self._admits(child, fields, table) for child in nodes)
            case Or(nodes):
                return any(self._admits(child, fields, table) for child in nodes)
            case _:
                return True


@lru_cache(maxsize=8)
def _column_texts(vocabulary: Vocabulary) -> frozenset[str]:
    """Return the fields with texts, tags and terms of columns that free-text search uses."""
    fields = (
        name
        for aspect, entries in zip(SCHEMA_ASPECTS, _ENTRIES, strict=True)
        for name, _ in _searched_fields(aspect, entries, vocabulary)
    )
    return frozenset(fields) - {_PATHS}


@lru_cache(maxsize=16)
def _searched_fields(
    aspect: str, entries: str, vocabulary: Vocabulary
) -> tuple[tuple[str, str], ...]:
    """Return the fields of the columns in an aspect that free-text search uses, with their paths in
    a column, heaviest first."""
    weights = vocabulary.weights("dataset")

    def weight(field: SearchField) -> float:
        return -weights[field.name]

    fields = (
        field
        for field in vocabulary.registry.aspects[aspect].search
        if field.path.startswith(entries) and field.name in weights
    )
    return tuple(
        (field.name, field.path.removeprefix(entries)) for field in sorted(fields, key=weight)
    )


def _read_schemas(stored: Iterable[StoredAspect]) -> Sequence[list[Mapping[str, Any]]]:
    """Return for each of the `SCHEMA_ASPECTS` its entries that have a path."""
    values = {aspect.name: orjson.loads(aspect.value) for aspect in stored}
    return [
        [
            entry
            for entry in reach(values.get(name) or {}, entries.rstrip("."))
            if isinstance(entry, dict) and isinstance(entry.get("fieldPath"), str)
        ]
        for name, entries in zip(SCHEMA_ASPECTS, _ENTRIES, strict=True)
    ]
