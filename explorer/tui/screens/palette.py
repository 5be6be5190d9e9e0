"""The command palette, the help, the settings and the themes, each as a list to choose from; and
jump labels: a letter over everything that can be focused or clicked."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.dom import DOMNode
from textual.geometry import Offset
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from explorer.metadata.urn import Urn
from explorer.tui.actions import ACTIONS, SCOPES, Action, Scope, actions_of, bindings, readable
from explorer.tui.content import line
from explorer.tui.session import TerminalSession
from explorer.tui.settings import Appearance, Keymap, Settings, list_settings, settings_file
from explorer.tui.widgets.bars import PRESSED, KeyLine, action_owner
from explorer.tui.widgets.dialogs import (
    ChooserEntry,
    ChooserScreen,
    OverlayScreen,
    entities_like,
    entity_entries,
)

if TYPE_CHECKING:
    from explorer.sessions.saved_searches import SavedSearchSession

# The scopes listed last: their actions are available almost everywhere.
_LAST: tuple[Scope, ...] = ("list", "app")
_NOT_LISTED = ("app.command-palette",)
# Actions that move the cursor are not listed.
_MOVING: tuple[Scope, ...] = ("list", "palette")
_RECENT = "Recent pages"
_SAVED = "Saved searches"
_ASIDE = 40


@dataclass(frozen=True, slots=True)
class AvailableAction:
    """An action that is available now, with the function that runs it. `near` means that its key
    works at the focus."""

    action: Action
    do: Callable[[], None]
    near: bool


@dataclass(frozen=True, slots=True)
class PaletteTargets:
    """The pages and searches that the palette lists, and the functions that open them."""

    session: TerminalSession
    recent: Sequence[Urn]
    searches: "Callable[[], Awaitable[SavedSearchSession]]"
    open: Callable[[Urn], None]
    search: Callable[[str, str], None]


class PaletteScreen(ChooserScreen):
    """The command palette: every action by name with its keys, recent pages, saved searches, and
    the entities that match the typed text."""

    TITLE_SHOWN: ClassVar[str] = "Everything"

    def __init__(
        self, doable: Iterable[AvailableAction], keymap: Keymap, places: PaletteTargets
    ) -> None:
        super().__init__()
        self._doable = tuple(doable)
        self._keymap = keymap
        self._places = places

    def on_mount(self) -> None:
        """Show the actions at once, and pages and searches once they are read."""
        super().on_mount()
        self._read_places()

    @work(exclusive=True, group="places")
    async def _read_places(self) -> None:
        """Read recent pages and saved searches, and append them to the list."""
        places = self._places
        with places.session.reporting("reading recent pages and searches"):
            catalog = await places.session.catalog()
            searches, entities = await asyncio.gather(
                places.searches(), catalog.summaries(places.recent)
            )
            recent = entity_entries(places.recent, entities, places.open, _RECENT)
            saved = [
                ChooserEntry(
                    line(search.name),
                    "",
                    _SAVED,
                    line(f"{_SAVED} · {search.text}", _ASIDE),
                    do=partial(places.search, search.text, search.sort),
                )
                for search in searches.state.rows
                if search.name
            ]
            self.add_entries((*recent, *saved))

    async def further(self, typed: str) -> Sequence[ChooserEntry]:
        """Return entries for the entities that the catalog finds."""
        with self._places.session.reporting("looking for entities"):
            return await entities_like(self._places.session, typed, self._places.open)
        return ()

    def entries(self) -> Iterable[ChooserEntry]:
        """Return the actions of the focus, then of other visible widgets, then of the
        application."""
        for available in self._doable:
            action = available.action
            if action.help and action.scope not in _MOVING and action.id not in _NOT_LISTED:
                keys = " ".join(readable(key) for key in self._keymap.keys_of(action))
                where = SCOPES[action.scope]
                called = action.id.partition(".")[2]
                yield ChooserEntry(action.help, keys, where, do=available.do, also=called)


def scopes_here(screen: Screen[object]) -> tuple[Scope, ...]:
    """Return the scopes of the focused widget and its ancestors, the nearest first."""
    scopes = {action.id: action.scope for action in ACTIONS}
    nodes_by_scope: dict[Scope, DOMNode] = {}
    for active_binding in screen.active_bindings.values():
        scope = scopes.get(active_binding.binding.id or "")
        if scope is not None:
            nodes_by_scope.setdefault(scope, active_binding.node)
    nodes = screen.focused.ancestors_with_self if screen.focused else [screen]
    depth = {node: at for at, node in enumerate(nodes)}

    def rank(scope: Scope) -> tuple[int, int]:
        last = _LAST.index(scope) + 1 if scope in _LAST else 0
        return last, depth.get(nodes_by_scope[scope], len(depth))

    return tuple(sorted(nodes_by_scope, key=rank))


def available_actions(screen: Screen[object]) -> dict[str, AvailableAction]:
    """Return the available actions of a screen by ID: those of the focus first, then of other
    visible widgets, then those of the application."""
    actions: dict[str, AvailableAction] = {}
    active = {
        active_binding.binding.id: active_binding
        for active_binding in screen.active_bindings.values()
        if active_binding.enabled
    }
    for scope in scopes_here(screen):
        for action in ACTIONS:
            binding = active.get(action.id) if action.scope == scope else None
            if binding is not None:
                actions[action.id] = AvailableAction(
                    action, _action_runner(binding.node, action.name), near=True
                )
    around = {
        action.id: AvailableAction(action, _action_runner(widget, action.name), near=False)
        for widget in _visible_widgets(screen)
        for action in _actions_of(widget)
        if action.id not in actions
    }
    everywhere = {name: action for name, action in actions.items() if action.action.scope == "app"}
    near = {name: action for name, action in actions.items() if name not in everywhere}
    return {**near, **around, **everywhere}


def _visible_widgets(screen: Screen[object]) -> Iterator[Widget]:
    """Return the visible widgets that can have the focus, or contain one that can."""
    for widget in screen.walk_children(Widget):
        if widget.is_on_screen and all(node.display for node in widget.ancestors_with_self):
            yield widget


def _actions_of(widget: Widget) -> Iterator[Action]:
    """Return the actions of a widget that are available now."""
    # The bindings of the widget's class and of its base classes.
    ids = {
        binding.id
        for kind in type(widget).__mro__
        for binding in vars(kind).get("BINDINGS", ())
        if isinstance(binding, Binding)
    }
    for action in ACTIONS:
        if action.id in ids and action.scope != "list" and _is_offered(widget, action):
            yield action


def _is_offered(widget: Widget, action: Action) -> bool:
    name, _, rest = action.name.partition("(")
    parameters = tuple(part.strip(" '\")") for part in rest.split(",")) if rest else ()
    return bool(widget.check_action(name, parameters))


def _action_runner(node: DOMNode, name: str) -> Callable[[], None]:
    """Return a function that runs an action of a node, to be called after the list is closed. It
    first focuses the node, if possible, as if the key had been pressed there."""

    def act() -> None:
        if isinstance(node, Widget) and node.focusable and not node.has_focus:
            node.screen.set_focus(node)
        node.app.call_later(node.app.run_action, name, node)

    return act


class HelpScreen(ChooserScreen):
    """The help: all keys, those that work at the focus first. Enter runs the action."""

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
        """Return every action with its keys, the nearest scope first. A key that a nearer scope
        uses is left out, and so is an action without any other key."""
        nearer: set[str] = set()
        for scope in (*self._here, *(scope for scope in SCOPES if scope not in self._here)):
            here_keys: set[str] = set()
            for action in sorted(actions_of(scope), key=self._is_elsewhere):
                available = self._doable.get(action.id)
                keys = all_keys = self._keymap.keys_of(action)
                if not self._is_elsewhere(action):
                    keys = tuple(key for key in keys if key not in nearer)
                    here_keys.update(keys if available else ())
                if action.help and (keys or not all_keys):
                    remark = "" if self._is_elsewhere(action) else "  here"
                    yield ChooserEntry(
                        action.help,
                        " ".join(map(readable, keys)),
                        f"{SCOPES[scope]}{remark}",
                        do=available.do if available else None,
                    )
            nearer |= here_keys

    def _is_elsewhere(self, action: Action) -> bool:
        """Return whether the keys of an action do not work on this screen: on a screen over the
        page, only some of the application's keys do."""
        is_known = action.scope != "app" or action.id in self._doable
        return action.scope not in self._here or not is_known


