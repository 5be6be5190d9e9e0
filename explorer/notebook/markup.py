"""The parts of a view as HTML that survives everywhere a notebook is shown.

Untrusted notebooks lose `<style>`, `<script>` and `<svg>`, so there are only plain elements with
`style=`; colours are the page's own, so that light and dark themes both work; nothing is loaded
from anywhere. Every text is cleaned and escaped here.
"""

from collections.abc import Iterable, Sequence
from html import escape
from urllib.parse import urlsplit

from explorer.client.display import block, line
from explorer.notebook.view import Cell, Facts, Fold, Grid, Part, Prose, Say, Title, Tone

__all__ = ["draw"]

_SCHEMES = frozenset({"http", "https", "mailto"})
_TONES: dict[Tone, str] = {
    "plain": "",
    "quiet": "opacity:.65;",
    "loud": "font-weight:600;",
}
_CELL = "text-align:left;vertical-align:top;padding:2px 14px 2px 0;border:none;"
_HEAD = f"{_CELL}font-weight:600;opacity:.75;border-bottom:1px solid currentColor;"
_TABLE = "border-collapse:collapse;background:transparent;color:inherit;margin:4px 0;"
_PROSE = "white-space:pre-wrap;margin:0 0 4px 1em;max-width:60em;"


def draw(parts: Iterable[Part]) -> str:
    """The parts below each other in one element."""
    inside = "".join(_drawn(part) for part in parts)
    return f'<div style="line-height:1.45;color:inherit;background:transparent">{inside}</div>'


def _drawn(part: Part) -> str:
    match part:
        case Title(text, after):
            name = _span(line(text), "font-weight:600;font-size:1.15em;")
            quiet = f" {_span(line(after), _TONES['quiet'])}" if after else ""
            return _div(name + quiet, "margin-top:6px;")
        case Say(text, tone):
            return _div(escape(line(text)), _TONES[tone])
        case Prose(label, text):
            written = escape(block(text).strip("\n"))
            return _div(escape(label), "font-weight:600;margin-top:4px;") + _div(written, _PROSE)
        case Facts(rows):
            return _table((), [[Cell(name, tone="quiet"), cell] for name, cell in rows])
        case Grid(headers, cells, numbers):
            return _table(headers, cells, numbers)
        case Fold(label, inner):
            summary = f'<summary style="{_TONES["quiet"]}">{escape(label)}</summary>'
            return f"<details>{summary}{''.join(_drawn(below) for below in inner)}</details>"


def _table(
    headers: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    numbers: frozenset[str] = frozenset(),
) -> str:
    aligned = [_CELL + ("text-align:right;" if header in numbers else "") for header in headers]
    head = "".join(
        f'<th style="{_HEAD}{"text-align:right;" if header in numbers else ""}">'
        f"{escape(header)}</th>"
        for header in headers
    )
    body = "".join(
        '<tr style="background:transparent">'
        + "".join(
            f'<td style="{aligned[at] if aligned else _CELL}">{_cell(cell)}</td>'
            for at, cell in enumerate(row)
        )
        + "</tr>"
        for row in rows
    )
    return (
        f'<table style="{_TABLE}">{f"<thead><tr>{head}</tr></thead>" if head else ""}'
        f"<tbody>{body}</tbody></table>"
    )


def _cell(cell: Cell) -> str:
    text = escape(line(cell.text))
    address = line(cell.link)
    if address and _is_safe(address):
        text = (
            f'<a href="{escape(address)}" target="_blank" rel="noopener noreferrer" '
            f'style="color:inherit;text-decoration:underline">'
            f"{text or escape(address)}</a>"
        )
    elif address and address != line(cell.text):
        text = f"{text} {escape(address)}"
    if cell.mark:
        text = f"{_span(cell.mark, _TONES['quiet'])} {text}"
    style = _TONES[cell.tone] + (f"padding-left:{cell.indent * 1.2:.1f}em;" if cell.indent else "")
    drawn = _div(text, style) if style else text
    small = [*cell.below, *([cell.detail] if cell.detail else [])]
    return drawn + "".join(
        _div(escape(line(one)), f"{_TONES['quiet']}font-size:.85em;overflow-wrap:anywhere;")
        for one in small
    )


def _is_safe(address: str) -> bool:
    try:
        return urlsplit(address).scheme.lower() in _SCHEMES
    except ValueError:
        return False


def _span(text: str, style: str) -> str:
    return f'<span style="{style}">{escape(text)}</span>'


def _div(inside: str, style: str = "") -> str:
    return f'<div style="{style}">{inside}</div>' if style else f"<div>{inside}</div>"
