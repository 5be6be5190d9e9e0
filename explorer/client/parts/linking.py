"""Links to documents about an entity."""

import time
from collections.abc import Iterable
from typing import Any

from explorer.client import documents
from explorer.client.answers.shape import Json
from explorer.client.conflict import Expectation
from explorer.client.parts.editing import EditMethods
from explorer.client.records import Edit
from explorer.errors import InvalidInput, NotFound, ServerFault
from explorer.metadata.aspects import InstitutionalMemory, Link, read_aspect
from explorer.metadata.urn import Urn

__all__ = ["LinkMethods", "shown"]

_ASPECT = "institutionalMemory"
_UNKNOWN = "urn:li:corpuser:unknown"


class LinkMethods(EditMethods):
    """How an entity's documentation links are read and changed."""

    _appends_links = False

    async def links(self, urn: str | Urn) -> tuple[Link, ...]:
        """The links of an entity, in their order, as the server has them now. One request.

        Raises `NotFound` for an entity that does not exist.

        Example: `cat.links(urn)`
        """
        value = {"elements": await self._elements(Urn.parse(urn))}
        return read_aspect(value, InstitutionalMemory).elements

    async def add_link(
        self, urn: str | Urn, url: str, label: str, *, instead_of: Iterable[str] | None = None
    ) -> Edit:
        """Add a link to an entity; all others stay, whatever the server does with a list it is
        given. Where the server adds links itself, it may put this one in the place of another to
        the same address. Two requests, up to five on servers that only take lists.

        `instead_of` are the links that the writer saw, `<address> <label>` each, as `Edit` names
        them: where the server holds others by now, nothing is written. How sure that is depends on
        the server, see `parts.editing`.

        Raises `NotFound` for an entity that does not exist, `TextConflict` as told.

        Example: `cat.add_link(urn, "https://wiki.example.com/orders", "How orders are counted")`
        """
        target = Urn.parse(urn)
        if not url or any(char.isspace() for char in url):
            raise InvalidInput(f"{url!r} is no address; write spaces in it as %20")
        before, versioned = await self._elements_with_version(target)
        if any(_names(link) == (url, label) for link in before):
            return self._edit(target, "links", shown(before), shown(before))
        expected = None
        if instead_of is not None:
            seen = tuple(instead_of)
            mine = (*seen, f"{url} {label}")
            expected = Expectation(target, "links", seen, mine, versioned=versioned)
            expected.check(shown(before))
        new = {"url": url, "description": label}
        edit = {"linkUrl": url, "label": label, "resourceUrn": str(target)}

        async def write() -> Edit:
            await self._mutate_or_rewrite(
                ("addLink", documents.ADD_LINK, {"input": edit}),
                lambda: self._add_to_list(target, before, new, expected),
                expected,
            )
            after = await self._elements(target)
            return await self._noted(self._edit(target, "links", shown(before), shown(after)))

        return await self._to_its_end(write())

    async def remove_link(
        self,
        urn: str | Urn,
        url: str,
        label: str | None = None,
        *,
        instead_of: Iterable[str] | None = None,
    ) -> Edit:
        """Remove the links to an address, or only the one with that label. Two requests.

        `instead_of` is as for `add_link`; a link that the writer saw and that is gone already is
        no error then. Raises `NotFound` where there is no such link, and for an entity that does
        not exist, `TextConflict` as `add_link`.

        Example: `cat.remove_link(urn, "https://wiki.example.com/orders")`
        """
        target = Urn.parse(urn)
        before, versioned = await self._elements_with_version(target)
        seen = None if instead_of is None else tuple(instead_of)
        gone = [link for link in before if link.get("url") == url]
        if label is not None:
            gone = [link for link in gone if _names(link) == (url, label)]
        if not gone:
            if any(
                link.startswith(f"{url} ") if label is None else link == f"{url} {label}"
                for link in seen or ()
            ):
                return self._edit(target, "links", shown(before), shown(before))
            raise NotFound(f"{target} has no link to {url}{f' called {label!r}' if label else ''}")
        after = [link for link in before if link not in gone]
        expected = None
        if seen is not None:
            expected = Expectation(target, "links", seen, shown(after), versioned=versioned)
            expected.check(shown(before))
        edit = {"linkUrl": url, "resourceUrn": str(target)}
        if any(link.get("url") == url for link in after):
            edit["label"] = label or ""
        names = [_names(link) for link in gone]

        def change(value: Json) -> Json:
            if expected is not None:
                expected.check(shown(_links_of(value)))
            left = [link for link in value.get("elements") or () if _names(link) not in names]
            return {**value, "elements": left}

        async def write() -> None:
            await self._mutate_or_rewrite(
                ("removeLink", documents.REMOVE_LINK, {"input": edit}),
                lambda: self._rewrite(target, _ASPECT, change),
                expected,
            )

        return await self._made(write(), self._edit(target, "links", shown(before), shown(after)))

    async def _elements(self, urn: Urn) -> list[Json]:
        return (await self._elements_with_version(urn))[0]

    async def _elements_with_version(self, urn: Urn) -> tuple[list[Json], bool]:
        """The links, and whether the server counts the versions of their aspect."""
        found = await self._stored(urn, _ASPECT)
        return _links_of(found.value(_ASPECT)), found.version(_ASPECT) is not None

    async def _add_to_list(
        self, urn: Urn, held: list[Json], link: Json, expected: Expectation | None
    ) -> None:
        """On a server without a mutation for one link. The whole list is sent, for a server may
        put what it is given in the place of what it has; where it appends instead, what is double
        by that is taken out, and from then on only the new link is sent."""
        author = await self._who()
        new = {**link, "createStamp": {"actor": author}}
        sent = [new] if self._appends_links else [*held, new]
        # A list is sent without a condition.
        versioned = expected is not None and expected.versioned
        if versioned or urn.entity_type != "dataset" or not await self._send_list(urn, sent):
            element = {
                **link,
                "createStamp": {"time": time.time_ns() // 1_000_000, "actor": author},
            }

            def change(value: Json) -> Json:
                if expected is not None:
                    expected.check(shown(_links_of(value)))
                return {**value, "elements": [*(value.get("elements") or ()), element]}

            await self._rewrite(urn, _ASPECT, change)
            return
        if not held or self._appends_links:
            return
        if len(await self._elements(urn)) > len(sent):
            self._appends_links = True
            await self._rewrite(urn, _ASPECT, _without_doubles)

    async def _send_list(self, urn: Urn, links: list[Json]) -> bool:
        elements = [_element(link, dated=True) for link in links]
        try:
            return await self._replace_links(urn, elements)
        except InvalidInput:
            # Older servers have no place for the time of a link.
            return await self._replace_links(urn, [_element(link, dated=False) for link in links])

    async def _replace_links(self, urn: Urn, elements: list[Json]) -> bool:
        edit = {"urn": str(urn), "input": {"institutionalMemory": {"elements": elements}}}
        return await self._mutate("updateDataset", documents.UPDATE_DATASET, edit)

    async def _who(self) -> str:
        try:
            data = await self.graphql(documents.WHO)
            return str(data["me"]["corpUser"]["urn"])
        except (InvalidInput, NotFound, ServerFault, KeyError, TypeError):
            return _UNKNOWN


def _links_of(value: Json) -> list[Json]:
    return [one for one in value.get("elements") or () if isinstance(one, dict)]


def _names(link: Json) -> tuple[Any, Any]:
    return link.get("url"), link.get("description") or ""


def shown(links: list[Json]) -> tuple[str, ...]:
    """The links as an edit names them."""
    return tuple(f"{url} {label}" for url, label in map(_names, links))


def _element(link: Json, *, dated: bool) -> Json:
    stamp = link.get("createStamp") or {}
    made = {"createdAt": stamp["time"]} if dated and stamp.get("time") else {}
    author = stamp.get("actor") or _UNKNOWN
    url, label = _names(link)
    return {"url": url, "description": label, "author": author, **made}


def _without_doubles(value: Json) -> Json:
    kept: dict[tuple[Any, Any], Json] = {}
    for link in value.get("elements") or ():
        kept.setdefault(_names(link), link)
    return {**value, "elements": list(kept.values())}
