"""The explorer widget: browse, search, read and document a catalog in a notebook.

It holds the search, the folders, the open entity with its tabs and the drafts, exchanges messages
with the page, and provides HTML for front ends without a kernel.
"""

import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import replace
from datetime import UTC
from typing import TYPE_CHECKING, Any, Literal, get_args
from weakref import WeakValueDictionary

import traitlets

from explorer.client.display import line
from explorer.client.editable import has_one_description
from explorer.client.folders import TypesSource
from explorer.errors import CatalogError, NotFound
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.names import singular
from explorer.metadata.urn import Urn
from explorer.notebook.entity import names_of_existing, role_of
from explorer.notebook.explorer_search import (
    FOLDER_PAGE,
    MOST_VALUES,
    PAGE,
    offers_of,
    page_state,
    results_page,
    row_at,
    tree_rows,
)
from explorer.notebook.markup import markdown_line_tree, markdown_tree, parts_of
from explorer.notebook.schema import earlier_note
from explorer.notebook.widgets.base import (
    EXPLORER_MODULE,
    EXPLORER_STYLE,
    EditorWidget,
    ExplorerRequests,
    running_cell,
)
from explorer.notebook.widgets.drafts import DraftList
from explorer.notebook.widgets.editor import Writing
from explorer.query import FilterSyntax
from explorer.sessions.browse import Branch, BrowseSession, Outline, OutlineRow
from explorer.sessions.search import Query, Results, SearchSession
from explorer.views.absence import NOBODY, refusal_sentence
from explorer.views.columns import ColumnKnowledge, ColumnRow, column_row, parse_column_filter
from explorer.views.drafts import unsaved_sentence
from explorer.views.entity import folder_facts
from explorer.views.parts import Fold, Part, Say, Title, fact_text
from explorer.views.search import SORT_ORDERS, search_table
from explorer.views.table import to_frame
from explorer.views.text import EDITED

if TYPE_CHECKING:
    import networkx as nx
    import pandas as pd

    from explorer.client.entity import Entity
    from explorer.client.records import Hit, Measures
    from explorer.notebook.entity import EntityPage
    from explorer.notebook.search import SearchCatalog
    from explorer.notebook.widgets.editor import Stage
    from explorer.notebook.widgets.lineage import EmbeddedLineage
    from explorer.stewardship.drafts import StoredDraft

Tab = Literal["overview", "columns", "lineage", "usage", "profile", "history"]
TABS: tuple[Tab, ...] = get_args(Tab)

COLUMNS_AT_ONCE = 100
_HOPS = 1
_VERSIONS = 20
_NEIGHBOURS = 60
_SHORT = 200
_LONG = 600
# The aspects listed first, in this order: the edited ones, then the ingested ones.
_TRACKS = (
    *("editableDatasetProperties", "editableSchemaMetadata", "schemaMetadata"),
    *("datasetProperties", "ownership", "globalTags", "glossaryTerms", "domains"),
)
_LINEAGE = frozenset(("dataset", "chart", "dashboard", "dataJob", "dataFlow", "mlModel"))

PageState = dict[str, Any]


def tabs_of(entity: "EntityPage") -> tuple[Tab, ...]:
    """Return the tabs of an entity."""
    kind = entity.entity_type
    has_tab: dict[Tab, bool] = {
        "columns": bool(entity.schema.columns or entity.schema.orphans) or kind == "dataset",
        "lineage": kind in _LINEAGE,
        "usage": kind == "dataset",
        "profile": kind == "dataset",
    }
    return tuple(tab for tab in TABS if has_tab.get(tab, True))


def head_of(entity: "EntityPage", why_not: str) -> PageState:
    """Return the header above the tabs; `why_not` is the reason why nothing can be edited."""
    facts = [singular(entity.kind), entity.platform, entity.urn.origin]
    states = []
    if not entity.exists:
        states.append("not in this catalog, or only referenced in it")
    if entity.removed:
        states.append("soft-deleted: hidden from search and browse")
    if entity.deprecation is not None:
        states.append(f"deprecated: {line(entity.deprecation, _SHORT)}")
    at = entity.as_of
    time_states = [f"as it was at {at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"] if at else []
    return {
        "urn": str(entity.urn),
        "name": line(entity.name, _SHORT),
        "facts": [line(fact, 80) for fact in facts if fact],
        "states": [*states, *time_states],
        "tabs": list(tabs_of(entity)),
        "why_not": why_not,
    }


