"""Search results, to be shown: why each matched, facets and sort orders; and pages of folders."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from explorer.client.display import counted, line
from explorer.metadata.browse_paths import below_path
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.names import display_name, singular
from explorer.metadata.urn import Urn
from explorer.views.parts import Fitted, Report, ReportPart
from explorer.views.table import (
    LIST,
    TIME,
    Audience,
    Cell,
    Table,
    TableColumn,
    attributes,
    domain_columns,
    label_columns,
    to_objects,
)
from explorer.views.text import EDITED, TextLine, text_line
from explorer.views.tree import draw_tree

if TYPE_CHECKING:
    from explorer.client.entity import Entity
    from explorer.client.folders import FolderEntries, FolderTree
    from explorer.client.records import (
        BrowsePage,
        Facet,
        Hit,
        HitColumn,
        Match,
        Measures,
        SearchPage,
        ServerInfo,
    )

SORT_ORDERS: Final[Mapping[str, str]] = {
    "": "best first",
    "name": "by name, A to Z",
    "-name": "by name, Z to A",
    "-use": "most used first",
    "-lastModifiedAt": "recently changed first",
    "lastModifiedAt": "longest unchanged first",
}
"""The sort orders offered, in the query language, with their labels."""

_FIELD_LABELS: Final = {
    "fieldPaths": "column",
    "fieldDescriptions": "column text",
    "editedFieldDescriptions": "column text",
    "editedDescription": "description",
    "fieldTags": "column tag",
    "editedFieldTags": "column tag",
    "fieldGlossaryTerms": "column term",
    "editedFieldGlossaryTerms": "column term",
    "customProperties": "property",
    "glossaryTerms": "term",
    "qualifiedName": "full name",
}
_NAME_FIELDS: Final = frozenset(
    ("name", "id", "title", "urn", "qualifiedName", "displayName", "fullName")
)
_FIRST_FACETS: Final = (
    *("_entityType", "platform", "tags", "owners", "domains"),
    *("glossaryTerms", "typeNames", "documented"),
)
_CONTEXT: Final = 10
_MOST_LACKING: Final = 3
_LONGEST_LABEL: Final = 120
_LEAST_WORDS: Final = 6
_BOOLEANS: Final = {"true": "yes", "false": "no"}


@dataclass(frozen=True, slots=True)
class MatchedField:
    """A field that matched a search: its name, its label and the matching value.

    `value` is as the server sent it. `weight` is the weight of the field in the score, if the
    server sends it. `column` is the path of the column that has the value, if it is a column's.
    """

    field: str
    label: str
    value: str
    weight: float | None = None
    column: str | None = None

    @property
    def is_name(self) -> bool:
        """Whether the field contains the name of the entity."""
        return self.field in _NAME_FIELDS

    @property
    def column_label(self) -> str:
        """The column that has the value, without types; empty if it is no column's."""
        return "" if self.column is None else FieldPath(self.column).simple

    @property
    def place_label(self) -> str:
        """The field, or the column that has the value: `column email`."""
        return f"column {self.column_label}" if self.column_label else self.label

    @property
    def value_label(self) -> str:
        """The value as it is shown: the name in a URN, a path without types."""
        if self.field == "fieldPaths":
            return FieldPath(self.value).simple
        return Urn.label(self.value)

    def excerpt(self, words: str, width: int) -> str:
        """Return the value in one line; if it is longer than `width`, starting shortly before the
        first of the words."""
        text = line(self.value_label)
        if len(text) <= width:
            return text
        lowered = text.lower()
        places = [at for word in words.lower().split() if (at := lowered.find(word)) >= 0]
        at = min(places, default=0)
        return f"…{text[at - max(_CONTEXT, width // 6) :]}" if at > width // 2 else text


