"""What a reader sees after a walk with keys is what the screen would show if drawn from scratch."""

from pathlib import Path
from typing import Any

import pytest
from textual._compositor import CompositorUpdate

from explorer.metadata import Urn
from tests.tui.conftest import Cells, OpenTerminal, ShownCells

pytestmark = [pytest.mark.anyio, pytest.mark.paints]


WALK = """
    down f down b b down right down b b 1 down 2 down s f escape 3 l plus 4 down 5 left 6 7 down
    8 space question_mark escape colon escape slash o r enter w f
"""


def _told(differing: Any, expected: Any, seen: Any) -> str:
    """Return a sentence that says which cells differ, and how the first of them does."""
    first = min(differing)
    rows, columns = ([place[at] for place in differing] for at in (0, 1))
    where = f"rows {min(rows)} to {max(rows)}, columns {min(columns)} to {max(columns)}"
    return f"{where}: {expected[first]} is to stand there, {seen.get(first)} does"


@pytest.mark.nightly
async def test_a_walk_with_keys_leaves_nothing_on_the_screen_that_a_repaint_would_change(
    sample: Path, at: OpenTerminal, cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders = Urn.dataset("snowflake", "analytics.marts.fct_orders")
    async with at(sample, urn=orders) as reader:
        await reader.sees("documented")
        app = reader.app
        seen: ShownCells = {}

        def display(screen: Any, update: Any) -> None:
            if isinstance(update, CompositorUpdate) and screen is app.screen:
                told = "\x1b[0m" + update.render_segments(app.console)
                _, left = cells(told, seen)
                assert left == cells("")[1]

        monkeypatch.setattr(app, "_display", display)
        app.screen.refresh()
        await reader.settle()
        for at_key, key in enumerate(WALK.split()):
            await reader.press(key)
            expected: ShownCells = {}
            differing: set[tuple[int, int]] = set()
            for _ in range(40):
                whole = app.screen._compositor.render_update(full=True)
                assert isinstance(whole, CompositorUpdate)
                expected = cells(whole.render_segments(app.console))[0]
                assert len(expected) > 4_000
                differing = {place for place, cell in expected.items() if seen.get(place) != cell}
                if not differing:
                    break
                # An update that was rendered in a thread may not be painted yet.
                await reader.settle()
            assert not differing, (at_key, key, _told(differing, expected, seen))
