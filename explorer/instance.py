"""Lock a data directory, and find or start the service that serves it, one at a time.

service.lock   locked while a service runs; the system unlocks it even after kill -9
service.json   the address of the service, written once it answers
service.log    the output of a service that `ensure` started
"""

import atexit
import os
import re
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from explorer.errors import InUse, StorageFault, Unreachable, Unusable
from explorer.files import is_full, replace_file
from explorer.version import __version__

if TYPE_CHECKING:
    import subprocess

HELD_STATUS = 3
FULL_STATUS = 4
"""The exit status of a service whose disk is full, so that its log may have no space for a
message."""
_LOCK, _FILE, _LOG, _SOCKET = "service.lock", "service.json", "service.log", "service.sock"
_MAX_SOCKET_BYTES = 100
_MAX_LOG_BYTES = 1 << 20
_POLL_SECONDS = 0.01
# Longer than the service waits for its writer before `/health` reports a problem.
_ANSWER_SECONDS = 7.0
# `is_held` takes the lock for an instant, so a single failure does not mean that it is held.
_PATIENCE_SECONDS = 0.3

_children: "list[subprocess.Popen[bytes]]" = []


class Instance(msgspec.Struct, frozen=True):
    """A running service. `address` is `unix:/path/to.sock` or `http://127.0.0.1:PORT`."""

    pid: int
    address: str
    version: str
    started_millis: int


class DirectoryInUse(InUse):
    """Another service holds the data directory."""


