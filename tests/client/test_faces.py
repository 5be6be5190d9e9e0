"""The blocking client is the asynchronous one, waited for."""

import ast
import asyncio
import inspect
import os
import textwrap
import typing
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from explorer.client import AsyncCatalog, Catalog, Pager
from explorer.client.connection import Connection
from explorer.client.records import RefusedChange
from explorer.client.transport import NeverSent, Request, Retry
from explorer.errors import Unreachable, Unusable
from explorer.graph import AsyncGraphs, Graphs
from explorer.metadata import Proposal, Urn

TAG = Urn.parse("urn:li:tag:x")


class Wire:
    """Answers as told, and remembers what it was asked."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[Any] = []

    async def send(self, request: Any) -> Any:
        self.asked.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        status, body = answer
        return status, orjson.dumps(body)

    async def close(self) -> None:
        self.closed = True


def public(kind: Any) -> Any:
    return {name: member for name, member in inspect.getmembers(kind) if not name.startswith("_")}


def kind_of(method: Any) -> Any:
    """What a method gives: one answer, one thing after another, a pager, or what asks nobody."""
    if inspect.iscoroutinefunction(method):
        return "blocking"
    if inspect.isasyncgenfunction(method):
        return "blocking_iterator"
    given = typing.get_type_hints(method, localns={"Order": object}).get("return")
    return "as_pages" if typing.get_origin(given) is Pager else "plain"


def same_words(first: Any, second: Any) -> Any:
    return inspect.getdoc(first) == inspect.getdoc(second) is not None


FACES = [(AsyncCatalog, Catalog), (AsyncGraphs, Graphs)]


@pytest.mark.parametrize(("asked", "waiting"), FACES)
def test_both_faces_have_the_same_methods_with_the_same_parameters(
    asked: Any, waiting: Any
) -> None:
    ours, theirs = public(waiting), public(asked)
    assert ours.keys() - theirs.keys() == {"begin", "core", "leave", "wait"}
    assert not theirs.keys() - ours.keys()
    for name, member in theirs.items():
        if inspect.isfunction(member):
            blocking = inspect.signature(ours[name])
            assert blocking.parameters == inspect.signature(member).parameters, name


@pytest.mark.parametrize(("asked", "waiting"), FACES)
def test_every_method_has_the_twin_of_its_kind_under_its_own_name_and_words(
    asked: Any, waiting: Any
) -> None:
    ours = public(waiting)
    for name, member in public(asked).items():
        twin = ours[name]
        if isinstance(member, property):
            assert isinstance(twin, property), name
            assert same_words(member, twin), name
            hints = [typing.get_type_hints(one.fget) for one in (member, twin)]
            assert hints[0] == hints[1], name
        elif name == "close":
            # The blocking one ends its thread as well, and says so.
            assert not inspect.iscoroutinefunction(twin)
        elif kind_of(member) == "plain" and not hasattr(twin, "__wrapped__"):
            assert same_words(member, twin), name
            assert inspect.signature(member) == inspect.signature(twin), name
        else:
            assert twin.__wrapped__ is member, name
            assert same_words(member, twin), name
            assert twin.__code__.co_qualname == f"{kind_of(member)}.<locals>.call", name


def attributes_of(kind: Any) -> Iterator[Any]:
    """What a class defines: in its body, and on its instances."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                yield name
    # What a method of a base is wrapped in is still that method.
    bases = {base.__name__ for base in kind.__mro__[1:]}
    for name, value in vars(kind).items():
        is_wrapped = getattr(value, "__wrapped__", None) is not None
        if not (is_wrapped and value.__qualname__.partition(".")[0] in bases):
            yield name


