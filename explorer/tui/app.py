"""The terminal application: one screen on which finding, browsing and one entity take turns."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events, on, work
from textual.app import App, ComposeResult, SystemCommand
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.filter import LineFilter
from textual.screen import Screen
from textual.theme import Theme
from textual.widgets import ContentSwitcher

from explorer.metadata.urn import Urn
from explorer.tui.actions import bindings
from explorer.tui.browse.tree import BrowseTree
from explorer.tui.editing.editor import EditorScreen, Saved, Target
from explorer.tui.entity.page import EntityView
from explorer.tui.find.view import FindView
from explorer.tui.safety import ControlFilter
from explorer.tui.session import Session
from explorer.tui.shell.header import Header
from explorer.tui.shell.help import HelpScreen
from explorer.tui.shell.keyline import KeyLine
from explorer.tui.shell.palette import commands_here, scopes_here
from explorer.tui.visited import History

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Entity

__all__ = ["CatalogApp"]

_THEME = Theme(
    name="catalog",
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
    variables={"border-blurred": "#3a3f46", "block-cursor-blurred-background": "#2a2f36"},
)
_WIDE = 100


class CatalogApp(App[None]):
    """Explores the catalog that `make` gives a client for; opens `urn` or searches `query` first
    where they are given."""

    TITLE = "catalog"
    ENABLE_COMMAND_PALETTE = True
    COMMAND_PALETTE_BINDING = "ctrl+p"
    HORIZONTAL_BREAKPOINTS: list[tuple[int, str]] | None = [  # noqa: RUF012 - as Textual declares it
        (0, "-narrow"),
        (_WIDE, "-wide"),
    ]
    BINDINGS: ClassVar[list[BindingType]] = bindings("app")
    CSS = """
    Screen { background: $background; }
    * {
        scrollbar-background: $background; scrollbar-background-hover: $background;
        scrollbar-background-active: $background; scrollbar-color: $border-blurred;
        scrollbar-color-hover: $primary; scrollbar-color-active: $primary;
    }
    #body { height: 1fr; }
    #page { width: 1fr; }
    BrowseTree { display: none; }
    .-browsing BrowseTree { display: block; }
    .-narrow BrowseTree { width: 1fr; border-right: none; }
    .-narrow.-browsing #page { display: none; }
    .-narrow FindView Facets { display: none; }
    .-narrow FindView.-facets Facets { display: block; width: 1fr; }
    .-narrow FindView.-facets #found { display: none; }
    """

    def __init__(
        self,
        make: Callable[[], "AsyncCatalog"],
        *,
        urn: Urn | None = None,
        query: str = "",
    ) -> None:
        super().__init__(ansi_color=False)
        self._session = Session(make, self._say, self._heard)
        self._history = History()
        self._gate = ControlFilter()
        self._first_urn = urn
        self._first_query = query

    def compose(self) -> ComposeResult:
        """Header, folders beside the page, keys."""
        yield Header()
        with Horizontal(id="body"):
            yield BrowseTree(self._session)
            with ContentSwitcher(initial="find", id="page"):
                yield FindView(self._session)
                yield EntityView(self._session)
        yield KeyLine()

    def get_line_filters(self) -> Sequence[LineFilter]:
        """What every drawn line goes through: the usual, and the last gate."""
        return [*super().get_line_filters(), self._gate]

    @property
    def _desk(self) -> Screen[object]:
        """The one screen that is always there, below whatever else is open."""
        return self.screen_stack[0]

    def on_mount(self) -> None:
        """Dress up, and ask for data once the first frame is drawn."""
        self.register_theme(_THEME)
        self.theme = "catalog"
        wide = self.size.width >= _WIDE
        self.screen.set_class(wide, "-browsing")
        self.query_one(FindView).focus_results()
        self.call_after_refresh(self._start)

    def on_resize(self, event: events.Resize) -> None:
        """In a narrow terminal the page has the room, unless the reader is in the folders."""
        if event.size.width < _WIDE and not self._desk.query_one(BrowseTree).has_focus_within:
            self._desk.remove_class("-browsing")

    def _start(self) -> None:
        self._greet()
        self._desk.query_one(BrowseTree).fill()
        self._desk.query_one(FindView).start(self._first_query)
        if self._first_urn is not None:
            self._open(self._first_urn)

    @work(group="info")
    async def _greet(self) -> None:
        with self._session.reporting("opening the catalog"):
            catalog = await self._session.catalog()
            info = await catalog.info()
            self._desk.query_one(Header).show(info, read_only=catalog.read_only)

    def _heard(self, answered: bool) -> None:
        """The header tells when the server falls silent, and when it is back."""
        header = self._desk.query_one(Header)
        if not answered:
            header.show_trouble()
        elif header.silent:
            header.silent = False
            self._greet()

    async def on_unmount(self) -> None:
        """Hang up."""
        await self._session.close()

    def _say(self, message: str, *, error: bool = False) -> None:
        for screen in (self.screen, self._desk):
            lines = screen.query(KeyLine)
            if lines:
                lines.first().say(message, error=error)
                return

    def on_key(self) -> None:
        """A key that does something takes the last message away."""
        for line in self.screen.query(KeyLine):
            line.hush()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """The keys that can be used follow the focus."""
        del event
        for line in self.screen.query(KeyLine):
            line.refresh()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """Every action of the screen by name, and the settings."""
        yield from commands_here(screen)
        yield SystemCommand("Theme", "Choose the colours", self.action_change_theme)

    async def action_leave_all(self) -> None:
        """Quit from anywhere; what is being typed is kept as a draft first."""
        if not isinstance(self.screen, EditorScreen) or await self.screen.keep_draft():
            self.exit()

    def action_help(self) -> None:
        """The keys that work here."""
        self.push_screen(HelpScreen(scopes_here(self.screen)))

    def action_find(self) -> None:
        """To the search box."""
        self._turn_to("find")
        self._desk.query_one(FindView).focus_box()

    def action_browse(self) -> None:
        """To the folders; from the folders, back and fold them away."""
        tree = self._desk.query_one(BrowseTree)
        if self._desk.has_class("-browsing") and tree.has_focus_within:
            self._desk.remove_class("-browsing")
            self._focus_page()
        else:
            self._desk.add_class("-browsing")
            tree.focus()

    def action_go_back(self) -> None:
        """To what was open before."""
        self._go(self._history.back())

    def action_go_forward(self) -> None:
        """To what was open after."""
        self._go(self._history.forward())

    @on(FindView.Opened)
    @on(EntityView.Opened)
    @on(BrowseTree.Opened)
    def _opened(self, event: FindView.Opened | EntityView.Opened | BrowseTree.Opened) -> None:
        self._open(event.urn)

    def _open(self, urn: Urn) -> None:
        self._history.visit(urn)
        self._show(urn)

    def _go(self, place: Urn | None) -> None:
        if place is None:
            self._turn_to("find")
            self._desk.query_one(FindView).focus_results()
        else:
            self._show(place)

    def _show(self, urn: Urn) -> None:
        self._turn_to("entity")
        view = self._desk.query_one(EntityView)
        view.open(urn)
        view.focus_content()

    def _turn_to(self, name: str) -> None:
        if self._desk.has_class("-narrow"):
            self._desk.remove_class("-browsing")
        self._desk.query_one("#page", ContentSwitcher).current = name

    def _focus_page(self) -> None:
        if self._desk.query_one("#page", ContentSwitcher).current == "entity":
            self._desk.query_one(EntityView).focus_content()
        else:
            self._desk.query_one(FindView).focus_results()

    @on(EntityView.Edit)
    def _edit(self, event: EntityView.Edit) -> None:
        if self._session.read_only:
            self._say("Nothing is written here: the server was opened to be read only.", error=True)
            return
        self._open_editor(event.entity, event.path)

    def _open_editor(self, entity: "Entity", path: str | None) -> None:
        target = Target.of(entity, path)
        screen = EditorScreen(self._session, target, columns=path is not None)

        def left(how: Saved | None) -> None:
            if how is not None:
                self._after_edit(entity, target, how)

        self.push_screen(screen, left)

    @work(group="edit")
    async def _after_edit(self, entity: "Entity", target: Target, left: Saved) -> None:
        view = self._desk.query_one(EntityView)
        if left.saved:
            self._say(f"Saved {target.column or target.name}.")
            entity = await view.refresh_entity() or entity
        following = view.columns.undocumented_after(target.path) if left.onward else None
        if target.path is not None:
            view.columns.move_to_path(following or target.path)
        if following is not None:
            self._open_editor(entity, following)
        elif left.onward:
            self._say("Saved. Every column of this one is documented.")
