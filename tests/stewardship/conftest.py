"""Stewardship is tried on a real service: a small warehouse, in part documented, used and read."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from explorer.client import Catalog
from explorer.metadata import Proposal, Urn
from explorer.sample import sample_proposals
from explorer.stewardship import Stewardship
from tests.conftest import schema_metadata, serving_catalog

STAMP = {"time": 0, "actor": "urn:li:corpuser:jdoe"}
DAY_MILLIS = 86_400_000
COLUMNS = {
    "raw": "id body",
    "orders": "id total",
    "mart": "id mail",
    "report": "id",
    "side": "a b",
}


def table(name: Any, platform: str = "hive") -> Any:
    return str(Urn.dataset(platform, name))


def columns(**texts: str) -> Any:
    """A schema whose columns have these ingested texts."""
    return schema_metadata({path: text or None for path, text in texts.items()})


def written(**texts: Any) -> Any:
    infos = [{"fieldPath": path, "description": text} for path, text in texts.items()]
    return {"editableSchemaFieldInfo": infos}


def owned(*names: Any) -> Any:
    owners = [{"owner": f"urn:li:corpuser:{name}", "type": "DATAOWNER"} for name in names]
    return {"owners": owners, "lastModified": STAMP}


def upstream(*names: Any) -> Any:
    ups = [{"dataset": table(name), "type": "TRANSFORMED", "auditStamp": STAMP} for name in names]
    return {"upstreams": ups}


def used(days_ago: Any, queries: Any, **counts: Any) -> Any:
    return {
        "timestampMillis": int(time.time() * 1000) - days_ago * DAY_MILLIS,
        "totalSqlQueries": queries,
        "fieldCounts": [{"fieldPath": path, "count": count} for path, count in counts.items()],
    }


def warehouse() -> Iterator[Any]:
    """raw → orders → mart → report; side stands alone. Columns are written of in all four ways:
    not at all, by ingestion, by people, by both."""
    say = {
        "raw": ("schemaMetadata", columns(id="", body="")),
        "orders": ("schemaMetadata", columns(id="The key.", total="", note="", city="A city.")),
        "mart": ("schemaMetadata", columns(id="", mail="")),
        "report": ("schemaMetadata", columns(id="x")),
        "side": ("schemaMetadata", columns(a="", b=" ")),
    }
    for name, (aspect, value) in say.items():
        yield Proposal(Urn.parse(table(name)), aspect, value)
    more = [
        ("orders", "datasetProperties", {"description": "All orders."}),
        ("orders", "editableSchemaMetadata", written(city="Where it went.", note="!", gone="old")),
        ("report", "editableDatasetProperties", {"description": "Weekly."}),
        ("orders", "ownership", owned("ann", "bob")),
        ("mart", "ownership", owned("ann")),
        ("mart", "domains", {"domains": ["urn:li:domain:sales"]}),
        ("mart", "globalTags", {"tags": [{"tag": "urn:li:tag:PII"}]}),
        ("raw", "browsePaths", {"paths": ["/in/raw", "/all"]}),
        ("orders", "upstreamLineage", upstream("raw")),
        ("mart", "upstreamLineage", upstream("orders")),
        ("report", "upstreamLineage", upstream("mart")),
        ("raw", "datasetUsageStatistics", used(1, 4)),
        ("orders", "datasetUsageStatistics", used(1, 10, id=9, total=4)),
        ("orders", "datasetUsageStatistics", used(2, 5, total=3)),
        ("orders", "datasetUsageStatistics", used(50, 900, total=900)),
        ("mart", "datasetUsageStatistics", used(1, 20, mail=6)),
    ]
    for name, aspect, value in more:
        yield Proposal(Urn.parse(table(name)), aspect, value)
    yield Proposal(Urn.parse("urn:li:domain:sales"), "domainProperties", {"name": "Sales"})


def as_it_was() -> Iterator[Any]:
    """The warehouse without its usage, and nothing that people wrote since."""
    # What is said of one column takes nothing back of another's.
    for name, paths in COLUMNS.items():
        blank = written(**dict.fromkeys(paths.split(), ""))
        yield Proposal(Urn.parse(table(name)), "editableSchemaMetadata", blank)
        yield Proposal(Urn.parse(table(name)), "editableDatasetProperties", {"description": ""})
    for proposal in warehouse():
        if proposal.aspect != "datasetUsageStatistics":
            yield proposal


@contextmanager
def served(directory: Any) -> Iterator[Any]:
    """A client of a service on this directory, over a socket."""
    with serving_catalog(directory) as address, Catalog(address) as client:
        yield client


@pytest.fixture(scope="module")
def _warehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with served(tmp_path_factory.mktemp("catalog")) as client:
        report = client.ingest_batch(warehouse())
        assert not report.refused, report
        yield client


@pytest.fixture
def catalog(_warehouse: Any) -> Any:
    """The warehouse, as it was before any test wrote in it."""
    report = _warehouse.ingest_batch(as_it_was())
    assert not report.refused, report
    return _warehouse


@pytest.fixture
def sample(tmp_path: Path) -> Iterator[Any]:
    """A catalog with the sample and nothing else."""
    with served(tmp_path) as client:
        report = client.ingest_batch(sample_proposals(date(2026, 1, 31)))
        assert not report.refused, report
        yield client


@pytest.fixture
def steward(catalog: Any) -> Any:
    return Stewardship(catalog)


@pytest.fixture(params=["counted by the server", "counted here"])
def either(request: pytest.FixtureRequest, catalog: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Stewardship on a server that counts, and on one that is asked for everything."""
    if request.param == "counted here":
        connection = catalog.core._connection
        here = replace(catalog.abilities(), stewardship=False)
        monkeypatch.setattr(connection, "_abilities", here)
    return Stewardship(catalog)


@pytest.fixture(scope="session")
def named() -> Any:
    """The URN of a table of the warehouse by its name."""
    return table
