"""The explorer's page: what it draws of what it is told, how it is walked, and what it asks for."""

from base64 import b64encode
from datetime import UTC, datetime
from typing import Any

import pandas as pd
import pytest

from explorer.notebook.chart import PanelChart
from explorer.notebook.explorer import Explorer
from explorer.notebook.markup import difference_lines, markdown_line_tree, markdown_tree, parts_of
from explorer.views.chart import Line, Lines
from explorer.views.diff import text_diff
from explorer.views.search import SORT_ORDERS
from tests.conftest import nightly

PAYLOADS = (
    "<script>window.__xss = 1</script>",
    '<img src="https://evil.example/x.png" onerror="window.__xss = 1">',
    "\"><svg onload='window.__xss = 1'>",
    "[here](javascript:window.__xss=1) ![beacon](https://evil.example/pixel.png)",
    "${window.__xss = 1}",
)
URNS = [f"urn:li:dataset:(urn:li:dataPlatform:hive,shop.t{at},PROD)" for at in range(3)]
TABS = ["overview", "columns", "lineage", "usage", "profile", "history"]


def hit(at: Any, name: Any, **more: Any) -> Any:
    about = markdown_line_tree("One row per **order**, see `orders`.", 200)
    told = {"urn": URNS[at], "name": name, "kind": "Table", "platform": "hive", "about": about}
    return {**told, "mark": "", "state": "", "why": None, "ticked": False, **more}


def found(**more: Any) -> Any:
    value = {"value": "hive", "label": "Hive", "count": 3, "on": False}
    facet = {"field": "platform", "label": "platform", "more": 0, "values": [value]}
    why = {"field": "column", "value": "orders_id"}
    hits = [hit(0, "orders"), hit(1, "items", why=why, mark="✎"), hit(2, "bare", about=[])]
    told = {"said": "3 results", "words": ["orders"], "hits": hits, "facets": [facet]}
    asked = {"text": "orders", "filter": "", "order": "", "put": 1, "ticked": 0, "fault": ""}
    return {**told, **asked, "chosen": [], "start": 0, "before": False, "after": False, **more}


def folder(key: Any, name: Any, level: Any, **more: Any) -> Any:
    told = {"key": key, "name": name, "urn": "", "count": None, "level": level, "at": 1, "of": 1}
    return {**told, "open": None, "note": "", **more}


def folders() -> Any:
    return [
        folder("a", "datasets", 1, count=1234, open=True, of=2),
        folder("b", "prod", 2, count=7, open=False),
        folder("c", "tags", 1, count=3, open=False, at=2, of=2),
    ]


def head(**more: Any) -> Any:
    told = {"urn": URNS[0], "name": "orders", "facts": ["Table", "hive"], "states": []}
    return {**told, "tabs": TABS, "why_not": "", "drafts": [], **more}


def column(path: Any, text: Any) -> Any:
    told = {"path": path, "name": path, "indent": 0, "type": "string", "key": "", "mark": ""}
    return {**told, "text": markdown_line_tree(text, 200), "ingested": [], "labels": []}


def columns(*rows: Any) -> Any:
    told = {"tab": "columns", "urn": URNS[0], "said": f"{len(rows)} columns", "columns": [*rows]}
    return {**told, "more": 0, "most": 100, "text": "", "parts": []}


def editor(stage: str = "writing", **more: Any) -> Any:
    told = {"urn": URNS[0], "path": None, "title": "orders", "stage": stage, "note": ""}
    return {**told, "ingested": [], "changed": False, "diff": [], "hidden": "", **more}


def typed(text: str = "one **row**", revision: int = 1, view: str = "", **more: Any) -> Any:
    """The text in the editor, as all views of the widget share it."""
    told = {"urn": URNS[0], "path": None, "text": text, "revision": revision, "view": view}
    return {**told, **more}


def kept(*texts: str, **more: Any) -> Any:
    """The list of drafts with these texts, the last of which another program edits."""
    row = {"urn": URNS[0], "name": "orders", "column": "", "at": "2030-01-31 10:00 UTC"}
    why_not = [""] * (len(texts) - 1) + ["Another program has it open."]
    rows = [
        {**row, "id": f"{text}.json", "text": text, "by": "terminal, ended", "why_not": told}
        for text, told in zip(texts, why_not, strict=True)
    ]
    told = {"count": len(rows) - 1, "said": f"{len(rows)} drafts, not saved", "restores": True}
    return {**told, "listed": True, "rows": rows, **more}


