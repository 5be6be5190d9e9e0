"""Where tokens come from: given, an environment variable, the keyring, a file, or the terminal."""

import logging
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from explorer.config.files import config_dir, read_private, remove_private, write_private
from explorer.config.profiles import ENVIRONMENT, ConnectionProfile
from explorer.errors import InvalidInput, Misconfigured, MissingExtra, NotSignedIn

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["NO_TOKEN", "TokenSource", "checked_token", "forget_token", "keep_token", "token_of"]

_SERVICE: Final = "catalog-explorer"
_OTHERS: Final = "--token-from prompt, --token-from env:NAME, or --token-in-file"
# Long enough to type the password of a keyring that is locked.
_PATIENCE_SECONDS: Final = 60.0

_logger = logging.getLogger("explorer.config")


def read_from_keyring(account: str) -> str | None:
    """Return the token kept for an account; nothing when none is.

    Raises `MissingExtra` where the package keyring is not installed, `Misconfigured` when the
    keyring cannot be used or does not answer.
    """
    keyring = _keyring()
    return _asked(lambda: keyring.get_password(_SERVICE, account))


def keep_in_keyring(account: str, token: str) -> None:
    """Keep a token for an account, in place of the one kept before; raises as reading does."""
    keyring = _keyring()
    _asked(lambda: keyring.set_password(_SERVICE, account, token))


def forget_in_keyring(account: str) -> bool:
    """Remove the token of an account; gives whether there was one. Raises as reading does."""
    keyring = _keyring()

    def forget() -> str | None:
        found: str | None = keyring.get_password(_SERVICE, account)
        if found is not None:
            keyring.delete_password(_SERVICE, account)
        return found

    return _asked(forget) is not None


def _keyring() -> "ModuleType":
    try:
        import keyring
    except ImportError as error:
        raise MissingExtra(
            "tokens in the system's keyring need the package keyring",
            "keyring",
            f", or choose {_OTHERS}",
        ) from error
    return keyring


def _asked(ask: "Callable[[], str | None]") -> str | None:
    """Return what a keyring answers. It is asked on a thread of its own, which nobody waits for at
    the end: a keyring may wait for a message bus that is not there."""
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
            f"unlock it or set one up, or choose {_OTHERS}"
        ) from faults[0]
    if not answers:
        raise Misconfigured(
            f"the system's keyring did not answer in {_PATIENCE_SECONDS:g} seconds; "
            f"unlock it, or choose {_OTHERS}"
        )
    return answers[0]


def _reason(error: Exception) -> str:
    name = type(error).__name__
    if name == "NoKeyringError":
        return "this machine has none"
    words = str(error).strip().partition("\n")[0]
    return words or name


class TokenSource:
    """An access token that is fetched when called for; what shows it shows its source alone.

    Calling it may take long, and raises `NotSignedIn` where there is none although one was
    promised, `InvalidInput` for a text that can be no token, and `Unusable` where the keyring or
    the file that holds it cannot be used. `asks` says that it asks the person at the terminal.
    """

    __slots__ = ("_asked", "_fetch", "asks", "source")

    def __init__(self, source: str, fetch: Callable[[], str | None], *, asks: bool = False) -> None:
        self.source = source
        self.asks = asks
        self._fetch = fetch
        self._asked: str | None = None

    def __call__(self) -> str | None:
        if self._asked is not None:
            return self._asked
        found = self._fetch()
        token = checked_token(found, self.source) if found else None
        if self.asks:
            self._asked = token
        return token

    def __repr__(self) -> str:
        return f"<token: {self.source}>"


NO_TOKEN: Final = TokenSource("none", lambda: None)


def checked_token(text: str, source: str) -> str:
    """Return a token as it is sent, without the spaces and line ends around it.

    Raises `InvalidInput`, which does not say what it was, for a text that no header can carry.
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
    """Return the token of a profile, fetched from where the profile says."""
    source = profile.source
    if source == "none":
        return NO_TOKEN
    if source == "keyring":
        return TokenSource("the keyring", lambda: _from_keyring(name, profile))
    if source == "file":
        return TokenSource("a file", lambda: _from_file(name, profile))
    if source == "prompt":
        return TokenSource("asked for", lambda: _from_terminal(name), asks=True)
    variable = source.removeprefix(ENVIRONMENT)
    return TokenSource(variable, lambda: _from_environment(name, variable))


def keep_token(name: str, profile: ConnectionProfile, token: str) -> None:
    """Keep the token of a profile in the keyring or in a file, as the profile says.

    Raises `Unusable` where that cannot be done.
    """
    if profile.source == "keyring":
        keep_in_keyring(_account(name, profile), token)
    elif profile.source == "file":
        # With the address, as in the keyring.
        write_private(_file(name), f"{token}\n{profile.identity}\n")


def forget_token(name: str, profile: ConnectionProfile) -> bool:
    """Remove the token kept for a profile; gives whether one was kept."""
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
    return f"add it again: catalog profile add {name} --replace …"