@dataclass(frozen=True, slots=True)
class ResultRow:
    """A search result.

    In a search of columns the result is a `column`, and `table` is the name of its table. `kind` is
    the platform's name for this kind of entity, else the entity type. `description` is the edited
    one if `is_edited`, else the ingested one. `deprecation` is the reason for the deprecation,
    `None` if not deprecated. `lacks` are the words of the search that the entity does not have: all
    of them if it was found `by_meaning`. `measures` are the row count, use and last change, `None`
    if they were not read. `use` is the part of the score that comes from use. Unless `is_read`,
    only the URN is known.
    """

    urn: Urn
    name: str
    kind: str
    platform: str | None
    description: str = ""
    is_edited: bool = False
    deprecation: str | None = None
    is_removed: bool = False
    has_draft: bool = False
    measures: "Measures | None" = None
    matches: tuple[MatchedField, ...] = ()
    score: float | None = None
    use: float = 0.0
    reason: str = ""
    lacks: tuple[str, ...] = ()
    by_meaning: bool = False
    is_read: bool = True
    column: "HitColumn | None" = None
    table: str = ""
    place: str = ""
    """Tells the result from others that look alike: its environment and its folders, the first of
    which is the platform instance, if any. Empty if no other looks alike."""

    @property
    def kind_label(self) -> str:
        """The kind in words: `person` for `corpuser`."""
        return singular(self.kind)

    @property
    def states(self) -> tuple[str, ...]:
        """The states that readers should know: has a draft, soft-deleted, deprecated, found by
        meaning alone, lacks a word of the search."""
        lacking = [*self.lacks[:_MOST_LACKING], *["…"][: len(self.lacks) > _MOST_LACKING]]
        states = {
            "draft": self.has_draft,
            "soft-deleted": self.is_removed,
            "deprecated": self.deprecation is not None,
            "by meaning": self.by_meaning,
            f"without {', '.join(lacking)}": bool(lacking) and not self.by_meaning,
        }
        return tuple(label for label, is_so in states.items() if is_so)

    @property
    def folder(self) -> str:
        """The folders in a dataset's name, which distinguish entities of the same name; of a column
        the whole name of its dataset."""
        return _folder_of(self.urn) if self.column is None else self.column.table.name

    @property
    def first_line(self) -> str:
        """The first line of the description; empty if there is none."""
        return next(iter(self.description.strip().splitlines()), "")

    @property
    def description_placeholder(self) -> str:
        """The text shown in place of a description; empty if the entity was not read."""
        return "no description" if self.is_read else ""

    @property
    def matched_fields(self) -> tuple[str, ...]:
        """The names of the fields that matched, without duplicates."""
        return tuple(dict.fromkeys(field.field for field in self.matches))

    @property
    def matched_labels(self) -> tuple[str, ...]:
        """The fields that matched, without duplicates; fields of columns are followed by the
        columns: `id`, `fieldPaths: email, email_hash`."""
        columns: dict[str, dict[str, None]] = {}
        for match in self.matches:
            columns.setdefault(match.field, {}).update(
                dict.fromkeys([match.column_label] if match.column_label else [])
            )
        return tuple(
            f"{field}: {', '.join(names)}" if names else field for field, names in columns.items()
        )

    @property
    def score_label(self) -> str:
        """The score and the part of it that comes from use; empty without a score."""
        if self.score is None:
            return ""
        use = f", {self.use:.2g} of it for its use" if self.use else ""
        return f"score {self.score:.4g}{use}"

    @property
    def entity_urn(self) -> Urn:
        """The URN of the entity to open; for a column that of its table."""
        return self.urn if self.column is None else self.column.table

    def column_to_open(self, words: str) -> str | None:
        """Return the field path of the column at which to open the entity: that of a column result,
        or of the column that matched words missing in the entity's name. `None` if there is no such
        column."""
        if self.column is not None:
            return self.column.path
        match = self.hidden_match(self.name, words)
        return match.column if match is not None else None

    def hidden_match(self, text: str, words: str) -> MatchedField | None:
        """Return the match that explains the words of the search that are not in the shown `text`.

        `text` is the visible part of the name and the description. Returns `None` if it contains
        all words, or if only the name matched, in another form of a word.
        """
        folded_text = text.casefold()
        hidden = [word for word in words.casefold().split() if word not in folded_text]
        is_column = self.column is not None
        fields = [
            field
            for field in self.matches
            if not field.is_name and not (is_column and field.field == "fieldPaths")
        ]
        for field in fields:
            value = field.value.casefold()
            if any(word in value for word in hidden):
                return field
        is_named = len(fields) < len(self.matches)
        return fields[0] if hidden and fields and not is_named else None


