"""Runs of ingestion: which there were, what each wrote, and taking one back."""

from typing import Any

from explorer.metadata.urn import Urn
from explorer.server.call import MAX_PAGE, Answer, Call
from explorer.server.catalog import Catalog
from explorer.server.endpoint import Endpoint, parameter
from explorer.server.store import RunRow

__all__ = ["RunRoutes"]

_PAGE = 100
_RUN = parameter("runId", "string", "the id that the run named in its systemMetadata", "sample")
_WITH_REMOVED = parameter(
    "includeSoft",
    "boolean",
    "what belongs to soft-deleted entities too; false without it",
    required=False,
)


class RunRoutes:
    """`/runs`"""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def endpoints(self) -> tuple[Endpoint, ...]:
        return (
            Endpoint(
                "POST",
                "/runs",
                self._list,
                "the runs that something is left of, newest first",
                role="reader",
                action="list",
                parameters=(
                    parameter(
                        "pageOffset", "integer", "how many to skip; 0 without it", 0, required=False
                    ),
                    parameter(
                        "pageSize",
                        "integer",
                        "how many at most; 100 without it",
                        20,
                        required=False,
                    ),
                    _WITH_REMOVED,
                ),
                gives="a list of runId, timestamp (milliseconds, its last write) and rows",
                notes=(
                    "rows are the versions and documents that the run wrote and that are still "
                    "there. Writing again what is there already makes it nobody else's.",
                ),
            ),
            Endpoint(
                "POST",
                "/runs",
                self._describe,
                "what a run wrote, as far as it is still there",
                role="reader",
                action="describe",
                parameters=(
                    _RUN,
                    parameter(
                        "start", "integer", "how many to skip; 0 without it", 0, required=False
                    ),
                    parameter(
                        "count", "integer", "how many at most; 100 without it", 100, required=False
                    ),
                    _WITH_REMOVED,
                    parameter(
                        "includeAspect",
                        "boolean",
                        "the values too; false without it",
                        required=False,
                    ),
                ),
                gives=(
                    "a list of runId, urn, aspectName, timestamp, version (0 the latest), "
                    "keyAspect, metadata (the system metadata as text) and, where asked for, "
                    "aspect {value, contentType}"
                ),
            ),
            Endpoint(
                "POST",
                "/runs",
                self._roll_back,
                "take back everything that a run wrote",
                role="admin",
                action="rollback",
                parameters=(
                    _RUN,
                    parameter(
                        "dryRun",
                        "boolean",
                        "only tell what it would be; false without it",
                        True,
                        required=False,
                    ),
                    parameter(
                        "safe",
                        "boolean",
                        "spare entities that others wrote to; true without it",
                        required=False,
                    ),
                ),
                gives=(
                    "aspectRowSummaries (100 at most), aspectsAffected (versions and documents; "
                    "for DataHub's callers the aspects that others wrote to unsafe entities), "
                    "aspectsReverted (whose value changed), entitiesAffected, entitiesDeleted, "
                    "unsafeEntitiesCount and unsafeEntities {urn}"
                ),
                notes=(
                    "The newest version of another run comes back. An entity that the run made is "
                    "deleted; one that others wrote to since is unsafe, and with safe it is only "
                    "soft-deleted.",
                    "A dry run tells the same as the real one. no-run-id-provided is refused.",
                    "Each entity is taken back as a whole; of many, others are written in between. "
                    "Ended early, ask again: it goes on with what is left, and counts that.",
                ),
            ),
        )

    async def _list(self, call: Call) -> Answer:
        parameters = await call.parameters()
        runs = await self._catalog.offload(
            self._catalog.store.runs,
            parameters.count("pageOffset", 0, 2**31),
            parameters.count("pageSize", _PAGE, MAX_PAGE),
            with_removed=parameters.flag("includeSoft", default=False),
        )
        return Answer.of(
            {
                "value": [
                    {"runId": run.run, "timestamp": run.time_millis, "rows": run.rows}
                    for run in runs
                ]
            }
        )

    async def _describe(self, call: Call) -> Answer:
        parameters = await call.parameters()
        run = parameters.text("runId")
        with_values = parameters.flag("includeAspect", default=False)
        rows = await self._catalog.offload(
            self._catalog.store.run_rows,
            run,
            parameters.start(),
            parameters.count("count", _PAGE, MAX_PAGE),
            with_removed=parameters.flag("includeSoft", default=False),
        )
        return Answer.of({"value": [self._row(run, row, with_values) for row in rows]})

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

    async def _roll_back(self, call: Call) -> Answer:
        parameters = await call.parameters()
        undone = await self._catalog.roll_back(
            parameters.text("runId"),
            call.actor,
            dry_run=parameters.flag("dryRun", default=False),
            safe=parameters.flag("safe", default=True),
        )
        return Answer.of({"value": undone.to_wire(call.dialect)})
