"""The declared tables, their columns and types, and the days and changes they are written as."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cached_property
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from explorer.metadata import Urn

__all__ = [
    "HISTORY_DAYS",
    "AspectEdit",
    "Changes",
    "Days",
    "SampleColumn",
    "SampleTable",
    "audit_stamp",
    "data_type",
    "user",
    "with_field_paths",
]

# `avro` is the type name in a v2 field path, whatever the platform.
_TABLE = """
kind     type     avro     postgres       snowflake      kafka             s3             dbt
id       Number   long     bigint         NUMBER(38,0)   long              int64          bigint
int      Number   int      integer        NUMBER(10,0)   int               int32          integer
money    Number   bytes    numeric(12,2)  NUMBER(12,2)   bytes(decimal)    decimal(12,2)  numeric
float    Number   double   float8         FLOAT          double            double         float8
share    Number   double   numeric(6,4)   NUMBER(6,4)    double            double         numeric
text     String   string   text           VARCHAR        string            string         text
code     String   string   varchar(32)    VARCHAR(32)    string            string         text
iso2     String   string   char(2)        VARCHAR(2)     string            string         text
iso3     String   string   char(3)        VARCHAR(3)     string            string         text
hash     String   string   char(64)       VARCHAR(64)    string            string         text
uuid     String   string   uuid           VARCHAR(36)    string(uuid)      string         text
enum     Enum     enum     enum           VARCHAR        enum              string         text
bool     Boolean  boolean  boolean        BOOLEAN        boolean           boolean        boolean
date     Date     int      date           DATE           int(date)         date           date
time     Time     int      time           TIME           int(time-millis)  time           time
ts       Time     long     timestamptz    TIMESTAMP_NTZ  timestamp-millis  timestamp      timestamp
json     Map      map      jsonb          VARIANT        map               map            json
map      Map      map      jsonb          VARIANT        map<string>       map            json
list     Array    array    text[]         ARRAY          array<string>     array<string>  text[]
record   Record   record   composite      OBJECT         record            struct         record
records  Array    array    composite[]    ARRAY          array<record>     array<struct>  record[]
union    Union    union    jsonb          VARIANT        union             struct         json
"""


class DataType(NamedTuple):
    """A kind: the catalog's type record, the name in v2 paths, and the native name by platform."""

    record: str
    avro: str
    native: dict[str, str]


def _read() -> dict[str, DataType]:
    head, *rows = (line.split() for line in _TABLE.strip().splitlines())
    platforms = head[3:]
    return {
        kind: DataType(
            f"com.linkedin.schema.{name}Type", avro, dict(zip(platforms, native, strict=True))
        )
        for kind, name, avro, *native in rows
    }


_KINDS = _read()


def data_type(kind: str) -> DataType:
    """Return what a kind of column is; raises `KeyError` for a kind that is not declared."""
    return _KINDS[kind]


class AspectEdit(NamedTuple):
    """An aspect's value, and who wrote it where that was a person."""

    urn: Urn
    aspect: str
    value: dict[str, Any]
    actor: str | None = None


Changes = Iterator[AspectEdit]


def user(username: str) -> str:
    """Return the URN of a user, as text."""
    return f"urn:li:corpuser:{username}"


def audit_stamp(time_millis: int, actor: str) -> dict[str, Any]:
    """Return an audit stamp; `actor` is the URN of a user."""
    return {"time": time_millis, "actor": actor}


DAY_MILLIS = 86_400_000
_EPOCH = date(1970, 1, 1).toordinal()

HISTORY_DAYS = 30
"""How many days of usage and profiles there are, the last one included."""


@dataclass(frozen=True, slots=True)
class Days:
    """Days before `today`, in UTC. Nothing in the sample is later than `today`'s first moment."""

    today: date

    def on(self, ago: int) -> date:
        """Return the day that many days before today."""
        return self.today - timedelta(days=ago)

    def millis(self, ago: int = 0) -> int:
        """Return the first moment of that day, in milliseconds since 1970."""
        return (self.today.toordinal() - _EPOCH - ago) * DAY_MILLIS

    def history(self) -> range:
        """Return the days of the history as days ago, oldest first: 29 … 0."""
        return range(HISTORY_DAYS - 1, -1, -1)


class SampleColumn(msgspec.Struct, frozen=True):
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
class SampleTable:
    """A dataset as declared. Texts are empty where there is none; `rows` are those of the last
    day and the growth a day, none for a table that is not profiled."""

    platform: str
    name: str
    columns: tuple[SampleColumn, ...]
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
    def by_name(self) -> dict[str, SampleColumn]:
        """Its columns by declared name."""
        return {column.name: column for column in self.columns}

    def field_urn(self, column: SampleColumn) -> str:
        """Return the URN of one of its columns, as text."""
        return str(Urn.of("schemaField", self.urn, column.field_path))


_VERSION = "[version=2.0]"


def with_field_paths(
    platform: str, record: str, columns: Iterable[SampleColumn]
) -> tuple[SampleColumn, ...]:
    """Return the columns with the field paths their platform's schemas have.

    A topic's paths carry the names of its Avro records, those of files say `struct`. A column
    stands after the record that holds it.
    """
    if platform not in ("kafka", "s3"):
        return tuple(replace(column, field_path=column.name) for column in columns)
    root = record or "struct"
    paths = {
        (False, ""): f"{_VERSION}.[type={root}]",
        (True, ""): f"{_VERSION}.[key=True].[type={root}Key]",
    }
    found: list[SampleColumn] = []
    for column in columns:
        parent, _, leaf = column.name.rpartition(".")
        name, _, member = leaf.partition("#")
        annotation = f"[type=union].[type={member}]" if member else _annotation(column)
        path = f"{paths[column.in_key, parent]}.{annotation}.{name}"
        paths[column.in_key, column.name] = path
        found.append(replace(column, field_path=path))
    return tuple(found)


def _annotation(column: SampleColumn) -> str:
    record = column.record or "struct"
    match column.kind:
        case "record":
            return f"[type={record}]"
        case "records":
            return f"[type=array].[type={record}]"
        case "list":
            return "[type=array].[type=string]"
        case "map" | "json":
            return "[type=map].[type=string]"
        case kind:
            return f"[type={data_type(kind).avro}]"
