"""The two dialects of responses, and how the dialect of a request is determined.

plain     that of the specification: search returns URNs, records are named `com.vendor.…`
datahub   that of DataHub's clients: search returns objects, records are named `com.linkedin.…`

A response that can contain both forms contains both in either dialect. Nothing inside the value of
an aspect is ever renamed.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from explorer.errors import InvalidInput

Dialect = Literal["plain", "datahub"]
DIALECT_HEADER = b"x-catalog-dialect"

# The prefixes of the user agents of DataHub's clients: its SDK and command, its emitters for Java
# and Spark (DataHub-RestClient), and tools that its makers build on them.
_AGENTS = ("datahub", "acryl")
_MARK = b"x-datahub-"
# The actions of the specification, which its own callers post; GraphQL has no action.
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
    """Return the dialect of a request: that of its header X-Catalog-Dialect, else the server's
    setting, else the one detected from the client.

    `headers` are keyed by lower-case name. Raises `InvalidInput` if the header names an unknown
    dialect.
    """
    name = headers.get(DIALECT_HEADER)
    if name is not None:
        match name.decode("latin-1").strip().lower():
            case "plain":
                return "plain"
            case "datahub":
                return "datahub"
            case other:
                raise InvalidInput(f"X-Catalog-Dialect must be plain or datahub, not {other!r}")
    if setting is not None:
        return setting
    return "datahub" if _is_datahub_client(method, query, headers) else "plain"


def _is_datahub_client(method: str, query: bytes, headers: Mapping[bytes, bytes]) -> bool:
    """Return whether a request was sent by one of DataHub's clients.

    Releases before 0.14 do not identify themselves. Their requests differ from those of a script
    that uses the same HTTP library (requests) in only two ways: they have a content type even
    without a body, and they call actions that the specification does not have. If they call an
    action of the specification, they are not recognised.
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
    """Return the dialect whose rules apply to a change, from its system metadata and the dialect of
    the request.

    A change that names its run (`runId`) comes from a connector, even if the client does not
    identify itself, as DataHub's does not before 0.14.
    """
    return "datahub" if system and system.get("runId") else dialect


def record_name(name: str, dialect: Dialect) -> str:
    """Return the full name of a record as the dialect spells it."""
    if dialect == "plain" and name.startswith(_STORED_PREFIX):
        return _PLAIN_PREFIX + name.removeprefix(_STORED_PREFIX)
    return name


def search_hits(
    hits: Sequence[tuple[str, float, Sequence[dict[str, str]]]], dialect: Dialect
) -> list[Any]:
    """Return the `entities` of a search response; each hit is (URN, score, matched fields)."""
    if dialect == "plain":
        return [urn for urn, _, _ in hits]
    return [
        {"entity": urn, "matchedFields": list(matched), "score": score}
        for urn, score, matched in hits
    ]
