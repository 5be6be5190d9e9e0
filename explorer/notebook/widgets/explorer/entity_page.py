"""The page of an entity: its head, and each of its tabs, read when it is looked at."""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC
from typing import TYPE_CHECKING, Any, Literal, get_args

from explorer.client.display import line
from explorer.errors import NotFound
from explorer.metadata.names import singular
from explorer.metadata.urn import Urn
from explorer.notebook.entity import role_of
from explorer.notebook.search import EDITED
from explorer.notebook.widgets.explorer.markup import marked, marked_line, parts_of
from explorer.views.columns import ColumnRow, column_row, parse_column_filter
from explorer.views.parts import Say

if TYPE_CHECKING:
    import networkx as nx

    from explorer.notebook.catalog import NotebookCatalog
    from explorer.notebook.entity import EntityPage

__all__ = ["TABS", "Tab", "head_of", "read_tab", "tabs_of"]

Tab = Literal["overview", "columns", "lineage", "usage", "profile", "history"]
TABS: tuple[Tab, ...] = get_args(Tab)

COLUMNS_AT_ONCE = 100
_HOPS = 1
_VERSIONS = 20
_NEIGHBOURS = 60
_SHORT = 200
_LONG = 600
# Looked at first: what people wrote, then what they ask about.
_TRACKS = (
    *("editableDatasetProperties", "editableSchemaMetadata", "schemaMetadata"),
    *("datasetProperties", "ownership", "globalTags", "glossaryTerms", "domains"),
)
_LINEAGE = frozenset(("dataset", "chart", "dashboard", "dataJob", "dataFlow", "mlModel"))

Told = dict[str, Any]


def tabs_of(entity: "EntityPage") -> tuple[Tab, ...]:
    """The tabs that an entity of its type has."""
    kind = entity.entity_type
    wanted: dict[Tab, bool] = {
        "columns": bool(entity.schema.columns or entity.schema.orphans) or kind == "dataset",
        "lineage": kind in _LINEAGE,
        "usage": kind == "dataset",
        "profile": kind == "dataset",
    }
    return tuple(tab for tab in TABS if wanted.get(tab, True))


def head_of(entity: "EntityPage", why_not: str) -> Told:
    """What stands above the tabs; `why_not` says why nothing can be written."""
    facts = [singular(entity.kind), entity.platform, entity.urn.origin]
    states = []
    if not entity.exists:
        states.append("not in this catalog, or only named by others")
    if entity.removed:
        states.append("removed: search and browse do not show it")
    if entity.deprecation is not None:
        states.append(f"deprecated: {line(entity.deprecation, _SHORT)}")
    at = entity.as_of
    kept = [f"as it was at {at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"] if at else []
    return {
        "urn": str(entity.urn),
        "name": line(entity.name, _SHORT),
        "facts": [line(one, 80) for one in facts if one],
        "states": [*states, *kept],
        "tabs": list(tabs_of(entity)),
        "why_not": why_not,
    }


def read_tab(
    catalog: "NotebookCatalog", entity: "EntityPage", tab: Tab, detail: Mapping[str, Any]
) -> Told:
    """Return what a tab shows; `detail` is what the reader chose within it. Costs what the method
    of `EntityPage` does that the tab is named after; overview and columns cost nothing."""
    reads: Mapping[Tab, Callable[[], Told]] = {
        "overview": lambda: overview(entity),
        "columns": lambda: columns(entity, detail),
        "lineage": lambda: _lineage(catalog, entity, detail),
        "usage": lambda: {"parts": parts_of(entity.usage().parts())},
        "profile": lambda: {"parts": parts_of(entity.profile().parts())},
        "history": lambda: _history(catalog, entity, detail),
    }
    return {"tab": tab, "urn": str(entity.urn), **reads[tab]()}


def overview(entity: "EntityPage") -> Told:
    """Both descriptions, marked, and what is said of it, each name a way on."""
    texts = []
    if entity.edited_description.strip():
        texts.append((f"{EDITED} edited", entity.edited_description))
    if entity.ingested_description.strip():
        texts.append(("ingested", entity.ingested_description))
    ways = (("tags", entity.tags), ("terms", entity.terms), ("domains", entity.domains))
    owners = [
        _way(urn, entity.names, role_of(owner))
        for owner in entity.owners
        for urn in Urn.parse_all([owner.owner])
    ]
    facts = [{"name": "owners", "ways": owners, "none": "nobody"}]
    facts += [
        {"name": name, "ways": [_way(urn, entity.names) for urn in urns]}
        for name, urns in ways
        if urns
    ]
    if entity.schema.columns:
        schema = entity.schema
        said = f"{len(schema):,}, {schema.documented:,} documented"
        facts.append({"name": "columns", "text": said})
    facts += [{"name": "folder", "text": line(path, 400)} for path in entity.browse_paths]
    return {
        "texts": [{"label": label, "tree": marked(text)} for label, text in texts],
        "facts": facts,
        "parts": parts_of(entity.links.parts()) if entity.links else [],
    }


