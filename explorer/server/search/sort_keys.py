"""Sort keys, for results that are ordered by field values instead of by relevance.

The sort key of a document is a text: for each sort field in turn whether the document has a value,
and the value; then the URN. Keys compare as the documents are sorted, in either direction, and stay
valid while documents are added and removed. So a page can begin after a key.

Keys consist of the letters a to s. A value is two letters per byte, `b` for 0 to `q` for 15, and
the end mark `a`, which sorts before all of them. In descending order the letters are reversed.
"""

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from explorer.errors import InvalidInput
from explorer.metadata.names import natural_key
from explorer.server.search.analysis import fold_value, values_of
from explorer.server.search.document import Document, Scalar
from explorer.server.search.fields import DISPLAY, URN, VIRTUAL, Trait, Vocabulary
from explorer.server.search.query import SortBy

# The number of characters of a value that are compared. Values that are equal up to there are
# ordered by the next field, and finally by the URN.
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


@dataclass(frozen=True, slots=True)
class SortField:
    """A field to sort by.

    Documents without a value come last, in both directions. If a missing value means false
    (`is_derived`), they are sorted as false.
    """

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
        """Return the part of a key for a code."""
        if code is None:
            return _MISSING_FIRST if self.missing_first else _MISSING_LAST
        return _PRESENT + (code.translate(_TURNED) if self.descending else code)


def resolve_sort(
    sort: Sequence[SortBy], vocabulary: Vocabulary, field_names: frozenset[str]
) -> tuple[SortField, ...]:
    """Return the fields to sort by, with the URN as the last.

    Raises `UnknownName` for a field that cannot be searched.
    """
    fields_by_name: dict[str, SortField] = {}
    for sort_by in sort:
        name = vocabulary.resolve(sort_by.field, field_names)[0]
        derived = vocabulary.trait(name).derived
        fields_by_name.setdefault(name, SortField(name, sort_by.descending, derived))
        if name == URN:
            break
    fields_by_name.setdefault(URN, SortField(URN))
    return tuple(fields_by_name.values())


def sort_key(fields: Sequence[SortField], document: Document, vocabulary: Vocabulary) -> str:
    """Return the sort key of a document for these fields."""
    return "".join(
        field.part(sort_code(vocabulary.trait(field.name), document)) for field in fields
    )


def sort_codes(fields: Sequence[SortField], key: str) -> tuple[str | None, ...]:
    """Return the codes that a key consists of; `None` where the document has no value.

    Raises `InvalidInput` for a key of another sort.
    """
    codes: list[str | None] = []
    at = 0
    for field in fields:
        if key[at : at + 1] == field.part(None) and not field.is_always_there:
            codes.append(None)
            at += 1
            continue
        pattern = _TURNED_CODE if field.descending else _CODE
        match = pattern.match(key, at + 1)
        if key[at : at + 1] != _PRESENT or match is None:
            raise InvalidInput(
                "the position to continue from does not belong to this search; start again from "
                "the first page"
            )
        code = match.group()
        codes.append(code.translate(_TURNED_BACK) if field.descending else code)
        at = match.end()
    if at != len(key):
        raise InvalidInput(
            "the position to continue from does not belong to this search; start again from the "
            "first page"
        )
    return tuple(codes)


def check_key(fields: Sequence[SortField], key: str) -> None:
    """Raise `InvalidInput` unless the key is one of this sort."""
    sort_codes(fields, key)


def urn_of(fields: Sequence[SortField], key: str) -> str:
    """Return the URN in a sort key for these fields, the last of which is the URN."""
    code = sort_codes(fields, key)[-1] or _END
    return bytes.fromhex(code[:-1].translate(_TO_DIGITS)).decode()


def sort_code(trait: Trait, document: Document) -> str | None:
    """Return the coded value by which a document is sorted, or `None` if it has none.

    Of several values the least counts. Texts are compared without regard to case, and numbers in
    them by size, s2 before S10. URNs of entities are compared as they are, and `name` by the
    display name. In a structured property with numbers and texts, numbers come first.
    """
    values = (document.name,) if trait.name == DISPLAY else values_of(document, trait.name)
    return least_code(trait, values, [*map(fold_value, values)])


def least_code(trait: Trait, values: Sequence[Scalar], texts: Sequence[str]) -> str | None:
    """Return the code of the least of the values of a field, which `texts` has as they are
    compared; `None` if there is none to sort by."""
    if trait.name == URN:
        return _code(str(values[0]).encode())
    if trait.derived:
        return _TRUE if True in values else None
    if trait.mixed:
        return _code(min(map(_mix, values))) if values else None
    if trait.nature in ("number", "date"):
        numbers = [value for value in values if isinstance(value, float)]
        return number_code(min(numbers)) if numbers else None
    if not texts:
        return None
    first = min(texts)[:1]
    # Only digits are compared otherwise than as characters.
    return _code(min(_key(text) for text in texts if text[:1] == first or text[:1].isdecimal()))


def number_code(number: float) -> str:
    """Return the code of a number. Codes have the order of the numbers."""
    return _code(_in_order(number))


def _mix(value: Scalar) -> bytes:
    return b"0" + _in_order(value) if isinstance(value, float) else b"1" + _key(fold_value(value))


def _key(folded: str) -> bytes:
    return natural_key(folded)[:_CUT].encode()


def _in_order(number: float) -> bytes:
    """Return eight bytes that compare as the numbers do."""
    (bits,) = struct.unpack(">Q", struct.pack(">d", number + 0.0))
    turned = bits ^ (0xFFFF_FFFF_FFFF_FFFF if bits >> 63 else 1 << 63)
    return struct.pack(">Q", turned)


def _code(value: bytes) -> str:
    return value.hex().translate(_TO_LETTERS) + _END


_TRUE = _code(b"true")
