"""What follows from the truth: where entities are browsed, and what the search index holds."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import orjson

from explorer.metadata.registry import Registry
from explorer.metadata.urn import Urn
from explorer.server.paths import default_delimiter, placements
from explorer.server.search.document import Document, build_document, display_name
from explorer.server.search.index import SearchIndex
from explorer.server.store import Store, StoredAspect, Transaction

__all__ = ["Projection"]

_USAGE = "datasetUsageStatistics"
_QUERIES = "totalSqlQueries"
_AT_ONCE = 500
_log = logging.getLogger("explorer.server")

_Values = Mapping[str, Any]


class Projection:
    """Keeps the browse tree in the transaction that changes an entity, and the search index right
    after its commit. An index that failed gets the same documents again with the next commit."""

    def __init__(self, store: Store, index: SearchIndex, registry: Registry) -> None:
        self._store = store
        self._index = index
        self._registry = registry
        self._documents: list[Document] = []
        self._gone: set[str] = set()
        self._behind: set[str] = set()

    def prepare(self, transaction: Transaction) -> None:
        """Place what was touched; make the documents while the values are at hand."""
        self._documents, self._gone = [], set()
        used = {urn for urn, aspect in transaction.measured if aspect == _USAGE}
        for urn in sorted(transaction.touched | used | self._behind):
            parsed = Urn.parse(urn)
            values = _values(transaction.aspects(urn))
            if urn in transaction.touched:
                self._place(transaction, parsed, values)
                if parsed.entity_type == "dataPlatform":
                    self._settle_delimiter(transaction, parsed, values)
            if values and parsed.entity_type in self._registry.entities:
                point = transaction.latest_point(urn, _USAGE)
                self._documents.append(self._document(parsed, values, point))
            else:
                self._gone.add(urn)

    def publish(self, offset: int) -> None:
        """Hand the committed changes to the index."""
        documents, gone = self._documents, self._gone
        self._documents, self._gone = [], set()
        if not documents and not gone and not self._behind:
            return
        self._behind |= {document.urn for document in documents} | gone
        self._index.apply(offset, documents, gone)
        self._behind.clear()

    def catch_up(self) -> int:
        """Give the index what the change log has and it lacks; how many entities that were."""
        head, known = self._store.log_head(), self._index.committed_offset
        urns = self._store.changed_since(known) if known < head else []
        if len(urns) > _AT_ONCE:
            _log.warning("the search index is made for %d entities", len(urns))
        for begin in range(0, len(urns), _AT_ONCE):
            chunk = urns[begin : begin + _AT_ONCE]
            last = begin + _AT_ONCE >= len(urns)
            stored = self._store.aspects(chunk)
            documents = [
                self._document(Urn.parse(urn), _values(aspects), self._latest_usage(urn))
                for urn, aspects in stored.items()
                if Urn.parse(urn).entity_type in self._registry.entities
            ]
            gone = set(chunk) - {document.urn for document in documents}
            # Only the last part may say that all of the log is in.
            self._index.apply(head if last else known, documents, gone)
        return len(urns)

    def _document(self, urn: Urn, values: _Values, usage: bytes | None) -> Document:
        document = build_document(self._registry, urn, values)
        queries = orjson.loads(usage).get(_QUERIES) if usage else None
        return replace(document, usage=float(queries)) if queries else document

    def _latest_usage(self, urn: str) -> bytes | None:
        for value, _ in self._store.points(urn, _USAGE, limit=1):
            return value
        return None

    def _place(self, transaction: Transaction, urn: Urn, values: _Values) -> None:
        removed = values.get("status", {}).get("removed") is True
        if not values or removed:
            transaction.place(str(urn), urn.entity_type, "", ())
            return
        name = display_name(urn, values)
        stored = values.get("browsePaths", {}).get("paths")
        delimiter = _delimiter(transaction, urn.platform)
        places = placements(urn, name, stored, delimiter)
        transaction.place(str(urn), urn.entity_type, name, places)

    def _settle_delimiter(self, transaction: Transaction, platform: Urn, values: _Values) -> None:
        """When a platform separates names otherwise than before, its datasets move."""
        said = values.get("dataPlatformInfo", {}).get("datasetNameDelimiter")
        delimiter = said or default_delimiter(platform.name)
        if delimiter == _delimiter(transaction, platform.name):
            return
        transaction.set_note(_delimiter_note(platform.name), delimiter)
        for urn in transaction.urns_starting_with(f"urn:li:dataset:({platform},"):
            self._place(transaction, Urn.parse(urn), _values(transaction.aspects(urn)))


def _values(aspects: Iterable[StoredAspect]) -> dict[str, Any]:
    return {aspect.name: orjson.loads(aspect.value) for aspect in aspects}


def _delimiter_note(platform: str) -> str:
    return f"delimiter.{platform}"


def _delimiter(transaction: Transaction, platform: str | None) -> str:
    noted = transaction.note(_delimiter_note(platform)) if platform else None
    return noted or default_delimiter(platform)
