"""What is wrong with a table is on its page."""

import json
import re
from pathlib import Path
from typing import Any

from tests.cli.conftest import Run

TABLE = "urn:li:dataset:(urn:li:dataPlatform:hive,health.orders,PROD)"


def proposal(urn: Any, aspect: Any, value: Any) -> Any:
    return {
        "entityType": urn.split(":")[2],
        "entityUrn": urn,
        "changeType": "UPSERT",
        "aspectName": aspect,
        "aspect": {"json": value},
    }


def test_an_entitys_page_names_what_fails_and_what_is_open(shop: Run, tmp_path: Path) -> None:
    assertion, incident = "urn:li:assertion:cli-rows", "urn:li:incident:cli-late"
    told = {"dataset": TABLE, "scope": "DATASET_ROWS", "operator": "NOT_NULL"}
    run = {
        "timestampMillis": 1_700_000_000_000,
        "runId": "r",
        "asserteeUrn": TABLE,
        "assertionUrn": assertion,
        "status": "COMPLETE",
        "result": {"type": "FAILURE", "rowCount": 12},
    }
    stamp = {"time": 1_700_000_000_000, "actor": "urn:li:corpuser:mara"}
    state = {"state": "ACTIVE", "lastUpdated": stamp}
    file = tmp_path / "health.json"
    info = {"type": "DATASET", "datasetAssertion": told, "description": "There are rows"}
    open_one = {
        "type": "OPERATIONAL",
        "title": "Loads are late",
        "entities": [TABLE],
        "status": state,
        "created": stamp,
    }
    file.write_text(
        json.dumps(
            [
                proposal(TABLE, "datasetProperties", {"name": "orders"}),
                proposal(assertion, "assertionInfo", info),
                proposal(assertion, "assertionRunEvent", run),
                proposal(incident, "incidentInfo", open_one),
            ]
        )
    )
    assert shop("load", str(file)).code == 0
    lines = shop("get", TABLE).out.splitlines()
    assert "Health  1 of 1 assertion fails, 1 active incident" in lines
    (failing,) = [line for line in lines if line.startswith("fails")]
    assert re.fullmatch(
        r"fails  There are rows · 12 rows · since 2023-11-1\d \d\d:\d\d or earlier|"
        r"fails  There are rows · 12 rows · since 2023-11-1\d \d\d:\d\d",
        failing,
    )
    assert f"  {assertion}" in lines
    (incident_line,) = [line for line in lines if line.startswith("incident")]
    assert incident_line.startswith("incident  Loads are late · operational · since 2023-11-1")
    assert f"  {incident}" in lines
    assert "Health" not in shop("get", "urn:li:tag:Finance").out
