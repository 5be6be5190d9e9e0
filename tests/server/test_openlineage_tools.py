"""dbt and Airflow, with their integrations with OpenLineage, against a served catalog."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from explorer.sources.duckdb_file import DuckDbFile
from explorer.sources.source import SourceOptions
from tests.datahub.environments import NotInstalled, install_airflow, install_dbt
from tests.server.conftest import Caller

# The first test may install the tools.
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:duckdb,shop.main.orders,PROD)"
DAILY = "urn:li:dataset:(urn:li:dataPlatform:duckdb,shop.main.daily,PROD)"
DBT_FILES = {
    "dbt_project.yml": "{name: shop, version: '1.0', profile: shop}",
    "profiles.yml": "shop: {target: dev, outputs: {dev: {type: duckdb, path: shop.duckdb}}}",
    "seeds/orders.csv": "id,amount\n1,10\n2,20\n",
    "models/daily.sql": """
        {{ config(materialized="table") }}
        select id, sum(amount) as total from {{ ref("orders") }} group by id""",
    "models/schema.yml": """
        models:
          - name: daily
            description: Orders by day
            columns: [{name: id, description: the order, data_tests: [not_null]}]""",
}
DAG = """
from datetime import datetime

from airflow import DAG
from airflow.models import BaseOperator
from airflow.operators.bash import BashOperator
from airflow.providers.openlineage.extractors import OperatorLineage
from openlineage.client.event_v2 import Dataset
from openlineage.client.facet_v2 import column_lineage_dataset, schema_dataset, sql_job


class Copy(BaseOperator):
    def execute(self, context):
        pass

    def get_openlineage_facets_on_complete(self, task_instance):
        origin = column_lineage_dataset.InputField("postgres://db:5432", "shop.public.raw", "id")
        column = column_lineage_dataset.Fields(inputFields=[origin])
        field = schema_dataset.SchemaDatasetFacetFields("id", "integer")
        facets = {
            "columnLineage": column_lineage_dataset.ColumnLineageDatasetFacet({"id": column}),
            "schema": schema_dataset.SchemaDatasetFacet(fields=[field]),
        }
        return OperatorLineage(
            inputs=[Dataset("postgres://db:5432", "shop.public.raw")],
            outputs=[Dataset("postgres://db:5432", "shop.public.copy", facets=facets)],
            job_facets={"sql": sql_job.SQLJobFacet("insert into copy select id from raw")},
        )


with DAG(
    "shop_dag",
    start_date=datetime(2024, 1, 1),
    schedule="@daily",
    tags=["sales"],
    description="All of the shop",
    default_args={"owner": "ann"},
):
    Copy(task_id="copy") >> BashOperator(task_id="say", bash_command="exit 0")
