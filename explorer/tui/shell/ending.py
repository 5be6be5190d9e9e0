"""Ending because of a signal: a machine shuts down, a window is closed, a script has had enough."""

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress

__all__ = ["forget_signals", "heed_signals"]

# Windows has no hangup.
_SIGNALS = [
    number for number in (getattr(signal, "SIGHUP", None), signal.SIGTERM) if number is not None
]


def heed_signals(end: Callable[[int], None]) -> None:
    """Have `end` called, with the status to leave with, when the program is told to end. Told once
    more it ends at once, whatever it is about."""
    loop = asyncio.get_running_loop()

    def told(number: int) -> None:
        forget_signals()
        # What a shell says of a program that a signal ended.
        end(128 + number)

    # Not everywhere, and not off the main thread.
    with suppress(NotImplementedError, RuntimeError, ValueError):
        for number in _SIGNALS:
            loop.add_signal_handler(number, told, number)


def forget_signals() -> None:
    """From now on a signal ends the program at once."""
    loop = asyncio.get_running_loop()
    with suppress(NotImplementedError, RuntimeError, ValueError):
        for number in _SIGNALS:
            loop.remove_signal_handler(number)
