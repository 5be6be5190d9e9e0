"""What is in memory and what is on disk answer alike: for any documents, queries and pages."""

from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from explorer.errors import InvalidInput
from explorer.metadata import Registry, Urn
from explorer.query import Criterion, Filter
from explorer.query.filters import CONDITIONS
from explorer.server.search.document import Document
from explorer.server.search.index import SearchIndex
from explorer.server.search.query import FoundPage, SearchQuery

WORD = st.sampled_from(
    [
        "orders",
        "order",
        "fctUsers",
        "MySQL",
        "mysql",
        "a",
        "é",
        "日本",
        "x1",
        "PII",
        "ß",
        "very" * 5,
    ]
)
TEXT = st.one_of(
    st.lists(st.one_of(WORD, st.sampled_from([" ", "_", ".", " - ", ", ", ""])), max_size=5).map(
        "".join
    ),
    st.text(max_size=8),
)
WORDS = st.lists(WORD, min_size=1, max_size=3).map(" ".join)


def urns(kind: str) -> st.SearchStrategy[tuple[str, ...]]:
    return st.lists(WORD.map(lambda word: f"urn:li:{kind}:{word}"), max_size=2).map(tuple)


FIELDS: st.SearchStrategy[dict[str, tuple[Any, ...]]] = st.fixed_dictionaries(
    {},
    optional={
        "name": TEXT.map(lambda text: (text,)),
        "qualifiedName": WORDS.map(lambda text: (text,)),
        "description": st.lists(TEXT, max_size=2).map(tuple),
        "fieldPaths": st.lists(WORDS.map(lambda text: text.replace(" ", ".")), max_size=2).map(
            tuple
        ),
        "tags": urns("tag"),
        "fieldTags": urns("tag"),
        "platform": urns("dataPlatform"),
        "lastModifiedAt": st.lists(st.integers(0, 4).map(float), max_size=2).map(tuple),
        "deprecated": st.booleans().map(lambda value: (value,)),
        "hasDescription": st.booleans().map(lambda value: (value,)),
    },
)


@st.composite
def documents(draw: st.DrawFn) -> list[Document]:
    return [
        Document(
            urn=str(Urn.dataset("hive", f"{draw(WORD)}{at % 9}")),
            entity_type=draw(st.sampled_from(["dataset", "tag"])),
            name=draw(TEXT),
            removed=draw(st.booleans()) and draw(st.booleans()),
            fields=draw(FIELDS),
            usage=draw(st.sampled_from([0.0, 1.0, 9.0])),
        )
        for at in range(draw(st.integers(0, 9)))
    ]


FIELD = st.sampled_from(
    [
        "name",
        "qualifiedName",
        "description",
        "fieldPaths",
        "tags",
        "platform",
        "deprecated",
        "hasDescription",
        "urn",
        "_entityType",
        "removed",
    ]
)
NUMBERS = st.lists(st.integers(0, 4).map(str), min_size=2, max_size=2).map(tuple)
CRITERION = st.one_of(
    st.builds(
        Criterion,
        FIELD,
        st.lists(st.one_of(TEXT, WORD), min_size=2, max_size=2).map(tuple),
        st.sampled_from(CONDITIONS),
        st.booleans(),
    ),
    st.builds(
        Criterion, st.just("lastModifiedAt"), NUMBERS, st.sampled_from(CONDITIONS), st.booleans()
    ),
)
FILTER = st.lists(st.lists(CRITERION, min_size=1, max_size=2).map(tuple), max_size=2).map(
    lambda groups: Filter(tuple(groups))
)
TYPED = st.lists(
    st.one_of(
        WORD,
        WORD.map(lambda word: word[:2]),
        WORDS.map(lambda words: f'"{words}"'),
        WORD.map(lambda word: f"-{word}"),
        st.tuples(FIELD, WORD).map(":".join),
        st.tuples(FIELD, WORD).map(lambda one: f"{one[0]}:*{one[1][:3]}*"),
        st.tuples(FIELD, WORD, WORD).map(lambda one: f"{one[0]}:{one[1][:1]}*{one[2][-1:]}?*"),
        st.sampled_from(["OR", "(", ")", "NOT", "*", "->", "urn:li:tag:PII"]),
    ),
    max_size=4,
).map(" ".join)
QUERIES = st.lists(
    st.tuples(TYPED, FILTER, st.sampled_from([None, ("dataset",)])), min_size=1, max_size=5
)


def told(page: FoundPage) -> tuple[object, ...]:
    facets = {facet.name: dict(sorted(facet.counts.items())) for facet in page.facets}
    return page.total, page.hits, facets


def ask(index: SearchIndex, text: str, filter: Filter, types: tuple[str, ...] | None) -> object:
    def page(start: int, count: int) -> FoundPage:
        return index.search(SearchQuery(text, types, filter, start, count))

    try:
        whole = page(0, 50)
        parts = [hit for start in range(0, whole.total, 2) for hit in page(start, 2).hits]
        assert parts == list(whole.hits)
        return told(whole), index.autocomplete(text, types or (), filter, 0, 20)
    except InvalidInput as error:
        return str(error)


@given(documents(), documents(), st.integers(0, 3), QUERIES)
@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_both_layers_and_any_mixture_of_them_answer_alike(
    registry: Registry, first: list[Document], second: list[Document], gone: int, queries: list[Any]
) -> None:
    dropped = [document.urn for document in first[:gone]]
    now = {document.urn: document for document in first if document.urn not in dropped}
    now |= {document.urn: document for document in second if document.urn not in dropped}
    in_memory, mixed = SearchIndex(None, registry), SearchIndex(None, registry)
    try:
        in_memory.apply(1, now.values())
        mixed.apply(1, first)
        mixed.flush()
        mixed.apply(2, second, dropped)
        for query in queries:
            expected = ask(in_memory, *query)
            assert ask(mixed, *query) == expected
        mixed.flush()
        for query in queries:
            assert ask(mixed, *query) == ask(in_memory, *query)
    finally:
        in_memory.close()
        mixed.close()
