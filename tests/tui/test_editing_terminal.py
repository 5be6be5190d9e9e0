"""Writing in a real terminal: a draft outlives the program, and another editor can be used."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

import orjson
import pytest

from explorer.client import Catalog
from explorer.metadata import Urn

pytestmark = [
    pytest.mark.terminal,
    pytest.mark.skipif(
        shutil.which("tmux") is None and not os.environ.get("REQUIRE_TERMINAL"),
        reason="tmux is not installed",
    ),
]

SECONDS = 30
SIZE = (120, 36)
BLINKING = re.compile(r"\x1b\[(\d+;)*5m")
TABLE = Urn.dataset("snowflake", "analytics.marts.dim_stores")


class Terminal:
    def __init__(self, desk: Path, state: Any, by: str = "", **environment: Any) -> None:
        self.server = f"catalog-{uuid.uuid4().hex[:8]}"
        given = {"TERM": "xterm-256color", "CATALOG_STATE_DIR": state, **environment}
        said = " ".join(f"{name}='{value}'" for name, value in given.items())
        program = f"{sys.executable} -m explorer.tui --data-dir {desk} '{TABLE}'"
        # Readline, which pytest loads, puts a size of 80x24 into the environment, which a program
        # believes rather than its terminal.
        self.command = f"env -u COLUMNS -u LINES {said} {by} {program}"

    def tmux(self, *arguments: Any) -> Any:
        command = ["tmux", "-L", self.server, "-f", "/dev/null", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def __enter__(self) -> Any:
        # The shell stays, so that what the program leaves behind can be read.
        self.tmux(
            *("new-session", "-d", "-x", str(SIZE[0]), "-y", str(SIZE[1])),
            f"{self.command}; echo left $?; cat",
        )
        self.tmux("set", "-g", "status", "off")
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run(["tmux", "-L", self.server, "kill-server"], check=False, capture_output=True)

    def type(self, text: Any) -> None:
        self.tmux("send-keys", "-l", text)

    def sees(self, *words: Any) -> Any:
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            shown = self.tmux("capture-pane", "-p")
            if all(word in shown for word in words):
                return shown
            time.sleep(0.05)
        raise AssertionError(f"{words} not on the screen:\n{shown}")

    def begin(self) -> None:
        self.sees("documented")
        self.tmux("send-keys", "2")
        self.sees("documented", "edit column")
        self.tmux("send-keys", "e")
        shown = self.sees("column 1 of", "^s save").splitlines()
        assert (max(map(len, shown)), len(shown)) == SIZE

    def program(self) -> Any:
        shell = self.tmux("list-panes", "-F", "#{pane_pid}").strip()
        found = subprocess.run(
            ["pgrep", "-P", shell], check=True, capture_output=True, text=True
        ).stdout.split()
        return int(found[0])


def is_running(number: Any) -> Any:
    """Whether a program runs, rather than waiting for somebody to ask how it ended."""
    command = ["ps", "-o", "stat=", "-p", str(number)]
    state = subprocess.run(command, check=False, capture_output=True, text=True).stdout
    return state[:1] not in ("", "Z")


def test_a_draft_outlives_a_program_that_is_killed(desk: Path, tmp_path: Path) -> None:
    with Terminal(desk, tmp_path) as terminal:
        terminal.begin()
        terminal.type(" and what was typed last")
        deadline = time.monotonic() + SECONDS
        kept: list[Path] = []
        while not kept and time.monotonic() < deadline:
            files = tmp_path.glob("drafts/*/*.json")
            kept = [one for one in files if b"typed last" in one.read_bytes()]
        assert kept
        assert kept[0].stat().st_mode & 0o777 == 0o600
        os.kill(terminal.program(), 9)
        terminal.sees("left 137")
    with Terminal(desk, tmp_path) as terminal:
        # The next start says so, and marks the column.
        terminal.sees(
            "1 draft F4", "documented", "1 text that you typed is not saved yet: F4 lists"
        )
        assert (
            " draft  " in terminal.sees("store_code").partition("store_code")[2].partition("\n")[0]
        )
        terminal.begin()
        terminal.sees("and what was typed last", "This is your unsaved draft")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_told_to_end_it_keeps_the_last_key_and_gives_the_terminal_back(
    desk: Path, tmp_path: Path, number: Any
) -> None:
    with Terminal(desk, tmp_path) as terminal:
        terminal.begin()
        terminal.type("so the very last")
        terminal.sees("the very last")
        os.kill(terminal.program(), number)
        assert "very last" not in terminal.sees(f"left {128 + number}")
    kept = [one.read_bytes() for one in tmp_path.glob("drafts/*/*.json")]
    assert any(b"the very last" in one for one in kept)


@pytest.mark.parametrize("told", [True, False], ids=["told", "untold"])
def test_it_does_not_outlive_the_window_that_it_was_in(
    desk: Path, tmp_path: Path, told: bool
) -> None:
    with Terminal(desk, tmp_path, by="" if told else "setsid") as terminal:
        terminal.begin()
        terminal.type("in a window that is closed")
        terminal.sees("that is closed")
        program = terminal.program()
    deadline = time.monotonic() + SECONDS
    while is_running(program) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_running(program)
    kept = [one.read_bytes() for one in tmp_path.glob("drafts/*/*.json")]
    assert any(b"that is closed" in one for one in kept)


@pytest.mark.parametrize(
    ("editor", "words"),
    [
        ("{script} --wait", "added outside"),
        ("{script} fail", "The editor exited with status 3, the text is"),
        ("no-such-editor-anywhere", "no-such-editor-anywhere cannot be used: No such file"),
        ("", "No editor is set"),
    ],
)
def test_the_text_goes_to_another_editor_and_comes_back(
    desk: Path, tmp_path: Path, editor: str, words: str
) -> None:
    script = tmp_path / "write outside.py"
    seen = tmp_path / "seen.json"
    script.write_text(
        f"#!{sys.executable}\n"
        "import json, os, sys\n"
        "file = sys.argv[-1]\n"
        f"seen = open({str(seen)!r}, 'w')\n"
        "json.dump([oct(os.stat(file).st_mode & 0o777), file[-3:], sys.argv[1]], seen)\n"
        "open(file, 'ab').write(b' added outside\\n')\n"
        # Not every program leaves the terminal as it found it: from here on all would blink.
        "os.write(1, b'\\x1b[5m')\n"
        "sys.exit(3 if sys.argv[1] == 'fail' else 0)\n"
    )
    script.chmod(0o700)
    named = editor.format(script=f'"{script}"')
    with Terminal(desk, tmp_path, VISUAL=named, EDITOR="", TMPDIR=tmp_path) as terminal:
        terminal.begin()
        terminal.type(" typed here")
        terminal.sees("typed here")
        terminal.tmux("send-keys", "C-e")
        terminal.sees(words)
        terminal.sees("typed here")
        assert not BLINKING.search(terminal.tmux("capture-pane", "-e", "-p"))
        if "wait" in editor:
            assert orjson.loads(seen.read_bytes()) == ["0o600", ".md", "--wait"]
            terminal.tmux("send-keys", "C-z")
            deadline = time.monotonic() + SECONDS
            while "added outside" in terminal.tmux("capture-pane", "-p"):
                assert time.monotonic() < deadline
            terminal.tmux("send-keys", "C-y")
            terminal.sees("added outside")
            terminal.tmux("send-keys", "C-s")
            terminal.sees("Saved ")
            with Catalog(data_dir=desk) as catalog:
                first = next(iter(catalog.entity(TABLE).schema))
            assert first.edited is not None
            assert first.edited.endswith(" typed here added outside")
        elif "fail" in editor:
            # What the other editor wrote is not lost either.
            assert "added outside" in next(tmp_path.glob("description-*.md")).read_text()
