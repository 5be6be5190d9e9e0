"""`catalog login`: people sign in in their browser, or with a token, and are known from then on."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from explorer.client import Catalog
from explorer.errors import NotSignedIn
from explorer.metadata.registry import load_registry
from explorer.server.app import Service
from explorer.server.authentication import Gate, Keyring, create_token
from explorer.server.data_directory import open_catalog
from explorer.server.oidc import Issuer, OidcSettings
from tests.cli.conftest import Run
from tests.conftest import serving
from tests.oidc import AUDIENCE, CLIENT, SigningKey, TestIssuer, running_issuer
from tests.server.test_replicas import eventually

KEYRING = Path(__file__).parents[1] / "config" / "data"


@pytest.fixture
def issuer() -> Iterator[TestIssuer]:
    with running_issuer() as found:
        found.with_device_flow()
        yield found


@pytest.fixture
def server(issuer: TestIssuer, tmp_path: Path) -> Iterator[str]:
    """The address of a service that takes tokens of its own and of the issuer."""
    settings = OidcSettings(issuer.url, (AUDIENCE,), client_id=CLIENT)
    (tmp_path / "served").mkdir()
    with ExitStack() as held:
        catalog = open_catalog(tmp_path / "served", load_registry())
        held.callback(catalog.close)
        gate = Gate(Keyring(tmp_path / "tokens.json"), issuer=Issuer(settings, interval_seconds=0))
        yield held.enter_context(serving(Service(catalog, gate=gate, sign_in=settings.offer())))


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
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
def run(catalog: Run, home: dict[str, str]) -> Callable[..., Any]:
    """Any command for that reader."""
    return partial(_run, catalog, home)


@pytest.fixture
def run_with_keyring(process: Run, home: dict[str, str]) -> Callable[..., Any]:
    """The same in a process of its own, which finds the reader's keyring."""
    return partial(_run, process, home)


def _run(command: Run, home: Any, *arguments: str, stdin: bytes = b"") -> Any:
    return command(*arguments, url=None, stdin=stdin, **home)


def profiles(run: Callable[..., Any]) -> dict[str, Any]:
    return {one["name"]: one for one in run("profile", "list", "--json").json}


def test_people_sign_in_in_their_browser(
    run_with_keyring: Callable[..., Any], server: str, issuer: TestIssuer, tmp_path: Path
) -> None:
    run = run_with_keyring
    ran = run("login", "--url", server, "--profile", "prod")
    assert ran.code == 0, ran
    assert f"open {issuer.url}/activate" in ran.err
    assert "WDJB-MJHT" in ran.err
    assert "signed in to" in ran.err
    assert "urn:li:corpuser:ann" in ran.err
    assert issuer.asked["/realm/token"] == 2
    kept = json.loads((tmp_path / "keyring.json").read_text())
    (held,) = map(json.loads, kept.values())
    assert held["access_token"] not in ran.out + ran.err
    assert held["refresh_token"] not in (tmp_path / "config" / "profiles.toml").read_text()
    assert profiles(run)["prod"]["token_from"] == "keyring"
    assert "signed in as urn:li:corpuser:ann" in run("profile", "test", "prod").out
    assert run("search", "x", "--profile", "prod").code == 0
    # The address is enough, now that a profile is of it.
    assert run("search", "x", "--url", server).code == 0
    assert issuer.asked["refresh"] == 0
    assert run("profile", "remove", "prod").code == 0
    assert json.loads((tmp_path / "keyring.json").read_text()) == {}


def test_a_sign_in_that_expired_is_renewed_until_the_issuer_refuses(
    run: Callable[..., Any], server: str, issuer: TestIssuer, tmp_path: Path
) -> None:
    issuer.expires_in = 1
    assert run("login", "--url", server, "--in-file").code == 0
    (name,) = set(profiles(run)) - {"embedded"}
    assert name == "127.0.0.1"
    for times in (1, 2):
        assert run("search", "x", "--profile", name).code == 0
        assert issuer.asked["refresh"] == times
    issuer._refresh_tokens.clear()
    ran = run("search", "x", "--profile", name)
    assert ran.code == 1
    assert "the sign-in is not renewed: it was used before" in ran.err
    assert f"catalog login --profile {name}" in ran.err
    # Signed in again, under the same name.
    issuer.expires_in = 300
    assert run("login", "--profile", name).code == 0
    assert run("search", "x", "--profile", name).code == 0


