"""A dbt project is read from its artifacts: models and their tests, exposures and metrics,
documentation and lineage."""

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from explorer.client import Catalog
from explorer.errors import InvalidFile, InvalidInput
from explorer.metadata.urn import Urn
from explorer.sources.dbt_template import is_rendered_from
from explorer.sources.location import open_source
from explorer.sources.source import Inventory, SourceOptions
from tests.conftest import nightly, schema_metadata
from tests.sources.conftest import Run, aspects_of, column_lineage, columns_of, dataset, quiet
from tests.sources.dbt_models import make_project

# Artifacts of dbt's public example project; too large to be kept with the tests.
_REAL = Path(__file__).parents[3] / "shared" / "data" / "dbt"
# The parts of a manifest besides nodes and sources.
_PARTS = ("exposures", "macros", "metrics", "semantic_models")
Project = Callable[..., Path]


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Makes a project with these nodes and sources, and these other parts of the manifest and other
    artifacts."""

    def make(nodes: Iterable[dict[str, Any]], **artifacts: Any) -> Path:
        root = tmp_path / "shop"
        (root / "target").mkdir(parents=True, exist_ok=True)
        (root / "dbt_project.yml").write_text("name: shop\n")
        split: dict[str, dict[str, Any]] = {"nodes": {}, "sources": {}}
        for one in nodes:
            part = "sources" if one["resource_type"] == "source" else "nodes"
            split[part][one["unique_id"]] = one
        schema = "https://schemas.getdbt.com/dbt/manifest/v12.json"
        about = {"adapter_type": "duckdb", "dbt_schema_version": schema}
        parts = {name: artifacts.pop(name, {}) for name in _PARTS}
        manifest = {"metadata": about, **split, **parts}
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


def read(root: Path, **options: Any) -> Inventory:
    """Return what is found in a project."""
    return open_source(str(root), SourceOptions(**options)).read(quiet)


def exposure(name: str, *upstreams: str, **rest: Any) -> dict[str, Any]:
    """Return the part of a manifest with an exposure of these nodes."""
    value = {"name": name, "package_name": "shop", "depends_on": {"nodes": list(upstreams)}}
    return {f"exposure.shop.{name}": {"resource_type": "exposure", **value, **rest}}


def metric(name: str, kind: str, *upstreams: str, **parameters: Any) -> dict[str, Any]:
    """Return the part of a manifest with a metric, as dbt 1.6 and later write it."""
    value = {"name": name, "package_name": "shop", "type": kind, "type_params": parameters}
    return {f"metric.shop.{name}": {**value, "depends_on": {"nodes": list(upstreams)}}}


def semantic_model(name: str, model: str, **fields: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the part of a manifest with a semantic model of a model in `wh.main`."""
    relation = {"alias": model, "relation_name": f'"wh"."main"."{model}"'}
    value = {"name": name, "package_name": "shop", "node_relation": relation, **fields}
    depends_on = {"nodes": [f"model.shop.{model}"]}
    return {f"semantic_model.shop.{name}": {**value, "depends_on": depends_on}}


def sales() -> dict[str, Any]:
    """A semantic model of `mart`, metrics of each type, and what shows them."""
    measures: list[dict[str, Any]] = [
        {"name": "sold", "agg": "sum", "expr": "twice / 2", "description": "What was sold."},
        {"name": "orders", "agg": "count", "expr": "order_id"},
    ]
    entities = [{"name": "order", "type": "primary", "expr": "order_id"}]
    condition = "{{ Dimension('order__late') }} OR {{TimeDimension('order__at', 'day')}} < now()"
    late = {"where_filters": [{"where_sql_template": condition}]}
    of_sales = "semantic_model.shop.sales"
    sold = metric("sold", "simple", of_sales, measure={"name": "sold"}, expr="sold")
    sold["metric.shop.sold"] |= {
        "label": "Sold",
        "description": "In euro.",
        "tags": ["money"],
        "config": {"meta": {"owner": "ann"}},
    }
    late_orders = metric("late", "simple", of_sales, measure={"name": "orders"})
    late_orders["metric.shop.late"]["filter"] = late
    sides = {"numerator": {"name": "sold"}, "denominator": {"name": "late"}}
    parts = ("metric.shop.sold", "metric.shop.late")
    window = {"window": {"count": 7, "granularity": "day"}}
    week: dict[str, Any] = {"measure": {"name": "sold"}, "cumulative_type_params": window}
    return {
        "semantic_models": semantic_model("sales", "mart", entities=entities, measures=measures),
        "metrics": {
            **sold,
            **late_orders,
            **metric("mean", "ratio", *parts, **sides),
            **metric("rest", "derived", *parts, expr="sold - late", metrics=["sold", "late"]),
            **metric("week", "cumulative", of_sales, **week),
        },
        "exposures": {
            **exposure(
                "weekly",
                *("model.shop.mart", "source.shop.raw_orders", "metric.shop.mean"),
                type="dashboard",
                label="Weekly Sales",
                description="Read on Mondays.",
                maturity="high",
                url="https://bi.example.com/1",
                original_file_path="models/shop.yml",
                tags=["board"],
                meta={"tier": 1, "owner": "not the owner"},
                owner={"name": "Ann Lee", "email": "ann@example.com"},
            ),
            **exposure("churn", "model.shop.mart", type="ml", owner={"name": "Data Science"}),
            **exposure("off", "model.shop.mart", config={"enabled": False}),
        },
    }


