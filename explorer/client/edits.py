"""Edits through GraphQL: descriptions, labels, owners, domains, deprecations, links, soft deletion.

An edit may give the value that its author saw (`instead_of`); it then fails with a conflict if the
value has changed. How reliable the check is depends on the server:

- Our service compares the value in the transaction that writes. The condition is sent in the
  `extensions` of the GraphQL request, because a DataHub server refuses a document with a field
  that it does not know.
- DataHub's GraphQL has no conditions. Where its aspects have versions (since 0.14), the whole
  aspect is written with `If-Version-Match` instead, and again if only other parts of it changed.
- Older DataHub servers have no conditional writes, nor has a user who may edit but not write
  whole aspects. There the value is compared right before the write, so a write by somebody else
  in between, during one round trip, is overwritten.
"""

import asyncio
import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import msgspec

from explorer.client.connection import KnownCatalog
from explorer.client.editable import (
    COLUMNS,
    OWNERS,
    TAGS,
    TERMS,
    EditTarget,
    Expectation,
    LabelKind,
    Mutation,
    TextConflict,
    check_ownership,
    check_replacement,
    column_parts,
    deprecation,
    earlier_entries,
    edit_target,
    link_parts,
    links_of,
    listed,
    place_of,
    urns_of,
    with_moved,
)
from explorer.client.ingestion import ConditionalWrites, Stored, aspect_value
from explorer.client.journal import Journal, held_labels, one_save, run_name, save_in_progress
from explorer.client.records import Edit, Held, StatusChange, What
from explorer.client.search import SearchMethods
from explorer.client.transport import REFUSALS, Json, Request, graphql_request
from explorer.errors import (
    CatalogError,
    Conflict,
    Forbidden,
    InvalidInput,
    NotFound,
    ServerFault,
    StorageFault,
    Unreachable,
)
from explorer.metadata.aspects import InstitutionalMemory, Link, read_aspect
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import UNKNOWN_ACTOR, Urn

# How long a cancelled edit may still take to finish.
_PLANNED: ContextVar[dict[tuple[str, What, str | None], Held] | None] = ContextVar(
    "planned", default=None
)


@contextmanager
def plan_edits() -> Iterator[None]:
    """A context in which edits are only planned: they are checked and returned, but not written. A
    later edit of the same labels starts from the planned ones. Writes that are not edits, such as
    `put`, are still made."""
    token = _PLANNED.set({})
    try:
        yield
    finally:
        _PLANNED.reset(token)


def is_planning() -> bool:
    """Return whether the caller is inside `plan_edits`."""
    return _PLANNED.get() is not None


_GRACE_SECONDS = 5.0
_LINKS = "institutionalMemory"
SCHEMA = "schemaMetadata"
"""The aspect that holds the columns of a dataset, as ingested."""
_Names = str | Urn | Iterable[str | Urn]
_SET_DOMAIN = """
mutation setDomain($entityUrn: String!, $domainUrn: String!) {
  setDomain(entityUrn: $entityUrn, domainUrn: $domainUrn)
}
"""
_UNSET_DOMAIN = """
mutation unsetDomain($entityUrn: String!) { unsetDomain(entityUrn: $entityUrn) }
"""


