"""The two clients that `client.py` compares, each in a process of its own.

Run by either Python: nothing of a client is imported before it is wanted. An order comes a line, an
answer goes a line.
"""

import argparse
import asyncio
import hashlib
import json
import resource
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import quote, urlsplit

AREAS = ("sales", "stock", "web", "people", "finance", "risk", "ads", "core")
STAMP = {"time": 1_700_000_000_000, "actor": "urn:li:corpuser:jdoe"}
HOPS = 6
READ = 1_000
WRITTEN = "editableDatasetProperties"
BARE_CONNECTIONS = 8


def urn_of(number: int) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,{AREAS[number % 8]}.table_{number},PROD)"


def written_by(who: str, turn: int, number: int) -> str:
    return f"What {who} has to say of dataset {number} in round {turn}"


class Ours:
    """This project's client."""

    def __init__(self, address: str) -> None:
        from explorer.client import Catalog
        from explorer.metadata import Proposal

        self._proposal = Proposal
        self._address = address
        self.catalog = Catalog(address)

    def first(self, urn: str) -> object:
        return self.catalog.entity(urn)

    def read(self, urns: list[str]) -> Any:
        return self.catalog.entities(urns)

    def plain_read(self, given: Any) -> dict[str, list[str]]:
        return {str(urn): sorted(entity.aspects) for urn, entity in given.items()}

    def prepare(self, turn: int) -> Any:
        from explorer.metadata import Urn

        return [
            self._proposal(
                Urn.parse(urn_of(one)),
                WRITTEN,
                {
                    "created": STAMP,
                    "lastModified": STAMP,
                    "description": written_by("Ours", turn, one),
                },
            )
            for one in range(READ)
        ]

    def write(self, prepared: Any) -> Any:
        return self.catalog.ingest_batch(prepared).written_count

    def scroll(self) -> list[str]:
        return [str(urn) for urn in self.catalog.urns("dataset")]

    def lineage(self, root: str) -> Any:
        from explorer.graph import Graphs

        return Graphs(self.catalog).lineage(root, "DOWNSTREAM", hops=HOPS, limit=10_000)

    def plain_lineage(self, given: Any) -> Iterable[str]:
        nodes: Iterable[str] = given.nodes
        return nodes

    def gathered(self, urns: list[str]) -> float:
        """Seconds for as many point reads at once."""
        from explorer.client import AsyncCatalog

        async def all_of_them() -> float:
            catalog = AsyncCatalog(self._address)
            await asyncio.gather(*(catalog.entity(urn) for urn in urns[:50]))
            begin = time.perf_counter()
            found = await asyncio.gather(*(catalog.entity(urn) for urn in urns))
            took = time.perf_counter() - begin
            assert all(entity.exists for entity in found)
            await catalog.close()
            return took

        return asyncio.run(all_of_them())


