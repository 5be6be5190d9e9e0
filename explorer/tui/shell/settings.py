"""The settings of the terminal: one file that people write by hand, `tui.toml` beside the profiles.

theme = "light"
start = "browse"

[keys]
"entity.copy-urn" = "y, c"

[themes.mine]
based-on = "dark"
background = "#101418"
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args, get_type_hints

import msgspec

from explorer.config import config_dir
from explorer.config.files import read_private
from explorer.errors import Unusable

__all__ = ["Read", "Setting", "Settings", "list_settings", "read_settings", "settings_file"]

Start = Literal["find", "browse", "last"]
Clipboard = Literal[
    "auto", "terminal", "tmux", "wl-copy", "xclip", "xsel", "pbcopy", "clip.exe", "none"
]
Zone = Literal["local", "utc"]
Said = msgspec.Meta


class Settings(msgspec.Struct, frozen=True, rename="kebab", kw_only=True):
    """What can be set. Each says of itself what it does; the keys and themes are checked by those
    who use them."""

    theme: Annotated[
        str,
        Said(description="The colours; empty for those chosen last in the terminal."),
    ] = ""
    start: Annotated[
        Start,
        Said(description="What is open first: the search, the folders, or what was open last."),
    ] = "find"
    clipboard: Annotated[
        Clipboard,
        Said(description="The way by which text is copied; auto tries what is there."),
    ] = "auto"
    mouse: Annotated[
        bool,
        Said(description="Whether the mouse is listened to; off, the terminal selects text."),
    ] = True
    zone: Annotated[
        Zone,
        Said(description="The time zone in which moments are shown first."),
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
        Said(description="Themes of your own, [themes.NAME], each based on one that is there."),
    ] = msgspec.field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting for people: its name, what it does, what it may be, and its value, as TOML."""

    name: str
    help: str
    allowed: str
    value: str


@dataclass(frozen=True, slots=True)
class Read:
    """What the file says, and one sentence for everything in it that could not be used."""

    settings: Settings = field(default_factory=Settings)
    problems: tuple[str, ...] = ()
    text: str = ""

    def place(self, key: str) -> str:
        """Where the file speaks of a key: `FILE, line N`."""
        return _place(settings_file(), self.text, key)


def settings_file() -> Path:
    """Where the settings are kept."""
    return config_dir() / "tui.toml"


def read_settings() -> Read:
    """The settings; what cannot be understood is left as it is by default, and said.

    Reads a small file, and raises nothing: trouble is in `problems`, each naming the file, the
    line, and what would do.
    """
    path = settings_file()
    try:
        text = read_private(path, secret=False)
    except Unusable as error:
        return Read(problems=(str(error),))
    if text is None:
        return Read()
    import tomllib

    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return Read(problems=(f"{path} cannot be read: {error}; nothing in it is used",))
    return _checked(path, text, table)


def list_settings(settings: Settings) -> Iterator[Setting]:
    """Every setting with its value, in the order in which they are declared; of the tables their
    size."""
    for name, hint in _hints().items():
        value = getattr(settings, name)
        shown = f"{len(value)} set" if isinstance(value, dict) else _toml(value)
        yield Setting(name, _described(hint), _allowed(hint), shown)


def _checked(path: Path, text: str, table: Mapping[str, Any]) -> Read:
    kept: dict[str, Any] = {}
    problems = []
    hints = _hints()
    for key, value in table.items():
        place = _place(path, text, key)
        if key not in hints:
            problems.append(f"{place}: nothing is called “{key}”; there are {', '.join(hints)}")
            continue
        try:
            kept[key] = msgspec.convert(value, hints[key])
        except msgspec.ValidationError:
            problems.append(f"{place}: {key} is {_allowed(hints[key])}, not “{value}”")
    return Read(Settings(**kept), tuple(problems), text)


def _hints() -> dict[str, Any]:
    return get_type_hints(Settings, include_extras=True)


def _described(hint: Any) -> str:
    return str(get_args(hint)[1].description)


def _allowed(hint: Any) -> str:
    """What a value may be, in words."""
    kind = get_args(hint)[0]
    choices = get_args(kind)
    if kind is bool:
        return "true or false"
    if kind is str:
        return "a text in quotes"
    if all(isinstance(choice, str) for choice in choices):
        return "one of " + ", ".join(choices)
    return "a table of names and texts"


_BARE: Final = ("true", "false")


def _toml(value: str | bool) -> str:
    return _BARE[not value] if isinstance(value, bool) else f'"{value}"'


def _place(path: Path, text: str, key: str) -> str:
    """The file and the first line that speaks of a key or of a table."""
    speaks = re.compile(
        rf"""^\s*(\[\s*)?([\w"'-]+\s*\.\s*)?["']?{re.escape(key)}["']?\s*[=\].]""", re.ASCII
    )
    lines = enumerate(text.splitlines(), 1)
    line = next((number for number, one in lines if speaks.match(one)), 1)
    return f"{path}, line {line}"
