"""Long results over servers that change, cut, miscount, stand still or lack a way."""

import asyncio
from collections.abc import Callable, Generator
from typing import Any

import orjson
import pytest

from explorer.client import AsyncCatalog, Catalog
from explorer.errors import InvalidInput, Misuse
from explorer.metadata import Proposal, Urn
from tests.client.conftest import Site

TAGS = [str(Urn.of("tag", f"t{at:05}")) for at in range(60)]


class Server:
    """Answers searches over some URNs, with a fault where one is named."""

    def __init__(
        self,
        urns: Any = TAGS,
        *,
        has: Any = ("search", "scrollAcrossEntities"),
        most: Any = None,
        total: Any = None,
        window: Any = None,
    ) -> None:
        self.urns = list(urns)
        self.has = has
        self.most = most
        self.total = total
        self.window = window
        self.asked: list[str] = []
        self.before: Callable[[], Any] = lambda: None

    async def send(self, request: Any) -> Any:
        self.before()
        name = "graphql" if "graphql" in request.path else request.path.partition("=")[2]
        self.asked.append(name)
        asked = request.body["variables"]["input"] if name == "graphql" else request.body
        if name == "searchAcrossEntities":
            name = "search"
        method = {"scrollAcrossEntities": "scroll", "listUrns": "list_urns"}.get(name, name)
        if name not in self.has:
            return refused(f"POST operation named {name} not supported on resource 'entities'")
        return getattr(self, method)(asked)

    def page(self, start: Any, count: Any) -> Any:
        count = count if self.most is None else min(count, self.most)
        total = len(self.urns) if self.total is None else self.total
        return self.urns[start : start + count], total

    def search(self, asked: Any) -> Any:
        if self.window and asked["start"] + asked["count"] > self.window:
            return refused("Result window is too large")
        urns, total = self.page(asked["start"], asked["count"])
        return found({"entities": urns, "from": asked["start"], "numEntities": total})

    def scroll(self, asked: Any) -> Any:
        start = int(asked.get("scrollId", 0))
        urns, total = self.page(start, asked["count"])
        end = start + len(urns)
        place = str(end) if end < len(self.urns) else None
        return found({"entities": urns, "numEntities": total, "scrollId": place})

    def list_urns(self, asked: Any) -> Any:
        urns, total = self.page(asked["start"], asked["count"])
        return found({"entities": urns, "start": asked["start"], "count": 3, "total": total})

    def graphql(self, asked: Any) -> Any:
        start = int(asked.get("scrollId", 0))
        urns, total = self.page(start, asked["count"])
        results = [{"entity": {"urn": urn}, "extraProperties": []} for urn in urns]
        place = str(start + len(urns)) if start + len(urns) < len(self.urns) else None
        scrolled = {"nextScrollId": place, "total": total, "searchResults": results}
        return 200, orjson.dumps({"data": {"scrollAcrossEntities": scrolled}})

    async def close(self) -> None:
        pass


class Scattered(Server):
    """A server that scrolls through the results in another order than it ranks them in."""

    def __init__(self, urns: Any, *, scatters: bool, **more: Any) -> None:
        super().__init__(urns, **more)
        self.scattered = [*urns[::2], *urns[1::2]] if scatters else urns

    def scroll(self, asked: Any) -> Any:
        ranked, self.urns = self.urns, self.scattered
        answer = super().scroll(asked)
        self.urns = ranked
        return answer

    def graphql(self, asked: Any) -> Any:
        ranked, self.urns = self.urns, self.scattered
        answer = super().graphql(asked)
        self.urns = ranked
        return answer


def found(value: Any) -> Any:
    return 200, orjson.dumps({"value": value})


def refused(message: Any) -> Any:
    return 400, orjson.dumps({"message": message, "status": 400})


def read(server: Any, text: str = "*", **asked: Any) -> Any:
    """What a blocking client gives of a server, and the pages it gave it from."""
    with Catalog(transport=server) as catalog:
        hits = catalog.hits(text, **asked)
        return [str(hit.urn) for hit in hits], hits


@pytest.mark.parametrize("text", ["*", "word"])
def test_a_server_that_cuts_pages_is_followed(text: str) -> None:
    server = Server(most=7)
    urns, hits = read(server, text)
    assert urns == TAGS
    assert (hits.total, hits.shifted, hits.truncated) == (60, False, False)
    assert len(server.asked) == 9


