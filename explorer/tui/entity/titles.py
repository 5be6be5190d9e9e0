"""The tabs of the page in one line: as much of each title as there is room for."""

from collections.abc import Sequence
from typing import Literal

from rich.text import Text

from explorer.tui.entity.tab import Tab
from explorer.tui.shell.pressing import pressed

__all__ = ["titles"]

_Gap = Literal["wide", "close", "none"]


def titles(tabs: Sequence[Tab], chosen: Tab, width: int) -> Text:
    """The titles by their numbers, the chosen one in full. Where there is less room they stand
    closer, then one after another is short, beginning with what saves most, then there are the
    numbers alone; what is still cut ends in a mark."""
    short: set[Tab] = set()
    text = _titles(tabs, chosen, "wide", short)
    others = [tab for tab in tabs if tab is not chosen and tab.SHORT != tab.TITLE]
    others.sort(key=lambda tab: len(tab.SHORT) - len(tab.TITLE))
    while text.cell_len > width:
        text = _titles(tabs, chosen, "close", short)
        if not others:
            break
        short.add(others.pop(0))
    if text.cell_len > width:
        text = _titles(tabs, chosen, "none", short)
    text.truncate(width, overflow="ellipsis")
    return text


def _titles(tabs: Sequence[Tab], chosen: Tab, gap: _Gap, short: set[Tab]) -> Text:
    text = Text(no_wrap=True)
    for tab in tabs:
        if text.plain:
            text.append("  " if gap == "wide" else " ")
        start = len(text)
        if gap == "none" and tab is not chosen:
            text.append(tab.KEY, "dim")
            text.stylize(pressed(f"tab('{tab.NAME}')"), start)
            continue
        title = tab.SHORT if tab in short else tab.TITLE
        tally = tab.tally()
        text.append(f" {tab.KEY} " if gap != "none" else f"{tab.KEY} ", "dim")
        text.append(f"{title}·{tally}" if tally else title, _style(tab is chosen))
        text.stylize(pressed(f"tab('{tab.NAME}')"), start)
    return text


def _style(is_chosen: bool) -> str:
    return "bold underline" if is_chosen else ""
