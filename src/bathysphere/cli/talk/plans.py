"""Show a research plan with its audit, and let the person edit it."""

from collections.abc import Mapping, Sequence
from typing import Any

from bathysphere.cli.talk.screen import Screen

VERBS = {
    "web_search": "search",
    "search_corpus": "search",
    "fetch_page": "open",
    "read_context": "read",
}
"""Verb per tool, shown to the person and typed by them to add a step."""
APPROVED = "approved"


def show(screen: Screen, value: Mapping[str, Any]) -> None:
    """Print the plan, its audit and the hash that an approval confirms."""
    plan, audit = value["plan"], value.get("audit_result") or {}
    new = _new_steps(value)
    title = "The agent wants to add steps to the plan" if new else "A plan needs your approval"
    screen.heading(f"{title} (revision {plan.get('revision', 1)})")
    if follow_up := value.get("follow_up"):
        screen.note(follow_up["note"])
    screen.block([(plan["objective"], "bold"), ("", ""), *_steps(plan["steps"], new), ("", "")])
    screen.block(_audit(audit))
    budget = plan.get("estimated_token_budget")
    about = [f"about {budget:,} tokens"] if budget else []
    screen.block([(", ".join([*about, f"plan {value['plan_hash'][:16]}"]), "dim")])


def _new_steps(value: Mapping[str, Any]) -> set[str]:
    """Ids of the steps that were added after a plan had started."""
    if done := set(value.get("done") or ()):
        return {step["id"] for step in value["plan"]["steps"]} - done
    return {step["id"] for step in value.get("difference") or ()}


def _steps(steps: Sequence[Mapping[str, Any]], new: set[str]) -> list[tuple[str, str]]:
    lines = []
    numbers = {step["id"]: number for number, step in enumerate(steps, 1)}
    for step in steps:
        after = [str(numbers[one]) for one in step.get("depends_on") or () if one in numbers]
        waits = f"   (after {', '.join(after)})" if after else ""
        mark = "+ " if step["id"] in new else ""
        verb = VERBS.get(step["tool"], step["tool"])
        style = "green" if step["id"] in new else ""
        lines.append((f"{mark}{numbers[step['id']]}. {verb}: {step['input']}{waits}", style))
        if step.get("rationale"):
            lines.append((f"     {step['rationale']}", "dim"))
    return lines


def _audit(audit: Mapping[str, Any]) -> list[tuple[str, str]]:
    verdict = audit.get("verdict", "not audited")
    style = "green" if verdict == APPROVED else "red"
    judgements = (audit.get("detail") or {}).get("judgements") or ()
    how = ", in part by the auditor's judgement" if judgements else ""
    lines = [(f"audit: {verdict}{how}", style)]
    lines += [(f"  violates: {one}", "red") for one in audit.get("policy_violations") or ()]
    lines += [(_judgement(one), "dim") for one in judgements if one.get("allowed")]
    lines += [(f"  suggests: {one}", "yellow") for one in audit.get("suggestions") or ()]
    return lines


def _judgement(one: Mapping[str, Any]) -> str:
    reason = f" ({one['reason']})" if one.get("reason") else ""
    return f"  the auditor does not object: {one.get('question') or one['rule']}{reason}"


def edited(screen: Screen, plan: Mapping[str, Any]) -> dict[str, Any]:
    """Let the person edit the steps of a plan and add new ones."""
    screen.note("    Enter keeps a step, `-` removes it, other text replaces its query.")
    steps = []
    for step in plan["steps"]:
        verb = VERBS.get(step["tool"], step["tool"])
        answer = screen.ask(f"    {verb} [{screen.brief(step['input'])}]").strip()
        if answer != "-":
            steps.append({**step, "input": answer or step["input"]})
    removed = {step["id"] for step in plan["steps"]} - {step["id"] for step in steps}
    for step in steps:
        step["depends_on"] = [one for one in step.get("depends_on") or () if one not in removed]
    while True:
        answer = screen.ask("    add a step (`search: words` or `open: URL`; Enter: done)").strip()
        if not answer:
            return {**plan, "steps": steps}
        verb, _, words = answer.partition(":")
        tool = _tool(verb.strip(), plan["steps"])
        if tool is None or not words.strip():
            screen.note("    expected `search: words` or `open: URL`")
            continue
        steps.append(_added_step(tool, words.strip(), len(steps) + 1))


def _tool(verb: str, steps: Sequence[Mapping[str, Any]]) -> str | None:
    """The tool for a verb, preferably one that the plan already uses."""
    used = [step["tool"] for step in steps if VERBS.get(step["tool"]) == verb]
    known = [tool for tool, name in VERBS.items() if name == verb and name != "read"]
    return (used or known or [None])[0]


def _added_step(tool: str, words: str, number: int) -> dict[str, Any]:
    is_search = tool == "web_search"
    return {
        "id": f"own-{number}",
        "tool": tool,
        "input": words,
        "rationale": "Added by the person.",
        "pages": 3 if is_search else 0,
        "domains": ["*"] if is_search else [],
        "depends_on": [],
    }
