"""A table as a file: what a program reads from it, and what a spreadsheet must not."""

import csv
import io

import pytest

from explorer.views.table import Table, to_csv


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
