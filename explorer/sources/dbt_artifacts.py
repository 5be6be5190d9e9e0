"""Read a dbt project from the artifacts in its target folder.

`manifest.json` has the models, sources, seeds, snapshots and tests, `catalog.json` the types of
columns and the sizes of tables, `run_results.json` and `sources.json` the last results of tests and
of freshness checks. Only `manifest.json` is required. The URNs are those of DataHub's dbt
connector.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any, Final

import orjson

from explorer.errors import InvalidFile, InvalidInput
from explorer.metadata.column_lineage import column_urn
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn
from explorer.sources.datasets import ColumnSources, column_aspect, datahub_guid, lineage_aspect
from explorer.sources.source import (
    ColumnDefinition,
    Inventory,
    Progress,
    SkippedPart,
    SourceOptions,
    read_text,
)
from explorer.sources.sql_lineage import KnownTables, QueryLineage, read_lineage
from explorer.stewardship.dbt_project import artifact_path, read_file, read_settings, strings_in

__all__ = ["DbtArtifacts"]

_PLATFORM: Final = "urn:li:dataPlatform:dbt"
_SCHEMA: Final = "com.linkedin.schema."
_KINDS: Final = ("model", "seed", "snapshot", "source")
# Adapters whose names differ from that of the platform in DataHub.
_WAREHOUSES: Final = {"sqlserver": "mssql"}
_PASSED: Final = frozenset({"pass", "success"})
_FAILED: Final = frozenset({"fail", "error", "runtime error", "warn"})
# The operators and aggregations of assertions for dbt's built-in tests.
_TESTS: Final[dict[str, tuple[str, str]]] = {
    "not_null": ("NOT_NULL", "IDENTITY"),
    "unique": ("EQUAL_TO", "UNIQUE_PROPOTION"),
    "accepted_values": ("IN", "IDENTITY"),
    "relationships": ("_NATIVE_", "IDENTITY"),
}
_STATISTICS: Final = {
    "rowCount": ("num_rows", "row_count", "rows"),
    "sizeInBytes": ("num_bytes", "bytes", "size"),
}
_TYPES: Final = (
    ("Boolean", ("bool",)),
    ("Time", ("timestamp", "datetime", "time", "interval")),
    ("Date", ("date",)),
    ("Record", ("struct", "record", "json", "variant", "object", "super", "row")),
    ("Array", ("array", "list", "repeated")),
    ("Map", ("map",)),
    ("Bytes", ("binary", "bytes", "blob", "varbinary", "bytea")),
    ("Number", ("int", "num", "dec", "float", "double", "real", "byteint", "money", "hugeint")),
    ("Number", ("bigint", "smallint", "tinyint", "ubigint", "uinteger", "serial")),
    ("String", ("char", "string", "text", "varchar", "nvarchar", "uuid", "clob", "bpchar")),
)


@dataclass(frozen=True, slots=True)
class DbtArtifacts:
    """A source of a dbt project's models, sources, seeds and snapshots, with their tests."""

    root: Path
    options: SourceOptions
    kind: str = "dbt"

    @property
    def location(self) -> str:
        """The absolute path of the project."""
        return str(self.root.resolve())

    @property
    def default_name(self) -> str:
        """The project's name."""
        return str(read_settings(self.root)["name"])

    def read(self, progress: Progress) -> Inventory:
        """Return the tables and tests in the manifest, including those of installed packages.

        A model whose SQL is not understood has no column lineage and is listed as skipped. Raises
        `InvalidInput` if there is no manifest, and `InvalidFile` if an artifact is not a JSON
        object.
        """
        settings = read_settings(self.root)
        path = artifact_path(self.root, settings, "manifest.json")
        if not path.is_file():
            raise InvalidInput(
                f"{path} is missing; dbt parse writes it, dbt docs generate with the types of "
                "columns too"
            )
        artifacts = {
            name: _artifact(artifact_path(self.root, settings, f"{name}.json"))
            for name in ("manifest", "catalog", "run_results", "sources")
        }
        return _Reader(self.options, artifacts, str(settings["name"]), progress).read()


