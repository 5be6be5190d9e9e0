"""How documents that people and agents wrote are answered, and those about an entity."""

from typing import Any

from explorer.metadata.urn import Urn
from explorer.query.filters import Criterion, Filter
from explorer.server.graphql.asking import page_bounds
from explorer.server.graphql.aspects import parents
from explorer.server.graphql.assembly import Resolvers
from explorer.server.graphql.fields import (
    Resolver,
    Value,
    custom_properties,
    entities,
    entity,
    or_else,
    stored,
)
from explorer.server.graphql.finding import found
from explorer.server.graphql.nodes import Info, Node
from explorer.server.graphql.shapes import GENERIC, SHAPES
from explorer.server.search.page import SearchQuery

__all__ = ["RESOLVERS"]

# Documents that say of no platform that they are from it were written here.
_HERE = "urn:li:dataPlatform:datahub"
_ANY_OF = {"parentDocuments": "parentDocument", "types": "typeNames", "domains": "domains"}


def _platform(node: Node, info: Info) -> Any:
    return info.context.refer(node.platform() or _HERE, info)


def _sub_type(node: Node, _info: Info) -> str | None:
    names = (node.aspect("subTypes") or {}).get("typeNames") or ()
    return next((name for name in names if isinstance(name, str)), None)


async def _parent_documents(node: Node, info: Info) -> Value:
    above = await parents(node, info, "documentInfo", "parentDocument.document")
    return {"count": len(above), "documents": above}


def _targets(field: str, key: str, *types: str) -> Resolver:
    """The elements of a list whose targets there can be."""

    def resolve(value: Value, info: Info) -> list[Value]:
        known = types or tuple(info.context.catalog.registry.entities)
        return [
            one
            for one in value.get(field) or ()
            if any(urn.entity_type in known for urn in Urn.parse_all((one.get(key),)))
        ]

    return resolve


def _parent(value: Value, _info: Info) -> Value | None:
    parent: Value = value.get("parentDocument") or {}
    urns = Urn.parse_all((parent.get("document"),))
    return parent if any(urn.entity_type == "document" for urn in urns) else None


async def _related(node: Node, info: Info, **given: Any) -> Value:
    asked = given["input"]
    start, count = page_bounds(asked)
    criteria = [Criterion("relatedAssets", (str(node.urn),))]
    criteria += [
        Criterion(field, tuple(asked[name])) for name, field in _ANY_OF.items() if asked.get(name)
    ]
    if asked.get("rootOnly"):
        criteria.append(Criterion("parentDocument", (), "IS_NULL"))
    if asked.get("sourceType"):
        # A document without a source was written here.
        criteria.append(
            Criterion("sourceType", ("EXTERNAL",), negated=asked["sourceType"] == "NATIVE")
        )
    query = SearchQuery("", ("document",), Filter((tuple(criteria),)), start, count)
    results = await found(info, query, {})
    urns = [one["entity"] for one in results["searchResults"]]
    return {**results, "urns": urns}


RESOLVERS: Resolvers = {
    **{shape.object_type: {"relatedDocuments": _related} for shape in SHAPES.values()},
    GENERIC: {"relatedDocuments": _related},
    "Document": {
        "platform": _platform,
        "subType": _sub_type,
        "info": stored("documentInfo"),
        "settings": stored("documentSettings"),
        "parentDocuments": _parent_documents,
    },
    "DocumentInfo": {
        "contents": or_else("contents", {}),
        "created": or_else("created", {}),
        "lastModified": or_else("lastModified", {}),
        "relatedAssets": _targets("relatedAssets", "asset"),
        "relatedDocuments": _targets("relatedDocuments", "document", "document"),
        "parentDocument": _parent,
        "customProperties": custom_properties,
    },
    "DocumentRelatedAsset": {"asset": entity("asset")},
    "DocumentRelatedDocument": {"document": entity("document")},
    "DocumentParentDocument": {"document": entity("document")},
    "DocumentSettings": {"showInGlobalContext": or_else("showInGlobalContext", True)},
    "RelatedDocumentsResult": {"documents": entities("urns", "document")},
}
