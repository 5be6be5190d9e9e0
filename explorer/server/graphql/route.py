"""The HTTP endpoint of GraphQL."""

from collections.abc import Iterator
from threading import Lock
from typing import TYPE_CHECKING

from msgspec.structs import replace
from starlette.responses import Response

from explorer.errors import InvalidInput
from explorer.server.catalog import CatalogEngine
from explorer.server.graphql.object_types import DESCRIBED
from explorer.server.restli import (
    EXAMPLE_URN,
    Endpoint,
    JsonResponse,
    Parameter,
    RestliRequest,
    Routes,
)

if TYPE_CHECKING:
    from explorer.server.graphql.executor import Executor

__all__ = ["EXAMPLE_DOCUMENT", "GRAPHQL_PATH", "GraphqlRoute"]

GRAPHQL_PATH = "/api/graphql"


EXAMPLE_DOCUMENT = """
query dataset($urn: String!) {
  dataset(urn: $urn) {
    properties { description }
    editableProperties { description }
    schemaMetadata { fields { fieldPath description } }
  }
}
""".strip()


_OTHER_PATH = "/api/v2/graphql"
"""The path that DataHub's own web pages use."""


class GraphqlRoute(Routes):
    """The endpoint `/api/graphql`, also served at `/api/v2/graphql`."""

    def __init__(self, catalog: CatalogEngine) -> None:
        super().__init__(catalog)
        self._executor: Executor | None = None
        self._making = Lock()

    def endpoints(self) -> Iterator[Endpoint]:
        for one in super().endpoints():
            yield one
            summary = f"another name of {GRAPHQL_PATH}, which DataHub's web pages use"
            yield replace(one, path=_OTHER_PATH, summary=summary, notes=())

    def ready(self) -> "Executor":
        """Return the executor, creating it at the first call, which takes a fifth of a second."""
        with self._making:
            made = self._executor
            if made is None:
                from explorer.server.graphql.executor import Executor

                made = self._executor = Executor(self._catalog)
            return made

    @Endpoint(
        "POST",
        GRAPHQL_PATH,
        "read what is asked for, and edit: descriptions, links, tags, owners and more",
        role="reader",
        parameters=(
            Parameter("query", "string", "a GraphQL document", EXAMPLE_DOCUMENT),
            Parameter.optional(
                "variables",
                "object",
                "values for the variables of the document",
                {"urn": EXAMPLE_URN},
            ),
            Parameter.optional(
                "operationName", "string", "which operation is meant, in a document of several"
            ),
            Parameter.optional(
                "extensions",
                "object",
                "ifCurrent in it is the condition of an edit, and run names what it is a part of: "
                "see below",
            ),
        ),
        gives=(
            "data with what was selected; errors, if there are any, each with message, "
            "path and extensions {code, type, classification}; extensions, empty"
        ),
        notes=(
            "query dataset(urn) gives null for a dataset that does not exist. "
            "properties.description and the description of a column are the edited text "
            "where there is one for plain callers, and the ingested text, or the edited "
            "one where nothing was ingested, for DataHub's; "
            "editableProperties.description is the edited text.",
            "mutation updateDataset(urn, input) sets the edited description and the links, and "
            "whatever else is given; a part left out stays as it is, a list of links given "
            "replaces the one stored. addLink, updateLink and removeLink change a single one.",
            "mutation updateDescription(input) sets the edited description of a column "
            "(subResource is its path, subResourceType DATASET_FIELD) or of an entity: "
            + ", ".join(DESCRIBED)
            + ". It fails for anything else. A column that the schema has not is an error "
            "that names the nearest ones.",
            "A mutation needs the role editor; without it the field is an error with code "
            "403, which names the role.",
            "Every kind of entity can be read by its URN; a kind without a type of its "
            "own is a GenericEntity. The schema can be asked for as a whole "
            "(introspection), and lists every search, listing and edit.",
            "An answer is 200 once a document was read, whatever came of it; a body that "
            "is no JSON or has no query is 400.",
            "A document is at most 20 levels deep. Its answer has 250,000 fields at most, is made "
            "of 100,000 entities and takes 30 seconds at most; an edit's is measured before it "
            "begins, lists counted as long as their count or limit says. It has at most 1,000,000 "
            "characters, 20,000 tokens and 300 operations and fragments.",
            "Each edit is one step: it is made as a whole or not at all, never undoes "
            "another's, and repeated changes nothing. What it edits must exist, and so "
            "must the tags, terms, owners and domains it names.",
            "With extensions {ifCurrent: {urn, column, what, value}} the one edit of a "
            "document is made only while that is what is stored. what is description, "
            "tags, terms, owners, domain, links or deprecation; value is the text, the "
            "list (URNs, '<URN> <kind>' of owners, '<address> <label>' of links) or the "
            "object {note, decommissionTime, replacement}; null is nothing. Otherwise "
            "nothing is written and the error has type CONFLICT and, in its extensions, "
            "current {value, version, actor, time}. An edit that finds its work done "
            "already is no conflict, so one whose answer got lost may be sent again.",
            "With extensions {run: name} the edits of a document are stored with that runId in "
            "their systemMetadata, as what ingestion brings is; the run can be listed and rolled "
            "back.",
        ),
    )
    async def _run(self, request: RestliRequest) -> Response:
        parameters = await request.parameters()
        query = parameters.text("query")
        variables = parameters.given.get("variables")
        if variables is not None and not isinstance(variables, dict):
            raise InvalidInput("the parameter 'variables' must be an object")
        operation = parameters.optional_text("operationName")
        executor = self._executor
        if executor is None:
            executor = await self._catalog.offload(self.ready)
        extensions = parameters.given.get("extensions")
        answer = await executor.run(
            query,
            variables or {},
            operation,
            request.access,
            extensions,
            request.dialect,
            request.context.changes,
        )
        return JsonResponse(answer)
