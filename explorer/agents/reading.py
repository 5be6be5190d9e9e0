"""The answers of the tools that read: documents with the most important parts first. They are made
from the records and reports in `views`, which all user interfaces use."""

import re
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from explorer.client.display import counted, moment
from explorer.errors import InvalidInput, NotFound, UnknownName
from explorer.metadata.urn import Urn
from explorer.sessions.joins import read_joins
from explorer.sessions.lineage import (
    LineageQuery,
    read_choice,
    read_impact,
    read_label_names,
    read_nearest,
    read_paths,
)
from explorer.sessions.search import Query, find, read_entities
from explorer.views.budget import text_pieces
from explorer.views.columns import (
    ColumnKnowledge,
    ColumnRow,
    column_measurements,
    column_row,
    foreign_keys,
    schema_of,
    select_columns,
)
from explorer.views.entity import entity_parts, health_table
from explorer.views.history import AspectHistory, VersionStep, actors_of, steps_report
from explorer.views.lineage import (
    CERTAINTY,
    LineageEntity,
    LineageListing,
    incomplete_note,
    lineage_entities,
    paths_report,
)
from explorer.views.parts import (
    Code,
    Fact,
    Facts,
    Grid,
    Mention,
    Moment,
    Part,
    Plain,
    Prose,
    Say,
    Stamped,
    Title,
    Trail,
    Value,
    Web,
    mentions_of,
)
from explorer.views.search import facet_groups, loosened_label, result_rows
from explorer.views.table import to_objects
from explorer.views.timeseries import newest_profile_report, usage_of, usage_report

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Column, Entity

Document = dict[str, Any]

EntityPart = Literal[
    "overview", "columns", "lineage", "usage", "profile", "history", "quality", "text"
]
PARTS: Final[tuple[EntityPart, ...]] = get_args(EntityPart)
LineageDirection = Literal["up", "down", "both", "impact"]

_FOUND_AT_ONCE: Final = 40
_NEAREST_AT_ONCE: Final = 300
_MOST_NAMES: Final = 500
_LIKE_AT_MOST: Final = 5
_VERSIONS: Final = 30
_USAGE_DAYS: Final = 30
_TABLES_AT_ONCE: Final = 50
_MOST_TABLES: Final = 2_000
_ALL_COLUMNS: Final = frozenset(("schemaMetadata", "editableSchemaMetadata"))


@dataclass(frozen=True, slots=True)
class ReadPart:
    """A document whose last list is incomplete. `further` is the number of elements left out,
    `next_start` the position of the first of them."""

    document: Document
    further: int = 0
    next_start: int = 0


@dataclass(frozen=True, slots=True)
class ColumnChoice:
    """A selection of columns: those with `text` in their name or description, with all tags and
    terms in `labels`, given by name or URN, and, if `undocumented`, without a description."""

    text: str = ""
    labels: tuple[str, ...] = ()
    undocumented: bool = False

    def select(self, columns: "Iterable[Column]", names: Mapping[Urn, str]) -> "list[Column]":
        """Return the columns that match the selection. `names` are the names of tags and terms."""
        return select_columns(
            columns, names, tags=self.labels, text=self.text, undocumented=self.undocumented
        )


class UnknownEntity(NotFound):
    """The entity does not exist; `like` has the URNs or names of similar ones."""

    def __init__(self, sentence: str, like: Sequence[str]) -> None:
        self.like = tuple(like)
        super().__init__(sentence)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (str(self), self.like), self.__dict__


async def find_urn(catalog: "AsyncCatalog", name: str, *types: str) -> Urn:
    """Return the URN of an entity given by its URN or name, of one of `types` if there are any.
    Raises `UnknownEntity`, with similar entities, if none has the name, and `InvalidInput` if
    several have it."""
    try:
        return await catalog.urn_of(name, *types)
    except NotFound as error:
        raise UnknownEntity(str(error), await _like(catalog, name, types)) from error


async def read_entity(catalog: "AsyncCatalog", name: str, *types: str) -> "Entity":
    """Return the entity with a URN or name. Raises the errors of `find_urn`, and `UnknownEntity`
    for a URN without any data."""
    urn = await find_urn(catalog, name, *types)
    entity = await catalog.entity(urn)
    if not entity.exists:
        raise await unknown_entity(catalog, urn)
    return entity


