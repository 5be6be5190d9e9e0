"""Lineage written to a file, in the form its name says."""

from pathlib import Path
from typing import TYPE_CHECKING

from explorer.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Callable

    import networkx as nx

__all__ = ["FORMS", "suggest_name", "write_graph"]

FORMS: dict[str, str] = {
    ".mmd": "to_mermaid",
    ".dot": "to_dot",
    ".graphml": "to_graphml",
    ".csv": "to_csv",
}
"""How a file's name ends, and what writes it."""


def suggest_name(name: str) -> str:
    """A file's name for the lineage of something, that any file system takes."""
    plain = "".join(char if char.isalnum() or char in "-_." else "-" for char in name)
    return f"{plain[:80] or 'it'}-lineage.mmd"


def write_graph(graph: "nx.DiGraph", name: str, *, replace: bool = False) -> Path:
    """Write a graph to a file; gives where it is.

    Raises `InvalidInput` for a name whose end is none of `FORMS`, for a file that is there already
    unless it may be replaced, and for one that cannot be written.
    """
    from explorer.graph import export

    path = Path(name.strip()).expanduser()
    form = FORMS.get(path.suffix.lower())
    if form is None:
        raise InvalidInput(f"a file's name ends in one of {', '.join(FORMS)}, not as {name!r}")
    to_text: Callable[[nx.DiGraph], str] = getattr(export, form)
    try:
        with path.open("w" if replace else "x", encoding="utf-8", newline="") as file:
            file.write(to_text(graph))
    except FileExistsError:
        raise InvalidInput(f"{path} is there already; ⏎ again replaces it") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidInput(f"{path} cannot be written: {reason}") from None
    return path.resolve()
