"""Regular expressions over the terms of the index: literals, and texts within bounds."""

from collections.abc import Iterator

__all__ = ["is_short", "like", "literal", "within"]

# An expression has at most 1,000 states in tantivy, where a byte is up to three of them.
_MAX_LITERAL_BYTES = 250

_SIGNS = frozenset(r"\.+*?()|[]{}^$#&-~/")
_LAST = 0x10FFFF
_GROUP = 16

_Branch = tuple[int, str]


def literal(text: str) -> str:
    """The expression that stands for a text."""
    return "".join(f"\\{char}" if char in _SIGNS else char for char in text)


def like(pattern: str) -> str:
    """The expression that stands for a word with wildcards, `*` and `?`."""
    wild = {"*": ".*", "?": "."}
    return "".join(wild.get(char) or literal(char) for char in pattern)


def is_short(text: str) -> bool:
    """Whether an expression can stand for a text."""
    return len(text.encode()) <= _MAX_LITERAL_BYTES


def within(low: str | None, high: str | None, *, longest: int, strict: bool) -> list[str]:
    """Expressions that together stand for the texts between two bounds.

    Texts are put in order by code points, as far as `longest` characters; the bounds are no longer
    than that, and left out if `strict`. None leaves a side open.
    """
    if low is None:
        return [".*"] if high is None else _gathered(high, _below(high, 0, longest, strict=strict))
    if high is None:
        return _gathered(low, _above(low, 0, longest, strict=strict))
    if low > high or (strict and low == high):
        return []
    fork = _fork(low, high)
    if fork == len(high):
        return [literal(high) + (".*" if len(high) == longest else "")]
    if fork == len(low):
        below = _below(high, fork, longest, strict=strict)
        return _gathered(high, (one for one in below if not (strict and one == (fork, ""))))
    between = _chars(ord(low[fork]) + 1, ord(high[fork]) - 1)
    found = [f"{literal(low[:fork])}{between}.*"] if between else []
    found += _gathered(low, _above(low, fork + 1, longest, strict=strict))
    return found + _gathered(high, _below(high, fork + 1, longest, strict=strict))


def _fork(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    alike = 0
    while alike < min(len(one), len(other)) and one[alike] == other[alike]:
        alike += 1
    return alike


def _above(low: str, begin: int, longest: int, *, strict: bool) -> Iterator[_Branch]:
    """What follows so many characters of the lower bound in the texts above it."""
    for at in range(begin, len(low)):
        if above := _chars(ord(low[at]) + 1, _LAST):
            yield at, f"{above}.*"
    if not strict:
        yield len(low), ".*"
    elif len(low) < longest:
        yield len(low), ".+"


def _below(high: str, begin: int, longest: int, *, strict: bool) -> Iterator[_Branch]:
    """What follows so many characters of the upper bound in the texts below it."""
    for at in range(begin, len(high)):
        yield at, ""
        if below := _chars(0, ord(high[at]) - 1):
            yield at, f"{below}.*"
    if not strict:
        yield len(high), ".*" if len(high) == longest else ""


def _gathered(stem: str, branches: Iterator[_Branch]) -> list[str]:
    """The branches off a stem as few expressions, each small enough."""
    groups: dict[int, list[str]] = {}
    for at, rest in branches:
        begin = at - at % _GROUP
        groups.setdefault(begin, []).append(literal(stem[begin:at]) + rest)
    return [f"{literal(stem[:begin])}(?:{'|'.join(group)})" for begin, group in groups.items()]


def _chars(first: int, last: int) -> str:
    """The class of the characters between two code points; surrogates are none."""
    if 0xD800 <= first <= 0xDFFF:
        first = 0xE000
    if 0xD800 <= last <= 0xDFFF:
        last = 0xD7FF
    return f"[\\x{{{first:x}}}-\\x{{{last:x}}}]" if first <= last else ""
