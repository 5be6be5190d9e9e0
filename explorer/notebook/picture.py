"""Charts as small SVG pictures, for where plotly does not draw.

They look like the figures: a light ground, the same colours, dashes and marks. A picture has
no script, no style sheet and no reference to anything outside.
"""

from collections.abc import Sequence
from datetime import datetime
from html import escape

from explorer.client.display import line
from explorer.notebook.amounts import compact, round_numbers, written
from explorer.notebook.chart import Bar, Bars, Chart, Lines, clock, local_time
from explorer.notebook.palette import COLOURS, LIGHT
from explorer.notebook.ticks import days_named

__all__ = ["draw"]

_WIDTH = 680
_SIDE = 10
_LEFT, _RIGHT, _TOP, _FOOT = 64.0, 16.0, 8.0, 4.0
_PLOT_HEIGHT, _CAPTION, _AXIS, _BETWEEN = 110.0, 26.0, 20.0, 10.0
_BAR, _BAR_ROOM, _NAMES, _NUMBERS = 12.0, 18.0, 220.0, 110.0
_LEGEND = 18.0
_NAME_LIMIT, _LEGEND_LIMIT, _TOLD_LIMIT = 32, 24, 96
_DASHES = ("", "7 4", "2 3", "7 3 2 3", "12 4", "12 3 2 3")
_MOST_MARKED = 120
_MOST_BARS = 40
_LABEL_WIDTH = 74
_FONT = "system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif"
_FAINT = f'stroke="{LIGHT.text}" stroke-opacity="0.3"'

Place = tuple[float, float]


def draw(chart: Chart) -> str:
    """The panels of a chart below each other; a sentence where it is empty."""
    pieces: list[str] = []
    top = _TOP
    if chart.is_empty:
        pieces.append(_text(0, top + 14, chart.empty, _TOLD_LIMIT))
        top += 24
    else:
        for panel in chart.panels:
            drawn, top = _bars(panel, top) if isinstance(panel, Bars) else _lines(panel, top, chart)
            pieces += drawn
            top += _BETWEEN
    width, height = _WIDTH + 2 * _SIDE, top + _FOOT
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height:.0f}" '
        f'viewBox="{-_SIDE} 0 {width} {height:.0f}" font-family="{_FONT}" font-size="11" '
        f'fill="{LIGHT.text}"><path d="M{-_SIDE} 0h{width}v{height:.0f}h{-width}z" '
        f'fill="{LIGHT.ground}"/>{"".join(pieces)}</svg>'
    )


