"""The file of a catalog: made, opened again, and never misread."""

import errno
import os
import sqlite3
import stat
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from explorer.errors import StorageFault, Unusable
from explorer.metadata.registry import load_registry
from explorer.server.data_directory import open_catalog
from explorer.server.store import Transaction
from explorer.server.store.sqlite import SqliteStore
from explorer.server.store.sqlite.schema import open_file
from tests.server.store.examples import dataset, write


def rewrite(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as file, file:
        for statement in statements:
            file.execute(statement)


def test_a_file_is_durable_by_its_settings(tmp_path: Path) -> None:
    with closing(open_file(tmp_path / "catalog.db")) as file:
        (mode,), (level,) = (
            file.execute(f"PRAGMA {name}").fetchone() for name in ("journal_mode", "synchronous")
        )
    assert (mode, level) == ("wal", 2)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are not listed")
def test_what_a_part_of_a_job_may_have_to_undo_is_kept_in_memory(tmp_path: Path) -> None:
    urns = [dataset(f"table_{number}") for number in range(400)]

    def put_all(step: int, tx: Transaction) -> list[str]:
        for urn in urns:
            tx.put(write(urn, step))
        open_files = Path("/proc/self/fd").iterdir()
        return [str(file.readlink()) for file in open_files if file.is_symlink()]

    with closing(SqliteStore(tmp_path / "catalog.db")) as store:
        store.write(partial(put_all, 1)).result()
        open_files = store.write(lambda tx: tx.attempt(partial(put_all, 2))).result()
    assert not [name for name in open_files if "etilqs" in name]


@pytest.mark.skipif(os.name == "nt", reason="there are no such rights")
def test_a_catalog_is_its_owners_alone(tmp_path: Path) -> None:
    catalog = open_catalog(tmp_path, load_registry())
    catalog.seed(list)
    kept = [*tmp_path.glob("catalog.db*"), tmp_path / "search"]
    catalog.close()
    assert {stat.S_IMODE(one.stat().st_mode) & 0o077 for one in kept if one.exists()} == {0}


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("UPDATE meta SET value = '99' WHERE key = 'format'", "newer release"),
        ("UPDATE meta SET value = '0' WHERE key = 'format'", "unknown format"),
        ("UPDATE meta SET value = 'x' WHERE key = 'format'", "another application"),
        ("DELETE FROM meta", "another application"),
        ("DROP TABLE meta", "another application"),
    ],
)
def test_another_format_is_refused_and_left_as_it_is(
    tmp_path: Path, statement: str, told: str
) -> None:
    path = tmp_path / "catalog.db"
    SqliteStore(path).close()
    rewrite(path, statement)
    before = path.read_bytes()
    with pytest.raises(Unusable, match=told) as raised:
        SqliteStore(path)
    assert str(path) in str(raised.value)
    assert path.read_bytes() == before


def test_a_foreign_database_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "catalog.db"
    rewrite(path, "CREATE TABLE songs (title TEXT)")
    before = path.read_bytes()
    with pytest.raises(Unusable, match="another application"):
        SqliteStore(path)
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_catalog(tmp_path: Path) -> None:
    path = tmp_path / "catalog.db"
    path.touch()
    store = SqliteStore(path)
    assert store.count() == 0
    store.close()


def older(path: Path) -> None:
    """A catalog with one entity, said to be of a format from before."""
    store = SqliteStore(path)
    store.write(lambda tx: tx.set_note("kept", "yes")).result()
    store.close()
    rewrite(path, "UPDATE meta SET value = '5' WHERE key = 'format'")


def add_table(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE later (id INTEGER PRIMARY KEY)")


def fill_table(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO later VALUES (7)")


def read(path: Path, question: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as file:
        return file.execute(question).fetchall()


def test_an_older_format_is_brought_up_step_by_step_and_kept_beside(tmp_path: Path) -> None:
    path = tmp_path / "catalog.db"
    older(path)
    open_file(path, target=7, migrations={5: add_table, 6: fill_table}).close()
    format_of = "SELECT value FROM meta WHERE key = 'format'"
    note = "SELECT value FROM meta WHERE key = 'note.kept'"
    assert read(path, format_of) == [("7",)]
    assert read(path, "SELECT id FROM later") == [(7,)]
    assert read(path, note) == [("yes",)]
    kept = tmp_path / "catalog.db.format-5"
    assert read(kept, format_of) == [("5",)]
    assert read(kept, note) == [("yes",)]
    assert kept.stat().st_mode & 0o777 == 0o600
    # Opened again, nothing is left to be done.
    kept.unlink()
    open_file(path, target=7, migrations={5: add_table, 6: fill_table}).close()
    assert not kept.exists()


def test_a_step_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "catalog.db"
    older(path)

    def fail(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO nowhere VALUES (1)")

    with pytest.raises(Unusable, match="cannot be upgraded from format 5 to 7"):
        open_file(path, target=7, migrations={5: add_table, 6: fail})
    assert read(path, "SELECT value FROM meta WHERE key = 'format'") == [("5",)]
    assert read(path, "SELECT 1 FROM sqlite_master WHERE name = 'later'") == []
    open_file(path, target=7, migrations={5: add_table, 6: fill_table}).close()
    assert read(path, "SELECT id FROM later") == [(7,)]


def test_a_format_with_a_step_missing_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "catalog.db"
    older(path)
    with pytest.raises(Unusable, match="unknown format 5"):
        open_file(path, target=7, migrations={6: fill_table})
    assert not (tmp_path / "catalog.db.format-5").exists()


def test_a_file_of_another_user_is_told_without_the_number_of_the_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(path: Path, **_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "touch", fail)
    file = tmp_path / "catalog.db"
    with pytest.raises(StorageFault) as caught:
        open_file(file)
    assert str(caught.value) == (
        f"{file} cannot be used as a catalog: Permission denied; give it to the user that the "
        "service runs as, or name another data directory"
    )
