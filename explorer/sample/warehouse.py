"""The declared tables, read from the text files, with their columns, types and shared texts; and
the dates and edits that all parts of the sample use.

Columns with the same name share a description. Much used columns without a description of their own
are left undocumented, so that a worklist has something to put first.

The notation of the declared tables, one text block a table:

    @ snowflake analytics.marts        a section: platform and the folders of its tables
    @owners team-orders/DATAOWNER      what every table of the section has unless it says otherwise
    == fct_orders                      a table: its last name
    about: Orders, **one row an order**.
        A longer text goes on indented; its lines are joined into paragraphs.
    from: stg_orders, int_order_payments
    --                                 columns from here on
    order_id id pk <stg_orders.order_id {d u} | The ingested text. || The edited text.

Marks of a column: `pk` key, `!` never empty, `hot` much used, `+` new in the latest version,
`#Tag @Term` ingested, `##Tag @@Term` edited, `<source`, `->table.column` foreign key, `{values}`
for `explorer.sample.timeseries`. `orders_[7d,30d]` stands for several columns.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import cached_property
from importlib import resources
from typing import Any, NamedTuple
from zlib import crc32

import msgspec
from msgspec import structs

from explorer.errors import InvalidInput
from explorer.metadata import Urn

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
    """A data type: the catalog's type record, its name in v2 field paths, and its native name by
    platform."""

    record: str
    avro: str
    native: dict[str, str]


def _data_types() -> dict[str, DataType]:
    head, *rows = (line.split() for line in _TABLE.strip().splitlines())
    platforms = head[3:]
    return {
        kind: DataType(
            f"com.linkedin.schema.{name}Type", avro, dict(zip(platforms, native, strict=True))
        )
        for kind, name, avro, *native in rows
    }


_KINDS = _data_types()


def data_type(kind: str) -> DataType:
    """Return the data type with a name; raises `KeyError` if it is not declared."""
    return _KINDS[kind]


class AspectEdit(NamedTuple):
    """The value of an aspect, and the person who wrote it, if any."""

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
    """Converts numbers of days before `today` to dates, in UTC. Nothing in the sample is later than
    the first moment of `today`."""

    today: date

    def on(self, ago: int) -> date:
        """Return the date `ago` days before today."""
        return self.today - timedelta(days=ago)

    def millis(self, ago: int = 0) -> int:
        """Return the first moment of the day `ago` days before today, in milliseconds since
        1970."""
        return (self.today.toordinal() - _EPOCH - ago) * DAY_MILLIS

    def history(self) -> range:
        """Return the days of the history as numbers of days ago, oldest first: 29 … 0."""
        return range(HISTORY_DAYS - 1, -1, -1)


class SampleColumn(msgspec.Struct, frozen=True):
    """A column. `name` is dotted (`shipping.address.zip`), with `#` before a union's member;
    `field_path` is its path in the catalog's schema. `sources` and `refers` are names as
    declared."""

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
    """A dataset as declared. Missing texts are empty; `rows` has the row count of the last day and
    the daily growth, and is `None` for a table that is not profiled."""

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
        """The delimiter of the folders in the name."""
        return "/" if self.platform == "s3" else "."

    @property
    def label(self) -> str:
        """The name without its folders; for a topic, the whole name."""
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
        """The table's columns by declared name."""
        return {column.name: column for column in self.columns}

    def field_urn(self, column: SampleColumn) -> str:
        """Return the URN of one of the table's columns, as text."""
        return str(Urn.of("schemaField", self.urn, column.field_path))


_VERSION = "[version=2.0]"


def with_field_paths(
    platform: str, record: str, columns: Iterable[SampleColumn]
) -> tuple[SampleColumn, ...]:
    """Return the columns with field paths in the form of their platform's schemas.

    Paths of topics contain the names of Avro records, those of files `struct`. A column comes after
    the record that contains it.
    """
    if platform not in ("kafka", "s3"):
        return tuple(structs.replace(column, field_path=column.name) for column in columns)
    root = record or "struct"
    paths = {
        (False, ""): f"{_VERSION}.[type={root}]",
        (True, ""): f"{_VERSION}.[key=True].[type={root}Key]",
    }
    columns_with_paths: list[SampleColumn] = []
    for column in columns:
        parent, _, leaf = column.name.rpartition(".")
        name, _, member = leaf.partition("#")
        annotation = f"[type=union].[type={member}]" if member else _annotation(column)
        path = f"{paths[column.in_key, parent]}.{annotation}.{name}"
        paths[column.in_key, column.name] = path
        columns_with_paths.append(structs.replace(column, field_path=path))
    return tuple(columns_with_paths)


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


