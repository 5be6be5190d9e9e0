"""A dbt project compared with the catalog: what writing its files would change, and its texts that
the catalog lacks, for review."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from rich.text import Text
from textual import on, work
from textual.binding import BindingType
from textual.widgets import Static

from explorer.client.display import counted
from explorer.metadata.urn import Urn
from explorer.sessions.changesets import ChangesetsSession
from explorer.stewardship import dbt
from explorer.stewardship.api import AsyncStewardship
from explorer.stewardship.dbt_project import Project, read_project
from explorer.tui.actions import bindings
from explorer.tui.content import join, line, line_text
from explorer.tui.key_queue import LEADING
from explorer.tui.screens.review import project_prompt
from explorer.tui.session import Changes, TerminalSession
from explorer.tui.widgets.dialogs import FilteredListScreen
from explorer.tui.widgets.rows import DifferenceRows, Rows, TableRows
from explorer.views.dbt import (
    PlanItem,
    files_sentences,
    import_remark,
    item_diff,
    items_with,
    no_match_sentence,
    nothing_sentence,
    plan_items,
    plan_sentence,
    plan_summary,
    plan_table,
)
from explorer.views.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from explorer.stewardship.staging import StagedChangeset
    from explorer.views.diff import Diff

_MOST_FILES: Final = 8
_NOT_LISTED: Final = "No change matches; esc shows all."


class DbtRows(Rows):
    """The changes of a project."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("dbtrows")


@dataclass(frozen=True, slots=True)
class _Options:
    """What is written besides descriptions, and whether conflicts are."""

    tags: bool = False
    owners: bool = False
    conflicts: bool = False

    @property
    def properties(self) -> "tuple[dbt.Property, ...]":
        return (
            "description",
            *(("tags",) if self.tags else ()),
            *(("owner",) if self.owners else ()),
        )

    def __str__(self) -> str:
        kinds = ["descriptions"]
        kinds += ["tags"] if self.tags else []
        kinds += ["owners"] if self.owners else []
        return " and ".join(filter(None, (", ".join(kinds[:-1]), kinds[-1])))


@dataclass(frozen=True, slots=True, eq=False)
class _Comparison:
    """A project as it was read, and the catalog's metadata of its datasets."""

    project: Project
    matches: dbt.Matches
    metadata: Mapping[Urn, dbt.Held]

    @property
    def urns(self) -> tuple[Urn, ...]:
        """The datasets that its resources are, or could be."""
        could_be = (urn for resource in self.matches.unmatched for urn in resource.candidates)
        return tuple(dict.fromkeys((*self.matches.urns, *could_be)))

    def plan(self, options: _Options) -> dbt.ProjectPlan:
        """Return the plan of what is written. Checks which files exist."""
        return dbt.plan(
            self.project,
            self.matches,
            self.metadata,
            properties=options.properties,
            force_conflicts=options.conflicts,
        )


