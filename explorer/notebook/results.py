"""A page of search results that shows itself."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from explorer.client.entity import Entity
from explorer.client.records import Facet, Hit, SearchPage
from explorer.metadata.urn import Urn
from explorer.notebook.view import Cell, Fold, Grid, Part, Say, Shown, Title

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["EDITED", "Results"]

EDITED = "✎"
"""Stands before every text that people wrote over what ingestion says."""

_MOST_ROWS = 60
_MOST_VALUES = 6
# Names that a machine made up tell a reader nothing.
_OPAQUE = re.compile(r"[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@dataclass(frozen=True, slots=True, repr=False)
class Results(Shown, SearchPage):
    """A page of a search, best first: iterable, with `total` over the whole result.

    `summaries` holds what is known of each hit, by URN.
    """

    summaries: Mapping[Urn, Entity] = field(default_factory=dict)

    @property
    def urns(self) -> tuple[Urn, ...]:
        """The URNs of the hits, in order."""
        return tuple(hit.urn for hit in self.hits)

    def to_frame(self) -> "pd.DataFrame":
        """A row for each hit on this page; see `explorer.frames.search_frame`."""
        from explorer import frames

        return frames.search_frame(self, self.summaries)

    def parts(self) -> Iterator[Part]:
        """What it shows of itself, from top to bottom."""
        yield Title(f"«{self.text}»" if self.text not in ("", "*") else "everything", self._count())
        if not self.hits:
            return
        shown = self.hits[:_MOST_ROWS]
        headers = ("name", "type", "platform", "description", "matched")
        yield Grid(headers, [self._row(hit) for hit in shown])
        if len(shown) < len(self.hits):
            yield Say(f"{len(shown)} of {len(self.hits):,} rows drawn; .to_frame() has them all")
        narrowing = [line for line in map(_facet, self.facets) if line]
        if narrowing:
            yield Fold("narrow by", [Say(line) for line in narrowing])

    def _count(self) -> str:
        if not self.total:
            return "nothing found"
        if self.truncated or self.start:
            return f"{len(self)} of {self.total:,}" + (
                f", after the first {self.start:,}" if self.start else ""
            )
        return f"{self.total:,} found"

    def _row(self, hit: Hit) -> tuple[Cell, ...]:
        entity = self.summaries.get(hit.urn) or Entity(hit.urn, {})
        text = entity.description.strip()
        first = text.splitlines()[0] if text else ""
        mark = EDITED if entity.edited_description else ""
        gone = entity.deprecation is not None
        return (
            Cell(entity.name, detail=str(hit.urn), tone="loud", mark="deprecated:" if gone else ""),
            Cell(entity.kind),
            Cell(entity.platform or ""),
            Cell(first, mark) if first else Cell("no description", tone="quiet"),
            Cell(", ".join(dict.fromkeys(match.field for match in hit.matched)), tone="quiet"),
        )


def _facet(facet: Facet) -> str:
    values = [value for value in facet.values if not _OPAQUE.fullmatch(value.label)]
    shown = [f"{value.label} {value.count:,}" for value in values[:_MOST_VALUES]]
    if not shown:
        return ""
    more = len(values) - len(shown)
    tail = f" · and {more} more" if more else ""
    return f"{facet.label}: {' · '.join(shown)}{tail}"
