"""Trace the result columns of SQL queries to the columns of tables, with sqlglot.

Nothing is guessed: a result column is traced to existing columns, or reported with the reason why
it cannot be. The tables that a statement certainly reads are returned in any case.
"""

import logging
import re
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

from explorer.errors import InvalidInput, MissingExtra
from explorer.sources.column_tracer import (
    ColumnTrace,
    ColumnTracer,
    NamedTable,
    ResultColumn,
    SourceColumn,
    fit,
)
from explorer.sources.source import ColumnSources, DatasetWriter, SkippedPart, TableDefinition

Path = tuple[str, ...]
"""The names of a table, from the outermost container to its own."""

# sqlglot's dialects by the names that SQLAlchemy and dbt use for databases.
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
# How many results of `KnownTables.find` are cached.
_MOST_FOUND: Final = 100_000
_log = logging.getLogger("sqlglot")

LITERALS: Final = frozenset(
    (
        *("NUMBER", "STRING", "RAW_STRING", "NATIONAL_STRING", "HEX_STRING", "BIT_STRING"),
        *("BYTE_STRING", "HEREDOC_STRING", "UNICODE_STRING"),
    )
)
"""sqlglot's types of tokens that are literals."""

_COMPARISONS: Final = frozenset(
    (
        *("EQ", "NEQ", "NULLSAFE_EQ", "LT", "LTE", "GT", "GTE", "LIKE", "ILIKE", "RLIKE", "GLOB"),
        *("SIMILAR_TO", "IRLIKE", "BETWEEN"),
    )
)
# Statements of which more than two words are shown; others may contain an unquoted password.
_OPEN: Final = re.compile(
    r"\s*(?:select|with|insert|update|delete|merge|from|values|\(|(?:create|alter|drop)"
    r"(?:\s+(?:or|replace|temp|temporary|transient|external|volatile|materialized|recursive))*"
    r"\s+(?:table|view))\b",
    re.IGNORECASE,
)
_TWO_WORDS: Final = re.compile(r"\s*([^\W\d]\w*)(?:\s+([^\W\d]\w*))?")
_SHOWN: Final = 60
# The largest number of columns that are named even if none is traced.
_FEW: Final = 5


