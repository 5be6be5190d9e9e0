"""The endpoints to which OpenLineage clients post their events."""

import logging
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import orjson
from msgspec import Struct
from msgspec.structs import replace
from starlette.responses import Response

from explorer.errors import CatalogError, InvalidInput
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from explorer.server.catalog import CatalogEngine
from explorer.server.failures import RequestRefusal, status_of
from explorer.server.ingestion import CheckedProposal, aspects_to_write
from explorer.server.openlineage import (
    GIVEN,
    PIPELINE,
    TIMESERIES,
    AspectChange,
    Event,
    Instances,
    Memory,
    leave_out_removed,
    merge_change,
    read_event,
)
from explorer.server.restli import Endpoint, JsonResponse, Parameter, RestliRequest, Routes
from explorer.server.routes import ALL_OR_NONE, BATCHED, all_or_none
from explorer.server.store import StoredAspect, Transaction

_log = logging.getLogger(__name__)
_PATH = "/api/v1/lineage"
# The prefix under which DataHub serves the endpoints.
_PREFIX = "/openapi/openlineage"
_LONG_BATCH = 10
_LONG_BYTES = 1 << 16
_MOST_EVENT_BYTES = 8 << 20
_MOST_EVENTS = 1_000
_MOST_NAMED = 20
_MOST_TOLD = 20
_MOST_BATCH_PATHS = 16_000_000
_DAY_MILLIS = 86_400_000
_RELATIONS = "dataProcessInstanceRelationships"
# The property in the system metadata of an aspect with the time of its latest event.
_EVENT_TIME = "eventTime"
_EVENT_TIME_IN = re.compile(rb'"eventTime":"(-?\d+)"')
_EDITED = (
    "deprecation",
    "domains",
    "editableDatasetProperties",
    "editableSchemaMetadata",
    "globalTags",
    "glossaryTerms",
    "institutionalMemory",
    "ownership",
    "structuredProperties",
)

_PRODUCER = "https://github.com/OpenLineage/OpenLineage/tree/1.54.0/client/python"
_EXAMPLE = {
    "eventType": "COMPLETE",
    "eventTime": "2024-05-01T12:00:00Z",
    "producer": _PRODUCER,
    "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
    "run": {"runId": "01909d9f-0000-7000-8000-000000000001"},
    "job": {"namespace": "example", "name": "daily.orders"},
    "inputs": [{"namespace": "postgres://db:5432", "name": "shop.public.orders"}],
    "outputs": [{"namespace": "s3://lake", "name": "orders/daily"}],
}
_KINDS = {
    "eventType": "string, START, RUNNING, COMPLETE, ABORT, FAIL or OTHER, of a run's event",
    "eventTime": "time",
    "producer": "string",
    "schemaURL": "string",
    "run": "object, with runId and facets; of a run's event",
    "job": "object, with namespace, name and facets; of a run's event and a job's",
    "inputs": "array of datasets",
    "outputs": "array of datasets",
}
_GIVES = (
    "nothing: 200 and an empty body. Malformed facets are left out; if there are any, ignored has "
    "a text for each, with its path and what is wrong"
)
_NOTES = (
    "A RunEvent, a JobEvent (a job, and no run) or a DatasetEvent (a dataset, and no run), of "
    "OpenLineage 2-0-2. A job becomes a dataJob in a dataFlow, a run a dataProcessInstance, and a "
    "dataset's platform and name follow from its namespace, as DataHub maps them. Hosts and "
    "accounts are not in the URN, but the platform instance that catalog serve "
    "--openlineage-instance gives a namespace is, before the name; datasets of hosts without one "
    "are the same if their names are, and the log tells of them.",
    "What events tell adds up, whichever comes first: inputs, outputs, columns, owners and tags "
    "are added to what is stored, and none is taken away; a schema that events alone wrote has the "
    "columns that the last one said. Of what replaces something, such as that a dataset was "
    "dropped, the time of the event decides, and not when it arrives. What people edit is not "
    "touched, and an owner or tag that they took off is not added again while the versions of the "
    "aspect tell it.",
    "Facets that the model has no aspect for become custom properties, unknown ones whole, as "
    "JSON, each 20,000 characters at most. What looks like a secret becomes ***, and a "
    "literal of a job's SQL becomes ?.",
    "The run id in systemMetadata is that of the run, and openlineage-<day> for other events.",
    "The body may be packed: Content-Encoding: gzip.",
)


_Changes = Sequence[tuple[AspectChange, CheckedProposal]]


