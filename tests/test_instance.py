"""Finding, starting and holding the service of a data directory."""

import asyncio
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from explorer import __version__
from explorer.client import AsyncCatalog
from explorer.errors import StorageFault, Unreachable, Unusable
from explorer.instance import DirectoryInUse, Instance, ensure, find, hold, socket_path
from explorer.metadata.registry import load_registry
from explorer.server import serve
from explorer.server.data_directory import open_catalog
from tests.conftest import SmallDisk


@pytest.fixture
def started() -> Iterator[Callable[[Path], Instance]]:
    """Ensure the service of a directory; whatever was started is stopped at the end."""
    used: set[Path] = set()

    def start(data_dir: Path) -> Instance:
        used.add(data_dir)
        return ensure(data_dir)

    yield start
    for data_dir in used:
        found = find(data_dir)
        if found is not None:
            os.kill(found.pid, signal.SIGTERM)
        while find(data_dir) is not None:
            time.sleep(0.01)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A directory whose catalog was used before, so that no sample is put there."""
    catalog = open_catalog(tmp_path, load_registry())
    catalog.seed(list)
    catalog.close()
    return tmp_path


def test_a_directory_without_a_service_has_none(tmp_path: Path) -> None:
    assert find(tmp_path) is None
    assert find(tmp_path / "missing") is None


def test_a_held_directory_is_found_once_announced_and_no_longer_after(tmp_path: Path) -> None:
    with hold(tmp_path / "new") as held:
        assert find(tmp_path / "new") is None
        announced = held.announce("unix:/x.sock", "1.2")
        assert find(tmp_path / "new") == announced
        assert announced.pid == os.getpid()
        assert announced.started_millis > 1_600_000_000_000
    assert find(tmp_path / "new") is None


def test_what_a_killed_service_left_is_not_found_and_does_not_hinder(tmp_path: Path) -> None:
    (tmp_path / "service.json").write_text(
        '{"pid": 1, "address": "unix:/gone.sock", "version": "1", "started_millis": 5}'
    )
    (tmp_path / "service.lock").write_bytes(b"")
    (tmp_path / "service.sock").write_bytes(b"")
    assert find(tmp_path) is None
    with hold(tmp_path):
        assert find(tmp_path) is None


def test_what_a_killed_service_left_is_not_taken_for_the_one_that_follows(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    with hold(tmp_path) as held:
        announced = held.announce("unix:/x.sock", "1.2")
        left = (tmp_path / "service.json").read_text()
        stale = left.replace(str(announced.pid), str(ended.pid), 1)
        (tmp_path / "service.json").write_text(stale)
        assert find(tmp_path) is None


@pytest.mark.parametrize("left", [b"", b"{", b'{"pid": "x"}', b"\xff"])
def test_an_unreadable_announcement_is_none(tmp_path: Path, left: bytes) -> None:
    with hold(tmp_path):
        (tmp_path / "service.json").write_bytes(left)
        assert find(tmp_path) is None


def test_a_directory_is_held_by_one_and_the_other_is_told_by_whom(tmp_path: Path) -> None:
    with hold(tmp_path) as held:
        with pytest.raises(DirectoryInUse, match="starting or stopping"), hold(tmp_path):
            pass
        held.announce("unix:/somewhere.sock", "1")
        with pytest.raises(DirectoryInUse, match=f"process {os.getpid()} at unix:/somewhere.sock"):
            hold(tmp_path).__enter__()
        assert find(tmp_path) is not None


def test_holding_ends_with_an_error_too(tmp_path: Path) -> None:
    def fail() -> None:
        with hold(tmp_path) as held:
            held.announce("unix:/x", "1")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert find(tmp_path) is None
    with hold(tmp_path):
        pass


def test_looking_at_a_directory_does_not_keep_a_service_out(tmp_path: Path) -> None:
    (tmp_path / "service.json").write_text(
        '{"pid": 1, "address": "unix:/x", "version": "1", "started_millis": 5}'
    )
    (tmp_path / "service.lock").write_bytes(b"")
    with ThreadPoolExecutor(4) as looking:
        looks = [looking.submit(lambda: [find(tmp_path) for _ in range(300)]) for _ in range(4)]
        for _ in range(30):
            with hold(tmp_path):
                pass
        for look in looks:
            look.result()


@pytest.mark.parametrize("below", ["", "deeper"])
def test_a_path_that_is_a_file_is_unusable(tmp_path: Path, below: str) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    for use in (ensure, lambda place: hold(place).__enter__()):
        with pytest.raises(StorageFault, match="not a directory; name another"):
            use(file / below if below else file)


def test_a_place_that_cannot_be_written_is_unusable() -> None:
    with pytest.raises(StorageFault, match="cannot be written"):
        ensure(Path("/proc/catalog"))


def test_a_socket_lies_in_the_directory_or_in_a_private_one_when_that_is_too_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = Path("/tmp/c")
    assert socket_path(short) == short / "service.sock"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    long = tmp_path / ("x" * 90) / ("y" * 90)
    found = socket_path(long)
    assert found is not None
    assert len(os.fsencode(found.name)) < 30
    assert stat.S_IMODE(found.parent.stat().st_mode) == 0o700
    assert found == socket_path(long)
    assert found != socket_path(long / "z")
    found.parent.chmod(0o755)
    with pytest.raises(StorageFault, match="mode 0700"):
        socket_path(long)


def test_it_is_started_once_and_then_found(
    directory: Path, started: Callable[[Path], Instance]
) -> None:
    first = started(directory)
    assert first == started(directory) == find(directory)
    assert os.getsid(first.pid) == first.pid != os.getsid(0)
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(first.address.removeprefix("unix:"))
    mode = Path(first.address.removeprefix("unix:")).stat().st_mode
    assert stat.S_IMODE(mode) == 0o600


def test_several_starters_at_once_end_with_one_service(
    directory: Path, started: Callable[[Path], Instance]
) -> None:
    with ThreadPoolExecutor(3) as pool:
        found = list(pool.map(started, [directory] * 3))
    assert len(set(found)) == 1


def test_a_killed_service_is_replaced_silently(
    directory: Path, started: Callable[[Path], Instance]
) -> None:
    first = started(directory)
    os.kill(first.pid, signal.SIGKILL)
    while find(directory) is not None:
        time.sleep(0.01)
    assert started(directory).pid != first.pid


def test_the_service_of_an_older_release_is_replaced_and_that_of_a_newer_one_used(
    directory: Path, started: Callable[[Path], Instance]
) -> None:
    first = started(directory)
    announcement = directory / "service.json"
    announced = announcement.read_text()
    announcement.write_text(announced.replace(__version__, "99.0"))
    assert started(directory).pid == first.pid
    announcement.write_text(announced.replace(__version__, "0.0.9"))
    second = started(directory)
    assert second.pid != first.pid
    assert (second.version, started(directory)) == (__version__, second)


def test_a_service_that_cannot_start_is_told_in_its_own_words(directory: Path) -> None:
    (directory / "catalog.db").write_bytes(b"no database" * 100)
    with pytest.raises(Unusable, match="cannot be used as a catalog"):
        ensure(directory)


@pytest.mark.parametrize("free_kilobytes", [0, 250])
def test_a_first_start_on_a_full_disk_says_which_disk_is_full(
    small_disk: SmallDisk, free_kilobytes: int
) -> None:
    directory = small_disk.path / "data"
    small_disk.fill(free_kilobytes * 1024)
    with pytest.raises(StorageFault) as told:
        ensure(directory)
    assert str(told.value).startswith(f"the disk of {directory} is full (")


def test_serving_from_a_full_disk_says_which_disk_is_full(small_disk: SmallDisk) -> None:
    directory = small_disk.path / "data"
    # Enough for the directory, and not for the memory that connections to the catalog share.
    small_disk.fill(8 * 1024)
    with pytest.raises(StorageFault) as told:
        serve(host="127.0.0.1", port=0, data_dir=directory, announce=print)
    assert str(told.value).startswith(f"the disk of {directory} is full (")


def test_a_service_that_does_not_answer_is_unreachable(tmp_path: Path) -> None:
    with hold(tmp_path), pytest.raises(Unreachable, match=r"did not answer in 0\.2 seconds"):
        ensure(tmp_path, timeout_seconds=0.2)


@pytest.fixture
def stuck(directory: Path, started: Callable[[Path], Instance]) -> Iterator[Instance]:
    """The service of the directory, which runs but answers nothing until the test ends."""
    running = started(directory)
    os.kill(running.pid, signal.SIGSTOP)
    yield running
    os.kill(running.pid, signal.SIGCONT)


def test_a_service_that_is_stuck_is_named_after_the_time_for_an_answer(
    directory: Path, stuck: Instance
) -> None:
    told = rf"did not answer in 0\.3 seconds; try again, or end process {stuck.pid}"
    with pytest.raises(Unreachable, match=told):
        ensure(directory, answer_seconds=0.3)


@pytest.mark.anyio
async def test_requests_to_a_stuck_service_wait_for_one_attempt_and_no_longer_than_was_asked(
    directory: Path, stuck: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts: list[Path] = []

    def count(data_dir: Path, **limits: float) -> Instance:
        attempts.append(data_dir)
        return ensure(data_dir, **limits)

    monkeypatch.setattr("explorer.instance.ensure", count)
    async with AsyncCatalog(data_dir=directory, timeout_seconds=0.3) as catalog:
        asked = (catalog.search(word) for word in ("a", "b", "c"))
        told = await asyncio.gather(*asked, return_exceptions=True)
        for error in told:
            assert isinstance(error, Unreachable)
            assert f"did not answer in 0.3 seconds; try again, or end process {stuck.pid}" in str(
                error
            )
        assert attempts == [directory]
        os.kill(stuck.pid, signal.SIGCONT)
        ensure(directory)
        assert (await catalog.search("a")).total == 0


def test_who_started_it_leaves_without_a_word(
    started: Callable[[Path], Instance], directory: Path
) -> None:
    source = f"""\
from pathlib import Path
from explorer.instance import ensure
print(ensure(Path({str(directory)!r})).pid)
"""
    command = [sys.executable, "-W", "always", "-c", source]
    left = subprocess.run(command, check=True, capture_output=True, text=True)
    assert started(directory).pid == int(left.stdout)
    assert left.stderr == ""


def test_nothing_heavy_is_imported_to_look_for_a_service() -> None:
    code = (
        "import sys, explorer.instance\n"
        "heavy = {'starlette', 'uvicorn', 'graphql', 'tantivy', 'httpx', 'sqlite3', "
        "'explorer.server'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
