from collections.abc import Callable
from typing import Any

import pytest

from explorer.errors import InvalidUrn, UnknownName
from explorer.metadata import Registry, Urn
from explorer.metadata.names import display_name
from explorer.server.search.document import Document, build_document

Make = Callable[..., Document]


def test_the_key_is_searchable_without_its_aspect(dataset: Make) -> None:
    document = dataset("db.orders", platform="kafka", origin="DEV")
    assert document.fields["platform"] == ("urn:li:dataPlatform:kafka",)
    assert document.fields["id"] == ("db.orders",)
    assert document.fields["origin"] == ("DEV",)
    assert document.fields["_entityType"] == ("dataset",)
    assert document.fields["urn"] == (document.urn,)
    assert not document.removed


def test_entries_of_a_map_are_indexed_with_their_keys(dataset: Make) -> None:
    properties = {"customProperties": {"team": "core", "rows": "9"}}
    document = dataset("t", datasetProperties=properties)
    assert document.fields["customProperties"] == ("team=core", "rows=9")


def test_what_is_there_is_said_of_every_field_that_asks(dataset: Make) -> None:
    document = dataset(
        "t",
        globalTags={"tags": []},
        datasetProperties={"description": "  "},
        editableSchemaMetadata={
            "editableSchemaFieldInfo": [{"fieldPath": "a", "description": "the key"}]
        },
    )
    assert document.fields["hasTags"] == (False,)
    assert document.fields["hasOwners"] == (False,)
    # The description of a column is one too.
    assert document.fields["hasDescription"] == (True,)
    assert "description" not in document.fields


def test_values_are_counted_where_the_registry_says_so(entity: Make) -> None:
    urn = "urn:li:dataJob:(urn:li:dataFlow:(airflow,f,PROD),j)"
    datasets = ["urn:li:dataset:a", "urn:li:dataset:b"]
    document = entity(urn, dataJobInputOutput={"inputDatasets": datasets, "outputDatasets": []})
    assert document.fields["numInputDatasets"] == (2.0,)
    assert document.fields["numOutputDatasets"] == (0.0,)


def test_values_come_once_and_times_as_numbers(dataset: Make) -> None:
    owner = {"owner": "urn:li:corpuser:ann"}
    document = dataset(
        "t",
        ownership={"owners": [owner, owner]},
        datasetProperties={"lastModified": {"time": 1_700_000_000_000}},
        subTypes={"typeNames": ["Table", "View"]},
        status={"removed": True},
        browsePathsV2={"path": [{"id": "prod"}, {"id": "hive"}]},
    )
    assert document.fields["owners"] == ("urn:li:corpuser:ann",)
    assert document.fields["lastModifiedAt"] == (1_700_000_000_000.0,)
    assert document.fields["typeNames"] == ("Table", "View")
    assert document.fields["browsePathV2"] == ("␟prod␟hive",)
    assert document.removed


def test_values_of_an_unexpected_shape_are_passed_over(dataset: Make) -> None:
    document = dataset(
        "t",
        globalTags={"tags": [{"tag": {"odd": 1}}, {"tag": "urn:li:tag:PII"}, "odd"]},
        datasetProperties={"lastModified": {"time": "soon"}, "name": ["a"], "description": 7},
    )
    assert document.fields["tags"] == ("urn:li:tag:PII",)
    assert "lastModifiedAt" not in document.fields
    assert document.fields["description"] == ("7",)


@pytest.mark.parametrize(
    ("urn", "aspects", "name"),
    [
        ("urn:li:dataset:(urn:li:dataPlatform:hive,db.t,PROD)", {}, "db.t"),
        (
            "urn:li:dataset:(urn:li:dataPlatform:hive,db.t,PROD)",
            {"datasetProperties": {"name": "told"}},
            "told",
        ),
        (
            "urn:li:dataset:(urn:li:dataPlatform:hive,db.t,PROD)",
            {"datasetProperties": {"name": "told"}, "editableDatasetProperties": {"name": "mine"}},
            "mine",
        ),
        ("urn:li:chart:(looker,7)", {"chartInfo": {"title": "Sales"}}, "Sales"),
        ("urn:li:corpuser:ann", {"corpUserInfo": {"fullName": "Ann Lee"}}, "Ann Lee"),
        ("urn:li:tag:x1", {"tagProperties": {"name": "PII"}}, "PII"),
        (
            "urn:li:mlModel:(urn:li:dataPlatform:s,m,PROD)",
            {"mlModelProperties": {"name": "M"}},
            "M",
        ),
        ("urn:li:domain:f1", {"domainProperties": {"name": "  "}}, "f1"),
        ("urn:li:schemaField:(urn:li:dataset:d,[version=2.0].[type=string].zip)", {}, "zip"),
    ],
)
def test_an_entity_is_shown_by_its_best_name(urn: str, aspects: dict[str, Any], name: str) -> None:
    assert display_name(Urn.parse(urn), aspects) == name


def test_usage_is_read_where_it_is_kept(dataset: Make, registry: Registry) -> None:
    used = {"usageFeatures": {"queryCountLast30Days": 40}}
    assert build_document(registry, Urn.dataset("hive", "t"), used).usage == 40


def test_a_urn_that_cannot_be_is_refused(registry: Registry) -> None:
    with pytest.raises(UnknownName):
        build_document(registry, Urn("nonsense", ("a",)), {})
    with pytest.raises(InvalidUrn):
        build_document(registry, Urn("dataset", ("a", "b")), {})
