"""What is told to the terminal is shorter, and looks the same there."""

import re
from itertools import combinations, product

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.color import Color, ColorSystem
from rich.style import Style

from explorer.tui.shell.pens import Pens

PIECE = re.compile(r"\x1b\[([\d;]*)m|\x1b\[(\d+);(\d+)H|(\r\n)|(\x1b\[\?\d+[hl])|([^\x1b\r\n])")
OFF = {"22": "12", "23": "3", "24": "4", "25": "56", "27": "7", "28": "8", "29": "9"}
TRUE = ColorSystem.TRUECOLOR
BLANK_SHOWS = frozenset({"4", "7", "9", "21", "53"})


def shown(text):
    """Every cell that a terminal shows, with its style as far as it is seen."""
    cells, row, column = {}, 1, 1
    weights, ink, ground = set(), "39", "49"
    rest = 0
    for piece in PIECE.finditer(text):
        assert piece.start() == rest
        rest = piece.end()
        styled, to_row, to_column, newline, _, letter = piece.groups()
        if styled is not None:
            codes = styled.split(";")
            while codes:
                code = codes.pop(0)
                if code in ("", "0"):
                    weights, ink, ground = set(), "39", "49"
                elif code in OFF:
                    weights -= set(OFF[code])
                elif code in ("38", "48"):
                    count = 4 if codes[0] == "2" else 2
                    colour = ";".join(codes[:count])
                    codes = codes[count:]
                    ink, ground = (colour, ground) if code == "38" else (ink, colour)
                elif len(code) == 1 or code in ("21", "51", "52", "53"):
                    weights.add(code)
                elif code[0] in "39":
                    ink = code
                else:
                    ground = code
        elif to_row:
            row, column = int(to_row), int(to_column)
        elif newline:
            row, column = row + 1, 1
        elif letter:
            seen = (frozenset(weights), ink, ground)
            if letter == " ":
                lines = frozenset(weights & BLANK_SHOWS)
                seen = (lines, ink if lines else "", ground)
            cells[row, column] = (letter, *seen)
            column += 1
    assert rest == len(text)
    return cells, (weights, ink, ground)


INKS = [None, *map(Color.parse, ("default", "red", "color(13)", "color(40)", "#d8d8d2"))]
GROUNDS = [None, *map(Color.parse, ("default", "red", "#16181b"))]
KINDS = ["bold", "dim", "italic", "underline", "reverse", "underline2"]
STYLES = st.builds(
    lambda ink, ground, kinds: Style(color=ink, bgcolor=ground, **dict.fromkeys(kinds, True)),
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


@settings(max_examples=300, deadline=None)
@given(st.lists(st.lists(PIECES, max_size=8).map("".join), min_size=1, max_size=3))
def test_what_is_shortened_looks_the_same_in_every_cell(writes):
    pens = Pens()
    shortened = [pens.shorten(text) for text in writes]
    before = "\x1b[0m"
    assert shown(before + "".join(shortened)) == shown(before + "".join(writes))


def test_every_weight_is_put_on_and_taken_off():
    some = [set(one) for count in range(4) for one in combinations(KINDS[:4], count)]
    for one, other in product(some, some):
        styles = [
            Style(color="#d8d8d2", bgcolor="#16181b", **dict.fromkeys(kinds, True))
            for kinds in (one, other)
        ]
        text = "\x1b[0m" + "".join(style.render("a", color_system=TRUE) for style in styles)
        assert shown(Pens().shorten(text)) == shown(text)


@given(st.lists(STYLES, min_size=2, max_size=9))
def test_pieces_beside_each_other_never_take_more_room(styles):
    text = "".join(style.render("word", color_system=TRUE) for style in styles)
    assert len(Pens().shorten("\x1b[0m" + text)) <= len("\x1b[0m" + text)


def test_only_what_changes_between_words_is_told():
    ground = "48;2;22;24;27"
    text = (
        f"\x1b[38;2;216;216;210;{ground}mname \x1b[0m\x1b[1;38;2;216;216;210;{ground}mtype\x1b[0m"
        f"\x1b[{ground}m   \x1b[0m\r\n\x1b[2;1H\x1b[38;2;216;216;210;{ground}mnext\x1b[0m"
    )
    pens = Pens()
    pens.shorten("\x1b[0m")
    assert pens.shorten(text) == (
        f"\x1b[38;2;216;216;210;{ground}mname \x1b[1mtype   \r\n\x1b[2;1H\x1b[22mnext\x1b[0m"
    )
