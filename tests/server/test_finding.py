"""Finding: the shapes of search, autocomplete and browse, and that a write is seen at once."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest

from explorer.metadata import Proposal, Urn
from explorer.server.catalog import CatalogEngine
from explorer.server.store.sql.reads import SqlReads
from tests.server.conftest import Caller


def hive(name: str, origin: str = "PROD") -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},{origin})"


@pytest.fixture(scope="module", autouse=True)
def mountains(caller: Caller) -> None:
    """Three datasets that only this module's words find."""
    for name in ("matterhorn", "eiger", "jungfrau"):
        urn = hive(f"alps.{name}")
        caller.ingest(urn, "datasetProperties", {"name": name, "description": "swissalpine peak"})


def test_a_plain_search_answers_with_urns_and_aligned_matches(caller: Caller) -> None:
    value = caller.search("swissalpine")
    assert value["numEntities"] == 3
    assert (value["from"], value["pageSize"]) == (0, 10)
    assert sorted(value["entities"]) == sorted(
        hive(f"alps.{name}") for name in ("matterhorn", "eiger", "jungfrau")
    )
    metadata = value["metadata"]
    assert metadata["urns"] == value["entities"]
    assert len(metadata["matches"]) == 3
    for match in metadata["matches"]:
        assert match["matchedFields"]
        assert all(set(field) == {"name", "value"} for field in match["matchedFields"])
    for match, told in zip(metadata["matches"], metadata["explanations"], strict=True):
        assert set(told) == {"score", "use", "reason", "weights"}
        assert len(told["weights"]) == len(match["matchedFields"])
        assert told["reason"] == "every word typed is a word of fields of weight 1 or more"
    for facet in metadata["searchResultMetadatas"]:
        assert all(isinstance(count, int) for count in facet["aggregations"].values())


def test_a_datahub_client_gets_objects_and_the_same_metadata(caller: Caller) -> None:
    body = {"input": "swissalpine", "entity": "dataset", "start": 0, "count": 2}
    answer = caller.post("/entities?action=search", body, **{"X-DataHub-Client-Mode": "SDK"})
    value = answer.json()["value"]
    assert [set(hit) for hit in value["entities"]] == [{"entity", "matchedFields", "score"}] * 2
    assert [hit["entity"] for hit in value["entities"]] == value["metadata"]["urns"]
    names = [facet["name"] for facet in value["metadata"]["aggregations"]]
    assert names == [facet["name"] for facet in value["metadata"]["searchResultMetadatas"]]


def test_facets_count_the_whole_result_and_not_the_page(caller: Caller) -> None:
    whole, page = caller.search("swissalpine"), caller.search("swissalpine", count=1)
    assert len(page["entities"]) == 1
    assert page["numEntities"] == 3
    facets = whole["metadata"]["searchResultMetadatas"]
    assert facets
    assert page["metadata"]["searchResultMetadatas"] == facets


def test_pages_of_a_search_do_not_overlap(caller: Caller) -> None:
    pages = [caller.search("swissalpine", start=n, count=1)["entities"] for n in range(4)]
    assert [len(page) for page in pages] == [1, 1, 1, 0]
    assert len({urn for page in pages for urn in page}) == 3


def test_search_across_entities_takes_some_types_or_all(caller: Caller) -> None:
    caller.ingest("urn:li:tag:swissalpine", "tagProperties", {"name": "swissalpine"})

    def found(**more: Any) -> Any:
        body = {"input": "swissalpine", "start": 0, "count": 10} | more
        answer = caller.post("/entities?action=searchAcrossEntities", body)
        return answer.json()["value"]["numEntities"]

    assert found() == 4
    assert found(entities=["tag"]) == 1
    assert found(entities=["tag", "dataset"]) == 4
    assert found(entities=[]) == 4


def test_a_filter_narrows_a_search_in_either_wire_form(caller: Caller) -> None:
    criterion = {"field": "name", "value": "eiger", "condition": "EQUAL"}
    for filter in ({"or": [{"and": [criterion]}]}, {"criteria": [criterion]}):
        assert caller.search("swissalpine", filter=filter)["entities"] == [hive("alps.eiger")]


def test_what_was_written_is_found_at_once_under_its_new_words_only(
    caller: Caller, dataset: str
) -> None:
    caller.ingest(dataset, "datasetProperties", {"description": "zugspitzewort"})
    assert caller.search("zugspitzewort")["entities"] == [dataset]
    caller.ingest(dataset, "datasetProperties", {"description": "watzmannwort"})
    assert caller.search("zugspitzewort")["numEntities"] == 0
    assert caller.search("watzmannwort")["entities"] == [dataset]


