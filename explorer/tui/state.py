"""The state that the terminal keeps between runs: settings, and the entities visited on each
server."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable
from itertools import groupby
from pathlib import Path
from typing import Final

import msgspec

from explorer import config
from explorer.config.files import lock_file, read_private, write_private
from explorer.errors import Unusable
from explorer.metadata.urn import Urn

Setting = str | int | bool

_SERVERS_KEPT: Final = 50


class ServerState(msgspec.Struct, frozen=True):
    """The history of one catalog: the visited URNs, oldest first, and the URN that was open
    last."""

    visited: tuple[str, ...] = ()
    last: str | None = None


class _SavedState(msgspec.Struct, frozen=True):
    settings: dict[str, Setting] = {}
    servers: dict[str, ServerState] = {}
    """By the state key of a catalog, the catalog used last at the end."""


_StateChange = Callable[[_SavedState], _SavedState]


class TerminalState:
    """The remembered state. It is read from memory; a change applies at once, and a thread writes
    it atomically.

    Two programs that run side by side do not revert each other's changes: each merges its own
    changes into the current file. Changes that cannot be written are kept in memory. Without a
    `path` nothing is read or written.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._stored = _read(path)
        self._changes: deque[_StateChange] = deque()
        self._writing: asyncio.Task[None] | None = None

    @classmethod
    def of_user(cls) -> "TerminalState":
        """Return the state of the user. Reads a file, so call it before the screen is up. A file
        that cannot be read counts as empty."""
        return cls(config.state_dir() / "catalog-tui.json")

    @property
    def theme(self) -> str | None:
        """Return the theme chosen last."""
        setting = self.setting("theme")
        return setting if isinstance(setting, str) else None

    @property
    def tree_width(self) -> int | None:
        """Return the width of the folders in cells."""
        setting = self.setting("tree_width")
        return setting if isinstance(setting, int) and not isinstance(setting, bool) else None

    def setting(self, name: str) -> Setting | None:
        """Return a value by its name."""
        return self._stored.settings.get(name)

    def set(self, name: str, value: Setting | None) -> None:
        """Store a value by its name; None removes it."""
        if self.setting(name) != value:
            self._change(lambda stored: _with_setting(stored, name, value))

    def has_seen(self, what: str) -> bool:
        """Return whether something that is shown only once, named by `what`, was shown."""
        return self.setting(f"seen.{what}") is True

    def note_seen(self, what: str) -> None:
        """Record that something that is shown only once, named by `what`, was shown."""
        self.set(f"seen.{what}", value=True)

    def place(self, *keys: str) -> ServerState:
        """Return the history of a catalog, given by the keys that `config.state_keys` returns."""
        servers = self._stored.servers
        return next((servers[key] for key in keys if key in servers), ServerState())

    def note_place(self, key: str, place: ServerState) -> None:
        """Store the history of a catalog under a key."""
        if self.place(key) != place:
            self._change(lambda stored: _with_place(stored, key, place))

    async def close(self) -> None:
        """Wait until all changes are written."""
        if self._writing is not None:
            await self._writing

    def _change(self, change: _StateChange) -> None:
        self._stored = change(self._stored)
        if self._path is None:
            return
        self._changes.append(change)
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write(self._path))

    async def _write(self, path: Path) -> None:
        while self._changes:
            # Changes made while a thread writes are written together by the next one.
            changes = list(self._changes)
            self._changes.clear()
            await asyncio.to_thread(_put, path, changes)


def _read(path: Path | None) -> _SavedState:
    try:
        text = None if path is None else read_private(path, secret=False)
        return msgspec.json.decode(text, type=_SavedState) if text else _SavedState()
    except (Unusable, msgspec.DecodeError):
        # Nobody's work is lost with this file.
        return _SavedState()


def _put(path: Path, changes: list[_StateChange]) -> None:
    try:
        with lock_file(path):
            state = _read(path)
            for change in changes:
                state = change(state)
            write_private(path, msgspec.json.encode(state).decode())
    except Unusable:
        return


def _with_setting(stored: _SavedState, name: str, value: Setting | None) -> _SavedState:
    settings = {key: setting for key, setting in stored.settings.items() if key != name}
    if value is not None:
        settings[name] = value
    return _SavedState(settings, stored.servers)


def _with_place(stored: _SavedState, server: str, place: ServerState) -> _SavedState:
    servers = {key: state for key, state in stored.servers.items() if key != server}
    servers[server] = place
    for oldest in list(servers)[: max(len(servers) - _SERVERS_KEPT, 0)]:
        del servers[oldest]
    return _SavedState(stored.settings, servers)


_PLACES_KEPT: Final = 200


class VisitHistory:
    """The visited entities in order, and the search among them (as None). Every run begins at the
    search.

    `before` were visited in an earlier run, oldest first: they come before this run's search.
    """

    def __init__(self, before: Iterable[Urn] = (), last: Urn | None = None) -> None:
        earlier = list(before)[-_PLACES_KEPT:]
        self._places: list[Urn | None] = [None, *earlier, None] if earlier else [None]
        self._at = len(self._places) - 1
        self._last = last
        self._here: Urn | None = None

    @property
    def visited(self) -> tuple[Urn, ...]:
        """Return every entity of the history, oldest first, without repetitions in a row."""
        entities = [place for place in self._places if place is not None]
        return tuple(urn for urn, _ in groupby(entities))

    def recent(self, count: int) -> list[Urn]:
        """Return at most `count` entities visited last, latest first, each once."""
        return list(dict.fromkeys(reversed(self.visited)))[:count]

    @property
    def here(self) -> Urn | None:
        """Return the entity opened last in this run, else in the previous one."""
        return self._here or self._last

    def visit(self, urn: Urn) -> None:
        """Add an entity after the current one, and drop the later entries."""
        self._note(urn)
        if self._places[self._at] != urn:
            self._places = [*self._places[: self._at + 1], urn][-_PLACES_KEPT:]
            self._at = len(self._places) - 1

    def back(self, *, from_search: bool = False) -> Urn | None:
        """Go back and return the entity, None for the search. After leaving an entity for the
        search, the first step back returns to that entity."""
        if not (from_search and self._places[self._at] is not None):
            self._at = max(self._at - 1, 0)
        return self._note_current()

    def forward(self) -> Urn | None:
        """Go forward and return the entity, None for the search. At the end, return the last place
        again."""
        self._at = min(self._at + 1, len(self._places) - 1)
        return self._note_current()

    def last(self, open_now: Urn | None) -> Urn | None:
        """Visit and return the entity that was open last, or the one before it if the last one is
        `open_now`. Return None if there is none."""
        urn = self._last if self.here == open_now else self.here
        if urn is not None:
            self.visit(urn)
        return urn

    def _note_current(self) -> Urn | None:
        """Return the current place, and record it as opened last if it is an entity."""
        place = self._places[self._at]
        if place is not None:
            self._note(place)
        return place

    def _note(self, urn: Urn) -> None:
        if self._here != urn:
            self._last, self._here = self._here or self._last, urn
