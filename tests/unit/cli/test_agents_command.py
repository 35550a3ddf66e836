"""`bathysphere agents`."""

import pytest

from bathysphere.cli.main import main


@pytest.fixture(autouse=True)
def no_model(monkeypatch):
    for name in ("BATHYSPHERE_MODEL_MAIN", "DEEPAGENTS_MODEL_PROVIDER", "OLLAMA_MODEL_NAME"):
        monkeypatch.delenv(name, raising=False)


def test_it_lists_the_agents(capsys):
    assert main(["agents"]) == 0
    assert capsys.readouterr().out.startswith("research   a question, an audited plan")


def test_it_shows_every_layer_of_one(capsys):
    assert main(["agents", "simple"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("agent simple\n")
    for layer in ("FilesMiddleware", "ModelRetryMiddleware", "FlowMiddleware"):
        assert shown.count(f"  {layer} ") == 2  # the main agent and its helper


@pytest.mark.parametrize(
    ("alias", "name"),
    [("deeptutor", "tutor"), ("seminar_agent", "tutor"), ("simple_agent", "simple")],
)
def test_an_alias_shows_its_agent_and_is_not_listed(capsys, alias, name):
    assert main(["agents", alias]) == 0
    assert capsys.readouterr().out.startswith(f"agent {name}\n")
    main(["agents"])
    assert alias not in capsys.readouterr().out


def test_an_agent_of_the_project_that_has_the_name_of_an_alias_is_that_agent(
    capsys, monkeypatch, tmp_path
):
    (tmp_path / "agent.toml").write_text('name = "deeptutor"\n')
    (tmp_path / "prompt.md").write_text("You teach diving.\n")
    monkeypatch.chdir(tmp_path)
    assert main(["agents", "deeptutor"]) == 0
    assert capsys.readouterr().out.startswith("agent deeptutor\n")


def test_an_unknown_agent_is_a_sentence(capsys):
    assert main(["agents", "nobody"]) == 1
    assert capsys.readouterr().err == (
        "error: Unknown agent: nobody\nhint: choose research, simple, tutor, workspace\n"
    )


def test_it_shows_what_each_part_of_the_first_prompt_costs(capsys):
    assert main(["agents", "simple", "--tokens"]) == 0
    shown = capsys.readouterr().out
    parts, _, sums = shown.partition("\nby source\n")
    rows = [line.split(maxsplit=1) for line in parts.splitlines()]
    costs = [int(tokens) for tokens, _ in rows]
    assert costs == sorted(costs, reverse=True)
    assert any("write_todos" in part and "PlanningMiddleware" in part for _, part in rows)
    assert f"First prompt: {sum(costs)} tokens" in sums
    assert "Estimated at four characters per token" in sums


def test_the_prompts_of_a_graph_are_those_of_its_nodes(capsys):
    assert main(["agents", "research", "--tokens"]) == 0
    shown = capsys.readouterr().out
    assert shown.lstrip().split()[1] == "synthesizer"
    assert "Largest prompt of a node:" in shown


def test_the_prompt_of_a_compiled_graph_is_not_known(capsys, monkeypatch, tmp_path):
    (tmp_path / "own.py").write_text(
        "from langgraph.graph import StateGraph\n"
        "graph = StateGraph(dict)\n"
        "graph.add_node('a', lambda state: state)\n"
        "graph.set_entry_point('a')\n"
    )
    monkeypatch.chdir(tmp_path)
    assert main(["agents", "./own.py:graph", "--tokens"]) == 1
    assert "compiled graph" in capsys.readouterr().err