async def unknown_entity(catalog: "AsyncCatalog", urn: Urn) -> UnknownEntity:
    """Return the error for a URN that is not in the catalog, with similar entities."""
    like = await _like(catalog, Urn.label(str(urn)), (urn.entity_type,))
    edges = await catalog.relationships(urn, "INCOMING")
    mention = " (others name it, but nothing describes it)" if edges.total else ""
    return UnknownEntity(f"there is no {urn} in this catalog{mention}", like)


async def _like(catalog: "AsyncCatalog", name: str, types: Sequence[str]) -> list[str]:
    words = " ".join(name.replace(".", " ").replace("_", " ").split())
    try:
        page = await catalog.search(words or "*", entity=types or None, count=_LIKE_AT_MOST)
    except InvalidInput:
        # Entities of this type cannot be searched.
        return []
    return [str(hit.urn) for hit in page]


async def _names(catalog: "AsyncCatalog", urns: Iterable[Urn]) -> dict[Urn, str]:
    few = list(islice(dict.fromkeys(urns), _MOST_NAMES))
    entities = await catalog.summaries(few) if few else {}
    return {urn: entity.name for urn, entity in entities.items()}


async def search(
    catalog: "AsyncCatalog",
    text: str,
    filter: str,
    types: tuple[str, ...],
    sort: str,
    start: int,
) -> ReadPart:
    """Return the results of a search, best first, with the facets that narrow it."""
    words = _plain_words(catalog, text)
    query = Query(words, filter, sort, types)
    page = await find(catalog, query, start, _FOUND_AT_ONCE)
    entities = await read_entities(catalog, page)
    rows = result_rows(page, entities or {})
    people = Urn.parse_all(
        owner.owner for entity in (entities or {}).values() for owner in entity.owners
    )
    names = await _names(catalog, people)
    document: Document = {"total": page.total}
    if entities is None:
        document["missing"] = "what is known of the results cannot be read at the moment"
    if page.corrected or words != text:
        document["searched_for"] = page.corrected or words
    if loosened := loosened_label(page):
        document["words"] = loosened
    if not start:
        document["most"] = {
            group.label: ", ".join(f"{row.label} {row.count_label}" for row in group.rows[:_VALUES])
            for group in facet_groups(page.facets)
            if group.field in _FACETS and len(group.rows) > 1
        }
    document["results"] = [
        {
            "urn": str(row.urn),
            "name": row.name,
            "type": row.kind_label,
            "platform": row.platform,
            "states": row.states,
            "description": _excerpt(row.first_line),
            "owners": [
                names.get(urn, urn.name)
                for urn in Urn.parse_all(
                    owner.owner
                    for owner in (entities[row.urn].owners if row.urn in (entities or {}) else ())
                )
            ]
            if entities
            else None,
            "matched": [
                f"{match.label}: {_excerpt(match.value_label)}"
                for match in row.matches
                if not match.is_name
            ][:3],
        }
        for row in rows
    ]
    return ReadPart(document, page.total - page.end, page.end)


def _plain_words(catalog: "AsyncCatalog", text: str) -> str:
    """Return a text to search for: unchanged, or only its words if it contains punctuation, such as
    a colon, that cannot be parsed as a condition."""
    try:
        Query(text).conditions(catalog.registry)
    except InvalidInput:
        return " ".join(_WORDS.findall(text))
    return text


_WORDS: Final = re.compile(r"\w+(?:[.'-]\w+)*")
_VALUES: Final = 4
_FACETS: Final = frozenset(("_entityType", "platform", "tags", "owners", "domains"))
_EXCERPT: Final = 240


def _excerpt(text: str) -> str:
    return f"{text[:_EXCERPT]}…" if len(text) > _EXCERPT else text


