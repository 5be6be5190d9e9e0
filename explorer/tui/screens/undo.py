"""Undo and redo of saved edits, from the journal, after showing what would change."""

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING

from rich.text import Text
from textual.app import App

from explorer.client.editable import TextConflict
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.names import singular
from explorer.metadata.urn import Urn
from explorer.tui.content import line, said
from explorer.tui.key_queue import LEADING
from explorer.tui.screens.labels.choice import tell_taking_back
from explorer.tui.session import TerminalSession
from explorer.tui.widgets.dialogs import ConfirmScreen

if TYPE_CHECKING:
    from explorer.client import Edit
    from explorer.client.journal import JournalSave

__all__ = ["UndoActions"]

_SHOWN_AT_MOST = 8


class UndoActions:
    """Undoes and redoes saves of this machine's journal, after saying what that does. `refresh` is
    told which entities were written."""

    def __init__(
        self,
        app: App[None],
        session: TerminalSession,
        refresh: Callable[[frozenset[Urn]], Awaitable[object]],
    ) -> None:
        self._app = app
        self._session = session
        self._refresh = refresh

    def undo(self) -> None:
        """Take back what the last save did, after it is said which and what that does."""
        self._begin(again=False)

    def redo(self) -> None:
        """Do again what the last undo took back, after it is said what that does."""
        self._begin(again=True)

    def undo_save(self, save: "JournalSave", *, again: bool, done: Callable[[], object]) -> None:
        """Take back what a save did, after it is said what that does; with `again` the save is an
        undo itself. Calls `done` once that was written."""
        if not self._session.refuses_to_write():
            head = "Redo what this undid" if again else "Undo this save"
            question = self._question(head, save)
            self._ask(question, save, again=again, force=False, done=done)

    def _begin(self, *, again: bool) -> None:
        if not self._session.refuses_to_write():
            work = self._find(again=again)
            self._app.run_worker(work, LEADING, "take-back", exclusive=True)

    async def _find(self, *, again: bool) -> None:
        with self._session.reporting("looking for the last save"):
            catalog = await self._session.catalog()
            save = await (catalog.last_undo() if again else catalog.last_save())
            if save is None:
                self._session.say(
                    "Nothing to redo here: nothing was undone, or something was saved since."
                    if again
                    else "Nothing left to undo on this server."
                )
                return
            head = "Redo what was undone last" if again else "Undo the last save"
            question = self._question(head, save)
            self._ask(question, save, again=again, force=False, done=lambda: None)

    def _ask(
        self,
        question: Text,
        save: "JournalSave",
        *,
        again: bool,
        force: bool,
        done: Callable[[], object],
    ) -> None:
        def answered(does: bool | None) -> None:
            if does:
                work = self._write(save, again=again, force=force, done=done)
                self._app.run_worker(work, group="take-back", exclusive=True)

        self._app.push_screen(ConfirmScreen(question), answered)

    async def _write(
        self, save: "JournalSave", *, again: bool, force: bool, done: Callable[[], object]
    ) -> None:
        doing = "doing the save again" if again else "taking the save back"
        with self._session.reporting(doing):
            catalog = await self._session.catalog()
            try:
                made = await catalog.undo_save(save, force=force)
            except TextConflict as conflict:
                text = Text.assemble(
                    ("Somebody changed it since; nothing was written.\n", "bold"),
                    ("there is now  ", "dim"),
                    said(conflict.theirs, missing="nothing"),
                    ("\nwould become  ", "dim"),
                    said(conflict.mine, "bold", missing="nothing"),
                    "\n\nReplace it anyway?",
                )
                self._ask(text, save, again=again, force=True, done=done)
                return
            await self._refresh(frozenset(edit.urn for edit in made))
            done()
            self._session.say(_outcome(made, again=again))

    def _question(self, head: str, save: "JournalSave") -> Text:
        edits = [edit for edit, _ in save.edits]
        when = self._session.times.said(round(save.at.timestamp() * 1000))
        head += f", {len(edits):,} edits?" if len(edits) > 1 else "?"
        text = Text.assemble((head, "bold"), (f"  saved {when}", "dim"))
        for edit in edits[:_SHOWN_AT_MOST]:
            text.append("\n").append_text(said(_called(edit))).append("\n  ")
            text.append_text(tell_taking_back(edit))
        left = len(edits) - _SHOWN_AT_MOST
        if left > 0:
            text.append(f"\nand {left:,} more", "dim")
        return text


def _outcome(made: "Iterable[Edit]", *, again: bool) -> str:
    done = list(made)
    first = done[0]
    more = f" and {len(done) - 1:,} more" if len(done) > 1 else ""
    what = f"{line(_called(first))}{more}"
    if again:
        return f"Redone: {what}. U undoes it."
    kept = [edit for edit in done if edit.what == "entity" and edit.after is not None]
    stays = f" {line(kept[0].urn.name)} stays, for others use it." if kept else ""
    return f"Undone: {what}.{stays} ^y redoes it."


def _called(edit: "Edit") -> str:
    """What an edit is of; not cleaned for the screen."""
    what = singular(edit.urn.entity_type) if edit.what == "entity" else f"{edit.what} of"
    column = "" if edit.column is None else f"{FieldPath(edit.column).simple} of "
    return f"{what} {column}{Urn.label(str(edit.urn))}"
