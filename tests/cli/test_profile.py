"""`catalog profile`: servers by name, asked by the other commands, their tokens shown nowhere."""

import contextlib
import json
import os
import pty
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run

KEYRING = Path(__file__).parents[1] / "config" / "data"
URL = "https://catalog.example.com"


@pytest.fixture
def home(tmp_path: Path) -> Any:
    """The variables of a reader who has a home, and a keyring in it."""
    return {
        "CATALOG_CONFIG_DIR": str(tmp_path / "config"),
        "CATALOG_DATA_DIR": "",
        "HOME": str(tmp_path),
        "OWN_KEYRING": str(tmp_path / "keyring.json"),
        "PYTHON_KEYRING_BACKEND": "own_keyring.Keyring",
        "PYTHONPATH": str(KEYRING),
    }


@pytest.fixture
def profile(catalog: Run, home: Any) -> Any:
    """`catalog profile …` for that reader."""

    def run(*arguments: Any, stdin: bytes = b"", **variables: Any) -> Any:
        return catalog("profile", *arguments, url=None, stdin=stdin, **{**home, **variables})

    return run


@pytest.fixture
def ask(catalog: Run, home: Any) -> Any:
    """Any command for that reader, with no address named."""

    def run(*arguments: Any, **variables: Any) -> Any:
        return catalog(*arguments, url=None, **{**home, **variables})

    return run


def listed(profile: Any) -> Any:
    return {one["name"]: one for one in profile("list", "--json").json}


def test_a_profile_is_added_listed_used_and_removed(profile: Any) -> None:
    added = profile("add", "prod", "--url", URL, "--read-only", "--timeout", "2.5")
    assert (added.code, added.out, added.err) == (0, "", "added profile prod\n")
    assert listed(profile)["prod"] == {
        "name": "prod",
        "current": False,
        "url": URL,
        "data_dir": None,
        "user": None,
        "token_from": "none",
        "read_only": True,
        "timeout_seconds": 2.5,
        "signs": "always",
        "drafting_command": None,
    }
    assert profile("use", "prod").code == 0
    assert {name: one["current"] for name, one in listed(profile).items()} == {
        "embedded": False,
        "prod": True,
    }
    table = profile("list")
    assert f"* prod {URL} none read only, 2.5 s" in " ".join(table.out.split())
    asked = profile("remove", "prod")
    assert (asked.code, "--yes" in asked.err) == (2, True)
    assert profile("remove", "prod", "--yes").code == 0
    assert list(listed(profile)) == ["embedded"]


def test_a_name_in_use_is_replaced_only_when_told_to(profile: Any) -> None:
    profile("add", "prod", "--url", URL, "--use")
    again = profile("add", "prod", "--url", "http://other")
    assert again.code == 1
    assert "--replace" in again.err
    assert listed(profile)["prod"]["url"] == URL
    assert profile("add", "prod", "--url", "http://other", "--replace").code == 0
    one = listed(profile)["prod"]
    assert (one["url"], one["current"]) == ("http://other", True)


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("add", "a"), 2, "either --url or --data-dir"),
        (("add", "a", "--url", URL, "--data-dir", "/x"), 2, "either --url or --data-dir"),
        (("add", "a", "--url", URL, "--token-from", "hat"), 2, "env:NAME"),
        (("add", "a", "--url", URL, "--token-from", "env:"), 2, "env:NAME"),
        (("add", "a", "--url", URL, "--token-from", "env:A-B"), 1, "'A-B'"),
        (
            ("add", "a", "--url", URL, "--token-from", "none", "--token-in-file"),
            2,
            "cannot be combined",
        ),
        (("add", "a", "--url", URL, "--token-stdin"), 2, "--token-in-file"),
        (("add", "a", "--url", URL, "--token-in-file"), 2, "--token-stdin"),
        (("add", "a", "--url", URL, "--timeout", "0"), 1, "seconds"),
        (("add", "a", "--url", "catalog.example.com"), 1, "https://"),
        (("add", "a", "--url", "https://me:s3cret@x"), 1, "no password"),
        (("add", "a/b", "--url", URL), 1, "invalid profile name"),
        (("add", "embedded", "--url", URL), 1, "another name"),
        (("use", "a"), 1, "no profile named"),
        (("remove", "a"), 1, "no profile named"),
        (("remove", "embedded"), 1, "the profile of the local catalog"),
        (("test", "a"), 1, "no profile named"),
    ],
)
def test_what_cannot_be_done_is_said(profile: Any, arguments: Any, code: int, told: str) -> None:
    ran = profile(*arguments)
    assert (ran.code, ran.out) == (code, "")
    assert told in ran.err
    assert "s3cret" not in ran.err
    assert list(listed(profile)) == ["embedded"]


