"""A server between the client and a real one, which spoils what the real one answers."""

import asyncio
import gzip
import random
import re
import threading
import time
import traceback
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import orjson
import uvicorn

from explorer.client import AsyncCatalog
from explorer.client.transport import Retry
from explorer.errors import CatalogError
from explorer.metadata.registry import load_registry
from explorer.server.app import Service
from explorer.server.data_directory import open_catalog
from explorer.server.process import listen_on_tcp
from tests.client.test_read_only import TABLE, TAG, WRITES, write_what_is_asked_about
from tests.loopback import listening

ODD: tuple[Any, ...] = (
    None,
    0,
    -1,
    1.5,
    True,
    "",
    "x",
    TAG,
    [],
    {},
    [None],
    [[]],
    {"a": 1},
    10**18,
    "9" * 400,
)
STATUSES: tuple[int, ...] = (
    100,
    101,
    199,
    204,
    206,
    301,
    304,
    400,
    401,
    403,
    404,
    409,
    412,
    418,
    422,
    429,
    500,
)
STATUSES += (502, 503, 504, 599, 600, 999)
PAGE = b"<!doctype html><html><head><title>Gateway \x1b[31m</title></head><body>Who? \xff</body>"
_PATIENCE_SECONDS = 0.3


async def _few(items: Any) -> Any:
    return [one async for _, one in _counted(items)]


async def _counted(items: Any, most: int = 20) -> AsyncIterator[Any]:
    number = 0
    async for one in items:
        number += 1
        yield number, one
        if number >= most:
            return


READS = {
    "abilities": lambda c: c.abilities(),
    "info": lambda c: c.info(),
    "search": lambda c: c.search("orders", entity="dataset"),
    "search all": lambda c: c.search("orders"),
    "facets": lambda c: c.facets("*"),
    "counts": lambda c: c.counts(),
    "autocomplete": lambda c: c.autocomplete("re", entity="dataset"),
    "urn_of": lambda c: c.urn_of("refunds", "dataset"),
    "suggest": lambda c: c.suggest("re"),
    "complete_filter": lambda c: c.complete_filter("platform:h", 10),
    "browse": lambda c: c.browse("/"),
    "browse_paths": lambda c: c.browse_paths(TABLE),
    "hits": lambda c: _few(c.hits("*")),
    "urns": lambda c: _few(c.urns("*")),
    "entity": lambda c: c.entity(TABLE),
    "legacy_entity": lambda c: c.legacy_entity(TABLE),
    "exists": lambda c: c.exists(TABLE),
    "me": lambda c: c.me(),
    "entities": lambda c: c.entities([TABLE, TAG]),
    "summaries": lambda c: c.summaries([TABLE, TAG]),
    "aspect": lambda c: c.aspect(TABLE, "schemaMetadata"),
    "versions": lambda c: c.versions(TABLE, "schemaMetadata"),
    "every_version": lambda c: _few(c.every_version(TABLE, "schemaMetadata")),
    "diff": lambda c: c.diff(TABLE, "schemaMetadata", 1, 0),
    "column_history": lambda c: c.column_history(TABLE, "id"),
    "blame": lambda c: c.blame(TABLE),
    "links": lambda c: c.links(TABLE),
    "timeseries": lambda c: c.timeseries(TABLE, "datasetProfile"),
    "every_point": lambda c: _few(c.every_point(TABLE, "datasetProfile")),
    "usage": lambda c: c.usage(TABLE),
    "profiles": lambda c: c.profiles(TABLE),
    "health": lambda c: c.health(TABLE),
    "measures": lambda c: c.measures([TABLE]),
    "undescribed": lambda c: c.undescribed(),
    "described": lambda c: c.described(by="platform"),
    "described_trend": lambda c: c.described_trend(days=7),
    "relationships": lambda c: c.relationships(TAG, "INCOMING"),
    "related": lambda c: _few(c.related(TAG, "INCOMING")),
    "lineage": lambda c: c.lineage(TABLE, "DOWNSTREAM"),
    "runs": lambda c: c.runs(),
    "changes": lambda c: c.changes(),
    "every_change": lambda c: _few(c.every_change()),
    "follow": lambda c: _few(c.follow()),
    "roll_back dry": lambda c: c.roll_back("run", dry_run=True),
    "delete dry": lambda c: c.delete(TABLE, dry_run=True),
}
# What makes the later ones answer something else is left out.
CALLS: dict[str, Callable[[Any], Any]] = READS | {
    name: call for name, call in WRITES.items() if name not in ("delete", "remove")
}


def spoil_value(dice: Any, value: Any) -> Any:
    """A JSON value with one part, at any depth, in a form that nobody expects."""
    if isinstance(value, dict) and value and dice.random() < 0.85:
        name = dice.choice(list(value))
        if dice.random() < 0.15:
            return {key: part for key, part in value.items() if key != name}
        return {**value, name: spoil_value(dice, value[name])}
    if isinstance(value, list) and value and dice.random() < 0.85:
        at = dice.randrange(len(value))
        return [*value[:at], spoil_value(dice, value[at]), *value[at + 1 :]]
    if isinstance(value, str) and value[:1] in "{[" and dice.random() < 0.7:
        # An aspect within an aspect.
        try:
            return orjson.dumps(spoil_value(dice, orjson.loads(value))).decode()
        except orjson.JSONDecodeError:
            pass
    return dice.choice(ODD)


def spoil_bytes(dice: Any, body: Any) -> Any:
    at = dice.randrange(len(body) + 1)
    piece = dice.choice(
        (b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b'"', b"}", b"[" * 3000, b"1e999", b"")
    )
    return body[:at] + piece + body[at + dice.randrange(3) :]


