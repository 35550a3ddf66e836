"""The browser app's files: found, compressed, kept by browsers, and never in the way of a route."""

from base64 import b64encode
from hashlib import sha256

import httpx
import pytest
from starlette.responses import PlainTextResponse

from bathysphere.server.app import ROUTERS, first_segments
from bathysphere.server.static_files import StaticFiles

HTML = {"accept": "text/html,application/xhtml+xml"}
ROUTES = frozenset({"threads", "runs"})


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "static"
    (place / "assets").mkdir(parents=True)
    (place / "index.html").write_text("<title>app</title>")
    (place / "assets" / "app-1.js").write_text("let a = 1;\n" * 50)
    (place / "icon.svg").write_text("<svg/>")
    (tmp_path / "secret.txt").write_text("secret")
    return place


@pytest.fixture
def client(folder):
    app = StaticFiles(PlainTextResponse("none", status_code=404), routes=ROUTES, folder=folder)
    transport = httpx.ASGITransport(app=app)
    return httpx.AsyncClient(transport=transport, base_url="http://test")


async def test_the_page_is_at_every_address_that_a_person_opens(client):
    for path in ("/", "/c/0190-1", "/disclosures"):
        answer = await client.get(path, headers=HTML)
        assert (answer.status_code, answer.text) == (200, "<title>app</title>")
        assert answer.headers["cache-control"] == "no-cache"


async def test_an_address_of_the_interface_is_not_the_page(client):
    for path in ("/threads/x/y", "/runs"):
        assert (await client.get(path, headers=HTML)).status_code == 404
    assert (await client.get("/nothing")).status_code == 404
    assert (await client.post("/", headers=HTML)).status_code == 404


async def test_files_with_a_hash_are_kept_for_ever_and_come_compressed(client, folder):
    answer = await client.get("/assets/app-1.js", headers={"accept-encoding": "gzip"})
    assert answer.headers["content-type"].startswith("text/javascript")
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.text == (folder / "assets" / "app-1.js").read_text()
    plain = await client.get("/assets/app-1.js", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.text == answer.text


async def test_the_page_of_diagrams_has_no_origin_and_asks_nobody(client, folder):
    script = "let a = 1; // ✓"
    (folder / "diagram.html").write_text(f"<body><script>{script}</script></body>")
    answer = await client.get("/diagram.html", headers=HTML)
    policy = answer.headers["content-security-policy"].split("; ")
    digest = b64encode(sha256(script.encode()).digest()).decode()
    assert policy[:3] == [
        "sandbox allow-scripts",
        "default-src 'none'",
        f"script-src 'sha256-{digest}' blob:",
    ]
    assert "frame-ancestors 'self'" in policy
    for path in ("/", "/assets/app-1.js", "/icon.svg"):
        assert "content-security-policy" not in (await client.get(path, headers=HTML)).headers


async def test_nothing_outside_the_folder_is_served(client, folder):
    (folder / "link.txt").symlink_to(folder.parent / "secret.txt")
    ways = ("/../secret.txt", "/%2e%2e/secret.txt", "/assets/..%2f..%2fsecret.txt", "/link.txt")
    for path in ways:
        answer = await client.get(httpx.URL(f"http://test{path}"))
        assert "secret" not in answer.text


async def test_a_checkout_without_the_build_says_what_to_do(client, folder):
    (folder / "index.html").unlink()
    answer = await client.get("/", headers=HTML)
    assert "make web" in answer.text


def test_every_route_is_known_by_its_first_part():
    assert first_segments() >= {"threads", "runs", "assistants", "store", "models", "ok", "info"}
    assert "" not in first_segments()
    assert len(ROUTERS) > 5


async def test_an_install_that_is_reached_by_a_link_has_its_files(folder, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(folder)
    app = StaticFiles(PlainTextResponse("none", status_code=404), routes=ROUTES, folder=link)
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        assert (await client.get("/assets/app-1.js")).status_code == 200
