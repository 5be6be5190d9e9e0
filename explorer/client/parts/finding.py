"""Search, completion and browsing."""

from explorer.client import answers, requests
from explorer.client.parts.part import Part
from explorer.client.records import BrowsePage, SearchPage
from explorer.metadata.filters import Filter

__all__ = ["Finding"]


class Finding(Part):
    """How things are found."""

    async def search(
        self,
        text: str = "*",
        *,
        entity: str | None = None,
        narrowed_by: Filter | None = None,
        start: int = 0,
        count: int = 20,
    ) -> SearchPage:
        """A page of what matches `text`, best first, with facets over the whole result.

        Over all entity types unless `entity` names one. One request. Soft-deleted entities are
        not found.
        """
        request = requests.finding.search(text, entity, start, count, narrowed_by or Filter())
        return answers.finding.search(await self._connection.send(request), text)

    async def autocomplete(
        self,
        text: str,
        *,
        entity: str = "dataset",
        narrowed_by: Filter | None = None,
        limit: int = 10,
    ) -> tuple[str, ...]:
        """Names that complete `text`, best first, at most `limit`. One request."""
        request = requests.finding.autocomplete(text, entity, limit, narrowed_by or Filter())
        return answers.finding.suggestions(await self._connection.send(request))

    async def browse(
        self, path: str = "/", *, entity: str = "dataset", start: int = 0, count: int = 100
    ) -> BrowsePage:
        """A page of what lies at a browse path: folders first. An unknown path is empty.
        One request."""
        request = requests.finding.browse(path, entity, start, count)
        return answers.finding.browse(await self._connection.send(request))