@pytest.mark.parametrize("kind", [AsyncCatalog, Catalog, AsyncGraphs, Graphs])
def test_no_two_parts_of_a_class_give_one_name_two_meanings(kind: Any) -> None:
    homes = defaultdict(set)
    for part in kind.__mro__[:-1]:
        for name in attributes_of(part):
            if not name.startswith("__"):
                homes[name].add(part.__name__)
    # What one thread and its core are is for each waiting class to say, and what is made of a new
    # connection for each catalog.
    meant = {"begin", "core", "wait"} if kind in (Catalog, Graphs) else set()
    meant |= {"_start"} if kind in (AsyncCatalog, Catalog) else set()
    assert {name for name, parts in homes.items() if len(parts) > 1} - meant == set()


async def test_it_works_inside_a_running_loop() -> None:
    with Catalog(transport=Wire((200, {"value": {"suggestions": ["a"], "query": "a"}}))) as catalog:
        assert catalog.autocomplete("a") == ("a",)


test_it_works_inside_a_running_loop = pytest.mark.anyio(test_it_works_inside_a_running_loop)


def test_closing_ends_the_thread_and_may_be_done_twice() -> None:
    wire = Wire((200, {}))
    catalog = Catalog(transport=wire)
    catalog.close()
    catalog.close()
    assert wire.closed
    assert not catalog._thread.is_alive()


def test_a_request_that_never_left_is_sent_again_whatever_it_does() -> None:
    wire = Wire(NeverSent("nobody there"), (200, {"ok": 1}))
    connection = Connection(transport=wire)
    body = asyncio.run(connection.send(Request("POST", "/x", repeatable=False)))
    assert body == {"ok": 1}


def test_a_write_that_may_have_arrived_is_not_sent_again() -> None:
    wire = Wire(Unreachable("hung up"), (200, {}))
    with pytest.raises(Unreachable):
        asyncio.run(Connection(transport=wire).send(Request("POST", "/x", repeatable=False)))
    assert len(wire.asked) == 1


def test_a_batch_that_is_refused_goes_in_one_by_one() -> None:
    proposals = [Proposal(TAG, name, {}) for name in ("a", "b", "c")]
    wire = Wire(
        (400, {"message": "no such action"}), (200, {}), (422, {"message": "bad b"}), (200, {})
    )
    with Catalog(transport=wire) as catalog:
        report = catalog.ingest_batch(proposals)
    assert report.written_count == 2
    assert report.refused == (RefusedChange(1, TAG, "b", "bad b"),)


def test_what_concerns_every_record_stops_a_load() -> None:
    with (
        Catalog(transport=Wire((503, {"message": "later"})), retry=Retry(tries=1)) as catalog,
        pytest.raises(Unreachable),
    ):
        catalog.ingest_batch([Proposal(TAG, "a", {})])


def test_an_old_server_is_asked_for_a_batch_only_once() -> None:
    entity = {"urn": str(TAG), "aspects": {}}
    wire = Wire((400, {"message": "no batches"}), (200, entity))
    with Catalog(transport=wire) as catalog:
        assert list(catalog.entities([TAG])) == [TAG]
        assert list(catalog.entities([TAG])) == [TAG]
    assert [request.path.startswith("/entitiesV2?") for request in wire.asked] == [
        True,
        False,
        False,
    ]


def test_relationship_names_come_from_the_model() -> None:
    with Catalog(transport=Wire((200, {}))) as catalog:
        assert "OwnedBy" in catalog.relationship_names("dataset", "OUTGOING")
        assert "OwnedBy" not in catalog.relationship_names("tag", "INCOMING")
        assert "TaggedWith" in catalog.relationship_names("tag", "INCOMING")


def test_no_token_shows_in_a_repr() -> None:
    with Catalog("http://127.0.0.1:9", token="s3cret") as catalog:
        assert "s3cret" not in repr(catalog) + repr(vars(catalog))


@pytest.mark.parametrize("kind", [str, Path, os.fspath])
def test_the_directory_of_a_catalog_may_be_a_text_with_the_readers_home_in_it(
    kind: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "taken").write_text("no directory")
    for named in (kind(tmp_path / "taken"), kind(Path("~/taken"))):
        with Catalog(data_dir=named) as catalog:
            with pytest.raises(Unusable, match=str(tmp_path / "taken")):
                catalog.info()
            assert catalog.core.embedded
