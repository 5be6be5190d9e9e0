"""What is left of a widget in a notebook whose kernel ended, and in a page made of it."""

import re
import subprocess
import sys
from base64 import b64encode
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


DARK = """async () => await window.jupyterapp.commands.execute(
  'apputils:change-theme', {theme: 'JupyterLab Dark'})"""
# How bright the first pixel of a picture is, from 0 to 255.
CORNER = """async (png) => {
  const image = new Image();
  image.src = `data:image/png;base64,${png}`;
  await image.decode();
  const canvas = document.createElement("canvas").getContext("2d");
  canvas.drawImage(image, 0, 0);
  return Math.max(...canvas.getImageData(8, 8, 1, 1).data.slice(0, 3));
}"""


@pytest.mark.nightly
def test_a_kept_chart_is_dark_on_a_dark_page_and_the_arrow_of_a_list_is_seen(
    browser: Any, open_notebook: Any, expect: Any
) -> None:
    usage = f"usage = cat.dataset('{ORDERS}').usage()"
    book = open_notebook(
        f"from IPython.display import HTML\n{CELLS[0]}\n{usage}",
        "HTML(usage._repr_html_())",
        "usage.controls()",
    )
    book.run()
    page = book.page
    chart = page.locator(".jp-OutputArea-output img[alt^='Usage of fct_orders']").first

    def ground() -> int:
        kept = b64encode(chart.screenshot()).decode()
        return int(page.evaluate(CORNER, kept))

    assert ground() > 240
    page.evaluate(DARK)
    page.wait_for_function("() => document.body.dataset.jpThemeLight === 'false'")
    page.wait_for_timeout(500)
    assert ground() < 60
    arrow = page.locator(".widget-dropdown select")
    expect(arrow).to_have_css("background-image", re.compile("e0e0e0"))
    book.picture("dark")


@pytest.mark.nightly
def test_the_saved_picture_shows_where_no_kernel_runs(
    browser: Any, open_notebook: Any, expect: Any, tmp_path: Path
) -> None:
    book = open_notebook(*CELLS)
    book.run()
    page = book.page
    picture = page.locator(".jp-OutputArea-output img[alt^='Lineage of fct_orders']")
    table = page.get_by_text("An explorer works only while its kernel runs")
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
    expect(away.get_by_text("An explorer works only while its kernel runs")).to_be_visible()
    away.close()
    # The application says on its console that the widgets are gone, and nothing else went wrong.
    told = "widget model not found"
    assert [one for one in book.problems if told in one]
    book.problems[:] = [one for one in book.problems if told not in one]