def result_row(
    hit: "Hit",
    entity: "Entity | None" = None,
    measures: "Measures | None" = None,
    *,
    has_draft: bool = False,
) -> ResultRow:
    """Return the row of a result; without `entity` it has only what the URN contains."""
    urn = hit.urn
    matched = tuple(map(_matched_field, hit.matches))
    if hit.column is not None:
        column, table = hit.column, hit.column.table
        row = ResultRow(
            urn,
            FieldPath(column.path).simple,
            urn.entity_type,
            entity.platform if entity is not None else table.platform,
            column.description,
            column.edited,
            entity.deprecation if entity is not None else None,
            column=column,
            table=entity.name if entity is not None else table.name,
        )
    elif entity is None:
        name = display_name(urn, {})
        row = ResultRow(urn, name, urn.entity_type, urn.platform, is_read=False)
    else:
        row = ResultRow(
            urn,
            entity.name,
            entity.kind,
            entity.platform,
            entity.description,
            bool(entity.edited_description),
            entity.deprecation,
            entity.removed,
        )
    return replace(
        row,
        has_draft=has_draft,
        measures=measures,
        matches=matched,
        score=hit.score,
        use=hit.use,
        reason=hit.reason,
        lacks=hit.lacks,
        by_meaning=hit.by_meaning,
    )


def _matched_field(match: "Match") -> MatchedField:
    label = _FIELD_LABELS.get(match.field, match.field)
    if match.column is not None and match.field != "fieldPaths":
        label = f"column {FieldPath(match.column).simple}"
    return MatchedField(match.field, label, match.value, match.weight, match.column)


def result_rows(
    page: "SearchPage",
    entities: Mapping[Urn, "Entity"],
    measures: Mapping[Urn, "Measures"] | None = None,
    drafts: Container[str] = (),
) -> tuple[ResultRow, ...]:
    """Return the rows of a page, in order; `drafts` has the URNs of entities with drafts."""
    measures_by_urn = measures or {}
    rows = tuple(
        result_row(
            *(hit, entities.get(hit.entity_urn), measures_by_urn.get(hit.urn)),
            has_draft=str(hit.urn) in drafts,
        )
        for hit in page
    )
    places = places_of((row.urn, (row.name, row.kind, row.platform)) for row in rows)
    return tuple(replace(row, place=places.get(row.urn, "")) for row in rows)


def places_of(entities: Iterable[tuple[Urn, object]]) -> dict[Urn, str]:
    """Return places (see `ResultRow.place`) for the entities that look like another one in the
    list, by URN. Each entity is given with its look, which is equal for entities that look
    alike."""
    urns_by_look: dict[object, list[Urn]] = {}
    for urn, look in entities:
        urns_by_look.setdefault(look, []).append(urn)
    alike = (urn for urns in urns_by_look.values() if len(urns) > 1 for urn in urns)
    return {urn: " · ".join(filter(None, (urn.origin, _folder_of(urn)))) for urn in alike}


def _folder_of(urn: Urn) -> str:
    return urn.parts[1].rpartition(".")[0] if len(urn.parts) == 3 else ""


def loosened_label(page: "SearchPage", room: int = _LONGEST_LABEL) -> str:
    """Return a remark that some results have only most of the words; empty if all results have all
    words. The words are listed at the end, and cut to fit in `room` characters."""
    if page.complete is None:
        return ""
    alike = " or mean something alike" if page.by_meaning else ""
    label = f"none has every word, these have most{alike}: "
    if page.complete:
        have = "has" if page.complete == 1 else "have"
        label = f"{page.complete:,} {have} every word, the others most{alike}: "
    return label + line(", ".join(page.words), max(room - len(label) - 1, _LEAST_WORDS))


def meaning_label(info: "ServerInfo") -> str:
    """Return a remark that the server's searches find by meaning too, or will once its texts are
    read, or that this failed; empty if it is switched off."""
    match info.meaning:
        case "on":
            return f"searches find by meaning too, of {counted(info.texts_read, 'text')}"
        case "preparing":
            total = info.texts_read + info.texts_unread
            progress = f": {info.texts_read:,} of about {total:,}" if total else ""
            return f"searches find by meaning once all texts are read{progress}"
        case "failed":
            return "searches find by words alone: the language model failed; see the server's log"
        case "off":
            return ""


def tables_label(page: "SearchPage") -> str:
    """Return a remark that a search of columns looked through only some of the matching tables;
    empty if it looked through all."""
    if page.tables is None or page.tables[0] >= page.tables[1]:
        return ""
    read, total = page.tables
    return f"in the first {read:,} of {total:,} tables"


