"""Damaged files: what was acknowledged is read or the damage is told, and search is right or 503
until it has been made anew."""

import json
import random
import shutil
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

import httpx
import pytest

from explorer.errors import Busy, CatalogError, StorageFault
from explorer.instance import Instance, find
from explorer.metadata.proposal import Proposal
from explorer.metadata.registry import Registry, load_registry
from explorer.metadata.urn import Urn
from explorer.query.filters import Filter
from explorer.server.app import Service
from explorer.server.audit_log import AuditFile
from explorer.server.catalog import CatalogEngine
from explorer.server.consistency import check, check_directory
from explorer.server.data_directory import accept_loss, back_up, open_catalog, restore
from explorer.server.projection import Projection, read_state
from explorer.server.search.document import EntityState
from explorer.server.search.engine import EngineFailed, Searcher, find_index_damage
from explorer.server.search.query import SearchQuery
from explorer.server.search.terms import FORMAT
from explorer.server.store import Placement, Reader, StoreUnavailable, SurveyedStore, Transaction

TABLES = 60
PAGE_BYTES = 4096
SECONDS = 120


def table(number: int) -> Urn:
    return Urn.dataset("hive", f"shop.table{number:03}")


def described(number: int) -> dict[str, Any]:
    return {"name": f"table{number:03}", "description": f"zebra{number:03} " * (1 + number % 30)}


@patch("explorer.server.search.layers._DRAIN_FEW_SECONDS", 3600.0)
@patch("explorer.server.search.layers._DRAIN_MANY_SECONDS", 3600.0)
def build(directory: Path, count: int = TABLES) -> None:
    """Make a catalog whose index has several segments, some with deleted documents.

    Nothing is committed to the index by the clock, so that a slow machine makes the same segments.
    """
    directory.mkdir(parents=True)
    catalog = open_catalog(directory, load_registry())
    for number in range(count + 4):
        change = catalog.intake.check(
            Proposal(table(number), "datasetProperties", described(number))
        )
        catalog.store.write(partial(catalog.intake.apply, change=change, now_millis=1)).result()
        if number % 20 == 0:
            catalog.index.flush()
    for number in range(count, count + 4):
        urn = str(table(number))
        catalog.store.write(erase(urn)).result()
    catalog.close()


@patch("explorer.server.remembered._EVERY_SECONDS", 0.0)
def build_killed(directory: Path, *, closed: int) -> None:
    """Make a catalog as a killed service leaves it: all but the first tables are in the write-ahead
    log alone, and the index and the audit log know of them."""
    served = directory.with_name(f"{directory.name}.served")
    served.mkdir(parents=True)
    for numbers in filter(None, (range(closed), range(closed, TABLES))):
        catalog = open_catalog(served, load_registry())
        for begin in range(0, len(numbers), 10):
            changes = [
                catalog.intake.check(
                    Proposal(table(number), "datasetProperties", described(number))
                )
                for number in numbers[begin : begin + 10]
            ]
            catalog.store.write(
                partial(catalog.intake.apply_all, changes=changes, now_millis=1)
            ).result()
        catalog.index.flush()
        AuditFile(served).append_audit(
            "", [(1, b'{"time_millis":1,"outcome":"done","status":200}')]
        )
        if numbers[-1] == TABLES - 1:
            shutil.copytree(served, directory)
        catalog.close()


def erase(urn: str) -> Callable[[Transaction], object]:
    """A job that takes an entity's key away."""
    return lambda transaction: transaction.remove_entity(urn, "datasetKey", 1, "x")


@contextmanager
def running(directory: Path) -> Iterator[tuple[Instance | None, "subprocess.Popen[bytes]", Path]]:
    """A service of its own process; no instance where it ended by itself."""
    words = directory.with_name(f"{directory.name}.log")
    command = [sys.executable, "-m", "explorer.cli.service", "--no-sample"]
    with (
        words.open("ab") as out,
        subprocess.Popen([*command, "--data-dir", str(directory)], stderr=out) as process,
    ):
        try:
            deadline = time.monotonic() + SECONDS
            while (instance := find(directory)) is None and process.poll() is None:
                assert time.monotonic() < deadline, "the service neither started nor ended"
                time.sleep(0.005)
            yield instance, process, words
        finally:
            process.kill()


def connect(instance: Instance) -> httpx.Client:
    transport = httpx.HTTPTransport(uds=instance.address.removeprefix("unix:"))
    return httpx.Client(transport=transport, base_url="http://catalog", timeout=120)


