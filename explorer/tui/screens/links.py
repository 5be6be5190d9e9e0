"""The links of an entity to documents: a list, and a form to add or change one."""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from rich.text import Text
from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Input, Label, Static

from explorer.client.display import counted
from explorer.client.journal import one_save
from explorer.errors import Conflict, NotFound
from explorer.tui.actions import bindings
from explorer.tui.content import join, line_text
from explorer.tui.desktop import browse_to, is_web
from explorer.tui.session import TerminalSession
from explorer.tui.widgets.bars import KeyLine
from explorer.tui.widgets.dialogs import FramedScreen, ListScreen
from explorer.tui.widgets.inputs import TypedLine
from explorer.tui.widgets.rows import Rows
from explorer.views.history import actors_of, author_of

if TYPE_CHECKING:
    from explorer.client.entity import Entity
    from explorer.client.records import Edit
    from explorer.metadata.aspects import Link

_WITH_HOST = ("http", "https", "ftp", "sftp")
_WITHOUT_HOST = ("mailto", "tel", "slack", "msteams")


@dataclass(frozen=True, slots=True)
class LinkInput:
    """A link as it is typed: its address and its label."""

    url: str
    label: str


def problem_with(url: str) -> str:
    """Return in one sentence why a text is not an address for a link; None if it is."""
    if not url:
        return "A link needs an address."
    if any(char.isspace() or not char.isprintable() for char in url):
        return "An address cannot contain spaces; write them as %20."
    try:
        parts = urlsplit(url)
    except ValueError:
        return "This is not an address; an address looks like https://wiki.example.org/orders."
    schemes = ", ".join((*_WITH_HOST, *_WITHOUT_HOST))
    if parts.scheme not in (*_WITH_HOST, *_WITHOUT_HOST):
        return f"An address must begin with one of {schemes}, and a colon."
    if parts.scheme in _WITH_HOST and not parts.hostname:
        return f"The server is missing; an address looks like {parts.scheme}://server/page."
    if parts.scheme not in _WITH_HOST and not parts.path:
        return f"Nothing follows {parts.scheme}: in the address."
    return ""


class LinkForm(FramedScreen[LinkInput]):
    """A form with address and label; returns a valid link."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("linkform")
    CSS = """
    LinkForm > Vertical { width: 80; }
    LinkForm Input { padding: 0; background: $boost; }
    """

    def __init__(self, title: str, old: LinkInput | None = None) -> None:
        super().__init__()
        self._title = title
        self._old = old or LinkInput("", "")

    def compose(self) -> ComposeResult:
        """Yield the fields and the keys."""
        with Vertical():
            yield Label(self._title, markup=False)
            yield Label("address", markup=False)
            yield TypedLine(self._old.url, id="url", select_on_focus=False)
            yield Label("called", markup=False)
            yield TypedLine(self._old.label, id="label", select_on_focus=False)
        yield KeyLine()

    def on_mount(self) -> None:
        """Focus the address."""
        self.set_focus(self.query_one("#url", Input))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Submit the field after enter."""
        event.stop()
        self.action_submit()

    def action_submit(self) -> None:
        """Go to the next field; after the last, return the link."""
        url = self.query_one("#url", Input)
        label = self.query_one("#label", Input)
        problem = problem_with(url.value.strip())
        if problem:
            self.say(problem, error=True)
            self.set_focus(url)
        elif not label.value.strip():
            if self.focused is label:
                self.say("Describe in a few words where the link leads.", error=True)
            self.set_focus(label)
        elif self.focused is url and label.value == self._old.label and not self._old.url:
            self.set_focus(label)
        else:
            self.dismiss(LinkInput(url.value.strip(), label.value.strip()))


_WRITES = ("add", "change", "remove", "restore")


