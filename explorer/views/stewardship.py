"""Coverage, the worklist, changesets and glossary changes, to be shown: tables for people and for
programs.

Tables for people have the headings and words that every front end shows; those for programs have
all values under stable names.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from explorer.client.display import counted, has_words, hidden_count, line, moment
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.names import singular
from explorer.metadata.proposal import millis_of
from explorer.metadata.urn import Urn
from explorer.stewardship.staging import STATES, deprecation_in
from explorer.views.absence import NONE
from explorer.views.chart import Line, Lines, Point
from explorer.views.diff import Diff, DiffLine, plain_lines, text_diff
from explorer.views.journal import value_words
from explorer.views.parts import Difference, Report, ReportPart
from explorer.views.table import LIST, TIME, Row, Table, TableColumn, attributes, to_objects
from explorer.views.text import TextLine, text_line

if TYPE_CHECKING:
    from explorer.client.records import RefusedChange
    from explorer.stewardship import StagedOutcome
    from explorer.stewardship.changeset import Change, Changeset
    from explorer.stewardship.concepts import Concept, ConceptColumn
    from explorer.stewardship.coverage import (
        Count,
        Coverage,
        CoverageTrend,
        DayCount,
        Group,
        GroupTrend,
        Part,
    )
    from explorer.stewardship.documentation import Row as TextRow
    from explorer.stewardship.drafting import DraftingFailure, DraftingOutcome
    from explorer.stewardship.glossary import GlossaryChange, GlossaryOutcome
    from explorer.stewardship.proposals import SharedChangeset
    from explorer.stewardship.provenance import PropagatedOutcome, PropagatedText
    from explorer.stewardship.staging import (
        ReviewItem,
        ReviewState,
        StagedChangeset,
        StagedEdit,
        StagedKind,
        TextSource,
    )
    from explorer.stewardship.worklist import Item, Worklist

PARTS: "Final[tuple[Part, ...]]" = ("tables", "columns")
COUNTS: Final = ("total", "documented", "edited", "ingested", "percent")
"""The names of the counts of each part, which are attributes of `Count`."""

NO_TEXT: Final = "(no description)"
"""Shown instead of a description if there is none."""

NO_DATASET: Final = "no dataset matches"
"""Shown instead of counts if none was selected."""

WHOLE_TABLE: Final = "(the table itself)"
"""Shown instead of a column for the table itself."""


def percent_of(count: "Count | DayCount") -> str:
    """Return the documented share: `62.5%`, `43.0%`."""
    return NONE.phrase if count.percent is None else f"{count.percent:.1f}%"


def count_sentence(count: "Count") -> str:
    """Return how many tables or columns are documented, and by whom, in words."""
    if not count.total:
        return NONE.phrase
    return (
        f"{count.documented:,} of {count.total:,} documented ({percent_of(count)}), "
        f"{count.edited:,} by people, {count.ingested:,} by ingestion"
    )


def group_name(group: "Group | GroupTrend", by: str | None) -> str:
    """Return the name of a group; `(no owner)` for datasets without one."""
    return group.name or f"(no {by})"


def coverage_page(coverage: "Coverage") -> Table:
    """Return the coverage as a table for people: with groups that of `coverage_table`, else a row
    for tables and one for columns."""
    if coverage.by is not None:
        return coverage_table(coverage)
    columns = (
        TableColumn("part", "", style="bold"),
        TableColumn("total"),
        TableColumn("documented"),
        TableColumn("percent", "%", decimals=1),
        TableColumn("edited", "by people"),
        TableColumn("ingested", "by ingestion"),
    )
    counts = attrgetter(*(column.name for column in columns[1:]))
    return Table(columns, [(part, *counts(coverage.of(part))) for part in PARTS], "Coverage")


def coverage_table(coverage: "Coverage") -> Table:
    """Return the coverage as a table: a row for each group, or without groups a single row without
    a key."""
    from explorer.stewardship.coverage import Group

    headings = {"documented": "done", "percent": "%"}
    columns = (
        *attributes("key", "name", audience="programs"),
        _group_column(coverage.by),
        *(
            TableColumn(
                f"{part}_{field}",
                headings.get(field, part),
                attrgetter(f"{part}.{field}"),
                "everyone" if field in _SHOWN_COUNTS else "programs",
                dtype="Float64" if field == "percent" else "int64",
                decimals=1,
            )
            for part in PARTS
            for field in COUNTS
        ),
        TableColumn("undocumented", "missing", attrgetter("columns.undocumented"), "people"),
    )
    groups = coverage.groups if coverage.by else [Group("", "", coverage.tables, coverage.columns)]
    return Table.from_records(groups, columns, "coverage")


def _group_column(by: str | None) -> TableColumn:
    # Folder names differ at their ends.
    cut: Literal["start", "end"] = "start" if by == "folder" else "end"
    name = partial(group_name, by=by)
    return TableColumn("group", by, name, "people", folds=True, cut=cut, style="bold")


_SHOWN_COUNTS: Final = ("total", "documented", "percent")
_MOST_LINES: Final = 6


def trend_charts(trend: "CoverageTrend", parts: "Sequence[Part]" = PARTS) -> tuple[Lines, ...]:
    """Return the documented share over time as charts.

    Without groups one chart with a line for tables and one for columns; with groups a chart for
    each part, with a line for each of the first six groups.
    """
    if trend.by is None:
        lines = tuple(Line(part, _shares(trend, trend.of(part))) for part in parts)
        return (Lines("Documented", lines, "share"),)
    groups = trend.groups[:_MOST_LINES]
    return tuple(
        Lines(
            f"Documented {part} by {trend.by}",
            tuple(
                Line(group_name(group, trend.by), _shares(trend, group.of(part)))
                for group in groups
            ),
            "share",
        )
        for part in parts
    )


def _shares(trend: "CoverageTrend", counts: "Sequence[DayCount]") -> tuple[Point, ...]:
    """Return the shares, each at the start of its day; a gap if there was nothing to document."""
    return tuple(
        (
            _start_of(day),
            count.documented / count.total if count.total else None,
        )
        for day, count in zip(trend.days, counts, strict=True)
    )


def trend_page(trend: "CoverageTrend") -> Table:
    """Return the trend as a table for people.

    Without groups it has a row for each day on which a count changed, and for the first and last
    day, newest first; with groups a row for each, with the present share and its change in
    percentage points.
    """
    if trend.by is None:
        columns = (
            TableColumn("day", style="bold"),
            *(
                TableColumn(f"{part}_{field}", heading, decimals=1)
                for part in PARTS
                for field, heading in (("total", part), ("documented", "done"), ("percent", "%"))
            ),
        )
        rows: list[Row] = []
        for at in range(len(trend.days) - 1, -1, -1):
            counts = [trend.of(part)[at] for part in PARTS]
            if 0 < at < len(trend.days) - 1 and counts == [
                trend.of(part)[at - 1] for part in PARTS
            ]:
                continue
            cells = (
                cell for count in counts for cell in (count.total, count.documented, count.percent)
            )
            rows.append((trend.days[at].isoformat(), *cells))
        return Table(columns, rows, "Coverage over time")
    columns = (
        TableColumn("name", trend.by, folds=True, style="bold"),
        *(
            TableColumn(f"{part}_{field}", heading, decimals=1)
            for part in PARTS
            for field, heading in (("total", part), ("percent", "%"), ("change", "change"))
        ),
    )
    rows = []
    for group in trend.groups:
        changes = (cell for part in PARTS for cell in _change_cells(group.of(part)))
        rows.append((group_name(group, trend.by), *changes))
    return Table(columns, rows, f"Coverage over time by {trend.by}", trend.group_total)


def _change_cells(counts: "Sequence[DayCount]") -> tuple[int, float | None, str | None]:
    last = counts[-1]
    change = trend_change(counts)
    return last.total, last.percent, None if change is None else f"{change:+.1f}"


def trend_change(counts: "Sequence[DayCount]") -> float | None:
    """Return the change of the documented share in percentage points, since the first day with
    anything to document; `None` without two such days."""
    shares = [count.percent for count in counts if count.percent is not None]
    return round(shares[-1] - shares[0], 1) if len(shares) > 1 and counts[-1].total else None


class _GroupDay(NamedTuple):
    """The counts of a group on a day."""

    key: str
    name: str
    date: date
    tables: "DayCount"
    columns: "DayCount"


def trend_table(trend: "CoverageTrend") -> Table:
    """Return the trend as a table for programs: a row for each group and day, oldest first, or
    without groups for each day."""
    columns = (
        *attributes("key", "name"),
        TableColumn("day", read=lambda row: row.date.isoformat(), audience="files"),
        TableColumn("day", read=lambda row: _start_of(row.date), audience="frames", dtype=TIME),
        *(
            TableColumn(
                f"{part}_{field}",
                read=attrgetter(f"{part}.{field}"),
                dtype="Float64" if field == "percent" else "int64",
            )
            for part in PARTS
            for field in _SHOWN_COUNTS
        ),
    )
    total = [("", "", trend.tables, trend.columns)]
    groups = [(group.key, group.name, group.tables, group.columns) for group in trend.groups]
    days = [
        _GroupDay(key, name, *day)
        for key, name, *series in (groups if trend.by else total)
        for day in zip(trend.days, *series, strict=True)
    ]
    return Table.from_records(days, columns, "coverage trend")


def _start_of(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def trend_sentences(trend: "CoverageTrend") -> tuple[str, ...]:
    """Return how the documented shares changed, and since when they are known, in words."""
    if not trend.days:
        return ("nothing is known of earlier days",)
    sentences = []
    for part in PARTS:
        counts, change = trend.of(part), trend_change(trend.of(part))
        since = (
            f", {change:+.1f} points since {trend.days[0]:%Y-%m-%d}" if change is not None else ""
        )
        if counts[-1].total:
            sentences.append(f"{part}: {percent_of(counts[-1])} documented{since}")
    if trend.since is not None and trend.days[0] == trend.since:
        sentences.append(f"nothing is known before {trend.since:%Y-%m-%d}")
    if trend.group_total > len(trend.groups):
        sentences.append(f"the first {len(trend.groups):,} of {trend.group_total:,} groups")
    return tuple(sentences)


def worklist_table(worklist: "Worklist") -> Table:
    """Return the worklist as a table, with the numbers that an item's rank comes from.

    For programs `column` is the field path, `None` for a table itself. For people tables of the
    same name get a distinction: `orders (hive)`.
    """
    columns = (
        TableColumn("weight", audience="people", dtype="int64"),
        TableColumn("used", None, lambda item: item.use, "people", dtype="int64"),
        TableColumn("used_of", "of", _use_source, "people", style="dim"),
        TableColumn("downstream", None, _downstream, "people", dtype="int64"),
        *attributes("urn", "table", "platform", audience="programs"),
        replace(_distinct_names(worklist.items), detail="urn"),
        TableColumn("column", None, _column_or_table, "people", folds=True),
        TableColumn("column", None, _simple_path, "frames"),
        TableColumn("column", None, _exact_path, "files"),
        TableColumn("path", None, _exact_path, "frames"),
        TableColumn("type", max_width=12, style="dim"),
        TableColumn("weight", audience="files"),
        TableColumn("used", None, lambda item: item.use, "files"),
        TableColumn("used_of", None, lambda item: item.use_of, "files"),
        TableColumn("use", audience="frames", dtype="int64"),
        TableColumn("use_of", audience="frames"),
        TableColumn("downstream", audience="programs", dtype="int64"),
        TableColumn("at_least", audience="programs", dtype="bool"),
        TableColumn("weight", audience="frames", dtype="int64"),
    )
    return Table.from_records(worklist.items, columns, "worklist")


def _distinct_names(records: "Sequence[Item] | Sequence[ConceptColumn]") -> TableColumn:
    from explorer.graph.nodes import distinguish_names

    tables = distinguish_names((record.urn, {"name": record.table}) for record in records)

    def read_name(record: "Item | ConceptColumn") -> str:
        return str(tables[record.urn]["name"])

    return TableColumn("table", None, read_name, "people", folds=True, style="bold")


def _use_source(item: "Item") -> str | None:
    return item.use_of if item.use else None


def _downstream(item: "Item") -> int | str:
    return f"{item.downstream:,}+" if item.at_least else item.downstream


def _simple_path(item: "Item") -> str | None:
    return item.column.simple if item.column else None


def _column_or_table(item: "Item") -> str:
    return _simple_path(item) or WHOLE_TABLE


def _exact_path(item: "Item") -> str | None:
    return item.column.raw if item.column else None


def item_sentences(item: "Item", days: int) -> tuple[str, str]:
    """Return an item's use in the period, and the number of entities derived from its table, in
    words."""
    used = f"used {item.use:,} times in {days} days" if item.use else "no use was measured"
    of_table = " (its table)" if item.use and item.use_of == "table" and item.column else ""
    at_least = "at least " if item.at_least else ""
    return f"{used}{of_table}", f"{at_least}{item.downstream:,} made from its table"


def worklist_counts(worklist: "Worklist") -> str:
    """Return how many undocumented tables and columns are listed, and how many there are, in
    words."""
    if not worklist.datasets:
        return NO_DATASET
    if not worklist.total:
        return "everything here is documented"
    return f"{len(worklist):,} of {worklist.total:,} undocumented shown"


@dataclass(frozen=True, slots=True)
class ConceptVariant:
    """A description in a concept as it is shown: its number from 1, 0 for columns without one, and
    the number of columns."""

    number: int
    count: int
    text: str


def concept_variants(concept: "Concept") -> tuple[ConceptVariant, ...]:
    """Return the different descriptions of a concept's columns, most frequent first, then an entry
    for the columns without one."""
    variants = [
        ConceptVariant(number, len(variant), variant.text)
        for number, variant in enumerate(concept.variants, 1)
    ]
    count = len(concept.undocumented)
    return (*variants, ConceptVariant(0, count, "")) if count else tuple(variants)


MORE_TABLES: Final = "more tables were not read"


def concept_sentence(concept: "Concept") -> str:
    """Return the number of columns, tables and descriptions, in words."""
    if not concept.columns:
        what = "with this term" if concept.term else "of this name"
        return f"no column {what}"
    texts, without = len(concept.variants), len(concept.undocumented)
    parts = [
        f"{counted(len(concept), 'column')} of {counted(concept.datasets, 'table')}",
        counted(texts, "text") if texts else "no text",
    ]
    if without:
        parts.append(f"{without:,} without a text")
    if concept.truncated:
        parts.append(MORE_TABLES)
    return ", ".join(parts)


def variants_page(concept: "Concept") -> Table:
    """Return a table for people of the descriptions in a concept, with their numbers and
    columns."""
    columns = (
        TableColumn("variant", "no."),
        TableColumn("columns"),
        TableColumn("text", folds=True, style="bold"),
    )
    rows: list[Row] = [
        (concept_variant.number or None, concept_variant.count, concept_variant.text or NO_TEXT)
        for concept_variant in concept_variants(concept)
    ]
    return Table(columns, rows, f"Texts of {concept.name}")


def concept_table(
    concept: "Concept",
    *,
    texts: bool = True,
    mark: "Callable[[ConceptColumn], str] | None" = None,
) -> Table:
    """Return a table of the columns of a concept, with the number of each one's description.

    For programs `column` is the field path. For people the table says whether people or ingestion
    wrote the description, and with `texts` shows it; tables of the same name get a distinction.
    `mark` returns the mark before a column.
    """
    numbers = _variant_numbers(concept)
    columns = (
        *((TableColumn("mark", " ", mark, "people"),) if mark is not None else ()),
        TableColumn("variant", "no.", lambda column: numbers[column.text] or None),
        *attributes("urn", "table", "platform", audience="programs"),
        _distinct_names(concept.columns),
        TableColumn("column", None, lambda column: column.path.simple, "people", folds=True),
        TableColumn("column", None, lambda column: column.path.raw, "programs"),
        TableColumn("type", max_width=12, style="dim"),
        TableColumn("by", None, _author_of, "people", max_width=9, style="dim"),
        *attributes("text", "edited", "ingested", audience="programs"),
        *((TableColumn("text", None, _text_line, "people", folds=True),) if texts else ()),
    )
    return Table.from_records(concept.columns, columns, "concept")


def _text_line(record: "ConceptColumn | PropagatedText") -> str:
    return " ".join(record.text.split())


def _variant_numbers(concept: "Concept") -> dict[str, int]:
    return {
        concept_variant.text: concept_variant.number
        for concept_variant in concept_variants(concept)
    }


def _author_of(column: "ConceptColumn") -> str:
    """Return who wrote the description of a column: `people` or `ingestion`."""
    if column.edited.strip():
        return "people"
    return "ingestion" if column.text else ""


def changes_table(changes: "tuple[Change, ...]") -> Table:
    """Return a table of the changes in a file, all cells text: position in the file, kind, table
    and column, the three texts, and the reason."""
    columns = (
        TableColumn("place", read=lambda change: change.entry.place),
        *attributes("kind", "urn", "table", "column", "base", "theirs", "mine", "why"),
    )
    return Table.from_records(changes, columns, "changes")


def change_counts(changeset: "Changeset") -> tuple[str, ...]:
    """Return the number of lines of each kind in a file, in words."""
    return tuple(f"{count:,} {kind}" for kind, count in changeset.counts().items())


def change_place(change: "Change") -> tuple[str, str]:
    """Return the table of a change and its column without types, which is empty for the table
    itself."""
    column = FieldPath(change.column).simple if change.column is not None else ""
    return change.table or change.urn, column


def change_diff(change: "Change") -> Diff:
    """Return a change as lines: the reason if it is not made, and the differences that it would
    write.

    For a conflict also the changes of somebody else, if the text that both started from is known.
    """
    notes = [
        DiffLine(note, "note", "") for note in (change.why, hidden_sentence(change.mine)) if note
    ]
    if change.theirs is None:
        return (
            *notes,
            *(DiffLine(plain_line.text, "note", "") for plain_line in plain_lines(change.mine)),
        )
    if change.kind != "conflict":
        return (*notes, *text_diff(change.theirs, change.mine, context=1, exact=True))
    theirs = _value_lines(change.theirs)
    if change.base is not None:
        theirs = text_diff(change.base, change.theirs, context=1, exact=True)
    return (
        *notes,
        DiffLine("what somebody else wrote:", "note", ""),
        *theirs,
        DiffLine("what it would become:", "note", ""),
        *text_diff(change.theirs, change.mine, context=1, exact=True),
    )


def others_diff(change: "Change") -> Diff:
    """Return as lines the changes that somebody else made to a text that the file leaves
    unchanged."""
    return text_diff(change.base or "", change.theirs or "", context=1, exact=True)


def hidden_sentence(text: str) -> str:
    """Return the number of invisible characters in a text, in words; empty if there are none."""
    count = hidden_count(text)
    return f"{counted(count, 'character')} in it cannot be seen" if count else ""


def _value_lines(text: str) -> Diff:
    return tuple(plain_lines(text)) or (DiffLine("(no text any more)", "note", ""),)


STATE_MARKS: "Final[dict[ReviewState, str]]" = {
    "open": "·",
    "accepted": "✓",
    "refused": "✗",
    "applied": "●",
    "failed": "!",
}
"""The mark shown next to a staged edit's state."""


