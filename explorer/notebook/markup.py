"""Untrusted texts as markup: Markdown as inert HTML, and parts of views as plain data.

In Markdown, raw HTML is shown as text. Images become links, because loading one reveals the reader
to its server; only links to web pages and mail addresses are kept, which open in a new tab and send
no referrer. The result passes an allow-list of elements and attributes.

The page of a widget makes elements from plain data (texts, and trees of the allowed elements) and
sets their text; it is never given HTML.
"""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import nh3
from markdown_it import MarkdownIt
from markdown_it.token import Token

from explorer.client.display import block, line
from explorer.views.diff import Diff, LineKind
from explorer.views.parts import (
    LINK_SCHEMES,
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
    is_safe_link,
    with_names,
)

if TYPE_CHECKING:
    from markdown_it.rules_core import StateCore

_TAGS = {
    *("a", "blockquote", "br", "code", "del", "em", "hr", "li", "ol", "p", "pre", "s", "strong"),
    *("h4", "h5", "h6", "table", "tbody", "td", "th", "thead", "tr", "ul"),
}
_ATTRIBUTES = {
    "a": {"href", "style", "target"},
    "ol": {"start", "style"},
    **{tag: {"style"} for tag in ("blockquote", "code", "p", "pre", "table", "td", "th", "ul")},
    **{tag: {"style"} for tag in ("h4", "h5", "h6")},
}
_STYLE_PROPERTIES = {
    *("background", "border", "border-collapse", "border-left", "color", "font-family"),
    *("font-size", "font-weight", "list-style", "margin", "overflow-wrap", "padding"),
    *("text-align", "text-decoration", "white-space"),
}
_EDGE = "1px solid rgba(128,128,128,.4)"
_CODE = "background:rgba(128,128,128,.14);color:inherit;padding:0 .25em;"
# Includes the defaults of browsers, because marimo removes them from lists and headings.
_LIST = "margin:.3em 0;padding:0 0 0 1.8em;"
_STYLES = {
    "bullet_list_open": f"list-style:disc;{_LIST}",
    "ordered_list_open": f"list-style:decimal;{_LIST}",
    "heading_open": "font-size:1em;font-weight:600;margin:.6em 0 .2em;",
    "paragraph_open": "margin:.3em 0;",
    "link_open": "color:inherit;text-decoration:underline;overflow-wrap:anywhere;",
    "blockquote_open": "border-left:3px solid rgba(128,128,128,.4);margin:.3em 0;"
    "padding:0 .8em;color:inherit;",
    "code_inline": _CODE,
    "table_open": "border-collapse:collapse;margin:.4em 0;background:transparent;color:inherit;",
    "th_open": f"border:{_EDGE};padding:2px 8px;text-align:left;",
    "td_open": f"border:{_EDGE};padding:2px 8px;text-align:left;",
}
_PRE = (
    '<pre style="background:rgba(128,128,128,.1);color:inherit;padding:.4em .8em;'
    'margin:.4em 0;white-space:pre-wrap">'
    '<code style="background:transparent;color:inherit;padding:0">'
)
# The parsing time of some texts grows with the square of their length.
_LONGEST = 20_000
_DEEPEST = 6
_HEADINGS_BELOW = 3


def safe_markdown(text: str | None) -> str:
    """Return Markdown as HTML that is safe in a trusted page; "" for no text.

    Control and bidirectional characters are taken out first, and a text longer than 20,000
    characters is cut and says so. Headings begin at the fourth level, below those of the page.
    """
    cleaned = block(text, _LONGEST)
    if not cleaned.strip():
        return ""
    return _clean(_reader().render(cleaned)).replace("<pre><code>", _PRE)


def safe_markdown_line(text: str | None) -> str:
    """Return Markdown as one line of safe HTML for a table, with inline formatting only."""
    return _clean(_reader().renderInline(line(text)))


@lru_cache(maxsize=2_000)
def plain_markdown(text: str, most: int) -> str:
    """Return the words of a Markdown text without markup, on one line of at most `most`
    characters."""
    tokens = _reader().parse(block(text[: 4 * most]))
    pieces = ("".join(_words(token)) for token in tokens)
    return line(" ".join(piece for piece in pieces if piece), most)


def _words(token: Token) -> Iterable[str]:
    if token.children is not None:
        for child in token.children:
            yield from _words(child)
    elif token.type in ("softbreak", "hardbreak"):
        yield " "
    else:
        yield token.content


def _clean(page: str) -> str:
    clean = _cleaner().clean(page).strip()
    # Cleaned again: an entity such as `&#x202e;` becomes a control character only when parsed.
    return block(clean, len(clean))


@cache
def _reader() -> MarkdownIt:
    reader = MarkdownIt("commonmark", {"html": False, "linkify": False, "typographer": False})
    reader.enable(["table", "strikethrough"])
    reader.core.ruler.push("calm", _calm)
    return reader


@cache
def _cleaner() -> nh3.Cleaner:
    return nh3.Cleaner(
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes=set(LINK_SCHEMES),
        link_rel="noopener noreferrer",
        filter_style_properties=_STYLE_PROPERTIES,
        # The content of elements that are not allowed is kept as text.
        clean_content_tags=set(),
    )