@pytest.mark.parametrize("text", ["*", "word"])
def test_a_total_that_is_never_reached_ends_with_what_there_is(text: str) -> None:
    server = Server(total=1_000)
    urns, hits = read(server, text, page_size=20)
    assert urns == TAGS
    assert hits.shifted
    assert hits.why == "the server said 1,000 and gave 60"
    assert len(server.asked) <= 4


def test_a_total_that_is_too_small_is_where_it_ends() -> None:
    urns, hits = read(Server(total=30), "word", page_size=20)
    assert urns == TAGS[:40]
    assert (hits.shifted, hits.why) == (True, "the server said 30 and gave 40")


def test_a_scroll_that_stands_still_is_left() -> None:
    class Still(Server):
        def scroll(self, asked: Any) -> Any:
            return found({"entities": TAGS[:20], "numEntities": 60, "scrollId": "still here"})

    server = Still()
    urns, hits = read(server, page_size=20)
    assert urns == TAGS[:20]
    assert (hits.shifted, hits.truncated, hits.repeated) == (True, True, 20)
    assert "again and again" in hits.why
    assert len(server.asked) == 2


def test_a_server_that_gives_its_first_page_for_every_start_is_left() -> None:
    class First(Server):
        def search(self, asked: Any) -> Any:
            return found({"entities": TAGS[:2], "numEntities": 60})

    server = First()
    urns, hits = read(server, "word", page_size=2)
    assert urns == TAGS[:2]
    assert hits.shifted
    assert len(server.asked) == 4


def test_what_is_written_before_the_place_reached_is_not_given_twice() -> None:
    server = Server()

    def write() -> None:
        if len(server.asked) == 1:
            server.urns.insert(0, "urn:li:tag:new")

    server.before = write
    urns, hits = read(server, "word", page_size=20)
    assert urns == TAGS
    assert (hits.repeated, hits.shifted, hits.total) == (1, True, 61)
    assert hits.why == "there were 60, then 61; 1 came twice, given once"


def test_what_is_removed_meanwhile_ends_it_without_a_loop() -> None:
    server = Server()

    def remove() -> None:
        if len(server.asked) == 2:
            del server.urns[30:]

    server.before = remove
    urns, hits = read(server, "word", page_size=20)
    assert urns == TAGS[:40]
    assert hits.shifted
    assert len(server.asked) == 3


def test_a_window_is_said_where_nothing_leads_beyond_it() -> None:
    many = [str(Urn.of("tag", f"{at}")) for at in range(10_500)]
    server = Server(many, has=("search",), window=10_000)
    urns, hits = read(server, page_size=3_000)
    assert urns == many[:10_000]
    assert (hits.total, hits.truncated, hits.shifted) == (10_500, True, False)
    assert "no more than the first 10,000" in hits.why


@pytest.mark.parametrize("way", ["scrollAcrossEntities", "graphql"])
def test_beyond_the_window_a_search_goes_on_by_scroll(way: str) -> None:
    many = [str(Urn.of("tag", f"{at}")) for at in range(10_500)]
    server = Server(many, has=("search", way), window=10_000)
    urns, hits = read(server, "word", page_size=4_000)
    assert urns == many
    assert (hits.truncated, hits.shifted, hits.why) == (False, False, None)


@pytest.mark.parametrize("way", ["scrollAcrossEntities", "graphql"])
@pytest.mark.parametrize(
    ("text", "sort"), [("*", None), ("word", None), ("*", "name"), ("word", "-name")]
)
def test_a_page_beyond_the_window_is_read_by_scroll(text: str, sort: Any, way: str) -> None:
    """What scrolls does not come best match first, but everything is found once."""
    ranked = [str(Urn.of("tag", f"{at:05}")) for at in range(12_000)]
    server = Scattered(ranked, has=("search", way), window=10_000, scatters=sort is None)
    with Catalog(transport=server) as catalog:

        def page(start: int, count: int = 50) -> list[str]:
            answer = catalog.search(text, sort=sort, start=start, count=count)
            assert (answer.total, answer.start) == (12_000, start)
            return [str(hit.urn) for hit in answer]

        assert page(9_950) == ranked[9_950:10_000]
        assert page(9_951) == [*ranked[9_951:10_000], *page(10_000, 1)]
        server.asked.clear()
        rest = [urn for start in range(10_000, 12_000, 50) for urn in page(start)]
        # A request for each thousand results, and one for the total of each page.
        assert len(server.asked) - len(rest) // 50 < 25
        assert sorted(rest) == ranked[10_000:]
        assert sort is None or rest == ranked[10_000:]
        # Back a little costs nothing, back further is read anew.
        server.asked.clear()
        assert page(11_500) == rest[1_500:1_550]
        assert len(server.asked) == 1
        assert page(10_050) == rest[50:100]
        assert page(11_990) == rest[1_990:]
        assert page(12_000) == page(10**9) == []