_JOINTS: "Final[Mapping[StagedKind, str]]" = {"owners": ", ", "links": "\n"}


def review_table(items: "Sequence[ReviewItem]") -> Table:
    """Return a table of staged edits. People see the state, the place, and the new value of each.

    For programs all cells are text: labels are joined by spaces, owners by commas, links by line
    ends; a deprecation is JSON. `theirs` is the present value if somebody else has changed it in
    the meantime.
    """
    columns = (
        TableColumn("number", audience="files"),
        TableColumn("number", audience="frames", dtype="string"),
        TableColumn("state", audience="programs"),
        TableColumn("state", None, _state_with_mark, "people", max_width=10),
        TableColumn("urn", None, lambda item: item.edit.urn, "programs"),
        TableColumn("table", None, lambda item: item.edit.name, folds=True, style="bold"),
        TableColumn("column", None, lambda item: edit_column(item.edit), "people", folds=True),
        TableColumn("change", None, lambda item: edit_sentence(item.edit), "people", folds=True),
        TableColumn("from", None, item_source, "people", max_width=34, style="dim"),
        TableColumn("column", None, lambda item: item.edit.column, "programs"),
        TableColumn("what", None, lambda item: item.edit.what, "programs"),
        TableColumn("before", None, lambda item: item.edit.before, "programs"),
        TableColumn("text", None, lambda item: item.edit.text, "programs"),
        TableColumn("add", None, lambda item: _join_labels(item.edit, item.edit.add), "programs"),
        TableColumn(
            "remove", None, lambda item: _join_labels(item.edit, item.edit.remove), "programs"
        ),
        *attributes("theirs", "why", "decided_by", audience="programs"),
        TableColumn("source", None, partial(_first_source, "found_by"), "programs"),
        TableColumn("source_urn", None, partial(_first_source, "urn"), "programs"),
        TableColumn("source_column", None, partial(_first_source, "column"), "programs"),
    )
    return Table.from_records(items, columns, "review")


