"""One entity that shows itself and can be asked for more."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from explorer.client import entity as read
from explorer.client.records import Direction
from explorer.metadata.urn import Urn
from explorer.notebook.related import Links, Owners, Relationships
from explorer.notebook.results import EDITED
from explorer.notebook.schema import Schema
from explorer.notebook.series import Profile, Usage, Window
from explorer.notebook.view import Cell, Facts, Part, Prose, Say, Shown, Title

if TYPE_CHECKING:
    from explorer.notebook.catalog import Catalog

__all__ = ["Entity"]

_BOTH: tuple[Direction, ...] = ("OUTGOING", "INCOMING")


@dataclass(frozen=True, repr=False)
class Entity(Shown, read.Entity):
    """An entity as it was read, with the catalog it came from.

    It does not change: `describe` and `reload` give the entity as it is afterwards. `names` holds
    what people call the owners, tags, terms and domains it names.
    """

    catalog: "Catalog" = field(compare=False, kw_only=True)
    names: Mapping[Urn, str] = field(default_factory=dict, compare=False, kw_only=True)

    @cached_property
    def schema(self) -> Schema:
        """Its columns; empty where it has none."""
        held = super().schema
        return Schema(held.name, held.columns, held.orphans)

    @property
    def owners(self) -> Owners:
        """Who answers for it."""
        return Owners(super().owners, self.names)

    @property
    def links(self) -> Links:
        """Its documentation links."""
        return Links(super().links)

    def relationships(
        self, direction: Direction | None = None, types: Sequence[str] | None = None
    ) -> Relationships:
        """Its edges, in one direction or both: those it declares (OUTGOING) and those that lead to
        it (INCOMING), of the relationships named or of all. One request a direction, and one for
        each hundred names."""
        asked = _BOTH if direction is None else (direction,)
        edges = tuple(self.catalog.relationships(self.urn, one, types) for one in asked)
        others = dict.fromkeys(edge.urn for group in edges for edge in group.edges)
        found = self.catalog.summaries(others)
        return Relationships(edges, {urn: entity.name for urn, entity in found.items()})

    def usage(self, days: int | None = 30) -> Usage:
        """How it was used in the last `days`, or ever. One request; one more to find the newest
        where there is nothing in that time."""
        return Usage(self.name, self._window("datasetUsageStatistics", days))

    def profile(self, days: int | None = 30) -> Profile:
        """What profiling measured in the last `days`, or ever. Costs what `usage` costs."""
        return Profile(self.name, self._window("datasetProfile", days))

    def describe(self, text: str, column: str | None = None) -> "Entity":
        """Write its description, or that of the column of that exact path, and read it again.

        The text is markdown; what ingestion says stays beside it. Raises `NotFound` or
        `InvalidInput` where there is no such entity or column. Three requests.
        """
        self.catalog.describe(self.urn, text, column=column)
        return self.reload()

    def reload(self) -> "Entity":
        """The entity as it is now, with all its aspects. Two requests."""
        return self.catalog.entity(self.urn)

    def _window(self, aspect: str, days: int | None) -> Window:
        start = None if days is None else datetime.now(UTC) - timedelta(days=days)
        series = self.catalog.timeseries(self.urn, aspect, start=start)
        newest = None
        if days is not None and not series.values:
            last = self.catalog.timeseries(self.urn, aspect, limit=1).values
            newest = last[0].get("timestampMillis") if last else None
        return Window(series, days, newest)

    def parts(self) -> Iterator[Part]:
        """What it shows of itself, from top to bottom."""
        yield Title(self.name, " · ".join(self._kinds()))
        if not self.exists:
            yield Facts([("urn", Cell(str(self.urn)))])
            yield Say("not in this catalog, or only named by others", "loud")
            return
        if self.removed:
            yield Say("removed: search and browse do not show it", "loud")
        if self.deprecation is not None:
            yield Say(f"deprecated: {self.deprecation}", "loud")
        yield Facts(list(self._facts()))
        if self.edited_description:
            yield Prose(f"{EDITED} description, edited", self.edited_description)
        if self.ingested_description:
            yield Prose("description, from ingestion", self.ingested_description)
        if not self.description:
            yield Say("no description")
        if self.schema.columns:
            yield from self.schema.parts()
        if self.links:
            yield from self.links.parts()

    def _kinds(self) -> Iterator[str]:
        yield self.entity_type
        if self.kind != self.entity_type:
            yield self.kind
        yield from (fact for fact in (self.platform, self.urn.origin) if fact)

    def _facts(self) -> Iterator[tuple[str, Cell]]:
        who = ", ".join(self.owners.called)
        yield "owners", Cell(who) if who else Cell("nobody", tone="quiet")
        for title, urns in (("tags", self.tags), ("terms", self.terms), ("domains", self.domains)):
            if urns:
                yield title, Cell(", ".join(self.names.get(urn) or urn.name for urn in urns))
        yield "urn", Cell(str(self.urn), tone="quiet")
