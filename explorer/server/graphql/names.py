"""The symbols by which GraphQL knows the kinds of entities."""

import re

__all__ = ["entity_type_symbol"]

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
