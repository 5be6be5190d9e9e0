"""Lineage of columns, and what a change of one breaks."""

from typing import Any

import pytest

from explorer.errors import InvalidInput, UnknownName
from explorer.metadata.fieldpath import split_column
from tests.conftest import schema_metadata, schema_of


def test_what_was_ingested_is_followed_and_what_was_not_is_guessed_and_marked(
    graphs: Any, named: Any
) -> None:
    graph = graphs.columns(named.table("raw"), "Email", hops=3)
    said = graph.edges[named.column("raw", "Email"), named.column("right", "mail")]
    assert said["guess"] is False
    assert said["transform"] == "UPPER"
    guess = graph.edges[named.column("raw", "Email"), named.column("left", "email")]
    assert guess["guess"] is True
    assert graph.nodes[named.column("mart", "contact")]["hops"] == 2
    assert graph.graph["guesses"] == 2


def test_where_columns_are_spoken_of_nothing_is_guessed(graphs: Any, named: Any) -> None:
    graph = graphs.columns(named.table("raw"), hops=3)
    assert not graph.has_edge(named.column("right", "mail"), named.column("mart", "mail"))
    assert graph.has_edge(named.column("right", "mail"), named.column("mart", "contact"))


def test_a_guess_goes_through_a_job_and_names_it(graphs: Any, named: Any) -> None:
    graph = graphs.columns(named.table("raw"), "id", hops=3)
    edge = graph.edges[named.column("raw", "id"), named.column("copy", "id")]
    assert edge["guess"] is True
    assert edge["via"] == named.job


def test_upstream_says_what_a_column_is_made_from(graphs: Any, named: Any) -> None:
    graph = graphs.columns(named.table("mart"), "contact", "UPSTREAM", hops=5)
    assert set(graph) == {
        named.column("mart", "contact"),
        named.column("right", "mail"),
        named.column("raw", "Email"),
    }
    assert graph.nodes[named.column("raw", "Email")]["hops"] == -2


@pytest.mark.parametrize("hops", [1, 2])
def test_a_column_is_followed_as_many_hops_as_asked(graphs: Any, named: Any, hops: int) -> None:
    below = {("raw", "Email"): 0, ("left", "email"): 1, ("right", "mail"): 1}
    above = {("mart", "contact"): 0, ("right", "mail"): -1}
    if hops == 2:
        # The copy is two hops away, by way of a job that has no columns.
        below |= {("mart", "contact"): 2, ("copy", "email"): 1}
        above |= {("raw", "Email"): -2}
    for table, path, direction, reached in (
        ("raw", "Email", "DOWNSTREAM", below),
        ("mart", "contact", "UPSTREAM", above),
    ):
        graph = graphs.columns(named.table(table), path, direction, hops=hops)
        assert dict(graph.nodes.data("hops")) == {
            named.column(*place): far for place, far in reached.items()
        }


def test_a_column_that_is_not_there_is_said_so(graphs: Any, named: Any) -> None:
    with pytest.raises(UnknownName, match="emial"):
        graphs.columns(named.table("left"), "emial")


def test_columns_of_a_cycle_end(graphs: Any, named: Any) -> None:
    graph = graphs.columns(named.table("one"), "x", hops=9)
    assert len(graph) == 2


@pytest.mark.parametrize(
    ("urn", "parts"),
    [
        (
            "urn:li:schemaField:(urn:li:dataset:(urn:li:dataPlatform:h,a(b),PROD),x,y(z))",
            ("urn:li:dataset:(urn:li:dataPlatform:h,a(b),PROD)", "x,y(z)"),
        ),
        ("urn:li:schemaField:(urn:li:dataset:(urn:li:dataPlatform:h,a,PROD),)", None),
        ("urn:li:dataset:(urn:li:dataPlatform:h,a,PROD)", None),
    ],
)
def test_a_columns_urn_comes_apart_where_its_dataset_ends(urn: str, parts: Any) -> None:
    assert split_column(urn) == parts


def test_the_impact_of_a_table_ranks_by_use_and_groups(graphs: Any, named: Any) -> None:
    impact = graphs.impact(named.table("raw"))
    assert impact.affected[0].urn == named.table("mart")
    assert impact.affected[0].queries == 12
    assert impact.affected[0].users == 3
    assert impact.queries == 12
    kinds = impact.by("type")
    assert {one.urn for one in kinds["chart"]} == {named.chart}
    assert len(kinds["dataset"]) == 4
    owners = impact.by("owner")
    assert [one.urn for one in owners["urn:li:corpuser:ann"]] == [named.table("mart")]
    assert list(owners)[-1] == ""