def test_soft_deletion_hides_from_search_and_browse_and_restoring_shows_again(
    caller: Caller, dataset: str
) -> None:
    caller.ingest(dataset, "datasetProperties", {"description": "grossglocknerwort"})
    caller.ingest(dataset, "browsePaths", {"paths": ["/glockner/x"]})
    for removed, count in ((True, 0), (True, 0), (False, 1), (False, 1)):
        caller.ingest(dataset, "status", {"removed": removed})
        assert caller.search("grossglocknerwort")["numEntities"] == count
        assert caller.browse("/glockner")["metadata"]["totalNumEntities"] == count
        assert "datasetProperties" in caller.entity(dataset)["aspects"]


def test_a_filter_on_removed_finds_what_is_soft_deleted(caller: Caller, dataset: str) -> None:
    caller.ingest(dataset, "datasetProperties", {"description": "dachsteinwort"})
    caller.ingest(dataset, "status", {"removed": True})
    removed = {"or": [{"and": [{"field": "removed", "value": "true"}]}]}
    assert caller.search("dachsteinwort", filter=removed)["entities"] == [dataset]


def test_autocomplete_answers_texts_and_their_entities(caller: Caller) -> None:
    body = {"query": "matterh", "entity": "dataset", "limit": 5}
    value = caller.post("/entities?action=autocomplete", body).json()["value"]
    assert value["suggestions"] == ["matterhorn"]
    assert value["query"] == "matterh"
    assert value["entities"] == [{"urn": hive("alps.matterhorn")}]
    body["start"] = 1
    assert caller.post("/entities?action=autocomplete", body).json()["value"]["suggestions"] == []


@pytest.mark.parametrize(
    ("action", "body", "told"),
    [
        ("search", {"input": "x"}, "'entity' is required"),
        ("search", {"entity": "dataset"}, "'input' is required"),
        ("search", {"input": "x", "entity": "nonsense"}, "no entity named"),
        ("search", {"input": "x", "entity": "dataset", "start": -1}, "negative"),
        ("search", {"input": "x", "entity": "dataset", "count": "ten"}, "integer"),
        ("search", {"input": "x", "entity": "dataset", "filter": []}, "a filter is"),
        ("searchAcrossEntities", {"input": "x", "entities": ["nonsense"]}, "no entity named"),
        ("autocomplete", {"entity": "dataset"}, "'query' is required"),
        ("browse", {"entity": "dataset"}, "'path' is required"),
        ("browse", {"entity": "nonsense", "path": "/"}, "no entity named"),
        ("browse", {"entity": "dataset", "path": "/", "limit": -5}, "negative"),
    ],
)
def test_a_bad_question_is_refused_with_its_reason(
    caller: Caller, action: str, body: Any, told: str
) -> None:
    answer = caller.post(f"/entities?action={action}", body)
    assert answer.status_code == 400
    assert told in answer.json()["message"]


def test_an_unknown_condition_is_answered_with_every_one_there_is(caller: Caller) -> None:
    criterion = {"field": "name", "value": "x", "condition": "SOUNDS_LIKE"}
    body = {"input": "x", "entity": "dataset", "filter": {"or": [{"and": [criterion]}]}}
    answer = caller.post("/entities?action=search", body)
    assert answer.status_code == 400
    for condition in ("SOUNDS_LIKE", "CONTAIN", "END_WITH", "LESS_THAN_OR_EQUAL_TO", "BETWEEN"):
        assert condition in answer.json()["message"]


def test_a_page_not_asked_for_by_length_has_ten_and_none_has_more_than_ten_thousand(
    caller: Caller,
) -> None:
    body: dict[str, Any] = {"input": "*", "entity": "dataset"}
    value = caller.post("/entities?action=search", body).json()["value"]
    assert (value["from"], value["pageSize"]) == (0, 10)
    body["count"] = 1_000_000
    value = caller.post("/entities?action=search", body).json()["value"]
    assert value["pageSize"] == 10_000


