"""Lineage over several hops: what is reached, how, and what is said of it."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from explorer.metadata.urn import Urn
from explorer.query.filters import Criterion, Filter
from explorer.server.catalog import CatalogEngine
from explorer.server.lineage import Candidate, LineageFilter, LineageQuestion, LineageService
from explorer.server.lineage_graph import LineageLimits
from tests.server.conftest import Caller

NOBODY = {"time": 0, "actor": "urn:li:corpuser:x"}


def hive(name: Any) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,lineage.{name},PROD)"


def job(name: Any) -> str:
    return f"urn:li:dataJob:(urn:li:dataFlow:(airflow,lineage,PROD),{name})"


def column(name: Any, path: Any) -> str:
    return f"urn:li:schemaField:({hive(name)},{path})"


def made_of(*names: Any, fine: Any = ()) -> Any:
    """An upstreamLineage value; `fine` holds (upstream columns, downstream columns)."""
    upstreams = [
        {"auditStamp": NOBODY, "dataset": hive(name), "type": "TRANSFORMED"} for name in names
    ]
    value = {"upstreams": upstreams}
    if fine:
        value["fineGrainedLineages"] = [fine_grained(*pair) for pair in fine]
    return value


def fine_grained(ups: Any, downs: Any) -> Any:
    return {
        "upstreamType": "FIELD_SET",
        "upstreams": ups,
        "downstreamType": "FIELD_SET",
        "downstreams": downs,
        "confidenceScore": 1.0,
    }


@pytest.fixture
def drawn(caller: Caller) -> Any:
    """Draw a graph of datasets: name to the names it is made of."""

    def draw(graph: Any) -> None:
        answer = caller.batch(
            *(
                caller.proposal(hive(name), "upstreamLineage", made_of(*upstreams))
                for name, upstreams in graph.items()
            )
        )
        assert answer.status_code == 200, answer.text

    return draw


@pytest.fixture
def ask(caller: Caller) -> Any:
    def ask(urn: Any, direction: str = "UPSTREAM", **more: Any) -> Any:
        body = {"urn": urn, "direction": direction, "maxHops": 100} | more
        answer = caller.post("/relationships?action=getLineage", body)
        assert answer.status_code == 200, answer.text
        return answer.json()["value"]

    return ask


def degrees(value: Any) -> Any:
    return {one["entity"]: one["degree"] for one in value["relationships"]}


def test_a_diamond_gives_its_end_once_with_both_shortest_paths(drawn: Any, ask: Any) -> None:
    drawn({"dia.a": ["dia.b", "dia.c"], "dia.b": ["dia.d"], "dia.c": ["dia.d"]})
    a, b, c, d = (hive(f"dia.{one}") for one in "abcd")
    value = ask(a)
    assert degrees(value) == {b: 1, c: 1, d: 2}
    assert (value["start"], value["count"], value["total"]) == (0, 3, 3)
    end = value["relationships"][-1]
    assert sorted(end["paths"]) == [[a, b, d], [a, c, d]]
    assert (end["type"], end["types"], end["degrees"]) == ("DownstreamOf", ["DownstreamOf"], [2])
    assert degrees(ask(d, "DOWNSTREAM")) == {b: 1, c: 1, a: 2}


def test_one_hop_is_walked_unless_more_are_asked_for(drawn: Any, ask: Any) -> None:
    drawn({"hop.a": ["hop.b"], "hop.b": ["hop.c"], "hop.c": ["hop.d"]})
    b, c = hive("hop.b"), hive("hop.c")
    assert degrees(ask(hive("hop.a"), maxHops=None)) == {b: 1}
    assert degrees(ask(hive("hop.a"), maxHops=2)) == {b: 1, c: 2}


def test_a_cycle_ends_and_does_not_reach_its_start(drawn: Any, ask: Any) -> None:
    drawn({"cyc.a": ["cyc.b"], "cyc.b": ["cyc.c"], "cyc.c": ["cyc.a", "cyc.c"]})
    assert degrees(ask(hive("cyc.a"))) == {hive("cyc.b"): 1, hive("cyc.c"): 2}
    edges = pairs(lists(ask, hive("cyc.a")))
    assert {(up, down) for up, down, _ in edges} == {
        (hive("cyc.b"), hive("cyc.a")),
        (hive("cyc.c"), hive("cyc.b")),
        (hive("cyc.a"), hive("cyc.c")),
        (hive("cyc.c"), hive("cyc.c")),
    }


def test_an_entity_met_at_two_degrees_has_the_shorter_and_names_both(drawn: Any, ask: Any) -> None:
    drawn({"two.a": ["two.b", "two.c"], "two.b": ["two.c"]})
    found = {one["entity"]: one for one in ask(hive("two.a"))["relationships"]}
    far = found[hive("two.c")]
    assert (far["degree"], far["degrees"]) == (1, [1, 2])
    assert far["paths"] == [[hive("two.a"), hive("two.c")]]


def test_what_was_never_stored_or_is_soft_deleted_is_reached_and_marked(
    caller: Caller, drawn: Any, ask: Any
) -> None:
    drawn({"gone.a": ["gone.ghost", "gone.removed"], "gone.removed": ["gone.end"]})
    caller.ingest(hive("gone.removed"), "status", {"removed": True})
    marks = {
        one["entity"]: (one["exists"], one["removed"], one["degree"])
        for one in ask(hive("gone.a"))["relationships"]
    }
    assert marks == {
        hive("gone.ghost"): (False, False, 1),
        hive("gone.removed"): (True, True, 1),
        hive("gone.end"): (False, False, 2),
    }
    assert degrees(ask(hive("gone.end"), "DOWNSTREAM")) == {
        hive("gone.removed"): 1,
        hive("gone.a"): 2,
    }


def test_a_job_between_two_datasets_makes_them_two_hops_apart(caller: Caller, ask: Any) -> None:
    source, target, middle = hive("job.in"), hive("job.out"), job("copy")
    caller.ingest(
        middle,
        "dataJobInputOutput",
        {"inputDatasets": [source], "outputDatasets": [target]},
    )
    value = ask(source, "DOWNSTREAM")
    assert degrees(value) == {middle: 1, target: 2}
    assert [one["type"] for one in value["relationships"]] == ["Consumes", "Produces"]
    assert value["relationships"][1]["paths"] == [[source, middle, target]]
    assert degrees(ask(target)) == {middle: 1, source: 2}
    assert degrees(ask(middle)) == {source: 1}
    assert degrees(ask(middle, "DOWNSTREAM")) == {target: 1}
    edges = pairs(lists(ask, source, "DOWNSTREAM"))
    assert edges == [(middle, target, "Produces"), (source, middle, "Consumes")]


def test_dashboards_are_made_of_charts_and_these_of_datasets(caller: Caller, ask: Any) -> None:
    chart, dashboard = "urn:li:chart:(looker,lineage)", "urn:li:dashboard:(looker,lineage)"
    stamps = {"created": NOBODY, "lastModified": NOBODY}
    about = {"title": "t", "description": "", "lastModified": stamps}
    caller.ingest(chart, "chartInfo", about | {"inputs": [{"string": hive("bi")}]})
    caller.ingest(dashboard, "dashboardInfo", about | {"charts": [chart]})
    found = ask(hive("bi"), "DOWNSTREAM")["relationships"]
    assert [(one["entity"], one["type"], one["degree"]) for one in found] == [
        (chart, "Consumes", 1),
        (dashboard, "Contains", 2),
    ]


def test_models_are_made_of_features_and_training_jobs_and_make_their_groups(
    caller: Caller, ask: Any
) -> None:
    model = "urn:li:mlModel:(urn:li:dataPlatform:science,lineage,PROD)"
    group = "urn:li:mlModelGroup:(urn:li:dataPlatform:science,lineage,PROD)"
    feature = "urn:li:mlFeature:(lineage,f)"
    caller.ingest(feature, "mlFeatureProperties", {"sources": [hive("ml")]})
    caller.ingest(
        model,
        "mlModelProperties",
        {"mlFeatures": [feature], "trainingJobs": [job("train")], "groups": [group]},
    )
    assert degrees(ask(model)) == {feature: 1, job("train"): 1, hive("ml"): 2}
    assert degrees(ask(hive("ml"), "DOWNSTREAM")) == {feature: 1, model: 2, group: 3}


def test_what_is_no_lineage_is_not_walked(caller: Caller, drawn: Any, ask: Any) -> None:
    drawn({"plain.a": ["plain.b"]})
    owned = {"owners": [{"owner": "urn:li:corpuser:lineage", "type": "NONE"}]}
    caller.ingest(hive("plain.a"), "ownership", owned)
    caller.ingest(hive("plain.a"), "container", {"container": "urn:li:container:lineage"})
    caller.ingest(
        hive("plain.c"),
        "upstreamLineage",
        made_of(fine=[([column("plain.a", "x")], [column("plain.c", "x")])]),
    )
    assert degrees(ask(hive("plain.a"))) == {hive("plain.b"): 1}
    assert degrees(ask(hive("plain.a"), "DOWNSTREAM")) == {}


def test_an_overwritten_edge_is_gone(caller: Caller, drawn: Any, ask: Any) -> None:
    drawn({"over.a": ["over.b"]})
    caller.ingest(hive("over.a"), "upstreamLineage", made_of("over.c"))
    assert degrees(ask(hive("over.a"))) == {hive("over.c"): 1}


def test_pages_cut_the_same_order_and_name_the_whole_total(drawn: Any, ask: Any) -> None:
    names = [f"page.{at}" for at in range(7)]
    drawn({"page": names})
    whole = [one["entity"] for one in ask(hive("page"))["relationships"]]
    parts = [ask(hive("page"), start=start, count=3) for start in (0, 3, 6, 9)]
    assert [part["count"] for part in parts] == [3, 3, 1, 0]
    assert {part["total"] for part in parts} == {7}
    assert [one["entity"] for part in parts for one in part["relationships"]] == whole


def test_incoming_and_outgoing_mean_what_they_mean_for_single_edges(drawn: Any, ask: Any) -> None:
    drawn({"way.a": ["way.b"], "way.b": ["way.c"]})
    assert degrees(ask(hive("way.b"), "OUTGOING")) == {hive("way.c"): 1}
    assert degrees(ask(hive("way.b"), "INCOMING")) == {hive("way.a"): 1}


def test_more_shortest_paths_than_are_given_are_marked(drawn: Any, ask: Any) -> None:
    layers = [[f"many.{layer}.{at}" for at in range(5)] for layer in range(4)]
    layers = [["many"], *layers, ["many.end"]]
    graph = {name: further for nearer, further in pairwise(layers) for name in nearer}
    drawn(graph)
    *_, end = ask(hive("many"))["relationships"]
    assert end["entity"] == hive("many.end")
    assert len(end["paths"]) == 100
    assert len({tuple(path) for path in end["paths"]}) == 100
    assert end["pathsTruncated"] is True
    near = ask(hive("many"), count=1)["relationships"][0]
    assert "pathsTruncated" not in near


def test_an_unknown_urn_has_no_lineage(ask: Any) -> None:
    value = ask(hive("nobody.knows"))
    assert value == {"start": 0, "count": 0, "total": 0, "filtered": 0, "relationships": []}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"direction": "SIDEWAYS"}, "UPSTREAM, DOWNSTREAM"),
        ({"direction": None}, "'direction' is required"),
        ({"urn": None}, "'urn' is required"),
        ({"urn": "hive.x"}, "expected 'urn:li:"),
        ({"start": -1}, "must not be negative"),
        ({"count": -1}, "must not be negative"),
        ({"maxHops": 0}, "from 1 up"),
        ({"maxHops": "all"}, "an integer"),
    ],
)
def test_a_question_that_cannot_be_understood_is_refused(
    caller: Caller, wrong: Any, said: str
) -> None:
    body = {"urn": hive("x"), "direction": "UPSTREAM"} | wrong
    answer = caller.post("/relationships?action=getLineage", body)
    assert answer.status_code == 400
    assert said in answer.json()["message"]


def test_columns_flow_through_datasets_and_jobs(caller: Caller, ask: Any) -> None:
    caller.ingest(
        hive("col.b"),
        "upstreamLineage",
        made_of(
            "col.a",
            fine=[([column("col.a", "x"), column("col.a", "y")], [column("col.b", "sum")])],
        ),
    )
    caller.ingest(
        job("columns"),
        "dataJobInputOutput",
        {
            "inputDatasets": [hive("col.b")],
            "outputDatasets": [hive("col.c")],
            "fineGrainedLineages": [
                fine_grained([column("col.b", "sum")], [column("col.c", "total")]),
                fine_grained([column("col.b", "other")], [column("col.c", "rest")]),
            ],
        },
    )
    x, y, middle, end = (
        column("col.a", "x"),
        column("col.a", "y"),
        column("col.b", "sum"),
        column("col.c", "total"),
    )
    assert degrees(ask(end)) == {middle: 1, x: 2, y: 2}
    value = ask(x, "DOWNSTREAM")
    assert degrees(value) == {middle: 1, end: 2}
    assert value["relationships"][1]["paths"] == [[x, middle, end]]
    assert degrees(ask(column("col.c", "rest"))) == {column("col.b", "other"): 1}
    assert degrees(ask(column("col.a", "unused"), "DOWNSTREAM")) == {}


def test_a_column_exists_when_the_schema_has_it(
    caller: Caller, ask: Any, schema: Callable[..., dict[str, Any]]
) -> None:
    caller.ingest(hive("there.a"), "schemaMetadata", schema("x"))
    caller.ingest(
        hive("there.b"),
        "upstreamLineage",
        made_of(
            fine=[([column("there.a", "x"), column("there.a", "gone")], [column("there.b", "z")])]
        ),
    )
    found = ask(column("there.b", "z"))["relationships"]
    assert {one["entity"]: one["exists"] for one in found} == {
        column("there.a", "x"): True,
        column("there.a", "gone"): False,
    }


def test_a_walk_that_met_a_limit_says_which_and_where_it_stopped(
    catalog: CatalogEngine, drawn: Any
) -> None:
    drawn({"lim": ["lim.a", "lim.b"], "lim.a": ["lim.c"], "lim.b": ["lim.d"], "lim.c": ["lim.e"]})
    lineage = LineageService(catalog.store, catalog.registry)

    def answer(**limits: Any) -> Any:
        urn = Urn.parse(hive("lim"))
        return lineage.answer(LineageQuestion(urn, upstream=True, limits=LineageLimits(**limits)))

    whole = answer()
    assert (whole.total, whole.truncated) == (5, None)
    assert not any(one.has_more for one in whole.reached)
    nodes = answer(nodes=3)
    assert nodes.total == 3
    assert nodes.truncated == "the walk stopped after the nearest 3 entities"
    assert [one.has_more for one in nodes.reached] == [False, False, True]
    edges = answer(edges=3)
    assert edges.total == 3
    assert edges.truncated == "the walk stopped after the nearest 3 edges"
    late = answer(seconds=-1.0)
    assert late.total == 0
    assert late.truncated == "the walk stopped after -1 seconds"
    assert answer(hops=1).truncated is None


def test_a_filter_finds_what_any_of_its_alternatives_accepts_at_whatever_degree(
    catalog: CatalogEngine, drawn: Any
) -> None:
    drawn({"any": ["any.a"], "any.a": ["any.b"], "any.b": ["any.c"], "any.c": ["any.d"]})
    lineage = LineageService(catalog.store, catalog.registry)
    near, third, far = (Criterion("degree", (degree,)) for degree in ("1", "3", "3+"))
    a, c, d = (hive(f"any.{name}") for name in "acd")
    last = Criterion("urn", (d,))

    def reached(*alternatives: Criterion) -> list[str]:
        given = Filter(tuple((criterion,) for criterion in alternatives))
        asked = LineageFilter(catalog.registry, catalog.index, filter=given)
        urn = Urn.parse(hive("any"))
        answer = lineage.answer(LineageQuestion(urn, upstream=True, filter=asked))
        return [entity.urn for entity in answer.reached]

    for first, second, wanted in (
        (near, third, [a, c]),
        (near, far, [a, c, d]),
        (near, last, [a, d]),
        (third, last, [c, d]),
    ):
        assert reached(first, second) == reached(second, first) == wanted


def test_a_filter_that_ran_out_of_time_says_so(catalog: CatalogEngine, drawn: Any) -> None:
    drawn({"slow": ["slow.a"]})
    asked = LineageFilter(catalog.registry, catalog.index, text="slow")
    reached = [Candidate(hive("slow.a"), "dataset", 1, exists=True)]
    assert asked.choose(catalog.store, reached, 10.0) == ([True], True)
    assert asked.choose(catalog.store, reached, -1.0) == ([False], False)


def test_a_text_narrows_alike_while_the_search_index_is_made_anew(
    catalog: CatalogEngine, drawn: Any
) -> None:
    drawn({"renewed": ["renewed.orders", "renewed.users"]})
    asked = LineageFilter(catalog.registry, catalog.index, text="orders")
    reached = [
        Candidate(hive(name), "dataset", 1, exists=True)
        for name in ("renewed.orders", "renewed.users", "never.stored.orders")
    ]
    expected = [True, False, True], True
    assert asked.choose(catalog.store, reached, 10.0) == expected
    catalog.index.suspend()
    try:
        assert asked.choose(catalog.store, reached, 10.0) == expected
    finally:
        catalog.index.resume()


def lists(ask: Any, urn: Any, direction: str = "UPSTREAM", **more: Any) -> Any:
    return ask(urn, direction, form="lists", **more)


def pairs(value: Any) -> Any:
    entities, names = value["entities"], value["names"]
    ends = zip(value["upstream"], value["downstream"], value["types"], strict=True)
    return sorted((entities[up], entities[down], names[kind]) for up, down, kind in ends)


def test_lists_tell_what_entries_tell_and_every_edge(caller: Caller, drawn: Any, ask: Any) -> None:
    drawn({"list.a": ["list.b", "list.ghost"], "list.b": ["list.c", "list.a"], "list.c": []})
    caller.ingest(hive("list.c"), "status", {"removed": True})
    for urn, direction in ((hive("list.a"), "UPSTREAM"), (hive("list.c"), "DOWNSTREAM")):
        told = ask(urn, direction)
        value = lists(ask, urn, direction)
        assert value["entities"] == [urn, *(one["entity"] for one in told["relationships"])]
        assert value["degrees"] == [0, *(one["degree"] for one in told["relationships"])]
        assert value["total"] == told["total"]
        assert "truncated" not in value
    value = lists(ask, hive("list.a"))
    assert [value["entities"][at] for at in value["missing"]] == [hive("list.ghost")]
    assert [value["entities"][at] for at in value["removed"]] == [hive("list.c")]
    assert len(pairs(value)) == 4


def test_lists_of_columns_and_of_what_nobody_knows(caller: Caller, ask: Any) -> None:
    fine = [([column("listed.a", "x")], [column("listed.b", "y")])]
    caller.ingest(hive("listed.b"), "upstreamLineage", made_of("listed.a", fine=fine))
    value = lists(ask, column("listed.b", "y"))
    edge = (column("listed.a", "x"), column("listed.b", "y"), "DownstreamOf")
    assert (value["degrees"], pairs(value)) == ([0, 1], [edge])
    nobody = lists(ask, hive("nobody.lists"))
    assert nobody["entities"] == [hive("nobody.lists")]
    assert (nobody["total"], nobody["degrees"], nobody["missing"], pairs(nobody)) == (
        0,
        [0],
        [0],
        [],
    )


def test_many_entities_are_marked_as_few_are(caller: Caller, drawn: Any, ask: Any) -> None:
    names = [f"crowd.{at}" for at in range(600)]
    drawn({"crowd": names})
    gone = [hive(name) for name in names[::100]]
    proposals = [caller.proposal(urn, "datasetProperties", {"name": "x"}) for urn in gone]
    proposals += [caller.proposal(urn, "status", {"removed": True}) for urn in gone]
    assert caller.batch(*proposals).status_code == 200
    value = lists(ask, hive("crowd"))
    assert sorted(value["entities"][at] for at in value["removed"]) == sorted(gone)
    assert len(value["missing"]) == 594


@pytest.mark.parametrize("form", ["entries", "lists"])
def test_limits_that_are_asked_for_are_kept_and_said(drawn: Any, ask: Any, form: str) -> None:
    drawn({"most": ["most.a", "most.b"], "most.a": ["most.c"], "most.b": ["most.c"]})

    def cut(**limits: Any) -> Any:
        value = ask(hive("most"), form=form, **limits)
        return value["total"], value.get("truncated")

    assert cut() == (3, None)
    assert cut(maxEntities=2) == (2, "the walk stopped after the nearest 2 entities")
    assert cut(maxEdges=2) == (2, "the walk stopped after the nearest 2 edges")
    assert cut(maxMillis=0) == (0, "the walk stopped after 0 seconds")
    assert cut(maxEntities=10**9, maxEdges=10**9, maxMillis=10**9) == (3, None)
    cut_short = ask(hive("most"), form="lists", maxEntities=1)
    places = range(len(cut_short["entities"]))
    assert {*cut_short["upstream"], *cut_short["downstream"]} <= set(places)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"form": "columns"}, "entries or lists, not 'columns'"),
        ({"maxEntities": -1}, "must not be negative"),
        ({"maxMillis": 0.5}, "an integer"),
    ],
)
def test_a_form_or_a_limit_that_is_none_is_refused(caller: Caller, wrong: Any, said: str) -> None:
    body = {"urn": hive("x"), "direction": "UPSTREAM"} | wrong
    answer = caller.post("/relationships?action=getLineage", body)
    assert answer.status_code == 400
    assert said in answer.json()["message"]
