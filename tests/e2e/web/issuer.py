"""An OpenID Connect issuer on this machine: a page to sign in, codes with PKCE, rotated tokens.

Stories change how it behaves, and read what it saw, at `/control`.
"""

import base64
import hashlib
import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
CLIENT = "bathysphere-browser"
AUDIENCE = "bathysphere"
ICON = '<link rel="icon" href="data:,">'
LEEWAY = 30
"""How long the server accepts a token after its end (`Trust.leeway_seconds`)."""
PEOPLE = {"ada": ["admin"], "eve": []}


@dataclass(kw_only=True, slots=True)
class State:
    """What the issuer knows and how it behaves."""

    url: str = ""
    accepted_seconds: float = 600
    """For how long the server accepts an access token."""
    expires_in: float = 600
    """For how long the issuer says so to the browser."""
    nonce: str | None = None
    """A nonce to put into ID tokens in the place of the one that was asked for."""
    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    refresh: dict[str, str] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    seen: dict[str, int] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    def count(self, what: str) -> None:
        self.seen[what] = self.seen.get(what, 0) + 1

    def tokens(self, user: str, nonce: str | None) -> dict[str, Any]:
        now = time.time()
        base = {"iss": self.url, "sub": user, "iat": int(now)}
        access = {**base, "aud": AUDIENCE, "exp": now - LEEWAY + self.accepted_seconds}
        access |= {"org": "acme", "roles": PEOPLE[user], "jti": secrets.token_hex(4)}
        identity = {**base, "aud": CLIENT, "exp": int(now + 300)}
        if nonce is not None:
            identity["nonce"] = self.nonce or nonce
        refresh = secrets.token_urlsafe(16)
        self.refresh[refresh] = user
        sign = lambda claims: jwt.encode(claims, KEY, "RS256", headers={"kid": "one"})  # noqa: E731
        return {
            "access_token": sign(access),
            "id_token": sign(identity),
            "refresh_token": refresh,
            "token_type": "Bearer",
            "expires_in": self.expires_in,
        }


class Handler(BaseHTTPRequestHandler):
    """The endpoints."""

    state: State
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        asked = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(asked.query).items()}
        answer = {
            "/.well-known/openid-configuration": self._configuration,
            "/keys": self._keys,
            "/authorize": lambda: self._authorize(query),
            "/decide": lambda: self._decide(query),
            "/end": lambda: self._end(query),
            "/control": lambda: self._json(self.state.seen),
        }.get(asked.path, lambda: self._json({}, 404))
        answer()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
        if self.path == "/control":
            for name, value in json.loads(body).items():
                setattr(self.state, name, value)
            self._json(self.state.seen)
            return
        form = {name: values[0] for name, values in parse_qs(body).items()}
        with self.state.lock:
            if self.path == "/revoke":
                self.state.count("revoked")
                self.state.refresh.pop(form["token"], None)
                self._json({})
            elif form.get("grant_type") == "refresh_token":
                self._refresh(form)
            else:
                self._exchange(form)

    def _configuration(self) -> None:
        url = self.state.url
        self._json(
            {
                "issuer": url,
                "authorization_endpoint": f"{url}/authorize",
                "token_endpoint": f"{url}/token",
                "jwks_uri": f"{url}/keys",
                "end_session_endpoint": f"{url}/end",
                "revocation_endpoint": f"{url}/revoke",
                "authorization_response_iss_parameter_supported": True,
            }
        )

    def _keys(self) -> None:
        key = RSAAlgorithm.to_jwk(KEY.public_key(), as_dict=True)
        self._json({"keys": [{**key, "kid": "one", "use": "sig", "alg": "RS256"}]})

    def _authorize(self, query: dict[str, str]) -> None:
        self.state.count("authorize")
        assert query["client_id"] == CLIENT, query
        assert query["code_challenge_method"] == "S256", query
        links = "".join(
            f'<p><a href="/decide?{escape(urlencode({**query, "user": user}))}">{user}</a></p>'
            for user in [*PEOPLE, "cancel"]
        )
        self._send(200, f"<!doctype html><title>Issuer</title>{ICON}{links}".encode(), "text/html")

    def _decide(self, query: dict[str, str]) -> None:
        back = {"state": query["state"], "iss": self.state.url}
        if query["user"] == "cancel":
            back["error"] = "access_denied"
        else:
            back["code"] = secrets.token_urlsafe(16)
            self.state.codes[back["code"]] = query
        self._redirect(f"{query['redirect_uri']}?{urlencode(back)}")

    def _end(self, query: dict[str, str]) -> None:
        self.state.count("ended")
        self._redirect(query["post_logout_redirect_uri"])

    def _exchange(self, form: dict[str, str]) -> None:
        query = self.state.codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if query is None or challenge != query["code_challenge"]:
            self.state.count("refused")
            self._json({"error": "invalid_grant"}, 400)
            return
        self.state.count("exchanged")
        self._json(self.state.tokens(query["user"], query["nonce"]))

    def _refresh(self, form: dict[str, str]) -> None:
        token = form["refresh_token"]
        user = self.state.refresh.pop(token, None)
        if user is None:
            # Used twice: somebody has a copy, so nobody may go on with it.
            self.state.count("reused" if token in self.state.used else "refused")
            self.state.refresh.clear()
            self._json({"error": "invalid_grant"}, 400)
            return
        self.state.used.add(token)
        self.state.count("refreshed")
        self._json(self.state.tokens(user, None))

    def do_OPTIONS(self) -> None:
        self._send(204, b"", "text/plain")

    def _json(self, value: Any, status: int = 200) -> None:
        self._send(status, json.dumps(value).encode(), "application/json")

    def _redirect(self, place: str) -> None:
        self._send(302, b"", "text/plain", location=place)

    def _send(self, status: int, body: bytes, kind: str, **headers: str) -> None:
        self.send_response(status)
        for name, value in {
            "content-type": kind,
            "content-length": str(len(body)),
            "access-control-allow-origin": "*",
            "access-control-allow-headers": "*",
            **headers,
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def issuer() -> Iterator[str]:
    """Its address."""
    state = State()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"state": state}))
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_port}"
    serving = Thread(target=server.serve_forever)
    serving.start()
    try:
        yield state.url
    finally:
        server.shutdown()
        server.server_close()
        serving.join()
