"""Stewardship in a notebook: coverage, worklist, and bulk changes, as tables that render themselves
and convert to DataFrames."""

from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from explorer import stewardship
from explorer.client.display import counted
from explorer.client.records import LoadReport
from explorer.errors import InvalidInput
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.notebook.chart import PanelChart, ShownChart, Zone
from explorer.notebook.progress import with_progress
from explorer.notebook.schema import description_cell
from explorer.notebook.view import (
    MOST_ROWS,
    ShownTable,
    grid_parts,
    table_parts,
    values_of,
)
from explorer.stewardship.api import AsyncStewardship
from explorer.stewardship.changeset import KINDS
from explorer.stewardship.dbt import ProjectPlan
from explorer.stewardship.documentation import digest_of
from explorer.stewardship.proposals import changeset_urn
from explorer.views import stewardship as views
from explorer.views.absence import NONE
from explorer.views.dbt import (
    PlanItem,
    files_sentences,
    item_diff,
    plan_items,
    plan_summary,
    plan_table,
)
from explorer.views.diff import Diff, DiffLine
from explorer.views.feed import feed_counts, feed_remarks, feed_table, unread_remarks
from explorer.views.journal import saved_sentence
from explorer.views.parts import Cell, Difference, Part, Say, Title
from explorer.views.table import Table, to_frame

if TYPE_CHECKING:
    import pandas as pd

    from explorer.client import Catalog
    from explorer.notebook.widgets.stewardship import ReviewWidget, WorklistWidget
    from explorer.stewardship.documentation import Progress

_P = ParamSpec("_P")
_S = TypeVar("_S")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, repr=False)
class CoverageTable(ShownTable, stewardship.Coverage):
    """The coverage of documentation, in total and by group."""

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each group, those with the least documented columns first; without
        groups, one row for the total. No request.

        key, name                              string    empty for no group and for the total
        tables_total, … _documented, … _edited, … _ingested     int64
        columns_total, … _documented, … _edited, … _ingested    int64
        tables_percent, columns_percent        Float64   documented; missing for nothing to document
        """
        return to_frame(views.coverage_table(self))

    def parts(self) -> Iterator[Part]:
        if not self.tables.total:
            yield Title("Coverage", views.NO_DATASET)
            return
        yield Title("Coverage", f"by {self.by}" if self.by else "")
        if self.by:
            for part in views.PARTS:
                yield Say(f"{part}: {views.count_sentence(self.of(part))}")
        yield from table_parts(views.coverage_page(self))


@dataclass(frozen=True, slots=True, repr=False)
class FeedTable(ShownTable, stewardship.ChangeFeed):
    """The changes by others and by ingestion since the last visit; after `mark_read()` the next
    feed starts after them."""

    catalog: "Catalog | None" = field(default=None, compare=False)

    def mark_read(self) -> None:
        """Record on this machine, also for the terminal and the shell, that these changes were
        read. No request. Raises `StorageFault` if it cannot be written.

        Example: `cat.stewardship.feed().mark_read()`
        """
        if self.catalog is None:
            raise InvalidInput("this feed was constructed by hand and has no catalog")
        NotebookStewardship(self.catalog).mark_read(self)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each change, in the order shown. No request.

        at                          datetime64[ms, UTC]   when it was last stored
        actor, urn, name, column    string                its author; the changed entity or column
        kind                        string                see `explorer.stewardship.FeedKind`
        needs_care                  bool                  whether a description may be outdated
        before, after, edited       string                texts or types; the edited description
        likely_column               string                the probable new path of a dropped column
        added, removed              object                lists of labels
        """
        table = replace(feed_table(self), incomplete=" ".join(unread_remarks(self)))
        return to_frame(table)

    def parts(self) -> Iterator[Part]:
        yield Title("Changes since the last visit", feed_counts(self))
        if self.entries:
            yield from table_parts(feed_table(self))
        for remark in feed_remarks(self):
            yield Say(remark)


