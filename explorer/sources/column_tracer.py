"""Trace each result column of a parsed query to the columns of tables that it is computed from.

A part that is not understood, such as an unknown table or a function that returns a table, affects
only the columns that depend on it: their traces contain the reason.
"""

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

TablePath = tuple[str, ...]
SourceColumn = tuple[TablePath, str]
"""A column of a table, or a field of a struct as `column.field`."""

# Dialects in which an expression of SELECT may name an earlier one, in ClickHouse before a column.
_ALIASES_IN_SELECT: Final = frozenset(
    ("clickhouse", "databricks", "duckdb", "redshift", "snowflake", "spark", "spark2", "teradata")
)
# Dialects in which recursive queries need no RECURSIVE after WITH.
_IMPLICIT_RECURSION: Final = frozenset(("oracle", "snowflake", "teradata", "tsql"))
# Dialects in which FROM may name an array of a table.
_ARRAYS_IN_FROM: Final = frozenset(("bigquery", "redshift"))
# Names that are values in some dialects, unless a table has a column with the name.
_VALUES: Final = frozenset(
    (
        *("connect_by_iscycle", "connect_by_isleaf", "current_date", "current_time"),
        *("current_timestamp", "current_user", "level", "localtime", "localtimestamp", "rownum"),
        *("session_user", "sysdate", "systimestamp", "user", "$action"),
    )
)
_ONE_ROW: Final = frozenset(("dual", "sysibm.sysdummy1", "sys.dual", "system.one"))
# Functions in FROM that sqlglot does not know, and whose rows are made from their arguments alone.
_ROWS_OF_ARGUMENTS: Final = re.compile(
    r"jsonb?_(?:each|array_elements|to_record|populate_record|object_keys|path_query|tree|table"
    r"|extract_path)\w*|regexp_(?:matches|split_to_table)|string_to_table|string_split|splitbystring"
    r"|generate_subscripts|generate_array|range|numbers|openjson|flatten|strtok_split_to_table"
    r"|split_to_table|table|unnest\w*|explode\w*|posexplode\w*|rows|sequence|repeat_row|values",
    re.IGNORECASE,
)
# Names in FROM that DuckDB reads as files.
_FILE: Final = re.compile(r"[/*:]|\.(?:parquet|csv|tsv|jsonl?|ndjson|arrow|db|duckdb|xlsx)(?:\.|$)")
_FLATTENED: Final = ("key", "path", "index", "value", "this")
# Parts of a SELECT that are read before the others, and hints, which name tables again.
_READ_FIRST: Final = frozenset(
    ("expressions", "from_", "hint", "into", "joins", "laterals", "match", "with_")
)
_MOST_STEPS: Final = 20
"""How often the part of a recursive query that refers to itself is read at most."""


@dataclass(frozen=True, slots=True)
class ColumnTrace:
    """The trace of a value: the columns of tables that it is computed from, and the reasons why
    some may be missing.

    `row` has the fields of a struct or of a whole row. `columns` is set if the value is a column of
    a table, whose fields may be known: that column, or one for each table that a name with `*`
    matches.
    """

    sources: frozenset[SourceColumn] = frozenset()
    reasons: tuple[str, ...] = ()
    row: "Relation | None" = None
    columns: tuple[SourceColumn, ...] = ()

    def __or__(self, other: "ColumnTrace") -> "ColumnTrace":
        return ColumnTrace(
            self.sources | other.sources, tuple(dict.fromkeys((*self.reasons, *other.reasons)))
        )


_NOTHING: Final = ColumnTrace()


def _merge(traces: Iterable[ColumnTrace]) -> ColumnTrace:
    sources: set[SourceColumn] = set()
    reasons: dict[str, None] = {}
    for trace in traces:
        sources |= trace.sources
        reasons |= dict.fromkeys(trace.reasons)
    return ColumnTrace(frozenset(sources), tuple(reasons))


@dataclass(frozen=True, slots=True)
class ResultColumn:
    """A result column of a query. If `is_open` is set, it represents any number of columns with
    unknown names."""

    name: str
    trace: ColumnTrace
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class Relation:
    """The columns of a table, or of a part of a query. `path` is the name of the table as stored,
    `written` its name as written in the query. `scalar` is set for a WITH that names an expression
    instead of a query."""

    columns: tuple[ResultColumn, ...] = ()
    path: TablePath | None = None
    written: TablePath = ()
    scalar: Any = None

    @property
    def open_columns(self) -> list[ResultColumn]:
        """The columns that represent any number of unknown columns."""
        return [column for column in self.columns if column.is_open]

    def find(self, name: str) -> list[ResultColumn]:
        """Return the columns with a name, compared without regard to case unless one matches
        exactly."""
        folded = name.casefold()
        same = [
            column
            for column in self.columns
            if not column.is_open and column.name.casefold() == folded
        ]
        return [column for column in same if column.name == name] or same if same[1:] else same

    def rename(self, names: Sequence[str]) -> "Relation":
        """Return a relation in which the columns have other names; if there are fewer names, only
        the first columns are renamed."""
        columns = fit(self.columns, len(names)) if self.open_columns else list(self.columns)
        renamed_columns = [
            replace(column, name=name, is_open=False)
            for column, name in zip(columns, names, strict=False)
        ]
        return Relation((*renamed_columns, *columns[len(names) :]))


def _open_column(reason: str | None, trace: ColumnTrace = _NOTHING) -> ResultColumn:
    """Return a column that represents any number of columns, with the reason why they are
    unknown."""
    reasons = trace.reasons if reason is None else (*trace.reasons, reason)
    return ResultColumn("*", ColumnTrace(trace.sources, reasons), is_open=True)


def fit(columns: Sequence[ResultColumn], width: int) -> list[ResultColumn]:
    """Replace open columns so that there are `width` columns. Columns between two open ones are
    replaced too, since their positions are not known. Without an open column, the columns are
    returned unchanged."""
    ats = [at for at, column in enumerate(columns) if column.is_open]
    if not ats or len(columns) - len(ats) > width:
        return list(columns)
    before, after = columns[: ats[0]], columns[ats[-1] + 1 :]
    trace = _merge(column.trace for column in columns[ats[0] : ats[-1] + 1])
    if not trace.reasons:
        trace = replace(trace, reasons=("its * selects columns whose names are not known",))
    between = width - len(before) - len(after)
    return [*before, *(ResultColumn("", trace) for _ in range(between)), *after]


