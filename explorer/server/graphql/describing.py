"""Descriptions, names, and edits of several parts at once."""

from collections.abc import Callable, Mapping
from typing import Any

from explorer.errors import InvalidInput, NotFound
from explorer.metadata.urn import Urn
from explorer.server.graphql.labelling import replace_tags
from explorer.server.graphql.linking import replace_links
from explorer.server.graphql.names import DESCRIBED
from explorer.server.graphql.owning import replace_owners
from explorer.server.graphql.pen import Given, Pen
from explorer.server.graphql.standing import set_deprecation

__all__ = ["rename", "update", "update_dataset", "update_description", "update_tag"]

# The aspect with what people wrote about an entity of the types that have an update of their own.
_EDITABLE: Mapping[str, str] = {
    "dataset": "editableDatasetProperties",
    "chart": "editableChartProperties",
    "dashboard": "editableDashboardProperties",
    "dataFlow": "editableDataFlowProperties",
    "dataJob": "editableDataJobProperties",
}
# Where the names that people may change are kept.
_NAMES: Mapping[str, tuple[str, str]] = {
    "glossaryTerm": ("glossaryTermInfo", "name"),
    "glossaryNode": ("glossaryNodeInfo", "name"),
    "domain": ("domainProperties", "name"),
    "corpGroup": ("corpGroupInfo", "displayName"),
    "dataProduct": ("dataProductProperties", "name"),
}


def update_description(pen: Pen, given: Given) -> None:
    """Set the description of a dataset's column, or of an entity of one of DESCRIBED's types; for
    DataHub's callers, whose agents send it, also of a dataset, chart, dashboard, flow or job.

    An aspect that is not there yet is begun with what it cannot be without. Raises `InvalidInput`
    for anything else, `NotFound` for an entity or a column that is not there.
    """
    urn, path = Urn.parse(given["resourceUrn"]), given.get("subResource")
    text = given["description"]
    editable = _EDITABLE.get(urn.entity_type)
    if editable is not None and path is None and pen.dialect == "datahub":
        pen.stored_entity(str(urn))
        pen.write(urn, editable, {"description": text})
        return
    if urn.entity_type == "dataset" and path is None:
        raise InvalidInput(
            "Update description without subresource is not currently supported; "
            "name a column with subResource, or use updateDataset"
        )
    if urn.entity_type != "dataset" and (urn.entity_type not in DESCRIBED or path is not None):
        raise InvalidInput(
            "updateDescription takes a column of a dataset (subResource), or one of these: "
            f"{', '.join(DESCRIBED)}; not {'a column of ' if path is not None else ''}{urn}"
        )
    pen.stored_entity(str(urn))
    if path is not None:
        pen.change_column(urn, path, lambda info: {**info, "description": text})
        return
    aspect, field = DESCRIBED[urn.entity_type]
    begun: Given = {} if pen.read(urn, aspect) else _begun(urn)
    pen.write(urn, aspect, {**begun, field: text})


def _begun(urn: Urn) -> dict[str, str]:
    """Return what the aspect with a description has at least."""
    match urn.entity_type:
        case "tag" | "domain":
            return {"name": urn.name}
        case "glossaryTerm":
            return {"termSource": "INTERNAL"}
        case "businessAttribute":
            return {"name": urn.name, "fieldPath": urn.name}
    return {}


def update_dataset(pen: Pen, urn: Urn, given: Given) -> None:
    """Set what is given of a dataset; a part left out stays as it is."""
    update("dataset", "editableDatasetProperties")(pen, urn, given)
    if links := given.get("institutionalMemory"):
        replace_links(pen, urn, links["elements"])
    if columns := given.get("editableSchemaMetadata"):
        _replace_columns(pen, urn, columns)
    if deprecation := given.get("deprecation"):
        set_deprecation(pen, urn, deprecation)


def update(entity_type: str, aspect: str) -> Callable[[Pen, Urn, Given], None]:
    """Sets what is given of an entity of a type, whose edited description is in that aspect."""

    def change(pen: Pen, urn: Urn, given: Given) -> None:
        if urn.entity_type != entity_type:
            raise InvalidInput(f"{urn} is no {entity_type}")
        if editable := given.get("editableProperties"):
            pen.write(urn, aspect, {"description": editable["description"]})
        if owners := given.get("ownership"):
            replace_owners(pen, urn, owners)
        if tags := given.get("tags") or given.get("globalTags"):
            replace_tags(pen, urn, tags)

    return change


def update_tag(pen: Pen, urn: Urn, given: Given) -> None:
    """Set the name of a tag, its description and its owners as far as they are given."""
    if urn.entity_type != "tag":
        raise InvalidInput(f"{urn} is no tag")
    said = {"name": given["name"], "description": given.get("description")}
    pen.write(
        urn, "tagProperties", {key: value for key, value in said.items() if value is not None}
    )
    if owners := given.get("ownership"):
        replace_owners(pen, urn, owners)


def rename(pen: Pen, given: Given) -> None:
    """Give an entity another name."""
    urn = pen.stored_entity(given["urn"])
    if urn.entity_type not in _NAMES:
        raise InvalidInput(f"{urn} has no name to change; those have one: {', '.join(_NAMES)}")
    aspect, field = _NAMES[urn.entity_type]
    if not pen.read(urn, aspect) and urn.entity_type != "domain":
        raise NotFound(f"{urn} has no {aspect}, in which its name would be; write that first")
    pen.write(urn, aspect, {field: given["name"]})


def _replace_columns(pen: Pen, urn: Urn, given: Given) -> None:
    infos = []
    for info in given["editableSchemaFieldInfo"]:
        one: dict[str, Any] = {"fieldPath": info["fieldPath"]}
        if info.get("description") is not None:
            one["description"] = info["description"]
        if info.get("globalTags"):
            tags = [
                {"tag": pen.stored_reference(tag["tag"]["urn"], "tag", "tag")}
                for tag in info["globalTags"].get("tags") or ()
            ]
            one["globalTags"] = {"tags": tags}
        infos.append(one)
    pen.write(urn, "editableSchemaMetadata", {"editableSchemaFieldInfo": infos})