_VALUES = re.compile(r"\{([^}]*)\}")
_SEVERAL = re.compile(r"\[([^\]]*)\]")
_OWN_LINE = re.compile(r"[-*>|]|\d+\. ")

_PERIODS = {
    "7d": "in the last 7 days",
    "30d": "in the last 30 days",
    "90d": "in the last 90 days",
    "365d": "in the last 365 days",
    "total": "since the first order",
}


@dataclass(slots=True)
class _Block:
    platform: str
    folders: str
    name: str
    heads: dict[str, list[str]]
    columns: list[str] = field(default_factory=list)


def rows(text: str) -> Iterator[list[str]]:
    """Yield the rows of a text table whose cells are separated by bars, as lists of stripped cells,
    without comments and blank lines."""
    for line in text.splitlines():
        if line.strip() and not line.startswith("# "):
            yield [cell.strip() for cell in line.split("|")]


def read_tables(text: str) -> list[SampleTable]:
    """Return the tables declared in a text, in order. Raises `InvalidInput`, which names the
    line."""
    tables: dict[str, SampleTable] = {}
    for block in _blocks(text):
        table = _table(block, tables)
        tables[table.label] = table
    return list(tables.values())


def _blocks(text: str) -> Iterator[_Block]:
    platform = folders = ""
    defaults: dict[str, list[str]] = {}
    block: _Block | None = None
    own: set[str] = set()
    last: list[str] = []
    in_columns = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("@ "):
            platform, _, folders = line[2:].partition(" ")
            defaults = {}
        elif line.startswith("@"):
            key, _, value = line[1:].partition(" ")
            defaults[key] = [value]
        elif line.startswith("== "):
            if block:
                yield block
            block = _Block(platform, folders, line[3:], dict(defaults))
            own = set()
            in_columns = False
        elif block is None or (in_columns and not line.strip()):
            continue
        elif line == "--":
            in_columns = True
        elif in_columns:
            block.columns.append(line)
        elif line.startswith("    ") or not line:
            last[-1] += f"\n{line[4:]}"
        else:
            key, colon, value = line.partition(":")
            if not colon:
                raise InvalidInput(f"line {number}: expected 'key: value', found {line!r}")
            if key not in own:
                block.heads[key] = []
                own.add(key)
            last = block.heads[key]
            last.append(value.strip())
    if block:
        yield block


def _table(block: _Block, before: dict[str, SampleTable]) -> SampleTable:
    def head(key: str) -> str:
        value = block.heads.get(key, [""])[0].strip()
        return "" if value == "none" else value

    delimiter = "/" if block.platform == "s3" else "."
    same = head("same")
    columns = before[same].columns if same else _columns(block)
    deprecated, _, replaced_by = head("deprecated").partition(" -> ")
    counts = [int(part) for part in head("rows").split()]
    return SampleTable(
        platform=block.platform,
        name=delimiter.join(part for part in (block.folders, block.name) if part),
        columns=columns,
        origin=head("origin") or "PROD",
        subtype=head("type"),
        record=head("record"),
        about=_fold(head("about")),
        edited=_fold(head("edited")),
        was=_fold(head("was")),
        owners=_owners(head("owners")),
        had=_owners(head("had")),
        tags=tuple(head("tags").split()),
        terms=tuple(head("terms").split()),
        domain=head("domain"),
        links=tuple(_pair(link, " | ") for link in block.heads.get("link", ())),
        props=dict(_pair(part, "=") for part in head("props").split("; ") if part),
        upstreams=tuple(part.strip() for part in head("from").split(",") if part.strip()),
        sql=head("sql"),
        rows=(counts[0], counts[1]) if counts else None,
        size_megabytes=int(head("size") or 0),
        deprecated=deprecated,
        replaced_by=replaced_by,
        removed=head("removed") == "yes",
        replicated=head("raw") == "yes",
    )


def _owners(text: str) -> tuple[tuple[str, str], ...]:
    return tuple(_pair(owner, "/") for owner in text.split())


def _pair(text: str, separator: str) -> tuple[str, str]:
    first, _, second = text.partition(separator)
    return first.strip(), second.strip()


def _fold(text: str) -> str:
    """Join lines into paragraphs; lists, tables, quotes and code keep their lines."""
    lines: list[str] = []
    fenced = False
    for line in text.strip("\n").split("\n"):
        fence = line.startswith("```")
        alone = fenced or fence or not line or _OWN_LINE.match(line)
        if alone or not lines or not lines[-1] or lines[-1].startswith(("|", "```")):
            lines.append(line)
        else:
            lines[-1] += f" {line.strip()}"
        fenced ^= fence
    return "\n".join(lines).strip()


