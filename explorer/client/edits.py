"""Edits of texts and of the removed mark through GraphQL, and what every edit goes through.

An edit may name what its writer saw (`instead_of`). Whether that is still there is decided where
the write happens, as far as the server can:

- Our service compares within the job that writes. The condition goes in the `extensions` of the
  GraphQL request, for a field of ours in an input would make a DataHub server refuse the document.
- DataHub's GraphQL knows no conditions. Where its aspects have versions (since 0.14), the whole
  aspect is written with `If-Version-Match` instead, and anew while only other parts of it changed.
- Older DataHub servers, and those where one may edit but not write whole aspects, have no
  condition. There the comparison is made right before the write: who writes between the two, a
  round trip apart, is overwritten.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import msgspec

from explorer.client.editable import (
    EditableField,
    EditTarget,
    Expectation,
    Mutation,
    column_info,
    edit_target,
    place_of,
    with_column,
)
from explorer.client.ingestion import ConditionalWrites, Stored, aspect_value
from explorer.client.journal import Journal
from explorer.client.records import Edit, Held, StatusChange
from explorer.client.responses import Json
from explorer.client.transport import Request, graphql_request
from explorer.errors import Conflict, Forbidden, InvalidInput, NotFound, ServerFault, StorageFault
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn

__all__ = ["EditMethods", "resource_of"]

# How long an edit that is called off is still waited for.
_GRACE_SECONDS = 5.0


class EditMethods(ConditionalWrites):
    """How descriptions and the removed mark are written, and what every edit goes through."""

    _journal: Journal | None = None
    _journal_path: Path | None = None
    _not_described: frozenset[str] = frozenset()

    async def graphql(self, query: str, variables: dict[str, Any] | None = None) -> dict[str, Any]:
        """The `data` of a GraphQL operation. One request, sent once.

        Raises the error that the server's first one stands for.

        Example: `cat.graphql("{ me { corpUser { urn } } }")`
        """
        return await self._operate(graphql_request(query, variables or {}))

    async def keep_journal(self, path: Path) -> Journal:
        """From now on write every edit down in this file, which is made where there is none.

        What is given is iterated for the edits in it, oldest first. An edit that changed nothing
        is not written down. No request. Raises `StorageFault` where the file cannot be.

        Example: `cat.keep_journal(Path("journal.jsonl"))`
        """
        self._journal = await asyncio.to_thread(Journal, path)
        return self._journal

    def journal_in(self, path: Path) -> None:
        """Keep a journal in this file from the first edit on, as `keep_journal` does. Where the
        file cannot be made, that is warned of once, and edits are made all the same.

        Example: `cat.journal_in(Path("journal.jsonl"))`
        """
        self._journal, self._journal_path = None, path

    async def _kept_journal(self) -> Journal | None:
        """The journal in use, opened where it was only named."""
        path, self._journal_path = self._journal_path, None
        if path is not None:
            try:
                self._journal = await asyncio.to_thread(Journal, path)
            except StorageFault as error:
                self._connection.warned(f"edits cannot be taken back: {error}")
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
        """Write the description of an entity, or of a dataset's column (by its exact field path).
        The text is markdown and is kept byte for byte; what ingestion says of a dataset, a chart
        and the like stays beside it.

        `instead_of` is the edited text that the writer started from, empty for none: where the
        server holds another by now, nothing is written, unless with `force`. Other parts of the
        same aspect, such as the texts of other columns, may change meanwhile. How sure that is
        depends on the server: see the module. Two requests; one where the text is there already.

        Raises `NotFound` when there is no such entity or column, `TextConflict` as told,
        `InvalidInput` for an entity whose description cannot be edited, naming those that can.

        Example: `cat.describe(urn, "One row an order.")`
        """
        entity = Urn.parse(urn)
        place, target = place_of(entity, column), edit_target(entity, "description", column)
        found = await self._stored(target.urn, target.aspect)
        before = target.read(found.value(target.aspect))
        edit = Edit.now(target.urn, "description", before, text, column)
        if (before or "") == text:
            return replace(edit, after=before)
        expected = self._expect(target, found, None if force else instead_of, text)
        if column is not None:
            work = self._describe_column(target, column, text, expected)
        else:
            work = self._describe_entity(target, place, text, expected)
        return await self._made(work, edit)

    async def create(
        self, urn: str | Urn, aspect: str | None, value: Mapping[str, Any] | msgspec.Struct
    ) -> Edit:
        """Create an entity by writing its first aspect, as `put` does; of one that exists nothing
        is changed, except that a hidden one is restored. An edit: `undo` removes what was created,
        unless something else uses it by then. Two requests, one where it exists.

        Raises `InvalidInput` for a value that does not fit.

        Example: `cat.create("urn:li:tag:Reviewed", "tagProperties", {"name": "Reviewed"})`
        """
        target = Urn.parse(urn)
        name, content = aspect_value(aspect, value)
        shown = Edit.now(target, "status", "shown", "shown")
        try:
            was = (await self._stored(target, "status")).value("status").get("removed") is True
        except NotFound:
            absent = -1 if (await self.abilities()).conditional_edits else None
            made = self._put(Proposal(target, name, content), absent)
            try:
                return await self._made(made, Edit.now(target, "entity", None, {name: content}))
            except Conflict:
                # Somebody else created it at the same moment.
                return shown
        if not was:
            return shown
        await self._set_removed(target, False, dry_run=False)
        return Edit.now(target, "status", "hidden", "shown")

    async def soft_delete(self, urn: str | Urn, *, dry_run: bool = False) -> StatusChange:
        """Take an entity away from search and browsing; nothing of it is lost, and its page stays.
        An edit, which the journal has and `undo` takes back.

        One request to see, two to write. Raises `NotFound` for an entity that does not exist, and
        writes nothing then.

        Example: `cat.soft_delete(urn, dry_run=True)`
        """
        return await self._set_removed(Urn.parse(urn), True, dry_run=dry_run)

    async def restore(self, urn: str | Urn, *, dry_run: bool = False) -> StatusChange:
        """Bring a soft-deleted entity back; as `soft_delete` otherwise.

        Example: `cat.restore(urn)`
        """
        return await self._set_removed(Urn.parse(urn), False, dry_run=dry_run)

    async def _describe_entity(
        self, target: EditTarget, place: EditableField, text: str, expected: Expectation | None
    ) -> None:
        urn, kind = target.urn, target.urn.entity_type

        def rewrite() -> Awaitable[None]:
            return self._rewrite_target(
                target, lambda value: place.with_text(urn, value, text), expected
            )

        if place.mutation != "updateDescription":
            fields = {"editableProperties": {"description": text}}
            mutation = Mutation.of_entity(place.mutation, urn, fields)
            await self._mutate_or_rewrite(mutation, rewrite, expected)
            return
        # Servers differ in what this mutation takes; containers are taken by all.
        if kind in self._not_described:
            await rewrite()
            return
        try:
            await self._mutate_or_rewrite(_describing(target, text), rewrite, expected)
        except (InvalidInput, ServerFault):
            if kind == "container":
                raise
            await rewrite()
            self._not_described |= {kind}

    async def _describe_column(
        self, target: EditTarget, column: str, text: str, expected: Expectation | None
    ) -> None:
        async def rewrite() -> None:
            await self._check_column(target.urn, column)
            await self._rewrite_target(
                target,
                lambda value: with_column(
                    value, column, {**column_info(value, column), "description": text}
                ),
                expected,
            )

        try:
            await self._mutate_or_rewrite(_describing(target, text), rewrite, expected)
        except (InvalidInput, ServerFault):
            # Not every server says that it is the column that is missing.
            await self._check_column(target.urn, column)
            raise

    async def _check_column(self, urn: Urn, column: str) -> None:
        """Raises `NotFound` for a column that the schema has not. One request."""
        schema = (await self._stored(urn, "schemaMetadata")).value("schemaMetadata")
        paths = [str(field.get("fieldPath")) for field in schema.get("fields") or ()]
        if column not in paths:
            near = get_close_matches(column, paths, n=3)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise NotFound(f"{urn} has no column {column}{hint}")

    async def _set_removed(self, urn: Urn, removed: bool, *, dry_run: bool) -> StatusChange:
        found = await self._stored(urn, "status")
        was = found.value("status").get("removed") is True
        if dry_run or was == removed:
            return StatusChange(urn, was, removed, written=False)
        change = self._rewrite(urn, "status", lambda status: {**status, "removed": removed})
        before, after = ("shown", "hidden") if removed else ("hidden", "shown")
        await self._made(change, Edit.now(urn, "status", before, after))
        return StatusChange(urn, was, removed, written=True)

    def _expect(
        self, target: EditTarget, found: Stored, seen: Held, mine: Held
    ) -> Expectation | None:
        """Return the condition of an edit whose writer saw `seen`; None for None, which stands for
        no condition. Raises `TextConflict` where the server holds something else already."""
        if seen is None:
            return None
        expected = Expectation(target, seen, mine, found.version(target.aspect) is not None)
        expected.check(target.read(found.value(target.aspect)), found.stamps.get(target.aspect))
        return expected

    async def _rewrite_target(
        self,
        target: EditTarget,
        change: Callable[[Json], Json],
        expected: Expectation | None,
    ) -> None:
        """Write the aspect of a target as `change` makes it of what is stored; checks what is
        expected each time, for a rewrite starts anew from what another wrote meanwhile."""

        def checked(value: Json) -> Json:
            if expected is not None:
                expected.check(target.read(value))
            return change(value)

        await self._rewrite(target.urn, target.aspect, checked)

    async def _mutate_or_rewrite(
        self,
        mutation: Mutation,
        rewrite: Callable[[], Awaitable[None]],
        expected: Expectation | None,
    ) -> None:
        """Have a mutation make an edit; or `rewrite`, on servers that do not offer it or that know
        a condition only there. `rewrite` checks what is expected by itself.

        Raises `TextConflict` where the server holds something else than is expected.
        """
        if (
            expected is not None
            and expected.versioned
            and not (await self.abilities()).conditional_edits
        ):
            try:
                await rewrite()
            except Forbidden:
                # Some may edit what they may not write as a whole; see the module.
                pass
            else:
                return
        if not await self._mutate(mutation, expected):
            await rewrite()

    async def _mutate(self, mutation: Mutation, expected: Expectation | None = None) -> bool:
        """Send a mutation, with the condition where the server knows conditions. Returns false,
        and sends nothing, where the server does not offer the mutation."""
        if not await self._offers("Mutation", mutation.name):
            return False
        if expected is None or not (await self.abilities()).conditional_edits:
            data = await self.graphql(mutation.document, dict(mutation.variables))
        else:
            operation = graphql_request(
                mutation.document, dict(mutation.variables), expected.to_wire()
            )
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

    async def _made(self, work: Awaitable[None], edit: Edit) -> Edit:
        """The edit, stored by the work and written down."""

        async def whole() -> Edit:
            await work
            return await self._noted(replace(edit, at=datetime.now(UTC)))

        return await self._to_its_end(whole())

    async def _to_its_end(self, work: Coroutine[Any, Any, Edit]) -> Edit:
        """What stores an edit and writes it down, as one: calling it off in between would leave an
        edit that the journal does not know, so it is given a few seconds to end by itself."""
        task = asyncio.create_task(work)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            try:
                await asyncio.wait((task,), timeout=_GRACE_SECONDS)
            finally:
                task.cancel()
                # Also what it failed with, for the calling off is what is told.
                await asyncio.gather(task, return_exceptions=True)
            raise

    async def _noted(self, edit: Edit) -> Edit:
        """The edit, written down in the journal where one is kept."""
        journal = await self._kept_journal()
        if journal is not None and edit.changed:
            try:
                await asyncio.to_thread(journal.append, edit, self._connection.address)
            except StorageFault as error:
                raise StorageFault(f"the edit is stored, but not written down: {error}") from error
        return edit


def _describing(target: EditTarget, text: str) -> Mutation:
    fields = {"description": text, **resource_of(target)}
    return Mutation.with_input("updateDescription", fields, "DescriptionUpdateInput")


def resource_of(target: EditTarget) -> dict[str, str]:
    """Return how the inputs of mutations name an entity, or a column of it."""
    entity = {"resourceUrn": str(target.urn)}
    if target.column is None:
        return entity
    return {**entity, "subResource": target.column, "subResourceType": "DATASET_FIELD"}
