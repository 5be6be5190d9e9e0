"""What a server can do, found out once."""

import re
from dataclasses import dataclass
from typing import Any, Literal

from explorer.client.requests.request import Request

__all__ = ["Abilities", "config_request", "read_abilities"]

_NUMBERS = re.compile(r"\d+")
_RELEASE = re.compile(r"v?(\d+(?:\.\d+)*)")


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a server offers beside what every one does.

    `release` is the version as numbers that compare, `(0, 14, 1)`; empty for one that tells none.
    """

    product: Literal["catalog", "datahub"] = "datahub"
    version: str = ""
    release: tuple[int, ...] = ()
    batch_reads: bool = False
    """Many entities in one `GET /entitiesV2`."""
    batch_writes: bool = False
    """Many aspects in one `ingestProposalBatch`."""
    versions: bool = False
    """A range of an aspect's versions in one `GET /versions`."""
    lineage: bool = False
    """Lineage of any depth with its edges, `POST /relationships?action=getLineage`."""
    graphql_lineage: bool = False
    """Lineage of any depth in GraphQL, `scrollAcrossLineage`."""
    changes: bool = False
    """The change log, `GET /changes` and `GET /changes/stream`."""
    scroll: bool = False
    """Search results beyond the first 10,000, `scrollAcrossEntities`."""
    deep_pages: bool = False
    """Search results beyond the first 10,000 by their place, `start`."""
    patch: bool = False
    """Writes that change a part of an aspect."""
    names: bool = False
    """Names in the place of URNs in filters, and the field `documented`."""
    stewardship: bool = False
    """What is described and what is not, counted by the server."""
    conditional_edits: bool = False
    """Edits in GraphQL that are made only while what their writer saw is there."""


def read_abilities(config: Any) -> Abilities:
    """What an answer of `GET /config` tells; whatever is missing or odd there is not offered,
    but for the calls that any server may be asked and says no to."""
    told = config if isinstance(config, dict) else {}
    ours = told.get("catalogExplorer")
    if isinstance(ours, dict):
        version = str(ours.get("version") or "")
        return Abilities(
            "catalog",
            version,
            _release(version),
            batch_reads=True,
            batch_writes=True,
            versions=True,
            lineage=True,
            graphql_lineage=True,
            changes=True,
            scroll=True,
            deep_pages=True,
            patch=True,
            names=ours.get("namesInFilters") is True,
            stewardship=ours.get("stewardship") is True,
            conditional_edits=ours.get("conditionalEdits") is True,
        )
    versions = told.get("versions")
    known = versions.get("acryldata/datahub") if isinstance(versions, dict) else None
    version = str((known.get("version") if isinstance(known, dict) else None) or "")
    if version == "null":
        version = ""
    release = _release(version)
    return Abilities(
        "datahub",
        version,
        release,
        batch_reads=True,
        batch_writes=release >= (0, 10),
        graphql_lineage=told.get("supportsImpactAnalysis") is True and release >= (0, 10, 3),
        scroll=release >= (0, 10),
        patch=told.get("patchCapable") is True,
    )


def _release(version: str) -> tuple[int, ...]:
    found = _RELEASE.match(version)
    return tuple(int(number) for number in _NUMBERS.findall(found[1])) if found else ()


def config_request() -> Request:
    """What the server is and can do."""
    return Request("GET", "/config")
