"""Intended uses of the client, asynchronous and blocking, as a type checker sees them: every public
method with every kind of argument, and what each gives. It is checked, and never run."""

from collections.abc import AsyncIterator, Generator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, assert_type

import pandas as pd

from explorer import config, errors
from explorer.client import (
    Abilities,
    Answer,
    AspectDiff,
    AspectRead,
    AsyncCatalog,
    BrowsePage,
    Catalog,
    ChangeEvent,
    ChangePage,
    Column,
    ColumnChange,
    Deletion,
    DescribedCounts,
    DescribedTrend,
    Direction,
    Edge,
    Edges,
    Edit,
    Entity,
    Facet,
    Flow,
    Folder,
    Health,
    Held,
    Hit,
    Journal,
    JournalEntry,
    JournalSave,
    KnownCatalog,
    Lineage,
    LineageEdge,
    LoadReport,
    Measures,
    MovedContents,
    Named,
    Offline,
    Pager,
    Pages,
    Reached,
    RefusedChange,
    Request,
    Retry,
    Rollback,
    Run,
    Schema,
    SearchPage,
    Secret,
    ServerInfo,
    StatusChange,
    Suggestion,
    TextConflict,
    Timeseries,
    Transport,
    UndescribedPage,
    ValueChange,
    Version,
    Versions,
    Way,
    What,
    difference,
    one_save,
)
from explorer.graph import (
    Affected,
    Ancestor,
    AsyncGraphs,
    Extent,
    Graphs,
    Grouping,
    Impact,
    Layout,
    Paths,
    Side,
    WalkLimits,
    cycles,
    impact_of,
    lay_out,
    lineage_graph,
    select,
    shortest_paths,
)
from explorer.graph.export import from_graphml, to_dot, to_graphml, to_mermaid, to_node_link
from explorer.metadata import FieldPath, Proposal, Registry, Urn, load_registry, read_proposal
from explorer.metadata.aspects import (
    DatasetProfile,
    DatasetUsageStatistics,
    Link,
    Operation,
    Owner,
    Ownership,
    SchemaMetadata,
    Status,
)
from explorer.notebook import entity as shown_entity
from explorer.notebook.catalog import AddedTable, NotebookCatalog
from explorer.query import (
    Completion,
    Condition,
    Criterion,
    Filter,
    Order,
    all_of,
    read_filter,
    write_filter,
)
from explorer.views import columns, history, lineage, search, timeseries
from explorer.views import entity as entity_views
from explorer.views.table import to_frame

TEXT = "urn:li:dataset:(urn:li:dataPlatform:hive,db.orders,PROD)"
TABLE = Urn.dataset("hive", "db.orders")
TAG = Urn.of("tag", "PII")
EQUAL: Condition = "EQUAL"
FILTER = all_of(Criterion("platform", ("hive",), EQUAL), Criterion("removed", condition="EXISTS"))
SORTED: Sequence[Order] = (Order("name", descending=True),)
THEN = datetime(2024, 1, 1, tzinfo=UTC)
NOW = datetime.now(UTC)


class Carrier:
    """A transport of one's own."""

    async def send(self, request: Request) -> Answer:
        assert_type(request.path, str)
        return Answer(200, b"{}")

    async def close(self) -> None:
        return None


def made() -> None:
    """Every way to make a client."""
    offline: Offline = "fallback"
    carrier: Transport = Carrier()
    Catalog()
    Catalog("http://localhost:8080", token="t", timeout_seconds=5, read_only=True)
    Catalog(profile="prod", offline=offline, retry=Retry(tries=2, total_seconds=3.5))
    Catalog(data_dir=Path("here"))
    Catalog(data_dir="here")
    AsyncCatalog("http://localhost:8080", token=Secret("Bearer t"), transport=carrier)
    assert_type(config.server(profile="prod").url, str | None)
    assert_type(config.read_profiles().named("prod"), config.ConnectionProfile)


