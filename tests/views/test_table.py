"""A table as a file: what a program reads from it, and what a spreadsheet must not."""

import csv
import io
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from explorer.views.table import (
    TIME,
    Table,
    TableColumn,
    attributes,
    to_csv,
    to_frame,
    to_markdown,
    to_objects,
    to_parquet,
)
from tests.conftest import people_rows


def written(heading: str, *cells: str) -> list[list[str]]:
    """The lines of the CSV of a table of one column."""
    table = Table.of("t", (heading,), [(cell,) for cell in cells])
    return list(csv.reader(io.StringIO(to_csv(table), newline="")))


@pytest.mark.parametrize("before", ["", " ", "\t", "\r", "\n", "\u00a0", " \t  ", "'", "' "])
def test_no_text_is_a_formula_in_a_spreadsheet_whatever_stands_before_its_sign(
    before: str,
) -> None:
    texts = [f"{before}{sign}SUM(A1)" for sign in "=+-@|%＝＋－＠"]
    assert written(texts[0], *texts) == [[f"'{text}"] for text in (texts[0], *texts)]


@pytest.mark.parametrize("text", ["-3", "+4.5", "-1e-9", "a=b", " a", "'tis", "a - b", ""])
def test_numbers_and_other_texts_stay_as_they_are_in_csv(text: str) -> None:
    assert written("text", "x", text)[2] == [text]


RECORDS = [SimpleNamespace(name="a", size=1_000, millis=None), SimpleNamespace(name="b", size=None)]


def described(records: list[Any]) -> Table:
    return Table.from_records(
        records,
        (
            TableColumn("size", "how big", lambda record: f"{record.size or 'un'}known", "people"),
            TableColumn("name"),
            TableColumn("id", None, lambda record: record.name * 2, "programs"),
            TableColumn("kind", None, lambda record: "x", "printed"),
            TableColumn("size", audience="files"),
            TableColumn("bytes", None, lambda record: record.size, "frames", dtype="Int64"),
            TableColumn("at", None, lambda record: 86_400_000, "index", dtype=TIME),
        ),
        "Sizes",
    )


def test_people_files_and_frames_get_their_columns_of_one_description() -> None:
    table = described(RECORDS)
    assert people_rows(table) == [["1000known", "a", "x"], ["unknown", "b", "x"]]
    names = ["name", "id", "kind", "size"]
    assert [*csv.reader(io.StringIO(to_csv(table)))] == [
        names,
        ["a", "aa", "x", "1000"],
        ["b", "bb", "x", ""],
    ]
    assert to_objects(table)[0] == {"name": "a", "id": "aa", "kind": "x", "size": 1_000}
    assert "| a | aa | x | 1000 |" in to_markdown(table)
    assert list(pd.read_parquet(io.BytesIO(to_parquet(table)))) == names
    frame = to_frame(table)
    assert list(frame) == ["name", "id", "bytes"]
    assert frame["bytes"].tolist() == [1_000, pd.NA]
    assert frame.index.tolist() == [pd.Timestamp("1970-01-02", tz="UTC")] * 2


def test_a_frame_without_rows_has_the_types_of_one_with_rows() -> None:
    some, none = to_frame(described(RECORDS)), to_frame(described([]))
    assert none.dtypes.to_dict() == some.dtypes.to_dict()
    assert (none.index.dtype, none.index.name) == (some.index.dtype, "at")


def test_a_record_is_read_when_its_row_is_looked_at_and_only_once() -> None:
    read: list[str] = []

    def read_name(record: Any) -> str:
        read.append(record.name)
        return str(record.name)

    table = Table.from_records(RECORDS, [TableColumn("name", read=read_name), *attributes("size")])
    assert len(table.rows) == 2
    assert read == []
    assert table.rows[1] == ("b", None)
    assert [row[0] for row in table.rows[:2]] == ["a", "b"]
    assert read == ["b", "a"]
