"""Deprecating, hiding, restoring and deleting an entity."""

from collections.abc import Coroutine, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from explorer.client.display import counted, in_quotes, line
from explorer.client.editable import TextConflict, deprecation_of
from explorer.client.edits import is_planning
from explorer.client.records import MovedContents
from explorer.errors import CatalogError, Conflict, InvalidInput, NotFound
from explorer.metadata.urn import Urn
from explorer.sessions.base import READ_ONLY, Session, SessionState, action

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog, Edit
    from explorer.client.entity import Entity
    from explorer.client.records import Deletion, Edges, StatusChange
    from explorer.graph import Impact

_ASPECT: Final = "deprecation"
_MOST_REFERENCES: Final = 1_000
_MOST_POINTS: Final = 1_000
_MOST_NAMED: Final = 5
_NOTHING_MOVED: Final = MovedContents(())
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class DeprecationFields:
    """The fields of a deprecation; `day` and `replacement` may be empty."""

    is_so: bool = False
    note: str = ""
    day: str = ""
    replacement: str = ""
    millis: int | None = None

    @classmethod
    def of(cls, entity: "Entity") -> Self:
        """Return the fields of an entity."""
        return cls.of_stored(deprecation_of(entity.raw(_ASPECT) or {}))

    @classmethod
    def of_stored(cls, held: "Mapping[str, Any] | None") -> Self:
        """Return the fields of a deprecation in an edit's value; None means not deprecated."""
        if held is None:
            return cls()
        millis = held.get("decommissionTime")
        moment = millis if isinstance(millis, int) else None
        return cls(
            True,
            _text(held.get("note")),
            _day_of(moment),
            _text(held.get("replacement")),
            moment,
        )

    @property
    def value(self) -> dict[str, Any]:
        """Return the deprecation as the value of an edit; empty for not deprecated."""
        if not self.is_so:
            return {}
        parts = {"decommissionTime": self.millis, "replacement": self.replacement or None}
        return {"note": self.note} | {key: part for key, part in parts.items() if part is not None}

    def moment(self, day: str) -> datetime | None:
        """Return the start of the day in UTC, or the stored time if the day is unchanged."""
        if not day:
            return None
        if day == self.day and self.millis is not None:
            return datetime.fromtimestamp(self.millis / 1000, UTC)
        try:
            said_day = date.fromisoformat(day)
        except ValueError:
            raise InvalidInput(
                f"{in_quotes(day)} is not a date; write it as 2027-01-31, or leave it empty"
            ) from None
        return datetime(said_day.year, said_day.month, said_day.day, tzinfo=UTC)


def _text(stored: Any) -> str:
    return stored if isinstance(stored, str) else ""


