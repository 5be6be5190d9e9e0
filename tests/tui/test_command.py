"""The command itself: what it says without a terminal, and what it opens with one."""

import os
import shlex
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from explorer import __version__, config
from explorer.metadata import Urn

SECONDS = 40
ORDERS = Urn.dataset("snowflake", "analytics.marts.fct_orders")


def run(*arguments: Any) -> Any:
    return subprocess.run(
        [sys.executable, "-m", "explorer.tui", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def test_what_it_takes_and_which_it_is_are_told_without_a_terminal() -> None:
    told = run("--help")
    assert told.returncode == 0
    for option in ("--url", "--profile", "--data-dir", "--search", "--read-only", "--serve"):
        assert option in told.stdout
    assert "holds a sample" in " ".join(told.stdout.split())
    assert run("--version").stdout.split()[-1] == __version__
    two = run("--profile", "prod", "--url", "http://127.0.0.1:1")
    assert two.returncode == 2
    assert "give one" in two.stderr
    twice = run("orders", "--search", "stores")
    assert (twice.returncode, "give one" in twice.stderr) == (2, True)


@pytest.fixture
def typed() -> Iterator[Any]:
    """Types a command into a shell of tmux and waits for words on its screen."""
    server = f"catalog-{uuid.uuid4().hex[:8]}"

    def tmux(*arguments: Any) -> Any:
        command = ["tmux", "-L", server, "-f", "/dev/null", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def sees(*words: Any) -> Any:
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            shown = tmux("capture-pane", "-p")
            if all(word in shown for word in words):
                return shown
            time.sleep(0.05)
        raise AssertionError(f"{words} not on the screen:\n{shown}")

    def start(*arguments: Any) -> None:
        kept = [f"{name}={os.environ[name]}" for name in os.environ if name.startswith("CATALOG_")]
        command = [sys.executable, "-m", "explorer.tui", *arguments]
        words = shlex.join(["env", "TERM=xterm-256color", *kept, *command])
        tmux("send-keys", "-l", f"clear; {words}; echo left $?\n")

    tmux("new-session", "-d", "-x", "80", "-y", "24", "sh")
    yield start, sees, lambda *keys: tmux("send-keys", *keys)
    subprocess.run(["tmux", "-L", server, "kill-server"], check=False, capture_output=True)


@pytest.mark.nightly
@pytest.mark.terminal
@pytest.mark.skipif(
    shutil.which("tmux") is None and not os.environ.get("REQUIRE_TERMINAL"),
    reason="tmux is not installed",
)
def test_it_opens_what_it_is_given(
    typed: Any, sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start, sees, press = typed
    monkeypatch.setenv("CATALOG_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path / "state"))
    shelf = {"shelf": config.ConnectionProfile(data_dir=str(sample))}
    config.change_profiles(lambda _: config.ConnectionProfiles(None, shelf))

    start("--profile", "shelf", "--search", "dim_stores platform:snowflake")
    sees("│ dim_stores platform:snowflake", "best first", "Table · snowflake")
    press("q")
    sees("left 0")
    start("--data-dir", str(sample), "--read-only", str(ORDERS))
    sees("fct_orders", "of 29 documented", "read-only: e edit column")
    press("q")
    sees("left 0")
    start("--data-dir", str(sample), "--offline")
    sees("the local catalog has no offline copy", "left 2")
    start("--url", "http://127.0.0.1:1")
    sees("○ no answer", "No catalog answers at http://127.0.0.1:1", "tries again")
    press("q")
    sees("left 0")
    start("--data-dir", str(sample), "dim_stores platform:snowflake")
    sees("│ dim_stores platform:snowflake", "best first", "Table · snowflake")
    press("q")
    sees("left 0")
    start("--data-dir", str(sample), "urn:no-urn-at-all")
    assert "Traceback" not in sees("left 2", "error: ")
