"""Edits: each reads and writes in one transaction, so concurrent edits never overwrite each other.

If the request has a condition (`session.IfCurrent`), it is checked in the same transaction. An edit
whose condition fails is rolled back, unless it had nothing to change: then it was made before, most
likely by the same request, whose answer was lost.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import orjson

from explorer.errors import InvalidInput, NotFound
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from explorer.server.catalog import CatalogEngine
from explorer.server.dialect import Dialect
from explorer.server.failures import with_article
from explorer.server.graphql.schema import Resolver
from explorer.server.graphql.session import Info, Node
from explorer.server.store import Transaction

__all__ = ["EditTransaction", "Given", "edit", "edit_giving_entity", "edit_of"]

Given = Mapping[str, Any]


class EditTransaction:
    """The transaction of one edit by one actor. Any exception rolls back the whole edit."""

    def __init__(
        self,
        transaction: Transaction,
        catalog: CatalogEngine,
        actor: str,
        dialect: Dialect = "plain",
        run: str | None = None,
    ) -> None:
        self._transaction = transaction
        self._system = {"runId": run} if run else None
        self._catalog = catalog
        self.actor = actor
        self.dialect = dialect
        self.has_written = False
        self._now_millis = time.time_ns() // 1_000_000

    @property
    def stamp(self) -> dict[str, Any]:
        """The audit stamp of the edit: its time in milliseconds since 1970, and its actor."""
        return {"time": self._now_millis, "actor": self.actor}

    def stored_entity(self, text: str) -> Urn:
        """Return the URN of an entity to edit. Raises `InvalidUrn`, and `NotFound` if the entity is
        not stored."""
        urn = Urn.parse(text)
        if not self.exists(urn):
            raise NotFound(f"{urn} does not exist.")
        return urn

    def stored_reference(self, text: str, what: str, *types: str) -> str:
        """Return the URN of an entity that an edit refers to. `what` names it in error messages.

        Raises `InvalidUrn`, `InvalidInput` if it is of none of the entity types, and `NotFound` if
        it is not stored.
        """
        urn = Urn.parse(text)
        if urn.entity_type not in types:
            raise InvalidInput(f"{urn} is not {with_article(what)}")
        if not self.exists(urn):
            raise NotFound(f"{what.capitalize()} {urn} does not exist.")
        return str(urn)

    def exists(self, urn: Urn) -> bool:
        """Return whether an entity is stored."""
        return bool(self._transaction.existing([str(urn)]))

    def read(self, urn: Urn, aspect: str) -> dict[str, Any]:
        """Return the latest value of an aspect, {} if it is not stored."""
        stored = self._transaction.aspect(str(urn), aspect)
        value: dict[str, Any] = orjson.loads(stored.value) if stored else {}
        return value

    def write(self, urn: Urn, aspect: str, part: Given) -> None:
        """Set some keys of an aspect; a key whose value is None is removed. Writes nothing if
        nothing changes. Sets `created` and `lastModified` if the aspect's record has them.

        Raises the same errors as `Intake.check` if the entity type does not have the aspect.
        """
        stored = self.read(urn, aspect)
        if stored and all(stored.get(key) == value for key, value in part.items()):
            return
        value = {key: new for key, new in (stored | dict(part)).items() if new is not None}
        fields = self._catalog.registry.records[self._catalog.registry.aspect(aspect).record].fields
        if "lastModified" in fields:
            value["lastModified"] = self.stamp
            if "created" in fields:
                value = {"created": self.stamp, **value}
        self._put(Proposal(urn, aspect, value, actor=self.actor, system=self._system))

    def append(self, urn: Urn, aspect: str, point: Given) -> None:
        """Add a document to a timeseries aspect. Its time is now unless the document has one.

        Raises the same errors as `Intake.check` if the entity type does not have the aspect.
        """
        value = {"timestampMillis": self._now_millis}
        value |= {key: one for key, one in point.items() if one is not None}
        self._put(Proposal(urn, aspect, value, actor=self.actor, system=self._system))

    def _put(self, proposal: Proposal) -> None:
        intake = self._catalog.intake
        # GraphQL mutations are DataHub's, so they are checked like DataHub's in both dialects.
        change = intake.check(proposal, self.actor, "datahub")
        intake.apply(self._transaction, change, self._now_millis)
        self.has_written = True

    def columns(self, urn: Urn) -> list[str]:
        """Return the field paths of a dataset's columns, as ingested."""
        fields = self.read(urn, "schemaMetadata").get("fields") or ()
        return [field["fieldPath"] for field in fields if "fieldPath" in field]

    def change_column(
        self, urn: Urn, path: str, change: Callable[[dict[str, Any]], dict[str, Any]]
    ) -> None:
        """Change the edited information of a column. Raises `NotFound`, with the nearest paths, if
        the schema has no column with that path."""
        paths = self.columns(urn)
        if path not in paths:
            near = get_close_matches(path, paths, n=3)
            hint = f" Nearest: {', '.join(near)}" if near else ""
            raise NotFound(f"Field {path} does not exist in the datasets schema.{hint}")
        aspect = "editableSchemaMetadata"
        infos = self.read(urn, aspect).get("editableSchemaFieldInfo") or []
        if not any(info.get("fieldPath") == path for info in infos):
            infos = [*infos, {"fieldPath": path}]
        changed = [change(info) if info.get("fieldPath") == path else info for info in infos]
        self.write(urn, aspect, {"editableSchemaFieldInfo": changed})

    def change_list(
        self,
        urn: Urn,
        place: tuple[str, str],
        change: Callable[[Sequence[dict[str, Any]]], list[dict[str, Any]]],
        **beside: Any,
    ) -> None:
        """Change the list in one field of an aspect; `place` is the aspect and the field. The other
        keys, `beside`, are written only if the list changed."""
        aspect, field = place
        stored = self.read(urn, aspect).get(field) or []
        changed = change(stored)
        if changed != stored:
            self.write(urn, aspect, {field: changed, **beside})


