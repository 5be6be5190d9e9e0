"""What has changed on the screen, drawn without what lies under it or beside it.

Textual asks every widget between the first line that changed and the last for all of its lines,
those that lie under others too, and then throws most of them away. Here a widget is asked for the
lines of which something is still missing, front to back; the screen comes out the same.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import cast

from textual._compositor import ChopsUpdate, Compositor
from textual.geometry import Region
from textual.reactive import Reactive
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

__all__ = ["Desk"]

_Missing = dict[int, set[int]]
"""By line, where the pieces begin that nobody has drawn yet."""


class Desk(Screen[object]):
    """A screen that is painted so, and not as a whole whenever the focus moves: what gets it or
    loses it is drawn anew by itself."""

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002 - as Textual names it
        super().__init__(id=id, classes=classes)
        self._compositor = _Painting()


class _Painting(Compositor):
    """Puts widgets together, line by line and piece by piece."""

    def render_partial_update(self) -> ChopsUpdate | None:
        """What has changed; of a line only the pieces in which it has."""
        screen = self.size.region
        changed = [part for one in self._dirty_regions if (part := one.intersection(screen))]
        self._dirty_regions.clear()
        if not changed:
            return None
        spans = list(self._regions_to_spans(changed))
        missing: _Missing = {}
        for y, first, last in spans:
            line = self.cuts[y]
            pieces = pairwise(line)
            touched = {start for start, end in pieces if start < last and end > first}
            missing.setdefault(y, set()).update(touched)
        return ChopsUpdate(self._draw(missing), spans, [line[1:] for line in self.cuts])

    def _render_chops(
        self, crop: Region, is_rendered_line: Callable[[int], bool]
    ) -> Sequence[Mapping[int, Strip]]:
        """The pieces of some lines, by where they begin."""
        lines = filter(is_rendered_line, crop.line_range)
        return self._draw({y: set(self.cuts[y][:-1]) for y in lines})

    def _draw(self, missing: _Missing) -> Sequence[Mapping[int, Strip]]:
        drawn: list[dict[int, Strip | None]] = [dict.fromkeys(line[:-1]) for line in self.cuts]
        for widget, (region, clip) in self.visible_widgets.items():
            if not missing:
                break
            # What was taken away is still on the map until the rest is laid out anew.
            if widget.parent is None:
                continue
            seen = region.intersection(clip)
            first, last = seen.column_span
            for start, count in _runs(seen, missing):
                part = Region(seen.x - region.x, start - region.y, seen.width, count)
                for y, strip in enumerate(widget.render_lines(part), start):
                    wanted = missing[y]
                    places = [cut for cut in self.cuts[y] if first <= cut <= last]
                    pieces = strip.divide([cut - first for cut in places[1:]])
                    for cut, piece in zip(places, pieces, strict=False):
                        if cut in wanted:
                            drawn[y][cut] = piece
                            wanted.discard(cut)
                    if not wanted:
                        del missing[y]
        # Textual leaves out what is missing, and declares that nothing is.
        return cast("Sequence[Mapping[int, Strip]]", drawn)


def _runs(seen: Region, missing: _Missing) -> Iterator[tuple[int, int]]:
    """The lines next to each other of which something is missing where a widget is seen: the first
    of them and how many."""
    first, last = seen.column_span
    start = count = 0
    for y in seen.line_range:
        if any(first <= cut < last for cut in missing.get(y, ())):
            start = start if count else y
            count += 1
        elif count:
            yield start, count
            count = 0
    if count:
        yield start, count
