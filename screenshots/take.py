"""Take the screenshots of the terminal, from the sample catalog, as PNG files beside this script.

    python screenshots/take.py [NAME …]

Needs Chromium on the path (Debian: `apt-get install chromium fonts-firacode`).
"""

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from textual.pilot import Pilot
from textual.worker import WorkerCancelled

from explorer import instance

HERE = Path(__file__).parent
WIDE, NARROW = (120, 36), (80, 24)

Journey = Callable[[Pilot[None]], Awaitable[None]]


async def settle(pilot: Pilot[None]) -> None:
    """Wait until nothing is being read and what was read is drawn."""
    for _ in range(3):
        with suppress(WorkerCancelled):
            await pilot.app.workers.wait_for_complete()
        await pilot.pause()


async def press(pilot: Pilot[None], *keys: str) -> None:
    """Press keys, one after another, each to its end."""
    for key in keys:
        await pilot.press(key)
        await settle(pilot)


async def find(pilot: Pilot[None]) -> None:
    """Typing."""
    await press(pilot, "slash", *"order")


async def narrow_down(pilot: Pilot[None]) -> None:
    await press(pilot, "slash", *"order", "enter", "f", "down", "enter")


async def columns(pilot: Pilot[None]) -> None:
    await press(pilot, "slash", *"fct_orders", "enter", "enter", "down", "down", "u")


async def overview(pilot: Pilot[None]) -> None:
    await press(pilot, "slash", *"fct_orders", "enter", "enter", "1")


async def lineage(pilot: Pilot[None]) -> None:
    await press(pilot, "slash", *"fct_orders", "enter", "enter", "3", "l", "l")


async def impact(pilot: Pilot[None]) -> None:
    await press(pilot, "slash", *"fct_orders", "enter", "enter", "3", "x")


async def relationships(pilot: Pilot[None]) -> None:
    await press(pilot, "slash", *"fct_orders", "enter", "enter", "4")


async def history(pilot: Pilot[None]) -> None:
    await press(pilot, "slash", *"fct_orders", "enter", "enter", "7", *["down"] * 4)


async def blame(pilot: Pilot[None]) -> None:
    await press(pilot, "slash", *"fct_orders", "enter", "enter", "7", "b", "down")


async def raw(pilot: Pilot[None]) -> None:
    await press(pilot, "slash", *"fct_orders", "enter", "enter", "8", "down", "down", "down")
    await press(pilot, "space", *["down"] * 6, "space")


async def usage(pilot: Pilot[None]) -> None:
    await press(pilot, "slash", *"fct_orders", "enter", "enter", "5", "left", "left")


async def profile(pilot: Pilot[None]) -> None:
    await press(pilot, "slash", *"dim_customers", "enter", "enter", "6", *["down"] * 4)


async def profile_column(pilot: Pilot[None]) -> None:
    await profile(pilot)
    await press(pilot, "up", "enter", "left", "left", "left")


async def edit(pilot: Pilot[None]) -> None:
    await press(pilot, "slash", *"fct_orders", "enter", "enter", "u", "e")
    await pilot.press(*"Where the order stands:", "enter", "enter")
    await pilot.press(*"- `open` not paid yet", "enter", *"- `paid` payment **captured**")
    await asyncio.sleep(0.6)
    await settle(pilot)


async def keys(pilot: Pilot[None]) -> None:
    await press(pilot, "slash", *"fct_orders", "enter", "enter", "question_mark")


async def browse(pilot: Pilot[None]) -> None:
    await press(pilot, "b", "down", "right", "down", "right")


SHOTS: dict[str, tuple[Journey, tuple[int, int]]] = {
    "find": (find, WIDE),
    "facets": (narrow_down, WIDE),
    "columns": (columns, WIDE),
    "overview": (overview, WIDE),
    "lineage": (lineage, WIDE),
    "lineage-80x24": (lineage, NARROW),
    "impact": (impact, WIDE),
    "relationships": (relationships, WIDE),
    "history": (history, WIDE),
    "blame": (blame, WIDE),
    "raw": (raw, WIDE),
    "usage": (usage, WIDE),
    "profile": (profile, WIDE),
    "profile-column": (profile_column, WIDE),
    "editor": (edit, WIDE),
    "keys": (keys, WIDE),
    "browse": (browse, WIDE),
    "find-80x24": (find, NARROW),
    "columns-80x24": (columns, NARROW),
    "history-80x24": (history, NARROW),
    "raw-80x24": (raw, NARROW),
    "usage-80x24": (usage, NARROW),
    "profile-80x24": (profile, NARROW),
    "editor-80x24": (edit, NARROW),
    "browse-80x24": (browse, NARROW),
}


@contextmanager
def sample_catalog() -> Iterator[Path]:
    """A new catalog of this machine, with the sample on it, in a directory that goes away again."""
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch) / "catalog"
        os.environ["CATALOG_STATE_DIR"] = f"{scratch}/state"
        running = instance.ensure(directory)
        try:
            yield directory
        finally:
            os.kill(running.pid, signal.SIGTERM)
            while instance.find(directory) is not None:
                time.sleep(0.05)


async def take(directory: Path, journey: Journey, size: tuple[int, int]) -> str:
    """What a reader sees at the end of a journey, as SVG."""
    from explorer.client import AsyncCatalog
    from explorer.tui.app import CatalogApp

    app = CatalogApp(lambda: AsyncCatalog(data_dir=directory))
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        await journey(pilot)
        return app.export_screenshot()


def draw(svg: str, target: Path) -> None:
    """The SVG as a PNG file, with fonts of this machine only."""
    local = re.sub(r"@font-face\s*{.*?}", "", svg, flags=re.DOTALL)
    width, height = (float(n) for n in re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)[0])
    with tempfile.TemporaryDirectory() as scratch:
        page = Path(scratch) / "page.html"
        page.write_text(
            f"<style>html,body{{margin:0}}svg{{display:block;width:{width}px}}</style>{local}"
        )
        subprocess.run(
            [
                shutil.which("chromium") or "chromium",
                *("--headless=new", "--no-sandbox", "--hide-scrollbars", "--disable-gpu"),
                "--default-background-color=00000000",
                f"--window-size={round(width)},{round(height)}",
                f"--screenshot={target}",
                str(page),
            ],
            check=True,
            capture_output=True,
        )


def main(names: list[str]) -> None:
    """Take the screenshots named, or all."""
    with sample_catalog() as directory:
        for name in names or SHOTS:
            journey, size = SHOTS[name]
            draw(asyncio.run(take(directory, journey, size)), HERE / f"{name}.png")
            print(name)


if __name__ == "__main__":
    main(sys.argv[1:])