async def found(catalog: AsyncCatalog) -> None:
    """Search, browsing, and everything there is."""
    page = await catalog.search(
        "orders", entity="dataset", filter="platform:hive", sort="-name", start=20
    )
    assert_type(page, SearchPage)
    assert_type([hit.urn for hit in page], list[Urn])
    assert_type((page.total, len(page), page.truncated), tuple[int, int, bool])
    await catalog.search(entity=["dataset", "chart"], filter=FILTER, sort=SORTED, count=5)
    await catalog.search("o", superseding="typing", columns=True)
    facets = await catalog.facets("o", entity=("dataset",), filter=FILTER, names=["platform"])
    assert_type(facets, tuple[Facet, ...])
    lacking = await catalog.undescribed(
        (Urn.parse("urn:li:tag:a"),),
        text="o",
        filter=FILTER,
        folder="/prod",
        start=0,
        count=5,
        days=7,
    )
    assert_type(lacking, UndescribedPage)
    counts = await catalog.described(
        (Urn.parse("urn:li:tag:a"),), text="o", filter="owner:nina", folder="/prod", by="owner"
    )
    assert_type(counts, DescribedCounts)
    trend = await catalog.described_trend(
        (Urn.parse("urn:li:tag:a"),),
        text="o",
        filter=FILTER,
        folder="/prod",
        by="platform",
        days=30,
        every="week",
    )
    assert_type(trend, DescribedTrend)
    assert_type(await catalog.counts(["dataset"]), dict[str, int])
    assert_type(await catalog.urn_of("Nina Weber", "corpuser"), Urn)
    names = await catalog.autocomplete(
        "ord", entity="chart", filter="tool:x", limit=3, superseding="k"
    )
    assert_type(names, tuple[str, ...])
    suggested = await catalog.suggest("ord", entities=["chart"], limit=3, superseding="k")
    assert_type(suggested, tuple[Suggestion, ...])
    completed = await catalog.complete_filter("platform:", 9, entity=["dataset"])
    assert_type(completed, tuple[Completion, ...])
    below = await catalog.browse("/prod", entity="dataset", start=0, count=10)
    assert_type(below, BrowsePage)
    assert_type(list(below), list[Folder | Named])
    assert_type(await catalog.browse_paths(TEXT), tuple[str, ...])
    hits = catalog.hits(
        "orders",
        entity="dataset",
        filter=FILTER,
        sort="name",
        page_size=10,
        limit=100,
        columns=False,
    )
    assert_type(hits, Pager[Hit])
    async for hit in hits:
        assert_type(hit.score, float | None)
    assert_type((hits.total, hits.returned_count, hits.why), tuple[int | None, int, str | None])
    async with catalog.urns(
        ["tag"], filter="removed:true", include_removed=True, page_size=10, limit=20
    ) as urns:
        assert_type(await urns.page(), tuple[Urn, ...])
        assert_type(await anext(urns), Urn)
    async for entry in catalog.folder("/prod", entity="chart", page_size=5, limit=None):
        assert_type(entry, Folder | Named)


async def read(catalog: AsyncCatalog) -> None:
    """Entities, aspects, their versions and points."""
    assert_type(await catalog.info(), ServerInfo)
    assert_type(await catalog.abilities(), Abilities)
    assert_type(await catalog.known_as(), KnownCatalog)
    assert_type(catalog.registry, Registry)
    assert_type((catalog.address, catalog.embedded), tuple[str, bool])
    assert_type((catalog.read_only, catalog.is_offline), tuple[bool, bool])
    assert_type(catalog.identity, str)
    catalog.watch(print)
    catalog.watch(None)
    assert_type(catalog.as_of, datetime | None)
    assert_type(catalog.save_warnings, tuple[str, ...])
    entity = await catalog.entity(TEXT, ["status"])
    assert_type(entity, Entity)
    assert_type(entity.aspect("ownership", Ownership), Ownership | None)
    assert_type(entity.raw("ownership"), dict[str, Any] | None)
    assert_type(entity.owners, tuple[Owner, ...])
    schema = entity.schema
    assert_type(schema, Schema)
    assert_type(schema.column("id"), Column | None)
    assert_type([column.path for column in schema], list[FieldPath])
    assert_type(await catalog.legacy_entity(TABLE), Entity)
    assert_type(await catalog.exists(TABLE), bool)
    several: Sequence[str | Urn] = (TEXT, TABLE)
    assert_type(await catalog.entities(several, ["status"]), dict[Urn, Entity])
    assert_type(await catalog.summaries(urn for urn in several), dict[Urn, Entity])
    aspect = await catalog.aspect(TABLE, "status", 1)
    assert_type(aspect, AspectRead)
    assert_type(aspect.value, dict[str, Any])
    assert_type(await catalog.record(TABLE, SchemaMetadata), SchemaMetadata | None)
    versions = await catalog.versions(TEXT, "status", start=1, count=2)
    assert_type(versions, Versions)
    async for version in catalog.every_version(TABLE, "status", page_size=10):
        assert_type(version, Version)
    diff = await catalog.diff(TABLE, "status", older=1, newer=0)
    assert_type(diff, AspectDiff)
    assert_type(diff.changes, tuple[ValueChange, ...])
    assert_type(difference({"a": 1}, {"a": 2}), tuple[ValueChange, ...])
    assert_type(await catalog.column_history(TABLE, "id"), tuple[ColumnChange, ...])
    assert_type(await catalog.blame(TEXT), dict[str, ColumnChange])
    series = await catalog.timeseries(
        TABLE,
        "operation",
        start=THEN,
        end=NOW,
        limit=10,
        latest=False,
        filter=all_of(Criterion("partitionSpec.partition", ("p",))),
    )
    assert_type(series, Timeseries)
    assert_type(series.operations(), tuple[Operation, ...])
    async for point in catalog.every_point(
        TABLE, "operation", start=THEN, end=NOW, page_size=100, filter=None
    ):
        assert_type(point, dict[str, Any])
    used = await catalog.usage(TEXT, start=THEN, end=NOW)
    assert_type(used.usage(), tuple[DatasetUsageStatistics, ...])
    assert_type(await catalog.me(), Urn | None)
    assert_type(await catalog.health(TABLE), Health)
    assert_type(await catalog.find_labels("PII", "tag"), tuple[Urn, ...])
    assert_type(await catalog.other_spelling(TABLE), Urn | None)
    measured = await catalog.measures({TABLE})
    assert_type(measured[TABLE].rows, int | None)
    profiled = await catalog.profiles(TABLE, start=None, end=NOW, days=30)
    assert_type(profiled.profiles(), tuple[DatasetProfile, ...])


