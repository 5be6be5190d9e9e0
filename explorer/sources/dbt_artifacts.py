"""Read a dbt project from the artifacts in its target folder, or from artifacts without a project.

`manifest.json` has the models, sources, seeds, snapshots, semantic models, tests, exposures and
metrics, `catalog.json` the types of columns and the sizes of tables, `run_results.json` and
`sources.json` the last results of tests and of freshness checks. Only `manifest.json` is required.
The URNs are those of DataHub's dbt connector.
"""

import csv
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

import orjson

from explorer.errors import InvalidFile, InvalidInput, InvalidUrn
from explorer.metadata.aspects import schema_value
from explorer.metadata.fieldpath import column_urn, split_column
from explorer.metadata.proposal import Proposal, millis_of
from explorer.metadata.urn import Urn
from explorer.sources.dbt_sql import (
    SEMANTIC_MODEL,
    DbtNode,
    ModelQuery,
    ModelTemplates,
    compiled_logic,
    depends_on,
    list_names,
    read_below,
    read_compiled,
    read_mapping,
    spellings,
    stored_column_lineage,
    types_of,
)
from explorer.sources.file_folder import file_format
from explorer.sources.source import (
    ColumnDefinition,
    ColumnSources,
    Inventory,
    LocalSource,
    Location,
    Progress,
    SkippedPart,
    Source,
    SourceOptions,
    column_aspect,
    datahub_guid,
    lineage_aspect,
    read_text,
)
from explorer.sources.sql_lineage import (
    KnownTables,
    NotUnderstood,
    QueryLineage,
    lineage_reason,
    read_lineage,
    require_sqlglot,
)
from explorer.stewardship.dbt_project import (
    OwnerNames,
    artifact_path,
    read_file,
    read_settings,
    strings_in,
)

if TYPE_CHECKING:
    from explorer.client import Catalog

_PLATFORM: Final = "urn:li:dataPlatform:dbt"
_KINDS: Final = ("model", "seed", "snapshot", "source")
_ARTIFACTS: Final = ("manifest", "catalog", "run_results", "sources")
_MANIFEST: Final = re.compile(r"(.+_)?manifest\.json")
# Adapters whose names differ from that of the platform in DataHub.
_WAREHOUSES: Final = {"sqlserver": "mssql"}
# The types of results by dbt's statuses, as DataHub's connector has them: a warning passes, and an
# error means that the test could not be run, but for the freshness of a source that it is too old.
_RESULTS: Final = {
    "pass": "SUCCESS",
    "success": "SUCCESS",
    "warn": "SUCCESS",
    "fail": "FAILURE",
    "error": "ERROR",
    "runtime error": "ERROR",
}
_FRESHNESS_RESULTS: Final = {**_RESULTS, "error": "FAILURE"}
# The operators and aggregations of assertions for dbt's built-in tests.
_TESTS: Final[dict[str, tuple[str, str]]] = {
    "not_null": ("NOT_NULL", "IDENTITY"),
    "unique": ("EQUAL_TO", "UNIQUE_PROPOTION"),
    "accepted_values": ("IN", "IDENTITY"),
    "relationships": ("_NATIVE_", "IDENTITY"),
}
# The subtypes of exposures whose type is not its own name.
_EXPOSURES: Final = {"ml": "ML Model"}
_DIALECTS: Final = {"snowflake": "SNOWFLAKE", "databricks": "DATABRICKS", "spark": "DATABRICKS"}
# Where a metric refers to measures and to other metrics, as paths in `type_params`.
_MEASURES: Final = (
    *(("measure",), ("input_measures",), ("cumulative_type_params", "measure")),
    ("conversion_type_params", "base_measure"),
    ("conversion_type_params", "conversion_measure"),
)
_INPUTS: Final = (
    *(("metrics",), ("numerator",), ("denominator",), ("cumulative_type_params", "metric")),
    ("conversion_type_params", "base_metric"),
    ("conversion_type_params", "conversion_metric"),
)
_UNKNOWN_STAMP: Final = {"time": 0, "actor": "urn:li:corpuser:unknown"}
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
class DbtArtifacts(Source):
    """A source of the definitions in a dbt project: models, sources, seeds and snapshots with their
    tests, semantic models, exposures and metrics.

    `root` is the folder of the project. For artifacts without a project, it is the folder that they
    are in, `manifest` is the path of the manifest, and `name` the name of its project.
    """

    root: Path
    options: SourceOptions
    kind: str = "dbt"
    manifest: Path | None = None
    name: str | None = None

    @classmethod
    def open(cls, location: Location, options: SourceOptions, password: str | None) -> Self | None:
        """Return the source of a project's folder, of a manifest, or of a folder with the manifest
        of one project. Raises `InvalidInput` for a folder with the manifests of several projects,
        and the errors of `of_manifest`."""
        del password
        if location.file is not None:
            return cls.of_manifest(location.file, options)
        folder = location.folder
        if folder is None:
            return None
        if (folder / "dbt_project.yml").is_file():
            return cls(folder, options)
        if (source := cls.of_manifest(folder / "manifest.json", options)) is not None:
            return source
        paths = sorted(folder.glob("*_manifest.json"))
        # The other artifacts of dbt are JSON, too.
        formats = {file_format(path.name) for path in folder.iterdir()}
        if not paths or formats - {None, "json"}:
            return None
        projects = [source for path in paths if (source := cls.of_manifest(path, options))]
        if len(projects) > 1:
            raise InvalidInput(
                f"{folder} has the manifests of {len(projects)} dbt projects: give the path of "
                f"one, such as {projects[0].location}"
            )
        return projects[0] if projects else None

    @classmethod
    def find(cls, file: Location, folder: Path) -> LocalSource | None:
        """Return the folder of a project as a source to offer."""
        del folder
        is_project = file.path is not None and file.path.name == "dbt_project.yml"
        return LocalSource(str(Path(file.text).parent), "a dbt project") if is_project else None

    @classmethod
    def of_manifest(cls, path: Path, options: SourceOptions) -> Self | None:
        """Return the source of a `manifest.json` or `…_manifest.json`, whose content is read, or
        `None` if it was not written by dbt. For the manifest in a project's target folder, the
        source is the project. Raises `InvalidFile` if dbt's manifest is damaged, and `StorageFault`
        if the file cannot be read."""
        if _MANIFEST.fullmatch(path.name) is None or not path.is_file():
            return None
        folders = path.resolve().parents[:2]
        for folder in (folder for folder in folders if (folder / "dbt_project.yml").is_file()):
            manifest_path = artifact_path(folder, read_settings(folder), "manifest.json")
            if manifest_path.resolve() == path.resolve():
                return cls(folder, options)
        try:
            manifest = _artifact(path)
        except InvalidFile:
            if b"schemas.getdbt.com/dbt/manifest/" in read_file(path)[:1_000]:
                raise
            return None
        if _schema_of(manifest) != "manifest":
            return None
        return cls(path.parent, options, manifest=path, name=_project_name(manifest, path))

    @property
    def location(self) -> str:
        """The absolute path of the project, or of the manifest if there is no project."""
        return str((self.manifest or self.root).resolve())

    @property
    def default_name(self) -> str:
        """The project's name."""
        return self.name or str(read_settings(self.root)["name"])

    def read(self, progress: Progress) -> Inventory:
        """Return the tables, tests, exposures and metrics in the manifest, including those of
        installed packages.

        A model whose SQL is not understood has no column lineage and is listed as skipped. Raises
        `InvalidInput` if there is no manifest, and `InvalidFile` if an artifact is not a JSON
        object.
        """
        return self._read(progress, None)

    def read_for(self, catalog: "Catalog", progress: Progress) -> Inventory:
        """Return what `read` returns, completed from the catalog: with the columns of the tables in
        the warehouse, and with the columns and lineage of models that dbt did not compile this
        time. One request per 150 of these tables and models."""
        return self._read(progress, catalog)

    def _read(self, progress: Progress, catalog: "Catalog | None") -> Inventory:
        paths = {name: self._path(f"{name}.json") for name in _ARTIFACTS}
        if not paths["manifest"].is_file():
            raise InvalidInput(
                f"{paths['manifest']} is missing; dbt parse writes it, dbt docs generate with the "
                "types of columns too"
            )
        artifacts = {name: _artifact(path) for name, path in paths.items()}
        if not artifacts["run_results"]:
            # Some keep the results of tests under this name. Others have a file of that name.
            with suppress(InvalidFile):
                results = _artifact(self._path("test_results.json"))
                if _schema_of(results) == "run-results":
                    artifacts["run_results"] = results
        reader = _Reader(self.options, artifacts, self.default_name, progress, catalog)
        if self.manifest is None:
            reader.root, reader.settings = self.root, read_settings(self.root)
            reader.owner_names = OwnerNames.of(reader.settings)
        if self.manifest is None or self.manifest.name == "manifest.json":
            reader.compiled = paths["manifest"].with_name("compiled")
        return reader.read()

    def _path(self, name: str) -> Path:
        if self.manifest is None:
            return artifact_path(self.root, read_settings(self.root), name)
        # Artifacts of one project have the same prefix.
        return self.manifest.with_name(self.manifest.name.removesuffix("manifest.json") + name)


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


