"""People come as themselves, with tokens of an OpenID Connect issuer; what is no valid token of it
opens nothing."""

import base64
import hmac
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from explorer.errors import Busy, Misconfigured
from explorer.server import serve as serve_catalog
from explorer.server.app import Service
from explorer.server.authentication import Gate, Keyring, Role, create_token
from explorer.server.catalog import CatalogEngine
from explorer.server.failures import RequestRefusal
from explorer.server.oidc import Issuer, OidcSettings
from tests.conftest import serving
from tests.oidc import AUDIENCE, SigningKey, TestIssuer, running_issuer
from tests.server.test_replicas import eventually


@pytest.fixture
def issuer() -> Iterator[TestIssuer]:
    with running_issuer() as found:
        yield found


Ask = Callable[..., httpx.Response]


@contextmanager
def asking(
    catalog: CatalogEngine,
    issuer: TestIssuer,
    keyring: Keyring | None = None,
    interval_seconds: float = 30,
    **settings: Any,
) -> Iterator[Ask]:
    """Ask a service that takes tokens of the issuer, showing one."""
    taken = Issuer(
        OidcSettings(issuer.url, (AUDIENCE,), **settings), interval_seconds=interval_seconds
    )
    service = Service(catalog, gate=Gate(keyring, issuer=taken))
    with serving(service) as address, httpx.Client(base_url=address, timeout=120) as client:

        def ask(token: str | None, method: str = "GET", path: str = "/changes?limit=1") -> Any:
            headers = {} if token is None else {"Authorization": f"Bearer {token}"}
            return client.request(
                method, path, headers=headers, json={} if method != "GET" else None
            )

        yield ask


@pytest.fixture
def ask(catalog: CatalogEngine, issuer: TestIssuer) -> Iterator[Ask]:
    with asking(catalog, issuer) as found:
        yield found


def refused(ask: Ask, token: str) -> str:
    """Why a token opens nothing."""
    answer = ask(token)
    assert answer.status_code == 401, answer.text
    assert answer.headers["www-authenticate"].startswith("Bearer")
    message = str(answer.json()["message"])
    assert message.startswith("Unauthorized to perform this action.")
    assert token not in message
    return message


@pytest.mark.parametrize("algorithm", ["RS256", "PS384", "ES256", "ES384", "EdDSA"])
def test_a_token_of_the_issuer_is_taken(
    catalog: CatalogEngine, issuer: TestIssuer, algorithm: str
) -> None:
    issuer.keys = [SigningKey("one", algorithm), SigningKey("other", "EdDSA")]
    with asking(catalog, issuer) as ask:
        assert ask(issuer.token()).status_code == 200
        assert ask(issuer.token(aud=["other", AUDIENCE])).status_code == 200
        assert ask(None).status_code == 401
        assert ask(None, path="/config").status_code == 200


def test_what_a_token_lacks_or_says_otherwise_is_refused(issuer: TestIssuer, ask: Ask) -> None:
    now = int(time.time())
    for claims, why in (
        ({"exp": now - 60}, "it expired"),
        ({"nbf": now + 600}, "it is not valid yet"),
        ({"aud": "another"}, "it is meant for another audience"),
        ({"aud": ["another", "third"]}, "it is meant for another audience"),
        ({"iss": "https://other.example.com"}, "it comes from another issuer"),
        ({"iss": issuer.url + "/"}, "it comes from another issuer"),
        ({"exp": None}, "it has no claim exp"),
        ({"aud": None}, "it has no claim aud"),
        ({"iss": None}, "it has no claim iss"),
        ({"sub": None}, "it has no claim sub"),
        ({"preferred_username": None}, "its claim preferred_username"),
        ({"preferred_username": ["ann"]}, "its claim preferred_username"),
        ({"preferred_username": "x" * 201}, "its claim preferred_username"),
    ):
        assert why in refused(ask, issuer.token(**claims)), claims


