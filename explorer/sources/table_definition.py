"""Determine the columns of a table from the SQL statement or query that defines it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from explorer.sources.sql_lineage import (
    NotUnderstood,
    Path,
    physical_tables,
    rename_table,
    table_path,
)

if TYPE_CHECKING:
    from sqlglot.optimizer.scope import Scope

__all__ = ["DefinedColumn", "defined_columns"]

# The maximal size of an expression after the columns of subqueries in it have been replaced.
_MOST_NODES: Final = 2_000
_DEEPEST: Final = 40


@dataclass(frozen=True, slots=True)
class DefinedColumn:
    """A column of a definition.

    `type` is the type that the SQL gives it, or `None` if it depends on tables. `made_by` is the
    expression over columns of tables that computes it, or `None` if that is not known.
    """

    name: str
    type: str | None = None
    made_by: str | None = None


def defined_columns(
    statement: Any, dialect: str, columns_of: Callable[[Path], Sequence[str] | None]
) -> list[DefinedColumn]:
    """Return the columns of a query, or of the table or view that a `CREATE` creates.

    `columns_of` returns the columns of a table that the query reads; it is called only if the query
    contains a `*`. The statement is modified. Raises `NotUnderstood` and the errors of sqlglot.
    """
    from sqlglot import exp

    query, named = statement, list[DefinedColumn]()
    if isinstance(statement, exp.Create):
        query = statement.expression
        if isinstance(statement.this, exp.Schema):
            named = [
                DefinedColumn(one.name, _type_text(one.args.get("kind"), dialect))
                for one in statement.this.expressions
                if isinstance(one, exp.Identifier | exp.ColumnDef)
            ]
    if query is None:
        return named
    if not isinstance(query, exp.Query):
        raise NotUnderstood(f"it is a {type(query).__name__}, not a query")
    found = _columns_of_query(query, dialect, columns_of)
    if not named:
        return found
    if len(named) != len(found):
        raise NotUnderstood(f"the query has {len(found)} columns where the table has {len(named)}")
    return [
        DefinedColumn(own.name, own.type or one.type, one.made_by)
        for own, one in zip(named, found, strict=True)
    ]


def _columns_of_query(
    query: Any, dialect: str, columns_of: Callable[[Path], Sequence[str] | None]
) -> list[DefinedColumn]:
    from sqlglot import exp
    from sqlglot.optimizer.qualify import qualify
    from sqlglot.optimizer.scope import build_scope
    from sqlglot.schema import MappingSchema

    tables = {id(one): (one, table_path(one)) for one in physical_tables(query)}
    for identifier in query.find_all(exp.Identifier):
        identifier.set("quoted", True)
    has_star = query.find(exp.Star) is not None
    schema: dict[str, object] = {}
    labels: dict[str, Path] = {}
    for table, path in tables.values():
        label = f"table {len(labels)}"
        labels[label] = path
        if has_star and (columns := columns_of(path)):
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
        unknown = ".".join(next((labels[one] for one in labels if one not in schema), ("",)))
        raise NotUnderstood(f"its * selects the columns of {unknown}, which are not known")
    scope = build_scope(query)
    names = [select.alias_or_name for select in query.selects]
    if len(set(names)) < len(names):
        raise NotUnderstood("two of its columns have the same name")
    return [_defined(name, scope, at, dialect, labels) for at, name in enumerate(names)]


def _defined(
    name: str, scope: "Scope | None", at: int, dialect: str, labels: dict[str, Path]
) -> DefinedColumn:
    from sqlglot.errors import SqlglotError
    from sqlglot.optimizer.annotate_types import annotate_types

    if scope is None:
        return DefinedColumn(name)
    try:
        made_by = _resolved(scope, at, labels, _DEEPEST)
        typed = annotate_types(made_by.copy(), dialect=dialect).type
    except (_TooLarge, SqlglotError, KeyError, AttributeError, TypeError, ValueError):
        return DefinedColumn(name)
    return DefinedColumn(name, _type_text(typed, dialect), made_by.sql(dialect))


class _TooLarge(Exception):
    """The expression over columns of tables would be too large or too deep."""


def _resolved(scope: "Scope", at: int, labels: dict[str, Path], deepest: int) -> Any:
    """Return the expression that computes a column of a query from columns of tables. `at` is the
    column's position. Raises `_TooLarge`."""
    from sqlglot import exp
    from sqlglot.optimizer.scope import Scope

    if not deepest:
        raise _TooLarge
    if scope.set_operation_scopes:
        sides = [_resolved(one, at, labels, deepest - 1) for one in scope.set_operation_scopes]
        if sides[0] == sides[1]:
            return sides[0]
        return exp.Coalesce(this=sides[0], expressions=sides[1:])
    expression: Any = _selects(scope)[at].unalias().copy()
    holder = exp.Paren(this=expression)
    size = 0
    for column in list(holder.find_all(exp.Column)):
        source = scope.sources.get(column.table)
        if isinstance(source, Scope):
            names = [one.alias_or_name for one in _selects(source)]
            if column.name not in names:
                continue
            inner = _resolved(source, names.index(column.name), labels, deepest - 1)
            size += sum(1 for _ in inner.walk())
            if size > _MOST_NODES:
                raise _TooLarge
            is_plain = isinstance(inner, exp.Column | exp.Literal | exp.Func | exp.Cast)
            column.replace(inner if is_plain else exp.Paren(this=inner))
        elif isinstance(source, exp.Table):
            table = labels.get(source.name, (source.name,))[-1].casefold()
            column.replace(exp.column(column.name.casefold(), table, quoted=True))
    return holder.this


def _selects(scope: "Scope") -> list[Any]:
    expression: Any = scope.expression
    return list(expression.selects)


def _type_text(kind: Any, dialect: str) -> str | None:
    """Return a type as SQL in lower case, or `None` if it is not known."""
    from sqlglot import exp

    if not isinstance(kind, exp.DataType) or kind.is_type("unknown", "null"):
        return None
    return kind.sql(dialect).lower()
