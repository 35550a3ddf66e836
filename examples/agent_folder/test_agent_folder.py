"""The folder on a scripted model: no key, no network, the same result every time."""

from pathlib import Path

from langgraph.checkpoint.memory import InMemorySaver

from bathysphere import build
from bathysphere.testing import ScriptedChatModel, calls, folder_spec, says

HERE = Path(__file__).parent
THREAD = {"configurable": {"thread_id": "1"}}


def run(script, text="How high is the pressure at 923 m?"):
    model = ScriptedChatModel(script=script)
    agent = build(folder_spec(HERE, model=model), checkpointer=InMemorySaver())
    return agent.invoke({"messages": [("user", text)]}, THREAD)


def test_the_tool_calculates():
    state = run([calls("pressure", metres=923), says("About 94 bar.")])
    assert [message.text for message in state["messages"][-2:]] == ["93.79", "About 94 bar."]


def test_the_skill_can_be_read():
    read = calls("read_file", file_path="/skills/units/SKILL.md")
    state = run([read, says("I know the units.")])
    assert "1 fathom is 1.8288 metres" in state["messages"][-2].text


def test_the_checker_answers_for_itself():
    task = calls("task", description="Is 93.79 bar right at 923 m?", subagent_type="checker")
    state = run([task, says("It is right."), says("Checked.")])
    assert [message.text for message in state["messages"][-2:]] == ["It is right.", "Checked."]


def test_a_file_is_written_only_after_approval():
    state = run([calls("write_file", file_path="/log.md", content="923 m")])
    [waiting] = state["__interrupt__"]
    assert waiting.value["name"] == "write_file"
