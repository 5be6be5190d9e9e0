"""The themes: dark, light, high contrast, colour-blind, sixteen colours, and the reader's own."""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from textual.color import Color, ColorParseError
from textual.filter import LineFilter
from textual.theme import Theme

DARK: Final = "catalog"
CONTRAST: Final = "high-contrast"
SIXTEEN: Final = "terminal"

TITLES: Final[Mapping[str, str]] = {
    DARK: "dark (default)",
    "light": "light",
    CONTRAST: "high contrast: at least 7:1 for every text",
    "colour-blind": "colours that are safe for colour blindness",
    SIXTEEN: "the sixteen colours of the terminal's own palette",
}

_DARK: Final = Theme(
    name=DARK,
    primary="#7aa2c8",
    secondary="#9d8fc0",
    accent="#d0a66b",
    foreground="#d8d8d2",
    background="#16181b",
    surface="#1e2125",
    panel="#262a2f",
    success="#8fb573",
    warning="#d0a66b",
    error="#d08070",
    dark=True,
    variables={
        "border-blurred": "#3a3f46",
        "block-cursor-blurred-background": "#2a2f36",
        "surface-lighten-2": "#34373b",
        "primary-muted": "#283543",
    },
)
_LIGHT: Final = Theme(
    name="light",
    primary="#2b5f94",
    secondary="#6a4fa0",
    accent="#845300",
    foreground="#1c1e22",
    background="#fbfbf8",
    surface="#efefea",
    panel="#e4e4de",
    success="#2c6a2c",
    warning="#845300",
    error="#a32f1d",
    dark=False,
    variables={
        "border-blurred": "#c2c2ba",
        "block-cursor-blurred-background": "#dfdfd8",
        "surface-lighten-2": "#e4e4dd",
        "primary-muted": "#cee0f2",
        "error-muted": "#f6d9d2",
        "text-muted": "#55585e",
    },
)
_CONTRAST: Final = Theme(
    name=CONTRAST,
    primary="#8fd8ff",
    secondary="#d8c4ff",
    accent="#ffdf70",
    foreground="#ffffff",
    background="#000000",
    surface="#0c0c0c",
    panel="#141414",
    success="#98ff98",
    warning="#ffdf70",
    error="#ffc4b8",
    dark=True,
    variables={
        "text": "#ffffff",
        "text-muted": "#e4e4e4",
        "text-disabled": "#d0d0d0",
        "text-error": "#ffffff",
        "text-success": "#98ff98",
        "foreground-muted": "#e4e4e4",
        "foreground-disabled": "#d0d0d0",
        "border-blurred": "#a8a8a8",
        "surface-lighten-2": "#303030",
        "primary-muted": "#003a78",
        "error-muted": "#6a0000",
        "block-cursor-foreground": "#ffffff",
        "block-cursor-background": "#003a78",
        "block-cursor-blurred-foreground": "#ffffff",
        "block-cursor-blurred-background": "#303030",
        "input-selection-background": "#003a78",
        "screen-selection-background": "#003a78",
        "input-cursor-background": "#ffffff",
        "input-cursor-foreground": "#000000",
    },
)
# The eight colours of Okabe and Ito, which can be told apart with any common form of colour
# blindness.
_COLOUR_BLIND: Final = Theme(
    name="colour-blind",
    primary="#56b4e9",
    secondary="#cc79a7",
    accent="#f0e442",
    foreground="#e2e2de",
    background="#16181b",
    surface="#1e2125",
    panel="#262a2f",
    success="#56b4e9",
    warning="#e69f00",
    error="#e69f00",
    dark=True,
    variables={
        "border-blurred": "#4a5058",
        "block-cursor-blurred-background": "#2a2f36",
        "surface-lighten-2": "#34373b",
        "primary-muted": "#243b4a",
        "text-success": "#56b4e9",
        "text-error": "#e69f00",
        "text-warning": "#f0e442",
        "error-muted": "#4d3500",
    },
)
_SIXTEEN: Final = Theme(
    name=SIXTEEN,
    ansi=True,
    primary="ansi_blue",
    secondary="ansi_cyan",
    warning="ansi_yellow",
    error="ansi_red",
    success="ansi_green",
    accent="ansi_yellow",
    foreground="ansi_default",
    background="ansi_default",
    surface="ansi_default",
    panel="ansi_default",
    boost="ansi_default",
    dark=True,
    variables={
        "ansi-background": "ansi_default",
        "ansi-foreground": "ansi_default",
        "text-muted": "ansi_default",
        "text-disabled": "ansi_default",
        "foreground-muted": "ansi_default",
        "foreground-disabled": "ansi_default",
        "border": "ansi_blue",
        "border-blurred": "ansi_bright_black",
        "surface-lighten-2": "ansi_default",
        "primary-muted": "ansi_default",
        "error-muted": "ansi_default",
        "block-cursor-background": "ansi_default",
        "block-cursor-text-style": "reverse",
        "scrollbar-background": "ansi_default",
        "scrollbar-background-hover": "ansi_default",
        "scrollbar-background-active": "ansi_default",
        "scrollbar-corner-color": "ansi_default",
        "input-cursor-text-style": "reverse",
    },
)
_BUILT_IN: Final = (_DARK, _LIGHT, _CONTRAST, _COLOUR_BLIND, _SIXTEEN)

