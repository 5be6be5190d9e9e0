"""The changesets on this machine and on the server: listed, opened and shared."""

import asyncio
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from explorer.client.journal import one_save
from explorer.client.transport import REFUSALS
from explorer.errors import CatalogError, Forbidden, InvalidInput, StorageFault
from explorer.metadata.urn import Urn
from explorer.sessions.base import READ_ONLY, action
from explorer.sessions.labels import LabelSession, LabelTarget
from explorer.sessions.listing import ListSession, ListState
from explorer.stewardship.api import AsyncStewardship
from explorer.stewardship.changeset import Applied, Change, apply_changes, stage_changes
from explorer.stewardship.concepts import stage_concept
from explorer.stewardship.files import format_of, read_rows
from explorer.stewardship.proposals import (
    SharedChangeset,
    changeset_urn,
    fetch_changeset,
    server_key,
    share_changeset,
    shared_changesets,
    why_foreign,
    withdraw_changeset,
)
from explorer.stewardship.staging import (
    Agent,
    StagedChangeset,
    StagedEdit,
    changeset_files,
    shared_copies,
)
from explorer.views.stewardship import foreign_words, proposal_counts, review_counts

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.stewardship.concepts import Concept
    from explorer.stewardship.dbt import ProjectLabel
    from explorer.stewardship.drafting import DraftingOutcome
    from explorer.stewardship.worklist import Key


@dataclass(frozen=True, slots=True)
class ListedChangeset:
    """A changeset in a file (`working_copy`), on the server (`shared_urn`), or both.

    `counts` is the number of edits in each state, in words; `unsent` the number of decisions that
    the server does not have yet; `foreign` the mark of a changeset of another catalog, else empty;
    `agent` the name of the agent that proposed it, empty for a person.
    """

    title: str
    at: datetime
    counts: str
    working_copy: StagedChangeset | None = None
    shared_urn: Urn | None = None
    unsent: int = 0
    foreign: str = ""
    agent: str = ""


@dataclass(frozen=True, slots=True)
class ImportOutcome:
    """What an import wrote: the descriptions, and the `labels` with the indexes `added_indexes`;
    `failed` are the labels that were refused, with the reasons."""

    applied: Applied = field(default_factory=Applied)
    labels: "tuple[ProjectLabel, ...]" = ()
    added_indexes: frozenset[int] = frozenset()
    failed: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class ChangesetsState(ListState[ListedChangeset]):
    """The changesets, newest first; whether the server can store changesets; and the agent whose
    changesets alone are listed, empty for all."""

    can_share: bool = False
    agent: str = ""


