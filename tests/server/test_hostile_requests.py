"""Whatever is sent, each endpoint answers in its own words, and the catalog stays whole.

The long form is `python -m tests.benchmarks.hostile`.
"""

import asyncio
import json
import logging
import random
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from typing import Any, cast
from urllib.parse import quote, unquote, urlencode

import orjson
import pytest
from graphql import GraphQLInterfaceType, GraphQLObjectType, GraphQLSchema, get_named_type

from explorer.sample import sample_proposals
from explorer.server.app import Service
from explorer.server.catalog import CatalogEngine
from explorer.server.consistency import check
from explorer.server.restli import Endpoint
from explorer.server.store import SurveyedStore

DATASETS = [f"urn:li:dataset:(urn:li:dataPlatform:hive,hostile.t{n},PROD)" for n in range(5)]
URNS = [*DATASETS, "urn:li:tag:hostile", "urn:li:corpuser:h", "urn:li:dataPlatform:hive"]
STAMP = {"time": 1, "actor": "urn:li:corpuser:jdoe"}
ASPECTS: dict[str, Any] = {
    "datasetProperties": {"description": "orders of the shop", "customProperties": {"a": "b"}},
    "upstreamLineage": {
        "upstreams": [{"dataset": DATASETS[0], "type": "VIEW", "auditStamp": STAMP}]
    },
    "ownership": {
        "owners": [{"owner": "urn:li:corpuser:h", "type": "DATAOWNER"}],
        "lastModified": STAMP,
    },
    "globalTags": {"tags": [{"tag": "urn:li:tag:hostile"}]},
    "status": {"removed": True},
    "browsePaths": {"paths": ["/prod/hive/hostile"]},
    "editableSchemaMetadata": {
        "editableSchemaFieldInfo": [{"fieldPath": "id", "description": "its number"}],
        "created": STAMP,
        "lastModified": STAMP,
    },
    "datasetUsageStatistics": {"timestampMillis": 5, "totalSqlQueries": 9},
    "dataPlatformInfo": {"name": "hive", "type": "OTHERS", "datasetNameDelimiter": "_"},
    "tagProperties": {"name": "hostile"},
}
FILTER = {"or": [{"and": [{"field": "origin", "values": ["PROD"], "condition": "EQUAL"}]}]}

TEXTS = [
    "", " ", "\0", "a\0b", "\ud800", "\udfff\ud800", "é", "e\u0301", "\u202e", "x" * 100_000,
    "urn:li:", "urn:li:dataset:(", "urn:li:dataset:(,,)", "urn:li:x:y",
    "urn:li:dataset:" + "(" * 600,
    "urn:li:dataset:(urn:li:dataPlatform:hive," + "n" * 600 + ",PROD)", "urn:li:tag:\ud800",
    "urn:li:tag:\0", "urn:li:tag:a,b", "urn:li:tag:a)b(", "urn:li:dataPlatform:a:b", "*", '"',
    "(((",
    "a AND (", "NOT", "name:>", "/q [", "-", "?*?", "a*" * 200, '"' + "w " * 300, "(" * 500 + "a",
    "List(", "List(a,(b)", "%00", "%2F", "%", "%zz", "../..", "NaN", "1e999", "٣", "²", "-0",
    "true", "null", "{}", "[" * 200, "\n", "\r\nx: y", "com.linkedin.common.Status", "$key", "*.*",
]  # fmt: skip
NUMBERS = [0, -1, 1, 2**31, 2**53 + 1, 2**63, -(2**63) - 1, 2**64, 10**400, 0.5, 1e308, -0.0]
NUMBERS += [float("nan"), float("inf")]
DEEP: Any = "bottom"
for _ in range(300):
    DEEP = [DEEP] if _ % 2 else {"and": DEEP}


def nasty(dice: random.Random) -> Any:
    """A value that hardly anybody expects."""
    match dice.randint(0, 5):
        case 0 | 1:
            return dice.choice(TEXTS)
        case 2:
            return dice.choice(NUMBERS)
        case 3:
            return dice.choice(
                [None, True, False, [], {}, [None], [[]], [{}], {"": {}}, DEEP, FILTER]
            )
        case 4:
            return any_text(dice)
    return any_json(dice, 0)


