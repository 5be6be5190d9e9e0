"""Search, browsing, and everything there is."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from explorer.client.answers.finding import (
    parse_browse,
    parse_browse_paths,
    parse_counts,
    parse_search,
)
from explorer.client.connection import Connection
from explorer.client.narrowing import read_narrowing, read_order, read_types
from explorer.client.paging import Pager
from explorer.client.parts.naming import FilterMethods
from explorer.client.passages import Passages
from explorer.client.records import BrowsePage, Facet, Folder, Hit, Named, SearchPage
from explorer.client.requests.finding import (
    browse_paths_request,
    browse_request,
    counts_request,
    search_request,
)
from explorer.errors import InvalidInput, NotFound, ServerFault
from explorer.metadata.filters import Filter
from explorer.metadata.urn import Urn

if TYPE_CHECKING:
    from explorer.metadata.filtertext import Order

__all__ = ["SearchMethods"]

_HITS = 200
_URNS = 2_500
_ENTRIES = 500
_REFUSALS = (InvalidInput, NotFound, ServerFault)


class SearchMethods(FilterMethods):
    """How things are found."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self._ways: dict[str, bool] = {}

    async def search(
        self,
        text: str = "*",
        *,
        entity: str | Sequence[str] | None = None,
        narrowed_by: Filter | str | None = None,
        sorted_by: "str | Sequence[Order] | None" = None,
        start: int = 0,
        count: int = 20,
        superseding: str | None = None,
    ) -> SearchPage:
        """A page of what matches `text`, best first or as `sorted_by` says, with facets over the
        whole result.

        Over all entity types unless `entity` names some. Filters and orders may be given as the
        text that people type (`explorer.metadata.filtertext`). One request; a second where nothing
        is found and the server proposes another text. Soft-deleted entities
        are not found unless the filter speaks of `removed`.

        A later call with the same `superseding` takes this one's place, which then raises
        `Superseded`.
        """
        types = entity if isinstance(entity, str) and entity else read_types(entity or ())
        request = search_request(
            text,
            types,
            start,
            count,
            await self._adapted(read_narrowing(narrowed_by, self.registry)),
            read_order(sorted_by, self.registry),
        )
        reply = await self._latest.run(superseding, self._connection.ask(request))
        page = parse_search(reply.body, text, reply.as_of)
        if page.total or page.suggested in (None, text) or not page.suggested:
            return page
        again = await self.search(
            page.suggested,
            entity=entity,
            narrowed_by=narrowed_by,
            sorted_by=sorted_by,
            start=start,
            count=count,
            superseding=superseding,
        )
        return replace(again, text=text, corrected=page.suggested) if again.total else page

    async def facets(
        self,
        text: str = "*",
        *,
        entity: str | Sequence[str] | None = None,
        narrowed_by: Filter | str | None = None,
        names: Sequence[str] | None = None,
    ) -> tuple[Facet, ...]:
        """How often each value of the fields occurs over all that a search finds; all facets the
        server counts, or those of the names given that it does, in their order. One request.

        Example: `cat.facets("orders", entity="dataset")`
        """
        page = await self.search(text, entity=entity, narrowed_by=narrowed_by, count=0)
        if names is None:
            return page.facets
        found = {facet.name: facet for facet in page.facets}
        return tuple(found[name] for name in dict.fromkeys(names) if name in found)

    async def counts(self, entities: Sequence[str] | None = None) -> dict[str, int]:
        """How many entities there are of each type named, or of each there are any of, the most
        frequent first. Soft-deleted ones do not count. One request, or one for each type from a
        server that cannot count several.

        Example: `cat.counts(["dataset", "chart"])`
        """
        types = read_types(self.registry.entities if entities is None else entities)
        found: dict[str, int] | None = None
        if self._ways.get("counts", True):
            try:
                body = await self._connection.send(counts_request(types))
                found = parse_counts(body)
            except _REFUSALS:
                pass
        if found is None:
            found = await self._counted(types, strictly=entities is not None)
            self._ways["counts"] = False
        if entities is not None:
            return {name: found.get(name, 0) for name in types}
        present = ((name, number) for name, number in found.items() if number)
        return dict(sorted(present, key=lambda one: (-one[1], one[0])))

    async def browse(
        self, path: str = "/", *, entity: str = "dataset", start: int = 0, count: int = 100
    ) -> BrowsePage:
        """A page of what lies at a browse path: folders first. An unknown path is empty.
        One request."""
        request = browse_request(path, entity, start, count)
        reply = await self._connection.ask(request)
        return parse_browse(reply.body, reply.as_of)

    async def browse_paths(self, urn: str | Urn) -> tuple[str, ...]:
        """The paths at which an entity is found when browsing; none for one that is not there.
        One request.

        Example: `cat.browse_paths(urn)`
        """
        request = browse_paths_request(Urn.parse(urn))
        return parse_browse_paths(await self._connection.send(request))

    def hits(
        self,
        text: str = "*",
        *,
        entity: str | Sequence[str] | None = None,
        narrowed_by: Filter | str | None = None,
        sorted_by: "str | Sequence[Order] | None" = None,
        page_size: int = _HITS,
        limit: int | None = None,
    ) -> Pager[Hit]:
        """Everything that `search` finds, one by one, at most `limit`.

        A text is answered best first as far as the server lets one count (10,000 with many), and
        from there on in the server's own order; everything (`*`) and sorted results are read in
        one order to the end. One request for each page.

        Example: `[hit.urn for hit in cat.hits("orders", limit=50)]`
        """
        walk = self._passages.hits(
            text,
            read_types(entity),
            read_narrowing(narrowed_by, self.registry),
            read_order(sorted_by, self.registry),
            _size(page_size, limit),
        )
        return Pager(walk, key=_urn_of, limit=limit)

    def urns(
        self,
        entity: str | Sequence[str] | None = None,
        *,
        narrowed_by: Filter | str | None = None,
        include_removed: bool = False,
        page_size: int = _URNS,
        limit: int | None = None,
    ) -> Pager[Urn]:
        """The URNs of every entity of some types or of all, or of those that a filter lets pass,
        in the server's order; soft-deleted ones too when asked for. One request for each page.

        Example: `list(cat.urns("dataset", narrowed_by="NOT owners:*"))`
        """
        walk = self._passages.urns(
            read_types(entity),
            read_narrowing(narrowed_by, self.registry),
            _size(page_size, limit),
            include_removed=include_removed,
        )
        return Pager(walk, key=str, limit=limit)

    def folder(
        self,
        path: str = "/",
        *,
        entity: str = "dataset",
        page_size: int = _ENTRIES,
        limit: int | None = None,
    ) -> Pager[Folder | Named]:
        """Everything at a browse path: the folders, then the entities. One request for each
        page.

        Example: `list(cat.folder("/prod/snowflake"))`
        """
        walk = self._passages.folder(path, entity, _size(page_size, limit))
        return Pager(walk, key=_entry_of, limit=limit)

    @property
    def _passages(self) -> Passages:
        return Passages(self._connection.send, self._ways, self._adapted)

    async def _counted(self, types: Sequence[str], *, strictly: bool) -> dict[str, int]:
        pages = await asyncio.gather(
            *(self.search(entity=name, count=0) for name in types), return_exceptions=True
        )
        found = {}
        for name, page in zip(types, pages, strict=True):
            if isinstance(page, SearchPage):
                found[name] = page.total
            elif strictly or not isinstance(page, _REFUSALS):
                raise page
        return found


def _size(page_size: int, limit: int | None) -> int:
    if page_size < 1:
        raise InvalidInput(f"page_size is at least 1, not {page_size}")
    return page_size if limit is None else max(1, min(page_size, limit))


def _urn_of(hit: Hit) -> Urn:
    return hit.urn


def _entry_of(entry: Folder | Named) -> object:
    return entry.urn if isinstance(entry, Named) else entry.name
