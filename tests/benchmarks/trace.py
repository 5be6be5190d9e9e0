"""Which modules and functions of ours a save and a typed letter run through.

    python tests/benchmarks/trace.py [--list]

The terminal and the service run in one process, so that one trace has both. A letter in the editor
is followed until it is painted; one in the search box until the rows that it finds are; a save from
its key until it is on disk, until the server has acknowledged it, and once more with what follows:
the search index, the page read again. Prints the numbers of files and functions, with `--list` each
file with its functions.
"""

import argparse
import asyncio
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from textual import events
from textual.pilot import Pilot

import explorer
from explorer.client import AsyncCatalog, Catalog
from explorer.metadata.proposal import Proposal
from explorer.metadata.registry import load_registry
from explorer.metadata.urn import Urn
from explorer.server.app import Service
from explorer.server.data_directory import open_catalog
from explorer.server.process import listen_on_tcp
from explorer.tui.app import CatalogApp
from explorer.tui.screens.editor import EditorScreen

HOME = str(Path(explorer.__file__).parent)
QUIET_SECONDS = 1.5
DRAIN_SECONDS = 7.0


class Trace:
    """Notes each function of the package that is called, in every thread, while it is on."""

    def __init__(self) -> None:
        self.is_on = False
        self.found: dict[str, set[str]] = defaultdict(set)
        self._end = ""

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        del argument
        if not self.is_on or event != "call":
            return
        code = frame.f_code
        if code.co_qualname == self._end:
            self.is_on = False
        elif code.co_filename.startswith(HOME):
            self.found[code.co_filename[len(HOME) + 1 :]].add(code.co_qualname)

    async def of(
        self,
        acts: Callable[[], object],
        is_done: Callable[[], bool],
        follow_seconds: float = 0,
        end: str = "",
    ) -> dict[str, set[str]]:
        """What runs from an act until its end, and in the time after it; with `end` until the
        function of that name is called."""
        self.found = defaultdict(set)
        self._end = end
        self.is_on = True
        acts()
        while not is_done():  # noqa: ASYNC110 - what is waited for tells nobody
            await asyncio.sleep(0.005)
        await asyncio.sleep(follow_seconds)
        self.is_on = False
        return self.found


async def until(happens: Callable[[], Any]) -> Any:
    async with asyncio.timeout(60):
        while not (value := happens()):  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.01)
    return value


def serve(directory: Path) -> str:
    """Serve a catalog from a thread; return its address."""
    service = Service(open_catalog(directory, load_registry()))
    listener = listen_on_tcp("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(service, lifespan="off", log_config=None, ws="none"))
    threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True).start()
    return f"http://127.0.0.1:{listener.getsockname()[1]}"


COLUMN = "order_id"
TABLE = Urn.dataset("hive", "shop.orders")


def fill(address: str) -> None:
    """Write a table with columns that nobody described."""
    fields = [
        {
            "fieldPath": name,
            "nativeDataType": "int",
            "type": {"type": {"com.linkedin.schema.NumberType": {}}},
        }
        for name in (COLUMN, "amount")
    ]
    schema = {
        "schemaName": "orders",
        "platform": "urn:li:dataPlatform:hive",
        "version": 0,
        "hash": "",
        "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
        "fields": fields,
    }
    with Catalog(address) as catalog:
        catalog.ingest_batch(
            [
                Proposal(TABLE, "datasetProperties", {"name": "orders"}),
                Proposal(TABLE, "schemaMetadata", schema),
            ]
        )
        # The first mutation assembles the service's GraphQL schema; no later save does.
        catalog.describe(TABLE, "One row an order.")


async def trace_save(
    app: CatalogApp, pilot: Pilot[None], traced: Trace, follow_seconds: float, end: str = ""
) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """What runs for a letter in the editor, and for the save of what was typed."""
    await pilot.press("e")
    screen = await until(lambda: isinstance(app.screen, EditorScreen) and app.screen)
    await asyncio.sleep(QUIET_SECONDS)
    # What the editor reads when it opens is no part of a letter, however long it takes.
    await until(lambda: all(worker.is_finished for worker in app.workers))
    before = len(screen._area.text)
    letter = await traced.of(
        lambda: app.post_message(events.Key("x", "x")), lambda: len(screen._area.text) > before, 0.1
    )
    saved = await traced.of(
        lambda: app.post_message(events.Key("ctrl+s", None)),
        lambda: (
            not (app._editing and app._editing._saves.titles(None)) and app.screen is not screen
        ),
        follow_seconds,
        end,
    )
    await asyncio.sleep(QUIET_SECONDS)
    return letter, saved


async def trace(address: str, traced: Trace) -> dict[str, dict[str, set[str]]]:
    """What runs for each act, by its name."""
    found: dict[str, dict[str, set[str]]] = {}
    app = CatalogApp(lambda: AsyncCatalog(address), urn=TABLE)
    async with app.run_test(size=(120, 36)) as pilot:
        view = await until(lambda: app._has_entity_page and app._entity_view)
        await until(lambda: view.columns.has_focus_within and view.columns.current is not None)
        for what, follow_seconds, end in (
            # A commit is published as soon as it is on disk.
            ("a save, until it is on disk", 0.0, "Writer._publish"),
            ("a save", 0.0, ""),
            ("a save and what follows", QUIET_SECONDS, ""),
        ):
            letter, saved = await trace_save(app, pilot, traced, follow_seconds, end)
            found |= {"a letter in the editor": letter, what: saved}
        await pilot.press("/")
        # What the saves have left to the background, as the index on disk, is no part of a letter.
        await asyncio.sleep(DRAIN_SECONDS)
        found["a letter in the search box"] = await traced.of(
            lambda: app.post_message(events.Key("o", "o")),
            lambda: True,
            QUIET_SECONDS,
        )
        app.workers.cancel_all()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="each file with its functions")
    arguments = parser.parse_args()
    traced = Trace()
    threading.setprofile(traced)
    with tempfile.TemporaryDirectory() as directory:
        address = serve(Path(directory))
        fill(address)
        sys.setprofile(traced)
        found = asyncio.run(trace(address, traced))
        sys.setprofile(None)
    for what, files in found.items():
        functions = sum(map(len, files.values()))
        print(f"{what}: {len(files)} files, {functions} functions")
        if arguments.list:
            for file, names in sorted(files.items()):
                print(f"  {file}: {', '.join(sorted(names))}")


if __name__ == "__main__":
    main()