def encoded(value: Any) -> str:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def test_what_the_issuer_did_not_sign_is_refused(issuer: TestIssuer, ask: Ask) -> None:
    good, claims, key = issuer.token(), issuer.claims(), issuer.keys[0]
    head, body, signature = good.split(".")
    assert ask(good).status_code == 200
    other = SigningKey(key.key_id)
    assert "its signature is wrong" in refused(ask, issuer.token(other))
    changed = encoded({**claims, "preferred_username": "root"})
    assert "its signature is wrong" in refused(ask, f"{head}.{changed}.{signature}")
    assert "its signing key is not one of the issuer's" in refused(
        ask, issuer.token(SigningKey("third"))
    )
    for algorithm in ("none", "None", "nOnE", ""):
        unsigned = f"{encoded({'alg': algorithm, 'kid': key.key_id})}.{body}."
        assert "not signed with ES256" in refused(ask, unsigned)
        assert "not signed with ES256" in refused(ask, unsigned + signature)
    unsigned = jwt.encode(claims, "", "none", headers={"kid": key.key_id})
    assert "not signed with ES256" in refused(ask, unsigned)
    # The public key, which everybody knows, is no secret to sign with.
    for secret in (
        key.private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        json.dumps(key.published).encode(),
    ):
        signing = f"{encoded({'alg': 'HS256', 'kid': key.key_id})}.{encoded(claims)}"
        made = hmac.digest(secret, signing.encode(), "sha256")
        assert "not signed with ES256" in refused(ask, f"{signing}.{encoded(made)}")
    # A key that the token brings itself counts for nothing.
    brought = {"alg": "ES256", "jwk": other.published, "kid": "third"}
    carrying = jwt.encode(claims, other.private, "ES256", headers=brought)
    assert "its signing key is not one of the issuer's" in refused(ask, carrying)
    for text in ("nonsense", "a.b.c", f"{head}.{body}", f"{head}.{body}.", "." * 500):
        refused(ask, text)


def test_a_shared_secret_that_is_published_signs_nothing(
    catalog: CatalogEngine, issuer: TestIssuer
) -> None:
    secret = b"s" * 32
    published = {"kty": "oct", "k": encoded(secret), "kid": "shared", "alg": "HS256"}
    issuer.keys[0].published = published
    with asking(catalog, issuer) as ask:
        made = jwt.encode(issuer.claims(), secret, "HS256", headers={"kid": "shared"})
        assert "its signing key is not one of the issuer's" in refused(ask, made)


def test_new_keys_are_fetched_when_a_token_names_one(
    catalog: CatalogEngine, issuer: TestIssuer
) -> None:
    with asking(catalog, issuer, interval_seconds=0) as ask:
        assert ask(issuer.token()).status_code == 200
        assert ask(issuer.token()).status_code == 200
        assert issuer.asked["/realm/keys"] == 1
        issuer.keys.append(SigningKey("second", "EdDSA"))
        assert ask(issuer.token(issuer.keys[1])).status_code == 200
        assert issuer.asked["/realm/keys"] == 2
        # A key that the issuer took back opens nothing once the keys were fetched again.
        gone = issuer.keys.pop(0)
        refused(ask, issuer.token(SigningKey("unknown")))
        assert "its signing key is not one" in refused(ask, issuer.token(gone))


def test_unknown_keys_do_not_make_the_service_ask_without_end(
    catalog: CatalogEngine, issuer: TestIssuer
) -> None:
    with asking(catalog, issuer) as ask:
        for number in range(20):
            refused(ask, issuer.token(SigningKey(f"unknown-{number}")))
        assert issuer.asked["/realm/keys"] == 1


def test_known_keys_count_while_the_issuer_is_away(
    catalog: CatalogEngine, issuer: TestIssuer
) -> None:
    issuer.is_down = True
    with asking(catalog, issuer, interval_seconds=0) as ask:
        answer = ask(issuer.token())
        assert answer.status_code == 503
        assert "retry-after" in answer.headers
        issuer.is_down = False
        assert ask(issuer.token()).status_code == 200
        issuer.is_down = True
        refused(ask, issuer.token(SigningKey("unknown")))
        assert ask(issuer.token()).status_code == 200


@pytest.mark.parametrize(
    ("claims", "settings", "role"),
    [
        ({"roles": ["catalog-admin"]}, {}, "reader"),
        ({}, {"role_claim": "roles"}, "reader"),
        ({"roles": ["x", "catalog-editor", 5, None]}, {"role_claim": "roles"}, "editor"),
        ({"roles": ["catalog-editor", "catalog-admin"]}, {"role_claim": "roles"}, "admin"),
        ({"scope": "openid catalog-editor"}, {"role_claim": "scope"}, "editor"),
        ({"realm": {"roles": ["catalog-editor"]}}, {"role_claim": "realm.roles"}, "editor"),
        ({"realm": "catalog-editor"}, {"role_claim": "realm.roles"}, "reader"),
        ({"https://x.y/roles": "catalog-editor"}, {"role_claim": "https://x.y/roles"}, "editor"),
        (
            {"groups": ["data stewards"]},
            {"role_claim": "groups", "roles": {"data stewards": "editor"}},
            "editor",
        ),
        (
            {"groups": ["catalog-admin"]},
            {"role_claim": "groups", "roles": {"data stewards": "editor"}},
            "reader",
        ),
    ],
)
def test_a_claim_says_what_a_user_may_do(
    catalog: CatalogEngine,
    issuer: TestIssuer,
    claims: dict[str, Any],
    settings: dict[str, Any],
    role: Role,
) -> None:
    with asking(catalog, issuer, **settings) as ask:
        token = issuer.token(**claims)
        write = ask(token, "POST", "/aspects?action=ingestProposal")
        assert (write.status_code == 403) == (role == "reader"), write.text
        if role == "reader":
            assert "Whoever runs your sign-in can give you that role" in write.json()["message"]
        assert (ask(token, path="/export").status_code == 200) == (role == "admin")


