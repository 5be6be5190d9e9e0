"""While the terminal is used, its event loop waits for nothing: no file, no socket, no process.

What blocks is caught where Python itself announces it, whoever asks for it. Imports are let
through: a module that is used late is read late, once, from the interpreter's own bytecode.
"""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tests.tui.conftest import OpenTerminal

anyio = pytest.mark.anyio

# What the reader does to look at the screen is not done by the terminal.
CALLERS = (str(Path(__file__).with_name("conftest.py")),)
BLOCKING = (
    "fcntl.",
    "glob.",
    "open",
    "os.",
    "pathlib.",
    "shutil.",
    "socket.connect",
    "socket.getaddrinfo",
    "socket.gethost",
    "sqlite3.connect",
    "subprocess.",
    "tempfile.",
    "webbrowser.",
)
# Announced by Python, and over at once.
INSTANT = ("os.putenv", "os.unsetenv")


class Watch:
    """The calls that could block, made by one thread while it is on."""

    def __init__(self) -> None:
        self.thread: int | None = None
        self.calls: list[str] = []

    def note(self, what: Any) -> None:
        if threading.get_ident() != self.thread:
            return
        places = []
        frame: FrameType | None = sys._getframe(2)
        while frame is not None:
            code = frame.f_code
            if "importlib" in code.co_filename or code.co_filename in CALLERS:
                return
            places.append(f"{code.co_filename}:{frame.f_lineno} {code.co_name}")
            frame = frame.f_back
        ours = [one for one in places if f"{os.sep}explorer{os.sep}" in one]
        self.calls.append(f"{what} from {' < '.join((ours or places)[:4])}")

    def hear(self, event: Any, arguments: Any) -> None:
        if self.thread is None or not event.startswith(BLOCKING) or event in INSTANT:
            return
        if event == "socket.connect" and arguments[0].gettimeout() == 0:
            return
        self.note(f"{event} {arguments[:1]}")


WATCH = Watch()


@pytest.fixture(scope="module")
def hooked() -> None:
    """A hook that hears what Python announces; there is no way to take one off."""
    sys.addaudithook(WATCH.hear)


@pytest.fixture
def watched(hooked: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Watches this thread; a few calls block and are not announced."""
    for module, name in ((time, "sleep"), (os, "fsync"), (os, "stat"), (os, "lstat")):
        monkeypatch.setattr(module, name, noted(getattr(module, name), f"{module.__name__}.{name}"))

    @contextmanager
    def watch() -> Iterator[Any]:
        WATCH.calls = []
        WATCH.thread = threading.get_ident()
        try:
            yield WATCH.calls
        finally:
            WATCH.thread = None

    return watch


def noted(call: Any, name: Any) -> Any:
    def instead(*given: Any, **named: Any) -> Any:
        WATCH.note(f"{name} {given[:1]}")
        return call(*given, **named)

    return instead


@anyio
async def test_no_screen_blocks_the_loop(at: OpenTerminal, desk: Path, watched: Any) -> None:
    with watched() as calls:
        async with at(desk) as reader:
            await reader.sees("fct_orders", "datasets")
            await reader.press("f", "down", "enter", "enter", "escape")
            await reader.press("f6", "b", "down", "right", "down", "b")
            await reader.press("slash")
            await reader.type("fct_orders")
            await reader.press("enter", "enter")
            await reader.sees("1 Over", "order_id")
            for tab in "134567812":
                await reader.press(tab)
                await reader.sees("1 Over")
            await reader.press("down", "e")
            await reader.sees("^s")
            await reader.type("one")
            await reader.press("ctrl+s")
            await reader.sees("Saved", "1 Over")
            await reader.press("e")
            await reader.sees("^s")
            await reader.type("kept")
            await reader.press("escape")
            await reader.sees("1 Over")
            await reader.press("question_mark")
            await reader.press("escape")
            await reader.press("colon")
            await reader.press("escape")
            await reader.press("left_square_bracket", "right_square_bracket")
            await reader.sees("1 Over")
    assert calls == []


@pytest.mark.nightly
@anyio
async def test_a_dbt_project_is_read_and_written_beside_the_loop(
    at: OpenTerminal, desk: Path, watched: Any, tmp_path: Path
) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "dbt_project.yml").write_text("name: shop\n")
    (tmp_path / "models/fct_orders.sql").write_text("select 1\n")
    with watched() as calls:
        async with at(desk) as reader:
            await reader.press("V")
            await reader.sees("dbt project")
            await reader.press("d")
            await reader.type(str(tmp_path))
            await reader.press("enter")
            await reader.sees("dbt project shop", "in 1 file")
            await reader.press("t")
            await reader.sees("writes descriptions and tags")
            await reader.press("ctrl+s")
            await reader.press("ctrl+s")
            await reader.sees("Written:", "there is nothing to write")
            await reader.press("i")
            await reader.sees("The project has nothing that the catalog lacks.")
    assert calls == []
    assert "fct_orders" in (tmp_path / "models/_fct_orders.yml").read_text()
