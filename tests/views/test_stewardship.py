"""Coverage, the worklist and changes say the same in the notebook and in the shell."""

import csv
import io
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from explorer import Catalog
from explorer.metadata.urn import Urn
from explorer.stewardship import (
    Changeset,
    Count,
    Coverage,
    Entry,
    Group,
    ReviewItem,
    Row,
    StagedEdit,
    TextSource,
    write_rows,
)
from explorer.views import stewardship as views
from explorer.views.table import Table, places_for, to_frame, to_objects
from tests.conftest import people_rows, schema_of

ORDERS = Urn.dataset("hive", "shop.orders")
STOCK = Urn.dataset("snowflake", "stock")


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stewardship")


@pytest.fixture(scope="module")
def catalog(data_dir: Path) -> Iterator[Catalog]:
    """A catalog with a described table and one that is not, which has a column."""
    field = {
        "fieldPath": "sku",
        "nativeDataType": "int",
        "type": {"type": {"com.linkedin.schema.NumberType": {}}},
    }
    schema = schema_of([field], platform="snowflake")
    with Catalog(data_dir=data_dir) as found:
        found.put(ORDERS, "datasetProperties", {"name": "orders", "description": "All orders."})
        found.put(STOCK, "schemaMetadata", schema)
        yield found


def shell(data_dir: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, "-m", "explorer.cli", *words, "--data-dir", str(data_dir))
    return subprocess.run(command, capture_output=True, text=True, check=False)


def words_of(table: Table) -> list[str]:
    """Every heading and text of a table for people."""
    shown = places_for("people", table.columns)
    texts = [cell for row in people_rows(table) for cell in row if isinstance(cell, str)]
    return [word for word in (*(table.columns[at].title for at in shown), *texts) if word]


@pytest.mark.parametrize("by", [None, "platform", "owner"])
def test_coverage_has_the_same_rows_in_every_front_end(
    catalog: Catalog, data_dir: Path, by: Literal["platform", "owner"] | None
) -> None:
    shown = catalog.stewardship.coverage([ORDERS, STOCK], by=by)
    words = words_of(views.coverage_page(shown))
    assert {None: "by people", "platform": "hive", "owner": "(no owner)"}[by] in words
    named = (str(ORDERS), str(STOCK), *(("--by", by) if by else ()))
    ran = shell(data_dir, "coverage", *named)
    for page in (repr(shown), ran.stdout):
        assert [word for word in words if word not in page] == []
    rows = list(csv.DictReader(io.StringIO(shell(data_dir, "coverage", *named, "--csv").stdout)))
    assert list(rows[0]) == list(shown.df.columns)
    assert [row["columns_total"] for row in rows] == list(map(str, shown.df["columns_total"]))


def test_the_worklist_has_the_same_rows_in_every_front_end(
    catalog: Catalog, data_dir: Path
) -> None:
    shown = catalog.stewardship.worklist([ORDERS, STOCK])
    words = [*words_of(views.worklist_table(shown)), views.worklist_counts(shown)]
    assert {"stock", "sku", views.WHOLE_TABLE, "2 of 2 undocumented shown"} <= set(words)
    ran = shell(data_dir, "worklist", str(ORDERS), str(STOCK))
    for page in (repr(shown), ran.stdout + ran.stderr):
        assert [word for word in words if word not in page] == []
    widget = shown.widget()
    told = [
        *widget.worklist_shown["columns"],
        *(row["cells"] for row in widget.worklist_shown["rows"]),
    ]
    assert [word for word in words[:-1] if word not in str(told)] == []
    widget.close()


def test_changes_have_the_same_rows_in_every_front_end(
    catalog: Catalog, data_dir: Path, tmp_path: Path
) -> None:
    held = catalog.stewardship.documentation([ORDERS, STOCK])
    rows = [replace(held[0], edited="Mine."), *held[1:], replace(held[0], column="nowhere")]
    file = tmp_path / "all.csv"
    file.write_bytes(write_rows(rows, "csv"))
    shown = catalog.stewardship.changeset(Entry(f"row {at}", row) for at, row in enumerate(rows, 2))
    ran = shell(data_dir, "docs", "diff", str(file))
    for page in (repr(shown), ran.stdout + ran.stderr):
        for word in (*views.change_counts(shown), "orders", "nowhere", "Mine."):
            assert word in page
    text = shell(data_dir, "docs", "diff", str(file), "--csv").stdout
    assert next(csv.reader(io.StringIO(text))) == list(shown.df.columns)


