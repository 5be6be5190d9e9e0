"""The datasets: what is said of each, by ingestion and by people."""

from random import Random
from typing import Any

from explorer.metadata import Urn
from explorer.sample.change import Change, Changes, audit_stamp, user
from explorer.sample.containers import container_of
from explorer.sample.days import Days
from explorer.sample.lineage import lineage, view
from explorer.sample.people import owner_urn
from explorer.sample.schema import edited_schema, schema, tags_value, terms_value
from explorer.sample.tables import Table
from explorer.sample.warehouse import Warehouse

__all__ = ["datasets", "ownership_value", "removals"]

_SUBTYPES = {"postgres": "Table", "kafka": "Topic", "s3": "Files"}

# Tables of the warehouse are rebuilt every night; sources change when their service does.
_NIGHTLY = frozenset({"snowflake", "s3", "kafka"})


def datasets(warehouse: Warehouse, days: Days) -> Changes:
    """Every dataset, sources first; the earlier states of an aspect stand before its latest."""
    for table in warehouse.tables:
        yield from _dataset(table, warehouse, days)


def removals(warehouse: Warehouse) -> Changes:
    """The datasets that are gone from their platform."""
    for table in warehouse.tables:
        if table.removed:
            yield Change(table.urn, "status", {"removed": True})


def ownership_value(owners: tuple[tuple[str, str], ...], time_millis: int) -> dict[str, Any]:
    """The value of an `ownership` aspect, from pairs of name and type."""
    return {
        "owners": [{"owner": owner_urn(name), "type": kind} for name, kind in owners],
        "lastModified": audit_stamp(time_millis, user("akowalski")),
    }


def _dataset(table: Table, warehouse: Warehouse, days: Days) -> Changes:
    urn = table.urn
    dice = Random(f"dataset {table.name} {table.origin}")
    age = dice.randrange(120, 1600)
    changed = 1 if table.platform in _NIGHTLY else dice.randrange(2, 90)
    platform = {"platform": str(Urn.of("dataPlatform", table.platform))}
    yield Change(urn, "dataPlatformInstance", platform)
    if table.was:
        yield Change(urn, "datasetProperties", _properties(table, table.was, days, age, changed))
    yield Change(urn, "datasetProperties", _properties(table, table.about, days, age, changed))
    subtype = table.subtype or _SUBTYPES[table.platform]
    yield Change(urn, "subTypes", {"typeNames": [subtype]})
    path = "/".join(("", table.origin.lower(), table.platform, *table.folders))
    yield Change(urn, "browsePaths", {"paths": [path]})
    container = container_of(table)
    if container:
        yield Change(urn, "container", {"container": str(container)})
    yield from schema(table, warehouse, days, age)
    yield from lineage(table, warehouse, days)
    yield from view(table, warehouse)
    yield from _classified(table, days)
    yield from _written(table, warehouse, days, dice)


def _properties(
    table: Table, description: str, days: Days, age: int, changed: int
) -> dict[str, Any]:
    value: dict[str, Any] = {
        "name": table.label,
        "qualifiedName": table.name,
        "customProperties": table.props,
        "created": {"time": days.millis(age)},
        "lastModified": {"time": days.millis(changed)},
    }
    if description:
        value["description"] = description
    return value


def _classified(table: Table, days: Days) -> Changes:
    urn = table.urn
    if table.had:
        yield Change(urn, "ownership", ownership_value(table.had, days.millis(400)))
    if table.owners:
        yield Change(urn, "ownership", ownership_value(table.owners, days.millis(45)))
    if table.tags:
        yield Change(urn, "globalTags", tags_value(table.tags))
    if table.terms:
        yield Change(urn, "glossaryTerms", terms_value(table.terms, days))
    if table.domain:
        yield Change(urn, "domains", {"domains": [f"urn:li:domain:{table.domain}"]})


def _written(table: Table, warehouse: Warehouse, days: Days, dice: Random) -> Changes:
    """What people wrote: links, texts of their own, deprecations."""
    urn = table.urn
    persons = [name for name, _ in table.owners if not name.startswith("team-")]
    editor = persons[0] if persons else dice.choice(("jdoe", "msmith", "tnguyen"))
    ago = dice.randrange(3, 60)
    stamp = audit_stamp(days.millis(ago), user(editor))
    if table.links:
        elements = [
            {"url": url, "description": text, "createStamp": stamp} for url, text in table.links
        ]
        yield Change(urn, "institutionalMemory", {"elements": elements}, user(editor))
    if table.edited:
        value: dict[str, Any] = {
            "created": stamp,
            "lastModified": stamp,
            "description": table.edited,
        }
        yield Change(urn, "editableDatasetProperties", value, user(editor))
    yield from edited_schema(table, days, editor, ago)
    if table.deprecated:
        value = {
            "deprecated": True,
            "decommissionTime": days.millis(-60),
            "note": table.deprecated,
            "actor": user(editor),
            "replacement": str(warehouse[table.replaced_by].urn),
        }
        yield Change(urn, "deprecation", value, user(editor))
