"""What changed in a catalog since the last visit, by entity: edits of others and ingested changes.

Changes are read from the change log. The offset up to which a user has read is stored in the state
directory, for each catalog.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from difflib import SequenceMatcher
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from explorer import config
from explorer.client.display import counted
from explorer.client.editable import COLUMNS, EditableField, at_present_paths, place_of
from explorer.client.entity import SUMMARY_ASPECTS
from explorer.config.files import lock_file, read_private, write_private
from explorer.errors import Gone, InvalidInput, StorageFault, Unusable
from explorer.metadata.fieldpath import FieldPath, earlier_paths, written_entries
from explorer.metadata.proposal import millis_of
from explorer.metadata.urn import Urn

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Entity
    from explorer.client.records import ChangeEvent
    from explorer.stewardship.documentation import Progress

FeedKind = Literal[
    "orphaned text",
    "type",
    "ingested text",
    "column dropped",
    "column added",
    "new",
    "deleted",
    "restored",
    "description",
    "tags",
    "terms",
    "owners",
    "domain",
    "deprecation",
    "links",
]
"""The kinds of entries.

`orphaned text` is a dropped column that has an edited description; `type` and `ingested text` are
changes by ingestion to a column or an entity; `description` is an edited description.
"""

_Value = Mapping[str, Any]

_SCHEMA: Final = "schemaMetadata"
_STATUS: Final = "status"
_COLUMN_ENTITY: Final = "schemaField"
# The aspect in which ingestion writes the description, by entity type.
_INGESTED: Final = {
    "dataset": "datasetProperties",
    "container": "containerProperties",
    "chart": "chartInfo",
    "dashboard": "dashboardInfo",
    "dataJob": "dataJobInfo",
    "dataFlow": "dataFlowInfo",
}
_LABELS: Final[Mapping[str, FeedKind]] = {
    "globalTags": "tags",
    "glossaryTerms": "terms",
    "ownership": "owners",
    "domains": "domain",
    "deprecation": "deprecation",
    "institutionalMemory": "links",
}
_COLUMN_LABELS: Final[Mapping[FeedKind, str]] = {"tags": "globalTags", "terms": "glossaryTerms"}

_MOST_CHANGES: Final = 20_000
_MOST_ENTITIES: Final = 200
# For an entity with more changes, only the newest are read.
_MOST_OF_ENTITY: Final = 50
_MOST_ENTRIES: Final = 200
_URNS_AT_ONCE: Final = 40
_MOST_NAMES: Final = 500

_MOST_PAIRS: Final = 10_000
_LEAST_LIKELY: Final = 0.55


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """One change, its author, and when it was last stored.

    `path` is the field path of a column, `None` for the entity itself. `before` and `after` are
    texts or types; `added` and `removed` are labels, as URNs or addresses. `edited` is the edited
    description, if it still exists. `likely` is, for a dropped column, the column that it was
    probably renamed to; for an added column, the one that was probably renamed to it.
    """

    urn: Urn
    kind: FeedKind
    at: datetime
    actor: str
    path: str | None = None
    before: str = ""
    after: str = ""
    edited: str = ""
    likely: str | None = None
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()

    @property
    def needs_care(self) -> bool:
        """Whether an edited description may no longer be correct."""
        return bool(self.edited) and self.kind in ("orphaned text", "type", "ingested text")

    @property
    def place(self) -> str | None:
        """The path of the column to show, or `None`; for a dropped column its probable new one."""
        if self.kind in ("orphaned text", "column dropped"):
            return self.likely
        return self.path


@dataclass(frozen=True, slots=True)
class EntityFeed:
    """The changes in one entity: entries that need care first, then columns in schema order.

    `at` is the time of the newest change. `unread` is the number of earlier changes that were not
    read, `left_out` the number of entries above the limit.
    """

    urn: Urn
    name: str
    at: datetime
    entries: tuple[FeedEntry, ...]
    unread: int = 0
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class ChangeFeed:
    """The changes since the last visit, most recently changed entity first.

    `since` is when the last visit ended, `None` if unknown. The changes with offsets from `after`
    to `until` were read; `unread` is the number of changes before them, `more_entities` the number
    of changed entities that are not listed. `trimmed` is true if the log does not reach back to the
    last visit, `replaced` if it is not the same log. `user` is the user whose own edits are left
    out, `None` if unknown. `names` are the names of people and labels.
    """

    entities: tuple[EntityFeed, ...]
    since: datetime | None
    after: int
    until: int
    unread: int = 0
    more_entities: int = 0
    trimmed: bool = False
    replaced: bool = False
    user: Urn | None = None
    names: Mapping[Urn, str] = field(default_factory=dict, compare=False)

    @property
    def entries(self) -> tuple[FeedEntry, ...]:
        """The entries of all entities, in order."""
        return tuple(entry for entity in self.entities for entry in entity.entries)

    def name_of(self, urn: Urn) -> str:
        """Return the name of an entity in the feed."""
        return next((entity.name for entity in self.entities if entity.urn == urn), urn.name)


class Visit(msgspec.Struct, frozen=True):
    """The offset of the change log up to which a user has read, and when (milliseconds since 1970
    UTC)."""

    offset: int
    at_millis: int

    @property
    def at(self) -> datetime:
        """The time of the visit."""
        return datetime.fromtimestamp(self.at_millis / 1000, UTC)


class _Visits(msgspec.Struct, frozen=True):
    last: Visit | None = None
    earlier: Visit | None = None


@dataclass(frozen=True, slots=True)
class VisitFile:
    """The file with the last visits to one catalog. Reading and writing block: call from a
    thread."""

    path: Path

    @classmethod
    def of(cls, identity: str) -> "VisitFile":
        """Return the file for a catalog; see `Catalog.identity`. Blocks."""
        return cls(config.state_dir() / "visits" / f"{config.state_name(identity)}.json")

    def last(self, *, earlier: bool = False) -> Visit | None:
        """Return the last visit, or the one before it; `None` if there was none.

        A file that cannot be read counts as none, because nothing important is lost with it.
        """
        visits = self._read()
        return visits.earlier if earlier else visits.last

    def move(self, offset: int, at: datetime, *, replaced: bool = False) -> None:
        """Record that everything up to an offset was read, unless another program has recorded a
        later one.

        `replaced` is true if the recorded visits are of another log. The previous visit is kept,
        even if the same offset is recorded again. Raises `StorageFault` if the file cannot be
        written.
        """
        visit = Visit(offset, millis_of(at))
        try:
            with lock_file(self.path):
                visits = _Visits() if replaced else self._read()
                if visits.last is not None and visits.last.offset > offset:
                    return
                moved = visits.last is not None and visits.last.offset != offset
                new_visits = _Visits(visit, visits.last if moved else visits.earlier)
                write_private(self.path, msgspec.json.encode(new_visits).decode())
        except Unusable as error:
            raise StorageFault(
                f"the position in the change log cannot be stored in {self.path.parent}; "
                "set another directory in CATALOG_STATE_DIR"
            ) from error

    def _read(self) -> _Visits:
        try:
            text = read_private(self.path, secret=False)
            return msgspec.json.decode(text, type=_Visits) if text else _Visits()
        except (Unusable, msgspec.DecodeError):
            return _Visits()


async def read_feed(
    catalog: "AsyncCatalog",
    *,
    earlier: bool = False,
    most_changes: int = _MOST_CHANGES,
    most_entities: int = _MOST_ENTITIES,
    progress: "Progress | None" = None,
) -> ChangeFeed:
    """Return the changes since the last visit, or with `earlier` since the one before it.

    Nothing is marked as read. The user's own edits are left out, but not changes that the user
    ingested. The newest `most_changes` changes of the log are read, and the values of the
    `most_entities` most recently changed entities; the others are only counted. One request per 500
    changes, one or more per 40 entities, and twice the requests of `Catalog.entities`. Raises
    `InvalidInput` on a server without a change log, such as DataHub's.

    Example: `steward.feed().entries`
    """
    if most_changes < 1 or most_entities < 1:
        raise InvalidInput("most_changes and most_entities must be at least 1")
    if not (await catalog.abilities()).changes:
        raise InvalidInput(
            "this server has no change log, so what changed since the last visit is unknown; "
            "look at the history of an entity instead"
        )
    user = await catalog.me()
    head = (await catalog.changes(limit=0)).head
    file = await _file_of(catalog)
    visit = await asyncio.to_thread(file.last, earlier=earlier)
    replaced = visit is not None and visit.offset > head
    if replaced:
        visit = None
    at, trimmed = (visit.offset if visit is not None else 0), False
    try:
        await catalog.changes(at, limit=1, values=False)
    except Gone as error:
        trimmed = visit is not None
        at = head if error.resume_after is None else error.resume_after
    after = max(at, head - most_changes)
    touched = await _find_changes(catalog, after, head, user, progress)
    listed = sorted(
        touched.items(), key=lambda urn_and_touched: urn_and_touched[1].offsets[-1], reverse=True
    )
    changes_by_urn = dict(listed[:most_entities])
    events = await _events(catalog, changes_by_urn, head, user)
    entities = (
        await catalog.entities(changes_by_urn, _aspects_of_entities(changes_by_urn))
        if changes_by_urn
        else {}
    )
    feeds = await asyncio.to_thread(_entity_feeds, changes_by_urn, events, entities)
    urns_to_name = dict.fromkeys(islice(_urns_to_name(feeds), _MOST_NAMES))
    summaries = await catalog.summaries(urns_to_name) if urns_to_name else {}
    return ChangeFeed(
        feeds,
        visit.at if visit is not None else None,
        after,
        head,
        unread=after - at,
        more_entities=len(listed) - len(changes_by_urn),
        trimmed=trimmed,
        replaced=replaced,
        user=user,
        names={urn: entity.name for urn, entity in summaries.items()},
    )


async def mark_read(catalog: "AsyncCatalog", feed: ChangeFeed) -> None:
    """Record on this machine that a feed was read, so that the next one begins after it. No
    request.

    Raises `StorageFault` if this cannot be recorded.

    Example: `steward.mark_read(steward.feed())`
    """
    file, now = await _file_of(catalog), datetime.now(UTC)
    await asyncio.to_thread(file.move, feed.until, now, replaced=feed.replaced)


async def _file_of(catalog: "AsyncCatalog") -> VisitFile:
    return await asyncio.to_thread(VisitFile.of, catalog.identity or catalog.address)


@dataclass(slots=True)
class _Touched:
    """The offsets of the newest changes of an entity, and the number of all of them."""

    offsets: deque[int] = field(default_factory=lambda: deque(maxlen=_MOST_OF_ENTITY))
    count: int = 0

    def add(self, offset: int) -> None:
        self.offsets.append(offset)
        self.count += 1


async def _find_changes(
    catalog: "AsyncCatalog",
    after: int,
    until: int,
    user: Urn | None,
    progress: "Progress | None",
) -> dict[Urn, _Touched]:
    """Return the entities changed after an offset; values are not read."""
    changes_by_urn: dict[Urn, _Touched] = {}
    types = catalog.registry.entities
    unlisted = {name for name, declared in types.items() if not declared.listed}
    source = catalog.every_change(after, aspects=_aspects_to_follow(catalog), values=False)
    async with aclosing(source) as changes:
        async for change in changes:
            if change.offset > until:
                break
            if progress is not None:
                progress(change.offset - after, until - after)
            if change.urn.entity_type not in unlisted and _is_reported(change, user):
                changes_by_urn.setdefault(change.urn, _Touched()).add(change.offset)
    if progress is not None:
        progress(until - after, until - after)
    return changes_by_urn


async def _events(
    catalog: "AsyncCatalog", touched: Mapping[Urn, _Touched], until: int, user: Urn | None
) -> dict[Urn, list["ChangeEvent"]]:
    """Return the changes of entities with their values, in the order of the log."""
    events_by_urn: dict[Urn, list[ChangeEvent]] = {urn: [] for urn in touched}
    for urns in _chunks(touched):
        first = min(touched[urn].offsets[0] for urn in urns)
        source = catalog.every_change(first - 1, urns=urns, aspects=_aspects_to_follow(catalog))
        remaining = sum(len(touched[urn].offsets) for urn in urns)
        async with aclosing(source) as changes:
            async for change in changes:
                if change.offset > until:
                    break
                if _is_reported(change, user) and change.offset >= touched[change.urn].offsets[0]:
                    events_by_urn[change.urn].append(change)
                    remaining -= 1
                    if not remaining:
                        break
    return events_by_urn


def _chunks(touched_by_urn: Mapping[Urn, _Touched]) -> Iterator[list[Urn]]:
    """Yield groups of entities whose changes are near each other in the log.

    An entity with many changes is a group of its own.
    """
    few: list[Urn] = []
    for urn, touched in sorted(
        touched_by_urn.items(), key=lambda urn_and_touched: urn_and_touched[1].offsets[0]
    ):
        if touched.count > _MOST_OF_ENTITY:
            yield [urn]
        else:
            few.append(urn)
    for start in range(0, len(few), _URNS_AT_ONCE):
        yield few[start : start + _URNS_AT_ONCE]


def _aspects_to_follow(catalog: "AsyncCatalog") -> list[str]:
    """Return the aspects whose changes can become entries."""
    registry = catalog.registry
    described = (
        p.aspect for name in registry.listed if (p := _description_field(name)) is not None
    )
    keys = (registry.entities[name].key for name in registry.listed)
    always_followed = (_SCHEMA, COLUMNS, _STATUS, *_LABELS, *_INGESTED.values())
    return list(dict.fromkeys((*always_followed, *described, *keys)))


def _aspects_of_entities(urns: Iterable[Urn]) -> list[str]:
    described = (place.aspect for urn in urns if (place := _description_field(urn.entity_type)))
    return list(dict.fromkeys((*SUMMARY_ASPECTS, COLUMNS, *described)))


def _description_field(entity_type: str) -> EditableField | None:
    """Return where the edited description of entities of a type is stored."""
    try:
        return place_of(Urn(entity_type, ("x",)), None)
    except InvalidInput:
        return None


def _is_reported(change: "ChangeEvent", user: Urn | None) -> bool:
    """Return whether a change was made by somebody else, or by ingestion."""
    if change.urn.entity_type == _COLUMN_ENTITY and change.aspect.endswith("Key"):
        # A column gets an entity with the first aspect stored for it, such as the source of a
        # propagated text; new columns are taken from the schema.
        return False
    if user is None or change.actor != str(user):
        return True
    return change.kind != "DELETE" and _is_ingestion(change)


def _is_ingestion(change: "ChangeEvent") -> bool:
    """Return whether a change is of an aspect that only ingestion writes, or was made by a run.

    A key aspect is written together with the first aspect of an entity, by ingestion or, for
    example for a tag, by the person who creates it.
    """
    if change.aspect.endswith("Key"):
        return bool(change.run) or change.urn.entity_type in _INGESTED
    if change.aspect == _STATUS:
        # Ingestion marks an entity as removed if its source no longer has it.
        return bool(change.run)
    return change.aspect in (_SCHEMA, _INGESTED.get(change.urn.entity_type))


def _urns_to_name(feeds: Iterable[EntityFeed]) -> Iterator[Urn]:
    """Yield the URNs of actors and labels."""
    for feed in feeds:
        for entry in feed.entries:
            yield from Urn.parse_all((entry.actor, *entry.added, *entry.removed))


def _entity_feeds(
    shown: Mapping[Urn, _Touched],
    events: Mapping[Urn, Sequence["ChangeEvent"]],
    entities: Mapping[Urn, "Entity"],
) -> tuple[EntityFeed, ...]:
    feeds = []
    for urn, touched in shown.items():
        entity = entities.get(urn)
        standing = {name: aspect.value for name, aspect in entity.aspects.items()} if entity else {}
        entries = entries_of(urn, events[urn], standing)
        if not entries:
            continue
        feeds.append(
            EntityFeed(
                urn,
                entity.name if entity is not None else urn.name,
                max(entry.at for entry in entries),
                entries[:_MOST_ENTRIES],
                unread=touched.count - len(touched.offsets),
                left_out=max(len(entries) - _MOST_ENTRIES, 0),
            )
        )
    return tuple(feeds)


def entries_of(
    urn: Urn, changes: Sequence["ChangeEvent"], standing: Mapping[str, _Value]
) -> tuple[FeedEntry, ...]:
    """Return the entries for the changes of one entity, given in the order of the log.

    Changes that cancel each other give no entry. `standing` are the present aspects. Entries that
    need care come first, then the entity itself, its columns in schema order, and edits. No
    requests.
    """
    by_aspect: dict[str, list[ChangeEvent]] = {}
    for change in changes:
        by_aspect.setdefault(change.aspect, []).append(change)
    place = _description_field(urn.entity_type)
    entries: list[FeedEntry] = []
    for aspect, events in by_aspect.items():
        if aspect == _SCHEMA:
            entries += _schema_entries(urn, events, standing.get(COLUMNS) or {})
        elif aspect == COLUMNS:
            entries += _column_entries(urn, events)
        elif aspect == _INGESTED.get(urn.entity_type):
            edited = _text(standing.get(place.aspect), place.field) if place else ""
            entries += _text_entries(urn, events, "ingested text", "description", edited)
        elif aspect in _LABELS:
            entries += _label_entries(urn, events, _LABELS[aspect])
        elif place is not None and aspect == place.aspect:
            entries += _text_entries(urn, events, "description", place.field)
        elif aspect == _STATUS:
            entries += _status_entries(urn, events)
        elif aspect.endswith("Key"):
            entries += _life_entries(urn, events, by_aspect.get(_SCHEMA, ()))
    if any(entry.kind == "deleted" for entry in entries):
        entries = [entry for entry in entries if entry.kind == "deleted"][:1]
    makers = {entry.actor for entry in entries if entry.kind == "new"}
    # Edits by whoever created the entity are part of its creation.
    reported = [
        entry for entry in entries if _ORDER[entry.kind] < _OF_PEOPLE or entry.actor not in makers
    ]
    return tuple(sorted(reported, key=lambda entry: (not entry.needs_care, _ORDER[entry.kind])))


_ORDER: Final[Mapping[FeedKind, int]] = {
    "deleted": 0,
    "restored": 0,
    "new": 0,
    "orphaned text": 1,
    "column dropped": 2,
    "column added": 2,
    "type": 2,
    "ingested text": 2,
    "description": 3,
    "deprecation": 4,
    "owners": 5,
    "domain": 5,
    "tags": 6,
    "terms": 6,
    "links": 7,
}
_OF_PEOPLE: Final = 3


def _life_entries(
    urn: Urn, events: Sequence["ChangeEvent"], schemas: Sequence["ChangeEvent"]
) -> Iterator[FeedEntry]:
    """Yield an entry if the entity was created or deleted."""
    last = events[-1]
    if last.kind == "DELETE":
        yield FeedEntry(urn, "deleted", last.at, last.actor)
    elif events[0].previous is None:
        columns = len(_fields(schemas[-1].value)) if schemas else 0
        number = counted(columns, "column") if columns else ""
        yield FeedEntry(urn, "new", last.at, last.actor, after=number)


def _status_entries(urn: Urn, events: Sequence["ChangeEvent"]) -> Iterator[FeedEntry]:
    last = events[-1]
    before, after = (
        bool((value or {}).get("removed")) for value in (events[0].previous, last.value)
    )
    if before != after:
        yield FeedEntry(urn, "deleted" if after else "restored", last.at, last.actor)


def _text_entries(
    urn: Urn, events: Sequence["ChangeEvent"], kind: FeedKind, name: str, edited: str = ""
) -> Iterator[FeedEntry]:
    last = events[-1]
    if kind == "ingested text" and events[0].previous is None:
        # The description was ingested together with the entity.
        return
    before, after = (_text(value, name) for value in (events[0].previous, last.value))
    if before.strip() != after.strip():
        yield FeedEntry(
            urn, kind, last.at, last.actor, before=before, after=after, edited=edited.strip()
        )


def _text(value: _Value | None, name: str) -> str:
    text = (value or {}).get(name)
    return text if isinstance(text, str) else ""


@dataclass(slots=True)
class _LabelsNet:
    """The net effect of several changes of labels.

    Changes are added one by one, so that the user's own edits in between do not count.
    """

    added: dict[str, None] = field(default_factory=dict)
    removed: dict[str, None] = field(default_factory=dict)
    last: "ChangeEvent | None" = None

    def note(self, before: Sequence[str], after: Sequence[str], change: "ChangeEvent") -> None:
        """Add a change; a label that is added and removed again, or the reverse, does not count."""
        for label in after:
            if label in self.removed and label not in before:
                del self.removed[label]
            elif label not in before:
                self.added[label] = None
        for label in before:
            if label in self.added and label not in after:
                del self.added[label]
            elif label not in after:
                self.removed[label] = None
        self.last = change

    def entries(self, urn: Urn, kind: FeedKind, path: str | None = None) -> Iterator[FeedEntry]:
        if self.last is not None and (self.added or self.removed):
            at, actor = self.last.at, self.last.actor
            added, removed = tuple(self.added), tuple(self.removed)
            yield FeedEntry(urn, kind, at, actor, path, added=added, removed=removed)


def _label_entries(
    urn: Urn, events: Sequence["ChangeEvent"], kind: FeedKind
) -> Iterator[FeedEntry]:
    net = _LabelsNet()
    for change in events:
        net.note(_labels(change.previous, kind), _labels(change.value, kind), change)
    yield from net.entries(urn, kind)


def _labels(value: _Value | None, kind: FeedKind) -> tuple[str, ...]:
    """Return the labels in an aspect: URNs, addresses, or the note of a deprecation."""
    value = value or {}
    match kind:
        case "tags":
            labels = [record.get("tag") for record in _records(value.get("tags"))]
        case "terms":
            labels = [record.get("urn") for record in _records(value.get("terms"))]
        case "owners":
            labels = [record.get("owner") for record in _records(value.get("owners"))]
        case "domain":
            listed = value.get("domains")
            labels = list(listed) if isinstance(listed, list) else []
        case "links":
            labels = [record.get("url") for record in _records(value.get("elements"))]
        case _:
            note = _text(value, "note").strip()
            labels = [note or "deprecated"] if value.get("deprecated") else []
    return tuple(dict.fromkeys(label for label in labels if isinstance(label, str)))


def _records(listed: object) -> list[dict[str, Any]]:
    return (
        [record for record in listed if isinstance(record, dict)]
        if isinstance(listed, list)
        else []
    )


@dataclass(slots=True)
class _TextNet:
    """The first and the last text of one description, and the change that wrote the last."""

    before: str
    after: str
    last: "ChangeEvent"


def _column_entries(urn: Urn, events: Sequence["ChangeEvent"]) -> Iterator[FeedEntry]:
    """Yield the entries for edits of columns."""
    texts: dict[str, _TextNet] = {}
    labels: dict[tuple[str, FeedKind], _LabelsNet] = {}
    for change in events:
        old, new = _infos(change.previous), _infos(change.value)
        entries = written_entries(change.value), written_entries(change.previous)
        for column, earlier in earlier_paths(*entries).items():
            # A text that was moved to the present path of its column did not change.
            if _text(old[earlier], "description") == _text(new[column], "description"):
                old[column] = old.get(column, {}) | old.pop(earlier)
        for path in dict.fromkeys((*new, *old)):
            before, after = old.get(path, {}), new.get(path, {})
            if before == after:
                continue
            was, now = (_text(info, "description").strip() for info in (before, after))
            if was != now:
                net = texts.setdefault(path, _TextNet(was, now, change))
                net.after, net.last = now, change
            for kind, name in _COLUMN_LABELS.items():
                was_put, now_put = (_labels(info.get(name), kind) for info in (before, after))
                if was_put != now_put:
                    labels.setdefault((path, kind), _LabelsNet()).note(was_put, now_put, change)
    for path, text in texts.items():
        if text.before != text.after:
            at, actor = text.last.at, text.last.actor
            yield FeedEntry(urn, "description", at, actor, path, text.before, text.after)
    for (path, kind), put in labels.items():
        yield from put.entries(urn, kind, path)


def _infos(value: _Value | None) -> dict[str, dict[str, Any]]:
    listed = _records((value or {}).get("editableSchemaFieldInfo"))
    return {info["fieldPath"]: info for info in listed if isinstance(info.get("fieldPath"), str)}


def _fields(value: _Value | None) -> dict[str, dict[str, Any]]:
    listed = _records((value or {}).get("fields"))
    return {
        field_value["fieldPath"]: field_value
        for field_value in listed
        if isinstance(field_value.get("fieldPath"), str)
    }


def _schema_entries(
    urn: Urn, events: Sequence["ChangeEvent"], edited: _Value
) -> Iterator[FeedEntry]:
    """Yield the entries for changed columns; none for the first version of a schema."""
    last = events[-1]
    if events[0].previous is None:
        return
    old, new = _fields(events[0].previous), _fields(last.value)
    infos = _infos(at_present_paths(dict(edited or {}), new))
    texts = {path: _text(info, "description").strip() for path, info in infos.items()}
    renamed = likely_columns(old, new)
    was = {new_path: path for path, new_path in renamed.items()}
    for path, schema_field in old.items():
        if path not in new:
            text = texts.get(path, "")
            yield FeedEntry(
                urn,
                "orphaned text" if text else "column dropped",
                last.at,
                last.actor,
                path,
                before=_type(schema_field),
                edited=text,
                likely=renamed.get(path),
            )
    for path, schema_field in new.items():
        before = old.get(path)
        if before is None:
            yield FeedEntry(
                urn,
                "column added",
                last.at,
                last.actor,
                path,
                after=_type(schema_field),
                likely=was.get(path),
            )
            continue
        kinds: tuple[FeedKind, ...] = ("type", "ingested text")
        for kind in kinds:
            text_before, text_now = (
                _value_text(field_value, kind) for field_value in (before, schema_field)
            )
            if text_before != text_now:
                yield FeedEntry(
                    urn,
                    kind,
                    last.at,
                    last.actor,
                    path,
                    text_before,
                    text_now,
                    edited=texts.get(path, ""),
                )


def _value_text(column: _Value, kind: FeedKind) -> str:
    return _type(column) if kind == "type" else _text(column, "description").strip()


def _type(schema_field: _Value) -> str:
    """Return the native type of a column, else its generic type."""
    native = _text(schema_field, "nativeDataType").strip()
    inner = schema_field.get("type")
    inner = inner.get("type") if isinstance(inner, dict) else None
    kinds = [str(name).rpartition(".")[2] for name in inner] if isinstance(inner, dict) else []
    return native or (kinds[0] if kinds else "")


def likely_columns(old: Mapping[str, _Value], new: Mapping[str, _Value]) -> dict[str, str]:
    """Return the added column that each dropped column was probably renamed to, by field path.

    They have the same parent, and a similar name, type and position. `old` and `new` are the fields
    of the schemas by path, in order. No requests.
    """
    dropped = [path for path in old if path not in new]
    added = [path for path in new if path not in old]
    if not dropped or not added or len(dropped) * len(added) > _MOST_PAIRS:
        return {}
    sides = _neighbours(old, new), _neighbours(new, old)
    scored = [
        (score, path, new_path)
        for path in dropped
        for new_path in added
        if (score := _likeness(path, new_path, old, new, sides)) >= _LEAST_LIKELY
    ]
    # The sort is stable, so of equal scores the first in the schema wins.
    scored.sort(key=lambda candidate: -candidate[0])
    renamed: dict[str, str] = {}
    matched: set[str] = set()
    for _, path, candidate in scored:
        if path not in renamed and candidate not in matched:
            renamed[path] = candidate
            matched.add(candidate)
    return renamed


def _neighbours(
    fields: Mapping[str, _Value], others: Mapping[str, _Value]
) -> dict[str, tuple[str, str]]:
    """Return the nearest columns before and after each column that are in both schemas."""
    paths = list(fields)
    before, last = [], ""
    for path in paths:
        before.append(last)
        last = path if path in others else last
    after, last = [], ""
    for path in reversed(paths):
        after.append(last)
        last = path if path in others else last
    return {
        path: (first, second)
        for path, first, second in zip(paths, before, reversed(after), strict=True)
    }


def _likeness(
    old_path: str,
    new_path: str,
    old: Mapping[str, _Value],
    new: Mapping[str, _Value],
    sides: tuple[Mapping[str, tuple[str, str]], Mapping[str, tuple[str, str]]],
) -> float:
    """Return a score from 0 to 1 of how likely a column was renamed to another one."""
    old_field, new_field = FieldPath(old_path), FieldPath(new_path)
    if old_field.simple.rpartition(".")[0] != new_field.simple.rpartition(".")[0]:
        return 0.0
    names = _plain_name(old_field.name), _plain_name(new_field.name)
    similarity = SequenceMatcher(None, names[0], names[1], autojunk=False).ratio()
    # One name contains all words of the other: `city`, `ship_city`.
    words = [set(path.name.casefold().split("_")) for path in (old_field, new_field)]
    if words[0] <= words[1] or words[1] <= words[0]:
        similarity = max(similarity, 0.8)
    same_type = _type(old[old_path]) == _type(new[new_path])
    same_place = sides[0][old_path] == sides[1][new_path]
    texts = [
        _text(field_value, "description").strip() for field_value in (old[old_path], new[new_path])
    ]
    same_text = bool(texts[0]) and texts[0] == texts[1]
    return min(0.5 * similarity + 0.2 * same_type + 0.25 * same_place + 0.4 * same_text, 1.0)


def _plain_name(name: str) -> str:
    return "".join(char for char in name.casefold() if char.isalnum())
