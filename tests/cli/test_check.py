"""`catalog check`: proof that what lies on the disk agrees with itself."""

import os
import random
import resource
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from explorer.cli import service
from explorer.instance import find, hold
from explorer.metadata.proposal import Proposal
from explorer.metadata.registry import load_registry
from explorer.metadata.urn import Urn
from explorer.server import consistency
from explorer.server.consistency import Finding
from explorer.server.data_directory import open_catalog
from explorer.server.search.document import Document
from tests.cli.conftest import Run


@pytest.fixture
def kept(tmp_path: Path) -> Any:
    """The directory of a small catalog that nobody serves."""
    directory = tmp_path / "kept"
    directory.mkdir()
    opened = open_catalog(directory, load_registry())
    proposals = [
        Proposal(Urn.of("tag", name), "tagProperties", {"name": name}) for name in ("PII", "raw")
    ]
    opened.seed(lambda: proposals)
    opened.close()
    return directory


@pytest.fixture
def check(catalog: Run) -> Any:
    """Runs `catalog check` on a directory."""

    def run(directory: Any) -> Any:
        return catalog("check", "--data-dir", str(directory), url=None)

    return run


def test_a_whole_catalog_is_consistent(kept: Any, check: Any) -> None:
    ran = check(kept)
    assert (ran.code, ran.out, ran.err) == (0, f"{kept} is consistent\n", "")


def test_what_differs_is_told_with_what_to_do(kept: Any, check: Any) -> None:
    with sqlite3.connect(kept / "catalog.db") as database:
        other = "INSERT INTO urns (urn, type) VALUES ('urn:li:tag:PII\x1b[2J', 'tag')"
        row = database.execute(other).lastrowid
        database.execute("UPDATE log SET entity = ? WHERE offset = 1", (row,))
    database.close()
    ran = check(kept)
    assert ran.code == 1
    assert "log\turn:li:tag:PII\t" in ran.out.replace(" ", "\t", 1).replace(" ", "\t", 1)
    assert "\x1b" not in ran.out
    assert "findings: " in ran.err
    assert f"keep a copy of {kept}" in ran.err
    assert "reindex" not in ran.err


