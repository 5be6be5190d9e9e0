"""Authentication and authorisation: access tokens with roles, rate limits, and the `Host` header.

Tokens are kept in a file, or in the database that several services share. A running server reads
them, and the command `catalog token` writes them; neither waits for the other.
"""

import hashlib
import hmac
import logging
import math
import os
import re
import secrets
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import Literal, Protocol

import msgspec
from msgspec import Struct

from explorer.errors import (
    Busy,
    CatalogError,
    InvalidFile,
    InvalidInput,
    Misconfigured,
    NotFound,
    StorageFault,
    Unusable,
)
from explorer.files import keep_owner, replace_file
from explorer.server.failures import RequestRefusal

TOKENS_FILE = "tokens.json"
State = Literal["valid", "expired", "revoked"]
Role = Literal["reader", "proposer", "editor", "admin"]
# Each role may also do what the roles before it may. A proposer may send changesets for review.
ROLES: tuple[Role, ...] = ("reader", "proposer", "editor", "admin")

# Format 1 had no roles. A release that knows only format 1 treats every token as an admin's, so it
# must not read a file with roles. Format 2 had no proposers, and is written while there are none.
_FORMAT = 2
_FORMAT_OF_PROPOSERS = 3
_FORMATS = (1, _FORMAT, _FORMAT_OF_PROPOSERS)
_PREFIX = "cat"
_SECRET_BYTES = 32
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,99}")


class Token(msgspec.Struct, frozen=True, omit_defaults=True):
    """The record of an access token: its user, role and hash. The token itself is not stored.

    `id` is the part of the token that identifies it. Times are milliseconds since 1970 UTC; a token
    without `expires_millis` never expires. A token without a role was created before there were
    roles, and may do everything.
    """

    name: str
    actor: str
    id: str
    sha256: str
    created_millis: int
    expires_millis: int | None = None
    revoked_millis: int | None = None
    role: Role = "admin"

    def state(self, now_millis: int) -> State:
        """Return whether the token is valid, expired or revoked at a time."""
        if self.revoked_millis is not None:
            return "revoked"
        if self.expires_millis is not None and self.expires_millis <= now_millis:
            return "expired"
        return "valid"


class _TokenFile(msgspec.Struct, frozen=True):
    format: int
    tokens: tuple[Token, ...]


def read_tokens(path: Path) -> tuple[Token, ...]:
    """Return the tokens in a file, oldest first; none if the file does not exist.

    Raises `Unusable`, with instructions, if the file cannot be read, is damaged, is of a newer
    release, or is accessible to other users of this machine.
    """
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read()
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise StorageFault(f"the token file {path} cannot be read: {error.strerror}") from error
    if os.name == "posix" and mode & 0o077:
        raise StorageFault(
            f"the token file {path} is open to others (mode {mode & 0o777:04o}); "
            f"run: chmod 600 '{path}'"
        )
    try:
        token_file = msgspec.json.decode(data, type=_TokenFile)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InvalidFile(
            f"the token file {path} is damaged ({error}); restore a copy of it, or remove it and "
            "create the tokens again"
        ) from error
    if token_file.format not in _FORMATS:
        raise InvalidFile(
            f"the token file {path} has the format {token_file.format}, this release reads "
            f"{_FORMATS[-1]}; upgrade catalog-explorer"
        )
    return token_file.tokens


class TokenStore(Protocol):
    """A place where tokens are stored. Methods raise `Unusable` or `Busy` if it cannot be used."""

    @property
    def place(self) -> str:
        """The name of the place, for messages."""

    def tokens(self) -> tuple[Token, ...]:
        """Return all tokens, oldest first."""

    def uses(self) -> Mapping[str, int]:
        """Return when each token was last used, by its id, in milliseconds since 1970 UTC."""

    def change(self, change: Callable[[tuple[Token, ...]], tuple[Token, ...]]) -> None:
        """Replace the tokens by the result of `change` for them; other changes wait meanwhile."""


class SharedTokens(TokenStore, Protocol):
    """Tokens in a database that several services share."""

    def version(self) -> int:
        """Return a number that changes whenever the tokens change."""

    def note_uses(self, uses: Mapping[str, int]) -> None:
        """Store when tokens were last used, unless a later use is stored already."""

    def hurry(self) -> None:
        """Wait only a moment for each answer of the database from now on, because the service
        stops."""

    def close(self) -> None:
        """Close the connection."""


