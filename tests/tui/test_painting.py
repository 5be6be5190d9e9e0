"""A screen is painted from as little as it takes, and comes out as Textual would have it."""

import pytest
from textual._compositor import Compositor, CompositorUpdate
from textual.app import App, ComposeResult
from textual.containers import Horizontal
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from explorer.metadata import Urn
from explorer.tui.painting import Desk
from explorer.tui.shell.pens import shortened

pytestmark = pytest.mark.anyio


class Sheet(Widget):
    """Every cell is a letter of its name; it counts the lines it is asked for."""

    def __init__(self, name):
        super().__init__(id=name)
        self.asked = []

    def render_lines(self, crop):
        self.asked += crop.line_range
        return super().render_lines(crop)

    def render(self):
        return "\n".join([self.id[0] * self.size.width] * self.size.height)


class Sheets(App[None]):
    CSS = """
    Screen { layers: under above; }
    #left { width: 12; border: solid green; } #right { width: 1fr; }
    #over { layer: above; dock: top; width: 20; height: 3; margin: 2 0 0 6; }
    #lid { dock: bottom; height: 2; }
    """

    def get_default_screen(self):
        return Desk(id="_default")

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield Sheet("left")
            yield Sheet("right")
        yield Sheet("over")
        yield Static("[b]wide 漢字[/b] and more", id="lid")


async def test_a_whole_screen_is_as_textual_puts_it_together():
    app = Sheets()
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.pause()
        ours = app.screen._compositor
        theirs = Compositor._render_chops(ours, ours.size.region, lambda _: True)
        shown = [Strip.join(line.values()).text for line in theirs]
        assert [strip.text for strip in ours.render_strips()] == shown
        assert "│oooo" not in shown[0]
        assert "oooo" in shown[2]


async def test_only_what_changed_is_drawn_and_only_by_those_who_are_seen_there():
    app = Sheets()
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.pause()
        left, right, over = (app.query_one(f"#{name}", Sheet) for name in ("left", "right", "over"))
        for one in (left, right, over):
            one.asked.clear()
        ours = app.screen._compositor
        ours._dirty_regions = {Region(14, 3, 4, 1), Region(30, 7, 5, 1)}
        update = ours.render_partial_update()
        assert update is not None
        assert (left.asked, right.asked, over.asked) == ([], [7], [1])
        ours._dirty_regions = {Region(14, 3, 4, 1), Region(30, 7, 5, 1)}
        theirs = Compositor.render_partial_update(ours)
        assert theirs is not None
        console = app.console
        assert update.render_segments(console) == theirs.render_segments(console)


async def test_what_lies_outside_the_screen_is_not_drawn():
    app = Sheets()
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.pause()
        ours = app.screen._compositor
        ours._dirty_regions = {Region(0, 40, 5, 5)}
        assert ours.render_partial_update() is None
        assert not ours._dirty_regions


async def test_what_was_just_taken_away_is_not_asked_for_its_lines():
    app = Sheets()
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.pause()
        over = app.query_one("#over", Sheet)
        ours = app.screen._compositor
        with app.batch_update():
            await over.remove()
            over.asked.clear()
            assert over in ours.visible_widgets
            shown = [strip.text for strip in ours.render_strips()]
        assert not over.asked
        assert "│llll" in shown[3]


WALK = """
    down f down b b down right down b b 1 down 2 down s f escape 3 l plus 4 down 5 left 6 7 down
    8 space question_mark escape colon escape slash o r enter w f
"""


def _told(differing, expected, seen):
    """Where it differs and how, for who reads that it does."""
    first = min(differing)
    rows, columns = ([place[at] for place in differing] for at in (0, 1))
    where = f"rows {min(rows)} to {max(rows)}, columns {min(columns)} to {max(columns)}"
    return f"{where}: {expected[first]} is to stand there, {seen.get(first)} does"


async def test_a_screen_painted_in_pieces_is_the_one_painted_as_a_whole(sample, at, cells):
    orders = Urn.dataset("snowflake", "analytics.marts.fct_orders")
    async with at(sample, urn=orders) as reader:
        await reader.sees("documented")
        app, seen = reader.app, {}

        def display(screen, update):
            if isinstance(update, CompositorUpdate) and screen is app.screen:
                told = "\x1b[0m" + update.render_segments(app.console)
                _, left = cells(shortened(told), seen)
                assert left == cells("")[1]

        app._display = display
        app.screen.refresh()
        await reader.settle()
        for at_key, key in enumerate(WALK.split()):
            await reader.press(key)
            for _ in range(40):
                whole = app.screen._compositor.render_update(full=True)
                expected, _ = cells(whole.render_segments(app.console))
                assert len(expected) > 4_000
                differing = {place for place, cell in expected.items() if seen.get(place) != cell}
                if not differing:
                    break
                # What was drawn in a thread may not be painted yet.
                await reader.settle()
            assert not differing, (at_key, key, _told(differing, expected, seen))