def test_the_users_name_stands_on_what_they_write(
    catalog: CatalogEngine, issuer: TestIssuer, dataset: str
) -> None:
    with asking(catalog, issuer, role_claim="roles", actor_claim="email") as ask:
        token = issuer.token(roles=["catalog-editor"], email="ann@example.com")
        assert ask(token).status_code == 200
        asked = {"query": "{ me { corpUser { urn } } }"}
        url = str(ask(token).request.url.join("/api/graphql"))
        answer = httpx.post(url, json=asked, headers={"Authorization": f"Bearer {token}"})
        user = answer.json()["data"]["me"]["corpUser"]["urn"]
        assert user == "urn:li:corpuser:ann@example.com"


def test_tokens_of_the_service_are_taken_beside_those_of_the_issuer(
    catalog: CatalogEngine, issuer: TestIssuer, tmp_path: Path
) -> None:
    file = tmp_path / "tokens.json"
    with asking(catalog, issuer, Keyring(file)) as ask:
        # Nobody comes in without a token, also while the service has none of its own.
        assert ask(None).status_code == 401
        assert ask("cat_000000000000_x").status_code == 401
        assert ask(issuer.token()).status_code == 200
        # One that is made while the service runs is taken as well.
        shown, _ = create_token(file, "a", "urn:li:corpuser:a")
        eventually(lambda: ask(shown).status_code == 200)
    with asking(catalog, issuer, Keyring(file)) as ask:
        assert ask(shown).status_code == 200


def test_an_issuer_that_is_not_what_it_was_said_to_be_is_refused_at_the_start(
    issuer: TestIssuer, tmp_path: Path
) -> None:
    for url, why in (
        ("http://sign-in.example.com", "must begin with https://"),
        ("ftp://127.0.0.1/x", "must begin with https://"),
        (issuer.url + "/", "calls itself"),
    ):
        with pytest.raises(Misconfigured, match=why):
            serve_catalog(
                host="127.0.0.1",
                port=0,
                data_dir=tmp_path / "data",
                announce=lambda _address: None,
                oidc=OidcSettings(url, (AUDIENCE,)),
            )
    issuer.more = {"jwks_uri": "http://keys.example.com"}
    with pytest.raises(Misconfigured, match="must begin with https://"):
        Issuer(OidcSettings(issuer.url, (AUDIENCE,))).open()


def test_a_token_that_was_taken_ends_when_it_says(
    issuer: TestIssuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = Issuer(OidcSettings(issuer.url, (AUDIENCE,)))
    taken.open()
    token = issuer.token()
    access = taken.access_of(token)
    assert taken.access_of(token) is access
    now = time.time()
    monkeypatch.setattr("explorer.server.oidc.time.time", lambda: now + 400)
    # It is verified again, by a clock that this does not turn, and is as good as before.
    assert taken.access_of(token) is not access
    monkeypatch.undo()
    # Half a minute of difference between two clocks is borne.
    short = issuer.token(exp=int(time.time()) - 28)
    eventually(lambda: is_refused(taken, short))


def test_a_token_that_was_taken_is_good_for_as_long_as_the_keys(issuer: TestIssuer) -> None:
    taken = Issuer(OidcSettings(issuer.url, (AUDIENCE,)))
    taken.open()
    token = issuer.token(exp=int(time.time()) + 7 * 86_400)
    assert taken.access_of(token).role == "reader"
    # The issuer has been away for a day since.
    taken._fetched_at -= 86_400
    with pytest.raises(Busy, match="cannot be fetched"):
        taken.access_of(token)


@pytest.mark.parametrize("ends", ["4102444800", True, pytest.param(10**400, id="huge")])
def test_a_token_whose_expiry_is_no_number_is_refused_each_time(
    issuer: TestIssuer, ends: Any
) -> None:
    taken = Issuer(OidcSettings(issuer.url, (AUDIENCE,)))
    taken.open()
    token = issuer.token(exp=ends)
    for _ in range(2):
        with pytest.raises(RequestRefusal) as refused:
            taken.access_of(token)
        assert refused.value.status == 401


def is_refused(issuer: Issuer, token: str) -> bool:
    try:
        issuer.access_of(token)
    except RequestRefusal:
        return True
    return False
