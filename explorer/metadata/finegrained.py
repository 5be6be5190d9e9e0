"""Lineage between columns as a patch addresses it.

One element of `fineGrainedLineages` joins several upstream columns to several downstream ones. A
path addresses one pair of columns: what transforms them, the downstream column, the query, the
upstream column, with `NONE` where nothing is said.
"""

from typing import Any

from explorer.metadata.steps import MISSING, Allowance, Misplaced

__all__ = ["FineGrained"]

_NONE = "NONE"
_DEPTH = 4
# An element is looked at from several sides.
_LOOKS = 5


class FineGrained:
    """The elements, seen as pairs of columns; `led` holds the steps taken so far. See
    `explorer.metadata.steps.Place`."""

    def __init__(
        self, elements: list[Any], allowance: Allowance, led: tuple[str, ...] = ()
    ) -> None:
        self._elements = elements
        self._allowance = allowance
        self._led = led

    def get(self, step: str) -> Any:
        """How sure the pair is; for a shorter path, the elements that it leads to."""
        found = [self._elements[at] for at in self._at((*self._led, step))]
        if not found:
            return MISSING
        return {"confidenceScore": _sureness(found[0])} if self._last else found

    def put(self, step: str, value: Any) -> None:
        """Join a pair of columns, or all the pairs that a nested map has."""
        if self._last:
            self._join((*self._led, step), value)
            return
        self.drop(step)
        FineGrained(self._elements, self._allowance, (*self._led, step)).fill(value)

    def fill(self, value: Any) -> None:
        """Join every pair of a nested map."""
        if not isinstance(value, dict):
            raise Misplaced("expected lineage of columns by transformation, column and query")
        for step, part in value.items():
            self.put(step, part)

    def drop(self, step: str) -> None:
        """Part the pairs that the path leads to; an element left without columns goes."""
        led = (*self._led, step)
        kept: list[Any] = []
        here = set(self._at(led))
        for at, element in enumerate(self._elements):
            kept += _parted(element, led) if at in here else [element]
        self._elements[:] = kept

    def into(self, step: str, *, make: bool) -> "FineGrained | None":
        """One step further."""
        if self._last:
            if make:
                raise Misplaced("set the confidenceScore of a pair of columns as an object")
            return None
        return FineGrained(self._elements, self._allowance, (*self._led, step))

    @property
    def _last(self) -> bool:
        return len(self._led) == _DEPTH - 1

    def _at(self, led: tuple[str, ...]) -> list[int]:
        self._allowance.look(_LOOKS * len(self._elements))
        return [at for at, element in enumerate(self._elements) if _leads_to(element, led)]

    def _join(self, led: tuple[str, ...], value: Any) -> None:
        operation, downstream, query, upstream = led
        sureness = value.get("confidenceScore") if isinstance(value, dict) else None
        score = 1.0 if sureness is None else sureness
        for at in self._at((operation, downstream, query)):
            element = self._elements[at]
            if element.get("downstreams") != [downstream]:
                if upstream in _columns(element, "upstreams"):
                    return
                continue
            upstreams = list(_columns(element, "upstreams"))
            if upstream not in upstreams:
                upstreams.append(upstream)
            self._elements[at] = {**element, "upstreams": upstreams, "confidenceScore": score}
            return
        made: dict[str, Any] = {
            "upstreamType": "DATASET" if upstream.startswith("urn:li:dataset:") else "FIELD_SET",
            "upstreams": [upstream],
            "downstreamType": "FIELD",
            "downstreams": [downstream],
            "confidenceScore": score,
        }
        if operation != _NONE:
            made["transformOperation"] = operation
        if query != _NONE:
            made["query"] = query
        self._elements.append(made)


def _columns(element: dict[str, Any], side: str) -> list[Any]:
    """The columns on one side; none where something else was put there, which is refused later."""
    found = element.get(side)
    return found if isinstance(found, list) else []


def _leads_to(element: Any, led: tuple[str, ...]) -> bool:
    if not isinstance(element, dict):
        return False
    said = (
        (element.get("transformOperation") or _NONE,),
        _columns(element, "downstreams"),
        (element.get("query") or _NONE,),
        _columns(element, "upstreams"),
    )
    return all(step in steps for step, steps in zip(led, said, strict=False))


def _parted(element: dict[str, Any], led: tuple[str, ...]) -> list[dict[str, Any]]:
    """What is left of an element when the pairs that the path leads to are gone."""
    if len(led) == 1:
        return []
    downstream = led[1]
    others = [column for column in element["downstreams"] if column != downstream]
    left = [{**element, "downstreams": others}] if others else []
    if len(led) == _DEPTH:
        upstreams = [column for column in element["upstreams"] if column != led[3]]
        if upstreams:
            left.append({**element, "downstreams": [downstream], "upstreams": upstreams})
    return left


def _sureness(element: dict[str, Any]) -> Any:
    return element.get("confidenceScore", 1.0)
