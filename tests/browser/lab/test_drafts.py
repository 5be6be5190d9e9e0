"""A text being typed in JupyterLab: one for all views, over a page's reload and a kernel's end."""

import os
import signal
from typing import Any

import nbformat
import pytest

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:snowflake,analytics.marts.fct_orders,PROD)"
CELLS = (
    "import os\nfrom explorer import Catalog\ncat = Catalog()",
    f"explorer = cat.explore(urn='{ORDERS}')\nexplorer",
    "explorer",
)
KEPT = (
    "[one.draft.text for one in __import__('explorer.stewardship.drafts', fromlist=['*'])"
    ".Drafts.of(cat.identity).all()]"
)
RESTART = """async () => {
  const session = window.jupyterapp.shell.currentWidget.context.sessionContext;
  await session.session.kernel.restart();
}"""
SAVE = "async () => await window.jupyterapp.commands.execute('docmanager:save')"


@pytest.mark.nightly
def test_no_text_is_lost_to_a_reload_a_second_view_or_a_kernel_that_ends(
    open_notebook: Any, expect: Any
) -> None:
    book = open_notebook(*CELLS)
    book.run()
    page = book.page
    views = page.locator(".catalog-explorer")
    areas = page.get_by_role("textbox", name="Description, markdown")
    first, second = areas.nth(0), areas.nth(1)

    # What is typed in one view is in the other, letter by letter, and only one has the focus.
    views.nth(0).get_by_role("button", name="Edit description").click()
    expect(first).to_be_focused()
    expect(second).to_be_visible()
    first.fill("")
    first.press_sequentially("One row an order, with a tail.", delay=20)
    expect(second).to_have_value("One row an order, with a tail.")
    expect(first).to_be_focused()
    second.focus()
    second.evaluate("(area) => area.setSelectionRange(7, 7)")
    second.press_sequentially(" for each of", delay=20)
    text = "One row for each of an order, with a tail."
    expect(first).to_have_value(text)
    expect(second).to_be_focused()
    assert second.evaluate("(area) => area.selectionStart") == 19
    book.becomes(KEPT, [text])

    # Loaded again, the page goes on with it; no draft is in the file of the notebook.
    page.evaluate(SAVE)
    page.reload()
    book.connect()
    expect(first).to_have_value(text)
    expect(second).to_have_value(text)
    first.press("End")
    first.press_sequentially("!")
    expect(second).to_have_value(f"{text}!")
    book.becomes(KEPT, [f"{text}!"])
    book.picture("drafts-reloaded")
    page.evaluate(SAVE)
    assert text not in book.file.read_text(encoding="utf-8")

    # A kernel that is restarted leaves the text on the page, and the next one the draft.
    page.evaluate(RESTART)
    gone = views.nth(0).get_by_role("alert").filter(has_text="The kernel of this widget is gone")
    expect(gone).to_be_visible()
    expect(first).to_have_value(f"{text}!")
    first.press_sequentially("?")
    expect(first).to_have_value(f"{text}!?")
    expect(gone.get_by_role("button", name="Copy the text")).to_be_visible()
    book.picture("drafts-gone")
    book.run()
    opened = views.nth(0).get_by_role("region", name="What is open")
    expect(opened.get_by_text("1 draft is kept here, not saved")).to_be_visible()
    views.nth(0).get_by_text("1 text that you typed is not saved yet.").wait_for()
    views.nth(0).get_by_role("button", name="List the drafts").click()
    listed = views.nth(0).get_by_role("region", name="Drafts").get_by_role("row")
    expect(listed).to_contain_text(f"{text}!")
    listed.get_by_role("button", name="Open the draft of fct_orders").click()
    expect(first).to_have_value(f"{text}!")
    expect(opened.get_by_text("This is your unsaved draft")).to_be_visible()
    book.picture("drafts-resumed")

    # One that is killed is told too, although nothing but its silence tells.
    first.press("End")
    first.press_sequentially(" And more.")
    book.becomes(KEPT, [f"{text}! And more."])
    os.kill(book.value("os.getpid()"), signal.SIGKILL)
    # In one piece: Jupyter's dialog takes the keys as soon as it opens.
    first.fill(f"{text}! And more. Unheard.")
    page.locator(".jp-Dialog button.jp-mod-accept").click(timeout=60_000)
    silent = views.nth(0).get_by_role("alert").filter(has_text="kernel")
    expect(silent).to_be_visible(timeout=60_000)
    expect(first).to_have_value(f"{text}! And more. Unheard.")
    book.picture("drafts-silent")
    book.connect()
    book.run()
    opened.get_by_role("button", name="Go on writing").click()
    expect(first).to_have_value(f"{text}! And more.")
    assert nbformat.read(book.file, as_version=4).metadata.get("widgets") is None
