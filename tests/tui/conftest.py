"""The terminal's tests run on the sample catalog, behind the real service."""

import asyncio
import os
import re
import shutil
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import pytest
from rich.cells import cell_len
from textual import _wait, events
from textual._compositor import Compositor, LayoutUpdate
from textual.pilot import Pilot
from textual.worker import WorkerCancelled

from explorer import config
from explorer.client import AsyncCatalog
from explorer.client.journal import JOURNAL
from explorer.tui.app import CatalogApp
from explorer.tui.screens.search import SearchBox
from explorer.tui.widgets.rows import Rows
from tests.conftest import SampleAt

# How long to wait for something to be on the screen; a busy machine takes that long.
SECONDS = 120
# How long nothing has to be painted until it is looked again all the same.
_LOOK_SECONDS = 0.5
SCREENS = Path(__file__).parent / "screens"


@pytest.fixture(autouse=True, scope="session")
def _true_colour() -> Iterator[None]:
    """Every screen of a test process is drawn in 24-bit colour.

    Rich keeps the escape codes of a style with the style object, whatever terminal they were made
    for, and shares style objects between applications: tests that draw in different colour systems
    would show each other's codes.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TERM", "xterm-256color")
        patch.setenv("COLORTERM", "truecolor")
        yield


@pytest.fixture(autouse=True)
def _nothing_of_other_tests() -> None:
    """The start tells of drafts, in the place of the keys, and undo goes on into earlier runs."""
    shutil.rmtree(config.state_dir() / "drafts", ignore_errors=True)
    (config.state_dir() / JOURNAL).unlink(missing_ok=True)


class Paintings:
    """Tells that something on a screen is to be painted anew."""

    again = asyncio.Event()


@pytest.fixture(autouse=True)
def _unseen_paint(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is painted that nobody looks at, but in tests marked `paints`.

    Without a terminal Textual paints what changed and throws it away, in a third of a test's time.
    What a `Reader` looks at is painted whole.
    """
    paints = request.node.get_closest_marker("paints") is not None
    Paintings.again = asyncio.Event()
    painted = Compositor.render_update

    def render(self: Compositor, full: bool = False, **more: Any) -> Any:
        Paintings.again.set()
        if full or paints:
            return painted(self, full, **more)
        self._dirty_regions.clear()
        return None

    monkeypatch.setattr(Compositor, "render_update", render)


