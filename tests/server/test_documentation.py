"""The documentation page: complete, at home everywhere, and with examples that work."""

import asyncio
import gzip
import json
import re
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from html import unescape
from html.parser import HTMLParser
from typing import Any

import httpx
import pytest

from explorer.server.app import Service
from explorer.server.catalog import CatalogEngine
from explorer.server.documentation import example_of, read_decisions
from explorer.server.graphql import GRAPHQL_PATH
from explorer.server.restli import EXAMPLE_URN
from explorer.server.store.sqlite import SqliteStore
from tests.server.conftest import Caller

# What the example of an endpoint needs to be there before it is sent.
ASPECTS = {
    "datasetProperties": {"description": "Users", "customProperties": {}},
    "ownership": {"owners": [], "lastModified": {"time": 0, "actor": "urn:li:corpuser:jdoe"}},
}
TAKING_AWAY = ("delete", "deleteReferences", "rollback")
STREAMED = "/changes/stream"


class Reader(HTMLParser):
    """Gathers the page's text, its anchors, where its links lead and whether its tags close."""

    VOID = frozenset({"meta", "link", "input"})

    def __init__(self, page: Any) -> None:
        super().__init__()
        self.text: list[str] = []
        self.places: list[Any] = []
        self.links: list[Any] = []
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: Any, attrs: Any) -> None:
        given = dict(attrs)
        self.places += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if "href" in given else []
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: Any) -> None:
        if tag in self.VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data: Any) -> None:
        self.text.append(data)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The page's text as it is served by a catalog of its own."""
    from explorer.metadata.registry import load_registry
    from explorer.server.data_directory import open_catalog
    from explorer.server.documentation import documentation_page

    catalog = open_catalog(tmp_path_factory.mktemp("docs"), load_registry())
    try:
        service = Service(catalog)
        executor = service.graphql.ready()
        page = documentation_page(service.endpoints, executor.schema, catalog.registry, "/metadata")
        yield page.decode(), service, catalog.registry, executor.schema
    finally:
        catalog.close()


def test_the_page_is_whole_html(made: Any) -> None:
    page = Reader(made[0])
    assert page.wrong == []
    assert page.open == []
    assert len(page.places) == len(set(page.places))


def test_every_link_leads_somewhere_on_the_page(made: Any) -> None:
    page = Reader(made[0])
    inner = {link[1:] for link in page.links if link.startswith("#")}
    assert inner - set(page.places) == set()


def test_the_page_lists_every_route_aspect_entity_relationship_and_decision(made: Any) -> None:
    text, service, registry, schema = made
    page = Reader(text)
    said = set(page.text)
    addresses = {one.title.partition(" ")[2] for one in service.endpoints}
    assert addresses - said == set()
    assert set(registry.aspects) - said == set()
    assert set(registry.entities) - said == set()
    assert set(registry.relationship_names) - said == set()
    assert {about for about, _ in read_decisions()} - said == set()
    assert set(schema.mutation_type.fields) - said == set()
    assert set(schema.query_type.fields) - said == set()


def test_the_page_names_every_field_of_every_aspect(made: Any) -> None:
    text, _, registry, _ = made
    for name, aspect in registry.aspects.items():
        begin = text.index(f'id="aspect-{name}"')
        section = text[begin : text.index("</details>", begin)]
        for field in registry.records[aspect.record].fields:
            assert f"<code>{field}</code>" in section, (name, field)


def test_deprecated_and_provisional_calls_are_marked(made: Any) -> None:
    text = unescape(made[0])
    for address, mark in (
        ("get-entities-item", "deprecated"),
        ("post-entities-ingest", "deprecated"),
        ("get-aspects-item", "to be replaced"),
    ):
        begin = text.index(f'id="{address}"')
        assert mark in text[begin : text.index("</summary>", begin)]


def test_nothing_is_loaded_from_anywhere(made: Any) -> None:
    text = made[0]
    assert re.findall(r"""(?:src|href)=["'](?!#|data:)""", text) == []
    assert "@import" not in text
    assert re.findall(r"\burl\(", text) == []


def test_the_page_is_served_packed_to_whoever_takes_it(caller: Caller) -> None:
    plain = caller.get("/restli/docs", **{"accept-encoding": "identity"})
    assert plain.status_code == 200
    assert plain.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in plain.headers["content-security-policy"]
    packed = caller.http.build_request("GET", "/restli/docs/", headers={"accept-encoding": "gzip"})
    answer = caller.http.send(packed, stream=True)
    raw = b"".join(answer.iter_raw())
    answer.close()
    assert gzip.decompress(raw) == plain.content


def test_every_endpoint_says_what_it_takes_and_gives(made: Any) -> None:
    for endpoint in made[1].endpoints:
        assert endpoint.summary, endpoint.title
        assert endpoint.gives, endpoint.title
        names = [(one.place, one.name) for one in endpoint.parameters]
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
            if sent.status_code >= 400:
                refused[endpoint.title] = sent.text[:200]
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
