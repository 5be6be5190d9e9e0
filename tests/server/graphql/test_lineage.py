"""Lineage through GraphQL, with the documents that clients of the real service send."""

from typing import Any

import pytest

from tests.server.conftest import Caller

NOBODY = {"time": 0, "actor": "urn:li:corpuser:x"}
HIVE = "urn:li:dataPlatform:hive"

# As the SDK and the command line of the real service ask.
SCROLL = """
query scrollAcrossLineage($input: ScrollAcrossLineageInput!) {
    scrollAcrossLineage(input: $input) {
        nextScrollId
        searchResults {
            degree
            entity {
                urn
                type
                ... on Dataset { name platform { name } properties { description } }
                ... on DataJob {
                    jobId
                    dataPlatformInstance { platform { name } }
                    properties { name description }
                }
            }
            paths { path { urn type } }
        }
    }
}
"""
SEARCH = """
query across($input: SearchAcrossLineageInput!) {
  searchAcrossLineage(input: $input) {
    start count total filtered isPartial truncated
    searchResults {
      degree degrees exists removed explored truncatedChildren ignoredAsHop pathsComplete
      entity { urn type }
      paths { path { urn } }
    }
    facets { field displayName aggregations { value count entity { urn } } }
  }
}
"""
LINEAGE = """
query lineage($urn: String!, $input: LineageInput!) {
  dataset(urn: $urn) {
    lineage(input: $input) {
      start count total filtered truncated
      relationships {
        type degree createdOn updatedOn isManual
        entity { urn type }
        createdActor { urn }
        updatedActor { urn }
        paths { path { urn } }
      }
    }
  }
}
"""
RELATED = """
query related($urn: String!, $input: RelationshipsInput!) {
  entity(urn: $urn) {
    ... on Dataset {
      relationships(input: $input) {
        start count total
        relationships { type direction entity { urn type } created { time } }
      }
    }
    ... on CorpUser {
      relationships(input: $input) { total relationships { type direction entity { urn } } }
    }
  }
}
"""


def hive(name: Any) -> str:
    return f"urn:li:dataset:({HIVE},glineage.{name},PROD)"


def upstream(name: Any, **more: Any) -> Any:
    return {"auditStamp": NOBODY, "dataset": hive(name), "type": "TRANSFORMED"} | more


def degree_is(*values: Any) -> Any:
    return {"field": "degree", "condition": "EQUAL", "values": list(values), "negated": False}


NOT_REMOVED = {"field": "removed", "condition": "EQUAL", "values": ["true"], "negated": True}


@pytest.fixture
def drawn(caller: Caller) -> Any:
    def draw(graph: Any) -> None:
        answer = caller.batch(
            *(
                caller.proposal(
                    hive(name), "upstreamLineage", {"upstreams": [upstream(one) for one in ups]}
                )
                for name, ups in graph.items()
            )
        )
        assert answer.status_code == 200, answer.text

    return draw


@pytest.fixture
def across(caller: Caller) -> Any:
    def ask(urn: Any, direction: str = "UPSTREAM", *criteria: Any, **more: Any) -> Any:
        asked = {"urn": urn, "direction": direction, "count": 100, "includeGhostEntities": True}
        asked |= more
        if criteria:
            asked["orFilters"] = [{"and": list(criteria)}]
        answer = caller.graphql(SEARCH, input=asked)
        assert "errors" not in answer, answer
        return answer["data"]["searchAcrossLineage"]

    return ask


def degrees(found: Any) -> Any:
    return {one["entity"]["urn"]: one["degree"] for one in found["searchResults"]}


