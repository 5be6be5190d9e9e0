"""Drafts that render themselves, and can be continued, saved and discarded one by one."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from explorer.client.display import line, moment
from explorer.client.editable import stored_description
from explorer.metadata.proposal import millis_of
from explorer.notebook.view import Shown, ShownTable, table_parts, values_of
from explorer.stewardship.drafts import Drafts, StoredDraft
from explorer.views.drafts import (
    NO_DRAFTS,
    count_sentence,
    draft_program,
    drafts_table,
    place_words,
)
from explorer.views.parts import Cell, Facts, Part, Prose, Say, Title
from explorer.views.table import to_frame

if TYPE_CHECKING:
    import pandas as pd

    from explorer.client.records import Edit
    from explorer.notebook.explorer import Explorer
    from explorer.notebook.search import SearchCatalog


@dataclass(frozen=True, slots=True, repr=False)
class KeptDraft(Shown, StoredDraft):
    """A draft: an unsaved description of an entity, or of its column at `draft.path`.

    `save`, `discard` and `widget` raise `NotFound` if it was saved, discarded or changed since it
    was listed, `InvalidInput` if another running program is editing it.
    """

    catalog: "SearchCatalog" = field(compare=False, kw_only=True)

    @property
    def text(self) -> str:
        """Return the whole text."""
        return self.draft.text

    def widget(self) -> "Explorer":
        """Return a widget in which the draft is open in the editor.

        Example: `cat.drafts[0].widget()`
        """
        self._drafts.require(self)
        from explorer.notebook.explorer import explore

        explorer = explore(self.catalog)
        explorer.open_draft(self)
        return explorer

    def save(self) -> "Edit":
        """Write the text into the catalog, then delete the draft. Two requests.

        Raises `TextConflict` if the description has changed since the draft was started; the draft
        stays, and `widget` shows both texts.

        Example: `cat.drafts[0].save()`
        """
        drafts, draft = self._drafts, self.draft
        drafts.require(self)
        text = stored_description(draft.text)
        edit = self.catalog.describe(draft.urn, text, column=draft.path, instead_of=draft.base)
        # The catalog may have been identified only by this request. Text typed meanwhile is a draft
        # of its own.
        drafts = self._drafts
        if drafts.find(self) is not None:
            drafts.discard(self)
        return edit

    def discard(self) -> None:
        """Delete the draft; `restore` writes it again. No request.

        Example: `cat.drafts[0].discard()`
        """
        drafts = self._drafts
        drafts.discard(drafts.require(self))

    def restore(self) -> None:
        """Write the draft again if it was discarded; `cat.drafts` lists it. No request.

        Example: `draft = cat.drafts[0]; draft.discard(); draft.restore()`
        """
        drafts = self._drafts
        if drafts.find(self) is None:
            drafts.restore(self.draft)

    @property
    def _drafts(self) -> Drafts:
        return Drafts.of_catalog(self.catalog)

    def parts(self) -> Iterator[Part]:
        name, column = map(line, place_words(self))
        yield Title("Draft", f"{column} of {name}" if column else name)
        time_text = moment(millis_of(self.at), utc=True)
        rows = [("kept", Cell(time_text)), ("typed in", Cell(draft_program(self, os.getpid())))]
        yield Facts([*rows, ("urn", Cell(self.draft.urn))])
        yield Prose(self.text, "no text")


class DraftsTable(ShownTable, tuple[KeptDraft, ...]):
    """The drafts of a catalog, newest first; of one description there may be several."""

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each draft. No request.

        name, column   string                the names of the entity and of its column
        text           string                the whole text
        at             datetime64[ms, UTC]   when it was written to disk
        typed_in       string                the program
        open_elsewhere bool                  whether another running program is editing it
        urn, path      string                the entity, and the exact path of the column
        """
        return to_frame(drafts_table(self, os.getpid()))

    def parts(self) -> Iterator[Part]:
        yield Title("Drafts", count_sentence(len(self)) if self else "")
        if not self:
            yield Say(NO_DRAFTS)
            return
        yield from table_parts(drafts_table(self, os.getpid()))
        yield Say("[0].widget() opens the first, .save() saves it, .discard() discards it", "quiet")


def read_drafts(catalog: "SearchCatalog") -> DraftsTable:
    """Return the drafts of a catalog. No request."""
    of_catalog = Drafts.of_catalog(catalog).all()
    return DraftsTable(KeptDraft(**values_of(draft), catalog=catalog) for draft in of_catalog)
