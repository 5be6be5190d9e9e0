"""What every test needs: one event loop, and nothing of the reader's own catalog."""

import gc
import importlib.util
import itertools
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from asyncio import selector_events
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest
from hypothesis import settings

from explorer import instance

if TYPE_CHECKING:
    from explorer.views.table import Table
    from tests.postgres import Cluster

# A test process keeps the tests and several catalogs alive, and each full collection visits all of
# them: with Python's own thresholds that is a third of the time that the tests take.
gc.set_threshold(10_000, 10, 20)


# Few tests that take long. A run on several processors begins with them, so that none of them is
# what everybody waits for at the end.
_LONG = (
    "datahub",
    "server/test_openlineage_tools.py",
    "server/test_replicas.py",
    "server/test_crash.py",
    "server/test_damage.py",
    "server/store/test_histories.py",
    "sources/test_recipe.py",
    "notebook/test_story.py",
    "test_wheel.py",
)
_HERE = Path(__file__).parent
_STATES = itertools.count()

# How long an example or an answer takes says more of the machine than of the code.
settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")
os.environ["CATALOG_TIMEOUT_SECONDS"] = "120"


def pytest_configure(config: pytest.Config) -> None:
    """Have pytest-xdist keep the order of `pytest_collection_modifyitems`."""
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


