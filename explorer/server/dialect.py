"""The two dialects of the answers, and the one place that knows them apart.

plain     the specification's own: search gives URNs, records are named `com.vendor.…`
datahub   what DataHub's clients read: search gives objects, records are named `com.linkedin.…`

Wherever one answer can hold both forms it does, and no dialect is asked. Inside an aspect's value
nothing is ever renamed.
"""

from collections.abc import Sequence
from typing import Any, Literal

from explorer.errors import InvalidInput
from explorer.server.call import Call

__all__ = ["DIALECT_HEADER", "Dialect", "dialect_of", "record_name", "search_hits"]

Dialect = Literal["plain", "datahub"]
DIALECT_HEADER = b"x-catalog-dialect"

_STORED_PREFIX = "com.linkedin."
_PLAIN_PREFIX = "com.vendor."


def dialect_of(call: Call, setting: Dialect | None) -> Dialect:
    """The dialect of an answer: what the request's own header says, else the server's setting,
    else what the caller says it is."""
    asked = call.header(DIALECT_HEADER)
    if asked is not None:
        match asked.strip().lower():
            case "plain":
                return "plain"
            case "datahub":
                return "datahub"
            case other:
                raise InvalidInput(f"X-Catalog-Dialect is plain or datahub, not {other!r}")
    if setting is not None:
        return setting
    if call.header(b"x-datahub-client-mode") is not None:
        return "datahub"
    agent = call.header(b"user-agent") or ""
    return "datahub" if agent.startswith("DataHub-Client/") else "plain"


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