@pytest.fixture
def show(open_widget: Any) -> Any:
    def one(**told: Any) -> Any:
        options = {key: told.pop(key) for key in ("theme", "width", "height") if key in told}
        state = {
            "find": found(),
            "tree": folders(),
            "preview": [],
            **{key: {} for key in ("offers", "page", "tab", "editor", "typed", "kept")},
            **dict.fromkeys(("busy", "problem", "said"), ""),
            "orders": [[order, words] for order, words in SORT_ORDERS.items()],
            **told,
        }
        return open_widget(Explorer._esm, Explorer._css, state, **options)

    return one


def asked(widget: Any, *kinds: Any) -> Any:
    """What was asked of the kernel, without the numbers of texts."""
    return [
        {key: value for key, value in one.items() if key != "revision"}
        for one in widget.sent
        if one["kind"] in kinds
    ]


def names(widget: Any) -> Any:
    return widget.page.locator(".cx-results .cx-name").all_text_contents()


def test_typing_asks_once_at_a_pause_and_results_replace_each_other(show: Any) -> None:
    widget = show(find=found(text="", put=1))
    box = widget.page.get_by_role("combobox", name="Search the catalog")
    # No time passes between two letters, however slow the machine is.
    widget.page.clock.install(time=0)
    widget.page.clock.pause_at(1_000)
    box.press_sequentially("orders")
    assert asked(widget, "search") == []
    widget.page.clock.run_for(1_000)
    assert asked(widget, "search") == [{"kind": "search", "text": "orders", "filter": ""}]
    widget.set(find=found(hits=[hit(0, "orders_new")], text="orders", put=1))
    assert names(widget) == ["orders_new"]
    assert box.input_value() == "orders"
    assert widget.page.evaluate("document.activeElement.getAttribute('role')") == "combobox"


def test_what_python_asks_is_put_into_the_boxes(show: Any) -> None:
    widget = show()
    widget.set(find=found(text="revenue", filter="platform:hive", put=2))
    box = widget.page.get_by_role("combobox", name="Search the catalog")
    assert box.input_value() == "revenue"
    assert widget.page.locator(".cx-filter").input_value() == "platform:hive"


def test_a_search_without_an_answer_says_so_and_is_asked_again(show: Any) -> None:
    page = show(find={"unanswered": True, "text": "orders", "put": 1}, tree=[])
    told = page.page.get_by_role("region", name="Search")
    assert told.locator(".cx-told").inner_text() == "no answer"
    assert page.page.get_by_role("tree").inner_text() == "could not be read"
    page.page.get_by_role("button", name="Try again").click()
    assert page.sent[-1] == {"kind": "again"}
    page.set(find=found(unanswered=True))
    before = "no answer; of the search before: 3 results"
    assert told.locator(".cx-told").inner_text() == before
    page.set(find=found(unanswered=False))
    assert told.locator(".cx-told").inner_text() == "3 results"
    assert page.page.get_by_role("button", name="Try again").count() == 0


def test_completions_are_a_combobox_for_the_keys(show: Any) -> None:
    widget = show(find=found(text=""))
    box = widget.page.get_by_role("combobox", name="Search the catalog")
    box.press_sequentially("ord")
    rows = [
        {"text": "orders", "urn": URNS[0], "kind": "dataset", "platform": "hive"},
        {"text": "Order", "urn": URNS[1], "kind": "glossary term", "platform": ""},
    ]
    widget.set(offers={"for": "or", "rows": rows})
    # Completions of what was typed before are none.
    assert box.get_attribute("aria-expanded") == "false"
    widget.set(offers={"for": "ord", "rows": rows})
    assert box.get_attribute("aria-expanded") == "true"
    options = widget.page.get_by_role("listbox").get_by_role("option")
    assert options.all_text_contents() == ["orders dataset · hive", "Order glossary term"]
    box.press("ArrowDown")
    box.press("ArrowDown")
    chosen = widget.page.get_by_role("listbox").get_by_role("option", selected=True)
    assert chosen.text_content() == "Order glossary term"
    assert box.get_attribute("aria-activedescendant") == chosen.get_attribute("id")
    box.press("Escape")
    assert options.count() == 0
    widget.set(offers={"for": "", "rows": []})
    box.press_sequentially("e")
    widget.set(offers={"for": "orde", "rows": rows})
    box.press("ArrowDown")
    box.press("Enter")
    assert asked(widget, "open") == [{"kind": "open", "urn": URNS[0]}]


