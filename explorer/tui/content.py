"""Cleans texts of the catalog for the screen, and formats times in the chosen zone."""

import re
import unicodedata
from collections.abc import Iterable
from datetime import UTC, datetime
from io import StringIO
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.text import Text
from rich.theme import Theme

from explorer.client import display
from explorer.client.display import moment
from explorer.metadata.proposal import millis_of

if TYPE_CHECKING:
    from explorer.metadata.aspects import AuditStamp

_DAY = len("2026-01-31")


class Times:
    """Formats times in the zone that the reader chose."""

    def __init__(self) -> None:
        self.utc = False

    def turn(self) -> None:
        """Switch to UTC, or back to local time."""
        self.utc = not self.utc

    @property
    def zone(self) -> str:
        """Return the name of the zone for messages."""
        return "UTC" if self.utc else "local time"

    def format(self, millis: int) -> str:
        """Format a time given in milliseconds since the epoch, followed by “UTC” if the zone is
        UTC."""
        return moment(millis, utc=self.utc)

    def clock(self, at: datetime) -> str:
        """Format the time of day, with seconds."""
        return f"{at.astimezone(UTC):%H:%M:%S} UTC" if self.utc else f"{at.astimezone():%H:%M:%S}"

    def day(self, millis: int) -> str:
        """Format the day of a time in milliseconds."""
        text = moment(millis, utc=self.utc)
        return text[:_DAY] if text[:1].isdigit() else text

    def day_of(self, at: datetime) -> str:
        """Format the day of a datetime."""
        return self.day(millis_of(at))

    def when(self, stamp: "AuditStamp | None") -> str:
        """Format the time of an audit stamp."""
        return self.format(stamp.time) if stamp and stamp.time > 0 else "unknown time"


MUTED = "dim"
_NOT_DESCRIBED = "no description"
_RENDERED_LIMIT = 20_000
_PREVIEW_LIMIT = 1_000
_PICTURE_MARK = "\ufe0f"
_JOINER = "\u200d"
_JOINED = re.compile(f"(.){_JOINER}")
# Matches text that may be more than a plain paragraph in Markdown: special characters, a name with
# an underscore at an end, an underlined line, a list, indented code, and unusual white space.
_MEANS_MORE = re.compile(
    r"[*`#<>\[\]|~\\]|&[#\w]|\b_|_\b|__|^[ \t]*(?:=|[-+]|\d+[.)])|^ {4}| $|[^\S \n]", re.MULTILINE
)
_PARTED = re.compile(r"\n *\n(?: *\n)*")
# HTML tags, and HTML content that is not shown; text that only looks like a tag stays.
_INLINE_TAGS = re.compile(
    r"</?(?:a|abbr|b|big|cite|code|del|em|font|i|ins|kbd|label|mark|q|s|samp|small|span|strike"
    r"|strong|sub|sup|time|tt|u|var|wbr)(?:\s[^>]*)?/?(?:>|$)",
    re.IGNORECASE,
)
_TAGS = re.compile(
    r"<!--.*?(?:-->|$)|<(script|style)\b.*?(?:</\1\s*>|$)|</?(?:address|article|aside|blockquote|body"
    r"|br|button|caption|center|col|colgroup|dd|details|div|dl|dt|figcaption|figure|footer|form"
    r"|h[1-6]|head|header|hr|html|iframe|img|input|li|link|main|meta|nav|ol|p|pre|section|source"
    r"|summary|svg|table|tbody|td|tfoot|th|thead|title|tr|ul|video)(?:\s[^>]*)?/?(?:>|$)",
    re.IGNORECASE | re.DOTALL,
)
# Markup of lines, tables and words. Text that only looks like markup stays: “-1” and “# of orders”
# are no list and no heading, “open|closed” is no table, and the stars of “price * 2” and “count(*)”
# are no emphasis.
_LINE_MARKS = re.compile(
    r"^[ \t]*(?:(?:[-*+]|>+)[ \t]+(?=[^\s\d])|#{2,6}[ \t]+|#[ \t]+(?=.*\n)|[-*_=]{3,}[ \t]*$)",
    re.MULTILINE,
)
_TABLE_CELL = r"(?:-{3,}|:-+|-+(?=:)):?[ \t]*"
_TABLE_RULE = re.compile(
    rf"(?:\|[ \t]*)?(?<!-){_TABLE_CELL}\|(?:[ \t]*{_TABLE_CELL}\|)*(?:[ \t]*{_TABLE_CELL})?"
)
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_CODE_OR_EMPHASIS = re.compile(
    r"(?<!`)(?P<ticks>`+)(?P<code>[^`]+)(?P=ticks)(?!`)"
    r"|(?<![\\*])(?P<stars>\*{1,3})(?P<words>(?=[^\s*)\],.;:]).{0,300}?[^\s*])(?P=stars)(?!\*)",
    re.DOTALL,
)
# Markup in an excerpt whose closing half was cut off.
_HALF_MARKS = re.compile(r"\*\*(?=\w)|(?<=\w)\*\*|`+")


def line_text(text: str | None, style: str = "", missing: str = "") -> Text:
    """Return a text of the catalog as one line of clean Rich text; if it is empty, return
    `missing`."""
    clean = line(text)
    return Text(clean, style) if clean else Text(missing, "dim italic")


