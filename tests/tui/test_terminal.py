"""The real program in a real terminal: tmux types and reads the screen."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from explorer.client import Catalog
from explorer.metadata import Urn
from tests.conftest import nightly

pytestmark = [
    pytest.mark.terminal,
    pytest.mark.skipif(
        shutil.which("tmux") is None and not os.environ.get("REQUIRE_TERMINAL"),
        reason="tmux is not installed",
    ),
]

SECONDS = 30
SALES = Urn.dataset("snowflake", "analytics.marts.fct_store_sales")
STYLES = re.compile(rb"\x1b\[([\d;:]*)m")


class Terminal:
    def __init__(self, columns: Any, rows: Any) -> None:
        self.size = (str(columns), str(rows))
        self.server = f"catalog-{uuid.uuid4().hex[:8]}"

    def tmux(self, *arguments: Any) -> Any:
        command = ["tmux", "-L", self.server, "-f", "/dev/null", *map(str, arguments)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def start(self, command: Any) -> None:
        columns, rows = self.size
        # The shell stays, so that what the program leaves behind can be read.
        # Set before there is a window: what is set afterwards gives it the size of none again.
        before = ["start-server", ";", "set", "-g", "status", "off", ";"]
        before += ["set", "-g", "default-size", f"{columns}x{rows}", ";"]
        new = ["new-session", "-d", "-x", columns, "-y", rows, f"{command}; echo left $?; cat"]
        self.tmux(*before, *new)

    def start_recorded(self, command: Any, raw: Any) -> None:
        """Start, with every byte that the program sends kept in the file `raw`."""
        self.start(f"read -r go; {command}")
        self.tmux("pipe-pane", f"cat >{shlex.quote(str(raw))}")
        self.keys("Enter")

    def keys(self, *keys: Any) -> None:
        for key in keys:
            self.tmux("send-keys", key)
            time.sleep(0.05)

    def type(self, text: Any) -> None:
        self.tmux("send-keys", "-l", text)

    def resize(self, columns: int, rows: int) -> None:
        self.tmux("resize-window", "-x", columns, "-y", rows)

    def screen(self) -> Any:
        return self.tmux("capture-pane", "-p")

    def sees(self, *words: Any) -> Any:
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            shown = self.screen()
            if all(word in shown for word in words):
                return shown
            time.sleep(0.05)
        raise AssertionError(f"{words} not on the screen:\n{shown}")

    def end(self) -> None:
        subprocess.run(["tmux", "-L", self.server, "kill-server"], check=False, capture_output=True)


@pytest.fixture
def terminal() -> Iterator[Any]:
    opened = []

    def make(columns: Any, rows: Any) -> Any:
        opened.append(Terminal(columns, rows))
        return opened[-1]

    yield make
    for one in opened:
        one.end()


def program(directory: Path, settings: str = "COLORTERM=truecolor") -> str:
    # Readline, which pytest loads, puts a size of 80x24 into the environment, which a program
    # believes rather than its terminal.
    return (
        f"env -u COLUMNS -u LINES {settings} TERM=xterm-256color "
        f"CATALOG_STATE_DIR={os.environ['CATALOG_STATE_DIR']} "
        f"{sys.executable} -m explorer.tui --data-dir {directory}"
    )


@pytest.mark.parametrize("size", [*nightly((120, 36)), (80, 24)])
def test_a_stranger_documents_a_column_quits_and_finds_it_again(
    desk: Path, terminal: Any, size: Any
) -> None:
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


@pytest.mark.nightly
def test_a_resized_terminal_shows_every_word_of_a_text_and_the_line_that_is_written(
    sample: Path, terminal: Any
) -> None:
    writer = terminal(120, 36)
    writer.start(f"{program(sample)} '{SALES}'")
    writer.sees("of 9 documented")
    writer.keys("2", "u", "e")
    writer.sees("^s save", "· column ")
    writer.type("What is counted is every order that left the warehouse, and none that came back")
    writer.sees("draft saved")
    # On two lines at each width, so that nothing but the place of the break differs.
    for columns, first in ((130, "the warehouse, and"), (110, "that left the"), (150, "none that")):
        writer.resize(columns, 36)
        _edits(writer, columns, 0, first)
    for line in range(12):
        writer.keys("Enter")
        writer.type(f"line {line}")
    writer.sees("line 11", "draft saved")
    writer.resize(60, 15)
    _edits(writer, 60, -1, "line 11")


def _edits(terminal: Any, columns: int, at: int, words: str) -> None:
    """Wait until the editor is drawn for a width, and a line of its text ends in these words."""
    deadline = time.monotonic() + SECONDS
    while True:
        shown = terminal.screen().splitlines()
        widths = [len(line) for line in shown if line.startswith("╭─ edit")]
        lines = [line.split("│")[1].rstrip(" ▁▂▃▄▅▆▇█") for line in shown if line[:1] == "│"]
        if widths == [columns] and lines[at].endswith(words):
            return
        assert time.monotonic() < deadline, "\n".join(shown)
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("size", "settings"),
    [
        ((120, 36), "COLORTERM=truecolor"),
        pytest.param((80, 24), "COLORTERM=truecolor", marks=pytest.mark.nightly),
        pytest.param((80, 24), "NO_COLOR=1", marks=pytest.mark.nightly),
    ],
    ids=["120x36", "80x24", "no-colour"],
)
def test_a_stranger_finds_a_table_sees_what_hangs_on_it_and_corrects_it(
    desk: Path, terminal: Any, tmp_path: Path, size: Any, settings: str
) -> None:
    said = f"Put right at {size[0]} {settings[:4]}"
    stranger = terminal(*size)
    stranger.start_recorded(program(desk, settings), tmp_path / "raw")
    stranger.sees("results")
    # A name half remembered.
    stranger.keys("/")
    stranger.type("fct_stor")
    stranger.sees("best first", "fct_store_sales")
    stranger.keys("Enter")
    stranger.sees("f facets")
    stranger.keys("Enter")
    # Whose it is.
    stranger.sees("owner Walter Tanner", "of 9 documented", "receipt_line_id", "times in 30 days")
    # The column most used stands first, and is told of.
    stranger.keys("s", "g")
    shown = stranger.sees("use ↓", " times in 30 days")
    assert _first_column(shown) == _most_used(desk)
    # What breaks.
    stranger.keys("3")
    stranger.sees("x impact", "all 5 shown")
    stranger.keys("x")
    stranger.sees("what depends on fct_store_sales", "Store sales by week", "2 hops")
    # What is wrong is put right.
    stranger.keys("2")
    stranger.sees("of 9 documented")
    stranger.keys("u", "e")
    stranger.sees("^s save", "· column ")
    stranger.type(said)
    stranger.keys("C-s")
    # The editor is closed, and does not take the next key for itself.
    stranger.sees("Saved ", "✎", said[:12])
    with Catalog(data_dir=desk) as catalog:
        edited = [column.edited for column in catalog.entity(SALES).schema]
    assert said in edited
    stranger.keys("[")
    stranger.sees("results", "fct_stor")
    stranger.keys("q")
    stranger.sees("left 0")
    assert _is_coloured((tmp_path / "raw").read_bytes()) == (settings != "NO_COLOR=1")


def _first_column(screen: Any) -> Any:
    lines = screen.splitlines()
    head = next(at for at, line in enumerate(lines) if " column " in line and " type " in line)
    return lines[head + 1].split("│")[-1].split()[0]


def _most_used(directory: Path) -> Any:
    with Catalog(data_dir=directory) as catalog:
        windows = catalog.usage(SALES, days=30).usage()
    counted: Counter[str] = Counter()
    for window in windows:
        counted.update({one.field_path: one.count for one in window.field_counts or ()})
    return counted.most_common(1)[0][0]


def _is_coloured(raw: Any) -> Any:
    """Whether a colour is asked for in what was sent; the usual one (39, 49) is none."""
    asked = {int(one) for style in STYLES.findall(raw) for one in re.findall(rb"\d+", style)}
    return bool(asked & {*range(30, 39), *range(40, 49), *range(90, 98), *range(100, 108)})


def test_keys_that_come_all_at_once_go_where_the_ones_before_led(
    sample: Path, terminal: Any
) -> None:
    quick = terminal(80, 24)
    quick.start(program(sample))
    quick.sees("results")
    for name in ("fct_refunds", "dim_stores", "fct_orders", "stg_orders"):
        quick.type(f"/{name}\r\r2")
        shown = quick.sees("Columns·", f" {name} ")
        assert shown.splitlines()[1].startswith(f" {name} ")


def test_without_a_terminal_there_is_a_sentence_and_exit_two() -> None:
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


def test_a_dumb_terminal_is_told_what_to_use_instead(terminal: Any) -> None:
    dumb = terminal(80, 24)
    dumb.start(f"env TERM=dumb {sys.executable} -m explorer.tui")
    dumb.sees("use catalog", "left 2")
