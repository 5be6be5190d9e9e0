"""Sources of tokens: given directly, an environment variable, the keyring, a file, or the
terminal."""

import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from explorer.config.files import (
    changing,
    config_dir,
    read_private,
    remove_private,
    write_private,
)
from explorer.config.profiles import ENVIRONMENT, ConnectionProfile
from explorer.errors import InvalidInput, Misconfigured, MissingExtra, NotSignedIn

if TYPE_CHECKING:
    from types import ModuleType

__all__ = [
    "NO_TOKEN",
    "SignIn",
    "TokenSource",
    "checked_token",
    "forget_token",
    "keep_sign_in",
    "keep_token",
    "token_of",
]

_SERVICE: Final = "catalog-explorer"
_OTHERS: Final = "--token-from prompt, --token-from env:NAME, or --token-in-file"
# Long enough to type the password of a keyring that is locked.
_PATIENCE_SECONDS: Final = 60.0

_logger = logging.getLogger("explorer.config")


_WHAT: Final = ("tokens", _OTHERS)


def read_from_keyring(account: str, words: tuple[str, str] = _WHAT) -> str | None:
    """Return the token stored for an account, or `None`.

    `words` are the name of what is stored and of the alternatives, as messages use them.

    Raises `MissingExtra` if the package keyring is not installed, `Misconfigured` if the keyring
    cannot be used or does not answer.
    """
    keyring = _keyring(words)
    return _call_keyring(lambda: keyring.get_password(_SERVICE, account), words)


def keep_in_keyring(account: str, token: str, words: tuple[str, str] = _WHAT) -> None:
    """Store a token for an account, replacing an earlier one. Raises as `read_from_keyring`."""
    keyring = _keyring(words)
    _call_keyring(lambda: keyring.set_password(_SERVICE, account, token), words)


def forget_in_keyring(account: str, words: tuple[str, str] = _WHAT) -> bool:
    """Delete the token of an account; return whether there was one. Raises as
    `read_from_keyring`."""
    keyring = _keyring(words)

    def forget() -> str | None:
        found: str | None = keyring.get_password(_SERVICE, account)
        if found is not None:
            keyring.delete_password(_SERVICE, account)
        return found

    return _call_keyring(forget, words) is not None


def _keyring(words: tuple[str, str]) -> "ModuleType":
    try:
        import keyring
    except ImportError as error:
        raise MissingExtra(
            f"{words[0]} in the system's keyring need the package keyring",
            "keyring",
            f", or choose {words[1]}",
        ) from error
    return keyring


def _call_keyring(ask: "Callable[[], str | None]", words: tuple[str, str]) -> str | None:
    """Call the keyring on a daemon thread, because it may wait forever for a missing message
    bus."""
    answers: list[str | None] = []
    faults: list[Exception] = []

    def run() -> None:
        try:
            answers.append(ask())
        except Exception as error:  # Anybody's keyring, which may raise whatever it likes.
            _logger.debug("the keyring failed", exc_info=True)
            faults.append(error)

    thread = threading.Thread(target=run, name="keyring", daemon=True)
    thread.start()
    thread.join(_PATIENCE_SECONDS)
    if faults:
        raise Misconfigured(
            f"the system's keyring cannot be used ({_reason(faults[0])}); "
            f"unlock it or set one up, or choose {words[1]}"
        ) from faults[0]
    if not answers:
        raise Misconfigured(
            f"the system's keyring did not answer in {_PATIENCE_SECONDS:g} seconds; "
            f"unlock it, or choose {words[1]}"
        )
    return answers[0]


def _reason(error: Exception) -> str:
    name = type(error).__name__
    if name == "NoKeyringError":
        return "this machine has none"
    words = str(error).strip().partition("\n")[0]
    return words or name


# Renew this long before the expiry, because the server's clock may be ahead.
_EARLIER_MILLIS: Final = 30_000


class SignIn(msgspec.Struct, frozen=True, omit_defaults=True):
    """The tokens of a user who signed in with an issuer, stored instead of a token.

    `access_token` is sent to the server until `expires_millis` (since 1970 UTC), if known; then a
    new one is requested from `token_endpoint` with `refresh_token`. The repr contains no token.
    """

    access_token: str
    token_endpoint: str
    client_id: str
    refresh_token: str | None = None
    expires_millis: int | None = None

    @property
    def is_over(self) -> bool:
        """Whether the access token has expired, or is about to."""
        now_millis = time.time_ns() // 1_000_000
        return self.expires_millis is not None and (
            self.expires_millis - _EARLIER_MILLIS <= now_millis
        )

    def __repr__(self) -> str:
        return f"SignIn({self.token_endpoint!r}, …)"


def _as_sign_in(kept: str | None) -> SignIn | None:
    """Parse a stored sign-in; `None` if what was stored is a token."""
    # An access token cannot begin like this, because a header could not carry it.
    if kept is None or not kept.lstrip().startswith('{"'):
        return None
    try:
        return msgspec.json.decode(kept, type=SignIn)
    except msgspec.DecodeError:
        return None