class TokenFile:
    """A `TokenStore` in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def place(self) -> str:
        return str(self._path)

    def tokens(self) -> tuple[Token, ...]:
        return read_tokens(self._path)

    def uses(self) -> Mapping[str, int]:
        return read_uses(self._path)

    def change(self, change: Callable[[tuple[Token, ...]], tuple[Token, ...]]) -> None:
        with _changing(self._path):
            tokens = read_tokens(self._path)
            changed = change(tokens)
            if changed != tokens:
                _write(self._path, changed)
            if not uses_file(self._path).exists():
                write_uses(self._path, {})


def create_token(
    store_or_path: TokenStore | Path,
    name: str,
    actor: str,
    expires_millis: int | None = None,
    role: Role = "editor",
) -> tuple[str, Token]:
    """Create a token; return it with its record. Only the record is stored, not the token itself.

    `store_or_path` is where tokens are stored, or the path of a token file. A name can be used
    again once its token has expired or was revoked. Raises `InvalidInput` if a valid token has the
    name, or if the name is not allowed, and `StorageFault` if the file cannot be written.
    """
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            f"invalid token name {name!r}: use letters, digits and . _ @ - (at most 100 "
            "characters, starting with a letter or a digit)"
        )
    key = secrets.token_hex(6)
    secret = f"{_PREFIX}_{key}_{secrets.token_urlsafe(_SECRET_BYTES)}"
    now_millis = time.time_ns() // 1_000_000
    token = Token(name, actor, key, digest_of(secret), now_millis, expires_millis, role=role)

    def add(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
        for existing in tokens:
            if existing.name == name and existing.state(now_millis) == "valid":
                raise InvalidInput(
                    f"a valid token named {name} already exists; revoke it first, or choose "
                    "another name"
                )
        return (*(token for token in tokens if token.name != name), token)

    _store_of(store_or_path).change(add)
    return secret, token


def revoke_token(store_or_path: TokenStore | Path, name: str) -> Token:
    """Revoke a token and return its record, which stays listed. Raises `NotFound` if no token has
    the name."""
    revoked: list[Token] = []

    def revoke(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
        now_millis = time.time_ns() // 1_000_000
        after = [
            msgspec.structs.replace(token, revoked_millis=now_millis)
            if token.name == name and token.revoked_millis is None
            else token
            for token in tokens
        ]
        # Tokens taken over from several files may have the same name: all are revoked, and the last
        # one is returned.
        revoked.extend(token for token in after if token.name == name)
        if not revoked:
            names = ", ".join(sorted(token.name for token in tokens)) or "none"
            raise NotFound(f"there is no token named {name}; known: {names}")
        return tuple(after)

    _store_of(store_or_path).change(revoke)
    return revoked[-1]


def _store_of(store_or_path: TokenStore | Path) -> TokenStore:
    return TokenFile(store_or_path) if isinstance(store_or_path, Path) else store_or_path


def copy_tokens(source: TokenStore, target: TokenStore) -> int:
    """Copy the tokens that `target` lacks from `source`; return how many tokens `source` has.
    Raises as the methods of `TokenStore`."""
    source_tokens = source.tokens()

    def add(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
        ids = {token.id for token in tokens}
        return (*tokens, *(token for token in source_tokens if token.id not in ids))

    if source_tokens:
        target.change(add)
    return len(source_tokens)


def take_over_file(path: Path, shared: TokenStore) -> int:
    """Move the tokens of a file into a database, and return how many there were.

    The file is renamed, so that a token that is revoked later does not return from it. Raises as
    `copy_tokens`, and `StorageFault` if the file cannot be renamed.
    """
    count = copy_tokens(TokenFile(path), shared)
    if not count:
        return 0
    moved = path.with_name(f"{path.name}.moved")
    try:
        path.replace(moved)
    except OSError as error:
        raise StorageFault(
            f"the token file {path} cannot be renamed to {moved.name}: {error.strerror}"
        ) from error
    return count


def digest_of(secret: str) -> str:
    """Return the hash of a token that is stored.

    A token has 256 random bits and cannot be guessed; a slow hash, as passwords need, would only
    make every request slower.
    """
    return hashlib.sha256(secret.encode(errors="surrogateescape")).hexdigest()


def id_of(secret: str) -> str:
    """Return the id in an access token, which is not secret; empty for other kinds of token."""
    prefix, _, rest = secret.partition("_")
    return rest.partition("_")[0] if prefix == _PREFIX else ""


def uses_file(path: Path) -> Path:
    """Return the path of the file, beside a token file, that stores when each token was last used.
    If the token file is gone, this file still shows that there were tokens."""
    return path.with_name(f"{path.name}.used")


def read_uses(path: Path) -> dict[str, int]:
    """Return when each token of a token file was last used, by its id, in milliseconds since 1970
    UTC; empty if the times cannot be read."""
    try:
        return msgspec.json.decode(uses_file(path).read_bytes(), type=dict[str, int])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return {}


def write_uses(path: Path, uses: Mapping[str, int]) -> None:
    """Store when each token was last used. Raises `OSError`."""
    replace_file(uses_file(path), msgspec.json.encode(uses) + b"\n", is_synced=False)


def _write(path: Path, tokens: tuple[Token, ...]) -> None:
    # A token that was revoked must not come back after a power failure.
    has_proposer = any(token.role == "proposer" for token in tokens)
    format_number = _FORMAT_OF_PROPOSERS if has_proposer else _FORMAT
    credential = msgspec.json.format(msgspec.json.encode(_TokenFile(format_number, tokens)))
    replace_file(path, credential + b"\n")


@contextmanager
def _changing(path: Path) -> Iterator[None]:
    """Lock a token file for a change, so that concurrent changes are not lost."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            keep_owner(lock, path.parent)
            _wait_for(lock)
            yield
        finally:
            os.close(lock)
    except OSError as error:
        raise StorageFault(f"the token file {path} cannot be written: {error.strerror}") from error


