"""Read the lineage between tables of the catalog from SQL scripts, statement by statement."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from explorer.client import Catalog
from explorer.metadata.urn import Urn
from explorer.query.filters import Criterion, Filter
from explorer.sources.column_tracer import table_path
from explorer.sources.sql_lineage import (
    SHARD,
    KnownTables,
    NotUnderstood,
    Path,
    QueryLineage,
    abbreviate_statement,
    find_table,
    hide_values,
    mark_duplicates,
    open_expression,
    parse_statement,
    query_of,
    reading,
    require_sqlglot,
    sql_dialect,
    trace_query,
    with_ctes,
)
from explorer.sources.sql_statements import (
    OutputClause,
    Routine,
    read_routine,
    split_output,
    split_statements,
)

# sqlglot's dialects whose names differ from that of the platform in DataHub.
_PLATFORMS: Final = {"tsql": "mssql", "postgresql": "postgres", "sqlserver": "mssql"}
Sources = tuple[tuple[Path, str], ...]
Resolved = tuple[tuple[Path | None, bool, tuple[str, ...] | None], ...]
Change = tuple[Path, tuple[str, ...] | None, bool]
_DEFAULT_SCHEMAS: Final = {"snowflake": "public", "tsql": "dbo", "redshift": "public"}
# Dialects in which a single name after USE is a schema.
_USING_SCHEMAS: Final = frozenset(
    ("athena", "databricks", "hive", "presto", "spark", "spark2", "trino")
)
# Statements that sqlglot does not parse and that have no lineage.
_SILENT: Final = frozenset(
    (
        *("ANALYZE", "CHECKPOINT", "COMMENT", "DEALLOCATE", "DESC", "DESCRIBE", "EXPLAIN", "GET"),
        *("GRANT", "KILL", "LIST", "LOCK", "LS", "MSCK", "OPTIMIZE", "PRINT", "PUT", "REFRESH"),
        *("REMOVE", "RESET", "REVOKE", "RM", "SET", "SHOW", "UNLOCK", "UNSET", "VACUUM"),
    )
)
# Phrases in a CREATE that sqlglot cannot parse and that do not affect the lineage.
_UNREAD: Final = (
    ["ON", "COMMIT", "DROP"],
    ["ON", "COMMIT", "PRESERVE", "ROWS"],
    ["ON", "COMMIT", "DELETE", "ROWS"],
    ["DEEP"],
)
# Statements of procedures that neither read nor write tables.
_CONTROL: Final = re.compile(
    r"\s*(?:(?:return(?!\s+query\b)|raise|raiserror|throw|signal|resignal|leave|iterate|break"
    r"|continue|exit|goto|waitfor|close|open|fetch|deallocate|exception|until)\b|null\s*$"
    r"|(?:let\s+\w+(?:\s+\w+)*?|\w+)\s*:=(?!.*\b(?:select|cursor)\b))",
    re.IGNORECASE | re.DOTALL,
)
# What precedes a query in a cursor, and in a result of PL/pgSQL.
_BEFORE_QUERY: Final = re.compile(
    r"\s*(?:declare\s+[@\w]+\s+(?:\w+\s+)*?cursor\s+(?:\w+\s+)*?for|return\s+query"
    r"|perform(?=\s+(?:select|with)\b))\s+",
    re.IGNORECASE,
)
_PERFORM: Final = re.compile(r"\s*perform\b", re.IGNORECASE)
_DECLARED: Final = re.compile(r"\s*declare\s+(\w+)\b(?!.*\bcursor\b)", re.IGNORECASE | re.DOTALL)
_CALL: Final = re.compile(
    r"\s*(?:call|exec|execute)\s+(?:@\w+\s*=\s*)?((?:[\w$#]+|\"[^\"]+\"|`[^`]+`|\[[^\]]+\])"
    r"(?:\.(?:[\w$#]+|\"[^\"]+\"|`[^`]+`|\[[^\]]+\]))*)",
    re.IGNORECASE,
)
# The dialects in which SELECT … INTO creates a table.
_INTO_TABLES: Final = frozenset(("fabric", "postgres", "redshift", "spark", "tsql"))
_MOST_CALLS: Final = 5
_MOST_NAMESAKES: Final = 200


@dataclass(slots=True)
class StatementLineage:
    """The columns and tables that a statement reads, and the table that it writes.

    `line` is its first line, counted from 1, and `text` its beginning without literals. `target` is
    the table that it writes, or `None` if it only reads; `target_columns` are the columns written.
    `is_new` is set if it creates the table, which replaces any earlier content, and `is_called` if
    the statement is in a procedure that was called.
    """

    line: int
    text: str
    target: Path | None = None
    target_columns: Sequence[str] = ()
    is_new: bool = False
    is_view: bool = False
    is_called: bool = False
    lineage: QueryLineage = field(default_factory=QueryLineage)

    @property
    def problem(self) -> str | None:
        """The reason why the statement is not understood, or the columns that are not traced;
        `None` if there is no problem."""
        if self.lineage.problem is not None:
            return self.lineage.problem
        names = self.target_columns if self.target is not None else None
        untraced = self.lineage.describe_gaps(names)
        return None if untraced is None else f"not traced: {untraced}"


@dataclass(frozen=True, slots=True)
class CatalogTables:
    """The tables of the catalog that a script may name: their columns, their URNs by path, and the
    field paths of columns where these differ from the plain names, joined by dots."""

    tables: KnownTables
    urns: dict[Path, Urn]
    fields: dict[tuple[Path, str], str] = field(default_factory=dict)

    def field(self, path: Path, column: str) -> str:
        """Return the field path of a column in the schema of its dataset."""
        return self.fields.get((path, column), column)


def platform_of(dialect: str) -> str:
    """Return the URN of the platform of an SQL dialect."""
    return f"urn:li:dataPlatform:{_PLATFORMS.get(dialect, dialect)}"


def find_tables(catalog: Catalog, sql: str, dialect: str) -> CatalogTables:
    """Return the datasets of the dialect's platform whose names occur as tables in a script.

    Makes one request per name, and one per 150 datasets. Raises `InvalidInput` for an unknown
    dialect, and `MissingExtra` without sqlglot.
    """
    require_sqlglot(dialect)
    filter = Filter(((Criterion("platform", (platform_of(dialect),)),),))
    urns: dict[Urn, None] = {}
    for name in _names(sql, dialect):
        page = catalog.search(name, entity="dataset", filter=filter, count=_MOST_NAMESAKES)
        for hit in page.only_complete():
            hit_name = hit.urn.name.rpartition(".")[2].casefold()
            if hit_name == name or (name.endswith("*") and hit_name.startswith(name[:-1])):
                urns[hit.urn] = None
    return read_tables(catalog, list(urns))


def read_tables(catalog: Catalog, urns: Sequence[Urn]) -> CatalogTables:
    """Return datasets as tables that queries can read, with their columns and the fields of
    structs. Makes one request per 150 datasets."""
    tables = CatalogTables(KnownTables(), {})
    for urn, entity in catalog.entities(urns, ["schemaMetadata"]).items():
        path, columns, fields = tuple(urn.name.split(".")), list[str](), list[str]()
        for column in entity.schema:
            name = ".".join(column.path.names)
            (columns if len(column.path.names) == 1 else fields).append(name)
            if name != column.path.raw:
                tables.fields[path, name] = column.path.raw
        tables.tables.add(path, columns, fields)
        tables.urns[path] = urn
    return tables


def _names(sql: str, dialect: str) -> list[str]:
    """Return the last part of the name of every table in a script, in lower case, without
    duplicates; those in procedures and blocks too."""
    from sqlglot import exp

    dialect = sql_dialect(dialect)
    names: dict[str, None] = {}
    for _, text in split_statements(sql, dialect):
        with reading(QueryLineage()):
            if (routine := read_routine(text, dialect)) is not None:
                names |= dict.fromkeys(_names(routine.body or "", dialect))
                continue
            plain, output = split_output(text, dialect)
            written = f"insert into {output.target} select 1" if output and output.target else None
            for part in (plain, written):
                for table in _parse(part, dialect).find_all(exp.Table) if part else ():
                    names[table.name.casefold()] = None
    if dialect == "bigquery":
        shards = [shard[1] for name in names if (shard := SHARD.fullmatch(name))]
        names |= dict.fromkeys(shards)
    return [name for name in names if name]


def read_script(sql: str, dialect: str, tables: KnownTables) -> Iterator[StatementLineage]:
    """Yield the statements of a script that read or write tables, in order.

    Tables that a statement creates are known to the statements after it. A statement that is not
    understood does not affect the others. Statements that neither read nor write, such as `SET` or
    `DROP`, are left out. Raises `MissingExtra` without sqlglot, and `InvalidInput` for a dialect
    that sqlglot does not know.
    """
    require_sqlglot(dialect)
    session = DatabaseSession(sql_dialect(dialect), KnownTables(below=tables))
    for line, text in split_statements(sql, session.dialect):
        yield from session.read(text, line)
    yield from uncalled_procedures(session.procedures)


Procedures = dict[str, tuple[Routine, StatementLineage]]


def uncalled_procedures(procedures: Procedures) -> Iterator[StatementLineage]:
    """Yield the definitions of procedures that no statement has called; their bodies were not
    analysed."""
    return (part for _, part in procedures.values() if part.lineage.problem is not None)


@dataclass(slots=True)
class DatabaseSession:
    """The state of one session while its statements are read.

    `tables` has its temporary tables; names that are not found there are looked up in
    `script_tables`, the tables that statements of any session have created, and then in the
    catalog. `near` is the container set by `USE`.

    `procedures` has the procedures defined by statements of any session, by name. `variables` are
    the names of declared variables.

    `references` describes the last statement: the names of the tables in it, and what they referred
    to before it ran; it is `None` if the result of reading it depends on other things too.
    `changes` has the tables that the last statement created, with their columns, or dropped, with
    `None`.
    """

    dialect: str
    script_tables: KnownTables
    near: Path = ()
    procedures: Procedures = field(default_factory=dict)
    variables: set[str] = field(default_factory=set)
    tables: KnownTables = field(init=False)
    references: tuple[tuple[Path, ...], Resolved] | None = None
    changes: list[Change] = field(default_factory=list)
    _calls: int = 0

    def __post_init__(self) -> None:
        self.tables = KnownTables(below=self.script_tables)

    def is_made(self, path: Path) -> bool:
        """Return whether a statement created the table; false for a table of the catalog."""
        return path in self.tables or path in self.script_tables

    def read(
        self, text: str, line: int = 1, destination: Path | None = None
    ) -> list[StatementLineage]:
        """Return the lineage of a statement, one item for each table that it writes; empty if it
        neither reads nor writes. If `destination` is given, the result of a query counts as written
        to it."""
        from sqlglot import exp

        lineage = StatementLineage(line, abbreviate_statement(text, self.dialect))
        self.references, self.changes = ((), ()), []
        if _CONTROL.match(text):
            return []
        if self.dialect == "mysql" and (declared := _DECLARED.match(text)):
            self.variables.add(declared[1].casefold())
            return []
        text = _PERFORM.sub("select", _BEFORE_QUERY.sub("", text, count=1), count=1)
        with reading(lineage.lineage):
            routine = read_routine(text, self.dialect)
            call = _CALL.match(text)
            if routine is not None:
                return self._read_routine(routine, lineage)
            if call is not None and (parts := self._call(call[1], lineage)) is not None:
                return parts
            text, output = split_output(text, self.dialect)
            statement = _parse(text, self.dialect)
            self.references = self._names(statement)
            if destination is not None and isinstance(statement, exp.Query):
                return self._write_result(statement, destination, lineage)
            parts = [*self._read_ctes(statement, lineage), *self._read(statement, lineage)]
            if output is not None and output.target is not None:
                # What it writes depends on more than the names in the statement.
                self.references = None
                parts += self._read_output(statement, output, parts, lineage)
            for part in parts:
                hide_values(part.lineage, text, self.dialect)
            return parts
        hide_values(lineage.lineage, text, self.dialect)
        return [_without_itself(lineage)]

    def _read_routine(self, routine: Routine, part: StatementLineage) -> list[StatementLineage]:
        """Return the lineage of the statements of a block. A procedure is recorded in `procedures`
        instead, and read when it is called. Raises `NotUnderstood` for other routines that
        write."""
        self.references = None
        if routine.kind == "BLOCK":
            if routine.body is None:
                raise NotUnderstood("the statement that it runs is not known")
            return self._read_body(routine, part)
        if routine.kind == "PROC":
            part.lineage.problem = (
                "its body is not SQL"
                if routine.body is None
                else "the body of a procedure is analysed where it is called"
            )
            self.procedures[routine.name] = routine, part
            return []
        words = (routine.body or "").casefold().split()
        if routine.kind == "FUNCTION" and not {"insert", "update", "merge", "delete"} & {*words}:
            return []
        raise NotUnderstood(f"the body of a {routine.kind.lower()} is not analysed")

    def _call(self, name: str, part: StatementLineage) -> list[StatementLineage] | None:
        """Return the lineage of the statements of a called procedure, or `None` if its definition
        is not known."""
        routine, definition = self.procedures.get(
            name.rpartition(".")[2].strip('[]`"').casefold(), (None, part)
        )
        if routine is None:
            return None
        self.references = None
        if routine.body is None:
            raise NotUnderstood("the body of the procedure that it calls is not SQL")
        if self._calls >= _MOST_CALLS:
            raise NotUnderstood("it calls procedures that call each other")
        definition.lineage.problem = None
        return self._read_body(routine, definition)

    def _read_body(self, routine: Routine, part: StatementLineage) -> list[StatementLineage]:
        """Return the lineage of the statements of a block or procedure."""
        outer, parts, changes = self.variables, list[StatementLineage](), list[Change]()
        self.variables = {*outer, *routine.variables}
        self._calls += 1
        try:
            for line, text in split_statements(routine.body or "", self.dialect):
                parts += self.read(text, part.line + routine.line + line - 1)
                changes += self.changes
        finally:
            self.variables = outer
            self._calls -= 1
        self.references, self.changes = None, changes
        return [replace(inner, is_called=True) for inner in parts]

    def _read_ctes(self, statement: Any, part: StatementLineage) -> list[StatementLineage]:
        """Return the lineage of the data-changing statements in a WITH."""
        from sqlglot import exp

        with_ = statement.args.get("with_")
        parts = []
        for at, cte in enumerate(with_.expressions if with_ else ()):
            if isinstance(cte.this, exp.Insert | exp.Update | exp.Merge):
                inner = cte.this.copy()
                inner.set("returning", None)
                before = with_.copy()
                before.set("expressions", before.expressions[:at])
                inner.set("with_", before if at else None)
                part_of_cte = StatementLineage(part.line, part.text)
                with reading(part_of_cte.lineage):
                    parts += self._read(inner, part_of_cte)
                    continue
                parts.append(part_of_cte)
        return parts

    def _read_output(
        self,
        statement: Any,
        output: OutputClause,
        parts: Sequence[StatementLineage],
        part: StatementLineage,
    ) -> list[StatementLineage]:
        """Return the lineage of the OUTPUT … INTO of a statement. The rows that it names `inserted`
        and `deleted` are those of the table that the statement changes."""
        from sqlglot import exp

        changed = next((inner.target for inner in reversed(parts) if inner.target), None)
        if changed is None:
            (first, *_) = statement.args.get("tables") or [statement.this]
            target = _target_and_columns(first)[0]
            aliases = {table.alias.casefold(): table for table in statement.find_all(exp.Table)}
            changed = self.path_of(aliases.get(target.name.casefold(), target))
        query = parse_statement(f"select {output.expressions}", self.dialect)
        sources = [_table_of(changed, "inserted"), _table_of(changed, "deleted")]
        if isinstance(statement, exp.Merge):
            sources.append(statement.args["using"].copy())
        query = query.from_(sources[0])
        for source in sources[1:]:
            query = query.join(source, join_type="cross")
        insert = parse_statement(f"insert into {output.target} select 1", self.dialect)
        insert.set("expression", query)
        part_of_output = StatementLineage(part.line, part.text)
        with reading(part_of_output.lineage):
            return self._insert(insert, part_of_output)
        return [part_of_output]

    def _read(self, statement: Any, part: StatementLineage) -> list[StatementLineage]:
        from sqlglot import exp

        match statement:
            case exp.Use():
                self._use(statement)
            case exp.Declare():
                self._declare(statement)
            case exp.Drop(kind="TABLE" | "VIEW"):
                for table in statement.args.get("tables") or [statement.this]:
                    path = self._find(table_path(table))
                    if path is not None:
                        self._note((path, None, path in self.tables))
            case exp.Create():
                return self._create(statement, part)
            case exp.Insert():
                return self._insert(statement, part)
            case exp.MultitableInserts():
                return self._insert_all(statement, part)
            case exp.Update():
                return self._write(part, *_Update(self).read(statement))
            case exp.Merge():
                return self._write(part, *_Merge(self).read(statement))
            case exp.Alter():
                return self._rename(statement, part)
            case exp.Copy(this=exp.Query() as query):
                return self._query(query, part)
            case exp.Query() | exp.Pivot():
                return self._query(statement, part)
            case exp.Execute():
                raise NotUnderstood("the procedure that it calls is not analysed")
            case exp.Command() if statement.name.upper() not in _SILENT:
                raise NotUnderstood(f"{statement.name.upper()} is not analysed")
        return []

    def _declare(self, statement: Any) -> None:
        from sqlglot import exp

        self.references = None
        for item in statement.expressions:
            variables = item.this if isinstance(item.this, list) else [item.this]
            names = [variable.name for variable in variables]
            self.variables.update(name.casefold() for name in names)
            kind = item.args.get("kind")
            if isinstance(kind, exp.Schema):
                columns = [column.name for column in kind.expressions if column.name]
                for name in names:
                    self._add((f"@{name}",), columns, is_own=True)

    def _names(self, statement: Any) -> tuple[tuple[Path, ...], Resolved] | None:
        from sqlglot import exp

        if isinstance(statement, exp.Alter | exp.Declare):
            # A rename also looks up names that are not in the statement; variables are no tables.
            return None
        paths = [table_path(table) for table in statement.find_all(exp.Table)]
        names = dict.fromkeys(paths)
        return tuple(names), self.resolve(tuple(names))

    def resolve(self, names: Sequence[Path]) -> Resolved:
        """Return the tables that names refer to: for each name the path, whether the table is
        temporary, and its columns if a statement created it."""
        resolutions = []
        for name in names:
            path = self._find(name)
            is_made = path is not None and self.is_made(path)
            columns = tuple(self.columns(path)) if path is not None and is_made else None
            resolutions.append((path, path in self.tables if path else False, columns))
        return tuple(resolutions)

    def repeat(self, near: Path, changes: Sequence[Change]) -> None:
        """Apply the effects of a statement that was read before with names that referred to the
        same tables: set the container in use after it, and apply its changes."""
        self.near = near
        for change in changes:
            self._change(change)

    def _note(self, change: Change) -> None:
        """Record the creation or drop of a table and apply it. A change has the path, the columns,
        and whether the table is temporary."""
        self.changes.append(change)
        self._change(change)

    def _change(self, change: Change) -> None:
        path, columns, is_own = change
        if columns is None:
            (self.tables if is_own else self.script_tables).remove(path)
        elif is_own:
            self.tables.add(path, columns)
        elif path in self.script_tables or not self.columns(path):
            # For a table of the catalog, the catalog's columns take precedence.
            self.script_tables.add(path, columns)

    def _use(self, statement: Any) -> None:
        kind, path = (statement.text("kind") or "").upper(), table_path(statement.this)
        if kind in ("WAREHOUSE", "ROLE", "SECONDARY ROLES"):
            return
        default = _DEFAULT_SCHEMAS.get(self.dialect)
        is_schema = kind == "SCHEMA" or (kind != "CATALOG" and self.dialect in _USING_SCHEMAS)
        if is_schema and len(path) == 1:
            # The schema is in the current database; an empty name stands for an unknown one.
            self.near = (*(self.near[:1] or ("",)), *path)
        elif default and len(path) == 1:
            self.near = (*path, default)
        else:
            self.near = path

    def _query(self, query: Any, part: StatementLineage) -> list[StatementLineage]:
        from sqlglot import exp

        first = query
        while isinstance(first, exp.SetOperation | exp.Subquery):
            first = first.this
        if isinstance(first, exp.Select) and (into := first.args.get("into")) is not None:
            first.set("into", None)
            is_table = isinstance(into.this, exp.Table) and self.dialect in _INTO_TABLES
            if is_table and into.this.name.casefold() not in self.variables:
                is_own = bool(into.args.get("temporary"))
                return self._make(into.this, [], query, part, is_own=is_own)
        self.trace(query_of(query), part.lineage)
        part.target_columns = part.lineage.names
        return [part]

    def _write_result(
        self, query: Any, destination: Path, part: StatementLineage
    ) -> list[StatementLineage]:
        """Read a query whose result the database wrote to a table that the query does not name."""
        self.references = None
        self.trace(query_of(query), part.lineage)
        part.target = self._find(destination) or destination
        names = {name.casefold(): name for name in self.columns(part.target)}
        part.target_columns = [names.get(name, name) for name in part.lineage.names]
        self._add(part.target, part.target_columns, is_own=False)
        return [_without_itself(part)]

    def trace(self, query: Any, lineage: QueryLineage) -> None:
        """Add the tables and columns that a query reads to a lineage."""
        trace_query(query, self.dialect, self.tables, self.near, lineage, self.variables)

    def _find(self, name: Path) -> Path | None:
        return find_table(self.tables, name, self.near, self.dialect)

    def path_of(self, table: Any) -> Path:
        """Return the path in the catalog or the script of a table that is written, or the path in
        the statement if neither has the table."""
        return self._find(table_path(table)) or table_path(table)

    def columns(self, path: Path) -> Sequence[str]:
        """Return the columns of a table, empty if they are not known."""
        return self.tables.columns(path)

    def _create(self, statement: Any, part: StatementLineage) -> list[StatementLineage]:
        from sqlglot import exp

        if statement.kind not in ("TABLE", "VIEW"):
            return []
        target, columns = _target_and_columns(statement.this)
        if not isinstance(target, exp.Table):
            return []
        properties = statement.args.get("properties")
        is_own = bool(properties and properties.find(exp.TemporaryProperty))
        parts = [statement.this, *([properties] if properties else [])]
        like = next(
            (property_ for node in parts for property_ in node.find_all(exp.LikeProperty)), None
        )
        clone = statement.args.get("clone")
        if clone is not None:
            query = exp.select("*").from_(clone.this.copy())
            return self._make(target, columns, query, part, is_own=is_own)
        if statement.expression is None or isinstance(statement.expression, exp.Schema):
            path = table_path(target) if is_own else self.path_of(target)
            if like is not None:
                columns = list(self.columns(self.path_of(like.this)))
            self._add(path, columns, is_own=is_own)
            return []
        if not isinstance(statement.expression, exp.Query):
            raise NotUnderstood(f"it is a {type(statement.expression).__name__}, not a query")
        query = query_of(statement)
        part.is_view = statement.kind == "VIEW"
        parts = self._make(target, columns, query, part, is_own=is_own)
        to = properties.find(exp.ToTableProperty) if properties else None
        if to is not None:
            # ClickHouse writes what a materialized view selects to another table, by name.
            path = self.path_of(to.this)
            names = {name.casefold(): name for name in self.columns(path)}
            written = [names.get(name.casefold(), name) for name in part.target_columns]
            parts.append(
                replace(part, target=path, target_columns=written, is_view=False, is_new=False)
            )
        return parts

    def _make(
        self,
        target: Any,
        columns: list[str],
        query: Any,
        part: StatementLineage,
        *,
        is_own: bool,
    ) -> list[StatementLineage]:
        """Read a query that creates the table `target`. With `is_own`, the table is temporary: it
        belongs to the session and is not a table of the catalog."""
        names = [select.alias_or_name for select in query_of(query).selects]
        part.target = path = table_path(target) if is_own else self.path_of(target)
        lineage, part.is_new = part.lineage, True
        self.trace(query, lineage)
        if columns:
            lineage.fit(len(columns))
        else:
            mark_duplicates(lineage)
            # Tracing folds names to lower case; restore the case in the statement.
            folded = {name.casefold(): name for name in names}
            columns = [folded.get(name, name) for name in lineage.names]
        names_by_key = {name.casefold(): name for name in self.columns(path)} if not is_own else {}
        part.target_columns = [names_by_key.get(name.casefold(), name) for name in columns]
        self._add(path, [name for name in columns if name != "*"], is_own=is_own)
        return [_without_itself(part)]

    def _add(self, path: Path, columns: Sequence[str], *, is_own: bool) -> None:
        self._note((path, tuple(columns), is_own))

    def _insert(self, statement: Any, part: StatementLineage) -> list[StatementLineage]:
        from sqlglot import exp

        target, column_names = _target_and_columns(statement.this)
        query = statement.expression
        if isinstance(query, exp.Values) and query.find(exp.Query):
            if len(query.expressions) != 1:
                raise NotUnderstood("several of its rows are read from tables")
            query = exp.select(*query.expressions[0].expressions)
            statement.set("expression", query)
        if query is None or isinstance(query, exp.Values) or query.find(exp.Values) is query:
            return []
        query = query_of(statement)
        if not isinstance(target, exp.Table):
            return self._query(query, part)
        part.target = path = self.path_of(target)
        self.trace(query, part.lineage)
        if statement.args.get("by_name"):
            column_names = part.lineage.names
        columns = self._target_columns(target, path, column_names, part.lineage.names)
        if columns is not part.lineage.names:
            part.lineage.fit(len(columns))
        sources = dict(zip(columns, part.lineage.columns, strict=True))
        for column, more in self._on_conflict(statement, target, sources):
            sources[column] = tuple(sorted({*sources.get(column, ()), *more}))
        part.target_columns, part.lineage.columns = list(sources), list(sources.values())
        return [_without_itself(part)]

    def _target_columns(
        self, target: Any, path: Path, names: Sequence[str], otherwise: Sequence[str]
    ) -> Sequence[str]:
        """Return the columns that an `INSERT` writes, in the order of the columns of its query."""
        from sqlglot import exp

        table_columns = self.columns(path)
        columns = self.spell_as_table(path, names) if names else list(table_columns or otherwise)
        partition = target.args.get("partition")
        if partition is not None and not names and table_columns:
            # Partition columns without a value come last in the query; those with one are not in
            # it.
            keys = [key.this if isinstance(key, exp.EQ) else key for key in partition.expressions]
            fixed = {
                key.this.name.casefold()
                for key in partition.expressions
                if key.this and isinstance(key, exp.EQ)
            }
            folded = [key.name.casefold() for key in keys]
            rest = [column for column in columns if column.casefold() not in folded]
            by_name = {column.casefold(): column for column in columns}
            columns = rest + [by_name.get(key, key) for key in folded if key not in fixed]
        return columns

    def spell_as_table(self, path: Path, names: Sequence[str]) -> list[str]:
        """Return column names in the case in which the table has them. Raises `NotUnderstood` if
        the table is known and lacks one."""
        names_by_key = {name.casefold(): name for name in self.columns(path)}
        for name in names:
            if names_by_key and name.casefold() not in names_by_key:
                raise NotUnderstood(f"{'.'.join(path)} has no column {name}")
        return [names_by_key.get(name.casefold(), name) for name in names]

    def _on_conflict(
        self, statement: Any, target: Any, sources: Mapping[str, Sources]
    ) -> Iterator[tuple[str, Sources]]:
        """Yield the columns that an `INSERT` updates if the row already exists, each with its
        source columns."""
        from sqlglot import exp

        conflict = statement.args.get("conflict")
        folded = {name.casefold(): source for name, source in sources.items()}
        own = {"", (target.alias or target.name).casefold(), target.name.casefold()}
        for assignment in (conflict and conflict.expressions) or ():
            if not isinstance(assignment, exp.EQ) or assignment.find(exp.Query):
                raise NotUnderstood("its update of existing rows is not understood")
            origins: set[tuple[Path, str]] = set()
            for call in assignment.expression.find_all(exp.Anonymous):
                if call.name.upper() == "VALUES":
                    origins |= set(folded.get(call.expressions[0].name.casefold(), ()))
            for column in assignment.expression.find_all(exp.Column):
                if column.table.casefold() in ("excluded", "new"):
                    origins |= set(folded.get(column.name.casefold(), ()))
                elif column.table.casefold() not in own:
                    raise NotUnderstood("its update of existing rows is not understood")
            (name,) = self.spell_as_table(self.path_of(target), [assignment.this.name])
            yield name, tuple(origins)

    def _insert_all(self, statement: Any, part: StatementLineage) -> list[StatementLineage]:
        """Read an `INSERT ALL` or a `FROM … INSERT … INSERT …`, one item for each `INSERT`."""
        from sqlglot import exp

        source = statement.args["source"]
        if isinstance(source, exp.Query) and not isinstance(source, exp.Subquery):
            source = exp.Subquery(this=source, alias=exp.TableAlias(this=exp.to_identifier("s")))
        inserts = []
        for expression in statement.expressions:
            insert = (
                expression.this if isinstance(expression, exp.ConditionalInsert) else expression
            )
            query, values = exp.select("*"), insert.expression
            if isinstance(values, exp.Values):
                query = exp.select(*values.expressions[0].expressions)
            elif isinstance(values, exp.Select):
                query = values
            ctes = statement.args.get("with_")
            with_ctes(query, ctes and ctes.copy())
            insert.set("expression", query.from_(source.copy()))
            part_of_insert = StatementLineage(part.line, part.text)
            with reading(part_of_insert.lineage):
                self._insert(insert, part_of_insert)
            inserts.append(_without_itself(part_of_insert))
        return inserts

    def _rename(self, statement: Any, part: StatementLineage) -> list[StatementLineage]:
        """Read an `ALTER TABLE` that renames or swaps a table which a statement created. The
        lineage of the table with the new name leads to it, column by column."""
        from sqlglot import exp

        if not isinstance(statement.this, exp.Table):
            return []
        source = self.path_of(statement.this)
        for action in statement.args.get("actions") or ():
            if isinstance(action, exp.AlterRename | exp.SwapTable) and self.is_made(source):
                new_name = table_path(action.this)
                path = self._find(new_name)
                if path is None and len(new_name) == 1:
                    path = (*source[:-1], *new_name)
                part.target = path or new_name
                columns = list(self.columns(source))
                names_by_key = {name.casefold(): name for name in self.columns(part.target)}
                part.target_columns = [
                    names_by_key.get(column.casefold(), column) for column in columns
                ]
                part.is_new = True
                part.lineage.tables = [source]
                part.lineage.columns = [((source, name),) for name in columns]
                self._add(part.target, columns, is_own=False)
                return [part]
        return []

    def _write(
        self, part: StatementLineage, target: Path, reads: Sequence[tuple[Any, Sequence[str]]]
    ) -> list[StatementLineage]:
        """Set the lineage of a statement that writes the results of several queries to `target`.
        `reads` has each query with the columns that its result columns are written to."""
        part.target = target
        sources_by_column: dict[str, dict[tuple[Path, str], None]] = {}
        gaps_by_column: dict[str, dict[str, None]] = {}
        for query, columns in reads:
            lineage = QueryLineage()
            self.trace(query, lineage)
            part.lineage.tables = list(dict.fromkeys((*part.lineage.tables, *lineage.tables)))
            part.lineage.notes = list(dict.fromkeys((*part.lineage.notes, *lineage.notes)))
            for path, used in lineage.used.items():
                part.lineage.used.setdefault(path, {}).update(used)
            for at, (column, sources) in enumerate(zip(columns, lineage.columns, strict=False)):
                sources_by_column.setdefault(column, {}).update(dict.fromkeys(sources))
                if at in lineage.gaps:
                    gaps_by_column.setdefault(column, {})[lineage.gaps[at]] = None
        part.target_columns = list(sources_by_column)
        part.lineage.columns = [tuple(sorted(sources)) for sources in sources_by_column.values()]
        part.lineage.gaps = {
            part.target_columns.index(column): "; ".join(gaps)
            for column, gaps in gaps_by_column.items()
        }
        return [_without_itself(part)]


def _parse(text: str, dialect: str) -> Any:
    """Return a parsed statement. Where sqlglot does not parse a `CREATE` because of phrases that it
    does not know, these are removed; `REPLACE` is parsed as `INSERT`."""
    from sqlglot import exp
    from sqlglot.dialects.dialect import Dialect

    statement = parse_statement(text, dialect)
    if isinstance(statement, exp.Command) and statement.name.upper() == "REPLACE":
        return _parse(f"INSERT {statement.text('expression')}", dialect)
    if isinstance(statement, exp.Command) and statement.name.upper() == "CREATE":
        tokens = list(Dialect.get_or_raise(dialect).tokenize(text))
        words = [token.text.upper() for token in tokens]
        for phrase in _UNREAD:
            for at in range(len(words) - len(phrase) + 1):
                if words[at : at + len(phrase)] == phrase:
                    start, end = tokens[at].start, tokens[at + len(phrase) - 1].end + 1
                    return _parse(text[:start] + text[end:], dialect)
    return statement


def _table_of(path: Path, alias: str) -> Any:
    """Return an sqlglot table with the last three names of a path, the most that it can have."""
    from sqlglot import exp

    names = [exp.to_identifier(name, quoted=True) for name in path[-3:]]
    parts = dict(zip(("this", "db", "catalog"), reversed(names), strict=False))
    return exp.Table(**parts, alias=exp.TableAlias(this=exp.to_identifier(alias)))


def _without_itself(part: StatementLineage) -> StatementLineage:
    """Remove a table from its own sources in a statement, and return the statement."""
    lineage = part.lineage
    lineage.tables = [path for path in lineage.tables if path != part.target]
    lineage.columns = [
        tuple(source for source in sources if source[0] != part.target)
        for sources in lineage.columns
    ]
    return part


def _target_and_columns(target: Any) -> tuple[Any, list[str]]:
    """Return the table that a statement writes, and the columns that it lists, if any."""
    from sqlglot import exp

    if not isinstance(target, exp.Schema):
        return target, []
    kinds = exp.Identifier | exp.ColumnDef | exp.Column
    return target.this, [
        expression.name for expression in target.expressions if isinstance(expression, kinds)
    ]


@dataclass(frozen=True, slots=True)
class _Assignments:
    """Converts assignments to a query whose result columns are the assigned values, so that they
    can be traced."""

    session: DatabaseSession

    def pairs(self, expressions: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
        """Yield the column and the value of each assignment; `(a, b) = (…)` yields one pair per
        column. Raises `NotUnderstood` for other forms."""
        from sqlglot import exp

        for expression in expressions:
            if not isinstance(expression, exp.EQ):
                raise NotUnderstood(
                    f"it assigns {open_expression(expression)}, which is not understood"
                )
            if isinstance(expression.this, exp.Column):
                yield expression.this, expression.expression
                continue
            columns, value = expression.this.expressions, expression.expression
            if isinstance(value, exp.Tuple):
                yield from zip(columns, value.expressions, strict=True)
            elif isinstance(value, exp.Subquery) and len(value.this.selects) == len(columns):
                for number, column in enumerate(columns):
                    single = value.copy()
                    single.this.set("expressions", [single.this.selects[number]])
                    yield column, single
            else:
                raise NotUnderstood(
                    f"it assigns {open_expression(expression)}, which is not understood"
                )

    def query(
        self, values: Sequence[Any], sources: Sequence[Any], conditions: Sequence[Any], ctes: Any
    ) -> Any:
        """Return a query that selects `values` from the cross join of `sources`, filtered by the
        conditions that are not `None`, so that the tables in these count as read."""
        from sqlglot import exp

        names = (exp.alias_(value.copy(), f"v{at}") for at, value in enumerate(values))
        query = exp.select(*names) if values else exp.select("1")
        if sources:
            query = query.from_(sources[0].copy())
        for source in sources[1:]:
            query = query.join(source.copy(), join_type="cross")
        for source in conditions:
            if source is not None:
                query = query.where(source.copy())
        with_ctes(query, ctes and ctes.copy())
        return query_of(query)


@dataclass(frozen=True, slots=True)
class _Update(_Assignments):
    """A reader of `UPDATE`."""

    def read(self, statement: Any) -> tuple[Path, list[tuple[Any, Sequence[str]]]]:
        """Return the updated table, and the query of the assigned values with the columns they are
        assigned to."""
        from sqlglot import exp

        target, ctes = statement.this, statement.args.get("with_")
        if not isinstance(target, exp.Table):
            raise NotUnderstood(f"it updates {open_expression(target)}, which is not a table")
        start = statement.args.get("from_")
        sources = [start.this] if start else []
        sources_by_name = {
            source.alias_or_name.casefold(): source for source in _walk_sources([target, *sources])
        }
        target_name = target.alias_or_name.casefold()
        if any(source.alias_or_name.casefold() == target_name for source in _walk_sources(sources)):
            # In SQL Server, the target may be the alias of a table in `FROM`.
            sources_by_name[target_name] = next(
                source
                for source in _walk_sources(sources)
                if source.alias_or_name.casefold() == target_name
            )
        else:
            sources = [target, *sources]
        pairs = list(self.pairs(statement.expressions))
        owners = {column.table.casefold() for column, _ in pairs if column.table}
        if len(owners) > 1:
            raise NotUnderstood("it updates several tables")
        is_joined = bool(target.args.get("joins"))
        if owners and is_joined:
            target_name = owners.pop()
        elif is_joined:
            raise NotUnderstood("the assigned columns do not say which table they belong to")
        table = sources_by_name.get(target_name)
        if not isinstance(table, exp.Table):
            raise NotUnderstood(f"it updates {target_name}, which is not a table")
        names = [column.name for column, _ in pairs]
        cte_names = {cte.alias.casefold() for cte in (ctes.expressions if ctes else ())}
        if len(table.parts) == 1 and table.name.casefold() in cte_names:
            path, names = self._updated_table(table.name, names, ctes)
        else:
            path = self.session.path_of(table)
        columns = self.session.spell_as_table(path, names)
        where = statement.args.get("where")
        values = [value for _, value in pairs]
        query = self.query(values, sources, [where and where.this], ctes)
        return path, [(query, columns)]

    def _updated_table(
        self, name: str, columns: Sequence[str], ctes: Any
    ) -> tuple[Path, list[str]]:
        """Return the table that a WITH part selects from, and its columns under the names of that
        part. Raises `NotUnderstood` if they are not columns of one table."""
        from sqlglot import exp

        query = exp.select(*(exp.column(column, quoted=True) for column in columns))
        query = query.from_(exp.to_identifier(name))
        with_ctes(query, ctes.copy())
        lineage = QueryLineage()
        self.session.trace(query, lineage)
        sources = [source for made_from in lineage.columns for source in made_from]
        paths = {path for path, _ in sources}
        if len(sources) != len(columns) or len(paths) != 1 or lineage.gaps:
            raise NotUnderstood(f"it updates {name}, whose columns are not those of one table")
        return paths.pop(), [column for _, column in sources]


def _walk_sources(sources: Sequence[Any]) -> Iterator[Any]:
    """Yield the sources of a `FROM` clause, each followed by the sources joined to it."""
    for source in sources:
        yield source
        for join in source.args.get("joins") or ():
            yield join.this


@dataclass(frozen=True, slots=True)
class _Merge(_Assignments):
    """A reader of `MERGE`."""

    def read(self, statement: Any) -> tuple[Path, list[tuple[Any, Sequence[str]]]]:
        """Return the table that is merged into, and queries of assigned values with the columns
        they are assigned to. An insert reads the merged source alone, an update both tables, and an
        update of rows that are not in the source the target alone."""
        from sqlglot import exp

        target, using, ctes = statement.this, statement.args["using"], statement.args.get("with_")
        if not isinstance(target, exp.Table):
            raise NotUnderstood(f"it merges into {open_expression(target)}, which is not a table")
        path = self.session.path_of(target)
        on = statement.args.get("on")
        reads: list[tuple[Any, Sequence[str]]]
        reads = [(self.query([], [target, using], [on], ctes), [])]
        for when in statement.args["whens"].expressions:
            then, condition = when.args["then"], when.args.get("condition")
            by_source = bool(when.args.get("source"))
            if isinstance(then, exp.Update):
                if any(isinstance(expression, exp.Star) for expression in then.expressions):
                    reads.append(self._all(path, using, ctes))
                    continue
                pairs = list(self.pairs(then.expressions))
                columns = self.session.spell_as_table(path, [column.name for column, _ in pairs])
                values = [value for _, value in pairs]
                sources = [target] if by_source else [target, using]
            elif isinstance(then, exp.Insert):
                if isinstance(then.this, exp.Star | exp.Var) or then.this is None:
                    reads.append(self._insert_all(path, then, using, ctes))
                    continue
                columns = self.session.spell_as_table(
                    path, [expression.name for expression in then.this.expressions]
                )
                values, sources = list(then.expression.expressions), [using]
                if len(columns) != len(values):
                    raise NotUnderstood("it inserts more or fewer values than columns")
            else:
                continue
            reads.append((self.query(values, sources, [condition], ctes), columns))
        return path, reads

    def _insert_all(
        self, path: Path, then: Any, using: Any, ctes: Any
    ) -> tuple[Any, Sequence[str]]:
        """Return the query and the columns of an `INSERT` without a list of columns. `*` matches
        the source's columns by name; `ROW` and values are matched by their position in the
        table."""
        from sqlglot import exp

        if isinstance(then.this, exp.Star):
            return self._all(path, using, ctes)
        columns = list(self.session.columns(path))
        values = then.expression.expressions if then.expression else [exp.Star()]
        if then.expression:
            if len(values) != len(columns):
                raise NotUnderstood("it inserts more or fewer values than the table has columns")
            return self.query(values, [using], [], ctes), columns
        query = self._star(using, ctes)
        if len(self._names(query)) != len(columns):
            raise NotUnderstood("it inserts more or fewer values than the table has columns")
        return query, columns

    def _all(self, path: Path, using: Any, ctes: Any) -> tuple[Any, Sequence[str]]:
        query = self._star(using, ctes)
        return query, self.session.spell_as_table(path, self._names(query))

    def _star(self, using: Any, ctes: Any) -> Any:
        from sqlglot import exp

        query = exp.select("*").from_(using.copy())
        with_ctes(query, ctes and ctes.copy())
        return query_of(query)

    def _names(self, query: Any) -> list[str]:
        lineage = QueryLineage()
        self.session.trace(query.copy(), lineage)
        return lineage.names