def _calm(state: "StateCore") -> None:
    """Use inline styles, because front ends drop style sheets; make headings smaller; and replace
    images by links."""
    for token in state.tokens:
        _style(token)
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1:]) + _HEADINGS_BELOW, _DEEPEST)}"
        if token.children:
            token.children = list(_without_images(_with_safe_links(token.children)))
            for child in token.children:
                _style(child)


def _style(token: Token) -> None:
    style = _STYLES.get(token.type)
    if style:
        # The alignment of a table's column comes last, and so takes effect.
        alignment = token.attrGet("style")
        token.attrSet("style", f"{style}{alignment}" if alignment else style)
    if token.type == "link_open":
        token.attrSet("target", "_blank")


def _with_safe_links(tokens: Sequence[Token]) -> Iterable[Token]:
    """Replace links with a relative or forbidden address by their text."""
    dropped: list[bool] = []
    for token in tokens:
        if token.type == "link_open":
            dropped.append(not _leads_out(token.attrGet("href")))
        is_dropped = token.type in ("link_open", "link_close") and dropped[-1]
        if token.type == "link_close":
            dropped.pop()
        if not is_dropped:
            yield token


def _without_images(tokens: Iterable[Token]) -> Iterable[Token]:
    depth = 0
    for token in tokens:
        if token.type != "image":
            depth += token.nesting if token.type in ("link_open", "link_close") else 0
            yield token
            continue
        source = str(token.attrGet("src") or "")
        label = token.content or source
        text = Token("text", "", 0, content=f"image: {label}" if label else "image")
        if depth or not _leads_out(source):
            yield text
            continue
        yield Token("link_open", "a", 1, attrs={"href": source})
        yield text
        yield Token("link_close", "a", -1)


def _leads_out(address: object) -> bool:
    scheme, colon, _ = str(address or "").partition(":")
    return bool(colon) and scheme.lower() in LINK_SCHEMES


Node = Any
"""A text, or `[element, address, children]`."""

_VOID = frozenset({"br", "hr"})
_LONGEST_CELL = 600


def markdown_tree(text: str | None) -> list[Node]:
    """Return Markdown as a tree: each node is a text, or a list of an element's name, the address
    of a link (or ""), and the child nodes."""
    return _as_tree(safe_markdown(text))


def markdown_line_tree(text: str, most: int) -> list[Node]:
    """Return the first `most` characters of Markdown as a tree, on one line."""
    return _as_tree(safe_markdown_line(line(text, most)))


def _as_tree(page: str) -> list[Node]:
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
        self._open[-1].append([tag, address if is_safe_link(address) else "", inside])
        if tag not in _VOID:
            self._open.append(inside)

    def handle_endtag(self, tag: str) -> None:
        if tag not in _VOID and len(self._open) > 1:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        self._open[-1].append(data)


def difference_lines(diff: Diff) -> list[str]:
    """Return the lines of a diff, each cleaned, after its sign: plus, minus, a space for a line in
    both texts, or @ for anything else."""
    signs: dict[LineKind, str] = {"added": "+", "removed": "-", "same": " "}
    lines = []
    for diff_line in diff:
        place = (
            f"{diff_line.mark} " if diff_line.kind in ("place", "minor") and diff_line.mark else ""
        )
        lines.append(signs.get(diff_line.kind, "@") + place + diff_line.on_one_line().text)
    return lines


def parts_of(parts: Iterable[Part]) -> list[dict[str, Any]]:
    """Return the parts of a view in the form that the page draws."""
    return [_part_as_data(part) for part in with_names(parts, {})]


def _part_as_data(part: Part) -> dict[str, Any]:
    match part:
        case Title(text, remark):
            return {"is": "title", "text": line(text), "after": line(remark)}
        case Say(text, tone):
            return {"is": "say", "text": line(text), "tone": tone}
        case Prose(text, missing, label):
            return {
                "is": "prose",
                "label": line(label),
                "tree": markdown_tree(text) or [line(missing)],
            }
        case Code(text):
            tree = ["pre", "", [["code", "", [block(text)]]]]
            return {"is": "prose", "label": "", "tree": [tree]}
        case Fact():
            return parts_of([part])[0]
        case Facts(rows):
            return {
                "is": "facts",
                "rows": [[line(name), _cell_as_data(cell)] for name, cell in rows],
            }
        case Grid(headers, rows, numbers):
            return {
                "is": "grid",
                "headers": [line(header) for header in headers],
                "numbers": [header in numbers for header in headers],
                "rows": _rows_as_data(rows),
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


def _rows_as_data(rows: Sequence[Sequence[Cell]]) -> list[list[dict[str, Any]]]:
    return [[_cell_as_data(cell) for cell in row] for row in rows]


def _cell_as_data(cell: Cell) -> dict[str, Any]:
    fields: dict[str, Any] = {"text": line(cell.text)}
    if cell.markdown:
        fields["tree"] = markdown_line_tree(cell.text, _LONGEST_CELL)
    if cell.mark:
        fields["mark"] = line(cell.mark)
    if cell.below:
        fields["below"] = [line(below) for below in cell.below]
    if cell.detail:
        fields["detail"] = line(cell.detail)
        if cell.detail.startswith("urn:li:"):
            # The URN is not cleaned, because the page also sends it back.
            fields["urn"] = cell.detail
    address = line(cell.link)
    if address and is_safe_link(address):
        fields["link"] = address
    elif address:
        fields["detail"] = address
    if cell.indent:
        fields["indent"] = cell.indent
    if cell.tone != "plain":
        fields["tone"] = cell.tone
    return fields