class KnownTables:
    """The tables that queries may read, by path, with their columns. Names are matched without
    regard to case. A table that is not among them is looked up in `below`."""

    def __init__(
        self, tables: Iterable[tuple[Path, Sequence[str]]] = (), below: "KnownTables | None" = None
    ) -> None:
        self._below = below
        self._columns: dict[Path, Sequence[str]] = {}
        self._fields: dict[Path, Sequence[str]] = {}
        self._by_end: dict[Path, list[Path]] = {}
        self._resolutions: dict[tuple[Path, Path], tuple[Path | None, bool]] = {}
        for path, columns in tables:
            self.add(path, columns)

    def add(self, path: Path, columns: Sequence[str], fields: Sequence[str] = ()) -> None:
        """Add a table, or replace its columns if it is already known. `fields` are the fields of
        structs, as `column.field`."""
        if path not in self._columns:
            self._resolutions.clear()
            folded = tuple(part.casefold() for part in path)
            for start in range(len(folded)):
                self._by_end.setdefault(folded[start:], []).append(path)
        if self._columns.get(path) != columns:
            self._columns[path] = columns
        self._fields[path] = fields

    def fields(self, path: Path) -> Sequence[str]:
        """Return the known fields of structs in a table, as `column.field`."""
        if path in self._columns or self._below is None:
            return self._fields.get(path, ())
        return self._below.fields(path)

    def columns(self, path: Path) -> Sequence[str]:
        """Return the columns of a table, empty if it or its columns are not known. Other tables are
        looked up in `below`."""
        if path in self._columns or self._below is None:
            return self._columns.get(path, ())
        return self._below.columns(path)

    def remove(self, path: Path) -> None:
        """Remove a table, if it is known; tables in `below` are kept."""
        if self._columns.pop(path, None) is not None:
            self._resolutions.clear()
            folded = tuple(part.casefold() for part in path)
            for start in range(len(folded)):
                same = self._by_end[folded[start:]]
                same.remove(path)
                if not same:
                    del self._by_end[folded[start:]]

    def __contains__(self, path: Path) -> bool:
        """Return whether a table is known, not counting those in `below`."""
        return path in self._columns

    def find(self, table_name: Path, near: Path) -> Path | None:
        """Return the path of the table that a query names, or `None` if there is no such table or
        the name is ambiguous.

        `near` is the container in use. If it is given, only tables in it or in a default schema
        beside it match; an empty part of it is unknown. Of several matches the nearest is returned.
        """
        if self._columns:
            if len(self._resolutions) > _MOST_FOUND:
                self._resolutions.clear()
            if (table_name, near) not in self._resolutions:
                self._resolutions[table_name, near] = self._find_here(table_name, near)
            path, is_here = self._resolutions[table_name, near]
            if is_here:
                return path
        return self._below.find(table_name, near) if self._below is not None else None

    def match(self, table_name: Path, near: Path) -> list[Path]:
        """Return the paths of the tables that match a name which ends with `*`, in order by name.
        Cost: looks at every table."""
        start = table_name[-1].casefold().removesuffix("*")
        names = {path[-1] for path in self._columns if path[-1].casefold().startswith(start)}
        found = (self.find((*table_name[:-1], name), near) for name in sorted(names))
        paths = [path for path in found if path is not None]
        return paths or (self._below.match(table_name, near) if self._below is not None else [])

    def _find_here(self, table_name: Path, near: Path) -> tuple[Path | None, bool]:
        """Return the table among these that a query names, and whether any of these matches the
        name. The table is `None` if several match equally."""
        folded = tuple(part.casefold() for part in table_name)
        paths = self._by_end.get(folded, [])
        if any(near):
            place = tuple(part.casefold() for part in near)
            steps = [(path, _steps(path, len(table_name), place)) for path in paths]
            least = min((count for _, count in steps if count is not None), default=None)
            paths = [path for path, count in steps if count is not None and count == least]
        if len(paths) > 1:
            # A name that matches exactly is preferred to one that differs in case.
            paths = [path for path in paths if path[-len(table_name) :] == table_name] or paths
        if len(paths) < 2:
            return (paths[0], True) if paths else (None, False)
        beside = [(*outer, name) for outer in (near[:-1], near) for name in _DEFAULT_SCHEMAS]
        for at in (near, *beside):
            same = [
                path for path in paths if path == (*at[: len(path) - len(table_name)], *table_name)
            ]
            folded = tuple(part.casefold() for part in at)
            same = same or [
                path
                for path in paths
                if len(path) - len(table_name) <= len(at)
                and _is_in(tuple(part.casefold() for part in path[: -len(table_name)]), folded)
            ]
            if len(same) == 1:
                return same[0], True
        return None, True


# Dialects in which a database has tables, and no schemas.
_WITHOUT_SCHEMAS: Final = frozenset(("clickhouse", "doris", "mysql", "singlestore", "starrocks"))
# The name of one of BigQuery's daily tables, or of all; they may be one table in the catalog.
SHARD: Final = re.compile(r"(.+?)_?(?:\*|\d{8})")


def find_table(tables: KnownTables, name: Path, near: Path, dialect: str) -> Path | None:
    """Return the path of the table that a statement of a dialect names; see `KnownTables.find`."""
    if dialect == "sqlite" and len(name) > 1 and name[0].casefold() == "main":
        name = name[1:]
    if dialect in _WITHOUT_SCHEMAS and len(name) > 1:
        # The name says in which database the table is.
        near = ()
    path = tables.find(name, near)
    if path is None and dialect == "bigquery" and (shard := SHARD.fullmatch(name[-1])):
        for base in (shard[1], f"{shard[1]}_", f"{shard[1]}_*"):
            path = path or tables.find((*name[:-1], base), near)
    return path


