"""Names with any sign that means something in a path, a query or a list come back as they went."""

from typing import Any

import pytest

from explorer.errors import NotFound
from explorer.metadata import Proposal, Urn

NAMES = ["a/b", "50%", "%2F", "a+b c", "ü☃", "a&b=c#d?e", "a'b\"c", "..", "List(a)", "a;b:c@d"]
TAGS = [Urn.of("tag", "odd,one"), Urn.of("tag", "odd/%2C+ ü")]


@pytest.mark.parametrize("name", NAMES)
def test_an_entity_of_an_odd_name_is_written_read_and_found(client: Any, name: Any) -> None:
    urn = Urn.dataset("hive", f"odd.{name}")
    client.put(urn, "datasetProperties", {"description": name})
    client.put(urn, "globalTags", {"tags": [{"tag": str(tag)} for tag in TAGS]})
    client.describe(urn, f"text of {name}")
    assert client.exists(str(urn))
    entity = client.entity(urn, ["datasetProperties", "editableDatasetProperties"])
    assert (entity.urn, entity.ingested_description) == (urn, name)
    assert entity.edited_description == f"text of {name}"
    assert client.legacy_entity(urn).ingested_description == name
    assert list(client.entities([urn, TAGS[0]])) == [urn, TAGS[0]]
    assert client.aspect(urn, "datasetProperties").value["description"] == name
    assert client.versions(urn, "datasetProperties").total == 1
    tagged = client.relationships(urn, "OUTGOING", ["TaggedWith"])
    assert [edge.urn for edge in tagged.edges] == TAGS
    for tag in TAGS:
        assert urn in [edge.urn for edge in client.related(tag, "INCOMING", ["TaggedWith"])]
    assert [one.urn for one in client.changes(urns=[urn], limit=1)] == [urn]
    assert client.delete(urn).is_deleted
    with pytest.raises(NotFound):
        client.aspect(urn, "datasetProperties")


def test_an_odd_name_in_a_proposal_is_no_other_name(client: Any) -> None:
    plain, encoded = Urn.dataset("hive", "odd/x"), Urn.dataset("hive", "odd%2Fx")
    for urn in (plain, encoded):
        client.ingest(Proposal(urn, "datasetProperties", {"description": str(urn)}))
    assert client.entity(plain).ingested_description == str(plain)
    assert client.entity(encoded).ingested_description == str(encoded)
