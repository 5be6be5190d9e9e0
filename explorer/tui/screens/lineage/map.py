"""The map: a window on a drawing of any size, with a cursor that moves from box to box, and a
minimap."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size, Spacing
from textual.scroll_view import ScrollView
from textual.strip import Strip

from explorer.tui.actions import bindings
from explorer.tui.content import line_text, padded
from explorer.tui.screens.lineage.drawing import (
    CURSOR,
    Edge,
    Ink,
    LineageDrawing,
    LineageNode,
    Span,
    edges_between,
)
from explorer.tui.widgets.rows import ActionRequested, SizeAware

if TYPE_CHECKING:
    from explorer.graph.layout import Box

__all__ = ["LineageMap", "Minimap", "free_place", "is_wanted", "nearest"]

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
    here = boxes.get(node)
    if here is None:
        return next(iter(boxes), None)
    ahead = [other for other, box in boxes.items() if _is_ahead(here, box, way)]
    if way in ("left", "right"):
        joined = {up if down == node else down for up, down in edges if node in (up, down)}
        preferred = [other for other in ahead if other in joined]
    else:
        preferred = [other for other in ahead if boxes[other].layer == here.layer]
    found = preferred or ahead
    return min(found, key=lambda other: _distance(here, boxes[other], way), default=None)


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
"""The cells of the one that stands at the edge of the window, its frame not counted."""
_BOX, _SEEN, _BOX_SEEN = "▪", "░", "▓"
# Below, an overview would hide what it is of.
_WINDOW_AT_LEAST = (60, 14)
# A drawing that reaches just over the edge needs none.
_LARGER = 1.5


@dataclass(frozen=True, slots=True)
class Minimap:
    """A drawing reduced to a few cells; the boxes are counted once for each drawing."""

    width: int
    height: int
    across: float
    down: float
    boxes: frozenset[tuple[int, int]]

    @classmethod
    def of(
        cls, boxes: "Iterable[Box]", whole: tuple[int, int], width: int, height: int
    ) -> "Minimap":
        """Return the minimap of boxes in a drawing of size `whole`, in a number of cells."""
        across, down = max(whole[0] / width, 1), max(whole[1] / height, 1)
        cells = frozenset(
            (min(int(x / across), width - 1), min(int(box.y / down), height - 1))
            for box in boxes
            for x in (box.x, box.x + box.width / 2, box.x + box.width - 1)
        )
        return cls(width, height, across, down, cells)

    def cell(self, box: "Box") -> tuple[int, int]:
        """Return the cell of a box's middle."""
        x, y = (box.x + box.width / 2) / self.across, box.y / self.down
        return min(int(x), self.width - 1), min(int(y), self.height - 1)

    def small(
        self, window: tuple[int, int, int, int] | None, marks: "Mapping[str, Box | None]"
    ) -> Small:
        """Return the cells row by row; the part in a window of the drawing (left, top, width,
        height) has a background. `marks` are the signs of single boxes, later ones over earlier
        ones."""
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
        left, top, width, height = window
        across = left < (x + 1) * self.across and x * self.across < left + width
        is_seen = across and top < (y + 1) * self.down and y * self.down < top + height
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
    corner, the lower right one first, else along an edge. None if every place covers a box."""
    left, top, width, height = window
    wide, high = CORNER[0] + 2, CORNER[1] + 2
    seen = [(int(box.x) - left, int(box.y) - top, int(box.width), int(box.height)) for box in boxes]
    seen = [
        (x, y, along, down)
        for x, y, along, down in seen
        if x < width and y < height and x + along > 0 and y + down > 0
    ]
    right, bottom = width - wide, height - high
    corners = [(right, bottom), (right, 0), (0, bottom), (0, 0)]
    edges = [(right, y) for y in range(bottom - 1, 0, -1)]
    edges += [(x, y) for y in (bottom, 0) for x in range(right - 1, 0, -1)]
    for at_x, at_y in (*corners, *edges):
        if not any(
            x < at_x + wide and at_x < x + along and y < at_y + high and at_y < y + down
            for x, y, along, down in seen
        ):
            return at_x, at_y
    return None


def framed(small: Small) -> list[str]:
    """Return the rows with a frame."""
    line = "─" * len(small[0])
    return [f"╭{line}╮", *(f"│{''.join(row)}│" for row in small), f"╰{line}╯"]


def covered(row: list[Span], at: int, text: str, ink: int) -> list[Span]:
    """Return a row with a text over its cells from `at` on, where there are only lines and
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
    """A window on a drawing; only visible cells are drawn."""

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
        """Show a drawing, with the cursor on one of its boxes, else on the root."""
        same = self.drawing is not None and self.root == root
        self.drawing, self.root = drawing, root
        self.cursor = cursor if cursor in drawing.boxes else root
        self._overviews.clear()
        self._fitted = False
        self._spread()
        self._lead()
        if same:
            self.call_after_refresh(self._follow)
        else:
            self.call_after_refresh(self.centre)
        self.redraw()

    def _spread(self) -> None:
        """Set the scrollable size to that of the drawing, with a free cell around it, so that
        brackets and arrows never touch the edge."""
        if self.drawing is not None:
            whole = Size(self.drawing.width + 2, self.drawing.height)
            self.virtual_size = Size(0, 0) if self._fitted else whole

    def hold(self, edges: frozenset[Edge]) -> None:
        """Highlight these edges wherever the cursor moves; without any, the path to the cursor."""
        self._pinned = edges
        self._lead()
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
        self._lead()
        self._follow()
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
        left, top = self._offset()
        at = (left, top, width, height)
        if at != self._window_at:
            self._window_at = at
            self._window = self._draw_window(self.drawing, at)
        styles = self._dress()
        pieces = [Segment(text, styles[ink]) for text, ink in self._window[y]]
        return Strip(pieces, width).apply_style(self.rich_style)

    def _draw_window(
        self, drawing: LineageDrawing, at: tuple[int, int, int, int]
    ) -> list[list[Span]]:
        left, top, width, height = at
        if self._fitted:
            rows = self._overview(drawing, width, height).small(None, self._signs(drawing))
            return [[("".join(row), int(Ink.NAME))] for row in rows]
        window = drawing.window(
            left, top, width, height, lit=self._lit, cursor=self.cursor, mark=self.mark
        )
        is_large = is_wanted((drawing.width, drawing.height), (width, height))
        place = free_place(drawing.boxes.values(), at) if is_large else None
        if place is not None:
            small = self._overview(drawing, *CORNER).small(at, self._signs(drawing))
            x, first = place
            for y, row in enumerate(framed(small), first):
                window[y] = covered(window[y], x, row, int(Ink.FACT))
        return window

    def _overview(self, drawing: LineageDrawing, width: int, height: int) -> Minimap:
        size, whole = (width, height), (drawing.width, drawing.height)
        if size not in self._overviews:
            self._overviews[size] = Minimap.of(drawing.boxes.values(), whole, width, height)
        return self._overviews[size]

    def _signs(self, drawing: LineageDrawing) -> "dict[str, Box | None]":
        boxes = drawing.boxes
        return {"◎": boxes.get(self.root), "◆": boxes.get(self.mark), "◉": boxes.get(self.cursor)}

    def _dress(self) -> dict[int, Style]:
        cursor = self.get_component_rich_style("map--cursor", partial=True)
        styles = dict(_STYLES)
        styles[Ink.WAY] += self.get_component_rich_style("map--way", partial=True)
        styles[Ink.ROOT] += self.get_component_rich_style("map--root", partial=True)
        return styles | {ink | CURSOR: style + cursor for ink, style in styles.items()}

    def _offset(self) -> tuple[int, int]:
        """Return the cell of the drawing at the top left; a small drawing is centred."""
        region, drawing = self.scrollable_content_region, self.drawing
        if drawing is None:
            return 0, 0
        aside = max((region.width - drawing.width) // 2, 1)
        above = max((region.height - drawing.height) // 2, 0)
        return self.scroll_offset.x - aside, self.scroll_offset.y - above

    def _lead(self) -> None:
        """Return the highlighted edges: those held, or the path between the root and the cursor."""
        if self._pinned or self.drawing is None:
            self._lit = self._pinned
        elif self.cursor == self.root:
            self._lit = frozenset()
        else:
            self._lit = edges_between(self.drawing.hood.edges, self.root, self.cursor)

    def _region(self) -> Region | None:
        box = self.drawing.boxes.get(self.cursor) if self.drawing else None
        if box is None:
            return None
        return Region(int(box.x) + 1, int(box.y), int(box.width), int(box.height))

    def _follow(self) -> None:
        region = self._region()
        if region is not None and self.size.area:
            self.scroll_to_region(
                region, spacing=_MARGIN, animate=False, immediate=True, force=True
            )

    def centre(self) -> None:
        """Centre the window on the cursor."""
        region, seen = self._region(), self.scrollable_content_region
        if region is None:
            return
        x = max(0, region.x - (seen.width - region.width) // 2)
        y = max(0, region.y - (seen.height - region.height) // 2)
        self.scroll_to(x, y, animate=False, immediate=True, force=True)
        self.redraw()

    def on_resize(self) -> None:
        """Keep the cursor in view after a resize."""
        self._follow()
        self.redraw()

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the clicked box; open the box that is under the cursor already."""
        if self.drawing is None:
            return
        left, top = self._offset()
        x, y = event.x + left, event.y + top
        if self._fitted:
            seen = self.scrollable_content_region
            small = self._overview(self.drawing, seen.width, seen.height)
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
            found = nearest(drawing.boxes, drawing.hood.edges, self.cursor, way)
            if found is not None:
                self.move_to(found)

    def action_pan(self, rows: int, columns: int) -> None:
        """Move the window by half its size; the cursor stays."""
        seen = self.scrollable_content_region
        self.scroll_relative(
            columns * max(seen.width // 2, 1),
            rows * max(seen.height // 2, 1),
            animate=False,
            immediate=True,
        )

    def action_fit(self) -> None:
        """Fit the whole drawing into the window, each box as a sign; or restore the size at the
        cursor."""
        drawing, seen = self.drawing, self.scrollable_content_region
        if drawing is None:
            return
        if not self._fitted and drawing.width <= seen.width and drawing.height <= seen.height:
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