def test_a_page_that_no_server_gives_says_why() -> None:
    many = [str(Urn.of("tag", f"{at}")) for at in range(10_500)]
    server = Server(many, has=("search",), window=10_000)
    with Catalog(transport=server) as catalog:
        with pytest.raises(InvalidInput, match=r"no page at 10,200: .*the first 10,000"):
            catalog.search("word", start=10_200)
        assert len(catalog.search("word", start=9_990, count=10)) == 10


def test_which_way_a_server_has_is_found_out_once() -> None:
    server = Server(has=("search", "graphql"))
    with Catalog(transport=server) as catalog:
        for _ in range(2):
            assert len(list(catalog.hits(page_size=60))) == 60
    assert server.asked == ["scrollAcrossEntities", "graphql", "graphql"]


def test_a_question_that_every_way_refuses_teaches_nothing() -> None:
    server = Server(has=())
    with Catalog(transport=server) as catalog:
        with pytest.raises(InvalidInput, match="named search not supported"):
            catalog.hits().page()
        server.has = ("scrollAcrossEntities",)
        server.asked.clear()
        assert len(catalog.hits().page()) == 60
        assert server.asked == ["scrollAcrossEntities"]


def test_the_quick_list_is_taken_when_the_removed_are_wanted() -> None:
    server = Server(has=("search", "listUrns"), most=25)
    with Catalog(transport=server) as catalog:
        assert [str(urn) for urn in catalog.urns("tag", include_removed=True)] == TAGS
        assert set(server.asked) == {"listUrns"}
        assert [str(urn) for urn in catalog.urns("tag")] == TAGS
        assert server.asked[-1] == "search"


def test_urns_that_cannot_be_read_lose_no_page() -> None:
    broken = [*TAGS[:3], "no urn", *TAGS[3:]]
    urns, hits = read(Server(broken), page_size=10)
    assert urns == TAGS
    assert (hits.total, hits.shifted) == (61, False)


def test_an_older_server_gives_its_folders_once() -> None:
    class Old(Server):
        def browse(self, asked: Any) -> Any:
            entities = [
                {"name": urn[-3:], "urn": urn}
                for urn in self.urns[asked["start"] : asked["start"] + asked["limit"]]
            ]
            groups = [{"name": "a", "count": 1}, {"name": "b", "count": 2}]
            metadata = {"path": "/", "totalNumEntities": 63, "groups": groups}
            return found({"numEntities": 60, "from": 0, "entities": entities, "metadata": metadata})

    with Catalog(transport=Old(has=("browse",))) as catalog:
        folder = catalog.folder(page_size=25)
        names = [entry.name for entry in folder]
    assert names == ["a", "b", *(urn[-3:] for urn in TAGS)]
    assert (folder.returned_count, folder.total, folder.shifted) == (62, 62, False)


def test_one_page_is_fetched_ahead_and_no_more() -> None:
    async def scene() -> None:
        server = Server()
        async with AsyncCatalog(transport=server) as catalog:
            hits = catalog.hits(page_size=10)
            assert server.asked == []
            await hits.page()
            for _ in range(50):
                await asyncio.sleep(0)
            assert len(server.asked) == 2
            await hits.aclose()

    asyncio.run(scene())


