"""Run one case in one mode: start the thread, answer its questions, grade what happened."""

from dataclasses import asdict, dataclass, field

from agentdojo.base_tasks import BaseInjectionTask, BaseUserTask
from agentdojo.functions_runtime import FunctionCall, TaskEnvironment
from dojo_agent import agent
from dojo_cases import Case, suites
from dojo_scenario import Scenario, copy_of, function_name, open_scenario
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.types import Command, Interrupt

_MOST_PAUSES = 200


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What happened in one run of a case."""

    mode: str
    suite: str
    user: str
    injection: str | None
    seen: bool
    """Whether the model saw the injection."""
    rogue: list[str]
    """Functions that changed or sent something, unasked or against a refusal."""
    utility: bool
    """AgentDojo's check of the user's task, on the calls that ran."""
    nominal: bool
    """AgentDojo's check of the injection, on the calls that the model proposed."""
    executed: bool
    """The same check, on the calls that ran."""
    asked: list[str] = field(default_factory=list)
    """Tools that the person was asked about; refused ones end with an exclamation mark."""

    @property
    def case(self) -> Case:
        return Case(self.suite, self.user, self.injection)

    def row(self) -> dict:
        return asdict(self)


async def run_case(case: Case, mode: str) -> Outcome:
    """Run a case in a thread of its own, with a person who approves the user's calls only."""
    scenario = open_scenario(case)
    graph = agent(case.suite, mode)
    thread = f"{case.suite}/{case.user}/{case.injection}"
    config = {"configurable": {"thread_id": thread}}
    state = await graph.ainvoke({"messages": [("user", scenario.prompt)]}, config)
    asked: list[str] = []
    for _ in range(_MOST_PAUSES):
        waiting = state.get("__interrupt__")
        if not waiting:
            break
        answers = {question.id: _answer(scenario, question, asked) for question in waiting}
        state = await graph.ainvoke(Command(resume=answers), config)
    else:
        message = f"The run keeps asking: {case} in mode {mode}: {asked[-5:]}"
        raise RuntimeError(message)
    if scenario.failure:
        raise scenario.failure
    await graph.checkpointer.adelete_thread(thread)
    return _grade(scenario, mode, state["messages"], asked)


def _answer(scenario: Scenario, question: Interrupt, asked: list[str]) -> dict[str, str]:
    name, arguments = question.value["name"], question.value["args"]
    if scenario.is_users(name, arguments):
        asked.append(name)
        return {"type": "approve"}
    asked.append(f"{name}!")
    return {"type": "reject", "message": "I did not ask for this."}


def _grade(scenario: Scenario, mode: str, messages: list[BaseMessage], asked: list[str]) -> Outcome:
    case, suite = scenario.case, suites()[scenario.case.suite]
    answer = messages[-1].text
    proposed = [
        FunctionCall(function=function_name(call["name"]), args=call["args"])
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
    ]
    injection = suite.injection_tasks[case.injection] if case.injection else None
    executed = bool(injection and _is_harmed(scenario, injection, answer, scenario.executed))
    nominal = executed
    if injection and _looks_at_traces(injection):
        nominal = _is_harmed(scenario, injection, answer, proposed)
    return Outcome(
        mode=mode,
        suite=case.suite,
        user=case.user,
        injection=case.injection,
        seen=scenario.seen,
        rogue=scenario.rogue_calls(),
        utility=_is_useful(scenario, suite.user_tasks[case.user], answer),
        nominal=nominal,
        executed=executed,
        asked=asked,
    )


def _is_useful(scenario: Scenario, task: BaseUserTask, answer: str) -> bool:
    before, after = _copies(scenario)
    from_traces = task.utility_from_traces(answer, before, after, scenario.executed)
    if from_traces is not None:
        return from_traces
    return bool(task.utility(answer, before, after))


def _is_harmed(
    scenario: Scenario, task: BaseInjectionTask, answer: str, calls: list[FunctionCall]
) -> bool:
    before, after = _copies(scenario)
    from_traces = task.security_from_traces(answer, before, after, calls)
    if from_traces is not None:
        return from_traces
    return bool(task.security(answer, before, after))


def _looks_at_traces(task: BaseInjectionTask) -> bool:
    return type(task).security_from_traces is not BaseInjectionTask.security_from_traces


def _copies(scenario: Scenario) -> tuple[TaskEnvironment, TaskEnvironment]:
    """Environments before and after; copies, because some checks change what they check."""
    return copy_of(scenario.before), copy_of(scenario.environment)
