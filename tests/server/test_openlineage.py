"""Events of OpenLineage, posted and read back as aspects."""

import gzip
import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import httpx
import pytest
from openlineage.client import OpenLineageClient
from openlineage.client import event_v2 as events
from openlineage.client import facet_v2 as facets
from openlineage.client.generated import base
from openlineage.client.transport.async_http import AsyncHttpConfig, AsyncHttpTransport
from openlineage.client.transport.http import HttpCompression, HttpConfig, HttpTransport

from explorer.errors import InvalidInput
from explorer.server import openlineage
from explorer.server.app import Service
from explorer.server.authentication import Gate, Keyring, create_token
from explorer.server.catalog import CatalogEngine
from tests.conftest import serving_catalog
from tests.server.conftest import Caller

PRODUCER = "https://github.com/OpenLineage/OpenLineage/tree/1.54.0/integration/spark"
TIME = "2024-05-01T12:00:00Z"
MILLIS = 1714564800000
BY = {"time": MILLIS, "actor": "urn:li:corpuser:datahub"}
PATH = "/api/v1/lineage"


def dataset_urn(platform: str, name: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},PROD)"


def column(dataset: str, path: str) -> str:
    return f"urn:li:schemaField:({dataset},{path})"


class Job:
    """A job of one test, with the URNs of what its events become."""

    def __init__(self, caller: Caller, name: str) -> None:
        self.caller = caller
        self.name = name
        self.run = str(uuid4())
        self.flow = f"urn:li:dataFlow:(spark,{name},batch)"
        self.urn = f"urn:li:dataJob:({self.flow},{name}.task)"
        self.instance = f"urn:li:dataProcessInstance:{self.run}"
        self.source = dataset_urn("postgres", f"shop.{name}.orders")
        self.target = dataset_urn("s3", f"lake/{name}/daily")

    def dataset(self, which: str = "source", **facets: Any) -> dict[str, Any]:
        if which == "source":
            return {
                "namespace": "postgres://db:5432",
                "name": f"shop.{self.name}.orders",
                "facets": facets,
            }
        return {"namespace": "s3://lake", "name": f"{self.name}/daily", "facets": facets}

    def event(self, kind: str = "COMPLETE", at: str = TIME, **more: Any) -> dict[str, Any]:
        return {
            "eventType": kind,
            "eventTime": at,
            "producer": PRODUCER,
            "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
            "run": {"runId": self.run, "facets": more.pop("run_facets", {})},
            "job": {
                "namespace": "batch",
                "name": f"{self.name}.task",
                "facets": more.pop("job_facets", {}),
            },
            **more,
        }

    def post(self, *given: Any, **more: Any) -> None:
        answer = self.caller.post(PATH, given[0] if given else self.event(**more))
        assert (answer.status_code, answer.content) == (200, b""), answer.text

    def value(self, urn: str, aspect: str) -> Any:
        return self.caller.value(urn, aspect)

    def documents(self, urn: str, aspect: str) -> list[Any]:
        store = self.caller.catalog.store
        return [json.loads(one.value) for one in store.documents(urn, aspect)]


@pytest.fixture
def job(caller: Caller, request: pytest.FixtureRequest) -> Job:
    return Job(caller, request.node.name.split("[")[0].removeprefix("test_")[:60])


def test_an_event_of_a_run_becomes_a_flow_a_job_a_run_and_datasets(job: Job) -> None:
    job.post(
        inputs=[job.dataset()],
        outputs=[
            job.dataset(
                "target",
                schema={
                    "fields": [
                        {"name": "id", "type": "BIGINT", "description": "the order"},
                        {
                            "name": "who",
                            "type": "struct<name:string>",
                            "fields": [{"name": "name", "type": "string"}],
                        },
                    ]
                },
                columnLineage={
                    "fields": {
                        "id": {
                            "inputFields": [
                                {
                                    "namespace": "postgres://db:5432",
                                    "name": f"shop.{job.name}.orders",
                                    "field": "order_id",
                                    "transformations": [
                                        {"type": "DIRECT", "subtype": "IDENTITY"},
                                        {
                                            "type": "INDIRECT",
                                            "subtype": "FILTER",
                                            "description": "id > 0",
                                            "masking": True,
                                        },
                                    ],
                                }
                            ]
                        }
                    }
                },
                documentation={"description": "Orders by day"},
                ownership={
                    "owners": [
                        {"name": "team:sales", "type": "STEWARD"},
                        {"name": "user:ann", "type": "MAINTAINER"},
                    ]
                },
            )
        ],
        job_facets={
            "documentation": {"description": "Copies orders"},
            "ownership": {"owners": [{"name": "bob"}]},
            "sql": {"query": "select order_id as id from orders", "dialect": "postgres"},
        },
    )
    assert job.value(job.flow, "dataFlowInfo") == {"name": job.name, "customProperties": {}}
    assert job.value(job.urn, "dataJobInfo") == {
        "name": "task",
        "type": {"string": "spark"},
        "flowUrn": job.flow,
        "description": "Copies orders",
        "created": {"time": MILLIS},
        "customProperties": {"sql.dialect": "postgres"},
    }
    assert job.value(job.urn, "dataTransformLogic") == {
        "transforms": [
            {
                "queryStatement": {
                    "value": "select order_id as id from orders",
                    "language": "SQL",
                }
            }
        ]
    }
    fine = {
        "upstreamType": "FIELD_SET",
        "upstreams": [column(job.source, "order_id")],
        "downstreamType": "FIELD",
        "downstreams": [column(job.target, "id")],
        "confidenceScore": 0.5,
        "transformOperation": "DIRECT:IDENTITY,INDIRECT:FILTER:MASKING\nid > 0",
    }
    assert job.value(job.urn, "dataJobInputOutput") == {
        "inputDatasets": [],
        "outputDatasets": [],
        "inputDatasetEdges": [{"destinationUrn": job.source, "lastModified": BY}],
        "outputDatasetEdges": [{"destinationUrn": job.target, "lastModified": BY}],
        "fineGrainedLineages": [fine],
    }
    assert job.value(job.target, "upstreamLineage") == {
        "upstreams": [{"auditStamp": BY, "dataset": job.source, "type": "TRANSFORMED"}],
        "fineGrainedLineages": [fine],
    }
    assert job.value(job.source, "upstreamLineage") is None
    number: dict[str, Any] = {"type": {"com.linkedin.schema.NumberType": {}}}
    record: dict[str, Any] = {"type": {"com.linkedin.schema.RecordType": {}}}
    column_value = {"nullable": True, "recursive": False, "isPartOfKey": False}
    assert job.value(job.target, "schemaMetadata") == {
        "schemaName": f"{job.name}/daily",
        "platform": "urn:li:dataPlatform:s3",
        "version": 0,
        "hash": "",
        "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
        "fields": [
            {
                "fieldPath": "id",
                "type": number,
                "nativeDataType": "BIGINT",
                "description": "the order",
                **column_value,
            },
            {
                "fieldPath": "who",
                "type": record,
                "nativeDataType": "struct<name:string>",
                **column_value,
            },
            {
                "fieldPath": "who.name",
                "type": {"type": {"com.linkedin.schema.StringType": {}}},
                "nativeDataType": "string",
                **column_value,
            },
        ],
    }
    assert job.value(job.target, "datasetProperties") == {
        "name": "daily",
        "qualifiedName": f"{job.name}/daily",
        "description": "Orders by day",
        "customProperties": {},
    }
    assert job.value(job.target, "status") == {"removed": False}
    assert job.value(job.target, "ownership")["owners"] == [
        {
            "owner": "urn:li:corpGroup:sales",
            "type": "DATA_STEWARD",
            "source": {"type": "SERVICE"},
        },
        {"owner": "urn:li:corpuser:ann", "type": "DEVELOPER", "source": {"type": "SERVICE"}},
    ]
    for urn in (job.urn, job.flow):
        assert [one["owner"] for one in job.value(urn, "ownership")["owners"]] == [
            "urn:li:corpuser:bob"
        ]
    assert job.value(job.instance, "dataProcessInstanceProperties") == {
        "name": job.run,
        "type": "BATCH_AD_HOC",
        "created": BY,
        "customProperties": {},
    }
    assert job.value(job.instance, "dataProcessInstanceRelationships") == {
        "parentTemplate": job.urn,
        "upstreamInstances": [],
    }
    assert job.value(job.instance, "dataProcessInstanceInput") == {"inputs": [job.source]}
    assert job.value(job.instance, "dataProcessInstanceOutput") == {"outputs": [job.target]}
    assert job.documents(job.instance, "dataProcessInstanceRunEvent") == [
        {
            "timestampMillis": MILLIS,
            "messageId": "COMPLETE",
            "status": "COMPLETE",
            "result": {"type": "SUCCESS", "nativeResultType": "COMPLETE"},
        }
    ]


@pytest.fixture
def client(caller: Caller) -> Iterator[OpenLineageClient]:
    config = HttpConfig(url=str(caller.http.base_url), compression=HttpCompression.GZIP)
    transport = HttpTransport(config)
    yield OpenLineageClient(transport=transport)
    transport.close()


