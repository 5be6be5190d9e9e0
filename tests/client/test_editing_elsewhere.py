"""Edits on servers that offer less than ours, or in another way: nothing of others is lost."""

import asyncio
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from explorer.client import AsyncCatalog
from explorer.client.editable import TextConflict
from explorer.client.edits import EditMethods
from explorer.client.http import HttpTransport
from explorer.errors import Conflict, Forbidden, NotFound
from explorer.metadata import Proposal, Urn
from tests.client.conftest import Site
from tests.conftest import schema_of
from tests.loopback import listening

TABLE = Urn.dataset("hive", "elsewhere.orders")
COLUMN = "a/b~c.d"
LABELS = {
    "tags": ("urn:li:tag:E1", "urn:li:tag:E2"),
    "terms": ("urn:li:glossaryTerm:E1", "urn:li:glossaryTerm:E2"),
}


@pytest.fixture
def run(site: Site) -> Any:
    """Runs what is given a client of the service, on which the table is."""

    def go(work: Any) -> Any:
        async def whole() -> Any:
            async with AsyncCatalog(site.address) as catalog:
                await catalog.put(TABLE, "schemaMetadata", schema(COLUMN, "other"))
                try:
                    return await work(catalog)
                finally:
                    await catalog.delete(TABLE)

        return asyncio.run(whole())

    return go


def schema(*paths: Any) -> Any:
    kind: dict[str, Any] = {"type": {"com.linkedin.schema.StringType": {}}}
    return schema_of([{"fieldPath": path, "nativeDataType": "s", "type": kind} for path in paths])