class DbtProjectScreen(FilteredListScreen[Urn]):
    """Lists by file what the catalog changes in a dbt project and what it leaves out, above the
    difference of the row under the cursor. Returns the dataset to open, if any.

    `review` shows a staged changeset and what was left out of it; `note` is called with the folder
    of a project that could be read.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("dbt")
    TITLE_TEXT = "dbt project"
    HINT = "words of a file, a model, a column, a text, or a state such as conflict"
    READING = "reading the project …"

    def __init__(
        self,
        session: TerminalSession,
        folder: Path,
        review: "Callable[[StagedChangeset, str], object]",
        note: "Callable[[Path], object]",
    ) -> None:
        super().__init__(session, DbtRows())
        self._folder = folder
        self._review = review
        self._note = note
        self._options = _Options()
        self._found: _Comparison | None = None
        self._plan: dbt.ProjectPlan | None = None
        self._items: Sequence[PlanItem] = ()
        self._shown: Sequence[PlanItem] = ()
        self._summary: Sequence[str] = ()
        self._progress = ""
        self._is_outdated = False
        self._is_reviewed = False

    def on_screen_resume(self) -> None:
        """Read again what was reviewed, and perhaps written."""
        if self._is_reviewed:
            self._is_reviewed = False
            self.read()

    def apply_changes(self, changes: Changes) -> None:
        """Show that the catalog changed; the list stays, because it is being read."""
        if self._found is not None and not changes.keys().isdisjoint(self._found.metadata):
            self._is_outdated = True
            self._show_heading()

    def table(self) -> Table | None:
        """Return what is listed, for a file."""
        return plan_table(self._shown) if self._shown else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer what there is something for."""
        del parameters
        match action:
            case "write":
                return self._plan is not None and bool(self._plan.files) and not self._progress
            case "take_in":
                return self._found is not None and not self._progress
            case "tags" | "owners" | "conflicts":
                return self._found is not None
            case "filter":
                return bool(self._items)
            case "text":
                return self._item is not None
            case "open":
                return self._item is not None and bool(self._item.urn)
        return True

    def action_write(self) -> None:
        """Write the files, once that is confirmed."""
        plan = self._plan
        if plan is None:
            return
        question = Text.assemble(
            (f"Write {plan_sentence(plan)} of {line(str(plan.root.absolute()))}?", "bold"), "\n\n"
        )
        files = files_sentences(plan)
        for file in files[:_MOST_FILES]:
            question.append(f"{line(file)}\n")
        if len(files) > _MOST_FILES:
            question.append(f"and {counted(len(files) - _MOST_FILES, 'more file')}\n")
        question.append("\nOnly the changed lines are written; the catalog is not changed.")
        if self.words:
            question.append(" The filter applies to the list only: all changes are written.")
        if plan.left_out:
            number = "1 is" if len(plan.left_out) == 1 else f"{len(plan.left_out):,} are"
            question.append(f" {number} left out; the list says why.")
        self.confirm(question, partial(self._write, plan))

    @work(exclusive=True, group="write")
    async def _write(self, plan: dbt.ProjectPlan) -> None:
        self._show_status("writing the files …")
        with self._session.reporting("writing the files"):
            await asyncio.to_thread(plan.write)
            self._session.say(f"Written: {plan_sentence(plan)}.")
        if not self.is_closed:
            self.read()

    @work(exclusive=True, group="stage", name=LEADING)
    async def action_take_in(self) -> None:
        """Stage the project's texts that the catalog lacks, and review them."""
        before, options = self._found, self._options
        if before is None:
            return
        with self._session.reporting("reading the texts of the project"):
            self._show_status("reading the texts of the project …")
            try:
                project = await asyncio.to_thread(read_project, self._folder)
                steward = AsyncStewardship(await self._session.catalog())
                changes = await steward.dbt_changes(
                    project,
                    before.urns,
                    properties=options.properties,
                    progress=partial(self._show_progress, "compared"),
                )
                forced = options.conflicts
                edits = await steward.dbt_edits(changes, force_conflicts=forced)
                remark = import_remark(changes, edits.unknown, force_conflicts=forced)
                if not forced and changes.changeset.of("conflict"):
                    remark += " Press c first to import conflicts too."
                if not edits.edits:
                    nothing = "The project has nothing that the catalog lacks."
                    self._session.say(f"{nothing} {remark}".strip())
                    return
                title = f"dbt project {line(project.name, 80)}"
                changesets = ChangesetsSession(steward.catalog)
                changeset = await changesets.stage(edits.edits, title)
            finally:
                self._show_status("")
            if self.is_current:
                self._is_reviewed = True
                self._review(changeset, remark)
            else:
                self._session.say(f"{title} is ready for review: V lists it.")

    def action_tags(self) -> None:
        """Write tags too, or not."""
        self._choose_options(replace(self._options, tags=not self._options.tags))

    def action_owners(self) -> None:
        """Write owners too, or not."""
        self._choose_options(replace(self._options, owners=not self._options.owners))

    def action_conflicts(self) -> None:
        """Write conflicts too, or leave them."""
        self._choose_options(replace(self._options, conflicts=not self._options.conflicts))

    def action_open(self) -> None:
        """Open the page of the dataset."""
        if self._item is not None and self._item.urn:
            self.dismiss(Urn.parse(self._item.urn))

    def action_folder(self) -> None:
        """Ask for the folder of another project, and read that."""

        def read_folder(name: str | None) -> None:
            if name is not None:
                self._folder = Path(name).expanduser()
                self.clear()
                self._forget()
                self.query_one(TableRows).show(Table((), ()), empty=self.READING)
                self.read()

        self.app.push_screen(project_prompt(str(self._folder)), read_folder)

    @on(Rows.Chosen)
    def _choose(self, event: Rows.Chosen) -> None:
        event.stop()
        if self._item is not None:
            self.action_text()

    @property
    def _item(self) -> PlanItem | None:
        return self._rows.under_cursor(self._shown)

    def _forget(self) -> None:
        self._found, self._plan, self._items, self._shown = None, None, (), ()

    def _show_failure(self, sentence: str) -> bool:
        """Show in place of the list why it could not be read."""
        if self.is_closed:
            return False
        self._forget()
        self._progress = ""
        empty = f"{line(sentence)} d opens another folder."
        self.query_one(TableRows).show(Table((), ()), empty=empty)
        self._show_heading()
        self.show_row()
        return True

    def _show_status(self, progress: str) -> None:
        self._progress = progress
        self._show_heading()
        self.refresh_bindings()

    def _show_progress(self, verb: str, done: int, total: int) -> None:
        self._show_status(f"{done:,} of {counted(total, 'dataset')} {verb} …")

    # Not with what narrows the list, which would end it.
    @work(exclusive=True, group="read")
    async def read(self) -> None:
        """Read the project and what the catalog says of it, and list what differs."""
        with self._session.reporting("reading the project", self._show_failure, self.action_reload):
            self._show_status(self.READING)
            project = await asyncio.to_thread(read_project, self._folder)
            self._note(await asyncio.to_thread(self._folder.absolute))
            catalog = await self._session.catalog()
            self._show_status("looking for its datasets …")
            urns = await AsyncStewardship(catalog).datasets()
            matches = await asyncio.to_thread(dbt.match, project.resources, urns)
            self._is_outdated = False
            tell = partial(self._show_progress, "read")
            metadata = await dbt.read_held(catalog, matches.urns, tell)
            self._found = _Comparison(project, matches, metadata)
            await self._make_plan()
            self._show_status("")

    def _choose_options(self, options: _Options) -> None:
        self._options = options
        self._plan_again()

    @work(exclusive=True, group="plan")
    async def _plan_again(self) -> None:
        with self._session.reporting("comparing the project with the catalog"):
            await self._make_plan()

    async def _make_plan(self) -> None:
        comparison, options = self._found, self._options
        if comparison is None:
            return
        plan = await asyncio.to_thread(comparison.plan, options)
        items = await asyncio.to_thread(plan_items, plan)
        summary = await asyncio.to_thread(plan_summary, plan)
        # What was read or chosen meanwhile makes another.
        if comparison is self._found and options == self._options:
            self._plan, self._items, self._summary = plan, items, summary
            await self.list_again()

    async def show_list(self) -> None:
        """List the changes that match the words, with the cursor on the same row if it is
        listed."""
        item, plan = self._item, self._plan
        if plan is None:
            return
        self._shown = await asyncio.to_thread(items_with, self._items, self.words)
        page = plan_table(self._shown)
        keys = [item.key for item in self._shown]
        cursor = keys.index(item.key) if item is not None and item.key in keys else 0
        nothing = nothing_sentence(plan)
        empty = _NOT_LISTED if self._items else f"{nothing[:1].upper()}{nothing[1:]}."
        self.query_one(TableRows).show(page, cursor=cursor, empty=empty)
        self._show_heading()
        self.show_row()

    def _show_heading(self) -> None:
        if self.is_closed:
            return
        plan, comparison = self._plan, self._found
        if plan is None or comparison is None:
            title = Text(self.TITLE_TEXT, "bold")
            self.query_one("#heading", Static).update(join([title, Text(self._progress)]))
            return
        project = comparison.project
        count, total = len(self._shown), len(self._items)
        first = [
            line_text(f"{self.TITLE_TEXT} {project.name}", "bold"),
            Text(self._progress, "bold"),
            *map(Text, self._summary),
            *([Text(f"{count:,} of {total:,} listed")] if count < total else []),
            line_text(self.words, "italic"),
            Text("the catalog changed: r refreshes" if self._is_outdated else "", "italic"),
        ]
        second = [
            Text(f"writes {self._options}"),
            Text("conflicts are replaced" if self._options.conflicts else "conflicts are left out"),
        ]
        matches = no_match_sentence(
            len(project.resources), plan.unmatched, has_manifest=project.has_manifest
        )
        lines = [join(first), join(second), Text(matches)]
        heading = Text("\n").join(text for text in lines if text.plain)
        self.query_one("#heading", Static).update(heading)

    @work(exclusive=True, group="difference")
    async def show_row(self) -> None:
        """Show what differs; long texts are compared in a thread."""
        item = self._item
        lines: Diff = ()
        if item is not None:
            lines = await asyncio.to_thread(item_diff, item)
        if item is self._item:
            self.query_one(DifferenceRows).show_lines(lines)
            self.refresh_bindings()
