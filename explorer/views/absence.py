"""What is said in place of something that is not shown, wherever it would be shown: one phrase, and
one mark where there is no room for words, for each of four reasons."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Absence:
    """A reason why something is not shown."""

    phrase: str
    mark: str


UNKNOWN: Final = Absence("unknown", "?")
"""It was asked for, and the catalog does not know it."""
LOADING: Final = Absence("reading …", "…")
"""The answer is not there yet."""
NONE: Final = Absence("none", "—")
"""There is none, as far as the catalog knows."""
REFUSED: Final = Absence("could not be read", "✗")
"""The server refused the request or failed: there may be some."""

NOBODY: Final = "nobody"
"""That there is none, said of people."""


def reason_unread(*, is_loading: bool) -> Absence:
    """Return why something that was asked for is not there."""
    return LOADING if is_loading else REFUSED


def refusal_sentence(what: str, why: str = "") -> str:
    """Return that something could not be read, and why if that is known; without a full stop."""
    return f"{what} {REFUSED.phrase}{f': {why}' if why else ''}"
