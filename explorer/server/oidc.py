"""Verification of the bearer tokens of an OpenID Connect issuer.

The issuer's keys are fetched from the `jwks_uri` of its discovery document. They are fetched again
after an hour, or when a token names an unknown key, but at most every 30 seconds. While the issuer
cannot be reached, its keys remain valid for a day.
"""

import asyncio
import logging
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from functools import partial
from hashlib import sha256
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

import orjson
from msgspec import Struct

from explorer.errors import Busy, CatalogError, InvalidUrn, Misconfigured, MissingExtra
from explorer.metadata.urn import Urn
from explorer.server.authentication import ROLES, Access, Role, is_loopback
from explorer.server.failures import RequestRefusal

try:
    import cryptography  # noqa: F401 - PyJWT needs it for public keys
    import jwt
except ImportError as error:
    raise MissingExtra("tokens of an OpenID Connect issuer need PyJWT", "oidc") from error

DEFAULT_ROLES: Mapping[str, Role] = MappingProxyType({f"catalog-{role}": role for role in ROLES})
"""The default roles by the value of the role claim."""

_DISCOVERY = "/.well-known/openid-configuration"
# The signature algorithms for each kind of key; never one with a shared secret, and never `none`.
_ALGORITHMS: Mapping[str, tuple[str, ...]] = {
    "RSA": ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    "P-256": ("ES256",),
    "P-384": ("ES384",),
    "P-521": ("ES512",),
    "Ed25519": ("EdDSA",),
}
_LEEWAY_SECONDS = 30
_END_OF_TIME = 2**63
_FRESH_SECONDS = 3_600.0
_USABLE_SECONDS = 24 * 3_600.0
_INTERVAL_SECONDS = 30.0
_TIMEOUT_SECONDS = 5.0
_MOST_BYTES = 512 * 1024
_MOST_KEYS = 100
_LONGEST_NAME = 200
_MOST_VERIFIED = 1_000
_log = logging.getLogger("explorer.server")


class OidcSettings(Struct, frozen=True):
    """Which issuer's tokens are accepted, and how their claims are read.

    `audiences` are the values of the claim `aud` that name this service. `actor_claim` names the
    claim with the user's name. The role is the highest in `roles` of the values of `role_claim`, or
    reader if there is none. A nested claim is named with dots, `realm_access.roles`. Front ends
    sign in as the public client `client_id`, if given, and request `scope`.
    """

    issuer: str
    audiences: tuple[str, ...]
    actor_claim: str = "preferred_username"
    role_claim: str | None = None
    roles: Mapping[str, Role] = DEFAULT_ROLES
    client_id: str | None = None
    scope: str = "openid profile offline_access"

    def offer(self) -> dict[str, str] | None:
        """Return the part of the `/config` response about signing in, `None` if front ends
        cannot."""
        if self.client_id is None:
            return None
        return {
            "issuer": self.issuer,
            "clientId": self.client_id,
            "audience": self.audiences[0],
            "scope": self.scope,
        }


class _Key(Struct, frozen=True):
    """A public key, and the algorithms accepted for its signatures."""

    key: Any
    algorithms: tuple[str, ...]


