"""A reader's way through a notebook in JupyterLab: search, read, write, follow, go on in Python."""

from typing import Any

import pytest

from tests.conftest import nightly

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:snowflake,analytics.marts.fct_orders,PROD)"
THREADS = "sum(one.name.startswith('catalog') for one in threading.enumerate())"
CELLS = (
    "import threading\nfrom explorer import Catalog\ncat = Catalog()",
    "explorer = cat.explore()\nexplorer",
    f"lineage = cat.dataset('{ORDERS}').lineage().widget(hops=1)\n"
    "gone_to, heard_on = [], set()\nlineage.on_select(gone_to.append)\n"
    "lineage.on_select(lambda _: heard_on.add(threading.current_thread().name))\nlineage",
)


# Where the kernel takes what widgets say: on a thread of its own, or on the main one.
@pytest.mark.parametrize("messages", ["perCommTarget", *nightly("disabled")])
def test_a_reader_finds_documents_and_follows_and_python_knows(
    open_notebook: Any, expect: Any, cat: Any, messages: str
) -> None:
    book = open_notebook(*CELLS, messages=messages)
    book.run()
    page = book.page

    # Search as one types; what is found is there in Python.
    page.get_by_role("combobox", name="Search the catalog").press_sequentially("fct_ord", delay=30)
    hit = page.get_by_role("list", name="Results").get_by_role("button", name="fct_orders").first
    hit.click()
    book.becomes("explorer.selected", ORDERS)
    book.becomes(f"'{ORDERS}' in map(str, explorer.results)")
    # A hit of the search before may have been opened, while the one that was typed still ran.
    book.becomes("[*map(str, explorer.df['urn'])] == [*map(str, explorer.results)]")
    opened = page.get_by_role("region", name="What is open")
    opened.get_by_role("tab", name="Columns").click()
    opened.get_by_text("order_id").first.wait_for()

    # Beside names, values have the rest of the line, whatever the application does to lists.
    opened.get_by_role("tab", name="Usage").click()
    names = opened.locator("dl").first
    names.wait_for()
    assert names.evaluate(
        "(one) => one.getBoundingClientRect().right - one.querySelector('dd')"
        ".getBoundingClientRect().right < 1"
    )

    # Write a description, see what would change, and save it.
    text = f"One row an order, said with **{messages}**."
    opened.get_by_role("button", name="Edit description").click()
    opened.get_by_role("textbox", name="Description, markdown").fill(text)
    shown = opened.get_by_role("region", name="Preview").locator("strong", has_text=messages)
    shown.wait_for()
    opened.get_by_role("button", name="Compare and save").click()
    expect(opened.get_by_role("group", name="What differs")).to_contain_text(text)
    opened.get_by_role("button", name="Save", exact=True).click()
    book.becomes("explorer.entity.description", text)
    assert cat.dataset(ORDERS).description == text
    book.picture(f"lab-explorer-{messages}")

    # Unfold the lineage, and walk it by keys.
    drawn = page.locator(".catalog-lineage .cx-node")
    before, known = drawn.count(), book.value("len(lineage.graph)")
    plus = page.locator(".catalog-lineage .cx-badge:not(.cx-fold)").first
    plus.scroll_into_view_if_needed()
    more = int(plus.locator("text").text_content().removeprefix("+"))
    plus.click()
    expect(drawn).to_have_count(before + more)
    assert book.value("lineage.wait(20)")
    assert book.value("len(lineage.graph)") >= known
    page.locator(".catalog-lineage .cx-node.cx-root").focus()
    page.keyboard.press("ArrowLeft")
    walked_to = page.locator(".catalog-lineage .cx-node[aria-current]")
    name = walked_to.get_attribute("aria-label").split(",")[0]
    book.becomes(f"'{name}' in lineage.selected")
    book.becomes("gone_to[-1] == lineage.selected")
    page.keyboard.press("ArrowRight")
    book.becomes(f"'{name}' not in lineage.selected")
    page.locator(".catalog-lineage .cx-node.cx-root").focus()
    book.becomes("lineage.selected", ORDERS)
    page.keyboard.press("ArrowLeft")
    book.becomes(f"'{name}' in lineage.selected")
    beside = "any(name.startswith('subshell') for name in heard_on)"
    book.becomes(beside, messages == "perCommTarget")
    page.keyboard.press("Enter")
    book.becomes("lineage.root == lineage.selected and lineage.wait(20)")
    expect(page.locator(".catalog-lineage .cx-node.cx-root")).to_contain_text(name)
    book.picture(f"lab-lineage-{messages}")
    assert book.value("(explorer.problem, lineage.problem)") == ("", "")

    # A cell that is run again leaves nothing behind.
    assert book.value("explorer.wait(20) and lineage.wait(20)")
    threads = book.value(THREADS)
    for _ in range(3):
        book.run(1)
        book.run(2)
    expect(page.locator(".catalog-explorer")).to_have_count(1)
    expect(page.locator(".catalog-lineage")).to_have_count(1)
    book.becomes(f"explorer.wait(20) and lineage.wait(20) and {THREADS} <= {threads}")
    book.becomes("explorer.selected", ORDERS)