async def bare(address: str, urns: list[str]) -> float:
    """Seconds for the same point reads over bare connections, as many as the client uses, with
    nothing done to what comes."""
    where = urlsplit(address)
    left = iter(urns)

    async def worker() -> None:
        reader, writer = await asyncio.open_connection(where.hostname, where.port)
        for urn in left:
            path = f"/entitiesV2/{quote(urn, safe='')}"
            writer.write(f"GET {path} HTTP/1.1\r\nHost: {where.netloc}\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            length = head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]
            await reader.readexactly(int(length))
        writer.close()

    begin = time.perf_counter()
    await asyncio.gather(*(worker() for _ in range(BARE_CONNECTIONS)))
    return time.perf_counter() - begin


class Theirs:
    """DataHub's SDK."""

    def __init__(self, address: str) -> None:
        from datahub.ingestion.graph.client import DataHubGraph
        from datahub.ingestion.graph.config import DatahubClientConfig

        self.graph = DataHubGraph(DatahubClientConfig(server=address))
        self._client: Any = None

    def first(self, urn: str) -> object:
        return self.graph.get_entity_semityped(urn)

    def read(self, urns: list[str]) -> Any:
        return self.graph.get_entities("dataset", urns)

    def plain_read(self, given: Any) -> dict[str, list[str]]:
        return {urn: sorted(held) for urn, held in given.items()}

    def one_by_one(self, urns: list[str]) -> float:
        """Seconds for reading entity after entity."""
        begin = time.perf_counter()
        for urn in urns:
            self.graph.get_entity_semityped(urn)
        return time.perf_counter() - begin

    def prepare(self, turn: int) -> Any:
        from datahub.emitter.mcp import MetadataChangeProposalWrapper
        from datahub.metadata import schema_classes as model

        stamp = model.AuditStampClass(**STAMP)
        return [
            MetadataChangeProposalWrapper(
                entityUrn=urn_of(one),
                aspect=model.EditableDatasetPropertiesClass(
                    created=stamp,
                    lastModified=stamp,
                    description=written_by("Theirs", turn, one),
                ),
            )
            for one in range(READ)
        ]

    def write(self, prepared: Any) -> Any:
        return self.graph.emit_mcps(prepared)

    def scroll(self) -> list[str]:
        return list(self.graph.get_urns_by_filter(entity_types=["dataset"]))

    def lineage(self, root: str) -> Any:
        if self._client is None:
            from datahub.sdk import DataHubClient

            self._client = DataHubClient(graph=self.graph)
        return self._client.lineage.get_lineage(
            source_urn=root, direction="downstream", max_hops=HOPS, count=10_000
        )

    def plain_lineage(self, given: Any) -> Iterable[str]:
        return {one.urn for one in given}


CLIENTS: dict[str, Callable[[str], Any]] = {"Ours": Ours, "Theirs": Theirs}


def digest(found: Any) -> str:
    return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest()[:16]


def answer(client: Any, order: dict[str, Any]) -> dict[str, Any]:
    """Do one thing, timed; what came of it is made comparable after the clock has stopped."""
    urns = [urn_of(number) for number in range(READ)]
    task, turn = order["task"], order["turn"]
    prepared = client.prepare(turn) if task == "write" else None
    work: dict[str, Callable[[], Any]] = {
        "read": lambda: client.read(urns),
        "write": lambda: client.write(prepared),
        "scroll": client.scroll,
        "lineage": lambda: client.lineage(urn_of(0)),
    }
    begin, cpu = time.perf_counter(), time.process_time()
    given = work[task]()
    took, spent = time.perf_counter() - begin, time.process_time() - cpu
    found: Any = None
    if task == "read":
        found = client.plain_read(given)
    elif task == "scroll":
        found = sorted(given)
    elif task == "lineage":
        found = sorted({*client.plain_lineage(given)} - {urn_of(0)})
    count = len(found) if found is not None else READ
    return {"ms": took * 1e3, "cpu_ms": spent * 1e3, "count": count, "digest": digest(found)}


def work(who: str, address: str) -> None:
    """The process of one client: an order a line, an answer a line."""
    client = CLIENTS[who](address)
    for line in sys.stdin:
        order = json.loads(line)
        urns = [urn_of(number) for number in range(READ)]
        told: dict[str, Any]
        if order["task"] == "gathered":
            told = {
                "ms": client.gathered(urns) * 1e3,
                "bare_ms": asyncio.run(bare(address, urns)) * 1e3,
            }
        elif order["task"] == "one by one":
            told = {"ms": client.one_by_one(urns) * 1e3}
        elif order["task"] == "memory":
            most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            told = {"mb": most / 1024}
        else:
            told = answer(client, order)
        print(json.dumps(told), flush=True)


def start(who: str, address: str) -> None:
    """Import, connect, ask, and tell how long the parts took."""
    begin = time.perf_counter()
    if who == "Ours":
        import explorer.client  # noqa: F401  only its import is timed
    else:
        import datahub.ingestion.graph.client  # noqa: F401
    imported = time.perf_counter()
    client = CLIENTS[who](address)
    client.first(urn_of(0))
    ended = time.perf_counter()
    print(json.dumps({"import": (imported - begin) * 1e3, "answer": (ended - imported) * 1e3}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("who", choices=CLIENTS)
    parser.add_argument("address")
    parser.add_argument("--start", action="store_true", help="start, ask once, tell how long")
    given = parser.parse_args()
    (start if given.start else work)(given.who, given.address)


if __name__ == "__main__":
    main()
