"""A catalog proves that it agrees with itself, and says where it does not."""

import json
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import httpx
import pytest

from explorer.metadata.proposal import Proposal
from explorer.metadata.registry import load_registry
from explorer.metadata.urn import Urn
from explorer.sample import sample_proposals
from explorer.server.app import Service
from explorer.server.catalog import CatalogEngine
from explorer.server.consistency import Finding, check, check_directory
from explorer.server.data_directory import open_catalog
from explorer.server.search.document import Document
from explorer.server.search.result import IndexResult, SortedIndexResult
from explorer.server.store import SurveyedStore, Transaction

ORDERS = Urn.dataset("hive", "shop.orders")
USERS = Urn.dataset("hive", "shop.users")
SCHEMA_STAMP = {"time": 1, "actor": "urn:li:corpuser:jdoe"}


def write(
    catalog: CatalogEngine, urn: Urn, aspect: str, value: Any, run: str | None = None
) -> None:
    system = {"runId": run} if run else None
    checked = catalog.intake.check(Proposal(urn, aspect, value, "UPSERT", system))
    catalog.store.write(lambda tx: catalog.intake.apply(tx, checked, 7)).result()


def fill(catalog: CatalogEngine) -> None:
    """Two datasets with every kind of thing that is derived."""
    for text in ("first", "second", "third"):
        write(catalog, ORDERS, "datasetProperties", {"description": text})
    upstream = {"dataset": str(USERS), "type": "TRANSFORMED", "auditStamp": SCHEMA_STAMP}
    write(catalog, ORDERS, "upstreamLineage", {"upstreams": [upstream]})
    write(catalog, USERS, "datasetProperties", {"description": "people"}, run="nightly")
    for at in (1_000, 2_000):
        usage = {"timestampMillis": at, "totalSqlQueries": at}
        write(catalog, ORDERS, "datasetUsageStatistics", usage)


def found(catalog: CatalogEngine) -> list[Finding]:
    return check(cast(SurveyedStore, catalog.store), catalog.index, catalog.registry)


def test_a_catalog_that_was_written_to_in_every_way_is_consistent(
    fresh: Callable[[], CatalogEngine],
) -> None:
    catalog = fresh()
    fill(catalog)
    write(catalog, Urn.of("dataPlatform", "hive"), "dataPlatformInfo", PLATFORM)
    write(catalog, USERS, "status", {"removed": True})
    assert found(catalog) == []
    catalog.index.flush()
    assert found(catalog) == []
    assert found(fresh()) == []


def test_the_sample_is_consistent(fresh: Callable[[], CatalogEngine]) -> None:
    catalog = fresh()
    catalog.seed(lambda: sample_proposals(date(2026, 1, 31)))
    assert found(catalog) == []


