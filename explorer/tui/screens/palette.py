"""The command palette, the keys that work, the settings and the themes, each as a list to choose
from.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.binding import Binding
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widget import Widget

from explorer.metadata.urn import Urn
from explorer.tui.actions import ACTIONS, SCOPES, Action, Scope, actions_of, readable
from explorer.tui.content import line
from explorer.tui.session import TerminalSession
from explorer.tui.settings import Appearance, Keymap, Settings, list_settings, settings_file
from explorer.tui.widgets.dialogs import ChooserEntry, ChooserScreen, entities_like, entity_entries

if TYPE_CHECKING:
    from explorer.tui.state import SearchFile

__all__ = [
    "HelpScreen",
    "PaletteScreen",
    "PaletteTargets",
    "SettingsScreen",
    "ThemesScreen",
    "available_actions",
    "config_lines",
    "scopes_here",
]

# What everything can do is least worth saying.
_LAST: tuple[Scope, ...] = ("list", "app")
_NOT_LISTED = ("app.command-palette",)
# Moving the cursor is done, not looked up.
_MOVING: tuple[Scope, ...] = ("list", "palette")
_RECENT = "Recent pages"
_SAVED = "Saved searches"
_ASIDE = 40


@dataclass(frozen=True, slots=True)
class AvailableAction:
    """An action that can be done now, and how; `near` where the focus is."""

    action: Action
    do: Callable[[], None]
    near: bool


@dataclass(frozen=True, slots=True)
class PaletteTargets:
    """Where the palette leads: pages, the latest of which are `recent`, and searches."""

    session: TerminalSession
    recent: Sequence[Urn]
    searches: "Callable[[], Awaitable[SearchFile]]"
    open: Callable[[Urn], None]
    search: Callable[[str, str], None]


class PaletteScreen(ChooserScreen):
    """Every action by name, with its keys; the pages opened lately, the searches that are kept, and
    what the catalog finds by what is typed."""

    TITLE_SHOWN: ClassVar[str] = "Everything"

    def __init__(
        self, doable: Iterable[AvailableAction], keymap: Keymap, places: PaletteTargets
    ) -> None:
        super().__init__()
        self._doable = tuple(doable)
        self._keymap = keymap
        self._places = places

    def on_mount(self) -> None:
        """Show what can be done at once, and places when they are read."""
        super().on_mount()
        self._read_places()

    @work(exclusive=True, group="places")
    async def _read_places(self) -> None:
        places = self._places
        with places.session.reporting("reading recent pages and searches"):
            catalog = await places.session.catalog()
            kept, known = await asyncio.gather(places.searches(), catalog.summaries(places.recent))
            if not self.is_current:
                return
            recent = entity_entries(places.recent, known, places.open, _RECENT)
            saved = [
                ChooserEntry(
                    line(one.name),
                    "",
                    _SAVED,
                    line(f"{_SAVED} · {one.text}", _ASIDE),
                    do=partial(places.search, one.text, one.order),
                )
                for one in kept.saved
            ]
            self.add_entries((*recent, *saved))

    async def further(self, typed: str) -> Sequence[ChooserEntry]:
        """What the catalog finds."""
        with self._places.session.reporting("looking for entities"):
            return await entities_like(self._places.session, typed, self._places.open)
        return ()

    def entries(self) -> Iterable[ChooserEntry]:
        """What can be done where the focus is, then on the page around it, then everywhere."""
        for one in self._doable:
            action = one.action
            if action.help and action.scope not in _MOVING and action.id not in _NOT_LISTED:
                keys = " ".join(readable(key) for key in self._keymap.keys_of(action))
                where = SCOPES[action.scope]
                called = action.id.partition(".")[2]
                yield ChooserEntry(action.help, keys, where, do=one.do, also=called)


def scopes_here(screen: Screen[object]) -> tuple[Scope, ...]:
    """Where the reader is, in the words of the register, the nearest first."""
    scopes = {action.id: action.scope for action in ACTIONS}
    found: dict[Scope, DOMNode] = {}
    for one in screen.active_bindings.values():
        scope = scopes.get(one.binding.id or "")
        if scope is not None:
            found.setdefault(scope, one.node)
    nodes = screen.focused.ancestors_with_self if screen.focused else [screen]
    depth = {node: at for at, node in enumerate(nodes)}

    def rank(scope: Scope) -> tuple[int, int]:
        last = _LAST.index(scope) + 1 if scope in _LAST else 0
        return last, depth.get(found[scope], len(depth))

    return tuple(sorted(found, key=rank))


def available_actions(screen: Screen[object]) -> dict[str, AvailableAction]:
    """What can be done on a screen, by the action's id: where the focus is first, then in what else
    is to be seen, then everywhere."""
    here: dict[str, AvailableAction] = {}
    active = {one.binding.id: one for one in screen.active_bindings.values() if one.enabled}
    for scope in scopes_here(screen):
        for action in ACTIONS:
            known = active.get(action.id) if action.scope == scope else None
            if known is not None:
                here[action.id] = AvailableAction(
                    action, _doing(known.node, action.name), near=True
                )
    around = {
        action.id: AvailableAction(action, _doing(widget, action.name), near=False)
        for widget in _seen(screen)
        for action in _actions_of(widget)
        if action.id not in here
    }
    everywhere = {name: one for name, one in here.items() if one.action.scope == "app"}
    near = {name: one for name, one in here.items() if name not in everywhere}
    return {**near, **around, **everywhere}


def _seen(screen: Screen[object]) -> Iterator[Widget]:
    """The widgets that are to be seen and could have the focus, or hold one that could."""
    for widget in screen.walk_children(Widget):
        if widget.is_on_screen and all(one.display for one in widget.ancestors_with_self):
            yield widget


def _actions_of(widget: Widget) -> Iterator[Action]:
    """The actions of a widget that can be done now."""
    # What a widget was declared with, and what it is made of was declared with.
    ids = {
        one.id
        for kind in type(widget).__mro__
        for one in vars(kind).get("BINDINGS", ())
        if isinstance(one, Binding)
    }
    for action in ACTIONS:
        if action.id in ids and action.scope != "list" and _is_offered(widget, action):
            yield action


def _is_offered(widget: Widget, action: Action) -> bool:
    name, _, rest = action.name.partition("(")
    parameters = tuple(part.strip(" '\")") for part in rest.split(",")) if rest else ()
    return bool(widget.check_action(name, parameters))


def _doing(node: DOMNode, name: str) -> Callable[[], None]:
    """What runs an action on what has it, when the list is gone again. What can have the focus
    gets it first, as if somebody had gone there and pressed the key."""

    def act() -> None:
        if isinstance(node, Widget) and node.focusable and not node.has_focus:
            node.screen.set_focus(node)
        node.app.call_later(node.app.run_action, name, node)

    return act


class HelpScreen(ChooserScreen):
    """The keys, those that work where the reader was first. Enter does what stands there."""

    TITLE_SHOWN: ClassVar[str] = "Keys"
    HEADINGS: ClassVar[bool] = True
    CLOSES_EMPTY: ClassVar[frozenset[str]] = frozenset("?q")

    def __init__(
        self, here: tuple[Scope, ...], keymap: Keymap, doable: Mapping[str, AvailableAction]
    ) -> None:
        super().__init__()
        self._here = here
        self._keymap = keymap
        self._doable = doable

    def entries(self) -> Iterable[ChooserEntry]:
        """Every action that has a key, those of the nearest place first."""
        for scope in (*self._here, *(scope for scope in SCOPES if scope not in self._here)):
            here = "  here" if scope in self._here else ""
            for action in actions_of(scope):
                if action.help:
                    keys = " ".join(readable(key) for key in self._keymap.keys_of(action))
                    known = self._doable.get(action.id)
                    yield ChooserEntry(
                        action.help, keys, f"{SCOPES[scope]}{here}", do=known.do if known else None
                    )


class SettingsScreen(ChooserScreen):
    """Every setting with its value, and the word of every action in the keymap."""

    TITLE_SHOWN: ClassVar[str] = "Keys and settings"
    HEADINGS: ClassVar[bool] = True

    def __init__(self, settings: Settings, keymap: Keymap) -> None:
        super().__init__()
        self._settings = settings
        self._keymap = keymap

    def entries(self) -> Iterable[ChooserEntry]:
        """Settings first, then keys by place."""
        where = f"Settings, in {settings_file()}"
        for one in list_settings(self._settings):
            words = f"{one.help} It is {one.allowed}."
            yield ChooserEntry(words, f"{one.name} = {one.value}", where, do=_nothing)
        for scope, title in SCOPES.items():
            for action in actions_of(scope):
                if action.help:
                    keys = " ".join(readable(key) for key in self._keymap.keys_of(action))
                    yield ChooserEntry(
                        f"{action.id}: {action.help}", keys, f"[keys] {title}", do=_nothing
                    )


def config_lines(settings: Settings, keymap: Keymap) -> Iterator[str]:
    """The settings file as it stands, explained, to be printed and to be begun with."""
    yield f"# {settings_file()}"
    for one in list_settings(settings):
        yield ""
        yield f"# {one.help} It is {one.allowed}."
        table = one.name in ("keys", "themes")
        yield f"# {one.value}" if table else f"{one.name} = {one.value}"
    yield ""
    yield "[keys]"
    for scope, title in SCOPES.items():
        yield f"# {title}"
        for action in actions_of(scope):
            if action.help:
                keys = ",".join(readable_in_file(key) for key in keymap.keys_of(action))
                yield f'# "{action.id}" = "{keys}"'


def readable_in_file(key: str) -> str:
    """A key as it may be written in the file."""
    shown = readable(key)
    return key if len(shown) > 1 or shown in ',"\\' or not shown.isascii() else shown


def _nothing() -> None:
    """There is nothing to do but to read."""


class ThemesScreen(ChooserScreen):
    """The themes. Enter keeps the one that is seen, escape goes back to the one before."""

    TITLE_SHOWN: ClassVar[str] = "Colours"
    # The page behind is what the colours are tried on.
    GROUND: ClassVar[str] = "-clear"

    def __init__(self, look: Appearance, now: str, keep: Callable[[str], None]) -> None:
        super().__init__()
        self._look = look
        self._before = now
        self._keep = keep

    def entries(self) -> Iterable[ChooserEntry]:
        """Every theme with what it is for."""
        for name in self._look.themes:
            yield ChooserEntry(self._look.title(name), name, do=partial(self._keep, name))

    def start_at(self) -> int:
        """The theme that is on."""
        names = list(self._look.themes)
        return names.index(self._before) if self._before in names else 0

    def looked_at(self, entry: ChooserEntry) -> None:
        """Put the theme on."""
        self.app.theme = entry.keys

    def action_close(self) -> None:
        """Back to the colours from before."""
        self.app.theme = self._before
        super().action_close()
