"""The analyser: splits names, prose and queries into words, and prepares documents for indexing.

    fct_users_created    fct users created
    usersCreated         users created, and the whole: userscreated
    HTML5Parser          html5 parser, html5parser
    café au lait         cafe au lait

Words are runs of letters and digits, split again where the case changes, in lower case and without
accents. In scripts written without spaces (Han, kana) each character is a word.

For how an index stores an analysed document see `explorer.server.search.terms`.
"""

import hashlib
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from itertools import chain, pairwise
from unicodedata import normalize

from explorer.errors import InvalidUrn
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.proposal import millis_of
from explorer.metadata.structured_properties import PREFIX
from explorer.metadata.urn import Urn
from explorer.query.fields import USE
from explorer.server.search import fields
from explorer.server.search.document import Document, Scalar
from explorer.server.search.fields import ENTITY_TYPE, Trait, Vocabulary

MAX_TEXT = 16_000
MAX_WORD = 100
GAP = "|"

_CHUNK = re.compile(r"[^\W_]+")
_WORD_OR_GAP = re.compile(rf"[^\W_]+|{re.escape(GAP)}")
_SYMBOLS = re.compile("([^a-z0-9]+)")
_SYMBOLS_OF_ANY = re.compile(r"([\W_]+)")
# Stands for a space in a run of symbols. Folded texts have no control characters.
SPACE = "\0"
# For ASCII text, `str.translate` is many times faster than a regular expression.
_ASCII = "".join(map(chr, range(0x80)))
_ONLY_RUNS = "".join(char if char.isalnum() else " " for char in _ASCII)
_ONLY_SYMBOLS = "".join(" " if char.isalnum() else char for char in _ASCII.replace(" ", SPACE))
_RUNS_AND_GAPS = _ONLY_RUNS[: ord(GAP)] + GAP + _ONLY_RUNS[ord(GAP) + 1 :]
# The beginnings of the names of entity types that people do not look for first.
_LAST_TYPES = (
    *("assertion", "corpGroup", "corpuser", "dataContract", "dataHub", "dataPlatform"),
    *("dataProcessInstance", "dataType", "entityType", "form", "globalSettings", "incident"),
    *("inviteToken", "lifecycleStageType", "ownershipType", "platformResource", "post", "query"),
    *("schemaField", "telemetry", "test", "versionSet"),
)
# Control characters, which do not occur in folded texts.
SEAM = "\x1c"
CUT = "\x1f"
_ACCENT = re.compile("[\u0300-\u036f]")
_CONTROL = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0)), " ")
# Endings of plurals other than a plain s, with the endings of their singulars.
_PLURALS = (
    ("ies", ("y",)),
    ("ses", ("s", "sis")),
    ("xes", ("x",)),
    ("zes", ("z",)),
    ("ches", ("ch",)),
    ("shes", ("sh",)),
    ("oes", ("o",)),
    ("ices", ("ex", "ix")),
)
_UNSPACED = (
    ("\u3040", "\u30ff"),
    ("\u3400", "\u4dbf"),
    ("\u4e00", "\u9fff"),
    ("\uf900", "\ufaff"),
)


def compose(text: str) -> str:
    """Return a text with each letter and its accents as one character (NFC).

    macOS and some tools write `é` as two characters, which look the same.
    """
    return text if text.isascii() else normalize("NFC", text)


def fold(text: str) -> str:
    """Return a text as it is compared: composed, case-folded, with control characters as spaces.

    Only the first `MAX_TEXT` characters are used. Lone surrogates, which no index can hold, become
    `?`.
    """
    text = text[:MAX_TEXT]
    if text.isascii():
        return text.lower() if text.isprintable() else text.translate(_CONTROL).lower()
    text = compose(text.encode("utf-8", "replace").decode())
    return text.translate(_CONTROL).casefold()[:MAX_TEXT]


def chunks(text: str) -> list[str]:
    """Return the runs of letters and digits of a text, as written except for accents."""
    return _CHUNK.findall(plain_letters(text[:MAX_TEXT]))


def plain_letters(text: str) -> str:
    """Return a text without accents."""
    if text.isascii():
        return text
    text = text.encode("utf-8", "replace").decode()
    return normalize("NFKC", _ACCENT.sub("", normalize("NFKD", text)))


def split(chunk: str) -> tuple[str, ...]:
    """Return the words of one run, split where the case or the script changes."""
    if chunk.isascii() and (chunk[1:] == chunk[1:].lower() or chunk.isupper()):
        return (chunk.lower()[:MAX_WORD],)
    cuts = [0, *(at for at in range(1, len(chunk)) if _is_cut(chunk, at)), len(chunk)]
    return tuple(chunk[begin:end].casefold()[:MAX_WORD] for begin, end in pairwise(cuts))


