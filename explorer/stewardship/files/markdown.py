"""Markdown: a heading for each table, a section for each column, and the text below it to edit.

A section begins with a comment that says, as JSON, what it is about, and its text begins after the
line `<!-- text -->`, up to the next such comment or the end. What stands between the two is there
to be read and may be changed at will; but for the quoted text of ingestion, reading passes it over.

White space around a text does not count. A text that cannot stand so, because it has white space
at its ends, control characters or carriage returns, or a line that looks like one of those
comments, is written in a fence as JSON strings, one for each of its lines.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Final

from explorer.errors import InvalidInput
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.stewardship.documentation import Entry, Row, cell_of, text_in

__all__ = ["read_markdown", "write_markdown"]

_OPENING: Final = "<!-- catalog: "
_CLOSING: Final = " -->"
_TEXT: Final = "<!-- text -->"
_FENCE: Final = "```json lines"
_FENCE_END: Final = "```"
_QUOTE: Final = "> "
_UNSAFE: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
_COMMENT: Final = re.compile(r"^<!-- (?:catalog:|text -->)", re.MULTILINE)
_SPACE: Final = re.compile(r"\s+")
_KNOWN: Final = ("urn", "table", "column", "type", "exported")

_PREFACE: Final = """\
<!--
Write below each line that says “text”, or change what stands there; an empty text changes nothing,
!clear takes a text back. Leave the comments as they are; what they enclose is not read.
-->
"""


def write_markdown(rows: Iterable[Row]) -> bytes:
    """The sections of the rows, in their order."""
    parts = [_PREFACE, *map(_section, rows)]
    return "\n".join(parts).encode()


def read_markdown(data: bytes) -> Iterable[Entry]:
    """The entries of such a file, wherever its lines have got other ends since."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"the file is not UTF-8 (byte {error.start:,})") from None
    entries = list(_entries(text.replace("\r\n", "\n").split("\n")))
    if not entries and text.strip() != _PREFACE.strip():
        raise InvalidInput("the file has no section of documentation; an exported one shows them")
    return entries


def _section(row: Row) -> str:
    about = {
        "urn": row.urn,
        "table": row.table,
        "column": row.column,
        "type": row.type,
        "tags": list(row.tags),
        "exported": row.exported,
    }
    # Within a string of JSON, where its escape means the same; so that none ends the comment.
    told = json.dumps(about, ensure_ascii=False).replace(">", "\\u003e")
    told = _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", told)
    level, name = ("##", FieldPath(row.column).simple) if row.column else ("#", row.table)
    lines = [f"{_OPENING}{told}{_CLOSING}", f"{level} {_line(name)}", ""]
    # Words of our own come first, so that none of theirs begins a line.
    said = (("Type", _line(row.type)), ("Tags", _line(" ".join(map(Urn.label, row.tags)))))
    if shown := " · ".join(f"{name}: {words}" for name, words in said if words):
        lines += [shown, ""]
    if row.ingested:
        lines += [*(f"{_QUOTE}{line}" for line in _written(row.ingested).split("\n")), ""]
    lines += [_TEXT, ""]
    if row.edited:
        lines += [_written(cell_of(row.edited)), ""]
    return "\n".join((*lines, ""))


def _written(text: str) -> str:
    if (
        text == text.strip()
        and not _UNSAFE.search(text)
        and not _COMMENT.search(text)
        and not text.startswith(_FENCE)
    ):
        return text
    lines = text.split("\n")
    ended = [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    return "\n".join((_FENCE, *map(_quoted, ended), _FENCE_END))


def _quoted(line: str) -> str:
    told = json.dumps(line, ensure_ascii=False)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", told)


def _read_text(lines: list[str]) -> str:
    """The text that stands in these lines; raises `ValueError` for a fence that cannot be read."""
    text = "\n".join(lines).strip()
    if not text.startswith(_FENCE):
        return text
    fenced = text.split("\n")
    if len(fenced) < 2 or fenced[-1].strip() != _FENCE_END:
        raise ValueError("the fence around the text has no end")
    pieces = [json.loads(line) for line in fenced[1:-1] if line.strip()]
    if not all(isinstance(piece, str) for piece in pieces):
        raise ValueError("a line in the fence is no JSON string")
    return "".join(pieces)


def _entries(lines: list[str]) -> Iterator[Entry]:
    starts = [at for at, line in enumerate(lines) if line.startswith(_OPENING)]
    before = lines[: starts[0]] if starts else lines
    if _TEXT in before:
        nothing = Row("", "", "", "", "", "\n".join(before).strip())
        problem = "the comment that begins the section is missing"
        yield Entry(f"line {before.index(_TEXT) + 1}", nothing, problem=problem)
    for start, end in pairwise([*starts, len(lines)]):
        yield _entry(f"line {start + 1}", lines[start], lines[start + 1 : end])


def _entry(place: str, opening: str, lines: list[str]) -> Entry:
    # What cannot be told apart is kept as a whole.
    nothing = Row("", "", "", "", "", "\n".join(lines).strip())
    try:
        about = json.loads(opening.rstrip().removeprefix(_OPENING).removesuffix(_CLOSING))
        known = {name: about.get(name, "") for name in _KNOWN}
        tags = tuple(about.get("tags", ()))
    except (ValueError, AttributeError, TypeError):
        return Entry(place, nothing, problem="the comment that begins the section is damaged")
    if not all(isinstance(text, str) for text in (*known.values(), *tags)) or not known["urn"]:
        return Entry(place, nothing, problem="the comment that begins the section is damaged")
    row = Row(**known, ingested="", edited="", tags=tags)
    marks = [at for at, line in enumerate(lines) if line.rstrip() == _TEXT]
    if len(marks) != 1:
        often = "two lines" if marks else "no line"
        row = replace(row, edited=nothing.edited)
        return Entry(place, row, problem=f"the section has {often} {_TEXT}")
    above, below = lines[: marks[0]], lines[marks[0] + 1 :]
    quoted = [line[1:].removeprefix(" ") for line in above if line.startswith(">")]
    try:
        ingested = _read_text(quoted)
        edited, clears = text_in(_read_text(below))
    except ValueError as error:
        row = replace(row, edited=nothing.edited)
        return Entry(place, row, problem=f"its text cannot be read: {error}")
    return Entry(place, Row(**known, ingested=ingested, edited=edited, tags=tags), clears)


def _line(text: str) -> str:
    """The text as decoration on one line."""
    return _SPACE.sub(" ", _UNSAFE.sub(" ", text)).strip()
