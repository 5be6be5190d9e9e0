"""The fields a filter can have: those of the registry, their types, and their aliases."""

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import Final, Literal

from explorer.metadata.names import plural, singular
from explorer.metadata.registry import Registry, SearchField
from explorer.metadata.structured_properties import PREFIX
from explorer.query.filters import DOCUMENTED, Criterion

Nature = Literal["text", "urn", "number", "date", "boolean", "type"]

ENTITY_TYPE: Final = "_entityType"
_KEYWORD: Final = ".keyword"
_LONGEST_NAME: Final = 80

USE: Final = "queryCountLast30DaysFeature"
"""The field with the number of queries in 30 days, which DataHub Cloud has as well."""
DESCRIPTIONS: Final = frozenset({"description", "editedDescription", "definition"})
"""The fields that hold descriptions of entities."""

STATE: Final = "is"
"""The pseudo-field for states, as in `is:undocumented`."""
STATES: Final[Mapping[str, Criterion]] = {
    "documented": Criterion(DOCUMENTED, ("true",)),
    "undocumented": Criterion(DOCUMENTED, ("false",)),
    "owned": Criterion("owners", (), "EXISTS"),
    "unowned": Criterion("owners", (), "IS_NULL"),
    "deprecated": Criterion("deprecated", ("true",)),
    "removed": Criterion("removed", ("true",)),
}
"""The states that can be queried, with their criteria."""

# Aliases of fields. An alias is ignored if a field has that name.
ALIASES: Final[Mapping[str, str]] = {
    "column": "fieldPaths",
    "columns": "fieldPaths",
    "domain": "domains",
    "entityType": ENTITY_TYPE,
    "env": "origin",
    "environment": "origin",
    "glossaryTerm": "glossaryTerms",
    "instance": "platformInstance",
    "modified": "lastModifiedAt",
    "owner": "owners",
    "product": "dataProduct",
    "rows": "rowCount",
    "size": "sizeInBytes",
    "subtype": "typeNames",
    "subtypes": "typeNames",
    "tag": "tags",
    "term": "glossaryTerms",
    "terms": "glossaryTerms",
    "updated": "lastModifiedAt",
    "usage": USE,
    "use": USE,
}

# These are fields, but mean the entity type if all values are entity types, and the subtype, which
# results show as the type, if all values are the usual ones of connectors.
_TYPE_WORDS: Final = frozenset({"type", "entity"})
_SUBTYPE: Final = "typeNames"
_SUBTYPES: Final = frozenset(
    {"table", "view", "topic", "schema", "database", "file", "files", "folder", "stream"}
)

# Fields that hold URNs of one type although the model declares no relationship for them.
_HELD: Final = {"platform": ("dataPlatform",), "dataProduct": ("dataProduct",)}

# What a filter finds with all that is part of it: groups of terms, for terms.
_PARENTS: Final[Mapping[str, str]] = {
    "container": "container",
    "domain": "domain",
    "glossaryNode": "glossaryNode",
    "glossaryTerm": "glossaryNode",
}

_ALWAYS: Final[Mapping[str, tuple[Nature, str]]] = {
    "urn": ("text", "URN"),
    "name": ("text", "Name"),
    ENTITY_TYPE: ("type", "Type"),
    "removed": ("boolean", "Soft-deleted"),
    DOCUMENTED: ("boolean", "Documented"),
    USE: ("number", "Queries in 30 days"),
}


@dataclass(frozen=True, slots=True)
class FilterField:
    """A field to filter or sort by. `targets` are the entity types that a bare name can refer
    to."""

    name: str
    nature: Nature = "text"
    targets: tuple[str, ...] = ()
    label: str = ""
    is_facet: bool = False

    @property
    def parents(self) -> tuple[str, ...]:
        """The entity types that a bare name before `/*` can refer to; empty for a field whose
        values have none below them."""
        return tuple(_PARENTS[target] for target in self.targets if target in _PARENTS)


