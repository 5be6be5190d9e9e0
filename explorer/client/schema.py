"""A dataset's schema as people see it: columns in tree order, ingested and edited text apart."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from explorer.metadata.aspects import EditableSchemaField, EditableSchemaMetadata, SchemaField
from explorer.metadata.aspects import SchemaMetadata as SchemaAspect
from explorer.metadata.fieldpath import FieldPath
from explorer.metadata.urn import Urn

__all__ = ["Column", "Schema"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `depth` counts its ancestors; `parent` is the path of the nearest."""

    path: FieldPath
    name: str
    type: str
    native_type: str
    nullable: bool
    is_key: bool
    recursive: bool
    ingested: str | None
    edited: str | None
    tags: tuple[Urn, ...]
    terms: tuple[Urn, ...]
    parent: FieldPath | None
    depth: int
    children: int

    @property
    def description(self) -> str:
        """The text that counts: what people wrote where they wrote any, else what came in."""
        texts = ((text or "").strip() for text in (self.edited, self.ingested))
        return next(filter(None, texts), "")

    @property
    def documented(self) -> bool:
        """Whether anybody has said what the column means."""
        return bool(self.description)


@dataclass(frozen=True)
class Schema:
    """The columns of a dataset, every parent before its children, siblings as ingested.

    `orphans` are texts written for columns that the schema no longer has.
    """

    name: str
    columns: tuple[Column, ...]
    orphans: tuple[EditableSchemaField, ...] = ()

    def __len__(self) -> int:
        return len(self.columns)

    def __iter__(self) -> Iterator[Column]:
        return iter(self.columns)

    @cached_property
    def _by_path(self) -> dict[str, Column]:
        return {column.path.raw: column for column in self.columns}

    def column(self, path: str) -> Column | None:
        """The column of that exact path."""
        return self._by_path.get(path)

    @property
    def documented(self) -> int:
        """How many columns are documented."""
        return sum(column.documented for column in self.columns)


def read_schema(ingested: SchemaAspect | None, edited: EditableSchemaMetadata | None) -> Schema:
    """The two aspects laid over each other, matched by exact path."""
    fields = ingested.fields if ingested else ()
    keys = frozenset(ingested.primary_keys or ()) if ingested else frozenset()
    entries = edited.editable_schema_field_info if edited else ()
    written = {entry.field_path: entry for entry in entries}
    known = {field.field_path for field in fields}
    parents = {field.field_path: _parent(field.field_path, known) for field in fields}
    children: dict[str | None, list[SchemaField]] = {}
    for field in fields:
        children.setdefault(parents[field.field_path], []).append(field)
    counts = {path: len(below) for path, below in children.items()}
    columns = tuple(
        _column(
            field,
            written.get(field.field_path),
            parents[field.field_path],
            depth,
            counts.get(field.field_path, 0),
            is_key=field.field_path in keys,
        )
        for field, depth in _in_tree_order(children)
    )
    orphans = tuple(entry for path, entry in written.items() if path not in known)
    return Schema(ingested.schema_name if ingested else "", columns, orphans)


def _parent(path: str, known: set[str]) -> str | None:
    return next((above for above in FieldPath(path).ancestors() if above in known), None)


def _in_tree_order(
    children: dict[str | None, list[SchemaField]],
) -> Iterator[tuple[SchemaField, int]]:
    waiting = [(field, 0) for field in reversed(children.get(None, ()))]
    while waiting:
        field, depth = waiting.pop()
        yield field, depth
        # A path listed twice has its children once.
        below = children.pop(field.field_path, ())
        waiting.extend((child, depth + 1) for child in reversed(below))


def _column(
    field: SchemaField,
    written: EditableSchemaField | None,
    parent: str | None,
    depth: int,
    children: int,
    *,
    is_key: bool,
) -> Column:
    path = FieldPath(field.field_path)
    return Column(
        path=path,
        name=_name_below(path, parent),
        type=field.type_name,
        native_type=field.native_data_type,
        nullable=field.nullable,
        is_key=is_key or field.is_part_of_key or path.is_key,
        recursive=field.recursive,
        ingested=field.description,
        edited=written.description if written else None,
        tags=_both(field, written, lambda part: [tag.tag for tag in part.global_tags.tags]),
        terms=_both(field, written, lambda part: [term.urn for term in part.glossary_terms.terms]),
        parent=FieldPath(parent) if parent else None,
        depth=depth,
        children=children,
    )


def _name_below(path: FieldPath, parent: str | None) -> str:
    """What is left of the path under its parent: usually one name, more where the records between
    are not columns themselves."""
    above = len(FieldPath(parent).names) if parent else 0
    return ".".join(path.names[above:]) or path.name


def _both(
    field: SchemaField,
    written: EditableSchemaField | None,
    names: Callable[[SchemaField | EditableSchemaField], list[str]],
) -> tuple[Urn, ...]:
    found = [*names(field), *(names(written) if written else ())]
    return Urn.parse_all(dict.fromkeys(found))
