"""Legacy ingestion: whole snapshots, one or many, and usage by the hour or day."""

from dataclasses import replace
from typing import Any

from explorer.errors import InvalidAspect, InvalidInput, UnknownName
from explorer.metadata.files import read_record
from explorer.metadata.proposal import Proposal, read_auditor, read_system
from explorer.server.call import Answer, Call, Parameters
from explorer.server.catalog import Catalog
from explorer.server.endpoint import Endpoint, parameter
from explorer.server.routes.proposals import ALL_OR_NONE, BATCHED, all_or_none
from explorer.server.routes.snapshots import WITH_SNAPSHOT
from explorer.server.routes.usage import DATASET

__all__ = ["IngestionRoutes"]

_SNAPSHOT = {
    "value": {
        "com.linkedin.metadata.snapshot.DatasetSnapshot": {
            "urn": DATASET,
            "aspects": [{"com.linkedin.common.Status": {"removed": False}}],
        }
    }
}
_BUCKET = {
    "bucket": 1700000000000,
    "duration": "DAY",
    "resource": DATASET,
    "metrics": {"uniqueUserCount": 3, "totalSqlQueries": 12},
}
_NAMES = (
    "Snapshots and aspects are named by their records; only the last part of a name decides, so "
    "com.vendor… and com.linkedin… mean the same."
)
_WITHOUT = (
    "Entity types that never had a snapshot record are refused; ingestProposal writes any type."
)
_ENTITY = parameter(
    "entity",
    "snapshot",
    "value holds one snapshot record with the entity's urn and its aspects",
    _SNAPSHOT,
)
_SYSTEM = parameter(
    "systemMetadata",
    "object or JSON string",
    "which run brought it (runId) and when it was seen (lastObserved)",
    required=False,
)
_AUDIT = parameter("auditHeader", "object", "whose change it is (actor)", required=False)


class IngestionRoutes:
    """`/entities?action=ingest`, its batch, and `/usageStats?action=batchIngest`"""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def endpoints(self) -> tuple[Endpoint, ...]:
        return (
            Endpoint(
                "POST",
                "/entities",
                self._ingest,
                "write the aspects of a snapshot record, all or none",
                role="editor",
                action="ingest",
                standing="deprecated",
                parameters=(_ENTITY, _SYSTEM, _AUDIT),
                gives="nothing: 200 and an empty body",
                notes=(_NAMES, _WITHOUT, "All of a request is written, or nothing of it."),
            ),
            Endpoint(
                "POST",
                "/entities",
                self._ingest_batch,
                "write the aspects of several snapshot records",
                role="editor",
                action="batchIngest",
                standing="deprecated",
                parameters=(
                    parameter("entities", "array of snapshots", "the snapshots", [_SNAPSHOT]),
                    parameter(
                        "systemMetadata",
                        "array",
                        "the system metadata of each snapshot, in the same order",
                        required=False,
                    ),
                    _AUDIT,
                    ALL_OR_NONE,
                ),
                gives="nothing: 200 and an empty body",
                notes=(_NAMES, _WITHOUT, BATCHED),
            ),
            Endpoint(
                "POST",
                "/usageStats",
                self._ingest_usage,
                "write the use of datasets by the hour or day",
                role="editor",
                action="batchIngest",
                standing="deprecated",
                parameters=(
                    parameter("buckets", "array of buckets", "one for each window", [_BUCKET]),
                    ALL_OR_NONE,
                ),
                gives="nothing: 200 and an empty body",
                notes=("Each bucket becomes a document of datasetUsageStatistics.", BATCHED),
            ),
        )

    async def _ingest(self, call: Call) -> Answer:
        parameters = await call.parameters()
        auditor = read_auditor(parameters.given.get("auditHeader"))
        system = parameters.given.get("systemMetadata")
        proposals = self._proposals(parameters.record("entity"), system, auditor)
        await self._catalog.ingest_all(proposals, call.actor, call.dialect)
        return Answer()

    async def _ingest_batch(self, call: Call) -> Answer:
        parameters = await call.parameters()
        auditor = read_auditor(parameters.given.get("auditHeader"))
        entities = parameters.items("entities")
        systems = parameters.given.get("systemMetadata")
        if not isinstance(systems, list):
            systems = [systems] * len(entities)
        elif len(systems) != len(entities):
            raise InvalidInput(
                f"'systemMetadata' has {len(systems)} elements for {len(entities)} entities"
            )
        await self._catalog.ingest_batch(
            "entities",
            list(zip(entities, systems, strict=True)),
            lambda one: self._proposals(*one, auditor),
            call.actor,
            call.dialect,
            all_or_none=all_or_none(call),
        )
        return Answer()

    async def _ingest_usage(self, call: Call) -> Answer:
        parameters = await call.parameters()
        await self._catalog.ingest_batch(
            "buckets",
            parameters.items("buckets"),
            self._usage,
            call.actor,
            call.dialect,
            all_or_none=all_or_none(call),
        )
        return Answer()

    def _usage(self, bucket: Any) -> list[Proposal]:
        _check_lists(bucket)
        return read_record({"buckets": [bucket]}, self._catalog.registry)

    def _proposals(self, entity: Any, system: Any, auditor: str | None) -> list[Proposal]:
        if not isinstance(entity, dict):
            raise InvalidInput("an entity is an object with a snapshot as its value")
        snapshot = Parameters(entity).record("value")
        actor = read_auditor(entity.get("auditHeader")) or auditor
        record = {"proposedSnapshot": snapshot, "systemMetadata": read_system(system)}
        try:
            found = read_record(record, self._catalog.registry)
        except UnknownName as error:
            if error.kind == "aspect record":
                raise InvalidAspect(error.name, "", f"Unknown aspect; {error}") from error
            raise
        if not found:
            raise InvalidInput("the snapshot holds no aspects")
        entity_type = found[0].urn.entity_type
        if entity_type not in WITH_SNAPSHOT:
            raise InvalidInput(
                f"the entity type {entity_type} has no snapshot record; "
                "write its aspects with /aspects?action=ingestProposal"
            )
        return [replace(proposal, actor=actor) for proposal in found]


def _check_lists(bucket: Any) -> None:
    """Who used what how often is told in lists of objects."""
    metrics = bucket.get("metrics") if isinstance(bucket, dict) else None
    for name in ("users", "fields"):
        told = metrics.get(name) if isinstance(metrics, dict) else None
        if told is not None and not (
            isinstance(told, list) and all(isinstance(one, dict) for one in told)
        ):
            raise InvalidInput(f"metrics.{name} is a list of objects")