@pytest.fixture(scope="session")
def sample(sample_at: SampleAt, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A catalog that no test writes to."""
    with sample_at(tmp_path_factory.mktemp("read") / "catalog") as directory:
        yield directory


@pytest.fixture(scope="session")
def desk(sample_at: SampleAt, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A catalog that tests write to."""
    with sample_at(tmp_path_factory.mktemp("write") / "catalog") as directory:
        yield directory


class SlowCatalog(AsyncCatalog):
    """Answers what an entity is only while its gate is open."""

    def __init__(self, directory: Path) -> None:
        super().__init__(data_dir=directory)
        self.gate = asyncio.Event()
        self.gate.set()

    async def entity(self, urn: Any, *further: Any, **more: Any) -> Any:
        await self.gate.wait()
        return await super().entity(urn, *further, **more)


@pytest.fixture
def slow(sample: Path) -> SlowCatalog:
    """A client of the sample whose entities come when they are let."""
    return SlowCatalog(sample)


class Reader:
    """A reader at the terminal: presses keys and looks at the screen."""

    def __init__(self, app: CatalogApp, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot

    async def press(self, *keys: str) -> None:
        await self.looks()
        for key in keys:
            await self.pilot.press(key)
        await self.settle()

    async def looks(self) -> None:
        """Wait as long as keys are dropped, because a screen has closed by itself."""
        await asyncio.sleep(max(self.app._keys._drops_until - time.monotonic(), 0))

    async def type(self, text: str) -> None:
        await self.looks()
        await self.pilot.press(*(NAMED.get(char, char) for char in text))
        await self.settle()

    @property
    def rows(self) -> Rows:
        """The list that has the focus."""
        assert isinstance(self.app.focused, Rows)
        return self.app.focused

    @property
    def box(self) -> SearchBox:
        """The search box, whatever lies over it."""
        return self.app.screen_stack[0].query_one(SearchBox)

    async def ask(self, text: str) -> None:
        """Put any text into the search box, in the place of what is there."""
        if self.box.has_focus:
            self.box.action_select_all()
        else:
            await self.press("slash")
        self.app.post_message(events.Paste(text))
        await self.settle()

    async def settle(self) -> None:
        for _ in range(3):
            # A worker that a newer question took over counts as done.
            with suppress(WorkerCancelled):
                await self.app.workers.wait_for_complete()
            await self.pilot.pause()

    def screen(self) -> str:
        """What a reader sees, as text."""
        # The way of an exported picture takes four times as long, and is taken at every look.
        under = self.app._background_screens
        drawn = self.app.screen._compositor.render_update(full=True, screen_stack=under)
        assert isinstance(drawn, LayoutUpdate)
        lines = ("".join(strip.text for strip in line) for line in drawn.strips)
        return "\n".join(line.rstrip() for line in lines)

    async def until(self, so: Callable[[], object]) -> None:
        """Wait until `so()` is true."""
        deadline = time.monotonic() + SECONDS
        while not so():
            assert time.monotonic() < deadline, self.screen()
            await asyncio.sleep(0.01)

    async def sees(self, *words: str) -> str:
        """Wait until every one of the words is on the screen, and return what is on it."""
        deadline = time.monotonic() + SECONDS
        shown = self.screen()
        while not all(word in shown for word in words) and time.monotonic() < deadline:
            # A look takes longer than anything else, so there has to be something new.
            Paintings.again.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(Paintings.again.wait(), _LOOK_SECONDS)
            await self.pilot.pause()
            shown = self.screen()
        missing = [word for word in words if word not in shown]
        if not missing:
            return shown
        raise AssertionError(f"not on the screen: {missing}\n{shown}")


class Matches(Protocol):
    """Compares a screen with the text that is kept of it."""

    def __call__(self, name: str, text: str) -> None: ...


@pytest.fixture
def matches() -> Matches:
    """Compares a screen with the text that is kept of it in `screens/NAME.txt`.

    With UPDATE_SCREENS=1 the text is written instead, except where `CI` is set.
    """

    def compare(name: str, text: str) -> None:
        kept = SCREENS / f"{name}.txt"
        if os.environ.get("UPDATE_SCREENS"):
            assert not os.environ.get("CI"), "UPDATE_SCREENS is for a person who reads the screens"
            kept.write_text(text)
        assert text == kept.read_text(), name

    return compare


def _counted(line: str) -> str:
    """A line of a screen, all counts of use masked; what a longer one moves is drawn together."""
    masked = re.sub(
        r"(?<=\()\d[\d,]*(?= )|\b\d[\d,]*(?= (queries|query|people|person|times?)\b)", "#", line
    )
    return masked if masked == line else re.sub(r" {2,}", "  ", masked)


Steady: TypeAlias = Callable[[str], str]


@pytest.fixture
def steady() -> Steady:
    """Makes a screen's text one that is the same every day: the sample ends today, so that days
    and how much was used of a month differ from run to run."""

    def masked(text: str) -> str:
        text = re.sub(r"\d{4}-\d\d-\d\d( \d\d:\d\d)?", lambda day: re.sub(r"\d", "0", day[0]), text)
        text = re.sub(r"[▏▎▍▌▋▊▉█]+ *|(?<= )[━╸]+(?![━╸▶]) *", lambda bar: "▒" * len(bar[0]), text)
        return "\n".join(map(_counted, text.splitlines()))

    return masked


PIECE = re.compile(
    r"\x1b\[([\d;]*)m|\x1b\[(\d+);(\d+)H|(\r?\n)|(\x1b\[\?\d+[hl]|\x1b\]8;.*?\x1b\\)|([^\x1b\r\n])"
)
OFF = {"22": "12", "23": "3", "24": "4", "25": "56", "27": "7", "28": "8", "29": "9"}
BLANK_SHOWS = frozenset({"4", "7", "9", "21", "53"})


ShownCell: TypeAlias = tuple[str, frozenset[str], str, str]
"""A letter, what it is underlined and so on with, its colour, and that of its ground."""
ShownCells: TypeAlias = dict[tuple[int, int], ShownCell]
Style: TypeAlias = tuple[set[str], str, str]


class Cells(Protocol):
    """Tells what a terminal shows of a text, over what it showed `before`."""

    def __call__(self, text: str, before: ShownCells | None = None) -> tuple[ShownCells, Style]: ...


def shown(text: str, before: ShownCells | None = None) -> tuple[ShownCells, Style]:
    """Every cell that a terminal shows, with its style as far as it is seen."""
    cells, row, column = {} if before is None else before, 1, 1
    weights, ink, ground = set[str](), "39", "49"
    rest = 0
    for piece in PIECE.finditer(text):
        assert piece.start() == rest
        rest = piece.end()
        styled, to_row, to_column, newline, _, letter = piece.groups()
        if styled is not None:
            codes = styled.split(";")
            while codes:
                code = codes.pop(0)
                if code in ("", "0"):
                    weights, ink, ground = set(), "39", "49"
                elif code in OFF:
                    weights -= set(OFF[code])
                elif code in ("38", "48"):
                    count = 4 if codes[0] == "2" else 2
                    colour = ";".join(codes[:count])
                    codes = codes[count:]
                    ink, ground = (colour, ground) if code == "38" else (ink, colour)
                elif len(code) == 1 or code in ("21", "51", "52", "53"):
                    weights.add(code)
                elif code[0] in "39":
                    ink = code
                else:
                    ground = code
        elif to_row:
            row, column = int(to_row), int(to_column)
        elif newline:
            row, column = row + 1, 1
        elif letter:
            seen = (frozenset(weights), ink, ground)
            if letter == " ":
                lines = frozenset(weights & BLANK_SHOWS)
                seen = (lines, ink if lines else "", ground)
            cells[row, column] = (letter, *seen)
            column += cell_len(letter)
    assert rest == len(text)
    return cells, (weights, ink, ground)


@pytest.fixture(scope="session")
def cells() -> Cells:
    """Tells what a terminal shows of what is written to it: every cell by row and column, each from
    1, and the style that is left; `cells(text, before)` writes over what was there before."""
    return shown


NAMED = {"_": "underscore", "/": "slash", " ": "space", ":": "colon", "\n": "enter"}


class OpenTerminal(Protocol):
    """Opens the terminal on a catalog: on the one of a directory, behind what has the methods of a
    `Transport`, or that `client` makes a client for. `start` is what `CatalogApp` takes."""

    def __call__(
        self,
        directory: Path | None,
        size: tuple[int, int] = (120, 36),
        transport: Any = None,
        read_only: bool | None = None,
        client: Callable[[], AsyncCatalog] | None = None,
        **start: Any,
    ) -> AbstractAsyncContextManager[Reader]: ...


@pytest.fixture
def at() -> OpenTerminal:
    """Opens the terminal on a catalog: `async with at(directory) as reader`."""

    @asynccontextmanager
    async def open_at(
        directory: Path | None,
        size: tuple[int, int] = (120, 36),
        transport: Any = None,
        read_only: bool | None = None,
        client: Callable[[], AsyncCatalog] | None = None,
        **start: Any,
    ) -> AsyncIterator[Reader]:
        def make() -> AsyncCatalog:
            if client is not None:
                return client()
            if transport is not None:
                return AsyncCatalog(transport=transport, read_only=read_only)
            return AsyncCatalog(data_dir=directory)

        app = CatalogApp(make, **start)
        with pytest.MonkeyPatch.context() as patch:
            # A pause ends when the program did next to nothing for 10 ms, in the place of 20.
            patch.setattr(_wait, "SLEEP_GRANULARITY", 0.01)
            patch.setattr(_wait, "SLEEP_IDLE", 0.000_5)
            async with app.run_test(size=size) as pilot:
                reader = Reader(app, pilot)
                await reader.settle()
                yield reader
                # A program that ends by itself does so before its screens go, and `run_test` does
                # not.
                app.workers.cancel_all()

    return open_at
