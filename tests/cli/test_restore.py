"""`catalog restore BACKUP`: going back to a copy, whatever happens meanwhile."""

import os
import shutil
import signal
import sqlite3
import sys
import tempfile
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from explorer.instance import hold
from explorer.metadata.proposal import Proposal
from explorer.metadata.registry import load_registry
from explorer.metadata.urn import Urn
from explorer.server import data_directory
from explorer.server.authentication import create_token
from explorer.server.consistency import check_directory
from explorer.server.data_directory import open_catalog
from explorer.server.search.query import SearchQuery
from tests.cli.conftest import Run

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX processes")

EVENTS = {"open", "os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir", "sqlite3.connect"}


def write(directory: Any, *names: Any) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    opened = open_catalog(directory, load_registry())
    for name in names:
        change = opened.intake.check(Proposal(Urn.of("tag", name), "tagProperties", {"name": name}))
        opened.store.write(partial(opened.intake.apply, change=change, now_millis=1)).result()
    opened.close()


def id_of(directory: Any) -> Any:
    opened = open_catalog(directory, load_registry())
    try:
        return opened.describe()["id"]
    finally:
        opened.close()


def held_in(directory: Any) -> Any:
    """The tags that a catalog holds, as the store and as a search has them."""
    opened = open_catalog(directory, load_registry())
    try:
        stored = opened.store.urns(limit=100)
        found = opened.index.find_urns(
            SearchQuery("*", None, _everything(), 0, 100, include_removed=True)
        )
    finally:
        opened.close()
    assert sorted(found) == stored
    return {urn.removeprefix("urn:li:tag:") for urn in stored}


def _everything() -> Any:
    from explorer.query.filters import Filter

    return Filter()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Any:
    place = tmp_path_factory.mktemp("prepared")
    write(place / "data", "old")
    data_directory.back_up(place / "data", place / "backup")
    write(place / "data", "new")
    return place


@pytest.fixture
def directory(prepared: Any, tmp_path: Path) -> Any:
    """A data directory with two tags, one of them newer than the backup."""
    shutil.copytree(prepared / "backup", tmp_path / "backup")
    return shutil.copytree(prepared / "data", tmp_path / "data")


@pytest.fixture
def restore(catalog: Run, directory: Any) -> Any:
    def run(backup: Any) -> Any:
        return catalog("restore", str(backup), "--data-dir", str(directory), url=None)

    return run


@pytest.mark.parametrize("named", ["", "catalog.db"])
def test_the_catalog_of_a_backup_takes_the_place_of_the_present_one(
    restore: Any, directory: Any, tmp_path: Path, named: str
) -> None:
    known_as = id_of(directory)
    ran = restore(tmp_path / "backup" / named)
    assert (ran.code, ran.out) == (0, ""), ran
    # It is the same catalog to its clients.
    assert id_of(directory) == known_as
    assert "1 entities" in ran.err
    assert held_in(directory) == {"old"}
    assert check_directory(directory) == []
    (kept,) = directory.glob("catalog.db.replaced-*")
    assert str(kept) in ran.err
    shutil.copy(kept, tmp_path / "backup" / "catalog.db")
    assert held_in(tmp_path / "backup") == {"old", "new"}


def test_what_was_not_in_the_file_yet_is_kept_too(directory: Any, tmp_path: Path) -> None:
    served = open_catalog(directory, load_registry())
    change = served.intake.check(Proposal(Urn.of("tag", "last"), "tagProperties", {"name": "last"}))
    served.store.write(lambda tx: served.intake.apply(tx, change, 1)).result()
    # As a killed service leaves it: with the last writes in the log beside the file.
    killed = tmp_path / "killed"
    shutil.copytree(directory, killed, ignore=shutil.ignore_patterns("search"))
    served.close()
    assert (killed / "catalog.db-wal").stat().st_size
    kept = data_directory.restore(killed, tmp_path / "backup").previous
    assert held_in(killed) == {"old"}
    assert kept is not None
    kept.rename(tmp_path / "backup" / "catalog.db")
    assert held_in(tmp_path / "backup") == {"old", "new", "last"}