class _Held(Struct, frozen=True):
    """The value of an aspect, whether OpenLineage events wrote it (`is_own`), and the time of the
    latest event that wrote it, if known.

    `stored` is the JSON of the stored value; it is empty after an event of the same request has
    replaced the value by `changed`, which must not be modified.
    """

    is_own: bool
    event_millis: int | None
    stored: bytes = b""
    changed: Any = None

    def content(self) -> Any:
        """Return the parsed value."""
        return orjson.loads(self.stored) if self.stored else self.changed


class _Checked(Struct, frozen=True):
    """An event whose changes have all been checked.

    `from_parent` is the edge from the job of the parent run, if there is one.
    """

    event: Event
    system: dict[str, Any]
    actor: str
    changes: tuple[tuple[AspectChange, CheckedProposal], ...]
    from_parent: CheckedProposal | None


class OpenLineageRoutes(Routes):
    """The endpoints `/api/v1/lineage` and `/openapi/openlineage/api/v1/lineage`, each with its
    `batch`."""

    def __init__(self, catalog: CatalogEngine, instances: Instances | None = None) -> None:
        super().__init__(catalog)
        self._memory = Memory(instances)

    def endpoints(self) -> Iterator[Endpoint]:
        """Yield each endpoint at both addresses."""
        for endpoint in super().endpoints():
            yield endpoint
            yield replace(endpoint, path=_PREFIX + endpoint.path)

    @Endpoint(
        "POST",
        _PATH,
        "take an event of OpenLineage",
        role="editor",
        parameters=tuple(
            Parameter(
                name, kind.partition(",")[0], kind, _EXAMPLE[name], required=name == "eventTime"
            )
            for name, kind in _KINDS.items()
        ),
        gives=_GIVES,
        notes=_NOTES,
    )
    async def _post(self, request: RestliRequest) -> Response:
        json = await request.json(_MOST_EVENT_BYTES, _runs_in)
        if request.context.body_bytes > _LONG_BYTES:
            checked = await self._catalog.offload(self._check, json, request.actor)
        else:
            checked = self._check(json, request.actor)
        await self._catalog.write(lambda view: self._write(view, [checked]))
        return _answer(checked.event.ignored)

    @Endpoint(
        "POST",
        f"{_PATH}/batch",
        "take several events of OpenLineage, in order",
        role="editor",
        parameters=(
            *(
                Parameter(name, "any", "a list of events is the body", _EXAMPLE[name])
                for name in ("eventTime", "job")
            ),
            ALL_OR_NONE,
        ),
        gives=_GIVES,
        notes=("The body is a list of events, 1,000 at most; a single one will do.", BATCHED),
    )
    async def _post_batch(self, request: RestliRequest) -> Response:
        json = await request.json(find_urns=_runs_in)
        events = json if isinstance(json, list) else [json]
        if len(events) > _MOST_EVENTS:
            raise RequestRefusal(
                413, f"the batch has {len(events)} events; send {_MOST_EVENTS} at most at once"
            )

        def check() -> list[_Checked | RequestRefusal]:
            checks: list[_Checked | RequestRefusal] = []
            characters = 0
            for at, event in enumerate(events):
                try:
                    if characters > _MOST_BATCH_PATHS:
                        raise InvalidInput(
                            f"the paths of the columns of the events before it have more than "
                            f"{_MOST_BATCH_PATHS} characters; send fewer events at once"
                        )
                    checks.append(check := self._check(event, request.actor))
                    characters += check.event.path_characters
                except CatalogError as error:
                    checks.append(RequestRefusal(status_of(error), f"events[{at}]: {error}"))
            return checks

        is_long = len(events) > _LONG_BATCH or request.context.body_bytes > _LONG_BYTES
        checked = await self._catalog.offload(check) if is_long else check()
        refusals = [event for event in checked if isinstance(event, RequestRefusal)]
        if refusals and all_or_none(request):
            raise refusals[0]
        good = [event for event in checked if isinstance(event, _Checked)]

        await self._catalog.write(lambda view: self._write(view, good))
        if refusals:
            reasons = "; ".join(str(refusal) for refusal in refusals[:20])
            raise RequestRefusal(
                refusals[0].status,
                f"{len(refusals)} of {len(events)} were refused, the other {len(good)} were "
                f"written: {reasons}",
            )
        return _answer(
            [
                f"events[{at}]: {problem}"
                for at, event in enumerate(checked)
                if isinstance(event, _Checked)
                for problem in event.event.ignored
            ]
        )

    def _check(self, json: Any, actor: str | None) -> _Checked:
        """Parse an event and check its changes.

        Raises as `read_event` does, and `InvalidInput` if a change fails its check.
        """
        event = read_event(json, self._memory)
        system = {"runId": event.run, "lastObserved": _now_millis(), "pipelineName": PIPELINE}

        def check_change(change: AspectChange) -> tuple[AspectChange, CheckedProposal]:
            note = change.note
            if note is not None and note.checked is not None:
                good: CheckedProposal = note.checked
                if good.urn is not change.urn:
                    good = replace(good, urn=change.urn, text=str(change.urn))
                return change, good
            proposal = Proposal(change.urn, change.aspect, change.value, system=system)
            try:
                # Like connectors, events may soft-delete an entity that does not exist yet.
                check = self._catalog.intake.check(proposal, actor, "datahub")
            except CatalogError as error:
                raise InvalidInput(f"{change.urn}: {error}") from error
            if note is not None:
                note.checked = check
            return change, check

        parent = event.parent_job
        return _Checked(
            event,
            system,
            actor or self._catalog.intake.default_actor,
            tuple(check_change(change) for change in event.changes),
            check_change(event.edge_from(parent))[1] if parent is not None else None,
        )

    def _write(self, view: Transaction, events: Sequence[_Checked]) -> None:
        """Merge events into the stored aspects, in order, and write the changed aspects of each."""
        now_millis = _now_millis()
        for checked in events:
            self._rename(view, checked, now_millis)
        jobs_by_run = {
            event.event.run: str(event.event.job) for event in events if event.event.job is not None
        }
        listed = [(event, self._with_parent(view, event, jobs_by_run)) for event in events]
        proposals = [proposal for _, changes in listed for _, proposal in changes]
        names = {proposal.aspect for proposal in proposals} - TIMESERIES
        urns = list(dict.fromkeys(proposal.text for proposal in proposals))
        # The stored values; each event replaces those that it changes.
        stored = {
            (urn, aspect.name): _Held(_is_own(aspect), _event_millis(aspect), aspect.value)
            for urn, aspects in view.aspects(urns, names).items()
            for aspect in aspects
        }
        points: list[CheckedProposal] = []
        for checked, changes in listed:
            stamps = {"system": checked.system, "actor": checked.actor}
            writes = []
            for checked_proposal, held in self._find_changes(view, checked, changes, stored):
                system = checked.system if held.is_own else _without_pipeline(checked.system)
                if held.event_millis is not None:
                    system = {**system, "properties": {_EVENT_TIME: str(held.event_millis)}}
                stamped = replace(checked_proposal, system=system, actor=checked.actor)
                writes.append((stamped, held))
            batch = aspects_to_write(proposal for proposal, _ in writes)
            for checked_proposal, held in writes:
                self._catalog.intake.apply(view, checked_proposal, now_millis, batch)
                stored[checked_proposal.text, checked_proposal.aspect] = held
            points += (
                replace(proposal, **stamps)
                for change, proposal in changes
                if change.aspect in TIMESERIES
            )
        for point in points:
            self._catalog.intake.apply(view, point, now_millis)

    def _rename(self, view: Transaction, checked: _Checked, now_millis: int) -> None:
        """Copy the aspects that people edit from a renamed dataset to its new URN, except those
        that it already has there."""
        for old, new in checked.event.renamed:
            aspects_by_urn = view.aspects([str(old), str(new)], _EDITED)
            present = {aspect.name for aspect in aspects_by_urn.get(str(new), ())}
            for aspect in aspects_by_urn.get(str(old), ()):
                if aspect.name in present:
                    continue
                proposal = Proposal(
                    new, aspect.name, orjson.loads(aspect.value), system=checked.system
                )
                change = self._catalog.intake.check(proposal, checked.actor, "datahub")
                self._catalog.intake.apply(view, change, now_millis)

    def _find_changes(
        self,
        view: Transaction,
        checked: _Checked,
        changes: _Changes,
        stored: Mapping[tuple[str, str], _Held],
    ) -> Iterator[tuple[CheckedProposal, _Held]]:
        """Yield the versioned aspects that an event changes, with the values to write, and their
        previous values. The status of a dataset is included if only the time of its latest event
        changes."""
        at_millis = checked.event.at_millis
        begun: dict[tuple[str, str], Any] = {}
        values: dict[tuple[str, str], Any] = {}
        first: dict[tuple[str, str], CheckedProposal] = {}
        times: dict[tuple[str, str], int | None] = {}
        for change, proposal in changes:
            if change.aspect in TIMESERIES:
                continue
            key = (proposal.text, proposal.aspect)
            before = stored.get(key)
            before_millis = None if before is None else before.event_millis
            if key not in first:
                has_time = _needs_time(change)
                if before is not None and not has_time and _is_settled(change, before, at_millis):
                    continue
                begun[key] = values[key] = None if before is None else before.content()
                first[key], times[key] = proposal, before_millis
            is_own = before is None or before.is_own
            is_late = before_millis is not None and at_millis < before_millis
            if not is_late and (change.aspect != "schemaMetadata" or change.drops):
                # A schema is complete as of the event that marked it as complete.
                times[key] = at_millis
            added = change
            if before is not None and change.aspect in GIVEN:
                added = leave_out_removed(change, values[key], partial(_versions, view, *key))
            value = merge_change(added, values[key], at_millis, is_own=is_own, is_late=is_late)
            if before is not None and values[key] is begun[key] and value == begun[key]:
                _settle(change, before, at_millis)
            else:
                values[key] = value
        for key, proposal in first.items():
            before = stored.get(key)
            is_same = values[key] is begun[key] or values[key] == begun[key]
            # An aspect of another source, to which events only add, does not get their pipeline
            # name; `status` does, because an event replaces it.
            is_own = before is None or before.is_own or (key[1] == "status" and not is_same)
            if before is None or not is_same:
                held = _Held(is_own, times[key], changed=values[key])
            elif _needs_time(proposal) and times[key] != before.event_millis:
                held = replace(before, event_millis=times[key])
            else:
                continue
            yield replace(proposal, value=values[key]), held

    def _with_parent(
        self, view: Transaction, checked: _Checked, jobs_by_run: Mapping[str, str]
    ) -> _Changes:
        """Return the changes of an event, with the edge from the job of its parent run if that job
        is in another flow.

        The job is the one that another event of the batch named for the run (`jobs_by_run`), else
        that of the stored run, else the event's own guess.
        """
        event, proposal = checked.event, checked.from_parent
        if event.parent_run is None or event.parent_job is None or proposal is None:
            return checked.changes
        template = jobs_by_run.get(event.parent_run.name)
        stored = None if template else view.aspect(str(event.parent_run), _RELATIONS)
        if stored is not None:
            template = orjson.loads(stored.value).get("parentTemplate")
        parent = Urn.parse(template) if template else event.parent_job
        if event.is_beside(parent):
            return checked.changes
        change = event.edge_from(parent)
        return (*checked.changes, (change, replace(proposal, value=change.value)))


