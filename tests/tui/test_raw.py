"""A reader looks at what is stored as it is stored."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from explorer.client import Catalog
from explorer.client.entity import AspectRead, Entity
from explorer.metadata import Urn
from explorer.tui.screens.raw import FOUND_LIMIT, JsonNode, JsonTree, RawTab, find_keys, format_json
from tests.tui.conftest import OpenTerminal

pytestmark = pytest.mark.anyio

ORDERS = Urn.dataset("snowflake", "analytics.marts.fct_orders")


def tree(value: Any) -> Any:
    return JsonTree([JsonNode(("aspect",), value, 0)])


def labels(rows: Any) -> Any:
    return [node.label for node in rows.rows]


def test_a_value_unfolds_level_by_level_and_folds_with_all_below() -> None:
    rows = tree({"a": {"b": [1, 2]}, "c": None})
    rows.unfold(0, 80)
    assert labels(rows) == ["aspect", "a", "c"]
    rows.unfold(1, 80)
    rows.unfold(2, 80)
    assert labels(rows) == ["aspect", "a", "b", "0", "1", "c"]
    opened = rows.opened()
    rows.fold(0)
    assert labels(rows) == ["aspect"]
    rows.unfold_all(opened, 80)
    assert labels(rows) == ["aspect", "a", "b", "0", "1", "c"]
    assert rows.above(3) == 2


def test_a_long_array_comes_in_pages() -> None:
    rows = tree([{"n": n} for n in range(250)])
    rows.unfold(0, 80)
    assert len(rows) == 102
    assert rows.rows[-1].more == 150
    rows.unfold(101, 80)
    rows.unfold(201, 80)
    assert len(rows) == 251
    assert labels(rows)[-1] == "249"


def test_a_long_text_is_unfolded_in_lines_that_lose_nothing() -> None:
    text = "word " * 50 + "\n\n" + "ü" * 100
    rows = tree({"text": text})
    rows.unfold(0, 60)
    rows.unfold(1, 60)
    lines = [node.value for node in rows.rows if node.is_line]
    assert "".join(lines) == text.replace("\n", "")
    assert max(map(len, lines)) < 60


def test_what_is_empty_or_short_does_not_fold() -> None:
    values: list[Any] = [{}, [], "", "short", 1, None, True]
    assert not any(JsonNode(("x",), value, 0).folds for value in values)


def test_keys_are_found_wherever_they_are_and_no_more_than_are_shown() -> None:
    value = {"list": [{"FieldPath": n} for n in range(3_000)]}
    found = find_keys({"aspect": value}, "fieldp")
    assert len(found) == FOUND_LIMIT
    assert found[1].path == ("aspect", "list", "1", "FieldPath")


def test_a_value_that_the_fast_way_cannot_write_is_written_all_the_same() -> None:
    assert format_json({"n": 2**70}) == f'{{\n  "n": {2**70}\n}}'
    assert format_json("as it is") == "as it is"


async def test_every_aspect_is_there_and_unfolds(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("8")
        await reader.sees("14 aspects", "3 timeseries on request", "schemaMetadata", "datasetKey")
        await reader.press("l", "l", "l")
        await reader.sees("▾ browsePaths", "▾ paths", '0  "/prod/snowflake')
        await reader.press("h", "h")
        await reader.sees("▾ browsePaths", "▸ paths")
        await reader.press("space")


async def test_an_aspect_and_a_value_are_copied(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("8", "y")
        await reader.sees("Copied 5 lines, 58 characters, through the terminal.")
        with Catalog(data_dir=sample) as catalog:
            value = catalog.entity(ORDERS).raw("browsePaths")
        assert orjson.loads(reader.app.clipboard) == value
        assert value is not None
        await reader.press("l", "l", "l", "l", "Y")
        await reader.sees(f"Copied {value['paths'][0]}, through the terminal.")
        assert reader.app.clipboard == value["paths"][0]


async def test_the_points_of_a_timeseries_are_read_when_asked_for(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("8", "G", "k", "k", "y")
        await reader.sees("not read yet")
        await reader.press("enter")
        await reader.sees("▾ datasetProfile", "the newest", "points", " keys}")
        await reader.press("y")
        points = orjson.loads(reader.app.clipboard)
        times = [point["timestampMillis"] for point in points]
        assert times == sorted(times, reverse=True)


async def test_only_keys_with_a_text_in_them_are_shown(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("8", "f")
        await reader.type("ypename")
        await reader.sees("subTypes / typeNames", "1 key with that text")
        await reader.type("zz")
        await reader.sees("No key contains that text.")
        await reader.press("escape")
        await reader.sees("14 aspects", "schemaMetadata")


async def test_aspects_nobody_knows_and_large_ones_are_shown_all_the_same(
    desk: Path, at: OpenTerminal
) -> None:
    urn = Urn.dataset("hive", "large.one")
    text = "x" * 1_000_000
    async with at(desk, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("8")
        raw = reader.app.query_one(RawTab)
        aspects = {
            name: AspectRead(name, 0, value)
            for name, value in (
                ("neverHeardOf", {"[/x]\x1b[31m": [text], "n": 1}),
                ("datasetProperties", {"rows": [{"n": n} for n in range(100_000)]}),
            )
        }
        raw.show_entity(Entity(urn, aspects), keep=False)
        await reader.press("j")
        await reader.sees("neverHeardOf")
        await reader.press("l", "l", "l", "l", "l")
        shown = await reader.sees("[/x]", "│ xxxx")
        assert all(line.isprintable() for line in shown.splitlines())
        await reader.press("g", "y")
        await reader.sees("300,004 lines", "could not be copied: the terminal takes")
