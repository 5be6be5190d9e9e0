from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.metadata import load_registry
from explorer.query import Filter
from explorer.server.search import SearchEngine
from explorer.server.search.document import Document
from explorer.server.search.fields import Vocabulary
from explorer.server.search.parser import parse
from explorer.server.search.query import (
    EVERYTHING,
    NOTHING,
    And,
    FoundPage,
    Node,
    Not,
    Or,
    Phrase,
    PointedAt,
    Present,
    Stem,
    Value,
    ValuePattern,
    Wildcard,
    Word,
    any_of,
)

VOCABULARY = Vocabulary(load_registry())
KNOWN = VOCABULARY.known_fields(("dataset",))
A, B, C = Word(("a",)), Word(("b",)), Word(("c",))


def read(text: str) -> Node:
    """What a text is understood as, without other forms of its words."""
    return as_typed(parse(text, VOCABULARY, KNOWN)[0])


def as_typed(node: Node) -> Node:
    match node:
        case Or(nodes):
            return any_of(tuple(as_typed(inner) for inner in nodes if not is_form(inner)))
        case And(nodes):
            return And(tuple(map(as_typed, nodes)))
        case Not(inner):
            return Not(as_typed(inner))
        case _:
            return node


def is_form(node: Node) -> bool:
    return isinstance(node, Stem) or (isinstance(node, And) and all(map(is_form, node.nodes)))


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("", EVERYTHING),
        ("  ", EVERYTHING),
        ("*", EVERYTHING),
        ("a b", And((A, B))),
        ("a AND b", And((A, B))),
        ("a_b", And((A, B))),
        ("a OR b", Or((A, B))),
        ("a b OR c", Or((And((A, B)), C))),
        ("a (b OR c)", And((A, Or((B, C))))),
        ("-a b", And((Not(A), B))),
        ("NOT a", Not(A)),
        ("NOT NOT a", A),
        ("-(a b)", Not(And((A, B)))),
        ("a*", A),
        ("*a", Wildcard("*a")),
        ("a*b?c", Wildcard("a*b?c")),
        ("a_*b_**", And((A, Wildcard("*b")))),
        ("a?", A),
        ("*a????b", Wildcard("*a*b")),
        ("**", EVERYTHING),
        ("***", EVERYTHING),
        ("?", NOTHING),
        ("💰", NOTHING),
        ("😀 %", NOTHING),
        ("-", NOTHING),
        ("()", NOTHING),
        ("💰 OR *", EVERYTHING),
        ("-💰", EVERYTHING),
        ("NOT NOT 💰", NOTHING),
        ("💰 -%", NOTHING),
        ('"->"', NOTHING),
        ('-"->"', EVERYTHING),
        ("\\*", NOTHING),
        ("*%*", NOTHING),
        ("/q 💰", NOTHING),
        ("/q", EVERYTHING),
        ("a 💰", A),
        ("a - b", And((A, B))),
        ("a & b", And((A, B))),
        ("a OR 💰", A),
        ("a -💰", A),
        ('a "->"', A),
        ('"*a"', Phrase(("a",), ("a",))),
        ("/q a AND b", And((A, B))),
        ("qualifiedName:a*b", ValuePattern("qualifiedName", ("a", "b"), ("*",))),
        (
            "qualifiedName:*a??*b**c",
            ValuePattern("qualifiedName", ("", "a", "b", "c"), ("*", "??*", "*")),
        ),
        ("qualifiedName:a**b?*", ValuePattern("qualifiedName", ("a", "b", ""), ("*", "?*"))),
        ("qualifiedName:*?*", ValuePattern("qualifiedName", ("", ""), ("?*",))),
        ("owners:***", Present("owners")),
        (
            "fieldDescriptions:a*->*b",
            Or(
                (
                    ValuePattern("fieldDescriptions", ("a", "b"), ("*",)),
                    ValuePattern("editedFieldDescriptions", ("a", "b"), ("*",)),
                )
            ),
        ),
        ("+a", A),
        ("or not and", And((Word(("or",)), Word(("not",)), Word(("and",))))),
        ("MySQL", Word(("my", "sql"))),
        ('"a b"', Phrase(("a", "b"), ("a", "b"))),
        ('"userOrders"', Phrase(("user", "orders"), ("userorders",))),
        ("urn:li:tag:PII", PointedAt("urn:li:tag:PII")),
        ("platform:hive", Value("platform", "equal", "hive")),
        ("platform: hive", Value("platform", "equal", "hive")),
        ('qualifiedName:"a b"', Value("qualifiedName", "equal", "a b")),
        ("qualifiedName:a\\:b\\ c", Value("qualifiedName", "equal", "a:b c")),
        ("qualifiedName:a*", Value("qualifiedName", "prefix", "a")),
        ("qualifiedName:*a", Value("qualifiedName", "suffix", "a")),
        ("qualifiedName:*a*", Value("qualifiedName", "infix", "a")),
        ("qualifiedName:a\\*", Value("qualifiedName", "equal", "a*")),
        ("owners:*", Present("owners")),
        (
            "owners:(ann OR -bob)",
            Or((Value("owners", "equal", "ann"), Not(Value("owners", "equal", "bob")))),
        ),
        ("hasOwners:false", Not(Value("hasOwners", "equal", "true"))),
        ("a:b", And((A, B))),
        ("platform:", Word(("platform",))),
    ],
)
def test_a_text_is_understood(text: str, query: Node) -> None:
    assert read(text) == query


