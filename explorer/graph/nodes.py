"""The attributes of a graph's nodes, from their URNs and from the catalog, and subgraphs selected
by them."""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

from explorer.client.display import line
from explorer.client.entity import SUMMARY_ASPECTS, Entity
from explorer.errors import InvalidInput, InvalidUrn, UnknownName
from explorer.metadata.names import singular
from explorer.metadata.urn import Urn
from explorer.query.filters import Criterion, Filter

if TYPE_CHECKING:
    import networkx as nx

    from explorer.client import AsyncCatalog

    _Graph = TypeVar("_Graph", bound=nx.Graph)

NOT_XML: Final = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""A character that XML cannot represent, or a carriage return, which it reads as a line feed."""

DETAIL_ASPECTS = (*SUMMARY_ASPECTS, "glossaryTerms", "domains")
"""The aspects needed for `details`."""

_DATASET = "urn:li:dataset:(urn:li:dataPlatform:"


def identity(urn: str) -> dict[str, Any]:
    """Return the attributes in a URN: `type`, `name`, and `platform` and `origin` if its key has
    them.

    A graph may have tens of thousands of nodes, most of them datasets, so the URN of a dataset is
    split here without creating a `Urn`.
    """
    if urn.startswith(_DATASET):
        platform, comma, rest = urn[len(_DATASET) : -1].partition(",")
        name, last_comma, origin = rest.rpartition(",")
        if comma and last_comma and "," not in name and "(" not in platform:
            return {"type": "dataset", "name": name, "platform": platform, "origin": origin}
    try:
        parsed = Urn.parse(urn)
    except InvalidUrn:
        return {"type": urn.split(":")[2] if urn.count(":") > 1 else "", "name": urn}
    attributes: dict[str, Any] = {"type": parsed.entity_type, "name": parsed.name}
    if parsed.platform is not None:
        attributes["platform"] = parsed.platform
    if parsed.origin is not None:
        attributes["origin"] = parsed.origin
    return attributes


def details(entity: Entity) -> dict[str, Any]:
    """Return the attributes of a node that are in the catalog and not in its URN.

    name, kind, platform     text
    description              text, the edited one if there is one; "" if there is none
    owners, tags, terms      lists of URNs, as stored
    domain                   the URN of the first domain; absent if there is none
    deprecated, removed      booleans
    """
    attributes: dict[str, Any] = {
        "name": entity.name,
        "kind": entity.kind,
        "description": entity.description,
        "owners": [owner.owner for owner in entity.owners],
        "tags": [str(urn) for urn in entity.tags],
        "terms": [str(urn) for urn in entity.terms],
        "deprecated": entity.deprecation is not None,
        "removed": entity.removed,
    }
    if entity.platform is not None:
        attributes["platform"] = entity.platform
    if entity.domains:
        attributes["domain"] = str(entity.domains[0])
    return attributes


def attributes_of(urns: Iterable[str], entities: Mapping[Urn, Entity]) -> dict[str, dict[str, Any]]:
    """Return the attributes of each entity, with `exists`: whether it is stored. No requests.

    `entities` are those of `urns` that the catalog has, with their `DETAIL_ASPECTS`.
    """
    stored = {str(urn): details(entity) for urn, entity in entities.items() if entity.exists}
    return {urn: {**identity(urn), **stored.get(urn, {}), "exists": urn in stored} for urn in urns}


_LONGEST_FACT = 30


def kind_and_platform(attributes: Mapping[str, Any]) -> tuple[str, str]:
    """Return the kind and the platform of a node, in words; both may be empty."""
    kind = singular(str(attributes.get("kind") or attributes.get("type") or ""))
    platform = str(attributes.get("platform") or "")
    return line(kind, _LONGEST_FACT), line(platform, _LONGEST_FACT)


def distinctions(nodes: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, str]:
    """Return texts that distinguish entities of the same name and type, by URN. No requests.

    A text is the one of platform, environment and path that differs between them, or all that
    differ if one is not enough: `hive`, `DEV`, `analytics.staging`. The path is the rest of the
    URN's key. Entities with a unique name and type are left out.
    """
    urns_by_name: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for urn, attributes in nodes:
        urns_by_name[
            tuple(str(attributes.get(key, "")) for key in ("name", "column", "type"))
        ].append(urn)
    texts: dict[str, str] = {}
    for (name, *_), urns in urns_by_name.items():
        if len(urns) < 2 or not name:
            continue
        facts = {urn: _place(urn, name) for urn in urns}
        counts = [len(set(column)) for column in zip(*facts.values(), strict=True)]
        enough = [at for at, count in enumerate(counts) if count == len(urns)][:1]
        chosen = enough or [at for at, count in enumerate(counts) if count > 1]
        for urn, place in facts.items():
            texts[urn] = " · ".join(place[at] for at in chosen if place[at])
    return texts


def distinguish_names(
    nodes: Iterable[tuple[str, Mapping[str, Any]]],
) -> dict[str, Mapping[str, Any]]:
    """Return the attributes of nodes by URN, with unique names: `orders (analytics.staging)`.

    No requests.
    """
    attributes_by_urn = dict(nodes)
    apart = distinctions(attributes_by_urn.items())
    return attributes_by_urn | {
        urn: {**attributes_by_urn[urn], "name": f"{attributes_by_urn[urn]['name']} ({apart[urn]})"}
        for urn in apart
    }


def _place(urn: str, name: str) -> tuple[str, str, str]:
    """Return the platform, the environment and the path in a URN, the path without the name."""
    for parsed in Urn.parse_all([urn]):
        if parsed.entity_type == "schemaField":
            return _place(parsed.parts[0], name)
        origin, platform = parsed.origin or "", parsed.platform or ""
        rest = [Urn.label(part) for part in parsed.parts]
        path = "/".join(part for part in rest if part not in (origin, platform))
        for separator in "./":
            path = path.removesuffix(f"{separator}{name}")
        return platform, origin, path
    return "", "", urn


def add_details(graph: "nx.Graph", entities: Mapping[Urn, Entity]) -> None:
    """Add the details of `entities` to their nodes; nodes of entities that are not stored are not
    changed."""
    for urn, entity in entities.items():
        if str(urn) in graph and entity.exists:
            graph.nodes[str(urn)].update(details(entity))


async def read_details(
    catalog: "AsyncCatalog", graph: "nx.Graph", urns: Iterable[str] | None = None
) -> None:
    """Add details from the catalog to some nodes, or to all. One request for each hundred."""
    targets = Urn.parse_all(graph.nodes if urns is None else urns)
    add_details(graph, await catalog.entities(targets, DETAIL_ASPECTS))


def check_directed(graph: "nx.DiGraph | nx.MultiDiGraph") -> None:
    """Raise `InvalidInput` for an undirected graph."""
    if not graph.is_directed():
        raise InvalidInput("the graph is undirected; give a DiGraph or a MultiDiGraph")


def simplify_attributes(graph: "_Graph") -> "_Graph":
    """Return a copy that every function of networkx accepts: its attributes are texts, numbers and
    booleans. No requests.

    A list of texts, such as `owners`, becomes one text with a line for each; any other list or
    mapping becomes JSON. None is left out, and characters that XML cannot represent are replaced.
    """
    copy: _Graph = graph.copy()
    edges = (attributes for *_, attributes in copy.edges(data=True))
    for attributes in (copy.graph, *copy.nodes.values(), *edges):
        values = {name: _plain_value(value) for name, value in attributes.items()}
        attributes.clear()
        attributes.update((name, value) for name, value in values.items() if value is not None)
    return copy


def _plain_value(value: Any) -> str | float | bool | None:
    match value:
        case None | bool() | int() | float():
            return value
        case str():
            return NOT_XML.sub("\ufffd", value)
        case list() | tuple() if all(isinstance(item, str) for item in value):
            return NOT_XML.sub("\ufffd", "\n".join(value))
        case _:
            return json.dumps(value)


_Test = Callable[[list[str], Collection[str]], bool]


FIELDS: dict[str, str] = {
    "_entityType": "type",
    "deprecated": "deprecated",
    "description": "description",
    "domains": "domain",
    "glossaryTerms": "terms",
    "hops": "hops",
    "name": "name",
    "origin": "origin",
    "owners": "owners",
    "platform": "platform",
    "queries": "queries",
    "removed": "removed",
    "tags": "tags",
    "typeNames": "kind",
    "urn": "urn",
    "users": "users",
}
"""The fields that a filter of a graph can have, and the node's attribute for each."""

