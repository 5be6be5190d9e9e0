"""The raw tab: every stored aspect as a tree of JSON values."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

import orjson
from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Input, Static

from explorer.client.display import counted, moment
from explorer.errors import CatalogError
from explorer.tui.actions import bindings
from explorer.tui.content import block, join, line_text, padded
from explorer.tui.session import TerminalSession
from explorer.tui.widgets.inputs import FilterLine
from explorer.tui.widgets.rows import ActionRequested, ActionRows, Rows, wrap_parts
from explorer.tui.widgets.tabs import View
from explorer.views.history import actor_of, actors_of, run_of

if TYPE_CHECKING:
    from explorer.client.entity import Entity
    from explorer.views.table import Table

_PAGE = 100
FOUND_LIMIT = 1_000
"""The most keys that a search returns."""
# Longer texts are shown in full only when expanded.
_LONG = 60
# The depth to which a search goes, which is deeper than any model.
_DEPTH_LIMIT = 64


@dataclass(slots=True, eq=False)
class JsonNode:
    """A row of the tree: a value with its key, a line of a long text, or (`more`) a placeholder for
    rows not shown yet.

    `path` begins with the name of the aspect. The value of a time series (`is_series`) is its
    points, newest first, None before they were read. `rows_below` counts the rows shown below an
    expanded row.
    """

    path: tuple[str, ...]
    value: Any
    depth: int
    of_list: bool = False
    is_series: bool = False
    is_line: bool = False
    more: int = 0
    parent: "JsonNode | None" = None
    is_open: bool = False
    rows_below: int = 0

    @property
    def label(self) -> str:
        """Return the key of the value, or its index in an array."""
        return self.path[-1]

    @property
    def aspect(self) -> str:
        """Return the name of the aspect."""
        return self.path[0]

    @property
    def millis(self) -> int | None:
        """Return the time of a point of a time series, in milliseconds; None for other rows."""
        is_point = self.parent is not None and self.parent.is_series
        return _millis_of(self.value) if is_point else None

    @property
    def folds(self) -> bool:
        """Return whether the row can be expanded."""
        if self.more or self.is_line:
            return False
        if isinstance(self.value, str):
            return len(self.value) > _LONG or "\n" in self.value
        return self.is_series or bool(self.value and isinstance(self.value, dict | list))


class JsonTree:
    """The visible rows of the tree. The cost of expanding a row depends only on the number of rows
    shown at once."""

    def __init__(self, roots: Sequence[JsonNode]) -> None:
        self.rows: list[JsonNode] = list(roots)

    def __len__(self) -> int:
        return len(self.rows)

    def unfold(self, at: int, width: int) -> None:
        """Expand a row; texts are wrapped at `width` characters. A placeholder is replaced by the
        next rows."""
        node = self.rows[at]
        if node.more and node.parent is not None:
            self.rows[at : at + 1] = _page(node.parent, width)
        elif node.folds and not node.is_open and not (node.is_series and node.value is None):
            node.is_open, node.rows_below = True, 0
            self.rows[at + 1 : at + 1] = _page(node, width)

    def fold(self, at: int) -> None:
        """Collapse a row."""
        node = self.rows[at]
        if node.is_open:
            node.is_open = False
            del self.rows[at + 1 : self._end(at)]

    def above(self, at: int) -> int:
        """Return the index of a row's parent; of the row itself at the top level."""
        depth = self.rows[at].depth
        return next((n for n in range(at - 1, -1, -1) if self.rows[n].depth < depth), at)

    def opened(self) -> frozenset[tuple[str, ...]]:
        """Return the paths of expanded rows, to expand them again after the entity was read
        again."""
        return frozenset(node.path for node in self.rows if node.is_open)

    def unfold_all(self, paths: frozenset[tuple[str, ...]], width: int) -> None:
        """Expand the rows with these paths, as far as they exist."""
        at = 0
        while at < len(self.rows):
            if self.rows[at].path in paths:
                self.unfold(at, width)
            at += 1

    def wrap(self, width: int) -> bool:
        """Wrap the expanded texts again at `width` characters; return whether there are any."""
        texts = [node for node in self.rows if node.is_open and isinstance(node.value, str)]
        for node in texts:
            at = self.rows.index(node)
            self.fold(at)
            self.unfold(at, width)
        return bool(texts)

    def _end(self, at: int) -> int:
        depth = self.rows[at].depth
        rows = self.rows
        return next((n for n in range(at + 1, len(rows)) if rows[n].depth <= depth), len(rows))


