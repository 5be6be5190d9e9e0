"""The labels of an entity or a column: searched, chosen, created and saved."""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from explorer.client.display import in_quotes, line
from explorer.client.editable import LABEL_KINDS, TextConflict
from explorer.client.journal import one_save
from explorer.errors import CatalogError, Conflict, InvalidInput, NotFound, ServerFault
from explorer.metadata.names import ownership, singular
from explorer.metadata.registry import load_registry
from explorer.metadata.urn import Urn
from explorer.sessions.base import Session, SessionState, action
from explorer.stewardship.labels import LabelledKind
from explorer.views.absence import LOADING, refusal_sentence

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.client.entity import Entity
    from explorer.client.records import Edit
    from explorer.stewardship.staging import StagedChangeset

LabelKind = Literal["tags", "terms", "owners", "domain"]
LabelMark = Literal["on", "some", "off", "added", "removed", "fixed"]
NameOf = Callable[[str], str]
"""Returns the display name of the entity with a URN."""

NOUNS: Final[Mapping[LabelledKind, tuple[str, str]]] = {
    "tags": ("tag", "tags"),
    "terms": ("glossary term", "glossary terms"),
    "owners": ("owner", "owners"),
    "domain": ("domain", "domain"),
    "deprecation": ("deprecation", "deprecation"),
    "links": ("link", "links"),
}
"""The singular and plural noun of each kind of label; an entity has at most one domain."""

FOUND: Final[Mapping[LabelKind, tuple[str, str]]] = {
    "tags": NOUNS["tags"],
    "terms": NOUNS["terms"],
    "owners": ("person or group", "people and groups"),
    "domain": ("domain", "domains"),
}
"""The singular and plural noun of the labels that can be added."""

NO_CHANGES: Final = "No changes yet."
OWNERSHIPS: Final = ("TECHNICAL_OWNER", "BUSINESS_OWNER", "DATA_STEWARD", "NONE")
"""The ownership types of the model, without the deprecated ones."""

_TYPES: Final[Mapping[LabelKind, tuple[str, ...]]] = {
    "tags": ("tag",),
    "terms": ("glossaryTerm",),
    "owners": ("corpuser", "corpGroup"),
    "domain": ("domain",),
}
_ASPECTS: Final[Mapping[LabelKind, str]] = {
    "tags": "globalTags",
    "terms": "glossaryTerms",
    "owners": "ownership",
    "domain": "domains",
}
_FACETS: Final[Mapping[LabelKind, str]] = {**_ASPECTS, "tags": "tags", "owners": "owners"}
_COLUMN_ASPECTS: Final = ("schemaMetadata", "editableSchemaMetadata")
_BUILT_IN: Final = "urn:li:ownershipType:__system__"
_MOST_OWNERSHIPS: Final = 20
_MOST_OFFERS: Final = 60
_MOST_COMPLETIONS: Final = 12
_TYPING_PAUSE_SECONDS: Final = 0.03
# Errors of servers that do not support the request, or not for these entity types.
_REFUSALS: Final = (InvalidInput, NotFound, ServerFault)


