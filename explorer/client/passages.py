"""Which way a search, a list of URNs and a folder are gone through, by what the server has."""

from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from typing import Any

from explorer.client.answers.finding import (
    parse_browse,
    parse_scroll,
    parse_scroll_graphql,
    parse_search,
    parse_urns,
)
from explorer.client.records import Folder, Hit, Named, SearchPage
from explorer.client.requests.finding import (
    Sorting,
    browse_request,
    list_urns_request,
    scroll_graphql_request,
    scroll_request,
    search_request,
    with_removed,
)
from explorer.client.requests.request import Request
from explorer.client.walking import ByScroll, ByStart, FirstThatWorks, Portion, Ranked, Walk
from explorer.metadata.filters import Filter
from explorer.metadata.urn import Urn

__all__ = ["Passages"]

_Ways = list[tuple[str, Walk[Hit]]]


class Passages:
    """Makes walks over one connection. `has` keeps which ways the server is known to have, `adapt`
    gives a filter in the words that it understands."""

    def __init__(
        self,
        send: Callable[[Request], Awaitable[Any]],
        has: MutableMapping[str, bool],
        adapt: Callable[[Filter], Awaitable[Filter]],
    ) -> None:
        self._send = send
        self._has = has
        self._adapt = adapt

    def hits(
        self,
        text: str,
        types: Sequence[str],
        narrowed_by: Filter,
        sorted_by: Sequence[Sorting],
        size: int,
    ) -> Walk[Hit]:
        """Everything a search finds: best first where that says anything."""
        by_start = self._by_start(text, types, narrowed_by, sorted_by, size)
        scrolls = self._scrolls(text, types, narrowed_by, sorted_by, size)
        if sorted_by or text in ("", "*"):
            return FirstThatWorks([*scrolls, ("start", by_start)], self._has)
        return Ranked(by_start, FirstThatWorks(scrolls, self._has))

    def urns(
        self, types: Sequence[str], narrowed_by: Filter, size: int, *, include_removed: bool
    ) -> Walk[Urn]:
        """URNs alone."""
        wanted = with_removed(narrowed_by) if include_removed else narrowed_by
        ways = self._scrolls("*", types, wanted, (), size)
        ways.append(("start", self._by_start("*", types, wanted, (), size)))
        if include_removed and len(types) == 1 and not narrowed_by:
            # The fastest by far, but it does not know who is removed.
            ways.insert(0, ("listUrns", self._listed(types[0], size)))
        return _Urns(FirstThatWorks(ways, self._has))

    def folder(self, path: str, entity: str, size: int) -> Walk[Folder | Named]:
        """The folders and entities at a browse path."""
        folders: set[str] = set()

        async def ask(start: int, count: int) -> tuple[Portion[Folder | Named], int]:
            request = browse_request(path, entity, start, count)
            page = parse_browse(await self._send(request))
            fresh = [one for one in page.folders if one.name not in folders]
            shown = fresh if page.repeating else page.folders
            folders.update(one.name for one in page.folders)
            taken = len(shown) + len(page.entities) + len(page.unreadable)
            end = start + page.end - page.start
            return Portion((*shown, *page.entities), taken, page.entries), end

        return ByStart(ask, size)

    def _by_start(
        self,
        text: str,
        types: Sequence[str],
        narrowed_by: Filter,
        sorted_by: Sequence[Sorting],
        size: int,
    ) -> Walk[Hit]:
        entity = types[0] if len(types) == 1 else types

        async def ask(start: int, count: int) -> tuple[Portion[Hit], int]:
            asked = await self._adapt(narrowed_by)
            request = search_request(text, entity, start, count, asked, sorted_by)
            portion = _portion(parse_search(await self._send(request), text))
            return portion, start + portion.taken

        return ByStart(ask, size)

    def _scrolls(
        self,
        text: str,
        types: Sequence[str],
        narrowed_by: Filter,
        sorted_by: Sequence[Sorting],
        size: int,
    ) -> _Ways:
        async def resource(place: str | None) -> tuple[Portion[Hit], str | None]:
            asked = await self._adapt(narrowed_by)
            request = scroll_request(text, types, size, asked, sorted_by, place)
            page, further = parse_scroll(await self._send(request), text)
            return _portion(page), further

        async def graphql(place: str | None) -> tuple[Portion[Hit], str | None]:
            asked = await self._adapt(narrowed_by)
            request = scroll_graphql_request(text, types, size, asked, sorted_by, place)
            page, further = parse_scroll_graphql(await self._send(request), text)
            return _portion(page), further

        return [("scroll", ByScroll(resource)), ("scroll in GraphQL", ByScroll(graphql))]

    def _listed(self, entity: str, size: int) -> Walk[Hit]:
        async def ask(start: int, count: int) -> tuple[Portion[Hit], int]:
            page = parse_urns(await self._send(list_urns_request(entity, start, count)))
            portion = _portion(page)
            return portion, start + portion.taken

        return ByStart(ask, size)


class _Urns:
    """The URNs of a walk over hits."""

    def __init__(self, hits: Walk[Hit]) -> None:
        self._hits = hits

    async def next(self) -> Portion[Urn]:
        portion = await self._hits.next()
        return Portion(
            tuple(hit.urn for hit in portion.items),
            portion.taken,
            portion.total,
            portion.last,
            portion.cut,
            portion.standing,
            portion.repeats,
        )


def _portion(page: SearchPage) -> Portion[Hit]:
    return Portion(page.hits, len(page.hits) + len(page.unreadable), page.total)
