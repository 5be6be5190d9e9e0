"""What the statements ask of a connection, and where the engines' SQL differs.

Statements are written with the marks `?` and `:name`, with collations and types left to the tables.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

__all__ = ["Dialect", "Given", "SqlConnection", "SqlRows", "TableLayout"]

Given = Sequence[Any] | Mapping[str, Any]
"""The values for the marks of a statement."""


class SqlRows(Protocol):
    """What a statement gave."""

    @property
    def rowcount(self) -> int: ...

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...

    def close(self) -> object: ...


class SqlConnection(Protocol):
    """A connection to a database, which one thread uses at a time."""

    def execute(self, statement: str, given: Given = (), /) -> SqlRows: ...

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]], /) -> object: ...


class TableLayout(Struct, frozen=True):
    """A table whose rows are copied as they are, in the order of its first columns, `keys` of them;
    those that meet a condition. No two rows have the same values in the columns `unique`."""

    name: str
    columns: tuple[str, ...]
    keys: int = 1
    where: str = "1 = 1"
    unique: tuple[str, ...] = ()


class Dialect(Struct, frozen=True):
    """The differences between engines.

    `texts` and `numbers` are relations `f` of one column `value`, made of a mark that stands for a
    JSON array; `gathered` is the JSON array of a column. `whole` is a condition that keeps an index
    from being chosen by it, where the engine has to be told. `seen` and `removed` read the moment
    of an observation and the soft deletion out of a row's JSON. `lineage`, `lineage_pairs`
    and `known_urns` are statements as `SqlReads` uses them, `after_copy` those that make the tables
    ready for use once rows were copied into them.
    """

    compress: Callable[[bytes], bytes]
    no_limit: int | None
    texts: str
    gathered: str
    whole: str
    like: str
    seen: str
    removed: str
    lineage: str
    lineage_pairs: str
    known_urns: str
    after_copy: tuple[str, ...] = ()

    def limit(self, count: int) -> int | None:
        """Return what stands for a limit of so many rows; -1 is for no limit."""
        return self.no_limit if count < 0 else count
