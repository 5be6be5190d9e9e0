"""What a page says when labels are asked for below it."""

from dataclasses import dataclass

from textual.message import Message

from explorer.tui.labelling.choice import Kind

__all__ = ["LabelAsked"]


@dataclass
class LabelAsked(Message):
    """The labels of the column under the cursor are to be changed."""

    kind: Kind