def read_tab(
    catalog: "SearchCatalog", entity: "EntityPage", tab: Tab, detail: Mapping[str, Any]
) -> PageState:
    """Return the content of a tab; `detail` has the choices of the reader within it. Requests are
    those of the method of `EntityPage` with the tab's name; overview and columns send none."""
    reads: Mapping[Tab, Callable[[], PageState]] = {
        "overview": lambda: overview(entity),
        "columns": lambda: columns(entity, detail),
        "lineage": lambda: _lineage(catalog, entity, detail),
        "usage": lambda: {"parts": parts_of(entity.usage().parts())},
        "profile": lambda: {"parts": parts_of(entity.profile().parts())},
        "history": lambda: _history(catalog, entity, detail),
    }
    return {"tab": tab, "urn": str(entity.urn), **reads[tab]()}


def overview(entity: "EntityPage") -> PageState:
    """Return both descriptions as Markdown trees, and all facts, with names as links."""
    texts = []
    if entity.edited_description.strip():
        texts.append((f"{EDITED} edited", entity.edited_description))
    if entity.ingested_description.strip():
        is_only = has_one_description(entity.entity_type)
        texts.append(("description" if is_only else "ingested", entity.ingested_description))
    ways = (("tags", entity.tags), ("terms", entity.terms), ("domains", entity.domains))
    owners = [
        _link(urn, entity.names, role_of(owner))
        for owner in entity.owners
        for urn in Urn.parse_all([owner.owner])
    ]
    facts = [{"name": "owners", "ways": owners, "none": NOBODY}]
    facts += [
        {"name": name, "ways": [_link(urn, entity.names) for urn in urns]}
        for name, urns in ways
        if urns
    ]
    if entity.schema.columns:
        schema = entity.schema
        counts = f"{len(schema):,}, {schema.documented:,} documented"
        facts.append({"name": "columns", "text": counts})
    facts += [
        {"name": "folder", "text": line(fact_text(fact, entity.names), 400)}
        for fact in folder_facts(entity)
    ]
    return {
        "texts": [{"label": label, "tree": markdown_tree(text)} for label, text in texts],
        "facts": facts,
        "parts": parts_of(entity.links.parts()) if entity.links else [],
    }


def columns(entity: "EntityPage", detail: Mapping[str, Any]) -> PageState:
    """Return the columns that pass the page's filter, at most as many as the page asks for."""
    text = str(detail.get("text") or "")
    column_filter = parse_column_filter(text)
    limit = detail.get("most")
    most = limit if isinstance(limit, int) else COLUMNS_AT_ONCE
    schema = entity.schema
    matches = [column for column in schema.columns if column_filter.passes(column, entity.names)]
    knowledge = ColumnKnowledge(names=entity.names)
    of = f"{len(matches):,} of " if column_filter else ""
    documented = sum(column.documented for column in matches)
    trouble = column_filter.trouble or f"{of}{len(schema):,} columns, {documented:,} documented"
    orphans = [
        Say(f"edited, but no longer in the schema: {orphan.field_path}")
        for orphan in schema.orphans
    ]
    return {
        "said": trouble if schema.columns else "no columns",
        "columns": [
            _column(column_row(column, knowledge, flat=bool(column_filter)))
            for column in matches[:most]
        ],
        "more": max(len(matches) - most, 0),
        "most": most,
        "text": text,
        "parts": parts_of(orphans),
    }


def _column(row: ColumnRow) -> PageState:
    return {
        "path": row.path,
        "name": line(row.label, _SHORT),
        "indent": row.indent,
        "type": line(row.type, 60),
        "key": "key" if row.column.is_key else "",
        "text": markdown_line_tree(row.description, _LONG),
        "mark": EDITED if row.is_edited else "",
        "ingested": markdown_line_tree(row.replaced_description, _LONG)
        if row.replaced_description
        else [],
        "earlier": line(earlier_note(row.column), _LONG),
        "labels": [line(name, 60) for name in (*row.tags, *row.terms)],
    }


def _link(urn: Urn, names: Mapping[Urn, str], after: str = "") -> PageState:
    return {
        "urn": str(urn),
        "text": line(names.get(urn) or urn.name, 120),
        "after": line(after, 60),
    }


