"""Run each read once, even if its node is repeated.

If the run has an effect log (`core.effects`), results are recorded and returned to a node that is
repeated after a crash. An unfinished read is repeated, since reads have no side effects. Without a
log, every call is made.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from langgraph.runtime import Runtime

from bathysphere.core.canonical import digest
from bathysphere.core.effects import Done, EffectKey, Unknown
from bathysphere.core.run_context import context_of
from bathysphere.policy.permission import Call

Result = dict[str, Any]


async def once(runtime: Runtime[Any], call: Call, act: Callable[[], Awaitable[Result]]) -> Result:
    """Run the call, or return its recorded result."""
    log = context_of(runtime).effects
    info = runtime.execution_info
    if log is None or info is None:
        return await act()
    name = f"{call.tool}:{digest([call.step, call.input])}"
    key = EffectKey(namespace="research", task=info.task_id, call=name)
    known = await log.begin(key)
    if isinstance(known, Unknown):
        await log.forget(key)
        known = await log.begin(key)
    if isinstance(known, Done):
        return dict(known.result)
    result = await act()
    await log.finish(key, result)
    return result
