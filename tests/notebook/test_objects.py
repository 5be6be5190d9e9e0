"""What a notebook gets shows itself well, says what is not there, and is a frame when asked."""

import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pandas as pd
import pytest

from explorer import Catalog, client
from explorer.client.entity import AspectRead
from explorer.client.records import SearchPage
from explorer.errors import (
    CatalogError,
    IncompleteFrame,
    InvalidInput,
    MissingExtra,
    NotFound,
    ServerFault,
    UnknownName,
)
from explorer.metadata.aspects import Owner
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from explorer.notebook.chart import COLOURS
from explorer.notebook.entity import EntityPage, Owners
from explorer.views.absence import REFUSED
from explorer.views.chart import sparkline
from tests.conftest import schema_of

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:snowflake,analytics.marts.fct_orders,PROD)"


@pytest.fixture(scope="module")
def orders(cat: Any) -> Any:
    return cat.dataset(ORDERS)


@pytest.mark.filterwarnings("ignore::explorer.errors.IncompleteFrame")
def test_a_search_is_a_page_with_what_its_lines_need(cat: Catalog, read: Any) -> None:
    found = cat.search("orders", entity="dataset", count=5)
    assert isinstance(found, SearchPage)
    assert len(found) == len(list(found)) == len(found.urns) == 5
    assert found.total > 5
    assert found.facets

    shown = repr(found)
    assert shown.splitlines()[0] == f"«orders» · dataset  5 of {found.total:,}"
    header, *rows = shown.splitlines()[1:7]
    assert max(map(len, (header, *rows))) <= 100
    for title in ("type", "platform", "description"):
        at = header.index(title)
        assert all(row[at - 2 : at] == "  " and row[at] != " " for row in rows)

    page = read(found)
    for urn in found.urns:
        assert found.summaries[urn].name in page.text
        assert str(urn) in page.text
    assert f"5 of {found.total:,}" in page.text
    assert not page.links

    first = found.hits[0]
    assert "why each was found" in page.text
    for told in (f"{first.score:.4g}", "a name is what was typed", "id 10, name 10"):
        assert told in page.text

    frame = found.to_frame()
    assert list(frame["urn"]) == [str(urn) for urn in found.urns]
    assert (frame["type"] == "dataset").all()


def test_short_names_stay_in_one_piece_and_long_ones_are_wrapped_at_underscores(
    cat: Any, orders: Any
) -> None:
    html = orders.schema._repr_html_()
    assert "order_number</div>" in html
    assert "<wbr>" not in html
    assert "int_<wbr>attribution_<wbr>touches" in cat.names("int_attribution")._repr_html_()


def test_a_urn_below_a_name_takes_one_line_and_is_whole_under_the_pointer(
    cat: Any, orders: Any
) -> None:
    for shown in (cat.search("fct_orders", count=1), orders.impact()):
        html = shown._repr_html_()
        below = re.findall(
            r'<div title="([^"]+)" style="([^"]+)"><span style="[^"]+">([^<]+)</span></div>', html
        )
        assert below
        for whole, style, text in below:
            assert whole == text
            assert text.startswith("urn:li:")
            assert "white-space:nowrap;overflow:hidden;text-overflow:ellipsis" in style
            # What tells one from another is at its end, and stays.
            assert "direction:rtl;text-align:left" in style


def test_a_picture_is_as_wide_as_its_cell_unless_it_could_not_be_read(orders: Any) -> None:
    for shown in (orders.lineage(hops=3), orders.usage(days=None)):
        style = re.search(r'<img [^>]*style="([^"]+)"', shown._repr_html_())
        width = re.match(r'<svg [^>]*?width="(\d+)"', shown.svg())
        assert style
        assert width
        least = re.fullmatch(r"max-width:100%;min-width:(\d+)px;height:auto", style[1])
        assert least
        # Names are of 12 pixels in a picture of its full width.
        assert 10.8 <= int(least[1]) / int(width[1]) * 12 < 10.9
        # What is wider than its cell is scrolled.
        assert "overflow-x:auto" in shown._repr_html_()


