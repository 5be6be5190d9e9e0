"""Markdown in colours, a line at a time: what a key changes is drawn anew, and no more."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

__all__ = ["FENCE", "Kind", "fenced", "spans"]

Kind = Literal["heading", "strong", "emphasis", "code", "link", "mark", "quote"]

FENCE = re.compile(r" {0,3}(?:```|~~~)")
# Beyond it nothing is looked at: such a text is no longer written by hand.
_LINES_LIMIT = 20_000
_LENGTH_LIMIT = 2_000

_HEADING = re.compile(r" {0,3}#{1,6}(?:\s|$)")
_QUOTE = re.compile(r"\s*>")
_START = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])(?=\s)(?:\s+\[[ xX]\](?=\s))?")
_RULE = re.compile(r" {0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$")
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
_INLINE: Mapping[Kind, re.Pattern[str]] = {
    "strong": re.compile(r"(\*\*|__)(?=\S).+?(?<=\S)\1"),
    "emphasis": re.compile(
        r"(?<![*\w\\])\*(?![*\s])[^*]+(?<![\s*])\*(?!\*)|(?<![\w\\])_(?![_\s])[^_]+_(?!\w)"
    ),
    "link": re.compile(r"!?\[[^\]]*\]\([^)]*\)|<?\bhttps?://[^\s)>]+>?"),
    "mark": re.compile(r"(?<!\\)\||<!--.*?-->"),
}


def fenced(lines: Sequence[str]) -> frozenset[int]:
    """The rows that are code between fences, the fences too. A fence that nothing closes holds
    all that follows."""
    inside = ""
    found: list[int] = []
    for row, line in enumerate(lines[:_LINES_LIMIT]):
        # Most lines are told by what they do not have in them.
        if ("```" in line or "~~~" in line) and FENCE.match(line):
            fence = line.lstrip()[:3]
            found.append(row)
            inside = "" if inside == fence else inside or fence
        elif inside:
            found.append(row)
    return frozenset(found)


def spans(line: str) -> Iterator[tuple[int, int, Kind]]:
    """The parts of a line outside fences that look like something: from, to, and what."""
    line = line[:_LENGTH_LIMIT]
    if _HEADING.match(line):
        yield 0, len(line), "heading"
    elif _RULE.match(line):
        yield 0, len(line), "mark"
        return
    elif quote := _QUOTE.match(line):
        yield 0, len(line), "quote"
        yield quote.start(), quote.end(), "mark"
    elif start := _START.match(line):
        yield start.start(), start.end(), "mark"
    codes = [found.span() for found in _CODE.finditer(line)] if "`" in line else []
    for kind, pattern in _INLINE.items():
        for found in pattern.finditer(line):
            at, end = found.span()
            if not any(first <= at < last for first, last in codes):
                yield at, end, kind
    for first, last in codes:
        yield first, last, "code"
