"""The access log: a line for every request, without tokens, bodies, or values of query parameters
that may be secret."""

import re
import sys
import threading
import time
from collections import deque
from typing import IO, Literal
from urllib.parse import quote

import orjson

from explorer.server.json_log import now
from explorer.server.restli import RequestContext

LogFormat = Literal["text", "json"]

# The query parameters whose values are logged: names and numbers of the catalog. The value of any
# other one may be a secret that was sent to the wrong place.
_SHOWN = frozenset(
    {
        "action", "after", "aspect", "aspects", "batch", "count", "direction", "entity", "ids",
        "limit", "platform", "removed", "start", "types", "urn", "values", "version",
    }
)  # fmt: skip
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9.-]{0,31}")
_MAX_LINES = 10_000
_GATHER_SECONDS = 0.05
_CLOSE_SECONDS = 2.0
_MAX_TEXT = 1_000
_MAX_VALUE = 200


class AccessLog:
    """A log with a line for each request, written in a separate thread.

    A stalled reader of the log therefore does not delay responses: at most 10,000 lines are queued,
    and further ones are dropped and counted.
    """

    def __init__(self, form: LogFormat, stream: IO[bytes] | None = None) -> None:
        self._form = form
        self._stream = stream or sys.stderr.buffer
        self._lines: deque[bytes] = deque()
        self._dropped = 0
        self._has_lines = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._write_lines, name="access-log", daemon=True)
        self._thread.start()

    def note(self, context: RequestContext) -> None:
        """Queue the line of a request that has been answered."""
        if len(self._lines) >= _MAX_LINES:
            self._dropped += 1
            return
        self._lines.append(self._line(context))
        if not self._has_lines.is_set():
            self._has_lines.set()

    def close(self) -> None:
        """Write the queued lines, waiting for the reader of the log at most two seconds."""
        self._closing = True
        self._has_lines.set()
        self._thread.join(_CLOSE_SECONDS)

    def _write_lines(self) -> None:
        while not self._closing:
            self._has_lines.wait()
            if not self._closing:
                # Wait, so that the lines of many requests are written at once.
                time.sleep(_GATHER_SECONDS)
            self._has_lines.clear()
            lines: list[bytes] = []
            while self._lines:
                lines.append(self._lines.popleft())
            if self._dropped:
                lines.append(self._format_drop())
            try:
                self._stream.write(b"".join(lines))
                self._stream.flush()
            except (OSError, ValueError):
                # The reader is gone, and there is nowhere else to report it.
                return

    def _format_drop(self) -> bytes:
        dropped, self._dropped = self._dropped, 0
        message = f"{dropped} requests were not logged, because the output of the log was too slow"
        if self._form == "json":
            return orjson.dumps({"time": now(), "message": message}) + b"\n"
        return f"{now()} {message}\n".encode()

    def _line(self, context: RequestContext) -> bytes:
        agent = context.headers.get(b"user-agent", b"").decode("latin-1")[:_MAX_TEXT]
        millis = round(context.seconds * 1_000, 2)
        method, path = context.scope["method"], _path(context)
        request_id = context.request_id.decode("latin-1")
        # A Unix socket has no address. Behind a proxy it is the proxy's.
        peer = context.scope.get("client")
        client = peer[0] if peer else None
        if self._form == "json":
            return orjson.dumps(
                {
                    "time": now(),
                    "method": method,
                    "path": path,
                    "status": context.status,
                    "millis": millis,
                    "bytes": context.sent_bytes,
                    "actor": context.access.actor,
                    "client": client,
                    "request_id": request_id,
                    "user_agent": agent or None,
                },
                option=orjson.OPT_APPEND_NEWLINE,
            )
        text = (
            f"{now()} {method} {path} {context.status} {millis}ms {context.sent_bytes}B "
            f"{context.access.actor or '-'} {client or '-'} {request_id} "
        )
        # The user agent is quoted, because it may contain line breaks or terminal escape
        # sequences.
        return f"{text}{quote(agent, safe=_PLAIN) or '-'}\n".encode()


_PLAIN = " !#$%&()*+,-./:;<=>?@[]^_{|}~"


def _path(context: RequestContext) -> str:
    raw = context.scope.get("raw_path")
    sent = raw.partition(b"?")[0].decode("latin-1") if raw else quote(context.scope["path"])
    path = quote(sent[:_MAX_TEXT], safe="/%():,;=@!$&'*+~")
    query = context.scope["query_string"][:_MAX_TEXT].decode("latin-1")
    if not query:
        return path
    parameters = []
    for pair in query.split("&"):
        key, _, value = pair.partition("=")
        if key in _SHOWN:
            parameters.append(f"{key}={quote(value[:_MAX_VALUE], safe='/%():,;@!$*+~')}")
        else:
            # Text in the place of the name may itself be the secret.
            parameters.append(f"{key if _NAME.fullmatch(key) else '…'}=…")
    return f"{path}?{'&'.join(parameters)}"
