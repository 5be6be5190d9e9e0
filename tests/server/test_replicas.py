"""Several services on one PostgreSQL database: what one writes the others find, and nobody loses
anything when the database goes away."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote
from uuid import uuid4

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from explorer.client import Catalog
from explorer.client.transport import Retry
from explorer.errors import StorageFault
from explorer.metadata.proposal import Proposal
from explorer.metadata.registry import load_registry
from explorer.metadata.urn import Urn
from explorer.server.app import Service
from explorer.server.catalog import FRESH_SECONDS, CatalogEngine
from explorer.server.consistency import check, check_directory
from explorer.server.data_directory import (
    accept_loss,
    back_up,
    bootstrap_proposals,
    compact,
    migrate,
    open_access,
    open_catalog,
    open_store,
    reindex,
    restore,
)
from explorer.server.projection import Projection
from explorer.server.store import StoreUnavailable, SurveyedStore
from tests.conftest import nightly, serving
from tests.postgres import BINARIES, Cluster
from tests.relay import Hindrance, frozen, locked, relayed, silent
from tests.server import replica_load
from tests.server.test_serving import Served

ASPECT = "datasetProperties"
_numbers = count(1)


class Replica:
    """A service of a shared database, and short ways to ask it."""

    def __init__(self, address: str, catalog: CatalogEngine | None = None) -> None:
        self.address = address
        self.http = httpx.Client(base_url=address, timeout=120)
        self._catalog = catalog

    @property
    def catalog(self) -> CatalogEngine:
        assert self._catalog is not None
        return self._catalog

    def write(self, urn: str, value: dict[str, Any], **headers: str) -> httpx.Response:
        proposal = {
            "entityType": "dataset",
            "entityUrn": urn,
            "changeType": "UPSERT",
            "aspectName": ASPECT,
            "aspect": {"value": json.dumps(value), "contentType": "application/json"},
            "headers": headers,
        }
        return self.http.post("/aspects?action=ingestProposal", json={"proposal": proposal})

    def value(self, urn: str) -> Any:
        answer = self.http.get(f"/entitiesV2/{quote(urn, safe='')}")
        assert answer.status_code == 200, answer.text
        return answer.json()["aspects"][ASPECT]["value"]

    def search(self, text: str, **headers: str) -> httpx.Response:
        body = {"input": text, "entity": "dataset", "start": 0, "count": 10}
        return self.http.post("/entities?action=search", json=body, headers=headers)

    def found(self, text: str, **headers: str) -> list[str]:
        answer = self.search(text, **headers)
        assert answer.status_code == 200, answer.text
        entities: list[str] = answer.json()["value"]["entities"]
        return entities

    def metric(self, name: str) -> float:
        lines = self.http.get("/metrics").text.splitlines()
        return next(float(line.split()[1]) for line in lines if line.startswith(f"{name} "))


def dataset(name: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"


def new_word() -> str:
    """A word that nobody wrote yet."""
    return f"wort{next(_numbers)}x"


def eventually(holds: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@contextmanager
def opened(directory: Path, store: str) -> Iterator[CatalogEngine]:
    directory.mkdir(exist_ok=True)
    catalog = open_catalog(directory, load_registry(), store)
    try:
        yield catalog
    finally:
        catalog.close()


@pytest.fixture(scope="module")
def database(postgres: Cluster) -> str:
    return postgres.new_schema()


@pytest.fixture(scope="module")
def replicas(
    database: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Replica, Replica]]:
    with ExitStack() as held:
        found = []
        for name in ("one", "two"):
            catalog = held.enter_context(opened(tmp_path_factory.mktemp(name), database))
            catalog.seed(bootstrap_proposals)
            found.append(Replica(held.enter_context(serving(Service(catalog))), catalog))
            held.callback(found[-1].http.close)
        yield found[0], found[1]


@contextmanager
def behind(replica: Replica) -> Iterator[None]:
    """Keep a replica from following what others write."""
    follower = cast(Any, replica.catalog.store)._follower
    with follower.lock:
        yield


def test_what_one_writes_is_read_and_found_on_the_other(replicas: tuple[Replica, Replica]) -> None:
    for here, there in (replicas, (replicas[1], replicas[0])):
        word = new_word()
        urn = dataset(word)
        assert here.write(urn, {"description": f"about {word}"}).status_code == 200
        assert there.value(urn)["description"] == f"about {word}"
        eventually(partial(there.found, word))
        assert here.found(word) == there.found(word) == [urn]
        assert there.metric("catalog_follow_lag_rows") == 0


def test_the_first_of_two_fills_an_empty_database(replicas: tuple[Replica, Replica]) -> None:
    rows = replicas[0].catalog.store.log(0, 10_000)
    assert len([row for row in rows if row.urn == "urn:li:corpuser:datahub"]) > 0
    assert len({(row.urn, row.aspect, row.value) for row in rows}) == len(rows)


def test_events_of_a_known_job_add_to_what_another_service_wrote_meanwhile(
    replicas: tuple[Replica, Replica],
) -> None:
    here, there = replicas
    word = new_word()
    urn = dataset(word)

    def post(replica: Replica, *columns: str) -> None:
        schema = {"fields": [{"name": one, "type": "int"} for one in columns]}
        described = {"description": f"about {word}"}
        event = {
            "eventType": "COMPLETE",
            "eventTime": "2024-05-01T12:00:00Z",
            "producer": "https://github.com/OpenLineage/OpenLineage",
            "run": {"runId": str(uuid4())},
            "job": {"namespace": "batch", "name": f"{word}.task"},
            "outputs": [
                {
                    "namespace": "hive",
                    "name": word,
                    "facets": {"schema": schema, "documentation": described},
                }
            ],
        }
        answer = replica.http.post("/api/v1/lineage", json=event)
        assert answer.status_code == 200, answer.text

    def columns() -> list[str]:
        aspects = here.http.get(f"/entitiesV2/{quote(urn, safe='')}").json()["aspects"]
        return [one["fieldPath"] for one in aspects["schemaMetadata"]["value"]["fields"]]

    for _ in range(2):
        post(here, "a")
    post(there, "a", "b")
    assert columns() == ["a", "b"]
    for _ in range(2):
        post(here, "a")
    assert columns() == ["a"]
    assert there.write(urn, {"customProperties": {"own": "yes"}}).status_code == 200
    post(here, "a")
    value = there.value(urn)
    assert (value["description"], value["customProperties"]) == (f"about {word}", {"own": "yes"})


def test_of_writers_on_two_services_with_one_condition_exactly_one_wins(
    replicas: tuple[Replica, Replica],
) -> None:
    urn = dataset(new_word())
    replicas[0].write(urn, {"description": "0"})
    with ThreadPoolExecutor(4) as threads:
        for version in range(1, 16):
            answers = threads.map(
                lambda n, version=version: replicas[n % 2].write(
                    urn, {"description": f"{version} {n}"}, **{"If-Version-Match": str(version)}
                ),
                range(4),
            )
            assert sorted(answer.status_code for answer in answers) == [200, 412, 412, 412]


def test_who_follows_one_service_hears_what_is_written_on_the_other(
    replicas: tuple[Replica, Replica],
) -> None:
    here, there = replicas
    urn = dataset(new_word())
    heard: list[str] = []
    begun = threading.Event()

    def follow() -> None:
        with httpx.stream("GET", f"{there.address}/changes/stream", timeout=120) as stream:
            begun.set()
            for line in stream.iter_lines():
                heard.append(line)
                if urn in line:
                    return

    following = threading.Thread(target=follow, daemon=True)
    following.start()
    assert begun.wait(120)
    here.write(urn, {"description": "heard"})
    following.join(120)
    assert any(urn in line for line in heard)


@pytest.mark.nightly
def test_who_wrote_finds_it_on_a_service_that_was_behind(replicas: tuple[Replica, Replica]) -> None:
    here, there = replicas
    word = new_word()
    with behind(there):
        answer = here.write(dataset(word), {"description": word})
        offset = answer.headers["x-catalog-offset"]
        assert there.found(word) == []
        assert there.value(dataset(word))["description"] == word
        assert there.metric("catalog_follow_lag_rows") >= 1
        # One that does not come up in a second says so, and tells what it reads of the store.
        answer = there.search(word, **{"x-catalog-offset": offset})
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        query = {"query": f'{{ search(input: {{ type: DATASET, query: "{word}" }}) {{ total }} }}'}
        for path, body in (
            ("/api/graphql", query),
            ("/entities?action=getTotalEntityCount", {"entity": "dataset"}),
            ("/entities?action=autocomplete", {"entity": "dataset", "query": "w", "limit": 1}),
            ("/stewardship?action=coverage", {}),
        ):
            answer = there.http.post(path, json=body, headers={"x-catalog-offset": offset})
            assert answer.status_code == 503, path
        there.http.headers["x-catalog-offset"] = offset
        assert there.value(dataset(word))["description"] == word
        del there.http.headers["x-catalog-offset"]
        with ThreadPoolExecutor(1) as threads:
            asked = threads.submit(there.found, word, **{"x-catalog-offset": offset})
            time.sleep(0.05)
            threads.submit(lambda: None)
            cast(Any, there.catalog.store)._follower.lock.release()
            try:
                assert asked.result(60) == [dataset(word)]
            finally:
                cast(Any, there.catalog.store)._follower.lock.acquire()
    assert there.found(word, **{"x-catalog-offset": "nonsense"}) == [dataset(word)]


def test_the_client_finds_what_it_wrote_whichever_service_answers(
    replicas: tuple[Replica, Replica],
) -> None:
    services = [Service(replica.catalog) for replica in replicas]
    turns = count()

    async def in_turns(scope: Scope, receive: Receive, send: Send) -> None:
        # As a proxy does that sends each request to the next.
        await services[next(turns) % 2](scope, receive, send)

    here = replicas[0]
    urn = dataset(new_word())
    here.write(urn, {"description": "begun"})
    with serving(in_turns) as address, Catalog(address) as catalog:
        for n in range(12):
            word = new_word()
            catalog.describe(urn, f"now {word}")
            assert [str(hit.urn) for hit in catalog.search(word).hits] == [urn], n


@pytest.mark.nightly
def test_a_service_is_ready_once_it_has_all_that_is_stored(
    replicas: tuple[Replica, Replica], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = replicas
    eventually(lambda: there.http.get("/health/ready").status_code == 200)
    monkeypatch.setattr("explorer.server.catalog.FRESH_SECONDS", 0.0)
    with behind(there):
        here.write(dataset(new_word()), {"description": "more"})
        answer = there.http.get("/health/ready")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        assert "lacks the last" in answer.json()["message"]
        assert there.metric("catalog_follow_lag_seconds") > 0
    eventually(lambda: there.http.get("/health/ready").status_code == 200)


def test_a_service_whose_database_takes_no_writes_is_not_ready(
    replicas: tuple[Replica, Replica], postgres: Cluster
) -> None:
    here, there = replicas
    with postgres.read_only():
        eventually(lambda: here.write(dataset(new_word()), {"description": "x"}).status_code == 503)
        answer = here.http.get("/health/ready")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
        for answered in (answer, here.write(dataset(new_word()), {"description": "x"})):
            assert "the database is a standby, or a failover is in progress" in answered.text
        with pytest.raises(StorageFault, match="let it take writes, or give another address"):
            open_access(postgres.address())
    eventually(lambda: here.http.get("/health/ready").status_code == 200)
    eventually(lambda: there.http.get("/health/ready").status_code == 200)
    assert here.write(dataset(new_word()), {"description": "x"}).status_code == 200


def test_a_service_that_was_away_has_what_came_meanwhile(
    replicas: tuple[Replica, Replica], database: str, tmp_path: Path
) -> None:
    first, second = new_word(), new_word()
    replicas[0].write(dataset(first), {"description": first})
    with opened(tmp_path, database) as catalog:
        known = catalog.store.log_bounds().head
        assert catalog.followed == known
    replicas[0].write(dataset(second), {"description": second})
    with opened(tmp_path, database) as catalog, serving(Service(catalog)) as address:
        again = Replica(address, catalog)
        assert again.found(first) == [dataset(first)]
        assert again.found(second) == [dataset(second)]
        again.http.close()


def test_a_directory_is_that_of_one_catalog(
    replicas: tuple[Replica, Replica], database: str, tmp_path: Path
) -> None:
    shared, own = tmp_path / "shared", tmp_path / "own"
    own.mkdir()
    with opened(shared, database):
        pass
    open_store(own).close()
    back_up(own, tmp_path / "copy")
    # As it was left by a service that was served with both.
    shutil.copy(own / "catalog.db", shared)
    asked: list[Callable[[], object]] = [
        lambda: open_catalog(shared, load_registry()),
        lambda: back_up(shared, tmp_path / "other"),
        lambda: check_directory(shared),
        lambda: compact(shared),
        lambda: reindex(shared, load_registry(), lambda _total: lambda _count: None),
        lambda: restore(shared, tmp_path / "copy"),
        lambda: migrate(str(own), str(shared), lambda _total: lambda _count: None),
    ]
    for ask in asked:
        with pytest.raises(StorageFault, match="serve --store"):
            ask()
    for directory in (own, shared):
        with pytest.raises(StorageFault, match="move that file away"):
            open_catalog(directory, load_registry(), database)
    (shared / "catalog.db").unlink()
    with opened(shared, database) as catalog:
        assert catalog.followed == replicas[0].catalog.store.log_bounds().head


def test_a_database_restored_to_an_earlier_state_is_told_by_who_knew_the_later_one(
    postgres: Cluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    address = postgres.new_schema()
    schema = address.rpartition("%3D")[2]
    dump = [str(BINARIES[-1] / "pg_dump"), "-n", schema, "--dbname", postgres.address()]
    word = new_word()
    with opened(tmp_path / "data", address) as catalog:
        catalog.seed(bootstrap_proposals)
        before = catalog.store.log_bounds().head
        script = subprocess.run(dump, capture_output=True, text=True, check=True).stdout
        proposal = Proposal(Urn.parse(dataset(word)), "datasetProperties", {"name": word})
        asyncio.run(catalog.ingest(proposal))
        after = catalog.store.log_bounds().head
    script = f"drop schema {schema} cascade;\n{script}"
    psql = [str(BINARIES[-1] / "psql"), "-q", "--dbname", postgres.address()]
    subprocess.run(psql, input=script, capture_output=True, text=True, check=True)
    for _ in range(2):
        with opened(tmp_path / "data", address) as catalog:
            assert [(loss.after, loss.through) for loss in catalog.losses] == [(before, after)]
            assert catalog.index.total(["dataset"]) == 0
            assert f"(offset {before + 1} to {after})" in caplog.text
    assert len(accept_loss(tmp_path / "data")) == 1
    with opened(tmp_path / "data", address) as catalog:
        assert not catalog.losses


@pytest.mark.nightly
def test_the_log_is_kept_for_services_that_were_there_in_the_last_days(
    replicas: tuple[Replica, Replica],
    database: str,
    postgres: Cluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import psycopg

    monkeypatch.setattr("explorer.server.store.postgresql._REPORT_SECONDS", 0.0)
    monkeypatch.setattr("explorer.server.catalog._CHANGES_KEPT", 0)
    here, there = replicas
    with psycopg.connect(database, autocommit=True) as connection:
        # Those of other tests that are away would hold the log too.
        connection.execute("delete from readers")
    with opened(tmp_path, database) as catalog:
        catalog.index.flush()
        known = catalog.index.committed_offset
        name = (tmp_path / "replica").read_text()
        readers = here.catalog.store.log_readers
        eventually(lambda: (name, known - 1) in {(one.name, one.after) for one in readers()})
        eventually(lambda: here.metric("catalog_services") >= 3)
    words = [new_word() for _ in range(3)]
    for word in words:
        here.write(dataset(word), {"description": word})

    def trimmed() -> int:
        for replica in replicas:
            eventually(lambda replica=replica: replica.catalog.followed >= head)  # type: ignore[misc]
            replica.catalog.index.flush()
        # Of any age: what was written until tomorrow.
        here.catalog.trim_changes(-1)
        return here.catalog.store.log_bounds().floor

    head = here.catalog.store.log_bounds().head
    assert trimmed() < known
    assert here.metric("catalog_log_needed_rows") >= len(words)
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(
            "update readers set at = now() - interval '8 days' where name = %s", (name,)
        )
    eventually(lambda: trimmed() > known)
    with opened(tmp_path, database) as catalog:
        eventually(lambda: not catalog.index.is_suspended)
        assert is_consistent(catalog)
        assert catalog.index.document(dataset(words[-1])) is not None
    # What was said of the log is not said for ever.
    assert name in {one.name for one in there.catalog.store.log_readers()}


def test_every_index_is_what_a_new_one_would_be(replicas: tuple[Replica, Replica]) -> None:
    definition = {
        "qualifiedName": "x.weight",
        "displayName": "Weight",
        "valueType": "urn:li:dataType:datahub.string",
        "entityTypes": ["urn:li:entityType:datahub.dataset"],
    }
    here, there = replicas
    prop = "urn:li:structuredProperty:x.weight"
    container = "urn:li:container:c1"
    urns = [dataset(new_word()) for _ in range(60)]
    proposals: list[tuple[str, str, str, Any]] = [
        ("structuredProperty", prop, "propertyDefinition", definition),
        ("container", container, "containerProperties", {"name": "one"}),
        ("container", "urn:li:container:c2", "containerProperties", {"name": "two"}),
        *(("dataset", urn, "container", {"container": container}) for urn in urns),
        (
            "dataset",
            urns[0],
            "structuredProperties",
            {"properties": [{"propertyUrn": prop, "values": [{"string": "heavy"}]}]},
        ),
        ("container", container, "container", {"container": "urn:li:container:c2"}),
        ("dataset", urns[1], "status", {"removed": True}),
    ]
    for n, (kind, urn, aspect, value) in enumerate(proposals):
        body = {
            "proposal": {
                "entityType": kind,
                "entityUrn": urn,
                "changeType": "UPSERT",
                "aspectName": aspect,
                "aspect": {"value": json.dumps(value), "contentType": "application/json"},
            }
        }
        answer = (here, there)[n % 2].http.post("/aspects?action=ingestProposal", json=body)
        assert answer.status_code == 200, answer.text
    there.http.post("/entities?action=delete", json={"urn": urns[2]})
    for replica in replicas:
        # What moved with its container is brought up to date in the background.
        eventually(partial(is_consistent, replica.catalog))


@pytest.mark.parametrize("change", ["move", "respell"])
def test_what_moves_on_one_service_is_followed_in_parts_by_the_others(
    replicas: tuple[Replica, Replica], change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = replicas
    word, moved = new_word(), f"urn:li:container:{new_word()}"
    platform = f"urn:li:dataPlatform:{word}"
    urns = [f"urn:li:dataset:({platform},{word}.t_{at},PROD)" for at in range(60)]
    aspects = {"container": {"container": moved}, "browsePaths": {"paths": ["/kept"]}}
    proposals = [Proposal(Urn.parse(urn), *one) for urn in urns for one in aspects.items()]
    asyncio.run(here.catalog.ingest_all(proposals))
    head = here.catalog.store.log_bounds().head
    eventually(lambda: there.catalog.followed >= head)
    fed: list[int] = []
    feed = Projection._feed

    def note(self: Projection, given: Any, offset: int) -> int:
        if not set(urns).isdisjoint(given):
            fed.append(len(given))
        return feed(self, given, offset)

    monkeypatch.setattr(
        there.catalog._projection, "_feed", partial(note, there.catalog._projection)
    )
    info = {"name": word, "type": "OTHERS", "datasetNameDelimiter": "_"}
    proposal = (
        Proposal(Urn.parse(moved), "container", {"container": "urn:li:container:above"})
        if change == "move"
        else Proposal(Urn.parse(platform), "dataPlatformInfo", info)
    )
    asyncio.run(here.catalog.ingest(proposal))
    eventually(lambda: sum(fed) >= len(urns))
    assert max(fed) <= 20
    for replica in replicas:
        eventually(partial(is_consistent, replica.catalog))


def is_consistent(catalog: CatalogEngine) -> bool:
    return not check(cast(SurveyedStore, catalog.store), catalog.index, catalog.registry)


def test_an_edit_that_went_in_is_told_where_the_database_went_away_before_the_next(
    replicas: tuple[Replica, Replica], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = replicas
    write, left = CatalogEngine.write, [1]

    def once(self: CatalogEngine, job: Any) -> Any:
        if not left:
            raise StoreUnavailable("away", retry_after_seconds=2)
        left.pop()
        return write(self, job)

    monkeypatch.setattr(CatalogEngine, "write", once)
    edit = 'createTag(input: {{ id: "{}", name: "x" }})'
    names = [new_word() for _ in range(3)]
    query = f"mutation {{ a: {edit.format(names[0])} b: {edit.format(names[1])} }}"
    told = here.http.post("/api/graphql", json={"query": query})
    assert told.status_code == 200
    assert told.json()["data"] == {"a": f"urn:li:tag:{names[0]}", "b": None}
    # Where nothing went in, it may be asked for again.
    told = here.http.post("/api/graphql", json={"query": f"mutation {{ {edit.format(names[2])} }}"})
    assert (told.status_code, told.headers["retry-after"]) == (503, "2")
    monkeypatch.undo()
    there_now = [
        "tagProperties" in there.http.get(f"/entitiesV2/urn:li:tag:{name}").json()["aspects"]
        for name in names
    ]
    assert there_now == [True, False, False]


def test_an_edit_that_went_in_is_told_where_the_database_went_away_before_it_was_read(
    replicas: tuple[Replica, Replica], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = replicas
    urn = dataset(new_word())
    here.write(urn, {"description": "before"})

    async def away(*_: Any, **__: Any) -> Any:
        raise StoreUnavailable("away", retry_after_seconds=2)

    monkeypatch.setattr(CatalogEngine, "read_few", away)
    edit = f'updateDataset(urn: "{urn}", input: {{ editableProperties: {{ description: "new" }} }})'
    told = here.http.post("/api/graphql", json={"query": f"mutation {{ {edit} {{ name }} }}"})
    monkeypatch.undo()
    # With 503 it would be sent again.
    assert told.status_code == 200
    assert "the change was saved" in told.json()["errors"][0]["message"]
    aspects = there.http.get(f"/entitiesV2/{quote(urn, safe='')}").json()["aspects"]
    assert aspects["editableDatasetProperties"]["value"]["description"] == "new"


@pytest.fixture
def processes(postgres: Cluster, tmp_path: Path) -> Iterator[tuple[Served, Served]]:
    """Two processes of `catalog serve` on a new database."""
    store = postgres.new_schema()
    started: list[Served] = []
    try:
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            words = ("--store", store, "--log-format", "none")
            started.append(Served(tmp_path / name, words))
        yield started[0], started[1]
    finally:
        for one in started:
            one.process.kill()
            one.process.communicate()


@pytest.mark.nightly
def test_a_database_that_goes_away_loses_nothing_and_services_go_on_by_themselves(
    postgres: Cluster, processes: tuple[Served, Served], request: pytest.FixtureRequest
) -> None:
    here, there = (Replica(served.address) for served in processes)
    request.addfinalizer(here.http.close)
    request.addfinalizer(there.http.close)
    answered: dict[str, str] = {}
    refused: list[httpx.Response] = []
    is_over = threading.Event()

    def write() -> None:
        while not is_over.is_set():
            word = new_word()
            answer = here.write(dataset(word), {"description": word})
            if answer.status_code == 200:
                answered[word] = dataset(word)
            else:
                refused.append(answer)
            is_over.wait(0.01)

    writing = threading.Thread(target=write)
    writing.start()
    try:
        eventually(lambda: len(answered) > 20)
        postgres.stop()
        try:
            eventually(lambda: refused)
            for path in ("/health", "/health/ready"):
                assert there.http.get(path).status_code == 503
            query = f'{{ dataset(urn: "{dataset("away")}") {{ properties {{ name }} }} }}'
            told = there.http.post("/api/graphql", json={"query": query})
            assert (told.status_code, told.headers["retry-after"]) == (503, "2")
            assert there.metric("catalog_follow_lag_rows") != 0
        finally:
            postgres.start()
        before = len(answered)
        eventually(lambda: len(answered) > before + 20)
    finally:
        is_over.set()
        writing.join()
    assert {(one.status_code, one.headers.get("retry-after")) for one in refused} == {(503, "2")}
    assert "try again" in refused[0].json()["message"] or "repeat the change" in refused[0].text
    eventually(lambda: there.http.get("/health/ready").status_code == 200)
    for word, urn in answered.items():
        assert there.value(urn)["description"] == word
    eventually(lambda: there.found(word) == [urn])
    assert all(there.found(word) == [urn] for word, urn in list(answered.items())[::10])
    for served in processes:
        assert served.stop(signal.SIGTERM) == 0
        # It is told once in a while, and not with every request that was refused.
        assert len(served.log.read_text().splitlines()) < 30


def test_a_service_whose_database_is_away_finds_what_it_knows_and_tells_its_age(
    postgres: Cluster, processes: tuple[Served, Served], request: pytest.FixtureRequest
) -> None:
    here, there = (Replica(served.address) for served in processes)
    request.addfinalizer(here.http.close)
    request.addfinalizer(there.http.close)
    word, later = new_word(), new_word()
    here.write(dataset(word), {"description": word})
    eventually(lambda: there.found(word) == [dataset(word)])
    known = there.search(word).headers["x-catalog-offset"]
    with Catalog(there.address, retry=Retry(tries=1)) as catalog:
        told: list[str] = []
        catalog.on_warning(told.append)
        assert catalog.search(word).as_of is None
        with paused(processes[1]):
            offset = here.write(dataset(later), {"description": later}).headers["x-catalog-offset"]
            postgres.stop()
            # Longer than what was known before counts as fresh.
            time.sleep(FRESH_SECONDS + 0.5)
        try:
            answer = there.search(word)
            assert answer.status_code == 200
            assert int(answer.headers["x-catalog-age-seconds"]) > FRESH_SECONDS
            assert answer.json()["value"]["entities"] == [dataset(word)]
            assert there.found(later) == []
            assert there.found(word, **{"x-catalog-offset": known}) == [dataset(word)]
            assert there.search(later, **{"x-catalog-offset": offset}).status_code == 503
            body = {"entity": "dataset", "query": word, "limit": 5}
            completed = there.http.post("/entities?action=autocomplete", json=body)
            assert completed.json()["value"]["suggestions"] == [word]
            assert "x-catalog-age-seconds" in completed.headers
            counted = there.http.post("/entities?action=getTotalEntityCount", json=body)
            assert counted.json()["value"] == 1
            assert there.http.get("/health/search").status_code == 200
            assert there.http.get("/health/ready").status_code == 503
            read = there.http.get(f"/entitiesV2/{quote(dataset(word), safe='')}")
            assert (read.status_code, read.headers["retry-after"]) == (503, "2")
            assert "x-catalog-age-seconds" not in read.headers
            page = catalog.search(word)
            assert [str(hit.urn) for hit in page.hits] == [dataset(word)]
            assert page.as_of is not None
            assert catalog.as_of == page.as_of
            catalog.search(later)
            assert len(told) == 1
            assert "may not be found" in told[0]
        finally:
            postgres.start()
        eventually(lambda: "x-catalog-age-seconds" not in there.search(word).headers)
        assert there.found(later) == [dataset(later)]
        assert catalog.search(later).as_of is catalog.as_of is None


ways = pytest.mark.parametrize("hinder", [silent, locked, *nightly(frozen)])


@contextmanager
def unanswered(
    hinder: Hindrance, postgres: Cluster, folder: Path
) -> Iterator[tuple[Served, str, list["Future[httpx.Response]"], ExitStack]]:
    """A service whose database does not answer, a word in a dataset, and the requests for that
    dataset that wait, for what is cheap and what is costly, and writes: more than the service may
    have connections. The stack, once closed, lets the database answer."""
    (folder / "data").mkdir()
    with ExitStack() as held:
        relay = held.enter_context(relayed(postgres, postgres.new_schema(), folder))
        served = Served(folder / "data", ("--store", relay.address, "--log-format", "none"))
        held.callback(served.process.communicate)
        held.callback(served.process.kill)
        replica, word = Replica(served.address), new_word()
        held.callback(replica.http.close)
        assert replica.write(dataset(word), {"description": word}).status_code == 200
        field = f'dataset(urn: "{dataset(word)}") {{ properties {{ name }} }}'
        costly = " ".join(f"a{at}: {field}" for at in range(21))
        ways: list[Callable[..., httpx.Response]] = [
            partial(replica.http.get, f"/entitiesV2/{quote(dataset(word), safe='')}"),
            partial(replica.http.post, "/api/graphql", json={"query": f"{{ {field} }}"}),
            partial(replica.http.post, "/api/graphql", json={"query": f"{{ {costly} }}"}),
            partial(replica.write, dataset(word), {"description": "never"}),
        ]
        threads = held.enter_context(ThreadPoolExecutor(40))
        hindrance = held.enter_context(ExitStack())
        hindrance.enter_context(hinder(postgres, relay))
        asked = [threads.submit(way) for way in ways]
        assert wait(asked, timeout=0.2).done == set()
        asked += [threads.submit(way) for way in ways * 9]
        yield served, word, asked, hindrance


@ways
def test_a_database_that_does_not_answer_holds_up_neither_searches_nor_the_end(
    hinder: Any, postgres: Cluster, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with unanswered(hinder, postgres, tmp_path) as (served, word, asked, _):
        there = Replica(served.address)
        request.addfinalizer(there.http.close)
        for _ in range(10):
            assert there.http.get("/health/live").status_code == 200
            assert there.http.get("/health/search").status_code == 200
            assert there.found(word) == [dataset(word)]
        assert not any(one.done() for one in asked)
        assert served.stop(signal.SIGTERM) == 0


@pytest.mark.nightly
@ways
def test_requests_whose_database_does_not_answer_are_told_so_and_it_is_used_again(
    hinder: Any, postgres: Cluster, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    with unanswered(hinder, postgres, tmp_path) as (served, word, asked, hindrance):
        there = Replica(served.address)
        request.addfinalizer(there.http.close)
        for answer in (one.result(120) for one in asked):
            assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")
            told = ("the catalog cannot be read: ", "the change could not be saved: ")
            assert answer.json()["message"].startswith(told)
            assert answer.json()["message"].endswith("; try again in a moment")
        assert there.found(word) == [dataset(word)]
        hindrance.close()
        eventually(lambda: there.http.get("/health/ready").status_code == 200)
        assert there.value(dataset(word))["description"] == word
        assert served.stop(signal.SIGTERM) == 0
        assert "never retrieved" not in served.log.read_text()


def test_a_write_that_its_client_gave_up_does_not_come_after_what_was_written_since(
    replicas: tuple[Replica, Replica], database: str, postgres: Cluster, tmp_path: Path
) -> None:
    urn, (well, _) = dataset("given-up"), replicas
    (tmp_path / "data").mkdir()
    with ExitStack() as held:
        relay = held.enter_context(relayed(postgres, database, tmp_path))
        served = Served(tmp_path / "data", ("--store", relay.address, "--log-format", "none"))
        held.callback(served.process.communicate)
        held.callback(served.process.kill)
        cut = Replica(served.address)
        held.callback(cut.http.close)
        assert cut.write(urn, {"description": "before"}).status_code == 200
        with silent(postgres, relay):
            cut.http.timeout = 0.3
            with pytest.raises(httpx.ReadTimeout):
                cut.write(urn, {"description": "first"})
            for text in ("first", "second"):
                assert well.write(urn, {"description": text}).status_code == 200
        cut.http.timeout = 120
        # The writes of a service come one after another.
        eventually(lambda: cut.write(dataset("another"), {"description": "x"}).status_code == 200)
    assert well.value(urn)["description"] == "second"


@pytest.mark.nightly
def test_a_service_that_was_paused_or_whose_clock_is_wrong_finds_what_was_written_meanwhile(
    postgres: Cluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    libraries = sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
    store = postgres.new_schema()
    replicas = []
    for name, clock in (("right", ""), ("slow", "-3d"), ("fast", "+3d")):
        if clock and libraries:
            monkeypatch.setenv("LD_PRELOAD", str(libraries[-1]))
            monkeypatch.setenv("FAKETIME", clock)
        (tmp_path / name).mkdir()
        served = Served(tmp_path / name, ("--store", store, "--log-format", "none"))
        request.addfinalizer(served.process.communicate)
        request.addfinalizer(served.process.kill)
        replicas.append((served, Replica(served.address)))
        request.addfinalizer(replicas[-1][1].http.close)
    (_, here), *others = replicas
    for _, there in others:
        word = new_word()
        there.write(dataset(word), {"description": word})
        eventually(partial(here.found, word))
    with ExitStack() as pauses, ThreadPoolExecutor(2) as threads:
        for served, _ in others:
            pauses.enter_context(paused(served))
        word = new_word()
        here.write(dataset(word), {"description": word})
        asked = [threads.submit(there.search, word) for _, there in others]
        time.sleep(FRESH_SECONDS + 0.5)
        pauses.close()
        for answer in (one.result(30) for one in asked):
            assert answer.status_code == 200
            is_marked = "x-catalog-age-seconds" in answer.headers
            assert answer.json()["value"]["entities"] == [dataset(word)] or is_marked
    for _, there in others:
        eventually(partial(there.found, word))
        assert there.found(word) == [dataset(word)]
        assert "x-catalog-age-seconds" not in there.search(word).headers
    for served, _ in others if libraries else ():
        assert served.log.read_text().count("the clock of this machine") == 1


@contextmanager
def paused(served: Served) -> Iterator[None]:
    served.process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        served.process.send_signal(signal.SIGCONT)


@pytest.mark.nightly
def test_a_service_that_starts_before_its_database_waits_for_it(
    postgres: Cluster, tmp_path: Path
) -> None:
    store = postgres.new_schema()
    command = (sys.executable, "-m", "explorer.cli", "serve", "--port", "0", "--store", store)
    said = tmp_path / "log"
    postgres.stop()
    try:
        with said.open("wb") as log:
            process = subprocess.Popen(
                (*command, "--data-dir", str(tmp_path / "data"), "--log-format", "none"),
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        eventually(lambda: "trying again for 60 seconds" in said.read_text())
    finally:
        postgres.start()
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        assert httpx.get(f"{address}/health/ready", timeout=120).status_code == 200
        assert said.read_text().count("trying again") == 1
    finally:
        process.kill()
        process.communicate()


def test_a_service_that_a_database_does_not_let_in_ends_and_says_why(
    postgres: Cluster, tmp_path: Path
) -> None:
    done = subprocess.run(
        (
            *(sys.executable, "-m", "explorer.cli", "serve", "--port", "0"),
            *("--store", postgres.address("nobody_made_it"), "--data-dir", str(tmp_path)),
        ),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 3
    assert 'database "nobody_made_it" does not exist' in done.stderr
    assert "trying again" not in done.stderr


@pytest.mark.nightly
@pytest.mark.skipif(
    shutil.which("haproxy", path=f"{os.environ['PATH']}:/usr/sbin") is None,
    reason="needs haproxy",
)
@pytest.mark.parametrize("hindered_seconds", [0, 4])
def test_behind_a_proxy_killed_services_and_silent_databases_lose_nothing(
    postgres: Cluster, hindered_seconds: float
) -> None:
    """The long form is `python -m tests.benchmarks.replicas`."""
    outcome = replica_load.run(
        9 if not hindered_seconds else 60,
        replicas=2,
        kill_seconds=3,
        least=11,
        cluster=postgres,
        hindered_seconds=hindered_seconds,
    )
    assert outcome.broken == [], str(outcome)
    failures = {what for _, _, what in outcome.failures}
    hindrances = (
        {"silent to one", "locked", "frozen", "silent to all"} if hindered_seconds else set()
    )
    assert failures == {"service", "database"} | hindrances
    assert outcome.least_done > 10