def _lines(panel: Lines, top: float, chart: Chart) -> tuple[list[str], float]:
    """The drawing of a panel, and where it ends."""
    pieces = [_text(0, top + 12, panel.title, _TOLD_LIMIT, weight=600)]
    span = panel.span
    top += _CAPTION
    if span is None:
        return [*pieces, _text(_LEFT, top + 14, "not measured")], top + _CAPTION
    if len(panel.lines) > 1:
        drawn, top = _legend(panel, top)
        pieces += drawn
    numbers = round_numbers(*span)
    bottom = top + _PLOT_HEIGHT
    moments = [[local_time(at, chart.zone) for at, _ in one.points] for one in panel.lines]
    first = min(times[0] for times in moments if times)
    last = max(times[-1] for times in moments if times)
    whole = (last - first).total_seconds()
    wide = _WIDTH - _LEFT - _RIGHT

    def across(at: datetime) -> float:
        return _LEFT + (wide * (at - first).total_seconds() / whole if whole else wide / 2)

    def down(value: float) -> float:
        return bottom - _PLOT_HEIGHT * (value - numbers[0]) / (numbers[-1] - numbers[0])

    for number in numbers:
        y = down(number)
        pieces.append(f'<path d="M{_LEFT:g} {y:.1f}H{_WIDTH - _RIGHT:g}" {_FAINT}/>')
        pieces.append(_text(_LEFT - 6, y + 4, compact(number, panel.unit), anchor="end"))
    for day, name in days_named(first, last, int(wide // _LABEL_WIDTH)):
        x = across(day)
        pieces.append(f'<path d="M{x:.1f} {bottom:.1f}v4" {_FAINT}/>')
        pieces.append(_text(x, bottom + 15, name, anchor="middle"))
    pieces.append(_text(0, bottom + 15, clock(chart.zone).partition(",")[0]))
    for at, (one, times) in enumerate(zip(panel.lines, moments, strict=True)):
        look = at if len(panel.lines) > 1 else chart.panels.index(panel)
        places = [
            None if value is None else (across(moment), down(value))
            for moment, (_, value) in zip(times, one.points, strict=True)
        ]
        pieces += _line(places, look % len(COLOURS))
    return pieces, bottom + _AXIS


def _line(places: Sequence[Place | None], look: int) -> list[str]:
    colour, dash = COLOURS[look], _DASHES[look]
    path, pen = [], "M"
    for place in _thinned(places):
        if place is None:
            pen = "M"
            continue
        path.append(f"{pen}{place[0]:.1f} {place[1]:.1f}")
        pen = "L"
    dashes = f' stroke-dasharray="{dash}"' if dash else ""
    pieces = [
        f'<path d="{"".join(path)}" fill="none" stroke="{colour}" stroke-width="1.8" '
        f'stroke-linejoin="round"{dashes}/>'
    ]
    if len(places) <= _MOST_MARKED:
        marks = "".join(_mark(x, y, look) for x, y in filter(None, places))
        pieces.append(f'<path d="{marks}" fill="{colour}"/>')
    return pieces


def _thinned(places: Sequence[Place | None]) -> Sequence[Place | None]:
    """Of many points, the first, the highest, the lowest and the last of each pixel across."""
    if len(places) <= 2 * _WIDTH:
        return places
    kept: list[Place | None] = []
    pixel: list[Place] = []
    for place in [*places, None]:
        if pixel and (place is None or int(place[0]) != int(pixel[0][0])):
            ends = {0, len(pixel) - 1}
            ends.add(min(range(len(pixel)), key=lambda at: pixel[at][1]))
            ends.add(max(range(len(pixel)), key=lambda at: pixel[at][1]))
            kept += [pixel[at] for at in sorted(ends)]
            pixel = []
        if place is None:
            kept.append(None)
        else:
            pixel.append(place)
    return kept


def _mark(x: float, y: float, look: int) -> str:
    """A circle, square, diamond, cross, triangle or x of the size of a point."""
    match look:
        case 0:
            return f"M{x - 2.4:.1f} {y:.1f}a2.4 2.4 0 1 0 4.8 0a2.4 2.4 0 1 0 -4.8 0z"
        case 1:
            return f"M{x - 2.2:.1f} {y - 2.2:.1f}h4.4v4.4h-4.4z"
        case 2:
            return f"M{x:.1f} {y - 3.1:.1f}l3.1 3.1l-3.1 3.1l-3.1 -3.1z"
        case 3:
            return f"M{x - 1:.1f} {y - 3:.1f}h2v2h2v2h-2v2h-2v-2h-2v-2h2z"
        case 4:
            return f"M{x:.1f} {y - 3:.1f}l3 5.4h-6z"
        case _:
            return (
                f"M{x - 3:.1f} {y - 2:.1f}l1 -1l2 2l2 -2l1 1l-2 2l2 2l-1 1l-2 -2l-2 2l-1 -1l2 -2z"
            )


def _legend(panel: Lines, top: float) -> tuple[list[str], float]:
    pieces = []
    x = _LEFT
    for at, one in enumerate(panel.lines):
        name = _cut(one.name, _LEGEND_LIMIT)
        wide = 34 + 6.4 * len(name)
        if x > _LEFT and x + wide > _WIDTH:
            x, top = _LEFT, top + _LEGEND
        look = at % len(COLOURS)
        pieces += _line([(x, top + 6), (x + 11, top + 6), (x + 22, top + 6)], look)
        pieces.append(_text(x + 28, top + 10, name))
        x += wide
    return pieces, top + _LEGEND + 4


def _bars(panel: Bars, top: float) -> tuple[list[str], float]:
    pieces = [_text(0, top + 12, panel.title, _TOLD_LIMIT, weight=600)]
    top += _CAPTION
    shown = panel.bars[:_MOST_BARS]
    if not shown:
        return [*pieces, _text(_LEFT, top + 14, "nothing to compare")], top + _CAPTION
    drawn, bottom = _upright(panel, shown, top) if panel.upright else _flat(panel, shown, top)
    if len(shown) < len(panel.bars):
        drawn.append(_text(0, bottom + 12, f"{len(shown)} of {len(panel.bars):,} are drawn"))
        bottom += _CAPTION
    return pieces + drawn, bottom


def _flat(panel: Bars, bars: Sequence[Bar], top: float) -> tuple[list[str], float]:
    """Bars below each other, from nothing to the right, or to the left where they are less."""
    values = [*(bar.value for bar in bars), panel.rule or 0.0]
    low, high = min(0.0, *values), max(0.0, *values)
    wide = _WIDTH - _NAMES - _NUMBERS
    each = wide / ((high - low) or 1)
    zero = _NAMES + each * -low
    colour = COLOURS[0]
    bottom = top + _BAR_ROOM * len(bars)
    pieces = [f'<path d="M{zero:.1f} {top:.1f}V{bottom:.1f}" {_FAINT}/>']
    for at, bar in enumerate(bars):
        y = top + _BAR_ROOM * at + (_BAR_ROOM - _BAR) / 2
        long = abs(bar.value) * each
        x = zero - long if bar.value < 0 else zero
        pieces += [
            _text(_NAMES - 8, y + 10, bar.name, anchor="end"),
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{long:.1f}" height="{_BAR:g}" fill="{colour}"/>',
            _text(max(x + long, zero) + 6, y + 10, written(bar.value, panel.unit)),
        ]
    if panel.rule is not None:
        x = zero + panel.rule * each
        pieces.append(
            f'<path d="M{x:.1f} {top:.1f}V{bottom:.1f}" stroke="{LIGHT.text}" '
            'stroke-dasharray="2 3"/>'
        )
    return pieces, bottom


def _upright(panel: Bars, bars: Sequence[Bar], top: float) -> tuple[list[str], float]:
    """Bars next to each other."""
    numbers = round_numbers(min(0.0, *(bar.value for bar in bars)), max(bar.value for bar in bars))
    bottom = top + _PLOT_HEIGHT

    def down(value: float) -> float:
        return bottom - _PLOT_HEIGHT * (value - numbers[0]) / (numbers[-1] - numbers[0])

    pieces = []
    for number in numbers:
        y = down(number)
        pieces.append(f'<path d="M{_LEFT:g} {y:.1f}H{_WIDTH - _RIGHT:g}" {_FAINT}/>')
        pieces.append(_text(_LEFT - 6, y + 4, compact(number, panel.unit), anchor="end"))
    wide = (_WIDTH - _LEFT - _RIGHT) / len(bars)
    every = max(1, -(-_LABEL_WIDTH // int(wide or 1)))
    for at, bar in enumerate(bars):
        x = _LEFT + wide * at
        y, zero = down(max(bar.value, 0.0)), down(min(bar.value, 0.0))
        pieces.append(
            f'<rect x="{x + 0.5:.1f}" y="{y:.1f}" width="{max(wide - 1, 0.5):.1f}" '
            f'height="{zero - y:.1f}" fill="{COLOURS[0]}"/>'
        )
        if at % every == 0:
            pieces.append(_text(x + wide / 2, bottom + 15, bar.name, 14, anchor="middle"))
    return pieces, bottom + _AXIS


def _text(
    x: float,
    y: float,
    text: str,
    limit: int = _NAME_LIMIT,
    *,
    anchor: str = "start",
    weight: int = 400,
) -> str:
    bold = f' font-weight="{weight}"' if weight != 400 else ""
    to = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{to}{bold}>{escape(_cut(text, limit))}</text>'


def _cut(text: str, limit: int) -> str:
    # Two characters are none of XML's, nor are halves of any.
    sound = line(text).encode(errors="replace").decode()
    sound = sound.replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd")
    return sound if len(sound) <= limit else sound[: limit - 1] + "…"
