"""What an import left undone, as a CSV file that can be mended and imported again."""

import csv
import io
from collections.abc import Iterable
from typing import Final

from explorer.stewardship.changeset import Change
from explorer.stewardship.documentation import CLEAR
from explorer.stewardship.files.commas import defused
from explorer.stewardship.files.sheet import HEADER, cells_of

__all__ = ["write_report"]

_BEFORE: Final = ("place", "kind", "why", "theirs")
_EDITED: Final = HEADER.index("edited")


def write_report(changes: Iterable[Change]) -> bytes:
    """A line for each change: its place in the imported file, its kind, why it was left, what the
    catalog holds, and then everything that the line said, under the names it had there."""
    held = io.StringIO(newline="")
    writer = csv.writer(held)
    writer.writerow((*_BEFORE, *HEADER))
    for change in changes:
        entry = change.entry
        cells = list(cells_of(entry.row))
        if entry.clears:
            cells[_EDITED] = CLEAR
        told = (entry.place, change.kind, change.why or "", change.theirs or "")
        writer.writerow(map(defused, (*told, *cells)))
    return held.getvalue().encode("utf-8-sig")
