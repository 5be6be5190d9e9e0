"""Dividing a document into pages that fit a budget of tokens.

Language models charge by the token, and overlook things in long texts. A page has as many entries
of a document as fit, in the order of their importance; it says how many are left, and has a cursor
for the next page. Every entry is on exactly one page. A text in an entry may be cut, with a remark
that says so. A single long text is divided into a list of pieces, so that its pages contain all of
it.
"""

import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import orjson

from explorer.client.display import block, line
from explorer.errors import InvalidInput

BYTES_PER_TOKEN: Final = 3
"""The number of bytes of UTF-8 that count as a token. English has about four per token, and JSON
with URNs about three, so an answer has rather fewer tokens than are counted."""

DEFAULT_TOKENS: Final = 4_000
LEAST_TOKENS: Final = 400
MOST_TOKENS: Final = 100_000

LEFT: Final = "left"
"""The key under which a page says how many entries are left, and how to read them."""

CUT: Final = "cut"
"""The key under which a page says how to read the texts that it cut."""

END: Final = "end"
"""The cursor at the end of a document if more entries can be read from the server."""

_LONGEST_TEXT: Final = 1_200
_SHORTEST_TEXT: Final = 40
_LONGEST_KEY: Final = 100
_MOST_COUNTS: Final = 8
_PIECE: Final = 120

_Place: TypeAlias = tuple[str, ...]


def count_tokens(text: str | bytes) -> int:
    """Return the number of tokens that a text counts as."""
    encoded = text.encode() if isinstance(text, str) else text
    return -(-len(encoded) // BYTES_PER_TOKEN)


def check_budget(tokens: int | None) -> int:
    """Return a budget, by default `DEFAULT_TOKENS`. Raises `InvalidInput` if it is out of range."""
    if tokens is None:
        return DEFAULT_TOKENS
    if not LEAST_TOKENS <= tokens <= MOST_TOKENS:
        raise InvalidInput(f"a budget is from {LEAST_TOKENS:,} to {MOST_TOKENS:,} tokens")
    return tokens


def text_pieces(text: str) -> list[str]:
    """Return a text as a list of pieces that are short enough not to be cut; joined they give the
    text, without unsafe characters."""
    clean = block(text, len(text))
    return [clean[at : at + _PIECE] for at in range(0, len(clean), _PIECE)]


@dataclass(frozen=True, slots=True)
class _Entry:
    """A value at a place (a path of keys) in a document, or an element of the list at that
    place."""

    place: _Place
    value: Any
    is_element: bool

    def add_to(self, page: dict[str, Any]) -> None:
        """Add the entry to a page."""
        *parents, last = self.place
        for key in parents:
            page = page.setdefault(key, {})
        if self.is_element:
            page.setdefault(last, []).append(self.value)
        else:
            page[last] = self.value

    def remove_from(self, page: dict[str, Any]) -> None:
        """Remove the entry, which must be the last one, from a page, and then the list and objects
        that became empty."""
        levels = [page]
        for key in self.place[:-1]:
            levels.append(levels[-1][key])
        *_, last = self.place
        if self.is_element:
            levels[-1][last].pop()
        if not self.is_element or not levels[-1][last]:
            del levels[-1][last]
        for key, outer in zip(reversed(self.place[:-1]), reversed(levels[:-1]), strict=True):
            if not outer[key]:
                del outer[key]


def _entries(document: Mapping[str, Any], place: _Place = ()) -> Iterator[_Entry]:
    for key, value in document.items():
        child = (*place, _key_text(key))
        if isinstance(value, Mapping) and value:
            yield from _entries(value, child)
        elif isinstance(value, list | tuple) and value:
            yield from (_Entry(child, _clean(element), is_element=True) for element in value)
        else:
            yield _Entry(child, _clean(value), is_element=False)


def _key_text(key: object) -> str:
    """Return a key as it is shown; a long one is cut and gets a checksum, so that it stays
    unique."""
    text = line(str(key))
    if len(text) <= _LONGEST_KEY:
        return text
    return f"{text[:_LONGEST_KEY]}… {zlib.crc32(str(key).encode()):08x}"


def _clean(value: Any) -> Any:
    """Return a value without unsafe characters and without empty members."""
    if isinstance(value, str):
        return block(value, len(value))
    if isinstance(value, Mapping):
        cleaned = {_key_text(key): _clean(inner) for key, inner in value.items()}
        return {key: inner for key, inner in cleaned.items() if inner not in (None, "", [], {})}
    if isinstance(value, list | tuple):
        return [_clean(element) for element in value]
    return value


def _shorten(value: Any, longest: int) -> Any:
    """Return a value whose texts are cut to at most `longest` characters, each with the number of
    characters left out."""
    if isinstance(value, str) and len(value) > longest:
        return f"{value[:longest]}… {len(value) - longest:,} more characters"
    if isinstance(value, Mapping):
        return {key: _shorten(inner, longest) for key, inner in value.items()}
    if isinstance(value, list):
        return [_shorten(element, longest) for element in value]
    return value


def _mark_of(entry: _Entry) -> str:
    return f"{zlib.crc32(_encode([entry.place, entry.value])):08x}"


def _encode(value: Any) -> bytes:
    return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS)


