"""What is shown is written to a file, whole, safe to open, and never over another one."""

import csv
import html
import io
import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from textual import events
from textual.widgets import Input

from explorer.client import AsyncCatalog, Catalog
from explorer.errors import InvalidInput, MissingExtra
from explorer.metadata import Urn
from explorer.sessions.search import Query, SearchSession
from explorer.tui.screens.export import (
    check,
    path_of,
    results_table,
    suggest_name,
    write,
    write_atomically,
)
from explorer.views.table import Table, to_markdown
from tests.tui.conftest import OpenTerminal, Reader

pytestmark = pytest.mark.anyio

ORDERS = Urn.dataset("snowflake", "analytics.marts.fct_orders")
HOSTILE = Table.of(
    "a | <b>",
    ("name", "count", "tags", "known"),
    [
        ("=HYPERLINK(1)", -3, ("a,b", "c"), True),
        ('line\nbreak | <i>"', 2.5, (), False),
        (None, None, None, None),
    ],
)


def test_csv_is_safe_in_a_spreadsheet_and_exact_otherwise(tmp_path: Path) -> None:
    file = write(tmp_path / "t.csv", HOSTILE, HOSTILE.rows)
    rows = list(csv.reader(io.StringIO(file.read_bytes().decode("utf-8-sig"), newline="")))
    assert rows == [
        ["name", "count", "tags", "known"],
        ["'=HYPERLINK(1)", "-3", '["a,b", "c"]', "true"],
        ['line\nbreak | <i>"', "2.5", "[]", "false"],
        ["", "", "", ""],
    ]


def test_json_holds_what_the_rows_hold_or_the_thing_itself(tmp_path: Path) -> None:
    file = write(tmp_path / "t.json", HOSTILE, HOSTILE.rows)
    assert json.loads(file.read_text())[0] == {
        "name": "=HYPERLINK(1)",
        "count": -3,
        "tags": ["a,b", "c"],
        "known": True,
    }
    exact = Table.of("x", ("a",), [("1",)], exact={"aspect": {"deep": [1]}})
    file = write(tmp_path / "exact.json", exact, exact.rows)
    assert json.loads(file.read_text()) == {"aspect": {"deep": [1]}}


def test_markdown_stays_one_table_whatever_the_cells_hold(tmp_path: Path) -> None:
    text = write(tmp_path / "t.md", HOSTILE, HOSTILE.rows).read_text()
    assert text.splitlines() == [
        "# a \\| &lt;b>",
        "",
        "| name | count | tags | known |",
        "| --- | --- | --- | --- |",
        "| =HYPERLINK(1) | -3 | a,b, c | yes |",
        '| line<br>break \\| &lt;i>" | 2.5 |  | no |',
        "|  |  |  |  |",
    ]


def test_nothing_in_a_cell_is_read_as_markdown_by_who_renders_it() -> None:
    from markdown_it import MarkdownIt

    cells = ("*a* _b_ `c`", "[x](javascript:1)", "~~d~~ <b>", "order_id", "\\*e*")
    page = MarkdownIt("gfm-like", {"linkify": False}).render(
        to_markdown(Table.of("t", "abcde", [cells]))
    )
    shown = re.findall("<td>(.*?)</td>", page)
    assert [html.unescape(one) for one in shown] == list(cells)
    assert not re.search("<(a|em|code|s|b|strong)\\b", page)


