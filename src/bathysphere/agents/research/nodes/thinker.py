"""The thinker: plans the research, and revises a rejected plan."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from langchain_core.messages import BaseMessage
from langgraph.runtime import Runtime

from bathysphere.agents.research.attachments import Attachments
from bathysphere.agents.research.dependencies import Dependencies, spend, thread_of
from bathysphere.agents.research.follow_up import done_steps, earlier_material
from bathysphere.agents.research.forms import PlanForm, StepForm, plan_form
from bathysphere.agents.research.passages import excerpt
from bathysphere.agents.research.plan_state import with_outputs
from bathysphere.agents.research.prompts import fenced, system, together
from bathysphere.agents.research.state import MAX_PLAN_REVISIONS, ResearchState
from bathysphere.agents.research.trace import entry
from bathysphere.core.canonical import sha256
from bathysphere.core.errors import CallerError
from bathysphere.policy.plan import FETCH_PAGE, READ_CONTEXT, SEARCH_CORPUS, WEB_SEARCH, Plan, Step

NODE = "thinker"
ANYWHERE = ("*",)
BY_PERSON = "You asked for this page."
ATTACHED = "Read what you attached."
CANNOT_OPEN = "no tool for opening web pages is available"
REFUSED = "Your last plan was rejected:\n{why}"
REJECTED = "The person rejected your last plan and says:\n{why}"

MAX_QUERY = 500

FRESH: dict[str, Any] = {
    "error_message": None,
    "follow_up": None,
    "answer": None,
    "plan": None,
    "plan_hash": None,
    "audit_result": None,
    "audits": [],
    "plan_revision_count": 0,
    "human_approved": False,
    "feedback": None,
    "edited": False,
    "difference": None,
    "approved_plan": None,
    "approved_audit": None,
    "approvals": [],
    "permit": None,
    "grant": None,
    "step_results": {},
    "used": {},
    "denied": [],
    "rounds": 0,
    "sources": [],
    "tokens_used": 0,
    "report": None,
    "final_report": None,
    "finished_at": None,
    "seal": None,
}
"""State at the start of a new question, which resets that of an earlier one."""


class Thinker:
    """Plans research."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps

    async def run(self, state: ResearchState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Make a plan, or revise it after a rejection."""
        question = question_of(state)
        is_revision = needs_revision(state, question)
        # The router has reset the state of a new question, and an extension builds on a plan.
        is_reset = is_revision or state.get("status") == "started"
        initial: dict[str, Any] = {} if is_reset else dict(FRESH)
        known: dict[str, Any] = {**state, **initial, "user_query": question}
        revision = int((known.get("plan") or {}).get("revision", -1)) + 1
        form = plan_form(tuple(self._plannable()))
        answer = await self._deps.main.ask(form, system=system(NODE), user=self._brief(known))
        plan = self._plan(answer.value, known, thread_of(runtime), revision)
        return {
            **initial,
            "thread_id": thread_of(runtime),
            "history": known.get("history"),
            "user_query": question,
            "max_plan_revisions": self._ceiling(state),
            "status": "thinking",
            "plan": with_outputs(plan, {}),
            "plan_hash": plan.sha256,
            "audit_result": None,
            "feedback": None,
            "denied": [*(known.get("denied") or []), *self._skipped(known)],
            "reasoning": [self._line(plan, answer.raw)],
            **spend(self._deps, known, answer.tokens),
        }

    def _plannable(self) -> dict[str, str]:
        """Tools that the model may plan; attachments are always read."""
        tools = self._deps.tools()
        if not (tools.keys() - {READ_CONTEXT}):
            raise CallerError(
                "No search tool is available",
                hint="configure a search engine or a corpus, or allow their tools in POLICY.md",
            )
        return {name: about for name, about in tools.items() if name != READ_CONTEXT}

    def _ceiling(self, state: ResearchState) -> int:
        requested = state.get("max_plan_revisions") or MAX_PLAN_REVISIONS
        return max(1, min(int(requested), self._deps.policy.limits.revisions))

    def _brief(self, state: Mapping[str, Any]) -> str:
        question, sizes = state["user_query"], self._deps.main.sizes
        tools = "\n".join(f"{name}: {about}" for name, about in self._plannable().items())
        attached = excerpt(Attachments.of(state).as_text(), question, sizes.excerpt)
        addresses = "\n".join(state.get("context_urls") or ())
        return together(
            [
                fenced("question", question),
                earlier_material(state),
                _done(state),
                fenced("tools", tools),
                fenced("addresses", addresses) if addresses else None,
                fenced("knowledge", attached) if attached else None,
                _rejection(state),
            ]
        )

    def _plan(self, form: PlanForm, state: Mapping[str, Any], thread: str, revision: int) -> Plan:
        names = [_id(thread, state["user_query"], revision, at) for at in range(len(form.steps))]
        done = done_steps(state)
        question = state["user_query"]
        planned = [self._step(at, one, names, question) for at, one in enumerate(form.steps)]
        steps = _extended(done, planned)
        known = {step.input for step in steps}
        tools = self._deps.tools()
        for at, url in enumerate(state.get("context_urls") or (), 100):
            if url not in known and FETCH_PAGE in tools:
                name = _id(thread, url, revision, at)
                steps.append(Step(id=name, tool=FETCH_PAGE, input=url, rationale=BY_PERSON))
        if _has_unread_attachments(state) and READ_CONTEXT in tools:
            name = _id(thread, READ_CONTEXT, revision, 99)
            steps.append(Step(id=name, tool=READ_CONTEXT, input="attached", rationale=ATTACHED))
        return Plan(
            objective=form.objective,
            steps=tuple(steps),
            estimated_token_budget=min(
                form.estimated_token_budget, self._deps.policy.limits.tokens
            ),
            revision=revision,
        )

    def _skipped(self, state: Mapping[str, Any]) -> list[dict[str, Any]]:
        """The person's URLs that cannot be opened: listed as denied, never dropped silently."""
        if FETCH_PAGE in self._deps.tools():
            return []
        known = {one.get("input") for one in state.get("denied") or ()}
        return [
            {"tool": FETCH_PAGE, "input": url, "denied_by": "policy", "why": CANNOT_OPEN}
            for url in state.get("context_urls") or ()
            if url not in known
        ]

    def _step(self, at: int, form: StepForm, names: Sequence[str], question: str) -> Step:
        is_search = form.tool == WEB_SEARCH
        # A step can depend only on earlier ones, so there are no cycles.
        after = tuple(dict.fromkeys(names[one - 1] for one in form.after if one - 1 < at))
        return Step(
            id=names[at],
            tool=form.tool,
            input=_input(form, question),
            rationale=form.rationale,
            pages=self._deps.options.pages if is_search else 0,
            domains=ANYWHERE if is_search else (),
            depends_on=after,
        )

    def _line(self, plan: Plan, raw: str) -> Any:
        steps = "1 step" if len(plan.steps) == 1 else f"{len(plan.steps)} steps"
        summary = f"Plan, revision {plan.revision}: {plan.objective} ({steps})"
        return entry(self._deps.clock, NODE, summary, raw=raw)


def question_of(state: ResearchState) -> str:
    """The question: the last human message, or `user_query`.

    Raises:
        CallerError: There is no question.
    """
    messages = state.get("messages") or []
    last = messages[-1] if messages else None
    message = last.text if isinstance(last, BaseMessage) and last.type == "human" else ""
    question = (message or state.get("user_query") or "").strip()
    if not question:
        raise CallerError("The question is empty", hint="set `user_query`, or send a message")
    return question[:8_000]


def needs_revision(state: ResearchState, question: str) -> bool:
    """Whether the current plan was rejected and must be revised."""
    if state.get("status") != "thinking" or question != state.get("user_query"):
        return False
    refused = (state.get("audit_result") or {}).get("verdict") == "rejected"
    return refused or state.get("feedback") is not None


def _rejection(state: Mapping[str, Any]) -> str | None:
    if state.get("feedback"):
        return REJECTED.format(why=fenced("feedback", state["feedback"]))
    audit = state.get("audit_result") or {}
    if audit.get("verdict") != "rejected":
        return None
    lines = [f"- {one}" for one in audit.get("policy_violations") or ()]
    lines += [f"- better: {one}" for one in audit.get("suggestions") or ()]
    return REFUSED.format(why="\n".join(lines))


def _done(state: Mapping[str, Any]) -> str | None:
    """The steps that an extension builds on, and the sources that they read."""
    steps = [f"{step.tool}: {step.input}" for step in done_steps(state)]
    if not steps:
        return None
    titles = [f"source: {one['title'] or one['url']}" for one in state.get("sources") or ()]
    return fenced("done", "\n".join([*steps, *titles]))


def _has_unread_attachments(state: Mapping[str, Any]) -> bool:
    """Whether something is attached that an extension does not have as a source yet."""
    read = {one["text_sha256"] for one in state.get("sources") or ()}
    texts = Attachments.of(state).private_texts()
    return any(sha256(text.encode("utf-8", "replace")) not in read for text in texts)


def _extended(done: Sequence[Step], planned: Sequence[Step]) -> list[Step]:
    """The steps of an earlier plan, and those that are new."""
    known = {(step.tool, " ".join(step.input.split())) for step in done}
    new = [step for step in planned if (step.tool, " ".join(step.input.split())) not in known]
    names = {step.id for step in (*done, *new)}
    return [
        *done,
        *(
            step.model_copy(
                update={"depends_on": tuple(one for one in step.depends_on if one in names)}
            )
            for step in new
        ),
    ]


def _input(form: StepForm, question: str) -> str:
    """The input of a step; a small model may repeat the tool's name in place of a query."""
    is_search = form.tool in (WEB_SEARCH, SEARCH_CORPUS)
    return question[:MAX_QUERY] if is_search and form.input.strip() == form.tool else form.input


def _id(thread: str, words: str, revision: int, at: int) -> str:
    """A deterministic id, so that a repeated node produces the same plan."""
    return str(uuid5(NAMESPACE_URL, f"{thread}/{revision}/{at}/{words}"))