def _state_with_mark(item: "ReviewItem") -> str:
    return f"{STATE_MARKS[item.state]} {item.state}"


def _join_labels(edit: "StagedEdit", labels: "Sequence[str]") -> str:
    return _JOINTS.get(edit.what, " ").join(labels)


def _first_source(name: str, item: "ReviewItem") -> str | None:
    return getattr(item.edit.sources[0], name) if item.edit.sources else None


def drafting_failures(failures: "Sequence[DraftingFailure]") -> Table:
    """Return a table for programs of the columns and tables for which a command had no
    suggestion."""
    return Table.from_records(failures, attributes("urn", "table", "column", "why"), "failures")


def drafts_table(outcome: "DraftingOutcome") -> Table:
    """Return a table for programs of the texts that a command was asked to draft, the drafted ones
    first."""
    columns = ("urn", "table", "column", "text", "why")
    drafted = [(edit.urn, edit.name, edit.column, edit.text, None) for edit in outcome.edits]
    failed = [
        (failure.urn, failure.table, failure.column, None, failure.why)
        for failure in outcome.failures
    ]
    return Table.of("drafts", columns, [*drafted, *failed])


def documentation_table(rows: "Iterable[TextRow]") -> Table:
    """Return a table for data frames of the exported descriptions: a row for each table and column,
    all cells text except the tags."""
    columns = (
        *attributes("urn", "table"),
        TableColumn("column", read=lambda row: _simple(row.column) or None),
        TableColumn("path", read=lambda row: row.column or None),
        TableColumn("type"),
        TableColumn("ingested", read=lambda row: row.ingested or None),
        TableColumn("edited", read=lambda row: row.edited or None),
        TableColumn("tags", dtype=LIST),
        TableColumn("exported"),
    )
    return Table.from_records(rows, columns, "documentation")


