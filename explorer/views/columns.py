"""The columns of a table, to be shown: rows, filters, order, measurements, a table for programs,
and the schema that a command prints."""

import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from explorer.client.display import LINE_LIMIT, counted, line
from explorer.errors import ServerFault
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.views.history import proposer_of
from explorer.views.parts import Report
from explorer.views.table import Table, TableColumn, label_columns, to_objects
from explorer.views.text import EDITED, TextLine, join_pieces, text_line
from explorer.views.timeseries import comparable_profiles, newest_with_columns, usage_of

if TYPE_CHECKING:
    from explorer.client.entity import Column, Entity, Schema
    from explorer.client.records import ColumnChange, Timeseries
    from explorer.metadata.aspects import FieldProfile

_T = TypeVar("_T")
_SAMPLES: Final = 6
_UNKNOWN_ACTOR: Final = "unknown"


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """The dataset and column that a foreign key refers to; `column` may be empty."""

    dataset: Urn
    column: str = ""


@dataclass(frozen=True, slots=True)
class ColumnMeasurements:
    """The use and the latest profile of columns, by field path.

    `rows` is the profile's row count. `profiled_at` is the time of the profile, if a later profile
    counted only rows, else `None`.
    """

    use: Mapping[str, int] = field(default_factory=dict)
    profiles: "Mapping[str, FieldProfile]" = field(default_factory=dict)
    rows: int | None = None
    profiled_at: datetime | None = None

    @property
    def most(self) -> int:
        """The number of uses of the most used column."""
        return max(self.use.values(), default=0)


@dataclass(frozen=True, slots=True)
class ColumnKnowledge:
    """Facts about an entity's columns beyond its schema, by field path.

    `names` are the names of tags, terms, datasets and people, by URN; `changes` the changes that
    wrote the present descriptions; `drafts` the columns that have a draft.
    """

    measured: ColumnMeasurements = field(default_factory=ColumnMeasurements)
    foreign: Mapping[str, ForeignKey] = field(default_factory=dict)
    names: Mapping[Urn, str] = field(default_factory=dict)
    changes: "Mapping[str, ColumnChange]" = field(default_factory=dict)
    drafts: Collection[str] = ()


NOTHING_KNOWN: Final = ColumnKnowledge()
"""The value if only the schema was read."""


@dataclass(frozen=True, slots=True)
class ColumnRow:
    """A column as it is shown.

    `label` is its name below its parent, or its whole path if it is shown without its parents, and
    `indent` the number of its ancestors that are shown. `tags` and `terms` are names. `foreign_key`
    is the `table.column` that it refers to. `uses` is `None` if the use of columns was not
    measured, `nulls` the share of rows that are null. `profiled_at` is when the figures were
    measured, if a later profile has none. `change` wrote the present description, and
    `author` is the name of its author, empty if unknown. A row that is not `wanted` is shown only
    because of its children.
    """

    column: "Column"
    label: str
    indent: int = 0
    tags: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    foreign_key: str = ""
    uses: int | None = None
    nulls: float | None = None
    distinct: int | None = None
    samples: tuple[str, ...] = ()
    profiled_at: datetime | None = None
    change: "ColumnChange | None" = None
    author: str = ""
    has_draft: bool = False
    is_match: bool = True

    @property
    def path(self) -> str:
        """The field path."""
        return self.column.path.raw

    @property
    def type(self) -> str:
        """The catalog's type, else the platform's."""
        return self.column.type or self.column.native_type

    @property
    def facts(self) -> tuple[str, ...]:
        """The platform's type, whether the column is nullable, and whether it is a key."""
        column = self.column
        nullable = "nullable" if column.nullable else "not null"
        key = "key" if column.is_key else ""
        return tuple(filter(None, (column.native_type or column.type, nullable, key)))

    @property
    def description(self) -> str:
        """The edited description, else the ingested one."""
        return self.column.description

    @property
    def is_edited(self) -> bool:
        """Whether the description is an edited one."""
        return bool((self.column.edited or "").strip())

    @property
    def earlier(self) -> str:
        """A remark that people wrote about the column under an earlier path; see
        `earlier_words`."""
        return earlier_words(self.column)

    @property
    def written_by(self) -> str:
        """Who wrote the present description, and who proposed it: `by Ana, proposed by
        claude-code`; empty if unknown."""
        proposer = proposer_of(self.change.run_id) if self.change else ""
        words = (f"by {self.author}" if self.author else "", f"proposed by {proposer}")
        return ", ".join(filter(None, words if proposer else words[:1]))

    @property
    def replaced_description(self) -> str:
        """The ingested description that was replaced by an edited one; empty if there is none."""
        ingested = (self.column.ingested or "").strip()
        return ingested if self.is_edited and ingested != self.description else ""


