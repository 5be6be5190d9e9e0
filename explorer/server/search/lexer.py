"""The signs of the query language, read off a text that anybody may have typed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["Field", "Mark", "Sign", "Text", "signs"]

_OPERATORS: dict[str, "Mark"] = {
    "OR": "or",
    "||": "or",
    "AND": "and",
    "&&": "and",
    "NOT": "not",
}
_URN = "urn:li:"

Mark = Literal["(", ")", "or", "and", "not"]


@dataclass(frozen=True, slots=True)
class Text:
    """A word or, `quoted`, a phrase, its escapes undone. The stars are those that were typed at
    its ends, `*text*`; they are no part of it. `wild` are the places of other `*` and of `?` in
    it that stand for any characters, or for one."""

    text: str
    quoted: bool = False
    star_before: bool = False
    star_after: bool = False
    wild: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Field:
    """`name:`, of a field that can be searched. What follows is its value."""

    name: str


Sign: TypeAlias = Mark | Text | Field


def signs(text: str, is_field: Callable[[str], bool]) -> Iterator[Sign]:
    """The signs of a text in order.

    A backslash takes the next character as it is. A parenthesis groups where a word would begin;
    inside a word it belongs to the word, as in a URN. `-` in front of a word is NOT.
    """
    at = 0
    opened = 0
    after_field = False
    while at < len(text):
        char = text[at]
        if char.isspace():
            at += 1
            continue
        if char == "(":
            opened += 1
            at += 1
            yield "("
        elif char == ")":
            opened = max(opened - 1, 0)
            at += 1
            yield ")"
        elif char == '"':
            phrase, at = _phrase(text, at + 1)
            yield phrase
        elif char in "-+" and not after_field and text[at + 1 : at + 2].strip():
            at += 1
            if char == "-":
                yield "not"
        else:
            end = _word_end(text, at, closes=opened > 0)
            raw = text[at:end]
            name, colon, _ = raw.partition(":")
            if colon and not after_field and not raw.startswith(_URN) and is_field(name):
                at += len(name) + 1
                yield Field(name)
                after_field = True
                continue
            at = end
            yield _OPERATORS.get(raw) or _word(raw)
        after_field = False


def _phrase(text: str, at: int) -> tuple[Text, int]:
    found: list[str] = []
    while at < len(text) and text[at] != '"':
        if text[at] == "\\" and at + 1 < len(text):
            at += 1
        found.append(text[at])
        at += 1
    return Text("".join(found), quoted=True), at + 1


def _word_end(text: str, at: int, *, closes: bool) -> int:
    depth = 0
    begin = at
    while at < len(text):
        char = text[at]
        if char.isspace() or (char == '"' and at > begin):
            break
        if char == "\\":
            at += 1
        elif char == "(":
            depth += 1
        elif char == ")":
            if depth == 0 and closes:
                break
            depth = max(depth - 1, 0)
        at += 1
    return min(at, len(text))


def _word(raw: str) -> Text:
    star_before = raw.startswith("*")
    star_after = raw.endswith("*") and not raw.endswith("\\*") and len(raw) > 1
    inner = raw[star_before : len(raw) - star_after]
    found: list[str] = []
    wild: list[int] = []
    escaped = False
    for char in inner:
        if char == "\\" and not escaped:
            escaped = True
            continue
        if char in "*?" and not escaped:
            wild.append(len(found))
        found.append(char)
        escaped = False
    if wild and found[wild[-1]] == "?" and wild[-1] == len(found) - 1 and not star_after:
        # At the end of a word it ends a question.
        wild.pop()
    return Text("".join(found), False, star_before, star_after, tuple(wild))
