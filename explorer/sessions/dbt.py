"""A dbt project compared with the catalog: the changes to write to its files, and the texts of the
project that the catalog lacks, to be reviewed."""

import asyncio
from collections.abc import Container, Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from explorer.client import AsyncCatalog
from explorer.client.display import line
from explorer.metadata.urn import Urn
from explorer.sessions.base import action
from explorer.sessions.changesets import ChangesetsSession
from explorer.sessions.listing import NarrowedSession, NarrowedState
from explorer.stewardship import dbt
from explorer.stewardship.api import AsyncStewardship
from explorer.stewardship.dbt_project import Project, read_project
from explorer.views.dbt import (
    PlanItem,
    import_remark,
    items_with,
    nothing_sentence,
    plan_items,
    plan_sentence,
    plan_summary,
)

if TYPE_CHECKING:
    from explorer.stewardship.staging import StagedChangeset

_NAME: Final = 80


@dataclass(frozen=True, slots=True)
class ProjectOptions:
    """Which properties are written besides descriptions, and whether conflicts are overwritten."""

    tags: bool = False
    owners: bool = False
    conflicts: bool = False

    @property
    def properties(self) -> tuple[dbt.Property, ...]:
        """The properties to write, by their names in a project."""
        tags: tuple[dbt.Property, ...] = ("tags",) if self.tags else ()
        owners: tuple[dbt.Property, ...] = ("owner",) if self.owners else ()
        return ("description", *tags, *owners)

    def __str__(self) -> str:
        """Return in words which properties are written."""
        kinds = ["descriptions"]
        kinds += ["tags"] if self.tags else []
        kinds += ["owners"] if self.owners else []
        return " and ".join(filter(None, (", ".join(kinds[:-1]), kinds[-1])))


_DESCRIPTIONS: Final = ProjectOptions()


@dataclass(frozen=True, slots=True, eq=False)
class ProjectComparison:
    """A project, and the catalog's metadata of its datasets."""

    project: Project
    matches: dbt.Matches
    metadata: Mapping[Urn, dbt.Held]

    @property
    def urns(self) -> tuple[Urn, ...]:
        """The URNs of the datasets that match the project's resources, or may match them."""
        could_be = (urn for resource in self.matches.unmatched for urn in resource.candidates)
        return tuple(dict.fromkeys((*self.matches.urns, *could_be)))

    def plan(self, options: ProjectOptions) -> dbt.ProjectPlan:
        """Return the plan of the changes to write. Checks which files exist."""
        return dbt.plan(
            self.project,
            self.matches,
            self.metadata,
            properties=options.properties,
            force_conflicts=options.conflicts,
        )


@dataclass(frozen=True, slots=True)
class ProjectImport:
    """The staged texts of a project that the catalog lacks, None if there are none. `remark` says
    what was left out; with `leaves_conflicts`, conflicts were left out too."""

    title: str
    changeset: "StagedChangeset | None"
    remark: str
    leaves_conflicts: bool


@dataclass(frozen=True, slots=True)
class ProjectState(NarrowedState[PlanItem]):
    """The changes that the catalog makes in the project in `folder`, and those that are left out,
    by file.

    `root` is that folder, once a project was read there. `is_outdated` is true if the catalog
    changed since.
    """

    folder: Path = Path()
    root: Path | None = None
    options: ProjectOptions = _DESCRIPTIONS
    comparison: ProjectComparison | None = None
    plan: dbt.ProjectPlan | None = None
    summary: Sequence[str] = ()
    is_outdated: bool = False


