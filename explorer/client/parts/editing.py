"""What people write, through GraphQL."""

from typing import Any

from explorer.client import documents, failures, requests
from explorer.client.parts.part import Part
from explorer.errors import InvalidInput, ServerFault
from explorer.metadata.urn import Urn

__all__ = ["Editing"]


class Editing(Part):
    """How descriptions are written."""

    async def graphql(self, query: str, variables: dict[str, Any] | None = None) -> dict[str, Any]:
        """The `data` of a GraphQL operation. One request, sent once.

        Raises the error that the server's first one stands for.
        """
        body = await self._connection.send(requests.editing.graphql(query, variables or {}))
        if not isinstance(body, dict):
            raise ServerFault("the server's GraphQL answer is not an object")
        if body.get("errors"):
            raise failures.from_graphql(body["errors"])
        data = body.get("data")
        return data if isinstance(data, dict) else {}

    async def describe(self, urn: str | Urn, text: str, *, column: str | None = None) -> None:
        """Write the description of a dataset, of one of its columns (by its exact field path), or
        of a container. The text is markdown and is kept byte for byte; what ingestion says stays
        beside it. One request.

        Raises `NotFound` or `InvalidInput` when there is no such entity or column, `InvalidInput`
        for an entity whose description cannot be edited.
        """
        target = Urn.parse(urn)
        if target.entity_type == "dataset" and column is None:
            edit = {"editableProperties": {"description": text}}
            variables: dict[str, Any] = {"urn": str(target), "input": edit}
            await self.graphql(documents.UPDATE_DATASET, variables)
            return
        if target.entity_type not in ("dataset", "container"):
            raise InvalidInput(
                "descriptions of datasets, their columns and containers can be edited, "
                f"not of a {target.entity_type}"
            )
        edit_input: dict[str, Any] = {"description": text, "resourceUrn": str(target)}
        if column is not None:
            edit_input |= {"subResource": column, "subResourceType": "DATASET_FIELD"}
        data = await self.graphql(documents.UPDATE_DESCRIPTION, {"input": edit_input})
        if data.get("updateDescription") is not True:
            raise ServerFault("the server did not say that it stored the description")