if os.name == "posix":
    import fcntl

    def _wait_for(lock: int) -> None:
        fcntl.flock(lock, fcntl.LOCK_EX)

else:

    def _wait_for(lock: int) -> None:
        """Do nothing: on other systems than POSIX token files are not locked."""


_LOOK_SECONDS = 1.0
_POLL_SECONDS = 0.5
_BLIND_SECONDS = 300.0
_USE_MILLIS = 60_000
_MOST_LIMITED = 10_000
OPEN_PATHS = (
    "/health",
    "/health/live",
    "/health/ready",
    "/health/search",
    "/config",
    "/restli/docs",
    "/openapi.json",
)
"""The paths that are answered without a token."""
# Used as the hash if there is no token with the given id, so that the comparison takes as long.
_NOBODY = "0" * 64
_log = logging.getLogger("explorer.server")

_Seen = tuple[int, int, int, int] | None


class Access(Struct, frozen=True):
    """The actor of a request, `None` without a token, and the role of the actor.

    `credential` identifies the caller, and is not secret: `token:` and the name of an access token,
    or `oidc:` and the subject that the issuer's token names; empty without a token.
    """

    actor: str | None = None
    role: Role = "admin"
    credential: str = ""

    def has(self, role: Role) -> bool:
        """Return whether the request has this role or a higher one."""
        return ROLES.index(self.role) >= ROLES.index(role)

    def require(self, role: Role, what: str) -> None:
        """Raise `RequestRefusal` (403) unless the request has this role or a higher one."""
        if not self.has(role):
            hint = (
                "Whoever runs your sign-in can give you that role"
                if self.credential.startswith("oidc:")
                else "Whoever runs the server can make another: "
                f"catalog token create NAME --actor USER --role {role}"
            )
            raise RequestRefusal(
                403, f"{what} needs the role {role}; this token has the role {self.role}. {hint}"
            )


class Unauthorized(RequestRefusal):
    """The refusal of a request without a valid token.

    `access` identifies the token, for the logs, if it was valid once; the response does not say so.
    """

    def __init__(self, hint: str, ended: Token | None) -> None:
        self.access = ANONYMOUS
        if ended is not None:
            self.access = Access(ended.actor, "reader", f"token:{ended.name}")
        super().__init__(
            401, f"Unauthorized to perform this action.{hint}", {"www-authenticate": "Bearer"}
        )


_EVERYBODY = Access()
ANONYMOUS = Access(role="reader")


