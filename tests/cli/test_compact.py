"""`catalog compact`: the disk that removed metadata took is given back."""

from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from explorer.instance import hold
from explorer.metadata.proposal import Proposal
from explorer.metadata.registry import load_registry
from explorer.metadata.urn import Urn
from explorer.server.consistency import check_directory
from explorer.server.data_directory import open_catalog
from tests.cli.conftest import Run

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
    assert f"takes {after:,} bytes; it took {before:,}" in ran.err
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
