"""Which server is meant, and that no token goes to a server it was not meant for."""

from pathlib import Path
from typing import Any

import pytest

from explorer import config
from explorer.config import ConnectionProfile, ConnectionProfiles
from explorer.errors import InvalidFile, InvalidInput, UnknownName

A, B, C = "http://a.example.com:8080", "https://b.example.com", "http://c.example.com"


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two profiles with a token each: a, which is current, and b."""
    monkeypatch.setenv("TOKEN_OF_A", "secret-a")
    monkeypatch.setenv("TOKEN_OF_B", "secret-b")
    by_name = {
        "a": ConnectionProfile(
            url=A, source="environment:TOKEN_OF_A", read_only=True, timeout_seconds=7
        ),
        "b": ConnectionProfile(url=B, source="environment:TOKEN_OF_B", signs="when asked"),
    }
    config.change_profiles(lambda _: ConnectionProfiles("a", by_name))


def add(name: Any, profile: Any, current: Any = None) -> None:
    config.change_profiles(
        lambda kept: ConnectionProfiles(current or kept.current, {**kept.by_name, name: profile})
    )


def datahubenv(home: Any, text: Any) -> None:
    (home / ".datahubenv").write_text(text)


def test_with_nothing_said_it_is_this_machines_own(home: Any) -> None:
    meant = config.server()
    assert (meant.name, meant.url, meant.data_dir) == ("embedded", None, config.data_dir())
    assert (meant.read_only, meant.timeout_seconds, meant.signs) == (False, None, "always")
    assert meant.token() is None


def test_the_first_that_says_so_is_meant(
    kept: Any, home: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Each is taken away in turn, and the next one is meant."""
    datahubenv(home, "gms:\n  server: http://file\n")
    for name, value in {
        "CATALOG_URL": C,
        "CATALOG_PROFILE": "b",
        "CATALOG_DATA_DIR": str(tmp_path / "own"),
        "DATAHUB_GMS_URL": "http://variable",
    }.items():
        monkeypatch.setenv(name, value)
    assert config.server("http://x", data_dir=tmp_path / "y").url == "http://x"
    assert config.server(data_dir=tmp_path / "y").data_dir == tmp_path / "y"
    assert config.server(profile="a").name == "a"
    assert config.server().url == C
    monkeypatch.delenv("CATALOG_URL")
    assert config.server().name == "b"
    monkeypatch.delenv("CATALOG_PROFILE")
    meant = config.server()
    assert (meant.url, meant.data_dir) == (None, tmp_path / "own")
    monkeypatch.delenv("CATALOG_DATA_DIR")
    assert config.server().name == "a"
    config.change_profiles(lambda kept: ConnectionProfiles(None, kept.by_name))
    assert config.server().url == "http://variable"
    monkeypatch.delenv("DATAHUB_GMS_URL")
    assert config.server().url == "http://file"
    monkeypatch.setenv("DATAHUB_SKIP_CONFIG", "True")
    assert config.server().name == "embedded"


def test_a_profile_brings_all_it_says(kept: Any) -> None:
    meant = config.server()
    assert (meant.url, meant.read_only, meant.timeout_seconds) == (A, True, 7.0)
    assert meant.token() == "secret-a"
    assert config.server(profile="b").signs == "when asked"


