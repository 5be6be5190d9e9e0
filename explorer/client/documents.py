"""The GraphQL documents the client sends, one for each operation."""

__all__ = ["UPDATE_DATASET", "UPDATE_DESCRIPTION"]

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