def entity(proposals: Iterable[Any], urn: str) -> dict[str, Any]:
    """Return the values of an entity by aspect."""
    return {one.aspect: one.value for one in proposals if str(one.urn) == urn}


def metrics_of(found: Inventory) -> dict[str, tuple[Any, ...]]:
    """Return the metrics of the project `shop` by their ids: type, upstream datasets, metrics that
    it is derived from, and expression."""

    def short(edges: list[dict[str, str]], part: int) -> list[str]:
        return [Urn.parse(one["destinationUrn"]).parts[part] for one in edges]

    by_urn: dict[str, dict[str, Any]] = {}
    for one in found.proposals:
        if one.urn.entity_type == "metric":
            assert one.urn.parts[:2] == ("urn:li:dataPlatform:dbt", "shop")
            by_urn.setdefault(one.urn.parts[2], {})[one.aspect] = one.value
    return {
        name: (
            *value["subTypes"]["typeNames"],
            short(value["metricUpstreams"]["datasetUpstreams"], 1),
            short(value["metricRelationships"]["derivedFrom"], 2),
            value["metricInfo"].get("expression", {"dialects": [{"expression": None}]})["dialects"][
                0
            ]["expression"],
        )
        for name, value in by_urn.items()
    }


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


@pytest.mark.parametrize(
    ("status", "tested", "fresh"),
    [
        ("pass", "SUCCESS", "SUCCESS"),
        ("warn", "SUCCESS", "SUCCESS"),
        ("fail", "FAILURE", "FAILURE"),
        ("error", "ERROR", "FAILURE"),
        ("runtime error", "ERROR", "ERROR"),
    ],
)
def test_a_status_means_what_it_does_to_the_connector_of_datahub(
    project: Project, status: str, tested: str, fresh: str
) -> None:
    ran = results(totals_are_positive=status)
    loaded = {
        "metadata": {"invocation_id": "run-2", "generated_at": "2024-05-02T12:00:00Z"},
        "results": [{"unique_id": "source.shop.raw_orders", "status": status}],
    }
    found = read(project(small(), run_results=ran, sources=loaded)).proposals
    events = [one.value for one in found if one.aspect == "assertionRunEvent"]
    assert {(one["asserteeUrn"], one["result"]["type"]) for one in events} == {
        (dataset("dbt", "wh.main.mart"), tested),
        (dataset("dbt", "wh.main.raw_orders"), fresh),
    }


def test_tests_and_freshness_are_assertions_with_their_last_result(project: Project) -> None:
    ran = results(not_null_stg_orders_order_id="pass", totals_are_positive="fail")
    nodes = small()
    nodes[0]["freshness"] = {
        "warn_after": {"count": 1, "period": "day"},
        "error_after": {"count": 36, "period": "hour"},
        "filter": None,
    }
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
    found = read(project(nodes, run_results=ran, sources=fresh))
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
            "SUCCESS",
            1_714_647_600_000,
        ),
    }
    (freshness,) = [one for one in infos.values() if "dbt Freshness" in str(one)]
    assert freshness["description"] == "Freshness: warns after 1 day, fails after 36 hours"
    assert freshness["customProperties"] == {
        "dbt_unique_id": "source.shop.raw_orders_freshness",
        "dbt_freshness_test": "true",
        "warn_after_count": "1",
        "warn_after_period": "day",
        "error_after_count": "36",
        "error_after_period": "hour",
    }
    (columns,) = [
        one["customAssertion"]["fields"] for one in infos.values() if "fields" in str(one)
    ]
    staged = dataset("dbt", "wh.main.stg_orders")
    assert columns == [f"urn:li:schemaField:({staged},order_id)"]


def test_tests_are_called_as_dbt_calls_them_and_come_after_tables(
    command: Run, project: Project
) -> None:
    assert command("add", str(project(small()))).code == 0
    tests = ["not_null_stg_orders_order_id", "totals_are_positive"]

    def names(text: str) -> list[str]:
        return [hit["name"] for hit in json.loads(command("search", text, "--json").out)["hits"]]

    assert sorted(names("*")[-len(tests) :]) == tests
    assert names("totals_are")[0] == "totals_are_positive"
    staged = dataset("dbt", "wh.main.stg_orders")
    assert "not_null_stg_orders_order_id" in command("relationships", staged).out
    assert "not_null_stg_orders_order_id" in command("changes").out


def test_sql_that_is_not_understood_is_told_and_loses_nothing_else(project: Project) -> None:
    nodes = small()
    nodes[2]["compiled_code"] = "select nothing_of_that_name from wh.main.stg_orders"
    found = read(project(nodes))
    assert [one.subject for one in found.skipped] == ["model.shop.mart"]
    assert found.skipped[0].reason.startswith("not traced: nothing_of_that_name: ")
    mart = aspects_of(found.proposals, "wh.main.mart")["upstreamLineage"]
    assert [one["dataset"] for one in mart["upstreams"]] == [dataset("dbt", "wh.main.stg_orders")]
    assert column_lineage(mart) == {}
    assert column_lineage(aspects_of(found.proposals, "wh.main.stg_orders")["upstreamLineage"])


