"""Convert plans from and to the state, where steps carry their outputs."""

from collections.abc import Mapping
from typing import Any

from bathysphere.policy.plan import Plan


def read_plan(plan: Mapping[str, Any]) -> Plan:
    """Parse a plan from the state, without step outputs."""
    steps = [{k: v for k, v in step.items() if k != "output"} for step in plan["steps"]]
    return Plan.model_validate({**plan, "steps": steps})


def with_outputs(plan: Plan, results: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The plan for the state, with the outputs of finished steps."""
    plain = plan.plain()
    for step in plain["steps"]:
        if step["id"] in results:
            step["output"] = str(results[step["id"]].get("summary", ""))
    return plain
