"""The symbols by which GraphQL knows kinds of entities and owners, and where texts are kept."""

import re
from collections.abc import Mapping
from typing import Any

__all__ = [
    "BUILT_IN_OWNERSHIP",
    "DESCRIBED",
    "entity_type_symbol",
    "kind_of_owner",
    "ownership_type",
]

BUILT_IN_OWNERSHIP = "urn:li:ownershipType:__system__"
"""How the URNs of those kinds of ownership begin that every catalog has, stored or not."""

DESCRIBED: Mapping[str, tuple[str, str]] = {
    "container": ("editableContainerProperties", "description"),
    "domain": ("domainProperties", "description"),
    "glossaryTerm": ("glossaryTermInfo", "definition"),
    "glossaryNode": ("glossaryNodeInfo", "definition"),
    "tag": ("tagProperties", "description"),
    "corpGroup": ("corpGroupEditableInfo", "description"),
    "notebook": ("editableNotebookProperties", "description"),
    "mlModel": ("editableMlModelProperties", "description"),
    "mlModelGroup": ("editableMlModelGroupProperties", "description"),
    "mlFeature": ("editableMlFeatureProperties", "description"),
    "mlFeatureTable": ("editableMlFeatureTableProperties", "description"),
    "mlPrimaryKey": ("editableMlPrimaryKeyProperties", "description"),
    "dataProduct": ("dataProductProperties", "description"),
    "businessAttribute": ("businessAttributeInfo", "description"),
    "application": ("applicationProperties", "description"),
}
"""The aspect and field with the text that updateDescription sets, by entity type."""
_IRREGULAR = {
    "corpuser": "CORP_USER",
    "mlModel": "MLMODEL",
    "mlModelGroup": "MLMODEL_GROUP",
    "mlModelDeployment": "MLMODEL_DEPLOYMENT",
    "mlFeature": "MLFEATURE",
    "mlFeatureTable": "MLFEATURE_TABLE",
    "mlPrimaryKey": "MLPRIMARY_KEY",
}
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def entity_type_symbol(entity_type: str) -> str:
    """The symbol of an entity type: `DATA_PLATFORM` for `dataPlatform`."""
    irregular = _IRREGULAR.get(entity_type)
    if irregular is not None:
        return irregular
    return _HUMP.sub("_", entity_type.replace("dataHub", "datahub")).upper()


def ownership_type(owner: Mapping[str, Any]) -> str:
    """The kind of ownership as a URN; owners ingested long ago have a word alone."""
    return owner.get("typeUrn") or f"{BUILT_IN_OWNERSHIP}{owner.get('type', 'NONE').lower()}"


def kind_of_owner(owner: Mapping[str, Any]) -> str:
    """The kind of ownership as people write it: a word (`DATA_STEWARD`) for those that every
    catalog has, the URN of an ownership type for others."""
    kind = ownership_type(owner)
    word = kind.removeprefix(BUILT_IN_OWNERSHIP)
    return word.upper() if word != kind else kind
