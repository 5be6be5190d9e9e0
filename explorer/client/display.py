"""Text from a catalog, made safe to show: the one place where it is cleaned.

Names and descriptions are written by anybody. Shown as they are, an escape sequence in one could
set the reader's clipboard or title, a bidirectional mark could make a name read as another. What
is cleaned is for showing only; what is edited and sent back is never touched.
"""

import re
from datetime import UTC, datetime

__all__ = ["BLOCK_LIMIT", "LINE_LIMIT", "block", "hidden_count", "line", "moment", "visible"]

# C0 but tab and newline, DEL, C1, and the marks that reorder or hide text.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
_SPACE = re.compile(r"[ \t\n]+")
_CONTROL_PICTURES = 0x2400
_SPACE_CODE = 0x20
LINE_LIMIT = 2_000
BLOCK_LIMIT = 100_000


def block(text: str | None, limit: int = BLOCK_LIMIT) -> str:
    """Text over several lines: control, escape and bidirectional characters taken out.

    Longer than `limit` characters, it is cut and the cut is said.
    """
    if not text:
        return ""
    cut = text[:limit].replace("\r\n", "\n").replace("\r", "\n")
    clean = _UNSAFE.sub("", cut).replace("\t", "    ")
    return f"{clean}\n… {len(text) - limit:,} more characters" if len(text) > limit else clean


def line(text: str | None, limit: int = LINE_LIMIT) -> str:
    """Text as one line: as `block`, and every run of white space one space."""
    if not text:
        return ""
    clean = _SPACE.sub(" ", _UNSAFE.sub("", text[:limit].replace("\r", "\n"))).strip()
    return f"{clean}…" if len(text) > limit else clean


def in_quotes(text: str | None, limit: int = LINE_LIMIT) -> str:
    """Text as one line between “ and ”, for a sentence that names it."""
    return f"“{line(text, limit)}”"


def visible(text: str) -> str:
    """Text being edited: each unsafe character shown as a mark in its place, none taken out, so
    that every character stands where it does in the text itself."""
    return _UNSAFE.sub(_mark, text)


def hidden_count(text: str) -> int:
    """Return how many unsafe characters a text has, none of which is seen where it is shown."""
    return sum(1 for _ in _UNSAFE.finditer(text.replace("\r\n", "\n")))


def _mark(found: re.Match[str]) -> str:
    code = ord(found[0])
    return chr(_CONTROL_PICTURES + code) if code < _SPACE_CODE else "�"


def moment(millis: int, *, utc: bool = False) -> str:
    """Return a moment given in milliseconds, as people write it, in the local zone or in UTC."""
    try:
        at = datetime.fromtimestamp(millis / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return "at an unreadable time"
    shown = at if utc else at.astimezone()
    return f"{shown:%Y-%m-%d %H:%M}{' UTC' if utc else ''}"
