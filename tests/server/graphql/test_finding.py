"""Searches, scrolls, completions, folders and trees through GraphQL."""

from typing import Any

import pytest

from tests.server.conftest import Caller

WORD = "gqlfindable"


@pytest.fixture(scope="module")
def shelf(caller: Caller) -> Any:
    """Seven datasets that one word finds, one of them removed, and a chart."""
    urns = []
    for n in range(7):
        platform = "hive" if n % 2 else "kafka"
        urn = f"urn:li:dataset:(urn:li:dataPlatform:{platform},{WORD}.t{n},PROD)"
        caller.ingest(urn, "datasetProperties", {"name": f"{WORD} {n}", "customProperties": {}})
        urns.append(urn)
    caller.ingest(urns[6], "status", {"removed": True})
    chart = f"urn:li:chart:(looker,{WORD})"
    stamp = {"time": 0, "actor": "urn:li:corpuser:a"}
    stamps = {"created": stamp, "lastModified": stamp}
    info = {"title": f"{WORD} chart", "description": "", "lastModified": stamps}
    caller.ingest(chart, "chartInfo", info)
    return urns[:6]


def search(caller: Any, fields: Any, **asked: Any) -> Any:
    query = (
        "query($i: SearchAcrossEntitiesInput!) { searchAcrossEntities(input: $i) { "
        + fields
        + " } }"
    )
    answer = caller.graphql(query, i={"query": WORD, **asked})
    assert "errors" not in answer, answer
    return answer["data"]["searchAcrossEntities"]


def urns_of(results: Any) -> Any:
    return {one["entity"]["urn"] for one in results["searchResults"]}


def test_a_search_gives_its_page_with_what_matched(caller: Caller, shelf: Any) -> None:
    query = """query($i: SearchInput!) { search(input: $i) {
      start count total
      searchResults {
        entity { urn type ... on Dataset { name } } matchedFields { name value weight } score
        reason
      }
    } }"""
    given = {"type": "DATASET", "query": WORD}
    found = caller.graphql(query, i=given)["data"]["search"]
    assert (found["start"], found["count"], found["total"]) == (0, 6, 6)
    assert urns_of(found) == set(shelf)
    first = found["searchResults"][0]
    assert first["entity"]["name"].startswith(WORD)
    assert any(WORD in match["value"] for match in first["matchedFields"])
    assert first["reason"] == "a name begins with what was typed"
    assert {match["weight"] for match in first["matchedFields"]} == {10}
    page = caller.graphql(query, i={**given, "start": 4, "count": 5})["data"]["search"]
    assert (page["start"], page["count"], page["total"]) == (4, 2, 6)


def test_filters_types_and_flags_narrow_a_search(caller: Caller, shelf: Any) -> None:
    fields = "total searchResults { entity { urn } }"
    hive = {"field": "platform.keyword", "values": ["urn:li:dataPlatform:hive"]}
    both = search(caller, fields)
    assert both["total"] == 7
    assert search(caller, fields, types=["CHART"])["total"] == 1
    assert search(caller, fields, orFilters=[{"and": [hive]}])["total"] == 3
    assert (
        search(caller, fields, filters=[{"field": "platform", "value": hive["values"][0]}])["total"]
        == 3
    )
    kinds = {"field": "_entityType", "values": ["DATASET"]}
    assert urns_of(search(caller, fields, orFilters=[{"and": [kinds]}])) == set(shelf)
    others = {**hive, "negated": True}
    assert search(caller, fields, orFilters=[{"and": [kinds, others]}])["total"] == 3
    assert search(caller, fields, searchFlags={"includeSoftDeleted": True})["total"] == 8


