"""A deployment's own entities and aspects, asked over the wire."""

import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from explorer.metadata.registry import load_registry
from explorer.server.app import Service
from explorer.server.data_directory import open_catalog

SHELF = "urn:li:warehouseShelf:north-7"


OWN = {
    "entities": {
        "warehouseShelf": {
            "key": "warehouseShelfKey",
            "aspects": ["shelfInfo", "shelfLoad", "status", "browsePaths", "ownership"],
        },
        "dataset": {"key": "", "aspects": ["shelfNote"]},
    },
    "aspects": {
        "warehouseShelfKey": {"record": "com.own.WarehouseShelfKey"},
        "shelfInfo": {
            "record": "com.own.ShelfInfo",
            "search": [
                {
                    "name": "label",
                    "kind": "TEXT_PARTIAL",
                    "path": "label",
                    "autocomplete": True,
                },
                {"name": "aisle", "kind": "KEYWORD", "path": "aisle", "facet": True},
            ],
            "relationships": [{"name": "HoldsBoxesOf", "path": "holds.*", "to": ["dataset"]}],
        },
        "shelfLoad": {"record": "com.own.ShelfLoad", "timeseries": True},
        "shelfNote": {
            "record": "com.own.ShelfNote",
            "search": [{"name": "shelfNoteText", "kind": "TEXT", "path": "note"}],
        },
    },
    "records": {
        "com.own.WarehouseShelfKey": {"fields": {"id": {"type": "string"}}},
        "com.own.ShelfInfo": {
            "fields": {
                "label": {"type": "string"},
                "aisle": {"type": "string?"},
                "holds": {"type": "array<urn>?"},
            }
        },
        "com.own.ShelfLoad": {
            "fields": {"timestampMillis": {"type": "long"}, "kilos": {"type": "int"}}
        },
        "com.own.ShelfNote": {"fields": {"note": {"type": "string"}}},
    },
}


