"""`catalog token`: made, listed, revoked, and shown to a server by the other commands."""

import json
import os
import re
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from explorer.server.authentication import Role, create_token
from tests.cli.conftest import Run
from tests.oidc import AUDIENCE, running_issuer
from tests.postgres import Cluster


@pytest.fixture
def tokens(catalog: Run, tmp_path: Path) -> Any:
    """`catalog token …` on this test's directory."""

    def run(*arguments: Any) -> Any:
        return catalog("token", *arguments, url=None, CATALOG_DATA_DIR=str(tmp_path / "data"))

    return run


def test_a_token_is_printed_alone_and_once(tokens: Any, tmp_path: Path) -> None:
    made = tokens("create", "nightly", "--actor", "jdoe", "--expires", "30d")
    assert made.code == 0, made
    assert re.fullmatch(r"cat_[0-9a-f]{12}_[\w-]{43}\n", made.out)
    assert "urn:li:corpuser:jdoe" in made.err
    secret = made.out.strip().split("_", 2)[2]
    listed = [tokens("list"), tokens("list", "--json")]
    for shown in (made.err, (tmp_path / "data" / "tokens.json").read_text()):
        assert secret not in shown
    for ran in listed:
        assert ran.code == 0
        assert secret not in ran.out + ran.err


def test_a_token_ends_at_the_millisecond_that_was_given(tokens: Any, tmp_path: Path) -> None:
    # As a number of seconds with a fraction it is a little less.
    end = datetime(2038, 9, 1, microsecond=2_000, tzinfo=UTC)
    assert tokens("create", "late", "--actor", "ann", "--expires", end.isoformat()).code == 0
    assert f"{round(end.timestamp() * 1000)}" in (tmp_path / "data" / "tokens.json").read_text()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to others")
def test_what_root_changes_still_belongs_to_whom_the_service_runs_as(
    tokens: Any, tmp_path: Path
) -> None:
    directory = tmp_path / "data"
    directory.mkdir()
    os.chown(directory, 65_534, 65_534)
    for name in ("one", "two"):
        assert tokens("create", name, "--actor", "ann").code == 0
    assert {path.name: path.stat().st_uid for path in directory.iterdir()} == {
        path.name: 65_534 for path in directory.iterdir()
    }
    os.chown(directory, 0, 0)
    assert tokens("revoke", "one").code == 0
    assert (directory / "tokens.json").stat().st_uid == 65_534


def test_the_list_says_whose_and_whether_it_works(tokens: Any) -> None:
    tokens("create", "one", "--actor", "urn:li:corpuser:jdoe")
    tokens("create", "two", "--actor", "ann", "--expires", "2999-12-31")
    revoked = tokens("revoke", "one")
    assert (revoked.code, revoked.out) == (0, "")
    one, two = tokens("list", "--json").json
    assert (one["name"], one["actor"], one["state"], one["expires"]) == (
        "one",
        "urn:li:corpuser:jdoe",
        "revoked",
        None,
    )
    assert one["revoked"].endswith("Z")
    assert (two["state"], two["expires"], two["revoked"]) == ("valid", "3000-01-01T00:00:00Z", None)
    table = tokens("list").out
    assert "revoked" in table
    assert "urn:li:corpuser:ann" in table


def test_the_list_says_the_role_and_the_last_use(
    tokens: Any, catalog: Run, protected: Any, tmp_path: Path
) -> None:
    assert tokens("create", "daily", "--actor", "ann").code == 0
    assert tokens("create", "board", "--actor", "bob", "--role", "reader").code == 0
    assert tokens("create", "root", "--actor", "eve", "--role", "admin").code == 0
    assert tokens("create", "odd", "--actor", "eve", "--role", "owner").code == 2
    listed = tokens("list", "--json").json
    assert [(one["name"], one["role"], one["last_used"]) for one in listed] == [
        ("daily", "editor", None),
        ("board", "reader", None),
        ("root", "admin", None),
    ]
    assert "editor  never" in tokens("list").out

    address, token = protected
    kept = ("--data-dir", str(tmp_path / "kept"))
    before = datetime.now(UTC) - timedelta(seconds=1)
    assert catalog("search", "x", url=address, CATALOG_TOKEN=token).code == 0
    (used,) = catalog("token", "list", "--json", *kept, url=None).json
    assert before.replace(microsecond=0) <= datetime.fromisoformat(used["last_used"])
    assert used["last_used"][:10] in catalog("token", "list", *kept, url=None).out


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (("create", "a"), 2, "--actor"),
        (("create", "a", "--actor", "urn:li:tag:x"), 2, "not a user"),
        (("create", "a", "--actor", "x", "--expires", "soon"), 2, "30d"),
        (("create", "a", "--actor", "x", "--expires", "2001-01-01"), 2, "over already"),
        (("create", "a b", "--actor", "x"), 1, "invalid token name"),
        (("revoke", "nothing"), 1, "no token named"),
    ],
)
def test_what_cannot_be_done_is_said(tokens: Any, arguments: Any, code: int, told: str) -> None:
    ran = tokens(*arguments)
    assert (ran.code, ran.out) == (code, "")
    assert told in ran.err