def _steps(path: Path, name_length: int, near: Path) -> int | None:
    """Return how many names of a path precede the names in `near`, such as a platform instance or
    an omitted database; `None` if the table is not in `near`. `name_length` is the number of
    trailing parts that the query names."""
    container = tuple(part.casefold() for part in path[:-name_length])
    depth = len(path) - 1
    if not container:
        return 0
    if len(near) > depth:
        # A table that a script created may lack the outer names, and some platforms have no
        # schemas.
        return 0 if any(_is_in(container, part) for part in (near[:depth], near[-depth:])) else None
    for step in range(depth - len(near) + 1):
        places = [near]
        if step + len(near) == depth and (step == 0 or len(near) > 1):
            places += [(*near[:-1], name) for name in _DEFAULT_SCHEMAS]
        if step < len(container) and any(_is_in(container[step:], place) for place in places):
            return step
    return None


def _is_in(container: Path, near: Path) -> bool:
    return all(
        not near_part or near_part == part for part, near_part in zip(container, near, strict=False)
    )


@dataclass(slots=True)
class QueryLineage:
    """The tables and columns that a query reads.

    `tables` are the tables. `columns` has, for each column of the result by position, the columns
    of tables that it is made from, and `names` the names of these result columns, in lower case;
    `*` stands for any number of columns that are not known. `gaps` has, by position, the reason why
    a column is not traced, or not completely, and `notes` other things that are not understood.
    `used` has, by table, the columns that occur anywhere in the query. `problem` is the reason if
    nothing of the query was understood; `columns` and `names` are then empty.
    """

    tables: list[Path] = field(default_factory=list)
    columns: list[tuple[SourceColumn, ...]] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    problem: str | None = None
    used: dict[Path, dict[str, None]] = field(default_factory=dict)
    gaps: dict[int, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, column: ResultColumn) -> None:
        """Add a result column."""
        if column.trace.reasons:
            self.gaps[len(self.columns)] = "; ".join(column.trace.reasons)
        elif column.is_open:
            self.gaps[len(self.columns)] = "its * selects columns whose names are not known"
        self.columns.append(() if column.is_open else tuple(sorted(column.trace.sources)))
        self.names.append(column.name)

    def fit(self, width: int) -> None:
        """Replace each `*` with as many columns as are missing, so that there are `width`. Raises
        `NotUnderstood` if the query has another number of columns."""
        columns = fit(
            [
                ResultColumn(
                    name,
                    ColumnTrace(frozenset(sources), (self.gaps[at],) if at in self.gaps else ()),
                    name == "*",
                )
                for at, (name, sources) in enumerate(zip(self.names, self.columns, strict=True))
            ],
            width,
        )
        if len(columns) != width:
            raise NotUnderstood(f"the query has {len(columns)} columns where {width} are expected")
        self.columns, self.names, self.gaps = [], [], {}
        for column in columns:
            self.add(column)

    def describe_gaps(self, names: Sequence[str] | None = None) -> str | None:
        """Return which columns are not traced, or not completely, each with the reason, and other
        things that are not understood; `None` if there are none. `names` are the names of the
        columns if they differ from those in the query."""
        by_reason: dict[str, list[str]] = {}
        labels = self.names if names is None else names
        for at, reason in sorted(self.gaps.items()):
            by_reason.setdefault(reason, []).append(labels[at] if at < len(labels) else f"{at + 1}")
        notes = [note for note in self.notes if not any(note in reason for reason in by_reason)]
        parts = [
            f"all {len(columns):,} columns: {reason}"
            if len(columns) == len(labels) > _FEW
            else f"{', '.join(columns)}: {reason}"
            for reason, columns in by_reason.items()
        ]
        return "; ".join(dict.fromkeys((*parts, *notes))) or None