def sort_label(order: str, *, has_words: bool) -> str:
    """Return the label of a sort order. Without words to search for, results have no best match, so
    the default order gets another label."""
    if not order:
        return SORT_ORDERS[""] if has_words else "everything"
    return SORT_ORDERS.get(order) or line(order, 60)


@dataclass(frozen=True, slots=True)
class FacetRow:
    """A value of a facet and its number of results; None where it is not known.

    `is_chosen` marks a value that the search is filtered by. `adds` marks a value next to such
    values: its count is the number of results it would add.
    """

    value: str
    label: str
    count: int | None
    is_chosen: bool = False
    adds: bool = False

    @property
    def count_label(self) -> str:
        """The count, `1,234`, or the number of results the value would add, `+7`; empty where it is
        not known."""
        return "" if self.count is None else f"{'+' if self.adds else ''}{self.count:,}"


@dataclass(frozen=True, slots=True)
class FacetGroup:
    """A facet with its values, chosen ones first, then by count.

    `size` is the number of values, `7`, or `100+` if there are more.
    """

    field: str
    label: str
    size: str
    rows: tuple[FacetRow, ...]
    has_more: bool = False


_NO_FACETS: Final[Mapping[str, "Facet"]] = {}
_NO_FILTERS: Final[Mapping[str, Sequence[str]]] = {}
_NO_NAMES: Final[Mapping[str, str]] = {}


def facet_groups(
    facets: Iterable["Facet"],
    names: Mapping[str, str] = _NO_NAMES,
    filtered_by: Mapping[str, Sequence[str]] = _NO_FILTERS,
    adding: Mapping[str, "Facet"] = _NO_FACETS,
) -> tuple[FacetGroup, ...]:
    """Return the facets of a search that have values, most used facets first.

    `names` are the names of URNs among the values. `filtered_by` are the values that the search is
    filtered by, by field; `adding` has the facets of these fields, counted over the results that
    the chosen values exclude. A chosen value is included even if no result has it.
    """
    groups = []
    for facet in facets:
        chosen = filtered_by.get(facet.name, ())
        added_facet = adding.get(facet.name)
        merged = facet if added_facet is None else facet.with_added(chosen, added_facet)
        if not merged.values:
            continue
        rows = [
            FacetRow(
                value.value,
                facet_value_label(facet.name, value.value, names),
                value.count,
                value.value in chosen,
                added_facet is not None and value.value not in chosen,
            )
            for value in merged.values
        ]
        missing = _rows_without_results(facet.name, chosen, {row.value for row in rows}, names)
        groups.append(
            FacetGroup(
                facet.name, facet.label, merged.size, (*missing, *rows), has_more=merged.has_more
            )
        )
    return tuple(sorted(groups, key=_rank))


def _rows_without_results(
    field: str, chosen: Sequence[str], counted: AbstractSet[str], names: Mapping[str, str]
) -> Iterator[FacetRow]:
    """Yield rows for the chosen values that no result has. Chosen values of the same name, such as
    a person and a group, share a row without a count, because a search by name finds other values
    too."""
    spelled: dict[str, list[str]] = {}
    for value in chosen:
        spelled.setdefault(Urn.label(value), []).append(value)
    for values in spelled.values():
        first, is_name = values[0], len(values) > 1
        if counted.isdisjoint(values) if is_name else first not in counted:
            label = facet_value_label(field, first, names)
            yield FacetRow(first, label, None if is_name else 0, is_chosen=True)


def facet_urns(facets: Iterable["Facet"], at_most: int) -> tuple[Urn, ...]:
    """Return the URNs among the first `at_most` values of each facet."""
    return Urn.parse_all(value.value for facet in facets for value in facet.values[:at_most])


def facet_value_label(field: str, value: str, names: Mapping[str, str]) -> str:
    """Return the label of a facet's value; empty for an empty value."""
    if field == "_entityType":
        return singular(value)
    label = names.get(value) or Urn.label(value)
    return _BOOLEANS.get(label, label)


def _rank(group: FacetGroup) -> tuple[int, str]:
    first = _FIRST_FACETS.index(group.field) if group.field in _FIRST_FACETS else len(_FIRST_FACETS)
    return first, group.label


_WIDE: Final = 110


