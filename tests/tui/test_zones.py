"""Moments follow the zone that the reader turned to, on every screen."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from explorer.metadata import Urn
from explorer.stewardship.drafts import Drafts
from tests.tui.conftest import OpenTerminal

pytestmark = pytest.mark.anyio

ORDERS = Urn.dataset("snowflake", "analytics.marts.fct_orders")


@pytest.fixture
def far_east(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A machine that stands where it is nine hours later."""
    monkeypatch.setenv("TZ", "XXX-9")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


async def test_drafts_and_log_are_told_in_utc_when_all_else_is(
    sample: Path, at: OpenTerminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, far_east: Any
) -> None:
    monkeypatch.setenv("CATALOG_STATE_DIR", str(tmp_path))
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("2", "u", "e")
        await reader.type("Half a")
        await reader.press("escape", "f4")
        await reader.sees("1 draft, not saved")
        session = reader.app._session
        [kept] = (await Drafts.at(session)).all()
        local, utc = kept.at.astimezone(), kept.at.astimezone(UTC)
        assert local.hour != utc.hour
        assert f"{local:%Y-%m-%d %H:%M}" in reader.screen()
        await reader.press("escape", "Z", "f4")
        assert f"{utc:%Y-%m-%d %H:%M} UTC" in await reader.sees("1 draft, not saved")
        await reader.press("escape", "ctrl+l")
        await reader.sees("Requests to the server")
        newest = session.exchanges[0].began.astimezone(UTC)
        assert f"{newest:%H:%M:%S} UTC" in reader.screen()
        await reader.press("escape", "Z", "ctrl+l")
        await reader.sees("Requests to the server")
        newest = session.exchanges[0].began.astimezone()
        assert f" {newest:%H:%M:%S}   200" in reader.screen()
        assert newest.hour != datetime.now(UTC).hour


async def test_a_tab_that_is_not_looked_at_follows_when_it_is(
    sample: Path, at: OpenTerminal, far_east: Any
) -> None:
    async with at(sample, urn=ORDERS) as reader:
        await reader.sees("documented")
        await reader.press("1")
        await reader.sees("added", " 09:00 by")
        await reader.press("2", "Z", "1")
        await reader.sees("added", " 00:00 UTC by")
