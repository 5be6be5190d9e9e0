"""What a page says of what it cannot show or do: nested columns of both ways of writing paths, a
series that was cut at a limit, and a connection that only reads."""

from functools import partialmethod
from pathlib import Path
from typing import Any

import pytest

from explorer.client import AsyncCatalog, Catalog
from explorer.metadata import Proposal, Urn
from tests.conftest import schema_of
from tests.tui.conftest import OpenTerminal

pytestmark = pytest.mark.anyio

ORDERS = Urn.dataset("snowflake", "analytics.marts.fct_orders")
NESTED = Urn.dataset("kafka", "limits.nested")
RECORD: dict[str, Any] = {"type": {"com.linkedin.schema.RecordType": {}}}
NUMBER: dict[str, Any] = {"type": {"com.linkedin.schema.NumberType": {}}}
V2 = "[version=2.0].[type=order].[type=address].ship"


def a_field(path: Any, kind: Any, **more: Any) -> Any:
    return {"fieldPath": path, "type": kind, "nativeDataType": "x", **more}


async def test_nested_columns_of_both_ways_of_writing_are_a_tree(
    desk: Path, at: OpenTerminal
) -> None:
    fields = [
        a_field(V2, RECORD, nullable=True),
        a_field(f"{V2}.[type=int].zip", NUMBER, description="As the post has it."),
        a_field("bill", RECORD),
        a_field("bill.zip", NUMBER, isPartOfKey=True),
    ]
    schema = schema_of(fields, platform="kafka", name="nested")
    with Catalog(data_dir=desk) as catalog:
        catalog.ingest(Proposal(NESTED, "schemaMetadata", schema))
    async with at(desk, urn=NESTED) as reader:
        shown = await reader.sees("1 of 4 documented", "▾ ship", "▾ bill", "As the post has it.")
        assert "version=2.0" not in shown
        assert shown.count(" zip") == 2
        await reader.press("home", "space")
        shown = await reader.sees("▸ ship", "▾ bill")
        assert "As the post has it." not in shown
        await reader.press("space", "down", "e")
        await reader.type("x")
        await reader.press("ctrl+s")
        await reader.sees("Saved")
    with Catalog(data_dir=desk) as catalog:
        edited = catalog.entity(NESTED).raw("editableSchemaMetadata")
    assert edited is not None
    # The path goes back as it came.
    assert [one["fieldPath"] for one in edited["editableSchemaFieldInfo"]] == [
        f"{V2}.[type=int].zip"
    ]


async def test_a_series_that_was_cut_says_so(
    sample: Path, at: OpenTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = partialmethod(AsyncCatalog.timeseries, limit=3)
    monkeypatch.setattr(AsyncCatalog, "timeseries", few)
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("5")
        await reader.sees("the newest 3 only")
        await reader.press("6")
        await reader.sees("the newest 3 only", "measured")


async def test_where_nothing_is_written_every_key_that_writes_says_so(
    sample: Path, at: OpenTerminal
) -> None:
    def read_only() -> Any:
        return AsyncCatalog(data_dir=sample, read_only=True)

    async with at(None, urn=ORDERS, client=read_only) as reader:
        await reader.sees("documented", "read-only")
        for key in ("t", "T", "O", "D", "exclamation_mark", "ctrl+x", "U"):
            before = reader.app.screen
            await reader.press(key)
            await reader.sees("read-only", "Nothing was written: this server is open read-only")
            assert reader.app.screen is before, key
            reader.app._say("")
            await reader.settle()
        for key in ("e", "E"):
            await reader.press(key)
            await reader.sees("open read-only")
            await reader.press("x", "ctrl+s", "escape")
        await reader.press("L", "a")
        await reader.sees("read-only")
        await reader.press("escape")