# The RGB colours of the ANSI names, such as `red` and `green`, in the themes below.
_OKABE_ITO: Final = TerminalTheme(
    (22, 24, 27),
    (226, 226, 222),
    [
        (22, 24, 27),
        (230, 159, 0),
        (86, 180, 233),
        (240, 228, 66),
        (86, 180, 233),
        (204, 121, 167),
        (86, 180, 233),
        (226, 226, 222),
    ],
)
_STRONG: Final = TerminalTheme(
    (0, 0, 0),
    (255, 255, 255),
    [
        (0, 0, 0),
        (255, 196, 184),
        (152, 255, 152),
        (255, 223, 112),
        (143, 216, 255),
        (255, 200, 255),
        (160, 255, 255),
        (255, 255, 255),
    ],
)
_ON_LIGHT: Final = TerminalTheme(
    (251, 251, 248),
    (36, 38, 42),
    [
        (36, 38, 42),
        (163, 47, 29),
        (44, 106, 44),
        (132, 83, 0),
        (43, 95, 148),
        (122, 62, 157),
        (0, 101, 122),
        (85, 88, 94),
    ],
)
ANSI_COLOURS: Final[Mapping[str, TerminalTheme]] = {
    CONTRAST: _STRONG,
    "colour-blind": _OKABE_ITO,
    "light": _ON_LIGHT,
}
"""The RGB colours of the ANSI colour names, by the name of a theme. Other themes use those of the
terminal."""

# Styles for terminals without reliable shades: reverse, underline and bold replace them.
ATTRIBUTES: Final = """
Screen.-over { background: $background 60%; }
Screen.-clear { background: transparent; }
.-theme-high-contrast Screen.-over { background: $background; }
Rows:ansi > .rows--cursor, LineageMap:ansi > .map--cursor {
    background: ansi_default; text-style: underline;
}
Rows:ansi:focus > .rows--cursor, LineageMap:ansi:focus > .map--cursor {
    background: ansi_default; text-style: reverse;
}
Facets:ansi > .rows--cursor { text-style: none; }
LineageMap:ansi > .map--way { text-style: bold; }
Tree:ansi > .tree--cursor { background: ansi_default; text-style: underline; }
Tree:ansi:focus > .tree--cursor { background: ansi_default; text-style: reverse; }
Input:ansi > .input--selection { background: ansi_default; text-style: reverse; }
Input:ansi > .input--cursor { background: ansi_default; text-style: reverse; }
TextArea:ansi .text-area--selection { background: ansi_default; text-style: reverse; }
TextArea:ansi .text-area--cursor { background: ansi_default; text-style: reverse; }
TextArea:ansi .text-area--cursor-line { background: ansi_default; }
KeyLine:ansi.-error { background: ansi_default; text-style: bold reverse; }
SearchBox:nocolor:focus, TextArea:nocolor:focus { border: heavy ansi_default; }
BrowseTree:nocolor:focus { border-right: heavy ansi_default; }
"""