async def related(catalog: AsyncCatalog) -> None:
    """Edges and lineage."""
    outgoing: Direction = "OUTGOING"
    upstream: Flow = "UPSTREAM"
    way: Way = "server"
    edges = await catalog.relationships(TEXT, outgoing, ["OwnedBy"], start=0, count=10)
    assert_type(edges, Edges)
    async for edge in catalog.related(TABLE, "INCOMING", ["OwnedBy"], page_size=5):
        assert_type(edge, Edge)
    lineage = await catalog.lineage(
        TABLE,
        upstream,
        hops=3,
        entities=["dataset"],
        platforms=["hive"],
        limit=10,
        budget_seconds=1.5,
        way=way,
    )
    assert_type(lineage, Lineage)
    assert_type(lineage.reached, Sequence[Reached])
    assert_type(lineage.edges, Sequence[LineageEdge])
    assert_type(catalog.relationship_names("dataset", outgoing), tuple[str, ...])


async def written(catalog: AsyncCatalog) -> None:
    """Aspects written and taken back."""
    proposal = Proposal(TABLE, "status", {"removed": False})
    await catalog.ingest(proposal)
    await catalog.ingest(Proposal(TABLE, "status", change="DELETE"))
    report = await catalog.ingest_batch(
        one for one in [proposal, read_proposal({}, load_registry())]
    )
    assert_type(report, LoadReport)
    assert_type(report.refused, tuple[RefusedChange, ...])
    await catalog.put(TEXT, "status", {"removed": True}, run_id="r", only_if_version=-1)
    await catalog.put(TABLE, None, Status(removed=True))
    await catalog.patch(TEXT, "globalTags", [{"op": "remove", "path": "/tags/urn:li:tag:PII"}])
    await catalog.patch(TABLE, "globalTags", {"patch": [], "arrayPrimaryKeys": {}})
    await catalog.remove(TEXT, "status")
    await catalog.ingest_snapshot(TABLE, {"status": Status(), "datasetProperties": {}})
    assert_type(await catalog.soft_delete(TABLE, dry_run=True), StatusChange)
    assert_type(await catalog.restore(TEXT, dry_run=True), StatusChange)
    assert_type(await catalog.delete(TABLE, dry_run=True, with_references=True), Deletion)
    assert_type(await catalog.runs(start=0, count=5, include_removed=True), tuple[Run, ...])
    assert_type(await catalog.roll_back("r", dry_run=True), Rollback)


