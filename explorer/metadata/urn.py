"""URNs, which identify every entity: parsing, formatting and encoding.

urn:li:tag:PII                                            one part
urn:li:dataset:(urn:li:dataPlatform:hive,db.orders,PROD)  three parts, the first a URN itself
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Self
from urllib.parse import quote

from explorer.errors import InvalidUrn

MAX_URN_BYTES = 512
UNKNOWN_ACTOR = "urn:li:corpuser:unknown"
"""The actor of a change without a known author."""
_PREFIX = "urn:li:"
# NUL, line breaks, and the separator of DataHub's compound keys.
_FORBIDDEN = re.compile("[\0\n\r\u241f]")
_SEPARATOR = re.compile(r"[(),]")
# Their keys are a platform, a path and an id.
_BY_PATH = ("metric", "semanticModel")


@dataclass(frozen=True, slots=True, order=True)
class Urn:
    """An entity's URN: its type and the parts of its key, in the key record's order.

    `str(urn)` is exactly the text that was parsed. Parts are neither decoded nor encoded. A `Urn`
    equals its text and has the same hash, because graphs and files have URNs as text.
    """

    entity_type: str
    parts: tuple[str, ...]
    _text: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        key = self.parts[0] if len(self.parts) == 1 else f"({','.join(self.parts)})"
        object.__setattr__(self, "_text", f"{_PREFIX}{self.entity_type}:{key}")

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Urn):
            return (self.entity_type, self.parts) == (other.entity_type, other.parts)
        return self._text == other if isinstance(other, str) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._text)

    @classmethod
    def parse(cls, text: "str | Urn") -> "Urn":
        """Parse a URN; a `Urn` is returned unchanged.

        Raises `InvalidUrn`, which names the position of the error and the expected form.
        """
        if isinstance(text, Urn):
            return text
        if not isinstance(text, str):
            raise InvalidUrn(f"a URN is a text such as 'urn:li:tag:PII', not {text!r:.80}")
        return _parse(text)

    def check_characters(self) -> None:
        """Raise `InvalidUrn` for a URN with a character that the catalog does not store.

        `parse` accepts such URNs, because another server may have stored one.
        """
        text = str(self)
        forbidden = _FORBIDDEN.search(text)
        if forbidden:
            raise InvalidUrn(
                f"position {forbidden.start()}: a URN must not contain NUL, a line break or "
                f"U+241F, found {forbidden.group()!r} in {text!r:.80}"
            )

    @classmethod
    def parse_all(cls, texts: Iterable[object]) -> "tuple[Urn, ...]":
        """Return the URNs among `texts`, in order; anything else is skipped."""
        urns = []
        for text in texts:
            try:
                urns.append(cls.parse(text) if isinstance(text, str) else None)
            except InvalidUrn:
                continue
        return tuple(urn for urn in urns if urn is not None)

    @classmethod
    def of(cls, entity_type: str, *parts: "str | Urn") -> Self:
        """Return the URN with these parts; a nested URN may be given as a `Urn`."""
        return cls(entity_type, tuple(str(part) for part in parts))

    @classmethod
    def dataset(cls, platform: str, name: str, origin: str = "PROD") -> Self:
        """Return the URN of a dataset; `platform` is the bare name, such as `hive`."""
        return cls.of("dataset", cls.of("dataPlatform", platform), name, origin)

    @staticmethod
    def label(text: str) -> str:
        """Return the name of a URN, or any other value unchanged."""
        try:
            return Urn.parse(text).name if text.startswith(_PREFIX) else text
        except InvalidUrn:
            return text

    def __str__(self) -> str:
        return self._text

    @property
    def encoded(self) -> str:
        """Return the URN percent-encoded once, for a path segment or query value."""
        return quote(str(self), safe="")

    @property
    def name(self) -> str:
        """The name of the entity if no aspect has one: the most informative part of the key."""
        if self.entity_type in _BY_PATH:
            return self.parts[-1]
        return self.parts[1] if len(self.parts) > 1 else self.parts[0]

    @property
    def platform(self) -> str | None:
        """The bare platform or tool named in the key (`hive`, `looker`), if the key has one."""
        if self.entity_type == "dataPlatform":
            return self.parts[0]
        if len(self.parts) < 2:
            return None
        first = self.parts[0]
        if first.startswith("urn:li:dataPlatform:"):
            return first.rpartition(":")[2]
        if first.startswith("urn:li:dataFlow:("):
            return first.partition("(")[2].partition(",")[0]
        return None if first.startswith(_PREFIX) else first

    @property
    def origin(self) -> str | None:
        """The environment label in the key (`PROD`), if the key has one."""
        has_origin = len(self.parts) == 3 and self.entity_type not in ("dataFlow", *_BY_PATH)
        return self.parts[2] if has_origin else None


# The same few URNs are parsed repeatedly: every aspect of an entity contains its URN.
@lru_cache(maxsize=8192)
def _parse(text: str) -> Urn:
    if text != text.strip():
        raise InvalidUrn(f"a URN must not have white space around it: {text!r}")
    if not text.startswith(_PREFIX):
        raise InvalidUrn(f"position 0: expected 'urn:li:<entity>:<id>', found {text[:40]!r}")
    if len(text.encode()) > MAX_URN_BYTES:
        raise InvalidUrn(f"a URN may have at most {MAX_URN_BYTES} bytes; this one is longer")
    entity_type, colon, key = text[len(_PREFIX) :].partition(":")
    if not entity_type.isalnum() or not colon:
        raise InvalidUrn(
            f"position {len(_PREFIX)}: expected '<entity>:<id>', found {text[len(_PREFIX) :]!r}"
        )
    start = len(_PREFIX) + len(entity_type) + 1
    if not key:
        raise InvalidUrn(f"position {start}: expected an id, found the end of {text!r}")
    if not key.startswith("("):
        return Urn(entity_type, (key,))
    return Urn(entity_type, _split(key, start, text))


def _split(key: str, start: int, text: str) -> tuple[str, ...]:
    """Return the parts of `(a,b,c)`, split at the commas outside inner parentheses."""
    parts: list[str] = []
    depth = 0
    begin = 1
    for match in _SEPARATOR.finditer(key):
        at, char = match.start(), match[0]
        if char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
            if depth == 0 and at != len(key) - 1:
                raise InvalidUrn(
                    f"position {start + at + 1}: expected the end after ')', "
                    f"found {key[at + 1 :]!r} in {text!r}"
                )
        elif depth == 1:
            parts.append(key[begin:at])
            begin = at + 1
    if depth != 0:
        raise InvalidUrn(f"position {start + len(key)}: expected ')' to close {text!r}")
    parts.append(key[begin:-1])
    if not all(parts):
        raise InvalidUrn(f"position {start}: every part needs a value in {text!r}")
    return tuple(parts)
