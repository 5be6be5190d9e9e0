"""The controls beside the chart of a dataset's use."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from explorer import Catalog
from explorer.errors import CatalogError, InvalidInput
from explorer.notebook.timeseries import UsageChart

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:snowflake,analytics.marts.fct_orders,PROD)"
PLOTLY = "application/vnd.plotly.v1+json"


@pytest.fixture
def controls(cat: Catalog) -> Iterator[Any]:
    made = cat.dataset(ORDERS).usage(30).controls()
    yield made
    assert made.wait(120)
    made.close()


def drawn(controls: Any) -> Any:
    """The figure that is shown."""
    (output,) = controls.children[1].outputs
    return output["data"][PLOTLY]


def test_a_range_is_read_and_drawn_and_known_to_python(controls: Any) -> None:
    assert controls.range.value == "30 days"
    assert len(controls.usage) == 30
    assert len(drawn(controls)["data"][0]["x"]) == 30
    controls.range.value = "7 days"
    assert controls.wait(120)
    assert 6 <= len(controls.usage) <= 8
    assert len(drawn(controls)["data"][0]["x"]) == len(controls.usage)
    assert "in the last 7 days" in repr(controls)


def test_a_range_between_two_days_is_shown_and_can_be_left_and_chosen_again(cat: Catalog) -> None:
    orders = cat.dataset(ORDERS)
    days = orders.usage().df.index
    first, last = days[-9], days[-3]
    usage = orders.usage(start=first, end=last.date())
    assert list(usage.df.index) == list(days[-9:-2])
    words = f"from {first:%Y-%m-%d} to {last:%Y-%m-%d}"
    assert words in repr(usage)
    assert f"Usage of fct_orders, {words}" in str(usage.figure().layout.title.text)
    controls = usage.controls()
    assert controls.range.value == words
    controls.range.value = "30 days"
    assert controls.wait(120)
    assert len(controls.usage) == 30
    controls.range.value = words
    assert controls.wait(120)
    assert list(controls.usage.df.index) == list(usage.df.index)
    controls.close()
    profiles = orders.profile(start=str(first.date()), end=str(last.date()))
    assert len(profiles) == 7
    assert words in repr(profiles)
    with pytest.raises(InvalidInput, match="either 'start' or 'days'"):
        orders.usage(7, start=first)


def test_a_measure_is_drawn_without_a_request(controls: Any) -> None:
    asked: list[Any] = []
    controls.usage.entity.catalog.watch(asked.append)
    controls.measure.value = "by user"
    assert "Jordan Doe" in str(drawn(controls)["layout"])
    controls.measure.value = "by column"
    assert "order_id" in str(drawn(controls)["layout"])
    controls.usage.entity.catalog.watch(None)
    assert asked == []


def test_of_several_ranges_chosen_in_a_row_the_last_one_is_shown(controls: Any) -> None:
    for name in ("7 days", "90 days", "a year", "7 days", "90 days"):
        controls.range.value = name
    assert controls.wait(120)
    assert controls.usage.window.days == 90
    for one in threading.enumerate():
        if one.name == "catalog-usage":
            one.join(120)
            assert not one.is_alive()
    assert controls.usage.window.days == 90


def test_what_goes_wrong_is_said_beside_the_controls(
    controls: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Any, days: Any) -> None:
        raise CatalogError(f"no {days} days")

    monkeypatch.setattr(type(controls.usage.entity), "usage", fail)
    controls = controls.usage.controls()
    controls.range.value = "7 days"
    assert controls.wait(120)
    assert controls.children[0].children[2].value == "no 7 days"
    assert len(controls.usage) == 30


def test_a_notebook_keeps_the_picture_and_marimo_gets_the_figure(controls: Any) -> None:
    bundle = controls._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert "Usage of fct_orders" in bundle["text/html"]
    assert "1," in bundle["text/plain"]
    assert controls._display_().data[0].name == "queries"


def test_a_usage_made_by_hand_has_no_controls(controls: Any) -> None:
    with pytest.raises(InvalidInput, match="constructed by hand"):
        UsageChart("orders", controls.usage.window).controls()