async def entity(
    catalog: "AsyncCatalog", name: str, parts: tuple[EntityPart, ...], column: str = ""
) -> Document:
    """Return the given parts of an entity's page."""
    described = await read_entity(catalog, name)
    document: Document = {
        "urn": str(described.urn),
        "name": described.name,
        "type": described.kind,
        "state": _state_of(described),
    }
    for part in dict.fromkeys(parts):
        match part:
            case "overview":
                document |= await _overview(catalog, described)
            case "columns":
                document["columns"] = await _column_documents(
                    catalog, described, tuple(described.schema)
                )
            case "lineage":
                document["lineage"] = (await lineage(catalog, name, "both", hops=1)).document
            case "usage":
                document["usage"] = await _usage(catalog, described.urn)
            case "profile":
                document["profile"] = await _profile(catalog, described.urn)
            case "history":
                document["history"] = await _history(catalog, described)
            case "quality":
                document["quality"] = await _quality(catalog, described.urn)
            case "text":
                document["text"] = text_pieces(_text_of(described, column))
    return document


def _state_of(described: "Entity") -> str:
    states = []
    if described.removed:
        states.append("soft-deleted: hidden from search and browse")
    if described.deprecation is not None:
        states.append(f"deprecated: {described.deprecation}")
    return "; ".join(states) or "in use"


def _text_of(described: "Entity", column: str) -> str:
    if not column:
        return described.description
    return find_column(described, column).description


def find_column(described: "Entity", path: str) -> "Column":
    """Return the column with this path, exact or without types. Raises `UnknownName`, with similar
    paths, if there is none or several match."""
    exact = described.schema.column(path)
    if exact is not None:
        return exact
    alike = [column for column in described.schema if column.path.simple == path]
    if len(alike) == 1:
        return alike[0]
    raise UnknownName(
        "column", path, (column.path.raw for column in alike or described.schema.columns)
    )


async def _overview(catalog: "AsyncCatalog", described: "Entity") -> Document:
    parts = [part for part in entity_parts(described) if not _is_columns(part)]
    names = await _names(catalog, mentions_of(parts))
    document = render_parts(parts, names)
    # Every answer says it, in fewer words.
    document.pop("state", None)
    schema = schema_of(described)
    if schema is not None and len(schema):
        document["schema"] = {
            "columns": len(schema),
            "documented": schema.documented,
            "names": [column.path.simple for column in schema],
        }
    return document


def _is_columns(part: Part) -> bool:
    return isinstance(part, Grid)


_SKIPPED: Final = frozenset(("URN", "Stored"))


def render_parts(parts: Iterable[Part], names: Mapping[Urn, str]) -> Document:
    """Return the parts of a page as a document, each under its title."""
    document: Document = {}
    section, is_skipped = document, False
    for part in parts:
        match part:
            case Title(text, remark):
                is_skipped = text in _SKIPPED
                title = f"{text} ({remark})" if remark else text
                section = {} if is_skipped else document.setdefault(title, {})
            case Prose(text, missing):
                section.setdefault("text", text or missing)
            case Say(text):
                section.setdefault("note", text)
            case Code(text, language):
                section[language or "code"] = text
            case Fact(label, values):
                section[label or "values"] = [_value_text(value, names) for value in values]
            case Facts(rows):
                section |= {label: cell.text for label, cell in rows}
            case Grid(headers, rows):
                section["rows"] = [
                    dict(zip(headers, (cell.text for cell in row), strict=True)) for row in rows
                ]
            case _:
                pass
    return {title: value for title, value in document.items() if value not in ({}, [])}


def _value_text(value: Value, names: Mapping[Urn, str]) -> str:
    match value:
        case Plain(text):
            return text
        case Moment(millis):
            return moment(millis, utc=True)
        case Mention(urn, remark):
            words = (names.get(urn, ""), f"({remark})" if remark else "", str(urn))
            return " ".join(filter(None, words))
        case Stamped(millis, actor, remark):
            who = "" if actor is None else f"by {names.get(actor, actor.name)}"
            return " ".join(filter(None, (remark, moment(millis, utc=True), who)))
        case Web(url, label):
            return f"{label} {url}".strip()
        case Trail():
            return value.text(names)


async def _usage(catalog: "AsyncCatalog", urn: Urn) -> Document:
    try:
        series = await catalog.usage(urn, days=_USAGE_DAYS)
    except InvalidInput as error:
        return {"none": str(error)}
    use = usage_of(series)
    report = usage_report(str(urn), use, {}, "", 0)
    document: Document = dict(report.document)
    del document["urn"]
    days = document.pop("days")
    period = f"{days[0]['date']} to {days[-1]['date']}" if days else f"last {_USAGE_DAYS} days"
    measured = {"period": period, "days_measured": len(days)}
    return measured | document | {"days": days[::-1]}


