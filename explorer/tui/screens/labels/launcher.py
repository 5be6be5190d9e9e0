"""Opens the dialogs that change an entity's labels, deprecation and visibility."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from textual.widget import Widget

from explorer.metadata.names import singular
from explorer.tui.content import line
from explorer.tui.key_queue import start_worker
from explorer.tui.screens.labels.choice import (
    LabelChoice,
    LabelKind,
    LabelTarget,
    describe_change,
    labels_of,
)
from explorer.tui.screens.labels.lifecycle import (
    DeprecationFields,
    DeprecationOutcome,
    DeprecationScreen,
    HideScreen,
)
from explorer.tui.screens.labels.picker import FOUND, NOUNS, PickerScreen, is_offered
from explorer.tui.session import TerminalSession

if TYPE_CHECKING:
    from explorer.client.entity import Entity
    from explorer.client.records import Edit

__all__ = ["LabelLauncher"]


class LabelLauncher:
    """Opens the dialogs of a page. `refresh` reads its entity again and shows it."""

    def __init__(
        self,
        page: Widget,
        session: TerminalSession,
        refresh: Callable[[], Awaitable[object]],
    ) -> None:
        self._page = page
        self._session = session
        self._refresh = refresh

    def label(self, kind: LabelKind, entity: "Entity | None", path: str | None = None) -> None:
        """Choose tags, terms, owners or the domain of an entity, or of its column at `path`."""
        if entity is None or self._refuses(entity):
            return
        if not is_offered(entity.entity_type, kind):
            word, (_, several) = singular(entity.entity_type), FOUND[kind]
            several = "owners" if kind == "owners" else several
            self._session.say(f"No {word} has {several}.", error=True)
            return
        place = LabelTarget.of(entity, path)
        screen = PickerScreen(self._session, place, kind, labels_of(entity, kind, path))

        def left(edits: "tuple[Edit, ...] | None") -> None:
            if edits:
                self._after(_edits_message(place, kind, edits, screen.name_of))

        self._page.app.push_screen(screen, left)

    def deprecate(self, entity: "Entity | None") -> None:
        """Deprecate an entity, or change or remove its deprecation."""
        if entity is None or self._refuses(entity):
            return
        place = LabelTarget.of(entity, None)

        def left(outcome: DeprecationOutcome | None) -> None:
            if outcome not in (None, "nothing"):
                what = "is deprecated" if outcome == "deprecated" else "is no longer deprecated"
                self._after(f"{line(place.name)} {what}. U undoes it.")

        screen = DeprecationScreen(self._session, place, DeprecationFields.of(entity))
        self._page.app.push_screen(screen, left)

    def set_aside(self, entity: "Entity | None") -> None:
        """Hide an entity, or restore a hidden one."""
        if entity is None or self._refuses(entity):
            return
        place = LabelTarget.of(entity, None)

        hides = not entity.removed

        def left(done: bool | None) -> None:
            if done:
                hidden = "is hidden from search and browse; ^x restores it"
                what = hidden if hides else "is shown in search and browse again"
                self._after(f"{line(place.name)} {what}. U undoes it.")

        screen = HideScreen(self._session, place, hides=hides)
        self._page.app.push_screen(screen, left)

    def _refuses(self, entity: "Entity") -> bool:
        if self._session.refuses_to_write():
            return True
        if not entity.exists:
            self._session.say(
                "Nothing can be written: the entity is not in the catalog, only referenced in it.",
                error=True,
            )
            return True
        return False

    def _after(self, sentence: str) -> None:
        start_worker(self._page, partial(self._show_again, sentence), group="labelled")

    async def _show_again(self, sentence: str) -> None:
        await self._refresh()
        self._session.say(sentence)


def _edits_message(
    place: LabelTarget, kind: LabelKind, edits: "tuple[Edit, ...]", name_of: Callable[[str], str]
) -> str:
    """Return a sentence on what was written."""
    first, last = edits[0].before, edits[-1].after
    before = first if isinstance(first, tuple) else ()
    choice = LabelChoice(before)
    choice.wanted = list(last) if isinstance(last, tuple) else []
    change = describe_change(choice, name_of).plain or "nothing to change"
    noun = NOUNS[kind][1].capitalize()
    return f"{noun} of {line(place.full_name)}: {change}. U undoes it."
