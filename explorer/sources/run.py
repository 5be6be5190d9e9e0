"""Runs of a source: plan the changes to the catalog, and write them.

A run writes only after its source was read completely, so a run that fails part-way changes
nothing. Entities that were in the last run and are no longer in the source are soft-deleted: they
can be restored, and are shown again with their documentation once the source has them again.
"""

import secrets
import time
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from itertools import groupby
from typing import Any, Final, Literal

import orjson

from explorer.client import Catalog
from explorer.client.connection import in_chunks
from explorer.client.entity import Entity
from explorer.client.records import RefusedChange
from explorer.errors import CatalogError, InvalidInput, StorageFault
from explorer.metadata.patch import Patcher, read_patch
from explorer.metadata.proposal import Proposal
from explorer.metadata.registry import load_registry
from explorer.metadata.urn import Urn
from explorer.sources.configured import (
    ConfiguredSource,
    DriftEntry,
    SeenEntity,
    SeenState,
    SourceRun,
    find_labels,
    find_shared_urns,
    find_source,
    read_sources,
    run_urns,
    schema_changes,
)
from explorer.sources.location import blame_package
from explorer.sources.source import STATEMENTS, Inventory, Progress, Source, SourceOptions

Effect = Literal["new", "changed", "back", "unchanged", "gone"]

_BATCH: Final = 1_000
_GUARDED_SHARE: Final = 0.8
_STAMP: Final = {"time": 0, "actor": "urn:li:corpuser:unknown"}
# Entities shared by people and several sources: they are not hidden when one source no longer
# names them.
_COMMON: Final = frozenset(
    (
        *("tag", "glossaryTerm", "glossaryNode", "corpuser", "corpGroup", "domain", "dataProduct"),
        *("dataPlatform", "dataPlatformInstance", "structuredProperty", "ownershipType", "query"),
        *("dataProcessInstance", "form", "role"),
    )
)
# Lists of labels, which people also change, with what identifies their elements. A run adds those
# of the source, and removes those that an earlier run added and that the source no longer has.
_SHARED: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "globalTags": ("tags", ("tag",)),
    "glossaryTerms": ("terms", ("urn",)),
    "ownership": ("owners", ("owner", "type", "typeUrn")),
    "institutionalMemory": ("elements", ("url", "description")),
    "domains": ("domains", ()),
}


class ManyRemovals(InvalidInput):
    """Most of a source's datasets have disappeared, so that the source may be broken; nothing was
    written."""