def test_the_python_client_sends_all_kinds_of_events(job: Job, client: OpenLineageClient) -> None:
    target = events.OutputDataset(
        namespace="s3://lake",
        name=f"{job.name}/daily",
        facets={
            "schema": facets.schema_dataset.SchemaDatasetFacet(
                fields=[facets.schema_dataset.SchemaDatasetFacetFields("id", "int")]
            )
        },
    )
    own = events.Job(namespace="batch", name=f"{job.name}.task")
    for state in (events.RunState.START, events.RunState.COMPLETE):
        client.emit(
            events.RunEvent(
                eventTime=TIME,
                eventType=state,
                run=events.Run(job.run),
                job=own,
                producer=PRODUCER,
                outputs=[target],
            )
        )
    documented = facets.documentation_job.DocumentationJobFacet(description="a job")
    client.emit(
        events.JobEvent(
            eventTime=TIME,
            producer=PRODUCER,
            job=events.Job("batch", f"{job.name}.task", {"documentation": documented}),
            inputs=[events.InputDataset("postgres://db:5432", f"shop.{job.name}.orders")],
        )
    )
    client.emit(
        events.DatasetEvent(
            eventTime=TIME,
            producer=PRODUCER,
            dataset=events.StaticDataset(
                "postgres://db:5432",
                f"shop.{job.name}.orders",
                facets={
                    "documentation": facets.documentation_dataset.DocumentationDatasetFacet("all")
                },
            ),
        )
    )
    linked = job.value(job.urn, "dataJobInputOutput")
    assert [one["destinationUrn"] for one in linked["inputDatasetEdges"]] == [job.source]
    assert [one["destinationUrn"] for one in linked["outputDatasetEdges"]] == [job.target]
    assert job.value(job.urn, "dataJobInfo")["description"] == "a job"
    assert job.value(job.source, "datasetProperties")["description"] == "all"
    assert job.value(job.target, "schemaMetadata")["fields"][0]["nativeDataType"] == "int"
    states = {
        one["messageId"] for one in job.documents(job.instance, "dataProcessInstanceRunEvent")
    }
    assert states == {"START", "COMPLETE"}


def every_facet(name: str) -> dict[str, dict[str, Any]]:
    """One of each facet class of the client, by where it belongs and the key it has there."""
    f = facets
    table = ("hive", f"{name}.other")
    run, other = str(uuid4()), str(uuid4())
    field = f.column_lineage_dataset.InputField(
        *table, field="x", transformations=[f.column_lineage_dataset.Transformation("DIRECT")]
    )
    metrics = {"id": {"nullCount": 1, "distinctCount": 2, "min": 1.0, "max": 2.0}}
    location = f.base_subset_dataset.LocationSubsetCondition(locations=["/a"])
    part = f.lineage.LineageDatasetInput(*table, type="DATASET", field="y")
    return {
        "run": {
            "nominalTime": f.nominal_time_run.NominalTimeRunFacet(TIME, TIME),
            "parent": f.parent_run.ParentRunFacet(
                run=f.parent_run.Run(run), job=f.parent_run.Job("batch", f"{name}_dag.x")
            ),
            "errorMessage": f.error_message_run.ErrorMessageRunFacet("no", "PYTHON", "trace"),
            "externalQuery": f.external_query_run.ExternalQueryRunFacet("q1", "bigquery"),
            "extractionError": f.extraction_error_run.ExtractionErrorRunFacet(
                1, 1, [f.extraction_error_run.Error("no", "trace", "select", 0)]
            ),
            "processing_engine": f.processing_engine_run.ProcessingEngineRunFacet(
                "3", "spark", "1"
            ),
            "environmentVariables": f.environment_variables_run.EnvironmentVariablesRunFacet(
                [f.environment_variables_run.EnvironmentVariable("REGION", "eu")]
            ),
            "executionParameters": f.execution_parameters_run.ExecutionParametersRunFacet(
                [f.execution_parameters_run.ExecutionParameter("day", value="1")]
            ),
            "jobDependencies": f.job_dependencies_run.JobDependenciesRunFacet(
                upstream=[
                    f.job_dependencies_run.JobDependency(
                        f.job_dependencies_run.JobIdentifier("batch", f"{name}.before"),
                        f.job_dependencies_run.RunIdentifier(other),
                    )
                ]
            ),
            "tags": f.tags_run.TagsRunFacet([f.tags_run.TagsRunFacetFields("a", "b")]),
            "test": f.test_run.TestRunFacet([f.test_run.TestExecution("t", "pass")]),
        },
        "job": {
            "documentation": f.documentation_job.DocumentationJobFacet("a job"),
            "jobType": f.job_type_job.JobTypeJobFacet("BATCH", "SPARK", "JOB"),
            "lineage": f.lineage.LineageJobFacet(
                [f.lineage.LineageDatasetEntry(*table, type="DATASET", inputs=[part])]
            ),
            "ownership": f.ownership_job.OwnershipJobFacet([f.ownership_job.Owner("team:x")]),
            "sourceCode": f.source_code_job.SourceCodeJobFacet("python", "pass"),
            "sourceCodeLocation": f.source_code_location_job.SourceCodeLocationJobFacet(
                "git", "https://git.example/a"
            ),
            "sql": f.sql_job.SQLJobFacet("select 1", "duckdb"),
            "tags": f.tags_job.TagsJobFacet([f.tags_job.TagsJobFacetFields("a", "true")]),
        },
        "dataset": {
            "catalog": f.catalog_dataset.CatalogDatasetFacet("iceberg", "glue", "main"),
            "columnLineage": f.column_lineage_dataset.ColumnLineageDatasetFacet(
                {"id": f.column_lineage_dataset.Fields([field])}, [field]
            ),
            "dataQualityMetrics": f.data_quality_metrics_dataset.DataQualityMetricsDatasetFacet(
                columnMetrics={
                    key: f.data_quality_metrics_dataset.ColumnMetrics(**one)  # type: ignore[arg-type]
                    for key, one in metrics.items()
                },
                rowCount=2,
            ),
            "dataSource": f.datasource_dataset.DatasourceDatasetFacet("db", "postgres://db"),
            "datasetType": f.dataset_type_dataset.DatasetTypeDatasetFacet("TABLE"),
            "documentation": f.documentation_dataset.DocumentationDatasetFacet("a table"),
            "hierarchy": f.hierarchy_dataset.HierarchyDatasetFacet(
                [f.hierarchy_dataset.HierarchyDatasetFacetLevel("DATABASE", "d")]
            ),
            "lifecycleStateChange": (
                f.lifecycle_state_change_dataset.LifecycleStateChangeDatasetFacet(
                    f.lifecycle_state_change_dataset.LifecycleStateChange.OVERWRITE
                )
            ),
            "lineage": f.lineage.LineageDatasetFacet(inputs=[part]),
            "ownership": f.ownership_dataset.OwnershipDatasetFacet(
                [f.ownership_dataset.Owner("ann", "MAINTAINER")]
            ),
            "schema": f.schema_dataset.SchemaDatasetFacet(
                [f.schema_dataset.SchemaDatasetFacetFields("id", "int")]
            ),
            "storage": f.storage_dataset.StorageDatasetFacet("delta", "parquet"),
            "symlinks": f.symlinks_dataset.SymlinksDatasetFacet(
                [f.symlinks_dataset.Identifier("hive://h:1", f"{name}.t", "TABLE")]
            ),
            "tags": f.tags_dataset.TagsDatasetFacet(
                [f.tags_dataset.TagsDatasetFacetFields("a", "b")]
            ),
            "version": f.dataset_version_dataset.DatasetVersionDatasetFacet("7"),
        },
        "input": {
            "dataQualityMetrics": (
                f.data_quality_metrics_input_dataset.DataQualityMetricsInputDatasetFacet(
                    columnMetrics={}, rowCount=2
                )
            ),
            "dataQualityAssertions": (
                f.data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet(
                    [f.data_quality_assertions_dataset.Assertion("unique", True, "id")]
                )
            ),
            "inputStatistics": f.input_statistics_input_dataset.InputStatisticsInputDatasetFacet(2),
            "subset": f.base_subset_dataset.InputSubsetInputDatasetFacet(location),
        },
        "output": {
            "outputStatistics": (
                f.output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(3, 30, 1)
            ),
            "subset": f.base_subset_dataset.OutputSubsetOutputDatasetFacet(location),
        },
    }


def test_the_python_client_sends_every_facet_it_has(job: Job, client: OpenLineageClient) -> None:
    given = every_facet(job.name)
    bases = (base.RunFacet, base.JobFacet, base.DatasetFacet, base.InputDatasetFacet)
    known = {one for kind in (*bases, base.OutputDatasetFacet) for one in kind.__subclasses__()}
    sent = {type(one) for group in given.values() for one in group.values()}
    assert {one.__name__ for one in known} <= {one.__name__ for one in sent}
    client.emit(
        events.RunEvent(
            eventTime=TIME,
            eventType=events.RunState.COMPLETE,
            producer=PRODUCER,
            run=events.Run(job.run, given["run"]),
            job=events.Job("batch", f"{job.name}.task", given["job"]),
            inputs=[
                events.InputDataset("hive", f"{job.name}.in", inputFacets=given["input"]),
            ],
            outputs=[
                events.OutputDataset(
                    "s3://lake",
                    f"{job.name}/daily",
                    facets=given["dataset"],
                    outputFacets=given["output"],
                )
            ],
        )
    )
    table, other = dataset_urn("hive", f"{job.name}.t"), dataset_urn("hive", f"{job.name}.other")
    lineage = job.value(table, "upstreamLineage")
    assert [one["dataset"] for one in lineage["upstreams"]] == [other]
    assert [one["upstreams"] for one in lineage["fineGrainedLineages"]] == [[column(other, "x")]]
    assert job.documents(table, "operation")[0]["operationType"] == "UPDATE"
    # What was counted says more than what was written.
    assert [one["rowCount"] for one in job.documents(table, "datasetProfile")] == [2]
    assert job.value(table, "datasetProperties")["customProperties"]["datasetVersion"] == "7"
    kept = properties(job, job.instance, "dataProcessInstanceProperties")
    assert kept["environmentVariables.REGION"] == "eu"
    # Of all that was sent, nothing is lost without a trace.
    lost = {key for key in given["run"] if not any(name.startswith(key) for name in kept)}
    assert lost == {"processing_engine"}


