"""Filters as text: whatever the filter, its text is read back as the same."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.metadata.registry import load_registry
from explorer.query import FilterSyntax, read_filter, write_filter
from explorer.query.filters import Criterion, Filter

REGISTRY = load_registry()
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
PII, FINANCE = "urn:li:tag:PII", "urn:li:tag:Finance"
JDOE = ("urn:li:corpGroup:jdoe", "urn:li:corpuser:jdoe")


def read(text: Any) -> Any:
    return read_filter(text, REGISTRY)


NASTY = [
    "", " ", "a b", "a/", "/", "a/*", "AND", "or",
    "Not", "TO", "*", "a*", "*a*", "a..b", "..", ".", "a.", "(",
    ")", "a,b", '"', "'", "\\", 'a"b', "it's", "'x'", "=x", ">1", "!x", "~", "-x", "[",
    "[1 TO 2]", "[a]b", "x]", "PII", PII, ORDERS, ORDERS + "x", ORDERS[:-1], "urn:li:tag:",
    "urn:li:tag:a b", "li:tag:x", "urn:li:", *JDOE, "urn:li:corpuser:(",
    "urn:li:dataPlatform:hive", "dataset", "DATASET", "type", "true", "TRUE", "yes", "0",
    "1000", "-5", "1e3", "1_000", "nan", "2026", "20260101", "2026-01-01",
    "2026-01-01T10:00:00Z", "1767225600000", "1767311999999", "1767232800123", "01767225600000",
    "-62135596800000", "253402300799999", "999999999999999999", "\n", "\t", "\x00", "\x1b[2J",
    "\u202e", "\u200b", "\ud800", "👩‍🌾", "日本", "e\u0301", "\u00a0", "\\u{41}",
]  # fmt: skip
FIELDS = [
    "name", "tags", "domains", "container", "owners", "platform",
    "upstreams", "glossaryTerms", "rowCount", "createdAt",
    "lastModified", "removed", "hasOwners", "_entityType", "type", "entity", "urn",
    "fieldPaths", "platform.keyword", "tag", "rows", "Tags", "NOT", "and", "in", "IS", "a b",
    'x"y', "*", "urn:li:x", "-a", "日本", "entityType", "\n",
]  # fmt: skip
VALUES = st.sampled_from(NASTY) | st.text(max_size=8)
MANY = st.lists(VALUES, min_size=1, max_size=4).map(tuple)
CONDITIONS = st.sampled_from([
    "CONTAIN", "END_WITH", "EQUAL", "GREATER_THAN", "GREATER_THAN_OR_EQUAL_TO", "LESS_THAN",
    "LESS_THAN_OR_EQUAL_TO", "START_WITH", "IN", "IEQUAL", "DESCENDANTS_INCL",
])  # fmt: skip
NAMES = st.sampled_from(FIELDS) | st.text(min_size=1, max_size=5)
CRITERIA = (
    st.builds(Criterion, NAMES, MANY, CONDITIONS, st.booleans())
    | st.builds(
        Criterion, NAMES, st.just(JDOE) | st.just((PII, FINANCE)), CONDITIONS, st.booleans()
    )
    | st.builds(Criterion, NAMES, st.tuples(VALUES, VALUES), st.just("BETWEEN"), st.booleans())
    | st.builds(
        Criterion, NAMES, st.just(()), st.sampled_from(["EXISTS", "IS_NULL"]), st.booleans()
    )
)
FILTERS = st.lists(st.lists(CRITERIA, min_size=1, max_size=3).map(tuple), max_size=3).map(
    lambda groups: Filter(tuple(groups))
)


@settings(deadline=None)
@given(FILTERS)
def test_every_filter_is_read_back_from_its_text(filter: Any) -> None:
    text = write_filter(filter, REGISTRY)
    assert read(text) == filter
    assert read_filter(text, REGISTRY, strict=False) == filter
    assert text.replace("\u200c", "").replace("\u200d", "").isprintable()


@settings(deadline=None)
@given(FILTERS)
def test_a_filter_written_without_a_registry_means_the_same_under_one(filter: Any) -> None:
    assert read(write_filter(filter)) == filter


WORDS = st.sampled_from([
    "name", "tags:", "PII", "AND", "or", "NOT", "(", ")", ",", '"', "'", "*", "/*", "domain:", "..",
    "[", "]",
    " TO ", "-", ">", "=~", " ", "IS NULL", " IN (", "\\", "urn:li:dataset:(", "日",
    "created>=", "2026-01-01", "rows:", "10",
])  # fmt: skip
TYPED = st.lists(WORDS, max_size=12).map("".join) | st.text(max_size=20)


def outcome(text: Any) -> Any:
    try:
        return read(text), None
    except FilterSyntax as error:
        return Filter(), error


@settings(deadline=None)
@given(TYPED)
def test_any_text_is_read_or_refused_with_a_place_in_it(text: Any) -> None:
    filter, error = outcome(text)
    if error is not None:
        assert 0 <= error.position <= len(text)
        assert len(error.pointer().split("\n")) == 2
        return
    written = write_filter(filter, REGISTRY)
    assert read(written) == filter
    assert write_filter(read(written), REGISTRY) == written
