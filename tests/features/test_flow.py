"""A run from start to end, as the seeds tell it, and the research pattern of seed 004."""

import asyncio
from pathlib import Path

from langchain_core.messages import AIMessageChunk
from langchain_core.tools import tool
from langgraph.types import Command

from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec, SubagentSpec
from bathysphere.testing import ScriptedChatModel, calls, says, together

ROOT = Path(__file__).parents[2]


def test_a_run_plans_works_on_files_delegates_and_answers(run):
    ran = run(
        calls("write_todos", todos=[{"content": "Count", "status": "in_progress"}]),
        calls("write_file", file_path="/draft.md", content="One two."),
        calls("task", description="Check it.", subagent_type="general-purpose"),
        says("It is right."),
        calls("edit_file", file_path="/draft.md", old_string="two", new_string="three"),
        calls("write_todos", todos=[{"content": "Count", "status": "completed"}]),
    )
    assert ran.state["messages"][-1].text == "Done."
    assert ran.state["todos"] == [{"content": "Count", "status": "completed"}]
    assert ran.files == {"/draft.md": "One three."}


def test_files_can_be_given_with_the_input(run):
    given = {"/brief.md": {"content": "Count fish.", "encoding": "utf-8"}}
    ran = run(
        calls("read_file", file_path="/brief.md"),
        calls("edit_file", file_path="/brief.md", old_string="fish", new_string="whales"),
        state={"files": given},
    )
    assert ran.texts[0].endswith("Count fish.")
    assert ran.files == {"/brief.md": "Count whales."}


def test_an_answer_without_tools_is_one_model_call(run):
    assert len(run().model.requests) == 1


def test_the_answer_streams_word_by_word_from_main_agent_and_subagent():
    script = [
        calls("task", description="Say it.", subagent_type="general-purpose"),
        says("From below comes this."),
        says("And from above this."),
    ]
    agent = build(AgentSpec(name="test", model=ScriptedChatModel(script=script)))

    async def listen():
        heard = {}
        stream = agent.astream(
            {"messages": [("user", "Go.")]}, stream_mode="messages", subgraphs=True
        )
        async for namespace, (chunk, _) in stream:
            if isinstance(chunk, AIMessageChunk) and chunk.text:
                heard.setdefault(bool(namespace), []).append(chunk.text)
        return heard

    heard = asyncio.run(listen())
    assert "".join(heard[True]) == "From below comes this."
    assert "".join(heard[False]) == "And from above this."
    assert len(heard[True]) > 2


def test_a_person_can_be_asked_in_the_middle_and_the_run_goes_on(talk):
    agent = talk(
        calls("write_file", file_path="/a.md", content="x"), approvals={"write_file": True}
    )
    [asked] = agent.send()["__interrupt__"]
    answer = {"type": "reject", "message": "Not there."}
    state = agent.send(Command(resume={asked.id: answer}))
    assert "Not there." in state["messages"][-2].text
    assert state["messages"][-1].text == "Done."


def test_a_new_message_instead_of_an_answer_drops_the_question(talk):
    agent = talk(
        calls("write_file", file_path="/a.md", content="x"), approvals={"write_file": True}
    )
    assert agent.send()["__interrupt__"]
    state = agent.send("Never mind.")
    assert "__interrupt__" not in state
    assert "did not complete" in state["messages"][2].text
    assert state["messages"][2].additional_kwargs == {"unfinished": True}
    assert state["messages"][-1].text == "Done."
    assert not state.get("files")


def test_memory_files_stand_in_the_prompt(run):
    given = {"/AGENTS.md": {"content": "Always answer in Norwegian.", "encoding": "utf-8"}}
    ran = run(memory=("/AGENTS.md",), state={"files": given})
    assert "Always answer in Norwegian." in ran.model.requests[0][0].text


# ── the research pattern ──

REPORT = "/final_report.md"


def internet_search(configured: bool):
    @tool
    def internet_search(query: str) -> str:
        """Search the web."""
        if not configured:
            return "Search is not configured; go on with what you know."
        return f"Source on {query}."

    return internet_search


def research_agents():
    def researcher(messages):
        results = [m.text for m in messages if m.type == "tool"]
        if not results:
            return calls("internet_search", query=messages[1].text)
        return says(f"Found: {results[0]}")

    return (
        SubagentSpec(
            name="researcher", description="Researches.", model=ScriptedChatModel(answer=researcher)
        ),
        SubagentSpec(
            name="critic",
            description="Criticises the report.",
            tools=(),
            model=ScriptedChatModel(
                script=[calls("read_file", file_path=REPORT), says("Say more of whales.")]
            ),
        ),
    )


def research(run, *, configured):
    def task(kind, description, call):
        return calls("task", {"description": description, "subagent_type": kind}, id=call)

    return run(
        together(task("researcher", "Fish", "a"), task("researcher", "Whales", "b")),
        calls("write_file", file_path=REPORT, content="Fish."),
        task("critic", "Read the report.", "c"),
        calls("edit_file", file_path=REPORT, old_string="Fish.", new_string="Fish and whales."),
        subagents=research_agents(),
        tools=(internet_search(configured),),
    )


def test_research_subagents_search_in_parallel_a_critic_reads_and_the_report_is_improved(run):
    ran = research(run, configured=True)
    assert ran.texts[:2] == ["Found: Source on Fish.", "Found: Source on Whales."]
    assert ran.texts[3] == "Say more of whales."
    assert ran.files == {REPORT: "Fish and whales."}


def test_research_without_a_search_engine_goes_on_with_what_it_knows(run):
    ran = research(run, configured=False)
    assert all("not configured" in text for text in ran.texts[:2])
    assert REPORT in ran.files


def test_the_graphs_are_served_by_langgraph_dev_and_studio():
    import json

    graphs = json.loads((ROOT / "langgraph.json").read_text())["graphs"]
    assert "simple" in graphs
    for place in graphs.values():
        module = place.partition(":")[0]
        assert (ROOT / module).exists() or module.startswith("bathysphere")
