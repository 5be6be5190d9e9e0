"""The models and other nodes of a dbt manifest: their SQL, even if dbt did not compile it, and the
columns that the SQL shows."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from explorer.errors import MissingExtra
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn
from explorer.sources.column_tracer import table_path
from explorer.sources.column_use import ColumnUse
from explorer.sources.dbt_template import TemplateRenderer, is_rendered_from
from explorer.sources.source import read_text
from explorer.sources.sql_lineage import (
    KnownTables,
    NotUnderstood,
    QueryLineage,
    parse_statement,
    query_of,
    read_lineage,
    reading,
    sql_dialect,
)
from explorer.sources.sql_lineage import Path as TablePath
from explorer.sources.table_definition import defined_columns
from explorer.stewardship.dbt_project import strings_in

if TYPE_CHECKING:
    from explorer.client.entity import Entity

SEMANTIC_MODEL: Final = "semantic_model"
_EPHEMERAL: Final = "__dbt__cte__"
_MOST_LISTED: Final = 10


def read_mapping(value: Any, *keys: str) -> Mapping[str, Any]:
    """Return the object at a path of keys, or an empty one if there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def depends_on(value: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the ids of the nodes that a node depends on, without duplicates."""
    return tuple(dict.fromkeys(strings_in(read_mapping(value, "depends_on").get("nodes"))))


class DbtNode:
    """A model, seed, snapshot, source or semantic model of the manifest."""

    def __init__(self, value: Mapping[str, Any], catalog: Mapping[str, Any]) -> None:
        self.value = value
        self.id = str(value.get("unique_id"))
        self.kind = str(value.get("resource_type"))
        name = value.get("alias") or value.get("name")
        self.path = _path(value, name)
        # The table of a source may have another name in the warehouse.
        self.relation = _path(value, value.get("identifier") or name)
        self.name = str(value.get("name"))
        if self.kind == SEMANTIC_MODEL:
            # It is no table: its name is its id.
            self.path = self.relation = (self.id,)
        self.catalog = catalog
        self.materialized = str(read_mapping(value, "config").get("materialized") or "")
        self.inferred: list[str] = []
        self.is_partial = False
        # The SQL, if any; if dbt did not compile it, that of its template, or a reason.
        self.sql = read_text(value.get("compiled_code") or value.get("compiled_sql"))
        self.is_compiled = self.sql is not None
        self.problem: str | None = None
        columns = (column for column in read_mapping(catalog, "columns").values())
        # The types and comments of its columns in the warehouse, by name and in their order.
        self.types: dict[str, tuple[str, str | None]] = {
            column["name"]: (str(column.get("type") or ""), column.get("comment"))
            for column in sorted(columns, key=lambda column: column.get("index") or 0)
        }
        # The types of further columns, by name in lower case, each with the name.
        self.further_types: dict[str, tuple[str, str]] = {}
        # The dataset in the catalog, of a model that dbt did not compile.
        self.stored: Entity | None = None
        self.keeps_lineage = False

    @property
    def upstreams(self) -> tuple[str, ...]:
        """The ids of the nodes that this node depends on."""
        return depends_on(self.value)

    @property
    def is_query(self) -> bool:
        """Whether the node is defined by an SQL query."""
        is_sql = self.value.get("language") != "python"
        return self.kind in ("model", "snapshot") and is_sql

    @property
    def is_open(self) -> bool:
        """Whether the node may have more columns than are known."""
        return not self.types and (self.is_partial or not self.inferred)

    def native_type(self, column: str) -> str:
        """Return the type of a column in the warehouse, empty if it is not known."""
        key = column.casefold()
        types = {name.casefold(): native for name, (native, _) in self.types.items()}
        _, further = self.further_types.get(key, ("", ""))
        return types.get(key) or further or str(self.documented.get(key, {}).get("data_type") or "")

    @property
    def code(self) -> str | None:
        """The SQL or Python as written in the project, if any."""
        return read_text(self.value.get("raw_code") or self.value.get("raw_sql"))

    @property
    def documented(self) -> dict[str, Mapping[str, Any]]:
        """The columns in the project's properties files, by name in lower case."""
        columns = (self.value.get("columns") or {}).values()
        return {
            str(column.get("name")).casefold(): column
            for column in columns
            if isinstance(column, dict)
        }

    @property
    def columns(self) -> list[str]:
        """The names of the node's columns: those in the warehouse or, if these are not known, those
        of its SQL, followed by further documented columns."""
        if self.types:
            return list(self.types)
        inferred_keys = {name.casefold() for name in self.inferred}
        further_names = [
            str(column["name"])
            for key, column in self.documented.items()
            if key not in inferred_keys
        ]
        names_by_key = {key: name for key, (name, _) in self.further_types.items()}
        names_by_key |= {key: str(column["name"]) for key, column in self.documented.items()}
        return [
            *(names_by_key.get(name.casefold(), name) for name in self.inferred),
            *further_names,
        ]


def _path(value: Mapping[str, Any], name: Any) -> tuple[str, ...]:
    parts = (value.get("database"), value.get("schema"), name)
    return tuple(str(part).replace('"', "") for part in parts if part)


def list_names(names: Sequence[str], noun: str = "model") -> str:
    """Return the number of nodes, and the names of the first ten: `2 models (a, b)`."""
    nouns = noun if len(names) == 1 else f"{noun}s"
    more = f" and {len(names) - _MOST_LISTED:,} more" if len(names) > _MOST_LISTED else ""
    return f"{len(names):,} {nouns} ({', '.join(names[:_MOST_LISTED])}{more})"


def read_below(folder: Path | None, name: Any) -> str | None:
    """Return the text of a file below a folder; `None` if there is none, if it cannot be read, or
    if `name` leads out of the folder."""
    if folder is None or not isinstance(name, str):
        return None
    path = (folder / name.replace("\\", "/")).resolve()
    if not path.is_relative_to(folder.resolve()):
        return None
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError):
        return None