async def edited(catalog: AsyncCatalog) -> None:
    """What people write."""
    data = await catalog.graphql("query q($u: String!) { dataset(urn: $u) { urn } }", {"u": TEXT})
    assert_type(data, dict[str, Any])
    journal = await catalog.keep_journal(Path("edits.jsonl"))
    assert_type(journal, Journal)
    edit = await catalog.describe(TABLE, "text", column="id", instead_of="old", force=True)
    assert_type(edit, Edit)
    assert_type(await catalog.carry_over(TABLE, "id"), tuple[Edit, ...])
    what: What = edit.what
    before: Held = edit.before
    print(what, before)
    for entry in journal:
        assert_type(entry, JournalEntry)
        assert_type(await catalog.undo(entry), Edit)
    await catalog.undo(edit, force=True)
    assert_type(await catalog.last_save(everyone=True), JournalSave | None)
    assert_type(await catalog.journal("orders"), Sequence[JournalEntry])
    print(catalog.drafting.command)
    made = await catalog.new(
        "glossaryTerm", "Order", parent="urn:li:glossaryNode:a", description="o", entity_id="b"
    )
    assert_type(made, Edit)
    assert_type(await catalog.rename(made.urn, "Orders", instead_of="Order"), Edit)
    assert_type(await catalog.move(made.urn, None, instead_of="urn:li:glossaryNode:a"), Edit)
    moved = await catalog.move_contents("urn:li:domain:a", dry_run=True)
    assert_type(moved, MovedContents)
    source = {"documentation": "o", "attribution": {"time": 0}}
    sourced = await catalog.set_text_source(TABLE, "id", source, instead_of={})
    assert_type(sourced, Edit)
    whole = await catalog.create_with("urn:li:tag:c", {"tagProperties": {"name": "c"}})
    assert_type(whole, Edit)
    assert_type(await catalog.last_undo(everyone=True), JournalSave | None)
    assert_type(await catalog.undo_save(force=True), tuple[Edit, ...])
    assert_type(await catalog.redo(), tuple[Edit, ...])
    assert_type(await catalog.create(TEXT, "tagProperties", {"name": "x"}), Edit)
    catalog.journal_in(Path("edits.jsonl"))
    catalog.on_warning(print)
    with one_save() as save:
        assert_type(save, str)
    assert_type(await catalog.links(TEXT), tuple[Link, ...])
    assert_type(await catalog.add_link(TABLE, "http://x", "label", instead_of=[]), Edit)
    assert_type(await catalog.remove_link(TEXT, "http://x", "label"), Edit)
    assert_type(await catalog.add_tags(TEXT, "PII"), Edit)
    assert_type(await catalog.remove_tags(TABLE, [TAG, "PII"], column="id"), Edit)
    assert_type(await catalog.add_terms(TABLE, ["Email"], column="id"), Edit)
    assert_type(await catalog.remove_terms(TEXT, Urn.of("glossaryTerm", "Email")), Edit)
    assert_type(await catalog.add_owners(TABLE, ("jdoe",), ownership="DATA_STEWARD"), Edit)
    assert_type(await catalog.remove_owners(TEXT, "jdoe", ownership=None), Edit)
    assert_type(await catalog.set_domain(TABLE, None), Edit)
    await catalog.set_domain(TEXT, Urn.of("domain", "sales"))
    assert_type(await catalog.deprecate(TABLE, "old", decommission=NOW, replacement=TEXT), Edit)
    assert_type(await catalog.undeprecate(TEXT), Edit)


async def followed(catalog: AsyncCatalog) -> None:
    """What was changed."""
    page = await catalog.changes(
        0, limit=5, urns=[TEXT, TABLE], aspects=["status"], entities=["dataset"], values=False
    )
    assert_type(page, ChangePage)
    async for change in catalog.every_change(
        page.next, urns=[TABLE], aspects=["status"], entities=["dataset"], values=True
    ):
        assert_type(change, ChangeEvent)
    async for change in catalog.follow(None, entities=["dataset"], on_contact=print):
        assert_type(change.at, datetime)


async def all_of_it() -> None:
    """The client is a context, and may be closed by hand."""
    async with AsyncCatalog() as catalog:
        assert_type(catalog, AsyncCatalog)
        each: AsyncIterator[Version] = catalog.every_version(TABLE, "status")
        print(each)
    await catalog.close()


