"""Lineage between the declared tables, down to columns; and the SQL of the staging views."""

from typing import Any

from explorer.sample.change import Change, Changes, audit_stamp, user
from explorer.sample.days import Days
from explorer.sample.tables import Table
from explorer.sample.warehouse import Warehouse

__all__ = ["lineage", "view"]


def lineage(table: Table, warehouse: Warehouse, days: Days) -> Changes:
    """What the table is made from, and its columns; nothing for a source."""
    upstreams = warehouse.upstreams(table)
    if not upstreams:
        return
    copied = table.name.startswith("raw.") and len(upstreams) == 1
    stamp = audit_stamp(days.millis(1), user("svc_dbt"))
    kind = "COPY" if copied else "TRANSFORMED"
    value: dict[str, Any] = {
        "upstreams": [
            {"auditStamp": stamp, "dataset": str(urn), "type": kind} for urn, _ in upstreams
        ]
    }
    fine = [
        {
            "upstreamType": "FIELD_SET",
            "upstreams": [source.field_urn(field) for source, field in sources],
            "downstreamType": "FIELD",
            "downstreams": [table.field_urn(column)],
            "confidenceScore": 1.0,
        }
        for column in table.columns
        if (sources := warehouse.sources(table, column))
    ]
    if fine:
        value["fineGrainedLineages"] = fine
    yield Change(table.urn, "upstreamLineage", value)


def view(table: Table, warehouse: Warehouse) -> Changes:
    """The SQL behind a view: as declared, or written from the columns of a plain staging view."""
    sql = table.sql
    if not sql and table.subtype == "View" and len(table.upstreams) == 1:
        sql = _staging_sql(table, warehouse)
    if sql:
        value = {"materialized": False, "viewLogic": sql, "viewLanguage": "SQL"}
        yield Change(table.urn, "viewProperties", value)


def _staging_sql(table: Table, warehouse: Warehouse) -> str:
    [(_, upstream)] = warehouse.upstreams(table)
    if upstream is None:
        return ""
    selected: list[str] = []
    for column in table.columns:
        sources = warehouse.sources(table, column)
        if sources:
            source = sources[0][1].name
            selected.append(source if source == column.name else f"{source} as {column.name}")
    deleted = "\nwhere not _deleted" if "_deleted" in upstream.by_name else ""
    columns = ",\n    ".join(selected)
    return f"select\n    {columns}\nfrom {upstream.name}{deleted}"
