"""An OpenID Connect issuer of the tests' own on this machine, with keys that it makes itself."""

import json
import secrets
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

AUDIENCE = "catalog"
CLIENT = "catalog-cli"


class SigningKey:
    """A private key with its id, and the public half as it is published."""

    def __init__(self, key_id: str, algorithm: str = "ES256") -> None:
        self.algorithm = algorithm
        self.key_id = key_id
        self.private: Any
        if algorithm[:2] in ("RS", "PS"):
            self.private = rsa.generate_private_key(65_537, 2_048)
            published = RSAAlgorithm.to_jwk(self.private.public_key(), as_dict=True)
        elif algorithm == "EdDSA":
            self.private = ed25519.Ed25519PrivateKey.generate()
            published = OKPAlgorithm.to_jwk(self.private.public_key(), as_dict=True)
        else:
            curve = {"ES256": ec.SECP256R1, "ES384": ec.SECP384R1}[algorithm]
            self.private = ec.generate_private_key(curve())
            published = ECAlgorithm.to_jwk(self.private.public_key(), as_dict=True)
        self.published: dict[str, Any] = {**published, "kid": key_id, "use": "sig"}
        self.published.pop("key_ops", None)


class TestIssuer:
    """An issuer: what it publishes, and tokens of it. `asked` counts the requests by path."""

    __test__ = False

    def __init__(self) -> None:
        self.keys = [SigningKey("first")]
        self.more: dict[str, Any] = {}
        self.asked: Counter[str] = Counter()
        self.is_down = False
        # Of the device flow: how often it is asked in vain, what then comes, and how long a token
        # is said to last.
        self.pending = 1
        self.device_error: str | None = None
        self.expires_in: int | None = 300
        self.token_claims: dict[str, Any] = {}
        self._refresh_tokens: set[str] = set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/realm"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.02,), daemon=True
        )
        self._thread.start()

    def token(self, key: SigningKey | None = None, /, **claims: Any) -> str:
        """Return a signed token; claims given as None are left out."""
        signing = key or self.keys[0]
        return jwt.encode(
            self.claims(**claims),
            signing.private,
            signing.algorithm,
            headers={"kid": signing.key_id},
        )

    def claims(self, **claims: Any) -> dict[str, Any]:
        now = int(time.time())
        every = {
            "iss": self.url,
            "aud": AUDIENCE,
            "sub": "0a1b",
            "iat": now,
            "exp": now + 300,
            "preferred_username": "ann",
            **claims,
        }
        return {name: value for name, value in every.items() if value is not None}

    def discovery(self) -> dict[str, Any]:
        return {"issuer": self.url, "jwks_uri": f"{self.url}/keys", **self.more}

    def with_device_flow(self) -> None:
        """Let people sign in with a code."""
        self.more["device_authorization_endpoint"] = f"{self.url}/device"
        self.more["token_endpoint"] = f"{self.url}/token"

    def answer(self, path: str, form: dict[str, str]) -> tuple[int, Any]:
        """Return the status and the JSON with which a request is answered."""
        if self.is_down:
            return 503, {}
        if path == "/realm/.well-known/openid-configuration":
            return 200, self.discovery()
        if path == "/realm/keys":
            return 200, {"keys": [key.published for key in self.keys]}
        if form.get("client_id") != CLIENT:
            return 401, {"error": "invalid_client"}
        if path == "/realm/device":
            return 200, {
                "device_code": "the-device-code",
                "user_code": "WDJB-MJHT",
                "verification_uri": f"{self.url}/activate",
                "expires_in": 600,
                "interval": 0,
            }
        if path == "/realm/token":
            return self._grant(form)
        return 404, {}

    def _grant(self, form: dict[str, str]) -> tuple[int, Any]:
        if form.get("grant_type") == "refresh_token":
            # Each is good for once.
            if form["refresh_token"] not in self._refresh_tokens:
                return 400, {"error": "invalid_grant", "error_description": "it was used before"}
            self._refresh_tokens.remove(form["refresh_token"])
            self.asked["refresh"] += 1
        else:
            assert form["grant_type"] == "urn:ietf:params:oauth:grant-type:device_code"
            assert form["device_code"] == "the-device-code"
            if self.pending > 0:
                self.pending -= 1
                return 400, {"error": "authorization_pending"}
            if self.device_error is not None:
                return 400, {"error": self.device_error}
        refresh = secrets.token_hex(16)
        self._refresh_tokens.add(refresh)
        given = {"access_token": self.token(**self.token_claims), "refresh_token": refresh}
        return 200, given | ({"expires_in": self.expires_in} if self.expires_in else {})

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.asked[self.path] += 1
                self._send(*issuer.answer(self.path, {}))

            def do_POST(self) -> None:
                issuer.asked[self.path] += 1
                body = self.rfile.read(int(self.headers["content-length"])).decode()
                self._send(*issuer.answer(self.path, dict(parse_qsl(body))))

            def log_message(self, *_given: Any) -> None:
                pass

            def _send(self, status: int, value: Any) -> None:
                body = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        return Handler


@contextmanager
def running_issuer() -> Iterator[TestIssuer]:
    """An issuer that is gone afterwards."""
    issuer = TestIssuer()
    try:
        yield issuer
    finally:
        issuer.close()
