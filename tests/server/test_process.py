"""The service as a process: what survives a kill, what is seeded, and when it leaves."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import copytree, rmtree
from typing import Any

import httpx
import pytest

from explorer.errors import InvalidAspect, Unusable
from explorer.instance import HELD_STATUS, Instance, ensure, find
from explorer.metadata.proposal import Proposal
from explorer.metadata.registry import load_registry
from explorer.metadata.urn import Urn
from explorer.query.filters import Filter
from explorer.sample import SAMPLE_RUN_ID
from explorer.server import serve
from explorer.server.catalog import CatalogEngine
from explorer.server.data_directory import open_catalog
from explorer.server.search.query import SearchQuery

Run = Callable[..., subprocess.Popen[str]]

INFO = {"name": "ours", "type": "OTHERS", "datasetNameDelimiter": "."}


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """Start the service on this test's directory; whatever still runs at the end is killed."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str, data_dir: Path = tmp_path) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "explorer.cli.service", "--data-dir", str(data_dir)]
        started.append(subprocess.Popen([*command, *arguments], stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def answering(data_dir: Path, process: subprocess.Popen[str]) -> Instance:
    while (found := find(data_dir)) is None:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    return found


def connect(instance: Instance) -> httpx.Client:
    path = instance.address.removeprefix("unix:")
    return httpx.Client(
        transport=httpx.HTTPTransport(uds=path), base_url="http://catalog", timeout=120
    )


def tag(name: str) -> dict[str, Any]:
    return {
        "proposal": {
            "entityType": "tag",
            "entityUrn": f"urn:li:tag:{name}",
            "changeType": "UPSERT",
            "aspectName": "tagProperties",
            "aspect": {"value": json.dumps({"name": name})},
        }
    }


def write_until_killed(http: httpx.Client, pid: int) -> list[str]:
    """Write tags one after another, killing the service meanwhile; those that were answered."""
    answered: list[str] = []

    def kill() -> None:
        while len(answered) < 150:
            time.sleep(0.001)
        os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        while True:
            name = f"t{len(answered)}"
            http.post("/aspects?action=ingestProposal", json=tag(name)).raise_for_status()
            answered.append(name)
    except httpx.TransportError:
        return answered
    finally:
        killer.join()


def test_every_write_that_was_answered_survives_kill_9(tmp_path: Path, run: Run) -> None:
    process = run("--no-sample")
    instance = answering(tmp_path, process)
    with connect(instance) as http:
        answered = write_until_killed(http, instance.pid)
    process.wait()
    assert len(answered) >= 150
    assert find(tmp_path) is None
    with connect(answering(tmp_path, run("--no-sample"))) as http:
        ids = ",".join(f"urn:li:tag:{name}" for name in answered)
        results = http.get(f"/entitiesV2?ids=List({ids})").json()["results"]
        assert all("tagProperties" in read["aspects"] for read in results.values())
        body = {"input": answered[-1], "entity": "tag", "start": 0, "count": 10}
        found = http.post("/entities?action=search", json=body).json()["value"]
        assert f"urn:li:tag:{answered[-1]}" in found["entities"]


def test_a_new_catalog_holds_the_sample_until_it_is_rolled_back(tmp_path: Path, run: Run) -> None:
    process = run()
    with connect(answering(tmp_path, process)) as http:
        ours = http.get("/config").json()["catalogExplorer"]
        assert ours["sample"] is True
        assert ours["entities"] > 100
        # What only describes other entities does not count.
        proposal = {
            "entityType": "dataPlatform",
            "entityUrn": "urn:li:dataPlatform:ours",
            "changeType": "UPSERT",
            "aspectName": "dataPlatformInfo",
            "aspect": {"value": json.dumps(INFO)},
        }
        http.post("/aspects?action=ingestProposal", json={"proposal": proposal}).raise_for_status()
        assert http.get("/config").json()["catalogExplorer"]["entities"] == ours["entities"]
        body = {"runId": SAMPLE_RUN_ID, "dryRun": False, "safe": False}
        undone = http.post("/runs?action=rollback", json=body, timeout=120).json()["value"]
        assert undone["entitiesDeleted"] >= ours["entities"]
        ours = http.get("/config").json()["catalogExplorer"]
        assert (ours["sample"], ours["entities"]) == (False, 0)
    process.send_signal(signal.SIGTERM)
    assert process.wait() == 0
    with connect(answering(tmp_path, run())) as http:
        assert http.get("/config").json()["catalogExplorer"]["entities"] == 0


def test_a_signal_stops_it_after_what_is_under_way(tmp_path: Path, run: Run) -> None:
    process = run("--no-sample")
    instance = answering(tmp_path, process)
    with connect(instance) as http:
        http.post("/aspects?action=ingestProposal", json=tag("kept")).raise_for_status()
        process.send_signal(signal.SIGTERM)
        _, words = process.communicate(timeout=120)
    assert (process.returncode, words) == (0, "")
    assert not Path(instance.address.removeprefix("unix:")).exists()
    catalog = open_catalog(tmp_path, load_registry())
    assert catalog.store.existing(["urn:li:tag:kept"])
    assert catalog.index.committed_offset == catalog.store.log_bounds().head
    catalog.close()


@pytest.mark.nightly
def test_it_leaves_when_nobody_asks_and_stays_while_somebody_does(tmp_path: Path, run: Run) -> None:
    process = run("--no-sample", "--idle-seconds", "1.5")
    with connect(answering(tmp_path, process)) as http:
        busy_until = time.monotonic() + 2.5
        while time.monotonic() < busy_until:
            assert http.get("/health").status_code == 200
            time.sleep(0.05)
        # The connection stays open; only silence ends the service.
        assert process.wait(timeout=120) == 0
    assert find(tmp_path) is None


def test_a_second_one_on_the_same_directory_names_the_first(tmp_path: Path, run: Run) -> None:
    instance = answering(tmp_path, run("--no-sample"))
    second = run("--no-sample")
    _, words = second.communicate(timeout=120)
    assert second.returncode == HELD_STATUS
    assert words.count("\n") == 1
    assert str(instance.pid) in words
    assert instance.address in words


@pytest.mark.parametrize("kind", ["file", "below a file", "newer", "foreign", "no database"])
def test_a_place_that_cannot_be_used_is_one_sentence(tmp_path: Path, run: Run, kind: str) -> None:
    place = tmp_path / "place"
    if kind in ("file", "below a file"):
        place.write_text("x")
        place = place / "below" if kind == "below a file" else place
    else:
        place.mkdir()
        with sqlite3.connect(place / "catalog.db") as file:
            if kind == "newer":
                file.execute("CREATE TABLE meta (key TEXT, value TEXT)")
                file.execute("INSERT INTO meta VALUES ('format', '99')")
            else:
                file.execute("CREATE TABLE songs (title TEXT)")
        file.close()
        if kind == "no database":
            (place / "catalog.db").write_bytes(b"not a database, whatever it is" * 50)
    process = run("--no-sample", data_dir=place)
    _, words = process.communicate(timeout=120)
    assert process.returncode == 2
    assert words.count("\n") == 1
    assert str(place) in words
    assert "Traceback" not in words


def test_serving_on_a_port_in_use_says_so(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(Unusable, match=f"port {port} of 127.0.0.1 is in use"):
            serve(host="127.0.0.1", port=port, data_dir=tmp_path, announce=print)
    assert find(tmp_path) is None


@pytest.mark.parametrize("host", ["no.such.host.invalid", "192.0.2.1"])
def test_serving_on_an_address_of_another_machine_says_so(tmp_path: Path, host: str) -> None:
    with pytest.raises(Unusable, match="not an address of this machine"):
        serve(host=host, port=0, data_dir=tmp_path, announce=print, open_to_network=True)


def test_the_network_is_not_served_by_accident(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match="anybody on the network"):
        serve(host="0.0.0.0", port=0, data_dir=tmp_path, announce=print)


def test_serving_in_the_foreground_announces_an_address_that_is_found(tmp_path: Path) -> None:
    code = (
        "import sys, pathlib, explorer.server as s\n"
        "s.serve(host='127.0.0.1', port=0, data_dir=pathlib.Path(sys.argv[1]), "
        "base_path='/x', announce=lambda at: print(at, flush=True))"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        found = find(tmp_path)
        assert found is not None
        assert (found.address, found.pid) == (address, process.pid)
        assert ensure(tmp_path) == found
        assert httpx.get(f"{address}/health", timeout=120).status_code == 200
        assert address.endswith("/x")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=120) == 0


class TestSeeding:
    """Filling a catalog that never held anything."""

    @staticmethod
    def seed() -> list[Proposal]:
        system = {"runId": "seeding"}
        names = ("one", "two")
        return [
            Proposal(Urn.of("tag", name), "tagProperties", {"name": name}, system=system)
            for name in names
        ]

    def test_happens_once(self, fresh: Callable[[], CatalogEngine]) -> None:
        catalog = fresh()
        assert catalog.seed(self.seed) is True
        assert catalog.describe()["sample"] is True
        catalog = fresh()
        assert catalog.seed(self.seed) is False
        assert catalog.store.count() == 2

    def test_does_not_touch_a_catalog_that_holds_something(
        self, fresh: Callable[[], CatalogEngine]
    ) -> None:
        catalog = fresh()
        change = catalog.intake.check(self.seed()[0])
        catalog.store.write(lambda tx: catalog.intake.apply(tx, change, 1)).result()
        assert catalog.seed(self.seed) is False
        assert catalog.store.count() == 1
        assert catalog.describe()["sample"] is False

    def test_that_fails_leaves_nothing_and_may_be_tried_again(
        self, fresh: Callable[[], CatalogEngine]
    ) -> None:
        catalog = fresh()
        bad = Proposal(Urn.of("tag", "bad"), "tagProperties", {})
        with pytest.raises(InvalidAspect, match="required"):
            catalog.seed(lambda: [*self.seed(), bad])
        assert catalog.store.count() == 0
        assert catalog.seed(self.seed) is True


def test_an_index_that_is_lost_or_of_another_catalog_is_made_again(
    fresh: Callable[[], CatalogEngine], tmp_path: Path
) -> None:
    wanted = SearchQuery("one", ("tag",), Filter(), 0, 10)
    catalog = fresh()
    catalog.seed(TestSeeding.seed)
    catalog = fresh()
    index = tmp_path / "data" / "search"
    assert index.is_dir()
    catalog.close()
    copytree(index, tmp_path / "kept")
    rmtree(index)
    catalog = open_catalog(tmp_path / "data", load_registry())
    assert catalog.index.search(wanted).total == 1
    catalog.close()
    (tmp_path / "other").mkdir()
    open_catalog(tmp_path / "other", load_registry()).close()
    rmtree(tmp_path / "other" / "search")
    copytree(tmp_path / "kept", tmp_path / "other" / "search")
    other = open_catalog(tmp_path / "other", load_registry())
    assert other.index.search(wanted).total == 0
    other.close()
