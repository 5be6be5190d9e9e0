"""What is known of one request while it is answered, for whoever counts and writes it down."""

import itertools
import re
import secrets
from collections.abc import Mapping, MutableMapping
from time import perf_counter
from typing import TYPE_CHECKING, Any

from explorer.server.call import Scope, Send

if TYPE_CHECKING:
    from explorer.server.endpoint import Endpoint

__all__ = ["REQUEST_ID", "Visit"]

REQUEST_ID = b"x-request-id"

_GIVEN_ID = re.compile(rb"[\w.:/+=-]{1,128}")
_run = secrets.token_hex(4)
_count = itertools.count(1)


class Visit:
    """One request: its headers by lower-case name, where it led, who asked, what it weighed.

    `request_id` is the caller's own where it gave a fit one. Made ten thousand times a second.
    """

    __slots__ = (
        "actor",
        "began",
        "endpoint",
        "headers",
        "received_bytes",
        "request_id",
        "scope",
        "seconds",
        "sent_bytes",
        "status",
    )

    def __init__(self, scope: Scope) -> None:
        self.began = perf_counter()
        self.scope = scope
        self.headers: Mapping[bytes, bytes] = dict(scope["headers"])
        given = self.headers.get(REQUEST_ID)
        if given is not None and _GIVEN_ID.fullmatch(given):
            self.request_id = given
        else:
            self.request_id = f"{_run}-{next(_count):x}".encode()
        self.endpoint: Endpoint | None = None
        self.actor: str | None = None
        self.status = 0
        self.seconds = 0.0
        self.sent_bytes = 0
        # As the request declared it.
        self.received_bytes = 0

    def weighed(self, send: Send) -> Send:
        """The same way out, counting what goes through it."""

        async def counting(message: MutableMapping[str, Any]) -> None:
            self.sent_bytes += len(message.get("body", b""))
            await send(message)

        return counting

    def end(self) -> None:
        """Note how long it took."""
        self.seconds = perf_counter() - self.began
