"""`catalog compact` and `serve --keep-…`: the disk that removed metadata took is given back, and
what is older than is kept goes."""

import subprocess
import time
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from explorer.instance import find, hold
from explorer.metadata.proposal import Proposal
from explorer.metadata.registry import load_registry
from explorer.metadata.urn import Urn
from explorer.server.consistency import check_directory
from explorer.server.data_directory import open_catalog
from tests.cli.conftest import COMMAND, Run, environment

TAGS = 200


def tag(number: int) -> Urn:
    return Urn.of("tag", f"t{number}")


def fill(directory: Path) -> None:
    """Make a catalog from which all but one tag was removed, and the log of it."""
    directory.mkdir()
    catalog = open_catalog(directory, load_registry())
    chance = Random(1)
    for number in range(TAGS):
        value = {"name": f"t{number}", "description": chance.randbytes(3_000).hex()}
        change = catalog.intake.check(Proposal(tag(number), "tagProperties", value))
        catalog.store.write(partial(catalog.intake.apply, change=change, now_millis=1)).result()

    def remove(transaction: Any) -> None:
        for number in range(1, TAGS):
            catalog.intake.remove(transaction, tag(number), "tagKey", (None, None), 1, "x")

    catalog.store.write(remove).result()
    catalog.store.write(lambda view: view.trim_log(2, 10_000, 10_000)).result()
    catalog.close()


def test_what_was_removed_takes_no_disk_any_more(catalog: Run, tmp_path: Path) -> None:
    directory = tmp_path / "data"
    fill(directory)
    before = (directory / "catalog.db").stat().st_size
    ran = catalog("compact", "--data-dir", str(directory), url=None)
    after = (directory / "catalog.db").stat().st_size
    assert (ran.code, ran.out) == (0, ""), ran
    assert f"from {before:,} to {after:,} bytes" in ran.err
    assert after < before / 4
    assert check_directory(directory) == []
    kept = open_catalog(directory, load_registry())
    assert kept.store.urns(entity_type="tag") == [str(tag(0))]
    kept.close()


def test_it_is_refused_while_somebody_serves_the_catalog(catalog: Run, tmp_path: Path) -> None:
    directory = tmp_path / "data"
    fill(directory)
    with hold(directory) as held:
        held.announce("http://127.0.0.1:1", "0")
        ran = catalog("compact", "--data-dir", str(directory), url=None)
    assert ran.code == 3
    assert "stop it, and then compact" in ran.err


def test_a_directory_without_a_catalog_is_told(catalog: Run, tmp_path: Path) -> None:
    ran = catalog("compact", "--data-dir", str(tmp_path), url=None)
    assert ran.code == 3
    assert "there is no catalog" in ran.err


@pytest.mark.parametrize(
    ("option", "given", "reason"),
    [
        ("--keep-versions", "0", "“0” is neither a number of versions from 1 to 1000000 nor all"),
        ("--keep-versions", "10000000", "neither a number of versions from 1 to 1000000 nor all"),
        ("--keep-timeseries-days", "30", "neither a number of days from 31 to 36500 nor all"),
        ("--keep-changes", "-1", "neither a number of days from 1 to 36500 nor all"),
    ],
)
def test_how_much_is_kept_is_a_number_or_all(
    catalog: Run, option: str, given: str, reason: str
) -> None:
    ran = catalog("serve", option, given, url=None)
    assert ran.code == 2, ran
    assert reason in " ".join(ran.err.split())


@pytest.mark.parametrize("by", ["option", "environment"])
def test_older_versions_than_are_kept_go_while_a_catalog_is_served(
    catalog: Run, tmp_path: Path, by: str
) -> None:
    directory = tmp_path / "data"
    directory.mkdir()
    engine = open_catalog(directory, load_registry())
    for number in range(9):
        change = engine.intake.check(Proposal(tag(1), "tagProperties", {"name": f"n{number}"}))
        engine.store.write(partial(engine.intake.apply, change=change, now_millis=1)).result()
    change = engine.intake.check(Proposal(tag(2), "tagProperties", {"name": "last"}))
    engine.store.write(partial(engine.intake.apply, change=change, now_millis=1)).result()
    head = engine.store.log_bounds().head
    engine.store.write(lambda view: view.trim_log(100, head, 10_000)).result()
    engine.close()
    words = ["serve", "--port", "0", "--data-dir", str(directory)]
    more = {"CATALOG_KEEP_VERSIONS": "2"} if by == "environment" else {}
    words += ["--keep-versions", "2"] if by == "option" else []
    with subprocess.Popen((*COMMAND, *words), env=environment(**more)) as served:
        try:
            deadline = time.monotonic() + 120
            while find(directory) is None:
                assert time.monotonic() < deadline
                time.sleep(0.02)
            url = find(directory)
            assert url is not None
            kept: list[Any] = []
            while len(kept) != 3:
                assert time.monotonic() < deadline, kept
                ran = catalog("history", str(tag(1)), "--json", url=url.address)
                assert ran.code == 0, ran
                kept = [one for one in ran.json["versions"] if one["aspect"] == "tagProperties"]
        finally:
            served.terminate()
    assert check_directory(directory) == []