class EditMethods(ConditionalWrites):
    """Methods that edit descriptions and soft-delete entities; the base of all other edit
    methods."""

    _journal: Journal | None = None
    _journal_path: Path | None = None
    _not_described: frozenset[str] = frozenset()
    _warned_save: str = ""
    """The save that the warnings are about; empty if it was a single edit."""

    @cached_property
    def _edits_in_doubt(self) -> dict[tuple[str, What, str | None], Edit]:
        """Edits without an answer, which may have been stored, by entity, kind and column."""
        return {}

    async def graphql(self, query: str, variables: dict[str, Any] | None = None) -> dict[str, Any]:
        """Run a GraphQL operation and return its `data`. One request, which is not retried.

        Raises the error that the first error in the answer maps to.

        Example: `cat.graphql("{ me { corpUser { urn } } }")`
        """
        return await self._operate(graphql_request(query, variables or {}))

    async def keep_journal(self, path: Path) -> Journal:
        """Write all edits from now on to the journal in this file, and return the journal.

        The file is created if it does not exist. Iterating over the journal gives its entries,
        oldest first. An edit that changes nothing is not recorded. No request. Raises
        `StorageFault` if the file cannot be opened or created.

        Example: `cat.keep_journal(Path("journal.jsonl"))`
        """
        self._journal = await asyncio.to_thread(Journal, path)
        return self._journal

    def journal_in(self, path: Path) -> None:
        """Write all edits from now on to the journal in this file, which is opened with the first
        edit.

        If the file cannot be opened or created, the edits are made all the same, with a warning for
        each save.

        Example: `cat.journal_in(Path("journal.jsonl"))`
        """
        self._journal, self._journal_path = None, path

    async def _journal_in_use(self) -> Journal | None:
        """Return the journal in use, or `None`; open it if only its path was given.

        Concurrent edits may each open it, which is harmless; each waits until it is open. Raises
        `StorageFault` if it cannot be opened.
        """
        path = self._journal_path
        if path is not None:
            journal = await asyncio.to_thread(Journal, path)
            if self._journal_path == path:
                self._journal, self._journal_path = journal, None
        return self._journal

    async def describe(
        self,
        urn: str | Urn,
        text: str,
        *,
        column: str | None = None,
        instead_of: str | None = None,
        force: bool = False,
    ) -> Edit:
        """Set the description of an entity, or of a dataset's column given by its exact field path.

        The text is Markdown and stored byte for byte; an empty one removes the description. A
        description that ingestion wrote for a dataset, a chart and the like is stored separately
        and stays.

        `instead_of` is the edited description that the author saw, empty for none: if the server
        now holds another one, nothing is written, unless `force` is set. Other parts of the same
        aspect, such as descriptions of other columns, may have changed. How reliable the check is
        depends on the server: see `explorer.client.edits`. Texts and labels written before the type
        or the case of the column changed are first moved to its present path; see `carry_over`. Two
        requests; one if the description is already the same; four more if something is moved.

        Raises `NotFound` if there is no such entity or column, `TextConflict` if the description
        changed, and `InvalidInput` for an entity type whose description cannot be edited; the
        message lists those that can.

        Example: `cat.describe(urn, "One row an order.")`
        """
        entity = Urn.parse(urn)
        target = edit_target(entity, "description", column)
        async with self._at_present_path(
            target, None if force else instead_of, text
        ) as present_description:
            stored, base = present_description
            before = target.read(stored.value(target.aspect))
            edit = Edit.now(target.urn, "description", before, text, column)
            if (before or "") == text:
                return await self._save_edit(_nothing(), replace(edit, after=before))
            expected = self._expect(target, stored, base, text)
            return await self._save_edit(self._write_description(target, text, expected), edit)

    async def carry_over(self, urn: str | Urn, column: str | None = None) -> tuple[Edit, ...]:
        """Move what people wrote about columns before their types or cases changed to the present
        field paths, for one column or for all columns of a dataset.

        Such descriptions, tags and terms are shown already, see `Column.earlier`; the move makes
        them the column's own. The edits are one save. Two requests, and two for each column that
        has something to move.

        Raises `NotFound` for a dataset that does not exist.

        Example: `cat.carry_over(urn)`
        """
        target = Urn.parse(urn)
        stored = await self._read_stored(target, COLUMNS, SCHEMA)
        value = stored.value(COLUMNS)
        earlier = earlier_entries(value, paths_in(stored))
        with one_save():
            return tuple(
                [
                    await self._move(target, path, start, path, column_parts(value, start))
                    for path, start in earlier.items()
                    if column in (None, path)
                ]
            )

    async def create(
        self, urn: str | Urn, aspect: str | None, value: Mapping[str, Any] | msgspec.Struct
    ) -> Edit:
        """Create an entity by writing its first aspect.

        An entity that already exists is not changed, except that it is restored if it was
        soft-deleted. This is an edit: `undo` deletes the new entity, unless it is in use by then.
        Two requests, one if it exists.

        Raises `InvalidInput` for a value that does not fit the aspect.

        Example: `cat.create("urn:li:tag:Reviewed", "tagProperties", {"name": "Reviewed"})`
        """
        name, content = aspect_value(aspect, value)
        return await self.create_with(urn, {name: content})

    async def create_with(self, urn: str | Urn, aspects: Mapping[str, Json]) -> Edit:
        """Create an entity with several aspects, written in the order given; otherwise like
        `create`.

        One request for each aspect, and one more.

        Example: `cat.create_with("urn:li:tag:Old", {"tagProperties": {"name": "Old"}})`
        """
        target = Urn.parse(urn)
        edit = Edit.now(target, "status", "shown", "shown")
        try:
            was = (await self._read_stored(target, "status")).value("status").get("removed") is True
        except NotFound:
            absent = -1 if (await self.abilities()).conditional_edits else None

            async def write() -> None:
                for position, (name, content) in enumerate(aspects.items()):
                    await self._put(Proposal(target, name, content), None if position else absent)

            try:
                return await self._save_edit(
                    write(), Edit.now(target, "entity", None, dict(aspects))
                )
            except Conflict:
                # Somebody else created it at the same moment.
                return edit
        if not was:
            return edit
        await self._set_removed(target, False, dry_run=False)
        return Edit.now(target, "status", "hidden", "shown")

    async def soft_delete(self, urn: str | Urn, *, dry_run: bool = False) -> StatusChange:
        """Soft-delete an entity: hide it from search and browsing, but keep all its metadata.

        This is an edit, recorded in the journal; `undo` and `restore` reverse it. One request for a
        dry run, two to write. Raises `NotFound` for an entity that does not exist, which is then
        not created.

        Example: `cat.soft_delete(urn, dry_run=True)`
        """
        return await self._set_removed(Urn.parse(urn), True, dry_run=dry_run)

    async def restore(self, urn: str | Urn, *, dry_run: bool = False) -> StatusChange:
        """Restore a soft-deleted entity; otherwise like `soft_delete`.

        Example: `cat.restore(urn)`
        """
        return await self._set_removed(Urn.parse(urn), False, dry_run=dry_run)

    async def _write_description(
        self, target: EditTarget, text: str, expected: Expectation | None
    ) -> None:
        """Write a description by its mutation, or, if the server has no mutation for it, by writing
        the whole aspect."""
        urn, column = target.urn, target.column
        place, kind = place_of(urn, column), urn.entity_type
        is_general = column is not None or place.mutation == "updateDescription"

        async def rewrite() -> None:
            if column is not None:
                await self._check_column(urn, column)
            await self._rewrite_target(
                target, lambda value: target.with_text(value, text), expected
            )

        if column is None and kind in self._not_described:
            await rewrite()
            return
        fields = {"editableProperties": {"description": text}}
        mutation = (
            _describing(target, text)
            if is_general
            else Mutation.of_entity(place.mutation, urn, fields)
        )
        try:
            await self._mutate_or_rewrite(mutation, rewrite, expected)
        except (InvalidInput, ServerFault):
            if column is not None:
                # Not every server reports that the column is missing.
                await self._check_column(urn, column)
            # Servers differ in the entity types that the general mutation accepts; all accept
            # containers.
            if column is not None or not is_general or kind == "container":
                raise
            await rewrite()
            self._not_described |= {kind}

    @asynccontextmanager
    async def _at_present_path(
        self, target: EditTarget, base: Held, after: Held
    ) -> AsyncIterator[tuple[Stored, Held]]:
        """Move what people wrote about the edited column before its type or case changed to its
        present path; yield the stored aspect and the value that the edit then starts from. An edit
        made in this context belongs to the same save. For `base` and `after` see `Expectation`.

        Raises `TextConflict` before anything is moved. A user who may not write whole aspects moves
        nothing, and the edit is made at the present path alone.
        """
        urn, column = target.urn, target.column
        stored = await self._read_stored(urn, target.aspect)
        value = stored.value(target.aspect)
        start = None
        # False for almost every dataset, so the schema is rarely read.
        if column is not None and earlier_entries(value, [column]):
            paths = paths_in(await self._read_stored(urn, SCHEMA))
            start = earlier_entries(value, paths).get(column)
        if column is None or start is None:
            yield stored, base
            return
        parts = column_parts(value, start)
        moved = {**stored.values, target.aspect: with_moved(value, start, column, parts)}
        self._expect(target, stored._replace(values=moved), base, after)
        with one_save():
            try:
                await self._move(urn, column, start, column, parts)
                stored = (
                    stored._replace(values=moved)
                    if is_planning()
                    else await self._read_stored(urn, target.aspect)
                )
            except Forbidden:
                base = None if base is None else target.read(value) or type(base)()
            yield stored, base

    async def _move(
        self, urn: Urn, column: str, start: str, end: str, parts: Json, *, force: bool = False
    ) -> Edit:
        """Move `parts` (see `column_parts`) of a column's entry from the field path `start` to
        `end`.

        Raises `TextConflict` if the text has changed, or if there is a text at `end`, unless
        `force` is set.
        """
        text = parts.get("description")

        def change(value: Json) -> Json:
            at_start, at_end = (
                column_parts(value, path).get("description", "") for path in (start, end)
            )
            if (
                text is not None
                and not force
                and (at_start, at_end) not in ((text, ""), ("", text))
            ):
                place = str(edit_target(urn, "description", column))
                raise TextConflict(place, text, at_end if at_start == text else at_start, text)
            return with_moved(value, start, end, parts)

        edit = Edit.now(urn, "path", {start: parts}, {end: parts}, column)
        return await self._save_edit(self._rewrite(urn, COLUMNS, change), edit)

    async def _check_column(self, urn: Urn, column: str) -> None:
        """Raise `NotFound` if the schema does not have a column. One request."""
        paths = paths_in(await self._read_stored(urn, SCHEMA))
        if column not in paths:
            similar_paths = get_close_matches(column, paths, n=3)
            hint = f"; did you mean {' or '.join(similar_paths)}?" if similar_paths else ""
            raise NotFound(f"{urn} has no column {column}{hint}")

    async def _set_removed(self, urn: Urn, removed: bool, *, dry_run: bool) -> StatusChange:
        stored = await self._read_stored(urn, "status")
        was = stored.value("status").get("removed") is True
        if dry_run or was == removed:
            return StatusChange(urn, was, removed, is_changed=False)
        change = self._rewrite(urn, "status", lambda status: {**status, "removed": removed})
        before, after = ("shown", "hidden") if removed else ("hidden", "shown")
        await self._save_edit(change, Edit.now(urn, "status", before, after))
        return StatusChange(urn, was, removed, is_changed=True)

    def _expect(
        self, target: EditTarget, stored: Stored, base: Held, after: Held
    ) -> Expectation | None:
        """Return the condition of an edit whose author saw `base`, or `None` if `base` is `None`.

        Raises `TextConflict` if the server already holds another value.
        """
        if base is None:
            return None
        expected = Expectation(target, base, after, stored.version(target.aspect) is not None)
        expected.check(target.read(stored.value(target.aspect)), stored.stamps.get(target.aspect))
        return expected

    async def _rewrite_target(
        self,
        target: EditTarget,
        change: Callable[[Json], Json],
        expected: Expectation | None,
    ) -> None:
        """Read the aspect of a target, apply `change` to its value, and write it.

        The expected value is checked at each attempt, because a rewrite starts again if the aspect
        was written in between.
        """

        def check_and_change(value: Json) -> Json:
            if expected is not None:
                expected.check(target.read(value))
            return change(value)

        await self._rewrite(target.urn, target.aspect, check_and_change)

    async def _mutate_or_rewrite(
        self,
        mutation: Mutation,
        rewrite: Callable[[], Awaitable[None]],
        expected: Expectation | None,
    ) -> None:
        """Make an edit by a mutation, or by `rewrite` if the server does not support that.

        `rewrite` is used on servers without the mutation, and on those that support a condition
        only for whole aspects; it checks the expected value itself. Raises `TextConflict` if the
        server holds another value than expected.
        """
        if (
            expected is not None
            and expected.versioned
            and not (await self.abilities()).conditional_edits
        ):
            try:
                await rewrite()
            except Forbidden:
                # A user may have the permission to edit but not to write whole aspects.
                pass
            else:
                return
        if not await self._mutate(mutation, expected):
            await rewrite()

    async def _mutate(self, mutation: Mutation, expected: Expectation | None = None) -> bool:
        """Send a mutation, with the condition if the server supports conditions.

        Returns false, without sending anything, if the server does not have the mutation.
        """
        if not await self._offers("Mutation", mutation.name):
            return False
        document, variables, run = mutation.document, dict(mutation.variables), run_name()
        if expected is None or not (await self.abilities()).conditional_edits:
            data = await self._operate(graphql_request(document, variables, run=run))
        else:
            operation = graphql_request(document, variables, expected.to_wire(), run)
            try:
                data = await self._operate(operation)
            except Conflict as error:
                if error.current is None:
                    raise
                raise expected.conflict_from_wire(error.current) from error
        if data.get(mutation.name) in (None, False):
            raise ServerFault(f"the server did not say that it did {mutation.name}")
        return True

    async def _operate(self, operation: Request) -> dict[str, Any]:
        body = await self._connection.send(operation)
        if not isinstance(body, dict):
            raise ServerFault("the server's GraphQL answer is not an object")
        data = body.get("data")
        return data if isinstance(data, dict) else {}

    async def _save_edit(self, work: Coroutine[Any, Any, Edit | None], edit: Edit) -> Edit:
        """Store an edit, write it to the journal and return it; inside `plan_edits` only return it.

        `work` stores it; it may return the edit as it was finally made. If the answer to an earlier
        attempt was lost, that attempt may have been stored without being in the journal, so the
        recorded edit starts from the value before it.
        """
        place = (str(edit.urn), edit.what, edit.column)
        planned = _PLANNED.get()
        if planned is not None:
            work.close()
            planned[place] = edit.after
            return edit
        earlier = self._edits_in_doubt.get(place)
        start = edit if earlier is None else _merge_edits(earlier, edit)

        async def perform() -> Edit:
            try:
                done = await work or edit
            except (Unreachable, ServerFault):
                self._edits_in_doubt[place] = start
                raise
            self._edits_in_doubt.pop(place, None)
            merged = done if earlier is None else _merge_edits(earlier, done)
            return await self._note_edit(replace(merged, at=datetime.now(UTC)))

        return await self._to_its_end(perform())

    async def _to_its_end(self, work: Coroutine[Any, Any, Edit]) -> Edit:
        """Run the work that stores an edit and writes it to the journal, and return the edit.

        If the work were cancelled in between, the journal would miss an edit that is stored. It is
        therefore given a few seconds to finish.
        """
        task = asyncio.create_task(work)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            try:
                await asyncio.wait((task,), timeout=_GRACE_SECONDS)
            finally:
                task.cancel()
                # The cancellation is raised, not an error of the task.
                await asyncio.gather(task, return_exceptions=True)
            raise

    async def _note_edit(self, edit: Edit) -> Edit:
        """Write the edit to the journal, if one is in use and it changed anything, and return it.

        If that fails, a warning is given: the edit is stored all the same.
        """
        self._forget_warnings()
        if edit.changed:
            await self._record(edit, "it is saved, but cannot be undone")
        return edit

    async def _record(self, edit: Edit, failing: str) -> None:
        """Write an edit to the journal, if one is in use; if that fails, give a warning that begins
        with `failing`."""
        try:
            journal = await self._journal_in_use()
            if journal is not None:
                await asyncio.to_thread(journal.append, edit, await self._own_catalog())
        except StorageFault as error:
            self._warn_of_save(f"{failing}: {error}")

    def _warn_of_save(self, sentence: str) -> None:
        """Give a warning about the save in progress, unless the same one was already given."""
        self._forget_warnings()
        self._warned_save = save_in_progress()
        if sentence not in self._connection.save_warnings:
            self._connection.save_warnings += (sentence,)
            self._connection.warned(sentence)

    def _forget_warnings(self) -> None:
        """Forget the warnings about saves before the one in progress."""
        save = save_in_progress()
        if not save or save != self._warned_save:
            self._connection.save_warnings = ()

    async def _own_catalog(self) -> KnownCatalog:
        """Return the catalog that is edited; without its id if the server does not answer."""
        try:
            return await self.known_as()
        except CatalogError:
            return KnownCatalog(self._connection.address)