def edit(
    change: Callable[[EditTransaction, Given], Any], argument: str | None = "input"
) -> Resolver:
    """Return the resolver of a mutation that returns the result of `change`, or true if that is
    None.

    `change` gets the value of the argument `argument`, or all arguments if that is None.
    """

    async def resolve(_root: Any, info: Info, **given: Any) -> Any:
        arguments = given[argument] if argument else given
        return await _run(info, lambda tx: change(tx, arguments), default=True)

    return resolve


def edit_giving_entity(
    change: Callable[[EditTransaction, Given], str], argument: str | None = "input"
) -> Resolver:
    """Return the same as `edit`, for a mutation that returns the entity whose URN is the result of
    `change`."""

    async def resolve(_root: Any, info: Info, **given: Any) -> Any:
        arguments = given[argument] if argument else given
        urn = await _run(info, lambda tx: change(tx, arguments), default=None)
        return info.context.node(urn)

    return resolve


def edit_of(
    change: Callable[[EditTransaction, Urn, Given], None],
    argument: str = "urn",
    gives: Callable[[Node], Any] | None = None,
) -> Resolver:
    """Return the resolver of a mutation that edits the entity whose URN is in `argument`.

    The mutation returns the result of `gives` for the entity. Without `gives` it returns the entity
    if `argument` is `urn`, else true.
    """

    async def resolve(_root: Any, info: Info, **given: Any) -> Any:
        text = given[argument]
        arguments = given.get("input", given)
        await _run(info, lambda tx: change(tx, tx.stored_entity(text), arguments), default=None)
        if gives is not None:
            return gives(info.context.node(text))
        return info.context.node(text) if argument == "urn" else True

    return resolve


async def _run(info: Info, job: Callable[[EditTransaction], Any], *, default: Any) -> Any:
    session = info.context
    catalog, actor, expected = session.catalog, session.actor, session.if_current

    def write(transaction: Transaction) -> Any:
        changed = expected.compare(transaction) if expected is not None else None
        tx = EditTransaction(transaction, catalog, actor, session.dialect, session.run)
        made = job(tx)
        if changed is not None and tx.has_written:
            raise changed
        return made

    made = await catalog.write(write)
    session.forget()
    return default if made is None else made
