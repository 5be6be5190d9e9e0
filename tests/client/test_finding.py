"""What is found, by every form of the client: the same things, in the same order."""

import time
from typing import Any

import pytest

from explorer.client import Catalog
from explorer.client.folders import TypesSource
from explorer.client.records import Folder, Match, Named
from explorer.errors import InvalidInput, NotFound, UnknownName
from explorer.metadata import Proposal, Urn
from explorer.query import Criterion, all_of
from tests.client.conftest import Site

TAGS = [Urn.of("tag", f"finding{at:03}") for at in range(230)]
DATASETS = [Urn.dataset("hive", f"shelf.book{at:03}") for at in range(120)]
CHART = Urn.of("chart", "looker", "finding.margins")
HIDDEN = Urn.of("tag", "finding.hidden")
NAMED_FINDING = all_of(Criterion("name", ("finding",), "START_WITH"))


@pytest.fixture(scope="module", autouse=True)
def _shelves(site: Site) -> None:
    proposals = [
        Proposal(urn, "tagProperties", {"name": urn.name, "description": "findable"})
        for urn in (*TAGS, HIDDEN)
    ]
    proposals.append(Proposal(HIDDEN, "status", {"removed": True}))
    for at, urn in enumerate(DATASETS):
        tags = {"tags": [{"tag": str(TAGS[0])}]} if at % 4 == 0 else {"tags": []}
        proposals += [
            Proposal(
                urn, "datasetProperties", {"name": f"Book {at:03}", "description": "a volume"}
            ),
            Proposal(urn, "browsePaths", {"paths": [f"/library/shelf/book{at:03}"]}),
            Proposal(urn, "globalTags", tags),
        ]
    for below in ("attic", "cellar"):
        urn = Urn.dataset("hive", f"{below}.box")
        proposals.append(
            Proposal(urn, "browsePaths", {"paths": [f"/library/shelf/{below}/{below}.box"]})
        )
    stamp = {"time": 0, "actor": "urn:li:corpuser:jdoe"}
    chart = {
        "title": "finding margins",
        "description": "",
        "lastModified": {"created": stamp, "lastModified": stamp},
    }
    proposals.append(Proposal(CHART, "chartInfo", chart))
    with Catalog(site.address) as catalog:
        report = catalog.ingest_batch(proposals)
    assert not report.refused


def test_a_page_says_where_it_lies_in_the_whole(client: Any) -> None:
    page = client.search("findable", entity="tag", start=10, count=20)
    assert (page.start, page.total, len(page)) == (10, len(TAGS), 20)
    assert page.truncated
    assert page.end == 30
    assert page.as_of is None
    last = client.search("findable", entity="tag", start=220, count=20)
    assert (len(last), last.truncated) == (10, False)


def test_the_pages_of_a_search_hold_everything_once(client: Any) -> None:
    found: list[Urn] = []
    while page := client.search("findable", entity="tag", start=len(found), count=75).hits:
        found += [hit.urn for hit in page]
    assert len(found) == len(TAGS)
    assert set(found) == set(TAGS)


def test_a_hit_says_what_it_matched(client: Any) -> None:
    (hit,) = client.search("finding007", entity="tag")
    assert hit.urn == TAGS[7]
    assert Match("name", "finding007") in hit.matches


def test_a_hit_says_why_it_is_where_it_is(client: Any) -> None:
    (hit,) = client.search("finding007", entity="tag").hits
    assert hit.reason == "a name is what was typed"
    assert hit.score > 10
    assert {match.field: match.weight for match in hit.matches} == {"id": 10, "name": 10}
    below = client.search("findable", entity="tag", count=1).hits[0]
    assert below.reason == "every word typed is a word of fields of weight 1 or more"
    assert below.score < hit.score
    assert [(match.field, match.weight) for match in below.matches] == [("description", 1)]
    # Nothing was searched for, so nothing ranks it.
    assert client.search("*", entity="tag", count=1).hits[0].reason == ""


def test_several_types_are_searched_at_once(client: Any) -> None:
    both = client.search("finding*", entity=["tag", "chart"], count=1)
    assert both.total == len(TAGS) + 1
    one = client.search("finding*", entity=["chart"], count=1)
    assert (one.total, one.hits[0].urn) == (1, CHART)
    anything = client.search("finding*", count=1)
    assert anything.total >= both.total


def test_a_type_may_be_given_in_words(client: Any) -> None:
    tags = client.search("findable", entity="tag")
    assert client.search("findable", entity="Tags").total == tags.total == len(TAGS)
    both = client.search("finding", entity=["tags", "charts"])
    assert both.total == client.search("finding", entity=["tag", "chart"]).total > 0
    assert set(client.urns("charts")) == set(client.urns("chart"))
    hits = client.hits("findable", entity="tags", limit=3)
    assert [hit.urn for hit in hits] == [hit.urn for hit in tags][:3]
    with pytest.raises(InvalidInput, match="no entity named 'shelves'"):
        client.search("findable", entity="shelves")