def refused_table(changes: "Iterable[RefusedChange]") -> Table:
    """Return a table of the changes that were refused, each with its position among those given."""
    columns = (
        TableColumn("position", dtype="int64"),
        TableColumn("urn", None, lambda change: str(change.urn), "programs"),
        TableColumn(
            "entity", None, lambda change: change.urn.name, "people", style="bold", detail="urn"
        ),
        *attributes("aspect", "reason"),
    )
    return Table.from_records(changes, columns, "refused")


_FAILURES_NAMED: Final = 5


def failure_sentences(failures: "Sequence[DraftingFailure]") -> tuple[str, ...]:
    """Return a sentence for each reason why a command had no suggestion, with the first five
    places."""
    by_reason: dict[str, list[str]] = {}
    for failure in failures:
        column = FieldPath(failure.column).simple if failure.column is not None else ""
        by_reason.setdefault(failure.why, []).append(
            ".".join(filter(None, (failure.table, column)))
        )
    sentences = []
    for why, places in by_reason.items():
        more = len(places) - _FAILURES_NAMED
        examples = ", ".join(places[:_FAILURES_NAMED]) + (f" and {more:,} more" if more > 0 else "")
        sentences.append(f"no draft for {examples}: {why}")
    return tuple(sentences)


def propagated_with(texts: "Sequence[PropagatedText]", words: str) -> "list[PropagatedText]":
    """Return the propagated descriptions that contain all words in their state, table, column, text
    or source, ignoring case."""
    return [text for text in texts if has_words(words, _texts(text))]


def _texts(text: "PropagatedText") -> Iterator[str]:
    yield from (text.state, text.table, _simple(text.path), text.text)
    yield from (text.source_table, _simple(text.source_path), text.by)


def propagated_counts(entries: "Sequence[PropagatedText]", total: int) -> str:
    """Return the number of descriptions listed and of each state: "3 of 5 texts · 1 outdated"."""
    if not total:
        return ""
    texts = counted(total, "text")
    parts = [texts if len(entries) == total else f"{len(entries):,} of {texts}"]
    states = Counter(text.state for text in entries)
    parts += [f"{count:,} {state}" for state, count in sorted(states.items())]
    return " · ".join(parts)


def propagated_diff(text: "PropagatedText") -> Diff:
    """Return the source of a propagated description, and the difference from it, as lines."""
    source = _source_place(text)
    hops = counted(text.hops, "hop")
    origins = {"lineage": f"{hops} upstream", "name": f"of the same name, {hops} upstream"}
    author = f", by {Urn.label(text.by)}" if text.by else ""
    lines = [
        DiffLine(f"{text.table}.{_simple(text.path)}", "place", ""),
        DiffLine(
            f"from {source}, {origins.get(text.found_by, 'of the same name')}{author}", "note", ""
        ),
    ]
    remarks = {
        "pinned": "pinned: it is not refreshed",
        "changed": "people wrote another text since, which stays",
        "undone": "it was undone: the text before is there again",
        "orphan": "its source has no text any more",
        "outdated": "its source says something else by now",
    }
    if text.state in remarks:
        lines.append(DiffLine(remarks[text.state], "note", ""))
    if text.source_text and text.source_text != text.text:
        return (*lines, *text_diff(text.text, text.source_text))
    return (*lines, *plain_lines(text.text))


def propagated_sentence(outcome: "PropagatedOutcome", verb: str, *, dry_run: bool = False) -> str:
    """Return the outcome of an operation on propagated descriptions in one sentence.

    `verb` is the operation in the past tense, such as "refreshed"; only the first failure is
    described.
    """
    counts = _propagated_counts(outcome, verb, dry_run=dry_run)
    if outcome.failed:
        text, why = outcome.failed[0]
        counts += f", {len(outcome.failed):,} not ({text.table}.{_simple(text.path)}: {why})"
    return f"{counts}."


def _propagated_counts(outcome: "PropagatedOutcome", verb: str, *, dry_run: bool) -> str:
    would = "would be " if dry_run else ""
    unchanged = f", {len(outcome.skipped):,} left as they are" if outcome.skipped else ""
    return f"{len(outcome.updated):,} {would}{verb}{unchanged}"


