"""Access tokens: made, listed and revoked in a file of their hashes.

The file is read by a running server and written by the command; neither waits for the other.
"""

import hashlib
import os
import re
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from explorer.errors import InvalidInput, NotFound, Unusable

__all__ = [
    "ROLES",
    "TOKENS_FILE",
    "Role",
    "State",
    "Token",
    "create_token",
    "digest_of",
    "id_of",
    "read_tokens",
    "read_uses",
    "revoke_token",
    "uses_file",
    "write_uses",
]

TOKENS_FILE = "tokens.json"
State = Literal["valid", "expired", "revoked"]
Role = Literal["reader", "editor", "admin"]
# Each may do what those before it may.
ROLES: tuple[Role, ...] = ("reader", "editor", "admin")

# Format 1 had no roles: a release that knows only that one would take any token for an admin's.
_FORMAT = 2
_FORMATS = (1, 2)
_PREFIX = "cat"
_SECRET_BYTES = 32
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,99}")


class Token(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is kept of a token: who it stands for, what it may do, and the hash that tells it.

    Times are milliseconds since 1970 UTC; one without `expires_millis` never expires. One without
    a role was made before there were roles and may do everything.
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
        """Whether it opens anything at that moment."""
        if self.revoked_millis is not None:
            return "revoked"
        if self.expires_millis is not None and self.expires_millis <= now_millis:
            return "expired"
        return "valid"


class _Kept(msgspec.Struct, frozen=True):
    format: int
    tokens: tuple[Token, ...]


def read_tokens(path: Path) -> tuple[Token, ...]:
    """Every token of a file, in the order of their making; none when there is no file.

    Raises `Unusable`, with what to do, for a file that is damaged or that others may read.
    """
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read()
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise Unusable(f"the token file {path} cannot be read: {error.strerror}") from error
    if os.name == "posix" and mode & 0o077:
        raise Unusable(
            f"the token file {path} is open to others (mode {mode & 0o777:04o}); "
            f"run: chmod 600 '{path}'"
        )
    try:
        kept = msgspec.json.decode(data, type=_Kept)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unusable(
            f"the token file {path} is damaged ({error}); put back a copy of it, "
            "or remove it and make the tokens anew"
        ) from error
    if kept.format not in _FORMATS:
        raise Unusable(
            f"the token file {path} has the format {kept.format}, this release reads {_FORMAT}; "
            "upgrade catalog-explorer"
        )
    return kept.tokens


def create_token(
    path: Path,
    name: str,
    actor: str,
    expires_millis: int | None = None,
    role: Role = "editor",
) -> tuple[str, Token]:
    """A new token, and what is kept of it. The token itself is nowhere but in this answer.

    A name is used again once its token has expired or was revoked. Raises `InvalidInput` for a
    name that is in use or cannot be one, `Unusable` where the file cannot be written.
    """
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            f"{name!r} is no name for a token: use letters, digits and . _ @ - "
            "(100 at most, a letter or digit first)"
        )
    with _changing(path):
        now_millis = time.time_ns() // 1_000_000
        tokens = read_tokens(path)
        for known in tokens:
            if known.name == name and known.state(now_millis) == "valid":
                raise InvalidInput(
                    f"there is a valid token named {name}; revoke it first, or take another name"
                )
        key = secrets.token_hex(6)
        shown = f"{_PREFIX}_{key}_{secrets.token_urlsafe(_SECRET_BYTES)}"
        made = Token(name, actor, key, digest_of(shown), now_millis, expires_millis, role=role)
        _write(path, (*(known for known in tokens if known.name != name), made))
        if not uses_file(path).exists():
            write_uses(path, {})
    return shown, made


def revoke_token(path: Path, name: str) -> Token:
    """Make a token open nothing any more; what was kept of it stays listed.

    Raises `NotFound` when no token has the name.
    """
    with _changing(path):
        tokens = read_tokens(path)
        for known in tokens:
            if known.name == name:
                break
        else:
            names = ", ".join(sorted(token.name for token in tokens)) or "none"
            raise NotFound(f"there is no token named {name}; known: {names}")
        if known.revoked_millis is not None:
            return known
        now_millis = time.time_ns() // 1_000_000
        revoked = msgspec.structs.replace(known, revoked_millis=now_millis)
        _write(path, tuple(revoked if token is known else token for token in tokens))
    return revoked


def digest_of(shown: str) -> str:
    """The hash that is kept of a token.

    A token is 256 random bits, which nobody finds by trying; a slow hash, as passwords need,
    would make every request slow and nothing safer.
    """
    return hashlib.sha256(shown.encode(errors="surrogateescape")).hexdigest()


def id_of(shown: str) -> str:
    """The part of a token that tells which one it claims to be; it is no secret."""
    prefix, _, rest = shown.partition("_")
    return rest.partition("_")[0] if prefix == _PREFIX else ""


def uses_file(path: Path) -> Path:
    """The file beside a token file that says when each token was last used. That it exists says
    that there were tokens, should the token file itself be gone."""
    return path.with_name(f"{path.name}.used")


def read_uses(path: Path) -> dict[str, int]:
    """When each token of a token file was last used, by its id, in milliseconds since 1970 UTC;
    nothing when that is not known."""
    try:
        return msgspec.json.decode(uses_file(path).read_bytes(), type=dict[str, int])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError):
        return {}


def write_uses(path: Path, uses: Mapping[str, int]) -> None:
    """Keep when each token was last used; raises `OSError`."""
    kept = uses_file(path)
    draft = kept.with_name(f"{kept.name}.new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.encode(uses) + b"\n")
    draft.replace(kept)


def _write(path: Path, tokens: tuple[Token, ...]) -> None:
    draft = path.with_name(f"{path.name}.new")
    draft.unlink(missing_ok=True)
    data = msgspec.json.format(msgspec.json.encode(_Kept(_FORMAT, tokens)))
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data + b"\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    _sync_directory(path.parent)


@contextmanager
def _changing(path: Path) -> Iterator[None]:
    """One change at a time, so that none is lost when two are made at once."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _wait_for(lock)
            yield
        finally:
            os.close(lock)
    except OSError as error:
        raise Unusable(f"the token file {path} cannot be written: {error.strerror}") from error


if os.name == "posix":
    import fcntl

    def _wait_for(lock: int) -> None:
        fcntl.flock(lock, fcntl.LOCK_EX)

    def _sync_directory(directory: Path) -> None:
        """Make sure that a replaced file is the new one after a power failure too: a token that
        was revoked must not come back."""
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

else:

    def _wait_for(lock: int) -> None:
        """Elsewhere two changes at once are left to the people who make them."""

    def _sync_directory(directory: Path) -> None:
        """Elsewhere a directory cannot be synchronised."""
