"""The rows of the table of columns, and the keys that work on them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

from textual.binding import BindingType
from textual.message import Message

from explorer.tui.actions import bindings
from explorer.tui.labelling.asking import LabelAsked
from explorer.tui.labelling.choice import Kind
from explorer.tui.rows import Rows

__all__ = ["ColumnRows", "What"]

What = Literal["edit", "next", "fold", "fold all", "order", "filter", "unfilter", "mark"]


class ColumnRows(Rows):
    """The rows of the table."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("schema")

    @dataclass
    class Asked(Message):
        """A key asked for something that the view around the table does."""

        what: What

    def __init__(self, moved: Callable[[], None], narrowed: Callable[[], bool]) -> None:
        super().__init__()
        self._moved = moved
        self._narrowed = narrowed

    def tell_moved(self) -> None:
        """Tell at once: row and detail are painted together."""
        self._moved()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only a filter that is there can be taken off."""
        if action == "unfilter":
            return self._narrowed()
        return super().check_action(action, parameters)

    def action_choose(self) -> None:
        """A click on the row under the cursor edits it."""
        self.action_edit_column()

    def action_edit_column(self) -> None:
        """Edit the column under the cursor."""
        self.post_message(self.Asked("edit"))

    def action_next_undocumented(self) -> None:
        """To the next column without a description."""
        self.post_message(self.Asked("next"))

    def action_label(self, kind: Kind) -> None:
        """Choose the tags or terms of the column under the cursor."""
        self.post_message(LabelAsked(kind))

    def action_fold(self) -> None:
        """Expand or collapse the record under the cursor."""
        self.post_message(self.Asked("fold"))

    def action_fold_all(self) -> None:
        """Fold every record, or unfold all."""
        self.post_message(self.Asked("fold all"))

    def action_order(self) -> None:
        """Most used first, or as in the schema."""
        self.post_message(self.Asked("order"))

    def action_mark(self) -> None:
        """Mark the column under the cursor, or take its mark off."""
        self.post_message(self.Asked("mark"))

    def action_filter(self) -> None:
        """Type what narrows the columns."""
        self.post_message(self.Asked("filter"))

    def action_unfilter(self) -> None:
        """All columns again."""
        self.post_message(self.Asked("unfilter"))
