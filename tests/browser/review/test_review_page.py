"""The page of a review: what it draws, how it is walked by keys, and what it asks the kernel."""

from typing import Any

import pytest

from explorer.notebook.widgets.stewardship import ReviewWidget
from tests.conftest import nightly

URN = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
PAYLOADS = (
    "<script>window.__xss = 1</script>",
    '<img src="https://evil.example/x.png" onerror="window.__xss = 1">',
    "\"><svg onload='window.__xss = 1'>",
)


def row(number: int, state: str = "open", **more: Any) -> Any:
    cells = [f"· {state}", "orders", f"column_{number}", f"Text {number}.", "stg_orders.id"]
    return {"number": number, "state": state, "draft": False, "cells": cells, **more}


def told(*rows: Any, **more: Any) -> Any:
    listed = [*rows] or [row(1, "accepted"), row(2), row(3)]
    found = [one["state"] for one in listed]
    counts = [[state, found.count(state)] for state in dict.fromkeys(found)]
    return {
        "title": "Texts from upstream",
        "columns": ["state", "table", "column", "change", "from"],
        "counts": counts,
        "total": len(listed),
        "only": "",
        "start": 0,
        "listed": len(listed),
        "open": found.count("open"),
        "accepted": found.count("accepted"),
        "typed": 0,
        "why_not": "",
        "writing": False,
        "rows": listed,
        **more,
    }


def item(number: int = 2, state: str = "open", **more: Any) -> Any:
    return {
        "number": number,
        "state": state,
        "title": f"orders · column_{number}",
        "urn": URN,
        "people": "proposed by nina",
        "lines": ["@from stg_orders.id", "-Old text.", "+New text."],
        "draft": False,
        "decidable": True,
        "editable": True,
        "decided": state != "open",
        **more,
    }


def editor(**more: Any) -> Any:
    shown = {"urn": URN, "path": "column_2", "title": "column_2 of orders", "stage": "writing"}
    return {**shown, "note": "", "ingested": [], "changed": False, "diff": [], "hidden": "", **more}


def typed(text: str = "New text.", revision: int = 1, view: str = "") -> Any:
    return {"urn": URN, "path": "column_2", "text": text, "revision": revision, "view": view}


@pytest.fixture
def show(open_widget: Any) -> Any:
    def one(**more: Any) -> Any:
        options = {key: more.pop(key) for key in ("theme", "width", "height") if key in more}
        state = {
            "review": told(),
            "item": item(),
            "preview": [],
            **{key: {} for key in ("progress", "editor", "typed")},
            **dict.fromkeys(("busy", "problem", "said"), ""),
            **more,
        }
        return open_widget(ReviewWidget._esm, ReviewWidget._css, state, **options)

    return one


def press(widget: Any, *keys: str) -> None:
    for key in keys:
        widget.page.keyboard.press(key)


def at_row(widget: Any, number: int = 2) -> Any:
    found = widget.page.locator(f'[data-f="row {number}"]')
    found.focus()
    return found


def test_an_edit_is_shown_with_its_source_its_author_and_both_texts(show: Any) -> None:
    widget = show()
    detail = widget.page.get_by_role("region", name="The edit that is shown")
    text = detail.inner_text()
    for word in ("orders · column_2", "proposed by nina", "from stg_orders.id", "Old text."):
        assert word in text
    assert detail.locator(".cx-removed").inner_text().split("\n")[-1] == "Old text."
    assert detail.locator(".cx-added").inner_text().split("\n")[-1] == "New text."
    assert widget.page.locator(".cx-edit[aria-current]").inner_text().startswith("· open")
    assert widget.foreign_classes() == []
    widget.picture("review-page")


def test_keys_are_said_to_work_after_a_click(show: Any) -> None:
    widget = show()
    before = "(span) => getComputedStyle(span, '::before').content"
    keys = widget.page.locator(".cx-keys")
    assert keys.evaluate(before) == '"click a row, then: "'
    at_row(widget).focus()
    assert keys.evaluate(before) == "none"


def test_keys_decide_the_edit_that_is_shown(show: Any) -> None:
    widget = show(item=item(state="accepted"))
    at_row(widget)
    press(widget, "a", "x", "u", "e", "j", "k", "ArrowDown", "Enter")
    assert widget.sent == [
        {"kind": "decide", "number": 2, "state": "accepted"},
        {"kind": "decide", "number": 2, "state": "refused"},
        {"kind": "decide", "number": 2, "state": "open"},
        {"kind": "edit", "number": 2},
        {"kind": "move", "by": 1},
        {"kind": "move", "by": -1},
        {"kind": "move", "by": 1},
        {"kind": "edit", "number": 2},
    ]


