"""What a window of another size does to what is drawn in a notebook."""

from typing import Any

import pytest

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:snowflake,analytics.marts.fct_orders,PROD)"
CELLS = (
    "from explorer import Catalog\ncat = Catalog()",
    f"cat.dataset('{ORDERS}').usage()",
    f"lineage = cat.dataset('{ORDERS}').lineage(4).widget()\nlineage",
)


@pytest.mark.nightly
@pytest.mark.parametrize("application", ["lab", "notebook"])
def test_charts_and_lineage_keep_their_height_in_a_window_of_another_size(
    open_notebook: Any, expect: Any, application: str
) -> None:
    book = open_notebook(*CELLS, application=application)
    book.run()
    page = book.page
    chart, lineage = page.locator(".js-plotly-plot"), page.locator(".catalog-lineage")
    stage = lineage.locator(".cx-stage")
    expect(chart.locator(".main-svg").first).to_be_visible()
    expect(page.locator(".cx-node.cx-root")).to_be_visible()
    tall, wide = chart.bounding_box()["height"], chart.locator(".main-svg").first.bounding_box()
    high = stage.bounding_box()["height"]
    assert tall > 200
    for width in (900, 1280):
        page.set_viewport_size({"width": width, "height": 1600})
        # The drawing follows the width of its cell.
        page.wait_for_function(
            "([whole, same]) => { const now = document.querySelector('.js-plotly-plot .main-svg')"
            ".getBoundingClientRect().width; return same ? now === whole : now < whole; }",
            arg=[wide["width"], width == 1280],
        )
        assert chart.bounding_box()["height"] == tall
        assert chart.locator(".main-svg").first.bounding_box()["height"] == wide["height"]
    book.picture(f"sizes-{application}")

    lineage.get_by_role("button", name="Show the whole picture").click()
    for _ in range(6):
        lineage.get_by_role("button", name="Zoom out").click()
    expect(page.locator(".cx-far")).to_have_count(1)
    assert stage.bounding_box()["height"] == high


@pytest.mark.nightly
def test_lineage_is_read_at_first_and_zoomed_until_all_of_it_is_in_view(
    open_notebook: Any, expect: Any
) -> None:
    book = open_notebook(CELLS[0], f"cat.dataset('{ORDERS}').lineage(3)")
    book.run()
    page = book.page
    figure, picture = page.locator(".js-plotly-plot"), page.locator(".js-plotly-plot image")
    expect(picture).to_be_visible()
    # Without a ground of its own it stands on the page's, light or dark.
    assert figure.locator(".main-svg").first.get_attribute("style") == (
        "background: rgba(0, 0, 0, 0);"
    )
    read = picture.bounding_box()
    # Its units are pixels: names are as large as they are made.
    assert read["width"] >= 2_000
    inside = figure.bounding_box()
    assert read["width"] > inside["width"]
    page.locator(".modebar-btn[data-title='Autoscale']").click()
    page.wait_for_function(
        "([wide]) => document.querySelector('.js-plotly-plot image')"
        ".getBoundingClientRect().width <= wide",
        arg=[inside["width"]],
    )
    small = picture.bounding_box()["width"]
    page.locator(".modebar-btn[data-title='Zoom in']").click()
    page.wait_for_function(
        "([small]) => document.querySelector('.js-plotly-plot image')"
        ".getBoundingClientRect().width > small * 1.5",
        arg=[small],
    )
    book.picture("lineage-zoomed")