def test_what_an_owner_is_to_it_is_said_in_words() -> None:
    kinds = ("DATAOWNER", "TECHNICAL_OWNER", "NONE")
    shown = Owners(Owner("urn:li:corpuser:a", kind) for kind in kinds)
    assert shown.display_names == ("a (data owner)", "a (technical owner)", "a (owner)")


def test_the_next_page_says_where_it_starts_and_the_whole_says_all(cat: Any) -> None:
    first = cat.search("orders", entity="dataset", count=3)
    second = cat.search("orders", entity="dataset", start=3, count=3)
    assert not set(first.urns) & set(second.urns)
    assert "after the first 3" in repr(second)
    whole = cat.search("orders", entity="dataset", count=first.total)
    assert f"{first.total} found" in repr(whole)


def test_a_search_without_a_result_says_so(cat: Any, read: Any) -> None:
    nothing = cat.search("zyxwvutsrq")
    assert len(nothing) == 0
    assert repr(nothing).splitlines()[0] == "«zyxwvutsrq»  no results"
    assert "no results" in read(nothing).text
    assert nothing.to_frame().empty


def test_an_entity_shows_owners_by_name_and_what_is_written(orders: EntityPage, read: Any) -> None:
    assert isinstance(orders, client.entity.Entity)
    page = read(orders)
    for text in (repr(orders), page.text):
        assert "fct_orders" in text
        assert ORDERS in text
        assert f"{len(orders.schema)} columns" in text
    assert orders.owners
    for owner in orders.owners:
        urn = Urn.parse(owner.owner)
        assert orders.names[urn] in repr(orders)
        assert orders.names[urn] in read(orders.owners).text
    assert list(orders.owners.to_frame()["urn"]) == [owner.owner for owner in orders.owners]


def test_a_schema_is_a_frame_and_can_be_narrowed(orders: Any, read: Any) -> None:
    schema = orders.schema
    frame = schema.to_frame()
    assert list(frame["path"]) == [column.path.raw for column in schema]
    missing = schema.filter(documented=False)
    assert 0 < len(missing) < len(schema)
    assert f"{len(missing)} of {len(schema)} columns, 0 documented" in repr(missing)
    assert "no description" in read(missing).text
    assert not missing.to_frame()["documented"].any()

    one = schema.filter("ORDER_ID", type_name=schema.columns[0].type)
    assert "order_id" in {column.path.simple for column in one}
    assert len(one.filter("no such column")) == 0
    assert "no column matches" in repr(one.filter("no such column"))


def test_a_column_shows_both_texts_and_is_the_one_in_the_schema(orders: Any, read: Any) -> None:
    column = orders.schema["net_amount"]
    assert column in list(orders.schema)
    assert repr(column).startswith(f"net_amount  number · {column.native_type}")
    for text in (repr(column), read(column).text):
        assert "✎ description, edited" in text
        assert "description, from ingestion" in text
        assert "Net revenue" in text
    assert "key" in repr(orders.schema["order_id"])
    assert "no description" in read(orders.schema["status"]).text


def test_a_search_that_finds_nothing_says_what_to_do(cat: Catalog, read: Any) -> None:
    for found in (cat.search("zzzzqqq"), cat.search("orders", filter="tags:PPI")):
        for shown in (repr(found), read(found).text):
            assert "no results" in shown
            assert "remove a condition, or try fewer words" in shown
    # After the last page there is nothing to change.
    assert "remove a condition" not in repr(cat.search("orders", start=50_000))


def test_the_properties_of_an_entity_name_others_and_do_not_show_ids(cat: Catalog) -> None:
    dashboard = repr(cat["Revenue and orders"])
    assert "Net revenue by day" in dashboard
    assert "dashboard_elements" not in dashboard
    assert "Jordan Doe" in repr(cat["Analytics Engineering"])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("owner:", "a value is missing after owner: (at the end)"),
        ("orders rows>many", "rowCount holds numbers, and 'many' is none (at character 13)"),
    ],
)
def test_a_condition_that_cannot_be_read_is_told_with_what_is_wrong(
    cat: Catalog, text: str, why: str
) -> None:
    told = f"searched for as words, because it is no condition: {why}"
    assert repr(cat.search(text)).splitlines()[1] == told