@dataclass(slots=True)
class RunPlan:
    """The changes that a run would make. `effects` has the effect on each entity, `writes` the
    changes in order, `before` the source as configured so far, or `None` for a new one, and `drift`
    the changes of its tables since the last run. `labels_of_others` has the labels that entities
    have because of other sources."""

    source: ConfiguredSource
    inventory: Inventory
    before: ConfiguredSource | None
    effects: dict[Urn, Effect] = field(default_factory=dict)
    writes: list[Proposal] = field(default_factory=list)
    state: SeenState = field(default_factory=SeenState)
    drift: list[DriftEntry] = field(default_factory=list)
    labels_of_others: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def last(self) -> SeenState:
        """The state after the last run; empty for a new source."""
        return self.before.state if self.before else SeenState()

    @property
    def counts(self) -> dict[str, int]:
        """The number of entities by effect."""
        counts = Counter(self.effects.values())
        return {name: counts[name] for name in ("new", "changed", "back", "unchanged", "gone")}

    def of(self, effect: Effect) -> list[Urn]:
        """Return the entities with an effect."""
        return [urn for urn, effect_of_urn in self.effects.items() if effect_of_urn == effect]

    @property
    def removals(self) -> "tuple[int, int] | None":
        """The number of datasets that disappear and the total before, if at least four fifths
        disappear, which needs confirmation; otherwise `None`."""
        if self.before is None:
            return None
        had = self.before.state.count("dataset")
        lost = sum(urn.entity_type == "dataset" for urn in self.of("gone"))
        return (lost, had) if lost and lost >= _GUARDED_SHARE * had else None

    def check_removals(self) -> None:
        """Raise `ManyRemovals` if four fifths or more of the datasets disappear."""
        if self.removals is None:
            return
        (lost, had), name = self.removals, self.source.name
        raise ManyRemovals(
            f"{lost:,} of the {had:,} datasets of {name} no longer exist there, and nothing was "
            "written; if that is right, run it with --accept-removals: catalog sources run "
            f"{name} --accept-removals"
        )


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The result of a run: the number of aspects written, and the changes that the catalog
    refused."""

    run_id: str
    plan: RunPlan
    written_count: int
    refused: tuple[RefusedChange, ...] = ()


def plan_run(
    catalog: Catalog,
    name: str,
    source: Source,
    options: SourceOptions,
    progress: Progress,
    *,
    dry_run: bool = False,
) -> RunPlan:
    """Read a source and return the changes that a run would make. Nothing is written, except a
    record of the failure if a configured source cannot be read; with `dry_run`, not even that.

    One request per 150 entities. Raises a `CatalogError` if the source cannot be read, and
    `InvalidInput` if the name or a dataset belongs to another source, or if a new source has no
    tables.
    """
    before = find_source(catalog, name)
    if before is not None and (not before.is_own or before.location != source.location):
        place = before.location or "DataHub's own ingestion"
        raise InvalidInput(f"there is already a source {name}, of {place}; give another --name")
    if before is not None and before.kind != source.kind:
        raise InvalidInput(
            f"the source {name} reads {before.location} as {before.kind} and not as {source.kind}; "
            "give the options that it was added with, or another --name"
        )
    configured = ConfiguredSource.of(name, source, options)
    started = _now_millis()
    try:
        with blame_package(source):
            inventory = source.read_for(catalog, progress)
    except (CatalogError, OSError, EOFError, zlib.error) as error:
        if before is not None and not dry_run:
            run = SourceRun(_run_id(name, started), "FAILURE", started, report=str(error))
            _record(catalog, before, run)
        if isinstance(error, CatalogError):
            raise
        # The file is truncated, damaged or missing.
        raise StorageFault(f"{source.location} could not be read completely: {error}") from error
    if (
        before is None
        and not source.is_supplement
        and all(proposal.urn.entity_type == "container" for proposal in inventory.proposals)
    ):
        reason = f": {inventory.skipped[0].reason}" if inventory.skipped else ""
        raise InvalidInput(f"{source.location} has no tables{reason}; nothing was added")
    sources = read_sources(catalog)
    plan = RunPlan(configured, inventory, before, labels_of_others=find_labels(sources, name))
    if source.is_supplement:
        _compare_supplement(catalog, plan, progress)
        return plan
    _compare(catalog, plan, find_shared_urns(sources, name, plan.last.seen), progress)
    if source.shares_datasets:
        return plan
    proposed = {proposal.urn for proposal in inventory.proposals}
    sources_by_urn = find_shared_urns(
        sources, name, (str(urn) for urn in proposed if _is_dataset(urn))
    )
    if sources_by_urn:
        urn, owner = next(iter(sources_by_urn.items()))
        raise InvalidInput(
            f"{Urn.parse(urn).name} already comes from the source {owner}; give this one an "
            "--instance, which is put before the names of its tables"
        )
    return plan


def _is_dataset(urn: Urn) -> bool:
    return urn.entity_type == "dataset"


def _compare(
    catalog: Catalog, plan: RunPlan, sources_by_urn: Mapping[str, str], progress: Progress
) -> None:
    """Determine the effect on each entity and add it to the plan. Entities that other sources also
    provide, those in `sources_by_urn`, are not hidden."""
    proposed = _by_entity(plan.inventory.proposals)
    last = plan.last
    unreadable = _unreadable(plan.inventory, last)
    missing = [urn for urn in last.seen if Urn.parse(urn) not in proposed and urn not in unreadable]
    names = sorted(
        {proposal.aspect for proposal in plan.inventory.proposals} | {"status"} | _aspects_of(last)
    )
    aspects = [name for name in names if not _is_measured(name)]
    entities: dict[str, SeenEntity] = {urn: last.seen[urn] for urn in unreadable}
    done, total = 0, len(proposed)
    for part in in_chunks(proposed.items(), _BATCH):
        stored = catalog.entities([urn for urn, _ in part], aspects)
        for urn, changes in part:
            text = str(urn)
            effect, writes, state = _differences(
                stored.get(urn),
                changes,
                last.find(text),
                plan.labels_of_others.get(text, frozenset()),
                unread=plan.inventory.unread.get(urn, ()),
                # An entity that the last run showed and that is hidden now was hidden by a person.
                shows=text not in last.seen or text in last.gone,
            )
            plan.effects[urn] = effect
            plan.writes += writes
            if urn.entity_type not in _COMMON or state.own:
                entities[text] = state
            if plan.before is not None and _is_dataset(urn):
                plan.drift += _drift(urn, effect, stored.get(urn), changes)
        done += len(part)
        progress("compared", done, total)
    stored = catalog.entities(missing, ["status", *_SHARED]) if missing else {}
    disappeared = dict(last.gone)
    for urn in map(Urn.parse, missing):
        entity, text = stored.get(urn), str(urn)
        is_hidden = urn.entity_type not in _COMMON and text not in sources_by_urn
        if is_hidden:
            disappeared[text] = last.seen[text]
        if entity is None or not entity.exists:
            continue
        if is_hidden:
            plan.effects[urn] = "gone"
            if _is_dataset(urn):
                plan.drift.append(DriftEntry(text, "table gone"))
            if not _is_removed(entity):
                plan.writes.append(Proposal(urn, "status", {"removed": True}))
        elif writes := _remove_labels(entity, last.seen[text], plan.labels_of_others.get(text, ())):
            plan.effects[urn] = "changed"
            plan.writes += writes
    plan.state = SeenState(
        entities, {urn: entity for urn, entity in disappeared.items() if urn not in entities}
    )


def _compare_supplement(catalog: Catalog, plan: RunPlan, progress: Progress) -> None:
    """Determine the new lineage and usage for entities of other sources, and add it to the plan.
    Lineage is merged with the existing one. Usage is stored beside that of other sources, for days
    of which the catalog has none from this source, or fewer queries."""
    last = plan.last
    entities = dict(last.seen)
    proposed = _by_entity(plan.inventory.proposals)
    done, total = 0, len(proposed)
    for part in in_chunks(proposed.items(), _BATCH):
        stored = catalog.entities([urn for urn, _ in part], ["upstreamLineage", "status"])
        for urn, changes in part:
            entity, before = stored.get(urn), last.seen.get(str(urn))
            if entity is None or not entity.exists or _is_removed(entity):
                continue
            proposals = [change for change in changes if not _is_measured(change.aspect)]
            proposals = [
                replace(proposal, value=_join_lineage(entity.raw(proposal.aspect), proposal.value))
                for proposal in proposals
            ]
            points = [
                replace(point, value={**point.value, "messageId": plan.source.name})
                for point in _measurements(changes)
            ]
            other_labels = plan.labels_of_others.get(str(urn), frozenset())
            _, writes, state = _differences(entity, [*proposals, *points], before, other_labels)
            writes = [write for write in writes if not _is_measured(write.aspect) and write.value]
            if before is None or before.measured != state.measured:
                writes += _new_points(catalog, urn, points, is_new=before is None)
            plan.effects[urn] = "changed" if writes else "unchanged"
            plan.writes += writes
            entities[str(urn)] = state
        done += len(part)
        progress("compared", done, total)
    plan.state = SeenState(entities, last.gone)


@cache
def _is_measured(aspect: str) -> bool:
    """Return whether an aspect is a timeseries, whose values are stored by time instead of being
    replaced."""
    definition = load_registry().aspects.get(aspect)
    return definition is not None and definition.timeseries


def _is_full_value(proposal: Proposal, aspect: str) -> bool:
    return proposal.aspect == aspect and proposal.change != "PATCH"


def _drift(
    urn: Urn, effect: Effect, stored: Entity | None, changes: Iterable[Proposal]
) -> Iterator[DriftEntry]:
    if effect == "new":
        yield DriftEntry(str(urn), "table new")
    elif effect == "back":
        yield DriftEntry(str(urn), "table back")
    schema = next(
        (change.value for change in changes if _is_full_value(change, "schemaMetadata")), None
    )
    if stored is not None and schema is not None:
        yield from schema_changes(urn, stored.raw("schemaMetadata"), schema)


def _measurements(changes: Iterable[Proposal]) -> list[Proposal]:
    return [change for change in changes if _is_measured(change.aspect)]


def _new_points(
    catalog: Catalog, urn: Urn, points: Sequence[Proposal], *, is_new: bool
) -> list[Proposal]:
    """Return the days of usage of which the catalog has none from this source, or fewer queries.

    A day is left out if another source has already recorded exactly the same statements. `is_new`
    says that this source has no usage of the dataset yet.
    """
    if not points:
        return []
    first, last = (points[at].value["timestampMillis"] / 1_000 for at in (0, -1))
    series = catalog.timeseries(
        urn,
        points[0].aspect,
        start=datetime.fromtimestamp(first, UTC),
        end=datetime.fromtimestamp(last, UTC),
    )
    systems = series.systems or ({},) * len(series.values)
    stored = [
        (value, (system.get("properties") or {}).get(STATEMENTS))
        for value, system in zip(series.values, systems, strict=True)
    ]
    stored_by_time = {
        millis: list(pairs)
        for millis, pairs in groupby(stored, key=lambda pair: pair[0]["timestampMillis"])
    }
    return [
        new
        for point in points
        if (
            new := _new_point(
                point, stored_by_time.get(point.value["timestampMillis"], ()), is_new=is_new
            )
        )
    ]


def _new_point(
    point: Proposal, stored: Iterable[tuple[dict[str, Any], Any]], *, is_new: bool
) -> Proposal | None:
    """Return the point to write, or `None`. `stored` are the points with the same time, each with
    the value that identifies its statements."""
    name, properties = point.value["messageId"], (point.system or {}).get("properties") or {}
    value_by_name: dict[str, dict[str, Any]] = {}
    for value, statements in stored:
        other = value.get("messageId") or ""
        value_by_name[other] = value
        if other != name and statements and statements == properties.get(STATEMENTS):
            return None
    own = value_by_name.get(name)
    unnamed = value_by_name.get("")
    if own is None and unnamed is not None and not is_new and not _exceeds(unnamed, point):
        # Sources did not name their points before: this one is likely its own.
        own, unnamed_value = unnamed, {**point.value}
        del unnamed_value["messageId"]
        point = replace(point, value=unnamed_value)
    if own is not None and (_exceeds(own, point) or _plain(own) | point.value == _plain(own)):
        return None
    return point


def _exceeds(stored: Mapping[str, Any], point: Proposal) -> bool:
    return int(stored.get("totalSqlQueries") or 0) > int(point.value["totalSqlQueries"])


def _join_lineage(stored: Mapping[str, Any] | None, value: Any) -> Any:
    """Return the stored lineage, with the upstreams and column sources of `value` added that it
    lacks."""
    if not stored:
        return value
    tables = {upstream["dataset"] for upstream in stored.get("upstreams") or ()}
    fine = list(stored.get("fineGrainedLineages") or ())
    sources_by_column: dict[str, set[str]] = {}
    for entry in fine:
        for column in entry.get("downstreams") or ():
            sources_by_column.setdefault(column, set()).update(entry.get("upstreams") or ())
    upstreams = [upstream for upstream in value["upstreams"] if upstream["dataset"] not in tables]
    for entry in value.get("fineGrainedLineages") or ():
        (column,) = entry["downstreams"]
        missing = [
            urn for urn in entry["upstreams"] if urn not in sources_by_column.get(column, ())
        ]
        if missing:
            fine.append({**entry, "upstreams": missing})
    joined = {**stored, "upstreams": [*(stored.get("upstreams") or ()), *upstreams]}
    return joined | ({"fineGrainedLineages": fine} if fine else {})


def _by_entity(proposals: Iterable[Proposal]) -> dict[Urn, list[Proposal]]:
    proposals_by_urn: dict[Urn, list[Proposal]] = {}
    for proposal in proposals:
        proposals_by_urn.setdefault(proposal.urn, []).append(proposal)
    return proposals_by_urn


def _aspects_of(last: SeenState) -> set[str]:
    return {
        name
        for entities in (last.seen, last.gone)
        for entity in entities.values()
        for name in entity.aspects
    }


def _unreadable(inventory: Inventory, last: SeenState) -> set[str]:
    """Return the datasets of the last run that may be in parts that could not be read and, if there
    are any such parts, all missing containers, which may contain these datasets, and all missing
    entities that sources share."""
    prefixes = tuple(part.prefix for part in inventory.skipped if part.prefix)
    if not prefixes:
        return set()
    urns = {proposal.urn for proposal in inventory.proposals}
    missing = [urn for urn in map(Urn.parse, last.seen) if urn not in urns]
    datasets = {str(urn) for urn in missing if _is_dataset(urn) and urn.name.startswith(prefixes)}
    shared = {str(urn) for urn in missing if urn.entity_type in ("container", *_COMMON)}
    return datasets | shared if datasets else set()


def _is_removed(entity: Entity | None) -> bool:
    return bool(entity and (entity.raw("status") or {}).get("removed"))


def _differences(
    stored: Entity | None,
    proposals: Sequence[Proposal],
    last: SeenEntity | None,
    other_labels: Collection[str],
    *,
    unread: Iterable[str] = (),
    shows: bool = True,
) -> tuple[Effect, list[Proposal], SeenEntity]:
    """Return the effect on an entity, the changes to write, and the state to record for it.
    `other_labels` are the labels that it has because of other sources. The aspects in `unread` stay
    unchanged; a soft-deleted entity is shown again only if `shows` is set."""
    exists = stored is not None and stored.exists
    before = last if last and exists else SeenEntity()
    writes: list[Proposal] = []
    labels, rest = _split_labels(proposals)
    for proposal in rest:
        if _is_measured(proposal.aspect):
            continue
        if proposal.aspect == "status" and _is_removed(stored) and not shows:
            continue
        stored_value = stored.raw(proposal.aspect) if stored else None
        if proposal.change != "UPSERT":
            writes += [proposal] if _has_effect(proposal, stored_value) else []
        elif stored_value is None or _plain(stored_value) != _plain(proposal.value):
            writes.append(proposal)
    measured = [proposal for proposal in proposals if _is_measured(proposal.aspect)]
    checksum = zlib.crc32(orjson.dumps(list(map(_content, measured)))) if measured else None
    unread_aspects = set(before.aspects).intersection(unread)
    aspects = tuple(sorted({proposal.aspect for proposal in proposals} | unread_aspects))
    given_labels, own_labels = set[str](), set[str]()
    for aspect in _SHARED:
        if aspect in unread_aspects:
            given_labels |= _of_aspect(before.given, aspect)
            own_labels |= _of_aspect(before.own, aspect)
            continue
        label_proposal = labels.get(aspect) or Proposal(proposals[0].urn, aspect, {})
        stored_value = stored.raw(aspect) if stored else None
        value, own = _merge_labels(aspect, stored_value, label_proposal.value, before, other_labels)
        given_labels |= _elements_by_key(aspect, label_proposal.value).keys()
        own_labels |= own
        if value is not None:
            writes.append(replace(label_proposal, value=value))
    state = SeenEntity(aspects, checksum, frozenset(given_labels), frozenset(own_labels))
    if last and stored:
        # Aspects that the source no longer has: a view that became a table has no definition.
        dropped = [name for name in last.aspects if name not in (*aspects, *_SHARED)]
        writes += (
            Proposal(stored.urn, name, change="DELETE") for name in dropped if stored.raw(name)
        )
    is_measured_anew = measured and (last is None or last.measured != checksum or not exists)
    effect: Effect = "unchanged"
    if not exists:
        effect = "new"
    elif _is_removed(stored) and any(write.aspect == "status" for write in writes):
        effect = "back"
    elif writes or is_measured_anew:
        effect = "changed"
    return effect, [*writes, *(measured if is_measured_anew else ())], state


def _has_effect(proposal: Proposal, stored: Mapping[str, Any] | None) -> bool:
    """Return whether a change other than UPSERT alters the stored value."""
    if proposal.change == "DELETE":
        return stored is not None
    if proposal.change != "PATCH":
        # CREATE has no effect on an existing aspect.
        return stored is None
    patcher = Patcher(load_registry())
    try:
        patch, before = read_patch(proposal.value), deepcopy(dict(stored)) if stored else None
        if before is None:
            return not patch.only_removes
        return bool(_plain(patcher.apply(proposal.aspect, before, patch, _STAMP)) != _plain(stored))
    except CatalogError:
        # The write reports why the patch cannot be applied.
        return True


def _content(measured: Proposal) -> Any:
    """Return a measured value without the time of measurement, which differs with each run."""
    if measured.aspect != "datasetProfile":
        return measured.value
    return {key: element for key, element in measured.value.items() if key != "timestampMillis"}


def _plain(value: Any) -> Any:
    """Return a value without nulls, which mean that a field is absent."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items() if part is not None}
    return [_plain(part) for part in value] if isinstance(value, list) else value


