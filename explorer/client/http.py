"""The only door to the network: requests go out and answers come in through httpx, here alone.

Imported when a first request is sent, for httpx takes longer to import than a screen to appear.
"""

import httpx
import orjson

from explorer.client.requests import Request
from explorer.client.transport import NeverSent
from explorer.errors import InvalidInput, Unreachable

__all__ = ["HttpTransport"]

_HEADERS = {"X-RestLi-Protocol-Version": "2.0.0", "Accept": "application/json"}
_UNIX = "unix:"
_MAX_CONNECTIONS = 20


class HttpTransport:
    """httpx over TCP or, for addresses like `unix:/run/catalog.sock`, a Unix socket."""

    def __init__(self, address: str, token: str | None, timeout_seconds: float) -> None:
        self._address = address
        limits = httpx.Limits(max_connections=_MAX_CONNECTIONS)
        timeout = httpx.Timeout(timeout_seconds, connect=min(5.0, timeout_seconds))
        headers = dict(_HEADERS)
        if token:
            headers["Authorization"] = f"Bearer {token}"
        if address.startswith(_UNIX):
            path = address.removeprefix(_UNIX)
            carrier = httpx.AsyncHTTPTransport(uds=path, limits=limits, verify=False)
            self._base = "http://catalog"
        else:
            self._base = _checked(address)
            # Loading certificates takes longer than a first answer, so only where they are used.
            secure = self._base.startswith("https:")
            carrier = httpx.AsyncHTTPTransport(limits=limits, verify=secure)
        self._http = httpx.AsyncClient(transport=carrier, timeout=timeout, headers=headers)

    async def send(self, request: Request) -> tuple[int, bytes]:
        """Send once; raises `Unreachable` saying what went wrong, `NeverSent` when nothing left."""
        content = None if request.body is None else orjson.dumps(request.body)
        headers = dict(request.headers)
        if content is not None:
            headers["Content-Type"] = "application/json"
        try:
            answer = await self._http.request(
                request.method, self._base + request.path, content=content, headers=headers
            )
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise NeverSent(f"no catalog answers at {self._address}; is it running?") from error
        except httpx.TimeoutException as error:
            raise Unreachable(f"{self._address} took too long to answer; try again") from error
        except httpx.HTTPError as error:
            said = str(error) or type(error).__name__
            raise Unreachable(f"{self._address} hung up ({said}); try again") from error
        return answer.status_code, answer.content

    async def close(self) -> None:
        """Hang up."""
        await self._http.aclose()


def _checked(address: str) -> str:
    if not address.startswith(("http://", "https://")):
        raise InvalidInput(f"a server's address starts with http:// or https://, not {address!r}")
    return address.rstrip("/")
