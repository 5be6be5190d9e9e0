"""The text shown in place of something that is missing: a phrase, and a mark where there is no room
for words, for each of four reasons."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Absence:
    """A reason why something is not shown."""

    phrase: str
    mark: str


UNKNOWN: Final = Absence("unknown", "?")
"""It was requested, but the catalog does not know it."""
LOADING: Final = Absence("reading …", "…")
"""The answer has not arrived yet."""
NONE: Final = Absence("none", "—")
"""There is none, as far as the catalog knows."""
REFUSED: Final = Absence("could not be read", "✗")
"""The server refused the request or failed: there may be some."""

NOBODY: Final = "nobody"
"""Shown in place of people if there are none."""


def reason_unread(*, is_loading: bool) -> Absence:
    """Return the reason why something that was requested is missing: it is still loading, or was
    refused."""
    return LOADING if is_loading else REFUSED


def refusal_sentence(what: str, why: str = "") -> str:
    """Return a sentence that something (`what`) could not be read, with the reason if known;
    without a full stop."""
    return f"{what} {REFUSED.phrase}{f': {why}' if why else ''}"
