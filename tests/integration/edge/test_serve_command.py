"""`bathysphere serve`, `worker` and `keys` as a person or an operator uses them."""

import contextlib
import re
import signal
import time

import httpx
import psutil
import pytest

from bathysphere.engine.database.pool import Database

pytestmark = pytest.mark.services
REDIS = "redis://127.0.0.1:6379/0"


def postgres_of(folder) -> list[int]:
    """The PostgreSQL processes that have their data there."""
    found = []
    for process in psutil.process_iter(["name", "cmdline", "status"]):
        if str(folder) in " ".join(process.info["cmdline"] or []) and "postgres" in str(
            process.info["name"]
        ):
            found.append(process.pid)
    return found


def test_one_machine_starts_with_nothing_keeps_its_data_and_leaves_nothing_running(
    command, tmp_path
):
    folder = tmp_path / "data"
    first = command("serve", "--data-dir", str(folder))
    url = first.url()
    assert f"Data is stored in {folder}." in first.line("Data is stored")
    made = httpx.post(f"{url}/threads", json={})
    assert made.status_code == 200, made.text
    thread = made.json()["thread_id"]
    assert postgres_of(folder)

    second = command("serve", "--data-dir", str(folder))
    assert second.ended(60) == 1
    assert re.search(rf"is in use by process \d+ serving {re.escape(url)}", "".join(second.errors))

    first.send(signal.SIGINT)
    assert first.ended() == 0
    assert postgres_of(folder) == []

    again = command("serve", "--data-dir", str(folder))
    assert httpx.get(f"{again.url()}/threads/{thread}").status_code == 200
    again.send(signal.SIGTERM)
    assert again.ended() == 0
    assert postgres_of(folder) == []


def test_a_server_whose_model_has_no_key_says_so_and_starts(command, edge_database, tmp_path):
    server = command(
        "serve",
        *("--database-url", edge_database.url, "--data-dir", str(tmp_path), "--port", "0"),
        BATHYSPHERE_MODEL_MAIN="openai:gpt-5",
        OPENAI_API_KEY="",
        folder=tmp_path,
    )
    assert httpx.get(f"{server.url()}/ok").status_code == 200
    server.send(signal.SIGINT)
    assert server.ended() == 0
    told = "".join(server.errors)
    assert "warning: Model unavailable: openai:gpt-5 needs an API key (OPENAI_API_KEY)" in told


@pytest.mark.long(
    "tests/integration/edge/test_serve_command.py"
    "::test_one_machine_starts_with_nothing_keeps_its_data_and_leaves_nothing_running"
)
def test_a_killed_server_does_not_keep_the_next_one_from_its_data(command, tmp_path):
    folder = tmp_path / "data"
    first = command("serve", "--data-dir", str(folder))
    thread = httpx.post(f"{first.url()}/threads", json={}).json()["thread_id"]
    first.send(signal.SIGKILL)
    first.ended()
    again = command("serve", "--data-dir", str(folder))
    assert httpx.get(f"{again.url()}/threads/{thread}").status_code == 200
    again.send(signal.SIGINT)
    assert again.ended() == 0
    assert postgres_of(folder) == []


def test_ctrl_c_hands_the_run_on_closes_streams_and_the_next_start_finishes_it(command, tmp_path):
    folder = str(tmp_path / "data")
    slow = {"BATHYSPHERE_MODEL_DEMO_PAUSE_S": "0.3"}
    first = command("serve", "--data-dir", folder, **slow)
    url = first.url()
    thread = httpx.post(f"{url}/threads", json={}).json()["thread_id"]
    runs = f"/threads/{thread}/runs"
    question = {"messages": [{"role": "user", "content": "Hello"}]}
    asked = {"assistant_id": "simple", "input": question}
    run = httpx.post(f"{url}{runs}", json=asked).json()["run_id"]
    with httpx.stream("GET", f"{url}{runs}/{run}/stream", timeout=30) as stream:
        lines = stream.iter_lines()
        assert next(line for line in lines if line.startswith("event:"))
        first.send(signal.SIGINT)
        with contextlib.suppress(httpx.HTTPError):
            for _ in lines:
                pass
    assert first.ended(40) == 0

    again = command("serve", "--data-dir", folder)
    url = again.url()
    ended = httpx.get(f"{url}{runs}/{run}/join", timeout=30)
    assert ended.status_code == 200, ended.text
    seen = httpx.get(f"{url}{runs}/{run}").json()
    assert seen["status"] in ("success", "interrupted")
    state = httpx.get(f"{url}/threads/{thread}/state").json()
    people = [m for m in state["values"]["messages"] if m["type"] == "human"]
    assert len(people) == 1


