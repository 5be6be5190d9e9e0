"""What an entity is related to: owners, links, and every other edge, each showing itself."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from explorer.client.records import Edge, Edges
from explorer.metadata.aspects import Link, Owner
from explorer.metadata.names import ownership
from explorer.metadata.urn import Urn
from explorer.notebook.tabular import tabulated
from explorer.notebook.view import Cell, Grid, Part, Say, Table, Title

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Links", "Owners", "Relationships", "role_of"]

_MOST_ROWS = 60


class Owners(Table, tuple[Owner, ...]):
    """Who answers for an entity, as written."""

    names: Mapping[Urn, str]

    def __new__(cls, owners: Iterable[Owner] = (), names: Mapping[Urn, str] | None = None) -> Self:
        """The owners, with what people call them."""
        made = super().__new__(cls, owners)
        made.names = names or {}
        return made

    @property
    def called(self) -> tuple[str, ...]:
        """Each owner's name and role, in order."""
        return tuple(f"{name.text} ({role.text})" for name, _, role in map(self._row, self))

    def to_frame(self) -> "pd.DataFrame":
        """A row for each owner; see `explorer.frames.owners_frame`."""
        from explorer import frames

        return frames.owners_frame(self, self.names)

    def parts(self) -> Iterator[Part]:
        """What it shows of itself, from top to bottom."""
        yield Title("Owners", f"{len(self):,}" if self else "nobody")
        if self:
            yield Grid(("owner", "kind", "role"), [self._row(owner) for owner in self])

    def _row(self, owner: Owner) -> tuple[Cell, Cell, Cell]:
        urn = next(iter(Urn.parse_all([owner.owner])), None)
        role = role_of(owner)
        if urn is None:
            return Cell(owner.owner), Cell(""), Cell(role)
        kind = {"corpuser": "person", "corpGroup": "group"}.get(urn.entity_type, urn.entity_type)
        name = self.names.get(urn) or urn.name
        return Cell(name, detail=str(urn), tone="loud"), Cell(kind), Cell(role)


class Links(Table, tuple[Link, ...]):
    """The documentation links of an entity."""

    def to_frame(self) -> "pd.DataFrame":
        """A row for each link: `url`, `description`, and `actor`, who added it. No request."""
        rows = [(one.url, one.description or None, one.create_stamp.actor) for one in self]
        return tabulated(rows, dict.fromkeys(("url", "description", "actor"), "string"))

    def parts(self) -> Iterator[Part]:
        """What it shows of itself, from top to bottom."""
        yield Title("Links", f"{len(self):,}" if self else "none")
        if self:
            yield Grid(("link",), [[Cell(link.description, link=link.url)] for link in self])


@dataclass(frozen=True, slots=True, repr=False)
class Relationships(Table):
    """The edges of an entity, in the directions that were asked for."""

    edges: tuple[Edges, ...]
    names: Mapping[Urn, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return sum(len(group.edges) for group in self.edges)

    def __iter__(self) -> Iterator[Edge]:
        return (edge for group in self.edges for edge in group.edges)

    @property
    def total(self) -> int:
        """How many there are, which may be more than the server gave."""
        return sum(group.total for group in self.edges)

    def to_frame(self) -> "pd.DataFrame":
        """A row for each edge; see `explorer.frames.edges_frame`."""
        from explorer import frames

        return frames.edges_frame(self.edges, self.names)

    def parts(self) -> Iterator[Part]:
        """What it shows of itself, from top to bottom."""
        count = f"{len(self):,}" if len(self) == self.total else f"{len(self):,} of {self.total:,}"
        yield Title("Relationships", count if self.total else "none")
        rows = [self._row(group, edge) for group in self.edges for edge in group.edges]
        if rows:
            headers = ("", "relationship", "name", "type", "platform")
            yield Grid(headers, rows[:_MOST_ROWS])
        if len(rows) > _MOST_ROWS:
            yield Say(f"{_MOST_ROWS} of {len(rows):,} rows drawn; .to_frame() has them all")

    def _row(self, group: Edges, edge: Edge) -> tuple[Cell, ...]:
        urn = edge.urn
        return (
            Cell("→" if group.direction == "OUTGOING" else "←"),
            Cell(edge.relationship),
            Cell(self.names.get(urn) or urn.name, detail=str(urn), tone="loud"),
            Cell(urn.entity_type),
            Cell(urn.platform or ""),
        )


def role_of(owner: Owner) -> str:
    """What an owner is called by the kind of ownership, in words: `data owner`."""
    return ownership(owner.type)
