"""The links of an entity to documents: a list, and a form to add or change one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import urlsplit

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import Input, Label

from explorer.client.display import counted
from explorer.sessions.links import LinkSession, LinkState
from explorer.tui.actions import bindings
from explorer.tui.content import join, line_text
from explorer.tui.desktop import browse_to, is_web
from explorer.tui.session import TerminalSession
from explorer.tui.widgets.bars import KeyLine
from explorer.tui.widgets.dialogs import FramedScreen, SessionListDialog
from explorer.tui.widgets.inputs import TypedLine
from explorer.views.history import actors_of, author_of

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Entity
    from explorer.sessions.base import Message

_WITH_HOST = ("http", "https", "ftp", "sftp")
_WITHOUT_HOST = ("mailto", "tel", "slack", "msteams")


@dataclass(frozen=True, slots=True)
class LinkInput:
    """The typed address and label of a link."""

    url: str
    label: str


def problem_with(url: str) -> str:
    """Return a sentence on why a text is not an address for a link; empty if it is one."""
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
        """Go on to the next field, or submit the form, on enter."""
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


class LinksScreen(SessionListDialog[bool, LinkState]):
    """Lists links in the order in which they were added; returns whether any was changed."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("links")
    DOING = "reading and changing the links"
    CSS = """
    LinksScreen > Vertical { width: 100; height: 20; }
    """
    OFFERED: ClassVar[Mapping[str, str]] = {
        name: name for name in ("add", "change", "remove", "restore")
    }

    def __init__(self, session: TerminalSession, entity: "Entity") -> None:
        super().__init__(session)
        self._entity = entity
        self._hint = ""
        self._shown = LinkState(instead=LinkSession.READING)

    def begin(self, catalog: "AsyncCatalog") -> LinkSession:
        """Create the session that reads this list."""
        return LinkSession(catalog, self._entity.urn, self._entity.links)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Allow opening an address only if there is one."""
        if action == "follow":
            return self._shown.current is not None
        return super().check_action(action, parameters)

    def choose(self) -> None:
        """Open the chosen address."""
        self.action_follow()

    @work(exclusive=True, group="web")
    async def action_follow(self) -> None:
        """Open the address under the cursor."""
        link = self._shown.current
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
                self.run_worker(self.act("add", new.url, new.label))

        self.app.push_screen(LinkForm("A new link"), add_link)

    def action_change(self) -> None:
        """Change the link under the cursor."""
        link = self._shown.current
        if link is None:
            return
        old = LinkInput(link.url, link.description)

        def replace_link(new: LinkInput | None) -> None:
            if new is not None and new != old:
                self.run_worker(self.act("change", link, new.url, new.label))

        self.app.push_screen(LinkForm("Change the link", old), replace_link)

    def action_remove(self) -> None:
        """Remove the link under the cursor."""
        link = self._shown.current
        if link is not None:
            self.run_worker(self.act("remove", link.url, link.description))

    def action_restore(self) -> None:
        """Restore the last removed link."""
        self.run_worker(self.act("restore"))

    def action_leave(self) -> None:
        """Close."""
        self.dismiss(self._shown.is_changed)

    def draw_state(self, before: LinkState, state: LinkState) -> None:
        """Show the links, and whether a write is under way."""
        super().draw_state(before, state)
        self._hint = "^z restores it." if len(state.removed) > len(before.removed) else ""
        if state.listed != before.listed:
            self._read_names()
        if state.work is not None and before.work is None:
            self.say(str(state.work))

    def tell(self, message: "Message") -> None:
        """Show a message; after a removal, with the key that restores the link."""
        self._session.say_message(message, self.say, self._hint)

    @work(exclusive=True, group="names")
    async def _read_names(self) -> None:
        with self._session.reporting("reading who added the links"):
            links = self._shown.listed
            await self._session.read_names(actors_of(link.create_stamp for link in links))
            self.draw_rows()

    def heading(self, state: LinkState) -> Text:
        """Return the heading: the name of the entity, and the number of its links."""
        parts = [line_text(self._entity.name, "bold"), Text(counted(len(state.listed), "link"))]
        if self._session.read_only:
            parts.append(Text("read-only: nothing can be changed", "bold reverse"))
        return join(parts)

    def draw_row(self, index: int, width: int) -> tuple[Text, Text]:
        """Return the two lines of a link: its label and who added it; its address."""
        del width
        link = self._shown.listed[index]
        by = line_text(author_of(link.create_stamp, self._session.names), "dim")
        head = join([line_text(link.description, "bold", missing="unnamed"), by])
        return Text(" ").append_text(head), Text("   ").append_text(line_text(link.url))
