"""The ways in which a long result is gone through, a portion at a time.

A way moves on only when an answer has come: asked again after it failed, or after its asking was
called off, it asks for the same portion.
"""

from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from explorer.errors import InvalidInput, NotFound, ServerFault

__all__ = ["ByScroll", "ByStart", "FirstThatWorks", "Portion", "Ranked", "Walk"]

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)

_WINDOW = 10_000
_REFUSALS = (InvalidInput, NotFound, ServerFault)


@dataclass(frozen=True, slots=True)
class Portion(Generic[_T_co]):
    """What one answer brought.

    `taken` of the `total` entries are in it, those included that could not be read. `last` says
    that nothing follows; `cut` why what follows cannot be had; `standing` that the server named
    the same place to go on from as before; `repeats` that it may hold what was given already.
    """

    items: tuple[_T_co, ...]
    taken: int
    total: int | None
    last: bool = False
    cut: str | None = None
    standing: bool = False
    repeats: bool = False


class Walk(Protocol[_T_co]):
    """One portion after another."""

    async def next(self) -> Portion[_T_co]:
        """The next portion."""
        ...


class ByStart(Generic[_T]):
    """By counting from the start. `ask` gets where to start and how many, and gives the portion
    and where the next one starts: as far as the server really went, not as it was asked to."""

    def __init__(
        self, ask: Callable[[int, int], Awaitable[tuple[Portion[_T], int]]], size: int
    ) -> None:
        self._ask = ask
        self._size = size
        self._at = 0

    async def next(self) -> Portion[_T]:
        """The next portion. Search engines refuse what lies beyond their first 10,000."""
        within = self._at < _WINDOW
        count = min(self._size, _WINDOW - self._at) if within else self._size
        try:
            portion, self._at = await self._ask(self._at, count)
        except (InvalidInput, ServerFault) as error:
            if within:
                raise
            why = f"the server gives no more than the first {self._at:,} ({error})"
            return Portion((), 0, None, cut=why)
        return portion


class ByScroll(Generic[_T]):
    """From the place that each answer names. `ask` gets that place and gives the portion and the
    next place, nothing after the last."""

    def __init__(
        self, ask: Callable[[str | None], Awaitable[tuple[Portion[_T], str | None]]]
    ) -> None:
        self._ask = ask
        self._place: str | None = None

    async def next(self) -> Portion[_T]:
        """The next portion."""
        portion, place = await self._ask(self._place)
        standing = place is not None and place == self._place
        self._place = place
        return replace(portion, last=place is None, standing=standing)


class FirstThatWorks(Generic[_T]):
    """The first of several ways that the server has; found out with the first portion.

    `has` keeps, by the names of the ways, which of them this server is known to have.
    """

    def __init__(
        self, ways: Sequence[tuple[str, Walk[_T]]], has: MutableMapping[str, bool]
    ) -> None:
        *better, (_, self._last) = ways
        self._better = [(name, walk) for name, walk in better if has.get(name, True)]
        self._has = has
        self._chosen: Walk[_T] | None = None

    async def next(self) -> Portion[_T]:
        """The next portion; raises what the last way raised when there is none that works."""
        if self._chosen is not None:
            return await self._chosen.next()
        lacking = []
        for name, walk in self._better:
            try:
                portion = await walk.next()
            except _REFUSALS as error:
                if self._has.get(name):
                    # It worked before: it is the question that was refused.
                    raise
                if not isinstance(error, ServerFault):
                    lacking.append(name)
            else:
                return self._choose(walk, portion, dict.fromkeys(lacking, False) | {name: True})
        return self._choose(self._last, await self._last.next(), dict.fromkeys(lacking, False))

    def _choose(
        self, walk: Walk[_T], portion: Portion[_T], learned: dict[str, bool]
    ) -> Portion[_T]:
        # Before a way worked, it could have been the question that the others refused.
        self._has.update(learned)
        self._chosen = walk
        return portion


class Ranked(Generic[_T]):
    """Best first as far as the server lets one count, then the rest in the order of another way."""

    def __init__(self, first: Walk[_T], rest: Walk[_T]) -> None:
        self._first = first
        self._rest = rest
        self._cut: str | None = None
        self._resting = False

    async def next(self) -> Portion[_T]:
        """The next portion."""
        if self._cut is None:
            portion = await self._first.next()
            if portion.cut is None:
                return portion
            self._cut = portion.cut
        try:
            further = await self._rest.next()
        except _REFUSALS:
            if self._resting:
                raise
            return Portion((), 0, None, cut=self._cut)
        self._resting = True
        return replace(further, repeats=True)
