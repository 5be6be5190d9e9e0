"""What the specification leaves open or is easily forgotten, asked over the wire."""

import json
import time
from itertools import pairwise
from typing import Any
from urllib.parse import quote

import pytest

from tests.server.conftest import Caller

SEVEN: dict[str, tuple[str, dict[str, Any]]] = {
    "urn:li:dataset:(urn:li:dataPlatform:hive,round.trip,PROD)": (
        "datasetProperties",
        {"description": "d", "customProperties": {"a": "b"}},
    ),
    "urn:li:chart:(looker,round)": (
        "chartInfo",
        {
            "title": "t",
            "description": "d",
            "lastModified": {
                "created": {"time": 1, "actor": "urn:li:corpuser:a"},
                "lastModified": {"time": 2, "actor": "urn:li:corpuser:a"},
            },
        },
    ),
    "urn:li:dashboard:(looker,round)": (
        "dashboardInfo",
        {
            "title": "t",
            "description": "d",
            "charts": ["urn:li:chart:(looker,round)"],
            "lastModified": {
                "created": {"time": 1, "actor": "urn:li:corpuser:a"},
                "lastModified": {"time": 2, "actor": "urn:li:corpuser:a"},
            },
        },
    ),
    "urn:li:corpuser:round": ("corpUserInfo", {"active": True, "email": "r@example.com"}),
    "urn:li:corpGroup:round": (
        "corpGroupInfo",
        {"email": "g@example.com", "admins": ["urn:li:corpuser:a"], "members": [], "groups": []},
    ),
    "urn:li:tag:round": ("tagProperties", {"name": "round", "description": "d"}),
    "urn:li:glossaryTerm:round.trip": (
        "glossaryTermInfo",
        {"definition": "d", "termSource": "EXTERNAL", "customProperties": {"a": "b"}},
    ),
}


