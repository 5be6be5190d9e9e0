"""The reader's settings from `tui.toml`: values, keys and theme, with one sentence for everything
that could not be used.

    theme = "light"
    start = "browse"

    [keys]
    "entity.copy-urn" = "y, c"

    [themes.mine]
    based-on = "dark"
    background = "#101418"
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, get_args, get_type_hints

import msgspec

from explorer.config import config_dir
from explorer.config.files import read_private
from explorer.errors import Unusable
from explorer.tui.actions import ACTIONS, SCOPES, Action, actions_of, readable
from explorer.tui.themes import (
    DARK,
    NICKNAMES,
    SIXTEEN,
    TITLES,
    is_without_colour,
    own_themes,
    themes,
)

if TYPE_CHECKING:
    from textual.theme import Theme

_SWALLOWED: Final = {
    "ctrl+h": "backspace",
    "ctrl+i": "tab",
    "ctrl+j": "enter",
    "ctrl+m": "enter",
    "ctrl+left_square_bracket": "escape",
}
_NAMED: Final = frozenset(
    (
        *("escape", "enter", "tab", "shift+tab", "space", "backspace", "delete", "insert"),
        *("ctrl+home", "ctrl+end"),
        *("up", "down", "left", "right", "home", "end", "pageup", "pagedown"),
    )
)
_FUNCTION: Final = re.compile(r"f([1-9]|1[0-2])")
_CONTROL: Final = re.compile(r"ctrl\+(shift\+)?[a-z]")
_WIDE: Final = 18


class Keymap:
    """The keys of every action: those of the settings, else those that the action is declared
    with."""

    def __init__(self, wishes: Mapping[str, tuple[str, ...]] | None = None) -> None:
        self._chosen_keys = dict(wishes or {})

    def keys_of(self, action: Action) -> tuple[str, ...]:
        """Return the keys of an action; the first is shown to the user."""
        return self._chosen_keys.get(action.id, action.keys)

    def shown(self, action: Action) -> str:
        """Return the one key that is shown for an action if there is no room for more."""
        keys = self._chosen_keys.get(action.id)
        return readable(keys[0]) if keys else action.key

    def bindings(self) -> dict[str, str]:
        """Return the keys of the settings by the ID of their action, joined by commas as Textual
        expects."""
        return {name: ",".join(keys) for name, keys in self._chosen_keys.items()}


def read_keymap(
    wishes: Mapping[str, str], place: Callable[[str], str]
) -> tuple[Keymap, tuple[str, ...]]:
    """Return the keymap of the settings, and one sentence for every entry that was rejected: an
    unknown action, an invalid key, or a key that another action has.

    `place` returns the file and line where the settings name an action.
    """
    actions = {action.id: action for action in ACTIONS}
    keys_by_id: dict[str, tuple[str, ...]] = {}
    problems = []
    for name, text in wishes.items():
        keys = tuple(_textual_key(key.strip()) for key in text.split(",") if key.strip())
        problem = _unknown(name, actions) or _unusable(keys, text)
        if problem:
            problems.append(f"{place(name)}: {problem}")
        else:
            keys_by_id[name] = keys
    for name in list(keys_by_id):
        rival = _find_rival(actions[name], keys_by_id)
        if rival is not None:
            key = next(key for key in keys_by_id[name] if key in _keys(rival, keys_by_id))
            problems.append(
                f"{place(name)}: {readable(key)} is already the key of {rival.id}; "
                "give that another key too"
            )
            del keys_by_id[name]
    return Keymap(keys_by_id), tuple(problems)


def key_lines(keymap: Keymap) -> Iterator[str]:
    """Yield lines with every action, its keys and its ID in a keymap, by scope, for printing."""
    for scope, title in SCOPES.items():
        yield f"{title}"
        for action in actions_of(scope):
            if action.help:
                keys = " ".join(readable(key) for key in keymap.keys_of(action))
                yield f"  {keys:<{_WIDE}}{action.help}  ({action.id})"
        yield ""


def _keys(action: Action, keys_by_id: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the keys of an action: those of the settings, else the declared ones."""
    return keys_by_id.get(action.id, action.keys)


def _find_rival(action: Action, keys_by_id: Mapping[str, tuple[str, ...]]) -> Action | None:
    """Return another action of the same scope with one of the keys."""
    wished = set(keys_by_id[action.id])
    for rival in actions_of(action.scope):
        if rival.id != action.id and wished & set(_keys(rival, keys_by_id)):
            return rival
    return None


def _unknown(name: str, actions: Mapping[str, Action]) -> str | None:
    if name in actions:
        return None
    near = get_close_matches(name, actions, 1)
    return f"there is no action “{name}”" + (
        f"; did you mean {near[0]}?" if near else "; see --keys"
    )


