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
    COLUMNS,
    EditableField,
    Expectation,
    column_info,
    column_text,
    place_of,
    with_column,
)
from explorer.client.ingestion import ConditionalWrites, aspect_value
from explorer.client.journal import Journal
from explorer.client.records import Edit, Held, StatusChange, What
from explorer.client.responses import Json
from explorer.client.transport import Request, graphql_request
from explorer.errors import Conflict, Forbidden, InvalidInput, NotFound, ServerFault, Unusable
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn

__all__ = [
    "ADD_LINK",
    "ADD_OWNERS",
    "ADD_TAGS",
    "ADD_TERMS",
    "REMOVE_LINK",
    "REMOVE_OWNERS",
    "REMOVE_TAGS",
    "REMOVE_TERMS",
    "SET_DOMAIN",
    "UNSET_DOMAIN",
    "UPDATE_DATASET",
    "UPDATE_DEPRECATION",
    "WHO",
    "EditMethods",
]

UPDATE_DESCRIPTION = """
mutation updateDescription($input: DescriptionUpdateInput!) {
  updateDescription(input: $input)
}
"""

UPDATE_DATASET = """
mutation updateDataset($urn: String!, $input: DatasetUpdateInput!) {
  updateDataset(urn: $urn, input: $input) { urn }
}
"""

UPDATE_CHART = """
mutation updateChart($urn: String!, $input: ChartUpdateInput!) {
  updateChart(urn: $urn, input: $input) { urn }
}
"""

UPDATE_DASHBOARD = """
mutation updateDashboard($urn: String!, $input: DashboardUpdateInput!) {
  updateDashboard(urn: $urn, input: $input) { urn }
}
"""

UPDATE_DATA_FLOW = """
mutation updateDataFlow($urn: String!, $input: DataFlowUpdateInput!) {
  updateDataFlow(urn: $urn, input: $input) { urn }
}
"""

UPDATE_DATA_JOB = """
mutation updateDataJob($urn: String!, $input: DataJobUpdateInput!) {
  updateDataJob(urn: $urn, input: $input) { urn }
}
"""

UPDATES: Mapping[str, str] = {
    "updateChart": UPDATE_CHART,
    "updateDashboard": UPDATE_DASHBOARD,
    "updateDataFlow": UPDATE_DATA_FLOW,
    "updateDataJob": UPDATE_DATA_JOB,
    "updateDataset": UPDATE_DATASET,
}
"""The mutations that take an entity's URN and set its edited description, by name."""

ADD_LINK = """
mutation addLink($input: AddLinkInput!) { addLink(input: $input) }
"""

REMOVE_LINK = """
mutation removeLink($input: RemoveLinkInput!) { removeLink(input: $input) }
"""

ADD_TAGS = """
mutation addTags($input: AddTagsInput!) { addTags(input: $input) }
"""

REMOVE_TAGS = """
mutation batchRemoveTags($input: BatchRemoveTagsInput!) { batchRemoveTags(input: $input) }
"""

ADD_TERMS = """
mutation addTerms($input: AddTermsInput!) { addTerms(input: $input) }
"""

REMOVE_TERMS = """
mutation batchRemoveTerms($input: BatchRemoveTermsInput!) { batchRemoveTerms(input: $input) }
"""

ADD_OWNERS = """
mutation addOwners($input: AddOwnersInput!) { addOwners(input: $input) }
"""

REMOVE_OWNERS = """
mutation batchRemoveOwners($input: BatchRemoveOwnersInput!) { batchRemoveOwners(input: $input) }
"""

SET_DOMAIN = """
mutation setDomain($entityUrn: String!, $domainUrn: String!) {
  setDomain(entityUrn: $entityUrn, domainUrn: $domainUrn)
}
"""

UNSET_DOMAIN = """
mutation unsetDomain($entityUrn: String!) { unsetDomain(entityUrn: $entityUrn) }
"""

UPDATE_DEPRECATION = """
mutation updateDeprecation($input: UpdateDeprecationInput!) { updateDeprecation(input: $input) }
"""