def _schema_of(artifact: Mapping[str, Any]) -> str | None:
    """Return the kind of an artifact that dbt wrote, such as `manifest`, from the address of its
    schema, `https://schemas.getdbt.com/dbt/manifest/v12.json`."""
    schema = str(read_mapping(artifact, "metadata").get("dbt_schema_version") or "")
    return schema.split("/")[-2] if schema.count("/") > 1 else None


def _project_name(manifest: Mapping[str, Any], path: Path) -> str:
    """Return the name of the project of a manifest: the name in its metadata, else the package of
    most nodes, else the prefix of the file or its folder."""
    if name := read_text(read_mapping(manifest, "metadata").get("project_name")):
        return name
    nodes = read_mapping(manifest, "nodes").values()
    packages = Counter(read_text(read_mapping(node).get("package_name")) for node in nodes)
    del packages[None]
    if packages:
        return str(max(packages, key=packages.__getitem__))
    return path.name.removesuffix("manifest.json").rstrip("_") or path.resolve().parent.name


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects in a list, or in a single object; anything else is left out."""
    elements = value if isinstance(value, list) else [value]
    return [element for element in elements if isinstance(element, dict)]


def _datasets_of(columns: Iterable[str]) -> set[str]:
    """Return the datasets of the URNs of columns."""
    return {parts[0] for column in columns if (parts := split_column(column)) is not None}


def _is_enabled(value: Mapping[str, Any]) -> bool:
    return read_mapping(value, "config").get("enabled") is not False


def _semantic_model(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a semantic model in the form of other nodes: its columns are its entities, dimensions
    and measures. Of several with the same name only the first is kept."""
    columns: dict[str, Any] = {}
    for kind, key in (("entities", "type"), ("dimensions", "type"), ("measures", "agg")):
        for mapping in _mappings(value.get(kind)):
            if name := read_text(mapping.get("name")):
                noun = {"entities": "entity"}.get(kind, kind.removesuffix("s"))
                about = {"name": name, "data_type": f"{noun}:{mapping.get(key) or 'unknown'}"}
                columns.setdefault(name, {**mapping, **about})
    return {**value, "columns": columns, "resource_type": SEMANTIC_MODEL, "language": "yaml"}