@dataclass(frozen=True, slots=True)
class ShownColumn:
    """A column that is shown.

    One that is not `is_match` is shown only because of its children; one that is `is_flat` is shown
    without its parents.
    """

    column: "Column"
    is_match: bool = True
    is_flat: bool = False


def column_row(
    row_column: "Column | ShownColumn",
    knowledge: ColumnKnowledge = NOTHING_KNOWN,
    *,
    flat: bool = False,
) -> ColumnRow:
    """Return the row of a column; with `flat` it is shown without its parents."""
    if not isinstance(row_column, ShownColumn):
        row_column = ShownColumn(row_column, is_flat=flat)
    column, measured = row_column.column, knowledge.measured
    path = column.path.raw
    foreign, profile = knowledge.foreign.get(path), measured.profiles.get(path)
    change = knowledge.changes.get(path)
    actor = Urn.parse_all([change.created.actor]) if change and change.created else ()
    nulls = profile.null_proportion if profile else None
    if profile and nulls is None and profile.null_count is not None and measured.rows:
        nulls = profile.null_count / measured.rows

    def names(urns: Iterable[Urn]) -> tuple[str, ...]:
        return tuple(knowledge.names.get(urn) or urn.name for urn in urns)

    return ColumnRow(
        column,
        column.path.simple if row_column.is_flat else column.name,
        0 if row_column.is_flat else column.depth,
        names(column.tags),
        names(column.terms),
        f"{names([foreign.dataset])[0]}.{foreign.column}".rstrip(".") if foreign else "",
        measured.use.get(path, 0) if measured.most else None,
        nulls,
        profile.unique_count if profile else None,
        tuple(profile.sample_values or ())[:_SAMPLES] if profile else (),
        measured.profiled_at if profile else None,
        change,
        next(iter(names(urn for urn in actor if urn.name != _UNKNOWN_ACTOR)), ""),
        path in knowledge.drafts,
        row_column.is_match,
    )


def earlier_words(column: "Column") -> str:
    """Return a remark that people wrote about a column under an earlier path, before its type or
    the case of its name changed; empty if they did not."""
    earlier = column.earlier
    return f"written for the earlier {earlier.below(column.path)}" if earlier else ""


def columns_table(
    title: str, columns: "Iterable[Column]", names: "Mapping[Urn, str] | None" = None
) -> Table:
    """Return a row for each column, for programs. Data frames have:

    path                 string   the exact field path, as the server uses it
    name                 string   the part of the path below the parent
    type, native_type    string   the catalog's type, and the platform's
    nullable, key        bool
    depth                int64    the number of ancestors
    description          string   the edited description, else the ingested one
    ingested, edited     string   the ingested and the edited description
    documented           bool     whether there is a description
    tags, terms          object   lists of names, from `names`, else from the URNs
    tag_urns, term_urns  object   lists
    earlier              string   the path that people wrote for, if the type or case changed since
    """
    described = (
        TableColumn("path", read=lambda column: column.path.raw),
        TableColumn("name", None, lambda column: column.path.simple, "files"),
        TableColumn("name", audience="frames"),
        *_with_missing("type", "native_type"),
        TableColumn("nullable", dtype="bool"),
        TableColumn("key", read=lambda column: column.is_key, dtype="bool"),
        TableColumn("depth", audience="frames", dtype="int64"),
        *_with_missing("description", "ingested", "edited"),
        TableColumn("documented", audience="frames", dtype="bool"),
        TableColumn("tags", None, lambda column: tuple(map(str, column.tags)), "files"),
        TableColumn("terms", None, lambda column: tuple(map(str, column.terms)), "files"),
        *_labels_of_columns(names),
        TableColumn("earlier", read=lambda column: column.earlier and column.earlier.raw),
    )
    return Table.from_records(columns, described, title)


