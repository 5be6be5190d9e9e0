"""The two dialects, the versions of the protocol, the base path, and what is deprecated."""

import json
from collections.abc import Callable
from itertools import product
from typing import Any, ClassVar, Literal
from urllib.parse import quote

import httpx
import pytest

from explorer.server.app import Service
from explorer.server.catalog import CatalogEngine
from tests.server.conftest import Caller
from tests.server.examples import example_of

DEPRECATED = {
    "POST /entities?action=ingest",
    "POST /entities?action=batchIngest",
    "POST /usageStats?action=batchIngest",
    "GET /entities/<urn>",
}


def hive(name: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"


def test_the_deprecated_calls_and_no_other_say_so_in_a_header(caller: Caller) -> None:
    service = Service(caller.catalog)
    assert {one.title for one in service.endpoints if one.standing == "deprecated"} == DEPRECATED
    for endpoint in service.endpoints:
        if endpoint.method == "GET" and endpoint.path != "/changes/stream":
            path, _ = example_of(endpoint)
            answer = caller.get(path, accept="application/json")
            assert ("deprecation" in answer.headers) == (endpoint.title in DEPRECATED), path
    buckets = caller.post("/usageStats?action=batchIngest", {"buckets": []})
    assert buckets.headers["deprecation"] == "true"
    assert (
        "deprecation" not in caller.post("/entities?action=exists", {"urn": "urn:li:tag:x"}).headers
    )


class TestDialects:
    """Two spellings of the answers that cannot be both."""

    ASKED = (
        ("/entitiesV2/{0}", None),
        ("/relationships?direction=OUTGOING&types=TaggedWith&urn={0}", None),
        ("/entities?action=browse", {"path": "/", "entity": "tag"}),
        ("/entities?action=autocomplete", {"query": "bernina", "entity": "dataset", "limit": 3}),
        ("/entities?action=exists", {"urn": "{0}"}),
    )
    NAMED = ("/entities/{0}", "/aspects/{0}?aspect=globalTags&version=0")

    @pytest.fixture
    def urn(self, caller: Caller) -> str:
        urn = hive("bernina")
        caller.ingest(urn, "globalTags", {"tags": [{"tag": "urn:li:tag:bernina"}]})
        return urn

    @staticmethod
    def ask(http: Any, urn: str, path: str, body: Any, headers: dict[str, str]) -> Any:
        path = path.format(quote(urn, safe=""))
        if body is None:
            answer = http.get(path, headers=headers)
        else:
            said = json.loads(json.dumps(body).replace("{0}", urn))
            answer = http.post(path, json=said, headers=headers)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def test_differ_only_where_they_must(self, caller: Caller, urn: str) -> None:
        plain, datahub = {"X-Catalog-Dialect": "plain"}, {"X-Catalog-Dialect": "DataHub"}
        for path, body in self.ASKED:
            one, other = (self.ask(caller.http, urn, path, body, h) for h in (plain, datahub))
            assert one == other, path
        for path in self.NAMED:
            one, other = (self.ask(caller.http, urn, path, None, h) for h in (plain, datahub))
            assert "com.linkedin." not in json.dumps(one)
            assert json.dumps(one).replace("com.vendor.", "com.linkedin.") == json.dumps(other)

    @pytest.mark.parametrize(
        ("setting", "headers", "spoken"),
        [
            (None, {}, "plain"),
            (None, {"User-Agent": "DataHub-Client/1.0 (sdk)"}, "datahub"),
            (None, {"X-DataHub-Client-Mode": "CLI"}, "datahub"),
            (None, {"User-Agent": "DataHub-Client/1.0", "X-Catalog-Dialect": "plain"}, "plain"),
            ("plain", {"User-Agent": "DataHub-Client/1.0"}, "plain"),
            ("plain", {"X-Catalog-Dialect": "datahub"}, "datahub"),
            ("datahub", {}, "datahub"),
            ("datahub", {"X-Catalog-Dialect": "plain"}, "plain"),
        ],
    )
    def test_the_header_is_asked_before_the_setting_and_that_before_the_caller(
        self,
        caller: Caller,
        serve: Callable[[Service], str],
        urn: str,
        setting: Literal["plain", "datahub"] | None,
        headers: Any,
        spoken: str,
    ) -> None:
        with httpx.Client(
            base_url=serve(Service(caller.catalog, dialect=setting)), timeout=120
        ) as http:
            found = self.ask(
                http,
                urn,
                "/entities?action=search",
                {"input": "bernina", "entity": "dataset"},
                headers,
            )
            (name,) = self.ask(http, urn, "/entities/{0}", None, headers)["value"]
        (hit,) = found["value"]["entities"]
        assert (hit if spoken == "plain" else hit["entity"]) == urn
        assert name.startswith("com.vendor." if spoken == "plain" else "com.linkedin.")


@pytest.mark.parametrize("version", [None, "1.0.0", "2.0.0", "9.9.9", "nonsense"])
def test_every_version_of_the_protocol_is_served_the_same(
    caller: Caller, version: str | None
) -> None:
    urn = "urn:li:tag:protocols"
    caller.ingest(urn, "tagProperties", {"name": "p"})
    said = {} if version is None else {"X-RestLi-Protocol-Version": version}
    read = caller.get(f"/entitiesV2/{urn}", **said)
    assert read.json()["aspects"]["tagProperties"]["value"] == {"name": "p"}
    body = {"input": "p", "entity": "tag"}
    for path, asked in (("search", body), ("autocomplete", {"query": "p", "entity": "tag"})):
        default = caller.post(f"/entities?action={path}", asked)
        answer = caller.post(f"/entities?action={path}", asked, **said)
        assert answer.json() == default.json()
    again = {"proposal": caller.proposal(urn, "tagProperties", {"name": "p"})}
    assert caller.post("/aspects?action=ingestProposal", again, **said).json() == {"value": urn}


def test_every_endpoint_is_below_the_base_path_and_nowhere_else(
    catalog: CatalogEngine, serve: Callable[..., str]
) -> None:
    service = Service(catalog, base_path="/x/y")
    address = serve(service)
    with httpx.Client(timeout=120) as http:
        for endpoint in service.endpoints:
            path, _ = example_of(endpoint)
            # A method that nothing has tells a place that is there from one that is not.
            assert http.request("TRACE", f"{address}/x/y{path}").status_code == 405, path
            assert http.request("TRACE", f"{address}{path}").status_code == 404, path
        page = http.get(f"{address}/x/y/restli/docs")
        assert page.status_code == 200
        assert '"servers":[{"url":"/x/y"}]' in page.text
        described = http.get(f"{address}/x/y/openapi.json").json()
        assert described["servers"] == [{"url": "/x/y"}]
        body = {"query": "{ __typename }"}
        assert http.post(f"{address}/x/y/api/graphql", json=body).json()["data"]


DATAHUB = {"X-DataHub-Client-Mode": "INGESTION"}
REQUESTS = {"User-Agent": "python-requests/2.31.0", "X-RestLi-Protocol-Version": "2.0.0"}
JSON = {"Content-Type": "application/json"}


class TestRecognition:
    """Who is a DataHub client, when neither a header nor the server's setting says so."""

    @pytest.mark.parametrize(
        "headers",
        [
            {"User-Agent": "DataHub-Client/1.0 (cli; unset; 1.7.0) python-requests/2.32"},
            {"User-Agent": "python-requests/2.31.0", "X-DataHub-Py-Cli-Version": "0.14.1"},
            {"User-Agent": "DataHub-RestClient/0.15.0"},
            {"User-Agent": "acryl-spark-lineage/0.2.17"},
            REQUESTS | JSON,
        ],
    )
    def test_datahubs_clients_of_every_release_are_known(
        self, caller: Caller, dataset: str, headers: Any
    ) -> None:
        caller.ingest(dataset, "status", {"removed": False})
        read = caller.get(f"/aspects/{quote(dataset)}?aspect=status&version=0", **headers)
        assert list(read.json()["aspect"]) == ["com.linkedin.common.Status"]

    @pytest.mark.parametrize(
        "headers",
        [{}, REQUESTS, {"User-Agent": "python-requests/2.31.0"} | JSON, {"User-Agent": "curl/8"}],
    )
    def test_a_script_is_a_plain_caller(self, caller: Caller, dataset: str, headers: Any) -> None:
        caller.ingest(dataset, "status", {"removed": False})
        read = caller.get(f"/aspects/{quote(dataset)}?aspect=status&version=0", **headers)
        assert list(read.json()["aspect"]) == ["com.vendor.common.Status"]
        hidden = caller.proposal(dataset + "x", "status", {"removed": True})
        both = headers | JSON
        written = caller.post("/aspects?action=ingestProposal", {"proposal": hidden}, **both)
        assert written.status_code in (400, 404)


class TestWritesOfDataHubsCallers:
    """What DataHub takes and the specification refuses."""

    def test_a_change_that_names_its_run_is_a_connectors_whoever_sends_it(
        self, caller: Caller, dataset: str
    ) -> None:
        run = {"systemMetadata": {"runId": "sqlite-2024_01_01"}}
        caller.ingest(dataset, "status", {"removed": True}, **run)
        assert caller.value(dataset, "status") == {"removed": True}

    def test_an_entity_that_is_not_there_can_be_hidden(self, caller: Caller, dataset: str) -> None:
        hidden = {"proposal": caller.proposal(dataset, "status", {"removed": True})}
        refused = caller.post("/aspects?action=ingestProposal", hidden)
        assert refused.status_code == 404
        assert not caller.exists(dataset)
        answer = caller.post("/aspects?action=ingestProposal", hidden, **DATAHUB)
        assert answer.status_code == 200, answer.text
        assert caller.value(dataset, "status") == {"removed": True}
        assert caller.value(dataset, "datasetKey")["platform"] == "urn:li:dataPlatform:hive"
        assert caller.search(f'"{dataset.split(",")[1]}"')["numEntities"] == 0

    def test_a_snapshot_can_hide_an_entity_that_is_not_there(
        self, caller: Caller, dataset: str
    ) -> None:
        aspects = [{"com.linkedin.common.Status": {"removed": True}}]
        name = "com.linkedin.metadata.snapshot.DatasetSnapshot"
        body = {"entity": {"value": {name: {"urn": dataset, "aspects": aspects}}}}
        assert caller.post("/entities?action=ingest", body).status_code == 404
        assert caller.post("/entities?action=ingest", body, **DATAHUB).status_code == 200
        assert caller.value(dataset, "status") == {"removed": True}

    def test_a_key_that_disagrees_with_the_urn_is_kept_as_sent(self, caller: Caller) -> None:
        user, key = "urn:li:corpuser:jane@example.com", {"username": "Jane Doe"}
        report = "urn:li:dashboard:(powerbi,dashboards.1)"
        other = {"dashboardTool": "powerbi", "dashboardId": "powerbi.linkedin.com/dashboards/1"}
        proposals = [
            caller.proposal(user, "corpUserKey", key),
            caller.proposal(report, "dashboardKey", other),
        ]
        body = {"proposals": proposals}
        assert caller.post("/aspects?action=ingestProposalBatch", body).status_code == 422
        answer = caller.post("/aspects?action=ingestProposalBatch", body, **DATAHUB)
        assert answer.status_code == 200, answer.text
        assert caller.value(user, "corpUserKey") == key
        assert caller.value(report, "dashboardKey") == other

    def test_deleting_what_is_not_there_deletes_nothing(self, caller: Caller, dataset: str) -> None:
        assert caller.post("/entities?action=delete", {"urn": dataset}).status_code == 404
        bodies = ({"urn": dataset}, {"urn": dataset, "aspectName": "ownership"})
        for body, headers in product(bodies, (DATAHUB, REQUESTS | JSON)):
            answer = caller.post("/entities?action=delete", body, **headers)
            assert answer.status_code == 200
            assert answer.json()["value"] == {"urn": dataset, "rows": 0, "timeseriesRows": 0}


class TestBatches:
    """What becomes of a batch one element of which is bad."""

    GOOD, BAD = "urn:li:tag:batched-good", "urn:li:tag:batched-bad"

    def batch(self, caller: Any, name: str) -> list[dict[str, Any]]:
        unknown = f"urn:li:hologram:{name}"
        return [
            caller.proposal(f"{self.GOOD}-{name}", "tagProperties", {"name": "one"}),
            caller.proposal(f"{self.BAD}-{name}", "tagProperties", {"name": 5}),
            caller.proposal(unknown, "hologramInfo", {"name": "x"}),
            caller.proposal(f"{self.BAD}-{name}", "tagProperties", {"name": "x"}, "UPDATE"),
            caller.proposal(f"{self.GOOD}-{name}", "status", {"removed": False}),
        ]

    @pytest.mark.parametrize("headers", [DATAHUB, {"X-Catalog-All-Or-None": "false"}])
    def test_the_others_are_written_and_the_answer_names_what_was_refused(
        self, caller: Caller, headers: Any
    ) -> None:
        name = "-".join(headers)
        body = {"proposals": self.batch(caller, name)}
        answer = caller.post("/aspects?action=ingestProposalBatch", body, **headers)
        assert 400 <= answer.status_code < 500
        said = answer.json()["message"]
        assert said.startswith("3 of 5 were refused, the other 2 were written")
        assert all(f"proposals[{at}]" in said for at in (1, 2, 3))
        assert f"urn:li:hologram:{name}" in said
        assert caller.value(f"{self.GOOD}-{name}", "tagProperties") == {"name": "one"}
        assert caller.value(f"{self.GOOD}-{name}", "status") == {"removed": False}
        assert not caller.exists(f"{self.BAD}-{name}")

    def test_all_are_one_job_of_the_writer(self, caller: Caller) -> None:
        jobs = caller.catalog.commits.group_jobs

        def count() -> float:
            samples = (sample for metric in jobs.collect() for sample in metric.samples)
            return sum(sample.value for sample in samples if sample.name.endswith("_sum"))

        urns = [f"urn:li:tag:together-{at}" for at in range(100)]
        batch = [caller.proposal(urn, "tagProperties", {"name": "together"}) for urn in urns]
        before = count()
        path = "/aspects?action=ingestProposalBatch"
        assert caller.post(path, {"proposals": batch}, **DATAHUB).status_code == 200
        assert count() - before == 1
        assert all(map(caller.exists, urns))

    def test_changes_of_one_entity_stay_in_order_around_one_that_is_refused(
        self, caller: Caller
    ) -> None:
        urn, refused = "urn:li:tag:in-order", "urn:li:tag:in-order-refused"
        batch = [
            caller.proposal(urn, "tagProperties", {"name": str(number)}) for number in range(150)
        ]
        for at in (0, 20, 130):
            batch.insert(at, caller.proposal(refused, "tagProperties", {"name": "x"}, "UPDATE"))
        path = "/aspects?action=ingestProposalBatch"
        answer = caller.post(path, {"proposals": batch}, **DATAHUB)
        assert answer.json()["message"].startswith("3 of 153 were refused, the other 150")
        assert all(f"proposals[{at}] ({refused})" in answer.text for at in (0, 20, 130))
        assert caller.value(urn, "tagProperties") == {"name": "149"}

    @pytest.mark.parametrize("headers", [{}, DATAHUB | {"X-Catalog-All-Or-None": "true"}])
    def test_nothing_is_written_where_all_or_none_is_asked_for(
        self, caller: Caller, headers: Any
    ) -> None:
        name = f"none-{len(headers)}"
        body = {"proposals": self.batch(caller, name)}
        answer = caller.post("/aspects?action=ingestProposalBatch", body, **headers)
        assert answer.status_code == 422
        assert answer.json()["message"].startswith("proposals[1]")
        assert not caller.exists(f"{self.GOOD}-{name}")

    def test_snapshots_and_usage_are_taken_one_by_one_too(
        self, caller: Caller, dataset: str
    ) -> None:
        status = [{"com.linkedin.common.Status": {"removed": False}}]
        name = "com.linkedin.metadata.snapshot.DatasetSnapshot"
        entities = [
            {"value": {name: {"urn": urn, "aspects": status}}} for urn in (dataset, "urn:li:tag:x")
        ]
        answer = caller.post("/entities?action=batchIngest", {"entities": entities}, **DATAHUB)
        assert answer.status_code == 400
        assert "entities[1]" in answer.json()["message"]
        assert caller.value(dataset, "status") == {"removed": False}
        metrics = {"uniqueUserCount": 1}
        bucket = {"bucket": 1, "duration": "DAY", "resource": dataset, "metrics": metrics}
        buckets = [bucket | {"metrics": 7}, bucket]
        answer = caller.post("/usageStats?action=batchIngest", {"buckets": buckets}, **DATAHUB)
        assert answer.json()["message"].startswith("1 of 2 were refused")
        asked = {"urn": dataset, "entity": "dataset", "aspect": "datasetUsageStatistics"}
        found = caller.post("/aspects?action=getTimeseriesAspectValues", asked).json()["value"]
        assert [
            json.loads(one["aspect"]["value"])["timestampMillis"] for one in found["values"]
        ] == [1]

    def test_a_header_that_is_neither_true_nor_false_is_refused(self, caller: Caller) -> None:
        body: dict[str, Any] = {"proposals": []}
        headers = {"X-Catalog-All-Or-None": "maybe"}
        answer = caller.post("/aspects?action=ingestProposalBatch", body, **headers)
        assert answer.status_code == 400


class TestFieldsThatAreNotSearchable:
    """Plain callers are told, DataHub's go on."""

    FILTERS = (
        ({"condition": "EQUAL", "value": "x"}, 0),
        ({"condition": "EQUAL", "value": "x", "negated": True}, 2),
        ({"condition": "GREATER_THAN", "value": "3"}, 0),
        ({"condition": "EXISTS", "value": ""}, 0),
        ({"condition": "IS_NULL", "value": ""}, 2),
        ({"condition": "IS_NULL", "value": "", "negated": True}, 0),
    )
    DATAHUB: ClassVar = {"X-Catalog-Dialect": "datahub"}

    @pytest.fixture(autouse=True)
    def lakes(self, caller: Caller) -> None:
        for name in ("silsersee", "oeschinensee"):
            info = {"name": name, "description": "bergseewasser"}
            caller.ingest(hive(f"lakes.{name}"), "datasetProperties", info)

    @pytest.mark.parametrize(("criterion", "total"), FILTERS)
    def test_a_filter_has_no_values_to_find(
        self, caller: Caller, criterion: Any, total: Any
    ) -> None:
        narrowed = {"or": [{"and": [{"field": "hydrography", **criterion}]}]}
        asked = {"input": "bergseewasser", "start": 0, "count": 10, "filter": narrowed}
        for action in (
            {"action": "search", "entity": "dataset"},
            {"action": "searchAcrossEntities"},
            {"action": "scrollAcrossEntities"},
        ):
            path = f"/entities?action={action['action']}"
            body = asked | action
            assert caller.post(path, body).status_code == 400
            answer = caller.post(path, body, **self.DATAHUB)
            assert answer.status_code == 200, answer.text
            assert answer.json()["value"]["numEntities"] == total

    def test_a_filter_holds_for_completions_and_folders(self, caller: Caller) -> None:
        narrowed = {"or": [{"and": [{"field": "hydrography", "value": "x"}]}]}
        typed = {"query": "silser", "entity": "dataset", "limit": 5, "filter": narrowed}
        answer = caller.post("/entities?action=autocomplete", typed, **self.DATAHUB)
        assert answer.json()["value"]["suggestions"] == []
        asked = {"path": "/", "entity": "dataset", "start": 0, "limit": 5, "filter": narrowed}
        answer = caller.post("/entities?action=browse", asked, **self.DATAHUB)
        assert answer.json()["value"]["numElements"] == 0

    def test_a_sort_is_left_out(self, caller: Caller) -> None:
        body = {"input": "bergseewasser", "entity": "dataset", "start": 0, "count": 10}
        body["sortCriteria"] = [
            {"field": "hydrography", "order": "DESCENDING"},
            {"field": "name", "order": "DESCENDING"},
        ]
        assert caller.post("/entities?action=search", body).status_code == 400
        value = caller.post("/entities?action=search", body, **self.DATAHUB).json()["value"]
        assert value["metadata"]["urns"] == [hive("lakes.silsersee"), hive("lakes.oeschinensee")]

    @pytest.mark.parametrize(
        "operation",
        ["searchAcrossEntities", "scrollAcrossEntities", "searchAcrossLineage"],
    )
    def test_graphql_does_the_same(self, caller: Caller, operation: str) -> None:
        kind = operation[0].upper() + operation[1:] + "Input"
        document = f"query q($input: {kind}!) {{ found: {operation}(input: $input) {{ total }} }}"
        narrowed = [{"and": [{"field": "hydrography", "values": ["x"]}]}]
        asked: dict[str, Any] = {"query": "bergseewasser", "orFilters": narrowed}
        if operation == "searchAcrossLineage":
            asked |= {"urn": hive("lakes.silsersee"), "direction": "UPSTREAM"}
            asked["orFilters"][0]["and"].append({"field": "degree", "values": ["1"]})
        else:
            asked["sortInput"] = {
                "sortCriterion": {"field": "hydrography", "sortOrder": "ASCENDING"}
            }
        body = {"query": document, "variables": {"input": asked}}
        assert "errors" in caller.post("/api/graphql", body).json()
        answer = caller.post("/api/graphql", body, **self.DATAHUB).json()
        assert answer == {"data": {"found": {"total": 0}}, "extensions": {}}