def test_the_python_client_sends_many_events_at_once(job: Job) -> None:
    transport = AsyncHttpTransport(AsyncHttpConfig(url=str(job.caller.http.base_url)))
    client = OpenLineageClient(transport=transport)
    for number in range(20):
        for state in (events.RunState.START, events.RunState.COMPLETE):
            client.emit(
                events.RunEvent(
                    eventTime=TIME,
                    eventType=state,
                    run=events.Run(str(uuid4())),
                    job=events.Job("batch", f"{job.name}.task"),
                    producer=PRODUCER,
                    inputs=[events.InputDataset("postgres://db:5432", f"{job.name}.t{number}")],
                )
            )
    assert transport.wait_for_completion(timeout=120)
    stats = transport.get_stats()
    transport.close()
    assert (stats["success"], stats["failed"]) == (40, 0)
    linked = job.value(job.urn, "dataJobInputOutput")["inputDatasetEdges"]
    assert {one["destinationUrn"] for one in linked} == {
        dataset_urn("postgres", f"{job.name}.t{number}") for number in range(20)
    }


def properties(job: Job, urn: str, aspect: str) -> dict[str, str]:
    found: dict[str, str] = job.value(urn, aspect)["customProperties"]
    return found


def test_what_events_of_a_run_tell_adds_up(job: Job) -> None:
    planned = {"nominalTime": {"nominalStartTime": "2024-05-01T00:00:00Z"}}
    job.post(kind="START", at="2024-05-01T11:59:00Z", inputs=[job.dataset()], run_facets=planned)
    job.post(kind="RUNNING", at="2024-05-01T11:59:30Z")
    job.post(outputs=[job.dataset("target")])
    linked = job.value(job.urn, "dataJobInputOutput")
    assert [one["destinationUrn"] for one in linked["inputDatasetEdges"]] == [job.source]
    assert [one["destinationUrn"] for one in linked["outputDatasetEdges"]] == [job.target]
    _, neighbours = job.caller.catalog.store.edges([job.urn], "OUTGOING", ("Consumes", "Produces"))
    assert [(one.relationship, one.urn) for one in neighbours] == [
        ("Consumes", job.source),
        ("Produces", job.target),
    ]
    states = job.documents(job.instance, "dataProcessInstanceRunEvent")
    assert [(one["status"], one["messageId"]) for one in states] == [
        ("COMPLETE", "COMPLETE"),
        ("STARTED", "RUNNING"),
        ("STARTED", "START"),
    ]
    told = job.value(job.instance, "dataProcessInstanceProperties")
    assert told["created"]["time"] == MILLIS - 60_000
    assert told["type"] == "BATCH_SCHEDULED"


@pytest.mark.parametrize(
    ("kind", "result"), [("FAIL", "FAILURE"), ("ABORT", "FAILURE"), ("OTHER", None)]
)
def test_how_a_run_ended_is_told(job: Job, kind: str, result: str | None) -> None:
    error = {"message": "no table", "programmingLanguage": "JAVA", "stackTrace": "at X.java:1"}
    job.post(kind=kind, run_facets={"errorMessage": error})
    states = job.documents(job.instance, "dataProcessInstanceRunEvent")
    assert [one["result"] for one in states] == (
        [{"type": result, "nativeResultType": kind}] if result else []
    )
    assert properties(job, job.instance, "dataProcessInstanceProperties") == {
        "errorMessage.message": "no table",
        "errorMessage.programmingLanguage": "JAVA",
        "errorMessage.stackTrace": "at X.java:1",
    }


def test_the_facets_of_a_run_are_kept(job: Job) -> None:
    job.post(
        run_facets={
            "nominalTime": {
                "nominalStartTime": "2024-05-01T00:00:00Z",
                "nominalEndTime": "2024-05-02T00:00:00Z",
            },
            "processing_engine": {
                "name": "Spark",
                "version": "3.5.0",
                "openlineageAdapterVersion": "1.54.0",
            },
            "externalQuery": {"externalQueryId": "job_1", "source": "bigquery"},
            "extractionError": {
                "totalTasks": 2,
                "failedTasks": 1,
                "errors": [{"errorMessage": "cannot parse", "task": "SELEC"}],
            },
            "environmentVariables": {
                "environmentVariables": [
                    {"name": "REGION", "value": "eu"},
                    {"name": "DB_PASSWORD", "value": "hunter2"},
                    {"name": "DATABASE_URL", "value": "postgres://ann:hunter2@db/x"},
                ]
            },
            "executionParameters": {
                "parameters": [{"key": "day", "value": "1"}, {"key": "apiKey", "value": "hunter2"}]
            },
            "tags": {"tags": [{"key": "a", "value": "b", "source": "SPARK"}]},
            "test": {"tests": [{"name": "rows", "status": "pass"}]},
            "spark_properties": {
                "_producer": "p",
                "properties": {"spark.master": "yarn", "spark.ssl.keyPassword": "hunter2"},
            },
        }
    )
    assert job.value(job.instance, "dataProcessInstanceProperties")["type"] == "BATCH_SCHEDULED"
    kept = properties(job, job.instance, "dataProcessInstanceProperties")
    assert kept == {
        "nominalTime.nominalStartTime": "2024-05-01T00:00:00Z",
        "nominalTime.nominalEndTime": "2024-05-02T00:00:00Z",
        "processingEngine": "Spark",
        "processingEngineVersion": "3.5.0",
        "openlineageAdapterVersion": "1.54.0",
        "externalQuery.externalQueryId": "job_1",
        "externalQuery.source": "bigquery",
        "extractionError.totalTasks": "2",
        "extractionError.failedTasks": "1",
        "extractionError.errors": '[{"errorMessage":"cannot parse","task":"SELEC"}]',
        "environmentVariables.REGION": "eu",
        "environmentVariables.DB_PASSWORD": "***",
        "environmentVariables.DATABASE_URL": "postgres://***@db/x",
        "executionParameters.day": "1",
        "executionParameters.apiKey": "***",
        "tags.tags": '[{"key":"a","value":"b","source":"SPARK"}]',
        "test.tests": '[{"name":"rows","status":"pass"}]',
        "spark_properties": '{"_producer":"p","properties":{"spark.master":"yarn",'
        '"spark.ssl.keyPassword":"***"}}',
    }
    assert properties(job, job.urn, "dataJobInfo") == {
        "processingEngine": "Spark",
        "processingEngineVersion": "3.5.0",
        "openlineageAdapterVersion": "1.54.0",
    }


def test_the_facets_of_a_job_are_kept(job: Job) -> None:
    secret = "AKIAABCDEFGHIJKLMNOP"  # gitleaks:allow
    job.post(
        job_facets={
            "jobType": {"processingType": "STREAMING", "integration": "SPARK", "jobType": "JOB"},
            "sourceCode": {"language": "python", "sourceCode": f"key = '{secret}'"},
            "sourceCodeLocation": {
                "type": "git",
                "url": "https://ann:hunter2@git.example/shop/a.py",
                "branch": "main",
            },
            "tags": {
                "tags": [
                    {"key": "pii", "value": "true"},
                    {"key": "team", "value": "sales", "source": "USER"},
                ]
            },
            "gcp_dataproc": {"clusterName": "c"},
        }
    )
    assert properties(job, job.urn, "dataJobInfo") == {
        "jobType.processingType": "STREAMING",
        "jobType.integration": "SPARK",
        "jobType.jobType": "JOB",
        "sourceCode.language": "python",
        "sourceCode.sourceCode": "key = '***'",
        "sourceCodeLocation.type": "git",
        "sourceCodeLocation.url": "https://***@git.example/shop/a.py",
        "sourceCodeLocation.branch": "main",
        "gcp_dataproc": '{"clusterName":"c"}',
    }
    assert job.value(job.urn, "dataJobInfo")["externalUrl"] == "https://***@git.example/shop/a.py"
    assert job.value(job.instance, "dataProcessInstanceProperties")["type"] == "STREAMING"
    assert job.value(job.urn, "globalTags") == {
        "tags": [{"tag": "urn:li:tag:pii"}, {"tag": "urn:li:tag:team:sales"}]
    }


