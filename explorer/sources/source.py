"""The interface of sources and their results: tables or proposals, and the parts that could not be
read.

Tables become aspects with the URNs and containers that DataHub's connectors create. Descriptions of
a source contain no passwords.
"""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import md5
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from explorer.errors import InvalidUrn, Unreachable
from explorer.metadata.aspects import schema_value
from explorer.metadata.fieldpath import column_urn
from explorer.metadata.proposal import Proposal
from explorer.metadata.urn import Urn

if TYPE_CHECKING:
    from explorer.client import Catalog

Progress = Callable[[str, int, int | None], None]
"""A callback with what is being read, the number done, and the total, or `None` if unknown."""


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The options of a source besides its location.

    `env` is the environment in the URNs of its datasets, `instance` the platform instance that
    prefixes their names. `schemas` are patterns with `*` of the schemas to read; without any, all
    are read. `dialect` is the SQL dialect of a query log. `profile` turns on column profiling; with
    `values`, values that look personal are included. With `keyring`, a database's password is
    stored in this machine's keyring. `encoding` is the encoding of text files; if empty, it is
    detected. `patterns` match the names of files that are one table, such as `orders_*.csv`.
    """

    env: str = "PROD"
    instance: str | None = None
    schemas: tuple[str, ...] = ()
    dialect: str | None = None
    profile: bool = False
    values: bool = False
    keyring: bool = False
    encoding: str | None = None
    patterns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SkippedPart:
    """A part of a source that could not be read, and the reason, without secrets. If `prefix` is
    set, datasets whose names begin with it may still exist and do not count as dropped."""

    subject: str
    reason: str
    prefix: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", redact(self.reason))


@dataclass(frozen=True, slots=True)
class ColumnDefinition:
    """A column. `kind` is its type in the catalog's model without the suffix, such as `Number` or
    `Record`; `native_type` is its type in the source. If `is_nested` is set, it is a field of a
    struct: its path is dotted, and it follows the struct."""

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
    or `column`. `unread` has the aspects of an entity that could not be read; the catalog keeps its
    own. `notes` are sentences about things that were read from another place or in an unusual way.
    `patterns` are patterns for files that look like parts of one table; as options, each makes one
    table of them.
    """

    proposals: list[Proposal] = field(default_factory=list)
    skipped: list[SkippedPart] = field(default_factory=list)
    kinds: dict[str, int] = field(default_factory=dict)
    unread: dict[Urn, set[str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    patterns: list[str] = field(default_factory=list)

    def count(self, noun: str, number: int = 1) -> None:
        """Add to the count of a noun."""
        if number:
            self.kinds[noun] = self.kinds.get(noun, 0) + number


class WrongPassword(Unreachable):
    """The source refused the user or the password; the user can be asked for another."""


class Stopped(BaseException):
    """The user stopped reading; the callback for progress raises this."""


@dataclass(frozen=True, slots=True)
class Location:
    """The location of a source, as a user gives it: a `path` to a file or folder that exists, or
    else a URL in `text`. `start` has the first bytes of a file."""

    text: str
    path: Path | None = None
    start: bytes = b""

    @property
    def scheme(self) -> str:
        """The scheme of a URL in lower case; empty for a path."""
        return "" if self.path is not None else self.text.partition("://")[0].lower()

    @property
    def folder(self) -> Path | None:
        """The path, if it is a folder's."""
        return self.path if self.path is not None and self.path.is_dir() else None

    @property
    def file(self) -> Path | None:
        """The path, if it is a file's."""
        return self.path if self.path is not None and not self.path.is_dir() else None


@dataclass(frozen=True, slots=True)
class LocalSource:
    """A source found on this machine: its location, how it was recognised, and its password, if
    that was found too."""

    location: str
    known_from: str
    password: str | None = field(default=None, repr=False)


class Source(ABC):
    """A place that metadata is read from. A subclass is one kind of source, and all that a source
    needs: `catalog add`, the terminal and `cat.add` find it by an entry point, in the
    `pyproject.toml` of its package:

        [project.entry-points."catalog_explorer.sources"]
        fieldbook = "catalog_fieldbook:Fieldbook"

    `open` is asked what is at a location. Of two sources from different packages that take one
    location neither is used, and the error names both; those of this package are asked last. Import
    what is slow to import inside `open` and `read`, since every source is asked.

    An error that people can do something about is a `CatalogError`, whose text says what to do:
    `InvalidInput` for a location or option that cannot be used, `InvalidFile`, `Unreachable`,
    `WrongPassword` where one can be asked for, `Misconfigured` for what has to be installed. Any
    other is shown with the name of the package.
    """

    is_supplement: ClassVar[bool] = False
    """Whether it only adds to entities of other sources, as a log of queries does: it extends their
    lineage, writes their usage, and hides nothing."""

    shares_datasets: ClassVar[bool] = False
    """Whether its datasets may come from other sources as well. Else a run is refused that has a
    dataset of another source."""

    @classmethod
    def open(cls, location: Location, options: SourceOptions, password: str | None) -> Self | None:
        """Return the source at a location, or `None` if another kind of source is there. At most
        the beginning of a file is read. `password` was entered at a prompt.

        Raises `InvalidInput` if the location is of this kind but cannot be used.
        """
        del location, options, password
        return None

    @classmethod
    def find(cls, file: Location, folder: Path) -> LocalSource | None:
        """Return the source to offer for a file in the user's working folder or one level below, or
        `None`. The file is not read further."""
        del file, folder
        return None

    @property
    @abstractmethod
    def kind(self) -> str:
        """The name of the reader, such as `postgres` or `dbt`."""

    @property
    @abstractmethod
    def location(self) -> str:
        """The location, without secrets, from which `open` returns the same source."""

    @property
    @abstractmethod
    def default_name(self) -> str:
        """The name of the source if the user gives none."""

    @abstractmethod
    def read(self, progress: Progress) -> Inventory:
        """Return everything in the source as proposals: tables (see `DatasetWriter`), lineage (see
        `lineage_aspect`), usage and any other aspect.

        `progress` is called often. It raises `Stopped` if the user stops the work; do not catch
        this, but close everything that was opened.

        Raises a `CatalogError` if the source as a whole cannot be read; parts that cannot be read
        are listed in the inventory.
        """

    def read_for(self, catalog: "Catalog", progress: Progress) -> Inventory:
        """Return the inventory for a catalog; by default the result of `read`. Overridden by
        sources that need data from the catalog."""
        del catalog
        return self.read(progress)

    @property
    def contains_secret(self) -> bool:
        """Whether the source was opened with a secret that `location` leaves out."""
        return False

    @property
    def needs_password(self) -> bool:
        """Whether the source needs a password to be read."""
        return False

    @property
    def has_password(self) -> bool:
        """Whether a password is known."""
        return False

    def keep_password(self) -> bool:
        """Store the password in the keyring if the options ask for it, and return whether one was
        stored."""
        return False

    def forget_password(self) -> None:
        """Remove the password from the keyring if the options say that it is stored there."""
        return


def read_text(value: Any) -> str | None:
    """Return a text without surrounding white space, or `None` if it is empty or not a string."""
    return (value.strip() or None) if isinstance(value, str) else None


STATEMENTS: Final = "statements"
"""The property in the system metadata of a usage bucket that identifies the statements counted in
it: a bucket of the same statements is not counted twice."""

_SCHEMA: Final = "com.linkedin.schema."
_UNKNOWN_STAMP: Final = {"time": 0, "actor": "urn:li:corpuser:unknown"}
_MOST_VIEW_BYTES: Final = 1 << 20
_VIEWS: Final = frozenset(("View", "Materialized View"))


@dataclass(frozen=True, slots=True)
class Level:
    """A level of containers: its key in DataHub's container keys, and its subtype."""

    key: str
    subtype: str


DATABASE: Final = Level("database", "Database")
SCHEMA: Final = Level("schema", "Schema")
BUCKET: Final = Level("bucket_name", "Bucket")
FOLDER: Final = Level("folder_abs_path", "Folder")


@dataclass(frozen=True, slots=True)
class ColumnSources:
    """The upstream columns of one column, as (dataset, path)."""

    column: str
    upstreams: tuple[tuple[Urn, str], ...]


def column_aspect(column: ColumnDefinition, *, is_key: bool = False, **more: Any) -> dict[str, Any]:
    """Return a field of `schemaMetadata` for a column; `more` are further entries of the field."""
    value: dict[str, Any] = {
        "fieldPath": column.path,
        "nullable": column.is_nullable,
        "type": {"type": {f"{_SCHEMA}{column.kind}Type": {}}},
        "nativeDataType": column.native_type,
        "recursive": False,
        "isPartOfKey": is_key,
    }
    if column.description:
        value["description"] = column.description
    if column.is_partition_key:
        value["isPartitioningKey"] = True
    return value | {key: part for key, part in more.items() if part}


def _name_columns(table: TableDefinition) -> TableDefinition:
    return replace(
        table,
        columns=[column for column in table.columns or () if column.path],
        primary_key=tuple(filter(None, table.primary_key)),
        foreign_keys=tuple(key for key in table.foreign_keys if all(key.columns)),
    )


def lineage_aspect(
    dataset: Urn,
    upstreams: Iterable[Urn],
    columns: Iterable[ColumnSources] = (),
    kind: str = "VIEW",
) -> dict[str, Any]:
    """Return an `upstreamLineage` aspect, with upstreams and columns in the given order."""
    value: dict[str, Any] = {
        "upstreams": [
            {"auditStamp": _UNKNOWN_STAMP, "dataset": str(upstream), "type": kind}
            for upstream in dict.fromkeys(upstreams)
        ]
    }
    fine = [
        {
            "upstreamType": "FIELD_SET",
            "upstreams": [column_urn(urn, path) for urn, path in column.upstreams],
            "downstreamType": "FIELD",
            "downstreams": [column_urn(dataset, column.column)],
            "confidenceScore": 1.0,
        }
        for column in columns
        if column.upstreams
    ]
    return value | ({"fineGrainedLineages": fine} if fine else {})


@dataclass(slots=True)
class DatasetWriter:
    """Creates the proposals of tables and of their containers.

    `levels` are the levels of containers, outermost first. `delimiter` separates the parts of a
    dataset's name.
    """

    platform: str
    options: SourceOptions
    levels: Sequence[Level] = (DATABASE, SCHEMA)
    delimiter: str = "."
    inventory: Inventory = field(default_factory=Inventory)
    _containers: set[tuple[str, ...]] = field(default_factory=set)

    def dataset(self, path: Sequence[str]) -> Urn:
        """Return the URN of the table with a path."""
        parts = (self.options.instance, *path) if self.options.instance else path
        name = self.delimiter.join(_in_urn(part) for part in parts)
        return Urn.dataset(self.platform, name, self.options.env)

    def prefix(self, path: Sequence[str]) -> str:
        """Return the common prefix of the names of all datasets in a container."""
        return self.dataset((*path, "")).name

    def container(self, path: Sequence[str]) -> Urn:
        """Return the URN of a container, with the id that DataHub's connectors give it."""
        return Urn.of("container", datahub_guid(self._key(path)))

    def add(
        self,
        table: TableDefinition,
        *,
        upstreams: Sequence[Urn] = (),
        columns: Iterable[ColumnSources] = (),
    ) -> None:
        """Add the proposals of a table to the inventory, preceded by those of new containers. A
        table whose name is not valid in a URN is skipped, and so is a column without a name."""
        try:
            Urn.parse(str(self.dataset(table.path))).check_characters()
        except InvalidUrn as error:
            self.inventory.skipped.append(SkippedPart(self.delimiter.join(table.path), str(error)))
            return
        if not all(column.path for column in table.columns or ()):
            subject = self.delimiter.join(table.path)
            self.inventory.skipped.append(SkippedPart(subject, "it has a column without a name"))
            table = _name_columns(table)
        for depth in range(1, len(table.path)):
            self.add_container(table.path[:depth])
        self.inventory.proposals += self._table(table, upstreams, columns)
        unread = {"schemaMetadata"} if table.columns is None else set()
        if table.subtype in _VIEWS and not table.definition:
            # Every view has a definition, so a missing one could not be read.
            unread |= {"viewProperties", "upstreamLineage"}
        if unread:
            self.inventory.unread[self.dataset(table.path)] = unread
        self.inventory.count(table.subtype.lower())
        self.inventory.count("column", len(table.columns or ()))

    def add_container(self, path: tuple[str, ...], description: str | None = None) -> None:
        """Add a container to the inventory unless it was added before."""
        if path in self._containers:
            return
        self._containers.add(path)
        level = self.levels[min(len(path), len(self.levels)) - 1]
        urn, key = self.container(path), self._key(path)
        properties = {
            "customProperties": {**key, "env": self.options.env},
            "name": path[-1],
            "qualifiedName": self.delimiter.join(path),
            "env": self.options.env,
        }
        if description:
            properties["description"] = description
        aspects = {
            "containerProperties": properties,
            **self._add_place(path[:-1]),
            "subTypes": {"typeNames": [level.subtype]},
            "status": {"removed": False},
        }
        self.inventory.proposals += (Proposal(urn, name, value) for name, value in aspects.items())
        self.inventory.count(level.subtype.lower())

    def _key(self, path: Sequence[str]) -> dict[str, str]:
        instance = self.options.instance or self.options.env
        names = dict(zip((level.key for level in self.levels), path, strict=False))
        if self.levels[-1] is FOLDER and len(path) >= len(self.levels):
            # Folders can be nested to any depth, so the key has the whole path.
            names[self.levels[-1].key] = self.delimiter.join(path)
        return {"platform": self.platform, "instance": instance, **names}

    def _add_place(self, above: tuple[str, ...]) -> dict[str, Any]:
        """Return the aspects with the platform and the containers of an entity."""
        platform: dict[str, Any] = {"platform": f"urn:li:dataPlatform:{self.platform}"}
        steps = []
        if self.options.instance:
            instance_key = f"(urn:li:dataPlatform:{self.platform},{self.options.instance})"
            platform["instance"] = f"urn:li:dataPlatformInstance:{instance_key}"
            steps.append({"id": platform["instance"], "urn": platform["instance"]})
        holders = [str(self.container(above[:depth])) for depth in range(1, len(above) + 1)]
        steps += [{"id": holder, "urn": holder} for holder in holders]
        aspects: dict[str, Any] = {"dataPlatformInstance": platform}
        if holders:
            aspects["container"] = {"container": holders[-1]}
        return aspects | {"browsePathsV2": {"path": steps}}

    def _table(
        self, table: TableDefinition, upstreams: Sequence[Urn], columns: Iterable[ColumnSources]
    ) -> Iterator[Proposal]:
        urn = self.dataset(table.path)
        properties: dict[str, Any] = {
            "customProperties": dict(table.properties),
            "name": table.path[-1],
            "qualifiedName": self.delimiter.join(table.path),
            "tags": [],
        }
        if table.description:
            properties["description"] = table.description
        aspects: dict[str, Any] = {
            "datasetProperties": properties,
            **({"schemaMetadata": self._schema(table)} if table.columns is not None else {}),
            **self._add_place(table.path[:-1]),
            "subTypes": {"typeNames": [table.subtype]},
            "status": {"removed": False},
        }
        if table.definition:
            aspects["viewProperties"] = {
                "materialized": table.is_materialized,
                "viewLogic": table.definition[:_MOST_VIEW_BYTES],
                "viewLanguage": "SQL",
            }
        if upstreams:
            aspects["upstreamLineage"] = lineage_aspect(urn, upstreams, columns)
        if table.field_profiles or table.row_count is not None or table.size_bytes is not None:
            aspects["datasetProfile"] = _profile(table)
        for name, value in aspects.items():
            yield Proposal(urn, name, value)

    def _schema(self, table: TableDefinition) -> dict[str, Any]:
        listed = table.columns or ()
        value = schema_value(
            self.delimiter.join(table.path),
            f"urn:li:dataPlatform:{self.platform}",
            [
                column_aspect(definition, is_key=definition.path in table.primary_key)
                for definition in listed
            ],
        )
        if table.primary_key:
            value["primaryKeys"] = list(table.primary_key)
        if table.foreign_keys:
            own = self.dataset(table.path)
            value["foreignKeys"] = [
                {
                    "name": key.name,
                    "sourceFields": [column_urn(own, path) for path in key.columns],
                    "foreignDataset": str(self.dataset(key.table)),
                    "foreignFields": [
                        column_urn(self.dataset(key.table), path) for path in key.foreign_columns
                    ],
                }
                for key in table.foreign_keys
            ]
        return value


def _profile(table: TableDefinition) -> dict[str, Any]:
    """Return a profile without its time, which the run sets."""
    counts = {
        "rowCount": table.row_count,
        "columnCount": None if table.columns is None else len(table.columns),
        "sizeInBytes": table.size_bytes,
    }
    profile: dict[str, Any] = {name: count for name, count in counts.items() if count is not None}
    if table.field_profiles:
        profile["fieldProfiles"] = list(table.field_profiles)
    if table.sampled_rows is not None:
        # The profile is of the whole table, computed from a sample of its rows.
        part = f"SAMPLE ({table.sampled_rows:,} rows)"
        profile["partitionSpec"] = {"type": "FULL_TABLE", "partition": part}
    return profile


# The characters that DataHub's connectors encode in a name.
_RESERVED: Final = str.maketrans({"(": "%28", ")": "%29", ",": "%2C", "␟": "%E2%90%9F"})


def _in_urn(part: str) -> str:
    return part.translate(_RESERVED)


def datahub_guid(key: Mapping[str, str]) -> str:
    """Return the id that DataHub computes from the key of a container or assertion."""
    text = json.dumps(key, separators=(",", ":"), sort_keys=True)
    return md5(text.encode(), usedforsecurity=False).hexdigest()


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


def redact(text: str) -> str:
    """Return a message of a source or its driver without passwords, rows and values."""
    for pattern, instead in _SECRETS:
        text = pattern.sub(instead, text)
    return text


SECRET_NAME: Final = re.compile(r"pass|pwd|secret|token|key|credential", re.IGNORECASE)
"""Matches the names of settings that are secrets."""

_VARIABLE: Final = re.compile(r"\{?\$\{\w+\}\}?")
# Settings within a parameter of a URL, as in ODBC's `DRIVER={…};UID=…;PWD={…}`.
_SETTING: Final = re.compile(r"\s*([^=;]*)=\s*(\{(?:[^}]|\}\})*(?:\}|$)|[^;]*);?")


def open_value(name: str, value: str) -> str | None:
    """Return a parameter of a connection URL without the secrets in it, or `None` if the value
    itself is a secret. A reference to an environment variable, `${NAME}`, is not a secret."""
    if _VARIABLE.fullmatch(value):
        return value
    if SECRET_NAME.search(name):
        return None

    def without_secret(setting: re.Match[str]) -> str:
        is_open = not SECRET_NAME.search(setting[1]) or _VARIABLE.fullmatch(setting[2].strip())
        return setting[0] if is_open else ""

    setting_text = _SETTING.sub(without_secret, value)
    return setting_text if redact(setting_text) == setting_text else None
