"""The wire itself: one shape of errors, limits, base paths, and the server's own faults."""

import asyncio
import gzip
import logging
import socket
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from starlette.applications import Starlette

from explorer.errors import Misuse
from explorer.metadata.registry import load_registry
from explorer.server import create_app
from explorer.server.app import Service
from explorer.server.catalog import CatalogEngine
from explorer.server.data_directory import open_store
from explorer.server.search.index import SearchIndex
from tests.server.conftest import Caller

URN = "urn:li:dataset:(urn:li:dataPlatform:hive,wire,PROD)"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("GET", "/nonsense", 404),
        ("GET", "/nonsense/deeper", 404),
        ("GET", "/entities", 405),
        ("DELETE", f"/entitiesV2/{URN}", 405),
        ("GET", "/api/graphql", 405),
        ("POST", "/health", 405),
        ("POST", "/entities?action=nonsense", 400),
        ("POST", "/entities", 400),
        ("POST", "/aspects?action=ingestProposal", 400),
        ("GET", "/entitiesV2/urn:li:dataset:x", 400),
        ("GET", "/entitiesV2/nonsense", 400),
        ("GET", f"/entitiesV2/urn:li:tag:{'x' * 600}", 400),
        ("GET", "/entitiesV2/urn:li:tag:%FF", 400),
        ("GET", f"/aspects/{URN}?aspect=status", 404),
    ],
)
def test_every_failure_has_the_one_shape(
    caller: Caller, method: str, path: str, status: int
) -> None:
    answer = caller.http.request(method, path)
    assert answer.status_code == status
    body = answer.json()
    assert set(body) == {"exceptionClass", "message", "status", "stackTrace"}
    assert body["status"] == status
    assert body["stackTrace"] == ""
    assert body["message"]
    assert answer.headers["x-restli-error-response"] == "true"


def test_a_wrong_method_is_told_which_would_do(caller: Caller) -> None:
    assert caller.http.put("/health").headers["allow"] == "GET"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff"])
def test_a_body_that_is_no_json_object_is_refused(caller: Caller, body: bytes) -> None:
    for path in ("/entities?action=search", "/api/graphql"):
        assert caller.http.post(path, content=body).status_code == 400


def test_a_body_needs_no_content_type_and_the_action_may_follow_a_slash(caller: Caller) -> None:
    body = b'{"urn": "urn:li:tag:none"}'
    headers = {"content-type": "application/x-www-form-urlencoded"}
    for given in ({}, headers):
        answer = caller.http.post("/entities/?action=exists", content=body, headers=given)
        assert answer.json() == {"value": False}


def test_a_body_over_the_limit_is_refused_and_the_next_call_goes_on(caller: Caller) -> None:
    body = b'{"urn": "' + b"x" * (16 * 1024 * 1024) + b'"}'
    assert caller.http.post("/entities?action=exists", content=body).status_code == 413
    chunks = (body[at : at + 65536] for at in range(0, len(body), 65536))
    assert caller.http.post("/entities?action=exists", content=chunks).status_code == 413
    assert caller.get("/health").status_code == 200


def test_a_body_just_under_the_limit_is_taken(caller: Caller) -> None:
    body = b'{"x": "' + b"x" * (15 * 1024 * 1024) + b'", "urn": "urn:li:tag:none"}'
    assert caller.http.post("/entities?action=exists", content=body).status_code == 200


@pytest.mark.parametrize("size", [1, 7, 5_000])
def test_a_packed_body_of_several_members_is_read_to_its_end(caller: Caller, size: int) -> None:
    text = b'{"urn": "urn:li:tag:none", "x": "' + bytes(range(97, 123)) * 1_000 + b'"}'
    parts = [text[at : at + size] for at in range(0, len(text), size)]
    packed = b"".join(gzip.compress(part, mtime=0) for part in [b"", *parts, b""])

    def status(body: bytes) -> int:
        headers = {"content-encoding": "gzip"}
        return caller.http.post(
            "/entities?action=exists", content=body, headers=headers
        ).status_code

    assert status(packed) == 200
    # The JSON ends with the second to last member; each of these is damaged after it.
    assert status(packed[:-1]) == 400
    assert status(packed + b"no member") == 400
    assert status(packed + gzip.compress(b"no JSON")) == 400


