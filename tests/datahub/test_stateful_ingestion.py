"""A database ingested twice by DataHub's own connector, which remembers what it saw."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.datahub.conftest import DataHub, Served

# The first test may install DataHub's tools.
PIPELINE = "shop-database"


def table(name: Any) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:sqlite,main.{name},PROD)"


@pytest.fixture
def database(tmp_path: Path) -> Any:
    path = tmp_path / "shop.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, mail TEXT)")
        connection.execute("CREATE TABLE leftovers (id INTEGER PRIMARY KEY)")
    return path


def ingest(datahub: Any, database: Any) -> Any:
    source: dict[str, Any] = {
        "type": "sqlalchemy",
        "config": {
            "connect_uri": f"sqlite:///{database}",
            "platform": "sqlite",
            "stateful_ingestion": {"enabled": True, "remove_stale_metadata": True},
        },
    }
    # Half of the tables go, which is more than the connector takes for likely.
    source["config"]["stateful_ingestion"]["fail_safe_threshold"] = 100
    sink = {"type": "datahub-rest", "config": {"server": datahub.address}}
    recipe = datahub.home / "stateful.yml"
    written = {"pipeline_name": PIPELINE, "source": source, "sink": sink}
    recipe.write_text(json.dumps(written))
    return datahub("ingest", "-c", str(recipe))


@pytest.mark.nightly
def test_a_table_that_was_dropped_between_two_runs_is_hidden(
    datahub: DataHub, served: Served, database: Any
) -> None:
    assert "Pipeline finished successfully" in ingest(datahub, database)
    seen = served.aspects(table("leftovers"))
    assert seen["schemaMetadata"]["fields"][0]["fieldPath"] == "id"
    assert seen.get("status", {"removed": False}) == {"removed": False}
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("DROP TABLE leftovers")
    assert "Pipeline finished successfully" in ingest(datahub, database)
    assert served.aspects(table("leftovers"))["status"] == {"removed": True}
    assert served.aspects(table("orders")).get("status", {"removed": False}) == {"removed": False}
