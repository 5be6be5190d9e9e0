"""The older forms, for servers that know no other: what they send, and that they say so."""

import warnings
from typing import Any

import pytest

from explorer.client import Answer, AsyncCatalog, Catalog
from explorer.client.changes import change_query, changes_request
from explorer.client.entity import aspect_request, entity_request
from explorer.client.lineage import relationships_request
from explorer.metadata import Urn
from explorer.metadata.aspects import Status

TABLE = Urn.dataset("hive", "legacy/orders")
TAG = Urn.parse("urn:li:tag:legacy")


class Recording:
    """Takes everything, and remembers it."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    async def send(self, request: Any) -> Any:
        self.sent.append(request)
        return Answer(200, b"")

    async def close(self) -> None:
        pass


def test_a_snapshot_is_one_request_with_every_aspect_under_its_records_name() -> None:
    wire = Recording()
    with warnings.catch_warnings(), Catalog(transport=wire) as catalog:
        warnings.simplefilter("error")
        catalog.ingest_snapshot(
            TABLE, {"status": Status(removed=True), "datasetProperties": {"description": "d"}}
        )
    (request,) = wire.sent
    assert (request.method, request.path) == ("POST", "/entities?action=ingest")
    assert request.writes
    assert request.body == {
        "entity": {
            "value": {
                "com.linkedin.metadata.snapshot.DatasetSnapshot": {
                    "urn": str(TABLE),
                    "aspects": [
                        {"com.linkedin.common.Status": {"removed": True}},
                        {"com.linkedin.dataset.DatasetProperties": {"description": "d"}},
                    ],
                }
            }
        }
    }


@pytest.mark.parametrize(
    ("urn", "record"),
    [
        ("urn:li:corpuser:jdoe", "CorpUserSnapshot"),
        ("urn:li:glossaryTerm:x", "GlossaryTermSnapshot"),
        ("urn:li:dataJob:(urn:li:dataFlow:(airflow,f,PROD),j)", "DataJobSnapshot"),
    ],
)
def test_the_snapshot_of_a_type_has_that_types_name(urn: str, record: str) -> None:
    wire = Recording()
    with Catalog(transport=wire) as catalog:
        catalog.ingest_snapshot(urn, {"status": {"removed": False}})
    assert [*wire.sent[0].body["entity"]["value"]] == [f"com.linkedin.metadata.snapshot.{record}"]


@pytest.mark.parametrize("method", ["ingest_snapshot", "legacy_entity"])
def test_a_legacy_form_says_that_it_is_one_and_what_to_use_instead(method: str) -> None:
    for kind in (AsyncCatalog, Catalog):
        words = getattr(kind, method).__doc__
        assert "deprecated" in words.lower()
        assert "`" in words


def test_names_of_relationships_and_aspects_are_encoded_too() -> None:
    one = relationships_request(TAG, "INCOMING", ["A b&c"], 0, 5).path
    assert one == (
        "/relationships?direction=INCOMING&urn=urn%3Ali%3Atag%3Alegacy&types=A%20b%26c"
        "&start=0&count=5"
    )
    two = relationships_request(TAG, "INCOMING", ["A,b", "c)"], 0, 5).path
    assert "types=List(A%2Cb,c%29)&" in two
    assert aspect_request(TAG, "a&b", -1).path.endswith("?aspect=a%26b&version=-1")
    assert entity_request(TAG, ["a,b"]).path.endswith("?aspects=List(a%2Cb)")
    changes = changes_request(0, 5, change_query([TAG], ["a&b"], ["c d"], values=False))
    assert changes.path == (
        "/changes?after=0&limit=5&urn=urn%3Ali%3Atag%3Alegacy&aspect=a%26b&entity=c%20d"
        "&values=false"
    )
