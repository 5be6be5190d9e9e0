"""How what is typed is split: into words and conditions, and a query into its tokens."""

import pytest

from explorer.metadata.registry import load_registry
from explorer.query.fields import guide_to
from explorer.query.tokens import Atom, FieldToken, query_tokens, split_parts

GUIDE = guide_to(load_registry())
URN = "urn:li:dataset:(urn:li:dataPlatform:hive,a.b,PROD)"


def parts(text: str) -> str:
    """The parts of a text, each with the first letter of its kind: word, condition, keyword."""
    return " ".join(
        f"{part.kind[0]}[{text[part.start : part.end]}]" for part in split_parts(text, GUIDE)
    )


def tokens(text: str) -> list[str]:
    """The tokens of a query in one form: `field:`, a mark, a word with its stars and wildcards in
    braces, or a phrase in quotes."""
    shown = []
    for token in query_tokens(text, {"tags", "name"}.__contains__):
        match token:
            case FieldToken(name):
                shown.append(f"{name}:")
            case Atom(quote='"'):
                shown.append(f"“{token.text}”")
            case Atom():
                wild = "".join(
                    f"{{{char}}}" if at in token.wild else char
                    for at, char in enumerate(token.text)
                )
                shown.append(f"{'{*}' * token.star_before}{wild}{'{*}' * token.star_after}")
            case str():
                shown.append(token.upper())
    return shown


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("", ""),
        (" \t\u3000", ""),
        ("orders and returns", "w[orders] k[and] w[returns]"),
        ("a platform:hive OR tags : PII b", "w[a] c[platform:hive] k[OR] c[tags : PII] w[b]"),
        ('name:"a b" "c d" it\'s x', 'c[name:"a b"] w["c d"] w[it\'s] w[x]'),
        ('domain:"a b"/* c', 'c[domain:"a b"/*] w[c]'),
        ("name:'a b' c", "c[name:'a b'] w[c]"),
        ('name:"a \\" b" c', 'c[name:"a \\" b"] w[c]'),
        ('name:"never closed c', 'c[name:"never closed c]'),
        ('name:"ends in \\', 'c[name:"ends in \\]'),
        ('"odd field":x y', 'c["odd field":x] w[y]'),
        ("rows:[1 TO 5] x", "c[rows:[1 TO 5]] w[x]"),
        ("rows >= 5 x", "c[rows >= 5] w[x]"),
        ("foo >= 5", "w[foo] w[>=] w[5]"),
        ("tags IS NOT NULL x", "c[tags IS NOT NULL] w[x]"),
        ("tags NOT IN (a, b) x", "c[tags NOT IN (a, b)] w[x]"),
        ("tags: AND x", "c[tags:] k[AND] w[x]"),
        ("-(tags:a OR name:b) x", "c[-(tags:a OR name:b)] w[x]"),
        ("(a b", "w[(a b]"),
        ("a) b", "w[a)] w[b]"),
        (f"{URN} x", f"w[{URN}] w[x]"),
        (f"urn:{URN}", f"c[urn:{URN}]"),
        ("http://a a::b 3d:x", "w[http://a] w[a::b] w[3d:x]"),
        ("é:ß 👩\u200d👧", "c[é:ß] w[👩\u200d👧]"),
    ],
)
def test_a_search_is_split_into_words_conditions_and_keywords(text: str, split: str) -> None:
    assert parts(text) == split


@pytest.mark.parametrize(
    ("text", "split"),
    [
        ("", []),
        (
            "a AND b && c OR d || NOT e and",
            ["a", "AND", "b", "AND", "c", "OR", "d", "OR", "NOT", "e", "and"],
        ),
        ("-a +b - c a-b", ["NOT", "a", "b", "-", "c", "a-b"]),
        ("tags:-a tags: b owner:c", ["tags:", "-a", "tags:", "b", "owner:c"]),
        ("name:tags:a", ["name:", "tags:a"]),
        ('tags:"a b" "c', ["tags:", "“a b”", "“c”"]),
        ('"a \\" \\b \\', ['“a " b \\”']),
        ('a"b c"d', ["a", "“b c”", "d"]),
        ("(a OR (b)) c", ["(", "a", "OR", "(", "b", ")", ")", "c"]),
        ("f(x) (f(x))", ["f(x)", "(", "f(x)", ")"]),
        ("a) b", ["a)", "b"]),
        ("(a)) b)", ["(", "a", ")", ")", "b)"]),
        (URN, [URN]),
        ("urn:li:tag:PII", ["urn:li:tag:PII"]),
        ("* *a* a*b?c a? a?* \\*a\\?", ["{*}", "{*}a{*}", "a{*}b{?}c", "a?", "a{?}{*}", "*a?"]),
        ("a\\ b c\\", ["a b", "c"]),
        ("a\\(b (c\\) d)", ["a(b", "(", "c)", "d", ")"]),
        ("é\u3000ß 💰", ["é", "ß", "💰"]),
    ],
)
def test_a_query_is_read_as_these_tokens(text: str, split: list[str]) -> None:
    assert tokens(text) == split