def test_the_document_of_the_sdk_is_answered_page_by_page(caller: Caller, drawn: Any) -> None:
    drawn({"sdk.a": ["sdk.b"], "sdk.b": ["sdk.c"], "sdk.c": ["sdk.d"]})
    a, b, c, d = (hive(f"sdk.{one}") for one in "abcd")
    caller.ingest(b, "datasetProperties", {"description": "of b"})
    caller.ingest(d, "status", {"removed": False})
    asked = {
        "urn": a,
        "direction": "UPSTREAM",
        "count": 2,
        "types": None,
        "orFilters": [{"and": [degree_is("1", "2", "3+"), NOT_REMOVED]}],
    }
    pages = []
    while True:
        answer = caller.graphql(SCROLL, input=asked)
        assert "errors" not in answer, answer
        pages.append(answer["data"]["scrollAcrossLineage"])
        if pages[-1]["nextScrollId"] is None:
            break
        asked["scrollId"] = pages[-1]["nextScrollId"]
    assert [len(page["searchResults"]) for page in pages] == [2, 1]
    assert pages[0]["searchResults"][0] == {
        "degree": 1,
        "entity": {
            "urn": b,
            "type": "DATASET",
            "name": "glineage.sdk.b",
            "platform": {"name": "hive"},
            "properties": {"description": "of b"},
        },
        "paths": [{"path": [{"urn": a, "type": "DATASET"}, {"urn": b, "type": "DATASET"}]}],
    }
    last = pages[1]["searchResults"][0]
    assert (last["degree"], last["entity"]["urn"]) == (3, d)
    assert [one["urn"] for one in last["paths"][0]["path"]] == [a, b, c, d]


def test_degrees_are_filtered_by_number_and_by_three_and_more(drawn: Any, across: Any) -> None:
    drawn({"deg.0": ["deg.1"], "deg.1": ["deg.2"], "deg.2": ["deg.3"], "deg.3": ["deg.4"]})
    start = hive("deg.0")
    every = {hive(f"deg.{at}"): at for at in range(1, 5)}

    def within(*wanted: Any) -> Any:
        return {urn: at for urn, at in every.items() if at in wanted}

    assert degrees(across(start)) == every
    assert degrees(across(start, "UPSTREAM", degree_is("1"))) == within(1)
    assert degrees(across(start, "UPSTREAM", degree_is("1", "2"))) == within(1, 2)
    assert degrees(across(start, "UPSTREAM", degree_is("1", "2", "3+"))) == every
    assert degrees(across(start, "UPSTREAM", degree_is("3+"))) == within(3, 4)
    negated = degree_is("1", "3+") | {"negated": True}
    assert degrees(across(start, "UPSTREAM", negated)) == within(2)
    for condition, values, wanted in (
        ("GREATER_THAN", ["1"], (2, 3, 4)),
        ("GREATER_THAN_OR_EQUAL_TO", ["3"], (3, 4)),
        ("LESS_THAN", ["3"], (1, 2)),
        ("LESS_THAN_OR_EQUAL_TO", ["1"], (1,)),
        ("BETWEEN", ["2", "3"], (2, 3)),
        ("EXISTS", [], (1, 2, 3, 4)),
        ("IS_NULL", [], ()),
    ):
        compared = {"field": "degree", "condition": condition, "values": values}
        assert degrees(across(start, "UPSTREAM", compared)) == within(*wanted), condition
        others = tuple({1, 2, 3, 4} - {*wanted})
        negated = compared | {"negated": True}
        assert degrees(across(start, "UPSTREAM", negated)) == within(*others), condition
    first = across(start, "UPSTREAM", degree_is("1"))["searchResults"][0]
    assert (first["explored"], first["truncatedChildren"]) == (False, False)


def test_a_cycle_through_a_ghost_and_a_removed_entity_is_answered_whole(
    caller: Caller, drawn: Any, across: Any
) -> None:
    drawn({"cyc.a": ["cyc.b", "cyc.ghost"], "cyc.b": ["cyc.a", "cyc.ghost"]})
    caller.ingest(hive("cyc.b"), "status", {"removed": True})
    found = across(hive("cyc.a"), includeSoftDelete=True)
    marks = {one["entity"]["urn"]: one for one in found["searchResults"]}
    assert {urn: (one["exists"], one["removed"]) for urn, one in marks.items()} == {
        hive("cyc.b"): (True, True),
        hive("cyc.ghost"): (False, False),
    }
    assert marks[hive("cyc.ghost")]["degrees"] == [1, 2]
    assert (found["isPartial"], found["truncated"]) == (False, None)
    kept = across(hive("cyc.a"), "UPSTREAM", NOT_REMOVED)
    assert degrees(kept) == {hive("cyc.ghost"): 1}
    flagged = across(hive("cyc.a"), searchFlags={"includeSoftDeleted": False})
    assert degrees(flagged) == {hive("cyc.ghost"): 1}


