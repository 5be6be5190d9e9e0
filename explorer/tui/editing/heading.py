"""What stands above a text that is written: what it is of, and how it stands."""

from rich.text import Text

from explorer.tui.content import join, said
from explorer.tui.editing.subject import Target

__all__ = ["heading"]


def heading(target: Target, place: str, draft: str, *, read_only: bool, width: int) -> Text:
    """A line of at most `width` cells: the names, the `place` among the columns, what is to be said
    of the draft."""
    parts = [
        said(target.name),
        said(target.column, "bold"),
        Text(place, "dim"),
        Text(draft, "italic dim"),
    ]
    if read_only:
        parts.append(Text("read only: nothing can be saved", "bold reverse"))
    line = join(parts)
    line.truncate(max(width, 1), overflow="ellipsis")
    return line
