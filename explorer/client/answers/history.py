"""Versions of aspects."""

from datetime import datetime
from typing import Any

from explorer.client.answers.reading import parse_wrapper, whole_number
from explorer.client.answers.shape import as_object
from explorer.client.entity import AspectRead
from explorer.client.records import Version, Versions
from explorer.errors import Unreadable
from explorer.metadata.urn import Urn

__all__ = ["parse_versions", "version_of"]


def version_of(read: AspectRead) -> Version:
    """An aspect at one version as one of its versions."""
    return Version(read.version, read.value, read.created, read.run_id)


def parse_versions(body: Any, urn: Urn, name: str, as_of: datetime | None = None) -> Versions:
    """The versions that our own service tells at once."""
    answer = as_object(body, "versions")
    listed = answer.get("versions")
    if not isinstance(listed, list):
        raise Unreadable("the server's answer to versions lists none")
    found = tuple(version_of(parse_wrapper(name, wrapper)) for wrapper in listed)
    start = whole_number(answer.get("start"), 0)
    total = whole_number(answer.get("total"), start + len(found))
    return Versions(urn, name, found, start, total, start + len(found) < total, as_of)
