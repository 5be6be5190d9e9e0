"""What every source gives: the tables it has found, or proposals of its own, and what it could not
read."""

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
    # The user's part of an address.
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
    # Rows and values that databases show of what they could not read.
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
    """Return what a source or its driver says without passwords, and without rows and values."""
    for pattern, instead in _SECRETS:
        text = pattern.sub(instead, text)
    return text


Progress = Callable[[str, int, int | None], None]
"""Is told what is read, how many of it are done, and of how many; None where that is not known."""


SECRET_NAME: Final = re.compile(r"pass|pwd|secret|token|key|credential", re.IGNORECASE)
"""What the names of settings have in them that are secrets."""

_VARIABLE: Final = re.compile(r"\{?\$\{\w+\}\}?")
# The settings in one of the values of an address: ODBC's `DRIVER={…};UID=…;PWD={…}`.
_SETTING: Final = re.compile(r"\s*([^=;]*)=\s*(\{(?:[^}]|\}\})*(?:\}|$)|[^;]*);?")


def open_value(name: str, value: str) -> str | None:
    """Return a parameter of an address without the secrets in it, None where it is one; the name of
    a variable, `${NAME}`, is none."""
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
    """What may be said of a source beside where it is.

    `env` is the environment in the URNs of its datasets, `instance` the platform instance that
    stands before their names; `schemas` are patterns with `*` of the schemas that are read, all
    without one. `dialect` is that of a log of queries. `profile` asks for what columns hold;
    `values` for values of those too that look personal. With `keyring` a database's password is
    kept in this machine's keyring.
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
    """What a source has and could not be read, and why, without secrets. Where `prefix` is set,
    datasets whose name begins so may still be there: they are not taken for dropped."""

    subject: str
    reason: str
    prefix: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", redacted(self.reason))


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
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
class ForeignKeyDefinition:
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
    `field_profiles` says what its columns hold, out of `sampled_rows` where not out of all.
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
        """The names of the columns as SQL has them, without fields of structs."""
        return [column.path for column in self.columns or () if not column.is_nested]


@dataclass(slots=True)
class Inventory:
    """All that a source has at one moment.

    The proposals of one entity stand together. `kinds` counts what a person would list, `table`
    or `column`, by its noun. One that `is_supplement` says more of entities that other sources
    brought: it adds to their lineage and hides nothing. `unread` are the aspects of an entity that
    could not be read: what the catalog has of them stays.
    """

    proposals: list[Proposal] = field(default_factory=list)
    skipped: list[SkippedPart] = field(default_factory=list)
    kinds: dict[str, int] = field(default_factory=dict)
    is_supplement: bool = False
    unread: dict[Urn, set[str]] = field(default_factory=dict)

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
