"""The exceptions that this package raises, grouped by what the caller can do.

CatalogError                    one sentence that says what happened and what to do
├── InvalidInput                correct the input
│   ├── InvalidUrn
│   ├── InvalidAspect           a value does not fit its record; says which field
│   └── UnknownName             no such entity type, aspect or field; lists the known ones
├── NotFound                    there is no such entity, aspect or version
├── Gone                        read again: the change log no longer holds the changes asked for
├── NotSignedIn                 give a token, or another one
├── Forbidden                   ask for the permission
│   └── ReadOnly                use a profile that is not read-only
├── Conflict                    somebody else wrote in between: compare and write again
├── Unreachable                 try again: the server did not answer
│   ├── TimedOut                the answer took too long
│   ├── StorageFull             free space where the server stores the catalog, then go on
│   └── Busy                    the server cannot answer yet, and may say how long to wait
├── Superseded                  nothing: a later request replaced this one
├── Unusable                    change something on this machine
│   ├── StorageFault            a file or directory: free space, allow access, or give another
│   ├── InvalidFile             the content of a file: correct it, restore a copy, or upgrade
│   ├── InUse                   another process uses it: stop that one, or give something else
│   ├── Misconfigured           a setting, an environment variable, or a program it names
│   ├── MissingExtra            install the extra of this package that the message names
│   └── Untrusted               trust the server's certificate, or correct the address
├── Misuse                      correct the calling program: a closed client, the wrong thread
│   └── Unsupported             use another object: this one does not support the operation
└── ServerFault                 report it: the server failed
    └── Unreadable              its answer cannot be parsed

The attributes of an error are set by its constructor and not changed afterwards.

One warning is given: `IncompleteFrame`.
"""

import errno
import sys
import traceback
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any