@pytest.fixture(params=["patches", "rewrites"])
def _offers_no_mutations(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that has no mutations at all; what is then left is a patch, or the whole aspect."""

    async def nothing(self: EditMethods, type_name: Any, field: Any) -> bool:
        return False

    monkeypatch.setattr(EditMethods, "_offers", nothing)
    if request.param == "rewrites":
        abilities = EditMethods.abilities

        async def without(self: EditMethods) -> Any:
            return replace(await abilities(self), patch=False)

        monkeypatch.setattr(EditMethods, "abilities", without)


async def raw(catalog: Any, aspect: Any) -> Any:
    return (await catalog.entity(TABLE, [aspect])).raw(aspect) or {}


@pytest.mark.usefixtures("_offers_no_mutations")
@pytest.mark.parametrize("what", LABELS)
@pytest.mark.parametrize("column", [None, COLUMN])
def test_labels_are_kept_apart_from_others(run: Any, what: Any, column: Any) -> None:
    first, second = LABELS[what]

    async def work(catalog: Any) -> None:
        add, remove = getattr(catalog, f"add_{what}"), getattr(catalog, f"remove_{what}")
        await catalog.describe(TABLE, "kept", column="other")
        await add(TABLE, first, column=column)
        assert (await add(TABLE, second, column=column)).after == (first, second)
        assert (await remove(TABLE, first, column=column)).after == (second,)
        assert not (await add(TABLE, second, column=column)).changed
        columns = (await raw(catalog, "editableSchemaMetadata"))["editableSchemaFieldInfo"]
        assert {"fieldPath": "other", "description": "kept"} in columns
        if column is not None:
            with pytest.raises(NotFound):
                await add(TABLE, first, column="nowhere")

    run(work)


@pytest.mark.usefixtures("_offers_no_mutations")
def test_everything_else_can_be_edited_too(run: Any) -> None:
    async def work(catalog: Any) -> None:
        await catalog.describe(TABLE, "text")
        await catalog.describe(TABLE, "column", column=COLUMN)
        await catalog.add_owners(TABLE, ["jdoe", "urn:li:corpGroup:g"])
        await catalog.add_owners(TABLE, "jdoe", ownership="urn:li:ownershipType:mine")
        await catalog.set_domain(TABLE, "d")
        await catalog.deprecate(TABLE, "old")
        await catalog.add_link(TABLE, "https://a", "A")
        await catalog.add_link(TABLE, "https://b", "B")
        await catalog.remove_link(TABLE, "https://a")
        entity = await catalog.entity(TABLE)
        assert entity.edited_description == "text"
        assert entity.schema.column(COLUMN).edited == "column"
        assert [owner.owner for owner in entity.owners] == [
            "urn:li:corpuser:jdoe",
            "urn:li:corpGroup:g",
            "urn:li:corpuser:jdoe",
        ]
        assert [str(domain) for domain in entity.domains] == ["urn:li:domain:d"]
        assert entity.deprecation == "old"
        assert [link.url for link in entity.links] == ["https://b"]
        await catalog.remove_owners(TABLE, "jdoe")
        await catalog.undeprecate(TABLE)
        entity = await catalog.entity(TABLE)
        assert [owner.owner for owner in entity.owners] == ["urn:li:corpGroup:g"]
        assert entity.deprecation is None

    run(work)


@pytest.mark.parametrize("may_write", [True, False])
def test_a_column_whose_case_changed_is_edited_also_by_whoever_may_not_write_aspects(
    run: Any, monkeypatch: pytest.MonkeyPatch, may_write: bool
) -> None:
    async def refuse(self: EditMethods, proposal: Any, version: Any) -> None:
        raise Forbidden("no right to write aspects")

    async def work(catalog: Any) -> None:
        seen, added = LABELS["tags"]
        for tag in (seen, added):
            await catalog.put(tag, "tagProperties", {"name": tag})
        await catalog.describe(TABLE, "A remark.", column="other")
        await catalog.add_tags(TABLE, seen, column="other")
        await catalog.put(TABLE, "schemaMetadata", schema("OTHER"))
        if not may_write:
            monkeypatch.setattr(EditMethods, "_put", refuse)
        await catalog.add_tags(TABLE, added, column="OTHER", instead_of=seen)
        with pytest.raises(TextConflict):
            await catalog.describe(TABLE, "New.", column="OTHER", instead_of="")
        await catalog.describe(TABLE, "New.", column="OTHER", instead_of="A remark.")
        monkeypatch.undo()
        held = (await catalog.entity(TABLE)).schema
        (column,) = held.columns
        assert column.edited == "New."
        assert added in map(str, column.tags)
        # What could not be moved is not lost.
        assert [one.description for one in held.orphans] == ([] if may_write else ["A remark."])

    run(work)


def test_a_rewrite_starts_anew_from_what_another_wrote_meanwhile(run: Any) -> None:
    async def work(catalog: Any) -> None:
        await catalog.put(TABLE, "status", {"removed": False})
        seen = []

        def change(value: Any) -> Any:
            seen.append(value)
            return {**value, "mine": "here"}

        put = catalog._put

        async def late(proposal: Any, version: Any) -> None:
            if len(seen) == 1:
                theirs = {"removed": False, "theirs": "there"}
                await catalog.ingest(Proposal(TABLE, "status", theirs))
            await put(proposal, version)

        catalog._put = late
        await catalog._rewrite(TABLE, "status", change)
        assert seen == [{"removed": False}, {"removed": False, "theirs": "there"}]
        assert await raw(catalog, "status") == {**seen[1], "mine": "here"}

    run(work)


@pytest.mark.usefixtures("_offers_no_mutations")
@pytest.mark.parametrize("column", [None, COLUMN])
def test_a_rewrite_keeps_the_text_that_another_wrote_meanwhile(run: Any, column: Any) -> None:
    async def work(catalog: Any) -> None:
        await catalog.describe(TABLE, "base", column=column)
        put, others = catalog._put, ["theirs", "theirs again"]

        async def late(proposal: Any, version: Any) -> None:
            if others:
                catalog._put = put
                await catalog.describe(TABLE, others.pop(0), column=column)
                catalog._put = late
            await put(proposal, version)

        catalog._put = late
        with pytest.raises(TextConflict) as caught:
            await catalog.describe(TABLE, "mine", column=column, instead_of="base")
        assert (caught.value.base, caught.value.theirs) == ("base", "theirs")
        done = await catalog.describe(TABLE, "mine", column=column, instead_of="theirs", force=True)
        assert done.after == "mine"

    run(work)


TAKEN_BACK: dict[str, tuple[Callable[..., Any], str]] = {
    "domain": (lambda c, one: c.set_domain(TABLE, one), "domains"),
    "deprecation": (lambda c, one: c.deprecate(TABLE, one), "deprecation"),
}


@pytest.mark.usefixtures("_offers_no_mutations")
@pytest.mark.parametrize("what", TAKEN_BACK)
def test_taking_back_leaves_what_another_wrote_meanwhile(run: Any, what: Any) -> None:
    change, aspect = TAKEN_BACK[what]

    async def work(catalog: Any) -> None:
        mine = await change(catalog, "mine")
        put = catalog._put

        async def late(proposal: Any, version: Any) -> None:
            catalog._put = put
            await change(catalog, "theirs")
            await put(proposal, version)

        catalog._put = late
        with pytest.raises(TextConflict):
            await catalog.undo(mine)
        assert "theirs" in str(await raw(catalog, aspect))

    run(work)


EDITS = {
    "description": lambda c: c.describe(TABLE, "text"),
    "column": lambda c: c.describe(TABLE, "text", column=COLUMN),
    "tags": lambda c: c.add_tags(TABLE, LABELS["tags"][0]),
    "domain": lambda c: c.set_domain(TABLE, "d"),
    "deprecation": lambda c: c.deprecate(TABLE, "old"),
    "links": lambda c: c.add_link(TABLE, "https://a", "A"),
    "links taken": lambda c: c.remove_link(TABLE, "https://b"),
}


@pytest.mark.parametrize("what", EDITS)
def test_an_edit_called_off_once_it_is_stored_is_written_down_all_the_same(
    run: Any, what: Any, tmp_path: Path
) -> None:
    async def work(catalog: Any) -> None:
        for name in LABELS["tags"]:
            await catalog.put(name, "tagProperties", {"name": "E"})
        await catalog.put("urn:li:domain:d", "domainProperties", {"name": "D"})
        await catalog.add_link(TABLE, "https://b", "B")
        journal = await catalog.keep_journal(tmp_path / "journal")
        operate, stored = catalog._operate, asyncio.Event()

        async def slowly(operation: Any) -> Any:
            data = await operate(operation)
            stored.set()
            await asyncio.sleep(0)
            return data

        catalog._operate = slowly
        edit = asyncio.create_task(EDITS[what](catalog))
        await stored.wait()
        edit.cancel()
        with pytest.raises(asyncio.CancelledError):
            await edit
        (entry,) = journal
        assert entry.urn == str(TABLE)
        assert entry.before != entry.after
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run(work)


def test_many_who_edit_at_once_lose_nothing_of_one_another(run: Any) -> None:
    async def work(catalog: Any) -> None:
        def with_one(name: Any) -> Any:
            return lambda value: {**value, name: "here"}

        names = [f"n{at}" for at in range(4)]
        await asyncio.gather(*(catalog._rewrite(TABLE, "status", with_one(name)) for name in names))
        assert (await raw(catalog, "status")).keys() >= set(names)

    run(work)


def test_a_condition_refused_in_words_alone_is_a_conflict() -> None:
    class Wordy:
        async def send(self, request: Any) -> Any:
            told = "Expected version 1, actual version 2"
            return 422, orjson.dumps({"message": told, "status": 422})

        async def close(self) -> None:
            pass

    async def work() -> None:
        async with AsyncCatalog(transport=Wordy()) as catalog:
            with pytest.raises(Conflict, match="actual version 2"):
                await catalog.put(TABLE, "status", {}, only_if_version=1)

    asyncio.run(work())


class Elsewhere:
    """The service as an older or a stricter one: what it is, its versions or a right is left out;
    before the write that is told, somebody else is in time."""

    def __init__(self, address: Any, *, versions: bool = True, rewrites: bool = True) -> None:
        self._carrier = HttpTransport(address, 60.0)
        self._versions, self._rewrites = versions, rewrites
        self.sent: list[str] = []
        self.in_time = None

    async def send(self, request: Any) -> Any:
        what = request.path.partition("?")[0].partition("/urn")[0]
        if request.writes:
            what = "write"
            if "ingestProposal" in request.path:
                what = "rewrite"
                if not self._rewrites:
                    self.sent.append("refused")
                    return 403, b'{"message": "no right to write aspects"}'
            if self.in_time is not None:
                late, self.in_time = self.in_time, None
                await late
        self.sent.append(what)
        if request.path == "/config":
            return 200, b'{"noCode": "true"}'
        answer = await self._carrier.send(request)
        if what == "/entitiesV2" and not self._versions:
            entity = orjson.loads(answer.body)
            for aspect in entity["aspects"].values():
                aspect.pop("systemMetadata", None)
            return 200, orjson.dumps(entity)
        return answer

    async def close(self) -> None:
        await self._carrier.close()


def test_a_server_that_counts_versions_is_told_the_version_that_a_text_stood_in(
    run: Any, site: Site
) -> None:
    async def work(catalog: Any) -> None:
        wire = Elsewhere(site.address)
        async with AsyncCatalog(transport=wire) as there:
            await catalog.describe(TABLE, "base", column=COLUMN)
            # Another column is none of its business: the write is made anew.
            wire.in_time = catalog.describe(TABLE, "another", column="other")
            edit = await there.describe(TABLE, "mine", column=COLUMN, instead_of="base")
            assert edit.changed
            wire.in_time = catalog.describe(TABLE, "theirs", column=COLUMN)
            with pytest.raises(TextConflict) as caught:
                await there.describe(TABLE, "mine again", column=COLUMN, instead_of="mine")
        assert (caught.value.base, caught.value.theirs) == ("mine", "theirs")
        entity = await catalog.entity(TABLE)
        told = [entity.schema.column(path).edited for path in (COLUMN, "other")]
        assert told == ["theirs", "another"]
        assert "write" not in wire.sent

    run(work)


@pytest.mark.parametrize("lacks", ["versions", "rewrites"])
def test_where_there_is_no_condition_the_comparison_is_right_before_the_write(
    run: Any, site: Site, lacks: str
) -> None:
    async def work(catalog: Any) -> None:
        wire = Elsewhere(site.address, **{lacks: False})
        async with AsyncCatalog(transport=wire) as there:
            await catalog.describe(TABLE, "base")
            # What is asked once is known.
            await there.describe(TABLE, "first", instead_of="base")
            await catalog.describe(TABLE, "theirs")
            with pytest.raises(TextConflict):
                await there.describe(TABLE, "mine", instead_of="first")
            wire.sent.clear()
            assert (await there.describe(TABLE, "mine", instead_of="theirs")).changed
        assert (await catalog.entity(TABLE)).edited_description == "mine"
        between = [] if lacks == "versions" else ["/entitiesV2", "refused"]
        assert wire.sent == ["/entitiesV2", *between, "write"]

    run(work)


@pytest.mark.parametrize("code", [400, 500])
def test_an_undo_leaves_out_what_is_gone_however_the_server_refuses_it(
    run: Any, site: Site, tmp_path: Path, code: int
) -> None:
    class Refusing(Elsewhere):
        """A service whose mutations refuse labels that do not exist as DataHub's do."""

        async def send(self, request: Any) -> Any:
            answer = await super().send(request)
            return answer[0], answer[1].replace(b'"code":404', b'"code":%d' % code)

    async def work(catalog: Any) -> None:
        gone, stays = LABELS["tags"]
        for tag in (gone, stays):
            await catalog.put(tag, "tagProperties", {"name": tag})
        async with AsyncCatalog(transport=Refusing(site.address)) as there:
            told: list[str] = []
            there.on_warning(told.append)
            await there.keep_journal(tmp_path / "journal.jsonl")
            await there.add_tags(TABLE, [gone, stays])
            await there.remove_tags(TABLE, [gone, stays])
            await catalog.delete(gone)
            (made,) = await there.undo_save()
            assert (made.before, made.after) == ((), (stays,))
        (sentence,) = told
        assert sentence.endswith(f"what no longer exists cannot be put back ({gone})")
        await catalog.delete(stays)

    run(work)


# Lists of links.


class Links:
    """A service that takes links in lists only, and replaces those it has by them, or appends."""

    def __init__(self, *, appends: Any, dated: Any) -> None:
        self.links: list[Any] = []
        self.appends, self.dated = appends, dated
        self.lost = False
        self.sent: list[Any] = []

    async def send(self, request: Any) -> Any:
        if request.path == "/config":
            return 200, b'{"noCode": "true"}'
        if request.method == "GET":
            status = {"value": {"removed": False}}
            held = {"status": status, "institutionalMemory": {"value": {"elements": self.links}}}
            return 200, orjson.dumps({"urn": str(TABLE), "aspects": held})
        if "ingestProposal" in request.path:
            value = request.body["proposal"]["aspect"]["value"]
            self.links = orjson.loads(value)["elements"]
            return 200, b"{}"
        return 200, orjson.dumps(self.answer(request.body))

    def answer(self, asked: Any) -> Any:
        if "__type" in asked["query"] or "__schema" in asked["query"]:
            fields = [{"name": "updateDataset"}, {"name": "updateDescription"}]
            return {"data": {"__type": {"fields": fields}}}
        if "updateDataset" not in asked["query"]:
            return {"errors": [{"message": "no such field", "extensions": {}}]}
        given = asked["variables"]["input"]["institutionalMemory"]["elements"]
        if not self.dated and any("createdAt" in one for one in given):
            return {"errors": [{"message": "createdAt is not defined", "extensions": {}}]}
        self.sent.append(len(given))
        new = [
            {
                "url": one["url"],
                "description": one["description"],
                "createStamp": {"time": one.get("createdAt", 1), "actor": one["author"]},
            }
            for one in given
        ]
        before = {one["url"] for one in self.links}
        self.links = [*self.links, *new] if self.appends else new
        self.lost |= not before <= {one["url"] for one in self.links}
        return {"data": {"updateDataset": {"urn": str(TABLE)}}}

    async def close(self) -> None:
        pass


@pytest.mark.parametrize("appends", [True, False], ids=["appends", "replaces"])
@pytest.mark.parametrize("dated", [True, False], ids=["dated", "undated"])
def test_a_link_is_added_to_the_others_whatever_the_server_does_with_a_list(
    appends: bool, dated: bool
) -> None:
    service = Links(appends=appends, dated=dated)

    async def work() -> None:
        async with AsyncCatalog(transport=service) as catalog:
            for at in range(4):
                edit = await catalog.add_link(TABLE, f"https://{at}", f"label {at}")
                assert edit.after == tuple(f"https://{n} label {n}" for n in range(at + 1))
            await catalog.remove_link(TABLE, "https://1")

    asyncio.run(work())
    assert [one["url"] for one in service.links] == ["https://0", "https://2", "https://3"]
    assert not service.lost
    # Once it is known that a server appends, it is sent the new link alone.
    assert service.sent == ([1, 2, 1, 1] if appends else [1, 2, 3, 4])


def test_the_author_and_time_of_another_link_stay() -> None:
    service = Links(appends=False, dated=True)
    stamp = {"time": 77, "actor": "urn:li:corpuser:them"}
    service.links = [{"url": "https://theirs", "description": "", "createStamp": stamp}]

    async def work() -> None:
        async with AsyncCatalog(transport=service) as catalog:
            await catalog.add_link(TABLE, "https://mine", "mine")

    asyncio.run(work())
    assert service.links[0]["createStamp"] == stamp


# What leaves over the wire.


def test_a_write_says_which_protocol_it_speaks_and_that_it_is_json() -> None:
    heard = []

    async def answer(reader: Any, writer: Any) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = re.search(r"(?i)content-length: (\d+)", head)
        assert length
        heard.append((head, orjson.loads(await reader.readexactly(int(length[1])))))
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}")
        await writer.drain()
        writer.close()

    async def work() -> None:
        async with listening(answer) as port, AsyncCatalog(f"http://127.0.0.1:{port}") as catalog:
            await catalog.ingest(Proposal(TABLE, "status", {"removed": True}))

    asyncio.run(work())
    ((head, body),) = heard
    assert head.startswith("POST /aspects?action=ingestProposal HTTP/1.1\r\n")
    assert re.search(r"(?im)^x-restli-protocol-version: 2\.0\.0\r$", head)
    assert re.search(r"(?im)^content-type: application/json\r$", head)
    assert body["async"] == "false"
    assert body["proposal"]["aspect"] == {
        "value": '{"removed":true}',
        "contentType": "application/json",
    }
