"""A reader's way through a notebook in marimo, which shows widgets in shadow roots."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:snowflake,analytics.marts.fct_orders,PROD)"
CELLS = (
    f"""
    from explorer import Catalog

    cat = Catalog()
    orders = cat.dataset("{ORDERS}")""",
    "explorer = cat.explore('orders')\n    explorer",
    "lineage = orders.lineage(2).widget(hops=2)\n    lineage",
    "orders.usage().over_time()",
    "orders.usage().controls()",
    "orders",
    "cat.search('orders platform:snowflake')",
)


def program(cells: Any) -> str:
    """A notebook as marimo keeps it."""
    names = ["", "cat", "orders", "orders", "orders", "orders", "cat"]
    gives = ["cat, orders", *[""] * 6]
    bodies = (
        f"@app.cell\ndef _({name}):\n    {cell.strip()}\n    return {given}\n\n"
        for name, given, cell in zip(names, gives, cells, strict=True)
    )
    return f"import marimo\n\napp = marimo.App(width='full')\n\n{''.join(bodies)}"


@pytest.fixture
def application(tmp_path: Path, data_dir: Any, cat: Any, answering: Any) -> Iterator[Any]:
    """The address of a running marimo with a notebook, dark, and read as an application."""
    if find_spec("marimo") is None:
        missing = pytest.fail if os.environ.get("REQUIRE_BROWSER") == "1" else pytest.skip
        missing("marimo is not installed; the extra `browser` brings it")
    (tmp_path / "book.py").write_text(program(CELLS))
    settings = tmp_path / "settings" / "marimo"
    settings.mkdir(parents=True)
    (settings / "marimo.toml").write_text('[display]\ntheme = "dark"\n')
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = (
        *(sys.executable, "-m", "marimo", "-q", "run", "book.py", "--headless", "--no-token"),
        *("--host", "127.0.0.1", "-p", str(port)),
    )
    places = {
        "CATALOG_DATA_DIR": str(data_dir),
        "CATALOG_STATE_DIR": str(tmp_path / "state"),
        "XDG_CONFIG_HOME": str(tmp_path / "settings"),
        "HOME": str(tmp_path),
    }
    with (tmp_path / "messages").open("w+") as said:
        server = subprocess.Popen(
            command,
            cwd=tmp_path,
            env={**os.environ, **places},
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            assert answering(f"http://127.0.0.1:{port}/health", server), said.read()
            yield f"http://127.0.0.1:{port}"
        finally:
            os.killpg(server.pid, signal.SIGTERM)
            server.wait(20)


@pytest.mark.nightly
def test_widgets_are_dark_and_walked_by_keys_and_charts_are_alive(
    browser: Any, application: Any, expect: Any
) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 2200})
    page = context.new_page()
    page.set_default_timeout(60_000)
    problems = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(application)

    # The theme is the page's, though nothing in it is a theme of Jupyter's.
    explorer, lineage = page.locator(".catalog-explorer"), page.locator(".catalog-lineage")
    for widget in (explorer, lineage):
        widget.wait_for()
        expect(widget.and_(page.locator(".cx-dark"))).to_have_count(1)

    # Keys walk the drawing, within a shadow root as elsewhere.
    root = lineage.locator(".cx-node.cx-root")
    root.focus()
    page.keyboard.press("ArrowRight")
    walked = lineage.locator(".cx-node[aria-current]")
    expect(walked).not_to_contain_text("fct_orders")
    assert walked.evaluate("(one) => one === one.getRootNode().activeElement")
    page.keyboard.press("ArrowLeft")
    expect(walked).to_contain_text("fct_orders")
    page.keyboard.press("ArrowLeft")
    expect(walked).not_to_contain_text("fct_orders")

    # Results are walked too, and the keys reach no shortcut of the application's.
    box = explorer.get_by_role("combobox", name="Search the catalog")
    box.press_sequentially(" fct_ord", delay=20)
    hit = explorer.get_by_role("list", name="Results").get_by_role("button", name="fct_orders")
    hit.first.click()
    opened = explorer.get_by_role("region", name="What is open")
    opened.get_by_role("tab", name="Overview").focus()
    page.keyboard.press("ArrowRight")
    expect(opened.get_by_role("tab", name="Columns")).to_be_focused()
    expect(opened.get_by_text("order_id").first).to_be_visible()

    # Charts are drawn by plotly, and answer the pointer; so is that of the controls, which marimo
    # cannot show.
    charts = page.locator(".js-plotly-plot")
    expect(charts).to_have_count(2)
    for at in range(2):
        ground = charts.nth(at).locator(".main-svg").first
        expect(ground).to_have_css("background-color", "rgb(22, 26, 29)")
    charts.first.scroll_into_view_if_needed()
    charts.first.locator(".nsewdrag").first.hover()
    expect(charts.first.locator(".hoverlayer text").first).to_be_attached()

    # Lists have their marks, which marimo takes away, and the end of a wide table is reached.
    outputs = page.locator(".mathjax_ignore.tex2jax_ignore")
    note = outputs.locator("li", has_text="cancelled orders are in the table")
    assert note.evaluate("(one) => getComputedStyle(one).listStyleType") == "disc"
    found = outputs.filter(has=page.get_by_role("columnheader", name="matched", exact=False)).last
    found.scroll_into_view_if_needed()
    assert found.evaluate(
        "(one) => { one.scrollLeft = 1e6; const last = one.querySelector('td:last-child');"
        "return last.getBoundingClientRect().right <= document.documentElement.clientWidth; }"
    )
    directory = os.environ.get("BROWSER_PICTURES")
    if directory:
        page.screenshot(path=f"{directory}/marimo.png")
    context.close()
    assert problems == []