def test_what_matched_is_said_in_words(cat: Catalog, read: Any) -> None:
    page = read(cat.search("orders", entity="dataset", count=50)).text
    rows = page.partition("why each was found")[0].splitlines()
    assert [row for row in rows if row.startswith("column ")]
    assert not [row for row in rows if "fieldDescriptions" in row or "FieldDescriptions" in row]


def test_numbers_and_days_are_not_cut_in_a_text_table(cat: Catalog) -> None:
    lines = repr(cat.search("orders", count=60)).splitlines()[1:60]
    assert max(map(len, lines)) <= 100
    at = lines[0].index("changed") + len("changed")
    days = [row[at - 10 : at].strip() for row in lines[1:] if row[at - 10 : at].strip()]
    assert days
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", day) for day in days)


def test_kinds_are_said_in_words(cat: Catalog, read: Any) -> None:
    found = cat.search("order", entity=["corpGroup", "glossaryTerm"])
    assert {"group", "glossary term"} <= set(read(found).text.splitlines())
    for shown in (cat["Nina Weber"], cat.names("Nina", entity="corpuser")):
        assert "person" in repr(shown)
        assert "corpuser " not in repr(shown)
    assert set(found.df["type"]) == {"corpGroup", "glossaryTerm"}


def test_what_is_empty_and_what_was_built_says_what_it_is(cat: Catalog) -> None:
    assert repr(cat.journal("no such word in it")) == "Journal  no edits"
    assert repr(cat.column_history(ORDERS, "order_id")).startswith(
        "Descriptions of order_id  1 change\n"
    )
    assert repr(cat.stewardship).startswith(f"Stewardship({cat!r}): worklist(), ")


def test_a_catalog_says_where_it_is_and_what_the_server_is(
    cat: Any, read: Any, tmp_path: Path
) -> None:
    with Catalog(data_dir=tmp_path) as unasked:
        assert repr(unasked) == "Catalog(embedded, not asked yet)"
    info = cat.info()
    assert repr(cat) == f"Catalog({cat.address!r})"
    assert info.product == "catalog"
    for text in (repr(info), read(info).text):
        assert cat.address in text
        assert "contains the sample" in text
        assert f"{info.entities:,}" in text


def test_edges_of_both_directions_are_told_apart(orders: Any, read: Any) -> None:
    edges = orders.relationships()
    assert edges.total == len(edges) == len(edges.to_frame())
    directions = set(edges.to_frame()["direction"])
    assert directions == {"OUTGOING", "INCOMING"}
    upstream = orders.relationships("OUTGOING", ["DownstreamOf"])
    assert set(upstream.to_frame()["relationship"]) == {"DownstreamOf"}
    assert "→" in repr(upstream)
    assert "←" not in repr(upstream)
    assert "DownstreamOf" in read(upstream).text


def test_usage_is_a_table_a_frame_and_a_figure_of_the_same_numbers(orders: Any, read: Any) -> None:
    usage = orders.usage(days=30)
    frame = usage.to_frame()
    assert len(frame) == len(usage) > 20
    assert str(frame.index.tz) == "UTC"
    assert frame.index.is_monotonic_increasing
    total = int(frame["queries"].sum())
    assert f"{total:,}" in repr(usage)
    assert f"{total:,}" in read(usage).text
    counted = usage.columns_to_frame().groupby("path")["count"].sum()
    assert f"{counted.max():,}" in repr(usage)

    figure = usage.figure()
    assert list(figure.data[0].y) == frame["queries"].tolist()
    assert figure.layout.paper_bgcolor == figure.layout.plot_bgcolor == "#ffffff"
    assert {trace.line.color for trace in figure.data} <= set(COLOURS)


