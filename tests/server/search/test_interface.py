"""What the catalog relies on in an engine, whichever it is."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from explorer.errors import Busy, InvalidInput, UnknownName
from explorer.metadata import Registry
from explorer.query import Criterion, Filter
from explorer.server.search import SearchEngine
from explorer.server.search.document import Document, FolderQuery
from explorer.server.search.index import SearchIndex
from explorer.server.search.query import FoundPage, SearchQuery, SortBy

Make = Callable[..., Document]
Names = Callable[..., list[str]]
Search = Callable[..., FoundPage]


def test_what_was_applied_is_found_at_once_and_nothing_of_what_it_replaced(
    index: SearchEngine, dataset: Make, names: Names
) -> None:
    for at in range(1, 9):
        properties = {"name": f"word{at}", "description": f"text{at}"}
        index.apply(at, [dataset("a", datasetProperties=properties), dataset(f"b{at}")])
        assert names(index, f"word{at}") == names(index, f"text{at}") == ["a"]
        assert names(index, f"word{at - 1}") == names(index, f"text{at - 1}") == []
        if at % 3 == 0:
            index.flush()
    assert index.total() == 9
    index.apply(9, (), [dataset("a").urn, "urn:li:tag:never-was"])
    assert names(index, "word8") == []
    assert index.total() == index.total(("dataset",)) == 8
    assert index.total(("tag",)) == 0


def test_the_offset_is_that_of_what_would_be_there_after_a_crash(
    index: SearchEngine, dataset: Make
) -> None:
    assert index.committed_offset == 0
    index.apply(3, [dataset("a")])
    index.apply(5, [dataset("b")])
    index.flush()
    assert index.committed_offset == 5
    index.apply(0, [dataset("c")])
    index.flush()
    assert index.committed_offset == 5
    index.apply(7, ())
    index.flush()
    assert index.committed_offset == 7


def test_what_is_held_is_what_was_given(index: SearchEngine, dataset: Make) -> None:
    one = dataset("a", datasetProperties={"name": "N", "description": "D"}, usage=3.0)
    other = dataset("a", datasetProperties={"name": "N", "description": "E"}, usage=3.0)
    index.apply(1, [one, dataset("b", status={"removed": True})])
    for _ in range(2):
        assert index.has_document(one)
        assert not index.has_document(other)
        held = index.document(one.urn)
        assert held is not None
        assert (held.name, held.usage) == ("N", 3.0)
        assert index.document(dataset("z").urn) is None
        assert sorted(index.urns()) == [one.urn, dataset("b").urn]
        index.flush()


def test_a_suspended_engine_says_why_and_a_renewed_one_is_empty(
    index: SearchEngine, dataset: Make, names: Names
) -> None:
    index.apply(1, [dataset("a")])
    index.flush()
    index.suspend("because of the weather")
    asked: list[Callable[[], object]] = [
        lambda: names(index, "a"),
        lambda: index.document(dataset("a").urn),
        lambda: index.autocomplete("a", (), Filter(), 0, 5),
        index.total,
        lambda: list(index.urns()),
        lambda: index.find_urns(SearchQuery("*", None, Filter(), 0, 0)),
        lambda: index.urns_with("name"),
        lambda: index.folders(FolderQuery(None, (), "*", Filter())),
        lambda: index.has_document(dataset("a")),
    ]
    for ask in asked:
        with pytest.raises(Busy, match="weather") as raised:
            ask()
        assert raised.value.retry_after_seconds
    index.resume()
    assert names(index, "a") == ["a"]
    index.renew()
    assert index.is_suspended
    assert index.committed_offset == 0
    index.apply(1, [dataset("b")])
    index.resume()
    assert names(index, "*") == ["b"]
    assert index.find_damage() == []
    index.verify()
    assert not index.is_suspended


def test_who_asks_may_be_refused_before_anything_is_read(
    index: SearchEngine, dataset: Make, names: Names
) -> None:
    index.apply(1, [dataset("a")])

    def refuse() -> None:
        raise Busy("too old", retry_after_seconds=1)

    index.before_read = refuse
    with pytest.raises(Busy, match="too old"):
        names(index, "a")
    with pytest.raises(Busy, match="too old"):
        index.total()
    # Whoever writes is not asked.
    index.apply(2, [dataset("b")])
    index.before_read = lambda: None
    assert names(index, "*") == ["a", "b"]


def test_urns_are_found_by_search_by_field_and_by_name(
    filled: Callable[..., SearchEngine], dataset: Make, entity: Make
) -> None:
    pii = {"tags": [{"tag": "urn:li:tag:pii"}]}
    index = filled(
        dataset("a", globalTags=pii),
        dataset("b", globalTags=pii, status={"removed": True}),
        dataset("c"),
        entity("urn:li:tag:pii", tagProperties={"name": "Personal"}),
    )
    tagged = Filter(((Criterion("tags", ("urn:li:tag:pii",)),),))
    assert index.find_urns(SearchQuery("*", None, tagged, 0, 0)) == {dataset("a").urn}
    assert index.urns_with("tags") == {dataset("a").urn, dataset("b").urn}
    assert index.names(("tag",), "equal", "personal") == ("urn:li:tag:pii",)
    assert index.names(("domain",), "equal", "personal") == ()


def test_pages_meet_everything_once_while_others_write(
    filled: Callable[..., SearchEngine], dataset: Make, search: Search
) -> None:
    index = filled(*(dataset(f"t{n:02}") for n in range(25)))
    met: list[str] = []
    after: str | None = None
    for turn in range(100):
        page = search(index, sort=(SortBy("urn"),), count=4, after=after)
        met += [hit.urn for hit in page.hits]
        if len(page.hits) < 4:
            break
        after = page.last
        index.apply(2 + turn, [dataset(f"t{turn:02}", datasetProperties={"description": "new"})])
        index.apply(2 + turn, [dataset(f"a{turn}")])
    assert met == [dataset(f"t{n:02}").urn for n in range(25)]


def test_pages_by_position_end_at_ten_thousand_and_scrolling_does_not(
    registry: Registry, tmp_path: Path
) -> None:
    count = 10_300
    urns = [f"urn:li:tag:t{at:05}" for at in range(count)]
    with closing(SearchIndex(tmp_path, registry)) as index:
        index.apply(count, [Document(urn, "tag", "t", removed=False, fields={}) for urn in urns])
        index.flush()
        index.apply(count + 1, [Document(urns[1], "tag", "changed", removed=False, fields={})])
        first = SearchQuery("*", None, Filter(), 0, 3_000, sort=(SortBy("urn"),))
        page = index.search(first)
        scrolled = [hit.urn for hit in page.hits]
        while page.hits:
            page = index.search(replace(first, after=page.last))
            scrolled += [hit.urn for hit in page.hits]
        assert scrolled == urns
        for sort in ((), first.sort):
            last = SearchQuery("*", None, Filter(), 9_990, 10, sort=sort)
            assert [hit.urn for hit in index.search(last).hits] == urns[9_990:10_000]
            assert index.search(last).total == count
            for beyond in (replace(last, start=9_991), replace(last, start=10**9, count=1)):
                with pytest.raises(InvalidInput, match="scrollAcrossEntities"):
                    index.search(beyond)


def test_what_cannot_be_asked_is_refused_with_the_reason(
    index: SearchEngine, search: Search
) -> None:
    with pytest.raises(UnknownName):
        search(index, types=("nonsense",))
    with pytest.raises(UnknownName):
        search(index, "*", Filter(((Criterion("nonsense", ("x",)),),)))
    with pytest.raises(InvalidInput):
        search(index, sort=(SortBy("urn"),), after="\0nonsense")
    # Never a text that people typed.
    for text in ('"', "((", "a:", "NOT", "\0", "*" * 50, "-"):
        search(index, text)
