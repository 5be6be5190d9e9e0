"""HTML in the Markdown of a description, converted to tokens that Rich renders.

Rich drops HTML. Here its text is kept: tables become tables, lists become lists, bold text is bold.
Text that only looks like a tag (`<date>` in a path) stays as typed.
"""

import re
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

_STYLES: Final = {
    "b": "strong",
    "strong": "strong",
    "i": "em",
    "em": "em",
    "cite": "em",
    "var": "em",
    "code": "code",
    "kbd": "code",
    "samp": "code",
    "tt": "code",
    "s": "s",
    "del": "s",
    "strike": "s",
}
# Tags whose content is a paragraph of its own.
_BLOCKS: Final = frozenset(
    re.findall(
        r"\w+",
        """
        address article aside blockquote body caption center dd details dialog dir div dl
        dt fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 head header hr html
        legend main menu nav ol p section summary title ul
        """,
    )
)
_CELLS: Final = frozenset({"td", "th"})
_ROWS: Final = frozenset({"tr", "thead", "tbody", "tfoot"})
_NOT_SHOWN: Final = frozenset({"script", "style"})
_KNOWN: Final = (
    frozenset(_STYLES)
    | _BLOCKS
    | _CELLS
    | _ROWS
    | _NOT_SHOWN
    | frozenset(
        re.findall(
            r"\w+",
            """
        a abbr acronym bdi bdo big br button col colgroup font iframe img input ins label
        li mark meta link optgroup option pre q ruby rt rp select small source span sub
        sup svg table textarea time u wbr video audio
        """,
        )
    )
)
_TAG = re.compile(r"<(?P<end>/?)(?P<name>[A-Za-z][A-Za-z0-9-]*)(?P<rest>[^>]*)>")
_HREF = re.compile(r"""\b(?:href|src)\s*=\s*["']?([^"'\s>]+)""", re.IGNORECASE)
_ALT = re.compile(r"""\balt\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))""", re.IGNORECASE)
_SIGN = re.compile(r"([!-/:-@\[-`{-~])")
_SPACE = re.compile(r"\s+")
_OPEN_TABLE = re.compile(r"<table\b", re.IGNORECASE)
_END_OF_TABLE = re.compile(r"</table\s*>", re.IGNORECASE)


def without_html(text: str) -> list[Token]:
    """Return the tokens of a Markdown text, with HTML converted to the corresponding Markdown
    tokens."""
    parser = MarkdownIt().enable("strikethrough").enable("table")
    tokens = parser.parse(text)
    joined = _without_empty_table_lines(text, tokens)
    if joined != text:
        tokens = parser.parse(joined)
    # The converted block is parsed without HTML blocks, so that a tag alone on a line does not
    # start one again.
    inner = MarkdownIt().enable("strikethrough").enable("table").disable("html_block")
    return list(_tokens(tokens, inner))


def _without_empty_table_lines(text: str, tokens: Sequence[Token]) -> str:
    """Return the text without empty lines inside HTML tables, which would end the HTML block."""
    lines = text.split("\n")
    kept_from = 0
    for token in tokens:
        if token.type != "html_block" or token.map is None or token.map[0] < kept_from:
            continue
        opens = len(_OPEN_TABLE.findall(token.content))
        if opens <= len(_END_OF_TABLE.findall(token.content)):
            continue
        closed = 0
        for at in range(token.map[0], len(lines)):
            closed += len(_END_OF_TABLE.findall(lines[at]))
            if closed >= opens:
                for inside in range(token.map[0], at):
                    lines[inside] = lines[inside].strip() or "<!-- -->"
                kept_from = at
                break
    return "\n".join(lines)


def _tokens(tokens: Sequence[Token], inner: MarkdownIt) -> Iterator[Token]:
    for token in tokens:
        if token.type == "html_block":
            yield from _tokens(inner.parse(_as_markdown(token.content)), inner)
        else:
            if token.children and any(child.type == "html_inline" for child in token.children):
                token.children = list(_inline(token.children))
            yield token


def _inline(children: Sequence[Token]) -> Iterator[Token]:
    opened: list[str] = []
    addresses: list[str] = []
    for child in children:
        tag = _TAG.fullmatch(child.content) if child.type == "html_inline" else None
        if child.type != "html_inline":
            yield child
        elif tag is None:
            # Comments and declarations have no visible text.
            continue
        elif (name := tag["name"].lower()) not in _KNOWN:
            yield _text(child.content)
        elif name == "br":
            yield Token("hardbreak", "br", 0)
        elif name == "img":
            alt = _ALT.search(tag["rest"])
            address = _HREF.search(tag["rest"])
            yield _text(next(filter(None, alt.groups() if alt else ()), address and address[1]))
        elif name == "a" and not tag["end"]:
            address = _HREF.search(tag["rest"])
            addresses.append(address[1] if address else "")
        elif name == "a" and addresses:
            if address_left := addresses.pop():
                yield _text(f" ({address_left})")
        elif name in _STYLES and not tag["end"]:
            opened.append(_STYLES[name])
            yield Token(f"{_STYLES[name]}_open", _STYLES[name], 1)
        elif name in _STYLES and opened and opened[-1] == _STYLES[name]:
            opened.pop()
            yield Token(f"{_STYLES[name]}_close", _STYLES[name], -1)
        elif name not in _STYLES:
            yield _text(" " if name in _BLOCKS | _CELLS | _ROWS | {"li"} else "")
    for style in reversed(opened):
        yield Token(f"{style}_close", style, -1)