def _split_labels(
    proposals: Iterable[Proposal],
) -> tuple[dict[str, Proposal], list[Proposal]]:
    """Return the proposals of labels, merged into one for each aspect, and the other proposals.
    Patches that only add labels count as proposals of labels."""
    labels: dict[str, Proposal] = {}
    rest: list[Proposal] = []
    for proposal in proposals:
        value = _proposed_labels(proposal)
        if value is None:
            rest.append(proposal)
            continue
        if proposal.aspect in labels:
            elements = _elements_by_key(proposal.aspect, labels[proposal.aspect].value)
            elements |= _elements_by_key(proposal.aspect, value)
            value = {**value, _SHARED[proposal.aspect][0]: list(elements.values())}
        labels[proposal.aspect] = replace(proposal, change="UPSERT", value=value)
    return labels, rest


def _proposed_labels(proposal: Proposal) -> dict[str, Any] | None:
    """Return the aspect value with the labels that a proposal adds, or `None` if it is not about
    labels, or also removes some."""
    if proposal.aspect not in _SHARED or proposal.change not in ("UPSERT", "PATCH"):
        return None
    if proposal.change == "UPSERT":
        return dict(proposal.value)
    patcher = Patcher(load_registry())
    try:
        patch = read_patch(proposal.value)
        if any(operation.op != "add" for operation in patch.operations):
            return None
        empty = patcher.start(proposal.aspect, _STAMP)
        return dict(patcher.apply(proposal.aspect, empty, patch, _STAMP))
    except CatalogError:
        # The write reports why the patch cannot be applied.
        return None


