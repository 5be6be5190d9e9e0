"""The registry: every entity, aspect, record, searchable field and relationship, as data.

The file that ships (`registry.json`) holds the facts of the DataHub model, read by
`explorer.metadata.derive`; what this service holds beside it is in `own_entities.json`. A
deployment adds its own entities and aspects with another file of the same form
(`Registry.extended_by`), and no code.

Types in the file are short expressions:

    string  boolean  int  long  float  double  bytes
    com.linkedin.common.AuditStamp      a record or enum
    array<X>  map<X>  union<X|Y>        union members are one-key objects on the wire
    X?                                  may be left out

The model's types say `string` for fields that hold URNs, so those that no relationship leads to
(the actor of an audit stamp) are listed in `urn_fields.txt`.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, Literal

import msgspec

from explorer.errors import InvalidInput, InvalidUrn, UnknownName
from explorer.metadata.urn import Urn

__all__ = [
    "Aspect",
    "Edge",
    "EntityType",
    "Field",
    "Record",
    "Registry",
    "Relationship",
    "SearchField",
    "edges_of",
    "key_value",
    "load_registry",
    "places",
    "reach",
    "urn_fields",
    "urn_of_key",
]

_PACKAGE = "com.linkedin."


@lru_cache(maxsize=4096)
def urn_fields(record: str) -> frozenset[str]:
    """Return the fields of a record, given by full name, that hold a URN or a list of them; empty
    for a record outside the model."""
    if not record.startswith(_PACKAGE):
        return frozenset()
    return _urn_fields().get(record.rpartition(".")[2], frozenset())


@lru_cache(maxsize=1)
def _urn_fields() -> dict[str, frozenset[str]]:
    lines = _URN_FIELDS.read_text("utf-8").splitlines()
    records = (line.split() for line in lines if not line.startswith("#"))
    return {record: frozenset(fields) for record, *fields in records}


# `importlib.resources` would cost every start 35 ms.
_SHIPPED = Path(__file__).with_name("registry.json")
_OWN = Path(__file__).with_name("own_entities.json")
_URN_FIELDS = Path(__file__).with_name("urn_fields.txt")

SearchKind = Literal[
    "TEXT",
    "TEXT_PARTIAL",
    "WORD_GRAM",
    "KEYWORD",
    "URN",
    "URN_PARTIAL",
    "BOOLEAN",
    "COUNT",
    "DATETIME",
    "DOUBLE",
    "MAP_ARRAY",
    "OBJECT",
    "BROWSE_PATH",
    "BROWSE_PATH_V2",
]


class Field(msgspec.Struct, frozen=True, omit_defaults=True):
    """A field of a record. `type` is a type expression; see the module's docstring."""

    type: str
    default: Any = None

    @property
    def optional(self) -> bool:
        """Whether a value may lack the field."""
        return self.type.endswith("?") or self.default is not None

    @property
    def base(self) -> str:
        """The type without the `?` of optional fields."""
        return self.type.removesuffix("?")


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """A record with its fields by name, or an enum with its symbols."""

    fields: dict[str, Field] = {}
    symbols: tuple[str, ...] = ()


class SearchField(msgspec.Struct, frozen=True, omit_defaults=True):
    """A field of an aspect that can be searched and filtered by.

    `path` leads to its values inside the aspect: names joined by `.`, `*` for every element of an
    array or value of a map, `$key` for the keys of a map.
    """

    name: str
    kind: SearchKind
    path: str
    facet: bool = False
    label: str = ""
    queried: bool = True
    weight: float = 1.0
    autocomplete: bool = False
    has: str = ""
    count: str = ""


class Relationship(msgspec.Struct, frozen=True, omit_defaults=True):
    """A named edge from the entity that carries the aspect to the URNs found at `path`."""

    name: str
    path: str
    to: tuple[str, ...] = ()
    lineage: bool = False
    source_is_upstream: bool = False