class ChangesetsSession(ListSession[ChangesetsState]):
    """The changesets to review: they are opened, shared, withdrawn and discarded."""

    READING = "looking for changesets …"
    NONE = "No changesets."

    def __init__(self, catalog: "AsyncCatalog") -> None:
        super().__init__(catalog, ChangesetsState())

    def key_of(self, row: ListedChangeset) -> Hashable:
        """Return a key that identifies a row in the list."""
        return row.at, row.title

    async def read_rows(self) -> None:
        """List the changesets in files first, then also those on the server. Shared ones are
        recognized by their files, even if the server does not answer."""
        files = await asyncio.to_thread(_read_changesets, changeset_files)
        if files:
            self._show([_file_entry(changeset) for changeset in files], is_reading=True)
        key = server_key(self.catalog)
        copies = await asyncio.to_thread(_read_changesets, partial(shared_copies, key))
        shared_here = [copy for copy in (*copies, *files) if copy.is_shared_with(key)]
        entries = {copy.id: _copy_entry(copy, key) for copy in reversed(shared_here)}
        unshared = [changeset for changeset in files if changeset.id not in entries]
        if entries or unshared:
            self._show([*entries.values(), *map(_file_entry, unshared)], is_reading=True)
        names = await self.catalog.known_as()
        foreign = {
            changeset.id: foreign_words(changeset)
            for changeset in (*shared_here, *files)
            if why_foreign(changeset, names, key)
        }
        shared = [entry for name, entry in entries.items() if name not in foreign]
        can_share = (await self.catalog.abilities()).proposals
        if can_share:
            queue = await shared_changesets(self.catalog)
            shared = [_server_entry(found, entries.get(found.urn.name)) for found in queue]
        ids = {entry.shared_urn.name for entry in shared if entry.shared_urn is not None}
        file_entries = [_file_entry(c, foreign.get(c.id, "")) for c in files if c.id not in ids]
        self._show([*shared, *file_entries], can_share=can_share)

    def _show(self, entries: Iterable[ListedChangeset], **changes: object) -> None:
        rows = tuple(sorted(entries, key=lambda entry: entry.at, reverse=True))
        self._list(rows, self.state.agent, **changes)

    def _list(self, rows: Sequence[ListedChangeset], agent: str, **changes: object) -> None:
        listed = tuple(entry for entry in rows if not agent or entry.agent == agent)
        self.put(listed, rows=rows, agent=agent, **changes)

    @action("List only what one agent proposed, then another, then all")
    async def next_agent(self) -> None:
        """List only the changesets of the next agent; after the last agent, list all again."""
        self.check("next_agent")
        agents = sorted({entry.agent for entry in self.state.rows})
        following = [agent for agent in agents if agent > self.state.agent]
        self._list(self.state.rows, following[0] if following else "")

    @action("Review the changeset")
    async def open(self, entry: ListedChangeset) -> StagedChangeset:
        """Return a changeset to review; one that is only on the server is copied to a file
        first."""
        if entry.shared_urn is None and entry.working_copy is not None:
            return entry.working_copy
        return await self.work("fetching the changeset", self.fetch(entry.shared_urn or ""))

    async def fetch(self, name: str | Urn) -> StagedChangeset:
        """Return the changeset on the server with a URN or id; see `fetch_changeset`."""
        return await fetch_changeset(self.catalog, name)

    @action("Review the changes of a file")
    async def open_file(self, path: Path) -> StagedChangeset:
        """Return the changeset in a file, or a new changeset with the changes in a file of
        descriptions; see `explorer.stewardship.files`. Raises `InvalidInput` for a file that is
        neither or that changes nothing, and `StorageFault` if it cannot be read."""
        return await self.work(f"reading {path.name}", self._open_file(path))

    async def _open_file(self, path: Path) -> StagedChangeset:
        if path.suffix == ".jsonl":
            return await asyncio.to_thread(StagedChangeset.open, path)
        try:
            content = await asyncio.to_thread(path.read_bytes)
        except OSError as error:
            raise StorageFault(f"{path} cannot be read: {error.strerror}") from error
        entries = await asyncio.to_thread(read_rows, content, format_of(path))
        changes = (await AsyncStewardship(self.catalog).changeset(entries)).changes
        edits = stage_changes(changes)
        if not edits:
            raise InvalidInput(f"{path.name} contains no changes that can be written")
        return await self._stage(edits, path.name)

    @action("Put changes aside, to be reviewed before they are written")
    async def stage(
        self,
        edits: Iterable[StagedEdit],
        title: str,
        path: Path | None = None,
        *,
        agent: Agent | None = None,
    ) -> StagedChangeset:
        """Return a new changeset of edits; see `AsyncStewardship.stage`."""
        return await self._stage(edits, title, path, agent)

    async def _stage(
        self,
        edits: Iterable[StagedEdit],
        title: str,
        path: Path | None = None,
        agent: Agent | None = None,
    ) -> StagedChangeset:
        return await AsyncStewardship(self.catalog).stage(edits, title, path, agent=agent)

    @action("Propose changes, which others review before they are written")
    async def propose(self, edits: Iterable[StagedEdit], title: str, agent: Agent) -> Urn:
        """Store a new changeset of edits by an agent on the server alone, without a file on this
        machine, and return its URN. Raises as `share_changeset` and `AsyncStewardship.stage`."""
        with TemporaryDirectory() as directory:
            path = Path(directory) / "proposal"
            changeset = await self._stage(edits, title, path, agent)
            return await share_changeset(self.catalog, changeset)

    @action("Give columns of one name one text, after a review")
    async def stage_concept(
        self, concept: "Concept", text: str, keys: Iterable["Key"], path: Path | None = None
    ) -> StagedChangeset | None:
        """Return a new changeset that gives some columns of a concept a text; None if all of them
        already have that text."""
        edits = stage_concept(concept, text, keys)
        return await self._stage(edits, concept.title, path) if edits else None

    @action("Have a command draft what is not described, for review")
    async def draft(self, /, **choice: Any) -> "DraftingOutcome":
        """Return the texts that a command drafted, with their changeset; see
        `AsyncStewardship.draft`."""
        steward = AsyncStewardship(self.catalog)
        return await self.work("drafting", steward.draft(**choice, progress=self.tell_progress))

    @action("Write the changes of a file or a project")
    async def import_changes(
        self, changes: Iterable[Change], labels: "tuple[ProjectLabel, ...]" = ()
    ) -> ImportOutcome:
        """Write the changes in a file (`apply_changes`), then add the tags and owners of a project,
        as one save. A refused label does not stop the others. Two requests for each label."""
        self.check("import_changes")
        with one_save():
            writing = apply_changes(self.catalog, changes, self.tell_progress)
            applied = await self.work("writing", writing)
            if applied.ended_by is not None:
                return ImportOutcome(applied, labels)
            added, failed = await self._add_labels(labels)
        return ImportOutcome(applied, labels, added, failed)

    async def _add_labels(
        self, labels: "tuple[ProjectLabel, ...]"
    ) -> tuple[frozenset[int], tuple[tuple[int, str], ...]]:
        added: set[int] = set()
        failed: list[tuple[int, str]] = []
        for at, label in enumerate(labels):
            target = LabelTarget(Urn.parse(label.urn), label.resource, label.column)
            labelling = LabelSession(
                self.catalog, target, "tags" if label.property == "tags" else "owners"
            )
            try:
                await labelling.change([label.label])
                added.add(at)
            except (Forbidden, *REFUSALS) as error:
                failed.append((at, str(error)))
        return frozenset(added), tuple(failed)

    @action("Share the changeset on the server, for everyone to review")
    async def share(self, changeset: StagedChangeset) -> Urn:
        """Share a changeset, and return its URN on the server; see `share_changeset`."""
        sharing = share_changeset(self.catalog, changeset, progress=self.tell_progress)
        urn = await self.work("sharing the changeset", sharing)
        self.say("Shared: everyone with edit rights can review it now.")
        self.start(self.read(), instead_of="read")
        return urn

    @action("Withdraw the changeset from the server")
    async def withdraw(self, urn: str | Urn) -> None:
        """Withdraw a changeset from the server; see `withdraw_changeset`."""
        await self.work("withdrawing the changeset", withdraw_changeset(self.catalog, urn))
        self.say("Withdrawn: it is no longer in anyone's list.", is_saved=True)
        self.start(self.read(), instead_of="read")

    @action("Delete the file of the changeset")
    async def discard(self, changeset: StagedChangeset) -> None:
        """Delete a changeset from this machine. Edits that were already written stay in the
        catalog."""
        await asyncio.to_thread(changeset.discard)
        self._show([entry for entry in self.state.rows if entry.working_copy is not changeset])
        self.say("Discarded.")
        self.start(self.read(), instead_of="read")

    def why_not(self, name: str) -> str:
        """Return why an action is not possible with the selected changeset; empty if it is
        possible."""
        if name == "import_changes":
            return READ_ONLY if self.catalog.read_only else ""
        if name == "next_agent":
            has_agents = any(entry.agent for entry in self.state.rows)
            return "" if has_agents else "No agent has proposed anything."
        if name not in ("open", "share", "withdraw", "discard"):
            return ""
        current = self.state.current
        if current is None:
            return "There is no changeset."
        if name in ("share", "withdraw"):
            if self.catalog.read_only:
                return READ_ONLY
            if not self.state.can_share:
                return "This server cannot store changesets; pass on the file."
        if name == "withdraw":
            return "" if current.shared_urn is not None else "It is not shared."
        if name != "open" and current.shared_urn is not None:
            return "It is shared."
        if name == "share" and current.foreign:
            return f"It is {current.foreign}: import it first."
        return ""


