"""How tables changed from run to run, and texts of columns that were renamed."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from explorer.client import Catalog
from tests.conftest import serving_catalog
from tests.sources.conftest import Run, dataset, execute


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a catalog that all tests here share; each adds a file of its own name."""
    with serving_catalog(tmp_path_factory.mktemp("catalog")) as address:
        yield address


def added(command: Run, folder: Path, name: str) -> Path:
    """Return an SQLite file that was added under a name."""
    path = folder / f"{name}.sqlite"
    execute(path, "create table orders (id INT, ship_city TEXT, total INT, note TEXT)")
    execute(path, "create table gone (a int)")
    assert command("add", str(path)).code == 0
    return path


def text(cat: Catalog, urn: str, column: str) -> str | None:
    """Return what people wrote of a column."""
    found = cat.entity(urn).schema.column(column)
    assert found is not None
    return found.edited


def test_a_run_tells_what_changed_and_the_list_keeps_it(command: Run, tmp_path: Path) -> None:
    path = added(command, tmp_path, "told")
    assert json.loads(command("sources", "--json").out)[0]["drift"] == 0
    assert "have not changed" in command("sources", "drift", "told").err
    execute(
        path,
        "drop table gone; create table fresh (b int); drop table orders;"
        "create table orders (id BIGINT, city TEXT, total INT, note TEXT, extra REAL)",
    )
    ran = command("sources", "run", "told")
    assert ran.code == 0, ran
    assert [line.strip() for line in ran.out.splitlines()[1:]] == [
        "told.fresh: the table is new",
        "told.orders: the type of id changed from INT to BIGINT",
        "told.orders: column ship_city dropped; likely renamed to city",
        "told.orders: column city added, TEXT; likely ship_city renamed",
        "told.orders: column extra added, REAL",
        "told.gone: the table is gone",
    ]
    (row,) = json.loads(command("sources", "--json").out)
    assert row["drift"] == 6
    assert command("sources", "run", "told").code == 0
    # A run without changes hides none of those before it.
    listed = json.loads(command("sources", "drift", "told", "--json").out)
    assert [(one["change"], one["column"]) for one in listed] == [
        ("table new", None),
        ("type changed", "id"),
        ("column dropped", "ship_city"),
        ("column added", "city"),
        ("column added", "extra"),
        ("table gone", None),
    ]
    assert "told.orders" in command("sources", "drift", "told").out


def test_texts_of_renamed_columns_are_taken_over_and_none_is_replaced(
    command: Run, cat: Catalog, tmp_path: Path
) -> None:
    path = added(command, tmp_path, "taken")
    orders = dataset("sqlite", "taken.orders")
    cat.describe(orders, "Where it goes.", column="ship_city")
    cat.describe(orders, "For the driver.", column="note")
    execute(
        path,
        "alter table orders rename column ship_city to town;"
        "alter table orders rename column note to notes",
    )
    assert command("sources", "run", "taken").code == 0
    cat.describe(orders, "Somebody was quicker.", column="notes")
    ran = command("sources", "drift", "taken")
    assert "what was written of ship_city fits town; --take writes it there" in ran.err
    assert text(cat, orders, "town") is None
    ran = command("sources", "drift", "taken", "--take")
    assert ran.code == 0, ran
    assert "what was written of ship_city is taken to town" in ran.err
    assert "note is not taken to notes, which has a text of its own" in ran.err
    assert text(cat, orders, "town") == "Where it goes."
    assert text(cat, orders, "notes") == "Somebody was quicker."
    # The old texts are there still, for when a column comes back.
    orphans = {one.field_path: one.description for one in cat.entity(orders).schema.orphans}
    assert orphans == {"ship_city": "Where it goes.", "note": "For the driver."}
    assert "taken to" not in command("sources", "drift", "taken").err.replace("not taken to", "")
    assert command("undo", "--yes").code == 0
    assert not text(cat, orders, "town")


def test_texts_of_columns_whose_case_changed_are_moved(
    command: Run, cat: Catalog, tmp_path: Path
) -> None:
    path = added(command, tmp_path, "cased")
    orders = dataset("sqlite", "cased.orders")
    cat.describe(orders, "Where it goes.", column="ship_city")
    execute(
        path,
        "drop table orders; create table orders (id INT, SHIP_CITY TEXT, total INT, note TEXT)",
    )
    assert command("sources", "run", "cased").code == 0
    assert text(cat, orders, "SHIP_CITY") == "Where it goes."
    ran = command("sources", "drift", "cased", "--take")
    assert "what was written of ship_city is taken to SHIP_CITY" in ran.err
    column = cat.entity(orders).schema.column("SHIP_CITY")
    assert column is not None
    assert (column.edited, column.earlier) == ("Where it goes.", None)
    assert cat.entity(orders).schema.orphans == ()


def test_the_history_of_a_table_has_what_a_run_changed(command: Run, tmp_path: Path) -> None:
    path = added(command, tmp_path, "kept")
    execute(path, "alter table orders add column late text")
    assert command("sources", "run", "kept").code == 0
    ran = command("history", dataset("sqlite", "kept.orders"))
    assert ran.code == 0, ran
    assert "late" in ran.out
