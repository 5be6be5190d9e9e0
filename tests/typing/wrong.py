"""Uses of the client that are mistakes: each is one to a type checker too, of the kind that is said
behind it."""

from datetime import UTC, datetime
from pathlib import Path

from explorer.client import AsyncCatalog, Catalog, Direction, Retry, Transport
from explorer.graph import Graphs
from explorer.metadata import Proposal, Urn
from explorer.metadata.aspects import Ownership
from explorer.query import Criterion

TABLE = Urn.dataset("hive", "db.orders")


class Deaf:
    """A transport that cannot be closed."""

    async def send(self, request: object) -> tuple[int, bytes]:
        return 200, b""


def made() -> None:
    Catalog(timeout="5")  # error: call-arg
    Catalog(timeout_seconds="5")  # error: arg-type
    Catalog(data_dir=17)  # error: arg-type
    Catalog(offline="sometimes")  # error: arg-type
    Catalog(retry=3)  # error: arg-type
    Catalog("http://x", "token")  # error: call-arg
    Retry(tries="2")  # error: arg-type
    carrier: Transport = Deaf()  # error: assignment
    print(carrier)


async def unawaited(catalog: AsyncCatalog) -> None:
    page = catalog.search("orders")
    print(page.total)  # error: attr-defined
    for hit in catalog.hits("orders"):  # error: attr-defined
        print(hit)
    with catalog:  # error: attr-defined
        pass
    await catalog.hits("orders")  # error: misc


def waited(catalog: Catalog) -> None:
    print(catalog.search("orders").totl)  # error: attr-defined
    catalog.search(1)  # error: arg-type
    catalog.search("orders", "dataset")  # error: call-arg
    catalog.search("orders", filter={"platform": "hive"})  # error: arg-type
    catalog.search("orders", count="20")  # error: arg-type
    catalog.entity(7)  # error: arg-type
    print(catalog.entity(TABLE).owner)  # error: attr-defined
    catalog.entities(TABLE)  # error: arg-type
    catalog.aspect(TABLE)  # error: call-arg
    catalog.record(TABLE, "ownership")  # error: arg-type
    wrong: str = catalog.record(TABLE, Ownership)  # error: assignment
    print(wrong)
    catalog.timeseries(TABLE, "operation", start=1_700_000_000_000)  # error: arg-type
    catalog.timeseries(TABLE, "operation", start_time=datetime.now(UTC))  # error: call-arg
    catalog.relationships(TABLE, "BOTH")  # error: arg-type
    catalog.lineage(TABLE, "OUTGOING")  # error: arg-type
    catalog.lineage(TABLE, way="fast")  # error: arg-type
    sideways: Direction = "SIDEWAYS"  # error: assignment
    print(sideways)
    catalog.search_everything("orders")  # error: attr-defined
    for page in catalog.search:  # error: attr-defined
        print(page)


def written(catalog: Catalog) -> None:
    Proposal(TABLE, "status", {}, "REPLACE")  # error: arg-type
    Proposal(TABLE, "status", {}, "upsert")  # error: arg-type
    Criterion("name", ("x",), "LIKE")  # error: arg-type
    catalog.ingest({"aspect": {}})  # error: arg-type
    catalog.ingest_batch(Proposal(TABLE, "status", {}))  # error: arg-type
    catalog.put(TABLE, "status", "removed")  # error: arg-type
    catalog.put(TABLE, "status", {}, only_if_version="1")  # error: arg-type
    catalog.describe(TABLE, None)  # error: arg-type
    catalog.describe(TABLE, "text", "id")  # error: call-arg
    catalog.keep_journal("edits.jsonl")  # error: arg-type
    catalog.undo(Path("edits.jsonl"))  # error: arg-type
    catalog.deprecate(TABLE, "old", decommission=1_700_000_000_000)  # error: arg-type
    catalog.describe(TABLE, "text").before = "other"  # error: misc


def walked(catalog: Catalog, other: AsyncCatalog) -> None:
    Graphs(other)  # error: arg-type
    Graphs(catalog).lineage(TABLE, "INCOMING")  # error: arg-type
    Graphs(catalog).impact(TABLE).by("colour")  # error: arg-type
