"""Concepts: all columns of one name, or with one glossary term, their descriptions, and edits that
give several of them the same description."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from explorer.client.editable import urns_of
from explorer.client.entity import Entity
from explorer.client.search import filter_from
from explorer.errors import InvalidInput, NotFound, UnknownName
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.names import is_name
from explorer.metadata.urn import Urn
from explorer.query.filters import Criterion, Filter
from explorer.stewardship.documentation import TEXT_ASPECTS, Progress, read_datasets
from explorer.stewardship.staging import StagedEdit, TextSource
from explorer.stewardship.worklist import Key

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Column

_MOST_DATASETS: Final = 2_000
_MOST_SOURCES: Final = 5


@dataclass(frozen=True, slots=True)
class ConceptColumn:
    """One column of a concept, with its ingested and edited description, which may be empty."""

    urn: str
    table: str
    platform: str | None
    path: FieldPath
    type: str
    ingested: str
    edited: str

    @property
    def key(self) -> Key:
        """The URN of the dataset and the column's field path."""
        return self.urn, self.path.raw

    @property
    def text(self) -> str:
        """The edited description, else the ingested one, stripped of white space; empty if there is
        none."""
        return self.edited.strip() or self.ingested.strip()


@dataclass(frozen=True, slots=True)
class Variant:
    """A description and the columns that have it; empty for undocumented columns."""

    text: str
    columns: tuple[ConceptColumn, ...]

    def __len__(self) -> int:
        return len(self.columns)