def test_a_profile_is_a_table_a_frame_and_a_figure_of_the_same_numbers(
    orders: Any, read: Any
) -> None:
    profile = orders.profile(days=30)
    frame = profile.to_frame()
    assert len(frame) == len(profile) > 1
    assert f"{int(frame['rows'].iloc[-1]):,}" in repr(profile)
    figure = profile.figure()
    assert list(figure.data[0].y) == frame["rows"].tolist()
    shares = profile.columns_to_frame()["null_proportion"].dropna()
    assert max(max(trace.y) for trace in figure.data[1:]) == pytest.approx(float(shares.max()))
    assert read(profile).text


def test_no_usage_is_said_and_the_newest_is_named(cat: Any, read: Any) -> None:
    urn = Urn.dataset("hive", "notebook.quiet")
    cat.ingest(Proposal(urn, "datasetProperties", {"description": "Seldom read."}))
    quiet = cat.dataset(urn)
    assert "no usage in the last 7 days" in repr(quiet.usage(days=7))
    assert quiet.usage().figure().layout.annotations[-1].text == "no usage in the last 30 days"
    old = {"timestampMillis": 1_600_000_000_000, "totalSqlQueries": 3}
    cat.ingest(Proposal(urn, "datasetUsageStatistics", old))
    assert "the newest is from 2020-09-13 12:26 UTC" in read(quiet.usage(days=7)).text
    assert len(quiet.usage(days=None)) == 1


def test_a_described_column_is_marked_and_ingestion_stays_beside_it(cat: Any, read: Any) -> None:
    urn = Urn.dataset("hive", "notebook.described")
    cat.ingest(Proposal(urn, "schemaMetadata", schema(a="From the source.", b=None)))
    before = cat.dataset(urn)
    assert "✎" not in repr(before)
    after = before.describe("Written by *hand*.", column="a")
    assert "✎" not in repr(before)
    assert "Written by <em>hand</em>." in after.schema._repr_html_()
    for text in (repr(after), repr(after.schema)):
        assert "Written by *hand*." in text
    for text in (repr(after), repr(after.schema), read(after.schema).text):
        assert "from ingestion: From the source." in text
        assert "✎" in text
    whole = after.describe("A table.\n\nWith two columns.")
    assert "✎ description, edited:\n  A table.\n\n  With two columns." in repr(whole)
    assert whole.schema.column("a").edited == "Written by *hand*."
    with pytest.raises(CatalogError, match="no_such_column"):
        whole.describe("Nowhere.", column="no_such_column")


def test_an_entity_of_which_nothing_is_stored_says_so(cat: Any, read: Any) -> None:
    unknown = cat.entity("urn:li:dataset:(urn:li:dataPlatform:hive,nowhere,PROD)")
    assert "not in this catalog" in repr(unknown)
    assert "not in this catalog" in read(unknown).text
    assert len(unknown.schema) == 0


def test_only_a_dataset_is_a_dataset(cat: Any) -> None:
    with pytest.raises(InvalidInput, match="use entity"):
        cat.dataset("urn:li:tag:PII")
    assert cat.entity("urn:li:tag:PII").entity_type == "tag"


def test_tables_of_wide_characters_stay_aligned() -> None:
    fields = schema(注文="顧客の注文。", id="plain")
    columns = EntityPage(
        Urn.parse(ORDERS), {"schemaMetadata": read_as(fields)}, catalog=cast(Any, None)
    ).schema
    header, wide, narrow = repr(columns).splitlines()[1:4]
    assert cells_before(wide, "number") == cells_before(narrow, "number")
    assert cells_before(header, "type") == cells_before(narrow, "number")


def cells_before(text: Any, word: Any) -> Any:
    return sum(2 if char >= "\u1100" else 1 for char in text[: text.index(word)])


def test_long_tables_are_cut_and_say_so() -> None:
    fields = schema(**{f"c{at}": None for at in range(300)})
    columns = EntityPage(
        Urn.parse(ORDERS), {"schemaMetadata": read_as(fields)}, catalog=cast(Any, None)
    ).schema
    assert "60 of 300 drawn; .to_frame() has them all" in repr(columns)
    assert len(columns.to_frame()) == 300