def spoilt(dice: Any, status: Any, body: Any) -> Any:
    """What is sent in the place of an answer, and in a word what was done to it."""
    kind = dice.choice(
        ("value", "value", "value", "value", "bytes", "cut", "status", "frame", "page")
    )
    headers = []
    if kind == "value":
        try:
            body = orjson.dumps(spoil_value(dice, orjson.loads(body)))
        except orjson.JSONDecodeError:
            body = orjson.dumps(dice.choice(ODD))
    elif kind == "bytes":
        body = spoil_bytes(dice, body)
    elif kind == "cut":
        body = body[: dice.randrange(len(body) + 1)]
    elif kind == "page":
        body, status = PAGE, dice.choice((200, 407, 502))
        headers.append(b"Content-Type: text/html")
    elif kind == "status":
        status = dice.choice(STATUSES)
        headers += dice.choice(
            ([], [b"Retry-After: " + b"9" * 400], [b"Location: http://[", b"X:"])
        )
    length = b"Content-Length: %d" % len(body)
    if kind == "frame":
        kind = dice.choice(
            ("longer", "shorter", "no length", "not gzip", "cut gzip", "gzip", "chunks", "garbage")
        )
        match kind:
            case "longer":
                length = b"Content-Length: %d" % (len(body) + 5)
            case "shorter":
                length = b"Content-Length: %d" % (len(body) // 2)
            case "no length":
                length = dice.choice((b"Content-Length: -5", b"Content-Length: x", b"X-None: 1"))
            case "not gzip":
                headers.append(b"Content-Encoding: gzip")
            case "cut gzip" | "gzip":
                body = gzip.compress(body)[: -9 if kind == "cut gzip" else None]
                length = b"Content-Length: %d" % len(body)
                headers.append(b"Content-Encoding: " + dice.choice((b"gzip", b"gzip, gzip", b"br")))
            case "chunks":
                size = dice.choice((b"zz", b"-1", b"%x" % (len(body) + 9), b"f" * 30))
                length, body = (
                    b"Transfer-Encoding: chunked",
                    size + b"\r\n" + body + b"\r\n0\r\n\r\n",
                )
            case "garbage":
                return kind, dice.choice(
                    (b"", b"\r\n\r\n", b"SSH-2.0-x\r\n", b"HTTP/1.1 20\r\n\r\n")
                )
    head = b"\r\n".join((b"HTTP/1.1 %d X" % status, *headers, length, b"Connection: close"))
    return kind, head + b"\r\n\r\n" + body


@contextmanager
def served(directory: Any) -> Iterator[Any]:
    """The address of a catalog of its own, which the calls may change."""
    catalog = open_catalog(directory, load_registry())
    listener = listen_on_tcp("127.0.0.1", 0)
    config = uvicorn.Config(Service(catalog), lifespan="off", log_config=None, ws="none")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    while not server.started:
        time.sleep(0.005)
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        write_what_is_asked_about(address)
        yield address
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
        catalog.close()


async def _forwarded(host: Any, port: Any, request: Any) -> Any:
    """The status and the body that the real server answers."""
    reader, line = await asyncio.open_connection(host, port)
    try:
        line.write(request)
        given = b""
        try:
            while piece := await asyncio.wait_for(reader.read(65536), _PATIENCE_SECONDS):
                given += piece
                head, found, body = given.partition(b"\r\n\r\n")
                said = re.search(rb"(?i)content-length: (\d+)", head)
                if found and said and len(body) >= int(said[1]):
                    break
        except TimeoutError:
            pass
        head, _, body = given.partition(b"\r\n\r\n")
        return int(head[9:12] or b"502"), body
    finally:
        line.close()


@asynccontextmanager
async def spoiling(address: Any, dice: Any, done: Any) -> AsyncIterator[Any]:
    """The address of a server that passes requests on to `address`, and spoils some answers. The
    kinds of what it did are counted in `done`."""
    host, _, port = address.removeprefix("http://").partition(":")

    async def serve(reader: Any, line: Any) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            said = re.search(rb"(?i)content-length: (\d+)", head)
            body = await reader.readexactly(int(said[1])) if said else b""
            status, given = await _forwarded(host, port, head + body)
            if dice.random() < 0.6:
                kind, answer = spoilt(dice, status, given)
                done[kind] += 1
            else:
                size = b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(given)
                answer = b"HTTP/1.1 %d X\r\n%b%b" % (status, size, given)
            line.write(answer)
            await line.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            line.close()

    async with listening(serve) as own_port:
        yield f"http://127.0.0.1:{own_port}"


async def run(address: Any, rounds: Any, seed: int = 0) -> Any:
    """Make every call so many times against spoilt answers of the server at `address`. Gives what
    was done to how many answers, how the calls ended, and the traces of foreign errors."""
    dice, faults = random.Random(seed), dict[tuple[str, str], str]()
    done: Counter[str] = Counter()
    ends: Counter[str] = Counter()
    async with spoiling(address, dice, done) as spoilt_address:
        for _ in range(rounds):
            for name, call in CALLS.items():
                client = AsyncCatalog(spoilt_address, retry=Retry(tries=1), timeout_seconds=5)
                async with client as catalog:
                    try:
                        await asyncio.wait_for(call(catalog), 2 if name == "follow" else 20)
                        ends["an answer"] += 1
                    except CatalogError as error:
                        ends[type(error).__name__] += 1
                    except Exception as error:  # noqa: BLE001 - which are looked for
                        if name == "follow" and isinstance(error, TimeoutError):
                            # It asks again and again until somebody ends it.
                            ends["still following"] += 1
                            continue
                        ends["a fault"] += 1
                        trace = traceback.format_exc()
                        faults.setdefault((name, repr(error)[:200]), trace)
    return done, ends, faults
