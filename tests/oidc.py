"""An OpenID Connect issuer of the tests' own on this machine, with keys that it makes itself."""

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

__all__ = ["AUDIENCE", "SigningKey", "TestIssuer", "running_issuer"]

AUDIENCE = "catalog"


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

    def answer(self, path: str, _form: dict[str, str]) -> tuple[int, Any]:
        """Return the status and the JSON with which a request is answered."""
        if self.is_down:
            return 503, {}
        if path == "/realm/.well-known/openid-configuration":
            return 200, self.discovery()
        if path == "/realm/keys":
            return 200, {"keys": [key.published for key in self.keys]}
        return 404, {}

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
