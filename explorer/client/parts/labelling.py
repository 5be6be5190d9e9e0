"""Tags, glossary terms, owners, domains and deprecations."""

from collections.abc import Awaitable, Iterable, Mapping
from datetime import datetime
from functools import partial
from typing import Any

from explorer.client import documents
from explorer.client.answers.shape import Json
from explorer.client.conflict import Expectation
from explorer.client.labels import OWNERS, TAGS, TERMS, Shelf, urns_of
from explorer.client.parts.editing import EditMethods
from explorer.client.records import Edit, What
from explorer.client.requests.request import millis
from explorer.errors import InvalidInput
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn

__all__ = ["LabelMethods", "deprecation_of", "domains_of"]

_Names = str | Urn | Iterable[str | Urn]
_MUTATIONS: dict[What, tuple[tuple[str, str], tuple[str, str]]] = {
    "tags": (("addTags", documents.ADD_TAGS), ("batchRemoveTags", documents.REMOVE_TAGS)),
    "terms": (("addTerms", documents.ADD_TERMS), ("batchRemoveTerms", documents.REMOVE_TERMS)),
    "owners": (("addOwners", documents.ADD_OWNERS), ("batchRemoveOwners", documents.REMOVE_OWNERS)),
}
_OWNER_TYPES = {"corpuser": "CORP_USER", "corpGroup": "CORP_GROUP"}
_BUILT_IN = "urn:li:ownershipType:__system__"
_UNKNOWN = "urn:li:corpuser:unknown"


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
        shelf: Shelf,
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
        shelf: Shelf,
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
                    mutation = ("unsetDomain", documents.UNSET_DOMAIN, place)
                    await self._mutate_or_rewrite(mutation, rewrite, expected)
                case (domain,):
                    mutation = ("setDomain", documents.SET_DOMAIN, place | {"domainUrn": domain})
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
            return {"actor": value.get("actor") or _UNKNOWN, **said}

        async def write() -> None:
            if before == held:
                return
            edit = {"input": {"urn": str(urn)} | said}
            await self._mutate_or_rewrite(
                ("updateDeprecation", documents.UPDATE_DEPRECATION, edit),
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
