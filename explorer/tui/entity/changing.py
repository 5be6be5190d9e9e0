"""What can be changed from the page of an entity, and what may be."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import on
from textual.containers import Vertical
from textual.message import Message

from explorer.tui.columns.view import ColumnsView
from explorer.tui.editing.subject import editable
from explorer.tui.inorder import import_first
from explorer.tui.labelling.asking import LabelAsked
from explorer.tui.labelling.choice import Kind
from explorer.tui.session import Session
from explorer.tui.sizing import SizeAware

if TYPE_CHECKING:
    from collections.abc import Callable

    from explorer.client.entity import Entity
    from explorer.tui.labelling.flow import Labelling

__all__ = ["Changing"]


class Changing(Vertical, SizeAware):
    """The page of an entity as far as it writes."""

    @dataclass
    class Edit(Message):
        """A description is to be edited: a column's, or with no `path` the entity's own."""

        entity: "Entity"
        path: str | None

    @dataclass
    class Links(Message):
        """The links to documents are to be shown, and changed."""

        entity: "Entity"

    def __init__(self, session: Session) -> None:
        super().__init__(id="entity")
        self._session = session
        self._entity: Entity | None = None
        self._labelling: Labelling | None = None

    def column_path(self) -> str | None:
        """The column chosen under Columns."""
        raise NotImplementedError

    async def show_changed(self) -> None:
        """Show the entity as it is after a change, what it mentions now by name."""
        raise NotImplementedError

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only what is in the catalog, and has a text of people, can be edited."""
        del parameters
        entity = self._entity
        if action not in ("edit", "links"):
            return True
        if entity is None or not entity.exists:
            return False
        return action == "links" or editable(entity.urn)

    def action_edit(self) -> None:
        """Edit the entity's own description."""
        if self._entity is not None:
            self.post_message(self.Edit(self._entity, None))

    def action_links(self) -> None:
        """Show the links to documents, and change them."""
        if self._entity is not None:
            self.post_message(self.Links(self._entity))

    def action_label(self, kind: Kind) -> None:
        """Choose the tags, terms, owners or the domain of it all."""
        entity = self._entity
        self._label(lambda labelling: labelling.label(kind, entity))

    @on(LabelAsked)
    def _label_column(self, event: LabelAsked) -> None:
        event.stop()
        entity, path = self._entity, self.column_path()
        self._label(lambda labelling: labelling.label(event.kind, entity, path))

    def action_deprecate(self) -> None:
        """Deprecate it, or take that back."""
        entity = self._entity
        self._label(lambda labelling: labelling.deprecate(entity))

    def action_set_aside(self) -> None:
        """Hide it from search and browse, or restore it."""
        entity = self._entity
        self._label(lambda labelling: labelling.set_aside(entity))

    def _label(self, what: "Callable[[Labelling], None]") -> None:
        def go_on() -> None:
            from explorer.tui.labelling.flow import Labelling

            if self._labelling is None:
                self._labelling = Labelling(self, self._session, self.show_changed)
            what(self._labelling)

        reporting = self._session.reporting("opening what changes it")
        import_first(self, "explorer.tui.labelling.flow", go_on, reporting)

    @on(ColumnsView.Edited)
    def _edit_column(self, event: ColumnsView.Edited) -> None:
        event.stop()
        if self._entity is not None:
            self.post_message(self.Edit(self._entity, event.path))
