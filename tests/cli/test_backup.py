"""`catalog backup`: a whole copy of a catalog that is being written to."""

import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from explorer.metadata.registry import load_registry
from explorer.server.authentication import create_token
from explorer.server.data_directory import open_catalog
from tests.cli.conftest import Run


@pytest.fixture
def directory(tmp_path: Path) -> Any:
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def write(catalog: Any, name: Any) -> None:
    from explorer.metadata.proposal import Proposal
    from explorer.metadata.urn import Urn

    change = catalog.intake.check(Proposal(Urn.of("tag", name), "tagProperties", {"name": name}))
    catalog.store.write(lambda tx: catalog.intake.apply(tx, change, 1)).result()


def test_a_copy_made_under_writes_is_a_prefix_of_them_and_opens(
    catalog: Run, directory: Any, tmp_path: Path
) -> None:
    served = open_catalog(directory, load_registry())
    written: list[str] = []
    begun, enough = threading.Event(), threading.Event()

    def fill() -> None:
        while not enough.is_set():
            name = f"t{len(written)}"
            write(served, name)
            written.append(name)
            if len(written) > 50:
                begun.set()

    writer = threading.Thread(target=fill)
    writer.start()
    try:
        assert begun.wait(30)
        before = len(written)
        ran = catalog("backup", str(tmp_path / "copy"), "--data-dir", str(directory), url=None)
    finally:
        enough.set()
        writer.join()
        served.close()
    assert (ran.code, ran.out) == (0, ""), ran
    copy = open_catalog(tmp_path / "copy", load_registry())
    try:
        count = copy.store.count()
        assert before <= count <= len(written)
        names = {urn.removeprefix("urn:li:tag:") for urn in copy.store.urns()}
        assert names == set(written[:count])
        assert copy.index.total() == count
    finally:
        copy.close()


def test_the_copy_holds_every_row(catalog: Run, directory: Any, tmp_path: Path) -> None:
    served = open_catalog(directory, load_registry())
    for n in range(20):
        write(served, f"t{n % 7}")
    served.close()
    create_token(directory / "tokens.json", "a", "urn:li:corpuser:a")
    ran = catalog("backup", str(tmp_path / "deep" / "copy"), "--data-dir", str(directory), url=None)
    assert ran.code == 0, ran

    def rows(path: Any) -> Any:
        with closing(sqlite3.connect(path)) as file:
            return list(file.iterdump())

    assert rows(tmp_path / "deep" / "copy" / "catalog.db") == rows(directory / "catalog.db")
    tokens = tmp_path / "deep" / "copy" / "tokens.json"
    assert tokens.read_bytes() == (directory / "tokens.json").read_bytes()
    assert tokens.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("step", ["backup", "restore"])
def test_what_no_catalog_has_is_told_with_what_to_do_before_it_is_copied(
    catalog: Run, directory: Any, tmp_path: Path, step: str
) -> None:
    open_catalog(directory, load_registry()).close()
    if step == "backup":
        arguments = (str(tmp_path / "copy"), "--data-dir", str(directory))
    else:
        arguments = (str(directory), "--data-dir", str(tmp_path / "other"))
    command = (step, *arguments)
    with closing(sqlite3.connect(directory / "catalog.db")) as opened:
        opened.execute("CREATE TRIGGER spy AFTER INSERT ON aspects BEGIN DELETE FROM urns; END")
    ran = catalog(*command, url=None)
    assert ran.code == 3
    assert "has the trigger spy, which no catalog has" in ran.err
    assert "drop the trigger" in ran.err
    assert not (tmp_path / "copy").exists()
    assert not (tmp_path / "other" / "catalog.db").exists()
    with closing(sqlite3.connect(directory / "catalog.db")) as opened:
        opened.execute("DROP TRIGGER spy")
    assert catalog(*command, url=None).code == 0


def test_nothing_is_written_over(catalog: Run, directory: Any, tmp_path: Path) -> None:
    open_catalog(directory, load_registry()).close()
    (tmp_path / "there").mkdir()
    ran = catalog("backup", str(tmp_path / "there"), "--data-dir", str(directory), url=None)
    assert ran.code == 1
    assert "already" in ran.err
    assert list((tmp_path / "there").iterdir()) == []


def test_a_directory_without_a_catalog_is_told(
    catalog: Run, directory: Any, tmp_path: Path
) -> None:
    ran = catalog("backup", str(tmp_path / "copy"), "--data-dir", str(directory), url=None)
    assert ran.code == 3
    assert "no catalog" in ran.err
    assert not (tmp_path / "copy").exists()