def any_text(dice: random.Random) -> str:
    ends = (0x7F, 0xFF, 0xFFFF, 0x10FFFF)
    return "".join(chr(dice.randint(0, dice.choice(ends))) for _ in range(dice.randint(0, 12)))


def any_json(dice: random.Random, depth: int) -> Any:
    match dice.randint(0, 5 if depth < 3 else 3):
        case 0:
            return dice.randint(-(2**70), 2**70)
        case 1:
            return any_text(dice)
        case 2:
            return dice.choice([None, True, False, 0.1])
        case 3:
            return dice.choice(sorted(ASPECTS))
        case 4:
            return [any_json(dice, depth + 1) for _ in range(dice.randint(0, 3))]
    return {any_text(dice): any_json(dice, depth + 1) for _ in range(dice.randint(0, 3))}


@dataclass
class Request:
    """A request as it stands on the wire."""

    method: str
    path: bytes
    query: bytes = b""
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    body: bytes = b""
    title: str = ""

    def __str__(self) -> str:
        shown = f"{self.method} {self.path[:200]!r}?{self.query[:200]!r} {self.headers}"
        return f"{shown} {self.body[:600]!r}"


def spoil(dice: random.Random, value: Any) -> Any:
    """A value with one place in it made wrong."""
    if isinstance(value, dict) and value and dice.randint(0, 3):
        key = dice.choice(sorted(value))
        if dice.randint(0, 5):
            return {**value, key: spoil(dice, value[key])}
        rest = {name: one for name, one in value.items() if name != key}
        return {**rest, dice.choice(TEXTS): value[key]} if dice.getrandbits(1) else rest
    if isinstance(value, list) and value and dice.randint(0, 3):
        at = dice.randint(0, len(value) - 1)
        return [*value[:at], spoil(dice, value[at]), *value[at + 1 :]]
    return nasty(dice)


def perhaps(dice: random.Random, value: Any) -> Any:
    """A value, wrong in some places or in none."""
    for _ in range(dice.choice([0, 0, 0, 0, 1, 1, 1, 2, 3])):
        value = spoil(dice, value)
    return value


def proposal(dice: random.Random) -> dict[str, Any]:
    name = dice.choice(sorted(ASPECTS))
    value = perhaps(dice, ASPECTS[name])
    kinds = ["UPSERT"] * 8 + ["DELETE", "CREATE", "CREATE_ENTITY", "PATCH", "RESTATE"]
    wire: dict[str, Any] = {
        "entityUrn": dice.choice(DATASETS * 3 + URNS),
        "entityType": "dataset",
        "changeType": dice.choice(kinds),
        "aspectName": name,
        "aspect": {"value": json.dumps(value), "contentType": "application/json"},
        "systemMetadata": {"runId": dice.choice(["r1", "r2"]), "lastObserved": 3},
    }
    if wire["changeType"] == "PATCH":
        patch = [{"op": "add", "path": "/description", "value": "patched"}]
        wire["aspect"]["value"] = json.dumps(perhaps(dice, patch))
    match name:
        case "tagProperties":
            wire["entityUrn"] = "urn:li:tag:hostile"
        case "dataPlatformInfo":
            wire["entityUrn"] = "urn:li:dataPlatform:hive"
    wire["entityType"] = wire["entityUrn"].split(":")[2]
    return wire


def snapshot(dice: random.Random) -> dict[str, Any]:
    aspects = [
        {"com.linkedin.dataset.DatasetProperties": ASPECTS["datasetProperties"]},
        {"com.linkedin.common.Status": {"removed": False}},
    ]
    value = {"urn": dice.choice(DATASETS), "aspects": aspects}
    name = "com.linkedin.metadata.snapshot.DatasetSnapshot"
    return {"entity": {"value": {name: value}}}


def entity_body(dice: random.Random) -> Any:
    """A body of DataHub's OpenAPI: entities, entities by type, an aspect, or a patch of one."""
    name = dice.choice(["datasetProperties", "ownership", "globalTags", "status"])
    patch = {"patch": [{"op": "add", "path": "/description", "value": "patched"}]}
    aspect = {"value": dice.choice([ASPECTS[name], ASPECTS[name], patch])}
    entities = [{"urn": dice.choice(DATASETS), name: aspect}]
    return dice.choice([entities, entities, {"dataset": entities}, aspect, patch])