def test_a_token_file_can_stand_elsewhere(catalog: Run, tmp_path: Path) -> None:
    file = tmp_path / "elsewhere" / "t.json"
    named = ("--token-file", str(file))
    assert catalog("token", "create", "a", "--actor", "x", *named, url=None).code == 0
    assert json.loads(file.read_text())["tokens"][0]["name"] == "a"
    file.chmod(0o644)
    ran = catalog("token", "list", *named, url=None)
    assert ran.code == 3
    assert "chmod 600" in ran.err


def test_the_commands_show_the_token_of_the_environment(catalog: Run, protected: Any) -> None:
    address, token = protected
    without = catalog("search", "x", url=address)
    assert without.code == 1
    assert "set CATALOG_TOKEN" in without.err
    wrong = catalog("search", "x", url=address, CATALOG_TOKEN="cat_0_wrong")
    assert wrong.code == 1
    assert "cat_0_wrong" not in wrong.err
    right = catalog("search", "x", url=address, CATALOG_TOKEN=token)
    assert right.code == 0, right


@pytest.fixture
def protected(tmp_path: Path, serving: Any) -> Any:
    """The address of a server that wants a token, and one."""
    token, _ = create_token(tmp_path / "kept" / "tokens.json", "a", "urn:li:corpuser:alice")
    return serving(tmp_path / "kept"), token


@pytest.fixture
def serving(command: tuple[str, ...]) -> Iterator["_Servers"]:
    """Serve a directory until the test ends; gives the address."""
    servers = _Servers(command)
    yield servers
    servers.stop()


class _Servers:
    """Serves directories until it is told to stop; called, it gives the address."""

    def __init__(self, command: tuple[str, ...]) -> None:
        self._command = command
        self._started: list[subprocess.Popen[bytes]] = []

    def __call__(self, directory: Any, *more: str) -> str:
        process = subprocess.Popen(
            (*self._command, "serve", "--port", "0", "--data-dir", str(directory), *more),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._started.append(process)
        assert process.stdout is not None
        return process.stdout.readline().decode().strip()

    def stop(self) -> None:
        while self._started:
            process = self._started.pop()
            process.terminate()
            process.communicate(timeout=120)


def test_tokens_are_kept_in_a_database(catalog: Run, postgres: Cluster, tmp_path: Path) -> None:
    database = postgres.new_schema()
    named = ("--store", database)
    made = catalog("token", "create", "a", "--actor", "ann", "--role", "admin", *named, url=None)
    assert made.code == 0, made
    assert re.fullmatch(r"cat_[0-9a-f]{12}_[\w-]{43}\n", made.out)

    def run(*arguments: str) -> Any:
        place = str(tmp_path / "data")
        return catalog(*arguments, url=None, CATALOG_STORE=database, CATALOG_DATA_DIR=place)

    (listed,) = run("token", "list", "--json").json
    assert (listed["name"], listed["actor"], listed["role"], listed["state"]) == (
        *("a", "urn:li:corpuser:ann", "admin"),
        "valid",
    )
    assert not (tmp_path / "data").exists()
    assert catalog("token", "revoke", "a", *named, url=None).code == 0
    assert "revoked" in catalog("token", "list", *named, url=None).out
    wrong = catalog("token", "list", "--store", "x.db", url=None)
    assert wrong.code == 2
    assert "a store is given as postgresql://" in wrong.err
    # A file that is named is what counts.
    file = ("--token-file", str(tmp_path / "t.json"))
    assert run("token", "create", "b", "--actor", "x", *file).code == 0
    assert (tmp_path / "t.json").exists()


def test_a_service_of_a_database_asks_for_the_tokens_in_it(
    catalog: Run, postgres: Cluster, serving: Any, tmp_path: Path
) -> None:
    database, kept = postgres.new_schema(), tmp_path / "kept"
    token, _ = create_token(kept / "tokens.json", "a", "urn:li:corpuser:alice", role="reader")
    address = serving(kept, "--store", database)
    assert catalog("search", "x", url=address).code == 1
    assert catalog("search", "x", url=address, CATALOG_TOKEN=token).code == 0
    assert not (kept / "tokens.json").exists()
    named = ("--store", database)
    (listed,) = catalog("token", "list", "--json", *named, url=None).json
    assert (listed["name"], listed["role"]) == ("a", "reader")


def test_people_come_with_tokens_of_their_sign_in(
    catalog: Run, serving: Any, tmp_path: Path
) -> None:
    with running_issuer() as issuer:
        named = ("--oidc-issuer", issuer.url, "--oidc-audience", AUDIENCE)
        roles = ("--oidc-role-claim", "groups", "--oidc-role", "stewards=editor")
        address = serving(tmp_path / "data", *named, *roles)
        assert catalog("search", "x", url=address).code == 1
        reader, editor = issuer.token(), issuer.token(groups=["stewards"])
        assert catalog("search", "x", url=address, CATALOG_TOKEN=reader).code == 0
        made = [
            catalog("new", "tag", name, url=address, CATALOG_TOKEN=token)
            for name, token in (("one", reader), ("two", editor))
        ]
        assert made[0].code != 0
        assert "Whoever runs your sign-in" in made[0].err
        assert made[1].code == 0, made[1]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--oidc-audience", "a"), "needs --oidc-issuer"),
        (("--oidc-issuer", "https://a"), "needs --oidc-audience"),
        (
            ("--oidc-issuer", "https://a", "--oidc-audience", "a", "--oidc-role", "a=admin"),
            "needs --oidc-role-claim",
        ),
        (("--oidc-role", "a=owner"), "is not VALUE=ROLE"),
        (("--rate-limit", "5/year"), "is not a number of requests like"),
        (("--rate-limit", "0/min"), "is not a number of requests like"),
    ],
)
def test_what_cannot_be_served_is_said(catalog: Run, arguments: Any, told: str) -> None:
    ran = catalog("serve", *arguments, url=None)
    assert ran.code == 2
    assert told in ran.err


