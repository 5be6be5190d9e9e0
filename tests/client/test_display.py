"""Nothing a catalog says can drive the terminal it is shown on."""

import unicodedata
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from explorer.client.display import block, line, moment, visible

HOSTILE = "\x1b]52;c;aGk=\x07 \x9b31m \u202eevil\u2066 \x00 a\u200bb \U000e0041"


def test_escape_control_and_bidirectional_characters_are_taken_out() -> None:
    for clean in (line(HOSTILE), block(HOSTILE)):
        assert not any(unicodedata.category(char) in ("Cc", "Cf") for char in clean)
        assert "evil" in clean


@given(st.text())
def test_a_line_is_one_line_of_printable_text(text: Any) -> None:
    clean = line(text)
    assert not any(unicodedata.category(char) == "Cc" for char in clean)
    assert clean == line(clean)


@given(st.text())
def test_a_block_keeps_only_line_feeds_of_the_controls(text: Any) -> None:
    assert {char for char in block(text) if unicodedata.category(char) == "Cc"} <= {"\n"}


def test_line_ends_of_any_system_stay_line_ends() -> None:
    assert block("a\r\nb\rc\td") == "a\nb\nc    d"
    assert line("a\r\nb\tc") == "a b c"


def test_what_is_too_long_is_cut_and_the_cut_is_said() -> None:
    assert block("x" * 50, limit=10) == "x" * 10 + "\n… 40 more characters"
    assert line("x" * 50, limit=10) == "x" * 10 + "…"


def test_a_moment_is_told_in_the_zone_asked_for() -> None:
    assert moment(0, utc=True) == "1970-01-01 00:00 UTC"
    assert moment(10**20) == "at an unreadable time"


@given(st.text())
def test_text_being_edited_keeps_its_length_and_loses_its_danger(text: Any) -> None:
    shown = visible(text)
    assert len(shown) == len(text)
    assert {char for char in shown if unicodedata.category(char) == "Cc"} <= {"\t", "\n"}
