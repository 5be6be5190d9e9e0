"""Where an entity stands: its domain, whether it is deprecated, whether it is there at all."""

from explorer.metadata.urn import Urn
from explorer.server.graphql.pen import Given, Pen

__all__ = [
    "batch_deprecate",
    "batch_set_domain",
    "deprecate",
    "set_deprecation",
    "set_domain",
    "set_removed",
    "unset_domain",
]


def set_domain(pen: Pen, urn: Urn, given: Given) -> None:
    """Put an entity into a domain, out of any other."""
    domain = pen.stored_reference(given["domainUrn"], "domain", "domain")
    _put(pen, urn, domain)


def unset_domain(pen: Pen, urn: Urn, _given: Given) -> None:
    """Take an entity out of its domain."""
    _put(pen, urn, None)


def batch_set_domain(pen: Pen, given: Given) -> None:
    """Put entities into a domain, or out of theirs where none is named."""
    named = given.get("domainUrn")
    domain = pen.stored_reference(named, "domain", "domain") if named else None
    for resource in given["resources"]:
        _put(pen, pen.stored_entity(resource["resourceUrn"]), domain)


def _put(pen: Pen, urn: Urn, domain: str | None) -> None:
    domains = [] if domain is None else [domain]
    if pen.read(urn, "domains").get("domains", []) != domains:
        pen.write(urn, "domains", {"domains": domains, "domainAssociations": None})


def deprecate(pen: Pen, given: Given) -> None:
    """Say whether an entity is deprecated, and why."""
    set_deprecation(pen, pen.stored_entity(given["urn"]), given)


def batch_deprecate(pen: Pen, given: Given) -> None:
    """Say of several entities whether they are deprecated, and why."""
    for resource in given["resources"]:
        set_deprecation(pen, pen.stored_entity(resource["resourceUrn"]), given)


def set_deprecation(pen: Pen, urn: Urn, given: Given) -> None:
    """Write what an input says of a deprecation; what it leaves out is taken away."""
    said = {
        "deprecated": given["deprecated"],
        "decommissionTime": given.get("decommissionTime"),
        "note": given.get("note") or "",
        "replacement": str(Urn.parse(given["replacement"])) if given.get("replacement") else None,
    }
    stored = pen.read(urn, "deprecation")
    if not stored or any(stored.get(key) != value for key, value in said.items()):
        pen.write(urn, "deprecation", {**said, "actor": pen.actor})


def set_removed(pen: Pen, given: Given) -> None:
    """Take entities away from search and browsing, or bring them back."""
    for text in given["urns"]:
        urn = pen.stored_entity(text)
        if (pen.read(urn, "status").get("removed") is True) != given["deleted"]:
            pen.write(urn, "status", {"removed": given["deleted"]})
