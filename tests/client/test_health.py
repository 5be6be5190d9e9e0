"""What is wrong with a table: assertions that fail now, incidents that are active now."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from explorer.client import AsyncCatalog
from explorer.metadata import Proposal, Urn
from tests.client.conftest import Site

TABLE = Urn.dataset("hive", "health.orders")
SOUND = Urn.dataset("hive", "health.sound")
TESTED = Urn.dataset("hive", "health.tested")
SQL = "with all_values as (\n    select card_amount from tested\n)\n" + "select 1 union " * 40
NOW = datetime(2026, 3, 18, 6, tzinfo=UTC)
STAMP = {"time": round(NOW.timestamp() * 1000), "actor": "urn:li:corpuser:jdoe"}


def millis(hours: Any) -> Any:
    return round((NOW - timedelta(hours=hours)).timestamp() * 1000)


def assertion(name: Any, **info: Any) -> Any:
    return Proposal(Urn.of("assertion", f"health-{name}"), "assertionInfo", info)


def column(path: Any, operator: Any, parameters: Any = None, **more: Any) -> Any:
    field = f"urn:li:schemaField:({TABLE},{path})"
    return {
        "type": "DATASET",
        "datasetAssertion": {
            "dataset": str(TABLE),
            "scope": "DATASET_COLUMN",
            "fields": [field],
            "operator": operator,
            **({"parameters": parameters} if parameters else {}),
        },
        **more,
    }


def custom(**more: Any) -> Any:
    field = f"urn:li:schemaField:({TESTED},card_amount)"
    about = {"entity": str(TESTED), "field": field, "fields": [field]}
    return {"type": "CUSTOM", "customAssertion": {"type": "dbt", **about, **more}}


def run(name: Any, hours: Any, kind: Any, about: Any = TABLE, **result: Any) -> Any:
    urn = f"urn:li:assertion:health-{name}"
    value = {
        "timestampMillis": millis(hours),
        "runId": f"run-{hours}",
        "asserteeUrn": str(about),
        "assertionUrn": urn,
        "status": "COMPLETE",
        "result": {"type": kind, **result},
    }
    return Proposal(Urn.parse(urn), "assertionRunEvent", value)


def incident(name: Any, state: Any, entity: Any = TABLE, **more: Any) -> Any:
    value = {
        "type": "OPERATIONAL",
        "entities": [str(entity)],
        "status": {"state": state, "stage": "INVESTIGATION", "lastUpdated": STAMP},
        "created": {**STAMP, "time": millis(5)},
        **more,
    }
    return Proposal(Urn.of("incident", f"health-{name}"), "incidentInfo", value)


def number(value: Any) -> Any:
    return {"value": str(value), "type": "NUMBER"}


@pytest.fixture(scope="module", autouse=True)
def _stored(site: Site) -> None:
    between = {"minValue": number(0), "maxValue": number(10)}
    proposals = [
        Proposal(TABLE, "datasetProperties", {"name": "orders"}),
        Proposal(SOUND, "datasetProperties", {"name": "sound"}),
        assertion("amount", **column("amount", "BETWEEN", between)),
        assertion("late", **column("at", "NOT_NULL", description="Orders arrive within an hour")),
        assertion("passes", **column("id", "NOT_NULL")),
        assertion("gone", **column("id", "NOT_NULL")),
        Proposal(Urn.of("assertion", "health-gone"), "status", {"removed": True}),
        assertion("never-ran", **column("id", "NOT_NULL")),
        run("amount", 9, "FAILURE"),
        run("amount", 8, "SUCCESS"),
        run("amount", 7, "FAILURE"),
        run("amount", 6, "FAILURE", unexpectedCount=1200, rowCount=5000),
        run("late", 30, "FAILURE"),
        run("late", 2, "ERROR"),
        run("passes", 4, "FAILURE"),
        run("passes", 3, "SUCCESS"),
        run("gone", 1, "FAILURE"),
        Proposal(TESTED, "datasetProperties", {"name": "tested"}),
        assertion("dbt", **custom(nativeType="positive_tested_card_amount", logic=SQL)),
        assertion("check", **custom(nativeType="positive", logic=SQL)),
        assertion("unnamed", **custom(logic=SQL)),
        assertion("set", **custom(operator="NOT_NULL", logic=SQL)),
        *(run(name, 5, "FAILURE", about=TESTED) for name in ("dbt", "check", "unnamed", "set")),
        incident("open", "ACTIVE", title="Loads are late", priority=0),
        incident("done", "RESOLVED", title="Solved"),
        incident("other", "ACTIVE", entity=Urn.dataset("hive", "health.other"), title="Other"),
    ]

    async def load() -> Any:
        async with AsyncCatalog(url=site.address) as catalog:
            return await catalog.ingest_batch(proposals)

    assert asyncio.run(load()).refused == ()


def test_assertions_that_fail_now_are_told_with_since_when(client: Any) -> None:
    health = client.health(TABLE)
    assert [one.urn.name for one in health.failing] == ["health-late", "health-amount"]
    late, amount = health.failing
    assert (amount.rule, amount.actual) == (
        "amount between 0 and 10",
        "1,200 unexpected, 5,000 rows",
    )
    # It passed in between: what failed before that is over.
    assert (amount.since, amount.last) == (NOW - timedelta(hours=7), NOW - timedelta(hours=6))
    assert not amount.since_or_earlier
    assert (late.rule, late.is_error) == ("Orders arrive within an hour", True)
    assert late.since == NOW - timedelta(hours=30)
    assert health.assertions == 4


def test_a_test_that_fails_is_told_by_its_name_and_by_its_sql_only_without_one(client: Any) -> None:
    rules = {one.urn.name: one.rule for one in client.health(TESTED).failing}
    sql = rules.pop("health-unnamed")
    assert rules == {
        "health-dbt": "positive_tested_card_amount",
        "health-check": "positive card_amount of tested",
        "health-set": "card_amount not null",
    }
    assert sql.startswith(
        "card_amount with all_values as ( select card_amount from tested ) select"
    )
    assert sql.endswith("…")
    assert len(sql) < 150


def test_active_incidents_are_told_and_no_others(client: Any) -> None:
    (incident,) = client.health(TABLE).incidents
    assert (incident.urn.name, incident.title) == ("health-open", "Loads are late")
    assert (incident.kind, incident.priority, incident.stage) == (
        "operational",
        "critical",
        "investigation",
    )
    assert incident.since == NOW - timedelta(hours=5)
    assert client.health(TABLE).sentences() == ("2 of 4 assertions fail", "1 active incident")


def test_what_has_neither_is_sound(client: Any) -> None:
    assert client.health(SOUND).is_sound
    assert client.health(SOUND).sentences() == ()
    assert client.health(Urn.of("tag", "health")).is_sound
