"""Determine which columns a query requires of tables whose columns are not all known."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from explorer.sources.column_tracer import table_path
from explorer.sources.sql_lineage import Path

if TYPE_CHECKING:
    from sqlglot.optimizer.scope import Scope


@dataclass(slots=True)
class ColumnUse:
    """The columns that a query uses of tables.

    `find` returns the table that a query names, `columns` the known columns of a table in lower
    case, and `is_open` whether it may have more. `used` has these further columns by table, in the
    case in which they first occur. `selected` are the tables whose columns the query selects all,
    with `*`, or combines with others by position.
    """

    find: Callable[[Path], Path | None]
    columns: Callable[[Path], Collection[str]]
    is_open: Callable[[Path], bool]
    used: dict[Path, dict[str, str]] = field(default_factory=dict)
    selected: set[Path] = field(default_factory=set)

    def read(self, query: Any) -> None:
        """Add what a query uses. Raises the errors of sqlglot."""
        from sqlglot import exp
        from sqlglot.optimizer.scope import traverse_scope

        scopes = traverse_scope(query)
        for scope in scopes:
            for side in scope.set_operation_scopes or ():
                self.selected.update(self._selected_tables(side))
            if not isinstance(scope.expression, exp.Select):
                continue
            for column in scope.columns:
                if column.args.get("db") is None and not _may_be_alias(column, scope):
                    self._use(scope, column.table, column.name)
        if scopes:
            self.selected.update(self._selected_tables(scopes[-1]))

    def _use(self, scope: "Scope", alias: str, name: str) -> None:
        """Add the use of a column, if it is certain which table has it."""
        sources = _sources(scope)
        if not alias:
            # In a subquery a column may be one of the query around it.
            holders = [key for key, source in sources.items() if self._may_have(source, name)]
            alias = holders[0] if len(holders) == 1 and not scope.is_subquery else ""
        source = sources.get(alias)
        if source is None:
            return
        if (path := self._path(source)) is not None:
            if self.is_open(path) and name.casefold() not in self.columns(path):
                self.used.setdefault(path, {}).setdefault(name.casefold(), name)
        elif not _is_table(source) and name.casefold() not in _names(source):
            for star in _stars(source, name):
                self._use(source, star, name)

    def _may_have(self, source: Any, name: str) -> bool:
        """Return whether a table or subquery has a column, or may have it."""
        if _is_table(source):
            path = self._path(source)
            return path is None or self.is_open(path) or name.casefold() in self.columns(path)
        if source.set_operation_scopes:
            return self._may_have(source.set_operation_scopes[0], name)
        return name.casefold() in _names(source) or any(
            self._may_have(inner, name)
            for star in _stars(source, name)
            for alias, inner in _sources(source).items()
            if star in ("", alias)
        )

    def _selected_tables(self, scope: "Scope") -> Iterator[Path]:
        """Yield the tables whose columns a query selects with `*`."""
        for side in scope.set_operation_scopes or ():
            yield from self._selected_tables(side)
        for star in _stars(scope, ""):
            for alias, source in _sources(scope).items():
                if star not in ("", alias):
                    continue
                if not _is_table(source):
                    yield from self._selected_tables(source)
                elif (path := self._path(source)) is not None:
                    yield path

    def _path(self, source: Any) -> Path | None:
        return self.find(table_path(source)) if _is_table(source) else None


def _is_table(source: Any) -> bool:
    from sqlglot import exp

    return isinstance(source, exp.Table)


def _sources(scope: "Scope") -> dict[str, Any]:
    return {alias: source for alias, (_, source) in scope.selected_sources.items()}


def _selects(scope: "Scope") -> list[Any]:
    from sqlglot import exp

    # Columns that an alias names anew are not those of the tables.
    is_plain = isinstance(scope.expression, exp.Select) and not scope.outer_columns
    expression: Any = scope.expression
    return list(expression.selects) if is_plain else []


def _names(scope: "Scope") -> set[str]:
    return {select.alias_or_name.casefold() for select in _selects(scope) if not select.is_star}


def _stars(scope: "Scope", name: str) -> Iterator[str]:
    """Yield the alias of the table of each `*` that may select a column, empty if it has none."""
    from sqlglot import exp

    for select in _selects(scope):
        if not select.is_star:
            continue
        star = select.this if isinstance(select, exp.Column) else select
        left_out = star.args.get("except_") or ()
        if name.casefold() not in {column.name.casefold() for column in left_out}:
            yield select.table if isinstance(select, exp.Column) else ""


def _may_be_alias(column: Any, scope: "Scope") -> bool:
    """Return whether a column may be another expression of the same `SELECT`."""
    from sqlglot import exp

    name = column.name.casefold()
    if column.table or not any(
        isinstance(select, exp.Alias) and select.alias.casefold() == name
        for select in _selects(scope)
    ):
        return False
    inside = column.find_ancestor(exp.Alias, exp.Select)
    return not (isinstance(inside, exp.Alias) and inside.alias.casefold() == name)
