"""When two addresses are one server, and which addresses a profile may hold."""

import re
from pathlib import Path
from urllib.parse import urlsplit

from explorer.errors import InvalidInput

__all__ = ["checked_url", "identity", "identity_of_directory"]

# Only what every reader of addresses takes apart in the same way.
_PLAIN = re.compile(
    r"(https?)://([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?(/[a-z0-9._~%/-]*)?",
    re.IGNORECASE | re.ASCII,
)
_PORTS = {"http": "80", "https": "443"}


def identity(url: str) -> str:
    """A text that is equal for two addresses only if they are the same server and base path.

    Letters' case in the host, the usual port and a slash at the end make no difference; every
    other one does, and an unusual address is equal only to itself.
    """
    found = _PLAIN.fullmatch(url)
    if found is None:
        return url
    scheme, host, port, path = found.groups()
    scheme = scheme.lower()
    return f"{scheme}://{host.lower()}:{port or _PORTS[scheme]}{(path or '').rstrip('/')}"


def identity_of_directory(directory: Path) -> str:
    """The same for an embedded catalog, which is known by its directory."""
    return f"directory:{directory.expanduser().absolute()}"


def checked_url(url: str) -> str:
    """An address that a profile may hold; raises `InvalidInput` saying what is wrong with it."""
    if url.startswith("unix:/") and url.isprintable():
        return url
    if not url.isprintable() or " " in url:
        raise InvalidInput(f"{url!r} is no server's address: it holds spaces or control characters")
    try:
        parts = urlsplit(url)
        port_is_one = parts.port is None or parts.port > 0
    except ValueError as error:
        raise InvalidInput(f"{url!r} is no server's address: {error}") from error
    if parts.scheme not in _PORTS or not parts.hostname or not port_is_one:
        raise InvalidInput(
            f"{url!r} is no server's address; it looks like https://catalog.example.com"
        )
    if "@" in parts.netloc:
        raise InvalidInput(
            "an address holds no user and no password, for it is written to a file and shown; "
            "give the token with --token-from"
        )
    if parts.query or parts.fragment:
        raise InvalidInput(f"{url!r} goes on after the path; leave out what follows ? or #")
    return url.rstrip("/")
