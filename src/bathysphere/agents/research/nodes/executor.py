"""The executor: carries out the approved plan, wave by wave, and nothing else.

Each time it runs it does one of three things: the steps that wait for no other, all at the same
time; or, when all are done, it asks the model once whether something is missing; or it hands over.
What the model asks for beyond the plan is never done: it becomes a wider plan, for the auditor and
then for the person.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from langgraph.runtime import Runtime

from bathysphere.agents.research.forms import MoreForm, RequestForm
from bathysphere.agents.research.layer import Refused, ToolLayer
from bathysphere.agents.research.once import Result
from bathysphere.agents.research.parallel import all_of
from bathysphere.agents.research.parts import (
    Parts,
    kept,
    read_plan,
    shown,
    spend,
    thread_of,
)
from bathysphere.agents.research.passages import excerpt
from bathysphere.agents.research.prompts import fenced, system, together
from bathysphere.agents.research.sealing import permit_of
from bathysphere.agents.research.state import ResearchState
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
UNSEALED = "this plan was not approved here"
BREAKS = "the approved plan breaks the policy as it is now: {why}"


class Executor:
    """Carries out plans."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    async def run(self, state: ResearchState, runtime: Runtime[Any]) -> dict[str, Any]:
        """Do the next wave, or ask for more, or hand over."""
        permission = self._permission(state, runtime)
        results = dict(state.get("step_results") or {})
        ready = next_wave(permission.plan, results)
        if ready:
            return await self._wave(state, runtime, permission, ready, results)
        if int(state.get("rounds") or 0) < self._parts.config.rounds and state.get("sources"):
            return await self._more(state, runtime, permission)
        return {"status": "synthesizing"}

    # ── what may be done ──

    def _permission(self, state: ResearchState, runtime: Runtime[Any]) -> Permission:
        """The permission of the approved plan, if it was approved here, and stands today.

        Raises:
            NotApproved: The seal, the approval or the policy says no.
        """
        known = {**state, "thread_id": thread_of(runtime)}
        if not self._parts.sealer.is_sealed(permit_of(known), state.get("permit")):
            raise NotApproved(UNSEALED, hint="approve it at the gate")
        plan = read_plan(state.get("approved_plan") or {"steps": []})
        verdict = self._audit(state, plan)
        if verdict.violations:
            why = "; ".join(one.message for one in verdict.violations)
            raise NotApproved(BREAKS.format(why=why))
        said = [Approval.model_validate(one) for one in state.get("approvals") or ()]
        used = Used.model_validate(state.get("used") or {})
        return permit(plan, said, self._parts.policy, used)

    def _audit(self, state: ResearchState, plan: Plan) -> Verdict:
        attached = (state.get("knowledge_context") or "").strip()
        private = [attached] if attached else []
        return audit(plan, self._parts.policy, question=state["user_query"], private=private)

    # ── a wave ──

    async def _wave(
        self,
        state: ResearchState,
        runtime: Runtime[Any],
        permission: Permission,
        ready: Sequence[Step],
        results: dict[str, dict[str, Any]],
    ) -> dict[str, Any]:
        sources = list(state.get("sources") or [])
        layer = ToolLayer(
            self._parts,
            permission,
            runtime,
            attached=state.get("knowledge_context") or "",
            taken={source["url"]: source for source in sources},
        )
        wave = _Wave(layer, runtime)
        given = await wave.run(ready)
        for step in ready:
            results[step.id] = given[step.id]
            sources += given[step.id]["sources"]
        unique = list({source["id"]: source for source in sources}.values())
        done = f"{len(ready)} of {len(permission.plan.steps)} steps"
        found = len(unique) - len(state.get("sources") or [])
        failed = sum(bool(given[step.id].get("error")) for step in ready)
        summary = f"Did {done}: {found} new sources, {failed} failed"
        return {
            "status": "executing",
            "plan": shown(permission.plan, results),
            "step_results": results,
            "sources": unique,
            "used": permission.used.model_dump(),
            "reasoning": [entry(self._parts.clock, NODE, summary)],
        }

    # ── more ──

    async def _more(
        self, state: ResearchState, runtime: Runtime[Any], permission: Permission
    ) -> dict[str, Any]:
        asked = await self._parts.main.ask(
            MoreForm, system=system(NODE), user=await self._found(state, runtime)
        )
        update: dict[str, Any] = {
            "status": "executing",
            "rounds": int(state.get("rounds") or 0) + 1,
            **spend(self._parts, state, asked.tokens),
        }
        wider, new, denied = self._wider(state, permission.plan, asked.value.requests)
        update["denied"] = [*(state.get("denied") or []), *denied]
        summary = f"The model asks for {len(asked.value.requests)} more calls"
        update["reasoning"] = [entry(self._parts.clock, NODE, summary, raw=asked.raw)]
        if not new:
            return update
        return {
            **update,
            "status": "auditing",
            "human_approved": False,
            "plan": shown(wider, state.get("step_results") or {}),
            "plan_hash": wider.sha256,
            "difference": new,
        }

    def _wider(
        self, state: ResearchState, plan: Plan, requests: Sequence[RequestForm]
    ) -> tuple[Plan, list[dict[str, Any]], list[dict[str, Any]]]:
        """The plan with what was asked for; what is new in it; what no approval could allow."""
        new, denied = list[dict[str, Any]](), list[dict[str, Any]]()
        done = {(step.tool, " ".join(step.input.split())) for step in plan.steps}
        for at, one in enumerate(requests, 1):
            wanted = (one.tool, " ".join(one.input.split()))
            if wanted in done:
                continue
            done.add(wanted)
            told = {"id": f"more-{plan.revision + 1}-{at}", **one.model_dump()}
            why = self._forbidden(state, plan, told)
            if why is None:
                new.append(told)
            else:
                denied.append({**told, "denied_by": "policy", "why": why})
        return self._grown(plan, new), new, denied

    def _forbidden(self, state: ResearchState, plan: Plan, told: Mapping[str, Any]) -> str | None:
        """Why the policy would never allow it: such a request is not worth a person's time."""
        if told["tool"] not in self._parts.tools():
            return f"the tool {told['tool']} is not allowed"
        before = set(self._audit(state, plan).violations)
        found = set(self._audit(state, self._grown(plan, [told])).violations) - before
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
                pages=self._parts.config.pages if one["tool"] == WEB_SEARCH else 0,
                domains=("*",) if one["tool"] == WEB_SEARCH else (),
            )
            for one in new
        ]
        grown = plan.model_dump() | {"steps": [*plan.steps, *steps], "revision": plan.revision + 1}
        return Plan.model_validate(grown)

    async def _found(self, state: ResearchState, runtime: Runtime[Any]) -> str:
        sizes = self._parts.main.sizes
        sources = (state.get("sources") or [])[: sizes.sources]
        each = sizes.shown // (2 * max(1, len(sources)))
        shown_sources = []
        for number, source in enumerate(sources, 1):
            snapshot = await kept(runtime).get(source["id"])
            text = excerpt(snapshot.text, state["user_query"], min(each, sizes.excerpt))
            about = {"id": f"S{number}", "title": source["title"], "url": source["final_url"]}
            shown_sources.append(fenced("source", text, **about))
        tools = "\n".join(f"{name}: {about}" for name, about in self._parts.tools().items())
        return together(
            [fenced("question", state["user_query"]), fenced("tools", tools), *shown_sources]
        )