def test_names_of_entity_types_ignore_case(caller: Caller) -> None:
    urn = "urn:li:glossaryTerm:CasedName"
    caller.ingest(urn, "glossaryTermInfo", {"definition": "x", "termSource": "INTERNAL"})
    for name in ("glossaryTerm", "glossaryterm", "GLOSSARYTERM"):

        def ask(action: str, entity: str = name, **more: object) -> Any:
            answer = caller.post(f"/entities?action={action}", {"entity": entity, **more})
            assert answer.status_code == 200, answer.text
            return answer.json()["value"]

        assert urn in ask("search", input="CasedName", start=0, count=10)["entities"]
        page = ask("browse", path="/", start=0, limit=10_000)
        assert urn in [entity["urn"] for entity in page["entities"]]
        assert urn in ask("listUrns", start=0, count=10_000)["entities"]
        assert ask("autocomplete", query="CasedN", limit=5)["suggestions"]
        assert ask("getTotalEntityCount") >= 1
        body = {"entities": [name], "input": "CasedName", "start": 0, "count": 10}
        answer = caller.post("/entities?action=searchAcrossEntities", body)
        assert urn in answer.json()["value"]["entities"]
        proposal = caller.proposal(urn, "status", {"removed": False}) | {"entityType": name}
        answer = caller.post("/aspects?action=ingestProposal", {"proposal": proposal})
        assert answer.status_code == 200, answer.text