def find_keys(aspects: Mapping[str, Any], text: str) -> list[JsonNode]:
    """Return at most 1,000 values whose key contains `text`, ignoring case, as rows without a tree.

    Searches everything: call it in a thread.
    """
    query = text.casefold()
    every = (node for name, value in aspects.items() for node in _walk((name,), value))
    return list(islice((node for node in every if query in node.label.casefold()), FOUND_LIMIT))


def format_json(value: Any) -> str:
    """Return a value as indented JSON; a text unchanged. Slow for large values: call it in a
    thread."""
    if isinstance(value, str):
        return value
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    except orjson.JSONEncodeError:
        # The fast encoder rejects numbers beyond 64 bits and very deep nesting.
        import json

        return json.dumps(value, indent=2, ensure_ascii=False)


def _walk(path: tuple[str, ...], value: Any) -> Iterator[JsonNode]:
    """Yield a row for every key in a value, with its path."""
    waiting: list[tuple[tuple[str, ...], Any, bool]] = [(path, value, False)]
    while waiting:
        path, value, of_list = waiting.pop()
        if not of_list:
            yield JsonNode(path, value, 0)
        if len(path) > _DEPTH_LIMIT:
            continue
        if isinstance(value, dict):
            below = [((*path, str(key)), member, False) for key, member in value.items()]
        elif isinstance(value, list):
            below = [((*path, str(at)), element, True) for at, element in enumerate(value)]
        else:
            continue
        waiting += reversed(below)


def _page(parent: JsonNode, width: int) -> list[JsonNode]:
    """Return the next page of rows below `parent`: lines of a text, wrapped to the width, or
    members of an object or list. If more follow, the last row says how many. Sets
    `parent.rows_below`, so that the next call continues."""
    value, start, depth = parent.value, parent.rows_below, parent.depth + 1
    room = max(width - 2 * depth - 6, 12)
    rows: list[JsonNode] = []
    if isinstance(value, str):
        lines = [part for line in value.splitlines() for part in wrap_parts(line, room)]
        total = len(lines)
        for number, text in enumerate(lines[start : start + _PAGE], start):
            path = (*parent.path, str(number))
            rows.append(JsonNode(path, text, depth, is_line=True, parent=parent))
    elif isinstance(value, dict):
        total = len(value)
        for key, member in islice(value.items(), start, start + _PAGE):
            rows.append(JsonNode((*parent.path, str(key)), member, depth, parent=parent))
    else:
        total = len(value)
        for number, member in enumerate(value[start : start + _PAGE], start):
            label = _time_of(member) if parent.is_series else str(number)
            path = (*parent.path, label)
            rows.append(JsonNode(path, member, depth, of_list=not parent.is_series, parent=parent))
    parent.rows_below = start + len(rows)
    if parent.rows_below < total:
        path = (*parent.path, "")
        rows.append(JsonNode(path, None, depth, more=total - parent.rows_below, parent=parent))
    return rows


def _time_of(point: Any) -> str:
    millis = _millis_of(point)
    return "unknown time" if millis is None else moment(millis)


def _millis_of(point: Any) -> int | None:
    millis = point.get("timestampMillis") if isinstance(point, dict) else None
    return millis if isinstance(millis, int) else None


_POINTS = 50
_PREVIEWED = 6
_NAME_AT_MOST = 28
_LABEL_LIMIT = 80
_VALUE_LIMIT = 400
# The longest text to copy, because most terminals accept no more.


