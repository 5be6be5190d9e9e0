"""What people call an entity: one rule for what is searched and for what is shown."""

from collections.abc import Mapping
from typing import Any

from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn

__all__ = ["NAME_ASPECTS", "display_name"]

# Where names are told, best first: what a person edited, then what was ingested.
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
    # Their ids say nothing to people.
    ("assertionInfo", "description"),
    ("incidentInfo", "title"),
    ("schemafieldInfo", "name"),
)
NAME_ASPECTS = tuple(dict.fromkeys(aspect for aspect, _ in _TOLD))
"""The aspects in which names are usually told."""
_ENDINGS = ("Properties", "Info")
_FIELDS = ("displayName", "name", "title")


def display_name(urn: Urn, aspects: Mapping[str, Any]) -> str:
    """The name to show and to find an entity by: the edited one, else the ingested one, else what
    its URN says. `aspects` are the values of its latest aspects by aspect name."""
    for aspect, field in _TOLD:
        if found := _text(aspects.get(aspect), field):
            return found
    for aspect in sorted(aspects):
        if aspect.endswith(_ENDINGS) and aspect not in NAME_ASPECTS:
            for field in _FIELDS:
                if found := _text(aspects[aspect], field):
                    return found
    return FieldPath(urn.name).simple if urn.entity_type == "schemaField" else urn.name


def _text(value: Any, field: str) -> str:
    found = value.get(field) if isinstance(value, dict) else None
    return found if isinstance(found, str) and found.strip() else ""
