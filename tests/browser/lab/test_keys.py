"""Keys pressed in a widget do nothing to the notebook around it, in each application."""

from typing import Any

import pytest

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:snowflake,analytics.marts.fct_orders,PROD)"
# The last one is there to be deleted, moved to, or made something else.
CELLS = (
    "from explorer import Catalog\ncat = Catalog()",
    f"explorer = cat.explore('orders', urn='{ORDERS}')\nexplorer",
    f"lineage = cat.dataset('{ORDERS}').lineage().widget(hops=1)\nlineage",
    "'the last'",
)
# What deletes, cuts, inserts, retypes and restarts; no widget moves anything for it.
WORST = ("d", "d", "x", "b", "m", "0", "0")
# What copies, pastes, merges, moves, runs, undoes, interrupts, and walks to another cell.
OTHERS = (
    *("a", "c", "v", "r", "y", "1", "z", "i", "i", "j", "k", "Shift+A", "Shift+B", "Shift+L"),
    *("Shift+M", "Shift+V", "Shift+Z", "Shift+Enter", "Alt+Enter", "ArrowUp", "ArrowDown"),
    *("ArrowLeft", "ArrowRight", "Home", "End", "Delete", "Backspace", "Escape", "Enter", "Space"),
)
FOCUSABLE = """(root) => [root, ...root.querySelectorAll('*')].filter((one) =>
  (one.tabIndex >= 0 || one.hasAttribute('tabindex')) && !one.disabled && one.checkVisibility())"""
# What takes text comes last, and a node of the drawing, which has other buttons shown below it.
TURN = """(one) => [':not(.cx-node)', '.cx-node', 'textarea, select, input:not([type=checkbox])']
  .findLastIndex((which) => one.matches(which))"""
KIND = "(one) => [one.tagName, one.getAttribute('class'), one.getAttribute('role')].join(' ')"
FOCUS = """(one) => {
  one.focus({preventScroll: true});
  return one.getRootNode().activeElement === one;
}"""
STATE = """() => {
  const book = window.jupyterapp.shell.currentWidget.content;
  return {
    cells: [...book.model.cells].map((one) => [one.type, one.sharedModel.source]),
    runs: [...book.model.cells].map((one) => one.executionCount),
    mode: book.mode,
    dialogs: document.querySelectorAll('.jp-Dialog').length,
  };
}"""
DIRTY = "() => window.jupyterapp.shell.currentWidget.context.model.dirty"
MAKE_DIRTY = "() => { window.jupyterapp.shell.currentWidget.context.model.dirty = true; }"


def press_on_all(root: Any, before: Any) -> Any:
    """Press the worst keys on everything in a widget that can have the focus; the elements."""
    page = root.page
    found = root.evaluate_handle(FOCUSABLE).get_properties().values()
    found = sorted((one.as_element() for one in found), key=lambda one: one.evaluate(TURN))
    for one in found:
        assert one.evaluate(FOCUS), one.evaluate("(one) => one.outerHTML.slice(0, 200)")
        for key in WORST:
            page.keyboard.press(key)
    assert page.evaluate(STATE) == before
    return found


def press_on_each_kind(root: Any, before: Any) -> None:
    """Press all other keys on one element of each kind, wherever they lead."""
    seen = set()
    while True:
        found = root.evaluate_handle(FOCUSABLE).get_properties().values()
        fresh = [one for one in found if one.as_element().evaluate(KIND) not in seen]
        if not fresh:
            return
        one = fresh[0].as_element()
        seen.add(one.evaluate(KIND))
        one.evaluate(FOCUS)
        for key in OTHERS:
            root.page.keyboard.press(key)
        assert root.page.evaluate(STATE) == before, one.evaluate(KIND)


@pytest.mark.nightly
@pytest.mark.parametrize("application", ["lab", "notebook"])
def test_no_key_pressed_in_a_widget_acts_on_the_notebook(
    open_notebook: Any, expect: Any, application: str
) -> None:
    book = open_notebook(*CELLS, application=application)
    book.run()
    page = book.page
    explorer, lineage = page.locator(".catalog-explorer"), page.locator(".catalog-lineage")
    root = lineage.locator(".cx-node.cx-root")
    expect(root).to_be_visible()
    # Nothing is drawn anew for this key, from here on.
    root.focus()
    page.keyboard.press("d")
    book.becomes("lineage.wait(20) and lineage.picture['direction']", "DOWNSTREAM")
    expect(explorer.get_by_role("tab")).not_to_have_count(0)
    book.becomes("explorer.wait(20)")
    before = page.evaluate(STATE)
    assert [kind for kind, _ in before["cells"]] == ["code"] * len(CELLS)

    assert len(press_on_all(lineage, before)) > 10
    assert len(press_on_all(explorer, before)) > 40
    opened = explorer.get_by_role("region", name="What is open")
    opened.get_by_role("button", name="Edit description").click()
    expect(opened.get_by_role("textbox", name="Description, markdown")).to_be_focused()
    press_on_all(opened, before)
    # Where there is nothing to press, either.
    for widget in (explorer.locator(".cx-note"), lineage.locator(".cx-keys")):
        widget.click()
        for key in WORST:
            page.keyboard.press(key)
        assert page.evaluate(STATE) == before
    book.picture(f"keys-{application}")
    press_on_each_kind(lineage, before)
    press_on_each_kind(explorer, before)

    # What is held with ctrl is the notebook's, and on a cell everything is.
    page.evaluate(MAKE_DIRTY)
    explorer.evaluate(FOCUS)
    page.keyboard.press("Control+s")
    page.wait_for_function(f"() => !({DIRTY})()")
    page.locator(".jp-Cell").last.focus()
    page.keyboard.press("b")
    assert len(page.evaluate(STATE)["cells"]) == len(CELLS) + 1
