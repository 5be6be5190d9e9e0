"""Real databases and files, made by the tests, and a served catalog that they are added to."""

import io
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import pytest

from explorer.cli import command as command_line
from explorer.client import Catalog
from explorer.metadata.proposal import Proposal
from tests.conftest import serving_catalog


class Ran:
    """What a command wrote and how it ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err

    def __repr__(self) -> str:
        return f"exit {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


class Run(Protocol):
    """Runs the command with these words and variables."""

    def __call__(self, *arguments: str, **variables: str) -> Ran: ...


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """The address of a catalog that holds nothing yet."""
    directory = tmp_path / "catalog"
    directory.mkdir()
    with serving_catalog(directory) as address:
        yield address


@pytest.fixture
def cat(address: str) -> Iterator[Catalog]:
    """The client of that catalog."""
    with Catalog(address) as catalog:
        yield catalog


@pytest.fixture
def command(address: str) -> Run:
    """Runs `catalog` against that catalog, in this process."""

    def run(*arguments: str, **variables: str) -> Ran:
        streams = {name: io.TextIOWrapper(io.BytesIO(), "utf-8") for name in ("stdout", "stderr")}
        with pytest.MonkeyPatch.context() as patch:
            for name, value in {"COLUMNS": "200", "CATALOG_URL": address, **variables}.items():
                patch.setenv(name, value)
            patch.setattr(sys, "stdin", io.StringIO())
            for name, stream in streams.items():
                patch.setattr(sys, name, stream)
            code = command_line.run(arguments)
        out, err = (_written(streams[name]) for name in ("stdout", "stderr"))
        return Ran(code, out, err)

    return run


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """An SQLite file: customers, their orders, and a view of both."""
    path = tmp_path / "shop.sqlite"
    execute(
        path,
        """
        create table customers (
            id integer primary key, name varchar(20) not null, born date, photo blob, anything
        );
        create table orders (
            id integer primary key, customer_id int references customers, total decimal(10,2)
        );
        create view big_orders as
            select o.*, c.name as customer, o.total * 2 as doubled
            from orders o join customers c on c.id = o.customer_id where o.total > 100;
        insert into customers (id, name) values (1, 'Ann'), (2, 'Ben'), (3, 'Cleo');
        insert into orders values (1, 1, 120), (2, 2, 20);
        """,
    )
    return path


def execute(path: Path, script: str) -> None:
    """Run statements in an SQLite file."""
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.commit()
    connection.close()


def dataset(platform: str, name: str) -> str:
    """Return the URN of a dataset as text."""
    return f"urn:li:dataset:(urn:li:dataPlatform:{platform},{name},PROD)"


def aspects_of(proposals: list[Proposal], name: str) -> Mapping[str, Any]:
    """Return the values of the dataset whose name that is, by aspect."""
    return {
        one.aspect: one.value
        for one in proposals
        if one.urn.entity_type == "dataset" and one.urn.name == name
    }


def columns_of(schema: Mapping[str, Any]) -> list[tuple[str, str, str, bool]]:
    """Return of each column its path, native type, type and whether it may be null."""
    return [
        (
            one["fieldPath"],
            one["nativeDataType"],
            next(iter(one["type"]["type"])).rpartition(".")[2].removesuffix("Type"),
            one["nullable"],
        )
        for one in schema["fields"]
    ]


def column_lineage(lineage: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the columns of an aspect `upstreamLineage`, each with what it is made from."""
    found: dict[str, list[str]] = {}
    for fine in lineage.get("fineGrainedLineages", ()):
        (down,) = fine["downstreams"]
        found[_short(down)] = [_short(one) for one in fine["upstreams"]]
    return found


def _short(urn: str) -> str:
    """Return the table and column of a column's URN."""
    inner, _, column = urn.rpartition(",")
    table = inner.split(",")[-2].rpartition(".")[2]
    return f"{table}.{column.removesuffix(')')}"


def quiet(_what: str, _done: int, _total: int | None) -> None:
    """Progress that nobody follows."""
