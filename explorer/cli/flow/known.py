"""What is known of the entities and columns that a command names."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from explorer.client import Catalog
from explorer.client.entity import SUMMARY_ASPECTS
from explorer.errors import NotFound, UnknownName
from explorer.graph import split_column
from explorer.graph.nodes import details, identity
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn

__all__ = ["check_there", "naming_what_is_not_there", "read_known"]

_ASPECTS = (*SUMMARY_ASPECTS, "glossaryTerms", "domains")
_OF_COLUMNS = ("name", "platform", "removed", "deprecated")


def read_known(catalog: Catalog, urns: Iterable[str]) -> dict[str, dict[str, Any]]:
    """What `explorer.graph.nodes` tells of each entity, and `exists`: whether it was ever written.

    A column has `column`, its path as people write it, and the name of its dataset; nothing says
    whether it exists. One request for 150 entities.
    """
    wanted = list(dict.fromkeys(urns))
    columns = {urn: parts for urn in wanted if (parts := split_column(urn))}
    asked = {columns[urn][0] if urn in columns else urn for urn in wanted}
    entities = catalog.entities(Urn.parse_all(sorted(asked)), _ASPECTS)
    told = {str(urn): details(entity) for urn, entity in entities.items() if entity.exists}
    found: dict[str, dict[str, Any]] = {}
    for urn in wanted:
        if urn not in columns:
            found[urn] = {**identity(urn), **told.get(urn, {}), "exists": urn in told}
            continue
        dataset, path = columns[urn]
        known = {**identity(dataset), **told.get(dataset, {})}
        found[urn] = {
            **{name: known[name] for name in _OF_COLUMNS if name in known},
            "type": "schemaField",
            "column": FieldPath(path).simple,
        }
    return found


def check_there(catalog: Catalog, urn: str) -> None:
    """Raises `NotFound` where nothing is stored of an entity: a mistyped name has no lineage and
    no relationships either. One request."""
    if not catalog.exists(urn):
        raise NotFound(f"there is no {urn} in this catalog")


@contextmanager
def naming_what_is_not_there(catalog: Catalog, urn: str) -> Iterator[None]:
    """Of an entity that is not there it is not said that it has no such column."""
    try:
        yield
    except UnknownName:
        check_there(catalog, urn)
        raise