@pytest.mark.parametrize("text", ["(a", "a)", "((a", "a OR", "OR a", "a AND", ")a(", "a NOT", '"a'])
def test_what_lacks_its_other_half_is_passed_over(text: str) -> None:
    found = read(text)
    assert found in (A, Phrase(("a",), ("a",)))


def test_a_urn_keeps_its_parentheses() -> None:
    urn = "urn:li:dataset:(urn:li:dataPlatform:hive,db.t,PROD)"
    assert read(f"({urn})") == PointedAt(urn)
    assert read(f"upstreams:{urn} a") == And((Value("upstreams", "exact", urn), A))


def test_a_field_stands_for_those_that_say_the_same() -> None:
    tags = ("tags", "fieldTags", "editedFieldTags")
    assert read("tags:PII") == Or(tuple(Value(field, "equal", "pii") for field in tags))
    described = ("description", "editedDescription")
    assert read("description:x") == Or(tuple(Value(field, "words", "x") for field in described))


def test_a_field_of_other_entities_is_plain_text() -> None:
    assert read("ldap:a") == And((Word(("ldap",)), A))


def test_a_text_beyond_measure_is_cut() -> None:
    query = read("(" * 5_000 + " ".join(f"w{at}" for at in range(3_000)))
    assert query == NOTHING
    many = read(" ".join(f"w{at}" for at in range(3_000)))
    assert isinstance(many, And)
    assert len(many.nodes) == 64


SIGNS = st.sampled_from(
    [
        "(",
        ")",
        '"',
        "-",
        "*",
        "?",
        "/q",
        ":",
        "\\",
        "OR",
        "AND",
        "NOT",
        " ",
        "tags:",
        "name:",
        "urn:li:",
        "a",
    ]
)
TYPED = st.lists(st.one_of(SIGNS, st.text(max_size=6)), max_size=12).map("".join)


@given(TYPED)
@settings(max_examples=120, deadline=None)
def test_no_text_is_an_error(text: str) -> None:
    read(text)


@pytest.mark.parametrize(
    "word",
    [
        "*" + "ab" * 49,
        "*" + "日" * 90 + "?",
        "*a" * 8 + "b",
        "*a" + "?" * 7 + "b",
        "?" + "*日?" * 3 + "*x",
        "é?" * 8,
        "*ab" * 60,
        "?" * 200 + "a",
    ],
)
def test_a_word_of_many_wildcards_is_no_error_for_the_index(
    filled: Callable[..., SearchEngine],
    dataset: Callable[..., Document],
    search: Callable[..., FoundPage],
    word: str,
) -> None:
    index = filled(dataset("ab" * 49), dataset("日" * 91), dataset("a" * 100))
    search(index, word)


def test_no_text_is_an_error_for_the_index(
    filled: Callable[..., SearchEngine],
    dataset: Callable[..., Document],
    search: Callable[..., FoundPage],
) -> None:
    index = filled(dataset("db.orders"), dataset("a"))

    @given(TYPED)
    @settings(max_examples=80, deadline=None)
    def ask(text: str) -> None:
        page = search(index, text)
        assert page.total == len(page.hits) <= 2
        index.autocomplete(text, (), Filter(), 0, 5)

    ask()