class SettingsScreen(ChooserScreen):
    """Every setting with its value, and the ID of every action in the keymap."""

    TITLE_SHOWN: ClassVar[str] = "Keys and settings"
    HEADINGS: ClassVar[bool] = True

    def __init__(self, settings: Settings, keymap: Keymap) -> None:
        super().__init__()
        self._settings = settings
        self._keymap = keymap

    def entries(self) -> Iterable[ChooserEntry]:
        """Return the settings, then the keys by scope."""
        where = f"Settings, in {settings_file()}"
        for setting in list_settings(self._settings):
            words = f"{setting.help} Allowed: {setting.allowed}."
            yield ChooserEntry(words, f"{setting.name} = {setting.value}", where, do=_nothing)
        for scope, title in SCOPES.items():
            for action in actions_of(scope):
                if action.help:
                    keys = " ".join(readable(key) for key in self._keymap.keys_of(action))
                    yield ChooserEntry(
                        f"{action.id}: {action.help}", keys, f"[keys] {title}", do=_nothing
                    )


def config_lines(settings: Settings, keymap: Keymap) -> Iterator[str]:
    """Return the current settings as a commented settings file."""
    yield f"# {settings_file()}"
    for setting in list_settings(settings):
        yield ""
        yield f"# {setting.help} Allowed: {setting.allowed}."
        table = setting.name in ("keys", "themes")
        yield f"# {setting.value}" if table else f"{setting.name} = {setting.value}"
    yield ""
    yield "[keys]"
    for scope, title in SCOPES.items():
        yield f"# {title}"
        for action in actions_of(scope):
            if action.help:
                keys = ",".join(readable_in_file(key) for key in keymap.keys_of(action))
                yield f'# "{action.id}" = "{keys}"'


