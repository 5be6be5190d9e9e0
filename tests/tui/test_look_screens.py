"""How the welcome and the list of colours look, as text kept beside this test.

`UPDATE_SCREENS=1 pytest tests/tui/test_look_screens.py` writes them anew.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.tui.conftest import Matches, OpenTerminal

pytestmark = pytest.mark.anyio


def framed(screen: Any, title: Any) -> Any:
    """The frame with a title, as the lines it takes."""
    lines = screen.splitlines()
    first = next(at for at, line in enumerate(lines) if f"─ {title} ─" in line)
    left = lines[first].index(f"╭─ {title}")
    last = next(at for at in range(first, len(lines)) if lines[at][left : left + 1] == "╰")
    right = lines[first].index("╮", left)
    return "\n".join(line[left : right + 1] for line in lines[first : last + 1]) + "\n"


@pytest.mark.parametrize("size", [(80, 24), (120, 36)], ids=["80x24", "120x36"])
async def test_the_frames_look_as_they_were_found_good(
    sample: Path, at: OpenTerminal, size: Any, matches: Matches
) -> None:
    async with at(sample, size=size) as reader:
        await reader.sees("Welcome", "results")
        await reader.settle()
        shown = {"welcome": framed(reader.screen(), "Welcome")}
        await reader.press("f2", "down")
        shown["colours"] = framed(await reader.sees("Colours"), "Colours")
    for name, text in shown.items():
        matches(f"{name}-{size[0]}x{size[1]}", text)