class LinksScreen(ListScreen[bool]):
    """Lists links in the order in which they were added; returns whether any was changed."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("links")
    CSS = """
    LinksScreen > Vertical { width: 100; height: 20; }
    """

    def __init__(self, session: TerminalSession, entity: "Entity") -> None:
        super().__init__(session)
        self._urn = entity.urn
        self._name = entity.name
        self._links: tuple[Link, ...] = entity.links
        self._removed: list[LinkInput] = []
        self._turn = asyncio.Lock()
        self._changed = False

    def on_mount(self) -> None:
        """Show the links read with the entity, then read the current ones."""
        self._show()
        self._read()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow actions on a link only where there is one, and edits only where the server is
        writable."""
        del parameters
        if action in _WRITES and self._session.read_only:
            return None
        if action in ("follow", "change", "remove"):
            return bool(self._links)
        return action != "restore" or bool(self._removed)

    @on(Rows.Chosen)
    def _handle_chosen(self) -> None:
        self.action_follow()

    @work(exclusive=True, group="web")
    async def action_follow(self) -> None:
        """Open the address under the cursor."""
        link = self._current
        if link is None:
            return
        if is_web(link.url) and await browse_to(link.url):
            self.say(f"Opened {line_text(link.url).plain}")
        else:
            self.app.copy_to_clipboard(link.url)
            self.say(f"Copied {line_text(link.url).plain}")

    def action_add(self) -> None:
        """Add a link."""

        def add_link(new: LinkInput | None) -> None:
            if new is not None:
                self._write(self._add(new), f"Added {line_text(new.label or new.url).plain}.")

        self.app.push_screen(LinkForm("A new link"), add_link)

    def action_change(self) -> None:
        """Change the link under the cursor."""
        link = self._current
        if link is None:
            return
        old = LinkInput(link.url, link.description)

        def replace_link(new: LinkInput | None) -> None:
            if new is not None and new != old:
                self._write(
                    self._replace(old, new), f"Changed {line_text(new.label or new.url).plain}."
                )

        self.app.push_screen(LinkForm("Change the link", old), replace_link)

    def action_remove(self) -> None:
        """Remove the link under the cursor."""
        link = self._current
        if link is not None:
            old = LinkInput(link.url, link.description)
            sentence = f"Removed {line_text(f'{old.label} {old.url}').plain}; ^z restores it."
            self._write(self._remove(old), sentence)

    def action_restore(self) -> None:
        """Restore the last removed link."""
        if self._removed:
            old = self._removed[-1]
            self._write(self._restore(old), f"Restored {line_text(old.label or old.url).plain}.")

    def action_leave(self) -> None:
        """Close."""
        self.dismiss(self._changed)

    @property
    def _current(self) -> "Link | None":
        return self.query_one(Rows).under_cursor(self._links)

    @work(exclusive=True, group="links")
    async def _read(self) -> None:
        with self._session.reporting("reading the links"):
            await self._read_now()

    @work(group="links")
    async def _write(self, work: Coroutine[Any, Any, None], sentence: str) -> None:
        from explorer.client import TextConflict

        self.say("saving …")
        # One after another: each is made from the links that the one before it left.
        async with self._turn:
            with self._session.reporting("changing the links"):
                try:
                    with one_save():
                        await work
                except TextConflict as conflict:
                    await self._read_now()
                    raise Conflict(
                        "somebody else changed the links meanwhile; nothing was written: "
                        "check them and try again"
                    ) from conflict
                self._changed = True
                await self._read_now()
                self._session.say_saved(sentence, self.say, undo="")

    async def _read_now(self) -> None:
        catalog = await self._session.catalog()
        self._links = await catalog.links(self._urn)
        await self._session.read_names(actors_of(link.create_stamp for link in self._links))
        self._show()

    @property
    def _links_on_screen(self) -> tuple[str, ...]:
        """Return the links on the screen in the form of an edit."""
        return tuple(f"{link.url} {link.description}" for link in self._links)

    async def _add(self, new: LinkInput) -> "Edit":
        catalog = await self._session.catalog()
        return await catalog.add_link(
            self._urn, new.url, new.label, instead_of=self._links_on_screen
        )

    async def _remove(self, old: LinkInput) -> None:
        catalog = await self._session.catalog()
        await catalog.remove_link(self._urn, old.url, old.label, instead_of=self._links_on_screen)
        self._removed.append(old)

    async def _replace(self, old: LinkInput, new: LinkInput) -> None:
        """Replace a link: add the new one before removing the old one, so that an interruption
        loses none."""
        added = await self._add(new)
        links = added.after if isinstance(added.after, tuple) else ()
        catalog = await self._session.catalog()
        try:
            await catalog.remove_link(self._urn, old.url, old.label, instead_of=links)
        except NotFound:
            # A server may have put the new one in the place of another to the same address.
            return

    async def _restore(self, old: LinkInput) -> None:
        await self._add(old)
        self._removed.remove(old)

    def _show(self) -> None:
        rows = self.query_one(Rows)
        rows.show(len(self._links), self._draw, cursor=rows.cursor, empty="No links yet.")
        parts = [line_text(self._name, "bold"), Text(counted(len(self._links), "link"))]
        if self._session.read_only:
            parts.append(Text("read-only: nothing can be changed", "bold reverse"))
        self.query_one("#what", Static).update(join(parts))
        self.refresh_bindings()

    def _draw(self, index: int, width: int) -> tuple[Text, Text]:
        del width
        link = self._links[index]
        by = line_text(author_of(link.create_stamp, self._session.names), "dim")
        head = join([line_text(link.description, "bold", missing="unnamed"), by])
        return Text(" ").append_text(head), Text("   ").append_text(line_text(link.url))
