"""From a key on the page of an entity to a change of its labels or its life, and back."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from rich.text import Text
from textual.widget import Widget

from explorer.metadata.words import singular
from explorer.tui.content import line, said
from explorer.tui.inorder import LEADING
from explorer.tui.labelling.aside import AsideScreen
from explorer.tui.labelling.choice import Choice, Kind
from explorer.tui.labelling.deprecating import Deprecated, DeprecationScreen, Outcome
from explorer.tui.labelling.offers import FOUND, NOUNS, is_offered
from explorer.tui.labelling.picker import PickerScreen
from explorer.tui.labelling.place import Place, choice_of
from explorer.tui.labelling.question import QuestionScreen
from explorer.tui.labelling.takingback import Changes
from explorer.tui.labelling.told import tell_change, tell_taking_back
from explorer.tui.session import Session
from explorer.tui.times import Times

if TYPE_CHECKING:
    from explorer.client.entity import Entity
    from explorer.client.journal import JournalEntry
    from explorer.client.records import Edit

__all__ = ["Labelling"]


class Labelling:
    """What a page offers to change, and to take back of `changes`. `refresh` reads its entity again
    and shows it."""

    def __init__(
        self,
        page: Widget,
        session: Session,
        changes: Changes,
        refresh: Callable[[], Awaitable[object]],
    ) -> None:
        self._page = page
        self._session = session
        self._refresh = refresh
        self._changes = changes

    def label(self, kind: Kind, entity: "Entity | None", path: str | None = None) -> None:
        """Choose tags, terms, owners or the domain of an entity, or of its column at `path`."""
        if entity is None or self._refuses(entity):
            return
        if not is_offered(entity.entity_type, kind):
            word, (_, several) = singular(entity.entity_type), FOUND[kind]
            several = "owners" if kind == "owners" else several
            self._session.say(f"No {word} has {several}.", error=True)
            return
        place = Place.of(entity, path)
        screen = PickerScreen(self._session, place, kind, choice_of(entity, kind, path))

        def left(edits: "tuple[Edit, ...] | None") -> None:
            if edits:
                self._after(_told_edits(place, kind, edits, screen.name_of))

        self._page.app.push_screen(screen, left)

    def deprecate(self, entity: "Entity | None") -> None:
        """Deprecate an entity, or change or take back what is said of it."""
        if entity is None or self._refuses(entity):
            return
        place = Place.of(entity, None)

        def left(outcome: Outcome | None) -> None:
            if outcome not in (None, "nothing"):
                what = "is deprecated" if outcome == "deprecated" else "may be used again"
                self._after(f"{line(place.name)} {what}. U takes it back.")

        screen = DeprecationScreen(self._session, place, Deprecated.of(entity))
        self._page.app.push_screen(screen, left)

    def set_aside(self, entity: "Entity | None") -> None:
        """Hide an entity, or restore a hidden one."""
        if entity is None or self._refuses(entity):
            return
        place = Place.of(entity, None)

        hides = not entity.removed

        def left(done: bool | None) -> None:
            if done:
                hidden = "is hidden from search and browse; ^x restores it"
                what = hidden if hides else "is found by search and browse again"
                self._after(f"{line(place.name)} {what}.")

        screen = AsideScreen(self._session, place, hides=hides)
        self._page.app.push_screen(screen, left)

    def take_back(self, entity: "Entity | None") -> None:
        """Take the last change of an entity back, after it is said which and what that does."""
        if entity is not None and not self._refuses(entity):
            self._page.run_worker(self._find_last(entity), LEADING, "take-back", exclusive=True)

    def _refuses(self, entity: "Entity") -> bool:
        if self._session.refuses_to_write():
            return True
        if not entity.exists:
            self._session.say(
                "It is not in the catalog, only named by others: nothing can be written to it.",
                error=True,
            )
            return True
        return False

    async def _find_last(self, entity: "Entity") -> None:
        with self._session.reporting("looking for the last change"):
            entry = await self._changes.last(entity.urn)
            if entry is None:
                name = line(entity.name)
                self._session.say(f"Nothing of {name} was changed since the terminal was started.")
                return
            question = _told_entry(Place.of(entity, entry.column), entry, self._session.times)

            def answered(takes_back: bool | None) -> None:
                if takes_back:
                    work = self._take_back(entry)
                    self._page.run_worker(work, group="take-back", exclusive=True)

            self._page.app.push_screen(QuestionScreen(question), answered)

    async def _take_back(self, entry: "JournalEntry") -> None:
        with self._session.reporting("taking the change back"):
            await self._changes.take_back(entry)
            await self._refresh()
            self._session.say(f"Taken back: the change of the {entry.what}.")

    def _after(self, sentence: str) -> None:
        self._page.run_worker(self._show_again(sentence), group="labelled")

    async def _show_again(self, sentence: str) -> None:
        await self._refresh()
        self._session.say(sentence)


def _told_edits(
    place: Place, kind: Kind, edits: "tuple[Edit, ...]", name_of: Callable[[str], str]
) -> str:
    """One sentence of what was written."""
    first, last = edits[0].before, edits[-1].after
    there = first if isinstance(first, tuple) else ()
    choice = Choice(there)
    choice.wanted = list(last) if isinstance(last, tuple) else []
    change = tell_change(choice, name_of).plain or "nothing was to be done"
    noun = NOUNS[kind][1].capitalize()
    return f"{noun} of {line(place.called)}: {change}. U takes it back."


def _told_entry(place: Place, entry: "JournalEntry", times: Times) -> Text:
    text = Text.assemble(
        ("Take the last change back?\n", "bold"),
        f"{entry.what} of ",
        said(place.called),
        (f", changed {times.said(round(entry.at.timestamp() * 1000))}\n", "dim"),
    )
    return text.append_text(tell_taking_back(entry.edit))