def test_the_environment_limits_an_answer_where_no_profile_does(
    kept: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CATALOG_TIMEOUT_SECONDS", "2.5")
    assert config.server(profile="a").timeout_seconds == 7.0
    assert config.server(profile="b").timeout_seconds == 2.5
    assert config.server(C).timeout_seconds == 2.5
    for wrong in ("soon", "0", "-1", "nan", "inf"):
        monkeypatch.setenv("CATALOG_TIMEOUT_SECONDS", wrong)
        with pytest.raises(InvalidInput, match=r"CATALOG_TIMEOUT_SECONDS is .*a number of seconds"):
            config.server(C)


def test_embedded_is_a_profile_too(kept: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATAHUB_GMS_URL", C)
    add("x", ConnectionProfile(url=C), current="embedded")
    for meant in (config.server(), config.server(profile="embedded")):
        assert (meant.name, meant.url, meant.data_dir) == ("embedded", None, config.data_dir())


def test_a_profile_beside_another_catalog_is_refused(kept: Any, tmp_path: Path) -> None:
    for other in ({"url": A}, {"data_dir": tmp_path}):
        with pytest.raises(InvalidInput, match="one of them"):
            config.server(**other, profile="a")


def test_a_profile_that_is_not_there_is_told_the_known_ones(
    kept: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UnknownName, match="known: a, b, embedded"):
        config.server(profile="zzz")
    monkeypatch.setenv("CATALOG_PROFILE", "zzz")
    with pytest.raises(UnknownName):
        config.server()


@pytest.mark.parametrize("shown", [repr, str, lambda meant: f"{meant!r:s} {meant.token}"])
def test_nothing_shows_the_token(kept: Any, shown: Any) -> None:
    for meant in (config.server(), config.server(C, token="secret-given")):
        assert meant.token is not None
        assert "secret" in str(meant.token())
        assert "secret" not in shown(meant)


# Whom each token may reach. `None` stands for no token at all.
COMBINATIONS = [
    # what is set, what is asked for, the token that goes with it
    ({}, {}, "secret-a"),
    ({}, {"profile": "b"}, "secret-b"),
    ({}, {"profile": "embedded"}, None),
    ({}, {"data_dir": Path("/elsewhere")}, None),
    ({}, {"url": C}, None),
    ({}, {"url": B}, "secret-b"),
    ({}, {"url": "HTTPS://B.example.com:443/"}, "secret-b"),
    ({}, {"url": A}, "secret-a"),
    ({}, {"url": A.replace("http:", "https:")}, None),
    ({}, {"url": "http://b.example.com"}, None),
    ({}, {"url": "https://b.example.com:8443"}, None),
    ({}, {"url": "https://b.example.com/other"}, None),
    ({}, {"url": "https://b.example.com.evil.example"}, None),
    ({}, {"url": "https://b.example.com@evil.example"}, None),
    ({}, {"url": "https://evil.example\\@b.example.com"}, None),
    ({}, {"url": "https://b.example.com\n"}, None),
    ({}, {"url": C, "token": "given"}, "given"),
    ({}, {"profile": "b", "token": "given"}, "given"),
    ({"CATALOG_URL": C}, {}, None),
    ({"CATALOG_URL": B}, {}, "secret-b"),
    ({"CATALOG_URL": C}, {"profile": "a"}, "secret-a"),
    ({"CATALOG_DATA_DIR": "/own"}, {}, None),
    ({"CATALOG_TOKEN": "ours"}, {}, "ours"),
    ({"CATALOG_TOKEN": "ours"}, {"profile": "b"}, "ours"),
    ({"CATALOG_TOKEN": "ours"}, {"url": C}, "ours"),
    ({"CATALOG_TOKEN": "ours"}, {"data_dir": Path("/elsewhere")}, "ours"),
    ({"CATALOG_TOKEN": "ours"}, {"url": C, "token": "given"}, "given"),
    ({"CATALOG_TOKEN": "ours", "CATALOG_URL": C}, {}, "ours"),
    ({"CATALOG_TOKEN": "ours", "CATALOG_URL": C}, {"url": f"{C}/"}, "ours"),
    ({"CATALOG_TOKEN": "ours", "CATALOG_URL": C}, {"url": "http://x"}, None),
    ({"CATALOG_TOKEN": "ours", "CATALOG_URL": C}, {"profile": "b"}, "secret-b"),
    ({"CATALOG_TOKEN": "ours", "CATALOG_URL": C}, {"data_dir": Path("/elsewhere")}, None),
    ({"CATALOG_TOKEN": "ours", "CATALOG_PROFILE": "b"}, {}, "ours"),
    ({"CATALOG_TOKEN": "ours", "CATALOG_PROFILE": "b"}, {"url": B}, "ours"),
    ({"CATALOG_TOKEN": "ours", "CATALOG_PROFILE": "b"}, {"profile": "a"}, "secret-a"),
    ({"CATALOG_TOKEN": "ours", "CATALOG_PROFILE": "b"}, {"url": C}, None),
    ({"CATALOG_TOKEN": "ours", "CATALOG_PROFILE": "gone"}, {"url": C}, None),
    ({"DATAHUB_GMS_TOKEN": "theirs"}, {}, "secret-a"),
    ({"DATAHUB_GMS_TOKEN": "theirs", "DATAHUB_GMS_URL": C}, {"url": "http://x"}, None),
    ({"DATAHUB_GMS_TOKEN": "theirs", "DATAHUB_GMS_URL": C}, {"profile": "embedded"}, None),
    ({"DATAHUB_GMS_TOKEN": "theirs", "CATALOG_URL": C}, {}, None),
]


@pytest.mark.parametrize(("variables", "asked", "token"), COMBINATIONS)
def test_a_token_goes_where_it_was_meant_to_and_nowhere_else(
    kept: Any, monkeypatch: pytest.MonkeyPatch, variables: Any, asked: Any, token: Any
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert config.server(**asked).token() == token


def test_an_address_of_a_profile_is_only_read_as_the_profile_says(kept: Any) -> None:
    meant = config.server(f"{A}/")
    assert (meant.name, meant.url, meant.read_only) == ("a", f"{A}/", True)


def test_an_address_of_several_profiles_takes_the_current_one_or_none(kept: Any) -> None:
    add("a2", ConnectionProfile(url=A))
    assert config.server(A).name == "a"
    config.change_profiles(lambda kept: ConnectionProfiles("b", kept.by_name))
    meant = config.server(A)
    assert (meant.name, meant.token()) == (A, None)


def test_a_directory_of_a_profile_is_only_read_as_the_profile_says(tmp_path: Path) -> None:
    add("local", ConnectionProfile(data_dir=str(tmp_path), read_only=True))
    meant = config.server(data_dir=tmp_path)
    assert (meant.name, meant.read_only, meant.url) == ("local", True, None)


@pytest.mark.parametrize(
    ("variables", "url"),
    [
        ({"DATAHUB_GMS_URL": "https://gms/path"}, "https://gms/path"),
        ({"DATAHUB_GMS_HOST": "gms", "DATAHUB_GMS_PORT": "8080"}, "http://gms:8080"),
        (
            {
                "DATAHUB_GMS_URL": "http://other",
                "DATAHUB_GMS_HOST": "gms",
                "DATAHUB_GMS_PORT": "443",
                "DATAHUB_GMS_PROTOCOL": "https",
            },
            "https://gms:443",
        ),
        ({"DATAHUB_GMS_HOST": "http://gms:1"}, "http://gms:1"),
        ({"DATAHUB_GMS_HOST": "gms", "DATAHUB_GMS_PROTOCOL": "https"}, "https://gms"),
        ({"DATAHUB_GMS_HOST": "gms", "DATAHUB_GMS_URL": "http://url"}, "http://url"),
    ],
)
def test_datahubs_variables_name_a_server_and_its_token(
    monkeypatch: pytest.MonkeyPatch, variables: Any, url: str
) -> None:
    monkeypatch.setenv("DATAHUB_GMS_TOKEN", "theirs")
    # Ours is for servers that our own settings name.
    monkeypatch.setenv("CATALOG_TOKEN", "ours")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    meant = config.server()
    assert (meant.url, meant.token()) == (url, "theirs")
    assert "theirs" not in repr(meant)


def test_a_port_without_a_host_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATAHUB_GMS_PORT", "8080")
    with pytest.raises(InvalidInput, match="DATAHUB_GMS_HOST"):
        config.server()
    assert config.server(C).url == C


def test_datahubs_file_names_a_server_and_its_token_alone_goes_there(
    home: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    datahubenv(home, "gms:\n  server: http://file:8080\n  token: 'of the: file'\nother: [1]\n")
    monkeypatch.setenv("DATAHUB_GMS_TOKEN", "of-the-environment")
    meant = config.server()
    assert meant.url == "http://file:8080"
    with pytest.raises(InvalidInput, match="invalid token") as caught:
        meant.token()
    assert "of the" not in str(caught.value)
    datahubenv(home, "gms:\n  server: http://file:8080\n  token: of-the-file\n")
    assert config.server().token() == "of-the-file"
    datahubenv(home, "gms:\n  server: http://file:8080\n  token: ''\n")
    assert config.server().token() is None


def test_a_server_of_datahubs_that_is_a_profiles_too_is_only_read_as_that_says(home: Any) -> None:
    datahubenv(home, f"gms:\n  server: {A}\n  token: of-the-file\n")
    add("a", ConnectionProfile(url=A, read_only=True))
    meant = config.server()
    assert (meant.read_only, meant.token()) == (True, "of-the-file")


@pytest.mark.parametrize("text", ["gms: [\n", "gms: 3\n", "", "gms:\n  token: x\n", "\x00"])
def test_a_file_that_is_not_datahubs_is_a_sentence(home: Any, text: str) -> None:
    datahubenv(home, text)
    with pytest.raises(InvalidFile, match=r"datahubenv.*DATAHUB_SKIP_CONFIG"):
        config.server()
    # It stands in nobody's way who names a server.
    assert config.server(C).url == C
