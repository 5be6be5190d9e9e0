"""The servers that can be opened are listed, without any front end."""

from pathlib import Path

import pytest

from explorer import config
from explorer.errors import InvalidFile, InvalidInput
from explorer.sessions.servers import ALWAYS_HERE, ServerSession

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two profiles, of which the second is the current one."""
    monkeypatch.setenv("CATALOG_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("CATALOG_DATA_DIR", str(tmp_path / "own"))
    by_name = {
        "prod": config.ConnectionProfile(url="http://127.0.0.1:1", source="prompt", read_only=True),
        "desk": config.ConnectionProfile(data_dir=str(tmp_path / "desk")),
    }
    config.change_profiles(lambda _: config.ConnectionProfiles("desk", by_name))


async def test_profiles_this_machine_and_what_the_environment_names_are_listed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = ServerSession(config.server(profile="prod").identity)
    assert session.why_not("open_offline") == session.READING
    await session.read()
    assert [server.name for server in session.state.listed] == ["desk", "prod", "this machine"]
    assert [server.asks_for_token for server in session.state.listed] == [False, True, False]
    # The one that is open is looked at, also where others come before it.
    assert session.state.cursor == 1
    monkeypatch.setenv("CATALOG_URL", "http://elsewhere:8080")
    await session.read()
    first = session.state.listed[0]
    assert (first.place, first.profile) == ("http://elsewhere:8080", None)
    assert session.state.cursor == 2


async def test_what_is_on_this_machine_has_no_offline_copy() -> None:
    session = ServerSession("")
    await session.read()
    with pytest.raises(InvalidInput, match=ALWAYS_HERE):
        await session.open_offline()
    session.look_at(1)
    assert await session.open_offline() == session.state.current


async def test_an_address_and_a_token_are_checked() -> None:
    session = ServerSession("")
    assert await session.take_address("host:8080") == "http://host:8080"
    with pytest.raises(InvalidInput, match="invalid address"):
        await session.take_address("not an address")
    assert (await session.take_token(" secret ")).header == "Bearer secret"
    for text in ("", "two words"):
        with pytest.raises(InvalidInput, match="invalid token"):
            await session.take_token(text)
    assert session.state.message is not None
    assert "two words" not in session.state.message.sentence


async def test_a_damaged_file_of_profiles_is_told_of_in_place_of_the_list() -> None:
    config.profiles_file().write_text("[profiles.x]\nurl = 3\n")
    session = ServerSession("")
    with pytest.raises(InvalidFile):
        await session.read()
    assert "profiles.toml, line 1" in session.state.instead
