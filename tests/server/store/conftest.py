"""The conformance suite of the store. Its tests name no engine and run over each of `ENGINES`.

What one engine alone has is tested in a folder of that engine's name.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from explorer.server.store import Store
from explorer.server.store.sqlite import SqliteStore

Open = Callable[[], Store]

ENGINES: dict[str, Callable[[Path], Store]] = {
    "sqlite": lambda place: SqliteStore(place / "catalog.db"),
}


@pytest.fixture(params=ENGINES)
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """Opens the same catalog each time it is called."""
    opened: list[Store] = []

    def open_again() -> Store:
        opened.append(ENGINES[request.param](tmp_path))
        return opened[-1]

    yield open_again
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store: Open) -> Store:
    return open_store()
