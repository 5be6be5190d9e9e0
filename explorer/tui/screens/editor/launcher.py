"""Opens the editor, the drafts and the links of an entity, and shows what was changed."""

from functools import partial
from typing import TYPE_CHECKING

from explorer.metadata.urn import Urn
from explorer.stewardship.drafts import Draft
from explorer.tui.key_queue import OPENING, OpeningFailed, start_worker
from explorer.tui.screens.editor.descriptions import (
    DescriptionQueue,
    Descriptions,
    is_describable,
)
from explorer.tui.screens.editor.drafts import DraftKeeper, DraftsScreen, Failure, Save, Saves
from explorer.tui.screens.editor.editor import EditorOutcome, EditorScreen
from explorer.tui.screens.editor.links import LinksScreen
from explorer.tui.session import TerminalSession
from explorer.views.columns import schema_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import App
    from textual.worker import WorkType

    from explorer.client.entity import Entity
    from explorer.tui.screens.entity.page import EntityView

__all__ = ["EditorLauncher"]

# Among so many of the results after a table the next one is looked for, so many at a time.
_LOOKED_AT = 100
_AT_ONCE = 20
_ASPECTS = ("schemaMetadata", "editableSchemaMetadata", "status")


class EditorLauncher:
    """Opens the editor, drafts and links for the application.

    `view` returns the page of the open entity, `open_page` opens another, and `results` returns the
    last search results in order. `drafts_changed` is called when the drafts may have changed.
    """

    def __init__(
        self,
        app: "App[None]",
        session: TerminalSession,
        view: "Callable[[], EntityView]",
        open_page: "Callable[[Urn], None]",
        results: "Callable[[], Sequence[Urn]]",
        drafts_changed: "Callable[[], object]",
    ) -> None:
        self._app = app
        self._session = session
        self._view = view
        self._open_page = open_page
        self._results = results
        self._drafts_changed = drafts_changed
        self._keeper = DraftKeeper(session)
        self._saves = Saves(
            session,
            self._keeper,
            lambda work: app.run_worker(work, group="saves"),
            self._show_save_result,
        )
        self._saved: list[Save] = []
        self._is_warned = False
        self._queue: DescriptionQueue | None = None
        self._queue_changed: Callable[[], object] | None = None

    def edit(self, entity: "Entity", path: str | None) -> None:
        """Edit a description: a column's, or with no `path` the entity's own."""
        if self._session.refuses_to_write():
            return

        def left(how: EditorOutcome | None) -> None:
            if how is not None:
                start_worker(self._app, partial(self._after, how), group="edit")

        subject = self._subject_of(entity)
        screen = EditorScreen(
            self._session,
            subject,
            path,
            self._keeper,
            self._saves,
            self._next_table,
            self._view().columns.measured_of(entity),
        )
        self._app.push_screen(screen, left)

    def edit_queued(
        self, queue: DescriptionQueue, urn: Urn, path: str | None, changed: "Callable[[], object]"
    ) -> None:
        """Edit the descriptions of a queue, starting with one: one request. `changed` is called
        when the editor is closed, and at the end of every save."""
        if not self._session.refuses_to_write():
            opening = partial(self._open_queued, queue, urn, path, changed)
            start_worker(self._app, opening, OPENING, group="edit", exclusive=True)

    async def _open_queued(
        self, queue: DescriptionQueue, urn: Urn, path: str | None, changed: "Callable[[], object]"
    ) -> None:
        entity = await self._read_for_editor(urn)
        if entity is None:
            return
        self._queue, self._queue_changed = queue, changed

        def done(how: EditorOutcome | None) -> None:
            self._drafts_changed()
            changed()
            if how is not None and how.message:
                self._session.say(how.message, error=how.error)

        screen = EditorScreen(
            self._session,
            self._subject_of(entity),
            path,
            self._keeper,
            self._saves,
            self._next_table,
            queue=queue,
            subject_of=self._subject_of,
        )
        self._app.push_screen(screen, done)

    def _subject_of(self, entity: "Entity") -> Descriptions:
        """Return the descriptions of an entity, with saves that were made after it was read or are
        pending."""
        subject = Descriptions(entity)
        for save in (*self._saved, *self._saves.pending_of(entity.urn)):
            if save.target.urn == entity.urn:
                subject.wrote(save.target.path, save.text)
        return subject

    def show_drafts(self) -> None:
        """Show the drafts."""

        def left(chosen: Draft | None) -> None:
            self._drafts_changed()
            if chosen is not None:
                do = partial(self._go_on_with, chosen)
                start_worker(self._app, do, OPENING, group="edit", exclusive=True)

        self._app.push_screen(DraftsScreen(self._session), left)

    def show_links(self, entity: "Entity") -> None:
        """Show the links of an entity for editing."""

        def left(changed: bool | None) -> None:
            if changed:
                start_worker(self._app, self._view().refresh_entity, group="edit")

        self._app.push_screen(LinksScreen(self._session, entity), left)

    async def ready_to_quit(self, seconds: float) -> bool:
        """Store the typed text as a draft, and wait at most `seconds` for pending saves; return
        whether it is safe to quit. If a draft cannot be written, the first call shows a message and
        the second allows quitting."""
        for screen in self._editors:
            await screen.catch_up()
            if not await screen.keep_draft():
                return False
        await self._saves.finish(seconds)
        lost = [save.title for save in self._saves.without_draft.values()]
        if lost and not self._is_warned:
            self._is_warned = True
            self._session.say(
                f"Neither saved nor kept as drafts: {', '.join(lost)}. Quit again to lose them.",
                error=True,
            )
            return False
        return True

    @property
    def unsaved(self) -> list[str]:
        """Return the names of the saves that failed or got no response, and are drafts."""
        failed = [one.save.title for one in self._saves.failed.values()]
        return list(dict.fromkeys([*failed, *self._saves.titles]))

    @property
    def _editors(self) -> list[EditorScreen]:
        return [one for one in self._app.screen_stack if isinstance(one, EditorScreen)]

    def _show_save_result(self, save: Save, failure: Failure | None) -> None:
        """Report the end of a save on the current screen."""
        if failure is None:
            self._saved.append(save)
            if self._queue is not None and self._queue_changed is not None:
                self._queue.wrote(save.key, save.text)
                self._queue_changed()
        editors = self._editors
        for screen in editors:
            screen.show_save_result(save, failure)
        if editors:
            return
        if failure is None:
            self._session.say(f"Saved {save.title}.")
            if not self._saves.pending_of(save.target.urn):
                refreshing: WorkType[None] = partial(self._refresh, save.target.urn)
                self._app.run_worker(refreshing, group="edit")
        else:
            sentence = f"Not saved: {save.title}. {failure.reason}"
            end = "" if sentence.endswith(".") else "."
            self._session.say(f"{sentence}{end} It is kept as a draft; F4 lists it.", error=True)
        self._drafts_changed()

    async def _refresh(self, urn: Urn, *, is_newer: bool = False) -> None:
        """Refresh an entity after a save, if it is open."""
        read = [save for save in self._saved if save.target.urn == urn]
        if (read or is_newer) and self._view().urn == urn:
            await self._view().refresh_entity()
        self._saved = [save for save in self._saved if save not in read]

    async def _after(self, left: EditorOutcome) -> None:
        self._drafts_changed()
        view = self._view()
        if view.urn != left.urn:
            self._open_page(left.urn)
        else:
            await self._refresh(left.urn, is_newer=left.is_newer)
            if left.path is not None:
                view.columns.move_to_path(left.path)
        if left.message:
            self._session.say(left.message, error=left.error)

    async def _next_table(self, after: Urn) -> Descriptions | None:
        """Return the next result with an undocumented column, from the top again after the last;
        one request per twenty results, and one for the entity."""
        found = [urn for urn in self._results() if urn.entity_type == "dataset"]
        at = found.index(after) + 1 if after in found else 0
        ahead = [urn for urn in (*found[at:], *found[:at]) if urn != after][:_LOOKED_AT]
        catalog = await self._session.catalog()
        for start in range(0, len(ahead), _AT_ONCE):
            read = await catalog.entities(ahead[start : start + _AT_ONCE], _ASPECTS)
            for urn in ahead[start : start + _AT_ONCE]:
                one = read.get(urn)
                if one is None or one.removed or schema_of(one) is None:
                    continue
                if self._subject_of(one).undocumented:
                    return self._subject_of(await catalog.entity(urn))
        return None

    async def _go_on_with(self, draft: Draft) -> None:
        """Open the description of a draft, even if the entity no longer exists."""
        if self._session.refuses_to_write():
            return
        urn = Urn.parse(draft.urn)
        if not is_describable(urn):
            return
        entity = await self._read_for_editor(urn)
        if entity is not None:
            self._open_page(urn)
            self.edit(entity, draft.path)

    async def _read_for_editor(self, urn: Urn) -> "Entity | None":
        """Return an entity; one request. If it fails, show why, drop the keys that were typed for
        the editor, and return `None`."""
        with self._session.reporting(f"reading {urn.name}"):
            return await (await self._session.catalog()).entity(urn)
        self._app.post_message(OpeningFailed())
        return None
