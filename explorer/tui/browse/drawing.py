"""How a row of the folders looks."""

from rich.text import Text

from explorer.metadata.urn import Urn
from explorer.tui.browse.outline import Spot
from explorer.tui.content import padded, said

__all__ = ["described", "row"]

_DIM = "dim"
_ASIDE = "dim italic"


def row(spot: Spot, width: int, shown: Urn | None) -> Text:
    """A row `width` cells wide; the entity that is `shown` on the page has a mark before it.

    The name gives way to the count, so that numbers are never cut.
    """
    entry = spot.entry
    indent = _indent(spot, width)
    marked = entry is not None and entry.urn is not None and entry.urn == shown
    start = Text.assemble(("●" if marked else " ", "bold"), " " * indent)
    if entry is None:
        return start.append_text(_instead(spot))
    below = spot.unfolded
    start.append("  " if entry.below is None else "▾ " if below else "▸ ")
    name = said(entry.name, "bold" if entry.heading or marked else "", "no name")
    end = Text(f" {entry.count:,}" if entry.count is not None else "", _DIM)
    if below is not None and below.text:
        total = "…" if below.total is None else f"{below.total:,}"
        end = Text.assemble(" ", said(f"“{below.text}”", "italic"), (f" {total}", _DIM))
        end.truncate(max(8, width // 2), overflow="ellipsis")
    room = width - start.cell_len - end.cell_len
    if name.cell_len > room:
        name = padded(name, max(4, room))
    elif entry.aside and name.cell_len + len(entry.aside) < room:
        end = Text.assemble(end, " ", said(entry.aside, _DIM))
    return start.append_text(name).append_text(end)


def _indent(spot: Spot, width: int) -> int:
    return min(2 * spot.depth, max(0, width // 3))


def _instead(spot: Spot) -> Text:
    """What stands where no entry does."""
    branch = spot.branch
    if spot.why is not None:
        return Text("  ").append_text(said(f"could not be read: {spot.why}", "italic"))
    if branch.total is None:
        return Text("  reading …", _ASIDE)
    if spot.index < 0:
        if branch.text:
            return Text("  ").append_text(said(f"none with “{branch.text}”", _ASIDE))
        return Text("  nothing in it" if branch.above else "  nothing here yet", _ASIDE)
    if spot.index >= branch.total:
        return Text(f"  {branch.note}", _ASIDE)
    if branch.page_of(spot.index) in branch.pages:
        return Text("  not there any more", _ASIDE)
    return Text("  …", _DIM)


def described(spot: Spot, width: int, room: int) -> Text:
    """Two lines on a row: all of what is cut in it, where rows have `room` cells, or the folder it
    lies in; its place in that."""
    branch, entry = spot.branch, spot.entry
    one, several = ("type", "types") if branch.above is None else ("entry", "entries")
    total = branch.total or 0
    place = f"{spot.index + 1:,} of {total:,} {one if total == 1 else several}" if total else ""
    if spot.why is not None:
        first = said(spot.why)
        first.truncate(width, overflow="ellipsis")
        return first.append(f"\n{place}{' · ' if place else ''}⏎ tries again", _DIM)
    if branch.total is None:
        return Text()
    if not branch.total:
        empty = "catalog load FILE fills it\nr looks again"
        return Text("" if branch.above or branch.text else empty, _DIM)
    if spot.index >= branch.total:
        return Text(branch.note, _DIM)
    names = []
    above = branch
    while above.above is not None:
        names.append(above.entry.name)
        above = above.above
    way = said(" / ".join(reversed(names)), _DIM)
    cut = entry is not None and len(entry.name) + _indent(spot, room) + 3 > room
    first = said(entry.name) if entry is not None and cut else _ending(way, width)
    if entry is not None and cut and entry.aside:
        first.append_text(said(f" {entry.aside}", _DIM))
    one, several = ("type", "types") if branch.above is None else ("entry", "entries")
    first.truncate(width, overflow="ellipsis")
    return first.append(
        f"\n{spot.index + 1:,} of {branch.total:,} {one if branch.total == 1 else several}", _DIM
    )


def _ending(text: Text, width: int) -> Text:
    """The end of a text that is too long."""
    return text if text.cell_len <= width else Text("…", _DIM).append_text(text[-(width - 1) :])
