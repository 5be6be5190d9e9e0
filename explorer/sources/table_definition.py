"""Determine the table that a statement or query defines: its columns, the expressions that compute
them, and the parts of the query that determine its rows."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from explorer.sources.column_tracer import table_path
from explorer.sources.sql_lineage import (
    NotUnderstood,
    Path,
    physical_tables,
    rename_table,
)

if TYPE_CHECKING:
    from sqlglot.optimizer.scope import Scope

# The maximum size of an expression after columns of subqueries in it have been replaced.
_MOST_NODES: Final = 2_000
_DEEPEST: Final = 40

QueryPart = Literal["filter", "join", "grouping", "limit", "union"]


@dataclass(frozen=True, slots=True)
class DefinedColumn:
    """A column of a definition.

    `type` is the type that the SQL gives it, or `None` if it depends on tables. `made_by` is the
    expression over columns of tables that computes it, or `None` if that is not known; `is_cast` is
    set if that is a cast.
    """

    name: str
    type: str | None = None
    made_by: str | None = None
    is_cast: bool = False


@dataclass(frozen=True, slots=True)
class DefinedTable:
    """The table that a statement defines. `parts` has the parts of the query that determine its
    rows, in a comparable form: conditions, joins and groups over columns of tables. Parts that are
    not known are left out."""

    columns: list[DefinedColumn] = field(default_factory=list)
    parts: dict[QueryPart, list[str]] = field(default_factory=dict)


def defined_columns(
    statement: Any, dialect: str, columns_of: Callable[[Path], Sequence[str] | None]
) -> list[DefinedColumn]:
    """Return the columns of the table that a statement defines; see `define_table`."""
    return define_table(statement, dialect, columns_of).columns


def define_table(
    statement: Any, dialect: str, columns_of: Callable[[Path], Sequence[str] | None]
) -> DefinedTable:
    """Return the table that a query, or the `CREATE` of a table or view, defines.

    `columns_of` returns the columns of a table that the query reads; it is called only if the query
    contains a `*`, or several tables and a column without the name of its table. The statement is
    modified. Raises `NotUnderstood` and the errors of sqlglot.
    """
    from sqlglot import exp

    query, columns = statement, list[DefinedColumn]()
    if isinstance(statement, exp.Create):
        query = statement.expression
        if isinstance(statement.this, exp.Schema):
            columns = [
                DefinedColumn(expression.name, _type_text(expression.args.get("kind"), dialect))
                for expression in statement.this.expressions
                if isinstance(expression, exp.Identifier | exp.ColumnDef)
            ]
    if query is None:
        return DefinedTable(columns)
    if not isinstance(query, exp.Query):
        raise NotUnderstood(f"it is a {type(query).__name__}, not a query")
    definition = _define_query(query, dialect, columns_of)
    columns_of_query = definition.columns
    if not columns:
        return definition
    if len(columns) != len(columns_of_query):
        raise NotUnderstood(
            f"the query has {len(columns_of_query)} columns where the table has {len(columns)}"
        )
    named_columns = [
        DefinedColumn(own.name, own.type or column.type, column.made_by)
        for own, column in zip(columns, columns_of_query, strict=True)
    ]
    return DefinedTable(named_columns, definition.parts)


def _define_query(
    query: Any, dialect: str, columns_of: Callable[[Path], Sequence[str] | None]
) -> DefinedTable:
    from sqlglot import exp
    from sqlglot.optimizer.qualify import qualify
    from sqlglot.optimizer.scope import build_scope
    from sqlglot.schema import MappingSchema

    tables = {
        id(physical_table): (physical_table, table_path(physical_table))
        for physical_table in physical_tables(query)
    }
    for identifier in query.find_all(exp.Identifier):
        identifier.set("quoted", True)
    # The table of an unqualified column depends on the columns of the tables.
    needs_columns = query.find(exp.Star) is not None or (
        len(tables) > 1 and any(not column.table for column in query.find_all(exp.Column))
    )
    schema: dict[str, object] = {}
    labels: dict[str, Path] = {}
    for table, path in tables.values():
        label = f"table {len(labels)}"
        labels[label] = path
        if needs_columns and (columns := columns_of(path)):
            schema[label] = dict.fromkeys(columns, "unknown")
        rename_table(table, label)
    mapping = MappingSchema(schema, dialect=dialect, normalize=False) if schema else None
    query = qualify(
        query,
        dialect=dialect,
        schema=mapping,
        validate_qualify_columns=False,
        expand_alias_refs=False,
        identify=False,
    )
    if any(select.is_star for select in query.selects):
        unknown_table = ".".join(
            next((labels[label] for label in labels if label not in schema), ("a function",))
        )
        raise NotUnderstood(f"its * selects the columns of {unknown_table}, which are not known")
    scope = build_scope(query)
    names = [select.alias_or_name for select in query.selects]
    if len(set(names)) < len(names):
        raise NotUnderstood("two of its columns have the same name")
    defined = [_define(name, scope, at, dialect, labels) for at, name in enumerate(names)]
    return DefinedTable(defined, _read_parts(scope, dialect, labels))


def _read_parts(
    scope: "Scope | None", dialect: str, labels: dict[str, Path]
) -> dict[QueryPart, list[str]]:
    """Return the parts of a query that determine its rows; empty if they cannot be determined."""
    from sqlglot.errors import SqlglotError

    if scope is None:
        return {}
    parts: dict[QueryPart, list[str]] = {
        "filter": [],
        "join": [],
        "grouping": [],
        "limit": [],
        "union": [],
    }
    try:
        for inner in _read_scopes(scope, set()):
            for kind, expression in _parts_of(inner, labels):
                parts[kind].append(expression.sql(dialect, comments=False))
    except (_TooLarge, SqlglotError, KeyError, AttributeError, TypeError, ValueError):
        return {}
    return {kind: sorted(texts) for kind, texts in parts.items()}


def _read_scopes(scope: "Scope", visited: set[int]) -> "Iterator[Scope]":
    """Yield a query and the queries that it reads or contains."""
    from sqlglot.optimizer.scope import Scope

    if id(scope) in visited:
        return
    visited.add(id(scope))
    yield scope
    sources = [source for _, source in scope.selected_sources.values()]
    for inner in (*sources, *scope.subquery_scopes, *(scope.set_operation_scopes or ())):
        if isinstance(inner, Scope):
            yield from _read_scopes(inner, visited)


def _parts_of(scope: "Scope", labels: dict[str, Path]) -> Iterator[tuple[QueryPart, Any]]:
    """Yield the parts of one query that determine its rows, as expressions over columns of
    tables."""
    from sqlglot import exp

    query: Any = scope.expression

    def expand(expression: Any) -> Any:
        return _expand(expression, scope, labels, _DEEPEST)

    if isinstance(query, exp.SetOperation):
        yield "union", exp.Var(this=f"{type(query).__name__} {query.args.get('distinct')}")
    for key in ("where", "having", "qualify"):
        if (clause := query.args.get(key)) is not None:
            condition = clause.this.unnest()
            terms = condition.flatten() if isinstance(condition, exp.And) else [condition]
            for term in terms:
                yield "filter", expand(term)
    for join in query.args.get("joins") or ():
        words = [str(join.args[key]) for key in ("method", "side", "kind") if join.args.get(key)]
        kind = " ".join(word.upper() for word in words if word.upper() not in ("INNER", "OUTER"))
        conditions = [join.args["on"]] if join.args.get("on") is not None else []
        yield (
            "join",
            exp.Anonymous(
                this=kind or "JOIN",
                expressions=[*map(expand, conditions), *(join.args.get("using") or ())],
            ),
        )
    if (group := query.args.get("group")) is not None:
        keys = sorted((expand(key) for key in group.expressions), key=str)
        yield "grouping", exp.Anonymous(this="GROUP", expressions=keys)
    if isinstance(distinct := query.args.get("distinct"), exp.Distinct):
        yield "grouping", expand(distinct)
    for key in ("limit", "offset", "fetch"):
        if (clause := query.args.get(key)) is not None:
            yield "limit", clause.copy()


def _define(
    name: str, scope: "Scope | None", at: int, dialect: str, labels: dict[str, Path]
) -> DefinedColumn:
    from sqlglot import exp
    from sqlglot.errors import SqlglotError
    from sqlglot.optimizer.annotate_types import annotate_types

    if scope is None:
        return DefinedColumn(name)
    try:
        made_by = _resolve(scope, at, labels, _DEEPEST)
        typed = annotate_types(made_by.copy(), dialect=dialect).type
    except (_TooLarge, SqlglotError, KeyError, AttributeError, TypeError, ValueError):
        return DefinedColumn(name)
    text = made_by.sql(dialect, comments=False)
    return DefinedColumn(name, _type_text(typed, dialect), text, isinstance(made_by, exp.Cast))


class _TooLarge(Exception):
    """The expression over columns of tables would be too large or too deep."""


def _resolve(scope: "Scope", at: int, labels: dict[str, Path], deepest: int) -> Any:
    """Return the expression that computes a column of a query from columns of tables. `at` is the
    column's position. Raises `_TooLarge`."""
    from sqlglot import exp

    if not deepest:
        raise _TooLarge
    if scope.set_operation_scopes:
        sides = [_resolve(scope, at, labels, deepest - 1) for scope in scope.set_operation_scopes]
        if sides[0] == sides[1]:
            return sides[0]
        return exp.Coalesce(this=sides[0], expressions=sides[1:])
    return _expand(_selects(scope)[at].unalias(), scope, labels, deepest)


