"""Whatever slips past the cleaning of text is caught before it reaches the terminal."""

import pytest
from rich.segment import Segment
from textual.color import Color

from explorer.client.display import visible
from explorer.tui.app import CatalogApp
from explorer.tui.safety import ControlFilter


def test_the_last_gate_shows_marks_for_what_would_drive_the_terminal():
    segments = [Segment("plain "), Segment("\x1b]0;title\x07 \x9bA \u202e")]
    passed = ControlFilter().apply(segments, Color(0, 0, 0))
    text = "".join(segment.text for segment in passed)
    assert text == "plain ␛]0;title␇ �A �"
    assert len(text) == sum(len(segment.text) for segment in segments)


def test_plain_lines_pass_as_they_are():
    segments = [Segment("plain")]
    assert ControlFilter().apply(segments, Color(0, 0, 0)) is segments


@pytest.mark.anyio
async def test_every_line_of_the_application_goes_through_the_gate():
    from textual.widgets import Static

    app = CatalogApp(lambda: None)
    async with app.run_test(size=(40, 10)) as pilot:
        await app.mount(Static("\x1b[31mraw", markup=False))
        await pilot.pause()
        static = app.query(Static).last()
        strip = static.render_lines(static.size.region)[0]
        assert strip.text.strip() == visible("\x1b[31mraw")