def test_results_show_what_matched_and_are_walked_with_the_arrows(show: Any) -> None:
    widget = show()
    page = widget.page
    assert page.locator(".cx-results mark").all_text_contents() == [
        "orders",
        "orders",
        "orders",
        "orders",
    ]
    assert page.locator(".cx-why").all_text_contents() == ["column: orders_id"]
    assert page.locator(".cx-results .cx-about").all_text_contents() == [
        "One row per order, see orders.",
        "✎ One row per order, see orders.",
        "no description",
    ]
    page.get_by_role("combobox", name="Search the catalog").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert asked(widget, "open") == [{"kind": "open", "urn": URNS[1]}]
    page.get_by_role("checkbox", name="choose bare").check()
    assert asked(widget, "tick") == [{"kind": "tick", "urn": URNS[2], "on": True}]
    # The kernel's answer draws the results anew.
    widget.set(find=found(ticked=1, hits=[hit(1, "items"), hit(2, "bare", ticked=True)]))
    assert page.get_by_role("checkbox", name="choose bare").is_checked()
    assert not page.get_by_role("checkbox", name="choose items").is_checked()


def test_facets_are_pressed_and_taken_off(show: Any) -> None:
    widget = show()
    widget.page.get_by_role("button", name="Filter", exact=True).click()
    widget.page.get_by_role("button", name="Hive 3").click()
    taken = [{"field": "platform", "value": "hive", "label": "Hive"}]
    widget.set(find=found(chosen=taken))
    widget.page.get_by_role("button", name="remove Hive").click()
    toggle = {"kind": "toggle", "field": "platform", "value": "hive"}
    assert asked(widget, "toggle") == [toggle, toggle]


def test_the_folders_are_a_tree_for_the_keys(show: Any) -> None:
    widget = show()
    items = widget.page.get_by_role("treeitem")
    assert items.all_text_contents() == ["▾datasets1,234", "▸prod7", "▸tags3"]
    assert [one.get_attribute("aria-level") for one in items.all()] == ["1", "2", "1"]
    assert [one.get_attribute("tabindex") for one in items.all()] == ["0", "-1", "-1"]
    items.first.focus()
    for key in ("ArrowRight", "ArrowRight"):
        widget.page.keyboard.press(key)
    assert asked(widget, "unfold") == [{"kind": "unfold", "key": "b"}]
    opened = folders()
    opened[1]["open"] = True
    opened.insert(2, folder("d", "orders", 3, urn=URNS[0]))
    widget.set(tree=opened)
    # The focus stays where it was although all is drawn anew.
    assert widget.page.evaluate("document.activeElement.dataset.f") == "b"
    for key in ("ArrowRight", "Enter", "ArrowLeft", "ArrowLeft", "t"):
        widget.page.keyboard.press(key)
    assert asked(widget, "open") == [{"kind": "open", "urn": URNS[0]}]
    assert asked(widget, "fold") == [{"kind": "fold", "key": "b"}]
    assert widget.page.evaluate("document.activeElement.dataset.f") == "c"


def test_an_entity_has_tabs_for_the_keys_and_leads_on(show: Any) -> None:
    widget = show(page=head(), tab=columns(column("id", "The `key`."), column("zip", "")))
    page = widget.page
    tabs = page.get_by_role("tab")
    assert tabs.all_text_contents()[:3] == ["Overview", "Columns", "Lineage"]
    assert page.get_by_role("tab", selected=True).text_content() == "Columns"
    assert page.locator(".cx-columns td code").text_content() == "key"
    page.get_by_role("tab", selected=True).focus()
    page.keyboard.press("ArrowRight")
    assert asked(widget, "tab") == [{"kind": "tab", "tab": "lineage"}]
    owner = {"urn": "urn:li:corpuser:ada", "text": "Ada", "after": "data owner"}
    facts = [
        {"name": "owners", "ways": [owner], "none": "nobody"},
        {"name": "columns", "text": "2"},
    ]
    text = {"label": "ingested", "tree": markdown_tree("as **is**")}
    widget.set(tab={"tab": "overview", "texts": [text], "facts": facts, "parts": []})
    assert page.locator(".cx-panel strong").text_content() == "is"
    assert page.locator(".cx-panel dd").all_text_contents() == ["Ada data owner", "2"]
    page.get_by_role("button", name="Ada").click()
    assert asked(widget, "open") == [{"kind": "open", "urn": "urn:li:corpuser:ada"}]