@dataclass(frozen=True, slots=True)
class LabelChoice:
    """A choice of labels as texts: URNs, for owners with the ownership type after a space.

    `current` are the labels on the server, `ingested` those of the ingested schema, which cannot be
    removed here. If `single`, at most one label is chosen. `new` labels are created first. For
    several items `current` are the labels that all of them have, `partial` those that only some
    have; of the latter, those in `to_remove` are to be removed.
    """

    current: tuple[str, ...] = ()
    ingested: tuple[str, ...] = ()
    single: bool = False
    selection: tuple[str, ...] = ()
    new: frozenset[str] = frozenset()
    partial: tuple[str, ...] = ()
    to_remove: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        current: Sequence[str] = (),
        ingested: Sequence[str] = (),
        partial: Sequence[str] = (),
        *,
        single: bool = False,
    ) -> "LabelChoice":
        """Return a choice in which nothing was changed yet."""
        current_labels = tuple(current)
        return cls(current_labels, tuple(ingested), single, current_labels, partial=tuple(partial))

    @property
    def added(self) -> tuple[str, ...]:
        """The labels to add, in the order in which they were chosen."""
        return tuple(label for label in self.selection if label not in self.current)

    @property
    def removed(self) -> tuple[str, ...]:
        """The labels to remove."""
        deselected = (label for label in self.current if label not in self.selection)
        return (*deselected, *(label for label in self.partial if label in self.to_remove))

    @property
    def is_changed(self) -> bool:
        """Whether the choice differs from the labels on the server."""
        return bool(self.added or self.removed)

    @property
    def all_labels(self) -> tuple[str, ...]:
        """Every label that is present or chosen."""
        return tuple(dict.fromkeys((*self.ingested, *self.current, *self.partial, *self.selection)))

    def mark(self, label: str) -> LabelMark:
        """Return the present and the chosen state of a label."""
        if label in self.selection:
            return "on" if label in self.current else "added"
        if label in self.current or label in self.to_remove:
            return "removed"
        if label in self.partial:
            return "some"
        return "fixed" if label in self.ingested else "off"

    def toggle(self, label: str) -> "LabelChoice":
        """Return the choice with a label added or removed; unchanged if that is not possible. A
        label that only some items have is first added to all, then removed from all, then left as
        it is."""
        if label in self.selection:
            return replace(
                self,
                selection=tuple(chosen for chosen in self.selection if chosen != label),
                new=self.new - {label},
                to_remove=self.to_remove | ({label} & {*self.partial}),
            )
        if label in self.to_remove:
            return replace(self, to_remove=self.to_remove - {label})
        if label in self.ingested and label not in self.current:
            return self
        if self.single:
            return replace(self, selection=(label,), to_remove=frozenset())
        return replace(self, selection=(*self.selection, label))

    def create(self, label: str) -> "LabelChoice":
        """Return the choice with a new label added, which saving creates first."""
        choice = self if label in self.selection else self.toggle(label)
        return replace(choice, new=choice.new | {label})

    def write(self, added: Iterable[str] = (), removed: Iterable[str] = ()) -> "LabelChoice":
        """Return the choice after the server has stored some of its changes."""
        removed_labels = frozenset(removed)
        remaining = (label for label in self.current if label not in removed_labels)
        current = tuple(dict.fromkeys((*remaining, *added)))
        return replace(self, current=current, new=self.new.difference(current))

    def rebase(self, current: Sequence[str]) -> "LabelChoice":
        """Return the choice for changed labels on the server; the chosen changes are kept."""
        added, removed = self.added, frozenset(self.removed)
        remaining = [label for label in current if label not in removed]
        selection = dict.fromkeys((*([] if self.single and added else remaining), *added))
        return replace(self, current=tuple(current), selection=tuple(selection))


_NO_CHOICE: Final = LabelChoice()


def owner_and_type(label: str) -> tuple[str, str]:
    """Return the URN of a label and, for an owner, the ownership type; empty for all others."""
    urn, _, kind = label.rpartition(" ")
    # In an owner's label the ownership type follows the last space; other URNs may contain spaces.
    is_owner = urn.startswith(("urn:li:corpuser:", "urn:li:corpGroup:"))
    return (urn, kind) if is_owner else (label, "")


def ownership_word(kind: str, name_of: NameOf = Urn.label) -> str:
    """Return the name of an ownership type; not cleaned for the screen."""
    return name_of(kind) if kind.startswith("urn:") else ownership(kind)


def describe_label(label: str, name_of: NameOf = Urn.label) -> str:
    """Return the name of a label, for an owner with the ownership type; not cleaned for the
    screen."""
    urn, kind = owner_and_type(label)
    return f"{name_of(urn)} ({ownership_word(kind, name_of)})" if kind else name_of(urn)