def _size(value: Any) -> int:
    return count_tokens(_encode(value))


def page_of(
    document: Mapping[str, Any],
    tokens: int = DEFAULT_TOKENS,
    cursor: str = "",
    *,
    always: Mapping[str, Any] | None = None,
    further: int = 0,
    how: str = "call again with this cursor",
    hint: str = "",
) -> dict[str, Any]:
    """Return the page of a document that begins at a cursor and fits the budget of tokens.

    `always` holds entries for every page. `further` is the number of elements of the last list that
    are not in the document but can be read at its end, where the cursor is `END`. `how` says how to
    use the cursor, and `hint` how to read a text that was cut. Raises `InvalidInput` for a cursor
    of another document, or if an entry before it has changed since.
    """
    entries = list(_entries(document))
    start = _start_of(entries, cursor)
    page: dict[str, Any] = dict(always or {})
    # Room is reserved for the entries that are added at the end of the page.
    room = tokens - _size(page) - _size([LEFT, _left(entries, start, further, how), CUT, hint])
    end, size, is_cut = start, 0, False
    for entry in entries[start:]:
        value = _shorten(entry.value, _LONGEST_TEXT)
        name_cost = 1 + (0 if entry.is_element and end > start else _size(entry.place))
        cost = _size(value) + name_cost
        if size + cost > room:
            if end > start:
                break
            value = _fit(entry.value, room - name_cost)
        _Entry(entry.place, value, entry.is_element).add_to(page)
        is_cut = is_cut or value != entry.value
        size += cost
        end += 1
    if is_cut and hint:
        page[CUT] = hint
    while end > start + 1 and _size({**page, LEFT: _left(entries, end, further, how)}) > tokens:
        end -= 1
        entries[end].remove_from(page)
    remaining = _left(entries, end, further, how)
    return page | ({LEFT: remaining} if remaining else {})


def _fit(value: Any, tokens: int) -> Any:
    """Return a value whose texts are cut until it fits the number of tokens, if possible."""
    longest = _LONGEST_TEXT
    while longest > _SHORTEST_TEXT and _size(_shorten(value, longest)) > tokens:
        longest //= 2
    return _shorten(value, longest)


def _start_of(entries: Sequence[_Entry], cursor: str) -> int:
    if not cursor:
        return 0
    number, _, mark = cursor.partition("-")
    at = int(number) if number.isdecimal() else 0
    if not mark or not 0 < at <= len(entries) or _mark_of(entries[at - 1]) != mark:
        raise InvalidInput(
            "the cursor is not of this answer, or what is before it has changed since: ask again "
            "without a cursor"
        )
    return at


def _left(entries: Sequence[_Entry], end: int, further: int, how: str) -> dict[str, Any]:
    """Return how many entries follow position `end`, for each part of the document, with the cursor
    to read them; empty if none are left."""
    counts = Counter(entry.place[0] for entry in entries[end:])
    if further:
        counts[entries[-1].place[0] if entries else "results"] += further
    if not counts:
        return {}
    if len(counts) > _MOST_COUNTS:
        first = dict([*counts.items()][: _MOST_COUNTS - 1])
        counts = Counter({**first, "others": counts.total() - sum(first.values())})
    mark = f"{end}-{_mark_of(entries[end - 1])}" if end else ""
    return {"count": dict(counts), "cursor": END if end == len(entries) else mark, "how": how}
