"""What somebody pastes into the search: a name, the URN of an entity, the address of its page."""

from urllib.parse import unquote

from explorer.errors import InvalidUrn
from explorer.metadata.urn import Urn

__all__ = ["LONGEST", "one_line", "urn_in"]

LONGEST = 10_000
_BEGINS = "urn:li:"
_URN_LONGEST = 4_000


def one_line(text: str) -> tuple[str, bool]:
    """A pasted text as one line, and whether it had to be cut."""
    is_cut = len(text) > LONGEST
    return " ".join(text[:LONGEST].split()), is_cut


def urn_in(text: str) -> Urn | None:
    """The entity that a text names: by its URN alone, or by a web address that has one in it."""
    given = text.strip().strip("\"'<>")
    if len(given) > _URN_LONGEST:
        return None
    is_address = given.startswith(("http://", "https://"))
    if is_address:
        # Of an address within an address, its signs are spelled twice.
        given = unquote(unquote(given)) if "%25" in given else unquote(given)
    elif not given.lower().startswith((_BEGINS, "urn%3a")):
        return None
    else:
        given = unquote(given) if given.lower().startswith("urn%3a") else given
    at = given.find(_BEGINS)
    if at < 0:
        return None
    found = given[at : _end(given, at)] if is_address else given[at:]
    try:
        return Urn.parse(found)
    except InvalidUrn:
        return None


def _end(text: str, at: int) -> int:
    """Where the URN ends that begins at a place of an address."""
    depth = 0
    for place in range(at, len(text)):
        char = text[place]
        if char == "(":
            depth += 1
        elif char == ")":
            depth -= 1
            if depth == 0:
                return place + 1
        elif depth == 0 and char in "/?#&":
            return place
    return len(text)