def test_a_warehouse_whose_sql_is_not_known_loses_column_lineage_alone(project: Project) -> None:
    root = project(small())
    path = root / "target/manifest.json"
    path.write_text(path.read_text().replace('"duckdb"', '"vertica"'))
    found = read(root)
    (skipped,) = found.skipped
    assert skipped.reason.startswith("no column lineage: sqlglot knows no SQL dialect 'vertica'")
    mart = aspects_of(found.proposals, "wh.main.mart")
    upstreams = [one["dataset"] for one in mart["upstreamLineage"]["upstreams"]]
    assert upstreams == [dataset("dbt", "wh.main.stg_orders")]
    assert mart["siblings"]["siblings"] == [dataset("vertica", "wh.main.mart")]


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


def test_tags_owners_and_terms_that_the_project_no_longer_has_go(
    command: Run, cat: Catalog, project: Project
) -> None:
    nodes = small()
    root = project(nodes)
    assert command("add", str(root)).code == 0
    urn = Urn.parse(dataset("dbt", "wh.main.stg_orders"))
    given = (cat.entity(urn).raw("globalTags") or {})["tags"]
    cat.put(urn, "globalTags", {"tags": [*given, {"tag": "urn:li:tag:ours"}]})
    nodes[1] |= {"tags": [], "meta": {}}
    project(nodes)
    assert command("sources", "run", "shop").code == 0
    stored = cat.entity(urn)
    left = [
        (stored.raw(aspect) or {})[name]
        for aspect, name in (
            ("globalTags", "tags"),
            ("ownership", "owners"),
            ("glossaryTerms", "terms"),
        )
    ]
    assert left == [[{"tag": "urn:li:tag:ours"}], [], []]


@pytest.mark.parametrize(
    ("settings", "owners", "expected"),
    [
        ("", "Ann Lee (ann@example.com)", ["corpuser:ann@example.com"]),
        ("", "Ann Lee(ann@example.com)", ["corpuser:ann@example.com"]),
        ("", "Ann Lee <ann@example.com>", ["corpuser:ann@example.com"]),
        (
            "",
            ["@alice", "ben", "urn:li:corpGroup:team"],
            ["corpuser:alice", "corpuser:ben", "corpGroup:team"],
        ),
        ("", "ann@example.com", ["corpuser:ann@example.com"]),
        ("", "Ann␟Lee", []),
        (
            r"{owner_extraction_pattern: '(?P<owner>(.*)): (\w+) (\w+)'}",
            ["jdoe: John Doe", "@alice"],
            ["corpuser:jdoe", "corpuser:@alice"],
        ),
        (
            "{owners: {finance: 'urn:li:corpGroup:fin', alice: ali, Ann Lee: ann}}",
            ["finance", "@alice", "Ann Lee"],
            ["corpGroup:fin", "corpuser:ali", "corpuser:ann"],
        ),
    ],
)
def test_owners_are_found_in_what_the_project_says_of_them(
    project: Project, settings: str, owners: Any, expected: list[str]
) -> None:
    root = project([node("model", "m", "select 1 as x", meta={"owner": owners})])
    if settings:
        (root / "dbt_project.yml").write_text(f"name: shop\nvars:\n  catalog: {settings}\n")
    found = read(root)
    ownership = aspects_of(found.proposals, "wh.main.m").get("ownership", {"owners": []})
    named = [one["owner"].removeprefix("urn:li:") for one in ownership["owners"]]
    assert named == expected
    reasons = [one.reason for one in found.skipped]
    assert reasons == (
        [] if expected else ["no owner 'Ann␟Lee': it has characters that a URN cannot have"]
    )


@pytest.mark.parametrize(
    ("pattern", "told"), [("'('", "no regular expression"), ("'@(.*)'", "no group owner")]
)
def test_a_pattern_of_owners_that_cannot_be_used_is_told(
    project: Project, pattern: str, told: str
) -> None:
    root = project(small())
    settings = f"name: shop\nvars: {{catalog: {{owner_extraction_pattern: {pattern}}}}}\n"
    (root / "dbt_project.yml").write_text(settings)
    with pytest.raises(InvalidInput, match=told):
        read(root)


def test_exposures_are_dashboards_with_what_they_show(project: Project) -> None:
    found = read(project(small(), **sales()))
    assert found.skipped == []
    assert found.kinds["exposure"] == 2
    stamp = {"time": 0, "actor": "urn:li:corpuser:unknown"}
    assert entity(found.proposals, "urn:li:dashboard:(dbt,exposure.shop.weekly)") == {
        "dashboardInfo": {
            "title": "Weekly Sales",
            "description": "Read on Mondays.",
            "customProperties": {
                "dbt_unique_id": "exposure.shop.weekly",
                "exposure_type": "dashboard",
                "maturity": "high",
                "dbt_package_name": "shop",
                "dbt_file_path": "models/shop.yml",
                "tier": "1",
            },
            "externalUrl": "https://bi.example.com/1",
            "datasets": [dataset("dbt", "wh.main.mart"), dataset("dbt", "wh.main.raw_orders")],
            "lastModified": {"created": stamp, "lastModified": stamp},
        },
        "upstreamMetrics": {
            "metrics": [{"destinationUrn": "urn:li:metric:(urn:li:dataPlatform:dbt,shop,mean)"}]
        },
        "dataPlatformInstance": {"platform": "urn:li:dataPlatform:dbt"},
        "subTypes": {"typeNames": ["Dashboard"]},
        "status": {"removed": False},
        "browsePathsV2": {"path": [{"id": "shop"}]},
        "globalTags": {"tags": [{"tag": "urn:li:tag:dbt:board"}]},
        "ownership": {
            "owners": [{"owner": "urn:li:corpuser:ann@example.com", "type": "DATAOWNER"}]
        },
    }
    churn = entity(found.proposals, "urn:li:dashboard:(dbt,exposure.shop.churn)")
    assert churn["subTypes"] == {"typeNames": ["ML Model"]}
    assert churn["ownership"]["owners"][0]["owner"] == "urn:li:corpuser:data_science"