def test_filters_on_any_field_and_text_narrow_what_was_reached(
    caller: Caller, drawn: Any, across: Any
) -> None:
    drawn({"nar.a": ["nar.b", "nar.c"], "nar.b": ["nar.d"]})
    caller.ingest(hive("nar.c"), "globalTags", {"tags": [{"tag": "urn:li:tag:glineage"}]})
    caller.ingest(hive("nar.d"), "datasetProperties", {"description": "the wombat register"})
    chart = "urn:li:chart:(looker,glineage.nar)"
    about = {
        "title": "t",
        "description": "",
        "lastModified": {"created": NOBODY, "lastModified": NOBODY},
    }
    caller.ingest(chart, "chartInfo", about | {"inputs": [{"string": hive("nar.d")}]})
    a, d = hive("nar.a"), hive("nar.d")
    tagged = {"field": "tags", "values": ["urn:li:tag:glineage"]}
    assert degrees(across(a, "UPSTREAM", tagged)) == {hive("nar.c"): 1}
    assert degrees(across(a, query="wombat")) == {d: 2}
    assert degrees(across(a, query="*")) == degrees(across(a))
    on_looker = {"field": "platform", "values": ["urn:li:dataPlatform:looker"]}
    assert degrees(across(d, "DOWNSTREAM", on_looker)) == {chart: 1}
    feature = "urn:li:mlFeature:(glineage,nar)"
    caller.ingest(feature, "mlFeatureProperties", {"sources": [hive("nar.c")]})
    assert degrees(across(hive("nar.c"), "DOWNSTREAM", on_looker)) == {}
    of_looker = {"platform": "urn:li:dataPlatform:looker"}
    caller.ingest(feature, "dataPlatformInstance", of_looker)
    assert degrees(across(hive("nar.c"), "DOWNSTREAM", on_looker)) == {feature: 1}
    charts = {"field": "_entityType", "values": ["CHART"]}
    assert degrees(across(d, "DOWNSTREAM", charts)) == {chart: 1}
    assert degrees(across(d, "DOWNSTREAM", types=["DATASET"])) == {hive("nar.b"): 1, a: 2}
    either = [{"and": [charts]}, {"and": [degree_is("2")]}]
    assert degrees(across(d, "DOWNSTREAM", orFilters=either)) == {chart: 1, a: 2}
    all_of_them = {"filters": [{"field": "_entityType", "values": ["DATASET"]}]}
    assert degrees(across(d, "DOWNSTREAM", degree_is("1"), **all_of_them)) == {hive("nar.b"): 1}


def test_facets_count_the_whole_result(caller: Caller, drawn: Any, across: Any) -> None:
    drawn({"fac.a": ["fac.b"], "fac.b": ["fac.c"], "fac.c": ["fac.d"], "fac.d": ["fac.e"]})
    found = across(hive("fac.a"), count=1)
    assert (found["count"], found["total"]) == (1, 4)
    counts = {
        facet["field"]: {one["value"]: one["count"] for one in facet["aggregations"]}
        for facet in found["facets"]
    }
    assert counts == {
        "degree": {"1": 1, "2": 1, "3+": 2},
        "_entityType": {"DATASET": 4},
        "platform": {HIVE: 4},
    }
    (platform,) = (one for one in found["facets"] if one["field"] == "platform")
    assert platform["aggregations"][0]["entity"] == {"urn": HIVE}


