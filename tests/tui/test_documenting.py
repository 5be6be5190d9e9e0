"""What is written of a whole table reaches the service as it was seen, under the writer's name."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from explorer.client import AsyncCatalog, Catalog
from explorer.metadata import Urn
from tests.conftest import nightly
from tests.tui.conftest import OpenTerminal

pytestmark = pytest.mark.anyio

WRITER = "urn:li:corpuser:ada"
COMMAND = (sys.executable, "-m", "explorer.cli")


def table(catalog: Any, name: Any) -> Any:
    urn = Urn.dataset("hive", f"documenting.{name}")
    catalog.put(urn, "datasetProperties", {"name": name, "description": "came in"})
    return urn


@pytest.mark.parametrize("size", [(80, 24), *nightly((120, 36))], ids=["80x24", "120x36"])
async def test_a_tables_description_is_saved_after_a_look_at_its_preview(
    desk: Path, at: OpenTerminal, size: Any
) -> None:
    with Catalog(data_dir=desk) as catalog:
        urn = table(catalog, f"previewed_{size[0]}")
    async with at(desk, urn=urn, size=size) as reader:
        await reader.sees("came in")
        await reader.press("E")
        await reader.sees("preview")
        await reader.type("\n\n# Orders\nOne row an order, **paid** or not.")
        if size[0] < 100:
            await reader.press("ctrl+t")
        # As it will look: the marks are gone.
        seen = await reader.sees("One row an order, paid or not.")
        if size[0] < 100:
            assert "**paid**" not in seen
            await reader.press("ctrl+t")
            await reader.sees("**paid**")
        await reader.press("ctrl+s")
        await reader.sees(f"Saved previewed_{size[0]}.")
    with Catalog(data_dir=desk) as catalog:
        entity = catalog.entity(urn)
    assert entity.edited_description == "came in\n\n# Orders\nOne row an order, **paid** or not."
    stored, ingested = (
        entity.raw(name) for name in ("editableDatasetProperties", "datasetProperties")
    )
    assert stored is not None
    assert ingested is not None
    assert stored["description"] == "came in\n\n# Orders\nOne row an order, **paid** or not."
    assert ingested["description"] == "came in"


@contextmanager
def serving(directory: Path) -> Iterator[Any]:
    """A service that knows one user, and its address and that user's token."""
    where = ("--data-dir", str(directory))
    made = subprocess.run(
        (*COMMAND, "token", "create", "one", "--actor", WRITER, *where),
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    with subprocess.Popen(
        (*COMMAND, "serve", "--port", "0", *where),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | {"CATALOG_STATE_DIR": str(directory / "state")},
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip(), made.stdout.strip()
        finally:
            process.kill()


@pytest.mark.nightly
async def test_a_link_is_added_under_the_name_of_the_user_whose_token_is_shown(
    tmp_path: Path, at: OpenTerminal
) -> None:
    with serving(tmp_path / "team") as (address, token):
        with Catalog(address, token=token) as catalog:
            urn = table(catalog, "linked")
        client = partial(AsyncCatalog, address, token=token)
        async with at(None, client=client, urn=urn) as reader:
            await reader.sees("came in")
            await reader.press("L")
            await reader.sees("No links yet.")
            await reader.press("a")
            await reader.type("https://wiki.example.org/orders")
            await reader.press("enter")
            await reader.type("How orders come about")
            await reader.press("enter")
            await reader.sees("Added How orders come about.", "1 link")
        with Catalog(address, token=token) as catalog:
            [link] = catalog.links(urn)
    assert link.url == "https://wiki.example.org/orders"
    assert link.description == "How orders come about"
    assert str(link.create_stamp.actor) == WRITER
    assert link.create_stamp.time > 0