def _labels_of_columns(
    names: "Mapping[Urn, str] | None", column_of: "Callable[[Any], Column]" = lambda column: column
) -> Iterator[TableColumn]:
    """Yield the tags and the terms of columns as lists for data frames."""
    names_by_urn = {str(urn): name for urn, name in (names or {}).items()}
    yield from label_columns("tag", lambda record: column_of(record).tags, names_by_urn)
    yield from label_columns("term", lambda record: column_of(record).terms, names_by_urn)


def _with_missing(*names: str) -> Iterator[TableColumn]:
    """Yield text columns whose empty values become missing values in data frames."""
    for name in names:
        yield TableColumn(name, audience="files")
        yield TableColumn(name, None, partial(_text_of, name), "frames")


def _text_of(name: str, column: "Column") -> str | None:
    return getattr(column, name) or None


def found_columns_table(
    found: "Iterable[tuple[Entity, Column]]", names: "Mapping[Urn, str] | None" = None
) -> Table:
    """Return a row for each column found, with its dataset, for data frames; `names` are the names
    of tags and terms, by URN."""
    columns = (
        TableColumn("urn", read=lambda pair: str(pair[0].urn)),
        TableColumn("table", read=lambda pair: pair[0].name),
        TableColumn("platform", read=lambda pair: pair[0].platform),
        TableColumn("column", read=lambda pair: pair[1].path.simple),
        TableColumn("path", read=lambda pair: pair[1].path.raw),
        TableColumn("type", read=lambda pair: pair[1].type or None),
        TableColumn("native_type", read=lambda pair: pair[1].native_type or None),
        TableColumn("nullable", read=lambda pair: pair[1].nullable, dtype="bool"),
        TableColumn("key", read=lambda pair: pair[1].is_key, dtype="bool"),
        TableColumn("description", read=lambda pair: pair[1].description or None),
        TableColumn("edited", read=lambda pair: bool(pair[1].edited), dtype="bool"),
        *_labels_of_columns(names, lambda pair: pair[1]),
    )
    return Table.from_records(found, columns, "columns")


def schema_of(entity: "Entity") -> "Schema | None":
    """Return the schema of an entity, or `None` if it does not have the expected shape."""
    try:
        return entity.schema
    except ServerFault:
        return None


def foreign_keys(entity: "Entity") -> dict[str, ForeignKey]:
    """Return the foreign keys of columns, by field path."""
    listed = (entity.raw("schemaMetadata") or {}).get("foreignKeys")
    keys: dict[str, ForeignKey] = {}
    for key in listed if isinstance(listed, list) else ():
        if not isinstance(key, dict):
            continue
        columns_in = list(_columns_in(key.get("foreignFields")))
        datasets = Urn.parse_all([key.get("foreignDataset")])
        for at, (_, path) in enumerate(_columns_in(key.get("sourceFields"))):
            dataset, column = columns_in[at] if at < len(columns_in) else (None, "")
            target = dataset or (datasets[0] if datasets else None)
            if target is not None:
                keys.setdefault(path, ForeignKey(target, column))
    return keys


