"""Runs of a source: plan what changes in the catalog, and write it.

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
    find_shared_urns,
    find_source,
    read_sources,
    run_urns,
    schema_changes,
)
from explorer.sources.location import blame_package
from explorer.sources.source import Inventory, Progress, Source, SourceOptions

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
# Lists that people also add to: a run adds the source's elements and removes none.
_SHARED: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "globalTags": ("tags", ("tag",)),
    "glossaryTerms": ("terms", ("urn",)),
    "ownership": ("owners", ("owner", "type", "typeUrn")),
}


class ManyRemovals(InvalidInput):
    """So many of a source's datasets have disappeared that it may be broken; nothing was
    written."""


@dataclass(slots=True)
class RunPlan:
    """What a run would change. `effects` has what happens to each entity, `writes` the changes in
    order, `before` the source as configured so far, `None` for a new one, and `drift` how its
    tables changed since the last run."""

    source: ConfiguredSource
    inventory: Inventory
    before: ConfiguredSource | None
    effects: dict[Urn, Effect] = field(default_factory=dict)
    writes: list[Proposal] = field(default_factory=list)
    state: SeenState = field(default_factory=SeenState)
    drift: list[DriftEntry] = field(default_factory=list)

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
        """The number of datasets that disappear and the number there were, if at least four fifths
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
    """Read a source and return what a run of it would change. Nothing is written, except a record
    of the failure if a configured source cannot be read; with `dry_run`, not even that.

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
    plan = RunPlan(configured, inventory, before)
    if source.is_supplement:
        _compare_supplement(catalog, plan, progress)
        return plan
    sources = read_sources(catalog)
    last = before.state if before else SeenState()
    _compare(catalog, plan, find_shared_urns(sources, name, last.seen), progress)
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
    """Determine what happens to each entity. Entities that other sources, those in
    `sources_by_urn`, also provide are not hidden."""
    proposed = _by_entity(plan.inventory.proposals)
    last = plan.before.state if plan.before else SeenState()
    unreadable = _unreadable(plan.inventory, last)
    missing = [
        urn
        for urn in last.seen
        if Urn.parse(urn) not in proposed and urn not in unreadable and urn not in sources_by_urn
    ]
    names = sorted(
        {proposal.aspect for proposal in plan.inventory.proposals} | {"status"} | _find_drops(last)
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
                last.seen.get(text),
                unread=plan.inventory.unread.get(urn, ()),
                # An entity that the last run showed and that is hidden now was hidden by a person.
                shows=text not in last.seen or text in last.gone,
            )
            plan.effects[urn] = effect
            plan.writes += writes
            if urn.entity_type not in _COMMON:
                entities[text] = state
            if plan.before is not None and _is_dataset(urn):
                plan.drift += _drift(urn, effect, stored.get(urn), changes)
        done += len(part)
        progress("compared", done, total)
    stored = catalog.entities(missing, ["status"]) if missing else {}
    for urn in map(Urn.parse, missing):
        entity = stored.get(urn)
        if entity is None or not entity.exists:
            continue
        plan.effects[urn] = "gone"
        if _is_dataset(urn):
            plan.drift.append(DriftEntry(str(urn), "table gone"))
        if not _is_removed(entity):
            plan.writes.append(Proposal(urn, "status", {"removed": True}))
    plan.state = SeenState(entities, (last.gone | set(missing)) - entities.keys())


def _compare_supplement(catalog: Catalog, plan: RunPlan, progress: Progress) -> None:
    """Determine what is new for entities of other sources. Lineage is added to theirs; of measured
    values, only days are written for which the catalog has none or fewer queries."""
    last = plan.before.state if plan.before else SeenState()
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
            _, writes, state = _differences(entity, [*proposals, *_measurements(changes)], before)
            writes = [write for write in writes if not _is_measured(write.aspect) and write.value]
            if before is None or before.measured != state.measured:
                writes += _new_points(catalog, urn, _measurements(changes))
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


def _new_points(catalog: Catalog, urn: Urn, points: Sequence[Proposal]) -> list[Proposal]:
    """Return the days of usage for which the catalog has none or fewer queries. A day may be in two
    logs, its first half in one and its second half in the next."""
    if not points:
        return []
    first, last = (points[at].value["timestampMillis"] / 1_000 for at in (0, -1))
    series = catalog.timeseries(
        urn,
        points[0].aspect,
        start=datetime.fromtimestamp(first, UTC),
        end=datetime.fromtimestamp(last, UTC),
    )
    values_by_time = {value["timestampMillis"]: value for value in series.values}
    return [
        point
        for point in points
        if (stored := values_by_time.get(point.value["timestampMillis"])) is None
        or (
            int(stored.get("totalSqlQueries") or 0) <= point.value["totalSqlQueries"]
            and _plain(stored) | point.value != _plain(stored)
        )
    ]


def _join_lineage(stored: Mapping[str, Any] | None, value: Any) -> Any:
    """Return the stored lineage with the upstreams and column sources that it lacks."""
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


def _find_drops(last: SeenState) -> set[str]:
    return {name for entity in last.seen.values() for name in entity.aspects}


def _unreadable(inventory: Inventory, last: SeenState) -> set[str]:
    """Return the datasets of the last run that may be in parts that could not be read and, if there
    are any, all missing containers, since one of them may hold these datasets."""
    prefixes = tuple(part.prefix for part in inventory.skipped if part.prefix)
    if not prefixes:
        return set()
    urns = {proposal.urn for proposal in inventory.proposals}
    missing = [urn for urn in map(Urn.parse, last.seen) if urn not in urns]
    datasets = {str(urn) for urn in missing if _is_dataset(urn) and urn.name.startswith(prefixes)}
    containers = {str(urn) for urn in missing if urn.entity_type == "container"}
    return datasets | containers if datasets else set()


def _is_removed(entity: Entity | None) -> bool:
    return bool(entity and (entity.raw("status") or {}).get("removed"))


def _differences(
    stored: Entity | None,
    proposals: Sequence[Proposal],
    last: SeenEntity | None,
    *,
    unread: Iterable[str] = (),
    shows: bool = True,
) -> tuple[Effect, list[Proposal], SeenEntity]:
    """Return what happens to an entity, the changes to write, and the state to record for it.
    `unread` aspects stay unchanged; a soft-deleted entity is shown again only if `shows`."""
    exists = stored is not None and stored.exists
    before = last.given if last and exists else frozenset[str]()
    writes: list[Proposal] = []
    for proposal in proposals:
        if _is_measured(proposal.aspect):
            continue
        if proposal.aspect == "status" and _is_removed(stored) and not shows:
            continue
        stored_value = stored.raw(proposal.aspect) if stored else None
        if proposal.change != "UPSERT":
            writes += [proposal] if _has_effect(proposal, stored_value) else []
            continue
        value = _keep_others_entries(proposal.aspect, stored_value, proposal.value, before)
        if value is not None and (stored_value is None or _plain(stored_value) != _plain(value)):
            writes.append(replace(proposal, value=value))
    measured = [proposal for proposal in proposals if _is_measured(proposal.aspect)]
    checksum = zlib.crc32(orjson.dumps(list(map(_content, measured)))) if measured else None
    unread_aspects = set(last.aspects).intersection(unread) if last else set[str]()
    aspects = tuple(sorted({proposal.aspect for proposal in proposals} | unread_aspects))
    upserted = (proposal for proposal in proposals if proposal.change == "UPSERT")
    elements = (
        text for proposal in upserted for text in _elements_by_key(proposal.aspect, proposal.value)
    )
    state = SeenEntity(aspects, checksum, frozenset(elements))
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


def _elements_by_key(aspect: str, value: Any) -> dict[str, Any]:
    """Return the elements of a list that people also add to, by a text that identifies each; empty
    for any other aspect."""
    if aspect not in _SHARED or not value:
        return {}
    name, keys = _SHARED[aspect]
    return {
        " ".join((aspect, *(str(element.get(key) or "") for key in keys))): element
        for element in value.get(name) or ()
    }


def _keep_others_entries(
    aspect: str, stored: Mapping[str, Any] | None, value: Any, before: Collection[str]
) -> Any:
    """Return the value to write. For a list that people also add to, this is the stored list with
    the missing elements added; elements in `before` that are no longer stored were removed by a
    person and stay removed. `None` if nothing is added."""
    if aspect not in _SHARED:
        return value
    name, _ = _SHARED[aspect]
    elements_by_key = _elements_by_key(aspect, stored)
    added = [
        element
        for key, element in _elements_by_key(aspect, value).items()
        if key not in {*elements_by_key, *before}
    ]
    if not added:
        return None
    return {**(stored or value), name: [*((stored or {}).get(name) or ()), *added]}


def run_source(
    catalog: Catalog, plan: RunPlan, progress: Progress, *, accept_removals: bool = False
) -> RunOutcome:
    """Write the changes of a plan, the source and the run.

    One request per one or two hundred changes. Raises `ManyRemovals`, before anything is written,
    if four fifths of the source's datasets disappear and `accept_removals` is not set; and a
    `CatalogError` if the catalog cannot be written, after which another run writes what is missing.
    """
    if not accept_removals:
        plan.check_removals()
    started = _now_millis()
    run = SourceRun(_run_id(plan.source.name, started), "RUNNING", started)
    # The entities are recorded before anything is written, so that they belong to this source even
    # if the run is interrupted. Checksums of measured values are not recorded yet, so that the next
    # run writes the values that this one did not.
    last = plan.before.state if plan.before else SeenState()
    # Neither are new owners, tags and terms, so that one that was not written does not look as if a
    # person had removed it.
    entities_at_start = {
        urn: replace(entity, measured=None, given=_before(last, urn))
        for urn, entity in plan.state.seen.items()
    }
    source = replace(plan.source, state=last.merge(SeenState(entities_at_start, plan.state.gone)))
    _record(catalog, source, run)
    written_count, refused = 0, list[RefusedChange]()
    changes = [_of_run(write, run) for write in plan.writes]
    merged = ("upstreamLineage",) if plan.source.is_supplement else tuple(_SHARED)
    own = {
        (proposal.urn, proposal.aspect): proposal
        for proposal in plan.inventory.proposals
        if proposal.aspect in merged and proposal.change == "UPSERT"
    }
    try:
        for part in in_chunks(_entity_batches(changes), _BATCH):
            batch = [proposal for group in part for proposal in group]
            report = catalog.ingest_batch(_merge_again(catalog, plan, own, batch))
            written_count += report.written_count
            refused += report.refused
            progress("written", written_count + len(refused), len(changes))
        failed = {str(change.urn) for change in refused}
        entities = {
            urn: replace(entity, given=_before(last, urn)) if urn in failed else entity
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


def _before(last: SeenState, urn: str) -> frozenset[str]:
    return last.seen[urn].given if urn in last.seen else frozenset()


def _merge_again(
    catalog: Catalog,
    plan: RunPlan,
    own: Mapping[tuple[Urn, str], Proposal],
    batch: Sequence[Proposal],
) -> list[Proposal]:
    """Return the changes, with lists that people also add to and lineage merged again with the
    catalog's current values, which may have changed since the plan was made."""
    merged = {
        (proposal.urn, proposal.aspect) for proposal in batch if proposal.change != "DELETE"
    } & own.keys()
    if not merged:
        return list(batch)
    urns = sorted({urn for urn, _ in merged}, key=str)
    stored = catalog.entities(urns, sorted({aspect for _, aspect in merged}))
    last = plan.before.state if plan.before else SeenState()
    proposals = list[Proposal]()
    for proposal in batch:
        if (key := (proposal.urn, proposal.aspect)) not in merged or proposal.change != "UPSERT":
            proposals.append(proposal)
            continue
        entity, value = stored.get(proposal.urn), own[key].value
        stored_value = entity.raw(proposal.aspect) if entity else None
        if proposal.aspect in _SHARED:
            before = _before(last, str(proposal.urn)) if entity and entity.exists else frozenset()
            value = _keep_others_entries(proposal.aspect, stored_value, value, before)
        else:
            value = _join_lineage(stored_value, value)
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
    """What is removed with a source. `entities` are those that no other source provides."""

    source: ConfiguredSource
    entities: tuple[Urn, ...]
    runs: tuple[Urn, ...]