class Hold:
    """A data directory that this process has locked until the context ends."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir

    def announce(self, address: str, version: str) -> Instance:
        """Publish the address of the service, so that other processes find it."""
        instance = Instance(os.getpid(), address, version, time.time_ns() // 1_000_000)
        data = msgspec.json.encode(instance)
        replace_file(self.data_dir / _FILE, data, mode=0o644, is_synced=False)
        return instance

    def withdraw(self) -> None:
        """Stop publishing the address."""
        (self.data_dir / _FILE).unlink(missing_ok=True)


@contextmanager
def report_full_disk(data_dir: Path) -> Iterator[None]:
    """Replace an error for a full disk by a `StorageFault` that names the disk."""
    try:
        yield
    except Exception as error:
        if not is_full(error):
            raise
        raise _full(data_dir) from error


@contextmanager
def hold(data_dir: Path) -> Iterator[Hold]:
    """Lock a data directory, which is created if it does not exist.

    Raises `DirectoryInUse`, with the process and address, if another service has locked it, and
    `StorageFault` if it cannot be written.
    """
    _prepare(data_dir)
    try:
        lock = os.open(data_dir / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise _cannot_write(data_dir, error) from error
    directory_lock = Hold(data_dir)
    try:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not _lock(lock, shared=False):
            if time.monotonic() > deadline:
                raise _directory_error(data_dir)
            time.sleep(_POLL_SECONDS)
        # A killed service may have left its address behind.
        directory_lock.withdraw()
        try:
            yield directory_lock
        finally:
            directory_lock.withdraw()
    finally:
        os.close(lock)


def find(data_dir: Path) -> Instance | None:
    """Return the running service of a data directory, or `None`."""
    instance = _read(data_dir)
    if instance is None or not is_held(data_dir):
        return None
    # A service that was killed leaves its address behind, and the next one holds the lock for a
    # moment before it removes that file.
    return instance if _is_alive(instance.pid) else None


def ensure(data_dir: Path, timeout_seconds: float = 60.0, answer_seconds: float = 30.0) -> Instance:
    """Return the service of a data directory, starting it if needed, once it answers.

    The service is a separate process that outlives this one. If several processes start it at the
    same time, one service remains. The service of an older release is replaced, after it has
    answered the requests under way. Raises `StorageFault` if the disk is full, `Unusable`, with the
    service's own message, if it cannot start, and `Unreachable` if it does not answer in time: a
    service that starts or stops may take `timeout_seconds`, one that has published its address
    `answer_seconds`.
    """
    data_dir = data_dir.absolute()
    _children[:] = [child for child in _children if child.poll() is None]
    log = data_dir / _LOG
    deadline = time.monotonic() + timeout_seconds
    child: subprocess.Popen[bytes] | None = None
    log_start = 0
    silent: Instance | None = None
    silent_until = 0.0
    stopped: Instance | None = None
    while True:
        now = time.monotonic()
        instance = find(data_dir)
        if instance is not None and instance != stopped and _is_outdated(instance):
            stopped = instance
            with suppress(OSError):
                os.kill(instance.pid, signal.SIGTERM)
        if instance == stopped:
            instance = None
        if instance != silent:
            silent, silent_until = instance, now + answer_seconds
        if instance is not None:
            seconds = max(silent_until - now, _POLL_SECONDS)
            if _answers(instance, min(seconds, _ANSWER_SECONDS)):
                return instance
            now = time.monotonic()
            if now >= silent_until:
                raise Unreachable(
                    f"the catalog service of {data_dir} did not answer in {answer_seconds:g} "
                    f"seconds; try again, or end process {instance.pid}, after which a new service "
                    f"is started; see {log}"
                )
        if now >= deadline:
            raise Unreachable(
                f"the catalog service of {data_dir} did not answer in {timeout_seconds:g} seconds; "
                f"try again, or see {log}"
            )
        if child is None and not is_held(data_dir):
            with report_full_disk(data_dir):
                _prepare(data_dir)
                child, log_start = _start(data_dir, log)
        status = child.poll() if child is not None else None
        if status == HELD_STATUS:
            # Another process was faster; wait for its service.
            child = None
        elif status == FULL_STATUS:
            raise _full(data_dir)
        elif status is not None:
            raise Unusable(
                _last_line(log, log_start) or f"the catalog service stopped unexpectedly; see {log}"
            )
        time.sleep(_POLL_SECONDS)


def stop(data_dir: Path, timeout_seconds: float = 10.0) -> None:
    """Stop the service of a data directory after the requests under way, and wait until it accepts
    no new ones; `ensure` then starts another. A service that listens on a port is not stopped,
    because people start it themselves."""
    instance = find(data_dir)
    if instance is None or _is_tcp(instance.address):
        return
    with suppress(OSError):
        os.kill(instance.pid, signal.SIGTERM)
    end = time.monotonic() + timeout_seconds
    while find(data_dir) == instance and time.monotonic() < end:
        time.sleep(_POLL_SECONDS)


def socket_path(data_dir: Path) -> Path | None:
    """Return the path of the Unix socket of a data directory's service; `None` if the system has no
    Unix sockets.

    The socket is in the directory itself, or if that path is too long for a socket, in a private
    directory. Raises `StorageFault` if the private directory belongs to another user or is
    accessible to others.
    """
    if not hasattr(socket, "AF_UNIX"):
        return None
    inside = data_dir.absolute() / _SOCKET
    if len(os.fsencode(inside)) <= _MAX_SOCKET_BYTES:
        return inside
    import hashlib
    import tempfile

    runtime = os.environ.get("XDG_RUNTIME_DIR")
    private = Path(runtime or tempfile.gettempdir()) / f"catalog-{os.getuid()}"
    private.mkdir(mode=0o700, exist_ok=True)
    entry = private.lstat()
    if entry.st_uid != os.getuid() or entry.st_mode & 0o077 or private.is_symlink():
        raise StorageFault(
            f"{private} must be a directory that you own, with mode 0700; remove it, or name a "
            "data directory with a shorter path"
        )
    name = hashlib.sha256(os.fsencode(data_dir.absolute())).hexdigest()[:16]
    return private / f"{name}.sock"


def _prepare(data_dir: Path) -> None:
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise StorageFault(
            f"{data_dir} is not a directory; name another with CATALOG_DATA_DIR"
        ) from error
    except OSError as error:
        raise _cannot_write(data_dir, error) from error
    if not os.access(data_dir, os.W_OK | os.X_OK):
        raise StorageFault(f"{data_dir} cannot be written; name another with CATALOG_DATA_DIR")


def _cannot_write(data_dir: Path, error: OSError) -> StorageFault:
    why = error.strerror or str(error)
    return StorageFault(
        f"{data_dir} cannot be written ({why}); name another directory with CATALOG_DATA_DIR"
    )


def _full(data_dir: Path) -> StorageFault:
    import shutil

    existing_path = next(path for path in (data_dir, *data_dir.absolute().parents) if path.exists())
    free_kilobytes = shutil.disk_usage(existing_path).free // 1024
    return StorageFault(
        f"the disk of {data_dir} is full ({free_kilobytes:,} KB are free, which are too few); make "
        "room there, or name another directory with CATALOG_DATA_DIR"
    )


def _directory_error(data_dir: Path) -> DirectoryInUse:
    instance = _read(data_dir)
    if instance is None:
        return DirectoryInUse(
            f"{data_dir} is in use by a service that is starting or stopping; try again"
        )
    return DirectoryInUse(
        f"{data_dir} is already served by process {instance.pid} at {instance.address}; use that "
        "service, stop it, or name another data directory"
    )


def _is_alive(pid: int) -> bool:
    if os.name == "nt":
        # On Windows os.kill would terminate the process.
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _read(data_dir: Path) -> Instance | None:
    try:
        return msgspec.json.decode((data_dir / _FILE).read_bytes(), type=Instance)
    except (OSError, msgspec.DecodeError):
        return None


def is_held(data_dir: Path) -> bool:
    """Return whether a process has locked a directory (see `hold`)."""
    try:
        lock = os.open(data_dir / _LOCK, os.O_RDWR)
    except OSError:
        return False
    try:
        return not _lock(lock, shared=True)
    finally:
        os.close(lock)


if sys.platform == "win32":
    import msvcrt

    _DETACHED = 0x00000008  # DETACHED_PROCESS

    def _lock(lock: int, *, shared: bool) -> bool:  # noqa: ARG001 - msvcrt has no shared locks
        try:
            msvcrt.locking(lock, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    _DETACHED = 0

    def _lock(lock: int, *, shared: bool) -> bool:
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        try:
            fcntl.flock(lock, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def _answers(instance: Instance, seconds: float) -> bool:
    """Return whether the service answers within some seconds. A service that only serves reads
    because its database is damaged counts too."""
    try:
        with _connect(instance.address, seconds) as connection:
            base = urlsplit(instance.address).path if _is_tcp(instance.address) else ""
            lines = (f"GET {base}/health HTTP/1.1", "Host: localhost", "Connection: close", "", "")
            connection.sendall("\r\n".join(lines).encode())
            return connection.recv(64).startswith((b"HTTP/1.1 200", b"HTTP/1.1 503"))
    except OSError:
        return False


def _is_outdated(instance: Instance) -> bool:
    """Return whether a service for the front ends on this machine was started by an older release.

    False for a service that listens on a port, because people start it themselves.
    """
    their_numbers, our_numbers = (
        re.findall(r"\d+", version) for version in (instance.version, __version__)
    )
    return not _is_tcp(instance.address) and list(map(int, their_numbers)) < list(
        map(int, our_numbers)
    )


def _is_tcp(address: str) -> bool:
    return address.startswith("http://")


def _connect(address: str, seconds: float) -> socket.socket:
    if _is_tcp(address):
        parts = urlsplit(address)
        return socket.create_connection((parts.hostname or "127.0.0.1", parts.port or 80), seconds)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(seconds)
    try:
        connection.connect(address.removeprefix("unix:"))
    except OSError:
        connection.close()
        raise
    return connection


def _start(data_dir: Path, log: Path) -> "tuple[subprocess.Popen[bytes], int]":
    """Start the service; return the process, and the position in the log at which its output
    begins."""
    import subprocess

    if log.exists() and log.stat().st_size > _MAX_LOG_BYTES:
        log.unlink()
    with log.open("ab") as words:
        log_start = words.tell()
        child: subprocess.Popen[bytes] = subprocess.Popen(  # noqa: S603 - this interpreter
            [sys.executable, "-m", "explorer.cli.service", "--data-dir", str(data_dir)],
            stdin=subprocess.DEVNULL,
            stdout=words,
            stderr=words,
            cwd=_home(data_dir),
            start_new_session=True,
            creationflags=_DETACHED,
        )
    # Kept so that `ensure` polls it later, which reaps the process once it has ended.
    if not _children:
        atexit.register(_leave)
    _children.append(child)
    return child, log_start


def _leave() -> None:
    """Mark the services as ended, because Python warns of processes that are still running."""
    for child in _children:
        if child.poll() is None:
            child.returncode = 0


def _home(data_dir: Path) -> Path:
    """Return a working directory for the service in which `python -m` finds the package that this
    process runs."""
    root = Path(__file__).resolve().parents[1]
    return data_dir if root.name.endswith("-packages") else root


def _last_line(log: Path, log_start: int) -> str:
    with suppress(OSError), log.open("rb") as words:
        words.seek(log_start)
        lines = [line.strip() for line in words.read().decode(errors="replace").splitlines()]
        return next((line for line in reversed(lines) if line), "")
    return ""
