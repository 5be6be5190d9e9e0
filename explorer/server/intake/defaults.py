"""What a new entity gets beside its key when nobody says it: the platform its URN names, and the
path it is browsed under."""

from collections.abc import Iterator
from typing import Any

import orjson

from explorer.metadata.registry import Registry
from explorer.metadata.urn import Urn
from explorer.server.paths import browse_paths, default_delimiter
from explorer.server.store import Transaction

__all__ = ["default_aspects", "moved_paths"]

_PLATFORM = "urn:li:dataPlatform:"
# The key's fields that name a platform, or an entity that does.
_NAMING = frozenset({"platform", "dashboardTool", "orchestrator", "notebookTool", "flow"})

Default = tuple[str, dict[str, Any]]


def default_aspects(registry: Registry, transaction: Transaction, urn: Urn) -> Iterator[Default]:
    """The aspects, by name, that a new entity is given; those of its type only."""
    carried = registry.entity(urn.entity_type).aspects
    named = registry.key_fields(urn.entity_type)[0] in _NAMING
    if named and urn.platform and "dataPlatformInstance" in carried:
        yield "dataPlatformInstance", {"platform": _PLATFORM + urn.platform}
    if "browsePaths" in carried:
        path = _path(urn, _delimiter(transaction, urn.platform))
        if path:
            yield "browsePaths", {"paths": [path]}


def moved_paths(
    transaction: Transaction, platform: Urn, info: dict[str, Any]
) -> Iterator[tuple[Urn, dict[str, Any]]]:
    """The datasets whose default path changes when a platform's description does, each with its
    `browsePaths`; a path that somebody wrote stays."""
    before = _delimiter(transaction, platform.name)
    after = _said(info) or default_delimiter(platform.name)
    if before == after:
        return
    for text in transaction.urns_starting_with(f"urn:li:dataset:({platform},"):
        urn = Urn.parse(text)
        stored = transaction.latest(text, "browsePaths")
        if stored and orjson.loads(stored.value).get("paths") == [_path(urn, before)]:
            yield urn, {"paths": [_path(urn, after)]}


def _path(urn: Urn, delimiter: str) -> str:
    return next(iter(browse_paths(urn, None, delimiter)), "")


def _delimiter(transaction: Transaction, platform: str | None) -> str:
    stored = transaction.latest(f"{_PLATFORM}{platform}", "dataPlatformInfo") if platform else None
    said = _said(orjson.loads(stored.value)) if stored else None
    return said or default_delimiter(platform)


def _said(info: dict[str, Any]) -> str | None:
    found = info.get("datasetNameDelimiter")
    return found if isinstance(found, str) and found else None