async def _profile(catalog: "AsyncCatalog", urn: Urn) -> Document:
    if urn.entity_type != "dataset":
        return {"none": f"there are no profiles of a {urn.entity_type}"}
    report = newest_profile_report(str(urn), await catalog.profiles(urn))
    if report.document is None:
        return {"none": "this dataset has no profile"}
    document: Document = dict(report.document)
    millis = document.pop("timestamp_millis", None)
    measured = moment(millis, utc=True) if isinstance(millis, int) else None
    return {"measured": measured} | document


async def _history(catalog: "AsyncCatalog", described: "Entity") -> Document:
    steps: list[VersionStep] = []
    for aspect in described.aspects:
        if not aspect.endswith("Key"):
            page = await catalog.versions(described.urn, aspect, count=_VERSIONS + 1)
            steps += AspectHistory(aspect).with_page(page).steps
    steps.sort(key=lambda step: step.millis, reverse=True)
    names = await _names(catalog, actors_of(step.version.created for step in steps))
    report = steps_report(described.urn, steps, len(steps), names)
    changes = [
        {
            "aspect": version["aspect"],
            "when": moment(step.millis, utc=True),
            "by": version.get("who") or version.get("actor"),
            "summary": version["summary"],
        }
        for version, step in zip(report.document["versions"], steps, strict=True)
    ]
    return {"total": len(changes), "changes": changes}


async def _quality(catalog: "AsyncCatalog", urn: Urn) -> Document:
    health = await catalog.health(urn)
    return {
        "state": list(health.sentences()) or ["no failing check and no open incident is known"],
        "problems": to_objects(health_table(health)),
    }


async def columns_of(catalog: "AsyncCatalog", table: str, choice: ColumnChoice) -> Document:
    """Return the selected columns of a table, in the order of its schema."""
    dataset = await read_entity(catalog, table)
    schema = dataset.schema
    names = await _label_names(catalog, schema)
    chosen = choice.select(schema, names)
    return {
        "urn": str(dataset.urn),
        "total": len(schema),
        "documented": schema.documented,
        "matching": len(chosen),
        "columns": await _column_documents(catalog, dataset, chosen, names),
    }


async def columns_everywhere(
    catalog: "AsyncCatalog", filter: str, choice: ColumnChoice
) -> Document:
    """Return the selected columns of all tables that match a filter, the most used tables first."""
    if choice == ColumnChoice():
        raise InvalidInput("say which columns: give match, labels or undocumented, or a table")
    matches: list[tuple[Entity, Column, Mapping[Urn, str]]] = []
    tables = 0
    total = 0
    async for datasets, count in _datasets(catalog, filter):
        total = count
        tables += len(datasets)
        names = await _label_names(
            catalog, (column for dataset in datasets for column in dataset.schema)
        )
        for dataset in datasets:
            matches += [(dataset, c, names) for c in choice.select(dataset.schema, names)]
    document: Document = {"tables_read": tables, "matching": len(matches)}
    if tables < total:
        document["not_read"] = f"{counted(total - tables, 'table')}: narrow them with filter"
    document["columns"] = [
        {"table": str(dataset.urn)} | _column_document(column_row(column, _known(names), flat=True))
        for dataset, column, names in matches
    ]
    return document


async def _datasets(
    catalog: "AsyncCatalog", filter: str
) -> "AsyncIterator[tuple[list[Entity], int]]":
    start = 0
    while start < _MOST_TABLES:
        query = Query("", filter, "-use", ("dataset",))
        page = await find(catalog, query, start, _TABLES_AT_ONCE)
        aspects = (*sorted(_ALL_COLUMNS), "status")
        entities = await catalog.entities([hit.urn for hit in page], aspects)
        readable = [
            entities[hit.urn]
            for hit in page
            if hit.urn in entities and schema_of(entities[hit.urn]) is not None
        ]
        yield readable, page.total
        start = page.end
        if not page.hits or start >= page.total:
            return


async def _label_names(catalog: "AsyncCatalog", columns: "Iterable[Column]") -> dict[Urn, str]:
    return await _names(catalog, (urn for c in columns for urn in (*c.tags, *c.terms)))


