"""The file of a catalog: made, opened again, and never misread."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from explorer.errors import Unusable
from explorer.server.store import SqliteStore


def rewrite(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as file, file:
        for statement in statements:
            file.execute(statement)


def test_a_file_is_durable_by_its_settings(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "catalog.db")
    told = store.write(
        lambda tx: [
            tx._run(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")
        ]
    ).result()
    store.close()
    assert told == ["wal", 2]


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("UPDATE meta SET value = '99' WHERE key = 'format'", "newer release"),
        ("UPDATE meta SET value = '0' WHERE key = 'format'", "unknown format"),
        ("UPDATE meta SET value = 'x' WHERE key = 'format'", "something else"),
        ("DELETE FROM meta", "something else"),
        ("DROP TABLE meta", "something else"),
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
    with pytest.raises(Unusable, match="something else"):
        SqliteStore(path)
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_catalog(tmp_path: Path) -> None:
    path = tmp_path / "catalog.db"
    path.touch()
    store = SqliteStore(path)
    assert store.entity_count() == 0
    store.close()
