"""The keys as the reader has set them: which keys an action has, and what is wrong with a wish."""

import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from typing import Final

from explorer.tui.actions import ACTIONS, SCOPES, Action, actions_of, readable

__all__ = ["Keymap", "key_lines", "read_keymap"]

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
        *("up", "down", "left", "right", "home", "end", "pageup", "pagedown"),
    )
)
_FUNCTION: Final = re.compile(r"f([1-9]|1[0-2])")
_CONTROL: Final = re.compile(r"ctrl\+(shift\+)?[a-z]")
_WIDE: Final = 18


class Keymap:
    """The keys of every action: those it is declared with, or those the reader has set."""

    def __init__(self, wishes: Mapping[str, tuple[str, ...]] | None = None) -> None:
        self._wishes = dict(wishes or {})

    def keys_of(self, action: Action) -> tuple[str, ...]:
        """The keys of an action, the first the one that is shown."""
        return self._wishes.get(action.id, action.keys)

    def shown(self, action: Action) -> str:
        """The key under which an action is shown where there is room for one."""
        keys = self._wishes.get(action.id)
        return readable(keys[0]) if keys else action.key

    def bindings(self) -> dict[str, str]:
        """The keys set by the reader, by the id of their action, as Textual takes them."""
        return {name: ",".join(keys) for name, keys in self._wishes.items()}


def read_keymap(
    wishes: Mapping[str, str], place: Callable[[str], str]
) -> tuple[Keymap, tuple[str, ...]]:
    """The keymap that the reader wishes for, and one sentence for every wish that is not granted:
    an action that is not there, a key that is none, or one that something else has.

    `place` says where an action is spoken of.
    """
    known = {action.id: action for action in ACTIONS}
    granted: dict[str, tuple[str, ...]] = {}
    problems = []
    for name, text in wishes.items():
        keys = tuple(_named(key.strip()) for key in text.split(",") if key.strip())
        problem = _unknown(name, known) or _unusable(keys, text)
        if problem:
            problems.append(f"{place(name)}: {problem}")
        else:
            granted[name] = keys
    for name in list(granted):
        rival = _rival(known[name], granted)
        if rival is not None:
            key = next(key for key in granted[name] if key in _keys(rival, granted))
            problems.append(
                f"{place(name)}: {readable(key)} is {rival.id} already; give that another key too"
            )
            del granted[name]
    return Keymap(granted), tuple(problems)


def key_lines(keymap: Keymap) -> Iterator[str]:
    """Every action with its keys and the word it has in a keymap, by place, to be printed."""
    for scope, title in SCOPES.items():
        yield f"{title}"
        for action in actions_of(scope):
            if action.help:
                keys = " ".join(readable(key) for key in keymap.keys_of(action))
                yield f"  {keys:<{_WIDE}}{action.help}  ({action.id})"
        yield ""


def _keys(action: Action, granted: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    return granted.get(action.id, action.keys)


def _rival(action: Action, granted: Mapping[str, tuple[str, ...]]) -> Action | None:
    """Another action of the same place that has one of the keys."""
    wished = set(granted[action.id])
    for other in actions_of(action.scope):
        if other.id != action.id and wished & set(_keys(other, granted)):
            return other
    return None


def _unknown(name: str, known: Mapping[str, Action]) -> str | None:
    if name in known:
        return None
    near = get_close_matches(name, known, 1)
    return f"no action is called “{name}”" + (f"; is {near[0]} meant?" if near else "; see --keys")


def _unusable(keys: tuple[str, ...], text: str) -> str | None:
    """What is wrong with keys, if anything is."""
    if not keys:
        return f"“{text}” names no key"
    for key in keys:
        if key in _SWALLOWED:
            return f"{readable(key)} arrives as {_SWALLOWED[key]} in a terminal; choose another key"
        if not _is_key(key):
            return (
                f"“{key}” is no key; give a character, f1 to f12, ctrl+ and a letter, "
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


# Textual's names of the characters that have one.
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


def _named(key: str) -> str:
    """A key as it is called inside: `^x` and `ctrl+x`, `/` and `slash`, `comma`."""
    if key.startswith("^") and len(key) == 2:
        return f"ctrl+{key[1].lower()}"
    return _CHARACTERS.get(key, key if len(key) == 1 else key.lower())