def hive(name: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"


def one_criterion(**criterion: Any) -> dict[str, Any]:
    return {"or": [{"and": [criterion]}]}


def write(http: httpx.Client, urn: str, aspect: str, value: Any) -> httpx.Response:
    proposal = {
        "entityType": urn.split(":")[2],
        "entityUrn": urn,
        "changeType": "UPSERT",
        "aspectName": aspect,
        "aspect": {"value": json.dumps(value), "contentType": "application/json"},
    }
    return http.post("/aspects?action=ingestProposal", json={"proposal": proposal})


@pytest.fixture(scope="module")
def own(
    tmp_path_factory: pytest.TempPathFactory, serve: Callable[..., str]
) -> Iterator[httpx.Client]:
    """Calls a catalog that knows a deployment's own names, a shelf in it."""
    folder = tmp_path_factory.mktemp("own")
    file = folder / "own.json"
    file.write_text(json.dumps(OWN))
    (folder / "data").mkdir()
    catalog = open_catalog(folder / "data", load_registry(file))
    info = {"label": "Boxroom North", "aisle": "A3", "holds": [hive("own.boxes")]}
    with httpx.Client(base_url=serve(Service(catalog)), timeout=120) as http:
        for urn, aspect, value in (
            (SHELF, "shelfInfo", info),
            (SHELF, "shelfLoad", {"timestampMillis": 5, "kilos": 7}),
            (SHELF, "browsePaths", {"paths": ["/hall/one"]}),
            (hive("own.boxes"), "shelfNote", {"note": "quarterly"}),
        ):
            assert write(http, urn, aspect, value).status_code == 200
        yield http
    catalog.close()


class TestRegistryOfOnesOwn:
    """A deployment's own file gives entities and aspects that everything knows."""

    @staticmethod
    def ask(http: httpx.Client, action: str, **body: Any) -> Any:
        answer = http.post(f"/entities?action={action}", json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()["value"]

    def test_is_read_with_its_key_and_record(self, own: httpx.Client) -> None:
        aspects = own.get(f"/entitiesV2/{SHELF}").json()["aspects"]
        assert aspects["warehouseShelfKey"]["value"] == {"id": "north-7"}
        assert aspects["shelfInfo"]["value"]["label"] == "Boxroom North"
        one = own.get(f"/aspects/{SHELF}?aspect=shelfInfo&version=0").json()
        assert list(one["aspect"]) == ["com.own.ShelfInfo"]
        body = {"urn": SHELF, "entity": "warehouseShelf", "aspect": "shelfLoad"}
        answer = own.post("/aspects?action=getTimeseriesAspectValues", json=body).json()
        ((only),) = answer["value"]["values"]
        assert json.loads(only["aspect"]["value"]) == {"timestampMillis": 5, "kilos": 7}

    def test_is_held_against_its_own_records(self, own: httpx.Client) -> None:
        answer = write(own, SHELF, "shelfInfo", {"label": 5})
        assert answer.status_code == 422
        assert "shelfInfo.label" in answer.json()["message"]
        assert write(own, SHELF, "datasetProperties", {}).status_code == 422

    @pytest.mark.parametrize("text", ["boxroom", "aisle:A3", "label:boxroom*"])
    def test_is_found_by_its_own_fields(self, own: httpx.Client, text: str) -> None:
        found = self.ask(own, "search", input=text, entity="warehouseShelf", start=0, count=5)
        assert found["entities"] == [SHELF]
        facets = {one["name"]: one for one in found["metadata"]["searchResultMetadatas"]}
        assert facets["aisle"]["aggregations"] == {"A3": 1}

    def test_is_filtered_completed_and_browsed(self, own: httpx.Client) -> None:
        filter = one_criterion(field="aisle", value="A4", condition="EQUAL")
        asked = {"entity": "warehouseShelf", "start": 0}
        assert not self.ask(own, "search", input="*", filter=filter, **asked)["entities"]
        suggested = self.ask(own, "autocomplete", query="boxr", limit=5, **asked)
        assert suggested["suggestions"] == ["Boxroom North"]
        hall = self.ask(own, "browse", path="/hall", limit=5, **asked)
        assert hall["groups"] == [{"name": "one", "count": 1}]
        room = self.ask(own, "browse", path="/hall/one", limit=5, **asked)
        assert [one["urn"] for one in room["entities"]] == [SHELF]

    def test_is_related_both_ways_by_its_own_name(self, own: httpx.Client) -> None:
        boxes = hive("own.boxes")
        for urn, direction, other in (
            (SHELF, "OUTGOING", boxes),
            (boxes, "INCOMING", SHELF),
        ):
            path = f"/relationships?direction={direction}&types=HoldsBoxesOf&urn={urn}"
            assert own.get(path).json()["entities"] == [other]

    def test_adds_an_aspect_to_an_entity_that_ships(self, own: httpx.Client) -> None:
        boxes = hive("own.boxes")
        aspects = own.get(f"/entitiesV2/{quote(boxes, safe='')}").json()["aspects"]
        assert aspects["shelfNote"]["value"] == {"note": "quarterly"}
        assert aspects["datasetKey"]["value"]["name"] == "own.boxes"
        found = self.ask(own, "search", input="quarterly", entity="dataset", start=0, count=5)
        assert found["entities"] == [boxes]

    def test_is_on_the_documentation_page(self, own: httpx.Client) -> None:
        page = own.get("/restli/docs").text
        for name in ("warehouseShelf", "shelfInfo", "shelfLoad", "shelfNote", "HoldsBoxesOf"):
            assert f'"{name}"' in page

    def test_is_described(self, own: httpx.Client) -> None:
        description = own.get("/openapi.json").json()
        assert description["x-entities"]["warehouseShelf"]["urn"] == "urn:li:warehouseShelf:<id>"
        properties = description["components"]["schemas"]["com.own.ShelfInfo"]["properties"]
        assert properties["label"] == {"type": "string"}
        assert properties["holds"]["type"] == "array"