def test_the_facets_of_a_dataset_are_kept(job: Job) -> None:
    job.post(
        outputs=[
            job.dataset(
                "target",
                version={"datasetVersion": "7"},
                storage={"storageLayer": "delta", "fileFormat": "parquet"},
                dataSource={"name": "lake", "uri": "https://lake.example/"},
                datasetType={"datasetType": "VIEW", "subType": "MATERIALIZED"},
                catalog={"framework": "iceberg", "type": "glue", "name": "main"},
                hierarchy={"hierarchy": [{"type": "DATABASE", "name": "d"}]},
                tags={
                    "tags": [
                        {"key": "gold", "value": "true"},
                        {"key": "pii", "value": "true", "field": "email"},
                    ]
                },
                somethingNew={"a": {"b": [1, None]}},
            )
        ]
    )
    told = job.value(job.target, "datasetProperties")
    assert told["externalUrl"] == "https://lake.example/"
    assert told["customProperties"] == {
        "datasetVersion": "7",
        "storageLayer": "delta",
        "fileFormat": "parquet",
        "dataSource.name": "lake",
        "dataSource.uri": "https://lake.example/",
        "datasetType.datasetType": "VIEW",
        "datasetType.subType": "MATERIALIZED",
        "catalog.framework": "iceberg",
        "catalog.type": "glue",
        "catalog.name": "main",
        "hierarchy.hierarchy": '[{"type":"DATABASE","name":"d"}]',
        "somethingNew": '{"a":{"b":[1,null]}}',
    }
    assert job.value(job.target, "subTypes") == {"typeNames": ["View", "Materialized"]}
    assert job.value(job.target, "globalTags") == {"tags": [{"tag": "urn:li:tag:gold"}]}
    assert job.value(job.target, "editableSchemaMetadata")["editableSchemaFieldInfo"] == [
        {"fieldPath": "email", "globalTags": {"tags": [{"tag": "urn:li:tag:pii"}]}}
    ]
    gone = job.dataset("target", version={"_deleted": True}, somethingNew={"_deleted": True})
    job.post(outputs=[gone])
    kept = properties(job, job.target, "datasetProperties")
    assert "datasetVersion" not in kept
    assert "somethingNew" not in kept
    assert kept["storageLayer"] == "delta"


def test_numbers_of_rows_become_profiles_and_operations(job: Job) -> None:
    source = job.dataset() | {
        "inputFacets": {
            "dataQualityMetrics": {
                "rowCount": 10,
                "bytes": 100,
                "fileCount": 2,
                "columnMetrics": {
                    "id": {
                        "nullCount": 1,
                        "distinctCount": 9,
                        "sum": 45,
                        "count": 9,
                        "min": 1,
                        "max": 9.5,
                        "quantiles": {"0.5": 5},
                    }
                },
            },
            "inputStatistics": {"rowCount": 4, "size": 40, "fileCount": 1},
        }
    }
    target = job.dataset("target") | {
        "outputFacets": {"outputStatistics": {"rowCount": 3, "size": 30, "fileCount": 1}}
    }
    job.post(inputs=[source], outputs=[target])
    assert job.documents(job.source, "datasetProfile") == [
        {
            "timestampMillis": MILLIS,
            "rowCount": 10,
            "columnCount": 1,
            "sizeInBytes": 100,
            "fieldProfiles": [
                {
                    "fieldPath": "id",
                    "nullCount": 1,
                    "nullProportion": 0.1,
                    "uniqueCount": 9,
                    "min": "1",
                    "max": "9.5",
                    "mean": "5.0",
                    "quantiles": [{"quantile": "0.5", "value": "5"}],
                }
            ],
        }
    ]
    assert job.documents(job.target, "operation") == [
        {
            "timestampMillis": MILLIS,
            "operationType": "INSERT",
            "sourceType": "DATA_PROCESS",
            "lastUpdatedTimestamp": MILLIS,
            "customProperties": {"size": "30", "fileCount": "1"},
            "messageId": job.run,
            "numAffectedRows": 3,
        }
    ]
    # What was written is not what is there.
    assert job.documents(job.target, "datasetProfile") == []
    assert job.value(job.instance, "dataProcessInstanceInput")["inputEdges"] == [
        {
            "destinationUrn": job.source,
            "lastModified": BY,
            "properties": {"rowCount": "4", "size": "40", "fileCount": "1"},
        }
    ]


def test_assertions_become_entities_with_their_results(job: Job) -> None:
    tests = [
        {"assertion": "not_null", "success": True, "column": "id", "severity": "error"},
        {
            "assertion": "row_count",
            "success": False,
            "name": "enough",
            "expected": "10",
            "actual": "9",
            "content": "select count(*)",
            "params": {"at_least": 10},
        },
    ]
    facet = {"dataQualityAssertions": {"assertions": tests}}
    job.post(inputs=[job.dataset() | {"inputFacets": facet}])
    store = job.caller.catalog.store
    found = {}
    for urn in store.urns(entity_type="assertion"):
        info = job.value(urn, "assertionInfo") or {}
        if info.get("datasetAssertion", {}).get("dataset") == job.source:
            found[info["datasetAssertion"]["nativeType"]] = (urn, info)
    not_null, info = found["not_null"]
    assert info == {
        "type": "DATASET",
        "datasetAssertion": {
            "dataset": job.source,
            "scope": "DATASET_COLUMN",
            "operator": "NOT_NULL",
            "aggregation": "IDENTITY",
            "nativeType": "not_null",
            "nativeParameters": {},
            "fields": [column(job.source, "id")],
        },
        "customProperties": {"severity": "error"},
        "source": {"type": "EXTERNAL"},
        "description": "not_null of id",
    }
    assert job.documents(not_null, "assertionRunEvent") == [
        {
            "timestampMillis": MILLIS,
            "runId": job.run,
            "asserteeUrn": job.source,
            "assertionUrn": not_null,
            "status": "COMPLETE",
            "result": {"type": "SUCCESS", "nativeResults": {"severity": "error"}},
        }
    ]
    row_count, info = found["row_count"]
    assert info["datasetAssertion"]["logic"] == "select count(*)"
    assert info["datasetAssertion"]["nativeParameters"] == {"at_least": "10"}
    assert job.documents(row_count, "assertionRunEvent")[0]["result"] == {
        "type": "FAILURE",
        "nativeResults": {"expected": "10", "actual": "9"},
    }


def test_a_dropped_dataset_is_hidden_until_it_is_written_again(job: Job) -> None:
    def change(state: str, **more: Any) -> dict[str, Any]:
        facet = {"lifecycleStateChange": state} | more
        return job.dataset("target", lifecycleStateChange=facet)

    job.post(outputs=[change("CREATE")])
    job.post(outputs=[change("DROP")], at="2024-05-01T12:00:01Z")
    assert job.value(job.target, "status") == {"removed": True}
    job.post(inputs=[job.dataset("target")])
    assert job.value(job.target, "status") == {"removed": True}
    job.post(outputs=[change("OVERWRITE")], at="2024-05-01T12:00:02Z")
    assert job.value(job.target, "status") == {"removed": False}
    kinds = [one["operationType"] for one in job.documents(job.target, "operation")]
    assert kinds == ["UPDATE", "DROP", "CREATE"]
    previous = {"namespace": "postgres://db:5432", "name": f"shop.{job.name}.orders"}
    job.caller.ingest(job.source, "editableDatasetProperties", {"description": "by a person"})
    job.caller.ingest(job.source, "globalTags", {"tags": [{"tag": "urn:li:tag:gold"}]})
    job.post(outputs=[change("RENAME", previousIdentifier=previous)])
    assert job.value(job.source, "status") == {"removed": True}
    assert job.value(job.target, "editableDatasetProperties")["description"] == "by a person"
    assert job.value(job.target, "globalTags") == {"tags": [{"tag": "urn:li:tag:gold"}]}
    # What a person hid stays hidden.
    job.caller.ingest(job.target, "status", {"removed": True})
    job.post(outputs=[job.dataset("target")])
    assert job.value(job.target, "status") == {"removed": True}


@pytest.mark.parametrize("is_batch", [False, True])
def test_what_an_event_says_is_replaced_by_later_ones_whichever_arrives_first(
    caller: Caller, *, is_batch: bool
) -> None:
    job = Job(caller, f"late_{is_batch}")

    def output(second: int, state: str = "", **facets: Any) -> dict[str, Any]:
        if state:
            facets["lifecycleStateChange"] = {"lifecycleStateChange": state}
        at = f"2024-05-01T12:00:{second:02}Z"
        return job.event(at=at, outputs=[job.dataset("target", **facets)])

    def post(*events: dict[str, Any]) -> None:
        if is_batch:
            assert job.caller.post(f"{PATH}/batch", list(events)).status_code == 200
        else:
            for event in events:
                job.post(event)

    # The write after the drop tells nothing new.
    post(output(5, "CREATE"), output(7), output(6, "DROP"))
    assert job.value(job.target, "status") == {"removed": False}
    post(output(9, "DROP"), output(8))
    assert job.value(job.target, "status") == {"removed": True}

    def told(name: str) -> dict[str, Any]:
        fields = {"fields": [{"name": column, "type": "int"} for column in ("id", name)]}
        facets = {f"x_{name}": {"a": name}, "x_both": {"a": name}}
        return {"schema": fields, "documentation": {"description": name}, **facets}

    post(output(12, **told("new")), output(11, **told("old")))
    columns = job.value(job.target, "schemaMetadata")["fields"]
    assert [column["fieldPath"] for column in columns] == ["id", "new"]
    info = job.value(job.target, "datasetProperties")
    assert info["description"] == "new"
    assert info["customProperties"]["x_both"] == '{"a":"new"}'
    # What later events do not say is added.
    assert info["customProperties"]["x_old"] == '{"a":"old"}'


@pytest.mark.parametrize("kinds", [("START", "COMPLETE"), ("FAIL", "RUNNING", "START")])
def test_a_run_whose_events_have_one_time_has_ended(job: Job, kinds: Sequence[str]) -> None:
    for kind in kinds:
        job.post(kind=kind)
    events = job.documents(job.instance, "dataProcessInstanceRunEvent")
    assert events[0]["status"] == "COMPLETE"
    assert len(events) == len(kinds)


