"""Convert tables to aspects, with the URNs and containers that DataHub's connectors create."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import md5
from typing import Any, Final

from explorer.errors import InvalidUrn
from explorer.metadata.column_lineage import column_urn
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from explorer.sources.source import (
    ColumnDefinition,
    Inventory,
    SkippedPart,
    SourceOptions,
    TableDefinition,
)

__all__ = [
    "ColumnSources",
    "DatasetWriter",
    "Level",
    "column_aspect",
    "datahub_guid",
    "lineage_aspect",
]

_SCHEMA: Final = "com.linkedin.schema."
_UNKNOWN_STAMP: Final = {"time": 0, "actor": "urn:li:corpuser:unknown"}
_MOST_VIEW_BYTES: Final = 1 << 20
_VIEWS: Final = frozenset(("View", "Materialized View"))


@dataclass(frozen=True, slots=True)
class Level:
    """A level of containers: its key in DataHub's container keys, and its subtype."""

    key: str
    subtype: str


DATABASE: Final = Level("database", "Database")
SCHEMA: Final = Level("schema", "Schema")
BUCKET: Final = Level("bucket_name", "Bucket")
FOLDER: Final = Level("folder_abs_path", "Folder")


@dataclass(frozen=True, slots=True)
class ColumnSources:
    """The upstream columns of one column, as (dataset, path)."""

    column: str
    upstreams: tuple[tuple[Urn, str], ...]


def column_aspect(column: ColumnDefinition, *, is_key: bool = False, **more: Any) -> dict[str, Any]:
    """Return a field of `schemaMetadata`; `more` are further entries in it."""
    value: dict[str, Any] = {
        "fieldPath": column.path,
        "nullable": column.is_nullable,
        "type": {"type": {f"{_SCHEMA}{column.kind}Type": {}}},
        "nativeDataType": column.native_type,
        "recursive": False,
        "isPartOfKey": is_key,
    }
    if column.description:
        value["description"] = column.description
    if column.is_partition_key:
        value["isPartitioningKey"] = True
    return value | {key: part for key, part in more.items() if part}


def lineage_aspect(
    dataset: Urn,
    upstreams: Iterable[Urn],
    columns: Iterable[ColumnSources] = (),
    kind: str = "VIEW",
) -> dict[str, Any]:
    """Return an `upstreamLineage` aspect, with upstreams and columns in the given order."""
    value: dict[str, Any] = {
        "upstreams": [
            {"auditStamp": _UNKNOWN_STAMP, "dataset": str(one), "type": kind}
            for one in dict.fromkeys(upstreams)
        ]
    }
    fine = [
        {
            "upstreamType": "FIELD_SET",
            "upstreams": [column_urn(urn, path) for urn, path in one.upstreams],
            "downstreamType": "FIELD",
            "downstreams": [column_urn(dataset, one.column)],
            "confidenceScore": 1.0,
        }
        for one in columns
        if one.upstreams
    ]
    return value | ({"fineGrainedLineages": fine} if fine else {})


