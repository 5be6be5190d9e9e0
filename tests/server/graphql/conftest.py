"""Reading and editing through GraphQL, as the tests beside this do it."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.server.conftest import Caller

READ = """
query read($urn: String!) {
  dataset(urn: $urn) {
    properties { description }
    editableProperties { description }
    schemaMetadata { fields { fieldPath description } }
    editableSchemaMetadata { editableSchemaFieldInfo { fieldPath description } }
    institutionalMemory { elements { url description author { username } created { time } } }
  }
}
"""
DESCRIBE = "mutation edit($input: DescriptionUpdateInput!) { updateDescription(input: $input) }"
EDIT_DATASET = """
mutation edit($urn: String!, $input: DatasetUpdateInput!) {
  updateDataset(urn: $urn, input: $input) { urn }
}
"""


class Desk:
    """The operations that most tests send."""

    def __init__(self, caller: Any) -> None:
        self._caller = caller

    def read(self, urn: Any, dialect: str = "plain") -> Any:
        body = {"query": READ, "variables": {"urn": urn}}
        headers = {"X-Catalog-Dialect": dialect}
        return self._caller.post("/api/graphql", body, **headers).json()

    def edit_dataset(self, urn: Any, changes: Any) -> Any:
        return self._caller.graphql(EDIT_DATASET, urn=urn, input=changes)

    def describe(self, changes: Any) -> Any:
        return self._caller.graphql(DESCRIBE, input=changes)

    @staticmethod
    def column(urn: Any, path: Any, text: Any) -> Any:
        """The input that describes one column."""
        return {
            "resourceUrn": urn,
            "subResource": path,
            "subResourceType": "DATASET_FIELD",
            "description": text,
        }

    @staticmethod
    def one_error(answer: Any) -> Any:
        """The only error of an answer, which has the shape of every error."""
        (error,) = answer["errors"]
        assert set(error["extensions"]) == {"code", "type", "classification"}
        assert answer["extensions"] == {}
        return error


@pytest.fixture
def desk(caller: Caller) -> Any:
    return Desk(caller)


@pytest.fixture
def table(caller: Caller, dataset: str, schema: Callable[..., dict[str, Any]]) -> Any:
    """A dataset with an ingested description, one described column and one without."""
    caller.ingest(dataset, "datasetProperties", {"name": "T", "description": "ingested"})
    caller.ingest(dataset, "schemaMetadata", schema(("a", "of a"), "b", "nested.b"))
    return dataset