@dataclass(slots=True)
class _Reader:
    """Creates the inventory of a project from its artifacts."""

    options: SourceOptions
    artifacts: Mapping[str, Mapping[str, Any]]
    project: str
    progress: Progress
    client: "Catalog | None" = None
    root: Path | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    owner_names: OwnerNames = field(default_factory=OwnerNames)
    compiled: Path | None = None
    reads_sql: bool = False
    inventory: Inventory = field(default_factory=Inventory)
    by_relation: dict[tuple[str, ...], DbtNode] = field(default_factory=dict)

    def read(self) -> Inventory:
        manifest, catalog = self.artifacts["manifest"], self.artifacts["catalog"]
        values_by_id = {
            key: value
            for part in ("nodes", "sources")
            for key, value in read_mapping(manifest, part).items()
            if isinstance(value, dict)
        }
        catalog_nodes = {**read_mapping(catalog, "nodes"), **read_mapping(catalog, "sources")}
        nodes = {
            key: DbtNode(value, read_mapping(catalog_nodes.get(key)))
            for key, value in values_by_id.items()
            if value.get("resource_type") in _KINDS and _is_enabled(value)
        }
        tests = [value for value in values_by_id.values() if value.get("resource_type") == "test"]
        for key, value in self.entries("semantic_models"):
            nodes[key] = DbtNode({**_semantic_model(value), "unique_id": key}, {})
        self.by_relation = {node.relation: node for node in nodes.values()}
        self.reads_sql = self._can_read_sql(nodes)
        self._find_sql(nodes)
        self._find_columns(nodes)
        lineages = self._lineages(nodes)
        for node in nodes.values():
            self._add(node, nodes, lineages.get(node.id))
        results = _results(self.artifacts["run_results"])
        for test in tests:
            self._add_test(test, nodes, results.get(str(test.get("unique_id"))))
        self._add_freshness(nodes)
        metrics = _Metrics(self, nodes)
        metrics.add_all()
        for key, value in self.entries("exposures"):
            self._add_exposure(key, value, nodes, metrics.urns)
        return self.inventory

    def entries(self, part: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the enabled entries of a part of the manifest, by their ids. Entries whose id
        cannot be part of a URN, or which are not objects, are listed as skipped."""
        for key, value in sorted(read_mapping(self.artifacts["manifest"], part).items()):
            if not isinstance(value, dict):
                self.skip(key, "it is not an object; run dbt again")
            elif not _is_valid(Urn.of("dashboard", "dbt", key)):
                self.skip(key, "its id has characters that a URN cannot have")
            elif _is_enabled(value):
                yield key, value

    @property
    def dialect(self) -> str:
        """The adapter of the project's warehouse, empty if it is not known."""
        return str(read_mapping(self.artifacts["manifest"], "metadata").get("adapter_type") or "")

    def urn(self, node: DbtNode) -> Urn:
        """Return the dataset that represents a node on the platform dbt."""
        return Urn.dataset("dbt", self._within_instance(*node.path), self.options.env)

    def _within_instance(self, *names: str) -> str:
        return ".".join((*filter(None, (self.options.instance,)), *names))

    def _warehouse_urn(self, node: DbtNode) -> Urn | None:
        """Return the dataset of a node in the warehouse, or `None` if the node is ephemeral or a
        semantic model, or the adapter is not known."""
        if not self.dialect or node.materialized == "ephemeral" or node.kind == SEMANTIC_MODEL:
            return None
        platform = _WAREHOUSES.get(self.dialect, self.dialect)
        return Urn.dataset(platform, ".".join(node.relation), self.options.env)

    def skip(self, subject: str, reason: str) -> None:
        """List a part of the project as skipped, with the reason."""
        self.inventory.skipped.append(SkippedPart(subject, reason))

    def _lineages(self, nodes: Mapping[str, DbtNode]) -> dict[str, QueryLineage]:
        """Return the lineage of every model whose SQL is understood. Models are read in upstream
        order, so that columns which are not in `catalog.json` are known from the upstream SQL."""
        lineages: dict[str, QueryLineage] = {}
        tables = KnownTables((node.relation, node.columns) for node in nodes.values())
        graph = {
            key: [upstream for upstream in node.upstreams if upstream in nodes]
            for key, node in nodes.items()
        }
        try:
            order = list(TopologicalSorter(graph).static_order())
        except CycleError:
            order = list(nodes)
        for done, key in enumerate(order, start=1):
            self.progress("models", done, len(order))
            node = nodes[key]
            if node.kind == SEMANTIC_MODEL:
                if (lineage := self._semantic_lineage(node, tables)) is not None:
                    lineages[key] = lineage
                continue
            if not node.is_query or node.sql is None or not self.reads_sql:
                continue
            lineage = self._lineage(node, nodes, tables)
            if lineage.problem is None:
                lineages[key] = lineage
            if not node.types:
                tables.add(node.relation, node.columns)
        self._skip_uncompiled(nodes)
        self._note_unknown_columns(nodes)
        return lineages

    def _lineage(
        self, node: DbtNode, nodes: Mapping[str, DbtNode], tables: KnownTables
    ) -> QueryLineage:
        """Return the lineage of a model, and determine its columns if they are not in
        `catalog.json`."""
        query = ModelQuery(node, nodes, self.dialect, tables, self.by_relation)
        width = len(node.types) or None if node.kind == "model" else None
        lineage = query.read_lineage(width)
        if lineage.problem is not None and width is not None:
            without_width = query.read_lineage(None)
            if without_width.problem is None:
                self.skip(
                    node.id,
                    f"its SQL has {len(without_width.names)} columns where catalog.json has "
                    f"{width}, and those in both are traced; dbt docs generate updates "
                    "catalog.json once the model was run",
                )
                lineage = without_width
        if (reason := lineage_reason(lineage)) is not None:
            self.skip(node.id, reason)
        if not node.types:
            node.inferred = [name for name in lineage.names if name != "*"] or query.read_names()
            node.is_partial = "*" in lineage.names
            if node.materialized == "ephemeral" and lineage.names:
                node.further_types |= query.infer_types(lineage)
        return lineage

    def _can_read_sql(self, nodes: Mapping[str, DbtNode]) -> bool:
        """Return whether the SQL of the project can be read; if its dialect is not known, adds that
        to the inventory. Raises `MissingExtra` if there is SQL, but no sqlglot."""
        if not self.dialect or not any(node.is_query for node in nodes.values()):
            return False
        try:
            require_sqlglot(self.dialect)
        except InvalidInput as error:
            self.skip(self.project, f"no column lineage: {error}")
            return False
        return True

    def _find_sql(self, nodes: Mapping[str, DbtNode]) -> None:
        """Find the SQL of models that is not compiled in `manifest.json`, because dbt only compiles
        the models that a command needs: in the folder of compiled SQL, or by rendering the
        template."""
        queries = [node for node in nodes.values() if node.is_query]
        missing = [node for node in queries if node.sql is None]
        if not missing or not self.reads_sql:
            return
        macros = read_mapping(self.artifacts["manifest"], "macros").values()
        templates = ModelTemplates(nodes, self.dialect, macros, self.settings)
        names_by_way: dict[str, list[str]] = {}
        for node in missing:
            if (sql := read_compiled(self.compiled, node)) is not None:
                node.sql, node.is_compiled = sql, True
                names_by_way.setdefault("read from target/compiled", []).append(node.name)
                continue
            try:
                node.sql = templates.render(node)
                names_by_way.setdefault("rendered from their templates", []).append(node.name)
            except NotUnderstood as error:
                node.problem = str(error)
        parts = [f"that of {list_names(names)} was {how}" for how, names in names_by_way.items()]
        if parts:
            self.inventory.notes.append(
                f"manifest.json has the compiled SQL of {len(queries) - len(missing):,} of "
                f"{len(queries):,} models; {'; '.join(parts)}"
            )

    def _skip_uncompiled(self, nodes: Mapping[str, DbtNode]) -> None:
        """Report the models without readable SQL, and which of them keep their lineage."""
        missing = [node for node in nodes.values() if node.is_query and node.sql is None]
        for node in missing:
            node.keeps_lineage = bool(stored_column_lineage(node))
        reason = next((f" ({node.problem})" for node in missing if node.problem), "")
        keeping = [node.name for node in missing if node.keeps_lineage]
        if keeping:
            self.skip(
                self.project,
                f"the column lineage of {list_names(keeping)} is that of an earlier run: their SQL "
                f"is not compiled{reason}; dbt compile does that",
            )
        lost = [node.name for node in missing if not node.keeps_lineage]
        if lost:
            self.skip(
                self.project,
                f"no column lineage of {list_names(lost)}: their SQL is not compiled{reason}; dbt "
                "compile does that",
            )

    def _find_columns(self, nodes: Mapping[str, DbtNode]) -> None:
        """Find the columns of nodes that `catalog.json` lacks: in the header of a seed, in the
        catalog's dataset for the warehouse table, or in the catalog's dataset for a model that dbt
        did not compile."""
        unknown = [
            node for node in nodes.values() if not node.types and node.kind != SEMANTIC_MODEL
        ]
        for node in unknown:
            path = node.value.get("original_file_path")
            if node.kind == "seed" and (text := read_below(self.root, path)):
                header = next(csv.reader(text.splitlines()), [])
                node.types = {name.strip(): ("", None) for name in header if name.strip()}
        if self.client is None:
            return
        tables = {node.id: urn for node in unknown if (urn := self._warehouse_urn(node))}
        models = [node for node in nodes.values() if node.is_query and not node.is_compiled]
        urns = {self.urn(node) for node in models}
        urns |= {urn for table in tables.values() for urn in spellings(table)}
        names = ["schemaMetadata", "status", "upstreamLineage", "viewProperties"]
        entities = self.client.entities(sorted(urns, key=str), names) if urns else {}
        for node in models:
            node.stored = entities.get(self.urn(node))
        for node in unknown:
            types: dict[str, str] = {}
            for urn in spellings(tables[node.id]) if node.id in tables else ():
                types = types or types_of(entities.get(urn))
            if node.sql is None and node.is_query:
                types = types or types_of(node.stored)
            if node.sql is None:
                node.types = {name: (native, None) for name, native in types.items()} or node.types
            else:
                node.further_types = {
                    name.casefold(): (name, native) for name, native in types.items()
                }

    def _note_unknown_columns(self, nodes: Mapping[str, DbtNode]) -> None:
        """Report the tables whose columns are not in `catalog.json`."""
        missing = [
            node
            for node in nodes.values()
            if self._warehouse_urn(node) is not None and not node.catalog.get("columns")
        ]
        if not missing:
            return
        unknown = [node.name for node in missing if not node.columns]
        text = (
            f"catalog.json has no columns of {list_names([node.name for node in missing], 'table')}"
        )
        if not self.artifacts["catalog"]:
            text = f"there is no catalog.json with the columns of {len(missing):,} tables"
        if len(unknown) < len(missing):
            text += "; they are those in SQL, in properties files and in the catalog"
        if unknown:
            text += f"; those of {list_names(unknown, 'table')} are not known"
        self.inventory.notes.append(f"{text}; dbt docs generate writes them")

    def _semantic_lineage(self, node: DbtNode, tables: KnownTables) -> QueryLineage | None:
        """Return the lineage of a semantic model's fields, whose expressions are SQL over the
        columns of its model."""
        relation = read_text(read_mapping(node.value, "node_relation").get("relation_name"))
        if not self.reads_sql or relation is None or not node.columns:
            return None
        fields = node.documented.values()
        expressions = [
            read_text(model_field.get("expr")) or str(model_field["name"]) for model_field in fields
        ]
        selection = ", ".join(f"{expression} as c{at}" for at, expression in enumerate(expressions))
        lineage = read_lineage(f"select {selection} from {relation}", self.dialect, tables, ())
        if (reason := lineage_reason(lineage)) is not None:
            self.skip(node.id, reason)
        if lineage.problem is not None:
            return None
        return replace(lineage, names=node.columns)

    def _add(
        self, node: DbtNode, nodes: Mapping[str, DbtNode], lineage: QueryLineage | None
    ) -> None:
        urn = self.urn(node)
        aspects: dict[str, Any] = {
            "datasetProperties": self._properties(node),
            "schemaMetadata": self._schema(node),
            "dataPlatformInstance": self.platform(),
            "subTypes": {"typeNames": [_title(node.kind)]},
            "status": {"removed": False},
            "browsePathsV2": {"path": [{"id": part} for part in node.path[:-1]]},
        }
        if node.kind in ("model", "snapshot") and (node.code or node.sql):
            aspects["viewProperties"] = {
                "materialized": node.materialized in ("table", "incremental", "snapshot"),
                "viewLogic": node.code or "",
                **compiled_logic(node),
                "viewLanguage": str(node.value.get("language") or "sql").upper(),
            }
        if node.kind == SEMANTIC_MODEL:
            aspects["browsePathsV2"] = self.browse_path(node.value)
        warehouse = self._warehouse_urn(node)
        if warehouse is not None:
            aspects["siblings"] = {"siblings": [str(warehouse)], "primary": True}
        if upstream := self._upstreams(node, nodes, lineage, warehouse):
            aspects["upstreamLineage"] = upstream
        aspects |= _labels(node.value)
        aspects |= self.ownership(node.id, _owners(node.value))
        if profile := _profile(node):
            aspects["datasetProfile"] = profile
        self.add(urn, aspects)
        self.inventory.count(node.kind.replace("_", " "))
        self.inventory.count("column", len(node.columns))

    def add(self, urn: Urn, aspects: Mapping[str, Any]) -> None:
        """Add an entity to the inventory."""
        self.inventory.proposals += (Proposal(urn, name, value) for name, value in aspects.items())

    def ownership(self, subject: str, names: Iterable[str]) -> dict[str, Any]:
        """Return the ownership aspect for these names, or an empty mapping if there are none. A
        name that is not a valid user name is listed as skipped."""
        owners: dict[str, None] = {}
        for name in names:
            urn = self.owner_names.urn(name)
            try:
                is_valid = _is_valid(Urn.parse(urn))
            except InvalidUrn:
                is_valid = False
            if is_valid:
                owners[urn] = None
            else:
                self.skip(subject, f"no owner {name!r}: it has characters that a URN cannot have")
        ownerships = [{"owner": owner, "type": "DATAOWNER"} for owner in owners]
        return {"ownership": {"owners": ownerships}} if ownerships else {}

    def browse_path(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """Return the browse path of an entity that is not in the warehouse: the folder of its
        package."""
        return {"path": [{"id": read_text(value.get("package_name")) or self.project}]}

    def platform(self) -> dict[str, Any]:
        """Return the aspect of the platform, with the platform instance if there is one."""
        value = {"platform": _PLATFORM}
        if self.options.instance:
            instance_key = f"({_PLATFORM},{self.options.instance})"
            value["instance"] = f"urn:li:dataPlatformInstance:{instance_key}"
        return value

    def _properties(self, node: DbtNode) -> dict[str, Any]:
        properties = {
            "node_type": node.kind,
            "materialization": node.materialized,
            "dbt_file_path": node.value.get("original_file_path"),
            "dbt_unique_id": node.id,
            "dbt_package_name": node.value.get("package_name"),
            "language": node.value.get("language"),
            "catalog_type": (node.catalog.get("metadata") or {}).get("type"),
        }
        meta_properties = {f"meta.{key}": text for key, text in _further(node.value).items()}
        value: dict[str, Any] = {
            "customProperties": {
                key: str(property_) for key, property_ in properties.items() if property_
            }
            | meta_properties,
            "name": node.name,
            "qualifiedName": ".".join(node.path),
            "tags": [],
        }
        description = read_text(node.value.get("description"))
        description = description or read_text(node.value.get("source_description"))
        return value | ({"description": description} if description else {})

    def _schema(self, node: DbtNode) -> dict[str, Any]:
        fields = []
        for name in node.columns:
            documentation = node.documented.get(name.casefold(), {})
            _, further_type = node.further_types.get(name.casefold(), ("", ""))
            native, comment = node.types.get(
                name, (further_type or str(documentation.get("data_type") or ""), None)
            )
            text = read_text(documentation.get("description")) or read_text(comment)
            labels = _labels(documentation)
            column = ColumnDefinition(name, native, _model_type(native), description=text)
            fields.append(
                column_aspect(
                    column,
                    globalTags=labels.get("globalTags"),
                    glossaryTerms=labels.get("glossaryTerms"),
                )
            )
        return schema_value(".".join(node.path), _PLATFORM, fields)

    def _upstreams(
        self,
        node: DbtNode,
        nodes: Mapping[str, DbtNode],
        lineage: QueryLineage | None,
        warehouse: Urn | None,
    ) -> dict[str, Any] | None:
        urn = self.urn(node)
        if node.kind == "source":
            if warehouse is None:
                return None
            same = (ColumnSources(name, ((warehouse, name),)) for name in node.columns)
            return lineage_aspect(urn, [warehouse], same, "COPY")
        upstreams = [self.urn(nodes[key]) for key in node.upstreams if key in nodes]
        if not upstreams:
            return None
        columns: list[ColumnSources] = []
        if lineage is not None:
            names = {name.casefold(): name for name in node.columns}
            columns = [
                ColumnSources(
                    names.get(name.casefold(), name),
                    tuple((self.urn(self.by_relation[path]), column) for path, column in sources),
                )
                for name, sources in zip(lineage.names, lineage.columns, strict=True)
                if name.casefold() in names
            ]
        value = lineage_aspect(urn, upstreams, columns, "TRANSFORMED")
        if node.keeps_lineage:
            datasets = set(map(str, upstreams))
            value["fineGrainedLineages"] = [
                entry
                for entry in stored_column_lineage(node)
                if datasets.issuperset(_datasets_of(entry.get("upstreams") or ()))
            ]
        return value

    def _add_test(
        self,
        test: Mapping[str, Any],
        nodes: Mapping[str, DbtNode],
        result: "_Result | None",
    ) -> None:
        if not _is_enabled(test):
            return
        upstream_ids = depends_on(test)
        about = [nodes[key] for key in upstream_ids if key in nodes]
        tested_node = nodes.get(str(test.get("attached_node")))
        metadata = test.get("test_metadata") or {}
        if tested_node is None and about:
            # The last dependency of a `relationships` test is the tested table.
            tested_node = about[-1] if metadata.get("name") == "relationships" else about[0]
        if tested_node is None:
            self.skip(str(test.get("unique_id")), "the table that it tests is not in the manifest")
            return
        entity, arguments = self.urn(tested_node), metadata.get("kwargs") or {}
        test_name = str(metadata.get("name") or test.get("name"))
        operator, aggregation = _TESTS.get(test_name, ("_NATIVE_", "_NATIVE_"))
        column = read_text(test.get("column_name") or arguments.get("column_name"))
        custom: dict[str, Any] = {
            "type": "dbt",
            "entity": str(entity),
            "scope": "DATASET_COLUMN" if column else "DATASET_ROWS",
            "operator": operator,
            "aggregation": aggregation,
            "nativeType": str(test.get("name")),
            "nativeParameters": {
                key: argument if isinstance(argument, str) else _json(argument)
                for key, argument in arguments.items()
            },
        }
        if column:
            exact = {name.casefold(): name for name in tested_node.columns}
            field_urn = column_urn(entity, exact.get(column.casefold(), column))
            custom |= {"field": field_urn, "fields": [field_urn]}
        if logic := read_text(test.get("compiled_code") or test.get("compiled_sql")):
            custom["logic"] = logic
        name = str(test.get("unique_id"))
        # DataHub's connector creates an assertion per table for a test of several tables, with the
        # table in its key.
        part = {"on_dbt_upstream": tested_node.id} if len(about) > 1 else {}
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
        properties: Iterable[tuple[str, str]] = (),
        results: Mapping[str, str] = _RESULTS,
    ) -> None:
        instance = {"instance": self.options.instance} if self.options.instance else {}
        key = {"platform": "dbt", "name": name, **instance, **part}
        urn = Urn.of("assertion", datahub_guid(key))
        info: dict[str, Any] = {
            "customProperties": {"dbt_unique_id": name, **dict(properties)},
            "type": "CUSTOM",
            "customAssertion": dict(custom),
            "source": {"type": "EXTERNAL"},
            "entityUrn": str(entity),
        }
        if description:
            info["description"] = description
        aspects: dict[str, Any] = {
            "assertionInfo": info,
            "dataPlatformInstance": self.platform(),
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
                    "type": results[result.status],
                    "nativeResults": dict(result.details),
                },
            }
        self.add(urn, aspects)

    def _add_freshness(self, nodes: Mapping[str, DbtNode]) -> None:
        for key, result in _results(self.artifacts["sources"]).items():
            if (node := nodes.get(key)) is not None:
                entity = self.urn(node)
                custom = {"type": "dbt Freshness", "entity": str(entity)}
                description, properties = _freshness(read_mapping(node.value, "freshness"))
                name = f"{key}_freshness"
                self._add_assertion(
                    name, {}, entity, custom, description, result, properties, _FRESHNESS_RESULTS
                )
                self.inventory.count("freshness test")

    def _add_exposure(
        self,
        key: str,
        value: Mapping[str, Any],
        nodes: Mapping[str, DbtNode],
        metrics: Mapping[str, Urn],
    ) -> None:
        urn = Urn.of("dashboard", "dbt", self._within_instance(key))
        datasets, metric_urns = list[str](), list[str]()
        for upstream in depends_on(value):
            if upstream in nodes:
                datasets.append(str(self.urn(nodes[upstream])))
            elif upstream in metrics:
                metric_urns.append(str(metrics[upstream]))
            else:
                self.skip(key, f"no lineage from {upstream}, which is not in the manifest")
        kind = read_text(value.get("type")) or "dashboard"
        optional_properties = {
            "dbt_unique_id": key,
            "exposure_type": kind,
            "maturity": read_text(value.get("maturity")),
            "dbt_package_name": read_text(value.get("package_name")),
            "dbt_file_path": read_text(value.get("original_file_path")),
        }
        properties = {name: text for name, text in optional_properties.items() if text}
        info: dict[str, Any] = {
            "title": read_text(value.get("label")) or read_text(value.get("name")) or key,
            "description": read_text(value.get("description")) or "",
            "customProperties": _further(value) | properties,
            "lastModified": {"created": _UNKNOWN_STAMP, "lastModified": _UNKNOWN_STAMP},
            "datasets": datasets,
        }
        if url := read_text(value.get("url")):
            info["externalUrl"] = url
        aspects: dict[str, Any] = {
            "dashboardInfo": info,
            "dataPlatformInstance": self.platform(),
            "subTypes": {"typeNames": [_EXPOSURES.get(kind, _title(kind))]},
            "status": {"removed": False},
            "browsePathsV2": self.browse_path(value),
        }
        if metric_urns:
            edges = [{"destinationUrn": metric} for metric in metric_urns]
            aspects["upstreamMetrics"] = {"metrics": edges}
        ownership = self.ownership(key, _exposure_owners(value))
        self.add(urn, aspects | _labels(value) | ownership)
        self.inventory.count("exposure")


