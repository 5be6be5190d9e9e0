"""The outer shapes that answers have in common."""

from typing import Any

from explorer.errors import Unreadable

__all__ = ["Json", "as_object", "value_of"]

Json = dict[str, Any]


def value_of(body: Any, what: str) -> Json:
    """What an action's answer holds under `value`."""
    return as_object(as_object(body, what).get("value"), what)


def as_object(body: Any, what: str) -> Json:
    """A JSON object; raises `Unreadable` naming `what` for anything else."""
    if not isinstance(body, dict):
        raise Unreadable(f"the server's answer to {what} is not of the shape expected")
    return body