def test_the_preview_shows_the_part_of_a_long_text_that_is_being_written(show: Any) -> None:
    widget = show(page=head())
    page = widget.page
    page.get_by_role("button", name="Edit description").click()
    paragraphs = "\n\n".join(f"paragraph {number}" for number in range(60))
    widget.set(typed=typed(text=paragraphs), editor=editor(), preview=markdown_tree(paragraphs))
    preview = page.get_by_role("region", name="Preview")
    area = page.get_by_role("textbox", name="Description, markdown")
    area.press("Control+End")
    area.press_sequentially(", the end")
    widget.set(preview=markdown_tree(f"{paragraphs}, the end"))
    hidden, rest = preview.evaluate(
        "at => [at.scrollTop, at.scrollHeight - at.clientHeight - at.scrollTop]"
    )
    assert hidden > 100 > rest
    area.press("Control+Home")
    # Scrolling is told in the next frame.
    frames = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    page.evaluate(frames)
    assert preview.evaluate("at => at.scrollTop") < 30


def test_a_description_is_written_with_the_keys(show: Any) -> None:
    widget = show(page=head())
    page = widget.page
    page.get_by_role("button", name="Edit description").click()
    widget.set(typed=typed(), editor=editor(), preview=markdown_tree("one **row**"))
    area = page.get_by_role("textbox", name="Description, markdown")
    assert page.evaluate("document.activeElement.tagName") == "TEXTAREA"
    assert page.get_by_role("region", name="Preview").locator("strong").text_content() == "row"
    area.press("End")
    area.press_sequentially(" an order")
    area.press("Control+s")
    text = "one **row** an order"
    first, *drafts, last = asked(widget, "edit", "draft", "compare")
    assert (first, last) == ({"kind": "edit"}, {"kind": "compare"})
    assert drafts[-1] == {"kind": "draft", "urn": URNS[0], "path": None, "text": text}
    # Where the machine is so busy that typing pauses, there are drafts of its beginnings.
    assert all(text.startswith(one["text"]) for one in drafts)
    lines = difference_lines(text_diff("one **row**", text))
    widget.set(editor=editor("comparing", diff=lines))
    shown = page.get_by_role("group", name="What differs").locator("> div")
    assert shown.all_text_contents() == ["-one **row**", f"+{text}"]
    assert page.evaluate("document.activeElement.textContent") == "Save"
    page.keyboard.press("Enter")
    assert asked(widget, "save") == [{"kind": "save"}]
    widget.set(editor=editor("saving", diff=lines))
    widget.set(editor=editor("conflict", diff=["-theirs", f"+{text}"]))
    # Enter, pressed again before this was seen, replaces nobody's text.
    assert page.evaluate("document.activeElement.textContent") == "Back to the text"
    page.get_by_role("button", name="Take theirs").click()
    assert asked(widget, "theirs") == [{"kind": "theirs"}]
    widget.set(editor={})
    assert page.evaluate("document.activeElement.dataset.f") == "edit"