def columns(entity: "EntityPage", detail: Mapping[str, Any]) -> Told:
    """Return the columns that pass the filter of the page, at most as many as it asks for."""
    text = str(detail.get("text") or "")
    wanted = parse_column_filter(text)
    asked = detail.get("most")
    most = asked if isinstance(asked, int) else COLUMNS_AT_ONCE
    schema = entity.schema
    found = [one for one in schema.columns if wanted.passes(one, entity.names)]
    of = f"{len(found):,} of " if wanted else ""
    said = f"{of}{len(schema):,} columns, {schema.documented:,} documented"
    orphans = [
        Say(f"edited, but no longer a column: {orphan.field_path}") for orphan in schema.orphans
    ]
    return {
        "said": said if schema.columns else "no columns",
        "columns": [_column(column_row(one, flat=bool(wanted))) for one in found[:most]],
        "more": max(len(found) - most, 0),
        "most": most,
        "text": text,
        "parts": parts_of(orphans),
    }


def _column(row: ColumnRow) -> Told:
    return {
        "path": row.path,
        "name": line(row.label, _SHORT),
        "indent": row.indent,
        "type": line(row.type, 60),
        "key": "key" if row.column.is_key else "",
        "text": marked_line(row.description, _LONG),
        "mark": EDITED if row.is_edited else "",
        "ingested": marked_line(row.replaced, _LONG) if row.replaced else [],
        "labels": [line(name, 60) for name in (*row.tags, *row.terms)],
    }


def _way(urn: Urn, names: Mapping[Urn, str], after: str = "") -> Told:
    return {
        "urn": str(urn),
        "text": line(names.get(urn) or urn.name, 120),
        "after": line(after, 60),
    }


def _lineage(catalog: "NotebookCatalog", entity: "EntityPage", detail: Mapping[str, Any]) -> Told:
    """A picture of what is around it, and each neighbour as a way on."""
    from explorer.graph.lineage import read_lineage

    asked = detail.get("hops")
    hops = asked if isinstance(asked, int) and 1 <= asked <= 5 else _HOPS
    # One hop more than is listed, so that the drawing can count what it leaves out.
    graph = catalog.wait(
        read_lineage(catalog.core, entity.urn, "BOTH", hops=hops + 1, with_details=True)
    )
    sides = [
        {
            "label": f"{title}, {len(found):,}",
            "ways": [_neighbour(graph, urn, hop) for urn, hop in found[:_NEIGHBOURS]],
            "more": max(len(found) - _NEIGHBOURS, 0),
        }
        for title, found in _sides(graph, str(entity.urn), hops)
    ]
    alone = len(graph) <= 1
    cut = graph.graph.get("truncated")
    parts = [Say("nothing is upstream or downstream of it")] if alone else []
    parts += [Say(f"cut: {cut}")] if cut else []
    told: Told = {"parts": parts_of(parts), "sides": [] if alone else sides, "hops": hops}
    # The drawing is made of the graph, and is not told with the rest.
    return told if alone else {**told, "drawn": True, "graph": graph}


def _sides(
    graph: "nx.DiGraph", root: str, most: int
) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    placed = [
        (urn, hop)
        for urn, hop in graph.nodes.data("hops")
        if urn != root and hop and abs(hop) <= most
    ]
    placed.sort(key=lambda one: (abs(one[1]), str(graph.nodes[one[0]].get("name") or one[0])))
    yield "upstream", [one for one in placed if one[1] < 0]
    yield "downstream", [one for one in placed if one[1] > 0]


def _neighbour(graph: "nx.DiGraph", urn: str, hop: int) -> Told:
    said = graph.nodes[urn]
    kind = singular(str(said.get("type") or ""))
    after = " · ".join(filter(None, (kind, str(said.get("platform") or ""), f"{abs(hop)} away")))
    name = str(said.get("name") or urn)
    return {"urn": urn, "text": line(name, 120), "after": line(after, 120)}


def _history(catalog: "NotebookCatalog", entity: "EntityPage", detail: Mapping[str, Any]) -> Told:
    """The versions of one aspect, and what each changed."""
    from explorer.notebook.history import read_history

    declared = catalog.registry.aspects
    held = [
        name
        for name in entity.aspects
        if not name.endswith("Key") and not (name in declared and declared[name].timeseries)
    ]
    last = len(_TRACKS)
    held.sort(key=lambda one: (_TRACKS.index(one) if one in _TRACKS else last, one))
    if not held:
        return {
            "parts": parts_of([Say("nothing is stored of it that has versions")]),
            "aspects": [],
        }
    asked = detail.get("aspect")
    aspect = asked if asked in held else held[0]
    try:
        parts = read_history(catalog, entity.urn, entity.name, aspect, _VERSIONS).parts()
        return {"parts": parts_of(parts), "aspects": held, "aspect": aspect}
    except NotFound as error:
        return {"parts": parts_of([Say(str(error))]), "aspects": held, "aspect": aspect}
