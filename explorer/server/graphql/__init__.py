"""The GraphQL endpoint. Its route is here; the modules contain the schema (`sdl`), its resolvers,
and the execution of documents.

Modules that import graphql-core are not imported before the first GraphQL request, because it takes
longer to load than the rest of the service.
"""

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
        for endpoint in super().endpoints():
            yield endpoint
            summary = f"another name of {GRAPHQL_PATH}, which DataHub's web pages use"
            yield replace(endpoint, path=_OTHER_PATH, summary=summary, notes=())

    def ready(self) -> "Executor":
        """Return the executor, creating it at the first call, which takes a fifth of a second."""
        with self._making:
            executor = self._executor
            if executor is None:
                from explorer.server.graphql.executor import Executor

                executor = self._executor = Executor(self._catalog)
            return executor

    @Endpoint(
        "POST",
        GRAPHQL_PATH,
        "read data with queries, and edit with mutations: descriptions, links, tags, owners and "
        "more",
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
                "operationName",
                "string",
                "which operation of the document to run, if it has several",
            ),
            Parameter.optional(
                "extensions",
                "object",
                "ifCurrent makes an edit conditional, and run is the runId that the edits are "
                "stored with: see below",
            ),
        ),
        gives=(
            "data with the selected fields; errors, if there are any, each with message, path "
            "and extensions {code, type, classification}; extensions, empty"
        ),
        notes=(
            "query dataset(urn) returns null for a dataset that does not exist. For plain "
            "callers, properties.description and the description of a column are the edited text "
            "if there is one, otherwise the ingested text; for DataHub's clients they are the "
            "ingested text, or the edited one if nothing was ingested. "
            "editableProperties.description is always the edited text.",
            "mutation updateDataset(urn, input) sets the edited description, the links and the "
            "other parts of the input. Parts that are left out are not changed; a list of links "
            "replaces the stored list. addLink, updateLink and removeLink change a single link.",
            "mutation updateDescription(input) sets the edited description of a column "
            "(subResource is its path, subResourceType DATASET_FIELD) or of an entity: "
            + ", ".join(DESCRIBED)
            + ". Any other entity is an error. For a column that is not in the schema, the "
            "error names the most similar columns.",
            "A mutation needs the role editor; without it the field is an error with code 403, "
            "and the message names the role.",
            "Every kind of entity can be read by its URN; a kind without a GraphQL type of its "
            "own is returned as a GenericEntity. Introspection returns the whole schema, with "
            "every search, listing and edit.",
            "The status is 200 whenever the document could be read, even if fields failed; a "
            "body that is not JSON or has no query is answered with 400.",
            "A document may have at most 20 levels, 1,000,000 characters, 20,000 tokens and 300 "
            "operations and fragments. Its answer may have at most 250,000 fields, read at most "
            "100,000 entities and take at most 30 seconds. The size of an edit's answer is "
            "estimated before it begins: a list is assumed to be as long as its count or limit.",
            "Each edit is atomic, never overwrites another one, and changes nothing when it is "
            "repeated. The edited entity must exist, and so must the tags, terms, owners and "
            "domains that the edit refers to.",
            "With extensions {ifCurrent: {urn, column, what, value}}, the document's single edit "
            "is made only if that value is still the stored one. what is description, tags, "
            "terms, owners, domain, links or deprecation; value is the text, the list (URNs, "
            "'<URN> <kind>' for owners, '<address> <label>' for links) or the object {note, "
            "decommissionTime, replacement}; null means that nothing is stored. If the stored "
            "value differs, nothing is written, and the error has the type CONFLICT and, in its "
            "extensions, current {value, version, actor, time}. An edit whose result is already "
            "stored is not a conflict, so an edit whose answer was lost can be sent again.",
            "With extensions {run: name}, the edits of a document are stored with that runId in "
            "their systemMetadata, as ingested aspects are; the run can then be listed and "
            "rolled back.",
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
