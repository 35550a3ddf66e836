"""The documentation at `/help`: its pages, its policy, and what is said if it is not built."""

import httpx
import pytest
from starlette.responses import PlainTextResponse

from bathysphere.server.help_files import CONTENT_POLICY, HelpFiles


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "help"
    (place / "guide" / "deep").mkdir(parents=True)
    (place / "index.html").write_text("<title>home</title>")
    (place / "guide" / "deep" / "index.html").write_text("<title>deep</title>")
    (place / "search.js").write_text("let a = 1;")
    (tmp_path / "secret.txt").write_text("secret")
    return place


def client_of(folder):
    app = HelpFiles(PlainTextResponse("the app", status_code=203), folder=folder)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="http://test")


@pytest.fixture
def client(folder):
    return client_of(folder)


@pytest.mark.parametrize(
    ("path", "to"),
    [("/help", "http://test/help/"), ("/help/guide/deep", "http://test/help/guide/deep/")],
)
async def test_a_page_without_its_slash_is_redirected(client, path, to):
    answer = await client.get(path)
    assert answer.status_code == 307
    assert str(answer.next_request.url) == to


async def test_pages_and_files_are_served_under_the_policy(client):
    for path, text in (
        ("/help/", "<title>home</title>"),
        ("/help/guide/deep/", "<title>deep</title>"),
        ("/help/search.js", "let a = 1;"),
    ):
        answer = await client.get(path)
        assert (answer.status_code, answer.text) == (200, text)
        assert answer.headers["content-security-policy"] == CONTENT_POLICY
        assert answer.headers["cache-control"] == "no-cache"


def test_the_policy_allows_nothing_inline_and_nothing_from_elsewhere():
    directives = dict(part.split(" ", 1) for part in CONTENT_POLICY.split("; "))
    assert directives.pop("default-src") == "'none'"
    assert directives.pop("img-src") == "'self' data:"
    assert set(directives.values()) == {"'self'", "'none'"}
    assert directives["script-src"] == directives["style-src"] == "'self'"


@pytest.mark.parametrize("path", ["/help/nothing", "/help/nothing/", "/help/guide/"])
async def test_a_page_that_is_not_there_says_where_to_start(client, path):
    answer = await client.get(path)
    assert answer.status_code == 404
    assert "Start at /help/." in answer.text


async def test_nothing_outside_the_folder_is_served(client, folder):
    (folder / "link.txt").symlink_to(folder.parent / "secret.txt")
    for path in ("/help/../secret.txt", "/help/%2e%2e/secret.txt", "/help/link.txt"):
        assert "secret" not in (await client.get(path)).text


@pytest.mark.parametrize("path", ["/", "/helpers", "/threads/help"])
async def test_other_paths_are_the_apps(client, path):
    assert (await client.get(path)).status_code == 203


async def test_only_reading_is_for_the_site(client):
    assert (await client.post("/help/")).status_code == 203
    assert (await client.head("/help/")).status_code == 200


async def test_without_a_built_site_it_says_how_to_build_it(tmp_path):
    answer = await client_of(tmp_path / "none").get("/help/")
    assert answer.status_code == 404
    assert answer.text == "The documentation is not built here. In a checkout: make docs.\n"
