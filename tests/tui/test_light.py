"""Help is there at once: it imports nothing that takes long."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.tui.conftest import OpenTerminal

HEAVY = ("textual", "pandas", "plotly", "networkx", "httpx", "starlette", "graphql", "IPython")
PROBE = """
import sys
from explorer.tui.command import main
try:
    main(["--help"])
except SystemExit:
    pass
print("LOADED", *[name for name in {heavy!r} if name in sys.modules])
"""


def loaded(code: Any) -> Any:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.rpartition("LOADED")[2].split()


def test_the_help_of_the_terminal_loads_nothing_heavy() -> None:
    assert loaded(PROBE.format(heavy=HEAVY)) == []


@pytest.mark.parametrize("heavy", [("pandas", "plotly", "networkx", "httpx", "ipywidgets")])
def test_the_terminal_itself_loads_no_network_and_no_frames_before_its_first_frame(
    heavy: Any,
) -> None:
    code = (
        "import sys, explorer.tui.app\nfrom explorer.client import AsyncCatalog\n"
        f"print('LOADED', *[name for name in {heavy!r} if name in sys.modules])"
    )
    assert loaded(code) == []


@pytest.mark.parametrize(
    "late",
    [
        (
            "explorer.client.catalog",
            "explorer.tui.screens.editor",
            "explorer.tui.screens.entity",
            "explorer.tui.screens.palette",
        )
    ],
)
def test_what_is_not_on_the_first_screen_is_not_imported_for_it(late: Any) -> None:
    code = (
        "import sys, explorer.tui.app\n"
        f"print('LOADED', *[name for name in {late!r} if name in sys.modules])"
    )
    assert loaded(code) == []


@pytest.mark.anyio
async def test_the_first_screen_wears_the_colours_of_its_theme(
    at: OpenTerminal, sample: Path
) -> None:
    async with at(sample) as reader:
        app = reader.app
        ground = app.current_theme.background
        assert ground is not None
        assert app.screen.styles.background.hex == ground.upper()


LATER = (
    "explorer.tui.screens.lineage",
    "explorer.tui.screens.timeseries",
    "explorer.tui.screens.history",
    "explorer.tui.screens.raw",
    "explorer.tui.screens.labels",
    "explorer.tui.screens.editor",
    "textual.widgets._text_area",
)


def test_the_page_of_an_entity_imports_what_it_shows_and_not_what_may_be_asked_for() -> None:
    code = (
        "import sys, explorer.tui.app, explorer.tui.screens.entity\n"
        f"print('LOADED', *[name for name in {LATER!r} if name in sys.modules])"
    )
    assert loaded(code) == []
