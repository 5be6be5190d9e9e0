"""A PostgreSQL cluster of the tests' own, where the server is installed."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from urllib.parse import urlencode

BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
# The server refuses to run as root.
_SWITCH = ("runuser", "-u", "postgres", "--") if os.geteuid() == 0 else ()
_NAMES = count(1)


class Cluster:
    """A cluster on a Unix socket in its folder and on a free port of this machine. `root` comes in
    by the socket without a password; who comes by the port needs one."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self.port = port
        self.host = f"127.0.0.1:{port}"
        self.options = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": str(folder),
            "fsync": "off",
            "shared_buffers": "32MB",
            "max_connections": "60",
            "autovacuum": "off",
            "jit": "off",
        }

    def address(
        self,
        database: str = "postgres",
        schema: str | None = None,
        others: "Sequence[Cluster]" = (),
    ) -> str:
        """The address of a database, by the socket, with another first schema if one is named. With
        `others` it is that of whichever of them takes writes."""
        clusters = (self, *others)
        given = {
            "host": ",".join(str(one.folder) for one in clusters),
            "port": ",".join(str(one.port) for one in clusters),
        }
        if others:
            given["target_session_attrs"] = "read-write"
        if schema is not None:
            given["options"] = f"-csearch_path={schema}"
        return f"postgresql://root@/{database}?{urlencode(given)}"

    def new_schema(self) -> str:
        """Make a schema that nobody has used; the address of it."""
        import psycopg

        name = f"catalog_{next(_NAMES)}"
        with psycopg.connect(self.address(), autocommit=True) as connection:
            connection.execute(f"create schema {name}".encode())
        return self.address(schema=name)

    def start(self) -> None:
        """Start the server and wait until it takes connections."""
        given = " ".join(f"-c {name}={value}" for name, value in self.options.items())
        self._control("-l", self.folder / "log", "-o", f"-p {self.port} {given}", "start")

    def stop(self) -> None:
        """End the server at once, as a crash would, and every connection with it."""
        self._control("-m", "immediate", "stop")

    @contextmanager
    def read_only(self) -> Iterator[None]:
        """Have it take no writes meanwhile, as a standby."""
        self._configure("set default_transaction_read_only = on")
        try:
            yield
        finally:
            self._configure("reset default_transaction_read_only")

    def promote(self) -> None:
        """Make a standby the primary."""
        self._control("promote")

    def follow(self, primary: "Cluster") -> None:
        """Become the standby of a cluster, which then waits for it with every commit."""
        source = f"host={primary.folder} port={primary.port} user=root application_name=standby"
        _run("pg_basebackup", "-D", self.folder / "data", "-d", source, "-R", folder=self.folder)
        self.start()
        primary._configure("set synchronous_standby_names = 'standby'")

    def _configure(self, change: str) -> None:
        import psycopg

        with psycopg.connect(self.address(), autocommit=True) as connection:
            connection.execute(f"alter system {change}".encode())
            connection.execute("select pg_reload_conf()")

    def _control(self, *words: object) -> None:
        _run("pg_ctl", "-D", self.folder / "data", "-w", *words, folder=self.folder)


def _run(program: str, *words: object, folder: Path) -> None:
    command = (*_SWITCH, str(BINARIES[-1] / program), *map(str, words))
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@contextmanager
def running_cluster(**options: str) -> Iterator[Cluster]:
    """A new cluster that is gone afterwards, with these options instead of those for tests."""
    with _new_cluster() as cluster:
        cluster.options |= options
        _run(
            *("initdb", "-D", cluster.folder / "data", "-N", "-E", "UTF8", "--no-locale"),
            *("-U", "root", "--auth-local=trust", "--auth-host=scram-sha-256"),
            folder=cluster.folder,
        )
        cluster.start()
        yield cluster


@contextmanager
def running_pair() -> Iterator[tuple[Cluster, Cluster]]:
    """A new cluster and its synchronous standby."""
    with running_cluster() as primary, _new_cluster() as standby:
        standby.follow(primary)
        yield primary, standby


@contextmanager
def _new_cluster() -> Iterator[Cluster]:
    """A folder and a port for a cluster that is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="catalog-postgres-"))
    if _SWITCH:
        os.chown(folder, pwd.getpwnam("postgres").pw_uid, -1)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        cluster = Cluster(folder, free.getsockname()[1])
    try:
        yield cluster
    finally:
        with suppress(AssertionError):
            cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)
