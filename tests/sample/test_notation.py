"""The notations that the sample is written in."""

import pytest

from explorer.errors import InvalidInput
from explorer.sample.timeseries import read_values
from explorer.sample.warehouse import load_warehouse, read_tables

TEXT = """\
@ snowflake analytics.marts
@owners team-orders/DATAOWNER
@tags Tier1
== fct_orders
about: One row
    per order.

    - first
    - second,
      and more

    ```sql
    select 1
    ```
tags: Finance
from: stg_orders, int_payments
rows: 4000 +25
--
order_id id pk <stg_orders.id {d u} | Key. || Better key.
status enum ! hot #PII ##Finance @Order {open 1|Swiss Post 2}
amount_[7d,30d] money | Paid %.

@ kafka
== web.page.v1
record: Page
--
key.id id pk
page record:Info
page.path text
"""


def test_a_table_is_read_with_its_heads_and_the_defaults_of_its_section() -> None:
    orders, _ = read_tables(TEXT)
    assert orders.name == "analytics.marts.fct_orders"
    assert orders.folders == ("analytics", "marts")
    assert orders.owners == (("team-orders", "DATAOWNER"),)
    assert orders.tags == ("Finance",)
    assert orders.upstreams == ("stg_orders", "int_payments")
    assert orders.rows == (4000, 25)


def test_wrapped_lines_become_paragraphs_and_lists_and_code_keep_theirs() -> None:
    orders, _ = read_tables(TEXT)
    assert orders.about == (
        "One row per order.\n\n- first\n- second, and more\n\n```sql\nselect 1\n```"
    )


def test_a_column_is_read_with_its_marks_and_texts() -> None:
    orders, _ = read_tables(TEXT)
    key, status, seven, thirty = orders.columns
    assert (key.key, key.sources, key.doc, key.edited) == (
        True,
        ("stg_orders.id",),
        "Key.",
        "Better key.",
    )
    assert status.tags == ("PII",)
    assert status.edited_tags == ("Finance",)
    assert status.terms == ("Order",)
    assert (status.required, status.hot, status.doc) == (True, True, "")
    assert (seven.name, seven.doc) == ("amount_7d", "Paid in the last 7 days.")
    assert (thirty.name, thirty.doc) == ("amount_30d", "Paid in the last 30 days.")


def test_topics_get_paths_with_types() -> None:
    _, page = read_tables(TEXT)
    assert [column.field_path for column in page.columns] == [
        "[version=2.0].[key=True].[type=PageKey].[type=long].id",
        "[version=2.0].[type=Page].[type=Info].page",
        "[version=2.0].[type=Page].[type=Info].page.[type=string].path",
    ]
    assert (page.label, page.folders) == ("web.page.v1", ("web",))


def test_a_head_without_a_colon_is_refused_with_its_line() -> None:
    with pytest.raises(InvalidInput, match="line 3"):
        read_tables("@ snowflake a.b\n== t\nabout One row\n--\nid id pk\n")


def test_values_are_read() -> None:
    assert read_values("").empty is None
    weights = read_values("null 0.25; open 1|Swiss Post 2")
    assert weights.empty == 0.25
    assert weights.weights == (("open", 1.0), ("Swiss Post", 2.0))
    numbers = read_values("0.50..8712.00 ~117.90/84.50")
    assert (numbers.low, numbers.high, numbers.mean, numbers.median) == (
        "0.50",
        "8712.00",
        "117.90",
        "84.50",
    )
    assert numbers.decimals == 2
    assert read_values("d u").distinct == 1.0
    samples = read_values("d 4210: A, B")
    assert (samples.distinct, samples.samples) == (4210.0, ("A", "B"))


def test_replicas_lose_the_documentation_of_their_source() -> None:
    warehouse = load_warehouse()
    source, replica = warehouse["shop.public.orders"], warehouse["raw.shop.orders"]
    names = [column.name for column in replica.columns]
    assert names == [*source.by_name, "_loaded_at", "_deleted"]
    assert any(column.doc for column in source.columns)
    assert not any(replica.by_name[name].doc for name in source.by_name)


def test_unknown_tables_and_columns_are_refused_by_name() -> None:
    warehouse = load_warehouse()
    with pytest.raises(InvalidInput, match="fct_nothing"):
        warehouse["fct_nothing"]
    with pytest.raises(InvalidInput, match="nothing"):
        warehouse.column("shop.public.orders.nothing")
