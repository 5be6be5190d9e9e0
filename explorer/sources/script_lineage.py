"""The lineage of a script of SQL statements, between tables that the catalog has."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from explorer.client import Catalog
from explorer.metadata.urn import Urn
from explorer.query.filters import Criterion, Filter
from explorer.sources.sql_lineage import (
    NotUnderstood,
    Path,
    QueryLineage,
    Tables,
    parse_statement,
    reading,
    require_sqlglot,
    table_path,
    trace_statement,
)

__all__ = ["CatalogTables", "StatementLineage", "find_tables", "read_script"]

# sqlglot's dialects that are not called as DataHub's platform is.
_PLATFORMS: Final = {"tsql": "mssql"}
_MOST_NAMESAKES: Final = 200
_SHOWN: Final = 60


@dataclass(slots=True)
class StatementLineage:
    """What a statement reads and what it makes: its first line, counted from 1, its beginning, and
    the table that it writes with its columns, None where it only reads."""

    line: int
    text: str
    target: Path | None = None
    target_columns: Sequence[str] = ()
    lineage: QueryLineage = field(default_factory=QueryLineage)


@dataclass(frozen=True, slots=True)
class CatalogTables:
    """The tables that a script names, as the catalog has them: their columns, and their URNs by
    path."""

    tables: Tables
    urns: dict[Path, Urn]


def find_tables(catalog: Catalog, sql: str, dialect: str) -> CatalogTables:
    """Return the datasets of the dialect's platform that have the names of the tables of a script.
    One request for each name, and one for each 150 datasets. Raises `InvalidInput` for a dialect
    that is not known, `MissingExtra` without sqlglot."""
    require_sqlglot(dialect)
    platform = f"urn:li:dataPlatform:{_PLATFORMS.get(dialect, dialect)}"
    narrowed_by = Filter(((Criterion("platform", (platform,)),),))
    found: dict[Urn, None] = {}
    for name in _names(sql, dialect):
        hits = catalog.search(
            name, entity="dataset", narrowed_by=narrowed_by, count=_MOST_NAMESAKES
        )
        for hit in hits:
            if hit.urn.name.rpartition(".")[2].casefold() == name:
                found[hit.urn] = None
    entities = catalog.entities(list(found), ["schemaMetadata"])
    urns = {tuple(urn.name.split(".")): urn for urn in entities}
    tables = Tables(
        (tuple(urn.name.split(".")), [column.path.raw for column in entity.schema])
        for urn, entity in entities.items()
    )
    return CatalogTables(tables, urns)


def _names(sql: str, dialect: str) -> list[str]:
    """Return the last names of all tables in a script, in lower case, each once."""
    from sqlglot import exp

    names: dict[str, None] = {}
    for _, text in _split(sql, dialect):
        with reading(QueryLineage()):
            for table in parse_statement(text, dialect).find_all(exp.Table):
                names[table.name.casefold()] = None
    return [name for name in names if name]


def read_script(sql: str, dialect: str, tables: Tables) -> Iterator[StatementLineage]:
    """Yield the statements of a script that read or write, in their order. Tables that one makes
    are known to those after it. One that is not understood loses no other; what neither reads nor
    writes, `SET` or `DROP`, is left out.

    Raises `MissingExtra` without sqlglot, `InvalidInput` for a dialect that it does not know.
    """
    require_sqlglot(dialect)
    for line, text in _split(sql, dialect):
        found = StatementLineage(line, " ".join(text.split())[:_SHOWN])
        is_told = True
        with reading(found.lineage):
            is_told = _read(parse_statement(text, dialect), dialect, tables, found)
        if is_told:
            yield found


def _read(statement: Any, dialect: str, tables: Tables, found: StatementLineage) -> bool:
    """Read one statement; returns whether there is anything to tell."""
    from sqlglot import exp

    lineage = found.lineage
    if not isinstance(statement, exp.Query | exp.Create | exp.Insert | exp.Command | exp.DML):
        return False
    if isinstance(statement, exp.Create | exp.Insert):
        columns = _find_target(statement, found)
        if found.target is None:
            return False
        known = tables.find(found.target, ())
        if statement.expression is None:
            tables.add(found.target, columns)
            return False
        if isinstance(statement, exp.Insert):
            found.target = known or found.target
            columns = columns or (list(tables.columns(known)) if known else [])
        if isinstance(statement.expression, exp.Values):
            return False
        trace_statement(statement, dialect, tables, (), lineage)
        columns = columns or lineage.names
        if len(columns) != len(lineage.columns):
            raise NotUnderstood(
                f"the query has {len(lineage.columns)} columns where the table has {len(columns)}"
            )
        found.target_columns = columns
        if isinstance(statement, exp.Create):
            tables.add(found.target, columns)
        return True
    trace_statement(statement, dialect, tables, (), lineage)
    found.target_columns = lineage.names
    return True


def _find_target(statement: Any, found: StatementLineage) -> list[str]:
    """Note the table that a statement writes, and return the columns that it names."""
    from sqlglot import exp

    target, columns = statement.this, list[str]()
    if isinstance(target, exp.Schema):
        columns = [
            one.name
            for one in target.expressions
            if isinstance(one, exp.Identifier | exp.ColumnDef)
        ]
        target = target.this
    if isinstance(target, exp.Table):
        found.target = table_path(target)
    return columns


def _split(sql: str, dialect: str) -> Iterator[tuple[int, str]]:
    """Yield the statements of a script as texts, each with its first line. A text that cannot be
    cut is one statement."""
    from sqlglot.dialects.dialect import Dialect
    from sqlglot.errors import SqlglotError

    try:
        tokens = Dialect.get_or_raise(dialect).tokenize(sql)
    except (SqlglotError, ValueError):
        yield 1, sql
        return
    begun: Any = None
    for token in tokens:
        if token.token_type.name == "SEMICOLON":
            if begun is not None:
                yield begun.line, sql[begun.start : token.start]
            begun = None
        elif begun is None:
            begun = token
    if begun is not None:
        yield begun.line, sql[begun.start :]