def hive(name: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"


class TestUrns:
    """How a URN is said and what is none."""

    def test_in_a_body_is_taken_literally(self, caller: Caller) -> None:
        for name in ("literal%2Cname", "literal%20name", "literal+name"):
            urn = hive(name)
            assert caller.ingest(urn, "status", {"removed": False}) == urn
            key = caller.entity(urn)["aspects"]["datasetKey"]["value"]
            assert key["name"] == name
        assert not caller.exists(hive("literal name"))

    @pytest.mark.parametrize(
        "urn",
        ["urn:li:corpUser:c", "urn:li:corpgroup:c", "urn:li:glossaryterm:c", "urn:li:Tag:c"],
    )
    def test_name_the_entity_type_in_its_own_case(self, caller: Caller, urn: str) -> None:
        known = {"corpuser": "corpuser", "corpgroup": "corpGroup", "tag": "tag"}
        right = known.get(urn.split(":")[2].lower(), "glossaryTerm")
        for answer in (
            caller.send(urn, "status", {"removed": False}),
            caller.get(f"/entitiesV2/{urn}"),
        ):
            assert answer.status_code == 400
            assert f"did you mean {right}" in answer.json()["message"]

    def test_have_512_bytes_at_most_wherever_they_stand(self, caller: Caller) -> None:
        longest = "urn:li:tag:" + "ü" * 250 + "x"
        assert len(longest.encode()) == 512
        caller.ingest(longest, "tagProperties", {"name": "long"})
        assert caller.value(longest, "tagProperties") == {"name": "long"}
        over = longest + "x"
        asked = quote(over, safe="")
        for answer in (
            caller.send(over, "tagProperties", {"name": "long"}),
            caller.get(f"/entitiesV2/{asked}"),
            caller.get(f"/entities/{asked}"),
            caller.get(f"/aspects/{asked}?aspect=status&version=0"),
            caller.get(f"/relationships?direction=INCOMING&types=TaggedWith&urn={asked}"),
        ):
            assert answer.status_code == 400
            assert "512 bytes" in answer.json()["message"]
        refused = caller.send(hive("overlong"), "globalTags", {"tags": [{"tag": over}]})
        assert refused.status_code == 422


class TestVersions:
    """Former values."""

    def test_are_byte_for_byte_what_was_written_in_the_order_of_writing(
        self, caller: Caller, dataset: str
    ) -> None:
        texts = ["# ü\r\n\ttabs", "", '😀 \\ "quoted" \u202e', "| a | b |\n|---|---|"]
        for text in texts:
            caller.ingest(dataset, "datasetProperties", {"description": text})
        for number, text in enumerate(texts[:-1], 1):
            answer = caller.version(dataset, "datasetProperties", number).json()
            assert answer["version"] == number
            assert list(answer["aspect"].values()) == [{"description": text}]

    def test_that_were_never_there_are_not_found(self, caller: Caller, dataset: str) -> None:
        caller.ingest(dataset, "datasetProperties", {"description": "only"})
        for aspect, number in (
            ("datasetProperties", 1),
            ("datasetProperties", -1),
            ("tagProperties", 0),
            ("ownership", 0),
        ):
            answer = caller.version(dataset, aspect, number)
            assert answer.status_code == 404
            assert aspect in answer.json()["message"]
        assert caller.version(hive("never.there"), "status", 0).status_code == 404


def test_no_more_than_ten_thousand_moments_are_given_and_the_newest_are_kept(
    caller: Caller, dataset: str
) -> None:
    def use(at: int) -> dict[str, Any]:
        value = {"timestampMillis": at, "totalSqlQueries": 1}
        return caller.proposal(dataset, "datasetUsageStatistics", value)

    caller.batch(*[use(at) for at in range(10_002)]).raise_for_status()
    body = {
        "urn": dataset,
        "entity": "dataset",
        "aspect": "datasetUsageStatistics",
        "startTimeMillis": 0,
        "endTimeMillis": 10_001,
    }
    value = caller.post("/aspects?action=getTimeseriesAspectValues", body).json()["value"]
    times = [json.loads(one["aspect"]["value"])["timestampMillis"] for one in value["values"]]
    assert value["limit"] == len(times) == 10_000
    assert (times[0], times[-1]) == (10_001, 2)
    assert all(later > earlier for later, earlier in pairwise(times))


def test_no_more_than_ten_thousand_edges_are_given_at_once_and_the_total_always(
    caller: Caller,
) -> None:
    tag, count = "urn:li:tag:on-many-columns", 10_003
    dataset = hive("wide")
    others = [f"urn:li:corpuser:many{n:05}" for n in range(count)]
    caller.ingest(dataset, "ownership", {"owners": [{"owner": u, "type": "NONE"} for u in others]})
    path = f"/relationships?direction=OUTGOING&types=OwnedBy&urn={quote(dataset, safe='')}"
    for more, start, given in (
        ("", 0, 10_000),
        ("&count=20000", 0, 10_000),
        ("&start=10000", 10_000, 3),
        ("&start=10000&count=2", 10_000, 2),
        ("&count=0", 0, 0),
    ):
        value = caller.get(path + more).json()
        assert (value["start"], value["count"], value["total"]) == (start, given, count), more
        assert value["entities"] == others[start : start + given]
        assert [one["entity"] for one in value["relationships"]] == value["entities"]
    assert caller.get(path.replace(quote(dataset, safe=""), tag)).json()["total"] == 0


@pytest.mark.parametrize(
    ("urn", "aspect", "value", "name", "other"),
    [
        (
            "urn:li:dashboard:(looker,edges)",
            "dashboardInfo",
            SEVEN["urn:li:dashboard:(looker,round)"][1]
            | {"charts": ["urn:li:chart:(looker,edge)"]},
            "Contains",
            "urn:li:chart:(looker,edge)",
        ),
        (
            hive("edges.tagged"),
            "globalTags",
            {"tags": [{"tag": "urn:li:tag:edge"}]},
            "TaggedWith",
            "urn:li:tag:edge",
        ),
        (
            hive("edges.tagged.column"),
            "editableSchemaMetadata",
            {
                "editableSchemaFieldInfo": [
                    {
                        "fieldPath": "a",
                        "globalTags": {"tags": [{"tag": "urn:li:tag:edge-column"}]},
                    }
                ]
            },
            "EditableSchemaFieldTaggedWith",
            "urn:li:tag:edge-column",
        ),
        (
            hive("edges.termed"),
            "glossaryTerms",
            {
                "terms": [{"urn": "urn:li:glossaryTerm:edge"}],
                "auditStamp": {"time": 0, "actor": "urn:li:corpuser:a"},
            },
            "TermedWith",
            "urn:li:glossaryTerm:edge",
        ),
        (
            "urn:li:corpGroup:edges",
            "corpGroupInfo",
            {"admins": [], "members": ["urn:li:corpuser:edge-member"], "groups": []},
            "IsPartOf",
            "urn:li:corpuser:edge-member",
        ),
    ],
)
def test_what_an_aspect_points_to_is_a_relationship(
    caller: Caller, urn: Any, aspect: str, value: Any, name: str, other: str
) -> None:
    caller.ingest(urn, aspect, value)
    for this, direction, that in ((urn, "OUTGOING", other), (other, "INCOMING", urn)):
        asked = f"direction={direction}&types={name}&urn={quote(this, safe='')}"
        assert caller.get(f"/relationships?{asked}").json()["entities"] == [that]


class TestSnapshots:
    """The legacy calls beside those of today."""

    @pytest.mark.parametrize("urn", SEVEN)
    def test_what_is_read_can_be_written_back_and_changes_nothing(
        self, caller: Caller, urn: Any
    ) -> None:
        aspect, value = SEVEN[urn]
        caller.ingest(urn, aspect, value)
        caller.ingest(urn, "status", {"removed": False})
        path = f"/entities/{quote(urn, safe='')}"
        read = caller.get(path).json()
        ((_, snapshot),) = read["value"].items()
        assert all(len(one) == 1 for one in snapshot["aspects"])
        assert value in [next(iter(one.values())) for one in snapshot["aspects"]]
        key = caller.catalog.registry.entity(urn.split(":")[2]).key
        assert next(iter(snapshot["aspects"][0])).lower().endswith("." + key.lower())
        answer = caller.post("/entities?action=ingest", {"entity": read})
        assert answer.status_code == 200, answer.text
        assert caller.get(path).json() == read
        assert caller.version(urn, aspect, 1).status_code == 404

    def test_write_the_versions_that_every_call_reads(self, caller: Caller, dataset: str) -> None:
        for text in ("one", "two"):
            record = {"com.vendor.dataset.DatasetProperties": {"description": text}}
            body = {"urn": dataset, "aspects": [record]}
            value = {"com.vendor.metadata.snapshot.DatasetSnapshot": body}
            caller.post("/entities?action=ingest", {"entity": {"value": value}})
        caller.ingest(dataset, "datasetProperties", {"description": "three"})
        texts = [
            next(iter(caller.version(dataset, "datasetProperties", n).json()["aspect"].values()))
            for n in (1, 2, 0)
        ]
        assert [one["description"] for one in texts] == ["one", "two", "three"]

    def test_of_a_type_that_has_none_are_refused_as_they_cannot_be_read(
        self, caller: Caller
    ) -> None:
        urn = "urn:li:container:unsnapped"
        body = {"urn": urn, "aspects": [{"com.vendor.common.Status": {"removed": False}}]}
        entity = {"value": {"com.vendor.metadata.snapshot.ContainerSnapshot": body}}
        for action, sent in (
            ("ingest", {"entity": entity}),
            ("batchIngest", {"entities": [entity]}),
        ):
            answer = caller.post(f"/entities?action={action}", sent)
            assert answer.status_code == 400
            assert "ingestProposal" in answer.json()["message"]
        assert not caller.exists(urn)


class TestStamps:
    """Who wrote an aspect, and when."""

    def test_without_a_word_it_was_nobody_known_just_now(
        self, caller: Caller, dataset: str
    ) -> None:
        before = time.time_ns() // 1_000_000
        caller.ingest(dataset, "status", {"removed": False})
        created = caller.entity(dataset)["aspects"]["status"]["created"]
        assert created["actor"] == "urn:li:corpuser:unknown"
        assert before <= created["time"] <= time.time_ns() // 1_000_000

    def test_the_audit_header_names_the_one_and_leaves_the_time_to_the_server(
        self, caller: Caller, dataset: str
    ) -> None:
        before = time.time_ns() // 1_000_000
        audited = {"actor": "urn:li:corpuser:auditor", "time": 1}
        caller.ingest(dataset, "status", {"removed": False}, auditHeader=audited)
        for name, aspect in caller.entity(dataset)["aspects"].items():
            assert aspect["created"]["actor"] == "urn:li:corpuser:auditor", name
            assert aspect["created"]["time"] >= before


class TestRemoval:
    """Soft deletion in every way a status can be written."""

    def snapshot(self, urn: str) -> dict[str, Any]:
        body = {"urn": urn, "aspects": [{"com.vendor.common.Status": {"removed": True}}]}
        return {"value": {"com.vendor.metadata.snapshot.DatasetSnapshot": body}}

    def test_of_what_is_not_there_fails_and_makes_nothing(
        self, caller: Caller, dataset: str
    ) -> None:
        proposal = caller.proposal(dataset, "status", {"removed": True})
        for answer in (
            caller.post("/aspects?action=ingestProposal", {"proposal": proposal}),
            caller.batch(proposal),
            caller.post("/entities?action=ingest", {"entity": self.snapshot(dataset)}),
        ):
            assert answer.status_code == 404
            assert "does not exist" in answer.json()["message"]
        assert not caller.exists(dataset)
        assert caller.version(dataset, "status", 0).status_code == 404

    def test_ends_when_the_status_itself_is_taken_away(self, caller: Caller, dataset: str) -> None:
        caller.ingest(dataset, "datasetProperties", {"name": "gepatschword"})
        caller.ingest(dataset, "status", {"removed": True})
        assert caller.search("gepatschword")["entities"] == []
        caller.ingest(dataset, "status", None, "DELETE")
        assert caller.search("gepatschword")["entities"] == [dataset]

    def test_leaves_the_entity_readable_by_every_call(self, caller: Caller, dataset: str) -> None:
        caller.ingest(dataset, "datasetProperties", {"description": "still here"})
        caller.ingest(dataset, "datasetUsageStatistics", {"timestampMillis": 5})
        before = caller.entity(dataset)["aspects"]
        caller.ingest(dataset, "status", {"removed": True})
        after = caller.entity(dataset)["aspects"]
        assert after.pop("status")["value"] == {"removed": True}
        before.pop("status", None)
        assert after == before
        assert caller.version(dataset, "datasetProperties", 0).status_code == 200
        assert "still here" in caller.get(f"/entities/{quote(dataset, safe='')}").text
        body = {"urn": dataset, "entity": "dataset", "aspect": "datasetUsageStatistics"}
        found = caller.post("/aspects?action=getTimeseriesAspectValues", body).json()
        assert len(found["value"]["values"]) == 1
        query = "query($u: String!) { dataset(urn: $u) { properties { description } } }"
        read = caller.graphql(query, u=dataset)["data"]["dataset"]
        assert read == {"properties": {"description": "still here"}}


class TestDeletedAspects:
    """The change type DELETE."""

    def test_a_value_sent_along_does_no_harm(self, caller: Caller, dataset: str) -> None:
        caller.ingest(dataset, "datasetProperties", {"description": "x"})
        assert (
            caller.ingest(dataset, "datasetProperties", {"description": "y"}, "DELETE") == dataset
        )
        assert caller.value(dataset, "datasetProperties") is None

    def test_an_aspect_that_the_type_cannot_have_is_refused(self, caller: Caller) -> None:
        urn = "urn:li:tag:delete-what-cannot-be"
        caller.ingest(urn, "tagProperties", {"name": "t"})
        answer = caller.send(urn, "globalTags", None, "DELETE")
        assert answer.status_code == 422
        assert "tagProperties" in answer.json()["message"]

    @pytest.mark.parametrize("aspect", ["datasetKey", "status", "datasetProperties"])
    def test_of_an_entity_that_is_not_there_fails(
        self, caller: Caller, dataset: str, aspect: str
    ) -> None:
        answer = caller.send(dataset, aspect, None, "DELETE")
        assert answer.status_code == 404
        assert not caller.exists(dataset)


class TestGraphqlBounds:
    """How much one document may ask for."""

    @pytest.mark.parametrize("by", ["literal", "variable"])
    def test_pages_beyond_measure_are_refused_before_anything_is_read(
        self, caller: Caller, by: str
    ) -> None:
        head, count = ("", "1000000") if by == "literal" else ("query($n: Int)", "$n")
        query = (
            head + ' { searchAcrossEntities(input: { query: "*", count: ' + count + " }) "
            "{ total searchResults { entity { urn type } } } }"
        )
        answer = caller.graphql(query, n=1_000_000)
        assert answer["data"] == {"searchAcrossEntities": None}
        (error,) = answer["errors"]
        assert "more than the 10000 that a page may have" in error["message"]
        assert error["extensions"]["code"] == 400

    def test_a_body_over_the_limit_is_refused_as_any(self, caller: Caller) -> None:
        body = {"query": "{ __typename }", "variables": {"x": "x" * (16 * 1024 * 1024)}}
        answer = caller.post("/api/graphql", body)
        assert answer.status_code == 413
        assert set(answer.json()) == {"exceptionClass", "message", "status", "stackTrace"}
        assert answer.headers["x-restli-error-response"] == "true"