def test_a_platform_instance_stands_before_the_names_of_exposures_and_metrics(
    project: Project,
) -> None:
    found = read(project(small(), **sales()), instance="eu")
    urns = {one.urn.entity_type: str(one.urn) for one in found.proposals}
    assert urns["dashboard"] == "urn:li:dashboard:(dbt,eu.exposure.shop.weekly)"
    assert urns["metric"].startswith("urn:li:metric:(urn:li:dataPlatform:dbt,eu.shop,")
    (info,) = (
        one.value
        for one in found.proposals
        if str(one.urn).endswith("eu.exposure.shop.churn)") and one.aspect == "dashboardInfo"
    )
    assert info["datasets"] == [dataset("dbt", "eu.wh.main.mart")]


def test_metrics_are_computed_from_semantic_models_and_other_metrics(project: Project) -> None:
    found = read(project(small(), **sales()))
    model = "semantic_model.shop.sales"
    assert metrics_of(found) == {
        "sold": ("Simple", [model], [], "sum(sales.sold)"),
        "late": (
            *("Simple", [model], []),
            "count(sales.orders) FILTER (WHERE order__late OR order__at__day < now())",
        ),
        "mean": ("Ratio", [], ["sold", "late"], "sum(sales.sold) / late"),
        "rest": ("Derived", [], ["sold", "late"], "sold - late"),
        "week": ("Cumulative", [model], [], "sum(sales.sold) /* cumulative over 7 day */"),
    }
    sold = entity(found.proposals, "urn:li:metric:(urn:li:dataPlatform:dbt,shop,sold)")
    assert sold["metricInfo"]["name"] == "Sold"
    assert sold["metricInfo"]["description"] == "In euro."
    assert sold["globalTags"] == {"tags": [{"tag": "urn:li:tag:dbt:money"}]}
    assert sold["ownership"]["owners"] == [{"owner": "urn:li:corpuser:ann", "type": "DATAOWNER"}]
    assert sold["browsePathsV2"] == {"path": [{"id": "shop"}]}


def test_a_semantic_model_has_the_columns_of_its_model(project: Project) -> None:
    found = read(project(small(), **sales()))
    assert found.kinds["semantic model"] == 1
    value = aspects_of(found.proposals, "semantic_model.shop.sales")
    assert value["subTypes"] == {"typeNames": ["Semantic Model"]}
    assert columns_of(value["schemaMetadata"]) == [
        ("order", "entity:primary", "Null", True),
        ("sold", "measure:sum", "Null", True),
        ("orders", "measure:count", "Null", True),
    ]
    assert value["schemaMetadata"]["fields"][1]["description"] == "What was sold."
    upstreams = value["upstreamLineage"]["upstreams"]
    assert [one["dataset"] for one in upstreams] == [dataset("dbt", "wh.main.mart")]
    assert column_lineage(value["upstreamLineage"]) == {
        "sales.order": ["mart.order_id"],
        "sales.sold": ["mart.twice"],
        "sales.orders": ["mart.order_id"],
    }
    # It is in no warehouse.
    assert "siblings" not in value


def test_metrics_of_dbt_before_semantic_models_are_of_their_models(project: Project) -> None:
    def old(name: str, *upstreams: str, **rest: Any) -> dict[str, Any]:
        value = {"name": name, "package_name": "shop", "depends_on": {"nodes": [*upstreams]}}
        return {f"metric.shop.{name}": {**value, **rest}}

    where = [{"field": "total", "operator": ">", "value": "0"}]
    mart, both = "model.shop.mart", ("metric.shop.sold", "metric.shop.buyers")
    metrics = {
        **old("sold", mart, type="sum", sql="twice", filters=where),
        **old("buyers", mart, calculation_method="count_distinct", expression="order_id"),
        **old("each", *both, calculation_method="derived", expression="sold / buyers"),
    }
    found = read(project(small(), metrics=metrics))
    assert found.skipped == []
    assert metrics_of(found) == {
        "buyers": ("Count Distinct", ["wh.main.mart"], [], "count(distinct order_id)"),
        "each": ("Derived", [], ["sold", "buyers"], "sold / buyers"),
        "sold": ("Sum", ["wh.main.mart"], [], "sum(twice) FILTER (WHERE total > 0)"),
    }