def _answer(ignored: Sequence[str]) -> Response:
    """Return the response to accepted events, which is empty unless facets were ignored; log the
    first ignored ones."""
    for problem in ignored[:_MOST_TOLD]:
        _log.warning("a facet of an OpenLineage event was ignored: %s", problem)
    return JsonResponse({"ignored": list(ignored)}) if ignored else JsonResponse()


def _needs_time(change: AspectChange | CheckedProposal) -> bool:
    """Return whether the time of the latest event is stored with an aspect: true for the status of
    a dataset, so that a drop that arrives late does not undo a later write."""
    return change.aspect == "status" and change.urn.entity_type == "dataset"


def _settle(change: AspectChange, stored: _Held, at_millis: int) -> None:
    """Record that a change adds nothing to the stored value."""
    if change.recurs and change.note is not None and stored.stored:
        # The store caches the bytes of the value, and Python caches their hash.
        change.note.settled = hash(stored.stored), at_millis


def _is_settled(change: AspectChange, stored: _Held, at_millis: int) -> bool:
    """Return whether a change is known to add nothing to the stored value.

    This is true for a day of event time; later events may update when an edge was last seen.
    """
    if change.note is None or change.note.settled is None:
        return False
    value, since_millis = change.note.settled
    return bool(
        value == hash(stored.stored) and since_millis <= at_millis < since_millis + _DAY_MILLIS
    )


