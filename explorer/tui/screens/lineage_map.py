"""The lineage map: draws the neighbourhood of an entity as boxes and lines in text cells, and shows
a window of the drawing with a cursor that moves from box to box, and a minimap."""

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import IntEnum
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, ClassVar, Literal, TypeVar

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size, Spacing
from textual.scroll_view import ScrollView
from textual.strip import Strip

from explorer.tui.actions import bindings
from explorer.tui.content import line_text, padded
from explorer.tui.widgets.rows import ActionRequested, SizeAware
from explorer.views.lineage import FACT_SEPARATOR, Edge, LineageNode, Neighbourhood, edges_between

if TYPE_CHECKING:
    from explorer.graph.layout import Box, Layout

_T = TypeVar("_T")

Span = tuple[str, int]
"""A text and its `Ink`, plus `CURSOR` under the cursor."""

_EAST, _SOUTH, _WEST, _NORTH, _FIRM, _CORNER = 1, 2, 4, 8, 16, 32
# The characters, indexed by the bits of the directions in which the lines of a cell lead.
_LIGHT = " ─│╭──╮┬│╰│├╯┴┤┼"
_HEAVY = " ━┃┏━━┓┳┃┗┃┣┛┻┫╋"
_FAINT = {
    _EAST: "┄",
    _WEST: "┄",
    _EAST | _WEST: "┄",
    _SOUTH | _NORTH: "┆",
    _SOUTH: "┆",
    _NORTH: "┆",
}


class Ink(IntEnum):
    """The style of a cell."""

    BLANK = 0
    LINE = 1
    WAY = 2
    NAME = 3
    ROOT = 4
    GHOST = 5
    REMOVED = 6
    MORE = 7
    FACT = 8


CURSOR = 16

_INKS = {
    "plain": Ink.NAME,
    "root": Ink.ROOT,
    "ghost": Ink.GHOST,
    "removed": Ink.REMOVED,
    "more": Ink.MORE,
}
# Signs before names, because colour alone must not carry meaning.
_SIGNS = {"plain": "", "root": "", "ghost": "? ", "removed": "✗ ", "more": ""}


def _shape(mask: int) -> str:
    directions = mask & 15
    if directions == 15 and not mask & _CORNER:
        # Where lines only cross, the horizontal one passes under the vertical one.
        return "│"
    if not mask & _FIRM and directions in _FAINT:
        return _FAINT[directions]
    return _LIGHT[directions]


def _mixed_characters() -> Iterator[tuple[tuple[int, int], str]]:
    """Yield the box-drawing characters with both heavy and light arms, each with two masks: all its
    directions, and its heavy ones. They are found by their Unicode names."""
    ways = {"RIGHT": _EAST, "DOWN": _SOUTH, "LEFT": _WEST, "UP": _NORTH}
    ways |= {"VERTICAL": _SOUTH | _NORTH, "HORIZONTAL": _EAST | _WEST}
    for code in range(0x2500, 0x254C):
        light = heavy = 0
        words = unicodedata.name(chr(code)).removeprefix("BOX DRAWINGS ")
        if words.startswith(("LIGHT ", "HEAVY ")):
            continue
        for part in words.split(" AND "):
            leads = sum(ways.get(word, 0) for word in part.split())
            if "HEAVY" in part:
                heavy |= leads
            else:
                light |= leads
        if light and heavy:
            yield (light | heavy, heavy), chr(code)


_MIXED = dict(_mixed_characters())
_SHAPES = [_shape(mask) for mask in range(64)]
_ADDED = [bytes(mask | bits for mask in range(256)) for bits in range(64)]