class LabelMethods(SearchMethods, EditMethods):
    """Methods that edit tags, glossary terms, owners, domains and deprecations.

    A label that is not a URN is an id, or, if there is none, a name: `PII` is the tag
    `urn:li:tag:PII`, `jdoe` the user `urn:li:corpuser:jdoe`; see `find_labels`.

    Every method takes two requests, one if there is nothing to change, and one more for the first
    call; and those of `find_labels` for removed labels that are not given by URN, and for added
    ones whose text is not an existing id. All raise `NotFound` for an entity that does not exist,
    and for a label that does not exist if the server checks that. Labels that are not named in a
    call are not changed, on any server.

    `instead_of` is the complete value that the author saw, in the form that `Edit` describes, empty
    for none: if the server now holds another one, nothing is written and `TextConflict` is raised,
    unless the result is already there. How reliable the check is depends on the server: see
    `explorer.client.edits`. Without `instead_of` concurrent changes of other labels do not matter.
    """

    async def add_tags(
        self,
        urn: str | Urn,
        tags: _Names,
        *,
        column: str | None = None,
        instead_of: _Names | None = None,
    ) -> Edit:
        """Add tags to an entity, or to a dataset's column. Tags that it already has are not
        changed.

        Example: `cat.add_tags(urn, ["urn:li:tag:PII"], column="order_id")`
        """
        base = _several(TAGS, instead_of)
        return await self._by_id_or_name(
            tags, TAGS.entity_types, lambda urns: self._label(TAGS, urn, column, urns, (), base)
        )

    async def remove_tags(
        self,
        urn: str | Urn,
        tags: _Names,
        *,
        column: str | None = None,
        instead_of: _Names | None = None,
    ) -> Edit:
        """Remove tags from an entity, or from a dataset's column. Tags that it does not have are
        ignored.

        Example: `cat.remove_tags(urn, ["urn:li:tag:PII"], column="order_id")`
        """
        urns = await self._find_labels(tags, TAGS.entity_types)
        return await self._label(TAGS, urn, column, (), urns, _several(TAGS, instead_of))

    async def add_terms(
        self,
        urn: str | Urn,
        terms: _Names,
        *,
        column: str | None = None,
        instead_of: _Names | None = None,
    ) -> Edit:
        """Add glossary terms to an entity, or to a dataset's column; otherwise like `add_tags`.

        Example: `cat.add_terms(urn, ["urn:li:glossaryTerm:Finance.NetRevenue"])`
        """
        base = _several(TERMS, instead_of)
        return await self._by_id_or_name(
            terms, TERMS.entity_types, lambda urns: self._label(TERMS, urn, column, urns, (), base)
        )

    async def remove_terms(
        self,
        urn: str | Urn,
        terms: _Names,
        *,
        column: str | None = None,
        instead_of: _Names | None = None,
    ) -> Edit:
        """Remove glossary terms from an entity, or from a dataset's column; otherwise like
        `remove_tags`.

        Example: `cat.remove_terms(urn, ["urn:li:glossaryTerm:Finance.NetRevenue"])`
        """
        urns = await self._find_labels(terms, TERMS.entity_types)
        return await self._label(TERMS, urn, column, (), urns, _several(TERMS, instead_of))

    async def add_owners(
        self,
        urn: str | Urn,
        owners: _Names,
        *,
        ownership: str = "TECHNICAL_OWNER",
        instead_of: Iterable[str] | None = None,
    ) -> Edit:
        """Add owners to an entity: users, or groups by their URNs.

        `ownership` is the ownership type, a word (`BUSINESS_OWNER`, `DATA_STEWARD`) or the URN of
        an ownership type.

        Example: `cat.add_owners(urn, ["urn:li:corpuser:jdoe"])`
        """
        check_ownership(ownership, self.registry)
        base = None if instead_of is None else tuple(instead_of)

        def write(urns: tuple[str, ...]) -> Coroutine[Any, Any, Edit]:
            labels = tuple(f"{owner} {ownership}" for owner in urns)
            return self._label(OWNERS, urn, None, labels, (), base)

        return await self._by_id_or_name(owners, OWNERS.entity_types, write)

    async def remove_owners(
        self,
        urn: str | Urn,
        owners: _Names,
        *,
        ownership: str | None = None,
        instead_of: Iterable[str] | None = None,
    ) -> Edit:
        """Remove owners from an entity, with one ownership type or with all.

        Example: `cat.remove_owners(urn, ["urn:li:corpuser:jdoe"])`
        """
        target = Urn.parse(urn)
        owner_urns = await self._find_labels(owners, OWNERS.entity_types)
        stored = await self._read_stored(target, OWNERS.aspect)
        present = OWNERS.labels(stored.value(OWNERS.aspect), None)
        labels = tuple(
            label
            for label in present
            if label.rpartition(" ")[0] in owner_urns
            and ownership in (None, label.rpartition(" ")[2])
        )
        base = None if instead_of is None else tuple(instead_of)
        return await self._label(OWNERS, target, None, (), labels, base)

    async def set_domain(
        self, urn: str | Urn, domain: str | Urn | None, *, instead_of: _Names | None = None
    ) -> Edit:
        """Set the domain of an entity, replacing any other; `None` removes it from its domain.

        Example: `cat.set_domain(urn, "urn:li:domain:finance")`
        """
        base = None if instead_of is None else tuple(map(str, urns_of(instead_of, "domain")))
        return await self._by_id_or_name(
            () if domain is None else domain,
            ("domain",),
            lambda domains: self._put_domains(Urn.parse(urn), domains, instead_of=base),
        )

    async def find_labels(self, labels: _Names, *types: str) -> tuple[Urn, ...]:
        """Return the URNs of labels, or of other entities, given by URN, id or name. `types` are
        the possible entity types. A text is first taken as an id of the first type, then as a name;
        if it is neither, the URN for that id is returned.

        One request for all texts that are not URNs, and two for each that is not an id. Raises
        `InvalidInput` if several entities have the name.

        Example: `cat.find_labels("Net revenue", "glossaryTerm")`
        """
        texts = listed(labels, "names, ids or URNs")
        urns = {text: urns_of(text, *types)[0] for text in texts}
        ids = [urn for text, urn in urns.items() if not str(text).startswith("urn:")]
        entities = await self.summaries(ids) if ids else {}
        for text, urn in urns.items():
            if urn in ids and not ((entity := entities.get(urn)) and entity.exists):
                with suppress(NotFound):
                    urns[text] = await self.urn_of(text, *types)
        return tuple(dict.fromkeys(urns.values()))

    async def _find_labels(self, labels: _Names, types: Sequence[str]) -> tuple[str, ...]:
        return tuple(map(str, await self.find_labels(labels, *types)))

    async def _by_id_or_name(
        self,
        labels: _Names,
        types: Sequence[str],
        write: Callable[[tuple[str, ...]], Coroutine[Any, Any, Edit]],
    ) -> Edit:
        """Write labels given by id; if an id does not exist, write them again by name."""
        labels = tuple(listed(labels, "names, ids or URNs"))
        urns = tuple(map(str, urns_of(labels, *types)))
        try:
            return await write(urns)
        except NotFound:
            named = await self._find_labels(labels, types)
            if named == urns:
                raise
            return await write(named)

    async def deprecate(
        self,
        urn: str | Urn,
        note: str,
        *,
        decommission: datetime | None = None,
        replacement: str | Urn | None = None,
        instead_of: Mapping[str, Any] | None = None,
    ) -> Edit:
        """Mark an entity as deprecated, with a note.

        `decommission` is when it will be removed, `replacement` the entity to use instead. Raises
        `InvalidInput` if the replacement is the entity itself.

        Example: `cat.deprecate(urn, "Read fct_order_items instead.")`
        """
        target, after = Urn.parse(urn), deprecation(note, decommission, replacement)
        check_replacement(target, after)
        return await self._put_deprecation(target, after, instead_of=instead_of)

    async def undeprecate(
        self, urn: str | Urn, *, instead_of: Mapping[str, Any] | None = None
    ) -> Edit:
        """Remove the deprecation of an entity.

        Example: `cat.undeprecate(urn)`
        """
        return await self._put_deprecation(Urn.parse(urn), None, instead_of=instead_of)

    async def _label(
        self,
        kind: LabelKind,
        urn: str | Urn,
        column: str | None,
        add: tuple[str, ...] = (),
        remove: tuple[str, ...] = (),
        instead_of: tuple[str, ...] | None = None,
    ) -> Edit:
        target = edit_target(Urn.parse(urn), kind.what, column)
        intended = tuple(dict.fromkeys((*(instead_of or ()), *add)))
        intended = tuple(label for label in intended if label not in remove)
        async with self._at_present_path(target, instead_of, intended) as (stored, base):
            before = kind.labels(stored.value(target.aspect), column)
            planned = (_PLANNED.get() or {}).get((str(target.urn), kind.what, column))
            before = before if planned is None else held_labels(planned)
            incoming = tuple(label for label in add if label not in before)
            outgoing = tuple(label for label in remove if label in before)
            after = (*(label for label in before if label not in outgoing), *incoming)
            expected = self._expect(target, stored, base, after)

            async def write() -> None:
                current = before
                for adding, labels in ((True, incoming), (False, outgoing)):
                    mutations = kind.mutations(labels, resource_of(target), adding=adding)
                    for step_labels, mutation in mutations:
                        # Each step starts from the result of the previous one.
                        following = (
                            (*current, *step_labels)
                            if adding
                            else tuple(label for label in current if label not in step_labels)
                        )
                        condition = expected and replace(expected, base=current, after=following)
                        rewrite = partial(
                            self._rewrite_labels,
                            target,
                            kind,
                            step_labels,
                            condition,
                            adding=adding,
                        )
                        await self._mutate_or_rewrite(mutation, rewrite, condition)
                        current = following

            return await self._save_edit(
                write(), Edit.now(target.urn, kind.what, before, after, column)
            )

    async def _rewrite_labels(
        self,
        target: EditTarget,
        kind: LabelKind,
        labels: tuple[str, ...],
        expected: Expectation | None,
        *,
        adding: bool,
    ) -> None:
        """Write the aspect that holds the labels, as a patch if the server supports patches."""
        column = target.column
        if column is not None:
            await self._check_column(target.urn, column)
        # A patch identifies owners by the `type` of their ownership, which is the same word for all
        # custom ownership types, and cannot carry a condition on a list.
        patches = not any(" urn:" in label for label in labels) and (await self.abilities()).patch
        if patches and (expected is None or not expected.versioned):
            operations = kind.patch(labels, column, adding=adding)
            await self._put(Proposal(target.urn, target.aspect, operations, "PATCH"), None)
            return
        await self._rewrite_target(
            target, lambda value: kind.with_labels(value, labels, column, adding=adding), expected
        )

    async def _put_domains(
        self, urn: Urn, domains: tuple[str, ...], *, instead_of: tuple[str, ...] | None = None
    ) -> Edit:
        fields: dict[str, str] = {"entityUrn": str(urn)}
        mutation: Mutation | None = None
        match domains:
            case ():
                mutation = Mutation("unsetDomain", _UNSET_DOMAIN, fields)
            case (domain,):
                mutation = Mutation("setDomain", _SET_DOMAIN, fields | {"domainUrn": domain})

        def change(value: Json) -> Json:
            return {**value, "domains": list(domains)}

        target = edit_target(urn, "domain")
        return await self._replace(target, domains, change, mutation, instead_of=instead_of)

    async def _put_deprecation(
        self,
        urn: Urn,
        after: dict[str, Any] | None,
        *,
        instead_of: Mapping[str, Any] | None = None,
    ) -> Edit:
        fields = {"deprecated": after is not None, "note": "", **(after or {})}

        def change(value: Json) -> Json:
            return {"actor": value.get("actor") or UNKNOWN_ACTOR, **fields}

        mutation = Mutation.with_input("updateDeprecation", {"urn": str(urn), **fields})
        base = None if instead_of is None else dict(instead_of)
        target = edit_target(urn, "deprecation")
        return await self._replace(target, after, change, mutation, instead_of=base)

    async def _replace(
        self,
        target: EditTarget,
        after: Held,
        change: Callable[[Json], Json],
        mutation: Mutation | None,
        *,
        instead_of: Held,
    ) -> Edit:
        """Replace the whole value of a target with `after`.

        Sends the mutation, if there is one; otherwise rewrites the aspect with `change`.
        """
        stored = await self._read_stored(target.urn, target.aspect)
        before = target.read(stored.value(target.aspect))
        expected = self._expect(target, stored, instead_of, after)

        def rewrite() -> Awaitable[None]:
            return self._rewrite_target(target, change, expected)

        async def write() -> None:
            if before == after:
                return
            if mutation is None:
                await rewrite()
            else:
                await self._mutate_or_rewrite(mutation, rewrite, expected)

        return await self._save_edit(write(), Edit.now(target.urn, target.what, before, after))


