"""What the server is, and whether it is up."""

from explorer.server.call import Answer, Call
from explorer.server.catalog import Catalog
from explorer.server.endpoint import Endpoint

__all__ = ["StatusRoutes"]

# Clients choose their calls by this release of the real service. From 1.0.1 on they would send
# OpenAPI writes, which are not offered here.
_SPOKEN_VERSION = "v0.14.1"


class StatusRoutes:
    """`/config` and `/health`."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def endpoints(self) -> tuple[Endpoint, ...]:
        return (
            Endpoint("GET", "/config", self._config, "what the server is and can do"),
            Endpoint("GET", "/health", self._health, "an empty answer while the server is up"),
        )

    async def _config(self, _call: Call) -> Answer:
        return Answer.of(
            {
                "models": {},
                "patchCapable": False,
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
        return Answer()