def propagated_table(texts: "Sequence[PropagatedText]") -> Table:
    """Return a table of propagated descriptions with their columns, sources and states;
    `source_text` is the source's present one."""
    columns = (
        TableColumn("state", max_width=10),
        TableColumn("urn", audience="programs"),
        TableColumn("table", folds=True, style="bold"),
        TableColumn("column", None, lambda text: _simple(text.path), "people", folds=True),
        TableColumn("text", None, _text_line, "people", folds=True),
        TableColumn("from", None, _source_place, "people", folds=True, style="dim"),
        *attributes("path", "text", "source_urn", "source_table", audience="programs"),
        *attributes("source_path", "source_text", "found_by", "hops", audience="programs"),
        *attributes("at_millis", "by", audience="programs"),
    )
    return Table.from_records(texts, columns, "propagated texts")


def _source_place(text: "PropagatedText") -> str:
    return f"{text.source_table}.{_simple(text.source_path)}"


def review_counts(changeset: "StagedChangeset") -> tuple[str, ...]:
    """Return the number of staged edits in each state, in words."""
    return tuple(f"{count:,} {state}" for state, count in changeset.counts().items())


def foreign_words(changeset: "StagedChangeset") -> str:
    """Return the words that mark a changeset of another catalog."""
    return f"of another catalog, at {changeset.server or 'an unknown address'}"


IMPORTS: Final = (
    "It was made for another catalog, and can be written to this one only after it is imported: "
    "that makes a changeset of this catalog with the same changes, all undecided, and marks those "
    "for which this catalog has another text. Nothing is written yet, and the first one stays."
)
"""A sentence on what importing a changeset does."""


def imported_sentence(changeset: "StagedChangeset") -> str:
    """Return how many changes were imported, and how many of them are conflicts here."""
    conflicts = len(changeset.of("failed"))
    marked = f"; {conflicts:,} cannot be written as they are" if conflicts else ""
    return f"Imported: {counted(len(changeset.items), 'change')}{marked}."


def proposals_table(
    queue: "Sequence[SharedChangeset]", format_moment: "Callable[[int], str]" = moment
) -> Table:
    """Return a table of the changesets stored on the server."""

    def format_time(changeset: "SharedChangeset") -> str:
        return format_moment(millis_of(changeset.at))

    columns = (
        TableColumn("urn", None, lambda changeset: str(changeset.urn), "programs"),
        # All columns can fold, so that the widest one is narrowed and no id is cut.
        TableColumn("id", None, lambda changeset: changeset.urn.name, folds=True, style="dim"),
        TableColumn("title", folds=True, style="bold"),
        TableColumn("proposed_by", None, lambda shared: shared.proposed_by or None, "programs"),
        TableColumn("agent", None, _agent_label, "programs"),
        TableColumn("proposer", "proposed by", _proposer, "people", max_width=18, folds=True),
        TableColumn("at", audience="programs"),
        TableColumn("when", None, format_time, "people", folds=True, style="dim"),
        TableColumn("edits", audience="programs", dtype="int64"),
        TableColumn("decided", None, _decisions, "people", folds=True),
        *(
            TableColumn(state, None, partial(_count_in, state), "programs", dtype="int64")
            for state in STATES
        ),
    )
    return Table.from_records(queue, columns, "Proposals")


def _agent_label(changeset: "SharedChangeset") -> str | None:
    return None if changeset.agent is None else changeset.agent.label


def _proposer(changeset: "SharedChangeset") -> str:
    return proposer_words(changeset)


def proposer_words(changeset: "SharedChangeset | StagedChangeset") -> str:
    """Return who proposed a changeset, in words: `claude-code 2.1 (opus-5) for ana`; empty if
    nobody knows."""
    user = Urn.label(changeset.proposed_by) if changeset.proposed_by else ""
    if changeset.agent is None:
        return user
    return f"{line(changeset.agent.label)} for {user}" if user else line(changeset.agent.label)


def _count_in(state: "ReviewState", changeset: "SharedChangeset") -> int:
    return changeset.counts.get(state, 0)


def _decisions(changeset: "SharedChangeset") -> str:
    return f"{changeset.edits - _count_in('open', changeset):,} of {changeset.edits:,}"


def proposal_counts(shared: "SharedChangeset") -> str:
    """Return the number of edits of a shared changeset in each state, in words, after the agent
    that proposed them."""
    counts = (f"{count:,} {state}" for state, count in shared.counts.items())
    return " · ".join(filter(None, (line(_agent_label(shared)), *counts)))


def edit_column(edit: "StagedEdit") -> str:
    """Return the column of a staged edit, without types; `(the chart itself)` without a column."""
    if edit.column is not None:
        return FieldPath(edit.column).simple
    kind = Urn.parse(edit.urn).entity_type
    return WHOLE_TABLE if kind == "dataset" else f"(the {singular(kind)} itself)"


def undone_sentence(count: int) -> str:
    """Return a sentence that `count` applied edits were undone and are undecided again."""
    were, are = ("was", "it is") if count == 1 else ("were", "they are")
    return f"{counted(count, 'change')} {were} undone since: {are} open again."


def edit_sentence(edit: "StagedEdit") -> str:
    """Return the value that a staged edit writes, in one line."""
    if edit.what == "description":
        return " ".join(edit.text.split()) or "no description any more"
    if edit.what == "deprecation":
        words = deprecation_lines(edit.text, edit.label_names)
        return " · ".join(("deprecated", *filter(None, words))) if words else "may be used again"
    signs = [f"+{_label(label, edit)}" for label in edit.add]
    signs += [f"−{_label(label, edit)}" for label in edit.remove]
    return f"{edit.what}: {' '.join(signs) or 'none'}"


def item_people(item: "ReviewItem", changeset: "StagedChangeset") -> str:
    """Return who proposed a staged edit and who decided on it, where known, in words."""
    proposed = proposer_words(changeset)
    decided = Urn.label(item.decided_by) if item.decided_by else ""
    verbs = {
        "refused": "refused",
        "accepted": "accepted",
        "applied": "accepted",
        "failed": "accepted",
    }
    people = [f"proposed by {proposed}" if proposed else ""]
    if item.is_changed:
        people.append(f"changed by {decided}" if decided else "changed since")
    if item.state in verbs and decided:
        people.append(f"{verbs[item.state]} by {decided}")
    return " · ".join(filter(None, people))


