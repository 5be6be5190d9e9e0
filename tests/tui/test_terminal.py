"""The real program in a real terminal: tmux types and reads the screen."""

import os
import shutil
import subprocess
import sys
import time
import uuid

import pytest

pytestmark = [
    pytest.mark.terminal,
    pytest.mark.skipif(
        shutil.which("tmux") is None and not os.environ.get("REQUIRE_TERMINAL"),
        reason="tmux is not installed",
    ),
]

SECONDS = 30


class Terminal:
    def __init__(self, columns, rows):
        self.size = (str(columns), str(rows))
        self.server = f"catalog-{uuid.uuid4().hex[:8]}"

    def tmux(self, *arguments):
        command = ["tmux", "-L", self.server, "-f", "/dev/null", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def start(self, command):
        columns, rows = self.size
        # The shell stays, so that what the program leaves behind can be read.
        self.tmux("new-session", "-d", "-x", columns, "-y", rows, f"{command}; echo left $?; cat")
        self.tmux("set", "-g", "status", "off")

    def keys(self, *keys):
        for key in keys:
            self.tmux("send-keys", key)
            time.sleep(0.05)

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def screen(self):
        return self.tmux("capture-pane", "-p")

    def sees(self, *words):
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            shown = self.screen()
            if all(word in shown for word in words):
                return shown
            time.sleep(0.05)
        raise AssertionError(f"{words} not on the screen:\n{shown}")

    def end(self):
        subprocess.run(["tmux", "-L", self.server, "kill-server"], check=False, capture_output=True)


@pytest.fixture
def terminal():
    opened = []

    def make(columns, rows):
        opened.append(Terminal(columns, rows))
        return opened[-1]

    yield make
    for one in opened:
        one.end()


def program(directory):
    return (
        f"env TERM=xterm-256color CATALOG_STATE_DIR={os.environ['CATALOG_STATE_DIR']} "
        f"{sys.executable} -m explorer.tui --data-dir {directory}"
    )


@pytest.mark.parametrize("size", [(120, 36), (80, 24)])
def test_a_stranger_documents_a_column_quits_and_finds_it_again(desk, terminal, size):
    said = f"Documented at {size[0]} columns"
    first = terminal(*size)
    first.start(program(desk))
    first.sees("results")
    first.keys("/")
    first.type("fct_refunds")
    first.sees("best first")
    first.keys("Enter")
    first.sees("f facets")
    first.keys("Enter")
    first.sees("documented", "2 Columns·")
    first.keys("u", "e")
    first.sees("^s save", "· column ")
    first.type(said)
    first.keys("C-s")
    first.sees("✎", said[:14])
    first.keys("q")
    first.sees("left 0")

    again = terminal(*size)
    again.start(program(desk))
    again.sees("results")
    again.keys("/")
    again.type(said)
    again.sees("fct_refunds")


def test_keys_that_come_all_at_once_go_where_the_ones_before_led(sample, terminal):
    quick = terminal(80, 24)
    quick.start(program(sample))
    quick.sees("results")
    for name in ("fct_refunds", "dim_stores", "fct_orders", "stg_orders"):
        quick.type(f"/{name}\r\r2")
        shown = quick.sees("Columns·", f" {name} ")
        assert shown.splitlines()[1].startswith(f" {name} ")


def test_without_a_terminal_there_is_a_sentence_and_exit_two():
    done = subprocess.run(
        [sys.executable, "-m", "explorer.tui"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 2
    assert "needs a terminal" in done.stderr
    assert not done.stdout


def test_a_dumb_terminal_is_told_what_to_use_instead(terminal):
    dumb = terminal(80, 24)
    dumb.start(f"env TERM=dumb {sys.executable} -m explorer.tui")
    dumb.sees("use catalog", "left 2")
