"""Relationships: one hop, both ways, following what aspects say now."""

from typing import Any
from urllib.parse import quote

import pytest

from tests.server.conftest import Caller


def hive(name: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"


def related(caller: Any, urn: Any, direction: Any, types: Any, **more: Any) -> Any:
    extra = "".join(f"&{key}={value}" for key, value in more.items())
    path = f"/relationships?direction={direction}&urn={quote(urn, safe='')}&types={types}{extra}"
    answer = caller.get(path)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_an_edge_is_read_from_both_sides_and_ends_with_what_declared_it(
    caller: Caller, dataset: str
) -> None:
    ann, bob = "urn:li:corpuser:rel-ann", "urn:li:corpuser:rel-bob"
    owned = {"owners": [{"owner": urn, "type": "NONE"} for urn in (ann, bob)]}
    caller.ingest(dataset, "ownership", owned)
    assert related(caller, dataset, "OUTGOING", "OwnedBy") == {
        "start": 0,
        "count": 2,
        "total": 2,
        "entities": [ann, bob],
        "relationships": [
            {"entity": ann, "type": "OwnedBy"},
            {"entity": bob, "type": "OwnedBy"},
        ],
    }
    assert related(caller, ann, "INCOMING", "OwnedBy")["entities"] == [dataset]
    caller.ingest(dataset, "ownership", {"owners": [{"owner": bob, "type": "NONE"}]})
    assert related(caller, ann, "INCOMING", "OwnedBy")["entities"] == []
    assert related(caller, dataset, "OUTGOING", "OwnedBy")["entities"] == [bob]
    caller.ingest(dataset, "ownership", None, "DELETE")
    assert related(caller, dataset, "OUTGOING", "OwnedBy")["entities"] == []


def test_several_types_are_asked_for_by_list_repetition_or_not_at_all(
    caller: Caller, dataset: str
) -> None:
    tag, owner = "urn:li:tag:rel-types", "urn:li:corpuser:rel-types"
    caller.ingest(dataset, "ownership", {"owners": [{"owner": owner, "type": "NONE"}]})
    caller.ingest(dataset, "globalTags", {"tags": [{"tag": tag}]})
    both = [{"entity": owner, "type": "OwnedBy"}, {"entity": tag, "type": "TaggedWith"}]
    for types in ("List(OwnedBy,TaggedWith)", "OwnedBy&types=TaggedWith", "List()"):
        assert related(caller, dataset, "OUTGOING", types)["relationships"] == both
    assert related(caller, dataset, "OUTGOING", "Nonsense")["relationships"] == []


@pytest.mark.parametrize(
    ("urn", "aspect", "value", "name", "other"),
    [
        (
            hive("rel.down"),
            "upstreamLineage",
            {
                "upstreams": [
                    {
                        "auditStamp": {"time": 0, "actor": "urn:li:corpuser:x"},
                        "type": "TRANSFORMED",
                        "dataset": hive("rel.up"),
                    }
                ]
            },
            "DownstreamOf",
            hive("rel.up"),
        ),
        (
            "urn:li:chart:(looker,rel)",
            "chartInfo",
            {
                "title": "t",
                "description": "",
                "lastModified": {
                    "created": {"time": 0, "actor": "urn:li:corpuser:x"},
                    "lastModified": {"time": 0, "actor": "urn:li:corpuser:x"},
                },
                "inputs": [{"string": hive("rel.input")}],
            },
            "Consumes",
            hive("rel.input"),
        ),
        (
            "urn:li:corpuser:rel-member",
            "groupMembership",
            {"groups": ["urn:li:corpGroup:rel"]},
            "IsMemberOfGroup",
            "urn:li:corpGroup:rel",
        ),
    ],
)
def test_relationships_are_named_as_the_registry_names_them(
    caller: Caller, urn: Any, aspect: str, value: Any, name: str, other: Any
) -> None:
    caller.ingest(urn, aspect, value)
    assert related(caller, urn, "OUTGOING", name)["entities"] == [other]
    assert related(caller, other, "INCOMING", name)["entities"] == [urn]


def test_pages_cover_every_edge_once(caller: Caller) -> None:
    tag = "urn:li:tag:rel-paged"
    urns = [hive(f"rel.page{n}") for n in range(7)]
    for urn in urns:
        caller.ingest(urn, "globalTags", {"tags": [{"tag": tag}]})
    seen = []
    for start in range(0, 9, 3):
        page = related(caller, tag, "INCOMING", "TaggedWith", start=start, count=3)
        assert page["total"] == 7
        assert page["count"] == len(page["entities"])
        seen += page["entities"]
    assert seen == urns


def test_edges_of_a_soft_deleted_entity_stay_and_those_of_a_deleted_one_go(
    caller: Caller, dataset: str
) -> None:
    tag = "urn:li:tag:rel-removed"
    caller.ingest(dataset, "globalTags", {"tags": [{"tag": tag}]})
    caller.ingest(dataset, "status", {"removed": True})
    assert related(caller, tag, "INCOMING", "TaggedWith")["entities"] == [dataset]
    caller.post("/entities?action=delete", {"urn": dataset}).raise_for_status()
    assert related(caller, tag, "INCOMING", "TaggedWith")["entities"] == []


@pytest.mark.parametrize(
    "query",
    [
        "direction=OUTGOING&types=OwnedBy",
        "direction=OUTGOING&urn=urn:li:tag:x",
        "urn=urn:li:tag:x&types=OwnedBy",
        "direction=SIDEWAYS&urn=urn:li:tag:x&types=OwnedBy",
        "direction=OUTGOING&urn=tag:x&types=OwnedBy",
        "direction=OUTGOING&urn=urn:li:tag:x&types=OwnedBy&start=-1",
        "direction=OUTGOING&urn=urn:li:tag:x&types=OwnedBy&count=many",
    ],
)
def test_a_question_that_lacks_or_misspells_a_part_is_refused(caller: Caller, query: str) -> None:
    assert caller.get(f"/relationships?{query}").status_code == 400