def _columns(block: _Block) -> tuple[SampleColumn, ...]:
    columns = [column for line in block.columns for column in _expand(line)]
    record = block.heads.get("record", [""])[0].strip()
    return with_field_paths(block.platform, record, columns)


def _expand(line: str) -> Iterator[SampleColumn]:
    several = _SEVERAL.search(line.split(" ", 1)[0])
    if several is None:
        yield _column(line)
        return
    for name in several[1].split(","):
        column_line = line[: several.start()] + name + line[several.end() :]
        yield _column(column_line.replace("%", _PERIODS[name]))


def _column(line: str) -> SampleColumn:
    rest, _, edited = line.partition(" || ")
    declared, _, doc = rest.partition(" | ")
    values = _VALUES.search(declared)
    name, kind, *marks = _VALUES.sub("", declared).split()
    kind, _, record = kind.partition(":")
    in_key = name.startswith("key.")
    return SampleColumn(
        name=name.removeprefix("key."),
        kind=kind,
        record=record,
        in_key=in_key,
        key="pk" in marks,
        required="!" in marks or "pk" in marks,
        hot="hot" in marks,
        added="+" in marks,
        tags=_marks_with(marks, "#"),
        edited_tags=_marks_with(marks, "##"),
        terms=_marks_with(marks, "@"),
        edited_terms=_marks_with(marks, "@@"),
        sources=_marks_with(marks, "<"),
        refers="".join(_marks_with(marks, "->")),
        values=values[1] if values else "",
        doc=_unescape(doc),
        edited=_unescape(edited),
    )


def _marks_with(marks: list[str], sign: str) -> tuple[str, ...]:
    """Return the marks that begin with exactly this sign, without the sign."""
    return tuple(
        mark[len(sign) :]
        for mark in marks
        if mark.startswith(sign) and not mark.startswith(sign + sign[0])
    )


def _unescape(text: str) -> str:
    return text.strip().replace("\\n", "\n")


_LAYERS = {"postgres": "pg", "kafka": "topic", "s3": "s3", "dbt": "seeds"}

# Of a hundred columns without a text that could have a shared one, the number that get it:
# people who describe their table also describe its columns.
_DESCRIBED = 78
_UNDESCRIBED = 36
_UNOWNED = 12


class Phrases:
    """The shared descriptions of columns, by column name and layer."""

    def __init__(self, text: str) -> None:
        self._texts: dict[tuple[str, str], str] = {}
        for name, layers, phrase in rows(text):
            for layer in layers.split():
                self._texts.setdefault((name, layer), phrase)

    def fill(self, table: SampleTable) -> SampleTable:
        """Return the table with shared descriptions added to some of its columns without one."""
        layer = _LAYERS.get(table.platform) or table.folders[-1]
        return replace(table, columns=tuple(self._fill(table, layer)))

    def _fill(self, table: SampleTable, layer: str) -> Iterable[SampleColumn]:
        share = _UNOWNED if not table.owners else _DESCRIBED if table.about else _UNDESCRIBED
        for column in table.columns:
            phrase = self._texts.get((column.name, layer)) or self._texts.get((column.name, "*"))
            if phrase is None or column.doc or (column.hot and not column.key):
                yield column
            elif crc32(f"{table.name} {column.name}".encode()) % 100 < share:
                yield structs.replace(column, doc=phrase)
            else:
                yield column


_FILES = (
    "shop",
    "pim",
    "fulfilment",
    "payments",
    "crm",
    "events",
    "landing",
    "staging",
    "facts",
    "dimensions",
    "marts",
    "serving",
)

_SYSTEMS = {
    "shop": "order service",
    "pim": "product information system",
    "fulfilment": "warehouse management",
    "payments": "payment gateway",
    "crm": "customer care",
}