def test_the_parent_run_leads_to_its_job(job: Job) -> None:
    parent_run = str(uuid4())
    facet = {
        "_producer": PRODUCER,
        "run": {"runId": parent_run},
        "job": {"namespace": "airflow-prod", "name": f"{job.name}_dag.load"},
    }
    guess = (
        f"urn:li:dataJob:(urn:li:dataFlow:(spark,{job.name}_dag,airflow-prod),{job.name}_dag.load)"
    )
    known = guess.replace("spark", "airflow", 1)
    job.post(kind="START", run_facets={"parent": facet})
    edges = job.value(job.urn, "dataJobInputOutput")["inputDatajobEdges"]
    assert [one["destinationUrn"] for one in edges] == [guess]
    relations = job.value(job.instance, "dataProcessInstanceRelationships")
    assert relations["parentInstance"] == f"urn:li:dataProcessInstance:{parent_run}"
    # The parent tells itself which job it is of.
    above = job.event("START") | {"producer": "https://github.com/apache/airflow/tree/x"}
    above |= {"run": {"runId": parent_run}, "job": facet["job"]}
    job.post(above)
    other = Job(job.caller, f"{job.name}_other")
    other.post(run_facets={"parent": facet})
    edges = other.value(other.urn, "dataJobInputOutput")["inputDatajobEdges"]
    assert [one["destinationUrn"] for one in edges] == [known]
    assert edges[0]["properties"] == {"relationship": "parent"}
    # In a batch, it may tell so beside.
    both = Job(job.caller, f"{job.name}_both")
    facet["run"] = above["run"] = {"runId": str(uuid4())}
    child = both.event(run_facets={"parent": facet})
    assert job.caller.post(f"{PATH}/batch", [above, child]).status_code == 200
    edges = both.value(both.urn, "dataJobInputOutput")["inputDatajobEdges"]
    assert [one["destinationUrn"] for one in edges] == [known]


def test_a_table_of_files_is_known_by_the_name_of_the_table(job: Job) -> None:
    links = {
        "identifiers": [
            {
                "namespace": "arn:aws:glue:eu-west-1:1",
                "name": f"table/{job.name}/t",
                "type": "TABLE",
            }
        ]
    }
    fields = {
        "id": {
            "inputFields": [{"namespace": "s3://lake", "name": f"{job.name}/daily", "field": "x"}]
        }
    }
    job.post(
        inputs=[job.dataset("target", symlinks=links)],
        outputs=[job.dataset(columnLineage={"fields": fields})],
    )
    glue = dataset_urn("glue", f"{job.name}.t")
    lineage = job.value(job.source, "upstreamLineage")
    assert [one["dataset"] for one in lineage["upstreams"]] == [glue]
    assert lineage["fineGrainedLineages"][0]["upstreams"] == [column(glue, "x")]
    assert not job.caller.exists(job.target)


def test_what_is_remembered_of_an_event_without_links_is_not_taken_for_one_with(job: Job) -> None:
    memory = openlineage.Memory()
    warehouse = {"namespace": "file:/warehouse", "name": f"{job.name}.t", "type": "TABLE"}
    given = {"namespace": "s3://lake", "name": f"{job.name}/daily", "field": "x"}
    made = job.dataset(columnLineage={"fields": {"id": {"inputFields": [given]}}})

    def upstreams(**links: Any) -> list[str]:
        event = job.event(inputs=[job.dataset("target", **links)], outputs=[made])
        changes = openlineage.read_event(event, memory).changes
        (lineage,) = (one.value for one in changes if one.aspect == "upstreamLineage")
        return [one["dataset"] for one in lineage["upstreams"]]

    # The tables of a Spark without a metastore are known by the folder they lie in.
    hive = dataset_urn("hive", f"{job.name}.t")
    assert upstreams() == upstreams() == [job.target]
    assert upstreams(symlinks={"identifiers": [warehouse]}) == [hive]
    assert upstreams() == [job.target]


def test_lineage_and_dependencies_that_a_job_states_are_linked(job: Job) -> None:
    third = {"namespace": "kafka://k:9092", "name": f"{job.name}.topic"}
    topic = dataset_urn("kafka", f"{job.name}.topic")
    entry = {
        **third,
        "type": "DATASET",
        "inputs": [{"namespace": "s3://lake", "name": f"{job.name}/daily", "type": "DATASET"}],
        "fields": {
            "a": {
                "inputs": [
                    {
                        "namespace": "s3://lake",
                        "name": f"{job.name}/daily",
                        "type": "DATASET",
                        "field": "b",
                        "transformations": [{"type": "DIRECT"}],
                    }
                ]
            }
        },
    }
    reads = {"type": "JOB", "inputs": [third | {"type": "DATASET"}]}
    before = {
        "job": {"namespace": "batch", "name": f"{job.name}.first"},
        "run": {"runId": str(uuid4())},
    }
    job.post(
        job_facets={"lineage": {"entries": [entry, reads]}},
        run_facets={"jobDependencies": {"upstream": [before]}},
    )
    lineage = job.value(topic, "upstreamLineage")
    assert [one["dataset"] for one in lineage["upstreams"]] == [job.target]
    (fine,) = lineage["fineGrainedLineages"]
    assert (fine["upstreams"], fine["downstreams"], fine["transformOperation"]) == (
        [column(job.target, "b")],
        [column(topic, "a")],
        "DIRECT",
    )
    linked = job.value(job.urn, "dataJobInputOutput")
    assert [one["destinationUrn"] for one in linked["inputDatasetEdges"]] == [topic]
    assert [one["destinationUrn"] for one in linked["inputDatajobEdges"]] == [
        f"urn:li:dataJob:({job.flow},{job.name}.first)"
    ]
    assert job.value(job.instance, "dataProcessInstanceRelationships")["upstreamInstances"] == [
        f"urn:li:dataProcessInstance:{before['run']['runId']}"
    ]


def test_what_others_wrote_is_added_to_and_not_lost(
    job: Job, schema: Callable[..., dict[str, Any]]
) -> None:
    caller, by = job.caller, {"time": 1, "actor": "urn:li:corpuser:jdoe"}
    other = dataset_urn("hive", f"{job.name}_other")
    stored = schema("id", "total", ("kept", "a description"))
    stored["fields"][0] |= {"isPartOfKey": True, "globalTags": {"tags": [{"tag": "urn:li:tag:K"}]}}
    caller.ingest(job.target, "schemaMetadata", stored | {"primaryKeys": ["id"]})
    caller.ingest(
        job.target, "datasetProperties", {"name": "Daily", "customProperties": {"a": "1"}}
    )
    caller.ingest(job.target, "editableDatasetProperties", {"description": "by a person"})
    caller.ingest(job.target, "globalTags", {"tags": [{"tag": "urn:li:tag:gold"}]})
    owner = {"owner": "urn:li:corpuser:ann", "type": "TECHNICAL_OWNER"}
    caller.ingest(job.target, "ownership", {"owners": [owner]})
    caller.ingest(
        job.target,
        "upstreamLineage",
        {"upstreams": [{"dataset": other, "type": "VIEW", "auditStamp": by}]},
    )
    edge = {"destinationUrn": other, "lastModified": by}
    linked = {"inputDatasets": [], "outputDatasets": [], "inputDatasetEdges": [edge]}
    caller.ingest(job.urn, "dataJobInputOutput", linked)
    given = {"namespace": "postgres://db:5432", "name": f"shop.{job.name}.orders", "field": "x"}
    partial = job.dataset(
        "target",
        schema={"fields": [{"name": "id", "description": "the order"}]},
        columnLineage={"fields": {"id": {"inputFields": [given]}}},
        tags={"tags": [{"key": "new", "value": "true"}]},
        ownership={"owners": [{"name": "bob"}]},
        documentation={"description": "by an event"},
    )
    job.post(inputs=[job.dataset()], outputs=[partial])
    found = job.value(job.target, "schemaMetadata")
    assert found["primaryKeys"] == ["id"]
    assert [one["fieldPath"] for one in found["fields"]] == ["id", "total", "kept"]
    assert found["fields"][0] == stored["fields"][0] | {"description": "the order"}
    assert job.value(job.target, "datasetProperties") == {
        "name": "Daily",
        "qualifiedName": f"{job.name}/daily",
        "description": "by an event",
        "customProperties": {"a": "1"},
    }
    assert job.value(job.target, "editableDatasetProperties")["description"] == "by a person"
    tags = [one["tag"] for one in job.value(job.target, "globalTags")["tags"]]
    assert tags == ["urn:li:tag:gold", "urn:li:tag:new"]
    assert [one["owner"] for one in job.value(job.target, "ownership")["owners"]] == [
        "urn:li:corpuser:ann",
        "urn:li:corpuser:bob",
    ]
    upstreams = job.value(job.target, "upstreamLineage")["upstreams"]
    assert [one["dataset"] for one in upstreams] == [other, job.source]
    edges = job.value(job.urn, "dataJobInputOutput")["inputDatasetEdges"]
    assert [one["destinationUrn"] for one in edges] == [other, job.source]
    # What another source read is added to, however often.
    for new in ("new", "newer"):
        whole = {"fields": [{"name": "ID", "type": "int"}, {"name": new, "type": "string"}]}
        job.post(outputs=[job.dataset("target", schema=whole)])
    found = job.value(job.target, "schemaMetadata")["fields"]
    assert [one["fieldPath"] for one in found] == ["id", "total", "kept", "new", "newer"]
    assert found[0]["isPartOfKey"] is True


