"""A catalog in which everything that can be written by anybody is written to do harm: nothing of
it runs, drives the terminal, moves what stands beside it or makes the reader wait."""

import asyncio
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson
import pytest
from rich.cells import cell_len
from textual.app import App
from textual.worker import WorkerCancelled

from explorer import instance
from explorer.client import Catalog
from explorer.client.http import HttpTransport
from explorer.config.searches import SavedSearch, SearchStore
from explorer.metadata import Proposal, Urn
from explorer.tui.actions import ACTIONS
from explorer.tui.app import ControlFilter
from explorer.tui.widgets.bars import PRESSED
from tests.conftest import schema_of
from tests.tui.conftest import OpenTerminal, Reader

ORDERS = Urn.dataset("snowflake", "analytics.marts.fct_orders")
SMALL, LARGE = (80, 24), (120, 36)
# What drives a terminal, or has its text read in another order or not at all.
DRIVING = re.compile(
    "[\x00-\x1f\x7f-\x9f\ud800-\udfff\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e007f]"
)

EVIL = (
    "\x1b]52;c;aGk=\x07\x1b]2;owned\x1b\\\x1b[2J\x1b[5;5H\x1bPq#0\x1b\\\x9b31m\x9d0;x\x9c\x00\x08\x7f"
    "[@click=app.quit]x[/] [/x] [bold red [link=https://evil.example]y[/link] \\[b] $$ ${x}"
    "\u202eabc\u202c\u2066d\u2069\u200b\u2060\ufeff\U000e0041\u2028z\u2029"
    "e\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308\u0309 日本語テーブル 👩\u200d👩\u200d👧🇩🇪"
    "\u0600❤\ufe0f🏳\ufe0f\u200d🌈 \u3164\u00ad\ufffe\ufdd0\uffff\ue000 <b>b</b> `c` "
    "a\tb\nc\r\nd\x85e\x0b\x0cf"
)
# A URN has no commas and parentheses of its own, and not more than 512 bytes.
EVIL_NAME = "\x1b]2;owned\x07\x9b31m[@click=app.quit]x[/]\u202e日本👩\u200d👧e\u0301\u200b[/x]\t\n"
# What the program reads to know what to do, rather than to show it.
KEPT = {
    *("noCode", "__typename", "entityName", "scrollId", "nextScrollId", "value_type", "direction"),
    *("contentType", "aspectName", "unit"),
}
NAMING = ("searchResultMetadatas[]", "aggregations[]", "matchedFields[]")
OPEN_KEYS = ("customProperties", "aggregations")
EVILS = (EVIL, EVIL_NAME, EVIL_NAME[:-1] + "!")


def evil_urn(urn: str) -> str:
    """The URN with a name that does harm."""
    if not urn.endswith(")"):
        return urn + EVIL_NAME[:-1] + "!"
    head, comma, tail = urn[:-1].rpartition(",")
    return f"{head}{EVIL_NAME}{comma}{tail})" if comma else f"{head}{EVIL_NAME})"


class Evil:
    """A real server, but every text of its answers does harm; what it is asked is understood. The
    first text of each answer under a key of `long` goes on as told there."""

    def __init__(self, directory: Path, long: Any = None) -> None:
        self._wire = HttpTransport(instance.ensure(directory).address, 30)
        self._long = long or {}

    async def send(self, request: Any) -> Any:
        asked = replace(request, path=_cleaned_path(request.path), body=_cleaned(request.body))
        status, body, _ = await self._wire.send(asked)
        # The time that this takes is not the reader's.
        return status, await asyncio.to_thread(self._spoiled_body, body) if body else body

    async def close(self) -> None:
        await self._wire.close()

    def _spoiled_body(self, body: Any) -> Any:
        return orjson.dumps(self._spoiled(orjson.loads(body), "", "", dict(self._long)))

    def _spoiled(self, held: Any, key: Any, above: Any, long: Any) -> Any:
        match held:
            case str() if key in KEPT or (key == "name" and above in NAMING):
                return held
            case str() if held.startswith("urn:li:"):
                return evil_urn(held)
            case str() if held[:1] == "{" and held[-1:] == "}":
                return orjson.dumps(self._spoiled(orjson.loads(held), "", key, long)).decode()
            case str():
                return held + EVIL + long.pop(key, "")
            case dict():
                names = key in OPEN_KEYS
                return {
                    self._spoiled_name(name, open_to_all=names): self._spoiled(
                        value, name, key, long
                    )
                    for name, value in held.items()
                }
            case list():
                items = f"{key}[]" if held and isinstance(held[0], dict) else key
                return [self._spoiled(one, items, above, long) for one in held]
            case _:
                return held

    def _spoiled_name(self, name: Any, *, open_to_all: Any) -> Any:
        if name.startswith("urn:li:"):
            return evil_urn(name)
        return name + EVIL if open_to_all else name


