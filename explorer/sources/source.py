"""The interface of sources, and what they return: tables or proposals, and the parts that could not
be read."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn

__all__ = [
    "SECRET_NAME",
    "ColumnDefinition",
    "ForeignKeyDefinition",
    "Inventory",
    "Progress",
    "SkippedPart",
    "Source",
    "SourceOptions",
    "TableDefinition",
    "open_value",
    "redacted",
]

_SECRETS: Final = (
    # The user and password in a URL.
    (re.compile(r"(?<=://)([^\s/@:]*):(?!\$\{\w+\}@)\S*@"), r"\1:…@"),
    # `PWD=…`, `password '…'`, `"token": "…"`, `identified by …`
    (
        re.compile(
            r"""((?:\b|_)(?:password|passwd|passphrase|pwd|secret|token|api_?key|credentials?
            |(?:access|secret|private|account)_?key)["']?(?:\s*[=:]\s*|\s+(?=["']))
            |\bidentified\s+by\s+)(?!["'{]?\$\{\w+\})
            ("(?:[^"]|"")*"?|'(?:[^']|'')*'?|\{[^}]*\}?|[^\s;,&)]+)""",
            re.IGNORECASE | re.VERBOSE,
        ),
        r"\1…",
    ),
    # Rows and values in the messages of databases about data that they could not read.
    (
        re.compile(
            r"Original Line:.*?(?=Error when converting column|Expected Number of Columns|\Z)",
            re.DOTALL,
        ),
        "",
    ),
    (
        re.compile(
            r"""((?:convert\ string|cast\ value|invalid\ input|field\ format|out\ of\ range
            |incorrect\ \w+\ value)[^"':]*:?\s*)("(?:[^"]|"")*"?|'(?:[^']|'')*'?)""",
            re.IGNORECASE | re.VERBOSE,
        ),
        r"\1…",
    ),
)


def redacted(text: str) -> str:
    """Return a message of a source or its driver without passwords, rows and values."""
    for pattern, instead in _SECRETS:
        text = pattern.sub(instead, text)
    return text


Progress = Callable[[str, int, int | None], None]
"""A callback with what is being read, the number done, and the total, or `None` if unknown."""


SECRET_NAME: Final = re.compile(r"pass|pwd|secret|token|key|credential", re.IGNORECASE)
"""Matches the names of settings that are secrets."""

_VARIABLE: Final = re.compile(r"\{?\$\{\w+\}\}?")
# Settings within a parameter of a URL, as in ODBC's `DRIVER={…};UID=…;PWD={…}`.
_SETTING: Final = re.compile(r"\s*([^=;]*)=\s*(\{(?:[^}]|\}\})*(?:\}|$)|[^;]*);?")


def open_value(name: str, value: str) -> str | None:
    """Return a parameter of a connection URL without the secrets in it, or `None` if it is a secret
    itself. The name of a variable, `${NAME}`, is not a secret."""
    if _VARIABLE.fullmatch(value):
        return value
    if SECRET_NAME.search(name):
        return None

    def without_secret(setting: re.Match[str]) -> str:
        is_open = not SECRET_NAME.search(setting[1]) or _VARIABLE.fullmatch(setting[2].strip())
        return setting[0] if is_open else ""

    shown = _SETTING.sub(without_secret, value)
    return shown if redacted(shown) == shown else None


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The options of a source besides its location.

    `env` is the environment in the URNs of its datasets, `instance` the platform instance that
    prefixes their names. `schemas` are patterns with `*` of the schemas to read; without any, all
    are read. `dialect` is the SQL dialect of a query log. `profile` turns on column profiling; with
    `values`, values that look personal are included. With `keyring`, a database's password is
    stored in this machine's keyring.
    """

    env: str = "PROD"
    instance: str | None = None
    schemas: tuple[str, ...] = ()
    dialect: str | None = None
    profile: bool = False
    values: bool = False
    keyring: bool = False


@dataclass(frozen=True, slots=True)
class SkippedPart:
    """A part of a source that could not be read, and the reason, without secrets. If `prefix` is
    set, datasets whose names begin with it may still exist and do not count as dropped."""

    subject: str
    reason: str
    prefix: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", redacted(self.reason))


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    """A column. `kind` is its type in the catalog's model without the suffix, such as `Number` or
    `Record`; `native_type` is the source's own. A column that `is_nested` is a field of a struct:
    its path is dotted, and it follows the struct."""

    path: str
    native_type: str
    kind: str
    is_nullable: bool = True
    description: str | None = None
    is_partition_key: bool = False
    is_nested: bool = False


@dataclass(frozen=True, slots=True)
class ForeignKeyDefinition:
    """A foreign key: columns that refer to those of another table, given by its full path."""

    name: str
    columns: tuple[str, ...]
    table: tuple[str, ...]
    foreign_columns: tuple[str, ...]


@dataclass(slots=True)
class TableDefinition:
    """A table or view as the source describes it.

    `path` has the names from the outermost container to the table. `subtype` is the platform's term
    for it. `columns` is `None` if they could not be read. `definition` is the SQL of a view.
    `field_profiles` are the profiles of its columns, computed from `sampled_rows` rows or, if that
    is `None`, from all.
    """

    path: tuple[str, ...]
    subtype: str = "Table"
    columns: Sequence[ColumnDefinition] | None = ()
    description: str | None = None
    definition: str | None = None
    is_materialized: bool = False
    primary_key: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKeyDefinition, ...] = ()
    row_count: int | None = None
    size_bytes: int | None = None
    field_profiles: Sequence[Mapping[str, Any]] = ()
    sampled_rows: int | None = None
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The names of the columns in SQL, without the fields of structs."""
        return [column.path for column in self.columns or () if not column.is_nested]


@dataclass(slots=True)
class Inventory:
    """Everything that a source contains at one time.

    The proposals of an entity are adjacent. `kinds` has counts for display by noun, such as `table`
    or `column`. An inventory that `is_supplement` adds to entities of other sources: it extends
    their lineage and hides nothing. `unread` has the aspects of an entity that could not be read;
    the catalog keeps its own.
    """

    proposals: list[Proposal] = field(default_factory=list)
    skipped: list[SkippedPart] = field(default_factory=list)
    kinds: dict[str, int] = field(default_factory=dict)
    is_supplement: bool = False
    unread: dict[Urn, set[str]] = field(default_factory=dict)

    def count(self, noun: str, number: int = 1) -> None:
        """Add to the count of a noun."""
        if number:
            self.kinds[noun] = self.kinds.get(noun, 0) + number


class Source(Protocol):
    """A place that metadata is read from.

    `kind` names the reader, such as `postgres` or `dbt`. `location` is where the source is, without
    secrets; the same source can be opened again from it. `default_name` is the name used if none is
    given.
    """

    @property
    def kind(self) -> str:
        """The name of the reader."""

    @property
    def location(self) -> str:
        """The location, without secrets."""

    @property
    def default_name(self) -> str:
        """The name used if none is given."""

    def read(self, progress: Progress) -> Inventory:
        """Return everything in the source.

        Raises a `CatalogError` if the source as a whole cannot be read; parts that cannot be read
        are listed in the inventory.
        """


def read_text(value: Any) -> str | None:
    """Return a text without surrounding white space, or `None` if it is empty or not a string."""
    return (value.strip() or None) if isinstance(value, str) else None
