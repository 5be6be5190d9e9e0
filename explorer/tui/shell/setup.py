"""All settings and keys with their values, and where they are set."""

from collections.abc import Iterable, Iterator
from typing import ClassVar

from explorer.tui.actions import SCOPES, actions_of, readable
from explorer.tui.shell.choosing import Choosing, Entry
from explorer.tui.shell.keymap import Keymap
from explorer.tui.shell.settings import Settings, list_settings, settings_file

__all__ = ["SetupScreen", "config_lines"]


class SetupScreen(Choosing):
    """Every setting with its value, and the word of every action in the keymap."""

    TITLE_SHOWN: ClassVar[str] = "Keys and settings"
    HEADINGS: ClassVar[bool] = True

    def __init__(self, settings: Settings, keymap: Keymap) -> None:
        super().__init__()
        self._settings = settings
        self._keymap = keymap

    def entries(self) -> Iterable[Entry]:
        """Settings first, then keys by place."""
        where = f"Settings, in {settings_file()}"
        for one in list_settings(self._settings):
            words = f"{one.help} It is {one.allowed}."
            yield Entry(words, f"{one.name} = {one.value}", where, do=_nothing)
        for scope, title in SCOPES.items():
            for action in actions_of(scope):
                if action.help:
                    keys = " ".join(readable(key) for key in self._keymap.keys_of(action))
                    yield Entry(f"{action.id}: {action.help}", keys, f"[keys] {title}", do=_nothing)


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
