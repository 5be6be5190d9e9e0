"""All columns with one name or glossary term: somebody chooses or writes a text, marks columns, and
stages the text for them."""

import asyncio
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from explorer.client import AsyncCatalog
from explorer.sessions.base import READ_ONLY, action
from explorer.sessions.changesets import ChangesetsSession
from explorer.sessions.listing import ListSession, ListState
from explorer.stewardship.api import AsyncStewardship
from explorer.stewardship.concepts import Concept, ConceptColumn
from explorer.stewardship.drafts import Draft, Drafts
from explorer.stewardship.worklist import Key
from explorer.views.stewardship import ConceptVariant, concept_variants

if TYPE_CHECKING:
    from explorer.stewardship.staging import StagedChangeset

OWN: Final = -1
"""The number of the text that was written in this session."""
MARK_FIRST: Final = "Mark columns first."
CHOOSE_FIRST: Final = "Choose a text, or write one."
_DRAFT: Final = "concept"
_NO_CONCEPT: Final = Concept("", ())


@dataclass(frozen=True, slots=True)
class ConceptQuestion:
    """Which columns to show: those named `name`, or those with a glossary term. `start` is the
    column from which the question was asked."""

    name: str
    term: str | None = None
    start: Key | None = None


@dataclass(frozen=True, slots=True)
class ConceptState(ListState[ConceptColumn]):
    """The columns; their texts, including the one that was written here (`own_text`); the number of
    the chosen text; and the marked columns."""

    concept: Concept = _NO_CONCEPT
    variants: tuple[ConceptVariant, ...] = ()
    variant: int = 1
    own_text: str = ""
    marked: tuple[Key, ...] = ()

    @property
    def text(self) -> str:
        """The chosen text; empty if there is none."""
        texts = (variant.text for variant in self.variants if variant.number == self.variant)
        return next(texts, "")


class ConceptSession(ListSession[ConceptState]):
    """The columns with a name or term. A text written for them is stored in `find_drafts()` while
    it is typed."""

    READING = "reading columns …"
    NONE = "No dataset has a matching column."

    def __init__(
        self, catalog: AsyncCatalog, question: ConceptQuestion, find_drafts: Callable[[], Drafts]
    ) -> None:
        state = ConceptState(concept=Concept(question.name, ()))
        super().__init__(catalog, state, question.start)
        self._question = question
        self._find_drafts = find_drafts
        self._steward = AsyncStewardship(catalog)
        self._is_draft_read = False

    async def read_rows(self) -> None:
        """Read the columns, and at the first call also the text that was last written for them."""
        name, term = self._question.name, self._question.term
        read = self._steward.concept if term is None else self._steward.term_concept
        concept = await read(term or name, progress=self.tell_read("reading columns"))
        own = self.state.own_text
        if not self._is_draft_read:
            drafts = await asyncio.to_thread(self._find_drafts)
            draft = await asyncio.to_thread(drafts.read, _DRAFT, self._draft_name)
            own, self._is_draft_read = draft.text if draft is not None else "", True
            if own:
                self.say("The text that you wrote last is marked “new”.")
        keys = {column.key for column in concept.columns}
        marked = tuple(key for key in self.state.marked if key in keys)
        self.put(concept.columns, rows=concept.columns, concept=concept, marked=marked)
        self._show_texts(own, self.state.variant)

    def key_of(self, row: ConceptColumn) -> Key:
        """Return a key that identifies a row in the list."""
        return row.key

    def choose(self, number: int) -> None:
        """Choose a text by its number."""
        self._show_texts(self.state.own_text, number)

    def mark(self, columns: Iterable[ConceptColumn]) -> None:
        """Mark columns; if all of them are already marked, unmark them."""
        keys, marked = [column.key for column in columns], self.state.marked
        if all(key in marked for key in keys):
            self.replace(marked=tuple(key for key in marked if key not in keys))
        else:
            self.replace(marked=tuple(dict.fromkeys((*marked, *keys))))

    def unmark(self) -> None:
        """Unmark all columns."""
        self.replace(marked=())

    @action("Keep what is typed as a draft", in_turn=False)
    async def keep(self, text: str) -> None:
        """Store a text on disk while it is typed."""
        drafts = await asyncio.to_thread(self._find_drafts)
        draft = Draft(_DRAFT, self._draft_name, "", text, self.state.concept.name)
        await asyncio.to_thread(drafts.keep, draft)

    @action("Write a text for the columns", in_turn=False)
    async def write(self, text: str) -> None:
        """Choose a newly written text, and store it on disk."""
        self._show_texts(text, OWN)
        await self.keep(text)

    @action("Stage the text for the marked columns, for review", in_turn=False)
    async def stage(self) -> "StagedChangeset | None":
        """Stage the chosen text for the marked columns; nothing is written. If all of them already
        have it, set a message and return None."""
        state = self.state
        staging = ChangesetsSession(self.catalog).stage_concept
        changeset = await staging(state.concept, state.text, state.marked)
        if changeset is None:
            self.say("The marked columns already have this text.")
            return None
        if state.variant == OWN:
            # The text is in the changeset now, so its draft is deleted.
            drafts = await asyncio.to_thread(self._find_drafts)
            await asyncio.to_thread(drafts.drop, _DRAFT, self._draft_name)
        return changeset

    def follow(self, urns: Collection[object]) -> None:
        """Read the columns again, in the background, if a changed entity is one of their tables."""
        if {str(urn) for urn in urns} & {column.urn for column in self.state.rows}:
            self.start(self.read(), instead_of="read")

    def why_not(self, name: str) -> str:
        """Return why an action is not possible now; empty if it is possible."""
        if name != "stage":
            return ""
        if self.catalog.read_only:
            return READ_ONLY
        return MARK_FIRST if not self.state.marked else "" if self.state.text else CHOOSE_FIRST

    @property
    def _draft_name(self) -> str:
        return self._question.term or self._question.name.casefold()

    def _show_texts(self, own: str, number: int) -> None:
        """List the texts, and choose the one with a number, or else the first."""
        variants = concept_variants(self.state.concept)
        same = (variant.number for variant in variants if variant.text == own.strip())
        if own and (known := next(same, 0)):
            # The catalog has the text now, so it is listed only once.
            own, number = "", known if number == OWN else number
        if own:
            variants = (ConceptVariant(OWN, 0, own), *variants)
        numbers = [variant.number for variant in variants if variant.text]
        if number not in numbers:
            number = next(iter(numbers), 1)
        self.replace(own_text=own, variants=variants, variant=number)
