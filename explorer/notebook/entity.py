"""An entity that renders itself: its page, owners, links and relationships, and edits with undo."""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, overload

from explorer.client import entity as read
from explorer.client import records
from explorer.client.display import moment
from explorer.client.entity import Entity
from explorer.client.records import Direction, Edge, Edges, Health
from explorer.errors import InvalidInput, ServerFault
from explorer.metadata.aspects import Link, Owner
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.names import ownership
from explorer.metadata.urn import Urn
from explorer.notebook.history import History, VersionDiff, read_diff, read_history
from explorer.notebook.lineage import (
    ColumnLineage,
    EntityLineage,
    ImpactTable,
    PathList,
    read_column_lineage,
    read_lineage,
)
from explorer.notebook.schema import SchemaComparison, SchemaTable, shown_schema
from explorer.notebook.search import EDITED
from explorer.notebook.timeseries import ProfileChart, UsageChart, Window, users_of
from explorer.notebook.view import (
    NamedRecords,
    Shown,
    ShownTable,
    grid_parts,
    table_parts,
    values_of,
)
from explorer.views.entity import detail_parts, health_table, links_table
from explorer.views.parts import Cell, Facts, Fold, Part, Prose, Say, Title, with_names
from explorer.views.table import to_frame

if TYPE_CHECKING:
    import pandas as pd

    from explorer.graph import Extent
    from explorer.notebook.catalog import NotebookCatalog

__all__ = ["EditedEntity", "EntityPage", "Owners", "TextsSeen", "edited_text", "role_of"]

_MOST_KEPT = 1_000


class TextsSeen:
    """The edited descriptions of the entities read last; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._texts: dict[Urn, Mapping[str | None, str]] = {}

    def see(self, entity: Entity) -> None:
        """Remember the texts of an entity that was read completely."""
        texts: dict[str | None, str] = {None: entity.edited_description}
        texts |= {column.path.raw: column.edited or "" for column in entity.schema}
        with self._lock:
            self._texts.pop(entity.urn, None)
            self._texts[entity.urn] = texts
            for urn in list(self._texts)[: len(self._texts) - _MOST_KEPT]:
                del self._texts[urn]

    def of(self, urn: Urn, column: str | None) -> str | None:
        """Return the edited text of an entity, or of its column at an exact path, as it was read
        last; "" if there was none, None if it was not read."""
        with self._lock:
            return self._texts.get(urn, {}).get(column)


def edited_text(entity: Entity, column: str | None) -> str:
    """Return the edited description of an entity, or of its column at an exact path; "" for
    none."""
    if column is None:
        return entity.edited_description
    found = entity.schema.column(column)
    return (found.edited or "") if found else ""


_LONGEST = 160


@dataclass(frozen=True, slots=True, repr=False)
class UndoableEdit(Shown, records.Edit):
    """An edit with its catalog."""

    catalog: "NotebookCatalog" = field(compare=False, kw_only=True)

    def undo(self, *, force: bool = False) -> "EntityPage":
        """Undo the edit, and return the entity afterwards, whose `edit` is the undo.

        Raises `Conflict`, and writes nothing, if somebody else has changed the same value since,
        unless `force` is set. Four requests.
        """
        if not self.changed:
            return self.catalog.entity(self.urn)
        undone = self.catalog.undo(self, force=force)
        return self.catalog.entity(self.urn).made_by(undone)

    @property
    def summary(self) -> str:
        """Return what the edit changed, in a few words: `tags: + PII`."""
        where = f" of {FieldPath(self.column).simple}" if self.column else ""
        before, after = _held(self.before), _held(self.after)
        if not self.changed:
            return f"{self.what}{where}: nothing changed"
        if isinstance(self.before, str) or isinstance(self.after, str):
            return f"{self.what}{where} {'changed' if after else 'removed'}"
        signs = [f"+ {one}" for one in after if one not in before]
        signs += [f"- {one}" for one in before if one not in after]
        return f"{self.what}{where}: {', '.join(signs)}"

    def parts(self) -> Iterator[Part]:
        at = moment(round(self.at.timestamp() * 1000), utc=True)
        yield Title(f"Edit of {self.urn.name}", self.summary)
        yield Facts(
            [("when", Cell(at)), ("before", _cell(self.before)), ("now", _cell(self.after))]
        )
        if self.changed:
            yield Say(".undo() undoes it")


def shown_edit(edit: records.Edit, catalog: "NotebookCatalog") -> UndoableEdit:
    """Return an edit that renders itself."""
    return UndoableEdit(**values_of(edit), catalog=catalog)


def _held(held: records.Held) -> tuple[str, ...]:
    """Return the display names of the values before or after an edit."""
    if held is None or held == "":
        return ()
    if isinstance(held, str):
        return (held,)
    if isinstance(held, dict):
        return tuple(f"{name} {value}" for name, value in held.items())
    return tuple(map(_label, held))


def _label(text: str) -> str:
    # An owner is its URN and the kind of ownership.
    urn, _, kind = text.partition(" ")
    name = next((one.name for one in Urn.parse_all([urn])), urn)
    return f"{name} ({kind})" if kind else name


def _cell(held: records.Held) -> Cell:
    text = ", ".join(_held(held))
    if not text:
        return Cell("nothing", tone="quiet")
    return Cell(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")


class Owners(NamedRecords[Owner]):
    """The owners of an entity, in stored order."""

    @property
    def called(self) -> tuple[str, ...]:
        """Return each owner's name and role, in order."""
        return tuple(f"{name.text} ({role.text})" for name, _, role in map(self._row, self))

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each owner; see `explorer.frames.owners_frame`."""
        from explorer import frames

        return frames.owners_frame(self, self.names)

    def parts(self) -> Iterator[Part]:
        yield Title("Owners", f"{len(self):,}" if self else "nobody")
        yield from grid_parts(("owner", "kind", "role"), self, self._row)

    def _row(self, owner: Owner) -> tuple[Cell, Cell, Cell]:
        urn = next(iter(Urn.parse_all([owner.owner])), None)
        role = role_of(owner)
        if urn is None:
            return Cell(owner.owner), Cell(""), Cell(role)
        kind = {"corpuser": "person", "corpGroup": "group"}.get(urn.entity_type, urn.entity_type)
        name = self.names.get(urn) or urn.name
        return Cell(name, detail=str(urn), tone="loud"), Cell(kind), Cell(role)


class LinksTable(NamedRecords[Link]):
    """The documentation links of an entity; `names` are those of who added them."""

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each link: `url`, `description`, and `actor`, who added it. No
        request."""
        return to_frame(links_table(self, self.names))

    def parts(self) -> Iterator[Part]:
        yield Title("Links", f"{len(self):,}" if self else "none")
        yield from table_parts(links_table(self, self.names))


