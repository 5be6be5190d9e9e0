"""Readers share connections, and none of them sees what another has read."""

from pathlib import Path
from typing import Any

import pytest

from explorer.server.store import StoredAspect
from explorer.server.store.sqlite import SqliteStore
from tests.server.store.examples import INFO, append, dataset, do, document, write

URN = dataset("one")


def test_who_stops_reading_early_leaves_no_old_moment_to_the_next_reader(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqliteStore(tmp_path / "catalog.db")
    append(store, *(document(URN, n) for n in (30, 10, 50)))
    readers, seen = store._readers, list[StoredAspect | None]()

    def put_back(connection: Any) -> None:
        """Have somebody read with the connection as soon as it is free."""
        monkeypatch.undo()
        readers.put(connection)
        do(store, lambda tx: tx.put(write(URN, "new")))
        seen.append(store.aspect(URN, INFO))

    monkeypatch.setattr(readers, "put", put_back)
    documents: Any = store.documents(URN)
    next(documents)
    documents.close()
    assert [one is not None for one in seen] == [True]
    store.close()
