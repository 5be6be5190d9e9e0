import pytest

from explorer.server.search.analysis import (
    fold,
    in_words,
    join_words,
    pieces,
    singulars,
    split,
    word_line,
)
from explorer.server.search.terms import piece_line

BLANK, BREAK = "\x1e", "\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("fct_users_created", {"fct", "users", "created"}),
        ("prod.finance-orders/v2", {"prod", "finance", "orders", "v2"}),
        ("usersCreated", {"users", "created", "userscreated"}),
        ("HTML5Parser", {"html5", "parser", "html5parser"}),
        ("PII", {"pii"}),
        ("orders2024", {"orders2024"}),
        ("Café au lait", {"cafe", "au", "lait"}),
        ("日本", {"日", "本", "日本"}),
        ("--- ___ ...", set()),
        ("", set()),
    ],
)
def test_a_text_is_cut_into_words(text: str, words: set[str]) -> None:
    assert set(word_line([text]).split()) - {"|"} == words


def test_words_of_two_values_are_not_side_by_side() -> None:
    line = word_line(["daily orders", "Customers fctUsers"])
    assert " daily orders " in line
    assert " orders customers " not in line
    assert " fct users " in line


def test_a_word_far_too_long_is_cut_alike_in_documents_and_queries() -> None:
    long = "a" * 500
    assert split(long)[0] in word_line([long]).split()


def test_a_name_is_joined_to_one_word() -> None:
    assert join_words("fct_Users.created") == "fctuserscreated"


def test_folding_takes_case_and_control_characters() -> None:
    assert fold("Straße\n\x00A") == "strasse  a"
    assert fold("\ud800a") == "?a"


def test_folding_composes_accents() -> None:
    assert fold("Cafe\u0301 U\u0308ber") == fold("Caf\u00e9 \u00dcber") == "caf\u00e9 \u00fcber"
    assert in_words(fold("Cafe\u0301-U\u0308ber")) == "caf\u00e9 \u00fcber"


def test_pieces_put_together_are_the_text() -> None:
    text = "(the) orders_daily, 2024 — ünïcode."
    found = pieces(text)
    assert "".join(found).replace("\x1c", "") == text
    assert len(found) > 5


@pytest.mark.parametrize(
    "texts", [["fct_orders", "a b.c", "", "--", "_x_", "größe…"], ["n"], ["."]]
)
def test_the_indexed_pieces_of_several_values_are_those_of_each(texts: list[str]) -> None:
    expected = [
        f"\x02{BREAK.join(pieces(text.replace(' ', BLANK)))}\x03".split(BREAK) for text in texts
    ]

    line = piece_line("7", texts)

    assert line.split(" ") == [f"7\x1d{piece}" for value in expected for piece in value]


def test_prose_is_compared_by_its_words() -> None:
    assert in_words("the  orders, daily (all) | x") == "the orders daily all x"


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("orders", "order"),
        ("categories", "category"),
        ("movies", "movie"),
        ("addresses", "address"),
        ("statuses", "status"),
        ("analyses", "analysis"),
        ("databases", "database"),
        ("boxes", "box"),
        ("batches", "batch"),
        ("caches", "cache"),
        ("indices", "index"),
    ],
)
def test_a_plural_has_its_singular_among_those_it_may_have(word: str, found: str) -> None:
    assert found in singulars(word)


@pytest.mark.parametrize("word", ["order", "address", "status", "analysis", "gas", "s3s", "größes"])
def test_what_does_not_look_like_an_english_plural_has_no_singular(word: str) -> None:
    assert singulars(word) == ()