def test_columns_are_reached_from_a_column_as_the_sdk_asks(caller: Caller) -> None:
    def column(name: Any, path: Any) -> str:
        return f"urn:li:schemaField:({hive(name)},{path})"

    fine = {
        "upstreamType": "FIELD_SET",
        "upstreams": [column("sf.a", "id")],
        "downstreamType": "FIELD",
        "downstreams": [column("sf.b", "customer_id")],
        "confidenceScore": 1.0,
    }
    value = {"upstreams": [upstream("sf.a")], "fineGrainedLineages": [fine]}
    caller.ingest(hive("sf.b"), "upstreamLineage", value)
    caller.ingest(hive("sf.a"), "status", {"removed": False})
    grouping = {"baseEntityType": "SCHEMA_FIELD", "groupingEntityType": "SCHEMA_FIELD"}
    asked = {
        "urn": column("sf.b", "customer_id"),
        "direction": "UPSTREAM",
        "count": 500,
        "orFilters": [{"and": [degree_is("1", "2", "3+"), NOT_REMOVED]}],
        "searchFlags": {"groupingSpec": {"groupingCriteria": grouping}},
    }
    answer = caller.graphql(SCROLL, input=asked)
    assert "errors" not in answer, answer
    ends = [{"urn": asked["urn"], "type": "SCHEMA_FIELD"}]
    ends.append({"urn": column("sf.a", "id"), "type": "SCHEMA_FIELD"})
    assert answer["data"]["scrollAcrossLineage"] == {
        "nextScrollId": None,
        "searchResults": [{"degree": 1, "entity": ends[1], "paths": [{"path": ends}]}],
    }