def test_what_cannot_be_read_of_exposures_and_metrics_is_told_and_loses_nothing_else(
    project: Project,
) -> None:
    nobody = exposure("nobody", "model.shop.gone", "model.shop.mart", owner=None, type=None)
    odd: dict[str, Any] = exposure(
        "odd", owner=["ann"], depends_on=["x"], meta="x", tags={"a": 1}, config=[], label=7
    )
    found = read(
        project(
            small(),
            exposures={
                **nobody,
                **odd,
                **exposure("lines", owner={"name": "Ann\nLee", "email": ["ben@x.org", "c\rd"]}),
                "exposure.shop.text": "a text",
                "exposure.shop.a,b": {},
            },
            semantic_models={
                **semantic_model("broken", "mart", measures=[{"name": "x", "expr": "no_column"}]),
                **semantic_model("empty", "mart", measures=[{"name": 7}, {"agg": "sum"}]),
                "semantic_model.shop.list": [],
            },
            metrics={
                **metric("new", "forecast", "model.shop.mart"),
                **metric("lost", "simple", "semantic_model.shop.no", measure="gone", window=[1]),
                **metric("itself", "derived", "metric.shop.itself", metrics=["who", {"name": 7}]),
                **metric("nothing", "ratio", numerator=None, cumulative_type_params=[]),
                "metric.other.new": {"name": "new", "type": ["x"]},
                "metric.shop.nameless": {"type_params": [], "filter": 7},
                "metric.shop.comma": {"name": "a,(b"},
                "metric.shop.null": None,
            },
        )
    )
    assert {(one.subject, one.reason) for one in found.skipped if "column" not in one.reason} == {
        ("exposure.shop.nobody", "no lineage from model.shop.gone, which is not in the manifest"),
        ("exposure.shop.text", "it is not an object; run dbt again"),
        ("exposure.shop.a,b", "its id has characters that a URN cannot have"),
        ("exposure.shop.lines", "no owner 'c\\rd': it has characters that a URN cannot have"),
        ("semantic_model.shop.list", "it is not an object; run dbt again"),
        ("metric.shop.lost", "no lineage from the measure gone: no semantic model has it"),
        (
            "metric.shop.lost",
            "no lineage from semantic_model.shop.no, which is not in the manifest",
        ),
        (
            "metric.shop.itself",
            "no lineage from the metric who, which is not in the manifest",
        ),
        ("metric.shop.new", "metric.other.new has the same name"),
        ("metric.shop.nameless", "it has no name that a URN can have"),
        ("metric.shop.comma", "it has no name that a URN can have"),
        ("metric.shop.null", "it is not an object; run dbt again"),
    }
    assert [one.subject for one in found.skipped if "column" in one.reason] == [
        "semantic_model.shop.broken"
    ]
    assert metrics_of(found) == {
        "new": ("Simple", [], [], None),
        "lost": ("Simple", [], [], None),
        "itself": ("Derived", [], [], None),
        "nothing": ("Ratio", [], [], None),
    }
    titles = {
        one.value["title"]: one.value["datasets"]
        for one in found.proposals
        if one.aspect == "dashboardInfo"
    }
    assert titles == {"nobody": [dataset("dbt", "wh.main.mart")], "odd": [], "lines": []}
    lines = entity(found.proposals, "urn:li:dashboard:(dbt,exposure.shop.lines)")
    assert [one["owner"] for one in lines["ownership"]["owners"]] == ["urn:li:corpuser:ben@x.org"]
    assert "ownership" not in entity(found.proposals, "urn:li:dashboard:(dbt,exposure.shop.nobody)")


def test_exposures_and_metrics_are_downstream_and_are_hidden_when_they_are_gone(
    command: Run, cat: Catalog, project: Project
) -> None:
    root = project(small(), **sales())
    plan = command("add", str(root), "--dry-run").out
    assert "2 exposures" in plan
    assert "5 metrics" in plan
    assert command("add", str(root)).code == 0
    assert "13 unchanged; 0 aspects written" in command("sources", "run", "shop").out
    graph = json.loads(command("lineage", dataset("dbt", "wh.main.mart"), "--down", "--json").out)
    assert {one["name"]: one["hops"] for one in graph["nodes"]} == {
        "mart": 0,
        **dict.fromkeys(("sales", "churn", "Weekly Sales"), 1),
        **dict.fromkeys(("Sold", "late", "week"), 2),
        **dict.fromkeys(("mean", "rest"), 3),
    }
    fewer = sales()
    del fewer["exposures"]["exposure.shop.churn"], fewer["metrics"]["metric.shop.rest"]
    project(small(), **fewer)
    assert "2 gone, 11 unchanged; 2 aspects written" in command("sources", "run", "shop").out
    assert cat.entity("urn:li:dashboard:(dbt,exposure.shop.churn)").removed
    assert cat.entity("urn:li:metric:(urn:li:dataPlatform:dbt,shop,rest)").removed
    project(small(), **sales())
    assert "2 back again, 11 unchanged" in command("sources", "run", "shop").out


def test_a_metric_is_found_and_shown_by_its_label(command: Run, project: Project) -> None:
    assert command("add", str(project(small(), **sales()))).code == 0
    found = command("search", "Sold").out.splitlines()
    assert [line.split() for line in found[1:2]] == [
        ["Sold", "Simple", "dbt", "In", "euro.", "name"]
    ]
    shown = command("get", "urn:li:metric:(urn:li:dataPlatform:dbt,shop,mean)").out
    assert "metric · Ratio · dbt\n" in shown
    assert "derived from  Sold, late" in shown


