"""What is wrong with an entity, as assertions and incidents tell."""

from datetime import UTC, datetime

from explorer.client.answers.health import failing_assertion, open_incident
from explorer.client.entity import Entity
from explorer.client.parts.measuring import TimeseriesMethods
from explorer.client.parts.part import together
from explorer.client.parts.reading import EntityMethods
from explorer.client.parts.relating import LineageMethods
from explorer.client.records import FailingAssertion, Health, OpenIncident
from explorer.errors import InvalidInput, NotFound, ServerFault
from explorer.metadata.urn import Urn

__all__ = ["HealthMethods"]

_ASSERTS = "Asserts"
_INCIDENT_ON = "IncidentOn"
_RUNS = "assertionRunEvent"
_AT_ONCE = 4
# Of one entity, and of one assertion the newest.
_MOST_ASSERTIONS = 100
_MOST_RUNS = 50
_REFUSALS = (InvalidInput, NotFound, ServerFault)
_LATEST = datetime.max.replace(tzinfo=UTC)


class HealthMethods(EntityMethods, TimeseriesMethods, LineageMethods):
    """How what is wrong is read."""

    async def health(self, urn: str | Urn) -> Health:
        """The assertions about an entity that fail now and the incidents on it that are active.

        No request for an entity that can have neither; else one, one more for a hundred assertions
        and incidents where there are any, and one for each assertion that is not known to pass.
        Of the newest 50 runs an assertion, 100 assertions at most.

        Example: `[one.rule for one in cat.health(urn).failing]`
        """
        target = Urn.parse(urn)
        known = self.relationship_names(target.entity_type, "INCOMING")
        names = [name for name in (_ASSERTS, _INCIDENT_ON) if name in known]
        if not names:
            return Health(target)
        edges = (await self.relationships(target, "INCOMING", names)).edges
        found = await self.entities(
            dict.fromkeys(edge.urn for edge in edges),
            ["assertionInfo", "assertionRunSummary", "incidentInfo", "status"],
        )
        there = [one for one in found.values() if one.exists and not one.removed]
        assertions = [one for one in there if one.entity_type == "assertion"]
        looked_at = assertions[:_MOST_ASSERTIONS]
        failing = await together((self._failing(one) for one in looked_at), _AT_ONCE)
        incidents = [open_incident(one) for one in there]
        return Health(
            target,
            tuple(sorted((one for one in failing if one is not None), key=_since)),
            tuple(sorted((one for one in incidents if one is not None), key=_since)),
            len(assertions),
            len(assertions) - len(looked_at),
        )

    async def _failing(self, assertion: Entity) -> FailingAssertion | None:
        if (assertion.raw("assertionRunSummary") or {}).get("assertionStatus") == "PASSING":
            return None
        try:
            series = await self.timeseries(assertion.urn, _RUNS, limit=_MOST_RUNS)
        except _REFUSALS:
            return None
        return failing_assertion(assertion, series.values, has_older=series.truncated)


def _since(one: FailingAssertion | OpenIncident) -> tuple[datetime, str]:
    return one.since or _LATEST, str(one.urn)
