"""How fast the search is, beside SQLite FTS5 over the same documents in the same run.

    python tests/benchmarks/search.py [--documents 100000] [--queries 100] [--without-sqlite]

Times are milliseconds, median and 99th percentile. Machines differ and are shared: read the
ratios.
"""

import argparse
import itertools
import random
import resource
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from explorer.metadata import Urn, load_registry
from explorer.query import Criterion, Filter, all_of
from explorer.server.search.analysis import chunks, split
from explorer.server.search.document import Document, build_document
from explorer.server.search.index import SearchIndex
from explorer.server.search.query import SearchQuery

NOUNS = [
    "account",
    "address",
    "amount",
    "app",
    "area",
    "asset",
    "audit",
    "balance",
    "bank",
    "basket",
    "batch",
    "bill",
    "book",
    "branch",
    "brand",
    "budget",
    "call",
    "campaign",
    "card",
    "cart",
    "case",
    "category",
    "channel",
    "charge",
    "check",
    "claim",
    "click",
    "client",
    "code",
    "comment",
    "company",
    "contact",
    "contract",
    "cost",
    "country",
    "coupon",
    "credit",
    "currency",
    "customer",
    "date",
    "day",
    "deal",
    "delivery",
    "device",
    "discount",
    "district",
    "document",
    "domain",
    "driver",
    "email",
    "employee",
    "event",
    "expense",
    "fee",
    "file",
    "flag",
    "flow",
    "group",
    "hour",
    "id",
    "image",
    "income",
    "index",
    "invoice",
    "item",
    "job",
    "key",
    "label",
    "lead",
    "ledger",
    "level",
    "line",
    "link",
    "list",
    "loan",
    "location",
    "log",
    "market",
    "member",
    "message",
    "metric",
    "model",
    "month",
    "name",
    "note",
    "number",
    "offer",
    "office",
    "order",
    "owner",
    "page",
    "partner",
    "payment",
    "period",
    "person",
    "phone",
    "plan",
    "point",
    "policy",
    "price",
    "product",
    "profile",
    "project",
    "quantity",
    "query",
    "rate",
    "region",
    "report",
    "request",
    "return",
    "review",
    "risk",
    "role",
    "rule",
    "salary",
    "sale",
    "score",
    "segment",
    "seller",
    "session",
    "shipment",
    "shop",
    "sku",
    "source",
    "stage",
    "state",
    "status",
    "stock",
    "store",
    "supplier",
    "table",
    "tag",
    "target",
    "task",
    "tax",
    "team",
    "term",
    "ticket",
    "time",
    "token",
    "total",
    "trade",
    "transaction",
    "transfer",
    "trip",
    "type",
    "unit",
    "update",
    "user",
    "value",
    "vendor",
    "version",
    "visit",
    "week",
    "weight",
    "year",
]
LAYERS = ("raw", "stg", "int", "fct", "dim", "rpt", "tmp")
DOMAINS = ("finance", "sales", "marketing", "logistics", "people", "risk", "web", "core")
ENDINGS = ("daily", "hourly", "latest", "history", "summary", "v2", "current")
PLATFORMS = ("snowflake", "hive", "bigquery", "kafka", "postgres")


def documents(count: int, seed: int = 7) -> Iterator[Document]:
    """Documents of a catalog that looks like one: 15 columns a table, words of Zipf's law."""
    registry = load_registry()
    chance = random.Random(seed)
    syllables = ("or", "da", "men", "ti", "cu", "sto", "re", "pla", "no", "vel", "qua", "sim")
    rare = list({"".join(chance.choices(syllables, k=chance.randint(2, 5))) for _ in range(40_000)})
    rare.sort()
    vocabulary = [*NOUNS, *rare][:30_000]
    weights = list(itertools.accumulate(1 / (rank + 3) for rank in range(len(vocabulary))))

    def sentence(words: int) -> str:
        return " ".join(chance.choices(vocabulary, cum_weights=weights, k=words))

    for at in range(count):
        domain = chance.choice(DOMAINS)
        first, second = chance.choices(NOUNS, k=2)
        table = f"{chance.choice(LAYERS)}_{first}_{second}_{chance.choice(ENDINGS)}"
        urn = Urn.dataset(chance.choice(PLATFORMS), f"prod.{domain}.{table}_{at}")
        columns = [
            {
                "fieldPath": "_".join(chance.choices(NOUNS, k=2)),
                "description": sentence(4) if chance.random() < 0.5 else None,
            }
            for _ in range(15)
        ]
        tags = chance.sample(range(60), chance.choice((0, 0, 1, 2)))
        document = build_document(
            registry,
            urn,
            {
                "datasetProperties": {"name": f"{table}_{at}", "description": sentence(20)},
                "schemaMetadata": {"fields": columns},
                "globalTags": {"tags": [{"tag": f"urn:li:tag:t{tag}"} for tag in tags]},
                "ownership": {"owners": [{"owner": f"urn:li:corpuser:u{chance.randrange(2_000)}"}]},
                "domains": {"domains": [f"urn:li:domain:{domain}"]},
                "subTypes": {"typeNames": [chance.choice(("Table", "View"))]},
                "container": {"container": f"urn:li:container:c{chance.randrange(3_000)}"},
            },
        )
        yield replace(document, usage=float(chance.paretovariate(1) if at % 3 == 0 else 0))