def deprecation_lines(text: str, called: "Mapping[str, str] | None" = None) -> tuple[str, ...]:
    """Return the note, removal date and replacement of a staged deprecation as lines; empty if the
    edit removes a deprecation."""
    deprecation = deprecation_in(text)
    if deprecation is None:
        return ()
    lines = [" ".join(str(deprecation.get("note") or "").split())]
    millis = deprecation.get("decommissionTime")
    if isinstance(millis, int):
        day = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=millis)
        lines.append(f"to be removed on {day:%Y-%m-%d}")
    replacement = deprecation.get("replacement")
    if isinstance(replacement, str):
        lines.append(f"use {(called or {}).get(replacement) or Urn.label(replacement)}")
    return tuple(lines)


def item_source(item: "ReviewItem") -> str:
    """Return the source of a proposed text in a few words; empty if unknown."""
    if item.is_changed:
        return f"changed by {Urn.label(item.decided_by)}"
    return _source_words(item.edit.sources[0]) if item.edit.sources else line(item.edit.why)


def source_sentence(source: "TextSource", edit: "StagedEdit") -> str:
    """Return the source of a proposed text, how certain it is, and how many columns have the text.

    A source column with another name is pointed out, because it may have been renamed or computed.
    """
    agreeing = f"; {source.agreeing:,} columns have this text" if source.agreeing > 1 else ""
    whose = ".".join(filter(None, (source.table, _simple(source.column))))
    hops = counted(source.hops, "hop")
    match source.found_by:
        case "lineage":
            origin = f"from {whose}, {hops} upstream by the lineage of columns"
            if edit.column and FieldPath(edit.column).name != FieldPath(source.column).name:
                origin += ", of another name"
        case "name":
            origin = f"from {whose}, {hops} upstream; a guess, by the name of the column"
        case "elsewhere":
            origin = f"from {whose}, which is of the same name; a guess"
        case "file":
            origin = "from a file"
        case _:
            origin = "drafted by a command"
    return f"{origin}{agreeing}"


def review_diff(item: "ReviewItem") -> Diff:
    """Return a staged edit as lines: its source, the present value, and the new value."""
    edit = item.edit
    notes = [source_sentence(source, edit) for source in edit.sources]
    notes += [f"why: {line(edit.why)}"] if edit.why else []
    if hidden := hidden_sentence(edit.text):
        notes.append(hidden)
    if item.why:
        notes.insert(0, item.why if item.state == "applied" else f"not written: {item.why}")
    lines = [DiffLine(note, "note", "") for note in notes]
    if edit.what != "description":
        return (*lines, *_label_lines(item))
    present = edit.before if item.theirs is None else item.theirs
    if item.theirs is not None:
        lines.append(DiffLine("somebody else wrote this meanwhile:", "place", ""))
        lines += _value_lines(item.theirs)
        lines.append(DiffLine("with the proposed text it becomes:", "place", ""))
    elif edit.ingested and not edit.before:
        lines.append(DiffLine("the description that came with the metadata:", "place", ""))
        lines += plain_lines(edit.ingested)
    return (*lines, *text_diff(present, edit.text))


def _source_words(source: "TextSource") -> str:
    where = ".".join(filter(None, (source.table, _simple(source.column))))
    match source.found_by:
        case "lineage":
            return where
        case "name" | "elsewhere":
            return f"{where}?"
        case "file":
            return "file"
        case _:
            return "command"


def _simple(column: str) -> str:
    return FieldPath(column).simple if column else ""


def _label_lines(item: "ReviewItem") -> "Iterator[DiffLine]":
    """Yield the lines that an edit of labels, links or a deprecation changes."""
    edit = item.edit
    present = edit.before if item.theirs is None else item.theirs
    if item.theirs is not None:
        words = "somebody else changed this meanwhile; with the edit it becomes:"
        yield DiffLine(words, "place", "")
    match edit.what:
        case "deprecation":
            old_text, new_text = (
                "\n".join(("deprecated", *deprecation_lines(text, edit.label_names)))
                if text
                else "not deprecated"
                for text in (present, edit.text)
            )
            yield from text_diff(old_text, new_text)
            return
        case "domain":
            domains = [
                domain for domain in present.split(", ") if domain and domain not in edit.add
            ]
            removed: Sequence[str] = domains
        case "links" if item.theirs is not None:
            links = [link for link in present.split("\n") if link]
            kept_links = [link for link in links if link not in (*edit.add, *edit.remove)]
            yield from (DiffLine(_label(stay, edit), "same", " ") for stay in kept_links)
            removed = [link for link in edit.remove if link in links]
        case _:
            removed = edit.remove
    for label in edit.add:
        new = " (a new tag)" if label in edit.creates else ""
        yield DiffLine(f"{_label(label, edit)}{new}", "added", "+")
    for label in removed:
        yield DiffLine(_label(label, edit), "removed", "-")


def _label(label: str, edit: "StagedEdit") -> str:
    """Return the display name of a label, for an owner with the ownership type, for a link with its
    address."""
    if edit.what == "links":
        url, _, name = label.partition(" ")
        return f"{name} ({url})" if name else url
    urn, _, ownership = label.rpartition(" ") if edit.what == "owners" else (label, "", "")
    name = edit.label_names.get(urn) or Urn.label(urn)
    if not ownership:
        return name
    kind = Urn.label(ownership) if ownership.startswith("urn:") else ownership
    return f"{name} ({kind.lower().replace('_', ' ')})"


_GLOSSARY_PART: Final = 60


def glossary_table(changes: "Iterable[GlossaryChange]") -> Table:
    """Return a table of changes; for programs several owners or links are on separate lines of a
    cell."""
    columns = (
        TableColumn("urn", None, lambda change: str(change.entry.urn), "programs"),
        TableColumn("name", None, lambda change: change.entry.name, folds=True, style="bold"),
        TableColumn("what", "change"),
        TableColumn("before", None, lambda change: _glossary_lines(change.before), "programs"),
        TableColumn("after", None, lambda change: _glossary_lines(change.after), "programs"),
        TableColumn("written", None, lambda change: change.is_written, "programs"),
        TableColumn(
            "before",
            "in the catalog",
            lambda change: _glossary_words(change)[0],
            "people",
            folds=True,
        ),
        TableColumn(
            "after", "in the file", lambda change: _glossary_words(change)[1], "people", folds=True
        ),
    )
    return Table.from_records(changes, columns, "glossary")


def _glossary_lines(value: str | tuple[str, ...]) -> str:
    return value if isinstance(value, str) else "\n".join(value)


def _glossary_words(change: "GlossaryChange") -> tuple[str, str]:
    before, after = change.before, change.after
    match change.what:
        case "new":
            kind = "term" if change.entry.is_term else "group"
            above = f" in {Urn.label(change.entry.parent)}" if change.entry.parent else ""
            return "", f"{kind}{above}"
        case "retired":
            return "shown", "not in it: hidden"
        case "parent":
            return _glossary_parent(before), _glossary_parent(after)
        case "owners" | "links":
            old, new = tuple(before), tuple(label for label in after if label not in before)
            words = value_words(change.what, new)
            return (value_words(change.what, old) if old else NONE.phrase, f"+ {words}")
        case "source" | "properties" | "relations":
            return line("; ".join(before), _GLOSSARY_PART), line("; ".join(after), _GLOSSARY_PART)
    return line(str(before), _GLOSSARY_PART) or NONE.phrase, line(str(after), _GLOSSARY_PART)