def readable_in_file(key: str) -> str:
    """Return a key in the notation of the settings file."""
    label = readable(key)
    return key if len(label) > 1 or label in ',"\\' or not label.isascii() else label


def _nothing() -> None:
    """Do nothing: choosing such an entry only closes the list."""


class ThemesScreen(ChooserScreen):
    """The themes. The theme under the cursor is applied at once; enter keeps it, escape restores
    the previous theme."""

    TITLE_SHOWN: ClassVar[str] = "Colours"
    # The page behind stays unshaded, to show the colours.
    GROUND: ClassVar[str] = "-clear"

    def __init__(self, look: Appearance, now: str, keep: Callable[[str], None]) -> None:
        super().__init__()
        self._look = look
        self._before = now
        self._keep = keep

    def entries(self) -> Iterable[ChooserEntry]:
        """Return every theme with its description."""
        for name in self._look.themes:
            yield ChooserEntry(self._look.title(name), name, do=partial(self._keep, name))

    def start_at(self) -> int:
        """Return the index of the current theme."""
        names = list(self._look.themes)
        return names.index(self._before) if self._before in names else 0

    def preview_entry(self, entry: ChooserEntry) -> None:
        """Apply the theme under the cursor."""
        self.app.theme = entry.keys

    def action_close(self) -> None:
        """Restore the previous theme, and close."""
        self.app.theme = self._before
        super().action_close()


_LETTERS = "asdfghjklweruiopzxcvbnmtyq"
# The most lines of a widget whose clickable texts get letters, such as the titles of tabs.
_LINES_SEARCHED = 3


@dataclass(frozen=True, slots=True)
class JumpTarget:
    """A place on the screen, and the function that goes there."""

    at: Offset
    go: Callable[[], None]


class JumpScreen(OverlayScreen[None]):
    """Letters over the screen below. Any other key closes it."""

    CSS = """
    JumpScreen > .letter {
        position: absolute; width: 3; height: 1; background: $accent; color: $background;
        text-style: bold;
    }
    JumpScreen:ansi > .letter { background: ansi_default; color: ansi_default;
                                text-style: bold reverse; }
    """
    BINDINGS: ClassVar[list[BindingType]] = bindings("jump")

    def __init__(self, targets: list[JumpTarget]) -> None:
        super().__init__(classes="-clear")
        self._targets = dict(zip(_LETTERS, targets, strict=False))

    def compose(self) -> ComposeResult:
        """Yield the letters at their targets."""
        for letter, target in self._targets.items():
            mark = Static(Text(f" {letter} "), classes="letter", markup=False)
            mark.styles.offset = (target.at.x, target.at.y)
            yield mark
        yield KeyLine()

    def take(self, event: events.Key) -> bool:
        """Go to the target of a letter; return whether it has one."""
        target = self._targets.get(event.character or "")
        self.dismiss()
        if target is not None:
            target.go()
        return target is not None

    def on_key(self, event: events.Key) -> None:
        """Go to the target of the letter, or cancel."""
        event.stop()
        event.prevent_default()
        self.take(event)

    def on_click(self) -> None:
        """Cancel."""
        self.dismiss()


def targets_in(screen: Screen[object]) -> list[JumpTarget]:
    """Return the jump targets from the top left to the bottom right."""
    targets = [
        target
        for widget in screen.walk_children(Widget)
        if widget.is_on_screen and widget.region.area
        for target in _targets_of(screen, widget)
    ]
    return sorted(targets, key=lambda target: (target.at.y, target.at.x))


def _targets_of(screen: Screen[object], widget: Widget) -> Iterator[JumpTarget]:
    if widget.focusable:
        yield JumpTarget(widget.region.offset, _focus_function(screen, widget))
    elif not widget.children and widget.region.height <= _LINES_SEARCHED:
        yield from _targets_in_text(screen, widget)


def _targets_in_text(screen: Screen[object], widget: Widget) -> Iterator[JumpTarget]:
    """Return the places in a text with an action, each action once."""
    actions: set[str] = set()
    for y in range(widget.region.y, widget.region.bottom):
        for x in range(widget.region.x, widget.region.right):
            action = screen.get_style_at(x, y).meta.get(PRESSED)
            if isinstance(action, str) and action not in actions:
                actions.add(action)
                yield JumpTarget(Offset(x, y), _press_function(widget, action))


def _focus_function(screen: Screen[object], widget: Widget) -> Callable[[], None]:
    def go() -> None:
        screen.set_focus(widget)

    return go


def _press_function(widget: Widget, action: str) -> Callable[[], None]:
    def go() -> None:
        owner = action_owner(widget, action)
        widget.app.call_later(widget.app.run_action, action, owner or widget)

    return go