def test_artifacts_without_a_project_are_named_after_what_the_manifest_says(
    command: Run, project: Project, tmp_path: Path
) -> None:
    ran = results(totals_are_positive="fail")
    target = project(small(), run_results=ran, **sales()) / "target"
    within = read(target.parent)
    # In a project, the manifest and its folder stand for the project.
    by_file = open_source(str(target / "manifest.json"), SourceOptions())
    assert by_file.location == str(target.parent)
    bare = tmp_path / "copied"
    shutil.copytree(target, bare)
    source = open_source(str(bare), SourceOptions())
    assert (source.kind, source.default_name) == ("dbt", "shop")
    assert source.location == str(bare / "manifest.json")
    found = source.read(quiet)
    assert (found.proposals, found.kinds) == (within.proposals, within.kinds)
    assert command("add", str(bare)).code == 0
    assert "13 unchanged; 0 aspects written" in command("sources", "run", "shop").out
    assert "13 unchanged; 0 aspects written" in command("add", str(bare / "manifest.json")).out
    # A folder of a project that dbt does not write to is not the project.
    kept = target.parent / "production"
    shutil.move(bare, kept)
    assert open_source(str(kept), SourceOptions()).location == str(kept / "manifest.json")


def test_artifacts_with_a_prefix_belong_together(project: Project, tmp_path: Path) -> None:
    root = project(small(), run_results=results(totals_are_positive="fail"))
    within = read(root)
    folder = tmp_path / "artifacts"
    folder.mkdir()
    manifest = json.loads((root / "target" / "manifest.json").read_bytes())
    (folder / "eu_manifest.json").write_text(json.dumps(manifest))
    outcome = json.loads((root / "target" / "run_results.json").read_bytes())
    (folder / "eu_test_results.json").write_text(json.dumps(outcome))
    assert read(folder).kinds == within.kinds
    # Only a file that says so has results of dbt.
    assert not [one for one in read(folder).proposals if one.aspect == "assertionRunEvent"]
    schema = "https://schemas.getdbt.com/dbt/run-results/v4.json"
    outcome["metadata"]["dbt_schema_version"] = schema
    (folder / "eu_test_results.json").write_text(json.dumps(outcome))
    assert read(folder / "eu_manifest.json").proposals == within.proposals
    manifest["metadata"]["project_name"] = "north"
    (folder / "us_manifest.json").write_text(json.dumps(manifest))
    assert open_source(str(folder / "us_manifest.json"), SourceOptions()).default_name == "north"
    with pytest.raises(InvalidInput, match=r"of 2 dbt projects: .*eu_manifest\.json"):
        open_source(str(folder), SourceOptions())
    # A folder of data files stays one.
    (folder / "orders.csv").write_text("id\n1\n")
    assert open_source(str(folder), SourceOptions()).kind == "file"


def test_another_manifest_is_not_taken_for_that_of_dbt(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"name": "an app", "metadata": [1]}')
    assert open_source(str(tmp_path), SourceOptions()).kind == "file"
    for content in ('{"name": "an app"}', "[]"):
        (tmp_path / "manifest.json").write_text(content)
        assert open_source(str(tmp_path / "manifest.json"), SourceOptions()).kind == "file"
    schema = "https://schemas.getdbt.com/dbt/manifest/v12.json"
    (tmp_path / "manifest.json").write_text(f'{{"metadata": {{"dbt_schema_version": "{schema}"')
    with pytest.raises(InvalidFile, match=r"manifest\.json is no JSON: .*; run dbt again"):
        open_source(str(tmp_path / "manifest.json"), SourceOptions())


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
    as_they_are = open_source(str(_REAL), SourceOptions())
    assert as_they_are.default_name == "jaffle_shop"
    assert as_they_are.read(quiet).proposals == found.proposals
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
    broken = sum(one["status"] == "error" and one["unique_id"] in known for one in listed)
    assert outcomes == {"SUCCESS": passed, "ERROR": broken}
    assert broken == 2


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


def lineage_of(found: Inventory) -> dict[str, list[str]]:
    """Return the columns of all models in `wh`, each with what it is made from."""
    lineage: dict[str, list[str]] = {}
    for one in found.proposals:
        if one.aspect == "upstreamLineage" and not one.urn.name.startswith("wh.raw."):
            lineage |= column_lineage(one.value)
    return lineage


@pytest.mark.parametrize("models", [40, *nightly(1_000)])
@pytest.mark.parametrize("is_compiled", [True, False])
def test_every_column_of_a_large_project_is_traced(
    project: Project, models: int, is_compiled: bool
) -> None:
    made = make_project(models)
    if is_compiled:
        found = read(project(made.nodes, catalog=made.catalog))
    else:
        found = read(project([{**one, "compiled_code": None} for one in made.nodes]))
    traced = {column: set(sources) for column, sources in lineage_of(found).items()}
    assert traced == made.edges
    assert found.skipped == []
    assert made.edge_count > 7.9 * models
    for name in made.ephemeral:
        columns = aspects_of(found.proposals, f"wh.marts.{name}")["schemaMetadata"]
        assert len(columns_of(columns)) == 8


