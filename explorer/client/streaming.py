"""An answer that goes on for as long as one listens, line by line."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator

from explorer.client import failures

__all__ = ["beginning_of", "lines_of"]

_MAX_LINE_BYTES = 64 * 1024 * 1024


async def lines_of(
    pieces: AsyncIterator[bytes], address: str, silence_seconds: float
) -> AsyncGenerator[bytes, None]:
    """The lines of what comes, without their ends.

    Raises `TimedOut` when nothing comes for so long, and `Unreachable` for a line without an end.
    """
    held: list[bytes] = []
    length = 0
    while (piece := await _next(pieces, address, silence_seconds)) is not None:
        *whole, rest = piece.split(b"\n")
        if whole:
            whole[0] = b"".join((*held, whole[0]))
            held, length = [], 0
        for one in whole:
            yield one.removesuffix(b"\r")
        held.append(rest)
        length += len(rest)
        if length > _MAX_LINE_BYTES:
            raise failures.hung_up(address, "it sent a line without an end")
    last = b"".join(held)
    if last:
        yield last.removesuffix(b"\r")


async def beginning_of(pieces: AsyncIterator[bytes], most_bytes: int) -> bytes:
    """What comes first, and no more than about so much of it."""
    found = b""
    async for piece in pieces:
        found += piece
        if len(found) >= most_bytes:
            break
    return found


async def _next(pieces: AsyncIterator[bytes], address: str, silence_seconds: float) -> bytes | None:
    try:
        # Around this alone: whoever listens may take each line in another task.
        async with asyncio.timeout(silence_seconds):
            return await anext(pieces, None)
    except TimeoutError:
        failure = failures.too_slow(address)
    raise failure
