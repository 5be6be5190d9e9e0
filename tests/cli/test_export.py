"""`catalog export`: everything goes out, and `catalog load` takes it back."""

import json
import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from explorer.files import replace_file
from explorer.metadata import Urn
from explorer.metadata.registry import load_registry
from explorer.sample import sample_proposals
from explorer.server.data_directory import bootstrap_proposals, open_catalog
from tests.cli.conftest import Run


@pytest.fixture
def serving(command: tuple[str, ...]) -> Iterator[Any]:
    """Serve a directory; gives the address and what ends it."""
    started = []

    def start(directory: Any) -> Any:
        process = subprocess.Popen(
            (*command, "serve", "--port", "0", "--data-dir", str(directory)),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        started.append(process)

        def stop() -> None:
            process.terminate()
            process.communicate(timeout=120)

        assert process.stdout is not None
        return process.stdout.readline().decode().strip(), stop

    yield start
    for process in started:
        process.kill()
        process.communicate()


def holdings(directory: Any) -> Any:
    """Every latest aspect and every document over time, with what is told of its run."""
    catalog = open_catalog(directory, load_registry())
    try:
        store = catalog.store
        urns = store.urns()
        aspects = {
            (urn, one.name): (json.loads(one.value), told_of_run(one.system))
            for urn, stored in store.aspects(urns).items()
            for one in stored
        }
        points = [
            (urn, one.aspect, json.loads(one.value), told_of_run(one.system))
            for urn in urns
            for one in store.documents(urn)
        ]
    finally:
        catalog.close()
    return aspects, points


def told_of_run(system: Any) -> Any:
    """Which run brought it and when it was seen; each catalog adds what it counts of its own."""
    told = json.loads(system)
    return told["runId"], told["lastObserved"]


def of_every_eighth_entity(proposals: Any) -> Iterator[Any]:
    seen: dict[Urn, int] = {}
    for proposal in proposals:
        if seen.setdefault(proposal.urn, len(seen)) % 8 == 0:
            yield proposal.from_run("some-run", 5)


def fill(directory: Any) -> None:
    from datetime import date

    directory.mkdir()
    catalog = open_catalog(directory, load_registry())
    try:
        catalog.seed(lambda: of_every_eighth_entity(sample_proposals(date(2026, 1, 15))))
    finally:
        catalog.close()


@pytest.mark.nightly
def test_what_was_exported_and_loaded_is_equal(catalog: Run, serving: Any, tmp_path: Path) -> None:
    fill(tmp_path / "one")
    address, stop = serving(tmp_path / "one")
    removed = "urn:li:dataset:(urn:li:dataPlatform:hive,zz.removed,PROD)"
    for aspect, value in (
        ("datasetProperties", {"description": 'ünïcode \u2028 \x1b "quoted"'}),
        ("status", {"removed": True}),
    ):
        proposal = {
            "entityType": "dataset",
            "entityUrn": removed,
            "changeType": "UPSERT",
            "aspectName": aspect,
            "aspect": {"value": json.dumps(value)},
        }
        body = {"proposal": proposal}
        httpx.post(
            f"{address}/aspects?action=ingestProposal", json=body, timeout=120
        ).raise_for_status()
    file = tmp_path / "all.json"
    ran = catalog("export", str(file), url=address)
    assert (ran.code, ran.out) == (0, ""), ran
    stop()
    other, stop = serving(tmp_path / "two")
    loaded = catalog("load", str(file), url=other)
    assert loaded.code == 0, loaded
    stop()
    one, two = holdings(tmp_path / "one"), holdings(tmp_path / "two")
    # A new server knows platforms and the like by itself, not from the run.
    known = {str(one.urn) for one in bootstrap_proposals()}
    assert {urn for urn, _ in two[0].keys() - one[0].keys()} <= known
    assert {place: two[0][place][0] for place in one[0]} == {
        place: value for place, (value, _) in one[0].items()
    }
    runs = [
        {place: run for place, (_, run) in held.items() if place[0] not in known}
        for held in (one[0], two[0])
    ]
    assert runs[0] == runs[1]
    assert one[1] == two[1]
    assert len(one[0]) > 100
    assert len(one[1]) > 10
    assert (removed, "status") in two[0]


def test_the_key_aspect_of_each_entity_comes_first(shop: Run) -> None:
    changes = shop("export").json
    registry = load_registry()
    seen = set()
    for change in changes:
        if change["entityUrn"] not in seen:
            seen.add(change["entityUrn"])
            assert change["aspectName"] == registry.entity(change["entityType"]).key
    assert len(seen) > 1


def test_it_is_narrowed_by_type_platform_and_removal(shop: Run) -> None:
    everything = {change["entityUrn"] for change in shop("export").json}
    datasets = {change["entityUrn"] for change in shop("export", "--entity", "dataset").json}
    assert datasets == {urn for urn in everything if urn.startswith("urn:li:dataset:")}
    hive = {change["entityUrn"] for change in shop("export", "--platform", "hive").json}
    assert hive == {urn for urn in everything if "dataPlatform:hive" in urn}
    assert hive & datasets
    kept = {change["entityUrn"] for change in shop("export", "--exclude-removed").json}
    assert kept <= everything
    wrong = shop("export", "--entity", "nonsense")
    assert (wrong.code, wrong.out) == (1, "")
    assert "no entity" in wrong.err


def test_a_file_is_there_whole_or_not_at_all(catalog: Run, tmp_path: Path) -> None:
    file = tmp_path / "all.json"
    file.write_text("before")
    ran = catalog("export", str(file), "--entity", "nonsense")
    assert ran.code == 1
    assert file.read_text() == "before"
    assert [one.name for one in tmp_path.iterdir()] == ["all.json"]


def test_an_export_is_as_secret_as_the_catalog(shop: Run, tmp_path: Path) -> None:
    file = tmp_path / "all.json"
    file.touch(mode=0o644)
    assert shop("export", str(file), "--entity", "tag").code == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_link_to_a_file_stays_and_a_pipe_is_written_to(shop: Run, tmp_path: Path) -> None:
    held, link, pipe = (tmp_path / name for name in ("held.json", "link.json", "pipe"))
    link.symlink_to(held)
    os.mkfifo(pipe)
    reading = subprocess.Popen(("cat", str(pipe)), stdout=subprocess.PIPE)
    assert shop("export", str(link), "--entity", "tag").code == 0
    assert shop("export", str(pipe), "--entity", "tag").code == 0
    read, _ = reading.communicate(timeout=120)
    assert link.is_symlink()
    assert read == held.read_bytes() != b""
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert sorted(one.name for one in tmp_path.iterdir()) == ["held.json", "link.json", "pipe"]


def test_a_link_to_a_kept_file_stays(tmp_path: Path) -> None:
    held, link = tmp_path / "held", tmp_path / "link"
    link.symlink_to(held)
    for data in (b"one", b"two"):
        replace_file(link, data)
        assert held.read_bytes() == data
        assert link.is_symlink()