@dataclass(frozen=True, slots=True, repr=False)
class Relationships(ShownTable):
    """The edges of an entity, in the requested directions."""

    edges: tuple[Edges, ...]
    names: Mapping[Urn, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return sum(len(group.edges) for group in self.edges)

    def __iter__(self) -> Iterator[Edge]:
        return (edge for group in self.edges for edge in group.edges)

    @property
    def total(self) -> int:
        """Return the number of edges, which may be more than the server returned."""
        return sum(group.total for group in self.edges)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each edge; see `explorer.frames.edges_frame`."""
        from explorer import frames

        return frames.edges_frame(self.edges, self.names)

    def parts(self) -> Iterator[Part]:
        count = f"{len(self):,}" if len(self) == self.total else f"{len(self):,} of {self.total:,}"
        yield Title("Relationships", count if self.total else "none")
        rows = [self._row(group, edge) for group in self.edges for edge in group.edges]
        headers = ("", "relationship", "name", "type", "platform")
        yield from grid_parts(headers, rows, tuple)

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
    """Return the role of an owner in words: `data owner`."""
    return ownership(owner.type)


_Names = str | Urn | Iterable[str | Urn]
# These aspects are in the table of columns.
_SHOWN_AS_COLUMNS = frozenset(("schemaMetadata", "editableSchemaMetadata"))
_BOTH: tuple[Direction, ...] = ("OUTGOING", "INCOMING")


@dataclass(frozen=True, repr=False)
class EntityPage(ShownTable, read.Entity):
    """An entity as it was read, with its catalog.

    It does not change: `describe`, `add_tags`, `reload` and the other methods that write return the
    entity as it is afterwards; its `edit` is the edit just made, which `undo()` takes back. `names`
    has the display names of its owners, tags, terms and domains, `health` the assertions about it
    that failed and the incidents that were active when it was read.
    """

    catalog: "NotebookCatalog" = field(compare=False, kw_only=True)
    names: Mapping[Urn, str] = field(default_factory=dict, compare=False, kw_only=True)
    whole: bool = field(default=True, compare=False, kw_only=True)
    health: Health | None = field(default=None, compare=False, kw_only=True)
    edit: UndoableEdit | None = field(default=None, compare=False, kw_only=True)

    def __post_init__(self) -> None:
        # Completion only follows existing attributes: `entity.schema["…"]`.
        with suppress(ServerFault):
            self.__dict__["schema"] = self._schema()

    @cached_property
    def schema(self) -> SchemaTable:
        """Return its columns; empty if it has none."""
        return self._schema()

    @property
    def owners(self) -> Owners:
        """Return its owners."""
        return Owners(super().owners, self.names)

    @overload
    def lineage(
        self,
        hops: int = 3,
        direction: "Extent" = "BOTH",
        *,
        column: None = None,
        limit: int | None = None,
    ) -> EntityLineage: ...

    @overload
    def lineage(
        self,
        hops: int = 3,
        direction: "Extent" = "BOTH",
        *,
        column: str,
        limit: int | None = None,
    ) -> ColumnLineage: ...

    def lineage(
        self,
        hops: int = 3,
        direction: "Extent" = "BOTH",
        *,
        column: str | None = None,
        limit: int | None = None,
    ) -> EntityLineage | ColumnLineage:
        """Return its upstream and downstream lineage up to `hops`, at most `limit` entities in each
        direction: a picture, a tree, a DataFrame, a networkx graph. With a `column`, return the
        columns upstream and downstream of it: a table and a DataFrame.

        One request a direction where the server walks, and one for a hundred entities; for a
        column the same. Raises `UnknownName` for a column that is not there.

        Example: `orders.lineage(hops=2, column="net_amount").df`
        """
        if column is not None:
            return read_column_lineage(
                self.catalog, self.urn, self.name, column, direction, hops, limit
            )
        return read_lineage(self.catalog, self.urn, self.name, direction, hops, limit)

    def impact(self, column: str | None = None) -> ImpactTable:
        """Return everything downstream of it, or of its column at an exact path, at any distance,
        most used first.

        One request for the walk where the server walks, one for a hundred entities, one for each
        of the 500 nearest datasets to count their use; with a column one more for a hundred.
        Raises `UnknownName` for a column that is not there.

        Example: `orders.impact("customer_id")`
        """
        return ImpactTable.read(self.catalog, self.urn, self.name, column)

    def paths_to(self, urn: str | Urn) -> PathList:
        """Return the shortest lineage paths between it and another entity, in either direction and
        of any length. At most two requests if the server searches paths, and one per hundred names.

        Example: `orders.paths_to(cat["mart_customer_360"].urn)`
        """
        return PathList.read(self.catalog, self.urn, urn)

    def compare(self, other: "str | Urn | EntityPage") -> SchemaComparison:
        """Compare its columns with those of another dataset, given by URN, name or page: columns
        that only one has, and differences in types, nullability, keys or descriptions. Two requests
        for a URN, and those of a search before for a name.

        Example: `orders.compare("int_orders_enriched").df`
        """
        there = other if isinstance(other, EntityPage) else self.catalog[other]
        return SchemaComparison(self.schema, there.schema, (self.name, there.name))

    def history(self, aspect: str = "schemaMetadata", count: int = 20) -> History:
        """Return the newest versions of an aspect: when, by whom, what changed.

        Two requests where the server tells its versions at once; elsewhere one for each version.
        Raises `NotFound` for an aspect it lacks, `InvalidInput` for a timeseries.

        Example: `orders.history("schemaMetadata")`
        """
        return read_history(self.catalog, self.urn, self.name, aspect, count)

    def diff(self, older: int = -1, newer: int = 0, aspect: str = "schemaMetadata") -> VersionDiff:
        """Return the difference between two versions of an aspect; by default, what the latest
        changed.

        Versions by number: 0 is the latest, 1 the oldest, -1 the one before the latest. Two or
        three requests. Raises `NotFound` where there is no such version.

        Example: `orders.diff(1, 0)`
        """
        return read_diff(self.catalog, self.urn, self.name, aspect, older, newer)

    @property
    def links(self) -> LinksTable:
        """Return its documentation links."""
        return LinksTable(super().links, self.names)

    def relationships(
        self, direction: Direction | None = None, types: Sequence[str] | None = None
    ) -> Relationships:
        """Return its edges in one direction or both: those it declares (OUTGOING) and those that
        lead to it (INCOMING), of all relationships or those named. One request for each direction,
        and one per hundred names.

        Example: `orders.relationships("INCOMING")`
        """
        asked = _BOTH if direction is None else (direction,)
        edges = tuple(self.catalog.relationships(self.urn, one, types) for one in asked)
        others = dict.fromkeys(edge.urn for group in edges for edge in group.edges)
        found = self.catalog.summaries(others)
        return Relationships(edges, {urn: entity.name for urn, entity in found.items()})

    def usage(self, days: int | None = 30) -> UsageChart:
        """Return its usage and users in the last `days`, or all. One request, one per hundred
        names, and one more to find the newest usage if there is none in that time.

        Example: `orders.usage(days=7).top_users`
        """
        window = self._window("datasetUsageStatistics", days)
        users = Urn.parse_all(users_of(window))
        names = {urn: one.name for urn, one in self.catalog.summaries(users).items()}
        return UsageChart(self.name, window, names, self)

    def profile(self, days: int | None = 30) -> ProfileChart:
        """Return its profiles of the last `days`, or all. Costs what `usage` costs.

        Example: `orders.profile(days=90)`
        """
        return ProfileChart(self.name, self._window("datasetProfile", days))

    def describe(
        self, text: str, column: str | None = None, *, force: bool = False
    ) -> "EditedEntity":
        """Write its description, or that of the column at an exact path, and return the entity read
        again.

        The text is markdown; what ingestion says stays beside it. Where somebody else wrote since
        this entity was read, nothing is written and `TextConflict` tells both texts, unless with
        `force`; one that was read in part knows no text to compare. Raises `NotFound` or
        `InvalidInput` where there is no such entity or column. Four requests.

        Example: `orders = orders.describe("One row an order.")`
        """
        base = edited_text(self, column) if self.whole else None
        return self._edited(
            self.catalog.describe(self.urn, text, column=column, instead_of=base, force=force)
        )

    def add_tags(self, tags: _Names, column: str | None = None) -> "EditedEntity":
        """Add tags to it, or to its column at an exact path, and return the entity read again;
        present tags are kept. Tags are given by name or URN, one or several. `edit.undo()` undoes
        it.

        Four requests, and two for each name. Raises `NotFound` where there is no such tag.

        Example: `orders = orders.add_tags("PII", column="customer_id")`
        """
        return self._edited(self.catalog.add_tags(self.urn, self._urns(tags, "tag"), column=column))

    def remove_tags(self, tags: _Names, column: str | None = None) -> "EditedEntity":
        """Remove tags, given as in `add_tags`; tags that it does not have are ignored.

        Example: `orders = orders.remove_tags(["Tier1", "Finance"])`
        """
        return self._edited(
            self.catalog.remove_tags(self.urn, self._urns(tags, "tag"), column=column)
        )

    def add_terms(self, terms: _Names, column: str | None = None) -> "EditedEntity":
        """Add glossary terms to it, or to its column, as `add_tags` does.

        Example: `orders = orders.add_terms("Net revenue", column="net_amount")`
        """
        urns = self._urns(terms, "glossaryTerm")
        return self._edited(self.catalog.add_terms(self.urn, urns, column=column))

    def remove_terms(self, terms: _Names, column: str | None = None) -> "EditedEntity":
        """Remove glossary terms, as `remove_tags` does.

        Example: `orders = orders.remove_terms("Net revenue")`
        """
        urns = self._urns(terms, "glossaryTerm")
        return self._edited(self.catalog.remove_terms(self.urn, urns, column=column))

    def add_owners(self, owners: _Names, ownership: str = "TECHNICAL_OWNER") -> "EditedEntity":
        """Add owners, people and groups by name or URN, as `add_tags` does; `ownership` is the
        ownership type, a word (`BUSINESS_OWNER`, `DATA_STEWARD`) or a URN.

        Example: `orders = orders.add_owners("Nina Weber", "DATA_STEWARD")`
        """
        urns = self._urns(owners, "corpuser", "corpGroup")
        return self._edited(self.catalog.add_owners(self.urn, urns, ownership=ownership))

    def remove_owners(self, owners: _Names, ownership: str | None = None) -> "EditedEntity":
        """Remove owners, of one ownership type or of all.

        Example: `orders = orders.remove_owners("Jordan Doe")`
        """
        urns = self._urns(owners, "corpuser", "corpGroup")
        return self._edited(self.catalog.remove_owners(self.urn, urns, ownership=ownership))

    def set_domain(self, domain: str | Urn | None, *, force: bool = False) -> "EditedEntity":
        """Set its domain, by name or URN, replacing any other; None removes it.

        Raises `Conflict`, and writes nothing, if somebody else has changed its domain since it was
        read, unless `force` is set. Requests as for `add_tags`.

        Example: `orders = orders.set_domain("Finance")`
        """
        urn = None if domain is None else self._urns(domain, "domain")[0]
        seen = self.domains if self.whole and not force else None
        return self._edited(self.catalog.set_domain(self.urn, urn, instead_of=seen))

    def made_by(self, edit: records.Edit) -> "EditedEntity":
        """Return the entity with the edit that changed it.

        Example: `orders.made_by(cat.add_tags(orders.urn, "PII")).edit.summary`
        """
        held = {one.name: getattr(self, one.name) for one in fields(self)}
        return EditedEntity(**held | {"edit": shown_edit(edit, self.catalog)})

    def reload(self) -> "EntityPage":
        """Read the entity again, with all its aspects. Two requests.

        Example: `orders.reload()`
        """
        return self.catalog.entity(self.urn)

    def to_frame(self) -> "pd.DataFrame":
        """Return one row on it; see `explorer.frames.entities_frame`. No request.

        Example: `orders.to_frame().T`
        """
        from explorer import frames

        return frames.entities_frame([self])

    def _edited(self, edit: records.Edit) -> "EditedEntity":
        return self.reload().made_by(edit)

    def _urns(self, given: _Names, *types: str) -> list[Urn]:
        """Return the URNs of entities given by URN or by name, of one of these types."""
        each = (given,) if isinstance(given, str | Urn) else tuple(given)
        return [self.catalog.urn_of(one, *types) for one in each]

    def _schema(self) -> SchemaTable:
        return shown_schema(read.Entity(self.urn, self.aspects).schema)

    def _window(self, aspect: str, days: int | None) -> Window:
        if days is not None and days < 1:
            raise InvalidInput(f"'days' must be at least 1, or None for all, not {days}")
        start = None if days is None else datetime.now(UTC) - timedelta(days=days)
        series = self.catalog.timeseries(self.urn, aspect, start=start)
        newest = None
        if days is not None and not series.values:
            last = self.catalog.timeseries(self.urn, aspect, limit=1).values
            newest = last[0].get("timestampMillis") if last else None
        return Window(series, days, newest)

    def parts(self) -> Iterator[Part]:
        """Yield what it shows, from top to bottom.

        Example: `list(orders.parts())`
        """
        yield Title(self.name, " · ".join(self._kinds()))
        if not self.exists:
            yield Facts([("urn", Cell(str(self.urn)))])
            yield Say("not in this catalog, or only referenced in it", "loud")
            return
        if self.removed:
            yield Say("soft-deleted: hidden from search and browse", "loud")
        if self.deprecation is not None:
            yield Say(f"deprecated: {self.deprecation}", "loud")
        if self.health is not None:
            yield from (Say(sentence, "loud") for sentence in self.health.sentences())
            yield from table_parts(health_table(self.health))
        if self.edit is not None:
            yield Say(f"just edited: {self.edit.summary}; .edit.undo() undoes it")
        yield Facts(list(self._facts()))
        if self.edited_description:
            yield Prose(self.edited_description, label=f"{EDITED} description, edited")
        if self.ingested_description:
            yield Prose(self.ingested_description, label="description, from ingestion")
        if not self.description:
            yield Say("no description")
        if self.schema.columns:
            yield from self.schema.parts()
        if self.links:
            yield from self.links.parts()
        details = list(with_names(detail_parts(self, _SHOWN_AS_COLUMNS), self.names))
        if details:
            yield Fold("properties and other aspects", details)

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


@dataclass(frozen=True, repr=False)
class EditedEntity(EntityPage):
    """An entity after an edit: `edit` is that edit."""

    edit: UndoableEdit = field(compare=False, kw_only=True)