class Aspect(msgspec.Struct, frozen=True, omit_defaults=True):
    """An aspect: the record of its value, and what is searchable and related in it."""

    record: str
    timeseries: bool = False
    search: tuple[SearchField, ...] = ()
    relationships: tuple[Relationship, ...] = ()


class EntityType(msgspec.Struct, frozen=True, omit_defaults=True):
    """An entity type: its key aspect and every other aspect it may carry.

    One that is not `listed` is found and counted only where its type is asked for.
    """

    key: str
    aspects: tuple[str, ...] = ()
    listed: bool = True


class _RegistryFile(msgspec.Struct):
    source: str = ""
    entities: dict[str, EntityType] = {}
    aspects: dict[str, Aspect] = {}
    records: dict[str, Record] = {}


class Registry:
    """The vocabulary of a catalog: immutable, with fast look-ups."""

    def __init__(
        self,
        entities: dict[str, EntityType],
        aspects: dict[str, Aspect],
        records: dict[str, Record],
    ) -> None:
        self.entities = entities
        self.aspects = aspects
        self.records = records

    @classmethod
    def from_json(cls, data: bytes, source: str = "registry") -> "Registry":
        """Parse a file in the form above. Raises `InvalidInput` naming the place of the error."""
        try:
            file = msgspec.json.decode(data, type=_RegistryFile)
        except msgspec.DecodeError as error:
            raise InvalidInput(f"{source} is not a registry file: {error}") from error
        return cls(file.entities, file.aspects, file.records)

    def extended_by(self, other: "Registry") -> "Registry":
        """Return this registry with the names of another added.

        An entity in both carries the aspects of both, and is listed only if both list it; any other
        name of the addition replaces ours.
        """
        entities = dict(self.entities)
        for name, entity in other.entities.items():
            ours = entities.get(name)
            names = (*(ours.aspects if ours else ()), *entity.aspects)
            entities[name] = EntityType(
                entity.key or (ours.key if ours else ""),
                tuple(dict.fromkeys(names)),
                entity.listed and (ours is None or ours.listed),
            )
        return Registry(entities, self.aspects | other.aspects, self.records | other.records)

    @cached_property
    def listed(self) -> tuple[str, ...]:
        """The names of the entity types that a query for all types covers."""
        return tuple(name for name, entity in self.entities.items() if entity.listed)

    def entity(self, name: str) -> EntityType:
        """Return the entity type with that name. Raises `UnknownName`, which names alternatives."""
        try:
            return self.entities[name]
        except KeyError:
            raise UnknownName("entity", name, self.entities) from None

    def aspect(self, name: str) -> Aspect:
        """Return the aspect with that name. Raises `UnknownName`, which names alternatives."""
        try:
            return self.aspects[name]
        except KeyError:
            raise UnknownName("aspect", name, self.aspects) from None

    def aspects_of(self, entity_type: str) -> tuple[str, ...]:
        """Return the names of an entity's aspects, its key aspect first."""
        entity = self.entity(entity_type)
        return (entity.key, *entity.aspects)

    def aspect_of(self, entity_type: str, name: str) -> Aspect:
        """Return an aspect of an entity type. Raises `UnknownName` if the type does not carry
        it."""
        names = self.aspects_of(entity_type)
        if name not in names:
            raise UnknownName(f"aspect of {entity_type}", name, names)
        return self.aspect(name)

    def key_fields(self, entity_type: str) -> tuple[str, ...]:
        """Return the names of the key's fields, in the order of the URN's parts."""
        record = self.records[self.aspect(self.entity(entity_type).key).record]
        return tuple(record.fields)

    def aspect_named_by(self, record_name: str) -> str:
        """Return the name of the aspect whose record has that name. Only the last dotted segment is
        compared, so any package prefix is accepted. Raises `UnknownName`."""
        last = record_name.rpartition(".")[2]
        try:
            return self._aspect_by_record[last]
        except KeyError:
            raise UnknownName("aspect record", last, self._aspect_by_record) from None

    def entity_named_by(self, snapshot_name: str) -> str:
        """Return the entity type for the name of a snapshot record (`com.….CorpUserSnapshot` gives
        `corpuser`)."""
        last = snapshot_name.rpartition(".")[2]
        try:
            return self._entity_by_snapshot[last.casefold()]
        except KeyError:
            known = [f"{_capital(name)}Snapshot" for name in self.entities]
            raise UnknownName("snapshot", last, known) from None

    def search_fields(self, entity_types: Iterable[str] | None = None) -> dict[str, SearchField]:
        """Return the searchable fields by name, of the given entities or of all. If several aspects
        declare a name, the first in the entity's order wins."""
        found: dict[str, SearchField] = {}
        for entity_type in self.entities if entity_types is None else entity_types:
            for name in self.aspects_of(entity_type):
                for field in self.aspects[name].search if name in self.aspects else ():
                    found.setdefault(field.name, field)
        return found

    @cached_property
    def relationship_names(self) -> tuple[str, ...]:
        """Return all relationship names, sorted."""
        names = {edge.name for aspect in self.aspects.values() for edge in aspect.relationships}
        return tuple(sorted(names))

    @cached_property
    def lineage_names(self) -> frozenset[str]:
        """Return the names of the relationships that are lineage."""
        return frozenset(
            edge.name
            for aspect in self.aspects.values()
            for edge in aspect.relationships
            if edge.lineage
        )

    @cached_property
    def _aspect_by_record(self) -> dict[str, str]:
        return {aspect.record.rpartition(".")[2]: name for name, aspect in self.aspects.items()}

    @cached_property
    def _entity_by_snapshot(self) -> dict[str, str]:
        return {f"{name}snapshot".casefold(): name for name in self.entities}


