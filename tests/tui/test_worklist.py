"""What is worth documenting next is listed, and written one after another across tables."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from explorer import instance
from explorer.client import AsyncCatalog, Catalog
from explorer.client.connection import Abilities
from explorer.client.http import HttpTransport
from explorer.client.transport import Answer
from explorer.errors import Unreachable
from explorer.metadata.urn import Urn
from explorer.stewardship import Stewardship
from explorer.tui.screens.palette import HelpScreen
from explorer.tui.screens.stewardship import WorklistScreen
from explorer.views.stewardship import percent_of
from explorer.views.table import to_objects
from tests.conftest import nightly, schema_of
from tests.tui.conftest import OpenTerminal

pytestmark = pytest.mark.anyio

TYPE = {"nativeDataType": "int", "type": {"type": {"com.linkedin.schema.NumberType": {}}}}


def make_table(catalog: Catalog, name: str, columns: list[str]) -> Urn:
    """A described dataset with columns that nobody has described."""
    urn = Urn.dataset("trino", name)
    catalog.put(urn, "datasetProperties", {"name": name, "description": "came in"})
    schema = schema_of(
        [{"fieldPath": column, **TYPE} for column in columns], platform="trino", name=name
    )
    catalog.put(urn, "schemaMetadata", schema)
    return urn


def texts_of(catalog: Catalog, urn: Urn) -> dict[str, str]:
    return {column.path.raw: column.edited or "" for column in catalog.entity(urn).schema}


def listed(worklist: WorklistScreen) -> list[object]:
    """The URN of every item that is listed."""
    table = worklist.table()
    return [row["urn"] for row in to_objects(table)] if table is not None else []


async def test_twenty_columns_of_five_tables_are_written_with_one_key_more_than_their_texts(
    at: OpenTerminal, desk: Path
) -> None:
    names = [f"twenty_{letter}" for letter in "abcde"]
    with Catalog(data_dir=desk) as catalog:
        urns = [make_table(catalog, name, ["a", "b", "c", "d"]) for name in names]
    async with at(desk) as reader:
        await reader.press("W")
        await reader.sees("undocumented")
        await reader.press("f")
        await reader.type("name:twenty_*")
        await reader.press("enter")
        await reader.sees("20 undocumented", "name:twenty_*")
        await reader.press("enter")
        await reader.sees("20 left", "column 1 of 4")
        # From here on nothing is waited for: a text, and one key that saves it and goes on.
        for number in range(20):
            await reader.pilot.press(*(char for char in f"t{number}"), "ctrl+n")
        await reader.sees("All done", "back to the worklist")
        await reader.press("enter")
        await reader.until(lambda: isinstance(reader.app.screen, WorklistScreen))
        await reader.sees("20 documented here", "Everything here is documented.")
    with Catalog(data_dir=desk) as catalog:
        written = [text for urn in urns for text in texts_of(catalog, urn).values()]
    assert written == [f"t{number}" for number in range(20)]


@pytest.mark.nightly
async def test_what_others_documented_meanwhile_drops_out(at: OpenTerminal, desk: Path) -> None:
    with Catalog(data_dir=desk) as catalog:
        urn = make_table(catalog, "meanwhile", ["a", "b", "c"])
        async with at(desk) as reader:
            await reader.press("W", "f")
            await reader.type("name:meanwhile")
            await reader.press("enter")
            await reader.sees("3 undocumented")
            await asyncio.to_thread(catalog.describe, urn, "theirs", column="b")
            await reader.sees("2 undocumented")
            await reader.press("enter")
            await reader.sees("column 1 of 3")
            # Neither is it gone to in the editor.
            await asyncio.to_thread(catalog.describe, urn, "theirs too", column="c")
            stack = reader.app.screen_stack
            (worklist,) = (one for one in stack if isinstance(one, WorklistScreen))
            await reader.until(lambda: len(listed(worklist)) == 1)
            await reader.type("mine")
            await reader.press("ctrl+n")
            await reader.sees("All done")
        assert texts_of(catalog, urn) == {"a": "mine", "b": "theirs", "c": "theirs too"}


class Failing:
    """A server that cannot be reached by what writes a description of a column."""

    def __init__(self, directory: Path) -> None:
        self._wire = HttpTransport(instance.ensure(directory).address, 30)

    async def send(self, request: Any) -> Any:
        if "updateDescription" in str(request.body):
            raise Unreachable("the network is gone")
        return await self._wire.send(request)

    async def close(self) -> None:
        await self._wire.close()


class Counting:
    """A server that counts for the first time, until told that it has counted."""

    def __init__(self, directory: Path) -> None:
        self._wire = HttpTransport(instance.ensure(directory).address, 30)
        self.is_counted = False

    async def send(self, request: Any) -> Any:
        if request.path.startswith("/stewardship") and not self.is_counted:
            body = b'{"message": "being counted: 312,000 of 1,000,000 datasets"}'
            # Longer than the client repeats a request by itself.
            return Answer(503, body, {"retry-after": "900"})
        return await self._wire.send(request)

    async def close(self) -> None:
        await self._wire.close()


@pytest.mark.parametrize(("key", "seen"), [("W", "undocumented"), ("C", "columns")])
async def test_the_first_count_is_followed_until_it_is_done(
    at: OpenTerminal, desk: Path, key: str, seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.stewardship.api._LONGEST_PAUSE_SECONDS", 0.05)
    with Catalog(data_dir=desk) as catalog:
        make_table(catalog, "counting", ["a", "b"])
    server = Counting(desk)
    async with at(desk, transport=server) as reader:
        # Without waiting for the worker, which goes on until it is counted.
        await reader.pilot.press(key)
        await reader.sees("being counted: 312,000 of 1,000,000 datasets")
        server.is_counted = True
        await reader.sees(seen)
        await reader.until(lambda: "being counted" not in reader.screen())


async def test_what_could_not_be_saved_stays_on_the_list(at: OpenTerminal, desk: Path) -> None:
    with Catalog(data_dir=desk) as catalog:
        urn = make_table(catalog, "failing", ["a", "b"])
    async with at(desk, transport=Failing(desk)) as reader:
        await reader.press("W", "f")
        await reader.type("name:failing")
        await reader.press("enter")
        await reader.sees("2 undocumented")
        await reader.press("enter")
        await reader.sees("column 1 of 2")
        await reader.type("never")
        await reader.press("ctrl+n")
        await reader.sees("column 2 of 2", "Not saved")
        await reader.press("escape")
        shown = await reader.sees("2 undocumented")
        assert "documented here" not in shown
    with Catalog(data_dir=desk) as catalog:
        assert texts_of(catalog, urn) == {"a": "", "b": ""}


@pytest.mark.nightly
async def test_a_column_is_passed_over_and_gone_back_to(at: OpenTerminal, desk: Path) -> None:
    with Catalog(data_dir=desk) as catalog:
        urns = [make_table(catalog, f"passed_{one}", ["a"]) for one in "xy"]
    async with at(desk) as reader:
        await reader.press("W", "f")
        await reader.type("name:passed_*")
        await reader.press("enter")
        await reader.sees("2 undocumented")
        await reader.press("enter")
        await reader.sees("passed_x", "2 left")
        await reader.press("ctrl+n")
        await reader.sees("passed_y")
        await reader.type("second")
        await reader.press("ctrl+n")
        await reader.sees("Some were left without a description")
        await reader.press("ctrl+n")
        await reader.sees("passed_x", "1 left, 1 written")
        await reader.type("first")
        await reader.press("ctrl+s")
        await reader.sees("Everything here is documented.")
    with Catalog(data_dir=desk) as catalog:
        assert [texts_of(catalog, urn) for urn in urns] == [{"a": "first"}, {"a": "second"}]


async def test_a_table_is_opened_from_the_worklist_and_a_wrong_filter_is_told(
    at: OpenTerminal, sample: Path
) -> None:
    async with at(sample, size=(80, 24)) as reader:
        await reader.press("W", "f")
        await reader.type("platform:(")
        await reader.press("enter")
        await reader.sees("The filter cannot be read")
        await reader.press("escape")
        await reader.sees("undocumented", "fct_orders")
        await reader.press("m")
        await reader.sees("owned by you")
        await reader.press("m")
        await reader.sees("fct_orders")
        await reader.press("o")
        await reader.sees("fct_orders", "1 Over")
        assert len(reader.app.screen_stack) == 1


async def test_the_worklist_is_what_the_client_ranks(at: OpenTerminal, sample: Path) -> None:
    with Catalog(data_dir=sample) as catalog:
        ranked = Stewardship(catalog).worklist(top=500)
    async with at(sample) as reader:
        await reader.press("W")
        await reader.sees(f"{ranked.total:,} undocumented")
        screen = reader.app.screen
        assert isinstance(screen, WorklistScreen)
        assert listed(screen)[:500] == [item.urn for item in ranked.items]


@pytest.mark.parametrize("by", ["platform", *nightly("tag", "domain", "folder"), "owner"])
async def test_coverage_leads_to_what_is_missing_in_a_group(
    at: OpenTerminal, sample: Path, by: str
) -> None:
    with Catalog(data_dir=sample) as catalog:
        coverage = Stewardship(catalog).coverage(by=by)  # type: ignore[arg-type]
    group = coverage.groups[0]
    async with at(sample) as reader:
        await reader.press("C")
        await reader.sees("by platform", percent_of(coverage.columns))
        while f"by {by} " not in f"{reader.screen().splitlines()[0]} ":
            await reader.press("right")
        await reader.sees(f"{group.columns.undocumented:,}")
        await reader.press("enter")
        missing = group.columns.undocumented + group.tables.undocumented
        await reader.sees("Worklist", f"{missing:,} undocumented")
        await reader.press("escape")
        await reader.sees("Coverage", f"by {by}")
        await reader.press("escape")
        await reader.until(lambda: len(reader.app.screen_stack) == 1)


async def test_a_group_of_a_filtered_coverage_and_what_one_owns_there_are_narrowed_together(
    at: OpenTerminal, sample: Path
) -> None:
    with Catalog(data_dir=sample) as catalog:
        steward = Stewardship(catalog)
        (group, *_) = steward.coverage(filter="platform:kafka OR platform:s3", by="folder").groups
    async with at(sample) as reader:
        await reader.press("C", "f")
        await reader.type("platform:kafka OR platform:s3")
        await reader.press("enter", "left", "left")
        await reader.sees("by folder", group.key)
        await reader.press("enter")
        missing = group.columns.undocumented + group.tables.undocumented
        await reader.sees(f"{missing:,} undocumented", group.key)
        await reader.press("m")
        await reader.sees("owned by you")
        assert "give datasets" not in reader.screen()


async def test_nothing_is_written_where_the_catalog_is_read_only(
    at: OpenTerminal, sample: Path
) -> None:
    address = HttpTransport(instance.ensure(sample).address, 30)
    async with at(None, transport=address, read_only=True) as reader:
        await reader.press("W")
        await reader.sees("undocumented", "read-only")
        await reader.press("enter")
        await reader.sees("Nothing was written: this server is open read-only")
        assert isinstance(reader.app.screen, WorklistScreen)


async def test_a_server_that_does_not_count_is_counted_here(at: OpenTerminal, desk: Path) -> None:
    with Catalog(data_dir=desk) as catalog:
        make_table(catalog, "uncounted", ["a", "b"])
        known = catalog.abilities()

    class Plain(AsyncCatalog):
        async def abilities(self) -> Abilities:
            return replace(known, stewardship=False)

    async with at(desk, client=lambda: Plain(data_dir=desk)) as reader:
        await reader.press("W", "f")
        await reader.type("name:uncounted")
        await reader.press("enter")
        await reader.sees("2 undocumented", "uncounted")


async def test_how_the_coverage_of_a_group_changed_is_drawn_above_the_keys(
    at: OpenTerminal, desk: Path
) -> None:
    with Catalog(data_dir=desk) as catalog:
        make_table(catalog, "trend_of_coverage", ["a", "b"])
        steward = Stewardship(catalog)
        group = steward.coverage(by="platform").groups[0]
    async with at(desk) as reader:
        await reader.press("C")
        await reader.sees("by platform", "missing", group.name)
        await reader.press("t")
        counted = f"{group.columns.documented:,} of {group.columns.total:,}"
        await reader.sees(f"{group.name} · columns", counted, "┤", "▲")
        await reader.press("t")
        counted = f"{group.tables.documented:,} of {group.tables.total:,}"
        await reader.sees(f"{group.name} · tables", counted)
        await reader.press("right")
        await reader.sees("by tag", "· tables ·")
        await reader.press("t")
        await reader.until(lambda: "· tables ·" not in reader.screen())


async def test_a_save_is_undone_and_redone_on_the_worklist(at: OpenTerminal, desk: Path) -> None:
    with Catalog(data_dir=desk) as catalog:
        urn = make_table(catalog, "undone_here", ["a", "b", "c"])
    async with at(desk) as reader:
        await reader.press("W", "f")
        await reader.type("name:undone_here")
        await reader.press("enter")
        await reader.sees("3 undocumented")
        await reader.press("enter")
        await reader.sees("column 1 of 3")
        await reader.type("wrong")
        await reader.press("ctrl+s")
        await reader.sees("2 undocumented", "1 documented here")
        await reader.press("U")
        await reader.sees("Undo the last save?", "“wrong”")
        await reader.press("ctrl+s")
        await reader.sees("Worklist", "3 undocumented", "Undone: description of undone_here · a")
        await reader.press("ctrl+y")
        await reader.sees("Redo the save")
        await reader.press("ctrl+s")
        await reader.sees("2 undocumented", "Redone: description of undone_here · a")
    with Catalog(data_dir=desk) as catalog:
        assert texts_of(catalog, urn) == {"a": "wrong", "b": "", "c": ""}


async def test_the_help_over_the_page_lists_only_keys_that_work_there_as_here(
    at: OpenTerminal, sample: Path
) -> None:
    async with at(sample) as reader:
        await reader.press("W")
        await reader.sees("undocumented")
        await reader.press("question_mark")
        await reader.sees("Keys")
        assert isinstance(reader.app.screen, HelpScreen)
        parts = {entry.text: entry.part for entry in reader.app.screen.entries()}
        assert parts["Undo the last save of any page, after confirmation"] == "Everywhere  here"
        assert parts["Show the keys that work here"] == "Everywhere  here"
        assert parts["Keys and settings"] == "Everywhere"
        assert parts["Journal: saves made on this machine, to look up and undo"] == "Everywhere"
