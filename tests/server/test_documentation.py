"""The OpenAPI description and the page that shows it: complete, valid, and with examples that
work."""

import asyncio
import gzip
import json
import re
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

import httpx
import pytest
from graphql import GraphQLSchema
from jsonschema import validate
from openapi_spec_validator import OpenAPIV31SpecValidator

from explorer.metadata.registry import Registry, load_registry
from explorer.sample import sample_proposals
from explorer.server import documentation
from explorer.server.app import Service
from explorer.server.authentication import OPEN_PATHS
from explorer.server.catalog import CatalogEngine
from explorer.server.data_directory import open_catalog
from explorer.server.documentation import describe, render_page
from explorer.server.graphql import GRAPHQL_PATH
from explorer.server.restli import EXAMPLE_URN, Endpoint, routes
from explorer.server.store.sqlite import SqliteStore
from tests.server.conftest import Caller
from tests.server.examples import example_of

# What the example of an endpoint needs to be there before it is sent.
ASPECTS = {
    "datasetProperties": {"description": "Users", "customProperties": {}},
    "ownership": {"owners": [], "lastModified": {"time": 0, "actor": "urn:li:corpuser:jdoe"}},
}
TAKING_AWAY = ("delete", "deleteReferences", "rollback")
STREAMED = "/changes/stream"


def find_operation(description: Any, endpoint: Endpoint) -> Any:
    """The operation of an endpoint in a description."""
    key = "".join(f"/{{{one.name}}}" for one in endpoint.parameters if one.place == "path")
    action = f"?action={endpoint.action}" if endpoint.action else ""
    return description["paths"][endpoint.path + key + action][endpoint.method.lower()]


@pytest.fixture(scope="module")
def described(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, bytes, Service]]:
    """The description of a service with a base path, as JSON and as bytes, and the service."""
    catalog = open_catalog(tmp_path_factory.mktemp("docs"), load_registry())
    try:
        service = Service(catalog)
        schema = service.graphql.ready().schema
        description = describe(service.endpoints, schema, catalog.registry, "/metadata")
        yield json.loads(description), description, service
    finally:
        catalog.close()


def test_the_description_is_valid_openapi(described: Any) -> None:
    OpenAPIV31SpecValidator(described[0]).validate()


def test_every_route_of_the_application_is_described(described: Any) -> None:
    description, _, service = described
    addresses = {
        (path.partition("?")[0].partition("/{")[0], "/{" in path, method.upper())
        for path, operations in description["paths"].items()
        for method in operations
    }
    served = set()
    for route in routes(service.endpoints):
        path, key, _ = route.path.partition("/{key")
        served |= {
            (path.removesuffix("{end:slashes}"), bool(key), endpoint.method)
            for endpoint in route.app._endpoints.values()  # type: ignore[attr-defined]
        }
    assert addresses == served
    actions = {path for path in description["paths"] if "?action=" in path}
    assert actions == {
        f"{endpoint.path}?action={endpoint.action}"
        for endpoint in service.endpoints
        if endpoint.action
    }


def test_what_tokens_are_needed_for_is_described(described: Any) -> None:
    description, _, service = described
    assert description["components"]["securitySchemes"]["token"]["scheme"] == "bearer"
    for endpoint in service.endpoints:
        operation = find_operation(description, endpoint)
        expected = [] if endpoint.path in OPEN_PATHS else [{"token": [endpoint.role]}]
        assert operation["security"] == expected, endpoint.title


def test_deprecated_and_provisional_calls_are_marked(described: Any) -> None:
    description, _, service = described
    standings = {}
    for endpoint in service.endpoints:
        operation = find_operation(description, endpoint)
        assert operation["deprecated"] == (operation["x-standing"] == "deprecated")
        standings[endpoint.title] = operation["x-standing"]
    assert standings["GET /entities/<urn>"] == "deprecated"
    assert standings["POST /entities?action=ingest"] == "deprecated"
    assert standings["GET /aspects/<urn>"] == "to be replaced"


def test_every_example_fits_the_schema_beside_it(described: Any) -> None:
    for path, operations in described[0]["paths"].items():
        for operation in operations.values():
            for parameter in operation["parameters"]:
                if "example" in parameter:
                    validate(parameter["example"], parameter["schema"])
            for content in operation.get("requestBody", {}).get("content", {}).values():
                validate(content["example"], content["schema"])
                assert content["schema"].keys() >= {"properties", "required"}, path


def test_the_schemas_describe_the_values_of_the_sample(described: Any) -> None:
    description = described[0]
    proposals = {proposal.aspect: proposal for proposal in sample_proposals(date(2026, 1, 2))}
    assert len(proposals) > 30
    for aspect, proposal in proposals.items():
        record = description["x-aspects"][aspect]["record"]
        reference = {"$ref": f"#/components/schemas/{record}"}
        validate(proposal.value, reference | {"components": description["components"]})


def test_the_description_names_the_whole_model_and_graphql(described: Any) -> None:
    description, _, service = described
    registry = service.catalog.registry
    schema = service.graphql.ready().schema
    assert description["x-entities"].keys() == registry.entities.keys()
    assert {
        relationship["name"]
        for aspect in description["x-aspects"].values()
        for relationship in aspect.get("relationships", ())
    } == set(registry.relationship_names)
    for name, aspect in registry.aspects.items():
        assert description["x-aspects"][name]["record"] == aspect.record
        properties = description["components"]["schemas"][aspect.record].get("properties", {})
        assert properties.keys() == registry.records[aspect.record].fields.keys(), name
    assert {(field["kind"], field["name"]) for field in description["x-graphql"]} == {
        *(("query", name) for name in schema.query_type.fields),
        *(("mutation", name) for name in schema.mutation_type.fields),
    }