@dataclass(slots=True)
class _Scope:
    """The things that names in a SELECT may refer to.

    `relations` are the tables of its FROM with the names by which columns are qualified, `merged`
    the columns of USING, `aliases` the columns that SELECT has defined, which names may refer to
    only if `sees_aliases` is set, and `outer` is the query around it.
    """

    ctes: Mapping[str, Relation]
    outer: "_Scope | None" = None
    relations: list[tuple[str, Relation]] = field(default_factory=list)
    merged: dict[str, ColumnTrace] = field(default_factory=dict)
    aliases: dict[str, ColumnTrace] = field(default_factory=dict)
    windows: dict[str, Any] = field(default_factory=dict)
    sees_aliases: bool = False
    is_natural: bool = False

    def find_relations(self, qualifier: Sequence[str]) -> list[Relation]:
        """Return the relations that the qualifier of a column refers to."""
        dotted = ".".join(qualifier).casefold()
        same = [relation for name, relation in self.relations if name.casefold() == dotted]
        return (
            same
            or [
                relation
                for _, relation in self.relations
                for path in (relation.written, relation.path or ())
                if f".{'.'.join(path)}".casefold().endswith(f".{dotted}")
            ][:1]
        )

    def open_reasons(self) -> ColumnTrace:
        """Return the trace of a column that no relation is known to have: it may be one of their
        open columns."""
        opens = [column for _, relation in self.relations for column in relation.open_columns]
        return _merge(column.trace for column in opens)

    def has_open(self) -> bool:
        """Return whether a relation may have unknown columns."""
        return any(relation.open_columns for _, relation in self.relations)


class NamedTable(NamedTuple):
    """A table with its columns, and the fields of structs in it as `column.field`."""

    path: TablePath
    columns: Sequence[str]
    fields: Sequence[str] = ()


