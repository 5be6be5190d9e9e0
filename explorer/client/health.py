"""Failing assertions and open incidents of an entity."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from explorer.client.connection import gather_limited
from explorer.client.display import line
from explorer.client.entity import Entity, EntityMethods
from explorer.client.lineage import LineageMethods
from explorer.client.records import FailingAssertion, Health, OpenIncident
from explorer.client.timeseries import TimeseriesMethods
from explorer.client.transport import REFUSALS
from explorer.metadata.aspects import asserted_columns, moment_of
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.names import assertion_name
from explorer.metadata.urn import Urn

_COMPLETE = "COMPLETE"
_PASSED = ("SUCCESS",)
_FAILED = ("FAILURE", "ERROR")
_PRIORITIES = ("critical", "high", "medium", "low")
_KINDS = {
    "datasetAssertion": "dataset",
    "freshnessAssertion": "freshness",
    "volumeAssertion": "volume",
    "sqlAssertion": "SQL",
    "fieldAssertion": "column",
    "schemaAssertion": "schema",
    "customAssertion": "custom",
}
_OPERATORS = {"EQUAL_TO": "is", "NOT_EQUAL_TO": "is not", "_NATIVE_": ""}
_MOST_SQL = 120
_Json = Mapping[str, Any]


def failing_assertion(
    assertion: Entity, runs: Sequence[_Json], *, has_older: bool
) -> FailingAssertion | None:
    """Return the assertion as failing, or `None` if its latest completed run did not fail.

    `runs` are its run events, oldest first; `has_older` is true if there are more before them.
    """
    since: _Json | None = None
    newest: _Json | None = None
    passed = False
    for run in reversed(runs):
        result = _dict(run.get("result")).get("type")
        if run.get("status") != _COMPLETE or result not in (*_PASSED, *_FAILED):
            continue
        if result in _PASSED:
            passed = True
            break
        newest = newest or run
        since = run
    if newest is None or since is None:
        return None
    return FailingAssertion(
        assertion.urn,
        assertion_rule(assertion),
        _describe_result(_dict(newest.get("result"))),
        _moment(since.get("timestampMillis")),
        _moment(newest.get("timestampMillis")),
        has_older and not passed,
        _dict(newest.get("result")).get("type") == "ERROR",
    )


def open_incident(incident: Entity) -> OpenIncident | None:
    """Return the incident if it is active, `None` if it is resolved or has no info."""
    info = incident.raw("incidentInfo") or {}
    status = _dict(info.get("status"))
    if status.get("state") != "ACTIVE":
        return None
    kind = _words(info.get("customType") or info.get("type"))
    priority = info.get("priority")
    priorities = dict(enumerate(_PRIORITIES))
    created = _dict(info.get("created")).get("time")
    return OpenIncident(
        incident.urn,
        str(info.get("title") or info.get("description") or f"{kind} incident").strip(),
        kind,
        _moment(info.get("startedAt") or created),
        _words(status.get("stage")),
        priorities.get(priority, "") if isinstance(priority, int) else "",
    )


def assertion_rule(assertion: Entity) -> str:
    """Return the rule that an assertion checks, in one line: its description, else its name, else
    its condition in words, else the beginning of its SQL."""
    info = assertion.raw("assertionInfo") or {}
    description = info.get("description")
    if isinstance(description, str) and description.strip():
        return description.strip()
    if name := assertion_name(info):
        return line(name)
    for field, kind in _KINDS.items():
        condition = info.get(field)
        if isinstance(condition, Mapping):
            columns = [FieldPath(path).simple for path in asserted_columns(info)]
            # The operator of a `sqlAssertion` applies to the result of its statement.
            sql = condition.get("statement")
            words = "" if sql else _describe_comparison(condition)
            comparison = words or line(str(sql or condition.get("logic") or ""), _MOST_SQL)
            return " ".join([", ".join(columns) or kind, comparison]).strip()
    return _words(info.get("type")) or assertion.urn.name


def _describe_comparison(condition: _Json) -> str:
    operator = condition.get("operator")
    word = _OPERATORS.get(str(operator), _words(operator))
    parameters = _dict(condition.get("parameters"))
    bounds = [
        str(_dict(parameters.get(key)).get("value"))
        for key in ("value", "minValue", "maxValue")
        if parameters.get(key)
    ]
    return " ".join([word, " and ".join(bounds)]).strip()


def _describe_result(result: _Json) -> str:
    """Return the result of a run, in words."""
    counted = {"unexpectedCount": "unexpected", "missingCount": "missing", "rowCount": "rows"}
    parts = [
        f"{result[key]:,} {word}"
        for key, word in counted.items()
        if isinstance(result.get(key), int) and (result[key] or key == "rowCount")
    ]
    value = result.get("actualAggValue")
    if isinstance(value, int | float):
        parts.append(f"found {value:,g}")
    return ", ".join(parts)


def _moment(millis: Any) -> datetime | None:
    return moment_of(millis) if isinstance(millis, int) else None


def _words(symbol: Any) -> str:
    return symbol.replace("_", " ").strip().lower() if isinstance(symbol, str) else ""


def _dict(value: Any) -> _Json:
    return value if isinstance(value, Mapping) else {}


_ASSERTS = "Asserts"
_INCIDENT_ON = "IncidentOn"
_RUNS = "assertionRunEvent"
_AT_ONCE = 4
# The maximum number of assertions read for an entity, and of runs (the latest) read for an
# assertion.
_MOST_ASSERTIONS = 100
_MOST_RUNS = 50
_LATEST = datetime.max.replace(tzinfo=UTC)


class HealthMethods(EntityMethods, TimeseriesMethods, LineageMethods):
    """Methods that read failing assertions and active incidents."""

    async def health(self, urn: str | Urn) -> Health:
        """Return the failing assertions and the active incidents of an entity.

        No request if its type can have neither; otherwise one, one more for each hundred assertions
        and incidents, and one for each assertion that is not known to pass. At most 100 assertions
        are read, and the latest 50 runs of each.

        Example: `[one.rule for one in cat.health(urn).failing]`
        """
        target = Urn.parse(urn)
        relationship_names = self.relationship_names(target.entity_type, "INCOMING")
        names = [name for name in (_ASSERTS, _INCIDENT_ON) if name in relationship_names]
        if not names:
            return Health(target)
        edges = (await self.relationships(target, "INCOMING", names)).edges
        entities = await self.entities(
            dict.fromkeys(edge.urn for edge in edges),
            ["assertionInfo", "assertionRunSummary", "incidentInfo", "status"],
        )
        existing = [entity for entity in entities.values() if entity.exists and not entity.removed]
        assertions = [entity for entity in existing if entity.entity_type == "assertion"]
        looked_at = assertions[:_MOST_ASSERTIONS]
        failing = await gather_limited((self._failing(entity) for entity in looked_at), _AT_ONCE)
        incidents = [open_incident(entity) for entity in existing]
        return Health(
            target,
            tuple(
                sorted((assertion for assertion in failing if assertion is not None), key=_since)
            ),
            tuple(sorted((incident for incident in incidents if incident is not None), key=_since)),
            len(assertions),
            len(assertions) - len(looked_at),
        )

    async def _failing(self, assertion: Entity) -> FailingAssertion | None:
        if (assertion.raw("assertionRunSummary") or {}).get("assertionStatus") == "PASSING":
            return None
        try:
            series = await self.timeseries(assertion.urn, _RUNS, limit=_MOST_RUNS)
        except REFUSALS:
            return None
        return failing_assertion(assertion, series.values, has_older=series.truncated)


def _since(problem: FailingAssertion | OpenIncident) -> tuple[datetime, str]:
    return problem.since or _LATEST, str(problem.urn)
