"""Edits by people: each reads, changes and writes within one job of the writer, so that two at
once never lose one another's."""

import time
from collections.abc import Callable
from difflib import get_close_matches
from typing import Any

import orjson

from explorer.errors import InvalidInput, NotFound
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from explorer.server.catalog import Catalog
from explorer.server.store import Transaction

__all__ = ["Edits"]

_Aspect = dict[str, Any]
_USER_TYPES = ("corpuser", "corpGroup")


class Edits:
    """What GraphQL's mutations do. Every edit raises `NotFound` for an entity that does not
    exist, and then changes nothing."""

    def __init__(self, catalog: Catalog, actor: str) -> None:
        self._catalog = catalog
        self._actor = actor

    async def update_dataset(
        self, urn: Urn, description: str | None, links: list[dict[str, Any]] | None
    ) -> None:
        """Set a dataset's edited description, its links, or both; None leaves one as it is."""
        if urn.entity_type != "dataset":
            raise InvalidInput(f"{urn} is no dataset")
        elements = None if links is None else [self._link(link) for link in links]

        def job(transaction: Transaction) -> None:
            self._require(transaction, urn)
            if description is not None:
                self._write(
                    transaction, urn, "editableDatasetProperties", {"description": description}
                )
            if elements is not None:
                self._write(transaction, urn, "institutionalMemory", {"elements": elements})

        await self._catalog.write(job)

    async def update_description(self, urn: Urn, description: str, field_path: str | None) -> None:
        """Set the edited description of a dataset's column or of a container."""
        if urn.entity_type == "dataset" and field_path is not None:
            path = field_path
            await self._catalog.write(lambda tx: self._describe_column(tx, urn, path, description))
        elif urn.entity_type == "container" and field_path is None:
            await self._catalog.write(lambda tx: self._describe_container(tx, urn, description))
        elif urn.entity_type == "dataset":
            raise InvalidInput(
                "Update description without subresource is not currently supported; "
                "name a column with subResource, or use updateDataset"
            )
        else:
            raise InvalidInput(
                f"updateDescription takes a column of a dataset or a container, not {urn}"
            )

    async def add_link(self, urn: Urn, url: str, label: str) -> None:
        """Add one link; another to the same address gives way to it."""

        def change(elements: list[_Aspect]) -> list[_Aspect]:
            kept = [element for element in elements if element["url"] != url]
            return [*kept, {"url": url, "description": label, "createStamp": self._stamp()}]

        await self._change_links(urn, change)

    async def remove_link(self, urn: Urn, url: str) -> None:
        """Remove the links to one address."""

        def change(elements: list[_Aspect]) -> list[_Aspect]:
            kept = [element for element in elements if element["url"] != url]
            if len(kept) == len(elements):
                raise NotFound(f"{urn} has no link to {url}")
            return kept

        await self._change_links(urn, change)

    async def _change_links(
        self, urn: Urn, change: Callable[[list[_Aspect]], list[_Aspect]]
    ) -> None:
        def job(transaction: Transaction) -> None:
            self._require(transaction, urn)
            stored = self._stored(transaction, urn, "institutionalMemory")
            elements = change(stored.get("elements", []))
            self._write(transaction, urn, "institutionalMemory", {"elements": elements})

        await self._catalog.write(job)

    def _describe_column(
        self, transaction: Transaction, urn: Urn, path: str, description: str
    ) -> None:
        self._require(transaction, urn)
        schema = self._stored(transaction, urn, "schemaMetadata")
        paths = [field["fieldPath"] for field in schema.get("fields", [])]
        if path not in paths:
            near = get_close_matches(path, paths, n=3)
            hint = f" Nearest: {', '.join(near)}" if near else ""
            raise NotFound(f"Field {path} does not exist in the datasets schema.{hint}")
        edited = self._stored(transaction, urn, "editableSchemaMetadata")
        infos = [dict(info) for info in edited.get("editableSchemaFieldInfo", [])]
        mine = [info for info in infos if info["fieldPath"] == path]
        if not mine:
            mine = [{"fieldPath": path}]
            infos += mine
        for info in mine:
            info["description"] = description
        self._write(transaction, urn, "editableSchemaMetadata", {"editableSchemaFieldInfo": infos})

    def _describe_container(self, transaction: Transaction, urn: Urn, description: str) -> None:
        self._require(transaction, urn)
        self._write(transaction, urn, "editableContainerProperties", {"description": description})

    def _require(self, transaction: Transaction, urn: Urn) -> None:
        if not transaction.exists(str(urn)):
            raise NotFound(f"{urn} does not exist.")

    def _stored(self, transaction: Transaction, urn: Urn, aspect: str) -> _Aspect:
        stored = transaction.latest(str(urn), aspect)
        value: _Aspect = orjson.loads(stored.value) if stored else {}
        return value

    def _write(self, transaction: Transaction, urn: Urn, aspect: str, part: dict[str, Any]) -> None:
        """Write an aspect with a part of it changed; nothing, when nothing changes by that."""
        stored = self._stored(transaction, urn, aspect)
        if stored and all(stored.get(key) == value for key, value in part.items()):
            return
        value = stored | part
        record = self._catalog.registry.aspect(aspect).record
        if "lastModified" in self._catalog.registry.records[record].fields:
            stamp = self._stamp()
            value = {"created": stamp, **value, "lastModified": stamp}
        intake = self._catalog.intake
        change = intake.check(Proposal(urn, aspect, value, actor=self._actor))
        intake.apply(transaction, change, _now_millis())

    def _link(self, given: dict[str, Any]) -> dict[str, Any]:
        author = Urn.parse(given["author"])
        if author.entity_type not in _USER_TYPES:
            raise InvalidInput(f"the author of a link is a user, not {author}")
        created = given.get("createdAt")
        return {
            "url": given["url"],
            "description": given.get("description") or "",
            "createStamp": {
                "time": _now_millis() if created is None else created,
                "actor": str(author),
            },
        }

    def _stamp(self) -> dict[str, Any]:
        return {"time": _now_millis(), "actor": self._actor}


def _now_millis() -> int:
    return time.time_ns() // 1_000_000
