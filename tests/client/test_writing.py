"""Aspects go in, come out again, and none is lost on the way."""

import asyncio
from collections.abc import Iterator
from itertools import pairwise
from typing import Any
from uuid import uuid4

import orjson
import pytest

from explorer.client import AsyncCatalog
from explorer.client.ingestion import cut, ingest_batch_request, ingest_request, size_bytes
from explorer.errors import Conflict, InvalidInput, NotFound
from explorer.metadata import Proposal, Urn
from explorer.metadata.aspects import GlobalTags, Status, TagAssociation

TABLE = Urn.dataset("hive", "writing.orders")
LABEL = Urn.parse("urn:li:tag:writing")


@pytest.fixture
def table(client: Any) -> Iterator[Any]:
    client.put(TABLE, "datasetProperties", {"description": "Orders", "customProperties": {}})
    client.put(TABLE, None, Status(removed=False))
    yield TABLE
    client.delete(TABLE)


def wires(value: Any, times: int = 1) -> Any:
    return [Proposal(LABEL, "tagProperties", value)] * times


# What goes over the wire.


def test_a_proposal_says_how_it_is_to_be_taken_and_holds_its_value_as_text() -> None:
    request = ingest_request(Proposal(TABLE, "status", {"removed": True}))
    assert request.path == "/aspects?action=ingestProposal"
    assert request.body["async"] == "false"
    assert request.body["proposal"]["aspect"]["value"] == '{"removed":true}'
    assert request.writes


def test_a_conditional_write_is_sent_once() -> None:
    proposal = Proposal(TABLE, "status", {}, headers={"If-Version-Match": "1"})
    assert not ingest_request(proposal).repeatable
    assert not ingest_batch_request(*cut([proposal])).repeatable
    assert ingest_batch_request(*cut([Proposal(TABLE, "status", {})])).repeatable


@pytest.mark.parametrize("value", [{"a": 'q"\\' * 999}, {"a": "ü☃" * 999}, {"a": "\x00" * 999}, {}])
def test_a_size_is_never_told_too_small_nor_twice_too_big(value: Any) -> None:
    proposal = Proposal(TABLE, "status", value, system={"runId": 'r"'}, headers={"x": "y"})
    length = len(orjson.dumps(proposal.to_wire()))
    assert length <= size_bytes(proposal, proposal.to_wire()) <= 2 * length + 500


# Batches.