def known_body(dice: random.Random, endpoint: Endpoint, schema: GraphQLSchema) -> Any:
    """A body that the endpoint takes, as far as it is known here or it says so itself."""
    match endpoint.path, endpoint.action:
        case "/aspects", "ingestProposal":
            return {"proposal": proposal(dice)}
        case "/aspects", "ingestProposalBatch":
            return {"proposals": [proposal(dice) for _ in range(dice.randint(0, 4))]}
        case "/aspects", "getTimeseriesAspectValues":
            body = {"urn": DATASETS[0], "entity": "dataset", "aspect": "datasetUsageStatistics"}
            return {**body, "limit": 5, "startTimeMillis": 0, "filter": FILTER}
        case "/entities", "ingest":
            return snapshot(dice)
        case "/entities", "delete":
            aspect = dice.choice([None, "ownership", "datasetUsageStatistics", "status"])
            return {"urn": dice.choice(URNS), "aspectName": aspect}
        case "/entities", "exists":
            return {"urn": dice.choice(URNS)}
        case "/runs", "rollback":
            run, dry, safe = dice.choice(["r1", "r2", "none"]), *dice.choices([True, False], k=2)
            return {"runId": run, "dryRun": dry, "safe": safe}
        case "/openapi/v3/entity", _:
            return entity_body(dice)
        case "/api/graphql", _:
            return {"query": document(dice, schema), "variables": {}}
    return {
        one.name: DATASETS[0] if one.example is None and one.kind == "URN" else one.example
        for one in endpoint.parameters
        if one.place == "body" and (one.example is not None or one.required)
    }


EDITS = (
    'mutation { updateDescription(input: {resourceUrn: "%s", description: "d"}) }',
    'mutation { updateDescription(input: {resourceUrn: "%s", subResourceType: DATASET_FIELD, '
    'subResource: "id", description: "d"}) }',
    'mutation { updateDataset(urn: "%s", input: {editableProperties: {description: "e"}}) '
    "{ urn } }",
    'query { dataset(urn: "%s") { urn properties { name description } } }',
)


def document(dice: random.Random, schema: GraphQLSchema) -> str:
    """A GraphQL document: one known, or any that the schema allows; perhaps damaged."""
    if dice.getrandbits(1):
        text = dice.choice(EDITS) % dice.choice(URNS)
    else:
        roots = [schema.query_type, schema.mutation_type]
        root = dice.choice([one for one in roots if one is not None])
        kind = "query" if root is schema.query_type else "mutation"
        text = f"{kind} {selection(dice, root, 0)}"
    damage = dice.choice(["none", "none", "cut", "insert", "nest", "repeat", "spread"])
    at = dice.randint(0, len(text))
    match damage:
        case "cut":
            return text[:at] + text[at + dice.randint(1, 9) :]
        case "insert":
            return text[:at] + dice.choice(TEXTS)[:2000] + text[at:]
        case "nest":
            return "query { " + "dataset { " * dice.choice([10, 300, 5000])
        case "repeat":
            return "query { " + " ".join(f"a{n}: __typename" for n in range(3000)) + " }"
        case "spread":
            return "query { ...F } fragment F on Query { ...G } fragment G on Query { ...F }"
    return text


LITERALS = [
    "null",
    "-1",
    "99999999999",
    "1.5",
    '"x"',
    "[]",
    "{}",
    "true",
    "NAME",
    "$v",
    '"\\ud800"',
]