class _KnownTokens:
    """The tokens that a running server knows, with the time each was last used."""

    def __init__(self, tokens: tuple[Token, ...], uses: Mapping[str, int]) -> None:
        self._tokens = _by_id(tokens)
        self._uses = dict(uses)
        self._written_uses = dict(uses)

    def token_of(self, secret: str) -> Token | None:
        """Return the record of the token of a request, and note its use; `None` if the token is
        unknown, expired or revoked."""
        token = self._find_token(secret)
        now_millis = time.time_ns() // 1_000_000
        if token is None or token.state(now_millis) != "valid":
            return None
        self._uses[token.id] = now_millis
        return token

    def ended_token_of(self, secret: str) -> Token | None:
        """Return the record of the token of a request if it has expired or was revoked."""
        token = self._find_token(secret)
        is_ended = token is not None and token.state(time.time_ns() // 1_000_000) != "valid"
        return token if is_ended else None

    def _find_token(self, secret: str) -> Token | None:
        token = self._tokens.get(id_of(secret))
        matches = hmac.compare_digest(token.sha256 if token else _NOBODY, digest_of(secret))
        return token if matches else None


class Keyring(_KnownTokens):
    """The tokens of a file, which is checked for changes once a second.

    With `required` every request needs a token, even while the file has none. Otherwise requests
    need one from the first token on, permanently, also after a restart. If the file becomes
    unusable while the server runs, the tokens last read remain valid.

    Raises `Unusable` if the file cannot be used or is missing.
    """

    def __init__(self, path: Path, *, required: bool = False) -> None:
        self._path = path
        self._seen = _look(path)
        if required and self._seen is None:
            raise Misconfigured(
                f"there is no token file {path}; make it with: "
                f"catalog token create NAME --actor USER --token-file '{path}'"
            )
        had_tokens = uses_file(path).exists()
        if had_tokens and self._seen is None:
            raise Misconfigured(
                f"the token file {path} is missing, and without it everybody could read and write "
                "this catalog; restore a copy of it, or create a token: catalog token create "
                f"NAME --actor USER. To serve without tokens from now on, remove {uses_file(path)}"
            )
        super().__init__(read_tokens(path), read_uses(path))
        self._is_closed = required or had_tokens or bool(self._tokens)
        if self._tokens and not had_tokens:
            self._write_uses()
        self._next_look = time.monotonic() + _LOOK_SECONDS

    @property
    def is_closed(self) -> bool:
        """Whether requests need a token."""
        self._keep_up()
        return self._is_closed

    @property
    def is_file_missing(self) -> bool:
        """Whether the token file was removed while the server runs."""
        return self._is_closed and self._seen is None

    def token_of(self, secret: str) -> Token | None:
        token = super().token_of(secret)
        if token is not None:
            since_millis = self._uses[token.id] - self._written_uses.get(token.id, 0)
            if since_millis >= _USE_MILLIS:
                self._write_uses()
        return token

    def hurry(self) -> None:
        """Do nothing: a file never makes the service wait."""

    def close(self) -> None:
        """Store when each token was last used, which is otherwise done once a minute."""
        if self._uses != self._written_uses:
            self._write_uses()

    def _write_uses(self) -> None:
        uses = {token: millis for token, millis in self._uses.items() if token in self._tokens}
        # Set even if writing fails, so that it is not retried for each request within the minute.
        self._uses, self._written_uses = uses, dict(uses)
        try:
            write_uses(self._path, uses)
        except OSError as error:
            _log.warning("the times at which tokens were last used cannot be saved: %s", error)

    def _keep_up(self) -> None:
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + _LOOK_SECONDS
        file_state = _look(self._path)
        if file_state == self._seen:
            return
        try:
            self._tokens = _by_id(read_tokens(self._path))
        except Unusable as error:
            _log.warning("%s; the tokens loaded before stay in use until then", error)
        else:
            self._is_closed = self._is_closed or bool(self._tokens)
        self._seen = file_state


class SharedKeyring(_KnownTokens):
    """The tokens of a database that several services share. A thread checks it for changes, which
    take effect within about a second.

    Requests need a token from the first one on, with `required` from the start. While the database
    cannot be reached, the tokens last read remain valid for at most `_BLIND_SECONDS`; after that,
    `token_of` raises `Busy`. `close` also closes `shared`. Raises `Unusable` if the database cannot
    be used.
    """

    is_file_missing = False

    def __init__(self, shared: SharedTokens, *, required: bool = False) -> None:
        self._shared = shared
        self._version = shared.version()
        super().__init__(shared.tokens(), shared.uses())
        self._known_at = time.monotonic()
        self._is_required = required or bool(self._tokens)
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="catalog-tokens", daemon=True)
        self._thread.start()

    @property
    def is_closed(self) -> bool:
        """Whether requests need a token."""
        return self._is_required

    def token_of(self, secret: str) -> Token | None:
        if time.monotonic() - self._known_at > _BLIND_SECONDS:
            raise Busy(
                "the database that holds the access tokens cannot be reached, and tokens may have "
                "been revoked meanwhile; try again in a moment",
                retry_after_seconds=2,
            )
        return super().token_of(secret)

    def hurry(self) -> None:
        """Wait only a moment for the database from now on, because the service stops."""
        self._shared.hurry()

    def close(self) -> None:
        """Stop the thread, store when each token was last used, which is otherwise done once a
        minute, and close the connection."""
        self._closing.set()
        self.hurry()
        self._thread.join()
        try:
            self._note_uses()
        except CatalogError as error:
            _log.warning("the times at which tokens were last used cannot be saved: %s", error)
        self._shared.close()

    def _follow(self) -> None:
        is_told = False
        next_uses = time.monotonic() + _USE_MILLIS / 1_000
        while not self._closing.wait(_POLL_SECONDS):
            try:
                self._keep_up()
                if time.monotonic() >= next_uses:
                    next_uses = time.monotonic() + _USE_MILLIS / 1_000
                    self._note_uses()
                is_told = False
            except CatalogError as error:
                if not is_told:
                    _log.warning("%s; the tokens loaded before stay in use until then", error)
                    is_told = True

    def _keep_up(self) -> None:
        asked_at = time.monotonic()
        version = self._shared.version()
        if version != self._version:
            self._tokens = _by_id(self._shared.tokens())
            self._version = version
            self._is_required = self._is_required or bool(self._tokens)
        self._known_at = asked_at

    def _note_uses(self) -> None:
        former, uses = self._written_uses, dict(self._uses)
        # Set even if writing fails: uses that were not stored are not retried.
        self._written_uses = uses
        changed = {token: at for token, at in uses.items() if former.get(token) != at}
        if changed:
            self._shared.note_uses(changed)


