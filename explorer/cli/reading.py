"""What the commands read before they show or change an entity."""

import sys
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

import click

from explorer.errors import NotFound, UnknownName

if TYPE_CHECKING:
    from explorer.client import Catalog
    from explorer.client.entity import AspectRead, Column, Entity
    from explorer.metadata.urn import Urn

__all__ = [
    "STDIN",
    "chosen",
    "column_at",
    "counted",
    "named_by",
    "read_existing",
    "read_urn",
    "read_urns",
]

_MOST_NAMES: Final = 500

STDIN: Final = "-"
"""Stands for URNs on standard input, one a line."""


def counted(number: int, noun: str) -> str:
    """How many there are of something, in words: `1 column`, `2,000 columns`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def read_urns(given: Sequence[str]) -> list[str]:
    """URNs as the command line has them, each once; those on standard input in the place of `-`.
    Lines that hold nothing are passed over."""
    found: list[str] = []
    for text in given:
        found += _read_lines() if text == STDIN else [text]
    return list(dict.fromkeys(found))


def read_urn(given: str) -> str:
    """One URN; for `-` the only one on standard input. Raises `click.UsageError` where there is
    another number of them."""
    found = read_urns((given,))
    if len(found) != 1:
        number = f"{len(found):,} URNs stand" if found else "no URN stands"
        raise click.UsageError(f"{number} on standard input; one is wanted, as in: … | head -1")
    return found[0]


def _read_lines() -> list[str]:
    lines = sys.stdin.buffer.read().decode("utf-8-sig", errors="replace").splitlines()
    return [line.strip() for line in lines if line.strip()]


def read_existing(catalog: "Catalog", urn: str) -> "Entity":
    """The entity with all its aspects; raises `NotFound` where nothing is stored of it."""
    entity = catalog.entity(urn)
    if not entity.exists:
        raise NotFound(f"there is no {urn} in this catalog")
    return entity


def chosen(entity: "Entity", names: Sequence[str]) -> "list[AspectRead]":
    """The aspects of those names, or all where none is named; raises `UnknownName` for one that
    the entity lacks."""
    for name in names:
        if name not in entity.aspects:
            raise UnknownName("aspect of this entity", name, entity.aspects)
    return [entity.aspects[name] for name in names or sorted(entity.aspects)]


def column_at(entity: "Entity", path: str) -> "Column":
    """The column of that exact path, or the only one that people would write so.

    Raises `UnknownName` where there is none or more than one, naming the near ones.
    """
    exact = entity.schema.column(path)
    if exact is not None:
        return exact
    same = [column for column in entity.schema if column.path.simple == path]
    if len(same) == 1:
        return same[0]
    known = same or entity.schema.columns
    raise UnknownName("column", path, (column.path.raw for column in known))


def named_by(catalog: "Catalog", entity: "Entity") -> "Mapping[Urn, str]":
    """Return the names of the entities that the page of an entity mentions; at most 500 of them.
    One request for a hundred."""
    from explorer.metadata.urn import Urn
    from explorer.views.entity import detail_parts
    from explorer.views.parts import mentioned

    owners = Urn.parse_all(owner.owner for owner in entity.owners)
    labels = (*owners, *entity.tags, *entity.terms, *entity.domains)
    urns = dict.fromkeys((*labels, *mentioned(detail_parts(entity))))
    found = catalog.summaries(islice(urns, _MOST_NAMES))
    return {urn: one.name for urn, one in found.items()}
