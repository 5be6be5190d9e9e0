"""How two tables can be joined: by declared keys, by columns of the same origin, by shared glossary
terms, or by column names."""

import asyncio
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, get_args

from explorer.errors import InvalidInput, NotFound
from explorer.metadata.fieldpath import FieldPath, column_urn, split_column
from explorer.metadata.urn import Urn
from explorer.views.columns import foreign_keys

if TYPE_CHECKING:
    import networkx as nx

    from explorer.client import AsyncCatalog
    from explorer.client.entity import Column, Entity

JoinReason = Literal["foreign key", "shared key", "lineage", "common origin", "term", "name"]
REASONS: Final[tuple[JoinReason, ...]] = get_args(JoinReason)
"""The reasons why two columns can be joined, strongest first.

`foreign key`    one is declared to refer to the other
`shared key`     both are declared to refer to the same column of a third table
`lineage`        one is made from the other
`common origin`  both are made from the same column
`term`           both have the same glossary term
`name`           both have the same name
"""

_HOPS: Final = 6
_IDENTIFIES: Final = re.compile(r"(^|_)(id|ids|key|code|sku|uuid|number|no)$|[a-z]Id$")


@dataclass(frozen=True, slots=True)
class Join:
    """A pair of columns, as paths without types, and the reasons why they can be joined, strongest
    first. `through` names the columns or terms that they have in common."""

    first: str
    second: str
    reasons: tuple[JoinReason, ...]
    through: tuple[str, ...] = ()


async def read_joins(
    catalog: "AsyncCatalog", first: str | Urn, second: str | Urn
) -> tuple[Join, ...]:
    """Return the pairs of columns by which two tables can be joined, most certain first.

    Column lineage is followed up to six tables upstream; guessed edges are ignored. Costs twice the
    requests of `explorer.graph.lineage.read_columns`, and one more. Raises `NotFound` if there is
    no such table, and `InvalidInput` for an entity without columns.
    """
    urns = (Urn.parse(first), Urn.parse(second))
    entities = await catalog.entities(urns)
    for urn in urns:
        if urn not in entities or not entities[urn].exists:
            raise NotFound(f"there is no {urn} in this catalog")
        if urn.entity_type != "dataset":
            raise InvalidInput(f"only datasets are joined; {urn} is a {urn.entity_type}")

    def load() -> None:
        # networkx takes a while to import.
        import explorer.graph.lineage  # noqa: F401

    await asyncio.to_thread(load)
    import networkx as nx

    from explorer.graph.lineage import read_columns

    upstream = [await read_columns(catalog, urn, None, "UPSTREAM", hops=_HOPS) for urn in urns]
    return find_joins(entities[urns[0]], entities[urns[1]], nx.compose(*upstream))


def find_joins(first: "Entity", second: "Entity", lineage: "nx.DiGraph") -> tuple[Join, ...]:
    """Return the pairs of columns by which two tables can be joined, given the column lineage
    upstream of both. Among pairs without a declared key, identifying columns are preferred: if
    there are any, all others are left out."""
    reasons: dict[tuple[str, str], dict[JoinReason, str]] = defaultdict(dict)
    for pair, reason, through in (
        *_by_keys(first, second),
        *_by_lineage(first, second, lineage),
        *_by_meaning(first, second),
    ):
        reasons[pair].setdefault(reason, through)
    keys = {
        column.path.raw for entity in (first, second) for column in entity.schema if column.is_key
    }

    def identifies(pair: tuple[str, str]) -> bool:
        return all(path in keys or _IDENTIFIES.search(FieldPath(path).simple) for path in pair)

    def rank(pair: tuple[str, str]) -> tuple[int, int, tuple[str, str]]:
        return REASONS.index(_in_order(reasons[pair])[0]), -len(reasons[pair]), pair

    pairs = [
        pair for pair in reasons if reasons[pair].keys() & set(REASONS[:2]) or identifies(pair)
    ]
    return tuple(
        Join(
            FieldPath(pair[0]).simple,
            FieldPath(pair[1]).simple,
            _in_order(reasons[pair]),
            tuple(dict.fromkeys(filter(None, map(reasons[pair].get, REASONS)))),
        )
        for pair in sorted(pairs or reasons, key=rank)
    )


_Found = tuple[tuple[str, str], JoinReason, str]


def _in_order(reasons: dict[JoinReason, str]) -> tuple[JoinReason, ...]:
    return tuple(reason for reason in REASONS if reason in reasons)


def _by_keys(first: "Entity", second: "Entity") -> Iterator[_Found]:
    keys = foreign_keys(first), foreign_keys(second)
    for path, key in keys[0].items():
        if key.dataset == second.urn:
            yield (path, key.column), "foreign key", ""
    for path, key in keys[1].items():
        if key.dataset == first.urn:
            yield (key.column, path), "foreign key", ""
    for path, key in keys[0].items():
        for second_column, other_key in keys[1].items():
            if key == other_key and key.dataset not in (first.urn, second.urn):
                yield (path, second_column), "shared key", f"{key.dataset.name}.{key.column}"


def _by_lineage(first: "Entity", second: "Entity", lineage: "nx.DiGraph") -> Iterator[_Found]:
    import networkx as nx

    ingested_edges = [(up, down) for up, down, guess in lineage.edges.data("guess") if not guess]
    graph = lineage.edge_subgraph(ingested_edges)
    ancestors = {
        entity.urn: {
            column.path.raw: nx.ancestors(graph, node)
            for column in entity.schema
            if (node := column_urn(entity.urn, column.path.raw)) in graph
        }
        for entity in (first, second)
    }
    for path, origins in ancestors[first.urn].items():
        for second_column, other_origins in ancestors[second.urn].items():
            node, other_node = column_urn(first.urn, path), column_urn(second.urn, second_column)
            if node in other_origins or other_node in origins:
                yield (path, second_column), "lineage", ""
            elif common := origins & other_origins:
                lowest = [origin for origin in common if common.isdisjoint(graph.succ[origin])]
                yield (path, second_column), "common origin", _column_name(min(lowest or common))


def _column_name(urn: str) -> str:
    parts = split_column(urn)
    if parts is None:
        return urn
    return f"{Urn.label(parts[0])}.{FieldPath(parts[1]).simple}"


def _by_meaning(first: "Entity", second: "Entity") -> Iterator[_Found]:
    def name_of(column: "Column") -> str:
        return column.path.simple.rpartition(".")[2].casefold()

    for column in first.schema:
        for second_column in second.schema:
            pair = (column.path.raw, second_column.path.raw)
            for term in column.terms:
                if term in second_column.terms:
                    yield pair, "term", term.name
            if name_of(column) == name_of(second_column):
                yield pair, "name", ""
