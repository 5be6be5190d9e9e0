"""The text in the editor: what comes out is what went in, whatever was done and undone."""

import gc
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.geometry import Offset
from textual.widgets.text_area import Selection, WrappedDocument

import explorer
from explorer.client import Catalog
from explorer.metadata import Urn
from explorer.sessions.editing import Descriptions
from explorer.tui.screens.entity import is_describable
from explorer.tui.screens.links import problem_with
from explorer.tui.widgets.text_area import (
    ExactDocument,
    FastWrappedDocument,
    fenced_rows,
    fold_long_lines,
    spans,
)

TEXTS = [
    "",
    "\n",
    "\ttab  \r\nmixed\nends\rhere  ",
    "no end",
    "two ends\n\n",
    "separators\u2028that\x0bare\x85no\x1cends\n",
    "word " * 2_000 + "\r\nend",
    "\r\r\n\n\r",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_comes_out_as_it_went_in(text: Any) -> None:
    assert ExactDocument(text).text == text


def test_a_long_line_is_folded_into_parts_that_can_be_drawn() -> None:
    document = ExactDocument("x" * 100_000)
    assert max(map(len, document.lines)) <= 2_000
    assert document.text == "x" * 100_000


def test_what_drives_a_terminal_is_shown_as_a_mark_and_kept_as_it_is() -> None:
    document = ExactDocument("a\x1b[2Jb\u202ec\n")
    assert document.lines[0] == "a␛[2Jb�c"
    assert document.text == "a\x1b[2Jb\u202ec\n"


def test_every_edit_can_be_undone_to_the_character() -> None:
    chance = random.Random(7)
    pieces = ["a", "\r\n", "\n", "\r", "é", "\t", "\u202e", "b" * 3_000]
    for _ in range(60):
        document = ExactDocument("".join(chance.choices(pieces, k=12)))
        done, states = [], [document.text]
        for _ in range(10):
            places = []
            for _ in range(2):
                row = chance.randrange(document.line_count)
                places.append((row, chance.randint(0, len(document.lines[row]))))
            start, end = sorted(places)
            before = document.get_text_range((0, 0), start)
            after = document.get_text_range(end, document.end)
            new = "".join(chance.choices(pieces, k=2))
            done.append((start, document.replace_range(start, end, fold_long_lines(new))))
            assert document.text == before + new + after
            states.append(document.text)
        for start, edit in reversed(done):
            states.pop()
            document.replace_range(start, edit.end_location, edit.replaced_text)
            assert document.text == states[-1]


def test_lines_that_are_typed_end_as_most_of_the_others_do() -> None:
    assert ExactDocument("a\r\nb\r\nc\n").newline == "\r\n"
    assert ExactDocument("a\nb\nc\r\n").newline == "\n"
    assert ExactDocument("").newline == "\n"
    assert ExactDocument("a\r\nb\n").line_ends() == "CRLF and LF line ends"
    assert ExactDocument("a\nb\n").line_ends() == ""


def _kinds(line: Any) -> Any:
    return {(line[start:end], kind) for start, end, kind in spans(line)}


def test_markdown_is_told_from_text() -> None:
    assert ("# Head", "heading") in _kinds("# Head")
    assert ("**b**", "strong") in _kinds("a **b** c")
    assert ("*e*", "emphasis") in _kinds("an *e* here")
    assert ("`a *b*`", "code") in _kinds("see `a *b*`")
    assert not {kind for _, kind in _kinds("see `a *b*`")} - {"code"}
    assert ("[l](http://x)", "link") in _kinds("a [l](http://x)")
    assert ("- [x]", "mark") in _kinds("- [x] done")
    assert not _kinds("2 * 3 * 4 and snake_case_name")


def test_code_between_fences_is_code_until_a_fence_of_its_kind() -> None:
    lines = ["a", "```sql", "~~~", "# no head", "```", "b", "~~~", "open"]
    assert fenced_rows(lines) == {1, 2, 3, 4, 6, 7}


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("https://wiki.example.org/orders?x=1#top", ""),
        ("mailto:orders@example.org", ""),
        ("", "needs an address"),
        ("wiki.example.org/orders", "must begin with one of http, https"),
        ("javascript:alert(1)", "must begin with one of http, https"),
        ("https://", "server is missing"),
        ("https:///orders", "server is missing"),
        ("http://[::1", "not an address"),
        ("mailto:", "Nothing follows"),
        ("https://a b", "%20"),
    ],
)
def test_an_address_that_leads_nowhere_is_told_in_a_sentence(url: str, words: str) -> None:
    problem = problem_with(url)
    assert words in problem
    assert bool(problem) == bool(words)


def test_a_subject_goes_through_its_columns_in_the_order_of_the_schema(sample: Path) -> None:
    with Catalog(data_dir=sample) as catalog:
        entity = catalog.entity(Urn.dataset("snowflake", "analytics.marts.fct_orders"))
    subject = Descriptions(entity)
    paths = [column.path.raw for column in entity.schema]
    missing = [column.path.raw for column in entity.schema if not column.documented]
    assert subject.neighbour(paths[0], 1) == paths[1]
    assert subject.neighbour(paths[0], -1) is None
    assert subject.neighbour(paths[-1], 1) is None
    assert subject.place(missing[0]).endswith(f"of {len(paths)}, {len(missing)} undocumented")
    assert subject.undocumented_after(missing[-1]) == missing[0]
    for path in missing[:-1]:
        subject.wrote(path, "now documented")
    assert subject.undocumented_after(paths[0]) == missing[-1]
    assert subject.undocumented_after(missing[-1]) is None
    assert subject.target(missing[0]).edited == "now documented"