def _text(content: str | None) -> Token:
    return Token("text", "", 0, content=content or "")


def _as_markdown(html: str) -> str:
    """Return HTML blocks as Markdown; inline tags are kept."""
    reader = _Blocks()
    reader.feed(html)
    reader.close()
    return reader.result()


class _Blocks(HTMLParser):
    """Collects paragraphs, lists, tables and preformatted text. End tags may be missing."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._parts: list[str] = []
        self._line = ""
        self._prefix = ""
        self._lists: list[int | None] = []
        self._rows: list[list[str]] = []
        self._tables = 0
        self._has_head = False
        self._preformatted: str | None = None
        self._hidden = 0

    def result(self) -> str:
        """Return the Markdown, including blocks without an end tag."""
        self._end_preformatted()
        self._end_table()
        self._end_line()
        return "\n\n".join(self._parts)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Start a new line at a block tag; keep an inline tag."""
        del attrs
        tag_text = self.get_starttag_text() or ""
        if tag in _NOT_SHOWN:
            self._hidden += 1
        elif self._preformatted is not None:
            return
        elif tag not in _KNOWN:
            self._line += _SIGN.sub(r"\\\1", tag_text)
        elif self._tables:
            self._in_table(tag, tag_text)
        elif tag == "table":
            self._end_line()
            self._tables = 1
        elif tag == "pre":
            self._end_line()
            self._preformatted = ""
        elif tag == "br":
            self._line += "<br>"
        elif tag == "li":
            self._end_line()
            indent = "    " * max(len(self._lists) - 1, 0)
            number = self._lists[-1] if self._lists else None
            if number is not None:
                self._lists[-1] = number + 1
            self._prefix = f"{indent}{'-' if number is None else f'{number}.'} "
        elif tag in _BLOCKS:
            self._end_line()
            if tag in ("ul", "ol"):
                self._lists.append(1 if tag == "ol" else None)
            elif tag == "hr":
                self._parts.append("---")
            elif len(tag) == 2 and tag[0] == "h":
                self._prefix = "#" * int(tag[1]) + " "
            elif tag == "blockquote":
                self._prefix = "> "
        else:
            self._line += _SPACE.sub(" ", tag_text)

    def _in_table(self, tag: str, written: str) -> None:
        if tag == "table":
            self._tables += 1
        elif self._tables == 1 and tag == "tr":
            self._end_cell()
            self._rows.append([])
        elif self._tables == 1 and tag in _CELLS:
            self._end_cell()
            if not self._rows:
                self._rows.append([])
            self._rows[-1].append("")
            self._has_head = self._has_head or (tag == "th" and len(self._rows) == 1)
        elif tag in _BLOCKS | _CELLS | _ROWS | {"br", "li", "pre"}:
            self._line += " "
        else:
            self._line += _SPACE.sub(" ", written)

    def handle_endtag(self, tag: str) -> None:
        """End the line at the end of a block."""
        if tag in _NOT_SHOWN:
            self._hidden = max(self._hidden - 1, 0)
        elif self._preformatted is not None:
            if tag == "pre":
                self._end_preformatted()
        elif tag not in _KNOWN:
            self._line += _SIGN.sub(r"\\\1", f"</{tag}>")
        elif self._tables:
            if tag == "table":
                self._tables -= 1
                if not self._tables:
                    self._end_table()
            elif tag in _STYLES or tag == "a":
                self._line += f"</{tag}>"
        elif tag in _BLOCKS or tag == "li":
            self._end_line()
            if tag in ("ul", "ol") and self._lists:
                self._lists.pop()
        elif tag in _STYLES or tag == "a":
            self._line += f"</{tag}>"

    def handle_data(self, data: str) -> None:
        """Add text, with white space collapsed to one space."""
        if self._hidden:
            return
        if self._preformatted is not None:
            self._preformatted += data
        else:
            self._line += _SIGN.sub(r"\\\1", _SPACE.sub(" ", data))

    def _end_line(self) -> None:
        line = self._line.strip()
        if line and self._tables == 0:
            self._parts.append(f"{self._prefix}{line}")
            self._prefix = ""
        self._line = ""

    def _end_cell(self) -> None:
        text = self._line.strip()
        self._line = ""
        if self._rows and self._rows[-1]:
            self._rows[-1][-1] = text
        elif text:
            # A caption, or misplaced text between cells.
            self._parts.append(text)

    def _end_table(self) -> None:
        if not self._rows and not self._tables:
            return
        self._end_cell()
        rows = [row for row in self._rows if row]
        columns = max(map(len, rows), default=0)
        if columns:
            head = rows.pop(0) if self._has_head else []
            table = [head, ["---"] * columns, *rows]
            self._parts.append(
                "\n".join(
                    f"| {' | '.join([*row, *[''] * (columns - len(row))])} |" for row in table
                )
            )
        self._rows, self._tables, self._has_head = [], 0, False

    def _end_preformatted(self) -> None:
        if self._preformatted is not None:
            self._parts.append(f"~~~~~~~~\n{self._preformatted.strip(chr(10))}\n~~~~~~~~")
            self._preformatted = None