def test_packed_members_that_are_too_large_together_are_refused(caller: Caller) -> None:
    packed = gzip.compress(b" " * (9 << 20)) * 2
    headers = {"content-encoding": "gzip"}
    answer = caller.http.post("/entities?action=exists", content=packed, headers=headers)
    assert answer.status_code == 413


@pytest.mark.parametrize(
    ("path", "start", "end"),
    [
        ("/aspects?action=ingestProposalBatch", '{"proposals": [', "]}"),
        ("/entities?action=batchIngest", '{"entities": [', "]}"),
        ("/entities?action=search", '{"filter": [', "]}"),
        ("/api/graphql", '{"query": "{ __typename }", "variables": {"given": [', "]}}"),
        ("/openapi/v3/entity/dataset", "[", "]"),
        ("/openapi/v3/entity/dataset/batchGet", "[", "]"),
        ("/openapi/openlineage/api/v1/lineage/batch", "[", "]"),
        # The value of a proposal is JSON in a text.
        ("/aspects?action=ingestProposal", '{"proposal": {"aspect": {"value": "[', ']"}}}'),
    ],
)
def test_a_body_of_too_many_values_is_refused_before_it_is_parsed(
    caller: Caller, path: str, start: str, end: str
) -> None:
    body = f"{start}{','.join(['{},[],1'] * 250_001)}{end}".encode()
    headers = {"content-encoding": "gzip"}
    answer = caller.http.post(path, content=gzip.compress(body, 1), headers=headers)
    assert answer.status_code == 413
    assert "1,500,000 at most are read; send it in parts" in answer.json()["message"]


def test_pages_of_other_sites_and_of_other_ports_may_not_post(caller: Caller) -> None:
    body = {"urn": "urn:li:tag:none"}
    host, port = caller.http.base_url.host, caller.http.base_url.port
    assert port is not None
    for origin in (
        "https://evil.example",
        f"https://evil.example:{port}",
        f"http://{host}",
        f"http://{host}:{port - 1}",
        f"http://{host}:{port}0",
        f"http://{host}.evil.example:{port}",
        f"http://localhost:{port}",
        "null",
    ):
        foreign = caller.post("/entities?action=exists", body, Origin=origin)
        assert foreign.status_code == 403, origin
    own = f"http://{host}:{port}"
    assert caller.post("/entities?action=exists", body, Origin=own).status_code == 200


def test_pages_of_other_sites_may_not_delete(caller: Caller) -> None:
    tag = "urn:li:tag:deleted_by_a_page"
    caller.ingest(tag, "status", {"removed": False})
    path = f"/openapi/v3/entity/tag/{quote(tag, safe='')}"
    refused = caller.http.delete(path, headers={"Origin": "https://evil.example"})
    assert refused.status_code == 403
    assert caller.exists(tag)
    assert caller.http.delete(path).status_code == 200