class TestBrowse:
    """The tree of folders."""

    @staticmethod
    def place(caller: Any, name: Any, *paths: Any) -> Any:
        urn = hive(name)
        caller.ingest(urn, "browsePaths", {"paths": list(paths)})
        return urn

    @staticmethod
    def folders(page: Any) -> Any:
        return [(group["name"], group["count"]) for group in page["groups"]]

    def test_a_path_that_ends_in_the_entity_itself_puts_it_in_the_folder(
        self, caller: Caller
    ) -> None:
        urn = self.place(caller, "own.Leaf", "/own/deep/leaf")
        page = caller.browse("/own/deep")
        assert page["entities"] == [{"name": "own.Leaf", "urn": urn}]
        assert page["numEntities"] == page["metadata"]["totalNumEntities"] == 1
        above = caller.browse("/own")
        assert above["entities"] == []
        assert self.folders(above) == [("deep", 1)]
        assert above["groups"] == above["metadata"]["groups"]

    def test_the_exact_path_finds_the_entity_too(self, caller: Caller) -> None:
        urn = self.place(caller, "exactly", "/exact/Exactly")
        page = caller.browse("/exact/exactly")
        assert page["entities"] == [{"name": "exactly", "urn": urn}]
        assert page["metadata"]["totalNumEntities"] == 1

    def test_any_other_path_is_a_folder_as_a_whole(self, caller: Caller) -> None:
        urn = self.place(caller, "some.table", "/whole/folder")
        assert caller.browse("/whole/folder")["entities"] == [{"name": "some.table", "urn": urn}]
        assert self.folders(caller.browse("/whole")) == [("folder", 1)]

    def test_an_entity_is_listed_by_its_display_name_and_found_by_it(self, caller: Caller) -> None:
        urn = hive("shown.tbl")
        caller.ingest(urn, "datasetProperties", {"name": "Orders"})
        caller.ingest(urn, "browsePaths", {"paths": ["/shown/ORDERS"]})
        assert caller.browse("/shown")["entities"] == [{"name": "Orders", "urn": urn}]
        caller.ingest(urn, "datasetProperties", {"name": "Sales"})
        assert caller.browse("/shown")["entities"] == []
        assert caller.browse("/shown/orders")["entities"] == [{"name": "Sales", "urn": urn}]

    def test_an_entity_is_found_at_each_of_its_paths_and_counted_once(self, caller: Caller) -> None:
        urn = self.place(caller, "twice", "/two/a/twice", "/two/b/twice")
        assert [self.folders(caller.browse("/two"))] == [[("a", 1), ("b", 1)]]
        assert caller.browse("/two")["metadata"]["totalNumEntities"] == 1
        for folder in "ab":
            assert caller.browse(f"/two/{folder}")["entities"] == [{"name": "twice", "urn": urn}]

    @pytest.mark.parametrize("urn", [hive("newer.table"), "urn:li:dashboard:(looker,newer)"])
    def test_a_source_that_sends_only_the_newer_paths_says_the_folders(
        self, caller: Caller, urn: str
    ) -> None:
        entity, container = urn.split(":")[2], "urn:li:container:newer"
        caller.ingest(urn, "status", {"removed": False})
        suggested = caller.post("/entities?action=getBrowsePaths", {"urn": urn}).json()["value"]
        folders = ("Newer/ of a / slash", container, "50% off")
        steps = [{"id": folder} for folder in folders]
        caller.ingest(urn, "browsePathsV2", {"path": steps})
        path = "/Newer\\/ of a \\/ slash/urn:li:container:newer/50% off"
        assert ("Newer/ of a / slash", 1) in self.folders(caller.browse("/", entity))
        assert [one["urn"] for one in caller.browse(path, entity)["entities"]] == [urn]
        answer = caller.post("/entities?action=getBrowsePaths", {"urn": urn}).json()
        assert answer["value"] == [path]
        above = suggested[0].rpartition("/")[0]
        assert urn not in [one["urn"] for one in caller.browse(above, entity)["entities"]]
        # One that a source sends of both kinds is found at each.
        caller.ingest(urn, "browsePaths", {"paths": ["/newer/and/older"]})
        for folder in (path, "/newer/and/older"):
            assert [one["urn"] for one in caller.browse(folder, entity)["entities"]] == [urn]

    def test_folders_that_lose_their_last_entity_are_gone(self, caller: Caller) -> None:
        urn = self.place(caller, "moving", "/moved/from/moving")
        self.place(caller, "moving", "/moved/to/moving")
        assert self.folders(caller.browse("/moved")) == [("to", 1)]
        caller.post("/entities?action=delete", {"urn": urn}).raise_for_status()
        assert caller.browse("/moved")["numElements"] == 0

    def test_case_does_not_tell_folders_apart_and_the_first_spelling_shows(
        self, caller: Caller
    ) -> None:
        self.place(caller, "case1", "/Cased/Folder/case1")
        self.place(caller, "case2", "/CASED/fOLDER/case2")
        assert self.folders(caller.browse("/cased")) == [("Folder", 2)]
        assert caller.browse("/CaSeD/folder")["numEntities"] == 2

    def test_folders_sort_naturally_and_entities_by_name(self, caller: Caller) -> None:
        for folder in ("s10", "s2", "s1"):
            self.place(caller, f"sort-{folder}", f"/sorted/{folder}/sort-{folder}")
        for name in ("delta", "Alpha", "charlie"):
            self.place(caller, name, f"/sorted/{name}")
        page = caller.browse("/sorted")
        assert [name for name, _ in self.folders(page)] == ["s1", "s2", "s10"]
        assert [entity["name"] for entity in page["entities"]] == ["Alpha", "charlie", "delta"]

    @pytest.mark.parametrize("limit", [1, 2, 3, 100])
    def test_pages_cover_folders_then_entities_once(self, caller: Caller, limit: int) -> None:
        for n in range(3):
            self.place(caller, f"paged-f{n}", f"/paged/f{n}/paged-f{n}")
            self.place(caller, f"paged-e{n}", f"/paged/paged-e{n}")
        seen, start = [], 0
        while True:
            page = caller.browse("/paged", start=start, limit=limit)
            assert (page["from"], page["pageSize"]) == (start, limit)
            assert (page["numGroups"], page["numEntities"], page["numElements"]) == (3, 3, 6)
            here = [*page["groups"], *page["entities"]]
            if not here:
                break
            seen += [one["name"] for one in here]
            start += limit
        assert seen == ["f0", "f1", "f2", "paged-e0", "paged-e1", "paged-e2"]

    @pytest.mark.parametrize("path", ["/form/of", "form/of", "/form/of/", "//form//of"])
    def test_slashes_at_the_ends_mean_nothing(self, caller: Caller, path: str) -> None:
        self.place(caller, "formed", "/form/of/formed")
        page = caller.browse(path)
        assert page["numEntities"] == 1
        assert page["metadata"]["path"] == path

    @pytest.mark.parametrize("path", ["", "/"])
    def test_the_root_lists_the_top_folders(self, caller: Caller, path: str) -> None:
        caller.ingest("urn:li:chart:(roottool,rooted)", "status", {"removed": False})
        assert ("roottool", 1) in self.folders(caller.browse(path, "chart"))

    def test_an_unknown_path_is_empty_and_no_error(self, caller: Caller) -> None:
        page = caller.browse("/no/such/path")
        assert page["entities"] == page["groups"] == []
        assert page["metadata"]["totalNumEntities"] == 0

    @pytest.mark.parametrize(
        ("urn", "folder"),
        [
            (hive("Def.Sch.tbl", "DEV"), "/dev/hive/def/sch"),
            ("urn:li:dataset:(urn:li:dataPlatform:s3,buck/dir/f.csv,PROD)", "/prod/s3/buck/dir"),
            ("urn:li:dashboard:(superset,42)", "/superset"),
            ("urn:li:dataFlow:(airflow,dag1,prod)", "/airflow/prod"),
            ("urn:li:dataJob:(urn:li:dataFlow:(airflow,dag1,prod),task)", "/airflow/dag1"),
            ("urn:li:glossaryTerm:Finance.Tax.VAT", "/finance/tax"),
            ("urn:li:tag:unfoldered", "/"),
        ],
    )
    def test_without_a_stored_path_the_urn_gives_one(
        self, caller: Caller, urn: Any, folder: str
    ) -> None:
        caller.ingest(urn, "status", {"removed": False})
        page = caller.browse(folder, urn.split(":")[2])
        assert urn in [entity["urn"] for entity in page["entities"]]

    def test_a_platform_that_says_how_names_are_separated_moves_its_datasets(
        self, caller: Caller
    ) -> None:
        urn = "urn:li:dataset:(urn:li:dataPlatform:lake,zone/one.two,PROD)"
        caller.ingest(urn, "status", {"removed": False})
        assert caller.browse("/prod/lake/zone/one")["numEntities"] == 1
        info = {"name": "lake", "type": "OTHERS", "datasetNameDelimiter": "/"}
        caller.ingest("urn:li:dataPlatform:lake", "dataPlatformInfo", info)
        assert caller.browse("/prod/lake/zone")["numEntities"] == 1
        assert caller.browse("/prod/lake/zone/one")["numEntities"] == 0