def test_facets_speak_in_symbols_and_are_cut(caller: Caller, shelf: Any) -> None:
    fields = "facets { field displayName aggregations { value count entity { urn } } }"
    facets = {one["field"]: one for one in search(caller, fields)["facets"]}
    kinds = {one["value"]: one["count"] for one in facets["_entityType"]["aggregations"]}
    assert kinds == {"DATASET": 6, "CHART": 1}
    hive = facets["platform"]["aggregations"][0]
    assert hive["entity"] == {"urn": hive["value"]}
    cut = search(caller, fields, searchFlags={"maxAggValues": 1})["facets"]
    assert all(len(one["aggregations"]) == 1 for one in cut)
    assert search(caller, fields, searchFlags={"skipAggregates": True})["facets"] == []
    query = """query($i: AggregateAcrossEntitiesInput!) { aggregateAcrossEntities(input: $i) {
      facets { field aggregations { value count } }
    } }"""
    given = {"query": WORD, "facets": ["platform"], "types": ["DATASET"]}
    (facet,) = caller.graphql(query, i=given)["data"]["aggregateAcrossEntities"]["facets"]
    assert {one["count"] for one in facet["aggregations"]} == {3}
    platforms = [one["value"] for one in facet["aggregations"]]
    # Facets of facets, and the name by which older clients ask for entity types.
    given = {"query": WORD, "facets": ["_entityType␞platform", "entity"]}
    told = caller.graphql(query, i=given)["data"]["aggregateAcrossEntities"]["facets"]
    counts = {
        facet["field"]: {one["value"]: one["count"] for one in facet["aggregations"]}
        for facet in told
    }
    assert counts["entity"] == {"DATASET": 6, "CHART": 1}
    pairs = {f"DATASET␞{platform}": 3 for platform in platforms}
    assert pairs.items() <= counts["_entityType␞platform"].items()
    assert sum(counts["_entityType␞platform"].values()) == 7
    # A value of such a facet is a filter.
    criterion = {"field": "_entityType␞platform", "values": [f"DATASET␞{platforms[0]}"]}
    assert search(caller, "total", orFilters=[{"and": [criterion]}])["total"] == 3


def test_a_search_is_sorted_as_asked(caller: Caller, shelf: Any) -> None:
    fields = "searchResults { entity { ... on Dataset { properties { name } } } }"
    order = {"sortCriterion": {"field": "name", "sortOrder": "DESCENDING"}}
    found = search(caller, fields, types=["DATASET"], sortInput=order)
    names = [one["entity"]["properties"]["name"] for one in found["searchResults"]]
    assert names == [f"{WORD} {n}" for n in (5, 4, 3, 2, 1, 0)]


def test_a_scroll_meets_everything_once_and_ends(caller: Caller, shelf: Any) -> None:
    query = """query($s: String) { scrollAcrossEntities(input: {
      query: "gqlfindable", types: [DATASET], count: 2, scrollId: $s,
      searchFlags: { fetchExtraFields: ["name"] }
    }) { nextScrollId total searchResults { entity { urn } extraProperties { name value } } } }"""
    met, scroll = [], None
    for _ in range(5):
        page = caller.graphql(query, s=scroll)["data"]["scrollAcrossEntities"]
        met += page["searchResults"]
        scroll = page["nextScrollId"]
        if scroll is None:
            break
    assert scroll is None
    assert sorted(one["entity"]["urn"] for one in met) == sorted(shelf)
    assert met[0]["extraProperties"][0]["name"] == "name"
    assert WORD in met[0]["extraProperties"][0]["value"]
    error = caller.graphql(query, s="nonsense")["errors"][0]
    assert error["extensions"]["code"] == 400


def test_names_are_completed(caller: Caller, shelf: Any) -> None:
    query = """query($q: String!) {
      one: autoComplete(input: { type: DATASET, query: $q, limit: 3 }) {
        query suggestions entities { urn }
      }
      each: autoCompleteForMultiple(input: { query: $q, types: [DATASET, CHART, TAG] }) {
        suggestions { type suggestions entities { __typename } }
      }
    }"""
    read = caller.graphql(query, q=WORD[:6])["data"]
    assert len(read["one"]["suggestions"]) == len(read["one"]["entities"]) == 3
    assert [one["type"] for one in read["each"]["suggestions"]] == ["DATASET", "CHART"]
    assert read["each"]["suggestions"][1]["entities"] == [{"__typename": "Chart"}]


def test_folders_are_walked_down_to_the_entity(caller: Caller, shelf: Any) -> None:
    query = """query($p: [String!], $u: String!) {
      browse(input: { type: DATASET, path: $p, count: 100 }) {
        total groups { name count } entities { urn } metadata { path totalNumEntities }
      }
      browsePaths(input: { type: DATASET, urn: $u }) { path }
    }"""
    hive = shelf[1]
    read = caller.graphql(query, p=["prod", "hive"], u=hive)["data"]
    assert {"name": WORD, "count": 3} in read["browse"]["groups"]
    below = caller.graphql(query, p=["prod", "hive", WORD], u=hive)["data"]["browse"]
    assert below["total"] == 3
    assert hive in [one["urn"] for one in below["entities"]]
    assert below["metadata"] == {"path": ["prod", "hive", WORD], "totalNumEntities": 3}
    assert read["browsePaths"][0]["path"][:3] == ["prod", "hive", WORD]