def uncompiled() -> list[dict[str, Any]]:
    """The nodes of `small` as after `dbt parse`: with templates instead of SQL."""
    nodes = small()
    nodes[1] |= {
        "raw_code": "{{ config(materialized='view') }}\n"
        "select id as order_id, {{ hundredth('amount') }} as total\n"
        "{%- if is_incremental() %}, now() as at{% endif %} from {{ source('raw', 'raw_orders') }}",
        "original_file_path": "models/stg_orders.sql",
    }
    nodes[0]["source_name"] = "raw"
    nodes[2]["raw_code"] = "select order_id, total * 2 as twice from {{ all_of('stg_orders') }} s"
    for one in nodes:
        one["compiled_code"] = None
    return nodes


_MACROS = {
    "macro.shop.hundredth": {
        "package_name": "shop",
        "macro_sql": "{% macro hundredth(column) %}{{ column }} / 100{% endmacro %}",
    },
    "macro.shop.all_of": {
        "package_name": "shop",
        "macro_sql": "{% macro all_of(name) %}(select * from {{ ref(name) }}){% endmacro %}",
    },
}
_SMALL_LINEAGE = {
    "stg_orders.order_id": ["raw_orders.id"],
    "stg_orders.total": ["raw_orders.amount"],
    "mart.order_id": ["stg_orders.order_id"],
    "mart.twice": ["stg_orders.total"],
}


def test_models_that_dbt_did_not_compile_are_rendered(project: Project) -> None:
    found = read(project(uncompiled(), macros=_MACROS))
    lineage = lineage_of(found)
    assert lineage.pop("raw_orders.id") == ["ORDERS_V2.id"]
    del lineage["raw_orders.amount"]
    assert (lineage, found.skipped) == (_SMALL_LINEAGE, [])
    note = (
        "manifest.json has the compiled SQL of 0 of 2 models; that of 2 models (stg_orders, mart) "
        "was rendered from their templates"
    )
    assert note in found.notes


def test_sql_that_dbt_compiled_before_counts_while_the_model_is_the_same(
    project: Project,
) -> None:
    # Without the macro that stg_orders calls.
    all_of = {name: macro for name, macro in _MACROS.items() if name.endswith("all_of")}
    root = project(uncompiled(), macros=all_of)
    compiled = root / "target/compiled/shop/models/stg_orders.sql"
    compiled.parent.mkdir(parents=True)
    compiled.write_text("\nselect id as order_id, amount / 100 as total from wh.main.ORDERS_V2\n")
    found = read(root)
    assert lineage_of(found).items() >= _SMALL_LINEAGE.items()
    assert "that of 1 model (stg_orders) was read from target/compiled" in found.notes[0]
    # Of another version of the model it is not read.
    compiled.write_text("select id as old_id, amount / 100 as total from wh.main.ORDERS_V2")
    found = read(root)
    assert "stg_orders.old_id" not in lineage_of(found)
    (skipped,) = found.skipped
    assert skipped.subject == "shop"
    assert "no column lineage of 1 model (stg_orders): their SQL is not compiled" in skipped.reason
    assert "hundredth" in skipped.reason
    assert "dbt compile" in skipped.reason


def test_what_the_catalog_has_of_models_that_only_dbt_can_compile_is_kept(
    command: Run, cat: Catalog, project: Project
) -> None:
    nodes = small()
    nodes[1]["config"] = {"materialized": "ephemeral"}
    for one in nodes[1:3]:
        one["raw_code"] = f"select {{{{ dbt_utils.star('{one['name']}') }}}}"
    root = project(nodes)
    assert command("add", str(root)).code == 0
    urns = [Urn.parse(dataset("dbt", f"wh.main.{name}")) for name in ("stg_orders", "mart")]
    before = [cat.entity(urn) for urn in urns]
    project([{**one, "compiled_code": None} for one in nodes])
    ran = command("sources", "run", "shop")
    assert ran.code == 0
    told = (
        "the column lineage of 2 models (stg_orders, mart) is that of an earlier run: their SQL is "
        "not compiled"
    )
    assert told in " ".join(ran.err.split())
    assert "unchanged" in ran.out + ran.err
    for old, urn in zip(before, urns, strict=True):
        now = cat.entity(urn)
        for aspect in ("upstreamLineage", "schemaMetadata", "viewProperties"):
            assert now.raw(aspect) == old.raw(aspect)
    # A model that it is no longer made from takes its part of the lineage along.
    changed = [{**one, "compiled_code": None} for one in nodes]
    changed[2] |= {"depends_on": {"nodes": ["source.shop.raw_orders"]}, "raw_code": "{{ x() }}"}
    project(changed)
    assert command("sources", "run", "shop").code == 0
    lineage = cat.entity(urns[1]).raw("upstreamLineage") or {}
    assert [one["dataset"] for one in lineage["upstreams"]] == [
        dataset("dbt", "wh.main.raw_orders")
    ]
    assert not lineage.get("fineGrainedLineages")


