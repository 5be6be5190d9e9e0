"""Endpoints for legacy ingestion of snapshots and usage, and for runs of ingestion and their
rollback."""

from dataclasses import replace
from typing import Any

from starlette.responses import Response

from explorer.errors import InvalidAspect, InvalidInput, UnknownName
from explorer.metadata.files import read_record
from explorer.metadata.proposal import Proposal, read_auditor, read_system
from explorer.metadata.registry import Registry
from explorer.metadata.urn import Urn
from explorer.server.restli import (
    EXAMPLE_URN,
    MAX_PAGE,
    Endpoint,
    JsonResponse,
    Parameter,
    Parameters,
    RestliRequest,
    Routes,
    ValueResponse,
)
from explorer.server.routes import ALL_OR_NONE, BATCHED, ingest_batch
from explorer.server.store import RunRow

WITH_SNAPSHOT = frozenset(
    {
        "chart",
        "corpGroup",
        "corpuser",
        "dashboard",
        "dataFlow",
        "dataHubPolicy",
        "dataHubRetention",
        "dataJob",
        "dataPlatform",
        "dataProcess",
        "dataset",
        "glossaryNode",
        "glossaryTerm",
        "mlFeature",
        "mlFeatureTable",
        "mlModel",
        "mlModelDeployment",
        "mlModelGroup",
        "mlPrimaryKey",
        "schemaField",
        "tag",
    }
)
_SNAPSHOTS = "com.linkedin.metadata.snapshot."


def snapshot_name(registry: Registry, entity_type: str) -> str:
    """Return the name of the snapshot record of an entity type, `…CorpUserSnapshot` for `corpuser`.

    It is derived from the name of the key aspect's record.
    """
    key = registry.aspect(registry.entity(entity_type).key).record.rpartition(".")[2]
    return f"{_SNAPSHOTS}{key.removesuffix('Key')}Snapshot"


_PAGE = 100
_RUN = Parameter(
    "runId", "string", "the runId of the writes, as given in their systemMetadata", "sample"
)
_WITH_REMOVED = Parameter.optional(
    "includeSoft", "boolean", "also rows of soft-deleted entities; false by default"
)


