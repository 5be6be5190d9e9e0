"""Undo and redo of the saves in this machine's journal, with a preview and a question before
anything is written."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from explorer.client import journal
from explorer.client.display import counted, line, moment
from explorer.client.editable import TextConflict
from explorer.errors import InvalidInput, NotFound, StorageFault
from explorer.sessions.base import Session, SessionState, action
from explorer.views.journal import (
    UndoPreview,
    catalog_place,
    edit_title,
    undo_preview,
    without_sources,
)

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog, Edit
    from explorer.client.journal import JournalSave

_READ_ONLY: Final = "Nothing can be undone: this server is open read-only."


@dataclass(frozen=True, slots=True)
class UndoQuestion:
    """The question whether to undo a save. `is_redo` is true if the save is itself an undo,
    `is_last` if it was not chosen but is the last one. `conflict` is the error if somebody has
    changed a value since, once that is known."""

    save: "JournalSave"
    is_redo: bool
    is_last: bool
    conflict: TextConflict | None = None

    def preview(self, format_moment: Callable[[int], str] = moment) -> UndoPreview:
        """Return a preview of what the undo would change."""
        return undo_preview(
            self.save, is_last=self.is_last, is_redo=self.is_redo, format_moment=format_moment
        )


@dataclass(frozen=True, slots=True)
class UndoOutcome:
    """The edits that an undo made. `reopened` says how many edits of a changeset can be decided
    again, empty if none; `fault` is the error if the changeset's file could not be updated."""

    edits: "tuple[Edit, ...]"
    is_redo: bool
    reopened: str = ""
    fault: StorageFault | None = None

    def __str__(self) -> str:
        """Return sentences that describe the undo."""
        edits = without_sources(self.edits)
        more = f" and {len(edits) - 1:,} more" if len(edits) > 1 else ""
        sentences = [
            f"{'Redone' if self.is_redo else 'Undone'}: {line(edit_title(edits[0]))}{more}."
        ]
        kept_edits = [edit for edit in edits if edit.what == "entity" and edit.after is not None]
        if kept_edits and not self.is_redo:
            sentences.append(f"{line(kept_edits[0].urn.name)} stays, because others use it.")
        if self.fault is not None:
            sentences.append(f"Its changeset cannot note it: {self.fault}.")
        elif self.reopened:
            sentences.append(f"{self.reopened}.")
        return " ".join(sentences)


@dataclass(frozen=True, slots=True)
class UndoState(SessionState):
    """The open question; None if there is none."""

    question: UndoQuestion | None = None


class UndoSession(Session[UndoState]):
    """Undoes and redoes saves: `ask_last`, `ask_last_undo` and `ask` prepare a question, and `undo`
    carries it out."""

    def __init__(self, catalog: "AsyncCatalog") -> None:
        super().__init__(catalog, UndoState())

    @action("Undo the last save", in_turn=False)
    async def ask_last(self) -> UndoQuestion | None:
        """Ask whether to undo the last save that is not undone, preferably one of this process. If
        there is none, set a message and return None."""
        save = await self._find_last(is_redo=False)
        if save is not None:
            return self._ask(UndoQuestion(save, is_redo=False, is_last=True))
        here = await self.catalog.known_as()
        why = journal.not_offered(await self.catalog.journal(), here)
        self.say(f"Nothing left to undo {catalog_place(here.address)}{why}.")
        return None

    @action("Redo what was undone last", in_turn=False)
    async def ask_last_undo(self) -> UndoQuestion | None:
        """Ask whether to redo the last undo; otherwise like `ask_last`."""
        save = await self._find_last(is_redo=True)
        if save is not None:
            return self._ask(UndoQuestion(save, is_redo=True, is_last=True))
        place = catalog_place((await self.catalog.known_as()).address)
        self.say(f"Nothing to redo {place}: nothing was undone, or something else was saved since.")
        return None

    @action("Undo a save of the journal", in_turn=False)
    async def ask(self, save: "JournalSave", *, is_redo: bool = False) -> UndoQuestion:
        """Ask whether to undo a save. Raises `InvalidInput` if it was made on another catalog."""
        if why := save.made_on.why_not(await self.catalog.known_as()):
            raise InvalidInput(f"this save cannot be undone here: {why}")
        return self._ask(UndoQuestion(save, is_redo, is_last=False))

    @action("Undo it, after what it does was shown")
    async def undo(self, question: UndoQuestion, *, force: bool = False) -> UndoOutcome | None:
        """Undo the save of a question, and return the outcome.

        If somebody has changed a value since, nothing is written and `TextConflict` is raised,
        unless `force` is set; the question then holds the conflict. If the last save cannot be
        undone because nothing it edited exists any more, the save before it is asked about, and
        None returned. Raises `NotFound` if there is no earlier save.
        """
        self.replace(question=None)
        save, is_redo = question.save, question.is_redo
        try:
            edits = await self.catalog.undo_save(save, force=force)
        except TextConflict as conflict:
            self._ask(replace(question, conflict=conflict))
            raise
        except NotFound as error:
            # The save counts as undone now, if that could be recorded in the journal.
            before = await self._find_last(is_redo=is_redo) if question.is_last else None
            if before is None or before.id == save.id:
                raise
            self._ask(replace(question, save=before))
            past = "undo is past redoing" if is_redo else "save is past undoing"
            self.say(f"The last {past}: {error}.", is_error=True)
            return None
        outcome = UndoOutcome(edits, is_redo)
        if not is_redo:
            outcome = await self._reopen(outcome, save)
        self.say(str(outcome), is_saved=True)
        return outcome

    def why_not(self, name: str) -> str:
        """Return why an action is not possible now; empty if it is possible."""
        del name
        return _READ_ONLY if self.catalog.read_only else ""

    def _ask(self, question: UndoQuestion) -> UndoQuestion:
        self.replace(question=question)
        return question

    async def _find_last(self, *, is_redo: bool) -> "JournalSave | None":
        find = self.catalog.last_undo if is_redo else self.catalog.last_save
        return await find() or await find(everyone=True)

    async def _reopen(self, outcome: UndoOutcome, save: "JournalSave") -> UndoOutcome:
        """Make the undone edits of a reviewed changeset undecided again; return the outcome with
        their number, or with the error."""
        if not any(entry.approved_by or entry.proposed_by for entry in save.entries):
            return outcome
        from explorer.stewardship.changeset import reopen_changeset_of

        try:
            count = await reopen_changeset_of(self.catalog, save)
        except StorageFault as fault:
            return replace(outcome, fault=fault)
        changes = counted(count, "change")
        reopened = f"{changes} of the changeset can be decided again" if count else ""
        return replace(outcome, reopened=reopened)