@dataclass(slots=True)
class ColumnTracer:
    """Traces queries of a dialect.

    `find_tables` returns the table that a query names, several for a name with `*`. `variables` are
    names in lower case that refer to a column only if a table has one with this name. While
    tracing, the tables that were read, the names of tables that were not found, and all columns
    that are used are collected.
    """

    dialect: str
    find_tables: Callable[[TablePath], Sequence[NamedTable]]
    variables: Container[str] = ()
    tables: dict[TablePath, None] = field(default_factory=dict)
    missing: dict[str, None] = field(default_factory=dict)
    used: dict[TablePath, dict[str, None]] = field(default_factory=dict)
    _fields: dict[TablePath, dict[str, str]] = field(default_factory=dict)
    _pattern: list[tuple[str, ColumnTrace]] = field(default_factory=list)

    def read(self, query: Any) -> list[ResultColumn]:
        """Return the result columns of a query."""
        return list(self._read_query(query, None, {}).columns)

    def _read_query(
        self, query: Any, outer: _Scope | None, ctes: Mapping[str, Relation]
    ) -> Relation:
        from sqlglot import exp

        if with_ := query.args.get("with_"):
            ctes = self._read_with(with_, outer, ctes)
        match query:
            case exp.SetOperation():
                return self._read_set_operation(query, outer, ctes)
            case exp.Subquery():
                # A subquery may be a list of joined tables in parentheses, or have joins itself.
                if not _is_join_list(query) and not query.args.get("joins"):
                    return self._apply_pivots(
                        query, self._read_query(query.this, outer, ctes), ctes
                    )
                scope = _Scope(ctes, outer)
                self._add_source(query, scope)
                return Relation(tuple(self._expand_star(exp.Star(), None, scope)))
            case exp.Select():
                return self._read_select(query, outer, ctes)
            case exp.Values():
                return self._read_values(query, _Scope(ctes, outer))
            case exp.Pivot():
                scope = _Scope(ctes, outer)
                return self._read_pivot_statement(query, scope)
            case exp.Table():
                scope = _Scope(ctes, outer)
                self._add_source(query, scope)
                return Relation(tuple(self._expand_star(exp.Star(), None, scope)))
        if isinstance(query, exp.Insert | exp.Update | exp.Delete | exp.Merge):
            return self._read_returning(query, outer, ctes)
        return Relation((_open_column(f"{type(query).__name__.upper()} is not analysed"),))

    def _read_with(
        self, with_: Any, outer: _Scope | None, ctes: Mapping[str, Relation]
    ) -> dict[str, Relation]:
        """Return the relations that a WITH defines, together with those in `ctes`."""
        own = dict(ctes)
        is_recursive = bool(with_.args.get("recursive"))
        for cte in with_.expressions:
            name, body = cte.alias.casefold(), cte.this
            if cte.args.get("scalar"):
                own[name] = Relation(scalar=body)
                continue
            names = [column.name for column in cte.args["alias"].columns]
            own[name] = self._read_cte(name, names, body, outer, own, is_recursive=is_recursive)
        return own

    def _read_cte(
        self,
        name: str,
        names: Sequence[str],
        body: Any,
        outer: _Scope | None,
        ctes: Mapping[str, Relation],
        *,
        is_recursive: bool,
    ) -> Relation:
        from sqlglot import exp

        def name_columns(relation: Relation) -> Relation:
            return relation.rename(names) if names else relation

        while isinstance(body, exp.Subquery) and not body.args.get("with_"):
            body = body.this
        if not (is_recursive or self.dialect in _IMPLICIT_RECURSION) or not _refers_to(body, name):
            return name_columns(self._read_query(body, outer, ctes))
        if isinstance(body, exp.SetOperation):
            inner = (
                self._read_with(body.args["with_"], outer, ctes) if body.args.get("with_") else ctes
            )
            branches = _branches(body)
            anchors = [branch for branch in branches if not _refers_to(branch, name)]
            if anchors:
                rest = [branch for branch in branches if _refers_to(branch, name)]
                relation = name_columns(
                    self._combine([self._read_query(branch, outer, inner) for branch in anchors])
                )
                for _ in range(_MOST_STEPS):
                    within = {**inner, name: relation}
                    steps = [self._read_query(branch, outer, within) for branch in rest]
                    larger = name_columns(self._combine([relation, *steps]))
                    if _traces(larger) == _traces(relation):
                        break
                    relation = larger
                return relation
        if not is_recursive:
            return name_columns(self._read_query(body, outer, ctes))
        itself = Relation((_open_column(f"{name} is defined by itself"),))
        return name_columns(self._read_query(body, outer, {**ctes, name: itself}))

    def _read_set_operation(
        self, query: Any, outer: _Scope | None, ctes: Mapping[str, Relation]
    ) -> Relation:
        branches = _branches(query)
        relations = [self._read_query(branch, outer, ctes) for branch in branches]
        if query.args.get("by_name"):
            names = dict.fromkeys(
                column.name.casefold() for relation in relations for column in relation.columns
            )
            columns = [
                [
                    column
                    for relation in relations
                    for column in relation.columns
                    if column.name.casefold() == name
                ]
                for name in names
            ]
            return Relation(
                tuple(
                    ResultColumn(
                        same[0].name,
                        _merge(column.trace for column in same),
                        any(column.is_open for column in same),
                    )
                    for same in columns
                )
            )
        return self._combine(relations)

    def _combine(self, relations: Sequence[Relation]) -> Relation:
        """Return the columns of queries that are combined by position, such as those of a UNION."""
        widths = [len(relation.columns) for relation in relations if not relation.open_columns]
        if len(relations) == 1:
            return relations[0]
        if not widths:
            # Positions are known up to the first * that represents unknown columns.
            known = min(
                next(at for at, column in enumerate(relation.columns) if column.is_open)
                for relation in relations
            )
            starts = zip(*(relation.columns[:known] for relation in relations), strict=True)
            rest = (column.trace for relation in relations for column in relation.columns[known:])
            return Relation(
                (
                    *(
                        ResultColumn(same[0].name, _merge(column.trace for column in same))
                        for same in starts
                    ),
                    ResultColumn("*", _merge(rest), is_open=True),
                )
            )
        columns = [fit(relation.columns, widths[0]) for relation in relations]
        if any(len(side) != widths[0] for side in columns):
            reason = "the combined queries have different numbers of columns"
            return Relation(
                tuple(
                    ResultColumn(column.name, replace(_merge([column.trace]), reasons=(reason,)))
                    for column in columns[0]
                )
            )
        names = next(relation.columns for relation in relations if not relation.open_columns)
        return Relation(
            tuple(
                ResultColumn(
                    same[0].name or name.name,
                    same[0].trace if len(same) == 1 else _merge(column.trace for column in same),
                )
                for name, same in zip(names, zip(*columns, strict=True), strict=True)
            )
        )

    def _read_values(self, values: Any, scope: _Scope) -> Relation:
        from sqlglot import exp

        rows = [
            [self._trace(value, scope) for value in row.expressions]
            if isinstance(row, exp.Tuple)
            else [self._trace(row, scope)]
            for row in values.expressions
        ]
        return Relation(
            tuple(
                ResultColumn(f"column{number}", _merge(column))
                for number, column in enumerate(zip(*rows, strict=False), start=1)
            )
        )

    def _read_select(
        self, select: Any, outer: _Scope | None, ctes: Mapping[str, Relation]
    ) -> Relation:
        from sqlglot import exp

        scope = _Scope(ctes, outer, sees_aliases=self.dialect in _ALIASES_IN_SELECT)
        scalars = {}
        for name, relation in ctes.items():
            if relation.scalar is not None:
                scalars[name] = relation.scalar
        if start := select.args.get("from_"):
            self._add_source(start.this, scope)
        for join in select.args.get("joins") or ():
            self._add_join(join, scope)
        for lateral in select.args.get("laterals") or ():
            self._add_source(lateral, scope)
        if match := select.args.get("match"):
            reason = "MATCH_RECOGNIZE is not analysed"
            scope.relations = [
                (match.alias, Relation((_open_column(reason, scope.open_reasons()),)))
            ]
        scope.windows = {
            window.name.casefold(): window for window in select.args.get("windows") or ()
        }
        for name, scalar in scalars.items():
            scope.aliases[name] = self._trace(scalar, scope)
        columns: list[ResultColumn] = []
        for at, expression in enumerate(select.expressions):
            for column in self._read_projection(expression, at, scope):
                columns.append(column)
                scope.aliases.setdefault(column.name.casefold(), column.trace)
        scope.sees_aliases = True
        for key, values in select.args.items():
            if key in _READ_FIRST:
                continue
            for value in values if isinstance(values, list) else [values]:
                if isinstance(value, exp.Expression):
                    # Their columns are used, and their tables read, but no value is made from them.
                    self._trace(value, scope)
        return Relation(tuple(columns))

    def _add_join(self, join: Any, scope: _Scope) -> None:

        kind = str(join.args.get("kind") or "").upper()
        if kind == "ARRAY":
            self._add_array_join(join, scope)
            return
        right = _Scope(scope.ctes, scope)
        self._add_source(join.this, right)
        names = [identifier.name for identifier in join.args.get("using") or ()]
        if str(join.args.get("method") or "").upper() == "NATURAL":
            if right.has_open() or scope.has_open():
                scope.is_natural = True
            names = [
                column.name
                for _, relation in right.relations
                for column in relation.columns
                if not column.is_open and self._find_in(scope, column.name) is not None
            ]
        merged = {}
        for name in names:
            sides = [
                self._find_in(side, name) or self._explain_missing(name, side)
                for side in (scope, right)
            ]
            merged[name.casefold()] = _merge(sides)
        is_filter = str(join.args.get("side") or "").upper() in ("SEMI", "ANTI") or kind in (
            "SEMI",
            "ANTI",
        )
        before = list(scope.relations)
        scope.relations += right.relations
        if on := join.args.get("on"):
            self._trace(on, scope)
        if is_filter:
            scope.relations = before
        else:
            scope.merged |= merged

    def _add_array_join(self, join: Any, scope: _Scope) -> None:
        """Add the elements of the arrays in ClickHouse's ARRAY JOIN to a scope. An element without
        an alias replaces its array."""
        columns = []
        for expression in (join.this, *(join.expressions or ())):
            trace = self._trace(expression.unalias(), scope)
            columns.append(ResultColumn(expression.alias_or_name, trace))
        scope.merged |= {column.name.casefold(): column.trace for column in columns}
        aliases = tuple(
            column
            for column in columns
            if not any(relation.find(column.name) for _, relation in scope.relations)
        )
        scope.relations.append(("", Relation(aliases)))

    def _add_source(self, source: Any, scope: _Scope) -> None:
        """Add a source in FROM or JOIN to the relations of a scope."""
        from sqlglot import exp

        if isinstance(source, exp.Final | exp.TableSample) and isinstance(
            source.this, exp.Expression
        ):
            self._add_source(source.this, scope)
            return
        alias = source.args.get("alias")
        name = source.alias
        names = [column.name for column in alias.columns] if alias else []
        is_list = _is_join_list(source)
        if is_list and not name:
            self._add_source(source.this, scope)
        else:
            if is_list:
                inner = _Scope(scope.ctes, scope.outer)
                self._add_source(source.this, inner)
                relation = Relation(tuple(self._expand_star(exp.Star(), None, inner)))
            else:
                relation = self._read_source(source, names, scope)
            relation = self._apply_pivots(source, relation, scope.ctes)
            for pivot in source.args.get("pivots") or ():
                name = pivot.alias or name
            if names and not isinstance(source, exp.Unnest | exp.Lateral):
                relation = relation.rename(names)
            elif isinstance(source, exp.Unnest) and not name and len(names) >= 1:
                name = names[0]
            scope.relations.append((name or source.name, relation))
        for join in source.args.get("joins") or ():
            self._add_join(join, scope)
        for lateral in source.args.get("laterals") or ():
            self._add_source(lateral, scope)

    def _read_source(self, source: Any, names: Sequence[str], scope: _Scope) -> Relation:
        """Return the columns of a table, subquery or function in FROM."""
        from sqlglot import exp

        match source:
            case exp.Table() if source.args.get("rows_from"):
                columns = [
                    column
                    for table in source.args["rows_from"]
                    for column in self._read_source(table, names[:1], scope).columns[:1]
                ]
                return Relation(tuple(columns))
            case exp.Table(this=exp.Identifier() | exp.Parameter()):
                return self._read_table(source, scope)
            case exp.Table(this=exp.Var()):
                return Relation(
                    (_open_column(f"{source.this.name} is not a table of the catalog"),)
                )
            case exp.Table():
                return self._read_function(source.this, source.alias, names, scope)
            case exp.Unnest():
                return self._read_unnest(source, names, scope)
            case exp.Lateral():
                if isinstance(source.this, exp.Subquery):
                    relation = self._read_query(source.this, scope, scope.ctes)
                    return relation.rename(names) if names else relation
                return self._read_function(source.this, source.alias, names, scope)
            case exp.TableFromRows():
                return self._read_function(source.this, source.alias, (), scope)
            case exp.Values():
                return self._read_values(source, scope)
            case exp.Subquery():
                # A subquery sees the tables beside it where LATERAL is implied, as in BigQuery's
                # arrays; elsewhere their names do not occur in it.
                return self._read_query(source.this, scope, self._inner_ctes(source, scope))
            case exp.Query() | exp.Pivot():
                return self._read_query(source, scope, scope.ctes)
        return self._read_function(source, source.alias, names, scope)

    def _inner_ctes(self, source: Any, scope: _Scope) -> Mapping[str, Relation]:
        with_ = source.args.get("with_")
        return self._read_with(with_, scope.outer, scope.ctes) if with_ else scope.ctes

    def _read_table(self, table: Any, scope: _Scope) -> Relation:
        written = table_path(table)
        cte = scope.ctes.get(written[0].casefold()) if len(written) == 1 else None
        if cte is not None and cte.scalar is None:
            return replace(cte, path=None, written=written)
        if ".".join(written).casefold() in _ONE_ROW:
            return Relation(written=written)
        known = self.find_tables(written)
        if not known and len(written) > 1 and self.dialect in _ARRAYS_IN_FROM:
            # An array of a table of the outer query or earlier in FROM: `FROM t, t.items`.
            around: _Scope | None = scope
            while around is not None and not around.find_relations(written[:1]):
                around = around.outer
            if around is not None:
                elements = self._resolve(list(written), around)
                return Relation((ResultColumn(table.alias or written[-1], elements),))
        if not known:
            if len(written) == 1 and _FILE.search(written[0]):
                return Relation((_open_column("it reads a file"),), written=written)
            name = ".".join(written)
            self.missing[name] = None
            return Relation(
                (_open_column(f"it reads {name}, which is not known"),), written=written
            )
        columns: dict[str, list[SourceColumn]] = {}
        unknowns = []
        for path, names, fields in known:
            self.tables[path] = None
            if fields:
                self._fields[path] = {name.casefold(): name for name in fields}
            for name in names:
                columns.setdefault(name, []).append((path, name))
            if not names:
                unknowns.append(_open_column(f"the columns of {'.'.join(path)} are not known"))
        traced = (
            ResultColumn(name, ColumnTrace(frozenset(same), columns=tuple(same)))
            for name, same in columns.items()
        )
        return Relation((*traced, *unknowns), known[0].path, written)

    def _read_function(
        self, function: Any, alias: str, names: Sequence[str], scope: _Scope
    ) -> Relation:
        """Return the columns of a function in FROM. For a function that only rearranges its
        arguments, they are traced to these; for other functions they are unknown."""
        from sqlglot import exp

        if isinstance(function, exp.Kwarg | exp.Paren | exp.Alias):
            function = function.this if not isinstance(function, exp.Kwarg) else function.expression
        trace = self._trace(function, scope)
        defined = [
            column.name
            for key in ("expressions", "columns", "schema")
            for value in _as_list(function.args.get(key))
            for column in (value.expressions if isinstance(value, exp.JSONSchema) else [value])
            if isinstance(column, exp.ColumnDef | exp.OpenJSONColumnDef | exp.JSONColumnDef)
        ]
        name = _function_name(function)
        from_arguments = _ROWS_OF_ARGUMENTS.fullmatch(name) or (
            isinstance(function, exp.Func)
            and not isinstance(function, exp.Anonymous | exp.DynamicIdentifier)
            and not name.startswith(("read_", "predict", "ml_", "generate_embedding", "vector_"))
        )
        if not from_arguments:
            reason = f"it reads {name}(…), whose columns are not known"
            opened = _open_column(reason, trace)
            return Relation(tuple(ResultColumn(name, opened.trace) for name in names) or (opened,))
        value = _merge([trace])
        if isinstance(function, exp.Explode) and self.dialect == "snowflake":
            columns = [ResultColumn(name, value) for name in _FLATTENED]
            return Relation((ResultColumn("seq", _NOTHING), *columns))
        if names or defined:
            fields = trace.row.columns if trace.row else ()
            return Relation(
                tuple(
                    ResultColumn(
                        name, trace if len(names) == 1 else fields[at].trace if fields else value
                    )
                    for at, name in enumerate(names or defined)
                )
            )
        if isinstance(function, exp.GenerateSeries | exp.ExplodingGenerateSeries | exp.Unnest):
            return Relation((ResultColumn(alias or name, value),))
        if alias:
            # A function that returns one column names it after itself; others have column names.
            return Relation((ResultColumn(alias, value), _open_column(None, value)))
        return Relation((_open_column(None, value),))

    def _read_unnest(self, unnest: Any, names: Sequence[str], scope: _Scope) -> Relation:
        traces = [self._trace(expression, scope) for expression in unnest.expressions]
        offset = unnest.args.get("offset")
        columns = [ResultColumn(name, trace) for name, trace in zip(names, traces, strict=False)]
        if len(traces) == 1 and len(names) > 1:
            # The fields of the structs in one array, or the keys and values of a map.
            row = traces[0].row
            columns = [
                ResultColumn(name, row.columns[at].trace if row else _merge(traces))
                for at, name in enumerate(names)
                if row is None or at < len(row.columns)
            ]
        elif not names:
            alias = unnest.alias or "unnest"
            row = traces[0].row if traces else None
            columns = [ResultColumn(alias, trace) for trace in traces[:1]]
            if row is not None and self.dialect != "bigquery":
                columns = list(row.columns)
        if offset is not None and offset is not False:
            name = offset.name if not isinstance(offset, bool) else "offset"
            columns.append(ResultColumn(name or "offset", _NOTHING))
        return Relation(tuple(columns))

    def _apply_pivots(
        self, source: Any, relation: Relation, ctes: Mapping[str, Relation]
    ) -> Relation:
        for pivot in source.args.get("pivots") or ():
            relation = self._apply_pivot(pivot, relation, source, ctes)
        return relation

    def _apply_pivot(
        self, pivot: Any, relation: Relation, source: Any, ctes: Mapping[str, Relation]
    ) -> Relation:
        from sqlglot import exp

        scope = _Scope(ctes, None, [(source.alias_or_name, relation)])
        fields = pivot.args.get("fields") or ()
        gone = {
            column.name.casefold()
            for node in (*pivot.expressions, *fields)
            for column in node.find_all(exp.Column)
        }
        kept = [column for column in relation.columns if column.name.casefold() not in gone]
        alias = pivot.args.get("alias")
        names = [column.name for column in alias.columns] if alias else []
        if pivot.args.get("unpivot"):
            values = _merge(
                self._trace(value, scope)
                for node in fields
                for value in node.expressions
                if not isinstance(value, exp.Literal)
            )
            key_names = [node.this.name for node in fields]
            value_names = [
                identifier.name
                for node in pivot.expressions
                for identifier in (node.expressions if isinstance(node, exp.Tuple) else [node])
            ]
            columns = [ResultColumn(name, _NOTHING) for name in key_names]
            own = [ResultColumn(name, values) for name in value_names]
            first = (own, columns) if self.dialect in ("bigquery", "tsql") else (columns, own)
            result = Relation((*kept, *first[0], *first[1]))
        else:
            keys = _merge(self._trace(node.this, scope) for node in fields)
            aggregates = [self._trace(node, scope) | keys for node in pivot.expressions]
            labels = [identifier.name for identifier in pivot.args.get("columns") or ()]
            if labels and aggregates:
                labels = [
                    label.strip("'") if self.dialect != "snowflake" else label for label in labels
                ]
                own = [
                    ResultColumn(label, aggregates[at % len(aggregates)])
                    for at, label in enumerate(labels)
                ]
            else:
                own = [
                    _open_column("the columns of its PIVOT depend on the data", _merge(aggregates))
                ]
            result = Relation((*kept, *own))
        return result.rename(names) if names else result

    def _read_pivot_statement(self, pivot: Any, scope: _Scope) -> Relation:
        """Return the columns of DuckDB's PIVOT and UNPIVOT statements."""
        from sqlglot import exp

        self._add_source(pivot.this, scope)
        values = _merge(self._trace(expression, scope) for expression in pivot.expressions)
        relation = Relation(tuple(self._expand_star(exp.Star(), None, scope)))
        if pivot.args.get("unpivot"):
            gone = {
                column.name.casefold()
                for expression in pivot.expressions
                for column in expression.find_all(exp.Column)
            }
            into = pivot.args.get("into")
            labels = [into.this.name, *(column.name for column in into.expressions)] if into else []
            name, *own = labels or ["name", "value"]
            return Relation(
                (
                    *(column for column in relation.columns if column.name.casefold() not in gone),
                    ResultColumn(name, _NOTHING),
                    *(ResultColumn(label, values) for label in own),
                )
            )
        group = pivot.args.get("group")
        keys = [
            column
            for at, expression in enumerate(group.expressions if group else ())
            for column in self._read_projection(expression, at, scope)
        ]
        aggregates = [
            self._trace(expression, scope) for expression in pivot.args.get("using") or ()
        ]
        reason = "the columns of its PIVOT depend on the data"
        return Relation((*keys, _open_column(reason, _merge([values, *aggregates]))))

    def _read_returning(
        self, statement: Any, outer: _Scope | None, ctes: Mapping[str, Relation]
    ) -> Relation:
        """Return the columns of the RETURNING clause of a data-changing statement in a WITH."""
        from sqlglot import exp

        scope = _Scope(ctes, outer)
        target = statement.this.this if isinstance(statement.this, exp.Schema) else statement.this
        self._add_source(target, scope)
        sources = [statement.args.get("from_"), statement.args.get("using")]
        for source in sources:
            for node in _as_list(source):
                self._add_source(node.this if isinstance(node, exp.From) else node, scope)
        if where := statement.args.get("where"):
            self._trace(where, scope)
        returning = statement.args.get("returning")
        columns = [
            column
            for at, expression in enumerate(returning.expressions if returning else ())
            for column in self._read_projection(expression, at, scope)
        ]
        return Relation(tuple(columns))

    def _read_projection(self, expression: Any, at: int, scope: _Scope) -> Iterator[ResultColumn]:
        """Yield the columns that an expression in a SELECT list produces."""
        from sqlglot import exp

        plain = expression.unalias()
        if isinstance(plain, exp.Star):
            yield from self._expand_star(plain, None, scope)
        elif isinstance(plain, exp.Column) and isinstance(plain.this, exp.Star):
            parts = [part.name for part in plain.parts[:-1]]
            yield from self._expand_star(plain.this, parts, scope)
        elif isinstance(plain, exp.Dot) and isinstance(plain.expression, exp.Star):
            trace = self._trace(plain.this, scope)
            yield from self._fields_of(trace)
        elif isinstance(expression, exp.Aliases):
            traces = self._trace(expression.this, scope)
            for label in expression.aliases:
                yield ResultColumn(str(label), traces)
        elif isinstance(plain, exp.Apply) and isinstance(plain.this, exp.Star):
            yield from self._expand_star(plain.this, None, scope)
        elif isinstance(plain, exp.Explode) and self.dialect == "duckdb":
            yield self._unnest_value(plain, expression.alias, at, scope)
        elif isinstance(plain, exp.Inline):
            yield from self._fields_of(self._trace(plain.this, scope))
        elif pattern := plain.find(exp.Columns):
            yield from self._match_columns(expression, pattern, scope)
        else:
            name = expression.alias or expression.output_name
            name = "" if name == "*" else name
            yield ResultColumn(name or f"_col_{at}", self._trace(plain, scope))

    def _unnest_value(self, unnest: Any, alias: str, at: int, scope: _Scope) -> ResultColumn:
        """Return the column of DuckDB's `unnest` in SELECT. It produces a row for each element of a
        list, but a column for each field of a struct, and types are not known here."""
        trace = self._trace(unnest.this, scope)
        if trace.row is not None or any(
            field.startswith(f"{name}.".casefold())
            for path, name in trace.columns
            for field in self._fields.get(path, {})
        ):
            reason = "unnest gives a column for each field if it is a struct"
            return _open_column(reason, _merge([trace]))
        return ResultColumn(alias or f"_col_{at}", trace)

    def _match_columns(
        self, expression: Any, pattern: Any, scope: _Scope
    ) -> Iterator[ResultColumn]:
        """Yield the columns of an expression with COLUMNS(…), one for each column that matches."""
        from sqlglot import exp

        selector = pattern.this
        star = selector if isinstance(selector, exp.Star) else exp.Star()
        columns = list(self._expand_star(star, None, scope, is_used=False))
        if isinstance(selector, exp.Literal):
            try:
                compiled = re.compile(selector.name)
            except re.error:
                compiled = re.compile("")
            columns = [
                column for column in columns if column.is_open or compiled.search(column.name)
            ]
        elif isinstance(selector, exp.Array):
            names = {literal.name.casefold() for literal in selector.expressions}
            columns = [column for column in columns if column.name.casefold() in names]
        elif not isinstance(selector, exp.Star):
            reason = "it has COLUMNS(…) with a condition"
            columns = [_open_column(reason, _merge(column.trace for column in columns))]
        for column in columns:
            self._pattern.append((column.name, column.trace))
            self._note_use(column.trace)
            trace = self._trace(expression.unalias(), scope)
            self._pattern.pop()
            name = expression.alias.replace("\\0", column.name) or column.name
            yield ResultColumn(name, trace, column.is_open)

    def _fields_of(self, trace: ColumnTrace) -> list[ResultColumn]:
        """Return the columns that `.*` produces for a struct or row."""
        if trace.row is not None:
            for column in trace.row.columns:
                self._note_use(column.trace)
            return list(trace.row.columns)
        names: dict[str, None] = {}
        for path, name in trace.columns:
            start = f"{name}.".casefold()
            for folded, exact in self._fields.get(path, {}).items():
                if folded.startswith(start) and "." not in folded[len(start) :]:
                    names[exact.rpartition(".")[2]] = None
        if names:
            return [ResultColumn(name, self._find_field(trace, name)) for name in names]
        return [_open_column("the fields of its struct are not known", _merge([trace]))]

    def _note_use(self, trace: ColumnTrace) -> None:
        for path, name in trace.columns:
            self.used.setdefault(path, {})[name] = None

    def _expand_star(
        self, star: Any, qualifier: list[str] | None, scope: _Scope, *, is_used: bool = True
    ) -> list[ResultColumn]:
        """Return the columns that a `*` selects, from all relations or from the one that the
        qualifier names."""
        columns = self._all_columns(qualifier, scope)
        left_out = {
            node.name.casefold()
            for node in _as_list(star.args.get("except_") or star.args.get("except"))
        }
        replaced = {
            node.alias.casefold(): self._trace(node.unalias(), scope)
            for node in _as_list(star.args.get("replace"))
        }
        new_names = {
            node.this.name.casefold(): node.alias for node in _as_list(star.args.get("rename"))
        }
        pattern = star.args.get("ilike")
        if pattern is not None:
            words = re.escape(pattern.name).replace("%", ".*").replace("_", ".")
            columns = [
                column
                for column in columns
                if column.is_open or re.fullmatch(words, column.name, re.IGNORECASE)
            ]
        result = []
        for column in columns:
            folded = column.name.casefold()
            if folded in left_out and not column.is_open:
                continue
            if is_used:
                self._note_use(column.trace)
            trace = replaced.get(folded, column.trace)
            name = new_names.get(folded, column.name)
            result.append(ResultColumn(name, trace, column.is_open))
        return result

    def _all_columns(self, qualifier: list[str] | None, scope: _Scope) -> list[ResultColumn]:
        if qualifier:
            around: _Scope | None = scope
            while around is not None:
                relations = around.find_relations(qualifier)
                if relations:
                    return list(relations[0].columns)
                around = around.outer
            return self._fields_of(self._resolve(qualifier, scope))
        if not scope.relations:
            return [_open_column("its * has no table")]
        if scope.is_natural:
            return [
                _open_column("the columns of its NATURAL JOIN are not known", scope.open_reasons())
            ]
        columns = [column for _, relation in scope.relations for column in relation.columns]
        first = []
        if scope.merged:
            by_name: dict[str, ResultColumn] = {}
            for column in columns:
                if column.name.casefold() in scope.merged and not column.is_open:
                    by_name.setdefault(column.name.casefold(), column)
            for column in columns:
                self._note_use(column.trace)
            first = [
                ResultColumn(by_name[name].name if name in by_name else name, trace)
                for name, trace in scope.merged.items()
            ]
        if self.dialect in ("clickhouse", "duckdb"):
            # The merged column keeps its place in the left table.
            rest, seen = list[ResultColumn](), set[str]()
            for column in columns:
                folded = column.name.casefold()
                if column.is_open or folded not in scope.merged:
                    rest.append(column)
                elif folded not in seen:
                    seen.add(folded)
                    rest.append(ResultColumn(column.name, scope.merged[folded]))
            return rest
        return [
            *first,
            *(
                column
                for column in columns
                if column.is_open or column.name.casefold() not in scope.merged
            ),
        ]

    def _trace(self, expression: Any, scope: _Scope) -> ColumnTrace:
        """Return the trace of an expression."""
        from sqlglot import exp

        while isinstance(expression, exp.Paren | exp.Alias):
            expression = expression.this
        special = self._trace_node(expression, scope)
        if special is not None:
            return special
        traces: list[ColumnTrace] = []
        stack = [expression]
        while stack:
            node = stack.pop()
            trace = self._trace_node(node, scope) if node is not expression else None
            if trace is None:
                stack += reversed(list(node.iter_expressions()))
            elif trace.sources or trace.reasons:
                traces.append(trace)
        return _merge(traces)

    def _trace_node(self, node: Any, scope: _Scope) -> ColumnTrace | None:
        """Return the trace of a node that needs special treatment, or `None` if its trace is that
        of its parts."""
        from sqlglot import exp

        match node:
            case exp.Column():
                if isinstance(node.this, exp.Star):
                    parts = [part.name for part in node.parts[:-1]]
                    return _trace_row(Relation(tuple(self._expand_star(node.this, parts, scope))))
                if isinstance(node.this, exp.Parameter):
                    qualifier = [part.name for part in node.parts[:-1]]
                    return self._trace_number(node.this.name, qualifier, scope)
                return self._resolve([part.name for part in node.parts], scope)
            case exp.Dot():
                return self._trace_dots(node, scope)
            case exp.Star():
                return _trace_row(Relation(tuple(self._expand_star(node, None, scope))))
            case exp.Count(this=exp.Star()):
                return _NOTHING
            case exp.Columns() if self._pattern:
                return self._pattern[-1][1]
            case exp.Exists():
                if isinstance(node.this, exp.Query):
                    self._read_query(node.this, scope, scope.ctes)
                    return _NOTHING
                return None
            case exp.Query() | exp.Table():
                relation = self._read_query(node, scope, scope.ctes)
                is_struct = str(node.args.get("kind") or "").upper() == "STRUCT"
                if len(relation.columns) == 1 and not is_struct:
                    return relation.columns[0].trace
                return _trace_row(relation)
            case exp.Struct():
                return _trace_row(
                    Relation(
                        tuple(
                            ResultColumn(
                                value.name
                                if isinstance(value, exp.PropertyEQ)
                                else value.alias_or_name,
                                self._trace(
                                    value.expression
                                    if isinstance(value, exp.PropertyEQ)
                                    else value,
                                    scope,
                                ),
                            )
                            for value in node.expressions
                        )
                    )
                )
            case exp.Bracket():
                return self._trace_element(node, scope)
            case exp.ArrayAgg() | exp.AnyValue() | exp.First() | exp.Last():
                return self._trace_aggregate(node.this, scope)
            case exp.Array() if len(node.expressions) == 1:
                return self._trace(node.expressions[0], scope)
            case exp.Explode():
                return self._trace(node.this, scope)
            case exp.Kwarg() | exp.PropertyEQ():
                return self._trace(node.expression, scope)
            case exp.Lambda() | exp.Comprehension():
                return self._trace_variables(node, scope)
            case exp.Window() if node.text("alias"):
                definition = scope.windows.get(node.text("alias").casefold())
                parts = [node.this]
                for window in (node, definition):
                    if window is not None:
                        parts += _as_list(window.args.get("partition_by"))
                        parts += _as_list(window.args.get("order"))
                return _merge(self._trace(part, scope) for part in parts)
            case exp.Parameter(this=exp.Literal()) if (
                self.dialect == "snowflake" and scope.relations
            ):
                return self._trace_number(node.this.name, None, scope)
            case exp.PositionalColumn():
                return self._trace_number(node.this.name, None, scope)
            case exp.Tuple():
                columns = (
                    ResultColumn(str(number), self._trace(value, scope))
                    for number, value in enumerate(node.expressions, start=1)
                )
                return _trace_row(Relation(tuple(columns)))
            case exp.StructExtract(expression=exp.Literal()):
                return self._find_field(self._trace(node.this, scope), node.expression.name)
            case exp.Identifier() | exp.DataType() | exp.Literal():
                return _NOTHING
        return None

    def _trace_aggregate(self, node: Any, scope: _Scope) -> ColumnTrace:
        """Return the trace of the elements of an aggregate, including the expressions that order
        them, since these decide which elements it contains."""
        from sqlglot import exp

        order: list[Any] = []
        while isinstance(node, exp.Order | exp.Limit | exp.Distinct | exp.IgnoreNulls):
            inner = node.this
            if isinstance(node, exp.Order):
                order += node.expressions
            elif inner is None and len(node.expressions) == 1:
                inner = node.expressions[0]
            if inner is None:
                return _merge(self._trace(part, scope) for part in node.iter_expressions())
            node = inner
        trace = self._trace(node, scope)
        more = _merge(self._trace(part, scope) for part in order)
        if trace.row is None or not order:
            return trace | more if order else trace
        return _trace_row(
            Relation(
                tuple(replace(column, trace=column.trace | more) for column in trace.row.columns)
            )
        )

    def _trace_variables(self, node: Any, scope: _Scope) -> ColumnTrace:
        """Return the trace of a lambda or a list comprehension, without its variables."""
        from sqlglot import exp

        inner = _Scope(scope.ctes, scope)
        if isinstance(node, exp.Comprehension):
            trace = self._trace(node.args["iterator"], scope)
            names = [node.expression.name]
            body = [node.this, node.args.get("condition")]
        else:
            trace, names, body = _NOTHING, [name.name for name in node.expressions], [node.this]
        columns = tuple(ResultColumn(name, trace) for name in names)
        inner.relations = [("", Relation(columns))]
        values = [self._trace(part, inner) for part in body if part is not None]
        return _merge([trace, *values])

    def _trace_element(self, node: Any, scope: _Scope) -> ColumnTrace:
        from sqlglot import exp

        trace = self._trace(node.this, scope)
        keys = node.expressions
        if len(keys) == 1 and isinstance(keys[0], exp.Literal):
            return self._find_field(trace, keys[0].name) if keys[0].is_string else trace
        return _merge([trace, *(self._trace(key, scope) for key in keys)])

    def _trace_number(self, number: str, qualifier: list[str] | None, scope: _Scope) -> ColumnTrace:
        """Return the trace of a column given by its number, such as `$1` in Snowflake."""
        columns = self._all_columns(qualifier, scope)
        at = int(number) - 1 if number.isdigit() else len(columns)
        opens = [column.trace for column in columns[: at + 1] if column.is_open]
        if opens:
            return _merge(opens)
        if not 0 <= at < len(columns):
            return ColumnTrace(reasons=(f"there is no column {number}",))
        self._note_use(columns[at].trace)
        return columns[at].trace

    def _trace_dots(self, node: Any, scope: _Scope) -> ColumnTrace:
        from sqlglot import exp

        names: list[str] = []
        base, more = node, list[Any]()
        while isinstance(base, exp.Dot):
            if isinstance(base.expression, exp.Identifier | exp.Literal | exp.Var):
                names.append(base.expression.name)
            else:
                # A method call, or an element of a field.
                more.append(base.expression)
                names.clear()
            base = base.this
        names.reverse()
        if isinstance(base, exp.Identifier):
            # A variable of a lambda.
            trace = (
                self._resolve([base.name, *names], scope) if _binds(scope, base.name) else _NOTHING
            )
        elif isinstance(base, exp.Column) and not isinstance(base.this, exp.Star):
            trace = self._resolve([*(part.name for part in base.parts), *names], scope)
        else:
            trace = self._trace(base, scope)
            for name in names:
                trace = self._find_field(trace, name)
        values = []
        for part in more:
            if isinstance(part, exp.Bracket):
                trace = self._find_field(trace, part.this.name)
                values += [self._trace(key, scope) for key in part.expressions]
            elif not isinstance(part, exp.Star):
                values.append(self._trace(part, scope))
        return _merge([trace, *values]) if more else trace

    def _find_field(self, trace: ColumnTrace, name: str) -> ColumnTrace:
        """Return the trace of a field of a struct or row."""
        if trace.row is not None:
            columns = trace.row.find(name)
            if len(columns) == 1:
                self._note_use(columns[0].trace)
                return columns[0].trace
            if trace.row.open_columns:
                return _merge(column.trace for column in trace.row.open_columns)
            return ColumnTrace(reasons=(f"its row has no field '{name}'",))
        fields = [
            (path, exact)
            for path, column in trace.columns
            if (exact := self._fields.get(path, {}).get(f"{column}.{name}".casefold())) is not None
        ]
        if not fields:
            return ColumnTrace(trace.sources, trace.reasons)
        for path, column in trace.columns:
            # Only the field counts as used, not the whole struct.
            self.used.get(path, {}).pop(column, None)
        field_trace = ColumnTrace(frozenset(fields), columns=tuple(fields))
        self._note_use(field_trace)
        return field_trace

    def _find_in(self, scope: _Scope, name: str) -> ColumnTrace | None:
        """Return the trace of a column of a scope's own relations, or `None` if none has it."""
        folded = name.casefold()
        if folded in scope.merged:
            return scope.merged[folded]
        hits = [
            (label, column) for label, relation in scope.relations for column in relation.find(name)
        ]
        if not hits:
            return None
        for _, column in hits:
            self._note_use(column.trace)
        if len(hits) == 1:
            return hits[0][1].trace
        if scope.is_natural:
            return _merge(column.trace for _, column in hits)
        labels = dict.fromkeys(label or "a function" for label, _ in hits)
        if len(labels) == 1:
            reason = f"columns of {next(iter(labels))} differ only in the case of letters: '{name}'"
        else:
            reason = f"'{name}' may be a column of {' or '.join(labels)}"
        return ColumnTrace(reasons=(reason,))

    def _explain_missing(self, name: str, scope: _Scope) -> ColumnTrace:
        if scope.has_open():
            return scope.open_reasons()
        labels = [".".join(relation.path or ()) or label for label, relation in scope.relations]
        labels = [label for label in labels if label]
        if len(labels) == 1:
            return ColumnTrace(reasons=(f"{labels[0]} has no column '{name}'",))
        names = ", ".join(labels) or "its tables"
        return ColumnTrace(reasons=(f"none of {names} has a column '{name}'",))

    def _resolve(self, parts: list[str], scope: _Scope) -> ColumnTrace:
        """Return the trace of a name: of a column, a field of one, or a whole row."""
        around: _Scope | None = scope
        trace: ColumnTrace | None
        while around is not None:
            for length in range(len(parts) - 1, 0, -1):
                relations = around.find_relations(parts[:length])
                if relations:
                    trace = self._resolve_member(relations, parts, length, around)
                    if trace is not None:
                        return trace
            name, *fields = parts
            if self.dialect == "clickhouse" and not fields and name.casefold() in around.aliases:
                return around.aliases[name.casefold()]
            trace = self._find_in(around, name)
            if trace is None and (rows := around.find_relations([name])):
                trace = _trace_row(rows[0])
                if not fields:
                    for column in rows[0].columns:
                        self._note_use(column.trace)
            if trace is None and around.sees_aliases and not around.has_open():
                trace = around.aliases.get(name.casefold())
            if trace is not None:
                for part in fields:
                    trace = self._find_field(trace, part)
                return trace
            if name.casefold() in self.variables:
                return _NOTHING
            if not fields and name.casefold() in _VALUES:
                return _NOTHING
            if around.has_open():
                return self._explain_missing(name, around)
            around = around.outer
        if len(parts) > 1:
            return ColumnTrace(
                reasons=(f"there is no table {'.'.join(parts[:-1])} for '{parts[-1]}'",)
            )
        return self._explain_missing(parts[0], scope)

    def _resolve_member(
        self, relations: Sequence[Relation], parts: Sequence[str], length: int, scope: _Scope
    ) -> ColumnTrace | None:
        """Return the trace of a column of a relation given by its name, or `None` if the name may
        also be that of a struct."""
        name, *fields = parts[length:]
        columns = [column for relation in relations for column in relation.find(name)]
        if len(columns) == 1:
            trace = columns[0].trace
            self._note_use(trace)
            for part in fields:
                trace = self._find_field(trace, part)
            return trace
        if len(columns) > 1:
            return ColumnTrace(reasons=(f"{'.'.join(parts[: length + 1])} is not unique",))
        if any(relation.find(parts[0]) for _, relation in scope.relations):
            return None
        opens = [column for relation in relations for column in relation.open_columns]
        if opens:
            return _merge(column.trace for column in opens)
        label = ".".join(relations[0].path or parts[:length])
        return ColumnTrace(reasons=(f"{label} has no column '{name}'",))


