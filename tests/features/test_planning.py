"""Planning: `write_todos` on the main agent and on every subagent."""

from bathysphere.harness.spec import SubagentSpec
from bathysphere.testing import ScriptedChatModel, calls, says, together

PLAN = [
    {"content": "Read the sources", "status": "in_progress"},
    {"content": "Write the report", "status": "pending"},
]


def test_a_plan_is_kept_in_state_and_told_to_the_model(run):
    ran = run(calls("write_todos", todos=PLAN))
    assert ran.state["todos"] == PLAN
    assert "Read the sources" in ran.texts[0]


def test_an_item_is_pending_in_progress_or_completed_and_nothing_else(run):
    ran = run(calls("write_todos", todos=[{"content": "Read", "status": "later"}]))
    assert ran.statuses == ["error"]
    assert "'pending', 'in_progress' or 'completed'" in ran.texts[0]
    assert not ran.state.get("todos")


def test_a_plan_lives_on_in_the_next_turn_of_the_thread(talk):
    agent = talk(calls("write_todos", todos=PLAN), says("Planned."))
    agent.send("Plan.")
    assert agent.send("And?")["todos"] == PLAN
    assert "todos" not in agent.graph.get_state({"configurable": {"thread_id": "2"}}).values


def test_a_new_list_replaces_the_old_one(run):
    finished = [{"content": "Read the sources", "status": "completed"}]
    ran = run(calls("write_todos", todos=PLAN), calls("write_todos", todos=finished))
    assert ran.state["todos"] == finished


def test_two_lists_in_one_message_are_refused_and_the_plan_stays(run):
    ran = run(
        calls("write_todos", todos=PLAN),
        together(calls("write_todos", todos=[]), calls("write_todos", todos=PLAN[:1])),
    )
    assert ran.statuses == ["success", "error", "error"]
    assert ran.state["todos"] == PLAN


def test_every_subagent_can_plan_too(run):
    helper = ScriptedChatModel(script=[calls("write_todos", todos=PLAN), says("Planned.")])
    ran = run(
        calls("task", description="Plan it.", subagent_type="planner"),
        subagents=(SubagentSpec(name="planner", description="Plans.", model=helper, tools=()),),
    )
    assert "write_todos" in helper.tools_seen[0]
    assert "Updated todo list" in helper.requests[1][-1].text
    assert ran.texts == ["Planned."]


def test_the_prompt_of_every_agent_asks_for_a_plan_with_one_item_in_progress(run):
    ran = run(calls("task", description="Do it.", subagent_type="general-purpose"), says("Did it."))
    for asked in ran.model.requests[:2]:
        assert "write_todos" in asked[0].text
        assert "one item in progress at a time" in asked[0].text
        assert "For a simple question" in asked[0].text
