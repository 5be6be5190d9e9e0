"""The terminal in a browser: one process of the program for each page that is open.

Needs the extra `serve`. Nothing is loaded from other hosts: fonts and scripts are part of the
package, and a content security policy blocks all others.
"""

import hmac
import secrets
import shlex
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Final
from urllib.parse import urlsplit

import aiohttp_jinja2
import click
from aiohttp import web
from textual_serve.server import Server, to_int

_FONT: Final = "RobotoMono-VariableFont_wght.ttf"
# The page has inline styles and an inline script.
_RULES: Final = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "font-src 'self'; img-src 'self' data:; connect-src 'self' ws: wss:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_OUTSIDE: Final = "https://fonts.googleapis.com/"

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class CatalogServer(Server):
    """Serves the terminal application, started with `arguments`, to everyone who knows the address
    with its secret key.

    Pages of other sites have no access: the key is in a cookie that they do not send, and their
    WebSocket requests are rejected.
    """

    def __init__(self, arguments: Sequence[str], host: str, port: int) -> None:
        command = shlex.join([sys.executable, "-m", "explorer.tui", *arguments])
        super().__init__(command, host=host, port=port, title="catalog")
        self._key = secrets.token_urlsafe(24)
        # Browsers share cookies between all ports of a host, so the port is part of the name: two
        # terminals would otherwise overwrite each other's key.
        self._cookie = f"catalog-key-{port}"

    @property
    def address(self) -> str:
        """Return the address for the browser, with the key."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/?key={self._key}"

    def run(self) -> None:
        """Serve until interrupted. Raise `OSError` if the port cannot be opened."""
        # The address is printed once the port is open.
        web.run_app(
            self._make_app(), host=self.host, port=self.port, print=lambda *_: self._print_address()
        )

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()
        app.middlewares.append(self._guard)
        return app

    async def on_startup(self, app: web.Application) -> None:
        """Print the address once the port is open."""

    def _print_address(self) -> None:
        """Print the address, and a note on who can use it."""
        click.echo(f"The catalog is open in a browser at\n\n  {self.address}\n")
        click.echo("Anyone with this address has your permissions, including write access.")
        if self.host not in ("127.0.0.1", "::1", "localhost"):
            click.echo(
                "It can be reached from other machines, and the connection is not encrypted."
            )
        click.echo("Press Ctrl+C to stop it.")

    @web.middleware
    async def _guard(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Reject requests without the key, and requests from other sites; the first request sets
        the key as a cookie."""
        key = request.query.get("key", "")
        if request.path == "/" and self._is_key(key):
            answer = web.Response(status=303, headers={"Location": "/"})
            answer.set_cookie(self._cookie, key, httponly=True, samesite="Lax")
            return answer
        if not self._is_key(request.cookies.get(self._cookie, "")):
            return web.Response(
                status=403, text="Open the whole address that catalog-tui --serve printed.\n"
            )
        origin = request.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc != request.host:
            return web.Response(status=403, text="Requests from other sites are not accepted.\n")
        return await handler(request)

    def _is_key(self, key: str) -> bool:
        return hmac.compare_digest(key.encode(errors="replace"), self._key.encode())

    async def handle_index(self, request: web.Request) -> web.Response:
        """Return the page, with all of its links pointing to this server."""
        statics = request.app.router["static"].url_for(filename="/")
        context = {
            "font_size": to_int(request.query.get("fontsize", "16"), 16),
            # Relative to the host and scheme under which the browser found the page.
            "app_websocket_url": f"{_ws_base(request)}{request.app.router['websocket'].url_for()}",
            "config": {"static": {"url": f"{str(statics).rstrip('/')}/"}},
            "application": {"name": self.title},
        }
        page = aiohttp_jinja2.render_string("app_index.html", request, context)
        own = f"/static/fonts/{_FONT}"
        face = f'<style>@font-face{{font-family:"Roboto Mono";src:url("{own}")}}</style>'
        page = page.replace("<head>", f"<head>{face}", 1)
        answer = web.Response(text=_without_outside(page), content_type="text/html")
        answer.headers["Content-Security-Policy"] = _RULES
        answer.headers["Referrer-Policy"] = "no-referrer"
        return answer


def _ws_base(request: web.Request) -> str:
    """Return the scheme and host of the page's WebSocket."""
    return f"{'wss' if request.scheme == 'https' else 'ws'}://{request.host}"


def _without_outside(page: str) -> str:
    """Return the page without its link to fonts on another host."""
    at = page.find(_OUTSIDE)
    if at < 0:
        return page
    start, end = page.rfind("<link", 0, at), page.find(">", at) + 1
    return page[:start] + page[end:]