def _cleaned(held: Any) -> Any:
    match held:
        case str():
            for evil in EVILS:
                held = held.replace(evil, "")
            return held
        case dict():
            return {_cleaned(key): _cleaned(value) for key, value in held.items()}
        case list() | tuple():
            return [_cleaned(one) for one in held]
        case _:
            return held


def _cleaned_path(path: Any) -> Any:
    for evil in EVILS:
        path = path.replace(quote(evil, safe=""), "").replace(
            quote(quote(evil, safe=""), safe=""), ""
        )
    return path


class Watcher:
    """Looks at everything that is drawn while a reader goes about."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.place = ""

    async def press(self, *keys: Any) -> None:
        """Press keys, and look after each; after one with a star at the other size as well, at
        which it stays."""
        pilot, workers = self.reader.pilot, self.reader.app.workers
        for key in keys:
            self.place = f"{key} on {self.reader.app.screen!r}"
            before = time.thread_time()
            await pilot.press(key.removesuffix("*"))
            with suppress(WorkerCancelled):
                await workers.wait_for_complete()
            await pilot.pause()
            self.look()
            spent = time.thread_time() - before
            assert spent < 5, (self.place, f"{spent:.1f} s of work before anything is seen")
            if key.endswith("*"):
                await self._resize(SMALL if self.reader.app.screen.size == LARGE else LARGE)
                self.look()

    async def _resize(self, size: Any) -> None:
        await self.reader.pilot.resize_terminal(*size)
        for _ in range(100):
            screen = self.reader.app.screen
            if screen.size == screen._compositor.size == size:
                return
            await self.reader.pilot.pause()
        raise AssertionError(f"never {size}")

    def look(self) -> None:
        """What is on the screen now is in order."""
        app = self.reader.app
        assert app.is_running, self.place
        strips = app.screen._compositor.render_strips()
        assert len(strips) == app.size.height, self.place
        for strip in strips:
            assert not DRIVING.search(strip.text), (self.place, strip.text)
            assert cell_len(strip.text) == app.size.width, (self.place, strip.text)
            for segment in strip:
                if segment.style is not None:
                    self._look_at_style(segment.style)

    def _look_at_style(self, style: Any) -> None:
        assert not style.link, (self.place, style.link)
        action = style.meta.get(PRESSED, "focus").partition("(")[0]
        assert action in DECLARED, (self.place, action)
        clicks = [value for name, value in style.meta.items() if name.startswith("@")]
        assert "app.quit" not in clicks, self.place


DECLARED = {"focus", *(action.name.partition("(")[0] for action in ACTIONS)}


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What came to the last gate without having been cleaned, and what was done by name."""
    found: dict[str, set[str]] = {"slipped": set(), "done": set()}
    apply, run = ControlFilter.apply, App.run_action

    def applied(self: ControlFilter, segments: Any, background: Any) -> Any:
        found["slipped"].update(one.text for one in segments if DRIVING.search(one.text))
        return apply(self, segments, background)

    async def ran(self: App[None], action: Any, *given: Any, **named: Any) -> Any:
        found["done"].add(str(action))
        return await run(self, action, *given, **named)

    monkeypatch.setattr(ControlFilter, "apply", applied)
    monkeypatch.setattr(App, "run_action", ran)
    return found


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path / "state"))


