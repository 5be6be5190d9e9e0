"""The versions that an aspect has had."""

import orjson

from explorer.errors import InvalidInput, NotFound, UnknownName
from explorer.metadata.urn import Urn
from explorer.server.call import DEFAULT_PAGE, MAX_PAGE, Answer, Call
from explorer.server.catalog import Catalog
from explorer.server.endpoint import Endpoint, parameter
from explorer.server.routes.usage import PATH_URN
from explorer.server.urls import Query

__all__ = ["VersionRoutes", "read_number"]

_FAR = 2**31


class VersionRoutes:
    """`/versions`"""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def endpoints(self) -> tuple[Endpoint, ...]:
        return (
            Endpoint(
                "GET",
                "/versions",
                self._versions,
                "the versions of an aspect in a range, newest first",
                role="reader",
                item=True,
                standing="ours",
                parameters=(
                    PATH_URN,
                    parameter(
                        "aspect", "string", "the name of an aspect", "ownership", place="query"
                    ),
                    *(
                        parameter(name, "integer", summary, example, place="query", required=False)
                        for name, summary, example in (
                            ("from", "one end of the range; the oldest version without it", 1),
                            ("to", "the other end; the latest version without it", 0),
                            ("start", "how many of the range to skip; 0 without it", 0),
                            ("count", "how many at most; 10 without it, 10000 at most", 10),
                        )
                    ),
                ),
                gives=(
                    "urn, aspectName, start, count (of this page), total (in the range), and "
                    "versions: version, value, created {time, actor}, systemMetadata"
                ),
                notes=(
                    "Version 0 is the latest and 1 the oldest; negative numbers count back from "
                    "the latest, -1 being the one before it.",
                    "Both ends belong to the range, in whichever order they are named. What is "
                    "beyond the versions there are is left out.",
                    "404 for an aspect that the entity does not have; 400 for one over time, which "
                    "has no versions.",
                ),
            ),
        )

    async def _versions(self, call: Call) -> Answer:
        urn = self._catalog.intake.read_urn(call.key)
        name = call.query.required("aspect")
        self._check(urn, name)
        ends = (
            read_number(call.query, "from", 1, least=-_FAR),
            read_number(call.query, "to", 0, least=-_FAR),
        )
        start = read_number(call.query, "start", 0)
        count = min(read_number(call.query, "count", DEFAULT_PAGE), MAX_PAGE)
        found = await self._catalog.offload(
            self._catalog.store.versions, str(urn), name, ends, start, count
        )
        if found is None:
            raise NotFound(f"{urn} has no aspect {name}")
        total, versions = found
        return Answer.of(
            {
                "urn": str(urn),
                "aspectName": name,
                "start": start,
                "count": len(versions),
                "total": total,
                "versions": [
                    {
                        "version": one.version,
                        "value": orjson.Fragment(one.value),
                        "created": {"time": one.time_millis, "actor": one.actor},
                        "systemMetadata": orjson.Fragment(one.system),
                    }
                    for one in versions
                ],
            }
        )

    def _check(self, urn: Urn, name: str) -> None:
        try:
            declared = self._catalog.registry.aspect_of(urn.entity_type, name)
        except UnknownName as error:
            raise NotFound(str(error)) from error
        if declared.timeseries:
            raise InvalidInput(
                f"{name} is a timeseries aspect and has no versions; read its documents with "
                "POST /aspects?action=getTimeseriesAspectValues"
            )


def read_number(query: Query, name: str, default: int, *, least: int = 0) -> int:
    """A whole number from a query, no less than `least`; raises `InvalidInput`."""
    text = query.one(name)
    if text is None:
        return default
    try:
        number = int(text)
    except ValueError:
        number = None
    if number is None or (number < 0 <= least):
        kind = "a count from 0 up" if least == 0 else "an integer"
        raise InvalidInput(f"the query parameter {name!r} is {kind}, not {text[:40]!r}")
    return max(least, min(number, _FAR))