def _lineage(
    catalog: "SearchCatalog", entity: "EntityPage", detail: Mapping[str, Any]
) -> PageState:
    """Return a picture of the lineage, and each neighbour as a link."""
    from explorer.graph.lineage import read_lineage

    requested_hops = detail.get("hops")
    hops = requested_hops if isinstance(requested_hops, int) and 1 <= requested_hops <= 5 else _HOPS
    # One hop more than is listed, so that the drawing can count what it leaves out.
    graph = catalog.wait(
        read_lineage(catalog.core, entity.urn, "BOTH", hops=hops + 1, with_details=True)
    )
    sides = [
        {
            "label": f"{title}, {len(neighbours):,}",
            "ways": [_neighbour(graph, urn, hop) for urn, hop in neighbours[:_NEIGHBOURS]],
            "more": max(len(neighbours) - _NEIGHBOURS, 0),
        }
        for title, neighbours in _sides(graph, str(entity.urn), hops)
    ]
    alone = len(graph) <= 1
    cut = graph.graph.get("truncated")
    parts = [Say("it has no upstream or downstream entities")] if alone else []
    parts += [Say(f"cut: {cut}")] if cut else []
    page_state: PageState = {
        "parts": parts_of(parts),
        "sides": [] if alone else sides,
        "hops": hops,
    }
    # The drawing is made from the graph, and is not sent with the rest.
    return page_state if alone else {**page_state, "drawn": True, "graph": graph}


def _sides(
    graph: "nx.DiGraph", root: str, most: int
) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    placed = [
        (urn, hop)
        for urn, hop in graph.nodes.data("hops")
        if urn != root and hop and abs(hop) <= most
    ]
    placed.sort(
        key=lambda neighbour: (
            abs(neighbour[1]),
            str(graph.nodes[neighbour[0]].get("name") or neighbour[0]),
        )
    )
    yield "upstream", [neighbour for neighbour in placed if neighbour[1] < 0]
    yield "downstream", [neighbour for neighbour in placed if neighbour[1] > 0]


def _neighbour(graph: "nx.DiGraph", urn: str, hop: int) -> PageState:
    node = graph.nodes[urn]
    kind = singular(str(node.get("type") or ""))
    after = " · ".join(filter(None, (kind, str(node.get("platform") or ""), f"{abs(hop)} away")))
    name = str(node.get("name") or urn)
    return {"urn": urn, "text": line(name, 120), "after": line(after, 120)}


def _history(
    catalog: "SearchCatalog", entity: "EntityPage", detail: Mapping[str, Any]
) -> PageState:
    """Return the versions of an aspect, and the changes of each."""
    from explorer.notebook.entity import read_history

    declared = catalog.registry.aspects
    aspects = [
        name
        for name in entity.aspects
        if not name.endswith("Key") and not (name in declared and declared[name].timeseries)
    ]
    last = len(_TRACKS)
    aspects.sort(
        key=lambda aspect_name: (
            _TRACKS.index(aspect_name) if aspect_name in _TRACKS else last,
            aspect_name,
        )
    )
    if not aspects:
        return {
            "parts": parts_of([Say("it has no stored versions")]),
            "aspects": [],
        }
    requested = detail.get("aspect")
    aspect = requested if requested in aspects else aspects[0]
    try:
        parts = read_history(catalog, entity.urn, entity.name, aspect, _VERSIONS).parts()
        return {"parts": parts_of(parts), "aspects": aspects, "aspect": aspect}
    except NotFound as error:
        return {"parts": parts_of([Say(str(error))]), "aspects": aspects, "aspect": aspect}


_OFFERED = 8
# The choice in the list of sort orders that makes the results columns.
_COLUMNS = "columns"