class LineageDrawing:
    """A neighbourhood with its layout; `window` draws a part of it."""

    def __init__(self, hood: Neighbourhood, layout: "Layout[str]", texts: "_Texts") -> None:
        self.hood = hood
        self.layout = layout
        self.boxes: Mapping[str, Box] = layout.positions
        self.width, self.height = int(layout.width), int(layout.height)
        self._points: dict[Edge, list[tuple[int, int]]] = {}
        self._rows: dict[int, list[tuple[int, list[str], list[int], str]]] = {}
        self._arrows: dict[int, dict[int, tuple[str, Edge]]] = {}
        for node, box in self.boxes.items():
            for part, (cells, inks) in enumerate(texts[node]):
                self._rows.setdefault(int(box.y) + part, []).append((int(box.x), cells, inks, node))
        for route in layout.routes:
            edge = (route.source, route.target)
            self._points[edge] = [(int(x), int(y)) for x, y in route.points]
            x, y = self._points[edge][-1]
            box = self.boxes[route.target]
            head = "▶" if x < box.x else "◀" if x >= box.x + box.width else "▼"
            self._arrows.setdefault(y, {})[x] = (head, edge)
        self._masks = self._lines(self._points)

    def _lines(self, edges: Iterable[Edge]) -> dict[int, bytearray]:
        """Return the lines of edges as masks: by row, for each cell the directions in which its
        lines lead."""
        rows: dict[int, bytearray] = defaultdict(lambda: bytearray(self.width))
        for edge in edges:
            points = self._points.get(edge, [])
            firm = 0 if edge in self.hood.indirect else _FIRM
            for (x, y), (next_x, next_y) in pairwise(points):
                if y == next_y:
                    low, high = sorted((x, next_x))
                    along = _ADDED[_EAST | _WEST | firm]
                    rows[y][low] |= _EAST | firm
                    rows[y][high] |= _WEST | firm
                    rows[y][low + 1 : high] = rows[y][low + 1 : high].translate(along)
                    continue
                low, high = sorted((y, next_y))
                for at in range(low, high + 1):
                    rows[at][x] |= firm | (_NORTH if at > low else 0) | (_SOUTH if at < high else 0)
            for x, y in points[1:-1]:
                rows[y][x] |= _CORNER
        return dict(rows)

    def fits(self, size: tuple[int, int]) -> bool:
        """Return whether a window of this width and height shows the whole drawing, with a free
        cell on either side."""
        return self.width + 2 <= size[0] and self.height <= size[1]

    def window(
        self,
        left: int,
        top: int,
        width: int,
        height: int,
        *,
        lit: AbstractSet[Edge],
        cursor: str,
        mark: str,
    ) -> list[list[Span]]:
        """Return the rows of a window as segments of one style each. `lit` edges are drawn heavy;
        `cursor` and `mark` are nodes."""
        lit_masks = self._lines(lit)
        return [
            list(self._row(y, left, width, lit_masks.get(y), lit, cursor, mark))
            for y in range(top, top + height)
        ]

    def _row(
        self,
        y: int,
        left: int,
        width: int,
        lit_row: bytearray | None,
        lit: AbstractSet[Edge],
        cursor: str,
        mark: str,
    ) -> Iterator[Span]:
        """Yield the segments of a row of a window."""
        masks = _cut_row(self._masks.get(y), left, width)
        cells = [_SHAPES[mask] for mask in masks]
        inks: list[int] = [Ink.LINE] * width
        if lit_row is not None:
            for x, lit_mask in enumerate(_cut_row(lit_row, left, width)):
                if directions := lit_mask & 15:
                    # A heavy line keeps light lines that join it, but not lines that only cross it.
                    joined = masks[x] & 15 if masks[x] & _CORNER else directions
                    cells[x], inks[x] = (
                        _MIXED.get((joined, directions), _HEAVY[directions]),
                        Ink.WAY,
                    )
        for x, (head, edge) in self._arrows.get(y, {}).items():
            if 0 <= x - left < width:
                cells[x - left] = head
                if edge in lit:
                    inks[x - left] = Ink.WAY
        for x, text, colours, node in self._rows.get(y, ()):
            if x - left >= width or x + len(text) <= left:
                continue
            box_cells, tinted = text, colours
            if node in (cursor, mark):
                first = y == int(self.boxes[node].y)
                box_cells = _put_in_brackets(
                    text, is_cursor=node == cursor, is_mark=node == mark and first
                )
            if node == cursor:
                tinted = [ink | CURSOR for ink in colours]
            if x < left or x + len(text) > left + width:
                box_cells = _mark_cut(box_cells, left - x, left + width - x)
            _overlay(cells, box_cells, x - left)
            _overlay(inks, tinted, x - left)
        yield from _spans(cells, inks)