def selection(dice: random.Random, kind: Any, depth: int) -> str:
    """Some fields of a type with arguments of a shape that may fit."""
    if not isinstance(kind, GraphQLObjectType | GraphQLInterfaceType):
        return "{ __typename }"
    parts = ["__typename"] if depth else []
    names = sorted(kind.fields)
    for name in dice.sample(names, min(len(names), dice.randint(1, 3))):
        field_ = kind.fields[name]
        given_ = [
            f"{argument}: {literal(dice, declared.type, 0)}"
            for argument, declared in sorted(field_.args.items())
            if "!" in str(declared.type) or dice.getrandbits(1)
        ]
        inner = get_named_type(field_.type)
        below = ""
        if hasattr(inner, "fields") or hasattr(inner, "types"):
            below = selection(dice, inner, depth + 1) if depth < 4 else "{ __typename }"
        parts.append(f"{name}{'(' + ', '.join(given_) + ')' if given_ else ''} {below}")
    return "{ " + " ".join(parts) + " }"


def literal(dice: random.Random, kind: Any, depth: int) -> str:
    """A value of a type, mostly."""
    if not dice.randint(0, 9):
        return dice.choice(LITERALS)
    text, inner = str(kind), get_named_type(kind)
    if text.startswith("["):
        return f"[{literal(dice, inner, depth + 1)}]"
    if hasattr(inner, "values"):
        return str(dice.choice(sorted(inner.values)))
    if hasattr(inner, "fields"):
        parts = [
            f"{name}: {literal(dice, declared.type, depth + 1)}"
            for name, declared in sorted(inner.fields.items())
            if "!" in str(declared.type) or (depth < 3 and dice.getrandbits(1))
        ]
        return "{" + ", ".join(parts) + "}"
    match inner.name:
        case "Int" | "Long":
            return str(dice.choice([0, 1, -1, 10, 2**31 - 1]))
        case "Float":
            return "0.5"
        case "Boolean":
            return dice.choice(["true", "false"])
    words = [*URNS, "orders", "", "*", "nothing:", "id", "\u202e", "datasetProperties"]
    return json.dumps(dice.choice(words))


def to_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def body_bytes(dice: random.Random, value: Any) -> bytes:
    body = json.dumps(value).encode()
    match dice.choice(["whole"] * 30 + ["cut", "raw", "bytes", "deep", "literal"]):
        case "cut":
            return body[: dice.randint(0, len(body))]
        case "raw":
            return dice.randbytes(dice.randint(0, 60))
        case "bytes":
            at = dice.randint(0, len(body))
            return body[:at] + dice.choice([b"\xff", b"\xed\xa0\x80", b"\0"]) + body[at:]
        case "deep":
            return dice.choice([b"[", b'{"a":']) * 50_000
        case "literal":
            return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return body


def known_query(endpoint: Endpoint) -> dict[str, str]:
    """The query parameters that the endpoint takes, as far as they are known."""
    known = {
        one.name: DATASETS[0] if one.kind == "URN" else str(one.example)
        for one in endpoint.parameters
        if one.place == "query" and (one.example is not None or one.kind == "URN")
    }
    match endpoint.path:
        case "/aspects" if endpoint.item:
            return {"aspect": "datasetProperties", "version": "0"}
        case "/entitiesV2":
            return {"aspects": "List(status,ownership)", "ids": f"List({','.join(URNS)})"}
        case "/relationships" if endpoint.method == "GET":
            asked = {"urn": DATASETS[0], "direction": "INCOMING", "types": "DownstreamOf"}
            return {**asked, "start": "0", "count": "5"}
    return known


def query_bytes(dice: random.Random, endpoint: Endpoint) -> bytes:
    given: dict[str, Any] = dict(known_query(endpoint))
    names = sorted({one.name for one in endpoint.parameters if one.place == "query"})
    # What has no example is seldom given, and what has one seldom wrong, so that some requests with
    # many parameters are answered well.
    for name in dice.sample(names, min(len(names), dice.choice([0, 0, 0, 1, 1, 2, 5]))):
        given[name] = nasty(dice)
    pairs = []
    for name, value in given.items():
        if dice.randint(0, 9):
            text = value if isinstance(value, str) else json.dumps(value)[:2000]
            encoded = to_bytes(text)
            if dice.randint(0, 9):
                encoded = quote(encoded, safe="").encode()
            pairs.append(to_bytes(name) + b"=" + encoded)
    if endpoint.action is not None:
        said = endpoint.action if dice.randint(0, 30) else dice.choice(TEXTS)[:99]
        pairs.insert(0, b"action=" + quote(to_bytes(said), safe="").encode())
    if not dice.randint(0, 15):
        pairs.append(dice.choice([b"%", b"&&=", b"a=%ff", b"%00=%00", b"=;", b"\xff=\xfe"]))
    return b"&".join(pairs)