def test_what_can_be_described_is_more_than_datasets() -> None:
    assert is_describable(Urn.parse("urn:li:tag:PII"))
    assert is_describable(Urn.parse("urn:li:container:x"))
    assert not is_describable(Urn.parse("urn:li:dataPlatform:hive"))


async def _area(text: Any, work: Any) -> None:
    from textual.app import App

    from explorer.tui.widgets.text_area import DescriptionArea

    class Bare(App[None]):
        def compose(self) -> Iterator[Any]:
            yield DescriptionArea(text)

    app = Bare()
    async with app.run_test(size=(60, 12)) as pilot:
        area = app.query_one(DescriptionArea)
        area.focus()
        await work(area, pilot)


@pytest.mark.anyio
async def test_typing_pasting_and_undoing_in_the_area() -> None:
    from textual import events

    async def work(area: Any, pilot: Any) -> None:
        area.move_cursor(area.document.end)
        await pilot.press("enter", "x")
        assert area.text == "a\r\nb\r\nx"
        area.app.post_message(events.Paste("one\rtwo\n\tthree"))
        await pilot.pause()
        assert area.text == "a\r\nb\r\nxone\r\ntwo\r\n\tthree"
        # From a text with a scroll bar to one without, the cursor beyond its end.
        area.app.post_message(events.Paste("line\n" * 50))
        await pilot.pause()
        await pilot.press("ctrl+z")
        assert area.text == "a\r\nb\r\nxone\r\ntwo\r\n\tthree"
        area.selection = Selection(area.document.start, area.document.end)
        await pilot.press("delete")
        assert area.text == ""
        await pilot.press("ctrl+z", "ctrl+z")
        assert area.text == "a\r\nb\r\nx"
        await pilot.press("ctrl+y")
        assert area.text == "a\r\nb\r\nxone\r\ntwo\r\n\tthree"

    await _area("a\r\nb", work)


@pytest.mark.anyio
async def test_a_fold_is_no_obstacle_to_deleting() -> None:
    async def work(area: Any, pilot: Any) -> None:
        area.move_cursor((1, 0))
        await pilot.press("backspace")
        assert len(area.text) == 4_999
        area.move_cursor((0, 479))
        await pilot.press("delete")
        assert len(area.text) == 4_998
        await pilot.press("ctrl+z", "ctrl+z")
        assert area.text == "x" * 5_000

    await _area("x" * 5_000, work)


_LINES = st.text("ab é", max_size=60) | st.text("ab \tcé日\n", max_size=60)


def _wrapped(one: WrappedDocument) -> Any:
    """What a text area asks of a wrapped text."""
    document, rows = one.document, range(one.document.line_count)
    places = [(row, column) for row in rows for column in range(len(document[row]) + 1)]
    spots = [Offset(x, y) for y in range(-1, one.height + 2) for x in (-1, 0, 2, 5, 99)]
    return (
        (one.height, one.wrapped, one.lines),
        [one._offset_to_line_info[row] for row in range(one.height)],
        [(one.get_offsets(row), one.get_sections(row), one.get_tab_widths(row)) for row in rows],
        [one.location_to_offset(place) for place in places],
        [one.offset_to_location(spot) for spot in spots],
    )


@given(_LINES, st.integers(0, 20), st.data())
def test_lines_are_broken_as_textual_breaks_them(text: Any, width: Any, data: Any) -> None:
    theirs, ours = WrappedDocument(ExactDocument(text)), FastWrappedDocument(ExactDocument(text))
    theirs.wrap(width)
    ours.wrap(width)
    assert _wrapped(ours) == _wrapped(theirs)
    # To another width, and after a change, anew.
    rows = st.integers(0, ours.document.line_count - 1)
    start, end = sorted(
        (row, len(ours.document[row]) // 2) for row in data.draw(st.tuples(rows, rows))
    )
    new = "long words before " + data.draw(_LINES)
    for one in (theirs, ours):
        one.wrap(7)
        done = one.document.replace_range(start, end, new)
        one.wrap_range(start, end, done.end_location)
    assert _wrapped(ours) == _wrapped(theirs)
    changed = ours.document.text
    for one in (theirs, ours):
        one.wrap(7)
    assert _wrapped(ours) == _wrapped(theirs)
    assert "long words before " in changed


def test_a_long_text_is_wrapped_without_an_object_for_each_of_its_lines() -> None:
    document = ExactDocument("- an item of a list that fits\n" * 5_000)
    wrapped = FastWrappedDocument(document)
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        wrapped.wrap(54)
        made = len(gc.get_objects()) - before
    finally:
        gc.enable()
    assert wrapped.height == document.line_count
    assert made < 100


def test_textual_is_used_through_its_public_modules() -> None:
    private = [
        f"{path.name}: {module}"
        for path in Path(explorer.__path__[0]).rglob("*.py")
        for module in re.findall(r"^\s*from (textual\b\S*)", path.read_text("utf-8"), re.MULTILINE)
        if "._" in module
    ]
    assert private == []


@pytest.mark.anyio
async def test_the_cursor_stays_where_there_is_nothing_to_undo() -> None:
    async def work(area: Any, pilot: Any) -> None:
        area.move_cursor((1, 1))
        await pilot.press("ctrl+z", "ctrl+y")
        assert area.cursor_location == (1, 1)
        await pilot.press("x", "ctrl+z")
        assert (area.text, area.cursor_location) == ("one\ntwo", (1, 1))

    await _area("one\ntwo", work)