class LinkMethods(EditMethods):
    """Methods that read and edit the documentation links of an entity."""

    _appends_links = False

    async def links(self, urn: str | Urn) -> tuple[Link, ...]:
        """Return the documentation links of an entity, in their order. One request.

        Raises `NotFound` for an entity that does not exist.

        Example: `cat.links(urn)`
        """
        value = {"elements": await self._elements(Urn.parse(urn))}
        return read_aspect(value, InstitutionalMemory).elements

    async def add_link(
        self, urn: str | Urn, url: str, label: str, *, instead_of: Iterable[str] | None = None
    ) -> Edit:
        """Add a documentation link to an entity. All other links stay.

        A server that adds links itself may replace an existing link to the same address. Two
        requests, up to five on servers that only accept whole lists.

        `instead_of` are the links that the author saw, each as `<address> <label>`: if the server
        now holds others, nothing is written. How reliable the check is depends on the server: see
        `explorer.client.edits`.

        Raises `NotFound` for an entity that does not exist, and `TextConflict` if the links
        changed.

        Example: `cat.add_link(urn, "https://wiki.example.com/orders", "How orders are counted")`
        """
        if not url or any(char.isspace() for char in url):
            raise InvalidInput(f"{url!r} is not an address; write spaces in it as %20")
        target = edit_target(Urn.parse(urn), "links")
        stored = await self._read_stored(target.urn, target.aspect)
        elements = _elements_of(stored.value(target.aspect))
        before, link = links_of({"elements": elements}), f"{url} {label}"
        if any(link_parts(element) == (url, label) for element in elements):
            return await self._save_edit(_nothing(), Edit.now(target.urn, "links", before, before))
        base = None if instead_of is None else tuple(instead_of)
        expected = self._expect(target, stored, base, (*(base or ()), link))
        fields = {"linkUrl": url, "label": label, "resourceUrn": str(target.urn)}

        async def write() -> Edit:
            await self._mutate_or_rewrite(
                Mutation.with_input("addLink", fields),
                lambda: self._add_to_list(
                    target, elements, {"url": url, "description": label}, expected
                ),
                expected,
            )
            after = links_of({"elements": await self._elements(target.urn)})
            return Edit.now(target.urn, "links", before, after)

        return await self._save_edit(
            write(), Edit.now(target.urn, "links", before, (*before, link))
        )

    async def remove_link(
        self,
        urn: str | Urn,
        url: str,
        label: str | None = None,
        *,
        instead_of: Iterable[str] | None = None,
    ) -> Edit:
        """Remove the links to an address, or only the one with that label. Two requests.

        `instead_of` are the links that the author saw, as in `add_link`; if it is given, a link
        that is already gone is not an error. Raises `NotFound` if there is no such link or entity,
        and `TextConflict` as `add_link`.

        Example: `cat.add_link(urn, "https://wiki.example.com", "Wiki"); cat.remove_link(urn,
        "https://wiki.example.com")`
        """
        target = edit_target(Urn.parse(urn), "links")
        stored = await self._read_stored(target.urn, target.aspect)
        before_elements = _elements_of(stored.value(target.aspect))
        before = links_of({"elements": before_elements})
        base = None if instead_of is None else tuple(instead_of)

        def matches(element: Json) -> bool:
            found_url, found_label = link_parts(element)
            return found_url == url and label in (None, found_label)

        kept_elements = [element for element in before_elements if not matches(element)]
        outgoing = [link_parts(element) for element in before_elements if matches(element)]
        if not outgoing:
            if any(
                link.startswith(f"{url} ") if label is None else link == f"{url} {label}"
                for link in base or ()
            ):
                return await self._save_edit(
                    _nothing(), Edit.now(target.urn, "links", before, before)
                )
            label_words = f" called {label!r}" if label else ""
            raise NotFound(f"{target.urn} has no link to {url}{label_words}")
        after = links_of({"elements": kept_elements})
        expected = self._expect(target, stored, base, after)
        fields = {"linkUrl": url, "resourceUrn": str(target.urn)}
        if any(element.get("url") == url for element in kept_elements):
            fields["label"] = label or ""

        def change(value: Json) -> Json:
            elements = [
                element for element in _elements_of(value) if link_parts(element) not in outgoing
            ]
            return {**value, "elements": elements}

        async def write() -> None:
            await self._mutate_or_rewrite(
                Mutation.with_input("removeLink", fields),
                lambda: self._rewrite_target(target, change, expected),
                expected,
            )

        return await self._save_edit(write(), Edit.now(target.urn, "links", before, after))

    async def _elements(self, urn: Urn) -> list[Json]:
        return _elements_of((await self._read_stored(urn, _LINKS)).value(_LINKS))

    async def _add_to_list(
        self, target: EditTarget, elements: list[Json], link: Json, expected: Expectation | None
    ) -> None:
        """Add a link on a server that has no mutation for a single link.

        The whole list is sent, because some servers replace the list with it. If the server appends
        instead, the duplicates are removed, and from then on only the new link is sent.
        """
        urn, author = target.urn, await self._current_user()
        new = {**link, "createStamp": {"actor": author}}
        sent = [new] if self._appends_links else [*elements, new]
        # The mutation for lists cannot carry a condition.
        versioned = expected is not None and expected.versioned
        if versioned or urn.entity_type != "dataset" or not await self._send_list(urn, sent):
            element = {
                **link,
                "createStamp": {"time": time.time_ns() // 1_000_000, "actor": author},
            }

            def change(value: Json) -> Json:
                return {**value, "elements": [*(value.get("elements") or ()), element]}

            await self._rewrite_target(target, change, expected)
            return
        if not elements or self._appends_links:
            return
        if len(await self._elements(urn)) > len(sent):
            self._appends_links = True
            await self._rewrite(urn, _LINKS, _without_doubles)

    async def _send_list(self, urn: Urn, links: list[Json]) -> bool:
        try:
            return await self._replace_links(urn, links, dated=True)
        except InvalidInput:
            # Older servers have no field for the time of a link.
            return await self._replace_links(urn, links, dated=False)

    async def _replace_links(self, urn: Urn, links: list[Json], *, dated: bool) -> bool:
        elements = [_element(link, dated=dated) for link in links]
        fields = {"institutionalMemory": {"elements": elements}}
        return await self._mutate(Mutation.of_entity("updateDataset", urn, fields))

    async def _current_user(self) -> str:
        try:
            data = await self.graphql("query who { me { corpUser { urn } } }")
            return str(data["me"]["corpUser"]["urn"])
        except (*REFUSALS, KeyError, TypeError):
            return UNKNOWN_ACTOR


def paths_in(stored: Stored) -> list[str]:
    """Return the field paths in the stored `SCHEMA` of a dataset."""
    fields = stored.value(SCHEMA).get("fields") or ()
    return [str(field.get("fieldPath")) for field in fields]


async def _nothing() -> None:
    """Store nothing, because the value is already there."""


def _merge_edits(earlier: Edit, edit: Edit) -> Edit:
    """Return an edit merged with an earlier one of the same value, as far as that one was
    stored."""
    if edit.what in ("tags", "terms", "owners", "links"):
        earlier_before, earlier_after = held_labels(earlier.before), held_labels(earlier.after)
        before = held_labels(edit.before)
        returning = tuple(
            label for label in earlier_before if label not in earlier_after and label not in before
        )
        staying = tuple(
            label for label in before if label in earlier_before or label not in earlier_after
        )
        return replace(edit, before=(*staying, *returning))
    return replace(edit, before=earlier.before) if edit.before == earlier.after else edit


def _describing(target: EditTarget, text: str) -> Mutation:
    fields = {"description": text, **resource_of(target)}
    return Mutation.with_input("updateDescription", fields, "DescriptionUpdateInput")


def resource_of(target: EditTarget) -> dict[str, str]:
    """Return the fields by which mutation inputs name an entity or a column."""
    entity = {"resourceUrn": str(target.urn)}
    if target.column is None:
        return entity
    return {**entity, "subResource": target.column, "subResourceType": "DATASET_FIELD"}


def _several(kind: LabelKind, names: _Names | None) -> tuple[str, ...] | None:
    return None if names is None else kind.urns(names)


def _elements_of(value: Json) -> list[Json]:
    return [element for element in value.get("elements") or () if isinstance(element, dict)]


def _element(link: Json, *, dated: bool) -> Json:
    stamp = link.get("createStamp") or {}
    creation = {"createdAt": stamp["time"]} if dated and stamp.get("time") else {}
    author = stamp.get("actor") or UNKNOWN_ACTOR
    url, label = link_parts(link)
    return {"url": url, "description": label, "author": author, **creation}


def _without_doubles(value: Json) -> Json:
    links: dict[tuple[Any, Any], Json] = {}
    for link in value.get("elements") or ():
        links.setdefault(link_parts(link), link)
    return {**value, "elements": list(links.values())}
