"""Edits through GraphQL: texts, labels, owners, domains, deprecations, links, the removed mark.

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
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import msgspec

from explorer.client.editable import (
    OWNERS,
    TAGS,
    TERMS,
    EditableField,
    EditTarget,
    Expectation,
    LabelKind,
    Mutation,
    column_info,
    deprecation,
    edit_target,
    link_parts,
    links_of,
    place_of,
    urns_of,
    with_column,
)
from explorer.client.ingestion import ConditionalWrites, Stored, aspect_value
from explorer.client.journal import Journal, held_labels, run_name
from explorer.client.records import Edit, Held, StatusChange, What
from explorer.client.responses import REFUSALS, Json
from explorer.client.transport import Request, graphql_request
from explorer.errors import (
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

__all__ = ["EditMethods", "LabelMethods", "LinkMethods", "resource_of"]

# How long an edit that is called off is still waited for.
_GRACE_SECONDS = 5.0
_LINKS = "institutionalMemory"
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
    """How descriptions and the removed mark are written, and what every edit goes through."""

    _journal: Journal | None = None
    _journal_path: Path | None = None
    _not_described: frozenset[str] = frozenset()

    @cached_property
    def _unanswered(self) -> dict[tuple[str, What, str | None], Edit]:
        """Edits that may be stored although no answer came, by what they were of."""
        return {}

    async def graphql(self, query: str, variables: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the `data` of a GraphQL operation. One request, sent once.

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
        """Return the journal in use, opened where it was only named. Edits that are made at once
        may open it together, which does no harm; none of them goes on without it."""
        path = self._journal_path
        if path is None:
            return self._journal
        try:
            journal = await asyncio.to_thread(Journal, path)
        except StorageFault as error:
            if self._journal_path == path:
                self._journal_path = None
                self._connection.warned(f"edits cannot be taken back: {error}")
        else:
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
            return await self._made(_nothing(), replace(edit, after=before))
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
        name, content = aspect_value(aspect, value)
        return await self.create_with(urn, {name: content})

    async def create_with(self, urn: str | Urn, aspects: Mapping[str, Json]) -> Edit:
        """Create an entity with several aspects, by their names; as `create` otherwise. The first
        is written first. A request for each, and one more.

        Example: `cat.create_with("urn:li:tag:Old", {"tagProperties": {"name": "Old"}})`
        """
        target = Urn.parse(urn)
        shown = Edit.now(target, "status", "shown", "shown")
        try:
            was = (await self._stored(target, "status")).value("status").get("removed") is True
        except NotFound:
            absent = -1 if (await self.abilities()).conditional_edits else None

            async def write() -> None:
                for position, (name, content) in enumerate(aspects.items()):
                    await self._put(Proposal(target, name, content), None if position else absent)

            try:
                return await self._made(write(), Edit.now(target, "entity", None, dict(aspects)))
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

    async def _made(self, work: Awaitable[Edit | None], edit: Edit) -> Edit:
        """Return the edit after the work stored it and it was written down; the work may return
        what it was in the end.

        Where the answer to an earlier try was lost, this edit starts from what was there before
        that try: it may have been stored, and would else be in no journal.
        """
        place = (str(edit.urn), edit.what, edit.column)
        earlier = self._unanswered.get(place)
        start = edit if earlier is None else _continued(earlier, edit)

        async def whole() -> Edit:
            try:
                done = await work or edit
            except (Unreachable, ServerFault):
                self._unanswered[place] = start
                raise
            self._unanswered.pop(place, None)
            made = done if earlier is None else _continued(earlier, done)
            return await self._noted(replace(made, at=datetime.now(UTC)))

        return await self._to_its_end(whole())

    async def _to_its_end(self, work: Coroutine[Any, Any, Edit]) -> Edit:
        """Run the work that stores an edit and writes it down, and return the edit.

        Cancelled in between it would leave an edit that the journal does not know, so it is given
        a few seconds to end by itself."""
        task = asyncio.create_task(work)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            try:
                await asyncio.wait((task,), timeout=_GRACE_SECONDS)
            finally:
                task.cancel()
                # Its failure is not raised: the cancellation is.
                await asyncio.gather(task, return_exceptions=True)
            raise

    async def _noted(self, edit: Edit) -> Edit:
        """Return the edit, written down in the journal where one is kept."""
        journal = await self._kept_journal()
        if journal is not None and edit.changed:
            try:
                await asyncio.to_thread(journal.append, edit, self._connection.address)
            except StorageFault as error:
                raise StorageFault(f"the edit is stored, but not written down: {error}") from error
        return edit


class LabelMethods(EditMethods):
    """How entities and columns are labelled. A name that is no URN is an id: `PII` is the tag
    `urn:li:tag:PII`, `jdoe` the user `urn:li:corpuser:jdoe`.

    Every method takes two requests, one where nothing is to be done, one more the first time; and
    raises `NotFound` for an entity that does not exist and where the server wants the label to.
    Others' labels stay, whatever the server offers.

    `instead_of` is all that the writer saw there of that kind, as `Edit` names it, empty for
    nothing: where the server holds something else by now, nothing is written and `TextConflict` is
    raised, unless what was to be done is done already. How sure that is depends on the server, see
    the module. Without it, what others put on and take off meanwhile does not matter.
    """

    async def add_tags(
        self,
        urn: str | Urn,
        tags: _Names,
        *,
        column: str | None = None,
        instead_of: _Names | None = None,
    ) -> Edit:
        """Put tags on an entity or on a dataset's column; those it has already stay as they are.

        Example: `cat.add_tags(urn, ["urn:li:tag:PII"], column="order_id")`
        """
        return await self._label(
            TAGS, urn, column, add=TAGS.named(tags), instead_of=_several(TAGS, instead_of)
        )

    async def remove_tags(
        self,
        urn: str | Urn,
        tags: _Names,
        *,
        column: str | None = None,
        instead_of: _Names | None = None,
    ) -> Edit:
        """Take tags off; those it has not do no harm.

        Example: `cat.remove_tags(urn, ["urn:li:tag:PII"], column="order_id")`
        """
        return await self._label(
            TAGS, urn, column, remove=TAGS.named(tags), instead_of=_several(TAGS, instead_of)
        )

    async def add_terms(
        self,
        urn: str | Urn,
        terms: _Names,
        *,
        column: str | None = None,
        instead_of: _Names | None = None,
    ) -> Edit:
        """Put glossary terms on an entity or on a dataset's column, as `add_tags`.

        Example: `cat.add_terms(urn, ["urn:li:glossaryTerm:Finance.NetRevenue"])`
        """
        return await self._label(
            TERMS, urn, column, add=TERMS.named(terms), instead_of=_several(TERMS, instead_of)
        )

    async def remove_terms(
        self,
        urn: str | Urn,
        terms: _Names,
        *,
        column: str | None = None,
        instead_of: _Names | None = None,
    ) -> Edit:
        """Take glossary terms off, as `remove_tags`.

        Example: `cat.remove_terms(urn, ["urn:li:glossaryTerm:Finance.NetRevenue"])`
        """
        return await self._label(
            TERMS, urn, column, remove=TERMS.named(terms), instead_of=_several(TERMS, instead_of)
        )

    async def add_owners(
        self,
        urn: str | Urn,
        owners: _Names,
        *,
        ownership: str = "TECHNICAL_OWNER",
        instead_of: Iterable[str] | None = None,
    ) -> Edit:
        """Give an entity owners, users or (by their URN) groups; `ownership` is of
        which kind, a word (`BUSINESS_OWNER`, `DATA_STEWARD`) or the URN of an ownership type.

        Example: `cat.add_owners(urn, ["urn:li:corpuser:jdoe"])`
        """
        labels = tuple(f"{owner} {ownership}" for owner in OWNERS.named(owners))
        seen = None if instead_of is None else tuple(instead_of)
        return await self._label(OWNERS, urn, None, add=labels, instead_of=seen)

    async def remove_owners(
        self,
        urn: str | Urn,
        owners: _Names,
        *,
        ownership: str | None = None,
        instead_of: Iterable[str] | None = None,
    ) -> Edit:
        """Take owners away, in one kind of ownership or in all.

        Example: `cat.remove_owners(urn, ["urn:li:corpuser:jdoe"])`
        """
        target, gone = Urn.parse(urn), OWNERS.named(owners)
        found = await self._stored(target, OWNERS.aspect)
        held = OWNERS.labels(found.value(OWNERS.aspect), None)
        labels = tuple(
            label
            for label in held
            if label.rpartition(" ")[0] in gone and ownership in (None, label.rpartition(" ")[2])
        )
        seen = None if instead_of is None else tuple(instead_of)
        return await self._label(OWNERS, target, None, remove=labels, instead_of=seen)

    async def set_domain(
        self, urn: str | Urn, domain: str | Urn | None, *, instead_of: _Names | None = None
    ) -> Edit:
        """Put an entity into a domain, out of any other; with `None` out of all.

        Example: `cat.set_domain(urn, "urn:li:domain:finance")`
        """
        domains = () if domain is None else tuple(map(str, urns_of(domain, "domain")))
        seen = None if instead_of is None else tuple(map(str, urns_of(instead_of, "domain")))
        return await self._put_domains(Urn.parse(urn), domains, instead_of=seen)

    async def deprecate(
        self,
        urn: str | Urn,
        note: str,
        *,
        decommission: datetime | None = None,
        replacement: str | Urn | None = None,
        instead_of: Mapping[str, Any] | None = None,
    ) -> Edit:
        """Say that an entity should no longer be used and why; from when it is gone, and what to
        use instead.

        Example: `cat.deprecate(urn, "Read fct_order_items instead.")`
        """
        held = deprecation(note, decommission, replacement)
        return await self._put_deprecation(Urn.parse(urn), held, instead_of=instead_of)

    async def undeprecate(
        self, urn: str | Urn, *, instead_of: Mapping[str, Any] | None = None
    ) -> Edit:
        """Say that an entity may be used again.

        Example: `cat.undeprecate(urn)`
        """
        return await self._put_deprecation(Urn.parse(urn), None, instead_of=instead_of)

    async def _label(
        self,
        kind: LabelKind,
        urn: str | Urn,
        column: str | None,
        *,
        add: tuple[str, ...] = (),
        remove: tuple[str, ...] = (),
        instead_of: tuple[str, ...] | None = None,
    ) -> Edit:
        target = edit_target(Urn.parse(urn), kind.what, column)
        found = await self._stored(target.urn, target.aspect)
        before = kind.labels(found.value(target.aspect), column)
        new = tuple(label for label in add if label not in before)
        gone = tuple(label for label in remove if label in before)
        after = (*(label for label in before if label not in gone), *new)
        expected = self._expect(target, found, instead_of, after)

        async def write() -> None:
            held = before
            for adding, labels in ((True, new), (False, gone)):
                mutations = kind.mutations(labels, resource_of(target), adding=adding)
                for some, mutation in mutations:
                    # Each step starts from what the one before it left.
                    left = (*held, *some) if adding else tuple(x for x in held if x not in some)
                    condition = expected and replace(expected, seen=held, mine=left)
                    rewrite = partial(
                        self._rewrite_labels, target, kind, some, condition, adding=adding
                    )
                    await self._mutate_or_rewrite(mutation, rewrite, condition)
                    held = left

        return await self._made(write(), Edit.now(target.urn, kind.what, before, after, column))

    async def _rewrite_labels(
        self,
        target: EditTarget,
        kind: LabelKind,
        labels: tuple[str, ...],
        expected: Expectation | None,
        *,
        adding: bool,
    ) -> None:
        """Write the aspect that holds labels, as a patch where the server takes patches."""
        column = target.column
        if column is not None:
            await self._check_column(target.urn, column)
        # A patch tells owners apart by a word for the kind, which all kinds of one's own share, and
        # carries no condition on a list.
        patches = not any(" urn:" in label for label in labels) and (await self.abilities()).patch
        if patches and (expected is None or not expected.versioned):
            operations = kind.patch(labels, column, adding=adding)
            await self._put(Proposal(target.urn, target.aspect, operations, "PATCH"), None)
            return
        await self._rewrite_target(
            target, lambda value: kind.changed(value, labels, column, adding=adding), expected
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
        held: dict[str, Any] | None,
        *,
        instead_of: Mapping[str, Any] | None = None,
    ) -> Edit:
        given = {"deprecated": held is not None, "note": "", **(held or {})}

        def change(value: Json) -> Json:
            return {"actor": value.get("actor") or UNKNOWN_ACTOR, **given}

        mutation = Mutation.with_input("updateDeprecation", {"urn": str(urn), **given})
        seen = None if instead_of is None else dict(instead_of)
        target = edit_target(urn, "deprecation")
        return await self._replace(target, held, change, mutation, instead_of=seen)

    async def _replace(
        self,
        target: EditTarget,
        after: Held,
        change: Callable[[Json], Json],
        mutation: Mutation | None,
        *,
        instead_of: Held,
    ) -> Edit:
        """Replace the whole value of a target with `after`, by the mutation or, where there is
        none, as `change` makes the aspect."""
        found = await self._stored(target.urn, target.aspect)
        before = target.read(found.value(target.aspect))
        expected = self._expect(target, found, instead_of, after)

        def rewrite() -> Awaitable[None]:
            return self._rewrite_target(target, change, expected)

        async def write() -> None:
            if before == after:
                return
            if mutation is None:
                await rewrite()
            else:
                await self._mutate_or_rewrite(mutation, rewrite, expected)

        return await self._made(write(), Edit.now(target.urn, target.what, before, after))


class LinkMethods(EditMethods):
    """How an entity's documentation links are read and changed."""

    _appends_links = False

    async def links(self, urn: str | Urn) -> tuple[Link, ...]:
        """Return the links of an entity, in their order, as the server has them now. One request.

        Raises `NotFound` for an entity that does not exist.

        Example: `cat.links(urn)`
        """
        value = {"elements": await self._elements(Urn.parse(urn))}
        return read_aspect(value, InstitutionalMemory).elements

    async def add_link(
        self, urn: str | Urn, url: str, label: str, *, instead_of: Iterable[str] | None = None
    ) -> Edit:
        """Add a link to an entity; all others stay, whatever the server does with a list it is
        given. Where the server adds links itself, it may put this one in the place of another to
        the same address. Two requests, up to five on servers that only take lists.

        `instead_of` are the links that the writer saw, `<address> <label>` each, as `Edit` names
        them: where the server holds others by now, nothing is written. How sure that is depends on
        the server, see the module.

        Raises `NotFound` for an entity that does not exist, `TextConflict` as told.

        Example: `cat.add_link(urn, "https://wiki.example.com/orders", "How orders are counted")`
        """
        if not url or any(char.isspace() for char in url):
            raise InvalidInput(f"{url!r} is no address; write spaces in it as %20")
        target = edit_target(Urn.parse(urn), "links")
        found = await self._stored(target.urn, target.aspect)
        held = _elements_of(found.value(target.aspect))
        before, link = links_of({"elements": held}), f"{url} {label}"
        if any(link_parts(element) == (url, label) for element in held):
            return await self._made(_nothing(), Edit.now(target.urn, "links", before, before))
        seen = None if instead_of is None else tuple(instead_of)
        expected = self._expect(target, found, seen, (*(seen or ()), link))
        fields = {"linkUrl": url, "label": label, "resourceUrn": str(target.urn)}

        async def write() -> Edit:
            await self._mutate_or_rewrite(
                Mutation.with_input("addLink", fields),
                lambda: self._add_to_list(
                    target, held, {"url": url, "description": label}, expected
                ),
                expected,
            )
            after = links_of({"elements": await self._elements(target.urn)})
            return Edit.now(target.urn, "links", before, after)

        return await self._made(write(), Edit.now(target.urn, "links", before, (*before, link)))

    async def remove_link(
        self,
        urn: str | Urn,
        url: str,
        label: str | None = None,
        *,
        instead_of: Iterable[str] | None = None,
    ) -> Edit:
        """Remove the links to an address, or only the one with that label. Two requests.

        `instead_of` is as for `add_link`; a link that the writer saw and that is gone already is
        no error then. Raises `NotFound` where there is no such link, and for an entity that does
        not exist, `TextConflict` as `add_link`.

        Example: `cat.add_link(urn, "https://wiki.example.com", "Wiki"); cat.remove_link(urn,
        "https://wiki.example.com")`
        """
        target = edit_target(Urn.parse(urn), "links")
        found = await self._stored(target.urn, target.aspect)
        held = _elements_of(found.value(target.aspect))
        before = links_of({"elements": held})
        seen = None if instead_of is None else tuple(instead_of)

        def is_meant(element: Json) -> bool:
            found_url, found_label = link_parts(element)
            return found_url == url and label in (None, found_label)

        left = [element for element in held if not is_meant(element)]
        gone = [link_parts(element) for element in held if is_meant(element)]
        if not gone:
            if any(
                link.startswith(f"{url} ") if label is None else link == f"{url} {label}"
                for link in seen or ()
            ):
                return await self._made(_nothing(), Edit.now(target.urn, "links", before, before))
            called = f" called {label!r}" if label else ""
            raise NotFound(f"{target.urn} has no link to {url}{called}")
        after = links_of({"elements": left})
        expected = self._expect(target, found, seen, after)
        fields = {"linkUrl": url, "resourceUrn": str(target.urn)}
        if any(element.get("url") == url for element in left):
            fields["label"] = label or ""

        def change(value: Json) -> Json:
            elements = [one for one in _elements_of(value) if link_parts(one) not in gone]
            return {**value, "elements": elements}

        async def write() -> None:
            await self._mutate_or_rewrite(
                Mutation.with_input("removeLink", fields),
                lambda: self._rewrite_target(target, change, expected),
                expected,
            )

        return await self._made(write(), Edit.now(target.urn, "links", before, after))

    async def _elements(self, urn: Urn) -> list[Json]:
        return _elements_of((await self._stored(urn, _LINKS)).value(_LINKS))

    async def _add_to_list(
        self, target: EditTarget, held: list[Json], link: Json, expected: Expectation | None
    ) -> None:
        """Add a link on a server without a mutation for one link.

        The whole list is sent, because some servers replace the list by it. Where a server appends
        instead, the links that are double by that are removed, and from then on only the new link
        is sent.
        """
        urn, author = target.urn, await self._current_user()
        new = {**link, "createStamp": {"actor": author}}
        sent = [new] if self._appends_links else [*held, new]
        # A list is sent without a condition.
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
        if not held or self._appends_links:
            return
        if len(await self._elements(urn)) > len(sent):
            self._appends_links = True
            await self._rewrite(urn, _LINKS, _without_doubles)

    async def _send_list(self, urn: Urn, links: list[Json]) -> bool:
        try:
            return await self._replace_links(urn, links, dated=True)
        except InvalidInput:
            # Older servers have no place for the time of a link.
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


