"""Text reaches the clipboard by the way that works where the program runs, and it says which."""

import asyncio
import os
import shutil
import stat
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import pytest

from explorer.errors import InvalidInput, Misconfigured
from explorer.metadata import Urn
from explorer.tui.desktop import MOST_SENT_BYTES, clipboard_methods, copy
from tests.tui.conftest import OpenTerminal

pytestmark = pytest.mark.anyio

ORDERS = Urn.dataset("snowflake", "analytics.marts.fct_orders")


def program(directory: Path, name: Any, body: Any) -> None:
    directory.mkdir(exist_ok=True)
    file = directory / name
    file.write_text(f"#!/bin/sh\n{body}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    directory = tmp_path / "bin"
    monkeypatch.setenv("PATH", f"{directory}:/usr/bin:/bin")
    return directory


def test_the_way_fits_where_the_program_runs(programs: Any) -> None:
    for name in ("tmux", "wl-copy", "xclip", "xsel", "pbcopy", "clip.exe"):
        program(programs, name, "exit 0")
    assert clipboard_methods({}, "linux") == ("terminal",)
    assert clipboard_methods({"TMUX": "x"}, "linux") == ("tmux", "terminal")
    assert clipboard_methods({"WAYLAND_DISPLAY": "w"}, "linux") == ("wl-copy", "terminal")
    assert clipboard_methods({"DISPLAY": ":0"}, "linux") == ("xclip", "xsel", "terminal")
    assert clipboard_methods({}, "darwin") == ("pbcopy", "terminal")
    assert clipboard_methods({"WSL_DISTRO_NAME": "u"}, "linux") == ("clip.exe", "terminal")
    # The reader sits elsewhere.
    assert clipboard_methods({"DISPLAY": ":0", "SSH_TTY": "t"}, "linux") == ("terminal",)


async def test_a_program_that_fails_or_hangs_gives_way_to_the_next(
    programs: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str] = []
    kept = tmp_path / "kept"
    program(programs, "xclip", "exit 3")
    program(programs, "xsel", f"cat > {kept}")
    monkeypatch.setenv("DISPLAY", ":0")
    for name in ("TMUX", "SSH_TTY", "SSH_CONNECTION", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    said = await copy("naïve\ntext", "auto", sent.append)
    assert "xsel" in said
    assert kept.read_text() == "naïve\ntext"
    assert not sent
    monkeypatch.setattr("explorer.tui.desktop._PATIENCE_SECONDS", 0.2)
    program(programs, "xclip", "exec sleep 60")
    program(programs, "xsel", "exit 1")
    assert "the terminal" in await copy("x", "auto", sent.append)
    assert sent == ["x"]
    with pytest.raises(InvalidInput, match="did not finish"):
        await copy("x", "xclip", sent.append)


async def test_what_is_too_long_or_turned_off_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    with pytest.raises(InvalidInput, match="at most"):
        await copy("x" * MOST_SENT_BYTES, "terminal", sent.append)
    with pytest.raises(Misconfigured, match="turned off"):
        await copy("x", "none", sent.append)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(InvalidInput, match="could not be started"):
        await copy("x", "wl-copy", sent.append)
    assert "nothing" in await copy("", "auto", sent.append)
    assert not sent


async def test_every_copy_of_the_program_goes_that_way(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, urn=ORDERS) as reader:
        reader.app.clipboard_method = "terminal"
        await reader.sees("documented")
        await reader.press("y")
        await reader.sees("Copied urn:li:dataset", "through the terminal")
        assert reader.app.clipboard == str(ORDERS)
        reader.app.clipboard_method = "none"
        await reader.press("y")
        await reader.sees("turned off in the settings")


@pytest.mark.terminal
@pytest.mark.skipif(
    shutil.which("tmux") is None and not os.environ.get("REQUIRE_TERMINAL"),
    reason="tmux is not installed",
)
async def test_within_tmux_the_text_is_in_its_buffer(sample: Path) -> None:
    name = f"catalog-{uuid.uuid4().hex[:8]}"

    def tmux(*arguments: Any) -> Any:
        command = ["tmux", "-L", name, "-f", "/dev/null", *arguments]
        return subprocess.run(command, check=False, capture_output=True, text=True).stdout

    async def until(found: Any) -> None:
        deadline = time.monotonic() + 60
        while not found():
            assert time.monotonic() < deadline, tmux("capture-pane", "-p")
            await asyncio.sleep(0.1)

    program = f"{sys.executable} -m explorer.tui --data-dir {sample} '{ORDERS}'"
    shell = f"env TERM=xterm-256color CATALOG_STATE_DIR={os.environ['CATALOG_STATE_DIR']} {program}"
    try:
        tmux("new-session", "-d", "-x", "80", "-y", "24", shell)
        await until(lambda: "documented" in tmux("capture-pane", "-p"))
        tmux("send-keys", "y")
        await until(lambda: tmux("show-buffer") == str(ORDERS))
        await until(lambda: "through tmux" in tmux("capture-pane", "-p"))
    finally:
        tmux("kill-server")
