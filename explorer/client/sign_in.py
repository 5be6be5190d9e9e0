"""Signing in with the OpenID Connect issuer of a server: the device flow of RFC 8628, and renewing.

Every function blocks, and runs in a thread without an event loop.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec
import orjson

from explorer.client.transport import Answer, Request, is_local, mask_url, proxy_of
from explorer.config import SignIn
from explorer.errors import InvalidInput, Misconfigured, NotSignedIn, Unreachable, Unreadable

_DISCOVERY = "/.well-known/openid-configuration"
_DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_TIMEOUT_SECONDS = 30.0
_PAUSE_SECONDS = 5.0
_LEAST_PAUSE_SECONDS = 0.05
_LONGEST_WAIT_SECONDS = 1_800.0


@dataclass(frozen=True, slots=True)
class SignInOffer:
    """How users sign in to a server: the issuer with its endpoints, the client id, the audience and
    the requested scopes."""

    issuer: str
    client_id: str
    audience: str
    scope: str
    device_endpoint: str
    token_endpoint: str


@dataclass(frozen=True, slots=True)
class DeviceCode:
    """A sign-in in progress: the address to open in a browser, and the code to type there.
    `complete_uri` is an address that already contains the code, empty if there is none."""

    user_code: str
    verification_uri: str
    complete_uri: str
    ends_at: float
    pause_seconds: float
    device_code: str = field(repr=False)


def find_offer(address: str) -> SignInOffer | None:
    """Return how users sign in to a server; `None` if it names no issuer, or one without device
    flow. Raises the errors of the requests to server and issuer, and `Misconfigured` for an issuer
    without https, or whose own metadata has another address."""
    declared = _object(_send(address, Request("GET", "/config")), mask_url(address))
    ours = declared.get("catalogExplorer")
    offered = ours.get("signIn") if isinstance(ours, dict) else None
    if not isinstance(offered, dict):
        return None
    issuer, client = offered.get("issuer"), offered.get("clientId")
    if not isinstance(issuer, str) or not isinstance(client, str):
        return None
    issuer_metadata = _object(_send_to(issuer.rstrip("/") + _DISCOVERY), issuer)
    if issuer_metadata.get("issuer") != issuer:
        raise Misconfigured(
            f"the issuer at {mask_url(issuer)} calls itself something else; tell whoever runs the "
            "server, or sign in with a token: catalog login --token-stdin"
        )
    device, token = (
        issuer_metadata.get("device_authorization_endpoint"),
        issuer_metadata.get("token_endpoint"),
    )
    if not isinstance(device, str) or not isinstance(token, str):
        return None
    for endpoint in (device, token):
        _check(endpoint)
    audience, scope = offered.get("audience"), offered.get("scope")
    return SignInOffer(issuer, client, str(audience or ""), str(scope or "openid"), device, token)


def begin(offer: SignInOffer) -> DeviceCode:
    """Return a code requested from the issuer. Raises `NotSignedIn` if it returns none."""
    form = {"client_id": offer.client_id, "scope": offer.scope}
    if offer.audience:
        form["audience"] = offer.audience
    answer = _send_to(offer.device_endpoint, form)
    fields = _object(answer, offer.device_endpoint, may_fail=True)
    code, user_code = fields.get("device_code"), fields.get("user_code")
    address = fields.get("verification_uri") or fields.get("verification_url")
    if answer.status != 200 or not all(
        isinstance(text, str) for text in (code, user_code, address)
    ):
        raise NotSignedIn(f"{mask_url(offer.issuer)} gives no code to sign in with: {_why(fields)}")
    complete = fields.get("verification_uri_complete")
    wait = _number(fields.get("expires_in"), _LONGEST_WAIT_SECONDS)
    return DeviceCode(
        str(user_code),
        str(address),
        complete if isinstance(complete, str) else "",
        time.monotonic() + min(wait, _LONGEST_WAIT_SECONDS),
        max(_number(fields.get("interval"), _PAUSE_SECONDS), _LEAST_PAUSE_SECONDS),
        str(code),
    )


def finish(
    offer: SignInOffer, code: DeviceCode, sleep: Callable[[float], None] = time.sleep
) -> SignIn:
    """Wait until the user has signed in with the code, and return the tokens. Raises `NotSignedIn`
    if the user refused or took too long."""
    form = {
        "grant_type": _DEVICE_GRANT,
        "device_code": code.device_code,
        "client_id": offer.client_id,
    }
    pause = code.pause_seconds
    while time.monotonic() < code.ends_at:
        sleep(pause)
        answer = _send_to(offer.token_endpoint, form)
        fields = _object(answer, offer.token_endpoint, may_fail=True)
        if answer.status == 200:
            return _sign_in(fields, offer.token_endpoint, offer.client_id)
        match fields.get("error"):
            case "authorization_pending":
                pass
            case "slow_down":
                pause += _PAUSE_SECONDS
            case "access_denied":
                raise NotSignedIn("the sign-in was refused in the browser")
            case "expired_token":
                break
            case _:
                raise NotSignedIn(f"{mask_url(offer.issuer)} gives no token: {_why(fields)}")
    raise NotSignedIn("nobody signed in with the code in time; run catalog login again")


def renew(expired: SignIn) -> SignIn:
    """Return new tokens in place of expired ones. Raises `NotSignedIn` if the issuer returns none;
    the user then has to sign in again."""
    if expired.refresh_token is None:
        raise NotSignedIn("the sign-in expired, and the issuer gave nothing to renew it with")
    form = {
        "grant_type": "refresh_token",
        "refresh_token": expired.refresh_token,
        "client_id": expired.client_id,
    }
    answer = _send_to(expired.token_endpoint, form)
    fields = _object(answer, expired.token_endpoint, may_fail=True)
    if answer.status >= 500:
        raise Unreachable(f"{mask_url(expired.token_endpoint)} does not renew the sign-in now")
    if answer.status != 200:
        raise NotSignedIn(f"the sign-in is not renewed: {_why(fields)}")
    renewed = _sign_in(fields, expired.token_endpoint, expired.client_id)
    if renewed.refresh_token is None:
        # Not every issuer returns a new refresh token each time.
        return msgspec.structs.replace(renewed, refresh_token=expired.refresh_token)
    return renewed


def _sign_in(fields: Mapping[str, Any], endpoint: str, client_id: str) -> SignIn:
    token = fields.get("access_token")
    identity = fields.get("id_token")
    if isinstance(identity, str) and not (isinstance(token, str) and token.count(".") == 2):
        # An access token that only the issuer can read tells a server nothing.
        token = identity
    if not isinstance(token, str):
        raise Unreadable(f"{mask_url(endpoint)} answered without a token")
    refresh = fields.get("refresh_token")
    lasts = _number(fields.get("expires_in"), 0)
    return SignIn(
        token,
        endpoint,
        client_id,
        refresh if isinstance(refresh, str) else None,
        int((time.time() + lasts) * 1_000) if lasts else None,
    )


def _why(fields: Mapping[str, Any]) -> str:
    text = fields.get("error_description") or fields.get("error")
    return str(text)[:200] if text else "it does not say why"


def _number(value: Any, otherwise: float) -> float:
    try:
        return max(0.0, float(value))
    except (TypeError, ValueError):
        return otherwise


def _check(address: str) -> None:
    if not (address.startswith("https://") or is_local(address)):
        raise Misconfigured(
            f"the issuer is reached at {mask_url(address)}, where others on the way could read "
            "what it sends; it has to be https"
        )


def _object(answer: Answer, whose: str, *, may_fail: bool = False) -> dict[str, Any]:
    try:
        document = orjson.loads(answer.body)
    except orjson.JSONDecodeError:
        document = None
    if not isinstance(document, dict) or (answer.status != 200 and not may_fail):
        raise Unreadable(
            f"{mask_url(whose)} answered with status {answer.status} and not as was expected"
        )
    return document


def _send_to(address: str, form: Mapping[str, str] | None = None) -> Answer:
    """Return the answer of an issuer's address; with `form` the answer to a POST of the form."""
    _check(address)
    try:
        parts = urlsplit(address)
    except ValueError:
        raise InvalidInput(f"invalid address: {mask_url(address)!r}") from None
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    origin = f"{parts.scheme}://{parts.netloc}"
    if form is None:
        return _send(origin, Request("GET", path))
    kind = (("Content-Type", "application/x-www-form-urlencoded"),)
    return _send(origin, Request("POST", path, urlencode(form).encode(), kind, repeatable=False))


def _send(address: str, request: Request) -> Answer:
    async def send() -> Answer:
        from explorer.client.http import HttpTransport

        proxy = proxy_of(address) if address.startswith("http") else None
        transport = HttpTransport(address, _TIMEOUT_SECONDS, proxy=proxy)
        try:
            return await transport.send(request)
        finally:
            await transport.close()

    return asyncio.run(send())