@dataclass(frozen=True, slots=True, repr=False)
class CoverageTrendChart(ShownChart, stewardship.CoverageTrend):
    """The coverage on each of the last days."""

    def chart(self, zone: Zone = "UTC") -> PanelChart:
        note = "; ".join(views.trend_sentences(self))
        return PanelChart("Coverage", views.trend_charts(self), self.to_frame, note, zone=zone)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each day, oldest first, or for each group and day. No request.

        key, name                            string                empty for all
        day                                  datetime64[ms, UTC]   its beginning, in UTC
        tables_total, tables_documented      int64
        columns_total, columns_documented    int64
        tables_percent, columns_percent      Float64               missing for nothing to document
        """
        table = views.trend_table(self)
        if self.by and len(self.groups) < self.group_total:
            cut = f"{len(self.groups):,} of {self.group_total:,} groups"
            table = replace(table, total=self.group_total, incomplete=cut, total_of="groups")
        return to_frame(table)

    def parts(self) -> Iterator[Part]:
        chart = self.chart()
        yield from chart.parts()
        if self.by:
            yield from table_parts(views.trend_page(self))


@dataclass(frozen=True, slots=True, repr=False)
class WorklistTable(ShownTable, stewardship.Worklist):
    """The undocumented tables and columns, most important first; `widget()` returns an editor for
    them."""

    catalog: "Catalog | None" = field(default=None, compare=False)

    def widget(self) -> "WorklistWidget":
        """Return the list as a widget to write and save one text after the other. No request.

        Example: `cat.stewardship.worklist(top=200).widget()`
        """
        from explorer.notebook.widgets.stewardship import WorklistWidget

        if self.catalog is None:
            raise InvalidInput(
                "this worklist was constructed by hand and has no catalog to write to"
            )
        return WorklistWidget(self.catalog, self)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each item listed, largest weight first. No request.

        urn, table, platform, type   string
        column, path                 string   in the short form, and exact; missing for a table
        use, downstream, weight      int64    use over the `days`; the order is by `weight`
        use_of                       string   column, table or none: for which the use was counted
        at_least                     bool     whether counting downstream was ended early
        """
        return to_frame(replace(views.worklist_table(self), total=self.total))

    def parts(self) -> Iterator[Part]:
        used = f", use of {self.days} days" if self.total else ""
        yield Title("To document", f"{views.worklist_counts(self)}{used}")
        if self.items:
            yield from table_parts(views.worklist_table(self))


@dataclass(frozen=True, slots=True, repr=False)
class ConceptTable(ShownTable, stewardship.Concept):
    """All columns with one name or glossary term, and their texts."""

    steward: "NotebookStewardship | None" = field(default=None, compare=False)

    def propose(
        self, text: int | str, *, replaced: Iterable[int] = (), everywhere: bool = False
    ) -> "stewardship.StagedChangeset":
        """Return a staged changeset that gives a text to the columns without one: a new text, or an
        existing one by its number. `replaced` has the numbers of texts that it replaces too; with
        `everywhere`, every column gets it. Nothing is written before the review with
        `cat.stewardship.review`.

        Raises `InvalidInput` for an unknown number, or if every column has the text already.
        """
        if self.steward is None:
            raise InvalidInput(
                "this concept was constructed by hand and has no catalog to write to"
            )
        new_text = self.variant(text).text if isinstance(text, int) else text
        chosen = self.columns if everywhere else self.having(replaced)
        staged = stewardship.stage_concept(self, new_text, [column.key for column in chosen])
        if not staged:
            raise InvalidInput(
                "all of these columns already have this text; pass texts to replace as "
                "replaced=, or everywhere=True"
            )
        return self.steward.stage(staged, self.title)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each column. No request.

        variant              Int64    the number of its text, missing without one
        urn, table, platform, column (the exact path), type, text, edited, ingested   string
        """
        cut = views.MORE_TABLES if self.truncated else ""
        return to_frame(replace(views.concept_table(self), title=self.name, incomplete=cut))

    def parts(self) -> Iterator[Part]:
        yield Title(self.name, views.concept_sentence(self))
        if self.columns:
            yield from table_parts(views.variants_page(self))
            yield from table_parts(views.concept_table(self, texts=False))


@dataclass(frozen=True, repr=False)
class ChangesetTable(ShownTable, stewardship.Changeset):
    """The changes that each line of a file or row of a DataFrame would make, shown as differences.

    `dropped_count` is the number of rows removed from the frame, whose texts stay unchanged.
    """

    dropped_count: int = 0

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each line, in the file's order, with all values as text. No request.

        place, kind                 position in the file, and the kind of change: see
                                    `explorer.stewardship.changeset.KINDS`
        urn, table, column          what it is about; `column` missing for the table itself
        base, theirs, mine          the text it started from, the catalog's, and the file's
        why                         details, if the kind does not say all
        """
        return to_frame(views.changes_table(self.changes))

    def parts(self) -> Iterator[Part]:
        yield Title("Changes", " · ".join(views.change_counts(self)) or NONE.phrase)
        if self.dropped_count:
            texts = counted(self.dropped_count, "text")
            yield Say(f"removed from the frame, and left unchanged: {texts}")
        changes = [change for kind in KINDS if kind != "unchanged" for change in self.of(kind)]
        yield from _difference_parts(changes, views.change_diff)
        if self.by_others:
            yield Title("Changed by others meanwhile", counted(len(self.by_others), "text"))
            yield from _difference_parts(self.by_others, views.others_diff)