class Issuer:
    """Verifies the tokens of an issuer, whose keys it keeps up to date.

    Raises `Misconfigured` if the issuer's address does not use https, unless it is on this machine.
    """

    def __init__(
        self, settings: OidcSettings, *, interval_seconds: float = _INTERVAL_SECONDS
    ) -> None:
        self._settings = settings
        self._interval_seconds = interval_seconds
        self._keys: Mapping[str | None, _Key] = {}
        self._fetched_at = -_USABLE_SECONDS
        self._next_fetch = 0.0
        self._refreshing: asyncio.Task[None] | None = None
        # The access and expiry of verified tokens, by their hash: verifying one takes 0.1 to 0.2
        # ms, and most callers send the same one many times. Emptied when the keys are fetched.
        self._verified: dict[bytes, tuple[Access, float]] = {}
        _check_address(settings.issuer, "--oidc-issuer")

    def open(self) -> None:
        """Fetch the keys. If the issuer cannot be reached, log it and fetch them later, when a
        token arrives. Raises `Misconfigured` if the issuer calls itself something else."""
        try:
            self._fetch_keys()
        except Misconfigured:
            raise
        except CatalogError as error:
            _log.warning(
                "%s; the issuer is contacted again when a request has a token of it", error
            )

    async def prepare(self, token: str) -> None:
        """Fetch the keys if the key that a token names is unknown, or in the background if they are
        an hour old. Does nothing within `interval_seconds` of the last fetch."""
        try:
            key_id = jwt.get_unverified_header(token).get("kid")
        except jwt.InvalidTokenError:
            return
        is_known = (key_id is None and self._keys) or key_id in self._keys
        is_fresh = time.monotonic() - self._fetched_at < _FRESH_SECONDS
        if is_known and is_fresh:
            return
        if self._refreshing is None:
            if time.monotonic() < self._next_fetch:
                return
            self._refreshing = asyncio.create_task(asyncio.to_thread(self._refresh))
            self._refreshing.add_done_callback(self._end_refresh)
        # Tokens with an unknown key all wait for the same fetch; the others do not wait.
        if not is_known:
            await asyncio.shield(self._refreshing)

    def access_of(self, token: str) -> Access:
        """Return the actor and role of a token.

        Raises `RequestRefusal` (401), which says what is wrong with the token, and `Busy` if the
        issuer's keys have not been fetched, or not within the last day.
        """
        try:
            header = jwt.get_unverified_header(token)
        except jwt.InvalidTokenError:
            raise _refusal("it is neither one of this server nor a JSON Web Token") from None
        if time.monotonic() - self._fetched_at >= _USABLE_SECONDS:
            raise Busy(
                f"the keys of {self._settings.issuer} cannot be fetched, so that its tokens cannot "
                "be verified; try again in a moment",
                retry_after_seconds=5,
            )
        digest = sha256(token.encode()).digest()
        access, expiry = self._verified.get(digest, (None, 0))
        if access is not None and time.time() < expiry + _LEEWAY_SECONDS:
            return access
        key = self._key_of(header.get("kid"))
        algorithm = header.get("alg")
        if algorithm not in key.algorithms:
            raise _refusal(f"it is not signed with {' or '.join(key.algorithms)}")
        try:
            claims = jwt.decode(
                token,
                key.key,
                algorithms=key.algorithms,
                audience=self._settings.audiences,
                issuer=self._settings.issuer,
                leeway=_LEEWAY_SECONDS,
                options={
                    "require": ["exp", "iss", "aud", "sub"],
                    "enforce_minimum_key_length": True,
                },
            )
        except jwt.PyJWTError as error:
            raise _refusal(_reason(error)) from None
        expiry = claims["exp"]
        if (
            isinstance(expiry, bool)
            or not isinstance(expiry, int | float)
            or not expiry < _END_OF_TIME
        ):
            # PyJWT also takes a text of digits and any number, which no issuer sends.
            raise _refusal("its expiry, exp, is not a number")
        access = Access(self._actor_of(claims), self._role_of(claims), f"oidc:{claims['sub']}")
        if len(self._verified) >= _MOST_VERIFIED:
            self._verified.clear()
        self._verified[digest] = access, expiry
        return access

    def _key_of(self, key_id: Any) -> _Key:
        if key_id is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        key = self._keys.get(key_id) if isinstance(key_id, str) else None
        if key is None:
            raise _refusal("its signing key is not one of the issuer's")
        return key

    def _actor_of(self, claims: Mapping[str, Any]) -> str:
        name = _claim(claims, self._settings.actor_claim)
        if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_NAME:
            raise _refusal(
                f"its claim {self._settings.actor_claim} must be the user's name, a text of 1 to "
                f"{_LONGEST_NAME} characters; whoever runs the server can name another claim with "
                "--oidc-actor-claim"
            )
        try:
            return str(Urn.of("corpuser", name))
        except InvalidUrn:
            raise _refusal(
                f"its claim {self._settings.actor_claim} is not a valid user name for a URN"
            ) from None

    def _role_of(self, claims: Mapping[str, Any]) -> Role:
        if self._settings.role_claim is None:
            return "reader"
        values = _claim(claims, self._settings.role_claim)
        # A claim such as `scope` is one text of several words.
        names = values.split() if isinstance(values, str) else values
        roles_of_claims: list[Role] = ["reader"]
        if isinstance(names, list):
            roles = self._settings.roles
            roles_of_claims += [
                roles[name] for name in names if isinstance(name, str) and name in roles
            ]
        return max(roles_of_claims, key=ROLES.index)

    def _refresh(self) -> None:
        try:
            self._fetch_keys()
        except CatalogError as error:
            _log.warning("%s; the keys fetched before stay in use until then", error)

    def _end_refresh(self, _task: asyncio.Task[None]) -> None:
        self._refreshing = None

    def _fetch_keys(self) -> None:
        """Fetch the discovery document and the keys. Raises `Busy` if that fails, and
        `Misconfigured` if the issuer calls itself something else."""
        self._next_fetch = time.monotonic() + self._interval_seconds
        issuer = self._settings.issuer
        document = _fetch(issuer.rstrip("/") + _DISCOVERY)
        if document.get("issuer") != issuer:
            raise Misconfigured(
                f"the issuer at {issuer} calls itself {str(document.get('issuer'))[:200]!r}; give "
                "exactly that to --oidc-issuer"
            )
        address = document.get("jwks_uri")
        if not isinstance(address, str):
            raise Busy(f"the discovery document of {issuer} names no jwks_uri")
        _check_address(address, "jwks_uri of the issuer")
        listed = _fetch(address).get("keys")
        keys = (_key(key) for key in listed[:_MOST_KEYS]) if isinstance(listed, list) else ()
        self._keys = dict(key for key in keys if key is not None)
        self._verified = {}
        self._fetched_at = time.monotonic()


