"""Makes dbt projects of any size, some of their models ephemeral, whose column lineage is known."""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

_WIDTH = 8
_REF = re.compile(r"\{\{ (?:ref|source)\((?:'raw', )?'(\w+)'\) \}\}")
_TYPES = ("INTEGER", "VARCHAR", "DECIMAL(10,2)", "DATE")
Edges = dict[str, set[str]]


@dataclass
class MadeProject:
    """The artifacts of a project, and by column, as `model.column`, the columns that it is made
    from."""

    nodes: list[dict[str, Any]] = field(default_factory=list)
    catalog: dict[str, Any] = field(default_factory=lambda: {"nodes": {}, "sources": {}})
    edges: Edges = field(default_factory=dict)
    ephemeral: set[str] = field(default_factory=set)

    @property
    def edge_count(self) -> int:
        """The number of pairs of columns."""
        return sum(map(len, self.edges.values()))


def _stage(above: Sequence[str]) -> tuple[str, list[set[str]]]:
    """Rename the columns of one table."""
    (one, *_) = above
    parts = [f"upper(c{at}) as d{at}" if at % 3 else f"c{at} as d{at}" for at in range(_WIDTH)]
    names = ", ".join(f"d{at} as c{at}" for at in range(_WIDTH))
    sql = (
        f"with source as (select * from {{{{ {one} }}}}),\n"
        f"renamed as (select {', '.join(parts)} from source)\nselect {names} from renamed"
    )
    return sql, [{f"0.c{at}"} for at in range(_WIDTH)]


def _join(above: Sequence[str]) -> tuple[str, list[set[str]]]:
    """Join two tables; the last column is of both."""
    parts = [f"{'lr'[at % 2]}.c{at}" for at in range(_WIDTH - 1)]
    last = f"l.c{_WIDTH - 1} + r.c0 as c{_WIDTH - 1}"
    sql = (
        f"select {', '.join(parts)}, {last}\nfrom {{{{ {above[0]} }}}} l\n"
        f"left join {{{{ {above[1]} }}}} r on l.c0 = r.c0 where r.c1 <> 'x'"
    )
    return sql, [*({f"{at % 2}.c{at}"} for at in range(_WIDTH - 1)), {f"0.c{_WIDTH - 1}", "1.c0"}]


def _sum(above: Sequence[str]) -> tuple[str, list[set[str]]]:
    """Sum up the columns of a table under conditions."""
    parts = [f"sum(case when c1 > 0 then c{at} end) as c{at}" for at in range(2, _WIDTH)]
    sql = f"select c0, c1, {', '.join(parts)} from {{{{ {above[0]} }}}} group by c0, c1"
    return sql, [{"0.c0"}, {"0.c1"}, *({"0.c1", f"0.c{at}"} for at in range(2, _WIDTH))]


def _union(above: Sequence[str]) -> tuple[str, list[set[str]]]:
    """Join the rows of two tables, whose columns have another order."""
    left = ", ".join(f"c{at}" for at in range(_WIDTH))
    right = ", ".join(f"c{at}" for at in reversed(range(_WIDTH)))
    sql = (
        f"select {left} from {{{{ {above[0]} }}}}\nunion all\n"
        f"select {right} from {{{{ {above[1]} }}}}"
    )
    return sql, [{f"0.c{at}", f"1.c{_WIDTH - 1 - at}"} for at in range(_WIDTH)]


def _window(above: Sequence[str]) -> tuple[str, list[set[str]]]:
    """Select all columns of a table through a subquery, but for one that is a window's."""
    sql = (
        f"with a as (select * from {{{{ {above[0]} }}}})\n"
        "select t.* from (select a.* exclude (c7), "
        "row_number() over (partition by a.c1 order by a.c2) as c7 from a) t"
    )
    return sql, [*({f"0.c{at}"} for at in range(_WIDTH - 1)), {"0.c1", "0.c2"}]


_KINDS: Sequence[Callable[[Sequence[str]], tuple[str, list[set[str]]]]]
_KINDS = (_stage, _join, _sum, _union, _window)


def make_project(models: int, *, seed: int = 7) -> MadeProject:
    """Make a project with a number of models, each of earlier ones or of sources."""
    made, choose = MadeProject(), random.Random(seed)
    sql_by_name: dict[str, str] = {}
    nodes: dict[str, dict[str, Any]] = {}
    columns = [f"c{at}" for at in range(_WIDTH)]

    def add(name: str, kind: str, schema: str, **more: Any) -> None:
        unique = f"{kind}.shop.raw.{name}" if kind == "source" else f"{kind}.shop.{name}"
        nodes[name] = {
            "resource_type": kind,
            "unique_id": unique,
            "package_name": "shop",
            "name": name,
            "database": "wh",
            "schema": schema,
            "alias": name,
            "columns": {},
            "original_file_path": f"models/{name}.sql",
            **more,
        }
        made.nodes.append(nodes[name])
        if name not in made.ephemeral:
            types = {
                one: {"name": one, "index": at, "type": _TYPES[at % len(_TYPES)]}
                for at, one in enumerate(columns)
            }
            part = "sources" if kind == "source" else "nodes"
            made.catalog[part][unique] = {"columns": types}

    raw = [f"raw{number}" for number in range(max(models // 20, 2))]
    for name in raw:
        add(name, "source", "raw", source_name="raw", identifier=name)
    names: list[str] = []
    for number in range(models):
        name = f"m{number:04}"
        kind = _stage if number < len(raw) else choose.choice(_KINDS)
        pool = raw if number < len(raw) else names[-50:]
        above = choose.sample(pool, 2)
        if number % 7 == 3:
            made.ephemeral.add(name)
        calls = [f"source('raw', '{one}')" if one in raw else f"ref('{one}')" for one in above]
        template, sources = kind(calls)
        used = [one for one in above if f"'{one}'" in template]
        sql_by_name[name] = template
        compiled, ctes = _compile(template, nodes, made.ephemeral, sql_by_name)
        if ctes:
            body = re.sub(r"^with ", "", compiled)
            joined = ",\n".join(f"__dbt__cte__{one} as (\n{sql}\n)" for one, sql in ctes.items())
            compiled = f"with {joined}{', ' if body != compiled else ' '}{body}"
        materialized = "ephemeral" if name in made.ephemeral else choose.choice(("table", "view"))
        add(
            name,
            "model",
            "marts",
            raw_code=template,
            compiled_code=compiled,
            language="sql",
            config={"materialized": materialized},
            depends_on={"nodes": [nodes[one]["unique_id"] for one in used]},
        )
        names.append(name)
        for column, parts in zip(columns, sources, strict=True):
            made.edges[f"{name}.{column}"] = {
                f"{above[int(at)]}.{of}" for at, _, of in (part.partition(".") for part in parts)
            }
    return made


def _compile(
    template: str,
    nodes: dict[str, dict[str, Any]],
    ephemeral: set[str],
    templates: dict[str, str],
) -> tuple[str, dict[str, str]]:
    """Return the SQL of a template as dbt compiles it, and that of the ephemeral models in it, each
    after those that it reads."""
    ctes: dict[str, str] = {}

    def relation(match: re.Match[str]) -> str:
        name = match[1]
        if name not in ephemeral:
            return f'"wh"."{nodes[name]["schema"]}"."{name}"'
        if name not in ctes:
            sql, inner = _compile(templates[name], nodes, ephemeral, templates)
            ctes.update(inner)
            ctes[name] = sql
        return f"__dbt__cte__{name}"

    return _REF.sub(relation, template), ctes
