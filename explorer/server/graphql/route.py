"""GraphQL over HTTP."""

from threading import Lock
from typing import TYPE_CHECKING

from explorer.errors import InvalidInput
from explorer.server.call import Answer, Call
from explorer.server.catalog import Catalog
from explorer.server.endpoint import Endpoint
from explorer.server.intake import UNKNOWN_ACTOR

if TYPE_CHECKING:
    from explorer.server.graphql.executor import Executor

__all__ = ["GraphqlRoute"]


class GraphqlRoute:
    """`/api/graphql`"""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._executor: Executor | None = None
        self._making = Lock()

    def endpoints(self) -> tuple[Endpoint, ...]:
        summary = "read and edit descriptions and links"
        return (Endpoint("POST", "/api/graphql", self._run, summary),)

    def ready(self) -> "Executor":
        """The executor, made at the first call; that call takes a tenth of a second."""
        with self._making:
            made = self._executor
            if made is None:
                from explorer.server.graphql.executor import Executor

                made = self._executor = Executor(self._catalog)
            return made

    async def _run(self, call: Call) -> Answer:
        parameters = await call.parameters()
        query = parameters.text("query")
        variables = parameters.given.get("variables")
        if variables is not None and not isinstance(variables, dict):
            raise InvalidInput("the parameter 'variables' must be an object")
        operation = parameters.optional_text("operationName")
        executor = self._executor
        if executor is None:
            executor = await self._catalog.offload(self.ready)
        actor = call.actor or UNKNOWN_ACTOR
        return Answer.of(await executor.run(query, variables or {}, operation, actor))