_LISTS = frozenset(("owners", "tags", "terms"))


def select(graph: "nx.DiGraph", filter: Filter, *, bridged: bool = False) -> "nx.DiGraph":
    """Return a copy with the nodes that match a filter, and the edges between them. No requests.

    Owners, tags, terms and domains require that details were read into the graph. With `bridged`, a
    path through nodes that do not match becomes an edge with `over`, the number of nodes on the
    shortest such path. Raises `UnknownName` for a field that nodes do not have.
    """
    nodes = {
        node for node, attributes in graph.nodes(data=True) if matches(node, attributes, filter)
    }
    return contracted(graph, nodes) if bridged else graph.subgraph(nodes).copy()


def contracted(graph: "nx.DiGraph", kept: Collection[str]) -> "nx.DiGraph":
    """Return a copy with the nodes `kept`, and also edges for paths through other nodes. No
    requests.

    Such an edge has `over`, the smallest number of nodes on such a path.
    """
    import networkx as nx

    contraction = nx.DiGraph(**graph.graph)
    inside = [node for node in graph if node in kept]
    contraction.add_nodes_from((node, dict(graph.nodes[node])) for node in inside)
    for node in inside:
        visited: set[str] = set()
        frontier, over = [node], 0
        while frontier:
            following = []
            for at in frontier:
                for below in graph.successors(at):
                    if below in visited:
                        continue
                    visited.add(below)
                    if below not in kept:
                        following.append(below)
                    elif over == 0:
                        contraction.add_edge(node, below, **_edge(graph, at, below))
                    elif below != node and not contraction.has_edge(node, below):
                        contraction.add_edge(node, below, over=over)
            frontier, over = following, over + 1
    return contraction