HEADERS = [
    (b"x-restli-protocol-version", b"9.9.9"), (b"authorization", b"Bearer \xff\xfe"),
    (b"authorization", b"Basic !!!"), (b"authorization", b"Bearer"), (b"content-length", b"-1"),
    (b"content-length", b"99999999999999999999999"), (b"accept", b"text/event-stream;q=\xff"),
    (b"accept-encoding", b"gzip, \0"), (b"origin", b"http://elsewhere"), (b"origin", b"null"),
    (b"last-event-id", b"NaN"), (b"last-event-id", b"-99999999999999999999999"),
    (b"content-type", b"application/xml"), (b"user-agent", b"\xff" * 300),
    (b"x-request-id", b"\xff\0"),
    (b"x-request-id", b"i" * 10_000), (b"cookie", b"a=" + b"b" * 9_000),
    (b"if-none-match", b'"\xff'), (b"content-encoding", b"gzip"), (b"host", b"elsewhere"),
    (b"content-type", b"application/json; charset=utf-16"), (b"traceparent", b"00-\xff-0-"),
    (b"transfer-encoding", b"gzip, chunked"), (b"expect", b"200-ok"), (b"range", b"bytes=-1-"),
    (b"x-catalog-offset", b"9" * 18), (b"x-catalog-offset", "٣".encode()),
    (b"x-catalog-all-or-none", b"\xff"), (b"if-version-match", b"1e999"),
    (b"if-unmodified-since", b"-1"), (b"x-restli-method", b"BATCH_GET\0"), (b"", b"nameless"),
]  # fmt: skip


def entity_keys(dice: random.Random) -> list[bytes]:
    """What may follow in the paths of DataHub's OpenAPI."""
    entity = dice.choice([b"dataset", b"dataset", b"DATASET", b"tag", b"generic", b"nothing"])
    urn = quote(dice.choice(URNS), safe="").encode()
    aspect = quote(to_bytes(dice.choice([*ASPECTS, *TEXTS[:30]])), safe="").encode()
    return [entity, entity + b"/batchGet", entity + b"/" + urn, entity + b"/" + urn + b"/" + aspect]


def path_bytes(dice: random.Random, endpoint: Endpoint) -> bytes:
    path = endpoint.path.encode()
    key = next((one for one in endpoint.parameters if one.place == "path"), None)
    if key is not None and key.kind != "URN" and dice.randint(0, 3):
        path += b"/" + dice.choice([str(key.example).encode(), *entity_keys(dice)])
    elif endpoint.item:
        match dice.choice(["urn"] * 4 + ["raw", "double", "nasty", "bad"]):
            case "urn":
                path += b"/" + quote(dice.choice(URNS), safe="").encode()
            case "raw":
                path += b"/" + dice.choice(URNS).encode()
            case "double":
                path += b"/" + quote(quote(dice.choice(URNS), safe="")).encode()
            case "nasty":
                path += b"/" + quote(to_bytes(dice.choice(TEXTS)), safe="").encode()
            case "bad":
                bad = [
                    b"%",
                    b"%00",
                    b"%2F",
                    b"%zz",
                    b"%ff%fe",
                    b"\xff",
                    b"..",
                    b"urn%3Ali%3A%",
                    b"//",
                ]
                path += b"/" + dice.choice(bad)
    elif not dice.randint(0, 30):
        path += dice.choice([b"/", b"//", b"/%00", b"%2F", b"/..", b";x", b"/\xff"])
    return path


