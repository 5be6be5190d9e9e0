"""The kinds of columns, and what each platform calls them."""

from typing import NamedTuple

__all__ = ["DataType", "data_type"]

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
    """What a kind of column is; raises `KeyError` for a kind that is not declared."""
    return _KINDS[kind]
