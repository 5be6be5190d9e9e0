"""Files of older formats: what they hold is answered as before.

`format_3.sql` is a catalog that the release with that format wrote, `format_3.json` what that
release answered of it.
"""

import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import orjson
import pytest

from explorer.server.store import Store, Transaction
from explorer.server.store.sqlite import SqliteStore
from tests.server.store.examples import INFO, KEY, STAMP, USAGE, dataset, do, put, tag, write

HERE = Path(__file__).parent
TAGS = ("trimmed", "versions", "gone", "restored", "turns", "aspect")


def make(path: Path, *changes: str) -> None:
    """Make the file of the older format, with changes."""
    with closing(sqlite3.connect(path)) as file:
        file.executescript((HERE / "format_3.sql").read_text("utf-8"))
        for change in changes:
            file.execute(change)
        file.commit()


def answers(store: Store) -> dict[str, Any]:
    """What a store answers of all that the file tells of."""

    def versions(name: str) -> list[list[Any]]:
        found = store.versions(tag(name), INFO, (1, 0), 0, 100)
        return [
            [one.version, one.value.decode(), one.time_millis, one.actor, one.system.decode()]
            for one in (found[1] if found else [])
        ]

    return {
        "log": logged(store),
        "versions": {tag(name): versions(name) for name in TAGS} | {dataset("d"): []},
        "documents": [
            [one.value.decode(), one.system.decode()]
            for one in store.documents(dataset("d"), USAGE)
        ],
        "runs": [[one.run, one.rows] for one in store.runs(0, 100, with_removed=True)],
    }


def erase(tx: Transaction, urn: str) -> None:
    tx.remove_entity(urn, KEY, *STAMP)


def logged(store: Store) -> list[list[Any]]:
    return [
        [
            row.offset,
            row.urn,
            row.aspect,
            row.change,
            row.value.decode() if row.value is not None else None,
            row.previous.decode() if row.previous is not None else None,
            row.time_millis,
            row.actor,
            row.system.decode(),
        ]
        for row in store.log(0, 1_000)
    ]


@pytest.fixture
def older(tmp_path: Path) -> Path:
    path = tmp_path / "catalog.db"
    make(path)
    return path


def test_what_an_older_release_kept_is_answered_as_before(older: Path) -> None:
    expected = orjson.loads((HERE / "format_3.json").read_bytes())
    store = SqliteStore(older)
    found = answers(store)
    store.close()
    assert found == expected


def test_a_value_that_the_log_copied_is_kept_once(older: Path) -> None:
    SqliteStore(older).close()
    with closing(sqlite3.connect(older)) as file:
        copied = file.execute("SELECT offset FROM log WHERE value IS NOT NULL").fetchall()
        kept = file.execute(
            "SELECT id FROM aspects UNION ALL SELECT id FROM versions "
            "UNION ALL SELECT id FROM points"
        ).fetchall()
        written = file.execute("SELECT count(*) FROM log WHERE change IS NULL").fetchone()[0]
    logged_once = {row for (row,) in kept if row > 0}
    assert not logged_once & {row for (row,) in copied}
    assert len(logged_once) + len(copied) == written
    # What was written by the row that was dropped from the log.
    assert sum(1 for (row,) in kept if row < 0) == 1


def test_the_log_of_an_older_release_outlives_what_it_tells_of(older: Path) -> None:
    before = orjson.loads((HERE / "format_3.json").read_bytes())["log"]
    store = SqliteStore(older)
    put(store, *(write(tag(name), "later") for name in TAGS))
    for name in TAGS:
        do(store, partial(erase, urn=tag(name)))
    do(store, lambda tx: tx.remove_entity(dataset("d"), "datasetKey", *STAMP))
    after = logged(store)
    store.close()
    assert after[: len(before)] == before
    written = [row for row in after[len(before) :] if row[3] == "UPSERT"]
    latest = {row[1]: row[4] for row in before if row[2] == INFO}
    assert [(row[4], row[5]) for row in written] == [
        ('{"name":"later"}', latest.get(tag(name))) for name in TAGS
    ]


def test_the_first_format_learns_the_versions_of_what_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "catalog.db"
    make(path, "DROP TABLE last_versions", "UPDATE meta SET value = '1' WHERE key = 'format'")
    store = SqliteStore(path)
    put(store, write(tag("aspect"), "again", "other"), write(tag("turns"), "again"))
    for name, aspect, version in (("aspect", "other", "2"), ("turns", INFO, "5")):
        found = store.aspect(tag(name), aspect)
        assert found is not None
        assert orjson.loads(found.system)["version"] == version
    store.close()


def test_entities_come_in_the_order_people_expect(tmp_path: Path) -> None:
    path = tmp_path / "catalog.db"
    rows = ((1, "t_10"), (2, "T_2"), (3, "t_1"))
    make(
        path,
        *(
            "INSERT INTO placements (folder, sort, urn, entity, name) "
            f"VALUES (1, '{name.casefold()}', 'urn:{at}', {at}, '{name}')"
            for at, name in rows
        ),
        "UPDATE meta SET value = '2' WHERE key = 'format'",
    )
    SqliteStore(path).close()
    with closing(sqlite3.connect(path)) as file:
        names = file.execute("SELECT name FROM placements ORDER BY sort").fetchall()
    assert names == [("t_1",), ("T_2",), ("t_10",)]
