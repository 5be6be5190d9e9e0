"""How much of the catalog a server counts as documented, where it does."""

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from explorer.client.records import DescribedCounts, UndescribedPage
from explorer.client.responses import read_as, value_of
from explorer.client.search import FilterMethods, filter_from
from explorer.client.transport import action
from explorer.metadata.urn import Urn
from explorer.query.filters import Filter

__all__ = ["CoverageMethods"]

_PATH = "/stewardship"
_T = TypeVar("_T", bound=msgspec.Struct)


class CoverageMethods(FilterMethods):
    """How a server is asked what is described. Only one with `Abilities.stewardship` can tell; the
    datasets meant are those named, those in and below a folder, or those that a search finds."""

    async def undescribed(
        self,
        urns: Sequence[Urn] = (),
        *,
        text: str = "*",
        narrowed_by: Filter | str | None = None,
        folder: str | None = None,
        start: int = 0,
        count: int = 1_000,
        days: int = 30,
    ) -> UndescribedPage:
        """A page of the tables and columns that nobody described, the heaviest first: by their use
        in some days and how many entities are made from them. One request.

        Example: `cat.undescribed(narrowed_by="platform:snowflake", count=20)`
        """
        which = await self._which(urns, text, narrowed_by, folder)
        body = which | {"start": start, "count": count, "days": days}
        answer = await self._connection.send(action(_PATH, "worklist", body))
        return _read(answer, "worklist", UndescribedPage)

    async def described(
        self,
        urns: Sequence[Urn] = (),
        *,
        text: str = "*",
        narrowed_by: Filter | str | None = None,
        folder: str | None = None,
        by: str | None = None,
    ) -> DescribedCounts:
        """How many tables and columns are described, in all and by `domain`, `folder`, `owner`,
        `platform` or `tag`. One request.

        Example: `cat.described(by="platform")`
        """
        which = await self._which(urns, text, narrowed_by, folder)
        answer = await self._connection.send(action(_PATH, "coverage", which | {"by": by}))
        return _read(answer, "coverage", DescribedCounts)

    async def _which(
        self,
        urns: Sequence[Urn],
        text: str,
        narrowed_by: Filter | str | None,
        folder: str | None,
    ) -> dict[str, Any]:
        body: dict[str, Any] = {}
        if urns:
            body["urns"] = [str(urn) for urn in urns]
        if text != "*":
            body["input"] = text
        wanted = await self._adapted(filter_from(narrowed_by, self.registry))
        if wanted:
            body["filter"] = wanted.to_wire()
        if folder is not None:
            body["folder"] = folder
        return body


def _read(answer: Any, what: str, kind: type[_T]) -> _T:
    @read_as(what)
    def read(body: Any) -> _T:
        return msgspec.convert(value_of(body, what), kind, strict=False)

    return read(answer)
