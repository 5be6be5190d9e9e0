"""A request as a value, and the forms that all of them share."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import quote

from explorer.client.secret import Secret
from explorer.errors import InvalidInput

__all__ = ["GRAPHQL_PATH", "Request", "action", "listed", "millis", "of_aspects"]

GRAPHQL_PATH = "/api/graphql"


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request. `path` is already encoded and relative to the server's base address.

    `repeatable` says that sending it twice does what sending it once does; `writes` that it
    changes what the catalog holds. `signature` is what the server is shown of who asks; whoever
    sends the request puts it on.
    """

    method: str
    path: str
    body: Any = None
    headers: tuple[tuple[str, str], ...] = ()
    repeatable: bool = True
    writes: bool = False
    signature: Secret | None = field(default=None, repr=False, compare=False)


def action(
    path: str, name: str, body: dict[str, Any], *, repeatable: bool = True, writes: bool = False
) -> Request:
    """A rest.li action: a POST whose parameters are one JSON object."""
    return Request("POST", f"{path}?action={name}", body, repeatable=repeatable, writes=writes)


def listed(names: Sequence[str]) -> str:
    """`List(a,b)`, every element encoded once."""
    return f"List({','.join(quote(name, safe='') for name in names)})"


def of_aspects(mark: str, aspects: Sequence[str] | None) -> str:
    """The query part that names aspects after `mark`; empty where none are named."""
    return "" if aspects is None else f"{mark}aspects={listed(aspects)}"


def millis(moment: datetime) -> int:
    """Milliseconds since 1970 UTC; raises `InvalidInput` for a datetime without a zone."""
    if moment.tzinfo is None:
        raise InvalidInput(
            f"{moment} has no time zone; give an aware datetime, such as datetime.now(UTC)"
        )
    return round(moment.timestamp() * 1000)
