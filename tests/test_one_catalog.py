"""One catalog on one machine, whoever opens it; and real catalog files from end to end."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from textual.worker import WorkerCancelled

from explorer import Catalog, instance
from explorer.client import AsyncCatalog
from explorer.metadata import Urn, load_registry
from explorer.metadata.files import Refused, read_file
from explorer.tui.app import CatalogApp
from explorer.tui.screens.columns import ColumnRows
from explorer.tui.screens.entity import EntityView

DATA = Path(__file__).parents[2] / "shared/data/datahub"
FILES = (
    "bootstrap_mce.json",
    "bootstrap_mce.as_mcps.json",
    "dbt_with_schemas.json",
    "mongodb.json",
    "looker.json",
    "s3_local_folder_partition.json",
    "demo-profiles.json",
)
CREATED = Urn.dataset("hive", "fct_users_created")
LARGE = Urn.dataset("mongodb", "mngdb.largeCollection")

needs_data = pytest.mark.skipif(
    not DATA.exists(), reason="the real catalog files are not beside this checkout"
)


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """An embedded catalog with nothing in it, and its service ended at the end."""
    directory = tmp_path_factory.mktemp("one") / "catalog"
    command = [sys.executable, "-m", "explorer.cli.service", "--no-sample"]
    service = subprocess.Popen([*command, "--data-dir", str(directory)])
    deadline = time.monotonic() + 60
    while instance.find(directory) is None:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    yield directory
    service.send_signal(signal.SIGTERM)
    service.wait(120)


async def settle(pilot: Any) -> None:
    for _ in range(3):
        await pilot.pause()
        with suppress(WorkerCancelled):
            await pilot.app.workers.wait_for_complete()


def command(directory: Any, *arguments: Any) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "explorer.cli", *arguments, "--data-dir", str(directory)],
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


FILLED_IN = ("ownerTypes", "domainAssociations")


@pytest.fixture(scope="module")
def loaded(directory: Any) -> Any:
    """The same, with the real files in it."""
    command(directory, "load", *(str(DATA / name) for name in FILES))
    return directory


@needs_data
def test_every_aspect_of_the_real_files_is_read_back_equal(loaded: Any) -> None:
    registry = load_registry()
    written = {}
    points: dict[Any, Any] = {}
    for name in FILES:
        for change in read_file((DATA / name).read_bytes(), registry):
            assert not isinstance(change, Refused)
            if registry.aspect(change.aspect).timeseries:
                at = change.value["timestampMillis"]
                points.setdefault((change.urn, change.aspect), {})[at] = change.value
            else:
                written[change.urn, change.aspect] = change.value
    with Catalog(data_dir=loaded) as catalog:
        entities = catalog.entities({urn for urn, _ in written})
        for (urn, aspect), value in written.items():
            held = entities[urn].raw(aspect)
            assert held is not None
            # What follows from the rest is filled in for what a run brings.
            stored, said = (
                {key: part for key, part in one.items() if key not in FILLED_IN}
                for one in (held, value)
            )
            assert stored == said, (urn, aspect)
        for (urn, aspect), values in points.items():
            read = catalog.timeseries(urn, aspect).values
            assert {point["timestampMillis"]: point for point in read} == values


@needs_data
@pytest.mark.anyio
async def test_the_terminal_a_script_and_a_notebook_see_one_catalog(loaded: Any) -> None:
    text = "Written in one, read in all"
    app = CatalogApp(lambda: AsyncCatalog(data_dir=loaded), urn=CREATED)
    async with app.run_test(size=(120, 36)) as pilot:
        await settle(pilot)
        with Catalog(data_dir=loaded) as notebook:
            notebook.describe(CREATED, text, column="user_id")
        found = json.loads(command(loaded, "get", str(CREATED), "--json"))
        assert text in json.dumps(found)
        assert str(CREATED) in command(loaded, "search", "fct", "--urns")
        await pilot.press("r")
        await settle(pilot)
        column = app.query_one(EntityView).columns.current
        assert column is not None
    assert (column.path.raw, column.edited) == ("user_id", text)
    running = instance.find(loaded)
    assert running is not None
    assert os.getpgid(running.pid)


@needs_data
@pytest.mark.anyio
async def test_a_nested_schema_of_three_hundred_fields_scrolls_as_a_tree(loaded: Any) -> None:
    app = CatalogApp(lambda: AsyncCatalog(data_dir=loaded), urn=LARGE)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        rows = app.query_one(ColumnRows)
        assert rows.count == 300
        await pilot.press("G")
        assert rows.cursor == 299
        await pilot.press("g", "pagedown", "pagedown")
        assert 20 < rows.cursor < 60
