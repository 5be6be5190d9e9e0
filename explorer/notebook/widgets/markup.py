"""What a page draws, as plain data: texts, and trees of the allowed elements.

The page makes elements from these and sets their text; it is never given HTML.
"""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from html.parser import HTMLParser
from typing import Any

from explorer.client.display import block, line
from explorer.notebook.safe_markdown import safe_markdown, safe_markdown_line
from explorer.notebook.view import clean_diff_line, is_safe
from explorer.views.diff import Diff, LineKind
from explorer.views.parts import (
    Cell,
    Code,
    Difference,
    Fact,
    Facts,
    Fold,
    Grid,
    Part,
    Picture,
    Prose,
    Say,
    Title,
    with_names,
)

__all__ = ["difference_lines", "marked", "marked_line", "parts_of"]

Node = Any
"""A text, or `[element, address, children]`."""

_VOID = frozenset({"br", "hr"})
_LINE = 600


def marked(text: str | None) -> list[Node]:
    """Return Markdown as a tree: each node a text, or an element's name, the address of a link or
    "", and what is inside."""
    return _read(safe_markdown(text))


def marked_line(text: str, most: int) -> list[Node]:
    """Return the first `most` characters of Markdown as a tree, on one line."""
    return _read(safe_markdown_line(line(text, most)))


def _read(page: str) -> list[Node]:
    reader = _Tree()
    reader.feed(page)
    reader.close()
    return reader.root


class _Tree(HTMLParser):
    """Builds a tree from sanitized HTML."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root: list[Node] = []
        self._open: list[list[Node]] = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        address = next((value or "" for name, value in attrs if name == "href"), "")
        inside: list[Node] = []
        self._open[-1].append([tag, address if is_safe(address) else "", inside])
        if tag not in _VOID:
            self._open.append(inside)

    def handle_endtag(self, tag: str) -> None:
        if tag not in _VOID and len(self._open) > 1:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        self._open[-1].append(data)


def difference_lines(diff: Diff) -> list[str]:
    """Return the lines of a diff, each cleaned and behind its sign: plus, minus, a space for what
    is in both, or @ for anything else."""
    signs: dict[LineKind, str] = {"added": "+", "removed": "-", "same": " "}
    lines = []
    for one in diff:
        place = f"{one.mark} " if one.kind in ("place", "minor") and one.mark else ""
        lines.append(signs.get(one.kind, "@") + place + clean_diff_line(one).text)
    return lines


def parts_of(parts: Iterable[Part]) -> list[dict[str, Any]]:
    """Return the parts of a view in the form that the page draws."""
    return [_part(part) for part in with_names(parts, {})]


def _part(part: Part) -> dict[str, Any]:
    match part:
        case Title(text, remark):
            return {"is": "title", "text": line(text), "after": line(remark)}
        case Say(text, tone):
            return {"is": "say", "text": line(text), "tone": tone}
        case Prose(text, missing, label):
            return {"is": "prose", "label": line(label), "tree": marked(text) or [line(missing)]}
        case Code(text):
            tree = ["pre", "", [["code", "", [block(text)]]]]
            return {"is": "prose", "label": "", "tree": [tree]}
        case Fact():
            return parts_of([part])[0]
        case Facts(rows):
            return {"is": "facts", "rows": [[line(name), _cell(cell)] for name, cell in rows]}
        case Grid(headers, rows, numbers):
            return {
                "is": "grid",
                "headers": [line(one) for one in headers],
                "numbers": [header in numbers for header in headers],
                "rows": _rows(rows),
            }
        case Fold(label, inner):
            return {"is": "fold", "label": line(label), "parts": parts_of(inner)}
        case Difference(lines):
            return {"is": "diff", "lines": difference_lines(lines)}
        case Picture(svg, alt):
            data = b64encode(svg.encode()).decode("ascii")
            return {
                "is": "picture",
                "src": f"data:image/svg+xml;base64,{data}",
                "alt": line(alt),
            }


def _rows(rows: Sequence[Sequence[Cell]]) -> list[list[dict[str, Any]]]:
    return [[_cell(cell) for cell in row] for row in rows]


def _cell(cell: Cell) -> dict[str, Any]:
    said: dict[str, Any] = {"text": line(cell.text)}
    if cell.markdown:
        said["tree"] = marked_line(cell.text, _LINE)
    if cell.mark:
        said["mark"] = line(cell.mark)
    if cell.below:
        said["below"] = [line(one) for one in cell.below]
    if cell.detail:
        said["detail"] = line(cell.detail)
        if cell.detail.startswith("urn:li:"):
            # Named as it is: it is sent back, not only shown.
            said["urn"] = cell.detail
    address = line(cell.link)
    if address and is_safe(address):
        said["link"] = address
    elif address:
        said["detail"] = address
    if cell.indent:
        said["indent"] = cell.indent
    if cell.tone != "plain":
        said["tone"] = cell.tone
    return said