_COLOURS: Final = (
    "primary",
    "secondary",
    "accent",
    "foreground",
    "background",
    "surface",
    "panel",
    "success",
    "warning",
    "error",
)
_VARIABLES: Final = {
    "muted": "text-muted",
    "border": "border-blurred",
    "cursor": "primary-muted",
    "cursor-without-focus": "surface-lighten-2",
}
_BASE: Final = "based-on"
NICKNAMES: Final[Mapping[str, str]] = {"dark": DARK, "contrast": CONTRAST, "ansi": SIXTEEN}


class FaintFilter(LineFilter):
    """Removes the dim attribute, so that faint text is readable."""

    _STRONG = Style(dim=False)

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Return the segments of a line without the dim attribute."""
        del background
        return [
            Segment(segment.text, segment.style + self._STRONG, segment.control)
            if segment.style is not None and segment.style.dim
            else segment
            for segment in segments
        ]


def is_without_colour() -> bool:
    """Return whether NO_COLOR is set."""
    # An empty value counts too, as in Textual.
    return "NO_COLOR" in os.environ


def themes() -> dict[str, Theme]:
    """Return the built-in themes by name."""
    return {theme.name: theme for theme in _BUILT_IN}


def own_themes(
    tables: Mapping[str, Mapping[str, str]], place: Callable[[str], str]
) -> tuple[dict[str, Theme], tuple[str, ...]]:
    """Return the themes of the settings by name, and one sentence for each of their entries that
    cannot be used. Each theme is its base theme with other colours; `place` returns the file and
    line of a theme."""
    themes_by_name: dict[str, Theme] = {}
    problems: list[str] = []
    for name, table in tables.items():
        base_name = table.get(_BASE, "dark")
        base = themes().get(NICKNAMES.get(base_name, base_name))
        if base is None or name in themes():
            problem = (
                f"there is a theme called {name} already"
                if base is not None
                else f"{_BASE} is one of {', '.join(themes())}, not “{base_name}”"
            )
            problems.append(f"{place(name)}: theme {name}: {problem}")
            continue
        colours, faults = _colours(table)
        problems += (f"{place(name)}: theme {name}: {fault}" for fault in faults)
        themes_by_name[name] = _adapt(base, name, colours)
    return themes_by_name, tuple(problems)


def _colours(table: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return the valid colours of a theme in the settings, and a sentence for each invalid one."""
    colours: dict[str, str] = {}
    faults = []
    for key, value in table.items():
        if key == _BASE:
            continue
        if key not in (*_COLOURS, *_VARIABLES):
            keys = ", ".join((_BASE, *_COLOURS, *_VARIABLES))
            faults.append(f"there is no “{key}”; there are {keys}")
            continue
        try:
            Color.parse(value)
        except ColorParseError:
            faults.append(f"{key} must be a colour such as “#7aa2c8” or “ansi_blue”, not “{value}”")
            continue
        colours[key] = value
    return colours, faults


def _adapt(base: Theme, name: str, colours: Mapping[str, str]) -> Theme:
    plain = {key: colours.get(key) or getattr(base, key) for key in _COLOURS}
    variables = {_VARIABLES[key]: value for key, value in colours.items() if key in _VARIABLES}
    dark = Color.parse(plain["background"]).brightness < 0.5 if not base.ansi else base.dark
    changed = replace(base, name=name, dark=dark, variables={**base.variables, **variables})
    for key, value in plain.items():
        setattr(changed, key, value)
    return changed
