"""Every error the package raises on purpose, by what the caller can do about it.

CatalogError                    one sentence that says what happened, and what to do
├── InvalidInput                fix the input
│   ├── InvalidUrn
│   ├── InvalidAspect           a value does not fit its record; names the place inside it
│   └── UnknownName             no such entity, aspect, field; names the known ones
├── NotFound                    name something else: there is no such entity, aspect or version
├── Gone                        read anew: the changes that were followed are not kept any more
├── NotSignedIn                 sign in: give a token, or another one
├── Forbidden                   ask for the right
│   └── ReadOnly                use a profile that may write
├── Conflict                    resolve it: somebody else wrote in between
├── Unreachable                 try again: the server did not answer
│   ├── TimedOut                the answer took too long
│   └── Busy                    the server asks for a pause, and says how long
├── Superseded                  nothing: a later request took the place of this one
├── Unusable                    set something right on this machine
│   ├── StorageFault            a file or directory: free space, permit access, or name another
│   ├── InvalidFile             what a file holds: correct it, restore a copy, or upgrade
│   ├── InUse                   another process has it: stop that one, or name something else
│   ├── Misconfigured           a setting, an environment variable, or a program it names
│   ├── MissingExtra            install the extra of this package that is named
│   └── Untrusted               trust the server's certificate, or correct the address
├── Misuse                      fix the calling program: a closed client, the wrong thread
│   └── Unsupported             use another object: this one cannot do what is asked of it
└── ServerFault                 report it: the server failed
    └── Unreadable              its answer cannot be read

An error is complete when it is raised: what is known of it is given to its constructor.
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
    "InUse",
    "InvalidAspect",
    "InvalidFile",
    "InvalidInput",
    "InvalidUrn",
    "Misconfigured",
    "MissingExtra",
    "Misuse",
    "NotFound",
    "NotSignedIn",
    "ReadOnly",
    "ServerFault",
    "StorageFault",
    "Superseded",
    "TimedOut",
    "UnknownName",
    "Unreachable",
    "Unreadable",
    "Unsupported",
    "Untrusted",
    "Unusable",
]


class CatalogError(Exception):
    """The root: `str(error)` is a sentence fit to be shown to a person.

    An error that came with an answer has its `status`, the `url` of the request, free of
    credentials, and an `excerpt` of the server's own words, cleaned and cut. All three are None
    for other errors.
    """

    def __init__(
        self,
        sentence: str = "",
        *,
        status: int | None = None,
        url: str | None = None,
        excerpt: str | None = None,
    ) -> None:
        super().__init__(sentence)
        self.status = status
        self.url = url
        self.excerpt = excerpt

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
    """The changes that were asked for are not kept any more, so that some were missed.

    `resume_after` is the offset after which the change log is complete, None where the server did
    not say.
    """

    def __init__(
        self, sentence: str = "", *, resume_after: int | None = None, **answer: Any
    ) -> None:
        super().__init__(sentence, **answer)
        self.resume_after = resume_after


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

    def __init__(
        self, sentence: str = "", *, current: Mapping[str, Any] | None = None, **answer: Any
    ) -> None:
        super().__init__(sentence, **answer)
        self.current = current


class Unreachable(CatalogError):
    """No answer came: the server is down, too slow, or hung up."""


class TimedOut(Unreachable):
    """The answer, or the end of it, did not come in time."""


class Busy(Unreachable):
    """The server has too much to do; `retry_after_seconds` is the pause it asks for, None where it
    names none."""

    def __init__(
        self, sentence: str = "", *, retry_after_seconds: float | None = None, **answer: Any
    ) -> None:
        super().__init__(sentence, **answer)
        self.retry_after_seconds = retry_after_seconds


class Superseded(CatalogError):
    """A later request took the place of this one; nobody needs its answer any more."""


class Unusable(CatalogError):
    """Something on this machine cannot be used as it is. Raised itself only for what another
    process reported, in its words; everything else is one of the leaves."""


class StorageFault(Unusable):
    """A file or directory cannot be read or written, or others may read what they should not."""


class InvalidFile(Unusable):
    """A file does not hold what it should: it is damaged, of something else, or of a newer
    release."""


class InUse(Unusable):
    """Another process has the directory, file or port."""


class Misconfigured(Unusable):
    """A setting, an environment variable, or a program that one of them names, does not work."""


class MissingExtra(Unusable):
    """An optional package is not installed; the sentence names the extra that brings it."""

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


class Misuse(CatalogError):
    """The client cannot be used so: it is closed, belongs to another process, or was called on its
    own thread."""


class Unsupported(Misuse):
    """An object that the caller gave cannot do what is asked of it."""


class ServerFault(CatalogError):
    """The server failed, or answered with something that cannot be read."""


class Unreadable(ServerFault):
    """The server answered with something that is not what was asked for."""
