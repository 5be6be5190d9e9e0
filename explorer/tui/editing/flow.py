"""Writing, from the page to the editor and back: what is described, and what is shown after."""

from typing import TYPE_CHECKING

from explorer.metadata.urn import Urn
from explorer.tui.editing.draftlist import DraftsScreen
from explorer.tui.editing.drafts import Draft
from explorer.tui.editing.editor import EditorScreen, Left
from explorer.tui.editing.links import LinksScreen
from explorer.tui.editing.subject import Subject, editable
from explorer.tui.inorder import LEADING
from explorer.tui.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import App

    from explorer.client.entity import Entity
    from explorer.tui.entity.page import EntityView

__all__ = ["Editing"]


class Editing:
    """What an application does about descriptions, drafts and links.

    `view` gives the page of the entity that is looked at, and `open_page` turns to another's.
    """

    def __init__(
        self,
        app: "App[None]",
        session: Session,
        view: "Callable[[], EntityView]",
        open_page: "Callable[[Urn], None]",
    ) -> None:
        self._app = app
        self._session = session
        self._view = view
        self._open_page = open_page

    def edit(self, entity: "Entity", path: str | None) -> None:
        """Edit a description: a column's, or with no `path` the entity's own."""
        if self._session.refuses_to_write():
            return

        def left(how: Left | None) -> None:
            if how is not None:
                self._app.run_worker(self._after(entity.urn, how), group="edit")

        self._app.push_screen(EditorScreen(self._session, Subject(entity), path), left)

    def show_drafts(self) -> None:
        """Show everything that was typed and not saved."""

        def left(chosen: Draft | None) -> None:
            if chosen is not None:
                self._app.run_worker(self._go_on_with(chosen), LEADING, "edit", exclusive=True)

        self._app.push_screen(DraftsScreen(self._session), left)

    def show_links(self, entity: "Entity") -> None:
        """Show the links of an entity, to add and change them."""

        def left(changed: bool | None) -> None:
            if changed:
                self._app.run_worker(self._view().refresh_entity(), group="edit")

        self._app.push_screen(LinksScreen(self._session, entity), left)

    async def ready_to_quit(self) -> bool:
        """Keep what is being typed, wherever; says whether it is safe to quit."""
        for screen in self._app.screen_stack:
            if isinstance(screen, EditorScreen) and not await screen.keep_draft():
                return False
        return True

    async def _after(self, urn: Urn, left: Left) -> None:
        view = self._view()
        if view.urn != urn:
            return
        if left.saved:
            await view.refresh_entity()
        if left.path is not None:
            view.columns.move_to_path(left.path)
        if left.message:
            self._session.say(left.message)

    async def _go_on_with(self, draft: Draft) -> None:
        """Open the text that a draft is of, also where the entity is gone by now."""
        if self._session.refuses_to_write():
            return
        urn = Urn.parse(draft.urn)
        if not editable(urn):
            return
        with self._session.reporting(f"reading {urn.name}"):
            catalog = await self._session.catalog()
            entity = await catalog.entity(urn)
            self._open_page(urn)
            self.edit(entity, draft.path)
