"""Whatever part of an answer is missing or of another kind: the server is at fault, and said so."""

import asyncio
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from explorer.client import AsyncCatalog, changes
from explorer.client.changes import EventReader, parse_changes
from explorer.client.completion import parse_autocomplete, parse_suggestions
from explorer.client.ingestion import parse_deleted, parse_references, parse_rollback, parse_runs
from explorer.client.lineage import (
    LineageBuilder,
    add_lineage_page,
    parse_lineage,
    parse_lineage_page,
    parse_relationships,
)
from explorer.client.search import parse_search
from explorer.errors import ServerFault, Unreadable
from explorer.metadata import Urn

TAG = "urn:li:tag:PII"
TABLE = Urn.dataset("hive", "a")
ODD: list[Any] = [
    None,
    1,
    -1,
    True,
    "x",
    TAG,
    [],
    [1],
    [None],
    ["x"],
    {},
    {"a": 1},
    [{}],
    10**30,
    [[]],
]
CHANGE = {
    "offset": 1,
    "entityUrn": TAG,
    "aspectName": "status",
    "changeType": "UPSERT",
    "aspect": {"value": "{}"},
    "created": {"time": 1, "actor": "a"},
}
LISTED = {
    "names": ["DownstreamOf"],
    "total": 1,
    "entities": [str(TABLE), TAG],
    "degrees": [0, 1],
    "upstream": [1],
    "downstream": [0],
    "types": [0],
    "missing": [],
    "removed": [],
}
REACHED = {
    "degree": 1,
    "entity": {"urn": TAG, "exists": True, "status": {"removed": False}},
    "paths": [{"path": [{"urn": str(TABLE)}, {"urn": TAG}]}],
}
HIT = {"entity": TAG, "score": 1.0, "matchedFields": [{"name": "n", "value": "v"}]}


def read_lineage(body: Any) -> Any:
    found = parse_lineage(body, TABLE, "UPSTREAM", 1)
    return found and list(found.pairs())


def read_graphql(data: Any) -> Any:
    into = LineageBuilder(TABLE, "UPSTREAM")
    return add_lineage_page(parse_lineage_page(data), into, 5, 9, lambda *_: "")


READERS = {
    "changes": (parse_changes, {"value": {"changes": [CHANGE], "next": 1, "head": 1}}),
    "rollback": (parse_rollback, {"value": {"aspectsReverted": 1, "entitiesDeleted": 1}}),
    "runs": (parse_runs, {"value": [{"runId": "a", "timestamp": 1, "rows": 1}]}),
    "deleted": (parse_deleted, {"value": {"rows": 1, "timeseriesRows": 1}}),
    "references": (
        parse_references,
        {"value": {"total": 1, "relatedAspects": [{"entity": TAG}]}},
    ),
    "relationships": (
        lambda body: parse_relationships(body, "OUTGOING", ["A"], 0, 10),
        {"relationships": [{"type": "A", "entity": TAG}], "total": 1},
    ),
    "lineage": (read_lineage, {"value": LISTED}),
    "lineage in GraphQL": (read_graphql, {"scrollAcrossLineage": {"searchResults": [REACHED]}}),
    "search": (
        lambda body: parse_search(body, "x"),
        {"value": {"from": 0, "numEntities": 1, "entities": [HIT]}},
    ),
    "autocomplete": (
        parse_autocomplete,
        {"value": {"suggestions": ["a"], "entities": [{"urn": TAG}]}},
    ),
    "suggest": (
        lambda body: parse_suggestions(body, {}),
        {
            "data": {
                "autoCompleteForMultiple": {
                    "suggestions": [{"type": "TAG", "suggestions": ["a"], "entities": []}]
                }
            }
        },
    ),
}


def spoilt(value: Any) -> Iterator[Any]:
    """The value with each of its parts left out, or another in its place."""
    yield from ODD
    if isinstance(value, dict):
        for name in value:
            yield {key: part for key, part in value.items() if key != name}
            yield from ({**value, name: part} for part in spoilt(value[name]))
    elif isinstance(value, list):
        for at, element in enumerate(value):
            yield from ([*value[:at], part, *value[at + 1 :]] for part in spoilt(element))