WHO = """
query who { me { corpUser { urn } } }
"""


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
        is not written down. No request. Raises `Unusable` where the file cannot be.

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
            except Unusable as error:
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
        target = Urn.parse(urn)
        place = place_of(target, column)
        aspect = place.aspect if column is None else COLUMNS
        found = await self._stored(target, aspect)
        value = found.value(aspect)
        before = place.text(value) if column is None else column_text(value, column)
        held = before or ""
        if held == text:
            return self._edit(target, "description", before, before, column)

        expected = None
        if instead_of is not None and not force:
            versioned = found.version(aspect) is not None
            expected = Expectation(target, "description", instead_of, text, column, versioned)
            expected.check(before, found.stamps.get(aspect))
        if column is not None:
            work = self._describe_column(target, column, text, expected)
        elif place.mutation in UPDATES:
            work = self._describe_entity(target, place, text, expected)
        else:
            work = self._describe_other(target, place, text, expected)
        return await self._made(work, self._edit(target, "description", before, text, column))

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
        try:
            was = (await self._stored(target, "status")).value("status").get("removed") is True
        except NotFound:
            absent = -1 if (await self.abilities()).conditional_edits else None
            made = self._put(Proposal(target, name, content), absent)
            try:
                return await self._made(made, self._edit(target, "entity", None, {name: content}))
            except Conflict:
                # Somebody else created it at the same moment.
                return self._edit(target, "status", _status(False), _status(False))
        if was:
            await self._set_removed(target, False, dry_run=False)
        return self._edit(target, "status", _status(was), _status(False))

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
        self, urn: Urn, place: EditableField, text: str, expected: Expectation | None
    ) -> None:
        edit = {"urn": str(urn), "input": {"editableProperties": {"description": text}}}
        await self._mutate_or_rewrite(
            (place.mutation, UPDATES[place.mutation], edit),
            lambda: self._rewrite_text(urn, place, text, expected),
            expected,
        )

    async def _describe_other(
        self, urn: Urn, place: EditableField, text: str, expected: Expectation | None
    ) -> None:
        edit = {"input": {"description": text, "resourceUrn": str(urn)}}
        kind = urn.entity_type

        def rewrite() -> Awaitable[None]:
            return self._rewrite_text(urn, place, text, expected)

        # Servers differ in what this mutation takes; containers are taken by all.
        if kind in self._not_described:
            await rewrite()
            return
        mutation = ("updateDescription", UPDATE_DESCRIPTION, edit)
        try:
            await self._mutate_or_rewrite(mutation, rewrite, expected)
        except (InvalidInput, ServerFault):
            if kind == "container":
                raise
            await rewrite()
            self._not_described |= {kind}

    async def _rewrite_text(
        self, urn: Urn, place: EditableField, text: str, expected: Expectation | None
    ) -> None:
        def change(value: Json) -> Json:
            # Again: a rewrite starts anew from what another wrote meanwhile.
            if expected is not None:
                expected.check(place.text(value))
            return place.with_text(urn, value, text)

        await self._rewrite(urn, place.aspect, change)

    async def _describe_column(
        self, urn: Urn, column: str, text: str, expected: Expectation | None
    ) -> None:
        edit = {"description": text, "resourceUrn": str(urn)} | _column_of(column)

        def change(value: Json) -> Json:
            if expected is not None:
                expected.check(column_text(value, column))
            return with_column(value, column, {**column_info(value, column), "description": text})

        async def rewrite() -> None:
            await self._check_column(urn, column)
            await self._rewrite(urn, COLUMNS, change)

        mutation = ("updateDescription", UPDATE_DESCRIPTION, {"input": edit})
        try:
            await self._mutate_or_rewrite(mutation, rewrite, expected)
        except (InvalidInput, ServerFault):
            # Not every server says that it is the column that is missing.
            await self._check_column(urn, column)
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
        await self._made(change, self._edit(urn, "status", _status(was), _status(removed)))
        return StatusChange(urn, was, removed, written=True)

    async def _mutate_or_rewrite(
        self,
        mutation: tuple[str, str, Mapping[str, Any]],
        rewrite: Callable[[], Awaitable[None]],
        expected: Expectation | None,
    ) -> None:
        """Have a mutation (its name, document and variables) make an edit; or `rewrite`, on servers
        that do not offer it or that know a condition only there. `rewrite` checks what is
        expected by itself.

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
        if not await self._mutate(*mutation, expected):
            await rewrite()

    async def _mutate(
        self,
        name: str,
        document: str,
        variables: Mapping[str, Any],
        expected: Expectation | None = None,
    ) -> bool:
        """Have the server do it, where it can only while it holds what is expected; false, and
        nothing done, where it does not offer that."""
        if not await self._offers("Mutation", name):
            return False
        if expected is None or not (await self.abilities()).conditional_edits:
            data = await self.graphql(document, dict(variables))
        else:
            operation = graphql_request(document, dict(variables), expected.to_wire())
            try:
                data = await self._operate(operation)
            except Conflict as error:
                if error.current is None:
                    raise
                raise expected.conflict_told(error.current) from error
        if data.get(name) in (None, False):
            raise ServerFault(f"the server did not say that it did {name}")
        return True

    async def _operate(self, operation: Request) -> dict[str, Any]:
        body = await self._connection.send(operation)
        if not isinstance(body, dict):
            raise ServerFault("the server's GraphQL answer is not an object")
        data = body.get("data")
        return data if isinstance(data, dict) else {}

    def _edit(
        self, urn: Urn, what: What, before: Held, after: Held, column: str | None = None
    ) -> Edit:
        return Edit(urn, what, before, after, datetime.now(UTC), column)

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
            except Unusable as error:
                raise Unusable(f"the edit is stored, but not written down: {error}") from error
        return edit


def _status(removed: bool) -> str:
    return "hidden" if removed else "shown"


def _column_of(column: str | None) -> dict[str, str]:
    return {} if column is None else {"subResource": column, "subResourceType": "DATASET_FIELD"}
