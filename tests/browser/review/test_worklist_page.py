"""The page of a worklist: what it draws, how it is walked by keys, and what it asks the kernel."""

from typing import Any

import pytest

from explorer.notebook.widgets.stewardship import WorklistWidget
from tests.conftest import nightly

URN = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
BAD = '<img src="https://evil.example/x.png" onerror="window.__xss = 1"><script>x</script>'
COLUMNS = [
    {"title": title, "kind": kind}
    for title, kind in {
        **dict.fromkeys(("weight", "used"), "number"),
        "of": "minor",
        "downstream": "number",
        "table": "strong",
        "column": "text",
        "type": "minor",
    }.items()
]


def row(at: int, **more: Any) -> Any:
    cells = [f"{100 - at}", "9", "table", "10+", "orders", f"column_{at}", "varchar"]
    return {"at": at, "draft": False, "cells": cells, **more}


def told(*rows: Any, **more: Any) -> Any:
    listed = [*rows] or [row(at) for at in range(3)]
    return {
        "progress": "3 left",
        "columns": COLUMNS,
        "start": 0,
        "listed": len(listed),
        "rows": listed,
        "now": 0,
        "title": "orders · column_0",
        "facts": ["used 9 times in 30 days", "10 made from its table"],
        "urn": URN,
        "why_not": "",
        **more,
    }


def editor(**more: Any) -> Any:
    shown = {"urn": URN, "path": "column_0", "title": "column_0 of orders", "stage": "writing"}
    return {**shown, "note": "", "ingested": [], "changed": False, "diff": [], "hidden": "", **more}


def typed(path: str = "column_0", text: str = "", revision: int = 1) -> Any:
    return {"urn": URN, "path": path, "text": text, "revision": revision, "view": ""}


@pytest.fixture
def show(open_widget: Any) -> Any:
    def one(**more: Any) -> Any:
        options = {key: more.pop(key) for key in ("theme", "width", "height") if key in more}
        state = {
            "worklist_shown": told(),
            "preview": [],
            **{key: {} for key in ("editor", "typed")},
            **dict.fromkeys(("busy", "problem", "said"), ""),
            **more,
        }
        return open_widget(WorklistWidget._esm, WorklistWidget._css, state, **options)

    return one


def test_a_list_without_items_says_why(show: Any) -> None:
    nothing = told(rows=[], listed=0, title="", facts=[], urn="", nothing="No dataset matches.")
    widget = show(worklist_shown=nothing)
    said = widget.page.get_by_text("No dataset matches.")
    assert said.count() == 1
    assert said.is_visible()


def test_an_item_is_opened_written_and_saved_by_keys_alone(show: Any) -> None:
    widget = show()
    page = widget.page
    page.locator('[data-f="row 0"]').focus()
    for key in ("j", "k", "ArrowDown", "Enter", "e"):
        page.keyboard.press(key)
    move = {"kind": "move"}
    assert widget.sent == [
        {**move, "by": 1},
        {**move, "by": -1},
        {**move, "by": 1},
        {"kind": "edit"},
        {"kind": "edit"},
    ]
    widget.set(typed=typed(), editor=editor())
    page.keyboard.type("The key, e.")
    page.keyboard.press("Control+s")
    assert [one["kind"] for one in widget.sent[-2:]] == ["draft", "store"]
    assert widget.sent[-2]["text"] == "The key, e."
    # The next one has the cursor already.
    widget.set(editor={}, typed={})
    widget.set(worklist_shown=told(row(1), row(2), title="orders · column_1", progress="2 left"))
    widget.set(typed=typed("column_1", "", 9), editor=editor(path="column_1", title="column_1"))
    assert page.evaluate("document.activeElement.tagName") == "TEXTAREA"
    page.keyboard.type("Next.")
    assert widget.get("typed")["path"] == "column_1"
    assert widget.get("typed")["text"] == "Next."
    page.get_by_role("button", name="Skip").click()
    assert widget.sent[-1] == {"kind": "skip"}
    assert widget.foreign_classes() == []
    widget.picture("worklist-editor")


def test_what_is_read_only_opens_no_editor(show: Any) -> None:
    widget = show(
        worklist_shown=told(why_not="Nothing can be saved: this server is open read-only.")
    )
    widget.page.locator('[data-f="row 0"]').focus()
    widget.page.keyboard.press("e")
    assert widget.sent == []
    assert widget.page.get_by_role("button", name="Write …").is_disabled()
    assert widget.page.get_by_text(
        "Nothing can be saved: this server is open read-only."
    ).is_visible()


def test_hostile_texts_make_no_elements(show: Any) -> None:
    rows = [row(0, cells=[BAD] * 7), row(1)]
    widget = show(
        worklist_shown=told(*rows, title=BAD, facts=[BAD], urn=BAD, progress=BAD),
        problem=BAD,
        said=BAD,
    )
    assert widget.page.evaluate("window.__xss") is None
    assert widget.page.locator("script, img").count() == 0


@pytest.mark.parametrize("theme", [*nightly("light", "night"), "dark"])
def test_every_text_can_be_read_on_a_light_and_a_dark_page(show: Any, theme: str) -> None:
    widget = show(theme=theme, worklist_shown=told(row(0, draft=True), row(1)))
    palest = widget.contrasts()[0]
    assert palest[0] >= 4.5, palest
    widget.picture(f"worklist-{theme}")


@pytest.mark.parametrize("width", [360, *nightly(640, 1400)])
def test_nothing_is_wider_than_the_cell(show: Any, width: int) -> None:
    long = "a_very_long_name_of_a_table_" * 6
    cells = ["1", "1", "table", "1", long, long, long]
    widget = show(width=width, worklist_shown=told(row(0, cells=cells), row(1), title=long))
    assert widget.page.evaluate("document.documentElement.scrollWidth") <= width
    widget.picture(f"worklist-{width}")


@pytest.mark.parametrize(("width", "count"), [(1000, 8), (360, 3)])
def test_a_row_is_one_line_whichever_columns_the_list_has(
    show: Any, width: int, count: int
) -> None:
    cells = [*row(0)["cells"], "one more"]
    columns = [*COLUMNS, {"title": "more", "kind": "minor"}]
    widget = show(width=width, worklist_shown=told(row(0, cells=cells), columns=columns))
    tops = widget.page.locator('[data-f="row 0"] > span').evaluate_all(
        "cells => cells.filter((one) => one.offsetParent).map((one) => one.offsetTop)"
    )
    assert (len(tops), len(set(tops))) == (count, 1)


def test_a_view_that_is_removed_listens_no_more(show: Any) -> None:
    widget = show()
    assert widget.page.evaluate("window.listening()") > 0
    widget.page.evaluate("window.remove()")
    assert widget.page.evaluate("window.listening()") == 0
