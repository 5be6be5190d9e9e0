"""Columns: which are shown and how, what narrows and orders them, what is known of each."""

import pytest

from explorer.client import Catalog
from explorer.client.entity import AspectRead, Entity
from explorer.metadata import Proposal, Urn
from explorer.tui.content import Times
from explorer.tui.screens.column_facts import (
    ColumnDrawing,
    ColumnKnowledge,
    ColumnMeasurements,
    ShownColumn,
    by_use,
    column_lines,
    foreign_keys,
    in_tree_order,
    schema_of,
)
from explorer.tui.screens.columns import ColumnsView, parse_column_filter

ORDERS = Urn.dataset("snowflake", "analytics.marts.fct_orders")
TOPIC = Urn.dataset("kafka", "shop.order-placed.v1")
TEXT, NUMBER, RECORD = (
    {"type": {f"com.linkedin.schema.{kind}Type": {}}} for kind in ("String", "Number", "Record")
)


def a_field(path, kind=TEXT, **more):
    return {"fieldPath": path, "type": kind, "nativeDataType": "x", "nullable": False, **more}


def a_dataset(fields, edited=(), **schema):
    urn = Urn.dataset("hive", "t")
    aspects = {
        "schemaMetadata": {"fields": list(fields), **schema},
        "editableSchemaMetadata": {"editableSchemaFieldInfo": list(edited)},
    }
    return Entity(urn, {name: AspectRead(name, 0, value) for name, value in aspects.items()})


FIELDS = [
    a_field("id", NUMBER, isPartOfKey=True, description="Surrogate key"),
    a_field("ship", RECORD, nullable=True),
    a_field("ship.zip", description="as typed", globalTags={"tags": [{"tag": "urn:li:tag:PII"}]}),
    a_field("ship.geo", RECORD),
    a_field("ship.geo.lat", NUMBER),
    a_field("note", recursive=True),
]
EDITED = [
    {
        "fieldPath": "note",
        "description": "Free text",
        "glossaryTerms": {"terms": [{"urn": "urn:li:glossaryTerm:abc"}]},
    }
]
COLUMNS = a_dataset(FIELDS, EDITED).schema.columns


def test_the_names_over_the_table_stand_over_its_parts():
    drawing = ColumnDrawing.of(a_dataset(FIELDS, EDITED).schema, (), {"id": 3}, {})
    heading = drawing.heading(100).plain
    row = drawing.draw(ShownColumn(COLUMNS[0]), " ", 100).plain
    assert heading.index("description") == row.index("Surrogate key")
    assert heading.index("key ") == row.index("PK")
    assert heading.index("use") == row.index("━")


def test_html_in_a_description_is_told_as_its_text():
    html = (
        "<div><p>Who <b>ordered</b>; see <a href='https://x.example'>the wiki</a> &amp; ask.</p>"
        "<style>p { color: red }</style><font color=red>Never</font> <date> empty.</div>"
    )
    columns = a_dataset([a_field("id", description=html)]).schema.columns
    told_text = column_lines(
        columns[0], ColumnKnowledge(ColumnMeasurements(), None, None, {}), Times(), 5, 200
    ).plain
    assert "Who ordered; see the wiki & ask. Never <date> empty." in " ".join(told_text.split())


def passing(text, names=()):
    chosen = parse_column_filter(text).chosen(COLUMNS, dict(names))
    return [COLUMNS[at].path.raw for at in sorted(chosen)]


def paths(shown):
    return [one.column.path.raw for one in shown]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("zip", ["ship.zip"]),
        ("SURROGATE", ["id"]),
        ("type:number", ["id", "ship.geo.lat"]),
        ("tag:pi", ["ship.zip"]),
        ("term:money", ["note"]),
        ("is:undocumented", ["ship", "ship.geo", "ship.geo.lat"]),
        ("is:und", ["ship", "ship.geo", "ship.geo.lat"]),
        ("is:edited", ["note"]),
        ("is:key", ["id"]),
        ("is:nullable", ["ship"]),
        ("is:recursive", ["note"]),
        ("ship -is:undocumented", ["ship.zip"]),
        ('"free text"', ["note"]),
        ('-"free text" is:documented', ["id", "ship.zip"]),
        ("ship:zip", []),
    ],
)
def test_columns_are_chosen_by_what_is_typed(text, found):
    assert passing(text, {Urn.parse("urn:li:glossaryTerm:abc"): "Money"}.items()) == found


@pytest.mark.parametrize("text", ["", "  ", "type:", "is:", "is:d is:u", '"', "tag:"])
def test_what_is_not_yet_typed_to_its_end_narrows_nothing(text):
    found = passing(text)
    assert len(found) == len(COLUMNS) or text == "is:d is:u"