def _result_name(row: ResultRow) -> TextLine:
    states = f"  {', '.join(row.states)}" if row.states else ""
    place = f"  {row.place}" if row.place else ""
    return text_line((row.name, "bold"), (place, "dim"), (states, "dim italic"))


def _result_text(row: ResultRow) -> TextLine:
    mark = f"{EDITED} " if row.is_edited else ""
    placeholder = "" if row.first_line else row.description_placeholder
    return text_line(mark, row.first_line, (placeholder, "dim italic"))


_MATCHED: Final[TableColumn[ResultRow]] = TableColumn(
    "matched",
    read=lambda row: ", ".join(row.matched_labels),
    audience="people",
    max_width=36,
    style="dim",
)
_RESULT_COLUMNS: Final[Sequence[TableColumn[ResultRow]]] = (
    TableColumn("urn", None, lambda row: str(row.urn), "programs"),
    TableColumn("name", None, _result_name, "people", max_width=36, folds=True),
    TableColumn("name", audience="programs"),
    TableColumn("type", None, lambda row: row.kind_label, "people", max_width=12),
    TableColumn("type", None, lambda row: row.urn.entity_type, "programs"),
    TableColumn("kind", audience="programs"),
    TableColumn("platform", max_width=12),
    TableColumn("description", audience="programs"),
    TableColumn("edited", None, lambda row: row.is_edited, "programs"),
    *attributes("score", "reason", "lacks", "by_meaning", audience="objects"),
    TableColumn("matched", None, lambda row: row.matched_fields, "programs"),
)


def _of_column(name: str, audience: Audience = "programs") -> TableColumn[ResultRow]:
    """Return the column of a table of results with an attribute of `HitColumn`."""
    return TableColumn(name, None, lambda row: str(getattr(row.column, name, "")), audience)


_COLUMN_COLUMNS: Final[Sequence[TableColumn[ResultRow]]] = (
    *(column for column in _RESULT_COLUMNS if column.name != "type" or column.audience != "people"),
    TableColumn("table", None, lambda row: row.folder, "people", max_width=48, folds=True),
    _of_column("table"),
    _of_column("path"),
    _of_column("native_type", "everyone"),
)


def search_report(
    page: "SearchPage",
    entities: Mapping[Urn, "Entity"],
    *,
    explains: bool = False,
    only_urns: bool = False,
) -> Report:
    """Return a report on a page of results, with `explains` also why each matched. Programs get all
    matches and the facets.

    The URNs are only those of results that lack no word, because a program may edit each of them.
    With `only_urns` the notes say how many results are left out.
    """
    rows = result_rows(page, entities)
    columns = _RESULT_COLUMNS if page.tables is None else _COLUMN_COLUMNS
    table = Table.from_records(rows, (*columns, _MATCHED))
    text = TableColumn("description", read=_result_text, audience="people")
    below = Table.from_records(rows, (*columns, _MATCHED, replace(text, is_below=True)))
    wide = Table.from_records(rows, (*columns, text, _MATCHED))
    document = {
        "text": page.text,
        "start": page.start,
        "total": page.total,
        "corrected": page.corrected,
        "complete": page.complete,
        "tables": page.tables and dict(zip(("read", "total"), page.tables, strict=True)),
        "hits": [
            {**value, "matched": [_match_value(match) for match in row.matches]}
            for value, row in zip(to_objects(table), rows, strict=True)
        ],
        "facets": {
            facet.name: {value.value: value.count for value in facet.values}
            for facet in page.facets
        },
    }
    parts: Sequence[ReportPart] = (
        list(_explanations(rows, page.start))
        if explains
        else [Fitted(_WIDE, [wide], [below], is_cut=True)]
    )
    urns = [hit.urn for hit in page if not hit.lacks]
    notes = list(_search_notes(page))
    if only_urns and len(urns) < len(page):
        lacking = counted(len(page) - len(urns), "result")
        notes.append(f"{lacking} without some of the words, not printed")
    return Report(table, parts, document, urns=urns, notes=tuple(notes), is_complete=True)


def _match_value(match: MatchedField) -> dict[str, object]:
    value: dict[str, object] = {
        "field": match.field,
        "value": match.value,
        "weight": match.weight,
    }
    return value if match.column is None else {**value, "column": match.column}