def _is_cut(chunk: str, at: int) -> bool:
    before, letter = chunk[at - 1], chunk[at]
    if _is_unspaced(before) or _is_unspaced(letter):
        return True
    if not letter.isupper():
        return False
    return not before.isupper() or chunk[at + 1 : at + 2].islower()


def _is_unspaced(char: str) -> bool:
    return char > "\u3000" and any(first <= char <= last for first, last in _UNSPACED)


_VOWEL = re.compile("[aeiouy]")
_KEPT_DOUBLE = frozenset("aeiouylsz")
_SIBILANT_PLURALS = ("sses", "xes", "zes", "ches", "shes")


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Return the stem of a folded English word, which its plural, past and -ing form share: `log`
    for `logs` and `logging`, `siz` for `size`, `sizes` and `sizing`. It need not be a word; words
    that only look alike, such as `customer` and `customs`, have different stems."""
    if len(word) < 4 or not (word.isascii() and word.isalpha()):
        return word
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        if word.endswith("ies") and len(word) > 4:
            word = word[:-3] + "y"
        elif word.endswith(_SIBILANT_PLURALS) or (word.endswith("uses") and len(word) > 4):
            word = word[:-2]
        else:
            word = word[:-1]
    if word.endswith("ied") and len(word) > 4:
        word = word[:-3] + "y"
    for ending in ("ing", "ed"):
        begin = word.removesuffix(ending)
        if begin != word and len(begin) > 2 and _VOWEL.search(begin) and not word.endswith("eed"):
            # `add` of `added` is a word, `logg` of `logging` is not.
            is_doubled = len(begin) > len("add") and begin[-1] == begin[-2] not in _KEPT_DOUBLE
            word = begin[:-1] if is_doubled else begin
            break
    has_silent_e = word.endswith("e") and len(word) > 3 and not _VOWEL.match(word[-2])
    return word[:-1] if has_silent_e else word


def singulars(word: str) -> tuple[str, ...]:
    """Return the words whose plural a folded English word may be, judging by its ending.

    `categories` gives `category`, `statuses` gives `status`. Some results are not words; these find
    nothing. Empty for a word that does not look like a plural.
    """
    if len(word) < 4 or not (word.isascii() and word.isalpha()) or not word.endswith("s"):
        return ()
    if word.endswith(("ss", "us", "is")):
        return ()
    candidates = [word[:-1]]
    for ending, instead in _PLURALS:
        if word.endswith(ending) and len(word) > len(ending) + 1:
            candidates += [word[: -len(ending)] + singular_ending for singular_ending in instead]
    return tuple(candidates)


def join_words(text: str) -> str:
    """Return the letters and digits of a text as one word: `fct_users` as `fctusers`."""
    if text.isascii() and len(text) <= MAX_WORD:
        return "".join(text.translate(_ONLY_RUNS).split()).lower()
    return "".join("".join(split(chunk)) for chunk in chunks(text))


def word_line(values: Iterable[str]) -> str:
    """Return every word of the values on one line, in order.

    Runs that were split into several words follow at the end, unsplit. `GAP` separates the values,
    and precedes each unsplit run. ` users created | orders | userscreated ` has the word users if
    it contains ` users `, a word that begins with us if it contains ` us`, and a phrase if it
    contains its words one after the other.
    """
    text = f" {GAP} ".join([value[:MAX_TEXT] for value in values])
    if text.isascii():
        runs = text.translate(_RUNS_AND_GAPS).split()
        if text == text.lower():
            # In lower case, no run is split.
            if max(map(len, runs), default=0) > MAX_WORD:
                runs = [word[:MAX_WORD] for word in runs]
            return f" {' '.join(runs)} "
    else:
        runs = _WORD_OR_GAP.findall(plain_letters(text))
    parts_of = list(map(split, runs))
    words = list(chain.from_iterable(parts_of))
    if len(words) > len(runs):
        wholes = ("".join(parts)[:MAX_WORD] for parts in parts_of if len(parts) > 1)
        for joined_run in dict.fromkeys(wholes):
            words += (GAP, joined_run)
    return f" {' '.join(words)} "


def in_words(folded: str) -> str:
    """Return the runs of letters and digits of a folded text with one space between them.

    Prose is compared in this form.
    """
    if folded.isascii():
        return " ".join(folded.translate(_ONLY_RUNS).split())
    return " ".join(_CHUNK.findall(folded))


def pieces(folded: str) -> tuple[str, ...]:
    """Split a folded text after every run of characters that are neither letters nor digits.

    `db.fct_orders` gives `db<SEAM>.`, `fct<SEAM>_`, `orders`: each piece is letters and digits,
    then the characters that follow them, with a `SEAM` between. Joined, without the `SEAM`s, the
    pieces are the text. So a part of a text can be found as consecutive pieces, of which the first
    and the last may be incomplete.
    """
    runs = runs_and_symbols(folded)
    if len(runs) == 1:
        return (folded,) if folded else ()
    complete_pieces = map(SEAM.join, zip(runs[:-1:2], runs[1::2], strict=True))
    return (*complete_pieces, runs[-1]) if runs[-1] else tuple(complete_pieces)


def runs_and_symbols(folded: str) -> list[str]:
    """Return the runs of letters and digits of a folded text, and between each two of them the run
    of other characters. The first and the last are empty where the text has others there."""
    return (_SYMBOLS if folded.isascii() else _SYMBOLS_OF_ANY).split(folded)


def symbol_runs(folded: str) -> list[str]:
    """Return the runs of characters of a folded text that are neither letters nor digits, in order
    and with `SPACE` for each space."""
    if folded.isascii():
        return folded.translate(_ONLY_SYMBOLS).split()
    return _SYMBOLS_OF_ANY.findall(folded.replace(" ", SPACE))


_LONGEST_TERM = 512
# Prefix of a number in a field that also holds texts: `1.10` equals the number 1.1, but not the
# text 1.1.
_NUMBER = "="
_TRUE = frozenset({"true", "yes", "1"})
_FALSE = frozenset({"false", "no", "0"})


def fold_value(value: Scalar) -> str:
    """Return a value as a folded text."""
    return fold(value) if isinstance(value, str) else str(value).lower()


def forms(trait: Trait, value: Scalar, text: str) -> tuple[str, ...]:
    """Return the folded texts that a value equals, its own first, which is `fold_value(value)`.

    A URN also equals its bare name (`pii` for `urn:li:tag:PII`), a column path also its simple path
    and its last name. Of prose, only letters and digits are compared. Whole URNs are compared as
    written instead, see `exact_urn`.
    """
    if isinstance(value, str):
        if trait.prose:
            return (in_words(text),)
        if trait.name == ENTITY_TYPE:
            return (_plain_type(_bound(text)),)
        others = bare_names(value)
        if trait.column and "." in value:
            path = FieldPath(value)
            others = (*others, path.simple, path.name)
        texts = tuple(dict.fromkeys((text, *map(fold, others)))) if others else (text,)
        return texts if trait.nature == "text" else tuple(map(_bound, texts))
    if isinstance(value, bool):
        return (text,)
    if trait.mixed:
        return _digits(value), number_form(value)
    return (_digits(value),)


def bare_names(value: str) -> tuple[str, ...]:
    """Return the short names of a URN, as written; empty for a text that is not a URN."""
    if not value.startswith("urn:li:"):
        return ()
    try:
        urn = Urn.parse(value)
    except InvalidUrn:
        return ()
    last = urn.name.rpartition(".")[2]
    return (urn.name, last) if urn.entity_type == "glossaryTerm" and last else (urn.name,)


def readable(trait: Trait, value: str) -> str:
    """Return the text of a value that free-text search uses.

    This is the name of a URN, the path of a column without the types and the version that it shares
    with all columns of its kind, and any other text unchanged.
    """
    if value.startswith("urn:li:"):
        return (bare_names(value) or (value,))[0]
    return _plain_path(value) if trait.column and value.startswith("[") else value


def _plain_path(value: str) -> str:
    return FieldPath(value).simple


def needle(trait: Trait, text: str) -> str:
    """Return a search text in the form in which values are compared."""
    if trait.nature in ("number", "date"):
        searched_number = number(trait, text)
        return fold(text) if searched_number is None else _digits(searched_number)
    folded = fold(text)
    if trait.nature == "boolean":
        return "true" if folded in _TRUE else "false" if folded in _FALSE else folded
    if trait.name == ENTITY_TYPE:
        folded = _plain_type(folded)
    if trait.prose:
        return in_words(folded)
    return folded if trait.nature == "text" else _bound(folded)


def exact_urn(text: str) -> str | None:
    """Return a URN in the form in which whole URNs are compared: composed, in its own case.

    `None` for other texts.
    """
    if not text.startswith("urn:li:"):
        return None
    text = text[:MAX_TEXT]
    return text if text.isascii() else compose(text.encode("utf-8", "replace").decode())


def identity(trait: Trait, text: str) -> str:
    """Return a key that is equal for all values of a field that a filter does not distinguish."""
    urn = None if trait.prose else exact_urn(text)
    return needle(trait, text) if urn is None else urn


def number_form(value: float) -> str:
    """Return the form in which a mixed field indexes a number, which differs from every text."""
    return f"{_NUMBER}{_digits(value)}"


def number(trait: Trait, text: str) -> float | None:
    """Return the number in a text, or `None`.

    For a date field a date is accepted too, and returned as milliseconds since 1970 UTC.
    """
    plain_number = as_number(text)
    return _date_millis(text) if plain_number is None and trait.nature == "date" else plain_number


def as_number(text: str) -> float | None:
    """Return the finite number in a text, or `None`."""
    try:
        parsed_number = float(text)
    except ValueError:
        return None
    return parsed_number if math.isfinite(parsed_number) else None


def _digits(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)


def _bound(text: str) -> str:
    """Return a term, shortened to the maximum length if it is longer; it then ends in a digest of
    the whole."""
    if len(text) <= _LONGEST_TERM:
        return text
    digest = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    return f"{text[: _LONGEST_TERM - 20]}…{digest}"


def _plain_type(folded: str) -> str:
    # GraphQL has CORP_USER where the registry has corpuser.
    return folded.replace("_", "")


def _date_millis(text: str) -> int | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return millis_of(moment)


_DBT = "urn:li:dataset:(urn:li:dataPlatform:dbt,"


def _display_names(document: Document) -> tuple[Scalar, ...]:
    values: dict[Scalar, None] = {document.name: None} if document.name else {}
    for name in fields.GIVEN_NAMES:
        values.update(dict.fromkeys(document.fields.get(name, ())))
    if document.urn.startswith(_DBT):
        # The alias of a model, or the identifier of a source: its name in the warehouse.
        values[Urn.parse(document.urn).name.rpartition(".")[2]] = None
    return tuple(values)


_VIRTUAL: dict[str, Callable[[Document], tuple[Scalar, ...]]] = {
    fields.URN: lambda document: (document.urn,),
    fields.ENTITY_TYPE: lambda document: (document.entity_type,),
    fields.REMOVED: lambda document: (document.removed,),
    fields.DISPLAY: _display_names,
    USE: lambda document: (float(document.usage),),
}

NAME_CUT = 200
USED_MOST = 15

_MAX_FACET = 1_000


@dataclass(frozen=True)
class AnalysedDocument:
    """A document with the values that an index needs.

    lines         its words: those of its names, those of each weight above the common one (heaviest
                  first), those of the common weight, those of lower weights
    names         its names as written
    joined_names  its names as one word each, and the last parts of dotted names
    references    the URNs among the values that free-text search uses
    """

    document: Document
    lines: tuple[str, ...]
    names: tuple[str, ...]
    joined_names: tuple[str, ...]
    references: tuple[str, ...]
    vocabulary: Vocabulary

    @property
    def words(self) -> str:
        """All lines joined into one, in which words of different lines are not adjacent."""
        return "".join(self.lines)

    @property
    def key(self) -> str:
        """The sort key among documents that match equally well, see `order_key`."""
        return order_key(self.document)

    @property
    def facets(self) -> dict[str, list[str]]:
        """The facet fields that have a value, each with the values that its facet counts.

        Structured properties are counted whether or not they are shown as facets, because that
        setting may change.
        """
        counted = self.vocabulary.counting(tuple(self.document.fields))
        return {
            name: values
            for name in counted
            if (values := facet_values(self.document, name, self.vocabulary))
        }


def analyse(vocabulary: Vocabulary, document: Document) -> AnalysedDocument:
    """Analyse a document; about 0.1 ms."""
    entity_type = document.entity_type
    strong = vocabulary.strong
    by_rank: list[list[str]] = [[] for _ in range(len(strong) + 2)]
    references: dict[str, None] = {}
    weights = vocabulary.weights(entity_type)
    for name, values in document.fields.items():
        weight = weights.get(name)
        if weight is None and name.startswith(PREFIX):
            weight = vocabulary.weight(entity_type, name)
        if weight is None:
            continue
        ranked = by_rank[_rank(weight, strong)]
        trait = vocabulary.trait(name)
        for value in values:
            if not isinstance(value, str):
                continue
            if value.startswith("urn:li:"):
                references[value] = None
                ranked += bare_names(value)[:1]
            else:
                ranked.append(readable(trait, value) if trait.column else value)
    names = names_of(vocabulary, document)
    joined_names = join_names(names)
    return AnalysedDocument(
        document=document,
        lines=(word_line((*names, *joined_names)), *(word_line(values) for values in by_rank)),
        names=names,
        joined_names=joined_names,
        references=tuple(references),
        vocabulary=vocabulary,
    )


def values_of(document: Document, name: str) -> tuple[Scalar, ...]:
    """Return the values of a field of a document; the field may be one that every entity has."""
    if name in _VIRTUAL:
        return _VIRTUAL[name](document)
    return document.fields.get(name, ())


def order_key(document: Document) -> str:
    """Return the sort key among documents that match equally well: most used first, minor ones
    (`is_minor`) last, then by URN.

    Usage is compared in the steps of `usage_step`. The key is hexadecimal, which keeps the order
    and can be used in a query of the index.
    """
    step = USED_MOST - usage_step(document.usage)
    return f"{step:x}{is_minor(document):d}{document.urn}".encode().hex()


def is_minor(document: Document) -> bool:
    """Return whether an entity is of a type that people do not look for first."""
    return document.entity_type.startswith(_LAST_TYPES)


def urn_in_order(key: str) -> str:
    """Return the URN that a key from `order_key` contains."""
    return bytes.fromhex(key).decode()[2:]


def facet_values(document: Document, name: str, vocabulary: Vocabulary) -> list[str]:
    """Return the values of a field as its facet counts them.

    Values that a filter does not distinguish are counted once; values of more than 1,000 characters
    are not counted.
    """
    texts = [
        text
        for field in vocabulary.facet_fields(name)
        for value in values_of(document, field)
        if len(text := as_text(value)) <= _MAX_FACET
    ]
    if len(texts) < 2:
        return texts
    texts_by_identity: dict[str, str] = {}
    for text in texts:
        texts_by_identity.setdefault(identity(vocabulary.trait(name), text), text)
    return [*texts_by_identity.values()]


def as_text(value: Scalar) -> str:
    """Return a value as text."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case _:
            return str(int(value)) if value.is_integer() else repr(value)