def test_unsaved_texts_are_told_and_each_of_the_list_is_asked_for_by_itself(show: Any) -> None:
    widget = show(kept={"count": 2, "said": "2 texts are not saved yet.", "rows": []})
    page = widget.page
    page.get_by_role("status").filter(has_text="2 texts are not saved yet.").wait_for()
    page.get_by_role("button", name="List the drafts").click()
    widget.set(kept=kept("first", "second", "third"))
    listed = page.get_by_role("region", name="Drafts")
    rows = listed.get_by_role("row")
    assert [row.split("·")[0] for row in rows.all_text_contents()] == [
        f"orders{text}2030-01-31 10:00 UTC " for text in ("first", "second", "third")
    ]
    assert rows.nth(2).get_by_role("button").count() == 0
    rows.nth(1).get_by_role("button", name="Discard the draft of orders").click()
    widget.set(kept=kept("first", "third"))
    rows.nth(0).get_by_role("button", name="Compare and save the draft of orders").click()
    rows.nth(0).get_by_role("button", name="Open the draft of orders").click()
    listed.get_by_role("button", name="Restore the last discarded").click()
    page.keyboard.press("Escape")
    widget.set(kept=kept("first", said="", listed=False, rows=[]))
    assert not listed.is_visible()
    page.get_by_role("button", name="Drafts", exact=True).click()
    assert [(one["do"], one.get("id")) for one in asked(widget, "kept")] == [
        ("list", None),
        ("discard", "second.json"),
        ("compare", "first.json"),
        ("open", "first.json"),
        ("restore", None),
        ("hide", None),
        ("list", None),
    ]


def test_a_click_is_not_lost_to_results_that_arrive_while_it_is_pressed(show: Any) -> None:
    widget = show()
    button = widget.page.locator(".cx-hit").first.bounding_box()
    widget.page.mouse.move(button["x"] + 10, button["y"] + 5)
    widget.page.mouse.down()
    widget.set(find=found(hits=[hit(0, "orders"), hit(2, "bare")]))
    assert names(widget) == ["orders", "items", "bare"]
    widget.page.mouse.up()
    widget.page.wait_for_function("document.querySelectorAll('.cx-hit').length === 2")
    assert asked(widget, "open") == [{"kind": "open", "urn": URNS[0]}]
    assert names(widget) == ["orders", "bare"]


def test_what_is_typed_is_not_lost_to_an_answer_on_its_way(show: Any) -> None:
    widget = show(page=head(), editor=editor(), typed=typed(revision=3))
    page = widget.page
    area = page.get_by_role("textbox", name="Description, markdown")
    area.fill("much more")
    own = widget.get("typed")
    assert (own["text"], own["revision"]) == ("much more", 4)
    area.evaluate("(area) => area.setSelectionRange(4, 4)")
    # What is older, and what comes back, changes nothing: neither a letter nor the cursor.
    area.press_sequentially("!")
    for told in (typed("old", 3), own, typed("old", 4, "another")):
        widget.set(editor=editor(changed=True), typed=told)
        assert area.input_value() == "much! more"
        assert area.evaluate("(area) => area.selectionStart") == 5
    # What was typed on another page since is shown, and the cursor stays at its letter.
    widget.set(typed=typed("So much! more", 6, "another"))
    assert area.input_value() == "So much! more"
    area.evaluate("(area) => area.setSelectionRange(8, 8)")
    widget.set(typed=typed("And so much! more", 7, "another"))
    assert area.evaluate("(area) => area.selectionStart") == 12
    area.press_sequentially("?")
    assert widget.get("typed")["text"] == "And so much!? more"
    assert widget.get("typed")["revision"] == 8
    widget.page.get_by_role("button", name="Close, keep the draft").click()
    assert asked(widget, "draft")[-1]["text"] == "And so much!? more"


def test_a_kernel_that_is_gone_is_told_and_the_text_can_be_copied(show: Any) -> None:
    widget = show(page=head(), editor=editor(), typed=typed())
    page = widget.page
    area = page.get_by_role("textbox", name="Description, markdown")
    area.fill("typed before")
    page.wait_for_function("window.sent.some((one) => one.kind === 'draft')")
    # As a notebook says it of its widgets.
    page.evaluate(
        "document.body.lastElementChild.classList.add('jupyter-widgets-disconnected');window.gone()"
    )
    told = page.get_by_role("alert").filter(has_text="The kernel of this widget is gone")
    assert told.is_visible()
    sent = len(widget.sent)
    area.press("End")
    area.press_sequentially(" and after")
    assert page.get_by_role("button", name="Compare and save").is_disabled()
    told.get_by_role("button", name="Copy the text").click()
    told.get_by_text("Copied.").wait_for()
    area.fill("")
    area.press("Control+v")
    assert area.input_value() == "typed before and after"
    assert len(widget.sent) == sent


