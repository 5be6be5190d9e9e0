"""Tags, glossary terms, owners, domains, deprecations and links: how they are edited."""

import time
from collections.abc import Awaitable, Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import Any

from explorer.client import edits
from explorer.client.editable import OWNERS, TAGS, TERMS, Expectation, LabelKind, urns_of
from explorer.client.edits import EditMethods
from explorer.client.records import Edit, What
from explorer.client.responses import Json
from explorer.client.transport import millis
from explorer.errors import InvalidInput, NotFound, ServerFault
from explorer.metadata.aspects import InstitutionalMemory, Link, read_aspect
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import UNKNOWN_ACTOR, Urn

__all__ = ["LabelMethods", "LinkMethods", "deprecation_of", "domains_of", "shown"]

_Names = str | Urn | Iterable[str | Urn]
_MUTATIONS: dict[What, tuple[tuple[str, str], tuple[str, str]]] = {
    "tags": (("addTags", edits.ADD_TAGS), ("batchRemoveTags", edits.REMOVE_TAGS)),
    "terms": (("addTerms", edits.ADD_TERMS), ("batchRemoveTerms", edits.REMOVE_TERMS)),
    "owners": (("addOwners", edits.ADD_OWNERS), ("batchRemoveOwners", edits.REMOVE_OWNERS)),
}
_OWNER_TYPES = {"corpuser": "CORP_USER", "corpGroup": "CORP_GROUP"}
_BUILT_IN = "urn:li:ownershipType:__system__"