def _known(names: Mapping[Urn, str]) -> ColumnKnowledge:
    return ColumnKnowledge(names=names)


async def _column_documents(
    catalog: "AsyncCatalog",
    dataset: "Entity",
    columns: "Sequence[Column]",
    names: Mapping[Urn, str] | None = None,
) -> list[Document]:
    if names is None:
        names = await _label_names(catalog, columns)
    foreign = foreign_keys(dataset)
    usage = await catalog.usage(dataset.urn, days=_USAGE_DAYS)
    knowledge = ColumnKnowledge(
        measured=column_measurements(usage, None, dataset.schema), foreign=foreign, names=names
    )
    return [_column_document(column_row(column, knowledge, flat=True)) for column in columns]


def _column_document(row: ColumnRow) -> Document:
    column = row.column
    return {
        "path": row.label,
        "exact_path": row.path if row.path != row.label else None,
        "type": column.native_type or column.type,
        "facts": [fact for fact in row.facts[1:] if fact in ("not null", "key")],
        "refers_to": row.foreign_key,
        "description": row.description,
        "edited_by_people": row.is_edited or None,
        "undocumented": not column.documented or None,
        "tags": row.tags,
        "terms": row.terms,
        "uses_in_30_days": row.uses or None,
    }


_SIDES: "Final[dict[LineageDirection, Literal['UPSTREAM', 'DOWNSTREAM', 'BOTH']]]" = {
    "up": "UPSTREAM",
    "down": "DOWNSTREAM",
    "both": "BOTH",
}


async def lineage(
    catalog: "AsyncCatalog",
    name: str,
    direction: LineageDirection,
    *,
    column: str = "",
    hops: int = 3,
    filter: str = "",
    start: int = 0,
) -> ReadPart:
    """Return the upstream and downstream entities of an entity or column, nearest first; for the
    direction `impact`, all affected entities, the most used first."""
    described = await read_entity(catalog, name)
    urn, path = described.urn, find_column(described, column).path.raw if column else None
    choice = read_choice((filter,) if filter else (), catalog.registry)
    if direction == "impact":
        return ReadPart(await _impact(catalog, urn, path, filter=choice))
    query = LineageQuery(urn, _SIDES[direction], hops, path)
    query.check()
    listing = await read_nearest(
        catalog, query, filter=choice, limit=_NEAREST_AT_ONCE, with_next_hop=True, start=start
    )
    nodes = listing.graph.nodes
    names = await read_label_names(catalog, (nodes[urn] for urn in listing.nearest))
    end = start + len(listing.nearest)
    return ReadPart(_lineage_document(listing, names), listing.total - end, end)


def _lineage_document(listing: LineageListing, names: Mapping[str, str]) -> Document:
    graph = listing.graph
    entities = lineage_entities(
        ((urn, graph.nodes[urn]) for urn in (listing.root, *listing.nearest)), names
    )
    document: Document = {"root": listing.root, "hops": listing.hops}
    for flow in listing.sides:
        document["upstream" if flow == "UPSTREAM" else "downstream"] = listing.count(flow)
    if len(graph) - 1 > listing.total:
        document["further"] = f"there is more lineage beyond {counted(listing.hops, 'hop')}"
    if cut := graph.graph["truncated"]:
        document["incomplete"] = incomplete_note(cut).text
    document["entities"] = [
        _lineage_entity(entities[urn], **_neighbours(listing, entities, urn))
        for urn in listing.nearest
    ]
    return document


def _neighbours(
    listing: LineageListing, entities: Mapping[str, LineageEntity], urn: str
) -> Document:
    """Return the names of the entities through which `urn` is connected to the root, and whether
    one of these connections is a guess."""
    graph = listing.graph
    is_upstream = graph.nodes[urn]["hops"] < 0
    edges = graph.out_edges(urn) if is_upstream else graph.in_edges(urn)
    listed = [edge for edge in edges if {*edge} <= entities.keys()]
    names = [entities[edge[1] if is_upstream else edge[0]].full_name for edge in listed]
    is_guess = any(graph.edges[edge].get("guess") for edge in listed)
    return {"feeds" if is_upstream else "made_from": names, "guessed": is_guess}


