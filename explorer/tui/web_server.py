"""The terminal in a browser: one process of the program for each page that is open.

It comes with the extra `serve`. Nothing is fetched from outside: the pages' fonts and scripts are
the package's own, and the browser is told to load no others.
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

__all__ = ["CatalogServer"]

_FONT: Final = "RobotoMono-VariableFont_wght.ttf"
# Styles and a script stand within the page itself.
_RULES: Final = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "font-src 'self'; img-src 'self' data:; connect-src 'self' ws: wss:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_OUTSIDE: Final = "https://fonts.googleapis.com/"

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class CatalogServer(Server):
    """Serves the terminal that `arguments` start to whoever knows the key in its address.

    A page of another site gets nowhere: the key is in a cookie that it does not send, and an open
    line that it asks for is refused.
    """

    def __init__(self, arguments: Sequence[str], host: str, port: int) -> None:
        command = shlex.join([sys.executable, "-m", "explorer.tui", *arguments])
        super().__init__(command, host=host, port=port, title="catalog")
        self._key = secrets.token_urlsafe(24)
        # Browsers send a cookie to every port of a host: named alike, those of two terminals on
        # two ports would replace each other.
        self._cookie = f"catalog-key-{port}"

    @property
    def address(self) -> str:
        """Where a browser finds it, with the key."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/?key={self._key}"

    def run(self) -> None:
        """Serve until interrupted; raises `OSError` where the port cannot be had."""
        # Told once the port is open.
        web.run_app(self._make_app(), host=self.host, port=self.port, print=lambda *_: self._tell())

    async def _make_app(self) -> web.Application:
        app = await super()._make_app()
        app.middlewares.append(self._guarded)
        return app

    async def on_startup(self, app: web.Application) -> None:
        """Nothing is said before the port is open."""

    def _tell(self) -> None:
        """Say where it is, and what that means."""
        click.echo(f"The catalog is open in a browser at\n\n  {self.address}\n")
        click.echo("Whoever has this address works with your rights, and can write as you can.")
        if self.host not in ("127.0.0.1", "::1", "localhost"):
            click.echo("It can be reached from other machines, and nothing on the way is secret.")
        click.echo("Ctrl+C ends it.")

    @web.middleware
    async def _guarded(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        given = request.query.get("key", "")
        if request.path == "/" and self._is_key(given):
            answer = web.Response(status=303, headers={"Location": "/"})
            answer.set_cookie(self._cookie, given, httponly=True, samesite="Lax")
            return answer
        if not self._is_key(request.cookies.get(self._cookie, "")):
            return web.Response(
                status=403, text="Open the whole address that catalog-tui --serve printed.\n"
            )
        origin = request.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc != request.host:
            return web.Response(status=403, text="Another site asked for this.\n")
        return await handler(request)

    def _is_key(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(errors="replace"), self._key.encode())

    async def handle_index(self, request: web.Request) -> web.Response:
        """The page, with every address in it this server's own."""
        statics = request.app.router["static"].url_for(filename="/")
        context = {
            "font_size": to_int(request.query.get("fontsize", "16"), 16),
            # Seen from where the browser found the page.
            "app_websocket_url": f"{_line_of(request)}{request.app.router['websocket'].url_for()}",
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


def _line_of(request: web.Request) -> str:
    """The scheme and host of the open line between the page and its process."""
    return f"{'wss' if request.scheme == 'https' else 'ws'}://{request.host}"


def _without_outside(page: str) -> str:
    """The page without its link to another's fonts."""
    at = page.find(_OUTSIDE)
    if at < 0:
        return page
    start, end = page.rfind("<link", 0, at), page.find(">", at) + 1
    return page[:start] + page[end:]
