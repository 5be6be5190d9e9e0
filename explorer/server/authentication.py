"""Who may come in: the token that a request shows, and the host name it asks for."""

import hmac
import logging
import time
from collections.abc import Collection, Mapping
from ipaddress import ip_address
from pathlib import Path

from explorer.errors import Unusable
from explorer.server.failures import Refusal
from explorer.server.tokens import Token, digest_of, id_of, read_tokens

__all__ = ["Gate", "Keyring", "is_loopback"]

_LOOK_SECONDS = 1.0
_OPEN = ("/health", "/config", "/restli/docs")
# Compared with when there is no such token, so that both ways take as long.
_NOBODY = "0" * 64
_log = logging.getLogger("explorer.server")

_Seen = tuple[int, int, int, int] | None


class Keyring:
    """The tokens of a file, kept up with it: a token made or revoked counts within a second.

    With `required` a token is asked for even while the file holds none. Otherwise that begins with
    the first token, and never ends while the server runs. Raises `Unusable` when the file cannot
    be used; one that breaks later leaves what was known.
    """

    def __init__(self, path: Path, *, required: bool = False) -> None:
        self._path = path
        self._seen = _look(path)
        if required and self._seen is None:
            raise Unusable(
                f"there is no token file {path}; make it with: "
                f"catalog token create NAME --actor USER --token-file '{path}'"
            )
        self._tokens = _by_id(read_tokens(path))
        self._is_closed = required or bool(self._tokens)
        self._next_look = time.monotonic() + _LOOK_SECONDS

    @property
    def is_closed(self) -> bool:
        """Whether a token is asked for."""
        self._keep_up()
        return self._is_closed

    def actor_of(self, shown: str) -> str | None:
        """The URN that a token stands for; None for one that is wrong, expired or revoked."""
        token = self._tokens.get(id_of(shown))
        digest = digest_of(shown)
        matches = hmac.compare_digest(token.sha256 if token else _NOBODY, digest)
        if token is None or not matches:
            return None
        return token.actor if token.state(time.time_ns() // 1_000_000) == "valid" else None

    def _keep_up(self) -> None:
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + _LOOK_SECONDS
        seen = _look(self._path)
        if seen == self._seen:
            return
        try:
            self._tokens = _by_id(read_tokens(self._path))
        except Unusable as error:
            _log.warning("%s; the tokens known before count until then", error)
        else:
            self._is_closed = self._is_closed or bool(self._tokens)
        self._seen = seen


class Gate:
    """Lets a request in, or refuses it.

    Without `keyring` nobody is asked for a token. Without `hosts` any host name will do; with them
    a request must name one of them, or this machine as localhost or a loopback address. That keeps
    out web pages whose own host name was made to point here.
    """

    def __init__(
        self, keyring: Keyring | None = None, hosts: Collection[str] | None = None
    ) -> None:
        self._keyring = keyring
        self._hosts = None if hosts is None else {"localhost", *map(_bare, hosts)}

    def admit(self, headers: Mapping[bytes, bytes], path: str) -> str | None:
        """The URN of whoever asks, None when nobody was asked to say it.

        Raises `Refusal`: 403 for a host that is not served, 401 without a valid token.
        """
        if self._hosts is not None and path != "/health":
            self._check_host(headers.get(b"host", b"").decode("latin-1"))
        keyring = self._keyring
        if keyring is None or not keyring.is_closed or _is_open(path):
            return None
        scheme, _, shown = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() == b"bearer":
            actor = keyring.actor_of(shown.strip().decode("latin-1"))
            if actor is not None:
                return actor
        raise Refusal(
            401,
            "Unauthorized to perform this action.",
            ((b"www-authenticate", b"Bearer"),),
        )

    def _check_host(self, asked: str) -> None:
        host = _bare(asked)
        if self._hosts is not None and host not in self._hosts and not is_loopback(host):
            raise Refusal(
                403,
                f"this server does not answer for the host {host[:200]!r}; "
                "whoever runs it can name it with --allow-host",
            )


def is_loopback(host: str) -> bool:
    """Whether a host is this machine and nothing else."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def _is_open(path: str) -> bool:
    return path.startswith(_OPEN) and any(
        path == one or path.startswith(f"{one}/") for one in _OPEN
    )


def _bare(host: str) -> str:
    """A host name without its port, in lower case."""
    name = host.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name if name.count(":") > 1 else name.partition(":")[0].rstrip(".")


def _look(path: Path) -> _Seen:
    try:
        entry = path.stat()
    except OSError:
        return None
    # The mode too: a file that was open to others is readable once that is put right.
    return entry.st_mtime_ns, entry.st_size, entry.st_ino, entry.st_mode


def _by_id(tokens: tuple[Token, ...]) -> dict[str, Token]:
    return {token.id: token for token in tokens}