def test_a_click_decides_and_opens_too(show: Any) -> None:
    widget = show()
    page = widget.page
    page.locator('[data-f="row 3"]').click()
    page.get_by_role("button", name="Accept", exact=True).click()
    page.get_by_role("button", name="Refuse").click()
    page.get_by_role("button", name="Change …").click()
    page.get_by_role("button", name="open 2").click()
    assert widget.sent == [
        {"kind": "show", "number": 3},
        {"kind": "decide", "number": 2, "state": "accepted"},
        {"kind": "decide", "number": 2, "state": "refused"},
        {"kind": "edit", "number": 2},
        {"kind": "only", "state": "open"},
    ]


def test_the_focus_goes_on_with_the_edit_that_is_shown(show: Any) -> None:
    widget = show()
    at_row(widget)
    widget.set(item=item(3))
    assert widget.page.evaluate("document.activeElement.dataset.f") == "row 3"
    widget.set(review=told(row(1, "accepted"), row(2, "accepted"), row(3)))
    assert widget.page.evaluate("document.activeElement.dataset.f") == "row 3"
    # A button that is pressed keeps it, for the next.
    widget.page.get_by_role("button", name="Refuse").focus()
    widget.set(item=item(1), review=told())
    assert widget.page.evaluate("document.activeElement.dataset.f") == "refused"


def test_no_single_letter_writes_into_the_catalog(show: Any) -> None:
    widget = show()
    at_row(widget)
    press(widget, "w", "y", "A", "a", "y", "Escape")
    assert widget.sent == []
    press(widget, "Control+s")
    question = widget.page.get_by_role("alert").filter(has_text="Write 1 change")
    assert "A single undo takes all of them back" in question.inner_text()
    press(widget, "a", "x", "y", "Escape")
    assert widget.sent == []
    assert question.count() == 0
    press(widget, "Control+s", "Control+s")
    assert widget.sent == [{"kind": "apply", "count": 1}]


def test_accepting_all_and_writing_name_how_many(show: Any) -> None:
    widget = show(review=told(typed=1))
    at_row(widget)
    press(widget, "A")
    question = widget.page.get_by_role("alert").filter(has_text="Accept all 2 undecided changes")
    assert "undecided texts (1) are not included" in question.inner_text()
    press(widget, "Enter")
    widget.page.get_by_role("button", name="Write 1 accepted …").click()
    widget.page.get_by_role("button", name="Write 1 change").click()
    assert widget.sent == [{"kind": "all", "count": 2}, {"kind": "apply", "count": 1}]


def test_the_question_names_the_catalog_that_is_written_to(show: Any) -> None:
    widget = show(review=told(place="at http://catalog.example:8080"))
    widget.page.get_by_role("button", name="Write 1 accepted …").click()
    question = widget.page.get_by_role("alert").inner_text()
    assert "Write 1 change to the catalog at http://catalog.example:8080?" in question


def test_a_changeset_of_another_catalog_is_marked_and_imported_after_a_question(show: Any) -> None:
    foreign = {"foreign": "of another catalog, at http://there", "imports": "What it does."}
    widget = show(review=told(why_not="Import it first.", **foreign))
    assert (
        "of another catalog, at http://there"
        in widget.page.locator(".cx-head, .cx-over").first.inner_text()
    )
    assert widget.page.get_by_role("button", name="Write 1 accepted …").is_disabled()
    widget.page.get_by_role("button", name="Import …").click()
    assert "What it does." in widget.page.get_by_role("alert").inner_text()
    assert widget.sent == []
    widget.page.get_by_role("button", name="Import", exact=True).click()
    assert widget.sent == [{"kind": "import"}]


def test_writing_shows_a_bar_and_takes_no_decision(show: Any) -> None:
    widget = show(review=told(writing=True), item=item(decidable=False, editable=False))
    widget.set(progress={"done": 1, "total": 4})
    meter = widget.page.get_by_role("progressbar")
    assert meter.get_attribute("aria-valuenow") == "1"
    assert meter.evaluate("(one) => one.firstChild.style.width") == "25%"
    assert "writing 1 of 4" in widget.page.locator(".cx-busy").inner_text()
    for name in ("Accept", "Refuse", "Change …", "Write 1 accepted …"):
        assert widget.page.get_by_role("button", name=name, exact=True).is_disabled()
    widget.set(progress={})
    assert not meter.is_visible()


