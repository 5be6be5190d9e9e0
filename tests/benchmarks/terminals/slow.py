"""A server that is slow: passes everything on to a Unix socket, and each answer back later.

    python tests/benchmarks/terminals/slow.py SOCKET SECONDS

Prints its port. It lives until its standard input ends.
"""

import asyncio
import sys
from contextlib import suppress
from typing import Any

CHUNK = 1 << 16


async def carry(source: Any, target: Any, seconds: Any) -> None:
    """Every piece `seconds` after it came, in order."""
    waiting: asyncio.Queue[Any] = asyncio.Queue()

    async def deliver() -> None:
        while (piece := await waiting.get()) is not None:
            due, data = piece
            await asyncio.sleep(due - asyncio.get_running_loop().time())
            target.write(data)
            await target.drain()
        target.close()

    delivering = asyncio.create_task(deliver())
    with suppress(ConnectionError):
        while data := await source.read(CHUNK):
            waiting.put_nowait((asyncio.get_running_loop().time() + seconds, data))
    waiting.put_nowait(None)
    with suppress(ConnectionError):
        await delivering


async def main(socket: Any, seconds: Any) -> None:
    """Serve until nobody wants it."""

    async def connected(reader: Any, writer: Any) -> None:
        answers, questions = await asyncio.open_unix_connection(socket)
        await asyncio.gather(carry(reader, questions, 0), carry(answers, writer, seconds))

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2])))