def _lineage_entity(entity: LineageEntity, **more: Any) -> Document:
    return {
        "urn": entity.urn,
        "name": entity.full_name,
        "type": entity.type,
        "hops": entity.hops,
        "state": entity.state,
        "owners": entity.owners,
        "domain": entity.domain,
    } | {name: value or None for name, value in more.items()}


async def _impact(
    catalog: "AsyncCatalog", urn: Urn, column: str | None, *, filter: Any
) -> Document:
    view = await read_impact(catalog, urn, column, filter=filter)
    impact = view.impact
    document: Document = {
        "root": impact.root,
        "column": impact.column,
        "affected_total": len(impact),
        "by_type": {name: len(group) for _, name, group in view.groups("type")},
        "queries_in_30_days": impact.queries,
        "incomplete": impact.truncated,
        "not_counted": impact.uncounted,
    }
    document["affected"] = [
        _lineage_entity(
            view.entities[affected.urn],
            queries_in_30_days=affected.queries,
            columns=affected.columns,
            known=CERTAINTY[affected.certainty] if column else None,
        )
        for affected in impact.affected
    ]
    return document


async def paths(catalog: "AsyncCatalog", source: str, target: str) -> Document:
    """Return all shortest paths between two entities."""
    ends = [(await read_entity(catalog, name)).urn for name in (source, target)]
    view = await read_paths(catalog, *ends, limit=50)
    report = paths_report(view, (), 1_000)
    document: Document = dict(report.document)
    if not document["ways"]:
        document["none"] = [str(getattr(note, "text", note)) for note in report.notes]
    return document


async def joins(catalog: "AsyncCatalog", left: str, right: str) -> Document:
    """Return the ways to join two tables, the most reliable first."""
    first, second = [await read_entity(catalog, name, "dataset") for name in (left, right)]
    matches = await read_joins(catalog, first.urn, second.urn)
    document: Document = {"tables": [str(first.urn), str(second.urn)]}
    if not matches:
        document["none"] = "no key, lineage, term or name connects columns of the two"
    document["joins"] = [
        {
            "on": f"{first.name}.{join.first} = {second.name}.{join.second}",
            "why": join.reasons,
            "through": join.through,
        }
        for join in matches
    ]
    return document


_GLOSSARY_TYPES: Final = ("glossaryTerm", "glossaryNode")
_USED_BY: Final = 30


async def glossary(catalog: "AsyncCatalog", term: str) -> Document:
    """Return the meaning of a term and the entities that have it; if no term has this name, the
    terms that a search finds."""
    try:
        described = await read_entity(catalog, term, *_GLOSSARY_TYPES)
    except (NotFound, InvalidInput):
        if term.startswith("urn:"):
            raise
        return await _terms(catalog, term)
    if described.entity_type not in _GLOSSARY_TYPES:
        raise InvalidInput(f"{described.urn} is no glossary term; entity reads it")
    document: Document = {"urn": str(described.urn), "name": described.name}
    document |= await _overview(catalog, described)
    used: dict[str, list[str]] = {}
    for label, fields in (
        ("entities", ("glossaryTerms",)),
        ("tables_with_columns", ("fieldGlossaryTerms", "editedFieldGlossaryTerms")),
    ):
        text = " OR ".join(f'{field}:"{described.urn}"' for field in fields)
        page = await catalog.search("*", filter=text, count=_USED_BY)
        document[f"{label}_count"] = page.total
        used[label] = [str(hit.urn) for hit in page]
    return document | used


async def _terms(catalog: "AsyncCatalog", words: str) -> Document:
    page = await catalog.search(words or "*", entity=_GLOSSARY_TYPES, count=100)
    entities = await catalog.entities(
        [hit.urn for hit in page], ("glossaryTermInfo", "glossaryNodeInfo", "status")
    )
    terms = [
        {
            "urn": str(hit.urn),
            "name": entities[hit.urn].name,
            "definition": _excerpt(entities[hit.urn].description),
        }
        for hit in page
        if hit.urn in entities
    ]
    return {"total": page.total, "terms": terms}


def time_of(catalog: "AsyncCatalog") -> str:
    """Return the time of the data in an answer: now or, if the server does not answer, when the
    offline copy was made."""
    at = catalog.as_of
    return f"{(at or datetime.now(UTC)):%Y-%m-%d %H:%M} UTC{' (kept; offline)' if at else ''}"