class RunRoutes(Routes):
    """The endpoints of `/runs`."""

    @Endpoint(
        "POST",
        "/runs",
        "list the runs that have stored rows, newest first",
        role="reader",
        action="list",
        parameters=(
            Parameter.optional("pageOffset", "integer", "how many runs to skip; 0 by default", 0),
            Parameter.optional("pageSize", "integer", "how many runs at most; 100 by default", 20),
            _WITH_REMOVED,
        ),
        gives="a list of runId, timestamp (of its last write, in milliseconds) and rows",
        notes=(
            "rows counts the versions and documents that the run wrote and that are still "
            "stored. When another run writes the stored value again, the row still belongs to "
            "the first run.",
        ),
    )
    async def _list(self, request: RestliRequest) -> Response:
        parameters = await request.parameters()
        runs = await self._catalog.read(
            self._catalog.store.runs,
            parameters.count("pageOffset", 0, 2**31),
            parameters.count("pageSize", _PAGE, MAX_PAGE),
            with_removed=parameters.flag("includeSoft", default=False),
        )
        return ValueResponse(
            [{"runId": run.run, "timestamp": run.time_millis, "rows": run.rows} for run in runs]
        )

    @Endpoint(
        "POST",
        "/runs",
        "list the stored rows of a run",
        role="reader",
        action="describe",
        parameters=(
            _RUN,
            Parameter.optional("start", "integer", "how many rows to skip; 0 by default", 0),
            Parameter.optional("count", "integer", "how many rows at most; 100 by default", 100),
            _WITH_REMOVED,
            Parameter.optional(
                "includeAspect", "boolean", "also return the values; false by default"
            ),
        ),
        gives="a list of runId, urn, aspectName, timestamp, version (0 the latest), keyAspect, "
        "metadata (the system metadata as text) and, where asked for, aspect {value, contentType}",
    )
    async def _describe(self, request: RestliRequest) -> Response:
        parameters = await request.parameters()
        run = parameters.text("runId")
        with_values = parameters.flag("includeAspect", default=False)
        rows = await self._catalog.read(
            self._catalog.store.run_rows,
            run,
            parameters.start(),
            parameters.count("count", _PAGE, MAX_PAGE),
            with_removed=parameters.flag("includeSoft", default=False),
        )
        return ValueResponse([self._row(run, row, with_values) for row in rows])

    def _row(self, run: str, row: RunRow, with_value: bool) -> dict[str, Any]:
        entity = self._catalog.registry.entities.get(Urn.parse(row.urn).entity_type)
        wire: dict[str, Any] = {
            "runId": run,
            "urn": row.urn,
            "aspectName": row.aspect,
            "timestamp": row.time_millis,
            "version": row.version,
            "keyAspect": entity is not None and entity.key == row.aspect,
            "metadata": row.system.decode(),
        }
        if with_value:
            wire["aspect"] = {"value": row.value.decode(), "contentType": "application/json"}
        return wire

    @Endpoint(
        "POST",
        "/runs",
        "roll back a run: remove everything that it wrote",
        role="admin",
        action="rollback",
        parameters=(
            _RUN,
            Parameter.optional(
                "dryRun", "boolean", "only report what would be rolled back; false by default", True
            ),
            Parameter.optional(
                "hardDelete",
                "boolean",
                "delete the entities that the run created for good; false by default",
            ),
            Parameter.optional(
                "safe", "boolean", "the opposite of hardDelete, and what counts if both are given"
            ),
        ),
        gives="aspectRowSummaries (100 at most), aspectsAffected (versions and documents; for "
        "DataHub's clients the aspects that others wrote to unsafe entities), "
        "aspectsReverted (aspects whose value changed), entitiesAffected, entitiesDeleted, "
        "unsafeEntitiesCount and unsafeEntities {urn}",
        notes=(
            "Each aspect gets back the newest version that another run wrote. An entity that the "
            "run created is soft-deleted, with hardDelete deleted for good. If others have written "
            "to it since, it is unsafe.",
            ("A dry run reports the same as a real one. The run id no-run-id-provided is refused."),
            "Each entity is rolled back in one step; other writes may happen between entities. "
            "If the request ends early, repeat it: it continues with the remaining entities, and "
            "counts only those.",
        ),
    )
    async def _roll_back(self, request: RestliRequest) -> Response:
        parameters = await request.parameters()
        is_hard = parameters.flag("hardDelete", default=False)
        undone = await self._catalog.roll_back(
            parameters.text("runId"),
            request.actor,
            dry_run=parameters.flag("dryRun", default=False),
            hard=not parameters.flag("safe", default=not is_hard),
        )
        return ValueResponse(undone.to_wire(request.dialect))


_SNAPSHOT = {
    "value": {
        "com.linkedin.metadata.snapshot.DatasetSnapshot": {
            "urn": EXAMPLE_URN,
            "aspects": [{"com.linkedin.common.Status": {"removed": False}}],
        }
    }
}
_BUCKET = {
    "bucket": 1700000000000,
    "duration": "DAY",
    "resource": EXAMPLE_URN,
    "metrics": {"uniqueUserCount": 3, "totalSqlQueries": 12},
}
_NAMES = (
    "Snapshots and aspects are named by their records; only the last part of a name is compared, "
    "so com.vendor… and com.linkedin… mean the same."
)
_WITHOUT = "Entity types without a snapshot record are refused; ingestProposal writes all types."
_ENTITY = Parameter(
    "entity",
    "snapshot",
    "value holds one snapshot record with the entity's urn and its aspects",
    _SNAPSHOT,
)
_SYSTEM = Parameter.optional(
    "systemMetadata",
    "object or JSON string",
    "the run that wrote it (runId) and when it was last observed (lastObserved)",
)
_AUDIT = Parameter.optional(
    "auditHeader", "object", "the user to whom the change is attributed (actor)"
)