class Slow(Server):
    """Answers the first page, and the others only when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.let = asyncio.Event()
        self.reached = asyncio.Event()
        self.hung_up = asyncio.Event()

    async def send(self, request: Any) -> Any:
        if self.asked:
            self.reached.set()
            try:
                await self.let.wait()
            except asyncio.CancelledError:
                self.hung_up.set()
                raise
        return await super().send(request)


def test_what_is_fetched_ahead_is_called_off_when_a_loop_is_left() -> None:
    async def scene() -> None:
        server = Slow()
        async with AsyncCatalog(transport=server) as catalog:
            hits = catalog.hits(page_size=10)
            async for hit in hits:
                await server.reached.wait()
                first = hit
                break
            await server.hung_up.wait()
            assert hits.returned_count == 1
            server.let.set()
            rest = [str(hit.urn) async for hit in hits]
            assert [str(first.urn), *rest] == TAGS

    asyncio.run(scene())


def test_a_reader_that_is_called_off_loses_nothing() -> None:
    async def scene() -> None:
        server = Slow()
        async with AsyncCatalog(transport=server) as catalog:
            hits = catalog.hits(page_size=10)
            given = list(await hits.page())
            waiting = asyncio.create_task(hits.page())
            await server.reached.wait()
            waiting.cancel()
            await asyncio.wait((waiting,))
            assert server.hung_up.is_set()
            server.let.set()
            while page := await hits.page():
                given += page
            assert [str(hit.urn) for hit in given] == TAGS

    asyncio.run(scene())


def test_a_closed_pager_gives_no_more() -> None:
    async def scene() -> None:
        async with AsyncCatalog(transport=Server()) as catalog:
            hits = catalog.hits(page_size=10)
            async with hits:
                await anext(hits)
            assert await hits.page() == ()
            assert [hit async for hit in hits] == []

    asyncio.run(scene())


def test_closing_ends_the_waiting_of_a_reader() -> None:
    async def scene() -> None:
        server = Slow()
        async with AsyncCatalog(transport=server) as catalog:
            hits = catalog.hits(page_size=10)
            await hits.page()
            waiting = asyncio.create_task(hits.page())
            await asyncio.sleep(0)
            await hits.aclose()
            assert await waiting == ()
            assert len(server.asked) == 1

    asyncio.run(scene())


def test_after_an_error_it_goes_on_where_it_was() -> None:
    server = Server()
    failures = [InvalidInput("not now")]

    def fail_once() -> None:
        if len(server.asked) == 2 and failures:
            raise failures.pop()

    server.before = fail_once
    with Catalog(transport=server) as catalog:
        hits = catalog.hits(page_size=20)
        given = [*hits.page(), *hits.page()]
        with pytest.raises(InvalidInput, match="not now"):
            hits.page()
        given += hits
    assert [str(hit.urn) for hit in given] == TAGS


def test_a_blocking_loop_may_be_left_and_taken_up_again() -> None:
    with Catalog(transport=Server()) as catalog:
        hits = catalog.hits(page_size=10)
        given = []
        for hit in hits:
            given.append(hit)
            if len(given) == 3:
                break
        assert hits.returned_count == 3
        given += hits.page()
        assert hits.returned_count == 10
        given += hits
        with hits:
            pass
        assert hits.page() == ()
    assert [str(hit.urn) for hit in given] == TAGS


def test_a_loop_may_outlive_its_client() -> None:
    with Catalog(transport=Server()) as catalog:
        hits = catalog.hits(page_size=10)
        loop = iter(hits)
        next(loop)
    assert isinstance(loop, Generator)
    loop.close()
    with pytest.raises(Misuse, match="closed"):
        for _ in hits:
            pass


def test_what_changes_in_the_catalog_meanwhile_is_said(site: Site) -> None:
    tags = [Urn.of("tag", f"shifting{at:02}") for at in range(30)]
    with Catalog(site.address) as catalog:
        catalog.ingest_batch(
            Proposal(urn, "tagProperties", {"name": urn.name, "description": "shifty"})
            for urn in tags
        )
        for text, extra in (("shifty", "shifting"), ("*", "shifting-a")):
            hits = catalog.hits(text, entity="tag", filter="description:shifty", page_size=10)
            before = [hit.urn for hit in hits.page()]
            new = Urn.of("tag", extra)
            catalog.ingest(
                Proposal(new, "tagProperties", {"name": new.name, "description": "shifty"})
            )
            given = [*before, *(hit.urn for hit in hits)]
            assert hits.shifted
            assert len(given) == len(set(given))
            assert set(given) >= set(tags)
            catalog.ingest(Proposal(new, "status", {"removed": True}))
