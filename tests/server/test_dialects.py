"""The two dialects, the versions of the protocol, the base path, and what is deprecated."""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from explorer.server.docs.requests import example_of, title_of
from explorer.server.service import Service

DEPRECATED = {
    "POST /entities?action=ingest",
    "POST /entities?action=batchIngest",
    "POST /usageStats?action=batchIngest",
    "GET /entities/<urn>",
}


def hive(name: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"


def test_the_deprecated_calls_and_no_other_say_so_in_a_header(caller):
    service = Service(caller.catalog)
    assert {
        title_of(one) for one in service.endpoints.all if one.standing == "deprecated"
    } == DEPRECATED
    for endpoint in service.endpoints.all:
        if endpoint.method == "GET" and endpoint.path != "/changes/stream":
            path, _ = example_of(endpoint)
            answer = caller.get(path, accept="application/json")
            assert ("deprecation" in answer.headers) == (title_of(endpoint) in DEPRECATED), path
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
    def urn(self, caller) -> str:
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

    def test_differ_only_where_they_must(self, caller, urn):
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
        self, caller, serve: Callable[[Service], str], urn, setting, headers, spoken
    ):
        with httpx.Client(base_url=serve(Service(caller.catalog, dialect=setting))) as http:
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
def test_every_version_of_the_protocol_is_served_the_same(caller, version):
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


def test_every_endpoint_is_below_the_base_path_and_nowhere_else(catalog, serve):
    service = Service(catalog, base_path="/x/y")
    address = serve(service)
    with httpx.Client(timeout=30) as http:
        for endpoint in service.endpoints.all:
            path, _ = example_of(endpoint)
            # A method that nothing has tells a place that is there from one that is not.
            assert http.request("TRACE", f"{address}/x/y{path}").status_code == 405, path
            assert http.request("TRACE", f"{address}{path}").status_code == 404, path
        page = http.get(f"{address}/x/y/restli/docs")
        assert page.status_code == 200
        assert "<code>/x/y</code>" in page.text
        body = {"query": "{ __typename }"}
        assert http.post(f"{address}/x/y/api/graphql", json=body).json()["data"]
