"""Removing entities for good, and taking back a run of ingestion."""

from explorer.metadata.urn import Urn
from explorer.server.call import Answer, Call
from explorer.server.catalog import Catalog
from explorer.server.endpoint import Endpoint

__all__ = ["DeletionRoutes"]


class DeletionRoutes:
    """`/entities?action=delete` and `/runs`"""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def endpoints(self) -> tuple[Endpoint, ...]:
        return (
            Endpoint(
                "POST",
                "/entities",
                self._delete,
                "remove an entity, or one of its aspects, with all versions",
                action="delete",
            ),
            Endpoint(
                "POST",
                "/runs",
                self._roll_back,
                "take back everything that a run of ingestion wrote",
                action="rollback",
            ),
        )

    async def _delete(self, call: Call) -> Answer:
        parameters = await call.parameters()
        urn = Urn.parse(parameters.text("urn"))
        aspect = parameters.optional_text("aspectName")
        bounds = (parameters.integer("startTimeMillis"), parameters.integer("endTimeMillis"))
        rows, points = await self._catalog.delete(urn, aspect, bounds, call.actor)
        return Answer.of({"value": {"urn": str(urn), "rows": rows, "timeseriesRows": points}})

    async def _roll_back(self, call: Call) -> Answer:
        parameters = await call.parameters()
        undone = await self._catalog.roll_back(
            parameters.text("runId"),
            call.actor,
            dry_run=parameters.flag("dryRun", default=False),
            safe=parameters.flag("safe", default=True),
        )
        return Answer.of({"value": undone.to_wire()})
