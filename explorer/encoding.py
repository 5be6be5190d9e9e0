"""The encoding of a text: detected from its bytes, or named by a person.

Byte order marks, UTF-16 and UTF-8 are recognized with certainty. Any other encoding is guessed by
charset-normalizer among those that spreadsheets and databases write, so its name is shown
wherever a text is read.
"""

import codecs
import re
from typing import Final

from explorer.errors import InvalidInput

SAMPLE_BYTES: Final = 1 << 20
"""The number of bytes at the beginning of a file from which its encoding is detected."""

# The mark of UTF-32 begins with that of UTF-16.
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_WESTERN: Final = "cp1252"
# Latin-1 is left out: it differs from cp1252 only in control characters.
_CANDIDATES: Final = (
    *("cp932", "euc_jp", "gb18030", "big5", "cp949"),
    *("cp1250", "cp1251", "cp1253", _WESTERN),
)
# Letters of Polish, Romanian or Hungarian that were decoded as cp1252.
_MISREAD: Final = re.compile(r"[^\W\d_][¹³¿¥£]|[¹³¿¥£][^\W\d_]")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
# Runs of bytes outside ASCII: all of them; and those that in cp1252 are one letter, two letters
# beside an ASCII letter, or a punctuation mark.
_RUNS: Final = re.compile(rb"[\x80-\xff]+")
_WESTERN_RUNS: Final = re.compile(
    rb"(?<![\x80-\xff])(?:(?<=[A-Za-z])[\xc0-\xff]{2}|[\xc0-\xff]{2}(?=[A-Za-z])|[\xc0-\xff]"
    rb"|[\x80\x85\x91-\x97\xa0\xa1\xa3\xa7\xab\xb0\xbb\xbf])(?![\x80-\xff])"
)
# The share of zero bytes above which a text may be UTF-16, where at least line ends and separators
# have one; a smaller share are stray bytes.
_ZERO_SHARE: Final = 0.02


def find_encoding(start: bytes) -> str:
    """Return the encoding of a text that begins with these bytes, by Python's name; UTF-8 if they
    are not text. If there are `SAMPLE_BYTES` or more, the last character may be incomplete."""
    for mark, name in _MARKS:
        if start.startswith(mark):
            return name
    zeros = start.count(0)
    if zeros <= _ZERO_SHARE * len(start) and _is_utf8(start):
        return "utf-8"
    if zeros:
        name = "utf-16-le" if start[1::2].count(0) > start[::2].count(0) else "utf-16-be"
        is_text = not _CONTROL.search(start.decode(name, errors="replace"))
        return name if is_text else "utf-8"
    from charset_normalizer import from_bytes

    # Cut at a line end, which is never a part of another character in any of the candidates.
    lines = start[: start.rfind(b"\n") + 1] or start
    matches = list(from_bytes(lines, cp_isolation=list(_CANDIDATES)))
    if not matches:
        return "latin-1"
    best = matches[0]
    equal = [match for match in matches if match.chaos == best.chaos]
    is_western = any(_WESTERN in match.could_be_from_charset for match in equal)
    if not is_western or _MISREAD.search(lines.decode(_WESTERN)):
        return best.encoding
    # In a text with few such characters nothing else distinguishes the encodings.
    is_likely = 2 * len(_WESTERN_RUNS.findall(lines)) >= len(_RUNS.findall(lines))
    return _WESTERN if is_likely else best.encoding


def _is_utf8(start: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start, len(start) < SAMPLE_BYTES)
    except UnicodeDecodeError:
        return False
    return True


def check_encoding(name: str) -> str:
    """Return the name of an encoding. Raises `InvalidInput` if Python does not know the name."""
    try:
        "a".encode(name)
    except LookupError:
        raise InvalidInput(
            f"no encoding is named {name!r}: give one such as utf-8, utf-16, cp1252 or shift_jis"
        ) from None
    return name


def decode_text(data: bytes, encoding: str | None = None) -> str:
    """Return the text of a file that people edit, without its byte order mark.

    Because the text is written into the catalog, a guess is not enough: a file that is neither
    UTF-8 nor UTF-16 is decoded only if its encoding is given. Raises `InvalidInput`, with the
    likely encoding, if it is not given or is wrong.
    """
    name = check_encoding(encoding) if encoding else find_encoding(data)
    if encoding is None and not name.startswith("utf-"):
        raise InvalidInput(
            f"the file is not UTF-8, but likely {name}: save it as UTF-8 (in Excel as “CSV "
            "UTF-8”), or give its encoding (--encoding)"
        )
    try:
        return data.decode(name).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise InvalidInput(undecodable(name, error, is_given=encoding is not None)) from None


def undecodable(name: str, error: UnicodeDecodeError, *, is_given: bool) -> str:
    """Return a sentence that says why a text cannot be decoded, and what to do."""
    bytes_ = error.object[error.start : error.end].hex(" ")
    advice = "leave the encoding out, to have it found out" if is_given else "give its encoding"
    return f"it is not {name} (the bytes {bytes_} are no character of it): {advice}"