@lru_cache(maxsize=8)
def load_registry(addition: Path | None = None) -> Registry:
    """The registry that ships, the model's and what this service holds beside it, with a
    deployment's own file added where one is named.

    Read once and kept. Raises `InvalidInput` when the addition cannot be read.
    """
    model = Registry.from_json(_SHIPPED.read_bytes())
    registry = model.extended_by(Registry.from_json(_OWN.read_bytes()))
    if addition is None:
        return registry
    try:
        own = addition.read_bytes()
    except OSError as error:
        raise InvalidInput(f"cannot read the registry file {addition}: {error}") from error
    return registry.extended_by(Registry.from_json(own, str(addition)))


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]


_COMPOUND = re.compile(r"(array|map|union)<(.*)>", re.DOTALL)


@lru_cache(maxsize=4096)
def read_type(expression: str) -> tuple[str, tuple[str, ...]]:
    """Parse a type expression into its kind and arguments.

    `array<string>` gives `("array", ("string",))`, `union<a|b>` gives `("union", ("a", "b"))`, and
    a plain name gives `("name", (name,))`.
    """
    found = _COMPOUND.fullmatch(expression)
    if found is None:
        return "name", (expression,)
    kind, inner = found.groups()
    if kind != "union":
        return kind, (inner,)
    members: list[str] = []
    depth = 0
    begin = 0
    for at, char in enumerate(inner):
        depth += (char == "<") - (char == ">")
        if char == "|" and depth == 0:
            members.append(inner[begin:at])
            begin = at + 1
    members.append(inner[begin:])
    return kind, tuple(members)


Edge = tuple[Relationship, str]


@lru_cache(maxsize=4096)
def _steps(path: str) -> tuple[str, ...]:
    return tuple(path.split("."))


def reach(value: Any, path: str) -> list[Any]:
    """Return every value at `path`, in order; empty if the path does not exist.

    `*` stands for each element of an array or value of a map, `$key` for the keys of a map.
    """
    return _walk(path)(value)