def _artifact(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        value = orjson.loads(read_file(path))
    except orjson.JSONDecodeError as error:
        raise InvalidFile(f"{path} is no JSON: {error}; run dbt again") from error
    if not isinstance(value, dict):
        raise InvalidFile(f"{path} is no artifact of dbt; run dbt again")
    return value


class _Node:
    """A model, seed, snapshot or source of the manifest."""

    def __init__(self, value: Mapping[str, Any], catalog: Mapping[str, Any]) -> None:
        self.value = value
        self.id = str(value.get("unique_id"))
        self.kind = str(value.get("resource_type"))
        name = value.get("alias") or value.get("name")
        self.path = _path(value, name)
        # The table of a source may have another name in the warehouse.
        self.relation = _path(value, value.get("identifier") or name)
        self.name = str(value.get("name"))
        self.catalog = catalog
        config = value.get("config") or {}
        self.materialized = str(config.get("materialized") or "")
        self.is_enabled = config.get("enabled") is not False
        self.inferred: list[str] = []

    @property
    def upstreams(self) -> tuple[str, ...]:
        """The ids of the nodes that it depends on."""
        return strings_in((self.value.get("depends_on") or {}).get("nodes"))

    @property
    def sql(self) -> str | None:
        """The compiled SQL, if any."""
        return read_text(self.value.get("compiled_code") or self.value.get("compiled_sql"))

    @property
    def code(self) -> str | None:
        """The SQL or Python as written in the project, if any."""
        return read_text(self.value.get("raw_code") or self.value.get("raw_sql"))

    @property
    def types(self) -> dict[str, tuple[str, str | None]]:
        """The types and comments of its columns in the warehouse, by name and in their order."""
        held = (self.catalog.get("columns") or {}).values()
        listed = sorted(held, key=lambda one: one.get("index") or 0)
        return {one["name"]: (str(one.get("type") or ""), one.get("comment")) for one in listed}

    @property
    def documented(self) -> dict[str, Mapping[str, Any]]:
        """The columns in the project's properties files, by name in lower case."""
        held = (self.value.get("columns") or {}).values()
        return {str(one.get("name")).casefold(): one for one in held if isinstance(one, dict)}

    @property
    def columns(self) -> list[str]:
        """The names of its columns: those in the warehouse or, if they are not known, those of its
        SQL, followed by documented columns that are not among these."""
        if self.types:
            return list(self.types)
        known = {name.casefold() for name in self.inferred}
        said = [str(one["name"]) for key, one in self.documented.items() if key not in known]
        named = {key: str(one["name"]) for key, one in self.documented.items()}
        return [*(named.get(name.casefold(), name) for name in self.inferred), *said]


def _path(value: Mapping[str, Any], name: Any) -> tuple[str, ...]:
    parts = (value.get("database"), value.get("schema"), name)
    return tuple(str(part).replace('"', "") for part in parts if part)


@dataclass(slots=True)
class _Reader:
    """Creates the inventory of a project from its artifacts."""

    options: SourceOptions
    artifacts: Mapping[str, Mapping[str, Any]]
    project: str
    progress: Progress
    inventory: Inventory = field(default_factory=Inventory)
    by_relation: dict[tuple[str, ...], _Node] = field(default_factory=dict)

    def read(self) -> Inventory:
        manifest, catalog = self.artifacts["manifest"], self.artifacts["catalog"]
        held = {**(manifest.get("nodes") or {}), **(manifest.get("sources") or {})}
        described = {**(catalog.get("nodes") or {}), **(catalog.get("sources") or {})}
        nodes = {
            key: node
            for key, value in held.items()
            if isinstance(value, dict) and value.get("resource_type") in _KINDS
            for node in (_Node(value, described.get(key) or {}),)
            if node.is_enabled
        }
        tests = [one for one in held.values() if one.get("resource_type") == "test"]
        self.by_relation = {node.relation: node for node in nodes.values()}
        lineages = self._lineages(nodes)
        for node in nodes.values():
            self._add(node, nodes, lineages.get(node.id))
        results = _results(self.artifacts["run_results"])
        for test in tests:
            self._add_test(test, nodes, results.get(str(test.get("unique_id"))))
        self._add_freshness(nodes)
        return self.inventory

    @property
    def _dialect(self) -> str:
        return str((self.artifacts["manifest"].get("metadata") or {}).get("adapter_type") or "")

    def _urn(self, node: _Node) -> Urn:
        above = (self.options.instance,) if self.options.instance else ()
        return Urn.dataset("dbt", ".".join((*above, *node.path)), self.options.env)

    def _warehouse_urn(self, node: _Node) -> Urn | None:
        """Return the dataset of a node in the warehouse, or `None` if the node is ephemeral or the
        adapter is not known."""
        if not self._dialect or node.materialized == "ephemeral":
            return None
        platform = _WAREHOUSES.get(self._dialect, self._dialect)
        return Urn.dataset(platform, ".".join(node.relation), self.options.env)

    def _skip(self, subject: str, reason: str) -> None:
        self.inventory.skipped.append(SkippedPart(subject, reason))

    def _lineages(self, nodes: Mapping[str, _Node]) -> dict[str, QueryLineage]:
        """Return the lineage of every model whose SQL is understood. Models are read in upstream
        order, so that columns which are not in `catalog.json` are known from the upstream SQL."""
        found: dict[str, QueryLineage] = {}
        tables = KnownTables((node.relation, node.columns) for node in nodes.values())
        graph = {
            key: [one for one in node.upstreams if one in nodes] for key, node in nodes.items()
        }
        try:
            order = list(TopologicalSorter(graph).static_order())
        except CycleError:
            order = list(nodes)
        uncompiled = 0
        for done, key in enumerate(order, start=1):
            self.progress("models", done, len(order))
            node = nodes[key]
            if node.kind not in ("model", "snapshot") or node.value.get("language") == "python":
                continue
            if node.sql is None:
                uncompiled += 1
                continue
            if not self._dialect:
                continue
            width = len(node.types) or None if node.kind == "model" else None
            lineage = read_lineage(node.sql, self._dialect, tables, node.relation[:-1], width)
            if lineage.problem is not None:
                self._skip(node.id, f"no column lineage: {lineage.problem}")
                continue
            found[key] = lineage
            if not node.types:
                node.inferred = lineage.names
                tables.add(node.relation, node.columns)
        if uncompiled:
            self._skip(
                self.project,
                f"no column lineage of {uncompiled:,} models: their SQL is not compiled; dbt "
                "compile does that",
            )
        return found

    def _add(self, node: _Node, nodes: Mapping[str, _Node], lineage: QueryLineage | None) -> None:
        urn = self._urn(node)
        aspects: dict[str, Any] = {
            "datasetProperties": self._properties(node),
            "schemaMetadata": self._schema(node),
            "dataPlatformInstance": self._platform(),
            "subTypes": {"typeNames": [node.kind.capitalize()]},
            "status": {"removed": False},
            "browsePathsV2": {"path": [{"id": part} for part in node.path[:-1]]},
        }
        if node.kind in ("model", "snapshot") and (node.code or node.sql):
            aspects["viewProperties"] = {
                "materialized": node.materialized in ("table", "incremental", "snapshot"),
                "viewLogic": node.code or "",
                **({"formattedViewLogic": node.sql} if node.sql else {}),
                "viewLanguage": str(node.value.get("language") or "sql").upper(),
            }
        warehouse = self._warehouse_urn(node)
        if warehouse is not None:
            aspects["siblings"] = {"siblings": [str(warehouse)], "primary": True}
        if upstream := self._upstreams(node, nodes, lineage, warehouse):
            aspects["upstreamLineage"] = upstream
        aspects |= _labels(node.value)
        if profile := _profile(node):
            aspects["datasetProfile"] = profile
        self.inventory.proposals += (Proposal(urn, name, value) for name, value in aspects.items())
        self.inventory.count(node.kind)
        self.inventory.count("column", len(node.columns))

    def _platform(self) -> dict[str, Any]:
        value = {"platform": _PLATFORM}
        if self.options.instance:
            named = f"({_PLATFORM},{self.options.instance})"
            value["instance"] = f"urn:li:dataPlatformInstance:{named}"
        return value

    def _properties(self, node: _Node) -> dict[str, Any]:
        known = {
            "node_type": node.kind,
            "materialization": node.materialized,
            "dbt_file_path": node.value.get("original_file_path"),
            "dbt_unique_id": node.id,
            "dbt_package_name": node.value.get("package_name"),
            "language": node.value.get("language"),
            "catalog_type": (node.catalog.get("metadata") or {}).get("type"),
        }
        meta = {key: one for key, one in _meta(node.value).items() if key not in _MAPPED}
        said = {
            f"meta.{key}": one if isinstance(one, str) else _json(one) for key, one in meta.items()
        }
        value: dict[str, Any] = {
            "customProperties": {key: str(one) for key, one in known.items() if one} | said,
            "name": node.name,
            "qualifiedName": ".".join(node.path),
            "tags": [],
        }
        description = read_text(node.value.get("description"))
        description = description or read_text(node.value.get("source_description"))
        return value | ({"description": description} if description else {})

    def _schema(self, node: _Node) -> dict[str, Any]:
        fields = []
        for name in node.columns:
            said = node.documented.get(name.casefold(), {})
            native, comment = node.types.get(name, (str(said.get("data_type") or ""), None))
            text = read_text(said.get("description")) or read_text(comment)
            labels = _labels(said)
            column = ColumnDefinition(name, native, _model_type(native), description=text)
            fields.append(
                column_aspect(
                    column,
                    globalTags=labels.get("globalTags"),
                    glossaryTerms=labels.get("glossaryTerms"),
                )
            )
        return {
            "schemaName": ".".join(node.path),
            "platform": _PLATFORM,
            "version": 0,
            "hash": "",
            "platformSchema": {f"{_SCHEMA}OtherSchema": {"rawSchema": ""}},
            "fields": fields,
        }

    def _upstreams(
        self,
        node: _Node,
        nodes: Mapping[str, _Node],
        lineage: QueryLineage | None,
        warehouse: Urn | None,
    ) -> dict[str, Any] | None:
        urn = self._urn(node)
        if node.kind == "source":
            if warehouse is None:
                return None
            same = (ColumnSources(name, ((warehouse, name),)) for name in node.columns)
            return lineage_aspect(urn, [warehouse], same, "COPY")
        upstreams = [self._urn(nodes[key]) for key in node.upstreams if key in nodes]
        if not upstreams:
            return None
        columns: list[ColumnSources] = []
        if lineage is not None:
            names = {name.casefold(): name for name in node.columns}
            columns = [
                ColumnSources(
                    names.get(name.casefold(), name),
                    tuple((self._urn(self.by_relation[path]), column) for path, column in sources),
                )
                for name, sources in zip(lineage.names, lineage.columns, strict=True)
                if name.casefold() in names
            ]
        return lineage_aspect(urn, upstreams, columns, "TRANSFORMED")

    def _add_test(
        self,
        test: Mapping[str, Any],
        nodes: Mapping[str, _Node],
        result: "_Result | None",
    ) -> None:
        if (test.get("config") or {}).get("enabled") is False:
            return
        listed = strings_in((test.get("depends_on") or {}).get("nodes"))
        about = [nodes[key] for key in listed if key in nodes]
        attached = nodes.get(str(test.get("attached_node")))
        metadata = test.get("test_metadata") or {}
        if attached is None and about:
            # The last dependency of a `relationships` test is the tested table.
            attached = about[-1] if metadata.get("name") == "relationships" else about[0]
        if attached is None:
            self._skip(str(test.get("unique_id")), "the table that it tests is not in the manifest")
            return
        entity, arguments = self._urn(attached), metadata.get("kwargs") or {}
        called = str(metadata.get("name") or test.get("name"))
        operator, aggregation = _TESTS.get(called, ("_NATIVE_", "_NATIVE_"))
        column = read_text(test.get("column_name") or arguments.get("column_name"))
        custom: dict[str, Any] = {
            "type": "dbt",
            "entity": str(entity),
            "scope": "DATASET_COLUMN" if column else "DATASET_ROWS",
            "operator": operator,
            "aggregation": aggregation,
            "nativeType": str(test.get("name")),
            "nativeParameters": {
                key: one if isinstance(one, str) else _json(one) for key, one in arguments.items()
            },
        }
        if column:
            exact = {name.casefold(): name for name in attached.columns}
            field_urn = column_urn(entity, exact.get(column.casefold(), column))
            custom |= {"field": field_urn, "fields": [field_urn]}
        if logic := read_text(test.get("compiled_code") or test.get("compiled_sql")):
            custom["logic"] = logic
        name = str(test.get("unique_id"))
        # DataHub's connector creates an assertion per table for a test of several tables, with the
        # table in its key.
        part = {"on_dbt_upstream": attached.id} if len(about) > 1 else {}
        self._add_assertion(name, part, entity, custom, read_text(test.get("description")), result)
        self.inventory.count("test")

    def _add_assertion(
        self,
        name: str,
        part: Mapping[str, str],
        entity: Urn,
        custom: Mapping[str, Any],
        description: str | None,
        result: "_Result | None",
    ) -> None:
        instance = {"instance": self.options.instance} if self.options.instance else {}
        key = {"platform": "dbt", "name": name, **instance, **part}
        urn = Urn.of("assertion", datahub_guid(key))
        info: dict[str, Any] = {
            "customProperties": {"dbt_unique_id": name},
            "type": "CUSTOM",
            "customAssertion": dict(custom),
            "source": {"type": "EXTERNAL"},
            "entityUrn": str(entity),
        }
        if description:
            info["description"] = description
        aspects: dict[str, Any] = {
            "assertionInfo": info,
            "dataPlatformInstance": self._platform(),
            "status": {"removed": False},
        }
        if result is not None:
            aspects["assertionRunEvent"] = {
                "timestampMillis": result.at_millis,
                "runId": result.run,
                "asserteeUrn": str(entity),
                "assertionUrn": str(urn),
                "status": "COMPLETE",
                "result": {
                    "type": "SUCCESS" if result.status in _PASSED else "FAILURE",
                    "nativeResults": dict(result.told),
                },
            }
        self.inventory.proposals += (Proposal(urn, name, value) for name, value in aspects.items())

    def _add_freshness(self, nodes: Mapping[str, _Node]) -> None:
        for key, result in _results(self.artifacts["sources"]).items():
            if (node := nodes.get(key)) is not None:
                custom = {"type": "dbt Freshness", "entity": str(self._urn(node))}
                entity = self._urn(node)
                self._add_assertion(f"{key}_freshness", {}, entity, custom, None, result)
                self.inventory.count("freshness test")


@dataclass(frozen=True, slots=True)
class _Result:
    """The last result of a test: its status, its time, the id of the dbt run, and the details that
    dbt reported."""

    status: str
    at_millis: int
    run: str
    told: Mapping[str, str]


def _results(artifact: Mapping[str, Any]) -> dict[str, _Result]:
    """Return the results in an artifact by the ids of the nodes. Results that neither passed nor
    failed, such as skipped tests, are left out."""
    metadata = artifact.get("metadata") or {}
    run = str(metadata.get("invocation_id") or "")
    found: dict[str, _Result] = {}
    for one in artifact.get("results") or ():
        status = str(one.get("status") or "")
        if status not in _PASSED | _FAILED:
            continue
        ended = [step.get("completed_at") for step in one.get("timing") or ()]
        at = one.get("snapshotted_at") or next(filter(None, reversed(ended)), None)
        told = {
            key: str(one[key])
            for key in ("message", "failures", "max_loaded_at", "max_loaded_at_time_ago_in_s")
            if one.get(key) is not None
        }
        at_millis = _millis(at or metadata.get("generated_at"))
        if at_millis is not None:
            key = str(one.get("unique_id"))
            found[key] = _Result(status, at_millis, run, {"status": status, **told})
    return found


def _millis(text: Any) -> int | None:
    try:
        at = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1_000)


