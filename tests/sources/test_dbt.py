"""A dbt project is read from its artifacts: models and their tests, documentation and lineage."""

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from explorer.client import Catalog
from explorer.errors import InvalidFile, InvalidInput
from explorer.sources.location import open_source
from explorer.sources.source import Inventory, SourceOptions
from tests.sources.conftest import Run, aspects_of, column_lineage, columns_of, dataset, quiet

# Artifacts of dbt's public example project; too large to be kept with the tests.
_REAL = Path(__file__).parents[3] / "shared" / "data" / "dbt"
Project = Callable[..., Path]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Makes a project with these nodes and sources, and these other artifacts."""

    def make(nodes: Iterable[dict[str, Any]], **artifacts: Any) -> Path:
        root = tmp_path / "shop"
        (root / "target").mkdir(parents=True, exist_ok=True)
        (root / "dbt_project.yml").write_text("name: shop\n")
        split: dict[str, dict[str, Any]] = {"nodes": {}, "sources": {}}
        for one in nodes:
            part = "sources" if one["resource_type"] == "source" else "nodes"
            split[part][one["unique_id"]] = one
        manifest = {"metadata": {"adapter_type": "duckdb"}, **split}
        for name, value in {"manifest": manifest, **artifacts}.items():
            (root / "target" / f"{name}.json").write_text(json.dumps(value))
        return root

    return make


def node(kind: str, name: str, sql: str | None = None, **rest: Any) -> dict[str, Any]:
    """Return a node of a manifest, in `wh.main`; `sql` as it was compiled."""
    return {
        "resource_type": kind,
        "unique_id": f"{kind}.shop.{name}",
        "package_name": "shop",
        "name": name,
        "database": "wh",
        "schema": "main",
        "alias": name,
        "raw_code": sql,
        "compiled_code": sql,
        "columns": {},
        **rest,
    }


def described(**texts: str) -> dict[str, Any]:
    """Return columns of a node with their descriptions."""
    return {name: {"name": name, "description": text} for name, text in texts.items()}


def small() -> list[dict[str, Any]]:
    """A source, a staged model of it, a mart of that, and tests of both."""
    return [
        node(
            "source",
            "raw_orders",
            identifier="ORDERS_V2",
            columns=described(id="The key.", amount=""),
            description="As it comes.",
        ),
        node(
            "model",
            "stg_orders",
            'select id as order_id, amount / 100 as total from "wh"."main"."ORDERS_V2"',
            depends_on={"nodes": ["source.shop.raw_orders"]},
            columns=described(order_id="One row an order."),
            tags=["nightly"],
            meta={"owner": "ann", "terms": ["Sales.Order"], "cost": 3},
            config={"materialized": "view"},
        ),
        node(
            "model",
            "mart",
            "select order_id, total * 2 as twice from wh.main.stg_orders",
            depends_on={"nodes": ["model.shop.stg_orders"]},
            description="What was sold.",
            config={"materialized": "table"},
        ),
        node("model", "off", "select 1 as x", config={"enabled": False}),
        node(
            "test",
            "not_null_stg_orders_order_id",
            depends_on={"nodes": ["model.shop.stg_orders"]},
            column_name="order_id",
            test_metadata={"name": "not_null", "kwargs": {"column_name": "order_id"}},
        ),
        node("test", "totals_are_positive", depends_on={"nodes": ["model.shop.mart"]}),
    ]


def results(**status: str) -> dict[str, Any]:
    """Return the artifact of a run of tests, by their names."""
    return {
        "metadata": {"invocation_id": "run-1", "generated_at": "2024-05-01T12:00:00Z"},
        "results": [
            {"unique_id": f"test.shop.{name}", "status": one, "failures": int(one == "fail")}
            for name, one in status.items()
        ],
    }


def read(root: Path) -> Inventory:
    """Return what is found in a project."""
    return open_source(str(root), SourceOptions()).read(quiet)


def test_models_and_sources_have_their_documentation_labels_and_sql(project: Project) -> None:
    found = read(project(small()))
    assert found.kinds == {"source": 1, "model": 2, "column": 6, "test": 2}
    assert found.skipped == []
    staged = aspects_of(found.proposals, "wh.main.stg_orders")
    assert columns_of(staged["schemaMetadata"]) == [
        ("order_id", "", "Null", True),
        ("total", "", "Null", True),
    ]
    assert staged["schemaMetadata"]["fields"][0]["description"] == "One row an order."
    assert staged["globalTags"] == {"tags": [{"tag": "urn:li:tag:dbt:nightly"}]}
    assert staged["ownership"]["owners"] == [{"owner": "urn:li:corpuser:ann", "type": "DATAOWNER"}]
    assert staged["glossaryTerms"]["terms"] == [{"urn": "urn:li:glossaryTerm:Sales.Order"}]
    properties = staged["datasetProperties"]["customProperties"]
    assert properties["meta.cost"] == "3"
    assert properties["materialization"] == "view"
    assert staged["viewProperties"]["materialized"] is False
    mart = aspects_of(found.proposals, "wh.main.mart")
    assert mart["datasetProperties"]["description"] == "What was sold."
    assert mart["siblings"] == {"siblings": [dataset("duckdb", "wh.main.mart")], "primary": True}


def test_the_target_folder_stands_for_its_project(project: Project) -> None:
    root = project(small())
    source = open_source(str(root / "target"), SourceOptions())
    assert (source.kind, source.location) == ("dbt", str(root))


def test_lineage_reaches_from_the_mart_to_the_warehouse_to_the_column(project: Project) -> None:
    found = read(project(small())).proposals
    mart = aspects_of(found, "wh.main.mart")["upstreamLineage"]
    assert [one["dataset"] for one in mart["upstreams"]] == [dataset("dbt", "wh.main.stg_orders")]
    assert column_lineage(mart) == {
        "mart.order_id": ["stg_orders.order_id"],
        "mart.twice": ["stg_orders.total"],
    }
    staged = aspects_of(found, "wh.main.stg_orders")["upstreamLineage"]
    assert column_lineage(staged) == {
        "stg_orders.order_id": ["raw_orders.id"],
        "stg_orders.total": ["raw_orders.amount"],
    }
    source = aspects_of(found, "wh.main.raw_orders")["upstreamLineage"]
    assert [one["dataset"] for one in source["upstreams"]] == [
        dataset("duckdb", "wh.main.ORDERS_V2")
    ]


def test_the_warehouse_tells_the_types_the_comments_and_the_sizes(project: Project) -> None:
    columns = {
        "TOTAL": {"name": "TOTAL", "type": "DECIMAL(10,2)", "index": 2, "comment": "In euro."},
        "ORDER_ID": {"name": "ORDER_ID", "type": "BIGINT", "index": 1, "comment": "ignored"},
    }
    stats = {"num_rows": {"value": 7.0}, "num_bytes": {"value": 70}, "has_stats": {"value": True}}
    catalog = {"nodes": {"model.shop.stg_orders": {"columns": columns, "stats": stats}}}
    staged = aspects_of(read(project(small(), catalog=catalog)).proposals, "wh.main.stg_orders")
    assert columns_of(staged["schemaMetadata"]) == [
        ("ORDER_ID", "BIGINT", "Number", True),
        ("TOTAL", "DECIMAL(10,2)", "Number", True),
    ]
    texts = [one.get("description") for one in staged["schemaMetadata"]["fields"]]
    assert texts == ["One row an order.", "In euro."]
    assert staged["datasetProfile"] == {"rowCount": 7, "sizeInBytes": 70}
    assert column_lineage(staged["upstreamLineage"]) == {
        "stg_orders.ORDER_ID": ["raw_orders.id"],
        "stg_orders.TOTAL": ["raw_orders.amount"],
    }


def test_tests_and_freshness_are_assertions_with_their_last_result(project: Project) -> None:
    ran = results(not_null_stg_orders_order_id="pass", totals_are_positive="fail")
    fresh = {
        "metadata": {"invocation_id": "run-2", "generated_at": "2024-05-02T12:00:00Z"},
        "results": [
            {
                "unique_id": "source.shop.raw_orders",
                "status": "warn",
                "snapshotted_at": "2024-05-02T11:00:00Z",
                "max_loaded_at": "2024-05-01T11:00:00Z",
            }
        ],
    }
    found = read(project(small(), run_results=ran, sources=fresh))
    assert found.kinds["freshness test"] == 1
    infos = {one.urn: one.value for one in found.proposals if one.aspect == "assertionInfo"}
    events = {one.urn: one.value for one in found.proposals if one.aspect == "assertionRunEvent"}
    assert {
        (
            infos[urn]["customProperties"]["dbt_unique_id"],
            event["asserteeUrn"],
            event["result"]["type"],
            event["timestampMillis"],
        )
        for urn, event in events.items()
    } == {
        (
            "test.shop.not_null_stg_orders_order_id",
            dataset("dbt", "wh.main.stg_orders"),
            "SUCCESS",
            1_714_564_800_000,
        ),
        (
            "test.shop.totals_are_positive",
            dataset("dbt", "wh.main.mart"),
            "FAILURE",
            1_714_564_800_000,
        ),
        (
            "source.shop.raw_orders_freshness",
            dataset("dbt", "wh.main.raw_orders"),
            "FAILURE",
            1_714_647_600_000,
        ),
    }
    (columns,) = [
        one["customAssertion"]["fields"] for one in infos.values() if "fields" in str(one)
    ]
    staged = dataset("dbt", "wh.main.stg_orders")
    assert columns == [f"urn:li:schemaField:({staged},order_id)"]


def test_sql_that_is_not_understood_is_told_and_loses_nothing_else(project: Project) -> None:
    nodes = small()
    nodes[2]["compiled_code"] = "select nothing_of_that_name from wh.main.stg_orders"
    found = read(project(nodes))
    assert [one.subject for one in found.skipped] == ["model.shop.mart"]
    assert found.skipped[0].reason.startswith("no column lineage: ")
    mart = aspects_of(found.proposals, "wh.main.mart")["upstreamLineage"]
    assert [one["dataset"] for one in mart["upstreams"]] == [dataset("dbt", "wh.main.stg_orders")]
    assert column_lineage(mart) == {}
    assert column_lineage(aspects_of(found.proposals, "wh.main.stg_orders")["upstreamLineage"])


def test_a_project_that_was_not_parsed_or_is_damaged_is_told(project: Project) -> None:
    root = project(small())
    (root / "target" / "run_results.json").write_text("{")
    with pytest.raises(InvalidFile, match=r"run_results\.json is no JSON"):
        read(root)
    shutil.rmtree(root / "target")
    with pytest.raises(InvalidInput, match="dbt parse writes it"):
        read(root)


def test_a_second_run_changes_nothing_and_a_new_result_is_told(
    command: Run, cat: Catalog, project: Project
) -> None:
    root = project(small(), run_results=results(totals_are_positive="pass"))
    assert command("add", str(root)).code == 0
    # What people add to a list that the project has as well stays.
    cat.new("tag", "Checked")
    cat.add_tags(dataset("dbt", "wh.main.stg_orders"), ["urn:li:tag:Checked"])
    assert "5 unchanged; 0 aspects written" in command("sources", "run", "shop").out
    late = results(totals_are_positive="fail")
    late["metadata"]["generated_at"] = "2024-05-03T12:00:00Z"
    project(small(), run_results=late)
    ran = command("sources", "run", "shop")
    assert "1 changed, 4 unchanged; 1 aspect written" in ran.out
    health = cat.health(dataset("dbt", "wh.main.mart"))
    assert "fail" in str(health).lower()


@pytest.mark.skipif(not _REAL.is_dir(), reason="the example project's artifacts are not here")
def test_the_example_project_of_dbt_is_read_as_a_person_would_list_it(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.mkdir()
    (tmp_path / "dbt_project.yml").write_text("name: jaffle_shop\n")
    parts = {"manifest": "manifest", "catalog": "catalog", "test_results": "run_results"}
    for name, artifact in parts.items():
        shutil.copy(_REAL / f"jaffle_shop_{name}.json", target / f"{artifact}.json")
    found = read(tmp_path)
    assert found.skipped == []
    assert found.kinds == {"model": 5, "seed": 3, "column": 38, "test": 24}
    place = "calm-pagoda-323403.jaffle_shop"
    orders = aspects_of(found.proposals, f"{place}.orders")
    assert columns_of(orders["schemaMetadata"])[:4] == [
        ("order_id", "INT64", "Number", True),
        ("customer_id", "INT64", "Number", True),
        ("order_date", "DATE", "Date", True),
        ("status", "STRING", "String", True),
    ]
    lineage = column_lineage(orders["upstreamLineage"])
    assert lineage["orders.order_id"] == ["stg_orders.order_id"]
    assert lineage["orders.coupon_amount"] == [
        *("stg_payments.amount", "stg_payments.payment_method")
    ]
    assert len(lineage) == 9
    outcomes = Counter(
        one.value["result"]["type"] for one in found.proposals if one.aspect == "assertionRunEvent"
    )
    listed = json.loads((target / "run_results.json").read_bytes())["results"]
    passed = sum(one["status"] == "pass" for one in listed)
    # One of the results is of a test that the manifest does not have any more.
    known = json.loads((target / "manifest.json").read_bytes())["nodes"]
    failed = sum(one["status"] != "pass" and one["unique_id"] in known for one in listed)
    assert outcomes == {"SUCCESS": passed, "FAILURE": failed}
    assert failed == 2


def test_a_chain_of_models_without_a_catalog_is_traced_from_one_to_the_next(
    project: Project,
) -> None:
    nodes = [node("source", "raw", columns=described(**{f"c{n}": "" for n in range(10)}))]
    for number in range(50):
        before = nodes[max(number - 9, 0)]
        parts = ", ".join(f"upper(c{n}) as c{n}" for n in range(10))
        sql = f"with x as (select * from wh.main.{before['name']}) select {parts} from x"
        depends = {"nodes": [before["unique_id"]]}
        nodes.append(node("model", f"m{number}", sql, depends_on=depends))
    root = project(nodes)
    found = read(root)
    assert found.skipped == []
    assert len(column_lineage(aspects_of(found.proposals, "wh.main.m49")["upstreamLineage"])) == 10
