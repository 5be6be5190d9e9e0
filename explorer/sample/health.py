"""Assertions with their runs, one of which fails, and an incident that is active."""

from typing import Any

from explorer.metadata import Urn
from explorer.sample.change import Change, Changes, audit_stamp, user
from explorer.sample.days import Days
from explorer.sample.notation import rows
from explorer.sample.tables import Table
from explorer.sample.warehouse import Warehouse, read_data

__all__ = ["health"]

# One a day, the newest today.
_RUNS = 14
# Of the rows of a run that failed, one more each day.
_UNEXPECTED = 41
_ROWS = 48_310


def health(warehouse: Warehouse, days: Days) -> Changes:
    """Every assertion with its runs after it, oldest first; then the incidents."""
    for cells in rows(read_data("health")):
        sign, _, name = cells[0].partition(" ")
        table = warehouse[cells[1]]
        if sign == "-":
            yield from _assertion(name, table, cells[2:], days)
        else:
            yield _incident(name, table, cells[2:], days)


def _assertion(name: str, table: Table, cells: list[str], days: Days) -> Changes:
    column, operator, bounds, text, failed = cells
    [field] = [one for one in table.columns if one.name == column]
    urn = Urn.of("assertion", name)
    told: dict[str, Any] = {
        "dataset": str(table.urn),
        "scope": "DATASET_COLUMN",
        "fields": [table.field_urn(field)],
        "aggregation": "IDENTITY",
        "operator": operator,
    }
    if bounds:
        low, high = bounds.split()
        told["parameters"] = {
            "minValue": {"value": low, "type": "NUMBER"},
            "maxValue": {"value": high, "type": "NUMBER"},
        }
    value = {"type": "DATASET", "datasetAssertion": told, "description": text}
    yield Change(urn, "assertionInfo", value)
    for ago in range(_RUNS - 1, -1, -1):
        is_failed = ago < int(failed)
        result: dict[str, Any] = {
            "type": "FAILURE" if is_failed else "SUCCESS",
            "rowCount": _ROWS - ago,
            "unexpectedCount": _UNEXPECTED - ago if is_failed else 0,
        }
        run = {
            "timestampMillis": days.millis(ago),
            "runId": f"checks-{days.on(ago).isoformat()}",
            "asserteeUrn": str(table.urn),
            "assertionUrn": str(urn),
            "status": "COMPLETE",
            "result": result,
        }
        yield Change(urn, "assertionRunEvent", run)


def _incident(name: str, table: Table, cells: list[str], days: Days) -> Change:
    kind, state, stage, priority, ago, reporter, title, text = cells
    stamp = audit_stamp(days.millis(int(ago)), user(reporter))
    value: dict[str, Any] = {
        "type": kind,
        "title": title,
        "description": text,
        "entities": [str(table.urn)],
        "priority": int(priority),
        "status": {"state": state, "stage": stage, "lastUpdated": stamp},
        "source": {"type": "MANUAL"},
        "created": stamp,
    }
    return Change(Urn.of("incident", name), "incidentInfo", value, user(reporter))
