"""What the result of an SQL query is made from, to the column, as sqlglot understands it.

Nothing is guessed: a column is traced to columns that are there, or the statement is told as not
understood, with the reason. Tables that it surely reads are given all the same.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from explorer.errors import InvalidInput, MissingExtra
from explorer.sources.datasets import ColumnSources, DatasetWriter
from explorer.sources.source import SkippedPart, TableDefinition

if TYPE_CHECKING:
    from sqlglot.lineage import Node
    from sqlglot.optimizer.scope import Scope

__all__ = [
    "NotUnderstood",
    "Path",
    "QueryLineage",
    "Tables",
    "add_tables",
    "parse_statement",
    "read_lineage",
    "reading",
    "require_sqlglot",
    "table_path",
    "trace_statement",
]

Path = tuple[str, ...]
"""The names of a table, from the outermost container to its own."""

# What SQLAlchemy and dbt call a database, as sqlglot calls its dialect.
_DIALECTS: Final = {
    "postgresql": "postgres",
    "cockroachdb": "postgres",
    "greenplum": "postgres",
    "mssql": "tsql",
    "sqlserver": "tsql",
    "mariadb": "mysql",
    "awsathena": "athena",
    "teradatasql": "teradata",
}
_DEFAULT_SCHEMAS: Final = ("public", "main", "dbo")
_log = logging.getLogger("sqlglot")


class Tables:
    """The tables that queries may read, by path, with their columns; letters' case does not
    count."""

    def __init__(self, tables: Iterable[tuple[Path, Sequence[str]]]) -> None:
        self._columns: dict[Path, Sequence[str]] = {}
        self._by_end: dict[Path, list[Path]] = {}
        for path, columns in tables:
            self.add(path, columns)

    def add(self, path: Path, columns: Sequence[str]) -> None:
        """Add a table, or replace the columns of one."""
        if path not in self._columns:
            folded = tuple(part.casefold() for part in path)
            for start in range(len(folded)):
                self._by_end.setdefault(folded[start:], []).append(path)
        self._columns[path] = columns

    def columns(self, path: Path) -> Sequence[str]:
        """Return the columns of a table."""
        return self._columns[path]

    def find(self, named: Path, near: Path) -> Path | None:
        """Return the table that a query names, one in the container `near` before others; None
        where there is none, or several and none of them nearer."""
        folded = tuple(part.casefold() for part in named)
        found = self._by_end.get(folded, [])
        if len(found) > 1:
            # As written, before what differs in case.
            found = [path for path in found if path[-len(named) :] == named] or found
        if len(found) < 2:
            return found[0] if found else None
        for place in (near, *((*near[:-1], name) for name in _DEFAULT_SCHEMAS)):
            same = [path for path in found if path == (*place[: len(path) - len(named)], *named)]
            same = same or [
                path
                for path in found
                if tuple(part.casefold() for part in path)
                == tuple(part.casefold() for part in (*place[: len(path) - len(named)], *named))
            ]
            if len(same) == 1:
                return same[0]
        return None


@dataclass(slots=True)
class QueryLineage:
    """What a query reads. `columns` has the columns of other tables that each column of the result
    is made from, by position. `problem` is why it was not, or not wholly, understood; `columns` is
    then empty."""

    tables: list[Path] = field(default_factory=list)
    columns: list[tuple[tuple[Path, str], ...]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    problem: str | None = None


def read_lineage(
    sql: str, dialect: str, tables: Tables, near: Path, width: int | None = None
) -> QueryLineage:
    """Return the lineage of a query, or of the query in a `CREATE VIEW` or `CREATE TABLE`.

    `near` is the container in which tables without a schema are looked for. `width` is how many
    columns the result has, where that is known. Raises `MissingExtra` without sqlglot,
    `InvalidInput` for a dialect that it does not know.
    """
    require_sqlglot(dialect)
    lineage = QueryLineage()
    with reading(lineage):
        statement = parse_statement(sql, _DIALECTS.get(dialect, dialect))
        trace_statement(statement, _DIALECTS.get(dialect, dialect), tables, near, lineage)
        if width is not None and width != len(lineage.columns):
            raise NotUnderstood(
                f"the query has {len(lineage.columns)} columns where the view has {width}"
            )
    return lineage


@contextmanager
def reading(lineage: QueryLineage) -> Iterator[None]:
    """Put what sqlglot raises within into a lineage, as its problem; its columns are then gone."""
    from sqlglot.errors import SqlglotError

    level = _log.level
    # What it logs is told as a problem.
    _log.setLevel(logging.CRITICAL)
    try:
        yield
    except NotUnderstood as error:
        lineage.problem = str(error)
    except RecursionError:
        lineage.problem = "it is nested too deeply"
    except (SqlglotError, ValueError, KeyError, AttributeError, TypeError, IndexError) as error:
        lineage.problem = _words(error)
    finally:
        _log.setLevel(level)
    if lineage.problem is not None:
        lineage.columns, lineage.names = [], []


class NotUnderstood(Exception):
    """A statement whose columns cannot be traced, and why."""


def require_sqlglot(dialect: str) -> None:
    """Raise `MissingExtra` without sqlglot, `InvalidInput` for a dialect that it does not know."""
    try:
        import sqlglot
    except ModuleNotFoundError as error:
        if error.name != "sqlglot":
            raise
        raise MissingExtra("reading SQL needs sqlglot", "sources") from None
    named = _DIALECTS.get(dialect, dialect)
    if named not in sqlglot.Dialects.__members__.values() and named not in (
        one.value for one in sqlglot.Dialects
    ):
        known = ", ".join(sorted(one.value for one in sqlglot.Dialects if one.value))
        raise InvalidInput(f"sqlglot knows no SQL dialect {dialect!r}; known: {known}")


def _words(error: Exception) -> str:
    """Return what sqlglot says is wrong, as one line without the escapes that mark the place."""
    listed = getattr(error, "errors", None)
    first = listed[0] if listed and isinstance(listed[0], dict) else {}
    if first.get("description"):
        return f"line {first.get('line')}: {first['description']} near {first.get('highlight')!r}"
    text = " ".join(str(error).split())
    return text.rstrip(".") or type(error).__name__


def parse_statement(sql: str, dialect: str) -> Any:
    """Return the only statement of a text, as sqlglot has it; raises `NotUnderstood` for more."""
    import sqlglot
    from sqlglot import exp

    statements = [
        one for one in sqlglot.parse(sql, dialect=dialect) if isinstance(one, exp.Expression)
    ]
    if len(statements) != 1:
        raise NotUnderstood(f"it has {len(statements)} statements where one is expected")
    return statements[0]


def trace_statement(
    statement: Any, dialect: str, tables: Tables, near: Path, lineage: QueryLineage
) -> None:
    """Put into a lineage what a query reads, or the query in a `CREATE` or `INSERT`; the statement
    is changed on the way. Raises `NotUnderstood`, or what sqlglot raises."""
    from sqlglot import exp
    from sqlglot.optimizer.qualify import qualify
    from sqlglot.optimizer.scope import build_scope
    from sqlglot.schema import MappingSchema

    query = statement
    if isinstance(query, exp.Create | exp.Insert):
        query = query.expression
    if not isinstance(query, exp.Query):
        raise NotUnderstood(f"it is no query but {type(query).__name__}")
    named = {id(one): (one, table_path(one)) for one in _physical(query)}
    # From here on every name is in lower case and quoted, so that no dialect's rules apply to it.
    for identifier in query.find_all(exp.Identifier):
        identifier.set("this", identifier.name.casefold())
        identifier.set("quoted", True)
    schema: dict[str, object] = {}
    found: dict[str, Path] = {}
    missing: list[str] = []
    for table, parts in named.values():
        is_in_file = dialect == "sqlite" and parts[0].casefold() == "main"
        path = tables.find(parts[1:] or parts if is_in_file else parts, near)
        if path is None:
            missing.append(".".join(parts))
            continue
        if path not in lineage.tables:
            lineage.tables.append(path)
        # The alias stays what columns call it by, and no name is that of a CTE.
        alias = table.alias or table.name
        label = f"table {len(found)}"
        found[label] = path
        columns = tables.columns(path)
        if not columns:
            raise NotUnderstood(f"the columns of {'.'.join(path)} are not known")
        schema[label] = folded = {column.casefold(): "unknown" for column in columns}
        if len(folded) < len(columns):
            raise NotUnderstood(f"columns of {'.'.join(path)} differ only in the case of letters")
        table.set("this", exp.to_identifier(label, quoted=True))
        table.set("db", None)
        table.set("catalog", None)
        if not table.alias:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    if missing:
        raise NotUnderstood(f"it reads {', '.join(dict.fromkeys(missing))}, which is not known")
    for column in query.find_all(exp.Column):
        column.set("db", None)
        column.set("catalog", None)
    mapping = MappingSchema(schema, dialect=dialect, normalize=False)
    query = qualify(query, dialect=dialect, schema=mapping)
    _trace(query, build_scope(query), mapping, dialect, tables, found, lineage)


def _physical(query: Any) -> Iterator[Any]:
    """Yield the tables of a query that are no CTEs, each place where one is named."""
    from sqlglot import exp
    from sqlglot.optimizer.scope import traverse_scope

    seen: set[int] = set()
    for scope in traverse_scope(query):
        for node, source in scope.selected_sources.values():
            if isinstance(source, exp.Table) and id(source) not in seen:
                if not isinstance(source.this, exp.Identifier):
                    raise NotUnderstood(f"it reads {source.sql()}, which is no table")
                seen.add(id(source))
                yield node


def table_path(table: Any) -> Path:
    """Return the names of one of sqlglot's tables."""
    return tuple(part.name for part in table.parts)