def any_request(
    dice: random.Random, endpoints: tuple[Endpoint, ...], schema: GraphQLSchema
) -> Request:
    """A request that some endpoint could be asked, near to what it takes."""
    writes = [one for one in endpoints if one.action in ("ingestProposal", "ingestProposalBatch")]
    # Many writes, so that there is something to be asked for, and to be broken.
    among = writes if not dice.randint(0, 2) else list(endpoints)
    endpoint = dice.choice(among)
    method: str = endpoint.method
    if not dice.randint(0, 40):
        method = dice.choice(["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"])
    body = b""
    if endpoint in writes and dice.randint(0, 3):
        known = known_body(dice, endpoint, schema)
        action = f"action={endpoint.action}".encode()
        body = json.dumps(known).encode()
        return Request("POST", b"/aspects", action, [], body, endpoint.title)
    if endpoint.method != "GET" or not dice.randint(0, 20):
        body = body_bytes(dice, perhaps(dice, known_body(dice, endpoint, schema)))
    headers = [dice.choice(HEADERS)] if not dice.randint(0, 5) else []
    path, query = path_bytes(dice, endpoint), query_bytes(dice, endpoint)
    return Request(method, path, query, headers, body, endpoint.title)


@dataclass
class Reply:
    """What came back: all of it, or the beginning of what goes on until one leaves."""

    status: int = 0
    headers: dict[bytes, bytes] = field(default_factory=dict)
    body: bytes = b""


async def ask(service: Service, request: Request) -> Reply:
    """Put a request to a service as a server would; raises `TimeoutError` after a minute."""
    reply = Reply()
    streaming = asyncio.Event()
    sent = iter([{"type": "http.request", "body": request.body, "more_body": False}])

    async def receive() -> Any:
        message = next(sent, None)
        if message is None:
            await streaming.wait()
            return {"type": "http.disconnect"}
        return message

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            reply.status = message["status"]
            reply.headers = dict(message["headers"])
            if reply.headers.get(b"content-type", b"").startswith(b"text/event-stream"):
                streaming.set()
        else:
            reply.body += message.get("body", b"")

    path = request.path.decode("latin-1")
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": request.method,
        "scheme": "http",
        "path": unquote(path),
        "raw_path": request.path,
        "root_path": "",
        "query_string": request.query,
        "headers": [(b"host", b"catalog"), *request.headers],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }
    answering = asyncio.ensure_future(service(scope, receive, send))
    left = asyncio.ensure_future(streaming.wait())
    await asyncio.wait({answering, left}, timeout=120, return_when=asyncio.FIRST_COMPLETED)
    left.cancel()
    if not answering.done():
        answering.cancel()
        await asyncio.wait({answering})
        if not streaming.is_set():
            raise TimeoutError
    elif answering.exception() is not None:
        raise answering.exception() or AssertionError
    return reply


def wrong(request: Request, reply: Reply) -> str | None:
    """What an answer must not be."""
    if not 200 <= reply.status < 500:
        return f"status {reply.status}"
    if b"Traceback" in reply.body:
        return "a trace"
    if request.method == "HEAD" and not reply.body:
        return None
    kind = reply.headers.get(b"content-type", b"")
    content: Any = None
    if kind.startswith(b"application/json") and reply.body:
        try:
            content = orjson.loads(reply.body)
        except orjson.JSONDecodeError as error:
            return f"no JSON: {error}"
    if reply.status >= 400:
        shape = {"exceptionClass", "message", "status", "stackTrace"}
        if not isinstance(content, dict) or set(content) != shape:
            return "not the shape of an error"
        if content["status"] != reply.status or not content["message"]:
            return "an error that says nothing"
        if reply.headers.get(b"x-restli-error-response") != b"true":
            return "an error without its header"
    errors = content.get("errors") if isinstance(content, dict) else None
    for each in errors if isinstance(errors, list) else ():
        if each.get("extensions", {}).get("code", 0) >= 500:
            return "a GraphQL field failed"
    return None