def read_lineage(
    sql: str, dialect: str, tables: KnownTables, near: Path, width: int | None = None
) -> QueryLineage:
    """Return the lineage of a query, or of the query in a `CREATE VIEW` or `CREATE TABLE`.

    `near` is the container in which tables without a schema are looked up. `width` is the number of
    columns of the result, if known; a query with another number is not understood. Raises
    `MissingExtra` without sqlglot, and `InvalidInput` for a dialect that sqlglot does not know.
    """
    require_sqlglot(dialect)
    lineage = QueryLineage()
    with reading(lineage):
        statement = parse_statement(sql, sql_dialect(dialect))
        query = query_of(statement)
        trace_query(query, sql_dialect(dialect), tables, near, lineage)
        if width is not None:
            lineage.fit(width)
        else:
            mark_duplicates(lineage)
    return lineage


def mark_duplicates(lineage: QueryLineage) -> None:
    """Report the columns of a created table that have the same name, and remove their sources."""
    counts = Counter(lineage.names)
    for at, name in enumerate(lineage.names):
        if counts[name] > 1 and name != "*":
            lineage.gaps[at] = "two of its columns have the same name"
            lineage.columns[at] = ()


@contextmanager
def reading(lineage: QueryLineage) -> Iterator[None]:
    """Record an error in the block as the `problem` of a lineage, and clear the columns and names
    of the lineage. Catches `NotUnderstood` and the errors that sqlglot raises."""
    from sqlglot.errors import SqlglotError

    level = _log.level
    # Its log messages are not needed: errors are reported as problems.
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
        lineage.columns, lineage.names, lineage.gaps = [], [], {}


def open_statement(sql: str, dialect: str) -> str | None:
    """Return a statement on one line, without comments, and with `?` in place of literals and of
    text in double quotes where a value is expected; `None` if it cannot be tokenised."""
    without_values = _without_values(sql, dialect)
    return None if without_values is None else without_values[0]


def _without_values(sql: str, dialect: str) -> tuple[str, list[str]] | None:
    """Return a statement in the form of `open_statement`, and the values that were in double
    quotes."""
    from sqlglot.dialects.dialect import Dialect
    from sqlglot.errors import SqlglotError

    try:
        tokens = list(Dialect.get_or_raise(dialect).tokenize(sql))
    except (SqlglotError, ValueError):
        return None
    parts, quoted = list[str](), list[str]()
    end, before, lists = 0, "", list[bool]()
    is_between = was_list = False
    for at, token in enumerate(tokens):
        kind, text = token.token_type.name, sql[token.start : token.end + 1]
        after = tokens[at + 1].token_type.name if at + 1 < len(tokens) else ""
        if kind in LITERALS:
            text = "?"
        elif kind == "IDENTIFIER" and text[0] == '"' and "DOT" not in (before, after):
            is_value = before in _COMPARISONS or (before == "AND" and is_between)
            is_listed = bool(lists) and lists[-1] and before in ("L_PAREN", "COMMA")
            looks_so = "@" in token.text or token.text[:1].isdigit()
            if is_value or is_listed or looks_so:
                quoted.append(token.text)
                text = "?"
        if kind == "L_PAREN":
            # The rows of VALUES are lists separated by commas.
            lists.append(before in ("IN", "VALUES") or (before == "COMMA" and was_list))
        elif kind == "R_PAREN" and lists:
            was_list = lists.pop()
        elif kind == "SELECT" and lists:
            lists[-1] = False
        is_between = kind == "BETWEEN" or (is_between and before != "AND")
        parts += (" ", text) if token.start > end and parts else (text,)
        end, before = token.end + 1, kind
    return "".join(parts).rstrip("; "), quoted


def hide_values(lineage: QueryLineage, sql: str, dialect: str) -> None:
    """Remove the values of a statement from the problem, gaps and names of its lineage.

    Values in double quotes, which the dialect takes for names of columns, are replaced with `?`.
    For a statement of which only two words may be shown, the part that quotes it is removed.
    """
    if lineage.problem is not None and not _OPEN.match(sql):
        lineage.problem = lineage.problem.partition(" near ")[0]
    if lineage.problem is None and not lineage.gaps:
        return
    _, values = _without_values(sql, dialect) or ("", [])

    def hide(text: str) -> str:
        for value in values:
            text = re.sub(re.escape(f"'{value}'"), "?", text, flags=re.IGNORECASE)
        return text

    lineage.problem = None if lineage.problem is None else hide(lineage.problem)
    lineage.gaps = {at: hide(reason) for at, reason in lineage.gaps.items()}
    folded = {value.casefold() for value in values}
    lineage.names = ["?" if name in folded else name for name in lineage.names]