def plan_removal(catalog: Catalog, source: ConfiguredSource, *, is_hard: bool) -> Removal:
    """Return what is removed with a source; with `is_hard`, including entities that had disappeared
    from it before."""
    urns_of_source = {} if source.is_supplement else dict.fromkeys(source.state.seen)
    if is_hard:
        urns_of_source |= dict.fromkeys(sorted(source.state.gone))
    sources_by_urn = find_shared_urns(read_sources(catalog), source.name, urns_of_source)
    own_urns = [Urn.parse(urn) for urn in urns_of_source if urn not in sources_by_urn]
    # Contents are removed before their containers.
    own_urns.sort(key=lambda urn: urn.entity_type == "container")
    return Removal(source, tuple(own_urns), tuple(run_urns(catalog, source)))


def remove_source(
    catalog: Catalog, removal: Removal, progress: Callable[[int, int], None], *, is_hard: bool
) -> int:
    """Remove a source with all its entities, and return the number of entities removed.

    They are soft-deleted, so that their documentation is restored when the source is added again;
    with `is_hard` they are deleted permanently, one to three requests each. Raises a `CatalogError`
    if the catalog cannot be written; the next removal deletes the rest.
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
        hidden_urns = state.gone | {str(urn) for urn in urns}
        _send(catalog, replace(removal.source, state=SeenState(state.seen, hidden_urns)).proposal())
        visible_urns = [urn for urn in urns if not _is_removed(stored[urn])]
        for part in in_chunks(visible_urns, _BATCH):
            changes = (Proposal(urn, "status", {"removed": True}) for urn in part)
            catalog.ingest_batch([change.from_run(run_id, started) for change in changes])
            done += len(part)
            progress(done, len(visible_urns))
    for urn in (*removal.runs, removal.source.entity):
        catalog.delete(urn)
    return done