def test_a_kernel_that_does_not_answer_is_told_until_it_does(show: Any) -> None:
    widget = show(page=head(), editor=editor(), typed=typed())
    page = widget.page
    page.clock.install()
    area = page.get_by_role("textbox", name="Description, markdown")
    told = page.get_by_role("alert").filter(has_text="The kernel has not answered")
    area.fill("typed")
    page.clock.run_for(1_000)
    assert told.is_hidden()
    page.clock.run_for(10_000)
    assert told.is_visible()
    last = page.evaluate("window.sent.at(-1)")
    widget.tell({"kind": "heard", "view": last["view"], "seq": last["seq"]})
    assert told.is_hidden()
    page.clock.run_for(60_000)
    assert told.is_hidden()


def test_where_nothing_can_be_written_there_is_no_way_to(show: Any) -> None:
    widget = show(
        page=head(why_not="Nothing can be saved: this server is open read-only."),
        tab=columns(column("id", "")),
    )
    assert widget.page.get_by_text(
        "Nothing can be saved: this server is open read-only."
    ).is_visible()
    assert widget.page.get_by_role("button", name="edit").count() == 0


def test_hostile_texts_are_text(show: Any) -> None:
    widget = show()
    for text in PAYLOADS:
        tree, line = markdown_tree(text), markdown_line_tree(text, 400)
        why = {"field": text, "value": text}
        parts = [
            {"is": "title", "text": text, "after": text},
            {"is": "prose", "label": text, "tree": tree},
            {"is": "picture", "src": "https://evil.example/x.svg", "alt": text},
            {
                "is": "grid",
                "headers": [text],
                "numbers": [False],
                "rows": [[{"text": text, "link": text}]],
            },
            {"is": "diff", "lines": [f"+{text}"]},
        ]
        widget.set(
            find=found(
                hits=[hit(0, text, about=line, why=why, kind=text)], words=[text], said=text
            ),
            tree=[folder("a", text, 1, note=text, open=False)],
            page=head(name=text, facts=[text], states=[text], urn=text),
            tab={"tab": "usage", "parts": parts},
            typed=typed(text, urn=text),
            editor=editor(urn=text, title=text, note=text, diff=[f"-{text}"]),
            preview=[*tree, ["script", "", [text]], ["a", "javascript:window.__xss=1", [text]]],
            kept=kept(text, text, said=text),
            problem=text,
        )
        widget.set(
            editor={}, tab=columns({**column(text, text), "ingested": line, "labels": [text]})
        )
    assert widget.page.evaluate("window.__xss") is None
    assert (
        widget.page.locator(
            ".catalog-explorer :is(script, svg:not(.cx-copy > svg), img, iframe)"
        ).count()
        == 0
    )
    addresses = widget.page.locator(".catalog-explorer a").evaluate_all(
        "all => all.map((a) => a.href)"
    )
    assert all(one.startswith("https://evil.example/") for one in addresses)


@pytest.mark.parametrize("width", [900, *nightly(1400)])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_everything_fits_and_can_be_read(show: Any, theme: str, width: int) -> None:
    rows = [column("id", "The `key` of it all. " * 8), column("averylongname" * 6, "")]
    widget = show(theme=theme, width=width, page=head(), tab=columns(*rows))
    widget.picture(f"explorer-{theme}-{width}")
    page = widget.page
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert page.locator(".cx-found").is_visible() == (width == 1400)
    for place in (".cx-head h3", ".cx-told", ".cx-columns td.cx-name", ".cx-row .cx-name"):
        for spot in page.locator(place).all():
            if spot.is_visible():
                assert spot.evaluate(CONTRAST) >= 4.5
    unnamed = page.locator(".catalog-explorer :is(button, input, select, textarea)").evaluate_all(
        "all => all.filter((one) => !one.ariaLabel && !one.textContent.trim())"
        ".map((one) => one.outerHTML)"
    )
    assert unnamed == []
    # An application may style any other name.
    assert widget.foreign_classes() == []


