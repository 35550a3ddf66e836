"""`bathysphere mcp`: the file is changed as asked, and mistakes are explained."""

import json
import sys

import pytest

from bathysphere.cli.main import main


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BATHYSPHERE_MCP_CONFIG", raising=False)
    return tmp_path


def servers(folder):
    return json.loads((folder / "mcp.json").read_text(encoding="utf-8"))["mcpServers"]


def test_add_list_and_remove(folder, capsys, monkeypatch):
    monkeypatch.setenv("WIKI_TOKEN", "hidden-value")
    assert main(["mcp", "add", "files", "--command", "npx -y 'a server'", "--env", "A=b"]) == 0
    wiki = ["--url", "https://wiki.example/mcp", "--header", "Authorization=${WIKI_TOKEN}"]
    assert main(["mcp", "add", "wiki", *wiki, "--agent", "simple"]) == 0
    assert servers(folder) == {
        "files": {"command": "npx", "args": ["-y", "a server"], "env": {"A": "b"}},
        "wiki": {
            "type": "http",
            "url": "https://wiki.example/mcp",
            "headers": {"Authorization": "${WIKI_TOKEN}"},
            "bathysphere": {"agents": ["simple"]},
        },
    }
    assert main(["mcp", "list"]) == 0
    shown = capsys.readouterr().out
    assert "https://wiki.example/mcp" in shown
    assert "hidden-value" not in shown
    assert main(["mcp", "remove", "files"]) == 0
    assert list(servers(folder)) == ["wiki"]


def test_what_else_is_in_the_file_stays(folder):
    (folder / "mcp.json").write_text('{"mcpServers": {}, "inputs": [1]}', encoding="utf-8")
    main(["mcp", "add", "files", "--command", "npx"])
    assert json.loads((folder / "mcp.json").read_text())["inputs"] == [1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["add", "a__b", "--command", "x"], "Server name not allowed: 'a__b'"),
        (["add", "a"], "either a command or an address"),
        (["add", "a", "--url", "http://x", "--header", "Auth"], "--header needs NAME=VALUE"),
        (["list"], "File not found: mcp.json"),
        (["remove", "a"], "File not found: mcp.json"),
    ],
)
def test_a_mistake_is_explained_and_nothing_is_written(folder, capsys, words, said):
    assert main(["mcp", *words]) == 1
    assert said in capsys.readouterr().err
    assert not (folder / "mcp.json").exists()


def test_an_unknown_server_is_named(folder, capsys):
    main(["mcp", "add", "files", "--command", "npx"])
    assert main(["mcp", "test", "filez"]) == 1
    assert "No server 'filez' in mcp.json" in capsys.readouterr().err


def test_a_server_that_cannot_start_is_explained(folder, capsys):
    line = f"{sys.executable} -c 'import sys; sys.exit(\"no licence\")'"
    main(["mcp", "add", "broken", "--command", line])
    assert main(["mcp", "test"]) == 2
    said = capsys.readouterr().err
    assert "The MCP server 'broken' cannot be reached" in said
    assert "it wrote: no licence" in said


def test_only_local_commands_take_the_file_of_this_folder(folder, capsys):
    from bathysphere.cli.mcp_hub import configured_hub, local_hub

    main(["mcp", "add", "files", "--command", "npx"])
    assert configured_hub() is None
    assert list(local_hub().config.servers) == ["files"]
    assert "MCP servers from ./mcp.json: files." in capsys.readouterr().err
