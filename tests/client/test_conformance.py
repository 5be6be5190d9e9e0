"""What one client does, every form of it does: the same answers, the same errors."""

from typing import Any

import pytest

from explorer.errors import NotFound
from explorer.metadata import Proposal, Urn

TAG = Urn.parse("urn:li:tag:conformance")


@pytest.fixture(autouse=True)
def _written(client: Any) -> None:
    client.ingest(Proposal(TAG, "tagProperties", {"name": "conformance"}))


def test_what_was_written_is_read_and_found(client: Any) -> None:
    assert client.entity(TAG).name == "conformance"
    assert client.aspect(TAG, "tagProperties").value == {"name": "conformance"}
    assert TAG in [hit.urn for hit in client.search("conformance", entity="tag")]


def test_what_is_not_there_is_said_so(client: Any) -> None:
    assert not client.entity("urn:li:tag:nowhere").exists
    with pytest.raises(NotFound):
        client.aspect("urn:li:tag:nowhere", "tagProperties")