def _element_key(aspect: str, element: Any) -> str:
    _, keys = _SHARED[aspect]
    parts = [str(element.get(key) or "") for key in keys] if keys else [str(element)]
    return " ".join((aspect, *parts))


def _elements_by_key(aspect: str, value: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the labels in the value of an aspect, by a text that identifies each."""
    name, _ = _SHARED[aspect]
    elements = (value or {}).get(name) or ()
    return {_element_key(aspect, element): element for element in elements}


def _of_aspect(labels: Iterable[str], aspect: str) -> set[str]:
    return {label for label in labels if label.startswith(f"{aspect} ")}


def _merge_labels(
    aspect: str,
    stored: Mapping[str, Any] | None,
    proposed: Mapping[str, Any],
    last: SeenEntity,
    other_labels: Collection[str],
) -> tuple[dict[str, Any] | None, set[str]]:
    """Return the value to write, `None` if nothing changes, and the labels in it that the entity
    has only because of the source.

    The proposed labels are added to the stored ones, except those that the last run added and a
    person removed. Those that the entity had because of the source and that are no longer proposed
    are removed, unless it also has them because of `other_labels`. An entity keeps a domain that
    did not come from this source.
    """
    name, _ = _SHARED[aspect]
    stored_elements, elements = _elements_by_key(aspect, stored), _elements_by_key(aspect, proposed)
    dropped = _of_aspect(last.own, aspect) - elements.keys() - set(other_labels)
    added = elements.keys() - stored_elements.keys() - last.given
    if aspect == "domains" and stored_elements.keys() - dropped:
        added = set()
    own = {
        label
        for label in elements
        if label in added
        or (
            label in stored_elements
            and (label in last.own or (label in other_labels and label not in last.given))
        )
    }
    if not added and not dropped & stored_elements.keys():
        return None, own
    remaining = [
        element
        for element in (stored or {}).get(name) or ()
        if _element_key(aspect, element) not in dropped
    ]
    new = [element for label, element in elements.items() if label in added]
    return {**(stored or proposed), name: [*remaining, *new]}, own


def _remove_labels(
    stored: Entity, last: SeenEntity, other_labels: Collection[str]
) -> list[Proposal]:
    """Return the changes that remove the labels which an entity has only because of a source."""
    values = {
        aspect: _merge_labels(aspect, stored.raw(aspect), {}, last, other_labels)[0]
        for aspect in _SHARED
    }
    return [
        Proposal(stored.urn, aspect, value) for aspect, value in values.items() if value is not None
    ]


def run_source(
    catalog: Catalog, plan: RunPlan, progress: Progress, *, accept_removals: bool = False
) -> RunOutcome:
    """Write the changes of a plan, the configured source, and the record of the run.

    One request per two to four hundred changes. Raises `ManyRemovals`, before anything is written,
    if four fifths of the source's datasets disappear and `accept_removals` is not set; and a
    `CatalogError` if the catalog cannot be written, the next run then writes the missing changes.
    """
    if not accept_removals:
        plan.check_removals()
    started = _now_millis()
    run = SourceRun(_run_id(plan.source.name, started), "RUNNING", started)
    # The entities are recorded before anything is written, so that they belong to this source even
    # if the run is interrupted. Checksums of measured values are not recorded yet, so that the next
    # run writes the values that this one did not.
    last = plan.last
    entities_at_start = {
        urn: replace(_unwritten(last, urn, entity), measured=None)
        if urn not in last.seen
        else replace(last.seen[urn], own=last.seen[urn].own | entity.own)
        for urn, entity in plan.state.seen.items()
    }
    state = SeenState({**last.seen, **entities_at_start}, {**last.gone, **plan.state.gone})
    source = replace(plan.source, state=state)
    _record(catalog, source, run)
    written_count, refused = 0, list[RefusedChange]()
    changes = [_of_run(write, run) for write in plan.writes]
    own = _merged_values(plan)
    try:
        for part in in_chunks(_entity_batches(changes), _BATCH):
            batch = [proposal for group in part for proposal in group]
            report = catalog.ingest_batch(_merge_again(catalog, plan, own, batch))
            written_count += report.written_count
            refused += report.refused
            progress("written", written_count + len(refused), len(changes))
        failed = {str(change.urn) for change in refused}
        entities = {
            urn: _unwritten(last, urn, entity) if urn in failed else entity
            for urn, entity in plan.state.seen.items()
        }
        state = SeenState(entities, plan.state.gone)
        _send(catalog, replace(plan.source, state=state).proposal())
    except BaseException as error:
        _finish(catalog, run, "FAILURE", plan, str(error) or "it was interrupted", written_count)
        raise
    report_lines = [f"{part.subject}: {part.reason}" for part in plan.inventory.skipped]
    report_lines += [
        f"{change.urn} {change.aspect} was refused: {change.reason}" for change in refused
    ]
    _finish(catalog, run, "SUCCESS", plan, "\n".join(report_lines), written_count, len(refused))
    return RunOutcome(run.id, plan, written_count, tuple(refused))


def _unwritten(last: SeenState, urn: str, entity: SeenEntity) -> SeenEntity:
    """Return the state to record before an entity's labels are written. If they are not written,
    the next run does not conclude that a person removed them; if they are, it still knows that they
    came from this source."""
    before = last.find(urn) or SeenEntity()
    return replace(entity, given=before.given, own=before.own | entity.own)


def _merged_values(plan: RunPlan) -> dict[tuple[Urn, str], Any]:
    """Return the values to merge with those in the catalog, by entity and aspect: labels and, for a
    supplement, lineage."""
    values: dict[tuple[Urn, str], Any] = {}
    for urn, proposals in _by_entity(plan.inventory.proposals).items():
        labels, rest = _split_labels(proposals)
        values |= {(urn, aspect): proposal.value for aspect, proposal in labels.items()}
        if plan.source.is_supplement:
            lineage = (proposal for proposal in rest if _is_full_value(proposal, "upstreamLineage"))
            values |= {(urn, proposal.aspect): proposal.value for proposal in lineage}
    return values


def _merge_again(
    catalog: Catalog,
    plan: RunPlan,
    own: Mapping[tuple[Urn, str], Any],
    batch: Sequence[Proposal],
) -> list[Proposal]:
    """Return the changes, with labels and lineage merged again with the catalog's current values,
    which may have changed since the plan was made."""
    merged = {
        (proposal.urn, proposal.aspect)
        for proposal in batch
        if proposal.change == "UPSERT"
        and (proposal.aspect in _SHARED or (proposal.urn, proposal.aspect) in own)
    }
    if not merged:
        return list(batch)
    urns = sorted({urn for urn, _ in merged}, key=str)
    stored = catalog.entities(urns, sorted({aspect for _, aspect in merged}))
    proposals = list[Proposal]()
    for proposal in batch:
        if (key := (proposal.urn, proposal.aspect)) not in merged or proposal.change != "UPSERT":
            proposals.append(proposal)
            continue
        entity, text = stored.get(proposal.urn), str(proposal.urn)
        stored_value = entity.raw(proposal.aspect) if entity else None
        if proposal.aspect in _SHARED:
            last = plan.last.find(text) if entity and entity.exists else None
            other_labels = plan.labels_of_others.get(text, frozenset())
            value, _ = _merge_labels(
                proposal.aspect, stored_value, own.get(key, {}), last or SeenEntity(), other_labels
            )
        else:
            value = _join_lineage(stored_value, own[key])
        if value is not None and (stored_value is None or _plain(stored_value) != _plain(value)):
            proposals.append(replace(proposal, value=value))
    return proposals


def _entity_batches(changes: Sequence[Proposal]) -> Iterator[list[Proposal]]:
    for _, group in groupby(changes, key=lambda proposal: proposal.urn):
        yield list(group)


def _of_run(proposal: Proposal, run: SourceRun) -> Proposal:
    value = proposal.value
    if proposal.aspect == "datasetProfile":
        value = {"timestampMillis": run.started_millis, **value}
    return replace(proposal, value=value).from_run(run.id, run.started_millis)


def _finish(
    catalog: Catalog,
    run: SourceRun,
    status: str,
    plan: RunPlan,
    report: str,
    written_count: int,
    refused_count: int = 0,
) -> None:
    counts = {**plan.inventory.kinds, **plan.counts}
    counts |= {
        "written": written_count,
        "refused": refused_count,
        "skipped": len(plan.inventory.skipped),
    }
    duration = _now_millis() - run.started_millis
    done = replace(
        run,
        status=status,
        duration_millis=duration,
        counts=counts,
        report=report,
        drift=tuple(plan.drift),
    )
    try:
        _send(catalog, done.result_proposal())
    except CatalogError:
        if status == "SUCCESS":
            raise
        # The run has failed already, and its error is reported.


def _record(catalog: Catalog, source: ConfiguredSource, run: SourceRun) -> None:
    changes = [source.proposal(), run.input_proposal(source), run.result_proposal()]
    for change in changes:
        _send(catalog, change)


def _send(catalog: Catalog, change: Proposal) -> None:
    catalog.ingest(change)


def _now_millis() -> int:
    return time.time_ns() // 1_000_000


def _run_id(name: str, started_millis: int) -> str:
    at = datetime.fromtimestamp(started_millis / 1_000, UTC)
    return f"{name}-{at:%Y_%m_%d-%H_%M_%S}-{secrets.token_hex(3)}"


@dataclass(frozen=True, slots=True)
class Removal:
    """The things removed together with a source. `entities` are the entities that no other source
    provides; `labels_of_others` has the labels that entities have because of other sources."""

    source: ConfiguredSource
    entities: tuple[Urn, ...]
    runs: tuple[Urn, ...]
    labels_of_others: Mapping[str, frozenset[str]] = field(default_factory=dict)


def plan_removal(catalog: Catalog, source: ConfiguredSource, *, is_hard: bool) -> Removal:
    """Return the things to remove with a source; with `is_hard`, including entities that had
    disappeared from it before."""
    urns_of_source = {} if source.is_supplement else dict.fromkeys(source.state.seen)
    if is_hard:
        urns_of_source |= dict.fromkeys(sorted(source.state.gone))
    sources = read_sources(catalog)
    sources_by_urn = find_shared_urns(sources, source.name, urns_of_source)
    own_urns = [
        urn
        for urn in map(Urn.parse, urns_of_source)
        if urn.entity_type not in _COMMON and str(urn) not in sources_by_urn
    ]
    # Contents are removed before their containers.
    own_urns.sort(key=lambda urn: urn.entity_type == "container")
    runs = tuple(run_urns(catalog, source))
    return Removal(source, tuple(own_urns), runs, find_labels(sources, source.name))


def remove_source(
    catalog: Catalog, removal: Removal, progress: Callable[[int, int], None], *, is_hard: bool
) -> int:
    """Remove a source with all its entities, and with all labels that other entities have because
    of it. Return the number of entities removed.

    The entities are soft-deleted, so that their documentation is restored when the source is added
    again; with `is_hard` they are deleted permanently, one to three requests each. Raises a
    `CatalogError` if the catalog cannot be written; the next removal deletes the rest.
    """
    stored = catalog.entities(removal.entities, ["status"])
    urns = [urn for urn in removal.entities if (entity := stored.get(urn)) and entity.exists]
    started = _now_millis()
    run_id = _run_id(f"remove-{removal.source.name}", started)
    done = 0
    if is_hard:
        for urn in urns:
            catalog.delete(urn)
            done += 1
            progress(done, len(urns))
    else:
        # If the removal is interrupted, the next run shows the hidden entities again.
        state = removal.source.state
        hidden = {str(urn): state.find(str(urn)) or SeenEntity() for urn in urns}
        hidden = {**state.gone, **hidden}
        _send(catalog, replace(removal.source, state=SeenState(state.seen, hidden)).proposal())
        visible_urns = [urn for urn in urns if not _is_removed(stored[urn])]
        for part in in_chunks(visible_urns, _BATCH):
            hiding = (Proposal(urn, "status", {"removed": True}) for urn in part)
            catalog.ingest_batch([change.from_run(run_id, started) for change in hiding])
            done += len(part)
            progress(done, len(visible_urns))
    state = removal.source.state
    labelled = {
        Urn.parse(text): entity
        for text, entity in {**state.gone, **state.seen}.items()
        if entity.own
    }
    for part in in_chunks(
        sorted(labelled.keys() - (set(urns) if is_hard else set()), key=str), _BATCH
    ):
        changes = [
            change.from_run(run_id, started)
            for urn, entity in catalog.entities(part, list(_SHARED)).items()
            for change in _remove_labels(
                entity, labelled[urn], removal.labels_of_others.get(str(urn), ())
            )
        ]
        if changes:
            catalog.ingest_batch(changes)
    for urn in (*removal.runs, removal.source.entity):
        catalog.delete(urn)
    return done