def test_a_request_names_one_host(caller: Caller) -> None:
    url = caller.http.base_url
    hosts = f"Host: evil.example\r\nHost: {url.host}:{url.port}\r\n"
    with socket.create_connection((url.host, url.port)) as raw:
        raw.sendall(f"GET /health HTTP/1.1\r\n{hosts}Connection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: raw.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"several Host headers" in answer


def test_pages_of_other_sites_may_not_write_over_openapi(caller: Caller) -> None:
    body = [{"urn": "urn:li:tag:foreign", "status": {"value": {"removed": False}}}]
    written = caller.post("/openapi/v3/entity/tag", body, Origin="https://evil.example")
    assert written.status_code == 403
    read = caller.post("/openapi/v3/entity/tag/batchGet", body, Origin="https://evil.example")
    assert read.status_code == 403
    exists = caller.post("/entities?action=exists", {"urn": "urn:li:tag:foreign"})
    assert exists.json() == {"value": False}


def test_the_configuration_is_one_that_clients_accept(caller: Caller) -> None:
    caller.ingest("urn:li:tag:configured", "status", {"removed": False})
    config = caller.get("/config").json()
    assert config["noCode"] == "true"
    version = config["versions"]["acryldata/datahub"]["version"]
    # From here on agents are offered the tools that write.
    assert tuple(int(part) for part in version.lstrip("v").split(".")) >= (1, 4, 0)
    ours = config["catalogExplorer"]
    offered = {"columns", "conditionalEdits", "coverageTrend", "namesInFilters", "proposals"}
    offered |= {"stewardship"}
    assert set(ours) == {"version", "id", "sample", "entities"} | offered
    assert ours["id"] == caller.catalog.store.catalog_id()
    assert all(ours[name] is True for name in offered)
    assert ours["sample"] is False
    unlisted = caller.catalog.index.vocabulary.unlisted
    assert ours["entities"] == caller.catalog.store.count(other_than=unlisted) > 0


def test_health_is_an_empty_answer(caller: Caller) -> None:
    assert caller.get("/health/ready").status_code == 200
    answer = caller.get("/health")
    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize("header", [{}, {"X-RestLi-Protocol-Version": "1.0.0"}])
def test_any_protocol_version_is_served(caller: Caller, header: Any) -> None:
    assert caller.get(f"/entitiesV2/{URN}", **header).status_code == 200


def test_every_path_hangs_under_the_base_path(
    catalog: CatalogEngine, serve: Callable[[Service], str]
) -> None:
    address = serve(Service(catalog, base_path="/x/y/"))
    with httpx.Client(timeout=120) as http:
        assert http.get(f"{address}/x/y/health").status_code == 200
        assert http.get(f"{address}/x/y/entitiesV2/{URN}").json()["urn"] == URN
        assert http.post(f"{address}/x/y/api/graphql", json={"query": "{__typename}"}).is_success
        for path in ("/health", "/x/health", "/x/yhealth"):
            assert http.get(f"{address}{path}").status_code == 404


def test_a_server_setting_settles_the_dialect(
    catalog: CatalogEngine, serve: Callable[[Service], str]
) -> None:
    address = serve(Service(catalog, dialect="datahub"))
    with httpx.Client(timeout=120) as http:
        (name,) = http.get(f"{address}/entities/{URN}").json()["value"]
    assert name.startswith("com.linkedin.")


def test_a_fault_of_the_server_is_logged_and_answered_without_its_trace(
    catalog: CatalogEngine,
    serve: Callable[[Service], str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(*_given: object) -> None:
        raise RuntimeError("secret detail")

    address = serve(Service(catalog))
    monkeypatch.setattr(catalog.store, "aspects", fail)
    with httpx.Client(timeout=120) as http, caplog.at_level(logging.ERROR):
        answer = http.get(f"{address}/entitiesV2/{URN}")
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert "secret detail" in caplog.text


def test_two_requests_sent_at_once_on_one_connection_are_both_answered(caller: Caller) -> None:
    url = caller.http.base_url
    request = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
    with socket.create_connection((url.host, url.port)) as raw:
        raw.sendall(request * 2)
        seen = b""
        while seen.count(b"HTTP/1.1 200") < 2:
            seen += raw.recv(4096)


def test_the_application_can_be_called_in_process_and_is_the_only_one_of_its_store(
    tmp_path: Path,
) -> None:
    registry = load_registry()
    with closing(open_store(tmp_path)) as store, closing(SearchIndex(None, registry)) as index:
        app = create_app(store, index, registry, base_path="/api")
        with pytest.raises(Misuse, match="another application"):
            create_app(store, index, registry)

        async def read() -> httpx.Response:
            transport = httpx.ASGITransport(app=app)
            async with httpx.AsyncClient(
                transport=transport, base_url="http://here", timeout=120
            ) as http:
                return await http.get("/api/entitiesV2/urn:li:tag:a%2Fb%2525")

        assert isinstance(app, Starlette)
        assert asyncio.run(read()).json()["urn"] == "urn:li:tag:a/b%25"


def test_a_probe_gets_the_head_of_what_a_reader_would_get(caller: Caller) -> None:
    for path in ("/health", "/config"):
        probed, read = caller.http.head(path), caller.get(path)
        assert probed.status_code == read.status_code == 200
        assert probed.content == b""
        assert probed.headers["content-length"] == read.headers["content-length"]
    assert caller.http.head("/nothing").status_code == 404