def test_parquet_is_written_or_what_it_needs_is_said(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    try:
        import pyarrow as pa  # noqa: F401 - whether it is there decides
    except ModuleNotFoundError:
        with pytest.raises(MissingExtra, match=r"catalog-explorer\[parquet\]"):
            check(tmp_path / "t.parquet", replace=False)
        with pytest.raises(MissingExtra, match=r"catalog-explorer\[parquet\]"):
            write(tmp_path / "t.parquet", HOSTILE, HOSTILE.rows)
        assert not list(tmp_path.iterdir())
    else:
        import pandas as pd

        found = pd.read_parquet(write(tmp_path / "t.parquet", HOSTILE, HOSTILE.rows))
        assert list(found["name"][:2]) == ["=HYPERLINK(1)", 'line\nbreak | <i>"']
        assert found["count"][0] == -3


def test_a_file_that_is_there_is_replaced_when_asked_and_never_otherwise(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("mine")
    with pytest.raises(InvalidInput, match="already exists"):
        check(file, replace=False)
    with pytest.raises(InvalidInput, match="already exists"):
        write_atomically(file, b"new", replace=False)
    assert file.read_text() == "mine"
    write_atomically(file, b"new", replace=True)
    assert file.read_text() == "new"
    assert [one.name for one in tmp_path.iterdir()] == ["t.csv"]


def test_names_are_offered_expanded_and_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert path_of("~/x.CSV", (".csv",)) == tmp_path / "x.CSV"
    assert suggest_name("a/../b\x1b c") == "a----b--c.csv"
    assert suggest_name("") == "catalog.csv"
    with pytest.raises(InvalidInput, match="must end in"):
        path_of("x.exe", (".csv",))
    with pytest.raises(InvalidInput, match="cannot be written"):
        write_atomically(tmp_path / "nowhere" / "x.csv", b"", replace=False)
    with pytest.raises(InvalidInput, match="cannot be written"):
        write_atomically(tmp_path / "nul\0.csv", b"", replace=False)


async def name_it(reader: Reader, path: Any) -> None:
    reader.app.screen.query_one(Input).value = str(path)
    await reader.press("enter")


async def test_results_columns_aspects_and_any_list_are_written_from_the_screen(
    sample: Path, at: OpenTerminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("X")
        await reader.sees("fct_orders columns", "Write to a file", ".parquet")
        columns = tmp_path / "columns.csv"
        await name_it(reader, columns)
        await reader.sees("Wrote", "columns.csv")
        rows = list(csv.DictReader(io.StringIO(columns.read_text("utf-8-sig"))))
        assert "order_id" in [row["name"] for row in rows]

        await reader.press("8", "X")
        await reader.sees("fct_orders aspects")
        raw = tmp_path / "raw.json"
        await name_it(reader, raw)
        await reader.sees("Wrote", "raw.json")
        aspects = json.loads(raw.read_text())
        assert "schemaMetadata" in aspects
        await reader.press("X")
        await reader.sees("Write to a file")
        await name_it(reader, tmp_path / "raw.csv")
        await reader.sees("Wrote", "raw.csv")
        listed = csv.DictReader(io.StringIO((tmp_path / "raw.csv").read_text("utf-8-sig")))
        assert {row["aspect"]: json.loads(row["value"]) for row in listed} == aspects

        await reader.press("slash")
        await reader.press("escape")
        await reader.press("X")
        await reader.sees("results", "in all", "Writes all")
        found = tmp_path / "found.csv"
        found.write_text("mine")
        monkeypatch.chdir(tmp_path)
        await name_it(reader, Path("found.csv"))
        await reader.sees("found.csv already exists")
        assert found.read_text() == "mine"
        await reader.press("enter")
        await reader.sees("Wrote", "found.csv")
        total = len(list(csv.reader(io.StringIO(found.read_text("utf-8-sig"))))) - 1
        assert total > 300
        await reader.press("X", "ctrl+t")
        await reader.sees("Writes the")
        await reader.press("escape")
        await reader.press("f9")
        picture = tmp_path / "screen.svg"
        await name_it(reader, picture)
        await reader.sees("Wrote the screenshot")
        assert picture.read_text().startswith("<svg")


async def test_what_is_pressed_after_a_file_was_named_is_for_what_is_below(
    sample: Path, at: OpenTerminal, tmp_path: Path
) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.press("X")
        await reader.sees("Write to a file")
        reader.app.screen.query_one(Input).value = str(tmp_path / "columns.csv")
        for key in ("enter", "slash", *"orders"):
            reader.app.post_message(events.Key(key, {"enter": None, "slash": "/"}.get(key, key)))
        await reader.until(lambda: reader.box.value == "orders")


@pytest.mark.nightly
async def test_every_page_of_an_entity_is_written_with_named_columns_and_whole_values(
    sample: Path, at: OpenTerminal, tmp_path: Path
) -> None:
    async with at(sample, urn=ORDERS) as reader:

        async def written(name: Any) -> Any:
            await reader.press("X")
            await reader.sees("Write to a file")
            await name_it(reader, tmp_path / name)
            await reader.sees("Wrote", name)
            return json.loads((tmp_path / name).read_text())

        await reader.sees("documented")
        await reader.press("4")
        await reader.sees("read by")
        related = await written("related.json")
        made_from = [row for row in related if row["words"] == "made from"]
        assert {(row["relationship"], row["direction"]) for row in made_from} == {
            ("DownstreamOf", "outgoing")
        }
        upstream = next(row for row in made_from if row["name"] == "stg_orders")
        assert upstream["urn"].startswith("urn:li:dataset:(urn:li:dataPlatform:snowflake,")
        assert (upstream["platform"], upstream["in_catalog"]) == ("snowflake", True)

        await reader.press("5")
        await reader.sees("14 of 27 used")
        used = await written("used.json")
        assert {row["kind"] for row in used} == {"column", "user", "query"}
        with Catalog(data_dir=sample) as catalog:
            series = catalog.usage(ORDERS, days=30)
        asked = {text for value in series.values for text in value.get("topSqlQueries", ())}
        assert {row["value"] for row in used if row["kind"] == "query"} == asked
        users = [row for row in used if row["kind"] == "user"]
        assert "Jordan Doe" in [row["name"] for row in users]
        assert all(row["value"].startswith("urn:li:corpuser:") for row in users)
        await reader.press("t")
        days = await written("days.json")
        assert len(days) == 30
        assert days[0].keys() == {"day", "queries", "users"}
        assert sum(row["queries"] for row in days) == sum(
            value.get("totalSqlQueries", 0) for value in series.values
        )

        await reader.press("6")
        await reader.sees("nulls")
        with Catalog(data_dir=sample) as catalog:
            newest = catalog.profiles(ORDERS, days=30).values[-1]
        fields = {field["fieldPath"]: field for field in newest["fieldProfiles"]}
        profile = {row["path"]: row for row in await written("profile.json")}
        assert profile.keys() == fields.keys()
        for path, row in profile.items():
            assert row["null_count"] == fields[path].get("nullCount")
            assert row["max"] == fields[path].get("max")
            assert row["sample_values"] == fields[path].get("sampleValues", [])
        await reader.press("t")
        over_time = await written("over_time.json")
        assert over_time[0].keys() == {"measured", "rows", "columns", "size_in_bytes"}
        assert over_time[0]["rows"] == newest["rowCount"]
        assert over_time[0]["measured"] > over_time[-1]["measured"]
        await reader.press("t", "enter")
        await reader.sees("Samples")
        values = await written("values.json")
        assert {"kind", "value", "frequency"} == values[0].keys()
        await reader.press("t")
        column = await written("column.json")
        assert {"measured", "null_proportion", "unique_count"} <= column[0].keys()

        await reader.press("7")
        await reader.sees("16 versions")
        versions = await written("versions.json")
        assert len(versions) == 16
        assert {row["aspect"] for row in versions} >= {"schemaMetadata", "ownership"}
        assert all(row["actor"].startswith("urn:li:corpuser:") for row in versions)
        assert all(row["time"].endswith("+00:00") for row in versions)
        await reader.press("b")
        await reader.sees("13 of 29")
        described = await written("described.json")
        assert len(described) == 29
        assert sum(row["origin"] is not None for row in described) == 13
        await reader.press("enter")
        await reader.sees("change")
        changes = await written("changes.json")
        assert changes == [] or {"path", "before", "after"} <= changes[0].keys()

        await reader.press("3")
        await reader.sees("▌fct_orders▐")
        around = await written("around.json")
        here = next(row for row in around if row["urn"] == str(ORDERS))
        assert upstream["urn"] in here["made_from"]
        await reader.press("x")
        await reader.sees("datasets · ")
        affected = await written("affected.json")
        assert {"urn", "hops", "owners", "certainty", "queries"} <= affected[0].keys()
        used_most = [row["queries"] or 0 for row in affected]
        assert used_most == sorted(used_most, reverse=True)


async def test_all_results_are_written_also_where_a_server_gives_no_page_that_far(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with AsyncCatalog(data_dir=sample) as catalog:
        search = SearchSession(catalog, size=50, values=5)
        await search.search(Query("orders"))
        results = search.state.results
        assert results is not None

        async def refuse(*_: Any, **__: Any) -> Any:
            raise InvalidInput("from may be at most 10,000")

        monkeypatch.setattr(catalog, "search", refuse)

        async def catalog_of_session() -> AsyncCatalog:
            return catalog

        table = results_table(cast(Any, SimpleNamespace(catalog=catalog_of_session)), results)
        assert table.read_all is not None
        pages = [page async for page in table.read_all()]
    urns = [row[0] for page in pages for row in page]
    assert len(set(urns)) == len(urns) == results.total > 50
