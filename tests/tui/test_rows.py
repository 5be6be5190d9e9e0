"""The list under every table draws what is on screen and nothing else."""

from collections.abc import Iterator
from typing import Any

import pytest
from rich.text import Text
from textual.app import App, ComposeResult

from explorer.tui.widgets import rows as rows_module
from explorer.tui.widgets.rows import Rows, TextRows

pytestmark = [pytest.mark.anyio, pytest.mark.paints]


class Listing(App[None]):
    def __init__(self, count: Any) -> None:
        super().__init__()
        self.count = count
        self.drawn: set[int] = set()

    def compose(self) -> ComposeResult:
        yield Rows()

    def on_mount(self) -> None:
        self.query_one(Rows).show(self.count, self.draw)
        self.query_one(Rows).focus()

    def draw(self, index: Any, width: Any) -> Any:
        self.drawn.add(index)
        return (Text(f"row {index}"),)


async def test_ten_million_rows_cost_what_is_on_screen() -> None:
    app = Listing(10_000_000)
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.press("down", "G", "pagedown", "k")
        await pilot.pause()
        rows = app.query_one(Rows)
        assert rows.cursor == 9_999_998
        assert len(app.drawn) < 100


@pytest.mark.parametrize(
    ("keys", "cursor"),
    [
        (["j", "j", "k"], 1),
        (["pagedown"], 10),
        (["ctrl+d"], 5),
        (["G"], 99),
        (["G", "g"], 0),
        (["up"], 0),
        (["end", "down"], 99),
    ],
)
async def test_the_cursor_moves_by_arrows_and_by_letters(keys: Any, cursor: int) -> None:
    app = Listing(100)
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.press(*keys)
        rows = app.query_one(Rows)
        assert rows.cursor == cursor
        height = rows.scrollable_content_region.height
        assert rows.scroll_offset.y <= cursor < rows.scroll_offset.y + height


async def test_a_click_moves_and_a_second_one_chooses() -> None:
    chosen = []

    class ChooserScreen(Listing):
        def on_rows_chosen(self, event: Any) -> None:
            chosen.append(event.index)

    app = ChooserScreen(100)
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.click(Rows, offset=(3, 4))
        assert (app.query_one(Rows).cursor, chosen) == (4, [])
        await pilot.click(Rows, offset=(3, 4))
        assert chosen == [4]


async def test_lines_to_read_scroll_at_the_first_key_and_after_the_wheel() -> None:
    class Reading(Listing):
        def compose(self) -> Iterator[Any]:
            yield TextRows()

    app = Reading(100)
    async with app.run_test(size=(40, 10)) as pilot:
        lines = app.query_one(TextRows)
        await pilot.press("down")
        assert lines.scroll_offset.y == 1
        lines.scroll_to(y=30, animate=False, immediate=True)
        await pilot.press("k")
        assert lines.scroll_offset.y == 29
        await pilot.click(TextRows, offset=(3, 4))
        await pilot.press("ctrl+d")
        assert lines.scroll_offset.y == 34
        await pilot.press("G")
        assert lines.scroll_offset.y == 90
        await pilot.press("up")
        assert lines.scroll_offset.y == 89


async def test_a_list_that_is_hidden_keeps_still(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Listing(100)
    async with app.run_test(size=(40, 10)) as pilot:
        rows = app.query_one(Rows)
        rows.display = False
        await pilot.pause()
        asked: list[Any] = []
        monkeypatch.setattr(rows, "call_after_refresh", lambda *args: asked.append(args))
        rows.show(50, app.draw, cursor=40)
        await pilot.pause()
        assert not asked
        monkeypatch.undo()
        rows.display = True
        for _ in range(100):
            await pilot.pause()
            if rows.scroll_offset.y > 30:
                break
        assert rows.scroll_offset.y > 30


async def test_a_row_that_came_back_into_view_is_not_drawn_again() -> None:
    app = Listing(1_000)
    async with app.run_test(size=(40, 10)) as pilot:
        await pilot.press("pagedown", "pagedown")
        await pilot.pause()
        app.drawn.clear()
        await pilot.press("up", "pageup")
        await pilot.pause()
        # Those that the cursor stood on before, and stands on now.
        assert len(app.drawn) <= 4
        app.drawn.clear()
        app.query_one(Rows).refresh()
        await pilot.pause()
        assert len(app.drawn) == 10


class Styled(Listing):
    def draw(self, index: Any, width: Any) -> Any:
        return (Text(f"row {index}", "bold" if index == 1 else ""),)


async def test_a_text_keeps_its_style_when_it_has_one_for_all_of_it() -> None:
    app = Styled(3)
    async with app.run_test(size=(20, 4)):
        rows = app.query_one(Rows)
        bold = [[one.style and one.style.bold for one in rows.render_line(y)] for y in range(3)]
        assert bold == [[None], [True], [None]]


class Spaced(Listing):
    def draw(self, index: Any, width: Any) -> Any:
        return (Text.assemble("  ", ("a", "bold"), "  ", ("b", "reverse"), ("  ", "underline")),)


async def test_blanks_are_sent_with_their_neighbours_where_that_looks_the_same() -> None:
    app = Spaced(2)
    async with app.run_test(size=(20, 4)):
        pieces = [one.text for one in app.query_one(Rows).render_line(1)]
        assert [one.rstrip() for one in pieces] == ["  a", "b", "", ""]


async def test_a_list_without_rows_renders_one_line_of_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rendered: list[str] = []
    strip_of = rows_module.strip_of

    def strip(line: Text, *given: Any) -> Any:
        rendered.append(line.plain)
        return strip_of(line, *given)

    monkeypatch.setattr(rows_module, "strip_of", strip)
    app = Listing(0)
    async with app.run_test(size=(40, 10)) as pilot:
        rendered.clear()
        app.query_one(Rows).show(0, app.draw, empty="nothing is here")
        await pilot.pause()
    assert set(rendered) == {"  nothing is here"}
