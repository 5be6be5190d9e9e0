"""The columns of a dataset: as a tree for people, and as rows for programs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.text import Text

from explorer.cli import tables
from explorer.cli.forms import Form
from explorer.cli.output import EDITED, note, print_json, said
from explorer.cli.reading import counted
from explorer.client import Catalog
from explorer.client.display import line
from explorer.client.entity import Column, Entity
from explorer.errors import InvalidInput
from explorer.metadata.urn import Urn

__all__ = ["Wanted", "checked", "print_schema", "read_version"]

_ASPECT: Final = "schemaMetadata"
# More of a description is for `catalog get`.
_MOST_TEXT: Final = 240
_PROGRAMS: Final = (
    "path",
    "name",
    "type",
    "native_type",
    "nullable",
    "key",
    "description",
    "ingested",
    "edited",
    "tags",
    "terms",
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which columns are shown: those that meet all of it."""

    tags: Sequence[str] = ()
    match: str = ""
    undocumented: bool = False

    @property
    def everything(self) -> bool:
        """Whether no column is left out."""
        return not (self.tags or self.match or self.undocumented)

    def meets(self, column: Column) -> bool:
        """Whether a column is shown."""
        labels = [*column.tags, *column.terms]
        named = {text.casefold() for urn in labels for text in (str(urn), urn.name)}
        text = "\n".join((column.path.simple, column.path.raw, column.description)).casefold()
        return (
            all(tag.casefold() in named for tag in self.tags)
            and self.match.casefold() in text
            and not (self.undocumented and column.documented)
        )


def checked(entity: Entity) -> Entity:
    """The entity, where it is one that has columns; raises `InvalidInput`."""
    if entity.entity_type != "dataset":
        raise InvalidInput(f"only a dataset has columns, and this is a {entity.entity_type}")
    return entity


def read_version(catalog: Catalog, urn: str, version: int) -> Entity:
    """A dataset with that version of its schema and nothing written since. One request."""
    read = catalog.aspect(urn, _ASPECT, version)
    return checked(Entity(Urn.parse(urn), {_ASPECT: read}, read.as_of))


def print_schema(entity: Entity, wanted: Wanted, shown_as: Form | None, *, version: int) -> None:
    """The columns that are wanted, in one of the forms; totals go to standard error."""
    found = [column for column in entity.schema if wanted.meets(column)]
    if shown_as == "json":
        print_json(
            {
                "urn": str(entity.urn),
                "version": version,
                "total": len(entity.schema),
                "documented": entity.schema.documented,
                "columns": [_as_json(column) for column in found],
                "orphans": [orphan.field_path for orphan in entity.schema.orphans],
            }
        )
    elif shown_as == "csv":
        rows = [[_as_json(column)[name] for name in _PROGRAMS] for column in found]
        tables.print_csv(tables.Table([tables.Column(name) for name in _PROGRAMS], rows))
    elif found:
        tables.print_table(_table(found, flat=not wanted.everything))
    _say_how_many(entity, found, version)


def _table(found: Sequence[Column], *, flat: bool) -> tables.Table:
    labelled = any(column.tags or column.terms for column in found)
    rows: list[list[tables.Cell]] = [
        [
            _name(column, flat=flat),
            column.type or column.native_type,
            " ".join(
                word for word, holds in (("key", column.is_key), ("null", column.nullable)) if holds
            ),
            _labels(column),
            _text(column),
        ]
        for column in found
    ]
    columns = (
        tables.Column("column", max_width=36, folds=True),
        tables.Column("type", max_width=12),
        tables.Column("facts", ""),
        tables.Column(
            "labels", "tags, terms", folds=True, audience="everyone" if labelled else "programs"
        ),
        tables.Column("description", folds=True),
    )
    return tables.Table(columns, rows)


def _name(column: Column, *, flat: bool) -> Text:
    if flat:
        return said(column.path.simple)
    return Text("  " * column.depth) + said(column.name)


def _labels(column: Column) -> Text:
    tags = [said(f"#{urn.name}") for urn in column.tags]
    return Text(", ").join([*tags, *(said(urn.name, "italic") for urn in column.terms)])


def _text(column: Column) -> Text:
    edited = (column.edited or "").strip()
    shown = said(column.description, missing="no description", limit=_MOST_TEXT)
    return Text(f"{EDITED} ") + shown if edited else shown


def _as_json(column: Column) -> dict[str, Any]:
    return {
        "path": column.path.raw,
        "name": column.path.simple,
        "type": column.type,
        "native_type": column.native_type,
        "nullable": column.nullable,
        "key": column.is_key,
        "depth": column.depth,
        "parent": column.parent.raw if column.parent else None,
        "description": column.description,
        "ingested": column.ingested,
        "edited": column.edited,
        "tags": [str(urn) for urn in column.tags],
        "terms": [str(urn) for urn in column.terms],
    }


def _say_how_many(entity: Entity, found: Sequence[Column], version: int) -> None:
    schema = entity.schema
    if not schema.columns:
        note("no columns are known of it")
    else:
        edited = sum(bool((column.edited or "").strip()) for column in schema)
        parts = [
            counted(len(schema), "column"),
            f"{schema.documented:,} documented",
            f"{edited:,} {EDITED} edited" if edited else "",
        ]
        if len(found) != len(schema):
            parts.insert(0, f"{len(found):,} of {len(schema):,} shown")
            del parts[1]
        note(", ".join(filter(None, parts)))
    if version:
        note(f"version {version}: what people wrote of columns is not part of it")
    for orphan in schema.orphans:
        note(f"edited, but no longer a column: {line(orphan.field_path)}")
