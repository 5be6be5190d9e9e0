"""A network between a service and its database: one that is slow, or goes silent. And the other
ways in which a database does not answer.

    python -m tests.relay LISTEN TARGET

`Relay` runs it in a process of its own, so that neither side's interpreter delays it. It reads from
standard input after how many seconds an answer comes, or `inf` for never.
"""

import asyncio
import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from urllib.parse import quote

from tests.postgres import Cluster


class Relay:
    """A relay at work; `address` is the one that leads through it."""

    def __init__(self, process: "subprocess.Popen[str]", address: str) -> None:
        self._process = process
        self.address = address

    def delay(self, seconds: float) -> None:
        """Have every answer come this much later; `math.inf` is a network that goes silent, and
        neither refuses nor closes anything."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{seconds}\n")
        self._process.stdin.flush()
        self._process.stdout.readline()


@contextmanager
def relayed(cluster: Cluster, address: str, folder: Path) -> Iterator[Relay]:
    """A relay in front of the socket of a cluster, for the address of one of its databases."""
    name = f".s.PGSQL.{cluster.port}"
    there, here = (quote(str(one), safe="") for one in (cluster.folder, folder))
    assert f"host={there}&" in address
    command = (sys.executable, "-m", "tests.relay", folder / name, cluster.folder / name)
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield Relay(process, address.replace(f"host={there}&", f"host={here}&"))
        finally:
            process.kill()


Hindrance = Callable[[Cluster, Relay], AbstractContextManager[None]]
"""Something in which a database does not answer."""


@contextmanager
def silent(_postgres: Cluster, relay: Relay) -> Iterator[None]:
    """A network in which every connection stays open and nothing arrives."""
    relay.delay(math.inf)
    try:
        yield
    finally:
        relay.delay(0)


@contextmanager
def frozen(postgres: Cluster, _relay: Relay) -> Iterator[None]:
    """A database whose processes are all stopped."""
    first = int((postgres.folder / "data" / "postmaster.pid").read_text().split()[0])
    # First, so that it starts none that is not listed.
    os.kill(first, signal.SIGSTOP)
    command = ("pgrep", "-P", str(first))
    listed = subprocess.run(command, capture_output=True, text=True, check=True)
    processes = [first, *map(int, listed.stdout.split())]
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)


@contextmanager
def locked(_postgres: Cluster, relay: Relay) -> Iterator[None]:
    """A database in which another session has locked the table of the aspects."""
    import psycopg

    with psycopg.connect(relay.address) as connection:
        connection.execute("lock table aspects in access exclusive mode")
        yield
        connection.rollback()


class _Network:
    """Both ways of every connection, each of which takes half of `seconds`."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.changed = asyncio.Event()

    async def arrive(self, sent: float) -> None:
        """Return when what was sent at a time of the event loop arrives."""
        clock = asyncio.get_running_loop().time
        while math.isinf(self.seconds):
            self.changed.clear()
            await self.changed.wait()
        await asyncio.sleep(max(0, sent + self.seconds / 2 - clock()))

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry what one side sends, in order, until it sends no more."""
        sent: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

        async def deliver() -> None:
            while True:
                at, data = await sent.get()
                await self.arrive(at)
                if not data or writer.is_closing():
                    writer.close()
                    return
                writer.write(data)

        delivering = asyncio.create_task(deliver())
        data = b" "
        while data:
            try:
                data = await reader.read(65_536)
            except OSError:
                data = b""
            sent.put_nowait((asyncio.get_running_loop().time(), data))
        await delivering


async def _relay(listen: str, target: str) -> None:
    network = _Network()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            of_server, to_server = await asyncio.open_unix_connection(target)
        except OSError:
            # The server has ended, and whoever asks for it is to see that.
            writer.close()
            return
        await asyncio.gather(network.carry(reader, to_server), network.carry(of_server, writer))

    def obey() -> None:
        network.seconds = float(sys.stdin.readline())
        network.changed.set()
        print("done", flush=True)

    async with await asyncio.start_unix_server(serve, listen, backlog=512):
        asyncio.get_running_loop().add_reader(sys.stdin, obey)
        print("listening", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_relay(*sys.argv[1:]))
