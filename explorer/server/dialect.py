"""The two dialects of the answers, and the one place that knows them apart.

plain     the specification's own: search gives URNs, records are named `com.vendor.…`
datahub   what DataHub's clients read: search gives objects, records are named `com.linkedin.…`

Wherever one answer can hold both forms it does, and no dialect is asked. Inside an aspect's value
nothing is ever renamed.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from explorer.errors import InvalidInput

__all__ = [
    "DIALECT_HEADER",
    "Dialect",
    "dialect_of",
    "dialect_of_write",
    "record_name",
    "search_hits",
]

Dialect = Literal["plain", "datahub"]
DIALECT_HEADER = b"x-catalog-dialect"

# How the user agents of DataHub's clients begin: its SDK and command, its emitters for Java and
# Spark (DataHub-RestClient), and what its makers build on them.
_AGENTS = ("datahub", "acryl")
_MARK = b"x-datahub-"
# The actions that the specification has; its own callers post these, and GraphQL without one.
_SPECIFIED = (
    b"",
    b"autocomplete",
    b"browse",
    b"getTimeseriesAspectValues",
    b"ingest",
    b"ingestProposal",
    b"search",
)

_STORED_PREFIX = "com.linkedin."
_PLAIN_PREFIX = "com.vendor."


def dialect_of(
    method: str, query: bytes, headers: Mapping[bytes, bytes], setting: Dialect | None
) -> Dialect:
    """Return the dialect of a request: what its X-Catalog-Dialect header says, else the server's
    setting, else what the caller is known to be.

    `headers` are by lower-case name. Raises `InvalidInput` for a dialect that does not exist.
    """
    asked = headers.get(DIALECT_HEADER)
    if asked is not None:
        match asked.decode("latin-1").strip().lower():
            case "plain":
                return "plain"
            case "datahub":
                return "datahub"
            case other:
                raise InvalidInput(f"X-Catalog-Dialect is plain or datahub, not {other!r}")
    if setting is not None:
        return setting
    return "datahub" if _is_datahub_client(method, query, headers) else "plain"


def _is_datahub_client(method: str, query: bytes, headers: Mapping[bytes, bytes]) -> bool:
    """Return whether a request was sent by one of DataHub's clients.

    Releases before 0.14 do not name themselves. What they send differs from a script over the same
    HTTP library (requests) only in that they name the content type of requests without a body, and
    in that they call actions that the specification does not have. In the actions that it has they
    are not recognised.
    """
    agent = headers.get(b"user-agent", b"").decode("latin-1").lower()
    if agent.startswith(_AGENTS) or any(name.startswith(_MARK) for name in headers):
        return True
    return (
        (method == "GET" or _action(query) not in _SPECIFIED)
        and agent.startswith("python-requests/")
        and b"x-restli-protocol-version" in headers
        and b"content-type" in headers
    )


def _action(query: bytes) -> bytes:
    pairs = (pair.partition(b"=") for pair in query.split(b"&"))
    return next((value for name, _, value in pairs if name == b"action"), b"")


def dialect_of_write(system: Mapping[str, Any] | None, dialect: Dialect) -> Dialect:
    """Return whose rules a change is taken by, from its system metadata and the request's dialect.

    A change that names the run that brought it (`runId`) comes from a connector, also where the
    client that sends it does not say what it is: DataHub's does not before 0.14.
    """
    return "datahub" if system and system.get("runId") else dialect


def record_name(name: str, dialect: Dialect) -> str:
    """A record's full name as the dialect spells it."""
    if dialect == "plain" and name.startswith(_STORED_PREFIX):
        return _PLAIN_PREFIX + name.removeprefix(_STORED_PREFIX)
    return name


def search_hits(
    hits: Sequence[tuple[str, float, Sequence[dict[str, str]]]], dialect: Dialect
) -> list[Any]:
    """The `entities` of a search answer; each hit is (URN, score, matched fields)."""
    if dialect == "plain":
        return [urn for urn, _, _ in hits]
    return [
        {"entity": urn, "matchedFields": list(matched), "score": score}
        for urn, score, matched in hits
    ]