class ExplorerSession:
    """The logic of the explorer: handles actions, sends requests, and shows results. Its methods
    can be called from any thread and do not block."""

    def __init__(
        self,
        catalog: "SearchCatalog",
        show: Callable[[str, Any], None],
        opened: Callable[[str], None],
    ) -> None:
        """`opened` is called with the URN of an opened entity, "" when it is closed."""
        self.lock = threading.RLock()
        self.catalog, self._show, self._opened = catalog, show, opened
        self.asking = ExplorerRequests(catalog, self.lock, show)
        self.query = Query(chosen={})
        self.searching = SearchSession(catalog.core, size=PAGE, values=MOST_VALUES)
        self.browsing = self._new_browsing()
        self.ticked: dict[str, tuple[Hit, Entity | None]] = {}
        self.urn = ""
        self.entity: EntityPage | None = None
        self.tab: Tab = "overview"
        self.writing = Writing(catalog, self.asking, show, self._note_write)
        self.drafts = DraftList(self.writing, show, self._mark_drafts, self.go_on)
        self.writing.put_away = self.drafts.read
        self._marked: frozenset[str] = frozenset()
        # What is written once the open entity is read: a column or the entity itself.
        self._going_on: tuple[str | None, Stage] | None = None
        self.drawing: EmbeddedLineage | None = None
        self._drawn = ""
        self.measures: dict[Urn, Measures] = {}
        self._unanswered = self._lacks_folders = False
        self._details: dict[str, Mapping[str, Any]] = {}
        self._put = 0

    # Searching.

    @property
    def results(self) -> Results | None:
        """The results on the page."""
        return self.searching.state.results

    def find(self, query: Query, *, put: bool = True, offering: bool = False) -> None:
        """Run another search. With `put`, show it in the page's inputs; with `offering`, show
        completions of its words."""
        with self.lock:
            self.query = query
            self._put += put

        def on_error(error: Exception) -> bool:
            if not isinstance(error, FilterSyntax):
                self._unanswered = True
                self._show("find", self._search_state())
                return False
            begun = error.position >= len(error.text.rstrip())
            fault = line(f"{'…' if begun else '✗'} {error}", 300)
            self._show("find", {**self._search_state(), "fault": fault})
            return True

        self.asking.forget("measures")
        self.asking.ask(
            "search",
            "searching …",
            lambda catalog: catalog.wait(self.searching.search(query, is_typed=not put)),
            lambda _: self._take_results(),
            on_error=on_error,
        )
        if offering:
            self._offer(query.text.strip())

    def again(self) -> None:
        """Retry whatever could not be read: the results, the folders, the open entity."""
        if self._lacks_folders:
            self.plant()
        if self.urn and self.entity is None:
            self._read_entity(Urn.parse(self.urn))
        self.find(self.query, put=False)

    def tick(self, urn: str, *, on: bool) -> None:
        """Tick or untick a result."""
        with self.lock:
            results = self.results
            if on and results is not None:
                hits = {str(hit.urn): hit for hit in results.page}
                if urn in hits:
                    self.ticked[urn] = hits[urn], results.entities.get(hits[urn].entity_urn)
            elif not on:
                self.ticked.pop(urn, None)
            self._show("find", self._search_state())

    def _take_results(self) -> None:
        """Show the new results; then read the sizes and uses of their datasets, and the folders if
        they could not be read before."""
        self._unanswered = False
        results = self.results
        self._show("find", self._search_state())
        if results is None:
            return
        self.catalog.reader.known_names.learn(names_of_existing(results.entities.values()))
        if self._lacks_folders:
            # The server answers again, so the folders can be read.
            self.plant()

        def take_measures(_: object) -> None:
            if self.results is not None:
                self.measures.update(self.results.measures)
                self._show("find", self._search_state())

        # Results are shown before it is known how large and how much used they are.
        is_measured = not results.query.columns
        if is_measured and any(urn.entity_type == "dataset" for urn in results.urns):
            self.asking.ask(
                "measures",
                "",
                lambda catalog: catalog.wait(self.searching.read_measures()),
                take_measures,
                on_error=lambda error: isinstance(error, CatalogError),
            )

    def _search_state(self) -> dict[str, Any]:
        results, query = self.results, self.query
        return {
            **(page_state(results, self.ticked, self.drafts.urns) if results else {}),
            "text": query.text,
            "filter": query.filter,
            "order": _COLUMNS if query.columns else query.sort,
            "put": self._put,
            "ticked": len(self.ticked),
            "fault": "",
            "unanswered": self._unanswered,
        }

    def _offer(self, words: str) -> None:
        if not words:
            self.asking.forget("offers")
            self._show("offers", {"for": "", "rows": []})
            return
        self.asking.ask(
            "offers",
            "",
            lambda catalog: catalog.suggest(words, limit=_OFFERED),
            lambda suggestions: self._show(
                "offers", {"for": words, "rows": offers_of(suggestions)}
            ),
            # The search reports the same error; a failed completion is left out.
            on_error=lambda error: isinstance(error, CatalogError),
        )

    # Browsing.

    def plant(self) -> None:
        """Read the topmost folders anew; if that fails, they are read with the next results."""
        self._lacks_folders = False
        self.browsing.close()
        browsing = self.browsing = self._new_browsing()
        root = browsing.state.outline.root

        def on_error(error: Exception) -> bool:
            del error
            self._lacks_folders = True
            return False

        self.asking.ask(
            "tree",
            "reading the catalog …",
            lambda catalog: catalog.wait(browsing.read(root, 0)),
            lambda _: self._read_folder(root.below.get(0)),
            on_error=on_error,
        )

    def unfold(self, key: str) -> None:
        """Expand a folder."""
        self._turn_folder(key, self.browsing.unfold)

    def fold(self, key: str) -> None:
        """Collapse a folder."""
        self._turn_folder(key, self.browsing.fold)

    def more(self, key: str) -> None:
        """Read the next page of a folder."""
        row = row_at(self.browsing.state.outline, key)
        self._read_folder(row.unfolded if row is not None else None)

    def _new_browsing(self) -> BrowseSession:
        browsing = BrowseSession(self.catalog.core, Outline(TypesSource(), FOLDER_PAGE))
        browsing.subscribe(lambda state: self._show_tree(state.outline))
        return browsing

    def _show_tree(self, outline: Outline) -> None:
        self._show("tree", tree_rows(outline.root, self.drafts.urns))

    def _turn_folder(
        self, key: str, turn: Callable[[OutlineRow], Coroutine[Any, Any, Branch | None]]
    ) -> None:
        row = row_at(self.browsing.state.outline, key)
        if row is not None:
            self.asking.ask(
                "fold",
                "",
                lambda catalog: catalog.wait(turn(row)),
                self._read_folder,
                in_turn=True,
            )

    def _read_folder(self, branch: Branch | None) -> None:
        """Read the next page of a folder; an error is shown beside the folder."""
        if branch is None:
            return
        browsing = self.browsing
        self.asking.ask(
            "tree",
            f"reading the folder {line(branch.entry.name, 120)} …",
            lambda catalog: catalog.wait(browsing.read(branch, len(branch.pages))),
            lambda _: None,
            on_error=lambda error: isinstance(error, CatalogError),
            in_turn=True,
        )

    # The entity that is open.

    def open(self, urn: str, tab: "Tab" = "overview") -> None:
        """Open an entity at a tab; if it is open already, keep its tab. For the URN of a column,
        open its table at that column. Raises `InvalidUrn` for a text that is not a URN."""
        target, details = Urn.parse(urn), dict[str, Mapping[str, Any]]()
        if target.entity_type == "schemaField" and len(target.parts) > 1:
            tab, details = "columns", {"columns": {"text": FieldPath(target.name).simple}}
            target = Urn.parse(target.parts[0])
        with self.lock:
            again = str(target) == self.urn and not details
            self.urn, self._going_on = str(target), None
            self.writing.close()
            if not again:
                self.entity, self.tab, self._details = None, tab, details
                self._show("entity", {"urn": self.urn, "name": line(target.name), "tabs": []})
                self._show("tab", {"tab": tab, "urn": self.urn, "reading": True})
        if not again:
            self.end_drawing()
        self._opened(self.urn)
        self._read_entity(target)

    def close_entity(self) -> None:
        """Return to the results, cancel the requests of the open entity, and call `opened` with "".
        Drafts are kept."""
        with self.lock:
            self.urn, self.entity = "", None
            for kind in ("entity", "tab"):
                self.asking.forget(kind)
            self.writing.close()
            self._show("entity", {})
            self._show("tab", {})
        self.end_drawing()
        # No entity is open.
        self._opened("")

    def turn(self, tab: "Tab", detail: Mapping[str, Any] | None = None) -> None:
        """Show a tab; `detail` updates the reader's choices within it."""
        with self.lock:
            self.tab = tab
            if detail is not None:
                self._details[tab] = {**self._details.get(tab, {}), **detail}
            if self.entity is not None:
                self._read_tab(self.entity, again=detail is not None)

    def _read_entity(self, urn: Urn) -> None:
        def then(entity: "EntityPage") -> None:
            is_reread = self.entity is not None
            # The catalog with which the entity was read is closed with its request.
            self.entity = replace(entity, catalog=self.catalog)
            if self.tab not in tabs_of(self.entity):
                self.tab = "overview"
            self._show("entity", self._head())
            self._read_tab(self.entity, again=is_reread)
            if self._going_on is not None:
                self.writing.begin(self.entity, *self._going_on)
                self._going_on = None
            self.drafts.read()

        def on_error(error: Exception) -> bool:
            if self.entity is None and isinstance(error, CatalogError):
                sentence = {"is": "say", "text": line(str(error), 400), "tone": "loud"}
                self._show("tab", {"tab": "overview", "urn": self.urn, "parts": [sentence]})
            return False

        self.asking.ask(
            "entity",
            f"reading {line(urn.name, 60)} …",
            lambda catalog: catalog.entity(urn),
            then,
            on_error=on_error,
        )

    def _head(self) -> dict[str, Any]:
        if self.entity is None:
            return {}
        why_not = self.writing.hindrance(self.entity.urn)
        return {**head_of(self.entity, why_not), "drafts": self.writing.places(self.urn)}

    def _read_tab(self, entity: "EntityPage", *, again: bool = False) -> None:
        tab, detail = self.tab, dict(self._details.get(self.tab, {}))
        if not again:
            self._show("tab", {"tab": tab, "urn": self.urn, "reading": True})
        activity = "" if tab in ("overview", "columns") else f"reading the {tab} …"
        self.asking.ask(
            "tab",
            activity,
            lambda catalog: read_tab(catalog, replace(entity, catalog=catalog), tab, detail),
            self._show_tab,
            on_error=lambda error: self._show_tab_error(tab, error),
        )

    def _show_tab(self, page_state: dict[str, Any]) -> None:
        graph = page_state.pop("graph", None)
        if graph is not None and (self.drawing is None or self._drawn != page_state["urn"]):
            from explorer.notebook.widgets.lineage import EmbeddedLineage

            self.end_drawing()
            self._drawn = page_state["urn"]
            self.drawing = EmbeddedLineage(
                self.catalog,
                page_state["urn"],
                graph=graph,
                changed=lambda drawing: self._show("drawing", drawing),
                message=lambda message: self._show("message", {"kind": "drawing", "told": message}),
            )
        self._show("tab", page_state)

    def type(self, typed: Any) -> None:
        """Store the text of a draft from a page."""
        self.writing.type(typed)

    def handle_drawing_message(self, content: Any) -> None:
        """Handle a message on the lineage drawing."""
        match content:
            case {"kind": "open", "urn": str(urn)}:
                self.open(urn)
            case _ if self.drawing is not None:
                self.drawing.handle_message(content)

    def end_drawing(self) -> None:
        """Cancel the requests of the drawing, and remove it."""
        with self.lock:
            drawing, self.drawing = self.drawing, None
        if drawing is not None:
            drawing.close()
            self._show("drawing", {})

    def _show_tab_error(self, tab: "Tab", error: Exception) -> bool:
        sentence = {"is": "say", "text": refusal_sentence(f"the {tab}", line(str(error), 300))}
        self._show("tab", {"tab": tab, "urn": self.urn, "parts": [{**sentence, "tone": "loud"}]})
        return isinstance(error, CatalogError)

    # Writing.

    def write(self, path: str | None) -> None:
        """Open the editor for a description: a column's, or without a path the entity's own."""
        with self.lock:
            if self.entity is not None:
                self.writing.begin(self.entity, path)

    def go_on(self, stored: "StoredDraft", stage: "Stage" = "writing") -> None:
        """Open a draft in the editor at a stage, on the page of its entity."""
        draft = stored.draft

        def then() -> None:
            self.open(draft.urn, "overview" if draft.path is None else "columns")
            self._going_on = draft.path, stage

        self.writing.take(stored, then)

    def _mark_drafts(self) -> None:
        """Mark the entities that have drafts."""
        # A new line with their number would move the text under the writer's cursor.
        if self.entity is not None and self.writing.draft is None:
            self._show("entity", self._head())
        if self._marked != self.drafts.urns:
            self._marked = self.drafts.urns
            self._show("find", self._search_state())
            browsing = self.browsing
            self.asking.ask(
                "fold",
                "",
                lambda catalog: catalog.wait(browsing.note_change()),
                lambda _: None,
                in_turn=True,
            )

    def _note_write(self, *, saved: bool) -> None:
        """Update the page after a draft was saved, closed or discarded, with what others wrote if
        that is known to differ."""
        with self.lock:
            if self.entity is None:
                return
            drafts = self.writing.drafts.values()
            if saved or any(draft.theirs and draft.urn == self.urn for draft in drafts):
                self._read_entity(self.entity.urn)
            else:
                self._show("entity", self._head())