class LabelMethods(EditMethods):
    """How entities and columns are labelled. A name that is no URN is an id: `PII` is the tag
    `urn:li:tag:PII`, `jdoe` the user `urn:li:corpuser:jdoe`.

    Every method takes two requests, one where nothing is to be done, one more the first time; and
    raises `NotFound` for an entity that does not exist and where the server wants the label to.
    Others' labels stay, whatever the server offers.

    `instead_of` is all that the writer saw there of that kind, as `Edit` names it, empty for
    nothing: where the server holds something else by now, nothing is written and `TextConflict` is
    raised, unless what was to be done is done already. How sure that is depends on the server, see
    `parts.editing`. Without it, what others put on and take off meanwhile does not matter.
    """

    async def add_tags(
        self,
        urn: str | Urn,
        tags: _Names,
        *,
        column: str | None = None,
        instead_of: _Names | None = None,
    ) -> Edit:
        """Put tags on an entity or on a dataset's column; those it has already stay as they are.

        Example: `cat.add_tags(urn, ["urn:li:tag:PII"], column="order_id")`
        """
        labels, seen = _urns(tags, "tag"), _seen(instead_of, "tag")
        return await self._label(Urn.parse(urn), "tags", TAGS, column, add=labels, instead_of=seen)

    async def remove_tags(
        self,
        urn: str | Urn,
        tags: _Names,
        *,
        column: str | None = None,
        instead_of: _Names | None = None,
    ) -> Edit:
        """Take tags off; those it has not do no harm.

        Example: `cat.remove_tags(urn, ["urn:li:tag:PII"], column="order_id")`
        """
        labels, seen = _urns(tags, "tag"), _seen(instead_of, "tag")
        return await self._label(
            Urn.parse(urn), "tags", TAGS, column, remove=labels, instead_of=seen
        )

    async def add_terms(
        self,
        urn: str | Urn,
        terms: _Names,
        *,
        column: str | None = None,
        instead_of: _Names | None = None,
    ) -> Edit:
        """Put glossary terms on an entity or on a dataset's column, as `add_tags`.

        Example: `cat.add_terms(urn, ["urn:li:glossaryTerm:Finance.NetRevenue"])`
        """
        labels, seen = _urns(terms, "glossaryTerm"), _seen(instead_of, "glossaryTerm")
        return await self._label(
            Urn.parse(urn), "terms", TERMS, column, add=labels, instead_of=seen
        )

    async def remove_terms(
        self,
        urn: str | Urn,
        terms: _Names,
        *,
        column: str | None = None,
        instead_of: _Names | None = None,
    ) -> Edit:
        """Take glossary terms off, as `remove_tags`.

        Example: `cat.remove_terms(urn, ["urn:li:glossaryTerm:Finance.NetRevenue"])`
        """
        labels, seen = _urns(terms, "glossaryTerm"), _seen(instead_of, "glossaryTerm")
        return await self._label(
            Urn.parse(urn), "terms", TERMS, column, remove=labels, instead_of=seen
        )

    async def add_owners(
        self,
        urn: str | Urn,
        owners: _Names,
        *,
        ownership: str = "TECHNICAL_OWNER",
        instead_of: Iterable[str] | None = None,
    ) -> Edit:
        """Give an entity owners, users or (by their URN) groups; `ownership` is of
        which kind, a word (`BUSINESS_OWNER`, `DATA_STEWARD`) or the URN of an ownership type.

        Example: `cat.add_owners(urn, ["urn:li:corpuser:jdoe"])`
        """
        labels = tuple(f"{owner} {ownership}" for owner in urns_of(owners, *_OWNER_TYPES))
        seen = None if instead_of is None else tuple(instead_of)
        return await self._label(
            Urn.parse(urn), "owners", OWNERS, None, add=labels, instead_of=seen
        )

    async def remove_owners(
        self,
        urn: str | Urn,
        owners: _Names,
        *,
        ownership: str | None = None,
        instead_of: Iterable[str] | None = None,
    ) -> Edit:
        """Take owners away, in one kind of ownership or in all.

        Example: `cat.remove_owners(urn, ["urn:li:corpuser:jdoe"])`
        """
        target, gone = Urn.parse(urn), {str(owner) for owner in urns_of(owners, *_OWNER_TYPES)}
        held = OWNERS.labels((await self._stored(target, OWNERS.aspect)).value(OWNERS.aspect), None)
        labels = tuple(
            label
            for label in held
            if label.rpartition(" ")[0] in gone and ownership in (None, label.rpartition(" ")[2])
        )
        seen = None if instead_of is None else tuple(instead_of)
        return await self._label(target, "owners", OWNERS, None, remove=labels, instead_of=seen)

    async def set_domain(
        self, urn: str | Urn, domain: str | Urn | None, *, instead_of: _Names | None = None
    ) -> Edit:
        """Put an entity into a domain, out of any other; with `None` out of all.

        Example: `cat.set_domain(urn, "urn:li:domain:finance")`
        """
        domains = () if domain is None else _urns(domain, "domain")
        return await self._put_domains(
            Urn.parse(urn), domains, instead_of=_seen(instead_of, "domain")
        )

    async def deprecate(
        self,
        urn: str | Urn,
        note: str,
        *,
        decommission: datetime | None = None,
        replacement: str | Urn | None = None,
        instead_of: Mapping[str, Any] | None = None,
    ) -> Edit:
        """Say that an entity should no longer be used and why; from when it is gone, and what to
        use instead.

        Example: `cat.deprecate(urn, "Read fct_order_items instead.")`
        """
        held: dict[str, Any] = {"note": note}
        if decommission is not None:
            held["decommissionTime"] = millis(decommission)
        if replacement is not None:
            held["replacement"] = str(Urn.parse(replacement))
        return await self._put_deprecation(Urn.parse(urn), held, instead_of=instead_of)

    async def undeprecate(
        self, urn: str | Urn, *, instead_of: Mapping[str, Any] | None = None
    ) -> Edit:
        """Say that an entity may be used again.

        Example: `cat.undeprecate(urn)`
        """
        return await self._put_deprecation(Urn.parse(urn), None, instead_of=instead_of)

    async def _label(
        self,
        urn: Urn,
        what: What,
        shelf: LabelKind,
        column: str | None,
        *,
        add: tuple[str, ...] = (),
        remove: tuple[str, ...] = (),
        instead_of: tuple[str, ...] | None = None,
    ) -> Edit:
        if column is not None and urn.entity_type != "dataset":
            raise InvalidInput(f"only a dataset has columns, not a {urn.entity_type}")
        home = shelf.home(column)
        found = await self._stored(urn, home)
        before = shelf.labels(found.value(home), column)
        new = tuple(label for label in add if label not in before)
        gone = tuple(label for label in remove if label in before)
        after = (*(label for label in before if label not in gone), *new)

        def expect(seen: tuple[str, ...], mine: tuple[str, ...]) -> Expectation | None:
            versioned = found.version(home) is not None
            return (
                None
                if instead_of is None
                else Expectation(urn, what, seen, mine, column, versioned)
            )

        if instead_of is not None and (expected := expect(instead_of, after)):
            expected.check(before)

        async def write() -> None:
            held = before
            for some, adding, edit in (
                *_inputs(what, urn, column, new, adding=True),
                *_inputs(what, urn, column, gone, adding=False),
            ):
                # One step after another, each made from what the one before it left.
                left = (*held, *some) if adding else tuple(one for one in held if one not in some)
                expected = expect(held, left)
                rewrite = partial(
                    self._label_by_aspect, urn, shelf, column, some, expected, adding=adding
                )
                mutation = (*_MUTATIONS[what][0 if adding else 1], {"input": edit})
                await self._mutate_or_rewrite(mutation, rewrite, expected)
                held = left

        return await self._made(write(), self._edit(urn, what, before, after, column))

    async def _label_by_aspect(
        self,
        urn: Urn,
        shelf: LabelKind,
        column: str | None,
        labels: tuple[str, ...],
        expected: Expectation | None,
        *,
        adding: bool,
    ) -> None:
        if column is not None:
            await self._check_column(urn, column)
        home = shelf.home(column)
        # A patch tells owners apart by a word for the kind, which all kinds of one's own share, and
        # carries no condition on a list.
        patches = not any(" urn:" in label for label in labels) and (await self.abilities()).patch
        if patches and (expected is None or not expected.versioned):
            operations = shelf.addition if adding else shelf.removal
            patch = Proposal(urn, home, operations(labels, column), "PATCH")
            await self._put(patch, None)
            return
        make = shelf.added if adding else shelf.removed

        def change(value: Json) -> Json:
            # Again: a rewrite starts anew from what another wrote meanwhile.
            if expected is not None:
                expected.check(shelf.labels(value, column))
            return make(value, labels, column)

        await self._rewrite(urn, home, change)

    async def _put_domains(
        self, urn: Urn, domains: tuple[str, ...], *, instead_of: tuple[str, ...] | None = None
    ) -> Edit:
        found = await self._stored(urn, "domains")
        before = domains_of(found.value("domains"))
        expected = None
        if instead_of is not None:
            versioned = found.version("domains") is not None
            expected = Expectation(urn, "domain", instead_of, domains, versioned=versioned)
            expected.check(before)

        def change(value: Json) -> Json:
            if expected is not None:
                expected.check(domains_of(value))
            return {**value, "domains": list(domains)}

        def rewrite() -> Awaitable[None]:
            return self._rewrite(urn, "domains", change)

        async def write() -> None:
            place = {"entityUrn": str(urn)}
            match domains:
                case _ if before == domains:
                    return
                case ():
                    mutation = ("unsetDomain", edits.UNSET_DOMAIN, place)
                    await self._mutate_or_rewrite(mutation, rewrite, expected)
                case (domain,):
                    mutation = ("setDomain", edits.SET_DOMAIN, place | {"domainUrn": domain})
                    await self._mutate_or_rewrite(mutation, rewrite, expected)
                case _:
                    await rewrite()

        return await self._made(write(), self._edit(urn, "domain", before, domains))

    async def _put_deprecation(
        self,
        urn: Urn,
        held: dict[str, Any] | None,
        *,
        instead_of: Mapping[str, Any] | None = None,
    ) -> Edit:
        found = await self._stored(urn, "deprecation")
        before = deprecation_of(found.value("deprecation"))
        expected = None
        if instead_of is not None:
            versioned = found.version("deprecation") is not None
            seen = dict(instead_of) or None
            expected = Expectation(urn, "deprecation", seen, held, versioned=versioned)
            expected.check(before)
        said = {"deprecated": held is not None, "note": "", **(held or {})}

        def change(value: Json) -> Json:
            if expected is not None:
                expected.check(deprecation_of(value))
            return {"actor": value.get("actor") or UNKNOWN_ACTOR, **said}

        async def write() -> None:
            if before == held:
                return
            edit = {"input": {"urn": str(urn)} | said}
            await self._mutate_or_rewrite(
                ("updateDeprecation", edits.UPDATE_DEPRECATION, edit),
                lambda: self._rewrite(urn, "deprecation", change),
                expected,
            )

        return await self._made(write(), self._edit(urn, "deprecation", before, held))


