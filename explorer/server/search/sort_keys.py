"""Putting results in the order of their values instead of how well they fit.

A place in such an order is written down as a text, the key: for each field sorted by, in turn,
whether there is a value and which, then the URN. Keys compare as the places do, whatever the
directions, and keep their meaning while documents come and go; so a page can begin after a key.

Everything is in the letters a to s. A value is two letters a byte, `b` for 0 to `q` for 15, and an
end, `a`, that comes before them all; descending, the letters stand the other way round.
"""

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from explorer.errors import InvalidInput
from explorer.metadata.names import natural_key
from explorer.server.cache import cached_short
from explorer.server.search import fields
from explorer.server.search.analysis import fold
from explorer.server.search.document import Document, Scalar
from explorer.server.search.fields import URN, VIRTUAL, Trait, Vocabulary
from explorer.server.search.query import SortBy

__all__ = [
    "SortField",
    "check_key",
    "number_code",
    "resolve_sort",
    "sort_code",
    "sort_codes",
    "sort_key",
    "urn_of",
]

# So many characters of a value decide where it stands; what is alike up to there is told apart by
# the next field, and by the URN at last.
_CUT = 96

_DIGITS, _LETTERS = "0123456789abcdef", "bcdefghijklmnopq"
_TO_LETTERS = str.maketrans(_DIGITS, _LETTERS)
_TO_DIGITS = str.maketrans(_LETTERS, _DIGITS)
_END = "a"
_TURNED = str.maketrans(_LETTERS + _END, _LETTERS[::-1] + "r")
_TURNED_BACK = str.maketrans(_LETTERS[::-1] + "r", _LETTERS + _END)
_MISSING_FIRST, _PRESENT, _MISSING_LAST = "abs"
_CODE = re.compile(r"(?:[b-q]{2})*a")
_TURNED_CODE = re.compile(r"(?:[b-q]{2})*r")
_SEVERAL = 4


@dataclass(frozen=True, slots=True)
class SortField:
    """A field to sort by. Documents without a value come last, both ways; but where the lack of a
    value means false (`is_derived`), they come where false does."""

    name: str
    descending: bool = False
    is_derived: bool = False

    @property
    def missing_first(self) -> bool:
        """Whether documents without a value come first."""
        return self.is_derived and not self.descending

    @property
    def is_always_there(self) -> bool:
        """Whether every document has a value."""
        return self.name in VIRTUAL

    def part(self, code: str | None) -> str:
        """What a code is in a key."""
        if code is None:
            return _MISSING_FIRST if self.missing_first else _MISSING_LAST
        return _PRESENT + (code.translate(_TURNED) if self.descending else code)


def resolve_sort(
    sort: Sequence[SortBy], vocabulary: Vocabulary, known: frozenset[str]
) -> tuple[SortField, ...]:
    """The fields to sort by, the URN at the end. Raises `UnknownName` for a field that cannot be
    searched."""
    found: dict[str, SortField] = {}
    for one in sort:
        name = vocabulary.resolve(one.field, known)[0]
        derived = vocabulary.trait(name).derived
        found.setdefault(name, SortField(name, one.descending, derived))
        if name == URN:
            break
    found.setdefault(URN, SortField(URN))
    return tuple(found.values())


def sort_key(fields: Sequence[SortField], document: Document, vocabulary: Vocabulary) -> str:
    """The place of a document among those sorted by these fields."""
    return "".join(
        field.part(sort_code(vocabulary.trait(field.name), document)) for field in fields
    )


def sort_codes(fields: Sequence[SortField], key: str) -> tuple[str | None, ...]:
    """The codes that a key was made of; raises `InvalidInput` for one of another sort."""
    codes: list[str | None] = []
    at = 0
    for field in fields:
        if key[at : at + 1] == field.part(None) and not field.is_always_there:
            codes.append(None)
            at += 1
            continue
        pattern = _TURNED_CODE if field.descending else _CODE
        found = pattern.match(key, at + 1)
        if key[at : at + 1] != _PRESENT or found is None:
            raise InvalidInput("the place to go on from is not one of this search; begin again")
        code = found.group()
        codes.append(code.translate(_TURNED_BACK) if field.descending else code)
        at = found.end()
    if at != len(key):
        raise InvalidInput("the place to go on from is not one of this search; begin again")
    return tuple(codes)


