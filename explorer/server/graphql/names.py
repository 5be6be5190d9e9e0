"""The symbols by which GraphQL knows the kinds of entities, and where their texts are kept."""

import re
from collections.abc import Mapping

__all__ = ["DESCRIBED", "entity_type_symbol"]

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