class _Metrics:
    """The metrics of a project, and the measures in semantic models that they are computed from."""

    def __init__(self, reader: _Reader, nodes: Mapping[str, DbtNode]) -> None:
        self.reader = reader
        self.nodes = nodes
        models = [node for node in nodes.values() if node.kind == SEMANTIC_MODEL]
        # By semantic model and name.
        self.measures = {
            (model.id, name): mapping
            for model in sorted(models, key=lambda model: model.id)
            for mapping in _mappings(model.value.get("measures"))
            if (name := read_text(mapping.get("name")))
        }
        self.values: dict[str, Mapping[str, Any]] = {}
        self.ids: dict[str, str] = {}
        for key, value in reader.entries("metrics"):
            name = read_text(value.get("name"))
            if name is None or not _is_valid(self._urn(name)):
                reader.skip(key, "it has no name that a URN can have")
            elif name not in self.ids:
                self.ids[name], self.values[key] = key, value
            else:
                reader.skip(key, f"{self.ids[name]} has the same name")
        self.urns = {key: self._urn(name) for name, key in self.ids.items()}

    def _urn(self, name: str) -> Urn:
        """Return the URN of a metric. Its path is the project, below the platform instance if that
        has another name."""
        metadata = read_mapping(self.reader.artifacts["manifest"], "metadata")
        project = read_text(metadata.get("project_name")) or self.reader.project
        above = self.reader.options.instance
        path = project if above in (None, "", project) else f"{above}.{project}"
        return Urn.of("metric", _PLATFORM, path, name)

    def add_all(self) -> None:
        """Add all metrics to the inventory."""
        for key, value in self.values.items():
            self._add(key, value)

    def _add(self, key: str, value: Mapping[str, Any]) -> None:
        reader, parameters = self.reader, read_mapping(value, "type_params")
        upstreams, derived = dict[str, None](), dict[str, None]()
        for upstream in depends_on(value):
            if upstream in self.nodes:
                upstreams[str(reader.urn(self.nodes[upstream]))] = None
            elif upstream in self.urns:
                derived[str(self.urns[upstream])] = None
            else:
                reader.skip(key, f"no lineage from {upstream}, which is not in the manifest")
        for name in _references(parameters, _INPUTS):
            if name in self.ids:
                derived[str(self.urns[self.ids[name]])] = None
            elif (model := self._model_of(value, name)) is not None:
                # Early versions of dbt compute ratios of measures.
                upstreams[str(reader.urn(self.nodes[model]))] = None
            else:
                reader.skip(key, f"no lineage from the metric {name}, which is not in the manifest")
        for name in _references(parameters, _MEASURES):
            if (model := self._model_of(value, name)) is not None:
                upstreams[str(reader.urn(self.nodes[model]))] = None
            else:
                reader.skip(key, f"no lineage from the measure {name}: no semantic model has it")
        derived.pop(str(self.urns[key]), None)
        info: dict[str, Any] = {"name": read_text(value.get("label")) or value["name"].strip()}
        if description := read_text(value.get("description")):
            info["description"] = description
        if expression := self._expression(value):
            dialect = _DIALECTS.get(reader.dialect, "ANSI_SQL")
            info["expression"] = {"dialects": [{"dialect": dialect, "expression": expression}]}
        kind = read_text(value.get("type")) or read_text(value.get("calculation_method"))
        aspects: dict[str, Any] = {
            "metricInfo": info,
            "metricUpstreams": {
                "datasetUpstreams": [{"destinationUrn": upstream} for upstream in upstreams]
            },
            "metricRelationships": {
                "derivedFrom": [{"destinationUrn": metric} for metric in derived]
            },
            "dataPlatformInstance": reader.platform(),
            "subTypes": {"typeNames": [_title(kind or "simple")]},
            "status": {"removed": False},
            "browsePathsV2": reader.browse_path(value),
        }
        reader.add(self.urns[key], aspects | _labels(value) | reader.ownership(key, _owners(value)))
        reader.inventory.count("metric")

    def _model_of(self, metric: Mapping[str, Any], measure: str) -> str | None:
        """Return the id of the semantic model that has a measure: one that the metric depends on,
        else the first in the project."""
        for model in depends_on(metric):
            if (model, measure) in self.measures:
                return model
        return next((model for model, name in self.measures if name == measure), None)

    def _aggregate(self, metric: Mapping[str, Any], measure: str) -> str | None:
        """Return the aggregation of a measure, such as `sum(orders.revenue)`."""
        model = self._model_of(metric, measure)
        if model is None:
            return None
        kind = read_text(self.measures[model, measure].get("agg"))
        return f"{kind}({self.nodes[model].name}.{measure})" if kind else None

    def _expression(self, metric: Mapping[str, Any]) -> str | None:
        """Return how a metric is computed, as far as the manifest says: the written expression, the
        ratio of two other metrics, or the aggregation of its measure; filters and the window are
        included."""
        parameters = read_mapping(metric, "type_params")
        conditions = [*_filters(metric)]
        measures = _references(parameters, _MEASURES)
        author_expression = read_text(parameters.get("expr"))
        sides = _references(parameters, (("numerator",), ("denominator",)), unique=False)
        if sql := read_text(metric.get("expression")) or read_text(metric.get("sql")):
            method = read_text(metric.get("calculation_method")) or read_text(metric.get("type"))
            expression, is_aggregate = _old_expression(method, sql)
        elif author_expression and author_expression not in measures:
            expression, is_aggregate = author_expression, False
        elif len(sides) == 2:
            expression = " / ".join(self._aggregate(metric, side) or side for side in sides)
            is_aggregate = False
        elif len(measures) == 1 and (aggregate := self._aggregate(metric, measures[0])):
            expression, is_aggregate = aggregate, True
            for mapping in _mappings(parameters.get("measure")):
                conditions = [*_filters(mapping), *conditions]
        else:
            return None
        notes = []
        if conditions and is_aggregate:
            expression += f" FILTER (WHERE {_all_of(conditions)})"
        elif conditions:
            notes.append(f"filtered: {_all_of(conditions)}")
        cumulative = {**parameters, **read_mapping(parameters, "cumulative_type_params")}
        window, grain = cumulative.get("window"), read_text(cumulative.get("grain_to_date"))
        span = read_mapping(window)
        if text := read_text(window) or (span and f"{span.get('count')} {span.get('granularity')}"):
            notes.append(f"cumulative over {text}")
        elif grain:
            notes.append(f"cumulative to date by {grain}")
        return f"{expression} /* {'; '.join(notes)} */" if notes else expression