@lru_cache(maxsize=4096)
def _walk(path: str) -> Callable[[Any], list[Any]]:
    """Return a function that follows a path into a value."""
    before, star, after = path.partition("*")
    if "*" in after or "$key" in path:
        return partial(_reach_step_by_step, _steps(path))
    steps, rest = (_steps(part.strip(".")) if part else () for part in (before, after))

    def descend(value: Any, steps: tuple[str, ...]) -> Any:
        for step in steps:
            if not isinstance(value, dict):
                return None
            value = value.get(step)
        return value

    def reach_one(value: Any) -> list[Any]:
        found = descend(value, steps)
        return [] if found is None else [found]

    def reach_each(value: Any) -> list[Any]:
        inner = _inside(descend(value, steps))
        if len(rest) == 1:
            name = rest[0]
            found = [one.get(name) for one in inner if isinstance(one, dict)]
        else:
            found = [descend(one, rest) for one in inner] if rest else [*inner]
        return [one for one in found if one is not None] if None in found else found

    return reach_each if star else reach_one


def _reach_step_by_step(steps: tuple[str, ...], value: Any) -> list[Any]:
    found = [value]
    for step in steps:
        if step == "*":
            found = [inner for one in found for inner in _inside(one) if inner is not None]
        elif step == "$key":
            found = [key for one in found if isinstance(one, dict) for key in one]
        else:
            found = [
                inner
                for one in found
                if isinstance(one, dict) and (inner := one.get(step)) is not None
            ]
        if not found:
            break
    return found


def places(value: Any, path: str) -> Iterator[str]:
    """Yield the place of each value that `reach` finds, in the same order: `owners[0].owner`."""
    for place, found in _placed(value, _steps(path), ""):
        if found is not None:
            yield place.removeprefix(".")


def _placed(value: Any, steps: tuple[str, ...], place: str) -> Iterator[tuple[str, Any]]:
    if not steps:
        yield place, value
        return
    step, rest = steps[0], steps[1:]
    if step == "*" and isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _placed(inner, rest, f"{place}[{at}]")
    elif step == "*" and isinstance(value, dict):
        for key, inner in value.items():
            yield from _placed(inner, rest, f"{place}[{key!r}]")
    elif step == "$key" and isinstance(value, dict):
        for key in value:
            yield from _placed(key, rest, f"{place}[{key!r}]")
    elif isinstance(value, dict):
        yield from _placed(value.get(step), rest, f"{place}.{step}")


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list | tuple) else ()


def edges_of(aspect: Aspect, value: dict[str, Any]) -> list[Edge]:
    """Return the edges that an aspect's value declares: each relationship with its target URN.

    The order is that of the registry, then that of the value, without repeats. Values that are not
    URNs are skipped.
    """
    found: dict[tuple[str, str], Edge] = {}
    for relationship in aspect.relationships:
        for target in reach(value, relationship.path):
            if isinstance(target, str) and target.startswith("urn:li:"):
                found.setdefault((relationship.name, target), (relationship, target))
    return list(found.values())


def key_value(urn: Urn, key_fields: tuple[str, ...]) -> dict[str, str]:
    """Return the value of an entity's key aspect, parsed from its URN.

    Raises `InvalidUrn` if the URN does not have as many parts as the key has fields.
    """
    if len(urn.parts) != len(key_fields):
        shape = ",".join(f"<{field}>" for field in key_fields)
        expected = f"({shape})" if len(key_fields) > 1 else shape
        raise InvalidUrn(f"expected urn:li:{urn.entity_type}:{expected}, found {urn}")
    return dict(zip(key_fields, urn.parts, strict=True))


def urn_of_key(entity_type: str, key: Any, key_fields: tuple[str, ...]) -> Urn:
    """Return the URN of the entity with that key aspect.

    Raises `InvalidInput` if a part of the key is missing, `InvalidUrn` if the parts do not form a
    URN.
    """
    parts = [key.get(field) if isinstance(key, dict) else None for field in key_fields]
    if not all(isinstance(part, str) and part for part in parts):
        raise InvalidInput(
            f"the key of a {entity_type} has {', '.join(key_fields)}, each a text that is not empty"
        )
    return Urn.parse(str(Urn.of(entity_type, *map(str, parts))))
