"""Whatever the server's delay and the typist's speed, a column gets the text typed for it, or its
writer is told and keeps a draft. `python -m tests.benchmarks.editor` does the same for longer."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from textual import events

from explorer import instance
from explorer.client import AsyncCatalog, Catalog
from explorer.client.http import HttpTransport
from explorer.errors import Unreachable
from explorer.metadata import Urn
from explorer.stewardship.drafts import Drafts
from explorer.tui.app import CatalogApp
from explorer.tui.screens.editor import EditorScreen
from tests.conftest import nightly, schema_of
from tests.tui.conftest import OpenTerminal

pytestmark = pytest.mark.anyio

NAMES = {" ": "space", "_": "underscore"}
BLIND = ("quarter end", "Used by finance", "y", "oos", "Lx", "D ys", "R y")


def describe_table(catalog: Any, name: Any, columns: Any) -> Any:
    """A dataset with columns that nobody has described."""
    urn = Urn.dataset("hive", f"saves.{name}")
    fields = [
        {
            "fieldPath": column,
            "nativeDataType": "int",
            "type": {"type": {"com.linkedin.schema.NumberType": {}}},
        }
        for column in columns
    ]
    schema = schema_of(fields, name=name)
    catalog.put(urn, "datasetProperties", {"name": name, "description": "came in"})
    catalog.put(urn, "schemaMetadata", schema)
    return urn


@dataclass
class Network:
    """Delays every request and its answer, and lets some writes fail: they never arrive, are
    refused, or are done and not answered."""

    address: str
    dice: random.Random
    longest_seconds: float
    jitter: bool = True
    failing: float = 0.0
    written: list[tuple[str, str]] = field(default_factory=list)
    answered: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.line = HttpTransport(self.address, 30)

    async def wait(self) -> None:
        seconds = self.dice.uniform(0, self.longest_seconds) if self.jitter else None
        await asyncio.sleep(self.longest_seconds if seconds is None else seconds)

    async def send(self, request: Any) -> Any:
        edit = described(request)
        await self.wait()
        if edit is None:
            answer = await self.line.send(request)
            await self.wait()
            return answer
        fails = self.dice.choice(("lost", "refused", "unanswered"))
        if self.dice.random() >= self.failing:
            fails = ""
        if fails == "lost":
            raise Unreachable("the network is gone")
        if fails == "refused":
            return 503, b'{"message": "not now"}'
        answer = await self.line.send(request)
        self.written.append(edit)
        await self.wait()
        if fails:
            raise Unreachable("the answer was lost")
        self.answered.append(edit)
        return answer

    async def close(self) -> None:
        await self.line.close()


def described(request: Any) -> Any:
    """The column and the text of a request that describes one."""
    variables = request.body.get("variables") if isinstance(request.body, dict) else None
    edit = (variables or {}).get("input")
    if not isinstance(edit, dict) or "subResource" not in edit or "description" not in edit:
        return None
    return edit["subResource"], edit["description"]


def press(app: Any, *keys: Any) -> None:
    """As the terminal's driver does: nobody waits for what a key does."""
    for key in keys:
        app.post_message(events.Key(NAMES.get(key, key), key if len(key) == 1 else None))


class Typist:
    """Types a text for every column of a table without looking, and goes on by a key."""

    def __init__(self, app: Any, pilot: Any, dice: Any) -> None:
        self.app = app
        self.pilot = pilot
        self.dice = dice
        self.texts: dict[str, str] = {}
        self.left: dict[str, Any] = {}

    async def type(self, text: Any, seconds: Any) -> None:
        for letter in text:
            press(self.app, letter)
            await asyncio.sleep(seconds)

    async def write(self, columns: Any, longest_pause: Any) -> None:
        """A text for each column; some are skipped, and some are left without being saved."""
        at = 0
        while at < len(columns):
            seconds = self.dice.choice((0, 0, self.dice.uniform(0, longest_pause)))
            column, what = columns[at], self.dice.random()
            text = f"text of {column} {self.dice.randrange(1000)}"
            if what < 0.1 and at < len(columns) - 1:
                press(self.app, "ctrl+n")
            elif what < 0.2 and at < len(columns) - 1:
                await self.type(text, seconds)
                self.left[column] = text
                press(self.app, "f3")
            else:
                await self.type(text, seconds)
                self.texts[column] = text
                press(self.app, "ctrl+n")
            at += 1
            await asyncio.sleep(self.dice.choice((0, seconds * 4)))
        for text in self.dice.sample(BLIND, 2):
            await self.type(text, seconds)