def _references(
    parameters: Mapping[str, Any], paths: Iterable[Sequence[str]], *, unique: bool = True
) -> list[str]:
    """Return the names of the metrics or measures at `paths` in the parameters of a metric. They
    are given as strings, as objects with a name, or as lists of these."""
    names = list[str]()
    for *above, last in paths:
        references = read_mapping(parameters, *above).get(last)
        for reference in references if isinstance(references, list) else [references]:
            name = read_text(reference.get("name") if isinstance(reference, dict) else reference)
            names += [name] if name else []
    return list(dict.fromkeys(names)) if unique else names


# Such as `{{ Dimension('order__late') }}` and `{{ TimeDimension('order__at', 'day') }}`.
_FIELD_TEMPLATE = re.compile(
    r"""\{\{\s*(?:Dimension|TimeDimension|Entity|Metric)\(\s*['"]([^'"]+)['"]\s*"""
    r"""(?:,\s*['"](\w+)['"])?[^)]*\)(?:\.grain\(\s*['"](\w+)['"]\s*\))?\s*\}\}"""
)


def _filters(value: Mapping[str, Any]) -> Iterator[str]:
    """Yield the conditions on a metric or on one of its measures: SQL, or columns with an operator
    and a value. A field is named as in queries of metrics, `order__late` or `ordered_at__day`."""
    texts = [value.get("filter")]
    texts += [
        mapping.get("where_sql_template")
        for mapping in _mappings(read_mapping(value, "filter").get("where_filters"))
    ]
    for text in filter(None, map(read_text, texts)):
        yield _FIELD_TEMPLATE.sub(
            lambda template: "__".join(filter(None, (template[1], template[2] or template[3]))),
            text,
        )
    for mapping in _mappings(value.get("filters")):
        parts = [str(mapping[key]) for key in ("field", "operator", "value") if mapping.get(key)]
        if len(parts) == 3:
            yield " ".join(parts)