def column_measurements(
    usage: "Timeseries | None", profile: "Timeseries | None", schema: "Schema"
) -> ColumnMeasurements:
    """Return the measurements of the columns of a schema, from the latest profile that measured
    columns; `None` stands for data that could not be read.

    Uses are often counted by paths without types; if several columns share such a path, its uses
    count for each of them.
    """
    counts: Counter[str] = Counter()
    for path, count in usage_of(usage).columns if usage else ():
        counts[path] += count
    points = comparable_profiles(profile.profiles() if profile else ())
    newest = newest_with_columns(points)
    if newest is None:
        return ColumnMeasurements(_by_raw(counts, schema))
    profiles = {
        field_profile.field_path: field_profile for field_profile in newest.field_profiles or ()
    }
    return ColumnMeasurements(
        _by_raw(counts, schema),
        _by_raw(profiles, schema),
        newest.row_count,
        newest.at if newest is not points[-1] else None,
    )


def in_tree_order(
    columns: "Sequence[Column]", folded: Collection[str], chosen: Collection[int] | None = None
) -> list[ShownColumn]:
    """Return the columns to show, parents before their children.

    Columns below one whose field path is `folded` are left out. With `chosen`, indexes in
    `columns`, these and their parents are returned, whether folded or not.
    """
    if chosen is not None:
        paths = _with_parents(columns, chosen)
        return [ShownColumn(columns[at], at in chosen) for at in sorted(paths)]
    tree_columns: list[ShownColumn] = []
    hidden_below: int | None = None
    for column in columns:
        if hidden_below is not None and column.depth > hidden_below:
            continue
        hidden_below = column.depth if column.path.raw in folded else None
        tree_columns.append(ShownColumn(column))
    return tree_columns


def by_use(
    columns: "Sequence[Column]", counts: Mapping[str, int], chosen: Collection[int] | None = None
) -> list[ShownColumn]:
    """Return the columns, most used first, equally used ones in schema order."""
    places = range(len(columns)) if chosen is None else sorted(chosen)
    ranked = sorted(places, key=lambda at: (-counts.get(columns[at].path.raw, 0), at))
    return [ShownColumn(columns[at], is_flat=True) for at in ranked]


COLUMN_STATES: "Final[Mapping[str, Callable[[Column], bool]]]" = {
    "documented": lambda column: column.documented,
    "undocumented": lambda column: not column.documented,
    "edited": lambda column: bool(column.edited),
    "ingested": lambda column: bool(column.ingested),
    "key": lambda column: column.is_key,
    "nullable": lambda column: column.nullable,
    "recursive": lambda column: column.recursive,
    "tagged": lambda column: bool(column.tags),
    "termed": lambda column: bool(column.terms),
    "earlier": lambda column: column.earlier is not None,
}
"""The states that `is:` accepts in a column filter."""

_FIELDS_ALONE: Final = ("type:", "tag:", "term:", "is:")
_CONDITION: Final = re.compile(
    r"(?P<no>[-!]?)(?:(?P<field>type|tag|term|is):)?"
    r'(?:"(?P<quoted>[^"]*)"?|(?P<word>\S+))'
)


@dataclass(frozen=True, slots=True)
class _Condition:
    field: str
    value: str
    is_negated: bool


@dataclass(frozen=True, slots=True)
class ColumnFilter:
    """A filter of conditions that must all be met. `trouble` describes a condition that could not
    be parsed."""

    conditions: tuple[_Condition, ...] = ()
    trouble: str = ""

    def __bool__(self) -> bool:
        return bool(self.conditions)

    def chosen(self, columns: "Sequence[Column]", names: Mapping[Urn, str]) -> frozenset[int]:
        """Return the indexes of the columns that match; `names` are the names of tags and terms, by
        URN."""
        return frozenset(at for at, column in enumerate(columns) if self.passes(column, names))

    def passes(self, column: "Column", names: Mapping[Urn, str]) -> bool:
        """Return whether a column meets all conditions."""
        return all(
            _matches(condition, column, names) != condition.is_negated
            for condition in self.conditions
        )