def _trace_row(relation: Relation) -> ColumnTrace:
    """Return the trace of a whole row, or of a struct with the columns of a relation as its
    fields."""
    trace = _merge(column.trace for column in relation.columns)
    return ColumnTrace(trace.sources, trace.reasons, row=relation)


def _is_join_list(source: Any) -> bool:
    """Return whether a subquery is a list of joined tables in parentheses."""
    from sqlglot import exp

    inner = source.this
    if not isinstance(source, exp.Subquery) or isinstance(inner, exp.Table):
        return isinstance(source, exp.Subquery)
    is_joined = isinstance(inner, exp.Subquery) and (inner.alias or inner.args.get("joins"))
    return bool(is_joined) or (isinstance(inner, exp.Subquery) and _is_join_list(inner))


def _binds(scope: _Scope, name: str) -> bool:
    return any(relation.find(name) for label, relation in scope.relations if not label)


def _traces(relation: Relation) -> list[tuple[frozenset[SourceColumn], frozenset[str]]]:
    return [(column.trace.sources, frozenset(column.trace.reasons)) for column in relation.columns]


def _branches(query: Any) -> list[Any]:
    """Return the queries that a UNION combines, without recursion into its left side (it may be
    nested deeply)."""
    from sqlglot import exp

    branches = []
    node = query
    while isinstance(node, exp.SetOperation) and (node is query or not node.args.get("with_")):
        branches.append(node.expression)
        node = node.this
    branches.append(node)
    branches.reverse()
    return branches


def _refers_to(query: Any, name: str) -> bool:
    from sqlglot import exp

    return any(
        len(table.parts) == 1 and table.name.casefold() == name
        for table in query.find_all(exp.Table)
    )


def _function_name(function: Any) -> str:
    from sqlglot import exp

    if isinstance(function, exp.Func) and not isinstance(function, exp.Anonymous):
        return str(function.sql_name()).lower()
    return str(function.name or function.key)


def _as_list(value: Any) -> list[Any]:
    if value is None or isinstance(value, bool):
        return []
    return list(value) if isinstance(value, list) else [value]


def table_path(table: Any) -> TablePath:
    """Return the names of an sqlglot table. The name of a temporary table of SQL Server begins with
    `#`, that of a variable with `@`."""
    from sqlglot import exp

    if isinstance(table.this, exp.Parameter):
        return (f"@{table.this.name}",)
    return tuple(
        f"#{part.name}" if part.args.get("temporary") else part.name for part in table.parts
    )
