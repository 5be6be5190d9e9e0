"""How the terminal looks and is steered: colours, attributes, narrowing, jumping, zooming."""

import asyncio
import re
import time
from pathlib import Path
from typing import Any

import pytest
from rich.color import Color, parse_rgb_hex
from textual.color import Color as Mixed

from explorer.metadata import Urn
from explorer.tui.screens.columns import ColumnDetail
from explorer.tui.screens.search_results import SEEN, Welcome
from explorer.tui.settings import Appearance, Settings, SettingsRead
from explorer.tui.state import TerminalState
from explorer.tui.widgets.bars import KeyLine
from explorer.tui.widgets.rows import Rows
from tests.tui.conftest import OpenTerminal, Reader

pytestmark = pytest.mark.anyio

ORDERS = Urn.dataset("snowflake", "analytics.marts.fct_orders")
AT_LEAST = 7.0
# Lines around panes are seen, not read.
DRAWN = re.compile(r"[\s─│╭╮╰╯├┤┬┴┼━┃▁▂▃▄▅▆▇█▏▎▍▌▋▊▉▔▕░▒▓⣿⠀-⣿]*")


def look(theme: str = "", **settings: Any) -> Any:
    return Appearance(SettingsRead(Settings(**settings)), theme)


def segments(reader: Reader) -> Any:
    """What is sent to the terminal, with its style."""
    app = reader.app
    update = app.screen._compositor.render_update(full=True, screen_stack=app._background_screens)
    return [
        segment
        for segment in app.console.render(update or "")
        if segment.style is not None and segment.control is None
    ]


def contrast(one: Any, other: Any) -> Any:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: Any) -> Any:
    return sum(
        weight * (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4)
        for weight, part in zip(
            (0.2126, 0.7152, 0.0722), (value / 255 for value in colour.triplet), strict=True
        )
    )


def faint(reader: Reader, at_least: float = AT_LEAST) -> Any:
    """The texts that have too little contrast with what is behind them."""
    found = {}
    for segment in segments(reader):
        style = segment.style
        if DRAWN.fullmatch(segment.text):
            continue
        fore, back = style.color, style.bgcolor
        assert fore is not None
        assert back is not None, segment
        if style.reverse:
            fore, back = back, fore
        if (ratio := contrast(fore, back)) < at_least:
            found[segment.text.strip()] = (round(ratio, 1), fore.name, back.name)
    return found


async def until(reader: Reader, so: Any) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + 120
    while not so():
        assert time.monotonic() < deadline, reader.screen()
        await asyncio.sleep(0.02)
        await reader.pilot.pause()


@pytest.mark.nightly
async def test_in_strong_contrast_every_text_on_every_screen_can_be_read(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample, urn=ORDERS, look=look("contrast")) as reader:
        await reader.sees("documented")
        for keys in (["j"], ["1"], ["3"], ["4"], ["5"], ["6"], ["7"], ["8"], ["2", "e"]):
            await reader.press(*keys)
            assert faint(reader) == {}, keys
        await reader.press("escape", "question_mark")
        assert faint(reader) == {}
        await reader.press("escape", "colon", "down")
        assert faint(reader) == {}
        await reader.press("escape", "slash", *"orders")
        assert faint(reader) == {}
        reader.app._say("This did not work.", error=True)
        await reader.settle()
        assert faint(reader) == {}


@pytest.mark.nightly
async def test_of_the_other_themes_no_text_is_faint(sample: Path, at: OpenTerminal) -> None:
    async def look_at_it_in_every_theme(*keys: str) -> None:
        await reader.press(*keys)
        for theme in ("catalog", "light", "colour-blind"):
            reader.app.theme = theme
            await reader.settle()
            assert faint(reader, 4.5) == {}, (theme, keys)

    async with at(sample) as reader:
        # Below the cursor, beside it, and what an empty line asks for.
        await reader.sees("329 results", "a name, a word")
        await look_at_it_in_every_theme()
        await look_at_it_in_every_theme("f", "down")
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        for key in ("j", "1", "3", "4", "5", "6", "7", "8"):
            await look_at_it_in_every_theme(key)
        await look_at_it_in_every_theme("2", "u", "e")


