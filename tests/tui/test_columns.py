"""Columns: which are shown and how, what narrows and orders them, what is known of each."""

from pathlib import Path
from typing import Any

import pytest

from explorer.client import Catalog
from explorer.metadata import Proposal, Urn
from explorer.tui.content import Times
from explorer.tui.screens.columns import ColumnDrawing, ColumnsView, column_lines
from explorer.views.columns import (
    ColumnKnowledge,
    ColumnMeasurements,
    ForeignKey,
    column_row,
)
from tests.conftest import schema_of
from tests.tui.conftest import OpenTerminal
from tests.views.test_columns import COLUMNS, EDITED, FIELDS, a_dataset, a_field

ORDERS = Urn.dataset("snowflake", "analytics.marts.fct_orders")
TOPIC = Urn.dataset("kafka", "shop.order-placed.v1")


def test_the_names_over_the_table_stand_over_its_parts() -> None:
    known = ColumnKnowledge(ColumnMeasurements({"id": 3}))
    drawing = ColumnDrawing.of(a_dataset(FIELDS, EDITED).schema, (), 3)
    heading = drawing.heading(100).plain
    row = drawing.draw(column_row(COLUMNS[0], known), " ", 100).plain
    assert heading.index("description") == row.index("Surrogate key")
    assert heading.index("key ") == row.index("PK")
    assert heading.index("use") == row.index("━")


def test_html_in_a_description_is_told_as_its_text() -> None:
    html = (
        "<div><p>Who <b>ordered</b>; see <a href='https://x.example'>the wiki</a> &amp; ask.</p>"
        "<style>p { color: red }</style><font color=red>Never</font> <date> empty.</div>"
    )
    columns = a_dataset([a_field("id", description=html)]).schema.columns
    told_text = column_lines(column_row(columns[0]), Times(), 5, 200).plain
    assert "Who ordered; see the wiki & ask. Never <date> empty." in " ".join(told_text.split())


def test_nested_columns_that_are_cut_are_told_apart_by_their_ends() -> None:
    fields = [
        a_field("customer.shipping.address." + name) for name in ("zip", "city", "country_code")
    ]
    schema = a_dataset([*fields, a_field("a_name_without_parts_that_is_long")]).schema
    drawing = ColumnDrawing.of(schema, (), 0)
    names = [drawing.draw(column_row(one), " ", 55).plain.split()[0] for one in schema.columns]
    assert [name[0] for name in names] == ["…", "…", "…", "a"]
    assert [name.rpartition(".")[2] for name in names[:3]] == ["zip", "city", "country_code"]
    assert names[3].endswith("…")


@pytest.mark.parametrize("width", [30, 45, 60, 80, 120, 200])
def test_a_row_fits_its_width_with_all_its_marks(width: int) -> None:
    schema = a_dataset(FIELDS, EDITED).schema
    foreign = {"note": ForeignKey(ORDERS, "note")}
    known = ColumnKnowledge(ColumnMeasurements({"note": 3, "id": 300}), foreign)
    drawing = ColumnDrawing.of(schema, foreign, 300)
    for column in schema:
        row = drawing.draw(column_row(column, known), "▾", width)
        assert row.cell_len <= width
    note = drawing.draw(column_row(schema.columns[-1], known), " ", 120).plain
    for mark in ("FK", "↻", "✎", "≡abc", "╸"):
        assert mark in note
    assert "record?" in drawing.draw(column_row(schema.columns[1], known), "▾", 120).plain
    assert "PK" in drawing.draw(column_row(schema.columns[0], known), " ", 120).plain


@pytest.mark.anyio
async def test_figures_are_of_the_latest_profile_that_has_columns_with_its_day(
    desk: Path, at: OpenTerminal
) -> None:
    urn = Urn.dataset("hive", "counted.later")
    day_millis = 86_400_000
    noon = 20_000 * day_millis + day_millis // 2  # 2024-10-04

    def profile(days: int, **more: Any) -> Proposal:
        return Proposal(urn, "datasetProfile", {"timestampMillis": noon + days * day_millis} | more)

    with Catalog(data_dir=desk) as catalog:
        schema = {
            "schemaName": "s",
            "platform": "urn:li:dataPlatform:hive",
            "version": 0,
            "hash": "",
            "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
            "fields": [a_field("id")],
        }
        catalog.ingest(Proposal(urn, "schemaMetadata", schema))
        found = {"fieldPath": "id", "uniqueCount": 77, "nullCount": 1}
        catalog.ingest(profile(0, rowCount=50, fieldProfiles=[found]))
        async with at(desk, urn=urn) as reader:
            shown = await reader.sees("77 distinct", "2 % null")
            assert "profiled" not in shown
        # As a run without columns leaves it: the rows alone, and more of them.
        catalog.ingest(profile(3, rowCount=100))
        async with at(desk, urn=urn) as reader:
            await reader.sees("profiled 2024-10-04 · 2 % null · 77 distinct")
            await reader.press("e")
            await reader.sees("profiled 2024-10-04 · 2 % null · 77 distinct", "^s save")


