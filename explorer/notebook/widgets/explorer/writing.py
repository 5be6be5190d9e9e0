"""The editor of an explorer: which text is written, and what becomes of it."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from explorer.client import TextConflict
from explorer.metadata.urn import Urn
from explorer.notebook.widgets.explorer.asking import Asking
from explorer.notebook.widgets.explorer.editing import Draft, Stage, begun, hindrance
from explorer.notebook.widgets.explorer.marked import marked

if TYPE_CHECKING:
    from explorer.client.entity import Entity
    from explorer.notebook.catalog import Catalog

__all__ = ["Writing"]

_Place = tuple[str, str | None]


class _Left(Protocol):
    def __call__(self, *, saved: bool) -> None: ...


class Writing:
    """The drafts, one of which may be open. They are kept until they are saved or given up.

    Called with the lock of the explorer held, or taking it.
    """

    def __init__(
        self,
        catalog: "Catalog",
        asking: Asking,
        show: Callable[[str, Any], None],
        left: _Left,
    ) -> None:
        self.drafts: dict[_Place, Draft] = {}
        self._catalog, self._asking, self._show, self._left = catalog, asking, show, left
        self._open: _Place | None = None

    @property
    def draft(self) -> Draft | None:
        """The draft that is open."""
        return self.drafts.get(self._open) if self._open else None

    def go_on_with(self, drafts: Mapping[_Place, Draft]) -> None:
        """Take over drafts. One that is being saved elsewhere may fail there, and can then be saved
        from here."""
        for draft in drafts.values():
            self._keep(draft.at("writing") if draft.stage in ("comparing", "saving") else draft)

    def hindrance(self, urn: Urn) -> str:
        """Why the description of an entity cannot be written; "" where it can."""
        return hindrance(urn, read_only=self._catalog.read_only)

    def places(self, urn: str) -> list[str | None]:
        """Where on an entity's page drafts are kept: paths of columns, None for its own text."""
        return [path for (held, path), one in self.drafts.items() if held == urn and one.changed]

    def begin(self, entity: "Entity", path: str | None) -> None:
        """Open the editor, with the draft that is kept of that text."""
        why_not = self.hindrance(entity.urn)
        if why_not:
            self._show("problem", why_not)
            return
        place = (str(entity.urn), path)
        held = self.drafts.get(place)
        self._keep(held if held is not None and held.changed else begun(entity, path))
        self._open = place
        self._draw()
        self._preview()

    def type(self, urn: str, path: str | None, text: str) -> None:
        """The text as it is on the page now."""
        draft = self.drafts.get((urn, path))
        if draft is None or draft.stage == "saving":
            return
        self._keep(draft.typed(text))
        if self._open == (urn, path):
            self._preview()

    def compare(self) -> None:
        """Show what saving would change."""
        self._stage("comparing")

    def go_on(self) -> None:
        """Back to the text."""
        self._stage("writing")

    def save(self) -> None:
        """Store the draft that was compared."""
        draft = self.draft
        if draft is not None and draft.stage == "comparing":
            self._store(draft.at("saving"))

    def take_mine(self) -> None:
        """Store the draft in the place of what somebody else wrote meanwhile."""
        draft = self.draft
        if draft is not None and draft.stage == "conflict":
            self._store(draft.with_mine())

    def take_theirs(self) -> None:
        """Leave what somebody else wrote, and go on from it."""
        draft = self.draft
        if draft is not None and draft.stage == "conflict":
            self._keep(draft.with_theirs())
            self._draw()
            self._preview()

    def leave(self) -> None:
        """Close the editor; what was typed is kept."""
        self.close()
        self._left(saved=False)

    def give_up(self) -> None:
        """Close the editor, and forget what was typed."""
        if self._open is not None:
            self.drafts.pop(self._open, None)
        self.leave()

    def close(self) -> None:
        """Close the editor without a word; a draft that holds nothing new is forgotten."""
        draft, self._open = self.draft, None
        if draft is not None and not draft.changed:
            self.drafts.pop((draft.urn, draft.path), None)
        elif draft is not None and draft.stage == "comparing":
            self._keep(draft.at("writing"))
        self._show("editor", {})

    def _stage(self, stage: Stage) -> None:
        draft = self.draft
        if draft is not None and draft.stage != "saving":
            self._keep(draft.at(stage))
            self._draw()

    def _store(self, draft: Draft) -> None:
        self._keep(draft)
        self._draw()

        def then(_: object) -> None:
            self.drafts.pop((draft.urn, draft.path), None)
            if self._open == (draft.urn, draft.path):
                self.close()
            self._show("said", f"Saved the description of {draft.title}.")
            self._left(saved=True)

        def failed(error: Exception) -> bool:
            conflict = isinstance(error, TextConflict)
            theirs = error.theirs if isinstance(error, TextConflict) else ""
            self._keep(draft.facing(theirs) if conflict else draft.at("comparing"))
            if self._open == (draft.urn, draft.path):
                self._draw()
            return conflict

        self._asking.ask(
            "save",
            "saving …",
            lambda catalog: catalog.describe(
                draft.urn, draft.text, column=draft.path, instead_of=draft.base
            ),
            then,
            failed=failed,
            in_turn=True,
        )

    def _keep(self, draft: Draft) -> None:
        self.drafts[draft.urn, draft.path] = draft

    def _draw(self) -> None:
        draft = self.draft
        self._show("editor", draft.told() if draft is not None else {})

    def _preview(self) -> None:
        draft = self.draft
        if draft is None:
            return
        text = draft.text
        self._asking.ask(
            "preview", "", lambda _: marked(text), lambda made: self._show("preview", made)
        )