def millis_ago(days: float) -> int:
    return int((time.time() - days * 86_400) * 1_000)


def profile(rows: int, days: float, **more: object) -> dict[str, object]:
    return {"timestampMillis": millis_ago(days), "rowCount": rows, **more}


def rows_above(caller: Any, count: int) -> set[str]:
    criterion = {"field": "rowCount", "values": [str(count)], "condition": "GREATER_THAN"}
    filtered = {"or": [{"and": [criterion]}]}
    return set(caller.search("swissalpine", filter=filtered)["entities"])


def test_tables_are_found_by_the_rows_of_their_newest_whole_profile(caller: Caller) -> None:
    matterhorn, eiger = hive("alps.matterhorn"), hive("alps.eiger")
    caller.ingest(matterhorn, "datasetProfile", profile(900, 2))
    caller.ingest(eiger, "datasetProfile", profile(3_000, 3))
    assert rows_above(caller, 1_000) == {eiger}
    caller.ingest(matterhorn, "datasetProfile", profile(1_500, 1))
    part = {"type": "PARTITION", "partition": "day=1"}
    caller.ingest(matterhorn, "datasetProfile", profile(5, 0.5, partitionSpec=part))
    assert rows_above(caller, 1_000) == {matterhorn, eiger}
    sample = {"type": "QUERY", "partition": "SAMPLE 10%"}
    caller.ingest(matterhorn, "datasetProfile", profile(9, 0.4, partitionSpec=sample))
    assert rows_above(caller, 1_000) == {matterhorn, eiger}
    answer = caller.post("/entities?action=delete", {"urn": eiger, "aspectName": "datasetProfile"})
    assert answer.status_code == 200, answer.text
    assert rows_above(caller, 1_000) == {matterhorn}


def test_what_is_used_more_in_30_days_ranks_first(caller: Caller) -> None:
    used: dict[str, list[tuple[float, int]]] = {
        "eiger": [(1, 4), (2, 4), (29, 90)],
        "jungfrau": [(0.1, 30)],
        "matterhorn": [(31, 500)],
    }
    for name, days in used.items():
        for ago, queries in days:
            point = {"timestampMillis": millis_ago(ago), "totalSqlQueries": queries}
            caller.ingest(hive(f"alps.{name}"), "datasetUsageStatistics", point)
    best = [hive(f"alps.{name}") for name in ("eiger", "jungfrau", "matterhorn")]
    assert caller.search("swissalpine")["entities"] == best
    use = {"field": "queryCountLast30DaysFeature", "order": "ASCENDING"}
    assert caller.search("swissalpine", sort=use)["entities"] == best[::-1]