def check_key(fields: Sequence[SortField], key: str) -> None:
    """Raise `InvalidInput` unless the key is one of this sort."""
    sort_codes(fields, key)


def urn_of(fields: Sequence[SortField], key: str) -> str:
    """The URN in a key of documents sorted by these fields, the last of which it is."""
    code = sort_codes(fields, key)[-1] or _END
    return bytes.fromhex(code[:-1].translate(_TO_DIGITS)).decode()


def sort_code(trait: Trait, document: Document) -> str | None:
    """The value by which a document is sorted, coded; nothing where it has none.

    Of several values the least one counts. Texts are compared without regard to case and with
    their numbers by size, s2 before S10; URNs of entities as they are, `name` by the name an
    entity is shown by. A structured property may have numbers and texts: numbers come first.
    """
    match trait.name:
        case "urn":
            return _coded(document.urn.encode())
        case "_name":
            return _coded(_folded(document.name))
        case "_entityType":
            return _coded(_folded(document.entity_type))
        case "removed":
            return _coded(_folded("true" if document.removed else "false"))
        case fields.USE:
            return number_code(document.usage)
    values = document.fields.get(trait.name, ())
    if trait.derived:
        return _TRUE if True in values else None
    if trait.mixed:
        return _coded(min(map(_mixed, values))) if values else None
    if trait.nature in ("number", "date"):
        numbers = [value for value in values if isinstance(value, float)]
        return number_code(min(numbers)) if numbers else None
    if not values:
        return None
    # Codes are in the order of what they code, so only the least is coded.
    texts = [value for value in values if isinstance(value, str)]
    if len(values) == len(texts) == 1:
        return _code_of(texts[0])
    if len(texts) < max(len(values), _SEVERAL):
        return _coded(min(map(_text_of, values)))
    # Only those that begin like the least one can be it.
    begins = {first: _begin(first) for first in {text[:1] for text in texts}}
    least = min(begins.values())
    return _coded(min(_folded_once(text) for text in texts if begins[text[:1]] == least))


def number_code(number: float) -> str:
    """A number coded, in the order of the numbers."""
    return _coded(_in_order(number))


@lru_cache(maxsize=1_024)
def _begin(letter: str) -> str:
    """The first letter of a text as it is compared; one digit stands for all, since numbers are
    compared by size."""
    first = fold(letter)[:1]
    return "0" if first.isdecimal() else first


def _text_of(value: Scalar) -> bytes:
    if isinstance(value, bool):
        return b"true" if value else b"false"
    return _folded_once(value if isinstance(value, str) else str(value))


def _mixed(value: Scalar) -> bytes:
    return b"0" + _in_order(value) if isinstance(value, float) else b"1" + _text_of(value)


# Names of columns, tags and owners come again and again.
@cached_short(16 << 20)
def _folded_once(text: str) -> bytes:
    return _folded(text)


@cached_short(16 << 20)
def _code_of(text: str) -> str:
    return _coded(_folded(text))


def _folded(text: str) -> bytes:
    return natural_key(fold(text))[:_CUT].encode()


def _in_order(number: float) -> bytes:
    """Eight bytes that compare as the numbers do."""
    (bits,) = struct.unpack(">Q", struct.pack(">d", number + 0.0))
    turned = bits ^ (0xFFFF_FFFF_FFFF_FFFF if bits >> 63 else 1 << 63)
    return struct.pack(">Q", turned)


def _coded(value: bytes) -> str:
    return value.hex().translate(_TO_LETTERS) + _END


_TRUE = _coded(b"true")