class TestColumnsForDataHubsClients:
    """Lineage of a column as DataHub tells it: entities, with columns and what carries data between
    them in the paths."""

    RAW, CLEAN, WIDE, REPORT = (hive(f"dh.{one}") for one in ("raw", "clean", "wide", "report"))
    JOB = "urn:li:dataJob:(urn:li:dataFlow:(airflow,dh,PROD),widen)"
    QUERY = "urn:li:query:dh-clean"
    CHART = "urn:li:chart:(looker,dh.chart)"

    @staticmethod
    def column(owner: Any, path: str = "id") -> str:
        return f"urn:li:schemaField:({owner},{path})"

    @pytest.fixture(autouse=True)
    def drawn_columns(self, caller: Caller) -> None:
        def fine(ups: Any, downs: Any, **more: Any) -> Any:
            return {
                "upstreamType": "FIELD_SET",
                "upstreams": [self.column(*one) for one in ups],
                "downstreamType": "FIELD_SET",
                "downstreams": [self.column(*one) for one in downs],
            } | more

        for urn in (self.RAW, self.REPORT, self.CHART, self.QUERY):
            caller.ingest(urn, "status", {"removed": False})
        for urn, name, lineages in (
            (
                self.CLEAN,
                "dh.raw",
                [fine([(self.RAW,)], [(self.CLEAN,), (self.CLEAN, "copy")], query=self.QUERY)],
            ),
            (self.REPORT, "dh.wide", [fine([(self.WIDE, "copy")], [(self.REPORT,)])]),
        ):
            value = {"upstreams": [upstream(name)], "fineGrainedLineages": lineages}
            caller.ingest(urn, "upstreamLineage", value)
        value = {
            "inputDatasets": [self.CLEAN],
            "outputDatasets": [self.WIDE],
            "fineGrainedLineages": [
                fine([(self.CLEAN,)], [(self.WIDE,)]),
                fine([(self.CLEAN, "copy")], [(self.WIDE, "copy")]),
            ],
        }
        caller.ingest(self.JOB, "dataJobInputOutput", value)
        caller.ingest(self.WIDE, "datasetProperties", {"description": "wide"})
        shown = {
            "fieldPath": "shown",
            "nativeDataType": "",
            "type": {"type": {"com.linkedin.schema.StringType": {}}},
        }
        field = {"schemaFieldUrn": self.column(self.REPORT), "schemaField": shown}
        caller.ingest(self.CHART, "inputFields", {"fields": [field]})

    @pytest.fixture
    def ask(self, caller: Caller) -> Any:
        def ask(
            urn: Any,
            direction: str = "DOWNSTREAM",
            *criteria: Any,
            document: Any = SEARCH,
            **more: Any,
        ) -> Any:
            asked = {"urn": urn, "direction": direction, "count": 100} | more
            if criteria:
                asked["orFilters"] = [{"and": list(criteria)}]
            body = {"query": document, "variables": {"input": asked}}
            answer = caller.post("/api/graphql", body, **{"X-Catalog-Dialect": "datahub"}).json()
            assert "errors" not in answer, answer
            (found,) = answer["data"].values()
            return found

        return ask

    def paths(self, found: Any, urn: Any) -> Any:
        (result,) = (one for one in found["searchResults"] if one["entity"]["urn"] == urn)
        return sorted([one["urn"] for one in path["path"]] for path in result["paths"])

    def test_datasets_charts_and_jobs_are_found_once_with_every_way(self, ask: Any) -> None:
        found = ask(self.column(self.RAW))
        assert degrees(found) == {
            self.CLEAN: 1,
            self.WIDE: 2,
            self.JOB: 2,
            self.REPORT: 3,
            self.CHART: 4,
        }
        assert found["total"] == 5
        start, column = self.column(self.RAW), self.column
        assert self.paths(found, self.CLEAN) == [
            [start, self.QUERY, column(self.CLEAN, "copy")],
            [start, self.QUERY, column(self.CLEAN)],
        ]
        copied = [start, self.QUERY, column(self.CLEAN, "copy"), self.JOB]
        assert self.paths(found, self.WIDE) == [
            [*copied, column(self.WIDE, "copy")],
            [start, self.QUERY, column(self.CLEAN), self.JOB, column(self.WIDE)],
        ]
        assert self.paths(found, self.JOB) == [
            copied,
            [start, self.QUERY, column(self.CLEAN), self.JOB],
        ]
        assert self.paths(found, self.CHART) == [
            [*copied, column(self.WIDE, "copy"), column(self.REPORT), column(self.CHART, "shown")]
        ]
        (facet,) = (one for one in found["facets"] if one["field"] == "_entityType")
        counts = {one["value"]: one["count"] for one in facet["aggregations"]}
        assert counts == {"DATASET": 3, "DATA_JOB": 1, "CHART": 1}

    def test_the_same_is_found_upstream(self, ask: Any) -> None:
        found = ask(self.column(self.CHART, "shown"), "UPSTREAM")
        assert degrees(found) == {self.REPORT: 1, self.WIDE: 2, self.JOB: 3, self.CLEAN: 3} | {
            self.RAW: 4
        }

    def test_filters_look_at_the_entities_and_degrees_at_the_columns(self, ask: Any) -> None:
        start = self.column(self.RAW)
        assert degrees(ask(start, "DOWNSTREAM", degree_is("2"))) == {self.WIDE: 2, self.JOB: 2}
        assert degrees(ask(start, types=["DATASET"], query="wide")) == {self.WIDE: 2}
        looker = {"field": "platform", "values": ["urn:li:dataPlatform:looker"]}
        assert degrees(ask(start, "DOWNSTREAM", looker)) == {self.CHART: 4}
        assert degrees(ask(start, types=["QUERY"])) == {self.QUERY: 1}
        page = ask(start, start=1, count=2)
        assert [one["degree"] for one in page["searchResults"]] == [2, 2]
        assert (page["count"], page["total"]) == (2, 5)

    def test_what_is_removed_or_was_never_stored_is_left_out(
        self, caller: Caller, ask: Any
    ) -> None:
        caller.ingest(self.REPORT, "status", {"removed": True})
        found = ask(self.column(self.RAW))
        assert self.REPORT not in degrees(found)
        assert (found["total"], found["filtered"]) == (4, 1)
        assert self.REPORT in degrees(ask(self.column(self.RAW), includeSoftDelete=True))

    def test_a_grouping_that_keeps_columns_gives_columns_and_the_jobs_between_them(
        self, ask: Any
    ) -> None:
        start = self.column(self.CLEAN)
        kept: dict[str, Any] = {"groupingSpec": {"groupingCriteria": []}}
        found = ask(start, searchFlags=kept, includeGhostEntities=True)
        assert degrees(found) == {self.column(self.WIDE): 1, self.JOB: 1}
        assert self.paths(found, self.column(self.WIDE)) == [
            [start, self.JOB, self.column(self.WIDE)]
        ]
        grouped = {"baseEntityType": "SCHEMA_FIELD", "groupingEntityType": "DATASET"}
        as_datasets = {"groupingSpec": {"groupingCriteria": [grouped]}}
        assert degrees(ask(start, searchFlags=as_datasets)) == {self.WIDE: 1, self.JOB: 1}
        # A scroll does not look at it.
        scrolled = ask(start, document=SCROLL, searchFlags=kept)
        assert degrees(scrolled) == {self.WIDE: 1, self.JOB: 1}


