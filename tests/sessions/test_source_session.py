"""Sources are found, opened, planned, run, stopped and removed, without any front end."""

import asyncio
import shutil
import sqlite3
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import keyring
import pytest

from explorer.client import AsyncCatalog, Catalog
from explorer.errors import InvalidInput, Misconfigured
from explorer.metadata.urn import Urn
from explorer.sessions.base import READ_ONLY
from explorer.sessions.sources import (
    NO_PARTS,
    NOT_ADDED,
    NOT_OPEN,
    NOT_READ,
    UNDER_WAY,
    AddedSource,
    CallerRunner,
    SourceSession,
)
from explorer.sources.configured import ConfiguredSource
from explorer.sources.source import LocalSource, SourceOptions, Stopped
from tests.conftest import install_source, serving_catalog

pytestmark = pytest.mark.anyio

ORDERS = Urn.dataset("sqlite", "shop.orders")


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """The address of a catalog that holds nothing yet."""
    (tmp_path / "catalog").mkdir()
    with serving_catalog(tmp_path / "catalog") as address:
        yield address


@pytest.fixture
async def session(address: str) -> AsyncIterator[SourceSession]:
    """A session on that catalog."""
    async with AsyncCatalog(address) as catalog:
        session = SourceSession(catalog)
        yield session
        session.close()


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A database with a table."""
    path = tmp_path / "shop.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("create table orders (id int, total real)")
    connection.close()
    return path


async def test_what_a_run_would_change_is_shown_before_it_is_written(
    session: SourceSession, shop: Path
) -> None:
    assert session.state.actions["plan"].why_not == NOT_OPEN
    opened = await session.open(str(shop))
    assert (opened.name, opened.source.kind) == ("shop", "sqlite")
    assert session.state.actions["write"].why_not == NOT_READ
    plan = await session.plan()
    assert session.state.plan is plan
    assert plan.effects[ORDERS] == "new"
    assert not await session.catalog.exists(ORDERS)
    await session.write(plan)
    assert await session.catalog.exists(ORDERS)
    assert session.state.message is not None
    assert session.state.message.sentence.startswith("shop: 2 new; ")
    await session.read()
    ((source, run),) = session.state.added
    assert (source.name, run.status if run else "") == ("shop", "SUCCESS")


async def test_only_the_plan_that_was_seen_last_is_written(
    session: SourceSession, shop: Path
) -> None:
    await session.open(str(shop))
    seen = await session.plan()
    await session.plan()
    with pytest.raises(InvalidInput, match="read again since"):
        await session.write(seen)
    session.drop_plan()
    with pytest.raises(InvalidInput, match=NOT_OPEN):
        await session.plan()
    assert not await session.catalog.exists(ORDERS)


async def test_what_is_opened_again_keeps_the_options_that_are_not_given(
    session: SourceSession, shop: Path
) -> None:
    await session.open(str(shop), options=SourceOptions("DEV", "own"), option_names=("env",))
    await session.write(await session.plan())
    opened = await session.open(str(shop), options=SourceOptions("QA"), option_names=("env",))
    assert opened.options == SourceOptions("QA", "own")
    assert opened.kept_options == ("instance",)


async def test_files_that_look_like_the_parts_of_one_table_become_one(
    session: SourceSession, shop: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "days"
    folder.mkdir()
    for day in (1, 2):
        (folder / f"sold_2024-01-0{day}.csv").write_text(f"id,count\n{day},1\n")
    await session.open(str(shop))
    await session.plan()
    assert session.state.actions["join_files"].why_not == NO_PARTS
    with pytest.raises(InvalidInput, match=NO_PARTS):
        await session.join_files()
    await session.open(str(folder))
    assert (await session.plan()).inventory.kinds["file"] == 2
    plan = await session.join_files()
    assert plan is session.state.plan
    assert plan.inventory.kinds == {"folder": 1, "table": 1, "column": 2}
    await session.write(plan)
    opened = await session.open(str(folder))
    assert opened.options.patterns == ("sold_*.csv",)
    assert opened.kept_options == ("patterns",)


async def test_what_is_read_can_be_stopped_and_refuses_everything_else_meanwhile(
    session: SourceSession, fieldbook: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = threading.Event()

    def read(_: Any, progress: Any) -> None:
        try:
            for number in range(10**9):
                progress("tables", number, 10**9)
                ended.wait(0.001)
        finally:
            ended.set()

    await session.open(fieldbook)
    monkeypatch.setattr(sys.modules["fieldbook"].Fieldbook, "read", read)
    is_told = asyncio.Event()
    session.subscribe(lambda state: is_told.set() if state.work and state.work.total else None)
    reading = asyncio.create_task(session.plan())
    await is_told.wait()
    assert session.state.actions["write"].why_not == UNDER_WAY
    with pytest.raises(InvalidInput, match=UNDER_WAY):
        await session.open(fieldbook)
    session.cancel()
    assert session.state.is_stopping
    with pytest.raises(Stopped):
        await reading
    assert ended.is_set()
    assert (session.state.work, session.state.plan, session.state.is_stopping) == (
        *(None, None, False),
    )
    assert session.state.message is not None
    assert session.state.message.sentence == "Stopped."


async def test_a_removed_source_is_hidden_and_its_password_forgotten(
    session: SourceSession, shop: Path, own_keyring: Path
) -> None:
    del own_keyring
    await session.open(str(shop))
    await session.write(await session.plan())
    await session.read()
    (source, _) = session.state.added[0]
    assert session.why_not("remove") == ""
    assert await session.remove(await session.plan_removal(source)) == 2
    assert (await session.catalog.entity(ORDERS)).removed
    assert session.state.message is not None
    assert session.state.message.sentence == "shop is removed; 2 entities were hidden."
    await session.settle()
    assert (session.state.rows, session.state.instead) == ((), session.NONE)
    assert session.why_not("remove") == NOT_ADDED
    place = "postgresql+psycopg://ann@db/shop"
    kept = ConfiguredSource("kept", "postgres", place, SourceOptions(keyring=True))
    await session.catalog.ingest(kept.proposal())
    keyring.set_password("catalog-explorer", f"source {place}", "right")
    await session.remove(await session.plan_removal(kept))
    assert keyring.get_password("catalog-explorer", f"source {place}") is None


async def test_what_was_added_stands_before_what_is_found_and_only_that_can_be_removed(
    session: SourceSession, shop: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.sources.location._SOCKETS", ())
    monkeypatch.setattr("explorer.sources.location._MYSQL_SOCKETS", ())
    monkeypatch.delenv("DATABASE_URL", raising=False)
    await session.open(str(shop))
    await session.write(await session.plan())
    await asyncio.to_thread(shutil.copy, shop, shop.parent / "other.db")
    session = SourceSession(session.catalog, folder=shop.parent)
    await session.read()
    added, *local = session.state.listed
    assert isinstance(added, AddedSource)
    locations = [source.location for source in local if isinstance(source, LocalSource)]
    assert str(shop.parent / "other.db") in locations
    assert str(shop) not in locations
    session.look_at(1)
    assert session.why_not("remove") == NOT_ADDED
    async with AsyncCatalog(address, read_only=True) as reading:
        session = SourceSession(reading)
        await session.read()
        assert session.why_not("remove") == READ_ONLY


async def test_sources_that_were_added_are_listed_where_those_found_cannot_be(
    session: SourceSession, shop: Path, fieldbook: Path
) -> None:
    await session.open(str(shop))
    await session.write(await session.plan())
    install_source(fieldbook.parents[1] / "site", "anvil", "import hammer", "Anvil")
    session = SourceSession(session.catalog, folder=shop.parent)
    with pytest.raises(Misconfigured, match="catalog-anvil"):
        await session.read()
    assert [source.name for source, _ in session.state.added] == ["shop"]
    assert isinstance(session.state.failure, Misconfigured)


def test_a_caller_that_waits_reads_on_its_own_thread_and_can_be_interrupted(
    address: str, shop: Path
) -> None:
    threads: list[threading.Thread] = []

    def note(*_: object) -> None:
        threads.append(threading.current_thread())

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with Catalog(address) as catalog:
        runner = CallerRunner(catalog)
        session = SourceSession(catalog.core, runner)
        runner.wait(session.open(str(shop)))
        session.progress = interrupt
        with pytest.raises(KeyboardInterrupt):
            runner.wait(session.plan())
        session.progress = note
        plan = runner.wait(session.plan())
        assert set(threads) == {threading.current_thread()}
        runner.wait(session.write(plan))
        assert catalog.exists(ORDERS)