@pytest.mark.anyio
async def test_a_reader_narrows_orders_and_folds_the_columns(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("13 of 29 documented", "order_id", "━", "4,862,310 distinct", "not null")
        await reader.press("f")
        await reader.type("is:edited")
        shown = await reader.sees(" of 29 columns", "✎")
        assert "customer_id" not in shown
        await reader.press("enter", "u")
        await reader.sees("Every other one of these columns is documented.", " of 29 columns")
        await reader.press("escape")
        await reader.sees("13 of 29 documented", "customer_id")
        await reader.press("s")
        await reader.sees("Sorted by use in the last 30 days.", "use ↓")
        view = reader.app.query_one(ColumnsView)
        counts = [view._known.measured.use.get(one.column.path.raw, 0) for one in view._shown]
        assert counts == sorted(counts, reverse=True)
        assert counts[0] > 0
        await reader.press("s", "f")
        await reader.type("customer_id")
        await reader.press("enter")
        await reader.sees("foreign key →", "used", "Who ordered.")
        await reader.press("f", "escape")
        await reader.sees("13 of 29 documented")


@pytest.mark.anyio
async def test_records_are_folded_all_at_once_and_one_by_one(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample, urn=TOPIC) as reader:
        await reader.sees("shipping_address", "▾", "#PII")
        await reader.press("z")
        folded = await reader.sees("▸ shipping_address", "▸ lines")
        assert "street" not in folded
        await reader.press("f")
        await reader.type("tag:pii")
        await reader.sees("street", "▾ shipping_address")
        await reader.press("escape", "z")
        await reader.sees("▾ shipping_address", "street")


@pytest.mark.anyio
async def test_who_edited_a_column_and_when_is_told(desk: Path, at: OpenTerminal) -> None:
    urn = Urn.dataset("snowflake", "analytics.marts.fct_promotions_seen")
    with Catalog(data_dir=desk) as catalog:
        catalog.ingest(
            Proposal(
                urn,
                "schemaMetadata",
                schema_of(FIELDS, platform="snowflake"),
            )
        )
        catalog.describe(urn, "Said by a person.", column="ship.zip")
    async with at(desk, urn=urn) as reader:
        await reader.sees("ship", "2 of 6 documented")
        await reader.press("down", "down")
        shown = await reader.sees("✎ edited", "Said by a person.", "ingested", "as typed")
        shown = await reader.sees(" by ")
        line = next(one for one in shown.splitlines() if "✎ edited" in one)
        assert "· 20" in line


@pytest.mark.anyio
async def test_ten_thousand_columns_open_and_narrow(desk: Path, at: OpenTerminal) -> None:
    urn = Urn.dataset("hive", "wide.table")
    fields = [
        a_field(f"group_{n // 100}.column_{n}", description=f"text {n}") for n in range(10_000)
    ]
    with Catalog(data_dir=desk) as catalog:
        catalog.ingest(
            Proposal(
                urn,
                "schemaMetadata",
                schema_of(fields),
            )
        )
    async with at(desk, urn=urn) as reader:
        await reader.sees("Columns·10,000", "10,000 of 10,000 documented")
        await reader.press("G")
        await reader.sees("column_9999", "text 9999")
        await reader.press("f")
        await reader.type("column_777")
        await reader.sees("11 of 10,000 columns", "column_7770")


@pytest.mark.anyio
async def test_a_text_for_an_earlier_type_is_marked_and_moved_by_a_key(
    desk: Path, at: OpenTerminal
) -> None:
    urn = Urn.dataset("kafka", "shop.retyped")
    was, now = "[version=2.0].[type=int].id", "[version=2.0].[type=long].id"
    info = {"fieldPath": was, "description": "The key of an order."}
    with Catalog(data_dir=desk) as catalog:
        catalog.put(urn, "schemaMetadata", schema_of([a_field(now), a_field("note")]))
        catalog.put(urn, "editableSchemaMetadata", {"editableSchemaFieldInfo": [info]})
    async with at(desk, (80, 24), urn=urn) as reader:
        await reader.sees(
            *("1 of 2 documented", "↷ The key of an order.", "M move here"),
            "↷ M moves here what was written for the earlier [type=int].id",
        )
        await reader.press("M")
        shown = await reader.sees("is moved. U undoes it.", "✎ The key of an order.")
        assert "earlier" not in shown
        await reader.press("U")
        await reader.sees("Undo the last save?", "path of shop.retyped · id")
        await reader.press("ctrl+s")
        await reader.sees("↷ The key of an order.")


@pytest.mark.anyio
async def test_columns_are_marked_counted_and_unmarked(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("v", "v", "down", "v")
        shown = await reader.sees("3 marked · 13 of 29 documented")
        assert "◆  order_id" in shown
        assert reader.app.query_one(ColumnsView).marked == ("order_id", "order_number", "status")
        await reader.press("g", "v")
        await reader.sees("2 marked")
        # First the marks go, then the filter.
        await reader.press("f")
        await reader.type("order")
        await reader.press("enter", "escape")
        shown = await reader.sees("of 29 columns")
        assert "marked" not in shown
        await reader.press("escape")
        await reader.sees("13 of 29 documented")