def _all_of(conditions: Sequence[str]) -> str:
    return (
        conditions[0]
        if len(conditions) == 1
        else " AND ".join(f"({condition})" for condition in conditions)
    )


def _old_expression(method: str | None, sql: str) -> tuple[str, bool]:
    """Return the expression of a metric in the form before dbt 1.6, and whether it is an
    aggregation."""
    if method is None or method in ("derived", "expression"):
        return sql, False
    return (f"count(distinct {sql})" if method == "count_distinct" else f"{method}({sql})"), True


def _freshness(limits: Mapping[str, Any]) -> tuple[str, list[tuple[str, str]]]:
    """Return when a source counts as stale, in words and as properties."""
    phrases, properties = [], [("dbt_freshness_test", "true")]
    for key, verb in (("warn_after", "warns"), ("error_after", "fails")):
        count, period = (read_mapping(limits, key).get(part) for part in ("count", "period"))
        if isinstance(count, int) and isinstance(period, str):
            phrases.append(f"{verb} after {count:,} {period}{'' if count == 1 else 's'}")
            properties += [(f"{key}_count", str(count)), (f"{key}_period", period)]
    return f"Freshness: {', '.join(phrases)}" if phrases else "Freshness", properties


def _exposure_owners(value: Mapping[str, Any]) -> list[str]:
    """Return the owners of an exposure: their e-mail addresses or, without any, their names."""
    owner = read_mapping(value, "owner")
    emails = [email.strip() for email in strings_in(owner.get("email")) if email.strip()]
    names = [
        owner_name.strip() for owner_name in strings_in(owner.get("name")) if owner_name.strip()
    ]
    return emails or [name.replace(" ", "_").lower() for name in names]