def _file_entry(changeset: StagedChangeset, foreign: str = "") -> ListedChangeset:
    counts = " · ".join(review_counts(changeset))
    return ListedChangeset(
        *(changeset.title, changeset.at, counts, changeset),
        foreign=foreign,
        agent=_agent_name(changeset),
    )


def _agent_name(changeset: StagedChangeset | SharedChangeset) -> str:
    return "" if changeset.agent is None else changeset.agent.name


def _copy_entry(changeset: StagedChangeset, key: str) -> ListedChangeset:
    unsent = len(changeset.unsent(key))
    return replace(_file_entry(changeset), shared_urn=changeset_urn(changeset.id), unsent=unsent)


def _server_entry(shared: SharedChangeset, copy: ListedChangeset | None) -> ListedChangeset:
    unsent = copy.unsent if copy is not None else 0
    counts = copy.counts if copy is not None and unsent else proposal_counts(shared)
    return ListedChangeset(
        *(shared.title, shared.at, counts, None, shared.urn, unsent), agent=_agent_name(shared)
    )


def _read_changesets(list_paths: Callable[[], Iterable[Path]]) -> list[StagedChangeset]:
    """Return the changesets in those files that can be read, in the order of the files. Blocks."""
    changesets = []
    for path in list_paths():
        try:
            changesets.append(StagedChangeset.open(path))
        except CatalogError:
            # Files that are not changesets are skipped.
            continue
    return changesets
