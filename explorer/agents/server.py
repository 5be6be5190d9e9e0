"""The server of the Model Context Protocol: tools, resources and prompts, built with the official
SDK.

Over standard input and output it uses the catalog that it was started for. Over HTTP it is part of
a catalog server and sends it each request with the caller's own token, so that permissions, rate
limits and the audit log apply as usual.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import orjson
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError

from explorer.agents.proposing import AgentName
from explorer.agents.tools import INSTRUCTIONS, TOOLS, Caller, call_tool, describe_error
from explorer.errors import CatalogError
from explorer.version import __version__

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from starlette.types import Receive, Scope, Send

    from explorer.client import AsyncCatalog

ENTITY_URI: Final = "catalog://entity/"
_JSON: Final = "application/json"
_PROMPT: Final = "document_table"
_PROMPT_TEXT: Final = """\
Document the table {table} in the catalog.

1. entity(urn={table}, parts=[overview, usage]) and columns(table={table}, undocumented=true).
2. lineage(urn={table}, direction=up): texts of the columns that it is made from say what these
   hold; read them with columns(table=…). joins and glossary help with keys and terms.
3. Write one or two plain sentences for the table, if it has none, and for each column: what a value
   means, its unit, when it is empty. Write only what you found; leave out a column that you can
   only guess, and say so.
4. propose(changes=[{{urn, column, what: description, text, why}}], why, model): all of them
   together, each with the place that it follows from. A person reviews them.
"""


def build_server(catalog: "AsyncCatalog", *, may_write: bool = False) -> Server[Any]:
    """Return a server whose tools read a catalog and propose changes to it; with `may_write`,
    changes can be written without a review."""

    def caller(context: "ServerRequestContext[Any]") -> Caller:
        client = context.session.client_params
        name = AgentName()
        if client is not None:
            name = AgentName(client.client_info.name, client.client_info.version)
        return Caller(catalog, name, may_write)

    async def list_tools(
        _: "ServerRequestContext[Any]", _page: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[*map(_tool, TOOLS)])

    async def call(
        context: "ServerRequestContext[Any]", params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        try:
            answer = await call_tool(caller(context), params.name, params.arguments or {})
            is_error = False
        except CatalogError as error:
            answer, is_error = describe_error(error), True
        return types.CallToolResult(
            content=[types.TextContent(text=_text(answer))], is_error=is_error
        )

    async def list_resources(
        _: "ServerRequestContext[Any]", _page: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[])

    async def list_templates(
        _: "ServerRequestContext[Any]", _page: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            name="entity",
            uri_template=f"{ENTITY_URI}{{urn}}",
            description="An entity, by its URN or name: overview and columns.",
            mime_type=_JSON,
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(
        context: "ServerRequestContext[Any]", params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        if not uri.startswith(ENTITY_URI):
            raise MCPError(types.INVALID_PARAMS, f"resources are {ENTITY_URI}URN")
        arguments = {"urn": unquote(uri.removeprefix(ENTITY_URI)), "parts": ["overview", "columns"]}
        try:
            answer = await call_tool(caller(context), "entity", arguments)
        except CatalogError as error:
            described = describe_error(error)
            raise MCPError(types.INVALID_PARAMS, described["error"], described) from error
        content = types.TextResourceContents(uri=uri, mime_type=_JSON, text=_text(answer))
        return types.ReadResourceResult(contents=[content])

    async def list_prompts(
        _: "ServerRequestContext[Any]", _page: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        table = types.PromptArgument(name="table", description="its URN or name", required=True)
        prompt = types.Prompt(
            name=_PROMPT,
            title="Document this table",
            description="Propose descriptions of a table and its columns.",
            arguments=[table],
        )
        return types.ListPromptsResult(prompts=[prompt])

    async def get_prompt(
        _: "ServerRequestContext[Any]", params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        table = (params.arguments or {}).get("table", "")
        if params.name != _PROMPT or not table:
            raise MCPError(types.INVALID_PARAMS, f"the prompt is {_PROMPT}, with a table")
        content = types.TextContent(text=_PROMPT_TEXT.format(table=table))
        return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=content)])

    return Server(
        "catalog",
        version=__version__,
        title="Metadata catalog",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )


def _tool(name: str) -> types.Tool:
    tool = TOOLS[name]
    hints = types.ToolAnnotations(
        read_only_hint=not tool.writes, destructive_hint=False, open_world_hint=False
    )
    return types.Tool(
        name=name, description=tool.description, input_schema=tool.schema, annotations=hints
    )


def _text(answer: Mapping[str, Any]) -> str:
    return orjson.dumps(answer, default=str).decode()


async def serve_stdio(catalog: "AsyncCatalog", *, may_write: bool) -> None:
    """Serve one client over standard input and output until the input ends."""
    server = build_server(catalog, may_write=may_write)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


async def serve_request(
    catalog: "AsyncCatalog", scope: "Scope", receive: "Receive", send: "Send"
) -> None:
    """Answer one request over HTTP. The server is stateless, so any replica can answer each
    request."""
    manager = StreamableHTTPSessionManager(
        build_server(catalog), json_response=True, stateless=True
    )
    async with manager.run():
        await manager.handle_request(scope, receive, send)