@dataclass(frozen=True, slots=True)
class Concept:
    """The columns of one name, or with one glossary term.

    They are ordered by dataset URN, and within a dataset as in the schema. `name` is the name of
    the columns or of the term; `term` is the term's URN, or `None`. `datasets` is the number of
    their datasets; `truncated` is true if there are more than were read.
    """

    name: str
    columns: tuple[ConceptColumn, ...]
    datasets: int = 0
    truncated: bool = False
    term: str | None = None

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def title(self) -> str:
        """The title of a changeset that gives all columns of the concept one text."""
        return f"One text for {self.name}"

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The different descriptions, most frequent first, then in alphabetical order."""
        by_text: dict[str, list[ConceptColumn]] = {}
        for column in self.columns:
            if column.text:
                by_text.setdefault(column.text, []).append(column)
        ordered = sorted(by_text.items(), key=lambda pair: (-len(pair[1]), pair[0]))
        return tuple(Variant(text, tuple(columns)) for text, columns in ordered)

    @property
    def undocumented(self) -> Variant:
        """The columns without a description."""
        return Variant("", tuple(column for column in self.columns if not column.text))

    def variant(self, number: int) -> Variant:
        """Return a description by its number among the variants, from 1.

        Raises `InvalidInput` if there is no such number.
        """
        variants = self.variants
        if not 1 <= number <= len(variants):
            raise InvalidInput(f"there is no text {number}; there are {len(variants):,}")
        return variants[number - 1]

    def having(self, numbers: Iterable[int]) -> tuple[ConceptColumn, ...]:
        """Return the columns without a description and those with one of the numbered descriptions.

        Raises as `variant`.
        """
        texts = {"", *(self.variant(number).text for number in numbers)}
        return tuple(column for column in self.columns if column.text in texts)


def columns_filter(names: Iterable[str], *, documented: bool = False) -> Filter:
    """Return the filter for datasets with a column whose last name is one of `names`.

    Names match as given, in lower case and in upper case. With `documented`, only datasets with at
    least one described column match.
    """
    variants = tuple(dict.fromkeys(form for name in names for form in _forms(name)))
    either = [
        Criterion("fieldPaths", variants),
        # The name is the last part of a nested path, or follows the types of a v2 path.
        Criterion("fieldPaths", tuple(f".{form}" for form in variants), "END_WITH"),
    ]
    if not documented:
        return Filter(tuple((criterion,) for criterion in either))
    texts = [
        Criterion(field, condition="EXISTS")
        for field in ("fieldDescriptions", "editedFieldDescriptions")
    ]
    return Filter(tuple((criterion, text) for criterion in either for text in texts))


def concept_of(name: str, entities: Iterable[Entity]) -> Concept:
    """Return the columns of that name in some datasets, without soft-deleted datasets. No requests.

    A column matches if its path without types is the name or ends with it (`zip` and `address.zip`
    match `shipping.address.zip`), ignoring case.
    """
    name_end = name.strip().casefold()
    visible_entities = sorted(
        (entity for entity in entities if not entity.removed), key=lambda entity: str(entity.urn)
    )
    columns = tuple(
        column for entity in visible_entities for column in _find_columns(entity, name_end)
    )
    return Concept(name, columns, len({column.urn for column in columns}))


def term_concept_of(term: Urn, name: str, entities: Iterable[Entity]) -> Concept:
    """Return the columns with a glossary term in some datasets, without soft-deleted datasets.

    The term may be ingested or edited. No requests.
    """
    visible_entities = sorted(
        (entity for entity in entities if not entity.removed), key=lambda entity: str(entity.urn)
    )
    columns = tuple(
        column_of_term
        for entity in visible_entities
        for column_of_term in _columns_where(entity, lambda column: term in column.terms)
    )
    return Concept(name, columns, len({column.urn for column in columns}), term=str(term))


async def read_term_concept(
    catalog: "AsyncCatalog",
    term: str | Urn,
    *,
    filter: Filter | str | None = None,
    limit: int | None = _MOST_DATASETS,
    progress: Progress | None = None,
) -> Concept:
    """Return all columns with a glossary term, given by URN, id or name, of at most `limit`
    datasets.

    Costs the requests of `read_concept` and one more, or three more for a name. Raises `NotFound`
    for a term that does not exist, `InvalidInput` for a URN that is not a term's and for a name of
    several terms.

    Example: `steward.term_concept("urn:li:glossaryTerm:Finance.NetRevenue").variants`
    """
    (urn,) = urns_of(term, "glossaryTerm")
    term_entity = await catalog.entity(urn)
    if not term_entity.exists and str(urn) == str(term):
        raise NotFound(f"the catalog has no glossary term {urn}")
    if not term_entity.exists:
        urn = await catalog.urn_of(str(term), "glossaryTerm")
        term_entity = await catalog.entity(urn)
    carrying = Filter(
        tuple(
            (Criterion(field, (str(urn),)),)
            for field in ("fieldGlossaryTerms", "editedFieldGlossaryTerms")
        )
    )
    selection = filter_from(filter, catalog.registry)
    pages = catalog.urns("dataset", filter=selection.and_(carrying), limit=limit)
    urns = [page async for page in pages]
    entities = [entity async for entity in read_datasets(catalog, urns, TEXT_ASPECTS, progress)]
    concept = term_concept_of(urn, term_entity.name, entities)
    return replace(concept, truncated=pages.truncated)


async def read_concept(
    catalog: "AsyncCatalog",
    name: str,
    *,
    filter: Filter | str | None = None,
    limit: int | None = _MOST_DATASETS,
    progress: Progress | None = None,
) -> Concept:
    """Return all columns of a name, of at most `limit` datasets found by search; see `concept_of`.

    One request for each page of the search, and those of `AsyncCatalog.entities`. Servers other
    than ours find names only in upper case, lower case, or as given. Raises `InvalidInput` for an
    empty name.

    Example: `steward.concept("id").variants`
    """
    if not is_name(name):
        raise InvalidInput("give the name of a column")
    selection = filter_from(filter, catalog.registry)
    combined = selection.and_(columns_filter([FieldPath(name.strip()).name]))
    pages = catalog.urns("dataset", filter=combined, limit=limit)
    urns = [urn async for urn in pages]
    entities = [entity async for entity in read_datasets(catalog, urns, TEXT_ASPECTS, progress)]
    concept = concept_of(name, entities)
    return replace(concept, truncated=pages.truncated)


def stage_concept(concept: Concept, text: str, chosen: Iterable[Key]) -> tuple[StagedEdit, ...]:
    """Return the edits that give the chosen columns a description, in the order of the concept.

    Columns that already have the description are left out. `chosen` are keys of columns in the
    concept. If columns of the concept have the description, the edits name them as sources. No
    requests. Raises `InvalidInput` for an empty text, `UnknownName` for a column that is not in the
    concept.
    """
    if not text.strip():
        raise InvalidInput("give a text; this one is empty")
    keys = set(chosen)
    for urn, path in sorted(keys - {column.key for column in concept.columns}, key=str):
        paths = [column.path.raw for column in concept.columns if column.urn == urn]
        raise UnknownName("column", path or urn, paths)
    agreeing = [column for column in concept.columns if column.text == text.strip()]
    sources = tuple(
        TextSource("elsewhere", column.urn, column.table, column.path.raw, agreeing=len(agreeing))
        for column in agreeing[:_MOST_SOURCES]
    )
    return tuple(
        StagedEdit(
            column.urn,
            column.table,
            column.path.raw,
            before=column.edited,
            text=text,
            ingested=column.ingested,
            sources=sources,
        )
        for column in concept.columns
        if column.key in keys and column.text != text.strip()
    )


def _forms(name: str) -> tuple[str, str, str]:
    return name, name.lower(), name.upper()


def _find_columns(entity: Entity, name_end: str) -> Iterator[ConceptColumn]:
    def has_name(column: "Column") -> bool:
        path = column.path.simple.casefold()
        return path == name_end or path.endswith(f".{name_end}")

    return _columns_where(entity, has_name)


def _columns_where(entity: Entity, fits: Callable[["Column"], bool]) -> Iterator[ConceptColumn]:
    """Yield the columns for which `fits` returns true, in schema order, each path once."""
    passed: set[str] = set()
    for column in entity.schema:
        if column.path.raw in passed or not fits(column):
            continue
        passed.add(column.path.raw)
        yield ConceptColumn(
            str(entity.urn),
            entity.name,
            entity.platform,
            column.path,
            column.native_type or column.type,
            column.ingested or "",
            column.edited or "",
        )