@pytest.mark.nightly
def test_a_client_that_stays_open_renews_the_token_that_the_server_refuses(
    run: Callable[..., Any],
    server: str,
    issuer: TestIssuer,
    home: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert run("login", "--url", server, "--profile", "prod", "--in-file").code == 0
    monkeypatch.setenv("CATALOG_CONFIG_DIR", home["CATALOG_CONFIG_DIR"])
    with Catalog(profile="prod") as open_for_long:
        assert open_for_long.search("x").total == 0
        # The key that signed its token is gone, long before the token ends.
        issuer.keys = [SigningKey("second")]
        httpx.get(f"{server}/changes", headers={"Authorization": f"Bearer {issuer.token()}"})
        assert open_for_long.search("y").total == 0
        assert issuer.asked["refresh"] == 1
        issuer._refresh_tokens.clear()
        issuer.keys = [SigningKey("third")]
        httpx.get(f"{server}/changes", headers={"Authorization": f"Bearer {issuer.token()}"})
        with pytest.raises(NotSignedIn, match="the sign-in is not renewed"):
            open_for_long.search("z")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("access_denied", "the sign-in was refused in the browser"),
        ("expired_token", "nobody signed in with the code in time"),
        ("invalid_grant", "gives no token: invalid_grant"),
    ],
)
def test_a_sign_in_that_fails_keeps_nothing(
    run: Callable[..., Any], server: str, issuer: TestIssuer, error: str, told: str, tmp_path: Path
) -> None:
    issuer.device_error = error
    ran = run("login", "--url", server)
    assert ran.code == 1
    assert told in ran.err
    assert set(profiles(run)) == {"embedded"}
    assert not (tmp_path / "keyring.json").exists()


def test_a_sign_in_that_the_server_does_not_take_is_not_kept(
    run: Callable[..., Any], server: str, issuer: TestIssuer
) -> None:
    issuer.token_claims = {"aud": "another"}
    ran = run("login", "--url", server)
    assert ran.code == 1
    assert "it is meant for another audience" in ran.err
    assert set(profiles(run)) == {"embedded"}


@pytest.mark.nightly
def test_a_token_is_asked_for_where_there_is_no_device_flow(
    run_with_keyring: Callable[..., Any], server: str, issuer: TestIssuer, tmp_path: Path
) -> None:
    run = run_with_keyring
    shown, _ = create_token(tmp_path / "tokens.json", "a", "urn:li:corpuser:bob")
    issuer.more.clear()
    wrong = run("login", "--url", server, "--token-stdin", stdin=b"cat_0_wrong")
    assert wrong.code == 1
    assert set(profiles(run)) == {"embedded"}
    nobody = run("login", "--url", server)
    assert nobody.code != 0
    assert issuer.asked["/realm/device"] == 0
    signed = {"Authorization": f"Bearer {shown}"}
    eventually(lambda: httpx.get(f"{server}/changes", headers=signed).status_code == 200)
    ran = run("login", "--url", server, "--profile", "bobs", "--token-stdin", stdin=shown.encode())
    assert ran.code == 0, ran
    assert "as urn:li:corpuser:bob" in ran.err
    assert shown not in ran.out + ran.err
    assert list(json.loads((tmp_path / "keyring.json").read_text()).values()) == [shown]
    assert run("search", "x", "--profile", "bobs").code == 0


def test_what_is_no_server_to_sign_in_to_is_said(run: Callable[..., Any], server: str) -> None:
    local = run("login")
    assert local.code == 1
    assert "asks for no token" in local.err
    assert run("login", "--profile", "none").code == 1
    run("profile", "add", "other", "--url", "https://catalog.example.com")
    taken = run("login", "--url", server, "--profile", "other")
    assert taken.code == 1
    assert "is of another server" in taken.err
