"""The tokens of search texts and queries, and the error that locates a syntax mistake.

`split_parts` splits the text of a search into words, conditions and keywords; `scan_atom` reads a
value in one of its conditions. `query_tokens` reads the words, as the service gets them; there a
quote ends a word, and a parenthesis inside a word belongs to it. Every function scans forward from
one position, so a text of any length is parsed in one pass.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Final, Literal, TypeAlias

import msgspec

from explorer.errors import InvalidInput
from explorer.query.fields import FieldGuide

# Characters of text shown on either side of the error.
_AROUND = 36


class FilterSyntax(InvalidInput):
    """A syntax error in a filter or sort order.

    `position` is the offset in `text` of the first wrong character, counted from 0, or the length
    of `text` for an error at its end; `length` is the number of wrong characters, at least 1.
    `message` says what is wrong; `str()` adds the position. With `is_field`, the wrong characters
    are the name of an unknown field.
    """

    def __init__(
        self, text: str, position: int, length: int, message: str, *, is_field: bool = False
    ) -> None:
        self.text = text
        self.position = position
        self.length = max(1, length)
        self.message = message
        self.is_field = is_field
        place = f"at character {position + 1}" if position < len(text) else "at the end"
        super().__init__(f"{message} ({place})")

    def within(self, text: str) -> "FilterSyntax":
        """Return the error with its position in `text`, of which the wrong text is a part. For an
        unknown field, the message says how to search for the typed words instead."""
        message = self.message
        if self.is_field:
            typed = text[self.position :].split(maxsplit=1)[0].rstrip(")")
            problem, _, hint = message.partition("; ")
            message = f"{problem}; {quote_value(typed)} in quotes is searched for; {hint}"
        return FilterSyntax(text, self.position, self.length, message)

    def pointer(self) -> str:
        """Return two lines: the text around the error, and carets below the wrong characters.

        Non-printable characters are shown as blanks so that the carets line up.
        """
        begin = max(0, self.position - _AROUND)
        stop = self.position + self.length
        end = min(len(self.text), max(stop, begin + _AROUND), self.position + _AROUND)
        before = ("…" if begin else "") + _escape_for_message(self.text[begin : self.position])
        wrong = _escape_for_message(self.text[self.position : min(stop, end)])
        after = _escape_for_message(self.text[min(stop, end) : end]) + (
            "…" if end < len(self.text) else ""
        )
        carets = "^" * max(1, _cells(wrong))
        return f"{before}{wrong}{after}".rstrip() + f"\n{' ' * _cells(before)}{carets}"


def _escape_for_message(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in text)


def _cells(text: str) -> int:
    """Return the width of a text in terminal cells."""
    return sum(map(_width, text))


def _width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


FIELD: Final = re.compile(r"\w[\w.$@/-]*")
KEYWORD: Final = re.compile(r"(AND|OR|NOT)(?=[\s()\"]|$)", re.IGNORECASE)
OPERATOR: Final = re.compile(r":\s*(?:>=|<=|>|<)|!=|!~|=~|==?|>=|<=|>|<|:")
IN: Final = re.compile(r"\s+(NOT\s+)?IN\s*(?=\()", re.IGNORECASE)
IS_NULL: Final = re.compile(r"\s+IS\s+(NOT\s+)?NULL(?=[\s)]|$)", re.IGNORECASE)
_SPACE = re.compile(r"\s*")
_URN: Final = "urn:li:"
_BARE = re.compile(r'[^\s()",*]+')
_BARE_IN_BRACKETS = re.compile(r'[^\s()",*\]]+')
_URN_OF_PARTS = re.compile(r"(?:urn:)?li:\w+:\(")
_IN_URN = re.compile(r'[()\s"*]')
_BRACKETED = re.compile(r"\[[^\s\]]*\]")
# A text in quotes, and its closing quote if there is one.
_IN_QUOTES = {quote: rf"{quote}((?:[^{quote}\\]+|\\.|\\\Z)*)({quote}?)" for quote in ('"', "'")}
_QUOTED = {quote: re.compile(pattern, re.DOTALL) for quote, pattern in _IN_QUOTES.items()}
_ESCAPE = re.compile(r"\\(?:u\{([0-9A-Fa-f]{1,6})\}|(.))", re.DOTALL)
# The parts of a word that are skipped, or that can end it: in a search text, and in a query.
_DOUBLE, _SINGLE = _IN_QUOTES.values()
_STOP = re.compile(rf"{_DOUBLE}|(?<=[:=~<>(,])(?:{_SINGLE}|\[)|[()\]\s]", re.DOTALL)
_QUERY_STOP = re.compile(r'\\.?|[\s()"|]', re.DOTALL)
_QUERY_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_QUERY_CHARACTER = re.compile(r"\\(.)|([^\\])", re.DOTALL)
_QUERY_OPERATORS: Final[dict[str, "Mark"]] = {
    "OR": "or",
    "AND": "and",
    "&&": "and",
    "NOT": "not",
}
_NEGATIONS = re.compile(r"[-(]*")
_NOT_OPERATORS: Final = ("://", "::")
_CONDITION = re.compile(rf"(?:^|[\s(-])(?!{_URN}){FIELD.pattern}\s*(?:{OPERATOR.pattern})")
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r"}
_LAST_CODE: Final = 0x10FFFF
# These join the parts of one emoji; other non-printable characters are escaped.
_JOINERS: Final = "\u200c\u200d"
_NOT_FIRST: Final = "=<>!~'"
_RESERVED: Final = frozenset({"and", "or", "not", "to"})

Mark = Literal["(", ")", "or", "and", "not"]
Quote = Literal["", '"', "'"]
TextPartKind = Literal["word", "condition", "keyword"]


class TextPart(msgspec.Struct, frozen=True):
    """A part of the text of a search between white space, or a whole condition."""

    kind: TextPartKind
    start: int
    end: int


class FieldToken(msgspec.Struct, frozen=True):
    """`name:` in a query, the name of a searchable field. Its value follows."""

    name: str


class Atom(msgspec.Struct, frozen=True):
    """A value at `start` to `end` of the text, without its quotes and leading or trailing star.

    With `is_parent`, `/*` follows a value that is complete without them, as one in quotes is.
    In a word of a query, `wild` has the positions of other unescaped `*`, which match any
    characters, and `?`, which match one.
    """

    text: str
    start: int
    end: int
    quote: Quote = ""
    star_before: bool = False
    star_after: bool = False
    wild: tuple[int, ...] = ()
    is_parent: bool = False

    @property
    def is_star(self) -> bool:
        """Whether this is a star alone."""
        return self.star_before and not (self.text or self.quote)

    @property
    def has_star(self) -> bool:
        """Whether the value has a leading or trailing star."""
        return self.star_before or self.star_after


Token: TypeAlias = Mark | Atom | FieldToken


def skip_space(text: str, at: int) -> int:
    """Return the position of the next character that is not white space."""
    match = _SPACE.match(text, at)
    return match.end() if match else at


def starts_range(text: str, at: int) -> bool:
    """Return whether a `[` opens a range. It does not if it is closed without a space in between,
    as in the field path `[version=2.0].[type=string].id`."""
    return text.startswith("[", at) and _BRACKETED.match(text, at) is None


def scan_atom(text: str, at: int, *, in_brackets: bool = False) -> Atom:
    """Return the value that begins at a position. Raises `FilterSyntax` if there is none."""
    start = at
    star_before = text.startswith("*", at)
    at += star_before
    quote: Quote = ""
    value = ""
    if text.startswith('"', at):
        quote = '"'
        value, at = _scan_quoted(text, at, '"')
    elif text.startswith("'", at):
        quote = "'"
        value, at = _scan_quoted(text, at, "'")
    else:
        end = _bare_end(text, at, in_brackets=in_brackets)
        if end > at and text[at] in "=<>!~":
            raise FilterSyntax(
                text, at, 1, f"a value that begins with {text[at]} stands in double quotes"
            )
        value, at = text[at:end], end
    if not value and not quote and not star_before:
        raise FilterSyntax(text, at, 1, "a value is missing here")
    is_parent = bool(value or quote) and not star_before and text.startswith("/*", at)
    at += is_parent
    star_after = text.startswith("*", at)
    at += star_after
    is_inside = at < len(text) and not (text[at].isspace() or text[at] in "),].")
    if star_after and (is_inside or not (value or quote)):
        raise FilterSyntax(
            text,
            at - 1,
            1,
            "a star stands at the beginning or the end of a value; "
            "in double quotes it is a star and nothing more",
        )
    return Atom(value, start, at, quote, star_before, star_after, is_parent=is_parent)


def quote_value(value: str, quote: str = '"') -> str:
    """Return a value in quotes, with characters that are not printable escaped."""
    return quote + "".join(_escape(char, quote) for char in value) + quote


def is_bare(value: str) -> bool:
    """Return whether a value is read back unchanged when written without quotes."""
    if not value or value[0] in _NOT_FIRST or value.casefold() in _RESERVED:
        return False
    if value.startswith("li:") or starts_range(value, 0) or not value.isprintable():
        return False
    try:
        return _bare_end(value, 0, in_brackets=False) == len(value)
    except FilterSyntax:
        return False


def _bare_end(text: str, at: int, *, in_brackets: bool) -> int:
    if opened := _URN_OF_PARTS.match(text, at):
        return _urn_end(text, at, opened.end())
    match = (_BARE_IN_BRACKETS if in_brackets else _BARE).match(text, at)
    if match is None:
        return at
    # Two dots separate the ends of a range.
    dots = text.find("..", at, match.end())
    return match.end() if dots < 0 else dots


def _urn_end(text: str, start: int, at: int) -> int:
    depth = 1
    for match in _IN_URN.finditer(text, at):
        match match.group():
            case "(":
                depth += 1
            case ")":
                depth -= 1
                if depth == 0:
                    return match.end()
            case _:
                break
    raise FilterSyntax(
        text,
        start,
        at - start,
        "this URN lacks a closing parenthesis; one with spaces, quotes or stars in it stands "
        "in double quotes",
    )


def _scan_quoted(text: str, at: int, quote: str) -> tuple[str, int]:
    match = _QUOTED[quote].match(text, at)
    if match is None or not match.group(2):
        raise FilterSyntax(text, at, 1, "this quote is never closed")
    inner = match.group(1)
    if "\\" not in inner:
        return inner, match.end()

    def unescape(escape: re.Match[str]) -> str:
        code, char = escape.groups()
        if code is None:
            return _ESCAPED.get(char, char)
        if int(code, 16) > _LAST_CODE:
            place = match.start(1) + escape.start()
            raise FilterSyntax(
                text, place, len(escape.group()), "there is no character of that number"
            )
        return chr(int(code, 16))

    return _ESCAPE.sub(unescape, inner), match.end()


def _escape(char: str, quote: str) -> str:
    if char in (quote, "\\"):
        return f"\\{char}"
    if char.isprintable() or char in _JOINERS:
        return char
    for letter, meant in _ESCAPED.items():
        if char == meant:
            return f"\\{letter}"
    return f"\\u{{{ord(char):x}}}"


def split_parts(text: str, guide: FieldGuide) -> Iterator[TextPart]:
    """Yield the words, conditions and keywords of the text of a search, in order."""
    at = 0
    while (at := skip_space(text, at)) < len(text):
        end = _condition_end(text, at, guide)
        kind: TextPartKind = "condition"
        if end is None:
            end = _word_end(text, at)
            kind = "keyword" if KEYWORD.fullmatch(text[at:end]) else "word"
        yield TextPart(kind, at, end)
        at = end


def _condition_end(text: str, at: int, guide: FieldGuide) -> int | None:
    """Return the end of the condition that begins at a position; None if none does."""
    negations = _NEGATIONS.match(text, at)
    start = negations.end() if negations else at
    if "(" in text[at:start]:
        end = _word_end(text, at)
        return end if _CONDITION.search(text[at:end]) else None
    if text.startswith(_URN, start):
        return None
    quoted = _QUOTED['"'].match(text, start)
    name = quoted if quoted and quoted.group(2) else FIELD.match(text, start)
    if name is None or name.group()[0].isdigit():
        return None
    end = name.end()
    if operator := OPERATOR.match(text, end):
        is_condition = not text.startswith(_NOT_OPERATORS, end)
        return _value_end(text, operator.end()) if is_condition else None
    if guide.field_for(name.group()) is None:
        return None
    if is_null := IS_NULL.match(text, end):
        return is_null.end()
    if values := IN.match(text, end):
        return _word_end(text, values.end())
    spaced = OPERATOR.match(text, skip_space(text, end))
    return _value_end(text, spaced.end()) if spaced else None


def _value_end(text: str, at: int) -> int:
    """Return the end of the value after an operator; white space may precede the value."""
    start = skip_space(text, at)
    if start == len(text) or (start > at and KEYWORD.match(text, start)):
        return at
    return _word_end(text, start)


def _word_end(text: str, start: int) -> int:
    """Return the end of the word at a position: the next white space outside quotes and
    parentheses."""
    depth = 0
    for match in _STOP.finditer(text, start):
        char = match.group()[0]
        if char in "([":
            depth += 1
        elif char in ")]":
            depth = max(depth - 1, 0)
        elif char.isspace() and not depth:
            return match.start()
    return len(text)


def query_tokens(text: str, is_field: Callable[[str], bool]) -> Iterator[Token]:
    """Yield the tokens of a query, in order.

    A backslash escapes the next character; `|` is OR, except in a value. A parenthesis groups where
    a word would begin; inside a word it belongs to the word, as in a URN. `-` before a word is NOT.
    """
    at = depth = 0
    is_value = False
    while (start := skip_space(text, at)) < len(text):
        char, at = text[start], start + 1
        if char == "(":
            depth += 1
            yield "("
        elif char == ")":
            depth = max(depth - 1, 0)
            yield ")"
        elif char == "|" and not is_value:
            at += text.startswith("|", at)
            yield "or"
        elif quoted := _QUOTED['"'].match(text, start):
            at = quoted.end()
            yield Atom(_QUERY_ESCAPE.sub(r"\1", quoted.group(1)), start, at, '"')
        elif char in "-+" and not is_value and text[at : at + 1].strip():
            if char == "-":
                yield "not"
        else:
            at = _query_word_end(text, start, closes=depth > 0, is_value=is_value)
            word = text[start:at]
            name, colon, _ = word.partition(":")
            if colon and not is_value and not word.startswith(_URN) and is_field(name):
                at = start + len(name) + 1
                yield FieldToken(name)
                is_value = True
                continue
            yield _QUERY_OPERATORS.get(word) or _query_word(word, start)
        is_value = False


def _query_word_end(text: str, start: int, *, closes: bool, is_value: bool) -> int:
    """Return the end of the word at a position: the next white space, quote or, except in a value,
    `|`. With `closes`, a parenthesis that the word does not open ends it too."""
    depth = 0
    for match in _QUERY_STOP.finditer(text, start):
        char = match.group()[0]
        if char == "(":
            depth += 1
        elif char == ")" and (depth or not closes):
            depth = max(depth - 1, 0)
        elif char != "\\" and not (char == "|" and is_value):
            return match.start()
    return len(text)


def _query_word(word: str, start: int) -> Atom:
    star_before = word.startswith("*")
    star_after = len(word) > 1 and word.endswith("*") and not word.endswith("\\*")
    characters: list[str] = []
    wild: list[int] = []
    for escaped, char in _QUERY_CHARACTER.findall(word[star_before : len(word) - star_after]):
        if char and char in "*?":
            wild.append(len(characters))
        characters.append(escaped or char)
    # At the end of a word, `?` is a question mark.
    if wild and wild[-1] == len(characters) - 1 and characters[-1] == "?" and not star_after:
        wild.pop()
    end = start + len(word)
    return Atom("".join(characters), start, end, "", star_before, star_after, tuple(wild))