class IngestionRoutes(Routes):
    """The endpoints `/entities?action=ingest`, `/entities?action=batchIngest` and
    `/usageStats?action=batchIngest`."""

    @Endpoint(
        "POST",
        "/entities",
        "write the aspects of a snapshot record in one transaction",
        role="editor",
        action="ingest",
        standing="deprecated",
        parameters=(_ENTITY, _SYSTEM, _AUDIT),
        gives="nothing: 200 and an empty body",
        notes=(_NAMES, _WITHOUT, "Either all aspects of a request are written, or none."),
    )
    async def _ingest(self, request: RestliRequest) -> Response:
        parameters = await request.parameters()
        auditor = read_auditor(parameters.given.get("auditHeader"))
        system = parameters.given.get("systemMetadata")
        proposals = self._proposals(parameters.record("entity"), system, auditor)
        await self._catalog.ingest_all(proposals, request.actor, request.dialect)
        return JsonResponse()

    @Endpoint(
        "POST",
        "/entities",
        "write the aspects of several snapshot records",
        role="editor",
        action="batchIngest",
        standing="deprecated",
        parameters=(
            Parameter("entities", "array of snapshots", "the snapshots", [_SNAPSHOT]),
            Parameter.optional(
                "systemMetadata", "array", "the system metadata of each snapshot, in the same order"
            ),
            _AUDIT,
            ALL_OR_NONE,
        ),
        gives="nothing: 200 and an empty body",
        notes=(_NAMES, _WITHOUT, BATCHED),
    )
    async def _ingest_batch(self, request: RestliRequest) -> Response:
        parameters = await request.parameters()
        auditor = read_auditor(parameters.given.get("auditHeader"))
        entities = parameters.items("entities")
        systems = parameters.given.get("systemMetadata")
        if not isinstance(systems, list):
            systems = [systems] * len(entities)
        elif len(systems) != len(entities):
            raise InvalidInput(
                f"'systemMetadata' has {len(systems)} elements for {len(entities)} entities"
            )
        elements = list(zip(entities, systems, strict=True))
        await ingest_batch(
            self._catalog,
            request,
            "entities",
            elements,
            lambda element: self._proposals(*element, auditor),
        )
        return JsonResponse()

    @Endpoint(
        "POST",
        "/usageStats",
        "write usage statistics of datasets by the hour or day",
        role="editor",
        action="batchIngest",
        standing="deprecated",
        parameters=(
            Parameter("buckets", "array of buckets", "one for each window", [_BUCKET]),
            ALL_OR_NONE,
        ),
        gives="nothing: 200 and an empty body",
        notes=("Each bucket is stored as a document of datasetUsageStatistics.", BATCHED),
    )
    async def _ingest_usage(self, request: RestliRequest) -> Response:
        parameters = await request.parameters()
        buckets = parameters.items("buckets")
        await ingest_batch(self._catalog, request, "buckets", buckets, self._usage)
        return JsonResponse()

    def _usage(self, bucket: Any) -> list[Proposal]:
        _check_lists(bucket)
        return read_record({"buckets": [bucket]}, self._catalog.registry)

    def _proposals(self, entity: Any, system: Any, auditor: str | None) -> list[Proposal]:
        if not isinstance(entity, dict):
            raise InvalidInput("an entity must be an object with a snapshot as its value")
        snapshot = Parameters(entity).record("value")
        actor = read_auditor(entity.get("auditHeader")) or auditor
        record = {"proposedSnapshot": snapshot, "systemMetadata": read_system(system)}
        try:
            proposals = read_record(record, self._catalog.registry)
        except UnknownName as error:
            if error.kind == "aspect record":
                raise InvalidAspect(error.name, "", f"Unknown aspect; {error}") from error
            raise
        if not proposals:
            raise InvalidInput("the snapshot contains no aspects")
        entity_type = proposals[0].urn.entity_type
        if entity_type not in WITH_SNAPSHOT:
            raise InvalidInput(
                f"the entity type {entity_type} has no snapshot record; "
                "write its aspects with /aspects?action=ingestProposal"
            )
        return [replace(proposal, actor=actor) for proposal in proposals]


def _check_lists(bucket: Any) -> None:
    """Raise `InvalidInput` if the usage by users or by columns is not a list of objects."""
    metrics = bucket.get("metrics") if isinstance(bucket, dict) else None
    for name in ("users", "fields"):
        items = metrics.get(name) if isinstance(metrics, dict) else None
        if items is not None and not (
            isinstance(items, list) and all(isinstance(item, dict) for item in items)
        ):
            raise InvalidInput(f"metrics.{name} must be a list of objects")