_FIRST_SECONDS = 5.0


class Explorer(EditorWidget):
    """Browse, search, read and document a catalog, by mouse or keys.

        explorer = cat.explore("orders")
        explorer

    The next cell can use what the reader did: `selected` is the URN of the open entity or column
    and `entity` the open entity, `results` the URNs found, `chosen` the ticked URNs, `df` a
    DataFrame of the ticked results or else of all on the page. Setting `selected` opens an entity.
    Requests never block the kernel's thread; `wait()` waits for them. `close()` cancels reading,
    but not saving; the catalog stays open. Without a kernel, the notebook shows a table of the
    results and the open entity.

    Typed text is shared by all views and stored on disk with the terminal's drafts. Unsaved drafts
    are counted at the start and listed under Drafts; `cat.drafts` is the same list. If the notebook
    saves the state of widgets, that state contains a text while its editor is open, and the
    beginnings of all drafts while the list of drafts is open.
    """

    _esm = EXPLORER_MODULE
    _css = EXPLORER_STYLE
    _session: ExplorerSession

    find = traitlets.Dict().tag(sync=True)
    offers = traitlets.Dict().tag(sync=True)
    tree = traitlets.List(traitlets.Any()).tag(sync=True)
    page = traitlets.Dict().tag(sync=True)
    tab = traitlets.Dict().tag(sync=True)
    drawing = traitlets.Dict().tag(sync=True)
    kept = traitlets.Dict().tag(sync=True)
    orders = traitlets.List(traitlets.Any()).tag(sync=True)
    selected = traitlets.Unicode()

    def __init__(
        self,
        catalog: "SearchCatalog",
        text: str = "",
        *,
        filter: str = "",
        urn: str | Urn | None = None,
        instead_of: "Explorer | None" = None,
    ) -> None:
        """Start with a search for `text`, a filter, and an open entity.

        `instead_of` is an explorer that this one replaces: it is closed, and its drafts and, unless
        others are given, its search and entity are taken over.
        """
        orders = {**SORT_ORDERS, _COLUMNS: "columns, best first"}
        super().__init__(orders=[[order, words] for order, words in orders.items()])
        self._session = ExplorerSession(catalog, self._show, self._opened)
        query, opened = Query(text, filter, chosen={}), str(urn) if urn is not None else ""
        tab: Tab = "overview"
        if instead_of is not None:
            query, opened, tab = self._take_over(instead_of, query, opened)
        self.observe(lambda change: self._turn_to(change["new"]), "selected")
        self.listen()
        self._session.plant()
        self._session.drafts.read()
        self._session.find(query)
        if opened:
            self._session.open(opened, tab)

    @property
    def results(self) -> tuple[Urn, ...]:
        """Return the URNs of the results on the page, in order."""
        results = self._session.results
        return tuple(hit.urn for hit in results.page) if results is not None else ()

    @property
    def chosen(self) -> tuple[Urn, ...]:
        """Return the URNs of the ticked results of all pages."""
        with self._session.lock:
            return tuple(hit.urn for hit, _ in self._session.ticked.values())

    @property
    def entity(self) -> "EntityPage | None":
        """Return the open entity as it was read last; None if there is none."""
        return self._session.entity

    @property
    def df(self) -> "pd.DataFrame":
        """Return a row for each ticked result, or if none is ticked, for each on the page; see
        `explorer.views.search.search_table`. No request."""
        with self._session.lock:
            ticked, results = list(self._session.ticked.values()), self._session.results
        entities_read = results.entities if results is not None else {}
        names = {str(urn): entity.name for urn, entity in entities_read.items()}
        if not ticked and results is not None:
            page = results.page
            table = search_table(page, entities_read, results.measures, page.start, names)
            return to_frame(replace(table, total=page.total, total_of="results"))
        entities = {hit.entity_urn: entity for hit, entity in ticked if entity is not None}
        measures = self._session.measures
        return to_frame(search_table((hit for hit, _ in ticked), entities, measures, names=names))

    def search(self, text: str = "", *, filter: str = "") -> None:
        """Run another search, and show it in the inputs of the page."""
        self._session.find(Query(text, filter, chosen={}))

    def open_entity(self, urn: str | Urn) -> None:
        """Open an entity on the page."""
        self._session.open(str(urn))

    def open_draft(self, stored: "StoredDraft") -> None:
        """Open a draft of `cat.drafts` in the editor."""
        self._session.go_on(stored)

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Wait until all requests are done; return whether that happened in time."""
        is_done = super().wait(timeout_seconds)
        drawing = self._session.drawing
        return is_done and (drawing is None or drawing.wait(timeout_seconds))

    def close(self) -> None:
        """Cancel reading, and close the widget."""
        session = getattr(self, "_session", None)
        if session is not None:
            session.end_drawing()
            session.searching.close()
            session.browsing.close()
        super().close()

    def hand_over(self) -> ExplorerSession:
        """Close it, and return its state for its replacement."""
        self.close()
        return self._session

    def parts(self, first: str = "") -> Iterator[Part]:
        """Yield the number of drafts, the results and the open entity, for front ends without a
        kernel."""
        session = self._session
        with session.lock:
            entity, results, drafts = session.entity, session.results, session.drafts.count
        yield Title("Explorer", f"An explorer {first}" if first else "")
        if drafts:
            yield Say(f"{unsaved_sentence(drafts)}: .drafts of the catalog lists the drafts.")
        if results is not None:
            yield from results_page(results, session.catalog).parts()
        else:
            yield Say("nothing read yet")
        if entity is not None:
            yield Fold("open", list(entity.parts()))

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Return the widget, with text and HTML for front ends without a kernel."""
        # A notebook saves the present state. A slow page is shown later all the same.
        self.wait(_FIRST_SECONDS)
        return super()._repr_mimebundle_(**kwargs)

    def _show(self, name: str, value: Any) -> None:
        if name == "message":
            self.send(value)
            return
        setattr(self, "page" if name == "entity" else name, value)

    def _opened(self, urn: str) -> None:
        self.selected = urn

    def _turn_to(self, urn: str) -> None:
        session = self._session
        if urn == session.urn:
            return
        if urn:
            session.open(urn)
        else:
            session.close_entity()

    def _take_over(self, old: "Explorer", query: Query, opened: str) -> tuple[Query, str, "Tab"]:
        before = old.hand_over()
        with before.lock:
            self._session.writing.go_on_with(before.writing.drafts)
            if query == Query(chosen={}) and not opened:
                self._session.ticked.update(before.ticked)
                return before.query, before.urn, before.tab
        return query, opened, "overview"

    def clears_remarks(self, content: Any) -> bool:
        """Return whether an action clears the previous error and message; a step in the drawing
        does not."""
        return not (isinstance(content, dict) and content.get("kind") == "drawing")

    def answer(self, content: Any) -> None:
        """Handle a request of a page."""
        session = self._session
        match content:
            case {"kind": "drawing", "told": told}:
                session.handle_drawing_message(told)
            case {"kind": "search", "text": str(text), "filter": str(filter)}:
                query = replace(session.query, text=text, filter=filter, start=0)
                session.find(query, put=False, offering=text != session.query.text)
            case {"kind": "toggle", "field": str(field), "value": str(value)}:
                registry = session.catalog.registry
                session.find(session.query.toggle(field, value, registry))
            case {"kind": "order", "order": str(order)} if order in SORT_ORDERS:
                session.find(replace(session.query, sort=order, start=0, columns=False))
            case {"kind": "order", "order": "columns"}:
                session.find(replace(session.query, sort="", start=0, columns=True))
            case {"kind": "page", "start": int(start)} if start >= 0:
                session.find(replace(session.query, start=start))
            case {"kind": "tick", "urn": str(urn), "on": bool(on)}:
                session.tick(urn, on=on)
            case {"kind": "unfold", "key": str(key)}:
                session.unfold(key)
            case {"kind": "fold", "key": str(key)}:
                session.fold(key)
            case {"kind": "more", "key": str(key)}:
                session.more(key)
            case {"kind": "open", "urn": str(urn)}:
                session.open(urn.strip())
            case {"kind": "again"}:
                session.again()
            case {"kind": "back"}:
                session.close_entity()
            case {"kind": "tab", "tab": str(tab), **rest} if tab in TABS:
                details: dict[str, Any] = {
                    key: rest[key] for key in ("text", "most", "aspect", "hops") if key in rest
                }
                session.turn(TABS[TABS.index(tab)], details or None)
            case {"kind": "kept"}:
                with session.lock:
                    session.drafts.answer(content)
            case {"kind": "edit", "path": str(path)}:
                session.write(path)
            case {"kind": "edit"}:
                session.write(None)
            case _:
                with session.lock:
                    session.writing.answer(content)


_by_cell: "WeakValueDictionary[str, Explorer]" = WeakValueDictionary()


def explore(
    catalog: "SearchCatalog",
    text: str = "",
    *,
    filter: str = "",
    urn: "str | Urn | None" = None,
) -> Explorer:
    """Return an explorer of a catalog.

    If the front end reports the running cell, the previous explorer of that cell is closed, and
    this one takes over its drafts and, unless others are given, its search and entity.
    """
    cell = running_cell()
    before = _by_cell.get(cell) if cell else None
    explorer = Explorer(catalog, text, filter=filter, urn=urn, instead_of=before)
    if cell:
        _by_cell[cell] = explorer
    return explorer