def _is_valid(urn: Urn) -> bool:
    """Return whether the text of a URN is valid and is parsed to the same URN."""
    try:
        urn.check_characters()
        return Urn.parse(str(urn)) == urn
    except InvalidUrn:
        return False


def _title(kind: str) -> str:
    """Return the display name of a kind, such as `Semantic Model` for `semantic_model`."""
    return kind.replace("_", " ").title()


@dataclass(frozen=True, slots=True)
class _Result:
    """The last result of a test: its status, its time, the id of the dbt run, and the details
    reported by dbt."""

    status: str
    at_millis: int
    run: str
    details: Mapping[str, str]


def _results(artifact: Mapping[str, Any]) -> dict[str, _Result]:
    """Return the results in an artifact by the ids of the nodes. Results that neither passed nor
    failed, such as skipped tests, are left out."""
    metadata = artifact.get("metadata") or {}
    run = str(metadata.get("invocation_id") or "")
    results_by_id: dict[str, _Result] = {}
    for record in artifact.get("results") or ():
        status = str(record.get("status") or "")
        if status not in _RESULTS:
            continue
        end_times = [step.get("completed_at") for step in record.get("timing") or ()]
        at = record.get("snapshotted_at") or next(filter(None, reversed(end_times)), None)
        details = {
            key: str(record[key])
            for key in ("message", "failures", "max_loaded_at", "max_loaded_at_time_ago_in_s")
            if record.get(key) is not None
        }
        at_millis = _millis(at or metadata.get("generated_at"))
        if at_millis is not None:
            key = str(record.get("unique_id"))
            results_by_id[key] = _Result(status, at_millis, run, {"status": status, **details})
    return results_by_id