def test_a_token_in_a_file_is_read_from_standard_input_and_goes_with_its_profile(
    profile: Any, tmp_path: Path
) -> None:
    added = profile(
        "add", "prod", "--url", URL, "--token-in-file", "--token-stdin", stdin=b"s3cret\n"
    )
    assert added.code == 0, added
    file = tmp_path / "config" / "tokens" / "prod"
    assert file.read_text().splitlines()[0] == "s3cret"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for shown in (added, profile("list"), profile("list", "--json")):
        assert "s3cret" not in shown.out + shown.err
    assert listed(profile)["prod"]["token_from"] == "file"
    assert "deleted its token" in profile("remove", "prod").err
    assert not file.exists()


def test_a_text_that_is_no_token_is_refused_and_nothing_is_kept(
    profile: Any, tmp_path: Path
) -> None:
    arguments = ("add", "prod", "--url", URL, "--token-in-file", "--token-stdin")
    for given in (b"", b"two words", b"\xff\xfe"):
        ran = profile(*arguments, stdin=given)
        assert ran.code == 1, ran
        assert "token" in ran.err
    assert not (tmp_path / "config" / "tokens").exists()
    assert list(listed(profile)) == ["embedded"]


def test_a_replaced_profile_takes_its_old_token_away(profile: Any, tmp_path: Path) -> None:
    arguments = ("add", "prod", "--url", URL)
    profile(*arguments, "--token-in-file", "--token-stdin", stdin=b"s3cret")
    ran = profile(*arguments, "--token-from", "env:PROD", "--replace")
    assert (ran.code, "deleted its token" in ran.err) == (0, True)
    assert not (tmp_path / "config" / "tokens" / "prod").exists()
    assert listed(profile)["prod"]["token_from"] == "environment:PROD"


def test_a_token_goes_through_the_systems_keyring(
    process: Run, home: Any, served: str, tmp_path: Path
) -> None:
    def run(*arguments: Any, stdin: bytes = b"", **variables: Any) -> Any:
        return process("profile", *arguments, url=None, stdin=stdin, **{**home, **variables})

    arguments = ("add", "prod", "--url", served, "--token-from", "keyring", "--token-stdin")
    locked = run(*arguments, stdin=b"s3cret", OWN_KEYRING_FAULT="locked")
    assert (locked.code, locked.out) == (3, "")
    assert "--token-in-file" in locked.err
    assert "Traceback" not in locked.err
    added = run(*arguments, stdin=b"s3cret")
    assert added.code == 0, added
    assert list(json.loads((tmp_path / "keyring.json").read_text()).values()) == ["s3cret"]
    assert "s3cret" not in (tmp_path / "config" / "profiles.toml").read_text()
    tested = run("test", "prod")
    assert tested.code == 0, tested
    assert "s3cret" not in tested.out + tested.err
    assert run("remove", "prod").code == 0
    assert json.loads((tmp_path / "keyring.json").read_text()) == {}


def test_a_server_is_asked_who_it_is_and_how_it_knows_the_reader(profile: Any, served: str) -> None:
    profile("add", "here", "--url", served)
    tested = profile("test", "here", "--json")
    assert tested.code == 0, tested
    said = tested.json
    assert (said["address"], said["product"]) == (served, "catalog")
    assert said["version"]
    assert said["took_millis"] >= 0
    line = profile("test", "here").out
    assert served in line
    assert said["version"] in line
    assert "signed in as urn:li:corpuser:" in line


def test_a_server_that_does_not_answer_is_exit_3_and_one_that_refuses_exit_1(
    profile: Any, command: tuple[str, ...], tmp_path: Path
) -> None:
    profile("add", "away", "--url", "http://127.0.0.1:1")
    assert profile("test", "away").code == 3
    with serving(command, tmp_path / "closed", "ann") as (address, token):
        profile("add", "closed", "--url", address, "--token-from", "env:OUR_TOKEN")
        refused = profile("test", "closed", OUR_TOKEN="cat_0_wrong")
        assert (refused.code, refused.out) == (1, "")
        assert "OUR_TOKEN" in profile("test", "closed").err
        let_in = profile("test", "closed", OUR_TOKEN=token)
        assert let_in.code == 0, let_in
        assert "urn:li:corpuser:ann" in let_in.out


def test_every_command_asks_the_server_of_its_profile(profile: Any, ask: Any, served: str) -> None:
    profile("add", "here", "--url", served)
    profile("add", "away", "--url", "http://127.0.0.1:1", "--use")
    assert ask("search", "x", "--json").code == 3
    assert ask("search", "x", "--json", "--profile", "here").code == 0
    assert ask("search", "x", "--json", CATALOG_PROFILE="here").code == 0
    assert ask("search", "x", "--json", CATALOG_URL=served).code == 0
    two = ask("search", "x", "--profile", "here", "--url", served)
    assert (two.code, "--url and --profile name two catalogs" in two.err) == (2, True)


