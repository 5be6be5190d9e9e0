"""One turns from one server to another, and finds everything of the first when one is back."""

from pathlib import Path
from typing import Any

import pytest

from explorer import config
from explorer.client import AsyncCatalog
from explorer.metadata import Urn
from explorer.tui.session import Opening
from tests.tui.conftest import OpenTerminal

pytestmark = pytest.mark.anyio

ORDERS = Urn.dataset("snowflake", "analytics.marts.fct_orders")
TOKEN = "a-token-nobody-sees"


@pytest.fixture
def profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sample: Path, desk: Path) -> None:
    monkeypatch.setenv("CATALOG_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("CATALOG_DATA_DIR", str(sample))
    by_name = {
        "prod": config.ConnectionProfile(url="http://127.0.0.1:1", source="prompt", read_only=True),
        "desk": config.ConnectionProfile(data_dir=str(desk)),
    }
    config.change_profiles(lambda _: config.ConnectionProfiles("desk", by_name))


async def test_a_reader_turns_to_another_server_and_back(
    profiles: Any, at: OpenTerminal, sample: Path, desk: Path
) -> None:
    here = Opening(data_dir=sample)
    async with at(
        None, client=here.maker(), server=here.server_settings().identity, urn=ORDERS
    ) as reader:
        await reader.sees("documented", "sample catalog")
        await reader.press("f3")
        shown = await reader.sees("Servers", "prod", "127.0.0.1:1", "read-only", "current")
        assert shown.index("current") > shown.index("this machine")
        await reader.press("g", "enter")
        await reader.sees("results", "●")
        assert "fct_orders  " not in reader.screen().partition("results")[0]
        assert reader.app._session.server == config.server(profile="desk").identity
        await reader.press("minus")
        await reader.sees("No other page was open before")
        await reader.press("f3", "G", "enter")
        await reader.sees("results", "●")
        await reader.press("minus")
        await reader.sees("fct_orders", "documented")


@pytest.mark.nightly
async def test_an_address_is_typed_in_and_a_token_is_given_and_never_shown(
    profiles: Any, at: OpenTerminal, sample: Path
) -> None:
    async with at(None, client=lambda: AsyncCatalog(data_dir=sample)) as reader:
        await reader.sees("results")
        await reader.press("f3", "down", "enter")
        await reader.sees("the access token, not shown and not saved")
        await reader.type(TOKEN)
        assert TOKEN not in reader.screen()
        await reader.press("enter")
        await reader.sees("○ no answer from the catalog", "tries again")
        assert TOKEN not in reader.screen()
        await reader.press("f3", "a")
        await reader.type("not an address")
        await reader.press("enter")
        await reader.sees("Servers")
        await reader.press("ctrl+u")
        await reader.type("127.0.0.1:2")
        await reader.press("enter")
        await reader.sees("127.0.0.1:2", "○ no answer")


async def test_a_damaged_file_of_profiles_is_told_of_in_the_list(
    profiles: Any, at: OpenTerminal, sample: Path
) -> None:
    config.profiles_file().write_text("[profiles.x]\nurl = 3\n")
    async with at(None, client=lambda: AsyncCatalog(data_dir=sample)) as reader:
        await reader.press("f3")
        await reader.sees("Servers", "profiles.toml, line 1")