class TokenSource:
    """An access token that is fetched when called; its repr shows only the source.

    Calling it may take long. It raises `NotSignedIn` if the source has no token, `InvalidInput` for
    an invalid token, and `Unusable` if the keyring or file cannot be used. `asks` is true if it
    prompts in the terminal. With `keep` the token may be that of a sign-in, which is renewed, one
    at a time within `alone`; `again` tells people how to sign in again.
    """

    __slots__ = ("_again", "_alone", "_fetch", "_keep", "_token", "asks", "source")

    def __init__(
        self,
        source: str,
        fetch: Callable[[], str | None],
        *,
        asks: bool = False,
        keep: Callable[[SignIn], None] | None = None,
        alone: Callable[[], AbstractContextManager[None]] | None = None,
        again: str = "",
    ) -> None:
        self._again = again
        self.source = source
        self.asks = asks
        self._fetch = fetch
        self._keep = keep
        self._alone = alone
        self._token: str | None = None

    def __call__(self) -> str | None:
        if self._token is not None:
            return self._token
        found = self._fetch()
        sign_in = _as_sign_in(found) if self._keep is not None else None
        if sign_in is not None:
            found = sign_in.access_token
        token = checked_token(found, self.source) if found else None
        if self.asks:
            self._token = token
        return token

    def current(
        self, renew: Callable[[SignIn], SignIn], *, was_refused: bool = False
    ) -> str | None:
        """Return the token; where it is that of a sign-in that expired, or that `was_refused`, one
        that `renew` made. Raises as calling does, and what `renew` raises."""
        if self._keep is None or self._alone is None:
            return self()
        kept = _as_sign_in(self._fetch())
        if kept is None or not (was_refused or kept.is_over):
            return self()
        with self._alone():
            # Another program may have renewed it meanwhile.
            found = _as_sign_in(self._fetch())
            if found is None or (found != kept and not found.is_over):
                return self()
            try:
                renewed = renew(found)
            except NotSignedIn as error:
                raise NotSignedIn(f"{error}; {self._again}") from error
            self._keep(renewed)
        return checked_token(renewed.access_token, self.source)

    def __repr__(self) -> str:
        return f"<token: {self.source}>"


NO_TOKEN: Final = TokenSource("none", lambda: None)


def checked_token(text: str, source: str) -> str:
    """Return a token stripped of white space.

    Raises `InvalidInput`, without quoting it, if a header cannot carry it.
    """
    token = text.strip()
    if not token:
        raise InvalidInput(f"the token ({source}) is empty")
    if not all("!" <= char <= "~" for char in token):
        raise InvalidInput(
            f"invalid token ({source}): it contains spaces, line ends or characters outside ASCII"
        )
    return token


def token_of(name: str, profile: ConnectionProfile) -> TokenSource:
    """Return the token of a profile, from the profile's source."""
    source = profile.source
    if source == "none":
        return NO_TOKEN
    if source in ("keyring", "file"):
        is_keyring = source == "keyring"
        return TokenSource(
            "the keyring" if is_keyring else "a file",
            lambda: (_from_keyring if is_keyring else _from_file)(name, profile),
            keep=lambda sign_in: keep_sign_in(name, profile, sign_in),
            alone=lambda: changing(_file(name)),
            again=f"sign in again: catalog login --profile {name}",
        )
    if source == "prompt":
        return TokenSource("asked for", lambda: _from_terminal(name), asks=True)
    variable = source.removeprefix(ENVIRONMENT)
    return TokenSource(variable, lambda: _from_environment(name, variable))


def keep_token(name: str, profile: ConnectionProfile, token: str) -> None:
    """Store the token of a profile in the keyring or in a file, as the profile says.

    Raises `Unusable` if that fails.
    """
    if profile.source == "keyring":
        keep_in_keyring(_account(name, profile), token)
    elif profile.source == "file":
        # With the address, as in the keyring.
        write_private(_file(name), f"{token}\n{profile.identity}\n")


def keep_sign_in(name: str, profile: ConnectionProfile, sign_in: SignIn) -> None:
    """Store the tokens of a user who signed in. Raises as `keep_token`."""
    keep_token(name, profile, msgspec.json.encode(sign_in).decode())


def forget_token(name: str, profile: ConnectionProfile) -> bool:
    """Delete the token stored for a profile; return whether there was one."""
    if profile.source == "keyring":
        return forget_in_keyring(_account(name, profile))
    return profile.source == "file" and remove_private(_file(name))


def _account(name: str, profile: ConnectionProfile) -> str:
    # With the address: the token of one server is not found for another of the same name.
    return f"{name} {profile.identity}"


def _file(name: str) -> Path:
    return config_dir() / "tokens" / name


def _from_keyring(name: str, profile: ConnectionProfile) -> str:

    found = read_from_keyring(_account(name, profile))
    if not found:
        raise NotSignedIn(f"the keyring holds no token for profile {name}; {_again(name)}")
    return found


def _from_file(name: str, profile: ConnectionProfile) -> str:
    found = read_private(_file(name), secret=True)
    if found is None:
        raise NotSignedIn(
            f"{_file(name)}, which holds the token of {name}, is gone; {_again(name)}"
        )
    token, _, address = found.strip().partition("\n")
    # A file that was written by hand may hold the token alone.
    if address and address.strip() != profile.identity:
        raise NotSignedIn(f"{_file(name)} holds a token for another address; {_again(name)}")
    return token


def _from_environment(name: str, variable: str) -> str:
    found = os.environ.get(variable)
    if not found:
        raise NotSignedIn(
            f"profile {name} takes its token from {variable}, which is not set; set it"
        )
    return found


def _from_terminal(name: str) -> str:
    from getpass import getpass

    nobody = NotSignedIn(
        f"profile {name} asks for its token on the terminal, and nobody is there to be asked; "
        "set CATALOG_TOKEN, or keep the token with --token-from keyring"
    )
    if sys.stdin is None or not sys.stdin.isatty():
        raise nobody
    try:
        return getpass(f"Access token of {name}: ", stream=sys.stderr)
    except EOFError:
        raise nobody from None


def _again(name: str) -> str:
    return f"sign in: catalog login --profile {name}, or catalog profile add {name} --replace …"
