"""The addresses of servers: checked, joined with paths, and free of credentials when shown."""

import re
from ipaddress import ip_address
from urllib.parse import urlsplit

from explorer.errors import InvalidInput

__all__ = ["UNIX", "base_of", "is_local", "shown"]

UNIX = "unix:"
_TELLING = re.compile(r"(?i)token|secret|password|passwd|api_?key|signature|auth")
# Names hold no question mark, so that no part of a text is gone through more than once.
_MEMBER = re.compile(r"([?&;])([^?=&;#]*+)=[^&;#]*")
_LOGIN = re.compile(r"(?<=//)[^/?#\s]*@")


def base_of(address: str) -> str:
    """What the paths of requests follow: the address without a slash at its end.

    Raises `InvalidInput` for what is no address of a server.
    """
    if not address.startswith(("http://", "https://")):
        raise InvalidInput(
            f"a server's address starts with http:// or https://, not {shown(address)!r}"
        )
    try:
        parts = urlsplit(address)
        usable = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable or not address.isprintable() or " " in address:
        raise InvalidInput(
            f"{shown(address)!r} is no server's address; it looks like http://host:8080"
        )
    if parts.query or parts.fragment:
        raise InvalidInput(
            f"a server's address ends with its path; leave out what follows ? or # after "
            f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        )
    return address.rstrip("/")


def is_local(address: str) -> bool:
    """Whether what is sent to an address stays on this machine."""
    host = "" if address.startswith(UNIX) else urlsplit(address).hostname or ""
    try:
        return not host or ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def shown(url: str) -> str:
    """An address fit to be shown: no name, no password, no token in its query."""
    return _MEMBER.sub(_untold, _LOGIN.sub("", url))


def _untold(member: re.Match[str]) -> str:
    return f"{member[1]}{member[2]}=…" if _TELLING.search(member[2]) else member[0]
