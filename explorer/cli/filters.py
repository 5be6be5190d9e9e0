"""Filters as they are typed, `platform=snowflake`, read into those that a server takes."""

import re
from collections.abc import Iterable

from explorer.errors import InvalidInput
from explorer.metadata.filters import Criterion, Filter, all_of
from explorer.metadata.registry import Registry

__all__ = ["read_filters"]

_FORM = re.compile(r"([A-Za-z_][\w.]*)(!?=)(.+)", re.DOTALL)

# The model declares no relationship for this one field that holds URNs.
_PLATFORM = {"platform": ("dataPlatform",)}


def read_filters(texts: Iterable[str], registry: Registry) -> Filter:
    """The filter that all of `texts` ask for together.

    Each is FIELD=VALUE or FIELD!=VALUE. Values of one field are alternatives; excluded ones are
    all excluded. For a field that holds URNs the bare name will do: `tags=PII` is
    `tags=urn:li:tag:PII`. Raises `InvalidInput` for another form.
    """
    asked: dict[tuple[str, bool], list[str]] = {}
    for text in texts:
        found = _FORM.fullmatch(text.strip())
        if found is None:
            raise InvalidInput(f"a filter reads FIELD=VALUE, such as platform=hive, not {text!r}")
        field, sign, value = found.groups()
        values = _spellings(field, value.strip(), registry)
        asked.setdefault((field, sign == "!="), []).extend(values)
    return all_of(
        *(
            Criterion(field, tuple(dict.fromkeys(values)), "EQUAL", negated)
            for (field, negated), values in asked.items()
        )
    )


def _spellings(field: str, value: str, registry: Registry) -> list[str]:
    """What a value may stand for: itself, or the URNs of that name that the field can hold."""
    types = _PLATFORM.get(field) or _entities_in(field, registry)
    if value.startswith("urn:li:") or not types:
        return [value]
    return [f"urn:li:{entity_type}:{value}" for entity_type in types]


def _entities_in(field: str, registry: Registry) -> tuple[str, ...]:
    """The entity types, with keys of one part, whose URNs a searchable field holds."""
    found = {
        target
        for aspect in registry.aspects.values()
        for searchable in aspect.search
        if searchable.name == field and searchable.kind.startswith("URN")
        for edge in aspect.relationships
        if edge.path == searchable.path
        for target in edge.to
        if target in registry.entities and len(registry.key_fields(target)) == 1
    }
    return tuple(sorted(found))
