"""A team's files in the browser: sign-in, workspaces, files, approvals as differences, undo.

The server has API keys of two tenants and a bucket in a folder, into which stories can look.
"""

import asyncio
import base64
import json
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from rigging import HERE, REDIS, WEB, environment, process, site, tell

from bathysphere.core.identity import Owner
from bathysphere.engine.database.pool import Database, open_pool
from bathysphere.server.identity.api_keys import ApiKeys, NewKey
from bathysphere.testing import ModelServer, calls, says
from bathysphere.testing.postgres import temporary_database

pytestmark = [pytest.mark.services, pytest.mark.node, pytest.mark.timeout(200)]
SECONDS = 160
TENANTS = """
[tenant.acme.workspaces]
main = "*"
board = ["ada"]

[tenant.zenith.workspaces]
main = "*"
"""
PEOPLE = {"ada": "acme", "bob": "acme", "eve": "zenith"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Rig:
    """A server with keys and a bucket, its model, a browser."""

    url: str
    browser: str
    model: ModelServer
    folder: Path
    database: str
    told: dict[str, str] = field(default_factory=dict)

    def new_key(self, user: str) -> str:
        """A key, as `bathysphere keys create` makes it."""
        return asyncio.run(self._create(Owner(tenant=PEOPLE[user], user=user))).secret

    async def _create(self, owner: Owner) -> NewKey:
        async with open_pool(Database(url=self.database)) as pool:
            return await ApiKeys(pool).create(owner)

    def passing_key(self, user: str) -> dict[str, object]:
        """A key that the story revokes, and the command that does what `keys revoke` does."""
        key = self.new_key(user)
        words = "UPDATE identity.api_keys SET revoked_at = now() WHERE key_id = "
        revoke = ["psql", "-qc", f"{words}'{key.split('_')[1]}'", self.database]
        return {"revoked": key, "revoke": revoke}

    def put(self, key: str, text: str | bytes) -> None:
        """An object of the bucket, as somebody else would put it there."""
        place = self.folder / key
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text if isinstance(text, bytes) else text.encode())


@contextmanager
def rigged(folder: Path) -> Iterator[Rig]:
    bucket, tenants = folder / "bucket", folder / "tenants.toml"
    bucket.mkdir()
    tenants.write_text(TENANTS)
    with temporary_database("web") as database, ModelServer() as model, site() as place:
        env = {
            **environment(model, place),
            "BATHYSPHERE_AUTH": "api-key",
            "BATHYSPHERE_STORAGE_KIND": "local",
            "BATHYSPHERE_STORAGE_FOLDER": str(bucket),
            "BATHYSPHERE_STORAGE_TENANTS": str(tenants),
        }
        where = ["--port", "0", "--database-url", database, "--redis-url", REDIS]
        command = [sys.executable, "-W", "ignore", str(HERE / "serving.py"), *where]
        browser = ["node", str(WEB / "stories" / "browser.mjs")]
        log = folder / "serve.log"
        with (
            process(command, env, log) as first,
            process(browser, dict(os.environ), folder / "browser.log") as endpoint,
        ):
            [url] = [word for word in first.split() if word.startswith("http")] or [""]
            assert url, log.read_text()
            yield Rig(url=url, browser=endpoint, model=model, folder=bucket, database=database)


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with rigged(tmp_path_factory.mktemp("bucket")) as found:
        yield found


@pytest.fixture(scope="module")
def keys(rig: Rig) -> dict[str, str]:
    return {user: rig.new_key(user) for user in PEOPLE}


@pytest.fixture
def story(rig: Rig, keys: dict[str, str]):
    """Plays a script to the model and tells a story in the browser, which is given `told`."""

    def perform(name: str, script: list[object] | None = None, **told: object) -> None:
        rig.model.play(script or [])
        given = {"keys": keys, "folder": str(rig.folder), **told}
        tell(replace(rig, told={"STORY_TOLD": json.dumps(given)}), name, seconds=SECONDS)
        rig.model.assert_done()

    return perform


def specialist(task: str) -> object:
    return calls("task", {"description": task, "subagent_type": "files"})


def test_a_key_is_asked_for_kept_where_it_is_said_and_forgotten(rig, story):
    """Also: a key that is revoked while one writes brings the view back, with what was written."""
    script = [says("A squid."), says("It is a squid.")]
    story("sign_in", script, **rig.passing_key("ada"))