def test_columns_of_tables_that_are_not_known_are_those_that_models_name(
    project: Project,
) -> None:
    def of(name: str, sql: str) -> dict[str, Any]:
        return node("model", name, sql, depends_on={"nodes": ["source.shop.s"]})

    nodes = [
        node("source", "s"),
        of(
            "a", "with src as (select * from wh.main.s) select src.id, upper(src.nm) as nm from src"
        ),
        of("all", "select * from wh.main.s where id > 3"),
        of(
            "odd", "select t.x, unnest([y]) as z from wh.main.s t, (select 1 as y) u natural join v"
        ),
    ]
    found = read(project(nodes))
    assert lineage_of(found).items() >= {"a.id": ["s.id"], "a.nm": ["s.nm"]}.items()
    names = {}
    for one in ("s", "a", "all", "odd"):
        schema = aspects_of(found.proposals, f"wh.main.{one}")["schemaMetadata"]
        names[one] = [column[0] for column in columns_of(schema)]
    assert names == {"s": [], "a": ["id", "nm"], "all": [], "odd": ["x", "z"]}
    (note,) = found.notes
    assert "those of 2 tables (all, s) are not known; dbt docs generate writes them" in note
    assert [one.subject for one in found.skipped] == ["model.shop.all", "model.shop.odd"]


def test_columns_that_catalog_json_lacks_are_those_of_the_warehouse_in_the_catalog(
    command: Run, cat: Catalog, project: Project
) -> None:
    cat.put(
        dataset("duckdb", "wh.main.orders_v2"),
        "schemaMetadata",
        schema_metadata({"ID": None, "amount": None, "at": None}),
    )
    nodes = small()
    nodes[1]["compiled_code"] = "select *, 1 as one from wh.main.ORDERS_V2"
    nodes.append(node("seed", "rates", original_file_path="seeds/rates.csv"))
    root = project(nodes)
    (root / "seeds").mkdir()
    (root / "seeds/rates.csv").write_text("day,rate\n2024-01-01,1\n")
    assert command("add", str(root)).code == 0
    columns = {
        name: [
            one.path.simple
            for one in cat.entity(Urn.parse(dataset("dbt", f"wh.main.{name}"))).schema
        ]
        for name in ("raw_orders", "stg_orders", "rates")
    }
    assert columns == {
        "raw_orders": ["ID", "amount", "at"],
        "stg_orders": ["id", "amount", "at", "one", "order_id"],
        "rates": ["day", "rate"],
    }


def test_ephemeral_models_are_part_of_the_lineage_and_have_types(project: Project) -> None:
    cte = (
        "__dbt__cte__clean as (select order_id, total, cast(total as int) as rounded, "
        "total * 2 as twice from wh.main.stg_orders)"
    )
    nodes = small()
    of_staged = {"nodes": ["model.shop.stg_orders"]}
    nodes.append(
        node(
            "model",
            "clean",
            cte.partition("as (")[2][:-1],
            config={"materialized": "ephemeral"},
            depends_on=of_staged,
        )
    )
    nodes[2] |= {
        "compiled_code": f"with {cte}, x as (select c.* from __dbt__cte__clean c) "
        "select order_id, rounded from x",
        "depends_on": {"nodes": ["model.shop.clean"]},
    }
    types = {"order_id": "BIGINT", "total": "DECIMAL(10,2)"}
    columns = {name: {"name": name, "type": kind} for name, kind in types.items()}
    found = read(project(nodes, catalog={"nodes": {"model.shop.stg_orders": {"columns": columns}}}))
    lineage = lineage_of(found)
    assert lineage["mart.order_id"] == ["clean.order_id"]
    assert lineage["mart.rounded"] == ["clean.rounded"]
    assert lineage["clean.rounded"] == ["stg_orders.total"]
    clean = aspects_of(found.proposals, "wh.main.clean")
    assert [(name, kind) for name, kind, _, _ in columns_of(clean["schemaMetadata"])] == [
        ("order_id", "BIGINT"),
        ("total", "DECIMAL(10,2)"),
        ("rounded", "int"),
        ("twice", ""),
    ]


def test_columns_in_both_are_traced_where_catalog_json_is_older_than_the_model(
    project: Project,
) -> None:
    nodes = small()
    columns = {name: {"name": name, "type": "INTEGER"} for name in ("order_id", "twice", "gone")}
    found = read(project(nodes, catalog={"nodes": {"model.shop.mart": {"columns": columns}}}))
    assert lineage_of(found)["mart.twice"] == ["stg_orders.total"]
    (skipped,) = found.skipped
    assert skipped.subject == "model.shop.mart"
    assert "2 columns where catalog.json has 3" in skipped.reason


@pytest.mark.parametrize(
    ("template", "sql", "expected"),
    [
        ("select a from {{ ref('x') }}", "select a  from x", True),
        ("select a, b from {{ ref('x') }}", "select a from x", False),
        ("{% if x %}select 1{% else %}select 2{% endif %} from t", "select 2 from t", True),
        ("select {% for s in l %}{{ s }},{% endfor %} 1 as z", "select a, b, 1 as z", True),
        ("select {% for s in l %}{{ s }},{% endfor %} 1 as z", "select a, b, 1 as y", False),
        ("{% set l %}select 9{% endset %}{% set n = 1 %}select {{ n }}", "select 1", True),
        ("{% snapshot s %}select {# no #} 1{% endsnapshot %}", "select 1", True),
    ],
)
def test_compiled_sql_is_known_by_what_its_template_always_says(
    template: str, sql: str, expected: bool
) -> None:
    assert is_rendered_from(sql, template) is expected