def parse_column_filter(text: str) -> ColumnFilter:
    """Parse a filter.

    A word matches part of a path or description; `type:`, `tag:`, `term:` and `is:` start other
    conditions, and `-` or `!` in front negates a condition.
    """
    conditions = []
    trouble = ""
    for match in _CONDITION.finditer(text):
        value = (match["quoted"] if match["word"] is None else match["word"]).lower()
        name = match["field"] or ""
        if not value or value in _FIELDS_ALONE:
            continue
        if name == "is" and value not in COLUMN_STATES:
            meant = [state for state in COLUMN_STATES if state.startswith(value)]
            if not meant:
                trouble = f"is: takes {', '.join(COLUMN_STATES)}"
            if len(meant) != 1:
                continue
            value = meant[0]
        conditions.append(_Condition(name, value, bool(match["no"])))
    return ColumnFilter(tuple(conditions), trouble)


def _matches(condition: _Condition, column: "Column", names: Mapping[Urn, str]) -> bool:
    value = condition.value
    match condition.field:
        case "type":
            return value in column.type.lower() or value in column.native_type.lower()
        case "tag":
            return _has_name(column.tags, value, names)
        case "term":
            return _has_name(column.terms, value, names)
        case "is":
            return COLUMN_STATES[value](column)
        case _:
            return value in column.path.simple.lower() or value in column.description.lower()


def _has_name(urns: Sequence[Urn], value: str, names: Mapping[Urn, str]) -> bool:
    return any(value in urn.name.lower() or value in names.get(urn, "").lower() for urn in urns)


def _columns_in(listed: object) -> "Iterable[tuple[Urn, str]]":
    for urn in Urn.parse_all(listed if isinstance(listed, list) else ()):
        if urn.entity_type == "schemaField" and len(urn.parts) > 1:
            for dataset in Urn.parse_all(urn.parts[:1]):
                yield dataset, urn.parts[1]


def _by_raw(values: Mapping[str, _T], schema: "Iterable[Column]") -> dict[str, _T]:
    simple = {FieldPath(path).simple: value for path, value in values.items()}
    values_by_raw: dict[str, _T] = {}
    for column in schema:
        found_value = values.get(column.path.raw, simple.get(column.path.simple))
        if found_value is not None:
            values_by_raw[column.path.raw] = found_value
    return values_by_raw


def _with_parents(columns: "Sequence[Column]", chosen: Collection[int]) -> set[int]:
    indexes: set[int] = set()
    ancestors: list[int] = []
    for at, column in enumerate(columns):
        del ancestors[column.depth :]
        ancestors.append(at)
        if at in chosen:
            indexes.update(ancestors)
    return indexes


# The page of a dataset shows the rest of a long description.
_MAX_DESCRIPTION: Final = 240


def select_columns(
    columns: "Iterable[Column]",
    names: Mapping[Urn, str],
    *,
    tags: Sequence[str] = (),
    text: str = "",
    path: str = "",
    undocumented: bool = False,
) -> "list[Column]":
    """Return the columns that have all these tags or terms (given by name or URN), contain `text`
    in their path or description, and with `undocumented` have no description. With `path`, only the
    column with this field path is considered."""

    def is_selected(column: "Column") -> bool:
        labels = [*column.tags, *column.terms]
        label_texts = {
            label_text.casefold()
            for urn in labels
            for label_text in (str(urn), urn.name, names.get(urn) or urn.name)
        }
        texts = "\n".join((column.path.simple, column.path.raw, column.description)).casefold()
        return (
            all(tag.casefold() in label_texts for tag in tags)
            and text.casefold() in texts
            and path in ("", column.path.raw)
            and not (undocumented and column.documented)
        )

    return [column for column in columns if is_selected(column)]


