"""What a screen says, as text: read from a terminal that runs, kept in its picture, and compared.

A picture carries its text in a chunk of its own (iTXt, compressed), which programs that show
pictures pass over.
"""

import re
import struct
import zlib
from difflib import unified_diff
from typing import Final

from textual.app import App

_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_FRAME: Final = struct.Struct(">I4s")
_CHECK_BYTES: Final = 4
# Files have the machine's own time, whatever day it is for us.
_MOMENTS: Final = re.compile(r"\b(\d{4}-\d\d-\d\d )?\d\d:\d\d(:\d\d)?\b")
# A line of the log: when, the status, how long it took, how much it was, and what was asked.
_ASKED: Final = re.compile(r"\d\d:\d\d:\d\d +(\d+) +[\d.,]+ m?s +[\d.,]+ B")
# The keyword's end, a compressed text by deflate, and no language and no translated keyword.
_KEY: Final = b"Screen\0\1\0\0\0"


def text_of(app: App[None]) -> str:
    """The lines of the screen as they stand, without the blanks at their ends."""
    drawn = app.screen._compositor.render_full_update()
    lines = ("".join(strip.text for strip in line) for line in drawn.strips)
    return "\n".join(line.rstrip() for line in lines)


def with_text(png: bytes, text: str) -> bytes:
    """The picture, carrying a text; one that it carried before is replaced."""
    body = _KEY + zlib.compress(text.encode(), 9)
    chunks = [one for one in _chunks(png) if not _is_text(*one)]
    # The last chunk ends the picture.
    chunks.insert(-1, (b"iTXt", body))
    return _SIGNATURE + b"".join(_framed(kind, data) for kind, data in chunks)


def text_in(png: bytes) -> str | None:
    """The text that a picture carries; nothing where it carries none."""
    for kind, data in _chunks(png):
        if _is_text(kind, data):
            return zlib.decompress(data[len(_KEY) :]).decode()
    return None


def difference(name: str, before: str, now: str) -> str:
    """What a screen says otherwise than its picture, as a unified diff; nothing where they say the
    same but for what differs from run to run."""
    lines = unified_diff(
        steady(before).splitlines(),
        steady(now).splitlines(),
        f"{name}.png",
        f"{name} as it is now",
        lineterm="",
    )
    return "\n".join(lines)


def _is_text(kind: bytes, data: bytes) -> bool:
    return kind == b"iTXt" and data.startswith(_KEY)


def _framed(kind: bytes, data: bytes) -> bytes:
    return _FRAME.pack(len(data), kind) + data + struct.pack(">I", zlib.crc32(kind + data))


def _chunks(png: bytes) -> list[tuple[bytes, bytes]]:
    found = []
    at = len(_SIGNATURE)
    while at < len(png):
        length, kind = _FRAME.unpack_from(png, at)
        begin = at + _FRAME.size
        found.append((kind, png[begin : begin + length]))
        at = begin + length + _CHECK_BYTES
    return found


def steady(text: str) -> str:
    """A screen's text without what differs from run to run: moments, and in the log how long an
    answer took, and what was asked before what."""
    lines = [_MOMENTS.sub("00:00", line) for line in _in_one_order(text.splitlines())]
    return "\n".join(lines)


def _in_one_order(lines: list[str]) -> list[str]:
    at = [number for number, line in enumerate(lines) if _ASKED.search(line)]
    if not at:
        return lines
    asked = sorted(_ASKED.sub(r"\1", lines[number]) for number in at)
    # Below the list stands the whole of the one that happens to be the newest.
    below = [line for line in lines[at[-1] + 1 :] if not line.startswith("│ ")]
    return [*lines[: at[0]], *asked, *below]