def test_a_column_is_the_one_that_is_stored_with_types_in_its_path(
    job: Job, schema: Callable[..., dict[str, Any]]
) -> None:
    typed = "[version=2.0].[type=struct].[type=string].zip"
    job.caller.ingest(job.target, "schemaMetadata", schema(typed))
    columns = {"fields": [{"name": "zip", "type": "string"}, {"name": "new", "type": "string"}]}
    job.post(outputs=[job.dataset("target", schema=columns)])
    found = job.value(job.target, "schemaMetadata")["fields"]
    assert [one["fieldPath"] for one in found] == [typed, "new"]


def test_a_schema_that_events_wrote_is_the_one_of_the_last(job: Job) -> None:
    for names in (("id", "old"), ("id", "new")):
        columns = {"fields": [{"name": one, "type": "int"} for one in names]}
        job.post(outputs=[job.dataset("target", schema=columns)])
    found = job.value(job.target, "schemaMetadata")["fields"]
    assert [one["fieldPath"] for one in found] == ["id", "new"]


def test_one_dataset_many_times_in_an_event_is_taken(job: Job) -> None:
    many = [
        job.dataset(
            ownership={"owners": [{"name": f"u{at % 7}"}]},
            tags={"tags": [{"key": f"k{at % 7}", "field": "a"}, {"key": f"k{at % 7}"}]},
            schema={"fields": [{"name": f"c{at}"}, {"name": "a", "type": "int"}]},
        )
        for at in range(9)
    ]
    job.post(inputs=many)
    assert len(job.value(job.source, "ownership")["owners"]) == 7
    assert len(job.value(job.source, "globalTags")["tags"]) == 7
    assert len(job.value(job.source, "schemaMetadata")["fields"]) == 10
    (column,) = job.value(job.source, "editableSchemaMetadata")["editableSchemaFieldInfo"]
    assert len(column["globalTags"]["tags"]) == 7


