"""Which of the entities reached are wanted: by type, degree, filter and text."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import orjson

from explorer.errors import InvalidInput, InvalidUrn
from explorer.metadata.registry import Registry
from explorer.metadata.urn import Urn
from explorer.query.filters import Criterion, Filter
from explorer.server.lineage.walk import EVERY_HOP
from explorer.server.search.analysed import Analysed, analyse
from explorer.server.search.document import build_document
from explorer.server.search.fields import ENTITY_TYPE, REMOVED, Vocabulary
from explorer.server.search.names import Names
from explorer.server.search.wanted import read_text
from explorer.server.store import Store

__all__ = ["DEGREE", "Candidate", "Narrowing", "platform_of"]

DEGREE = "degree"
_PLATFORM = "platform"
_STATUS = "status"
# What can be told of an entity from its type, its platform and its status alone.
_TOLD = frozenset({ENTITY_TYPE, REMOVED, _PLATFORM})
# The first part of their key is a name of their own choice.
_NAMESPACED = frozenset({"mlFeature", "mlPrimaryKey"})
_AT_ONCE = 500

# Whether each of the alternatives is met; nothing for what search knows nothing of.
_Verdict: TypeAlias = tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """An entity reached, and how far away. One that is only pointed at does not `exist`."""

    urn: str
    entity_type: str
    degree: int
    exists: bool


@dataclass(frozen=True, slots=True)
class _Alternative:
    """One AND of the filter: the criteria on the degree, and a test for all others."""

    degree: tuple[Criterion, ...]
    test: Callable[[Analysed], int | None]
    asks: bool

    def takes(self, degree: int) -> bool:
        return all(_has_degree(one, degree) for one in self.degree)

    def furthest(self) -> int:
        bounds = [max(map(_last, one.values)) for one in self.degree if not one.negated]
        return min(bounds, default=EVERY_HOP)


class Narrowing:
    """A choice among what lineage reaches. Raises as a search does for what is no field, and
    `InvalidInput` for a degree that is none.

    `degree` can be filtered by beside every field that search knows: `1`, `2`, …, and `3+` for
    three and more. An entity that is pointed at and was never stored has the fields that its URN
    tells.
    """

    def __init__(
        self,
        registry: Registry,
        vocabulary: Vocabulary,
        *,
        types: Sequence[str] = (),
        text: str = "",
        narrowed_by: Filter | None = None,
        names: Names | None = None,
    ) -> None:
        self._registry = registry
        self._vocabulary = vocabulary
        self._types = frozenset(types)
        for entity_type in types:
            registry.entity(entity_type)
        self._names = names
        groups = (narrowed_by or Filter()).any_of or ((),)
        self._alternatives = [self._alternative(group, text) for group in groups]
        named = {one.field for group in groups for one in group if one.field != DEGREE}
        self._told = not text and named <= _TOLD
        self._verdicts: dict[tuple[str, bool], _Verdict | None] = {}

    @property
    def furthest(self) -> int:
        """How many hops are enough."""
        return max(one.furthest() for one in self._alternatives)

    def choose(
        self, store: Store, candidates: Sequence[Candidate], seconds: float
    ) -> tuple[list[bool], bool]:
        """Which of the candidates are wanted, and whether all could be looked at in the time.

        What was not looked at is not wanted. Free where types and degrees alone decide; about
        10 µs an entity where its platform and its status tell, 0.2 ms where all is read.
        """
        deadline = time.monotonic() + seconds
        wanted = [False] * len(candidates)
        asking: list[int] = []
        for at, one in enumerate(candidates):
            if self._types and one.entity_type not in self._types:
                continue
            open_to = [way for way in self._alternatives if way.takes(one.degree)]
            if any(not way.asks for way in open_to):
                wanted[at] = True
            elif open_to:
                asking.append(at)
        for begin in range(0, len(asking), _AT_ONCE):
            if time.monotonic() > deadline:
                return wanted, False
            chunk = asking[begin : begin + _AT_ONCE]
            verdicts = self._judge(store, [candidates[at].urn for at in chunk])
            for at in chunk:
                verdict = verdicts.get(candidates[at].urn, ())
                wanted[at] = any(
                    passes and way.takes(candidates[at].degree)
                    for way, passes in zip(self._alternatives, verdict, strict=False)
                )
        return wanted, True

    def _alternative(self, group: tuple[Criterion, ...], text: str) -> _Alternative:
        degree = tuple(one for one in group if one.field == DEGREE)
        others = tuple(one for one in group if one.field != DEGREE)
        for criterion in degree:
            for value in criterion.values:
                _last(value)
        wanted = read_text(
            text,
            None,
            Filter((others,)) if others else Filter(),
            self._vocabulary,
            include_removed=True,
            names=self._names,
        )
        return _Alternative(degree, wanted.grader(), bool(others or text))

    def _judge(self, store: Store, urns: Sequence[str]) -> dict[str, _Verdict]:
        """Which alternatives each entity meets, their degrees apart."""
        if not self._told:
            return self._read(store, urns)
        removed = {
            text
            for text, aspects in store.aspects(urns, (_STATUS,)).items()
            if any(orjson.loads(one.value).get("removed") is True for one in aspects)
        }
        found: dict[str, _Verdict] = {}
        unclear: list[str] = []
        for text in urns:
            # A key begins with what tells the platform; reading every URN would take longest.
            alike = text.partition(",")[0], text in removed
            if alike not in self._verdicts:
                self._verdicts[alike] = self._told_verdict(text, removed=alike[1])
            verdict = self._verdicts[alike]
            if verdict is None:
                unclear.append(text)
            else:
                found[text] = verdict
        return found | self._read(store, unclear)

    def _told_verdict(self, text: str, *, removed: bool) -> _Verdict | None:
        for urn in Urn.parse_all((text,)):
            if platform_of(urn) is not None:
                return self._verdict(urn, {_STATUS: {"removed": True}} if removed else {})
        return None

    def _read(self, store: Store, urns: Sequence[str]) -> dict[str, _Verdict]:
        stored = store.aspects(urns)
        return {
            str(urn): self._verdict(
                urn, {one.name: orjson.loads(one.value) for one in stored.get(str(urn), ())}
            )
            for urn in Urn.parse_all(urns)
        }

    def _verdict(self, urn: Urn, values: dict[str, Any]) -> _Verdict:
        platform = platform_of(urn)
        if platform is not None:
            values.setdefault("dataPlatformInstance", {"platform": platform})
        document = self._analyse(urn, values)
        if document is None:
            return ()
        return tuple(way.test(document) is not None for way in self._alternatives)

    def _analyse(self, urn: Urn, values: Mapping[str, object]) -> Analysed | None:
        if urn.entity_type not in self._registry.entities:
            return None
        try:
            document = build_document(self._registry, urn, values)
        except InvalidUrn:
            return None
        return analyse(self._vocabulary, document)


def platform_of(urn: Urn) -> str | None:
    """The URN of the platform that a URN names, if its key has one."""
    named = None if urn.entity_type in _NAMESPACED else urn.platform
    return str(Urn.of("dataPlatform", named)) if named else None


def _has_degree(criterion: Criterion, degree: int) -> bool:
    found = any(
        degree >= int(value[:-1]) if value.endswith("+") else degree == int(value)
        for value in criterion.values
    )
    return found != criterion.negated


def _last(value: str) -> int:
    number, more = value.removesuffix("+"), value.endswith("+")
    if not (number.isascii() and number.isdecimal() and len(number) < 10):
        raise InvalidInput(f"'degree' is a number of hops such as 1, 2 or 3+, not {value!r}")
    return EVERY_HOP if more else int(number)
