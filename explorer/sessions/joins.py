"""How two tables are joined: by declared keys, by where their columns come from, by what they
mean, or by what they are called."""

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
"""The reasons why two columns can be joined, the strongest first.

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
    """A pair of columns, by their paths without types, and why they can be joined, the strongest
    reason first. `through` names the columns or terms that they have in common."""

    left: str
    right: str
    reasons: tuple[JoinReason, ...]
    through: tuple[str, ...] = ()


async def read_joins(
    catalog: "AsyncCatalog", left: str | Urn, right: str | Urn
) -> tuple[Join, ...]:
    """Return the pairs of columns by which two tables can be joined, the surest first.

    Column lineage is followed up to six tables upstream; guesses do not count. Requests as for
    `explorer.graph.lineage.read_columns`, twice, and one. Raises `NotFound` if there is no such
    table, and `InvalidInput` for what has no columns.
    """
    urns = (Urn.parse(left), Urn.parse(right))
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


def find_joins(left: "Entity", right: "Entity", lineage: "nx.DiGraph") -> tuple[Join, ...]:
    """Return the pairs of columns of two tables, given the column lineage upstream of both. Of
    pairs without a declared key, those that identify something leave out the others."""
    found: dict[tuple[str, str], dict[JoinReason, str]] = defaultdict(dict)
    for pair, reason, through in (
        *_by_keys(left, right),
        *_by_lineage(left, right, lineage),
        *_by_meaning(left, right),
    ):
        found[pair].setdefault(reason, through)
    keys = {
        column.path.raw for entity in (left, right) for column in entity.schema if column.is_key
    }

    def identifies(pair: tuple[str, str]) -> bool:
        return all(path in keys or _IDENTIFIES.search(FieldPath(path).simple) for path in pair)

    def rank(pair: tuple[str, str]) -> tuple[int, int, tuple[str, str]]:
        return REASONS.index(_in_order(found[pair])[0]), -len(found[pair]), pair

    pairs = [pair for pair in found if found[pair].keys() & set(REASONS[:2]) or identifies(pair)]
    return tuple(
        Join(
            FieldPath(pair[0]).simple,
            FieldPath(pair[1]).simple,
            _in_order(found[pair]),
            tuple(dict.fromkeys(filter(None, map(found[pair].get, REASONS)))),
        )
        for pair in sorted(pairs or found, key=rank)
    )


_Found = tuple[tuple[str, str], JoinReason, str]


def _in_order(reasons: dict[JoinReason, str]) -> tuple[JoinReason, ...]:
    return tuple(reason for reason in REASONS if reason in reasons)


def _by_keys(left: "Entity", right: "Entity") -> Iterator[_Found]:
    keys = foreign_keys(left), foreign_keys(right)
    for path, key in keys[0].items():
        if key.dataset == right.urn:
            yield (path, key.column), "foreign key", ""
    for path, key in keys[1].items():
        if key.dataset == left.urn:
            yield (key.column, path), "foreign key", ""
    for path, key in keys[0].items():
        for other, other_key in keys[1].items():
            if key == other_key and key.dataset not in (left.urn, right.urn):
                yield (path, other), "shared key", f"{key.dataset.name}.{key.column}"


def _by_lineage(left: "Entity", right: "Entity", lineage: "nx.DiGraph") -> Iterator[_Found]:
    import networkx as nx

    said = [(up, down) for up, down, guess in lineage.edges.data("guess") if not guess]
    graph = lineage.edge_subgraph(said)
    above = {
        entity.urn: {
            column.path.raw: nx.ancestors(graph, node)
            for column in entity.schema
            if (node := column_urn(entity.urn, column.path.raw)) in graph
        }
        for entity in (left, right)
    }
    for path, origins in above[left.urn].items():
        for other, other_origins in above[right.urn].items():
            node, other_node = column_urn(left.urn, path), column_urn(right.urn, other)
            if node in other_origins or other_node in origins:
                yield (path, other), "lineage", ""
            elif common := origins & other_origins:
                lowest = [origin for origin in common if common.isdisjoint(graph.succ[origin])]
                yield (path, other), "common origin", _column_name(min(lowest or common))


def _column_name(urn: str) -> str:
    parts = split_column(urn)
    if parts is None:
        return urn
    return f"{Urn.label(parts[0])}.{FieldPath(parts[1]).simple}"


def _by_meaning(left: "Entity", right: "Entity") -> Iterator[_Found]:
    def name_of(column: "Column") -> str:
        return column.path.simple.rpartition(".")[2].casefold()

    for column in left.schema:
        for other in right.schema:
            pair = (column.path.raw, other.path.raw)
            for term in column.terms:
                if term in other.terms:
                    yield pair, "term", term.name
            if name_of(column) == name_of(other):
                yield pair, "name", ""