@dataclass(frozen=True, repr=False)
class AppliedTable(ShownTable, stewardship.Applied):
    """The outcome of writing changes.

    `left_out` are the changes not attempted, such as conflicts; `later_count` is the number of
    texts edited after they were shown, which are not written either.
    """

    left_out: tuple[stewardship.Change, ...] = ()
    later_count: int = 0

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each change, those not written first, with all values as text. No
        request.

        outcome              written, refused, untried, or the kind of a change left out
        urn, table, column   what it is about; `column` missing for the table itself
        theirs, mine         the text that the catalog holds or held, and the frame's
        why                  why it was not written
        """
        return to_frame(Table.of("applied", _APPLIED, [*self._rows()]))

    def parts(self) -> Iterator[Part]:
        counts = [f"{len(self.done):,} written"]
        counts += [f"{len(self.failed):,} refused"] if self.failed else []
        counts += [f"{len(self.untried):,} not tried"] if self.untried else []
        counts += [f"{len(self.left_out):,} left out"] if self.left_out else []
        yield Title("Applied", " · ".join(counts))
        if self.ended_by is not None:
            yield Say(f"stopped early: {self.ended_by}", "loud")
        if self.later_count:
            yield Say(
                f"edited after diff(), and not written: {counted(self.later_count, 'text')}; "
                "call diff() again",
                "loud",
            )
        refused = [
            replace(failure.change, why=failure.why)
            if failure.theirs is None
            else replace(
                failure.change,
                kind="conflict",
                base=failure.change.theirs,
                theirs=failure.theirs,
                why=failure.why,
            )
            for failure in self.failed
        ]
        yield from _difference_parts([*refused, *self.left_out], views.change_diff)
        if self.done:
            undo = "undo_save() of the catalog undoes everything that was written"
            yield Say(saved_sentence("", self.warnings, undo))

    def _rows(self) -> Iterator[tuple[str | None, ...]]:
        for failure in self.failed:
            yield _outcome_row("refused", failure.change, failure.theirs, failure.why)
        for change in self.untried:
            yield _outcome_row("untried", change, None, str(self.ended_by or ""))
        for change in self.left_out:
            yield _outcome_row(change.kind, change, None, change.why)
        for change, _ in self.done:
            yield _outcome_row("written", change, None, None)


_APPLIED = ("outcome", "urn", "table", "column", "theirs", "mine", "why")


def _outcome_row(
    outcome: str, change: stewardship.Change, theirs: str | None, why: str | None
) -> tuple[str | None, ...]:
    before = change.theirs if theirs is None else theirs
    return outcome, change.urn, change.table, change.column, before, change.mine, why


@dataclass(frozen=True, slots=True, repr=False)
class DraftingTable(ShownTable, stewardship.DraftingOutcome):
    """The texts of a drafting command; `changeset` contains them for review."""

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each text requested, the drafted ones first, with all values as text. No
        request.

        urn, table, column   what it is about; `column` missing for the table itself
        text                 what the command drafted, if anything
        why                  why there is no text
        """
        return to_frame(views.drafts_table(self))

    def parts(self) -> Iterator[Part]:
        total = len(self.edits) + len(self.failures)
        yield Title("Drafts", f"{len(self.edits):,} of {total:,} drafted")
        for sentence in views.failure_sentences(self.failures):
            yield Say(sentence)
        if self.changeset is not None:
            yield from table_parts(views.review_table(self.changeset.items))
            yield Say(f"Nothing is written yet: catalog docs review {self.changeset.path}")