def _expand(expression: Any, scope: "Scope", labels: dict[str, Path], deepest: int) -> Any:
    """Return an expression of a query as one over columns of tables, without redundant parentheses.
    Raises `_TooLarge`."""
    from sqlglot import exp
    from sqlglot.optimizer.scope import Scope

    holder = exp.Paren(this=expression.copy())
    size = 0
    for column in list(holder.find_all(exp.Column)):
        source = scope.sources.get(column.table)
        if not column.table and len(scope.selected_sources) == 1:
            ((_, source),) = scope.selected_sources.values()
        if isinstance(source, Scope):
            names = [select.alias_or_name for select in _selects(source)]
            if column.name not in names:
                continue
            inner = _resolve(source, names.index(column.name), labels, deepest - 1)
            size += sum(1 for _ in inner.walk())
            if size > _MOST_NODES:
                raise _TooLarge
            column.replace(exp.Paren(this=inner))
        elif isinstance(source, exp.Table):
            table = labels.get(source.name, (source.name,))[-1].casefold()
            column.replace(exp.column(column.name.casefold(), table, quoted=True))
    for reference in holder.find_all(exp.Table):
        if reference.name in labels:
            name = labels[reference.name][-1].casefold()
            reference.set("this", exp.to_identifier(name, quoted=True))
    for paren in list(holder.find_all(exp.Paren)):
        if paren is not holder and not _needs_parentheses(paren):
            paren.replace(paren.this)
    return holder.this.unnest()


def _needs_parentheses(paren: Any) -> bool:
    from sqlglot import exp

    is_plain = isinstance(paren.this, exp.Column | exp.Literal | exp.Func | exp.Paren)
    around = exp.Binary | exp.Unary | exp.Between | exp.In | exp.Bracket | exp.Interval
    is_operand = isinstance(paren.parent, around) and not isinstance(paren.parent, exp.Paren)
    return is_operand and (not is_plain or isinstance(paren.this, exp.And | exp.Or))


def _selects(scope: "Scope") -> list[Any]:
    expression: Any = scope.expression
    return list(expression.selects)


def _type_text(kind: Any, dialect: str) -> str | None:
    """Return a type as SQL in lower case, or `None` if it is not known."""
    from sqlglot import exp

    if not isinstance(kind, exp.DataType) or kind.is_type("unknown", "null"):
        return None
    return kind.sql(dialect).lower()