class FieldGuide:
    """The fields of a registry, by name. Immutable."""

    def __init__(self, registry: Registry | None) -> None:
        self.is_blind = registry is None
        self.fields = _fields(registry) if registry else {}
        self.aliases = {
            alias: name
            for alias, name in ALIASES.items()
            if alias not in self.fields and (registry is None or name in self.fields)
        }
        self.entity_types = registry.listed if registry else ()
        entities = registry.entities if registry else ()
        self._types = {
            _plain(word): name for name in entities for word in (singular(name), plural(name))
        } | {_plain(name): name for name in entities}
        self._also: dict[str, list[str]] = {}
        for alias, name in self.aliases.items():
            self._also.setdefault(name, []).append(alias)
        self._words = {name: self._words_for(field) for name, field in self.fields.items()}
        self._folded: dict[str, str] = {}
        for spelling in (*self.fields, *self.aliases):
            self._folded.setdefault(spelling.casefold(), self.aliases.get(spelling, spelling))

    def exactly(self, name: str) -> FilterField | None:
        """Return the field with exactly this name, which may end in `.keyword`, or a field for any
        structured property."""
        field = self.fields.get(name.removesuffix(_KEYWORD))
        if field is None and name.startswith(PREFIX) and name != PREFIX:
            # Structured properties are defined per catalog and are not in the registry.
            return FilterField(name)
        if field is None or field.name == name:
            return field
        return FilterField(name, field.nature, field.targets, field.label)

    def field_for(self, name: str, *, strict: bool = True) -> FilterField | None:
        """Return the field for a word: by name, by alias, or with `strict` by name ignoring
        case."""
        field = self.exactly(name)
        if field is None and name in self.aliases:
            field = self.exactly(self.aliases[name]) or FilterField(self.aliases[name])
        if field is None and strict and name.casefold() in self._folded:
            field = self.exactly(self._folded[name.casefold()])
        return field

    def also(self, name: str) -> tuple[str, ...]:
        """Return the aliases of a field."""
        return tuple(self._also.get(name, ()))

    def words(self, field: FilterField) -> tuple[str, ...]:
        """Return the names of a field in lower case: its name, label and aliases."""
        return self._words.get(field.name) or self._words_for(field)

    def _words_for(self, field: FilterField) -> tuple[str, ...]:
        words = (field.name, field.label, *self.also(field.name))
        return tuple(word.casefold() for word in words if word)

    def near(self, name: str) -> tuple[str, ...]:
        """Return fields with similar names, best first, at most three."""
        if len(name) > _LONGEST_NAME:
            return ()
        similar = get_close_matches(name.casefold(), self._folded, n=3)
        return tuple(dict.fromkeys(self._folded[spelling] for spelling in similar))

    def is_type(self, text: str) -> bool:
        """Return whether a text names an entity type; see `find_type`."""
        return self.find_type(text) is not None

    def find_type(self, text: str) -> str | None:
        """Return the registry's name of an entity type given in any server's spelling, or in words
        such as `person` or `glossary terms`; `None` if the type is unknown."""
        return self._types.get(_plain(text))

    def near_types(self, text: str) -> tuple[str, ...]:
        """Return entity types with similar names, best first, at most three."""
        similar = get_close_matches(_plain(text[:_LONGEST_NAME]), self._types, n=3, cutoff=0.7)
        return tuple(self._types[spelling] for spelling in similar)

    def field_meant(self, field: str, values: tuple[str, ...]) -> str:
        """Return the field that a name with these values refers to: the entity type for
        `type:dataset`, the subtype for `type:view`, although the model has a field `type`.

        The values of that field are in capitals, as in `type:TABLE`.
        """
        if field not in _TYPE_WORDS or not values or any(value.isupper() for value in values):
            return field
        if all(map(self.is_type, values)):
            return ENTITY_TYPE
        return _SUBTYPE if all(map(self.is_subtype, values)) else field

    def is_subtype(self, text: str) -> bool:
        """Return whether a text is a usual subtype, such as `table`, and can be filtered by."""
        return _SUBTYPE in self.fields and text.casefold() in _SUBTYPES


@lru_cache(maxsize=8)
def guide_to(registry: Registry | None) -> FieldGuide:
    """Return the cached guide to a registry's fields; without a registry, a guide without
    fields."""
    return FieldGuide(registry)


def _plain(text: str) -> str:
    return text.replace("_", "").replace(" ", "").casefold()


def _fields(registry: Registry) -> dict[str, FilterField]:
    declared: dict[str, list[SearchField]] = {}
    targets: dict[str, set[str]] = {}
    for name in dict.fromkeys(
        name for entity in registry.entities for name in registry.aspects_of(entity)
    ):
        aspect = registry.aspects.get(name)
        for field in aspect.search if aspect else ():
            declared.setdefault(field.name, []).append(field)
            for edge in aspect.relationships if aspect else ():
                if edge.path == field.path:
                    targets.setdefault(field.name, set()).update(edge.to)
    fields_by_name: dict[str, FilterField] = {}
    for fields in declared.values():
        for field in fields:
            if field.has:
                fields_by_name[field.has] = FilterField(field.has, "boolean")
            if field.count:
                fields_by_name[field.count] = FilterField(field.count, "number")
    for name, fields in declared.items():
        target_types = _HELD.get(name) or sorted(targets.get(name, ()))
        fields_by_name[name] = FilterField(
            name,
            nature := _nature({field.kind for field in fields}),
            tuple(target_type for target_type in target_types if _is_plain(registry, target_type))
            if nature == "urn"
            else (),
            next((field.label for field in fields if field.label), ""),
            any(field.facet for field in fields),
        )
    for name, (nature, label) in _ALWAYS.items():
        fields_by_name[name] = FilterField(
            name, nature, (), label, name in (ENTITY_TYPE, DOCUMENTED)
        )
    return fields_by_name


def _nature(kinds: set[str]) -> Nature:
    if "DATETIME" in kinds:
        return "date"
    if kinds & {"COUNT", "DOUBLE"}:
        return "number"
    if kinds == {"BOOLEAN"}:
        return "boolean"
    return "urn" if kinds <= {"URN", "URN_PARTIAL"} else "text"


def _is_plain(registry: Registry, entity_type: str) -> bool:
    """Return whether a URN of that type is a bare name after the type."""
    return entity_type in registry.entities and len(registry.key_fields(entity_type)) == 1