def test_one_hop_tells_when_and_by_whom_each_edge_was_made(caller: Caller) -> None:
    ann, bob = "urn:li:corpuser:gl-ann", "urn:li:corpuser:gl-bob"
    by_hand = upstream(
        "hop.b",
        auditStamp={"time": 2000, "actor": bob},
        created={"time": 1000, "actor": ann},
        properties={"source": "UI"},
    )
    value = {"upstreams": [by_hand, upstream("hop.c")]}
    caller.ingest(hive("hop.a"), "upstreamLineage", value)
    job = "urn:li:dataJob:(urn:li:dataFlow:(airflow,glineage,PROD),hop)"
    made = {"destinationUrn": hive("hop.a"), "lastModified": {"time": 5000, "actor": bob}}
    caller.ingest(
        job,
        "dataJobInputOutput",
        {"inputDatasets": [], "outputDatasets": [], "outputDatasetEdges": [made]},
    )

    def lineage(**more: Any) -> Any:
        asked = {"direction": "UPSTREAM", "includeGhostEntities": True}
        answer = caller.graphql(LINEAGE, urn=hive("hop.a"), input=asked | more)
        assert "errors" not in answer, answer
        return answer["data"]["dataset"]["lineage"]

    found = lineage()
    assert (found["start"], found["count"], found["total"], found["filtered"]) == (0, 3, 3, 0)
    by_urn = {one["entity"]["urn"]: one for one in found["relationships"]}
    assert by_urn[hive("hop.b")] == {
        "type": "DownstreamOf",
        "degree": 1,
        "createdOn": 1000,
        "updatedOn": 2000,
        "isManual": True,
        "entity": {"urn": hive("hop.b"), "type": "DATASET"},
        "createdActor": {"urn": ann},
        "updatedActor": {"urn": bob},
        "paths": [{"path": [{"urn": hive("hop.a")}, {"urn": hive("hop.b")}]}],
    }
    assert by_urn[hive("hop.c")]["updatedOn"] is None
    assert (by_urn[job]["type"], by_urn[job]["updatedOn"]) == ("Produces", 5000)
    late = lineage(startTimeMillis=3000)
    assert {one["entity"]["urn"] for one in late["relationships"]} == {hive("hop.c"), job}
    assert (late["total"], late["filtered"]) == (2, 1)
    page = lineage(start=1, count=1)
    assert (page["count"], page["total"]) == (1, 3)
    assert page["relationships"] == found["relationships"][1:2]


