"""One link being written: its address, checked, and what it is called."""

from dataclasses import dataclass
from typing import ClassVar
from urllib.parse import urlsplit

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Label

from explorer.tui.actions import bindings
from explorer.tui.shell.keyline import KeyLine
from explorer.tui.typed import TypedLine

__all__ = ["LinkForm", "Written", "problem_with"]

_WITH_HOST = ("http", "https", "ftp", "sftp")
_WITHOUT_HOST = ("mailto", "tel", "slack", "msteams")


@dataclass(frozen=True, slots=True)
class Written:
    """A link as it is written: its address, and what it is called."""

    url: str
    label: str


def problem_with(url: str) -> str:
    """Why a text is no address to link to, in one sentence; nothing where it is one."""
    if not url:
        return "A link needs an address."
    if any(char.isspace() or not char.isprintable() for char in url):
        return "An address has no spaces in it; write them as %20."
    try:
        parts = urlsplit(url)
    except ValueError:
        return "This is no address; one looks like https://wiki.example.org/orders."
    known = ", ".join((*_WITH_HOST, *_WITHOUT_HOST))
    if parts.scheme not in (*_WITH_HOST, *_WITHOUT_HOST):
        return f"An address begins with one of {known}, and a colon."
    if parts.scheme in _WITH_HOST and not parts.hostname:
        return f"There is no server in it; an address looks like {parts.scheme}://server/page."
    if parts.scheme not in _WITH_HOST and not parts.path:
        return f"There is nothing behind {parts.scheme}: in it."
    return ""


class LinkForm(ModalScreen[Written]):
    """Two lines to type in; gives what was written once it can be a link."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("linkform")
    CSS = """
    LinkForm { align: center middle; }
    LinkForm > Vertical {
        width: 80; max-width: 96%; height: auto; max-height: 92%;
        background: $surface; border: round $primary; padding: 0 1;
    }
    LinkForm Input { border: none; height: 1; padding: 0; background: $boost; }
    """

    def __init__(self, title: str, old: Written | None = None) -> None:
        super().__init__()
        self._title = title
        self._old = old or Written("", "")

    def compose(self) -> ComposeResult:
        """The two lines, and the keys."""
        with Vertical():
            yield Label(self._title, markup=False)
            yield Label("address", markup=False)
            yield TypedLine(self._old.url, id="url", select_on_focus=False)
            yield Label("called", markup=False)
            yield TypedLine(self._old.label, id="label", select_on_focus=False)
        yield KeyLine()

    def on_mount(self) -> None:
        """Start with the address."""
        for line in self.query(Input):
            line.cursor_blink = False
        self.set_focus(self.query_one("#url", Input))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """A key in a line that ends it."""
        event.stop()
        self.action_submit()

    def action_submit(self) -> None:
        """On to the next line, and from the last back with what was written."""
        url = self.query_one("#url", Input)
        label = self.query_one("#label", Input)
        problem = problem_with(url.value.strip())
        if problem:
            self.query_one(KeyLine).say(problem, error=True)
            self.set_focus(url)
        elif not label.value.strip():
            if self.focused is label:
                self.query_one(KeyLine).say("Say in a few words where it leads.", error=True)
            self.set_focus(label)
        elif self.focused is url and label.value == self._old.label and not self._old.url:
            self.set_focus(label)
        else:
            self.dismiss(Written(url.value.strip(), label.value.strip()))

    def action_leave(self) -> None:
        """Cancel."""
        self.dismiss(None)
