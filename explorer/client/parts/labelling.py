"""Tags, glossary terms, owners, domains and deprecations."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

from explorer.client import documents
from explorer.client.answers.shape import Json
from explorer.client.labels import OWNERS, TAGS, TERMS, Shelf, urns_of
from explorer.client.parts.editing import Editing
from explorer.client.records import Edit, Held, What
from explorer.client.requests.request import millis
from explorer.errors import InvalidInput
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn

__all__ = ["Labelling"]

_Names = str | Urn | Iterable[str | Urn]
# Raises `TextConflict` where what is there now is not what was expected.
_Check = Callable[[Held], None]
_MUTATIONS: dict[What, tuple[tuple[str, str], tuple[str, str]]] = {
    "tags": (("addTags", documents.ADD_TAGS), ("batchRemoveTags", documents.REMOVE_TAGS)),
    "terms": (("addTerms", documents.ADD_TERMS), ("batchRemoveTerms", documents.REMOVE_TERMS)),
    "owners": (("addOwners", documents.ADD_OWNERS), ("batchRemoveOwners", documents.REMOVE_OWNERS)),
}
_OWNER_TYPES = {"corpuser": "CORP_USER", "corpGroup": "CORP_GROUP"}
_BUILT_IN = "urn:li:ownershipType:__system__"
_UNKNOWN = "urn:li:corpuser:unknown"


class Labelling(Editing):
    """How entities and columns are labelled. A name that is no URN is an id: `PII` is the tag
    `urn:li:tag:PII`, `jdoe` the user `urn:li:corpuser:jdoe`.

    Every method takes two requests, one where nothing is to be done, one more the first time; and
    raises `NotFound` for an entity that does not exist and where the server wants the label to.
    Others' labels stay, whatever the server offers.
    """

    async def add_tags(self, urn: str | Urn, tags: _Names, *, column: str | None = None) -> Edit:
        """Put tags on an entity or on a dataset's column; those it has already stay as they are."""
        labels = tuple(map(str, urns_of(tags, "tag")))
        return await self._label(Urn.parse(urn), "tags", TAGS, column, add=labels)

    async def remove_tags(self, urn: str | Urn, tags: _Names, *, column: str | None = None) -> Edit:
        """Take tags off; those it has not do no harm."""
        labels = tuple(map(str, urns_of(tags, "tag")))
        return await self._label(Urn.parse(urn), "tags", TAGS, column, remove=labels)

    async def add_terms(self, urn: str | Urn, terms: _Names, *, column: str | None = None) -> Edit:
        """Put glossary terms on an entity or on a dataset's column, as `add_tags`."""
        labels = tuple(map(str, urns_of(terms, "glossaryTerm")))
        return await self._label(Urn.parse(urn), "terms", TERMS, column, add=labels)

    async def remove_terms(
        self, urn: str | Urn, terms: _Names, *, column: str | None = None
    ) -> Edit:
        """Take glossary terms off, as `remove_tags`."""
        labels = tuple(map(str, urns_of(terms, "glossaryTerm")))
        return await self._label(Urn.parse(urn), "terms", TERMS, column, remove=labels)

    async def add_owners(
        self, urn: str | Urn, owners: _Names, *, ownership: str = "TECHNICAL_OWNER"
    ) -> Edit:
        """Give an entity owners, users or (by their URN) groups; `ownership` is of
        which kind, a word (`BUSINESS_OWNER`, `DATA_STEWARD`) or the URN of an ownership type."""
        labels = tuple(f"{owner} {ownership}" for owner in urns_of(owners, *_OWNER_TYPES))
        return await self._label(Urn.parse(urn), "owners", OWNERS, None, add=labels)

    async def remove_owners(
        self, urn: str | Urn, owners: _Names, *, ownership: str | None = None
    ) -> Edit:
        """Take owners away, in one kind of ownership or in all."""
        target, gone = Urn.parse(urn), {str(owner) for owner in urns_of(owners, *_OWNER_TYPES)}
        held = OWNERS.labels((await self._stored(target, OWNERS.aspect)).value(OWNERS.aspect), None)
        labels = tuple(
            label
            for label in held
            if label.rpartition(" ")[0] in gone and ownership in (None, label.rpartition(" ")[2])
        )
        return await self._label(target, "owners", OWNERS, None, remove=labels)

    async def set_domain(self, urn: str | Urn, domain: str | Urn | None) -> Edit:
        """Put an entity into a domain, out of any other; with `None` out of all."""
        domains = () if domain is None else tuple(map(str, urns_of(domain, "domain")))
        return await self._put_domains(Urn.parse(urn), domains)

    async def deprecate(
        self,
        urn: str | Urn,
        note: str,
        *,
        decommission: datetime | None = None,
        replacement: str | Urn | None = None,
    ) -> Edit:
        """Say that an entity should no longer be used and why; from when it is gone, and what to
        use instead."""
        held: dict[str, Any] = {"note": note}
        if decommission is not None:
            held["decommissionTime"] = millis(decommission)
        if replacement is not None:
            held["replacement"] = str(Urn.parse(replacement))
        return await self._put_deprecation(Urn.parse(urn), held)

    async def undeprecate(self, urn: str | Urn) -> Edit:
        """Say that an entity may be used again."""
        return await self._put_deprecation(Urn.parse(urn), None)

    async def _label(
        self,
        urn: Urn,
        what: What,
        shelf: Shelf,
        column: str | None,
        *,
        add: tuple[str, ...] = (),
        remove: tuple[str, ...] = (),
    ) -> Edit:
        if column is not None and urn.entity_type != "dataset":
            raise InvalidInput(f"only a dataset has columns, not a {urn.entity_type}")
        home = shelf.home(column)
        value = (await self._stored(urn, home)).value(home)
        before = shelf.labels(value, column)
        new = tuple(label for label in add if label not in before)
        gone = tuple(label for label in remove if label in before)
        after = (*(label for label in before if label not in gone), *new)

        async def write() -> None:
            for labels, adding in ((new, True), (gone, False)):
                if labels:
                    await self._label_by_mutation(urn, what, shelf, column, labels, adding=adding)

        return await self._made(write(), self._edit(urn, what, before, after, column))

    async def _label_by_mutation(
        self,
        urn: Urn,
        what: What,
        shelf: Shelf,
        column: str | None,
        labels: tuple[str, ...],
        *,
        adding: bool,
    ) -> None:
        name, document = _MUTATIONS[what][0 if adding else 1]
        for edit in _inputs(what, urn, column, labels, adding=adding):
            if not await self._mutate(name, document, {"input": edit}):
                await self._label_by_aspect(urn, shelf, column, labels, adding=adding)
                return

    async def _label_by_aspect(
        self,
        urn: Urn,
        shelf: Shelf,
        column: str | None,
        labels: tuple[str, ...],
        *,
        adding: bool,
    ) -> None:
        if column is not None:
            await self._check_column(urn, column)
        home = shelf.home(column)
        # A patch tells owners apart by a word for the kind, which all kinds of one's own share.
        if not any(" urn:" in label for label in labels) and (await self.abilities()).patch:
            operations = shelf.addition if adding else shelf.removal
            patch = Proposal(urn, home, operations(labels, column), "PATCH")
            await self._put(patch, None)
            return
        change = shelf.added if adding else shelf.removed
        await self._rewrite(urn, home, lambda value: change(value, labels, column))

    async def _put_domains(
        self, urn: Urn, domains: tuple[str, ...], check: _Check | None = None
    ) -> Edit:
        before = _domains((await self._stored(urn, "domains")).value("domains"))
        if check is not None:
            check(before)

        def change(value: Json) -> Json:
            # Again: a rewrite starts anew from what another wrote meanwhile.
            if check is not None:
                check(_domains(value))
            return {**value, "domains": list(domains)}

        async def write() -> None:
            place = {"entityUrn": str(urn)}
            match domains:
                case _ if before == domains:
                    return
                case ():
                    done = await self._mutate("unsetDomain", documents.UNSET_DOMAIN, place)
                case (domain,):
                    place["domainUrn"] = domain
                    done = await self._mutate("setDomain", documents.SET_DOMAIN, place)
                case _:
                    done = False
            if not done:
                await self._rewrite(urn, "domains", change)

        return await self._made(write(), self._edit(urn, "domain", before, domains))

    async def _put_deprecation(
        self, urn: Urn, held: dict[str, Any] | None, check: _Check | None = None
    ) -> Edit:
        before = _deprecation((await self._stored(urn, "deprecation")).value("deprecation"))
        if check is not None:
            check(before)
        said = {"deprecated": held is not None, "note": "", **(held or {})}

        def change(value: Json) -> Json:
            if check is not None:
                check(_deprecation(value))
            return {"actor": value.get("actor") or _UNKNOWN, **said}

        async def write() -> None:
            if before == held:
                return
            edit = {"input": {"urn": str(urn)} | said}
            if not await self._mutate("updateDeprecation", documents.UPDATE_DEPRECATION, edit):
                await self._rewrite(urn, "deprecation", change)

        return await self._made(write(), self._edit(urn, "deprecation", before, held))