def _explanations(rows: Sequence[ResultRow], start: int) -> Iterator[TextLine]:
    """Yield the rank and score of each result, the reason, and the fields that matched."""
    for rank, row in enumerate(rows, start + 1):
        score = f"  {row.score_label}" if row.score_label else ""
        kind = row.kind_label if row.column is None else f"{row.kind_label} of {row.folder}"
        name = (f"{rank:>4}  ", (row.name, "bold"), "  ", kind, (score, "dim"))
        yield text_line(*name, wraps=True)
        if row.reason:
            yield text_line(f"      {row.reason}", wraps=True)
        for match in row.matches:
            weight = "" if match.weight is None else f"  weight {match.weight:g}"
            value = match.value.split("\n", 1)[0]
            of_column = (
                f" of {match.column_label}" if match.column_label != match.value_label else ""
            )
            of_column = of_column if match.column else ""
            text = f"      {match.field}{of_column}: {value}"
            yield text_line(text, (weight, "dim"), wraps=True)


def _search_notes(page: "SearchPage") -> Iterator[str]:
    if page.corrected:
        yield f"no match for {page.text[:80]}; showing results for {page.corrected[:80]}"
    if loosened := loosened_label(page):
        yield loosened
    if tables := tables_label(page):
        yield f"columns {tables}"
    if not page.total:
        yield "nothing found" if page.text == "*" else f"nothing found for {page.text[:80]}"
    elif not page.hits:
        yield f"no results after {page.start:,}: the total is {page.total:,}"
    elif len(page) == page.total:
        yield f"{page.total:,} shown"
    else:
        after = page.start + len(page)
        more = f"; --start {after} shows the next ones" if page.truncated else ""
        yield f"{len(page):,} of {page.total:,} shown{more}"


class _ListedEntry(NamedTuple):
    path: str
    urn: str | None
    type: str
    name: str
    kind: str
    entities: int | None
    description: str | None
    platform: str | None = None
    text: str = ""


def folder_report(
    listing: "FolderEntries", summaries: Mapping[Urn, "Entity"], *, only_urns: bool = False
) -> Report:
    """Return a report on the entries at a path, folders first; entities have the first line of
    their description. With `only_urns` the notes say how many folders are left out."""
    folders = [
        _ListedEntry(
            below_path(listing.path, folder.name),
            None,
            entity_type,
            folder.title,
            entity_type,
            folder.count,
            None,
        )
        for entity_type, folder in listing.folders
    ]
    entities = []
    for entity_type, named in listing.entities:
        summary = summaries.get(named.urn)
        text = summary.description if summary else ""
        first = next(iter(text.strip().splitlines()), "")
        is_edited = bool(summary and summary.edited_description)
        entities.append(
            _ListedEntry(
                listing.path,
                str(named.urn),
                entity_type,
                summary.name if summary else named.name,
                summary.kind if summary else entity_type,
                None,
                f"{EDITED} {first}" if is_edited else first,
                summary.platform if summary else named.urn.platform,
                text,
            )
        )

    def name(entry: _ListedEntry) -> str:
        return entry.name if entry.urn else f"{entry.name}/"

    columns: Sequence[TableColumn[_ListedEntry]] = (
        *attributes("path", "urn", "type", audience="programs"),
        TableColumn("name", read=name, max_width=44, folds=True, style="bold"),
        TableColumn("kind", "type", max_width=16),
        TableColumn("entities", audience="everyone" if folders else "programs"),
        TableColumn("description", audience="everyone" if entities else "programs", style="dim"),
    )
    document = {
        "path": listing.path,
        "total": listing.total,
        "shown": len(folders) + len(entities),
        "entities_below": listing.below,
        "folders": [_entry_value(entry, "path", "name", "type", "entities") for entry in folders],
        "entities": [
            _entry_value(entry, "urn", "name", "type", "kind", "platform")
            | {"description": entry.text}
            for entry in entities
        ],
    }
    table = Table.from_records((*folders, *entities), columns)
    notes = (_folder_note(listing, only_urns=only_urns),)
    return Report(table, document=document, urns=listing.urns, notes=notes)


def _entry_value(entry: _ListedEntry, *names: str) -> dict[str, object]:
    return {name: getattr(entry, name) for name in names}