class ProposalsTable(ShownTable, tuple[stewardship.SharedChangeset, ...]):
    """The shared changesets on the server, newest first; `cat.stewardship.review(urn)` reviews
    one."""

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each changeset. No request.

        urn, id, title, proposed_by                string
        at                                         datetime64[ms, UTC]   when it was proposed
        edits                                      int64                 how many edits there are
        open, accepted, refused, applied, failed   int64                 how many are in that state
        """
        return to_frame(views.proposals_table(self))

    def parts(self) -> Iterator[Part]:
        yield Title("Proposals", f"{len(self):,} on the server")
        if self:
            yield from table_parts(views.proposals_table(self))


@dataclass(frozen=True, slots=True, repr=False)
class LoadTable(ShownTable, LoadReport):
    """The outcome of loading a list of changes."""

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each change that was refused: its `position` among those given, from 0,
        its `urn` and `aspect`, and the `reason`. No request."""
        return to_frame(views.refused_table(self.refused))

    def parts(self) -> Iterator[Part]:
        refused = f", {len(self.refused):,} refused" if self.refused else ""
        yield Title("Load", f"{self.written_count:,} written{refused}")
        yield from table_parts(views.refused_table(self.refused))


class Documentation(ShownTable, tuple[stewardship.Row, ...]):
    """The descriptions of tables and columns, a row for each, for reading or editing.

        docs = cat.docs("orders")
        docs.df.loc[docs.df["path"] == "id", "edited"] = "The key."
        docs.diff()
        docs.apply()

    The rows stay as they were read. `df` is always the same DataFrame, which may be changed in
    place or replaced; its column `edited` is compared and written. Removing, duplicating or moving
    rows deletes nothing in the catalog.
    """

    _steward: "NotebookStewardship | None" = None
    _frame: "pd.DataFrame | None" = None
    _compared: ChangesetTable | None = None
    # The text on which each row is based: as it was read, or as it was written since.
    _bases: dict[tuple[str, str], str]

    @classmethod
    def of(cls, rows: Iterable[stewardship.Row], steward: "NotebookStewardship") -> "Documentation":
        """Return the rows, which use `steward` for further requests."""
        documentation = cls(rows)
        documentation._steward = steward
        documentation._bases = {(row.urn, row.column): row.edited for row in rows}
        return documentation

    @property
    def df(self) -> "pd.DataFrame":
        """Return the rows as a DataFrame for editing, the same object each time. See `to_frame`."""
        if self._frame is None:
            self._frame = self.to_frame()
        return self._frame

    @df.setter
    def df(self, frame: "pd.DataFrame") -> None:
        self._frame = frame

    def diff(self, *, clear_empty: bool = False) -> ChangesetTable:
        """Return the changes that the texts in `df` would make in the catalog as it is now, and the
        changes made by others meanwhile. Nothing is written. Requests are those of
        `AsyncCatalog.entities` for the datasets.

        An empty text, None or NaN changes nothing; with `clear_empty`, it removes the description.
        Raises `InvalidInput` if `df` lacks one of the columns `urn`, `path` and `edited`.
        """
        steward, entries = self._require_steward(), self._entries()
        table = steward.changeset(entries, clear_empty=clear_empty)
        keys = {(entry.row.urn, entry.row.column) for entry in entries}
        self._compared = replace(table, dropped_count=len(self._bases.keys() - keys))
        return self._compared

    def apply(self, *, force_conflicts: bool = False) -> AppliedTable:
        """Write the changes that `diff` showed last as one save, which `undo_save` of the catalog
        undoes; return the outcome of each. Two requests for each text.

        Conflicts are left out unless `force_conflicts` is set. A text that somebody changed since
        `diff` is refused; the others are still written. Texts edited in `df` after `diff` are
        counted, not written. Raises `InvalidInput` if `diff` was not called since the last `apply`.
        """
        table = self._compared
        if table is None:
            raise InvalidInput("diff() shows what would be written; call it before apply()")
        changes = table.to_apply(force_conflicts=force_conflicts)
        reviewed = {_wish(change.entry) for change in table.changes}
        later_count = sum(_wish(entry) not in reviewed for entry in self._entries())
        applied = self._require_steward().apply(changes)
        self._compared = None
        for change, _ in applied.done:
            self._bases[change.urn, change.column or ""] = change.mine
        tried = {id(change) for change in changes}
        untried = tuple(change for change in table.left_out if id(change) not in tried)
        return replace(applied, left_out=untried, later_count=later_count)

    def _entries(self) -> list[stewardship.Entry]:
        """Return the rows of `df` as entries. For rows that were read, only `edited` is taken from
        `df`, and the other fields are as read."""
        rows = {(row.urn, row.column): row for row in self}
        entries = []
        for entry in frame_entries(self.df, self):
            row = entry.row
            base = self._bases.get((row.urn, row.column))
            if base is not None:
                original = rows[row.urn, row.column]
                row = replace(original, edited=row.edited, exported=digest_of(base))
            entries.append(replace(entry, row=row, base=base))
        return entries

    def _require_steward(self) -> "NotebookStewardship":
        if self._steward is None:
            raise InvalidInput("these rows were constructed by hand and have no catalog")
        return self._steward

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each table, then for each of its columns, as text except the tags.
        No request.

        urn, table         of the table
        column, path       of a column: in the short form, and exact; missing for the table itself
        type               the column's, or the kind of table
        ingested, edited   both descriptions; missing if empty
        tags               lists of names
        exported           a fingerprint of `edited`, by which `changeset` knows what was changed
        """
        return to_frame(views.documentation_table(self))

    def parts(self) -> Iterator[Part]:
        tables = sum(not row.column for row in self)
        counts = f"{tables:,} tables, {len(self) - tables:,} columns"
        yield Title("Documentation", counts if self else views.NO_DATASET)
        headers = ("table", "column", "type", "description")
        yield from grid_parts(headers, self, _text_cells)


@dataclass(frozen=True, repr=False)
class ProjectPlanTable(ShownTable, ProjectPlan):
    """The changes to a dbt project's files, and the texts left out, with reasons; `write` writes
    the changes."""

    @property
    def items(self) -> tuple[PlanItem, ...]:
        """Return every change and every text left out, file by file."""
        return plan_items(self)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each change and each text left out, all as text. No request.

        file, resource, column, property   where the text belongs
        kind                               the outcome, such as new, changed, conflict
        before, after                      in the project now, and as planned
        urn, why                           the dataset, and why nothing is written
        """
        return to_frame(plan_table(self.items))

    def parts(self) -> Iterator[Part]:
        yield Title("dbt project", " · ".join(plan_summary(self)))
        items = self.items
        yield from table_parts(plan_table(items))
        lines = tuple(line for item in items[:MOST_ROWS] for line in item_diff(item))
        if lines:
            yield Difference(lines)
        if self.files:
            yield Say("write() writes: " + "; ".join(files_sentences(self)))