def _unusable(keys: tuple[str, ...], text: str) -> str | None:
    """Return what is wrong with the keys of an action, None if nothing is."""
    if not keys:
        return f"“{text}” contains no key"
    for key in keys:
        if key in _SWALLOWED:
            return f"{readable(key)} arrives as {_SWALLOWED[key]} in a terminal; choose another key"
        if not _is_key(key):
            return (
                f"“{key}” is not a key; use a character, f1 to f12, ctrl+ and a letter, "
                "or one of " + ", ".join(sorted(_NAMED))
            )
    return None


def _is_key(key: str) -> bool:
    return (
        key in _NAMED
        or _FUNCTION.fullmatch(key) is not None
        or _CONTROL.fullmatch(key) is not None
        or key in {*_CHARACTERS.values(), "comma"}
        or (len(key) == 1 and key.isalnum())
    )


# Characters that Textual calls by a name.
_CHARACTERS: Final = {
    " ": "space",
    "!": "exclamation_mark",
    '"': "quotation_mark",
    "#": "number_sign",
    "$": "dollar_sign",
    "%": "percent_sign",
    "&": "ampersand",
    "'": "apostrophe",
    "(": "left_parenthesis",
    ")": "right_parenthesis",
    "*": "asterisk",
    "+": "plus",
    "-": "minus",
    ".": "full_stop",
    "/": "slash",
    ":": "colon",
    ";": "semicolon",
    "<": "less_than_sign",
    "=": "equals_sign",
    ">": "greater_than_sign",
    "?": "question_mark",
    "@": "at",
    "[": "left_square_bracket",
    "\\": "backslash",
    "]": "right_square_bracket",
    "^": "circumflex_accent",
    "_": "underscore",
    "`": "grave_accent",
    "{": "left_curly_bracket",
    "|": "vertical_line",
    "}": "right_curly_bracket",
    "~": "tilde",
}


def _textual_key(key: str) -> str:
    """Return Textual's name of a key written as `^x` or `ctrl+x`, `/` or `slash`."""
    if key.startswith("^") and len(key) == 2:
        return f"ctrl+{key[1].lower()}"
    return _CHARACTERS.get(key, key if len(key) == 1 else key.lower())


Start = Literal["find", "browse", "last"]
ClipboardMethod = Literal[
    "auto", "terminal", "tmux", "wl-copy", "xclip", "xsel", "pbcopy", "clip.exe", "none"
]
"""`terminal` sends the text to the terminal itself (OSC 52), `auto` takes the first method that
should work here."""
Zone = Literal["local", "utc"]
Said = msgspec.Meta


