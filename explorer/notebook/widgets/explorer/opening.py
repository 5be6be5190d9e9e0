"""Opening an explorer: a cell that is run again goes on with the one it showed before."""

from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from explorer.notebook.widgets.explorer.widget import Explorer

if TYPE_CHECKING:
    from explorer.metadata.urn import Urn
    from explorer.notebook.catalog import Catalog

__all__ = ["explore"]

_by_cell: "WeakValueDictionary[str, Explorer]" = WeakValueDictionary()


def explore(
    catalog: "Catalog",
    text: str = "",
    *,
    narrowed_by: str = "",
    urn: "str | Urn | None" = None,
) -> Explorer:
    """An explorer of a catalog.

    Where the front end says which cell runs, the explorer that the cell made before is closed, and
    this one takes over its drafts, and its search and entity unless others are asked for.
    """
    cell = _cell()
    before = _by_cell.get(cell) if cell else None
    made = Explorer(catalog, text, narrowed_by=narrowed_by, urn=urn, instead_of=before)
    if cell:
        _by_cell[cell] = made
    return made


def _cell() -> str:
    """Which cell runs, in which notebook; "" where that is not said."""
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    ask = getattr(shell, "get_parent", None)
    parent = ask() if callable(ask) else None
    metadata = parent.get("metadata") if isinstance(parent, dict) else None
    found = metadata.get("cellId") if isinstance(metadata, dict) else None
    return found if isinstance(found, str) else ""
