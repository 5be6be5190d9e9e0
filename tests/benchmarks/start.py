"""How long it takes to start, as ratios to Python itself and to an empty Textual application.

    python tests/benchmarks/start.py [ROUNDS]

Run by hand on a quiet machine. The first frame is timed on a pseudo-terminal, from the start of
the process to the first screen with text on it; the embedded catalog runs already.
"""

import fcntl
import os
import pty
import select
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path
from typing import Any

EMPTY = """
from textual.app import App
from textual.widgets import Static
class Empty(App):
    def compose(self):
        yield Static("catalog")
Empty().run()
"""
SECONDS = 20


def run(*command: Any) -> Any:
    """Seconds until a command ends."""
    begin = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - begin


def first_frame(environment: Any, *command: Any) -> Any:
    """Seconds until the word «catalog» is on the screen, and the bytes sent until then."""
    begin = time.perf_counter()
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe(command[0], command, environment)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 36, 120, 0, 0))
    seen = b""
    while b"catalog" not in seen and time.perf_counter() - begin < SECONDS:
        if select.select([terminal], [], [], 0.1)[0]:
            seen += os.read(terminal, 65536)
    took = time.perf_counter() - begin
    os.kill(child, 9)
    os.waitpid(child, 0)
    os.close(terminal)
    return took


def report(name: Any, seconds: Any, baseline: Any) -> None:
    """One line: the median in milliseconds, and how many times the baseline's."""
    median = statistics.median(seconds)
    print(f"{name:<34} {median * 1000:7.0f} ms   x {median / statistics.median(baseline):.2f}")


def main(rounds: Any) -> None:
    """Time everything in turns, so that a busy moment hits all alike."""
    python = sys.executable
    here = Path(python).parent
    with tempfile.TemporaryDirectory() as scratch:
        environment = os.environ | {
            "CATALOG_DATA_DIR": f"{scratch}/data",
            "CATALOG_STATE_DIR": f"{scratch}/state",
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
        }
        os.environ.update(environment)
        run(str(here / "catalog"), "search", "x")
        commands = {
            "python -c pass": (python, "-c", "pass"),
            "catalog --help": (str(here / "catalog"), "--help"),
            "catalog-tui --help": (str(here / "catalog-tui"), "--help"),
            "import explorer; Catalog": (python, "-c", "from explorer import Catalog"),
        }
        frames = {
            "empty Textual app, first frame": (python, "-c", EMPTY),
            "catalog-tui, first frame": (str(here / "catalog-tui"),),
        }
        times: dict[str, list[float]] = {name: [] for name in (*commands, *frames)}
        for _ in range(rounds):
            for name, command in commands.items():
                times[name].append(run(*command))
            for name, command in frames.items():
                times[name].append(first_frame(environment, *command))
    for name in commands:
        report(name, times[name], times["python -c pass"])
    for name in frames:
        report(name, times[name], times["empty Textual app, first frame"])


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 9)