def test_folders_of_todays_paths_are_walked_too(caller: Caller, dataset: str) -> None:
    top = "urn:li:container:gqlfolder"
    caller.ingest(top, "containerProperties", {"name": "Folder"})
    path = [{"id": top, "urn": top}, {"id": "gqlinner"}]
    caller.ingest(dataset, "browsePathsV2", {"path": path})
    query = """query($p: [String!]) { browseV2(input: { type: DATASET, path: $p, count: 1000 }) {
      total groups { name count hasSubGroups entity { urn } }
    } }"""
    groups = caller.graphql(query, p=[])["data"]["browseV2"]["groups"]
    (mine,) = [one for one in groups if one["name"] == top]
    assert mine == {"name": top, "count": 1, "hasSubGroups": True, "entity": {"urn": top}}
    (inner,) = caller.graphql(query, p=[top])["data"]["browseV2"]["groups"]
    assert (inner["name"], inner["hasSubGroups"]) == ("gqlinner", False)


def test_trees_begin_with_what_is_in_nothing(caller: Caller) -> None:
    caller.ingest("urn:li:domain:gqltop", "domainProperties", {"name": "A top"})
    within = {"name": "Within", "parentDomain": "urn:li:domain:gqltop"}
    caller.ingest("urn:li:domain:gqlwithin", "domainProperties", within)
    query = """query($p: String) { listDomains(input: { count: 100, parentDomain: $p }) {
      total domains { urn properties { name } parentDomains { domains { urn } } }
    } }"""
    top = [one["urn"] for one in caller.graphql(query)["data"]["listDomains"]["domains"]]
    assert "urn:li:domain:gqltop" in top
    assert "urn:li:domain:gqlwithin" not in top
    below = caller.graphql(query, p="urn:li:domain:gqltop")["data"]["listDomains"]
    assert below["domains"] == [
        {
            "urn": "urn:li:domain:gqlwithin",
            "properties": {"name": "Within"},
            "parentDomains": {"domains": [{"urn": "urn:li:domain:gqltop"}]},
        }
    ]


def test_a_term_gives_all_the_groups_that_it_is_in(caller: Caller) -> None:
    outer, inner = "urn:li:glossaryNode:gqlouter", "urn:li:glossaryNode:gqlinner"
    definition = {"definition": "", "termSource": "INTERNAL"}
    caller.ingest(outer, "glossaryNodeInfo", {"definition": ""})
    caller.ingest(inner, "glossaryNodeInfo", {"definition": "", "parentNode": outer})
    caller.ingest(
        "urn:li:glossaryTerm:gql", "glossaryTermInfo", {**definition, "parentNode": inner}
    )
    fields = "{ parentNodes { count nodes { urn } } }"
    query = f'{{ glossaryTerm(urn: "urn:li:glossaryTerm:gql") {fields} }}'
    assert caller.graphql(query)["data"]["glossaryTerm"]["parentNodes"] == {
        "count": 2,
        "nodes": [{"urn": inner}, {"urn": outer}],
    }


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"count": 10_001}, "10000"),
        ({"start": 9_991}, "scrollAcrossEntities"),
        ({"start": -1}, "negative"),
        ({"viewUrn": "urn:li:dataHubView:x"}, "is not a stored view"),
        ({"orFilters": [{"and": [{"field": "nonsense", "values": ["x"]}]}]}, "nonsense"),
    ],
)
def test_a_search_that_cannot_be_done_says_why(caller: Caller, asked: Any, told: str) -> None:
    query = "query($i: SearchAcrossEntitiesInput!) { searchAcrossEntities(input: $i) { total } }"
    answer = caller.graphql(query, i={"query": "*", **asked})
    (error,) = answer["errors"]
    assert told in error["message"]
    assert error["extensions"]["code"] == 400


PAGE = """query($n: Int!) { scrollAcrossEntities(input: { query: "*", count: $n }) {
  searchResults { entity { urn %s } }
} }"""


def test_lists_count_as_long_as_they_are(caller: Caller, shelf: Any) -> None:
    fields = " ".join(f"f{n}: type" for n in range(60))
    for count in (100, 5_000, 10_000):
        assert "errors" not in caller.graphql(PAGE % fields, n=count)


