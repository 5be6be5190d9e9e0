"""Lists over the screen, in which something of the search is chosen."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import ClassVar

from rich.markup import escape
from textual.binding import BindingType
from textual.widgets import Input

from explorer.client.display import in_quotes
from explorer.tui.actions import bindings
from explorer.tui.content import line
from explorer.tui.find.searches import Kept
from explorer.tui.shell.choosing import Choosing, Entry

__all__ = ["SearchesScreen", "StepScreen"]

_LABEL = 300


class StepScreen(Choosing):
    """One question with answers to choose from; `typed` takes an answer that is none of them."""

    def __init__(
        self,
        title: str,
        choices: Sequence[Entry],
        typed: Callable[[str], None] | None = None,
        hint: str = "type to filter",
        at: int = 0,
    ) -> None:
        super().__init__()
        self._title = title
        self._choices = choices
        self._typed_by = typed
        self._hint = hint
        self._at = at

    def entries(self) -> Iterable[Entry]:
        """The answers."""
        return self._choices

    def start_at(self) -> int:
        """The answer given until now."""
        return self._at

    def nothing_found(self, typed: str) -> str:
        """What is typed is an answer where others than those to choose are taken."""
        if self._typed_by is None:
            return super().nothing_found(typed)
        return f"⏎ takes {in_quotes(typed, 60)}." if typed else "Type it; ⏎ takes what was typed."

    def on_mount(self) -> None:
        """Say what is asked."""
        super().on_mount()
        self.query_one("Vertical").border_title = escape(self._title)
        self.query_one(Input).placeholder = self._hint

    def action_choose(self) -> None:
        """Give the answer under the cursor, or the one that was typed."""
        typed = self.query_one(Input).value.strip()
        if self.current is None and typed and self._typed_by is not None:
            take = self._typed_by
            self.dismiss()
            self.app.call_later(take, typed)
        else:
            super().action_choose()


class SearchesScreen(Choosing):
    """Saved searches by name, and below them those asked lately."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("searches")
    TITLE_SHOWN = "Searches"
    HEADINGS = True

    def __init__(
        self,
        kept: Kept,
        run: Callable[[str, str], None],
        rename: Callable[[str], None],
        forget: Callable[[str, str], None],
    ) -> None:
        super().__init__()
        self._run = run
        self._rename = rename
        self._forget = forget
        self._kept = kept
        self._saved: dict[int, str] = {}
        self._recent: dict[int, str] = {}

    def entries(self) -> Iterable[Entry]:
        """Every search, the saved ones first; those alike are told apart by who they are."""
        for one in self._kept.saved:
            name = line(one.name, _LABEL)
            by = f"  by {line(one.order, 60)}" if one.order else ""
            text = "" if one.text == one.name else line(one.text, _LABEL)
            choice = Entry(
                f"{name}   {text}{by}".rstrip(),
                "★",
                "Saved  (F2 rename, F8 forget)",
                do=partial(self._run, one.text, one.order),
            )
            self._saved[id(choice)] = one.name
            yield choice
        for text in self._kept.recent:
            choice = Entry(
                line(text, _LABEL), "", "Recent searches", do=partial(self._run, text, "")
            )
            self._recent[id(choice)] = text
            yield choice

    def action_rename(self) -> None:
        """Give the saved search under the cursor another name."""
        name = self._saved.get(id(self.current))
        if name is not None:
            self.dismiss()
            self.app.call_later(self._rename, name)

    def action_forget(self) -> None:
        """Take the search under the cursor out of the list."""
        name, recent = (one.get(id(self.current), "") for one in (self._saved, self._recent))
        if name or recent:
            self.dismiss()
            self.app.call_later(self._forget, name, recent)