def _urns(names: _Names, kind: str) -> tuple[str, ...]:
    return tuple(map(str, urns_of(names, kind)))


def _seen(names: _Names | None, kind: str) -> tuple[str, ...] | None:
    return None if names is None else _urns(names, kind)


def domains_of(value: Json) -> tuple[str, ...]:
    """The domains that an aspect holds."""
    return tuple(one for one in value.get("domains") or () if isinstance(one, str))


def deprecation_of(value: Json) -> dict[str, Any] | None:
    """What is said of a deprecation, nothing where there is none."""
    if value.get("deprecated") is not True:
        return None
    known = ("decommissionTime", "replacement")
    said = {key: value[key] for key in known if value.get(key) is not None}
    return {"note": value.get("note") or "", **said}


def _inputs(
    what: What, urn: Urn, column: str | None, labels: tuple[str, ...], *, adding: bool
) -> list[tuple[tuple[str, ...], bool, dict[str, Any]]]:
    """The labels of each mutation, whether it adds them, and its input: one mutation for most, one
    for each kind where owners are taken away, none without labels."""
    if not labels:
        return []
    sub = {} if column is None else {"subResource": column, "subResourceType": "DATASET_FIELD"}
    place = {"resourceUrn": str(urn), **sub}
    if what == "owners":
        if adding:
            return [(labels, True, place | {"owners": [_owner(label) for label in labels]})]
        by_kind: dict[str, list[str]] = {}
        for label in labels:
            by_kind.setdefault(label.rpartition(" ")[2], []).append(label)
        return [
            (
                tuple(some),
                False,
                {
                    "ownerUrns": [label.rpartition(" ")[0] for label in some],
                    "ownershipTypeUrn": _kind_urn(kind),
                    "resources": [place],
                },
            )
            for kind, some in by_kind.items()
        ]
    urns = {"tagUrns" if what == "tags" else "termUrns": list(labels)}
    return [(labels, adding, urns | (place if adding else {"resources": [place]}))]