CONTRAST = """(one) => {
  const light = (color, below) => {
    const [r, g, b, a = 1] = color.match(/[0-9.]+/g).map(Number);
    return [r, g, b].map((part, at) => part * a + below[at] * (1 - a));
  };
  let ground = null, layers = [];
  for (let at = one; at; at = at.parentElement) {
    layers.unshift(getComputedStyle(at).backgroundColor);
  }
  ground = layers.reduce((below, color) => light(color, below), [255, 255, 255]);
  const ink = light(getComputedStyle(one).color, ground);
  const shine = (color) => color.map((part) => part / 255)
    .map((part) => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
    .reduce((sum, part, at) => sum + part * [0.2126, 0.7152, 0.0722][at], 0);
  const [high, low] = [shine(ink), shine(ground)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05);
}"""


def test_a_view_taken_off_the_page_hears_nothing_more(show: Any) -> None:
    widget = show()
    assert widget.page.evaluate("window.listening()") > 0
    widget.page.evaluate("window.remove()")
    assert widget.page.evaluate("window.listening()") == 0


@pytest.mark.parametrize(
    ("path", "pencil"), [("b", "edit the description of b"), (None, "✎ Edit description")]
)
def test_the_focus_goes_back_to_the_pencil_that_was_pressed(
    show: Any, path: str | None, pencil: str
) -> None:
    widget = show(page=head(), tab=columns(column("a", ""), column("b", "")))
    page = widget.page
    page.get_by_role("button", name=pencil, exact=True).click()
    widget.set(editor=editor(path=path), typed=typed(path=path))
    assert page.evaluate("document.activeElement.tagName") == "TEXTAREA"
    widget.set(editor={})
    assert page.get_by_role("button", name=pencil, exact=True).evaluate(
        "(one) => one === document.activeElement"
    )
    widget.set(page=head(drafts=[path]))
    pressed = page.get_by_text("✎ draft" if path else "✎ Go on writing", exact=True)
    assert pressed.evaluate("(one) => one === document.activeElement")


THEMES = ["light", "dark", "night"]


@pytest.mark.parametrize("theme", THEMES)
def test_every_text_stands_out_from_its_ground(show: Any, theme: Any) -> None:
    widget = show(
        find=found(hits=[hit(0, "orders", state="deprecated"), hit(1, "bare", about=[])]),
        page=head(states=["removed"], drafts=[None]),
        tab=columns(column("a", "what it is"), column("b", "")),
        kept=kept("a text", "another"),
        problem="the server did not answer",
        said="Saved.",
        theme=theme,
        width=1300,
    )
    seen = widget.contrasts()
    assert len(seen) > 40
    assert [one for one in seen if one[0] < 4.5] == []
    widget.set(editor=editor("comparing", diff=["-was", "+is"], note="kept here"))
    assert [one for one in widget.contrasts() if one[0] < 4.5] == []
    widget.picture(f"explorer-{theme}")


@pytest.mark.parametrize("theme", ["light", "night"])
def test_a_widget_is_as_dark_as_the_page_around_it_also_later(show: Any, theme: str) -> None:
    page = show(theme=theme).page
    dark = page.locator(".catalog-explorer.cx-dark")
    assert dark.count() == (theme == "night")
    page.evaluate(
        "(color) => { delete document.body.dataset.jpThemeLight;"
        " document.body.style.color = color; }",
        "#111" if theme == "night" else "#eee",
    )
    page.wait_for_function(
        "(count) => document.querySelectorAll('.cx-dark').length === count",
        arg=int(theme == "light"),
    )


# The colour of a corner of a picture, from a screenshot of it.
CORNER = """async (png) => {
  const shown = new Image();
  shown.src = `data:image/png;base64,${png}`;
  await shown.decode();
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [shown.width, shown.height];
  const drawn = canvas.getContext('2d');
  drawn.drawImage(shown, 0, 0);
  return [...drawn.getImageData(shown.width - 12, shown.height - 12, 1, 1).data];
}"""


@pytest.mark.parametrize("theme", THEMES)
def test_a_chart_is_as_dark_as_the_page_around_it(show: Any, theme: str) -> None:
    points = tuple((datetime(2026, 1, day, tzinfo=UTC), float(day)) for day in range(1, 9))
    chart = PanelChart("Usage", (Lines("queries", (Line("queries", points),)),), pd.DataFrame)
    tab = {"tab": "usage", "urn": URNS[0], "said": "", "parts": parts_of(chart.parts())}
    widget = show(theme=theme, page=head(), tab=tab)
    picture = widget.page.locator(".cx-panel img")
    picture.scroll_into_view_if_needed()
    corner = widget.page.evaluate(CORNER, b64encode(picture.screenshot()).decode())
    assert (max(corner[:3]) < 60) == (theme != "light")
    assert (min(corner[:3]) > 200) == (theme == "light")
    widget.picture(f"chart-{theme}")


