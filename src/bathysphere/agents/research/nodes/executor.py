"""The executor: runs the approved plan in waves of independent steps.

Each time it does one of three things: it runs all steps whose dependencies are done, concurrently;
when all steps are done, it asks the model whether something is missing; or it hands over to the
synthesizer. Requests beyond the plan are never run directly: they become an extended plan, for the
auditor and then for the person.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.runtime import Runtime

from bathysphere.agents.research.attachments import Attachments
from bathysphere.agents.research.dependencies import (
    Dependencies,
    spend,
    thread_of,
    thread_snapshots,
)
from bathysphere.agents.research.forms import MoreForm, RequestForm
from bathysphere.agents.research.idempotent_reads import Result
from bathysphere.agents.research.parallel import all_of
from bathysphere.agents.research.passages import excerpt
from bathysphere.agents.research.plan_seal import check_permit
from bathysphere.agents.research.plan_state import read_plan, with_outputs
from bathysphere.agents.research.private_texts import private_texts
from bathysphere.agents.research.prompts import fenced, system, together
from bathysphere.agents.research.state import ResearchState
from bathysphere.agents.research.tool_gateway import Refused, ToolGateway
from bathysphere.agents.research.trace import entry
from bathysphere.policy.audit import Verdict, audit
from bathysphere.policy.permission import (
    Approval,
    Call,
    NotApproved,
    Permission,
    Used,
    permit,
)
from bathysphere.policy.plan import FETCH_PAGE, WEB_SEARCH, Plan, Step, waves

NODE = "tool_executor"
BREAKS = "The approved plan violates the current policy: {why}"


class Executor:
    """Runs approved plans."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps

    async def run(self, state: ResearchState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Run the next wave, or ask for further calls, or finish."""
        private = await private_texts(self._deps, state, runtime)
        permission = self._permission(state, runtime, private)
        results = dict(state.get("step_results") or {})
        ready = next_wave(permission.plan, results)
        if ready:
            return await self._wave(state, runtime, permission, ready, results)
        if int(state.get("rounds") or 0) < self._deps.options.rounds and state.get("sources"):
            return await self._more(state, runtime, permission, private)
        return {"status": "synthesizing"}

    # ── permission ──

    def _permission(
        self, state: ResearchState, runtime: Runtime[Any], private: Sequence[str]
    ) -> Permission:
        """The permission of the approved plan, if it is sealed and still within the policy.

        Raises:
            NotApproved: The seal, the approval or the policy does not allow it.
        """
        check_permit(self._deps.sealer, state, thread_of(runtime))
        plan = read_plan(state.get("approved_plan") or {"steps": []})
        verdict = self._audit(state, plan, private)
        if verdict.violations:
            why = "; ".join(one.message for one in verdict.violations)
            raise NotApproved(BREAKS.format(why=why))
        approvals = [Approval.model_validate(one) for one in state.get("approvals") or ()]
        used = Used.model_validate(state.get("used") or {})
        return permit(plan, approvals, self._deps.policy, used)

    def _audit(self, state: ResearchState, plan: Plan, private: Sequence[str]) -> Verdict:
        return audit(plan, self._deps.policy, question=state["user_query"], private=private)

    # ── waves ──

    async def _wave(
        self,
        state: ResearchState,
        runtime: Runtime[Any],
        permission: Permission,
        ready: Sequence[Step],
        results: dict[str, dict[str, Any]],
    ) -> dict[str, Any]:
        sources = list(state.get("sources") or [])
        layer = ToolGateway(
            self._deps,
            permission,
            runtime,
            grant=state.get("grant") or "",
            attachments=Attachments.of(state),
            taken={source["url"]: source for source in sources},
        )
        wave = _Wave(layer, runtime)
        outcomes = await wave.run(ready)
        for step in ready:
            results[step.id] = outcomes[step.id]
            sources += outcomes[step.id]["sources"]
        unique = list({source["id"]: source for source in sources}.values())
        # The model sees the first sources best: new ones come before those of an earlier report.
        earlier = (state.get("follow_up") or {}).get("sources") or ()
        unique.sort(key=lambda source: source["id"] in earlier)
        done = f"{len(ready)} of {len(permission.plan.steps)} steps"
        found = len(unique) - len(state.get("sources") or [])
        failed = sum(bool(outcomes[step.id].get("error")) for step in ready)
        summary = f"Ran {done}: {found} new sources, {failed} failed"
        return {
            "status": "executing",
            "plan": with_outputs(permission.plan, results),
            "step_results": results,
            "sources": unique,
            "used": permission.used.model_dump(),
            "reasoning": [entry(self._deps.clock, NODE, summary)],
        }

    # ── further calls ──

    async def _more(
        self,
        state: ResearchState,
        runtime: Runtime[Any],
        permission: Permission,
        private: Sequence[str],
    ) -> dict[str, Any]:
        answer = await self._deps.main.ask(
            MoreForm, system=system(NODE), user=await self._found(state, runtime)
        )
        update: dict[str, Any] = {
            "status": "executing",
            "rounds": int(state.get("rounds") or 0) + 1,
            **spend(self._deps, state, answer.tokens),
        }
        extended, new, denied = self._extended(
            state, permission.plan, answer.value.requests, private
        )
        update["denied"] = [*(state.get("denied") or []), *denied]
        summary = f"The model requested {len(answer.value.requests)} more calls"
        update["reasoning"] = [entry(self._deps.clock, NODE, summary, raw=answer.raw)]
        if not new:
            return update
        return {
            **update,
            "status": "auditing",
            "human_approved": False,
            "plan": with_outputs(extended, state.get("step_results") or {}),
            "plan_hash": extended.sha256,
            "difference": new,
        }

    def _extended(
        self,
        state: ResearchState,
        plan: Plan,
        requests: Sequence[RequestForm],
        private: Sequence[str],
    ) -> tuple[Plan, list[dict[str, Any]], list[dict[str, Any]]]:
        """The extended plan, its new steps, and the requests that the policy forbids."""
        new, denied = list[dict[str, Any]](), list[dict[str, Any]]()
        done = {(step.tool, " ".join(step.input.split())) for step in plan.steps}
        for number, one in enumerate(requests, 1):
            wanted = (one.tool, " ".join(one.input.split()))
            if wanted in done:
                continue
            done.add(wanted)
            request = {"id": f"more-{plan.revision + 1}-{number}", **one.model_dump()}
            why = self._forbidden(state, plan, request, private)
            if why is None:
                new.append(request)
            else:
                denied.append({**request, "denied_by": "policy", "why": why})
        return self._grown(plan, new), new, denied

    def _forbidden(
        self,
        state: ResearchState,
        plan: Plan,
        request: Mapping[str, Any],
        private: Sequence[str],
    ) -> str | None:
        """Why the policy forbids a request, or None; the person is not asked about those."""
        if request["tool"] not in self._deps.tools():
            return f"the tool {request['tool']} is not allowed"
        before = set(self._audit(state, plan, private).violations)
        grown = self._audit(state, self._grown(plan, [request]), private)
        found = set(grown.violations) - before
        return "; ".join(sorted(one.message for one in found)) or None

    def _grown(self, plan: Plan, new: Sequence[Mapping[str, Any]]) -> Plan:
        if not new:
            return plan
        steps = [
            Step(
                id=one["id"],
                tool=one["tool"],
                input=one["input"],
                rationale=one["rationale"],
                pages=self._deps.options.pages if one["tool"] == WEB_SEARCH else 0,
                domains=("*",) if one["tool"] == WEB_SEARCH else (),
            )
            for one in new
        ]
        return plan.grown(steps)

    async def _found(self, state: ResearchState, runtime: Runtime[Any]) -> str:
        sizes = self._deps.main.sizes
        sources = (state.get("sources") or [])[: sizes.sources]
        each = sizes.shown // (2 * max(1, len(sources)))
        shown_sources = []
        for number, source in enumerate(sources, 1):
            snapshot = await thread_snapshots(self._deps, runtime).get(source["id"])
            text = excerpt(snapshot.text, state["user_query"], min(each, sizes.excerpt))
            about = {"id": f"S{number}", "title": source["title"], "url": source["final_url"]}
            shown_sources.append(fenced("source", text, **about))
        tools = "\n".join(f"{name}: {about}" for name, about in self._deps.tools().items())
        return together(
            [fenced("question", state["user_query"]), fenced("tools", tools), *shown_sources]
        )


class _Wave:
    """Runs steps concurrently and collects their results."""

    def __init__(self, layer: ToolGateway, runtime: Runtime[Any]) -> None:
        self._layer = layer
        self._write = runtime.stream_writer
        self._page_calls: dict[str, Call] = {}

    async def run(self, steps: Sequence[Step]) -> dict[str, dict[str, Any]]:
        answers = await self._all([self._first(step) for step in steps])
        for answer in answers.values():
            self._layer.taken |= {source["url"]: source for source in answer.get("sources") or ()}
        wanted = {step.id: self._pages(step, answers[step.id, step.input]) for step in steps}
        # A page found by two steps is opened for the first and used by both.
        opened = await self._all(list(self._page_calls.values()))
        pages = {url: opened[call.step, url] for url, call in self._page_calls.items()}
        return {
            step.id: self._result(
                step, answers[step.id, step.input], [pages[url] for url in wanted[step.id]]
            )
            for step in steps
        }

    def _first(self, step: Step) -> Call:
        # Count calls in order before running them concurrently, so that counts are deterministic.
        call = Call(step=step.id, tool=step.tool, input=step.input)
        self._report(call, "started", 0)
        self._layer.allow(call)
        return call

    async def _all(self, calls: Sequence[Call]) -> dict[tuple[str, str], Result]:
        return await all_of({(call.step, call.input): self._make(call) for call in calls})

    async def _make(self, call: Call) -> Result:
        result = await self._layer.make(call)
        self._report(call, "failed" if "error" in result else "done", 1, _note(result))
        return result

    def _pages(self, step: Step, answer: Result) -> list[str]:
        """URLs of a search to open: those within the plan, best first."""
        urls = list(dict.fromkeys(hit["url"] for hit in answer.get("hits") or ()))
        self._layer.permission.found(step.id, urls)
        chosen: list[str] = []
        for url in urls:
            if len(chosen) < step.pages and (url in self._page_calls or self._open(step, url)):
                chosen.append(url)
        return chosen

    def _open(self, step: Step, url: str) -> bool:
        call = Call(step=step.id, tool=FETCH_PAGE, input=url)
        try:
            self._layer.allow(call)
        except Refused:
            return False  # outside the plan's domains
        self._page_calls[url] = call
        return True

    def _result(self, step: Step, answer: Result, pages: Sequence[Result]) -> dict[str, Any]:
        sources = [one for result in (answer, *pages) for one in result.get("sources") or ()]
        errors = [result["error"] for result in pages if "error" in result]
        outcome: dict[str, Any] = {"sources": sources, "tool": step.tool, "input": step.input}
        if "error" in answer:
            outcome["error"] = answer["error"]
        outcome["failed_pages"] = errors
        outcome["summary"] = _summary(answer, len(sources), errors)
        return outcome

    def _report(self, call: Call, state: str, done: int, note: str = "") -> None:
        self._write(
            {
                "type": "research_step",
                "step": call.step,
                "tool": call.tool,
                "input": call.input,
                "state": state,
                "done": done,
                "total": 1,
                "note": note,
            }
        )


def next_wave(plan: Plan, results: Mapping[str, Any]) -> list[Step]:
    """Unfinished steps whose dependencies are done."""
    for wave in waves(plan.steps):
        if remaining := [step for step in wave if step.id not in results]:
            return remaining
    return []


def _summary(answer: Result, sources: int, errors: Sequence[str]) -> str:
    if "error" in answer:
        return f"failed: {answer['error']}"
    hits = f"{len(answer['hits'])} results, " if "hits" in answer else ""
    failed = f", {len(errors)} pages failed" if errors else ""
    return f"{hits}{sources} sources read{failed}"


def _note(result: Result) -> str:
    if "error" in result:
        return str(result["error"])
    if "hits" in result:
        return f"{len(result['hits'])} results"
    return ", ".join(source["title"] or source["url"] for source in result.get("sources") or ())[
        :80
    ]