def read_compiled(folder: Path | None, node: DbtNode) -> str | None:
    """Return the SQL of a model in the folder of compiled SQL; `None` if there is none, or if it
    was compiled from another version of the model."""
    package, file = (str(node.value.get(key)) for key in ("package_name", "original_file_path"))
    name = str(node.value.get("path") or file).replace("\\", "/").rpartition("/")[2]
    if name != file.replace("\\", "/").rpartition("/")[2]:
        # It is one of several in the file.
        file = f"{file}/{name}"
    sql = read_below(folder, f"{package}/{file}")
    return read_text(sql) if sql and node.code and is_rendered_from(sql, node.code) else None


class ModelTemplates:
    """Renders the templates of models. `macros` are the macros in the manifest, `settings` the
    settings of the project."""

    def __init__(
        self,
        nodes: Mapping[str, DbtNode],
        dialect: str,
        macros: Iterable[Any],
        settings: Mapping[str, Any],
    ) -> None:
        self._nodes = nodes
        self._dialect = sql_dialect(dialect)
        self._macros = [macro for macro in macros if isinstance(macro, dict)]
        self._settings = settings
        self._names = {"target": {"type": dialect}, "ref": self._ref, "source": self._source}
        self._renderers: dict[str, TemplateRenderer] = {}
        # The model that is being rendered, to which a macro that it calls also refers.
        self._node = DbtNode({}, {})

    def render(self, node: DbtNode) -> str | None:
        """Return the SQL of a model, in which tables have their full names. Raises `NotUnderstood`
        if only dbt can render it."""
        if node.code is None:
            raise NotUnderstood("it has no SQL")

        self._node = node
        renderer = self._renderer(str(node.value.get("package_name")))
        return read_text(renderer.render(node.code, this=self._quote(node))[0])

    def _renderer(self, package: str) -> TemplateRenderer:
        if package not in self._renderers:
            texts = [
                text
                for macro in self._macros
                if macro.get("package_name") == package
                and (text := read_text(macro.get("macro_sql")))
            ]
            try:
                renderer = TemplateRenderer(self._names, texts, self._settings)
            except MissingExtra as error:
                raise NotUnderstood(str(error)) from None
            self._renderers[package] = renderer
        return self._renderers[package]

    def _upstreams(self, name: str, **values: str) -> list[DbtNode]:
        """Return the upstream nodes with a name whose fields in the manifest have the given
        values."""
        nodes = (self._nodes[key] for key in self._node.upstreams if key in self._nodes)
        return [
            node
            for node in nodes
            if node.name == name and all(node.value.get(key) == values[key] for key in values)
        ]

    def _source(self, group: str, name: str) -> str:
        upstreams = self._upstreams(name, resource_type="source", source_name=group)
        if len(upstreams) != 1:
            raise NotUnderstood(f"the source {group}.{name} is not in the manifest")
        return self._quote(upstreams[0])

    def _ref(self, *names: str, v: Any = None, version: Any = None, **_: Any) -> str:
        version = v if version is None else version
        package = {"package_name": names[0]} if len(names) > 1 else {}
        upstreams = self._upstreams(names[-1], **package)
        upstreams = [node for node in upstreams if node.kind != "source"]
        if len(upstreams) > 1 or version is not None:
            upstreams = [
                upstream
                for upstream in upstreams
                if str(upstream.value.get("version"))
                == str(upstream.value.get("latest_version") if version is None else version)
            ]
        if len(upstreams) != 1:
            raise NotUnderstood(f"{'.'.join(names)} is not in the manifest")
        return self._quote(upstreams[0])

    def _quote(self, node: DbtNode) -> str:
        from sqlglot import exp

        parts = (exp.to_identifier(part, quoted=True) for part in node.relation)
        return ".".join(part.sql(self._dialect) for part in parts)