def _key(web_key: Any) -> tuple[str | None, _Key] | None:
    """Parse a key of a JSON Web Key Set; return its id and the key, or `None` if it cannot verify
    tokens."""
    if not isinstance(web_key, dict) or web_key.get("use", "sig") != "sig":
        return None
    kind = "RSA" if web_key.get("kty") == "RSA" else web_key.get("crv")
    algorithms = _ALGORITHMS.get(kind, ()) if isinstance(kind, str) else ()
    if "alg" in web_key:
        algorithms = tuple(algorithm for algorithm in algorithms if algorithm == web_key["alg"])
    key_id = web_key.get("kid")
    if not algorithms or not (key_id is None or isinstance(key_id, str)):
        return None
    try:
        # Drop the private members, in case a private key was published by mistake.
        public = {name: value for name, value in web_key.items() if name not in _PRIVATE}
        return key_id, _Key(jwt.PyJWK(public, algorithms[0]).key, algorithms)
    except jwt.PyJWTError:
        return None


_PRIVATE = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})


def _claim(claims: Mapping[str, Any], name: str) -> Any:
    """Return a claim by its name, or by its path with dots; `None` if there is none."""
    if name in claims:
        return claims[name]
    value: Any = claims
    for part in name.split("."):
        if not isinstance(value, dict):
            return None
        value = value.get(part)
    return value


def _reason(error: jwt.PyJWTError) -> str:
    match error:
        case jwt.ExpiredSignatureError():
            return "it expired"
        case jwt.ImmatureSignatureError():
            return "it is not valid yet"
        case jwt.InvalidAudienceError():
            return "it is meant for another audience"
        case jwt.InvalidIssuerError():
            return "it comes from another issuer"
        case jwt.MissingRequiredClaimError():
            return f"it has no claim {error.claim}"
        case jwt.InvalidSignatureError():
            return "its signature is wrong"
        case _:
            return "it cannot be verified"


def _refusal(reason: str) -> RequestRefusal:
    return RequestRefusal(
        401,
        f"Unauthorized to perform this action. The token was rejected: {reason}.",
        {"www-authenticate": 'Bearer error="invalid_token"'},
    )


def _check_address(address: str, what: str) -> None:
    """Raise `Misconfigured` for an address whose answers could be modified in transit: one that is
    neither https nor http to this machine."""
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
    except ValueError:
        host = ""
    else:
        if parts.scheme == "https" and host:
            return
        if parts.scheme == "http" and is_loopback(host):
            return
    raise Misconfigured(f"{what} must begin with https://, and {address[:200]!r} does not")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Does not follow redirects, which could lead away from https."""

    def redirect_request(self, *_request: Any, **_named: Any) -> None:
        """Return `None`, so that the redirect counts as an error."""


def _fetch(address: str) -> dict[str, Any]:
    """Fetch the JSON object at an address. Raises `Busy` if that fails."""
    opener = urllib.request.build_opener(_NoRedirects())
    try:
        with opener.open(address, timeout=_TIMEOUT_SECONDS) as answer:
            # Read in parts, so that the time limit also applies to an answer that arrives slowly.
            data, deadline = b"", time.monotonic() + _TIMEOUT_SECONDS
            for part in iter(partial(answer.read1, 65_536), b""):
                data += part
                if len(data) > _MOST_BYTES or time.monotonic() > deadline:
                    raise Busy(f"the response of {address} was too large or took too long")
        document = orjson.loads(data)
    except urllib.error.HTTPError as error:
        error.close()
        raise Busy(f"{address} answered with status {error.code}") from error
    except (OSError, ValueError) as error:
        raise Busy(f"{address} cannot be read: {error}") from error
    if not isinstance(document, dict):
        raise Busy(f"{address} did not answer with a JSON object")
    return document