def nested_dataset(level: Any) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,nested.{level},PROD)"


@pytest.fixture(scope="module")
def nested(caller: Caller) -> Any:
    """Three nested domains, containers and a glossary, each with a dataset of its own name."""
    found = {}
    levels = ("top", "middle", "bottom")
    for kind, aspect, parent, more in (
        ("domain", "domainProperties", "parentDomain", {"name": "nested"}),
        ("container", "container", "container", {}),
        ("glossaryNode", "glossaryNodeInfo", "parentNode", {"definition": ""}),
    ):
        urns = {level: f"urn:li:{kind}:nested-{level}" for level in levels}
        for above, level in zip((None, *levels), levels, strict=False):
            value = more | ({parent: urns[above]} if above else {})
            if value:
                caller.ingest(urns[level], aspect, value)
            else:
                caller.ingest(urns[level], "status", {"removed": False})
        found[kind] = urns
    terms = {level: f"urn:li:glossaryTerm:nested-{level}" for level in levels}
    for level in levels:
        info = {"definition": "", "termSource": "INTERNAL"}
        info["parentNode"] = found["glossaryNode"][level]
        caller.ingest(terms[level], "glossaryTermInfo", info)
        urn = nested_dataset(level)
        stamp = {"time": 0, "actor": "urn:li:corpuser:a"}
        tagged = {"terms": [{"urn": terms[level]}], "auditStamp": stamp}
        caller.ingest(urn, "glossaryTerms", tagged)
        caller.ingest(urn, "domains", {"domains": [found["domain"][level]]})
        caller.ingest(urn, "container", {"container": found["container"][level]})
    return found


class TestWhatIsRelated:
    """Conditions that find by domains, containers and glossary nodes above and below too."""

    @pytest.mark.parametrize(
        ("condition", "levels"),
        [
            ("EQUAL", ["middle"]),
            ("DESCENDANTS_INCL", ["bottom", "middle"]),
            ("ANCESTORS_INCL", ["middle", "top"]),
            ("RELATED_INCL", ["bottom", "middle", "top"]),
        ],
    )
    @pytest.mark.parametrize(("field", "kind"), [("domains", "domain"), ("container", "container")])
    def test_is_found_as_the_condition_says(
        self, caller: Caller, nested: Any, condition: str, levels: Any, field: str, kind: str
    ) -> None:
        criterion = {"field": field, "values": [nested[kind]["middle"]], "condition": condition}
        wanted = {nested_dataset(level) for level in levels}
        asked = {"types": ["DATASET"], "orFilters": [{"and": [criterion]}], "query": "*"}
        fields = "total searchResults { entity { urn } }"
        assert urns_of(search(caller, fields, **asked)) == wanted
        # A value that is asked for can be left out.
        negated = [{"and": [criterion | {"negated": True}]}]
        others = search(caller, fields, **asked | {"orFilters": negated, "count": 1000})
        assert not wanted & urns_of(others)
        plain = caller.search("*", filter={"or": [{"and": [criterion]}]})
        assert set(plain["entities"]) == wanted

    def test_a_glossary_node_finds_what_its_terms_are_on(self, caller: Caller, nested: Any) -> None:
        node = nested["glossaryNode"]["middle"]
        criterion = {"field": "glossaryTerms", "values": [node], "condition": "DESCENDANTS_INCL"}
        asked = {"types": ["DATASET"], "orFilters": [{"and": [criterion]}], "query": "*"}
        found = search(caller, "searchResults { entity { urn } }", **asked)
        assert urns_of(found) == {nested_dataset("middle"), nested_dataset("bottom")}

    def test_a_flag_keeps_the_filter_as_it_was_written(self, caller: Caller, nested: Any) -> None:
        criterion = {
            "field": "domains",
            "values": [nested["domain"]["top"]],
            "condition": "RELATED_INCL",
        }
        asked = {"types": ["DATASET"], "orFilters": [{"and": [criterion]}], "query": "*"}
        asked["searchFlags"] = {"rewriteQuery": False}
        found = search(caller, "searchResults { entity { urn } }", **asked)
        assert urns_of(found) == {nested_dataset("top")}