class TestWhatIsNotThere:
    """Soft-deleted entities and those only pointed at are left out and counted."""

    A, KEPT, REMOVED, GHOST, END = (hive(f"not.{one}") for one in ("a", "b", "c", "ghost", "end"))

    @pytest.fixture(autouse=True)
    def half_gone(self, caller: Caller, drawn: Any) -> None:
        drawn({"not.a": ["not.b", "not.c", "not.ghost"], "not.c": ["not.end"]})
        for urn in (self.KEPT, self.END):
            caller.ingest(urn, "status", {"removed": False})
        caller.ingest(self.REMOVED, "status", {"removed": True})

    @pytest.mark.parametrize(
        ("asked", "more"),
        [
            ({}, []),
            ({"includeGhostEntities": True}, [GHOST]),
            ({"includeSoftDelete": True}, [REMOVED]),
            ({"includeGhostEntities": True, "includeSoftDelete": True}, [REMOVED, GHOST]),
        ],
    )
    def test_is_left_out_of_one_hop_and_of_all(
        self, caller: Caller, across: Any, asked: Any, more: Any
    ) -> None:
        answer = caller.graphql(
            LINEAGE, urn=self.A, input={"direction": "UPSTREAM", "count": 10} | asked
        )
        assert "errors" not in answer, answer
        found = answer["data"]["dataset"]["lineage"]
        urns = {one["entity"]["urn"] for one in found["relationships"]}
        assert urns == {self.KEPT, *more}
        assert (found["total"], found["filtered"]) == (1 + len(more), 2 - len(more))
        found = across(self.A, **({"includeGhostEntities": False} | asked))
        # The walk goes on through what is removed.
        assert set(degrees(found)) == {self.KEPT, self.END, *more}
        assert (found["total"], found["filtered"]) == (2 + len(more), 2 - len(more))
        counts = {one["field"]: one["aggregations"] for one in found["facets"]}
        assert sum(one["count"] for one in counts["degree"]) == found["total"]

    def test_pages_are_of_what_is_left(self, across: Any) -> None:
        pages = [
            degrees(across(self.A, start=at, count=1, includeGhostEntities=False)) for at in (0, 1)
        ]
        assert pages == [{self.KEPT: 1}, {self.END: 2}]

    def test_a_search_flag_or_a_filter_on_removed_says_otherwise(self, across: Any) -> None:
        flags = {"includeSoftDeleted": True}
        found = across(self.A, searchFlags=flags, includeGhostEntities=False)
        assert self.REMOVED in degrees(found)
        only = {"field": "removed", "values": ["true"]}
        assert degrees(across(self.A, "UPSTREAM", only)) == {self.REMOVED: 1}

    def test_lineage_flags_of_other_servers_are_taken(self, across: Any) -> None:
        flags = {
            "startTimeMillis": 1,
            "endTimeMillis": 2,
            "entitiesExploredPerHopLimit": 50,
            "ignoreAsHops": [{"entityType": "DATA_JOB", "platforms": ["urn:li:dataPlatform:dbt"]}],
        }
        assert across(self.A, lineageFlags=flags)["total"] == 3

    def test_get_lineage_marks_it_for_plain_callers_and_leaves_it_out_for_datahubs(
        self, caller: Caller
    ) -> None:
        asked = {"urn": self.A, "direction": "UPSTREAM", "maxHops": 3}

        def ask(dialect: Any, **more: Any) -> Any:
            path, headers = "/relationships?action=getLineage", {"X-Catalog-Dialect": dialect}
            value = caller.post(path, asked | more, **headers).json()["value"]
            return {one["entity"] for one in value["relationships"]}, value["filtered"]

        every = {self.KEPT, self.REMOVED, self.GHOST, self.END}
        assert ask("plain") == (every, 0)
        assert ask("plain", includeGhostEntities=False) == (every - {self.GHOST}, 1)
        assert ask("datahub") == ({self.KEPT, self.END}, 2)
        assert ask("datahub", includeSoftDelete=True) == (every - {self.GHOST}, 1)


def test_relationships_are_read_both_ways_and_can_leave_out_the_removed(caller: Caller) -> None:
    owner = "urn:li:corpuser:gl-owner"
    caller.ingest(owner, "corpUserInfo", {"active": True})
    owned = {"owners": [{"owner": owner, "type": "NONE"}]}
    for name in ("rel.a", "rel.b"):
        caller.ingest(hive(name), "ownership", owned)
    caller.ingest(hive("rel.b"), "status", {"removed": True})

    def related(urn: Any, **asked: Any) -> Any:
        answer = caller.graphql(RELATED, urn=urn, input={"types": ["OwnedBy"]} | asked)
        assert "errors" not in answer, answer
        return answer["data"]["entity"]["relationships"]

    assert related(hive("rel.a"), direction="OUTGOING") == {
        "start": 0,
        "count": 1,
        "total": 1,
        "relationships": [
            {
                "type": "OwnedBy",
                "direction": "OUTGOING",
                "entity": {"urn": owner, "type": "CORP_USER"},
                "created": None,
            }
        ],
    }
    assert related(owner, direction="INCOMING")["total"] == 2
    kept = related(owner, direction="INCOMING", includeSoftDelete=False)
    assert kept["total"] == 1
    assert kept["relationships"][0]["entity"] == {"urn": hive("rel.a")}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"urn": "nonsense"}, "expected 'urn:li:"),
        ({"start": -1}, "must not be negative"),
        ({"orFilters": [{"and": [{"field": "degree", "values": ["many"]}]}]}, "3+"),
        (
            {
                "orFilters": [
                    {"and": [{"field": "degree", "values": ["1"], "condition": "CONTAIN"}]}
                ]
            },
            "cannot be compared by CONTAIN",
        ),
        (
            {
                "orFilters": [
                    {"and": [{"field": "degree", "values": ["1"], "condition": "BETWEEN"}]}
                ]
            },
            "two values",
        ),
        ({"orFilters": [{"and": [{"field": "nonsense", "values": ["x"]}]}]}, "nonsense"),
    ],
)
def test_a_question_that_cannot_be_understood_is_one_clear_error(
    caller: Caller, desk: Any, wrong: Any, said: str
) -> None:
    asked = {"urn": hive("x"), "direction": "UPSTREAM"} | wrong
    error = desk.one_error(caller.graphql(SEARCH, input=asked))
    assert error["extensions"]["code"] == 400
    assert said in error["message"]