@pytest.mark.parametrize("second", ["table", "TABLE", "Table"])
def test_values_that_differ_in_case_only_are_counted_together(
    fresh: Callable[[], CatalogEngine], second: str
) -> None:
    catalog = fresh()
    write(catalog, ORDERS, "subTypes", {"typeNames": ["Table", "view"]})
    write(catalog, USERS, "subTypes", {"typeNames": [second, "View", "view"]})
    catalog.index.flush()
    assert found(catalog) == []


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a catalog that has been filled and closed."""
    directory = tmp_path_factory.mktemp("filled") / "data"
    directory.mkdir()
    catalog = open_catalog(directory, load_registry())
    fill(catalog)
    catalog.close()
    return directory


PLATFORM = {"name": "hive", "type": "OTHERS", "datasetNameDelimiter": "_"}
_OF_ORDERS = f"(SELECT id FROM urns WHERE urn = '{ORDERS}')"


@pytest.mark.parametrize(
    ("corruption", "part", "words"),
    [
        ("DELETE FROM edges", "edges", "is missing"),
        ("UPDATE edges SET flow = 2", "edges", "flow 2"),
        ("DELETE FROM urns WHERE urn LIKE '%users%'", "edges", "to None"),
        ("UPDATE aspects SET superseded = 9 WHERE superseded = 2", "versions", "9 is recorded"),
        ("DELETE FROM versions WHERE version = 1", "versions", "only 1 of its versions"),
        (
            f"DELETE FROM aspects WHERE name = 'datasetProperties' AND entity = {_OF_ORDERS}",
            "versions",
            "no latest",
        ),
        ("DELETE FROM log WHERE offset = 3", "log", "the row before it is 2"),
        (
            "DELETE FROM log WHERE offset = (SELECT max(offset) FROM log)",
            "points",
            "the change log does not have it",
        ),
        (
            "UPDATE log SET before = NULL WHERE aspect = 'datasetProperties'",
            "log",
            "is not the one in the earlier rows",
        ),
        (
            'UPDATE aspects SET value = \'{"description":"x"}\' WHERE superseded = 2',
            "log",
            "differs from the last value in the change log",
        ),
        (
            "DELETE FROM aspects WHERE name = 'upstreamLineage'",
            "log",
            "in the change log, but it is not stored",
        ),
        ("DELETE FROM aspects WHERE name = 'datasetKey'", "entities", "key aspect"),
        ("UPDATE aspects SET run = NULL", "entities", "stored under the run"),
        ("UPDATE urns SET live = 0", "entities", "does not exist with"),
        ("INSERT INTO urns (urn, type, live) VALUES ('urn:li:tag:x', 'tag', 1)", "entities", "0"),
        ("UPDATE urns SET type = 'chart'", "entities", "the entity type chart"),
        ("UPDATE folders SET entities = entities + 1 WHERE key = 'shop'", "browse", "stored count"),
        ("DELETE FROM folders WHERE key = 'shop'", "browse", "is missing"),
        ("DELETE FROM placements", "browse", "not listed"),
        ("UPDATE placements SET name = 'other'", "browse", "listed as other"),
        ("DELETE FROM leaves", "browse", "recorded wrongly"),
        ("INSERT INTO meta VALUES ('note.delimiter.hive', '_')", "browse", "not belong"),
        ("DELETE FROM points WHERE at_millis = 1000", "points", "not stored"),
        ("UPDATE points SET at_millis = 5", "points", "a different time"),
        (
            "UPDATE points SET value = '{\"timestampMillis\":1000}'",
            "points",
            "the change log does not have it",
        ),
    ],
)
def test_a_database_that_was_tampered_with_is_found_out(
    tmp_path: Path, filled: Path, corruption: str, part: str, words: str
) -> None:
    shutil.copytree(filled, tmp_path / "data")
    with sqlite3.connect(tmp_path / "data" / "catalog.db") as database:
        if "at_millis = 5" in corruption:
            database.execute("DELETE FROM points WHERE at_millis = 1000")
        assert database.execute(corruption).rowcount
    database.close()
    findings = check_directory(tmp_path / "data")
    assert any(one.part == part and words in one.problem for one in findings), findings


@pytest.mark.parametrize("flushed", [False, True])
def test_a_search_index_that_differs_is_found_out(
    fresh: Callable[[], CatalogEngine], *, flushed: bool
) -> None:
    catalog = fresh()
    fill(catalog)
    stranger = Document("urn:li:tag:x", "tag", "x", removed=False, fields={})
    changed = Document(str(USERS), "dataset", "users", removed=True, fields={})
    catalog.index.apply(99, [stranger, changed], [str(ORDERS)])
    if flushed:
        catalog.index.flush()
    findings = found(catalog)
    assert {one.part for one in findings} == {"search"}
    expected = {str(USERS), str(ORDERS), "urn:li:tag:x"}
    assert expected <= {one.subject for one in findings}
    ahead = [one for one in findings if "the log ends at" in one.problem]
    assert bool(ahead) == flushed


def test_versions_taken_back_leave_holes_that_are_no_fault(
    fresh: Callable[[], CatalogEngine],
) -> None:
    catalog = fresh()
    for run in ("a", "b", "c", "b"):
        write(catalog, ORDERS, "datasetProperties", {"description": f"{run} wrote"}, run=run)
        write(catalog, ORDERS, "datasetProperties", {"description": f"{run} again"}, run=run)
    write(catalog, ORDERS, "datasetProperties", {"description": "last"})

    def remove(transaction: Transaction) -> None:
        for version in (3, 4, 7, 8):
            transaction.remove_version(str(ORDERS), "datasetProperties", version, (), 1, "x")

    catalog.store.write(remove).result()
    assert found(catalog) == []
    newest = catalog.store.aspect(str(ORDERS), "datasetProperties", -1)
    before = catalog.store.aspect(str(ORDERS), "datasetProperties", -3)
    assert newest is not None
    assert (newest.version, json.loads(newest.value)["description"]) == (6, "c again")
    assert before is not None
    assert before.version == 2
    assert catalog.store.aspect(str(ORDERS), "datasetProperties", -5) is None


class Crowd:
    """Several people and programs who use one catalog at once."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._until = time.monotonic() + 3
        self.failures: list[tuple[str, int, str]] = []
        self.answers = 0

    def run(self, number: int) -> None:
        deeds = (self._write, self._delete, self._roll_back, self._search, self._edit)
        at = number
        with httpx.Client(base_url=self._address, timeout=120) as http:
            while time.monotonic() < self._until or at - number < len(deeds):
                at += 1
                deeds[at % len(deeds)](http, at)

    def _ask(self, http: httpx.Client, path: str, body: Any) -> None:
        answer = http.post(path, json=body)
        self.answers += 1
        failed = "SERVER_ERROR" in answer.text
        if answer.status_code >= 500 or failed:
            self.failures.append((path, answer.status_code, answer.text))

    def _urn(self, at: int) -> str:
        return f"urn:li:dataset:(urn:li:dataPlatform:hive,crowd.t{at % 6},PROD)"

    def _write(self, http: httpx.Client, at: int) -> None:
        upstream = {"dataset": self._urn(at + 1), "type": "VIEW", "auditStamp": SCHEMA_STAMP}
        values = {
            "datasetProperties": {"description": f"text {at}"},
            "upstreamLineage": {"upstreams": [upstream]},
            "datasetUsageStatistics": {"timestampMillis": at, "totalSqlQueries": at},
            "browsePaths": {"paths": [f"/prod/crowd/{at % 3}"]},
            "status": {"removed": at % 7 == 0},
        }
        proposals = [
            {
                "entityType": "dataset",
                "entityUrn": self._urn(at),
                "changeType": "UPSERT",
                "aspectName": name,
                "aspect": {"value": json.dumps(value)},
                "systemMetadata": {"runId": f"run{at % 4}"},
            }
            for name, value in values.items()
        ]
        self._ask(http, "/aspects?action=ingestProposalBatch", {"proposals": proposals})

    def _delete(self, http: httpx.Client, at: int) -> None:
        body: dict[str, Any] = {"urn": self._urn(at)}
        if at % 3:
            body["aspectName"] = ("upstreamLineage", "datasetUsageStatistics")[at % 2]
        self._ask(http, "/entities?action=delete", body)

    def _roll_back(self, http: httpx.Client, at: int) -> None:
        body = {"runId": f"run{at % 4}", "dryRun": at % 3 == 0, "safe": at % 2 == 0}
        self._ask(http, "/runs?action=rollback", body)

    def _search(self, http: httpx.Client, at: int) -> None:
        body = {"input": f"text {at % 9}", "entity": "dataset", "start": 0, "count": 10}
        self._ask(http, "/entities?action=search", body)
        http.get(f"/entitiesV2/{quote(self._urn(at), safe='')}")

    def _edit(self, http: httpx.Client, at: int) -> None:
        given = f'{{editableProperties: {{description: "edited {at}"}}}}'
        query = f'mutation {{ updateDataset(urn: "{self._urn(at)}", input: {given}) {{ urn }} }}'
        self._ask(http, "/api/graphql", {"query": query})