async def test_the_line_above_the_details_of_a_column_changes_with_the_theme(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.press("2")
        await reader.sees("documented")
        for theme in ("light", "catalog"):
            reader.app.theme = theme
            await reader.settle()
            kind, colour = reader.app.query_one(ColumnDetail).styles.border_top
            assert kind == "solid"
            assert colour == Mixed.parse(reader.app.theme_variables["border-blurred"])


async def test_of_the_other_themes_the_plain_text_can_be_read_too(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        for theme in ("catalog", "light", "colour-blind"):
            reader.app.theme = theme
            await reader.settle()
            style = reader.app.query_one("#tabs").rich_style
            assert contrast(style.color, style.bgcolor) > AT_LEAST, theme


async def test_what_a_description_marks_can_be_read_on_every_ground(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("1")
        await reader.sees("net_amount is what finance reports", "select", "handbook")
        for theme in ("catalog", "light", "colour-blind"):
            reader.app.theme = theme
            await reader.settle()
            ground = parse_rgb_hex((reader.app.current_theme.background or "").removeprefix("#"))
            marked = [
                segment
                for segment in segments(reader)
                if segment.text.strip() in ("net_amount", "select", "'cancelled'", "handbook")
            ]
            assert len(marked) >= 4, theme
            for segment in marked:
                fore, back = segment.style.color, segment.style.bgcolor
                assert tuple(back.triplet) == tuple(ground), (theme, segment)
                assert contrast(fore, back) > 4.5, (theme, segment)


async def test_the_sixteen_colours_are_the_terminals_own(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, urn=ORDERS, look=look("ansi")) as reader:
        await reader.sees("documented")
        for key in ("j", "3", "1", "question_mark", "escape", "ctrl+o", "escape", "slash"):
            await reader.press(key)
            mixed = {
                color.name
                for segment in segments(reader)
                for color in (segment.style.color, segment.style.bgcolor)
                if color is not None and color.triplet is not None
            }
            assert mixed == set(), key


async def test_without_colours_attributes_say_where_one_is(
    sample: Path, at: OpenTerminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        sent = segments(reader)
        default = Color.default()
        assert {segment.style.color for segment in sent} <= {default, None}
        assert {segment.style.bgcolor for segment in sent} <= {default, None}
        # The cursor's row, and the tab that is open.
        assert any("order" in one.text and one.style.reverse for one in sent)
        assert any("Columns" in one.text and one.style.underline for one in sent)
        await reader.press("slash", *"orders")
        assert any(one.text == "orders" and one.style.underline for one in segments(reader))
        await reader.press("ctrl+o")
        assert any(one.text == " a " and one.style.reverse for one in segments(reader))
        await reader.press("escape", "f2")
        await reader.sees("NO_COLOR is set")


async def test_colours_are_tried_on_kept_and_found_again(
    sample: Path, at: OpenTerminal, tmp_path: Path
) -> None:
    file = tmp_path / "state.json"
    async with at(sample, urn=ORDERS, remembered=TerminalState(file)) as reader:
        await reader.sees("documented")
        await reader.press("f2", "down")
        assert reader.app.theme == "light"
        await reader.press("escape")
        assert reader.app.theme == "catalog"
        await reader.press("f2")
        await reader.type("blind")
        assert reader.app.theme == "colour-blind"
        await reader.press("enter")
        await reader.sees("documented", "Columns")
        assert reader.app.screen is reader.app._main_screen
    async with at(sample, remembered=TerminalState(file)) as reader:
        assert reader.app.theme == "colour-blind"


@pytest.mark.parametrize("theme", ["high-contrast", "terminal"])
async def test_colours_are_tried_on_with_the_page_in_sight(
    sample: Path, at: OpenTerminal, theme: str
) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("f2")
        while reader.app.theme != theme:
            await reader.press("down")
        assert "discount_amount" in reader.app.export_screenshot(simplify=True)


async def test_what_is_wrong_with_the_settings_is_told_and_the_rest_is_used(
    sample: Path, at: OpenTerminal
) -> None:
    read = SettingsRead(
        Settings(theme="light", keys={"app.quit": "ctrl+i"}), ("line 3: no such thing",)
    )
    async with at(sample, size=(80, 24), look=Appearance(read)) as reader:
        await reader.sees("line 3: no such thing (and 1 more)")
        assert reader.app.theme == "light"


async def test_an_unknown_theme_and_drafts_are_both_told_of_at_the_start(
    desk: Path, at: OpenTerminal
) -> None:
    async with at(desk, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("u", "e")
        await reader.sees("^s save")
        await reader.type("Not saved.")
        await reader.press("escape")
        await reader.sees("F4 lists it")
    async with at(desk, size=(80, 24), look=look("nope")) as reader:
        await reader.sees("1 text that you typed is not saved yet", "“nope”")


async def test_keys_that_were_set_work_and_are_shown_everywhere(
    sample: Path, at: OpenTerminal
) -> None:
    keys = {"schema.next-undocumented": "ctrl+y, N", "app.help": "f11"}
    async with at(sample, urn=ORDERS, look=look(keys=keys)) as reader:
        await reader.sees("documented", "^y next undocumented")
        rows = reader.rows
        await reader.press("u")
        assert rows.cursor == 0
        await reader.press("N")
        assert rows.cursor > 0
        await reader.press("f11")
        assert "^y N             Go to the next column" in await reader.sees("Columns  here")
        await reader.press("escape", "colon")
        await reader.type("next column")
        await reader.sees(" ^y N  ")


async def test_help_narrows_and_does_what_stands_there(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("question_mark")
        shown = await reader.sees("Columns  here", "Entity  here")
        assert shown.index("Columns  here") < shown.index("Entity  here")
        await reader.type("depends most")
        shown = await reader.sees("Impact: what depends on it, most used first")
        assert "Copy the URN" not in shown
        # An action of a place where one is not: it is told, and cannot be done.
        await reader.press("enter")
        await reader.sees("depends most")
        await reader.press("ctrl+u")
        await reader.type("Relationships")
        await reader.press("enter")
        await reader.sees("made from")
        await reader.press("question_mark", "question_mark")
        await reader.sees("made from")


async def test_the_palette_has_what_works_around_the_focus_too(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        # Open beside the page; the focus is in the folders.
        await reader.press("f6", "colon")
        await reader.type("undocumented")
        await reader.press("ctrl+u")
        await reader.type("next colum")
        await reader.press("enter")
        # The list goes, the focus comes, then it is done: each is a turn of its own, and on a
        # machine that is busy they are not all over when pilot thinks that nothing happens.
        await until(reader, lambda: isinstance(reader.app.focused, Rows))
        await until(reader, lambda: reader.rows.cursor > 0)
        assert reader.rows.has_pseudo_class("focus")
        await reader.press("colon")
        await reader.sees("Everything", "type to filter")
        # Letters in their order are enough.
        await reader.type("cpyurn")
        await reader.sees("Copy the URN")
        await reader.type("xxxx")
        await reader.sees("No entry matches.")


@pytest.mark.nightly
async def test_the_palette_leads_to_entities_recent_pages_and_saved_searches(
    desk: Path, at: OpenTerminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path))
    async with at(desk, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("colon")
        # Each action with its own keys.
        shown = await reader.sees(
            "1                Overview", "t ^t             Tags of this entity"
        )
        assert "1–8" not in shown
        await reader.type("mart_customer")
        await reader.sees("mart_customer_360", "Entities · Table · snowflake")
        await reader.press("enter")
        await reader.sees("mart_customer_360   Table", "documented")
        await reader.ask("platform:kafka")
        await reader.press("enter", "s")
        await reader.type("streams")
        await reader.press("enter")
        await reader.press("colon")
        await reader.type("fct_orders")
        await reader.sees("Recent pages · Table · snowflake")
        await reader.press("ctrl+u")
        await reader.type("streams")
        await reader.sees("Saved searches · platform:kafka")
        await reader.press("enter")
        await reader.sees("platform:kafka", "results")


async def test_a_letter_jumps_to_anything_on_the_screen(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        before = reader.app.focused
        await reader.press("ctrl+o")
        labels = {
            str(mark.render()).strip(): mark.region.offset
            for mark in reader.app.screen.query(".letter")
        }
        tree = reader.app._main_screen.query_one("BrowseTree")
        letter = next(key for key, place in labels.items() if place.x <= 2 and place.y <= 2)
        await reader.press(letter)
        assert reader.app.focused in (tree, *tree.query("*"))
        await reader.press("ctrl+o", "escape")
        assert reader.app.focused is not before
        await reader.press("ctrl+o", "f5")
        assert reader.app.screen is reader.app._main_screen


async def test_a_pane_fills_the_screen_until_it_is_left(sample: Path, at: OpenTerminal) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented", "snowflake")
        await reader.press("f10")
        shown = reader.screen()
        assert "1 Over" not in shown
        assert "order_id" in shown or "order_number" in shown
        pane = reader.app._main_screen.maximized
        assert pane is not None
        assert pane.region.width == 120
        await reader.press("f10")
        await reader.sees("1 Over")
        await reader.press("f10", "slash")
        await reader.sees("results")
        assert reader.app._main_screen.maximized is None


@pytest.mark.parametrize("size", [(80, 24), (40, 10), (300, 80)])
async def test_the_frame_is_whole_at_every_size(sample: Path, at: OpenTerminal, size: Any) -> None:
    async with at(sample, size=size, urn=ORDERS) as reader:
        await reader.sees("entities" if size[0] > 40 else "documented")
        last = reader.screen().splitlines()[-1]
        assert last.rstrip().endswith(": commands")
        assert reader.app.query_one(KeyLine).size.height == 1
        for keys in (["question_mark"], ["escape", "colon"], ["escape", "f2"]):
            await reader.press(*keys)
            lines = reader.screen().splitlines()
            assert len(lines) <= size[1]
            assert all(len(line) <= size[0] for line in lines)
            frame = [line for line in lines if "╭" in line or "╰" in line]
            assert any("╮" in line for line in frame)
            assert any("╯" in line for line in frame)
        await reader.press("escape")
        reader.app._say("A long sentence about what went wrong. " * 20, error=True)
        await reader.settle()
        line = reader.app.query_one(KeyLine)
        assert line.size.height <= (2 if size[1] < 16 else 3)
        if size[0] < 300:
            await reader.sees("…")


async def test_clicks_on_titles_of_tabs_keys_and_help_do_what_they_say(
    sample: Path, at: OpenTerminal
) -> None:
    async with at(sample, urn=ORDERS) as reader:
        shown = (await reader.sees("documented", "4 Rel")).splitlines()
        y = next(at for at, line in enumerate(shown) if "4 Rel" in line)
        await reader.pilot.click(offset=(shown[y].index("4 Rel") + 3, y))
        await reader.settle()
        await reader.sees("made from")
        await reader.press("ctrl+o")
        await reader.sees(" a ", " s ", " d ")
        letters = {
            mark.region.offset: str(mark.render()).strip()
            for mark in reader.app.screen.query(".letter")
        }
        place = min(
            (one for one in letters if one.y == y),
            key=lambda one: abs(one.x - shown[y].index("2 C")),
        )
        await reader.press(letters[place])
        await reader.sees("documented")
        await reader.pilot.click(offset=(shown[0].index("? help") + 3, 0))
        await reader.settle()
        await reader.sees("Columns  here")
        await reader.press("escape")
        await reader.sees("documented")
        line = reader.app.query_one(KeyLine)
        text = reader.screen().splitlines()[-1]
        await reader.pilot.click(line, offset=(text.index(": commands") + 3, 0))
        await reader.settle()
        await reader.sees("Everything", "type to filter")


async def test_newcomers_are_greeted_until_they_have_found_something(
    sample: Path, at: OpenTerminal, tmp_path: Path
) -> None:
    file = tmp_path / "state.json"
    async with at(sample, size=(80, 24), remembered=TerminalState(file)) as reader:
        await reader.sees("Welcome", "type a name", "Tarnwood", "results")
        await reader.press("slash", *"fct_orders")
        assert not reader.app.query(Welcome)
    remembered = TerminalState(file)
    async with at(sample, remembered=remembered) as reader:
        await reader.sees("Welcome")
        await reader.press("slash", *"fct_orders", "enter", "enter")
        await reader.sees("documented")
        assert remembered.has_seen(SEEN)
    async with at(sample, remembered=TerminalState(file)) as reader:
        await reader.sees("results")
        assert not reader.app.query(Welcome)
        await reader.press("ctrl+g")
        await reader.sees("Welcome", "Tarnwood")


def test_the_colours_that_say_good_and_bad_differ_in_lightness_for_the_colour_blind() -> None:
    theme = Appearance().themes["colour-blind"]
    good, bad = Mixed.parse(theme.success), Mixed.parse(theme.error)
    # Nothing hangs on red against green: one is bluish, the other is not.
    assert good.b > good.r
    assert bad.r > bad.b


@pytest.mark.parametrize(
    ("word", "found"), [("theme", "Choose a theme"), ("export", "Write what is shown")]
)
async def test_the_palette_knows_actions_by_the_words_of_the_settings_too(
    sample: Path, at: OpenTerminal, word: str, found: str
) -> None:
    async with at(sample) as reader:
        await reader.sees("results")
        await reader.press("colon")
        await reader.type(word)
        shown = await reader.sees(found)
        first = next(line for line in shown.splitlines() if "f2" in line or " X " in line)
        assert found in first
