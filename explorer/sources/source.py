"""What every source gives: the tables it has found, or proposals of its own, and what it could not
read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from explorer.metadata.proposal import Proposal

__all__ = [
    "Column",
    "ForeignKey",
    "Inventory",
    "Progress",
    "SkippedPart",
    "Source",
    "SourceOptions",
    "TableDefinition",
]

Progress = Callable[[str, int, int | None], None]
"""Is told what is read, how many of it are done, and of how many; None where that is not known."""


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """What may be said of a source beside where it is.

    `env` is the environment in the URNs of its datasets, `instance` the platform instance that
    stands before their names; `schemas` are patterns with `*` of the schemas that are read, all
    without one.
    """

    env: str = "PROD"
    instance: str | None = None
    schemas: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SkippedPart:
    """What a source has and could not be read, and why. Where `prefix` is set, datasets whose name
    begins so may still be there: they are not taken for dropped."""

    subject: str
    reason: str
    prefix: str | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column. `kind` is the type in the catalog's model without its ending, `Number` or
    `Record`; `native_type` is the source's own. One that `is_nested` is a field of a struct: its
    path is dotted, and follows that of the struct."""

    path: str
    native_type: str
    kind: str
    is_nullable: bool = True
    description: str | None = None
    is_partition_key: bool = False
    is_nested: bool = False


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """Columns that refer to those of another table, given by its whole path."""

    name: str
    columns: tuple[str, ...]
    table: tuple[str, ...]
    foreign_columns: tuple[str, ...]


@dataclass(slots=True)
class TableDefinition:
    """A table or view as its source has it.

    `path` has the names from the outermost container to its own. `subtype` is what the platform
    calls it. `columns` is None where they could not be read. `definition` is the SQL of a view.
    """

    path: tuple[str, ...]
    subtype: str = "Table"
    columns: Sequence[Column] | None = ()
    description: str | None = None
    definition: str | None = None
    is_materialized: bool = False
    primary_key: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()
    row_count: int | None = None
    size_bytes: int | None = None
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The names of the columns as SQL has them, without fields of structs."""
        return [column.path for column in self.columns or () if not column.is_nested]


@dataclass(slots=True)
class Inventory:
    """All that a source has at one moment.

    The proposals of one entity stand together. `kinds` counts what a person would list, `table`
    or `column`, by its noun.
    """

    proposals: list[Proposal] = field(default_factory=list)
    skipped: list[SkippedPart] = field(default_factory=list)
    kinds: dict[str, int] = field(default_factory=dict)

    def count(self, noun: str, number: int = 1) -> None:
        """Add to what is counted under a noun."""
        if number:
            self.kinds[noun] = self.kinds.get(noun, 0) + number


class Source(Protocol):
    """A place that metadata is read from.

    `kind` names the reader, `postgres` or `dbt`; `location` says where it is, without any secret,
    so that the same source can be opened again; `default_name` is what it is called where nobody
    gives it a name.
    """

    @property
    def kind(self) -> str:
        """The reader's name."""

    @property
    def location(self) -> str:
        """Where it is, without secrets."""

    @property
    def default_name(self) -> str:
        """The name of the source where none is given."""

    def read(self, progress: Progress) -> Inventory:
        """Return everything that is there.

        Raises a `CatalogError` where the source as a whole cannot be read; what cannot be read of
        it is in the inventory.
        """


def read_text(value: Any) -> str | None:
    """Return a text without white space around it; None where nothing is left."""
    return (value.strip() or None) if isinstance(value, str) else None
