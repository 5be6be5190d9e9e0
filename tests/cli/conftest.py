"""The command is run as people run it: in a process of its own, against a real service."""

import io
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from explorer.cli import command as command_line
from explorer.metadata import Proposal, Urn
from tests.conftest import schema_metadata

DATA = Path(__file__).parent / "data"
COMMAND = (sys.executable, "-m", "explorer.cli")


class Ran:
    """What a command wrote and how it ended."""

    def __init__(self, code: int, out: bytes, err: bytes) -> None:
        self.code = code
        self.out = out.decode()
        self.err = err.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    def __repr__(self) -> str:
        shown = f"exit {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"
        for log in re.findall(r"the traceback is in (\S+)", self.err):
            shown += f"\n--- {log}\n{Path(log).read_text()[-4_000:]}"
        return shown


class Run(Protocol):
    """Runs the command with these words, this input and these variables."""

    def __call__(
        self, *arguments: str, stdin: bytes = ..., url: str | None = ..., **variables: str
    ) -> Ran: ...


def environment(**more: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key != "CATALOG_URL"}
    return {**kept, "COLUMNS": "80", **more}


def orders_and_stock() -> Any:
    """The orders, made into stock, used; one column of each is described."""
    orders = str(Urn.dataset("hive", "shop.orders"))
    stock = str(Urn.dataset("snowflake", "stock"))
    stamp = {"time": 0, "actor": "urn:li:corpuser:ann"}
    owner = {"owner": "urn:li:corpuser:ann", "type": "DATAOWNER"}
    made_from = {"dataset": orders, "type": "TRANSFORMED", "auditStamp": stamp}
    used = {
        "timestampMillis": int(time.time() * 1000) - 1000,
        "totalSqlQueries": 5,
        "fieldCounts": [{"fieldPath": "total", "count": 3}],
    }
    described = {"id": "The key.", "total": ""}, {"sku": "", "count": "How many."}
    schemas = [schema_metadata(texts, "int", "Number") for texts in described]
    aspects = [
        ("urn:li:corpuser:ann", "corpUserInfo", {"active": True, "displayName": "Ann Keeper"}),
        (orders, "schemaMetadata", schemas[0]),
        (orders, "ownership", {"owners": [owner], "lastModified": stamp}),
        (orders, "datasetUsageStatistics", used),
        (stock, "schemaMetadata", schemas[1]),
        (stock, "datasetProperties", {"description": "What is there."}),
        (stock, "upstreamLineage", {"upstreams": [made_from]}),
    ]
    return [Proposal(Urn.parse(urn), aspect, value) for urn, aspect, value in aspects]


@pytest.fixture(scope="session")
def command() -> tuple[str, ...]:
    """The words that start the command, for tests that start it themselves."""
    return COMMAND


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of small metadata files."""
    return DATA


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a service that `catalog serve` runs on an empty directory."""
    directory = tmp_path_factory.mktemp("served") / "catalog"
    with subprocess.Popen(
        (*COMMAND, "serve", "--port", "0", "--data-dir", str(directory)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        said = process.stdout.readline().decode()
        address = next((word for word in said.split() if word.startswith("http://")), None)
        if address is None:
            process.kill()
            raise AssertionError(f"no address in {said!r}; {process.stderr.read().decode()}")
        yield address.rstrip("/.,")
        process.terminate()
        process.communicate(timeout=120)


@pytest.fixture(scope="module")
def process(served: str) -> Run:
    """Runs the command in a process of its own: `process("search", "orders")`."""

    def run(*arguments: str, stdin: bytes = b"", url: str | None = served, **variables: str) -> Ran:
        done = subprocess.run(
            (*COMMAND, *arguments, *(("--url", url) if url else ())),
            input=stdin,
            capture_output=True,
            env=environment(**variables),
            timeout=120,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture(scope="module")
def catalog(served: str) -> Run:
    """Runs the command as `process` does, in this process and so in a tenth of the time."""

    def run(*arguments: str, stdin: bytes = b"", url: str | None = served, **variables: str) -> Ran:
        streams = {name: io.TextIOWrapper(io.BytesIO(), "utf-8") for name in ("stdout", "stderr")}
        streams["stdin"] = io.TextIOWrapper(io.BytesIO(stdin), "utf-8")
        with pytest.MonkeyPatch.context() as patch:
            for name, value in environment(**variables).items():
                patch.setenv(name, value)
            for name, stream in streams.items():
                patch.setattr(sys, name, stream)
            code = command_line.run([*arguments, *(("--url", url) if url else ())])
            out, err = (_written(streams[name]) for name in ("stdout", "stderr"))
        return Ran(code, out, err)

    return run


def _written(stream: Any) -> Any:
    stream.flush()
    return stream.buffer.getvalue()


@pytest.fixture(scope="module")
def shop(catalog: Run) -> Run:
    """The service with the small shop's metadata loaded, and the command that asks it."""
    files = ("snapshots.json", "changes.json", "changes_as_json.json", "usage.json")
    ran = catalog("load", *(str(DATA / name) for name in files))
    assert ran.code == 0, ran
    return catalog


@pytest.fixture(scope="module")
def warehouse(catalog: Run, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The service with a warehouse's lineage, and the command that asks it: raw → (left, right) →
    mart → a chart → a dashboard; raw → a job → copy; one ↔ two; mart also from a ghost."""
    mart = "urn:li:dataset:(urn:li:dataPlatform:hive,lake.mart,PROD)"
    usage = tmp_path_factory.mktemp("warehouse") / "usage.json"
    value = {
        "timestampMillis": int(time.time() * 1000),
        "uniqueUserCount": 3,
        "totalSqlQueries": 12,
        "fieldCounts": [],
    }
    change = {"entityType": "dataset", "entityUrn": mart, "changeType": "UPSERT"}
    name = "datasetUsageStatistics"
    usage.write_text(json.dumps([{**change, "aspectName": name, "aspect": {"json": value}}]))
    ran = catalog("load", str(DATA / "warehouse.json"), str(usage))
    assert ran.code == 0, ran
    return catalog


@pytest.fixture(scope="module")
def mill(catalog: Run) -> Run:
    """The service with a mill's metadata, and the command that asks it: a dataset with two
    versions of its schema, with usage and profiles of the first days of 2026; one whose paths have
    types in them; a chart."""
    ran = catalog("load", str(DATA / "mill.json"))
    assert ran.code == 0, ran
    return catalog