_Shows = Callable[["NotebookStewardship", _T], _S]


def _displays(
    method: Callable[Concatenate[AsyncStewardship, _P], Coroutine[Any, Any, _T]], what: str
) -> "Callable[[_Shows[_T, _S]], Callable[Concatenate[NotebookStewardship, _P], _S]]":
    """Return a decorator for a function that converts a result to an object that renders itself.
    The decorated method blocks with a progress bar named `what`, and has the parameters and the
    documentation of `method`."""

    def decorate(
        show: "_Shows[_T, _S]",
    ) -> "Callable[Concatenate[NotebookStewardship, _P], _S]":
        @wraps(method)
        def call(self: "NotebookStewardship", /, *args: _P.args, **kwargs: _P.kwargs) -> _S:
            def work(tell: "Progress") -> Coroutine[Any, Any, _T]:
                kwargs["progress"] = kwargs.get("progress") or tell
                return method(self.core, *args, **kwargs)

            return show(self, with_progress(self._shown_in, work, what))

        return call

    return decorate


class NotebookStewardship(stewardship.Stewardship):
    """`explorer.stewardship.Stewardship`, whose results render themselves. Reading shows a progress
    bar and can be interrupted."""

    def __init__(self, catalog: "Catalog") -> None:
        super().__init__(catalog)
        self._shown_in = catalog

    def __reduce__(self) -> tuple[object, ...]:
        return NotebookStewardship, (self._shown_in,)

    def __repr__(self) -> str:
        return f"Stewardship({self._shown_in!r}): worklist(), coverage(), feed(), concept(NAME), …"

    @_displays(AsyncStewardship.documentation, "reading what is written")
    def documentation(self, rows: tuple[stewardship.Row, ...]) -> Documentation:
        return Documentation.of(rows, self)

    @_displays(AsyncStewardship.apply, "writing")
    def apply(self, applied: stewardship.Applied) -> AppliedTable:
        return AppliedTable(**values_of(applied))

    def review(
        self,
        changeset: "stewardship.StagedChangeset | stewardship.Changeset | Urn | str | Path",
        *,
        title: str = "Edited in a notebook",
    ) -> "ReviewWidget":
        """Return a widget to review a staged changeset and write it. The changeset is one that
        `stage` returned, its file, or the URN or id of one on the server, which is fetched. The
        result of `Documentation.diff` or `changeset` is first staged under `title`. No request,
        except one for staging, and those of `fetch_changeset` for fetching.

        Raises `InvalidInput` for a file that is no changeset, or if there is nothing to stage.
        """
        from explorer.notebook.widgets.stewardship import review

        if isinstance(changeset, Urn):
            changeset = self.fetch_changeset(changeset)
        elif isinstance(changeset, str | Path):
            changeset = self._open_changeset(changeset)
        elif isinstance(changeset, stewardship.Changeset):
            changeset = self.stage(stewardship.stage_changes(changeset.changes), title)
        elif not isinstance(changeset, stewardship.StagedChangeset):
            raise InvalidInput(f"give a changeset, its file or its URN, not {changeset!r:.80}")
        return review(self._shown_in, changeset)

    def _open_changeset(self, source: "str | Path") -> stewardship.StagedChangeset:
        path = Path(source).expanduser()
        if isinstance(source, str) and not path.exists():
            with suppress(InvalidInput):
                return self.fetch_changeset(changeset_urn(source))
        return stewardship.StagedChangeset.open(path)

    def proposals(self) -> ProposalsTable:
        """Return the shared changesets on the server, newest first; see `shared_changesets`.

        Example: `cat.stewardship.proposals().df`
        """
        return ProposalsTable(self.shared_changesets())

    @_displays(AsyncStewardship.share_changeset, "sharing")
    def share(self, urn: Urn) -> Urn:
        return urn

    @_displays(AsyncStewardship.coverage, "counting what is documented")
    def coverage(self, coverage: stewardship.Coverage) -> CoverageTable:
        return CoverageTable(**values_of(coverage))

    @_displays(AsyncStewardship.coverage_trend, "counting what was documented")
    def coverage_trend(self, trend: stewardship.CoverageTrend) -> CoverageTrendChart:
        return CoverageTrendChart(**values_of(trend))

    @_displays(AsyncStewardship.worklist, "searching for what to document")
    def worklist(self, worklist: stewardship.Worklist) -> WorklistTable:
        return WorklistTable(**values_of(worklist), catalog=self._shown_in)

    @_displays(AsyncStewardship.concept, "reading columns")
    def concept(self, concept: stewardship.Concept) -> ConceptTable:
        return ConceptTable(**values_of(concept), steward=self)

    @_displays(AsyncStewardship.term_concept, "reading columns")
    def term_concept(self, concept: stewardship.Concept) -> ConceptTable:
        return ConceptTable(**values_of(concept), steward=self)

    @_displays(AsyncStewardship.feed, "reading what changed")
    def feed(self, feed: stewardship.ChangeFeed) -> FeedTable:
        return FeedTable(**values_of(feed), catalog=self._shown_in)

    @_displays(AsyncStewardship.dbt_plan, "reading what is written")
    def dbt_plan(self, plan: ProjectPlan) -> ProjectPlanTable:
        return ProjectPlanTable(**values_of(plan))

    @_displays(AsyncStewardship.draft, "drafting")
    def draft(self, outcome: stewardship.DraftingOutcome) -> DraftingTable:
        return DraftingTable(**values_of(outcome))

    def changeset(
        self,
        entries: "Iterable[stewardship.Entry] | pd.DataFrame",
        *,
        clear_empty: bool = False,
        progress: "Progress | None" = None,
    ) -> ChangesetTable:
        """Return the changes that entries would make in the catalog as it is now; see
        `explorer.stewardship.changeset.read_changeset`.

        `entries` may be a DataFrame, such as that of `documentation` with other texts in `edited`.
        Its columns `urn`, `path` (or `column`) and `edited` are required, `exported` shows which
        texts were changed since, and other columns are allowed. Rows may be left out. Raises
        `InvalidInput` if a required column is missing.
        """
        import pandas as pd

        lines = frame_entries(entries) if isinstance(entries, pd.DataFrame) else entries
        return self._compare(lines, clear_empty=clear_empty, progress=progress)

    @_displays(AsyncStewardship.changeset, "comparing")
    def _compare(self, changeset: stewardship.Changeset) -> ChangesetTable:
        return ChangesetTable(**values_of(changeset))


