"""The log as JSON: every line that a process writes to standard error is one object."""

import io
import logging
import sys
import threading
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, BinaryIO

import orjson

_log = logging.getLogger("explorer.server")


def log_as_json() -> None:
    """Make this process log as JSON from now on: messages of the service and its libraries,
    warnings, unhandled errors, and text printed to standard error."""
    stream = sys.stderr
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_JsonFormatter())
    logging.getLogger().handlers = [handler]
    logging.captureWarnings(True)
    sys.excepthook = _log_uncaught
    threading.excepthook = lambda failure: _log_error(
        f"the thread {failure.thread.name if failure.thread else '?'} failed", failure.exc_value
    )
    sys.unraisablehook = lambda failure: _log_error(
        f"{failure.err_msg or 'an error was ignored in'} {failure.object!r}", failure.exc_value
    )
    sys.stderr = _JsonLines(stream.buffer)


def now() -> str:
    """Return the current time in the format of the log."""
    return _text_of(datetime.now(UTC))


def _text_of(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _log_uncaught(
    _kind: type[BaseException], error: BaseException, _trace: TracebackType | None
) -> None:
    _log_error("the process failed", error)


def _log_error(message: str, error: BaseException | None) -> None:
    _log.critical("%s", message, exc_info=error)


class _JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        shape: dict[str, Any] = {
            "time": _text_of(datetime.fromtimestamp(record.created, UTC)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage().strip(),
        }
        if record.exc_info and record.exc_info[0] is not None:
            shape["traceback"] = self.formatException(record.exc_info)
        return orjson.dumps(shape).decode()


class _JsonLines(io.TextIOWrapper):
    """A text stream that writes each line as an object."""

    def __init__(self, buffer: BinaryIO) -> None:
        super().__init__(buffer, "utf-8", line_buffering=True)
        self._lock = threading.Lock()
        self._line = ""

    def write(self, text: str) -> int:
        with self._lock:
            *lines, self._line = (self._line + text).split("\n")
            for line in filter(str.strip, lines):
                record = orjson.dumps({"time": now(), "message": line}).decode()
                super().write(f"{record}\n")
        return len(text)