def pytest_runtest_logreport(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Append the name of a test that failed to the file FAILED_TESTS, for `.ci/run`.

    pytest's own list of failures lacks tests during which a process of pytest-xdist ended.
    """
    path = os.environ.get("FAILED_TESTS")
    if path and report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        with Path(path).open("a") as failed_tests:
            failed_tests.write(f"{report.nodeid}\n")


pytest_collectreport = pytest_runtest_logreport


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the files of a run on several processors: the long ones, then those of most tests."""
    if "PYTEST_XDIST_WORKER" not in os.environ:
        return
    long = [_HERE / name for name in _LONG]
    counts = Counter(item.path for item in items)

    def place(item: pytest.Item) -> tuple[bool, int]:
        is_long = any(item.path.is_relative_to(one) for one in long)
        return not is_long, -counts[item.path]

    items.sort(key=place)


def nightly(*values: Any) -> list[Any]:
    """Return values of one parameter with which a test belongs to the nightly circle."""
    return [pytest.param(value, marks=pytest.mark.nightly) for value in values]


@contextmanager
def serving(service: Any, port: int = 0) -> Iterator[str]:
    """Serve an ASGI application from a thread, over a socket; yields its address."""
    import uvicorn

    from explorer.server.process import listen_on_tcp

    listener = listen_on_tcp("127.0.0.1", port)
    server = uvicorn.Server(
        uvicorn.Config(service, lifespan="off", log_config=None, ws="none", proxy_headers=False)
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()


@contextmanager
def serving_catalog(directory: Any, gate: Any = None, port: int = 0) -> Iterator[str]:
    """Serve the catalog of a directory; yields the address."""
    from explorer.metadata.registry import load_registry
    from explorer.server.app import Service
    from explorer.server.data_directory import open_catalog

    catalog = open_catalog(directory, load_registry())
    try:
        with serving(Service(catalog, gate=gate), port) as address:
            yield address
    finally:
        catalog.close()


def stop_service(directory: Path) -> None:
    """End the service of a directory and wait until it has gone; one that was not asked for a while
    has gone by itself."""
    running = instance.find(directory)
    if running is not None:
        with suppress(ProcessLookupError):
            os.kill(running.pid, signal.SIGTERM)
    deadline = time.monotonic() + 60
    while instance.is_held(directory) and time.monotonic() < deadline:
        time.sleep(0.02)


class SmallDisk:
    """A file system of a few megabytes that can be filled, and emptied again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._filling = path / "filling"

    def fill(self, free_bytes: int = 0) -> None:
        """Leave only so much room."""
        with self._filling.open("ab", buffering=0) as file, suppress(OSError):
            while shutil.disk_usage(self.path).free > free_bytes:
                file.write(bytes(4096))

    def empty(self) -> None:
        self._filling.unlink()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[SmallDisk]:
    path = tmp_path / "disk"
    path.mkdir()
    mount = shutil.which("mount")
    command = (mount or "mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(path))
    if mount is None or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("no file system can be mounted here")
    yield SmallDisk(path)
    subprocess.run(("umount", "--lazy", str(path)), check=True)


@pytest.fixture
def own_keyring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A keyring that works, in the place of the machine's; gives the file it keeps things in."""
    import keyring

    monkeypatch.setenv("OWN_KEYRING", str(tmp_path / "keyring.json"))
    place = Path(__file__).with_name("config") / "data" / "own_keyring.py"
    spec = importlib.util.spec_from_file_location("own_keyring", place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    before = keyring.get_keyring()
    keyring.set_keyring(module.Keyring())
    yield tmp_path / "keyring.json"
    keyring.set_keyring(before)


SampleAt: TypeAlias = Callable[[Path], AbstractContextManager[Path]]


_FIELDBOOK = '''
from dataclasses import dataclass
from pathlib import Path

from explorer.sources.source import *

@dataclass(frozen=True)
class Fieldbook(Source):
    """A source of the tables that a text lists, a line for each: its name, then its columns."""

    path: Path
    options: SourceOptions
    kind: str = "fieldbook"

    @classmethod
    def open(cls, location, options, password):
        return cls(location.file, options) if location.start.startswith(b"fieldbook") else None

    @classmethod
    def find(cls, file, folder):
        is_book = file.start.startswith(b"fieldbook")
        return LocalSource(file.text, "a field book") if is_book else None

    @property
    def location(self):
        return str(self.path.resolve())

    @property
    def default_name(self):
        return self.path.stem

    def read(self, progress):
        writer = DatasetWriter("fieldbook", self.options, ())
        for name, *columns in map(str.split, self.path.read_text().splitlines()[1:]):
            progress("tables", 0, None)
            listed = [ColumnDefinition(column, "text", "String") for column in columns]
            writer.add(TableDefinition((name,), columns=listed))
        return writer.inventory
'''


def install_source(place: Path, name: str, code: str, target: str) -> None:
    """Install a package with a module of that name, which provides the source `target`, in a
    folder of the path, as pip does."""
    (place / f"{name}.py").write_text(code)
    metadata = place / f"catalog_{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: catalog-{name}\nVersion: 1.0\n"
    )
    (metadata / "entry_points.txt").write_text(
        f"[catalog_explorer.sources]\n{name} = {name}:{target}\n"
    )


@pytest.fixture
def fieldbook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that only the source of another package reads, which is installed."""
    place = tmp_path / "site"
    place.mkdir()
    install_source(place, "fieldbook", _FIELDBOOK, "Fieldbook")
    monkeypatch.syspath_prepend(place)
    monkeypatch.delitem(sys.modules, "fieldbook", raising=False)
    path = tmp_path / "walk" / "birds.txt"
    path.parent.mkdir()
    path.write_text("fieldbook\nsparrows place seen_at\nowls place\n")
    return path


@pytest.fixture(scope="session")
def sample_at(tmp_path_factory: pytest.TempPathFactory) -> SampleAt:
    """Puts the sample into a new directory, whose service has ended when the context does:
    `with sample_at(directory)`.

    The first of a run is made by a service, as anybody's first start makes it; the others are
    copies of its files.
    """
    import fcntl

    run = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        run = run.parent
    first = run / "sample"

    @contextmanager
    def place(directory: Path) -> Iterator[Path]:
        with (run / "sample.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not first.exists():
                made = run / "sample.new"
                instance.ensure(made)
                stop_service(made)
                made.rename(first)
        shutil.copytree(
            first, directory, ignore=shutil.ignore_patterns("service.*"), dirs_exist_ok=True
        )
        yield directory
        stop_service(directory)

    return place


def schema_metadata(
    texts: Mapping[str, str | None], native_type: str = "text", type_name: str = "String"
) -> dict[str, Any]:
    """Return the aspect `schemaMetadata` with columns by their paths, and their ingested texts."""
    return schema_of(
        [
            {
                "fieldPath": path,
                "nativeDataType": native_type,
                "type": {"type": {f"com.linkedin.schema.{type_name}Type": {}}},
                **({} if text is None else {"description": text}),
            }
            for path, text in texts.items()
        ]
    )


def people_rows(table: "Table") -> list[list[Any]]:
    """Return the cells that people see of each row of a table."""
    from explorer.views.table import places_for

    places = places_for("people", table.columns)
    return [[row[at] for at in places] for row in table.rows]


def schema_of(fields: Iterable[Any], platform: str = "hive", name: str = "s") -> dict[str, Any]:
    """Return the aspect `schemaMetadata` with these columns."""
    return {
        "schemaName": name,
        "platform": f"urn:li:dataPlatform:{platform}",
        "version": 0,
        "hash": "",
        "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
        "fields": [*fields],
    }


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True, scope="session")
def _interrupts_are_heard() -> None:
    """A run that was started in the background ignores interrupts, and so would what it starts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def _connections_say_whose_they_are() -> Iterator[None]:
    """A connection that nobody closed is found when it is collected, in whatever test that is."""
    transport: Any = selector_events._SelectorTransport  # type: ignore[attr-defined]
    begin, describe = transport.__init__, transport.__repr__

    def begin_here(self: Any, *given: Any, **named: Any) -> None:
        self.test = os.environ.get("PYTEST_CURRENT_TEST")
        begin(self, *given, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transport, "__init__", begin_here)
        patch.setattr(transport, "__repr__", lambda self: f"{describe(self)} of {self.test}")
        yield


@pytest.fixture(autouse=True, scope="session")
def _no_one_elses_catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A test that names no catalog gets one in a scratch directory, never the reader's own."""
    scratch = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CATALOG_DATA_DIR", str(scratch / "data"))
        patch.setenv("CATALOG_STATE_DIR", str(scratch / "state"))
        patch.setenv("CATALOG_CONFIG_DIR", str(scratch / "config"))
        patch.setenv("CATALOG_CACHE_DIR", str(scratch / "cache"))
        # The file in the reader's home is never read, whoever runs the tests.
        patch.setenv("CATALOG_USER", "tester")
        patch.setenv("DATAHUB_SKIP_CONFIG", "true")
        for name in ("URL", "HOST", "PORT", "PROTOCOL", "TOKEN"):
            patch.delenv(f"DATAHUB_GMS_{name}", raising=False)
        for name in ("URL", "TOKEN", "PROFILE"):
            patch.delenv(f"CATALOG_{name}", raising=False)
        yield


@pytest.fixture(autouse=True)
def _state_of_its_own(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drafts, staged changesets and the journal of one test are not found by the next. The
    directory is made by whoever writes to it first."""
    states = tmp_path_factory.getbasetemp() / "states"
    monkeypatch.setenv("CATALOG_STATE_DIR", str(states / f"{next(_STATES)}"))


@pytest.fixture(scope="session")
def postgres() -> Iterator["Cluster"]:
    """A PostgreSQL cluster; where there is no server or driver the tests that ask for it skip."""
    pytest.importorskip("psycopg", reason="the driver psycopg is not installed")
    pytest.importorskip("psycopg_pool", reason="psycopg's pool is not installed")
    from tests.postgres import BINARIES, running_cluster

    if not BINARIES:
        pytest.skip("no PostgreSQL server is installed")
    with running_cluster() as cluster:
        yield cluster