def test_a_text_is_typed_in_the_explorers_editor(show: Any) -> None:
    widget = show()
    at_row(widget)
    widget.set(typed=typed(), editor=editor())
    area = widget.page.get_by_role("textbox", name="Description, markdown")
    assert area.input_value() == "New text."
    assert widget.page.evaluate("document.activeElement.tagName") == "TEXTAREA"
    # Letters are letters, and each is known to the other views.
    area.press("End")
    area.press_sequentially(" axeu")
    assert widget.get("typed")["text"] == "New text. axeu"
    press(widget, "Control+s")
    kinds = [one["kind"] for one in widget.sent]
    assert kinds[-2:] == ["draft", "accept"]
    assert widget.sent[-2]["text"] == "New text. axeu"
    press(widget, "Escape")
    assert widget.sent[-1] == {"kind": "leave"}
    widget.picture("review-editor")
    assert "ctrl+s accept" in widget.page.locator(".cx-note").inner_text()
    widget.set(editor={}, typed={})
    assert widget.page.evaluate("document.activeElement.dataset.f") == "edit"
    assert "a accept" in widget.page.locator(".cx-note").inner_text()


def test_the_cursor_is_in_the_text_however_it_was_opened(show: Any) -> None:
    widget = show()
    widget.page.get_by_role("button", name="Change …").click()
    widget.set(typed=typed(), editor=editor())
    assert widget.page.evaluate("document.activeElement.tagName") == "TEXTAREA"
    widget.set(editor={}, typed={})
    assert widget.page.evaluate("document.activeElement.dataset.f") == "edit"
    widget.set(typed=typed(), editor=editor())
    assert widget.page.evaluate("document.activeElement.tagName") == "TEXTAREA"


def test_what_another_view_types_is_here_too(show: Any) -> None:
    widget = show(editor=editor(), typed=typed())
    widget.set(typed=typed("New text, by another view.", 5, "other"))
    area = widget.page.get_by_role("textbox", name="Description, markdown")
    assert area.input_value() == "New text, by another view."
    # What is older than what is shown is passed over.
    widget.set(typed=typed("Late.", 3, "other"))
    assert area.input_value() == "New text, by another view."


def test_hostile_texts_make_no_elements(show: Any) -> None:
    bad = " ".join(PAYLOADS)
    widget = show(
        review=told(row(1, cells=[bad] * 5), row(2), title=bad),
        item=item(title=bad, urn=bad, people=bad, lines=[f"+{bad}", f"@{bad}", f"-{bad}"]),
        editor=editor(title=bad, note=bad),
        typed=typed(bad),
        preview=[["p", "", [bad]], ["script", "", ["window.__xss = 1"]]],
        problem=bad,
        said=bad,
        busy=bad,
    )
    assert widget.page.evaluate("window.__xss") is None
    assert widget.page.locator("script, img, .catalog-review svg").count() == 0
    assert widget.page.locator("h3").inner_text() == bad


@pytest.mark.parametrize("theme", ["light", "dark", *nightly("night")])
def test_every_text_can_be_read_on_a_light_and_a_dark_page(show: Any, theme: str) -> None:
    states = ("open", "accepted", "refused", "applied", "failed")
    rows = [row(at, state, draft=at == 2) for at, state in enumerate(states, 1)]
    widget = show(theme=theme, review=told(*rows, typed=1), said="Written: 1 change.")
    palest = widget.contrasts()[0]
    assert palest[0] >= 4.5, palest
    widget.set(editor=editor(note="This is your draft."), typed=typed())
    palest = widget.contrasts()[0]
    assert palest[0] >= 4.5, palest
    widget.picture(f"review-{theme}")


@pytest.mark.parametrize("width", [360, *nightly(640, 1400)])
def test_nothing_is_wider_than_the_cell(show: Any, width: int) -> None:
    long = "a_very_long_name_of_a_table_" * 6
    widget = show(width=width, review=told(row(1, cells=[long] * 5), row(2)))
    assert widget.page.evaluate("document.documentElement.scrollWidth") <= width
    widget.picture(f"review-{width}")


def test_a_kernel_that_is_gone_is_told_and_the_text_can_be_copied(show: Any) -> None:
    widget = show(editor=editor(), typed=typed())
    widget.page.evaluate("window.gone()")
    away = widget.page.get_by_role("alert").filter(has_text="The kernel of this widget is gone")
    assert away.get_by_role("button", name="Copy the text").is_visible()
    area = widget.page.get_by_role("textbox", name="Description, markdown")
    assert area.input_value() == "New text."
    widget.set(editor={}, typed={})
    assert widget.page.get_by_role("button", name="Accept", exact=True).is_disabled()


def test_a_view_that_is_removed_listens_no_more(show: Any) -> None:
    widget = show()
    assert widget.page.evaluate("window.listening()") > 0
    widget.page.evaluate("window.remove()")
    assert widget.page.evaluate("window.listening()") == 0
