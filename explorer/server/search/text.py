"""The analyser: how names, prose and queries become words. The only one, for both layers.

    fct_users_created    fct users created
    usersCreated         users created, and the whole as well: userscreated
    HTML5Parser          html5 parser, html5parser
    café au lait         cafe au lait

Words are runs of letters and digits, cut again where the case says so, lower-cased, without
accents. Scripts written without spaces (Han, kana) give one word a character.
"""

import re
from collections.abc import Iterable
from itertools import chain, pairwise
from unicodedata import normalize

from explorer.server.cache import cached_short

__all__ = [
    "CUT",
    "GAP",
    "MAX_TEXT",
    "MAX_WORD",
    "SEAM",
    "chunks",
    "fold",
    "in_words",
    "joined",
    "pieces",
    "plain_letters",
    "singulars",
    "split",
    "word_line",
]

MAX_TEXT = 16_000
MAX_WORD = 100
GAP = "|"

_CHUNK = re.compile(r"[^\W_]+")
_WORD_OR_GAP = re.compile(rf"[^\W_]+|{re.escape(GAP)}")
_SIGNS = re.compile("([^a-z0-9]+)")
_SIGNS_OF_ANY = re.compile(r"([\W_]+)")
# Many times faster than an expression, for text in ASCII.
_ONLY_RUNS = "".join(char if char.isalnum() else " " for char in map(chr, range(0x80)))
_RUNS_AND_GAPS = _ONLY_RUNS[: ord(GAP)] + GAP + _ONLY_RUNS[ord(GAP) + 1 :]
# Control characters, which no folded text has.
SEAM = "\x1c"
CUT = "\x1f"
_ACCENT = re.compile("[\u0300-\u036f]")
_CONTROL = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0)), " ")
# Endings of plurals that are more than an s, with those of the singulars.
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


def fold(text: str) -> str:
    """The text as it is compared: without case, control characters as spaces, its first
    `MAX_TEXT` characters. Lone surrogates, which no index can hold, become `?`."""
    text = text[:MAX_TEXT]
    if text.isascii():
        return text.lower() if text.isprintable() else text.translate(_CONTROL).lower()
    text = text.encode("utf-8", "replace").decode()
    return text.translate(_CONTROL).casefold()[:MAX_TEXT]


def chunks(text: str) -> list[str]:
    """The runs of letters and digits of a text, as written but for accents."""
    return _CHUNK.findall(plain_letters(text[:MAX_TEXT]))


def plain_letters(text: str) -> str:
    """The text without accents."""
    if text.isascii():
        return text
    text = text.encode("utf-8", "replace").decode()
    return normalize("NFKC", _ACCENT.sub("", normalize("NFKD", text)))


@cached_short(32 << 20, longest=64)
def split(chunk: str) -> tuple[str, ...]:
    """The words of one run, cut where the case or the script changes."""
    if chunk.isascii() and (chunk.islower() or chunk.isupper() or chunk.isdigit()):
        return (chunk.lower()[:MAX_WORD],)
    cuts = [0, *(at for at in range(1, len(chunk)) if _is_cut(chunk, at)), len(chunk)]
    return tuple(chunk[begin:end].casefold()[:MAX_WORD] for begin, end in pairwise(cuts))


def _is_cut(chunk: str, at: int) -> bool:
    before, here = chunk[at - 1], chunk[at]
    if _is_unspaced(before) or _is_unspaced(here):
        return True
    if not here.isupper():
        return False
    return not before.isupper() or chunk[at + 1 : at + 2].islower()


def _is_unspaced(char: str) -> bool:
    return char > "\u3000" and any(first <= char <= last for first, last in _UNSPACED)


def singulars(word: str) -> tuple[str, ...]:
    """The words of which a folded English word may be the plural, by its ending: `categories` of
    `category`, `statuses` of `status`. Some are no words, which find nothing; what does not look
    like a plural has none."""
    if len(word) < 4 or not (word.isascii() and word.isalpha()) or not word.endswith("s"):
        return ()
    if word.endswith(("ss", "us", "is")):
        return ()
    found = [word[:-1]]
    for ending, instead in _PLURALS:
        if word.endswith(ending) and len(word) > len(ending) + 1:
            found += [word[: -len(ending)] + one for one in instead]
    return tuple(found)


def joined(text: str) -> str:
    """The text as one word: its letters and digits only, `fct_users` as `fctusers`."""
    return "".join("".join(split(chunk)) for chunk in chunks(text))


def word_line(values: Iterable[str]) -> str:
    """Every word of the values on one line, in order, `GAP` between values and around wholes.

    ` users created | orders | userscreated ` has the word users if it contains ` users `, a word
    that begins so if it contains ` us`, and a phrase if it contains the words side by side.
    """
    text = f" {GAP} ".join([value[:MAX_TEXT] for value in values])
    if text.isascii():
        found = text.translate(_RUNS_AND_GAPS).split()
    else:
        found = _WORD_OR_GAP.findall(plain_letters(text))
    parts_of = list(map(split, found))
    words = list(chain.from_iterable(parts_of))
    if len(words) > len(found):
        wholes = ("".join(parts)[:MAX_WORD] for parts in parts_of if len(parts) > 1)
        for whole in dict.fromkeys(wholes):
            words += (GAP, whole)
    return f" {' '.join(words)} "


def in_words(folded: str) -> str:
    """A folded text as its runs of letters and digits, one space between: how prose is compared."""
    if folded.isascii():
        return " ".join(folded.translate(_ONLY_RUNS).split())
    return " ".join(_CHUNK.findall(folded))


@cached_short(16 << 20)
def pieces(folded: str) -> tuple[str, ...]:
    """A folded text cut after every run of characters that are neither letter nor digit.

    `db.fct_orders` gives `db<SEAM>.`, `fct<SEAM>_`, `orders`: each piece is letters and digits,
    then what follows them, with a `SEAM` between. Put together they are the text, so a part of a
    text can be found as neighbouring pieces, the first and the last of them cut short.
    """
    runs = (_SIGNS if folded.isascii() else _SIGNS_OF_ANY).split(folded)
    found = [f"{runs[at]}{SEAM}{runs[at + 1]}" for at in range(0, len(runs) - 1, 2)]
    return (*found, runs[-1]) if runs[-1] else tuple(found)
