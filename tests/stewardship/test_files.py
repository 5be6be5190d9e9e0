"""Files of documentation give back exactly what was written to them, and harm nobody on the way."""

import csv
import io
import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from explorer.errors import InvalidInput
from explorer.stewardship.documentation import CLEAR, Entry, Row, digest_of
from explorer.stewardship.files import FORMATS, Format, format_of, read_rows, write_rows

URN = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"

HOSTILE = [
    "",
    " ",
    "\n",
    "\r",
    "a\r\nb",
    "=1+1",
    "'=1+1",
    "''=1+1",
    "'quoted'",
    "'",
    "@x",
    "-1",
    "+1",
    "\t=x",
    '"',
    'a "b", c;\td',
    "ends with blanks  ",
    "  begins with blanks",
    "line\n\n# heading\n\n## another\n",
    "# shop.orders",
    "<!-- catalog: {} -->",
    "a\n<!-- text -->\nb",
    "<!-- text -->",
    "```json lines\nx\n```",
    "````\n```\n````",
    "> quoted",
    "👩‍👩‍👧 ü \u200b",
    "\x00\x1b[31m\x7f\x85\u2028\ufeff\uffff",
    "_x000D_",
    "_x005F_x0041_",
    "_xD83D_",
    CLEAR,
    f"'{CLEAR}",
    f"{CLEAR} ",
    "TRUE",
    "00123",
    "1e5",
    "#N/A",
    "trailing backslash \\",
    "--> -- <!--",
]

texts = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(max_size=30),
    st.text(alphabet=" \r\n\t'\"=!,;_x0D<->`#>a\x00", max_size=12),
    st.lists(st.sampled_from(HOSTILE), max_size=3).map("".join),
)
names = st.text(alphabet=st.characters(codec="utf-8"), min_size=1, max_size=12)


@st.composite
def rows(draw: Any) -> Any:
    edited = draw(texts)
    return Row(
        urn=URN,
        table=draw(names),
        column=draw(st.one_of(st.just(""), names)),
        type=draw(texts),
        ingested=draw(texts),
        edited=edited,
        tags=draw(st.sampled_from([(), ("urn:li:tag:PII",), ("urn:li:tag:a b", "urn:li:tag:é")])),
        exported=digest_of(edited),
    )


@pytest.mark.parametrize("form", FORMATS)
@given(written=st.lists(rows(), max_size=5))
@settings(max_examples=20, deadline=None)
@example(written=[Row(URN, "t", f"c{at}", "", text, text) for at, text in enumerate(HOSTILE)])
@example(written=[])
def test_what_is_read_is_what_was_written(form: Any, written: Any) -> None:
    read = read_rows(write_rows(written, form), form)
    assert [entry.row for entry in read] == written
    assert not any(entry.clears or entry.problem for entry in read)


@pytest.mark.parametrize("form", FORMATS)
def test_a_text_longer_than_a_cell_of_a_spreadsheet_is_whole(form: Any) -> None:
    long = "=é\r\n_x000D_" + "x" * 40_000 + "😀" * 33_000 + "\r" * 10_000
    written = [Row(URN, "t", "", "", long, long), Row(URN, "t", "c", "", "", "short")]
    read = read_rows(write_rows(written, form), form)
    assert [entry.row for entry in read] == written


@pytest.mark.parametrize("form", FORMATS)
def test_the_sign_for_clearing_is_read_as_one_and_a_text_like_it_is_not(form: Any) -> None:
    data = write_rows([Row(URN, "t", "c", "", "", CLEAR), Row(URN, "t", "d", "", "", "x9x")], form)
    if form == "xlsx":
        data = changed_sheet(data, {"x9x": CLEAR})
    else:
        data = data.replace(b"x9x", CLEAR.encode())
    held, cleared = read_rows(data, form)
    assert (held.row.edited, held.clears) == (CLEAR, False)
    assert (cleared.row.edited, cleared.clears) == ("", True)


def test_no_cell_of_a_csv_file_is_a_formula() -> None:
    data = write_rows(
        [
            Row(URN, "=a", "@b", "-c", "+d", "=e"),
            Row(URN, "\tf", " =g", "\u00a0@h", "\n+i", " \t-j"),
        ],
        "csv",
    )
    assert data.startswith(b"\xef\xbb\xbf")
    cells = [cell for line in csv.reader(io.StringIO(data.decode("utf-8-sig"))) for cell in line]
    assert not [cell for cell in cells if cell.lstrip().startswith(("=", "@", "-", "+"))]
    assert not [cell for cell in cells if cell.startswith(("\t", "\r", "\n"))]


def test_an_apostrophe_that_somebody_wrote_stays() -> None:
    text = "urn,column,edited\r\nurn:x,a,'tis\r\nurn:x,b,'=1\r\nurn:x,c,=1\r\n"
    assert [e.row.edited for e in read_rows(text.encode(), "csv")] == ["'tis", "=1", "=1"]


def test_every_cell_of_a_workbook_is_a_text() -> None:
    openpyxl = pytest.importorskip("openpyxl")
    data = write_rows([Row(URN, "t", "c", "1", "=1+1", "=HYPERLINK(1)")], "xlsx")
    sheet = openpyxl.load_workbook(io.BytesIO(data)).worksheets[0]
    held = [cell for line in sheet.iter_rows() for cell in line if cell.value is not None]
    assert {cell.data_type for cell in held} == {"s"}
    assert {cell.number_format for cell in held} == {"@"}
    assert sheet.freeze_panes == "A2"