@dataclass
class Look:
    """What a service over a damaged directory does. `faults` is what must not be."""

    directory: Path
    faults: list[str] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)

    def take(self) -> None:
        found = self._check("before")
        with running(self.directory) as (instance, process, words):
            if instance is None:
                self._refused(process, words)
                return
            with connect(instance) as http:
                health = self._ask(http, "GET", "/health")
                healthy = health.status_code == 200
                lost = self._read(http)
                self.outcomes["lost"] += lost
                self.outcomes["told on /health"] += bool(health.content)
                self._search(http, healthy=healthy)
                self._write(http)
                healthy = self._ask(http, "GET", "/health").status_code == 200
            process.terminate()
            try:
                process.wait(SECONDS)
            except subprocess.TimeoutExpired:
                self.faults.append("hang: it does not end")
                return
        if lost and healthy and not found:
            self.faults.append(f"silent: {lost} values are wrong, and nobody says so")
        self.outcomes["told by check" if found else "harmless or mended"] += 1
        if not healthy:
            self.outcomes["only read"] += 1

    def _check(self, when: str) -> list[Any]:
        """What `catalog check` says."""
        copy = self.directory.with_name(f"{self.directory.name}.{when}")
        shutil.copytree(self.directory, copy, ignore=shutil.ignore_patterns("service.*"))
        try:
            return check_directory(copy)
        except CatalogError as error:
            return [error]
        except Exception as error:  # noqa: BLE001 - whatever it is, it is a fault
            self.faults.append(f"trace: check ends with {error!r}")
            return []
        finally:
            shutil.rmtree(copy)

    def _refused(self, process: "subprocess.Popen[bytes]", words: Path) -> None:
        text = words.read_text()
        self.outcomes["refused to start"] += 1
        if process.returncode == 0 or "Traceback" in text or str(self.directory) not in text:
            self.faults.append(f"refused without a sentence: {text[-500:]}")

    def _ask(self, http: httpx.Client, method: str, path: str, **more: Any) -> httpx.Response:
        answer = http.request(method, path, **more)
        if answer.status_code >= 500 and "Traceback" in answer.text:
            self.faults.append(f"trace: {path} {answer.text[:200]}")
        if answer.status_code >= 500 and not answer.json()["message"]:
            self.faults.append(f"silent: {path} says {answer.status_code} and no more")
        return answer

    def _read(self, http: httpx.Client) -> int:
        """How many values are not what was acknowledged, and not refused either."""
        lost = 0
        for number in range(TABLES):
            urn = str(table(number))
            answer = self._ask(http, "GET", "/entitiesV2", params={"ids": f"List({urn})"})
            if answer.status_code >= 500:
                self.outcomes["reads refused"] += 1
                continue
            try:
                aspects = answer.json()["results"].get(urn, {}).get("aspects", {})
                lost += aspects.get("datasetProperties", {}).get("value") != described(number)
            except ValueError:
                lost += 1
        return lost

    def _search(self, http: httpx.Client, *, healthy: bool) -> None:
        deadline = time.monotonic() + SECONDS
        wrong: list[str] = []
        for number in (*range(0, TABLES, 7), TABLES):
            body = {"input": f"zebra{number:03}", "entity": "dataset", "start": 0, "count": 10}
            while True:
                answer = self._ask(http, "POST", "/entities?action=search", json=body)
                if answer.status_code != 503 or time.monotonic() > deadline:
                    break
                if "retry-after" not in answer.headers:
                    wrong.append("503 without Retry-After")
                self.outcomes["searches refused"] += 1
                health = self._ask(http, "GET", "/health")
                if health.status_code != 200:
                    # The database is damaged; the index may never be right again.
                    return
                time.sleep(0.02)
            if answer.status_code != 200:
                wrong.append(f"{answer.status_code} {answer.text[:200]}")
                continue
            found = answer.json()["value"]["metadata"]["urns"]
            if found != ([str(table(number))] if number < TABLES else []):
                wrong.append(f"zebra{number:03} finds {found}")
        total = self._ask(
            http,
            "POST",
            "/entities?action=search",
            json={"input": "*", "entity": "dataset", "start": 0, "count": 100},
        )
        if total.status_code == 200:
            value = total.json()["value"]
            counts = {one["name"]: one["aggregations"] for one in value["metadata"]["aggregations"]}
            if (value["numEntities"], counts["platform"]) != (
                TABLES,
                {"urn:li:dataPlatform:hive": TABLES},
            ):
                wrong.append(f"* finds {value['numEntities']}, facets {counts}")
        if wrong and healthy and not self._check("searched"):
            self.faults.append(f"search: {wrong[:3]}")

    def _write(self, http: httpx.Client) -> None:
        for urn, name in (("urn:li:tag:new", "tagProperties"), (str(table(3)), "status")):
            value = {"name": "new"} if name == "tagProperties" else {"removed": False}
            wire = {
                "entityType": Urn.parse(urn).entity_type,
                "entityUrn": urn,
                "changeType": "UPSERT",
                "aspectName": name,
            }
            body = {"proposal": {**wire, "aspect": {"value": json.dumps(value)}}}
            answer = self._ask(http, "POST", "/aspects?action=ingestProposal", json=body)
            if answer.status_code != 200:
                self.outcomes["writes refused"] += 1
                continue
            read = self._ask(http, "GET", "/entitiesV2", params={"ids": f"List({urn})"})
            if read.status_code == 200 and name not in read.text:
                self.faults.append(f"lost: {name} of {urn} was answered")


