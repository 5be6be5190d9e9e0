"""Links to documents about an entity."""

from collections.abc import Sequence
from typing import Any

from explorer.errors import InvalidInput, NotFound
from explorer.metadata.urn import Urn
from explorer.server.graphql.pen import Given, Pen

__all__ = ["add_link", "remove_link", "replace_links", "update_link"]

_PLACE = ("institutionalMemory", "elements")
_Links = Sequence[dict[str, Any]]
_AUTHORS = ("corpuser", "corpGroup")


def add_link(pen: Pen, given: Given) -> None:
    """Add one link; another to the same address gives way to it."""
    urn, url = pen.stored_entity(given["resourceUrn"]), given["linkUrl"]

    def change(links: _Links) -> list[dict[str, Any]]:
        same = [link for link in links if link.get("url") == url]
        if any(link.get("description") == given["label"] for link in same):
            return list(links)
        kept = [link for link in links if link.get("url") != url]
        return [*kept, {"url": url, "description": given["label"], "createStamp": pen.stamp}]

    pen.change_list(urn, _PLACE, change)


def update_link(pen: Pen, given: Given) -> None:
    """Change the address and label of a link. Raises `NotFound` where there is no such link."""
    urn = pen.stored_entity(given["resourceUrn"])
    url, label = given["currentUrl"], given["currentLabel"]

    def change(links: _Links) -> list[dict[str, Any]]:
        # A link may have been ingested without a label, which reads as an empty one.
        meant = [
            link
            for link in links
            if (link.get("url"), link.get("description") or "") == (url, label)
        ]
        if not meant:
            raise NotFound(f"{urn} has no link to {url} with the label {label!r}")
        new = {"url": given["linkUrl"], "description": given["label"]}
        return [{**link, **new} if link in meant else link for link in links]

    pen.change_list(urn, _PLACE, change)


def remove_link(pen: Pen, given: Given) -> None:
    """Remove the links to one address. Raises `NotFound` where there is none."""
    urn, url, label = pen.stored_entity(given["resourceUrn"]), given["linkUrl"], given.get("label")

    def change(links: _Links) -> list[dict[str, Any]]:
        kept = [
            link
            for link in links
            if link.get("url") != url
            or (label is not None and (link.get("description") or "") != label)
        ]
        if len(kept) == len(links):
            raise NotFound(f"{urn} has no link to {url}")
        return kept

    pen.change_list(urn, _PLACE, change)


def replace_links(pen: Pen, urn: Urn, given: Sequence[Given]) -> None:
    """Have these links and no others."""
    pen.write(urn, _PLACE[0], {"elements": [_link(pen, link) for link in given]})


def _link(pen: Pen, given: Given) -> dict[str, Any]:
    author = Urn.parse(given["author"])
    if author.entity_type not in _AUTHORS:
        raise InvalidInput(f"the author of a link is a user, not {author}")
    created = given.get("createdAt")
    stamp = {**pen.stamp, "actor": str(author)}
    return {
        "url": given["url"],
        "description": given.get("description") or "",
        "createStamp": stamp if created is None else {**stamp, "time": created},
    }
