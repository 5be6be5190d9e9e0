"""Where the text that people write of an entity is kept, and what writes it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from explorer.client.answers.shape import Json
from explorer.errors import InvalidInput
from explorer.metadata.urn import Urn

__all__ = ["COLUMNS", "Place", "column_info", "column_text", "place_of", "with_column"]

COLUMNS = "editableSchemaMetadata"
"""The aspect with what people wrote of columns."""
_INFOS = "editableSchemaFieldInfo"


@dataclass(frozen=True, slots=True)
class Place:
    """A field of an aspect, and the mutation that sets it.

    `named` and `beside` say what the aspect cannot be without, where there is none yet.
    """

    aspect: str
    mutation: str = "updateDescription"
    field: str = "description"
    named: bool = False
    beside: Mapping[str, Any] | None = None

    def text(self, value: Json) -> str | None:
        """The text that the aspect holds."""
        held = value.get(self.field)
        return held if isinstance(held, str) else None

    def with_text(self, urn: Urn, value: Json, text: str) -> Json:
        """The aspect with that text."""
        start = {**(self.beside or {}), **({"name": urn.name} if self.named else {})}
        return {**start, **value, self.field: text}


_PLACES: Mapping[str, Place] = {
    "dataset": Place("editableDatasetProperties", "updateDataset"),
    "chart": Place("editableChartProperties", "updateChart"),
    "dashboard": Place("editableDashboardProperties", "updateDashboard"),
    "dataFlow": Place("editableDataFlowProperties", "updateDataFlow"),
    "dataJob": Place("editableDataJobProperties", "updateDataJob"),
    "container": Place("editableContainerProperties"),
    "tag": Place("tagProperties", named=True),
    "domain": Place("domainProperties", named=True),
    "glossaryTerm": Place(
        "glossaryTermInfo", field="definition", beside={"termSource": "INTERNAL"}
    ),
    "glossaryNode": Place("glossaryNodeInfo", field="definition"),
    "dataProduct": Place("dataProductProperties"),
    "corpGroup": Place("corpGroupEditableInfo"),
    "mlModel": Place("editableMlModelProperties"),
    "mlModelGroup": Place("editableMlModelGroupProperties"),
    "mlFeature": Place("editableMlFeatureProperties"),
    "mlFeatureTable": Place("editableMlFeatureTableProperties"),
    "mlPrimaryKey": Place("editableMlPrimaryKeyProperties"),
    "notebook": Place("editableNotebookProperties"),
    "application": Place("applicationProperties"),
    "businessAttribute": Place("businessAttributeInfo", named=True, beside={"fieldPath": ""}),
}


def place_of(urn: Urn, column: str | None) -> Place:
    """Where the text of an entity is kept; raises `InvalidInput` where none can be written."""
    place = _PLACES.get(urn.entity_type)
    if place is None:
        raise InvalidInput(
            f"the description of a {urn.entity_type} cannot be edited; "
            f"those of these can: {', '.join(sorted(_PLACES))}"
        )
    if column is not None and urn.entity_type != "dataset":
        raise InvalidInput(f"only a dataset has columns, not a {urn.entity_type}")
    return place


def column_text(value: Json, column: str) -> str | None:
    """What people wrote of a column, out of the aspect for columns."""
    held = column_info(value, column).get("description")
    return held if isinstance(held, str) else None


def column_info(value: Json, column: str) -> Json:
    """All that people said of a column."""
    infos = value.get(_INFOS) or ()
    return next((info for info in infos if info.get("fieldPath") == column), {})


def with_column(value: Json, column: str, changed: Json) -> Json:
    """The aspect for columns with something else said of one; the others stay as they are."""
    infos = list(value.get(_INFOS) or ())
    new = {**changed, "fieldPath": column}
    if any(info.get("fieldPath") == column for info in infos):
        infos = [new if info.get("fieldPath") == column else info for info in infos]
    else:
        infos.append(new)
    return {**value, _INFOS: infos}