class ModelQuery:
    """The query of a model, in which ephemeral models are tables instead of parts of the query."""

    def __init__(
        self,
        node: DbtNode,
        nodes: Mapping[str, DbtNode],
        dialect: str,
        tables: KnownTables,
        nodes_by_relation: Mapping[TablePath, DbtNode],
    ) -> None:
        self._node = node
        self._nodes = nodes
        self._dialect = dialect
        self._tables = tables
        self._nodes_by_relation = nodes_by_relation
        self._sql = node.sql or ""
        if _EPHEMERAL in self._sql.casefold():
            self._sql = self._without_ephemerals()

    def read_lineage(self, width: int | None) -> QueryLineage:
        """Return the lineage of the query. Tables whose columns are not all known are assumed to
        have the columns that it uses."""
        further_columns = self._find_used()
        for path, names in further_columns.items():
            self._tables.add(path, [*self._tables.columns(path), *names])
        near = self._node.relation[:-1]
        lineage = read_lineage(self._sql, self._dialect, self._tables, near, width)
        for path in further_columns:
            self._tables.add(path, self._nodes_by_relation[path].columns)
        return lineage

    def read_names(self) -> list[str]:
        """Return the names of the columns that the query selects; empty if it selects some without
        naming them."""
        with reading(QueryLineage()):
            selects = query_of(self._parse()).selects
            names = [select.alias_or_name for select in selects]
            if all(names) and not any(select.is_star for select in selects):
                return names
        return []

    def infer_types(self, lineage: QueryLineage) -> dict[str, tuple[str, str]]:
        """Return the names and types of the columns whose type is that of a column of a table or
        does not depend on tables, by name in lower case."""
        columns = []
        with reading(QueryLineage()):
            columns = defined_columns(self._parse(), sql_dialect(self._dialect), self._columns_of)
        sources = dict(zip(lineage.names, lineage.columns, strict=True))
        types: dict[str, tuple[str, str]] = {}
        for column in columns:
            key = column.name.casefold()
            native = column.type
            if _COLUMN.fullmatch(column.made_by or "") and len(sources.get(key, ())) == 1:
                path, name = sources[key][0]
                native = self._nodes_by_relation[path].native_type(name)
            if native:
                types[key] = (column.name, native)
        return types

    def _columns_of(self, name: TablePath) -> Sequence[str] | None:
        path = self._tables.find(name, self._node.relation[:-1])
        return None if path is None else self._tables.columns(path)

    def _parse(self) -> Any:
        return parse_statement(self._sql, sql_dialect(self._dialect))

    def _without_ephemerals(self) -> str:
        """Return the SQL without the queries of ephemeral models, which dbt puts into `WITH`."""
        from sqlglot import exp

        relations = {
            f"{_EPHEMERAL}{node.path[-1]}".casefold(): node.relation
            for node in self._ephemerals(self._node, set())
        }
        with reading(QueryLineage()):
            statement = self._parse()
            for part in list(statement.find_all(exp.With)):
                ctes = [cte for cte in part.expressions if cte.alias.casefold() not in relations]
                if ctes:
                    part.set("expressions", ctes)
                else:
                    part.pop()
            for table in list(statement.find_all(exp.Table)):
                relation = relations.get(table.name.casefold())
                if relation is None or len(table_path(table)) > 1:
                    continue
                if not table.alias:
                    table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
                for key, name in zip(("this", "db", "catalog"), reversed(relation), strict=False):
                    table.set(key, exp.to_identifier(name, quoted=True))
            return str(statement.sql(sql_dialect(self._dialect)))
        return self._sql

    def _ephemerals(self, node: DbtNode, visited: set[str]) -> Iterator[DbtNode]:
        for key in node.upstreams:
            upstream = self._nodes.get(key)
            if upstream and upstream.materialized == "ephemeral" and key not in visited:
                visited.add(key)
                yield upstream
                yield from self._ephemerals(upstream, visited)

    def _find_used(self) -> dict[TablePath, Iterable[str]]:
        """Return the columns that the query uses of tables whose columns are not all known, beyond
        the known ones. A table whose columns it selects all, with `*`, has none."""
        nodes = (self._nodes[key] for key in self._node.upstreams if key in self._nodes)
        if not any(node.is_open for node in nodes):
            return {}

        def is_open(path: TablePath) -> bool:
            return self._nodes_by_relation[path].is_open

        use = ColumnUse(
            lambda name: self._tables.find(name, self._node.relation[:-1]),
            lambda path: {column.casefold() for column in self._tables.columns(path)},
            is_open,
        )
        with reading(QueryLineage()):
            use.read(query_of(self._parse()))
        return {
            path: names.values() for path, names in use.used.items() if path not in use.selected
        }