async def _nothing() -> None:
    """Store nothing: it is there already."""


def _continued(earlier: Edit, edit: Edit) -> Edit:
    """Return an edit as it is together with an earlier one of the same value, as far as the earlier
    one was stored, and without it where it was not."""
    if edit.what in ("tags", "terms", "owners", "links"):
        was, left = held_labels(earlier.before), held_labels(earlier.after)
        held = held_labels(edit.before)
        back = tuple(one for one in was if one not in left and one not in held)
        kept = tuple(one for one in held if one in was or one not in left)
        return replace(edit, before=(*kept, *back))
    return replace(edit, before=earlier.before) if edit.before == earlier.after else edit


def _describing(target: EditTarget, text: str) -> Mutation:
    fields = {"description": text, **resource_of(target)}
    return Mutation.with_input("updateDescription", fields, "DescriptionUpdateInput")


def resource_of(target: EditTarget) -> dict[str, str]:
    """Return how the inputs of mutations name an entity, or a column of it."""
    entity = {"resourceUrn": str(target.urn)}
    if target.column is None:
        return entity
    return {**entity, "subResource": target.column, "subResourceType": "DATASET_FIELD"}


def _several(kind: LabelKind, names: _Names | None) -> tuple[str, ...] | None:
    return None if names is None else kind.named(names)


def _elements_of(value: Json) -> list[Json]:
    return [one for one in value.get("elements") or () if isinstance(one, dict)]


def _element(link: Json, *, dated: bool) -> Json:
    stamp = link.get("createStamp") or {}
    made = {"createdAt": stamp["time"]} if dated and stamp.get("time") else {}
    author = stamp.get("actor") or UNKNOWN_ACTOR
    url, label = link_parts(link)
    return {"url": url, "description": label, "author": author, **made}


def _without_doubles(value: Json) -> Json:
    kept: dict[tuple[Any, Any], Json] = {}
    for link in value.get("elements") or ():
        kept.setdefault(link_parts(link), link)
    return {**value, "elements": list(kept.values())}
