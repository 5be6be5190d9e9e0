"""The parts of a view as HTML that survives everywhere a notebook is shown.

Untrusted notebooks lose `<style>`, `<script>` and `<svg>`, so there are only plain elements with
`style=`; colours are the page's own, so that light and dark themes both work; nothing is loaded
from anywhere. Every text is cleaned and escaped here.
"""

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape
from urllib.parse import urlsplit

from explorer.client.display import block, line
from explorer.notebook.view import (
    Cell,
    Difference,
    Facts,
    Fold,
    Grid,
    Part,
    Picture,
    Prose,
    Say,
    Title,
    Tone,
)

__all__ = ["AS_WRITTEN", "draw"]

AS_WRITTEN = "mathjax_ignore tex2jax_ignore"
"""The classes of the outermost element of a page of ours: within it no notebook sets formulas,
which it would wherever a catalog's text has two dollars."""

_SCHEMES = frozenset({"http", "https", "mailto"})
_TONES: dict[Tone, str] = {
    "plain": "",
    # As pale as text may be on any theme: 4.5 to 1 against its ground.
    "quiet": "opacity:.72;",
    "loud": "font-weight:600;",
}
_CELL = "text-align:left;vertical-align:top;padding:2px 14px 2px 0;border:none;"
_NUMBER = "text-align:right;white-space:nowrap;"
_HEAD = f"{_CELL}font-weight:600;opacity:.75;border-bottom:1px solid currentColor;"
_TABLE = "border-collapse:collapse;background:transparent;color:inherit;margin:4px 0;"
_SMALL = 0.85
_PROSE = "margin:0 0 4px 1em;max-width:60em;"
_ONE_LINE = (
    "max-width:22em;white-space:nowrap;overflow:hidden;text-overflow:ellipsis;user-select:all;"
)
_WORD_END = re.compile(r"(_+)(?=[^_])")
_LINES = (
    "white-space:pre-wrap;overflow-wrap:anywhere;margin:2px 0 6px 1em;max-width:80em;"
    "font-family:var(--jp-code-font-family,monospace);font-size:.9em;"
)
# The blue and the orange of Okabe and Ito; the signs say the same.
_SIGNS = {
    "+": "background:rgba(0,114,178,.16);",
    "-": "background:rgba(213,94,0,.16);",
    "@": "opacity:.72;",
}


def draw(parts: Iterable[Part]) -> str:
    """The parts below each other in one element."""
    inside = "".join(_drawn(part) for part in parts)
    # marimo cuts off what is wider than its page.
    style = "line-height:1.45;color:inherit;background:transparent;overflow-x:auto"
    return f'<div class="{AS_WRITTEN}" style="{style}">{inside}</div>'


def _drawn(part: Part) -> str:
    match part:
        case Title(text, after):
            name = _span(line(text), "font-weight:600;font-size:1.15em;")
            quiet = f" {_span(line(after), _TONES['quiet'])}" if after else ""
            return _div(name + quiet, "margin-top:6px;")
        case Say(text, tone):
            return _div(escape(line(text)), _TONES[tone])
        case Prose(label, text):
            from explorer.notebook.safe_markdown import safe_markdown

            return _div(escape(label), "font-weight:600;margin-top:4px;") + _div(
                safe_markdown(text), _PROSE
            )
        case Facts(rows):
            return _table((), [[Cell(name, tone="quiet"), cell] for name, cell in rows])
        case Grid(headers, cells, numbers):
            return _table(headers, cells, numbers)
        case Fold(label, inner):
            summary = f'<summary style="{_TONES["quiet"]}">{escape(label)}</summary>'
            return f"<details>{summary}{''.join(_drawn(below) for below in inner)}</details>"
        case Difference(lines):
            return _div("".join(map(_changed, lines)), _LINES)
        case Picture(svg, alt, listed=listed):
            below = _drawn(Fold("as a list", listed)) if listed else ""
            return _picture(svg, alt) + below


def _table(
    headers: Sequence[str],
    rows: Sequence[Sequence[Cell]],
    numbers: frozenset[str] = frozenset(),
) -> str:
    aligned = [_CELL + (_NUMBER if header in numbers else "") for header in headers]
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
    if cell.markdown:
        from explorer.notebook.safe_markdown import safe_markdown_line

        text = safe_markdown_line(cell.text)
    else:
        text = _breakable(line(cell.text))
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
    style = _TONES[cell.tone] + _indent(cell.indent)
    drawn = _div(text, style) if style else text
    indent = _indent(cell.indent / _SMALL)
    small = f"{_TONES['quiet']}font-size:{_SMALL}em;{indent}"
    below = "".join(
        _div(escape(line(one)), f"{small}overflow-wrap:anywhere;") for one in cell.below
    )
    return drawn + below + (_cut(line(cell.detail), small) if cell.detail else "")


def _cut(text: str, style: str) -> str:
    """On one line, however long; whole under the pointer, and taken whole by a click."""
    told = escape(text)
    return f'<div title="{told}" style="{style}{_ONE_LINE}">{told}</div>'


def _breakable(text: str) -> str:
    """A text in which a name of several words may be broken after an underscore."""
    told = escape(text)
    return told if " " in text else _WORD_END.sub(r"\1<wbr>", told)


def _picture(svg: str, alt: str) -> str:
    data = b64encode(svg.encode()).decode("ascii")
    image = (
        f'<img src="data:image/svg+xml;base64,{data}" alt="{escape(line(alt))}" '
        f'style="max-width:100%;height:auto">'
    )
    return _div(image, "margin:4px 0;")


def _changed(row: str) -> str:
    text = row[:1] + block(row[1:]).replace("\n", " ")
    return _div(escape(text) or "&nbsp;", _SIGNS.get(row[:1], ""))


def _indent(levels: float) -> str:
    return f"padding-left:{levels * 1.2:.1f}em;" if levels else ""


def _is_safe(address: str) -> bool:
    try:
        return urlsplit(address).scheme.lower() in _SCHEMES
    except ValueError:
        return False


def _span(text: str, style: str) -> str:
    return f'<span style="{style}">{escape(text)}</span>'


def _div(inside: str, style: str = "") -> str:
    return f'<div style="{style}">{inside}</div>' if style else f"<div>{inside}</div>"