def draw(
    hood: Neighbourhood, width: int, height: int, previous: "LineageDrawing | None" = None
) -> LineageDrawing:
    """Lay out a neighbourhood for a window of this size. If everything fits, every box has a second
    line with facts. Nodes of the `previous` drawing keep their order. Takes a few ms for a dozen
    nodes, about 20 ms for 200."""
    from explorer.graph.layout import Spacing, lay_out_pairs

    widest = max(12, min(30, width // 4))
    before = previous.layout if previous else None
    # With far more boxes than rows, two lines are not tried.
    for tall in (True, False) if len(hood.nodes) <= 2 * height else (False,):
        texts = _write(hood.nodes, widest, tall=tall)
        sizes: dict[str, tuple[float, float]] = {
            node: (len(lines[0][0]), len(lines)) for node, lines in texts.items()
        }
        layout = lay_out_pairs(
            sizes,
            hood.edges,
            grid=True,
            spacing=Spacing(4, 1 if tall else 0, 0),
            previous=before,
        )
        if layout.height <= height:
            break
    return LineageDrawing(hood, layout, texts)


_Texts = dict[str, list[tuple[list[str], list[int]]]]


def _write(nodes: Mapping[str, LineageNode], widest: int, *, tall: bool) -> _Texts:
    """Write the cells of every box, row by row."""
    usual = {
        part
        for node in nodes.values()
        if node.state == "root"
        for part in node.fact.split(FACT_SEPARATOR)
    }
    texts: _Texts = {}
    for node in nodes.values():
        name = _cut(_SIGNS[node.state] + node.name, widest)
        ink = _INKS[node.state]
        # Facts that the node shares with the root are left out.
        parts = node.fact.split(FACT_SEPARATOR)
        fact = FACT_SEPARATOR.join(part for part in parts if tall or part not in usual)
        if cell_len(fact) > widest:
            fact = fact.partition(FACT_SEPARATOR)[0]
        fact = _cut(fact, widest)
        edge = ("▌", "▐") if node.state == "root" else (" ", " ")
        if not tall:
            gap = " " if fact else ""
            cells = _cells(f"{edge[0]}{name}{gap}{fact}{edge[1]}")
            inks = [ink] * (cell_len(name) + 1) + [Ink.FACT] * (cell_len(gap + fact)) + [ink]
            texts[node.id] = [(cells, list(inks))]
            continue
        width = max(cell_len(name), cell_len(fact))
        lines: list[tuple[list[str], list[int]]] = []
        for text, colour in ((name, ink), (fact, Ink.FACT)):
            cells = _cells(f"{edge[0]}{set_cell_size(text, width)}{edge[1]}")
            lines.append((cells, [ink, *([colour] * width), ink]))
        texts[node.id] = lines[:1] if node.state == "more" else lines
    return texts


def _cut(text: str, width: int) -> str:
    return text if cell_len(text) <= width else set_cell_size(text, width - 1).rstrip() + "…"


def _cells(text: str) -> list[str]:
    """Return the text cell by cell; the second cell of a wide character is empty."""
    if text.isascii() and text.isprintable():
        return list(text)
    cells: list[str] = []
    for char in text:
        width = cell_len(char)
        if width == 0:
            if cells:
                cells[-1] += char
            continue
        cells.append(char)
        cells += [""] * (width - 1)
    return cells


def _put_in_brackets(cells: list[str], *, is_cursor: bool, is_mark: bool) -> list[str]:
    """Return the cells of a box with the signs of the cursor or the mark."""
    first, last = cells[0], cells[-1]
    if is_cursor and first == " ":
        first, last = "[", "]"
    if is_mark:
        last = "◆"
    return [first, *cells[1:-1], last]


def _mark_cut(cells: list[str], first: int, end: int) -> list[str]:
    """Return the cells of a box that is cut by the window, with a mark at the cut."""
    box_cells = list(cells)
    if first > 0:
        if cell_len(box_cells[first]) > 1:
            box_cells[first + 1] = " "
        box_cells[first] = "…"
    if end < len(box_cells):
        if box_cells[end - 1] == "" and end > 1:
            box_cells[end - 2] = " "
        box_cells[end - 1] = "…"
    return box_cells


def _overlay(under: list[_T], over: list[_T], at: int) -> None:
    start, end = max(at, 0), min(at + len(over), len(under))
    under[start:end] = over[start - at : end - at]


def _cut_row(row: bytearray | None, left: int, width: int) -> bytes:
    """Return `width` cells of a row from `left` on; cells beyond its ends are empty."""
    before = bytes(min(max(-left, 0), width))
    inside = b"" if row is None else bytes(row[max(left, 0) : max(left + width, 0)])
    return (before + inside).ljust(width, b"\0")


def _spans(cells: list[str], inks: list[int]) -> Iterator[Span]:
    """Yield the cells of a row as segments of one style."""
    if cells[0] == "":
        cells[0] = " "
    if cell_len(cells[-1]) > 1:
        cells[-1] = " "
    at = 0
    for ink, run in groupby(inks):
        length = len(list(run))
        yield "".join(cells[at : at + length]), ink
        at += length


Direction = Literal["left", "right", "up", "down"]

# A cell is about twice as high as it is wide.
_ROW = 2
_ASIDE = 4


def nearest(
    boxes: "Mapping[str, Box]", edges: Iterable[Edge], node: str, way: Direction
) -> str | None:
    """Return the box next to a node in a direction; None if there is none. Pure.

    To the left and right: the nearest connected box, else the nearest of all. Up and down: the next
    in the same layer, else the nearest of all.
    """
    box_here = boxes.get(node)
    if box_here is None:
        return next(iter(boxes), None)
    ahead = [name for name, box in boxes.items() if _is_ahead(box_here, box, way)]
    if way in ("left", "right"):
        joined = {up if down == node else down for up, down in edges if node in (up, down)}
        preferred = [name for name in ahead if name in joined]
    else:
        preferred = [name for name in ahead if boxes[name].layer == box_here.layer]
    candidates = preferred or ahead
    return min(candidates, key=lambda name: _distance(box_here, boxes[name], way), default=None)


def box_at(boxes: "Mapping[str, Box]", x: int, y: int) -> str | None:
    """Return the node whose box contains a cell."""
    return next(
        (
            node
            for node, box in boxes.items()
            if box.x <= x < box.x + box.width and box.y <= y < box.y + box.height
        ),
        None,
    )


def _is_ahead(here: "Box", box: "Box", way: Direction) -> bool:
    match way:
        case "left":
            return box.x + box.width <= here.x
        case "right":
            return box.x >= here.x + here.width
        case "up":
            return box.y + box.height <= here.y
        case "down":
            return box.y >= here.y + here.height


def _distance(here: "Box", box: "Box", way: Direction) -> tuple[float, float, float]:
    rows = abs(box.y - here.y) * _ROW
    columns = max(box.x - here.x - here.width, here.x - box.x - box.width, 0)
    far = columns + rows * _ASIDE if way in ("left", "right") else rows + columns * _ASIDE
    return far, box.y, box.x


Small = list[list[str]]

CORNER = (18, 5)
"""The width and height of a minimap in a corner of the window, without its frame."""
_BOX, _SEEN, _BOX_SEEN = "▪", "░", "▓"
# In a smaller window, a minimap would cover the drawing.
_WINDOW_AT_LEAST = (60, 14)
# A drawing that is hardly larger than the window needs no minimap.
_LARGER = 1.5


@dataclass(frozen=True, slots=True)
class Minimap:
    """A drawing reduced to a few cells. Its boxes are counted once for each drawing."""

    width: int
    height: int
    across: float
    down: float
    boxes: frozenset[tuple[int, int]]

    @classmethod
    def of(
        cls, boxes: "Iterable[Box]", whole: tuple[int, int], width: int, height: int
    ) -> "Minimap":
        """Return the minimap of a drawing with these boxes and the size `whole`, in `width` ×
        `height` cells."""
        across, down = max(whole[0] / width, 1), max(whole[1] / height, 1)
        cells = frozenset(
            (min(int(x / across), width - 1), min(int(box.y / down), height - 1))
            for box in boxes
            for x in (box.x, box.x + box.width / 2, box.x + box.width - 1)
        )
        return cls(width, height, across, down, cells)

    def cell(self, box: "Box") -> tuple[int, int]:
        """Return the cell of the minimap that shows the middle of a box."""
        x, y = (box.x + box.width / 2) / self.across, box.y / self.down
        return min(int(x), self.width - 1), min(int(y), self.height - 1)

    def small(
        self, window: tuple[int, int, int, int] | None, marks: "Mapping[str, Box | None]"
    ) -> Small:
        """Return the cells row by row. The part that shows a window of the drawing (left, top,
        width, height) has a background. `marks` are signs for single boxes; later signs cover
        earlier ones."""
        rows = [[self._sign(x, y, window) for x in range(self.width)] for y in range(self.height)]
        for sign, box in marks.items():
            if box is not None:
                x, y = self.cell(box)
                rows[y][x] = sign
        return rows

    def _sign(self, x: int, y: int, window: tuple[int, int, int, int] | None) -> str:
        has_box = (x, y) in self.boxes
        if window is None:
            return _BOX if has_box else " "
        first_column, first_row, width, height = window
        across = first_column < (x + 1) * self.across and x * self.across < first_column + width
        is_seen = across and first_row < (y + 1) * self.down and y * self.down < first_row + height
        if has_box:
            return _BOX_SEEN if is_seen else _BOX
        return _SEEN if is_seen else " "


def is_wanted(drawing: tuple[int, int], window: tuple[int, int]) -> bool:
    """Return whether a window shows so little of a drawing that a minimap helps, and is large
    enough for one."""
    width, height = window
    if width < _WINDOW_AT_LEAST[0] or height < _WINDOW_AT_LEAST[1]:
        return False
    return drawing[0] > width * _LARGER or drawing[1] > height * _LARGER


def free_place(boxes: "Iterable[Box]", window: tuple[int, int, int, int]) -> tuple[int, int] | None:
    """Return the cell of a window (left, top, width, height) where a minimap covers no box: in a
    corner, preferably the lower right one, else along an edge. Return None if there is no such
    place."""
    first_column, first_row, width, height = window
    wide, high = CORNER[0] + 2, CORNER[1] + 2
    rectangles = [
        (int(box.x) - first_column, int(box.y) - first_row, int(box.width), int(box.height))
        for box in boxes
    ]
    rectangles = [
        (x, y, along, down)
        for x, y, along, down in rectangles
        if x < width and y < height and x + along > 0 and y + down > 0
    ]
    right, bottom = width - wide, height - high
    corners = [(right, bottom), (right, 0), (0, bottom), (0, 0)]
    edges = [(right, y) for y in range(bottom - 1, 0, -1)]
    edges += [(x, y) for y in (bottom, 0) for x in range(right - 1, 0, -1)]
    for at_x, at_y in (*corners, *edges):
        if not any(
            x < at_x + wide and at_x < x + along and y < at_y + high and at_y < y + down
            for x, y, along, down in rectangles
        ):
            return at_x, at_y
    return None


def draw_frame(small: Small) -> list[str]:
    """Return the rows of a minimap with a frame around them."""
    line = "─" * len(small[0])
    return [f"╭{line}╮", *(f"│{''.join(row)}│" for row in small), f"╰{line}╯"]


def cover_row(row: list[Span], at: int, text: str, ink: int) -> list[Span]:
    """Return a row with a text over its cells from `at` on. The covered cells must be lines or
    blanks."""
    before, rest = _split(row, at)
    _, after = _split(rest, len(text))
    return [*before, (text, ink), *after]


def _split(row: list[Span], at: int) -> tuple[list[Span], list[Span]]:
    """Split a row after `at` cells; a segment that is cut has one cell per character."""
    before: list[Span] = []
    for number, (text, ink) in enumerate(row):
        wide = cell_len(text)
        if wide > at:
            head: list[Span] = [(text[:at], ink)] if at else []
            return [*before, *head], [(text[at:], ink), *row[number + 1 :]]
        before.append((text, ink))
        at -= wide
    return before, []


_STYLES: dict[int, Style] = {
    Ink.BLANK: Style(),
    Ink.LINE: Style(dim=True),
    Ink.WAY: Style(bold=True),
    Ink.NAME: Style(),
    Ink.ROOT: Style(bold=True),
    Ink.GHOST: Style(italic=True, dim=True),
    Ink.REMOVED: Style(strike=True, dim=True),
    Ink.MORE: Style(italic=True),
    Ink.FACT: Style(dim=True),
}
_MARGIN = Spacing(1, 4, 1, 4)


class LineageMap(ScrollView, SizeAware, can_focus=True):
    """A scrollable view of a drawing. Only visible cells are drawn."""

    DEFAULT_CSS = """
    LineageMap { scrollbar-size-vertical: 1; scrollbar-size-horizontal: 1; }
    LineageMap > .map--cursor { background: $surface-lighten-2; }
    LineageMap:focus > .map--cursor { background: $primary-muted; }
    LineageMap > .map--way { color: $accent; }
    LineageMap > .map--root { color: $primary; }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"map--cursor", "map--way", "map--root"}
    BINDINGS: ClassVar[list[BindingType]] = bindings("lineage")

    def __init__(self, moved: Callable[[], None]) -> None:
        super().__init__()
        self._moved = moved
        self.drawing: LineageDrawing | None = None
        self.cursor = ""
        self.root = ""
        self.mark = ""
        self._message = ""
        self._lit: frozenset[Edge] = frozenset()
        self._pinned: frozenset[Edge] = frozenset()
        self._window: list[list[Span]] = []
        self._window_at: tuple[int, ...] = ()
        self._fitted = False
        self._overviews: dict[tuple[int, int], Minimap] = {}

    def say(self, sentence: str) -> None:
        """Show a sentence in place of a drawing."""
        self.drawing, self._message = None, sentence
        self.cursor, self._fitted = "", False
        self.virtual_size = Size(0, 0)
        self.redraw()

    def show(self, drawing: LineageDrawing, root: str, cursor: str) -> None:
        """Show a drawing, with the cursor on the box `cursor` if it exists, else on the root."""
        same = self.drawing is not None and self.root == root
        self.drawing, self.root = drawing, root
        self.cursor = cursor if cursor in drawing.boxes else root
        self._overviews.clear()
        self._fitted = False
        self._spread()
        self._update_lit_edges()
        if same:
            self.call_after_refresh(self._scroll_to_cursor)
        else:
            self.call_after_refresh(self.centre)
        self.redraw()

    def _spread(self) -> None:
        """Set the scrollable size to that of the drawing, with a free cell around it, so that
        brackets and arrows never touch the edge."""
        if self.drawing is not None:
            size = Size(self.drawing.width + 2, self.drawing.height)
            self.virtual_size = Size(0, 0) if self._fitted else size

    def hold(self, edges: frozenset[Edge]) -> None:
        """Highlight these edges until further notice; if there are none, highlight the path from
        the root to the cursor."""
        self._pinned = edges
        self._update_lit_edges()
        self.redraw()

    @property
    def node(self) -> LineageNode | None:
        """Return the node under the cursor."""
        return self.drawing.hood.nodes.get(self.cursor) if self.drawing else None

    def move_to(self, node: str) -> None:
        """Move the cursor to a box and scroll it into view."""
        if self.drawing is None or node not in self.drawing.boxes:
            return
        self.cursor = node
        self._update_lit_edges()
        self._scroll_to_cursor()
        self.redraw()

    def redraw(self) -> None:
        """Redraw the window, and announce the node under the cursor."""
        self._window_at = ()
        self.refresh()
        self._moved()

    def render_line(self, y: int) -> Strip:
        """Render one line."""
        region = self.scrollable_content_region
        width, height = region.width, max(region.height, y + 1)
        if self.drawing is None or width < 1 or not self.is_attached:
            text = padded(line_text(f"  {self._message}" if y == 1 else "", "dim italic"), width)
            text.end = ""
            return Strip(text.render(self.app.console), width).apply_style(self.rich_style)
        first_column, first_row = self._offset()
        at = (first_column, first_row, width, height)
        if at != self._window_at:
            self._window_at = at
            self._window = self._draw_window(self.drawing, at)
        styles = self._ink_styles()
        pieces = [Segment(text, styles[ink]) for text, ink in self._window[y]]
        return Strip(pieces, width).apply_style(self.rich_style)

    def _draw_window(
        self, drawing: LineageDrawing, at: tuple[int, int, int, int]
    ) -> list[list[Span]]:
        """Return the rows of the visible window, with a minimap if one is wanted."""
        first_column, first_row, width, height = at
        if self._fitted:
            rows = self._overview(drawing, width, height).small(None, self._signs(drawing))
            return [[("".join(row), int(Ink.NAME))] for row in rows]
        window = drawing.window(
            first_column,
            first_row,
            width,
            height,
            lit=self._lit,
            cursor=self.cursor,
            mark=self.mark,
        )
        is_large = is_wanted((drawing.width, drawing.height), (width, height))
        place = free_place(drawing.boxes.values(), at) if is_large else None
        if place is not None:
            small = self._overview(drawing, *CORNER).small(at, self._signs(drawing))
            x, first = place
            for y, row in enumerate(draw_frame(small), first):
                window[y] = cover_row(window[y], x, row, int(Ink.FACT))
        return window

    def _overview(self, drawing: LineageDrawing, width: int, height: int) -> Minimap:
        size, drawing_size = (width, height), (drawing.width, drawing.height)
        if size not in self._overviews:
            self._overviews[size] = Minimap.of(drawing.boxes.values(), drawing_size, width, height)
        return self._overviews[size]

    def _signs(self, drawing: LineageDrawing) -> "dict[str, Box | None]":
        boxes = drawing.boxes
        return {"◎": boxes.get(self.root), "◆": boxes.get(self.mark), "◉": boxes.get(self.cursor)}

    def _ink_styles(self) -> dict[int, Style]:
        cursor = self.get_component_rich_style("map--cursor", partial=True)
        styles = dict(_STYLES)
        styles[Ink.WAY] += self.get_component_rich_style("map--way", partial=True)
        styles[Ink.ROOT] += self.get_component_rich_style("map--root", partial=True)
        return styles | {ink | CURSOR: style + cursor for ink, style in styles.items()}

    def _offset(self) -> tuple[int, int]:
        """Return the cell of the drawing at the top left of the window; a small drawing is
        centred."""
        region, drawing = self.scrollable_content_region, self.drawing
        if drawing is None:
            return 0, 0
        aside = max((region.width - drawing.width) // 2, 1)
        above = max((region.height - drawing.height) // 2, 0)
        return self.scroll_offset.x - aside, self.scroll_offset.y - above

    def _update_lit_edges(self) -> None:
        """Set the highlighted edges: those given to `hold`, else the path between the root and the
        cursor."""
        if self._pinned or self.drawing is None:
            self._lit = self._pinned
        elif self.cursor == self.root:
            self._lit = frozenset()
        else:
            self._lit = edges_between(self.drawing.hood.edges, self.root, self.cursor)

    def _cursor_region(self) -> Region | None:
        box = self.drawing.boxes.get(self.cursor) if self.drawing else None
        if box is None:
            return None
        return Region(int(box.x) + 1, int(box.y), int(box.width), int(box.height))

    def _scroll_to_cursor(self) -> None:
        region = self._cursor_region()
        if region is not None and self.size.area:
            self.scroll_to_region(
                region, spacing=_MARGIN, animate=False, immediate=True, force=True
            )

    def centre(self) -> None:
        """Centre the window on the cursor."""
        region, view = self._cursor_region(), self.scrollable_content_region
        if region is None:
            return
        x = max(0, region.x - (view.width - region.width) // 2)
        y = max(0, region.y - (view.height - region.height) // 2)
        self.scroll_to(x, y, animate=False, immediate=True, force=True)
        self.redraw()

    def on_resize(self) -> None:
        """Keep the cursor in view after a resize."""
        self._scroll_to_cursor()
        self.redraw()

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked box; open the box that is under the cursor already."""
        if self.drawing is None:
            return
        first_column, first_row = self._offset()
        x, y = event.x + first_column, event.y + first_row
        if self._fitted:
            region = self.scrollable_content_region
            small = self._overview(self.drawing, region.width, region.height)
            x, y = round(event.x * small.across), round(event.y * small.down)
        node = box_at(self.drawing.boxes, x, y)
        if node is not None and node == self.cursor:
            self.action_ask("open")
        elif node is not None:
            self.move_to(node)

    def action_move(self, way: Direction) -> None:
        """Move to the next box in a direction."""
        if self.drawing is not None:
            drawing = self.drawing
            neighbour = nearest(drawing.boxes, drawing.hood.edges, self.cursor, way)
            if neighbour is not None:
                self.move_to(neighbour)

    def action_pan(self, rows: int, columns: int) -> None:
        """Move the window by half its size; the cursor stays."""
        region = self.scrollable_content_region
        self.scroll_relative(
            columns * max(region.width // 2, 1),
            rows * max(region.height // 2, 1),
            animate=False,
            immediate=True,
        )

    def action_fit(self) -> None:
        """Fit the whole drawing into the window, each box as a sign; or restore the size at the
        cursor."""
        drawing, region = self.drawing, self.scrollable_content_region
        if drawing is None:
            return
        if not self._fitted and drawing.width <= region.width and drawing.height <= region.height:
            self.centre()
            return
        self._fitted = not self._fitted
        self._spread()
        self.redraw()
        if not self._fitted:
            self.call_after_refresh(self.centre)

    def action_root(self) -> None:
        """Go back to the entity of the page."""
        self.move_to(self.root)
        self.centre()

    def action_centre(self) -> None:
        """Centre the window on the cursor."""
        self.centre()

    def action_mark(self) -> None:
        """Mark or unmark the node under the cursor."""
        node = self.node
        if node is not None and node.state != "more":
            self.mark = "" if self.mark == node.id else node.id
            self.redraw()
            self.action_ask("marked")

    def action_ask(self, action: str) -> None:
        """Run an action of the tab around the map."""
        self.post_message(ActionRequested(action))
