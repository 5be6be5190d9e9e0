"""The GraphQL documents the client sends, one for each operation."""

from collections.abc import Mapping

__all__ = [
    "ADD_LINK",
    "ADD_OWNERS",
    "ADD_TAGS",
    "ADD_TERMS",
    "REMOVE_LINK",
    "REMOVE_OWNERS",
    "REMOVE_TAGS",
    "REMOVE_TERMS",
    "SET_DOMAIN",
    "UNSET_DOMAIN",
    "UPDATES",
    "UPDATE_DATASET",
    "UPDATE_DEPRECATION",
    "UPDATE_DESCRIPTION",
    "WHO",
]


UPDATE_DESCRIPTION = """
mutation updateDescription($input: DescriptionUpdateInput!) {
  updateDescription(input: $input)
}
"""

UPDATE_DATASET = """
mutation updateDataset($urn: String!, $input: DatasetUpdateInput!) {
  updateDataset(urn: $urn, input: $input) { urn }
}
"""

UPDATE_CHART = """
mutation updateChart($urn: String!, $input: ChartUpdateInput!) {
  updateChart(urn: $urn, input: $input) { urn }
}
"""

UPDATE_DASHBOARD = """
mutation updateDashboard($urn: String!, $input: DashboardUpdateInput!) {
  updateDashboard(urn: $urn, input: $input) { urn }
}
"""

UPDATE_DATA_FLOW = """
mutation updateDataFlow($urn: String!, $input: DataFlowUpdateInput!) {
  updateDataFlow(urn: $urn, input: $input) { urn }
}
"""

UPDATE_DATA_JOB = """
mutation updateDataJob($urn: String!, $input: DataJobUpdateInput!) {
  updateDataJob(urn: $urn, input: $input) { urn }
}
"""

UPDATES: Mapping[str, str] = {
    "updateChart": UPDATE_CHART,
    "updateDashboard": UPDATE_DASHBOARD,
    "updateDataFlow": UPDATE_DATA_FLOW,
    "updateDataJob": UPDATE_DATA_JOB,
    "updateDataset": UPDATE_DATASET,
}
"""The mutations that take an entity's URN and set its edited description, by name."""

ADD_LINK = """
mutation addLink($input: AddLinkInput!) { addLink(input: $input) }
"""

REMOVE_LINK = """
mutation removeLink($input: RemoveLinkInput!) { removeLink(input: $input) }
"""

ADD_TAGS = """
mutation addTags($input: AddTagsInput!) { addTags(input: $input) }
"""

REMOVE_TAGS = """
mutation batchRemoveTags($input: BatchRemoveTagsInput!) { batchRemoveTags(input: $input) }
"""

ADD_TERMS = """
mutation addTerms($input: AddTermsInput!) { addTerms(input: $input) }
"""

REMOVE_TERMS = """
mutation batchRemoveTerms($input: BatchRemoveTermsInput!) { batchRemoveTerms(input: $input) }
"""

ADD_OWNERS = """
mutation addOwners($input: AddOwnersInput!) { addOwners(input: $input) }
"""

REMOVE_OWNERS = """
mutation batchRemoveOwners($input: BatchRemoveOwnersInput!) { batchRemoveOwners(input: $input) }
"""

SET_DOMAIN = """
mutation setDomain($entityUrn: String!, $domainUrn: String!) {
  setDomain(entityUrn: $entityUrn, domainUrn: $domainUrn)
}
"""

UNSET_DOMAIN = """
mutation unsetDomain($entityUrn: String!) { unsetDomain(entityUrn: $entityUrn) }
"""

UPDATE_DEPRECATION = """
mutation updateDeprecation($input: UpdateDeprecationInput!) { updateDeprecation(input: $input) }
"""

WHO = """
query who { me { corpUser { urn } } }
"""