def _glossary_parent(urn: str | tuple[str, ...]) -> str:
    return Urn.label(urn) if isinstance(urn, str) and urn else "the top"


def glossary_sentences(changes: "Sequence[GlossaryChange]") -> tuple[str, ...]:
    """Return the number of changes in words, and the number of differences that are not written."""
    counts = Counter(change.what for change in changes if change.is_written)
    entries = len({change.entry.urn for change in changes if change.is_written})
    sentences = []
    if counts:
        parts = ", ".join(f"{count:,} {what}" for what, count in counts.items())
        sentences.append(f"{counted(entries, 'entry', 'entries')}: {parts}")
    else:
        sentences.append("the catalog has all of it already")
    unwritten = sum(1 for change in changes if not change.is_written)
    if unwritten:
        sentences.append(
            f"{counted(unwritten, 'difference')} of sources, properties or "
            "relations left as in the catalog: these are written with new terms only"
        )
    return tuple(sentences)


@dataclass(frozen=True, slots=True)
class CoverageGate:
    """A minimum percentage for the coverage of tables and of columns, or with `only` of one of
    them."""

    coverage: "Coverage"
    fail_under: float
    only: "Part | None" = None

    @property
    def parts(self) -> "tuple[Part, ...]":
        """The parts that are checked."""
        return (self.only,) if self.only else PARTS

    @property
    def is_reached(self) -> bool:
        """Whether every part reaches the percentage; False if there is nothing to count."""
        has_any = any(self.coverage.of(part).total for part in self.parts)
        return has_any and self.coverage.reaches(self.fail_under, self.parts)

    def notes(self) -> Iterator[str]:
        """Yield a note on each part below the percentage."""
        for part in self.parts:
            count = self.coverage.of(part)
            if not count.reaches(self.fail_under):
                yield f"{part}: {percent_of(count)} documented, below {self.fail_under:g}%"
        if not any(self.coverage.of(part).total for part in self.parts):
            yield "there is nothing to count"


def coverage_report(coverage: "Coverage", gate: CoverageGate | None = None) -> Report:
    """Return a report on coverage: a line for each group, or one for tables and one for columns;
    and the parts that miss the gate."""

    def value(count: "Count") -> dict[str, Any]:
        return {field: getattr(count, field) for field in COUNTS}

    gate_value = gate and {
        "fail_under": gate.fail_under,
        "only": gate.only,
        "reached": gate.is_reached,
    }
    document: dict[str, Any] = {
        **{part: value(coverage.of(part)) for part in PARTS},
        "by": coverage.by,
        "groups": [
            {
                "key": group.key,
                "name": group.name,
                **{part: value(group.of(part)) for part in PARTS},
            }
            for group in coverage.groups
        ],
        "gate": gate_value,
    }
    remarks = [f"{part}: {count_sentence(coverage.of(part))}" for part in PARTS if coverage.by]
    notes = tuple(gate.notes()) if gate else ()
    table, page = coverage_table(coverage), coverage_page(coverage)
    return Report(table, [page], document, notes=notes, remarks=remarks)


def trend_report(trend: "CoverageTrend") -> Report:
    """Return a report on the trend: a line for each day with changes, newest first, or for each
    group; and the changes of the percentages."""
    document: dict[str, Any] = {
        "since": trend.since and trend.since.isoformat(),
        **{name: getattr(trend, name) for name in ("by", "every", "datasets", "group_total")},
    }
    page, remarks = [trend_page(trend)], trend_sentences(trend)
    return Report(trend_table(trend), page, document, "days", remarks=remarks)


def glossary_report(
    changes: "Sequence[GlossaryChange]", refused: "Sequence[tuple[GlossaryChange, str]]" = ()
) -> Report:
    """Return a report on the changes of a glossary: the changes, totals, and the changes that
    cannot be made, with the reasons."""
    notes = _glossary_errors(refused)
    return Report(glossary_table(changes), notes=notes, remarks=glossary_sentences(changes))


def _glossary_errors(refused: "Sequence[tuple[GlossaryChange, str]]") -> list[str]:
    return [f"error: {change.what} of {change.entry.urn}: {why}" for change, why in refused]


def glossary_outcome_report(
    changes: "Sequence[GlossaryChange]", outcome: "GlossaryOutcome", *, dry_run: bool
) -> Report:
    """Return a report on the glossary changes that were made, or with `dry_run` would be made, and
    the failures."""
    table = glossary_table(changes)
    failed = [
        {"urn": str(change.entry.urn), "what": change.what, "error": why}
        for change, why in outcome.failed
    ]
    document = {"dry_run": dry_run, "changes": to_objects(table), "failed": failed}
    notes = _glossary_errors(outcome.failed)
    return Report(table, None, document, notes=notes, remarks=glossary_sentences(changes))


def proposed_report(changeset: "StagedChangeset") -> Report:
    """Return a report on the proposed edits: their number by source, and the command that reviews
    them."""
    counts = Counter(item.edit.sources[0].found_by for item in changeset.items if item.edit.sources)
    sources = ", ".join(f"{count:,} by {source}" for source, count in counts.most_common())
    by_source = f" ({sources})" if sources else ""
    return Report(
        review_table(changeset.items),
        document={"file": str(changeset.path), "counts": counts},
        rows_name="edits",
        notes=(
            f"{len(changeset.items):,} proposed{by_source}; nothing is written yet",
            review_hint(changeset),
        ),
        is_complete=True,
    )


def review_hint(changeset: "StagedChangeset") -> str:
    """Return the command that reviews a changeset."""
    return f"to review them: catalog docs review {changeset.path}"


def drafted_report(outcome: "DraftingOutcome") -> Report:
    """Return a report on the texts drafted by a command, its failures, and the command that reviews
    the drafts."""
    changeset, failures = outcome.changeset, outcome.failures
    table = review_table(changeset.items) if changeset is not None else None
    document = {
        "file": str(changeset.path) if changeset is not None else None,
        "counts": {"command": len(outcome.edits)},
        "edits": to_objects(table) if table else [],
        "failures": to_objects(drafting_failures(failures)),
        "left": outcome.beyond_limit,
    }
    total = len(outcome.edits) + len(failures)
    remainder = (
        f", {outcome.beyond_limit:,} more left out because of --limit"
        if outcome.beyond_limit
        else ""
    )
    notes = (
        *failure_sentences(failures),
        f"{len(outcome.edits):,} of {total:,} drafted{remainder}; nothing is written yet",
        *((review_hint(changeset),) if changeset is not None else ()),
    )
    return Report(table, None, document, notes=notes, is_complete=True)