@dataclass
class Found:
    """What one round ended with."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


@asynccontextmanager
async def opened(network: Any, urn: Urn) -> AsyncIterator[Any]:
    """The editor on the first column of a table, over a network."""
    app = CatalogApp(lambda: AsyncCatalog(transport=network), urn=urn)
    async with app.run_test(size=(120, 36)) as pilot:
        view = await until(lambda: app._has_entity_page and app._entity_view)
        await until(lambda: view.columns.has_focus_within and view.columns.current is not None)
        press(app, "e")
        screen = await until(
            lambda: isinstance(app.screen, EditorScreen) and app.screen._opened.is_set()
        )
        assert screen
        yield app, pilot, app.screen
        # A program that ends by itself does so before its screens go, and `run_test` does not.
        app.workers.cancel_all()


async def until(happens: Any, seconds: float = 60) -> Any:
    async with asyncio.timeout(seconds):
        while True:
            if value := happens():
                return value
            await asyncio.sleep(0.01)


async def write_a_table(
    desk: Path, name: Any, seed: Any, *, longest_seconds: Any, longest_pause: Any, count: int = 6
) -> Any:
    """One round: a table of columns written blindly over a network; what went wrong with it."""
    dice = random.Random(seed)
    found = Found()
    columns = [f"c{number}_{dice.randrange(100)}" for number in range(count)]
    with Catalog(data_dir=desk) as catalog:
        urn = describe_table(catalog, name, columns)
    address = instance.ensure(desk).address
    failing = dice.choice((0.0, 0.2, 0.5))
    network = Network(address, dice, dice.uniform(0, longest_seconds), dice.random() < 0.7, failing)
    theirs = {column: "of somebody else" for column in columns if dice.random() < 0.1}
    async with opened(network, urn) as (app, pilot, screen):
        with Catalog(data_dir=desk) as catalog:
            for column, text in theirs.items():
                catalog.describe(urn, text, column=column)
        typist = Typist(app, pilot, dice)
        await typist.write(columns, longest_pause)
        await until(lambda: screen._is_done or app.screen is not screen)
        saves = app._editing._saves
        await until(lambda: not saves.titles(None))
        await pilot.pause()
        if app.screen is not screen or not app.is_running:
            found.faults.append(f"after the last column the screen is {app.screen}")
        shown = "\n".join(
            "".join(strip.text for strip in line)
            for line in app.screen._compositor.render_update(full=True).strips
        )
        drafts = await Drafts.at(app._session)
        kept = {one.draft.path: one.draft.text for one in drafts.all() if one.draft.urn == str(urn)}
        failed = {path for _, path in saves.failed}
        found.faults += check(typist, network, theirs, kept, failed)
        if failed and "Not saved, kept as drafts" not in shown:
            found.faults.append(f"not told: {sorted(failed)}\n{shown}")
    with Catalog(data_dir=desk) as catalog:
        schema = catalog.entity(urn).schema
        stored = {one.path.raw: one.edited for one in schema}
    for column in columns:
        wanted = typist.texts.get(column)
        held = stored[column] or ""
        if wanted is not None and column not in failed and held != wanted:
            found.faults.append(f"{column}: acknowledged {wanted!r}, the server holds {held!r}")
        if held not in ("", wanted, theirs.get(column)):
            found.faults.append(f"{column}: {wanted!r} was typed, the server holds {held!r}")
        if column in theirs and held != theirs[column]:
            found.faults.append(f"{column}: the text of somebody else was overwritten by {held!r}")
    found.counts.update(
        typed=len(typist.texts),
        acknowledged=len(typist.texts) - len(failed),
        failed=len(failed),
        drafts=len(kept),
        conflicts=len(theirs.keys() & typist.texts.keys()),
    )
    return found


def check(typist: Any, network: Any, theirs: Any, kept: Any, failed: Any) -> Iterator[Any]:
    """What is wrong with the requests that were sent and with the drafts that are kept."""
    for column, text in network.written:
        if typist.texts.get(column) != text:
            yield f"{column}: {text!r} was sent, {typist.texts.get(column)!r} was typed"
    for column, text in typist.texts.items():
        if column in failed and kept.get(column) != text:
            yield f"{column}: {text!r} was not saved, the draft is {kept.get(column)!r}"
        if column not in failed and column in kept:
            yield f"{column}: it was saved, and there is a draft of it: {kept[column]!r}"
        if column not in failed and (column, text) not in network.answered:
            yield f"{column}: it counts as saved, and was never acknowledged"
        if column in theirs and column not in failed:
            yield f"{column}: it counts as saved, and somebody else had changed it"
    for column, text in typist.left.items():
        if kept.get(column) != text:
            yield f"{column}: {text!r} was left, the draft is {kept.get(column)!r}"


@pytest.mark.parametrize("seed", [0, 1, *nightly(2, 3, 4)])
async def test_every_column_gets_the_text_typed_for_it_or_keeps_a_draft(
    desk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path))
    found = await write_a_table(
        desk, f"any_{seed}", seed, longest_seconds=0.1, longest_pause=0.02, count=5
    )
    assert not found.faults


async def test_texts_typed_ahead_of_a_slow_server_go_each_to_its_own_column(
    desk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path))
    columns = ["alpha", "bravo", "charlie"]
    with Catalog(data_dir=desk) as catalog:
        urn = describe_table(catalog, "ahead", columns)
    network = Network(instance.ensure(desk).address, random.Random(1), 0.15, jitter=False)
    async with opened(network, urn) as (app, _, screen):
        for column in columns:
            for letter in f"{column} text":
                press(app, letter)
                await asyncio.sleep(0.01)
            press(app, "ctrl+n")
        await until(lambda: screen._is_done and not app._editing._saves.titles(None))
    assert network.answered == [(column, f"{column} text") for column in columns]


@pytest.mark.nightly
async def test_a_text_from_below_is_taken_for_every_column_however_fast(
    desk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path))
    columns = [f"offered_{number}" for number in range(5)]
    with Catalog(data_dir=desk) as catalog:
        other = describe_table(catalog, "offering", columns)
        for column in columns:
            catalog.describe(other, f"what {column} means", column=column)
        urn = describe_table(catalog, "taking", columns)
    network = Network(instance.ensure(desk).address, random.Random(1), 0.25, jitter=False)
    async with opened(network, urn) as (app, _, screen):
        for _ in columns:
            press(app, "f6", "ctrl+n")
        await until(lambda: screen._is_done and not app._editing._saves.titles(None))
    assert network.answered == [(column, f"what {column} means") for column in columns]


async def test_nothing_typed_after_the_last_column_is_a_command(
    desk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: OpenTerminal
) -> None:
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path))
    with Catalog(data_dir=desk) as catalog:
        urn = describe_table(catalog, "last", ["only"])
        stood = catalog.entity(urn).aspects.keys()
    async with at(desk, urn=urn) as reader:
        await reader.sees("documented")
        await reader.press("2", "e")
        await reader.type("Ends the quarter")
        await reader.press("ctrl+n")
        await reader.sees("All done: every column of last has a description.", "Saved only.")
        await reader.press("f11")
        # What there is to be saved is saved.
        assert "^s save" not in await reader.sees("All done", "⏎ next table")
        for text in BLIND:
            await reader.type(text)
        focused = reader.app.screen.focused
        assert focused is not None
        focused.post_message(events.Paste("q\ny\n"))
        await reader.sees("All done")
        await reader.press("f2", "escape")
        await reader.sees("✎ Ends the quarter")
    with Catalog(data_dir=desk) as catalog:
        entity = catalog.entity(urn)
    assert [one.edited for one in entity.schema] == ["Ends the quarter"]
    assert entity.aspects.keys() - stood == {"editableSchemaMetadata"}


@pytest.mark.nightly
async def test_after_the_last_column_enter_goes_on_to_the_next_table(
    desk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: OpenTerminal
) -> None:
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path))
    with Catalog(data_dir=desk) as catalog:
        first = describe_table(catalog, "nexttable_one", ["a"])
        second = describe_table(catalog, "nexttable_two", ["b", "c"])
    async with at(desk, query="nexttable") as reader:
        await reader.sees("2 results")
        await reader.press("enter")
        await reader.sees("0 of")
        here = reader.app._entity_view.urn
        columns = {first: ["a"], second: ["b", "c"]}
        await reader.press("2", "e")
        for column in columns[here]:
            await reader.type(f"of {column}")
            await reader.press("ctrl+n")
        await reader.sees("All done", "next table: nexttable_", "without a description")
        await reader.press("enter")
        for column in columns[second if here == first else first]:
            await reader.type(f"of {column}")
            await reader.press("ctrl+n")
        await reader.sees("All done", "back: no other result has an undocumented column")
        await reader.press("enter")
        await reader.sees("of 2 documented" if second != here else "of 1 documented")
    with Catalog(data_dir=desk) as catalog:
        texts = [column.edited for urn in columns for column in catalog.entity(urn).schema]
    assert texts == ["of a", "of b", "of c"]


@pytest.mark.nightly
async def test_a_conflict_that_was_moved_past_is_told_and_can_be_gone_back_to(
    desk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: OpenTerminal
) -> None:
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path))
    with Catalog(data_dir=desk) as catalog:
        urn = describe_table(catalog, "passed", ["one", "two"])
    async with at(desk, urn=urn) as reader:
        await reader.sees("documented")
        await reader.press("2", "e")
        await reader.type("mine")
        with Catalog(data_dir=desk) as catalog:
            catalog.describe(urn, "theirs", column="one")
        await reader.press("ctrl+n")
        await reader.sees("Not saved: one. Somebody else changed it meanwhile.")
        await reader.type("of two")
        # It stays there, whatever is typed.
        await reader.sees(
            "Not saved, kept as drafts; ^g goes there: one (somebody else changed it meanwhile)",
            "│ of two",
        )
        await reader.press("ctrl+n")
        await reader.sees("Not every description of passed was saved; ^g goes to the first")
        await reader.press("ctrl+g")
        await reader.sees("│ mine", "This is your unsaved draft", "saved by ", "theirs")
        await reader.press("ctrl+s")
        await reader.sees("somebody else changed one", "+ theirs", "+ mine")
        await reader.press("ctrl+o")
        await reader.sees("Saved one.", "2 of 2 documented")
        assert "draft" not in reader.screen()
    with Catalog(data_dir=desk) as catalog:
        schema = catalog.entity(urn).schema
    assert [one.edited for one in schema] == ["mine", "of two"]


@pytest.mark.parametrize("key", ["escape", "ctrl+q"])
async def test_a_save_that_is_on_its_way_goes_on_when_the_editor_is_left(
    desk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path))
    with Catalog(data_dir=desk) as catalog:
        urn = describe_table(catalog, f"left_{key[0]}", ["one", "two"])
    network = Network(instance.ensure(desk).address, random.Random(1), 0.1, jitter=False)
    async with opened(network, urn) as (app, _, screen):
        press(app, *"first", "ctrl+n", *"half", key)
        if key == "escape":
            await until(lambda: app.screen is not screen and not app._editing.unsaved)
        else:
            await until(lambda: not app.is_running or app._exit)
        drafts = await Drafts.at(app._session)
        kept = [(one.draft.path, one.draft.text) for one in drafts.all()]
    # Quitting waits two seconds for a save; one that takes longer is a draft.
    if key == "escape":
        assert network.answered == [("one", "first")]
    assert ("two", "half") in kept
    assert {*network.answered, *kept} == {("one", "first"), ("two", "half")}


async def test_saves_that_are_not_answered_in_time_are_drafts_when_one_quits(
    desk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path))
    with Catalog(data_dir=desk) as catalog:
        urn = describe_table(catalog, "unanswered", ["one", "two"])
    network = Network(instance.ensure(desk).address, random.Random(1), 0)
    async with opened(network, urn) as (app, _, _):
        network.longest_seconds, network.jitter = 60, False
        press(app, *"first", "ctrl+n", *"second", "ctrl+n", "ctrl+q")
        await until(lambda: app._exit)
        drafts = await Drafts.at(app._session)
        kept = {one.draft.path: one.draft.text for one in drafts.all()}
        told = [str(one) for one in app._exit_renderables]
    assert kept == {"one": "first", "two": "second"}
    assert told == ["Not saved, kept as drafts: one of unanswered, two of unanswered"]