def test_a_backup_goes_into_a_new_directory_with_its_tokens(tmp_path: Path, directory: Any) -> None:
    create_token(directory / "tokens.json", "a", "urn:li:corpuser:a")
    data_directory.back_up(directory, tmp_path / "closed")
    restored = data_directory.restore(tmp_path / "other", tmp_path / "closed")
    assert (restored.entities, restored.previous) == (2, None)
    assert held_in(tmp_path / "other") == {"old", "new"}
    tokens = tmp_path / "other" / "tokens.json"
    assert tokens.read_bytes() == (directory / "tokens.json").read_bytes()
    assert tokens.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
@pytest.mark.parametrize(
    "words",
    [
        ("restore", "backup", "--data-dir", "data"),
        ("reindex", "--data-dir", "data"),
        ("compact", "--data-dir", "data"),
        ("check", "--data-dir", "data"),
        ("migrate", "--from", "backup", "--to", "empty"),
    ],
    ids=lambda words: words[0],
)
def test_what_root_makes_belongs_to_whom_the_service_runs_as(
    catalog: Run, directory: Any, tmp_path: Path, words: Any
) -> None:
    (tmp_path / "empty").mkdir()
    target = tmp_path / words[-1]
    for path in (target, *target.rglob("*")):
        os.chown(path, 65_534, 65_534)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.touch()
    (target / "link").symlink_to(elsewhere)
    (target / "name").hardlink_to(elsewhere)
    # As systemd has it for a dynamic user.
    (tmp_path / "linked").symlink_to(target)
    command = [str(tmp_path / "backup") if word == "backup" else word for word in words[:-1]]
    command.append(str(tmp_path / "linked"))
    assert catalog(*command, url=None).code == 0
    made = [path for path in target.rglob("*") if path.name not in ("link", "name")]
    assert target / "catalog.db" in made
    assert [path for path in made if path.stat().st_uid != 65_534] == []
    assert (elsewhere.stat().st_uid, (target / "link").lstat().st_uid) == (0, 0)


def test_tokens_that_are_there_stay(tmp_path: Path, directory: Any) -> None:
    create_token(tmp_path / "backup" / "tokens.json", "revoked", "urn:li:corpuser:a")
    create_token(directory / "tokens.json", "good", "urn:li:corpuser:a")
    before = (directory / "tokens.json").read_bytes()
    data_directory.restore(directory, tmp_path / "backup")
    assert (directory / "tokens.json").read_bytes() == before


def test_it_is_refused_while_somebody_serves_the_catalog(
    restore: Any, directory: Any, tmp_path: Path
) -> None:
    with hold(directory) as held:
        held.announce("http://127.0.0.1:1", "0")
        ran = restore(tmp_path / "backup")
    assert ran.code == 3
    assert "stop it, and then restore" in ran.err
    assert held_in(directory) == {"old", "new"}


@pytest.mark.parametrize("damage", ["page", "index", "trigger", "header", "text", "empty"])
def test_a_damaged_backup_is_refused_and_nothing_changes(
    restore: Any, directory: Any, tmp_path: Path, damage: str
) -> None:
    file = tmp_path / "backup" / "catalog.db"
    raw = bytearray(file.read_bytes())
    match damage:
        case "page":
            raw[8 * 4096 : 12 * 4096] = os.urandom(4 * 4096)
        case "index":
            # An entry that is no longer that of its row.
            with closing(sqlite3.connect(file)) as opened:
                of_urns = "SELECT rootpage FROM sqlite_master WHERE type = 'index' AND sql IS NULL"
                (page,) = opened.execute(f"{of_urns} AND tbl_name = 'urns'").fetchone()
            at = raw.index(b"urn:li:tag:old", (page - 1) * 4096, page * 4096)
            raw[at : at + 14] = b"urn:li:tag:odd"
        case "trigger":
            with closing(sqlite3.connect(file)) as opened:
                opened.execute(
                    "CREATE TRIGGER t AFTER INSERT ON aspects BEGIN DELETE FROM urns; END"
                )
            raw = bytearray(file.read_bytes())
        case "header":
            raw[:100] = bytes(100)
        case "text":
            raw[:] = b"nothing of the sort"
        case "empty":
            raw[:] = b""
    file.write_bytes(raw)
    ran = restore(tmp_path / "backup")
    assert ran.code == 3, ran
    assert str(file) in ran.err
    assert held_in(directory) == {"old", "new"}
    assert not [*directory.glob("catalog.db.re*")]


