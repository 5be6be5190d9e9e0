"""Every error the package raises on purpose, by what the reader can do about it.

CatalogError                    one sentence, and what to do
├── InvalidInput                fix what was given
│   ├── InvalidUrn
│   ├── InvalidAspect           a value does not fit its record; names the place inside it
│   └── UnknownName             no such entity, aspect, field; names the known ones
├── NotFound                    there is no such thing
├── Gone                        it is not kept any more: read anew what was followed
├── NotSignedIn                 give a token, or another one
├── Forbidden                   ask for the right
│   └── ReadOnly                the profile in use keeps from writing
├── Conflict                    somebody else wrote in between
├── Unreachable                 try again: the server did not answer
│   ├── TimedOut                it took longer than one was ready to wait
│   └── Busy                    it asks to be left alone for a while, and says how long
├── Superseded                  nothing: a later question took this one's place
├── Unusable                    the place (directory, port, lock) cannot be used as it is
│   ├── MissingExtra            a package is not installed; name the extra that brings it
│   └── Untrusted               the server's certificate is not trusted; name its authority
└── ServerFault                 report: the server failed
    └── Unreadable              its answer cannot be read
"""

import sys
import traceback
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

__all__ = [
    "Busy",
    "CatalogError",
    "Conflict",
    "Forbidden",
    "Gone",
    "InvalidAspect",
    "InvalidInput",
    "InvalidUrn",
    "MissingExtra",
    "NotFound",
    "NotSignedIn",
    "ReadOnly",
    "ServerFault",
    "Superseded",
    "TimedOut",
    "UnknownName",
    "Unreachable",
    "Unreadable",
    "Untrusted",
    "Unusable",
]


class CatalogError(Exception):
    """The root: `str(error)` is a sentence fit to be shown to a person.

    An error that came with an answer knows its `status`, the `url` that was asked, free of
    credentials, and an `excerpt` of the server's own words, cleaned and cut. All three are None
    for an error that came without one.
    """

    status: int | None = None
    url: str | None = None
    excerpt: str | None = None

    def _render_traceback_(self) -> list[str]:
        """Return what IPython prints when a cell fails with this error: its name and sentence.

        The frames below it are those of the client and of its thread, and say nothing about the
        cell. `%tb` shows them: it asks while no exception is being handled.
        """
        if sys.exception() is self:
            return [f"{type(self).__name__}: {self}"]
        return [part.rstrip("\n") for part in traceback.format_exception(self)]


class InvalidInput(CatalogError):
    """What was given cannot be used; the sentence says where and what would do."""


class InvalidUrn(InvalidInput):
    """A text that is no URN, or not of the shape its entity asks for."""


class InvalidAspect(InvalidInput):
    """A value that does not fit the record of its aspect.

    `path` is the place inside the value, `fields[3].type`; empty for the value as a whole.
    """

    def __init__(self, aspect: str, path: str, problem: str) -> None:
        self.aspect = aspect
        self.path = path
        self.problem = problem
        place = f"{aspect}{'.' if path and not path.startswith('[') else ''}{path}"
        super().__init__(f"{place}: {problem}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.aspect, self.path, self.problem), self.__dict__


# As many as one reads.
_NAMES_AT_MOST = 300


def _shown(name: str) -> str:
    """A name that may be anybody's: what would steer a terminal is written out."""
    return name if name.isprintable() else ascii(name)


class UnknownName(InvalidInput):
    """A name outside its vocabulary. `known` holds the names that would do, sorted."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind = kind
        self.name = name
        self.known = tuple(sorted(known))
        near = get_close_matches(name, self.known, n=3)
        if near:
            hint = f"did you mean {' or '.join(map(_shown, near))}?"
        else:
            more = len(self.known) - _NAMES_AT_MOST
            rest = f" and {more} more" if more > 0 else ""
            names = ", ".join(map(_shown, self.known[:_NAMES_AT_MOST]))
            hint = f"known: {names or 'none'}{rest}"
        super().__init__(f"no {kind} named {name!r}; {hint}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.kind, self.name, self.known), self.__dict__


class NotFound(CatalogError):
    """The entity, aspect or version that was asked for does not exist."""


class Gone(CatalogError):
    """Changes that were asked for are not kept any more, so that some were missed.

    `resume_after` is the offset after which the change log is whole, None where the server did
    not say.
    """

    resume_after: int | None = None


class NotSignedIn(CatalogError):
    """The server wants a token, or refused the one it was shown."""


class Forbidden(CatalogError):
    """The server knows who asks and does not allow it."""


class ReadOnly(Forbidden):
    """The profile in use only reads; nothing was sent."""


class Conflict(CatalogError):
    """The thing changed since it was read; nothing was written.

    `current` is what the server said is there now, where it said so: an object with `value`,
    `version`, `actor` and `time` (milliseconds since 1970).
    """

    current: Mapping[str, Any] | None = None


class Unreachable(CatalogError):
    """No answer came: the server is down, too slow, or hung up."""


class TimedOut(Unreachable):
    """The answer, or the end of it, did not come in time."""


class Busy(Unreachable):
    """The server has too much to do; `retry_after_seconds` is how long it asks to be left alone,
    None where it does not say."""

    retry_after_seconds: float | None = None


class Superseded(CatalogError):
    """A later question took this one's place; its answer is not wanted any more."""


class Unusable(CatalogError):
    """A directory, port or lock cannot be used as it is."""


class MissingExtra(Unusable):
    """A package is not installed that only this needs; the sentence names the extra to install."""

    def __init__(self, what: str, extra: str, instead: str = "") -> None:
        self.what = what
        self.extra = extra
        self.instead = instead
        install = f"pip install 'catalog-explorer[{extra}]'"
        super().__init__(f"{what}, which is not installed: {install}{instead}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.what, self.extra, self.instead), self.__dict__


class Untrusted(Unusable):
    """The server's certificate is not trusted, or no encrypted connection can be made; nothing was
    sent."""


class ServerFault(CatalogError):
    """The server failed, or answered with something that cannot be read."""


class Unreadable(ServerFault):
    """The server answered with something that is not what was asked for."""