UPDATE = "mutation edges($input: UpdateLineageInput!) { updateLineage(input: $input) }"
JOB = "urn:li:dataJob:(urn:li:dataFlow:(airflow,daily,PROD),load)"
CHART, BOARD = "urn:li:chart:(looker,c)", "urn:li:dashboard:(looker,b)"
LONE, BARE = hive("lone"), "urn:li:chart:(looker,bare)"


def _upstream_of(caller: Caller, urn: str) -> set[str]:
    nearest = [{"and": [{"field": "degree", "values": ["1"]}]}]
    asked = {"urn": urn, "direction": "UPSTREAM", "orFilters": nearest}
    found = caller.graphql(SEARCH, input=asked)["data"]["searchAcrossLineage"]["searchResults"]
    return {one["entity"]["urn"] for one in found}


def test_edges_are_added_and_removed_as_the_lineage_tutorial_of_datahub_does(
    caller: Caller,
) -> None:
    a, b = hive("from"), hive("into")
    stamps = {"created": NOBODY, "lastModified": NOBODY}
    info = {"title": "t", "description": "", "lastModified": stamps}
    for urn in (a, b, JOB):
        caller.ingest(urn, "status", {"removed": False})
    caller.ingest(CHART, "chartInfo", {**info, "inputs": [{"string": a}]})
    caller.ingest(BOARD, "dashboardInfo", {**info, "charts": [], "datasets": []})
    edges = [(a, b), (JOB, b), (a, JOB), (a, CHART), (b, CHART), (CHART, BOARD), (b, BOARD)]
    listed = [{"upstreamUrn": up, "downstreamUrn": down} for up, down in edges]
    for _ in range(2):
        done = caller.graphql(UPDATE, input={"edgesToAdd": listed, "edgesToRemove": []})
        assert done["data"] == {"updateLineage": True}
    assert {urn: _upstream_of(caller, urn) for urn in (b, JOB, CHART, BOARD)} == {
        b: {a, JOB},
        JOB: {a},
        CHART: {a, b},
        BOARD: {CHART, b},
    }
    (edge,) = caller.value(CHART, "chartInfo")["inputEdges"]
    assert (edge["destinationUrn"], edge["properties"]) == (b, {"source": "UI"})
    assert caller.value(CHART, "chartInfo")["lastModified"] == stamps
    done = caller.graphql(UPDATE, input={"edgesToAdd": [], "edgesToRemove": [*listed, listed[0]]})
    assert done["data"] == {"updateLineage": True}
    assert not any(_upstream_of(caller, urn) for urn in (b, JOB, CHART, BOARD))


@pytest.mark.parametrize(
    ("up", "down", "said"),
    [
        (hive("absent"), LONE, "absent,PROD) does not exist"),
        (LONE, hive("absent"), "absent,PROD) does not exist"),
        (BARE, LONE, "cannot be upstream"),
        (LONE, BARE, "has no chartInfo"),
        ("nonsense", LONE, "expected 'urn:li:"),
    ],
)
def test_an_edge_that_cannot_be_is_refused_with_all_others(
    caller: Caller, desk: Any, up: str, down: str, said: str
) -> None:
    for urn in (LONE, BARE, hive("near")):
        caller.ingest(urn, "status", {"removed": False})
    good = {"upstreamUrn": hive("near"), "downstreamUrn": LONE}
    bad = {"upstreamUrn": up, "downstreamUrn": down}
    wrong = {"edgesToAdd": [good, bad], "edgesToRemove": []}
    assert said in desk.one_error(caller.graphql(UPDATE, input=wrong))["message"]
    assert not _upstream_of(caller, LONE)