def test_what_is_neither_a_backup_nor_a_urn_is_told(
    restore: Any, directory: Any, tmp_path: Path, catalog: Run
) -> None:
    ran = restore(tmp_path / "nothing")
    assert ran.code == 1
    assert "there is no backup at" in ran.err
    assert "itself" in restore(directory).err
    ran = catalog("restore", str(tmp_path / "backup"), "--dry-run", url=None)
    assert ran.code == 2
    assert "--data-dir" in ran.err


def killed_at(event: Any, work: Any) -> Any:
    """Do work in a process that is killed at its nth change of the file system; whether it was."""
    child = os.fork()
    if not child:
        left = [event]

        def count(name: Any, given: Any) -> None:
            if name in EVENTS and not (name == "open" and given[1] == "r"):
                left[0] -= 1
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(count)
        try:
            work()
        except BaseException:  # noqa: BLE001 - a forked process never returns to pytest
            os._exit(9)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_killed_at_any_moment_it_leaves_one_catalog_or_the_other(
    directory: Any, tmp_path: Path
) -> None:
    seen = []
    event = 0
    is_killed = True
    while is_killed:
        event += 1
        copy = shutil.copytree(directory, tmp_path / "copy")
        is_killed = killed_at(
            event, lambda copy=copy: data_directory.restore(copy, tmp_path / "backup")
        )
        with closing(sqlite3.connect(copy / "catalog.db")) as file:
            assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            rows = file.execute("SELECT urn FROM urns WHERE live")
            seen.append({urn.removeprefix("urn:li:tag:") for (urn,) in rows})
        if event % 8 == 0:
            assert held_in(copy) == seen[-1]
            # What the killed one left does not keep the next from it.
            data_directory.restore(copy, tmp_path / "backup")
            assert held_in(copy) == {"old"}
            assert {path.name.partition(".replaced")[0] for path in copy.glob("catalog.db*")} == {
                "catalog.db"
            }
        shutil.rmtree(copy)
    assert event > 10
    switch = seen.index({"old"})
    assert seen == [{"old", "new"}] * switch + [{"old"}] * (event - switch)
    assert 0 < switch < event - 1


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_killed_backup_leaves_no_copy_behind(directory: Any, tmp_path: Path) -> None:
    event = 0
    is_killed = True
    place = tmp_path / "backups"
    while is_killed:
        event += 1
        is_killed = killed_at(event, lambda: data_directory.back_up(directory, place / "one"))
        if (place / "one").exists():
            # It has its name only when it is whole.
            with closing(sqlite3.connect(place / "one" / "catalog.db")) as file:
                assert file.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            shutil.rmtree(place / "one")
        data_directory.back_up(directory, place / "two")
        assert [path.name for path in place.iterdir()] == ["two"]
        shutil.rmtree(place)
    assert event > 5


def test_a_backup_under_way_is_left_alone_by_the_next(directory: Any, tmp_path: Path) -> None:
    data_directory.back_up(directory, tmp_path / "backups" / "one")
    running = tmp_path / "backups" / ".other.1234.catalog-backup"
    with hold(running):
        data_directory.back_up(directory, tmp_path / "backups" / "two")
        assert running.exists()
    data_directory.back_up(directory, tmp_path / "backups" / "three")
    assert not running.exists()


def test_a_backup_on_read_only_media_is_checked_and_restored(
    directory: Any, tmp_path: Path
) -> None:
    with tempfile.TemporaryDirectory() as outside:
        # Not below the directories of pytest, which only their owner may enter.
        Path(outside).chmod(0o755)
        media = Path(shutil.copytree(tmp_path / "backup", Path(outside) / "media"))
        for path in (*media.iterdir(), media):
            path.chmod(0o555 if path.is_dir() else 0o444)
        before = sorted(path.name for path in media.iterdir())
        target = Path(outside) / "target"
        target.mkdir()
        target.chmod(0o777)

        def use() -> None:
            if os.getuid() == 0:
                os.setuid(65534)
            assert not os.access(media, os.W_OK)
            assert check_directory(media) == []
            assert data_directory.restore(target / "data", media).entities == 1

        assert not killed_at(10_000, use)
        assert sorted(path.name for path in media.iterdir()) == before
        media.chmod(0o755)
        assert held_in(target / "data") == {"old"}
