"""`python provider_process.py PORT`: oidc-provider-mock on loopback, made stricter, and able to go wrong when told to.

It checks PKCE, which the package does not. Its ID tokens are signed here, so that they can be spoilt: `PUT /spoil` with
the name of one of SPOILT lasts until the next one. `PUT /users/{sub}` sets claims.
"""

import base64
import hashlib
import io
import json
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qs, urlsplit
from wsgiref.simple_server import WSGIRequestHandler, make_server

import oidc_provider_mock
from joserfc import jwt
from joserfc.jwk import KeySet, OctKey, RSAKey
from werkzeug.test import run_wsgi_app

KEY = RSAKey.generate_key(2048, {"kid": "one", "use": "sig", "alg": "RS256"})
STRANGER = RSAKey.generate_key(2048, {"kid": "one", "use": "sig", "alg": "RS256"})
#: What may be wrong with an ID token: the claims that differ.
SPOILT: dict[str, dict[str, Any]] = {
    "other-nonce": {"nonce": "of another sign-in"},
    "no-nonce": {"nonce": None},
    "other-audience": {"aud": "another-client"},
    "other-party": {"azp": "another-client"},
    "other-issuer": {"iss": "https://elsewhere.example"},
    "expired": {"exp": 1_000_000_000},
    "never-expires": {"exp": None},
    "other-subject": {"sub": "somebody-else"},
    "no-subject": {"sub": None},
    "strange-subject": {"sub": ["a"]},
}

Answer = tuple[Iterable[bytes], str, Any]


class Provider:
    """The package's application with what it lacks around it."""

    def __init__(self) -> None:
        self.app = oidc_provider_mock.app(require_nonce=True)
        self.challenges: dict[str, str] = {}
        self.spoil = ""

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        size = int(environ.get("CONTENT_LENGTH") or 0)
        sent = environ["wsgi.input"].read(size)
        environ["wsgi.input"] = io.BytesIO(sent)
        if path == "/spoil":
            self.spoil = sent.decode()
            start_response("204 No Content", [])
            return []
        if path == "/oauth2/token" and not self._is_proven(sent):
            return _json(start_response, {"error": "invalid_grant"}, "400 Bad Request")
        pieces, status, headers = run_wsgi_app(self.app, environ)
        body = b"".join(pieces)
        if path == "/oauth2/authorize" and "Location" in headers:
            self._remember(environ["QUERY_STRING"], headers["Location"])
        if path == "/jwks":
            body = json.dumps(KeySet([KEY]).as_dict(private=False)).encode()
        if path == "/oauth2/token" and status.startswith("200"):
            body = self._signed_here(json.loads(body))
        if path == "/.well-known/openid-configuration" and self.spoil == "other-provider":
            body = body.replace(b'"issuer": "http://', b'"issuer": "http://other.')
        headers["Content-Length"] = str(len(body))
        start_response(status, headers.to_wsgi_list())
        return [body]

    def _remember(self, query: str, location: str) -> None:
        asked = parse_qs(query)
        for code in parse_qs(urlsplit(location).query).get("code", []):
            assert asked["code_challenge_method"] == ["S256"]
            self.challenges[code] = asked["code_challenge"][0]

    def _is_proven(self, sent: bytes) -> bool:
        given = parse_qs(sent.decode())
        digest = hashlib.sha256(given.get("code_verifier", [""])[0].encode()).digest()
        proof = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        return self.challenges.pop(given.get("code", [""])[0], None) == proof

    def _signed_here(self, answer: dict[str, Any]) -> bytes:
        if self.spoil == "page":
            return b"<h1>Maintenance</h1>"
        if self.spoil == "list":
            return b'["access_token"]'
        token = answer.pop("id_token")
        if self.spoil != "no-token":
            answer["id_token"] = self._token({**_claims(token), **SPOILT.get(self.spoil, {})})
        return json.dumps(answer).encode()

    def _token(self, claims: dict[str, Any]) -> str:
        kept = {name: value for name, value in claims.items() if value is not None}
        match self.spoil:
            case "unsigned":
                return ".".join([_part({"alg": "none"}), _part(kept), ""])
            case "public-key":
                return jwt.encode({"alg": "HS256", "kid": "one"}, kept, OctKey.import_key(KEY.as_pem(private=False)))
            case "stranger":
                return jwt.encode({"alg": "RS256", "kid": "one"}, kept, STRANGER)
            case "nonsense":
                return "no token at all"
            case _:
                return jwt.encode({"alg": "RS256", "kid": "one"}, kept, KEY)


class Quiet(WSGIRequestHandler):
    """Writes no line for each request."""

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def _claims(token: str) -> dict[str, Any]:
    part = token.split(".")[1]
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return found | {"exp": int(time.time()) + 300}


def _part(value: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def _json(start_response: Callable[..., Any], value: dict[str, str], status: str) -> Iterable[bytes]:
    body = json.dumps(value).encode()
    start_response(status, [("Content-Type", "application/json"), ("Content-Length", str(len(body)))])
    return [body]


if __name__ == "__main__":
    make_server("127.0.0.1", int(sys.argv[1]), Provider(), handler_class=Quiet).serve_forever()
