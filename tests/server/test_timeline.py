"""The timeline of an entity, as DataHub's Timeline API tells it."""

from typing import Any

import pytest

from explorer.server.catalog import CatalogEngine
from explorer.server.retention import trim_versions
from tests.server.conftest import Caller

ALL = "TECHNICAL_SCHEMA,DOCUMENTATION,OWNERSHIP,STRUCTURED_PROPERTY,TAG,GLOSSARY_TERM,DOMAIN"


def timeline(caller: Caller, urn: str, categories: str, query: str = "") -> list[Any]:
    answer = caller.get(f"/openapi/v2/timeline/v1/{urn}?categories={categories}{query}")
    assert answer.status_code == 200, answer.text
    found: list[Any] = answer.json()
    return found


def told(transactions: list[Any]) -> list[tuple[str, list[str]]]:
    """The version of each transaction, and the operation, category and modifier of its events."""
    return [
        (
            one["semVer"].removesuffix("-computed"),
            [
                f"{event['operation']} {event['category']} {event['modifier']}"
                for event in one["changeEvents"]
            ],
        )
        for one in transactions
    ]


def column(path: str, kind: str = "int", **more: Any) -> dict[str, Any]:
    return {
        "fieldPath": path,
        "nativeDataType": kind,
        "type": {"type": {"com.linkedin.schema.NumberType": {}}},
        **more,
    }


def schema(*columns: Any) -> dict[str, Any]:
    return {
        "schemaName": "s",
        "platform": "urn:li:dataPlatform:hive",
        "version": 0,
        "hash": "",
        "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
        "fields": list(columns),
    }


@pytest.fixture(autouse=True)
def later(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let every write happen a second after the one before."""
    now = [1_000]

    def tick() -> int:
        now[0] += 1_000
        return now[0]

    monkeypatch.setattr("explorer.server.catalog._now_millis", tick)


def test_columns_that_come_go_change_and_are_renamed_are_told_with_a_version(
    caller: Caller, dataset: str
) -> None:
    for columns in (
        [column("id"), column("old", description="the same")],
        [column("id", "bigint"), column("new", description="the same")],
        [column("id", "bigint"), column("new", description="the same"), column("more")],
        [column("new", description="the same"), column("more")],
    ):
        caller.ingest(dataset, "schemaMetadata", schema(*columns))
    of = f"urn:li:schemaField:({dataset},"
    found = timeline(caller, dataset, "TECHNICAL_SCHEMA", "&startTime=0")
    assert told(found) == [
        ("0.0.0", [f"ADD TECHNICAL_SCHEMA {of}id)", f"ADD TECHNICAL_SCHEMA {of}old)"]),
        ("1.0.0", [f"MODIFY TECHNICAL_SCHEMA {of}id)", f"MODIFY TECHNICAL_SCHEMA {of}old)"]),
        ("1.1.0", [f"ADD TECHNICAL_SCHEMA {of}more)"]),
        ("2.0.0", [f"REMOVE TECHNICAL_SCHEMA {of}id)"]),
    ]
    assert "changed from 'int' to 'bigint'" in found[1]["changeEvents"][0]["description"]
    assert [one["timestamp"] for one in found] == sorted(one["timestamp"] for one in found)
    within = f"&startTime={found[1]['timestamp']}&endTime={found[2]['timestamp']}"
    assert [one["changeEvents"] for one in timeline(caller, dataset, "TECHNICAL_SCHEMA", within)]
    assert [
        events for _, events in told(timeline(caller, dataset, "TECHNICAL_SCHEMA", within))
    ] == [events for _, events in told(found[1:3])]


def test_labels_owners_texts_and_links_are_told_of_tables_and_columns(
    caller: Caller, dataset: str
) -> None:
    tag = {"tags": [{"tag": "urn:li:tag:PII"}]}
    owners = [{"owner": "urn:li:corpuser:ann", "type": "DATAOWNER"}]
    caller.ingest(dataset, "globalTags", tag)
    caller.ingest(dataset, "ownership", {"owners": owners})
    caller.ingest(dataset, "ownership", {"owners": [{**owners[0], "type": "PRODUCER"}]})
    caller.ingest(dataset, "editableDatasetProperties", {"description": "a"})
    caller.ingest(dataset, "editableDatasetProperties", {"description": "b"})
    described = {"fieldPath": "id", "description": "an id", "globalTags": tag}
    caller.ingest(dataset, "editableSchemaMetadata", {"editableSchemaFieldInfo": [described]})
    caller.ingest(dataset, "globalTags", {"tags": []})
    caller.ingest(
        dataset, "institutionalMemory", {"elements": [{"url": "https://x", "description": "x"}]}
    )
    found = timeline(caller, dataset, ALL, "&startTime=0")
    assert told(found) == [
        ("0.0.0", ["ADD TAG urn:li:tag:PII"]),
        ("0.1.0", ["ADD OWNERSHIP urn:li:corpuser:ann"]),
        ("0.1.1", ["MODIFY OWNERSHIP PRODUCER"]),
        ("0.2.0", ["ADD DOCUMENTATION None"]),
        ("0.2.1", ["MODIFY DOCUMENTATION None"]),
        ("0.3.0", ["ADD TAG urn:li:tag:PII", "ADD DOCUMENTATION id"]),
        ("0.4.0", ["REMOVE TAG urn:li:tag:PII"]),
        ("0.5.0", ["ADD DOCUMENTATION https://x"]),
    ]
    assert {event["entityUrn"] for event in found[5]["changeEvents"]} == {
        f"urn:li:schemaField:({dataset},id)"
    }
    assert told(timeline(caller, dataset, "OWNER", "&startTime=0"))[0][1] == told(found)[1][1]


def test_without_a_start_the_last_seven_days_are_told(caller: Caller, dataset: str) -> None:
    caller.ingest(dataset, "globalTags", {"tags": [{"tag": "urn:li:tag:PII"}]})
    assert timeline(caller, dataset, "TAG") == []
    assert len(timeline(caller, dataset, "TAG", "&startTime=-1&endTime=100000")) == 1


def test_what_was_before_the_oldest_version_that_is_kept_is_not_told_as_new(
    caller: Caller, catalog: CatalogEngine, dataset: str
) -> None:
    for at in range(60):
        caller.ingest(dataset, "globalTags", {"tags": [{"tag": f"urn:li:tag:t{at}"}]})
    assert len(timeline(caller, dataset, "TAG", "&startTime=0")) == 60
    caller.ingest(f"{dataset[:-6]}_last,PROD)", "status", {"removed": False})
    catalog.index.flush()
    head = catalog.store.log_bounds().head
    catalog.store.write(lambda view: view.trim_log(1 << 60, head, 1 << 30)).result()
    trim_versions(catalog.store, 1, lambda: False)
    (last,) = told(timeline(caller, dataset, "TAG", "&startTime=0"))
    assert last[1] == ["REMOVE TAG urn:li:tag:t58", "ADD TAG urn:li:tag:t59"]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("", "'categories' is required"),
        ("categories=COLOUR", "no category named 'COLOUR'; the categories are TECHNICAL_SCHEMA"),
        ("categories=TAG&startTime=monday", "'startTime' is milliseconds since 1970"),
    ],
)
def test_a_timeline_that_cannot_be_told_is_refused_with_the_reason(
    caller: Caller, dataset: str, query: str, reason: str
) -> None:
    answer = caller.get(f"/openapi/v2/timeline/v1/{dataset}?{query}")
    assert answer.status_code == 400
    assert reason in answer.json()["message"]
