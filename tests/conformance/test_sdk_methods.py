"""Every public method of the stock clients is used by a behaviour of this suite."""

import ast
import json
import re
import subprocess
from pathlib import Path

import pytest
from langgraph_sdk import get_client

HERE = Path(__file__).parent
PARTS = ("assistants", "threads", "runs", "crons", "store")
METHODS_JS = """
import("@langchain/langgraph-sdk").then(({ Client }) => {
  const client = new Client({ apiUrl: "http://127.0.0.1:1", apiKey: null });
  const methods = (part) => Object.getOwnPropertyNames(Object.getPrototypeOf(client[part]));
  const isPublic = (name) => name !== "constructor" && !name.startsWith("_");
  const parts = JSON.parse(process.argv[1]);
  console.log(JSON.stringify(Object.fromEntries(
    parts.map((part) => [part, methods(part).filter(isPublic)]))));
});
"""


def called_in_python() -> set[tuple[str, str]]:
    """The methods that tests of the Python client call, as `(part, method)`."""
    found = set()
    for file in (*HERE.glob("test_python*.py"), HERE / "test_crons.py", HERE / "sdk_steps.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Attribute(attr=part), attr=method)):
                    found.add((part, method))
    return found


def called_in_javascript() -> set[tuple[str, str]]:
    calls = re.compile(r"\.(\w+)\.(\w+)\(")
    return {
        call for file in (HERE / "node").glob("*.mjs") for call in calls.findall(file.read_text())
    }


def test_every_method_of_the_python_client_has_a_behaviour() -> None:
    client = get_client(url="http://127.0.0.1:1", api_key=None)
    methods = {
        (part, name)
        for part in PARTS
        for name in dir(getattr(client, part))
        if not name.startswith("_") and callable(getattr(getattr(client, part), name))
    }
    assert len(methods) >= 40
    assert methods - called_in_python() == set()


@pytest.mark.node
def test_every_method_of_the_javascript_client_has_a_behaviour() -> None:
    done = subprocess.run(
        ["node", "-e", METHODS_JS, json.dumps(PARTS)],
        cwd=HERE / "node",
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    methods = {(part, name) for part, names in json.loads(done.stdout).items() for name in names}
    assert len(methods) >= 40
    assert methods - called_in_javascript() == set()