def found_waiting(catalog: Catalog) -> None:
    """The same without `await`."""
    page = catalog.search("orders", entity="dataset", filter=FILTER, sort=SORTED, start=0, count=5)
    assert_type(page, SearchPage)
    catalog.search("o", entity=["chart"], filter="tool:x", sort="name", superseding="k")
    assert_type(catalog.facets("o", filter="platform:hive"), tuple[Facet, ...])
    assert_type(catalog.undescribed(filter="platform:hive", count=5), UndescribedPage)
    assert_type(catalog.described(by="platform"), DescribedCounts)
    assert_type(catalog.described_trend(days=30), DescribedTrend)
    assert_type(catalog.counts(), dict[str, int])
    assert_type(catalog.urn_of("orders"), Urn)
    assert_type(catalog.autocomplete("ord", filter=FILTER), tuple[str, ...])
    assert_type(catalog.suggest("ord"), tuple[Suggestion, ...])
    assert_type(catalog.complete_filter("pl", 2, entity="dataset"), tuple[Completion, ...])
    assert_type(catalog.browse(), BrowsePage)
    assert_type(catalog.browse_paths(TABLE), tuple[str, ...])
    with catalog.hits("orders", filter="platform:hive", limit=3) as hits:
        assert_type(hits, Pages[Hit])
        assert_type(next(iter(hits)), Hit)
        assert_type(hits.page(), tuple[Hit, ...])
    assert_type((hits.total, hits.shifted, hits.repeated), tuple[int | None, bool, int])
    assert_type(list(catalog.urns("dataset", include_removed=True)), list[Urn])
    for entry in catalog.folder("/prod", page_size=5):
        assert_type(entry, Folder | Named)


def read_waiting(catalog: Catalog) -> None:
    """The same without `await`."""
    assert_type(catalog.info(), ServerInfo)
    assert_type(catalog.abilities(), Abilities)
    assert_type(catalog.known_as(), KnownCatalog)
    assert_type(catalog.registry, Registry)
    assert_type((catalog.address, catalog.embedded), tuple[str, bool])
    assert_type((catalog.read_only, catalog.is_offline), tuple[bool, bool])
    assert_type(catalog.identity, str)
    catalog.watch(print)
    catalog.watch(None)
    assert_type(catalog.as_of, datetime | None)
    assert_type(catalog.save_warnings, tuple[str, ...])
    assert_type(catalog.core, AsyncCatalog)
    assert_type(catalog.wait(catalog.core.info()), ServerInfo)
    assert_type(catalog.entity(TABLE), Entity)
    assert_type(catalog.legacy_entity(TEXT), Entity)
    assert_type(catalog.exists(TEXT), bool)
    assert_type(catalog.entities([TEXT, TABLE]), dict[Urn, Entity])
    assert_type(catalog.summaries({TABLE}), dict[Urn, Entity])
    assert_type(catalog.aspect(TEXT, "status"), AspectRead)
    assert_type(catalog.record(TEXT, Ownership, 1), Ownership | None)
    assert_type(catalog.versions(TABLE, "status"), Versions)
    assert_type(catalog.every_version(TEXT, "status"), Generator[Version, None, None])
    assert_type(catalog.diff(TEXT, "status"), AspectDiff)
    assert_type(catalog.column_history(TEXT, "id"), tuple[ColumnChange, ...])
    assert_type(catalog.blame(TABLE), dict[str, ColumnChange])
    assert_type(catalog.timeseries(TEXT, "operation", latest=True), Timeseries)
    assert_type(
        catalog.every_point(TEXT, "operation", end=NOW), Generator[dict[str, Any], None, None]
    )
    assert_type(catalog.usage(TABLE, start=None, days=7, end=NOW), Timeseries)
    assert_type(catalog.profiles(TEXT, start=THEN), Timeseries)
    assert_type(catalog.measures([TABLE, TEXT]), dict[Urn, Measures])
    assert_type(catalog.relationships(TABLE, "INCOMING"), Edges)
    assert_type(catalog.me(), Urn | None)
    assert_type(catalog.health(TABLE), Health)
    assert_type(catalog.find_labels("PII", "tag"), tuple[Urn, ...])
    assert_type(catalog.other_spelling(TABLE), Urn | None)
    assert_type(catalog.related(TEXT, "OUTGOING"), Generator[Edge, None, None])
    assert_type(catalog.lineage(TEXT, "DOWNSTREAM", hops=2), Lineage)
    assert_type(catalog.relationship_names("tag", "INCOMING"), tuple[str, ...])
    assert_type(catalog.changes(limit=0).head, int)
    assert_type(catalog.every_change(7, values=False), Generator[ChangeEvent, None, None])
    assert_type(
        catalog.follow(7, urns=[TABLE], aspects=["status"]), Generator[ChangeEvent, None, None]
    )