class Times:
    """Measured durations in milliseconds."""

    def __init__(self, work: Iterable[Callable[[], object]]) -> None:
        self.millis: list[float] = []
        for one in work:
            begin = time.perf_counter()
            one()
            self.millis.append((time.perf_counter() - begin) * 1e3)
        self.millis.sort()

    @property
    def middle(self) -> float:
        """The median."""
        return self.millis[len(self.millis) // 2]

    @property
    def high(self) -> float:
        """The 99th percentile."""
        return self.millis[min(len(self.millis) - 1, int(len(self.millis) * 0.99))]


class Fts:
    """The baseline: one FTS5 table ranked by bm25, facets counted from a plain table."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.execute("PRAGMA journal_mode=WAL")
        self.connection.execute("PRAGMA cache_size=-200000")
        self.connection.execute("CREATE VIRTUAL TABLE f USING fts5(name, words, prefix='2 3')")
        self.connection.execute("CREATE TABLE d(id INTEGER PRIMARY KEY, urn, platform, tag, type)")
        self.known = 0

    def add(self, documents: Iterable[Document]) -> None:
        """Index documents in one transaction."""
        self.connection.execute("BEGIN")
        for document in documents:
            self.known += 1
            values = [v for values in document.fields.values() for v in values]
            text = " ".join(
                part
                for value in values
                if isinstance(value, str)
                for chunk in chunks(value)
                for part in split(chunk)
            )
            name = " ".join(part for chunk in chunks(document.name) for part in split(chunk))
            first = [
                document.fields.get(field, (None,))[0]
                for field in ("platform", "tags", "typeNames")
            ]
            self.connection.execute(
                "INSERT INTO f(rowid,name,words) VALUES(?,?,?)", (self.known, name, text)
            )
            self.connection.execute(
                "INSERT INTO d VALUES(?,?,?,?,?)", (self.known, document.urn, *first)
            )
        self.connection.execute("COMMIT")

    def top(self, match: str) -> list[tuple[str]]:
        """The ten best."""
        return self.connection.execute(
            "SELECT urn FROM f JOIN d ON d.id=f.rowid WHERE f MATCH ? ORDER BY rank LIMIT 10",
            (match,),
        ).fetchall()

    def page(self, match: str) -> int:
        """The ten best, the total and three facets."""
        self.top(match)
        rows = self.connection.execute(
            "SELECT platform, tag, type, count(*) FROM f JOIN d ON d.id=f.rowid WHERE f MATCH ?"
            " GROUP BY 1, 2, 3",
            (match,),
        ).fetchall()
        return sum(row[3] for row in rows)


def rss_mb() -> float:
    """The most memory this process ever had resident."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Build both, ask both, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--without-sqlite", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        measure(Path(directory), given.documents, given.queries, not given.without_sqlite)


def measure(directory: Path, count: int, queries: int, with_sqlite: bool) -> None:
    """Fill the engines with `count` documents and print what they take."""
    index = SearchIndex(directory / "index", load_registry())
    made = applied = 0.0
    most_pending = 0
    source = documents(count)
    begin = time.perf_counter()
    offset = 0
    fts = Fts(directory / "fts.db") if with_sqlite else None
    fts_seconds = 0.0
    while True:
        before = time.perf_counter()
        chunk = list(itertools.islice(source, 1_000))
        made += time.perf_counter() - before
        if not chunk:
            break
        offset += len(chunk)
        before = time.perf_counter()
        index.apply(offset, chunk)
        applied += time.perf_counter() - before
        most_pending = max(most_pending, offset - index.committed_offset)
        if fts:
            before = time.perf_counter()
            fts.add(chunk)
            fts_seconds += time.perf_counter() - before
    index.flush()
    total = time.perf_counter() - begin - fts_seconds
    size = sum(path.stat().st_size for path in (directory / "index").iterdir()) / 1e6
    print(f"{count:,} documents, {size:,.0f} MB on disk, most pending {most_pending:,}")
    print(f"docs/s: {count / total:,.0f} in all, {count / (total - made):,.0f} net of making them")
    print(f"        apply alone {count / applied:,.0f}")
    if fts:
        print(f"        sqlite fts5 {count / fts_seconds:,.0f} net")
    ask(index, fts, queries)
    index.close()
    print(f"RSS at most {rss_mb():,.0f} MB")
    begin = time.perf_counter()
    index = SearchIndex(directory / "index", load_registry())
    print(f"opening it again: {(time.perf_counter() - begin) * 1e3:.0f} ms")
    index.close()
    shutil.rmtree(directory / "index")


def ask(index: SearchIndex, fts: Fts | None, queries: int) -> None:
    """Time every kind of question; sqlite where it has the like, with fewer of them."""
    chance = random.Random(3)
    terms = [chance.choice(NOUNS) for _ in range(queries * 2)]
    few = max(queries // 5, 5)

    def search(
        text: str, filter: Filter | None = None, start: int = 0, facets: bool = False
    ) -> None:
        index.search(SearchQuery(text, ("dataset",), filter or Filter(), start, 10, facets))

    def row(
        name: str, ours: Iterable[Callable[[], object]], theirs: Iterable[Callable[[], object]] = ()
    ) -> None:
        mine = Times(ours)
        line = f"{name:34s} {mine.middle:8.2f} / {mine.high:8.2f}"
        if fts and (other := Times(theirs)).millis:
            line += f"   fts5 {other.middle:8.2f} / {other.high:8.2f}"
            line += f"   {other.middle / mine.middle:6.1f}x"
        print(line)

    pairs = list(zip(terms[::2], terms[1::2], strict=True))
    top = fts.top if fts else str
    page = fts.page if fts else str
    row(
        "1 term, top 10",
        (partial(search, a) for a, _ in pairs),
        (partial(top, a) for a, _ in pairs[:few]),
    )
    row(
        "2 terms, top 10",
        (partial(search, f"{b} {a}") for a, b in pairs),
        (partial(top, f"{b} {a}") for a, b in pairs[:few]),
    )
    row(
        "page: 2 terms, all facets",
        (partial(search, f"{a} {b}", facets=True) for a, b in pairs),
        (partial(page, f"{a} {b}") for a, b in pairs[:few]),
    )
    row(
        "page: 1 term, all facets",
        (partial(search, f"{a} ", facets=True) for a, _ in pairs),
        (partial(page, a) for a, _ in pairs[:few]),
    )
    row("page: everything, first time", [lambda: search("*", facets=True)])
    row("page: everything, again", (lambda: search("*", facets=True) for _ in range(20)))
    row(
        "prefix of 3, top 10",
        (partial(search, f"{a[:3]}") for a, _ in pairs),
        (partial(top, f"{a[:3]}*") for a, _ in pairs[:few]),
    )
    row(
        "autocomplete, 3 letters",
        (partial(index.autocomplete, a[:3], ("dataset",), Filter(), 0, 10) for a, _ in pairs),
        (partial(top, f"name:{a[:3]}*") for a, _ in pairs[:few]),
    )
    row(
        "field: tags:t1 and a term",
        (partial(search, f"tags:t{len(a)} {a}") for a, _ in pairs),
    )
    contain = [all_of(Criterion("name", (f"{a[1:]}_{b[:2]}",), "CONTAIN")) for a, b in pairs]
    row("filter: name CONTAIN", (partial(search, "*", f) for f in contain))
    begins = [all_of(Criterion("name", (f"fct_{a}",), "START_WITH")) for a, _ in pairs]
    row("filter: name START_WITH", (partial(search, "*", f) for f in begins))
    row(
        "offset 5,000 of everything, jump",
        (partial(search, "* ", start=5_000 + at * 97) for at in range(min(queries, 20))),
    )
    row(
        "offset 5,000 on, page by page",
        (partial(search, "*  ", start=5_000 + at * 10) for at in range(min(queries, 50))),
    )
    changes = list(itertools.islice(documents(queries + 2_000, seed=11), queries + 2_000))

    def write_then_see(at: int) -> None:
        document = replace(changes[at], name=f"novelty{at}")
        index.apply(10**9 + at, [document])
        found = index.search(
            SearchQuery(f"novelty{at}", ("dataset",), Filter(), 0, 1, facets=False)
        )
        assert found.hits[0].urn == document.urn

    row("write, then see", (partial(write_then_see, at) for at in range(queries)))
    for pending in (300, 2_000):
        index.flush()
        index.apply(2 * 10**9, changes[queries : queries + pending])
        row(
            f"page: 2 terms, {pending} just written",
            (partial(search, f"{b} {a} ", facets=True) for a, b in pairs[:few]),
        )


if __name__ == "__main__":
    main()