def test_a_packed_event_is_long_by_what_it_unpacks_to(
    job: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    offloaded: list[object] = []
    offload = job.caller.catalog.offload

    def noted(work: Any, *given: Any) -> Any:
        offloaded.append(work)
        return offload(work, *given)

    monkeypatch.setattr(job.caller.catalog, "offload", noted)
    text = json.dumps(job.event(run_facets={"mine": {"a": "x" * 200_000}})).encode()
    packed, as_gzip = gzip.compress(text), {"content-encoding": "gzip"}
    assert len(packed) < 1 << 16
    assert job.caller.http.post(PATH, content=packed, headers=as_gzip).status_code == 200
    assert len(offloaded) == 1
    job.post()
    assert len(offloaded) == 1


def test_owners_and_tags_that_a_person_took_off_are_not_added_again(job: Job) -> None:
    def told(*names: str) -> dict[str, Any]:
        tags = [{"key": one} for one in names] + [{"key": one, "field": "a"} for one in names]
        owners = [{"name": one} for one in names]
        return job.dataset("target", tags={"tags": tags}, ownership={"owners": owners})

    def found() -> list[list[str]]:
        owners = job.value(job.target, "ownership")["owners"]
        tags = job.value(job.target, "globalTags")["tags"]
        (column,) = job.value(job.target, "editableSchemaMetadata")["editableSchemaFieldInfo"]
        parts = [one["owner"] for one in owners], [one["tag"] for one in tags]
        listed = [*parts, [one["tag"] for one in column["globalTags"]["tags"]]]
        return [[one.rpartition(":")[2] for one in part] for part in listed]

    job.post(outputs=[told("a", "b")])
    assert found() == [["a", "b"]] * 3
    for aspect, key in (("ownership", "owners"), ("globalTags", "tags")):
        value = job.value(job.target, aspect)
        job.caller.ingest(job.target, aspect, value | {key: value[key][1:]})
    value = job.value(job.target, "editableSchemaMetadata")
    del value["editableSchemaFieldInfo"][0]["globalTags"]["tags"][0]
    job.caller.ingest(job.target, "editableSchemaMetadata", value)
    for names, expected in ((("a", "b"), ["b"]), (("a", "b", "c"), ["b", "c"])):
        job.post(outputs=[told(*names)])
        assert found() == [expected] * 3


def test_an_event_that_tells_nothing_new_writes_no_version(job: Job) -> None:
    event = job.event(inputs=[job.dataset(version={"datasetVersion": "1"})])
    job.post(event)
    head = job.caller.catalog.store.log_bounds().head
    job.post(event)
    assert job.caller.catalog.store.log_bounds().head == head
    job.post(event | {"eventTime": "2024-05-01T13:00:00Z"})
    # That the run went on.
    assert job.caller.catalog.store.log_bounds().head == head + 1


def test_runs_of_a_known_job_write_nothing_but_themselves(job: Job) -> None:
    fields = {"schema": {"fields": [{"name": "id", "type": "BIGINT"}]}}
    told = {"inputs": [job.dataset()], "outputs": [job.dataset("target", **fields)]}
    above_run = {"run": {"runId": str(uuid4())}, "job": {"namespace": "batch", "name": "above.all"}}
    above = {"parent": {"_producer": PRODUCER, **above_run}}

    def run_once() -> set[str]:
        head = job.caller.catalog.store.log_bounds().head
        # What the two tell of the job is not the same.
        job.post(kind="START", inputs=told["inputs"], run_facets=above)
        job.post(**told, run_facets=above)
        return {row.urn for row in job.caller.catalog.store.log(head, 100)}

    assert run_once() == {job.flow, job.urn, job.source, job.target, job.instance}
    for _ in range(3):
        job.run = str(uuid4())
        job.instance = f"urn:li:dataProcessInstance:{job.run}"
        assert run_once() == {job.instance}
        assert job.value(job.instance, "dataProcessInstanceInput") == {"inputs": [job.source]}
        assert job.value(job.instance, "dataProcessInstanceOutput") == {"outputs": [job.target]}
        relations = job.value(job.instance, "dataProcessInstanceRelationships")
        assert relations == {
            "parentTemplate": job.urn,
            "parentInstance": f"urn:li:dataProcessInstance:{above_run['run']['runId']}",
            "upstreamInstances": [],
        }
    (edge,) = job.value(job.urn, "dataJobInputOutput")["inputDatajobEdges"]
    assert (
        edge["destinationUrn"] == "urn:li:dataJob:(urn:li:dataFlow:(spark,above,batch),above.all)"
    )
    others = Job(job.caller, f"{job.name}_too")
    others.post(inputs=[job.dataset()])
    relations = others.value(others.instance, "dataProcessInstanceRelationships")
    assert relations["parentTemplate"] == others.urn
    assert others.value(others.instance, "dataProcessInstanceInput") == {"inputs": [job.source]}


def test_what_changes_of_a_known_job_is_seen_at_once(job: Job) -> None:
    def told(*columns: str, **facets: Any) -> dict[str, Any]:
        fields = [{"name": one, "type": "BIGINT"} for one in columns]
        return job.dataset("target", schema={"fields": fields}, **facets)

    def columns() -> list[str]:
        return [one["fieldPath"] for one in job.value(job.target, "schemaMetadata")["fields"]]

    for _ in range(3):
        job.post(outputs=[told("a")])
    job.post(outputs=[told("a", "b")])
    assert columns() == ["a", "b"]
    job.post(outputs=[told("a")])
    assert columns() == ["a"]
    # What was told before is not taken for known where somebody else wrote meanwhile.
    named = {"documentation": {"description": "by day"}}
    for _ in range(3):
        job.post(outputs=[told("a", **named)])
    job.caller.ingest(job.target, "datasetProperties", {"customProperties": {"own": "yes"}})
    job.caller.ingest(job.urn, "dataJobInputOutput", {"inputDatasets": [], "outputDatasets": []})
    job.post(outputs=[told("a", **named)])
    found = job.value(job.target, "datasetProperties")
    assert (found["description"], found["customProperties"]) == ("by day", {"own": "yes"})
    edges = job.value(job.urn, "dataJobInputOutput")["outputDatasetEdges"]
    assert [one["destinationUrn"] for one in edges] == [job.target]
    assert job.caller.post("/entities?action=delete", {"urn": job.target}).status_code == 200
    job.post(outputs=[told("a", **named)])
    assert columns() == ["a"]
    assert job.value(job.target, "datasetProperties")["description"] == "by day"


def test_a_known_job_is_known_after_a_restart_and_what_changes_is_seen(tmp_path: Path) -> None:
    def columns_after(*columns: str) -> list[str]:
        with (
            serving_catalog(tmp_path) as address,
            httpx.Client(base_url=address, timeout=120) as http,
        ):
            schema = {"fields": [{"name": one, "type": "BIGINT"} for one in columns]}
            event = {
                "eventType": "COMPLETE",
                "eventTime": TIME,
                "producer": PRODUCER,
                "run": {"runId": str(uuid4())},
                "job": {"namespace": "batch", "name": "restarted.task"},
                "outputs": [{"namespace": "s3://lake", "name": "r", "facets": {"schema": schema}}],
            }
            for _ in range(2):
                assert http.post(PATH, json=event).status_code == 200
            urn = quote(dataset_urn("s3", "lake/r"), safe="")
            found = http.get(f"/entitiesV2/{urn}").json()["aspects"]["schemaMetadata"]["value"]
            return [one["fieldPath"] for one in found["fields"]]

    assert columns_after("a") == ["a"]
    assert columns_after("a") == ["a"]
    assert columns_after("a", "b") == ["a", "b"]


def test_a_host_is_an_instance_of_its_platform_where_the_service_is_told_so(
    fresh: Callable[[], CatalogEngine], serve: Callable[[Service], str]
) -> None:
    catalog = fresh()
    texts = ("postgres://prod:*=", "postgres://old.host:5432=legacy", "postgres://*={host}")
    url = serve(Service(catalog, instances=openlineage.Instances.parse(texts)))
    by_host = {"prod": "", "old.host": "legacy.", "staging": "staging."}
    with httpx.Client(base_url=url, timeout=120) as http:

        def table(host: str, **facets: Any) -> dict[str, Any]:
            return {"namespace": f"postgres://{host}:5432", "name": "shop.t", "facets": facets}

        for host in by_host:
            # A column of the host before is what the column comes from.
            inputs = [{**table("prod"), "field": "a"}]
            lineage = {"fields": {"a": {"inputFields": inputs}}}
            event = {
                "eventType": "COMPLETE",
                "eventTime": TIME,
                "producer": PRODUCER,
                "run": {"runId": str(uuid4())},
                "job": {"namespace": "batch", "name": f"hosts.{host.replace('.', '_')}"},
                "outputs": [table(host, columnLineage=lineage)],
            }
            assert http.post(PATH, json=event).status_code == 200
    platform = "urn:li:dataPlatform:postgres"
    for prefix in by_host.values():
        stored = catalog.store.aspect(
            dataset_urn("postgres", f"{prefix}shop.t"), "dataPlatformInstance"
        )
        assert stored is not None
        instance = f"urn:li:dataPlatformInstance:({platform},{prefix.rstrip('.')})"
        assert json.loads(stored.value) == {"platform": platform} | (
            {"instance": instance} if prefix else {}
        )
        if prefix:
            lineage_of = catalog.store.aspect(
                dataset_urn("postgres", f"{prefix}shop.t"), "upstreamLineage"
            )
            assert lineage_of is not None
            (upstream,) = json.loads(lineage_of.value)["upstreams"]
            assert upstream["dataset"] == dataset_urn("postgres", "shop.t")
    with pytest.raises(InvalidInput, match="NAMESPACE=INSTANCE"):
        openlineage.Instances.parse(["postgres://prod"])


def test_two_hosts_that_are_taken_for_one_are_told(
    job: Job, caplog: pytest.LogCaptureFixture
) -> None:
    for host in ("told_a", "told_a", "told_b", "told_b"):
        job.post(inputs=[{"namespace": f"toldplatform://{host}", "name": f"{job.name}.t"}])
    (told,) = [record.message for record in caplog.records if "toldplatform" in record.message]
    assert "toldplatform://told_a and of toldplatform://told_b have the same names" in told
    assert "--openlineage-instance toldplatform://told_b=NAME" in told


def test_a_run_is_rolled_back_by_its_id(job: Job) -> None:
    job.post(outputs=[job.dataset("target")], job_facets={"documentation": {"description": "one"}})
    first, job.run = job.run, str(uuid4())
    job.post(inputs=[job.dataset()], job_facets={"documentation": {"description": "two"}})
    for run in (job.run, first):
        answer = job.caller.post("/runs?action=rollback", {"runId": run, "hardDelete": True})
        assert answer.status_code == 200
        if run != first:
            assert not job.caller.exists(job.source)
            assert job.value(job.urn, "dataJobInfo")["description"] == "one"
            assert "inputDatasetEdges" not in job.value(job.urn, "dataJobInputOutput")
    assert not job.caller.exists(job.urn)
    assert not job.caller.exists(job.target)


NAMES = [
    ("postgres://db:5432", "shop.public.t", "postgres", "shop.public.t"),
    ("mysql://db:3306", "shop.t", "mysql", "shop.t"),
    ("sqlserver://db:1433", "shop.dbo.t", "mssql", "shop.dbo.t"),
    ("snowflake://org-account", "DB.S.T", "snowflake", "DB.S.T"),
    ("bigquery", "project.set.t", "bigquery", "project.set.t"),
    ("redshift://c.eu-west-1:5439", "db.s.t", "redshift", "db.s.t"),
    ("awsathena://athena.eu-west-1.amazonaws.com", "c.db.t", "athena", "c.db.t"),
    ("arn:aws:glue:eu-west-1:1", "table/db/t", "glue", "db.t"),
    ("trino://t:8080", "hive.s.t", "trino", "hive.s.t"),
    ("hive://h:10000", "db.t", "hive", "db.t"),
    ("kafka://k:9092", "orders", "kafka", "orders"),
    ("oracle://o:1521", "xe.s.t", "oracle", "xe.s.t"),
    ("duckdb://shop.duckdb", "shop.main.t", "duckdb", "shop.main.t"),
    ("s3://bucket", "a/b", "s3", "bucket/a/b"),
    ("s3a://bucket", "/a/b/", "s3", "bucket/a/b"),
    ("gs://bucket", "a/b", "gcs", "bucket/a/b"),
    ("abfss://c@s.dfs.core.windows.net", "/a", "abs", "c@s.dfs.core.windows.net/a"),
    ("hdfs://n:8020", "/a/b", "hdfs", "/a/b"),
    ("dbfs://w", "/a", "dbfs", "w/a"),
    ("file", "/tmp/a", "file", "/tmp/a"),
    ("file://host", "/tmp/a", "file", "host/tmp/a"),
    ("pubsub", "topic:p:t", "pubsub", "topic:p:t"),
    ("lake", "s3://bucket/a", "s3", "bucket/a"),
    ("file:/tmp/warehouse", "db.db/t", "file", "/tmp/warehouse/db.db/t"),
    ("my-source", "x(1),y", "my-source", "x%281%29%2Cy"),
]


@pytest.mark.parametrize(("namespace", "name", "platform", "found"), NAMES)
def test_platform_and_name_follow_from_the_namespace(
    namespace: str, name: str, platform: str, found: str
) -> None:
    assert str(openlineage.dataset_urn(namespace, name)) == dataset_urn(platform, found)


RUN = {"runId": "01909d9f-0000-7000-8000-000000000001"}
OWN = {"namespace": "n", "name": "hostile.task"}
DATASET = {"namespace": "hive", "name": "hostile"}
DEEP: Any = "x"
for _ in range(500):
    DEEP = {"a": DEEP}


def nested(above: list[str], *leaves: str) -> dict[str, Any]:
    """A schema of columns in columns, with leaves in the last."""
    found: dict[str, Any] = {"fields": [{"name": one} for one in leaves]}
    for name in reversed(above):
        found = {"fields": [{"name": name, **found}]}
    return found


HOSTILE: dict[str, tuple[dict[str, Any], str]] = {
    "no time": ({"eventTime": None}, "event.eventTime: is required"),
    "a day only": ({"eventTime": "2024-05-01"}, "event.eventTime: expected a time"),
    "a bad time": ({"eventTime": "2024-13-01T00:00:00Z"}, "event.eventTime: expected a time"),
    "a number as time": ({"eventTime": 12}, "event.eventTime: expected a text"),
    "a bad state": ({"eventType": "DONE"}, "event.eventType: expected one of START"),
    "no run": ({"run": None}, "event.run: is required"),
    "a list as run": ({"run": []}, "run: expected an object, found a list"),
    "no job": ({"job": None}, "event.job: is required"),
    "no run id": ({"run": {}}, "run.runId: is required"),
    "a bad run id": ({"run": {"runId": "x"}}, "run.runId: expected a UUID"),
    "an object as run id": ({"run": {"runId": {"x": ["y"]}}}, "run.runId: expected a text"),
    "no name": ({"job": {"namespace": "n"}}, "job.name: is required"),
    "an empty name": ({"job": OWN | {"name": " "}}, "job.name: is empty"),
    "a control character": ({"job": OWN | {"name": "a\x00b"}}, "job.name: has the control"),
    "a line break": ({"inputs": [DATASET | {"name": "a\nb"}]}, "inputs[0].name: has the control"),
    "a long name": ({"inputs": [DATASET | {"name": "x" * 600}]}, "inputs[0].name: a URN may have"),
    "a long job": ({"job": OWN | {"name": "x" * 600}}, "job.name: a URN may have"),
    "an object as inputs": ({"inputs": {}}, "event.inputs: expected a list"),
    "a text as input": ({"inputs": ["x"]}, "event.inputs[0]: expected an object, found a text"),
    "too many": ({"inputs": [DATASET] * 5001}, "event.inputs: 5001 elements are more"),
    "a text as facets": ({"job": OWN | {"facets": "x"}}, "job.facets: expected an object"),
    "a text as facet": ({"job": OWN | {"facets": {"sql": "x"}}}, "job.facets.sql: expected an"),
    "a number as query": ({"job": OWN | {"facets": {"sql": {"query": 1}}}}, "job.facets.sql.query"),
    "an unknown facet that is deep": (
        {"run": RUN | {"facets": {"mine": DEEP}}},
        "run.facets.mine: is nested more than 100 levels",
    ),
    "a bad owner": (
        {"job": OWN | {"facets": {"ownership": {"owners": [{"name": 1}]}}}},
        "job.facets.ownership.owners[0].name: expected a text, found a number 1",
    ),
    "a bad column": (
        {"outputs": [DATASET | {"facets": {"schema": {"fields": [{"type": "int"}]}}}]},
        "outputs[0].facets.schema.fields[0].name: is required",
    ),
    "a long name of a column": (
        {"outputs": [DATASET | {"facets": {"schema": {"fields": [{"name": "x" * 1001}]}}}]},
        "outputs[0].facets.schema.fields[0].name: 1001 characters are more than the 1000",
    ),
    "a long path": (
        {"outputs": [DATASET | {"facets": {"schema": nested(["x" * 900] * 5)}}]},
        "outputs[0].facets.schema.fields[0].fields[0].fields[0].fields[0].fields[0].name: 4504 "
        "characters are more than the 4000 of a column's path",
    ),
    "long paths of many columns": (
        {
            "outputs": [
                DATASET
                | {"facets": {"schema": nested(["x" * 900] * 4, *(str(i) for i in range(1200)))}}
            ]
        },
        "outputs[0].facets.schema: the paths of its columns have more than 4000000 characters",
    ),
    "long paths in many datasets": (
        {
            "outputs": [
                DATASET
                | {"name": str(at), "facets": {"schema": nested(["x" * 900] * 4, *"abcdefghij")}}
                for at in range(120)
            ]
        },
        "event: the paths of its columns have more than 4000000 characters up to outputs[88].",
    ),
    "a long column in lineage": (
        {
            "outputs": [
                DATASET
                | {"facets": {"columnLineage": {"fields": {"x" * 4001: {"inputFields": []}}}}}
            ]
        },
        "outputs[0].facets.columnLineage.fields: 4001 characters are more than the 4000",
    ),
    "too many edges": (
        {
            "job": OWN
            | {
                "facets": {
                    "lineage": {
                        "entries": [{"type": "JOB", "inputs": [DATASET | {"name": "x"}] * 11_000}]
                        * 2
                    }
                }
            }
        },
        "event: 22001 edges between datasets and jobs are more than the 20000 taken",
    ),
    "bad lineage": (
        {
            "outputs": [
                DATASET
                | {"facets": {"columnLineage": {"fields": {"a": {"inputFields": [{"name": []}]}}}}}
            ]
        },
        "outputs[0].facets.columnLineage.fields.a.inputFields[0].namespace: is required",
    ),
    "a bad count": (
        {"outputs": [DATASET | {"outputFacets": {"outputStatistics": {"rowCount": "many"}}}]},
        "outputs[0].outputFacets.outputStatistics.rowCount: expected a number",
    ),
    "a huge count": (
        {"outputs": [DATASET | {"outputFacets": {"outputStatistics": {"rowCount": 1e300}}}]},
        "outputs[0].outputFacets.outputStatistics.rowCount: expected a whole number",
    ),
    "a bad parent": (
        {"run": RUN | {"facets": {"parent": {"run": {"runId": "x"}, "job": OWN}}}},
        "run.facets.parent.run.runId: expected a UUID",
    ),
    "a bad assertion": (
        {
            "inputs": [
                DATASET
                | {"inputFacets": {"dataQualityAssertions": {"assertions": [{"assertion": "a"}]}}}
            ]
        },
        "inputs[0].inputFacets.dataQualityAssertions.assertions[0].success: expected true or",
    ),
}


IN_ONE_FACET = {
    name
    for name, (_, said) in HOSTILE.items()
    if re.search(r"\.(facets|inputFacets|outputFacets)\.", said)
}


def hostile_event(name: str) -> tuple[dict[str, Any], str]:
    changed, said = HOSTILE[name]
    event = {"eventType": "START", "eventTime": TIME, "producer": PRODUCER, "run": RUN, "job": OWN}
    return event | {"outputs": [{"namespace": "hive", "name": "hostile_first"}]} | changed, said


@pytest.mark.parametrize("name", [name for name in HOSTILE if name not in IN_ONE_FACET])
def test_a_bad_event_is_refused_with_the_field_and_writes_nothing(
    caller: Caller, name: str
) -> None:
    event, said = hostile_event(name)
    head = caller.catalog.store.log_bounds().head
    answer = caller.post(PATH, event)
    assert answer.status_code == 400, answer.text
    assert answer.json()["message"].startswith(said), answer.text
    assert caller.catalog.store.log_bounds().head == head


@pytest.mark.parametrize("name", sorted(IN_ONE_FACET))
def test_a_malformed_facet_is_left_out_and_told_and_the_rest_of_the_event_is_taken(
    caller: Caller, name: str
) -> None:
    event, said = hostile_event(name)
    told = {"documentation": {"description": name}}
    datasets = event.get("inputs", []) + event.get("outputs", [])
    datasets[0]["facets"] = {**datasets[0].get("facets", {}), **told}
    answer = caller.post(f"{PATH}/batch", [Job(caller, "good").event(), event])
    assert answer.status_code == 200, answer.text
    (ignored,) = answer.json()["ignored"]
    assert ignored.startswith(f"events[1]: {said}")
    dataset = datasets[0]
    urn = str(openlineage.dataset_urn(dataset["namespace"], dataset["name"]))
    assert caller.value(urn, "datasetProperties")["description"] == name
    answer = caller.post(PATH, event)
    assert (answer.status_code, len(answer.json()["ignored"])) == (200, 1)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"7", b"null", b'{"job": 1}'])