def _day_of(millis: int | None) -> str:
    if millis is None:
        return ""
    try:
        return datetime.fromtimestamp(millis / 1000, UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return ""


_NOT_DEPRECATED: Final = DeprecationFields()


@dataclass(frozen=True, slots=True)
class PlannedDeletion:
    """The numbers of the things that a deletion removes, None if the server does not report one.
    With `more_points` there may be more time series points than `points`."""

    deletion: "Deletion"
    aspects: int
    versions: int | None
    points: int | None
    more_points: bool
    contents: MovedContents

    def counts(self) -> Iterator[str]:
        """Yield each number in words."""
        yield counted(self.aspects, "aspect")
        if self.versions is not None:
            yield counted(self.versions, "version")
        if self.points is None:
            yield "all time series points"
        else:
            at_least = "at least " if self.more_points else ""
            yield f"{at_least}{counted(self.points, 'time series point')}"
        count = self.deletion.reference_count
        if count is None:
            yield "number of references unknown"
        else:
            yield f"{counted(count, 'reference')} to it"


def moved_words(contents: MovedContents) -> str:
    """Return in words what a deleted glossary group or domain contains, and where it is moved."""
    place = "the top level" if contents.above is None else line(contents.above.name)
    names = ", ".join(line(urn.name) for urn in contents.urns[:_MOST_NAMED])
    more = len(contents.urns) - _MOST_NAMED
    return f"{place}: {names}{f' and {more:,} more' if more > 0 else ''}"


@dataclass(frozen=True, slots=True)
class LifecycleState(SessionState):
    """The deprecation on the server, as far as it was read, and the references to the entity: None
    before they are read, and if they cannot be read; `is_read` tells the two apart.
    `moved_contents` is the content that was moved out of the entity before it was deleted."""

    deprecation: DeprecationFields = _NOT_DEPRECATED
    edges: "Edges | None" = None
    impact: "Impact | None" = None
    is_read: bool = False
    moved_contents: MovedContents = _NOTHING_MOVED


class LifecycleSession(Session[LifecycleState]):
    """Deprecates, hides, restores and deletes one entity. Messages call it `name`."""

    def __init__(
        self,
        catalog: "AsyncCatalog",
        urn: str | Urn,
        name: str = "",
        stored: DeprecationFields = _NOT_DEPRECATED,
    ) -> None:
        self.urn = Urn.parse(urn)
        self.name = line(name or self.urn.name)
        super().__init__(catalog, LifecycleState(deprecation=stored))

    async def read_references(self) -> None:
        """Read the references to the entity, and then the entities that depend on it."""
        from explorer.sessions.lineage import read_impact

        try:
            with self.telling():
                incoming = self.catalog.relationships(self.urn, "INCOMING", count=_MOST_REFERENCES)
                self.replace(edges=await incoming)
                self.replace(impact=(await read_impact(self.catalog, self.urn)).impact)
        finally:
            self.replace(is_read=True)

    @action("Hide it from search and browse; nothing is lost")
    async def hide(self, *, dry_run: bool = False) -> "StatusChange":
        """Hide the entity; see `Catalog.soft_delete`."""
        hiding = self.catalog.soft_delete(self.urn, dry_run=dry_run)
        change = await self._write("hide", hiding)
        if change.was_removed:
            self.say(f"{self.name} is hidden already; nothing to do.")
        else:
            verb = "would be" if dry_run else "is"
            self.say(f"{self.name} {verb} hidden from search and browse.", is_saved=not dry_run)
        return change

    @action("Show it in search and browse again")
    async def restore(self, *, dry_run: bool = False) -> "StatusChange":
        """Restore the entity; see `Catalog.restore`."""
        change = await self._write("restore", self.catalog.restore(self.urn, dry_run=dry_run))
        if not change.was_removed:
            self.say(f"{self.name} is not hidden; nothing to do.")
        else:
            verb = "would be" if dry_run else "is"
            sentence = f"{self.name} {verb} shown in search and browse again."
            self.say(sentence, is_saved=not dry_run)
        return change

    @action("Say that it should no longer be used, and why")
    async def deprecate(
        self,
        note: str,
        until: datetime | None = None,
        replacement: str | Urn | None = None,
        *,
        instead_of: DeprecationFields | None = None,
    ) -> "Edit":
        """Deprecate the entity. Raises `Conflict` if its present deprecation is not the one that
        was seen; the state then holds the present one."""
        writing = self.catalog.deprecate(
            self.urn,
            note,
            decommission=until,
            replacement=replacement,
            instead_of=None if instead_of is None else instead_of.value,
        )
        edit = await self._write("deprecate", writing)
        self.say(f"{self.name} is deprecated.", is_saved=True)
        return edit

    @action("Say that it may be used again")
    async def lift(self, *, instead_of: DeprecationFields | None = None) -> "Edit":
        """Remove the deprecation; raises as `deprecate`."""
        base = None if instead_of is None else instead_of.value
        edit = await self._write("lift", self.catalog.undeprecate(self.urn, instead_of=base))
        self.say(f"{self.name} is no longer deprecated.", is_saved=True)
        return edit

    @action("Say what a deletion removes", in_turn=False)
    async def plan_deletion(self) -> PlannedDeletion:
        """Return the numbers of the things that `delete` removes. Raises `NotFound` for an entity
        that does not exist."""
        deletion = await self.catalog.delete(self.urn, dry_run=True)
        entity = await self.catalog.entity(self.urn)
        versions = await self._count_versions(tuple(entity.aspects))
        points, more = await self._count_points()
        contents = await self.catalog.move_contents(self.urn, dry_run=True)
        return PlannedDeletion(deletion, len(entity.aspects), versions, points, more, contents)

    @action("Delete it permanently")
    async def delete(self) -> "Deletion":
        """Delete the entity permanently. The content of a glossary group or domain is moved out
        first. See `Catalog.delete` and `Catalog.move_contents`."""
        self.replace(
            moved_contents=await self._write("delete", self.catalog.move_contents(self.urn))
        )
        deletion = await self._write("delete", self.catalog.delete(self.urn))
        points = counted(deletion.points, "time series point")
        counts = f"{counted(deletion.versions, 'version')}, {points}"
        kept = ""
        if deletion.reference_count:
            references = counted(deletion.reference_count, "reference")
            kept = f" Kept: {references} from other entities."
        if self.state.moved_contents.urns:
            kept += f" What was in it is moved to {moved_words(self.state.moved_contents)}."
        self.say(f"{self.name} is deleted permanently: {counts}.{kept}")
        return deletion

    def why_not(self, name: str) -> str:
        """Return why an action is not possible now; empty if it is possible."""
        if name == "plan_deletion":
            return ""
        if self.catalog.read_only and not is_planning():
            return READ_ONLY
        return "This is being written." if self.state.work is not None else ""

    async def _write(self, name: str, writing: Coroutine[Any, Any, _T]) -> _T:
        try:
            self.check(name)
            return await self.work("writing", writing)
        except TextConflict as conflict:
            entity = await self.catalog.entity(self.urn, (_ASPECT,))
            self.replace(deprecation=DeprecationFields.of(entity))
            raise Conflict(
                "somebody else changed the deprecation meanwhile; nothing was written: save again "
                "to replace it with yours"
            ) from conflict
        finally:
            writing.close()

    async def _count_versions(self, aspects: tuple[str, ...]) -> int | None:
        """Return the total number of versions of the aspects, or None if the server does not report
        it."""
        if not (await self.catalog.abilities()).versions:
            return None
        total = 0
        for aspect in aspects:
            try:
                versions = await self.catalog.versions(self.urn, aspect, count=1)
            except NotFound:
                # The key aspect of an entity is not always stored.
                continue
            if versions.total is None:
                return None
            total += versions.total
        return total

    async def _count_points(self) -> tuple[int | None, bool]:
        registry = self.catalog.registry
        if self.urn.entity_type not in registry.entities:
            return None, False
        total, more = 0, False
        for name in registry.aspects_of(self.urn.entity_type):
            if registry.aspects[name].timeseries:
                try:
                    series = await self.catalog.timeseries(self.urn, name, limit=_MOST_POINTS)
                except CatalogError:
                    return None, False
                total += len(series.values)
                more = more or series.truncated
        return total, more
