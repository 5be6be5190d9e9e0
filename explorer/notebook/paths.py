"""The ways from one entity to another, showing themselves."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from explorer.metadata.urn import Urn
from explorer.notebook.progress import during
from explorer.notebook.tabular import tabulated
from explorer.notebook.view import Cell, Grid, Part, Say, Table, Title

if TYPE_CHECKING:
    import pandas as pd

    from explorer import graph
    from explorer.notebook.catalog import Catalog

__all__ = ["Paths"]

_MOST_WAYS = 20
_FRAME = {"way": "int64", "step": "int64"} | dict.fromkeys(
    ("urn", "name", "type", "platform", "relationship"), "string"
)


@dataclass(frozen=True, repr=False)
class Paths(Table):
    """All shortest ways between two entities: iterable, each the URNs along it."""

    found: "graph.Paths"
    names: Mapping[Urn, str] = field(default_factory=dict)

    @classmethod
    def read(cls, catalog: "Catalog", source: Urn, target: str | Urn) -> "Paths":
        """Ask for them; see `Entity.paths_to`."""
        from explorer.graph import find_paths

        end = Urn.parse(target)
        found = during(catalog, lambda _: find_paths(catalog.core, source, end), "looking for ways")
        met = dict.fromkeys((str(source), str(end), *(urn for way in found.ways for urn in way)))
        summaries = catalog.summaries(Urn.parse_all(met))
        return cls(found, {urn: one.name for urn, one in summaries.items()})

    def __len__(self) -> int:
        return len(self.found)

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return iter(self.found.ways)

    def to_frame(self) -> "pd.DataFrame":
        """A row for each step of each way, the source being step 0. No request.

        way, step                   int64
        urn, name, type, platform   string
        relationship                string   why the step before leads here
        """
        rows = []
        for at, way in enumerate(self.found.ways):
            reasons = ("", *(self.found.joined_by[at] if self.found.joined_by else ()))
            for step, urn in enumerate(Urn.parse_all(way)):
                reason = reasons[step] if step < len(reasons) else ""
                named = (str(urn), self._called(urn), urn.entity_type, urn.platform)
                rows.append((at, step, *named, reason or None))
        return tabulated(rows, _FRAME)

    def parts(self) -> Iterator[Part]:
        """What it shows of itself, from top to bottom."""
        source, target = Urn.parse(self.found.source), Urn.parse(self.found.target)
        title = f"From {self._called(source)} to {self._called(target)}"
        if not len(self):
            yield Title(title, "no way along lineage")
        else:
            hops = self.found.hops or 0
            ways = f"{len(self):,} {'way' if len(self) == 1 else 'ways'} {self.found.direction}"
            yield Title(title, f"{ways}, {hops} {'hop' if hops == 1 else 'hops'}")
            # Data flows from left to right in every drawing.
            upstream = self.found.direction == "upstream"
            rows = []
            for way in self.found.ways[:_MOST_WAYS]:
                steps = [self._called(urn) for urn in Urn.parse_all(way)]
                rows.append([Cell((" ← " if upstream else " → ").join(steps))])
            yield Grid(("way",), rows)
            if len(self) > _MOST_WAYS:
                yield Say(f"{_MOST_WAYS} of {len(self):,} drawn; .to_frame() has them all")
        if self.found.truncated:
            yield Say(f"incomplete: {self.found.truncated}", "loud")

    def _called(self, urn: Urn) -> str:
        return self.names.get(urn) or urn.name