def abbreviate_statement(sql: str, dialect: str) -> str:
    """Return the first 60 characters of a statement, with `?` in place of its literals.

    Only the first two words are returned if it is not a query, a change of data, or a `CREATE`,
    `ALTER` or `DROP` of a table or view, or if it cannot be tokenised.
    """
    if _OPEN.match(sql) and (text := open_statement(sql, dialect)) is not None:
        return text[:_SHOWN]
    words = _TWO_WORDS.match(sql)
    return f"{' '.join(word for word in words.groups() if word)} …" if words else "…"


def open_expression(expression: Any) -> str:
    """Return the first 60 characters of an sqlglot expression as SQL, with placeholders in place of
    its literals."""
    from sqlglot import exp

    kinds = exp.Literal | exp.National | exp.RawString | exp.HexString | exp.ByteString
    open_copy = expression.transform(
        lambda node: (
            exp.Placeholder()
            if isinstance(node, kinds | exp.UnicodeString | exp.Heredoc | exp.BitString)
            else node
        )
    )
    return str(open_copy.sql())[:_SHOWN]


class NotUnderstood(Exception):
    """The columns of a statement cannot be traced; the message is the reason."""


def sql_dialect(name: str) -> str:
    """Return sqlglot's name for the dialect of a database."""
    return _DIALECTS.get(name, name)


def require_sqlglot(dialect: str) -> None:
    """Raise `MissingExtra` if sqlglot is not installed, `InvalidInput` if it does not know the
    dialect."""
    try:
        import sqlglot
    except ModuleNotFoundError as error:
        if error.name != "sqlglot":
            raise
        raise MissingExtra("reading SQL needs sqlglot", "sources") from None
    dialect_name = sql_dialect(dialect)
    if dialect_name not in sqlglot.Dialects.__members__.values() and dialect_name not in (
        dialects.value for dialects in sqlglot.Dialects
    ):
        dialect_names = ", ".join(
            sorted(dialects.value for dialects in sqlglot.Dialects if dialects.value)
        )
        raise InvalidInput(f"sqlglot knows no SQL dialect {dialect!r}; known: {dialect_names}")


def _words(error: Exception) -> str:
    """Return the message of an error of sqlglot on one line, without literals and without the
    escape codes that highlight the position."""
    from sqlglot.errors import TokenError

    if isinstance(error, TokenError):
        # Its message contains the statement.
        return "it cannot be split into tokens: a quote or a comment in it may not be closed"
    errors = getattr(error, "errors", None)
    first = errors[0] if errors and isinstance(errors[0], dict) else {}
    if first.get("description"):
        near = str(first.get("highlight"))
        is_name = re.fullmatch(r'[^\W\d]\w*|"[^"@]*"|`[^`]*`|\W', near)
        token = repr(near) if is_name else "a literal"
        return f"line {first.get('line')}: {first['description']} near {token}"
    text = _LITERAL.sub("?", " ".join(str(error).split()))
    return text.rstrip(".") or type(error).__name__


# Does not match a quoted name in quotes, with which sqlglot reports a missing column.
_LITERAL: Final = re.compile(r"""(?<!Column )'(?!"[^"]*"(?:\."[^"]*")*')(?:[^']|'')*'|\b\d{4,}\b""")


