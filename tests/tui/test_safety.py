"""Whatever slips past the cleaning of text is caught before it reaches the terminal."""

from typing import Any, cast

import pytest
from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color

from explorer.tui.app import CatalogApp, ControlFilter


def test_the_last_gate_takes_out_what_would_drive_the_terminal_and_moves_nothing() -> None:
    segments = [Segment("plain "), Segment("\x1b]0;title\x07\t \x9bA\n \u202e日本")]
    passed = ControlFilter().apply(segments, Color(0, 0, 0))
    text = "".join(segment.text for segment in passed)
    assert text == "plain ]0;title A 日本"
    assert cell_len(text) == sum(segment.cell_length for segment in segments)


def test_plain_lines_pass_as_they_are() -> None:
    segments = [Segment("plain")]
    assert ControlFilter().apply(segments, Color(0, 0, 0)) is segments


@pytest.mark.anyio
async def test_every_line_of_the_application_goes_through_the_gate() -> None:
    from textual.widgets import Static

    app = CatalogApp(cast(Any, lambda: None))
    async with app.run_test(size=(40, 10)) as pilot:
        await app.mount(Static("\x1b[31mraw", markup=False))
        await pilot.pause()
        static = app.query(Static).last()
        strip = static.render_lines(static.size.region)[0]
        assert strip.text.strip() == "[31mraw"