_MAPPED: Final = frozenset({"owner", "owners", "term", "terms"})


def _meta(value: Mapping[str, Any]) -> dict[str, Any]:
    found = value.get("meta") or (value.get("config") or {}).get("meta") or {}
    return found if isinstance(found, dict) else {}


def _labels(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tags, terms and owners of a node or column, as aspects. Terms and owners are read
    from `term`, `terms`, `owner` and `owners` in `meta`."""
    meta, aspects = _meta(value), dict[str, Any]()
    tags = strings_in(value.get("tags") or (value.get("config") or {}).get("tags"))
    if tags:
        urns = dict.fromkeys(f"urn:li:tag:dbt:{name}" for name in tags)
        aspects["globalTags"] = {"tags": [{"tag": urn} for urn in urns]}
    if terms := (*strings_in(meta.get("term")), *strings_in(meta.get("terms"))):
        urns = dict.fromkeys(_named(name, "glossaryTerm") for name in terms)
        stamp = {"time": 0, "actor": "urn:li:corpuser:unknown"}
        aspects["glossaryTerms"] = {"terms": [{"urn": urn} for urn in urns], "auditStamp": stamp}
    if owners := (*strings_in(meta.get("owner")), *strings_in(meta.get("owners"))):
        urns = dict.fromkeys(_named(name, "corpuser") for name in owners)
        listed = [{"owner": urn, "type": "DATAOWNER"} for urn in urns]
        aspects["ownership"] = {"owners": listed}
    return aspects


def _named(name: str, entity_type: str) -> str:
    return name if name.startswith("urn:li:") else f"urn:li:{entity_type}:{name}"


def _profile(node: _Node) -> dict[str, int]:
    """Return the number of rows and bytes in `catalog.json`, as far as it has them."""
    statistics = node.catalog.get("stats") or {}
    found: dict[str, int] = {}
    for name, keys in _STATISTICS.items():
        for key in keys:
            value = (statistics.get(key) or {}).get("value")
            if isinstance(value, int | float) and not isinstance(value, bool):
                found[name] = int(value)
                break
    return found


def _model_type(native: str) -> str:
    """Return the catalog's type for a type of any warehouse; `Null` if it is not known."""
    word = native.strip().casefold()
    if word.endswith("[]"):
        return "Array"
    for name, beginnings in _TYPES:
        if word.startswith(beginnings):
            return name
    return "Null"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