# What is done to a file. They take the dice, and the file.


def cut(dice: random.Random, path: Path) -> None:
    with path.open("rb+") as file:
        file.truncate(dice.randrange(path.stat().st_size))


def empty(_dice: random.Random, path: Path) -> None:
    path.write_bytes(b"")


def gone(_dice: random.Random, path: Path) -> None:
    path.unlink()


def flip(dice: random.Random, path: Path) -> None:
    """Change one bit of some bytes."""
    raw = bytearray(path.read_bytes())
    for _ in range(dice.choice((1, 1, 4, 16))):
        raw[dice.randrange(len(raw))] ^= 1 << dice.randrange(8)
    path.write_bytes(raw)


def wipe(dice: random.Random, path: Path) -> None:
    """Write zeros over a block."""
    raw = bytearray(path.read_bytes())
    begin = dice.randrange(max(1, len(raw) // PAGE_BYTES)) * PAGE_BYTES
    end = min(begin + PAGE_BYTES, len(raw))
    raw[begin:end] = bytes(end - begin)
    path.write_bytes(raw)


def scramble(dice: random.Random, path: Path) -> None:
    """Write noise over a block."""
    raw = bytearray(path.read_bytes())
    begin = dice.randrange(max(1, len(raw) // PAGE_BYTES)) * PAGE_BYTES
    end = min(begin + PAGE_BYTES, len(raw))
    raw[begin:end] = dice.randbytes(end - begin)
    path.write_bytes(raw)


INDEX_FILES = (
    "*.idx",
    "*.term",
    "*.store",
    "*.fast",
    "*.fieldnorm",
    "*.pos",
    "*.del",
    "meta.json",
    "index.json",
    ".managed.json",
)
INDEX_DAMAGES: tuple[Callable[[random.Random, Path], None], ...] = (
    cut,
    empty,
    gone,
    flip,
    wipe,
    scramble,
)
DATABASE_DAMAGES: tuple[Callable[[random.Random, Path], None], ...] = (cut, flip, wipe, scramble)


def damage(dice: random.Random, directory: Path, at: int) -> str:
    """Damage one file: two times of three the index, else the database; what was done."""
    if at % 3 == 2:
        path = directory / "catalog.db"
        how = DATABASE_DAMAGES[at // 3 % len(DATABASE_DAMAGES)]
    else:
        nth = at - at // 3
        kind = INDEX_FILES[nth % len(INDEX_FILES)]
        path = dice.choice(sorted((directory / "search").glob(kind)))
        how = INDEX_DAMAGES[nth // len(INDEX_FILES) % len(INDEX_DAMAGES)]
    how(dice, path)
    return f"{how.__name__} {path.name}"


def lose_log(_dice: random.Random, directory: Path) -> None:
    (directory / "catalog.db-wal").unlink()


def cut_log(dice: random.Random, directory: Path) -> None:
    cut(dice, directory / "catalog.db-wal")


def lose_file(_dice: random.Random, directory: Path) -> None:
    (directory / "catalog.db").unlink()


def empty_file(_dice: random.Random, directory: Path) -> None:
    (directory / "catalog.db").write_bytes(b"")


def lose_all(dice: random.Random, directory: Path) -> None:
    lose_log(dice, directory)
    lose_file(dice, directory)


LOSSES: tuple[Callable[[random.Random, Path], None], ...] = (
    lose_log,
    cut_log,
    lose_file,
    empty_file,
    lose_all,
)
# What is lost beside the catalog; each of the two others still tells of it.
ALSO_LOST = ("", "search", "remembered.json")


def lose(dice: random.Random, directory: Path, at: int) -> str:
    """Lose the catalog or its latest changes, and part of what tells of them; what was done."""
    how = LOSSES[at % len(LOSSES)]
    how(dice, directory)
    also = ALSO_LOST[at // len(LOSSES) % len(ALSO_LOST)]
    lose_beside(directory, also)
    return f"{how.__name__} {also}"


def lose_beside(directory: Path, name: str) -> None:
    if name == "search":
        shutil.rmtree(directory / name)
    elif name:
        (directory / name).unlink()


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two catalogs of killed services: of one the database file is still empty."""
    young, grown = (tmp_path_factory.mktemp(name) / "data" for name in ("young", "grown"))
    build_killed(young, closed=0)
    build_killed(grown, closed=TABLES // 2)
    return young, grown


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("whole") / "data"
    build(directory)
    return directory


@pytest.fixture
def copy(whole: Path, tmp_path: Path) -> Path:
    """A copy of a whole catalog, to be damaged."""
    return Path(shutil.copytree(whole, tmp_path / "data"))


@pytest.mark.parametrize(
    ("how", "kind"),
    [
        (flip, "*.fast"),
        (cut, "*.term"),
        (flip, "index.json"),
        pytest.param(scramble, "*.store", marks=pytest.mark.nightly),
        pytest.param(wipe, "*.idx", marks=pytest.mark.nightly),
        pytest.param(gone, "*.pos", marks=pytest.mark.nightly),
        pytest.param(flip, "*.del", marks=pytest.mark.nightly),
        pytest.param(flip, "meta.json", marks=pytest.mark.nightly),
    ],
)
def test_a_damaged_index_is_made_anew(
    copy: Path, how: Callable[[random.Random, Path], None], kind: str
) -> None:
    how(random.Random(5), min((copy / "search").glob(kind)))
    look = Look(copy)
    look.take()
    assert look.faults == []
    assert not look.outcomes["writes refused"]
    assert not look.outcomes["reads refused"]
    assert check_directory(copy) == []
    if kind != "index.json":
        assert "search" in copy.with_name("data.log").read_text()


def names_once_verified(catalog: CatalogEngine) -> set[str]:
    """What a search for everything finds, asked until the index is verified or made anew."""
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            return names(catalog)
        except Busy:
            assert time.monotonic() < deadline, "the index was never rebuilt"


@pytest.mark.parametrize(
    ("how", "kind"),
    [(flip, "*.idx"), (flip, "*.fast"), (flip, "*.store"), (cut, "*.term"), (flip, "*.del")],
)
def test_a_large_index_that_is_damaged_is_made_anew_before_anything_is_found_in_it(
    copy: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    how: Callable[[random.Random, Path], None],
    kind: str,
) -> None:
    with closing(open_catalog(copy, load_registry())) as catalog:
        expected = names(catalog)
    monkeypatch.setattr("explorer.server.search.layers._MOST_VERIFIED_BYTES", 0)
    how(random.Random(5), min((copy / "search").glob(kind)))
    with closing(open_catalog(copy, load_registry())) as catalog:
        assert names_once_verified(catalog) == expected
    assert "rebuilt" in caplog.text


def test_a_large_index_delays_neither_the_start_nor_writes(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_verify = threading.Event()

    def verify_later(directory: Path) -> list[str]:
        may_verify.wait(SECONDS)
        return find_index_damage(directory)

    monkeypatch.setattr("explorer.server.search.layers.find_index_damage", verify_later)
    monkeypatch.setattr("explorer.server.search.layers._MOST_VERIFIED_BYTES", 0)
    added = Urn.dataset("hive", "shop.added")
    with closing(open_catalog(copy, load_registry())) as catalog, ThreadPoolExecutor(1) as pool:
        write(catalog, added, "datasetProperties", {"name": "added"})
        assert catalog.store.existing([str(added)])
        found = pool.submit(names, catalog)
        time.sleep(0.2)
        assert not found.done()
        may_verify.set()
        assert added.name in found.result(SECONDS)


@pytest.mark.parametrize("how", [cut, scramble, flip])
def test_a_damaged_database_is_told(copy: Path, how: Callable[[random.Random, Path], None]) -> None:
    how(random.Random(7), copy / "catalog.db")
    look = Look(copy)
    look.take()
    assert look.faults == []


@pytest.mark.parametrize(
    ("how", "also"),
    [
        *((how, "") for how in LOSSES),
        *((how, also) for how in (lose_log, lose_file) for also in ALSO_LOST[1:]),
    ],
)
def test_a_lost_catalog_or_log_is_told_and_never_begun_anew_by_itself(
    killed: tuple[Path, Path],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    how: Callable[[random.Random, Path], None],
    also: str,
) -> None:
    for base in killed[1:] if how is cut_log else killed:
        directory = tmp_path / base.parent.name
        shutil.copytree(base, directory)
        how(random.Random(11), directory)
        lose_beside(directory, also)
        (finding,) = check_directory(directory)
        assert finding.part == "lost"
        is_gone = how in (lose_file, empty_file, lose_all) or base == killed[0]
        if is_gone:
            advice = f"catalog restore.*check --accept-loss --data-dir {directory}"
            with pytest.raises(StorageFault, match=advice):
                open_catalog(directory, load_registry())
            assert (directory / "catalog.db").exists() is (how not in (lose_file, lose_all))
        else:
            with closing(open_catalog(directory, load_registry())) as catalog:
                assert str(*catalog.losses) in caplog.text
                assert names(catalog) == {Urn.parse(urn).name for urn in catalog.store.urns()}
                write(catalog, Urn.of("tag", "later"), "tagProperties", {"name": "later"})
            assert [one.part for one in check_directory(directory)] == ["lost"]
        assert len(accept_loss(directory)) == 1
        with closing(open_catalog(directory, load_registry())) as catalog:
            assert not catalog.losses
            assert bool(catalog.store.count()) is not is_gone
        assert check_directory(directory) == []


def test_a_lost_write_ahead_log_is_told_by_a_service_that_goes_on(
    killed: tuple[Path, Path], tmp_path: Path
) -> None:
    look = Look(Path(shutil.copytree(killed[1], tmp_path / "data")))
    lose_log(random.Random(1), look.directory)
    look.take()
    assert look.faults == []
    assert look.outcomes["lost"] == TABLES - TABLES // 2
    assert look.outcomes["told on /health"]
    assert not look.outcomes["writes refused"]


@pytest.mark.nightly
@pytest.mark.parametrize("part", range(20))
def test_no_loss_goes_undetected(killed: tuple[Path, Path], tmp_path: Path, part: int) -> None:
    for at in range(part * 10, part * 10 + 10):
        dice = random.Random(at)
        look = Look(Path(shutil.copytree(dice.choice(killed), tmp_path / f"copy{at}")))
        what = lose(dice, look.directory, at)
        look.take()
        assert look.faults == [], what
        assert look.outcomes["refused to start"] or look.outcomes["told on /health"], what


def test_a_catalog_that_is_gone_is_restored_from_a_backup(
    copy: Path, whole: Path, tmp_path: Path
) -> None:
    back_up(copy, tmp_path / "backup")
    with closing(open_catalog(copy, load_registry())) as catalog:
        write(catalog, Urn.of("tag", "later"), "tagProperties", {"name": "later"})
    (copy / "catalog.db").unlink()
    restore(copy, tmp_path / "backup")
    with closing(open_catalog(copy, load_registry())) as catalog:
        assert not catalog.losses
        assert catalog.store.count() == TABLES


@pytest.mark.parametrize("name", ["remembered.json", "search"])
def test_a_directory_that_remembers_nothing_is_opened_without_a_word(
    copy: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    lose_beside(copy, name)
    with closing(open_catalog(copy, load_registry())) as catalog:
        assert not catalog.losses
    assert (copy / "remembered.json").exists()
    assert check_directory(copy) == []
    assert not caplog.text


def write(catalog: CatalogEngine, urn: Urn, aspect: str, value: Any) -> None:
    change = catalog.intake.check(Proposal(urn, aspect, value))
    catalog.store.write(lambda tx: catalog.intake.apply(tx, change, 1)).result(60)


def names(catalog: CatalogEngine) -> set[str]:
    """What a search for everything finds, once the index is there."""
    deadline = time.monotonic() + SECONDS
    while catalog.index.is_suspended:
        assert time.monotonic() < deadline, "the index was never rebuilt"
        time.sleep(0.01)
    query = SearchQuery("*", None, Filter(), 0, 0, include_removed=True)
    return {Urn.parse(urn).name for urn in catalog.index.find_urns(query)}


@pytest.fixture
def served(
    copy: Path, serve: Callable[[Service], str]
) -> Iterator[tuple[CatalogEngine, httpx.Client, Path]]:
    """A catalog that is served, and its directory, to be damaged while it is used."""
    catalog = open_catalog(copy, load_registry())
    with httpx.Client(base_url=serve(Service(catalog)), timeout=120) as http:
        yield catalog, http, copy
    catalog.close()


def search(http: httpx.Client, text: str) -> httpx.Response:
    body = {"input": text, "entity": "dataset", "start": 0, "count": 10}
    return http.post("/entities?action=search", json=body)


def overwrite(path: Path) -> None:
    """Put noise in the place of what a file holds, in the same file: who has it open sees it."""
    with path.open("rb+") as file:
        size = file.seek(0, 2)
        file.seek(0)
        file.write(random.Random(3).randbytes(size))


def test_an_index_damaged_while_it_is_used_is_made_anew_and_nothing_else_stops(
    served: tuple[CatalogEngine, httpx.Client, Path],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    catalog, http, directory = served
    assert search(http, "zebra001").json()["value"]["numEntities"] == 1
    catalog.index.flush()
    may_rebuild = threading.Event()
    begin = catalog.rebuild_index
    monkeypatch.setattr(
        catalog.index,
        "on_damage",
        lambda: threading.Thread(target=lambda: (may_rebuild.wait(SECONDS), begin())).start(),
    )
    for kind in ("*.store", "*.idx", "*.term", "*.fast"):
        for path in (directory / "search").glob(kind):
            overwrite(path)
    answer = search(http, "zebra002")
    assert answer.status_code == 503, answer.text
    assert answer.headers["retry-after"] == "5"
    assert "rebuilt" in answer.json()["message"]
    graphql = '{search(input: {type: DATASET, query: "*"}) {total}}'
    told = http.post("/api/graphql", json={"query": graphql}).json()["errors"][0]
    assert "rebuilt" in told["message"]
    assert told["extensions"]["code"] == 503
    # What is not derived goes on, also a container that takes others along.
    urn = str(table(1))
    assert http.get("/entitiesV2", params={"ids": f"List({urn})"}).json()["results"][urn]
    assert http.get(
        "/relationships", params={"urn": urn, "direction": "INCOMING", "types": "List(IsPartOf)"}
    ).is_success
    monkeypatch.setattr("explorer.server.routes.lineage._READ_ONE_BY_ONE", -1)
    asked = {"urn": urn, "direction": "DOWNSTREAM", "form": "lists"}
    lineage = http.post("/relationships?action=getLineage", json=asked)
    assert lineage.json()["value"]["removed"] == []
    assert http.get("/health").status_code == 200
    box, outer = Urn.of("container", "box"), Urn.of("container", "outer")
    write(catalog, table(4), "container", {"container": str(box)})
    write(catalog, box, "container", {"container": str(outer)})
    write(catalog, Urn.of("tag", "meanwhile"), "tagProperties", {"name": "meanwhile"})
    may_rebuild.set()
    expected = {table(at).name for at in range(TABLES)} | {"box", "meanwhile"}
    assert names(catalog) == expected
    assert search(http, "zebra002").json()["value"]["numEntities"] == 1
    assert "is damaged" in caplog.text
    assert "was rebuilt, with" in caplog.text
    catalog.index.flush()
    assert check(cast(SurveyedStore, catalog.store), catalog.index, catalog.registry) == []


def test_what_is_written_while_an_index_is_made_anew_is_found(
    fresh: Callable[[], CatalogEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = fresh()
    for number in range(30):
        write(catalog, table(number), "datasetProperties", described(number))
    catalog.index.flush()
    monkeypatch.setattr("explorer.server.projection._AT_ONCE", 3)
    threads = []
    for round_ in range(3):

        def fill(round_: int = round_) -> None:
            for number in range(20):
                urn = Urn.of("tag", f"r{round_}n{number}")
                write(catalog, urn, "tagProperties", {"name": "x"})

        threads.append(threading.Thread(target=fill))
        threads[-1].start()
        catalog.rebuild_index()
        assert names(catalog)
    for thread in threads:
        thread.join()
    tags = {f"r{round_}n{number}" for round_ in range(3) for number in range(20)}
    assert names(catalog) == tags | {table(number).name for number in range(30)}
    assert check(cast(SurveyedStore, catalog.store), catalog.index, catalog.registry) == []


def test_what_is_written_just_after_a_rebuild_has_read_the_changes_is_found(
    fresh: Callable[[], CatalogEngine], monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = fresh()
    monkeypatch.setattr("explorer.server.projection._AT_ONCE", 3)
    feed, read_changes = Projection._feed, Projection._changes_after
    expected = {f"meanwhile{number}" for number in range(5)}

    def write_tag(name: str) -> None:
        write(catalog, Urn.of("tag", name), "tagProperties", {"name": name})

    def feed_later(projection: Projection, urns: Sequence[str], offset: int) -> int:
        # More changes than are left to the end of the rebuild.
        for name in sorted(expected - {"first", "late"}):
            write_tag(name)
        monkeypatch.setattr(Projection, "_feed", feed)
        return feed(projection, urns, offset)

    def write_late(projection: Projection, offset: int) -> list[str]:
        urns = read_changes(projection, offset)
        monkeypatch.setattr(Projection, "_changes_after", read_changes)
        write_tag("late")
        return urns

    write_tag("first")
    monkeypatch.setattr(Projection, "_feed", feed_later)
    monkeypatch.setattr(Projection, "_changes_after", write_late)
    expected |= {"first", "late"}
    catalog.rebuild_index()
    assert names(catalog) == expected


def test_a_large_index_is_made_anew_while_the_catalog_is_used(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.server.data_directory._MADE_AT_ONCE", 10)
    shutil.rmtree(copy / "search")
    catalog = open_catalog(copy, load_registry())
    try:
        write(catalog, Urn.of("tag", "early"), "tagProperties", {"name": "early"})
        assert names(catalog) == {table(at).name for at in range(TABLES)} | {"early"}
    finally:
        catalog.close()
    # Stopped in the middle it begins again.
    shutil.rmtree(copy / "search")
    catalog = open_catalog(copy, load_registry())
    catalog.close()
    catalog = open_catalog(copy, load_registry())
    assert len(names(catalog)) == TABLES + 1
    catalog.close()


def test_what_an_earlier_release_left_in_other_folders_is_placed_anew(copy: Path) -> None:
    urn = table(1)
    catalog = open_catalog(copy, load_registry())
    paths = catalog.intake.check(Proposal(urn, "browsePathsV2", {"path": [{"id": "sent"}]}))
    catalog.store.write(partial(catalog.intake.apply, change=paths, now_millis=1)).result()
    former = [Placement(("prod", "hive", "shop"))]
    catalog.store.write(lambda view: view.place(str(urn), "dataset", urn.name, former)).result()
    # An earlier release did not note it.
    catalog.store.write(lambda view: view.set_note("placed", None)).result()
    catalog.close()
    shutil.rmtree(copy / "search")
    catalog = open_catalog(copy, load_registry())
    assert names(catalog)
    page = catalog.browse("dataset", ("sent",), 0, 10, Filter())
    assert [urn for _, urn in page.entities] == [str(urn)]
    catalog.close()


def test_an_index_of_an_older_format_is_made_anew_at_the_first_start(
    copy: Path, serve: Callable[[Service], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it is, what needs no search is answered, and searches are told how far it is."""
    shutil.rmtree(copy / "search")
    with monkeypatch.context() as older:
        older.setattr("explorer.server.search.layers.FORMAT", FORMAT - 1)
        open_catalog(copy, load_registry()).close()
    reached, may_go_on = threading.Event(), threading.Event()
    made: list[Urn] = []

    def make(registry: Registry, view: Reader, urn: Urn, *rest: Any) -> EntityState:
        made.append(urn)
        if len(made) > 20:
            reached.set()
            assert may_go_on.wait(SECONDS)
        return read_state(registry, view, urn, *rest)

    monkeypatch.setattr("explorer.server.data_directory._MADE_AT_ONCE", 10)
    monkeypatch.setattr("explorer.server.projection._AT_ONCE", 10)
    monkeypatch.setattr("explorer.server.projection.read_state", make)
    catalog = open_catalog(copy, load_registry())
    with httpx.Client(base_url=serve(Service(catalog)), timeout=120) as http:
        assert reached.wait(SECONDS)
        answer = search(http, "zebra002")
        assert answer.status_code == 503
        assert (
            f"being rebuilt: 20 of {catalog.store.count()} entities; try again"
            in (answer.json()["message"])
        )
        urn = str(table(1))
        assert http.get("/entitiesV2", params={"ids": f"List({urn})"}).json()["results"][urn]
        may_go_on.set()
        assert names(catalog) == {table(at).name for at in range(TABLES)}
        assert search(http, "zebra002").json()["value"]["numEntities"] == 1
    catalog.close()
    made.clear()
    open_catalog(copy, load_registry()).close()
    assert not made, "the index is made anew at the second start too"


@pytest.mark.parametrize("column", ["value", "system"])
def test_stored_text_that_is_not_json_is_told_and_stops_no_other(
    copy: Path, column: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A single flipped bit may leave a file that SQLite finds whole."""
    with closing(sqlite3.connect(copy / "catalog.db")) as file, file:
        found = file.execute(
            f"SELECT a.id, a.{column} FROM aspects a JOIN urns u ON u.id = a.entity "
            "WHERE u.urn = ? AND a.name = 'datasetProperties'",
            (str(table(2)),),
        ).fetchone()
        broken = bytes(found[1]).replace(b'"', b"\xa2", 1)
        file.execute(f"UPDATE aspects SET {column} = ? WHERE id = ?", (broken, found[0]))
    findings = check_directory(copy)
    what = "value" if column == "value" else "system metadata"
    assert (str(table(2)), f"the {what} of datasetProperties is not JSON") in {
        (finding.subject, finding.problem) for finding in findings
    }
    shutil.rmtree(copy / "search")
    catalog = open_catalog(copy, load_registry())
    try:
        assert names(catalog) == {table(at).name for at in range(TABLES)}
        write(catalog, table(2), "status", {"removed": False})
    finally:
        catalog.close()
    assert ("is not JSON" in caplog.text) is (column == "value")


def test_a_search_that_fails_over_a_whole_index_takes_no_other_along(
    served: tuple[CatalogEngine, httpx.Client, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog, http, _ = served
    fault = EngineFailed("a panic of the engine")

    def fail(*_: object, **__: object) -> None:
        raise fault

    with monkeypatch.context() as patched:
        patched.setattr(Searcher, "search", fail)
        answer = search(http, "never asked before")
    assert answer.status_code == 500
    assert "report it" in answer.json()["message"]
    assert not catalog.index.is_suspended
    assert search(http, "zebra003").json()["value"]["numEntities"] == 1


def test_a_database_beside_the_index_of_another_catalog_has_its_own_entities(
    copy: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    catalog = open_catalog(other, load_registry())
    # As many changes, so that the positions in the logs agree.
    for number in range(TABLES + 20):
        write(catalog, Urn.of("tag", f"t{number}"), "tagProperties", {"name": "t"})
    catalog.close()
    shutil.copy(other / "catalog.db", copy / "catalog.db")
    catalog = open_catalog(copy, load_registry())
    assert names(catalog) == {f"t{number}" for number in range(TABLES + 20)}
    catalog.close()
    assert "built from another catalog" in caplog.text


@pytest.mark.parametrize("more", [0, 5])
def test_an_older_copy_of_the_database_is_not_searched_with_the_newer_index(
    copy: Path, more: int, caplog: pytest.LogCaptureFixture
) -> None:
    older = copy.with_name("older.db")
    shutil.copy(copy / "catalog.db", older)
    catalog = open_catalog(copy, load_registry())
    for number in range(3):
        write(catalog, Urn.of("tag", f"gone{number}"), "tagProperties", {"name": "t"})
    catalog.close()
    shutil.copy(older, copy / "catalog.db")
    if more:
        # It was written to elsewhere, beyond where the index ends.
        kept = (copy / "search").rename(copy / "aside")
        catalog = open_catalog(copy, load_registry())
        for number in range(more):
            write(catalog, Urn.of("tag", f"there{number}"), "tagProperties", {"name": "t"})
        catalog.close()
        shutil.rmtree(copy / "search")
        kept.rename(copy / "search")
    catalog = open_catalog(copy, load_registry())
    assert catalog.losses
    tables = {table(at).name for at in range(TABLES)}
    assert names(catalog) == tables | {f"there{number}" for number in range(more)}
    catalog.close()
    assert "changes that the catalog does not have" in caplog.text


def test_an_index_written_while_the_database_is_away_is_kept(
    copy: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise StoreUnavailable("the database cannot be reached", retry_after_seconds=1)

    catalog = open_catalog(copy, load_registry())
    catalog.index.flush()
    noted = catalog.index.committed_offset
    with monkeypatch.context() as patched:
        patched.setattr(type(catalog.store), "log", fail)
        write(catalog, Urn.of("tag", "new"), "tagProperties", {"name": "t"})
        catalog.index.flush()
    assert catalog.index.committed_offset == noted
    catalog.close()
    catalog = open_catalog(copy, load_registry())
    assert names(catalog) == {table(at).name for at in range(TABLES)} | {"new"}
    catalog.close()
    assert "rebuilt" not in caplog.text


def test_a_database_found_damaged_is_only_read_and_says_so(
    copy: Path, serve: Callable[[Service], str]
) -> None:
    with closing(sqlite3.connect(copy / "catalog.db")) as file:
        (root,) = file.execute("SELECT rootpage FROM sqlite_master WHERE name = 'edges'").fetchone()
    with (copy / "catalog.db").open("rb+") as file:
        file.seek((root - 1) * PAGE_BYTES)
        file.write(random.Random(1).randbytes(PAGE_BYTES))
    catalog = open_catalog(copy, load_registry())
    with httpx.Client(base_url=serve(Service(catalog)), timeout=120) as http:
        urn = str(table(1))
        answer = http.get(
            "/relationships",
            params={"urn": urn, "direction": "OUTGOING", "types": "List(IsPartOf)"},
        )
        assert answer.status_code == 503
        assert "is damaged" in answer.json()["message"]
        health = http.get("/health")
        assert health.status_code == 503
        assert "no more writes are accepted" in health.json()["message"]
        wire = {
            "entityType": "tag",
            "entityUrn": "urn:li:tag:x",
            "changeType": "UPSERT",
            "aspectName": "tagProperties",
        }
        body = {"proposal": {**wire, "aspect": {"value": '{"name": "x"}'}}}
        written = http.post("/aspects?action=ingestProposal", json=body)
        assert written.status_code == 503
        assert "catalog restore" in written.json()["message"]
        read = http.get("/entitiesV2", params={"ids": f"List({urn})"}).json()["results"][urn]
        assert read["aspects"]["datasetProperties"]["value"] == described(1)
        assert search(http, "zebra002").json()["value"]["numEntities"] == 1
    catalog.close()


def test_health_says_when_the_writer_does_not_answer(
    fresh: Callable[[], CatalogEngine],
    serve: Callable[[Service], str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    catalog = fresh()
    monkeypatch.setattr("explorer.server.catalog._PROBE_SECONDS", 0.2)
    go_on = threading.Event()
    with httpx.Client(base_url=serve(Service(catalog)), timeout=120) as http:
        assert http.get("/health").content == b""
        stuck = catalog.store.write(lambda _: go_on.wait(SECONDS))
        for _ in range(2):
            answer = http.get("/health")
            assert answer.status_code == 503
            assert "the writer did not answer" in answer.json()["message"]
        go_on.set()
        stuck.result(SECONDS)
        monkeypatch.undo()
        assert http.get("/health").status_code == 200


DYING = """
    import sys
    from pathlib import Path
    from explorer.cli import service
    from explorer.server.store.sql import transaction

    class Panic(BaseException):
        pass

    def put(self, write):
        raise Panic("not foreseen")

    transaction.SqlTransaction.put = put
    sys.exit(service.main(["--data-dir", sys.argv[1], "--no-sample"]))
"""


def test_a_service_whose_writer_fails_ends_loudly_and_leaves_nobody_waiting(
    tmp_path: Path,
) -> None:
    directory = tmp_path / "data"
    words = (tmp_path / "words").open("wb")
    command = [sys.executable, "-c", textwrap.dedent(DYING), str(directory)]
    with words, subprocess.Popen(command, stderr=words) as process:
        while (instance := find(directory)) is None:
            assert process.poll() is None, (tmp_path / "words").read_text()
            time.sleep(0.005)
        wire = {
            "entityType": "tag",
            "entityUrn": "urn:li:tag:x",
            "changeType": "UPSERT",
            "aspectName": "tagProperties",
        }
        body = {"proposal": {**wire, "aspect": {"value": '{"name": "x"}'}}}
        with connect(instance) as http:
            answer = http.post("/aspects?action=ingestProposal", json=body)
        assert answer.status_code == 500
        assert "the catalog's writer failed" in answer.json()["message"]
        assert process.wait(SECONDS) not in (0, None)
    said = (tmp_path / "words").read_text()
    assert "not foreseen" in said
    assert "stopped because its writer failed" in said
