"""Where a profile's token is kept and fetched from, and what is said when it cannot be."""

import contextlib
import os
import pty
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import keyring
import pytest
from keyring.backends.fail import Keyring as NoKeyring

from explorer import config
from explorer.config import ConnectionProfile, ConnectionProfiles, servers
from explorer.errors import InvalidInput, Misconfigured, MissingExtra, NotSignedIn, StorageFault

URL = "https://catalog.example.com"
OTHERS = "--token-from prompt"


def keep(name: Any, profile: Any, token: Any = None) -> None:
    if token:
        config.keep_token(name, profile, token)
    config.change_profiles(
        lambda kept: ConnectionProfiles(kept.current, {**kept.by_name, name: profile})
    )


def token_of(name: Any) -> Any:
    return config.server(profile=name).token()


def token_files() -> Any:
    return config.config_dir() / "tokens"


def test_the_keyring_keeps_gives_and_forgets_a_token(own_keyring: Any) -> None:
    profile = ConnectionProfile(url=URL, source="keyring")
    keep("prod", profile, "s3cret")
    assert token_of("prod") == "s3cret"
    assert "s3cret" not in config.profiles_file().read_text()
    assert config.forget_token("prod", profile) is True
    assert config.forget_token("prod", profile) is False
    assert "s3cret" not in own_keyring.read_text()
    with pytest.raises(NotSignedIn, match="catalog profile add prod"):
        token_of("prod")


def test_a_token_of_the_keyring_does_not_follow_its_name_to_another_address(
    own_keyring: Any,
) -> None:
    keep("prod", ConnectionProfile(url=URL, source="keyring"), "s3cret")
    keep("prod", ConnectionProfile(url="https://elsewhere.example.com", source="keyring"))
    with pytest.raises(NotSignedIn):
        token_of("prod")
    keep("prod", ConnectionProfile(url=f"{URL}:443/", source="keyring"))
    assert token_of("prod") == "s3cret"


@pytest.mark.parametrize(
    ("fault", "told"), [("locked", "the collection is locked"), ("broken", "the bus is gone")]
)
def test_a_keyring_that_fails_is_a_sentence(
    own_keyring: Any, monkeypatch: pytest.MonkeyPatch, fault: str, told: str
) -> None:
    profile = ConnectionProfile(url=URL, source="keyring")
    keep("prod", profile)
    monkeypatch.setenv("OWN_KEYRING_FAULT", fault)
    for ask in (
        lambda: token_of("prod"),
        lambda: config.keep_token("prod", profile, "s3cret"),
        lambda: config.forget_token("prod", profile),
    ):
        with pytest.raises(Misconfigured) as caught:
            ask()
        said = str(caught.value)
        assert told in said
        assert OTHERS in said
        assert "\n" not in said
        assert "s3cret" not in said


def test_a_machine_without_a_keyring_is_a_sentence(own_keyring: Any) -> None:
    keyring.set_keyring(NoKeyring())
    keep("prod", ConnectionProfile(url=URL, source="keyring"))
    with pytest.raises(Misconfigured, match="this machine has none") as caught:
        token_of("prod")
    assert OTHERS in str(caught.value)


def test_without_the_package_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    keep("prod", ConnectionProfile(url=URL, source="keyring"))
    with pytest.raises(MissingExtra, match=r"\[keyring\]") as caught:
        token_of("prod")
    assert OTHERS in str(caught.value)


def test_a_keyring_that_never_answers_is_not_waited_for(
    own_keyring: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    until_the_end = threading.Event()

    def hang(service: str, username: str) -> None:
        until_the_end.wait()

    monkeypatch.setattr(keyring.get_keyring(), "get_password", hang)
    monkeypatch.setattr(servers, "_PATIENCE_SECONDS", 0.05)
    keep("prod", ConnectionProfile(url=URL, source="keyring"))
    with pytest.raises(Misconfigured, match="did not answer"):
        token_of("prod")
    until_the_end.set()


def test_a_file_keeps_a_token_that_only_its_owner_reads() -> None:
    profile = ConnectionProfile(url=URL, source="file")
    keep("prod", profile, "s3cret")
    kept = token_files() / "prod"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700
    assert token_of("prod") == "s3cret"
    assert config.forget_token("prod", profile) is True
    assert not kept.exists()
    with pytest.raises(NotSignedIn, match="--replace"):
        token_of("prod")


def test_a_token_in_a_file_does_not_follow_its_name_to_another_address() -> None:
    keep("prod", ConnectionProfile(url=URL, source="file"), "s3cret")
    keep("prod", ConnectionProfile(url="https://elsewhere.example.com", source="file"))
    with pytest.raises(NotSignedIn, match="another address"):
        token_of("prod")
    keep("prod", ConnectionProfile(url=f"{URL}:443/", source="file"))
    assert token_of("prod") == "s3cret"
    (token_files() / "prod").write_text("by-hand\n")
    assert token_of("prod") == "by-hand"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_file_that_others_may_open_is_refused(mode: int) -> None:
    keep("prod", ConnectionProfile(url=URL, source="file"), "s3cret")
    (token_files() / "prod").chmod(mode)
    with pytest.raises(StorageFault, match="chmod 600") as caught:
        token_of("prod")
    assert "s3cret" not in str(caught.value)


def test_a_variable_is_read_when_the_token_is_called_for(monkeypatch: pytest.MonkeyPatch) -> None:
    keep("prod", ConnectionProfile(url=URL, source="environment:PROD_TOKEN"))
    meant = config.server(profile="prod")
    with pytest.raises(NotSignedIn, match="PROD_TOKEN"):
        meant.token()
    monkeypatch.setenv("PROD_TOKEN", "s3cret\n")
    assert meant.token() == "s3cret"


@pytest.mark.parametrize("text", ["two words", "line\nbreak", "caf\u00e9", "a\x7f"])
def test_what_no_header_can_carry_is_refused_unsaid(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        config.server(URL, token=text).token()
    assert text not in str(caught.value)
    assert text not in repr(caught.value)


def test_nobody_is_asked_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    keep("prod", ConnectionProfile(url=URL, source="prompt"))
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        with pytest.raises(NotSignedIn, match="CATALOG_TOKEN"):
            token_of("prod")
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(NotSignedIn):
        token_of("prod")


def test_the_person_at_the_terminal_is_asked_once_and_unseen() -> None:
    keep("prod", ConnectionProfile(url=URL, source="prompt"))
    program = (
        "from explorer import config; meant = config.server(profile='prod'); "
        "assert meant.token.asks; print(meant.token(), meant.token())"
    )
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        (sys.executable, "-c", program),
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        shown = b""
        while b"Access token of prod" not in shown:
            shown += os.read(ours, 1_000)
        os.write(ours, b"s3cret\n")
        out, _ = process.communicate(timeout=120)
    with contextlib.suppress(OSError):
        shown += os.read(ours, 1_000)
    os.close(ours)
    assert out == b"s3cret s3cret\n"
    assert b"s3cret" not in shown
