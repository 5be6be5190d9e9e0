"""Cleaning text from a catalog before it is shown. All front ends use these functions.

Anybody can write names and descriptions. An escape sequence in one could set the reader's clipboard
or window title, and a bidirectional mark could make a name look like another. Only text that is
shown is cleaned; text that is edited and sent back is not changed.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime

# C0 except tab and newline, DEL, C1, and the characters that reorder or hide text.
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
    """Return text of several lines without control, escape and bidirectional characters.

    Text longer than `limit` characters is cut, and a last line says how much is left out.
    """
    if not text:
        return ""
    cut = text[:limit].replace("\r\n", "\n").replace("\r", "\n")
    clean = _UNSAFE.sub("", cut).replace("\t", "    ")
    return f"{clean}\n… {len(text) - limit:,} more characters" if len(text) > limit else clean


def line(text: str | None, limit: int = LINE_LIMIT) -> str:
    """Return text cleaned like `block`, in one line: each run of white space becomes one space."""
    if not text:
        return ""
    clean = _SPACE.sub(" ", _UNSAFE.sub("", text[:limit].replace("\r", "\n"))).strip()
    return f"{clean}…" if len(text) > limit else clean


def in_quotes(text: str | None, limit: int = LINE_LIMIT) -> str:
    """Return text as one line in “ and ”."""
    return f"“{line(text, limit)}”"


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun: `1 column`, `2,000 columns`. `plural` is the plural of the
    noun, by default the noun with an `s`."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def has_words(words: str, texts: Iterable[str]) -> bool:
    """Return whether each of the words occurs in one of the texts, ignoring case; true for no
    words."""
    search_words = words.casefold().split()
    searched = "\n".join(texts).casefold() if search_words else ""
    return all(word in searched for word in search_words)


def visible(text: str) -> str:
    """Return text for an editor: each unsafe character is replaced by a visible one.

    No character is removed, so positions are the same as in the original text.
    """
    return _UNSAFE.sub(_mark, text)


def hidden_count(text: str) -> int:
    """Return the number of unsafe characters in a text, which are invisible when it is shown."""
    return sum(1 for _ in _UNSAFE.finditer(text.replace("\r\n", "\n")))


def _mark(match: re.Match[str]) -> str:
    code = ord(match[0])
    return chr(_CONTROL_PICTURES + code) if code < _SPACE_CODE else "�"


def moment(millis: int, *, utc: bool = False) -> str:
    """Return a time in milliseconds since 1970 as text, in the local time zone or in UTC."""
    try:
        at = datetime.fromtimestamp(millis / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return "at an unreadable time"
    zoned = at if utc else at.astimezone()
    return f"{zoned:%Y-%m-%d %H:%M}{' UTC' if utc else ''}"
