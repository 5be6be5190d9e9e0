"""A reader sees what was changed, when and by whom, and puts an old description back."""

import asyncio
import json
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from textual.widgets import Input

from explorer.client import AsyncCatalog, Catalog
from explorer.errors import Unreachable
from explorer.metadata import Urn
from explorer.tui.screens.history import HistoryRows
from explorer.tui.session import TerminalSession
from explorer.tui.widgets.rows import wrap_parts
from tests.tui.conftest import OpenTerminal, Reader

pytestmark = pytest.mark.anyio

ORDERS = Urn.dataset("snowflake", "analytics.marts.fct_orders")
HOSTILE = "\x1b]52;c;aGk=\x07[/x] [@click=app.quit]here[/] \x9b31m\u202e [bold red"


def dataset(name: Any) -> Any:
    return Urn.dataset("snowflake", f"analytics.marts.{name}")


def described(directory: Path, urn: Urn, *texts: Any, column: Any = None) -> None:
    """Write one text after another."""
    with Catalog(data_dir=directory) as catalog:
        for text in texts:
            catalog.describe(urn, text, column=column)


def first_column(directory: Path, urn: Urn) -> Any:
    with Catalog(data_dir=directory) as catalog:
        return catalog.entity(urn).schema.columns[0].path.raw


def edited(directory: Path, urn: Urn, column: Any = None) -> Any:
    with Catalog(data_dir=directory) as catalog:
        entity = catalog.entity(urn)
        if column is None:
            return entity.edited_description
        found = entity.schema.column(column)
        assert found is not None
        return found.edited


async def move_to(reader: Reader, words: Any) -> None:
    """Move down the list until the row under the cursor is told of in these words."""
    for _ in range(40):
        await reader.settle()
        if words in str(reader.app.query_one("#head").render()):
            return
        await reader.press("j")
    raise AssertionError(f"no row is {words}\n{reader.screen()}")


