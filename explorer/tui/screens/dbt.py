"""A dbt project compared with the catalog: what writing its files would change, and its texts that
the catalog lacks, for review."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from rich.text import Text
from textual import work
from textual.binding import BindingType

from explorer.client.display import counted
from explorer.metadata.urn import Urn
from explorer.sessions.dbt import ProjectOptions, ProjectSession, ProjectState
from explorer.tui.actions import bindings
from explorer.tui.content import join, line, line_text
from explorer.tui.key_queue import LEADING
from explorer.tui.screens.review import project_prompt
from explorer.tui.session import Changes, TerminalSession
from explorer.tui.widgets.dialogs import SessionListScreen
from explorer.tui.widgets.rows import Rows
from explorer.views.dbt import (
    PlanItem,
    files_sentences,
    item_diff,
    no_match_sentence,
    plan_sentence,
    plan_table,
)
from explorer.views.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from explorer.client import AsyncCatalog
    from explorer.stewardship.staging import StagedChangeset
    from explorer.views.diff import Diff

_MOST_FILES: Final = 8


class DbtRows(Rows):
    """The changes of a project."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("dbtrows")


class DbtProjectScreen(SessionListScreen[Urn, ProjectState]):
    """Lists, by file, the changes that the catalog would make to a dbt project, and texts that it
    leaves out, above the difference of the row under the cursor. Returns the dataset to open, if
    any.

    `review` shows a staged changeset, with a remark on what was left out; `note` is called with the
    folder of a project that could be read.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings("dbt")
    DOING = "reading and writing the project"
    HINT = "words of a file, a model, a column, a text, or a state such as conflict"
    FAILURE_HINT = "d opens another folder."
    OFFERED: ClassVar[Mapping[str, str]] = {
        "write": "write",
        "take_in": "take_in",
        "tags": "choose",
        "owners": "choose",
        "conflicts": "choose",
    }
    _list: ProjectSession | None = None

    def __init__(
        self,
        session: TerminalSession,
        folder: Path,
        review: "Callable[[StagedChangeset, str], object]",
        note: "Callable[[Path], object]",
    ) -> None:
        super().__init__(session, DbtRows())
        self._review = review
        self._note = note
        self._shown = ProjectState(folder=folder, instead=ProjectSession.READING)
        self._is_reviewed = False

    def begin(self, catalog: "AsyncCatalog") -> ProjectSession:
        """Create the session that reads this list."""
        return ProjectSession(catalog, self._shown.folder)

    def on_screen_resume(self) -> None:
        """Read the project again after a review, which may have written to the catalog."""
        if self._is_reviewed:
            self._is_reviewed = False
            self.read()

    def apply_changes(self, changes: Changes) -> None:
        """Show that the catalog changed."""
        if self._list is not None:
            self._list.follow(changes)

    def rows_table(self, state: ProjectState) -> Table:
        """Return the listed changes as a table."""
        return plan_table(state.listed)

    def difference(self, row: PlanItem) -> "Diff":
        """Return the difference that a row shows."""
        return item_diff(row)

    def draw_state(self, before: ProjectState, state: ProjectState) -> None:
        """Show the changes, and pass the folder of a project that was read to `note`."""
        super().draw_state(before, state)
        if state.root is not None and state.root is not before.root:
            self._note(state.root)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow opening only datasets that are in the catalog."""
        item = self._shown.current
        if action == "open":
            return item is not None and bool(item.urn)
        return super().check_action(action, parameters)

    def action_write(self) -> None:
        """Write the files, after confirmation."""
        plan = self._shown.plan
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
        if self._shown.words:
            question.append(" The filter applies to the list only: all changes are written.")
        if plan.left_out:
            number = "1 is" if len(plan.left_out) == 1 else f"{len(plan.left_out):,} are"
            question.append(f" {number} left out; the list says why.")
        self.ask(question, "write", plan)

    @work(exclusive=True, group="stage", name=LEADING)
    async def action_take_in(self) -> None:
        """Stage the project's texts that the catalog lacks, and review them."""
        taken_in = await self.do(self._list.take_in()) if self._list is not None else None
        if taken_in is None:
            return
        remark, changeset = taken_in.remark, taken_in.changeset
        if taken_in.leaves_conflicts:
            remark += " Press c first to import conflicts too."
        if changeset is None:
            nothing = "The project has nothing that the catalog lacks."
            self._session.say(f"{nothing} {remark}".strip())
        elif self.is_current:
            self._is_reviewed = True
            self._review(changeset, remark)
        else:
            self._session.say(f"{taken_in.title} is ready for review: V lists it.")

    def action_tags(self) -> None:
        """Switch whether tags are written, too."""
        self._choose(replace(self._shown.options, tags=not self._shown.options.tags))

    def action_owners(self) -> None:
        """Switch whether owners are written, too."""
        self._choose(replace(self._shown.options, owners=not self._shown.options.owners))

    def action_conflicts(self) -> None:
        """Switch whether conflicting texts are overwritten, or left unchanged."""
        self._choose(replace(self._shown.options, conflicts=not self._shown.options.conflicts))

    @work(exclusive=True, group="plan")
    async def _choose(self, options: ProjectOptions) -> None:
        await self.act("choose", options)

    def action_open(self) -> None:
        """Open the page of the dataset."""
        item = self._shown.current
        if item is not None and item.urn:
            self.dismiss(Urn.parse(item.urn))

    def action_folder(self) -> None:
        """Ask for the folder of another project, and read it."""

        def read_folder(name: str | None) -> None:
            if name is not None:
                self.clear()
                self.read(lambda project: project.open_folder(Path(name).expanduser()))

        self.app.push_screen(project_prompt(str(self._shown.folder)), read_folder)

    def heading(self, state: ProjectState) -> Text:
        """Return how many changes are written and left out, and the chosen options."""
        doing = Text(str(state.work) if state.work is not None else "", "bold")
        plan, comparison = state.plan, state.comparison
        if plan is None or comparison is None:
            return join([Text("dbt project", "bold"), doing])
        project = comparison.project
        count, total = len(state.listed), len(state.rows)
        first = [
            line_text(f"dbt project {project.name}", "bold"),
            doing,
            *map(Text, state.summary),
            *([Text(f"{count:,} of {total:,} listed")] if count < total else []),
            line_text(state.words, "italic"),
            Text("the catalog changed: r refreshes" if state.is_outdated else "", "italic"),
        ]
        conflicts = "replaced" if state.options.conflicts else "left out"
        second = [Text(f"writes {state.options}"), Text(f"conflicts are {conflicts}")]
        matches = no_match_sentence(
            len(project.resources), plan.unmatched, has_manifest=project.has_manifest
        )
        lines = [join(first), join(second), Text(matches)]
        return Text("\n").join(text for text in lines if text.plain)