def frame_entries(
    frame: "pd.DataFrame", rows: Iterable[stewardship.Row] = ()
) -> list[stewardship.Entry]:
    """Return the rows of a data frame as entries to be compared; see
    `NotebookStewardship.changeset`. Each is named after its label in the index, with its position
    in the frame if labels are not unique. `rows` are the rows from which the frame was made; they
    give the exact path of a column named in short form. Raises `InvalidInput` if it is not a data
    frame with these columns.
    """
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise InvalidInput(f"a {type(frame).__name__} is not a data frame; to_frame() creates one")
    path = "path" if "path" in frame.columns else "column"
    needed = ("urn", path, "edited")
    missing = [name for name in needed if name not in frame.columns]
    if missing:
        hint = "reset_index()" if set(missing) <= set(frame.index.names) else "to_frame()"
        raise InvalidInput(
            f"the data frame has no column named {' or '.join(missing)}; {hint} restores it"
        )
    if twice := [name for name in needed if list(frame.columns).count(name) > 1]:
        raise InvalidInput(f"the data frame has several columns named {twice[0]}; keep one")
    values = frame.loc[:, ~frame.columns.duplicated()].astype("object")
    values = values.where(values.notna(), None)
    exact = _exact_paths(rows) if path == "column" else {}
    labels = [f"row {label}" for label in frame.index]
    if not frame.index.is_unique:
        labels = [f"{label}, line {at} of the frame" for at, label in enumerate(labels, 1)]
    entries = []
    for place, row in zip(labels, values.to_dict("records"), strict=True):
        text = {str(name): _text_of(value) for name, value in row.items()}
        column = exact.get((text["urn"], text[path]), text[path])
        problem = _problem(row["edited"])
        line = stewardship.Row(
            urn=text["urn"],
            table=text.get("table", ""),
            column=column,
            type=text.get("type", ""),
            ingested=text.get("ingested", ""),
            edited=text["edited"].encode(errors="replace").decode() if problem else text["edited"],
            exported=text.get("exported", ""),
        )
        entries.append(stewardship.Entry(place, line, problem=problem))
    return entries