def schema_report(
    entity: "Entity", columns: "Sequence[Column]", names: Mapping[Urn, str], *, version: int
) -> Report:
    """Return a report on columns of a dataset: as a tree if `columns` are all of them, else without
    parents. `names` are the names of tags and terms, by URN."""
    schema = entity.schema
    is_whole = len(columns) == len(schema)
    knowledge = ColumnKnowledge(names=names)
    rows = [column_row(column, knowledge, flat=not is_whole) for column in columns]
    labelled = any(row.tags or row.terms for row in rows)
    tree: Sequence[TableColumn[ColumnRow]] = (
        TableColumn("column", read=_indented_label, max_width=36, folds=True),
        TableColumn("type", max_width=12),
        TableColumn("facts", "", _key_and_null),
        TableColumn(
            "labels",
            "tags, terms",
            _label_names,
            folds=True,
            audience="everyone" if labelled else "programs",
        ),
        TableColumn("description", read=_short_description, folds=True),
    )
    parents = [
        {"depth": column.depth, "parent": column.parent.raw if column.parent else None}
        for column in columns
    ]
    table = columns_table("", columns)
    document = {
        "urn": str(entity.urn),
        "version": version,
        "total": len(schema),
        "documented": schema.documented,
        "columns": [row | of for row, of in zip(to_objects(table), parents, strict=True)],
        "orphans": [orphan.field_path for orphan in schema.orphans],
    }
    parts = [Table.from_records(rows, tree)]
    return Report(table, parts, document, notes=tuple(_schema_notes(entity, len(columns), version)))


def page_columns(schema: "Schema") -> Table:
    """Return the columns for the page of a dataset; a column with an edited description also shows
    the ingested one that it replaced."""
    columns: Sequence[TableColumn[ColumnRow]] = (
        TableColumn("column", read=_indented_label, folds=True),
        TableColumn("type"),
        TableColumn("key", read=lambda row: "key" if row.column.is_key else "", style="bold"),
        TableColumn("description", read=described_line, folds=True),
        TableColumn(
            "replaced",
            read=lambda row: (
                f"from ingestion: {row.replaced_description}" if row.replaced_description else ""
            ),
            is_below=True,
            folds=True,
            style="dim",
        ),
    )
    return Table.from_records(map(column_row, schema), columns, is_list=True)


def _indented_label(row: ColumnRow) -> TextLine:
    return text_line("  " * row.indent, row.label)


def _key_and_null(row: ColumnRow) -> str:
    words = {"key": row.column.is_key, "null": row.column.nullable}
    return " ".join(word for word, holds in words.items() if holds)


def _label_names(row: ColumnRow) -> TextLine:
    terms = [(name, "italic") for name in row.terms]
    return text_line(*join_pieces([*(f"#{name}" for name in row.tags), *terms], ", "))


def _short_description(row: ColumnRow) -> TextLine:
    return described_line(row, _MAX_DESCRIPTION)


def described_line(row: ColumnRow, limit: int = LINE_LIMIT) -> TextLine:
    """Return the description of a column in one line, marked if it was edited, with a remark if it
    was written under an earlier path."""
    mark = f"{EDITED} " if row.is_edited else ""
    text = line(row.description, limit)
    missing = "" if text else "no description"
    earlier = f" ({row.earlier})" if row.earlier else ""
    return text_line(mark, text, (missing, "dim italic"), (earlier, "dim"))


def _schema_notes(entity: "Entity", shown_count: int, version: int) -> Iterator[str]:
    schema = entity.schema
    if not schema.columns:
        yield "the catalog has no columns for this dataset"
    else:
        edited = sum(bool((column.edited or "").strip()) for column in schema)
        total = counted(len(schema), "column")
        if shown_count != len(schema):
            total = f"{shown_count:,} of {len(schema):,} shown"
        edited_count = f", {edited:,} {EDITED} edited" if edited else ""
        yield f"{total}, {schema.documented:,} documented{edited_count}"
    if version:
        yield f"version {version} of the ingested schema; edited descriptions are not part of it"
    if any(column.earlier for column in schema):
        urn = shlex.quote(str(entity.urn))
        yield f"catalog describe {urn} --carry-over moves what was written before"
    for orphan in schema.orphans:
        yield f"has edits, but is no longer a column: {orphan.field_path}"
