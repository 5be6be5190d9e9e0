"""Tags, glossary terms, owners and domains of entities: shown, put on and taken off."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import click

from explorer.cli import tables
from explorer.cli.forms import Form
from explorer.cli.reading import column_at, read_existing
from explorer.cli.tables import Column, Table
from explorer.cli.target import Target
from explorer.cli.write.edits import (
    Change,
    change_each,
    finish,
    given_urns,
    go_through,
    part,
    place_words,
    planned,
)
from explorer.client.editable import OWNERS, TAGS, TERMS, LabelKind, urns_of
from explorer.client.records import Edit
from explorer.metadata.urn import Urn

if TYPE_CHECKING:
    from explorer.client import Catalog
    from explorer.client.entity import Entity

__all__ = ["Labels", "change_labels", "domains_of", "show_labels"]

_What = Literal["tags", "terms", "owners", "domain"]
_SHELVES: Final[Mapping[_What, LabelKind]] = {"tags": TAGS, "terms": TERMS, "owners": OWNERS}
_TYPES: Final[Mapping[_What, tuple[str, ...]]] = {
    "tags": ("tag",),
    "terms": ("glossaryTerm",),
    "owners": ("corpuser", "corpGroup"),
}
_Found = tuple[Urn, str | None, tuple[str, ...]]
"""An entity, the exact path of its column where one is meant, and its labels."""
_NAME_WIDTH: Final = 56


@dataclass(frozen=True, slots=True)
class Labels:
    """Labels of one kind to put on and to take off. Of owners each is the owner and the kind of
    ownership, `None` where all kinds are meant."""

    what: Literal["tags", "terms", "owners"]
    add: Sequence[tuple[str, str | None]]
    remove: Sequence[tuple[str, str | None]]
    column: str | None = None


def change_labels(
    target: Target, words: Sequence[str], labels: Labels, *, dry_run: bool, as_json: bool
) -> None:
    """Put labels on entities and take others off; the labels of others stay."""
    for name, _ in set(labels.add) & set(labels.remove):
        raise click.UsageError(f"{name} is both to be added and to be removed")
    # What is wrong with the labels themselves is wrong for every entity.
    for name, _ in (*labels.add, *labels.remove):
        urns_of(name, *_TYPES[labels.what])
    change: Change = _plan(labels) if dry_run else _write(labels)
    change_each(target, words, change, dry_run=dry_run, as_json=as_json)


def show_labels(
    target: Target,
    words: Sequence[str],
    what: _What,
    column: str | None,
    shown_as: Form | None,
) -> None:
    """Show the labels of entities: a line for each entity, their URNs alone, or as JSON."""
    found: list[_Found] = []
    urns = given_urns(words)
    with target.open() as catalog:

        def read(urn: str) -> None:
            entity = read_existing(catalog, urn)
            path = column_at(entity, column).path.raw if column else None
            found.append((entity.urn, path, _held(entity, what, path)))

        done = go_through(urns, read)
    table = _table(found, what)
    match shown_as:
        case "urns":
            tables.print_urns(_urns(what, (label for _, _, held in found for label in held)))
        case "csv":
            tables.print_csv(table)
        case "json":
            tables.print_json(table)
        case None if found:
            tables.print_table(table)
        case None:
            pass
    finish(done)


def domains_of(entity: "Entity") -> tuple[str, ...]:
    """The domains of an entity, as an edit has them."""
    held = (entity.raw("domains") or {}).get("domains") or ()
    return tuple(one for one in held if isinstance(one, str))


def _held(entity: "Entity", what: _What, path: str | None) -> tuple[str, ...]:
    if what == "domain":
        return domains_of(entity)
    if path is not None and what in ("tags", "terms"):
        column = column_at(entity, path)
        # Also those that ingestion brought.
        return tuple(map(str, column.tags if what == "tags" else column.terms))
    return _edited(entity, _SHELVES[what], path)


def _edited(entity: "Entity", shelf: LabelKind, path: str | None) -> tuple[str, ...]:
    return shelf.labels(entity.raw(shelf.home(path)) or {}, path)


def _write(labels: Labels) -> Change:
    def change(catalog: "Catalog", urn: str) -> Iterator[Edit]:
        path = _path(catalog, urn, labels.column)
        for kind, names in _by_kind(labels.add):
            yield _adding(catalog, labels.what, path, kind)(urn, names)
        for kind, names in _by_kind(labels.remove):
            yield _removing(catalog, labels.what, path, kind)(urn, names)

    return change


def _path(catalog: "Catalog", urn: str, column: str | None) -> str | None:
    return None if column is None else column_at(read_existing(catalog, urn), column).path.raw


def _adding(
    catalog: "Catalog", what: _What, path: str | None, kind: str | None
) -> Callable[[str, list[str]], Edit]:
    match what:
        case "tags":
            return lambda urn, names: catalog.add_tags(urn, names, column=path)
        case "terms":
            return lambda urn, names: catalog.add_terms(urn, names, column=path)
        case _:
            named = {} if kind is None else {"ownership": kind}
            return lambda urn, names: catalog.add_owners(urn, names, **named)


def _removing(
    catalog: "Catalog", what: _What, path: str | None, kind: str | None
) -> Callable[[str, list[str]], Edit]:
    match what:
        case "tags":
            return lambda urn, names: catalog.remove_tags(urn, names, column=path)
        case "terms":
            return lambda urn, names: catalog.remove_terms(urn, names, column=path)
        case _:
            return lambda urn, names: catalog.remove_owners(urn, names, ownership=kind)


def _by_kind(
    labels: Sequence[tuple[str, str | None]],
) -> Iterator[tuple[str | None, list[str]]]:
    for kind in dict.fromkeys(kind for _, kind in labels):
        yield kind, [name for name, own in labels if own == kind]


def _plan(labels: Labels) -> Change:
    shelf = _SHELVES[labels.what]

    def change(catalog: "Catalog", urn: str) -> Iterator[Edit]:
        entity = read_existing(catalog, urn)
        path = column_at(entity, labels.column).path.raw if labels.column else None
        before = _edited(entity, shelf, path)
        gone = {label for label in before if _is_among(label, labels)}
        new = (_label(name, kind, labels.what) for name, kind in labels.add)
        after = dict.fromkeys((*(one for one in before if one not in gone), *new))
        yield planned(urn, labels.what, before, tuple(after), path)

    return change


def _label(name: str, kind: str | None, what: _What) -> str:
    urn = str(urns_of(name, *_TYPES[what])[0])
    return f"{urn} {kind or 'TECHNICAL_OWNER'}" if what == "owners" else urn


def _is_among(label: str, labels: Labels) -> bool:
    if labels.what != "owners":
        return any(label == _label(name, kind, labels.what) for name, kind in labels.remove)
    owner, _, kind = label.rpartition(" ")
    return any(
        owner == str(urns_of(name, *_TYPES["owners"])[0]) and own in (None, kind)
        for name, own in labels.remove
    )


def _urns(what: _What, labels: Iterable[str]) -> list[str]:
    bare = (label.rpartition(" ")[0] if what == "owners" else label for label in labels)
    return list(dict.fromkeys(bare))


def _table(found: Sequence[_Found], what: _What) -> Table:
    name = "domains" if what == "domain" else what
    columns = [
        Column("name", audience="people", max_width=_NAME_WIDTH, folds=True, style="bold"),
        Column("shown", name, audience="people", folds=True),
        Column("urn", audience="programs"),
        Column("column", audience="programs"),
        Column(name, audience="programs"),
    ]
    rows = [
        (place_words(urn, path), part(what, held), str(urn), path, held)
        for urn, path, held in found
    ]
    return Table(columns, rows)