def test_batches_keep_the_order_and_what_belongs_together() -> None:
    urns = [Urn.of("tag", str(at // 3)) for at in range(20)]
    proposals = [Proposal(urn, "status", {"at": at}) for at, urn in enumerate(urns)]
    batches = list(cut(iter(proposals), usual=4))
    assert [one for batch in batches for one in batch.proposals] == proposals
    assert [batch.start for batch in batches] == [0, 6, 12, 18]
    assert not any(late.must_follow(early) for early, late in pairwise(batches))


def test_a_batch_never_holds_more_than_the_server_takes() -> None:
    assert [len(batch.proposals) for batch in cut(wires({}, 450))] == [400, 50]
    long = wires({"name": "x" * 1000}, 5)
    two = size_bytes(long[0], long[0].to_wire()) * 2
    assert [len(batch.proposals) for batch in cut(long, room_bytes=two)] == [2, 2, 1]
    assert [len(batch.proposals) for batch in cut(long, room_bytes=10)] == [1] * 5


class Counting:
    """Takes batches, remembers which were on their way at once."""

    def __init__(self) -> None:
        self.at_once = 0
        self.most = 0
        self.together: list[set[str]] = []
        self.took: list[Any] = []

    async def send(self, request: Any) -> Any:
        urns = {one["entityUrn"] for one in request.body["proposals"]}
        self.together.append(urns)
        self.most = max(self.most, len(self.together))
        overlapping = [other for other in self.together[:-1] if other & urns]
        assert not overlapping
        for _ in range(5):
            await asyncio.sleep(0)
        self.together.remove(urns)
        self.took += request.body["proposals"]
        return 200, b"{}"

    async def close(self) -> None:
        pass


def load(proposals: Any, wire: Any) -> Any:
    async def run() -> Any:
        async with AsyncCatalog(transport=wire) as catalog:
            return await catalog.ingest_batch(proposals)

    return asyncio.run(run())


def test_two_batches_of_different_entities_are_on_their_way_at_once() -> None:
    wire = Counting()
    proposals = [Proposal(Urn.of("tag", str(at)), "status", {}) for at in range(500)]
    assert load(proposals, wire).written_count == 500
    assert wire.most == 2


def test_changes_of_one_entity_are_never_on_their_way_at_once() -> None:
    wire = Counting()
    urns = [Urn.of("tag", str(at % 150)) for at in range(900)]
    proposals = [Proposal(urn, "status", {"at": at}) for at, urn in enumerate(urns)]
    assert load(proposals, wire).written_count == 900
    values = [orjson.loads(one["aspect"]["value"])["at"] for one in wire.took]
    assert values == sorted(values)


def test_what_is_refused_is_named_by_its_place_and_loses_no_other(client: Any) -> None:
    good = [Proposal(Urn.of("tag", f"w{at}"), "tagProperties", {"name": "w"}) for at in range(250)]
    bad = Proposal(LABEL, "tagProperties", {"name": 3})
    report = client.ingest_batch([*good[:120], bad, *good[120:]])
    assert report.written_count == 250
    (refused,) = report.refused
    assert (refused.position, refused.urn, refused.aspect) == (120, LABEL, "tagProperties")
    assert "name" in refused.reason
    assert client.aspect(good[-1].urn, "tagProperties").value == {"name": "w"}


def test_a_condition_that_does_not_hold_is_one_refusal_among_others(client: Any) -> None:
    stale = Proposal(LABEL, "tagProperties", {"name": "x"}, headers={"If-Version-Match": "77"})
    report = client.ingest_batch([stale, *wires({"name": "writing"})])
    assert report.written_count == 1
    assert [one.position for one in report.refused] == [0]


# Single aspects.


def test_a_typed_record_knows_its_aspect_and_leaves_out_what_it_has_not(
    client: Any, table: Any
) -> None:
    client.put(table, None, GlobalTags((TagAssociation(str(LABEL)),)))
    assert client.aspect(table, "globalTags").value == {"tags": [{"tag": str(LABEL)}]}


def test_a_value_without_a_name_and_a_record_of_another_aspect_are_refused(client: Any) -> None:
    with pytest.raises(InvalidInput, match="give the name of the aspect"):
        client.put(TABLE, None, {"removed": True})
    with pytest.raises(InvalidInput, match="is the aspect status, not globalTags"):
        client.put(TABLE, "globalTags", Status())
    with pytest.raises(InvalidInput, match="not the record of an aspect"):
        client.put(TABLE, None, TagAssociation("urn:li:tag:x"))


def test_of_two_who_write_over_the_same_version_one_is_told(client: Any) -> None:
    # Version numbers go on after a removal, so this table is one that never was.
    table = Urn.dataset("hive", f"writing.versions_{uuid4().hex}")
    client.put(table, "globalTags", {"tags": []}, only_if_version=-1)
    client.put(table, "globalTags", {"tags": [{"tag": str(LABEL)}]}, only_if_version=1)
    with pytest.raises(Conflict):
        client.put(table, "globalTags", {"tags": []}, only_if_version=1)
    assert len(client.entity(table).tags) == 1
    client.delete(table)


def test_a_patch_leaves_the_rest_and_a_removal_takes_all(client: Any, table: Any) -> None:
    client.put(table, None, GlobalTags((TagAssociation("urn:li:tag:kept"),)))
    tag = {"tag": str(LABEL)}
    client.patch(table, "globalTags", [{"op": "add", "path": f"/tags/{LABEL}", "value": tag}])
    assert [str(one) for one in client.entity(table).tags] == ["urn:li:tag:kept", str(LABEL)]
    client.remove(table, "globalTags")
    with pytest.raises(NotFound):
        client.aspect(table, "globalTags")


def test_a_snapshot_brings_several_aspects_at_once(client: Any, table: Any) -> None:
    aspects = {"status": Status(removed=True), "datasetProperties": {"description": "old way"}}
    client.ingest_snapshot(table, aspects)
    entity = client.entity(table)
    assert entity.removed
    assert entity.ingested_description == "old way"
    with pytest.raises(InvalidInput):
        client.ingest_snapshot(table, {"tagProperties": {"name": "x"}})


def test_a_run_is_listed_and_taken_back(client: Any, table: Any) -> None:
    client.put(table, None, Status(removed=True), run_id="writing-run")
    assert "writing-run" in [run.run_id for run in client.runs(include_removed=True)]
    client.roll_back("writing-run")
    assert not client.entity(table).removed


# The life of an entity.


def test_a_soft_deleted_entity_comes_back_with_all_it_had(client: Any, table: Any) -> None:
    would = client.soft_delete(table, dry_run=True)
    assert (would.was_removed, would.removed, would.is_changed) == (False, True, False)
    assert not client.entity(table).removed
    assert client.soft_delete(table).is_changed
    assert client.entity(table).removed
    assert client.entity(table).ingested_description == "Orders"
    assert not client.soft_delete(table).is_changed
    assert client.restore(table).was_removed
    assert not client.entity(table).removed


def test_other_fields_of_the_status_stay_when_an_entity_comes_back(client: Any, table: Any) -> None:
    client.put(table, "status", {"removed": True, "reason": "moved"})
    client.restore(table)
    assert client.aspect(table, "status").value == {"removed": False, "reason": "moved"}


def test_nothing_comes_of_taking_away_what_does_not_exist(client: Any) -> None:
    nowhere = Urn.dataset("hive", "writing.nowhere")
    for change in (client.soft_delete, client.restore, client.delete):
        with pytest.raises(NotFound):
            change(nowhere)
    assert not client.entity(nowhere).exists


def test_deleting_tells_who_points_there_before_it_does(client: Any, table: Any) -> None:
    client.put(LABEL, "tagProperties", {"name": "writing"})
    client.put(table, None, GlobalTags((TagAssociation(str(LABEL)),)))
    would = client.delete(LABEL, dry_run=True)
    assert (would.is_deleted, would.reference_count) == (False, 1)
    assert [(one.urn, one.aspect) for one in would.references] == [(table, "globalTags")]
    assert client.entity(LABEL).exists
    did = client.delete(LABEL)
    assert did.is_deleted
    assert did.versions >= 1
    assert not client.entity(LABEL).exists
    assert client.entity(table).tags == (LABEL,)


def test_deleting_with_its_references_leaves_none(client: Any, table: Any) -> None:
    client.put(LABEL, "tagProperties", {"name": "writing"})
    client.put(table, None, GlobalTags((TagAssociation(str(LABEL)),)))
    client.delete(LABEL, with_references=True)
    assert client.entity(table).tags == ()