class RawRows(ActionRows):
    """The rows of the tree."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("raw")


class RawTab(Vertical, View):
    """All aspects, even those that the model does not know. The newest points of a timeseries
    aspect are read when it is expanded."""

    DEFAULT_CSS = """
    RawTab #stored { height: 1; padding: 0 1; }
    RawTab RawRows { height: 1fr; }
    """

    def __init__(self, session: TerminalSession) -> None:
        super().__init__()
        self._session = session
        self._entity: Entity | None = None
        self._series: tuple[str, ...] = ()
        self._points: dict[str, list[Any]] = {}
        self._tree = JsonTree([])
        self._name_width = 0
        self._wrapped_width = 0

    def compose(self) -> ComposeResult:
        """Yield the counts, the filter, and the tree."""
        yield Static("", id="stored", markup=False)
        yield FilterLine("part of a key", select_on_focus=False)
        yield RawRows()

    def show_entity(self, entity: "Entity", *, keep: bool) -> None:
        """Show the aspects, collapsed; with `keep`, expanded as before."""
        opened = self._tree.opened() if keep and not self._has_filter else frozenset()
        cursor = self._rows.cursor if keep else 0
        self._entity = entity
        self._points = {}
        if not keep:
            self._series = ()
        self.query_one(FilterLine).put_away()
        self._build_tree(opened, cursor)

    def on_resize(self) -> None:
        """Wrap the expanded texts for the new width."""
        self.call_after_refresh(self._wrap)

    def _wrap(self) -> None:
        if self._width == self._wrapped_width:
            return
        self._wrapped_width, node = self._width, self._node
        if self._tree.wrap(self._width):
            # The wrapped lines of a text are new rows.
            row = node if node in self._tree.rows else node and node.parent
            self._lay_out(self._tree.rows.index(row) if row else 0)

    def show_times(self) -> None:
        """Show times in the chosen zone."""
        self._rows.refresh()

    def table(self) -> "Table | None":
        """Return the aspects as a table for a file."""
        from explorer.tui.screens.export import aspects_table

        return None if self._entity is None else aspects_table(self._entity)

    def focus_content(self) -> None:
        """Focus the rows."""
        self.screen.set_focus(self._rows)

    async def read(self, entity: "Entity") -> None:
        """Read the names of the aspects' authors, and which timeseries aspects the entity type has.
        The points of these are read on request."""
        catalog = await self._session.catalog()
        await self._session.read_names(
            actors_of(aspect.created for aspect in entity.aspects.values())
        )
        registry = catalog.registry
        declared = registry.entities.get(entity.entity_type)
        names = declared.aspects if declared and entity.exists else ()
        series = tuple(
            name for name in names if name in registry.aspects and registry.aspects[name].timeseries
        )
        if entity is self._entity and not self._has_filter:
            self._series = series
            self._build_tree(self._tree.opened(), self._rows.cursor)

    @property
    def _rows(self) -> RawRows:
        return self.query_one(RawRows)

    @property
    def _has_filter(self) -> bool:
        return self.query_one(FilterLine).display

    @property
    def _width(self) -> int:
        return max(self._rows.scrollable_content_region.width, 20)

    @property
    def _node(self) -> JsonNode | None:
        return self._rows.under_cursor(self._tree.rows)

    def _build_tree(self, opened: frozenset[tuple[str, ...]], cursor: int) -> None:
        """Rebuild the tree, with these paths expanded and the cursor on a row."""
        entity = self._entity
        if entity is None:
            return
        # The key aspect repeats the URN, so it comes last.
        names = sorted(entity.aspects, key=lambda name: (name.endswith("Key"), name))
        nodes = [JsonNode((name,), entity.aspects[name].value, 0) for name in names]
        nodes += [
            JsonNode((name,), self._points.get(name), 0, is_series=True)
            for name in self._series
            if name not in entity.aspects
        ]
        self._name_width = min(max((len(node.aspect) for node in nodes), default=0), _NAME_AT_MOST)
        self._tree = JsonTree(nodes)
        self._tree.unfold_all(opened, self._width)
        self._lay_out(cursor)
        text = Text(counted(len(names), "aspect"), "bold")
        if self._series:
            text.append(f" · {len(self._series)} timeseries on request", "dim")
        self.query_one("#stored", Static).update(text)

    def _lay_out(self, cursor: int) -> None:
        empty = (
            "No key contains that text."
            if self._has_filter
            else "No aspects are stored for this entity."
        )
        self._rows.show(len(self._tree), self._draw_row, cursor=cursor, empty=empty)

    @on(ActionRequested)
    def _handle_action(self, event: ActionRequested) -> None:
        """Run an action that was requested by a key of the list."""
        event.stop()
        node, at = self._node, self._rows.cursor
        match event.action:
            case "filter":
                self.query_one(FilterLine).ask()
            case "unfilter" if self._has_filter:
                self.query_one(FilterLine).put_away()
                self._build_tree(frozenset(), 0)
            case "turn" if node is not None:
                self._toggle(node, at)
            case "unfold" if node is not None and node.is_open:
                self._rows.move_to(at + 1)
            case "unfold" if node is not None:
                self._toggle(node, at)
            case "fold" if node is not None and node.is_open:
                self._toggle(node, at)
            case "fold" if node is not None:
                self._rows.move_to(self._tree.above(at))
            case "copy_aspect" if node is not None:
                self._copy(node.aspect, self._value_of(node.aspect))
            case "copy_value" if node is not None:
                source = node.parent if node.is_line and node.parent else node
                self._copy(" / ".join(source.path), source.value)

    @on(Rows.Chosen, "RawRows")
    def _choose(self, event: Rows.Chosen) -> None:
        event.stop()
        if self._node is not None:
            self._toggle(self._node, event.index)

    def _toggle(self, node: JsonNode, at: int) -> None:
        if node.is_open:
            self._tree.fold(at)
        elif node.is_series and node.value is None:
            self._read_points(node)
        else:
            self._tree.unfold(at, self._width)
        self._lay_out(at)

    @work(exclusive=True, group="raw-points")
    async def _read_points(self, node: JsonNode) -> None:
        """Read the newest points of a timeseries aspect, and expand it."""
        entity = self._entity
        if entity is None:
            return
        with self._session.reporting(f"reading the newest points of {node.aspect}"):
            catalog = await self._session.catalog()
            try:
                series = await catalog.timeseries(entity.urn, node.aspect, limit=_POINTS)
            except CatalogError:
                self._rows.refresh()
                raise
            if entity is not self._entity or node not in self._tree.rows:
                return
            node.value = self._points[node.aspect] = list(reversed(series.values))
            at = self._rows.cursor
            self._tree.unfold(self._tree.rows.index(node), self._width)
            self._lay_out(at)

    def _value_of(self, aspect: str) -> Any:
        entity = self._entity
        if aspect in self._points:
            return self._points[aspect]
        return entity.raw(aspect) if entity else None

    @work(exclusive=True, group="raw-copy", description="copying")
    async def _copy(self, what: str, value: Any) -> None:
        with self._session.reporting("copying"):
            if value is None and what in self._series:
                self._session.say("The points are not read yet; ⏎ reads them.")
                return
            text = await asyncio.to_thread(format_json, value)
            self.app.copy_to_clipboard(text)

    @on(Input.Changed)
    def _handle_input(self, event: Input.Changed) -> None:
        event.stop()
        if self._has_filter:
            self._filter(event.value.strip())

    @on(FilterLine.FilterClosed)
    def _leave_filter(self, event: FilterLine.FilterClosed) -> None:
        event.stop()
        if not event.keep:
            self._build_tree(frozenset(), 0)
        self.screen.set_focus(self._rows)

    @work(exclusive=True, group="raw-filter")
    async def _filter(self, text: str) -> None:
        """Show the keys that contain a text; without a text, the tree."""
        entity = self._entity
        if entity is None:
            return
        if not text:
            self._build_tree(frozenset(), 0)
            return
        values = {name: aspect.value for name, aspect in entity.aspects.items()}
        with self._session.reporting("searching the keys"):
            nodes = await asyncio.to_thread(find_keys, values | self._points, text)
            if entity is self._entity and self._has_filter:
                self._tree = JsonTree(nodes)
                self._lay_out(0)
                count = len(nodes)
                summary = f"{counted(count, 'key')} with that text"
                cut = " · the search stopped here" if count >= FOUND_LIMIT else ""
                self.query_one("#stored", Static).update(Text(summary, "bold").append(cut, "dim"))

    def _draw_row(self, index: int, width: int) -> tuple[Text]:
        """Return a row of the tree as text."""
        del width
        node = self._tree.rows[index]
        indent = "  " * node.depth
        if node.more:
            words = f" {indent}  … {node.more:,} more; ⏎ shows the next"
            return (Text().append(words, "dim italic"),)
        if node.is_line:
            # Spaces in a text are shown unchanged.
            return (Text().append(f" {indent}│ ", "dim").append(block(node.value)),)
        fold = ("▾" if node.is_open else "▸") if node.folds else " "
        row = Text().append(f" {indent}{fold} ", "dim")
        if node.depth == 0 and not self._has_filter:
            return (row.append_text(self._draw_aspect(node)),)
        label = node.path if self._has_filter and node.depth == 0 else (self._label(node),)
        row.append_text(join([line_text(key[:_LABEL_LIMIT]) for key in label], " / "))
        row.stylize("dim" if node.of_list else "bold", len(indent) + 3)
        return (row.append("  ").append_text(_value_text(node)),)

    def _label(self, node: JsonNode) -> str:
        millis = node.millis
        return node.path[-1] if millis is None else self._session.times.format(millis)

    def _draw_aspect(self, node: JsonNode) -> Text:
        """Return the row of an aspect, with its size, author and time."""
        text = (
            Text()
            .append_text(padded(line_text(node.aspect, "bold"), self._name_width))
            .append("  ")
        )
        if node.is_series:
            if node.value is None:
                return text.append("timeseries; ⏎ reads its newest points", "dim italic")
            count = len(node.value)
            newest = f"the newest {count:,} points" if count else "no points"
            return text.append(f"timeseries · {newest}", "dim")
        aspect = self._entity.aspects[node.aspect] if self._entity else None
        facts = [Text(_describe_size(node.value))]
        if aspect is not None:
            facts.append(Text(self._session.times.when(aspect.created)))
            facts += [
                line_text(actor_of(aspect.created, self._session.names)),
                line_text(run_of(aspect.run_id)),
            ]
        return text.append_text(Text(join(facts).plain, "dim"))


def _value_text(node: JsonNode) -> Text:
    """Return a value as text: in full if it is short, else its size and a preview."""
    value = node.value
    match value:
        case None | bool():
            return Text({None: "null", True: "true", False: "false"}[value], "italic")
        case str():
            return line_text(f'"{value[:_VALUE_LIMIT]}{"…" if len(value) > _VALUE_LIMIT else ""}"')
        case dict() | list():
            return Text(_describe_size(value), "dim").append_text(_preview(value))
        case _:
            return line_text(str(value)[:_VALUE_LIMIT])


def _describe_size(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{counted(len(value), 'key')}}}"
    return f"[{len(value):,}]" if isinstance(value, list) else ""


def _preview(value: dict[str, Any] | list[Any]) -> Text:
    """Return the first short texts and numbers in a value."""
    elements = list(value.values() if isinstance(value, dict) else value)[:_PREVIEWED]
    short = [
        element
        for element in elements
        if isinstance(element, str | int | float) and element is not True
    ]
    parts = [
        line_text(str(element)[:_LABEL_LIMIT], "dim") for element in short if element is not False
    ]
    return Text("  ").append_text(join(parts)) if parts else Text()
