"""The types of columns in databases have the types that the catalog's model has for them."""

import datetime as dt
import inspect
import uuid
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from sqlalchemy import types
from sqlalchemy.dialects import mssql, mysql, oracle, postgresql, sqlite
from sqlalchemy.types import TypeEngine

from explorer.sources.database import _model_type
from explorer.sources.location import open_source
from explorer.sources.source import SourceOptions
from tests.sources.conftest import aspects_of, columns_of, execute, quiet

# Classes that no column has.
_NO_TYPES = {
    *("AbstractMultiRange", "AbstractRange", "AbstractSingleRange", "NamedType", "TypeDecorator"),
    *("TypeEngine", "UserDefinedType", "Variant", "_Binary"),
}
# Types that cannot be made without arguments.
_MADE: dict[str, TypeEngine[Any]] = {
    "ARRAY": types.ARRAY(types.Integer),
    "DOMAIN": postgresql.DOMAIN("percent", types.Float()),
    "ENUM": types.Enum("a", "b", name="letters"),
    "TupleType": types.TupleType(types.Integer()),
}
_RANGES = {
    *("DATERANGE", "INT4RANGE", "INT8RANGE", "NUMRANGE", "TSRANGE", "TSTZRANGE"),
    *("DATEMULTIRANGE", "INT4MULTIRANGE", "INT8MULTIRANGE", "NUMMULTIRANGE"),
    *("TSMULTIRANGE", "TSTZMULTIRANGE"),
}
_OF_PYTHON = {
    bool: {"Boolean"},
    int: {"Number"},
    float: {"Number"},
    Decimal: {"Number"},
    bytes: {"Bytes"},
    str: {"String", "Enum"},
    uuid.UUID: {"String"},
    list: {"Array"},
    dict: {"Record"},
    dt.date: {"Date"},
    dt.time: {"Time"},
    dt.datetime: {"Time"},
    dt.timedelta: {"Time"},
}


def _types_in(module: ModuleType) -> Iterator[tuple[str, TypeEngine[Any]]]:
    for name in sorted(dir(module)):
        kind = getattr(module, name)
        if name in _NO_TYPES or not (inspect.isclass(kind) and issubclass(kind, TypeEngine)):
            continue
        yield name, _MADE[name] if name in _MADE else kind()


@pytest.mark.parametrize("module", [types, postgresql, sqlite, mysql, oracle, mssql])
def test_every_type_of_sqlalchemy_has_a_type_in_the_model(module: ModuleType) -> None:
    unknown: set[str] = set()
    for name, kind in _types_in(module):
        found = _model_type(kind)
        if found == "Null":
            unknown.add(name)
            continue
        try:
            python_type = kind.python_type
        except NotImplementedError:
            continue
        assert found in _OF_PYTHON.get(python_type, {found}), f"{name} is {found}"
    assert unknown <= {"NullType", "TupleType", "SQL_VARIANT"} | _RANGES


def test_columns_of_floating_point_numbers_are_numbers(tmp_path: Path) -> None:
    path = tmp_path / "st.sqlite"
    execute(path, "create table t (price real, f float, d double, p double precision)")
    found = open_source(str(path), SourceOptions()).read(quiet)
    assert columns_of(aspects_of(found.proposals, "st.t")["schemaMetadata"]) == [
        ("price", "REAL", "Number", True),
        ("f", "float", "Number", True),
        ("d", "double", "Number", True),
        ("p", "double precision", "Number", True),
    ]


def test_a_decorated_type_has_the_type_of_what_it_decorates() -> None:
    class Cents(types.TypeDecorator[int]):
        impl = types.SmallInteger
        cache_ok = True

    assert _model_type(Cents()) == "Number"
    assert _model_type(types.PickleType()) == "Bytes"


def test_a_row_version_is_bytes_although_it_is_called_timestamp() -> None:
    assert _model_type(mssql.TIMESTAMP()) == "Bytes"
    assert _model_type(mysql.TIMESTAMP()) == "Time"