def _runs_in(json: Any) -> list[str]:
    """Return the run ids of the first 20 events of a body."""
    events = json[:_MOST_NAMED] if isinstance(json, list) else [json]
    runs = [event.get("run") for event in events if isinstance(event, dict)]
    ids = [run.get("runId") for run in runs if isinstance(run, dict)]
    return list(dict.fromkeys(id_ for id_ in ids if isinstance(id_, str) and id_))


def _versions(view: Transaction, urn: str, aspect: str) -> Iterator[tuple[Any, bool]]:
    """Yield all values of an aspect, oldest first, each with whether a pipeline wrote it."""
    versions = view.histories([urn], [aspect]).get(urn, ())
    for version in sorted(versions, key=lambda aspect: (aspect.version == 0, aspect.version)):
        yield orjson.loads(version.value), b'"pipelineName":"' in version.system


def _without_pipeline(system: dict[str, Any]) -> dict[str, Any]:
    return {key: text for key, text in system.items() if key != "pipelineName"}


def _is_own(stored: StoredAspect) -> bool:
    return b'"pipelineName":"openlineage"' in stored.system


def _event_millis(stored: StoredAspect) -> int | None:
    match = _EVENT_TIME_IN.search(stored.system)
    return int(match[1]) if match else None


def _now_millis() -> int:
    return time.time_ns() // 1_000_000