def line(text: str | None, limit: int = display.LINE_LIMIT) -> str:
    """Return a text of the catalog, cleaned and on one line, at most `limit` characters long;
    `cell_len` gives its true width."""
    return _split_emoji(display.line(text, limit))


def block(text: str | None, limit: int = display.BLOCK_LIMIT) -> str:
    """Return a text of the catalog, cleaned, with its line breaks kept, at most `limit` characters
    long."""
    return _split_emoji(display.block(text, limit))


def _split_emoji(text: str) -> str:
    """Return the text with joined emoji split into their parts, and symbols in their text form.

    Terminals disagree on the width of joined emoji, which would shift the rest of the line. Joiners
    between letters stay, because some scripts need them.
    """
    if _PICTURE_MARK not in text and _JOINER not in text:
        return text
    return _JOINED.sub(_split_emoji_parts, text.replace(_PICTURE_MARK, ""))


def _split_emoji_parts(match: re.Match[str]) -> str:
    before = match[1]
    return before if unicodedata.category(before).startswith("S") else match[0]


def preview(text: str | None, style: str = "", missing: str = "") -> Text:
    """Return a description as one line of a list, without Markdown and HTML markup."""
    begin = text[:_PREVIEW_LIMIT] if text else ""
    if "<" in begin:
        begin = _INLINE_TAGS.sub("", _TAGS.sub(" ", begin))
    begin = _without_markdown(begin)
    if "&" in begin:
        from html import unescape

        begin = unescape(begin)
    return line_text(begin, style, missing)


def _without_markdown(text: str) -> str:
    if _TABLE_RULE.search(text):
        text = _TABLE_RULE.sub("", text).replace("|", " ")
    text = _LINK.sub(r"\1", _LINE_MARKS.sub("", text))
    if "*" not in text and "`" not in text:
        return text
    text = _without_emphasis(text)
    if text.startswith("…") or text.endswith("…") or len(text) > _PREVIEW_LIMIT // 2:
        text = _HALF_MARKS.sub("", text)
    return text


def _without_emphasis(text: str) -> str:
    return _CODE_OR_EMPHASIS.sub(
        lambda match: match["code"] or _without_emphasis(match["words"]), text
    )


def marked(text: Text, query: str, style: str = "bold underline") -> Text:
    """Return the text with the words of a search in `style`."""
    words = [word for word in re.findall(r"\w+", query.lower()) if len(word) > 1]
    if words:
        text.highlight_regex("|".join(f"(?i:{re.escape(word)})" for word in words), style)
    return text


def padded(text: Text, width: int) -> Text:
    """Return the text cut or padded to a width in cells."""
    cut = text.copy()
    cut.truncate(max(width, 0), overflow="ellipsis", pad=True)
    return cut


def without_start(text: Text, width: int) -> Text:
    """Return a text cut at its start to a width in cells, with an ellipsis there; the whole text if
    it fits."""
    if text.cell_len <= width:
        return text
    end = text.plain
    while end and cell_len(end) >= width:
        end = end[1:]
    return Text(f"…{end}", text.style)


def join(parts: Iterable[Text], between: str = " · ") -> Text:
    """Join the parts that are not empty with separators."""
    joined = Text()
    for part in parts:
        if part.plain:
            joined.append(between if joined.plain else "", MUTED).append_text(part)
    return joined


def _on_one_line(paragraph: str) -> str:
    return " ".join([line.strip(" ") for line in paragraph.strip().split("\n")])


# Rich's own styles have a black background even on a light screen.
_MARKDOWN_STYLES = {"markdown.code": "bold cyan", "markdown.code_block": "cyan"}


def render_lines(rendered: RenderableType, width: int) -> list[Text]:
    """Return the lines of a result of `markdown` at a width in cells. May be called in a thread."""
    # A console of its own, because the screen's console must not be used from a thread.
    console = Console(
        file=StringIO(), width=width, legacy_windows=False, theme=Theme(_MARKDOWN_STYLES)
    )
    if isinstance(rendered, Text):
        return list(rendered.wrap(console, width))
    return [
        Text.assemble(
            *((segment.text, segment.style or "") for segment in segments if not segment.control)
        )
        for segments in console.render_lines(rendered, pad=False)
    ]


def markdown(text: str | None, missing: str = _NOT_DESCRIBED) -> RenderableType:
    """Return a description as rendered Markdown. Links are plain text, images are their names."""
    clean = block(text, _RENDERED_LIMIT)
    if not clean.strip():
        return Text(missing, "dim italic")
    # Most descriptions are a few sentences; the full Markdown parser is slow to import.
    if _MEANS_MORE.search(clean) is None:
        paragraphs = _PARTED.split(clean.strip())
        return Text("\n\n".join(map(_on_one_line, paragraphs)), justify="left")
    from rich.markdown import Markdown

    rendered = Markdown(clean, hyperlinks=False, code_theme="ansi_dark", inline_code_lexer=None)
    if "<" in clean:
        from explorer.tui.html import without_html

        rendered.parsed = without_html(clean)
    return rendered