_DEEPEST_NESTING: Final = 300
_LONGEST_EXPRESSION: Final = 1_000
"""The deepest nesting that is parsed, and the most tokens of an expression and those around it:
each of them may nest, as in `- - - 1`. Far beyond that the compiled parser overflows the stack,
which ends the process."""
_OPENING: Final = frozenset(("L_PAREN", "L_BRACKET", "L_BRACE", "CASE"))
_CLOSING: Final = frozenset(("R_PAREN", "R_BRACKET", "R_BRACE", "END"))
# Types of tokens that separate expressions, or that join any number of them.
_SEPARATING: Final = frozenset(("COMMA", "AND", "OR", "DPIPE", "WHEN", "SELECT", "ON", "SEMICOLON"))


def parse_statement(sql: str, dialect: str) -> Any:
    """Parse a text that has one statement. Raises `NotUnderstood` for none, for several, and for
    one that is nested too deeply, and the errors of sqlglot."""
    from sqlglot import exp
    from sqlglot.dialects.dialect import Dialect
    from sqlglot.errors import ParseError

    dialect_class = Dialect.get_or_raise(dialect)
    tokens = dialect_class.tokenize(sql)
    if _is_too_deep(tokens):
        raise NotUnderstood("it is nested too deeply")
    try:
        expressions = dialect_class.parser().parse(tokens, sql)
    except ParseError:
        plainer = _write_plainer(tokens, sql) if dialect in _LIKE_POSTGRES else sql
        if plainer == sql:
            raise
        expressions = dialect_class.parser().parse(dialect_class.tokenize(plainer), plainer)
    statements = [expr for expr in expressions if isinstance(expr, exp.Expression)]
    if len(statements) != 1:
        raise NotUnderstood(f"it has {len(statements)} statements where one is expected")
    return statements[0]


_LIKE_POSTGRES: Final = frozenset(("duckdb", "materialize", "postgres", "redshift", "risingwave"))


def _write_plainer(tokens: Sequence[Any], sql: str) -> str:
    """Return equivalent SQL without two constructs that PostgreSQL writes in the definitions of
    views and that sqlglot does not parse: casts to arrays of unknown types, and joins in brackets
    that begin with `unnest`. The columns that are read stay the same."""
    kinds = [token.token_type.name for token in tokens]
    cuts: list[tuple[int, int, str]] = []
    for at, kind in enumerate(kinds):
        if kind == "UNNEST" and at and kinds[at - 1] == "L_PAREN":
            cuts.append((tokens[at].start, tokens[at].end + 1, '"unnest"'))
        if kind != "DCOLON":
            continue
        end = at + 2
        while kinds[end : end + 1] == ["DOT"]:
            end += 2
        if kinds[end : end + 2] == ["L_BRACKET", "R_BRACKET"]:
            cuts.append((tokens[end].start, tokens[end + 1].end + 1, ""))
    for start, stop, text in reversed(cuts):
        sql = sql[:start] + text + sql[stop:]
    return sql


def _is_too_deep(tokens: Iterable[Any]) -> bool:
    """Return whether brackets and `CASE` are nested too deeply in each other, or an expression has
    too many tokens."""
    lengths = [0]
    for token in tokens:
        kind = token.token_type.name
        if kind in _CLOSING and len(lengths) > 1:
            lengths.pop()
        lengths[-1] = 0 if kind in _SEPARATING else lengths[-1] + 1
        if len(lengths) > _DEEPEST_NESTING or sum(lengths) > _LONGEST_EXPRESSION:
            return True
        if kind in _OPENING:
            lengths.append(0)
    return False


def query_of(statement: Any) -> Any:
    """Return the query in a statement, which is the statement itself or a part of its `CREATE` or
    `INSERT`, together with the CTEs of the statement. Raises `NotUnderstood` if there is none."""
    from sqlglot import exp

    query = statement
    if isinstance(statement, exp.Create | exp.Insert):
        query = statement.expression
        if isinstance(query, exp.Query):
            with_ctes(query, statement.args.get("with_"))
    if isinstance(query, exp.Subquery):
        query = query.unnest()
    if not isinstance(query, exp.Query | exp.Pivot):
        raise NotUnderstood(f"it is a {type(query).__name__}, not a query")
    return query


