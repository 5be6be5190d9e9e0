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
from explorer.tui.entity.page import EntityView

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


def to(name: str, *keys: str) -> Journey:
    """Open the first entity that is found by a name, and press keys there."""

    async def journey(pilot: Pilot[None]) -> None:
        await press(pilot, "slash", *name, "enter", "enter", *keys)

    return journey


def pressing(*keys: str) -> Journey:
    """Press keys from the first screen on."""

    async def journey(pilot: Pilot[None]) -> None:
        await press(pilot, *keys)

    return journey


async def edit(pilot: Pilot[None]) -> None:
    await to("fct_orders", "u", "e")(pilot)
    await pilot.press(*"Where the order stands:", "enter", "enter")
    await pilot.press(*"- `open` not paid yet", "enter", *"- `paid` payment **captured**")
    await asyncio.sleep(0.6)
    await settle(pilot)


async def compare(pilot: Pilot[None]) -> None:
    await to("fct_orders", "j", "e")(pilot)
    await press(pilot, "ctrl+end", *" Never reused.", "ctrl+d")


async def conflict(pilot: Pilot[None]) -> None:
    """A colleague saves the same text while one is writing."""
    await to("fct_orders", "u", "e")(pilot)
    await press(pilot, *"Paid, refunded or open.")
    catalog = await pilot.app._session.catalog()
    view = pilot.app.screen_stack[0].query_one(EntityView)
    await catalog.describe(view.urn, "The state of the order.", column=view.column_path())
    await press(pilot, "ctrl+s")
    await asyncio.sleep(0.5)
    await settle(pilot)


async def drafts(pilot: Pilot[None]) -> None:
    await to("fct_orders", "u", "e")(pilot)
    await press(pilot, *"Paid, refunded or open.", "escape", "j", "j", "e", *"Half a", "escape")
    await press(pilot, "f4")


async def ways(pilot: Pilot[None]) -> None:
    await to("fct_orders", "3", "m", "l", "l", "p")(pilot)


def themed(name: str) -> Journey:
    """The columns in other colours."""

    async def journey(pilot: Pilot[None]) -> None:
        pilot.app.theme = name
        await to("fct_orders", "down", "down", "u")(pilot)

    return journey


COLUMNS = to("fct_orders", "down", "down", "u")
LINEAGE = to("fct_orders", "3", "l", "l")
HISTORY = to("fct_orders", "7", *["down"] * 4)
RAW = to("fct_orders", "8", *["down"] * 3, "space", *["down"] * 6, "space")
USAGE = to("fct_orders", "5", "left", "left")
PROFILE = to("dim_customers", "6", *["down"] * 4)
FIND = pressing("slash", *"order")
BROWSE = pressing("b", "down", "right", "down", "right")

SHOTS: dict[str, tuple[Journey, tuple[int, int]]] = {
    "welcome": (pressing("ctrl+g"), WIDE),
    "find": (FIND, WIDE),
    "facets": (pressing("slash", *"order", "enter", "f", "down", "enter"), WIDE),
    "condition": (pressing("slash", *"order", "enter", "c"), WIDE),
    "why": (pressing("slash", *"order", "enter", "w"), WIDE),
    "columns": (COLUMNS, WIDE),
    "overview": (to("fct_orders", "1"), WIDE),
    "lineage": (LINEAGE, WIDE),
    "impact": (to("fct_orders", "3", "x"), WIDE),
    "ways": (ways, WIDE),
    "relationships": (to("fct_orders", "4"), WIDE),
    "usage": (USAGE, WIDE),
    "profile": (PROFILE, WIDE),
    "profile-column": (to("dim_customers", "6", *["down"] * 3, "enter", *["left"] * 3), WIDE),
    "history": (HISTORY, WIDE),
    "blame": (to("fct_orders", "7", "b", "down"), WIDE),
    "raw": (RAW, WIDE),
    "editor": (edit, WIDE),
    "difference": (compare, WIDE),
    "drafts": (drafts, WIDE),
    "tags": (to("fct_orders", "1", "t", *"pi"), WIDE),
    "links": (to("fct_orders", "1", "L"), WIDE),
    "browse": (BROWSE, WIDE),
    "keys": (to("fct_orders", "question_mark"), WIDE),
    "palette": (to("fct_orders", "colon", *"desc"), WIDE),
    "servers": (pressing("f3"), WIDE),
    "export": (to("fct_orders", "X"), WIDE),
    "log": (to("fct_orders", "ctrl+l"), WIDE),
    "settings": (pressing("ctrl+k"), WIDE),
    "light": (themed("light"), WIDE),
    "contrast": (themed("high-contrast"), WIDE),
    "find-80x24": (FIND, NARROW),
    "columns-80x24": (COLUMNS, NARROW),
    "lineage-80x24": (LINEAGE, NARROW),
    "history-80x24": (HISTORY, NARROW),
    "raw-80x24": (RAW, NARROW),
    "usage-80x24": (USAGE, NARROW),
    "profile-80x24": (PROFILE, NARROW),
    "editor-80x24": (edit, NARROW),
    "browse-80x24": (BROWSE, NARROW),
    # Last, for it changes the sample.
    "conflict": (conflict, WIDE),
}


@contextmanager
def sample_catalog() -> Iterator[Path]:
    """A new catalog of this machine, with the sample on it, in a directory that goes away again."""
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch) / "catalog"
        os.environ["CATALOG_STATE_DIR"] = f"{scratch}/state"
        # Some screens say where things lie: not on the machine the pictures are taken on.
        os.environ["HOME"] = "/home/ada"
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
