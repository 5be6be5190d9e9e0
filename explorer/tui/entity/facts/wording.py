"""What aspects and their fields are called when people speak of them."""

import re

__all__ = ["CODE", "ORDER", "label_of", "title_of"]

_TITLES = {
    "chartInfo": "Chart",
    "chartQuery": "Query",
    "containerProperties": "Container",
    "corpGroupEditableInfo": "Group, as edited",
    "corpGroupInfo": "Group",
    "corpUserEditableInfo": "Person, as edited",
    "corpUserInfo": "Person",
    "corpUserStatus": "Account",
    "dashboardInfo": "Dashboard",
    "dataFlowInfo": "Pipeline",
    "dataJobInfo": "Task",
    "dataJobInputOutput": "Reads and writes",
    "dataPlatformInfo": "Platform",
    "dataProductProperties": "Data product",
    "datasetProperties": "Dataset",
    "domainProperties": "Domain",
    "editableSchemaMetadata": "Columns, as edited",
    "glossaryNodeInfo": "Glossary group",
    "glossaryRelatedTerms": "Related terms",
    "glossaryTermInfo": "Glossary term",
    "groupMembership": "In groups",
    "incidentsSummary": "Incidents",
    "inputFields": "Columns read",
    "nativeGroupMembership": "In groups of the catalog itself",
    "querySubjects": "What it reads",
    "roleMembership": "In roles",
    "schemaMetadata": "Schema",
    "siblings": "Siblings",
    "tagProperties": "Tag",
    "upstreamLineage": "Made from",
    "usageFeatures": "Use in the last 30 days",
    "viewProperties": "View",
}

ORDER = (
    *("corpUserInfo", "corpUserEditableInfo", "corpGroupInfo", "corpGroupEditableInfo"),
    *("groupMembership", "nativeGroupMembership", "roleMembership"),
    *("glossaryTermInfo", "glossaryNodeInfo", "glossaryRelatedTerms", "tagProperties"),
    *("domainProperties", "dataProductProperties", "dataPlatformInfo"),
    *("chartInfo", "chartQuery", "dashboardInfo"),
    *("dataFlowInfo", "dataJobInfo", "dataJobInputOutput"),
    *("datasetProperties", "containerProperties", "viewProperties", "upstreamLineage", "siblings"),
    *("schemaMetadata", "editableSchemaMetadata", "structuredProperties"),
)
"""The aspects people look for first; any other comes after them by name."""

_LABELS = {
    "aboutMe": "about",
    "chartUrl": "page",
    "colorHex": "colour",
    "countryCode": "country",
    "created": "created",
    "dashboardUrl": "page",
    "definition": "definition",
    "departmentName": "department",
    "env": "origin",
    "externalUrl": "page",
    "flowUrn": "pipeline",
    "hasRelatedTerms": "has",
    "inputDatajobs": "after tasks",
    "inputDatasetFields": "reads columns",
    "inputDatasets": "reads",
    "inputs": "made from",
    "isRelatedTerms": "is a",
    "lastModified": "modified",
    "lastRefreshed": "refreshed",
    "managerUrn": "manager",
    "outputDatasetFields": "writes columns",
    "outputDatasets": "writes",
    "parentDomain": "part of",
    "parentNode": "in",
    "pictureLink": "picture",
    "qualifiedName": "full name",
    "relatedTerms": "related",
    "sourceRef": "source",
    "sourceUrl": "page of the source",
    "termSource": "source is",
    "typeNames": "called",
    "uniqueUserCountLast30Days": "users",
    "queryCountLast30Days": "queries",
    "viewLanguage": "language",
}

CODE = {
    "documentSchema": "json",
    "formattedViewLogic": "sql",
    "keySchema": "json",
    "rawQuery": "sql",
    "rawSchema": "json",
    "schema": "json",
    "statement": "sql",
    "tableSchema": "sql",
    "viewLogic": "sql",
}
"""The fields that hold a text for machines, with its language."""

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ENDINGS = ("Properties", "Info", "Urn", "Urns", "Edges", "Millis", "Ms")


def title_of(aspect: str) -> str:
    """The heading over what an aspect says."""
    words = _TITLES.get(aspect) or _split(_without_ending(aspect))
    return words[:1].upper() + words[1:]


def label_of(field: str) -> str:
    """What the field of an aspect is called."""
    return _LABELS.get(field) or _split(_without_ending(field))


def _without_ending(name: str) -> str:
    for ending in _ENDINGS:
        if name.endswith(ending) and len(name) > len(ending):
            return name.removesuffix(ending)
    return name


def _split(name: str) -> str:
    return _HUMP.sub(" ", name).lower() if "_" not in name else name
