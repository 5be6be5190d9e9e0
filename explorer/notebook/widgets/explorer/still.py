"""What an explorer is where it cannot live: what was found, and the entity that was open."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from explorer.notebook import markup, plain
from explorer.notebook.view import Fold, Part, Say, Title

if TYPE_CHECKING:
    from explorer.notebook.widgets.explorer.session import Session

__all__ = ["as_html", "as_text"]

_AGAIN = "An explorer lives while its kernel runs; run this cell again. It showed:"


def as_html(session: "Session") -> str:
    """What it showed, in elements that survive in any notebook."""
    return markup.draw(_parts(session, _AGAIN))


def as_text(session: "Session") -> str:
    """What it shows, as plain text."""
    return plain.draw(_parts(session, ""))


def _parts(session: "Session", first: str) -> Iterator[Part]:
    with session.lock:
        entity, answer = session.entity, session.answer
    yield Title("Explorer", first)
    if answer is not None:
        yield from answer.page.parts()
    else:
        yield Say("nothing was read yet")
    if entity is not None:
        yield Fold("open", list(entity.parts()))