class TokenIssuer(Protocol):
    """Another issuer of tokens that this service accepts, see `oidc.Issuer`."""

    async def prepare(self, token: str) -> None:
        """Fetch what `access_of` needs for a token."""

    def access_of(self, token: str) -> Access:
        """Return the actor and role of a token. Raises `RequestRefusal` (401) if it is invalid."""


class RateLimit:
    """A limit on the requests of each token (a token bucket): `per_minute` at once, and on average.

    The refusal of a request says when to retry. Each service counts separately.
    """

    def __init__(self, per_minute: float) -> None:
        self._per_minute = per_minute
        self._per_second = per_minute / 60
        # By credential: how many requests were left, and at what time.
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, credential: str) -> None:
        """Count a request. Raises `RequestRefusal` (429) if the limit is exceeded."""
        now = time.monotonic()
        remaining, at = self._left.get(credential, (self._per_minute, now))
        remaining = min(self._per_minute, remaining + (now - at) * self._per_second)
        if remaining < 1:
            seconds = math.ceil((1 - remaining) / self._per_second)
            raise RequestRefusal(
                429,
                f"rate limit exceeded: this token may send {self._per_minute:g} requests a "
                f"minute; try again in {seconds} s",
                {"retry-after": str(seconds)},
            )
        self._left[credential] = remaining - 1, now
        if len(self._left) > _MOST_LIMITED:
            self._forget(now)

    def _forget(self, now: float) -> None:
        """Drop the credentials that have all their requests left; they are equal to new ones."""
        self._left = {
            name: (remaining, at)
            for name, (remaining, at) in self._left.items()
            if remaining + (now - at) * self._per_second < self._per_minute
        }


