"""What is left of a widget in a notebook whose kernel ended, and in a page made of it."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:snowflake,analytics.marts.fct_orders,PROD)"
CELLS = (
    "from explorer import Catalog\ncat = Catalog()",
    "explorer = cat.explore('fct_orders')\nexplorer",
    f"lineage = cat.dataset('{ORDERS}').lineage(1).widget()\nlineage",
)
SAVE = "async () => await window.jupyterapp.commands.execute('docmanager:save')"
END = """async () => {
  const session = window.jupyterapp.shell.currentWidget.context.sessionContext;
  await session.shutdown();
}"""


@pytest.mark.timeout(300)
def test_the_saved_picture_shows_where_no_kernel_runs(
    browser: Any, open_notebook: Any, expect: Any, tmp_path: Path
) -> None:
    book = open_notebook(*CELLS)
    book.run()
    page = book.page
    picture = page.locator(".jp-OutputArea-output img[alt^='Lineage of fct_orders']")
    table = page.get_by_text("An explorer lives while its kernel runs")
    expect(page.locator(".catalog-lineage .cx-node.cx-root")).to_be_visible()
    expect(page.locator(".catalog-explorer")).to_be_visible()
    # Beside the living widget there is nothing else to be seen of it.
    expect(picture).to_have_count(1)
    expect(picture).to_be_hidden()
    expect(table).to_be_hidden()
    page.evaluate(SAVE)
    page.evaluate(END)
    page.reload()
    book.connect()
    expect(picture).to_be_visible()
    expect(table).to_be_visible()
    book.picture("saved-reopened")

    made = tmp_path / "book.html"
    export = ("-m", "nbconvert", "--to", "html", book.file, "--output", made)
    subprocess.run((sys.executable, *export), check=True, capture_output=True, timeout=120)
    away = browser.new_page()
    away.route(lambda url: url.startswith("http"), lambda route: route.abort())
    away.goto(made.as_uri())
    expect(away.locator("img[alt^='Lineage of fct_orders']")).to_be_visible()
    expect(away.get_by_text("An explorer lives while its kernel runs")).to_be_visible()
    away.close()
    # The application says on its console that the widgets are gone, and nothing else went wrong.
    told = "widget model not found"
    assert [one for one in book.problems if told in one]
    book.problems[:] = [one for one in book.problems if told not in one]
