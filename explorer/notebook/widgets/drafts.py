"""The list of drafts in the explorer: counted at the start, and opened, saved or discarded one by
one."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from explorer.client.display import line, moment
from explorer.errors import NotFound
from explorer.metadata.proposal import millis_of
from explorer.stewardship.drafts import GONE, OPEN_ELSEWHERE, StoredDraft
from explorer.views.drafts import (
    NO_DRAFTS,
    beginning,
    count_sentence,
    draft_program,
    place_words,
    unsaved_sentence,
)

if TYPE_CHECKING:
    from explorer.notebook.widgets.editor import Stage, Writing
    from explorer.sessions.drafts import DraftsState

_SHORT = 200


class DraftList:
    """The drafts of a catalog as the page lists them.

    Methods are called with the widget's lock held, or acquire it.
    """

    def __init__(
        self,
        writing: "Writing",
        show: Callable[[str, Any], None],
        changed: Callable[[], None],
        go_on: "Callable[[StoredDraft, Stage], None]",
    ) -> None:
        """`changed` is called when the drafts were read, and `go_on` opens one in the editor."""
        self._writing, self._show, self._changed, self._go_on = writing, show, changed, go_on
        self._is_told, self._is_listed = True, False

    @property
    def _state(self) -> "DraftsState":
        return self._writing.stored.state

    @property
    def count(self) -> int:
        """Return how many drafts no other running program is editing."""
        return sum(not stored.open for stored in self._state.rows)

    @property
    def urns(self) -> frozenset[str]:
        """Return the URNs of the entities with these drafts."""
        return frozenset(stored.draft.urn for stored in self._state.rows if not stored.open)

    def read(self) -> None:
        """Read the drafts, and show them."""
        self._writing.look(self._read)

    def _read(self) -> None:
        # Texts typed from now on are not announced: their writer knows of them.
        self._is_told = self._is_told and self.count > 0
        self._draw()
        self._changed()

    def answer(self, content: Any) -> None:
        """Handle a request of a page; ignore anything else."""
        match content:
            case {"do": "list"}:
                self._is_listed = True
                self.read()
            case {"do": "hide"}:
                self._hide()
            case {"do": "open", "id": str(name)}:
                self._open(self._find(name), "writing")
            case {"do": "compare", "id": str(name)}:
                self._open(self._find(name), "comparing")
            case {"do": "discard", "id": str(name)}:
                self._discard(self._find(name))
            case {"do": "restore"} if self._state.discarded:
                self._writing.restore()
                self.read()

    def _find(self, name: str) -> StoredDraft:
        stored = next(
            (candidate for candidate in self._state.rows if candidate.file.name == name), None
        )
        if stored is None:
            self.read()
            raise NotFound(GONE)
        return stored

    def _open(self, stored: StoredDraft, stage: "Stage") -> None:
        self._go_on(stored, stage)
        self._hide()
        # The list is read again whether or not the draft could be opened.
        self.read()

    def _discard(self, stored: StoredDraft) -> None:
        def then() -> None:
            message = self._state.message
            self._show("said", message.sentence if message is not None else "")

        self._writing.discard(stored, then)
        self.read()

    def _hide(self) -> None:
        self._is_told = self._is_listed = False
        self._draw()

    def _draw(self) -> None:
        drafts = self._state.rows
        sentence = ""
        if self._is_listed:
            sentence = count_sentence(len(drafts)) if drafts else NO_DRAFTS
        elif self._is_told:
            sentence = f"{unsaved_sentence(self.count)}."
        # A notebook may save this state, so it contains texts only while the list is open.
        rows = [self._row(stored) for stored in drafts] if self._is_listed else []
        self._show(
            "kept",
            {
                "count": self.count,
                "said": sentence,
                "listed": self._is_listed,
                "rows": rows,
                "restores": self._is_listed and bool(self._state.discarded),
            },
        )

    def _row(self, stored: StoredDraft) -> dict[str, Any]:
        name, column = (line(place_word, _SHORT) for place_word in place_words(stored))
        return {
            "id": stored.file.name,
            "urn": stored.draft.urn,
            "name": name,
            "column": column,
            "text": beginning(stored),
            "at": moment(millis_of(stored.at), utc=True),
            "by": line(draft_program(stored, self._writing.process), _SHORT),
            "why_not": OPEN_ELSEWHERE if stored.open else "",
        }