def test_use_is_counted_anew_when_its_days_are_over(
    fresh: Callable[[], CatalogEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = fresh()
    point = {"timestampMillis": millis_ago(29), "totalSqlQueries": 40}
    urn = Urn.parse(hive("old"))
    asyncio.run(catalog.ingest(Proposal(urn, "datasetUsageStatistics", point)))

    def use() -> float:
        document = catalog.index.document(str(urn))
        assert document is not None
        return document.usage

    assert catalog.recount_use() == 0
    assert use() == 40
    later = time.time_ns() + 2 * 86_400 * 10**9
    monkeypatch.setattr(time, "time_ns", lambda: later)
    catalog.keep_use()
    deadline = time.monotonic() + 60
    while use() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert use() == 0
    assert catalog.recount_use() == 0
    # The clock was ahead, and is set right.
    monkeypatch.setattr(time, "time_ns", lambda: later - 2 * 86_400 * 10**9)
    assert catalog.recount_use() == 1
    catalog.catch_up()
    assert use() == 40


def test_a_slip_is_corrected_and_said_in_every_answer(caller: Caller) -> None:
    plain = caller.search("swissalpin3")
    assert plain["numEntities"] == 0
    found = caller.search("swisalpine")
    assert found["numEntities"] == 3
    assert found["metadata"]["corrected"] == "swissalpine"
    assert "corrected" not in caller.search("swissalpine")["metadata"]
    document = """{ searchAcrossEntities(input: {query: "swisalpine", types: [DATASET]}) {
        total suggestions { text frequency } } }"""
    answer = caller.graphql(document)["data"]["searchAcrossEntities"]
    assert answer == {"total": 3, "suggestions": [{"text": "swissalpine", "frequency": 3}]}


def test_people_are_found_by_name_in_queries_and_filters_of_either_dialect(caller: Caller) -> None:
    owners = {"owners": [{"owner": "urn:li:corpuser:hw4", "type": "DATAOWNER"}]}
    stamp = {"time": 0, "actor": "urn:li:corpuser:hw4"}
    caller.ingest(hive("alps.eiger"), "ownership", owners | {"lastModified": stamp})
    person = {"displayName": "Heidi Wolfsberger", "active": True}
    caller.ingest("urn:li:corpuser:hw4", "corpUserInfo", person)
    eiger = [hive("alps.eiger")]
    assert caller.search('owner:"heidi wolfsberger"')["entities"] == eiger
    assert caller.search("/q owners:heidi AND swissalpine")["entities"] == eiger
    criterion = {"field": "owners", "values": ["Heidi"], "condition": "EQUAL"}
    assert caller.search("*", filter={"or": [{"and": [criterion]}]})["entities"] == eiger
    answer = caller.graphql(
        """query($filters: [AndFilterInput!]) { searchAcrossEntities(
        input: {query: "*", types: [DATASET], orFilters: $filters}) {
        searchResults { entity { urn } } } }""",
        filters=[{"and": [{"field": "owners", "values": ["wolfsberger"]}]}],
    )
    (one,) = answer["data"]["searchAcrossEntities"]["searchResults"]
    assert one["entity"]["urn"] == eiger[0]


def test_a_facet_of_more_than_a_hundred_values_says_that_it_has_more(caller: Caller) -> None:
    tags = {"tags": [{"tag": f"urn:li:tag:peak{at}"} for at in range(101)]}
    caller.ingest(hive("alps.eiger"), "globalTags", tags)
    found = caller.search("swissalpine")["metadata"]["aggregations"]
    facets = {facet["name"]: facet for facet in found}
    assert (len(facets["tags"]["aggregations"]), facets["tags"]["hasMore"]) == (100, True)
    assert facets["platform"]["hasMore"] is False


def test_series_are_read_of_entities_that_have_any_alone(
    fresh: Callable[[], CatalogEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = fresh()
    used, unused = hive("series.used"), [hive(f"series.unused{at}") for at in range(30)]
    now = time.time_ns() // 1_000_000
    usage = {"timestampMillis": now, "totalSqlQueries": 12}
    for urn in (used, *unused):
        proposal = Proposal(Urn.parse(urn), "datasetProperties", {"name": "seriesread"})
        asyncio.run(catalog.ingest(proposal))
    asyncio.run(catalog.ingest(Proposal(Urn.parse(used), "datasetUsageStatistics", usage)))
    read: list[str] = []
    documents = SqlReads.documents

    def note(self: SqlReads, urn: str, *rest: Any) -> Any:
        read.append(urn)
        return documents(self, urn, *rest)

    monkeypatch.setattr(SqlReads, "documents", note)
    catalog.rebuild_index()
    deadline = time.monotonic() + 60
    while catalog.is_preparing and time.monotonic() < deadline:
        time.sleep(0.02)
    assert {*read} == {used}
    document = catalog.index.document(used)
    assert document is not None
    assert document.usage == 12
