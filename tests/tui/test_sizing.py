"""Widgets learn their size, also where Textual sends them no event."""

from typing import Any

import pytest
from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.geometry import Region
from textual.widgets import Static

from explorer.tui.widgets.rows import Rows, SizeAware

pytestmark = pytest.mark.anyio


class Told(SizeAware):
    DEFAULT_CSS = "Told { height: 5; }"

    def __init__(self) -> None:
        super().__init__()
        self.sizes: list[Any] = []
        self.lost = 0

    def post_message(self, message: Any) -> Any:
        # Textual does not send the event if the region was looked up before the layout.
        if isinstance(message, events.Resize) and not self.lost:
            self.lost += 1
            return False
        return super().post_message(message)

    def on_resize(self) -> None:
        self.sizes.append(self.size)


class Page(App[None]):
    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield Static("line\n" * 100)


async def test_a_resize_event_that_was_not_sent_is_made_up_for() -> None:
    app = Page()
    async with app.run_test(size=(40, 12)) as pilot:
        told = Told()
        await app.query_one(VerticalScroll).mount(told, before=0)
        await pilot.pause()
        assert told.lost
        assert told.sizes
        assert told.sizes[-1] == told.size
        assert told.size.width > 30


async def test_every_further_size_is_told() -> None:
    app = Page()
    async with app.run_test(size=(40, 12)) as pilot:
        told = Told()
        await app.query_one(VerticalScroll).mount(told, before=0)
        await pilot.pause()
        before = told.size
        await pilot.resize_terminal(60, 12)
        await pilot.pause()
        assert told.sizes[-1] == told.size
        assert told.size.width == before.width + 20


async def test_a_list_that_was_just_removed_can_be_painted_once_more() -> None:
    app = Page()
    async with app.run_test(size=(40, 12)) as pilot:
        rows = Rows()
        await app.query_one(VerticalScroll).mount(rows, before=0)
        rows.show(3, lambda index, width: [Text(f"row {index}")])
        await pilot.pause()
        await rows.remove()
        assert [strip.text for strip in rows.render_lines(Region(0, 0, 4, 2))] == ["    ", "    "]
