"""One's own data is brought in from the terminal: found, read, added, run again, removed."""

import shutil
import sqlite3
import threading
from pathlib import Path
from typing import Any

import duckdb
import pytest

from explorer.client import Catalog
from explorer.errors import InvalidInput
from explorer.metadata import Urn
from explorer.sources.configured import ConfiguredSource, read_runs, require_source
from explorer.sources.duckdb_file import DuckDbFile
from explorer.sources.location import find_local_sources, open_source
from explorer.sources.run import plan_removal, plan_run, remove_source, run_source
from explorer.sources.source import SourceOptions
from explorer.tui.screens.sources import AddSourceScreen
from tests.sources.conftest import quiet
from tests.tui.conftest import OpenTerminal

pytestmark = pytest.mark.anyio


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the terminal is started in, with a DuckDB file and one of SQLite."""
    here = tmp_path / "here"
    here.mkdir()
    with duckdb.connect(str(here / "wares.duckdb")) as connection:
        connection.execute("create table ordered_wares (id int, total double)")
    sqlite3.connect(here / "people.db").execute(
        "create table known_people (id int)"
    ).connection.close()
    (here / "broken.duckdb").write_bytes(b"\0" * 8 + b"DUCK" + b"\0" * 500)
    monkeypatch.chdir(here)
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setattr("explorer.sources.location._SOCKETS", ())
    monkeypatch.setattr("explorer.sources.location._MYSQL_SOCKETS", ())
    return here


def test_sources_on_this_machine_are_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://ana:s%2Fecret@db:5433/shop?sslmode=require")
    (folder / "dbt").mkdir()
    (folder / "dbt" / "dbt_project.yml").write_text("name: x\n")
    (folder / "rows.csv").write_text("a\n1\n")
    (folder / ".hidden").mkdir()
    # A local catalog is not a source.
    (folder / "kept" / "search").mkdir(parents=True)
    (folder / "kept" / "search" / "index.json").write_text("{}")
    for name in ("catalog.db", "stewardship.sqlite"):
        shutil.copy(folder / "people.db", folder / "kept" / name)
    found = list(find_local_sources(folder))
    assert [(one.location, one.known_from) for one in found] == [
        ("postgresql://ana@db:5433/shop?sslmode=require", "DATABASE_URL"),
        (str(folder / "broken.duckdb"), "a DuckDB database"),
        (str(folder / "people.db"), "an SQLite database"),
        (str(folder / "wares.duckdb"), "a DuckDB database"),
        (str(folder / "dbt"), "a dbt project"),
        (str(folder), "Parquet, CSV or JSON lines in this folder"),
    ]
    assert found[0].password == "s/ecret"
    assert "s/ecret" not in repr(found[0])
    assert [one.location for one in find_local_sources(folder / "dbt")][1:] == [str(folder / "dbt")]


@pytest.mark.parametrize(
    ("address", "location", "password"),
    [
        ("postgres://u:p/w@h/db", "postgresql://u@h/db", "p/w"),
        ("postgres://u:p?w@h/db?a=b", "postgresql://u@h/db?a=b", "p?w"),
        ("postgres://u:p@w@h/db", "postgresql://u@h/db", "p@w"),
        ("mysql://h:3306/db?mail=a@b", "mysql://h:3306/db?mail=a@b", None),
        ("postgres://h/db?user=u&password=p%2Fw", "postgresql://h/db?user=u", "p/w"),
        ("postgres://h/db?options=-c%20x%3D1", "postgresql://h/db?options=-c%20x%3D1", None),
    ],
)
def test_the_password_of_an_address_is_not_shown(
    address: str, location: str, password: str | None, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", address)
    found = next(iter(find_local_sources(folder)))
    assert (found.location, found.password) == (location, password)


async def test_a_password_that_was_found_is_used_for_its_own_address_alone(
    desk: Path, at: OpenTerminal, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://ana:hidden@db/shop")
    asked: list[tuple[str, str | None]] = []

    def opened(location: str, options: Any, password: str | None = None) -> Any:
        del options
        asked.append((location, password))
        raise InvalidInput(f"{location} is away")

    monkeypatch.setattr("explorer.sources.location.open_source", opened)
    async with at(desk) as reader:
        await reader.press("A")
        await reader.sees("DATABASE_URL")
        await reader.press("enter")
        await reader.sees("postgresql://ana@db/shop is away")
        await reader.press("ctrl+u")
        await reader.type("postgresql://ana@evil/shop")
        await reader.press("enter")
        await reader.sees("postgresql://ana@evil/shop is away")
    assert asked == [
        ("postgresql://ana@db/shop", "hidden"),
        ("postgresql://ana@evil/shop", None),
    ]


@pytest.mark.nightly
async def test_a_database_that_is_found_here_is_read_added_run_again_and_removed(
    desk: Path, at: OpenTerminal, folder: Path
) -> None:
    urn = Urn.dataset("duckdb", "wares.main.ordered_wares")
    async with at(desk) as reader:
        await reader.press("f3", "n")
        await reader.sees("Sources", "wares.duckdb", "a DuckDB database", "people.db")
        await reader.press("down", "down", "enter")
        shown = await reader.sees(
            "1 database, 1 schema, 1 table, 2 columns", "3 new", "⏎ adds it to the catalog"
        )
        assert "wares.main.ordered_wares" in shown
        with Catalog(data_dir=desk) as catalog:
            assert not catalog.exists(urn)
            await reader.press("enter")
            await reader.sees("platform:duckdb", "ordered_wares", "3 results")
            assert catalog.entity(urn).schema.column("total") is not None

            await reader.press("A")
            shown = await reader.sees("● wares", "duckdb · done")
            await reader.press("enter")
            await reader.sees("Run it again", "3 unchanged")
            await reader.press("escape", "A")
            await reader.sees("● wares")
            await reader.press("x")
            await reader.sees("Remove wares and hide the 1 dataset that it added?")
            await reader.press("ctrl+s")
            await reader.until(lambda: catalog.entity(urn).removed)
        await reader.sees("+ wares.duckdb")


async def test_files_of_days_are_made_one_table_from_their_plan(
    desk: Path, at: OpenTerminal, folder: Path
) -> None:
    (folder / "days").mkdir()
    for day in (1, 2):
        (folder / "days" / f"sold_2024-01-0{day}.csv").write_text(f"id,größe\n{day},1\n", "cp1252")
    async with at(desk) as reader:
        await reader.press("A", "a")
        await reader.type("days")
        await reader.press("enter")
        await reader.sees("2 files, 4 columns", "read as cp1252", "names like sold_*.csv")
        await reader.press("ctrl+t")
        shown = await reader.sees("1 folder, 1 table, 2 columns", "⏎ adds it to the catalog")
        assert "sold_*.csv" in shown
        await reader.press("enter")
        await reader.sees("platform:file", "sold")
    with Catalog(data_dir=desk) as catalog:
        source = require_source(catalog, "days")
        assert source.options.patterns == ("sold_*.csv",)
        assert catalog.exists(Urn.dataset("file", "days/sold"))
        removal = plan_removal(catalog, source, is_hard=True)
        remove_source(catalog, removal, lambda *_: None, is_hard=True)


async def test_what_a_source_of_another_package_reads_is_found_here_and_added(
    desk: Path, at: OpenTerminal, fieldbook: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(fieldbook.parent)
    async with at(desk) as reader:
        await reader.press("A")
        await reader.sees("+ birds.txt", "a field book")
        await reader.press("enter")
        await reader.sees("2 tables, 3 columns", "⏎ adds it to the catalog")
        await reader.press("enter")
        await reader.sees("platform:fieldbook", "sparrows")
        await reader.press("A")
        await reader.sees("● birds", "fieldbook · done")
        await reader.press("x", "ctrl+s")
        await reader.sees("+ birds.txt")


@pytest.mark.nightly
async def test_what_cannot_be_read_says_what_to_do_and_the_form_stays(
    desk: Path, at: OpenTerminal, folder: Path
) -> None:
    async with at(desk) as reader:
        await reader.press("A")
        await reader.sees("broken.duckdb")
        await reader.press("enter")
        await reader.sees("Add a source", "IO Error", "broken.duckdb")
        await reader.press("ctrl+u")
        await reader.type("nowhere.db")
        await reader.press("enter")
        await reader.sees("There is no nowhere.db: give a file, a folder, or the address")
        await reader.press("ctrl+u", "enter")
        await reader.sees("Enter an address")
        await reader.type(str(folder / "people.db"))
        await reader.press("enter")
        await reader.sees("1 table, 1 column", "⏎ adds it to the catalog")
        # What is changed is read again before anything is written.
        await reader.press("tab")
        await reader.type("folk")
        await reader.sees("The form changed; ⏎ reads the source again")
        await reader.press("enter")
        await reader.sees("⏎ adds it to the catalog")
        await reader.press("escape")
        await reader.sees("/ search")
    with Catalog(data_dir=desk) as catalog:
        assert not catalog.exists(Urn.dataset("sqlite", "people.known_people"))


async def test_reading_can_be_stopped(
    desk: Path, at: OpenTerminal, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended, again = threading.Event(), threading.Event()

    def read(self: DuckDbFile, progress: Any) -> Any:
        del self
        try:
            for at in range(10**9):
                progress("tables", at, 10**9)
                again.wait(0.01)
        finally:
            ended.set()

    monkeypatch.setattr(DuckDbFile, "read", read)
    async with at(desk) as reader:
        await reader.press("A")
        await reader.sees("wares.duckdb")
        await reader.press("down", "down")
        await reader.pilot.press("enter")
        await reader.sees("tables", "of 1,000,000,000")
        await reader.pilot.press("escape")
        await reader.sees("Stopped.")
        assert ended.is_set()


async def test_a_source_that_does_not_answer_can_be_left(
    desk: Path, at: OpenTerminal, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = threading.Event()

    def read(self: DuckDbFile, progress: Any) -> Any:
        del self
        answers.wait(60)
        progress("tables", 1, 1)

    monkeypatch.setattr(DuckDbFile, "read", read)
    async with at(desk) as reader:
        await reader.press("A")
        await reader.sees("wares.duckdb")
        await reader.press("down", "down")
        await reader.pilot.press("enter")
        await reader.sees("reading …")
        await reader.pilot.press("escape")
        await reader.sees("press esc again to close")
        await reader.pilot.press("escape")
        await reader.until(lambda: not isinstance(reader.app.screen, AddSourceScreen))
        answers.set()


async def test_a_source_that_is_run_again_keeps_what_the_form_does_not_show(
    desk: Path, at: OpenTerminal, folder: Path
) -> None:
    options = SourceOptions(profile=True, values=True)
    with Catalog(data_dir=desk) as catalog:
        source = open_source(str(folder / "wares.duckdb"), options)
        run_source(catalog, plan_run(catalog, "wares", source, options, quiet), quiet)
        async with at(desk) as reader:
            await reader.press("A")
            await reader.sees("● wares")
            await reader.press("enter")
            await reader.sees("Run it again", "⏎ adds it to the catalog")
            await reader.press("enter")
            await reader.until(lambda: len(read_runs(catalog, find(catalog))) == 2)
        assert find(catalog).options == options
        remove_source(
            catalog,
            plan_removal(catalog, find(catalog), is_hard=True),
            lambda *_: None,
            is_hard=True,
        )


def find(catalog: Catalog) -> ConfiguredSource:
    """Return the source that was added."""
    return require_source(catalog, "wares")


async def test_a_catalog_that_is_read_only_gets_no_source(
    desk: Path, at: OpenTerminal, folder: Path
) -> None:
    from explorer.client import AsyncCatalog

    def client() -> AsyncCatalog:
        return AsyncCatalog(data_dir=desk, read_only=True)

    async with at(desk, client=client) as reader:
        await reader.press("A")
        await reader.sees("people.db")
        await reader.press("down", "enter")
        await reader.sees("⏎ adds it to the catalog")
        await reader.press("enter")
        await reader.sees("Nothing was written: this server is open read-only")