def test_a_filter_narrows_as_a_record_and_as_text(client: Any) -> None:
    tagged = all_of(Criterion("tags", (str(TAGS[0]),)))
    assert client.search("volume", entity="dataset", filter=tagged).total == 30
    assert client.search("volume", entity="dataset", filter="tags:finding000").total == 30
    with pytest.raises(InvalidInput):
        client.search(filter="tags:(")


def test_conditions_in_the_text_are_part_of_the_filter(client: Any) -> None:
    text = "volume tags:(finding000, finding001)"
    assert client.search(text, entity="dataset").total == 30
    assert client.search("removed:true type:tag findable").hits[0].urn == HIDDEN
    assert len(list(client.hits(text, entity="dataset"))) == 30
    both = client.search(text, entity="dataset", filter="name:'Book 004'")
    assert [hit.urn for hit in both] == [DATASETS[4]]
    assert both.text == text


def test_a_search_for_a_urn_finds_what_refers_to_it(client: Any) -> None:
    assert client.search(str(TAGS[0]), entity="dataset").total == 30
    assert client.search(f"volume {TAGS[0]}", entity="dataset").total == 30


def test_a_text_with_a_colon_that_is_no_condition_is_searched_for(client: Any) -> None:
    assert client.search("nofield:finding007", entity="tag").text == "nofield:finding007"
    assert client.search('"finding007"', entity="tag").total == 1


def test_columns_with_texts_of_their_own_are_no_type_beside_their_tables(site: Site) -> None:
    stamp = {"time": 0, "actor": "urn:li:corpuser:jdoe"}
    text = {"documentations": [{"documentation": "The key.", "attribution": {**stamp}}]}
    with Catalog(site.address) as catalog:
        column = Urn.of("schemaField", str(DATASETS[0]), "id")
        catalog.put(column, "documentation", text)
        assert catalog.counts()["schemaField"] == 1
        page = catalog.wait(TypesSource().read(catalog.core, 0, 50))
        catalog.delete(column)
    names = [entry.name for entry in page.entries]
    assert "datasets" in names
    assert "columns" not in names


def test_a_result_is_sorted_as_asked(client: Any) -> None:
    def first(order: Any) -> Any:
        page = client.search("volume", entity="dataset", sort=order, count=2)
        return [hit.urn for hit in page]

    assert first("name") == DATASETS[:2]
    assert first("-name") == DATASETS[:-3:-1]


def test_facets_count_over_the_whole_result(client: Any) -> None:
    facets = {facet.name: facet for facet in client.facets("volume", entity="dataset")}
    counted = {value.value: value.count for value in facets["tags"].values}
    assert counted == {str(TAGS[0]): 30}
    (tags,) = client.facets("volume", names=["tags", "no such facet"])
    assert tags == facets["tags"]
    assert (tags.name, tags.label) == ("tags", "Tagged With")


def test_a_folder_is_browsed_a_page_at_a_time(client: Any) -> None:
    page = client.browse("/library/shelf", count=10)
    assert [folder.name for folder in page.folders] == ["attic", "cellar"]
    assert (page.direct_count, page.total, page.entry_count, len(page)) == (120, 122, 122, 10)
    assert page.truncated
    last = client.browse("/library/shelf", start=120, count=10)
    assert (len(last), last.truncated, list(last)[-1].urn) == (2, False, DATASETS[-1])
    nowhere = client.browse("/no/such/path")
    assert (len(nowhere), nowhere.truncated) == (0, False)


def test_every_page_of_a_folder_comes(client: Any) -> None:
    folder = client.folder("/library/shelf", page_size=50)
    entries = list(folder)
    assert [entry.name for entry in entries if isinstance(entry, Folder)] == ["attic", "cellar"]
    assert [entry.urn for entry in entries if isinstance(entry, Named)] == DATASETS
    assert (folder.total, folder.returned_count, folder.truncated, folder.why) == (
        122,
        122,
        False,
        None,
    )


def test_an_entity_says_where_it_is_browsed(client: Any) -> None:
    assert client.browse_paths(DATASETS[3]) == ("/library/shelf/book003",)
    assert client.browse_paths("urn:li:dataset:(urn:li:dataPlatform:hive,nowhere,PROD)") == ()


def test_names_are_completed(client: Any) -> None:
    assert client.autocomplete("finding00", entity="tag", limit=4) == tuple(
        urn.name for urn in TAGS[:4]
    )
    assert client.autocomplete("zyxw", entity="tag") == ()


def test_names_of_all_types_are_suggested_with_what_is_called_so(client: Any) -> None:
    found = client.suggest("finding", limit=6)
    assert len(found) == 6
    assert {one.entity_type for one in found} == {"tag", "chart"}
    chart = next(one for one in found if one.entity_type == "chart")
    assert (chart.text, chart.urn, chart.platform) == ("finding margins", CHART, "looker")
    tag = next(one for one in found if one.entity_type == "tag")
    assert (tag.urn.name, tag.platform) == (tag.text, None)