def _folder_note(listing: "FolderEntries", *, only_urns: bool) -> str:
    if not listing.total:
        return "there are no folders or entities here"
    shown_count, folder_count = len(listing.folders) + len(listing.entities), len(listing.folders)
    counts, more = f"{listing.total:,}", ""
    if shown_count < listing.total:
        counts, more = f"{shown_count:,} of {counts}", "; --all shows all"
    left_out = (
        f"; {folder_count:,} of them folders, which have no URN"
        if only_urns and folder_count
        else ""
    )
    below = f"{counted(listing.below, 'entity', 'entities')} in and below {listing.path}"
    return f"{counts} shown{more}{left_out}; {below}"


def folder_tree_report(trees: "Sequence[FolderTree]") -> Report:
    """Return a report on folders as a tree, each with the number of entities in and below it."""
    columns: Sequence[TableColumn[FolderTree]] = (
        *attributes("path", "name"),
        TableColumn("type", read=lambda tree: tree.entity_type),
        TableColumn("depth"),
        TableColumn("entities", read=lambda tree: tree.count),
    )
    table = Table.from_records([inner for tree in trees for inner in tree], columns)
    remarks = (counted(len(table.rows), "folder"),)
    document = [_tree_value(tree) for tree in trees]
    return Report(table, tuple(_tree_lines(trees)), document, remarks=remarks)


def _tree_lines(trees: "Sequence[FolderTree]") -> Iterator[TextLine]:
    has_several_types = len({tree.entity_type for tree in trees}) > 1
    for top in trees:
        label = f" · {top.entity_type}" if has_several_types else ""
        yield _tree_line("", top, label)
        for _, prefix, tree in draw_tree(top.below, lambda tree: tree.below):
            yield _tree_line(prefix, tree)


def _tree_line(prefix: str, tree: "FolderTree", label: str = "") -> TextLine:
    count = f"  {tree.count:,}{label}"
    return text_line((prefix, "dim"), (f"{tree.name}/", "bold"), (count, "dim"), wraps=True)


def _tree_value(tree: "FolderTree") -> dict[str, object]:
    return {
        "path": tree.path,
        "name": tree.name,
        "type": tree.entity_type,
        "entities": tree.count,
        "folders": [_tree_value(below) for below in tree.below],
    }


class _FolderEntry(NamedTuple):
    name: str
    holds: int | None
    urn: Urn | None
    path: str | None


def _folder_label(entry: _FolderEntry) -> str:
    return entry.name if entry.urn else f"{entry.name}/"


def folder_table(page: "BrowsePage") -> Table:
    """Return a row for each folder and entity on a page, folders first.

    `count` is the number of entities in and below a folder.
    """
    columns = (
        TableColumn("name", audience="programs"),
        TableColumn("label", "name", _folder_label, "people", style="bold", detail="urn"),
        TableColumn("kind", read=lambda entry: entry.urn.entity_type if entry.urn else "folder"),
        TableColumn("count", "holds", lambda entry: entry.holds, dtype="Int64"),
        TableColumn("urn", None, lambda entry: entry.urn and str(entry.urn), "programs"),
        TableColumn("path", audience="programs"),
    )
    folders = [
        _FolderEntry(folder.title, folder.count, None, below_path(page.path, folder.name))
        for folder in page.folders
    ]
    entities = [_FolderEntry(entity.name, None, entity.urn, None) for entity in page.entities]
    return Table.from_records((*folders, *entities), columns, page.path)


def _owners_of(entity: "Entity") -> list[str]:
    return [owner.owner for owner in entity.owners]


def _summary_columns(names: Mapping[str, str]) -> "Sequence[TableColumn[Entity]]":
    return (
        TableColumn("urn", read=lambda entity: str(entity.urn), dtype="string"),
        TableColumn("name", dtype="string"),
        TableColumn("type", read=lambda entity: entity.entity_type, dtype="string"),
        TableColumn("platform", dtype="string"),
        TableColumn("description", read=lambda entity: entity.description or None, dtype="string"),
        TableColumn("edited", read=lambda entity: bool(entity.edited_description), dtype="bool"),
        *label_columns("owner", _owners_of, names),
        *label_columns("tag", lambda entity: entity.tags, names),
    )