def _trace(
    query: Any,
    scope: "Scope | None",
    schema: Any,
    dialect: str,
    tables: Tables,
    found: Mapping[str, Path],
    lineage: QueryLineage,
) -> None:
    from sqlglot import exp
    from sqlglot.lineage import lineage as trace

    if scope is None:
        raise NotUnderstood("it is no query")
    names = [select.alias_or_name for select in query.selects]
    if any(select.is_star for select in query.selects):
        raise NotUnderstood("it has a * that cannot be resolved")
    if len(set(names)) < len(names):
        raise NotUnderstood("two of its columns have the same name")
    exact = {
        label: {name.casefold(): name for name in tables.columns(path)}
        for label, path in found.items()
    }
    nodes = trace(None, query, schema, dialect=dialect, scope=scope, trim_selects=False, copy=False)
    for name in names:
        sources: dict[tuple[Path, str], None] = {}
        for leaf in _leaves(nodes[name]):
            # Both names of a leaf are quoted.
            column = leaf.name.rpartition('"."')[2].removesuffix('"').replace('""', '"')
            label = leaf.source.name if isinstance(leaf.source, exp.Table) else ""
            if column not in exact.get(label, {}):
                raise NotUnderstood(f"the column {leaf.name} cannot be traced")
            sources[found[label], exact[label][column]] = None
        lineage.columns.append(tuple(sorted(sources)))
        lineage.names.append(name)


