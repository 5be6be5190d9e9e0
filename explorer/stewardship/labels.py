"""Labels of many entities and columns: reading them, and staging edits that change them all.

Labels are texts, as in `explorer.client.records.Edit`: URNs of tags, glossary terms and domains,
`URN TYPE` for owners, `ADDRESS LABEL` for links.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Literal, TypeGuard, get_args

from msgspec import structs

from explorer.client.editable import LABEL_KINDS, deprecation_of, domains_of, links_of
from explorer.client.entity import SUMMARY_ASPECTS, Entity
from explorer.client.records import Held
from explorer.errors import InvalidInput
from explorer.metadata.urn import Urn
from explorer.stewardship.staging import StagedEdit, deprecation_text
from explorer.stewardship.worklist import Key

if TYPE_CHECKING:
    from explorer.client import AsyncCatalog
    from explorer.metadata.registry import Registry
    from explorer.stewardship.documentation import Progress

LabelledKind = Literal["tags", "terms", "owners", "domain", "deprecation", "links"]
"""What can be changed for many entities at once; only tags and terms also for columns."""

_ASPECTS: Final[Mapping[LabelledKind, str]] = {
    "tags": "globalTags",
    "terms": "glossaryTerms",
    "owners": "ownership",
    "domain": "domains",
    "deprecation": "deprecation",
    "links": "institutionalMemory",
}
_COLUMN_ASPECTS: Final = ("schemaMetadata", "editableSchemaMetadata")
_CHUNK: Final = 200
_MOST_SIMILAR: Final = 3
_MOST_COMPARED: Final = 500


@dataclass(frozen=True, slots=True)
class LabelledPlace:
    """An entity, or its column with the field path `column`, and its labels of one kind.

    `fixed` are labels that were ingested with the schema, which cannot be removed here;
    `deprecation` is as in `Edit`, `None` if the entity is not deprecated.
    """

    urn: str
    name: str
    column: str | None = None
    labels: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    deprecation: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class LabelledPlaces:
    """Entities and columns with their labels of one kind, in the order requested.

    `missing` is the number that are not in the catalog, `unfit` the number that cannot have such a
    label.
    """

    what: LabelledKind
    places: tuple[LabelledPlace, ...]
    missing: int = 0
    unfit: int = 0

    def __len__(self) -> int:
        return len(self.places)

    def counts(self) -> dict[str, int]:
        """Return the number of places that have each label, most frequent first."""
        counts = Counter(label for place in self.places for label in place.labels)
        return dict(counts.most_common())


@dataclass(frozen=True, slots=True)
class LabelsChange:
    """A change of labels in many places: `add` is added to all, `remove` is removed from all.

    For a domain, `add` has at most one. `creates` are the tags in `add` that do not exist yet.
    `deprecation` is the new deprecation of all places, as in `Edit`; `None` removes it.
    """

    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    creates: tuple[str, ...] = ()
    deprecation: dict[str, Any] | None = None
    label_names: dict[str, str] = field(default_factory=dict)
    """The display names of labels, by URN."""


async def read_labelled(
    catalog: "AsyncCatalog",
    places: Iterable[Key],
    what: LabelledKind,
    progress: "Progress | None" = None,
) -> LabelledPlaces:
    """Return the labels of one kind of entities, and of columns given by field path; no duplicates.

    One request for a few hundred entities. `progress` is called with the number read and the total.

    Example: `steward.labelled([(urn, None)], "tags").counts()`
    """
    keys = list(dict.fromkeys(places))
    urns = list(dict.fromkeys(Urn.parse(urn) for urn, _ in keys))
    on_columns = any(column is not None for _, column in keys)
    aspects = (*SUMMARY_ASPECTS, "status", _ASPECTS[what], *(_COLUMN_ASPECTS if on_columns else ()))
    entities: dict[str, Entity] = {}
    rest, done = iter(urns), 0
    while chunk := list(islice(rest, _CHUNK)):
        chunk_entities = await catalog.entities(chunk, tuple(dict.fromkeys(aspects)))
        entities |= {str(urn): entity for urn, entity in chunk_entities.items() if entity.exists}
        done += len(chunk)
        if progress is not None:
            progress(done, len(urns))
    existing = [(entities[urn], column) for urn, column in _parse(keys) if urn in entities]
    labelled = [_place(entity, column, what, catalog.registry) for entity, column in existing]
    fit = tuple(place for place in labelled if place is not None)
    return LabelledPlaces(what, fit, len(keys) - len(existing), len(labelled) - len(fit))


def stage_labels(places: LabelledPlaces, change: LabelsChange) -> tuple[StagedEdit, ...]:
    """Return the edits that make a change in all places, in order; places that the change does not
    affect get none.

    No requests. Raises `InvalidInput` for several domains.
    """
    if places.what == "domain" and len(change.add) > 1:
        raise InvalidInput("an entity can only be in one domain; give one")
    edits = (_edit(place, places.what, change) for place in places.places)
    return tuple(edit for edit in edits if edit is not None)


def _parse(keys: Sequence[Key]) -> Iterable[Key]:
    return ((str(Urn.parse(urn)), column) for urn, column in keys)


def _place(
    entity: Entity, column: str | None, what: LabelledKind, registry: "Registry"
) -> LabelledPlace | None:
    """Return the labels of an entity or column, or `None` if it cannot have such labels."""
    urn, aspect, entity_types = entity.urn, _ASPECTS[what], registry.entities
    if urn.entity_type in entity_types and aspect not in registry.aspects_of(urn.entity_type):
        return None
    value = entity.raw(aspect) or {}
    match what:
        case "domain":
            labels = domains_of(value)
        case "links":
            labels = links_of(value)
        case "deprecation":
            deprecation = deprecation_of(value)
            return None if column else LabelledPlace(str(urn), entity.name, deprecation=deprecation)
        case _:
            if column is not None:
                return _column_place(entity, column, what)
            labels = LABEL_KINDS[what].labels(value, None)
    return None if column is not None else LabelledPlace(str(urn), entity.name, None, labels)


def _column_place(
    entity: Entity, path: str, what: Literal["tags", "terms", "owners"]
) -> LabelledPlace | None:
    column = entity.schema.column(path)
    if column is None or what == "owners":
        return None
    kind = LABEL_KINDS[what]
    labels = kind.labels(entity.column_edits, path)
    every = map(str, column.tags if what == "tags" else column.terms)
    fixed = tuple(label for label in every if label not in labels)
    return LabelledPlace(str(entity.urn), entity.name, path, labels, fixed)


def _edit(place: LabelledPlace, what: LabelledKind, change: LabelsChange) -> StagedEdit | None:
    """Return the edit of one place, or `None` if there is nothing to change."""
    if what == "deprecation":
        return staged_edit(place.urn, place.name, what, place.deprecation, change.deprecation)
    labels = place.labels
    new = tuple(label for label in change.add if label not in (*labels, *place.fixed))
    if what == "domain" and change.add:
        after = change.add
    else:
        after = (
            *(label for label in labels if label not in change.remove or label in change.add),
            *new,
        )
    edit = staged_edit(place.urn, place.name, what, labels, after, place.column)
    if edit is None:
        return None
    concerned = {
        label.partition(" ")[0] if what == "owners" else label for label in (*labels, *edit.add)
    }
    return structs.replace(
        edit,
        creates=tuple(create for create in change.creates if create in edit.add),
        label_names={urn: name for urn, name in change.label_names.items() if urn in concerned},
    )


def is_labelled(what: str) -> TypeGuard[LabelledKind]:
    """Return whether an edit is of a kind that can be staged for many items."""
    return what in get_args(LabelledKind)


def staged_edit(
    urn: str, name: str, what: LabelledKind, before: Held, after: Held, column: str | None = None
) -> StagedEdit | None:
    """Return the edit that changes `before` to `after`, both in the form of `Edit`; `None` if they
    are equal."""
    if what == "deprecation":
        texts = [
            deprecation_text(aspect if isinstance(aspect, dict) else None)
            for aspect in (before, after)
        ]
        if texts[0] == texts[1]:
            return None
        return StagedEdit(urn, name, None, what, before=texts[0], text=texts[1])
    old = before if isinstance(before, tuple) else ()
    new = after if isinstance(after, tuple) else ()
    add = tuple(label for label in new if label not in old)
    remove = tuple(label for label in old if label not in new)
    if not (add or remove):
        return None
    before_text = ""
    if what == "domain":
        # The new domain replaces all domains before.
        before_text, add, remove = ", ".join(old), new[:1], ()
    elif what == "links":
        addresses = {link.partition(" ")[0] for link in (*add, *remove)}
        before_text = "\n".join(link for link in old if link.partition(" ")[0] in addresses)
    return StagedEdit(urn, name, column, what, before=before_text, add=add, remove=remove)


async def similar_labels(
    catalog: "AsyncCatalog", name: str, types: Sequence[str]
) -> Mapping[Urn, str]:
    """Return the names of at most three labels of some entity types whose name or id is similar to
    `name`, best first: those that a search finds, or else those that differ in a few letters.

    Two requests if the search finds some; else two more, and one for each hundred labels. At
    most 500 labels are compared.
    """
    page = (await catalog.search(name, entity=types, count=_MOST_SIMILAR)).only_complete()
    if page.hits:
        entities = await catalog.summaries(hit.urn for hit in page)
        return {urn: entity.name for urn, entity in entities.items()}
    page = await catalog.search("*", entity=types, count=_MOST_COMPARED)
    summaries = await catalog.summaries(hit.urn for hit in page)
    spellings: dict[str, Urn] = {}
    for urn, entity in summaries.items():
        for spelling in (urn.name, entity.name, *entity.name.split()):
            spellings.setdefault(spelling.casefold(), urn)
    similar_spellings = get_close_matches(name.casefold(), spellings, n=_MOST_SIMILAR)
    return {
        urn: summaries[urn].name
        for urn in dict.fromkeys(spellings[spelling] for spelling in similar_spellings)
    }