def test_a_profile_that_is_only_read_is_not_written_to(
    profile: Any, ask: Any, served: str, catalog: Run
) -> None:
    urn = "urn:li:dataset:(urn:li:dataPlatform:hive,only.read,PROD)"
    value = {"json": {"description": "As it was."}}
    change = {"entityUrn": urn, "aspectName": "datasetProperties", "aspect": value}
    assert catalog("load", "-", stdin=json.dumps([change]).encode()).code == 0
    profile("add", "here", "--url", served, "--read-only")
    for named in (("--profile", "here"), ("--url", served)):
        refused = ask("describe", urn, "--text", "words", *named)
        assert (refused.code, "read-only" in refused.err) == (1, True), refused


def test_what_was_read_is_there_offline_and_nothing_else(
    profile: Any, ask: Any, served: str, tmp_path: Path
) -> None:
    profile("add", "here", "--url", served, "--use")
    kept = {"CATALOG_CACHE_DIR": str(tmp_path / "cache")}
    urn = "urn:li:tag:OfflineOne"
    online = ask("search", "offline", "--json", **kept)
    assert online.code == 0, online
    offline = ask("search", "offline", "--json", "--offline", **kept)
    assert (offline.code, offline.json) == (0, online.json)
    missing = ask("get", urn, "--offline", **kept)
    assert missing.code == 3, missing
    written = ask("describe", urn, "--text", "x", "--offline", **kept)
    assert written.code in (1, 3)


def test_the_local_catalog_is_neither_read_nor_written_offline(ask: Any, tmp_path: Path) -> None:
    local = {"CATALOG_DATA_DIR": str(tmp_path / "local")}
    for arguments in (("search", "x"), ("tag", "urn:li:tag:A", "--add", "B"), ("undo",)):
        refused = ask(*arguments, "--offline", **local)
        assert (refused.code, refused.out) == (1, "")
        assert "the local catalog has no offline copy" in refused.err


def test_using_a_profile_that_the_environment_overrides_is_said(profile: Any) -> None:
    profile("add", "prod", "--url", URL)
    assert "CATALOG_URL is set" in profile("use", "prod", CATALOG_URL="http://x").err
    assert "is set" not in profile("use", "prod").err


def test_a_damaged_file_is_exit_3_with_its_line(profile: Any, ask: Any, tmp_path: Path) -> None:
    path = tmp_path / "config" / "profiles.toml"
    path.parent.mkdir()
    path.write_text("[profiles.a]\nurl = \n")
    for ran in (profile("list"), profile("add", "b", "--url", URL), ask("search", "x")):
        assert ran.code == 3
        assert str(path) in ran.err
        assert "line 2" in ran.err
    assert path.read_text() == "[profiles.a]\nurl = \n"


def test_the_shell_completes_the_names_of_profiles(process: Run, home: Any, profile: Any) -> None:
    profile("add", "prod", "--url", URL)
    completed = process(
        url=None,
        _CATALOG_COMPLETE="zsh",
        COMP_LINE="catalog search --profile p",
        CATALOG_COMPLETION_SECONDS="30",
        **home,
    )
    assert "prod" in completed.out.split()


def test_the_token_to_keep_is_asked_for_unseen(
    command: tuple[str, ...], home: Any, tmp_path: Path
) -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        (*command, "profile", "add", "prod", "--url", URL, "--token-in-file"),
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env={**os.environ, **home},
        start_new_session=True,
    ) as process:
        os.close(theirs)
        shown = b""
        while b"Access token of prod" not in shown:
            shown += os.read(ours, 1_000)
        os.write(ours, b"s3cret\n")
        process.communicate(timeout=120)
    with contextlib.suppress(OSError):
        shown += os.read(ours, 1_000)
    os.close(ours)
    assert process.returncode == 0
    assert b"s3cret" not in shown
    assert (tmp_path / "config" / "tokens" / "prod").read_text().splitlines()[0] == "s3cret"


@contextlib.contextmanager
def serving(command: tuple[str, ...], directory: Any, actor: Any) -> Iterator[Any]:
    """A service that knows one user; gives its address and that user's token."""
    made = subprocess.run(
        (*command, "token", "create", "one", "--actor", actor, "--data-dir", str(directory)),
        capture_output=True,
        check=True,
        timeout=120,
    )
    with subprocess.Popen(
        (*command, "serve", "--port", "0", "--data-dir", str(directory)),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().decode().strip(), made.stdout.decode().strip()
        finally:
            process.kill()