def _leaves(node: "Node") -> "Iterator[Node]":
    """Yield the columns of tables below a node, and what could not be resolved."""
    from sqlglot import exp

    for one in node.walk():
        if isinstance(one.expression, exp.Table | exp.Placeholder):
            yield one
        elif isinstance(one.expression, exp.Star):
            raise NotUnderstood("it has a * that cannot be resolved")


def add_tables(writer: DatasetWriter, tables: Sequence[TableDefinition], dialect: str) -> None:
    """Add the tables of a database to an inventory; views with what they are made from. A view that
    is not understood is added without that, and is among the skipped parts."""
    known = Tables((one.path, one.names) for one in tables)
    for table in tables:
        if not table.definition or table.columns is None:
            writer.add(table)
            continue
        near = table.path[:-1]
        lineage = read_lineage(table.definition, dialect, known, near, len(table.names))
        if lineage.problem is not None:
            subject = writer.delimiter.join(table.path)
            reason = f"no column lineage: {lineage.problem}"
            writer.inventory.skipped.append(SkippedPart(subject, reason))
        columns = (
            ColumnSources(own, tuple((writer.dataset(path), column) for path, column in sources))
            for own, sources in zip(table.names, lineage.columns, strict=False)
        )
        upstreams = [writer.dataset(path) for path in lineage.tables]
        writer.add(table, upstreams=upstreams, columns=columns)