class Warehouse:
    """The declared tables, and their upstream tables."""

    def __init__(self, tables: list[SampleTable]) -> None:
        self.tables = tables
        self._by_name: dict[str, SampleTable] = {}
        for table in tables:
            if table.origin == "PROD":
                self._by_name[table.name] = table
                if table.name.startswith(("analytics.", "tarnwood.")):
                    self._by_name.setdefault(table.label, table)

    def __getitem__(self, name: str) -> SampleTable:
        """Return the table with a full name; a table of the warehouse can also be given by its last
        name."""
        table = self._by_name.get(name)
        if table is None:
            raise InvalidInput(f"no table named {name!r} is declared")
        return table

    def upstreams(self, table: SampleTable) -> list[tuple[Urn, SampleTable | None]]:
        """Return the upstream tables of a table, in the order declared, each with its URN. For an
        upstream that is only named, written `platform:name`, the table is `None`."""
        upstreams: list[tuple[Urn, SampleTable | None]] = []
        for name in table.upstreams:
            platform, colon, rest = name.partition(":")
            upstream = None if colon else self[name]
            upstreams.append((upstream.urn if upstream else Urn.dataset(platform, rest), upstream))
        return upstreams

    def sources(
        self, table: SampleTable, column: SampleColumn
    ) -> list[tuple[SampleTable, SampleColumn]]:
        """Return the source columns of a column: the declared ones or, without any, the column with
        the same name in the first upstream table that has it."""
        tables = [upstream for _, upstream in self.upstreams(table) if upstream]
        if column.sources:
            return [self._source(table, tables, source) for source in column.sources]
        for upstream in tables:
            if column.name in upstream.by_name:
                return [(upstream, upstream.by_name[column.name])]
        return []

    def column(self, name: str) -> tuple[SampleTable, SampleColumn]:
        """Return the column named `<table>.<column>`, both in full. Raises `InvalidInput` if there
        is none."""
        cut = name.rfind(".")
        while cut > 0:
            table = self._by_name.get(name[:cut])
            if table is not None and name[cut + 1 :] in table.by_name:
                return table, table.by_name[name[cut + 1 :]]
            cut = name.rfind(".", 0, cut)
        raise InvalidInput(f"no column named {name!r} is declared")

    def _source(
        self, table: SampleTable, tables: list[SampleTable], name: str
    ) -> tuple[SampleTable, SampleColumn]:
        for upstream in tables:
            if name in upstream.by_name:
                return upstream, upstream.by_name[name]
        origin, column = self.column(name)
        if origin not in tables:
            raise InvalidInput(f"{table.name} takes {name!r}, but not from one of its upstreams")
        return origin, column


def load_warehouse() -> Warehouse:
    """Read the declared tables; the tables of one layer are adjacent, sources first."""
    phrases = Phrases(read_data("phrases"))
    declared = {name: [phrases.fill(t) for t in read_tables(read_data(name))] for name in _FILES}
    tables = [table for name in _FILES[:7] for table in declared[name]]
    replicas = [_replica(table) for table in tables if table.replicated]
    rest = (table for name in _FILES[7:] for table in declared[name])
    return Warehouse([*tables, *replicas, *rest])


def read_data(name: str) -> str:
    """Return the text of one of the package's data files."""
    return resources.files("explorer.sample").joinpath("data", f"{name}.txt").read_text("utf-8")


def _replica(table: SampleTable) -> SampleTable:
    """Return the copy of a source table in the warehouse. Replication preserves names and types,
    but no documentation and tags."""
    schema = table.folders[0] if table.platform == "postgres" else table.folders[-1]
    streamed = table.platform == "postgres"
    loader = {"loader": "change data capture" if streamed else "copy into", "schedule": "daily"}
    return SampleTable(
        platform="snowflake",
        name=f"raw.{schema}.{table.label}",
        columns=tuple(_replicate(table, streamed)),
        subtype="Table",
        about=_about(table, schema) if table.about else "",
        owners=(("team-data-platform", "TECHNICAL_OWNER"),),
        domain=table.domain,
        tags=("CDC",) if streamed else (),
        props=loader | ({"schedule": "continuous"} if streamed else {}),
        upstreams=(table.name,),
    )


def _about(table: SampleTable, schema: str) -> str:
    system = _SYSTEMS.get(schema)
    if system is None:
        return f"Files of `{table.name}`, loaded once a day. Nothing is changed on the way."
    return (
        f"Replica of `{table.name}` from the {system}, about a minute behind. Deleted rows stay "
        f"with `_deleted = true`.\n\nFor analysis use `stg_{table.label}`."
    )


def _replicate(table: SampleTable, streamed: bool) -> Iterator[SampleColumn]:
    for column in table.columns:
        kind = "text" if column.kind == "enum" else column.kind
        yield SampleColumn(
            column.name, kind, field_path=column.name, key=column.key, required=column.key
        )
    loaded = SampleColumn("_loaded_at", "ts", field_path="_loaded_at", required=True)
    yield structs.replace(loaded, doc="When the row arrived in the warehouse, UTC.")
    if streamed:
        yield SampleColumn("_deleted", "bool", field_path="_deleted", required=True)
