"""The conformance suite of the store. Its tests name no engine and run over each of `ENGINES`.

What one engine alone has is tested in a folder of that engine's name.
"""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from explorer.server.store import Store
from explorer.server.store.sqlite import SqliteStore
from tests.postgres import Cluster

Open = Callable[[], Store]


def _sqlite(request: pytest.FixtureRequest) -> Open:
    place: Path = request.getfixturevalue("tmp_path")
    return lambda: SqliteStore(place / "catalog.db")


def _postgresql(request: pytest.FixtureRequest) -> Open:
    cluster: Cluster = request.getfixturevalue("postgres")
    from explorer.server.store.postgresql import PostgresStore

    # As if all that is inserted were many rows; few are in the tests of several services.
    monkeypatch: pytest.MonkeyPatch = request.getfixturevalue("monkeypatch")
    monkeypatch.setattr("explorer.server.store.postgresql.schema.COPY_FROM", 1)

    return partial(PostgresStore, cluster.new_schema())


ENGINES = {"sqlite": _sqlite, "postgresql": _postgresql}


@pytest.fixture(params=ENGINES)
def open_store(request: pytest.FixtureRequest) -> Iterator[Open]:
    """Opens the same catalog each time it is called."""
    open_one = ENGINES[request.param](request)
    opened: list[Store] = []

    def open_again() -> Store:
        opened.append(open_one())
        return opened[-1]

    yield open_again
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: Open) -> Store:
    return open_store()