def test_the_description_has_every_decision(described: Any) -> None:
    path = Path(documentation.__file__).with_name("docs") / "decisions.md"
    headings = re.findall(r"^## (.+)$", path.read_text("utf-8"), re.MULTILINE)
    assert len(headings) > 50
    assert [about for about, _ in described[0]["x-decisions"]] == headings
    assert all(decided for _, decided in described[0]["x-decisions"])


def test_the_page_holds_the_description_and_loads_nothing(described: Any) -> None:
    page = render_page(described[1]).decode()
    [held] = re.findall(r'<script id="description" type="application/json">(.*?)</script>', page)
    assert json.loads(held) == described[0]
    assert re.findall(r"""(?:src|href)=["'](?!#|data:)""", page) == []
    assert "@import" not in page
    assert re.findall(r"\burl\(", page) == []


def test_a_text_of_the_description_cannot_end_the_script_that_holds_it() -> None:
    endpoint = Endpoint("GET", "/x", "</script><script>alert(1)</script>", "reader")
    page = render_page(describe([endpoint], GraphQLSchema(), Registry({}, {}, {}), "")).decode()
    assert page.count("</script>") == 2
    assert "alert(1)" in page


@pytest.mark.parametrize(
    ("path", "media_type"),
    [("/restli/docs", "text/html; charset=utf-8"), ("/openapi.json", "application/json")],
)
def test_page_and_description_are_served_packed_to_whoever_takes_it(
    caller: Caller, path: str, media_type: str
) -> None:
    plain = caller.get(path, **{"accept-encoding": "identity"})
    assert plain.status_code == 200
    assert plain.headers["content-type"] == media_type
    assert "default-src 'none'" in plain.headers["content-security-policy"]
    packed = caller.http.build_request("GET", f"{path}/", headers={"accept-encoding": "gzip"})
    answer = caller.http.send(packed, stream=True)
    raw = b"".join(answer.iter_raw())
    answer.close()
    assert gzip.decompress(raw) == plain.content


def test_every_endpoint_says_what_it_takes_and_gives(described: Any) -> None:
    for endpoint in described[2].endpoints:
        assert endpoint.summary, endpoint.title
        assert endpoint.gives, endpoint.title
        names = [(parameter.place, parameter.name) for parameter in endpoint.parameters]
        assert len(names) == len(set(names)), endpoint.title


# Each of its fields reads the store in its own way.
READING = """
query ($urn: String!) {
  me { corpUser { exists } }
  entity(urn: $urn) { ... on Dataset { browsePathV2 { path { name } } } }
  entityExists(urn: $urn)
  globalViewsSettings { defaultView }
  browsePaths(input: { type: DATASET, urn: $urn }) { path }
  dataset(urn: $urn) {
    schemaMetadata(version: 1) { name }
    platform { name }
    relationships(input: { types: [], direction: OUTGOING, start: 0, count: 1 }) { total }
  }
  searchAcrossEntities(input: {
    query: "*", orFilters: [{ and: [
      { field: "domains", values: ["urn:li:domain:any"], condition: DESCENDANTS_INCL }
    ] }]
  }) { searchResults { entity { ... on Dataset { name } } } }
}
"""
WRITING = """
mutation ($urn: String!) {
  updateDataset(urn: $urn, input: { editableProperties: { description: "x" } }) { name }
  createDomain(input: { id: "one", name: "One" })
}
"""


def send_examples(service: Service, address: str) -> dict[str, str]:
    """Send the example of every endpoint to a service; return what was refused."""
    refused = {}
    with httpx.Client(base_url=address, timeout=120) as http:
        for aspect, value in ASPECTS.items():
            envelope = {"value": json.dumps(value), "contentType": "application/json"}
            proposal = {
                "entityType": "dataset",
                "entityUrn": EXAMPLE_URN,
                "changeType": "UPSERT",
                "aspectName": aspect,
                "aspect": envelope,
            }
            http.post("/aspects?action=ingestProposal", json={"proposal": proposal})
        # Those that take away come last.
        for endpoint in sorted(service.endpoints, key=lambda one: one.action in TAKING_AWAY):
            if endpoint.path == STREAMED:
                continue
            path, body = example_of(endpoint)
            given = {"content-type": "application/json"}
            sent = http.request(endpoint.method, path, content=body, headers=given)
            media_type = sent.headers["content-type"].partition(";")[0]
            if sent.status_code >= 400 or media_type != endpoint.media_type:
                refused[endpoint.title] = f"{media_type} {sent.text[:200]}"
            if endpoint.path == GRAPHQL_PATH:
                for document in (READING, WRITING):
                    asked = {"query": document, "variables": {"urn": EXAMPLE_URN}}
                    if "errors" in (sent := http.post(path, json=asked)).json():
                        refused[document] = sent.text
    return refused


def test_every_example_is_answered(
    fresh: Callable[[], CatalogEngine], serve: Callable[..., str]
) -> None:
    service = Service(fresh())
    assert send_examples(service, serve(service)) == {}


def test_no_example_reads_a_remote_store_on_the_event_loop_or_where_searches_run(
    fresh: Callable[[], CatalogEngine], serve: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    in_the_way = []

    def watch(read: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*given: Any, **named: Any) -> Any:
            with suppress(RuntimeError):
                if not threading.current_thread().name.startswith("catalog-reader"):
                    asyncio.get_running_loop()
                in_the_way.append("".join(traceback.format_stack(limit=6)))
            return read(*given, **named)

        return watched

    monkeypatch.setattr(SqliteStore, "is_local", False, raising=False)
    for name in ("_reading", "_snapshot"):
        monkeypatch.setattr(SqliteStore, name, watch(getattr(SqliteStore, name)))
    service = Service(fresh())
    assert send_examples(service, serve(service)) == {}
    assert in_the_way == []