@pytest.mark.nightly
def test_a_crowd_leaves_the_catalog_consistent(
    fresh: Callable[[], CatalogEngine], serve: Callable[[Service], str]
) -> None:
    catalog = fresh()
    crowd = Crowd(serve(Service(catalog)))
    threads = [threading.Thread(target=crowd.run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert crowd.failures == []
    assert crowd.answers > 20
    assert found(catalog) == []
    catalog.index.flush()
    assert found(catalog) == []


@pytest.mark.parametrize("gone", [False, True])
def test_an_index_that_missed_how_a_platform_separates_names_catches_up_with_its_datasets(
    fresh: Callable[[], CatalogEngine], tmp_path: Path, gone: bool
) -> None:
    platform = Urn.of("dataPlatform", "hive")
    catalog = fresh()
    write(catalog, ORDERS, "browsePaths", {"paths": ["/own/place/orders"]})
    write(catalog, USERS, "browsePaths", {"paths": ["/own/place/shop.users"]})
    if gone:
        write(catalog, platform, "dataPlatformInfo", PLATFORM)
    catalog = fresh()
    index, earlier = tmp_path / "data" / "search", tmp_path / "earlier"
    shutil.copytree(index, earlier)
    if gone:
        key = "dataPlatformKey"
        by = "urn:li:corpuser:x"
        catalog.store.write(lambda tx: tx.remove_entity(str(platform), key, 8, by)).result()
    else:
        write(catalog, platform, "dataPlatformInfo", PLATFORM)
    assert found(catalog) == []
    fresh()
    again = tmp_path / "again"
    again.mkdir()
    shutil.copy(tmp_path / "data" / "catalog.db", again)
    shutil.copytree(earlier, again / "search")
    late = open_catalog(again, catalog.registry)
    try:
        assert found(late) == []
    finally:
        late.close()


@pytest.mark.parametrize(
    ("method", "wrong", "subject"),
    [
        ("facets", lambda found: {name: {"x": 7} for name in found}, "facet"),
        ("total", lambda found: found + 1, "counts"),
        ("read", lambda found: found[:-1], "order by name"),
    ],
)
def test_what_searches_answer_is_compared_with_what_is_stored(
    fresh: Callable[[], CatalogEngine],
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    wrong: Callable[[Any], Any],
    subject: str,
) -> None:
    catalog = fresh()
    fill(catalog)
    catalog.index.flush()
    kind = SortedIndexResult if method == "read" else IndexResult
    right = getattr(kind, method)
    monkeypatch.setattr(kind, method, lambda *given: wrong(right(*given)))
    told = found(catalog)
    assert {one.part for one in told} == {"search"}
    assert any(subject in one.subject for one in told)
