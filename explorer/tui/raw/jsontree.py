"""JSON as rows that fold: only what is unfolded exists, and long arrays and texts come in pages."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import orjson

from explorer.client.display import moment
from explorer.tui.wrapping import broken

__all__ = ["FOUND_LIMIT", "JsonTree", "Node", "find_keys", "formatted"]

_PAGE = 100
FOUND_LIMIT = 1_000
"""How many keys a search finds at most."""
# A text that is longer is unfolded to be read.
_LONG = 60
# Deeper than any model goes; what lies below is not looked into.
_DEPTH_LIMIT = 64


@dataclass(slots=True, eq=False)
class Node:
    """A row: a value under its key, a line of a long text, or (`more`) what is not shown yet.

    `path` leads to it from the name of its aspect on. A `series` holds points in time, newest
    first, and None before they were read. `shown` counts the rows below an open one.
    """

    path: tuple[str, ...]
    value: Any
    depth: int
    of_list: bool = False
    is_series: bool = False
    is_line: bool = False
    more: int = 0
    parent: "Node | None" = None
    is_open: bool = False
    shown: int = 0

    @property
    def label(self) -> str:
        """Its key, or its place in an array."""
        return self.path[-1]

    @property
    def aspect(self) -> str:
        """The aspect it is in."""
        return self.path[0]

    @property
    def millis(self) -> int | None:
        """The moment of a point in time; None of anything else."""
        is_point = self.parent is not None and self.parent.is_series
        return _millis_of(self.value) if is_point else None

    @property
    def folds(self) -> bool:
        """Whether there is anything to unfold."""
        if self.more or self.is_line:
            return False
        if isinstance(self.value, str):
            return len(self.value) > _LONG or "\n" in self.value
        return self.is_series or bool(self.value and isinstance(self.value, dict | list))


class JsonTree:
    """The rows. Unfolding costs what is shown at once, whatever lies below."""

    def __init__(self, roots: Sequence[Node]) -> None:
        self.rows: list[Node] = list(roots)

    def __len__(self) -> int:
        return len(self.rows)

    def unfold(self, at: int, width: int) -> None:
        """Show what is in a row; texts are broken at `width` characters. A row that stands for
        more is replaced by it."""
        node = self.rows[at]
        if node.more and node.parent is not None:
            self.rows[at : at + 1] = _page(node.parent, width)
        elif node.folds and not node.is_open and not (node.is_series and node.value is None):
            node.is_open, node.shown = True, 0
            self.rows[at + 1 : at + 1] = _page(node, width)

    def fold(self, at: int) -> None:
        """Hide what is in a row."""
        node = self.rows[at]
        if node.is_open:
            node.is_open = False
            del self.rows[at + 1 : self._end(at)]

    def above(self, at: int) -> int:
        """The row that holds this one; itself where none does."""
        depth = self.rows[at].depth
        return next((n for n in range(at - 1, -1, -1) if self.rows[n].depth < depth), at)

    def opened(self) -> frozenset[tuple[str, ...]]:
        """What is unfolded, to be unfolded again in other rows of the same entity."""
        return frozenset(node.path for node in self.rows if node.is_open)

    def unfold_all(self, paths: frozenset[tuple[str, ...]], width: int) -> None:
        """Unfold those of the paths that there are."""
        at = 0
        while at < len(self.rows):
            if self.rows[at].path in paths:
                self.unfold(at, width)
            at += 1

    def _end(self, at: int) -> int:
        depth = self.rows[at].depth
        rows = self.rows
        return next((n for n in range(at + 1, len(rows)) if rows[n].depth <= depth), len(rows))


def find_keys(aspects: Mapping[str, Any], text: str) -> list[Node]:
    """Every value whose key holds `text` in any case, as rows without a tree; at most 1,000.

    Looks through everything: for a thread.
    """
    wanted = text.casefold()
    every = (node for name, value in aspects.items() for node in _walk((name,), value))
    return list(islice((node for node in every if wanted in node.label.casefold()), FOUND_LIMIT))


def formatted(value: Any) -> str:
    """A value as indented JSON; a text as it is. Takes as long as it is large: for a thread."""
    if isinstance(value, str):
        return value
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    except orjson.JSONEncodeError:
        # A number beyond 64 bits, or nested more deeply than that one goes.
        import json

        return json.dumps(value, indent=2, ensure_ascii=False)


def _walk(path: tuple[str, ...], value: Any) -> Iterator[Node]:
    waiting: list[tuple[tuple[str, ...], Any, bool]] = [(path, value, False)]
    while waiting:
        path, value, of_list = waiting.pop()
        if not of_list:
            yield Node(path, value, 0)
        if len(path) > _DEPTH_LIMIT:
            continue
        if isinstance(value, dict):
            below = [((*path, str(key)), one, False) for key, one in value.items()]
        elif isinstance(value, list):
            below = [((*path, str(at)), one, True) for at, one in enumerate(value)]
        else:
            continue
        waiting += reversed(below)


def _page(parent: Node, width: int) -> list[Node]:
    """The next rows of what is in a row."""
    value, start, depth = parent.value, parent.shown, parent.depth + 1
    room = max(width - 2 * depth - 6, 12)
    rows: list[Node] = []
    if isinstance(value, str):
        lines = [part for line in value.splitlines() for part in broken(line, room)]
        total = len(lines)
        for number, text in enumerate(lines[start : start + _PAGE], start):
            path = (*parent.path, str(number))
            rows.append(Node(path, text, depth, is_line=True, parent=parent))
    elif isinstance(value, dict):
        total = len(value)
        for key, one in islice(value.items(), start, start + _PAGE):
            rows.append(Node((*parent.path, str(key)), one, depth, parent=parent))
    else:
        total = len(value)
        for number, one in enumerate(value[start : start + _PAGE], start):
            label = _time_of(one) if parent.is_series else str(number)
            path = (*parent.path, label)
            rows.append(Node(path, one, depth, of_list=not parent.is_series, parent=parent))
    parent.shown = start + len(rows)
    if parent.shown < total:
        path = (*parent.path, "")
        rows.append(Node(path, None, depth, more=total - parent.shown, parent=parent))
    return rows


def _time_of(point: Any) -> str:
    millis = _millis_of(point)
    return "time not known" if millis is None else moment(millis)


def _millis_of(point: Any) -> int | None:
    millis = point.get("timestampMillis") if isinstance(point, dict) else None
    return millis if isinstance(millis, int) else None