def test_what_a_spreadsheet_makes_of_typed_cells_is_read_as_it_is_seen() -> None:
    data = write_rows([Row(URN, "t", name, "", "", f"x{name}x") for name in "abc"], "xlsx")
    data = changed_sheet(data, {"xax": 42.0, "xbx": True, "xcx": None})
    assert [entry.row.edited for entry in read_rows(data, "xlsx")] == ["42", "TRUE", ""]


def changed_sheet(data: Any, values: Any) -> Any:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.load_workbook(io.BytesIO(data))
    for line in book.worksheets[0].iter_rows():
        for cell in line:
            if cell.value in values:
                cell.value = values[cell.value]
    held = io.BytesIO()
    book.save(held)
    return held.getvalue()


def test_a_spreadsheets_csv_with_semicolons_other_columns_and_another_order_is_read() -> None:
    text = "Edited;note;URN;column\r\nhello;mine;urn:x;c\r\n;;;\r\nshort\r\n"
    first, last = read_rows(text.encode(), "csv")
    assert first == Entry("line 2", Row("urn:x", "", "c", "", "", "hello"))
    assert last.problem
    assert last.place == "line 4"


def test_markdown_may_be_edited_and_reads_around_what_people_do_to_it() -> None:
    data = write_rows(
        [Row(URN, "orders", "", "Table", "in", "old"), Row(URN, "orders", "id", "int", "", "")],
        "md",
    ).decode()
    assert "\n# orders\n" in data
    assert "\n## id\n" in data
    data = data.replace("# orders", "# My *own* heading", 1).replace(
        "\nold\n", "\n\nnew\n\n\n# h\n\n"
    )
    data = f"{data}\nA key.\n\n".replace("\n", "\r\n")
    table, column = read_rows(data.encode(), "md")
    assert table.row.edited == "new\n\n\n# h"
    assert table.row.ingested == "in"
    assert column.row.edited == "A key."


def test_a_damaged_section_of_markdown_is_told_and_the_others_are_read() -> None:
    rows = [Row(URN, "t", name, "", "", f"text of {name}") for name in "abcd"]
    data = write_rows(rows, "md").decode()
    sections = data.split("<!-- catalog: ")
    sections[1] = sections[1].replace('"urn"', "urn")
    sections[2] = sections[2].replace("<!-- text -->", "")
    sections[3] = sections[3].replace("text of c", "```json lines\nbroken\n```")
    read = read_rows("<!-- catalog: ".join(sections).encode(), "md")
    assert [bool(entry.problem) for entry in read] == [True, True, True, False]


def test_json_takes_null_for_nothing_and_tells_a_row_that_is_none() -> None:
    data = json.dumps([{"urn": URN, "column": None, "edited": "x"}, 7, {"urn": URN, "edited": 7}])
    read = read_rows(data.encode(), "json")
    assert read[0] == Entry("row 1", Row(URN, "", "", "", "", "x"))
    assert [entry.place for entry in read if entry.problem] == ["row 2", "row 3"]


@pytest.mark.parametrize(
    ("form", "data", "words"),
    [
        ("csv", b"urn,edited\r\n", "no column named column"),
        ("csv", b"", "no column named urn"),
        ("csv", b"urn,column,edited,Edited\r\n", "two columns named edited"),
        ("csv", b"urn,column,edited\r\nr\xe9sum\xe9,a,b\r\n", "not UTF-8, but likely cp1252: save"),
        ("csv", b'urn,column,edited\r\nx,"a,b\r\n', "line 2 is not valid CSV"),
        ("json", b"{", "not valid JSON"),
        ("json", b'{"a": 1}', "no list of rows"),
        ("md", b"# a readme", "no section"),
        ("xlsx", b"no zip", "not an XLSX"),
    ],
)
def test_what_is_no_such_file_is_refused_in_a_sentence(
    form: Format, data: bytes, words: str
) -> None:
    with pytest.raises(InvalidInput, match=words):
        read_rows(data, form)


@pytest.mark.parametrize("form", ["csv", "json", "md"])
def test_a_file_in_another_encoding_is_read_where_that_is_certain_or_given(form: Format) -> None:
    row = Row(URN, "", "", "", "", "Größe und 東京")
    text = write_rows([row], form).decode("utf-8-sig")
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le"):
        assert [entry.row for entry in read_rows(text.encode(encoding), form)] == [row]
    data = text.replace("東京", "Tōkyō").replace("ō", "ô").encode("cp1252")
    with pytest.raises(InvalidInput, match="not UTF-8, but likely cp1252"):
        read_rows(data, form)
    (entry,) = read_rows(data, form, "cp1252")
    assert entry.row.edited == "Größe und Tôkyô"
    with pytest.raises(InvalidInput, match=r"it is not shift_jis .*: leave the encoding out"):
        read_rows(data, form, "shift_jis")
    with pytest.raises(InvalidInput, match="no encoding is named 'ansi2'"):
        read_rows(data, form, "ansi2")


def test_the_name_of_a_file_tells_its_format() -> None:
    assert [format_of(f"a.b/docs.{end}") for end in ("csv", "JSON", "markdown", "xlsx")] == [
        "csv",
        "json",
        "md",
        "xlsx",
    ]
    with pytest.raises(InvalidInput, match=r"\.csv, \.json, \.md, \.xlsx"):
        format_of("docs.ods")
