"""A network between a service and its database: one that is slow, or goes silent.

    python -m tests.relay LISTEN TARGET

`Relay` runs it in a process of its own, so that neither side's interpreter delays it. It reads from
standard input after how many seconds an answer comes, or `inf` for never.
"""

import asyncio
import math
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from tests.postgres import Cluster

__all__ = ["Relay", "relayed"]


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
                if not data:
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
        of_server, to_server = await asyncio.open_unix_connection(target)
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
