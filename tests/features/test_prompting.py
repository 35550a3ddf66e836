"""The words that make an agent deep: what the model is told of planning, files and subagents."""

import pytest


@pytest.fixture
def descriptions(run):
    schemas = [t["function"] for t in run().model.tool_schemas(0)]
    return {schema["name"]: schema["description"] for schema in schemas}


def test_the_prompt_of_the_agent_comes_before_the_guidance(run):
    system = run(prompt="You are a diver.").model.requests[0][0].text
    assert system.startswith("You are a diver.\n\n## Planning\n")


def test_an_agent_without_words_of_its_own_still_has_the_guidance(run):
    assert run().model.requests[0][0].text.startswith("## Planning\n")


def test_the_plan_tool_says_when_to_use_it_and_when_not(descriptions):
    assert "When to Use This Tool" in descriptions["write_todos"]
    assert "NOT" in descriptions["write_todos"]
    assert "in_progress" in descriptions["write_todos"]


def test_the_file_tools_teach_paging_and_exact_edits(descriptions):
    assert "`offset`/`limit`" in descriptions["read_file"]
    assert "header" in descriptions["read_file"]
    assert "exact string replacements" in descriptions["edit_file"]
    assert "read the file before editing" in descriptions["edit_file"]
    assert "literal" in descriptions["grep"]


def test_the_task_tool_says_whom_to_send_and_how_to_ask(descriptions):
    assert "general-purpose:" in descriptions["task"]
    assert "subagent_type" in descriptions["task"]


def test_a_subagent_is_told_that_only_its_last_message_is_seen(run):
    from bathysphere.testing import calls, says

    ran = run(calls("task", description="Do.", subagent_type="general-purpose"), says("Did."))
    assert "It sees only your last message" in ran.model.requests[1][0].text
