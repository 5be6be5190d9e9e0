"""The profiles' file: what is kept is read again, and what cannot be read is never written over."""

import stat
import tomllib
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from explorer import config
from explorer.config import ConnectionProfile, ConnectionProfiles
from explorer.errors import InvalidFile, InvalidInput, StorageFault, UnknownName


def keep(name: Any, profile: Any) -> None:
    config.change_profiles(
        lambda kept: ConnectionProfiles(kept.current, {**kept.by_name, name: profile})
    )


def write(text: Any) -> Any:
    path = config.profiles_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_without_a_file_there_are_none() -> None:
    assert config.read_profiles() == ConnectionProfiles(None, {})


def test_what_is_kept_is_read_again_and_only_its_owner_may() -> None:
    full = ConnectionProfile(
        url="https://catalog.example.com/gms",
        source="environment:PROD_TOKEN",
        read_only=True,
        timeout_seconds=2.5,
        signs="when asked",
    )
    other = ConnectionProfile(data_dir='/srv/a "quoted" \\ dir\u00e9')
    config.change_profiles(lambda _: ConnectionProfiles("prod", {"prod": full, "a.b": other}))
    assert config.read_profiles() == ConnectionProfiles("prod", {"a.b": other, "prod": full})
    path = config.profiles_file()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert tomllib.loads(path.read_text())["profiles"]["prod"]["token_from"] == (
        "environment:PROD_TOKEN"
    )


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1))
def test_any_directory_is_written_so_that_it_reads_back(name: Any) -> None:
    keep("one", ConnectionProfile(data_dir=name))
    assert config.read_profiles().by_name["one"].data_dir == name


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ('current = "a"\n[profiles.a\n', 2, "]"),
        ("[profiles.a]\nurl = 3\n", 1, "url"),
        ('# mine\n\n[profiles.b]\nurl = "http://b"\n[profiles.a]\n', 5, "profile a"),
        ('[profiles.a]\nurl = "http://a"\nreadonly = true\n', 1, "readonly"),
        ('[profiles.a]\nurl = "http://a"\ntoken_from = "hat"\n', 1, "'hat'"),
        ('[profiles.a]\nurl = "http://a"\ntoken_from = "environment:A-B"\n', 1, "'A-B'"),
        ('[profiles.a]\nurl = "http://me:secret@a"\n', 1, "no password"),
        ('[profiles.a]\nurl = "http://a"\ntimeout_seconds = 0\n', 1, "seconds"),
        ('[profiles.a]\nurl = "http://a"\nsigns = "never"\n', 1, "never"),
        ('\n[profiles.embedded]\nurl = "http://a"\n', 2, "embedded"),
        ('\n["profiles"."b c"]\nurl = "http://a"\n', 2, "invalid profile name"),
        ('\ncolour = "red"\n', 2, "colour"),
        ("current = 3\n", 1, "current"),
        ("profiles = 3\n", 1, "profiles"),
    ],
)
def test_a_damaged_file_is_named_with_its_line_and_left_alone(
    text: str, line: int, told: str
) -> None:
    path = write(text)
    with pytest.raises(InvalidFile) as caught:
        config.read_profiles()
    said = str(caught.value)
    assert str(path) in said
    assert f"line {line}" in said
    assert told in said
    with pytest.raises(InvalidFile):
        keep("new", ConnectionProfile(url="http://new"))
    assert path.read_text() == text


def test_a_file_that_is_no_text_is_named_with_its_line() -> None:
    path = write("")
    path.write_bytes(b"# one\n\xff\n")
    with pytest.raises(InvalidFile, match=r"line 2.*UTF-8"):
        config.read_profiles()


@pytest.mark.parametrize(
    ("name", "profile"),
    [
        ("a", ConnectionProfile(data_dir="/tmp/a\x7fb")),
        ("a", ConnectionProfile(data_dir="/tmp/\ud800")),
        ("a", ConnectionProfile()),
        ("a b", ConnectionProfile(url="http://a")),
    ],
)
def test_what_could_not_be_read_again_is_not_written(name: str, profile: Any) -> None:
    keep("before", ConnectionProfile(url="http://before"))
    with pytest.raises(InvalidInput):
        keep(name, profile)
    assert list(config.read_profiles().by_name) == ["before"]


def test_what_many_change_at_once_is_all_kept() -> None:
    names = [f"p{number}" for number in range(12)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda name: keep(name, ConnectionProfile(url=f"http://{name}")), names))
    assert set(config.read_profiles().by_name) == set(names)
    leftovers = {path.name for path in config.config_dir().iterdir()}
    assert leftovers == {"profiles.toml", ".profiles.toml.lock"}


def test_a_place_that_cannot_be_written_is_a_sentence(
    home: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "file").write_text("")
    monkeypatch.setenv("CATALOG_CONFIG_DIR", str(home / "file" / "config"))
    with pytest.raises(StorageFault, match="CATALOG_CONFIG_DIR"):
        keep("a", ConnectionProfile(url="http://a"))


@pytest.mark.parametrize(
    "url",
    [
        "catalog.example.com",
        "ftp://catalog",
        "http://",
        "http://a b",
        "http://a\n",
        "http://a:99999",
        "http://me:secret@a",
        "http://a/?token=x",
        "http://a/#x",
        "",
    ],
)
def test_an_address_that_is_none_is_refused_without_repeating_a_password(url: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        ConnectionProfile(url=url).checked()
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["https://a.example.com/gms", "http://[::1]:8080", "unix:/run/c"])
def test_an_address_is_kept_as_it_is(url: str) -> None:
    assert ConnectionProfile(url=url).checked().url == url


@pytest.mark.parametrize("name", ["", ".a", "a/b", "..", "-a", "a b", "é", "x" * 65, "embedded"])
def test_a_name_that_could_not_be_a_files_is_refused(name: Any) -> None:
    with pytest.raises(InvalidInput):
        config.check_name(name)


def test_embedded_is_always_there_and_an_unknown_name_is_told_the_known_ones() -> None:
    keep("prod", ConnectionProfile(url="http://a"))
    kept = config.read_profiles()
    assert kept.named("embedded").data_dir == str(config.data_dir())
    with pytest.raises(UnknownName, match="prod"):
        kept.named("prdo")
