"""What is told to the terminal is shorter, and looks the same there."""

import re
from itertools import combinations, product
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.color import Color, ColorSystem
from rich.style import Style

from explorer.tui.terminal import shortened
from tests.tui.conftest import Cells

TRUE = ColorSystem.TRUECOLOR
STYLED = re.compile(r"\x1b\[[\d;]*m")
INKS = [None, *map(Color.parse, ("default", "red", "color(13)", "color(40)", "#d8d8d2"))]
GROUNDS = [None, *map(Color.parse, ("default", "red", "#16181b"))]
KINDS = ["bold", "dim", "italic", "underline", "reverse", "underline2"]


def style(ink: Any, ground: Any, kinds: Any) -> Style:
    weights: dict[str, Any] = dict.fromkeys(kinds, True)
    return Style(color=ink, bgcolor=ground, **weights)


STYLES = st.builds(
    style,
    st.sampled_from(INKS),
    st.sampled_from(GROUNDS),
    st.sets(st.sampled_from(KINDS), max_size=3),
)
TEXTS = st.sampled_from(["a", "é b", " ", "  "])
PIECES = st.one_of(
    st.builds(lambda style, text: style.render(text, color_system=TRUE), STYLES, TEXTS),
    TEXTS,
    st.builds("\x1b[{};{}H".format, st.integers(1, 4), st.integers(1, 9)),
    st.sampled_from(["\r\n", "\x1b[?2026h", "\x1b[0m", "\x1b[m", "\x1b[1m", "\x1b[4;58m"]),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(PIECES, max_size=8).map("".join), min_size=1, max_size=3))
def test_what_is_shortened_looks_the_same_in_every_cell(cells: Cells, writes: Any) -> None:
    # Whatever others left there before, where anything is styled at all.
    left = ["\x1b[0;5;41m" if STYLED.search(text) else "\x1b[0m" for text in writes]
    told = "".join(before + shortened(text) for before, text in zip(left, writes, strict=True))
    meant = "".join("\x1b[0m" + text for text in writes)
    assert cells(told)[0] == cells(meant)[0]


def test_every_weight_is_put_on_and_taken_off(cells: Cells) -> None:
    some = [set(one) for count in range(4) for one in combinations(KINDS[:4], count)]
    for one, other in product(some, some):
        styles = [style("#d8d8d2", "#16181b", kinds) for kinds in (one, other)]
        text = "\x1b[0m" + "".join(style.render("a", color_system=TRUE) for style in styles)
        assert cells(shortened(text)) == cells(text)


@given(st.lists(STYLES, min_size=2, max_size=9))
def test_pieces_beside_each_other_never_take_more_room(styles: Any) -> None:
    text = "".join(style.render("word", color_system=TRUE) for style in styles)
    assert len(shortened("\x1b[0m" + text)) <= len("\x1b[0m" + text)


def test_only_what_changes_between_words_is_told() -> None:
    ground = "48;2;22;24;27"
    text = (
        f"\x1b[38;2;216;216;210;{ground}mname \x1b[0m\x1b[1;38;2;216;216;210;{ground}mtype\x1b[0m"
        f"\x1b[{ground}m   \x1b[0m\r\n\x1b[2;1H\x1b[38;2;216;216;210;{ground}mnext\x1b[0m"
    )
    assert shortened("\x1b[0m" + text) == (
        f"\x1b[0;38;2;216;216;210;{ground}mname \x1b[1mtype   \r\n\x1b[2;1H\x1b[22mnext\x1b[0m"
    )
