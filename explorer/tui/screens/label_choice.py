"""Messages that ask for a choice of labels, and the drawing of a change of labels."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.text import Text
from textual.message import Message

from explorer.metadata.urn import Urn
from explorer.tui.content import line_text

if TYPE_CHECKING:
    from explorer.sessions.labels import LabelChoice, LabelKind, NameOf
    from explorer.stewardship.labels import LabelledKind
    from explorer.stewardship.worklist import Key

TERM_PREFIX: Final = "urn:li:glossaryTerm:"


@dataclass
class LabelsRequested(Message):
    """Asks to change the labels of the column under the cursor."""

    kind: "LabelKind"


@dataclass
class BulkLabelsRequested(Message):
    """Asks to change the marked items through a reviewed changeset: labels, deprecation or links of
    entities, or labels of columns at their exact paths. `subject` names all items in messages."""

    what: "LabelledKind"
    keys: "tuple[Key, ...]"
    subject: str


def draw_change(choice: "LabelChoice", name_of: "NameOf" = Urn.label) -> Text:
    """Return the labels that would be added and removed: `+ PII  − Legacy`."""
    from explorer.sessions.labels import describe_label

    text = Text()
    for sign, labels in (("+", choice.added), ("−", choice.removed)):
        for label in labels:
            words = line_text(f"{sign} {describe_label(label, name_of)}", "bold")
            text.append("  " if text.plain else "").append_text(words)
            if label in choice.new:
                text.append(" (new)", "italic")
    return text
