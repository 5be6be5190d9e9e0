"""Ways out to the web: an entity's page on its server, and a browser that opens an address."""

import asyncio
import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from explorer.client.display import line

if TYPE_CHECKING:
    from explorer.client.records import ServerInfo
    from explorer.metadata.urn import Urn
    from explorer.tui.session import Session

__all__ = ["Web", "browse_to", "is_web", "page_of"]

# The first step of the path under which DataHub's web interface shows each type.
_PAGES = {
    "chart": "chart",
    "container": "container",
    "corpGroup": "group",
    "corpuser": "user",
    "dashboard": "dashboard",
    "dataFlow": "pipelines",
    "dataJob": "tasks",
    "dataProduct": "dataProduct",
    "dataset": "dataset",
    "domain": "domain",
    "glossaryNode": "glossaryNode",
    "glossaryTerm": "glossaryTerm",
    "mlFeature": "features",
    "mlFeatureTable": "featureTables",
    "mlModel": "mlModels",
    "mlModelGroup": "mlModelGroup",
    "mlPrimaryKey": "mlPrimaryKeys",
    "tag": "tag",
}
_SERVICE_BELOW = "/api/gms"
_SERVICE_PORT, _WEB_PORT = 8080, 9002
_PATIENCE_SECONDS = 5.0
_REMOTE = ("SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY")
_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")


class Web:
    """Opens pages; where no browser can be seen, their addresses are copied instead, and said."""

    def __init__(self, session: "Session", copy: Callable[[str], None]) -> None:
        self._session = session
        self._copy = copy

    async def open_page(self, urn: "Urn") -> None:
        """Open an entity's page in the web interface of its server: one request."""
        with self._session.reporting("looking for the page on the web"):
            catalog = await self._session.catalog()
            page = page_of(urn, await catalog.info())
            if page is None:
                self._session.say("This server has no web page of it; y copies the URN.")
            else:
                await self.visit(page)

    async def visit(self, url: str) -> None:
        """Open an address."""
        with self._session.reporting("opening an address of the web"):
            if not is_web(url):
                self._session.say("Only plain addresses of http and https are opened.", error=True)
            elif await browse_to(url):
                self._session.say(f"Opened {url}")
            else:
                # Copying says for itself what was done.
                self._copy(url)


def page_of(urn: "Urn", info: "ServerInfo") -> str | None:
    """The address of an entity's page in the web interface of its server; nothing where that has
    none, as this package's own service, or none for that type.

    A DataHub behind `/api/gms` has its pages on the same host; one that is asked at port 8080 has
    them at 9002, as it is shipped.
    """
    step = _PAGES.get(urn.entity_type)
    if info.product != "datahub" or step is None or not is_web(info.address):
        return None
    parts = urlsplit(info.address)
    host, path = parts.netloc, parts.path.rstrip("/")
    if path.endswith(_SERVICE_BELOW):
        path = path.removesuffix(_SERVICE_BELOW)
    elif parts.port == _SERVICE_PORT:
        host = f"{host.rpartition(':')[0]}:{_WEB_PORT}"
    return f"{parts.scheme}://{host}{path}/{step}/{urn.encoded}"


def is_web(url: str) -> bool:
    """Whether a text is an address that a browser may be given: http or https, and nothing in it
    that is not meant to be seen."""
    if not url.startswith(("http://", "https://")) or line(url) != url or " " in url:
        return False
    try:
        return bool(urlsplit(url).hostname)
    except ValueError:
        return False


async def browse_to(url: str) -> bool:
    """Open an address in the reader's browser; says whether there is one to be seen.

    Over ssh a browser would open elsewhere, and one that runs in the terminal would take the
    screen: neither is started.
    """
    if any(os.environ.get(name) for name in _REMOTE):
        return False
    wanted = os.environ.get("BROWSER")
    if sys.platform.startswith("linux") and not wanted:
        if not any(os.environ.get(name) for name in _DISPLAYS):
            return False
    return await _started(url)


async def _started(url: str) -> bool:
    webbrowser = await asyncio.to_thread(import_module, "webbrowser")
    try:
        browser = await asyncio.to_thread(webbrowser.get)
    except webbrowser.Error:
        return False
    if isinstance(browser, webbrowser.BackgroundBrowser):
        # What it prints must not end up on the screen.
        return await _run([browser.name, *(part.replace("%s", url) for part in browser.args)])
    if isinstance(browser, webbrowser.GenericBrowser):
        return False
    return await asyncio.to_thread(browser.open, url)


async def _run(command: list[str]) -> bool:
    quiet = asyncio.subprocess.DEVNULL
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True
        )
    except OSError:
        return False
    try:
        return await asyncio.wait_for(process.wait(), _PATIENCE_SECONDS) == 0
    except TimeoutError:
        # It goes on beside this program, as browsers do.
        return True