class Settings(msgspec.Struct, frozen=True, rename="kebab", kw_only=True):
    """The settings. The description of each setting is part of its type; keys and themes are
    validated where they are used."""

    theme: Annotated[
        str,
        Said(description="The theme; empty for the one chosen last in the app."),
    ] = ""
    start: Annotated[
        Start,
        Said(
            description="The first screen: the search, the folders, or the page that was open last."
        ),
    ] = "find"
    clipboard: Annotated[
        ClipboardMethod,
        Said(description="How text is copied; auto tries every available way."),
    ] = "auto"
    mouse: Annotated[
        bool,
        Said(description="Whether the app uses the mouse; when off, the terminal selects text."),
    ] = True
    zone: Annotated[
        Zone,
        Said(description="The time zone for times, until it is switched with a key."),
    ] = "local"
    editor: Annotated[
        str,
        Said(description="The editor for long texts; empty for $VISUAL or $EDITOR."),
    ] = ""
    keys: Annotated[
        dict[str, str],
        Said(description='Keys by action: "entity.copy-urn" = "y, c"; --keys lists the actions.'),
    ] = msgspec.field(default_factory=dict)
    themes: Annotated[
        dict[str, dict[str, str]],
        Said(description="Your own themes, [themes.NAME], each based on an existing one."),
    ] = msgspec.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting for display: its name, description, allowed values, and its value as TOML."""

    name: str
    help: str
    allowed: str
    value: str


@dataclass(frozen=True, slots=True)
class SettingsRead:
    """The settings of the file, and one sentence for each of its entries that could not be used."""

    settings: Settings = field(default_factory=Settings)
    problems: tuple[str, ...] = ()
    text: str = ""

    def place(self, key: str) -> str:
        """Return where the file mentions a key: `FILE, line N`."""
        return _place(settings_file(), self.text, key)


def settings_file() -> Path:
    """Return the path of the settings file."""
    return config_dir() / "tui.toml"


def read_settings() -> SettingsRead:
    """Return the settings of the file; invalid values keep their defaults and are reported.

    Reads a small file and raises nothing: `problems` has a sentence for each fault, with the file,
    the line, and what is allowed.
    """
    path = settings_file()
    try:
        text = read_private(path, secret=False)
    except Unusable as error:
        return SettingsRead(problems=(str(error),))
    if text is None:
        return SettingsRead()
    import tomllib

    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return SettingsRead(problems=(f"{path} cannot be read: {error}; nothing in it is used",))
    return _check(path, text, table)


def list_settings(settings: Settings) -> Iterator[Setting]:
    """Yield every setting with its value, in the order of declaration; the value of a table is its
    size."""
    for name, hint in _hints().items():
        value = getattr(settings, name)
        value_text = f"{len(value)} set" if isinstance(value, dict) else _toml(value)
        yield Setting(name, _describe(hint), _describe_values(hint), value_text)


def _check(path: Path, text: str, table: Mapping[str, Any]) -> SettingsRead:
    """Return the valid settings of a table, and a sentence for each invalid one."""
    values: dict[str, Any] = {}
    problems = []
    hints = _hints()
    for key, value in table.items():
        place = _place(path, text, key)
        if key not in hints:
            problems.append(f"{place}: there is no “{key}”; there are {', '.join(hints)}")
            continue
        try:
            values[key] = msgspec.convert(value, hints[key])
        except msgspec.ValidationError:
            problems.append(f"{place}: {key} must be {_describe_values(hints[key])}, not “{value}”")
    return SettingsRead(Settings(**values), tuple(problems), text)


def _hints() -> dict[str, Any]:
    return get_type_hints(Settings, include_extras=True)


def _describe(hint: Any) -> str:
    return str(get_args(hint)[1].description)


def _describe_values(hint: Any) -> str:
    """Return the allowed values in words."""
    kind = get_args(hint)[0]
    choices = get_args(kind)
    if kind is bool:
        return "true or false"
    if kind is str:
        return "quoted text"
    if all(isinstance(choice, str) for choice in choices):
        return "one of " + ", ".join(choices)
    return "a table of names and texts"


_BARE: Final = ("true", "false")


def _toml(value: str | bool) -> str:
    return _BARE[not value] if isinstance(value, bool) else f'"{value}"'


def _place(path: Path, text: str, key: str) -> str:
    """Return the file and the first line that mentions a key or a table."""
    speaks = re.compile(
        rf"""^\s*(\[\s*)?([\w"'-]+\s*\.\s*)?["']?{re.escape(key)}["']?\s*[=\].]""", re.ASCII
    )
    lines = enumerate(text.splitlines(), 1)
    line = next((number for number, content in lines if speaks.match(content)), 1)
    return f"{path}, line {line}"


class Appearance:
    """The theme and the keymap in use. `theme_name` is the theme of the command line; it takes
    precedence over the one in the settings, which takes precedence over the one chosen last.

    `problems` has one sentence for everything that could not be used.
    """

    def __init__(self, settings_read: SettingsRead | None = None, theme_name: str = "") -> None:
        settings_read = settings_read or SettingsRead()
        own, theme_problems = own_themes(settings_read.settings.themes, settings_read.place)
        self.keymap, key_problems = read_keymap(settings_read.settings.keys, settings_read.place)
        self.themes: dict[str, Theme] = {**themes(), **own}
        self._wanted, problems = "", list(settings_read.problems)
        if theme_name:
            self._wanted = self._find_theme(theme_name) or ""
            if not self._wanted:
                problems.append(f"there is no theme “{theme_name}”; there are {self._names()}")
        theme = settings_read.settings.theme
        self._set = self._find_theme(theme) or ""
        if theme and not self._set:
            place = settings_read.place("theme")
            problems.append(f"{place}: there is no theme “{theme}”; there are {self._names()}")
        self.settings: Settings = settings_read.settings
        self.problems: tuple[str, ...] = (*problems, *theme_problems, *key_problems)

    def first(self, chosen: str | None) -> str:
        """Return the name of the theme to start with; `chosen` is the theme chosen last."""
        if is_without_colour():
            return SIXTEEN
        last_theme = chosen if chosen in self.themes else ""
        return self._wanted or self._set or last_theme or DARK

    @property
    def is_theme_set(self) -> bool:
        """Return whether the settings name a theme."""
        return bool(self._set)

    def title(self, name: str) -> str:
        """Return the description of a theme."""
        return TITLES.get(name, "from the settings")

    def _find_theme(self, name: str) -> str | None:
        full = NICKNAMES.get(name, name)
        return full if full in self.themes else None

    def _names(self) -> str:
        return ", ".join(self.themes)