def _owner(label: str) -> dict[str, Any]:
    owner, _, kind = label.rpartition(" ")
    named = {"ownershipTypeUrn": kind} if kind.startswith("urn:") else {"type": kind}
    return {
        "ownerUrn": owner,
        "ownerEntityType": _OWNER_TYPES[Urn.parse(owner).entity_type],
        **named,
    }


def _kind_urn(kind: str) -> str:
    return kind if kind.startswith("urn:") else f"{_BUILT_IN}{kind.lower()}"


_ASPECT = "institutionalMemory"


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
                ("addLink", edits.ADD_LINK, {"input": edit}),
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
                ("removeLink", edits.REMOVE_LINK, {"input": edit}),
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
        return await self._mutate("updateDataset", edits.UPDATE_DATASET, edit)

    async def _who(self) -> str:
        try:
            data = await self.graphql(edits.WHO)
            return str(data["me"]["corpUser"]["urn"])
        except (InvalidInput, NotFound, ServerFault, KeyError, TypeError):
            return UNKNOWN_ACTOR


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
    author = stamp.get("actor") or UNKNOWN_ACTOR
    url, label = _names(link)
    return {"url": url, "description": label, "author": author, **made}


def _without_doubles(value: Json) -> Json:
    kept: dict[tuple[Any, Any], Json] = {}
    for link in value.get("elements") or ():
        kept.setdefault(_names(link), link)
    return {**value, "elements": list(kept.values())}
