"""What a colleague writes appears while one looks, and never takes away what one is doing."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any, Self

import pytest

from explorer.client import AsyncCatalog
from explorer.errors import Gone
from explorer.metadata.urn import Urn
from explorer.tui.screens.entity import EntityView
from explorer.tui.widgets.rows import Rows
from tests.conftest import serving_catalog
from tests.loopback import listening
from tests.tui.conftest import OpenTerminal

pytestmark = pytest.mark.anyio

SHIPMENTS = Urn.dataset("snowflake", "analytics.marts.fct_shipments")


async def test_what_a_colleague_writes_appears_where_one_is(desk: Path, at: OpenTerminal) -> None:
    async with AsyncCatalog(data_dir=desk) as colleague, at(desk, urn=SHIPMENTS) as reader:
        await reader.press("j", "j", "j")
        cursor = reader.rows.cursor
        entity = await colleague.entity(SHIPMENTS)
        path = entity.schema.columns[1].path.raw
        await colleague.describe(SHIPMENTS, "Written next door.", column=path)
        shown = await reader.sees("Written next door.", "Column descriptions updated by")
        assert "fct_shipments" in shown
        assert reader.rows.cursor == cursor
        # The results say it, too, where they stood.
        await reader.type("/fct_shipments")
        await reader.press("escape", "escape")
        assert isinstance(reader.app.focused, Rows)
        await reader.sees("fct_shipments", "Table")
        at_row = reader.rows.cursor
        await colleague.describe(SHIPMENTS, "Told by a colleague.")
        await reader.sees("Told by a colleague.")
        assert reader.rows.cursor == at_row


@pytest.mark.nightly
async def test_what_others_add_and_remove_is_counted_in_the_folders_and_the_header(
    desk: Path, at: OpenTerminal
) -> None:
    async with AsyncCatalog(data_dir=desk) as colleague, at(desk, urn=SHIPMENTS) as reader:
        before = (await colleague.counts())["dataset"]
        entities = (await colleague.info()).entities
        assert entities is not None
        await reader.sees(f"datasets {before}", f"{entities} entities")
        added = Urn.dataset("hive", "nextdoor.visits")
        await colleague.put(added, "datasetProperties", {"description": "New next door."})
        await reader.sees(f"datasets {before + 1}", f"{entities + 1} entities")
        await colleague.soft_delete(added)
        await reader.sees(f"datasets {before}")


async def test_what_one_is_typing_stays_and_is_not_written_over(
    desk: Path, at: OpenTerminal
) -> None:
    async with AsyncCatalog(data_dir=desk) as colleague, at(desk, urn=SHIPMENTS) as reader:
        entity = await colleague.entity(SHIPMENTS)
        path = entity.schema.columns[2].path.raw
        await reader.press("j", "j", "e")
        await reader.type("Mine half ")
        await colleague.describe(SHIPMENTS, "Theirs.", column=path)
        await reader.sees("Column descriptions updated by")
        await reader.type("done.")
        await reader.sees("Mine half done.")
        await reader.press("ctrl+s")
        # Nothing is written unasked: both texts are shown.
        await reader.sees("Theirs.", "Mine half done.")
        now = await colleague.entity(SHIPMENTS)
        column = now.schema.column(path)
        assert column is not None
        assert column.edited == "Theirs."


@pytest.mark.nightly
async def test_what_one_writes_oneself_is_not_told_as_somebody_elses(
    desk: Path, at: OpenTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = EntityView.refresh_entity

    async def late(self: EntityView) -> Any:
        # The change log is faster than the answer.
        await asyncio.sleep(1.0)
        return await read(self)

    monkeypatch.setattr(EntityView, "refresh_entity", late)
    said: list[str] = []
    async with at(desk, urn=SHIPMENTS) as reader:
        say = reader.app._session.say

        def noted(what: str, **how: Any) -> None:
            said.append(what)
            say(what, **how)

        monkeypatch.setattr(reader.app._session, "say", noted)
        await reader.press("e")
        await reader.type("By me. ")
        await reader.press("ctrl+s")
        await reader.sees("By me.")
        await asyncio.sleep(1.5)
        await reader.sees("By me.")
    assert not [what for what in said if "; refreshed" in what]


async def test_what_is_told_of_ones_own_doing_is_not_covered(desk: Path, at: OpenTerminal) -> None:
    async with AsyncCatalog(data_dir=desk) as colleague, at(desk, urn=SHIPMENTS) as reader:
        await reader.sees("documented")
        reader.app._session.say("This is what became of it.")
        await colleague.describe(SHIPMENTS, "Told while one reads.")
        await reader.press("1")
        reader.app._session.say("This is what became of it.")
        shown = await reader.sees("Told while one reads.")
        assert "This is what became of it." in shown


class Forgetful(AsyncCatalog):
    """A client whose change log has lost what it was to go on from, as soon as `lose` is set."""

    def __init__(self, directory: Path) -> None:
        super().__init__(data_dir=directory)
        self.lose = asyncio.Event()

    async def follow(self, after: Any = None, **narrowed: Any) -> AsyncGenerator[Any, None]:
        if not self.lose.is_set():
            await self.lose.wait()
            raise Gone("not kept any more")
        async for change in super().follow(after, **narrowed):
            yield change


async def test_changes_that_were_not_heard_are_read_again(desk: Path, at: OpenTerminal) -> None:
    forgetful = Forgetful(desk)
    reading = at(desk, urn=SHIPMENTS, client=lambda: forgetful)
    async with AsyncCatalog(data_dir=desk) as colleague, reading as reader:
        await reader.press("1")
        await reader.sees("Overview")
        await colleague.describe(SHIPMENTS, "Written while nobody listened.")
        await reader.settle()
        assert "Written while nobody listened." not in reader.screen()
        forgetful.lose.set()
        await reader.sees(
            "Written while nobody listened.", "Updated after a gap in the change stream"
        )


class Line:
    """The address of a server that can be cut off and connected again."""

    def __init__(self, url: str) -> None:
        self._server = int(url.rpartition(":")[2])
        self._open = AsyncExitStack()
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.cut()

    async def connect(self) -> None:
        self.port = await self._open.enter_async_context(listening(self._pass_on, self.port))

    async def cut(self) -> None:
        await self._open.aclose()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", self._server)

        async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
            while piece := await source.read(65_536):
                target.write(piece)
                await target.drain()

        try:
            with suppress(ConnectionError):
                await asyncio.gather(copy(reader, back), copy(there, writer))
        finally:
            back.close()
            with suppress(OSError):
                await back.wait_closed()


OUT = "○ no answer from the catalog"


@pytest.mark.parametrize(
    ("offline", "keys", "words"),
    [
        pytest.param("off", "", OUT, marks=pytest.mark.nightly),
        ("off", "r", "No catalog answers"),
        pytest.param("fallback", "r", "◐ offline copy", marks=pytest.mark.nightly),
    ],
    ids=["idle", "asked", "copy"],
)
async def test_the_light_goes_out_and_on_with_the_server_also_where_nothing_is_asked(
    at: OpenTerminal,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    offline: Any,
    keys: str,
    words: str,
) -> None:
    monkeypatch.setenv("CATALOG_CACHE_DIR", str(tmp_path / "cache"))
    with serving_catalog(tmp_path) as url:
        async with (
            Line(url) as line,
            at(None, client=lambda: AsyncCatalog(line.url, offline=offline)) as reader,
        ):
            await reader.sees("●", "0 entities")
            await line.cut()
            await reader.sees(OUT)
            await reader.press(*keys)
            await reader.sees(words)
            await line.connect()
            await reader.sees("●", "0 entities")
            # What happens from here on is heard, too.
            async with AsyncCatalog(url) as colleague:
                await colleague.put(SHIPMENTS, "datasetProperties", {"description": "Back."})
            await reader.sees("1 entity")


async def test_a_change_heard_while_the_widgets_go_is_dropped(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample) as reader:
        await reader.sees("results")
        await reader.press("enter")
        await reader.sees("1 Overview")
        await reader.app.screen.query_one(EntityView).remove()
        reader.app._others_changed({})
        reader.app._refresh_after_gap()


async def test_a_change_heard_when_the_screens_are_gone_is_dropped(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample) as reader:
        await reader.sees("results")
    assert not reader.app.screen_stack
    reader.app._others_changed({})
    reader.app._refresh_after_gap()
