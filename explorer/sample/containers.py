"""Databases, schemas, buckets and folders: what datasets are kept in."""

from hashlib import sha256

from explorer.metadata import Urn
from explorer.sample.change import Change, Changes
from explorer.sample.days import Days
from explorer.sample.tables import Table
from explorer.sample.warehouse import Warehouse

__all__ = ["container_of", "containers"]

_KINDS = {
    "postgres": ("Database", "Schema"),
    "snowflake": ("Database", "Schema"),
    "s3": ("S3 bucket", "Folder"),
}

_DESCRIPTIONS = {
    "shop": "Database of the order service: orders, carts, customers, returns.",
    "pim": "Product information: styles, variants, prices, suppliers.",
    "fulfilment": "Warehouse management: stock, parcels, purchase orders.",
    "payments": "Payment gateway. Access is logged and reviewed every quarter.",
    "crm": "Customer care and the loyalty programme.",
    "raw": "Replicas and loads, exactly as the sources have them. Not for analysis.",
    "analytics": "Everything made by dbt. Start in `marts`.",
    "analytics.staging": "One view per source table: names, types, nothing else.",
    "analytics.intermediate": "Steps shared by several marts. May change without notice.",
    "analytics.marts": "Facts, dimensions and marts: **what reports and people use**.",
    "analytics.reporting": "Views shaped for one report each.",
    "analytics.ml": "Features and scores of the models.",
    "analytics.sandbox": "Scratch space. Tables older than 90 days are dropped.",
    "tarnwood-landing": "Where files arrive: events, partners, stores.",
}


def container_of(table: Table) -> Urn | None:
    """The container that holds a dataset; none on platforms without such."""
    return _urn(table.platform, table.folders) if table.platform in _KINDS else None


def containers(warehouse: Warehouse, days: Days) -> Changes:
    """Every container of the declared datasets, parents first."""
    seen: set[Urn] = set()
    for table in warehouse.tables:
        kinds = _KINDS.get(table.platform, ())
        for depth in range(1, min(len(table.folders), len(kinds)) + 1):
            folders = table.folders[:depth]
            urn = _urn(table.platform, folders)
            if urn not in seen:
                seen.add(urn)
                yield from _container(urn, table, folders, kinds[depth - 1], days)


def _container(urn: Urn, table: Table, folders: tuple[str, ...], kind: str, days: Days) -> Changes:
    full_name = table.delimiter.join(folders)
    value = {
        "name": folders[-1],
        "qualifiedName": full_name,
        "env": "PROD",
        "customProperties": {"platform": table.platform},
        "created": {"time": days.millis(1400)},
    }
    if full_name in _DESCRIPTIONS:
        value["description"] = _DESCRIPTIONS[full_name]
    yield Change(urn, "containerProperties", value)
    yield Change(urn, "subTypes", {"typeNames": [kind]})
    platform = {"platform": str(Urn.of("dataPlatform", table.platform))}
    yield Change(urn, "dataPlatformInstance", platform)
    path = "/".join(("", "prod", table.platform, *folders[:-1]))
    yield Change(urn, "browsePaths", {"paths": [path]})
    if len(folders) > 1:
        parent = str(_urn(table.platform, folders[:-1]))
        yield Change(urn, "container", {"container": parent})


def _urn(platform: str, folders: tuple[str, ...]) -> Urn:
    key = "/".join((platform, *folders))
    return Urn.of("container", sha256(key.encode()).hexdigest()[:32])