def test_one_finding_is_told_in_the_singular(
    check: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_catalog(tmp_path, load_registry()).close()
    told = [Finding("search", "counts", "a search finds 1 tag, but 2 are stored")]
    monkeypatch.setattr(consistency, "check_directory", lambda *_: told)
    ran = check(tmp_path)
    assert ran.code == 1
    assert "1 finding: 1 in search\n" in ran.err


def test_an_index_that_cannot_be_written_is_told_in_lines_without_a_trace(tmp_path: Path) -> None:
    opened = open_catalog(tmp_path, load_registry())
    dice = random.Random(1)
    names = [dice.randbytes(50).hex() for _ in range(500)]
    proposals = [Proposal(Urn.of("tag", one), "tagProperties", {"name": one}) for one in names]
    opened.seed(lambda: proposals)
    opened.close()
    shutil.rmtree(tmp_path / "search")
    # Above what SQLite's shared memory takes, below the files of the index.
    most = 40_000
    # Compiled modules are files too: a truncated one would stay, and break every later command.
    ran = subprocess.run(
        [sys.executable, "-m", "explorer.cli", "check", "--data-dir", str(tmp_path)],
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (0, f"{tmp_path} is consistent\n")
    lines = ran.stderr.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("cannot write the search index in") for line in lines)


def test_a_search_index_that_differs_can_be_made_anew(kept: Any, check: Any) -> None:
    opened = open_catalog(kept, load_registry())
    opened.index.apply(
        opened.store.log_bounds().head,
        [Document("urn:li:tag:x", "tag", "x", removed=False, fields={})],
    )
    opened.close()
    ran = check(kept)
    assert (ran.code, ran.out) == (
        1,
        "search urn:li:tag:x it is in the search index, but it does not exist\n",
    )
    assert "catalog reindex" in ran.err


def test_an_index_that_is_only_behind_is_brought_up_to_date(kept: Any, check: Any) -> None:
    shutil.rmtree(kept / "search")
    assert check(kept).code == 0


def test_it_works_only_when_nobody_holds_the_directory(kept: Any, check: Any) -> None:
    with hold(kept) as held:
        held.announce("http://127.0.0.1:1", "0")
        ran = check(kept)
    assert ran.code == 3
    assert ran.out == ""
    assert f"is in use by process {os.getpid()}; stop it, and then check" in ran.err
    assert "stops by itself some minutes after its last use" in ran.err


def test_a_directory_without_a_catalog_is_left_as_it_is(tmp_path: Path, check: Any) -> None:
    ran = check(tmp_path)
    assert ran.code == 3
    assert f"no catalog in {tmp_path}" in ran.err
    assert list(tmp_path.iterdir()) == []


def test_the_command_line_finds_it(
    process: Run, kept: Any, command: tuple[str, ...], tmp_path: Path
) -> None:
    served = tmp_path / "served"
    with subprocess.Popen(
        (*command, "serve", "--port", "0", "--data-dir", str(served)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as service:
        while find(served) is None:
            assert service.poll() is None
            time.sleep(0.01)
        ran = process("check", "--data-dir", str(served), url=None)
        service.terminate()
    assert ran.code == 3
    assert str(service.pid) in ran.err
    assert process("check", url=None, CATALOG_DATA_DIR=str(kept)).code == 0


def test_a_file_of_the_index_that_does_not_match_its_checksum_is_told(
    kept: Any, check: Any
) -> None:
    fast = next((kept / "search").glob("*.fast"))
    raw = bytearray(fast.read_bytes())
    raw[len(raw) // 2] ^= 1
    fast.write_bytes(raw)
    ran = check(kept)
    assert (ran.code, ran.out) == (
        1,
        f"search the index {fast.name} does not match its checksum\n",
    )
    assert "no metadata is lost" in ran.err
    assert "catalog reindex" in ran.err
    # What was found is left for others to look at.
    assert fast.read_bytes() == raw


def test_a_damaged_database_is_told_before_anything_else_with_what_to_do(
    kept: Any, check: Any
) -> None:
    whole = (kept / "catalog.db").read_bytes()
    with sqlite3.connect(kept / "catalog.db") as database:
        (root,) = database.execute(
            "SELECT rootpage FROM sqlite_master WHERE name = 'aspects'"
        ).fetchone()
    database.close()
    with (kept / "catalog.db").open("rb+") as file:
        file.seek((root - 1) * 4096)
        file.write(bytes(4096))
    ran = check(kept)
    assert ran.code == 1
    assert ran.out.startswith("file catalog.db ")
    assert "catalog restore BACKUP" in ran.err
    schema = whole.replace(b"at_millis INTEGER", b"at_mill\xe9s INTEGER")
    (kept / "catalog.db").write_bytes(schema)
    assert schema != whole
    ran = check(kept)
    assert ran.code == 1
    assert ran.out.startswith("file catalog.db ")
    (kept / "catalog.db").write_bytes(b"no database at all, but long enough to be looked at")
    ran = check(kept)
    assert (ran.code, ran.out) == (1, "file catalog.db file is not a database\n")
    assert "catalog restore BACKUP" in ran.err


def test_a_catalog_that_is_gone_is_begun_anew_only_by_whoever_accepts_that(
    kept: Any, check: Any, catalog: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    (kept / "catalog.db").unlink()
    ran = check(kept)
    assert ran.code == 1
    assert ran.out.startswith("lost catalog.db ")
    assert "catalog restore BACKUP" in ran.err
    for words in (("reindex",), ("backup", str(kept / "copy")), ("compact",)):
        ran = catalog(*words, "--data-dir", str(kept), url=None)
        assert ran.code == 3
        assert "is gone: catalog.db is missing" in ran.err
    capsys.readouterr()
    assert service.main(["--data-dir", str(kept), "--idle-seconds", "0.1"]) == 2
    assert "is gone: catalog.db is missing" in capsys.readouterr().err
    assert not (kept / "catalog.db").exists()
    ran = catalog("check", "--accept-loss", "--data-dir", str(kept), url=None)
    assert (ran.code, ran.out) == (0, "")
    assert "is gone: catalog.db is missing" in ran.err
    assert check(kept).code == 3
    open_catalog(kept, load_registry()).close()
    assert check(kept).code == 0
    ran = catalog("check", "--accept-loss", "--data-dir", str(kept), url=None)
    assert (ran.code, ran.err) == (0, "nothing is lost\n")


def test_an_older_copy_in_the_place_of_a_catalog_is_told_until_that_is_accepted(
    kept: Any, check: Any, catalog: Run
) -> None:
    older = (kept / "catalog.db").read_bytes()
    opened = open_catalog(kept, load_registry())
    change = opened.intake.check(Proposal(Urn.of("tag", "x"), "tagProperties", {"name": "x"}))
    opened.store.write(lambda view: opened.intake.apply(view, change, 1)).result()
    opened.close()
    (kept / "catalog.db").write_bytes(older)
    for _ in range(2):
        ran = check(kept)
        assert ran.code == 1
        assert "2 changes after" in ran.out
        assert "catalog check --accept-loss" in ran.err
    ran = catalog("check", "--accept-loss", "--data-dir", str(kept), url=None)
    assert ran.code == 0
    assert "2 changes after" in ran.err
    assert check(kept).code == 0


def test_an_empty_file_is_no_consistent_catalog(kept: Any, check: Any) -> None:
    """As a copy that failed leaves it, in a directory that remembers nothing."""
    for path in kept.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    (kept / "catalog.db").touch()
    ran = check(kept)
    assert (ran.code, ran.out) == (1, "file catalog.db it is empty\n")