@dataclass(slots=True)
class DatasetWriter:
    """Creates the proposals of tables and of their containers.

    `levels` are the levels of containers, outermost first. `delimiter` separates the parts of a
    dataset's name.
    """

    platform: str
    options: SourceOptions
    levels: Sequence[Level] = (DATABASE, SCHEMA)
    delimiter: str = "."
    inventory: Inventory = field(default_factory=Inventory)
    _containers: set[tuple[str, ...]] = field(default_factory=set)

    def dataset(self, path: Sequence[str]) -> Urn:
        """Return the URN of the table with that path."""
        parts = (self.options.instance, *path) if self.options.instance else path
        name = self.delimiter.join(_in_urn(part) for part in parts)
        return Urn.dataset(self.platform, name, self.options.env)

    def prefix(self, path: Sequence[str]) -> str:
        """Return the common prefix of the names of all datasets in a container."""
        return self.dataset((*path, "")).name

    def container(self, path: Sequence[str]) -> Urn:
        """Return the URN of a container, with the same id as from DataHub's connectors."""
        return Urn.of("container", datahub_guid(self._key(path)))

    def add(
        self,
        table: TableDefinition,
        *,
        upstreams: Sequence[Urn] = (),
        columns: Iterable[ColumnSources] = (),
    ) -> None:
        """Add the proposals of a table to the inventory, preceded by those of new containers. A
        table whose name is not valid in a URN is skipped."""
        try:
            Urn.parse(str(self.dataset(table.path))).check_characters()
        except InvalidUrn as error:
            self.inventory.skipped.append(SkippedPart(self.delimiter.join(table.path), str(error)))
            return
        for depth in range(1, len(table.path)):
            self.add_container(table.path[:depth])
        self.inventory.proposals += self._table(table, upstreams, columns)
        unread = {"schemaMetadata"} if table.columns is None else set()
        if table.subtype in _VIEWS and not table.definition:
            # Every view has a definition, so a missing one could not be read.
            unread |= {"viewProperties", "upstreamLineage"}
        if unread:
            self.inventory.unread[self.dataset(table.path)] = unread
        self.inventory.count(table.subtype.lower())
        self.inventory.count("column", len(table.columns or ()))

    def add_container(self, path: tuple[str, ...], description: str | None = None) -> None:
        """Add a container to the inventory unless it was added before."""
        if path in self._containers:
            return
        self._containers.add(path)
        level = self.levels[min(len(path), len(self.levels)) - 1]
        urn, key = self.container(path), self._key(path)
        properties = {
            "customProperties": {**key, "env": self.options.env},
            "name": path[-1],
            "qualifiedName": self.delimiter.join(path),
            "env": self.options.env,
        }
        if description:
            properties["description"] = description
        aspects = {
            "containerProperties": properties,
            **self._placed(path[:-1]),
            "subTypes": {"typeNames": [level.subtype]},
            "status": {"removed": False},
        }
        self.inventory.proposals += (Proposal(urn, name, value) for name, value in aspects.items())
        self.inventory.count(level.subtype.lower())

    def _key(self, path: Sequence[str]) -> dict[str, str]:
        instance = self.options.instance or self.options.env
        names = dict(zip((level.key for level in self.levels), path, strict=False))
        if self.levels[-1] is FOLDER and len(path) >= len(self.levels):
            # Folders can be nested to any depth, so the key has the whole path.
            names[self.levels[-1].key] = self.delimiter.join(path)
        return {"platform": self.platform, "instance": instance, **names}

    def _placed(self, above: tuple[str, ...]) -> dict[str, Any]:
        """Return the aspects with the platform and the containers of an entity."""
        platform: dict[str, Any] = {"platform": f"urn:li:dataPlatform:{self.platform}"}
        steps = []
        if self.options.instance:
            named = f"(urn:li:dataPlatform:{self.platform},{self.options.instance})"
            platform["instance"] = f"urn:li:dataPlatformInstance:{named}"
            steps.append({"id": platform["instance"], "urn": platform["instance"]})
        holders = [str(self.container(above[:depth])) for depth in range(1, len(above) + 1)]
        steps += [{"id": one, "urn": one} for one in holders]
        aspects: dict[str, Any] = {"dataPlatformInstance": platform}
        if holders:
            aspects["container"] = {"container": holders[-1]}
        return aspects | {"browsePathsV2": {"path": steps}}

    def _table(
        self, table: TableDefinition, upstreams: Sequence[Urn], columns: Iterable[ColumnSources]
    ) -> Iterator[Proposal]:
        urn = self.dataset(table.path)
        properties: dict[str, Any] = {
            "customProperties": dict(table.properties),
            "name": table.path[-1],
            "qualifiedName": self.delimiter.join(table.path),
            "tags": [],
        }
        if table.description:
            properties["description"] = table.description
        aspects: dict[str, Any] = {
            "datasetProperties": properties,
            **({"schemaMetadata": self._schema(table)} if table.columns is not None else {}),
            **self._placed(table.path[:-1]),
            "subTypes": {"typeNames": [table.subtype]},
            "status": {"removed": False},
        }
        if table.definition:
            aspects["viewProperties"] = {
                "materialized": table.is_materialized,
                "viewLogic": table.definition[:_MOST_VIEW_BYTES],
                "viewLanguage": "SQL",
            }
        if upstreams:
            aspects["upstreamLineage"] = lineage_aspect(urn, upstreams, columns)
        if table.field_profiles or table.row_count is not None or table.size_bytes is not None:
            aspects["datasetProfile"] = _profile(table)
        for name, value in aspects.items():
            yield Proposal(urn, name, value)

    def _schema(self, table: TableDefinition) -> dict[str, Any]:
        listed = table.columns or ()
        value: dict[str, Any] = {
            "schemaName": self.delimiter.join(table.path),
            "platform": f"urn:li:dataPlatform:{self.platform}",
            "version": 0,
            "hash": "",
            "platformSchema": {f"{_SCHEMA}OtherSchema": {"rawSchema": ""}},
            "fields": [column_aspect(one, is_key=one.path in table.primary_key) for one in listed],
        }
        if table.primary_key:
            value["primaryKeys"] = list(table.primary_key)
        if table.foreign_keys:
            own = self.dataset(table.path)
            value["foreignKeys"] = [
                {
                    "name": key.name,
                    "sourceFields": [column_urn(own, path) for path in key.columns],
                    "foreignDataset": str(self.dataset(key.table)),
                    "foreignFields": [
                        column_urn(self.dataset(key.table), path) for path in key.foreign_columns
                    ],
                }
                for key in table.foreign_keys
            ]
        return value


def _profile(table: TableDefinition) -> dict[str, Any]:
    """Return a profile without its time, which the run sets."""
    known = {
        "rowCount": table.row_count,
        "columnCount": None if table.columns is None else len(table.columns),
        "sizeInBytes": table.size_bytes,
    }
    profile: dict[str, Any] = {name: one for name, one in known.items() if one is not None}
    if table.field_profiles:
        profile["fieldProfiles"] = list(table.field_profiles)
    if table.sampled_rows is not None:
        # The profile is of the whole table, computed from a sample of its rows.
        part = f"SAMPLE ({table.sampled_rows:,} rows)"
        profile["partitionSpec"] = {"type": "FULL_TABLE", "partition": part}
    return profile


# The characters that DataHub's connectors encode in a name.
_RESERVED: Final = str.maketrans({"(": "%28", ")": "%29", ",": "%2C", "␟": "%E2%90%9F"})


def _in_urn(part: str) -> str:
    return part.translate(_RESERVED)


def datahub_guid(key: Mapping[str, str]) -> str:
    """Return the id that DataHub computes from the key of a container or assertion."""
    text = json.dumps(key, separators=(",", ":"), sort_keys=True)
    return md5(text.encode(), usedforsecurity=False).hexdigest()
