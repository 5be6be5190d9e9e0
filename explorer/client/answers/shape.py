"""The outer shapes that answers have in common."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from explorer.errors import CatalogError, InvalidUrn, Unreadable

__all__ = ["Json", "as_object", "read_as", "value_of"]

Json = dict[str, Any]

_P = ParamSpec("_P")
_T = TypeVar("_T")


def read_as(what: str) -> Callable[[Callable[_P, _T]], Callable[_P, _T]]:
    """Of a reader of answers: raises `Unreadable` naming `what` for every answer that it trips
    over, whichever part of it is missing or of another kind."""

    def made(read: Callable[_P, _T]) -> Callable[_P, _T]:
        @wraps(read)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
            try:
                return read(*args, **kwargs)
            except InvalidUrn as error:
                raise Unreadable(f"the server's answer to {what} holds no URN: {error}") from error
            except CatalogError:
                raise
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
                raise Unreadable(
                    f"the server's answer to {what} is not of the shape expected"
                ) from error

        return call

    return made


def value_of(body: Any, what: str) -> Json:
    """What an action's answer holds under `value`."""
    return as_object(as_object(body, what).get("value"), what)


def as_object(body: Any, what: str) -> Json:
    """A JSON object; raises `Unreadable` naming `what` for anything else."""
    if not isinstance(body, dict):
        raise Unreadable(f"the server's answer to {what} is not of the shape expected")
    return body