@pytest.mark.long(
    "tests/e2e/web/test_bucket_stories.py"
    "::test_a_key_is_asked_for_kept_where_it_is_said_and_forgotten"
)
def test_what_was_typed_into_a_request_outlives_a_revoked_key(rig, story):
    path = f"/typed-{secrets.token_hex(4)}.md"
    script = change(path, calls("write_file", file_path=path, content="Again.\n"))
    story("typed_in_a_card", script, **rig.passing_key("bob"))
    assert not (rig.folder / f"acme/main{path}").exists()


PLAN = "# Plan\n\nDive slowly.\nRest at 40 m.\n"
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


def edit(path: str, old: str, new: str) -> object:
    return calls("edit_file", file_path=path, old_string=old, new_string=new)


def change(path: str, *calls_: object) -> list[object]:
    """The lead sends the specialist out, who makes calls, and both say that it is done."""
    task = specialist(f"Work on {path}")
    return [task, *calls_, says("It is done."), says("The specialist is back.")]


def test_a_change_is_approved_as_a_difference_seen_recorded_and_undone(rig, story):
    """The whole way of a file; the other tenant, with the same names, sees none of it."""
    place = f"/dives-{secrets.token_hex(4)}"
    path = f"{place}/plan.md"
    rig.put(f"acme/board{path}", PLAN)
    script = change(path, edit(path, "slowly", "at first light"))
    story("team_files", script, path=path, place=place)
    assert (rig.folder / f"acme/board{path}").read_text() == PLAN


@pytest.mark.long(
    "tests/e2e/web/test_bucket_stories.py"
    "::test_a_change_is_approved_as_a_difference_seen_recorded_and_undone"
)
def test_a_file_that_changes_before_the_approval_is_shown_again(rig, story):
    path = f"/stale-{secrets.token_hex(4)}.md"
    rig.put(f"acme/main{path}", PLAN)
    script = change(path, edit(path, "slowly", "at dawn"))
    theirs = PLAN + "Somebody was here.\n"
    story("stale_approval", script, path=path, theirs=theirs)
    assert (rig.folder / f"acme/main{path}").read_text() == theirs.replace("slowly", "at dawn")


@pytest.mark.long(
    "tests/e2e/web/test_bucket_stories.py"
    "::test_a_change_is_approved_as_a_difference_seen_recorded_and_undone"
)
def test_a_change_is_edited_first_and_another_is_rejected_with_a_reason(rig, story):
    path, fresh = (f"/{name}-{secrets.token_hex(4)}.md" for name in ("edited", "new"))
    rig.put(f"acme/main{path}", PLAN)
    write = calls("write_file", file_path=fresh, content="Not wanted.\n")
    script = change(path, edit(path, "slowly", "fast"), write)
    story("edit_approval", script, path=path, fresh=fresh)
    assert (rig.folder / f"acme/main{path}").read_text() == PLAN.replace("slowly", "with care")
    assert not (rig.folder / f"acme/main{fresh}").exists()


@pytest.mark.long(
    "tests/e2e/web/test_bucket_stories.py"
    "::test_a_change_is_approved_as_a_difference_seen_recorded_and_undone"
)
def test_every_view_of_the_team_files_is_accessible_in_every_form(rig, story):
    path = f"/forms-{secrets.token_hex(4)}.md"
    rig.put(f"acme/main{path}", PLAN)
    script = change(path, edit(path, "slowly", "at first light"))
    story("team_forms", script, path=path)


@pytest.mark.long(
    "tests/e2e/web/test_bucket_stories.py"
    "::test_a_change_is_approved_as_a_difference_seen_recorded_and_undone"
)
def test_large_folders_long_files_and_pictures_can_be_looked_at(rig, story):
    place = f"/many-{secrets.token_hex(4)}"
    for n in range(230):
        rig.put(f"acme/main{place}/{n:03}.txt", f"File {n}\n")
    rig.put(f"acme/main{place}/deep/er/here.txt", "Down here.\n")
    rig.put(f"acme/main{place}/log.csv", "".join(f"line {n}\n" for n in range(1, 1201)))
    rig.put(f"acme/main{place}/pixel.png", PIXEL)
    rig.put(f"acme/main{place}/data.bin", bytes(range(256)))
    rig.put(f"acme/main{place}/hostile.md", "<img src=x onerror='window.hacked = 1'>\n\n**bold**\n")
    story("look_around", place=place)
