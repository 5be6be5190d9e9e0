"""Take the screenshots of the terminal, from the sample catalog, as PNG files beside this script.

    python screenshots/take.py [--check] [NAME …]

Needs faketime, for the sample ends today, and the pictures are always of the same day; and Chromium
(Debian: `apt-get install faketime chromium fonts-firacode`). With `--check` nothing is drawn and no
Chromium needed: the journeys are made again, and what the screens say is compared with what their
pictures say.
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
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

from journeys import JOURNEYS, Journey, settle
from said import difference, text_in, text_of, with_text

from explorer import instance
from explorer.client import AsyncCatalog
from explorer.tui.app import CatalogApp

HERE = Path(__file__).parent

_LOOKS = 2
_AT_ONCE = 3
_MOMENT = "@2026-11-20 10:00:00"
_CLOCK = ("FAKETIME", "LD_PRELOAD")
_OWN = ("CATALOG_", "XDG_", "NO_COLOR", "TEXTUAL", "TERM", "COLORTERM")


@contextmanager
def sample_catalog() -> Iterator[Path]:
    """A new catalog of this machine, with the sample on it, in a directory that goes away again."""
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch) / "catalog"
        running = instance.ensure(directory)
        try:
            yield directory
        finally:
            os.kill(running.pid, signal.SIGTERM)
            while instance.is_held(directory):
                time.sleep(0.05)


async def seen(directory: Path, journey: Journey, drawn: bool = True) -> tuple[str, str]:
    """What a reader sees at the end of a journey, as SVG, empty unless `drawn`, and as text."""
    app = CatalogApp(lambda: AsyncCatalog(data_dir=directory), urn=journey.at)
    with tempfile.TemporaryDirectory() as scratch:
        # What one journey typed is not found by the next.
        os.environ["CATALOG_STATE_DIR"] = scratch
        async with app.run_test(size=journey.size) as pilot:
            await settle(pilot)
            await journey.make(pilot)
            return app.export_screenshot() if drawn else "", text_of(app)


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
            env=_without(os.environ, _CLOCK),
        )


def take(name: str, directory: Path) -> None:
    """Take one screenshot."""
    svg, text = asyncio.run(seen(directory, JOURNEYS[name]))
    target = HERE / f"{name}.png"
    draw(svg, target)
    target.write_bytes(with_text(target.read_bytes(), text))
    print(name, flush=True)


def check(name: str, directory: Path) -> str:
    """What a screen says otherwise than its picture; nothing where they say the same."""
    again = f"take it with «python screenshots/take.py {name}»"
    picture = HERE / f"{name}.png"
    if not picture.exists():
        return f"There is no {picture.name}: {again}."
    said = text_in(picture.read_bytes())
    if said is None:
        return f"{picture.name} carries no text: {again}."
    told = ""
    # Where the machine is busy, a screen may be looked at before all of it is there.
    for _ in range(_LOOKS):
        _, text = asyncio.run(seen(directory, JOURNEYS[name], drawn=False))
        told = difference(name, said, text)
        if not told:
            break
    return told


def main(arguments: Sequence[str]) -> int:
    """Take the screenshots named, or all, or check them; gives the status to exit with."""
    names = [one for one in arguments if one != "--check"]
    if unknown := [name for name in names if name not in JOURNEYS]:
        print(f"no {', '.join(unknown)}; there are {', '.join(JOURNEYS)}", file=sys.stderr)
        return 2
    if os.environ.get("FAKETIME") != _MOMENT:
        return _again_on_the_day(arguments)
    wanted = [name for name in JOURNEYS if not names or name in names]
    if "--check" not in arguments:
        with sample_catalog() as directory:
            for name in wanted:
                take(name, directory)
        return 0
    # A screen waits most of the time, so several are looked at at once.
    parts = [part for first in range(_AT_ONCE) if (part := wanted[first::_AT_ONCE])]
    with ProcessPoolExecutor(len(parts), get_context("spawn")) as pool:
        outdated = [told for part in pool.map(check_all, parts) for told in part]
    print(*outdated, sep="\n", end="\n" if outdated else "")
    return 1 if outdated else 0


def check_all(names: Sequence[str]) -> list[str]:
    """What the screens of some journeys say otherwise than their pictures, in a catalog of their
    own."""
    with sample_catalog() as directory:
        return [told for name in names if (told := check(name, directory))]


def _again_on_the_day(arguments: Sequence[str]) -> int:
    """Do it all in a process for which it is the day of the pictures. It knows nobody, for some
    screens say where things lie and what was set."""
    clock = shutil.which("faketime")
    if clock is None:
        print("There is no faketime here (Debian: apt-get install faketime).", file=sys.stderr)
        return 2
    nobody = {"HOME": "/home/ada", "CATALOG_USER": "ada", "TZ": "UTC", "PYTHONUTF8": "1"}
    done = subprocess.run(
        [clock, "-f", _MOMENT, sys.executable, __file__, *arguments],
        check=False,
        env={**_without(os.environ, (*_CLOCK, *_OWN)), **nobody},
    )
    return done.returncode


def _without(names: Mapping[str, str], beginnings: tuple[str, ...]) -> dict[str, str]:
    return {name: value for name, value in names.items() if not name.startswith(beginnings)}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