def test_keys_are_made_and_revoked_while_the_embedded_server_runs(command, tmp_path):
    folder = tmp_path / "data"
    url = command("serve", "--data-dir", str(folder), "--auth", "api-key").url()
    [postgres] = postgres_of(folder)

    def keys(*arguments: str) -> str:
        return command("keys", "--data-dir", str(folder), *arguments).output()

    def status(key: str) -> int:
        headers = {"authorization": f"Bearer {key}"}
        return httpx.post(f"{url}/threads", json={}, headers=headers).status_code

    made = [keys("create", "--tenant", "acme", "--user", who) for who in ("ada", "bob")]
    ada, bob = (text.splitlines()[0] for text in made)
    assert [status(ada), status(bob), status("bsk_none")] == [200, 200, 401]
    listed = keys("list")
    assert all(key.split("_")[1] in listed for key in (ada, bob))
    keys("revoke", ada.split("_")[1])
    assert [status(ada), status(bob)] == [401, 200]
    # The command neither started a second PostgreSQL nor stopped the one that it used.
    assert postgres_of(folder) == [postgres]


@pytest.mark.long(
    "tests/integration/edge/test_serve_command.py"
    "::test_ctrl_c_hands_the_run_on_closes_streams_and_the_next_start_finishes_it"
)
def test_a_second_ctrl_c_does_not_wait(command, tmp_path):
    patient = {"BATHYSPHERE_STOP_DELAY_SECONDS": "60"}
    server = command("serve", "--data-dir", str(tmp_path / "data"), **patient)
    url = server.url()
    server.send(signal.SIGINT)
    while httpx.get(f"{url}/readyz").status_code == 200:
        time.sleep(0.05)
    server.send(signal.SIGINT)
    server.ended(15)
    assert postgres_of(tmp_path) == []


def test_web_pages_of_others_cannot_use_the_server_of_this_machine(command, edge_database):
    url = command("serve", "--database-url", edge_database.url).url()
    rebound = httpx.post(f"{url}/threads", json={}, headers={"host": "evil.example"})
    assert rebound.status_code == 421
    across = httpx.post(f"{url}/threads", json={}, headers={"origin": "https://evil.example"})
    assert across.status_code == 403
    assert "access-control-allow-origin" not in across.headers


def test_a_deployment_asks_for_keys_and_knows_them_apart(command, edge_database: Database):
    made = [
        command(
            "keys", "--database-url", edge_database.url, "create", "--tenant", "acme", "--user", who
        ).output()
        for who in ("ada", "bob")
    ]
    ada, bob = (text.splitlines()[0] for text in made)
    server = command(
        "serve",
        *("--database-url", edge_database.url, "--redis-url", REDIS),
        *("--auth", "api-key", "--host", "0.0.0.0", "--port", "0", "--metrics-port", "0"),
        "--no-worker",
    )
    url = server.url()

    def ask(method: str, path: str, key: str | None, **more) -> httpx.Response:
        headers = {"authorization": f"Bearer {key}"} if key else {}
        return httpx.request(method, f"{url}{path}", headers=headers, **more)

    thread = ask("POST", "/threads", ada, json={}).json()["thread_id"]
    assert ask("GET", f"/threads/{thread}", ada).status_code == 200
    assert ask("GET", f"/threads/{thread}", bob).status_code == 404
    refused = ask("GET", f"/threads/{thread}", None)
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"] == "Bearer"
    assert refused.json()["hint"]
    pretended = httpx.get(
        f"{url}/threads/{thread}", headers={"x-user": "ada", "x-auth-user": "ada", "user-id": "ada"}
    )
    assert pretended.status_code == 401

    listed = command("keys", "--database-url", edge_database.url, "list").output()
    assert ada not in listed
    assert ada.split("_")[1] in listed
    revoke = ("keys", "--database-url", edge_database.url, "revoke", ada.split("_")[1])
    assert "Revoked" in command(*revoke).output()
    assert ask("GET", f"/threads/{thread}", ada).status_code == 401
    assert ask("GET", "/metrics", None).status_code == 404
    assert ask("GET", "/readyz", None).json()["checks"]["redis"] == "ok"


def test_a_worker_elsewhere_says_when_it_is_ready_shows_metrics_and_drains(command, edge_database):
    worker = command(
        "worker",
        *("--database-url", edge_database.url, "--redis-url", REDIS),
        *("--concurrency", "3", "--metrics-port", "0"),
    )
    line = worker.line("Worker ready: 3 runs")
    metrics = next(word for word in line.split() if word.startswith("http"))
    assert "bathysphere_runs{" in httpx.get(metrics).text
    ready = httpx.get(metrics.replace("/metrics", "/readyz"))
    assert (ready.status_code, ready.json()["checks"]["migrations"]) == (200, "ok")
    worker.send(signal.SIGTERM)
    assert worker.ended() == 0


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["serve", "--host", "0.0.0.0"], "without authentication"),
        (["serve", "--auth", "oidc"], "OIDC_ISSUER"),
        (["serve", "--auth", "anonymous,api-key"], "cannot be combined"),
        (["serve", "--no-worker"], "requires Redis"),
        (["worker"], "needs the database and Redis"),
        (["serve", "--port", "5432"], "Cannot listen"),
    ],
)
def test_what_cannot_work_is_said_before_anything_starts(command, tmp_path, arguments, reason):
    refused = command(*arguments, BATHYSPHERE_DATA_DIR=str(tmp_path))
    assert refused.ended() == 1
    assert reason in "".join(refused.errors)
