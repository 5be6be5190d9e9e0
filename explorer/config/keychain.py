"""The system's keyring, asked in a way that always comes back with an answer or a sentence."""

import logging
import threading
from typing import TYPE_CHECKING, Final

from explorer.errors import MissingExtra, Unusable

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

__all__ = ["forget_in_keyring", "keep_in_keyring", "read_from_keyring"]

_SERVICE: Final = "catalog-explorer"
_OTHERS: Final = "--token-from prompt, --token-from env:NAME, or --token-in-file"
# Long enough to type the password of a keyring that is locked.
_PATIENCE_SECONDS: Final = 60.0

_logger = logging.getLogger("explorer.config")


def read_from_keyring(account: str) -> str | None:
    """The token kept for an account; nothing when none is.

    Raises `Unusable` when there is no keyring, or when it cannot be asked or does not answer.
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
    """What a keyring answers. It is asked on a thread of its own, which nobody waits for at the
    end: a keyring may wait for a message bus that is not there."""
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
        raise Unusable(
            f"the system's keyring cannot be used ({_reason(faults[0])}); "
            f"unlock it or set one up, or choose {_OTHERS}"
        ) from faults[0]
    if not answers:
        raise Unusable(
            f"the system's keyring did not answer in {_PATIENCE_SECONDS:g} seconds; "
            f"unlock it, or choose {_OTHERS}"
        )
    return answers[0]


def _reason(error: Exception) -> str:
    name = type(error).__name__
    if name == "NoKeyringError":
        return "this machine has none"
    said = str(error).strip().partition("\n")[0]
    return said or name