def _domains(value: Json) -> tuple[str, ...]:
    return tuple(one for one in value.get("domains") or () if isinstance(one, str))


def _deprecation(value: Json) -> dict[str, Any] | None:
    """What is said of a deprecation, nothing where there is none."""
    if value.get("deprecated") is not True:
        return None
    known = ("decommissionTime", "replacement")
    said = {key: value[key] for key in known if value.get(key) is not None}
    return {"note": value.get("note") or "", **said}


def _inputs(
    what: What, urn: Urn, column: str | None, labels: tuple[str, ...], *, adding: bool
) -> list[dict[str, Any]]:
    """What the mutations are told; one for most, one for each kind where owners are taken away."""
    sub = {} if column is None else {"subResource": column, "subResourceType": "DATASET_FIELD"}
    place = {"resourceUrn": str(urn), **sub}
    if what == "owners":
        if adding:
            return [place | {"owners": [_owner(label) for label in labels]}]
        by_kind: dict[str, list[str]] = {}
        for label in labels:
            owner, _, kind = label.rpartition(" ")
            by_kind.setdefault(kind, []).append(owner)
        return [
            {"ownerUrns": owners, "ownershipTypeUrn": _kind_urn(kind), "resources": [place]}
            for kind, owners in by_kind.items()
        ]
    urns = {"tagUrns" if what == "tags" else "termUrns": list(labels)}
    return [urns | place] if adding else [urns | {"resources": [place]}]


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