def entities_table(entities: "Iterable[Entity]", names: Mapping[str, str] = _NO_NAMES) -> Table:
    """Return a row for each entity, in the given order.

    urn, name, type, platform         string
    description                       string   the edited description, else the ingested one
    edited                            bool     whether there is an edited description
    owners, tags, terms               object   lists of names, from `names`, else from the URNs
    owner_urns, tag_urns, term_urns   object   lists
    domain, domain_urn                string   of the first domain
    removed, deprecated               bool

    Values of aspects that were not read are missing, empty or false.
    """
    columns = (
        *_summary_columns(names),
        *label_columns("term", lambda entity: entity.terms, names),
        *domain_columns(lambda entity: next(iter(entity.domains), None), names),
        TableColumn("removed", dtype="bool"),
        TableColumn("deprecated", read=lambda entity: entity.deprecation is not None, dtype="bool"),
    )
    return Table.from_records(entities, columns, "entities")


class _Result(NamedTuple):
    rank: int
    hit: "Hit"
    entity: "Entity"
    is_read: bool
    measures: "Measures | None"

    @property
    def row(self) -> ResultRow:
        return result_row(self.hit, self.entity)

    @property
    def column(self) -> "HitColumn":
        """The column, in a search of columns."""
        if self.hit.column is None:
            raise ValueError(f"{self.hit.urn} is no column")
        return self.hit.column


def _of_entity(column: "TableColumn[Entity]") -> TableColumn[_Result]:
    read = column.read or attrgetter(column.name)

    def value(result: _Result) -> Cell:
        is_known = result.is_read or column.dtype != LIST
        return read(result.entity) if is_known else None

    return TableColumn(column.name, read=value, audience="frames", dtype=column.dtype)


def _measure_column(name: str, dtype: str) -> TableColumn[_Result]:
    return TableColumn(name, read=lambda result: getattr(result.measures, name, None), dtype=dtype)


_RESULT_OF_COLUMN: Final[Sequence[TableColumn[_Result]]] = (
    TableColumn("urn", read=lambda result: str(result.hit.urn), dtype="string"),
    TableColumn("name", read=lambda result: result.row.name, dtype="string"),
    TableColumn("type", read=lambda result: result.hit.urn.entity_type, dtype="string"),
    TableColumn("platform", read=lambda result: result.row.platform, dtype="string"),
    TableColumn("description", read=lambda result: result.row.description or None, dtype="string"),
    TableColumn("edited", read=lambda result: result.row.is_edited, dtype="bool"),
    TableColumn("table", read=lambda result: result.row.folder, dtype="string"),
    TableColumn("path", read=lambda result: result.column.path, dtype="string"),
    TableColumn("native_type", read=lambda result: result.column.native_type, dtype="string"),
)


def search_table(
    hits: "Iterable[Hit]",
    summaries: "Mapping[Urn, Entity] | None" = None,
    measures: "Mapping[Urn, Measures] | None" = None,
    start: int = 0,
    names: Mapping[str, str] = _NO_NAMES,
) -> Table:
    """Return a row for each hit, best first, for data frames.

    urn, name, type, platform   string
    description                 string   the edited description, else the ingested one
    edited                      bool     whether there is an edited description
    owners, tags                object   lists of names, from `names`, else from the URNs
    owner_urns, tag_urns        object   lists
    rows, queries               Int64    of the latest profile; of the last 30 days
    changed                     datetime64[ms, UTC]   when the dataset or its rows last changed
    matched                     object   lists of the fields that matched

    Entities that are not in `summaries` have only what their URN contains, and no lists; those that
    are not in `measures` have no rows, queries and changed. The index `rank` starts at `start`.
    Column results have `table`, `path` and `native_type` in place of owners, tags, rows, queries
    and changed.
    """
    from explorer.client.entity import Entity

    hits = tuple(hits)
    about: Sequence[TableColumn[_Result]] = (
        *map(_of_entity, _summary_columns(names)),
        _measure_column("rows", "Int64"),
        _measure_column("queries", "Int64"),
        _measure_column("changed", TIME),
    )
    if hits and all(hit.column for hit in hits):
        about = _RESULT_OF_COLUMN
    columns = (
        TableColumn("rank", audience="index", dtype="int64"),
        *about,
        TableColumn(
            "matched",
            read=lambda result: [*dict.fromkeys(match.field for match in result.hit.matches)],
            dtype=LIST,
        ),
    )
    results = [
        _Result(
            rank,
            hit,
            (summaries or {}).get(hit.entity_urn) or Entity(hit.entity_urn, {}),
            hit.entity_urn in (summaries or {}),
            (measures or {}).get(hit.urn),
        )
        for rank, hit in enumerate(hits, start)
    ]
    return Table.from_records(results, columns, "results")