def written_waiting(catalog: Catalog) -> None:
    """The same without `await`."""
    catalog.ingest(Proposal(TABLE, "status", {"removed": False}, "UPSERT"))
    assert_type(catalog.ingest_batch([Proposal(TAG, "tagProperties", {"name": "x"})]), LoadReport)
    catalog.put(TEXT, None, Status(removed=False), run_id="r")
    catalog.patch(TABLE, "globalTags", [])
    catalog.remove(TABLE, "status")
    catalog.ingest_snapshot(TEXT, {"status": {"removed": False}})
    assert_type(catalog.soft_delete(TEXT), StatusChange)
    assert_type(catalog.restore(TABLE), StatusChange)
    assert_type(catalog.delete(TEXT), Deletion)
    assert_type(catalog.runs(), tuple[Run, ...])
    assert_type(catalog.roll_back("r"), Rollback)
    assert_type(catalog.graphql("{ me { corpUser { urn } } }"), dict[str, Any])
    assert_type(catalog.keep_journal(Path("edits.jsonl")), Journal)
    edit = catalog.describe(TEXT, "text")
    assert_type(edit, Edit)
    assert_type(catalog.undo(edit), Edit)
    assert_type(catalog.carry_over(TEXT), tuple[Edit, ...])
    assert_type(catalog.last_save(), JournalSave | None)
    assert_type(catalog.journal(), Sequence[JournalEntry])
    print(catalog.drafting.command)
    assert_type(catalog.new("tag", "Order"), Edit)
    assert_type(catalog.rename("urn:li:tag:c", "Orders"), Edit)
    assert_type(catalog.move("urn:li:domain:a", "urn:li:domain:b"), Edit)
    assert_type(catalog.move_contents("urn:li:domain:a"), MovedContents)
    assert_type(catalog.set_text_source(TEXT, "id", None), Edit)
    assert_type(catalog.create_with("urn:li:tag:c", {"tagProperties": {"name": "c"}}), Edit)
    assert_type(catalog.last_undo(), JournalSave | None)
    assert_type(catalog.undo_save(), tuple[Edit, ...])
    assert_type(catalog.redo(force=True), tuple[Edit, ...])
    assert_type(catalog.create(TEXT, None, Status(removed=True)), Edit)
    catalog.journal_in(Path("edits.jsonl"))
    catalog.on_warning(print)
    assert_type(catalog.links(TABLE), tuple[Link, ...])
    assert_type(catalog.add_link(TEXT, "http://x", "label", instead_of=[]), Edit)
    assert_type(catalog.remove_link(TABLE, "http://x", instead_of=()), Edit)
    assert_type(catalog.add_tags(TABLE, ["PII", TAG], column="id", instead_of=()), Edit)
    assert_type(catalog.remove_tags(TEXT, TAG, instead_of=()), Edit)
    assert_type(catalog.add_terms(TEXT, "Email", instead_of=()), Edit)
    assert_type(catalog.remove_terms(TABLE, ["Email"], column="id", instead_of=()), Edit)
    assert_type(catalog.add_owners(TEXT, Urn.of("corpGroup", "eng"), instead_of=()), Edit)
    assert_type(catalog.remove_owners(TABLE, ["jdoe"], ownership="DATAOWNER", instead_of=()), Edit)
    assert_type(catalog.set_domain(TEXT, "sales", instead_of=None), Edit)
    assert_type(catalog.deprecate(TEXT, "old", instead_of={}), Edit)
    assert_type(catalog.undeprecate(TABLE, instead_of={}), Edit)


def all_of_it_waiting() -> None:
    """The client is a context, and may be closed by hand."""
    with Catalog() as catalog:
        assert_type(catalog, Catalog)
    catalog.close()