class _Errors(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.told: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.told.append(logging.Formatter("%(message)s").format(record))


@contextmanager
def listening() -> Iterator[list[str]]:
    """What the server logs as its own errors."""
    handler = _Errors()
    log = logging.getLogger("explorer")
    log.addHandler(handler)
    try:
        yield handler.told
    finally:
        log.removeHandler(handler)


@dataclass
class Bombardment:
    """What came of very many requests: those that went wrong, each with its answer and what was
    logged; how many answers of each status came; and the endpoints that never answered well."""

    failures: list[str] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    never_well: set[str] = field(default_factory=set)


def bombard(
    service: Service,
    count: int,
    seed: int,
    send: Callable[[Request], Reply | None] | None = None,
) -> Bombardment:
    """Send so many requests to a service, or with `send`, which returns `None` where it is hung up
    on, to another that has the same endpoints."""
    outcome = Bombardment(never_well={one.title for one in service.endpoints})
    dice = random.Random(seed)
    schema = service.graphql.ready().schema
    with listening() as told, asyncio.Runner() as runner:
        put = send or (lambda request: runner.run(ask(service, request)))
        for _ in range(count):
            request = any_request(dice, service.endpoints, schema)
            try:
                reply = put(request)
                problem = None if reply is None else wrong(request, reply)
            except TimeoutError:
                reply, problem = None, "no answer in a minute"
            reply = reply or Reply()
            outcome.statuses[reply.status] += 1
            if 200 <= reply.status < 300:
                outcome.never_well.discard(request.title)
            if problem or told:
                shown = "\n".join(told)[-3000:]
                failure = f"{problem}: {request}\n-> {reply.body[:400]!r}\n{shown}"
                outcome.failures.append(failure)
                told.clear()
    # A generator that only ever gets refused would prove nothing.
    assert outcome.statuses[200] > count // 5, outcome.statuses
    assert outcome.statuses[400] > count // 20, outcome.statuses
    return outcome


@pytest.fixture
def service(fresh: Callable[[], CatalogEngine]) -> Service:
    catalog = fresh()
    catalog.seed(lambda: sample_proposals(date(2026, 1, 31)))
    return Service(catalog)


@pytest.mark.nightly
def test_no_request_makes_it_fail_or_leaves_the_catalog_in_pieces(service: Service) -> None:
    catalog = service.catalog
    before = catalog.store.log_bounds().head
    failures = bombard(service, 1_500, 5).failures
    assert not failures, f"{len(failures)} failures:\n" + "\n\n".join(failures[:10])
    assert catalog.store.log_bounds().head > before + 50
    assert check(cast(SurveyedStore, catalog.store), catalog.index, catalog.registry) == []


def test_each_endpoint_answers_a_query_that_is_not_utf_8(service: Service) -> None:
    dice, schema = random.Random(1), service.graphql.ready().schema
    with listening() as told, asyncio.Runner() as runner:
        for endpoint in service.endpoints:
            key = next((one for one in endpoint.parameters if one.place == "path"), None)
            path = f"{endpoint.path}/{quote(str(key.example or URNS[0]))}" if key else endpoint.path
            pairs = {"action": endpoint.action or "", **known_query(endpoint)}
            query = urlencode(pairs).encode() + b"&\xff=\xfe&b=%ff&%fe=c"
            body = json.dumps(known_body(dice, endpoint, schema)).encode()
            request = Request(endpoint.method, path.encode(), query, [], body)
            reply = runner.run(ask(service, request))
            assert wrong(request, reply) is None, (str(request), reply, told)
    assert told == []


def test_what_is_no_http_is_answered_or_hung_up_on(
    service: Service, serve: Callable[[Service], str]
) -> None:
    host, port = serve(service).removeprefix("http://").split(":")
    dice = random.Random(7)
    body = b'{"urn":"urn:li:tag:x"}'
    whole = b"POST /entities?action=exists HTTP/1.1\r\nHost: c\r\nContent-Length: 22\r\n\r\n" + body
    with listening() as told:
        for _ in range(100):
            cut, at = dice.randrange(len(whole)), dice.randrange(len(whole))
            noise = bytes(dice.randrange(256) for _ in range(dice.randrange(1, 6)))
            sent = dice.choice((whole[:cut], whole[:at] + noise + whole[at:]))
            with socket.create_connection((host, int(port)), timeout=10) as connection:
                connection.sendall(sent)
                connection.shutdown(socket.SHUT_WR)
                answer = connection.recv(65_536)
                assert answer == b"" or answer.split(b" ", 2)[1] < b"500", (sent, answer)
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(whole)
            # The head and the body may come apart.
            answer = connection.recv(65_536)
            while not answer.endswith(b'{"value":false}'):
                more = connection.recv(65_536)
                assert more, answer
                answer += more
    assert told == []