def names_of(vocabulary: Vocabulary, document: Document) -> tuple[str, ...]:
    """Return the names of an entity as written: its display name, then those in its name fields."""
    names = [document.name]
    for name in vocabulary.naming(document.entity_type):
        names += [value for value in document.fields.get(name, ()) if isinstance(value, str)]
    return tuple(dict.fromkeys(names))


# Keys of custom properties whose values are other names of a glossary term.
_OTHER_NAMES = frozenset({"abbreviation", "acronym", "alias", "short name", "synonym"})
_IN_BRACKETS = re.compile(r"\(([^()]{2,20})\)\s*$")
_SHORTEST_ACRONYM = 3


def other_names(document: Document) -> tuple[str, ...]:
    """Return the other names of a glossary term, each as one word: the first letters of a name of
    three words or more, the text in brackets at its end, and its custom properties `acronym`,
    `abbreviation`, `synonym`, `alias` and `short name`, or the plurals of these."""
    if document.entity_type != "glossaryTerm":
        return ()
    texts: list[str] = []
    for name in values_of(document, fields.DISPLAY):
        texts += _IN_BRACKETS.findall(str(name))
        name_words = chunks(_IN_BRACKETS.sub("", str(name)))
        if len(name_words) >= _SHORTEST_ACRONYM:
            texts.append("".join(word[0] for word in name_words))
    for value in document.fields.get("customProperties", ()):
        key, _, listed = str(value).partition("=")
        key = key.casefold().replace("_", " ").strip()
        if key in _OTHER_NAMES or (singulars(key) and _OTHER_NAMES & {*singulars(key)}):
            texts += re.split("[,;|]", listed)
    joined = (join_words(text)[:MAX_WORD] for text in texts)
    return tuple(dict.fromkeys(filter(None, joined)))


def _rank(weight: float, strong: tuple[float, ...]) -> int:
    if weight > 1:
        return strong.index(weight)
    return len(strong) + (weight < 1)


def join_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return names as one word each, and the last parts of dotted names."""
    values: dict[str, None] = {}
    for name in names:
        values[join_words(name)[:NAME_CUT]] = None
        if "." in name:
            values[join_words(name.rpartition(".")[2])[:NAME_CUT]] = None
    values.pop("", None)
    return tuple(values)


def usage_step(usage: float) -> int:
    """Return log2(1 + usage), rounded down, at most 15.

    So only a clear difference in usage changes the order.
    """
    return min(int(math.log2(1 + usage)), USED_MOST) if usage > 0 else 0


def use_of(usage: float) -> float:
    """Return the part of a score that comes from usage, below 1."""
    return usage_step(usage) / (USED_MOST + 1)