def test_a_state_that_is_none_is_told():
    assert "undocumented" in parse_column_filter("is:nonsense").trouble


def test_parents_of_what_passes_stay_in_sight():
    chosen = parse_column_filter("lat").chosen(COLUMNS, {})
    shown = in_tree_order(COLUMNS, {"ship"}, chosen)
    assert paths(shown) == ["ship", "ship.geo", "ship.geo.lat"]
    assert [one.wanted for one in shown] == [False, False, True]


def test_a_folded_record_hides_all_that_lies_in_it():
    assert paths(in_tree_order(COLUMNS, {"ship"})) == ["id", "ship", "note"]
    assert paths(in_tree_order(COLUMNS, {"ship.geo"})) == [
        *("id", "ship", "ship.zip", "ship.geo", "note")
    ]


def test_the_most_used_stand_first_and_the_unused_as_in_the_schema():
    shown = by_use(COLUMNS, {"note": 5, "ship.zip": 9})
    assert paths(shown)[:3] == ["ship.zip", "note", "id"]
    assert len(shown) == len(COLUMNS)


def test_foreign_keys_are_read_with_where_they_lead():
    customers = Urn.dataset("hive", "customers")
    entity = a_dataset(
        FIELDS,
        foreignKeys=[
            {
                "name": "fk",
                "foreignDataset": str(customers),
                "sourceFields": [f"urn:li:schemaField:({Urn.dataset('hive', 't')},note)"],
                "foreignFields": [f"urn:li:schemaField:({customers},id)"],
            },
            {"foreignFields": None, "sourceFields": 3},
            "nonsense",
        ],
    )
    found = foreign_keys(entity)
    assert list(found) == ["note"]
    assert (found["note"].dataset, found["note"].column) == (customers, "id")


def test_a_schema_of_another_shape_is_none():
    entity = Entity(ORDERS, {"schemaMetadata": AspectRead("schemaMetadata", 0, {"fields": 3})})
    assert schema_of(entity) is None


@pytest.mark.parametrize("width", [30, 45, 60, 80, 120, 200])
def test_a_row_fits_its_width_with_all_its_marks(width):
    schema = a_dataset(FIELDS, EDITED).schema
    use = {"note": 3, "id": 300}
    drawing = ColumnDrawing.of(schema, ["note"], use, {})
    for column in schema:
        row = drawing.draw(ShownColumn(column), "▾", width)
        assert row.cell_len <= width
    note = drawing.draw(ShownColumn(schema.columns[-1]), " ", 120).plain
    for mark in ("FK", "↻", "✎", "≡abc", "╸"):
        assert mark in note
    assert "record?" in drawing.draw(ShownColumn(schema.columns[1]), "▾", 120).plain
    assert "PK" in drawing.draw(ShownColumn(schema.columns[0]), " ", 120).plain


@pytest.mark.anyio
async def test_a_reader_narrows_orders_and_folds_the_columns(sample, at):
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
        await reader.sees("Most used in 30 days first.", "use ↓")
        view = reader.app.query_one(ColumnsView)
        counts = [view._measured.use.get(one.column.path.raw, 0) for one in view._shown]
        assert counts == sorted(counts, reverse=True)
        assert counts[0] > 0
        await reader.press("s", "f")
        await reader.type("customer_id")
        await reader.press("enter")
        await reader.sees("foreign key →", "used", "Who ordered.")
        await reader.press("f", "escape")
        await reader.sees("13 of 29 documented")


@pytest.mark.anyio
async def test_records_are_folded_all_at_once_and_one_by_one(sample, at):
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
async def test_who_edited_a_column_and_when_is_told(desk, at):
    urn = Urn.dataset("snowflake", "analytics.marts.fct_promotions_seen")
    with Catalog(data_dir=desk) as catalog:
        catalog.ingest(
            Proposal(
                urn,
                "schemaMetadata",
                {
                    "schemaName": "t",
                    "platform": "urn:li:dataPlatform:snowflake",
                    "version": 0,
                    "hash": "",
                    "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
                    "fields": FIELDS,
                },
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
async def test_ten_thousand_columns_open_and_narrow(desk, at):
    urn = Urn.dataset("hive", "wide.table")
    fields = [
        a_field(f"group_{n // 100}.column_{n}", description=f"text {n}") for n in range(10_000)
    ]
    with Catalog(data_dir=desk) as catalog:
        catalog.ingest(
            Proposal(
                urn,
                "schemaMetadata",
                {
                    "schemaName": "t",
                    "platform": "urn:li:dataPlatform:hive",
                    "version": 0,
                    "hash": "",
                    "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
                    "fields": fields,
                },
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
async def test_columns_are_marked_counted_and_unmarked(sample, at):
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
