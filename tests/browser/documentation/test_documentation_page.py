"""The documentation page: what it draws of the description, and the requests that it sends."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from explorer.metadata.registry import load_registry
from explorer.server.app import Service
from explorer.server.data_directory import open_catalog
from explorer.server.process import ConnectionLimits
from tests.server.conftest import Site

DATASET = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders (old)/a,PROD)"


@pytest.fixture(scope="module")
def page(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The page of a service with a base path and one dataset; with `problems`, what went wrong, and
    `description`."""
    catalog = open_catalog(tmp_path_factory.mktemp("docs"), load_registry())
    site = Site(Service(catalog, base_path="/metadata"), ConnectionLimits())
    base = f"{site.address}/metadata"
    proposal = {
        "entityType": "dataset",
        "entityUrn": DATASET,
        "changeType": "UPSERT",
        "aspectName": "status",
        "aspect": {"value": '{"removed": false}', "contentType": "application/json"},
    }
    httpx.post(f"{base}/aspects?action=ingestProposal", json={"proposal": proposal})
    context = browser.new_context()
    tab = context.new_page()
    tab.problems = []
    tab.on("pageerror", lambda error: tab.problems.append(str(error)))
    tab.on(
        "request",
        lambda request: request.url.startswith((base, "data:")) or tab.problems.append(request.url),
    )
    tab.description = httpx.get(f"{base}/openapi.json").json()
    tab.goto(f"{base}/restli/docs/")
    tab.wait_for_selector("#post-entities-search .trial .send", state="attached")
    yield tab
    assert tab.problems == []
    context.close()
    site.stop()
    catalog.close()


def test_it_shows_every_address_name_and_decision(page: Any) -> None:
    description = page.description
    names = set(page.locator("summary .address, summary code, dt").all_text_contents())
    assert description["paths"].keys() - names == set()
    assert description["x-entities"].keys() - names == set()
    assert description["x-aspects"].keys() - names == set()
    assert {field["name"] for field in description["x-graphql"]} - names == set()
    assert {about for about, _ in description["x-decisions"]} - names == set()
    fields_by_aspect = page.evaluate(
        """Object.fromEntries([...document.querySelectorAll("[id^=aspect-]")].map((entry) => [
             entry.id.slice("aspect-".length),
             [...entry.querySelectorAll("td:first-child code")].map((field) => field.textContent),
           ]))"""
    )
    for name, aspect in description["x-aspects"].items():
        fields = description["components"]["schemas"][aspect["record"]].get("properties", {})
        assert fields.keys() - set(fields_by_aspect[name]) == set(), name
    assert page.locator("#get-entities-item summary .standing").text_content() == "deprecated"
    assert "integer" in page.locator("#get-versions-item table").text_content()


def test_every_link_leads_somewhere_on_the_page(page: Any) -> None:
    script = "[...document.querySelectorAll('a')].map((link) => link.getAttribute('href'))"
    links = set(page.evaluate(script))
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((part) => part.id)")
    assert len(ids) == len(set(ids))
    assert links - {f"#{name}" for name in ids} == {"/metadata/openapi.json"}


def test_an_example_speaks_of_a_dataset_of_this_catalog_and_is_answered(page: Any) -> None:
    page.evaluate("location.hash = '#get-entitiesV2-item'")
    entry = page.locator("#get-entitiesV2-item")
    entry.locator(".send").click()
    entry.locator(".answer").wait_for()
    assert entry.locator(".outcome").text_content().startswith("200 OK in ")
    assert json.loads(entry.locator(".answer").text_content())["urn"] == DATASET


def test_a_graphql_document_is_edited_and_answered(page: Any) -> None:
    page.evaluate("location.hash = '#post-api-graphql'")
    entry = page.locator("#post-api-graphql")
    entry.get_by_label("Document").fill("query ($urn: String!) { dataset(urn: $urn) { urn } }")
    entry.locator(".send").click()
    entry.locator(".answer").wait_for()
    answer = json.loads(entry.locator(".answer").text_content())
    assert answer["data"] == {"dataset": {"urn": DATASET}}


def test_a_refused_request_shows_the_message_of_the_service(page: Any) -> None:
    page.evaluate("location.hash = '#get-entitiesV2'")
    entry = page.locator("#get-entitiesV2")
    entry.get_by_label("Address").fill("/entitiesV2?ids=List(nonsense)")
    entry.locator(".send").click()
    entry.locator(".answer").wait_for()
    assert entry.locator(".outcome.failed").text_content().startswith("400 ")
    assert "nonsense" in json.loads(entry.locator(".answer").text_content())["message"]


def test_names_are_found(page: Any) -> None:
    page.keyboard.press("Escape")
    page.get_by_placeholder("Find a name").fill("globaltags")
    assert page.locator("#aspect-globalTags").is_visible()
    assert not page.locator("#aspect-ownership").is_visible()
    assert page.locator("#count").text_content().startswith("1 of ")
    page.get_by_placeholder("Find a name").fill("")
    assert page.locator("#aspect-ownership").is_visible()
