"""A catalog's text on the screen is as wide as it is counted, and what is stored stays as it is."""

import io
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console
from rich.markdown import Markdown
from rich.text import Text

from explorer.client.display import block, counted
from explorer.tui.content import line_text, markdown, preview

JOINED = {
    "family \U0001f468\u200d\U0001f469\u200d\U0001f467": "family \U0001f468\U0001f469\U0001f467",
    "\U0001f3f3\ufe0f\u200d\U0001f308 flag": "\U0001f3f3\U0001f308 flag",
    "love ❤\ufe0f": "love ❤",
    "she \U0001f937\U0001f3fd\u200d♀\ufe0f": "she \U0001f937\U0001f3fd♀",
    "key 1\ufe0f\u20e3": "key 1\u20e3",
}
WRITTEN = ["क्\u200dष", "می\u200cخواهم", "ක්\u200dෂ", "plain \U0001f600"]


@pytest.mark.parametrize("text", JOINED)
def test_joined_emoji_are_shown_as_their_parts(text: Any) -> None:
    shown = line_text(text).plain
    assert shown == JOINED[text]
    parts = sum(cell_len(char) for char in shown.replace("\U0001f3fd", ""))
    assert cell_len(shown) == parts
    console = Console(width=40, file=None, record=True)
    with console.capture() as drawn:
        console.print(markdown(text))
    assert drawn.get().rstrip() == JOINED[text]


@pytest.mark.parametrize("text", WRITTEN)
def test_joiners_between_letters_stay(text: Any) -> None:
    assert line_text(text).plain == text


def _seen(shown: Any, width: Any) -> Any:
    written = io.StringIO()
    console = Console(file=written, width=width, legacy_windows=False)
    console.print(shown)
    return [row.rstrip() for row in written.getvalue().rstrip("\n").split("\n")]


# What markdown may be made of, and what looks like it.
PLAIN = (
    "a order fct_orders a-b (see this) 100% 日本 ... it's & a&b x=1 http://x.y/z ! @me $x$ ^ / ; :"
)
MARKS = "_id id_ a__b https://a_b.c 1. 2) - + = -- === &amp; *b* `c` # > [x] <b> | ~~"
PIECES = [
    *PLAIN.split(" "),
    *MARKS.split(" "),
    *[" ", " ", "  ", "\t", "    ", "\n", "\n", "\n\n", "\n \n", "\u00a0", "\u3000"],
]


@settings(max_examples=120, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=24).map("".join), st.integers(5, 60))
def test_a_description_without_markdown_looks_as_if_it_had_been_read_as_such(
    text: Any, width: Any
) -> None:
    shown = markdown(text)
    if isinstance(shown, Text) and text.strip():
        assert _seen(shown, width) == _seen(Markdown(block(text, 1_000)), width)


def test_sentences_need_no_markdown_and_a_list_does() -> None:
    assert isinstance(markdown("One row per order.\nNet of tax & fees.\n\nSee fct_orders."), Text)
    assert isinstance(markdown("- one\n- two"), Markdown)
    assert isinstance(markdown("a _word_"), Markdown)


def drawn(text: str, width: int = 72) -> str:
    """The description as the terminal shows it, without blanks at line ends."""
    console = Console(file=io.StringIO(), width=width)
    with console.capture() as capture:
        console.print(markdown(text))
    return "\n".join(line.rstrip() for line in capture.get().splitlines()).strip()


HTML_TABLE = """<table>
  <tr><th>Code</th><th>Meaning</th></tr>

    <tr><td>A</td><td>open <i>and</i> unpaid</td></tr>
  <tr><td>B | C<td>paid &amp; sent
</table>"""


def test_an_html_table_is_shown_as_a_table() -> None:
    lines = [line for line in drawn(HTML_TABLE).splitlines() if line and "─" not in line]
    assert lines == [
        " Code   Meaning".strip(),
        " A      open and unpaid",
        " B | C  paid & sent",
    ]