class _Wave:
    """Steps that run at the same time, and what each of them gives."""

    def __init__(self, layer: ToolLayer, runtime: Runtime[Any]) -> None:
        self._layer = layer
        self._tell = runtime.stream_writer
        self._opening: dict[str, Call] = {}

    async def run(self, steps: Sequence[Step]) -> dict[str, dict[str, Any]]:
        answers = await self._all([self._first(step) for step in steps])
        for answer in answers.values():
            self._layer.taken |= {source["url"]: source for source in answer.get("sources") or ()}
        wanted = {step.id: self._pages(step, answers[step.id, step.input]) for step in steps}
        # A page that two steps found is opened for the first of them, and read by both.
        opened = await self._all(list(self._opening.values()))
        pages = {url: opened[call.step, url] for url, call in self._opening.items()}
        return {
            step.id: self._result(
                step, answers[step.id, step.input], [pages[url] for url in wanted[step.id]]
            )
            for step in steps
        }

    def _first(self, step: Step) -> Call:
        # Counted one after the other, made all at once: what is counted does not depend on luck.
        call = Call(step=step.id, tool=step.tool, input=step.input)
        self._say(call, "started", 0)
        self._layer.allow(call)
        return call

    async def _all(self, calls: Sequence[Call]) -> dict[tuple[str, str], Result]:
        return await all_of({(call.step, call.input): self._make(call) for call in calls})

    async def _make(self, call: Call) -> Result:
        result = await self._layer.make(call)
        self._say(call, "failed" if "error" in result else "done", 1, _note(result))
        return result

    def _pages(self, step: Step, answer: Result) -> list[str]:
        """The addresses of a search that are opened: within the plan, the best first."""
        urls = list(dict.fromkeys(hit["url"] for hit in answer.get("hits") or ()))
        self._layer.permission.found(step.id, urls)
        chosen: list[str] = []
        for url in urls:
            if len(chosen) < step.pages and (url in self._opening or self._open(step, url)):
                chosen.append(url)
        return chosen

    def _open(self, step: Step, url: str) -> bool:
        call = Call(step=step.id, tool=FETCH_PAGE, input=url)
        try:
            self._layer.allow(call)
        except Refused:
            return False  # a result elsewhere than the plan says: it is left closed
        self._opening[url] = call
        return True

    def _result(self, step: Step, answer: Result, pages: Sequence[Result]) -> dict[str, Any]:
        sources = [one for result in (answer, *pages) for one in result.get("sources") or ()]
        errors = [result["error"] for result in pages if "error" in result]
        given: dict[str, Any] = {"sources": sources, "tool": step.tool, "input": step.input}
        if "error" in answer:
            given["error"] = answer["error"]
        given["failed_pages"] = errors
        given["summary"] = _summary(answer, len(sources), errors)
        return given

    def _say(self, call: Call, state: str, done: int, note: str = "") -> None:
        self._tell(
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
    """The steps that are not done and wait for nothing that is not done."""
    for wave in waves(plan.steps):
        if left := [step for step in wave if step.id not in results]:
            return left
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
