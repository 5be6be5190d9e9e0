"""What the server is, and whether it is up."""

from explorer.server.call import Answer, Call
from explorer.server.catalog import Catalog
from explorer.server.endpoint import Endpoint
from explorer.server.metrics import MEDIA_TYPE, Metrics

__all__ = ["StatusRoutes"]

# The release of the real service whose model and calls are served, by which clients choose theirs:
# from 1.0.1 on the SDK writes over OpenAPI, from 1.4.0 on agents are offered tools that write.
_SPOKEN_VERSION = "v1.7.0.17"


class StatusRoutes:
    """`/config`, `/health` and `/metrics`."""

    def __init__(self, catalog: Catalog, metrics: Metrics) -> None:
        self._catalog = catalog
        self._metrics = metrics

    def endpoints(self) -> tuple[Endpoint, ...]:
        return (
            Endpoint(
                "GET",
                "/config",
                self._config,
                "what the server is and can do",
                role="reader",
                gives="the flags and the release by which clients choose their calls; under "
                "catalogExplorer this server's own release, whether it holds the sample, how "
                "many entities, that edits in GraphQL take the condition ifCurrent, that filters "
                "take names in the place of URNs, and that /stewardship is there",
                notes=(
                    "Answered without a token.",
                    "The release is that of the real service whose model and calls are served "
                    "here.",
                ),
            ),
            Endpoint(
                "GET",
                "/health",
                self._health,
                "whether the server is up",
                role="reader",
                gives="nothing: 200 and an empty body",
                notes=(
                    "Answered without a token.",
                    "503 with a sentence when nothing can be written: the database is damaged, or "
                    "the writer does not take a job in 5 seconds.",
                    "A search index that is being made anew is no fault: only searches are "
                    "answered with 503 and Retry-After until it is done.",
                ),
            ),
            Endpoint(
                "GET",
                "/metrics",
                self._measured,
                "what the server counts of itself",
                role="reader",
                standing="ours",
                gives="text as Prometheus reads it: requests by endpoint and status, how long they "
                "took, what is under way; the writer's queue and commits; the change log's and the "
                "search index's offsets; entities, size on disk, memory",
                notes=("Where tokens are in use it wants one, as a bearer.",),
            ),
        )

    async def _config(self, _call: Call) -> Answer:
        return Answer.of(
            {
                "models": {},
                "patchCapable": True,
                "statefulIngestionCapable": True,
                "supportsImpactAnalysis": True,
                "timeZone": "GMT",
                "datasetUrnNameCasing": False,
                "retention": "true",
                "noCode": "true",
                "managedIngestion": {"enabled": False},
                "datahub": {"serverType": "prod", "serverEnv": "core"},
                "telemetry": {"enabledCli": False, "enabledIngestion": False},
                "versions": {
                    "acryldata/datahub": {"version": _SPOKEN_VERSION, "commit": "0000000"}
                },
                "catalogExplorer": await self._catalog.offload(self._catalog.describe),
            }
        )

    async def _health(self, _call: Call) -> Answer:
        await self._catalog.prove_writer()
        return Answer()

    async def _measured(self, _call: Call) -> Answer:
        return Answer(await self._metrics.text(), media_type=MEDIA_TYPE)