class TestWithoutTypes:
    """What only describes others, such as platforms, ownership types and columns, is not among
    what is searched."""

    PLATFORM = "urn:li:dataPlatform:gqlunlisted"
    COLUMN = f"urn:li:schemaField:({nested_dataset('top')},gqlunlisted)"
    KIND = "urn:li:ownershipType:gqlunlisted"

    @pytest.fixture(autouse=True)
    def described(self, caller: Caller) -> None:
        info: dict[str, Any] = {
            "name": "gqlunlisted",
            "type": "OTHERS",
            "datasetNameDelimiter": ".",
        }
        caller.ingest(self.PLATFORM, "dataPlatformInfo", info)
        stamp = {"time": 0, "actor": "urn:li:corpuser:a"}
        info = {"name": "gqlunlisted", "created": stamp, "lastModified": stamp}
        caller.ingest(self.KIND, "ownershipTypeInfo", info)
        text = {"documentations": [{"documentation": "gqlunlisted"}]}
        caller.ingest(self.COLUMN, "documentation", text)

    @pytest.mark.parametrize("text", ["*", "", "gqlunlisted"])
    def test_it_is_left_out(self, caller: Caller, text: str) -> None:
        fields = "searchResults { entity { urn type } } facets { field aggregations { value } }"
        flags = {"maxAggValues": 100}
        found = search(caller, fields, query=text, count=1000, searchFlags=flags)
        kinds = {one["entity"]["type"] for one in found["searchResults"]}
        assert not kinds & {"DATA_PLATFORM", "OWNERSHIP_TYPE", "SCHEMA_FIELD"}
        counted = {
            value["value"]
            for facet in found["facets"]
            if facet["field"] == "_entityType"
            for value in facet["aggregations"]
        }
        # A facet lists the values of most results; a page need not hold something of every type.
        assert bool(kinds) == bool(counted)
        assert not counted & {"DATA_PLATFORM", "OWNERSHIP_TYPE", "SCHEMA_FIELD"}
        body = {"input": text, "start": 0, "count": 1000}
        value = caller.post("/entities?action=searchAcrossEntities", body).json()["value"]
        assert {self.PLATFORM, self.KIND, self.COLUMN}.isdisjoint(value["entities"])

    @pytest.mark.parametrize(
        "criterion",
        [
            {"field": "_entityType", "values": ["DATASET"], "negated": True},
            {"field": "urn", "values": ["zzz"], "condition": "CONTAIN", "negated": True},
            {"field": "urn", "values": [], "condition": "EXISTS"},
            {"field": "removed", "values": ["false"]},
        ],
    )
    def test_a_filter_never_adds_it(self, caller: Caller, criterion: Any) -> None:
        fields = "searchResults { entity { urn } }"
        every = set(urns_of(search(caller, fields, query="*", count=1000)))
        narrowed = [{"and": [criterion]}]
        found = set(urns_of(search(caller, fields, query="*", count=1000, orFilters=narrowed)))
        assert found <= every
        # An alternative that names a type adds that type alone.
        named = {"field": "_entityType", "values": ["OWNERSHIP_TYPE"]}
        either = [*narrowed, {"and": [named]}]
        both = set(urns_of(search(caller, fields, query="*", count=1000, orFilters=either)))
        assert self.KIND in both
        assert all(":ownershipType:" in urn for urn in both - every)

    def test_a_filter_by_an_unknown_field_never_adds_it(self, caller: Caller) -> None:
        body = {"input": "*", "start": 0, "count": 1000}
        datahub = {"x-catalog-dialect": "datahub"}

        def found(**more: Any) -> set[str]:
            answer = caller.post("/entities?action=searchAcrossEntities", body | more, **datahub)
            return {one["entity"] for one in answer.json()["value"]["entities"]}

        every = found()
        for unknown in ({"condition": "IS_NULL"}, {"values": ["x"], "negated": True}):
            criterion = {"field": "nope", **unknown}
            assert found(filter={"or": [{"and": [criterion]}]}) == every

    @pytest.mark.parametrize(
        "asked",
        [
            {"types": ["DATA_PLATFORM"]},
            {"orFilters": [{"and": [{"field": "_entityType", "values": ["DATA_PLATFORM"]}]}]},
            {"orFilters": [{"and": [{"field": "urn", "values": [PLATFORM]}]}]},
        ],
    )
    def test_it_is_found_where_it_is_asked_for(self, caller: Caller, asked: Any) -> None:
        fields = "searchResults { entity { urn } }"
        assert self.PLATFORM in urns_of(search(caller, fields, query="*", count=1000, **asked))