def describe_change(choice: LabelChoice, name_of: NameOf = Urn.label) -> str:
    """Return in words the labels that would be added and removed: `+ PII (new)  − Legacy`; empty if
    there are none."""
    added = (
        f"+ {line(describe_label(label, name_of))}{' (new)' if label in choice.new else ''}"
        for label in choice.added
    )
    removed = (f"− {line(describe_label(label, name_of))}" for label in choice.removed)
    return "  ".join((*added, *removed))


@dataclass(frozen=True, slots=True)
class LabelTarget:
    """An entity, or its column at the field path `path`, with their display names."""

    urn: Urn
    name: str
    path: str | None = None
    column: str = ""

    @classmethod
    def of(cls, entity: "Entity", path: str | None) -> "LabelTarget":
        """Return the target for an entity, or for its column at a field path."""
        if path is None:
            return cls(entity.urn, entity.name)
        column = entity.schema.column(path)
        return cls(entity.urn, entity.name, path, column.path.simple if column else path)

    @property
    def full_name(self) -> str:
        """The name for messages; not cleaned for the screen."""
        return self.name if self.path is None else f"{self.column} of {self.name}"


def labels_of(entity: "Entity", kind: LabelKind, path: str | None) -> LabelChoice:
    """Return the labels of one kind of an entity or its column."""
    if kind == "domain":
        return LabelChoice.of(tuple(map(str, entity.domains)), single=True)
    stored = LABEL_KINDS[kind]
    value = entity.raw(stored.aspect) if path is None else entity.column_edits
    labels = stored.labels(value or {}, path)
    column = entity.schema.column(path) if path is not None else None
    urns = (column.tags if kind == "tags" else column.terms) if column else ()
    return LabelChoice.of(labels, tuple(str(urn) for urn in urns if str(urn) not in labels))


async def read_labels(catalog: "AsyncCatalog", target: LabelTarget, kind: LabelKind) -> LabelChoice:
    """Return the labels that the server has. One request."""
    aspects = (_ASPECTS[kind],) if target.path is None else _COLUMN_ASPECTS
    return labels_of(await catalog.entity(target.urn, aspects), kind, target.path)


def why_not_labelled(entity: "Entity", kind: LabelKind) -> str:
    """Return why an entity cannot have labels of this kind; empty if it can."""
    if not entity.exists:
        return "Nothing can be written: the entity is not in the catalog, only referenced in it."
    registry = load_registry()
    type_name = entity.entity_type
    if type_name in registry.entities and _ASPECTS[kind] not in registry.aspects_of(type_name):
        several = "owners" if kind == "owners" else FOUND[kind][1]
        return f"No {singular(type_name)} has {several}."
    return ""


@dataclass(frozen=True, slots=True)
class LabelOffer:
    """A label that may be added. `uses` is the number of entities that have it, if known."""

    urn: str
    name: str
    about: str = ""
    uses: int | None = None


@dataclass(frozen=True, slots=True)
class LabelOffers:
    """The labels that match a text: at most sixty of `total`, best first; `text` is None before any
    labels were read."""

    text: str | None = None
    offers: tuple[LabelOffer, ...] = ()
    total: int = 0


@dataclass(frozen=True, slots=True)
class LabelRow:
    """A label that can be added or removed, or with `creates` a tag of that name that can be
    created. `uses` is the number of entities that have it, None if unknown."""

    label: str
    mark: LabelMark = "off"
    name: str = ""
    about: str = ""
    uses: int | None = None
    creates: str = ""


@dataclass(frozen=True, slots=True)
class LabelState(SessionState):
    """The state of a label picker: the choice, the labels that match the typed text, the rows of
    both, and the edits that were made. `ownership` is the type that added owners get. `why_unread`
    is the reason if the present labels could not be read; before they were read (`is_read`), other
    labels are left unchanged."""

    choice: LabelChoice = _NO_CHOICE
    offered: LabelOffers = LabelOffers()
    rows: tuple[LabelRow, ...] = ()
    ownership: str = OWNERSHIPS[0]
    why_unread: str = ""
    edits: tuple["Edit", ...] = ()
    is_read: bool = True
    staged: "StagedChangeset | None" = None


