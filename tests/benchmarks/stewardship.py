"""What worklist and coverage of a large catalog take, counted by the server and by the client.

    python tests/benchmarks/stewardship.py [--datasets 30000] [--columns 12] [--client 300]
                                           [--catalog DIRECTORY]

The datasets are a tree of four children a node, as that of `lineage.py`; every one has columns,
half of them described, and every third 30 days of usage. The catalog is served by a process of its
own and asked over a socket: once when nothing was counted, again, after an edit, after lineage
changed, and after a restart, which finds what was kept. The client's own way is measured on
`--client` datasets alone and given for all by what one of them takes. Read the ratios: machines
differ and are shared. `--catalog` keeps what was built for the next run.
"""

import argparse
import asyncio
import random
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from lineage import STAMP, serve, urn_of

from explorer.client import Catalog
from explorer.metadata import Proposal, Urn
from explorer.metadata.registry import load_registry
from explorer.server.data_directory import COUNTS, open_catalog
from explorer.stewardship import Stewardship

AT_ONCE = 2_000
DAY_MILLIS = 86_400_000
WORDS = ("id", "amount", "name", "day", "country", "status", "total", "user", "order", "price")


def proposals(number: int, columns: int, today_millis: int) -> Iterator[Proposal]:
    """A dataset with its columns, its lineage, and maybe its usage."""
    dice = random.Random(number)
    urn = urn_of(number)
    names = [f"{dice.choice(WORDS)}_{at}" for at in range(columns)]
    fields = [
        {
            "fieldPath": name,
            "nativeDataType": "text",
            "type": {"type": {"com.linkedin.schema.StringType": {}}},
            **({"description": f"The {name}."} if dice.random() < 0.5 else {}),
        }
        for name in names
    ]
    yield Proposal(
        urn,
        "schemaMetadata",
        {
            "schemaName": "s",
            "platform": "urn:li:dataPlatform:hive",
            "version": 0,
            "hash": "",
            "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
            "fields": fields,
        },
    )
    if number:
        parent = (number - 1) // 4
        ups = [{"auditStamp": STAMP, "dataset": str(urn_of(parent)), "type": "COPY"}]
        yield Proposal(urn, "upstreamLineage", {"upstreams": ups})
    owner = {"owner": f"urn:li:corpuser:u{number % 50}", "type": "DATAOWNER"}
    yield Proposal(urn, "ownership", {"owners": [owner], "lastModified": STAMP})
    for ago in range(30) if number % 3 == 0 else ():
        point = {
            "timestampMillis": today_millis - ago * DAY_MILLIS,
            "totalSqlQueries": dice.randrange(1, 50),
            "fieldCounts": [
                {"fieldPath": name, "count": dice.randrange(1, 20)} for name in names[:4]
            ],
        }
        yield Proposal(urn, "datasetUsageStatistics", point)


def build(directory: Path, datasets: int, columns: int) -> None:
    """Write the catalog, unless it is there."""
    if (directory / "catalog.db").exists():
        return
    directory.mkdir(parents=True, exist_ok=True)
    catalog = open_catalog(directory, load_registry())
    today = int(datetime.now(UTC).timestamp() // 86_400) * DAY_MILLIS

    async def write() -> None:
        batch: list[Proposal] = []
        for number in range(datasets):
            batch += proposals(number, columns, today)
            if len(batch) >= AT_ONCE:
                await catalog.ingest_all(batch)
                batch = []
        await catalog.ingest_all(batch)

    begin = time.perf_counter()
    asyncio.run(write())
    catalog.close()
    print(f"{datasets:,} datasets written in {time.perf_counter() - begin:.0f} s")


def seconds(work: Callable[[], object], repeat: int = 1) -> float:
    """Seconds of the fastest run."""
    took = []
    for _ in range(repeat):
        begin = time.perf_counter()
        work()
        took.append(time.perf_counter() - begin)
    return min(took)


def client_seconds(address: str, some: list[Urn]) -> tuple[float, float]:
    """What worklist and coverage of some datasets take where the client counts."""
    with Catalog(address) as catalog:
        here = replace(catalog.abilities(), stewardship=False)
        catalog.core._connection._abilities = here
        steward = Stewardship(catalog)
        return (
            seconds(lambda: steward.worklist(some, top=3)),
            seconds(lambda: steward.coverage(some)),
        )


def measure(directory: Path, datasets: int, measured: int) -> None:
    """Ask in every state, and print."""
    (directory / COUNTS).unlink(missing_ok=True)
    some = [urn_of(number) for number in range(0, datasets, max(1, datasets // measured))]
    process, address = serve(directory)
    try:
        slow_list, slow_coverage = client_seconds(address, some)
        scale = datasets / len(some)
        with Catalog(address) as catalog:
            steward = Stewardship(catalog)
            found = {
                "worklist --top 3, first of all": seconds(
                    lambda: steward.worklist(top=3, waiting=lambda _: None)
                ),
                "worklist --top 3": seconds(lambda: steward.worklist(top=3), 5),
                "worklist --top 1000": seconds(lambda: steward.worklist(top=1000), 5),
                "worklist of a search": seconds(
                    lambda: steward.worklist(filter="owner:u7", top=3), 5
                ),
                "coverage": seconds(steward.coverage, 5),
                "coverage by owner": seconds(lambda: steward.coverage(by="owner"), 5),
            }
            catalog.describe(urn_of(7), "Told.")
            found["worklist after an edit"] = seconds(lambda: steward.worklist(top=3))
            ups = [{"auditStamp": STAMP, "dataset": str(urn_of(1)), "type": "COPY"}]
            catalog.put(urn_of(9), "upstreamLineage", {"upstreams": ups})
            found["worklist after lineage changed"] = seconds(lambda: steward.worklist(top=3))
            columns = steward.coverage().columns.total
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
    process, address = serve(directory)
    try:
        with Catalog(address) as catalog:
            steward = Stewardship(catalog)
            found["worklist after a restart"] = seconds(lambda: steward.worklist(top=3))
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
    size = (directory / COUNTS).stat().st_size
    print(f"{datasets:,} datasets, {columns:,} columns; kept in {size / 1e6:.1f} MB")
    print(f"{'':34}{'seconds':>9}{'of the client alone':>22}")
    print(f"{'worklist by the client':34}{slow_list * scale:9.1f}")
    print(f"{'coverage by the client':34}{slow_coverage * scale:9.1f}")
    for name, took in found.items():
        whole = (slow_coverage if "coverage" in name else slow_list) * scale
        print(f"{name:34}{took:9.3f}{took / whole:21.2%}")


def main() -> None:
    """Build, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--datasets", type=int, default=30_000)
    parser.add_argument("--columns", type=int, default=12)
    parser.add_argument("--client", type=int, default=300)
    parser.add_argument("--catalog", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        directory = given.catalog or Path(scratch)
        build(directory, given.datasets, given.columns)
        measure(directory, given.datasets, given.client)


if __name__ == "__main__":
    main()
