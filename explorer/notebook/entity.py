"""One entity that shows itself and can be asked for more."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from explorer.client import entity as read
from explorer.client.records import Direction, Health
from explorer.errors import ServerFault
from explorer.metadata.urn import Urn
from explorer.notebook.history import Diff, History, read_diff, read_history
from explorer.notebook.impact import Impact
from explorer.notebook.lineage import Lineage, read_lineage
from explorer.notebook.paths import Paths
from explorer.notebook.related import Links, Owners, Relationships
from explorer.notebook.results import EDITED
from explorer.notebook.schema import Schema, shown_schema
from explorer.notebook.seen import edited_text
from explorer.notebook.series import Profile, Usage, Window
from explorer.notebook.view import Cell, Facts, Grid, Part, Prose, Say, Shown, Title

if TYPE_CHECKING:
    from explorer.graph import Extent
    from explorer.notebook.catalog import Catalog

__all__ = ["Entity"]

_BOTH: tuple[Direction, ...] = ("OUTGOING", "INCOMING")


@dataclass(frozen=True, repr=False)
class Entity(Shown, read.Entity):
    """An entity as it was read, with the catalog it came from.

    It does not change: `describe` and `reload` give the entity as it is afterwards. `names` holds
    what people call the owners, tags, terms and domains it names, `health` the assertions about it
    that failed and the incidents that were active when it was read.
    """

    catalog: "Catalog" = field(compare=False, kw_only=True)
    names: Mapping[Urn, str] = field(default_factory=dict, compare=False, kw_only=True)
    whole: bool = field(default=True, compare=False, kw_only=True)
    health: Health | None = field(default=None, compare=False, kw_only=True)

    def __post_init__(self) -> None:
        # Completion looks no further than at what is there already: `entity.schema["…"]`.
        with suppress(ServerFault):
            self.__dict__["schema"] = self._schema()

    @cached_property
    def schema(self) -> Schema:
        """Its columns; empty where it has none."""
        return self._schema()

    @property
    def owners(self) -> Owners:
        """Who answers for it."""
        return Owners(super().owners, self.names)

    def lineage(
        self, hops: int = 3, direction: "Extent" = "BOTH", *, limit: int | None = None
    ) -> Lineage:
        """What it is made from and what is made from it, as far as `hops`, at most `limit`
        entities a direction: a picture, a tree, a DataFrame, a networkx graph.

        One request a direction where the server walks, and one for a hundred entities.

        Example: `orders.lineage(hops=2, direction="UPSTREAM").df`
        """
        return read_lineage(self.catalog, self.urn, self.name, direction, hops, limit)

    def impact(self, column: str | None = None) -> Impact:
        """What breaks downstream, at any distance, when it or its column of that exact path
        changes, most used first.

        One request for the walk where the server walks, one for a hundred entities, one for each
        of the 500 nearest datasets to count their use; with a column one more for a hundred.
        Raises `UnknownName` for a column that is not there.

        Example: `orders.impact("customer_id")`
        """
        return Impact.read(self.catalog, self.urn, self.name, column)

    def paths_to(self, urn: str | Urn) -> Paths:
        """The shortest ways between it and another entity, along lineage either way, however far
        apart. Two requests at most where the server walks, and one for a hundred names.

        Example: `orders.paths_to(cat["mart_customer_360"].urn)`
        """
        return Paths.read(self.catalog, self.urn, urn)

    def history(self, aspect: str = "schemaMetadata", count: int = 20) -> History:
        """The newest versions of an aspect: when, by whom, what changed.

        Two requests where the server tells its versions at once; elsewhere one for each version.
        Raises `NotFound` for an aspect it lacks, `InvalidInput` for a timeseries.

        Example: `orders.history("schemaMetadata")`
        """
        return read_history(self.catalog, self.urn, self.name, aspect, count)

    def diff(self, older: int = -1, newer: int = 0, aspect: str = "schemaMetadata") -> Diff:
        """What differs between two versions of an aspect; by default, what the latest changed.

        Versions by number: 0 is the latest, 1 the oldest, -1 the one before the latest. Two or
        three requests. Raises `NotFound` where there is no such version.

        Example: `orders.diff(1, 0)`
        """
        return read_diff(self.catalog, self.urn, self.name, aspect, older, newer)

    @property
    def links(self) -> Links:
        """Its documentation links."""
        return Links(super().links)

    def relationships(
        self, direction: Direction | None = None, types: Sequence[str] | None = None
    ) -> Relationships:
        """Its edges, in one direction or both: those it declares (OUTGOING) and those that lead to
        it (INCOMING), of the relationships named or of all. One request a direction, and one for
        each hundred names.

        Example: `orders.relationships("INCOMING")`
        """
        asked = _BOTH if direction is None else (direction,)
        edges = tuple(self.catalog.relationships(self.urn, one, types) for one in asked)
        others = dict.fromkeys(edge.urn for group in edges for edge in group.edges)
        found = self.catalog.summaries(others)
        return Relationships(edges, {urn: entity.name for urn, entity in found.items()})

    def usage(self, days: int | None = 30) -> Usage:
        """How it was used in the last `days`, or ever. One request; one more to find the newest
        where there is nothing in that time.

        Example: `orders.usage(days=7)`
        """
        return Usage(self.name, self._window("datasetUsageStatistics", days))

    def profile(self, days: int | None = 30) -> Profile:
        """What profiling measured in the last `days`, or ever. Costs what `usage` costs.

        Example: `orders.profile(days=90)`
        """
        return Profile(self.name, self._window("datasetProfile", days))

    def describe(self, text: str, column: str | None = None, *, force: bool = False) -> "Entity":
        """Write its description, or that of the column of that exact path, and read it again.

        The text is markdown; what ingestion says stays beside it. Where somebody else wrote since
        this entity was read, nothing is written and `TextConflict` tells both texts, unless with
        `force`; one that was read in part knows no text to compare. Raises `NotFound` or
        `InvalidInput` where there is no such entity or column. Four requests.

        Example: `orders = orders.describe("One row an order.")`
        """
        base = edited_text(self, column) if self.whole else None
        self.catalog.describe(self.urn, text, column=column, instead_of=base, force=force)
        return self.reload()

    def reload(self) -> "Entity":
        """The entity as it is now, with all its aspects. Two requests.

        Example: `orders.reload()`
        """
        return self.catalog.entity(self.urn)

    def _schema(self) -> Schema:
        return shown_schema(read.Entity(self.urn, self.aspects).schema)

    def _window(self, aspect: str, days: int | None) -> Window:
        start = None if days is None else datetime.now(UTC) - timedelta(days=days)
        series = self.catalog.timeseries(self.urn, aspect, start=start)
        newest = None
        if days is not None and not series.values:
            last = self.catalog.timeseries(self.urn, aspect, limit=1).values
            newest = last[0].get("timestampMillis") if last else None
        return Window(series, days, newest)

    def parts(self) -> Iterator[Part]:
        """What it shows of itself, from top to bottom.

        Example: `list(orders.parts())`
        """
        yield Title(self.name, " · ".join(self._kinds()))
        if not self.exists:
            yield Facts([("urn", Cell(str(self.urn)))])
            yield Say("not in this catalog, or only named by others", "loud")
            return
        if self.removed:
            yield Say("removed: search and browse do not show it", "loud")
        if self.deprecation is not None:
            yield Say(f"deprecated: {self.deprecation}", "loud")
        if self.health is not None:
            yield from _wrong(self.health)
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


def _wrong(health: Health) -> Iterator[Part]:
    """What is wrong with an entity; nothing where nothing is known to be."""
    for sentence in health.sentences():
        yield Say(sentence, "loud")
    rows = [
        (
            Cell("error" if one.is_error else "fails", tone="loud"),
            Cell(one.rule, detail=str(one.urn)),
            Cell(_day(one.since, or_earlier=one.since_or_earlier)),
            Cell(one.found),
        )
        for one in health.failing
    ]
    rows += [
        (
            Cell("incident", tone="loud"),
            Cell(one.title, detail=str(one.urn)),
            Cell(_day(one.since)),
            Cell(", ".join(part for part in (one.kind, one.priority, one.stage) if part)),
        )
        for one in health.incidents
    ]
    if rows:
        yield Grid(("", "what", "since", "found"), rows)


def _day(at: datetime | None, *, or_earlier: bool = False) -> str:
    day = f"{at:%Y-%m-%d}" if at else ""
    return f"{day} or earlier" if day and or_earlier else day
