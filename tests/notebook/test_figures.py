"""Charts are the same numbers for plotly, as a picture and as text, and say what is missing."""

import json
import re
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from xml.etree import ElementTree as ET

import plotly.graph_objects as go
import plotly.io as pio
import pytest
from IPython.core.formatters import DisplayFormatter

from explorer.errors import InvalidInput
from explorer.notebook.chart import COLOURS, PanelChart
from explorer.views.chart import (
    Bar,
    Bars,
    Line,
    Lines,
    calendar_labels,
    compact,
    full_number,
    round_numbers,
    with_gaps,
)
from explorer.views.table import Table, TableColumn, to_frame

FIRST = datetime(2026, 3, 2, tzinfo=UTC)
DAY = timedelta(days=1)
PLOTLY = "application/vnd.plotly.v1+json"
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = (
    '<img src=x onerror="go()"> & <b>%{x}</b> $\\href{javascript:go()}{x}$\u202e\x1b[31m\ufffe'
)


@pytest.fixture(params=["UTC", "Asia/Kolkata"])
def clock(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """This machine's zone."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


def test_plotly_and_picture_and_text_show_the_same_lines(read: Any) -> None:
    shown = chart(lines(a=[1, 2, 3], b=[3.5, 1, 2]))
    figure = shown.figure()
    assert type(figure) is go.Figure
    assert [list(trace.y) for trace in figure.data] == [[1, 2, 3], [3.5, 1, 2]]
    assert [trace.name for trace in figure.data] == ["a", "b"]
    assert list(figure.data[0].x) == [f"2026-03-0{day}T00:00:00" for day in (2, 3, 4)]
    assert "a  3 ▃▆█" in repr(shown)
    assert "b  2 █▃▅" in repr(shown)
    assert {"a", "b", "Mar 2", "Mar 4", "UTC"} <= set(texts(shown))
    assert "3" in read(shown).text


def test_lines_differ_in_colour_and_dash_and_mark() -> None:
    traces = chart(lines(**{name: [1, 2] for name in "abcdef"})).figure().data
    for told in ("color", "dash"):
        assert len({trace.line[told] for trace in traces}) == len(COLOURS)
    assert len({trace.marker.symbol for trace in traces}) == len(COLOURS)
    paths = drawn(chart(lines(**{name: [1, 2] for name in "abcdef"})))
    strokes = {(one.get("stroke"), one.get("stroke-dasharray")) for one in paths}
    assert len({colour for colour, _ in strokes if colour in COLOURS}) == len(COLOURS)
    assert len({dash for colour, dash in strokes if colour in COLOURS}) == len(COLOURS)


def test_names_of_lines_stand_beside_their_own_panel() -> None:
    figure = PanelChart("Two", (lines(a=[1, 2]), lines(b=[1, 2], c=[3, 4])), frame).figure()
    assert [trace.legend for trace in figure.data if trace.showlegend] == ["legend2", "legend2"]
    assert figure.layout.legend2.y == figure.layout.yaxis2.domain[1] < figure.layout.yaxis.domain[0]


def test_what_was_not_measured_is_a_gap_everywhere() -> None:
    shown = chart(lines(a=[1, None, 3]))
    (trace,) = shown.figure().data
    assert list(trace.y) == [1, None, 3]
    assert trace.connectgaps is False
    line = next(one for one in drawn(shown) if one.get("stroke") == COLOURS[0])
    assert line.get("d").count("M") == 2
    assert "▃ █" in repr(shown)


def test_days_that_are_not_there_are_a_gap() -> None:
    days = [FIRST + DAY * at for at in (0, 1, 2, 6, 7)]
    assert [value for _, value in with_gaps([(day, 1.0) for day in days])] == [1, 1, 1, None, 1, 1]
    weeks = [(FIRST + 7 * DAY * at, 1.0) for at in range(4)]
    assert with_gaps(reversed(weeks)) == tuple(weeks)
    assert with_gaps([(datetime(1, 1, 1, tzinfo=UTC), 1.0)]) == ()


def test_times_are_those_of_the_zone_asked_for(clock: Any) -> None:
    shown = chart(lines(a=[1, 2]))
    there = "2026-03-02T05:30:00" if clock == "Asia/Kolkata" else "2026-03-02T00:00:00"
    assert shown.figure().data[0].x[0] == "2026-03-02T00:00:00"
    assert shown.figure("local").data[0].x[0] == there
    assert shown.chart("local").figure().data[0].x[0] == there
    assert shown.figure().layout.xaxis.title.text == "UTC"
    assert shown.figure("local").layout.xaxis.title.text.startswith("local time")
    assert "local time" in texts(shown.chart("local"))
    with pytest.raises(InvalidInput, match="UTC or local"):
        shown.figure("CET")


@pytest.mark.parametrize("template", ["plotly", "plotly_dark", "none"])
def test_texts_are_read_on_the_ground_that_a_chart_brings(
    template: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pio.templates, "default", template)
    shown = chart(lines(a=[1, 2]), bars(one=1))
    layout = shown.figure().layout
    assert layout.paper_bgcolor == layout.plot_bgcolor
    assert (luminance(layout.paper_bgcolor) < 0.1) == (template == "plotly_dark")
    texts_of = [layout.font, layout.title.subtitle.font, *(one.font for one in layout.annotations)]
    for colour in {font.color for font in texts_of}:
        assert contrast(colour, layout.paper_bgcolor) >= 4.5
    page, style, ground = drawn(shown)[:3]
    x, _, width, height = page.get("viewBox").split()
    assert ground.get("d") == f"M{x} 0h{width}v{height}h-{width}z"
    assert contrast(page.get("fill"), ground.get("fill")) >= 4.5
    # On a dark page the style sheet sets both.
    text, _, dark = re.findall("#[0-9a-f]{6}", style.text)
    assert contrast(text, dark) >= 4.5
    assert luminance(dark) < 0.1


def test_a_chart_is_small_and_loads_nothing() -> None:
    shown = chart(lines(a=[1, 2]), bars(one=1))
    assert "http" not in shown.svg().replace("http://www.w3.org/2000/svg", "")
    # Templates are repeated in every figure of a notebook.
    assert len(json.dumps(bundle(shown)[PLOTLY])) < 4_000
    assert len(shown.svg()) < 4_000


def test_a_notebook_gets_plotly_and_a_page_and_text() -> None:
    shown = chart(lines(a=[1, 2]))
    data, _ = DisplayFormatter().format(shown)
    assert set(data) == {PLOTLY, "text/html", "text/plain"}
    assert data[PLOTLY]["data"][0]["y"] == [1, 2]
    assert data[PLOTLY]["config"]["typesetMath"] is False
    assert "data:image/svg+xml;base64," in data["text/html"]
    assert data["text/plain"] == repr(shown)
    assert set(bundle(shown, include={"text/plain"})) == {"text/plain"}
    assert set(bundle(shown, exclude={PLOTLY})) == {"text/plain", "text/html"}


def test_bars_keep_their_order_and_their_names_apart() -> None:
    long = "x" * 80
    shown = chart(bars(**{f"{long}1": 3, f"{long}2": 2, "2020-01-01": 1}))
    (trace,) = shown.figure().data
    assert list(trace.x) == [3, 2, 1]
    assert list(trace.y) == [0, 1, 2]
    axis = shown.figure().layout.yaxis
    assert axis.autorange == "reversed"
    assert list(axis.ticktext) == [f"{'x' * 31}…", f"{'x' * 31}…", "2020-01-01"]
    assert all(len(text) < 110 for text in trace.hovertext)
    widths = [float(one.get("width")) for one in drawn(shown) if one.tag == f"{SVG}rect"]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] == pytest.approx(3 * widths[2], rel=0.01)


def test_bars_of_less_than_nothing_go_the_other_way() -> None:
    shown = chart(bars(down=-2, up=1))
    down, up = (one for one in drawn(shown) if one.tag == f"{SVG}rect")
    assert float(down.get("x")) + float(down.get("width")) == pytest.approx(float(up.get("x")))
    upright = chart(bars(upright=True, low=-2, high=1))
    low, high = (one for one in drawn(upright) if one.tag == f"{SVG}rect")
    assert float(high.get("y")) + float(high.get("height")) == pytest.approx(float(low.get("y")))
    assert list(upright.figure().data[0].y) == [-2, 1]


def test_more_bars_than_have_room_are_counted(read: Any) -> None:
    shown = chart(bars(**{f"c{at}": 100 - at for at in range(90)}))
    assert "40 of 90 are drawn" in texts(shown)
    assert "30 of 90 listed; .to_frame() has them all" in repr(shown)
    assert len(shown.figure().data[0].x) == 90


def test_nothing_to_draw_is_said_everywhere(read: Any) -> None:
    for panels in ((lines(a=[]),), (lines(a=[None, None]),), (bars(),), (lines(),)):
        shown = PanelChart("Empty", panels, frame, empty="nothing at all")
        assert shown.is_empty
        layout = shown.figure().layout
        assert layout.annotations[-1].text == "nothing at all"
        assert not layout.xaxis.visible
        assert not layout.yaxis.visible
        assert "nothing at all" in repr(shown)
        assert "nothing at all" in read(shown).text
        assert texts(shown) == ["nothing at all"]


def test_one_point_and_one_value_over_and_over_are_drawn() -> None:
    for values in ([5], [0], [7, 7, 7], [0, 0], [1e300], [-3, -3]):
        for from_nothing in (True, False):
            panel = lines(from_nothing=from_nothing, a=values)
            assert "nan" not in chart(panel).svg()
            assert chart(panel).figure().data[0].y[-1] == values[-1]
    still = chart(lines(from_nothing=False, a=[1000, 1000.1])).figure()
    low, high = still.layout.yaxis.range
    assert high - low == pytest.approx(5, rel=0.01)


@pytest.mark.parametrize(("hours", "said"), [(0, "2026-03-02"), (6, "2026-03-02 06:00")])
def test_an_axis_of_one_moment_names_it_and_the_day_around_it(hours: int, said: str) -> None:
    at = FIRST + timedelta(hours=hours)
    panel = Lines("queries", (Line("queries", ((at, 46.0),)),))
    axis = chart(panel).figure().layout.xaxis
    assert axis.ticktext == (said,)
    start, end = map(datetime.fromisoformat, axis.range)
    assert end - start == 2 * DAY
    # Several moments are labelled by plotly.
    more = Lines("queries", (Line("queries", ((at, 46.0), (at + DAY, 3.0))),))
    axis = chart(more).figure().layout.xaxis
    assert (axis.range, axis.ticktext) == (None, None)


def test_a_picture_of_many_points_stays_small_and_keeps_the_peaks() -> None:
    values = [float(at % 7) for at in range(20_000)]
    values[12_345] = 5_000.0
    shown = chart(lines(a=values))
    assert len(shown.svg()) < 60_000
    assert len(shown.figure().data[0].y) == 20_000
    corners = longest_path(shown).replace("M", "L").split("L")[1:]
    heights = [float(corner.split()[1]) for corner in corners]
    # The axis ends at 6,000: the peak is as high as 5 of its 6 steps.
    highest, lowest = min(heights), max(heights)
    assert lowest - highest == pytest.approx(110 * 5 / 6, abs=0.2)


def test_a_catalogs_text_is_text_and_nothing_else(read: Any) -> None:
    shown = PanelChart(
        HOSTILE,
        (lines(**{HOSTILE: [1, 2], "b": [2, 1]}), bars(**{HOSTILE: 1})),
        frame,
        note=HOSTILE,
    )
    root = ET.fromstring(shown.svg())
    assert {one.tag.removeprefix(SVG) for one in root.iter()} <= {
        "svg",
        "style",
        "path",
        "rect",
        "text",
    }
    assert {name for one in root.iter() for name in one.attrib if name.startswith("on")} == set()
    assert "<img src=x" in "".join(texts(shown))
    figure = shown.figure()
    told = [
        figure.layout.title.text,
        figure.layout.title.subtitle.text,
        *(note.text for note in figure.layout.annotations),
        *(trace.name for trace in figure.data),
        *(text.replace("<br>", "") for text in figure.data[-1].hovertext),
        *figure.layout.yaxis2.ticktext,
    ]
    for text in told:
        assert not set(text) & set("<>$\u202e\x1b"), text
    page = read(shown)
    assert not set(page.text + repr(shown)) & set("\u202e\x1b")


@pytest.mark.parametrize(
    ("hours", "most", "names"),
    [
        (5, 6, ["Mar 2", "01:00", "02:00", "03:00", "04:00", "05:00"]),
        (24 * 5, 8, ["Mar 2", "Mar 3", "Mar 4", "Mar 5", "Mar 6", "Mar 7"]),
        (24 * 30, 8, ["Mar 2", "Mar 9", "Mar 16", "Mar 23", "Mar 30"]),
        (24 * 200, 8, ["Apr 2026", "May 2026", "Jun 2026", "Jul 2026", "Aug 2026", "Sep 2026"]),
        (24 * 366 * 4, 8, ["2027", "2028", "2029", "2030"]),
        (24 * 366 * 40, 5, ["2027", "2035", "2043", "2051", "2059"]),
        (0, 8, ["Mar 2, 00:00"]),
    ],
)
def test_days_on_an_axis_are_the_calendars(hours: Any, most: int, names: Any) -> None:
    found = list(calendar_labels(FIRST, FIRST + timedelta(hours=hours), most))
    assert [name for _, name in found] == names
    assert all(FIRST <= at <= FIRST + timedelta(hours=hours) for at, _ in found)


def test_numbers_on_an_axis_are_round_and_hold_all() -> None:
    assert round_numbers(0, 62) == [0, 25, 50, 75]
    assert round_numbers(-3, 3) == [-4, -2, 0, 2, 4]
    for low, high in ((0, 1e-9), (1e15, 1.1e15), (5, 5), (0, 0), (0.117, 0.118)):
        numbers = round_numbers(low, high)
        assert numbers[0] <= low
        assert numbers[-1] >= high
        assert 2 <= len(numbers) <= 8


def test_numbers_are_written_as_in_the_terminal() -> None:
    assert [compact(value) for value in (950, 12_000, 3.2e6, 0.25)] == [
        "950",
        "12 k",
        "3.2 M",
        "0.25",
    ]
    assert full_number(0.0001, "share") == "<0.1%"
    assert full_number(0, "share") == "0.0%"
    assert full_number(1234567, "bytes") == "1.23 MB"
    assert full_number(-1234567.5) == "-1.23457e+06"


def chart(*panels: Any) -> Any:
    return PanelChart("Title", panels, frame)


def lines(*, from_nothing: Any = True, **values: Any) -> Any:
    made = tuple(
        Line(name, tuple((FIRST + DAY * at, value) for at, value in enumerate(row)))
        for name, row in values.items()
    )
    return Lines("lines", made, from_nothing=from_nothing)


def bars(*, upright: Any = False, **values: Any) -> Any:
    made = tuple(Bar(name, value) for name, value in values.items())
    return Bars("bars", made, upright=upright)


def frame() -> Any:
    return to_frame(Table([TableColumn("a", dtype="int64")], [(1,)]))


def bundle(shown: Any, **asked: Any) -> Any:
    return shown._repr_mimebundle_(**asked)


def drawn(shown: Any) -> Any:
    return list(ET.fromstring(shown.svg()).iter())


def texts(shown: Any) -> Any:
    return [one.text for one in drawn(shown) if one.tag == f"{SVG}text"]


def longest_path(shown: Any) -> Any:
    return max((one.get("d", "") for one in drawn(shown)), key=len)


def contrast(one: Any, other: Any) -> Any:
    """That of two colours, by WCAG 2."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: Any) -> Any:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return sum(by * one for by, one in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
