"""What a folder of a million entries costs the terminal, beside one of a hundred.

    python tests/benchmarks/folder.py [--entries 1000000] [--rounds 30]

The terminal's folders stand in an application of their own; browsing is answered in this process
from numbers, page by page, so that no server is timed. A step is done when its entries are on
screen and nothing is under way. Times are medians, bytes are bodies of answers, memory is what
Python holds more afterwards: read the ratios.
"""

import argparse
import asyncio
import gc
import statistics
import time
import tracemalloc
from collections.abc import Sequence
from typing import Any

import orjson
from textual.app import App, ComposeResult

from explorer.client import AsyncCatalog
from explorer.client.transport import Request
from explorer.metadata import Urn
from explorer.tui.screens.browse import BrowseTree, FolderRows
from explorer.tui.session import TerminalSession

STEPS = ("open", "scroll a screen", "to the end", "to the start")
SIZE = (120, 36)
MOST_TURNS = 1_000_000


class Folder:
    """A server with one folder of datasets, which answers endpoint 5."""

    def __init__(self, entries: int) -> None:
        self.entries = entries
        self.sent = 0

    async def send(self, request: Request) -> tuple[int, bytes]:
        """A page of the folder, or how many datasets there are."""
        if "action=browse" in request.path:
            value = self.page(request.body["start"], request.body["limit"])
        else:
            value = {"dataset": self.entries}
        body = orjson.dumps({"value": value})
        self.sent += len(body)
        return 200, body

    def page(self, start: int, limit: int) -> dict[str, Any]:
        """As the service answers."""
        names = [f"table_{n:07}" for n in range(start, min(self.entries, start + limit))]
        return {
            "numEntities": self.entries,
            "numGroups": 0,
            "numElements": self.entries,
            "pageSize": limit,
            "from": start,
            "entities": [{"name": one, "urn": str(Urn.dataset("hive", one))} for one in names],
            "groups": [],
            "metadata": {"path": "/", "totalNumEntities": self.entries, "groups": []},
        }

    async def close(self) -> None:
        """Nothing is held."""


class Alone(App[None]):
    """The folders and nothing else."""

    def __init__(self, folder: Folder) -> None:
        super().__init__()
        self.folders = BrowseTree(
            TerminalSession(lambda: AsyncCatalog(transport=folder), self._say, lambda: None)
        )

    def _say(self, message: str, *, error: bool = False) -> None:
        if error:
            raise RuntimeError(message)

    def compose(self) -> ComposeResult:
        """The folders."""
        yield self.folders


async def measure(entries: int, rounds: int) -> dict[str, tuple[float, int]]:
    """Seconds and bytes of each step, and the memory after all of them in bytes."""
    folder = Folder(entries)
    app = Alone(folder)
    found: dict[str, tuple[float, int]] = {}
    counted = [0]
    async with app.run_test(size=SIZE):
        rows = app.query_one(FolderRows)

        async def settled() -> None:
            for _ in range(MOST_TURNS):
                if app.folders.settled:
                    return
                await asyncio.sleep(0)
            raise RuntimeError("a page never came")

        async def step(name: str, do: Any) -> None:
            began = time.perf_counter()
            do()
            await settled()
            render(rows)
            found[name] = (time.perf_counter() - began, folder.sent - counted[-1])
            counted.append(folder.sent)

        await step("open", app.folders.fill)
        rows.action_down()
        scrolls = []
        for _ in range(rounds):
            if rows.cursor == rows.count - 1:
                await step("to the start", rows.action_first)
            await step("scroll a screen", rows.action_page_down)
            scrolls.append(found["scroll a screen"])
        await step("to the end", rows.action_last)
        await step("to the start", rows.action_first)
        gc.collect()
        tracemalloc.start()
        for at in range(3 * rounds):
            await step("anywhere", lambda at=at: rows.move_to(at * entries // (3 * rounds)))
        found["scroll a screen"] = middle(scrolls)
        gc.collect()
        found["memory"] = (0.0, tracemalloc.get_traced_memory()[0])
        tracemalloc.stop()
    return found


def render(rows: FolderRows) -> None:
    """Draw every line that is on screen."""
    for line in range(rows.size.height):
        rows.render_line(line)


def middle(steps: Sequence[tuple[float, int]]) -> tuple[float, int]:
    """The median time, and the bytes of a step on average."""
    return statistics.median(took for took, _ in steps), sum(sent for _, sent in steps) // len(
        steps
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--entries", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=30)
    given = parser.parse_args()
    asyncio.run(measure(100, 3))
    small = asyncio.run(measure(100, given.rounds))
    large = asyncio.run(measure(given.entries, given.rounds))
    print(f"{'':18}{'100':>20}{given.entries:>20,}   ratio of times")
    for name in STEPS:
        (one, sent), (other, more) = small[name], large[name]
        print(
            f"{name:18}{one * 1e3:9.1f} ms {sent:6} B{other * 1e3:9.1f} ms {more:6} B"
            f"   {other / one:.1f}"
        )
    memory = [found["memory"][1] / 1e3 for found in (small, large)]
    print(f"{'memory':18}{memory[0]:17.0f} kB{memory[1]:17.0f} kB")


if __name__ == "__main__":
    main()