class ProjectSession(NarrowedSession[ProjectState]):
    """A dbt project compared with the catalog: its files are written, and its texts are staged for
    the catalog."""

    READING = "reading the project …"

    def __init__(self, catalog: AsyncCatalog, folder: Path) -> None:
        super().__init__(catalog, ProjectState(folder=folder))
        self._steward = AsyncStewardship(catalog)

    async def read_rows(self) -> None:
        """Read the project and the metadata of its datasets, and list the differences."""
        folder = self.state.folder
        project = await self.work("reading the project", asyncio.to_thread(read_project, folder))
        self.replace(root=await asyncio.to_thread(folder.absolute))
        urns = await self.work("looking for its datasets", self._steward.datasets())
        matches = await asyncio.to_thread(dbt.match, project.resources, urns)
        self.replace(is_outdated=False)
        metadata = await self.work(
            "reading its datasets", dbt.read_held(self.catalog, matches.urns, self.tell_progress)
        )
        self.replace(comparison=ProjectComparison(project, matches, metadata))
        await self._make_plan()

    def key_of(self, row: PlanItem) -> Hashable:
        """Return a key that identifies a row in the list."""
        return row.key

    def select(self, state: ProjectState) -> Sequence[PlanItem]:
        """Return the rows that match the words."""
        return items_with(state.rows, state.words)

    def why_none(self, state: ProjectState) -> str:
        """Return the text shown in place of an empty list."""
        nothing = nothing_sentence(state.plan) if state.plan is not None else ""
        return "No change matches." if state.rows else f"{nothing[:1].upper()}{nothing[1:]}."

    @action("Compare the project in another folder", in_turn=False, supersedes=("open_folder",))
    async def open_folder(self, folder: Path) -> None:
        """Read the project in another folder."""
        self._key = None
        self.put(
            (),
            folder=folder,
            rows=(),
            words="",
            comparison=None,
            plan=None,
            is_reading=True,
            cursor=0,
        )
        await self.read()

    @action("Choose what is written besides descriptions, and whether conflicts are", in_turn=False)
    async def choose(self, options: ProjectOptions) -> None:
        """Plan the changes again, with other options."""
        self.replace(options=options)
        await self._make_plan()

    @action("Write the files of the project")
    async def write(self, plan: dbt.ProjectPlan) -> None:
        """Write the files as planned; see `ProjectPlan.write`. Reads the project again afterwards,
        also if writing failed because a file had changed."""
        try:
            await self.work("writing the files", asyncio.to_thread(plan.write))
            self.say(f"Written: {plan_sentence(plan)}.")
        finally:
            if not self.is_closed:
                self.start(self.read())

    @action("Stage the texts of the project that the catalog lacks, for review")
    async def take_in(self) -> ProjectImport | None:
        """Stage the project's texts that the catalog lacks; nothing is written. Return None if the
        project was not compared yet."""
        comparison, options = self.state.comparison, self.state.options
        if comparison is None:
            return None
        reading = asyncio.to_thread(read_project, self.state.folder)
        project = await self.work("reading the texts of the project", reading)
        changes = await self.work(
            "comparing its datasets",
            self._steward.dbt_changes(
                project,
                comparison.urns,
                properties=options.properties,
                progress=self.tell_progress,
            ),
        )
        forced = options.conflicts
        edits = await self._steward.dbt_edits(changes, force_conflicts=forced)
        remark = import_remark(changes, edits.unknown, force_conflicts=forced)
        title = f"dbt project {line(project.name, _NAME)}"
        staging = ChangesetsSession(self.catalog).stage
        changeset = await staging(edits.edits, title) if edits.edits else None
        conflicts = changes.changeset.of("conflict")
        return ProjectImport(title, changeset, remark, not forced and bool(conflicts))

    def follow(self, changes: Container[Urn]) -> None:
        """Note that the catalog changed; the list itself does not change, because somebody may be
        reading it."""
        comparison = self.state.comparison
        if comparison is not None and any(urn in changes for urn in comparison.metadata):
            self.replace(is_outdated=True)

    def why_not(self, name: str) -> str:
        """Return why an action is not possible now; empty if it is possible."""
        state = self.state
        if name in ("choose", "take_in", "write") and state.comparison is None:
            return state.instead
        if name in ("take_in", "write") and state.work is not None:
            return str(state.work)
        if name == "write" and (state.plan is None or not state.plan.files):
            return "There is nothing to write."
        return ""

    async def _make_plan(self) -> None:
        comparison, options = self.state.comparison, self.state.options
        if comparison is None:
            return
        plan = await asyncio.to_thread(comparison.plan, options)
        items = await asyncio.to_thread(plan_items, plan)
        summary = await asyncio.to_thread(plan_summary, plan)
        # Another plan follows if the project or the options changed meanwhile.
        if comparison is self.state.comparison and options == self.state.options:
            await self.show(rows=items, plan=plan, summary=summary)