async def test_versions_are_listed_with_what_each_changed(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("7")
        shown = await reader.sees("13 aspects · 16 versions", "~ description", "first version")
        assert "▸ globalTags" in shown
        await move_to(reader, "schemaMetadata · latest version")
        await reader.sees("+ fields / dbt_updated_at", '"fieldPath": "dbt_updated_at"')


async def test_an_aspect_unfolds_and_folds(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("7")
        await move_to(reader, "globalTags")
        await reader.press("right", "j")
        await reader.sees("▾ globalTags", "globalTags · latest version")
        rows = reader.app.query_one(HistoryRows)
        unfolded = rows.count
        await reader.press("left")
        await reader.sees("▸ globalTags")
        assert rows.count == unfolded - 1


async def test_a_text_is_compared_line_by_line(desk: Path, at: OpenTerminal) -> None:
    urn = dataset("dim_stores")
    described(desk, urn, "one\ntwo\nthree", "one\n2\nthree")
    async with at(desk, urn=urn) as reader:
        await reader.sees("documented")
        await reader.press("7")
        await reader.sees("~ description", "- two", "+ 2", "  three")


async def test_any_two_versions_are_compared(desk: Path, at: OpenTerminal) -> None:
    urn = dataset("dim_dates")
    described(desk, urn, "first words", "second words", "third words")
    async with at(desk, urn=urn) as reader:
        await reader.sees("documented")
        await reader.press("7")
        await reader.sees("3 versions", "- second words", "+ third words")
        await reader.press("j", "v")
        await reader.sees("◆", "move to another version")
        await reader.press("j", "j")
        await reader.sees("against ◆", "- first words", "+ third words")
        # From the older to the newer also where the older is marked.
        await reader.press("v", "k", "k")
        await reader.sees("against ◆", "- first words", "+ third words")
        await reader.press("j", "j", "v")
        assert "◆" not in reader.screen()


@pytest.mark.nightly
async def test_versions_beyond_the_first_are_read_when_asked_for(
    desk: Path, at: OpenTerminal
) -> None:
    urn = dataset("fct_refunds")
    described(desk, urn, *(f"text number {n}" for n in range(40)))
    async with at(desk, urn=urn) as reader:
        await reader.sees("1 Over")
        await reader.press("7")
        await reader.sees("40 versions", "… 36 older; ⏎ reads more")
        await reader.press(*["j"] * 5, "enter")
        await reader.sees("text number 35")
        await reader.press(*["j"] * 20)
        await reader.sees("… 16 older", "⏎ reads the versions from the server")


class GatedCatalog(AsyncCatalog):
    """Answers questions for older versions only once its gate is open."""

    def __init__(self, directory: Path) -> None:
        super().__init__(data_dir=directory)
        self.gate = asyncio.Event()

    async def versions(self, *which: Any, start: int = 0, **how: Any) -> Any:
        if start:
            await self.gate.wait()
        return await super().versions(*which, start=start, **how)


async def test_the_cursor_is_not_taken_back_when_older_versions_come(
    desk: Path, at: OpenTerminal
) -> None:
    urn = dataset("dim_products")
    described(desk, urn, *(f"text number {n}" for n in range(40)))
    client = GatedCatalog(desk)
    async with at(desk, urn=urn, client=lambda: client) as reader:
        await reader.sees("1 Over")
        await reader.press("7")
        await reader.sees("40 versions", "… 36 older; ⏎ reads more")
        await reader.press(*["j"] * 5)
        rows = reader.app.query_one(HistoryRows)
        await reader.pilot.press("enter", "k", "k")
        assert rows.cursor == 3
        client.gate.set()
        await reader.sees("text number 35")
        assert rows.cursor == 3


async def test_each_column_tells_who_described_it(desk: Path, at: OpenTerminal) -> None:
    urn = dataset("dim_products")
    path = first_column(desk, urn)
    described(desk, urn, "An old text", "A newer text", column=path)
    async with at(desk, urn=urn) as reader:
        await reader.sees("documented")
        await reader.press("7", "b")
        await reader.sees("Who described the columns", "✎", "A newer text", "nobody")
        await reader.press("enter")
        await reader.sees(f"{path} · ", "changes", "- An old text", "+ A newer text")
        await reader.press("escape")
        await reader.sees("Who described the columns")
        await reader.press("escape")
        await reader.sees("aspects · ")


async def test_a_column_that_was_never_described_says_so(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("7", "b")
        await move_to(reader, "channel")
        await reader.sees("No description")
        await reader.press("enter")
        await reader.sees("channel · 0 changes", "Nobody has described this column.")


async def test_an_old_description_of_a_column_is_put_back(desk: Path, at: OpenTerminal) -> None:
    urn = dataset("dim_customers")
    path = first_column(desk, urn)
    described(desk, urn, "The good\nold text", "A worse one", column=path)
    async with at(desk, urn=urn) as reader:
        await reader.sees("documented")
        await reader.press("7", "b")
        await reader.sees("Who described the columns", "A worse one")
        await reader.press("enter", "j", "R")
        here = await reader.sees("Restore the old description?", "- A worse one", "+ The good")
        assert "as of 20" in here
        assert " UTC" not in here
        await reader.press("escape", "Z", "R")
        assert re.search(r"as of 20[-\d]+ [:\d]+ UTC \S", reader.screen())
        await reader.press("escape")
        assert edited(desk, urn, path) == "A worse one"
        # Beside the list, where its text is read, too.
        await reader.press("enter", "R")
        await reader.sees("Restore the old description?")
        await reader.press("ctrl+s")
        await reader.sees("Restored the old description", "4 changes")
    assert edited(desk, urn, path) == "The good\nold text"


@pytest.mark.nightly
async def test_all_versions_are_written_to_a_file_also_those_that_were_not_read(
    desk: Path, at: OpenTerminal, tmp_path: Path
) -> None:
    urn = dataset("fct_returns")
    described(desk, urn, *(f"Text {number}." for number in range(30)))
    async with at(desk, urn=urn) as reader:
        await reader.sees("documented")
        await reader.press("7", "X")
        await reader.sees("versions", "in all", "Writes all")
        reader.app.screen.query_one(Input).value = str(tmp_path / "versions.json")
        await reader.press("enter")
        await reader.sees("Wrote", "versions.json")
    with Catalog(data_dir=desk) as catalog:
        names = [name for name in catalog.entity(urn).aspects if not name.endswith("Key")]
        totals = {name: len(list(catalog.versions(urn, name, count=100))) for name in names}
    written = json.loads((tmp_path / "versions.json").read_text())
    assert Counter(row["aspect"] for row in written) == totals
    assert totals["editableDatasetProperties"] >= 30


async def test_an_old_description_of_a_dataset_is_put_back(desk: Path, at: OpenTerminal) -> None:
    urn = dataset("fct_shipments")
    described(desk, urn, "# Good\n", "# Worse\n")
    async with at(desk, urn=urn) as reader:
        await reader.sees("documented")
        await reader.press("7", "R")
        await reader.sees("This is already the current description.")
        await reader.press("j", "j", "R")
        await reader.sees("- # Worse", "+ # Good")
        await reader.press("ctrl+s")
        await reader.sees("Restored the old description", "4 versions")
    assert edited(desk, urn) == "# Good\n"


async def test_an_old_description_of_a_column_is_put_back_from_the_versions(
    desk: Path, at: OpenTerminal
) -> None:
    urn = dataset("dim_dates")
    with Catalog(data_dir=desk) as catalog:
        one, two = (column.path.raw for column in catalog.entity(urn).schema.columns[:2])
    described(desk, urn, "The good text", "A worse one", column=one)
    async with at(desk, urn=urn) as reader:
        await reader.sees("documented")
        await reader.press("7")
        await reader.sees("2 versions", f"~ {one}/description")
        await reader.press("j", "R")
        await reader.sees("This is already the current description.")
        await reader.press("j", "R")
        await reader.sees("Restore the old description?", one, "- A worse one", "+ The good text")
        await reader.press("ctrl+s")
        await reader.sees("Restored the old description")
    assert edited(desk, urn, one) == "The good text"
    assert edited(desk, urn, two) is None


async def test_the_latest_version_can_be_put_back_before_the_others_are_read(
    desk: Path, at: OpenTerminal
) -> None:
    class WithoutVersions(AsyncCatalog):
        async def versions(self, *given: Any, **more: Any) -> Any:
            await asyncio.Event().wait()

    urn = dataset("mart_ltv")
    described(desk, urn, "the only one")
    async with at(None, urn=urn, client=lambda: WithoutVersions(data_dir=desk)) as reader:
        await reader.sees("documented")
        await reader.pilot.press("7", "R")
        await reader.until(lambda: "This is already the current description." in reader.screen())


async def test_the_cursor_stays_on_the_aspect_it_was_moved_to_while_the_versions_are_read(
    desk: Path, at: OpenTerminal
) -> None:
    answering = asyncio.Event()

    class SlowVersions(AsyncCatalog):
        async def versions(self, *given: Any, **more: Any) -> Any:
            await answering.wait()
            return await super().versions(*given, **more)

    urn = dataset("mart_ltv")
    described(desk, urn, "the first", "the second")
    async with at(None, urn=urn, client=lambda: SlowVersions(data_dir=desk)) as reader:
        await reader.sees("documented")
        await reader.pilot.press("7", "j", "j")
        rows = reader.app.query_one(HistoryRows)
        await reader.until(lambda: rows.cursor == 2)
        aspect = str(reader.app.query_one("#head").render()).split(" · ")[0]
        answering.set()
        await reader.until(lambda: "2 versions" in reader.screen())
        assert str(reader.app.query_one("#head").render()).split(" · ")[0] == aspect


async def test_what_somebody_wrote_meanwhile_is_shown_before_it_is_overwritten(
    desk: Path, at: OpenTerminal
) -> None:
    urn = dataset("fct_payments")
    described(desk, urn, "the old", "the new")
    async with at(desk, urn=urn) as reader:
        await reader.sees("documented")
        await reader.press("7")
        await reader.sees("2 versions")
        await reader.press("j", "j", "R")
        await reader.sees("- the new", "+ the old")
        described(desk, urn, "of somebody else")
        await reader.press("ctrl+s")
        await reader.sees("Somebody else changed the text", "- of somebody else", "+ the old")
        assert edited(desk, urn) == "of somebody else"
        await reader.press("ctrl+s")
        await reader.sees("Restored the old description")
    assert edited(desk, urn) == "the old"


async def test_what_holds_no_description_is_not_put_back(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("7")
        await move_to(reader, "ownership")
        await reader.press("R")
        await reader.sees("This change contains no description")


async def test_names_are_read_in_one_request_and_kept_for_the_session(sample: Path) -> None:
    jordan, nobody = (Urn.parse(f"urn:li:corpuser:{one}") for one in ("jdoe", "nobody.at.all"))
    session = TerminalSession(
        lambda: AsyncCatalog(data_dir=sample), lambda *_, **__: None, lambda: None
    )
    await session.catalog()
    before = session.exchanges.count
    await session.read_names([jordan, nobody, jordan])
    assert session.names == {jordan: "Jordan Doe", nobody: "nobody.at.all"}
    assert session.exchanges.count == before + 1
    await session.read_names([nobody, jordan])
    assert session.exchanges.count == before + 1
    await session.close()


async def test_where_nothing_is_written_nothing_is_put_back(desk: Path, at: OpenTerminal) -> None:
    urn = dataset("fct_returns")
    described(desk, urn, "before", "after")

    def read_only() -> Any:
        return AsyncCatalog(data_dir=desk, read_only=True)

    async with at(desk, urn=urn, client=read_only) as reader:
        await reader.sees("documented")
        await reader.press("7")
        await reader.sees("2 versions", "read-only: nothing can be restored")
        await reader.press("j", "j")
        shown = await reader.sees("read-only: R restore, t T O D tags, owners …")
        assert shown.count("R restore") == 1
        await reader.press("R")
        await reader.sees("Nothing was written: this server is open read-only.")
    assert edited(desk, urn) == "after"


async def test_what_was_opened_before_is_not_shown_for_another(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("7", "b")
        await reader.sees("Who described")
        await reader.press("4", "enter")
        await reader.sees("1 Over")
        await reader.press("7")
        shown = await reader.sees("aspects · ")
        assert "Who described" not in shown


@pytest.mark.parametrize("size", [(120, 36), (40, 10)])
async def test_hostile_texts_are_literal_in_every_list(
    desk: Path, at: OpenTerminal, size: Any
) -> None:
    urn = dataset("fct_sessions")
    path = first_column(desk, urn)
    described(desk, urn, f"{HOSTILE} 1", f"{HOSTILE}\n{HOSTILE} {size}")
    described(desk, urn, f"{HOSTILE} 1", f"{HOSTILE} {size}", column=path)
    async with at(desk, urn=urn, size=size) as reader:
        await reader.settle()
        for keys in ("7", "j", "l", "h", "b", "enter", "R", "escape"):
            await reader.press(keys)
            shown = reader.screen()
            assert all(line.isprintable() for line in shown.splitlines())
            lines = shown.splitlines()
            assert len(lines) <= size[1]
        await reader.press("7", "escape", "escape")
        await reader.sees("aspects")


def test_a_line_is_broken_after_words_and_loses_nothing() -> None:
    for text in ("", "word " * 30, "      " + "x" * 90, "日本語" * 20 + " x", "🇩🇪" * 10):
        parts = list(wrap_parts(text, 20))
        assert "".join(parts) == text
        assert all(cell_len(part) <= 20 for part in parts)
    assert list(wrap_parts("one two three", 8)) == ["one two ", "three"]
    assert next(wrap_parts("    " + "x" * 30, 20)) == "    " + "x" * 16


async def test_a_server_that_falls_silent_is_told_and_asked_again(
    sample: Path, at: OpenTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("7")
        await reader.sees("16 versions")

        async def refuse(*_: Any) -> None:
            raise Unreachable("nobody answers")

        # A service of this machine is started again when it has gone: silence is made here.
        with monkeypatch.context() as silence:
            silence.setattr(AsyncCatalog, "blame", refuse)
            await reader.press("b")
            await reader.sees("Nobody answers.", "This could not be read; r tries again.")
        await reader.press("r")
        await reader.sees("Who described the columns · 13 of 29")


async def test_versions_stand_in_the_zone_that_the_reader_chose(
    sample: Path, at: OpenTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        async with at(sample, urn=ORDERS) as reader:
            await reader.sees("documented")
            await reader.press("7")
            shown = await reader.sees("16 versions")
            assert " UTC" not in shown
            await reader.press("Z")
            await reader.sees(" UTC · ", "16 versions")
            await reader.press("8")
            await reader.sees(" UTC · ", "aspects")
            await reader.press("Z")
            assert " UTC · " not in await reader.sees("Times are shown", "aspects")
            await reader.press("7")
            assert " UTC · " not in await reader.sees("16 versions")
    finally:
        monkeypatch.undo()
        time.tzset()