class CatalogError(Exception):
    """The base class of all errors; `str(error)` is a sentence that can be shown to people.

    An error for an answer of the server has its HTTP `status`, the `url` of the request without
    credentials, and an `excerpt` of the server's own message, cleaned and shortened. All three are
    `None` for other errors.
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
        """Return the lines that IPython prints when a cell fails with this error: its name and
        message, and its notes.

        The frames of the traceback are in the client and its thread, and say nothing about the
        cell. `%tb` still prints them: it calls this while no exception is being handled.
        """
        if sys.exception() is self:
            return [f"{type(self).__name__}: {self}", *getattr(self, "__notes__", ())]
        return [part.rstrip("\n") for part in traceback.format_exception(self)]


class IncompleteFrame(UserWarning):
    """A data frame does not contain all rows that exist: its `attrs["complete"]` is False. The
    message says how many it contains, and how to read the others."""


class InvalidInput(CatalogError):
    """An argument cannot be used; the message says which and what is accepted."""


class InvalidUrn(InvalidInput):
    """Text that is not a URN, or a URN whose key does not fit its entity type."""


class InvalidAspect(InvalidInput):
    """A value that does not fit the record of its aspect.

    `path` is the position inside the value, `fields[3].type`; empty for the value as a whole.
    """

    def __init__(self, aspect: str, path: str, problem: str) -> None:
        self.aspect = aspect
        self.path = path
        self.problem = problem
        place = f"{aspect}{'.' if path and not path.startswith('[') else ''}{path}"
        super().__init__(f"{place}: {problem}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.aspect, self.path, self.problem), self.__dict__


# More names would fill several screens.
_NAMES_AT_MOST = 300


def _escape(name: str) -> str:
    """Return a name that is safe to print: non-printable characters are escaped."""
    return name if name.isprintable() else ascii(name)


class UnknownName(InvalidInput):
    """A name that is not in its vocabulary. `known` holds the names that are, sorted."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind = kind
        self.name = name
        self.known = tuple(sorted(known))
        near = get_close_matches(name, self.known, n=3)
        if near:
            hint = f"did you mean {' or '.join(map(_escape, near))}?"
        else:
            more = len(self.known) - _NAMES_AT_MOST
            rest = f" and {more} more" if more > 0 else ""
            names = ", ".join(map(_escape, self.known[:_NAMES_AT_MOST]))
            hint = f"known: {names or 'none'}{rest}"
        super().__init__(f"no {kind} named {name!r}; {hint}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.kind, self.name, self.known), self.__dict__


class NotFound(CatalogError):
    """The requested entity, aspect or version does not exist."""


class Gone(CatalogError):
    """The change log no longer holds the requested changes, so some were missed.

    `resume_after` is the offset from which on the log is complete, or `None` if the server did not
    say.
    """

    def __init__(
        self, sentence: str = "", *, resume_after: int | None = None, **answer: Any
    ) -> None:
        super().__init__(sentence, **answer)
        self.resume_after = resume_after


class NotSignedIn(CatalogError):
    """The server requires a token, or rejected the one that was sent."""


class Forbidden(CatalogError):
    """The token is valid, but its user lacks the permission."""


class ReadOnly(Forbidden):
    """The profile in use is read-only; nothing was sent."""


class Conflict(CatalogError):
    """The value changed since it was read; nothing was written.

    `current` is the present value, if the server sent it: an object with `value`, `version`,
    `actor` and `time` (milliseconds since 1970).
    """

    def __init__(
        self, sentence: str = "", *, current: Mapping[str, Any] | None = None, **answer: Any
    ) -> None:
        super().__init__(sentence, **answer)
        self.current = current


class Unreachable(CatalogError):
    """There was no answer: the server is down, too slow, or closed the connection."""


class TimedOut(Unreachable):
    """The answer, or the rest of it, did not arrive in time."""


class StorageFull(Unreachable):
    """The storage of the server has no room for the change; nothing was written.

    The same request fails until somebody makes room; a smaller one may fit. `errno` is that of the
    system's own error for a full disk.
    """

    errno = errno.ENOSPC


class Busy(Unreachable):
    """The server cannot answer for the moment: it is overloaded, or not ready.

    `retry_after_seconds` is the time to wait that it asks for, `None` if it names none.
    """

    def __init__(
        self, sentence: str = "", *, retry_after_seconds: float | None = None, **answer: Any
    ) -> None:
        super().__init__(sentence, **answer)
        self.retry_after_seconds = retry_after_seconds


class Superseded(CatalogError):
    """A later request replaced this one, so its answer is not needed."""


class Unusable(CatalogError):
    """Something on this machine cannot be used as it is.

    This class itself is raised only for errors that another process reported, with that process's
    message; in all other cases one of its subclasses is raised.
    """


class StorageFault(Unusable):
    """A file or directory cannot be read or written, or has permissions that let others read it."""


class InvalidFile(Unusable):
    """A file has the wrong content: it is damaged, of another kind, or from a newer release."""


class InUse(Unusable):
    """Another process uses the directory, file or port."""


class Misconfigured(Unusable):
    """A setting, an environment variable, or a program that one of them names does not work."""


class MissingExtra(Unusable):
    """An optional package is not installed; the message names the extra to install."""

    def __init__(self, what: str, extra: str, instead: str = "") -> None:
        self.what = what
        self.extra = extra
        self.instead = instead
        from explorer.installation import install_command

        super().__init__(f"{what}, which is not installed: {install_command(extra)}{instead}")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.what, self.extra, self.instead), self.__dict__


class Untrusted(Unusable):
    """The server's certificate is not trusted, or no TLS connection can be made; nothing was
    sent."""


class Misuse(CatalogError):
    """The client cannot be used in this way: it is closed, was created in another process, or was
    called on its own thread."""


class Unsupported(Misuse):
    """An object that the caller passed does not support the operation."""


class ServerFault(CatalogError):
    """The server failed, or its answer cannot be parsed."""


class Unreadable(ServerFault):
    """The server's answer is not what was requested, or cannot be parsed."""
