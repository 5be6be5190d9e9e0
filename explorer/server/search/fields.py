"""The search vocabulary: the searchable fields, their natures and their alternative names."""

import hashlib
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Literal

from explorer.errors import UnknownName
from explorer.metadata.registry import Registry, SearchField
from explorer.metadata.structured_properties import ASSIGNMENTS, PREFIX, Definition
from explorer.query.fields import DESCRIPTIONS, USE, guide_to
from explorer.query.filters import DOCUMENTED

Nature = Literal["text", "term", "number", "date", "boolean"]

URN = "urn"
ENTITY_TYPE = "_entityType"
REMOVED = "removed"
# The names that were given to an entity, or else its id. Queries use `name` for it.
DISPLAY = "_name"
GIVEN_NAMES = ("name", "editedName")
# The fields of every entity, whatever its aspects.
VIRTUAL = (URN, ENTITY_TYPE, REMOVED, DISPLAY, USE)

_NUMBERS = frozenset({"COUNT", "DOUBLE"})
_TERMS = frozenset({"URN"})
# The derived field that says whether an entity has a description.
_DESCRIBES = "hasDescription"
# Map values and column paths are of kind TEXT too, but each is a single value, not prose.
_UNDIVIDED = frozenset({"*", "$key", "fieldPath"})

# The weight of structured properties in free-text search.
_PROPERTY_WEIGHT = 1.0

# A field, and the fields that have the same information from another place.
_ALSO: Mapping[str, tuple[str, ...]] = {
    "tags": ("fieldTags", "editedFieldTags"),
    "fieldTags": ("editedFieldTags",),
    "glossaryTerms": ("fieldGlossaryTerms", "editedFieldGlossaryTerms"),
    "fieldGlossaryTerms": ("editedFieldGlossaryTerms",),
    "fieldDescriptions": ("editedFieldDescriptions",),
    "description": ("editedDescription",),
    "origin": ("env",),
    "env": ("origin",),
}
# Names of these fields in newer releases of DataHub.
_OTHER_NAMES: Mapping[str, str] = {
    "rowCountFeature": "rowCount",
    "sizeInBytesFeature": "sizeInBytes",
}


@dataclass(frozen=True, slots=True)
class Trait:
    """The nature of a field, which decides how it is indexed and compared.

    Of the natures, `text` is compared as a whole and by parts; `term` is a URN or one of few
    values. A `prose` field is text of several words, each of which can be searched for. A `column`
    field has column paths. A `derived` field says whether other fields have values; for a document
    without a value it counts as false. A `mixed` field is text that may include numbers, such as a
    structured property. `targets` are the entity types that a bare name may refer to.
    """

    name: str
    nature: Nature
    prose: bool = False
    column: bool = False
    derived: bool = False
    mixed: bool = False
    targets: tuple[str, ...] = ()

    @property
    def cut(self) -> int:
        """The number of characters of a value that the index keeps as one term.

        There are too many distinct texts to keep each as a whole; longer ones are distinguished by
        their pieces.
        """
        if self.nature != "text" or self.name == URN:
            return 512
        return 8 if self.prose else 64

    @property
    def order_cut(self) -> int:
        """The number of characters by which two texts are ordered."""
        return min(self.cut, 64)

    def is_single_term(self, folded: str) -> bool:
        """Return whether the index keeps a text as one whole term."""
        if self.nature != "text":
            return True
        # The term of prose has no symbols.
        has_term = not (self.prose and folded) or any(map(str.isalnum, folded))
        return has_term and len(folded) < self.cut


_UNLISTED = ("dataPlatform", "ownershipType", "schemaField")