def test_suggestions_may_be_of_some_types_only(client: Any) -> None:
    (book,) = client.suggest("book 007", entities=["dataset", "tag"])
    assert (book.text, book.urn, book.platform) == ("Book 007", DATASETS[7], "hive")


def test_entities_are_counted_by_type(client: Any) -> None:
    named = client.counts(["chart", "mlModel"])
    assert named["chart"] >= 1
    assert named["mlModel"] == 0
    every = client.counts()
    assert every["tag"] >= len(TAGS)
    assert "mlModel" not in every
    assert list(every.values()) == sorted(every.values(), reverse=True)


def test_everything_found_comes_one_after_another(client: Any) -> None:
    hits = client.hits(entity="tag", filter=NAMED_FINDING, page_size=50)
    assert {hit.urn for hit in hits} == set(TAGS)
    assert (hits.total, hits.returned_count, hits.truncated, hits.shifted) == (
        230,
        230,
        False,
        False,
    )
    assert hits.why is None


def test_a_text_is_answered_best_first_to_the_end(client: Any) -> None:
    pages = [client.search("finding*", count=100, start=start) for start in (0, 100, 200)]
    assert [hit.urn for hit in client.hits("finding*", page_size=64)] == [
        hit.urn for page in pages for hit in page
    ]


def test_what_is_found_may_be_sorted_to_the_end(client: Any) -> None:
    hits = client.hits(entity="tag", filter=NAMED_FINDING, sort="-name", page_size=100, limit=110)
    assert [hit.urn for hit in hits] == TAGS[:119:-1]
    assert (hits.returned_count, hits.truncated) == (110, True)
    assert hits.why == "only the first 110 were asked for"


def test_a_limit_that_is_just_enough_cuts_nothing(client: Any) -> None:
    hits = client.hits(entity="tag", filter=NAMED_FINDING, page_size=50, limit=230)
    assert (len(list(hits)), hits.truncated, hits.why) == (230, False, None)


def test_pages_are_given_whole(client: Any) -> None:
    hits = client.hits(entity="tag", filter=NAMED_FINDING, page_size=100)
    assert [len(hits.page()) for _ in range(4)] == [100, 100, 30, 0]
    assert hits.returned_count == 230


def test_urns_are_listed_with_the_removed_when_asked(client: Any) -> None:
    assert set(client.urns("tag", filter=NAMED_FINDING)) == set(TAGS)
    every = client.urns("tag", filter=NAMED_FINDING, include_removed=True, page_size=100)
    assert set(every) == {*TAGS, HIDDEN}
    listed = client.urns("tag", include_removed=True, page_size=100)
    assert set(listed) >= {*TAGS, HIDDEN}
    assert HIDDEN not in set(client.urns(["tag", "chart"]))
    assert CHART in set(client.urns(["tag", "chart"]))


@pytest.mark.parametrize(
    "ask",
    [
        lambda client: client.search(entity="nonsense"),
        lambda client: client.hits(entity="nonsense").page(),
        lambda client: client.urns("nonsense").page(),
        lambda client: client.folder(entity="nonsense").page(),
        lambda client: client.counts(["nonsense"]),
        lambda client: client.browse_paths("nonsense"),
        lambda client: client.hits(limit=0),
        lambda client: client.urns(page_size=0),
        lambda client: client.search(entity=["tag", " "]),
    ],
)
def test_what_cannot_be_asked_is_said_so(client: Any, ask: Any) -> None:
    with pytest.raises((InvalidInput, UnknownName, NotFound)):
        ask(client)


def test_the_most_used_come_first_however_that_is_said(client: Any) -> None:
    urns = [Urn.dataset("hive", f"sortedbyuse.{name}") for name in ("least", "most", "some")]
    for urn, count in zip(urns, (1, 9, 4), strict=True):
        client.ingest(Proposal(urn, "datasetProperties", {"name": urn.name}))
        now = time.time_ns() // 1_000_000
        point = {"timestampMillis": now, "totalSqlQueries": count, "uniqueUserCount": 1}
        client.ingest(Proposal(urn, "datasetUsageStatistics", point))
    for order in ("usage", "use", "usage desc", "-usage", "usage, name"):
        found = client.search("sortedbyuse", sort=order)
        assert [hit.urn.name for hit in found] == [urns[at].name for at in (1, 2, 0)], order
    for order in ("+usage", "usage asc"):
        found = client.search("sortedbyuse", sort=order)
        assert [hit.urn.name for hit in found] == [urns[at].name for at in (0, 2, 1)], order
    with pytest.raises(InvalidInput, match=r"unknown field “popular”.*sorted by name, usage"):
        client.search("*", sort="popular")
    with pytest.raises(InvalidInput, match="a sort order is a text"):
        client.search("*", sort=["usage"])