def _exact_paths(rows: Iterable[stewardship.Row]) -> Mapping[tuple[str, str], str]:
    """Return the exact path of each column by its table and short name, if the name is unique."""
    paths_by_key: dict[tuple[str, str], str | None] = {}
    for row in rows:
        key = row.urn, FieldPath(row.column).simple if row.column else ""
        paths_by_key[key] = None if key in paths_by_key else row.column
    return {key: path for key, path in paths_by_key.items() if path is not None}


def _text_of(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _problem(edited: object) -> str | None:
    """Return why a value cannot be a description; None if it can."""
    if edited is None:
        return None
    if not isinstance(edited, str):
        return f"edited must be a text, not a {type(edited).__name__}"
    try:
        edited.encode()
    except UnicodeEncodeError:
        return "edited contains half of a surrogate pair, which cannot be stored"
    return None


def _wish(entry: stewardship.Entry) -> tuple[str, str, str]:
    return entry.row.urn, entry.row.column, entry.row.edited


def _difference_parts(
    changes: Sequence[stewardship.Change], lines_of: "Callable[[stewardship.Change], Diff]"
) -> Iterator[Part]:
    """Yield the first changes as lines, each below its place and kind, and a sentence with the
    number of others."""
    lines: list[DiffLine] = []
    for change in changes[:MOST_ROWS]:
        place = " · ".join(filter(None, views.change_place(change)))
        kind = f"  {change.kind}" if change.kind != "unchanged" else ""
        lines += [DiffLine(f"{place}{kind}", "place", ""), *lines_of(change)]
    if lines:
        yield Difference(tuple(lines))
    if len(changes) > MOST_ROWS:
        yield Say(f"{MOST_ROWS} of {len(changes):,} drawn; .to_frame() has them all")


def load_table(report: LoadReport) -> LoadTable:
    """Return a load outcome that renders itself."""
    return LoadTable(**values_of(report))


def _text_cells(row: stewardship.Row) -> tuple[Cell, ...]:
    path = FieldPath(row.column).simple if row.column else ""
    return (
        Cell(row.table, detail=row.urn if not row.column else "", tone="loud"),
        Cell(path) if path else Cell(views.WHOLE_TABLE, tone="quiet"),
        Cell(row.type),
        description_cell(row.ingested, row.edited),
    )
