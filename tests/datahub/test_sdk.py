"""What scripts over DataHub's SDK do, done to a catalog served by us."""

from pathlib import Path
from typing import Any

import pytest

from tests.datahub.conftest import DataHub

# The first test may install DataHub's tools.
SCRIPT = Path(__file__).with_name("sdk_session.py")


def dataset(name: Any) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,shop.{name},PROD)"


ORDERS, DAILY, REPORT = dataset("orders"), dataset("daily_orders"), dataset("report")
USER, PII = "urn:li:corpuser:ada", "urn:li:tag:PII"


@pytest.fixture(scope="module")
def said(datahub: DataHub) -> Any:
    """What every call of one session gave back."""
    return datahub.python(SCRIPT)


def test_patches_change_tags_owners_terms_properties_columns_and_lineage(said: Any) -> None:
    patched = said["patch"]
    assert patched["tags"] == [PII]
    assert patched["owners"] == [[USER, "DATAOWNER"]]
    assert patched["terms"] == ["urn:li:glossaryTerm:Sales.Order"]
    assert patched["description"] == "One row for each order"
    assert patched["custom"] == {"team": "shop"}
    assert patched["column tags"] == {"mail": [PII]}
    assert patched["upstreams"] == [ORDERS]
    field = "urn:li:schemaField:({},id)"
    assert patched["columns"] == [[[field.format(ORDERS)], [field.format(DAILY)]]]


def test_what_was_emitted_is_read(said: Any) -> None:
    read = said["read"]
    assert (read["aspect"], read["no aspect"]) == (True, None)
    assert (read["exists"], read["exists not"]) == (True, False)
    assert {"datasetKey", "datasetProperties", "schemaMetadata"} <= set(read["semityped"])
    assert read["legacy"] == USER
    assert read["many"] == sorted([ORDERS, DAILY])


def test_documents_in_time_are_read(said: Any) -> None:
    assert said["timeseries"] == {"latest": 0, "values": [0, 1]}


def test_related_entities_are_found(said: Any) -> None:
    assert ORDERS in said["relate"]["owned"]
    # The columns that feed its columns are related by the same name.
    assert ORDERS in said["relate"]["upstream"]


def test_entities_are_found(said: Any) -> None:
    found = said["find"]
    assert {ORDERS, DAILY, REPORT} <= set(found["by filter"])
    assert found["by query"] == [DAILY]
    assert found["by tag"] == [ORDERS]
    assert found["client"] == [DAILY]
    assert {ORDERS, DAILY, REPORT} <= set(found["client filter"])


def test_lineage_is_added_and_walked(said: Any) -> None:
    walked = said["lineage"]
    assert walked["downstream"] == sorted([[DAILY, 1], [REPORT, 2]])
    assert walked["upstream"] == [[DAILY, 1]]
    assert walked["column"] == [DAILY]


def test_columns_lead_to_tables_and_jobs_with_the_columns_in_between(said: Any) -> None:
    found = said["column lineage"]

    def table(name: Any, platform: str = "hive") -> str:
        return f"urn:li:dataset:(urn:li:dataPlatform:{platform},flow.{name},PROD)"

    job = "urn:li:dataJob:(urn:li:dataFlow:(airflow,flow,PROD),copy)"
    way = ["flow.first.id", "flow.second.id", "flow.third.id", "flow.last.id"]
    second = [table("second"), "DATASET", 1, way[:2]]
    third = [table("third"), "DATASET", 2, way[:3]]
    last = [table("last", "mysql"), "DATASET", 3, way]
    through = [job, "DATA_JOB", 2, way[:2]]
    assert found["down"] == sorted([second, third, last, through])
    assert found["of a column's URN"] == found["down"]
    assert found["two hops"] == sorted([second, third, through])
    assert found["up"] == sorted(
        [
            [table("third"), "DATASET", 1, way[:1:-1]],
            [table("second"), "DATASET", 2, way[:0:-1]],
            [job, "DATA_JOB", 2, way[:1:-1]],
            [table("first"), "DATASET", 3, way[::-1]],
        ]
    )
    assert found["of mysql"] == [last]
    assert found["jobs"] == [through]
    assert found["of no lineage"] == []


def test_a_dataset_object_is_written_changed_and_read(said: Any) -> None:
    assert said["entities"] == {
        "description": "One row for each customer",
        "columns": ["id", "mail"],
        "owners": [USER],
        "tags": [PII],
    }


def test_entities_and_references_are_removed(said: Any) -> None:
    removed = said["remove"]
    assert removed["hidden"]
    assert removed["gone"]
    assert removed["rows"][0] > 0
    assert removed["references"] == 0
