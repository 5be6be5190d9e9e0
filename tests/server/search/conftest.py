"""The conformance suite of search. Tests that take `index` or `filled` name no engine and run over
each of `ENGINES`; an engine that is to be added has to pass them, see
`explorer.server.search`.

What the engine on tantivy alone has is tested by what opens a `SearchIndex` itself.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from explorer.metadata import Registry, Urn, load_registry
from explorer.query import Filter
from explorer.server.search import SearchEngine
from explorer.server.search.document import Document, build_document
from explorer.server.search.index import SearchIndex
from explorer.server.search.query import FoundPage, SearchQuery


@pytest.fixture(scope="session")
def registry() -> Registry:
    return load_registry()


ENGINES: dict[str, Callable[[Registry, Path], SearchEngine]] = {
    "memory": lambda registry, _: SearchIndex(None, registry),
    "disk": lambda registry, place: SearchIndex(place / "index", registry),
}


@pytest.fixture(params=ENGINES)
def index(
    request: pytest.FixtureRequest, registry: Registry, tmp_path: Path
) -> Iterator[SearchEngine]:
    index = ENGINES[request.param](registry, tmp_path)
    yield index
    index.close()


@pytest.fixture(scope="session")
def dataset(registry: Registry) -> Callable[..., Document]:
    """A dataset's document: its name in the URN, its aspects by name."""

    def make(
        name: str,
        *,
        platform: str = "hive",
        usage: float = 0.0,
        origin: str = "PROD",
        **aspects: Any,
    ) -> Document:
        document = build_document(registry, Urn.dataset(platform, name, origin), aspects)
        return replace(document, usage=usage)

    return make


@pytest.fixture(scope="session")
def entity(registry: Registry) -> Callable[..., Document]:
    """The document of an entity of any type."""

    def make(urn: str, **aspects: Any) -> Document:
        return build_document(registry, Urn.parse(urn), aspects)

    return make


@pytest.fixture
def filled(request: pytest.FixtureRequest, index: SearchEngine) -> Callable[..., SearchEngine]:
    """Fills an index, and flushes it where it is not in memory."""
    is_kept = "memory" not in request.node.callspec.params.values()

    def fill(*documents: Document) -> SearchEngine:
        index.apply(1, documents)
        if is_kept:
            index.flush()
        return index

    return fill


@pytest.fixture(scope="module", params=ENGINES)
def filled_once(
    request: pytest.FixtureRequest, registry: Registry, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., SearchEngine]]:
    """Fills an index that the tests of a module only read, as `filled` does."""
    with ExitStack() as held:

        def fill(*documents: Document) -> SearchEngine:
            index = ENGINES[request.param](registry, tmp_path_factory.mktemp("index"))
            held.callback(index.close)
            index.apply(1, documents)
            if request.param != "memory":
                index.flush()
            return index

        yield fill


@pytest.fixture
def search() -> Callable[..., FoundPage]:
    def ask(
        index: SearchEngine,
        text: str = "*",
        filter: Filter | None = None,
        *,
        types: tuple[str, ...] | None = None,
        start: int = 0,
        count: int = 100,
        **more: Any,
    ) -> FoundPage:
        query = SearchQuery(text, types, filter or Filter(), start, count, **more)
        return index.search(query)

    return ask


@pytest.fixture
def names(search: Callable[..., FoundPage]) -> Callable[..., list[str]]:
    """The names in the URNs of what matches everything that was searched for, in order."""

    def ask(*given: Any, **more: Any) -> list[str]:
        page = search(*given, **more)
        return [Urn.parse(hit.urn).name for hit in page.hits[: page.complete]]

    return ask