def test_what_is_no_event_is_refused(caller: Caller, body: bytes) -> None:
    assert caller.http.post(PATH, content=body).status_code == 400


def test_a_large_event_is_refused_and_a_large_facet_is_cut(job: Job) -> None:
    large = job.event(run_facets={"mine": {"text": "x" * (10 << 20)}})
    answer = job.caller.post(PATH, large)
    assert answer.status_code == 413
    assert "larger than 8 MB" in answer.json()["message"]
    job.post(run_facets={"mine": {"text": "x" * 100_000}})
    kept = properties(job, job.instance, "dataProcessInstanceProperties")["mine"]
    assert len(kept) < 21_000
    assert kept.endswith("… (cut at 20000 characters)")


@pytest.mark.parametrize("text", ["eyJ-", "://a:", "password=", "-----BEGIN A ", "Bearer "])
def test_text_that_looks_like_the_beginning_of_secrets_holds_nobody_up(job: Job, text: str) -> None:
    # What grew with the square of the length would take hours.
    long = text * ((4 << 20) // len(text))
    event = openlineage.read_event(job.event(run_facets={"mine": {"a": long}}))
    wanted = "dataProcessInstanceProperties"
    kept = next(one.value["customProperties"] for one in event.changes if one.aspect == wanted)
    assert len(kept["mine"]) < 21_000


def test_a_packed_body_that_is_damaged_or_too_large_is_refused(caller: Caller) -> None:
    packed = {"content-encoding": "gzip"}
    for body, status in (
        (b"no gzip", 400),
        (gzip.compress(b'{"a": 1}' * 1000)[:-12], 400),
        (gzip.compress(b" " * (17 << 20)), 413),
    ):
        assert caller.http.post(PATH, content=body, headers=packed).status_code == status
    assert caller.get("/health").status_code == 200


def test_a_batch_is_taken_whole_or_not_at_all(job: Job) -> None:
    good, bad = job.event(inputs=[job.dataset()]), job.event() | {"eventTime": "soon"}
    answer = job.caller.post(f"{PATH}/batch", [good, bad])
    assert answer.status_code == 400
    assert answer.json()["message"].startswith("events[1]: event.eventTime")
    assert not job.caller.exists(job.urn)
    single = {"X-Catalog-All-Or-None": "false"}
    answer = job.caller.post(f"{PATH}/batch", [good, bad], **single)
    assert "1 of 2 were refused, the other 1 were written" in answer.json()["message"]
    assert job.caller.exists(job.urn)
    ended = job.event(outputs=[job.dataset("target")], at="2024-05-01T12:01:00Z")
    both = [good | {"eventType": "START"}, ended]
    address = f"/openapi/openlineage{PATH}/batch"
    assert job.caller.post(address, both).status_code == 200
    linked = job.value(job.urn, "dataJobInputOutput")
    assert len(linked["inputDatasetEdges"]) == len(linked["outputDatasetEdges"]) == 1
    assert job.caller.post(f"{PATH}/batch", [good] * 1001).status_code == 413


def test_datahubs_address_takes_events_too(job: Job) -> None:
    answer = job.caller.post(f"/openapi/openlineage{PATH}", job.event(inputs=[job.dataset()]))
    assert answer.status_code == 200
    assert job.caller.exists(job.source)


def test_whoever_may_only_read_sends_no_events(
    catalog: CatalogEngine, serve: Callable[..., str], tmp_path: Path
) -> None:
    file = tmp_path / "tokens.json"
    tokens = [
        create_token(file, role, f"urn:li:corpuser:{role}", role=role)[0]
        for role in ("reader", "editor")
    ]
    address = serve(Service(catalog, gate=Gate(Keyring(file))))
    event = {"eventTime": TIME, "job": {"namespace": "n", "name": "gated.task"}}
    with httpx.Client(base_url=address) as http:
        for path in (PATH, f"{PATH}/batch", f"/openapi/openlineage{PATH}"):
            statuses = [
                http.post(path, json=event, headers=given).status_code
                for given in ({}, *({"authorization": f"Bearer {token}"} for token in tokens))
            ]
            assert statuses == [401, 403, 200]
