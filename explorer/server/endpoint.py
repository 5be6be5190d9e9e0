"""The table of endpoints, and finding the one that a request means."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Literal

from msgspec import Struct

from explorer.server.call import Answer, Call
from explorer.server.failures import Refusal
from explorer.server.tokens import Role

__all__ = ["Endpoint", "Endpoints", "Handler", "Parameter", "Standing", "parameter"]

Handler = Callable[[Call], Awaitable[Answer]]
Standing = Literal["current", "deprecated", "to be replaced", "ours"]


class Parameter(Struct, frozen=True):
    """What a caller may say: `kind` names its type (`string`, `integer`, `URN`, `filter`, …),
    `place` where it is said. `example` is a value that works on any catalog with datasets."""

    name: str
    kind: str
    summary: str
    place: Literal["body", "query", "path", "header"] = "body"
    required: bool = False
    example: Any = None


def parameter(
    name: str,
    kind: str,
    summary: str,
    example: Any = None,
    *,
    place: Literal["body", "query", "path", "header"] = "body",
    required: bool = True,
) -> Parameter:
    """A parameter, required unless said otherwise."""
    return Parameter(name, kind, summary, place, required, example)


class Endpoint(Struct, frozen=True):
    """One thing that can be asked, by those who have `role` or a higher one.

    `item` says that a URN follows the path; `action` is the value of the query parameter that
    tells the actions of one resource apart. `parameters`, `gives` (what the answer holds) and
    `notes` (what was decided where the specification is silent) are read by the documentation
    page; an example request is made of the parameters' examples. `standing` is `ours` for what no
    other server of this kind answers.
    """

    method: Literal["GET", "POST", "PATCH", "DELETE"]
    path: str
    handler: Handler
    summary: str
    role: Role
    item: bool = False
    action: str | None = None
    standing: Standing = "current"
    parameters: tuple[Parameter, ...] = ()
    gives: str = ""
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What tells it from every other: `POST /aspects?action=ingestProposal`."""
        action = f"?action={self.action}" if self.action else ""
        return f"{self.method} {self.path}{'/<urn>' if self.item else ''}{action}"


class Endpoints:
    """Every endpoint of the service, found by path, method and action."""

    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        self.all = tuple(endpoints)
        self._resources: dict[tuple[str, bool], dict[tuple[str, str | None], Endpoint]] = {}
        for endpoint in self.all:
            found = self._resources.setdefault((endpoint.path, endpoint.item), {})
            found[endpoint.method, endpoint.action] = endpoint

    def locate(self, path: str) -> tuple[str, str]:
        """The resource that a raw path means, and what follows it.

        Raises `Refusal` (404) when there is none.
        """
        if (path, False) in self._resources:
            return path, ""
        bare = path.rstrip("/")
        if (bare, False) in self._resources:
            return bare, ""
        cut = path.find("/", 1)
        while cut != -1:
            resource, rest = path[:cut], path[cut + 1 :]
            if rest and (resource, True) in self._resources:
                return resource, rest
            cut = path.find("/", cut + 1)
        raise Refusal(404, f"there is nothing at {path[:200]}")

    def find(self, call: Call) -> Endpoint:
        """The endpoint for a located call; raises `Refusal` (405, or 400 for its action)."""
        methods = self._resources[call.path, bool(call.rest)]
        found = methods.get((call.method, None))
        if found is not None:
            return found
        actions = sorted(
            action for method, action in methods if method == call.method and action is not None
        )
        if not actions:
            allowed = ", ".join(sorted({method for method, _ in methods}))
            raise Refusal(
                405,
                f"{call.method} is not supported on {call.path}; use {allowed}",
                ((b"allow", allowed.encode()),),
            )
        named = call.query.one("action")
        found = methods.get((call.method, named))
        if found is None:
            asked = f"{call.path}?action={named}" if named else call.path
            raise Refusal(
                400,
                f"{call.method} operation named {named} not supported on resource "
                f"'{call.path}' URI: '{asked}'; the actions are {', '.join(actions)}",
            )
        return found
