"""Display names of entities, of their types and of model terms, and the sort order of names."""

import re
from collections.abc import Mapping
from typing import Any

from explorer.metadata.aspects import asserted_columns, asserted_entity
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn

# The aspects and fields that contain names, best first: those edited by people, then those
# ingested.
_TOLD = (
    ("editableDatasetProperties", "name"),
    ("editableERModelRelationshipProperties", "name"),
    ("corpUserEditableInfo", "displayName"),
    ("datasetProperties", "name"),
    ("containerProperties", "name"),
    ("chartInfo", "title"),
    ("dashboardInfo", "title"),
    ("dataFlowInfo", "name"),
    ("dataJobInfo", "name"),
    ("corpUserInfo", "displayName"),
    ("corpUserInfo", "fullName"),
    ("corpGroupInfo", "displayName"),
    ("tagProperties", "name"),
    ("glossaryTermInfo", "name"),
    ("glossaryNodeInfo", "name"),
    ("domainProperties", "name"),
    ("dataPlatformInfo", "displayName"),
    ("dataPlatformInfo", "name"),
    ("dataProductProperties", "name"),
    ("propertyDefinition", "displayName"),
    ("businessAttributeInfo", "name"),
    ("metricInfo", "name"),
    ("semanticModelInfo", "name"),
    # The ids of these entities mean nothing to people.
    ("assertionInfo", "description"),
    ("incidentInfo", "title"),
    ("schemafieldInfo", "name"),
)
NAME_ASPECTS = tuple(dict.fromkeys(aspect for aspect, _ in _TOLD))
"""The aspects that usually contain names."""
_ENDINGS = ("Properties", "Info")
_FIELDS = ("displayName", "name", "title")


def is_name(value: object) -> bool:
    """Return whether a value is a string that is not blank."""
    return isinstance(value, str) and bool(value.strip())


def display_name(urn: Urn, aspects: Mapping[str, Any]) -> str:
    """Return the name by which an entity is displayed and found: the edited name, else the ingested
    one, else the one in its URN. `aspects` are the values of its latest aspects, by aspect name."""
    for aspect, field in _TOLD:
        # An entity has few of these aspects.
        if aspect in aspects and (text := _text(aspects[aspect], field)):
            return text
    if text := assertion_name(aspects.get("assertionInfo")):
        return text
    for aspect in sorted(aspects):
        if aspect.endswith(_ENDINGS) and aspect not in NAME_ASPECTS:
            for field in _FIELDS:
                if text := _text(aspects[aspect], field):
                    return text
    return FieldPath(urn.name).simple if urn.entity_type == "schemaField" else urn.name


def assertion_name(info: Any) -> str:
    """Return the name that an assertion has in the tool that runs it, from its `assertionInfo`;
    empty if it has none.

    The name of a dbt test, `not_null_orders_order_id`, is returned unchanged. Other names are
    followed by the columns and the table checked: `unique id of orders`.
    """
    if not isinstance(info, dict):
        return ""
    native = next((name for part in info.values() if (name := _text(part, "nativeType"))), "")
    paths = asserted_columns(info)
    if not native or not paths:
        return native
    columns = [FieldPath(path).simple for path in paths]
    urn = Urn.parse_all([asserted_entity(info)])
    table = urn[0].name.rpartition(".")[2] if urn else ""
    folded_name = native.casefold()
    if any(part.casefold() in folded_name for part in (*columns, table) if part):
        return native
    return f"{native} {', '.join(columns)}" + (f" of {table}" if table else "")


def _text(value: Any, field: str) -> str:
    text = value.get(field) if isinstance(value, dict) else None
    return text if isinstance(text, str) and text.strip() else ""


_DIGITS = re.compile(r"\d+")
_MOST_DIGITS = 99

_WORDS = {
    "corpuser": ("person", "people"),
    "corpGroup": ("group", "groups"),
    "dataFlow": ("pipeline", "pipelines"),
    "dataJob": ("task", "tasks"),
    "dataPlatform": ("platform", "platforms"),
    "dataPlatformInstance": ("platform instance", "platform instances"),
    "dataProduct": ("data product", "data products"),
    "glossaryNode": ("glossary group", "glossary groups"),
    "glossaryTerm": ("glossary term", "glossary terms"),
    "mlFeature": ("ML feature", "ML features"),
    "mlFeatureTable": ("ML feature table", "ML feature tables"),
    "mlModel": ("ML model", "ML models"),
    "mlModelGroup": ("ML model group", "ML model groups"),
    "mlPrimaryKey": ("ML primary key", "ML primary keys"),
    "query": ("query", "queries"),
    "schemaField": ("column", "columns"),
    "structuredProperty": ("structured property", "structured properties"),
}


def singular(entity_type: str) -> str:
    """Return the singular of an entity type; without a word of its own, the name of the type."""
    return _WORDS.get(entity_type, (entity_type,))[0]


def plural(entity_type: str) -> str:
    """Return the plural of an entity type; without a word of its own, the plural of its name:
    structuredProperties, entityTypes."""
    words = _WORDS.get(entity_type)
    if words is not None:
        return words[1]
    ends_in_y = entity_type.endswith("y") and entity_type[-2:-1] not in ("a", "e", "o", "u")
    return f"{entity_type[:-1]}ies" if ends_in_y else f"{entity_type}s"


def ownership(kind: str) -> str:
    """Return the display name of an ownership type: `TECHNICAL_OWNER` is a technical owner, as is
    the id of its entity, `__system__technical_owner`."""
    words = (
        kind.removeprefix("__system__").replace("_", " ").lower().replace("dataowner", "data owner")
    )
    return "owner" if words in ("none", "") else words


def natural_key(name: str) -> str:
    """Return a sort key in natural order, s2 before S10, ignoring case."""
    return _DIGITS.sub(_with_length, name.casefold())


def _with_length(match: re.Match[str]) -> str:
    """Return digits prefixed by their count, so that they sort as numbers when compared as text;
    Python does not parse integers of thousands of digits."""
    digits = match[0].lstrip("0")
    length = len(digits)
    return (
        f"{length:02d}{digits}" if length < _MOST_DIGITS else f"{_MOST_DIGITS}{length:06d}{digits}"
    )