"""


@pytest.fixture
def run(caller: Caller, tmp_path: Path) -> Callable[..., None]:
    """Run a command in a directory of its own, told where the catalog is."""

    def start(install: Callable[[], Path], *command: str, **more: str) -> None:
        try:
            folder = install()
        except NotInstalled as reason:
            pytest.skip(str(reason))
        environment = {
            "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "OPENLINEAGE_URL": str(caller.http.base_url),
            **more,
        }
        done = subprocess.run(
            [str(folder / command[0]), *command[1:]],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]

    return start


@pytest.mark.nightly
def test_dbt_tells_its_models_their_lineage_and_tests(
    caller: Caller, run: Callable[..., None], tmp_path: Path
) -> None:
    for name, text in DBT_FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    run(
        install_dbt,
        "dbt-ol",
        "build",
        OPENLINEAGE_NAMESPACE="warehouse",
        DBT_PROFILES_DIR=".",
        DBT_SEND_ANONYMOUS_USAGE_STATS="false",
    )
    job = "urn:li:dataJob:(urn:li:dataFlow:(dbt,shop,warehouse),shop.main.shop.daily.build.run)"
    info = caller.value(job, "dataJobInfo")
    assert info["type"] == {"string": "dbt"}
    assert info["customProperties"]["jobType.jobType"] == "MODEL"
    logic = caller.value(job, "dataTransformLogic")["transforms"][0]["queryStatement"]["value"]
    assert "sum(amount) as total" in logic
    lineage = caller.value(DAILY, "upstreamLineage")
    assert [one["dataset"] for one in lineage["upstreams"]] == [ORDERS]
    assert {
        (one["upstreams"][0].rpartition(",")[2], one["downstreams"][0].rpartition(",")[2])
        for one in lineage["fineGrainedLineages"]
    } == {("id)", "id)"), ("amount)", "total)")}
    assert caller.value(DAILY, "datasetProperties")["description"] == "Orders by day"
    linked = caller.value(job, "dataJobInputOutput")
    assert [one["destinationUrn"] for one in linked["outputDatasetEdges"]] == [DAILY]
    parent = "urn:li:dataJob:(urn:li:dataFlow:(dbt,dbt-run-shop,warehouse),dbt-run-shop)"
    assert [one["destinationUrn"] for one in linked["inputDatajobEdges"]] == [parent]
    tests = [
        info
        for urn in caller.catalog.store.urns(entity_type="assertion")
        if (info := caller.value(urn, "assertionInfo") or {})
        .get("datasetAssertion", {})
        .get("dataset")
        == DAILY
    ]
    assert [one["description"] for one in tests] == ["not_null_daily_id"]
    # The database's own source means the same tables, and what it knows is added.
    inventory = DuckDbFile(tmp_path / "shop.duckdb", SourceOptions()).read(lambda *_: None)
    datasets = {str(one.urn) for one in inventory.proposals if one.urn.entity_type == "dataset"}
    assert datasets == {ORDERS, DAILY}


@pytest.mark.nightly
def test_airflow_tells_its_dags_tasks_and_runs(
    caller: Caller, run: Callable[..., None], tmp_path: Path
) -> None:
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "shop.py").write_text(DAG)
    given = {
        "AIRFLOW_HOME": str(tmp_path),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__OPENLINEAGE__NAMESPACE": "airflow-prod",
        "AIRFLOW__OPENLINEAGE__TRANSPORT": json.dumps(
            {"type": "http", "url": str(caller.http.base_url)}
        ),
    }
    run(install_airflow, "airflow", "db", "migrate", **given)
    run(install_airflow, "airflow", "dags", "test", "shop_dag", "2024-01-01", **given)
    flow = "urn:li:dataFlow:(airflow,shop_dag,airflow-prod)"
    about = caller.value(flow, "dataFlowInfo")
    assert (about["name"], about["description"]) == ("shop_dag", "All of the shop")
    assert about["customProperties"]["schedule_interval"] == "@daily"
    assert caller.value(flow, "globalTags") == {"tags": [{"tag": "urn:li:tag:sales"}]}
    copy, say = (f"urn:li:dataJob:({flow},shop_dag.{task})" for task in ("copy", "say"))
    assert caller.value(copy, "dataJobInfo")["customProperties"]["operator_class"] == "Copy"
    assert "exit 0" in caller.value(say, "dataJobInfo")["customProperties"]["sourceCode.sourceCode"]
    owners = caller.value(copy, "ownership")["owners"]
    assert [one["owner"] for one in owners] == ["urn:li:corpuser:ann"]
    raw, made = (
        f"urn:li:dataset:(urn:li:dataPlatform:postgres,shop.public.{name},PROD)"
        for name in ("raw", "copy")
    )
    linked = caller.value(copy, "dataJobInputOutput")
    assert [one["destinationUrn"] for one in linked["inputDatasetEdges"]] == [raw]
    assert [one["destinationUrn"] for one in linked["outputDatasetEdges"]] == [made]
    fine = caller.value(made, "upstreamLineage")["fineGrainedLineages"]
    assert [(one["upstreams"], one["downstreams"]) for one in fine] == [
        ([f"urn:li:schemaField:({raw},id)"], [f"urn:li:schemaField:({made},id)"])
    ]
    instances = ended(caller, copy)
    assert [one["result"]["type"] for one in instances] == ["SUCCESS"]


def ended(caller: Caller, job: str) -> list[Any]:
    """The ends of all runs of a job."""
    store = caller.catalog.store
    runs = [
        urn
        for urn in store.urns(entity_type="dataProcessInstance")
        if (caller.value(urn, "dataProcessInstanceRelationships") or {}).get("parentTemplate")
        == job
    ]
    documents = [
        json.loads(one.value)
        for urn in runs
        for one in store.documents(urn, "dataProcessInstanceRunEvent")
    ]
    return [one for one in documents if "result" in one]
