"""Writing a description in one step: a given text, the text of an earlier version, or what people
wrote about a column before its type or case changed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from explorer.client.display import counted, line
from explorer.client.editable import TextConflict
from explorer.client.journal import one_save
from explorer.metadata.urn import Urn
from explorer.sessions.base import READ_ONLY, Session, SessionState, action
from explorer.views.journal import value_words

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog, Edit


@dataclass(frozen=True, slots=True)
class DescriptionState(SessionState):
    """The edited text that the writer saw: only this text is replaced. None if the writer did not
    look at the present text."""

    base: str | None = None


class DescriptionSession(Session[DescriptionState]):
    """The description of an entity, or of its column at the field path `path`. Messages call it
    `name`."""

    def __init__(
        self,
        catalog: "AsyncCatalog",
        urn: str | Urn,
        path: str | None = None,
        name: str = "",
        base: str | None = None,
    ) -> None:
        self.urn = Urn.parse(urn)
        self.path = path
        self.name = line(name or self.urn.name)
        super().__init__(catalog, DescriptionState(base=base))

    @action("Write the description")
    async def write(self, text: str, *, force: bool = False) -> "Edit":
        """Write a description; see `Catalog.describe`. Raises `TextConflict` if the present text is
        not the one that the writer saw; from then on it counts as seen."""
        base = self.state.base
        writing = self.catalog.describe(
            self.urn, text, column=self.path, instead_of=base, force=force
        )
        try:
            edit = await self.work("writing", writing)
        except TextConflict as conflict:
            self.replace(base=conflict.theirs)
            raise
        if edit.changed:
            was, now = (value_words("description", held) for held in (edit.before, edit.after))
            self.say(f"Described {self.name}: {was} → {now}.", is_saved=True)
        else:
            self.say(f"{self.name} already has this description; nothing was written.")
        return edit

    @action("Move what was written for earlier types or cases of columns to the present ones")
    async def carry_over(self, paths: Sequence[str]) -> "tuple[Edit, ...]":
        """Move what people wrote about columns before their types or cases changed to the present
        field paths, as one save; see `Catalog.carry_over`."""
        with one_save():
            steps = [await self.catalog.carry_over(self.urn, path) for path in paths]
        edits = tuple(edit for step in steps for edit in step)
        self.say(f"What was written of {counted(len(edits), 'column')} is moved.", is_saved=True)
        return edits

    def why_not(self, name: str) -> str:
        """Return why an action is not possible; empty if it is possible."""
        del name
        return READ_ONLY if self.catalog.read_only else ""
