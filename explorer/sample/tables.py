"""A declared table: what the sample knows of a dataset before it is turned into aspects."""

from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from explorer.metadata import Urn

__all__ = ["Column", "Table"]


class Column(msgspec.Struct, frozen=True):
    """A column. `name` is dotted (`shipping.address.zip`), with `#` before a union's member;
    `field_path` is what a catalog calls it. `sources` and `refers` are names as declared."""

    name: str
    kind: str
    record: str = ""
    field_path: str = ""
    in_key: bool = False
    key: bool = False
    required: bool = False
    hot: bool = False
    added: bool = False
    tags: tuple[str, ...] = ()
    edited_tags: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    edited_terms: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    refers: str = ""
    values: str = ""
    doc: str = ""
    edited: str = ""


@dataclass(frozen=True)
class Table:
    """A dataset as declared. Texts are empty where there is none; `rows` are those of the last
    day and the growth a day, none for a table that is not profiled."""

    platform: str
    name: str
    columns: tuple[Column, ...]
    origin: str = "PROD"
    subtype: str = ""
    record: str = ""
    about: str = ""
    edited: str = ""
    was: str = ""
    owners: tuple[tuple[str, str], ...] = ()
    had: tuple[tuple[str, str], ...] = ()
    tags: tuple[str, ...] = ()
    terms: tuple[str, ...] = ()
    domain: str = ""
    links: tuple[tuple[str, str], ...] = ()
    props: dict[str, str] = field(default_factory=dict)
    upstreams: tuple[str, ...] = ()
    sql: str = ""
    rows: tuple[int, int] | None = None
    size_megabytes: int = 0
    deprecated: str = ""
    replaced_by: str = ""
    removed: bool = False
    replicated: bool = False

    @cached_property
    def urn(self) -> Urn:
        """The dataset's URN."""
        return Urn.dataset(self.platform, self.name, self.origin)

    @property
    def delimiter(self) -> str:
        """What separates the folders in the name."""
        return "/" if self.platform == "s3" else "."

    @property
    def label(self) -> str:
        """The name without its folders; a topic keeps its whole name."""
        if self.platform == "kafka":
            return self.name
        return self.name.rpartition(self.delimiter)[2]

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders above it: database and schema, bucket and prefix, the topic's area."""
        parts = self.name.split(self.delimiter)
        return tuple(parts[:1] if self.platform == "kafka" else parts[:-1])

    @cached_property
    def by_name(self) -> dict[str, Column]:
        """Its columns by declared name."""
        return {column.name: column for column in self.columns}

    def field_urn(self, column: Column) -> str:
        """The URN of one of its columns, as text."""
        return str(Urn.of("schemaField", self.urn, column.field_path))