FIND = [
    *("down", "w", "escape", "f", "down", "enter", "escape", "c", "enter", "escape", "escape"),
    *("o", "escape", "S*", "down", "f2", "escape", "escape", "s", "escape", "X", "escape"),
    *("slash", "o", "down*", "escape", "escape"),
]
FOLDERS = ["f6", "right", "down", "right", "down", "right*", "full_stop"]
PAGE = [
    *("1*", "n", "w", "2*", "f", "a", "escape", "t", "escape", "3*", "left", "m", "right", "p"),
    *("x*", "down", "escape", "f", "escape", "w", "escape", "c", "escape", "0", "4*", "f", "e"),
    *("escape", "5*", "G", "enter*", "G", "t", "6*", "down", "enter", "t", "escape", "7*", "down"),
    *("l", "h", "v", "b", "enter", "escape", "escape", "8*", "l", "down", "l", "f", "a", "escape"),
    "Z",
]
EDITS = [
    *("1", "O", "escape", "D", "escape", "exclamation_mark", "escape", "ctrl+x", "escape"),
    *("L*", "e", "escape", "escape", "e*", "x", "ctrl+t", "ctrl+t", "ctrl+d*", "escape", "escape"),
    *("f4", "escape"),
]
SHELL = [
    *("f3", "escape", "ctrl+l", "down", "escape", "question_mark", "escape", "colon", "escape"),
    *("ctrl+o", "escape", "X", "escape", "f10", "f10", "left_square_bracket"),
]


@pytest.mark.anyio
async def test_what_is_found_is_shown_and_never_obeyed(
    at: OpenTerminal, sample: Path, noted: Any
) -> None:
    searches = SearchStore.of("in process")
    searches.save(SavedSearch(EVIL, f"orders {EVIL}", EVIL))
    searches.add_recent(EVIL)
    async with at(None, size=SMALL, transport=Evil(sample), query="orders") as reader:
        await reader.sees("results")
        watcher = Watcher(reader)
        await watcher.press(*FIND, *FOLDERS)
    assert noted["slipped"] == set()
    assert not [one for one in noted["done"] if "quit" in one]


@pytest.mark.nightly
@pytest.mark.anyio
async def test_what_is_told_of_an_entity_is_shown_and_never_obeyed(
    at: OpenTerminal, sample: Path, noted: Any
) -> None:
    urn = Urn.parse(evil_urn(str(ORDERS)))
    async with at(None, size=SMALL, transport=Evil(sample), urn=urn) as reader:
        await reader.sees("1 Over", "fct_orders")
        watcher = Watcher(reader)
        await watcher.press(*PAGE, *EDITS, *SHELL)
        reader.app._say(EVIL, error=True)
        await reader.pilot.pause()
        watcher.look()
    assert noted["slipped"] == set()
    assert not [one for one in noted["done"] if "quit" in one]


COLUMN = {"nativeDataType": "int", "type": {"type": {"com.linkedin.schema.NumberType": {}}}}


@pytest.mark.nightly
@pytest.mark.anyio
async def test_what_a_colleague_writes_meanwhile_is_shown_and_never_obeyed(
    at: OpenTerminal, desk: Path, noted: Any
) -> None:
    plain = Urn.dataset("hive", "hostile.conflict")
    schema = schema_of([{"fieldPath": "a", **COLUMN}], name="conflict")
    with Catalog(data_dir=desk) as colleague:
        colleague.put(plain, "schemaMetadata", schema)
        urn = Urn.parse(evil_urn(str(plain)))
        async with at(None, size=SMALL, transport=Evil(desk), urn=urn) as reader:
            await reader.sees("1 Over", "hostile.conflict")
            watcher = Watcher(reader)
            await asyncio.to_thread(colleague.describe, plain, "heard")
            # The sentence that tells of it has the name of who did it in it.
            await reader.sees("updated by", "refreshed.")
            watcher.look()
            await watcher.press("2", "e", "x")
            await asyncio.to_thread(colleague.describe, plain, "theirs", column="a")
            await watcher.press("ctrl+s")
            await reader.sees("somebody else changed", "+ theirs")
            # What is pressed before the dialog is laid out moves nothing.
            while "+ x" not in reader.screen():
                await watcher.press("end")
            await watcher.press("down*", "escape*", "ctrl+d", "escape", "ctrl+s", "f6", "ctrl+z")
            await watcher.press("escape", "escape")
    assert noted["slipped"] == set()
    assert not [one for one in noted["done"] if "quit" in one]