def _millis(text: Any) -> int | None:
    try:
        at = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return millis_of(at if at.tzinfo else at.replace(tzinfo=UTC))


_MAPPED: Final = frozenset({"owner", "owners", "term", "terms"})


def _meta(value: Mapping[str, Any]) -> dict[str, Any]:
    meta = value.get("meta") or read_mapping(value, "config").get("meta") or {}
    return meta if isinstance(meta, dict) else {}


def _further(value: Mapping[str, Any]) -> dict[str, str]:
    """Return the entries of `meta` other than owners and terms, as texts."""
    return {
        key: entry if isinstance(entry, str) else _json(entry)
        for key, entry in _meta(value).items()
        if key not in _MAPPED
    }


def _labels(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tags and terms of a node or column, as aspects. Terms are read from `term` and
    `terms` in `meta`."""
    meta, aspects = _meta(value), dict[str, Any]()
    tags = strings_in(value.get("tags") or read_mapping(value, "config").get("tags"))
    if tags:
        urns = dict.fromkeys(f"urn:li:tag:dbt:{name}" for name in tags)
        aspects["globalTags"] = {"tags": [{"tag": urn} for urn in urns]}
    if terms := (*strings_in(meta.get("term")), *strings_in(meta.get("terms"))):
        urns = dict.fromkeys(_full_name(name, "glossaryTerm") for name in terms)
        associations = [{"urn": urn} for urn in urns]
        aspects["glossaryTerms"] = {"terms": associations, "auditStamp": _UNKNOWN_STAMP}
    return aspects


def _owners(value: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the owners of a node, from `owner` and `owners` in `meta`."""
    meta = _meta(value)
    return (*strings_in(meta.get("owner")), *strings_in(meta.get("owners")))


def _full_name(name: str, entity_type: str) -> str:
    return name if name.startswith("urn:li:") else f"urn:li:{entity_type}:{name}"


def _profile(node: DbtNode) -> dict[str, int]:
    """Return the numbers of rows and bytes of a table that `catalog.json` contains, if any."""
    statistics = node.catalog.get("stats") or {}
    statistics_by_name: dict[str, int] = {}
    for name, keys in _STATISTICS.items():
        for key in keys:
            value = (statistics.get(key) or {}).get("value")
            if isinstance(value, int | float) and not isinstance(value, bool):
                statistics_by_name[name] = int(value)
                break
    return statistics_by_name


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