def test_the_impact_of_a_column_is_only_what_it_reaches(graphs: Any, named: Any) -> None:
    impact = graphs.impact(named.table("raw"), "Email", with_usage=False)
    found = {one.urn: one for one in impact.affected}
    assert found[named.table("right")].certainty == "said"
    assert found[named.table("right")].columns == ("mail",)
    assert found[named.table("left")].certainty == "guessed"
    assert found[named.table("mart")].columns == ("contact",)
    assert found[named.table("mart")].certainty == "said"
    assert found[named.chart].certainty == "table"
    assert found[named.job].certainty == "table"


@pytest.mark.parametrize(
    ("path", "reached"),
    [
        ("geo", {"town", "land", "whole"}),
        ("geo.city", {"town", "whole"}),
        ("geo.city.name", {"town", "whole"}),
        ("geo.country", {"land", "whole"}),
        ("geometry", set()),
    ],
)
def test_the_impact_of_a_struct_is_that_of_its_fields_and_of_a_field_that_of_its_struct(
    graphs: Any, catalog: Any, named: Any, path: str, reached: set[str]
) -> None:
    visits, towns = named.table("struct.visits"), named.table("struct.towns")
    made_from = {"town": "geo.city.name", "land": "geo.country", "whole": "geo"}
    fine = [
        {
            "upstreamType": "FIELD_SET",
            "upstreams": [named.column("struct.visits", source)],
            "downstreamType": "FIELD",
            "downstreams": [named.column("struct.towns", name)],
        }
        for name, source in made_from.items()
    ]
    stamp = {"time": 0, "actor": "urn:li:corpuser:jdoe"}
    paths = ["geo", "geo.country", "geo.city", "geo.city.name", "geometry"]
    try:
        catalog.put(visits, "schemaMetadata", schema_metadata(dict.fromkeys(paths)))
        catalog.put(towns, "schemaMetadata", schema_metadata(dict.fromkeys(made_from)))
        upstreams = [{"dataset": visits, "type": "VIEW", "auditStamp": stamp}]
        value = {"upstreams": upstreams, "fineGrainedLineages": fine}
        catalog.put(towns, "upstreamLineage", value)
        impact = graphs.impact(visits, path, with_usage=False)
    finally:
        for urn in (visits, towns):
            catalog.delete(urn)
    assert {name for one in impact.affected for name in one.columns} == reached


def test_a_column_that_goes_nowhere_breaks_nothing_it_is_known_not_to_reach(
    graphs: Any, named: Any
) -> None:
    impact = graphs.impact(named.table("right"), "key", with_usage=False)
    assert named.table("mart") not in {one.urn for one in impact.affected}


def test_what_hangs_on_a_table_that_may_be_affected_may_be_affected_too(
    graphs: Any, catalog: Any, named: Any
) -> None:
    # start → view → report → board: nobody said which columns the view has.
    start, view, report = (named.table(f"chain.{name}") for name in ("start", "view", "report"))
    field = {
        "fieldPath": "id",
        "nativeDataType": "text",
        "type": {"type": {"com.linkedin.schema.StringType": {}}},
    }
    columns = schema_of([field])
    stamp = {"time": 0, "actor": "urn:li:corpuser:jdoe"}
    try:
        catalog.put(start, "schemaMetadata", columns)
        for below, above in ((view, start), (report, view)):
            edge = {"dataset": above, "type": "VIEW", "auditStamp": stamp}
            catalog.put(below, "upstreamLineage", {"upstreams": [edge]})
        found = {one.urn: one for one in graphs.impact(start, "id", with_usage=False).affected}
        assert {urn: one.certainty for urn, one in found.items()} == {
            view: "table",
            report: "table",
        }
    finally:
        for urn in (start, view, report):
            catalog.delete(urn)


def test_only_datasets_have_columns(graphs: Any, named: Any) -> None:
    with pytest.raises(InvalidInput, match="not a chart"):
        graphs.impact(named.chart, "x")


def test_a_chain_longer_than_is_looked_at_is_said_to_go_on(
    catalog: Any, graphs: Any, named: Any
) -> None:
    from explorer.metadata import Proposal, Urn

    def made_from(at: Any) -> Any:
        value = {
            "upstreams": [
                {
                    "dataset": named.table(f"link{at - 1}"),
                    "type": "TRANSFORMED",
                    "auditStamp": {"time": 0, "actor": "urn:li:corpuser:x"},
                }
            ]
        }
        return Proposal(Urn.parse(named.table(f"link{at}")), "upstreamLineage", value)

    assert not catalog.ingest_batch(made_from(at) for at in range(1, 53)).refused
    long = graphs.impact(named.table("link0"), with_usage=False)
    assert len(long) == 50
    assert "50 hops" in long.truncated
    assert graphs.impact(named.table("link3"), with_usage=False).truncated is None
