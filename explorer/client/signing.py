"""Who asks: when a server is shown the token, and when not."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from explorer.client.requests.request import GRAPHQL_PATH, Request
from explorer.client.secret import Secret

__all__ = ["Signing"]


class Signing:
    """Puts the token on requests.

    GraphQL always carries it. The other calls do once the server has asked for it with a 401,
    or from the first on with `always`. `fetch` gives the token; it may take long, is called in a
    thread, and not before it is needed.
    """

    def __init__(
        self, given: Secret | None, fetch: Callable[[], str | None] | None, *, always: bool
    ) -> None:
        self._secret = given
        self._fetch = None if given else fetch
        self._always = always
        self._fetching = asyncio.Lock()

    async def sign(self, request: Request) -> Request:
        """The request as it is sent. Raises what `fetch` raises."""
        if not (self._always or request.path.startswith(GRAPHQL_PATH)):
            return request
        secret = await self._found()
        return request if secret is None else replace(request, signature=secret)

    async def was_asked(self, request: Request) -> bool:
        """Told that the server wants to know who sent this: whether there is more to show, which
        it then is from now on."""
        if request.signature is not None or await self._found() is None:
            return False
        self._always = True
        return True

    def cut_from(self, body: bytes) -> bytes:
        """What a server said, without the token where it is repeated."""
        return body if self._secret is None else self._secret.cut_from(body)

    async def _found(self) -> Secret | None:
        if self._fetch is not None:
            async with self._fetching:
                if self._fetch is not None:
                    self._secret = await asyncio.to_thread(_wrapped, self._fetch)
                    self._fetch = None
        return self._secret


def _wrapped(fetch: Callable[[], str | None]) -> Secret | None:
    # Wrapped here, so that no frame of a waiting request ever holds the bare text.
    return Secret.of(fetch())