def with_ctes(query: Any, outer: Any) -> None:
    """Add the CTEs of a statement to the query in it, before the query's own."""
    if outer is None:
        return
    inner = query.args.get("with_")
    if inner is not None:
        outer.set("expressions", [*outer.expressions, *inner.expressions])
        outer.set("recursive", outer.args.get("recursive") or inner.args.get("recursive"))
    query.set("with_", outer)


def trace_query(
    query: Any,
    dialect: str,
    tables: KnownTables,
    near: Path,
    lineage: QueryLineage,
    variables: Container[str] = (),
) -> None:
    """Add the tables and columns that a query reads to a lineage. `variables` are names in lower
    case that refer to a column only if a table has one with this name. Raises the errors of
    sqlglot."""

    def find_tables(name: Path) -> list[NamedTable]:
        path = find_table(tables, name, near, dialect)
        paths = [path] if path is not None else []
        if path is None and dialect == "bigquery" and name[-1].endswith("*"):
            paths = tables.match(name, near)
        return [NamedTable(path, tables.columns(path), tables.fields(path)) for path in paths]

    tracer = ColumnTracer(dialect, find_tables, variables)
    columns = tracer.read(query)
    lineage.tables += [path for path in tracer.tables if path not in lineage.tables]
    for path, names in tracer.used.items():
        lineage.used.setdefault(path, {}).update(names)
    lineage.notes += [f"it reads {name}, which is not known" for name in tracer.missing]
    for column in columns:
        lineage.add(replace(column, name=column.name.casefold()))


def physical_tables(query: Any) -> Iterator[Any]:
    """Yield the references to tables in a query, without those to CTEs and without table
    functions."""
    from sqlglot import exp
    from sqlglot.optimizer.scope import traverse_scope

    source_ids: set[int] = set()
    for scope in traverse_scope(query):
        # `selected_sources` leaves out tables joined with SEMI or ANTI.
        for name, node in scope.references:
            source = scope.sources.get(name)
            is_table = isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier)
            if is_table and id(source) not in source_ids:
                source_ids.add(id(source))
                yield node


def rename_table(table: Any, label: str) -> None:
    """Give a table in a query another name. Columns still refer to it by its alias, which is its
    old name if it had none."""
    from sqlglot import exp

    if not table.alias:
        table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name, quoted=True)))
    table.set("this", exp.to_identifier(label, quoted=True))
    table.set("db", None)
    table.set("catalog", None)


def lineage_reason(lineage: QueryLineage, names: Sequence[str] | None = None) -> str | None:
    """Return a sentence for users about the gaps in a lineage, or `None` if it is complete."""
    if lineage.problem is not None:
        return f"no column lineage: {lineage.problem}"
    untraced = lineage.describe_gaps(names)
    return None if untraced is None else f"not traced: {untraced}"


def add_tables(writer: DatasetWriter, tables: Sequence[TableDefinition], dialect: str) -> None:
    """Add the tables of a database to an inventory, and the lineage of its views. For a view that
    is not completely traced, a skipped part is added with the reason."""
    known_tables = KnownTables()
    for table in tables:
        fields = [column.path for column in table.columns or () if column.is_nested]
        known_tables.add(table.path, table.names, fields)
    for table in tables:
        if not table.definition or table.columns is None:
            writer.add(table)
            continue
        schema_path = table.path[:-1]
        lineage = read_lineage(
            table.definition, dialect, known_tables, schema_path, len(table.names)
        )
        if (reason := lineage_reason(lineage, table.names)) is not None:
            subject = writer.delimiter.join(table.path)
            writer.inventory.skipped.append(SkippedPart(subject, reason))
        columns = (
            ColumnSources(own, tuple((writer.dataset(path), column) for path, column in sources))
            for own, sources in zip(table.names, lineage.columns, strict=False)
        )
        upstreams = [writer.dataset(path) for path in lineage.tables]
        writer.add(table, upstreams=upstreams, columns=columns)
