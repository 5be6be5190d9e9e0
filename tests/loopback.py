"""Servers of a test's own on this machine, which answer as the test tells them to."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any


@asynccontextmanager
async def listening(
    serve: Callable[[Any, Any], Awaitable[None]], port: int = 0, **options: Any
) -> AsyncIterator[int]:
    """The port of a server that runs `serve(reader, writer)` for each connection.

    In the end it hangs up on everybody, also on who was let in at the last moment.
    """
    served: dict[asyncio.Future[None], asyncio.StreamWriter] = {}

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(serve(reader, writer))
        served[task] = writer
        # A task that is cancelled before it began closes nothing.
        task.add_done_callback(lambda _: writer.close())

    server = await asyncio.start_server(accept, "127.0.0.1", port, **options)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        # A connection is made in three steps of the loop.
        for _ in range(3):
            await asyncio.sleep(0)
        for task in served:
            task.cancel()
        await asyncio.gather(*served, return_exceptions=True)
        for writer in served.values():
            with suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()
