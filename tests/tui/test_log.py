"""What was asked of the server can be looked up, to the last error, and never a token."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from explorer.client import AsyncCatalog, Exchange
from explorer.client.transport import Retry
from explorer.errors import InvalidInput
from explorer.tui.session import KEPT, RequestLog, request_line
from tests.tui.conftest import OpenTerminal

pytestmark = pytest.mark.anyio


def asked(number: Any, **more: Any) -> Any:
    return Exchange("GET", f"/entities/{number}", datetime.now(UTC), 0.012, **more)


def test_the_newest_are_kept_and_the_oldest_forgotten() -> None:
    exchanges = RequestLog()
    for number in range(KEPT + 10):
        exchanges.note(asked(number, status=200))
    assert (len(exchanges), exchanges.count) == (KEPT, KEPT + 10)
    assert exchanges[0].path == f"/entities/{KEPT + 9}"


async def test_a_log_file_has_a_line_for_each_and_control_characters_nowhere(
    tmp_path: Path,
) -> None:
    file = tmp_path / "log"
    exchanges = RequestLog(file)
    exchanges.note(asked(1, status=200, sized_bytes=5))
    exchanges.note(asked(2, failure="two\nlines\x1b]52;c;aGk=\x07"))
    await exchanges.close()
    lines = file.read_text().splitlines()
    assert len(lines) == 2
    assert "GET /entities/1 200 12 ms 5 bytes" in lines[0]
    assert "no answer" in lines[1]
    assert not set(file.read_text()) & set("\x1b\x07")
    with pytest.raises(InvalidInput, match="cannot be written"):
        RequestLog.check(tmp_path / "nowhere" / "log")


class Wire:
    async def send(self, request: Any) -> Any:
        if request.path == "/config":
            return 200, b"{}"
        return 500, b"out of memory [/x] \x1b]52;c;aGk=\x07 " + b"why " * 200

    async def close(self) -> None:
        """Nothing is held."""


async def test_what_the_program_asks_is_written_to_the_file_it_was_given(
    at: OpenTerminal, tmp_path: Path
) -> None:
    file = tmp_path / "log"
    async with at(None, transport=Wire(), exchanges=RequestLog(file)) as reader:
        await reader.sees("Out of memory")
    assert "GET /config 200" in file.read_text()


async def test_a_reader_looks_up_what_failed_and_copies_the_line(at: OpenTerminal) -> None:
    def make() -> Any:
        return AsyncCatalog(transport=Wire(), token="a-token-nobody-sees", retry=Retry(tries=1))

    async with at(None, client=make) as reader:
        await reader.sees("Out of memory")
        await reader.press("ctrl+l")
        shown = await reader.sees("Requests to the server:", "✗ 500", "POST", "status 500 after")
        assert "why why" in shown
        await reader.press("G")
        await reader.sees("/config", "status 200")
        await reader.press("y")
        assert "/config 200" in request_line(reader.app._session.exchanges[-1])
        assert reader.app.clipboard.endswith("bytes")
        picture = reader.app.export_screenshot(simplify=True)
        assert "a-token" not in picture
        assert not set(picture) & set("\x1b\x07")
        await reader.press("escape")
        assert "Requests to the server" not in reader.screen()
