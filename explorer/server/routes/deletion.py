"""Removing entities for good, and the references to them."""

from explorer.metadata.urn import Urn
from explorer.server.call import Answer, Call, Parameters
from explorer.server.catalog import Catalog
from explorer.server.endpoint import Endpoint, parameter
from explorer.server.routes.usage import URN

__all__ = ["DeletionRoutes"]

_MAX_MILLIS = 2**62


class DeletionRoutes:
    """`/entities` where it deletes"""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def endpoints(self) -> tuple[Endpoint, ...]:
        return (
            Endpoint(
                "POST",
                "/entities",
                self._delete,
                "remove an entity, or one of its aspects, with all versions",
                role="admin",
                action="delete",
                parameters=(
                    URN,
                    parameter("aspectName", "string", "one aspect; all without it", required=False),
                    parameter(
                        "startTimeMillis",
                        "integer",
                        "of an aspect over time, from when on",
                        required=False,
                    ),
                    parameter(
                        "endTimeMillis",
                        "integer",
                        "of an aspect over time, up to when",
                        required=False,
                    ),
                ),
                gives="urn, rows (versions that went) and timeseriesRows (documents that went)",
                notes=(
                    "404 for an entity that does not exist; for DataHub's callers 200 and no rows. "
                    "The key aspect stands for the entity.",
                    "A deleted entity reads as its key alone, and can be written anew. To hide one "
                    "and keep it, write its status with removed true.",
                ),
            ),
            Endpoint(
                "POST",
                "/entities",
                self._delete_references,
                "take the references to an entity out of all other aspects",
                role="admin",
                action="deleteReferences",
                parameters=(
                    URN,
                    parameter(
                        "dryRun",
                        "boolean",
                        "only tell what it would be; false without it",
                        True,
                        required=False,
                    ),
                ),
                gives=(
                    "total (of references taken out), relatedAspects {entity, relationship, "
                    "aspect}, 100 at most; leftTotal and leftAspects, the same for what stays"
                ),
                notes=(
                    "A reference goes with the least around it that can go: an optional field, "
                    "else the element of an array. Where the aspect itself could not be without "
                    "it, it stays and is listed in leftAspects.",
                    "The aspects keep their earlier versions. The entity itself need not exist, "
                    "and is not touched.",
                    "Each aspect is changed as a whole; of many, others are written in between. "
                    "Ended early, ask again: it goes on with what is left, and counts that.",
                ),
            ),
        )

    async def _delete(self, call: Call) -> Answer:
        parameters = await call.parameters()
        urn = self._catalog.intake.read_urn(parameters.text("urn"))
        aspect = parameters.optional_text("aspectName")
        bounds = (_millis(parameters, "startTimeMillis"), _millis(parameters, "endTimeMillis"))
        rows, points = await self._catalog.delete(urn, aspect, bounds, call.actor, call.dialect)
        return Answer.of({"value": {"urn": str(urn), "rows": rows, "timeseriesRows": points}})

    async def _delete_references(self, call: Call) -> Answer:
        parameters = await call.parameters()
        urn = Urn.parse(parameters.text("urn"))
        dry_run = parameters.flag("dryRun", default=False)
        unlinked = await self._catalog.delete_references(urn, call.actor, dry_run=dry_run)
        return Answer.of({"value": unlinked.to_wire()})


def _millis(parameters: Parameters, name: str) -> int | None:
    # No document lies beyond, and the engines count no further.
    value = parameters.integer(name)
    return None if value is None else max(-_MAX_MILLIS, min(value, _MAX_MILLIS))
