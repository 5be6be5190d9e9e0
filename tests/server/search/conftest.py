from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from explorer.metadata import Registry, Urn, load_registry
from explorer.query import Filter
from explorer.server.search.document import Document, build_document
from explorer.server.search.index import SearchIndex
from explorer.server.search.query import FoundPage, SearchQuery


@pytest.fixture(scope="session")
def registry() -> Registry:
    return load_registry()


@pytest.fixture
def index(registry: Registry) -> Iterator[SearchIndex]:
    index = SearchIndex(None, registry)
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


@pytest.fixture(params=["in memory", "on disk"])
def filled(request: pytest.FixtureRequest, index: SearchIndex) -> Callable[..., SearchIndex]:
    """An index with documents: once while they are in memory, once when they are on disk."""

    def fill(*documents: Document) -> SearchIndex:
        index.apply(1, documents)
        if request.param == "on disk":
            index.flush()
        return index

    return fill


@pytest.fixture
def search() -> Callable[..., FoundPage]:
    def ask(
        index: SearchIndex,
        text: str = "*",
        narrowed_by: Filter | None = None,
        *,
        types: tuple[str, ...] | None = None,
        start: int = 0,
        count: int = 100,
        **more: Any,
    ) -> FoundPage:
        query = SearchQuery(text, types, narrowed_by or Filter(), start, count, **more)
        return index.search(query)

    return ask


@pytest.fixture
def names(search: Callable[..., FoundPage]) -> Callable[..., list[str]]:
    """The names in the URNs that a search finds, in order."""

    def ask(*given: Any, **more: Any) -> list[str]:
        return [Urn.parse(hit.urn).name for hit in search(*given, **more).hits]

    return ask