def test_a_sparkline_runs_from_nothing_to_the_greatest() -> None:
    assert sparkline([0, 7]) == "▁█"
    assert sparkline([]) == sparkline([0, 0]) == ""
    assert len(sparkline(range(1, 200))) == 60


def schema(**columns: Any) -> Any:
    return schema_of(
        [
            {
                "fieldPath": path,
                "nativeDataType": "int",
                "type": {"type": {"com.linkedin.schema.NumberType": {}}},
                **({"description": text} if text else {}),
            }
            for path, text in columns.items()
        ]
    )


def read_as(value: Any) -> Any:
    return AspectRead("schemaMetadata", 0, value)


def test_what_a_notebook_saved_is_undone_by_the_next_one(cat: Any) -> None:
    urn = Urn.dataset("hive", "notebook.undone")
    cat.put(urn, "datasetProperties", {"name": "undone"})
    with Catalog(cat.address) as first:
        first.entity(urn).describe("written in a notebook")
    with Catalog(cat.address) as another:
        assert another.undo_save()[0].before == "written in a notebook"
        assert another.entity(urn).edited_description == ""
        assert another.redo()[0].after == "written in a notebook"
    cat.delete(urn)


def test_a_table_with_a_failing_assertion_and_an_incident_says_so(cat: Any, read: Any) -> None:
    table = cat.dataset(
        "urn:li:dataset:(urn:li:dataPlatform:snowflake,analytics.marts.mart_inventory_health,PROD)"
    )
    page = read(table)
    since = datetime.now(UTC).date() - timedelta(days=2)
    for told in (
        "1 of 2 assertions fails",
        "1 active incident",
        "Stock cover lies between 0 and 104 weeks",
        "urn:li:assertion:stock-cover-range",
        "41 unexpected, 48,310 rows",
        "Stock cover of some variants is far too high",
        "field, high, investigation",
    ):
        assert told in page.text
        assert told in repr(table) or told.startswith("urn:")
    assert f"{since:%Y-%m}" in page.text
    assert [one.urn.name for one in table.health.failing] == ["stock-cover-range"]
    assert cat.dataset(ORDERS).health.is_sound