def matches(urn: str, attributes: dict[str, Any], filter: Filter) -> bool:
    """Return whether a node matches a filter; every node matches an empty one."""
    if not filter:
        return True
    return any(
        all(_meets(urn, attributes, criterion) != criterion.negated for criterion in group)
        for group in filter.any_of
    )


def _meets(urn: str, attributes: dict[str, Any], criterion: Criterion) -> bool:
    name = criterion.field.removesuffix(".keyword")
    if name not in FIELDS:
        raise UnknownName("field of a graph's nodes", name, FIELDS)
    attribute = urn if name == "urn" else attributes.get(FIELDS[name])
    if FIELDS[name] in _LISTS and isinstance(attribute, str):
        attribute = attribute.splitlines()
    values = (
        []
        if attribute is None
        else attribute
        if isinstance(attribute, list | tuple)
        else [attribute]
    )
    if criterion.condition in ("EXISTS", "IS_NULL"):
        return (criterion.condition == "EXISTS") == any(value not in ("", None) for value in values)
    if not criterion.values:
        return True
    if criterion.condition not in _TESTS:
        raise InvalidInput(
            f"nodes of a graph do not say what is below {criterion.field}; search for it instead"
        )
    texts = [spelling for value in values for spelling in _spellings(value)]
    return _TESTS[criterion.condition](texts, criterion.values)


def _spellings(value: Any) -> Iterable[str]:
    """Yield a value as text, and the name in it if it is a URN."""
    if isinstance(value, bool):
        yield "true" if value else "false"
        return
    text = str(value)
    yield text
    label = Urn.label(text)
    if label != text:
        yield label


def _equal(texts: list[str], values: Collection[str]) -> bool:
    folded_texts = {text.casefold() for text in texts}
    # A filter may contain the URN of a platform, where the node attribute is only its name, `hive`.
    return any(
        value.casefold() in folded_texts or Urn.label(value).casefold() in folded_texts
        for value in values
    )


def _any(test: Callable[[str, str], bool]) -> _Test:
    def passes(texts: list[str], values: Collection[str]) -> bool:
        return any(test(text.casefold(), value.casefold()) for text in texts for value in values)

    return passes


def _comparison(
    test: Callable[[float, float], bool],
) -> _Test:
    def passes(texts: list[str], values: Collection[str]) -> bool:
        return any(test(_number(text), _number(value)) for text in texts for value in values)

    return passes


def _between(texts: list[str], values: Collection[str]) -> bool:
    low, high = (_number(value) for value in list(values)[:2])
    return any(low <= _number(text) <= high for text in texts)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"{text!r} is not a number, so it cannot be compared") from None


_TESTS: dict[str, _Test] = {
    "EQUAL": _equal,
    "IEQUAL": _equal,
    "IN": _equal,
    "CONTAIN": _any(lambda text, value: value in text),
    "START_WITH": _any(str.startswith),
    "END_WITH": _any(str.endswith),
    "GREATER_THAN": _comparison(lambda text, value: text > value),
    "GREATER_THAN_OR_EQUAL_TO": _comparison(lambda text, value: text >= value),
    "LESS_THAN": _comparison(lambda text, value: text < value),
    "LESS_THAN_OR_EQUAL_TO": _comparison(lambda text, value: text <= value),
    "BETWEEN": _between,
}


def _edge(graph: "nx.DiGraph", source: str, target: str) -> dict[str, Any]:
    edge_data = graph.get_edge_data(source, target)
    # In a multigraph the attributes are grouped by edge key.
    return dict(next(iter(edge_data.values()))) if graph.is_multigraph() else dict(edge_data)