def test_names_break_at_underscores_and_are_copied_whole(show: Any) -> None:
    widget = show(page=head(name="fct_order_items"), tab=columns(column("net_amount_eur", "")))
    page = widget.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    name = page.locator("td.cx-name").first
    assert name.inner_html().count("<wbr>") == 2
    assert name.text_content() == "net_amount_eur"
    for label, copied in (
        ("copy the name fct_order_items", "fct_order_items"),
        ("copy the URN", URNS[0]),
    ):
        button = page.get_by_role("button", name=label)
        button.evaluate(
            "(one) => { window.copied = ''; navigator.clipboard || Object.defineProperty(navigator,"
            " 'clipboard', { value: {} }); navigator.clipboard.writeText = async (text) =>"
            " { window.copied = text; }; }"
        )
        button.click()
        page.wait_for_function("(text) => window.copied === text", arg=copied)


def test_results_say_their_rows_and_use(show: Any) -> None:
    told = "4.86 M rows · 1,211 queries a month · changed 2026-11-21"
    page = show(find=found(hits=[hit(0, "orders", measures=told), hit(1, "bare")])).page
    assert page.locator(".cx-measures").all_text_contents() == [told]


def test_the_drawing_of_the_lineage_is_walked_in_its_tab(show: Any) -> None:
    def node(at: Any, x: Any, **more: Any) -> Any:
        side = {"hidden": 0, "open": False, "known": True}
        told = {
            "id": URNS[at],
            "name": f"t{at}",
            "whole": f"t{at}",
            "words": "Table",
            "spoken": f"t{at}, Table",
        }
        place = {
            "x": x,
            "y": 20,
            "w": 160,
            "h": 40,
            "ports": [],
            "state": "plain",
            "sign": "",
            "far": "",
        }
        look = {"colour": "#888888", "entity": "dataset", "text": "", "hops": at}
        return {**told, **place, **look, "up": side, "down": side, **more}

    picture = {
        "root": URNS[0],
        "nodes": [node(0, 20), node(1, 300)],
        "edges": [],
        "links": [],
        "width": 480,
        "height": 80,
        "hops": 1,
        "direction": "BOTH",
        "more": False,
        "back": False,
        "about": "",
        "names": {"urn": "", "columns": []},
        "types": [],
        "platforms": [],
    }
    drawing = {
        "picture": picture,
        "said": "all shown",
        "busy": "",
        "problem": "",
        "selected": URNS[0],
    }
    sides = [
        {"label": "downstream, 1", "ways": [{"urn": URNS[1], "text": "t1", "after": ""}], "more": 0}
    ]
    tab = {"tab": "lineage", "urn": URNS[0], "drawn": True, "sides": sides, "hops": 1, "parts": []}
    widget = show(page=head(), tab=tab, drawing=drawing)
    page = widget.page
    boxes = page.locator(".catalog-lineage .cx-node")
    assert boxes.count() == 2
    assert boxes.first.locator(".cx-box").bounding_box()["width"] < 200
    boxes.first.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("window.sent.some((one) => one.told?.kind === 'selected')")
    page.get_by_role("button", name="Open its page").click()
    told = [one["told"] for one in widget.sent if one["kind"] == "drawing"]
    assert {"kind": "selected", "urn": URNS[1]} in told
    assert [one["urn"] for one in told if one["kind"] == "open"] == [URNS[1]]
    # What is told of the tab again leaves the drawing as it is; another tab takes it away.
    page.evaluate("window.box = document.querySelector('.catalog-lineage')")
    widget.set(tab={**tab, "sides": []})
    assert page.evaluate("window.box === document.querySelector('.catalog-lineage')")
    widget.set(drawing={**drawing, "picture": {**picture, "nodes": [node(0, 20)]}})
    assert boxes.count() == 1
    widget.set(tab=columns(column("a", "")))
    assert page.locator(".catalog-lineage").count() == 0