def concept_report(concept: "Concept") -> Report:
    """Return a report on the descriptions in a concept, and the columns that have each."""
    table = concept_table(concept, texts=False)
    variants = [
        {"variant": variant.number or None, "columns": variant.count, "text": variant.text}
        for variant in concept_variants(concept)
    ]
    fields = {name: getattr(concept, name) for name in ("name", "term", "datasets", "truncated")}
    parts: list[ReportPart] = []
    if concept.columns:
        parts = [variants_page(concept), TextLine(()), table]
    return Report(
        table,
        parts,
        {**fields, "variants": variants},
        "columns",
        remarks=(concept_sentence(concept),),
    )


def propagated_report(texts: "Sequence[PropagatedText]") -> Report:
    """Return a report on propagated descriptions, with the number in each state."""
    counts = Counter(text.state for text in texts)
    by_state = ", ".join(f"{count:,} {state}" for state, count in counts.most_common())
    return Report(propagated_table(texts), remarks=(by_state or "no propagated descriptions",))


_PROPAGATED_VERBS: Final = {
    "refresh": "refreshed",
    "take-back": "taken back",
    "pin": "pinned",
    "unpin": "unpinned",
}


def propagated_outcome_report(
    outcome: "PropagatedOutcome", action: str, *, dry_run: bool
) -> Report:
    """Return a report on the outcome of a command's action on propagated descriptions."""
    failed = to_objects(propagated_table([text for text, _ in outcome.failed]))
    document = {
        "done": to_objects(propagated_table(outcome.updated)),
        "left": to_objects(propagated_table(outcome.skipped)),
        "failed": [
            {**row, "why": why} for row, (_, why) in zip(failed, outcome.failed, strict=True)
        ],
    }
    notes = [f"{text.table}.{text.path}: {why}" for text, why in outcome.failed]
    notes.append(_propagated_counts(outcome, _PROPAGATED_VERBS[action], dry_run=dry_run))
    theirs = sum(text.state == "changed" for text in outcome.updated)
    if theirs:
        notes.append(f"{theirs:,} of them were edited since; their text is kept")
    table = propagated_table(outcome.updated)
    return Report(table, None, document, notes=notes, is_complete=True)


def proposals_report(queue: "Sequence[SharedChangeset]") -> Report:
    """Return a report on the changesets on the server."""
    none = "there are no changesets on the server; catalog docs share FILE adds one"
    remark = "to review one: catalog docs review ID" if queue else none
    return Report(proposals_table(queue), remarks=(remark,))


@dataclass(frozen=True, slots=True)
class AgentRecord:
    """The proposals of an agent with one model, and their outcome: the numbers of changesets and of
    edits, and of the edits not decided, refused, and accepted; some of the accepted ones may have
    failed."""

    agent: str
    model: str
    changesets: int
    edits: int
    open: int
    refused: int
    accepted: int

    @property
    def share(self) -> str:
        """The share of the decided edits that were accepted; empty if none is decided."""
        decided = self.refused + self.accepted
        return f"{self.accepted / decided:.0%}" if decided else ""


def agent_records(queue: "Iterable[SharedChangeset]") -> tuple[AgentRecord, ...]:
    """Return the records of all agents, by agent and model, most edits first."""
    by_agent: dict[tuple[str, str], list[SharedChangeset]] = {}
    for changeset in queue:
        if changeset.agent is not None:
            key = (changeset.agent.name, changeset.agent.model)
            by_agent.setdefault(key, []).append(changeset)

    def count(changesets: "Sequence[SharedChangeset]", *states: "ReviewState") -> int:
        return sum(_count_in(state, changeset) for changeset in changesets for state in states)

    records = [
        AgentRecord(
            *(agent, model, len(changesets), sum(changeset.edits for changeset in changesets)),
            *(count(changesets, "open"), count(changesets, "refused")),
            count(changesets, "accepted", "applied", "failed"),
        )
        for (agent, model), changesets in by_agent.items()
    ]
    return tuple(sorted(records, key=lambda record: (-record.edits, record.agent, record.model)))


def agents_report(queue: "Iterable[SharedChangeset]") -> Report:
    """Return a report on the proposals of agents, and how many of them were accepted."""
    columns = (
        TableColumn("agent", folds=True, style="bold"),
        TableColumn("model", folds=True),
        *attributes("changesets", "edits", "open", "refused", "accepted", dtype="int64"),
        TableColumn("share", "accepted of decided"),
    )
    table = Table.from_records(agent_records(queue), columns, "Agents")
    none = "no agent has proposed anything; catalog mcp --print-config says how one is connected"
    return Report(table, remarks=() if table.rows else (none,))


def shared_report(changeset: "StagedChangeset", urn: Urn) -> Report:
    """Return a report with the number of edits shared, and the command that reviews them."""
    count = len(changeset.items)
    note = f"shared {counted(count, 'edit')}; to review them: catalog docs review {urn.name}"
    document = {"urn": str(urn), "id": urn.name, "title": changeset.title, "edits": count}
    return Report(document=document, remarks=(note,))


def edits_report(
    changeset: "StagedChangeset", items: "Sequence[ReviewItem]", **document: Any
) -> Report:
    """Return a report on edits of a changeset; JSON has all edits, and the entries of
    `document`."""
    return Report(review_table(items), document=changeset_value(changeset) | document)


def changeset_value(changeset: "StagedChangeset") -> dict[str, Any]:
    """Return a changeset for JSON."""
    return {
        "file": str(changeset.path),
        "title": changeset.title,
        "server": changeset.server,
        "proposed_by": Urn.label(changeset.proposed_by) if changeset.proposed_by else None,
        "agent": None if changeset.agent is None else changeset.agent.label,
        "at_millis": millis_of(changeset.at),
        "counts": changeset.counts(),
        "edits": to_objects(review_table(changeset.items)),
    }


def written_notes(outcome: "StagedOutcome", open_count: int) -> Iterator[str]:
    """Yield notes on the outcome of writing a changeset, of which `open_count` edits are
    undecided."""
    yield f"{outcome.applied - outcome.present:,} written"
    if outcome.present:
        yield f"{outcome.present:,} already in the catalog: catalog undo leaves them as they are"
    if outcome.failed:
        yield f"{outcome.failed:,} rejected; review the file again to decide them"
    if outcome.untried:
        yield f"{outcome.untried:,} not tried; run --apply again to continue"
    if open_count:
        yield f"{open_count:,} still open; review the file again to decide them"


def review_item_parts(item: "ReviewItem", place: str) -> list[ReportPart]:
    """Return the parts that show an edit to decide on: its place, and its changes."""
    title = (f"{item.edit.name} · {edit_column(item.edit)}", "bold")
    return [TextLine(()), text_line(title, (f"  {place}", "dim")), Difference(review_diff(item))]