class Vocabulary:
    """The searchable fields of a registry, by name and by entity type.

    The fields of the registry never change. Structured properties add fields, which `define` adds
    and removes; an index created before that has their values too.
    """

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self._declared: dict[str, dict[str, list[SearchField]]] = {}
        for entity_type in registry.entities:
            by_name = self._declared[entity_type] = {}
            for field in _fields_of(registry, entity_type):
                by_name.setdefault(field.name, []).append(field)
        self.traits = self._traits()
        self._weights = {name: _weights(fields) for name, fields in self._declared.items()}
        self._naming = {name: self._names_in(fields) for name, fields in self._declared.items()}
        self._defining = threading.Lock()
        # Replaced, not modified, so that a reader always has one consistent state.
        self._defined: Mapping[str, Definition] = {}
        self.generation = 0
        """The number of changes to the definitions of structured properties so far."""
        # Needed by every query, and mostly for the same types.
        self._facets = lru_cache(maxsize=256)(self._facets_of)
        self._known = lru_cache(maxsize=256)(self._fields_of)
        self._property_fields = lru_cache(maxsize=64)(self._property_fields_of)
        self.counting = lru_cache(maxsize=256)(self._counting_of)
        """The facet fields that count the values of these fields.

        Facets of the fields that every entity has are included, as are the structured properties
        among the given fields.
        """
        # The weights above the common one, highest first; the common weight and lower ones follow.
        self.strong = tuple(
            sorted(
                {
                    field.weight
                    for by_name in self._declared.values()
                    for fields in by_name.values()
                    for field in fields
                    if field.weight > 1
                },
                reverse=True,
            )
        )

    @cached_property
    def unlisted(self) -> tuple[str, ...]:
        """The entity types that a search of all types leaves out: types that only describe other
        entities (data platforms, ownership types, columns), and types that the registry does not
        list."""
        types = self.registry.entities.items()
        return (*_UNLISTED, *(name for name, entity in types if not entity.listed))

    def trait(self, name: str) -> Trait:
        """Return the trait of a field; the nature is text for a field that no aspect declares."""
        return self.traits.get(name) or Trait(name, "text", mixed=name.startswith(PREFIX))

    def weights(self, entity_type: str) -> dict[str, float]:
        """Return the fields of an entity type that free-text search uses, with their weights.

        Structured properties are not among them.
        """
        return self._weights.get(entity_type, {})

    def weight(self, entity_type: str, name: str) -> float | None:
        """Return the weight of a field of an entity type.

        `None` if free-text search does not use the field.
        """
        if name.startswith(PREFIX):
            return _PROPERTY_WEIGHT
        return self.weights(entity_type).get(name)

    def define(self, urn: str, definition: Definition | None) -> None:
        """Set the definition of a structured property.

        `None` removes it: it is no longer defined, or was soft-deleted.
        """
        with self._defining:
            if self._defined.get(urn) == definition:
                return
            defined = {key: definition for key, definition in self._defined.items() if key != urn}
            self._defined = defined if definition is None else {**defined, urn: definition}
            self.generation += 1

    def property_fields(self, entity_types: Iterable[str] | None) -> Mapping[str, Definition]:
        """Return the structured-property fields that entities of these types may have, by name.

        `None` stands for all types.
        """
        types = None if entity_types is None else tuple(entity_types)
        return self._property_fields(self.generation, types) if self._defined else {}

    def _property_fields_of(
        self, generation: int, entity_types: tuple[str, ...] | None
    ) -> dict[str, Definition]:
        del generation  # Only part of the cache key.
        defined = self._defined
        entities = self.registry.entities
        types = set(entities if entity_types is None else entity_types)
        carrying = {
            type_.casefold() for type_ in types if ASSIGNMENTS in self.registry.aspects_of(type_)
        }
        return {
            definition.field: definition
            for definition in defined.values()
            if (
                carrying & {*map(str.casefold, definition.entity_types)}
                if definition.entity_types
                else carrying
            )
        }

    def naming(self, entity_type: str) -> tuple[str, ...]:
        """Return the fields with the names of an entity type, which autocompletion uses."""
        return self._naming.get(entity_type, ())

    def facets(self, entity_types: tuple[str, ...] | None) -> Mapping[str, str]:
        """Return the facet fields of the entity types with their labels, the entity type first.

        Structured properties are included if their settings have `showInSearchFilters`.
        """
        own = self.property_fields(entity_types)
        property_labels = {name: own[name].label for name in sorted(own) if own[name].is_facet}
        return (
            {**self._facets(entity_types), **property_labels}
            if property_labels
            else self._facets(entity_types)
        )

    def known_fields(self, entity_types: tuple[str, ...] | None) -> frozenset[str]:
        """Return every name that can be filtered by among the entity types."""
        own = self.property_fields(entity_types)
        return self._known(entity_types) | frozenset(own) if own else self._known(entity_types)

    def find_fields(self, name: str, field_names: frozenset[str]) -> tuple[str, ...]:
        """Return the known fields that a name stands for, itself first; empty if unknown."""
        name = name.removesuffix(".keyword")
        name = _OTHER_NAMES.get(name, name)
        if name == "name":
            return (DISPLAY,)
        if name.startswith(PREFIX):
            # DataHub's own index, and therefore its facets, have underscores instead of dots.
            spellings = (
                field for field in field_names if field.startswith(PREFIX) and _plain(field) == name
            )
            return (name,) if name in field_names else tuple(spellings)[:1]
        candidates = (name, *_ALSO.get(name, ()))
        return tuple(field for field in candidates if field in field_names)

    def facet_fields(self, name: str) -> tuple[str, ...]:
        """Return the fields whose values a facet counts: the fields that a filter on the facet
        uses."""
        return (name, *_ALSO.get(name, ()))

    def resolve(self, name: str, field_names: frozenset[str]) -> tuple[str, ...]:
        """Return the known fields that a name stands for, itself first. Raises `UnknownName` if
        there are none."""
        meant = self.find_fields(name, field_names)
        if not meant:
            raise UnknownName("searchable field", name, field_names)
        return meant

    @cached_property
    def descriptions(self) -> tuple[str, ...]:
        """The prose fields that describe an entity and that free-text search uses.

        Sorted by name.
        """
        return tuple(
            sorted(
                {
                    field.name
                    for by_name in self._declared.values()
                    for fields in by_name.values()
                    for field in fields
                    if field.has == _DESCRIBES and field.queried and self.trait(field.name).prose
                }
            )
        )

    @cached_property
    def facet_names(self) -> frozenset[str]:
        """The facet fields of all entity types, without those of structured properties."""
        return frozenset(self._facets(None))

    def _counting_of(self, fields: tuple[str, ...]) -> tuple[str, ...]:
        own = [name for name in fields if name.startswith(PREFIX)]
        facets = (name for field in (*fields, *VIRTUAL) for name in self._counting.get(field, ()))
        return tuple(dict.fromkeys((*facets, *own)))

    @cached_property
    def _counting(self) -> Mapping[str, tuple[str, ...]]:
        facets_by_field: dict[str, tuple[str, ...]] = {}
        for name in sorted(self.facet_names):
            for field in self.facet_fields(name):
                facets_by_field[field] = (*facets_by_field.get(field, ()), name)
        return facets_by_field

    @cached_property
    def derived(self) -> frozenset[str]:
        """The names of the fields that say whether other fields have values."""
        return frozenset(name for name, trait in self.traits.items() if trait.derived)

    @cached_property
    def digest(self) -> str:
        """A digest of the vocabulary. An index fits only vocabularies with the digest of its
        own."""
        parts = [f"{trait}" for _, trait in sorted(self.traits.items())]
        parts += [
            f"{entity_type} {self.weights(entity_type)} {self.naming(entity_type)} "
            f"{sorted(self._facets((entity_type,)))}"
            for entity_type in sorted(self.registry.entities)
        ]
        return hashlib.blake2b("\n".join(parts).encode(), digest_size=8).hexdigest()

    def _facets_of(self, entity_types: tuple[str, ...] | None) -> dict[str, str]:
        labels_by_field: dict[str, set[str]] = {ENTITY_TYPE: {"Type"}}
        for entity_type in self.registry.entities if entity_types is None else entity_types:
            for name, fields in self._declared[entity_type].items():
                for field in fields:
                    if field.facet:
                        labels_by_field.setdefault(name, set()).update({field.label} - {""})
            if self._is_described(entity_type):
                labels_by_field[DOCUMENTED] = {"Documented"}
        # A label that only some of the entity types have would be wrong for the others' values.
        return {
            name: next(iter(labels)) if len(labels) == 1 else name
            for name, labels in labels_by_field.items()
        }

    def _fields_of(self, entity_types: tuple[str, ...] | None) -> frozenset[str]:
        names = set(_ALWAYS)
        for entity_type in self.registry.entities if entity_types is None else entity_types:
            for fields in self._declared[entity_type].values():
                for field in fields:
                    names |= {field.name, field.has, field.count}
            if self._is_described(entity_type):
                names.add(DOCUMENTED)
        return frozenset(names - {""})

    def _is_described(self, entity_type: str) -> bool:
        return not self._declared[entity_type].keys().isdisjoint(DESCRIPTIONS)

    def _names_in(self, declared: Mapping[str, list[SearchField]]) -> tuple[str, ...]:
        return tuple(
            name
            for name, fields in declared.items()
            if any(field.autocomplete for field in fields) and self.trait(name).nature == "text"
        )

    def _traits(self) -> dict[str, Trait]:
        gathered: dict[str, list[SearchField]] = {}
        traits = {
            URN: Trait(URN, "text"),
            ENTITY_TYPE: Trait(ENTITY_TYPE, "term"),
            REMOVED: Trait(REMOVED, "boolean"),
            DISPLAY: Trait(DISPLAY, "text"),
            USE: Trait(USE, "number"),
            DOCUMENTED: Trait(DOCUMENTED, "boolean"),
        }
        for by_name in self._declared.values():
            for name, fields in by_name.items():
                gathered.setdefault(name, []).extend(fields)
                for field in fields:
                    if field.has:
                        traits[field.has] = Trait(field.has, "boolean", derived=True)
                    if field.count:
                        traits[field.count] = Trait(field.count, "number")
        guide = guide_to(self.registry)
        return traits | {
            name: replace(_trait(name, fields), targets=guide.fields[name].targets)
            for name, fields in gathered.items()
        }


def _plain(name: str) -> str:
    return PREFIX + name.removeprefix(PREFIX).replace(".", "_")


_ALWAYS = frozenset({URN, ENTITY_TYPE, REMOVED, "name", USE})


def _fields_of(registry: Registry, entity_type: str) -> Iterable[SearchField]:
    for name in registry.aspects_of(entity_type):
        if name in registry.aspects:
            yield from registry.aspects[name].search


def _weights(declared: Mapping[str, list[SearchField]]) -> dict[str, float]:
    return {
        name: max(field.weight for field in fields if field.queried)
        for name, fields in declared.items()
        if any(field.queried for field in fields)
    }


def _trait(name: str, fields: list[SearchField]) -> Trait:
    kinds = {field.kind for field in fields}
    if "DATETIME" in kinds:
        return Trait(name, "date")
    if kinds & _NUMBERS:
        return Trait(name, "number")
    if kinds == {"BOOLEAN"}:
        return Trait(name, "boolean")
    if kinds <= _TERMS:
        return Trait(name, "term")
    steps = {field.path.rpartition(".")[2] for field in fields}
    return Trait(
        name,
        "text",
        prose="TEXT" in kinds and not steps & _UNDIVIDED,
        column="fieldPath" in steps,
    )