LINES = "\n" * 2 + "\n".join(f"line {number}" for number in range(100_000))
MEGABYTE = "x" * 500_000 + EVIL + " y" * 250_000
LONG = dict.fromkeys(
    [
        *("displayName", "name", "title", "nativeDataType", "fieldPath", "note", "rawQuery", "url"),
        *("value", "type", "viewLogic", "runId", "rawSchema", "qualifiedName", "email"),
        *("distinctValueFrequencies", "sampleValues", "topSqlQueries", "typeNames", "paths"),
    ],
    MEGABYTE,
) | {"description": LINES}


@pytest.mark.nightly
@pytest.mark.anyio
async def test_a_megabyte_in_every_field_keeps_nobody_waiting(
    at: OpenTerminal, sample: Path, noted: Any
) -> None:
    wire = Evil(sample, LONG)
    urn = Urn.parse(evil_urn(str(ORDERS)))
    async with at(None, size=SMALL, transport=wire, urn=urn) as reader:
        await reader.sees("1 Over", "fct_orders")
        watcher = Watcher(reader)
        await watcher.press(
            *("1", "G", "2", "e", "x", "ctrl+t", "ctrl+t", "ctrl+d", "escape", "escape", "f4"),
            *("escape", "t", "escape", "3", "x", "escape", "4", "5", "down", "6", "enter", "7"),
            *("down", "l", "8", "l", "down", "l", "L", "e", "escape", "escape"),
            *("left_square_bracket", "w", "escape", "f", "escape", "b"),
        )
    assert noted["slipped"] == set()


DRIVER = re.compile(
    # Colours and places; what is turned on and off at the beginning and at the end; what is asked
    # of the terminal.
    r"\x1b\[(?:[\d;]*[mH]|\?[\d;]+[hl]|[<>=][\d;]*u|\?\d+\$p|6n)"
    # The shape of the pointer.
    r"|\x1b\]22;default\x07"
)


def test_a_terminal_is_sent_nothing_but_what_the_program_itself_means(desk: Path) -> None:
    urn = Urn.dataset("hive", "hostile.table")
    with Catalog(data_dir=desk) as catalog:
        catalog.ingest(
            Proposal(
                urn,
                "datasetProperties",
                {"name": EVIL, "description": EVIL, "customProperties": {EVIL: EVIL}},
            )
        )
        catalog.ingest(
            Proposal(
                urn, "deprecation", {"deprecated": True, "note": EVIL, "actor": "urn:li:corpuser:a"}
            )
        )
    command = [sys.executable, "-m", "explorer.tui", "--data-dir", str(desk), str(urn)]
    child, terminal = pty.fork()
    if child == 0:
        os.execve(sys.executable, command, {**os.environ, "TERM": "xterm-256color"})
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    sent = b""
    try:
        for keys, until in (
            (b"", b"Overview"),
            (b"8", b"datasetProperties"),
            (b"e", b"^s"),
            (b"\x11", None),
        ):
            os.write(terminal, keys)
            deadline = time.monotonic() + 60
            begun = len(sent)
            while time.monotonic() < deadline and (until is None or until not in sent[begun:]):
                if select.select([terminal], [], [], 0.1)[0]:
                    try:
                        sent += os.read(terminal, 65_536)
                    except OSError:
                        break
            assert until is None or until in sent[begun:], sent[-2_000:]
    finally:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(terminal)
    text = DRIVER.sub("", sent.decode()).replace("\r\n", "")
    assert "owned" in text
    found = DRIVING.search(text)
    assert found is None, repr(text[max(found.start() - 60, 0) : found.end() + 60])