def test_a_review_has_the_same_rows_in_every_front_end(
    catalog: Catalog, data_dir: Path, tmp_path: Path
) -> None:
    source = TextSource("lineage", str(ORDERS), "orders", "sku", hops=2, agreeing=3)
    edits = [
        StagedEdit(str(STOCK), "stock", "sku", text="Unit sold.", sources=(source,)),
        StagedEdit(str(ORDERS), "orders", before="Old.", text="New."),
    ]
    staged = catalog.stewardship.stage(edits, "Two texts", tmp_path / "two.changes.jsonl")
    staged.decide(2, "refused", "urn:li:corpuser:nina")
    table = views.review_table(staged.items)
    cells = [str(cell) for row in people_rows(table) for cell in row if cell]
    assert {"· open", "✗ refused", "sku", views.WHOLE_TABLE, "orders.sku"} <= set(cells)
    widget = catalog.stewardship.review(staged)
    assert widget.wait(30)
    rows = widget.review["rows"]
    assert [one["cells"] for one in rows] == [
        [str(cell or "") for cell in row] for row in people_rows(table)
    ]
    shown = places_for("people", table.columns)
    assert [column["title"] for column in widget.review["columns"]] == [
        table.columns[at].title for at in shown
    ]
    ran = shell(data_dir, "docs", "review", str(staged.path))
    for page in (repr(widget), ran.stdout + ran.stderr):
        assert [word for word in cells if word not in page] == []
    # The edit that is shown: its source, and both texts.
    for item in staged.items:
        widget._handle_custom_msg({"kind": "show", "number": item.number}, [])
        assert widget.wait(30)
        lines = [line.text for line in views.review_diff(item)]
        assert [line[1:] for line in widget.item["lines"]] == lines
    widget.close()
    csv_text = shell(data_dir, "docs", "review", str(staged.path), "--csv").stdout
    assert next(csv.reader(io.StringIO(csv_text))) == list(widget.df.columns)


def test_shares_are_cut_and_groups_without_a_name_say_so() -> None:
    count = Count(total=3, documented=2, edited=1, ingested=2)
    assert views.percent_of(count) == "66.6%"
    told = "2 of 3 documented (66.6%), 1 by people, 2 by ingestion"
    assert views.count_sentence(count) == told
    assert views.count_sentence(Count()) == views.percent_of(Count()) == "none"
    coverage = Coverage(count, count, "tag", (Group("", "", count, count),))
    assert people_rows(views.coverage_page(coverage))[0][0] == "(no tag)"
    # Programs get the name as it is.
    assert to_objects(views.coverage_table(coverage))[0]["name"] == ""


def test_a_change_of_a_table_itself_names_no_column() -> None:
    row = Row(str(ORDERS), "orders", "[version=2.0].[type=struct].a", "int", "", "")
    shown = Changeset(()).changes
    assert not views.changes_table(shown).rows
    from explorer.stewardship import Change

    assert views.change_place(Change(Entry("row 2", row), "new")) == ("orders", "a")
    whole = Change(Entry("row 3", replace(row, column="", table="")), "new")
    assert views.change_place(whole) == (str(ORDERS), "")


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (
            TextSource("lineage", "urn", "raw", "id", hops=1, agreeing=1),
            "from raw.id, 1 hop upstream by the lineage of columns",
        ),
        (
            TextSource("lineage", "urn", "raw", "key", hops=3, agreeing=1_200),
            "from raw.key, 3 hops upstream by the lineage of columns, of another name; "
            "1,200 columns have this text",
        ),
        (
            TextSource("name", "urn", "raw", "[version=2.0].[type=int].id", hops=2),
            "from raw.id, 2 hops upstream; a guess, by the name of the column",
        ),
        (
            TextSource("elsewhere", "urn", "b", "id"),
            "from b.id, which is of the same name; a guess",
        ),
        (TextSource("file"), "from a file"),
        (TextSource("command"), "drafted by a command"),
    ],
)
def test_a_proposed_text_says_where_it_comes_from_and_how_sure_that_is(
    source: TextSource, sentence: str
) -> None:
    edit = StagedEdit(str(ORDERS), "orders", "[version=2.0].[type=int].id", sources=(source,))
    assert views.source_sentence(source, edit) == sentence
    assert views.review_diff(ReviewItem(1, edit))[0].text == sentence


def test_an_edit_is_shown_with_what_stands_there_and_what_it_writes() -> None:
    edit = StagedEdit(str(ORDERS), "orders", "id", before="Old.", text="New.")
    lines = [(line.mark, line.text) for line in views.review_diff(ReviewItem(1, edit))]
    assert lines == [("-", "Old."), ("+", "New.")]
    item = ReviewItem(1, edit, "failed", why="changed meanwhile", theirs="Theirs.")
    texts = [line.text for line in views.review_diff(item)]
    assert texts[0] == "not written: changed meanwhile"
    assert "Theirs." in texts
    owners = StagedEdit(
        str(ORDERS), "orders", None, "owners", add=("urn:li:corpuser:ann DATA_STEWARD",), remove=()
    )
    assert views.edit_sentence(owners) == "owners: +ann (data steward)"
    rows = people_rows(views.review_table([ReviewItem(1, edit), ReviewItem(2, owners, "accepted")]))
    assert [row[0] for row in rows] == ["· open", "✓ accepted"]
    assert [row[2] for row in rows[1:]] == [views.WHOLE_TABLE]
    # A number in files, and text as all of a data frame.
    table = views.review_table([item])
    assert to_frame(table, audience="files")["number"].dtype == "Int64"
    assert to_frame(table)["number"].tolist() == ["1"]


def test_an_edit_without_a_column_names_the_thing_itself() -> None:
    assert views.edit_column(StagedEdit(str(ORDERS), "orders")) == "(the table itself)"
    chart = StagedEdit("urn:li:chart:(looker,1)", "Revenue")
    assert views.edit_column(chart) == "(the chart itself)"
