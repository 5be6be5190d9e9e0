"""The list of drafts, and sentences about drafts."""

from typing import TYPE_CHECKING, Final

from explorer.client.display import counted, line
from explorer.views.table import TIME, Table, TableColumn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from explorer.stewardship.drafts import StoredDraft

NO_DRAFTS: Final = "No drafts: no text waits to be saved."
DISCARDED: Final = "Discarded the draft"


def count_sentence(count: int) -> str:
    """Return the number of drafts, in words, as the heading of their list."""
    return f"{counted(count, 'draft')}, not saved" if count else "No drafts"


def unsaved_sentence(count: int) -> str:
    """Return a sentence, shown when a program starts, on the drafts that it found."""
    texts = counted(count, "text that you typed is", "texts that you typed are")
    return f"{texts} not saved yet"


def place_words(stored: "StoredDraft") -> tuple[str, str]:
    """Return the names of the entity and of the column that a draft describes; the column is empty
    for a draft of the entity itself."""
    draft = stored.draft
    return draft.name or draft.urn, draft.column or draft.path or ""


def draft_program(stored: "StoredDraft", process: int) -> str:
    """Return the program in which a draft was typed; `process` is the ID of this program."""
    program = stored.draft.program or "program"
    if stored.process == process:
        # Whichever program it was begun in.
        return "this program"
    return f"{program} {stored.process}, running" if stored.open else f"{program}, ended"


_BEGINNING: Final = 100


def beginning(stored: "StoredDraft") -> str:
    """Return the beginning of the text of a draft, on one line."""
    return line(stored.draft.text.strip(), _BEGINNING) or "no text"


def drafts_table(drafts: "Sequence[StoredDraft]", process: int) -> Table:
    """Return a row for each draft, in order; `process` is the ID of this program.

    `text` is the whole text; people see only its beginning.
    """
    columns = (
        TableColumn("name", read=lambda draft: place_words(draft)[0], style="bold", detail="urn"),
        TableColumn("column", read=lambda draft: place_words(draft)[1]),
        TableColumn("text", None, lambda draft: draft.draft.text, "programs"),
        TableColumn("beginning", "text", beginning, "people"),
        TableColumn("at", "kept", dtype=TIME),
        TableColumn("typed_in", read=lambda draft: draft_program(draft, process)),
        TableColumn("open_elsewhere", None, lambda draft: draft.open, "programs", dtype="bool"),
        TableColumn("urn", None, lambda draft: draft.draft.urn, "programs"),
        TableColumn("path", None, lambda draft: draft.draft.path, "programs"),
    )
    return Table.from_records(drafts, columns, count_sentence(len(drafts)))
