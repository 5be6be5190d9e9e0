"""Graphs are read from a real service: a small warehouse with a diamond, a cycle, a job, a ghost,
and columns of which some say where they come from."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from explorer.client import Catalog
from explorer.graph import Graphs
from explorer.metadata import Proposal, Urn
from tests.conftest import schema_metadata, serving_catalog

STAMP = {"time": 0, "actor": "urn:li:corpuser:jdoe"}


def table(name: str) -> str:
    return str(Urn.dataset("hive", name))


def column(name: str, path: str) -> str:
    return f"urn:li:schemaField:({table(name)},{path})"


def schema(*paths: str) -> Any:
    return schema_metadata(dict.fromkeys(paths))


def upstream(*names: Any, fine: Any = ()) -> Any:
    value: dict[str, Any] = {
        "upstreams": [
            {"dataset": table(name), "type": "TRANSFORMED", "auditStamp": STAMP} for name in names
        ]
    }
    if fine:
        value["fineGrainedLineages"] = [
            {
                "upstreamType": "FIELD_SET",
                "upstreams": list(ups),
                "downstreamType": "FIELD",
                "downstreams": [down],
                "transformOperation": "UPPER",
                "confidenceScore": 1.0,
            }
            for ups, down in fine
        ]
    return value


CHART = "urn:li:chart:(looker,orders)"
JOB = "urn:li:dataJob:(urn:li:dataFlow:(airflow,nightly,PROD),export)"


def warehouse() -> Iterator[Any]:
    """raw → (left, right) → mart → chart; raw → job → copy; one ↔ two; mart also from a ghost."""
    columns = {
        "raw": schema("id", "Email", "a.b"),
        "left": schema("id", "email", "extra"),
        "right": schema("key", "mail"),
        "mart": schema("id", "mail", "contact"),
        "copy": schema("id", "email"),
        "one": schema("x"),
        "two": schema("x"),
    }
    for name, value in columns.items():
        yield Proposal(Urn.parse(table(name)), "schemaMetadata", value)
    fine = [([column("raw", "Email")], column("right", "mail"))]
    feeds = {
        "left": upstream("raw"),
        "right": upstream("raw", fine=fine),
        "mart": upstream(
            "left", "right", "ghost", fine=[([column("right", "mail")], column("mart", "contact"))]
        ),
        "one": upstream("two"),
        "two": upstream("one"),
    }
    for name, value in feeds.items():
        yield Proposal(Urn.parse(table(name)), "upstreamLineage", value)
    owner = {"owner": "urn:li:corpuser:ann", "type": "DATAOWNER"}
    yield Proposal(
        Urn.parse(table("mart")), "ownership", {"owners": [owner], "lastModified": STAMP}
    )
    yield Proposal(
        Urn.parse(CHART),
        "chartInfo",
        {
            "title": "Orders by day",
            "description": "",
            "lastModified": {"created": STAMP, "lastModified": STAMP},
            "inputs": [{"string": table("mart")}],
        },
    )
    yield Proposal(
        Urn.parse(JOB),
        "dataJobInputOutput",
        {"inputDatasets": [table("raw")], "outputDatasets": [table("copy")]},
    )
    for at, queries in enumerate((5, 7)):
        yield Proposal(
            Urn.parse(table("mart")),
            "datasetUsageStatistics",
            {
                "timestampMillis": int(time.time() * 1000) - at * 86_400_000,
                "uniqueUserCount": 2 + at,
                "totalSqlQueries": queries,
                "fieldCounts": [],
            },
        )


@pytest.fixture(scope="session")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The warehouse, asked over a socket."""
    with (
        serving_catalog(tmp_path_factory.mktemp("catalog")) as address,
        Catalog(address) as client,
    ):
        report = client.ingest_batch(warehouse())
        assert not report.refused, report
        yield client


@pytest.fixture(scope="session")
def graphs(catalog: Any) -> Any:
    return Graphs(catalog)


class Named:
    chart = CHART
    job = JOB

    @staticmethod
    def table(name: str) -> str:
        return table(name)

    @staticmethod
    def column(name: str, path: str) -> str:
        return column(name, path)


@pytest.fixture(scope="session")
def named() -> type[Named]:
    """URNs of the warehouse: `named.table("raw")`, `named.column("raw", "id")`, `named.chart`."""

    return Named
