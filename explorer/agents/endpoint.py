"""The endpoint `/mcp` of a catalog server: the tools for agents over HTTP, used with the caller's
own token."""

import asyncio
from importlib import import_module
from typing import TYPE_CHECKING, Final

from explorer.errors import MissingExtra

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

PATH: Final = "/mcp"

# The headers that identify the caller. A token in the service's environment must never be used
# in their place.
_OWN: Final = (b"authorization", b"host")


class AgentEndpoint:
    """The ASGI application at `/mcp`.

    The tools read and write by sending requests, in the caller's name, to the catalog service that
    this application is part of. These requests stay within the process.
    """

    def __init__(self, service: "ASGIApp") -> None:
        self._service = service

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Answer a request. Raises `MissingExtra` if the SDK is not installed."""
        try:
            # The import takes a second, during which the service answers other requests.
            await asyncio.to_thread(import_module, "explorer.agents.server")
        except ModuleNotFoundError as error:
            raise missing_sdk() from error
        # Imported late: a service that no agent uses does not need the client.
        from explorer.agents.server import serve_request
        from explorer.client import AsyncCatalog
        from explorer.client.http import HttpTransport

        if scope["method"] != "POST":
            # Only POST is supported: there are no streams to open and no sessions to end.
            head = {"type": "http.response.start", "status": 405, "headers": [(b"allow", b"POST")]}
            await send(head)
            await send({"type": "http.response.body", "body": b""})
            return
        own = [header for header in scope["headers"] if header[0] in _OWN]

        async def as_caller(inner: "Scope", receive: "Receive", send: "Send") -> None:
            headers = [header for header in inner["headers"] if header[0] not in _OWN]
            await self._service({**inner, "headers": [*own, *headers]}, receive, send)

        host = dict(own).get(b"host", b"localhost").decode("latin-1")
        address = f"{scope['scheme']}://{host}{scope.get('root_path', '')}"
        transport = HttpTransport.in_process(address, as_caller)
        async with AsyncCatalog(address, transport=transport) as catalog:
            await serve_request(catalog, scope, receive, send)


def missing_sdk() -> MissingExtra:
    """Return the error for a missing SDK of the Model Context Protocol."""
    return MissingExtra("agents need the SDK of the Model Context Protocol", "agents")
