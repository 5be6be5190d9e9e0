"""How one value is compared: the folded texts that it equals."""

import hashlib
import math
from datetime import UTC, datetime

from explorer.errors import InvalidUrn
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.server.cache import cached_short
from explorer.server.search.document import Scalar
from explorer.server.search.fields import ENTITY_TYPE, Trait
from explorer.server.search.text import fold, in_words

__all__ = [
    "as_number",
    "bare_names",
    "forms",
    "needle",
    "number",
    "number_form",
    "readable",
]

_LONGEST_TERM = 512
# Before a number among texts: `1.10` equals the number 1.1, and not the text.
_NUMBER = "="
_TRUE = frozenset({"true", "yes", "1"})
_FALSE = frozenset({"false", "no", "0"})


def forms(trait: Trait, value: Scalar) -> tuple[str, ...]:
    """The folded texts that a value equals, itself first.

    A URN equals its bare name too (`pii` for `urn:li:tag:PII`), the path of a column its plain
    path and its last name. Of prose only the letters and digits are compared.
    """
    if isinstance(value, str):
        if trait.prose:
            return (in_words(fold(value)),)
        if trait.nature == "text":
            return _text_forms(value, trait.column)
        found = _term_forms(value)
        return (_plain_type(found[0]),) if trait.name == ENTITY_TYPE else found
    if isinstance(value, bool):
        return ("true",) if value else ("false",)
    if trait.mixed:
        return _digits(value), number_form(value)
    return (_digits(value),)


@cached_short(16 << 20)
def bare_names(value: str) -> tuple[str, ...]:
    """What a URN is called in short, as written; nothing for what is no URN."""
    if not value.startswith("urn:li:"):
        return ()
    try:
        urn = Urn.parse(value)
    except InvalidUrn:
        return ()
    last = urn.name.rpartition(".")[2]
    return (urn.name, last) if urn.entity_type == "glossaryTerm" and last else (urn.name,)


def readable(trait: Trait, value: str) -> str:
    """What free text looks into: the name of a URN, the path of a column without the types and
    the version in it, which every column of its kind has; any other text as it is."""
    if value.startswith("urn:li:"):
        return (bare_names(value) or (value,))[0]
    return _plain_path(value) if trait.column and value.startswith("[") else value


@cached_short(16 << 20)
def _plain_path(value: str) -> str:
    return FieldPath(value).simple


def needle(trait: Trait, text: str) -> str:
    """What is asked for, in the form it is compared in."""
    if trait.nature in ("number", "date"):
        asked = number(trait, text)
        return fold(text) if asked is None else _digits(asked)
    folded = fold(text)
    if trait.nature == "boolean":
        return "true" if folded in _TRUE else "false" if folded in _FALSE else folded
    if trait.name == ENTITY_TYPE:
        folded = _plain_type(folded)
    if trait.prose:
        return in_words(folded)
    return folded if trait.nature == "text" else _bounded(folded)


def number_form(value: float) -> str:
    """What a number in a mixed field equals, and no text does."""
    return f"{_NUMBER}{_digits(value)}"


def number(trait: Trait, text: str) -> float | None:
    """A text as the number it is; as milliseconds since 1970 for a date of a date field."""
    found = as_number(text)
    return _date_millis(text) if found is None and trait.nature == "date" else found


def as_number(text: str) -> float | None:
    """A text as the finite number it is."""
    try:
        found = float(text)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def _digits(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)


def _bounded(text: str) -> str:
    """A term no longer than terms are kept; a longer one ends in a digest of the whole."""
    if len(text) <= _LONGEST_TERM:
        return text
    digest = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    return f"{text[: _LONGEST_TERM - 20]}…{digest}"


@cached_short(16 << 20)
def _term_forms(value: str) -> tuple[str, ...]:
    found = dict.fromkeys(fold(text) for text in (value, *bare_names(value)))
    return tuple(_bounded(text) for text in found)


@cached_short(32 << 20)
def _text_forms(value: str, is_column: bool) -> tuple[str, ...]:
    if "." not in value and not value.startswith("urn:li:"):
        return (fold(value),)
    found = [value, *bare_names(value)]
    if is_column and "." in value:
        path = FieldPath(value)
        found += [path.simple, path.name]
    return tuple(dict.fromkeys(fold(text) for text in found))


def _plain_type(folded: str) -> str:
    # GraphQL says CORP_USER where the registry says corpuser.
    return folded.replace("_", "")


def _date_millis(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.timestamp() * 1000