async def walked(catalog: AsyncCatalog) -> None:
    """Graphs of what a catalog holds."""
    graphs = AsyncGraphs(catalog)
    extent: Extent = "BOTH"
    side: Side = "INCOMING"
    graph = await graphs.lineage(
        TEXT, extent, hops=2, limit=10, budget_seconds=1.5, with_details=True, multi=True
    )
    columns = await graphs.columns(TABLE, "id", "UPSTREAM", hops=2, limit=10)
    await graphs.walk(TEXT, ["OwnedBy"], side, hops=2, budget=WalkLimits(nodes=5, seconds=0.5))
    impact = await graphs.impact(TABLE, "id", hops=5, limit=10, with_usage=False)
    assert_type(impact, Impact)
    assert_type(impact_of(graph, columns=columns), Impact)
    paths = await graphs.paths(
        TEXT, TABLE, relationships=["OwnedBy"], hops=3, limit=5, budget_nodes=9, budget_seconds=1
    )
    assert_type(paths, Paths)
    ancestors = await graphs.common_ancestors(TEXT, TABLE, hops=3, limit=5)
    assert_type(ancestors, tuple[tuple[Ancestor, ...], str | None])


def walked_waiting(catalog: Catalog) -> None:
    """The same without `await`, and what is done with a graph."""
    graphs = Graphs(catalog)
    assert_type(graphs.core, AsyncGraphs)
    graph = graphs.lineage(TABLE)
    graphs.columns(TEXT)
    graphs.walk(TABLE)
    impact = graphs.impact(TEXT)
    grouping: Grouping = "platform"
    assert_type(impact.by(grouping), dict[str, tuple[Affected, ...]])
    assert_type(graphs.paths(TABLE, TEXT), Paths)
    assert_type(graphs.common_ancestors(TABLE, TEXT), tuple[tuple[Ancestor, ...], str | None])
    assert_type(cycles(graph, limit=3), tuple[tuple[str, ...], ...])
    shortest_paths(graph, TEXT, str(TABLE))
    lineage_graph(catalog.lineage(TABLE), multi=True)
    select(graph, FILTER, bridged=True)
    drawn: Layout[str] = lay_out(graph, {TEXT: (3.0, 1.0)})
    print(drawn)
    texts = [to_graphml(graph), to_node_link(graph), to_mermaid(graph), to_dot(graph)]
    assert_type(texts, list[str])
    from_graphml(texts[0])


def tabled(catalog: Catalog, summaries: Mapping[Urn, Entity]) -> None:
    """Everything as a DataFrame."""
    page, table = catalog.search(), catalog.entity(TABLE)
    tables = [
        search.search_table(page, summaries),
        search.entities_table(summaries.values()),
        columns.columns_table("orders", table.schema),
        entity_views.owners_table(table.owners, {TABLE: "orders"}),
        entity_views.edges_table([catalog.relationships(TABLE, "INCOMING")], {}),
        lineage.edges_table(catalog.lineage(TABLE).edges, summaries),
        history.versions_table(catalog.versions(TABLE, "status")),
        history.differences_table(catalog.diff(TABLE, "status")),
        timeseries.usage_windows_table(catalog.usage(TABLE)),
        timeseries.column_usage_table(catalog.usage(TABLE)),
        timeseries.profiles_table(catalog.profiles(TABLE)),
        timeseries.column_profiles_table(catalog.profiles(TABLE)),
    ]
    assert_type(to_frame(tables[0]), pd.DataFrame)


def failed(catalog: Catalog) -> str | None:
    """What goes wrong, by what one can do about it."""
    try:
        catalog.describe(TEXT, "text", instead_of="old")
    except TextConflict as conflict:
        return assert_type(conflict.theirs, str)
    except errors.Busy as busy:
        assert_type(busy.retry_after_seconds, float | None)
    except (errors.NotSignedIn, errors.Forbidden, errors.NotFound, errors.Unreachable) as error:
        assert_type((error.status, error.url), tuple[int | None, str | None])
    except errors.UnknownName as unknown:
        assert_type(unknown.known, tuple[str, ...])
    except errors.CatalogError as error:
        return error.excerpt
    return None


def filtered(registry: Registry) -> str:
    """Filters go both ways between text and records."""
    filter = read_filter("platform:hive AND rows>10", registry)
    assert_type(filter, Filter)
    return write_filter(filter, registry)


def added_in_a_notebook(catalog: NotebookCatalog) -> None:
    """What adding data in a notebook gives."""
    added = catalog.add("warehouse.duckdb", schemas=("main",), stats=True, dry_run=True)
    assert_type(added, AddedTable)
    assert_type(added.plan.counts, dict[str, int])


def edited_in_a_notebook(shown: shown_entity.EntityPage) -> None:
    """What an edit in a notebook gives, and taking it back."""
    assert_type(shown.add_tags("PII").edit.undo(), shown_entity.EntityPage)