_COLUMN: Final = re.compile(r"""(?:[`"\[][^`"\]]+[`"\]]\.)?[`"\[][^`"\]]+[`"\]]""")


def compiled_logic(node: DbtNode) -> dict[str, str]:
    """Return the entry of `viewProperties` with the SQL compiled by dbt, or an empty mapping if it
    is not known. If this manifest lacks it, the catalog's is used while the model is unchanged."""
    if node.is_compiled:
        return {"formattedViewLogic": node.sql or ""}
    stored = (node.stored.raw("viewProperties") if node.stored else None) or {}
    if stored.get("formattedViewLogic") and stored.get("viewLogic") == node.code:
        return {"formattedViewLogic": stored["formattedViewLogic"]}
    return {}


def stored_column_lineage(node: DbtNode) -> list[Mapping[str, Any]]:
    """Return the column lineage of a model that is stored in the catalog."""
    stored = (node.stored.raw("upstreamLineage") if node.stored else None) or {}
    return list(stored.get("fineGrainedLineages") or ())


def spellings(table: Urn) -> tuple[Urn, ...]:
    """Return the datasets that may represent a table in the warehouse: connectors keep the case of
    its name or write it in lower case."""
    name = table.parts[1]
    return tuple(
        Urn.parse(str(table).replace(f",{name},", f",{spelling},", 1))
        for spelling in dict.fromkeys((name, name.lower()))
    )


def types_of(entity: "Entity | None") -> dict[str, str]:
    """Return the native types of a dataset's columns in the catalog, in their order; empty if there
    is none. Fields of structs are left out."""
    if entity is None or not entity.exists or entity.removed:
        return {}
    fields = (entity.raw("schemaMetadata") or {}).get("fields") or ()
    paths = ((FieldPath(column["fieldPath"]), column) for column in fields)
    return {
        path.name: str(column.get("nativeDataType") or "")
        for path, column in paths
        if len(path.names) == 1
    }