@pytest.mark.parametrize(
    ("html", "shown"),
    [
        ("<p>Orders of the <b>shop</b>.</p><p>One a row.</p>", "Orders of the shop.\n\nOne a row."),
        ("<ul><li>one *star*<li>two</ul>", "• one *star*\n • two"),
        ("<h2>Title</h2>1. text", "Title\n\n1. text"),
        ("<div>See <a href='https://x.org/y'>the wiki</a></div>", "See the wiki (https://x.org/y)"),
        ("before <img src='u.png' alt='A chart'> after", "before A chart after"),
        ("one<br/>two", "one\ntwo"),
        ("Files in s3://bucket/<date>/part", "Files in s3://bucket/<date>/part"),
        ("<customer_id>\nis the key", "<customer_id> is the key"),
        ("<!-- note --><p>text</p><script>alert(1)</script>", "text"),
        ("```\n<b>code</b>\n```", "<b>code</b>"),
        ("<pre>select *\n  from x</pre>", "select *\n   from x"),
        ("<details><summary>More</summary>\n\n**inside**\n\n</details>", "More\n\ninside"),
        ("5 < 6 <i>and open", "5 < 6 and open"),
    ],
)
def test_html_in_a_description_shows_its_text(html: str, shown: str) -> None:
    assert drawn(html) == shown


def test_bold_html_text_is_bold() -> None:
    console = Console(file=io.StringIO(), width=40, force_terminal=True)
    segments = [one for line in console.render_lines(markdown("a <b>b</b> c")) for one in line]
    styles = {one.text.strip(): one.style for one in segments}
    assert styles["b"] is not None
    assert styles["b"].bold
    assert not any(style and style.bold for text, style in styles.items() if text in "ac")


def test_a_preview_in_a_list_leaves_tags_out() -> None:
    assert preview("<p>Orders of the <b>shop</b></p>").plain == "Orders of the shop"
    assert preview("of <date> and 5 < 6").plain == "of <date> and 5 < 6"


@pytest.mark.parametrize(
    "text",
    [
        "-1 if unknown",
        "+1 for each visit",
        "open|closed|void",
        "price * quantity * rate",
        "count(*) and sum(*)",
        "fct_* and dim_*",
        ">= 10 is good",
        "> 0 if active",
        "# of orders",
        "before --- after",
    ],
)
def test_a_preview_keeps_what_only_looks_like_markup(text: str) -> None:
    assert preview(text).plain == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("**One row** per *order*, never `select *`.", "One row per order, never select *."),
        ("***both*** and **a `x*` b**", "both and a x* b"),
        ("- one\n* two\n+ three", "one two three"),
        ("# Orders\n\n## Keys\nof the shop", "Orders Keys of the shop"),
        ("> Shares are fine.", "Shares are fine."),
        ("| a | b |\n|---|:-:|\n| 1 | 2 |", "a b 1 2"),
        ("a | b\n--- | ---\n1 | 2", "a b 1 2"),
        ("See [the handbook](https://wiki.example) [draft]", "See the handbook [draft]"),
        ("```sql\nselect * from t\n```", "sql select * from t"),
        ("…in **EUR** after **dis…", "…in EUR after dis…"),
        ("above\n***\nbelow", "above below"),
    ],
)
def test_a_preview_in_a_list_leaves_markup_out(text: str, shown: str) -> None:
    assert preview(text).plain == shown


TAGS = st.sampled_from(
    [
        *re.findall(
            r"<[^>]+>", "<p></p><table></table><tr><td><th></td><ul><ol><li></ul></ol><b></b>"
        ),
        *re.findall(r"<[^>]+>", "<a href=x></a><br><pre></pre><h2></h2><hr><x><!-- -->"),
        *"&|`*#->",
        "1.",
        "\n",
        "\n\n",
        "    ",
    ]
)


@given(st.lists(TAGS | st.integers(100, 999).map(str), max_size=25).map(" ".join))
@settings(deadline=None, max_examples=150)
def test_no_word_between_tags_is_lost(text: Any) -> None:
    words = [word for word in text.split() if word.isdecimal()]
    shown = drawn(text, 400)
    assert [word for word in words if word not in shown] == []


def test_one_of_a_thing_is_in_the_singular() -> None:
    assert [counted(number, "time") for number in (0, 1, 1_200)] == [
        "0 times",
        "1 time",
        "1,200 times",
    ]
    assert [counted(number, "query", "queries") for number in (1, 2)] == ["1 query", "2 queries"]
