"""The stock `@langchain/langgraph-sdk` 1.12.0 in Node: its StreamController and its client."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from behaviours import JAVASCRIPT

NODE = Path(__file__).parent / "node"

pytestmark = [pytest.mark.services, pytest.mark.node, pytest.mark.timeout(300)]


def node(*arguments: str, **environment: str) -> str:
    if not (NODE / "node_modules").is_dir():
        pytest.fail(f"the client is not installed: npm ci --prefix {NODE}")
    done = subprocess.run(
        ["node", "suite.mjs", *arguments],
        cwd=NODE,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


Results = dict[str, dict[str, object]]


Played = dict[tuple[str, int, str], Results]


@pytest.fixture(scope="session")
def played() -> Played:
    """What the client said, by server, turn and part: a part is played once for its behaviours."""
    return {}


def play(server: str, part: str) -> Results:
    names = [name for name in JAVASCRIPT if name.startswith(f"{part}:")]
    lines = [json.loads(line) for line in node(*names, CONFORMANCE_URL=server).splitlines()]
    return {line["name"]: line for line in lines}


@pytest.mark.parametrize("behaviour", JAVASCRIPT)
def test_the_stock_client_sees(
    behaviour: str, server: str, played: Played, request: pytest.FixtureRequest
) -> None:
    turn = request.node.callspec.params.get("turn", 0)
    part = behaviour.partition(":")[0]
    if (server, turn, part) not in played:
        played[server, turn, part] = play(server, part)
    result = played[server, turn, part].get(behaviour)
    assert result is not None, "the behaviour was not played"
    assert result["error"] is None, result["error"]


def test_the_list_of_behaviours_is_the_suite() -> None:
    assert tuple(node("--list").splitlines()) == JAVASCRIPT


def test_the_client_is_the_pinned_one() -> None:
    installed = json.loads(
        (NODE / "node_modules/@langchain/langgraph-sdk/package.json").read_text()
    )
    assert installed["version"] == "1.12.0"