class LabelSession(Session[LabelState]):
    """The labels of one kind of an entity or column. Nothing is written before `save`; changes that
    an error left unwritten stay chosen."""

    creation: str = "created when you save"
    """Says when a new label is created."""

    def __init__(
        self,
        catalog: "AsyncCatalog",
        target: LabelTarget,
        kind: LabelKind,
        choice: LabelChoice = _NO_CHOICE,
    ) -> None:
        self.target, self.kind = target, kind
        self._ownerships: tuple[str, ...] = OWNERSHIPS
        self._known: dict[str, LabelOffer] = {}
        self._uses: dict[str, int] | None = None
        self._save_id = self._text = ""
        super().__init__(catalog, LabelState(choice=choice))

    def name_of(self, urn: str) -> str:
        """Return the name of the entity with a URN, or the id in the URN if the name was not
        read."""
        return self._offer_of(urn).name

    def why_none(self) -> str:
        """Return the text shown where no label is offered: labels are being read, could not be
        read, or do not exist."""
        offered, (noun, nouns) = self.state.offered, FOUND[self.kind]
        if self.state.why_unread:
            return f"{refusal_sentence(nouns.capitalize())}."
        if offered.text is None:
            return LOADING.phrase
        if offered.text:
            return f"No {noun} matches {in_quotes(offered.text, 60)}."
        return f"No {noun} exists yet."

    def describe_change(self) -> str:
        """Return in words the changes to write; empty if there are none."""
        return describe_change(self.state.choice, self.name_of)

    def describe_edits(self) -> str:
        """Return a sentence on the written changes."""
        first, last = self.state.edits[0].before, self.state.edits[-1].after
        before = LabelChoice.of(first if isinstance(first, tuple) else ())
        choice = replace(before, selection=tuple(last) if isinstance(last, tuple) else ())
        change = describe_change(choice, self.name_of) or "nothing to change"
        return f"{NOUNS[self.kind][1].capitalize()} of {line(self.target.full_name)}: {change}."

    async def open(self) -> None:
        """Read the present labels and those that can be added."""
        try:
            with self.telling():
                await self._read_all()
        except CatalogError:
            noun = FOUND[self.kind][0]
            why = f"Reading failed; type the name of a {noun} to try again."
            self._show(why_unread=why)
            raise

    async def _read_all(self) -> None:
        choice, offered = await asyncio.gather(self._read_choice(), self._find(""))
        if self.kind == "owners":
            self._ownerships = await self._read_ownerships()
        labels = [owner_and_type(label) for label in choice.all_labels]
        kinds = [kind for _, kind in labels if kind.startswith("urn:")]
        await self._read_offers([urn for urn, _ in labels])
        await self._read_offers([*kinds, *self._ownerships])
        is_first = self.state.offered.text is None
        self._show(choice=choice, offered=offered if is_first else self.state.offered)

    async def _read_choice(self) -> LabelChoice:
        now = await read_labels(self.catalog, self.target, self.kind)
        return replace(self.state.choice, ingested=now.ingested).rebase(now.current)

    @action("Find labels", in_turn=False, supersedes={"find"})
    async def find(self, text: str) -> None:
        """Offer the labels that match a text; see `LabelOffers`. A later call supersedes this
        one."""
        self._text = text.strip()
        await asyncio.sleep(_TYPING_PAUSE_SECONDS)
        self._show(offered=await self._find(text), why_unread="")

    @action("Add or remove the label")
    async def toggle(self, label: str) -> None:
        """Add or remove a label. Raises `InvalidInput` for a label that cannot be removed here."""
        choice = self.state.choice.toggle(label)
        if choice is self.state.choice:
            raise InvalidInput(
                "This label comes from the ingested schema; remove it at the source."
            )
        self._show(choice=choice)

    @action("Add or remove the first label found for a text")
    async def toggle_first(self, text: str) -> LabelRow | None:
        """Add or remove the first label that matches a text, even if another text is typed
        meanwhile, and return None; or return the row of a tag that can be created with that name.
        Raises `InvalidInput` if no label matches."""
        offered = await self._find(text)
        is_last = self._text == offered.text
        if is_last:
            self._show(offered=offered, why_unread="")
        if is_last and self.state.rows and self.state.rows[0].creates:
            return self.state.rows[0]
        if not offered.offers:
            raise InvalidInput(f"No {FOUND[self.kind][0]} matches {in_quotes(text, 60)}.")
        label = self._labels_of(offered.offers[0].urn, self.state)[0]
        self._show(choice=self.state.choice.toggle(label))
        return None

    @action("Create the tag")
    async def create(self, label: str) -> None:
        """Add a new tag, which saving creates first."""
        self._show(choice=self.state.choice.create(label))

    @action("Choose the next ownership type")
    async def next_ownership(self, label: str | None) -> None:
        """Choose the next ownership type, for owners added from now on and for an added one."""
        at = self._ownerships.index(self.state.ownership) + 1
        following = self._ownerships[at % len(self._ownerships)]
        choice = self.state.choice
        if label is not None and choice.mark(label) == "added":
            changed = f"{owner_and_type(label)[0]} {following}"
            choice = choice.toggle(label)
            if choice.mark(changed) == "off":
                choice = choice.toggle(changed)
        self._show(choice=choice, ownership=following)

    @action("Save the labels")
    async def save(self) -> None:
        """Remove and add the chosen labels, as one save.

        After each step, and after an error, the choice holds the changes that are left. Two
        requests for each step, and one or two for each created tag. Raises `InvalidInput` if
        nothing was chosen, and `Conflict` if somebody changed the labels since they were read or
        since the last step; the choice then has the current labels.
        """
        self.check("save")
        await self.work("writing", self._save())

    @action("Add labels and remove others, whatever others there are")
    async def change(self, added: Iterable[str] = (), removed: Iterable[str] = ()) -> None:
        """Add and remove labels without comparing with the labels seen before, as one save. A
        domain that is added replaces the present one. An owner without a type is added as
        `OWNERSHIPS[0]`, and removed with all types. The edits are recorded in the state, also after
        an error. Two requests for each step."""
        self.check("change")
        choice = replace(self.state.choice, current=tuple(removed), selection=tuple(added))
        self._show(choice=choice, is_read=False)
        with one_save():
            await self.work("writing", self._write())

    async def _save(self) -> None:
        # A save that failed midway and is repeated is still the same save.
        with one_save(self._save_id) as self._save_id:
            try:
                await self._write()
            except TextConflict as conflict:
                choice = await self._read_choice()
                self._show(choice=choice)
                raise self._conflict(choice) from conflict

    def _conflict(self, choice: LabelChoice) -> Conflict:
        names = (line(Urn.label(owner_and_type(label)[0])) for label in choice.current)
        changed, advice = (
            ("the domain was", "to replace it with yours")
            if self.kind == "domain"
            else (f"the {self.kind} were", "to change these")
        )
        return Conflict(
            f"{changed} changed by somebody else meanwhile, to {', '.join(names) or 'none'}; save "
            f"again {advice}"
        )

    async def _write(self) -> None:
        catalog, choice = self.catalog, self.state.choice
        place: dict[str, Any] = {"column": self.target.path}
        if self.kind == "tags":
            for label in (label for label in choice.added if label in choice.new):
                # Somebody else may have created or hidden the tag since it was searched for.
                await catalog.create(label, "tagProperties", {"name": Urn.parse(label).name})
        match self.kind:
            case "tags":
                await self._change(catalog.add_tags, catalog.remove_tags, **place)
            case "terms":
                await self._change(catalog.add_terms, catalog.remove_terms, **place)
            case "owners":
                await self._change_owners()
            case "domain":
                added, removed = choice.added, choice.removed
                domain = added[0] if added else None
                edit = await catalog.set_domain(self.target.urn, domain, instead_of=self._seen)
                self._note(edit, added, removed)

    @property
    def _seen(self) -> tuple[str, ...] | None:
        """The labels that the writer saw, for the check of conflicts; None for no check."""
        return self.state.choice.current if self.state.is_read else None

    async def _change(self, add: Any, remove: Any, **place: Any) -> None:
        urn, added = self.target.urn, self.state.choice.added
        if added:
            self._note(await add(urn, added, instead_of=self._seen, **place), added)
        removed = self.state.choice.removed
        if removed:
            self._note(await remove(urn, removed, instead_of=self._seen, **place), (), removed)

    async def _change_owners(self) -> None:
        urn, catalog = self.target.urn, self.catalog
        for kind, labels in _by_ownership(self.state.choice.added).items():
            owners = [owner_and_type(label)[0] for label in labels]
            edit = await catalog.add_owners(
                urn, owners, ownership=kind or OWNERSHIPS[0], instead_of=self._seen
            )
            self._note(edit, labels)
        for kind, labels in _by_ownership(self.state.choice.removed).items():
            owners = [owner_and_type(label)[0] for label in labels]
            edit = await catalog.remove_owners(
                urn, owners, ownership=kind or None, instead_of=self._seen
            )
            self._note(edit, (), labels)

    def _note(self, edit: "Edit", added: Iterable[str], removed: Iterable[str] = ()) -> None:
        choice = self.state.choice.write(added, removed)
        self._show(choice=choice, edits=(*self.state.edits, edit))

    def why_not(self, name: str) -> str:
        """Return why an action is not possible now; empty if it is possible."""
        if self.state.work is not None:
            return "The labels are being written."
        if name == "save" and not self.state.choice.is_changed:
            return NO_CHANGES
        return (
            "Only owners have a type." if name == "next_ownership" and self.kind != "owners" else ""
        )

    def _show(self, **changes: Any) -> None:
        state = replace(self.state, **changes)
        self.replace(**changes, rows=self._rows(state))

    def _rows(self, state: LabelState) -> tuple[LabelRow, ...]:
        """Return the rows: the present and chosen labels, if no text was typed, then the labels
        that match."""
        offered, choice = state.offered, state.choice
        labels = [] if offered.text else list(choice.all_labels)
        for offer in offered.offers:
            labels += self._labels_of(offer.urn, state)
        rows = [self._row(label, state) for label in dict.fromkeys(labels)]
        return (*rows, *self._creatable(rows, state))

    def _labels_of(self, urn: str, state: LabelState) -> list[str]:
        """Return the labels for a matching entity: for an owner one for each ownership type in
        use."""
        if self.kind != "owners":
            return [urn]
        labels = [label for label in state.choice.all_labels if owner_and_type(label)[0] == urn]
        return [*labels, f"{urn} {state.ownership}"]

    def _row(self, label: str, state: LabelState) -> LabelRow:
        choice, (urn, kind) = state.choice, owner_and_type(label)
        offer, mark = self._offer_of(urn), choice.mark(label)
        about = self.creation if label in choice.new else offer.about
        about = " · ".join(filter(None, (self._holders(label), about)))
        if mark == "fixed":
            about = "from the ingested schema"
        # The type of new owners is shown once for all of them.
        is_plain = kind == state.ownership and mark == "off"
        name = offer.name if is_plain else describe_label(label, self.name_of)
        return LabelRow(label, mark, name, about, offer.uses)

    def _holders(self, label: str) -> str:
        """Return in words how many of several places have a label; empty for one place."""
        del label
        return ""

    def _creatable(self, rows: Sequence[LabelRow], state: LabelState) -> tuple[LabelRow, ...]:
        """Return the row that creates a tag of the typed name, if there is none of that name."""
        text = state.offered.text
        if self.kind != "tags" or not text:
            return ()
        try:
            label = str(Urn.parse(f"urn:li:tag:{text}"))
        except InvalidInput:
            return ()
        names = {self.name_of(row.label).lower() for row in rows}
        if text.lower() in names or label in {row.label for row in rows}:
            return ()
        if label in state.choice.new:
            return (self._row(label, state),)
        return (LabelRow(label, creates=text),)

    def _offer_of(self, urn: str) -> LabelOffer:
        """Return the offer of a label as it was read; with its URN alone if it was not."""
        offer = self._known.get(urn) or LabelOffer(urn, Urn.label(urn))
        return replace(offer, uses=(self._uses or {}).get(urn))

    async def _read_offers(self, urns: Sequence[str]) -> None:
        """Read names and descriptions of labels; one request for those not known yet."""
        unknown = Urn.parse_all(urn for urn in urns if urn not in self._known)
        if unknown:
            for urn, entity in (await self.catalog.summaries(unknown)).items():
                text = str(urn)
                about = entity.description if entity.exists else "not in the catalog"
                self._known[text] = LabelOffer(text, entity.name, about)

    async def _find(self, text: str) -> LabelOffers:
        """Return labels with a word in their name that begins with the text, then other matches;
        without a text all labels, most used first. Two or three requests."""
        typed, types = text.strip(), _TYPES[self.kind]
        searched = self.catalog.search(typed or "*", entity=types, count=_MOST_OFFERS)
        completed = self._complete(typed)
        first, found_page, uses = await asyncio.gather(completed, searched, self._read_uses())
        page = found_page.only_complete()
        if not typed:
            by_use = sorted(uses, key=lambda urn: (-uses[urn], urn))
            first = tuple(str(u) for u in Urn.parse_all(by_use) if u.entity_type in types)
        urns = tuple(dict.fromkeys((*first, *(str(hit.urn) for hit in page))))
        total = max(page.total, len(urns) if typed else len(urns[:_MOST_OFFERS]))
        urns = urns if typed else urns[:_MOST_OFFERS]
        await self._read_offers(urns)
        # Labels with exactly the typed name come first.
        exact_matches = (
            urn for urn in urns if typed and self.name_of(urn).lower() == typed.lower()
        )
        ordered = tuple(dict.fromkeys((*exact_matches, *urns)))[:_MOST_OFFERS]
        return LabelOffers(typed, tuple(map(self._offer_of, ordered)), total)

    async def _complete(self, text: str) -> tuple[str, ...]:
        if not text:
            return ()
        try:
            suggestions = await self.catalog.suggest(
                text, entities=_TYPES[self.kind], limit=_MOST_COMPLETIONS
            )
        except _REFUSALS:
            return ()
        return tuple(
            str(suggestion.urn) for suggestion in suggestions if suggestion.urn is not None
        )

    async def _read_uses(self) -> dict[str, int]:
        if self._uses is None:
            try:
                facets = await self.catalog.facets("*", names=(_FACETS[self.kind],))
            except _REFUSALS:
                facets = ()
            self._uses = {value.value: value.count for facet in facets for value in facet.values}
        return self._uses

    async def _read_ownerships(self) -> tuple[str, ...]:
        """Return the ownership types of the model, then at most twenty of the server's own as URNs.
        One request."""
        try:
            page = await self.catalog.search("*", entity="ownershipType", count=_MOST_OWNERSHIPS)
        except _REFUSALS:
            return OWNERSHIPS
        server_types = (str(hit.urn) for hit in page)
        return (*OWNERSHIPS, *(urn for urn in server_types if not urn.startswith(_BUILT_IN)))


def _by_ownership(labels: Iterable[str]) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for label in labels:
        grouped.setdefault(owner_and_type(label)[1], []).append(label)
    return grouped
