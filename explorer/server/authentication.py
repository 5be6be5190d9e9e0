"""Who may come in and what they may do: the token that a request shows, and the host name that it
asks for."""

import hmac
import logging
import time
from collections.abc import Collection, Mapping
from ipaddress import ip_address
from pathlib import Path

from msgspec import Struct

from explorer.errors import Unusable
from explorer.server.failures import Refusal
from explorer.server.tokens import (
    ROLES,
    Role,
    Token,
    digest_of,
    id_of,
    read_tokens,
    read_uses,
    uses_file,
    write_uses,
)

__all__ = ["Access", "Gate", "Keyring", "is_loopback"]

_LOOK_SECONDS = 1.0
_USE_MILLIS = 60_000
_OPEN = ("/health", "/config", "/restli/docs")
# Compared with when there is no such token, so that both ways take as long.
_NOBODY = "0" * 64
_log = logging.getLogger("explorer.server")

_Seen = tuple[int, int, int, int] | None


class Access(Struct, frozen=True):
    """Who asks, None when nobody was asked to say it, and what they may do."""

    actor: str | None = None
    role: Role = "admin"

    def require(self, role: Role, what: str) -> None:
        """Raise `Refusal` (403) for one who has neither that role nor a higher one."""
        if ROLES.index(self.role) < ROLES.index(role):
            raise Refusal(
                403,
                f"{what} needs the role {role}; this token has the role {self.role}. "
                "Whoever runs the server can make another: "
                f"catalog token create NAME --actor USER --role {role}",
            )


_EVERYBODY = Access()
_ANONYMOUS = Access(role="reader")


class Keyring:
    """The tokens of a file, kept up with it: a token made or revoked counts within a second.

    With `required` a token is asked for even while the file holds none. Otherwise that begins with
    the first token, and never ends, also when the server is started again. Raises `Unusable` when
    the file cannot be used or is gone; one that breaks later leaves what was known.
    """

    def __init__(self, path: Path, *, required: bool = False) -> None:
        self._path = path
        self._seen = _look(path)
        if required and self._seen is None:
            raise Unusable(
                f"there is no token file {path}; make it with: "
                f"catalog token create NAME --actor USER --token-file '{path}'"
            )
        had_tokens = uses_file(path).exists()
        if had_tokens and self._seen is None:
            raise Unusable(
                f"the token file {path} is gone, and without it everybody could read and write "
                "this catalog; put back a copy of it, or make a token: catalog token create NAME "
                f"--actor USER. To serve without tokens from now on, remove {uses_file(path)}"
            )
        self._tokens = _by_id(read_tokens(path))
        self._is_closed = required or had_tokens or bool(self._tokens)
        self._uses = read_uses(path)
        self._written_uses = dict(self._uses)
        if self._tokens and not had_tokens:
            self._write_uses()
        self._next_look = time.monotonic() + _LOOK_SECONDS

    @property
    def is_closed(self) -> bool:
        """Whether a token is asked for."""
        self._keep_up()
        return self._is_closed

    @property
    def is_gone(self) -> bool:
        """Whether the token file was removed while the server runs."""
        return self._is_closed and self._seen is None

    def token_of(self, shown: str) -> Token | None:
        """The token that was shown; None for one that is wrong, expired or revoked."""
        token = self._tokens.get(id_of(shown))
        digest = digest_of(shown)
        matches = hmac.compare_digest(token.sha256 if token else _NOBODY, digest)
        if token is None or not matches:
            return None
        now_millis = time.time_ns() // 1_000_000
        if token.state(now_millis) != "valid":
            return None
        self._uses[token.id] = now_millis
        if now_millis - self._written_uses.get(token.id, 0) >= _USE_MILLIS:
            self._write_uses()
        return token

    def close(self) -> None:
        """Write down when each token was last used; while serving that is done once a minute."""
        if self._uses != self._written_uses:
            self._write_uses()

    def _write_uses(self) -> None:
        uses = {token: millis for token, millis in self._uses.items() if token in self._tokens}
        # Not tried again before a minute is over, whatever comes of it.
        self._uses, self._written_uses = uses, dict(uses)
        try:
            write_uses(self._path, uses)
        except OSError as error:
            _log.warning("when tokens were last used cannot be kept: %s", error)

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

    def admit(self, headers: Mapping[bytes, bytes], path: str) -> Access:
        """Return who asks, and what they may do: everything where no token is asked for.

        Raises `Refusal`: 403 for a host that is not served, 401 without a valid token.
        """
        if self._hosts is not None and path != "/health":
            self._check_host(headers.get(b"host", b"").decode("latin-1"))
        keyring = self._keyring
        if keyring is None or not keyring.is_closed:
            return _EVERYBODY
        if _is_open(path):
            return _ANONYMOUS
        scheme, _, shown = headers.get(b"authorization", b"").partition(b" ")
        if scheme.lower() == b"bearer":
            token = keyring.token_of(shown.strip().decode("latin-1"))
            if token is not None:
                return Access(token.actor, token.role)
        gone = (
            " The token file of this server is gone, so that no token is valid; whoever runs the "
            "server can put it back, or make new tokens with: catalog token create"
        )
        raise Refusal(
            401,
            f"Unauthorized to perform this action.{gone if keyring.is_gone else ''}",
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
