"""The connection that the shared statements need, and the differences between the engines' SQL.

Statements use the placeholders `?` and `:name`; collations and types are defined by the tables.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

__all__ = ["Dialect", "Given", "SqlConnection", "SqlRows", "TableLayout"]

Given = Sequence[Any] | Mapping[str, Any]
"""The values for the placeholders of a statement."""


class SqlRows(Protocol):
    """The result of a statement."""

    @property
    def rowcount(self) -> int: ...

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...

    def close(self) -> object: ...


class SqlConnection(Protocol):
    """A connection to a database, used by one thread at a time."""

    def execute(self, statement: str, given: Given = (), /) -> SqlRows: ...

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]], /) -> object: ...


class TableLayout(Struct, frozen=True):
    """A table whose rows are copied unchanged, in the order of its key.

    The key is the first `keys` columns. Only rows that meet the condition `where` are copied. No
    two rows have the same values in the columns `unique`.
    """

    name: str
    columns: tuple[str, ...]
    keys: int = 1
    where: str = "1 = 1"
    unique: tuple[str, ...] = ()


class Dialect(Struct, frozen=True):
    """The differences between engines.

    - `compress` turns a value into its stored form.
    - `no_limit` is the value for LIMIT that means no limit.
    - `texts` is a relation `f` with one column `value`; its placeholder takes a JSON array.
    - `gathered` is an aggregate that returns a column as a JSON array.
    - `unindexed` is a format string for a column that keeps the engine from using an index on it.
    - `like` is the condition that a URN matches a pattern.
    - `seen` and `removed` read the time of observation and the soft deletion from a row's JSON.
    - `lineage`, `lineage_pairs` and `urns_of_handles` are statements for `SqlReads`.
    - `after_copy` are statements that make the tables ready for use after rows were copied to them.
    """

    compress: Callable[[bytes], bytes]
    no_limit: int | None
    texts: str
    gathered: str
    unindexed: str
    like: str
    seen: str
    removed: str
    lineage: str
    lineage_pairs: str
    urns_of_handles: str
    after_copy: tuple[str, ...] = ()

    def limit(self, count: int) -> int | None:
        """Return the value for LIMIT; a count below 0 means no limit."""
        return self.no_limit if count < 0 else count