class Gate:
    """Admits or refuses requests.

    Without `keyring` and `issuer` no request needs a token; with `issuer` every request does. With
    `hosts`, even an empty collection, the `Host` header must name one of them, or this machine as
    localhost or a loopback address, except on `/health`. This refuses web pages whose host name was
    made to resolve to this machine. Without `hosts` every host name is accepted. `limit` limits the
    requests of each token.
    """

    def __init__(
        self,
        keyring: Keyring | SharedKeyring | None = None,
        hosts: Collection[str] | None = None,
        issuer: TokenIssuer | None = None,
        limit: RateLimit | None = None,
    ) -> None:
        self._limit = limit
        self._keyring = keyring
        self._issuer = issuer
        self._hosts = None if hosts is None else {"localhost", *map(_bare, hosts)}

    async def prepare(self, headers: Mapping[bytes, bytes]) -> None:
        """Fetch from the issuer what `admit` needs for a request."""
        if self._issuer is not None:
            bearer = _bearer(headers)
            if bearer and not bearer.startswith(f"{_PREFIX}_"):
                await self._issuer.prepare(bearer)

    def admit(self, headers: Mapping[bytes, bytes], path: str) -> Access:
        """Return the actor and role of a request.

        If no token is needed at all, everybody has the role admin; on paths that never need one,
        such as `/health`, everybody has the role reader.

        Raises `RequestRefusal`, with 403 if the `Host` header names another host and `Unauthorized`
        without a valid token, and `Busy` if the token cannot be checked at the moment.
        """
        if self._hosts is not None and not path.startswith("/health"):
            self._check_host(headers.get(b"host", b"").decode("latin-1"))
        keyring, issuer = self._keyring, self._issuer
        # Read first, because this makes a keyring check its file for changes.
        is_closed = keyring is not None and keyring.is_closed
        if not is_closed and issuer is None:
            return _EVERYBODY
        if _is_open(path):
            return ANONYMOUS
        bearer = _bearer(headers)
        if issuer is not None and bearer and not bearer.startswith(f"{_PREFIX}_"):
            return issuer.access_of(bearer)
        token = keyring.token_of(bearer) if bearer and keyring is not None else None
        if token is not None:
            return Access(token.actor, token.role, f"token:{token.name}")
        ended = keyring.ended_token_of(bearer) if bearer and keyring is not None else None
        missing_file = (
            " The token file of this server is missing, so no token is valid; whoever runs the "
            "server can restore it, or create new tokens with: catalog token create"
        )
        is_missing = keyring is not None and keyring.is_file_missing
        raise Unauthorized(missing_file if is_missing else "", ended)

    def count(self, access: Access) -> None:
        """Count an admitted request. Raises `RequestRefusal` (429) if it exceeds the limit."""
        if self._limit is not None and access.credential:
            self._limit.take(access.credential)

    def admits(self, headers: Mapping[bytes, bytes], path: str) -> bool:
        """Return whether `admit` would admit the request."""
        try:
            self.admit(headers, path)
        except (RequestRefusal, Busy):
            return False
        return True

    def _check_host(self, host_header: str) -> None:
        host = _bare(host_header)
        if self._hosts is not None and host not in self._hosts and not is_loopback(host):
            raise RequestRefusal(
                403,
                f"this server does not accept requests for the host {host[:200]!r}; whoever runs "
                "it can add the host with --allow-host",
            )


def is_loopback(host: str) -> bool:
    """Return whether a host is localhost or a loopback address."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def _is_open(path: str) -> bool:
    return path.startswith(OPEN_PATHS) and any(
        path == open_path or path.startswith(f"{open_path}/") for open_path in OPEN_PATHS
    )


def _bearer(headers: Mapping[bytes, bytes]) -> str:
    """Return the bearer token of a request; empty without one."""
    scheme, _, credential = headers.get(b"authorization", b"").partition(b" ")
    return credential.strip().decode("latin-1") if scheme.lower() == b"bearer" else ""


def _bare(host: str) -> str:
    """Return a host name without its port, in lower case."""
    name = host.strip().lower()
    if name.startswith("["):
        return name[1:].partition("]")[0]
    return name if name.count(":") > 1 else name.partition(":")[0].rstrip(".")


def _look(path: Path) -> _Seen:
    try:
        entry = path.stat()
    except OSError:
        return None
    # With the mode, so that the file is read again once its permissions are corrected.
    return entry.st_mtime_ns, entry.st_size, entry.st_ino, entry.st_mode


def _by_id(tokens: tuple[Token, ...]) -> dict[str, Token]:
    return {token.id: token for token in tokens}
