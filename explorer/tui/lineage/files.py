"""Lineage written to a file, in the form its name says."""

import asyncio
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from rich.text import Text

from explorer.tui.content import said
from explorer.tui.session import Session
from explorer.tui.shell.exporting import FileScreen
from explorer.tui.shell.tables import check, put, suggest_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import networkx as nx

__all__ = ["GraphScreen"]

_DRAWN_AT_MOST: Final = 2_000
"""Laying out so many takes a second."""


def _written(graph: "nx.DiGraph", form: str) -> bytes:
    from explorer.graph import export

    forms: Mapping[str, Callable[[nx.DiGraph], str]] = {
        ".mmd": export.to_mermaid,
        ".dot": export.to_dot,
        ".graphml": export.to_graphml,
        ".csv": export.to_csv,
        ".svg": partial(export.to_svg, most_nodes=_DRAWN_AT_MOST, most_edges=_DRAWN_AT_MOST * 5),
    }
    return forms[form](graph).encode(errors="backslashreplace")


class GraphScreen(FileScreen):
    """Writes a graph: all of it that passes the filter, drawn or not. What a picture or a diagram
    leaves out of a large one it says itself."""

    FORMS: ClassVar[tuple[str, ...]] = (".mmd", ".svg", ".dot", ".graphml", ".csv")

    def __init__(self, session: Session, name: str, graph: "nx.DiGraph") -> None:
        offered = Path(suggest_name(f"{name}-lineage")).with_suffix(".mmd")
        super().__init__(session, str(offered))
        self._called = name
        self._graph = graph

    def about(self) -> Text:
        """How much is written."""
        return Text.assemble(
            said(f"Lineage of {self._called}", "bold"), f", {len(self._graph):,} in all"
        )

    async def write_to(self, path: Path, *, replace: bool) -> str:
        """Write it, beside the thread of the screen."""
        await asyncio.to_thread(partial(check, path, replace=replace))
        self.tell("writing …")
        data = await asyncio.to_thread(_written, self._graph, path.suffix.lower())
        where = await asyncio.to_thread(partial(put, path, data, replace=replace))
        return f"Wrote {len(self._graph):,} of the lineage of {self._called} to {where}"
