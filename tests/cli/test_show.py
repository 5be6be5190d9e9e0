"""What a command prints is one view, in the form that is asked for."""

import json
from collections.abc import Callable, Sequence

import pytest

from explorer.cli.output import UNLIMITED, show
from explorer.metadata.urn import Urn
from explorer.views.chart import Bar, Bars
from explorer.views.diff import text_diff
from explorer.views.parts import (
    Chain,
    Difference,
    Fact,
    Fitted,
    Mention,
    Prose,
    Report,
    ReportPart,
    Title,
)
from explorer.views.table import Table, TableColumn
from explorer.views.text import text_line
from explorer.views.tree import draw_tree

Printed = Callable[..., tuple[str, str]]
ANN = Urn.parse("urn:li:corpuser:ann")
TABLE = Table(
    [
        TableColumn("name", style="bold"),
        TableColumn("urn", audience="programs"),
        TableColumn("count", "uses"),
    ],
    [("orders", "urn:li:tag:a", 1_200), ("stock", "urn:li:tag:b", None)],
)


@pytest.fixture
def printed(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Printed:
    """Prints a view and returns what is on standard output and on standard error."""

    def run(view: Report | Table, *form: str, columns: int = 80) -> tuple[str, str]:
        monkeypatch.setenv("COLUMNS", str(columns))
        show(view, *form)  # type: ignore[arg-type]
        out, err = capfd.readouterr()
        return out.replace("\r\n", "\n"), err

    return run


def test_one_report_has_every_form_and_its_notes_beside_each(printed: Printed) -> None:
    report = Report(
        TABLE,
        [Title("Uses"), TABLE],
        {"total": 2},
        "rows",
        notes=("2 shown",),
        remarks=("to see more, ask",),
    )
    assert printed(report) == (
        "Uses\nname     uses\norders  1,200\nstock\n",
        "to see more, ask\n2 shown\n",
    )
    out, err = printed(report, "json")
    rows = [
        {"name": "orders", "urn": "urn:li:tag:a", "count": 1_200},
        {"name": "stock", "urn": "urn:li:tag:b", "count": None},
    ]
    assert (json.loads(out), err) == ({"total": 2, "rows": rows}, "2 shown\n")
    csv = "name,urn,count\norders,urn:li:tag:a,1200\nstock,urn:li:tag:b,\n"
    assert printed(report, "csv") == (csv, "2 shown\n")
    assert printed(report, "urns") == ("urn:li:tag:a\nurn:li:tag:b\n", "2 shown\n")


def test_json_that_says_the_notes_itself_has_none_beside_it(printed: Printed) -> None:
    report = Report(TABLE, document=None, notes=("2 shown",), is_complete=True)
    assert printed(report, "json") == ("null\n", "")
    assert printed(report, "csv")[1] == "2 shown\n"


def test_parts_of_every_kind_are_printed(printed: Printed) -> None:
    parts: Sequence[ReportPart] = [
        Prose("What it is.", label="edited"),
        Fact("owner", (Mention(ANN, "technical owner"),)),
        Title("Changes", "2"),
        Difference(text_diff("a", "b")),
        Bars("Users", (Bar("ann", 4), Bar("bo", 2)), note="2 of 3"),
    ]
    out, _ = printed(Report(parts=parts, names={ANN: "Ann Keeper"}))
    assert out.splitlines() == [
        *("edited", "  What it is.", "owner  Ann Keeper (technical owner)", ""),
        *("Changes  2", "  -a", "  +b", ""),
        *("Users  2 of 3", f"  ann  4  {'█' * 60}", f"  bo   2  {'█' * 30}"),
    ]


def test_a_narrow_page_has_the_other_parts_and_a_pipe_those_that_lose_nothing(
    printed: Printed,
) -> None:
    parts = [Fitted(100, [text_line("wide")], [text_line("narrow")])]
    assert printed(Report(parts=parts), columns=99)[0] == "narrow\n"
    assert printed(Report(parts=parts), columns=100)[0] == "wide\n"
    assert printed(Report(parts=parts), columns=UNLIMITED)[0] == "wide\n"
    cut = [Fitted(100, [text_line("wide")], [text_line("narrow")], is_cut=True)]
    assert printed(Report(parts=cut), columns=UNLIMITED)[0] == "narrow\n"


def test_a_column_below_its_row_and_one_of_bars(printed: Printed) -> None:
    columns = [
        TableColumn("name"),
        TableColumn("bar", "", is_bar=True, read=None),
        TableColumn("text", is_below=True),
    ]
    out, _ = printed(Table(columns, [("a", 2, "Below."), ("b", 1, "")]), columns=26)
    assert out == f"name\na     {'█' * 20}\n  Below.\nb     {'█' * 10}\n"
    long = "as long as it is"
    for folds, lines in ((True, "  as long as\n  it is\n"), (False, "  as long as…\n")):
        text = TableColumn("text", is_below=True, folds=folds)
        assert (
            printed(Table([columns[0], text], [("a", long)]), columns=13)[0] == f"name\na\n{lines}"
        )


def test_steps_go_on_below_where_there_is_no_room(printed: Printed) -> None:
    chain = Chain("1  ", [text_line("orders"), text_line("→ stock"), text_line("→ chart")])
    assert printed(Report(parts=[chain]), columns=80)[0] == "1  orders → stock → chart\n"
    assert printed(Report(parts=[chain]), columns=20)[0] == "1  orders → stock\n     → chart\n"


def test_texts_of_the_catalog_steer_no_terminal(printed: Printed) -> None:
    line = text_line("  ", ("a\x1b]0;t\x07\u202eb\nc", "bold"), "  d")
    assert printed(Report(parts=[line], notes=(line,))) == ("  a]0;tb c  d\n", "  a]0;tb c  d\n")


def test_a_tree_leads_to_each_branch() -> None:
    below = {"a": ["b", "c"], "b": ["d"], "e": ["f"]}
    lines = draw_tree(["a", "e"], lambda name: below.get(name, ()))
    assert [(depth, f"{prefix}{name}") for depth, prefix, name in lines] == [
        (1, "├── a"),
        (2, "│   ├── b"),
        (3, "│   │   └── d"),
        (2, "│   └── c"),
        (1, "└── e"),
        (2, "    └── f"),
    ]