def test_who_did_what_is_told(catalog: Run, serving: Any, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    roles: tuple[Role, ...] = ("reader", "editor")
    tokens = [
        create_token(kept / "tokens.json", role, f"urn:li:corpuser:{role}", role=role)[0]
        for role in roles
    ]
    address = serving(kept)
    for token in tokens:
        catalog("new", "tag", "audited", url=address, CATALOG_TOKEN=token)
    named = ("--data-dir", str(kept))
    # Records are kept a moment after the answer.
    deadline = time.monotonic() + 60
    while len(catalog("audit", "--json", *named, url=None).json) < 2:
        assert time.monotonic() < deadline
    shown = catalog("audit", *named, url=None)
    assert shown.code == 0
    refused, done = shown.out.splitlines()
    assert "refused 403 urn:li:corpuser:reader (token:reader) from 127.0.0.1" in refused
    assert "done 200 urn:li:corpuser:editor (token:editor) from 127.0.0.1" in done
    assert done.endswith("POST /aspects?action=ingestProposal urn:li:tag:audited")
    found = catalog("audit", "--refused", "--since", "1h", "--json", *named, url=None).json
    assert [(one["outcome"], one["actor"]) for one in found] == [
        ("refused", "urn:li:corpuser:reader")
    ]
    found = catalog("audit", "--actor", "editor", "-n", "1", "--json", *named, url=None).json
    assert [one["urns"] for one in found] == [["urn:li:tag:audited"]]
    nothing = catalog("audit", "--since", "2999-01-01", *named, url=None)
    assert (nothing.out, nothing.code) == ("", 0)
    assert f"nothing was changed or refused in {kept}" in nothing.err
    elsewhere = catalog("audit", url=None, CATALOG_URL=address, CATALOG_DATA_DIR="")
    assert (elsewhere.out, elsewhere.code) == ("", 0)
    assert f"the audit log of {address} is where that server runs" in elsewhere.err
    assert catalog("audit", "--since", "soon", *named, url=None).code == 2


@pytest.mark.nightly
def test_services_of_a_database_tell_in_one_place(
    catalog: Run, postgres: Cluster, serving: Any, tmp_path: Path
) -> None:
    database = postgres.new_schema()
    named = ("--store", database)
    made = catalog("token", "create", "a", "--actor", "ann", *named, url=None)
    for name in ("one", "two"):
        address = serving(tmp_path / name, *named)
        done = catalog("new", "tag", name, url=address, CATALOG_TOKEN=made.out.strip())
        assert done.code == 0, done
    # Nothing is lost when a service is ended.
    serving.stop()
    found = catalog("audit", "--json", *named, url=None).json
    assert [one["urns"] for one in found] == [["urn:li:tag:one"], ["urn:li:tag:two"]]
    (listed,) = catalog("token", "list", "--json", *named, url=None).json
    assert listed["last_used"] is not None