@pytest.mark.parametrize("name", READERS)
def test_an_answer_is_read_or_the_servers_fault(name: Any) -> None:
    read, body = READERS[name]
    read(body)
    refused = 0
    for odd in spoilt(body):
        if name == "lineage" and odd in _ODD_NAMES:
            continue
        try:
            read(odd)
        except ServerFault:
            refused += 1
    assert refused


# Names and places are told to be lists as long as they must be; each of them is not looked at.
_ODD_NAMES = [
    {"value": {**LISTED, part: [odd]}} for part in ("names", "types") for odd in (*ODD, 1.5)
]


def test_an_event_that_never_ends_is_not_gathered_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "_MAX_EVENT_BYTES", 1_000)
    reader = EventReader()
    piece = b"data: " + b"x" * 600
    assert reader.read(piece) is None
    with pytest.raises(Unreadable, match="without an end"):
        reader.read(piece)
    assert EventReader().read(b"id: " + b"9" * 5_000) is None


class Standing:
    """A server whose log says that there is more, and never goes on."""

    def __init__(self) -> None:
        self.asked = 0

    async def send(self, request: Any) -> Any:
        self.asked += 1
        if request.path == "/config":
            return 200, b'{"catalogExplorer": {"version": "1"}}'
        return 200, b'{"value": {"changes": [], "next": 5, "head": 9}}'

    async def close(self) -> None:
        pass


def test_a_log_that_does_not_go_on_is_not_asked_without_end() -> None:
    transport = Standing()

    async def work() -> Any:
        async with AsyncCatalog(transport=transport) as catalog:
            return [change async for change in catalog.every_change()]

    with pytest.raises(ServerFault, match="does not continue"):
        asyncio.run(work())
    assert transport.asked == 3


class Unmoved:
    """A server that gives the same page again, wherever it is asked to go on from."""

    async def send(self, request: Any) -> Any:
        if request.path == "/config":
            return 200, b'{"catalogExplorer": {"version": "1"}}'
        if "versions" in request.path:
            listed: list[dict[str, Any]] = [{"version": number, "value": {}} for number in (0, 7)]
            return 200, orjson.dumps({"versions": listed, "start": 0, "total": 9})
        points = [{"aspect": {"value": f'{{"timestampMillis": {at}}}'}} for at in (9, 5)]
        return 200, orjson.dumps({"value": {"limit": 2, "values": points}})

    async def close(self) -> None:
        pass


@pytest.mark.parametrize("kind", ["every_point", "every_version"])
def test_a_server_that_stands_still_is_not_read_without_end(kind: str) -> None:
    async def work() -> Any:
        async with AsyncCatalog(transport=Unmoved()) as catalog:
            return [one async for one in getattr(catalog, kind)(TABLE, "status", page_size=2)]

    with pytest.raises(ServerFault, match="requested"):
        asyncio.run(asyncio.wait_for(work(), 120))


def test_what_was_passed_on_a_longer_way_before_is_as_near_as_it_is_said_to_be() -> None:
    far, near = "urn:li:tag:far", "urn:li:tag:near"
    longer = [str(TABLE), TAG, near, far]
    results = [
        {"degree": 3, "entity": {"urn": far}, "paths": [{"path": [{"urn": u} for u in longer]}]},
        {"degree": 1, "entity": {"urn": near}, "paths": []},
    ]
    into = LineageBuilder(TABLE, "DOWNSTREAM")
    page = parse_lineage_page({"scrollAcrossLineage": {"searchResults": results}})
    add_lineage_page(page, into, 9, 9, lambda *_: "")
    drawn = into.build(9, "graphql", marked=True, truncated=None)
    assert dict(zip(drawn.urns, drawn.degrees, strict=True))[near] == 1


def test_a_server_that_failed_once_to_say_what_it_can_do_is_asked_again() -> None:
    class Hiccup(Standing):
        async def send(self, request: Any) -> Any:
            answer = await super().send(request)
            return (500, b"") if self.asked == 1 else answer

    async def work() -> Any:
        async with AsyncCatalog(transport=Hiccup()) as catalog:
            return [(await catalog.abilities()).changes for _ in range(2)]

    assert asyncio.run(work()) == [False, True]