def test_that_health_could_not_be_read_is_told_from_being_sound(
    cat: Any, read: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Health" not in read(cat.dataset(ORDERS)).text

    async def fail(*_: Any) -> Any:
        raise ServerFault("no answer can be read")

    monkeypatch.setattr(client.AsyncCatalog, "health", fail)
    table = cat.dataset(ORDERS)
    assert "Health could not be read" in read(table).text
    assert table.health is REFUSED


@pytest.mark.filterwarnings("ignore::explorer.errors.IncompleteFrame")
def test_results_tell_rows_use_and_the_last_change(cat: Any, read: Any) -> None:
    found = cat.search("fct_orders", entity="dataset", count=5)
    frame = found.df.set_index("urn")
    profile, usage = cat.dataset(ORDERS).profile(), cat.dataset(ORDERS).usage()
    row = frame.loc[ORDERS]
    assert row["rows"] == profile.df["rows"].iloc[-1]
    assert row["queries"] == usage.df["queries"].sum()
    assert str(frame["changed"].dtype) == "datetime64[ms, UTC]"
    assert f"{row['changed']:%Y-%m-%d}" in read(found).text
    assert f"{row['queries']:,}" in repr(found)
    # Names are not cut for the numbers.
    assert all(found.summaries[urn].name in repr(found) for urn in found.urns)
    bare = cat.search("fct_orders", entity="dataset", count=5, measures=False)
    assert bare.df["rows"].isna().all()
    assert "queries" not in repr(bare).splitlines()[1]


@pytest.mark.filterwarnings("ignore::explorer.errors.IncompleteFrame")
def test_everything_found_has_its_measures_too(cat: Any) -> None:
    whole = cat.search("orders", entity="dataset", count=2).all(limit=30)
    assert len(whole) == 30
    assert whole.df["queries"].notna().sum() > 5


@pytest.mark.filterwarnings("ignore::explorer.errors.IncompleteFrame")
def test_a_frame_made_of_results_is_their_frame(cat: Any) -> None:
    found = cat.search("orders", count=10)
    made, frame = pd.DataFrame(found), found.df
    assert list(made.columns) == list(frame.columns)
    for name in ("urn", "name", "description", "edited", "owners", "rows", "matched"):
        assert made[name].astype(frame[name].dtype).tolist() == frame[name].tolist()
    hit = next(iter(found))
    assert hit["name"] in repr(hit)
    assert dict(hit)["urn"] == str(hit.urn)


@pytest.mark.filterwarnings("ignore::explorer.errors.IncompleteFrame")
def test_an_entity_and_what_tells_of_changes_are_frames(cat: Any, orders: Any, read: Any) -> None:
    row = orders.df.iloc[0]
    assert (row["urn"], row["name"], row["type"]) == (ORDERS, "fct_orders", "dataset")
    blame = cat.blame(ORDERS)
    frame = blame.df.set_index("path")
    assert frame.loc["net_amount", "who"] == "Jordan Doe"
    assert frame.loc["net_amount", "after"] == orders.schema["net_amount"].edited
    assert blame["net_amount"].origin == "edited"
    assert "Jordan Doe" in read(blame).text
    history = cat.column_history(ORDERS, "net_amount")
    assert list(history.df["origin"]) == [one.origin for one in history]
    assert "Jordan Doe" in read(history).text
    page = cat.changes(limit=3)
    assert list(page.df["offset"]) == [one.offset for one in page]
    assert f"changes({page.next}) reads on" in read(page).text
    runs = cat.runs()
    assert "sample-catalog" in list(runs.df["run"])
    assert "sample-catalog" in read(runs).text
    written = cat.stewardship.documentation([ORDERS])
    assert written.df["column"].isna().sum() == 1
    assert len(written.df) == len(orders.schema) + 1
    assert f"1 tables, {len(orders.schema)} columns" in read(written).text


def test_usage_tells_who_asked_and_what(orders: Any, read: Any) -> None:
    usage = orders.usage()
    users = usage.top_users
    counted = usage.users_to_frame().groupby("user")["queries"].sum()
    assert users.df["queries"].tolist() == sorted(counted, reverse=True)
    assert counted.sum() == usage.df["queries"].sum()
    assert "Jordan Doe" in list(users.df["name"])
    queries = usage.top_queries
    assert queries.df["windows"].max() <= len(usage)
    for shown in (usage, users, queries):
        assert read(shown).text
    for text in (repr(usage), read(usage).text):
        assert "Jordan Doe" in text
        assert queries.df["query"][0][:30] in text
    # A live notebook draws them as bars.
    assert "Jordan Doe" in usage.figure().to_json() or "Jordan Doe" in str(usage.chart().figure())


def test_the_lineage_of_a_column_is_a_table_and_a_frame(cat: Any, orders: Any, read: Any) -> None:
    found = orders.lineage(2, column="net_amount")
    frame = found.df
    above, below = frame[frame["hops"] < 0], frame[frame["hops"] > 0]
    assert "gross_amount" in list(above["column"])
    assert "net_revenue" in list(below["column"])
    assert frame["hops"].abs().is_monotonic_increasing
    assert set(frame["certainty"]) <= {"said", "guessed"}
    edges = found.edges_to_frame()
    assert set(frame["urn"]) <= set(edges["upstream"]) | set(edges["downstream"])
    for text in (repr(found), read(found).text):
        assert "mart_customer_360" in text
        assert "made from:" in text
    up = orders.lineage(2, "UPSTREAM", column="net_amount")
    assert (up.df["hops"] < 0).all()
    assert len(up) < len(found)
    with pytest.raises(UnknownName, match="no_such_column"):
        orders.lineage(column="no_such_column")
    widget = found.widget()
    assert widget.wait(120)
    assert "net_amount" in widget.picture["about"]
    widget.close()


def test_columns_of_a_name_are_found_in_all_tables(cat: Any, read: Any) -> None:
    found = cat.columns("customer_id")
    frame = found.df
    tables = cat.search("*", entity="dataset", filter="column:customer_id", count=1).total
    assert len(frame) == frame["urn"].nunique() == tables > 40
    assert set(frame["column"]) == {"customer_id"}
    assert "fct_orders" in read(found).text
    assert f"{len(found)} in {tables} tables" in repr(found)
    assert set(cat.columns("cust*_ID", filter="platform:kafka").df["platform"]) == {"kafka"}
    assert "postal_code" in set(cat.columns("*code").df["column"])
    # The end of a nested path is a name too.
    assert "shipping.address.city" in set(cat.columns("city").df["column"])
    assert "no column has this name" in repr(cat.columns("xyzzy"))
    assert cat.columns("customer_id", limit=3).truncated
    with pytest.raises(InvalidInput, match="name of a column"):
        cat.columns(" ")


def test_two_tables_are_compared_column_by_column(cat: Any, orders: Any, read: Any) -> None:
    found = orders.compare("int_orders_enriched")
    frame = found.df.set_index("column")
    assert frame.loc["channel", "difference"] == "only here"
    assert frame.loc["fx_rate", "difference"] == "only there"
    assert frame.loc["status", "difference"] == "same"
    assert frame.loc["customer_id", "what"] == "nullable, description"
    assert pd.isna(frame.loc["channel", "type_there"])
    for text in (repr(found), read(found).text):
        assert "fct_orders and int_orders_enriched" in text
        assert "21 only here" in text
    assert len(orders.compare(orders)) == 0
    assert len(orders.compare(ORDERS).df) == len(orders.schema)


def test_a_name_that_nothing_of_that_type_has_is_refused(cat: Any, orders: Any) -> None:
    assert str(cat.urn_of("Nina Weber", "corpuser")) == "urn:li:corpuser:nweber"
    assert cat.urn_of("fct_orders") == orders.urn
    with pytest.raises(NotFound, match="no domain is named 'Nina Weber'"):
        orders.set_domain("Nina Weber")


@pytest.mark.filterwarnings("ignore::explorer.errors.IncompleteFrame")
def test_a_table_that_sorts_is_made_by_itables_or_its_extra_is_named(
    cat: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = cat.search("orders", count=3)
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "itables.widget", None)
        with pytest.raises(MissingExtra, match=r"\[tables\]"):
            found.sortable()
    pytest.importorskip("itables")
    made = found.sortable(paging=False)
    assert list(made.df["rank"]) == list(found.df.index)
    assert set(made.df.columns) == {"rank", *found.df.columns}
    assert set(made.df.columns[-3:]) == {"urn", "owner_urns", "tag_urns"}
    written = " ".join(made.df["platform"]) + " ".join(made.df["description"])
    assert "<NA>" not in written
    assert "\n" not in written
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", made.df["changed"].dropna().iloc[0])
    assert len(cat.dataset(ORDERS).usage().sortable().df) == 30


def test_a_search_of_columns_shows_them_with_their_tables(cat: Catalog) -> None:
    found = cat.search("customer email", columns=True, count=4)
    assert repr(found).splitlines()[0] == f"«customer email» · columns  4 of {found.total}"
    assert found.hits[0].column is not None
    with pytest.warns(IncompleteFrame, match="columns: 4 of"):
        row = found.to_frame().loc[0]
    assert (row["name"], row["path"], row["type"]) == ("email", "email", "schemaField")
    assert row["table"].endswith(".customers")
    assert f"column of {row['table']}" in repr(found)
    assert found[0].urn == found.hits[0].column.table
    again = found.next()
    assert not {*found.urns} & {*again.urns}
    every = found.all()
    assert [hit.urn for hit in every][:8] == [*found.urns, *again.urns]
    assert len(every) == found.complete
