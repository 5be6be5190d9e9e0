"""What is known of columns beside their schema: use, profile, foreign keys, who described them."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from explorer.errors import ServerFault
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.views.usage import usage_of

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Column, Entity, Schema
    from explorer.client.records import Timeseries
    from explorer.metadata.aspects import FieldProfile

__all__ = [
    "DAYS",
    "ForeignKey",
    "Measured",
    "foreign_keys",
    "read_measured",
    "read_profile",
    "schema_of",
    "use_of",
]

_T = TypeVar("_T")

DAYS = 30
"""How many days of use are added up."""


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """Where a column points to; `column` is empty where that is not said."""

    dataset: Urn
    column: str = ""


@dataclass(frozen=True, slots=True)
class Measured:
    """By the raw path of a column: how often it was used in the last days, and its profile."""

    use: Mapping[str, int] = field(default_factory=dict)
    profiles: "Mapping[str, FieldProfile]" = field(default_factory=dict)
    rows: int | None = None

    @property
    def most(self) -> int:
        """How often the most used column was used."""
        return max(self.use.values(), default=0)


async def read_measured(
    catalog: "AsyncCatalog", entity: "Entity", schema: "Schema"
) -> tuple[Measured, list[BaseException]]:
    """Return what was measured of the columns of an entity, and what went wrong; nothing is known
    of what is no dataset. Two requests."""
    if entity.entity_type != "dataset" or not entity.exists:
        return Measured(), []
    usage, profile = await asyncio.gather(
        catalog.usage(entity.urn, days=DAYS),
        catalog.timeseries(entity.urn, "datasetProfile", latest=True),
        return_exceptions=True,
    )
    measured = await asyncio.to_thread(_measured, usage, profile, schema)
    return measured, [one for one in (usage, profile) if isinstance(one, BaseException)]


def _measured(
    usage: "Timeseries | BaseException", profile: "Timeseries | BaseException", schema: "Schema"
) -> Measured:
    """What the answers tell; nothing of one that is an error."""
    use = {} if isinstance(usage, BaseException) else use_of(usage, schema)
    if isinstance(profile, BaseException):
        return Measured(use)
    return Measured(use, *read_profile(profile, schema))


def use_of(series: "Timeseries", schema: "Schema") -> dict[str, int]:
    """How often each column was used. Use is often told by simple paths, whatever the schema's
    are; a path that several columns share counts for each."""
    told: Counter[str] = Counter()
    for path, count in usage_of(series).columns:
        told[path] += count
    return _by_raw(told, schema)


def read_profile(
    series: "Timeseries", schema: "Schema"
) -> "tuple[dict[str, FieldProfile], int | None]":
    """The columns of the newest profile, and how many rows there were."""
    profiles = series.profiles()
    if not profiles:
        return {}, None
    newest = profiles[-1]
    told = {one.field_path: one for one in newest.field_profiles or ()}
    return _by_raw(told, schema), newest.row_count


def foreign_keys(entity: "Entity") -> dict[str, ForeignKey]:
    """The foreign key of each column that is one, by raw path."""
    listed = (entity.raw("schemaMetadata") or {}).get("foreignKeys")
    found: dict[str, ForeignKey] = {}
    for key in listed if isinstance(listed, list) else ():
        if not isinstance(key, dict):
            continue
        there = list(_columns(key.get("foreignFields")))
        told = Urn.parse_all([key.get("foreignDataset")])
        for at, (_, path) in enumerate(_columns(key.get("sourceFields"))):
            dataset, column = there[at] if at < len(there) else (None, "")
            target = dataset or (told[0] if told else None)
            if target is not None:
                found.setdefault(path, ForeignKey(target, column))
    return found


def schema_of(entity: "Entity") -> "Schema | None":
    """The schema; nothing where it has another shape than a schema's."""
    try:
        return entity.schema
    except ServerFault:
        return None


def _columns(listed: object) -> "Iterable[tuple[Urn, str]]":
    for urn in Urn.parse_all(listed if isinstance(listed, list) else ()):
        if urn.entity_type == "schemaField" and len(urn.parts) > 1:
            for dataset in Urn.parse_all(urn.parts[:1]):
                yield dataset, urn.parts[1]


def _by_raw(told: Mapping[str, _T], schema: "Iterable[Column]") -> dict[str, _T]:
    simple = {FieldPath(path).simple: one for path, one in told.items()}
    found: dict[str, _T] = {}
    for column in schema:
        one = told.get(column.path.raw, simple.get(column.path.simple))
        if one is not None:
            found[column.path.raw] = one
    return found
