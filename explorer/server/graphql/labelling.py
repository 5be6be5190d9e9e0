"""Tags and glossary terms, on entities and on columns."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from explorer.errors import InvalidInput
from explorer.metadata.urn import Urn
from explorer.server.graphql.pen import Given, Pen

__all__ = ["add_tags", "add_terms", "remove_tags", "remove_terms", "replace_tags"]

_List = Sequence[dict[str, Any]]
_Change = Callable[[_List], list[dict[str, Any]]]


def add_tags(pen: Pen, given: Given) -> None:
    """Add tags to what the input names; those it has already stay as they are."""
    tags = [pen.stored_reference(tag, "tag", "tag") for tag in _urns(given, "tag")]
    for resource in _resources(given):
        _change_tags(pen, resource, lambda stored: _with(stored, "tag", tags))


def remove_tags(pen: Pen, given: Given) -> None:
    """Take tags away from what the input names; those it has not do no harm."""
    tags = {str(Urn.parse(tag)) for tag in _urns(given, "tag")}
    for resource in _resources(given):
        _change_tags(pen, resource, lambda stored: _without(stored, "tag", tags))


def replace_tags(pen: Pen, urn: Urn, given: Given) -> None:
    """Have these tags on an entity and no others."""
    tags = [
        pen.stored_reference(one["tag"]["urn"], "tag", "tag") for one in given.get("tags") or ()
    ]

    def change(stored: _List) -> list[dict[str, Any]]:
        return _with([one for one in stored if one.get("tag") in tags], "tag", tags)

    pen.change_list(urn, ("globalTags", "tags"), change)


def add_terms(pen: Pen, given: Given) -> None:
    """Add glossary terms to what the input names; those it has already stay as they are."""
    terms = [
        pen.stored_reference(term, "glossary term", "glossaryTerm") for term in _urns(given, "term")
    ]
    for resource in _resources(given):
        _change_terms(pen, resource, lambda stored: _with(stored, "urn", terms))


def remove_terms(pen: Pen, given: Given) -> None:
    """Take glossary terms away from what the input names; those it has not do no harm."""
    terms = {str(Urn.parse(term)) for term in _urns(given, "term")}
    for resource in _resources(given):
        _change_terms(pen, resource, lambda stored: _without(stored, "urn", terms))


def _change_tags(pen: Pen, resource: Given, change: _Change) -> None:
    urn, column = _resource(pen, resource)
    if column is None:
        pen.change_list(urn, ("globalTags", "tags"), change)
        return
    pen.change_column(urn, column, lambda info: _column(info, ("globalTags", "tags"), change, {}))


def _change_terms(pen: Pen, resource: Given, change: _Change) -> None:
    urn, column = _resource(pen, resource)
    if column is None:
        pen.change_list(urn, ("glossaryTerms", "terms"), change, auditStamp=pen.stamp)
        return
    place, stamp = ("glossaryTerms", "terms"), {"auditStamp": pen.stamp}
    pen.change_column(urn, column, lambda info: _column(info, place, change, stamp))


def _column(
    info: dict[str, Any], place: tuple[str, str], change: _Change, stamp: Given
) -> dict[str, Any]:
    aspect, field = place
    stored = (info.get(aspect) or {}).get(field) or []
    changed = change(stored)
    return info if changed == stored else {**info, aspect: {field: changed, **stamp}}


def _resource(pen: Pen, given: Given) -> tuple[Urn, str | None]:
    """The entity, and the column of it that is meant."""
    urn, column = pen.stored_entity(given["resourceUrn"]), given.get("subResource")
    if column is None and given.get("subResourceType"):
        raise InvalidInput("subResourceType needs the path of a column as subResource")
    if column is not None and urn.entity_type != "dataset":
        raise InvalidInput(f"a subResource is a column of a dataset, which {urn} is not")
    return urn, column


def _resources(given: Given) -> Sequence[Given]:
    found: Sequence[Given] = given.get("resources", (given,))
    return found


def _urns(given: Given, what: str) -> list[str]:
    single = given.get(f"{what}Urn")
    return [single] if single is not None else list(given[f"{what}Urns"])


def _with(stored: _List, key: str, urns: Iterable[str]) -> list[dict[str, Any]]:
    present = {one.get(key) for one in stored}
    return [*stored, *({key: urn} for urn in dict.fromkeys(urns) if urn not in present)]


def _without(stored: _List, key: str, urns: set[str]) -> list[dict[str, Any]]:
    return [one for one in stored if one.get(key) not in urns]
