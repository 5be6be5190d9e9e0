"""What people write, through GraphQL."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from explorer.client import documents, requests
from explorer.client.answers.shape import Json
from explorer.client.conflict import TextConflict
from explorer.client.journal import Journal
from explorer.client.parts.rewriting import Rewriting
from explorer.client.records import Edit, Held, What
from explorer.client.texts import COLUMNS, Place, column_info, column_text, place_of, with_column
from explorer.errors import InvalidInput, NotFound, ServerFault, Unusable
from explorer.metadata.urn import Urn

__all__ = ["Editing"]

# Raises `TextConflict` where the text that stands there now is not the one that was expected.
_Check = Callable[[str | None], None]
# How long an edit that is called off is still waited for.
_GRACE_SECONDS = 5.0


class Editing(Rewriting):
    """How descriptions are written, and what every edit goes through."""

    _journal: Journal | None = None
    _not_described: frozenset[str] = frozenset()

    async def graphql(self, query: str, variables: dict[str, Any] | None = None) -> dict[str, Any]:
        """The `data` of a GraphQL operation. One request, sent once.

        Raises the error that the server's first one stands for.
        """
        body = await self._connection.send(requests.editing.graphql(query, variables or {}))
        if not isinstance(body, dict):
            raise ServerFault("the server's GraphQL answer is not an object")
        data = body.get("data")
        return data if isinstance(data, dict) else {}

    async def keep_journal(self, path: Path) -> Journal:
        """From now on write every edit down in this file, which is made where there is none.

        What is given is iterated for the edits in it, oldest first. An edit that changed nothing
        is not written down. No request. Raises `Unusable` where the file cannot be.
        """
        self._journal = await asyncio.to_thread(Journal, path)
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
        server holds another by now, nothing is written, unless with `force`. The comparison is
        made right before the write, not with it, but where the whole aspect is written to a server
        that knows conditions. Two requests; one where the text is there already.

        Raises `NotFound` when there is no such entity or column, `TextConflict` as told,
        `InvalidInput` for an entity whose description cannot be edited, naming those that can.
        """
        target = Urn.parse(urn)
        place = place_of(target, column)
        aspect = place.aspect if column is None else COLUMNS
        value = (await self._stored(target, aspect)).value(aspect)
        before = place.text(value) if column is None else column_text(value, column)
        held = before or ""
        if held == text:
            return self._edit(target, "description", before, before, column)

        def check(now: str | None) -> None:
            if instead_of is not None and (now or "") not in (instead_of, text) and not force:
                where = str(target) if column is None else f"{column} of {target}"
                raise TextConflict(f"the description of {where}", instead_of, now or "", text)

        check(before)
        if column is not None:
            work = self._describe_column(target, column, text, check)
        elif place.mutation in documents.UPDATES:
            work = self._describe_entity(target, place, text, check)
        else:
            work = self._describe_other(target, place, text, check)
        return await self._made(work, self._edit(target, "description", before, text, column))

    async def _describe_entity(self, urn: Urn, place: Place, text: str, check: _Check) -> None:
        edit = {"urn": str(urn), "input": {"editableProperties": {"description": text}}}
        if not await self._mutate(place.mutation, documents.UPDATES[place.mutation], edit):
            await self._rewrite_text(urn, place, text, check)

    async def _describe_other(self, urn: Urn, place: Place, text: str, check: _Check) -> None:
        edit = {"description": text, "resourceUrn": str(urn)}
        kind, refused = urn.entity_type, False
        if kind not in self._not_described:
            try:
                if await self._mutate(
                    "updateDescription", documents.UPDATE_DESCRIPTION, {"input": edit}
                ):
                    return
            except (InvalidInput, ServerFault):
                # Servers differ in what this mutation takes; containers are taken by all.
                if kind == "container":
                    raise
                refused = True
        await self._rewrite_text(urn, place, text, check)
        if refused:
            self._not_described |= {kind}

    async def _rewrite_text(self, urn: Urn, place: Place, text: str, check: _Check) -> None:
        def change(value: Json) -> Json:
            # Again: a rewrite starts anew from what another wrote meanwhile.
            check(place.text(value))
            return place.with_text(urn, value, text)

        await self._rewrite(urn, place.aspect, change)

    async def _describe_column(self, urn: Urn, column: str, text: str, check: _Check) -> None:
        edit = {"description": text, "resourceUrn": str(urn)} | _column_of(column)
        try:
            if await self._mutate(
                "updateDescription", documents.UPDATE_DESCRIPTION, {"input": edit}
            ):
                return
        except (InvalidInput, ServerFault):
            # Not every server says that it is the column that is missing.
            await self._check_column(urn, column)
            raise
        await self._check_column(urn, column)

        def change(value: Json) -> Json:
            check(column_text(value, column))
            return with_column(value, column, {**column_info(value, column), "description": text})

        await self._rewrite(urn, COLUMNS, change)

    async def _check_column(self, urn: Urn, column: str) -> None:
        """Raises `NotFound` for a column that the schema has not. One request."""
        schema = (await self._stored(urn, "schemaMetadata")).value("schemaMetadata")
        paths = [str(field.get("fieldPath")) for field in schema.get("fields") or ()]
        if column not in paths:
            near = get_close_matches(column, paths, n=3)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise NotFound(f"{urn} has no column {column}{hint}")

    async def _mutate(self, name: str, document: str, variables: Mapping[str, Any]) -> bool:
        """Have the server do it; false, and nothing done, where it does not offer that."""
        if not await self._offers("Mutation", name):
            return False
        data = await self.graphql(document, dict(variables))
        if data.get(name) in (None, False):
            raise ServerFault(f"the server did not say that it did {name}")
        return True

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
        if self._journal is not None and edit.changed:
            try:
                await asyncio.to_thread(self._journal.append, edit, self._connection.address)
            except Unusable as error:
                raise Unusable(f"the edit is stored, but not written down: {error}") from error
        return edit


def _column_of(column: str | None) -> dict[str, str]:
    return {} if column is None else {"subResource": column, "subResourceType": "DATASET_FIELD"}
