"""The tabs of the page in one line: as much of each title as there is room for."""

from collections.abc import Sequence
from typing import Literal

from rich.text import Text

from explorer.tui.entity.tab import Tab
from explorer.tui.shell.pressing import pressed

__all__ = ["titles"]

_Size = Literal["long", "close", "short", "chosen only"]
_SIZES: tuple[_Size, ...] = ("long", "close", "short", "chosen only")


def titles(tabs: Sequence[Tab], chosen: Tab, width: int) -> Text:
    """The titles by their numbers, the chosen one in full. Where there is less room they stand
    closer, then the others are short, then their numbers alone; what is still cut ends in a
    mark."""
    for size in _SIZES:
        text = _titles(tabs, chosen, size)
        if text.cell_len <= width:
            return text
    text.truncate(width, overflow="ellipsis")
    return text


def _titles(tabs: Sequence[Tab], chosen: Tab, size: _Size) -> Text:
    text = Text(no_wrap=True)
    for tab in tabs:
        if text.plain:
            text.append("  " if size == "long" else " ")
        start = len(text)
        if size == "chosen only" and tab is not chosen:
            text.append(tab.KEY, "dim")
            text.stylize(pressed(f"tab('{tab.NAME}')"), start)
            continue
        title = tab.TITLE if size in ("long", "close") or tab is chosen else tab.SHORT
        tally = tab.tally()
        text.append(f" {tab.KEY} " if size != "chosen only" else f"{tab.KEY} ", "dim")
        text.append(f"{title}·{tally}" if tally else title, _style(tab is chosen))
        text.stylize(pressed(f"tab('{tab.NAME}')"), start)
    return text


def _style(is_chosen: bool) -> str:
    return "bold underline" if is_chosen else ""
