"""The servers that can be opened: the profiles, the local catalog, and any address."""

import asyncio
from dataclasses import dataclass
from typing import Final

from explorer import config
from explorer.client.transport import Secret
from explorer.sessions.base import action
from explorer.sessions.listing import ListSession, ListState

ALWAYS_HERE: Final = "The local catalog is always available: it has no offline copy."


@dataclass(frozen=True, slots=True)
class KnownServer:
    """A server: its profile, None for the default server; its address or directory; and where it is
    configured."""

    profile: str | None
    name: str
    place: str
    identity: str
    known_from: str
    read_only: bool
    token_from: str
    asks_for_token: bool
    is_embedded: bool


class ServerSession(ListSession[ListState[KnownServer]]):
    """The servers that can be opened. The one with the `identity` of the open server is selected
    first. Sends no request."""

    READING = "reading the profiles …"

    def __init__(self, identity: str) -> None:
        super().__init__(None, ListState(), identity)

    async def read_rows(self) -> None:
        """Read the profiles. Raises `Unusable` for a damaged file."""
        servers = await asyncio.to_thread(_list_servers)
        self.put(servers, rows=servers)

    def key_of(self, row: KnownServer) -> str:
        """Return a key that identifies a row in the list."""
        return row.identity

    @action("Open the offline copy of the server", in_turn=False)
    async def open_offline(self) -> KnownServer | None:
        """Return the selected server to open offline, if it can have an offline copy."""
        return self.state.current

    @action("Open the server at an address", in_turn=False)
    async def take_address(self, text: str) -> str:
        """Return the URL for a typed address. Raises `InvalidInput` if it is not the address of a
        server."""
        url = text if "://" in text else f"http://{text}"
        config.ConnectionProfile(url=url).checked()
        return url

    @action("Open the server with an access token", in_turn=False)
    async def take_token(self, text: str) -> Secret:
        """Return a typed access token as a secret. Raises `InvalidInput` for a text that cannot be
        a token."""
        token = Secret(f"Bearer {text.strip()}")
        token.check()
        return token

    def why_not(self, name: str) -> str:
        """Return why an action is not possible now; empty if it is possible."""
        current = self.state.current
        if name != "open_offline":
            return ""
        if current is None:
            return self.state.instead
        return ALWAYS_HERE if current.is_embedded else ""


def _list_servers() -> list[KnownServer]:
    """Return the profiles by name, the local catalog, and servers of the environment or of
    DataHub's settings. Reads small files."""
    profiles = config.read_profiles()
    servers = [
        _describe_server(name, f"a profile{', current' if name == profiles.current else ''}")
        for name in profiles.by_name
    ]
    own = _describe_server(config.EMBEDDED, "always available")
    meant = _describe_server(None, "from the environment, or DataHub's settings")
    if meant.identity not in [server.identity for server in (*servers, own)]:
        servers.insert(0, meant)
    return [*servers, own]


def _describe_server(profile: str | None, known_from: str) -> KnownServer:
    server = config.server(profile=profile)
    source = server.token.source
    return KnownServer(
        profile,
        "this machine" if server.name == config.EMBEDDED else server.name,
        server.url or str(server.data_dir or config.data_dir()),
        server.identity,
        known_from,
        server.read_only,
        "" if source == "none" else source,
        server.token.asks,
        server.url is None,
    )
